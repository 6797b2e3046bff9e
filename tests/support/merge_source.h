/* merge_source.h - a source of a merging iterator whose verbs are <verbs>_first, <verbs>_last and
 * so on. */
#ifndef NAY_TEST_MERGE_SOURCE_H
#define NAY_TEST_MERGE_SOURCE_H

#include <nay_sst_iter.h>

/* MERGE_SOURCE: further fields may follow, such as .stable = true. */
#define MERGE_SOURCE(verbs, ...)                                                        \
  {                                                                                     \
    .size = sizeof(nay_sst_source), .first = verbs##_first, .last = verbs##_last,       \
    .seek = verbs##_seek, .seek_for_prev = verbs##_seek_for_prev, .next = verbs##_next, \
    .prev = verbs##_prev, .key = verbs##_key, .value = verbs##_value, __VA_ARGS__       \
  }

#endif /* NAY_TEST_MERGE_SOURCE_H */
