/* maps.h - static maps in files, and the rows that they are made of. */
#ifndef NAY_MAPS_H
#define NAY_MAPS_H

#include <nay_map.h>

#include "options.h"
#include "stream.h"

/* map_file: what is known of a file that was tried. map is NULL when status is not EXIT_FOUND. */
typedef struct map_file {
  nay_filter *map;
  nay_stats stats;
  int status; /* an exit status */
  char why[DIAG_TEXT];
} map_file;

/* map_try: "-" is standard input. Unlocked if it is keyed and the secret is given. kind: NAY_MAP,
 * or NAY_LIST for an exact list; another one is refused. */
map_file map_try(const char *path, nay_kind kind, const char *secret);

/* map_name: of a file, in messages. */
const char *map_name(const char *path);

/* map_tell: the message about a file that could not be read or trusted, after what is printed. */
void map_tell(const char *path, const map_file *file);

/* map_open: a map that is unlocked; exits when there is none, or when its secret is missing. */
nay_filter *map_open(const char *path, nay_kind kind, const char *secret);

/* map_bits_per_key: of the payload; 0 when the map has no keys. */
static inline double map_bits_per_key(const nay_stats *s) {
  return s->nkeys != 0 ? (double)s->nbits / (double)s->nkeys : 0;
}

/* map_row: a key and its value. */
typedef struct map_row {
  const void *key;
  size_t len;
  const uint8_t *text; /* of the key, as it was given */
  size_t text_len;
  uint64_t value;
  const char *file; /* its name in messages */
  const char *unit; /* of the line: "line" or "record" */
  uint64_t line;    /* where the row begins, from 1 */
} map_row;

/* A row's place, for messages: ROW_PLACE with ROW_PLACE_OF(row). */
#define ROW_PLACE "%s: %s %llu"
#define ROW_PLACE_OF(row) (row)->file, (row)->unit, (unsigned long long)(row)->line

/*
 * map_rows: calls `each` for every row of the files: a key, a tab and a value, decimal or 0x and
 * hexadecimal, or as the options say. Exits when one is not such a row; with `goes_on` its file
 * ends there, with a message. Returns an exit status.
 */
int map_rows(const options *o, const keys_options *keys, const char *const *paths, size_t n,
             bool goes_on, void (*each)(void *ctx, const map_row *row), void *ctx);

/* map_options: of nay map; the rows are in cmd_map.c. */
typedef struct map_options {
  options common;
  keys_options keys;
  select_options select;
  output_options output;
  size_options size; /* its seed */
  uint64_t value_bits, check_bits;
  const char *secret, *meta;
  bool store_key, invert;
} map_options;

/* The verbs of nay map. */
int map_build(map_options *o);
int map_get(map_options *o);
int map_info(map_options *o);
int map_verify(map_options *o);

#endif /* NAY_MAPS_H */
