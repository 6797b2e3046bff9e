/*
 * nori_trial.c - determines which release of nori-sstable wrote a table of footer version 0.
 *
 * Footer version 0 predates versioning: entries may have no version, a sequence number, or term and
 * index. The first release also wrote the codec number into the footer without compressing. No
 * field distinguishes these cases.
 *
 * So every block is parsed under each hypothesis. A hypothesis is accepted if all blocks parse:
 * entries end where the restarts begin, restarts point to entries, keys ascend within and across
 * blocks, first keys match the index, and the number of entries matches the footer. If several
 * hypotheses fit, the one with more numbers per entry wins, and compressed wins over raw.
 *
 * Cost: opening the table reads all blocks. A wrong hypothesis usually fails in the first block.
 */
#include "foreign/engine.h"

typedef struct trial {
  uint64_t nentries;
} trial;

static nay_status trial_count(void *ctx, const nay_foreign_entry *entry) {
  (void)entry;
  ((trial *)ctx)->nentries++;
  return NAY_OK;
}

/* Parses all blocks under the hypothesis in f->versions and f->stored_raw. */
static nay_status trial_parse(const nay_foreign *f, nay_foreign_scratch *scratch, nay_diag *diag) {
  trial t = {0};
  for (size_t i = 0; i < nay_sst__foreign_nblocks(f); i++) {
    NAY_TRY(nay_sst__foreign_walk(f, i, scratch, trial_count, &t, diag));
  }
  if (t.nentries == f->nentries) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the number of entries differs from the footer",
                   f->source.len - 64 + 37);
}

/* Outcome of the trials so far: status and error of the hypothesis that parsed furthest. */
typedef struct trials {
  nay_status status; /* NAY_OK: f is set to a hypothesis under which all blocks parse */
  nay_diag why;
} trials;

static bool trial_goes_on(const trials *t) {
  return t->status != NAY_OK && t->status != NAY_ENOMEM && t->status != NAY_EIO;
}

static void trial_attempt(nay_foreign *f, nay_foreign_scratch *scratch, trials *t) {
  nay_diag why = {.what = NULL};
  nay_status status = trial_parse(f, scratch, &why);
  /* The failure of one hypothesis says nothing about the others. */
  bool inconclusive = status == NAY_ECORRUPT || status == NAY_ENOTSUP;
  if (inconclusive && t->why.what != NULL && why.offset <= t->why.offset) return;
  t->status = status;
  t->why = why;
}

nay_status nay_sst__nori_resolve(nay_foreign *f, nay_diag *diag) {
  static const nay_foreign_versions hypotheses[] = {NAY_FOREIGN_TERM_AND_INDEX,
                                                    NAY_FOREIGN_SEQUENCE, NAY_FOREIGN_NO_VERSIONS};
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  trials t = {.status = NAY_ECORRUPT};
  for (unsigned raw = 0; raw < (f->codec != 0 ? 2u : 1u); raw++) {
    for (unsigned i = 0; i < 3 && trial_goes_on(&t); i++) {
      f->stored_raw = raw != 0;
      f->versions = hypotheses[i];
      trial_attempt(f, &scratch, &t);
    }
  }
  nay_sst__foreign_scratch_free(&scratch, &f->allocator);
  if (t.status != NAY_OK && diag != NULL) *diag = t.why;
  return t.status;
}
