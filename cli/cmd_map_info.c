/* cmd_map_info.c - nay map info and verify: what a map is, and whether it has the values of rows.
 */
#include "maps.h"
#include "numbers.h"

/* ---- info ---- */

static void info_json(const char *path, const nay_map *map, const nay_map_stats *s) {
  size_t len;
  const uint8_t *meta = nay_map_meta(map, &len);
  json_begin("nay.map.info/1");
  json_text("file", path);
  json_count("ndistinct", s->nkeys);
  json_count("value_bits", s->value_bits);
  json_count("check_bits", s->check_bits);
  json_count("nbytes", nay_map_encoded_size(map));
  json_count("nbits", s->nbits);
  json_real("bits_per_key", s->bits_per_key);
  json_real("error_rate", s->error_rate);
  json_count("nlayers", s->nlayers);
  json_text("hash", nay_hash_name(s->hash));
  json_bool("locked", s->locked);
  if (meta != NULL) json_bytes("meta", meta, len);
  json_end();
}

static void info_text(const char *path, const nay_map *map, const nay_map_stats *s) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT], meta_text[200];
  size_t len;
  const uint8_t *meta = nay_map_meta(map, &len);
  out_text("%s: a static map of %s\n", path, COUNTED(s->nkeys, "key"));
  out_text("  value    %s\n", COUNTED(s->value_bits, "bit"));
  if (s->check_bits == 0) {
    out_text("  check    none: a key outside the set gets an arbitrary value\n");
  } else {
    out_text("  check    %s: a key outside the set is absent, but for %s of them\n",
             COUNTED(s->check_bits, "bit"), fpr_text(s->error_rate, rate));
  }
  out_text("  size     %s, %.4g bits per key\n", size_text(nay_map_encoded_size(map), size),
           s->bits_per_key);
  out_text("  layers   %u\n", (unsigned)s->nlayers);
  out_text("  hash     %s%s\n", nay_hash_name(s->hash), s->locked ? ", the key is not given" : "");
  if (meta != NULL)
    out_text("  note     %s\n", escape_text(meta, len, meta_text, sizeof meta_text));
}

int map_info(options *o) {
  if (o->noperands < 2) die(EXIT_TROUBLE, "missing operand: a map");
  for (int i = 1; i < o->noperands; i++) {
    nay_map *map = map_open(o->operands[i], o);
    nay_map_stats s = {.size = sizeof s};
    nay_map_describe(map, &s);
    if (o->json) info_json(o->operands[i], map, &s);
    if (!o->json) info_text(o->operands[i], map, &s);
    nay_map_free(map);
  }
  out_flush();
  return EXIT_FOUND;
}

/* ---- verify ---- */

typedef struct verify {
  const nay_map *map;
  uint64_t nrows, nwrong;
} verify;

static void verify_row(void *ctx, const map_row *row) {
  verify *v = ctx;
  char text[80];
  uint64_t value = 0;
  nay_status status = nay_map_get(v->map, row->key, row->len, &value);
  v->nrows++;
  if (status == NAY_OK && value == row->value) return;
  if (v->nwrong++ >= 5) return;
  const char *key = escape_text(row->key, row->len, text, sizeof text);
  if (status == NAY_OK) {
    message_error("row %llu: '%s' has the value %llu", (unsigned long long)row->number, key,
                  (unsigned long long)value);
  } else {
    message_error("row %llu: '%s' is absent", (unsigned long long)row->number, key);
  }
}

static void verify_report(const options *o, const char *path, const verify *v) {
  char wrong[NUMBER_TEXT];
  if (o->json) {
    json_begin("nay.map.verify/1");
    json_text("file", path);
    json_text("checksum", "ok");
    if (o->key_files.n > 0) {
      json_count("nkeys", v->nrows);
      json_count("nwrong", v->nwrong);
    }
    json_bool("ok", v->nwrong == 0);
    json_end();
    return;
  }
  if (o->quiet) return;
  out_text("%s: intact, every checksum matches\n", path);
  if (o->key_files.n == 0) return;
  out_text("%s: %s, %s wrong\n", path, COUNTED(v->nrows, "row"),
           count_text((double)v->nwrong, wrong));
}

int map_verify(options *o) {
  if (o->noperands != 2) die(EXIT_TROUBLE, "give one map");
  bool rows = o->key_files.n > 0;
  const char *path = o->operands[1];
  nay_map *map = rows ? map_open_unlocked(path, o) : map_open(path, o);
  verify v = {.map = map};
  if (rows) {
    map_rows(o, (const char *const *)o->key_files.at, o->key_files.n, verify_row, &v);
    if (v.nrows == 0) message_error("warning: --keys gives no rows");
  }
  verify_report(o, path, &v);
  out_flush();
  nay_map_free(map);
  return v.nwrong == 0 ? EXIT_FOUND : EXIT_NONE;
}
