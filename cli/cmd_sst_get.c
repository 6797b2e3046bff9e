/* cmd_sst_get.c - nay sst get: the values of keys, from the newest table that has them. */
#include "numbers.h"
#include "stream.h"
#include "tables.h"

typedef struct get {
  const options *o;
  table_list tables;
  nay_lookup *lookup;
  nay_sst_value value;
  uint64_t selected;
} get;

static void get_print(const get *g, const key_batch *b, size_t i, bool found, size_t table) {
  size_t len;
  if (g->o->count) return;
  if (g->o->json) {
    json_open(NULL, '{');
    json_bytes("key", b->keys[i], b->lens[i]);
    if (found) json_bytes("value", g->value.bytes, g->value.len);
    if (found) json_text("table", g->tables.names[table]);
    json_end();
  } else if (found) {
    table_print_entry(g->o, b->keys[i], b->lens[i], g->value.bytes, g->value.len);
  } else {
    const uint8_t *record = batch_record(b, i, &len);
    out_record(record, len);
  }
}

static void get_key(get *g, const key_batch *b, size_t i) {
  nay_diag diag = {NULL, 0, 0};
  size_t table = 0;
  nay_status status = nay_lookup_get(g->lookup, b->keys[i], b->lens[i], &diag, &g->value, &table);
  if (status != NAY_OK && status != NAY_ENOENT) {
    table_die(g->tables.names[table], status, &diag);
  }
  bool found = status == NAY_OK;
  if (found == g->o->invert) return;
  g->selected++;
  get_print(g, b, i, found, table);
}

static void get_report(const get *g, uint64_t asked) {
  char found[NUMBER_TEXT], nays[NUMBER_TEXT], reads[NUMBER_TEXT];
  nay_sst_counters c;
  nay_lookup_count(g->lookup, &c);
  message("%s looked up, %s selected; filter negatives: %s, blocks read: %s", COUNTED(asked, "key"),
          count_text((double)g->selected, found), count_text((double)c.filter_useful, nays),
          count_text((double)c.block_reads, reads));
}

int sst_get(options *o) {
  get g = {.o = o, .tables = tables_open(o)};
  if (nay_lookup_new(g.tables.at, g.tables.n, NULL, &g.lookup) != NAY_OK) {
    die(EXIT_TROUBLE, "out of memory");
  }
  key_stream *s = stream_open(o, o->key_files.at, o->key_files.n, NULL);
  stream_skip_bad_files(s);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n; i++) get_key(&g, b, i);
    if (b->idle) out_flush();
  }
  if (o->count) table_print_count(o, "nay.sst.get/1", g.selected);
  out_flush();
  get_report(&g, stream_nkeys(s));
  int status = exit_worse(g.selected > 0 ? EXIT_FOUND : EXIT_NONE, stream_status(s));
  stream_close(s);
  nay_sst_value_free(&g.value);
  nay_lookup_free(g.lookup);
  tables_close(&g.tables);
  return status;
}
