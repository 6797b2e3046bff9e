/*
 * plot_ranges.c - the false-positive rate (FPR) of a range filter against the length of the range,
 * beside a Bloom filter of the same size that is asked for every number of the range.
 *
 * The FPR of l numbers is in proportion to l, or, after a shrink by s bits, to l - 1 + 2^s: it
 * follows from that of one length, which the plan and the statistics of a filter state. A Bloom
 * filter with the rate f has 1 - (1 - f)^l.
 */
#include <math.h>

#include "filterfile.h"
#include "plot.h"

#define RANGES_KEYS 1000000u
#define RANGES_LEAST 1e-9 /* nothing below it is drawn */

/* The FPR of one length of range: that of the others follows. */
typedef struct plot_ranges {
  double fpr, length, cell; /* cell: numbers that shrinking has made one */
  double nkeys, bits_per_key;
} plot_ranges;

static double ranges_fpr(const plot_ranges *r, double length) {
  return fmin(1, r->fpr * (length - 1 + r->cell) / (r->length - 1 + r->cell));
}

static double ranges_bloom(const plot_ranges *r, double length) {
  nay_params p = {sizeof p, .kind = NAY_BLOOM, .bits_per_key = r->bits_per_key};
  nay_plan plan = {.size = sizeof plan};
  p.nkeys = (uint64_t)r->nkeys;
  if (nay_params_plan(&p, NULL, &plan) != NAY_OK) return 0;
  return -expm1(length * log1p(-plan.fpr));
}

/* Until every answer of the range filter is maybe. */
static void ranges_fill(const plot_ranges *r, plot_chart *c) {
  plot_series *range = plot_add(c, "range"), *bloom = plot_add(c, "bloom");
  double length = 1;
  for (unsigned i = 0; i < PLOT_POINTS && ranges_fpr(r, length) < 1; i++) {
    double points = ranges_bloom(r, length);
    if (ranges_fpr(r, length) >= RANGES_LEAST) plot_point(range, length, ranges_fpr(r, length));
    if (points >= RANGES_LEAST) plot_point(bloom, length, points);
    length = fmax(length + 1, floor(length * 1.25));
  }
  plot_point(range, length, 1);
  if (bloom->n != 0) plot_point(bloom, length, ranges_bloom(r, length));
}

static plot_ranges ranges_of_filter(const plot_options *o, const char *path) {
  const filter_options any = {.format = NULL};
  nay_filter *f = filterfile_open(&o->common, &any, path);
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  nay_filter_free(f);
  if (s.range_length == 0) die(EXIT_TROUBLE, "%s: not a range filter", path);
  if (s.range_exact != 0) {
    die(EXIT_TROUBLE, "%s: exact: no false positive, for ranges of any length", path);
  }
  if (!(s.fpr_now > 0)) die(EXIT_TROUBLE, "%s: no keys, no false positive", path);
  if (s.fpr_now >= 1) die(EXIT_TROUBLE, "%s: every range is a maybe", path);
  return (plot_ranges){.fpr = s.fpr_now,
                       .length = (double)s.range_length,
                       .cell = ldexp(1, (int)s.range_shift),
                       .nkeys = s.nkeys_estimated,
                       .bits_per_key = (double)s.nbits / s.nkeys_estimated};
}

static plot_ranges ranges_of_plan(const plot_options *o) {
  size_options size = o->size;
  size.kind = NAY_RANGE;
  if (size.nkeys == 0) size.nkeys = RANGES_KEYS;
  nay_params p = size_params(&size, NULL, 0.01);
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  if (nay_params_plan(&p, &diag, &plan) != NAY_OK) die(EXIT_TROUBLE, "%s", diag.what);
  return (plot_ranges){.fpr = plan.fpr,
                       .length = (double)p.range_length,
                       .cell = 1,
                       .nkeys = (double)p.nkeys,
                       .bits_per_key = plan.bits_per_key};
}

void plot_range_lengths(const plot_options *o, plot_chart *c) {
  c->title = "False-positive rate against the length of the range";
  c->x_label = "numbers in the range";
  c->y_label = "FPR";
  c->x_log = c->y_log = c->y_fpr = true;
  if (o->common.noperands > 1) {
    options_refuse(&o->common, "nkeys, fpr, bits, memory, range-length", "plot range FILTER");
    const plot_ranges r = ranges_of_filter(o, o->common.operands[1]);
    ranges_fill(&r, c);
    return;
  }
  const plot_ranges r = ranges_of_plan(o);
  ranges_fill(&r, c);
}
