/* test_every_n_long.c - test_every_n.c with every n, and shards of two million keys: minutes. */
#define EVERY_N_LONG
#include "test_every_n.c"
