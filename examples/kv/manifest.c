/*
 * manifest.c - the text that says which files are the store.
 *
 * It is small, and replaced as a whole and atomically, so that a crash leaves the old one or the
 * new one.
 *
 *   kv 1
 *   comparator leveldb.BytewiseComparator
 *   store 89abcdef01234567   its id
 *   logs 5 4194301 7 16      the log of the full memtable (0 0: there is none), of the one that
 *                            takes puts: number, offset up to which it is on the disk
 *   sequence 1234            what is above it is in the logs
 *   table 0 6 2097152 1234   level, number, bytes, largest sequence
 *   check 0123456789abcdef   SipHash-1-3 of all above, with a key of zeros
 *
 * To check one, the store reads it and writes what it has understood: the texts must be the same.
 */
#include <stdio.h>

#include "store.h"

#define COMPARATOR "leveldb.BytewiseComparator"

/* A view and the tables that are not yet in it. */
typedef struct manifest {
  const kv_view *view;
  kv_table *const *tables;
  size_t n;
} manifest;

static char *manifest_text(manifest m, const char *comparator, size_t *len) {
  char *text = NULL;
  const kv_memtable *mem = m.view->mem, *imm = m.view->imm;
  FILE *out = open_memstream(&text, len);
  if (out == NULL) abort();
  fprintf(out, "kv 1\ncomparator %s\nstore %016" PRIx64 "\n", comparator, mem->store);
  fprintf(out, "logs %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", imm != NULL ? imm->log : 0,
          imm != NULL ? imm->synced : 0, mem->log, mem->synced);
  fprintf(out, "sequence %" PRIu64 "\n", m.view->sequence);
  for (size_t i = 0; i < m.n; i++) {
    const kv_table *t = m.tables[i];
    fprintf(out, "table %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t->level, t->number, t->bytes,
            t->last);
  }
  fflush(out);
  fprintf(out, "check %016" PRIx64 "\n", kv__checksum(0, 0, text, *len));
  if (fclose(out) != 0) abort(); /* memory */
  return text;
}

nay_status kv__manifest_save(const kv *db, const kv_view *v, kv_error *error) {
  kv_file at = kv__file_named(db, "MANIFEST");
  size_t len;
  if (db->next > KV_MAX_FILE) return kv__fail(error, NAY_EFULL, "file numbers are used up");
  char *text = manifest_text((manifest){v, v->levels->tables, v->levels->n}, COMPARATOR, &len);
  nay_status status = kv__file_replace(&at, text, len);
  free(text);
  return kv__blame(error, status, &at);
}

/* Tables that cannot be are left out: there the texts differ. */
static size_t manifest_tables(kv *db, FILE *in, kv_table **tables) {
  kv_table t = {.refs = 1};
  size_t n = 0;
  while (fscanf(in, " table %u %" SCNu64 " %" SCNu64 " %" SCNu64, &t.level, &t.number, &t.bytes,
                &t.last) == 4) {
    if (t.level >= KV_LEVELS || t.number - 1 >= KV_MAX_FILE || t.last > db->view->sequence) break;
    if (db->next <= t.number) db->next = t.number + 1;
    tables[n] = kv__alloc(sizeof t);
    *tables[n++] = t;
  }
  return n;
}

nay_status kv__manifest_parse(kv *db, char *text, size_t len, kv_error *error, kv_table ***tables,
                              size_t *n) {
  char name[NAY_SST_COMPARATOR_NAME] = "";
  uint64_t store = 0, imm = 0, log = 0, imm_synced = 0, synced = 0;
  kv_view *v = db->view = kv__view_next(NULL);
  FILE *in = fmemopen(text, len + 1, "r");
  if (in == NULL) abort();
  int read = fscanf(in, "kv 1 comparator %55s store %" SCNx64, name, &store);
  read += fscanf(in, " logs %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &imm, &imm_synced, &log,
                 &synced);
  read += fscanf(in, " sequence %" SCNu64, &v->sequence);
  v->mem = kv__memtable_new(db, store, read == 7 && log <= KV_MAX_FILE ? log : 0, v->sequence);
  v->mem->synced = synced;
  db->next = log + 1;
  if (imm != 0 && imm < log) {
    v->imm = kv__memtable_new(db, store, imm, v->sequence);
    v->imm->synced = imm_synced;
  }
  *tables = kv__alloc((len / 14 + 1) * sizeof **tables); /* "table 0 1 1 1\n" */
  *n = manifest_tables(db, in, *tables);
  fclose(in);
  size_t at = 0, same_len;
  char *same = manifest_text((manifest){v, *tables, *n}, name, &same_len);
  while (at < len && at < same_len && text[at] == same[at]) at++;
  free(same);
  if (at < len || at < same_len || v->mem->log == 0 || v->sequence > NAY_SST_MAX_SEQUENCE)
    return kv__fail(error, NAY_ECORRUPT, "MANIFEST: damaged at offset %zu", at);
  if (strcmp(name, COMPARATOR) == 0) return NAY_OK;
  return kv__fail(error, NAY_EMISMATCH, "MANIFEST: made with comparator %s", name);
}
