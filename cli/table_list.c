/* table_list.c - the tables of a command line, and the output that verbs of nay sst share. */
#include <stdlib.h>

#include "described.h"
#include "tables.h"

void tables_described(sst_options *o, const table_list *t) {
  for (size_t i = 0; i < t->n; i++) {
    nay_sst_info info = {.size = sizeof info};
    nay_sst_stats(t->at[i], &info);
    described_by(&o->keys, t->names[i], info.key);
  }
}

/* What the table states; NULL: nothing. */
static const char *table_states(const nay_sst *table) {
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(table, &info);
  return info.key;
}

void tables_agree(const table_list *t) {
  size_t first = t->n;
  for (size_t i = 0; i < t->n; i++) {
    const char *is = table_states(t->at[i]);
    if (is == NULL) continue;
    if (first == t->n) first = i;
    const char *was = table_states(t->at[first]);
    if (nay_key_description_same(was, is)) continue;
    die(EXIT_TROUBLE, "the keys of %s are of type %s, those of %s of type %s: they do not merge",
        t->names[first], was, t->names[i], is);
  }
}

const char *tables_key(const sst_options *o, const table_list *t) {
  bool given = described_is_given(&o->keys);
  const char *key = given ? described_key(&o->keys) : NULL;
  tables_agree(t);
  for (size_t i = 0; i < t->n; i++) {
    const char *is = table_states(t->at[i]);
    if (is == NULL && !given) {
      die(EXIT_TROUBLE,
          "%s does not say of which type its keys are, and the new table will: give --key "
          "(text: bytes as they are)",
          t->names[i]);
    }
    if (is == NULL) continue;
    if (key == NULL) key = is;
    if (nay_key_description_same(key, is)) continue;
    die(EXIT_TROUBLE, "%s: its keys are of type %s, and --key says %s: omit --key", t->names[i], is,
        key);
  }
  return key;
}

void tables_have_versions(const sst_options *o, const table_list *t) {
  if (o->snapshot == NUMBER_NOT_GIVEN && !o->versions) return;
  for (size_t i = 0; i < t->n; i++) {
    nay_sst_info info = {.size = sizeof info};
    nay_sst_stats(t->at[i], &info);
    if (info.smallest == NULL || info.keys == NAY_SST_KEYS_INTERNAL) continue;
    die(EXIT_TROUBLE, "%s: the keys are plain, without sequence numbers: omit --%s", t->names[i],
        o->versions ? "versions" : "snapshot");
  }
}

table_list tables_of(const sst_options *o) {
  return tables_open((const char *const *)o->common.operands + 1, (size_t)o->common.noperands - 1,
                     o->table_format);
}

table_list tables_open(const char *const *names, size_t n, const char *layout) {
  table_list t = {.names = names, .n = n};
  if (t.n == 0) die(EXIT_TROUBLE, "missing operand: a table");
  t.at = must_alloc(t.n * sizeof *t.at);
  t.prefixes = must_alloc(t.n * sizeof *t.prefixes);
  for (size_t i = 0; i < t.n; i++) t.at[i] = table_open(t.names[i], layout, &t.prefixes[i]);
  return t;
}

void tables_close(table_list *t) {
  for (size_t i = 0; i < t->n; i++) nay_sst_free((nay_sst *)(uintptr_t)t->at[i]);
  free(t->at);
  free(t->prefixes);
}

nay_status table_count(const nay_sst *table, nay_diag *diag, uint64_t *entries) {
  nay_sst_iter *it;
  *entries = 0;
  if (nay_sst_iter_new(table, NULL, &it) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) ++*entries;
  *diag = *nay_sst_iter_diag(it);
  nay_sst_iter_free(it);
  return status == NAY_EEND ? NAY_OK : status;
}

void table_print_entry(const sst_options *o, const void *key, size_t len, const void *value,
                       size_t value_len) {
  out_record(key, len);
  if (!o->no_values) {
    out_bytes("\t", 1);
    out_record(value, value_len);
  }
  out_bytes(o->keys.null ? "" : "\n", 1);
}
