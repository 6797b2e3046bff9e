/* compare.h - nay diff and nay common: two key files, one filter between them. */
#ifndef NAY_COMPARE_H
#define NAY_COMPARE_H

#include "options.h"

/* compare_run: builds a filter of the first file and selects keys of the second by it. */
/* compare_options: of both. */
typedef struct compare_options {
  options common;
  size_options size;
  keys_options keys;
  select_options select;
} compare_options;
extern const option_use compare_uses[];

/* compare_run: o is the first member of a compare_options. */
int compare_run(options *o, bool wants_common);

#endif /* NAY_COMPARE_H */
