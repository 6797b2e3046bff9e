/* test_map_every_n_long.c - test_map_every_n.c with every n. */
#define EVERY_N_LONG
#include "test_map_every_n.c"
