/* test_mutable_programs_long.c - the same programs, 10^7 operations each. */
#define PROGRAM_STEPS 10000000u
#include "test_mutable_programs.c"
