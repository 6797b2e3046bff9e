/* compare.h - nay diff and nay common: two key files, one filter between them. */
#ifndef NAY_COMPARE_H
#define NAY_COMPARE_H

#include "options.h"

/* compare_run: builds a filter of the first file and selects keys of the second by it. */
int compare_run(options *o, bool wants_common);

#endif /* NAY_COMPARE_H */
