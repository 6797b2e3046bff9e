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
 * before anything is written. So a failed add has changed nothing, the same operations give the
 * same bytes, and there is no state of a random walk to keep.
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
 * The FPR doubles with each step and is, after the last, the planned one; the memory for
 * spare bits is largest when the filter is smallest.
 *
 * Longer than 500 lines because all that writes a slot is here: adds, removals, moves and doubling
 * share helpers that must be inlined, and the trace of each write stands beside it.
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
#include "family/regrow.h"
#include "math/plan.h"

#define CUCKOO_MAX_COPIES 8u
#define CUCKOO_NODES 1024u /* of a search; 95% load needs a few dozen: tests/stats */

/* Header fields; the rest is zero. */
enum {
  CUCKOO_AT_DOUBLINGS = 0,   /* u64 */
  CUCKOO_AT_NENTRIES = 8,    /* u64: tags in the table */
  CUCKOO_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  CUCKOO_AT_END = 24,
};

/* ---- where things are ---- */

static nay_cuckoo_table cuckoo_open(const nay_shape *shape, uint8_t *payload, unsigned d) {
  nay_cuckoo_table t = {.slots = payload + NAY_CUCKOO_HEADER, .m = shape->nunits, .d = d};
  t.low = nay__cuckoo_low_bits(shape);
  t.spare = nay__cuckoo_most_doublings(shape) - d;
  nay__cuckoo_set_width(&t, t.low + t.spare <= 16);
  return t;
}

nay_cuckoo_table nay__cuckoo_of(const nay_filter *f) {
  return cuckoo_open(&f->shape, f->bits.bytes,
                     (unsigned)nay__load64le(f->bits.bytes + CUCKOO_AT_DOUBLINGS));
}

/* The usual filter: it does not grow and has at most 16 bits in a tag. */
static bool cuckoo_is_plain(const nay_shape *shape) { return (shape->extra & 0xffffu) <= 16; }

static uint64_t cuckoo_nbuckets(const nay_cuckoo_table *t) { return t->m << t->d; }

/* ---- slots and buckets ---- */

NAY_INLINE void cuckoo_set(const nay_cuckoo_table *t, uint64_t bit, uint64_t tag) {
  uint8_t *at = t->slots + (bit >> 3);
  uint64_t word = nay__load64le(at) & ~(nay__cuckoo_mask(t->f) << (bit & 7));
  nay__store64le(at, word | tag << (bit & 7));
}

NAY_INLINE const uint8_t *cuckoo_bucket_at(const nay_cuckoo_table *t, uint64_t bucket) {
  return t->slots + (nay__cuckoo_bucket_bit(t, bucket) >> 3);
}

/* The first slot of a bucket's match, which is not empty. */
NAY_INLINE uint64_t cuckoo_first(const nay_cuckoo_table *t, uint64_t bucket, uint64_t match) {
  unsigned at = nay__ctz64(match);
  return nay__cuckoo_bucket_bit(t, bucket) + (t->narrow ? at - (t->f - 1) : at * t->f);
}

/* How many slots a match names: the fields are summed by one multiplication. */
NAY_INLINE unsigned cuckoo_count_of(const nay_cuckoo_table *t, uint64_t match) {
  if (!t->narrow) return nay__popcount64(match);
  return (unsigned)((match >> (t->f - 1)) * t->ones >> 3 * t->f & 7);
}

/* ---- keys ---- */

NAY_INLINE unsigned cuckoo_copies(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  return cuckoo_count_of(t, nay__cuckoo_match(t, key->home, key->tag)) +
         cuckoo_count_of(t, nay__cuckoo_match(t, key->other, key->tag));
}

/* ---- making room ---- */

/* A bucket reached by moving the tag in `slot` of its parent there. */
typedef struct cuckoo_node {
  uint64_t bucket;
  uint16_t parent;
  uint8_t slot;
} cuckoo_node;

/* Moves the tags along the path to nodes[last], which has a free slot; the root's slot gets tag. */
static void cuckoo_shift(const nay_cuckoo_table *t, const cuckoo_node *nodes, unsigned last,
                         uint64_t tag) {
  uint64_t to = cuckoo_first(t, nodes[last].bucket, nay__cuckoo_match(t, nodes[last].bucket, 0));
  while (last > 1) { /* nodes 0 and 1 are the roots */
    unsigned parent = nodes[last].parent;
    uint64_t from = nay__cuckoo_bucket_bit(t, nodes[parent].bucket) + nodes[last].slot * t->f;
    NAY_TRACE(CUCKOO_KICK, 0, 0, nodes[parent].bucket, nodes[last].slot, nodes[last].bucket,
              nay__cuckoo_get(t, from));
    cuckoo_set(t, to, nay__cuckoo_get(t, from));
    to = from;
    last = parent;
  }
  NAY_TRACE(CUCKOO_PUT, 0, 0, nodes[last].bucket,
            (to - nay__cuckoo_bucket_bit(t, nodes[last].bucket)) / t->f, tag, 0);
  cuckoo_set(t, to, tag);
}

/*
 * Breadth first from both buckets: the four neighbours of a bucket are prefetched together, and the
 * first with a free slot ends the search. No bucket can be on the path twice, because the part
 * between would make it longer than another that is found earlier.
 */
static bool cuckoo_evict(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  cuckoo_node nodes[CUCKOO_NODES];
  nodes[0] = (cuckoo_node){key->home, 0, 0};
  nodes[1] = (cuckoo_node){key->other, 0, 0};
  for (unsigned next = 0, end = 2; next < end && end + NAY_CUCKOO_SLOTS <= CUCKOO_NODES; next++) {
    unsigned first = end;
    for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
      uint64_t bucket = nodes[next].bucket;
      uint64_t tag = nay__cuckoo_get(t, nay__cuckoo_bucket_bit(t, bucket) + slot * t->f);
      uint64_t alt = nay__cuckoo_alt(t, bucket, tag & nay__cuckoo_mask(t->low));
      NAY_PREFETCH(cuckoo_bucket_at(t, alt));
      nodes[end++] = (cuckoo_node){alt, (uint16_t)next, (uint8_t)slot};
    }
    for (unsigned i = first; i < end; i++) {
      if (nay__cuckoo_match(t, nodes[i].bucket, 0) == 0) continue;
      cuckoo_shift(t, nodes, i, key->tag);
      return true;
    }
  }
  return false;
}

/* The emptier of the two buckets: it keeps chains short until late. Chosen without a branch. */
NAY_INLINE bool cuckoo_insert(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  uint64_t home = nay__cuckoo_match(t, key->home, 0), other = nay__cuckoo_match(t, key->other, 0);
  if (NAY_UNLIKELY((home | other) == 0)) return cuckoo_evict(t, key);
  bool at_home = cuckoo_count_of(t, home) >= cuckoo_count_of(t, other);
  uint64_t bucket = at_home ? key->home : key->other, match = at_home ? home : other;
  NAY_TRACE(CUCKOO_PUT, 0, 0, bucket,
            (cuckoo_first(t, bucket, match) - nay__cuckoo_bucket_bit(t, bucket)) / t->f, key->tag,
            0);
  cuckoo_set(t, cuckoo_first(t, bucket, match), key->tag);
  return true;
}

/* Whether the next doubling would bring the key and all eight tags of its buckets together again.
 */
static bool cuckoo_inseparable(const nay_cuckoo_table *t, const nay_cuckoo_key *key) {
  uint64_t mask = nay__cuckoo_mask(t->low) | (uint64_t)1 << (t->f - 1);
  for (unsigned i = 0; i < 2 * NAY_CUCKOO_SLOTS; i++) {
    uint64_t bucket = i < NAY_CUCKOO_SLOTS ? key->home : key->other;
    uint64_t tag =
        nay__cuckoo_get(t, nay__cuckoo_bucket_bit(t, bucket) + i % NAY_CUCKOO_SLOTS * t->f);
    if (((tag ^ key->tag) & mask) != 0) return false;
  }
  return true;
}

static void cuckoo_split(const nay_cuckoo_table *from, const nay_cuckoo_table *to) {
  for (uint64_t bucket = 0; bucket < cuckoo_nbuckets(from); bucket++) {
    unsigned used[2] = {0, 0};
    for (unsigned slot = 0; slot < NAY_CUCKOO_SLOTS; slot++) {
      uint64_t tag = nay__cuckoo_get(from, nay__cuckoo_bucket_bit(from, bucket) + slot * from->f);
      unsigned bit = (unsigned)(tag >> (from->f - 1));
      if (tag == 0) continue;
      uint64_t slot_bit = nay__cuckoo_bucket_bit(to, bucket << 1 | bit) + used[bit]++ * to->f;
      cuckoo_set(to, slot_bit, tag & nay__cuckoo_mask(to->f));
    }
  }
}

/* Twice the buckets, tags one bit shorter. Only when half full: with fewer keys only
 * an attacker fills two buckets. */
static nay_status cuckoo_double(nay_filter *f, const nay_cuckoo_key *key) {
  nay_cuckoo_table from = nay__cuckoo_of(f);
  uint64_t nentries = nay__load64le(f->bits.bytes + CUCKOO_AT_NENTRIES);
  uint64_t most = nay__load64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES);
  if (from.spare == 0 || nentries < cuckoo_nbuckets(&from) * NAY_CUCKOO_SLOTS / 2) return NAY_EFULL;
  if (cuckoo_inseparable(&from, key)) return NAY_EFULL;
  uint64_t nbytes = nay__cuckoo_nbytes(&f->shape, from.d + 1);
  if (most != 0 && nbytes > most) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, f->bits.bytes, NAY_CUCKOO_HEADER);
  nay__store64le(fresh.at + CUCKOO_AT_DOUBLINGS, from.d + 1);
  nay_cuckoo_table to = cuckoo_open(&f->shape, fresh.at, from.d + 1);
  cuckoo_split(&from, &to);
  NAY_TRACE(CUCKOO_DOUBLED, 0, 0, cuckoo_nbuckets(&to), 0, 0, 0);
  nay__payload_take(f, &fresh, (size_t)nbytes);
  return NAY_OK;
}

static void cuckoo_init(nay_filter *f, const nay_params *params) {
  nay__store64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES, params->max_nbytes);
}

static void cuckoo_to_params(const nay_filter *f, nay_params *params) {
  params->k = 0;
  params->tag_bits = nay__cuckoo_low_bits(&f->shape);
  params->nbits = f->shape.nunits * NAY_CUCKOO_SLOTS * params->tag_bits;
  /* the largest that makes as many doublings: nkeys is 2^56 at most, and there are 26 of them */
  params->max_nkeys = params->nkeys;
  for (unsigned d = nay__cuckoo_most_doublings(&f->shape); d > 0; d--)
    params->max_nkeys = nay__min_u64(params->max_nkeys * 2, NAY_MAX_NKEYS);
  params->max_nbytes = nay__load64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES);
  if ((f->shape.extra & NAY_CUCKOO_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
}

/* Keeps the size it has grown to: the keys that come next are as many as those that went. */
static nay_status cuckoo_clear(nay_filter *f) {
  memset(f->bits.bytes + NAY_CUCKOO_HEADER, 0, f->nbytes - NAY_CUCKOO_HEADER);
  nay__store64le(f->bits.bytes + CUCKOO_AT_NENTRIES, 0);
  return NAY_OK;
}

/* ---- add, test, remove, count ---- */

static void cuckoo_entries(nay_filter *f, int change) {
  uint8_t *at = f->bits.bytes + CUCKOO_AT_NENTRIES;
  nay__store64le(at, nay__load64le(at) + (uint64_t)(int64_t)change);
}

/* Adds at once, or says why not: NAY_EFULL, or NAY_ENOENT when no slot was found. */
NAY_INLINE nay_status cuckoo_try(nay_filter *f, const nay_cuckoo_table *t, uint64_t hash,
                                 bool *is_new) {
  nay_cuckoo_key key = nay__cuckoo_locate(t, hash);
  bool found = nay__cuckoo_has(t, &key);
  if (found) {
    if ((f->shape.extra & NAY_CUCKOO_UNIQUE) != 0) {
      *is_new = false;
      return NAY_OK;
    }
    if (cuckoo_copies(t, &key) == CUCKOO_MAX_COPIES) return NAY_EFULL;
  }
  if (!cuckoo_insert(t, &key)) return NAY_ENOENT;
  cuckoo_entries(f, 1);
  *is_new = !found;
  return NAY_OK;
}

static nay_status cuckoo_add_growing(nay_filter *f, uint64_t hash, bool *is_new) {
  for (;;) {
    nay_cuckoo_table t = nay__cuckoo_of(f);
    nay_status status = cuckoo_try(f, &t, hash, is_new);
    if (status != NAY_ENOENT) return status;
    nay_cuckoo_key key = nay__cuckoo_locate(&t, hash);
    NAY_TRY(cuckoo_double(f, &key));
  }
}

static nay_status cuckoo_add(nay_filter *f, nay_hash h, bool *is_new) {
  if (!cuckoo_is_plain(&f->shape)) return cuckoo_add_growing(f, h.lo, is_new);
  nay_cuckoo_table t = nay__cuckoo_plain(&f->bits, nay__cuckoo_low_bits(&f->shape));
  nay_status status = cuckoo_try(f, &t, h.lo, is_new);
  return status == NAY_ENOENT ? NAY_EFULL : status;
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

static nay_probe cuckoo_choose_probe(const nay_filter *f) {
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
  uint64_t bucket = key.home, match = nay__cuckoo_match(&t, bucket, key.tag);
  if (match == 0) match = nay__cuckoo_match(&t, bucket = key.other, key.tag);
  if (match == 0) return NAY_ENOENT;
  NAY_TRACE(CUCKOO_REMOVED, 0, 0, bucket,
            (cuckoo_first(&t, bucket, match) - nay__cuckoo_bucket_bit(&t, bucket)) / t.f, key.tag,
            0);
  cuckoo_set(&t, cuckoo_first(&t, bucket, match), 0);
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
                                   unsigned n, const uint64_t *next, uint64_t *bitmap) {
  (void)next;
  nay_cuckoo_table t = nay__cuckoo_of(f);
  for (unsigned i = 0; i < n; i++) {
    nay_cuckoo_key key = nay__cuckoo_locate(&t, lo[i]);
    cuckoo_prefetch_key(&t, &key);
  }
  return nay__add_each(cuckoo_add, f, lo, hi, n, bitmap);
}

/* ---- the whole filter ---- */

static void cuckoo_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b;
  (void)factor;
  nay_cuckoo_table t = nay__cuckoo_of(a);
  uint64_t nentries = nay__load64le(a->bits.bytes + CUCKOO_AT_NENTRIES);
  bool distinct = (a->shape.extra & NAY_CUCKOO_UNIQUE) != 0;
  *census = (nay_census){nay__cuckoo_nbits(&a->shape, t.d), nentries * t.f, nay__exactly(nentries),
                         nay__cuckoo_expected(&t, (double)nentries, distinct)};
}

static void cuckoo_describe(const nay_filter *f, nay_stats *stats) {
  nay_cuckoo_table t = nay__cuckoo_of(f);
  stats->nlevels = 1 + t.d;
  stats->tag_bits = t.f;
  if (t.d + t.spare == 0) return;
  stats->fpr_planned = nay__cuckoo_rate(nay__cuckoo_tags(t.low), NAY_CUCKOO_LOAD);
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* ---- bytes from outside ---- */

static nay_status cuckoo_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  if (len < NAY_CUCKOO_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", 0);
  uint64_t d = nay__load64le(payload + CUCKOO_AT_DOUBLINGS), nentries = 0;
  if (d > nay__cuckoo_most_doublings(shape) || nay__cuckoo_nbytes(shape, (unsigned)d) != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit its header",
                     CUCKOO_AT_DOUBLINGS);
  }
  uint64_t most = nay__load64le(payload + CUCKOO_AT_MAX_NBYTES);
  if (most != 0 && len > most) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload is longer than its limit",
                     CUCKOO_AT_MAX_NBYTES);
  }
  if (!nay__all_zero(payload + CUCKOO_AT_END, NAY_CUCKOO_HEADER - CUCKOO_AT_END)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", CUCKOO_AT_END);
  }
  nay_cuckoo_table t = cuckoo_open(shape, (uint8_t *)(uintptr_t)payload, (unsigned)d);
  for (uint64_t i = 0; i < cuckoo_nbuckets(&t) * NAY_CUCKOO_SLOTS; i++) {
    uint64_t tag = nay__cuckoo_get(&t, i * t.f);
    nentries += tag != 0;
    if (tag != 0 && (tag & nay__cuckoo_mask(t.low)) == 0) {
      return nay__fail(diag, NAY_ECORRUPT, "an impossible tag", NAY_CUCKOO_HEADER + (i * t.f >> 3));
    }
  }
  if (nentries != nay__load64le(payload + CUCKOO_AT_NENTRIES)) {
    return nay__fail(diag, NAY_ECORRUPT, "another number of tags than the header says",
                     CUCKOO_AT_NENTRIES);
  }
  uint64_t nbits = nay__cuckoo_nbits(shape, (unsigned)d), end = NAY_CUCKOO_HEADER + (nbits >> 3);
  bool clear = payload[end] >> (nbits & 7) == 0 && nay__all_zero(payload + end + 1, len - end - 1);
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
