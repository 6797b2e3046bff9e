/*
 * repair.c - a store whose logs are damaged opens again, with all records that are whole.
 *
 * The records of both logs become tables of level 0, a new log takes the puts, and the manifest
 * names them: until then nothing of the store has changed. The damaged logs stay, under another
 * name. Records keep their sequences, so that of two versions of a key the newer one is read; but
 * the newest may be lost, and a deletion, too. Tables and the manifest are not repaired.
 *
 * The manifest may be older than the files beside it, as in a copy of a store that was open. What
 * it does not name is never overwritten: new files have numbers above those of all that are there.
 * A log or table that is newer than the manifest and its logs is an error, as for an open. What a
 * crash may have left, and an open would remove, may have a record that the log has lost: it is
 * kept, under another name.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store.h"

/* repair: a log, and what is whole in it. */
typedef struct repair {
  kv_memtable *m; /* NULL: there is no such log */
  void *bytes;
  size_t len;
  kv_salvage found;
} repair;

/* A memtable with what is whole in its log; a log that is missing has nothing. */
static nay_status repair_read(repair *r, uint64_t *last, kv_error *error) {
  if (r->m == NULL) return NAY_OK;
  kv_file *at = &r->m->at;
  nay_status status = kv__file_read(at, &r->bytes, &r->len);
  if (status != NAY_OK && at->diag.os_error != ENOENT) return kv__blame(error, status, at);
  r->m->last = *last;
  r->found = kv__log_salvage(r->m, r->bytes, r->len);
  *last = r->m->last;
  return NAY_OK;
}

/* The log, if a part of it is lost, under the name of a damaged one. A repair that was interrupted
 * has made the same file. */
static nay_status repair_copy(const kv *db, const repair *r, kv_error *error) {
  kv_file at = kv__file_numbered(db, r->m->log, "log.damaged");
  void *old;
  size_t len;
  if (r->found.lost == 0) return NAY_OK;
  nay_status status = kv__file_read(&at, &old, &len);
  if (status != NAY_OK && at.diag.os_error == ENOENT)
    status = kv__file_replace(&at, r->bytes, r->len);
  else if (status == NAY_OK) {
    bool same = len == r->len && memcmp(old, r->bytes, len) == 0;
    free(old);
    if (!same) return kv__fail(error, NAY_EIO, "%s: is in the way, and is kept", at.path);
  }
  return kv__blame(error, status, &at);
}

/* The memtable, unless it is empty, becomes a table of the view. */
static nay_status repair_flush(kv *db, kv_view *v, const kv_memtable *m, kv_error *error) {
  kv_table *t;
  kv_levels *levels;
  if (kv__memtable_bytes(m) == 0) return NAY_OK;
  nay_status status = kv__flush_to(db, m, error, &t);
  if (status != NAY_OK) return status;
  const kv_change change = {0, t->smallest, t->largest};
  status = kv__levels_next(v->levels, &t, 1, &change, error, &levels);
  if (status != NAY_OK) return status;
  kv__levels_unref(v->levels);
  v->levels = levels;
  return NAY_OK;
}

static void repair_say(const repair *r, kv_error *error) {
  if (r->m->at.diag.os_error == ENOENT) {
    kv__also(error, "%06" PRIu64 ".log: missing", r->m->log);
    return;
  }
  kv__also(error, "%06" PRIu64 ".log: %" PRIu64 " records are whole, %" PRIu64 " bytes are lost",
           r->m->log, r->found.records, r->found.lost);
  if (r->found.lost != 0)
    kv__also(error, " from offset %" PRIu64 " (%06" PRIu64 ".log.damaged has them)",
             r->found.offset, r->m->log);
}

/* The view with the logs, the older one first, as tables, and an empty log. Nothing is written
 * before all is found in order. */
static nay_status repair_write(kv *db, kv_view *v, repair *logs, kv_error *error) {
  uint64_t last = v->sequence;
  nay_status status = repair_read(&logs[0], &last, error);
  if (status == NAY_OK) status = repair_read(&logs[1], &last, error);
  if (status == NAY_OK) status = kv__open_files(db, KV_UNNAMED_SURVEY, last, error);
  if (status == NAY_OK && db->next > KV_MAX_FILE - 3) /* two tables and a log */
    status = kv__fail(error, NAY_EFULL, "%s: file numbers are used up", db->dir);
  kv_error text = {""};
  for (size_t i = 0; i < 2 && status == NAY_OK; i++) {
    if (logs[i].m == NULL) continue;
    status = repair_copy(db, &logs[i], error);
    if (text.text[0] != 0) kv__also(&text, "; ");
    repair_say(&logs[i], &text);
  }
  if (status == NAY_OK) kv__fail(error, NAY_OK, "%s", text.text);
  if (status == NAY_OK) status = kv__open_files(db, KV_UNNAMED_KEEP, last, error);
  for (size_t i = 0; i < 2 && status == NAY_OK; i++)
    if (logs[i].m != NULL) status = repair_flush(db, v, logs[i].m, error);
  v->sequence = last;
  v->mem = kv__memtable_new(db, logs[1].m->store, db->next++, last);
  return status == NAY_OK ? kv__log_create(v->mem, error) : status;
}

/* Replaces the logs of the view by tables and an empty log. */
static nay_status repair_store(kv *db, kv_error *error) {
  const kv_view *old = db->view;
  const uint64_t store = old->mem->store;
  repair logs[2] = {{.m = NULL}, {.m = kv__memtable_new(db, store, old->mem->log, 0)}};
  if (old->imm != NULL) logs[0].m = kv__memtable_new(db, store, old->imm->log, 0);
  kv_view *v = kv__view_next(old);
  kv__memtable_unref(v->imm);
  kv__memtable_unref(v->mem);
  v->imm = v->mem = NULL;
  nay_status status = repair_write(db, v, logs, error);
  pthread_mutex_lock(&db->writer);
  status = kv__view_commit(db, v, status, error);
  pthread_mutex_unlock(&db->writer);
  for (size_t i = 0; i < 2; i++) {
    if (logs[i].m != NULL && status == NAY_OK) unlink(logs[i].m->at.path);
    kv__memtable_unref(logs[i].m);
    free(logs[i].bytes);
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
    if (status == NAY_OK) {
      kv__fail(error, NAY_OK, "%s", ""); /* a torn tail is no damage */
      status = kv__open_files(db, KV_UNNAMED_CHECK, db->view->mem->last, error);
    } else if (repair_needed(db->view, status)) {
      status = repair_store(db, error);
    }
  }
  kv_close(db);
  return status;
}
