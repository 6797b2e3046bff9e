/*
 * ribbon.c - the ribbon filter: the fewest bits for a set that does not change.
 *
 * As in a fuse filter, slots of r bits are chosen so that every key finds its r-bit fingerprint as
 * the xor of some of them; but here a key uses about half of 128 neighbouring slots. Equations over
 * a band solve fast (banding.c), and with bumping (burr.c) 1.0009 n slots are enough where fuse
 * needs 1.125 n.
 *
 *   key        first slot s, 128 coefficients c, fingerprint p
 *   equation   column by column: parity(c & slots s .. s+127) = p
 *
 *   block b    | column 0: 128 slots | column 1 | ... | column r-1 |     16 bytes a column
 *
 * Stored by columns, a probe is one and, one parity for each column, over two neighbouring blocks;
 * an absent key is nearly always found out within four. Two bits for each bucket of 512 slots say
 * which of its keys are bumped: about 2% of all probes go on to the next layer. The code is loaded
 * beside the blocks, so no load waits for another.
 *
 * Dropping the last column of more blocks shrinks a filter without its keys, to the very bytes that
 * a build for that size would give.
 *
 * Up to 62 blocks, that is below some 7,800 keys, there is one layer and it bumps none: another
 * layer would save less than its own blocks round up.
 *
 * Where it is. This file has the family: probes, builds, explanations; ribbon_plan.c its sizes.
 * Static maps (map.c) and ribbons share the retrieval below:
 *
 *   burr.h           the bytes: layers, parts, buckets, codes; from a key to its equation
 *   burr.c           layers of a build and what they bump; the papers
 *   burr_probe.h     what probes of one key and of a batch have in common
 *   banding.c        solves a part: elimination.c, then substitution.c, in portable C
 *   cpu/banding_avx512.c                both by vectors
 *   cpu/ribbon_{avx2,avx512,neon}.c     probes by vectors; ribbon_lanes.h, ribbon_rows_avx512.h
 *
 * format/rocksdb_ribbon.c is another system's ribbon and shares none of it.
 */
#include "family/ribbon.h"
#include "base/sort.h"
#include "family/bitarray.h"
#include "family/burr_probe.h"
#include "family/explain.h"
#include "math/elementary.h"

/* ---- probes ---- */

/* nay_filter.derived: what a single probe needs of the first layer. */
enum {
  RIBBON_SHORT_BLOCKS,
  RIBBON_NPARTS,
  RIBBON_NBLOCKS, /* of a part */
  RIBBON_PREMIX,
  RIBBON_SEED, /* bit 32: keys may be bumped */
  RIBBON_NDERIVED
};
_Static_assert(RIBBON_NDERIVED <= NAY_NDERIVED, "the handle has no room for it");
#define RIBBON_BUMPS ((uint64_t)1 << 32)

/* Bit 0 is 0 when `n` columns from c on are as the fingerprint says. */
NAY_INLINE uint64_t ribbon_differ(const nay_ribbon_location *p, unsigned c, unsigned n,
                                  uint64_t fingerprint) {
  uint64_t differ = 0;
  for (unsigned end = c + n; c < end; c++, fingerprint >>= 16) {
    differ |= fingerprint ^ nay__parity64(nay__burr_column(p, c));
  }
  return differ;
}

NAY_INLINE bool ribbon_four_differ(const nay_ribbon_location *p, unsigned c, uint64_t fingerprint) {
  uint64_t got = nay__burr_parities(nay__burr_column(p, c), nay__burr_column(p, c + 1),
                                    nay__burr_column(p, c + 2), nay__burr_column(p, c + 3));
  return ((got ^ fingerprint) & NAY_BURR_QUARTERS) != 0;
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

static NAY_NOINLINE bool ribbon_test_bumped(const nay_filter *f, uint64_t x) {
  nay_burr b = nay__ribbon_open(&f->bits);
  nay_ribbon_location p;
  if (!nay__burr_find_bumped(&b, x, &p)) return true;
  return ribbon_matches(f->kernels->ribbon != NULL, f->kernels, &p);
}

static nay_burr_view ribbon_view(const nay_bits *bits) {
  nay_burr b = nay__ribbon_open(bits);
  return nay__burr_view_of(&b);
}

/* From what `bind` has derived. */
NAY_INLINE bool ribbon_probe_by(bool vectors, const nay_bits *bits, uint64_t hash) {
  const nay_filter *f = nay__filter_of(bits);
  const uint64_t *derived = f->derived;
  uint64_t x = nay__premix(hash, derived[RIBBON_PREMIX]);
  nay_burr_view v = {
      .layer = {.nparts = derived[RIBBON_NPARTS], .nblocks = (uint32_t)derived[RIBBON_NBLOCKS]},
      .seed = (uint32_t)derived[RIBBON_SEED]};
  v.burr.bytes = bits->bytes;
  v.burr.short_blocks = derived[RIBBON_SHORT_BLOCKS];
  v.burr.columns = bits->k;
  if (NAY_LIKELY((derived[RIBBON_SEED] & RIBBON_BUMPS) != 0)) {
    v.codes = bits->bytes + bits->nunits * NAY_BURR_COLUMN;
  }
  nay_ribbon_location p;
  if (NAY_UNLIKELY(!nay__burr_find(&v, x, &p))) return ribbon_test_bumped(f, x);
  return ribbon_matches(vectors, f->kernels, &p);
}

static bool ribbon_probe(const nay_bits *bits, uint64_t hash) {
  return ribbon_probe_by(false, bits, hash);
}

static bool ribbon_probe_vectors(const nay_bits *bits, uint64_t hash) {
  return ribbon_probe_by(true, bits, hash);
}

static void ribbon_bind(nay_filter *f) {
  if (f->shape.extra == 0) return;
  nay_burr_view v = ribbon_view(&f->bits);
  f->derived[RIBBON_SHORT_BLOCKS] = v.burr.short_blocks;
  f->derived[RIBBON_NPARTS] = v.layer.nparts;
  f->derived[RIBBON_NBLOCKS] = v.layer.nblocks;
  f->derived[RIBBON_PREMIX] = nay__burr_premix(&v.burr);
  f->derived[RIBBON_SEED] = v.seed | (v.codes != NULL ? RIBBON_BUMPS : 0);
  if (v.codes == NULL && nay__burr_says_maybe(&v.burr)) return;
  f->bits.probe = f->kernels->ribbon != NULL ? ribbon_probe_vectors : ribbon_probe;
}

/* What bind has not prepared: Bloom filters, lazy maps, filters that say maybe. */
static bool ribbon_test(const nay_filter *f, nay_hash h) {
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    return f->kernels->bloom->test(&bits, nay__premix(h.lo, nay__load64le(f->bits.bytes)));
  }
  nay_burr_view v = ribbon_view(&f->bits);
  uint64_t x = nay__premix(h.lo, nay__burr_premix(&v.burr));
  nay_ribbon_location p;
  if (v.codes == NULL && nay__burr_says_maybe(&v.burr)) return true;
  if (!nay__burr_find(&v, x, &p)) return ribbon_test_bumped(f, x);
  return ribbon_matches(f->kernels->ribbon != NULL, f->kernels, &p);
}

/* ---- batches ---- */

#define RIBBON_GROUP 16u

NAY_INLINE uint64_t ribbon_find64(bool vectors, const nay_filter *f, const nay_burr_view *v,
                                  const uint64_t *x, unsigned n) {
  uint64_t bitmap = 0;
  for (unsigned from = 0; from < n; from += RIBBON_GROUP) {
    nay_ribbon_location locations[RIBBON_GROUP];
    unsigned group = n - from < RIBBON_GROUP ? n - from : RIBBON_GROUP, maybe = 0;
    for (unsigned i = 0; i < group; i++) {
      if (NAY_UNLIKELY(!nay__burr_find(v, x[from + i], &locations[i]))) {
        bool found = nay__burr_find_bumped(&v->burr, x[from + i], &locations[i]);
        maybe |= (unsigned)!found << i; /* the location is then one of layer 0, to be ignored */
      }
      if (!f->bits.in_cache) nay__burr_prefetch(&locations[i]);
    }
    for (unsigned i = 0; i < group; i++) {
      bitmap |= (uint64_t)ribbon_matches(vectors, f->kernels, &locations[i]) << (from + i);
    }
    bitmap |= (uint64_t)maybe << from;
  }
  return bitmap;
}

/* The keys in `bumped`, most of which the second layer has. */
static uint64_t ribbon_bumped64(const nay_filter *f, const nay_burr_view *v, const uint64_t *x,
                                uint64_t bumped) {
  nay_burr_second second = nay__burr_second_of(v);
  uint64_t found = 0;
  if (second.layer.last && nay__burr_says_maybe(&v->burr)) return bumped;
  for (; bumped != 0; bumped &= bumped - 1) {
    unsigned i = nay__ctz64(bumped);
    nay_ribbon_location p;
    bool maybe = !nay__burr_find_after(v, &second, x[i], &p) || f->kernels->ribbon->test(&p);
    found |= (uint64_t)maybe << i;
  }
  return found;
}

static uint64_t ribbon_vector64(const nay_filter *f, const nay_burr_view *v, const uint64_t *x,
                                unsigned n) {
  nay_ribbon_map map = nay__burr_kernel_map(v, f->bits.in_cache);
  uint64_t bumped, found = f->kernels->ribbon->test64(&map, x, n, &bumped);
  return bumped == 0 ? found : found | ribbon_bumped64(f, v, x, bumped);
}

static uint64_t ribbon_test_premixed(const nay_filter *f, const uint64_t *x, unsigned n) {
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    return f->kernels->bloom->test64(&bits, x, n);
  }
  nay_burr_view v = ribbon_view(&f->bits);
  if (v.codes == NULL && nay__burr_says_maybe(&v.burr)) return ~(uint64_t)0 >> (64 - n);
  bool vectors = f->kernels->ribbon != NULL;
  if (vectors && f->kernels->ribbon->test64 != NULL) return ribbon_vector64(f, &v, x, n);
  return vectors ? ribbon_find64(true, f, &v, x, n) : ribbon_find64(false, f, &v, x, n);
}

static uint64_t ribbon_premix(const nay_filter *f) {
  if (f->shape.extra == 0) return nay__load64le(f->bits.bytes);
  nay_burr b = nay__ribbon_open(&f->bits);
  return nay__burr_premix(&b);
}

static uint64_t ribbon_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  unsigned n, const uint64_t *next) {
  (void)hi, (void)next;
  uint64_t premix = ribbon_premix(f), x[64];
  if (NAY_LIKELY(premix == 0)) return ribbon_test_premixed(f, lo, n);
  for (unsigned i = 0; i < n; i++) x[i] = nay__premix(lo[i], premix);
  return ribbon_test_premixed(f, x, n);
}

/* ---- lazy maps ---- */

static unsigned ribbon_bloom_addresses(const nay_filter *f, uint64_t x, const uint8_t **addresses) {
  nay_bits bits = nay__ribbon_bloom(f);
  for (uint32_t i = 0; i < bits.k; i++, x *= NAY_G64) {
    addresses[i] = bits.bytes + (nay__reduce(x, bits.nunits) >> 3);
  }
  return bits.k;
}

/* The codes and the trailer are verified when the file is mapped. */
static uint64_t ribbon_tail(const nay_shape *shape) {
  return shape->extra == 0 ? 0 : nay__burr_tail(shape->extra);
}

static unsigned ribbon_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  uint64_t x = nay__premix(h.lo, ribbon_premix(f));
  if (f->shape.extra == 0) return ribbon_bloom_addresses(f, x, addresses);
  nay_burr_view v = ribbon_view(&f->bits);
  nay_ribbon_location p;
  if (!nay__burr_find(&v, x, &p) && !nay__burr_find_bumped(&v.burr, x, &p)) return 0;
  if (p.columns == 0) return 0;
  addresses[0] = p.here; /* and all up to the next address: less than a chunk */
  addresses[1] = p.next + p.columns * NAY_BURR_COLUMN - 1;
  return 2;
}

/* ---- whole filters ---- */

/* The first slots of a layer: those that are not bumped, by the columns that a key finds. */
typedef struct ribbon_slots {
  double all, whole, shorter;
} ribbon_slots;

static ribbon_slots ribbon_count_slots(const nay_burr *b, const nay_burr_layer *l) {
  ribbon_slots slots = {(double)l->nparts * (double)nay__burr_starts(l->nblocks), 0, 0};
  for (uint64_t block = l->first; block < nay__burr_layer_end(l); block++) {
    uint64_t in_part = (block - l->first) % l->nblocks;
    unsigned limit = l->last ? 0 : nay__burr_limit(b->bytes + b->codes_at, block);
    unsigned from = (unsigned)(in_part % NAY_BURR_BUCKET_BLOCKS) * NAY_RIBBON_WIDTH;
    unsigned end = from + (in_part + 1 == l->nblocks ? 1 : NAY_RIBBON_WIDTH);
    if (from < limit) from = limit;
    if (from >= end) continue;
    *(block < b->short_blocks ? &slots.shorter : &slots.whole) += end - from;
  }
  return slots;
}

/* The FPR: of an absent key that goes through the layers. */
static double ribbon_fpr_now(const nay_burr *b) {
  double fpr = 0, reaches = 1;
  for (unsigned i = 0;; i++) {
    nay_burr_layer l = nay__burr_layer(b->nblocks, i);
    if (l.last && nay__burr_says_maybe(b)) return fpr + reaches;
    ribbon_slots slots = ribbon_count_slots(b, &l);
    double whole = slots.whole / slots.all, shorter = slots.shorter / slots.all;
    fpr += reaches *
           (nay__ribbon_rate(b->columns, 0) * whole + nay__ribbon_rate(b->columns, 1) * shorter);
    if (l.last) return fpr;
    reaches *= 1 - whole - shorter;
  }
}

/* A small set is a Bloom filter: what its bits tell, as bloom.c computes it. */
static nay_census ribbon_bloom_census(const nay_filter *f) {
  nay_bits bits = nay__ribbon_bloom(f);
  uint64_t set = nay__bits_count(bits.bytes, (size_t)(bits.nunits / 8));
  double fill = (double)set / (double)bits.nunits;
  return (nay_census){bits.nunits, set, nay__exactly(f->nkeys), nay__ipow(fill, bits.k)};
}

static void ribbon_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  if (a->shape.extra == 0) {
    *census = ribbon_bloom_census(a);
    return;
  }
  uint64_t nbits = a->nbytes * 8;
  nay_burr burr = nay__ribbon_open(&a->bits);
  *census = (nay_census){nbits, nbits, nay__exactly(a->nkeys), ribbon_fpr_now(&burr)};
}

static void ribbon_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = (uint64_t)f->nbytes * 8; /* fill stays that of the bits that keys can set */
}

static nay_status ribbon_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  (void)len; /* it is what payload() says */
  if (shape->extra == 0) return NAY_OK;
  uint64_t offset;
  nay_burr b = nay__burr_of((uint8_t *)(uintptr_t)payload, shape->extra, shape->nunits, shape->k);
  if (nay__burr_check(&b, &offset)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a bucket of the last layer is bumped", offset);
}

static nay_status ribbon_shrunk_shape(const nay_filter *f, uint64_t nbytes, nay_shape *shape) {
  uint64_t nblocks = f->shape.extra, tail = ribbon_tail(&f->shape);
  if (nblocks == 0) return NAY_ENOTSUP;
  uint64_t columns = nbytes > tail ? (nbytes - tail) / NAY_BURR_COLUMN : 0;
  if (columns == 0) return NAY_EINVAL;
  columns = nay__min_u64(columns, f->shape.nunits);
  *shape = f->shape;
  shape->nunits = columns;
  shape->k = (uint32_t)nay__ceil_div(columns, nblocks);
  return NAY_OK;
}

static void ribbon_shrink(const nay_filter *src, const nay_shape *shape, uint8_t *dst) {
  nay_burr from = nay__ribbon_open(&src->bits);
  nay_burr to = nay__burr_of(dst, shape->extra, shape->nunits, shape->k);
  nay__burr_shrink(&from, &to);
}

/* ---- explanations ---- */

/* In each column: the parity of the slots that the key's coefficients select, against a bit of its
 * fingerprint. */
static void ribbon_explain_columns(const nay_burr *b, const nay_burr_place *place, unsigned layer,
                                   nay_explain_run *run) {
  const nay_burr_row *row = &place->row;
  unsigned columns = b->columns - (place->block < b->short_blocks);
  if (columns == 0) { /* a filter of one column, and a block without it */
    nay__explain_constant(run, layer, true);
    return;
  }
  uint64_t here = nay__burr_column_of(b, place->block) * NAY_BURR_COLUMN * 8;
  uint64_t width = (uint64_t)columns * NAY_RIBBON_WIDTH, coefficients[2] = {row->lo, row->hi};
  nay_explain_unit unit = {"block", place->block, here, width};
  nay__explain_group(run, layer, columns);
  for (unsigned c = 0; c < columns; c++, here += NAY_RIBBON_WIDTH) {
    nay__explain_column(run, &unit, here, row->start % NAY_RIBBON_WIDTH, here + width, coefficients,
                        row->fingerprint >> nay__burr_bit(c) & 1);
  }
}

unsigned nay__ribbon_explain_place(const nay_burr *b, nay_explanation *what,
                                   nay_burr_place *place) {
  uint64_t x = what->word;
  unsigned layer = nay__burr_layer_of(b, &x);
  nay_burr_layer l = nay__burr_layer(b->nblocks, layer);
  what->shard_seed = nay__burr_seed(b, l.last);
  *place = nay__burr_place_of(&l, x, (uint32_t)what->shard_seed);
  what->nshards = l.nparts;
  what->shard = place->part;
  return layer;
}

static void ribbon_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  nay_explanation *what = &run->what;
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    what->premix = nay__load64le(f->bits.bytes);
    what->word = nay__premix(hash.lo, what->premix);
    nay__explain_bloom(run, bits.bytes, bits.nunits, bits.k, what->word);
    return;
  }
  nay_burr b = nay__ribbon_open(&f->bits);
  what->premix = nay__burr_premix(&b);
  what->word = nay__premix(hash.lo, what->premix);
  nay_burr_place place;
  unsigned layer = nay__ribbon_explain_place(&b, what, &place);
  if (nay__burr_layer(b.nblocks, layer).last && nay__burr_says_maybe(&b)) {
    nay__explain_constant(run, layer, true);
    return;
  }
  ribbon_explain_columns(&b, &place, layer, run);
}

/*
 * ---- builds ----
 *
 * Layer after layer, each of parts that leave some of their keys to the next one (burr.c);
 * static_build.c runs them. A set for which a Bloom filter is smaller is one layer of one part,
 * too.
 */

static uint64_t ribbon_nparts(const nay_shape *shape, unsigned layer) {
  return shape->extra == 0 ? 1 : nay__burr_layer(shape->extra, layer).nparts;
}

static bool ribbon_is_last(const nay_shape *shape, unsigned layer) {
  return shape->extra == 0 || nay__burr_layer(shape->extra, layer).last;
}

/* Keys beyond the slots of this layer and of those after it have no slot anywhere. */
static uint64_t ribbon_capacity(const nay_shape *shape, unsigned layer) {
  if (shape->extra == 0) return NAY_RIBBON_BLOOM_KEYS;
  return (shape->extra - nay__burr_layer(shape->extra, layer).first) * NAY_RIBBON_WIDTH;
}

static size_t ribbon_scratch(const nay_shape *shape, unsigned layer, uint64_t n) {
  if (shape->extra == 0) return (size_t)n * sizeof(uint64_t);
  return nay__band_bytes(nay__burr_layer(shape->extra, layer).nblocks, (size_t)n, false);
}

static void ribbon_begin(nay_filter *f, uint64_t premix, unsigned attempt) {
  if (f->shape.extra == 0) {
    nay__store64le(f->bits.bytes, premix);
    return;
  }
  nay_burr b = nay__ribbon_open(&f->bits);
  nay__burr_begin(&b, (uint32_t)premix, attempt);
}

static size_t ribbon_fill_part(nay_filter *f, unsigned layer, uint64_t part, const uint64_t *x,
                               size_t n, uint8_t *scratch, uint64_t **bumped) {
  nay_burr b = nay__ribbon_open(&f->bits);
  nay_burr_layer l = nay__burr_layer(b.nblocks, layer);
  nay_band_part p;
  nay__burr_fill_part(f->kernels, &b, &l, part, x, NULL, n, scratch, &p);
  for (size_t i = 0; i < p.nbumped; i++) p.bumped[i] = nay__burr_next(p.bumped[i]);
  *bumped = p.bumped;
  return p.nbumped;
}

/* Equal keys are refused, as in a ribbon. */
static bool ribbon_fill_bloom(nay_filter *f, const uint64_t *x, size_t n, uint8_t *scratch) {
  nay_bits bits = nay__ribbon_bloom(f);
  uint64_t *sorted = (uint64_t *)(void *)scratch;
  if (n != 0) memcpy(sorted, x, n * sizeof *x);
  nay__sort_u64(sorted, n);
  if (nay__unique_u64(sorted, n) != n) return false;
  for (size_t i = 0; i < n; i++) nay__kernels_scalar.bloom->add(&bits, x[i]);
  return true;
}

static bool ribbon_fill_last(nay_filter *f, unsigned attempt, const uint64_t *x, size_t n,
                             uint8_t *scratch) {
  if (f->shape.extra == 0) return ribbon_fill_bloom(f, x, n, scratch);
  nay_burr b = nay__ribbon_open(&f->bits);
  return nay__burr_fill_last(f->kernels, &b, attempt, x, NULL, n, scratch);
}

static void ribbon_give_up(nay_filter *f) {
  if (f->shape.extra == 0) {
    memset(f->bits.bytes + NAY_RIBBON_BLOOM_HEADER, 0xff, f->nbytes - NAY_RIBBON_BLOOM_HEADER);
    return;
  }
  nay_burr b = nay__ribbon_open(&f->bits);
  nay__burr_give_up(&b);
}

static uint64_t ribbon_nshards(const nay_shape *shape) { return ribbon_nparts(shape, 0); }

static const nay_layers ribbon_layers = {
    .nparts = ribbon_nparts,
    .is_last = ribbon_is_last,
    .capacity = ribbon_capacity,
    .scratch = ribbon_scratch,
    .begin = ribbon_begin,
    .fill_part = ribbon_fill_part,
    .fill_last = ribbon_fill_last,
    .give_up = ribbon_give_up,
};

static const nay_solver ribbon_solver = {
    .nshards = ribbon_nshards,
    .premix_mask = UINT32_MAX,
    .layers = &ribbon_layers,
    .test = ribbon_test_premixed,
};

static const nay_family_batch ribbon_batch = {.test = ribbon_batch_test};

static const nay_family_bulk ribbon_bulk = {.solver = &ribbon_solver};

static const nay_family_algebra ribbon_algebra = {
    .shrunk_shape = ribbon_shrunk_shape,
    .shrink = ribbon_shrink,
};

const nay_family nay__family_ribbon = {
    .kind = NAY_RIBBON,
    .name = "ribbon",
    .plan = nay__ribbon_plan,
    .payload = nay__ribbon_payload,
    .fpr = nay__ribbon_fpr,
    .check = ribbon_check,
    .census = ribbon_census,
    .describe = ribbon_describe,
    .bind = ribbon_bind,
    .test = ribbon_test,
    .explain = ribbon_explain,
    .probe_addresses = ribbon_probe_addresses,
    .tail = ribbon_tail,
    .batch = &ribbon_batch,
    .bulk = &ribbon_bulk,
    .algebra = &ribbon_algebra,
};
