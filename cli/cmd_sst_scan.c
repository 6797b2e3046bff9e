/*
 * cmd_sst_scan.c - nay sst scan: the entries of tables in order, or of a range. One table is walked
 * by its own iterator, which also tells what only its engine has; many, or backwards, by a merging
 * iterator.
 */
#include <stdlib.h>
#include <string.h>

#include "key_print.h"
#include "keys.h"
#include "numbers.h"
#include "select.h"
#include "table_foreign.h"
#include "tables.h"

#include <nay_sst_iter.h>

typedef struct scan {
  const sst_options *o;
  bool internal;
  bool terms;             /* nori: a version is a term and an index */
  const nay_sst_iter *it; /* of one table */
  uint8_t *last;          /* user key of the entry before */
  size_t last_len, last_cap;
  bool has_last;
  uint64_t selected;
  char *text; /* of a typed key */
  size_t text_cap;
} scan;

/* Whether the user sees this version: the newest of its key, and not a deletion. */
static bool scan_is_seen(scan *s, const nay_sst_entry *v) {
  bool same = s->has_last && v->len == s->last_len && memcmp(v->key, s->last, v->len) == 0;
  if (same) return false;
  if (s->last_cap < v->len + 1) {
    s->last_cap = 2 * v->len + 64;
    s->last = must_grow(s->last, s->last_cap);
  }
  memcpy(s->last, v->key, v->len);
  s->last_len = v->len;
  s->has_last = true;
  return v->type != NAY_SST_DELETE;
}

/* The key as --key says it is written. */
static const char *scan_key(scan *s, const char *path, const nay_sst_entry *v, size_t *len) {
  char shown[80];
  if (s->text_cap < key_print_size(v->len)) {
    s->text_cap = 2 * key_print_size(v->len);
    s->text = must_grow(s->text, s->text_cap);
  }
  if (!key_print(s->o->keys.type, v->key, v->len, s->text, len)) {
    die(EXIT_TROUBLE, "%s: the key '%s' is not of type %s: %s", path,
        escape_text(v->key, v->len, shown, sizeof shown),
        nay_key_type_name((nay_key_type)s->o->keys.type),
        s->o->keys.type_given ? "omit --key" : "--key=hex shows the bytes of keys");
  }
  return s->text;
}

static void scan_print(scan *s, const char *path, const nay_sst_entry *v, const void *value,
                       size_t value_len) {
  bool tells_version = s->o->versions && s->internal;
  size_t len;
  if (s->o->select.count) return;
  const char *key = scan_key(s, path, v, &len);
  if (s->o->common.json) {
    json_open(NULL, '{');
    json_bytes("key", (const uint8_t *)key, len);
    if (tells_version && s->terms) json_count("term", v->term);
    if (tells_version) json_count("sequence", v->sequence);
    if (tells_version) json_bool("deleted", v->type == NAY_SST_DELETE);
    if (tells_version && v->type == NAY_SST_MERGE) json_bool("merge", true);
    if (v->type != NAY_SST_DELETE && !s->o->no_values) json_bytes("value", value, value_len);
    json_end();
    return;
  }
  if (tells_version && s->terms) {
    out_text("%llu:", (unsigned long long)v->term);
  }
  if (tells_version) {
    static const char *const types[] = {"put", "delete", "merge"};
    out_text("%llu\t%s\t", (unsigned long long)v->sequence, types[v->type]);
  }
  table_print_entry(s->o, key, len, value, value_len);
}

static void scan_entry(scan *s, const char *path, const nay_sst_iter *it) {
  size_t value_len;
  const void *value = nay_sst_iter_value(it, &value_len);
  nay_sst_entry v = {.size = sizeof v};
  if (!s->internal) {
    v.key = nay_sst_iter_key(it, &v.len);
  } else if (nay_sst_iter_entry(it, &v) != NAY_OK) {
    die(EXIT_DAMAGED, "%s: a key is not an internal key", path);
  }
  if (s->internal && v.sequence > s->o->snapshot) return;
  if (v.type == NAY_SST_MERGE && !s->o->versions) {
    die(EXIT_TROUBLE, "%s: a key has merge operands, which need their operator: use --versions",
        path);
  }
  if (s->internal && !s->o->versions && !scan_is_seen(s, &v)) return;
  s->selected++;
  scan_print(s, path, &v, value, value_len);
}

static nay_status scan_start(const sst_options *o, nay_sst_iter *it) {
  size_t from_len = 0, to_len = 0, prefix_len = 0;
  uint8_t *from = key_of_text(&o->keys, "from", o->from, &from_len);
  uint8_t *to = key_of_text(&o->keys, "to", o->upto, &to_len);
  uint8_t *prefix = key_of_text(&o->keys, "prefix", o->prefix, &prefix_len);
  nay_status status = prefix != NULL ? nay_sst_iter_seek_prefix(it, prefix, prefix_len)
                                     : nay_sst_iter_seek_range(it, from, from_len, to, to_len);
  free(from);
  free(to);
  free(prefix);
  return status;
}

static void scan_one(scan *s, const nay_sst *table, const char *path) {
  nay_sst_iter *it;
  if (nay_sst_iter_new(table, NULL, &it) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  s->it = it;
  nay_status status = scan_start(s->o, it);
  while (status == NAY_OK && s->selected < s->o->select.max_count) {
    scan_entry(s, path, it);
    status = nay_sst_iter_next(it);
  }
  if (status != NAY_OK && status != NAY_EEND) table_die(path, status, nay_sst_iter_diag(it));
  nay_sst_iter_free(it);
}

/* ---- many tables ---- */

/* The file of a table of the list. */
static const char *scan_path(const table_list *t, const nay_sst *table) {
  for (size_t i = 0; i < t->n; i++) {
    if (t->at[i] == table) return t->names[i];
  }
  return t->names[0];
}

static nay_sst_scan *scan_merge(const sst_options *o, const table_list *t,
                                const nay_sst_lookup *lookup) {
  nay_sst_scan_options how = {.size = sizeof how, .all_versions = o->versions};
  if (o->snapshot != NUMBER_NOT_GIVEN) how.sequence = &o->snapshot;
  uint8_t *from = key_of_text(&o->keys, "from", o->from, &how.lower_len);
  uint8_t *to = key_of_text(&o->keys, "to", o->upto, &how.upper_len);
  uint8_t *prefix = key_of_text(&o->keys, "prefix", o->prefix, &how.prefix_len);
  how.lower = from;
  how.upper = to;
  how.prefix = prefix;
  nay_diag diag = {.what = NULL};
  nay_sst_scan *m;
  nay_status status = nay_sst_scan_new(lookup, &how, NULL, &diag, &m);
  bool of_table = status == NAY_EMISMATCH && diag.offset < t->n;
  if (status != NAY_OK) table_die(t->names[of_table ? diag.offset : 0], status, &diag);
  free(from);
  free(to);
  free(prefix);
  return m;
}

static void scan_many(scan *s, const table_list *t) {
  const sst_options *o = s->o;
  nay_sst_lookup *lookup;
  nay_diag diag = {.what = NULL};
  nay_sst_lookup_level all = {.size = sizeof all, .tables = t->at, .n = t->n};
  nay_status status = nay_sst_lookup_new(&all, 1, NULL, NULL, &diag, &lookup);
  if (status != NAY_OK) table_die(t->names[diag.offset < t->n ? diag.offset : 0], status, &diag);
  nay_sst_scan *m = scan_merge(o, t, lookup);
  status = o->reverse ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
  while (status == NAY_OK && s->selected < o->select.max_count) {
    size_t len;
    nay_sst_entry v = {.size = sizeof v};
    (void)nay_sst_scan_entry(m, &v);
    const void *value = nay_sst_scan_value(m, &len);
    s->selected++;
    scan_print(s, scan_path(t, nay_sst_scan_table(m)), &v, value, len);
    status = o->reverse ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
  }
  if (status != NAY_OK && status != NAY_EEND) {
    table_die(scan_path(t, nay_sst_scan_table(m)), status, nay_sst_scan_diag(m));
  }
  nay_sst_scan_free(m);
  nay_sst_lookup_free(lookup);
}

/* --key=hex and b64 show the bytes of keys of any type. */
static bool scan_shows_bytes(const sst_options *o) {
  return o->keys.type == NAY_KEY_HEX || o->keys.type == NAY_KEY_B64;
}

/* -c: with --json also what the scan did in each table. */
static void scan_count(const scan *s, const table_list *t) {
  const sst_options *o = s->o;
  if (!selection_counts(&o->common, &o->select)) return;
  if (!o->common.json) {
    out_text("%llu\n", (unsigned long long)s->selected);
    return;
  }
  json_begin("nay.sst.scan/1");
  json_count("nselected", s->selected);
  json_open("tables", '[');
  for (size_t i = 0; i < t->n; i++) {
    nay_sst_info info = {.size = sizeof info};
    nay_sst_stats(t->at[i], &info);
    json_open(NULL, '{');
    json_text("table", t->names[i]);
    json_count("nrange_checks", info.counters.range_checks);
    json_count("nrange_useful", info.counters.range_useful);
    json_count("nrange_false_positives", info.counters.range_false_positives);
    json_count("nprefix_checks", info.counters.prefix_checks);
    json_count("nprefix_useful", info.counters.prefix_useful);
    json_count("nfilter_faults", info.counters.filter_faults);
    json_count("nblock_reads", info.counters.block_reads);
    json_close();
  }
  json_close();
  json_end();
}

/* A table that its prefix filter excludes is not searched: no block of it is read. */
static void scan_report(const table_list *t) {
  uint64_t checks = 0, useful = 0, reads = 0;
  nay_sst_info is = {.size = sizeof is};
  for (size_t i = 0; i < t->n; i++) {
    nay_sst_stats(t->at[i], &is);
    checks += is.counters.prefix_checks;
    useful += is.counters.prefix_useful;
    reads += is.counters.block_reads;
  }
  if (checks == 0) return;
  char probed[NUMBER_TEXT], nays[NUMBER_TEXT], blocks[NUMBER_TEXT];
  message("prefix filters probed: %s, tables excluded by them: %s, blocks read: %s",
          count_text((double)checks, probed), count_text((double)useful, nays),
          count_text((double)reads, blocks));
}

int sst_scan(sst_options *o) {
  if (o->prefix != NULL && (o->from != NULL || o->upto != NULL)) {
    die(EXIT_TROUBLE, "--prefix excludes --from and --to");
  }
  table_list t = tables_of(o);
  scan s = {.o = o};
  tables_have_versions(o, &t);
  if (scan_shows_bytes(o)) tables_agree(&t);
  if (!scan_shows_bytes(o)) tables_described(o, &t);
  for (size_t i = 0; i < t.n; i++) {
    nay_sst_info info = {.size = sizeof info};
    nay_sst_foreign_info foreign = {.size = sizeof foreign};
    nay_sst_stats(t.at[i], &info);
    s.internal |= info.keys == NAY_SST_KEYS_INTERNAL;
    s.terms |=
        table_is_foreign(t.at[i], &foreign) && strcmp(foreign.versions, "term and index") == 0;
  }
  bool one = t.n == 1 && !o->reverse;
  if (s.terms && o->versions && !one) {
    die(EXIT_TROUBLE, "--versions of tables with terms: one table at a time, without --reverse");
  }
  if (one) {
    scan_one(&s, t.at[0], t.names[0]);
  } else {
    scan_many(&s, &t);
  }
  scan_count(&s, &t);
  out_flush();
  if (!o->common.json) scan_report(&t);
  free(s.last);
  free(s.text);
  tables_close(&t);
  return s.selected > 0 ? EXIT_FOUND : EXIT_NONE;
}
