/* exact.h - a set of keys that makes no errors, because it keeps them all. For nay uniq --exact. */
#ifndef NAY_EXACT_H
#define NAY_EXACT_H

#include "cli.h"

typedef struct exact_set exact_set;

exact_set *exact_new(void);

/* exact_add: true when the key is new. hash is any hash of it. */
bool exact_add(exact_set *s, const void *key, size_t len, uint64_t hash);
void exact_free(exact_set *s);

#endif /* NAY_EXACT_H */
