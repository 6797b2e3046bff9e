/* dispatch.c - which kernels this CPU runs best. The only file that asks what the CPU can do. */
#include "cpu/kernels.h"

const nay_kernels *nay__kernels_best(void) { return &nay__kernels_scalar; }
