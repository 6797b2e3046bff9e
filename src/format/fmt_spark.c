/*
 * fmt_spark.c - BloomFilter.writeTo of Apache Spark's common/sketch.
 *
 *   V1   | 1 i32be | k i32be | words i32be | 8 * words bytes |              m = 64 * words bits
 *   V2   | 2 i32be | k i32be | seed i32be | words i32be | 8 * words bytes |
 *
 * V2 is what create() makes since Spark 4.1. Bit p is bit p % 64 of the big-endian word p / 64. h1
 * is the hash of the key with the seed (0 in V1), h2 the hash with the seed h1; the probes are
 *
 *   V1   for i = 1 .. k: c = h1 + i * h2 of 32 bits; if c is negative, ~c; bit c % m
 *   V2   c = h1 * (2^31 - 1) of 64 bits, signed; k times: c += h2; bit (c, or ~c if negative) % m
 *
 * V1 reaches 2^31 positions. The hash is MurmurHash3 x86 of 32 bits, but for the 0 to 3 bytes after
 * the last whole word: each of them, sign-extended, is mixed in as a word. A long is its 8 bytes
 * little-endian, and has none of these; so are the narrower integers, widened with their sign.
 *
 * SQL (bloom_filter_agg, runtime filters) puts xxhash64(value) with seed 42 as a long: the layouts
 * spark-sql-v1 and -v2 have the same bytes and that hash in front. Nothing in a file tells which.
 */
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "hash/murmur3.h"

#define SPARK_V1_HEADER 12u
#define SPARK_V2_HEADER 16u
#define SPARK_MAX_WORDS NAY_CLASSIC_JAVA_WORDS
#define SPARK_MAX_K 4096u /* create(n, bits) may ask for many; more would slow down every probe */
#define SPARK_V2 1u       /* extra */
#define SPARK_SQL_SEED 42u

static nay_status spark_size_v1(const nay_params *p, nay_sizing by, nay_diag *diag,
                                nay_shape *shape) {
  double n = (double)p->nkeys, bits = (double)p->nbits;
  if (by == NAY_BY_FPR) bits = nay__classic_nbits_for(p->nkeys, p->fpr);
  if (by == NAY_BY_BITS_PER_KEY) bits = n * p->bits_per_key;
  NAY_TRY(nay__classic_java_bits(bits, diag));
  uint32_t k = nay__classic_k((double)(uint64_t)bits, p->nkeys);
  if (k > SPARK_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "the size needs more than 4096 probes", 0);
  }
  *shape = (nay_shape){nay__round_up((uint64_t)bits, 64), k, 0};
  return NAY_OK;
}

static nay_status spark_size_v2(const nay_params *p, nay_sizing by, nay_diag *diag,
                                nay_shape *shape) {
  if (p->seed > INT32_MAX && p->seed < (uint64_t)INT32_MIN) {
    return nay__fail(diag, NAY_EINVAL, "seed is not a signed number of 32 bits", 0);
  }
  NAY_TRY(spark_size_v1(p, by, diag, shape));
  shape->extra = SPARK_V2;
  return NAY_OK;
}

/* The length of the header; 0: neither version. */
static size_t spark_header(const uint8_t *bytes, size_t len) {
  uint32_t version = len < SPARK_V1_HEADER ? 0 : nay__load32be(bytes);
  if (version == 1) return SPARK_V1_HEADER;
  return version == 2 && len >= SPARK_V2_HEADER ? SPARK_V2_HEADER : 0;
}

static nay_status spark_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                              nay_span *payload) {
  if (len < SPARK_V1_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  uint32_t version = nay__load32be(bytes), k = nay__load32be(bytes + 4);
  if (version != 1 && version != 2) {
    return nay__fail(diag, NAY_ECORRUPT, "the version is neither 1 nor 2", 0);
  }
  size_t header = spark_header(bytes, len);
  if (header == 0) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  if (k < 1 || k > SPARK_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 4096", 4);
  }
  *shape = (nay_shape){0, k, version == 2 ? SPARK_V2 : 0};
  return nay__classic_words(bytes, len, header, SPARK_MAX_WORDS, diag, shape, payload);
}

static uint64_t spark_seed(const uint8_t *bytes) {
  if (nay__load32be(bytes) != 2) return 0;
  uint64_t seed = nay__load32be(bytes + 8);
  return seed >> 31 != 0 ? seed | ~(uint64_t)UINT32_MAX : seed;
}

static bool spark_fits(const uint8_t *head, size_t nhead, uint64_t len) {
  size_t header = spark_header(head, nhead);
  if (header == 0 || len <= header) return false;
  uint32_t k = nay__load32be(head + 4);
  return k >= 1 && k <= SPARK_MAX_K &&
         len - header == 8 * (uint64_t)nay__load32be(head + header - 4);
}

static const nay_format *spark_variant(const nay_format *named, const uint8_t *bytes, size_t len) {
  size_t header = spark_header(bytes, len);
  bool sql = named == &nay__format_spark_sql_v1 || named == &nay__format_spark_sql_v2;
  if (header == SPARK_V1_HEADER) return sql ? &nay__format_spark_sql_v1 : &nay__format_spark_v1;
  if (header == SPARK_V2_HEADER) return sql ? &nay__format_spark_sql_v2 : &nay__format_spark_v2;
  return named;
}

static void spark_encode_v1(const nay_filter *f, uint8_t *dst) {
  nay__store32be(dst, 1);
  nay__store32be(dst + 4, f->shape.k);
  nay__store32be(dst + 8, (uint32_t)(f->shape.nunits / 64));
  memcpy(dst + SPARK_V1_HEADER, f->bits.bytes, f->nbytes);
}

static void spark_encode_v2(const nay_filter *f, uint8_t *dst) {
  nay__store32be(dst, 2);
  nay__store32be(dst + 4, f->shape.k);
  nay__store32be(dst + 8, (uint32_t)f->hasher.seed);
  nay__store32be(dst + 12, (uint32_t)(f->shape.nunits / 64));
  memcpy(dst + SPARK_V2_HEADER, f->bits.bytes, f->nbytes);
}

/* ---- the hash ---- */

static uint32_t spark_murmur(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed;
  size_t at = 0;
  for (; at + 4 <= len; at += 4) h = nay__murmur3_word32(h, nay__load32le(p + at));
  for (; at < len; at++) h = nay__murmur3_word32(h, p[at] < 0x80 ? p[at] : p[at] | 0xffffff00u);
  return nay__murmur3_final32(h, len);
}

static nay_hash spark_seeded(uint64_t seed, const uint8_t *p, size_t len) {
  uint32_t h1 = spark_murmur(p, len, (uint32_t)seed);
  return (nay_hash){h1, spark_murmur(p, len, h1)};
}

static nay_hash spark_sql_seeded(uint64_t seed, const uint8_t *p, size_t len) {
  uint8_t value[8];
  nay__store64le(value, XXH64(p, len, SPARK_SQL_SEED));
  return spark_seeded(seed, value, sizeof value);
}

static const nay_foreign_hash spark_hash = {
    .kind = (nay_hash_kind)97, .name = "murmur3-spark", .has_hi = true, .seeded = spark_seeded};
static const nay_foreign_hash spark_sql_hash = {.kind = (nay_hash_kind)98,
                                                .name = "xxh64-murmur3-spark",
                                                .has_hi = true,
                                                .seeded = spark_sql_seeded};

/* ---- the probing scheme ---- */

static uint64_t spark_signed(uint64_t h) { return h >> 31 != 0 ? h | ~(uint64_t)UINT32_MAX : h; }

static nay_hash spark_start(const nay_shape *shape, nay_hash hash) {
  if (shape->extra != SPARK_V2) return hash;
  return (nay_hash){spark_signed(hash.lo) * 0x7fffffffu, spark_signed(hash.hi)};
}

static uint64_t spark_next(const nay_shape *shape, nay_hash *state) {
  state->lo += state->hi;
  uint64_t at = state->lo;
  if (shape->extra == SPARK_V2) {
    if (at >> 63 != 0) at = ~at;
  } else {
    state->lo = at = (uint32_t)at;
    if (at >> 31 != 0) at = ~(uint32_t)at;
  }
  return NAY_WORDS_BE(at % shape->nunits);
}

static const nay_probing spark_probing = {
    .start = spark_start,
    .next = spark_next,
    .max_k = SPARK_MAX_K,
};
NAY_CLASSIC_VERBS(spark, spark_probing)
static const nay_family spark_family = NAY_CLASSIC_FAMILY(spark, "bloom (spark)");

const nay_format nay__format_spark_v1 = {
    .name = "spark-v1",
    .about = "Spark's BloomFilter.writeTo, version 1",
    .family = &spark_family,
    .hash = &spark_hash,
    .size_by = spark_size_v1,
    .takes = NAY_TAKES_NBITS,
    .parse = spark_parse,
    .variant = spark_variant,
    .fits = spark_fits,
    .seed = spark_seed,
    .overhead = SPARK_V1_HEADER,
    .encode = spark_encode_v1,
};

const nay_format nay__format_spark_v2 = {
    .name = "spark-v2",
    .about = "Spark's BloomFilter.writeTo, version 2 (the default since 4.1)",
    .family = &spark_family,
    .hash = &spark_hash,
    .size_by = spark_size_v2,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_SEED,
    .parse = spark_parse,
    .variant = spark_variant,
    .fits = spark_fits,
    .seed = spark_seed,
    .overhead = SPARK_V2_HEADER,
    .encode = spark_encode_v2,
};

const nay_format nay__format_spark_sql_v1 = {
    .name = "spark-sql-v1",
    .about = "Spark SQL's bloom_filter_agg, version 1",
    .family = &spark_family,
    .hash = &spark_sql_hash,
    .size_by = spark_size_v1,
    .takes = NAY_TAKES_NBITS,
    .parse = spark_parse,
    .variant = spark_variant,
    .fits = spark_fits,
    .seed = spark_seed,
    .overhead = SPARK_V1_HEADER,
    .encode = spark_encode_v1,
};

const nay_format nay__format_spark_sql_v2 = {
    .name = "spark-sql-v2",
    .about = "Spark SQL's bloom_filter_agg, version 2",
    .family = &spark_family,
    .hash = &spark_sql_hash,
    .size_by = spark_size_v2,
    .takes = NAY_TAKES_NBITS | NAY_TAKES_SEED,
    .parse = spark_parse,
    .variant = spark_variant,
    .fits = spark_fits,
    .seed = spark_seed,
    .overhead = SPARK_V2_HEADER,
    .encode = spark_encode_v2,
};
