/*
 * plan_layouts.c - see plan_layouts.h.
 *
 * A layout leaves no choice but the number of keys and the bits per key (or the false-positive rate
 * that is turned into these), so a plan is one row: size, k, and the FPR of the layout's own
 * formula. Most formulas take the k probes as independent; double hashing is worse for few keys,
 * and a hash of 32 bits for many. So the FPR is also measured, with the planned number of keys, or
 * not at all: fewer keys would hide the second.
 */
#include "plan_layouts.h"

#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "numbers.h"
#include "plan.h"

#define LAYOUTS_MEASURED_KEYS 1000000u
#define LAYOUTS_SECONDS 0.02

typedef struct layout_row {
  const nay_format *format;
  nay_status status;
  char why[DIAG_TEXT]; /* not planned */
  nay_plan plan;
  bool is_measured;
  measurement measured;
} layout_row;

nay_params layouts_params(const size_options *size) {
  if (size->kind != NAY_AUTO) die(EXIT_TROUBLE, LAYOUTS_EXCLUDE_KINDS);
  if (size->nbytes != 0) die(EXIT_TROUBLE, "-M is for families: give -p or -b with --format");
  if (size->nbits != 0) die(EXIT_TROUBLE, "--nbits is for families: give -p or -b with --format");
  return size_params(size, NULL, 0.01);
}

static layout_row layout_plan(const plan_options *o, const nay_format *format,
                              const nay_params *p) {
  layout_row row = {.format = format, .plan = {.size = sizeof row.plan}};
  nay_diag diag = {.what = NULL};
  row.status = nay_format_plan(format, p, &diag, &row.plan);
  if (row.status != NAY_OK) diag_text(row.status, &diag, row.why);
  if (row.status != NAY_OK || o->no_measure || p->nkeys > LAYOUTS_MEASURED_KEYS) return row;
  row.is_measured = measure_filter(format, p, LAYOUTS_SECONDS, NULL, &row.measured) == NAY_OK;
  return row;
}

/* ---- printing ---- */

static void layout_text(const plan_options *o, const layout_row *r) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT], a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
  const char *name = nay_format_name(r->format);
  if (r->status != NAY_OK) {
    out_text("%s%-21s %s%s\n", paint(PAINT_DIM), name, r->why, paint(PAINT_PLAIN));
    return;
  }
  out_text("%-21s %8.2f %3u  %10s  %10s", name, r->plan.bits_per_key, r->plan.k,
           size_text(r->plan.nbytes_file, size), fpr_text(r->plan.fpr, rate));
  if (r->is_measured) {
    const interval *fpr = &r->measured.fpr;
    out_text("  %6.1f  %s (%s to %s)", r->measured.miss_ns, fpr_text(fpr->rate, a),
             fpr_text(fpr->low, b), fpr_text(fpr->high, c));
  } else if (!o->no_measure) {
    out_text("  %6s  -", "-");
  }
  out_text("\n");
}

static void layout_json(const layout_row *r) {
  json_open(NULL, '{');
  json_text("format", nay_format_name(r->format));
  if (r->status != NAY_OK) {
    json_text("why", r->why);
    json_close();
    return;
  }
  json_real("bits_per_key", r->plan.bits_per_key);
  json_count("nbits", r->plan.nbits);
  json_count("nbytes", r->plan.nbytes_file);
  json_count("k", r->plan.k);
  json_real("fpr_planned", r->plan.fpr);
  if (r->is_measured) {
    json_real("miss_ns", r->measured.miss_ns);
    json_count("nabsent", r->measured.nabsent);
    json_real("fpr_measured", r->measured.fpr.rate);
    json_real("fpr_low", r->measured.fpr.low);
    json_real("fpr_high", r->measured.fpr.high);
  }
  json_close();
}

static void layouts_title(const plan_options *o) {
  out_text("%slayout                bits/key   k        size         FPR%s%s\n", paint(PAINT_BOLD),
           o->no_measure ? "" : "  ns/key  measured FPR (95%)", paint(PAINT_PLAIN));
}

int plan_layouts(const plan_options *o) {
  const nay_format *format;
  bool any = false;
  if (o->need != 0) die(EXIT_TROUBLE, "--need is for families: omit it with --format");
  nay_params p = layouts_params(&o->size);
  if (o->common.json) {
    json_begin("nay.plan.format/1");
    json_count("nkeys_planned", o->size.nkeys);
    json_open("layouts", '[');
  } else {
    layouts_title(o);
  }
  for (size_t i = 0; (format = layout_at(o->formats, i)) != NULL; i++) {
    layout_row row = layout_plan(o, format, &p);
    if (o->common.json) layout_json(&row);
    if (!o->common.json) layout_text(o, &row);
    any = any || row.status == NAY_OK;
  }
  if (o->common.json) {
    json_close();
    json_end();
  } else if (!o->no_measure && o->size.nkeys > LAYOUTS_MEASURED_KEYS) {
    out_text("not measured: more than a million keys\n");
  }
  out_flush();
  return any ? EXIT_FOUND : EXIT_NONE;
}
