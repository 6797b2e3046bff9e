/* plot_data.c - the points of a chart, for other programs: CSV and JSON. */
#include <string.h>

#include "plot.h"

static void data_json_point(const plot_chart *c, const plot_series *s, unsigned i) {
  json_open(NULL, '{');
  if (c->bars) json_text("label", c->groups[(unsigned)s->x[i]]);
  if (!c->bars) json_real("x", s->x[i]);
  json_real("y", s->y[i]);
  if (s->nabsent[i] != 0) {
    json_count("nabsent", s->nabsent[i]);
    json_real("fpr_measured", s->measured[i].rate);
    json_real("fpr_low", s->measured[i].low);
    json_real("fpr_high", s->measured[i].high);
  }
  json_close();
}

void plot_json(const plot_chart *c, const char *verb) {
  json_begin("nay.plot/1");
  json_text("plot", verb);
  json_text("title", c->title);
  json_text("x_label", c->x_label);
  json_text("y_label", c->y_label);
  json_open("series", '[');
  for (unsigned s = 0; s < c->nseries; s++) {
    const plot_series *line = &c->series[s];
    json_open(NULL, '{');
    json_text("name", line->name);
    json_bool("fixed", line->fixed);
    json_open("points", '[');
    for (unsigned i = 0; i < line->n; i++) data_json_point(c, line, i);
    json_close();
    json_close();
  }
  json_close();
  json_end();
}

void plot_csv(const plot_chart *c) {
  out_text("series,x,y,fpr_measured,fpr_low,fpr_high,nabsent\n");
  for (unsigned s = 0; s < c->nseries; s++) {
    const plot_series *line = &c->series[s];
    for (unsigned i = 0; i < line->n; i++) {
      const interval *m = &line->measured[i];
      out_text("%s,", line->name);
      if (c->bars) out_text("%s,", c->groups[(unsigned)line->x[i]]);
      if (!c->bars) out_text("%.6g,", line->x[i]);
      out_text("%.6g,", line->y[i]);
      if (line->nabsent[i] == 0) {
        out_text(",,,\n");
      } else {
        out_text("%.6g,%.6g,%.6g,%llu\n", m->rate, m->low, m->high,
                 (unsigned long long)line->nabsent[i]);
      }
    }
  }
}
