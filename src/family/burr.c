/*
 * burr.c - bumped ribbon retrieval: sizes, layers, the bytes of a build.
 *
 * A plain ribbon [1] needs about 2% more slots than keys, or else a linear dependence fails the
 * whole. Bumped ribbon retrieval [2] goes the other way: a layer has about 2% fewer slots than
 * keys, and where the equations of a bucket depend on each other, the keys that begin in its first
 * slots are *bumped* to the next layer. Nearly every slot is used then. The next layer, with 2% of
 * the keys, is built in the same way, and the last one, of a few thousand keys at most, is a plain
 * ribbon.
 *
 * Cost. Some 50 slots of each part and 1 in 2,000 of the others stay empty; 2 bits of code for 512
 * slots are 0.06% at seven columns. In all a set of 10^6 keys takes 0.14% more than the
 * information-theoretic lower bound for its columns.
 *
 * Parts. A layer is cut into parts of about 131,072 slots, by the top bits of the hash. Threads
 * build parts, a build in little memory loads groups of them, and the rows of a part fit into L2 or
 * nearly so. All parts of a layer have the same size: one with more keys than others bumps more, so
 * there is no directory and no spare slot.
 *
 * Sizes. Whatever its layers do, the set fits if its keys and the empty slots of all layers are no
 * more than the slots of all blocks: a slot that one layer leaves empty is a key more in the next.
 * So the number of blocks alone decides, the sizes of the layers follow from it, and a set that
 * does not fit gets another seed. doc/design/0017-bumped-ribbon.md has the measurements.
 *
 * [1] Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and xor. 2021.
 * [2] Dillinger, Hübschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate
 *     membership using ribbon. SEA 2022.
 */
#include "family/burr.h"
#include "base/trace.h"

/* ---- sizes ---- */

nay_burr_layer nay__burr_layer(uint64_t nblocks, unsigned i) {
  nay_burr_layer l = nay__burr_layer_at(nblocks, 0);
  while (i-- > 0) l = nay__burr_layer_at(nblocks, nay__burr_layer_end(&l));
  return l;
}

nay_burr_layer nay__burr_last(uint64_t nblocks) {
  nay_burr_layer l = nay__burr_layer_at(nblocks, 0);
  while (!l.last) l = nay__burr_layer_at(nblocks, nay__burr_layer_end(&l));
  return l;
}

/* The square root, rounded down. */
static uint64_t burr_isqrt(uint64_t x) {
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= x) root += bit;
  }
  return root;
}

/*
 * Slots that nblocks blocks have for no key. A part leaves 42 slots empty and 1 in 3,000 more; once
 * in some 20,000 buckets all keys of a bucket are bumped, which leaves 480 more. The margin is some
 * two standard deviations of all that, and a set that needs more gets another seed: 1 in 50. The
 * last layer is a plain ribbon; with 1/48 to spare one seed in twenty fails.
 */
static uint64_t burr_spare(uint64_t nblocks) {
  nay_burr_layer l = nay__burr_layer_at(nblocks, 0);
  uint64_t spare = 0, nparts = 0;
  for (; !l.last; l = nay__burr_layer_at(nblocks, nay__burr_layer_end(&l))) {
    spare += l.nparts * (42 + (uint64_t)l.nblocks * NAY_RIBBON_WIDTH / 3000);
    nparts += l.nparts;
  }
  if (nparts > 0) spare += 50 + burr_isqrt(10000 * (nparts - 1));
  return spare + (uint64_t)l.nblocks * NAY_RIBBON_WIDTH / 48 + 4;
}

uint64_t nay__burr_blocks(uint64_t n) {
  uint64_t nblocks = nay__ceil_div(nay__max_u64(n, 1), NAY_RIBBON_WIDTH);
  for (;;) {
    uint64_t want = n + burr_spare(nblocks), slots = nblocks * NAY_RIBBON_WIDTH;
    if (want <= slots) return nblocks;
    /* half of what lacks: a block more or less may change the layers, and what they leave empty */
    nblocks += nay__max_u64(1, (want - slots) / (2 * NAY_RIBBON_WIDTH));
  }
}

/* ---- payload ---- */

bool nay__burr_check(const nay_burr *b, uint64_t *offset) {
  nay_burr_layer l = nay__burr_last(b->nblocks);
  uint64_t bucket = l.first / NAY_BURR_BUCKET_BLOCKS, end = nay__burr_ncodes(b->nblocks) * 4;
  for (; bucket < end; bucket++) {
    *offset = b->codes_at + bucket / 4;
    if ((b->bytes[*offset] >> (bucket % 4 * 2) & 3) != 0) return false;
  }
  return true;
}

void nay__burr_shrink(const nay_burr *from, const nay_burr *to) {
  memcpy(to->bytes + to->codes_at, from->bytes + from->codes_at,
         (size_t)nay__burr_tail(to->nblocks));
  for (uint64_t block = 0; block < to->nblocks; block++) {
    size_t columns = to->columns - (block < to->short_blocks);
    memcpy(to->bytes + nay__burr_column_of(to, block) * NAY_BURR_COLUMN,
           from->bytes + nay__burr_column_of(from, block) * NAY_BURR_COLUMN,
           columns * NAY_BURR_COLUMN);
  }
}

nay_burr_layer nay__burr_bumped(const nay_burr *b, uint64_t *x, nay_burr_place *place) {
  nay_burr_layer l = nay__burr_layer_at(b->nblocks, 0);
  do {
    *x = nay__burr_next(*x);
    l = nay__burr_layer_at(b->nblocks, nay__burr_layer_end(&l));
    *place = nay__burr_place_of(&l, *x, nay__burr_seed(b, l.last));
  } while (!l.last && nay__burr_is_bumped(b->bytes + b->codes_at, place));
  return l;
}

unsigned nay__burr_layer_of(const nay_burr *b, uint64_t *x) {
  nay_burr_layer first = nay__burr_layer(b->nblocks, 0);
  nay_burr_place place = nay__burr_place_of(&first, *x, nay__burr_seed(b, false));
  if (first.last || !nay__burr_is_bumped(b->bytes + b->codes_at, &place)) return 0;
  nay_burr_layer l = nay__burr_bumped(b, x, &place);
  unsigned i = 1;
  while (nay__burr_layer(b->nblocks, i).first != l.first) i++;
  return i;
}

/* ---- building ---- */

void nay__burr_begin(const nay_burr *b, uint32_t premix, unsigned number) {
  memset(b->bytes + b->codes_at, 0, (size_t)nay__burr_tail(b->nblocks));
  nay__store32le(nay__burr_trailer(b), premix);
  nay__burr_trailer(b)[4] = (uint8_t)number;
}

void nay__burr_give_up(const nay_burr *b) {
  nay_burr_layer l = nay__burr_last(b->nblocks);
  uint8_t *codes = b->bytes + b->codes_at;
  for (uint64_t bucket = 0; bucket < l.first / NAY_BURR_BUCKET_BLOCKS; bucket++) {
    codes[bucket / 4] |= (uint8_t)(3u << (bucket % 4 * 2));
  }
  nay__burr_trailer(b)[5] = NAY_BURR_SAYS_MAYBE;
}

/* The codes of a part; its first and last may share a byte with those of other parts. */
static void burr_put_codes(const nay_burr *b, uint64_t bucket, const nay_band_part *p) {
  uint8_t *codes = b->bytes + b->codes_at;
  for (uint32_t i = 0; i < p->nbuckets; i++, bucket++) {
    nay__atomic_or8(codes + bucket / 4, (uint8_t)(p->codes[i] << (bucket % 4 * 2)));
  }
}

void nay__burr_fill_part(const nay_kernels *kernels, const nay_burr *b, const nay_burr_layer *l,
                         uint64_t part, const uint64_t *x, const uint64_t *values, size_t n,
                         uint8_t *scratch, nay_band_part *p) {
  uint64_t first = l->first + part * l->nblocks;
  nay__band_open(p, l->nblocks, n, values != NULL, scratch);
  p->seed = nay__burr_seed(b, false);
  p->nvalue_bytes = (b->columns + 7) / 8;
  nay__band_sort(p, x, values);
  NAY_TRACE(BAND_PART, 0, part, l->nblocks, n, first, false);
  nay__band_bump(kernels, p);
  nay__band_solve(kernels, p, b, first);
  burr_put_codes(b, first / NAY_BURR_BUCKET_BLOCKS, p);
}

bool nay__burr_fill_last(const nay_kernels *kernels, const nay_burr *b, unsigned number,
                         const uint64_t *x, const uint64_t *values, size_t n, uint8_t *scratch) {
  nay_band_part p;
  nay_burr_layer l = nay__burr_last(b->nblocks);
  if (n > (size_t)l.nblocks * NAY_RIBBON_WIDTH) return false;
  nay__band_open(&p, l.nblocks, n, values != NULL, scratch);
  p.seed = nay__burr_seed_of(number);
  p.nvalue_bytes = (b->columns + 7) / 8;
  nay__band_sort(&p, x, values);
  NAY_TRACE(BAND_PART, 0, 0, l.nblocks, n, l.first, true);
  nay__band_bump(kernels, &p);
  if (p.nbumped != 0) return false;
  nay__band_solve(kernels, &p, b, l.first);
  nay__burr_trailer(b)[5] = (uint8_t)number;
  return true;
}
