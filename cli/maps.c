/* maps.c - see maps.h. */
#include "maps.h"

#include <string.h>

#include "filterfile.h"

/* ---- opening ---- */

nay_map *map_open(const char *path, const options *o) {
  nay_map *map;
  nay_diag diag = {.what = NULL};
  char why[DIAG_TEXT];
  uint8_t key[16];
  nay_status status = nay_map_open(path, NULL, &diag, &map);
  if (status != NAY_OK) die(exit_of(status), "%s: %s", path, diag_text(status, &diag, why));
  if (filterfile_secret(o, key) && nay_map_unlock(map, key) != NAY_OK) {
    die(EXIT_TROUBLE, "%s: --secret is not the key of this map", path);
  }
  return map;
}

nay_map *map_open_unlocked(const char *path, const options *o) {
  nay_map *map = map_open(path, o);
  nay_map_stats stats = {.size = sizeof stats};
  if (nay_map_describe(map, &stats) == NAY_OK && stats.locked) {
    die(EXIT_TROUBLE, "%s is keyed: give its key with --secret", path);
  }
  return map;
}

/* ---- rows ---- */

/* A row is a line of two columns; the reader of columns finds the key, decoded. */
static key_style row_style(const options *o) {
  key_style style = o->keys;
  if (style.csv || style.tsv || style.separator != NULL || style.column != NULL ||
      style.length_prefixed || style.type == KEY_U64LE) {
    die(EXIT_TROUBLE, "a row is a key, a tab and a value: no other form is read here");
  }
  if (style.null) style.separator = "\t";
  if (!style.null) style.tsv = true;
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

static map_row row_of(const options *o, const key_batch *b, size_t i, uint64_t number) {
  size_t len;
  char text[80];
  const uint8_t *record = batch_record(b, i, &len);
  map_row row = {.key = b->keys[i], .len = b->lens[i], .number = number};
  len--; /* the terminator */
  if (o->keys.crlf && len > 0 && record[len - 1] == '\r') len--;
  const uint8_t *tab = memchr(record, '\t', len);
  if (tab == NULL) {
    die(EXIT_TROUBLE, "row %llu has no tab: a row is a key, a tab and a value",
        (unsigned long long)number);
  }
  len -= (size_t)(tab + 1 - record);
  if (!row_number(tab + 1, len, &row.value)) {
    die(EXIT_TROUBLE, "row %llu: '%s' is not a number from 0 to 2^64 - 1",
        (unsigned long long)number, escape_text(tab + 1, len, text, sizeof text));
  }
  return row;
}

void map_rows(const options *o, const char *const *paths, size_t n,
              void (*each)(void *, const map_row *), void *ctx) {
  options reading = *o;
  uint64_t number = 0;
  reading.keys = row_style(o);
  key_stream *s = stream_open(&reading, paths, n, NULL);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n; i++) {
      map_row row = row_of(o, b, i, ++number);
      each(ctx, &row);
    }
  }
  stream_close(s);
}
