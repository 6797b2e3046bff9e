/*
 * ribbon.c - the ribbon filter: the fewest bits for a set that does not change.
 *
 * As in a fuse filter, slots of r bits are chosen so that every key finds its r-bit fingerprint as
 * the xor of some of them; but here a key uses about half of 128 neighbouring slots. Equations over
 * a band solve fast, and 1.02 n slots are enough where fuse needs 1.125 n and many keys.
 *
 *   key        first slot s, 128 coefficients c, fingerprint p
 *   equation   column by column: parity(c & slots s .. s+127) = p        (banding.c solves them)
 *
 *   block b    | column 0: 128 slots | column 1 | ... | column r-1 |     16 bytes a column
 *
 * Stored by columns, a probe is one and, one parity for each column, over two neighbouring blocks;
 * an absent key is nearly always found out within four.
 *
 * Fractions. The first U blocks have a column less. So any false-positive rate (FPR), and any
 * number of bytes, is met to within one column. It costs up to 1.2% at 1%, 2.4% at 10% against the
 * ideal of a fractional number of columns. Dropping the last column of more blocks shrinks a filter
 * without its keys, to the very bytes that a build for that size would give.
 *
 * Shards of about 16,000 keys keep the slots per key at 1.02 for ever (one band of 10^8 keys needs
 * 1.07) and a build in the cache. They get blocks for the keys they have, so a directory says where
 * each begins.
 *
 * Few keys: a block is 128 slots, and a Bloom filter is smaller below some 150 keys. Then this is
 * one: shape.extra is 0, shape.k its probes, and its bits follow the premix.
 *
 * Bytes: ribbon.h and doc/formats. Papers: banding.c.
 */
#include "family/ribbon.h"

#include "math/elementary.h"
#include "math/fpr.h"
#include "math/plan.h"

#define RIBBON_SHARD_KEYS 16384u
#define RIBBON_ALWAYS_BLOOM 16u
#define RIBBON_MAX_KEYS ((uint64_t)1 << 38) /* so that blocks are counted in 32 bits */

/* ---- sizes ---- */

/*
 * 1.021: at 16,384 keys one seed in eight fails with so many slots; rounding up to blocks makes it
 * one in twenty on average. At 1.016 one in eight, at 1.024 one in thirty fail on average.
 */
static double ribbon_slots(double n) { return n * 1.021 + 4; }

uint64_t nay__ribbon_demand(uint64_t n) {
  if (n == 0) return 0;
  return nay__ceil_div((uint64_t)ribbon_slots((double)n) + 1, NAY_RIBBON_WIDTH);
}

static double ribbon_sqrt(double x) { return x > 0 ? nay__exp(0.5 * nay__ln(x)) : 0; }

/* Rounding up to blocks costs half of one for each shard, with a deviation of 0.29. */
nay_ribbon_dims nay__ribbon_dims(uint64_t nkeys) {
  nay_ribbon_dims dims = {nay__max_u64(1, (nkeys + RIBBON_SHARD_KEYS / 2) / RIBBON_SHARD_KEYS), 0};
  double shards = (double)dims.nshards;
  if (dims.nshards == 1) {
    dims.nblocks = nay__ribbon_demand(nkeys);
  } else {
    double blocks = shards * ribbon_slots((double)nkeys / shards) / NAY_RIBBON_WIDTH;
    dims.nblocks = (uint64_t)(blocks + shards / 2 + 0.29 * ribbon_sqrt(shards) + 1);
  }
  return dims;
}

static nay_shape ribbon_shape(uint64_t nkeys, uint64_t columns, unsigned r) {
  return (nay_shape){columns, r, (uint32_t)nay__ribbon_dims(nkeys).nshards};
}

static bool ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / 128) return false;
  if (shape->k == 0) return false;
  if (shape->extra == 0) {
    if (shape->k > NAY_MAX_K) return false;
    *nbytes = NAY_RIBBON_HEADER + shape->nunits * 8;
  } else {
    if (shape->k > NAY_RIBBON_MAX_COLUMNS) return false;
    *nbytes = nay__ribbon_blocks_at(shape->extra) + shape->nunits * NAY_RIBBON_COLUMN;
  }
  *nbits = *nbytes * 8;
  return true;
}

static uint64_t ribbon_bytes(const nay_shape *shape) {
  uint64_t nbits, nbytes;
  return ribbon_payload(shape, &nbits, &nbytes) ? nbytes : UINT64_MAX;
}

/* The FPR when a share of the keys' first slots is in blocks with a column less. */
static double ribbon_rate(unsigned r, double share) {
  return (1 + share) / (double)((uint64_t)1 << r);
}

/* How many blocks hold the first slots of all keys: a shard's last block is that of one slot only.
 */
static double ribbon_start_blocks(const nay_ribbon_dims *dims) {
  return (double)dims->nblocks - (double)dims->nshards * (NAY_RIBBON_WIDTH - 1) / NAY_RIBBON_WIDTH;
}

static double ribbon_fpr(const nay_shape *shape, uint64_t nkeys) {
  if (nkeys == 0) return 0;
  if (shape->extra == 0) return nay__fpr_bloom(shape->nunits * 64, shape->k, nkeys);
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  double share =
      ((double)dims.nblocks * shape->k - (double)shape->nunits) / ribbon_start_blocks(&dims);
  return ribbon_rate(shape->k, share < 0 ? 0 : share > 1 ? 1 : share);
}

/* ---- plan ---- */

static nay_shape ribbon_bloom_shape(uint64_t nkeys, uint64_t nwords) {
  return (nay_shape){nwords, nay__bloom_k(nwords * 64, nkeys), 0};
}

/* Shapes of both kinds; columns or words are 0 when there is none. */
typedef struct ribbon_choice {
  nay_shape ribbon, bloom;
} ribbon_choice;

static bool ribbon_for_fpr(uint64_t nkeys, double fpr, ribbon_choice *choice) {
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  uint64_t nblocks = dims.nblocks;
  unsigned r = 1;
  double rate = 0.5;
  for (; rate > fpr && r <= NAY_RIBBON_MAX_COLUMNS; r++) rate /= 2;
  if (r > NAY_RIBBON_MAX_COLUMNS) return false;
  uint64_t short_blocks = (uint64_t)((fpr / rate - 1) * ribbon_start_blocks(&dims));
  if (short_blocks >= nblocks) short_blocks = nblocks - 1;
  choice->ribbon = ribbon_shape(nkeys, nblocks * r - short_blocks, r);
  uint64_t bloom = nkeys <= 4096 ? nay__ceil_div(nay__bloom_bits(nkeys, fpr, 0), 64) : 0;
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(bloom, 1));
  if (bloom == 0) choice->bloom.nunits = 0;
  return true;
}

/* The columns that fit into a budget, and the r they are for. */
static nay_shape ribbon_for_bytes(uint64_t nkeys, uint64_t nbytes) {
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  uint64_t head = nay__ribbon_blocks_at(dims.nshards);
  uint64_t columns = nbytes > head ? (nbytes - head) / NAY_RIBBON_COLUMN : 0;
  columns = nay__min_u64(columns, dims.nblocks * NAY_RIBBON_MAX_COLUMNS);
  return ribbon_shape(nkeys, columns, (unsigned)nay__ceil_div(columns, dims.nblocks));
}

static void ribbon_for_budget(uint64_t nkeys, uint64_t nbytes, ribbon_choice *choice) {
  choice->ribbon = ribbon_for_bytes(nkeys, nbytes);
  uint64_t words =
      nkeys <= 4096 && nbytes > NAY_RIBBON_HEADER ? (nbytes - NAY_RIBBON_HEADER) / 8 : 0;
  words = nay__min_u64(words, nkeys * 2); /* 128 bits a key: no k makes use of more */
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(words, 1));
  if (words == 0) choice->bloom.nunits = 0;
}

static nay_status ribbon_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (by == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: the size of a static filter follows from its keys",
                     0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: this family does not fold", 0);
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: a ribbon filter has none to choose", 0);
  if (p->nkeys > RIBBON_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^38, the limit of this family", 0);
  }
  ribbon_choice choice;
  bool bloom;
  if (by == NAY_BY_FPR) {
    if (!ribbon_for_fpr(p->nkeys, p->fpr, &choice)) {
      return nay__fail(diag, NAY_EINVAL, "fpr is below 2^-32: there are up to 32 columns", 0);
    }
    bloom = choice.bloom.nunits != 0 && ribbon_bytes(&choice.bloom) < ribbon_bytes(&choice.ribbon);
  } else {
    double budget =
        by == NAY_BY_NBYTES ? (double)p->nbytes : p->bits_per_key * (double)p->nkeys / 8;
    /* like every family, bits_per_key may not hold for a handful of keys; nbytes always does */
    if (by == NAY_BY_BITS_PER_KEY && budget < NAY_RIBBON_HEADER + 8) budget = NAY_RIBBON_HEADER + 8;
    ribbon_for_budget(p->nkeys, (uint64_t)budget, &choice);
    bloom = choice.bloom.nunits != 0 &&
            (choice.ribbon.nunits == 0 ||
             ribbon_fpr(&choice.bloom, p->nkeys) < ribbon_fpr(&choice.ribbon, p->nkeys));
  }
  if (choice.bloom.nunits != 0 && p->nkeys <= RIBBON_ALWAYS_BLOOM) bloom = true;
  *shape = bloom ? choice.bloom : choice.ribbon;
  if (shape->nunits != 0) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "the size is too small for one column", 0);
}

/* ---- probes ---- */

NAY_INLINE nay_ribbon_location ribbon_locate(const nay_ribbon *r, const uint8_t *blocks,
                                             const nay_ribbon_shard *s, uint64_t x) {
  nay_ribbon_row row = nay__ribbon_row_of(x, s);
  uint64_t block = s->first + row.start / NAY_RIBBON_WIDTH;
  unsigned offset = row.start % NAY_RIBBON_WIDTH, bit = offset % 64;
  nay_ribbon_location p = {.fingerprint = row.fingerprint,
                           .columns = r->columns - (block < r->short_blocks)};
  p.bits[0] = row.lo << bit;
  p.bits[1] = row.hi << bit | (row.lo >> 1) >> (63 - bit);
  p.bits[2] = (row.hi >> 1) >> (63 - bit);
  p.upper = offset >= 64;
  p.here = blocks + nay__ribbon_column_of(r, block) * NAY_RIBBON_COLUMN;
  /* branch-free: it would be mispredicted. A key that begins with its block has nothing in the
   * next, which may not exist */
  p.next = p.here + ((size_t)p.columns * NAY_RIBBON_COLUMN & (0 - (size_t)(offset != 0)));
  return p;
}

/* A column of the key, folded into one word: the first of its words, the second, the third. */
NAY_INLINE uint64_t ribbon_column(const nay_ribbon_location *p, size_t c) {
  size_t at = c * NAY_RIBBON_COLUMN, upper = p->upper ? 8 : 0;
  const uint8_t *middle = p->upper ? p->next : p->here + 8;
  return (nay__load64le(p->here + upper + at) & p->bits[0]) ^
         (nay__load64le(middle + at) & p->bits[1]) ^
         (nay__load64le(p->next + upper + at) & p->bits[2]);
}

#define RIBBON_QUARTERS 0x0001000100010001u

/* The parities of four words, in the lowest bit of each quarter; other bits are undefined. */
NAY_INLINE uint64_t ribbon_parities(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  uint32_t a32 = (uint32_t)(a ^ a >> 32), b32 = (uint32_t)(b ^ b >> 32);
  uint32_t c32 = (uint32_t)(c ^ c >> 32), d32 = (uint32_t)(d ^ d >> 32);
  uint32_t ab = ((a32 ^ a32 >> 16) & 0xffff) | ((b32 ^ b32 << 16) & 0xffff0000);
  uint32_t cd = ((c32 ^ c32 >> 16) & 0xffff) | ((d32 ^ d32 << 16) & 0xffff0000);
  uint64_t x = ab | (uint64_t)cd << 32;
  x ^= x >> 8;
  x ^= x >> 4;
  x ^= x >> 2;
  return x ^ x >> 1;
}

/* Bit 0 is 0 when `n` columns from c on are as the fingerprint says. */
NAY_INLINE uint64_t ribbon_differ(const nay_ribbon_location *p, unsigned c, unsigned n,
                                  uint64_t fingerprint) {
  uint64_t differ = 0;
  for (unsigned end = c + n; c < end; c++, fingerprint >>= 16) {
    differ |= fingerprint ^ nay__parity64(ribbon_column(p, c));
  }
  return differ;
}

NAY_INLINE bool ribbon_four_differ(const nay_ribbon_location *p, unsigned c, uint64_t fingerprint) {
  uint64_t got = ribbon_parities(ribbon_column(p, c), ribbon_column(p, c + 1),
                                 ribbon_column(p, c + 2), ribbon_column(p, c + 3));
  return ((got ^ fingerprint) & RIBBON_QUARTERS) != 0;
}

/* Four columns at a time: 15 of 16 absent keys end at the one branch, which is predictable. */
NAY_INLINE bool ribbon_lookup(const nay_ribbon_location *p) {
  uint64_t fingerprint = p->fingerprint;
  unsigned c = 0;
  for (; c + 4 <= p->columns; c += 4, fingerprint >>= 1) {
    if (ribbon_four_differ(p, c, fingerprint)) return false;
  }
  return (ribbon_differ(p, c, p->columns - c, fingerprint) & 1) == 0;
}

NAY_INLINE bool ribbon_matches(bool vectors, const nay_kernels *kernels,
                               const nay_ribbon_location *p) {
  return vectors ? kernels->ribbon->test(p) : ribbon_lookup(p);
}

NAY_INLINE bool ribbon_find(bool vectors, const nay_filter *f, uint64_t hash) {
  const nay_bits *b = &f->bits;
  uint64_t x = nay__premix(hash, nay__load64le(b->bytes));
  nay_ribbon r = nay__ribbon_open(b);
  nay_ribbon_shard s = nay__ribbon_shard_at(b->bytes, nay__shard_of(x, r.nshards));
  if (NAY_UNLIKELY(s.nblocks == 0)) return false;
  nay_ribbon_location p = ribbon_locate(&r, b->bytes + nay__ribbon_blocks_at(r.nshards), &s, x);
  return ribbon_matches(vectors, f->kernels, &p);
}

static bool ribbon_test_by_words(const nay_filter *f, nay_hash h) {
  if (f->shape.extra != 0) return ribbon_find(false, f, h.lo);
  nay_bits bits = nay__ribbon_bloom(f);
  return f->kernels->bloom->test(&bits, nay__premix(h.lo, nay__load64le(f->bits.bytes)));
}

static bool ribbon_test(const nay_filter *f, nay_hash h) {
  if (NAY_UNLIKELY(f->kernels->ribbon == NULL || f->shape.extra == 0)) {
    return ribbon_test_by_words(f, h);
  }
  return ribbon_find(true, f, h.lo);
}

/* A key's two blocks are neighbours: a run of up to 1,024 bytes, prefetched line by line. */
NAY_INLINE void ribbon_prefetch(const nay_ribbon_location *p) {
  const uint8_t *end = p->next + p->columns * NAY_RIBBON_COLUMN;
  for (const uint8_t *at = p->here; at < end; at += NAY_CACHE_LINE) NAY_PREFETCH(at);
  NAY_PREFETCH(end - 1);
}

#define RIBBON_GROUP 16u

NAY_INLINE uint64_t ribbon_find64(bool vectors, const nay_filter *f, const uint64_t *x,
                                  unsigned n) {
  const nay_bits *b = &f->bits;
  nay_ribbon r = nay__ribbon_open(b);
  const uint8_t *blocks = b->bytes + nay__ribbon_blocks_at(r.nshards);
  uint64_t bitmap = 0;
  for (unsigned from = 0; from < n; from += RIBBON_GROUP) {
    nay_ribbon_location locations[RIBBON_GROUP];
    unsigned group = n - from < RIBBON_GROUP ? n - from : RIBBON_GROUP, empty = 0;
    for (unsigned i = 0; i < group; i++) {
      nay_ribbon_shard s = nay__ribbon_shard_at(b->bytes, nay__shard_of(x[from + i], r.nshards));
      empty |= (unsigned)(s.nblocks == 0) << i;
      if (NAY_UNLIKELY(s.nblocks == 0)) s = (nay_ribbon_shard){0, 1, 0};
      locations[i] = ribbon_locate(&r, blocks, &s, x[from + i]);
      if (!b->in_cache) ribbon_prefetch(&locations[i]);
    }
    for (unsigned i = 0; i < group; i++) {
      bitmap |= (uint64_t)ribbon_matches(vectors, f->kernels, &locations[i]) << (from + i);
    }
    bitmap &= ~((uint64_t)empty << from);
  }
  return bitmap;
}

static nay_ribbon_map ribbon_map(const nay_bits *b) {
  nay_ribbon r = nay__ribbon_open(b);
  return (nay_ribbon_map){.directory = b->bytes + NAY_RIBBON_HEADER,
                          .blocks = b->bytes + nay__ribbon_blocks_at(r.nshards),
                          .nshards = r.nshards,
                          .short_blocks = r.short_blocks,
                          .columns = r.columns,
                          .in_cache = b->in_cache};
}

uint64_t nay__ribbon_test_premixed(const nay_filter *f, const uint64_t *x, unsigned n) {
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    return f->kernels->bloom->test64(&bits, x, n);
  }
  if (f->kernels->ribbon != NULL && f->kernels->ribbon->test64 != NULL) {
    nay_ribbon_map map = ribbon_map(&f->bits);
    return f->kernels->ribbon->test64(&map, x, n);
  }
  bool vectors = f->kernels->ribbon != NULL;
  return vectors ? ribbon_find64(true, f, x, n) : ribbon_find64(false, f, x, n);
}

static uint64_t ribbon_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  uint64_t premix = nay__load64le(f->bits.bytes), x[64];
  if (NAY_LIKELY(premix == 0)) return nay__ribbon_test_premixed(f, lo, n);
  for (unsigned i = 0; i < n; i++) x[i] = nay__premix(lo[i], premix);
  return nay__ribbon_test_premixed(f, x, n);
}

static unsigned ribbon_bloom_addresses(const nay_filter *f, uint64_t x, const uint8_t **addresses) {
  nay_bits bits = nay__ribbon_bloom(f);
  for (uint32_t i = 0; i < bits.k; i++, x *= NAY_G64) {
    addresses[i] = bits.bytes + (nay__reduce(x, bits.nunits) >> 3);
  }
  return bits.k;
}

static unsigned ribbon_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  const uint8_t *bytes = f->bits.bytes;
  uint64_t x = nay__premix(h.lo, nay__load64le(bytes));
  if (f->shape.extra == 0) return ribbon_bloom_addresses(f, x, addresses);
  nay_ribbon r = nay__ribbon_open(&f->bits);
  uint64_t shard = nay__shard_of(x, r.nshards);
  addresses[0] = bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
  addresses[1] = addresses[0] + NAY_RIBBON_ENTRY;
  addresses[2] = bytes + NAY_RIBBON_HEADER + r.nshards * NAY_RIBBON_ENTRY;
  nay_ribbon_shard s = nay__ribbon_shard_at(bytes, shard);
  if (s.nblocks == 0) return 3;
  nay_ribbon_location p = ribbon_locate(&r, bytes + nay__ribbon_blocks_at(r.nshards), &s, x);
  if (p.columns == 0) return 3;
  addresses[3] = p.here; /* and all up to the next address: less than a chunk */
  addresses[4] = p.next + p.columns * NAY_RIBBON_COLUMN - 1;
  return 5;
}

/* ---- whole filters ---- */

/* The share of a shard's first slots that lie in blocks with a column less. */
static double ribbon_short_share(const nay_ribbon *r, const nay_ribbon_shard *s) {
  if (s->first >= r->short_blocks) return 0;
  if (s->first + s->nblocks <= r->short_blocks) return 1;
  double starts = (double)s->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
  return (double)(r->short_blocks - s->first) * NAY_RIBBON_WIDTH / starts;
}

static void ribbon_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  uint64_t nbits = a->nbytes * 8;
  if (a->shape.extra == 0) {
    *census = (nay_census){nbits, nbits, (double)a->nkeys, ribbon_fpr(&a->shape, a->nkeys)};
    return;
  }
  nay_ribbon r = nay__ribbon_open(&a->bits);
  double rates = 0;
  for (uint64_t i = 0; i < r.nshards; i++) {
    nay_ribbon_shard s = nay__ribbon_shard_at(a->bits.bytes, i);
    if (s.nblocks != 0) rates += ribbon_rate(r.columns, ribbon_short_share(&r, &s));
  }
  *census = (nay_census){nbits, nbits, (double)a->nkeys, rates / (double)r.nshards};
}

static nay_status ribbon_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  (void)len; /* it is what payload() says */
  if (shape->extra == 0) return NAY_OK;
  uint64_t nshards = shape->extra, end_at = NAY_RIBBON_HEADER + nshards * NAY_RIBBON_ENTRY;
  uint64_t nblocks = nay__load32le(payload + end_at + 4);
  if (nblocks * shape->k < shape->nunits || nblocks * (shape->k - 1) >= shape->nunits) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of blocks does not fit the header",
                     end_at + 4);
  }
  uint64_t before = 0;
  for (uint64_t i = 0; i <= nshards; i++) {
    uint64_t at = NAY_RIBBON_HEADER + i * NAY_RIBBON_ENTRY, first = nay__load32le(payload + at);
    if (first < before || first > nblocks || first - before > UINT32_MAX / NAY_RIBBON_WIDTH ||
        (i == 0 && first != 0)) {
      return nay__fail(diag, NAY_ECORRUPT, "the blocks of a shard are not where they belong", at);
    }
    before = first;
  }
  return NAY_OK;
}

static nay_status ribbon_shrunk_shape(const nay_filter *f, uint64_t nbytes, nay_shape *shape) {
  if (f->shape.extra == 0) return NAY_ENOTSUP;
  uint64_t head = nay__ribbon_blocks_at(f->shape.extra);
  uint64_t nblocks = nay__load32le(f->bits.bytes + head - 4);
  uint64_t columns = nbytes > head ? (nbytes - head) / NAY_RIBBON_COLUMN : 0;
  if (columns == 0) return NAY_EINVAL;
  columns = nay__min_u64(columns, f->shape.nunits);
  *shape = f->shape;
  shape->nunits = columns;
  shape->k = (uint32_t)nay__ceil_div(columns, nblocks);
  return NAY_OK;
}

static void ribbon_shrink(const nay_filter *src, const nay_shape *shape, uint8_t *dst) {
  uint64_t head = nay__ribbon_blocks_at(shape->extra);
  uint64_t nblocks = nay__load32le(src->bits.bytes + head - 4);
  memcpy(dst, src->bits.bytes, (size_t)head);
  nay_bits shrunk = {.bytes = dst, .nunits = shape->nunits, .k = shape->k, .extra = shape->extra};
  nay_ribbon from = nay__ribbon_open(&src->bits), to = nay__ribbon_open(&shrunk);
  for (uint64_t b = 0; b < nblocks; b++) {
    size_t columns = to.columns - (b < to.short_blocks);
    memcpy(dst + head + nay__ribbon_column_of(&to, b) * NAY_RIBBON_COLUMN,
           src->bits.bytes + head + nay__ribbon_column_of(&from, b) * NAY_RIBBON_COLUMN,
           columns * NAY_RIBBON_COLUMN);
  }
}

static const nay_family_batch ribbon_batch = {.test = ribbon_batch_test};

static const nay_family_bulk ribbon_bulk = {.solver = &nay__band_solver};

static const nay_family_algebra ribbon_algebra = {
    .shrunk_shape = ribbon_shrunk_shape,
    .shrink = ribbon_shrink,
};

const nay_family nay__family_ribbon = {
    .kind = NAY_RIBBON,
    .name = "ribbon",
    .plan = ribbon_plan,
    .payload = ribbon_payload,
    .fpr = ribbon_fpr,
    .check = ribbon_check,
    .census = ribbon_census,
    .test = ribbon_test,
    .explain = nay__ribbon_explain,
    .probe_addresses = ribbon_probe_addresses,
    .batch = &ribbon_batch,
    .bulk = &ribbon_bulk,
    .algebra = &ribbon_algebra,
};
