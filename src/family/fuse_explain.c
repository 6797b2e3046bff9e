/*
 * fuse_explain.c - what decides the answer of a fuse or xor filter: the slots of the key, and their
 * xor against its fingerprint.
 */
#include "family/explain.h"
#include "family/fuse.h"

/* The segment, or third, that a slot lies in. */
static nay_explain_unit fuse_explain_unit(nay_fuse_layout layout, const nay_fuse_view *v,
                                          uint64_t array_bit, uint64_t slot, unsigned bits) {
  bool is_xor = layout == NAY_XOR_3;
  uint64_t length = is_xor ? v->span : v->segment, index = slot / length;
  return (nay_explain_unit){is_xor ? "third" : "segment", index, array_bit + index * length * bits,
                            length * bits};
}

static void fuse_explain_slots(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                               uint64_t shard, uint64_t factor, nay_explain_run *run) {
  const uint8_t *array = v->arrays + shard * v->stride;
  uint64_t at[4], array_bit = nay__explain_at(run, array);
  uint32_t sum = 0, arity = nay__fuse_arity(layout);
  uint32_t fingerprint =
      nay__fuse_slots(layout, v, factor, nay__remix(run->what.word, 0), bits, at);
  nay__explain_group(run, 0, arity + 1);
  for (unsigned i = 0; i < arity; i++) {
    uint32_t value = nay__fuse_get(array, at[i], bits);
    nay_explain_unit unit = fuse_explain_unit(layout, v, array_bit, at[i], bits);
    nay__explain_step(run, &unit,
                      (nay_explain_step){.kind = NAY_STEP_SLOT,
                                         .bit = array_bit + at[i] * bits,
                                         .nbits = bits,
                                         .found = value,
                                         .expected = value});
    sum ^= value;
  }
  nay__explain_step(
      run, NULL,
      (nay_explain_step){
          .kind = NAY_STEP_XOR, .nbits = bits, .found = sum, .expected = fingerprint});
}

void nay__fuse_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  nay_explanation *what = &run->what;
  what->premix = nay__load64le(f->bits.bytes);
  what->word = nay__premix(h.lo, what->premix);
  what->nshards = v.nshards;
  what->shard = nay__shard_of(what->word, v.nshards);
  uint64_t factor = what->shard_seed = nay__fuse_factor(&v, what->shard);
  if (nay__fuse_is_fixed(factor)) {
    nay__explain_constant(run, 0, factor == NAY_FUSE_SAYS_MAYBE);
    return;
  }
  fuse_explain_slots(nay__fuse_layout_of(f), nay__fuse_bits(&f->shape), &v, what->shard, factor,
                     run);
}
