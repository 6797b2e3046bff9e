/* promise.c - see promise.h. */
#include "promise.h"

#include <math.h>
#include <stdio.h>

#include "numbers.h"

#define PROMISE_MARGIN 1.1

/*
 * Sampling error: the number of keys is estimated from the bits, with a standard deviation of
 * about sqrt(n / 2k); four of them, and half a key for very small filters. The
 * bits of one key cannot be mistaken for those of two.
 */
static double promise_slack(const promise *p) {
  uint32_t k = p->stats.k;
  return k == 0 || p->nkeys == 1 ? 0.5 : 4 * sqrt((double)p->nkeys * 0.5 / k) + 0.5;
}

/*
 * The most keys that the plan provides for. A window of g generations holds one generation more
 * than its length just before it drops the oldest.
 */
static double promise_most_keys(const promise *p) {
  const nay_stats *s = &p->stats;
  if (s->kind != NAY_WINDOW || s->nlevels < 2) return (double)p->nkeys;
  uint64_t g = s->nlevels - 1;
  return (double)((p->nkeys + g - 1) / g * s->nlevels);
}

static bool promise_has_more_keys(const promise *p) {
  return p->nkeys != 0 && p->stats.nkeys_estimated > promise_most_keys(p) + promise_slack(p);
}

/*
 * By chance a small filter within its plan may have a higher FPR than expected: no warning. A
 * window within its plan may still have a generation with more keys than its share.
 */
static bool promise_within_plan(const promise *p) {
  const nay_stats *s = &p->stats;
  if (s->kind == NAY_WINDOW && s->overloaded) return false;
  return s->nkeys != 0 && s->fpr_planned <= PROMISE_MARGIN * p->fpr && !promise_has_more_keys(p);
}

/* The plan of the filter; of several that its size and k can come from, the one with most keys. */
static void promise_plan(promise *p, const nay_filter *f) {
  nay_plan plan = {.size = sizeof plan};
  nay_params is = {.size = sizeof is};
  bool grows = nay_filter_params(f, &is) == NAY_OK && is.max_nkeys > is.nkeys;
  p->nkeys_max = grows ? is.max_nkeys : 0;
  p->nkeys = p->stats.nkeys;
  p->fpr_planned = p->stats.fpr_planned;
  if (p->nkeys != 0) return;
  for (size_t i = 0; nay_filter_plan(f, i, NULL, &plan) == NAY_OK; i++) {
    if (plan.nkeys <= p->nkeys) continue;
    p->nkeys = plan.nkeys;
    p->fpr_planned = plan.fpr;
  }
}

const char *promise_about(const nay_stats *s) { return s->saturated ? "at least" : "about"; }

double promise_utilisation(const promise *p) {
  bool known = p->nkeys != 0 && !p->stats.derived && p->stats.kind != NAY_SCALABLE;
  uint64_t most = p->nkeys_max != 0 ? p->nkeys_max : p->nkeys;
  return known ? p->stats.nkeys_estimated / (double)most : NAN;
}

double stats_bits_per_key(const nay_stats *s) {
  bool grown = s->kind != NAY_WINDOW && s->nlevels > 1;
  if (s->nkeys != 0 && !grown) return (double)s->nbits / (double)s->nkeys;
  return s->nkeys_estimated >= 0.5 && !s->saturated ? (double)s->nbits / s->nkeys_estimated : NAN;
}

/*
 * The FPR of an intersection is not known from its number of keys, but an absent key is a maybe
 * with at least this probability: fill^k, and more where the fill differs between blocks.
 */
static double promise_least_fpr(const nay_stats *s) {
  return s->k != 0 ? pow(s->fill, s->k) : s->fill;
}

promise promise_judge(const nay_filter *f, double asked) {
  promise p = {.stats = {.size = sizeof p.stats}, .fpr = asked};
  if (nay_filter_stats(f, &p.stats) != NAY_OK) return p;
  const nay_stats *s = &p.stats;
  promise_plan(&p, f);
  p.useless = asked == 0 && s->fpr_planned > PROMISE_FPR_MOST;
  if (asked == 0) p.fpr = p.useless ? PROMISE_FPR_MOST : s->fpr_planned;
  if (s->derived) {
    p.least_fpr = promise_least_fpr(s);
    p.overfilled = p.least_fpr > PROMISE_MARGIN * (p.fpr > 0 ? p.fpr : PROMISE_FPR_MOST);
    return p;
  }
  if (p.fpr > 0) {
    p.within_plan = promise_within_plan(&p);
    p.overfilled = s->fpr_now > PROMISE_MARGIN * p.fpr && !p.within_plan;
  } else {
    bool above_plan = p.nkeys != 0 && s->fpr_now > PROMISE_MARGIN * p.fpr_planned;
    p.overfilled = s->fpr_now > PROMISE_FPR_MOST || (above_plan && promise_has_more_keys(&p));
  }
  return p;
}

promise promise_judge_new(const nay_filter *f, double asked) {
  promise p = promise_judge(f, asked);
  const nay_stats *s = &p.stats;
  if (s->nkeys != 0 && s->fpr_planned > 0 && s->fpr_planned < p.fpr) p.fpr = s->fpr_planned;
  return p;
}

void promise_json(const promise *p) {
  if (p->fpr > 0) json_real("fpr_promised", p->fpr);
  if (!(p->fpr > 0)) json_null("fpr_promised");
  json_bool("overfilled", p->overfilled);
}

/* ": planned for 100 keys, holds about 250"; nothing when keys are not what is wrong. */
static const char *promise_keys(const promise *p, char *text, size_t cap) {
  const nay_stats *s = &p->stats;
  char planned[COUNTED_TEXT], now[NUMBER_TEXT];
  text[0] = '\0';
  if (s->derived || !promise_has_more_keys(p)) return text;
  counted_text(promise_most_keys(p), "key", planned, sizeof planned);
  const char *most = s->nkeys == 0 || s->kind == NAY_WINDOW ? "at most " : "";
  snprintf(text, cap, ": planned for %s%s, holds %s %s", most, planned, promise_about(s),
           count_text(s->nkeys_estimated, now));
  return text;
}

int promise_tell(const options *o, const char *what, const promise *p, const char *so, int status) {
  char now[NUMBER_TEXT], promised[NUMBER_TEXT], keys[160];
  if (!p->overfilled) return status;
  fpr_text(p->stats.derived ? p->least_fpr : p->stats.fpr_now, now);
  promise_keys(p, keys, sizeof keys);
  const char *then = so != NULL ? "; " : "";
  if (so == NULL) so = "";
  if (p->fpr > 0) {
    message_error("warning: %s has a false-positive rate of %s%s, above %s %s%s%s%s", what,
                  p->stats.derived ? "at least " : "", now,
                  p->useless ? "the useful limit of" : "the promised", fpr_text(p->fpr, promised),
                  keys, then, so);
  } else {
    message_error("warning: %s has a false-positive rate of %s%s, %s%s%s%s", what,
                  p->stats.derived ? "at least " : "", now,
                  *keys != '\0' ? "above that of any plan of its size" : "and stores no plan", keys,
                  then, so);
  }
  return o->strict ? EXIT_OVERFILLED : status;
}
