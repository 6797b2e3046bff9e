/*
 * plot_curves.c - the false-positive rate (FPR) against k, and against bits per key.
 *
 * Lines are the library's own plans, which state the exact FPR of each family (mean and variance of
 * the fill, blocks, load): no textbook formula is drawn. A family in which k is no choice has a
 * line without slope in the first chart: what it reaches with the same memory. The second also has
 * the information-theoretic lower bound, 2^-bits, and places each point at the bits per key that
 * the filter really has: fingerprints have whole bits, so some families go in steps.
 *
 * With --measure a filter is built at each k, or at each whole number of bits, and probed with
 * absent keys: the points. The interval is Wilson's of 95%; without a maybe there is no point.
 */
#include <math.h>
#include <stdio.h>

#include "measure.h"
#include "numbers.h"
#include "plan_layouts.h"
#include "plot.h"

#define CURVES_KEYS 1000000u
#define CURVES_MEASURED_KEYS 100000u
#define CURVES_ABSENT 500000u
#define CURVES_BITS 10.0 /* of the chart of k */
#define CURVES_LEAST_BITS 2
#define CURVES_MOST_BITS 24
#define CURVES_LEAST_K 16 /* the chart goes at least so far */
#define CURVES_MOST_K 32
#define CURVES_FPR 1e-7 /* nothing below it is drawn */
#define CURVES_KINDS 32

bool plot_takes(const plot_options *o, nay_kind kind) {
  if (!is_filter_kind(kind)) return false;
  return o->kinds == 0 || (o->kinds >> kind & 1) != 0;
}

static uint64_t curve_nkeys(const plot_options *o) {
  return o->size.nkeys != 0 ? o->size.nkeys : o->measure ? CURVES_MEASURED_KEYS : CURVES_KEYS;
}

static nay_status curve_plan(const nay_format *format, const nay_params *p, nay_plan *plan) {
  nay_diag diag;
  *plan = (nay_plan){.size = sizeof *plan};
  return format != NULL ? nay_format_plan(format, p, &diag, plan) : nay_params_plan(p, &diag, plan);
}

/* The last point of the series is measured with these parameters. */
static void curve_measure(const plot_options *o, plot_chart *c, plot_series *s,
                          const nay_format *format, const nay_params *p) {
  uint64_t hits;
  if (!o->measure || s == NULL || s->n == 0) return;
  nay_status status = measure_fpr(format, p, CURVES_ABSENT, &hits);
  if (status == NAY_ENOMEM) die(EXIT_TROUBLE, "--measure: %s: out of memory", s->name);
  if (status != NAY_OK) die(EXIT_TROUBLE, "--measure: %s: %s", s->name, nay_status_text(status));
  s->nabsent[s->n - 1] = CURVES_ABSENT;
  s->measured[s->n - 1] = interval_of(hits, CURVES_ABSENT, Z_95);
  c->has_measured = true;
}

/* ---- k ---- */

/* Whether the family has this k at this size. */
static bool curve_at_k(const plot_options *o, nay_kind kind, double bits, uint32_t k, nay_params *p,
                       nay_plan *plan) {
  *p = (nay_params){
      .size = sizeof *p, .kind = kind, .nkeys = curve_nkeys(o), .bits_per_key = bits, .k = k};
  return curve_plan(NULL, p, plan) == NAY_OK && (k == 0 || plan->k == k);
}

static void curve_k(const plot_options *o, plot_chart *c, nay_kind kind, double bits,
                    uint32_t most) {
  nay_params p;
  nay_plan plan;
  unsigned choices = 0;
  if (!curve_at_k(o, kind, bits, 0, &p, &plan)) return;
  for (uint32_t k = 1; k <= most; k++) choices += curve_at_k(o, kind, bits, k, &p, &plan);
  plot_series *s = plot_add(c, nay_kind_name(kind));
  if (s == NULL) return;
  s->fixed = choices < 2;
  if (s->fixed) {
    (void)curve_at_k(o, kind, bits, 0, &p, &plan);
    plot_point(s, 1, plan.fpr);
    plot_point(s, plan.k, plan.fpr);
    curve_measure(o, c, s, NULL, &p);
    plot_point(s, most, plan.fpr);
    return;
  }
  for (uint32_t k = 1; k <= most; k++) {
    if (!curve_at_k(o, kind, bits, k, &p, &plan) || !(plan.fpr > CURVES_FPR)) continue;
    plot_point(s, k, plan.fpr);
    curve_measure(o, c, s, NULL, &p);
  }
}

void plot_k(const plot_options *o, plot_chart *c) {
  static char title[120];
  double bits = o->size.bits_per_key != 0 ? o->size.bits_per_key : CURVES_BITS;
  uint32_t most = (uint32_t)(2 * bits * 0.6931) + 2;
  most = most < CURVES_LEAST_K ? CURVES_LEAST_K : most > CURVES_MOST_K ? CURVES_MOST_K : most;
  snprintf(title, sizeof title, "False-positive rate against k, %.4g bits per key, %s", bits,
           COUNTED(curve_nkeys(o), "key"));
  c->title = title;
  c->x_label = "k, probes per key";
  c->y_label = "FPR";
  c->y_log = c->y_fpr = true;
  for (int kind = 1; kind < CURVES_KINDS; kind++) {
    if (plot_takes(o, (nay_kind)kind)) curve_k(o, c, (nay_kind)kind, bits, most);
  }
}

void plot_best(const plot_chart *c) {
  for (unsigned s = 0; s < c->nseries; s++) {
    const plot_series *line = &c->series[s];
    char rate[NUMBER_TEXT];
    unsigned best = 0;
    for (unsigned i = 1; i < line->n; i++) {
      if (line->y[i] < line->y[best]) best = i;
    }
    if (line->n == 0 || line->fixed) continue;
    out_text("%11s%-9s least at k = %.0f: %s\n", "", line->name, line->x[best],
             fpr_text(line->y[best], rate));
  }
}

/* ---- bits per key ---- */

static void curve_bits(const plot_options *o, plot_chart *c, const nay_format *format,
                       nay_kind kind) {
  plot_series *s = NULL;
  for (unsigned i = 2 * CURVES_LEAST_BITS; i <= 2 * CURVES_MOST_BITS; i++) {
    nay_plan plan;
    nay_params p = {.size = sizeof p,
                    .kind = kind,
                    .nkeys = curve_nkeys(o),
                    .bits_per_key = i / 2.0,
                    .k = (uint32_t)o->size.probes};
    if (curve_plan(format, &p, &plan) != NAY_OK) continue;
    if (!(plan.fpr > CURVES_FPR) || plan.bits_per_key > CURVES_MOST_BITS + 0.5) continue;
    if (s != NULL && plan.bits_per_key <= s->x[s->n - 1]) continue; /* the same filter again */
    if (s == NULL) s = plot_add(c, format != NULL ? nay_format_name(format) : nay_kind_name(kind));
    plot_point(s, plan.bits_per_key, plan.fpr);
    if (i % 2 == 0) curve_measure(o, c, s, format, &p);
  }
}

plot_series *plot_bound(plot_chart *c) {
  c->has_bound = true;
  return plot_add(c, "lower bound");
}

static void curve_bound(plot_chart *c) {
  plot_series *s = plot_bound(c);
  for (double bits = CURVES_LEAST_BITS; bits <= CURVES_MOST_BITS; bits += 0.5) {
    if (exp2(-bits) > CURVES_FPR) plot_point(s, bits, exp2(-bits));
  }
}

void plot_bits(const plot_options *o, plot_chart *c) {
  static char title[120];
  const nay_format *format;
  if (o->size.probes > 64) die(EXIT_TROUBLE, "--probes: at most 64");
  snprintf(title, sizeof title, "False-positive rate against bits per key, %s",
           COUNTED(curve_nkeys(o), "key"));
  c->title = title;
  c->x_label = "bits per key";
  c->y_label = "FPR";
  c->y_log = c->y_fpr = true;
  curve_bound(c);
  for (int kind = 1; kind < CURVES_KINDS && (o->formats == 0 || o->kinds != 0); kind++) {
    if (plot_takes(o, (nay_kind)kind)) curve_bits(o, c, NULL, (nay_kind)kind);
  }
  for (size_t i = 0; (format = layout_at(o->formats, i)) != NULL; i++) {
    curve_bits(o, c, format, NAY_AUTO);
  }
}
