/*
 * make_map.c - the golden files of static maps, doc/formats/nay.md 21.
 *
 *   make_map write DIRECTORY     writes them, and answers.txt
 *   make_map check DIRECTORY     compares them with what this build writes and answers; prints TAP
 *   make_map list                how each is made, an object of JSON a line: for other builds
 *
 * Key i is "member-i", or the hash SplitMix64(i) >> seed where the caller hashes; its value is the
 * top bits of SplitMix64(i + 7). answers.txt has what 200 other keys get.
 */
#include <nay_map.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
  const char *name;
  uint64_t n;
  nay_params params;
  const char *meta;
} golden;

#define SIZE .size = sizeof(nay_params), .kind = NAY_MAP
#define CALLER .hash = NAY_HASH_CALLER

static const golden list[] = {
    {"map-n0", 0, {SIZE, .value_bits = 3, .check_bits = 2}, NULL},
    {"map-n1", 1, {SIZE, .value_bits = 1}, NULL},
    {"map-n2", 2, {SIZE, .value_bits = 3, .check_bits = 2}, NULL},
    {"map-n1000", 1000, {SIZE, .value_bits = 5, .check_bits = 7}, NULL},
    {"map-wide", 150, {SIZE, .value_bits = 64, .seed = 77}, NULL},
    {"map-check", 300, {SIZE, .value_bits = 1, .check_bits = 30}, "check bits"},
    {"map-key-stored",
     100,
     {SIZE, .value_bits = 9, .hash = NAY_HASH_SIPHASH, .flags = NAY_STORE_KEY,
      .key = "golden secret!!"},
     "keyed"},
    {"map-two-layers", 8600, {SIZE, .value_bits = 2, .check_bits = 1}, NULL},
    {"map-caller", 9000, {SIZE, .value_bits = 2, CALLER, .seed = 30}, NULL},
};
#define NGOLDEN (sizeof list / sizeof list[0])

static uint64_t hash_of(const nay_params *p, uint64_t i) { return nay_hash_mix(i) >> p->seed; }

static nay_filter *build(const golden *g) {
  nay_builder *b;
  nay_filter *map;
  if (nay_builder_new(&g->params, NULL, NULL, &b) != NAY_OK) exit(2);
  for (uint64_t i = 0; i < g->n; i++) {
    char key[32];
    uint64_t value = nay_hash_mix(i + 7) >> (64 - g->params.value_bits);
    nay_status status;
    if (g->params.hash == NAY_HASH_CALLER) {
      status = nay_builder_add_value_hash(b, (nay_hash){hash_of(&g->params, i), 0}, value);
    } else {
      int len = snprintf(key, sizeof key, "member-%llu", (unsigned long long)i);
      status = nay_builder_add_value(b, key, (size_t)len, value);
    }
    if (status != NAY_OK) exit(2);
  }
  if (nay_builder_finish(b, NULL, &map) != NAY_OK) exit(2);
  nay_builder_free(b);
  if (g->meta != NULL && nay_filter_set_meta(map, g->meta, strlen(g->meta)) != NAY_OK) exit(2);
  return map;
}

static uint8_t *encode(const nay_filter *map, size_t *len) {
  uint8_t *bytes = malloc(nay_filter_encoded_size(map));
  if (bytes == NULL || nay_filter_encode(map, bytes, nay_filter_encoded_size(map), len) != NAY_OK)
    exit(2);
  return bytes;
}

/* A line of answers.txt: the values of hashes that are in no map, - where they are absent. */
static size_t answers(const golden *g, const nay_filter *map, char *text, size_t cap) {
  size_t used = (size_t)snprintf(text, cap, "%s:", g->name);
  for (uint64_t i = 0; i < 200; i++) {
    uint64_t value;
    nay_hash hash = {nay_hash_mix(1000000 + i), 0};
    bool there = nay_filter_get_hash(map, hash, &value) == NAY_OK;
    if (there)
      used += (size_t)snprintf(text + used, cap - used, " %llx", (unsigned long long)value);
    if (!there) used += (size_t)snprintf(text + used, cap - used, " -");
  }
  return used + (size_t)snprintf(text + used, cap - used, "\n");
}

static size_t read_file(const char *directory, const char *name, const char *end, uint8_t **bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", directory, name, end);
  FILE *file = fopen(path, "rb");
  size_t cap = 1 << 20, len;
  *bytes = calloc(1, cap + 1);
  if (file == NULL || *bytes == NULL) return 0;
  len = fread(*bytes, 1, cap, file);
  fclose(file);
  return len;
}

static void write_file(const char *directory, const char *name, const char *end, const void *bytes,
                       size_t len) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", directory, name, end);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) exit(2);
}

static void print_list(void) {
  for (size_t i = 0; i < NGOLDEN; i++) {
    const nay_params *p = &list[i].params;
    printf(
        "{\"name\": \"%s.nay\", \"n\": %u, \"valueBits\": %u, \"checkBits\": %u, \"flags\": %u, ",
        list[i].name, (unsigned)list[i].n, (unsigned)p->value_bits, (unsigned)p->check_bits,
        (unsigned)p->flags);
    printf("\"hash\": \"%s\", \"seed\": %u, \"key\": \"%s\", \"meta\": \"%s\"}\n",
           nay_hash_name(p->hash), (unsigned)p->seed, (const char *)p->key,
           list[i].meta != NULL ? list[i].meta : "");
  }
}

int main(int argc, char **argv) {
  static char text[NGOLDEN * 8192];
  size_t used = 0, failed = 0;
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    print_list();
    return 0;
  }
  if (argc != 3) return 2;
  bool writes = strcmp(argv[1], "write") == 0;
  for (size_t i = 0; i < NGOLDEN; i++) {
    nay_filter *map = build(&list[i]);
    size_t len, stored_len;
    uint8_t *bytes = encode(map, &len), *stored = NULL;
    used += answers(&list[i], map, text + used, sizeof text - used);
    if (writes) {
      write_file(argv[2], list[i].name, ".nay", bytes, len);
    } else {
      stored_len = read_file(argv[2], list[i].name, ".nay", &stored);
      bool same = stored_len == len && memcmp(stored, bytes, len) == 0;
      printf("%sok %zu - %s.nay\n", same ? "" : "not ", i + 1, list[i].name);
      failed += !same;
    }
    free(stored);
    free(bytes);
    nay_filter_free(map);
  }
  if (writes) {
    write_file(argv[2], "answers", ".txt", text, used);
    return 0;
  }
  uint8_t *stored;
  size_t len = read_file(argv[2], "answers", ".txt", &stored);
  bool same = len == used && memcmp(stored, text, len) == 0;
  printf("%sok %zu - answers.txt\n1..%zu\n", same ? "" : "not ", NGOLDEN + 1, NGOLDEN + 1);
  free(stored);
  return failed != 0 || !same;
}
