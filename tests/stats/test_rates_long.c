/* test_rates_long.c - test_rates.c with ten times the probes, and 10^8 keys: some minutes. */
#define EFFORT 10
#include "test_rates.c"
