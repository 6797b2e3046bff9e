/*
 * bench_svg.c - one picture of a run: bits for each key against ns for each probe.
 *
 * A panel for each number of keys; both axes logarithmic; lower and further left is better. A
 * filter has a hollow mark for one call per key, joined by a line to a filled one for batches when
 * it has them. Ours are circles, those of others squares, and each has its name beside it: nothing
 * is told by colour alone. The colours are those of Okabe and Ito, which every kind of colour
 * vision keeps apart, the light ones darkened so that names can be read.
 */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "nay_advanced.h"

#define SVG_PANEL_W 580.0
#define SVG_PANEL_H 500.0
#define SVG_LEFT 52.0
#define SVG_RIGHT 128.0 /* room for the labels of the rightmost marks */
#define SVG_TOP 34.0
#define SVG_BOTTOM 44.0
#define SVG_HEAD 62.0
#define SVG_FOOT 34.0
#define SVG_LINE 12.0 /* height of a label */
#define SVG_MAX_LABELS 512

typedef struct svg_axis {
  double low, high; /* values */
  double from, to;  /* pixels */
} svg_axis;

typedef struct svg_label {
  double x, y, width;
} svg_label;

typedef struct svg_panel {
  FILE *out;
  const bench_row *rows;
  size_t nrows;
  uint64_t nkeys;
  bench_form form;
  svg_axis x, y;
  svg_label labels[SVG_MAX_LABELS];
  size_t nlabels;
} svg_panel;

static double svg_at(const svg_axis *a, double value) {
  return a->from + (a->to - a->from) * log(value / a->low) / log(a->high / a->low);
}

static const char *svg_colour(const char *family) {
  /* By number of the kind, so that a new family has a colour before anyone thinks of one. */
  static const char *const colours[] = {"#0072B2", "#D55E00", "#CC79A7", "#56B4E9",
                                        "#7F7F7F", "#009E73", "#7A4A2B", "#000000",
                                        "#B87F00", "#6A3D9A", "#1B9E77", "#A6761D"};
  nay_kind kind;
  if (nay_kind_parse(family, &kind) != NAY_OK || kind == NAY_AUTO) return "#555555";
  return colours[((size_t)kind - 1) % (sizeof colours / sizeof colours[0])];
}

static void svg_escaped(FILE *out, const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
      case '&': fputs("&amp;", out); break;
      case '<': fputs("&lt;", out); break;
      case '>': fputs("&gt;", out); break;
      case '"': fputs("&quot;", out); break;
      default: fputc(*text, out);
    }
  }
}

static void svg_text(FILE *out, double x, double y, const char *attributes, const char *text) {
  fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
  svg_escaped(out, text);
  fputs("</text>\n", out);
}

static void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *style) {
  fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2,
          style);
}

static void svg_mark(FILE *out, double x, double y, bool ours, bool filled, const char *colour) {
  const char *fill = filled ? colour : "#ffffff";
  if (ours) {
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"", x, y);
  } else {
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"", x - 4, y - 4);
  }
  fprintf(out, " fill=\"%s\" stroke=\"%s\" stroke-width=\"1.8\"/>\n", fill, colour);
}

/* ---- labels that do not cover each other ---- */

static bool svg_label_free(const svg_panel *p, const svg_label *l) {
  if (l->y < p->y.to + SVG_LINE || l->y > p->y.from) return false;
  for (size_t i = 0; i < p->nlabels; i++) {
    const svg_label *o = &p->labels[i];
    bool apart = l->x > o->x + o->width || o->x > l->x + l->width;
    if (!apart && fabs(l->y - o->y) < SVG_LINE) return false;
  }
  return true;
}

/* The places to try for a label, nearest first: right and left of the mark, then above and below.
 */
static svg_label svg_label_place(const svg_panel *p, double x, double y, double width) {
  svg_label home = {x + 9, y + 3.5, width};
  for (int step = 0; step < 64; step++) {
    double shift = SVG_LINE / 2 * (double)(step / 4);
    svg_label label = {step % 2 == 0 ? home.x : x - 9 - width,
                       home.y + (step % 4 < 2 ? -shift : shift), width};
    if (label.x > p->x.from && svg_label_free(p, &label)) return label;
  }
  return home;
}

/* A label that is not beside its mark is led to it by a thin line. */
static void svg_name(svg_panel *p, double x, double y, const char *text, const char *colour,
                     bool ours) {
  svg_label label = svg_label_place(p, x, y, (ours ? 6.1 : 5.5) * (double)strlen(text));
  if (p->nlabels < SVG_MAX_LABELS) p->labels[p->nlabels++] = label;
  if (fabs(label.y - y - 3.5) > SVG_LINE / 2) {
    bool right = label.x > x;
    svg_line(p->out, right ? x + 5 : x - 5, y, right ? label.x - 1 : label.x + label.width + 1,
             label.y - 3.5, "stroke=\"#999999\" stroke-width=\"0.6\"");
  }
  char attributes[64];
  snprintf(attributes, sizeof attributes, "class=\"%s\" style=\"fill:%s\"", ours ? "ours" : "peer",
           colour);
  svg_text(p->out, label.x, label.y, attributes, text);
}

/* ---- a panel ---- */

static bool svg_shows(const svg_panel *p, const bench_row *row) {
  return row->failure == NULL && row->nkeys == p->nkeys && row->form == p->form;
}

static void svg_range(svg_panel *p) {
  p->x.low = 6, p->x.high = 16, p->y.low = 2, p->y.high = 50;
  for (size_t i = 0; i < p->nrows; i++) {
    const bench_row *row = &p->rows[i];
    if (!svg_shows(p, row)) continue;
    p->x.low = fmin(p->x.low, 0.95 * bench_row_bits_per_key(row));
    p->x.high = fmax(p->x.high, 1.08 * bench_row_bits_per_key(row));
    p->y.low = fmin(p->y.low, 0.8 * bench_cell_min(&row->cells[OP_LIMIT]));
    p->y.high = fmax(p->y.high, 1.3 * bench_row_aspect(row, BENCH_ONE));
  }
}

static void svg_axes(svg_panel *p) {
  static const double x_ticks[] = {4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128};
  static const double y_ticks[] = {0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
  const char *grid = "stroke=\"#e4e4e4\" stroke-width=\"1\"";
  char text[32];
  for (size_t i = 0; i < sizeof x_ticks / sizeof x_ticks[0]; i++) {
    if (x_ticks[i] < p->x.low || x_ticks[i] > p->x.high) continue;
    double x = svg_at(&p->x, x_ticks[i]);
    svg_line(p->out, x, p->y.from, x, p->y.to, grid);
    snprintf(text, sizeof text, "%g", x_ticks[i]);
    svg_text(p->out, x, p->y.from + 15, "text-anchor=\"middle\" class=\"tick\"", text);
  }
  for (size_t i = 0; i < sizeof y_ticks / sizeof y_ticks[0]; i++) {
    if (y_ticks[i] < p->y.low || y_ticks[i] > p->y.high) continue;
    double y = svg_at(&p->y, y_ticks[i]);
    svg_line(p->out, p->x.from, y, p->x.to, y, grid);
    snprintf(text, sizeof text, "%g", y_ticks[i]);
    svg_text(p->out, p->x.from - 6, y + 4, "text-anchor=\"end\" class=\"tick\"", text);
  }
  svg_text(p->out, (p->x.from + p->x.to) / 2, p->y.from + 32, "text-anchor=\"middle\"",
           "bits for each key");
  fprintf(p->out, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">",
          p->x.from - 36, (p->y.from + p->y.to) / 2);
  fputs("ns per probe</text>\n", p->out);
}

/* The memory limit for each size of filter, as a dashed line. */
static void svg_limit(svg_panel *p) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < p->nrows; i++) {
    if (!svg_shows(p, &p->rows[i])) continue;
    sum += log(bench_cell_min(&p->rows[i].cells[OP_LIMIT]));
    n += 1;
  }
  double y = svg_at(&p->y, exp(sum / n));
  svg_line(p->out, p->x.from, y, p->x.to, y, "stroke=\"#555555\" stroke-dasharray=\"5 4\"");
  svg_label label = {p->x.from + 6, y - 4, 190};
  p->labels[p->nlabels++] = label;
  svg_text(p->out, label.x, label.y, "class=\"tick\"", "memory: one random line, prefetched");
}

/* A mark is an obstacle to labels, too. */
static void svg_placed(svg_panel *p, double x, double y, bool ours, bool filled,
                       const char *colour) {
  svg_mark(p->out, x, y, ours, filled, colour);
  if (p->nlabels < SVG_MAX_LABELS) p->labels[p->nlabels++] = (svg_label){x - 5, y + 3.5, 10};
}

static void svg_row_marks(svg_panel *p, const bench_row *row) {
  const char *colour = svg_colour(row->adapter->family);
  bool ours = bench_row_is_ours(row);
  double x = svg_at(&p->x, bench_row_bits_per_key(row));
  double one = svg_at(&p->y, bench_row_aspect(row, BENCH_ONE));
  double batch = bench_cell_min(&row->cells[OP_PROBE_BATCH + BENCH_HALF]);
  if (!isnan(batch)) {
    char style[64];
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.4\"", colour);
    svg_line(p->out, x, one, x, svg_at(&p->y, batch), style);
    svg_placed(p, x, svg_at(&p->y, batch), ours, true, colour);
  }
  svg_placed(p, x, one, ours, false, colour);
}

static void svg_row_name(svg_panel *p, const bench_row *row) {
  char name[96];
  snprintf(name, sizeof name, "%s %s", row->adapter->library, row->adapter->name);
  svg_name(p, svg_at(&p->x, bench_row_bits_per_key(row)),
           svg_at(&p->y, bench_row_aspect(row, BENCH_ONE)), name, svg_colour(row->adapter->family),
           bench_row_is_ours(row));
}

static void svg_draw_panel(svg_panel *p, double left, double top) {
  svg_range(p);
  p->x.from = left + SVG_LEFT, p->x.to = left + SVG_PANEL_W - SVG_RIGHT;
  p->y.from = top + SVG_PANEL_H - SVG_BOTTOM, p->y.to = top + SVG_TOP;
  char title[96];
  snprintf(title, sizeof title, "%.4g %s keys as %s",
           (double)p->nkeys / (p->nkeys >= 1000000 ? 1e6 : 1e3),
           p->nkeys >= 1000000 ? "million" : "thousand",
           p->form == BENCH_HASHES ? "64-bit hashes" : "16-byte strings");
  svg_text(p->out, p->x.from, top + SVG_TOP - 12, "class=\"title\"", title);
  svg_axes(p);
  svg_limit(p);
  for (size_t i = 0; i < p->nrows; i++) {
    if (svg_shows(p, &p->rows[i])) svg_row_marks(p, &p->rows[i]);
  }
  for (size_t i = 0; i < p->nrows; i++) {
    if (svg_shows(p, &p->rows[i])) svg_row_name(p, &p->rows[i]);
  }
}

/* ---- the picture ---- */

static void svg_legend(FILE *out, double y) {
  svg_mark(out, 60, y, true, false, "#333333");
  svg_mark(out, 76, y, false, false, "#333333");
  svg_text(out, 88, y + 4, "", "one probe");
  svg_mark(out, 200, y, true, true, "#333333");
  svg_mark(out, 216, y, false, true, "#333333");
  svg_text(out, 228, y + 4, "", "batch");
  svg_text(out, 290, y + 4, "",
           "circles: nay, squares: others; half of the keys present; minimum of the repetitions");
}

static void svg_head(FILE *out, const bench_report *report, double width, double height) {
  const bench_machine *m = &report->machine;
  const char *commit = report->options->commit;
  fprintf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" role=\"img\">\n<title>Filters: bits for each key against time for each "
      "probe</title>\n<style>text{font:11px sans-serif;fill:#333}.tick{font-size:10px;fill:#666}"
      ".title{font-size:13px;font-weight:bold}.ours{font-size:10px;font-weight:bold}"
      ".peer{font-size:10px}.big{font-size:16px;font-weight:bold}</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  svg_text(out, SVG_LEFT, 26, "class=\"big\"",
           "Small and fast: bits for each key against time for each probe (lower left is better)");
  char line[512];
  snprintf(line, sizeof line, "%s, %s, commit %s", m->cpu, m->date,
           commit != NULL ? commit : "unknown");
  svg_text(out, SVG_LEFT, 44, "", line);
}

/* The sizes to draw, from those measured with hashes, or with strings when there is nothing else.
 */
static size_t svg_sizes(const bench_report *report, bench_form form, uint64_t sizes[]) {
  size_t n = 0;
  for (size_t i = 0; i < report->nrows && n < BENCH_MAX_SIZES; i++) {
    const bench_row *row = &report->rows[i];
    if (row->failure != NULL || row->form != form) continue;
    if (n == 0 || sizes[n - 1] != row->nkeys) sizes[n++] = row->nkeys;
  }
  return n;
}

bool bench_svg_write(const char *path, const bench_report *report) {
  uint64_t sizes[BENCH_MAX_SIZES];
  bench_form form = BENCH_HASHES;
  size_t n = svg_sizes(report, form, sizes);
  if (n == 0) n = svg_sizes(report, form = BENCH_STRINGS, sizes);
  FILE *out = fopen(path, "w");
  if (out == NULL) return false;
  size_t across = n < 2 ? 1 : 2, down = (n + across - 1) / across;
  double height = SVG_HEAD + SVG_PANEL_H * (double)down + SVG_FOOT;
  svg_head(out, report, SVG_PANEL_W * (double)across, height);
  for (size_t i = 0; i < n; i++) {
    svg_panel panel = {.out = out, .rows = report->rows, .nrows = report->nrows};
    panel.nkeys = sizes[i];
    panel.form = form;
    svg_draw_panel(&panel, SVG_PANEL_W * (double)(i % across),
                   SVG_HEAD + SVG_PANEL_H * (double)(i / across));
  }
  svg_legend(out, height - SVG_FOOT / 2);
  fputs("</svg>\n", out);
  bool ok = ferror(out) == 0;
  return fclose(out) == 0 && ok;
}
