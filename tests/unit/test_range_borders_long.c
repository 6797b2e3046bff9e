/* test_range_borders_long.c - test_range_borders.c with 10^8 ranges. */
#define ROUNDS 200000u
#include "test_range_borders.c"
