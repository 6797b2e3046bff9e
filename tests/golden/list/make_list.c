/*
 * make_list.c - the golden files of exact lists, doc/formats/nay.md 23.
 *
 *   make_list write DIRECTORY     writes them, and answers.txt
 *   make_list check DIRECTORY     compares them with what this build writes and answers; prints TAP
 *
 * Key i is "member-i", behind "pNN," for the partition SplitMix64(i) mod nparts if there are some;
 * it is listed if SplitMix64(i + 7) mod 1000 is below share + step * NN. With `collide` two more
 * keys of 16 bytes have one hash: 0 is listed, 1 is not. answers.txt has the answers for 200 other
 * keys.
 */
#include <nay_list.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
  const char *name;
  unsigned n, nparts, share, step;
  bool collide;
  nay_params params;
} golden;

#define SIZE .size = sizeof(nay_params), .kind = NAY_LIST

static const golden list[] = {
    {"list-n0", 0, 0, 0, 0, false, {SIZE}},
    {"list-n1", 1, 0, 1000, 0, false, {SIZE, .check_bits = 3}},
    {"list-half", 300, 0, 500, 0, false, {SIZE}},
    {"list-few", 2000, 0, 20, 0, false, {SIZE, .check_bits = 4, .seed = 5}},
    {"list-inverted", 700, 0, 900, 0, true, {SIZE}},
    {"list-two-layers", 20000, 0, 800, 0, false, {SIZE, .list_base = 99}},
    {"list-prefix", 3000, 12, 0, 9, false, {SIZE, .list_prefix = 3}},
    {"list-delimiter",
     900,
     9,
     5,
     124,
     true,
     {SIZE, .list_delimiter = ',', .check_bits = 2, .hash = NAY_HASH_SIPHASH,
      .flags = NAY_STORE_KEY, .key = "golden secret!!"}},
};
#define NGOLDEN (sizeof list / sizeof list[0])

static size_t key_of(const golden *g, const char *name, unsigned i, unsigned part, char key[48]) {
  if (g->nparts == 0) return (size_t)snprintf(key, 48, "%s-%u", name, i);
  return (size_t)snprintf(key, 48, "p%02u,%s-%u", part, name, i);
}

static void add(nay_builder *b, const void *key, size_t len, bool listed) {
  if (nay_builder_add_value(b, key, len, listed) != NAY_OK) exit(2);
}

/* XXH3 of 16 bytes: the words of its secret make the first word 0 or 1, and both sums equal. */
static void add_colliding(nay_builder *b) {
  const uint64_t first = 0x6782737bea4239b9u, last = 0xaf56bc3b0996523au, x = 12345;
  for (uint64_t a = 0; a < 2; a++) {
    uint8_t key[16];
    uint64_t words[2] = {a ^ first, (a == 0 ? ((uint64_t)1 << 56) + 2 * x : x) ^ last};
    for (unsigned i = 0; i < 16; i++) key[i] = (uint8_t)(words[i / 8] >> (i % 8 * 8));
    add(b, key, sizeof key, a == 0);
  }
}

static nay_filter *build(const golden *g) {
  nay_builder *b;
  nay_filter *f;
  if (nay_builder_new(&g->params, NULL, NULL, &b) != NAY_OK) exit(2);
  for (unsigned i = 0; i < g->n; i++) {
    char key[48];
    unsigned part = g->nparts != 0 ? (unsigned)(nay_hash_mix(i) % g->nparts) : 0;
    size_t len = key_of(g, "member", i, part, key);
    add(b, key, len, nay_hash_mix(i + 7) % 1000 < g->share + g->step * part);
  }
  if (g->collide) add_colliding(b);
  if (nay_builder_finish(b, NULL, &f) != NAY_OK) exit(2);
  nay_builder_free(b);
  return f;
}

/* A line of answers.txt; the last partition is none of the list. */
static size_t answers(const golden *g, const nay_filter *f, char *text) {
  size_t used = (size_t)sprintf(text, "%s: ", g->name);
  for (unsigned i = 0; i < 200; i++) {
    char key[48];
    uint64_t listed;
    size_t len = key_of(g, "other", i, i % (g->nparts + 1), key);
    nay_status status = nay_filter_get(f, key, len, &listed);
    text[used++] = status == NAY_OK ? (char)('0' + listed) : '-';
  }
  text[used++] = '\n';
  return used;
}

static FILE *open_in(const char *directory, const char *name, const char *end, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", directory, name, end);
  return fopen(path, mode);
}

/* Whether the file has these bytes; writes: makes it so. */
static bool file_is(bool writes, const char *directory, const char *name, const char *end,
                    const void *bytes, size_t len) {
  static char stored[1 << 20];
  FILE *file = open_in(directory, name, end, writes ? "wb" : "rb");
  if (file == NULL) return false;
  bool same = writes
                  ? fwrite(bytes, 1, len, file) == len
                  : fread(stored, 1, sizeof stored, file) == len && memcmp(stored, bytes, len) == 0;
  return (fclose(file) == 0) & same;
}

int main(int argc, char **argv) {
  static char text[NGOLDEN * 256];
  size_t used = 0, failed = 0;
  if (argc != 3) return 2;
  bool writes = strcmp(argv[1], "write") == 0;
  for (size_t i = 0; i < NGOLDEN; i++) {
    nay_filter *f = build(&list[i]);
    size_t len = nay_filter_encoded_size(f);
    uint8_t *bytes = malloc(len);
    if (bytes == NULL || nay_filter_encode(f, bytes, len, &len) != NAY_OK) return 2;
    used += answers(&list[i], f, text + used);
    bool same = file_is(writes, argv[2], list[i].name, ".nay", bytes, len);
    printf("%sok %zu - %s.nay\n", same ? "" : "not ", i + 1, list[i].name);
    failed += !same;
    free(bytes);
    nay_filter_free(f);
  }
  bool same = file_is(writes, argv[2], "answers", ".txt", text, used);
  printf("%sok %zu - answers.txt\n1..%zu\n", same ? "" : "not ", NGOLDEN + 1, NGOLDEN + 1);
  return failed != 0 || !same;
}
