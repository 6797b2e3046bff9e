/* redisbloom.h - the golden files of RedisBloom: dumps by name, and what it answered. */
#ifndef NAY_TEST_REDISBLOOM_H
#define NAY_TEST_REDISBLOOM_H

#include "golden/golden.h"

/* redisbloom_bytes: a filter of tests/golden/redisbloom, as SCANDUMP or as DUMP gave it. */
static inline golden_bytes redisbloom_bytes(const char *name, bool is_dump) {
  char path[256];
  snprintf(path, sizeof path, TEST_GOLDEN "/redisbloom/%s.%s", name, is_dump ? "dump" : "scandump");
  return golden_read(path);
}

/* redisbloom_line: what follows a word in the block "filter <name>" of filters.txt. */
static inline const char *redisbloom_line(const char *text, const char *name, const char *word) {
  char head[64];
  snprintf(head, sizeof head, "filter %s\n", name);
  text = strstr(text, head);
  assert_non_null(text);
  snprintf(head, sizeof head, "\n%s", word);
  text = strstr(text, head);
  assert_non_null(text);
  return text + strlen(head);
}

/* redisbloom_number: the next number of a line; UINT64_MAX at its end. */
static inline uint64_t redisbloom_number(const char **line) {
  while (**line == ' ') ++*line;
  if (**line == '\n' || **line == 0) return UINT64_MAX;
  char *end;
  uint64_t number = strtoull(*line, &end, 10);
  *line = end;
  return number;
}

/* redisbloom_key: "<prefix>:<i>"; returns the length. */
static inline size_t redisbloom_key(const char *prefix, uint64_t i, uint8_t *out) {
  return (size_t)snprintf((char *)out, 32, "%s:%llu", prefix, (unsigned long long)i);
}

#endif /* NAY_TEST_REDISBLOOM_H */
