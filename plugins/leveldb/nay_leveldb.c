/*
 * nay_leveldb.c - a nay_policy behind LevelDB's C interface.
 *
 * LevelDB appends what create_filter returns and passes it to free(3): so it must come from malloc
 * and must not be NULL.
 */
#include "nay_leveldb.h"

#include <stdlib.h>
#include <string.h>

static void *plugin_alloc(void *unused, size_t size) {
  (void)unused;
  return malloc(size);
}

static void plugin_free(void *unused, void *p, size_t size) {
  (void)unused;
  (void)size;
  free(p);
}

/* LevelDB has allocated two vectors just before and would have aborted without memory; if not even
 * two bytes can be allocated, so does this. */
static char *plugin_everything(size_t *len) {
  char *filter = malloc(NAY_POLICY_EVERYTHING_LEN);
  if (filter == NULL) abort();
  memcpy(filter, NAY_POLICY_EVERYTHING, NAY_POLICY_EVERYTHING_LEN);
  *len = NAY_POLICY_EVERYTHING_LEN;
  return filter;
}

static char *plugin_create(void *state, const char *const *keys, const size_t *lens, int n,
                           size_t *filter_len) {
  const nay_policy *policy = state;
  const nay_allocator allocator = {.alloc = plugin_alloc, .free = plugin_free};
  uint8_t *filter = NULL;
  size_t len = 0;
  nay_status status = policy->create(policy->ctx, (const void *const *)keys, lens, (size_t)n,
                                     &allocator, &filter, &len);
  if (status != NAY_OK) return plugin_everything(filter_len);
  *filter_len = len;
  return (char *)filter;
}

static uint8_t plugin_may_match(void *state, const char *key, size_t len, const char *filter,
                                size_t filter_len) {
  const nay_policy *policy = state;
  return policy->may_contain(policy->ctx, key, len, (const uint8_t *)filter, filter_len);
}

static const char *plugin_name(void *state) { return ((const nay_policy *)state)->name; }

leveldb_filterpolicy_t *nay_leveldb_policy_of(const nay_policy *policy) {
  nay_policy *copy = policy != NULL ? malloc(sizeof *copy) : NULL;
  if (copy == NULL) return NULL;
  *copy = *policy;
  return leveldb_filterpolicy_create(copy, free, plugin_create, plugin_may_match, plugin_name);
}

nay_status nay_leveldb_mode_policy(nay_leveldb_mode mode, int bits_per_key, nay_policy *policy) {
  if (bits_per_key < 0) return NAY_EINVAL;
  switch (mode) {
    case NAY_LEVELDB_COMPATIBLE:
      return nay_policy_find(NAY_POLICY_LEVELDB, (uint32_t)bits_per_key, policy);
    case NAY_LEVELDB_NAY: return nay_policy_find(NAY_POLICY_SMALL, (uint32_t)bits_per_key, policy);
  }
  return NAY_EINVAL;
}

leveldb_filterpolicy_t *nay_leveldb_policy(nay_leveldb_mode mode, int bits_per_key) {
  nay_policy policy = {.size = sizeof policy};
  nay_status status = nay_leveldb_mode_policy(mode, bits_per_key, &policy);
  return status == NAY_OK ? nay_leveldb_policy_of(&policy) : NULL;
}
