/* maps.c - see maps.h. */
#include "maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"

/* ---- opening ---- */

const char *map_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

static const char *map_noun(nay_kind kind) {
  return kind == NAY_MAP ? "a static map" : kind == NAY_LIST ? "an exact list" : "a filter";
}

static nay_status map_read(const char *path, nay_kind kind, map_file *file) {
  nay_diag diag = {.what = NULL};
  uint8_t *bytes;
  size_t len;
  nay_status status;
  if (filterfile_is_regular(path)) {
    status = nay_filter_open(path, NULL, &diag, &file->map);
  } else if (!filterfile_bytes(path, &bytes, &len, file->why)) {
    return NAY_EIO;
  } else {
    status = nay_filter_decode(bytes, len, NULL, &diag, &file->map);
    free(bytes);
  }
  if (status == NAY_OK && nay_filter_kind(file->map) != kind) {
    snprintf(file->why, sizeof file->why, "%s, not %s", map_noun(nay_filter_kind(file->map)),
             map_noun(kind));
    nay_filter_free(file->map);
    file->map = NULL;
    return NAY_EFORMAT;
  }
  if (status != NAY_OK) diag_text(status, &diag, file->why);
  return status;
}

static bool map_unlock(const char *secret, map_file *file) {
  uint8_t key[16];
  if (!filterfile_secret(secret, key)) return true;
  if (nay_filter_unlock(file->map, key) == NAY_OK) return true;
  if (file->stats.hash != NAY_HASH_SIPHASH) {
    snprintf(file->why, sizeof file->why, "is not keyed: omit --secret");
  } else {
    snprintf(file->why, sizeof file->why, "--secret is not the key of this %s",
             nay_kind_name(nay_filter_kind(file->map)));
  }
  return false;
}

map_file map_try(const char *path, nay_kind kind, const char *secret) {
  map_file file = {.stats = {.size = sizeof file.stats}};
  nay_status status = map_read(path, kind, &file);
  file.status = status == NAY_OK ? EXIT_FOUND : exit_of(status);
  if (status != NAY_OK) return file;
  nay_filter_stats(file.map, &file.stats);
  if (!map_unlock(secret, &file)) {
    nay_filter_free(file.map);
    file.map = NULL;
    file.status = EXIT_TROUBLE;
    return file;
  }
  nay_filter_stats(file.map, &file.stats);
  return file;
}

void map_tell(const char *path, const map_file *file) {
  out_flush();
  message_error("%s: %s", map_name(path), file->why);
}

nay_filter *map_open(const char *path, nay_kind kind, const char *secret) {
  map_file file = map_try(path, kind, secret);
  if (file.map == NULL) die(file.status, "%s: %s", map_name(path), file.why);
  if (file.stats.locked) die(EXIT_TROUBLE, "%s is keyed: give its key with --secret", path);
  return file.map;
}

/* ---- rows ---- */

/* Without an option a row is a line: the key, a tab, the value, and nothing else. */
static keys_options row_style(const keys_options *keys) {
  keys_options style = *keys;
  bool columns = style.csv || style.tsv || style.jsonl || style.separator != NULL;
  bool binary = style.length_prefixed || style.type == KEY_U64LE;
  if (style.value != NULL && binary) {
    die(EXIT_TROUBLE, "--value names a column; a binary row is a key and 8 bytes of value");
  }
  style.values = style.line_number = true;
  style.value_is_rest = !columns && !binary && style.column == NULL && style.value == NULL;
  if (!columns && !binary && style.null) style.separator = "\t";
  if (!columns && !binary && !style.null) style.tsv = true;
  return style;
}

/* False: not a whole number below 2^64. */
static bool row_number(const uint8_t *text, size_t len, uint64_t *value) {
  unsigned base = 10;
  if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text += 2;
    len -= 2;
  }
  *value = 0;
  for (size_t i = 0; i < len; i++) {
    unsigned c = text[i] | 32u, digit = 16;
    if (text[i] >= '0' && text[i] <= '9') digit = text[i] - (unsigned)'0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit >= base || *value > (UINT64_MAX - digit) / base) return false;
    *value = *value * base + digit;
  }
  return len != 0;
}

static uint64_t row_binary(const uint8_t *bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

/* rows: what is read, and how. */
typedef struct rows {
  const char *const *paths; /* NULL: standard input */
  const char *unit;
  bool binary;
  on_bad mode;
} rows;

/* False: there is no number; the rest of the row is filled all the same. */
static bool row_of(const rows *r, const key_batch *b, size_t i, map_row *row) {
  const char *path = r->paths != NULL ? r->paths[b->file - 1] : "-";
  *row = (map_row){.key = b->keys[i],
                   .len = b->lens[i],
                   .file = map_name(path),
                   .unit = r->unit,
                   .line = b->lines[i]};
  row->text = batch_text(b, i, &row->text_len);
  if (!r->binary) return row_number(b->values[i], b->value_lens[i], &row->value);
  row->value = row_binary(b->values[i]);
  return true;
}

/* The rows of a batch; one whose value is none is bad. */
static void rows_take(const rows *r, key_stream *s, const key_batch *b,
                      void (*each)(void *, const map_row *), void *ctx) {
  for (size_t i = 0; i < b->n; i++) {
    map_row row;
    char text[80], why[400];
    if (row_of(r, b, i, &row)) {
      each(ctx, &row);
      continue;
    }
    snprintf(why, sizeof why, ROW_PLACE ": '%s' is not a number from 0 to 2^64 - 1",
             ROW_PLACE_OF(&row), escape_text(b->values[i], b->value_lens[i], text, sizeof text));
    if (r->mode == ON_BAD_FAIL) die(EXIT_TROUBLE, "%s", why);
    stream_bad_key(s, b, i, why);
  }
}

int map_rows(const options *o, const keys_options *keys, const char *const *paths, size_t n,
             bool goes_on, void (*each)(void *, const map_row *), void *ctx) {
  keys_options style = row_style(keys);
  key_reader reader = key_reader_new(&style);
  rows r = {.paths = n > 0 ? paths : NULL,
            .unit = key_reader_unit(&reader),
            .mode = (on_bad)keys->on_bad};
  r.binary = style.length_prefixed || style.type == KEY_U64LE;
  if (r.mode == ON_BAD_DEFAULT) r.mode = goes_on ? ON_BAD_REPORT : ON_BAD_FAIL;
  if (r.mode == ON_BAD_LINE) die(EXIT_TROUBLE, "--on-bad=line: a row of a map has a value too");
  key_stream *s = goes_on ? stream_open_to_answer(o, &style, paths, n, NULL, r.mode)
                          : stream_open(o, &style, paths, n, NULL);
  for (key_batch *b; (b = stream_next(s)) != NULL;) rows_take(&r, s, b, each, ctx);
  int status = stream_status(s);
  stream_close(s);
  return status;
}
