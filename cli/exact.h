/* exact.h - a set of keys that makes no errors, because it keeps them all. For nay uniq --exact,
 * and to verify exact lists. */
#ifndef NAY_EXACT_H
#define NAY_EXACT_H

#include "cli.h"

typedef struct exact_set exact_set;

exact_set *exact_new(void);

/* exact_add: true when the key is new. hash is any hash of it. */
bool exact_add(exact_set *s, const void *key, size_t len, uint64_t hash);

/* exact_see: whether it has the key, which then counts as seen. exact_count: its keys; exact_nseen:
 * those that were seen. */
bool exact_see(exact_set *s, const void *key, size_t len, uint64_t hash);
uint64_t exact_count(const exact_set *s);
uint64_t exact_nseen(const exact_set *s);

void exact_free(exact_set *s);

#endif /* NAY_EXACT_H */
