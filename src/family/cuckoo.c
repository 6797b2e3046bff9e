/*
 * cuckoo.c - cuckoo filter: a short tag of each key in one of two buckets; removal at a low FPR.
 *
 *   payload   | header 64 | bucket 0 | bucket 1 | ... | at least 8 zero bytes, to 64 |
 *   bucket    | tag | tag | tag | tag |        four tags of f bits, packed; 0 is an empty slot
 *
 * A key has a home bucket i and a tag; its other bucket is computable from either and the tag
 * alone, so a tag can move without its key [1]:
 *
 *   alt(i) = (r - i) mod m      r odd, from the tag; m even: any even number of buckets
 *
 * alt(alt(i)) = i, and alt(i) is never i, as 2i is not odd. Adding to two full buckets moves tags
 * out of the way: the shortest chain of moves that ends in a free slot is searched breadth first
 * before anything is written (cuckoo_room.c). So a failed add has changed nothing, the same
 * operations give the same bytes, and there is no state of a random walk to keep.
 *
 * The false-positive rate (FPR) is that of 8 tags that match by accident: cuckoo_plan.c.
 *
 * GROWING. Not by a chain of filters: a key that matches in two of them by chance cannot be removed
 * safely, since the tag taken out may be another key's only one. Instead tags start with spare
 * bits, one for each doubling to come. Doubling moves the top spare bit of each tag into its bucket
 * number: bucket I becomes 2I and 2I + 1, nothing needs to be evicted, and equal keys stay equal:
 *
 *   tag      | spare: D - d bits | low: F bits, never 0 |       after d doublings of at most D
 *   bucket I = i * 2^d + the d spare bits already used;  alt acts on i, with r from low
 *
 * A tag that moves to its other bucket xors all D spare bits, used or not, with a word made from
 * low. Without that the doubled table would be 2^d tables that exchange nothing, and the first of
 * them to be full would end the growth of all.
 *
 * The FPR doubles with each step and is, after the last, the planned one; the memory for
 * spare bits is largest when the filter is smallest.
 *
 * WHEN IT GROWS. A key that tests maybe, a copy or not, never grows the table. A new one doubles it
 * when the table holds its capacity (cuckoo_plan.c), or when no chain of moves makes room but
 * doubling does, and one slot in eight of the doubled table would be in use. All of that is decided
 * before anything is copied. Other adds that find no room are refused at once.
 *
 * [1] Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo filter, CoNEXT 2014. The sum form of alt for
 * any even m is that of Lemire's cuckoofilter_stable.
 */
#include "family/cuckoo.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/trace.h"
#include "cpu/cuckoo_lookup.h"
#include "math/plan.h"

#define CUCKOO_MAX_COPIES 8u

/* ---- where things are ---- */

nay_cuckoo_table nay__cuckoo_open(const nay_shape *shape, uint8_t *payload, unsigned d) {
  nay_cuckoo_table t = {.slots = payload + NAY_CUCKOO_HEADER, .m = shape->nunits, .d = d};
  t.low = nay__cuckoo_low_bits(shape);
  t.spare = nay__cuckoo_most_doublings(shape) - d;
  nay__cuckoo_set_width(&t, t.low + t.spare <= 16);
  return t;
}

nay_cuckoo_table nay__cuckoo_of(const nay_filter *f) {
  return nay__cuckoo_open(&f->shape, f->bits.bytes,
                          (unsigned)nay__load64le(f->bits.bytes + NAY_CUCKOO_AT_DOUBLINGS));
}

/* The usual filter: it does not grow and has at most 16 bits in a tag. */
static bool cuckoo_is_plain(const nay_shape *shape) { return (shape->extra & 0xffffu) <= 16; }

/* ---- slots and buckets ---- */

NAY_INLINE const uint8_t *cuckoo_bucket_at(const nay_cuckoo_table *t, uint64_t bucket) {
  return t->slots + (nay__cuckoo_bucket_bit(t, bucket) >> 3);
}

/* How many slots a match names: the fields are summed by one multiplication. */
NAY_INLINE unsigned cuckoo_count_of(const nay_cuckoo_table *t, uint64_t match) {
  if (!t->narrow) return nay__popcount64(match);
  return (unsigned)((match >> (t->f - 1)) * t->ones >> 3 * t->f & 7);
}

/* ---- keys ---- */

NAY_INLINE unsigned cuckoo_copies(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  return cuckoo_count_of(t, nay__cuckoo_match(t, key->home, key->home_tag)) +
         cuckoo_count_of(t, nay__cuckoo_match(t, key->other, key->other_tag));
}

/* ---- making room ---- */

/* The emptier of the two buckets: it keeps chains short until late. Chosen without a branch. */
NAY_INLINE bool cuckoo_insert(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  uint64_t home = nay__cuckoo_match(t, key->home, 0), other = nay__cuckoo_match(t, key->other, 0);
  if (NAY_UNLIKELY((home | other) == 0)) return nay__cuckoo_evict(t, key);
  bool at_home = cuckoo_count_of(t, home) >= cuckoo_count_of(t, other);
  uint64_t bucket = at_home ? key->home : key->other, match = at_home ? home : other;
  uint64_t tag = at_home ? key->home_tag : key->other_tag;
  NAY_TRACE(CUCKOO_PUT, 0, 0, bucket,
            (nay__cuckoo_first(t, bucket, match) - nay__cuckoo_bucket_bit(t, bucket)) / t->f, tag,
            0);
  nay__cuckoo_set(t, nay__cuckoo_first(t, bucket, match), tag);
  return true;
}

static void cuckoo_init(nay_filter *f, const nay_params *params) {
  nay__store64le(f->bits.bytes + NAY_CUCKOO_AT_MAX_NBYTES, params->max_nbytes);
}

static void cuckoo_to_params(const nay_filter *f, nay_params *params) {
  params->k = 0;
  params->tag_bits = nay__cuckoo_low_bits(&f->shape);
  params->nbits = f->shape.nunits * NAY_CUCKOO_SLOTS * params->tag_bits;
  unsigned growth = nay__cuckoo_most_doublings(&f->shape);
  params->max_nkeys =
      growth != 0 ? nay__cuckoo_capacity(f->shape.nunits * NAY_CUCKOO_SLOTS << growth) : 0;
  params->max_nbytes = nay__load64le(f->bits.bytes + NAY_CUCKOO_AT_MAX_NBYTES);
  if ((f->shape.extra & NAY_CUCKOO_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
}

/* Keeps the size it has grown to: the keys that come next are as many as those that went. */
static nay_status cuckoo_clear(nay_filter *f) {
  memset(f->bits.bytes + NAY_CUCKOO_HEADER, 0, f->nbytes - NAY_CUCKOO_HEADER);
  nay__store64le(f->bits.bytes + NAY_CUCKOO_AT_NENTRIES, 0);
  return NAY_OK;
}

/* ---- add, test, remove, count ---- */

static void cuckoo_entries(nay_filter *f, int change) {
  uint8_t *at = f->bits.bytes + NAY_CUCKOO_AT_NENTRIES;
  nay__store64le(at, nay__load64le(at) + (uint64_t)(int64_t)change);
}

/* NAY_EFULL: there are eight copies, or no chain of moves makes room. Nothing has changed then. */
NAY_INLINE nay_status cuckoo_store(nay_filter *f, const nay_cuckoo_table *t, uint64_t hash,
                                   bool *is_new) {
  nay_cuckoo_key key = nay__cuckoo_locate(t, hash);
  bool found = nay__cuckoo_has(t, &key);
  if (!found || (f->shape.extra & NAY_CUCKOO_UNIQUE) == 0) {
    if (found && cuckoo_copies(t, &key) == CUCKOO_MAX_COPIES) return NAY_EFULL;
    if (!cuckoo_insert(t, &key)) return NAY_EFULL;
    cuckoo_entries(f, 1);
  }
  *is_new = !found;
  return NAY_OK;
}

static nay_status cuckoo_add_growing(nay_filter *f, uint64_t hash, bool *is_new) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  nay_cuckoo_key key = nay__cuckoo_locate(&t, hash);
  bool found = nay__cuckoo_has(&t, &key);
  if (found || !nay__cuckoo_is_due(f, &t)) {
    nay_status status = cuckoo_store(f, &t, hash, is_new);
    if (found || status != NAY_EFULL) return status;
  }
  NAY_TRY(nay__cuckoo_grow(f, &t, &key));
  t = nay__cuckoo_of(f);
  return cuckoo_store(f, &t, hash, is_new); /* cannot fail: nay__cuckoo_grow has made room */
}

static nay_status cuckoo_add(nay_filter *f, nay_hash h, bool *is_new) {
  if (!cuckoo_is_plain(&f->shape)) return cuckoo_add_growing(f, h.lo, is_new);
  nay_cuckoo_table t = nay__cuckoo_plain(&f->bits, nay__cuckoo_low_bits(&f->shape));
  return cuckoo_store(f, &t, h.lo, is_new);
}

NAY_INLINE bool cuckoo_test_in(const nay_cuckoo_table *t, uint64_t hash) {
  nay_cuckoo_key key = nay__cuckoo_locate(t, hash);
  return nay__cuckoo_has(t, &key);
}

NAY_INLINE void cuckoo_prefetch_key(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  NAY_PREFETCH(cuckoo_bucket_at(t, key->home));
  NAY_PREFETCH(cuckoo_bucket_at(t, key->other));
}

/* A batch locates the buckets of all keys before it reads the first. */
NAY_INLINE uint64_t cuckoo_test_batch(const nay_filter *f, const nay_cuckoo_table *t,
                                      const uint64_t *hashes, unsigned n) {
  nay_cuckoo_key keys[64];
  uint8_t maybe[64] = {0};
  for (unsigned i = 0; i < n; i++) {
    keys[i] = nay__cuckoo_locate(t, hashes[i]);
    if (!f->bits.in_cache) cuckoo_prefetch_key(t, &keys[i]);
  }
  for (unsigned i = 0; i < n; i++) maybe[i] = nay__cuckoo_has(t, &keys[i]);
  return nay__bits_of(maybe);
}

/* Tables that grow, and widths without code of their own. */
static NAY_NOINLINE uint64_t cuckoo_test_any(const nay_filter *f, const uint64_t *hashes,
                                             unsigned n) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  return cuckoo_test_batch(f, &t, hashes, n);
}

/*
 * A probe waits for two cache lines, and the fewer instructions it has the more misses are
 * outstanding. So the widths of an FPR of 10%, 3%, 1%, 0.2%, 0.1% and 0.01% have code of their own.
 */
#define CUCKOO_WIDTHS(X) X(7) X(8) X(10) X(12) X(13) X(16)

#define CUCKOO_PROBE(tag_bits)                                            \
  static bool cuckoo_probe_##tag_bits(const nay_bits *b, uint64_t hash) { \
    nay_cuckoo_table t = nay__cuckoo_plain(b, tag_bits);                  \
    return cuckoo_test_in(&t, hash);                                      \
  }
CUCKOO_WIDTHS(CUCKOO_PROBE)
#undef CUCKOO_PROBE

static nay_bits_probe cuckoo_choose_probe(const nay_filter *f) {
  const nay_cuckoo_kernels *kernels = f->kernels->cuckoo;
  unsigned bits = f->shape.extra & 0xffffu;
  if (kernels != NULL && kernels->choose_test != NULL) return kernels->choose_test(bits);
  switch (bits) {
#define CUCKOO_CASE(tag_bits) \
  case tag_bits: return cuckoo_probe_##tag_bits;
    CUCKOO_WIDTHS(CUCKOO_CASE)
#undef CUCKOO_CASE
    default: return NULL;
  }
}

static void cuckoo_bind(nay_filter *f) { f->bits.probe = cuckoo_choose_probe(f); }

/* Whether the CPU has kernels for 64 keys of this table. */
static bool cuckoo_has_kernels(const nay_filter *f) {
  return f->kernels->cuckoo != NULL && cuckoo_is_plain(&f->shape) && f->shape.nunits >> 28 == 0;
}

static nay_cuckoo_map cuckoo_map(const nay_filter *f) {
  return (nay_cuckoo_map){f->bits.bytes + NAY_CUCKOO_HEADER, f->shape.nunits,
                          nay__cuckoo_low_bits(&f->shape)};
}

/*
 * One key: both buckets. A batch: only in filters larger than the LLC; in smaller ones it takes
 * longer to locate the buckets twice than the prefetch saves.
 */
static void cuckoo_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                            unsigned n) {
  (void)hi;
  if (n == 1) {
    nay_cuckoo_table t = nay__cuckoo_of(f);
    nay_cuckoo_key key = nay__cuckoo_locate(&t, lo[0]);
    cuckoo_prefetch_key(&t, &key);
  } else if (n % 8 == 0 && cuckoo_has_kernels(f) && f->nbytes >= NAY_OUT_OF_CACHE_BYTES) {
    nay_cuckoo_map map = cuckoo_map(f);
    f->kernels->cuckoo->prefetch64(&map, lo, n);
  }
}

static uint64_t cuckoo_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  nay_cuckoo_table t;
  if (n == 64 && cuckoo_has_kernels(f)) {
    nay_cuckoo_map map = cuckoo_map(f);
    return f->kernels->cuckoo->test64(&map, lo);
  }
  switch (f->shape.extra & 0xffffu) {
#define CUCKOO_CASE(tag_bits) \
  case tag_bits: t = nay__cuckoo_plain(&f->bits, tag_bits); return cuckoo_test_batch(f, &t, lo, n);
    CUCKOO_WIDTHS(CUCKOO_CASE)
#undef CUCKOO_CASE
    default: return cuckoo_test_any(f, lo, n);
  }
}

static bool cuckoo_test(const nay_filter *f, nay_hash h) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  return cuckoo_test_in(&t, h.lo);
}

static nay_status cuckoo_remove(nay_filter *f, nay_hash h) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  nay_cuckoo_key key = nay__cuckoo_locate(&t, h.lo);
  uint64_t bucket = key.home, match = nay__cuckoo_match(&t, bucket, key.home_tag);
  if (match == 0) match = nay__cuckoo_match(&t, bucket = key.other, key.other_tag);
  if (match == 0) return NAY_ENOENT;
  uint64_t slot = nay__cuckoo_first(&t, bucket, match);
  NAY_TRACE(CUCKOO_REMOVED, 0, 0, bucket, (slot - nay__cuckoo_bucket_bit(&t, bucket)) / t.f,
            nay__cuckoo_get(&t, slot), 0);
  nay__cuckoo_set(&t, slot, 0);
  cuckoo_entries(f, -1);
  return NAY_OK;
}

static nay_status cuckoo_count(const nay_filter *f, nay_hash h, uint64_t *count) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  nay_cuckoo_key key = nay__cuckoo_locate(&t, h.lo);
  *count = cuckoo_copies(&t, &key);
  return NAY_OK;
}

static nay_status cuckoo_batch_add(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   unsigned n, const uint64_t *next, uint64_t *bitmap,
                                   size_t *taken) {
  (void)next;
  nay_cuckoo_table t = nay__cuckoo_of(f);
  for (unsigned i = 0; i < n; i++) {
    nay_cuckoo_key key = nay__cuckoo_locate(&t, lo[i]);
    cuckoo_prefetch_key(&t, &key);
  }
  return nay__add_each(cuckoo_add, f, lo, hi, n, bitmap, taken);
}

/* ---- the whole filter ---- */

static void cuckoo_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b;
  (void)factor;
  nay_cuckoo_table t = nay__cuckoo_of(a);
  uint64_t nentries = nay__load64le(a->bits.bytes + NAY_CUCKOO_AT_NENTRIES);
  bool distinct = (a->shape.extra & NAY_CUCKOO_UNIQUE) != 0;
  *census = (nay_census){nay__cuckoo_nbits(&a->shape, t.d), nentries * t.f, nay__exactly(nentries),
                         nay__cuckoo_expected(&t, (double)nentries, distinct)};
}

static void cuckoo_describe(const nay_filter *f, nay_stats *stats) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  stats->nlevels = 1 + t.d;
  stats->tag_bits = t.f;
  if (t.d + t.spare == 0) return;
  stats->fpr_planned = nay__cuckoo_fpr_limit(&f->shape);
  /* of a table that grows: above the FPR of its last doubling, full */
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* ---- bytes from outside ---- */

static nay_status cuckoo_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  if (len < NAY_CUCKOO_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", 0);
  uint64_t d = nay__load64le(payload + NAY_CUCKOO_AT_DOUBLINGS), nentries = 0;
  if (d > nay__cuckoo_most_doublings(shape) || nay__cuckoo_nbytes(shape, (unsigned)d) != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit its header",
                     NAY_CUCKOO_AT_DOUBLINGS);
  }
  uint64_t most = nay__load64le(payload + NAY_CUCKOO_AT_MAX_NBYTES);
  if (most != 0 && len > most) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload is longer than its limit",
                     NAY_CUCKOO_AT_MAX_NBYTES);
  }
  if (!nay__all_zero(payload + NAY_CUCKOO_AT_END, NAY_CUCKOO_HEADER - NAY_CUCKOO_AT_END)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", NAY_CUCKOO_AT_END);
  }
  nay_cuckoo_table t = nay__cuckoo_open(shape, (uint8_t *)(uintptr_t)payload, (unsigned)d);
  for (uint64_t i = 0; i < nay__cuckoo_nbuckets(&t) * NAY_CUCKOO_SLOTS; i++) {
    uint64_t tag = nay__cuckoo_get(&t, i * t.f);
    nentries += tag != 0;
    if (tag != 0 && (tag & nay__cuckoo_mask(t.low)) == 0) {
      return nay__fail(diag, NAY_ECORRUPT, "an impossible tag", NAY_CUCKOO_HEADER + (i * t.f >> 3));
    }
  }
  if (nentries != nay__load64le(payload + NAY_CUCKOO_AT_NENTRIES)) {
    return nay__fail(diag, NAY_ECORRUPT, "another number of tags than the header says",
                     NAY_CUCKOO_AT_NENTRIES);
  }
  uint64_t nbits = nay__cuckoo_nbits(shape, (unsigned)d), end = NAY_CUCKOO_HEADER + (nbits >> 3);
  bool clear =
      payload[end] >> (nbits & 7) == 0 && nay__all_zero(payload + end + 1, (size_t)(len - end - 1));
  return clear ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "padding is not zero", end);
}

static const nay_family_batch cuckoo_batch = {
    .add = cuckoo_batch_add,
    .test = cuckoo_batch_test,
    .prefetch = cuckoo_prefetch,
};

const nay_family nay__family_cuckoo = {
    .kind = NAY_CUCKOO,
    .name = "cuckoo",
    .traits = NAY_CAN_ADD | NAY_CAN_REMOVE | NAY_CAN_COUNT | NAY_CAN_GROW,
    .knobs = NAY_KNOB_UNIQUE | NAY_KNOB_TAG_BITS | NAY_KNOB_MAX_NKEYS | NAY_KNOB_MAX_NBYTES,
    .self_sized = true,
    .ordered = true,
    .plan = nay__cuckoo_plan,
    .payload = nay__cuckoo_payload,
    .fpr = nay__cuckoo_fpr,
    .extend_plan = nay__cuckoo_extend_plan,
    .init = cuckoo_init,
    .to_params = cuckoo_to_params,
    .clear = cuckoo_clear,
    .check = cuckoo_check,
    .census = cuckoo_census,
    .describe = cuckoo_describe,
    .bind = cuckoo_bind,
    .test = cuckoo_test,
    .explain = nay__cuckoo_explain,
    .add = cuckoo_add,
    .remove = cuckoo_remove,
    .count = cuckoo_count,
    .batch = &cuckoo_batch,
};
