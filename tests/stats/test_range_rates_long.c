/* test_range_rates_long.c - test_range_rates.c up to 10^8 keys: 3 GiB. */
#define MOST 100000000u
#include "test_range_rates.c"
