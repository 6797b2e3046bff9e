/* cmd_sst_get.c - nay sst get: the values of keys, from the newest table that has them. */
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "interval.h"
#include "nay_sst_lookup.h"
#include "numbers.h"
#include "prom.h"
#include "select.h"
#include "tablefile.h"
#include "tables.h"

#define GET_BATCH 1024u /* keys that are looked up together: their values may pin a block each */

typedef struct get {
  const sst_options *o;
  table_list tables;
  nay_sst_lookup *lookup;
  nay_sst_value values[GET_BATCH];
  nay_status statuses[GET_BATCH];
  size_t answering[GET_BATCH]; /* tables */
  selection selection;
} get;

/* value: NULL if the key was not found. */
static void get_print(const get *g, const key_batch *b, size_t i, const nay_sst_value *value,
                      size_t table) {
  size_t len;
  if (g->o->select.count || g->o->prom) return;
  if (g->o->common.json) {
    json_open(NULL, '{');
    selection_json_key(b, i);
    if (value != NULL && !g->o->no_values) json_bytes("value", value->bytes, value->len);
    if (value != NULL && value->sequence != 0) json_count("sequence", value->sequence);
    if (value != NULL) json_text("table", g->tables.names[table]);
    json_end();
    return;
  }
  selection_prefix(b, i);
  const uint8_t *text = batch_text(b, i, &len);
  if (value != NULL) {
    table_print_entry(g->o, text, len, value->bytes, value->len);
  } else {
    const uint8_t *record = batch_record(b, i, &len);
    out_record(record, len);
  }
}

/* Looks up n keys of a batch, from `first` on, and prints those that are selected. */
static void get_slice(get *g, key_stream *s, const key_batch *b, size_t first, size_t n) {
  nay_diag diag = {.what = NULL};
  uint64_t sequence =
      g->o->snapshot != NUMBER_NOT_GIVEN ? g->o->snapshot : (uint64_t)NAY_SST_MAX_SEQUENCE;
  nay_status all =
      nay_sst_lookup_get_many(g->lookup, (const void *const *)b->keys + first, b->lens + first, n,
                              sequence, &diag, g->values, g->statuses, g->answering);
  if (all == NAY_EINVAL || all == NAY_ENOMEM) die(EXIT_TROUBLE, "%s", diag.what);
  for (size_t i = 0; i < n && selection_goes_on(&g->selection, b); i++) {
    nay_status status = g->statuses[i];
    bool found = status == NAY_OK;
    if (!found && status != NAY_ENOENT) {
      table_die(g->tables.names[g->answering[i]], status, &diag); /* the first is in diag */
    }
    bool selected = found != g->o->invert;
    if (selected) get_print(g, b, first + i, found ? &g->values[i] : NULL, g->answering[i]);
    selection_add(&g->selection, s, b, first + i, selected);
  }
}

static void get_batch(get *g, key_stream *s, const key_batch *b) {
  for (size_t i = 0; i < b->n && selection_goes_on(&g->selection, b); i += GET_BATCH) {
    get_slice(g, s, b, i, b->n - i < GET_BATCH ? b->n - i : GET_BATCH);
  }
  if (b->idle) out_flush();
}

static void get_report(const get *g) {
  char found[NUMBER_TEXT], nays[NUMBER_TEXT], reads[NUMBER_TEXT];
  nay_sst_counters c = {.size = sizeof c};
  nay_sst_lookup_stats(g->lookup, &c);
  message("%s looked up, %s selected; filter negatives: %s, blocks read: %s",
          COUNTED(g->selection.nkeys, "key"), count_text((double)g->selection.nselected, found),
          count_text((double)c.filter_useful, nays), count_text((double)c.block_reads, reads));
}

/* ---- statistics ---- */

/* A maybe for an absent key, of all absent keys that the filters were probed with. */
static void get_json_counters(const nay_sst_counters *c) {
  uint64_t nabsent = c->filter_useful + c->filter_false_positives;
  interval fpr = interval_of(c->filter_false_positives, nabsent, Z_95);
  json_count("ngets", c->gets);
  json_count("nout_of_range", c->out_of_range);
  json_count("nfilter_checks", c->filter_checks);
  json_count("nfilter_useful", c->filter_useful);
  json_count("nfilter_false_positives", c->filter_false_positives);
  json_count("nfilter_faults", c->filter_faults);
  json_count("nblock_reads", c->block_reads);
  if (nabsent == 0) return;
  json_real("fpr_measured", fpr.rate);
  json_real("fpr_low", fpr.low);
  json_real("fpr_high", fpr.high);
}

static void get_json_count(const get *g) {
  nay_sst_info is = {.size = sizeof is};
  json_begin("nay.sst.get/1");
  json_count("nkeys", g->selection.nkeys);
  json_count("nselected", g->selection.nselected);
  json_count("nbad", bads_count());
  json_open("tables", '[');
  for (size_t i = 0; i < g->tables.n; i++) {
    nay_sst_stats(g->tables.at[i], &is);
    json_open(NULL, '{');
    json_text("table", g->tables.names[i]);
    get_json_counters(&is.counters);
    json_close();
  }
  json_close();
  json_end();
}

static void get_prom(const get *g) {
  prom_samples *samples = must_alloc(g->tables.n * sizeof *samples);
  nay_sst_info is = {.size = sizeof is};
  for (size_t i = 0; i < g->tables.n; i++) {
    samples[i] = (prom_samples){.file = g->tables.names[i], .kind = "table"};
    nay_sst_stats(g->tables.at[i], &is);
    prom_counts(&samples[i], &is.counters);
  }
  prom_print(samples, g->tables.n);
  free(samples);
}

static void get_print_counts(const get *g) {
  if (g->o->prom) {
    get_prom(g);
  } else if (selection_counts(&g->o->common, &g->o->select)) {
    if (g->o->common.json) get_json_count(g);
    if (!g->o->common.json) out_text("%llu\n", (unsigned long long)g->selection.nselected);
  }
}

/* The operands after the table are keys. */
static void get_take_keys(sst_options *o) {
  for (int i = 2; i < o->common.noperands; i++) {
    table_file file = tablefile_try(o->common.operands[i], NULL);
    if (file.is_table)
      message("'%s' is a key here; --older reads it as a table", o->common.operands[i]);
    tablefile_close(&file);
    options_append(&o->keys.args, o->common.operands[i]);
  }
  if (o->keys.args.n > 0 && o->keys.files.n > 0) {
    die(EXIT_TROUBLE, "--keys and keys as operands are mutually exclusive");
  }
}

/* The table, and the older ones. */
static table_list get_tables(const sst_options *o) {
  if (o->common.noperands < 2) die(EXIT_TROUBLE, "missing operand: a table");
  size_t n = o->older.n + 1;
  const char **names = must_alloc(n * sizeof *names);
  names[0] = o->common.operands[1];
  if (n > 1) memcpy(names + 1, o->older.at, o->older.n * sizeof *names);
  return tables_open(names, n, o->table_format);
}

static void get_free(get *g) {
  for (size_t i = 0; i < GET_BATCH; i++) nay_sst_value_free(&g->values[i]);
  nay_sst_lookup_free(g->lookup);
  free((void *)(uintptr_t)g->tables.names);
  tables_close(&g->tables);
  free(g);
}

static get *get_new(sst_options *o) {
  get *g = must_alloc(sizeof *g);
  *g = (get){.o = o,
             .tables = get_tables(o),
             .selection = selection_begin(&o->common, &o->select, &o->keys)};
  tables_have_versions(o, &g->tables);
  tables_described(o, &g->tables);
  for (size_t i = 0; i < GET_BATCH; i++) g->values[i].size = sizeof g->values[i];
  nay_diag diag = {.what = NULL};
  nay_sst_lookup_level all = {.size = sizeof all, .tables = g->tables.at, .n = g->tables.n};
  nay_status status = nay_sst_lookup_new(&all, 1, NULL, NULL, &diag, &g->lookup);
  if (status == NAY_ENOMEM) die(EXIT_TROUBLE, "out of memory");
  if (status != NAY_OK) table_die(g->tables.names[diag.offset], status, &diag);
  return g;
}

int sst_get(sst_options *o) {
  prom_check(&o->common, o->prom);
  if (o->prom) options_refuse(&o->common, "line-number, no-values, count", "sst get --prom");
  get_take_keys(o);
  get *g = get_new(o);
  int reading = EXIT_FOUND;
  if (o->select.max_count != 0) { /* as in grep: 0 reads nothing */
    key_stream *s =
        stream_open_to_answer(&o->common, &o->keys, (const char *const *)o->keys.files.at,
                              o->keys.files.n, NULL, ON_BAD_REPORT);
    for (key_batch *b; (b = stream_next(s)) != NULL;) get_batch(g, s, b);
    reading = stream_status(s);
    stream_close(s);
  }
  get_print_counts(g);
  out_flush();
  get_report(g);
  int status = exit_worse(g->selection.nselected > 0 ? EXIT_FOUND : EXIT_NONE, reading);
  get_free(g);
  free(o->keys.args.at);
  return status;
}
