/* test_churn_long.c - test_churn.c with every rate at 300,000 keys, and with 3,000,000. */
#define EFFORT 10
#include "test_churn.c"
