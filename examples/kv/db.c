/*
 * db.c - views, puts and reads.
 *
 * Two locks. `writer` orders all changes. A put appends to the log, inserts into the memtable, and
 * publishes the sequence, which makes the entry visible. `mutex` guards the current view, and is
 * held for a few instructions only. A reader takes a reference to the view and the sequence of the
 * newest entry, and then needs no lock: the memtable is only added to, entries above its sequence
 * are not seen, tables do not change.
 *
 * The put that finds the memtable full makes it the immutable one, which the background thread
 * writes to a table, and begins a new one with a new log. It waits only if the last one is not yet
 * written, or level 0 has too many tables.
 *
 * Reads go newest first: the memtables, then the tables of the view. The library's lookup goes
 * through those: range of keys, filter, index, block. An iterator merges the same places; the
 * memtables are sources of its merge.
 */
#include "background.c"

/* ---- put ---- */

/* The memtable becomes the immutable one. Its log is on the disk first: of two logs, only the newer
 * one may be torn. */
static nay_status db_rotate(kv *db, kv_error *error) {
  view *v = view_next(db->view, 0);
  memtable *m = v->imm = v->mem;
  v->mem = memtable_new(db, m->store, db->next++, m->last);
  nay_status status = nay_file_append(m->fd, NULL, 0, true, &m->length, &m->at.diag);
  status = status == NAY_OK ? log_open(v->mem, true, error) : blame(error, status, &m->at);
  db->idle = false;
  return view_commit(db, v, status, error);
}

/* With the writer lock: waits until the memtable has fewer bytes, or a write has failed. */
static nay_status db_make_room(kv *db, size_t limit) {
  while (db->failed == NAY_OK && nay_memtable_bytes(db->view->mem->list) >= limit) {
    if (db->view->imm != NULL || db->view->count[0] >= STOP_TABLES)
      pthread_cond_wait(&db->changed, &db->writer);
    else
      db->failed = db_rotate(db, &db->failure);
  }
  return db->failed;
}

static nay_status db_unlock(kv *db, kv_error *error) {
  nay_status status = db->failed;
  if (status != NAY_OK && error != NULL) *error = db->failure;
  pthread_mutex_unlock(&db->writer);
  return status;
}

static nay_status db_write(kv *db, bool deleted, kv_slice key, kv_slice value, kv_error *error) {
  nay_sst_version entry = {sizeof entry, key.data, key.len, .deleted = deleted};
  if (key.len > MAX_BYTES || value.len > MAX_BYTES)
    return fail(error, NAY_EINVAL, "keys and values have at most %d bytes", MAX_BYTES);
  if (db->sequence > LAST_SEQUENCE) return fail(error, NAY_EFULL, "sequences are used up");
  pthread_mutex_lock(&db->writer);
  if (db_make_room(db, db->options.write_buffer) == NAY_OK) {
    memtable *m = db->view->mem;
    entry.sequence = m->last + 1;
    db->failed = log_append(m, &entry, value, db->options.sync, &db->failure);
    if (db->failed == NAY_OK) memtable_add(m, &entry, value);
    if (db->failed == NAY_OK) db->sequence = entry.sequence;
  }
  return db_unlock(db, error);
}

nay_status kv_put(kv *db, kv_slice key, kv_slice value, kv_error *error) {
  return db_write(db, false, key, value, error);
}

nay_status kv_delete(kv *db, kv_slice key, kv_error *error) {
  return db_write(db, true, key, (kv_slice){NULL, 0}, error);
}

nay_status kv_settle(kv *db, kv_error *error) {
  pthread_mutex_lock(&db->writer);
  db_make_room(db, 1);
  while (db->failed == NAY_OK && !db->idle) pthread_cond_wait(&db->changed, &db->writer);
  return db_unlock(db, error);
}

void kv_describe(kv *db, kv_stats *stats) {
  pthread_mutex_lock(&db->writer);
  *stats = db->stats;
  stats->sequence = db->sequence;
  stats->memtable = nay_memtable_bytes(db->view->mem->list);
  memcpy(stats->tables, db->view->count, sizeof stats->tables);
  memcpy(stats->bytes, db->view->bytes, sizeof stats->bytes);
  stats->counters.size = sizeof stats->counters;
  nay_lookup_count(db->view->lookup, &stats->counters);
  pthread_mutex_unlock(&db->writer);
}

/* ---- snapshots ---- */

uint64_t kv_snapshot_take(kv *db) {
  pthread_mutex_lock(&db->mutex);
  uint64_t now = db->sequence;
  db->snapshots = grow(db->snapshots, (db->nsnapshots + 1) * sizeof now);
  db->snapshots[db->nsnapshots++] = now;
  pthread_mutex_unlock(&db->mutex);
  return now;
}

void kv_snapshot_release(kv *db, uint64_t snapshot) {
  size_t i = 0;
  pthread_mutex_lock(&db->mutex);
  while (i < db->nsnapshots && db->snapshots[i] != snapshot) i++;
  if (i < db->nsnapshots) db->nsnapshots--;
  for (; i < db->nsnapshots; i++) db->snapshots[i] = db->snapshots[i + 1];
  pthread_mutex_unlock(&db->mutex);
}

/* ---- get ---- */

typedef struct get {
  view *view;
  kv_trace trace;
  void *ctx;
} get;

/* Of a lookup in the tables. */
static void get_step(void *ctx, const nay_lookup_step *step) {
  const get *g = ctx;
  char text[200];
  int n = snprintf(text, sizeof text, "level %zu, %06" PRIu64 ".ldb: %s", step->level,
                   g->view->tables[step->table]->number, nay_lookup_step_text(step->what));
  if (step->nbytes != 0)
    snprintf(text + n, sizeof text - (size_t)n, " (offset %" PRIu64 ", %" PRIu64 " bytes)",
             step->offset, step->nbytes);
  g->trace(g->ctx, text);
}

nay_status kv_get(kv *db, kv_slice key, uint64_t snapshot, kv_bytes *value, kv_trace trace,
                  void *ctx, kv_error *error) {
  get g = {view_ref(db), trace, ctx}; /* first: what is put in between is newer than all of it */
  uint64_t now = db->sequence, sequence = snapshot != 0 && snapshot < now ? snapshot : now;
  const memtable *memtables[] = {g.view->mem, g.view->imm, NULL};
  nay_sst_value found = {.size = sizeof found};
  nay_diag diag = {.what = "a memtable"};
  size_t at = SIZE_MAX; /* which table failed */
  nay_status status = NAY_ENOENT;
  for (size_t i = 0; status == NAY_ENOENT && memtables[i] != NULL; i++) {
    status = nay_memtable_get_at(memtables[i]->list, key.data, key.len, sequence, &found);
    const char *what = found.deleted ? "memtable: deleted" : "memtable: found";
    if (trace != NULL) trace(ctx, status == NAY_OK ? what : "memtable: absent");
  }
  if (status == NAY_ENOENT)
    status = nay_lookup_trace(g.view->lookup, key.data, key.len, sequence,
                              trace != NULL ? get_step : NULL, &g, &diag, &found, &at);
  if (status == NAY_OK && found.deleted) status = NAY_ENOENT;
  if (status == NAY_OK) {
    value->data = grow(value->data, found.len + 1);
    value->len = found.len;
    if (found.len != 0) memcpy(value->data, found.bytes, found.len);
  } else if (status != NAY_ENOENT) {
    fail(error, status, "%06" PRIu64 ".ldb: %s at offset %" PRIu64,
         at < g.view->n ? g.view->tables[at]->number : 0, diag.what, diag.offset);
  }
  nay_sst_value_free(&found);
  view_unref(g.view);
  return status;
}

/* ---- iterator ---- */

nay_status kv_iter_new(kv *db, uint64_t snapshot, kv_slice from, kv_slice to, kv_error *error,
                       kv_iter *it) {
  view *v = view_ref(db);
  nay_merge_source sources[2] = {{.size = sizeof *sources}, {.size = sizeof *sources}};
  nay_memtable_source(v->mem->list, &sources[0]);
  if (v->imm != NULL) nay_memtable_source(v->imm->list, &sources[1]);
  uint64_t now = db->sequence, sequence = snapshot != 0 && snapshot < now ? snapshot : now;
  nay_merge_options how = {sizeof how, sources, .keys = NAY_SST_KEYS_INTERNAL};
  how.nsources = v->imm != NULL ? 2 : 1;
  how.sequence = &sequence;
  how.lower = from.data;
  how.lower_len = from.len;
  how.upper = to.data;
  how.upper_len = to.len;
  *it = (kv_iter){.view = v};
  if (nay_merge_new(v->lookup, &how, NULL, NULL, &it->merge) != NAY_OK) abort(); /* memory */
  nay_status status = nay_merge_first(it->merge);
  if (status == NAY_OK || status == NAY_ENOENT) return status;
  fail(error, status, "%s: %s", db->dir, nay_merge_diag(it->merge)->what);
  kv_iter_free(it);
  return status;
}

void kv_iter_free(kv_iter *it) {
  nay_merge_free(it->merge);
  view_unref(it->view);
}

/* ---- open ----
 *
 * MANIFEST names the tables and the logs. The logs are replayed into their memtables, and the store
 * is as it was; nothing is written but that a torn record is cut off. Files that nothing names are
 * what a crash left: a table that was not yet part of the store, one that had been merged, a log
 * whose memtable had become a table, an empty log. They are removed, once all else is found in
 * order. */

/* Goes over the logs and tables in the directory that the view does not name: a log that has
 * records and is newer, or any file of a store without a manifest, is not left over. clean: removes
 * what is. */
static nay_status open_files(kv *db, bool clean, kv_error *error) {
  const view *v = db->view;
  DIR *dir = opendir(db->dir);
  nay_status status = NAY_OK;
  if (dir == NULL) return fail(error, NAY_EIO, "%s: %s", db->dir, strerror(errno));
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    char *end;
    struct stat st;
    uint64_t number = strtoull(e->d_name, &end, 10);
    bool log = strcmp(end, ".log") == 0, named = number == v->mem->log && db->next > 1;
    file at = file_of(db, number, log ? "log" : "ldb");
    if (v->imm != NULL) named |= number == v->imm->log;
    for (size_t i = 0; i < v->n; i++) named |= number == v->tables[i]->number;
    if (named || number == 0 || strcmp(strrchr(at.path, '/') + 1, e->d_name) != 0) continue;
    if (clean) unlink(at.path);
    if (stat(at.path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) continue;
    if (db->next == 1 || (log && number > v->mem->log))
      status = fail(error, NAY_ECORRUPT, "%s: not in MANIFEST, or that is missing", at.path);
  }
  closedir(dir);
  return status;
}

/* The memtable as its log has it. */
static nay_status open_log(memtable *m, bool newest, kv_error *error) {
  void *bytes;
  size_t len;
  nay_status status = nay_file_read(m->at.path, SIZE_MAX, NULL, &m->at.diag, &bytes, &len);
  if (status != NAY_OK) return blame(error, status, &m->at);
  status = log_replay(m, bytes, len, error);
  free(bytes);
  if (status == NAY_OK && m->length < len && !newest)
    status = fail(error, NAY_ECORRUPT, "%s: torn, and not the newest log", m->at.path);
  return status == NAY_OK ? log_open(m, false, error) : status;
}

/* An empty store, on the disk as well. */
static nay_status open_new(kv *db, kv_error *error) {
  uint64_t id;
  if (db->options.must_exist) return fail(error, NAY_ENOENT, "%s: there is no store", db->dir);
  if (getentropy(&id, sizeof id) != 0) return fail(error, NAY_EIO, "there is no random id");
  db->view = view_next(NULL, 0);
  db->view->sequence = 1; /* snapshot 0 is none */
  db->view->mem = memtable_new(db, id, 1, 1);
  nay_status status = open_files(db, false, error);
  db->next = 2;
  if (status == NAY_OK) status = log_open(db->view->mem, true, error);
  return status == NAY_OK ? manifest_save(db, db->view, error) : status;
}

/* What MANIFEST names; without it, a new store. */
static nay_status open_store(kv *db, kv_error *error) {
  file at = file_of(db, 0, "MANIFEST");
  void *text;
  size_t len;
  nay_status status = nay_file_read(at.path, SIZE_MAX, NULL, &at.diag, &text, &len);
  if (at.diag.os_error == ENOENT) return open_new(db, error);
  if (status != NAY_OK) return blame(error, status, &at);
  status = manifest_parse(db, text, len, error);
  free(text);
  const view *v = db->view;
  for (size_t i = 0; status == NAY_OK && i < v->n; i++)
    status = table_open(db, v->tables[i], error);
  if (status == NAY_OK && v->imm != NULL) status = open_log(v->imm, false, error);
  if (v->imm != NULL) v->mem->last = v->imm->last;
  return status == NAY_OK ? open_log(v->mem, true, error) : status;
}

nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **out) {
  if (strlen(dir) >= sizeof(*out)->dir) return fail(error, NAY_EINVAL, "the path is too long");
  kv *db = *out = alloc(sizeof *db);
  if (options != NULL) db->options = *options;
  if (db->options.write_buffer == 0) db->options.write_buffer = (size_t)4 << 20;
  db->next = 1;
  pthread_mutex_init(&db->writer, NULL);
  pthread_mutex_init(&db->mutex, NULL);
  pthread_cond_init(&db->changed, NULL);
  snprintf(db->dir, sizeof db->dir, "%s", dir);
  file lock = file_of(db, 0, "LOCK");
  if (!db->options.must_exist) mkdir(dir, 0777); /* if it cannot, there is no lock */
  nay_status status = nay_file_lock(lock.path, NAY_LOCK_TRY, &db->lock, &lock.diag);
  if (status != NAY_OK) {
    if (lock.diag.os_error == ENOENT) status = NAY_ENOENT;
    free(db);
    return blame(error, status, &lock);
  }
  fail(error, NAY_OK, "");
  status = open_store(db, error);
  if (status == NAY_OK) status = view_index(db->view, error);
  if (status == NAY_OK) status = open_files(db, false, error);
  if (status == NAY_OK) status = open_files(db, true, error);
  if (status == NAY_OK) db->sequence = db->view->mem->last;
  db->running = status == NAY_OK && pthread_create(&db->thread, NULL, background, db) == 0;
  if (status == NAY_OK && !db->running) status = fail(error, NAY_EIO, "there is no thread");
  if (status != NAY_OK) kv_close(db);
  return status;
}

void kv_close(kv *db) {
  if (db == NULL) return;
  pthread_mutex_lock(&db->writer);
  db->closing = true;
  pthread_cond_broadcast(&db->changed);
  pthread_mutex_unlock(&db->writer);
  if (db->running) pthread_join(db->thread, NULL);
  view_unref(db->view);
  nay_file_unlock(&db->lock);
  free(db->snapshots);
  free(db);
}
