/* maps.h - static maps in files, and the rows that they are made of. */
#ifndef NAY_MAPS_H
#define NAY_MAPS_H

#include <nay_map.h>

#include "options.h"
#include "stream.h"

/* map_open: exits on failure; unlocked if it is keyed and the secret is given. map_open_unlocked:
 * exits when the secret is missing, too. */
nay_map *map_open(const char *path, const options *o);
nay_map *map_open_unlocked(const char *path, const options *o);

/* map_row: a key and its value. */
typedef struct map_row {
  const void *key;
  size_t len;
  uint64_t value;
  uint64_t number; /* from 1 */
} map_row;

/*
 * map_rows: calls `each` for every row of the files: a key, a tab and a value, decimal or 0x and
 * hexadecimal. Exits when one is not such a row.
 */
void map_rows(const options *o, const char *const *paths, size_t n,
              void (*each)(void *ctx, const map_row *row), void *ctx);

/* The verbs of nay map. */
int map_build(options *o);
int map_get(options *o);
int map_info(options *o);
int map_verify(options *o);

#endif /* NAY_MAPS_H */
