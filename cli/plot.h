/* plot.h - a chart of a few lines, drawn as SVG or with characters. */
#ifndef NAY_PLOT_H
#define NAY_PLOT_H

#include "cli.h"

#define PLOT_SERIES 12
#define PLOT_POINTS 200

typedef struct plot_series {
  const char *name;
  double x[PLOT_POINTS], y[PLOT_POINTS];
  unsigned n;
} plot_series;

typedef struct plot_chart {
  const char *title, *x_label, *y_label;
  bool x_log, y_log;
  bool bars; /* groups of bars: x is the group, from 0 */
  const char *groups[PLOT_SERIES];
  unsigned ngroups;
  plot_series series[PLOT_SERIES];
  unsigned nseries;
} plot_chart;

/* plot_range: least and greatest value of all points; for bars from 0. */
typedef struct plot_range {
  double low, high;
} plot_range;
plot_range plot_range_of(const plot_chart *c, bool of_y);

/* plot_place: where a value lies between the ends of a range, 0 to 1, on a log scale if asked. */
double plot_place(double value, plot_range range, bool log_scale);

/* plot_svg: the whole document in memory; the caller frees it. */
char *plot_svg(const plot_chart *c, size_t *len);

/* plot_term: on stdout, as wide as the terminal. */
void plot_term(const plot_chart *c);

#endif /* NAY_PLOT_H */
