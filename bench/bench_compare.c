/* bench_compare.c - a filter against the best of the others at the same job. */
#include <math.h>
#include <string.h>

#include "bench.h"

const char *const bench_aspect_names[BENCH_NASPECTS] = {"make", "probe", "batch"};

/* NaN counts as "not offered". */
static double compare_least(double a, double b) { return fmin(a, b); }

double bench_row_aspect(const bench_row *row, bench_aspect aspect) {
  const bench_cell *c = row->cells;
  double one = bench_cell_min(&c[OP_PROBE + BENCH_HALF]);
  switch (aspect) {
    case BENCH_MAKE:
      return compare_least(
          bench_cell_min(&c[OP_BUILD]),
          compare_least(bench_cell_min(&c[OP_ADD]), bench_cell_min(&c[OP_ADD_BATCH])));
    case BENCH_MANY: return compare_least(one, bench_cell_min(&c[OP_PROBE_BATCH + BENCH_HALF]));
    default: return one;
  }
}

bool bench_row_is_ours(const bench_row *row) { return strcmp(row->adapter->library, "nay") == 0; }

static bool compare_competes(const bench_row *row, const bench_row *peer) {
  return peer->failure == NULL && !bench_row_is_ours(peer) && peer->nkeys == row->nkeys &&
         peer->form == row->form && strcmp(peer->adapter->family, row->adapter->family) == 0 &&
         bench_row_fpr(peer) <= 2 * bench_row_fpr(row);
}

const bench_row *bench_best_peer(const bench_row *row, const bench_row *rows, size_t nrows,
                                 bench_aspect aspect) {
  const bench_row *best = NULL;
  for (size_t i = 0; i < nrows; i++) {
    if (!compare_competes(row, &rows[i]) || isnan(bench_row_aspect(&rows[i], aspect))) continue;
    if (best == NULL || bench_row_aspect(&rows[i], aspect) < bench_row_aspect(best, aspect)) {
      best = &rows[i];
    }
  }
  return best;
}
