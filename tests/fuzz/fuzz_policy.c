/*
 * fuzz_policy.c - bytes that claim to be the filter of a policy: first the length of a key, the
 * key, then the filter. No policy reads outside of it. A filter that says nay is intact:
 * with any bit flipped, "nay.small.v1" says maybe.
 */
#include "nay_policy.h"
#include "support/exercise.h"

static void flip_all(const nay_policy *small, const uint8_t *key, size_t key_len, uint8_t *filter,
                     size_t len) {
  for (size_t bit = 0; bit < len * 8; bit++) {
    filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK(small->may_contain(small->ctx, key, key_len, filter, len));
    filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

/* What the key makes itself, it matches. */
static void make_one(const nay_policy *policy, const uint8_t *key, size_t key_len) {
  const void *keys[] = {key, key, "other"};
  const size_t lens[] = {key_len, key_len, 5};
  uint8_t *filter;
  size_t len;
  CHECK(policy->create(policy->ctx, keys, lens, 3, NULL, &filter, &len) == NAY_OK);
  CHECK(policy->may_contain(policy->ctx, key, key_len, filter, len));
  free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t key_len = data[0] % 32, len = size - 1;
  if (key_len > len) key_len = len;
  len -= key_len;
  uint8_t *key = malloc(key_len + 1), *filter = malloc(len + 1), *p = filter + 1; /* odd */
  CHECK(key != NULL && filter != NULL);
  memcpy(key, data + 1, key_len);
  memcpy(p, data + 1 + key_len, len);
  nay_policy leveldb = {.size = sizeof leveldb}, small = {.size = sizeof small};
  CHECK(nay_policy_find(NAY_POLICY_LEVELDB, 10, &leveldb) == NAY_OK &&
        nay_policy_find(NAY_POLICY_SMALL, 10, &small) == NAY_OK);
  (void)leveldb.may_contain(leveldb.ctx, key, key_len, p, len);
  if (!small.may_contain(small.ctx, key, key_len, p, len) && len < 200)
    flip_all(&small, key, key_len, p, len);
  make_one(&leveldb, key, key_len);
  make_one(&small, key, key_len);
  free(filter);
  free(key);
  return 0;
}
