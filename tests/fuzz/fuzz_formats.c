/*
 * fuzz_formats.c - other systems' bytes. An input starts with the name of a format and a newline;
 * without a name that is known, its first byte picks one. The rest is the filter. The corpus has
 * names, so that a format added to the list does not turn its inputs into those of another. A Redis
 * DUMP is read as it is and with a checksum that fits, so that what is inside is read. Chains of
 * cuckoo filters, whose sums no random change gets right, have a mutator of their own.
 */
#include "support/cf_mutate.h"
#include "support/exercise.h"

static const nay_format *picked(const uint8_t *data, size_t size, size_t *start) {
  size_t nformats = 0;
  const uint8_t *end = memchr(data, '\n', size);
  for (; nay_format_at(nformats) != NULL; nformats++) {
    const char *name = nay_format_name(nay_format_at(nformats));
    size_t len = strlen(name);
    if (end != NULL && (size_t)(end - data) == len && memcmp(data, name, len) == 0) {
      *start = len + 1;
      return nay_format_at(nformats);
    }
  }
  *start = 1;
  return nay_format_at(data[0] % nformats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t start;
  const nay_format *format = picked(data, size, &start);
  size_t len = size - start;
  uint8_t *p = malloc(len == 0 ? 1 : len); /* exactly as long, for the sanitizer */
  if (p == NULL) return 0;
  memcpy(p, data + start, len);
  exercise_bytes(format, p, len, len, true);
  bool likely;
  (void)nay_format_recognise(p, len, len, &likely);
  if (strncmp(nay_format_name(format), "redis-dump", 10) == 0) {
    seal_dump(p, len);
    exercise_bytes(format, p, len, len, true);
  }
  free(p);
  return 0;
}

#ifdef NAY_FUZZ
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* The chain in an input, as CF.SCANDUMP has it, in cf[0, room). 0: it is none. */
static size_t chain_in(const nay_format *format, const uint8_t *p, size_t len, uint8_t *cf,
                       size_t room) {
  size_t size = 0;
  nay_filter *f = NULL;
  if (nay_format_decode(format, p, len, 0, NULL, NULL, &f) != NAY_OK) return 0;
  if (nay_format_encode(nay_format_find("redisbloom-cf"), f, cf, room, &size) != NAY_OK) size = 0;
  nay_filter_free(f);
  return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  enum { ROOM = 4096 };
  static uint8_t cf[ROOM], dump[ROOM + 8192];
  size_t start = 0;
  const nay_format *format = size != 0 ? picked(data, size, &start) : NULL;
  const char *name = format != NULL ? nay_format_name(format) : "";
  size_t tail = strlen(name) > 3 ? strlen(name) - 3 : 0;
  if (seed % 4 == 0 || strcmp(name + tail, "-cf") != 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  cf_dice dice = {(uint64_t)seed << 24};
  size_t len = chain_in(format, data + start, size - start, cf, ROOM);
  if (len == 0) return LLVMFuzzerMutate(data, size, max_size);
  len = cf_mutate(cf, len, ROOM, &dice);
  const uint8_t *bytes = cf;
  if (strcmp(name, "redis-dump-cf") == 0) {
    CHECK(cf_dump_room(ROOM) <= sizeof dump);
    len = cf_dump(cf, len, dump);
    bytes = dump;
  }
  if (start + len > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data + start, bytes, len);
  return start + len;
}
#endif
