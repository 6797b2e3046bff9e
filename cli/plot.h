/*
 * plot.h - a chart of a few lines: drawn with characters or as SVG, or written as its points.
 *
 * A chart is filled by cmd_plot.c or plot_curves.c and then only read. plot_scale.c knows the
 * axes; plot_term.c, plot_svg.c and plot_data.c each write it in one form.
 */
#ifndef NAY_PLOT_H
#define NAY_PLOT_H

#include "interval.h"
#include "options.h"

#define PLOT_SERIES 26 /* as many as letters */
#define PLOT_POINTS 200

typedef struct plot_series {
  const char *name;
  double x[PLOT_POINTS], y[PLOT_POINTS];
  unsigned n;
  bool fixed; /* it does not depend on x: the same y at both ends */
  /* what was measured at a point, if nabsent is not 0 */
  interval measured[PLOT_POINTS];
  uint64_t nabsent[PLOT_POINTS];
} plot_series;

typedef struct plot_chart {
  const char *title, *x_label, *y_label;
  bool x_log, y_log;
  bool x_fpr, y_fpr; /* numbers at this axis are false-positive rates (FPR) */
  bool bars;         /* groups of bars: x is the group, from 0 */
  bool has_measured;
  bool has_bound; /* the first series is the lower bound, which needs no filter */
  const char *groups[PLOT_SERIES];
  unsigned ngroups;
  plot_series series[PLOT_SERIES];
  unsigned nseries;
} plot_chart;

/* plot_add: another series, or NULL: there are too many. plot_point: a point of one; NULL series
 * are ignored. */
plot_series *plot_add(plot_chart *c, const char *name);
void plot_point(plot_series *s, double x, double y);

/* ---- plot_scale.c ---- */

/* plot_range_of: least and greatest value of all points; for bars from 0. */
typedef struct plot_range {
  double low, high;
} plot_range;
plot_range plot_range_of(const plot_chart *c, bool of_y);

/* plot_place: where a value lies between the ends of a range, 0 to 1, on a log scale if asked. */
double plot_place(double value, plot_range range, bool log_scale);

/* plot_ticks: at most `most` round values inside the range, ascending. Returns how many. */
#define PLOT_TICKS 16
unsigned plot_ticks(plot_range range, bool log_scale, unsigned most, double ticks[PLOT_TICKS]);

/* plot_tick_text: a value at an axis. */
#define PLOT_TICK_TEXT 16
const char *plot_tick_text(double value, bool is_fpr, char text[PLOT_TICK_TEXT]);

/* ---- the forms ---- */

/* plot_svg: the whole document in memory; the caller frees it. */
char *plot_svg(const plot_chart *c, size_t *len);

/* plot_term: on stdout, as wide as the terminal. */
void plot_term(const plot_chart *c);

/* plot_json, plot_csv: the points, on stdout. */
void plot_json(const plot_chart *c, const char *verb);
void plot_csv(const plot_chart *c);

/* ---- plot_curves.c ---- */

typedef struct plot_options {
  options common;
  output_options output;
  size_options size;
  uint64_t kinds;   /* a bit for each, 0: all */
  uint64_t formats; /* a bit for each of nay_format_at */
  bool measure, svg, csv;
} plot_options;

/* plot_k: FPR against k. plot_bits: FPR against bits per key. */
void plot_k(const plot_options *o, plot_chart *c);
void plot_bits(const plot_options *o, plot_chart *c);

/* plot_bound: the information-theoretic lower bound, the first series of a chart. */
plot_series *plot_bound(plot_chart *c);

/* plot_takes: whether -t, or its absence, asks for the family. */
bool plot_takes(const plot_options *o, nay_kind kind);

/* plot_range_lengths: of range filters, the FPR against the length of the range, of a plan or of a
 * filter (plot_ranges.c). */
void plot_range_lengths(const plot_options *o, plot_chart *c);

/* plot_best: after the chart of plot_k: the k with the least FPR, in text. */
void plot_best(const plot_chart *c);

#endif /* NAY_PLOT_H */
