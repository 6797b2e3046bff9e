/*
 * background.c - the background thread: the full memtable becomes a table, tables are merged
 * downwards (pick.c says which).
 *
 * A table that has nothing to be merged with moves: it is of the next level then, and is not
 * written again. A deletion is dropped when no level further down has a table with its key. Entries
 * that a snapshot sees are kept. A memtable that gets full in the meantime is written first.
 *
 * The order on disk makes a crash harmless: first the outputs, synced; then the manifest, which
 * makes them part of the store and ends the inputs; then the inputs are removed. Readers that have
 * them open keep them until they are done.
 *
 * This thread alone replaces levels. It picks inputs and makes the next levels without a lock, and
 * takes the writer lock to save the manifest.
 */
#include <nay_sst_compact.h>
#include <unistd.h>

#include "store.h"

/* job: a compaction, or the flush of the immutable memtable. */
typedef struct job {
  kv *db;
  kv_view *view; /* when it began */
  kv_pick pick;  /* without inputs: it is a flush */
  bool moves;    /* the one input becomes a table of the next level */
  size_t nout;
  kv_table **out;
  kv_file at; /* the last output */
  kv_error error;
} job;

static const nay_sst_write_options table_options = {
    sizeof table_options, .filter = NAY_SST_FULL_FILTER, .properties = true};

static kv_table *table_new(unsigned level, uint64_t number) {
  kv_table *t = kv__alloc(sizeof *t);
  *t = (kv_table){.refs = 1, .level = level, .number = number};
  return t;
}

static void job_add(job *j, kv_table *t) {
  j->out = kv__grow(j->out, (j->nout + 1) * sizeof(kv_table *));
  j->out[j->nout++] = t;
}

nay_status kv__flush_to(kv *db, const kv_memtable *m, kv_error *error, kv_table **table) {
  kv_table *t = table_new(0, db->next++);
  kv_file at = kv__file_numbered(db, t->number, "ldb");
  nay_status status = nay_sst_memtable_write(m->list, at.path, &table_options, &at.diag);
  status = status == NAY_OK ? kv__table_open(db, t, error) : kv__blame(error, status, &at);
  if (status == NAY_OK)
    *table = t;
  else
    kv__table_unref(t);
  return status;
}

static nay_status job_flush(job *j) {
  kv_table *t;
  nay_status status = kv__flush_to(j->db, j->view->imm, &j->error, &t);
  if (status != NAY_OK) return status;
  j->pick.change = (kv_change){0, t->smallest, t->largest};
  job_add(j, t);
  return NAY_OK;
}

/* ---- compaction ---- */

/* The path of a table that is about to be written. */
static const char *job_next(void *ctx) {
  job *j = ctx;
  job_add(j, table_new(j->pick.change.to, j->db->next++));
  j->at = kv__file_numbered(j->db, j->out[j->nout - 1]->number, "ldb");
  return j->at.path;
}

static nay_status job_progress(void *ctx, const nay_sst_compact_stats *so_far);

/* Those that are held, as a compaction takes them. To be freed. */
static uint64_t *job_snapshots(kv *db, size_t *n) {
  pthread_mutex_lock(&db->mutex);
  uint64_t *snapshots = kv__alloc((db->nlive + 1) * sizeof *snapshots);
  *n = 0;
  for (size_t i = 0; i < db->nsnapshots; i++)
    if (db->snapshots[i].holders != 0) snapshots[(*n)++] = db->snapshots[i].sequence;
  pthread_mutex_unlock(&db->mutex);
  return snapshots;
}

static nay_status job_merge(job *j) {
  kv *db = j->db;
  const kv_change *change = &j->pick.change;
  nay_sst_outputs outputs = {sizeof outputs, .next = job_next, .ctx = j};
  nay_sst_compact_options how = {sizeof how, &table_options, true, .progress = job_progress};
  how.target_bytes = db->options.write_buffer / 2;
  how.progress_ctx = db;
  for (unsigned level = change->to + 1; level < KV_LEVELS; level++) {
    kv_range r = kv__levels_overlap(j->view->levels, level, change->smallest, change->largest);
    how.bottom &= r.first == r.end;
  }
  const nay_sst **ssts = kv__alloc(j->pick.n * sizeof(nay_sst *));
  for (size_t i = 0; i < j->pick.n; i++) ssts[i] = j->pick.inputs[i]->sst;
  uint64_t *snapshots = job_snapshots(db, &how.nsnapshots);
  how.snapshots = snapshots;
  j->at = kv__file_named(db, "a compaction");
  nay_status status = nay_sst_compact_to(ssts, j->pick.n, &outputs, &how, NULL, &j->at.diag, NULL);
  free(ssts);
  free(snapshots);
  status = kv__blame(&j->error, status, &j->at);
  for (size_t i = 0; i < j->nout && status == NAY_OK; i++)
    status = kv__table_open(db, j->out[i], &j->error);
  return status;
}

static nay_status job_move(job *j) {
  job_add(j, table_new(j->pick.change.to, j->pick.inputs[0]->number));
  return kv__table_open(j->db, j->out[0], &j->error);
}

/* ---- both ---- */

/* The levels with the outputs in the place of the inputs. */
static nay_status job_levels(job *j, nay_status status, kv_levels **levels) {
  kv_view *now = kv__view_ref(j->db); /* a compaction may have been interrupted by flushes */
  for (size_t i = 0; i < j->pick.n && status == NAY_OK; i++) j->pick.inputs[i]->merged = true;
  if (status == NAY_OK)
    status = kv__levels_next(now->levels, j->out, j->nout, &j->pick.change, &j->error, levels);
  else
    for (size_t i = 0; i < j->nout; i++) kv__table_unref(j->out[i]);
  kv__view_unref(now);
  return status;
}

/* With the writer lock: the view with the levels, which it owns. */
static kv_view *job_view(const job *j, kv_levels *levels) {
  kv_view *v = kv__view_next(j->db->view);
  kv__levels_unref(v->levels);
  v->levels = levels;
  if (j->pick.n != 0) return v;
  v->sequence = v->imm->last;
  kv__memtable_unref(v->imm);
  v->imm = NULL;
  return v;
}

/* What the job makes replaces what it is made of: in the next view, then on the disk. */
static void job_run(job *j) {
  kv *db = j->db;
  bool flush = j->pick.n == 0;
  uint64_t *bytes = flush ? &db->stats.flushed : &db->stats.compacted, written = 0;
  kv_levels *levels = NULL;
  j->moves = j->pick.n == 1;
  nay_status status = flush ? job_flush(j) : j->moves ? job_move(j) : job_merge(j);
  status = job_levels(j, status, &levels);
  for (size_t i = 0; i < j->nout && status == NAY_OK && !j->moves; i++) written += j->out[i]->bytes;
  pthread_mutex_lock(&db->writer);
  *bytes += written;
  if (status == NAY_OK) status = kv__view_commit(db, job_view(j, levels), status, &j->error);
  if (status != NAY_OK && status != NAY_ECANCELED && db->failed == NAY_OK) {
    db->failed = status;
    db->failure = j->error;
  }
  pthread_cond_broadcast(&db->changed);
  pthread_mutex_unlock(&db->writer);
  if (status == NAY_OK && flush) unlink(j->view->imm->at.path);
  for (size_t i = 0; i < j->pick.n && status == NAY_OK && !j->moves; i++) {
    kv_file at = kv__file_numbered(db, j->pick.inputs[i]->number, "ldb");
    nay_sst_pool_evict(db->pool, at.path);
    unlink(at.path);
  }
}

static void job_end(job *j) {
  kv__view_unref(j->view);
  free(j->out);
  free(j->pick.inputs);
}

/* Of a compaction, now and then. */
static nay_status job_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  kv *db = ctx;
  job flush = {.db = db, .view = kv__view_ref(db)};
  (void)so_far;
  if (flush.view->imm != NULL) job_run(&flush);
  job_end(&flush);
  return db->failed == NAY_OK && !db->closing ? NAY_OK : NAY_ECANCELED;
}

void *kv__background(void *ctx) {
  kv *db = ctx;
  while (!db->closing) {
    job j = {.db = db, .view = kv__view_ref(db)};
    bool flush = j.view->imm != NULL, failed = db->failed != NAY_OK;
    if (!flush && !failed) j.pick = kv__pick(j.view->levels, db->options.write_buffer);
    bool work = !failed && (flush || j.pick.n != 0);
    if (work) job_run(&j);
    job_end(&j);
    if (work) continue;
    pthread_mutex_lock(&db->writer);
    /* a put may have filled the memtable since the view was taken */
    db->idle = db->failed != NAY_OK || db->view->imm == NULL;
    pthread_cond_broadcast(&db->changed);
    while (db->idle && !db->closing) pthread_cond_wait(&db->changed, &db->writer);
    pthread_mutex_unlock(&db->writer);
  }
  return NULL;
}
