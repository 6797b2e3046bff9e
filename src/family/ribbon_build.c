/*
 * ribbon_build.c - how static_build.c builds a ribbon filter: layer after layer, each of parts that
 * leave some of their keys to the next one (burr.c). A set for which a Bloom filter is smaller is
 * one layer of one part, too.
 */
#include "base/sort.h"
#include "family/ribbon.h"

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

const nay_solver nay__ribbon_solver = {
    .nshards = ribbon_nshards,
    .premix_mask = UINT32_MAX,
    .layers = &ribbon_layers,
    .test = nay__ribbon_test_premixed,
};
