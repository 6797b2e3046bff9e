/* fold_policy.h - LevelDB's filters of keys without case: the policy that belongs to
 * fold_order.h. */
#ifndef NAY_TEST_FOLD_POLICY_H
#define NAY_TEST_FOLD_POLICY_H

#include <stdlib.h>

#include "support/fold_order.h"

#define FOLD_KEY_MAX 256u
#define FOLD_POLICY_NAME "test.FoldFilter"

static inline size_t fold_key(const void *key, size_t len, uint8_t folded[FOLD_KEY_MAX]) {
  if (len > FOLD_KEY_MAX) abort();
  for (size_t i = 0; i < len; i++) folded[i] = ((const uint8_t *)key)[i] | 0x20;
  return len;
}

/* ctx is LevelDB's policy. */
static inline nay_status fold_create(void *ctx, const void *const *keys, const size_t *lens,
                                     size_t n, const nay_allocator *a, uint8_t **filter,
                                     size_t *len) {
  const nay_policy *inner = ctx;
  uint8_t(*text)[FOLD_KEY_MAX] = malloc((n + 1) * sizeof *text);
  const void **folded = malloc((n + 1) * sizeof *folded);
  if (text == NULL || folded == NULL) abort();
  for (size_t i = 0; i < n; i++) {
    fold_key(keys[i], lens[i], text[i]);
    folded[i] = text[i];
  }
  nay_status status = inner->create(inner->ctx, folded, lens, n, a, filter, len);
  free(text);
  free(folded);
  return status;
}

static inline bool fold_may_contain(void *ctx, const void *key, size_t key_len,
                                    const uint8_t *filter, size_t len) {
  const nay_policy *inner = ctx;
  uint8_t text[FOLD_KEY_MAX];
  return inner->may_contain(inner->ctx, text, fold_key(key, key_len, text), filter, len);
}

/* fold_policy: inner, which becomes LevelDB's policy, must stay. */
static inline nay_policy fold_policy(uint32_t bits_per_key, nay_policy *inner) {
  *inner = (nay_policy){.size = sizeof *inner};
  if (nay_policy_find(NAY_POLICY_LEVELDB, bits_per_key, inner) != NAY_OK) abort();
  return (nay_policy){.size = sizeof(nay_policy),
                      .name = FOLD_POLICY_NAME,
                      .create = fold_create,
                      .may_contain = fold_may_contain,
                      .ctx = inner,
                      .comparator = fold.name};
}

#endif /* NAY_TEST_FOLD_POLICY_H */
