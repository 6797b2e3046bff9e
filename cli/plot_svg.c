/*
 * plot_svg.c - charts as SVG: one file, no scripts, no fonts. Colours are Okabe and Ito's, which
 * readers with red-green colour blindness can distinguish; from the ninth line on they come again,
 * dashed. Measured points are discs with their 95% interval.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#define SVG_W 760
#define SVG_H 440
#define SVG_LEFT 80
#define SVG_RIGHT 190
#define SVG_TOP 50
#define SVG_BOTTOM 60

static const char *const svg_colors[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                         "#d55e00", "#56b4e9", "#000000", "#b2a100"};
#define SVG_COLORS (sizeof svg_colors / sizeof svg_colors[0])

typedef struct svg_text {
  char *at;
  size_t len, cap;
} svg_text;

__attribute__((format(printf, 2, 3))) static void svg_put(svg_text *t, const char *format, ...) {
  char piece[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(piece, sizeof piece, format, args);
  va_end(args);
  size_t len = n < 0 ? 0 : (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1;
  if (t->len + len + 1 > t->cap) t->at = must_grow(t->at, t->cap = 2 * (t->cap + len + 1));
  memcpy(t->at + t->len, piece, len + 1);
  t->len += len;
}

static double svg_x(const plot_chart *c, plot_range r, double v) {
  return SVG_LEFT + plot_place(v, r, c->x_log) * (SVG_W - SVG_LEFT - SVG_RIGHT);
}

static double svg_y(const plot_chart *c, plot_range r, double v) {
  return SVG_H - SVG_BOTTOM - plot_place(v, r, c->y_log) * (SVG_H - SVG_TOP - SVG_BOTTOM);
}

static void svg_tick(svg_text *t, bool vertical, double at, const char *text) {
  int right = SVG_W - SVG_RIGHT, bottom = SVG_H - SVG_BOTTOM;
  if (vertical) {
    svg_put(t, "<path d='M%d %.1fH%d' class='grid'/><text x='%d' y='%.1f' class='end'>%s</text>\n",
            SVG_LEFT, at, right, SVG_LEFT - 8, at + 4, text);
  } else {
    svg_put(t, "<path d='M%.1f %dV%d' class='grid'/><text x='%.1f' y='%d' class='mid'>%s</text>\n",
            at, SVG_TOP, bottom, at, bottom + 18, text);
  }
}

static void svg_axis(svg_text *t, const plot_chart *c, plot_range r, bool vertical) {
  double ticks[PLOT_TICKS];
  unsigned n = plot_ticks(r, vertical ? c->y_log : c->x_log, 12, ticks);
  for (unsigned i = 0; i < n; i++) {
    char text[PLOT_TICK_TEXT];
    plot_tick_text(ticks[i], vertical ? c->y_fpr : c->x_fpr, text);
    svg_tick(t, vertical, vertical ? svg_y(c, r, ticks[i]) : svg_x(c, r, ticks[i]), text);
  }
}

static const char *svg_dashes(const plot_chart *c, unsigned s) {
  if (c->series[s].fixed) return " stroke-dasharray='2 5'";
  return s >= SVG_COLORS ? " stroke-dasharray='8 4'" : "";
}

/* A value outside the range, of an interval say, lies on its end. */
static double svg_inside(const plot_chart *c, plot_range r, double v) {
  return svg_y(c, r, v < r.low ? r.low : v > r.high ? r.high : v);
}

static void svg_points(svg_text *t, const plot_chart *c, plot_range xr, plot_range yr, unsigned s) {
  const plot_series *line = &c->series[s];
  for (unsigned i = 0; i < line->n; i++) {
    const interval *m = &line->measured[i];
    if (line->nabsent[i] == 0 || !(m->rate >= yr.low)) continue;
    double x = svg_x(c, xr, line->x[i]);
    svg_put(t, "<path d='M%.1f %.1fV%.1f' stroke='%s'/><circle cx='%.1f' cy='%.1f' r='3' ", x,
            svg_inside(c, yr, m->low), svg_inside(c, yr, m->high), svg_colors[s % SVG_COLORS], x,
            svg_inside(c, yr, m->rate));
    svg_put(t, "fill='%s'/>\n", svg_colors[s % SVG_COLORS]);
  }
}

static void svg_lines(svg_text *t, const plot_chart *c, plot_range xr, plot_range yr) {
  for (unsigned s = 0; s < c->nseries; s++) {
    const plot_series *line = &c->series[s];
    svg_put(t, "<polyline fill='none' stroke='%s' stroke-width='2'%s points='",
            svg_colors[s % SVG_COLORS], svg_dashes(c, s));
    for (unsigned i = 0; i < line->n; i++) {
      svg_put(t, "%.1f,%.1f ", svg_x(c, xr, line->x[i]), svg_y(c, yr, line->y[i]));
    }
    svg_put(t, "'/>\n");
    svg_points(t, c, xr, yr, s);
  }
}

static void svg_bars(svg_text *t, const plot_chart *c, plot_range yr) {
  double group = (double)(SVG_W - SVG_LEFT - SVG_RIGHT) / (c->ngroups > 0 ? c->ngroups : 1);
  double width = group * 0.8 / (c->nseries > 0 ? c->nseries : 1);
  for (unsigned s = 0; s < c->nseries; s++) {
    for (unsigned i = 0; i < c->series[s].n; i++) {
      double x = SVG_LEFT + group * (c->series[s].x[i] + 0.1) + width * s;
      double y = svg_y(c, yr, c->series[s].y[i]);
      svg_put(t, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", x, y, width,
              SVG_H - SVG_BOTTOM - y, svg_colors[s % SVG_COLORS]);
    }
  }
  for (unsigned g = 0; g < c->ngroups; g++) {
    svg_put(t, "<text x='%.1f' y='%d' class='mid'>%s</text>\n", SVG_LEFT + group * (g + 0.5),
            SVG_H - SVG_BOTTOM + 18, c->groups[g]);
  }
}

static void svg_legend(svg_text *t, const plot_chart *c) {
  for (unsigned s = 0; s < c->nseries; s++) {
    int y = SVG_TOP + 12 + (int)s * 20, x = SVG_W - SVG_RIGHT + 15;
    svg_put(t, "<path d='M%d %dh16' stroke='%s' stroke-width='3'%s/>", x, y,
            svg_colors[s % SVG_COLORS], svg_dashes(c, s));
    svg_put(t, "<text x='%d' y='%d'>%s</text>\n", x + 22, y + 4, c->series[s].name);
  }
  if (!c->has_measured) return;
  svg_put(t, "<text x='%d' y='%d' class='mid'>discs: measured, with the 95%% interval</text>\n",
          (SVG_LEFT + SVG_W - SVG_RIGHT) / 2, 44);
}

char *plot_svg(const plot_chart *c, size_t *len) {
  svg_text t = {NULL, 0, 0};
  plot_range xr = plot_range_of(c, false), yr = plot_range_of(c, true);
  svg_put(&t, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' role='img'>\n", SVG_W,
          SVG_H);
  svg_put(&t, "<title>%s</title>\n<rect width='100%%' height='100%%' fill='#fff'/>\n", c->title);
  svg_put(&t,
          "<style>text{font:12px sans-serif;fill:#222}.mid{text-anchor:middle}"
          ".end{text-anchor:end}.grid{stroke:#ddd}.big{font-size:15px}</style>\n");
  svg_put(&t, "<text x='%d' y='28' class='mid big'>%s</text>\n", SVG_W / 2, c->title);
  if (!c->bars) svg_axis(&t, c, xr, false);
  svg_axis(&t, c, yr, true);
  if (c->bars) {
    svg_bars(&t, c, yr);
  } else {
    svg_lines(&t, c, xr, yr);
  }
  svg_legend(&t, c);
  svg_put(&t, "<text x='%d' y='%d' class='mid'>%s</text>\n", (SVG_LEFT + SVG_W - SVG_RIGHT) / 2,
          SVG_H - 15, c->x_label);
  svg_put(&t, "<text transform='translate(18 %d) rotate(-90)' class='mid'>%s</text>\n</svg>\n",
          SVG_H / 2, c->y_label);
  *len = t.len;
  return t.at;
}
