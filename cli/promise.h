/*
 * promise.h - one rule for every command. The promise is the target false-positive rate (FPR): that
 * of the filter's plan, so that it is one number in every command; --max-fpr and --expect-fpr
 * replace it, and -p where there is no file that states a plan. When the expected FPR is more than
 * 10% above it, the command says so with both figures, also with -q, sets it in --json, and ends in
 * EXIT_OVERFILLED with --strict. The result is still written.
 *
 * Where the bytes of another system's layout allow several plans (nay_filter_plan), nothing is
 * promised, but a filter with more keys than the largest of these plans is overfilled.
 */
#ifndef NAY_PROMISE_H
#define NAY_PROMISE_H

#include "options.h"

/* Above this a filter is of no use, whatever its plan; a merge without --max-fpr stops here. */
#define PROMISE_FPR_MOST 0.5

typedef struct promise {
  nay_stats stats;
  uint64_t nkeys;     /* planned, or the most of several plans; 0: not known */
  uint64_t nkeys_max; /* to which the filter may grow; 0: it does not grow, or without limit */
  double fpr_planned; /* with so many keys; of a filter that grows, at the end of its growth */
  double fpr;         /* asked or promised; 0: nothing was asked and no plan is known */
  bool useless;       /* the plan itself promised more than PROMISE_FPR_MOST, which fpr is then */
  double least_fpr;   /* of an intersection, whose FPR is unknown: a lower bound from the fill */
  bool within_plan;   /* it holds no more keys than planned, and its plan keeps the promise */
  bool overfilled;
} promise;

/* promise_judge: asked 0: the promise is the filter's own plan. */
promise promise_judge(const nay_filter *f, double asked);

/* promise_about: what to say before nkeys_estimated: "about", or "at least" when the filter is
 * saturated. */
const char *promise_about(const nay_stats *s);

/*
 * promise_judge_new: for a command that makes a file for -p. The filter is overfilled when it
 * breaks -p, but the number that is stated is that of the file's plan, if it states one, as info
 * and verify do: it is at most -p, because sizes come in whole blocks, fingerprints in whole bits.
 */
promise promise_judge_new(const nay_filter *f, double asked);

/* promise_utilisation: keys now, divided by those planned for, or by those to which the filter may
 * grow; NAN: not known, or it grows without limit. */
double promise_utilisation(const promise *p);

/*
 * stats_bits_per_key: bits for each key of the plan; without a plan, or when the filter has grown
 * beyond it, for each key that it holds. NAN: none, or saturated.
 */
double stats_bits_per_key(const nay_stats *s);

/* promise_json: fpr_promised and overfilled; the expected FPR is fpr_now. */
void promise_json(const promise *p);

/*
 * promise_tell: warns on stderr when the filter is overfilled. `what` names it, `so` (or NULL) says
 * what the result suffered and what to do. Returns `status`, or EXIT_OVERFILLED with --strict.
 */
int promise_tell(const options *o, const char *what, const promise *p, const char *so, int status);

#endif /* NAY_PROMISE_H */
