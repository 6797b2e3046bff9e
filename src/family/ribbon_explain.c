/*
 * ribbon_explain.c - what decides the answer of a ribbon filter: in each column the parity of the
 * slots that the key's coefficients select, against a bit of its fingerprint.
 */
#include "family/explain.h"
#include "family/ribbon.h"

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

void nay__ribbon_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
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
