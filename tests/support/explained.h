/*
 * explained.h - checks an explanation (nay_explain.h) against the filter: the answer is that of the
 * probe, the rule about groups holds, every step lies in the payload and has found what is there.
 * Shared by tests and fuzz targets: a function returns what is wrong, or NULL.
 */
#ifndef NAY_TEST_EXPLAINED_H
#define NAY_TEST_EXPLAINED_H

#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "nay_explain.h"
#include "nay_sst_filters.h"

#define EXPLAINED_MAX 8192u

/* explained: the steps of one explanation. */
typedef struct explained {
  nay_explanation why;
  nay_explain_step steps[EXPLAINED_MAX];
  size_t n;
} explained;

static inline nay_status explained_visit(void *ctx, const nay_explain_step *step) {
  explained *e = ctx;
  if (step->size != sizeof *step) return NAY_EINVAL;
  if (e->n == EXPLAINED_MAX) return NAY_EFULL; /* chains of hostile files have any length */
  e->steps[e->n++] = *step;
  return NAY_OK;
}

/* Bit b of the payload, and nbits from there on. */
static inline uint64_t explained_bits(const uint8_t *payload, uint64_t bit, uint32_t nbits) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < nbits; i++) {
    value |= (uint64_t)(payload[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
  }
  return value;
}

/* The bit that bit i of a column's mask stands for. */
static inline uint64_t explained_column_bit(const nay_explain_step *s, unsigned i) {
  return i < s->nbits ? s->bit + i : s->bit2 + (i - s->nbits);
}

static inline uint64_t explained_parity(const uint8_t *payload, const nay_explain_step *s) {
  uint64_t parity = 0;
  for (unsigned i = 0; i < 128; i++) {
    if ((s->mask[i / 64] >> i % 64 & 1) != 0)
      parity ^= explained_bits(payload, explained_column_bit(s, i), 1);
  }
  return parity;
}

static inline bool explained_within(const nay_explain_step *s, uint64_t nbits) {
  return s->unit_bit <= s->bit && s->bit + s->nbits <= s->unit_bit + s->unit_nbits &&
         s->unit_bit + s->unit_nbits <= nbits && (s->nbits2 == 0 || s->bit2 + s->nbits2 <= nbits);
}

/* What a step says of the payload; `xored` is the xor of the slots of its group before it. */
static inline const char *explained_step(const nay_explain_step *s, const uint8_t *payload,
                                         uint64_t nbits, uint64_t *xored) {
  bool reads =
      s->kind != NAY_STEP_XOR && s->kind != NAY_STEP_CONSTANT && s->kind != NAY_STEP_ANSWER;
  if (reads != (s->unit[0] != '\0')) return "a unit where none is, or none where one is";
  if (reads && !explained_within(s, nbits)) return "a step outside its unit or the payload";
  if (s->ok != (s->found == s->expected)) return "ok is not what it says";
  if (s->name == NULL) return "a kind without a name";
  switch (s->kind) {
    case NAY_STEP_BIT:
      if (s->nbits != 1 || s->expected != 1) return "a bit that is none";
      return s->found == explained_bits(payload, s->bit, 1) ? NULL : "another bit";
    case NAY_STEP_VALUE:
    case NAY_STEP_FINGERPRINT:
      return s->found == explained_bits(payload, s->bit, s->nbits) ? NULL : "another fingerprint";
    case NAY_STEP_SLOT:
      *xored ^= s->found;
      return s->ok && s->found == explained_bits(payload, s->bit, s->nbits) ? NULL : "another slot";
    case NAY_STEP_XOR: return s->found == *xored ? NULL : "another xor";
    case NAY_STEP_COLUMN:
      if (s->nbits + s->nbits2 != 128) return "a column that is none";
      return s->found == explained_parity(payload, s) ? NULL : "another parity";
    case NAY_STEP_ANSWER:
    case NAY_STEP_CONSTANT: break;
  }
  return s->found <= 1 && s->expected == 1 && s->nsteps == 1 ? NULL : "a constant that is none";
}

/* The steps in order, and the summary that follows from them. */
static inline const char *explained_steps(const explained *e, const uint8_t *payload,
                                          uint64_t nbytes) {
  const nay_explanation *w = &e->why;
  uint64_t group = 0, xored = 0, nfailed = 0, matched = UINT64_MAX;
  uint32_t index = 0;
  bool all_ok = true;
  for (size_t i = 0; i < e->n; i++) {
    const nay_explain_step *s = &e->steps[i];
    if (s->group != group || s->index != index || s->nsteps <= index) return "steps out of order";
    if (index > 0 && (s->nsteps != s[-1].nsteps || s->level != s[-1].level)) return "a mixed group";
    const char *wrong = explained_step(s, payload, nbytes * 8, &xored);
    if (wrong != NULL) return wrong;
    nfailed += !s->ok;
    all_ok = all_ok && s->ok;
    if (++index < s->nsteps) continue;
    if (all_ok && matched == UINT64_MAX) {
      matched = group;
      if (w->level != s->level) return "another level";
    }
    group++, index = 0, xored = 0, all_ok = true;
  }
  if (index != 0) return "a group is cut short";
  if (w->nsteps != e->n || w->nfailed != nfailed || w->ngroups != group) return "counted otherwise";
  if (group == 0) return w->maybe ? NULL : "nay without a step";
  if (w->maybe != (matched != UINT64_MAX)) return "the rule about groups is broken";
  return w->group == (w->maybe ? matched : group) ? NULL : "another group";
}

/* explained_hash: explains a hash; payload NULL: the filter's own. */
static inline const char *explained_hash(const nay_filter *f, nay_hash hash, const uint8_t *payload,
                                         explained *e) {
  nay_explanation summary = {.size = sizeof summary};
  e->why = summary;
  e->n = 0;
  nay_status status = nay__filter_explain_hash(f, hash, explained_visit, e, &e->why);
  if (status == NAY_EFULL && e->n == EXPLAINED_MAX) return NULL;
  if (status != NAY_OK) return "it fails";
  if (e->why.reason_text == NULL || *e->why.reason_text == '\0') return "no text for the reason";
  if (nay__filter_explain_hash(f, hash, NULL, NULL, &summary) != NAY_OK) return "it needs a sink";
  if (summary.maybe != e->why.maybe || summary.nsteps != e->why.nsteps) return "the sink matters";
  if (e->why.maybe != nay_filter_may_contain_hash(f, hash))
    return "another answer than the probe's";
  if (e->why.hash.lo != hash.lo || e->why.hash.hi != hash.hi) return "another hash";
  if (e->why.shard >= e->why.nshards) return "no such shard";
  if (payload == NULL) payload = e->why.payload;
  return explained_steps(e, payload, e->why.payload_nbytes);
}

/* explained_key: the same for a key, of families that are asked with keys. */
static inline const char *explained_key(const nay_filter *f, const void *key, size_t len,
                                        explained *e) {
  e->why = (nay_explanation){.size = sizeof e->why};
  e->n = 0;
  if (nay_filter_explain(f, key, len, explained_visit, e, &e->why) != NAY_OK) return "it fails";
  if (e->why.maybe != nay_filter_may_contain(f, key, len)) return "another answer than the probe's";
  return explained_steps(e, e->why.payload, e->why.payload_nbytes);
}

/* ---- tables ---- */

typedef struct explained_probes {
  const char *wrong;
  unsigned n;
  bool maybe; /* of one of them at least */
} explained_probes;

static inline nay_status explained_probe(void *ctx, const nay_sst_filters_step *step) {
  explained_probes *p = ctx;
  nay_explanation why = {.size = sizeof why};
  p->n++;
  p->maybe = p->maybe || step->maybe;
  if (step->size != sizeof *step) p->wrong = "another size";
  if (step->damaged && (!step->maybe || step->filter != NULL)) p->wrong = "damage is not a maybe";
  if (step->filter == NULL) return NAY_OK;
  nay_status status = nay_filter_explain(step->filter, step->key, step->key_len, NULL, NULL, &why);
  if (status != NAY_OK || why.maybe != step->maybe) p->wrong = "a filter says something else";
  return NAY_OK;
}

/* explained_table: the same for a key of a table; *maybe is the answer. */
static inline const char *explained_table(const nay_sst_filters *t, const void *key, size_t len,
                                          bool *maybe) {
  explained_probes p = {NULL, 0, false};
  if (nay_sst_filters_explain(t, key, len, explained_probe, &p, maybe) != NAY_OK) return "fails";
  if (*maybe != nay_sst_filters_may_contain(t, key, len)) return "another answer than the probe's";
  if (p.n != 0 && p.maybe != *maybe) return "another answer than the filters'";
  return p.wrong;
}

#endif /* NAY_TEST_EXPLAINED_H */
