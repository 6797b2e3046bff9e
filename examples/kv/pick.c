/*
 * pick.c - which tables to merge next.
 *
 *   level 0     tables that overlap, each a memtable; 4 of them are too many
 *   level 1     10 MiB of tables whose ranges of keys are disjoint
 *   level n     10 times level n - 1
 *
 * The level that is most above its size gives the table with the least to merge for each of its
 * bytes, level 0 also those that overlap it; what overlaps them one level below is merged with
 * them, and the outputs go there. This is the "minimum overlapping ratio" of RocksDB.
 */
#include "store.h"

/* The level that is most above its size, if one is; its outputs go to the next one. */
static unsigned pick_level(const kv_levels *l, size_t write_buffer) {
  double most = (double)kv__levels_count(l, 0) / KV_COMPACT_TABLES;
  double limit = (double)write_buffer * 2.5;
  unsigned to = 1;
  for (unsigned level = 1; level + 1 < KV_LEVELS; level++, limit *= 10) {
    kv_range all = {l->start[level], l->start[level + 1]};
    double share = (double)kv__levels_bytes(l, all) / limit;
    if (share <= most) continue;
    most = share;
    to = level + 1;
  }
  return most >= 1 ? to : 0;
}

static int pick_order(const void *a, const void *b) {
  return kv__compare((*(kv_table *const *)a)->smallest, (*(kv_table *const *)b)->smallest);
}

/* Level 0: what overlaps an input is an input as well, and so on. In the order of smallest keys
 * such a group ends where the next table begins behind all of its keys. */
static void pick_group(const kv_levels *l, const kv_table *best, kv_change *c) {
  size_t n = kv__levels_count(l, 0);
  kv_table **tables = kv__alloc(n * sizeof *tables);
  bool found = false;
  memcpy(tables, l->tables, n * sizeof *tables);
  qsort(tables, n, sizeof *tables, pick_order);
  for (size_t i = 0; i < n; i++) {
    bool begins = i == 0 || kv__compare(tables[i]->smallest, c->largest) > 0;
    if (begins && found) break;
    if (begins) c->smallest = tables[i]->smallest;
    if (begins || kv__compare(tables[i]->largest, c->largest) > 0) c->largest = tables[i]->largest;
    found |= tables[i] == best;
  }
  free(tables);
}

/* Tables of the next level may reach beyond the keys of the inputs. */
static void pick_take(kv_pick *p, kv_table *t) {
  kv_change *c = &p->change;
  if (kv__compare(t->smallest, c->smallest) < 0) c->smallest = t->smallest;
  if (kv__compare(t->largest, c->largest) > 0) c->largest = t->largest;
  p->inputs[p->n++] = t;
}

kv_pick kv__pick(const kv_levels *l, size_t write_buffer) {
  kv_pick p = {.change = {.to = pick_level(l, write_buffer)}};
  if (p.change.to == 0) return p;
  unsigned from = p.change.to - 1;
  kv_table *best = l->tables[l->start[from]];
  for (size_t i = l->start[from]; i < l->start[from + 1]; i++) {
    kv_table *t = l->tables[i];
    if ((double)t->overlap / (double)t->bytes < (double)best->overlap / (double)best->bytes)
      best = t;
  }
  p.change.smallest = best->smallest;
  p.change.largest = best->largest;
  if (from == 0) pick_group(l, best, &p.change);
  kv_range above = {l->start[from], l->start[from + 1]};
  kv_range below = kv__levels_overlap(l, p.change.to, p.change.smallest, p.change.largest);
  p.inputs = kv__alloc((above.end - above.first + below.end - below.first) * sizeof *p.inputs);
  const kv_change group = p.change;
  for (size_t i = above.first; i < above.end; i++) {
    kv_table *t = l->tables[i];
    bool taken = from != 0 ? t == best
                           : kv__compare(t->smallest, group.smallest) >= 0 &&
                                 kv__compare(t->smallest, group.largest) <= 0;
    if (taken) p.inputs[p.n++] = t;
  }
  for (size_t i = below.first; i < below.end; i++) pick_take(&p, l->tables[i]);
  return p;
}
