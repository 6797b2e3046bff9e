/*
 * classic.h - the Bloom filters of other systems: k bits of one array, found one after the other.
 *
 * A probing scheme is a nay_probing, two functions that the compiler inlines. NAY_CLASSIC_VERBS
 * makes a family of one: adds, probes, explanations, statistics, merges. A layout with a scheme of
 * its own has it in its own file (fmt_cassandra.c). Two schemes serve several layouts:
 *
 *   rotating   32-bit hash h, delta = h rotated right by 17; bit h % m, h += delta, k times
 *              (LevelDB, mini-lsm). k above 30 or 0 is reserved: such a filter answers maybe.
 *   striding   bits (lo + i * hi mod 2^64) % m for i = 0 .. k-1  (nori, the lab)
 *
 * shape: nunits bits (0: a filter of no keys, which answers nay), k, and in `extra` a value of the
 * format.
 */
#ifndef NAY_CLASSIC_H
#define NAY_CLASSIC_H

#include "base/bits.h"
#include "base/compiler.h"
#include "family/bitarray.h"
#include "family/explain.h"
#include "family/family.h"

extern const nay_family nay__family_rotating;
extern const nay_family nay__family_striding;

#define NAY_CLASSIC_MAX_K 255u /* a file with more is refused: it would slow down every probe */

/* nay__classic_bits: n * bits_per_key, refused when it cannot be addressed. */
nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits);

/* The largest array of Guava and Spark, in words of 64 bits. */
#define NAY_CLASSIC_JAVA_WORDS 0x7fffffffu

/* nay__classic_java_bits: refuses a size that Guava and Spark cannot have. */
nay_status nay__classic_java_bits(double nbits, nay_diag *diag);

/*
 * nay__classic_words: a payload of big-endian words behind a header, which lies within len; the
 * last 4 bytes of the header are the number of words, big-endian. Sets shape->nunits to the number
 * of bits. NAY_ECORRUPT: the number is 0, above `most`, or larger than what follows the header.
 */
nay_status nay__classic_words(const uint8_t *bytes, size_t len, size_t header, uint32_t most,
                              nay_diag *diag, nay_shape *shape, nay_span *payload);

/* nay_probing: how a layout finds the k bits of a key. */
typedef struct nay_probing {
  /* hash -> the state before the first bit; NULL: the hash itself */
  nay_hash (*start)(const nay_shape *, nay_hash);
  /* the location of the next bit; moves the state on */
  uint64_t (*next)(const nay_shape *, nay_hash *state);
  uint32_t max_k; /* a k above it, or of 0, is reserved: maybe for every key */
  /* whether a filter of no bits answers maybe; NULL: nay */
  bool (*empty_is_maybe)(const nay_shape *);
  /* bits of the block that has all bits of a key; NULL: they are anywhere */
  uint64_t (*block_bits)(const nay_shape *);
  /* bytes of the payload before the array: numbers that change with the keys */
  size_t header;
  /* instead of start and next, for hashes that are by_key: the k bits of a key, into at[0, k) */
  void (*locate)(const nay_filter *, const uint8_t *key, size_t len, uint64_t *at);
} nay_probing;

NAY_INLINE bool nay__probing_empty(const nay_probing *p, const nay_shape *shape) {
  return p->empty_is_maybe != NULL && p->empty_is_maybe(shape);
}

NAY_INLINE bool nay__probing_reserved(const nay_probing *p, const nay_shape *shape) {
  return shape->k == 0 || shape->k > p->max_k;
}

NAY_INLINE nay_hash nay__probing_start(const nay_probing *p, const nay_shape *shape,
                                       nay_hash hash) {
  return p->start != NULL ? p->start(shape, hash) : hash;
}

/* A filter of no keys has no bit to set; one that answers maybe to all has no meaning to add to. */
NAY_INLINE nay_status nay__probing_add(const nay_probing *p, nay_filter *f, nay_hash hash,
                                       bool *is_new) {
  const nay_shape *shape = &f->shape;
  if (shape->nunits == 0) return nay__probing_empty(p, shape) ? NAY_ENOTSUP : NAY_EFULL;
  if (nay__probing_reserved(p, shape)) return NAY_ENOTSUP;
  nay_hash state = nay__probing_start(p, shape, hash);
  bool fresh = false;
  for (uint32_t i = 0; i < shape->k; i++) {
    fresh |= !nay__bit_set(f->bits.bytes + p->header, p->next(shape, &state));
  }
  *is_new = fresh;
  return NAY_OK;
}

NAY_INLINE bool nay__probing_test(const nay_probing *p, const nay_filter *f, nay_hash hash) {
  const nay_shape *shape = &f->shape;
  if (NAY_UNLIKELY(shape->nunits == 0)) return nay__probing_empty(p, shape);
  if (NAY_UNLIKELY(nay__probing_reserved(p, shape))) return true;
  nay_hash state = nay__probing_start(p, shape, hash);
  for (uint32_t i = 0; i < shape->k; i++) {
    if (!nay__bit_get(f->bits.bytes + p->header, p->next(shape, &state))) return false;
  }
  return true;
}

/* The same for an explanation, which goes on after a clear bit. */
void nay__probing_explain(const nay_probing *p, const nay_filter *f, nay_hash hash,
                          nay_explain_run *run);

/* NAY_PROBING_VERBS: name_add, name_test and name_explain by a `static const nay_probing`. */
#define NAY_PROBING_VERBS(name, probing)                                                 \
  static nay_status name##_add(nay_filter *f, nay_hash hash, bool *is_new) {             \
    return nay__probing_add(&(probing), f, hash, is_new);                                \
  }                                                                                      \
  static bool name##_test(const nay_filter *f, nay_hash hash) {                          \
    return nay__probing_test(&(probing), f, hash);                                       \
  }                                                                                      \
  static void name##_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) { \
    nay__probing_explain(&(probing), f, hash, run);                                      \
  }

/* What the families of classic.h have in common. */
bool nay__classic_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes);
double nay__classic_fpr(const nay_probing *p, const nay_shape *shape, uint64_t nkeys);
void nay__classic_census(const nay_probing *p, const nay_filter *a, const nay_filter *b,
                         uint64_t factor, nay_census *census);
extern const nay_family_algebra nay__classic_algebra;

/* nay__classic_nbits_for: -nkeys ln(fpr) / ln(2)^2, in the order in which those that cite the
 * formula compute it, before they round it: ln is that of a good libm. */
double nay__classic_nbits_for(uint64_t nkeys, double fpr);

/* nay__classic_k: round(bits / nkeys * ln 2), at least 1. */
uint32_t nay__classic_k(double nbits, uint64_t nkeys);

/* Arrays of 64-bit words in big-endian files, bit p in word p / 64: p of the bytes in the file. */
#define NAY_WORDS_BE(p) ((p) ^ 0x38)

/*
 * NAY_CLASSIC_VERBS: the verbs of an array of bits by a `static const nay_probing`, and
 * NAY_CLASSIC_FAMILY: the family that has them, as the initializer of a `const nay_family`.
 */
#define NAY_CLASSIC_VERBS(verbs, probing)                                               \
  NAY_PROBING_VERBS(verbs, probing)                                                     \
  static double verbs##_fpr(const nay_shape *shape, uint64_t nkeys) {                   \
    return nay__classic_fpr(&(probing), shape, nkeys);                                  \
  }                                                                                     \
  static void verbs##_census(const nay_filter *a, const nay_filter *b, uint64_t factor, \
                             nay_census *census) {                                      \
    nay__classic_census(&(probing), a, b, factor, census);                              \
  }
#define NAY_CLASSIC_FAMILY(verbs, text)                                                            \
  {                                                                                                \
    .kind = NAY_BLOOM, .name = (text), .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,  \
    .payload = nay__classic_payload, .fpr = verbs##_fpr, .add = verbs##_add, .test = verbs##_test, \
    .explain = verbs##_explain, .census = verbs##_census, .batch = &nay__batch_each,               \
    .algebra = &nay__classic_algebra,                                                              \
  }

/*
 * NAY_KEYED_VERBS and NAY_KEYED_FAMILY: the same for a probing that locates the bits of keys. Calls
 * by hash answer maybe, or NAY_ENOTSUP.
 */
bool nay__keyed_test(const nay_probing *p, const nay_filter *f, const uint8_t *key, size_t len);
nay_status nay__keyed_add(const nay_probing *p, nay_filter *f, const uint8_t *key, size_t len,
                          bool *is_new);
void nay__keyed_explain(const nay_probing *p, const nay_filter *f, const uint8_t *key, size_t len,
                        nay_explain_run *run);
bool nay__keyed_no_test(const nay_filter *f, nay_hash hash);
nay_status nay__keyed_no_add(nay_filter *f, nay_hash hash, bool *is_new);
void nay__keyed_no_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run);

#define NAY_KEYED_VERBS(verbs, probing)                                                            \
  static bool verbs##_test_key(const nay_filter *f, const uint8_t *key, size_t len) {              \
    return nay__keyed_test(&(probing), f, key, len);                                               \
  }                                                                                                \
  static nay_status verbs##_add_key(nay_filter *f, const uint8_t *key, size_t len, bool *is_new) { \
    return nay__keyed_add(&(probing), f, key, len, is_new);                                        \
  }                                                                                                \
  static void verbs##_explain_key(const nay_filter *f, const uint8_t *key, size_t len,             \
                                  nay_explain_run *run) {                                          \
    nay__keyed_explain(&(probing), f, key, len, run);                                              \
  }                                                                                                \
  static double verbs##_fpr(const nay_shape *shape, uint64_t nkeys) {                              \
    return nay__classic_fpr(&(probing), shape, nkeys);                                             \
  }                                                                                                \
  static void verbs##_census(const nay_filter *a, const nay_filter *b, uint64_t factor,            \
                             nay_census *census) {                                                 \
    nay__classic_census(&(probing), a, b, factor, census);                                         \
  }
#define NAY_KEYED_FAMILY(verbs, text, payload_of)                                                  \
  {                                                                                                \
    .kind = NAY_BLOOM, .name = (text), .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,  \
    .payload = payload_of, .fpr = verbs##_fpr, .census = verbs##_census, .add = nay__keyed_no_add, \
    .test = nay__keyed_no_test, .explain = nay__keyed_no_explain, .test_key = verbs##_test_key,    \
    .add_key = verbs##_add_key, .explain_key = verbs##_explain_key, .batch = &nay__batch_each,     \
    .algebra = &nay__classic_algebra,                                                              \
  }

#endif /* NAY_CLASSIC_H */
