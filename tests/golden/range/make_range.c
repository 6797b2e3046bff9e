/*
 * make_range.c - the golden files of range filters, doc/formats/nay.md 22.
 *
 *   make_range write DIRECTORY     writes them, and answers.txt
 *   make_range check DIRECTORY     compares them with what this build writes and answers; prints
 * TAP make_range answers FILE...     a line for each: its status, and its answers
 *
 * Key i of a set is made from x = SplitMix64(i):
 *
 *   wide      8 bytes, big-endian: x
 *   near      8 bytes: 2^40 + x mod 2^20
 *   dense     8 bytes: 2^50 + i for two of three, else x
 *   orders    "user:<x mod 40>:order:<i>", decimal
 *   series    "s<x mod 7>:" and 4 bytes, big-endian: x mod 2^20
 *   mixed     as wide, but every tenth is "other-<i>" and every seventh has the prefix "p:"
 *
 * Question q of a set asks from key x mod 3000 of the set, with y = SplitMix64(x) mod 64 taken from
 * its number and z = SplitMix64(x) >> 32 mod 200 added to that, where both ends stay in range; odd
 * questions ask from a number that is 1,000,000 higher. Here x = SplitMix64(5,000,000 + q). A digit
 * of answers.txt is four questions, the first the lowest bit.
 */
#include <nay_range.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum golden_set { WIDE, NEAR, DENSE, ORDERS, SERIES, MIXED } golden_set;
typedef enum golden_deed { AS_BUILT, JOINED, SHRUNK } golden_deed;

typedef struct golden {
  const char *name;
  golden_set set;
  uint64_t n;
  nay_params params;
  golden_deed deed;
  const char *meta;
} golden;

#define SIZE .size = sizeof(nay_params), .kind = NAY_RANGE

static const golden list[] = {
    {"range-n0", WIDE, 0, {SIZE, .fpr = 0.01, .range_length = 100}, AS_BUILT, NULL},
    {"range-n1", WIDE, 1, {SIZE, .fpr = 0.01, .range_length = 100}, AS_BUILT, NULL},
    {"range-n2", WIDE, 2, {SIZE, .fpr = 0.01, .range_length = 100}, AS_BUILT, NULL},
    {"range-n1000", WIDE, 1000, {SIZE, .fpr = 0.01, .range_length = 100}, AS_BUILT, NULL},
    {"range-seed",
     WIDE,
     700,
     {SIZE, .fpr = 0.25, .range_length = 3, .seed = 99},
     AS_BUILT,
     "seeded"},
    {"range-key-stored",
     WIDE,
     300,
     {SIZE, .fpr = 0.01, .range_length = 50, .hash = NAY_HASH_SIPHASH, .flags = NAY_STORE_KEY,
      .key = "golden secret!!"},
     AS_BUILT,
     NULL},
    {"range-long", WIDE, 100, {SIZE, .fpr = 0.0001, .range_length = 1ull << 40}, AS_BUILT, NULL},
    {"range-more-low", WIDE, 900, {SIZE, .fpr = 0.01, .range_length = 19}, AS_BUILT, NULL},
    {"range-exact", NEAR, 500, {SIZE, .fpr = 0.01, .range_length = 1000}, AS_BUILT, NULL},
    {"range-dense", DENSE, 3000, {SIZE, .fpr = 0.02, .range_length = 40000}, AS_BUILT, NULL},
    {"range-orders",
     ORDERS,
     800,
     {SIZE, .fpr = 0.01, .range_length = 50, .range_keys = NAY_RANGE_DECIMAL,
      .range_delimiter = ':'},
     AS_BUILT,
     NULL},
    {"range-series",
     SERIES,
     600,
     {SIZE, .fpr = 0.02, .range_length = 64, .range_keys = NAY_RANGE_BE4, .range_delimiter = ':'},
     AS_BUILT,
     NULL},
    {"range-mixed", MIXED, 400, {SIZE, .fpr = 0.01, .range_length = 100}, AS_BUILT, NULL},
    {"range-joined",
     WIDE,
     800,
     {SIZE, .nkeys = 800, .fpr = 0.01, .range_length = 100},
     JOINED,
     NULL},
    {"range-shrunk", WIDE, 800, {SIZE, .fpr = 0.001, .range_length = 100}, SHRUNK, NULL},
    {"range-groups", DENSE, 45000, {SIZE, .fpr = 0.3, .range_length = 3}, AS_BUILT, NULL},
};
#define NGOLDEN (sizeof list / sizeof list[0])
#define NQUESTIONS 400u
#define KEY_ROOM 64u

/* ---- keys ---- */

/* Key i with its number moved; false: it would leave the range of numbers. */
static bool move(uint64_t *number, uint64_t most, int64_t by) {
  if (by < 0 ? *number < (uint64_t)-by : most - *number < (uint64_t)by) return false;
  *number += (uint64_t)by;
  return true;
}

static size_t key_of(golden_set set, uint64_t i, int64_t by, uint8_t *key) {
  uint64_t x = nay_hash_mix(i), number = x, most = UINT64_MAX;
  size_t len = 0;
  char *text = (char *)key;
  if (set == NEAR) number = ((uint64_t)1 << 40) + x % ((uint64_t)1 << 20);
  if (set == DENSE && i % 3 != 0) number = ((uint64_t)1 << 50) + i;
  if (set == ORDERS) {
    number = i;
    if (!move(&number, most, by)) return 0;
    return (size_t)sprintf(text, "user:%u:order:%llu", (unsigned)(x % 40),
                           (unsigned long long)number);
  }
  if (set == SERIES) {
    len = (size_t)sprintf(text, "s%u:", (unsigned)(x % 7));
    number = x % ((uint64_t)1 << 20);
    most = UINT32_MAX;
  }
  if (set == MIXED && i % 10 == 0)
    return (size_t)sprintf(text, "other-%llu", (unsigned long long)i);
  if (set == MIXED && i % 7 == 0) len = (size_t)sprintf(text, "p:");
  if (!move(&number, most, by)) return 0;
  uint8_t all[8];
  nay_range_key(number, all);
  size_t n = set == SERIES ? 4 : 8;
  memcpy(key + len, all + 8 - n, n);
  return len + n;
}

/* Bit q: the answer of question q; ends that are out of range or in the wrong order are maybe. */
static void ask(const golden *g, const nay_filter *f, uint8_t answers[NQUESTIONS]) {
  for (uint64_t q = 0; q < NQUESTIONS; q++) {
    uint64_t x = nay_hash_mix(5000000 + q), y = nay_hash_mix(x), i = x % 3000;
    int64_t by = (q % 2 != 0 ? 1000000 : 0) - (int64_t)(y % 64);
    uint8_t lo[KEY_ROOM], hi[KEY_ROOM];
    bool maybe = true;
    size_t lo_len = key_of(g->set, i, by, lo);
    size_t hi_len = key_of(g->set, i, by + (int64_t)((y >> 32) % 200), hi);
    if (lo_len != 0 && hi_len != 0) {
      (void)nay_filter_may_contain_range(f, lo, lo_len, hi, hi_len, &maybe);
    }
    answers[q] = maybe;
  }
}

/* ---- filters ---- */

static nay_filter *build_of(const golden *g, uint64_t from, uint64_t to) {
  nay_builder *b;
  nay_filter *f;
  if (nay_builder_new(&g->params, NULL, NULL, &b) != NAY_OK) exit(2);
  for (uint64_t i = from; i < to; i++) {
    uint8_t key[KEY_ROOM];
    size_t len = key_of(g->set, i, 0, key);
    if (nay_builder_add(b, key, len) != NAY_OK) exit(2);
  }
  if (nay_builder_finish(b, NULL, &f) != NAY_OK) exit(2);
  nay_builder_free(b);
  return f;
}

static nay_filter *build(const golden *g) {
  nay_filter *f = build_of(g, 0, g->deed == JOINED ? g->n / 2 : g->n);
  if (g->deed == JOINED) {
    nay_filter *more = build_of(g, g->n / 2, g->n);
    if (nay_filter_merge(f, more, 1, NULL) != NAY_OK) exit(2);
    nay_filter_free(more);
  }
  nay_stats s = {.size = sizeof s};
  if (g->deed == SHRUNK && (nay_filter_stats(f, &s) != NAY_OK ||
                            nay_filter_shrink(f, s.nbytes * 3 / 4, NULL) != NAY_OK)) {
    exit(2);
  }
  if (g->meta != NULL && nay_filter_set_meta(f, g->meta, strlen(g->meta)) != NAY_OK) exit(2);
  return f;
}

/* ---- files ---- */

static size_t line_of(const golden *g, const nay_filter *f, char *text) {
  uint8_t answers[NQUESTIONS];
  size_t used = (size_t)sprintf(text, "%s: ", g->name);
  ask(g, f, answers);
  for (unsigned q = 0; q < NQUESTIONS; q += 4) {
    used += (size_t)sprintf(
        text + used, "%x",
        answers[q] | answers[q + 1] << 1 | answers[q + 2] << 2 | answers[q + 3] << 3);
  }
  return used + (size_t)sprintf(text + used, "\n");
}

static uint8_t *read_path(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  size_t cap = 1 << 20;
  uint8_t *bytes = calloc(1, cap + 1);
  if (bytes == NULL) exit(2);
  *len = 0;
  if (file == NULL) return bytes;
  *len = fread(bytes, 1, cap, file);
  fclose(file);
  return bytes;
}

static void path_of(char *path, size_t cap, const char *directory, const char *name,
                    const char *end) {
  snprintf(path, cap, "%s/%s%s", directory, name, end);
}

static void write_file(const char *path, const void *bytes, size_t len) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) exit(2);
}

/* The answers of any file, as those of the set that its name begins with. */
static int print_answers(int n, char **paths) {
  for (int i = 0; i < n; i++) {
    char text[2 * NQUESTIONS];
    const char *name = strrchr(paths[i], '/') != NULL ? strrchr(paths[i], '/') + 1 : paths[i];
    const golden *g = &list[0];
    for (size_t k = 0; k < NGOLDEN; k++) {
      size_t len = strlen(list[k].name);
      if (strncmp(name, list[k].name, len) == 0 && name[len] == '.') g = &list[k];
    }
    size_t len;
    uint8_t *bytes = read_path(paths[i], &len);
    nay_filter *f = NULL;
    nay_status status = nay_filter_decode(bytes, len, NULL, NULL, &f);
    size_t used = 0;
    if (status == NAY_OK) used = line_of(g, f, text);
    printf("%s %.*s", nay_status_name(status), (int)used, text);
    if (used == 0) printf("\n");
    nay_filter_free(f);
    free(bytes);
  }
  return 0;
}

int main(int argc, char **argv) {
  static char text[NGOLDEN * 1024];
  char path[4096];
  size_t used = 0, failed = 0, len;
  if (argc >= 2 && strcmp(argv[1], "answers") == 0) return print_answers(argc - 2, argv + 2);
  if (argc != 3) return 2;
  bool writes = strcmp(argv[1], "write") == 0;
  for (size_t i = 0; i < NGOLDEN; i++) {
    nay_filter *f = build(&list[i]);
    size_t size = nay_filter_encoded_size(f), written;
    uint8_t *bytes = malloc(size);
    if (bytes == NULL || nay_filter_encode(f, bytes, size, &written) != NAY_OK) exit(2);
    used += line_of(&list[i], f, text + used);
    path_of(path, sizeof path, argv[2], list[i].name, ".nay");
    if (writes) {
      write_file(path, bytes, written);
    } else {
      uint8_t *stored = read_path(path, &len);
      bool same = len == written && memcmp(stored, bytes, len) == 0;
      printf("%sok %zu - %s.nay\n", same ? "" : "not ", i + 1, list[i].name);
      failed += !same;
      free(stored);
    }
    free(bytes);
    nay_filter_free(f);
  }
  path_of(path, sizeof path, argv[2], "answers", ".txt");
  if (writes) {
    write_file(path, text, used);
    return 0;
  }
  uint8_t *stored = read_path(path, &len);
  bool same = len == used && memcmp(stored, text, used) == 0;
  printf("%sok %zu - answers.txt\n1..%zu\n", same ? "" : "not ", NGOLDEN + 1, NGOLDEN + 1);
  free(stored);
  return failed != 0 || !same;
}
