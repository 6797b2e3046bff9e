/*
 * fmt_cassandra.c - Filter.db of Apache Cassandra's sstables, in the three forms it has had.
 *
 *   | k i32be | words i32be | 8 * words bytes |      m = 64 * words bits
 *
 *   cassandra               4.0 on (versions na.., BTI da..)   bit p is bit p % 8 of byte p / 8
 *   cassandra-old           3.0, 3.11 (ma..me)                 the same in big-endian words
 *   cassandra-old-swapped   until 2.2 (jb, ka, la)             so too, the two hashes exchanged
 *
 * Nothing in the file says which: the version in the name of the file does, or known members do.
 * The hash is MurmurHash3 with signed tail bytes, probe i is |h2 + i * h1| mod m (in
 * the third form |h1 + i * h2|) of signed 64-bit numbers. A file of no bytes is the filter that
 * answers maybe; what follows the words is not read, as in Cassandra.
 *
 * Size: b bits per key ("buckets") and k come from the FPR and the table of BloomCalculations, or b
 * is given and k the best for it; then m = 64 * ceil((n * b + 20) / 64). From an FPR of 0.393 on
 * the engine exchanges b and k, and takes k = 2 with one bit per key. That stays, because files
 * have it.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "format/classic.h"
#include "format/format.h"
#include "hash/murmur3.h"

#define CASSANDRA_HEADER 8u
#define CASSANDRA_EXCESS 20u      /* bits beyond n * b */
#define CASSANDRA_MAX_K 21u       /* the engine's buffer of probes */
#define CASSANDRA_MAX_BUCKETS 20u /* the last row of the table */
#define CASSANDRA_MAX_WORDS 0x7fffffffu
#define CASSANDRA_LOOSE_FPR 0.393 /* from here on k = 2 and b = 1 */
#define CASSANDRA_LOOSE_K 2u
#define CASSANDRA_LEAST_FPR 6.71e-5

/* ---- BloomCalculations ---- */

/* The FPR of b bits per key and k = 1, 2, ..; 0 ends a row. The best k is the first of the least.
 */
static const double cassandra_rates[CASSANDRA_MAX_BUCKETS + 1][15] = {
    [2] = {.393, .400},
    [3] = {.283, .237, .253},
    [4] = {.221, .155, .147, .160},
    [5] = {.181, .109, .092, .092, .101},
    [6] = {.154, .0804, .0609, .0561, .0578, .0638},
    [7] = {.133, .0618, .0423, .0359, .0347, .0364},
    [8] = {.118, .0489, .0306, .024, .0217, .0216, .0229},
    [9] = {.105, .0397, .0228, .0166, .0141, .0133, .0135, .0145},
    [10] = {.0952, .0329, .0174, .0118, .00943, .00844, .00819, .00846},
    [11] = {.0869, .0276, .0136, .00864, .0065, .00552, .00513, .00509},
    [12] = {.08, .0236, .0108, .00646, .00459, .00371, .00329, .00314},
    [13] = {.074, .0203, .00875, .00492, .00332, .00255, .00217, .00199, .00194},
    [14] = {.0689, .0177, .00718, .00381, .00244, .00179, .00146, .00129, .00121, .0012},
    [15] = {.0645, .0156, .00596, .003, .00183, .00128, .001, .000852, .000775, .000744},
    [16] = {.0606, .0138, .005, .00239, .00139, .000935, .000702, .000574, .000505, .00047,
            .000459},
    [17] = {.0571, .0123, .00423, .00193, .00107, .000692, .000499, .000394, .000335, .000302,
            .000287, .000284},
    [18] = {.054, .0111, .00362, .00158, .000839, .000519, .00036, .000275, .000226, .000198,
            .000183, .000176},
    [19] = {.0513, .00998, .00312, .0013, .000663, .000394, .000264, .000194, .000155, .000132,
            .000118, .000111, .000109},
    [20] = {.0488, .00906, .0027, .00108, .00053, .000303, .000196, .00014, .000108, 8.89e-5,
            7.77e-5, 7.12e-5, 6.79e-5, 6.71e-5},
};

/* T[b][k] of the engine, where T[b][0] is 1. */
static double cassandra_rate(uint32_t b, uint32_t k) {
  return k == 0 ? 1 : cassandra_rates[b][k - 1];
}

static uint32_t cassandra_best_k(uint32_t b) {
  uint32_t best = 1;
  for (uint32_t k = 2; k <= 15 && cassandra_rate(b, k) > 0; k++) {
    if (cassandra_rate(b, k) < cassandra_rate(b, best)) best = k;
  }
  return best;
}

/* The least b whose best k reaches fpr, then the least k that does. */
static void cassandra_spec(double fpr, uint32_t *b, uint32_t *k) {
  *b = 1;
  *k = CASSANDRA_LOOSE_K;
  if (fpr >= CASSANDRA_LOOSE_FPR) return;
  for (*b = 2; cassandra_rate(*b, *k = cassandra_best_k(*b)) > fpr;) ++*b;
  while (cassandra_rate(*b, *k - 1) <= fpr) --*k;
}

/* ---- plans ---- */

static nay_status cassandra_shape(uint64_t nkeys, uint32_t b, uint32_t k, nay_diag *diag,
                                  nay_shape *shape) {
  if (nkeys > (UINT64_C(64) * CASSANDRA_MAX_WORDS - CASSANDRA_EXCESS) / b) {
    return nay__fail(diag, NAY_EINVAL, "nkeys needs more than 2^31 - 1 words of 64 bits", 0);
  }
  uint64_t words = nay__ceil_div(nkeys * b + CASSANDRA_EXCESS, 64);
  *shape = (nay_shape){64 * words, k, 0};
  return NAY_OK;
}

static nay_status cassandra_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                 nay_shape *shape) {
  if (bits_per_key > CASSANDRA_MAX_BUCKETS) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is above 20, the most of this layout", 0);
  }
  uint32_t b = (uint32_t)bits_per_key;
  return cassandra_shape(nkeys, b, cassandra_best_k(b), diag, shape);
}

static nay_status cassandra_reserve(uint64_t nkeys, double fpr, nay_diag *diag, nay_shape *shape) {
  if (fpr < CASSANDRA_LEAST_FPR) {
    return nay__fail(diag, NAY_EINVAL, "fpr is below 6.71e-5, the least of this layout", 0);
  }
  uint32_t b, k;
  cassandra_spec(fpr, &b, &k);
  return cassandra_shape(nkeys, b, k, diag, shape);
}

/* Whether some FPR leads to b and k: one that k reaches, and b - 1 at its best does not. */
static bool cassandra_is_planned(uint32_t b, uint32_t k) {
  if (b == 1) return k == CASSANDRA_LOOSE_K;
  return b > 2 && k <= cassandra_best_k(b) &&
         cassandra_rate(b, k) < cassandra_rate(b - 1, cassandra_best_k(b - 1));
}

static bool cassandra_plan_of(const nay_shape *shape, size_t i, uint64_t *nkeys,
                              double *bits_per_key, double *fpr) {
  if (shape->nunits == 0) return false;
  uint32_t b = 1;
  for (size_t left = i; b <= CASSANDRA_MAX_BUCKETS; b++) {
    if (cassandra_is_planned(b, shape->k) && left-- == 0) break;
  }
  if (b > CASSANDRA_MAX_BUCKETS) return false;
  *nkeys = (shape->nunits - CASSANDRA_EXCESS) / b;
  *bits_per_key = b;
  *fpr = b == 1 ? CASSANDRA_LOOSE_FPR : cassandra_rate(b, shape->k);
  return true;
}

/* ---- bytes ---- */

static nay_status cassandra_parse(const uint8_t *bytes, size_t len, nay_diag *diag,
                                  nay_shape *shape, nay_span *payload) {
  *shape = (nay_shape){0, 0, 0};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, 0};
  if (len == 0) return NAY_OK;
  if (len < CASSANDRA_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  uint32_t k = nay__load32be(bytes);
  if (k < 1 || k > CASSANDRA_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 21", 0);
  }
  shape->k = k;
  return nay__classic_words(bytes, len, CASSANDRA_HEADER, CASSANDRA_MAX_WORDS, diag, shape,
                            payload);
}

static size_t cassandra_size(const nay_filter *f) {
  return f->shape.nunits == 0 ? 0 : CASSANDRA_HEADER + f->nbytes;
}

static void cassandra_encode(const nay_filter *f, uint8_t *dst) {
  if (f->shape.nunits == 0) return;
  nay__store32be(dst, f->shape.k);
  nay__store32be(dst + 4, (uint32_t)(f->shape.nunits / 64));
  memcpy(dst + CASSANDRA_HEADER, f->bits.bytes, f->nbytes);
}

static const char *cassandra_caveat(const nay_filter *f) {
  return f->shape.nunits == 0 ? "a file of no bytes: every answer is maybe" : NULL;
}

/*
 * ---- the hash: MurmurHash3 of 128 bits (x64), seed 0, with a fault of Cassandra's port ----
 *
 * The bytes after the last whole block of 16 are sign-extended to 64 bits before they are shifted
 * and xored, so a byte of 0x80 or above also inverts all bits above its own place. Keys of a
 * multiple of 16 bytes, and keys in ASCII, hash as in the original. An attacker finds collisions
 * for every seed: use it for this layout only.
 */

/* At most 8 bytes as a number, each with its sign. */
static uint64_t cassandra_tail_s8(const uint8_t *p, size_t n) {
  uint64_t x = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t byte = p[i] < 0x80 ? p[i] : p[i] | ~(uint64_t)0xff;
    x ^= byte << 8 * i;
  }
  return x;
}

static nay_hash cassandra_hash_of(const uint8_t *p, size_t len) {
  return nay__murmur3_128_of(p, len, cassandra_tail_s8);
}

static const nay_foreign_hash cassandra_hash = {
    .kind = (nay_hash_kind)88, .name = "murmur3-s8", .has_hi = true, .hash = cassandra_hash_of};

/* ---- the probing scheme ---- */

#define CASSANDRA_WORDS_BE 1u /* extra: each 8 bytes of the array are in reverse order */
#define CASSANDRA_SWAPPED 2u  /* extra: hash.lo is the first bit and hash.hi the step */

static nay_hash cassandra_start(const nay_shape *shape, nay_hash hash) {
  return (shape->extra & CASSANDRA_SWAPPED) != 0 ? hash : (nay_hash){hash.hi, hash.lo};
}

/* Reversing the bytes of a word of 64 bits is to invert three bits of the location. */
static uint64_t cassandra_next(const nay_shape *shape, nay_hash *state) {
  uint64_t at = state->lo, magnitude = at >> 63 != 0 ? 0 - at : at, bit = magnitude % shape->nunits;
  state->lo += state->hi;
  return (shape->extra & CASSANDRA_WORDS_BE) != 0 ? bit ^ 0x38 : bit;
}

static bool cassandra_empty(const nay_shape *shape) {
  (void)shape;
  return true;
}

static const nay_probing cassandra_probing = {
    .start = cassandra_start,
    .next = cassandra_next,
    .max_k = CASSANDRA_MAX_K,
    .empty_is_maybe = cassandra_empty,
};
NAY_CLASSIC_VERBS(cassandra, cassandra_probing)
static const nay_family cassandra_family = NAY_CLASSIC_FAMILY(cassandra, "bloom (signed)");

/* ---- the three forms: the same but for shape.extra ---- */

#define CASSANDRA_FORM(form, bits)                                                             \
  static nay_status cassandra_plan_##form(uint64_t nkeys, double bits_per_key, nay_diag *diag, \
                                          nay_shape *shape) {                                  \
    NAY_TRY(cassandra_plan(nkeys, bits_per_key, diag, shape));                                 \
    shape->extra = (bits);                                                                     \
    return NAY_OK;                                                                             \
  }                                                                                            \
  static nay_status cassandra_reserve_##form(uint64_t nkeys, double fpr, nay_diag *diag,       \
                                             nay_shape *shape) {                               \
    NAY_TRY(cassandra_reserve(nkeys, fpr, diag, shape));                                       \
    shape->extra = (bits);                                                                     \
    return NAY_OK;                                                                             \
  }                                                                                            \
  static nay_status cassandra_parse_##form(const uint8_t *bytes, size_t len, nay_diag *diag,   \
                                           nay_shape *shape, nay_span *payload) {              \
    NAY_TRY(cassandra_parse(bytes, len, diag, shape, payload));                                \
    shape->extra = (bits);                                                                     \
    return NAY_OK;                                                                             \
  }

CASSANDRA_FORM(new, 0)
CASSANDRA_FORM(old, CASSANDRA_WORDS_BE)
CASSANDRA_FORM(swapped, CASSANDRA_WORDS_BE | CASSANDRA_SWAPPED)

const nay_format nay__format_cassandra = {
    .name = "cassandra",
    .about = "Cassandra's Filter.db since 4.0 (versions na.., da..)",
    .family = &cassandra_family,
    .hash = &cassandra_hash,
    .plan = cassandra_plan_new,
    .parse = cassandra_parse_new,
    .overhead = CASSANDRA_HEADER,
    .size = cassandra_size,
    .encode = cassandra_encode,
    .reserve = cassandra_reserve_new,
    .plan_of = cassandra_plan_of,
    .caveat = cassandra_caveat,
};

const nay_format nay__format_cassandra_old = {
    .name = "cassandra-old",
    .about = "Cassandra's Filter.db of 3.x (versions ma..me)",
    .family = &cassandra_family,
    .hash = &cassandra_hash,
    .plan = cassandra_plan_old,
    .parse = cassandra_parse_old,
    .overhead = CASSANDRA_HEADER,
    .size = cassandra_size,
    .encode = cassandra_encode,
    .reserve = cassandra_reserve_old,
    .plan_of = cassandra_plan_of,
    .caveat = cassandra_caveat,
};

const nay_format nay__format_cassandra_old_swapped = {
    .name = "cassandra-old-swapped",
    .about = "Cassandra's Filter.db until 2.2 (versions jb, ka, la)",
    .family = &cassandra_family,
    .hash = &cassandra_hash,
    .plan = cassandra_plan_swapped,
    .parse = cassandra_parse_swapped,
    .overhead = CASSANDRA_HEADER,
    .size = cassandra_size,
    .encode = cassandra_encode,
    .reserve = cassandra_reserve_swapped,
    .plan_of = cassandra_plan_of,
    .caveat = cassandra_caveat,
};
