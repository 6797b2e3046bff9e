/*
 * range_bmi2.c - range filters with POPCNT, and select by PDEP where that is not microcode
 * (dispatch.c).
 */
#include "cpu/groups.h"
#include "cpu/select.h"

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define RANGE(name) range_popcnt_##name
#define RANGE_TARGET NAY_BMI2
#define RANGE_COUNT(x) (unsigned)_mm_popcnt_u64(x)
#define RANGE_SELECT(x, r) nay__select64(x, r)
#include "cpu/range_template.h"

const nay_range_kernels nay__range_popcnt = {range_popcnt_any, range_popcnt_any64};

#define RANGE(name) range_pdep_##name
#define RANGE_TARGET NAY_BMI2
#define RANGE_COUNT(x) (unsigned)_mm_popcnt_u64(x)
#define RANGE_SELECT(x, r) _pdep_u64((uint64_t)1 << (r), x)
#include "cpu/range_template.h"

const nay_range_kernels nay__range_pdep = {range_pdep_any, range_pdep_any64};

#endif /* NAY_HAS_X86_KERNELS */
