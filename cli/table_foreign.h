/* table_foreign.h - what nay sst info and nay verify tell of a table of nori or mini-lsm. */
#ifndef NAY_TABLE_FOREIGN_H
#define NAY_TABLE_FOREIGN_H

#include <nay_sst.h>

#include "tables.h"

/* What reading every block of a table has shown. */
typedef struct table_verdict {
  bool verified;
  uint64_t nentries;
  uint64_t ndenied;    /* foreign: keys that the engine's own filter denies */
  bool filter_damaged; /* found when it was opened */
} table_verdict;

/* table_is_foreign: whether it is one; *info is then filled. */
bool table_is_foreign(const nay_sst *table, nay_sst_foreign_info *info);

/* table_verify: reads every block of any table; exits when one is damaged. */
table_verdict table_verify(const char *path, const nay_sst *table);

/* The lines and members that only foreign tables have. */
void table_foreign_text(const nay_sst *table, const nay_sst_foreign_info *info,
                        const table_verdict *verdict);
void table_foreign_json(const nay_sst *table, const nay_sst_foreign_info *info,
                        const table_verdict *verdict);

/* table_foreign_writer: for --format; exits when another option does not fit the layout. */
nay_sst_writer *table_foreign_writer(const sst_options *o, const char *path);

/* table_layout_is_nori: else it is one of mini-lsm. */
bool table_layout_is_nori(const char *layout);

/* table_engine: "nori" or "mini-lsm". */
const char *table_engine(const nay_sst_foreign_info *info);

#endif /* NAY_TABLE_FOREIGN_H */
