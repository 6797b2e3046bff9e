/* explain.c - see explain.h, and nay_explain.h for the rule. */
#include "family/explain.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "base/patterns.h"

#define EXPLAIN_LINE_BITS (NAY_BLOCK_BYTES * 8u)
#define EXPLAIN_COLUMN_BITS 128u /* of a ribbon, RocksDB's and ours */

static const char *explain_kind_name(nay_step_kind kind) {
  switch (kind) {
    case NAY_STEP_BIT: return "bit";
    case NAY_STEP_FINGERPRINT: return "fingerprint";
    case NAY_STEP_SLOT: return "slot";
    case NAY_STEP_XOR: return "xor";
    case NAY_STEP_COLUMN: return "column";
    case NAY_STEP_CONSTANT: return "constant";
    case NAY_STEP_VALUE: return "value";
    case NAY_STEP_ANSWER: return "answer";
  }
  return NULL;
}

void nay__explain_group(nay_explain_run *run, uint32_t level, uint32_t nsteps) {
  assert(nsteps != 0 && (run->index == run->nsteps || run->status != NAY_OK));
  run->level = level;
  run->index = 0;
  run->nsteps = nsteps;
  run->group_ok = true;
}

/* The last step of a group decides about it. */
static void explain_end_group(nay_explain_run *run, bool constant) {
  nay_explanation *what = &run->what;
  if (run->group_ok && !what->maybe) {
    what->maybe = true;
    what->group = what->ngroups;
    what->level = run->level;
    run->constant_match = constant;
  }
  what->ngroups++;
}

void nay__explain_step(nay_explain_run *run, const nay_explain_unit *unit, nay_explain_step step) {
  assert(run->index < run->nsteps);
  if (run->status != NAY_OK) return;
  step.size = sizeof step;
  step.name = explain_kind_name(step.kind);
  step.ok = step.found == step.expected;
  step.group = (uint32_t)run->what.ngroups;
  step.level = run->level;
  step.index = run->index++;
  step.nsteps = run->nsteps;
  step.unit = unit != NULL ? unit->name : "";
  if (unit != NULL) {
    step.unit_index = unit->index;
    step.unit_bit = unit->bit;
    step.unit_nbits = unit->nbits;
  }
  run->only_constants &= step.kind == NAY_STEP_CONSTANT;
  run->group_ok &= step.ok;
  run->what.nsteps++;
  run->what.nfailed += !step.ok;
  if (run->visit != NULL) run->status = run->visit(run->ctx, &step);
  if (run->index == run->nsteps) explain_end_group(run, step.kind == NAY_STEP_CONSTANT);
}

/* Another thread may be adding: one byte, as in the kernels of concurrent filters. */
void nay__explain_bit(nay_explain_run *run, const nay_explain_unit *unit, uint64_t bit_of_unit,
                      uint32_t counter) {
  uint64_t bit = unit->bit + bit_of_unit;
  const uint8_t *payload = run->what.payload;
  nay__explain_step(run, unit,
                    (nay_explain_step){.kind = NAY_STEP_BIT,
                                       .bit = bit,
                                       .nbits = 1,
                                       .found = nay__atomic_load8(payload + bit / 8) >> bit % 8 & 1,
                                       .expected = 1,
                                       .counter = counter});
}

void nay__explain_line_bit(nay_explain_run *run, const uint8_t *array, uint64_t nbits,
                           uint64_t bit) {
  uint64_t line = bit / EXPLAIN_LINE_BITS, from = line * EXPLAIN_LINE_BITS;
  nay_explain_unit unit = {"line", line, nay__explain_at(run, array) + from,
                           nay__min_u64(EXPLAIN_LINE_BITS, nbits - from)};
  nay__explain_bit(run, &unit, bit - from, 0);
}

static uint64_t explain_payload_bit(const nay_explain_run *run, uint64_t bit) {
  const uint8_t *payload = run->what.payload;
  return payload[bit / 8] >> bit % 8 & 1;
}

void nay__explain_column(nay_explain_run *run, const nay_explain_unit *unit, uint64_t column_bit,
                         unsigned offset, uint64_t next_bit, const uint64_t coefficients[2],
                         unsigned expected) {
  unsigned here = EXPLAIN_COLUMN_BITS - offset;
  uint64_t first = column_bit + offset, parity = 0;
  for (unsigned i = 0; i < EXPLAIN_COLUMN_BITS; i++) {
    if ((coefficients[i / 64] >> i % 64 & 1) == 0) continue;
    parity ^= explain_payload_bit(run, i < here ? first + i : next_bit + (i - here));
  }
  nay__explain_step(run, unit,
                    (nay_explain_step){.kind = NAY_STEP_COLUMN,
                                       .bit = first,
                                       .bit2 = offset != 0 ? next_bit : 0,
                                       .nbits = here,
                                       .nbits2 = offset,
                                       .mask = {coefficients[0], coefficients[1]},
                                       .found = parity,
                                       .expected = expected});
}

void nay__explain_constant(nay_explain_run *run, uint32_t level, bool maybe) {
  nay__explain_group(run, level, 1);
  nay__explain_step(run, NULL,
                    (nay_explain_step){.kind = NAY_STEP_CONSTANT, .found = maybe, .expected = 1});
}

void nay__explain_bloom(nay_explain_run *run, const uint8_t *array, uint64_t nbits, uint32_t k,
                        uint64_t word) {
  nay__explain_group(run, 0, k);
  for (uint32_t i = 0; i < k; i++, word *= NAY_G64)
    nay__explain_line_bit(run, array, nbits, nay__reduce(word, nbits));
}

nay_explain_unit nay__explain_block_unit(const nay_explain_run *run, const uint8_t *blocks,
                                         uint64_t block) {
  return (nay_explain_unit){"block", block, nay__explain_at(run, blocks) + block * NAY_BLOCK_BITS,
                            NAY_BLOCK_BITS};
}

void nay__explain_block(nay_explain_run *run, uint32_t level, const uint8_t *blocks, uint64_t block,
                        uint32_t k, uint32_t pattern) {
  nay_explain_unit unit = nay__explain_block_unit(run, blocks, block);
  nay__explain_group(run, level, k);
  for (uint32_t i = 0; i < k; i++, pattern *= NAY_G32)
    nay__explain_bit(run, &unit, pattern >> NAY_BLOCK_BIT_SHIFT, 0);
}
