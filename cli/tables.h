/* tables.h - sorted tables in files, as nay sst opens and makes them. */
#ifndef NAY_TABLES_H
#define NAY_TABLES_H

#include <nay_codecs.h>
#include <nay_sst_iter.h>

#include "options.h"

/* --filter: the values in cmd_sst.c, in this order. TABLE_RANGE: in addition to one of the others,
 * or alone. */
typedef enum table_filter {
  TABLE_FULL,
  TABLE_PARTITIONED,
  TABLE_LEVELDB,
  TABLE_SMALL,
  TABLE_NONE,
  TABLE_QUOTIENT,
  TABLE_RANGE,
  TABLE_DEFAULT /* full, or none where the layout has no filter */
} table_filter;

/* sst_options: of nay sst; the rows are in cmd_sst.c. */
typedef struct sst_options {
  options common;
  size_options size;
  keys_options keys;
  select_options select;
  output_options output;
  /* a table to make */
  unsigned filters;      /* --filter: a bit for each table_filter */
  unsigned table_filter; /* table_filter */
  unsigned compress;     /* --compress: 0, or the place of a codec in NAY_CODECS, from 1 */
  bool range_filter;
  uint64_t prefix_length, block_bytes, target_bytes;
  const char *prefix_delimiter;
  bool properties, sort, bottom;
  uint64_t sequence, snapshot; /* NUMBER_NOT_GIVEN */
  /* tables to read */
  const char *table_format; /* NULL: by its magic number */
  const char *comparator;
  text_list older;
  const char *from, *upto, *prefix;
  bool reverse, versions, no_values, invert, prom, verify;
} sst_options;

/* table_open: exits on failure. *prefix becomes the table's extractor if that is one of ours,
 * and must stay while the table is open. */
nay_sst *table_open(const char *path, const char *layout, nay_sst_prefix *prefix);

/* table_codec: the codec that --compress names; 0: none. */
nay_codec_kind table_codec(const sst_options *o);

/* table_codec_find: the codec of this kind, NULL for 0. Exits if this program was built without. */
const nay_sst_codec *table_codec_find(nay_codec_kind kind);

/* table_set_comparator: --comparator, for all tables that are opened from then on. Exits when there
 * is none of that name. */
void table_set_comparator(const sst_options *o);

/* table_die: the end of a table that turned out to be damaged, or cannot be written. */
_Noreturn void table_die(const char *path, nay_status status, const nay_diag *diag);

/* table_plan: what the options say about a table to be made. Stays where it is: it points to
 * itself.
 */
typedef struct table_plan {
  nay_sst_write_options write;
  nay_params params;
  nay_policy policy;
  nay_sst_prefix prefix;
  nay_params range;
} table_plan;
void table_plan_make(const sst_options *o, table_plan *plan);

/* table_plan_ranges: the range filter of --filter, for keys of this type, which may become an
 * ordered one. */
void table_plan_ranges(const sst_options *o, unsigned *type, table_plan *plan);

/* table_set_filters: o->table_filter and o->range_filter, of --filter. */
void table_set_filters(sst_options *o);

/* table_output: the file after -o; exits when there is none or it exists already. */
const char *table_output(const sst_options *o);

/* table_sorted: reads all records and then hands them out in order, the last of equal keys alone.
 */
typedef struct table_sorter table_sorter;
table_sorter *table_sorter_new(const nay_sst_comparator *order); /* NULL: bytewise */
void table_sorter_add(table_sorter *s, const uint8_t *key, size_t len, const uint8_t *value,
                      size_t value_len, bool has_value);
/* table_sorter_next: false at the end. The first call sorts. */
typedef struct table_row {
  const uint8_t *key, *value;
  size_t len, value_len;
  bool has_value;
} table_row;
bool table_sorter_next(table_sorter *s, table_row *row);
void table_sorter_free(table_sorter *s);

/* ---- table_list.c ---- */

/* tables_open: exits when one is not a table, or there is none. tables_of: the operands after the
 * verb. */
typedef struct table_list {
  const nay_sst **at;
  nay_sst_prefix *prefixes;
  const char *const *names;
  size_t n;
} table_list;
table_list tables_open(const char *const *names, size_t n, const char *layout);
table_list tables_of(const sst_options *o);

/* tables_have_versions: exits when --snapshot or --versions is given, and a table has plain keys.
 */
void tables_have_versions(const sst_options *o, const table_list *t);

/* tables_described: what the tables state of their keys, by described.h. */
void tables_described(sst_options *o, const table_list *t);

/* tables_agree: exits when two tables state different types of keys. tables_key: the type of all
 * of them, for a table made of them: what they state, and --key for those that state none. */
void tables_agree(const table_list *t);
const char *tables_key(const sst_options *o, const table_list *t);
void tables_close(table_list *t);

/* table_count: counts all entries, which reads and verifies every block. */
nay_status table_count(const nay_sst *table, nay_diag *diag, uint64_t *entries);

/* table_print_entry: a line of get and scan. */
void table_print_entry(const sst_options *o, const void *key, size_t len, const void *value,
                       size_t value_len);

/* The verbs, each in cmd_sst_<verb>.c. */
int sst_build(sst_options *o);
int sst_get(sst_options *o);
int sst_scan(sst_options *o);
int sst_info(sst_options *o);
int sst_compact(sst_options *o);

#endif /* NAY_TABLES_H */
