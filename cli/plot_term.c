/*
 * plot_term.c - charts with characters, as wide as the terminal.
 *
 * Where lines have colours (or there is one line alone) and the terminal shows them, a cell is a
 * braille character of two by four dots. Elsewhere, in a pipe say, dots of two lines could not be
 * told apart: a cell then has the letter of its line. The name of each line stands at its right
 * end, in the nearest free row. Measured points are a disc or a capital letter; dots mark the
 * values beside the axis.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "plot.h"

#define TERM_ROWS 18u
#define TERM_MAX_COLUMNS 200u
#define TERM_MARGIN 10u     /* numbers and axis on the left */
#define TERM_LEAST_NAMES 64 /* columns of a terminal from which names stand at the lines */

typedef struct term_canvas {
  const plot_chart *chart;
  plot_range xr, yr;
  unsigned columns;
  bool utf8, braille;
  unsigned char cells[TERM_ROWS][TERM_MAX_COLUMNS]; /* braille bits, or 1: a letter */
  unsigned char owner[TERM_ROWS][TERM_MAX_COLUMNS]; /* series + 1 of the line */
  unsigned char marks[TERM_ROWS][TERM_MAX_COLUMNS]; /* series + 1 of a measured point */
} term_canvas;

static const char *term_color(unsigned series) {
  static const char *const codes[] = {"\x1b[34m", "\x1b[33m", "\x1b[32m", "\x1b[35m",
                                      "\x1b[31m", "\x1b[36m", "\x1b[37m", "\x1b[90m"};
  return *paint(PAINT_PLAIN) != '\0' ? codes[series % 8] : "";
}

/* ---- the canvas ---- */

static double term_px(const term_canvas *t, double x) {
  return plot_place(x, t->xr, t->chart->x_log);
}

static double term_py(const term_canvas *t, double y) {
  return plot_place(y, t->yr, t->chart->y_log);
}

/* Dots from the left and from the top, two by four in each cell. False: outside. */
static bool term_at(const term_canvas *t, double px, double py, unsigned *x, unsigned *y) {
  if (!(px >= -1e-9 && px <= 1 + 1e-9 && py >= -1e-9 && py <= 1 + 1e-9)) return false;
  *x = (unsigned)(px * (2 * t->columns - 1) + 0.5);
  *y = (unsigned)((1 - py) * (4 * TERM_ROWS - 1) + 0.5);
  return true;
}

static void term_dot(term_canvas *t, double px, double py, unsigned series) {
  static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  unsigned x, y;
  if (!term_at(t, px, py, &x, &y)) return;
  if (t->chart->series[series].fixed && x % 6 >= 3) return; /* dashed */
  unsigned char *cell = &t->cells[y / 4][x / 2];
  *cell = t->braille ? *cell | bits[y % 4][x % 2] : 1;
  t->owner[y / 4][x / 2] = (unsigned char)(series + 1);
}

static void term_line(term_canvas *t, unsigned s) {
  const plot_series *line = &t->chart->series[s];
  for (unsigned i = 0; i + 1 < line->n; i++) {
    double x0 = term_px(t, line->x[i]), y0 = term_py(t, line->y[i]);
    double dx = term_px(t, line->x[i + 1]) - x0, dy = term_py(t, line->y[i + 1]) - y0;
    unsigned steps = (unsigned)(fabs(dx) * 2 * t->columns + fabs(dy) * 4 * TERM_ROWS) + 1;
    for (unsigned f = 0; f <= steps; f++) {
      term_dot(t, x0 + dx * f / steps, y0 + dy * f / steps, s);
    }
  }
}

static void term_marks(term_canvas *t, unsigned s) {
  const plot_series *line = &t->chart->series[s];
  for (unsigned i = 0; i < line->n; i++) {
    unsigned x, y;
    if (line->nabsent[i] == 0 || !(line->measured[i].rate > 0)) continue;
    if (!term_at(t, term_px(t, line->x[i]), term_py(t, line->measured[i].rate), &x, &y)) continue;
    t->marks[y / 4][x / 2] = (unsigned char)(s + 1);
  }
}

/* ---- names at the right ---- */

/* How far down the point farthest to the right is, in rows; -1: no point is inside. */
static double term_right_end(const term_canvas *t, const plot_series *line) {
  double end = -1, rightmost = -1;
  unsigned x, y;
  for (unsigned i = 0; i < line->n; i++) {
    double px = term_px(t, line->x[i]), py = term_py(t, line->y[i]);
    if (px < rightmost || !term_at(t, px, py, &x, &y)) continue;
    rightmost = px;
    end = py < 1 ? ((1 - py) * (4 * TERM_ROWS - 1) + 0.5) / 4 : 0; /* as term_at */
  }
  return end;
}

/* The series whose lines end inside, the highest end first. */
static unsigned term_ends(const term_canvas *t, double *ends, unsigned *order) {
  unsigned n = 0;
  for (unsigned s = 0; s < t->chart->nseries; s++) {
    ends[s] = term_right_end(t, &t->chart->series[s]);
    if (ends[s] < 0) continue;
    unsigned at = n++;
    for (; at > 0 && ends[order[at - 1]] > ends[s]; at--) order[at] = order[at - 1];
    order[at] = s;
  }
  return n;
}

/*
 * Which series has its name in each row, + 1: near the end of its line, and the names in the order
 * of these ends, or the nearest name would be another line's. There are at most TERM_ROWS series.
 */
static void term_names(const term_canvas *t, unsigned char names[TERM_ROWS]) {
  double ends[TERM_ROWS];
  unsigned order[TERM_ROWS], rows[TERM_ROWS], n, free_row = 0;
  memset(names, 0, TERM_ROWS);
  if (t->chart->nseries > TERM_ROWS) return;
  n = term_ends(t, ends, order);
  for (unsigned i = 0; i < n; i++) {
    unsigned row = (unsigned)ends[order[i]];
    rows[i] = row > free_row ? row : free_row;
    free_row = rows[i] + 1;
  }
  for (unsigned i = n, below = TERM_ROWS; i-- > 0;) { /* back from beyond the last row */
    if (rows[i] >= below) rows[i] = below - 1;
    below = rows[i];
    names[rows[i]] = (unsigned char)(order[i] + 1);
  }
}

static unsigned term_names_width(const plot_chart *c) {
  size_t widest = 0;
  for (unsigned s = 0; s < c->nseries; s++) {
    size_t len = strlen(c->series[s].name);
    if (len > widest) widest = len;
  }
  return (unsigned)widest + 4;
}

static void term_name(const term_canvas *t, unsigned s) {
  const char *color = term_color(s);
  const char *name = t->chart->series[s].name;
  if (t->braille) out_text("%s\xe2\xa0\xb6 %s%s", color, name, *color ? paint(PAINT_PLAIN) : "");
  if (!t->braille) {
    out_text("%s%c %s%s", color, 'a' + (int)s, name, *color ? paint(PAINT_PLAIN) : "");
  }
}

/* ---- printing ---- */

static bool term_has_grid(unsigned column) { return column % 4 == 3; }

static void term_cell(const term_canvas *t, unsigned row, unsigned column, bool grid) {
  unsigned char cell = t->cells[row][column], mark = t->marks[row][column];
  unsigned owner = mark != 0 ? mark : t->owner[row][column];
  if (owner == 0) {
    bool dot = grid && term_has_grid(column);
    if (!dot) out_bytes(" ", 1);
    if (dot) out_text("%s%s%s", paint(PAINT_DIM), t->utf8 ? "\xc2\xb7" : ".", paint(PAINT_PLAIN));
    return;
  }
  char text[4] = {(char)((mark != 0 ? 'A' : 'a') + (int)owner - 1), 0, 0, 0};
  if (t->braille) {
    memcpy(text, "\xe2\x97\x8f", 3);
    if (mark == 0) {
      text[1] = (char)(0xa0 | cell >> 6);
      text[2] = (char)(0x80 | (cell & 0x3f));
    }
  }
  const char *color = term_color(owner - 1);
  out_text("%s%s%s", color, text, *color != '\0' ? paint(PAINT_PLAIN) : "");
}

/* A row, without the blanks at its end unless a name follows. */
static void term_row(const term_canvas *t, unsigned row, bool grid, bool whole) {
  unsigned end = t->columns;
  while (!whole && end > 0 && t->owner[row][end - 1] == 0 && t->marks[row][end - 1] == 0 &&
         !(grid && term_has_grid(end - 1))) {
    end--;
  }
  for (unsigned column = 0; column < end; column++) term_cell(t, row, column, grid);
}

/* The numbers beside the rows; "" where there is none. */
static void term_y_ticks(const term_canvas *t, char texts[TERM_ROWS][PLOT_TICK_TEXT]) {
  double ticks[PLOT_TICKS];
  unsigned n = plot_ticks(t->yr, t->chart->y_log, 9, ticks), x, y;
  memset(texts, 0, TERM_ROWS * PLOT_TICK_TEXT);
  for (unsigned i = 0; i < n; i++) {
    if (!term_at(t, 0, term_py(t, ticks[i]), &x, &y)) continue;
    plot_tick_text(ticks[i], t->chart->y_fpr, texts[y / 4]);
  }
}

/* The axis below, its numbers each below its mark, and what they are. */
static void term_x_axis(const term_canvas *t) {
  char marks[TERM_MAX_COLUMNS] = {0}, numbers[TERM_MAX_COLUMNS + PLOT_TICK_TEXT];
  double ticks[PLOT_TICKS];
  unsigned n = plot_ticks(t->xr, t->chart->x_log, t->columns / 6, ticks), x, y, end = 0;
  memset(numbers, ' ', sizeof numbers);
  for (unsigned i = 0; i < n; i++) {
    char text[PLOT_TICK_TEXT];
    if (!term_at(t, term_px(t, ticks[i]), 0, &x, &y)) continue;
    marks[x / 2] = 1;
    plot_tick_text(ticks[i], t->chart->x_fpr, text);
    unsigned len = (unsigned)strlen(text), at = x / 2 > len / 2 ? x / 2 - len / 2 : 0;
    if (at < end) continue;
    memcpy(numbers + at, text, len);
    end = at + len + 1;
  }
  out_text("%*s%s", (int)TERM_MARGIN - 1, "", t->utf8 ? "\xe2\x94\x94" : "+");
  for (unsigned i = 0; i < t->columns; i++) {
    out_text("%s", t->utf8 ? (marks[i] ? "\xe2\x94\xb4" : "\xe2\x94\x80") : marks[i] ? "+" : "-");
  }
  while (end > 0 && numbers[end - 1] == ' ') end--;
  out_text("\n%*s%.*s\n", (int)TERM_MARGIN, "", (int)end, numbers);
  int indent = (int)(TERM_MARGIN + t->columns / 2) - (int)strlen(t->chart->x_label) / 2;
  out_text("%*s%s\n", indent, "", t->chart->x_label);
}

/* Below the chart, where there is no room at the lines. */
static void term_legend(const term_canvas *t, unsigned width) {
  unsigned used = 0;
  for (unsigned s = 0; s < t->chart->nseries; s++) {
    unsigned len = (unsigned)strlen(t->chart->series[s].name) + 2;
    bool fits = used != 0 && used + 2 + len <= width;
    if (used != 0) out_text("%s", fits ? "  " : "\n");
    if (!fits) out_text("  ");
    used = fits ? used + 2 + len : 2 + len;
    term_name(t, s);
  }
  out_text("\n");
}

static void term_chart(const plot_chart *c) {
  static term_canvas t;
  unsigned width = out_width(), names_width = term_names_width(c);
  bool at_lines = width >= TERM_LEAST_NAMES && c->nseries <= TERM_ROWS;
  t = (term_canvas){.chart = c, .utf8 = out_is_utf8()};
  t.xr = plot_range_of(c, false);
  t.yr = plot_range_of(c, true);
  t.braille = t.utf8 && (*paint(PAINT_PLAIN) != '\0' || c->nseries == 1);
  unsigned columns = width - TERM_MARGIN - (at_lines ? names_width : 1);
  t.columns = columns > TERM_MAX_COLUMNS ? TERM_MAX_COLUMNS : columns < 10 ? 10 : columns;
  for (unsigned s = 0; s < c->nseries; s++) term_line(&t, s);
  for (unsigned s = 0; s < c->nseries; s++) term_marks(&t, s);
  char ticks[TERM_ROWS][PLOT_TICK_TEXT];
  unsigned char names[TERM_ROWS];
  term_y_ticks(&t, ticks);
  term_names(&t, names);
  out_text("%*s\n", (int)TERM_MARGIN - 2, c->y_label);
  for (unsigned row = 0; row < TERM_ROWS; row++) {
    bool tick = ticks[row][0] != '\0';
    out_text("%*s %s", (int)TERM_MARGIN - 2, ticks[row],
             t.utf8 ? (tick ? "\xe2\x94\xa4" : "\xe2\x94\x82")
             : tick ? "+"
                    : "|");
    bool named = at_lines && names[row] != 0;
    term_row(&t, row, tick, named);
    if (named) {
      out_bytes(" ", 1);
      term_name(&t, names[row] - 1u);
    }
    out_text("\n");
  }
  term_x_axis(&t);
  if (!at_lines) term_legend(&t, width);
  if (c->has_measured) {
    out_text("%*s%s: measured\n", (int)TERM_MARGIN, "",
             t.braille ? "\xe2\x97\x8f" : "capital letters");
  }
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
