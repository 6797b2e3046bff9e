/*
 * across.c - libnay for test_across.py: keys from standard input, each after its length in four
 * bytes, little-endian.
 *   across build FILE N FPR KIND   adds them to a filter and saves it
 *   across check FILE              prints how many of them are maybes
 */
#include <nay_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool next_key(uint8_t key[4096], size_t *len) {
  uint8_t head[4];
  if (fread(head, 1, 4, stdin) != 4) return false;
  *len = (size_t)head[0] | (size_t)head[1] << 8;
  return *len <= 4096 && head[2] == 0 && head[3] == 0 && fread(key, 1, *len, stdin) == *len;
}

static int build(char **argv) {
  static uint8_t key[4096];
  nay_params params = {
      .size = sizeof params, .nkeys = strtoull(argv[3], NULL, 10), .fpr = strtod(argv[4], NULL)};
  nay_filter *filter;
  nay_diag diag;
  size_t len;
  if (nay_kind_parse(argv[5], &params.kind) != NAY_OK ||
      nay_filter_new(&params, NULL, &diag, &filter) != NAY_OK)
    return 2;
  while (next_key(key, &len)) {
    if (nay_filter_add(filter, key, len, NULL) != NAY_OK) return 2;
  }
  int status = nay_filter_save(filter, argv[2], &diag) == NAY_OK ? 0 : 2;
  nay_filter_free(filter);
  return status;
}

static int check(char **argv) {
  static uint8_t key[4096];
  nay_filter *filter;
  size_t len;
  unsigned long maybes = 0;
  if (nay_filter_open(argv[2], NULL, NULL, &filter) != NAY_OK) return 2;
  while (next_key(key, &len)) maybes += nay_filter_may_contain(filter, key, len);
  printf("%lu\n", maybes);
  nay_filter_free(filter);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 6 && strcmp(argv[1], "build") == 0) return build(argv);
  if (argc == 3 && strcmp(argv[1], "check") == 0) return check(argv);
  return 2;
}
