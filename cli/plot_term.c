/*
 * plot_term.c - charts with characters: braille dots, two by four in each cell, on terminals that
 * show them; letters elsewhere.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "plot.h"

#define TERM_ROWS 16u
#define TERM_MAX_COLUMNS 100u
#define TERM_MARGIN 11u

typedef struct term_canvas {
  unsigned columns;
  bool dots;
  unsigned char cells[TERM_ROWS][TERM_MAX_COLUMNS]; /* braille bits, or the series' letter */
  unsigned char owner[TERM_ROWS][TERM_MAX_COLUMNS]; /* series + 1 */
} term_canvas;

static const char *term_color(unsigned series) {
  static const char *const codes[] = {"\x1b[34m", "\x1b[33m", "\x1b[32m", "\x1b[35m",
                                      "\x1b[31m", "\x1b[36m", "\x1b[37m", "\x1b[90m"};
  return *paint(PAINT_PLAIN) != '\0' ? codes[series % 8] : "";
}

static void term_dot(term_canvas *t, double px, double py, unsigned series) {
  static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (!(px >= 0 && px <= 1 && py >= 0 && py <= 1)) return;
  unsigned x = (unsigned)(px * (2 * t->columns - 1) + 0.5);
  unsigned y = (unsigned)((1 - py) * (4 * TERM_ROWS - 1) + 0.5);
  unsigned row = y / 4, column = x / 2;
  t->cells[row][column] =
      t->dots ? t->cells[row][column] | bits[y % 4][x % 2] : (unsigned char)('a' + series);
  t->owner[row][column] = (unsigned char)(series + 1);
}

static void term_lines(term_canvas *t, const plot_chart *c, plot_range xr, plot_range yr) {
  for (unsigned s = 0; s < c->nseries; s++) {
    const plot_series *line = &c->series[s];
    for (unsigned i = 0; i + 1 < line->n; i++) {
      double x0 = plot_place(line->x[i], xr, c->x_log), y0 = plot_place(line->y[i], yr, c->y_log);
      double x1 = plot_place(line->x[i + 1], xr, c->x_log);
      double y1 = plot_place(line->y[i + 1], yr, c->y_log);
      for (double f = 0; f <= 1; f += 0.02) term_dot(t, x0 + f * (x1 - x0), y0 + f * (y1 - y0), s);
    }
  }
}

static void term_cell(const term_canvas *t, unsigned row, unsigned column) {
  unsigned char cell = t->cells[row][column];
  if (cell == 0) {
    out_bytes(" ", 1);
  } else if (t->dots) {
    char utf8[3] = {(char)0xe2, (char)(0xa0 | cell >> 6), (char)(0x80 | (cell & 0x3f))};
    const char *color = term_color(t->owner[row][column] - 1u);
    out_text("%s%.3s%s", color, utf8, *color != '\0' ? paint(PAINT_PLAIN) : "");
  } else {
    out_bytes(&cell, 1);
  }
}

static void term_scale(double v, char text[16]) {
  snprintf(text, 16, v != 0 && (v < 0.001 || v >= 100000) ? "%.0e" : "%.4g", v);
}

static double term_value(plot_range r, bool is_log, double place) {
  return is_log ? r.low * pow(r.high / r.low, place) : r.low + place * (r.high - r.low);
}

static void term_chart(const plot_chart *c) {
  term_canvas t = {.dots = out_is_utf8()};
  plot_range xr = plot_range_of(c, false), yr = plot_range_of(c, true);
  unsigned width = out_width();
  t.columns = width > TERM_MARGIN + TERM_MAX_COLUMNS ? TERM_MAX_COLUMNS : width - TERM_MARGIN - 2;
  if (t.columns > 66) t.columns = 66;
  term_lines(&t, c, xr, yr);
  for (unsigned row = 0; row < TERM_ROWS; row++) {
    char label[16] = "";
    if (row % 5 == 0) term_scale(term_value(yr, c->y_log, 1 - row / (TERM_ROWS - 1.0)), label);
    out_text("%9s |", label);
    for (unsigned column = 0; column < t.columns; column++) term_cell(&t, row, column);
    out_text("\n");
  }
  char low[16], high[16];
  term_scale(xr.low, low);
  term_scale(xr.high, high);
  out_text("%9s +", "");
  for (unsigned i = 0; i < t.columns; i++) out_bytes("-", 1);
  out_text("\n%9s  %-8s%*s\n", "", low, (int)t.columns - 8, high);
  out_text("%11sx: %s; y: %s\n%11s", "", c->x_label, c->y_label, "");
  for (unsigned s = 0; s < c->nseries; s++) {
    const char *color = term_color(s);
    if (t.dots)
      out_text("%s\xe2\xa0\xb6 %s%s  ", color, c->series[s].name, *color ? paint(PAINT_PLAIN) : "");
    if (!t.dots) out_text("%c %s  ", 'a' + (int)s, c->series[s].name);
  }
  out_text("\n");
}

static void term_bars(const plot_chart *c) {
  plot_range r = plot_range_of(c, true);
  bool blocks = out_is_utf8();
  for (unsigned g = 0; g < c->ngroups; g++) {
    for (unsigned s = 0; s < c->nseries; s++) {
      const plot_series *one = &c->series[s];
      for (unsigned i = 0; i < one->n; i++) {
        if ((unsigned)one->x[i] != g) continue;
        int length = (int)(plot_place(one->y[i], r, false) * 40 + 0.5);
        const char *color = term_color(s);
        out_text("%-9s %-12s %s", s == 0 ? c->groups[g] : "", one->name, color);
        for (int k = 0; k < length; k++) out_text("%s", blocks ? "\xe2\x96\x88" : "#");
        out_text("%s %.1f\n", *color != '\0' ? paint(PAINT_PLAIN) : "", one->y[i]);
      }
    }
  }
  out_text("%22s %s\n", "", c->y_label);
}

void plot_term(const plot_chart *c) {
  out_text("%s%s%s\n", paint(PAINT_BOLD), c->title, paint(PAINT_PLAIN));
  if (c->bars) {
    term_bars(c);
  } else {
    term_chart(c);
  }
}
