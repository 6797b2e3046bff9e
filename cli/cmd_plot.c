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

/* ---- fpr: the FPR as keys are added ---- */

static void plot_fpr_series(plot_chart *c, const nay_plan *plan, uint64_t nkeys, const char *name) {
  plot_series *line = &c->series[c->nseries];
  *line = (plot_series){.name = name};
  for (unsigned i = 10; i <= 60; i++) { /* from a quarter */
    nay_params p = {sizeof p, .kind = plan->kind, .nbits = plan->nbits, .k = plan->k};
    nay_plan at = {.size = sizeof at};
    p.nkeys = (uint64_t)((double)nkeys * i / 40 + 0.5); /* to half as many again */
    if (p.nkeys == 0 || nay_params_plan(&p, NULL, &at) != NAY_OK || !(at.fpr > 1e-12)) continue;
    if (at.nbits != plan->nbits) continue; /* counters beside the bits: not a size to plan by */
    line->x[line->n] = 100.0 * i / 40;
    line->y[line->n++] = at.fpr;
  }
  if (line->n > 1) c->nseries++;
}

static void plot_fpr(const options *o, plot_chart *c) {
  c->title = "False-positive rate as keys are added";
  c->x_label = "keys, % of plan";
  c->y_label = "FPR";
  c->y_log = true;
  if (o->noperands > 1) {
    nay_filter *f = filterfile_open(o->operands[1], o);
    nay_stats s = {.size = sizeof s};
    nay_filter_stats(f, &s);
    nay_plan plan = {sizeof plan, .kind = s.kind, .k = s.k, .nbits = s.nbits};
    uint64_t nkeys = s.nkeys != 0 ? s.nkeys : (uint64_t)s.nkeys_estimated;
    plot_fpr_series(c, &plan, nkeys, nay_kind_name(s.kind));
    nay_filter_free(f);
    return;
  }
  for (int kind = 1; kind < PLOT_SERIES; kind++) {
    nay_params p = options_params(o, 0.01);
    nay_plan plan = {.size = sizeof plan};
    if (nay_kind_name((nay_kind)kind) == NULL) continue;
    if (o->kind != NAY_AUTO && o->kind != (nay_kind)kind) continue;
    p.kind = (nay_kind)kind;
    if (p.nkeys == 0) p.nkeys = 1000000;
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
    plot_fpr_series(c, &plan, p.nkeys, nay_kind_name(p.kind));
  }
}

/* ---- size: bits per key against FPR ---- */

static void plot_size(const options *o, plot_chart *c) {
  c->title = "Bits per key against FPR";
  c->x_label = "false-positive rate (FPR)";
  c->y_label = "bits per key";
  c->x_log = true;
  for (int kind = 0; kind < PLOT_SERIES - 1; kind++) {
    plot_series *line = &c->series[c->nseries];
    *line = (plot_series){.name = kind == 0 ? "lower bound" : nay_kind_name((nay_kind)kind)};
    if (line->name == NULL) continue;
    if (kind != 0 && o->kind != NAY_AUTO && o->kind != (nay_kind)kind) continue;
    for (unsigned i = 4; i <= 24; i++) {
      double fpr = pow(10, -(double)i / 4);
      nay_params p = {.size = sizeof p,
                      .kind = (nay_kind)kind,
                      .nkeys = o->nkeys != 0 ? o->nkeys : 1000000,
                      .fpr = fpr};
      nay_plan plan = {sizeof plan, .bits_per_key = -log2(fpr)}; /* no filter can do with less */
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
  source *s;
  if (!source_open(path, true, &s, &fail)) die(EXIT_TROUBLE, "%s", fail.text);
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
  static void (*const plots[])(const options *, plot_chart *) = {plot_fpr, plot_size, plot_bench};
  static plot_chart chart;
  plots[o->verb](o, &chart);
  if (chart.nseries == 0) die(EXIT_TROUBLE, "nothing to plot with these parameters");
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

static const option_row plot_options[] = {
    {"svg", 0, NULL, OPTION_FLAG, AT(svg), "write SVG even to a terminal", NULL, 0, NULL},
    {0},
};

const command command_plot = {
    .name = "plot",
    .run = plot_run,
    .summary = "plot FPRs, sizes or bench results, in the terminal or as SVG",
    .operands = "fpr [FILTER] | size | bench [TABLE]",
    .min_operands = 1,
    .max_operands = 2,
    .verbs = "fpr size bench",
    .takes = TAKES_FAMILY | TAKES_SIZE | TAKES_OUTPUT,
    .own = plot_options,
    .about =
        "fpr: the false-positive rate (FPR) as keys are added, up to 150% of the plan, for each "
        "family or for a given filter. size: bits per key that each family needs for an FPR, "
        "against the information-theoretic lower bound, log2(1/FPR). bench: a table written by "
        "'nay bench --csv', as bars.\n"
        "\n"
        "Draws with characters; writes SVG with --svg, or to the file named by -o.",
    .examples =
        "$ nay plot size -t blocked -n 1M -o size.svg\n"
        "$ head -c 4 size.svg\n"
        "<svg\n",
};
