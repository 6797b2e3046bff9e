/* cmd_plot.c - nay plot: pictures of what a filter does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "measure.h"
#include "numbers.h"
#include "outfile.h"
#include "plot.h"
#include "source.h"

/* ---- fpr: the FPR as keys are added ---- */

static void plot_fpr_series(plot_chart *c, const nay_plan *plan, uint64_t nkeys, const char *name) {
  plot_series *line = NULL;
  for (unsigned i = 10; i <= 60; i++) { /* from a quarter */
    nay_params p = {sizeof p, .kind = plan->kind, .nbits = plan->nbits, .k = plan->k};
    nay_plan at = {.size = sizeof at};
    p.nkeys = (uint64_t)((double)nkeys * i / 40 + 0.5); /* to half as many again */
    if (p.nkeys == 0 || nay_params_plan(&p, NULL, &at) != NAY_OK || !(at.fpr > 1e-12)) continue;
    if (at.nbits != plan->nbits) continue; /* counters beside the bits: not a size to plan by */
    if (line == NULL) line = plot_add(c, name);
    plot_point(line, 100.0 * i / 40, at.fpr);
  }
}

static void plot_fpr(const plot_options *o, plot_chart *c) {
  c->title = "False-positive rate as keys are added";
  c->x_label = "keys, % of plan";
  c->y_label = "FPR";
  c->y_log = c->y_fpr = true;
  if (o->common.noperands > 1) {
    options_refuse(&o->common, "type, nkeys, fpr, bits, memory", "plot fpr FILTER");
    const filter_options any = {.format = NULL};
    nay_filter *f = filterfile_open(&o->common, &any, o->common.operands[1]);
    nay_stats s = {.size = sizeof s};
    nay_filter_stats(f, &s);
    nay_plan plan = {sizeof plan, .kind = s.kind, .k = s.k, .nbits = s.nbits};
    uint64_t nkeys = s.nkeys != 0 ? s.nkeys : (uint64_t)s.nkeys_estimated;
    plot_fpr_series(c, &plan, nkeys, nay_kind_name(s.kind));
    nay_filter_free(f);
    return;
  }
  for (int kind = 1; kind < OPTION_VALUES; kind++) {
    nay_params p = size_params(&o->size, NULL, 0.01);
    nay_plan plan = {.size = sizeof plan};
    if (!plot_takes(o, (nay_kind)kind)) continue;
    p.kind = (nay_kind)kind;
    if (p.nkeys == 0) p.nkeys = 1000000;
    if (nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
    plot_fpr_series(c, &plan, p.nkeys, nay_kind_name(p.kind));
  }
}

/* ---- size: bits per key against FPR ---- */

/* NAY_AUTO: the lower bound. */
static void plot_size_series(const plot_options *o, plot_chart *c, nay_kind kind) {
  plot_series *line = kind == NAY_AUTO ? plot_bound(c) : NULL;
  for (unsigned i = 4; i <= 24; i++) {
    double fpr = pow(10, -(double)i / 4);
    nay_params p = {.size = sizeof p,
                    .kind = kind,
                    .nkeys = o->size.nkeys != 0 ? o->size.nkeys : 1000000,
                    .fpr = fpr};
    nay_plan plan = {sizeof plan, .bits_per_key = -log2(fpr)}; /* no filter can do with less */
    if (kind != NAY_AUTO && nay_params_plan(&p, NULL, &plan) != NAY_OK) continue;
    if (line == NULL) line = plot_add(c, nay_kind_name(kind));
    plot_point(line, fpr, plan.bits_per_key);
  }
}

static void plot_size(const plot_options *o, plot_chart *c) {
  c->title = "Bits per key against FPR";
  c->x_label = "false-positive rate (FPR)";
  c->y_label = "bits";
  c->x_log = c->x_fpr = true;
  plot_size_series(o, c, NAY_AUTO);
  for (int kind = 1; kind < OPTION_VALUES; kind++) {
    if (plot_takes(o, (nay_kind)kind)) plot_size_series(o, c, (nay_kind)kind);
  }
}

/* ---- bench: the table of nay bench --csv ---- */

static char *plot_read(const char *path) {
  source_failure fail;
  const source_use use = {
      .wanted = "a table of 'nay bench --csv'", .decompress = true, .skips_mark = true};
  source *s;
  if (!source_open(path, &use, &s, &fail)) die(EXIT_TROUBLE, "%s", fail.text);
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
static void plot_bench(const plot_options *o, plot_chart *c) {
  static const char *const names[] = {"build", "hit", "miss", "one"};
  static char *text;
  text = plot_read(o->common.noperands > 1 ? o->common.operands[1] : "-");
  c->title = "nanoseconds per key";
  c->x_label = "family";
  c->y_label = "ns per key";
  c->bars = true;
  c->nseries = 4;
  for (unsigned s = 0; s < 4; s++) c->series[s] = (plot_series){.name = names[s]};
  char *rest = NULL, *line = strtok_r(text, "\n", &rest);
  if (line == NULL || strcmp(line, MEASURE_CSV) != 0) {
    die(EXIT_TROUBLE, "not a table of 'nay bench --csv'");
  }
  while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
    double ns[4];
    if (c->ngroups == PLOT_SERIES)
      die(EXIT_TROUBLE, "the table has more than %d rows", PLOT_SERIES);
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
  if (c->ngroups == 0) die(EXIT_TROUBLE, "the table has no rows");
}

/* ---- series that cannot be drawn ---- */

static bool plot_has(const plot_chart *c, const char *name) {
  for (unsigned s = 0; s < c->nseries; s++) {
    if (strcmp(c->series[s].name, name) == 0) return true;
  }
  return false;
}

/* Families that -t names and layouts of --format: no line is missing without a word. */
static void plot_tell_missing(const plot_options *o, const plot_chart *c) {
  const nay_format *format;
  const char *why = c->nseries == PLOT_SERIES ? "a chart has no room for more lines"
                                              : "nothing to plot with these parameters";
  if (c->nseries == c->has_bound) die(EXIT_TROUBLE, "%s", why);
  for (int kind = 1; kind < OPTION_VALUES && o->kinds != 0; kind++) {
    if (!plot_takes(o, (nay_kind)kind) || plot_has(c, nay_kind_name((nay_kind)kind))) continue;
    message("%s: %s", nay_kind_name((nay_kind)kind), why);
  }
  for (size_t i = 0; (format = layout_at(o->formats, i)) != NULL; i++) {
    if (plot_has(c, nay_format_name(format))) continue;
    message("%s: %s", nay_format_name(format), why);
  }
}

static int plot_run(options *common) {
  plot_options *o = (plot_options *)common;
  static const struct {
    const char *verb;
    void (*fill)(const plot_options *, plot_chart *);
  } plots[] = {{"fpr", plot_fpr},
               {"k", plot_k},
               {"bits", plot_bits},
               {"size", plot_size},
               {"range", plot_range_lengths},
               {"bench", plot_bench}};
  static plot_chart chart;
  if (o->svg + o->common.json + o->csv > 1) {
    die(EXIT_TROUBLE, "--svg, --json and --csv are mutually exclusive");
  }
  const char *verb = plots[o->common.verb].verb;
  bool takes_file =
      strcmp(verb, "fpr") == 0 || strcmp(verb, "range") == 0 || strcmp(verb, "bench") == 0;
  if (o->common.noperands > 1 && !takes_file) {
    die(EXIT_TROUBLE, "one operand too many: '%s'; usage: nay plot [options] %s",
        o->common.operands[1], verb);
  }
  plots[o->common.verb].fill(o, &chart);
  plot_tell_missing(o, &chart);
  if (o->common.json || o->csv) {
    if (o->output.path != NULL) die(EXIT_TROUBLE, "-o writes SVG: omit --json and --csv");
    if (o->common.json) plot_json(&chart, verb);
    if (o->csv) plot_csv(&chart);
    return EXIT_FOUND;
  }
  if (!o->svg && o->output.path == NULL) {
    plot_term(&chart);
    if (strcmp(verb, "k") == 0) plot_best(&chart);
    return EXIT_FOUND;
  }
  const char *out = o->output.path != NULL ? o->output.path : "-";
  if (strcmp(out, "-") != 0) outfile_may_write(out, o->output.force);
  size_t len;
  char *svg = plot_svg(&chart, &len);
  outfile_save(svg, len, out);
  free(svg);
  return EXIT_FOUND;
}

static const option_row plot_rows[] = {
    {"type", 't', "KIND[,KIND...]", KINDS_AT(plot_options, kinds),
     .help = "families to draw (default all)", .verbs = "fpr, k, bits, size"},
    {"nkeys", 'n', "COUNT", COUNT_AT(plot_options, size.nkeys),
     .help = "number of distinct keys to plan for: 1000, 1e6, 10M",
     .verbs = "fpr, k, bits, size, range"},
    {"fpr", 'p', "FPR", FPR_AT(plot_options, size.fpr),
     .help = "false-positive rate (FPR) once all planned keys are added: 0.01, 1%, 1/256",
     .verbs = "fpr, range"},
    {"bits", 'b', "BITS", REAL_AT(plot_options, size.bits_per_key),
     .help = "bits per key, instead of an FPR", .verbs = "fpr, k, range"},
    {"memory", 'M', "SIZE", SIZE_AT(plot_options, size.nbytes),
     .help = "memory budget of the filter, instead of an FPR: 10M, 1Gi", .verbs = "fpr, range"},
    {"range-length", 0, "COUNT", COUNT_AT(plot_options, size.range_length),
     .help = "how many numbers the longest range has for which -p is planned (default 1000)",
     .verbs = "range"},
    {"measure", 0, NULL, FLAG_AT(plot_options, measure),
     .help = "build the filters, probe them with absent keys, and draw the measured FPR too",
     .verbs = "k, bits"},
    {"probes", 0, "K", COUNT_AT(plot_options, size.probes),
     .help = "probes per key (default: the best for the size)", .verbs = "bits"},
    {"format", 0, "LAYOUT[,LAYOUT...]|all", FORMATS_AT(plot_options, formats),
     .help = "draw other systems' layouts too; without -t instead of the families",
     .verbs = "bits"},
    {"svg", 0, NULL, FLAG_AT(plot_options, svg), .help = "write SVG even to a terminal"},
    {"csv", 0, NULL, FLAG_AT(plot_options, csv), .help = "write the points as a CSV table"},
    {0},
};
static const option_use plot_uses[] = {
    TAKES(plot_options, output, OUTPUT_FILE),
    REPORTS(REPORT_JSON),
    {0},
};

const command command_plot = {
    .name = "plot",
    .run = plot_run,
    .size = sizeof(plot_options),
    .summary = "plot FPRs, sizes or bench results, in the terminal or as SVG",
    .operands = "fpr [FILTER] | k | bits | size | range [FILTER] | bench [TABLE]",
    .min_operands = 1,
    .max_operands = 2,
    .verbs = "fpr k bits size range bench",
    .own = plot_rows,
    .uses = plot_uses,
    .about =
        "fpr: the false-positive rate (FPR) as keys are added, up to 150% of the plan, for each "
        "family or for a given filter. k: the FPR against the number of probes per key, for -b "
        "bits "
        "per key (default 10); families in which k is no choice are a dashed line. bits: the FPR "
        "against bits per key, with the information-theoretic lower bound, and with --format other "
        "systems' layouts. size: bits per key that each family needs for an FPR, against the lower "
        "bound, log2(1/FPR). range: the FPR of a range filter against the length of the range, for "
        "a "
        "plan or a given filter, beside a Bloom filter of the same size that is asked for every "
        "number of the range. bench: a table written by 'nay bench --csv', as bars.\n"
        "\n"
        "Lines are computed: the exact FPR of each family for -n keys (default a million). "
        "--measure also builds the filters (of 100,000 keys, unless -n says otherwise), probes "
        "each "
        "with 500,000 absent keys, and draws the measured FPR as points.\n"
        "\n"
        "Draws with characters, as wide as the terminal: braille dots in colour, or a letter for "
        "each line. Writes SVG with --svg, or to the file named by -o; the points with --csv and "
        "--json.",
    .examples =
        "$ nay plot size -t blocked -n 1M -o size.svg\n"
        "$ head -c 4 size.svg\n"
        "<svg\n"
        "$ nay plot k -t bloom -b 10 --csv | sed -n '7,9p'\n"
        "bloom,6,0.00843622,,,,\n"
        "bloom,7,0.00819373,,,,\n"
        "bloom,8,0.00845548,,,,\n",
};
