/*
 * background.c - the background thread: the full memtable becomes a table, tables are merged
 * downwards.
 *
 *   level 0     tables that overlap, each a memtable; 4 of them are too many
 *   level 1     10 MiB of tables whose ranges of keys are disjoint
 *   level n     10 times level n - 1
 *
 * The level that is most above its size gives the table with the least to merge, level 0 also those
 * that overlap it; what overlaps them one level below is merged with them, and the outputs go
 * there. A table that has nothing to be merged with moves: it is of the next level then, and is not
 * written again. A deletion is dropped when no level further down has a table with its key. Entries
 * that a snapshot sees are kept. A memtable that gets full in the meantime is written first.
 *
 * The order on disk makes a crash harmless: first the outputs, synced; then the manifest, which
 * makes them part of the store and ends the inputs; then the inputs are removed. Readers that have
 * them open keep them until they are done.
 */
#include "views.c"

/* job: a compaction, or the flush of the immutable memtable. */
typedef struct job {
  kv *db;
  view *view;       /* its tables stay those of the store: this thread alone replaces them */
  unsigned to;      /* level of the outputs; 0: it is a flush */
  size_t nin, nout; /* inputs: the tables of the view that are merging */
  kv_slice smallest, largest; /* keys of the inputs */
  table **out;
  file at; /* the last output */
  kv_error error;
} job;

static const nay_sst_write_options table_options = {
    sizeof table_options, .filter = NAY_SST_FULL_FILTER, .properties = true};

/* A table that is about to be written. */
static const char *job_next(void *ctx) {
  job *j = ctx;
  table *t = alloc(sizeof *t);
  *t = (table){.refs = 1, .level = j->to, .number = j->db->next++};
  j->out = grow(j->out, (j->nout + 1) * sizeof t);
  j->out[j->nout++] = t;
  j->at = file_of(j->db, t->number, "ldb");
  return j->at.path;
}

static nay_status job_flush(job *j) {
  const nay_memtable *list = j->view->imm->list;
  nay_status status = nay_memtable_write(list, job_next(j), &table_options, &j->at.diag);
  return blame(&j->error, status, &j->at);
}

/* ---- compaction ---- */

static void job_take(job *j, table *t) {
  if (j->nin == 0 || compare(t->smallest, j->smallest) < 0) j->smallest = t->smallest;
  if (j->nin == 0 || compare(t->largest, j->largest) > 0) j->largest = t->largest;
  t->merging = true;
  j->nin++;
}

/* The bytes of a level's tables that overlap the inputs. take: they become inputs. */
static uint64_t job_overlap(job *j, unsigned level, bool take) {
  const kv_slice smallest = j->smallest, largest = j->largest;
  uint64_t bytes = 0;
  for (size_t i = 0; i < j->view->n; i++) {
    table *t = j->view->tables[i];
    if (t->level != level || t->merging) continue;
    if (compare(t->smallest, largest) > 0 || compare(smallest, t->largest) > 0) continue;
    bytes += t->bytes;
    if (take) job_take(j, t);
  }
  return bytes;
}

/* The level that is most above its size, and its inputs. */
static bool job_pick(job *j) {
  const view *v = j->view;
  double most = (double)v->count[0] / COMPACT_TABLES, least = 0;
  double limit = (double)j->db->options.write_buffer * 2.5;
  table *best = NULL;
  j->to = 1;
  for (unsigned level = 1; level + 1 < KV_LEVELS; level++, limit *= 10) {
    if ((double)v->bytes[level] / limit <= most) continue;
    most = (double)v->bytes[level] / limit;
    j->to = level + 1;
  }
  for (size_t i = 0; i < v->n && most >= 1; i++) {
    table *t = v->tables[i];
    job one = {.view = j->view, .smallest = t->smallest, .largest = t->largest};
    double cost = (double)job_overlap(&one, j->to, false) / (double)t->bytes;
    if (t->level + 1 != j->to || (best != NULL && cost >= least)) continue;
    least = cost;
    best = t;
  }
  if (best == NULL) return false;
  job_take(j, best);
  while (j->to == 1 && job_overlap(j, 0, true) != 0) continue;
  job_overlap(j, j->to, true);
  if (j->nin == 1) job_next(j); /* it moves */
  if (j->nin == 1) j->out[0]->number = best->number;
  return true;
}

static bool job_progress(void *ctx, const nay_sst_compact_stats *so_far);

static nay_status job_merge(job *j) {
  kv *db = j->db;
  nay_sst_outputs outputs = {sizeof outputs, .next = job_next, .ctx = j};
  nay_sst_compact_options how = {sizeof how, &table_options, true, .progress = job_progress};
  how.target_bytes = db->options.write_buffer / 2;
  how.progress_ctx = db;
  for (unsigned level = j->to + 1; level < KV_LEVELS; level++)
    how.bottom &= job_overlap(j, level, false) == 0;
  const nay_sst **ssts = alloc(j->nin * sizeof(nay_sst *));
  for (size_t i = 0, n = 0; i < j->view->n; i++) /* newest first, as in the view */
    if (j->view->tables[i]->merging) ssts[n++] = j->view->tables[i]->sst;
  pthread_mutex_lock(&db->mutex);
  how.nsnapshots = db->nsnapshots;
  uint64_t *snapshots = alloc((how.nsnapshots + 1) * sizeof *snapshots);
  for (size_t i = 0; i < how.nsnapshots; i++) snapshots[i] = db->snapshots[i];
  pthread_mutex_unlock(&db->mutex);
  how.snapshots = snapshots;
  j->at = file_of(db, 0, "a compaction");
  nay_status status = nay_sst_compact_to(ssts, j->nin, &outputs, &how, NULL, &j->at.diag, NULL);
  free(ssts);
  free(snapshots);
  return blame(&j->error, status, &j->at);
}

/* ---- both ---- */

/* What the job makes replaces what it is made of: in the next view, then on the disk. */
static void job_run(job *j) {
  kv *db = j->db;
  bool moves = j->nout != 0;
  nay_status status = moves ? NAY_OK : j->to == 0 ? job_flush(j) : job_merge(j);
  uint64_t *bytes = j->to == 0 ? &db->stats.flushed : &db->stats.compacted;
  for (size_t i = 0; i < j->nout && status == NAY_OK; i++)
    status = table_open(db, j->out[i], &j->error);
  pthread_mutex_lock(&db->writer);
  for (size_t i = 0; i < j->view->n && status == NAY_OK && j->to != 0; i++)
    j->view->tables[i]->merged = j->view->tables[i]->merging;
  view *v = view_next(db->view, j->nout);
  if (j->to == 0) {
    v->sequence = v->imm->last;
    memtable_unref(v->imm);
    v->imm = NULL;
  }
  for (size_t i = 0; i < j->nout; i++) {
    v->tables[v->n++] = j->out[i];
    if (!moves) *bytes += j->out[i]->bytes;
  }
  status = view_commit(db, v, status, &j->error);
  if (status != NAY_OK && status != NAY_ECANCELED && db->failed == NAY_OK) {
    db->failed = status;
    db->failure = j->error;
  }
  pthread_mutex_unlock(&db->writer);
  if (status == NAY_OK && j->to == 0) unlink(j->view->imm->at.path);
  for (size_t i = 0; i < j->view->n && status == NAY_OK && !moves; i++)
    if (j->view->tables[i]->merged) unlink(file_of(db, j->view->tables[i]->number, "ldb").path);
}

/* Of a compaction, now and then. */
static bool job_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  kv *db = ctx;
  job flush = {.db = db, .view = view_ref(db)};
  (void)so_far;
  if (flush.view->imm != NULL) job_run(&flush);
  view_unref(flush.view);
  free(flush.out);
  return db->failed == NAY_OK && !db->closing;
}

static void *background(void *ctx) {
  kv *db = ctx;
  pthread_mutex_lock(&db->writer);
  while (!db->closing) {
    job j = {.db = db, .view = view_ref(db)};
    bool idle = db->idle = db->failed != NAY_OK || (j.view->imm == NULL && !job_pick(&j));
    pthread_mutex_unlock(&db->writer);
    if (!idle) job_run(&j);
    view_unref(j.view);
    free(j.out);
    pthread_mutex_lock(&db->writer);
    pthread_cond_broadcast(&db->changed);
    if (db->idle && !db->closing) pthread_cond_wait(&db->changed, &db->writer);
  }
  pthread_mutex_unlock(&db->writer);
  return NULL;
}
