/* places.c - see places.h. */
#include "places.h"

void places_add(row_places *p, const char *file, uint64_t line) {
  const place_run *last = p->nruns > 0 ? &p->runs[p->nruns - 1] : NULL;
  uint64_t row = p->nrows++;
  if (last != NULL && last->file == file && last->line + row - last->first == line) return;
  if (p->nruns == p->cap) {
    p->cap = p->cap != 0 ? 2 * p->cap : 16;
    p->runs = must_grow(p->runs, p->cap * sizeof *p->runs);
  }
  p->runs[p->nruns++] = (place_run){row, file, line};
}

row_place places_of(const row_places *p, uint64_t row) {
  size_t at = p->nruns - 1;
  while (p->runs[at].first > row) at--;
  const place_run *run = &p->runs[at];
  return (row_place){run->file, run->line + row - run->first};
}
