/*
 * compaction.c - the background thread: memtables become tables of level 0, tables are merged
 * downwards.
 *
 *   level 0     tables that overlap, each a memtable; 4 of them are merged into level 1
 *   level 1     10 MiB of tables whose ranges of keys are disjoint
 *   level n     10 times level n - 1
 *
 * A level that is too large gives its oldest table, level 0 all of its tables; what overlaps them
 * one level below is merged with them, and the outputs go there. If nothing does, the table moves
 * down as it is. A deletion is dropped when no level further down has a table with its key. Entries
 * that a snapshot sees are kept.
 *
 * The order on disk makes a crash harmless: first the outputs, synced; then the manifest, which
 * makes them part of the store and ends the inputs; then the inputs are removed.
 */
#include <inttypes.h>
#include <nay_compact.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

size_t kv_level_size(const kv_version *version, unsigned level, uint64_t *bytes) {
  size_t n = 0;
  if (bytes != NULL) *bytes = 0;
  for (size_t i = 0; i < version->n; i++) {
    if (version->tables[i]->level != level) continue;
    n++;
    if (bytes != NULL) *bytes += version->tables[i]->bytes;
  }
  return n;
}

/* The next version: the current tables without those in `out`, and those in `in`. */
static nay_status install(kv *db, kv_table *const *out, size_t nout, kv_table *const *in,
                          size_t nin, kv_memtable *flushed, kv_error *error) {
  kv_version *version;
  pthread_mutex_lock(&db->mutex);
  const kv_version *current = db->view->version; /* stays: this thread alone replaces it */
  uint64_t next = db->next;
  pthread_mutex_unlock(&db->mutex);
  kv_table **tables = kv_alloc((current->n + nin + 1) * sizeof *tables);
  size_t n = 0;
  for (size_t i = 0; i < current->n; i++) {
    bool stays = true;
    for (size_t j = 0; j < nout; j++) stays = stays && current->tables[i] != out[j];
    if (stays) tables[n++] = current->tables[i];
  }
  for (size_t i = 0; i < nin; i++) tables[n++] = in[i];
  kv_manifest m = {.log = flushed != NULL ? flushed->next_log : db->first_log,
                   .sequence = flushed != NULL ? flushed->last : db->flushed,
                   .next = next,
                   .ntables = n,
                   .tables = kv_alloc((n + 1) * sizeof *m.tables)};
  for (size_t i = 0; i < n; i++) m.tables[i] = *tables[i];
  nay_status status = kv_version_new(db, tables, n, error, &version);
  if (status == NAY_OK) {
    status = kv_manifest_save(db->dir, &m, error);
    pthread_mutex_lock(&db->mutex);
    if (status == NAY_OK) {
      for (size_t i = 0; i < nout; i++) /* one that moved down is the same file */
        out[i]->obsolete = nin == 0 || in[0]->number != out[i]->number;
      kv_view_publish(db, db->view->mem, flushed != NULL ? NULL : db->view->full, version);
      db->first_log = m.log;
      db->flushed = m.sequence;
      pthread_cond_broadcast(&db->done);
    }
    kv_version_unref(db, version);
    pthread_mutex_unlock(&db->mutex);
  }
  free(m.tables);
  free(tables);
  return status;
}

static kv_table *table_new(uint64_t number, unsigned level) {
  kv_table *t = kv_alloc(sizeof *t);
  t->number = number;
  t->level = level;
  t->refs = 1;
  return t;
}

static void table_unref(kv *db, kv_table *t) {
  pthread_mutex_lock(&db->mutex);
  if (--t->refs == 0) kv_table_free(db, t);
  pthread_mutex_unlock(&db->mutex);
}

/* ---- flush ---- */

static const nay_sst_write_options flush_how = {sizeof flush_how, .keys = NAY_SST_KEYS_INTERNAL,
                                                .filter = NAY_SST_FULL_FILTER};

static nay_status flush(kv *db, kv_memtable *m, kv_error *error) {
  char path[KV_PATH];
  nay_diag diag = {.what = ""};
  nay_sst_writer *w = NULL;
  kv_table *t = table_new(kv_number(db), 0);
  kv_path(db, t->number, "ldb", path);
  nay_status status = nay_sst_writer_new(path, &flush_how, NULL, &diag, &w);
  const kv_node *node = kv_memtable_seek(m, "", 0, UINT64_MAX);
  for (; status == NAY_OK && node != NULL; node = kv_node_next(node))
    status =
        nay_sst_writer_add(w, node->key, node->len + 8, node->key + node->len + 8, node->value_len);
  if (status == NAY_OK) status = nay_sst_writer_finish(w, &diag);
  nay_sst_writer_free(w);
  if (status != NAY_OK)
    kv_fail(error, status, "%s: %s: %s", path, nay_status_text(status), strerror(diag.os_error));
  if (status == NAY_OK) status = kv_table_open(db, t, error);
  uint64_t log = db->first_log;
  if (status == NAY_OK) status = install(db, NULL, 0, &t, 1, m, error);
  if (status == NAY_OK) db->stats.flushed += t->bytes;
  for (; status == NAY_OK && log < m->next_log; log++) {
    kv_path(db, log, "log", path);
    unlink(path);
  }
  table_unref(db, t);
  return status;
}

/* ---- merge ---- */

typedef struct merge {
  kv *db;
  unsigned level; /* the inputs are of this one and the next */
  size_t n;
  kv_table **inputs; /* newest first */
  const kv_bytes *smallest, *largest;
} merge;

static bool merge_overlaps(const merge *m, const kv_table *t) {
  return kv_compare(t->smallest.data, t->smallest.len, m->largest->data, m->largest->len) <= 0 &&
         kv_compare(m->smallest->data, m->smallest->len, t->largest.data, t->largest.len) <= 0;
}

static void merge_take(merge *m, kv_table *t) {
  const kv_bytes *s = &t->smallest, *l = &t->largest;
  m->inputs[m->n++] = t;
  if (m->smallest == NULL || kv_compare(s->data, s->len, m->smallest->data, m->smallest->len) < 0)
    m->smallest = s;
  if (m->largest == NULL || kv_compare(l->data, l->len, m->largest->data, m->largest->len) > 0)
    m->largest = l;
}

/* The level that is most above its size, and what of it goes down. */
static bool merge_pick(kv *db, const kv_version *v, merge *m) {
  double most = 1, limit = (double)db->options.level_size;
  *m = (merge){.db = db, .level = KV_LEVELS};
  for (unsigned level = 0; level + 1 < KV_LEVELS; level++) {
    uint64_t bytes;
    size_t n = kv_level_size(v, level, &bytes);
    double score = level == 0 ? (double)n / KV_COMPACT_TABLES : (double)bytes / limit;
    if (level > 0) limit *= 10;
    if (score >= most) most = score, m->level = level;
  }
  if (m->level == KV_LEVELS) return false;
  kv_table *oldest = NULL;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == m->level &&
        (oldest == NULL || v->tables[i]->number < oldest->number))
      oldest = v->tables[i];
  m->inputs = kv_alloc(v->n * sizeof *m->inputs);
  for (size_t i = 0; i < v->n; i++)
    if (m->level == 0 ? v->tables[i]->level == 0 : v->tables[i] == oldest)
      merge_take(m, v->tables[i]);
  merge upper = *m;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == m->level + 1 && merge_overlaps(&upper, v->tables[i]))
      merge_take(m, v->tables[i]);
  return true;
}

/* Merges the inputs into tables of the next level. */
static nay_status merge_run(kv *db, const kv_version *v, const merge *m, kv_table **t,
                            kv_error *error) {
  char path[KV_PATH];
  nay_diag diag = {.what = ""};
  const nay_sst **ssts = kv_alloc(m->n * sizeof(nay_sst *));
  nay_sst_compact_stats stats = {.size = sizeof stats};
  nay_sst_write_options write = flush_how;
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  write.keys = NAY_SST_KEYS_AUTO;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level > m->level + 1 && merge_overlaps(m, v->tables[i])) how.bottom = false;
  for (size_t i = 0; i < m->n; i++) ssts[i] = m->inputs[i]->sst;
  pthread_mutex_lock(&db->mutex);
  for (kv_snapshot *s = db->snapshots; s != NULL; s = s->next) how.nsnapshots++;
  uint64_t *snapshots = kv_alloc(how.nsnapshots * sizeof *snapshots + 1);
  size_t left = how.nsnapshots; /* the list has the newest first */
  for (kv_snapshot *s = db->snapshots; s != NULL; s = s->next) snapshots[--left] = s->sequence;
  pthread_mutex_unlock(&db->mutex);
  how.snapshots = snapshots;
  kv_path(db, (*t)->number, "ldb", path);
  nay_status status = nay_sst_compact(ssts, m->n, path, &how, NULL, &diag, &stats);
  free(ssts);
  free(snapshots);
  if (status != NAY_OK)
    return kv_fail(error, status, "%s: %s: %s: %s", path, nay_status_text(status), diag.what,
                   strerror(diag.os_error));
  if (stats.written == 0) unlink(path);
  return NAY_OK;
}

static nay_status merge_down(kv *db, const kv_version *v, const merge *m, kv_error *error) {
  bool moves = m->n == 1 && m->level > 0;
  kv_table *t = table_new(moves ? m->inputs[0]->number : kv_number(db), m->level + 1);
  nay_status status = moves ? NAY_OK : merge_run(db, v, m, &t, error);
  char path[KV_PATH];
  kv_path(db, t->number, "ldb", path);
  bool empty = status == NAY_OK && access(path, F_OK) != 0;
  if (status == NAY_OK && !empty) status = kv_table_open(db, t, error);
  if (status == NAY_OK) status = install(db, m->inputs, m->n, &t, !empty, NULL, error);
  if (status == NAY_OK && !moves) db->stats.compacted += t->bytes;
  table_unref(db, t);
  return status;
}

void *kv_background(void *ctx) {
  kv *db = ctx;
  pthread_mutex_lock(&db->mutex);
  while (!db->closing) {
    kv_error error = {""};
    kv_view *view = db->view;
    merge m = {0};
    if (db->failed != NAY_OK || (view->full == NULL && !merge_pick(db, view->version, &m))) {
      db->idle = true;
      pthread_cond_broadcast(&db->done);
      pthread_cond_wait(&db->work, &db->mutex);
      continue;
    }
    view->refs++;
    pthread_mutex_unlock(&db->mutex);
    nay_status status = view->full != NULL ? flush(db, view->full, &error)
                                           : merge_down(db, view->version, &m, &error);
    if (status != NAY_OK) kv_set_failed(db, status, &error);
    free(m.inputs);
    pthread_mutex_lock(&db->mutex);
    kv_view_unref(db, view);
  }
  pthread_mutex_unlock(&db->mutex);
  return NULL;
}
