/*
 * leveldb_bytes.c - write the bytes that LevelDB would write, and probe them in place.
 *
 *   $ leveldb_bytes
 *   11 40 00 41 44 10 40 10 06
 *   world: maybe
 *   foo: nay
 */
#include <nay_format.h>
#include <stdio.h>

int main(void) {
  const nay_format *leveldb = nay_format_find("leveldb");
  nay_params params = {sizeof params, .nkeys = 2, .bits_per_key = 10};
  nay_filter *filter;
  if (nay_format_new(leveldb, &params, NULL, NULL, &filter) != NAY_OK) return 1;
  nay_filter_add(filter, "hello", 5, NULL); /* hashed as LevelDB hashes */
  nay_filter_add(filter, "world", 5, NULL);

  unsigned char bytes[64];
  size_t len;
  if (nay_format_encode(leveldb, filter, bytes, sizeof bytes, &len) != NAY_OK) return 1;
  for (size_t i = 0; i < len; i++) printf("%02x%s", bytes[i], i + 1 < len ? " " : "\n");
  nay_filter_free(filter);

  nay_view view = {.size = sizeof view}; /* no allocation: what an engine does with a filter block
                                            it has in its cache */
  if (nay_format_view(leveldb, bytes, len, 0, NULL, &view) != NAY_OK) return 1;
  const nay_filter *probe = nay_view_filter(&view);
  printf("world: %s\n", nay_filter_may_contain(probe, "world", 5) ? "maybe" : "nay");
  printf("foo: %s\n", nay_filter_may_contain(probe, "foo", 3) ? "maybe" : "nay");
  return 0;
}
