/* plot_scale.c - the axes of a chart: ranges, places, round numbers and their texts. */
#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "plot.h"

plot_series *plot_add(plot_chart *c, const char *name) {
  if (c->nseries == PLOT_SERIES) return NULL;
  plot_series *s = &c->series[c->nseries++];
  *s = (plot_series){.name = name};
  return s;
}

void plot_point(plot_series *s, double x, double y) {
  if (s == NULL || s->n == PLOT_POINTS) return;
  s->x[s->n] = x;
  s->y[s->n++] = y;
}

plot_range plot_range_of(const plot_chart *c, bool of_y) {
  plot_range r = {INFINITY, -INFINITY};
  for (unsigned s = 0; s < c->nseries; s++) {
    for (unsigned i = 0; i < c->series[s].n; i++) {
      double v = of_y ? c->series[s].y[i] : c->series[s].x[i];
      if (v < r.low) r.low = v;
      if (v > r.high) r.high = v;
    }
  }
  bool is_log = of_y ? c->y_log : c->x_log;
  if (!isfinite(r.low)) return (plot_range){is_log ? 0.1 : 0, 1};
  if (!is_log && (c->bars || r.low > 0)) r.low = of_y ? 0 : r.low;
  if (is_log) {
    r = (plot_range){pow(10, floor(log10(r.low) + 1e-9)), pow(10, ceil(log10(r.high) - 1e-9))};
  }
  if (r.high <= r.low) r.high = is_log ? r.low * 10 : r.low + 1;
  return of_y && !is_log ? (plot_range){r.low, r.high * 1.05} : r;
}

double plot_place(double value, plot_range range, bool log_scale) {
  if (log_scale) return log(value / range.low) / log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

/* 1, 2 or 5 times a power of ten. */
static double plot_step(double span, unsigned most) {
  double step = pow(10, floor(log10(span / most)));
  while (span / step >= most) {
    double lead = step / pow(10, floor(log10(step) + 1e-9));
    step *= lead > 1.5 && lead < 3 ? 2.5 : 2;
  }
  return step;
}

unsigned plot_ticks(plot_range r, bool log_scale, unsigned most, double ticks[PLOT_TICKS]) {
  unsigned n = 0;
  if (most > PLOT_TICKS) most = PLOT_TICKS;
  if (log_scale) {
    double decades = log10(r.high / r.low), every = ceil((decades + 1) / most - 1e-9);
    for (double d = 0; d <= decades + 1e-6 && n < most; d += every) {
      ticks[n++] = r.high / pow(10, d);
    }
    for (unsigned i = 0; i < n / 2; i++) {
      double swap = ticks[i];
      ticks[i] = ticks[n - 1 - i];
      ticks[n - 1 - i] = swap;
    }
    return n;
  }
  double step = plot_step(r.high - r.low, most);
  for (double i = ceil(r.low / step - 1e-9); i * step <= r.high + step * 1e-9 && n < most; i++) {
    ticks[n++] = i == 0 ? 0 : i * step; /* not -0 */
  }
  return n;
}

const char *plot_tick_text(double value, bool is_fpr, char text[PLOT_TICK_TEXT]) {
  if (is_fpr && value >= 0.99e-4) {
    snprintf(text, PLOT_TICK_TEXT, "%.4g%%", value * 100);
  } else {
    bool far = value != 0 && (fabs(value) < 0.001 || fabs(value) >= 1000000);
    snprintf(text, PLOT_TICK_TEXT, far ? "%.0e" : "%.4g", value);
  }
  return text;
}
