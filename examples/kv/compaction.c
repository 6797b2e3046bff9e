/*
 * compaction.c - the background thread: memtables become tables of level 0, tables are merged
 * downwards.
 *
 *   level 0     tables that overlap, each a memtable; 4 of them are merged into level 1
 *   level 1     10 MiB of tables whose ranges of keys are disjoint
 *   level n     10 times level n - 1
 *
 * A level that is too large gives one table, level 0 all of its tables; what overlaps them one
 * level below is merged with them, and the outputs go there. It is the table with the least to
 * merge, for its size; if that is nothing, it moves down as it is. A deletion is dropped when no
 * level further down has a table with its key. Entries that a snapshot sees are kept. While tables
 * are merged, a memtable that gets full is written in between, so that puts need not wait.
 *
 * The order on disk makes a crash harmless: first the outputs, synced; then the manifest, which
 * makes them part of the store and ends the inputs; then the inputs are removed.
 */
#include <nay_compact.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

/* job: tables that leave, tables that come. */
typedef struct job {
  kv *db;
  kv_error error;
  unsigned level;             /* inputs are of this one and the next */
  kv_slice smallest, largest; /* keys of the inputs */
  size_t nin, nout;
  kv_table **in, **out; /* in: newest first */
  kv_name path;         /* of the last output */
} job;

size_t kv_level(const kv_view *view, unsigned level, uint64_t *bytes) {
  size_t n = 0;
  if (bytes != NULL) *bytes = 0;
  for (size_t i = 0; i < view->n; i++) {
    if (view->tables[i]->level != level) continue;
    if (bytes != NULL) *bytes += view->tables[i]->bytes;
    n++;
  }
  return n;
}

/* An output: opened, and one reference held, until the job ends. */
static nay_status job_add(job *j, uint64_t number, unsigned level) {
  kv_table *t = kv_alloc(sizeof *t), **out = kv_alloc((j->nout + 1) * sizeof *out);
  *t = (kv_table){.level = level, .number = number, .refs = 1};
  if (j->nout != 0) memcpy(out, j->out, j->nout * sizeof *out);
  free(j->out);
  j->out = out;
  out[j->nout++] = t;
  return kv_table_open(j->db, t, &j->error);
}

/* The manifest, then the view: without the inputs, with the outputs, and without the memtable. */
static nay_status job_install(job *j, kv_memtable *flushed) {
  kv *db = j->db;
  pthread_mutex_lock(&db->mutex);
  kv_view *v = db->view; /* its tables stay: this thread alone replaces them */
  v->refs++;
  kv_manifest m = db->saved;
  pthread_mutex_unlock(&db->mutex);
  m.tables = kv_alloc((v->n + j->nout + 1) * sizeof *m.tables);
  for (size_t i = 0, k; i < v->n; i++) {
    for (k = 0; k < j->nin && v->tables[i] != j->in[k]; k++) {
    }
    if (k == j->nin) m.tables[m.n++] = v->tables[i];
  }
  for (size_t i = 0; i < j->nout; i++) m.tables[m.n++] = j->out[i];
  if (flushed != NULL) m.log = flushed->next_log, m.sequence = flushed->last;
  nay_status status = kv_manifest_save(db, &m, &j->error);
  pthread_mutex_lock(&db->mutex);
  if (status == NAY_OK) {
    bool moves = j->nin == 1 && j->nout == 1 && j->out[0]->number == j->in[0]->number;
    for (size_t i = 0; i < j->nin; i++) j->in[i]->obsolete = !moves; /* it stays the same file */
    uint64_t *written = flushed != NULL ? &db->stats.flushed : &db->stats.compacted;
    for (size_t i = 0; i < j->nout && !moves; i++) *written += j->out[i]->bytes;
    kv_memtable *full = flushed != NULL ? NULL : db->view->full;
    status = kv_view_publish(db, db->view->mem, full, m.tables, m.n, &j->error);
    db->saved.log = m.log;
    db->saved.sequence = m.sequence;
    pthread_cond_broadcast(&db->done);
  }
  kv_view_unref(db, v);
  pthread_mutex_unlock(&db->mutex);
  free(m.tables);
  return status;
}

/* What the library said goes to the error, unless the store has said more. */
static nay_status job_end(job *j, nay_status status, const nay_diag *diag) {
  pthread_mutex_lock(&j->db->mutex);
  bool ends = j->db->closing && status == NAY_ECANCELED;
  for (size_t i = 0; i < j->nout; i++) kv_table_unref(j->db, j->out[i]);
  pthread_mutex_unlock(&j->db->mutex);
  if (status != NAY_OK && j->error.text[0] == 0)
    kv_fail(&j->error, status, "%s: %s: %s", j->path.text, diag->what, strerror(diag->os_error));
  if (status != NAY_OK && !ends) kv_set_failed(j->db, status, &j->error);
  free(j->in);
  free(j->out);
  return status;
}

static nay_sst_write_options job_writes(const kv *db, nay_sst_keys keys) {
  nay_sst_write_options how = {sizeof how, .keys = keys, .filter = NAY_SST_FULL_FILTER};
  how.comparator = db->options.comparator;
  return how;
}

/* ---- a memtable becomes a table ---- */

static nay_status flush(kv *db, kv_memtable *m) {
  uint64_t number = kv_number(db), log = db->saved.log;
  job j = {.db = db, .path = kv_path(db, number, "ldb")};
  nay_diag diag = {.what = ""};
  nay_sst_writer *w = NULL;
  nay_sst_write_options how = job_writes(db, NAY_SST_KEYS_INTERNAL);
  nay_status status = nay_sst_writer_new(j.path.text, &how, NULL, &diag, &w);
  for (const kv_node *n = kv_memtable_first(m); status == NAY_OK && n != NULL; n = kv_node_next(n))
    status = nay_sst_writer_add(w, n->key.data, n->key.len + 8, n->value.data, n->value.len);
  nay_status finished = w != NULL ? nay_sst_writer_finish(w, &diag) : status; /* has the cause */
  if (status == NAY_OK) status = finished;
  nay_sst_writer_free(w);
  if (status == NAY_OK) status = job_add(&j, number, 0);
  if (status == NAY_OK) status = job_install(&j, m);
  for (; status == NAY_OK && log < m->next_log; log++) unlink(kv_path(db, log, "log").text);
  return job_end(&j, status, &diag);
}

/* ---- tables are merged into the next level ---- */

static int job_compare(const job *j, kv_slice a, kv_slice b) {
  return kv_compare(j->db->options.comparator, a, b);
}

static bool job_overlaps(const job *j, const kv_table *t) {
  return job_compare(j, t->smallest, j->largest) <= 0 &&
         job_compare(j, j->smallest, t->largest) <= 0;
}

static void job_take(job *j, kv_table *t) {
  if (j->nin == 0 || job_compare(j, t->smallest, j->smallest) < 0) j->smallest = t->smallest;
  if (j->nin == 0 || job_compare(j, t->largest, j->largest) > 0) j->largest = t->largest;
  j->in[j->nin++] = t;
}

/* Takes the table, or tables, of the level; then what overlaps them in the next level. */
static void job_inputs(const kv_view *v, job *j, const kv_table *one) {
  j->nin = 0;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i] == one || v->tables[i]->level + j->level == 0) job_take(j, v->tables[i]);
  const job upper = *j;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == j->level + 1 && job_overlaps(&upper, v->tables[i]))
      job_take(j, v->tables[i]);
}

/* The level that is most above its size, and what of it goes down at the least cost. */
static bool job_pick(const kv_view *v, job *j) {
  double most = 1, least = 0, limit = (double)j->db->options.level_size;
  const kv_table *best = NULL;
  j->level = KV_LEVELS;
  for (unsigned level = 0; level + 1 < KV_LEVELS; level++) {
    uint64_t bytes;
    size_t n = kv_level(v, level, &bytes);
    double score = level == 0 ? (double)n / KV_COMPACT_TABLES : (double)bytes / limit;
    if (level > 0) limit *= 10;
    if (score >= most) most = score, j->level = level;
  }
  if (j->level == KV_LEVELS) return false;
  j->in = kv_alloc(v->n * sizeof *j->in);
  for (size_t i = 0; i < v->n && j->level > 0; i++) {
    double cost = 0;
    if (v->tables[i]->level != j->level) continue;
    job_inputs(v, j, v->tables[i]);
    for (size_t k = 0; k < j->nin; k++) cost += (double)j->in[k]->bytes;
    cost /= (double)v->tables[i]->bytes;
    if (best == NULL || cost < least) best = v->tables[i], least = cost;
  }
  job_inputs(v, j, best);
  return true;
}

static const char *job_next(void *ctx) {
  job *j = ctx;
  j->path = kv_path(j->db, kv_number(j->db), "ldb");
  return j->path.text;
}

static void job_done(void *ctx, const nay_sst_output *output) {
  job *j = ctx;
  if (j->error.text[0] == 0)
    job_add(j, strtoull(strrchr(output->path, '/') + 1, NULL, 10), j->level + 1);
}

/* Between two entries of a merge: a full memtable cannot wait. */
static bool job_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  kv *db = ((job *)ctx)->db;
  (void)so_far;
  pthread_mutex_lock(&db->mutex);
  kv_memtable *full = db->view->full; /* stays: this thread alone ends it */
  bool goes_on = !db->closing;
  pthread_mutex_unlock(&db->mutex);
  return goes_on && (full == NULL || flush(db, full) == NAY_OK);
}

static nay_status merge(kv *db, const kv_view *v, job *j) {
  nay_diag diag = {.what = ""};
  if (j->nin == 1 && j->level > 0) { /* nothing below overlaps it */
    nay_status status = job_add(j, j->in[0]->number, j->level + 1);
    return job_end(j, status == NAY_OK ? job_install(j, NULL) : status, &diag);
  }
  nay_sst_write_options write = job_writes(db, NAY_SST_KEYS_AUTO);
  nay_sst_outputs outputs = {sizeof outputs, job_next, job_done, j};
  nay_sst_compact_options how = {sizeof how, .write = &write, .bottom = true};
  how.target_bytes = db->options.table_size;
  how.progress = job_progress, how.progress_ctx = j;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level > j->level + 1 && job_overlaps(j, v->tables[i])) how.bottom = false;
  pthread_mutex_lock(&db->mutex);
  how.nsnapshots = db->nsnapshots;
  uint64_t *snapshots = kv_alloc((how.nsnapshots + 1) * sizeof *snapshots);
  for (size_t i = 0; i < how.nsnapshots; i++) snapshots[i] = db->snapshots[i];
  pthread_mutex_unlock(&db->mutex);
  how.snapshots = snapshots;
  const nay_sst **ssts = kv_alloc(j->nin * sizeof(nay_sst *));
  for (size_t i = 0; i < j->nin; i++) ssts[i] = j->in[i]->sst;
  nay_status status = nay_sst_compact_to(ssts, j->nin, &outputs, &how, NULL, &diag, NULL);
  free(ssts);
  free(snapshots);
  if (status == NAY_OK && j->error.text[0] != 0) status = NAY_EIO; /* of job_done */
  return job_end(j, status == NAY_OK ? job_install(j, NULL) : status, &diag);
}

void *kv_background(void *ctx) {
  kv *db = ctx;
  pthread_mutex_lock(&db->mutex);
  while (!db->closing) {
    kv_view *view = db->view;
    job j = {.db = db};
    if (db->failed != NAY_OK || (view->full == NULL && !job_pick(view, &j))) {
      db->idle = true;
      pthread_cond_broadcast(&db->done);
      pthread_cond_wait(&db->work, &db->mutex);
      continue;
    }
    view->refs++;
    pthread_mutex_unlock(&db->mutex);
    if (view->full != NULL)
      flush(db, view->full);
    else
      merge(db, view, &j);
    pthread_mutex_lock(&db->mutex);
    kv_view_unref(db, view);
  }
  pthread_mutex_unlock(&db->mutex);
  return NULL;
}
