/*
 * burr_probe.h - where the equation of a key lies in a payload (burr.h), and what its slots add up
 * to. Filters (ribbon.c) compare the sum with a fingerprint, maps (map.c) return it.
 */
#ifndef NAY_BURR_PROBE_H
#define NAY_BURR_PROBE_H

#include "family/burr.h"

/* nay_burr_view: a payload, and what probes need of its first layer. */
typedef struct nay_burr_view {
  nay_burr burr;
  const uint8_t *codes; /* NULL: no key is bumped */
  nay_burr_layer layer; /* the first */
  uint32_t seed;
} nay_burr_view;

static inline nay_burr_view nay__burr_view_of(const nay_burr *b) {
  nay_burr_layer l = nay__burr_layer_at(b->nblocks, 0);
  return (nay_burr_view){*b, l.last ? NULL : b->bytes + b->codes_at, l, nay__burr_seed(b, l.last)};
}

NAY_INLINE nay_ribbon_location nay__burr_locate(const nay_burr *b, const nay_burr_place *place) {
  const nay_burr_row *row = &place->row;
  uint64_t block = place->block;
  unsigned offset = row->start % NAY_RIBBON_WIDTH, bit = offset % 64;
  nay_ribbon_location p = {.fingerprint = row->fingerprint,
                           .columns = b->columns - (block < b->short_blocks)};
  p.bits[0] = row->lo << bit;
  p.bits[1] = row->hi << bit | (row->lo >> 1) >> (63 - bit);
  p.bits[2] = (row->hi >> 1) >> (63 - bit);
  p.upper = offset >= 64;
  p.here = b->bytes + nay__burr_column_of(b, block) * NAY_BURR_COLUMN;
  /* branch-free: it would be mispredicted. A key that begins with its block has nothing in the
   * next, which may not exist */
  p.next = p.here + ((size_t)p.columns * NAY_BURR_COLUMN & (0 - (size_t)(offset != 0)));
  return p;
}

/* nay__burr_find: the location of a key in the first layer; false: it is bumped. */
NAY_INLINE bool nay__burr_find(const nay_burr_view *v, uint64_t x, nay_ribbon_location *p) {
  nay_burr_place place = nay__burr_place_of(&v->layer, x, v->seed);
  *p = nay__burr_locate(&v->burr, &place);
  return v->codes == NULL || !nay__burr_is_bumped(v->codes, &place);
}

/* nay__burr_find_bumped: the location of a key that is bumped; false: the last layer has no slots.
 */
static inline bool nay__burr_find_bumped(const nay_burr *b, uint64_t x, nay_ribbon_location *p) {
  nay_burr_place place;
  nay_burr_layer l = nay__burr_bumped(b, &x, &place);
  if (l.last && nay__burr_says_maybe(b)) return false;
  *p = nay__burr_locate(b, &place);
  return true;
}

/* nay__burr_find_any: the location of a key in the layer that has it; the last layer has slots. */
NAY_INLINE void nay__burr_find_any(const nay_burr_view *v, uint64_t x, nay_ribbon_location *p) {
  if (NAY_UNLIKELY(!nay__burr_find(v, x, p))) nay__burr_find_bumped(&v->burr, x, p);
}

/* nay_burr_second: the second layer, which has most of the bumped keys. */
typedef struct nay_burr_second {
  nay_burr_layer layer;
  uint32_t seed;
} nay_burr_second;

static inline nay_burr_second nay__burr_second_of(const nay_burr_view *v) {
  nay_burr_layer l = nay__burr_layer_at(v->burr.nblocks, nay__burr_layer_end(&v->layer));
  return (nay_burr_second){l, nay__burr_seed(&v->burr, l.last)};
}

/* nay__burr_find_after: nay__burr_find_bumped for a batch. If the second layer is the last, it has
 * slots. */
NAY_INLINE bool nay__burr_find_after(const nay_burr_view *v, const nay_burr_second *second,
                                     uint64_t x, nay_ribbon_location *p) {
  nay_burr_place place = nay__burr_place_of(&second->layer, nay__burr_next(x), second->seed);
  *p = nay__burr_locate(&v->burr, &place);
  if (NAY_LIKELY(second->layer.last || !nay__burr_is_bumped(v->codes, &place))) return true;
  return nay__burr_find_bumped(&v->burr, x, p);
}

/* nay__burr_kernel_map: the first layer, for kernels. */
static inline nay_ribbon_map nay__burr_kernel_map(const nay_burr_view *v, bool in_cache) {
  return (nay_ribbon_map){.blocks = v->burr.bytes,
                          .codes = v->codes,
                          .ncodes = nay__burr_ncodes(v->burr.nblocks),
                          .nparts = v->layer.nparts,
                          .short_blocks = v->burr.short_blocks,
                          .nblocks = v->layer.nblocks,
                          .seed = v->seed,
                          .columns = v->burr.columns,
                          .in_cache = in_cache};
}

/* nay__burr_column: a column of the key, folded into one word. */
NAY_INLINE uint64_t nay__burr_column(const nay_ribbon_location *p, size_t c) {
  size_t at = c * NAY_BURR_COLUMN, upper = p->upper ? 8 : 0;
  const uint8_t *middle = p->upper ? p->next : p->here + 8;
  return (nay__load64le(p->here + upper + at) & p->bits[0]) ^
         (nay__load64le(middle + at) & p->bits[1]) ^
         (nay__load64le(p->next + upper + at) & p->bits[2]);
}

#define NAY_BURR_QUARTERS 0x0001000100010001u

/* nay__burr_parities: those of four words, in the lowest bit of each quarter; other bits are
 * undefined. */
NAY_INLINE uint64_t nay__burr_parities(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
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

/* nay__burr_prefetch: a key's two blocks are neighbours: a run of up to 2 KiB, line by line. */
NAY_INLINE void nay__burr_prefetch(const nay_ribbon_location *p) {
  const uint8_t *end = p->next + p->columns * NAY_BURR_COLUMN;
  for (const uint8_t *at = p->here; at < end; at += NAY_CACHE_LINE) NAY_PREFETCH(at);
  NAY_PREFETCH(end - 1);
}

/* nay__burr_words: what the slots of n premixed keys, at most 64, add up to: bit c is from column
 * c. The last layer must have slots. */
void nay__burr_words(const nay_kernels *kernels, const nay_burr_view *view, bool in_cache,
                     const uint64_t *x, unsigned n, uint64_t *words);

#endif /* NAY_BURR_PROBE_H */
