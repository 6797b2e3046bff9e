/*
 * compaction.c - the background thread: tables are merged downwards.
 *
 *   level 0     tables that overlap, each a memtable; 4 of them are merged into level 1
 *   level 1     10 MiB of tables whose ranges of keys are disjoint
 *   level n     10 times level n - 1
 *
 * A level that is too large gives the table with the least to merge, level 0 all of its tables;
 * what overlaps them one level below is merged with them, and the outputs go there. A deletion is
 * dropped when no level further down has a table with its key. Entries that a snapshot sees are
 * kept.
 *
 * The order on disk makes a crash harmless: first the outputs, synced; then the manifest, which
 * makes them part of the store and ends the inputs; then the inputs are removed. Readers that have
 * them open keep them until they are done.
 */
#include <nay_compact.h>

#include "parts.h"

/* job: tables that leave (they are merging, in the view), tables that come. */
typedef struct job {
  kv *db;
  kv_view *view; /* its tables stay those of the store: this thread alone replaces them */
  kv_view *out;  /* has nothing but the outputs */
  kv_error error;
  unsigned level;             /* inputs are of this one and the next */
  kv_slice smallest, largest; /* keys of the inputs */
  size_t nin;
  kv_name path; /* of the last output */
} job;

const nay_sst_write_options kv_table_options = {sizeof kv_table_options,
                                                .filter = NAY_SST_FULL_FILTER};

/* With the writer lock: the view without the inputs, with the outputs; then the inputs go. Tables
 * that were flushed in the meantime stay. */
static nay_status job_install(job *j) {
  kv_view *now = j->db->view, *v = kv_view_next(now, j->out->n);
  v->n = 0;
  for (size_t i = 0; i < now->n; i++)
    if (!now->tables[i]->merging) v->tables[v->n++] = now->tables[i];
  for (size_t i = 0; i < j->out->n; i++) {
    v->tables[v->n++] = j->out->tables[i];
    j->db->stats.compacted += j->out->tables[i]->bytes;
  }
  j->out->n = 0;
  nay_status status = kv_view_commit(j->db, v, NAY_OK, &j->error);
  for (size_t i = 0; i < j->view->n && status == NAY_OK; i++)
    if (j->view->tables[i]->merging) unlink(kv_path(j->db, j->view->tables[i]->number, "ldb").text);
  return status;
}

static bool job_overlaps(const job *j, const kv_table *t) {
  return kv_compare(t->smallest, j->largest) <= 0 && kv_compare(j->smallest, t->largest) <= 0;
}

static void job_take(job *j, kv_table *t) {
  if (j->nin == 0 || kv_compare(t->smallest, j->smallest) < 0) j->smallest = t->smallest;
  if (j->nin == 0 || kv_compare(t->largest, j->largest) > 0) j->largest = t->largest;
  t->merging = true;
  j->nin++;
}

/* How many bytes of the next level a byte of this table is merged with. */
static double job_cost(const kv_view *v, const kv_table *t) {
  const job one = {.smallest = t->smallest, .largest = t->largest};
  double bytes = 0;
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == t->level + 1 && job_overlaps(&one, v->tables[i]))
      bytes += (double)v->tables[i]->bytes;
  return bytes / (double)t->bytes;
}

/* The level that is most above its size, and its inputs. */
static bool job_pick(job *j) {
  kv_view *v = j->view;
  double most = 1, limit = (double)j->db->options.write_buffer * 2.5;
  const kv_table *best = NULL;
  uint64_t bytes;
  j->level = KV_LEVELS;
  for (unsigned level = 0; level + 1 < KV_LEVELS; level++) {
    size_t n = kv_level(v, level, &bytes);
    double score = level == 0 ? (double)n / KV_COMPACT_TABLES : (double)bytes / limit;
    if (score >= most) most = score, j->level = level;
    if (level > 0) limit *= 10;
  }
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i]->level == j->level)
      if (best == NULL || job_cost(v, v->tables[i]) < job_cost(v, best)) best = v->tables[i];
  for (size_t i = 0; i < v->n; i++)
    if (v->tables[i] == best || v->tables[i]->level + j->level == 0) job_take(j, v->tables[i]);
  const job upper = *j;
  for (size_t i = 0; i < v->n && best != NULL; i++)
    if (v->tables[i]->level == j->level + 1 && job_overlaps(&upper, v->tables[i]))
      job_take(j, v->tables[i]);
  return best != NULL;
}

static const char *job_next(void *ctx) {
  job *j = ctx;
  j->path = kv_path(j->db, atomic_fetch_add(&j->db->next, 1), "ldb");
  return j->error.text[0] == 0 ? j->path.text : NULL;
}

static void job_done(void *ctx, const nay_sst_output *output) {
  job *j = ctx;
  kv_table *t = kv_alloc(sizeof *t);
  t->level = j->level + 1;
  t->number = strtoull(strrchr(output->path, '/') + 1, NULL, 10);
  j->out = kv_grow(j->out, sizeof *j->out + (j->out->n + 1) * sizeof t);
  j->out->tables[j->out->n++] = t;
  kv_table_open(j->db, t, &j->error);
}

static bool job_progress(void *ctx, const nay_sst_compact_stats *so_far) {
  return (void)so_far, !((job *)ctx)->db->closing;
}

static nay_status job_merge(job *j) {
  kv *db = j->db;
  const kv_view *v = j->view;
  nay_diag diag = {.what = ""};
  nay_sst_outputs outputs = {sizeof outputs, .next = job_next, .done = job_done, .ctx = j};
  nay_sst_compact_options how = {sizeof how, .write = &kv_table_options, .bottom = true};
  how.target_bytes = db->options.write_buffer / 2;
  how.progress = job_progress, how.progress_ctx = j;
  const nay_sst **ssts = kv_alloc(j->nin * sizeof(nay_sst *));
  for (size_t i = 0, n = 0; i < v->n; i++) { /* newest first, as in the view */
    if (v->tables[i]->merging) ssts[n++] = v->tables[i]->sst;
    if (v->tables[i]->level > j->level + 1 && job_overlaps(j, v->tables[i])) how.bottom = false;
  }
  pthread_mutex_lock(&db->mutex);
  how.nsnapshots = db->nsnapshots;
  uint64_t *snapshots = kv_alloc((how.nsnapshots + 1) * sizeof *snapshots);
  for (size_t i = 0; i < how.nsnapshots; i++) snapshots[i] = db->snapshots[i];
  pthread_mutex_unlock(&db->mutex);
  how.snapshots = snapshots;
  nay_status status = nay_sst_compact_to(ssts, j->nin, &outputs, &how, NULL, &diag, NULL);
  free(ssts);
  free(snapshots);
  if (j->error.text[0] != 0) return NAY_EIO; /* of job_done */
  return status == NAY_OK ? NAY_OK : kv_blame(&j->error, status, j->path.text, &diag);
}

void *kv_background(void *ctx) {
  kv *db = ctx;
  pthread_mutex_lock(&db->writer);
  while (!db->closing) {
    job j = {.db = db, .view = kv_view_ref(db), .out = kv_view_next(NULL, 0)};
    db->idle = db->failed != NAY_OK || !job_pick(&j);
    if (!db->idle) {
      pthread_mutex_unlock(&db->writer);
      nay_status status = job_merge(&j);
      pthread_mutex_lock(&db->writer);
      if (status == NAY_OK) status = job_install(&j);
      if (db->failed == NAY_OK && status != NAY_OK && status != NAY_ECANCELED)
        db->failure = j.error, db->failed = status;
    }
    kv_view_unref(db, j.out);
    kv_view_unref(db, j.view);
    pthread_cond_broadcast(&db->changed);
    if (db->idle) pthread_cond_wait(&db->changed, &db->writer);
  }
  pthread_mutex_unlock(&db->writer);
  return NULL;
}
