/*
 * kv_damage.h - a store whose files a test writes itself.
 */
#ifndef NAY_TEST_KV_DAMAGE_H
#define NAY_TEST_KV_DAMAGE_H

#include <inttypes.h>

#include "hash/hash.h"
#include "kv_model.h"
#include "support/directory.h"

static directory dir;

static inline nay_status try_open(kv_error *error, kv **db) {
  kv_options options = model_options();
  return kv_open(dir.path, &options, error, db);
}

static inline void file_write(const char *name, const void *bytes, size_t len) {
  directory_write(directory_at(&dir, name), bytes, len);
}

static inline void store_clear(void) {
  directory_remove(&dir);
  assert_int_equal(mkdir(dir.path, 0777), 0);
}

/* A line of the manifest is replaced, or one is added; the checksum is right. */
static inline void manifest_edit(const char *good, const char *from, const char *to) {
  static const uint8_t key[16];
  char text[4000];
  const char *at = strstr(good, from), *end = strstr(good, "check");
  assert_non_null(at);
  const char *rest = at == end ? at : strchr(at, '\n') + 1;
  int n = snprintf(text, sizeof text, "%.*s%s%.*s", (int)(at - good), good, to, (int)(end - rest),
                   rest);
  n += snprintf(text + n, sizeof text - (size_t)n, "check %016" PRIx64 "\n",
                nay__siphash(key, (const uint8_t *)text, (size_t)n, 1, 3));
  file_write("MANIFEST", text, (size_t)n);
}

#endif /* NAY_TEST_KV_DAMAGE_H */
