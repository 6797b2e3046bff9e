/* policy_keys.h - a set of keys as policies take it: pointers and lengths. */
#ifndef NAY_TEST_POLICY_KEYS_H
#define NAY_TEST_POLICY_KEYS_H

#include <stdlib.h>

#include "nay_policy.h"
#include "support/keys.h"

typedef struct policy_keys {
  size_t n;
  uint8_t *bytes; /* KEY_MAX each */
  const void **at;
  size_t *lens;
} policy_keys;

/* Keys number from, from + 1, ... of a key set. */
static inline policy_keys policy_keys_make(key_maker make, uint64_t from, size_t n) {
  policy_keys keys = {n, malloc(n * KEY_MAX + 1), malloc((n + 1) * sizeof(void *)),
                      malloc((n + 1) * sizeof(size_t))};
  if (keys.bytes == NULL || keys.at == NULL || keys.lens == NULL) abort();
  for (size_t i = 0; i < n; i++) {
    uint8_t *key = keys.bytes + i * KEY_MAX;
    keys.lens[i] = make(from + i, key);
    keys.at[i] = key;
  }
  return keys;
}

static inline void policy_keys_free(policy_keys *keys) {
  free(keys->bytes);
  free(keys->at);
  free(keys->lens);
}

/* A filter as a policy made it, in a piece of malloc exactly as long: sanitizers see its ends. */
typedef struct policy_bytes {
  uint8_t *at;
  size_t len;
} policy_bytes;

static inline policy_bytes policy_make(const nay_policy *policy, const policy_keys *keys) {
  policy_bytes filter = {NULL, 0};
  if (policy->create(policy->ctx, keys->at, keys->lens, keys->n, NULL, &filter.at, &filter.len) !=
      NAY_OK) {
    abort();
  }
  return filter;
}

/* How many of the keys may match. */
static inline size_t policy_count(const nay_policy *policy, const policy_keys *keys,
                                  const uint8_t *filter, size_t len) {
  size_t n = 0;
  for (size_t i = 0; i < keys->n; i++) {
    n += policy->may_contain(policy->ctx, keys->at[i], keys->lens[i], filter, len);
  }
  return n;
}

#endif /* NAY_TEST_POLICY_KEYS_H */
