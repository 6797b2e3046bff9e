/*
 * filter_program.h - a property: whatever program of operations a tape spells, run on filters of
 * any family, no key is lost and every count stays sane. See filter_program.c; it needs nothing of
 * the test framework, so a fuzz target is this file, that file and four lines:
 *
 *   int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
 *     if (!tape_holds(property_filter_program, bytes, len, NULL)) abort();
 *     return 0;
 *   }
 */
#ifndef NAY_TEST_FILTER_PROGRAM_H
#define NAY_TEST_FILTER_PROGRAM_H

#include "support/tape.h"

bool property_filter_program(tape *t);

/* The same with a bug planted between the program and the library: tests expect these to fail. */
bool property_with_a_dropped_add(tape *t);    /* adds of one key are forgotten */
bool property_with_a_lazy_merge(tape *t);     /* merging says yes and does nothing */
bool property_with_a_forgetful_file(tape *t); /* what comes back from a file lacks a bit */

#endif /* NAY_TEST_FILTER_PROGRAM_H */
