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
static double promise_slack(const nay_stats *s) {
  return s->k == 0 || s->nkeys == 1 ? 0.5 : 4 * sqrt((double)s->nkeys * 0.5 / s->k) + 0.5;
}

/*
 * By chance a small filter within its plan may have a higher FPR than expected: no warning. A
 * window within its plan may still have a generation with more keys than its share.
 */
static bool promise_within_plan(const nay_stats *s, double fpr) {
  if (s->kind == NAY_WINDOW && s->overloaded) return false;
  return s->nkeys != 0 && s->fpr_planned <= PROMISE_MARGIN * fpr &&
         s->nkeys_estimated <= (double)s->nkeys + promise_slack(s);
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
  p.useless = asked == 0 && s->fpr_planned > PROMISE_FPR_MOST;
  if (asked == 0) p.fpr = p.useless ? PROMISE_FPR_MOST : s->fpr_planned;
  if (s->derived) {
    p.least_fpr = promise_least_fpr(s);
    p.overfilled = p.least_fpr > PROMISE_MARGIN * (p.fpr > 0 ? p.fpr : PROMISE_FPR_MOST);
    return p;
  }
  if (p.fpr > 0) {
    p.within_plan = promise_within_plan(s, p.fpr);
    p.overfilled = s->fpr_now > PROMISE_MARGIN * p.fpr && !p.within_plan;
  } else {
    p.overfilled = s->fpr_now > PROMISE_FPR_MOST;
  }
  return p;
}

void promise_json(const promise *p) {
  if (p->fpr > 0) json_real("fpr_promised", p->fpr);
  if (!(p->fpr > 0)) json_null("fpr_promised");
  json_bool("overfilled", p->overfilled);
}

/* ": planned for 100 keys, holds about 250"; nothing when keys are not what is wrong. */
static const char *promise_keys(const nay_stats *s, char *text, size_t cap) {
  char planned[COUNTED_TEXT], now[NUMBER_TEXT];
  bool more =
      s->nkeys != 0 && !s->derived && s->nkeys_estimated > (double)s->nkeys + promise_slack(s);
  text[0] = '\0';
  if (!more) return text;
  counted_text((double)s->nkeys, "key", planned, sizeof planned);
  if (!isfinite(s->nkeys_estimated)) {
    snprintf(text, cap, ": planned for %s, every bit is set", planned);
  } else { /* a fill near 1 gives only a lower bound */
    snprintf(text, cap, ": planned for %s, holds %s %s", planned,
             s->fill > 0.99 ? "more than" : "about", count_text(s->nkeys_estimated, now));
  }
  return text;
}

int promise_tell(const options *o, const char *what, const promise *p, const char *so, int status) {
  char now[NUMBER_TEXT], promised[NUMBER_TEXT], keys[160];
  if (!p->overfilled) return status;
  fpr_text(p->stats.derived ? p->least_fpr : p->stats.fpr_now, now);
  promise_keys(&p->stats, keys, sizeof keys);
  const char *then = so != NULL ? "; " : "";
  if (so == NULL) so = "";
  if (p->fpr > 0) {
    message_error("warning: %s has a false-positive rate of %s%s, above %s %s%s%s%s", what,
                  p->stats.derived ? "at least " : "", now,
                  p->useless ? "the useful limit of" : "the promised", fpr_text(p->fpr, promised),
                  keys, then, so);
  } else {
    message_error("warning: %s has a false-positive rate of %s%s, and stores no plan%s%s", what,
                  p->stats.derived ? "at least " : "", now, then, so);
  }
  return o->strict ? EXIT_OVERFILLED : status;
}
