/*
 * repair.c - a store whose logs are damaged opens again, with all records that are whole.
 *
 * The records of both logs become tables of level 0, a new log takes the puts, and the manifest
 * names them: a repair that is interrupted has changed nothing. The damaged logs stay, under
 * another name. Records keep their sequences, so that of two versions of a key the newer one is
 * read; but the newest may be lost, and a deletion, too. Tables and the manifest are not repaired.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store.h"

/* A memtable with what is whole in its log; a log that is missing has nothing. */
static nay_status repair_log(kv *db, kv_memtable *m, kv_error *error, kv_salvage *found) {
  kv_file copy = kv__file_numbered(db, m->log, "log.damaged");
  void *bytes = NULL;
  size_t len = 0;
  nay_status status = nay_file_read(m->at.path, SIZE_MAX, NULL, &m->at.diag, &bytes, &len);
  if (status != NAY_OK && m->at.diag.os_error != ENOENT) return kv__blame(error, status, &m->at);
  *found = kv__log_salvage(m, bytes, len);
  status = found->lost != 0 ? nay_file_write(copy.path, 0, bytes, len, &copy.diag) : NAY_OK;
  free(bytes);
  return kv__blame(error, status, &copy);
}

/* The memtable, unless it is empty, becomes a table of the view. */
static nay_status repair_flush(kv *db, kv_view *v, const kv_memtable *m, kv_error *error) {
  kv_table *t;
  kv_levels *levels;
  if (nay_memtable_bytes(m->list) == 0) return NAY_OK;
  nay_status status = kv__flush_to(db, m, error, &t);
  if (status != NAY_OK) return status;
  const kv_change change = {0, t->smallest, t->largest};
  status = kv__levels_next(v->levels, &t, 1, &change, error, &levels);
  if (status != NAY_OK) return status;
  kv__levels_unref(v->levels);
  v->levels = levels;
  return NAY_OK;
}

/* One log after the other, the older one first; says of each what was found. */
static nay_status repair_logs(kv *db, kv_view *v, kv_memtable *const *logs, kv_error *error) {
  size_t said = 0;
  char text[sizeof error->text] = "";
  for (size_t i = 0; i < 2; i++) {
    kv_salvage found = {.records = 0};
    if (logs[i] == NULL) continue;
    logs[i]->last = v->sequence;
    nay_status status = repair_log(db, logs[i], error, &found);
    if (status == NAY_OK) status = repair_flush(db, v, logs[i], error);
    if (status != NAY_OK) return status;
    v->sequence = logs[i]->last;
    int n =
        snprintf(text + said, sizeof text - said,
                 "%s%06" PRIu64 ".log: %" PRIu64 " records are whole, %" PRIu64 " bytes are lost",
                 said != 0 ? "; " : "", logs[i]->log, found.records, found.lost);
    said += n > 0 && (size_t)n < sizeof text - said ? (size_t)n : 0;
    if (found.lost == 0) continue;
    n = snprintf(text + said, sizeof text - said,
                 " from offset %" PRIu64 " (%06" PRIu64 ".log.damaged has them)", found.offset,
                 logs[i]->log);
    said += n > 0 && (size_t)n < sizeof text - said ? (size_t)n : 0;
  }
  return kv__fail(error, NAY_OK, "%s", text);
}

/* Replaces the logs of the view by tables and an empty log. */
static nay_status repair_store(kv *db, kv_error *error) {
  const kv_view *old = db->view;
  const uint64_t store = old->mem->store;
  kv_memtable *logs[2] = {NULL, kv__memtable_new(db, store, old->mem->log, 0)};
  if (old->imm != NULL) logs[0] = kv__memtable_new(db, store, old->imm->log, 0);
  kv_view *v = kv__view_next(old);
  kv__memtable_unref(v->imm);
  kv__memtable_unref(v->mem);
  v->imm = v->mem = NULL;
  nay_status status = repair_logs(db, v, logs, error);
  v->mem = kv__memtable_new(db, store, db->next++, v->sequence);
  if (status == NAY_OK) status = kv__log_create(v->mem, error);
  pthread_mutex_lock(&db->writer);
  status = kv__view_commit(db, v, status, error);
  pthread_mutex_unlock(&db->writer);
  for (size_t i = 0; i < 2; i++) {
    if (logs[i] != NULL && status == NAY_OK) unlink(logs[i]->at.path);
    kv__memtable_unref(logs[i]);
  }
  return status;
}

/* Damaged, or not there; a log that cannot be read today may be whole tomorrow. */
static bool repair_needed(const kv_view *v, nay_status status) {
  return status == NAY_ECORRUPT || v->mem->at.diag.os_error == ENOENT ||
         (v->imm != NULL && v->imm->at.diag.os_error == ENOENT);
}

nay_status kv_repair(const char *dir, kv_error *error) {
  const kv_options options = {.must_exist = true};
  kv *db;
  nay_status status = kv__open_lock(dir, &options, error, &db);
  if (status != NAY_OK) return status;
  status = kv__open_tables(db, error);
  if (status == NAY_OK) {
    status = kv__open_logs(db, error);
    if (status == NAY_OK)
      kv__fail(error, NAY_OK, "%s", ""); /* a torn tail is no damage */
    else if (repair_needed(db->view, status))
      status = repair_store(db, error);
  }
  kv_close(db);
  return status;
}
