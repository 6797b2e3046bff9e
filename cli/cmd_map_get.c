/* cmd_map_get.c - nay map get: the values of keys. */
#include <stdlib.h>

#include "bads.h"
#include "described.h"
#include "maps.h"
#include "numbers.h"
#include "select.h"

typedef struct get {
  const map_options *o;
  nay_filter *map;
  nay_stats stats;
  selection selection;
  uint64_t values[BATCH_KEYS], bitmap[BATCH_WORDS];
} get;

static void get_print(const get *g, const key_batch *b, size_t i) {
  size_t len;
  if (g->o->common.json) {
    json_open(NULL, '{');
    selection_json_key(b, i);
    if (!g->o->invert) json_count("number", g->values[i]);
    json_end();
    return;
  }
  selection_prefix(b, i);
  if (g->o->invert) {
    const uint8_t *record = batch_record(b, i, &len);
    out_record(record, len);
    return;
  }
  const uint8_t *text = batch_text(b, i, &len);
  out_record(text, len);
  out_text("\t%llu", (unsigned long long)g->values[i]);
  out_bytes(g->o->keys.null ? "" : "\n", 1);
}

static void get_batch(get *g, key_stream *s, const key_batch *b) {
  nay_status status = nay_filter_get_many(g->map, (const void *const *)b->keys, b->lens, b->n,
                                          g->values, g->bitmap);
  if (status != NAY_OK) die(exit_of(status), "cannot look keys up: %s", nay_status_text(status));
  for (size_t w = 0; w < (b->n + 63) / 64; w++) {
    if (g->o->invert) g->bitmap[w] = ~g->bitmap[w];
    g->bitmap[w] &= word_mask(b->n, w);
  }
  selection_take(&g->selection, s, b, g->bitmap);
  for (size_t i = 0; !g->o->select.count && i < b->n; i++) {
    if (is_selected(g->bitmap, i)) get_print(g, b, i);
  }
  if (b->idle) out_flush();
}

/* The operands after the map are keys. */
static void get_take_keys(map_options *o) {
  if (o->common.noperands < 2) die(EXIT_TROUBLE, "missing operand: a map");
  for (int i = 2; i < o->common.noperands; i++)
    options_append(&o->keys.args, o->common.operands[i]);
  if (o->keys.args.n > 0 && o->keys.files.n > 0) {
    die(EXIT_TROUBLE, "--keys and keys as operands are mutually exclusive");
  }
}

static void get_open(get *g, map_options *o) {
  g->map = map_open(o->common.operands[1], NAY_MAP, o->secret);
  described_by(&o->keys, o->common.operands[1], nay_filter_key(g->map));
  g->stats.size = sizeof g->stats;
  nay_filter_stats(g->map, &g->stats);
  if (g->stats.check_bits != 0) return;
  if (g->o->invert) die(EXIT_TROUBLE, "-v: a map without check bits does not know absent keys");
  message("no check bits: a key outside the set gets an arbitrary value");
}

static void get_count(const get *g) {
  if (!g->o->common.json) {
    out_text("%llu\n", (unsigned long long)g->selection.nselected);
    return;
  }
  json_begin("nay.map.get/1");
  json_count("nkeys", g->selection.nkeys);
  json_count("nselected", g->selection.nselected);
  json_count("nbad", bads_count());
  json_end();
}

int map_get(map_options *o) {
  static get g; /* the arrays of a batch */
  get_take_keys(o);
  g = (get){.o = o, .selection = selection_begin(&o->common, &o->select, &o->keys)};
  get_open(&g, o);
  int reading = EXIT_FOUND;
  if (o->select.max_count != 0) { /* as in grep: 0 reads nothing */
    key_stream *s =
        stream_open_to_answer(&o->common, &o->keys, (const char *const *)o->keys.files.at,
                              o->keys.files.n, NULL, ON_BAD_REPORT);
    for (key_batch *b; (b = stream_next(s)) != NULL;) get_batch(&g, s, b);
    reading = stream_status(s);
    stream_close(s);
  }
  if (selection_counts(&o->common, &o->select)) get_count(&g);
  out_flush();
  nay_filter_free(g.map);
  free(o->keys.args.at);
  return exit_worse(g.selection.nselected > 0 ? EXIT_FOUND : EXIT_NONE, reading);
}
