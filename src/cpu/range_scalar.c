/* range_scalar.c - range filters in plain C: the kernels that define their answers. */
#include "cpu/groups.h"
#include "cpu/select.h"

#define RANGE(name) range_scalar_##name
#define RANGE_TARGET
#define RANGE_COUNT(x) nay__popcount64(x)
#define RANGE_SELECT(x, r) nay__select64(x, r)
#include "cpu/range_template.h"

const nay_range_kernels nay__range_scalar = {range_scalar_any, range_scalar_any64};
