/*
 * fmt_redisbloom.c - RedisBloom's filters outside of Redis: the output of BF.SCANDUMP and
 * CF.SCANDUMP, header and chunks concatenated, and the output of DUMP.
 *
 *   redisbloom-bf, redisbloom-cf     the payload of the families in redisbloom.h, nothing around it
 *   redis-dump-bf, redis-dump-cf     the same numbers in another order, in the encoding of rdb.h:
 *
 *   bf   size, links, options, growth;
 *        for each link: entries, error (double), hashes, bpe (double), bits, n2, array, size
 *   cf   filters, buckets, items, deletes, bucketsize, maxiterations, expansion;
 *        for each sub-filter: buckets, slots
 *
 * A scan has neither magic number nor checksum. A DUMP has the id of its type and a CRC-64. Both
 * forms of one filter are written from each other: no hash and no bit changes.
 */
#include "base/bytes.h"
#include "format/format.h"
#include "format/lzf.h"
#include "format/rdb.h"
#include "format/redisbloom.h"
#include "redis/redis.h"
#include "redis/sbchain.h"

#define RB_BLOOM_ID 0x3016e5a289bef800u  /* "MBbloom--" */
#define RB_CUCKOO_ID 0x3016e5a289821400u /* "MBbloomCF" */
#define RB_ENCVER 4u
#define RB_RDB_VERSION 10u /* of Redis 7.0: later servers read it too */

/* The second pass of unpack writes the strings to the offsets that the first has measured. */
typedef struct rb_unpack {
  nay_rdb_reader reader;
  uint8_t *dst; /* NULL: only measure */
  uint64_t size;
} rb_unpack;

static void rb_unpack_string(rb_unpack *u, const nay_rdb_string *s) {
  uint8_t *at = u->dst != NULL ? u->dst + u->size : NULL;
  if (u->reader.wrong == NULL && !nay__rdb_write_out(s, at)) {
    u->reader.wrong = "a packed string is damaged";
  }
  u->size += s->len;
}

static nay_status rb_unpack_end(rb_unpack *u, nay_diag *diag, size_t *size) {
  NAY_TRY(nay__rdb_close(&u->reader, diag));
  if (!nay__size_ok(u->size, size)) {
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  return NAY_OK;
}

/* ---- chained Bloom ---- */

static void rb_bloom_unpack_link(rb_unpack *u, uint8_t *row) {
  nay_rdb_reader *r = &u->reader;
  uint64_t entries = nay__rdb_read_number(r), error = nay__rdb_read_double(r),
           hashes = nay__rdb_read_number(r), bpe = nay__rdb_read_double(r),
           nbits = nay__rdb_read_number(r), n2 = nay__rdb_read_number(r);
  nay_rdb_string array = nay__rdb_read_string(r);
  uint64_t nitems = nay__rdb_read_number(r);
  if (hashes > UINT32_MAX || n2 > UINT8_MAX) r->wrong = "a number of a link is too large";
  rb_unpack_string(u, &array);
  if (row == NULL) return;
  nay__store64le(row, array.len);
  nay__store64le(row + 8, nbits);
  nay__store64le(row + 16, nitems);
  nay__store64le(row + 24, error);
  nay__store64le(row + 32, bpe);
  nay__store32le(row + 40, (uint32_t)hashes);
  nay__store64le(row + 44, entries);
  row[52] = (uint8_t)n2;
}

static nay_status rb_bloom_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                                  size_t *size, uint32_t *extra) {
  rb_unpack u = {.dst = dst};
  NAY_TRY(nay__rdb_open(bytes, len, RB_BLOOM_ID, RB_ENCVER, diag, &u.reader, extra));
  uint64_t nitems = nay__rdb_read_number(&u.reader), nlinks = nay__rdb_read_number(&u.reader),
           options = nay__rdb_read_number(&u.reader), growth = nay__rdb_read_number(&u.reader);
  if (nlinks > len / 20 || options > UINT32_MAX || growth > UINT32_MAX) {
    u.reader.wrong = "a number of the chain is too large"; /* a link takes more than 20 bytes */
  }
  u.size = NAY_SB_HEAD + NAY_SB_ROW * nlinks;
  for (uint64_t i = 0; i < nlinks && u.reader.wrong == NULL; i++) {
    rb_bloom_unpack_link(&u, dst != NULL ? dst + NAY_SB_HEAD + NAY_SB_ROW * i : NULL);
  }
  if (dst != NULL) {
    nay__store64le(dst, nitems);
    nay__store32le(dst + 8, (uint32_t)nlinks);
    nay__store32le(dst + 12, (uint32_t)options);
    nay__store32le(dst + 16, (uint32_t)growth);
  }
  return rb_unpack_end(&u, diag, size);
}

static void rb_bloom_write(const nay_filter *f, nay_rdb_writer *w) {
  const uint8_t *p = f->bits.bytes, *row = p + NAY_SB_HEAD;
  uint32_t nlinks = nay__load32le(p + 8);
  const uint8_t *array = row + NAY_SB_ROW * (size_t)nlinks;
  nay__rdb_begin(w, RB_BLOOM_ID, RB_ENCVER);
  nay__rdb_write_number(w, nay__load64le(p));
  nay__rdb_write_number(w, nlinks);
  nay__rdb_write_number(w, nay__load32le(p + 12));
  nay__rdb_write_number(w, nay__load32le(p + 16));
  for (uint32_t i = 0; i < nlinks; i++, row += NAY_SB_ROW) {
    size_t nbytes = (size_t)nay__load64le(row);
    nay__rdb_write_number(w, nay__load64le(row + 44));
    nay__rdb_write_double(w, nay__load64le(row + 24));
    nay__rdb_write_number(w, nay__load32le(row + 40));
    nay__rdb_write_double(w, nay__load64le(row + 32));
    nay__rdb_write_number(w, nay__load64le(row + 8));
    nay__rdb_write_number(w, row[52]);
    nay__rdb_write_string(w, array, nbytes);
    nay__rdb_write_number(w, nay__load64le(row + 16));
    array += nbytes;
  }
}

/* ---- cuckoo ---- */

static nay_status rb_cuckoo_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                                   size_t *size, uint32_t *extra) {
  rb_unpack u = {.dst = dst, .size = NAY_CFCHAIN_HEADER_LEN};
  nay_rdb_reader *r = &u.reader;
  NAY_TRY(nay__rdb_open(bytes, len, RB_CUCKOO_ID, RB_ENCVER, diag, r, extra));
  nay_cfchain_header h = {.nfilters = nay__rdb_read_number(r)};
  h.nbuckets = nay__rdb_read_number(r);
  h.nitems = nay__rdb_read_number(r);
  h.ndeletes = nay__rdb_read_number(r);
  uint64_t bucket_size = nay__rdb_read_number(r), max_iterations = nay__rdb_read_number(r),
           expansion = nay__rdb_read_number(r);
  if (bucket_size > UINT16_MAX || max_iterations > UINT16_MAX || expansion > UINT16_MAX ||
      h.nfilters > NAY_CFCHAIN_MAX_FILTERS) {
    r->wrong = "a number of the chain is too large";
  }
  h.bucket_size = (uint32_t)bucket_size;
  h.max_iterations = (uint32_t)max_iterations;
  h.expansion = (uint32_t)expansion;
  if (dst != NULL) nay__cfchain_write_header(&h, dst);
  uint64_t nbuckets = h.nbuckets;
  for (uint64_t i = 0; i < h.nfilters && r->wrong == NULL; i++, nbuckets *= h.expansion) {
    if (nay__rdb_read_number(r) != nbuckets) r->wrong = "a sub-filter of the wrong size";
    nay_rdb_string slots = nay__rdb_read_string(r);
    rb_unpack_string(&u, &slots);
  }
  return rb_unpack_end(&u, diag, size);
}

static void rb_cuckoo_write(const nay_filter *f, nay_rdb_writer *w) {
  const uint8_t *slots = f->bits.bytes + NAY_CFCHAIN_HEADER_LEN;
  nay_cfchain_header h;
  (void)nay__cfchain_read_header(f->bits.bytes, NAY_CFCHAIN_HEADER_LEN, NULL, &h);
  nay__rdb_begin(w, RB_CUCKOO_ID, RB_ENCVER);
  nay__rdb_write_number(w, h.nfilters);
  nay__rdb_write_number(w, h.nbuckets);
  nay__rdb_write_number(w, h.nitems);
  nay__rdb_write_number(w, h.ndeletes);
  nay__rdb_write_number(w, h.bucket_size);
  nay__rdb_write_number(w, h.max_iterations);
  nay__rdb_write_number(w, h.expansion);
  for (uint64_t i = 0; i < h.nfilters; i++, h.nbuckets *= h.expansion) {
    size_t len = (size_t)h.nbuckets * h.bucket_size;
    nay__rdb_write_number(w, h.nbuckets);
    nay__rdb_write_string(w, slots, len);
    slots += len;
  }
}

/* ---- the formats ---- */

/* Measured first, then written: the compressor's table is needed both times. */
static nay_status rb_pack(const nay_filter *f, void (*write)(const nay_filter *, nay_rdb_writer *),
                          uint8_t *dst, size_t *size) {
  nay_rdb_writer w = {.dst = dst, .table = nay__alloc(&f->allocator, NAY_LZF_TABLE_LEN)};
  if (w.table == NULL) return NAY_ENOMEM;
  write(f, &w);
  nay__rdb_end(&w, f->shape.extra != 0 ? f->shape.extra : RB_RDB_VERSION);
  nay__free(&f->allocator, w.table, NAY_LZF_TABLE_LEN);
  *size = w.len;
  return NAY_OK;
}

static nay_status rb_bloom_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  return rb_pack(f, rb_bloom_write, dst, size);
}

static nay_status rb_cuckoo_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  return rb_pack(f, rb_cuckoo_write, dst, size);
}

static bool rb_bloom_matches(const uint8_t *bytes, size_t len) {
  return nay__rdb_starts(bytes, len, RB_BLOOM_ID);
}

static bool rb_cuckoo_matches(const uint8_t *bytes, size_t len) {
  return nay__rdb_starts(bytes, len, RB_CUCKOO_ID);
}

static void rb_encode(const nay_filter *f, uint8_t *dst) { memcpy(dst, f->bits.bytes, f->nbytes); }

static nay_hash redisbloom_cf_hash_of(const uint8_t *key, size_t len) {
  return (nay_hash){nay__murmur64a(key, len, 0), 0};
}
static const nay_foreign_hash redisbloom_cf_hash = {
    .kind = (nay_hash_kind)80, .name = "murmur64a", .hash = redisbloom_cf_hash_of};
static const nay_foreign_hash redisbloom_bf_hash = {
    .kind = (nay_hash_kind)81, .name = "murmur64a-x2", .has_hi = true, .hash = nay__murmur64x2};
static const nay_foreign_hash redisbloom_old_bf_hash = {
    .kind = (nay_hash_kind)82, .name = "murmur2-x2", .has_hi = true, .hash = nay__murmur32x2};

const nay_format nay__format_redisbloom_bf = {
    .name = "redisbloom-bf",
    .about = "RedisBloom's Bloom filter, header and chunks of BF.SCANDUMP",
    .family = &nay__family_rb_bloom,
    .hash = &redisbloom_bf_hash,
    .other_hash = &redisbloom_old_bf_hash,
    .has_other_hash = nay__rb_bloom_is_old,
    .reserve = nay__rb_bloom_reserve,
    .parse = nay__rb_bloom_parse,
    .encode = rb_encode,
    .interchanges = true,
};

const nay_format nay__format_redisbloom_cf = {
    .name = "redisbloom-cf",
    .about = "RedisBloom's cuckoo filter, header and chunks of CF.SCANDUMP",
    .family = &nay__family_rb_cuckoo,
    .hash = &redisbloom_cf_hash,
    .parse = nay__rb_cuckoo_parse,
    .encode = rb_encode,
    .interchanges = true,
};

const nay_format nay__format_redis_dump_bf = {
    .name = "redis-dump-bf",
    .named_wrong = "the magic number of redis-dump-bf, not of the layout that is named",
    .about = "RedisBloom's Bloom filter, as Redis' DUMP writes the key",
    .traits = NAY_FORMAT_MAGIC | NAY_FORMAT_CHECKSUM,
    .family = &nay__family_rb_bloom,
    .hash = &redisbloom_bf_hash,
    .other_hash = &redisbloom_old_bf_hash,
    .has_other_hash = nay__rb_bloom_is_old,
    .reserve = nay__rb_bloom_reserve,
    .matches = rb_bloom_matches,
    .parse = nay__rb_bloom_parse,
    .unpack = rb_bloom_unpack,
    .pack = rb_bloom_pack,
    .interchanges = true,
};

const nay_format nay__format_redis_dump_cf = {
    .name = "redis-dump-cf",
    .named_wrong = "the magic number of redis-dump-cf, not of the layout that is named",
    .about = "RedisBloom's cuckoo filter, as Redis' DUMP writes the key",
    .traits = NAY_FORMAT_MAGIC | NAY_FORMAT_CHECKSUM,
    .family = &nay__family_rb_cuckoo,
    .hash = &redisbloom_cf_hash,
    .matches = rb_cuckoo_matches,
    .parse = nay__rb_cuckoo_parse,
    .unpack = rb_cuckoo_unpack,
    .pack = rb_cuckoo_pack,
    .interchanges = true,
};
