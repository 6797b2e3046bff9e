/* bench_compare.c - a filter against the best peer of the same family. */
#include <math.h>
#include <string.h>

#include "bench.h"

const char *const bench_aspect_names[BENCH_NASPECTS] = {"build", "probe", "batch"};

/* fmin returns the other number when one is NaN: the operation is not offered. */
double bench_row_add(const bench_row *row) {
  return fmin(bench_cell_min(&row->cells[OP_ADD]), bench_cell_min(&row->cells[OP_ADD_BATCH]));
}

double bench_row_aspect(const bench_row *row, bench_aspect aspect) {
  const bench_cell *c = row->cells;
  double one = bench_cell_min(&c[OP_PROBE + BENCH_HALF]);
  switch (aspect) {
    case BENCH_MAKE: return fmin(bench_cell_min(&c[OP_BUILD]), bench_row_add(row));
    case BENCH_MANY: return fmin(one, bench_cell_min(&c[OP_PROBE_BATCH + BENCH_HALF]));
    default: return one;
  }
}

double bench_row_limit(const bench_row *row, const bench_row *rows, size_t nrows) {
  double least = bench_cell_min(&row->cells[OP_LIMIT]);
  for (size_t i = 0; i < nrows; i++) {
    if (rows[i].failure != NULL || rows[i].nbytes < row->nbytes) continue;
    least = fmin(least, bench_cell_min(&rows[i].cells[OP_LIMIT]));
  }
  return least;
}

bool bench_row_rehashes(const bench_row *row, unsigned op) {
  const bench_adapter *a = row->adapter;
  if (row->form != BENCH_HASHES || !a->hashes_inside || op > OP_PROBE_ALONE) return false;
  bool single = (op >= OP_PROBE && op < OP_PROBE_BATCH) || op == OP_PROBE_ALONE;
  return !(single && a->own_hash != NULL);
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
