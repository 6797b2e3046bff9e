/* tablefile.h - tables of LevelDB, RocksDB, nay, nori and mini-lsm: opening one, and what all its
 * filters are. */
#ifndef NAY_TABLEFILE_H
#define NAY_TABLEFILE_H

#include <nay_sst_filters.h>

#include "options.h"

/* What is known of a file that was tried. */
typedef struct table_file {
  bool is_table; /* it ends like one; false: all else is zero */
  nay_sst_filters *table;
  uint8_t *bytes; /* mapped */
  size_t nbytes;
  nay_status status;
  char why[DIAG_TEXT];
} table_file;

/*
 * tablefile_try: standard input and anything that is not a regular file are no tables. layout: as
 * --format names it; NULL: by its magic number.
 */
table_file tablefile_try(const char *path, const char *layout);

/* tablefile_open: the same, but exits with the status of the error when it is a corrupt table. */
table_file tablefile_open(const char *path, const char *layout);
void tablefile_close(table_file *file);

/* table_summary: the filters of a table, all together. */
typedef struct table_summary {
  nay_sst_filters_info info;
  const nay_format *format; /* of the largest filter that is understood; NULL: none is */
  nay_stats stats;          /* of that one */
  double nkeys;             /* said by the table, or estimated from the bits; NAN: not known */
  double fpr;               /* expected, the mean over the filters by their bytes; NAN: not known */
  double nkeys_planned;     /* of all filters, or the most of several plans; 0: not known of some */
  bool plans_stated;        /* all filters state their plan */
  double nkeys_filtered;    /* estimated from the bits of all filters */
  bool saturated;           /* a filter is: nkeys_filtered is a lower bound, see nay_stats */
  uint64_t noverfilled;     /* filters that have more keys than planned, see promise.h */
  uint64_t nbytes_range;    /* of the range filter, which is no filter of single keys */
  nay_stats range;          /* its statistics; size 0: there is none, or it is damaged */
} table_summary;

/* tablefile_summary: all zero when the table could not be opened. */
table_summary tablefile_summary(const table_file *file);

/* tablefile_bits_per_key: of all filters but the range filter; NAN: the keys are not known. */
double tablefile_bits_per_key(const table_summary *s);

/* tablefile_range_text: what the range filter is for: "exact", or its scans and their FPR. */
const char *tablefile_range_text(const table_summary *s, char text[160]);

/* tablefile_json_stats: the members that describe the filters, from `format` on. */
void tablefile_json_stats(const table_summary *s);

/* tablefile_info and tablefile_json: what nay info tells of a table. */
void tablefile_info(const char *path, const table_file *file, const table_summary *filters);
void tablefile_json(const char *path, const table_file *file, const table_summary *filters);

#endif /* NAY_TABLEFILE_H */
