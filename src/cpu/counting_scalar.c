/* counting_scalar.c - the counters of a block in plain C; NEON uses it too. */
#include "cpu/counting_common.h"

NAY_COUNTING_DEFINE(, counting_scalar, NULL, nay__counted_selected)

const nay_counting_kernels nay__counting_scalar = {counting_scalar_add, counting_scalar_remove};
