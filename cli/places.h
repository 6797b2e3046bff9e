/*
 * places.h - where rows stand. What is wrong with a row may be found when all rows are read, and is
 * told by the line of that row: so the places of all rows are kept, one entry for each file and for
 * each row that does not begin in the line after the last one.
 */
#ifndef NAY_PLACES_H
#define NAY_PLACES_H

#include "cli.h"

typedef struct place_run {
  uint64_t first; /* row, from 0 */
  const char *file;
  uint64_t line; /* of that row */
} place_run;

typedef struct row_places {
  place_run *runs; /* to be freed */
  size_t nruns, cap;
  uint64_t nrows;
} row_places;

typedef struct row_place {
  const char *file; /* its name in messages */
  uint64_t line;
} row_place;

/* places_add: the next row. The name lives as long as the places. */
void places_add(row_places *p, const char *file, uint64_t line);
row_place places_of(const row_places *p, uint64_t row);

#endif /* NAY_PLACES_H */
