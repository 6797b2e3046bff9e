/*
 * ribbon_explain.c - what decides the answer of a ribbon filter: in each column the parity of the
 * slots that the key's coefficients select, against a bit of its fingerprint.
 */
#include "family/explain.h"
#include "family/ribbon.h"

static void ribbon_explain_columns(const nay_ribbon *r, const uint8_t *blocks,
                                   const nay_ribbon_shard *s, nay_explain_run *run) {
  nay_ribbon_row row = nay__ribbon_row_of(run->what.word, s);
  uint64_t block = s->first + row.start / NAY_RIBBON_WIDTH;
  unsigned columns = r->columns - (block < r->short_blocks);
  if (columns == 0) { /* a filter of one column, and a block without it */
    nay__explain_constant(run, 0, true);
    return;
  }
  uint64_t here =
      nay__explain_at(run, blocks + nay__ribbon_column_of(r, block) * NAY_RIBBON_COLUMN);
  uint64_t width = (uint64_t)columns * NAY_RIBBON_WIDTH, coefficients[2] = {row.lo, row.hi};
  nay_explain_unit unit = {"block", block, here, width};
  nay__explain_group(run, 0, columns);
  for (unsigned c = 0; c < columns; c++, here += NAY_RIBBON_WIDTH) {
    nay__explain_column(run, &unit, here, row.start % NAY_RIBBON_WIDTH, here + width, coefficients,
                        row.fingerprint >> nay__ribbon_fingerprint_bit(c) & 1);
  }
}

void nay__ribbon_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  const uint8_t *bytes = f->bits.bytes;
  nay_explanation *what = &run->what;
  what->premix = nay__load64le(bytes);
  what->word = nay__premix(hash.lo, what->premix);
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    nay__explain_bloom(run, bits.bytes, bits.nunits, bits.k, what->word);
    return;
  }
  nay_ribbon r = nay__ribbon_open(&f->bits);
  what->nshards = r.nshards;
  what->shard = nay__shard_of(what->word, r.nshards);
  nay_ribbon_shard s = nay__ribbon_shard_at(bytes, what->shard);
  what->shard_seed = s.seed;
  if (s.nblocks == 0) {
    nay__explain_constant(run, 0, false);
    return;
  }
  ribbon_explain_columns(&r, bytes + nay__ribbon_blocks_at(r.nshards), &s, run);
}
