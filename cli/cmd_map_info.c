/* cmd_map_info.c - nay map info and verify: what a map is, and whether it has the values of rows.
 */
#include "bads.h"
#include "described.h"
#include "maps.h"
#include "numbers.h"

/* ---- info ---- */

static void info_json(const char *path, const nay_filter *map, const nay_stats *s) {
  size_t len;
  const uint8_t *meta = nay_filter_meta(map, &len);
  json_begin("nay.map.info/1");
  json_text("file", path);
  json_count("ndistinct", s->nkeys);
  json_count("value_bits", s->value_bits);
  json_count("check_bits", s->check_bits);
  json_count("nbytes", nay_filter_encoded_size(map));
  json_count("nbits", s->nbits);
  json_real("bits_per_key", map_bits_per_key(s));
  json_real("error_rate", s->fpr_now);
  json_count("nlayers", s->nlevels);
  json_text("hash", nay_hash_name(s->hash));
  json_described(nay_filter_key(map));
  json_bool("locked", s->locked);
  if (meta != NULL) json_bytes("meta", meta, len);
  json_text("checksum", "ok");
  json_end();
}

static void info_text(const char *path, const nay_filter *map, const nay_stats *s) {
  char size[NUMBER_TEXT], rate[NUMBER_TEXT], meta_text[200];
  size_t len;
  const uint8_t *meta = nay_filter_meta(map, &len);
  out_text("%s: a static map of %s\n", path, COUNTED(s->nkeys, "key"));
  out_text("  value    %s\n", COUNTED(s->value_bits, "bit"));
  if (s->check_bits == 0) {
    out_text("  check    none: a key outside the set gets an arbitrary value\n");
  } else {
    out_text("  check    %s: a key outside the set is absent, but for %s of them\n",
             COUNTED(s->check_bits, "bit"), fpr_text(s->fpr_now, rate));
  }
  out_text("  size     %s, %.4g bits per key\n", size_text(nay_filter_encoded_size(map), size),
           map_bits_per_key(s));
  out_text("  layers   %u\n", (unsigned)s->nlevels);
  out_text("  hash     %s%s\n", nay_hash_name(s->hash), s->locked ? ", the key is not given" : "");
  if (!nay_key_description_same(nay_filter_key(map), "text")) {
    out_text("  key type %s\n", nay_filter_key(map));
  }
  if (meta != NULL)
    out_text("  note     %s\n", escape_text(meta, len, meta_text, sizeof meta_text));
}

static void info_json_failed(const char *path, const map_file *file) {
  json_begin("nay.map.info/1");
  json_text("file", path);
  json_text("checksum", file->why);
  json_end();
}

/* Goes on after a file that cannot be read, as nay info does. */
int map_info(map_options *o) {
  int worst = EXIT_FOUND;
  if (o->common.noperands < 2) die(EXIT_TROUBLE, "missing operand: a map");
  for (int i = 1; i < o->common.noperands; i++) {
    const char *path = o->common.operands[i];
    map_file file = map_try(path, NAY_MAP, o->secret);
    worst = exit_worse(worst, file.status);
    if (file.map == NULL) {
      if (o->common.json) info_json_failed(path, &file);
      map_tell(path, &file);
      continue;
    }
    if (o->common.json) info_json(path, file.map, &file.stats);
    if (!o->common.json) info_text(path, file.map, &file.stats);
    nay_filter_free(file.map);
  }
  out_flush();
  return worst;
}

/* ---- verify ---- */

typedef struct verify {
  const nay_filter *map;
  uint64_t nrows, nwrong, nbad_before;
  int reading; /* the exit status of files of rows that could not be read */
} verify;

static void verify_row(void *ctx, const map_row *row) {
  verify *v = ctx;
  char text[80];
  uint64_t value = 0;
  nay_status status = nay_filter_get(v->map, row->key, row->len, &value);
  v->nrows++;
  if (status == NAY_OK && value == row->value) return;
  if (v->nwrong++ >= 5) return;
  const char *key = escape_text(row->text, row->text_len, text, sizeof text);
  if (status == NAY_OK) {
    message_error(ROW_PLACE ": '%s' has the value %llu", ROW_PLACE_OF(row), key,
                  (unsigned long long)value);
  } else {
    message_error(ROW_PLACE ": '%s' is absent", ROW_PLACE_OF(row), key);
  }
}

static bool verify_holds(const verify *v) { return v->nwrong == 0 && v->reading == EXIT_FOUND; }

static void verify_json(const map_options *o, const char *path, const verify *v) {
  json_begin("nay.map.verify/1");
  json_text("file", path);
  json_text("checksum", "ok");
  if (o->keys.files.n > 0) {
    json_count("nkeys", v->nrows);
    json_count("nwrong", v->nwrong);
    json_count("nbad", bads_count() - v->nbad_before);
  }
  json_bool("ok", verify_holds(v));
  json_end();
}

static void verify_text(const map_options *o, const char *path, const verify *v) {
  char wrong[NUMBER_TEXT];
  if (o->common.quiet) return;
  out_text("%s: intact, every checksum matches\n", path);
  if (o->keys.files.n == 0) return;
  out_text("%s: %s, %s wrong\n", path, COUNTED(v->nrows, "row"),
           count_text((double)v->nwrong, wrong));
}

static int verify_failed(const map_options *o, const char *path, const map_file *file) {
  if (o->common.json) {
    json_begin("nay.map.verify/1");
    json_text("file", path);
    json_text("checksum", file->why);
    json_bool("ok", false);
    json_end();
  }
  map_tell(path, file);
  return file->status;
}

int map_verify(map_options *o) {
  if (o->common.noperands != 2) die(EXIT_TROUBLE, "give one map");
  const char *path = o->common.operands[1];
  map_file file = map_try(path, NAY_MAP, o->secret);
  if (file.map == NULL) return verify_failed(o, path, &file);
  verify v = {.map = file.map};
  if (o->keys.files.n > 0) {
    if (file.stats.locked) die(EXIT_TROUBLE, "%s is keyed: give its key with --secret", path);
    described_by(&o->keys, path, nay_filter_key(file.map));
    v.reading =
        map_rows(&o->common, &o->keys, o->keys.files.at, o->keys.files.n, true, verify_row, &v);
    if (v.nrows == 0 && v.reading == EXIT_FOUND) message_error("warning: --keys gives no rows");
  }
  if (o->common.json) verify_json(o, path, &v);
  if (!o->common.json) verify_text(o, path, &v);
  out_flush();
  nay_filter_free(file.map);
  return exit_worse(v.nwrong == 0 ? EXIT_FOUND : EXIT_NONE, v.reading);
}
