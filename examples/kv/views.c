/*
 * views.c - tables, views and the manifest.
 *
 * A view is all that a reader needs: memtables, tables, the lookup over them. Who has a reference
 * to a view keeps all of that alive, whatever replaces it. A change makes the next view, saves it
 * as the manifest, and puts it in the place of the current one.
 *
 * The MANIFEST says which files are the store. It is a small text, replaced as a whole and
 * atomically, so that a crash leaves the old one or the new one.
 *
 *   kv 1
 *   comparator leveldb.BytewiseComparator
 *   store 89abcdef01234567   its id
 *   logs 5 7                 of the full memtable (0: there is none), of the one that takes puts
 *   sequence 1234            what is above it is in the logs
 *   table 0 6 2097152 1234   level, number, bytes, largest sequence
 *   check 0123456789abcdef   SipHash-1-3 of all above, with a key of zeros
 *
 * To check one, the store reads it and writes what it has understood: the texts must be the same.
 */
#include "files.c"

#define COMPARATOR "leveldb.BytewiseComparator"
#define FORMAT(u64) "%" u64 " %" u64 " %" u64
#define MAX_NUMBER 999999999999u /* of a file */

/* Fills in bytes, sequences and keys. A table that the manifest names has to be the one that it
 * says. Its largest key is the exact one: that of the index may be far above it, and compactions
 * would merge what does not overlap. */
static nay_status table_open(const kv *db, table *t, kv_error *error) {
  const table named = *t;
  file at = file_of(db, t->number, "ldb");
  nay_sst_info info = {.size = sizeof info};
  nay_sst_properties has = {.size = sizeof has};
  nay_sst_read_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL};
  nay_status status = nay_sst_open(at.path, &how, NULL, &at.diag, &t->sst);
  if (status != NAY_OK) return blame(error, status, &at);
  nay_sst_describe(t->sst, &info);
  nay_sst_stated(t->sst, &has);
  t->bytes = info.nbytes;
  t->last = has.largest_sequence;
  t->smallest = (kv_slice){has.smallest, has.smallest_len};
  t->largest = (kv_slice){has.largest, has.largest_len};
  bool same = named.bytes == t->bytes && named.last == t->last;
  if (has.smallest != NULL && (same || named.bytes == 0)) return NAY_OK;
  return fail(error, NAY_ECORRUPT, "%s: not the table that was written", at.path);
}

static view *view_ref(kv *db) {
  pthread_mutex_lock(&db->mutex);
  view *v = db->view;
  v->refs++;
  pthread_mutex_unlock(&db->mutex);
  return v;
}

static void view_unref(view *v) {
  if (v == NULL || atomic_fetch_sub(&v->refs, 1) > 1) return;
  memtable_unref(v->mem);
  memtable_unref(v->imm);
  nay_lookup_free(v->lookup);
  for (size_t i = 0; i < v->n; i++) {
    if (atomic_fetch_sub(&v->tables[i]->refs, 1) > 1) continue;
    nay_sst_free(v->tables[i]->sst);
    free(v->tables[i]);
  }
  free(v);
}

/* A copy to be changed, without tables that were merged, with room for more. */
static view *view_next(const view *v, size_t more) {
  view *next = alloc(sizeof *v + ((v != NULL ? v->n : 0) + more) * sizeof v->tables[0]);
  next->refs = 1;
  if (v == NULL) return next;
  next->sequence = v->sequence;
  next->mem = v->mem;
  next->imm = v->imm;
  next->mem->refs++;
  if (next->imm != NULL) next->imm->refs++;
  for (size_t i = 0; i < v->n; i++) {
    if (v->tables[i]->merged) continue;
    next->tables[next->n++] = v->tables[i];
    v->tables[i]->refs++;
  }
  return next;
}

static int table_order(const void *a, const void *b) {
  const table *s = *(table *const *)a, *t = *(table *const *)b;
  if (s->level != t->level) return s->level < t->level ? -1 : 1;
  return s->level == 0 ? (s->number < t->number ? 1 : -1) : compare(s->smallest, t->smallest);
}

/* Sorts the tables, and makes the lookup. */
static nay_status view_index(view *v, kv_error *error) {
  const nay_sst **ssts = alloc((v->n + 1) * sizeof(nay_sst *));
  nay_lookup_level levels[KV_LEVELS];
  nay_diag diag = {.what = ""};
  if (v->n > 1) qsort(v->tables, v->n, sizeof v->tables[0], table_order);
  for (size_t i = 0; i < v->n; i++) {
    ssts[i] = v->tables[i]->sst;
    v->count[v->tables[i]->level]++;
    v->bytes[v->tables[i]->level] += v->tables[i]->bytes;
  }
  for (size_t i = 0, at = 0; i < KV_LEVELS; at += v->count[i++])
    levels[i] = (nay_lookup_level){sizeof levels[i], ssts + at, v->count[i], i > 0};
  nay_status status = nay_lookup_new_levels(levels, KV_LEVELS, NULL, NULL, &diag, &v->lookup);
  free(ssts);
  if (status == NAY_OK) return NAY_OK; /* else levels overlap */
  return fail(error, NAY_ECORRUPT, "%06" PRIu64 ".ldb: %s",
              diag.offset < v->n ? v->tables[diag.offset]->number : 0, diag.what);
}

/* ---- manifest ---- */

static char *manifest_text(const view *v, const char *comparator, size_t *len) {
  char *text = NULL;
  FILE *out = open_memstream(&text, len);
  if (out == NULL) abort();
  fprintf(out, "kv 1\ncomparator %s\nstore %016" PRIx64 "\n", comparator, v->mem->store);
  fprintf(out, "logs %" PRIu64 " %" PRIu64 "\n", v->imm != NULL ? v->imm->log : 0, v->mem->log);
  fprintf(out, "sequence %" PRIu64 "\n", v->sequence);
  for (size_t i = 0; i < v->n; i++) {
    const table *t = v->tables[i];
    fprintf(out, "table %u " FORMAT(PRIu64) "\n", t->level, t->number, t->bytes, t->last);
  }
  fflush(out);
  fprintf(out, "check %016" PRIx64 "\n", checksum(&(memtable){.store = 0}, text, *len));
  fclose(out);
  return text;
}

static nay_status manifest_save(const kv *db, const view *v, kv_error *error) {
  file at = file_of(db, 0, "MANIFEST");
  size_t len;
  if (db->next > MAX_NUMBER) return fail(error, NAY_EFULL, "file numbers are used up");
  char *text = manifest_text(v, COMPARATOR, &len);
  nay_status status = nay_file_write(at.path, 0, text, len, &at.diag);
  free(text);
  return blame(error, status, &at);
}

/* What cannot be is left out of the view: there the texts differ. */
static nay_status manifest_parse(kv *db, char *text, size_t len, kv_error *error) {
  char name[NAY_SST_COMPARATOR_NAME] = "";
  uint64_t store = 0, imm = 0, log = 0;
  table t = {.refs = 1};
  view *v = db->view = view_next(NULL, len / 14); /* "table 0 1 1 1" */
  FILE *in = fmemopen(text, len + 1, "r");
  if (in == NULL) abort();
  int n = fscanf(in, "kv 1 comparator %55s store %" SCNx64, name, &store);
  n += fscanf(in, " logs %" SCNu64 " %" SCNu64 " sequence %" SCNu64, &imm, &log, &v->sequence);
  v->mem = memtable_new(db, store, n == 5 && log <= MAX_NUMBER ? log : 0, v->sequence);
  db->next = log + 1;
  if (imm != 0 && imm < log) v->imm = memtable_new(db, store, imm, v->sequence);
  while (fscanf(in, " table %u " FORMAT(SCNu64), &t.level, &t.number, &t.bytes, &t.last) == 4) {
    if (t.level >= KV_LEVELS || t.number - 1 >= MAX_NUMBER || t.last > v->sequence) break;
    if (db->next <= t.number) db->next = t.number + 1;
    v->tables[v->n] = alloc(sizeof t);
    *v->tables[v->n++] = t;
  }
  fclose(in);
  size_t at = 0, same_len;
  char *same = manifest_text(v, name, &same_len);
  while (at < len && at < same_len && text[at] == same[at]) at++;
  free(same);
  if (at < len || at < same_len || v->mem->log == 0 || v->sequence > NAY_SST_MAX_SEQUENCE)
    return fail(error, NAY_ECORRUPT, "MANIFEST: damaged at offset %zu", at);
  if (strcmp(name, COMPARATOR) == 0) return NAY_OK;
  return fail(error, NAY_EMISMATCH, "MANIFEST: made with comparator %s", name);
}

/* ---- the next view ---- */

/* With the writer lock: the view is saved, and readers that come see it. If that fails, or status
 * says that what came before did, the view is freed. */
static nay_status view_commit(kv *db, view *v, nay_status status, kv_error *error) {
  if (status == NAY_OK) status = view_index(v, error);
  if (status == NAY_OK) status = manifest_save(db, v, error);
  pthread_mutex_lock(&db->mutex);
  view *old = status == NAY_OK ? db->view : v;
  if (status == NAY_OK) db->view = v;
  pthread_mutex_unlock(&db->mutex);
  view_unref(old);
  pthread_cond_broadcast(&db->changed);
  return status;
}
