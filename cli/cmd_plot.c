/* cmd_plot.c - nay plot: pictures of what a filter does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "numbers.h"
#include "outfile.h"
#include "plot.h"
#include "source.h"

/* ---- rate: false positives as keys come in ---- */

static void plot_rate_series(plot_chart *c, const nay_plan *plan, uint64_t nkeys,
                             const char *name) {
  plot_series *line = &c->series[c->nseries];
  *line = (plot_series){.name = name};
  for (unsigned i = 10; i <= 60; i++) { /* from a quarter */
    nay_params p = {.kind = plan->kind, .nbits = plan->nbits, .k = plan->k};
    nay_plan at;
    p.nkeys = (uint64_t)((double)nkeys * i / 40 + 0.5); /* to half as many again */
    if (p.nkeys == 0 || nay_params_plan(&p, NULL, &at) != NAY_OK || !(at.fpr > 1e-12)) continue;
    if (at.nbits != plan->nbits) continue; /* counters beside the bits: not a size to plan by */
    line->x[line->n] = 100.0 * i / 40;
    line->y[line->n++] = at.fpr;
  }
  if (line->n > 1) c->nseries++;
}

static void plot_rate(const options *o, plot_chart *c) {
  c->title = "False positives as the filter fills";
  c->x_label = "keys, % of the plan";
  c->y_label = "rate";
  c->y_log = true;
  if (o->noperands > 1) {
    nay_filter *f = filterfile_open(o->operands[1], o);
    nay_stats s;
    nay_filter_stats(f, &s);
    nay_plan plan = {.kind = s.kind, .k = s.k, .nbits = s.nbits};
    uint64_t nkeys = s.nkeys != 0 ? s.nkeys : (uint64_t)s.nkeys_estimated;
    plot_rate_series(c, &plan, nkeys, nay_kind_name(s.kind));
    nay_filter_free(f);
    return;
  }
  for (int kind = 1; kind < PLOT_SERIES; kind++) {
    nay_params p = options_params(o, 0.01);
    nay_plan plan;
    if (nay_kind_name((nay_kind)kind) == NULL) continue;
    if (o->kind != NAY_AUTO && o->kind != (nay_kind)kind) continue;
    p.kind = (nay_kind)kind;
    if (p.nkeys == 0) p.nkeys = 1000000;
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
    plot_rate_series(c, &plan, p.nkeys, nay_kind_name(p.kind));
  }
}

/* ---- size: bits per key against rate ---- */

static void plot_size(const options *o, plot_chart *c) {
  c->title = "What a rate costs";
  c->x_label = "rate of false positives";
  c->y_label = "bits per key";
  c->x_log = true;
  for (int kind = 0; kind < PLOT_SERIES - 1; kind++) {
    plot_series *line = &c->series[c->nseries];
    *line = (plot_series){.name = kind == 0 ? "limit" : nay_kind_name((nay_kind)kind)};
    if (line->name == NULL) continue;
    if (kind != 0 && o->kind != NAY_AUTO && o->kind != (nay_kind)kind) continue;
    for (unsigned i = 4; i <= 24; i++) {
      double fpr = pow(10, -(double)i / 4);
      nay_params p = {
          .kind = (nay_kind)kind, .nkeys = o->nkeys != 0 ? o->nkeys : 1000000, .fpr = fpr};
      nay_plan plan = {.bits_per_key = -log2(fpr)}; /* no filter can do with less */
      if (kind != 0 && nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
      line->x[line->n] = fpr;
      line->y[line->n++] = plan.bits_per_key;
    }
    if (line->n > 1) c->nseries++;
  }
}

/* ---- bench: the table of nay bench --csv ---- */

static char *plot_read(const char *path) {
  source_failure fail;
  source *s = source_open(path, true, &fail);
  if (s == NULL) die(EXIT_TROUBLE, "%s", fail.text);
  size_t len = 0, cap = 65536;
  char *text = must_alloc(cap + 1);
  for (ssize_t n; (n = source_read(s, text + len, cap - len, &fail)) != 0;) {
    if (n < 0) die(EXIT_TROUBLE, "%s", fail.text);
    len += (size_t)n;
    if (len == cap) text = must_grow(text, (cap *= 2) + 1);
  }
  source_close(s);
  text[len] = '\0';
  return text;
}

/* Names of groups stay in the text of the table, which lives as long as the program. */
static void plot_bench(const options *o, plot_chart *c) {
  static const char *const names[] = {"build", "hit", "miss", "one"};
  static char *text;
  text = plot_read(o->noperands > 1 ? o->operands[1] : "-");
  c->title = "nanoseconds per key";
  c->x_label = "family";
  c->y_label = "ns per key";
  c->bars = true;
  c->nseries = 4;
  for (unsigned s = 0; s < 4; s++) c->series[s] = (plot_series){.name = names[s]};
  if (strncmp(text, "kind,", 5) != 0) die(EXIT_TROUBLE, "not a table of 'nay bench --csv'");
  char *rest = NULL, *line = strtok_r(text, "\n", &rest);
  while ((line = strtok_r(NULL, "\n", &rest)) != NULL && c->ngroups < PLOT_SERIES) {
    double ns[4];
    int got = sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf,%lf,%lf,%lf",
                     &ns[0], &ns[1], &ns[2], &ns[3]);
    if (got != 4) die(EXIT_TROUBLE, "not a row of 'nay bench --csv': %.60s", line);
    for (unsigned s = 0; s < 4; s++) {
      c->series[s].x[c->series[s].n] = c->ngroups;
      c->series[s].y[c->series[s].n++] = ns[s];
    }
    line[strcspn(line, ",")] = '\0';
    c->groups[c->ngroups++] = line;
  }
}

static int plot_run(options *o) {
  static const char *const subjects[] = {"rate", "size", "bench", NULL};
  static plot_chart chart;
  const char *subject = o->operands[0];
  if (strcmp(subject, "rate") == 0) {
    plot_rate(o, &chart);
  } else if (strcmp(subject, "size") == 0) {
    plot_size(o, &chart);
  } else if (strcmp(subject, "bench") == 0) {
    plot_bench(o, &chart);
  } else {
    const char *near = words_nearest(subject, subjects);
    die(EXIT_TROUBLE, "no picture '%s'; %s%s", subject,
        near != NULL ? "did you mean " : "there are rate, size, bench", near != NULL ? near : "");
  }
  if (chart.nseries == 0) die(EXIT_TROUBLE, "nothing to draw with these numbers");
  if (!o->svg && o->out == NULL) {
    plot_term(&chart);
    return EXIT_FOUND;
  }
  const char *out = o->out != NULL ? o->out : "-";
  if (strcmp(out, "-") != 0) outfile_may_write(out, o->force);
  size_t len;
  char *svg = plot_svg(&chart, &len);
  outfile_save(svg, len, out);
  free(svg);
  return EXIT_FOUND;
}

const command command_plot = {
    .name = "plot",
    .bit = CMD_PLOT,
    .run = plot_run,
    .summary = "draw rates, sizes or bench results, in the terminal or as SVG",
    .operands = "rate [FILTER] | size | bench [TABLE]",
    .min_operands = 1,
    .max_operands = 2,
    .about =
        "rate: false positives as keys come in, to half as many again as were planned; for each "
        "family, or for a filter. size: bits per key that each family needs for a rate, above the "
        "limit that nothing can be below. bench: a table of 'nay bench --csv' as bars.\n"
        "\n"
        "Draws with characters; writes SVG with --svg, or to the file after -o.",
    .examples =
        "$ nay plot size -t blocked -n 1M -o size.svg\n"
        "$ head -c 4 size.svg\n"
        "<svg\n",
};
