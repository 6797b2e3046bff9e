/*
 * nori_trial.c - which writer made a nori table of footer version 0.
 *
 * Version 0 means "before versions existed". Its entries have no version, a sequence number, or
 * term and index; and the first writer put the codec's number into the footer but did not compress.
 * No field tells. So every block is parsed in each of these ways, and the way is taken in which all
 * of them hold: entries end where the restarts start, restarts are at entries, keys ascend inside
 * blocks and across them, first keys are those of the index, and the entries are as many as the
 * footer says. If several hold, the one with more numbers is taken, and compressed before raw.
 *
 * Cost: all blocks are read when the table is opened, the wrong ways mostly fail in the first.
 */
#include "sst/foreign.h"

typedef struct trial {
  uint64_t nentries;
} trial;

static nay_status trial_count(void *ctx, const nay_foreign_entry *entry) {
  (void)entry;
  ((trial *)ctx)->nentries++;
  return NAY_OK;
}

/* Whether all blocks parse as f->versions and f->stored_raw say. */
static nay_status trial_parse(const nay_foreign *f, nay_foreign_scratch *scratch, nay_diag *diag) {
  trial t = {0};
  for (size_t i = 0; i < nay__foreign_nblocks(f); i++) {
    NAY_TRY(nay__foreign_walk(f, i, scratch, trial_count, &t, diag));
  }
  if (t.nentries == f->nentries) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the entries are not as many as the footer says",
                   f->source.len - 64 + 37);
}

/* The attempts so far. The one that came furthest tells what is wrong with the file. */
typedef struct trials {
  nay_status status; /* NAY_OK: f is set so that all blocks parse */
  nay_diag why;
} trials;

static bool trial_goes_on(const trials *t) {
  return t->status != NAY_OK && t->status != NAY_ENOMEM && t->status != NAY_EIO;
}

static void trial_attempt(nay_foreign *f, nay_foreign_scratch *scratch, trials *t) {
  nay_diag why = {.what = NULL};
  nay_status status = trial_parse(f, scratch, &why);
  bool says_nothing = status == NAY_ECORRUPT || status == NAY_ENOTSUP; /* of the other ways */
  if (says_nothing && t->why.what != NULL && why.offset <= t->why.offset) return;
  t->status = status;
  t->why = why;
}

nay_status nay__nori_resolve(nay_foreign *f, nay_diag *diag) {
  static const nay_foreign_versions ways[] = {NAY_FOREIGN_TERM_AND_INDEX, NAY_FOREIGN_SEQUENCE,
                                              NAY_FOREIGN_NO_VERSIONS};
  nay_foreign_scratch scratch = {.key = {NULL, 0, 0}};
  trials t = {.status = NAY_ECORRUPT};
  for (unsigned raw = 0; raw < (f->codec != 0 ? 2u : 1u); raw++) {
    for (unsigned i = 0; i < 3 && trial_goes_on(&t); i++) {
      f->stored_raw = raw != 0;
      f->versions = ways[i];
      trial_attempt(f, &scratch, &t);
    }
  }
  nay__foreign_scratch_free(&scratch, &f->allocator);
  if (t.status != NAY_OK && diag != NULL) *diag = t.why;
  return t.status;
}
