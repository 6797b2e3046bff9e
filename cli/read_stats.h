/*
 * read_stats.h - what --stats says at the end of a command: how much was read, and how fast.
 */
#ifndef NAY_READ_STATS_H
#define NAY_READ_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* read_counts: of all streams of a command. Bytes are those of records, after decompression. */
typedef struct read_counts {
  uint64_t nfiles, nskipped; /* nskipped: binary files met in a directory */
  uint64_t nlines, nkeys, nbytes;
} read_counts;

/* read_stats_begin: the clock starts. read_stats_ask: --stats is given, with --json or without. */
void read_stats_begin(void);
void read_stats_ask(bool as_json);

void read_stats_add(const read_counts *more);

/* read_stats_end: writes them to standard error if they are wanted. */
void read_stats_end(uint64_t nbad);

#endif /* NAY_READ_STATS_H */
