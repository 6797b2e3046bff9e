/*
 * test_engine_rocksdb.c - against the real RocksDB: the same bytes from the same keys in all three
 * layouts, its reader on our blocks, and the same answer from blocks that were damaged.
 */
#include "engines.h"
#include "random_set.h"

#define N_SETS 2000
#define N_DAMAGED 6000
#define N_PROBES 64
#define MARGIN 128 /* RocksDB reads past the end of a few damaged blocks; we do not */

static const char *const layouts[] = {"rocksdb-bloom", "rocksdb-legacy", "rocksdb-ribbon"};

static engine_rocksdb_kind kind_of(const char *name) {
  for (int i = 0; i < 2; i++) {
    if (strcmp(name, layouts[i]) == 0) return (engine_rocksdb_kind)i;
  }
  return ROCKSDB_RIBBON;
}

static nay_filter *ours(const char *name, double bits, const uint8_t *const *keys,
                        const size_t *lens, size_t n) {
  nay_params p = {sizeof p, .bits_per_key = bits};
  nay_builder *b;
  nay_filter *f;
  assert_ok(nay_format_builder_new(nay_format_find(name), &p, NULL, NULL, &b));
  for (size_t i = 0; i < n; i++) assert_ok(nay_builder_add(b, keys[i], lens[i]));
  assert_ok(nay_builder_finish(b, NULL, &f));
  nay_builder_free(b);
  return f;
}

/* Both readers on the same bytes. */
static void check_answers(const uint8_t *filter, size_t len, const random_set *set,
                          uint64_t *state) {
  nay_view view = {.size = sizeof view};
  void *reader = engine_rocksdb_open(filter, len);
  assert_non_null(reader);
  assert_ok(nay_format_view(nay_format_find("rocksdb-bloom"), filter, len, 0, NULL, &view));
  for (unsigned i = 0; i < N_PROBES; i++) {
    uint8_t absent[MAX_KEY_LEN];
    size_t key_len;
    const uint8_t *key = draw_probe(set, i % 2 == 0, state, absent, &key_len);
    bool want = engine_rocksdb_may_match(reader, key, key_len);
    if (nay_filter_may_contain(nay_view_filter(&view), key, key_len) != want) {
      fail_msg("set %llu, probe %u: RocksDB says %d", (unsigned long long)set->seed, i, want);
    }
  }
  engine_rocksdb_close(reader);
}

/* Bits per key with a fraction, as RocksDB takes them. */
static double bits_of(const random_set *set) {
  return set->bits_per_key + (double)(set->seed % 10) / 10;
}

/* Since 9.6 RocksDB's filters of no keys have 0 bytes: before, only its ribbon filters had. */
static bool is_newer_empty(size_t n, size_t len) { return n == 0 && len == 0; }

/* Our block is RocksDB's, byte for byte, so what RocksDB's reader says of it it says of ours. */
static void the_same_bytes(void **state) {
  const char *name = *state;
  random_set *set = malloc(sizeof *set);
  assert_non_null(set);
  for (uint64_t seed = 0; seed < N_SETS; seed++) {
    uint64_t random = ~seed;
    draw_set(set, seed, MAX_KEYS);
    size_t len;
    uint8_t *theirs =
        engine_rocksdb_create(kind_of(name), bits_of(set), set->keys, set->lens, set->n, &len);
    assert_non_null(theirs);
    nay_filter *f = ours(name, bits_of(set), set->keys, set->lens, set->n);
    golden_bytes block = golden_encode(f);
    if (!is_newer_empty(set->n, len) && (block.len != len || memcmp(block.at, theirs, len) != 0)) {
      fail_msg("set %u of %u keys, %g bits: %u bytes, RocksDB has %u", (unsigned)seed,
               (unsigned)set->n, bits_of(set), (unsigned)block.len, (unsigned)len);
    }
    check_answers(block.at, block.len, set, &random);
    void *reader = engine_rocksdb_open(block.at, block.len);
    for (size_t i = 0; i < set->n; i++) {
      assert_true(engine_rocksdb_may_match(reader, set->keys[i], set->lens[i]));
    }
    engine_rocksdb_close(reader);
    free(block.at);
    free(theirs);
    nay_filter_free(f);
  }
  free(set);
}

/* One set of a size at which the other sizes of the table, and other seeds, come up. */
static void a_large_set(void **state) {
  enum { N = 300000 };
  uint64_t *words = malloc(N * sizeof *words);
  const uint8_t **keys = malloc(N * sizeof *keys);
  size_t *lens = malloc(N * sizeof *lens), len;
  assert_true(words != NULL && keys != NULL && lens != NULL);
  for (size_t i = 0; i < N; i++) {
    words[i] = nay_hash_mix(i);
    keys[i] = (const uint8_t *)&words[i];
    lens[i] = sizeof words[i];
  }
  for (size_t n = 20000; n <= N; n = n * 3 / 2 + 7) {
    uint8_t *theirs = engine_rocksdb_create(kind_of(*state), 10, keys, lens, n, &len);
    golden_assert_encodes(ours(*state, 10, keys, lens, n), theirs, len);
    free(theirs);
  }
  free(words);
  free(keys);
  free(lens);
}

/*
 * Damage that RocksDB's reader does not notice and then reads memory that is not the block's: a
 * Bloom block of less than a line, and a number of legacy lines that is right modulo 2^26.
 */
static bool reads_past_the_end(const uint8_t *filter, size_t len) {
  if (len <= 5) return false;
  const uint8_t *trailer = filter + len - 5;
  uint32_t lines = (uint32_t)trailer[1] | (uint32_t)trailer[2] << 8 | (uint32_t)trailer[3] << 16 |
                   (uint32_t)trailer[4] << 24;
  if (trailer[0] == 0xff) return len < 64 + 5;
  return trailer[0] <= 127 && lines * 64 == len - 5 && lines > len;
}

static void the_same_answers_from_damaged_blocks(void **state) {
  random_set *set = malloc(sizeof *set);
  assert_non_null(set);
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < N_DAMAGED; seed++) {
    uint64_t random = nay_hash_mix(~seed);
    draw_set(set, seed, 300);
    size_t len;
    uint8_t *made =
        engine_rocksdb_create(kind_of(*state), bits_of(set), set->keys, set->lens, set->n, &len);
    uint8_t *filter = malloc(len + MARGIN);
    assert_true(made != NULL && filter != NULL);
    memset(filter, 0, len + MARGIN);
    memcpy(filter, made, len);
    if (len > 5 && seed % 3 == 0) { /* damage where it matters most: the five bytes */
      filter[len - 1 - draw(&random, 5)] = (uint8_t)draw(&random, 256);
    } else if (len != 0) {
      len = damage(filter, len, len + 32, &random);
    }
    if (!reads_past_the_end(filter, len)) {
      check_answers(filter, len, set, &random);
      compared++;
    }
    free(filter);
    free(made);
  }
  assert_true(compared > N_DAMAGED * 8 / 10);
  free(set);
}

static void the_golden_files_made_again(void **unused) {
  (void)unused;
  golden_bytes table = golden_read(TEST_GOLDEN "/rocksdb/positives.txt");
  char *rest = (char *)table.at, *line;
  unsigned files = 0;
  static uint8_t bytes[10000][512];
  static const uint8_t *keys[10000];
  static size_t lens[10000];
  while ((line = golden_line(&rest)) != NULL) {
    char kind[16], set[16], path[512];
    unsigned n;
    double b;
    size_t len;
    assert_int_equal(sscanf(line, "filter_%15[^_]_%15[^_]_n%u_b%lf", kind, set, &n, &b), 4);
    snprintf(path, sizeof path, TEST_GOLDEN "/rocksdb/%.*s", (int)(strstr(line, ".bin") - line) + 4,
             line);
    for (unsigned i = 0; i < n; i++) {
      keys[i] = bytes[i];
      lens[i] = golden_set(set)(i, bytes[i]);
    }
    engine_rocksdb_kind made_as = kind[0] == 'f'   ? ROCKSDB_BLOOM
                                  : kind[0] == 'l' ? ROCKSDB_LEGACY
                                                   : ROCKSDB_RIBBON;
    uint8_t *made = engine_rocksdb_create(made_as, b, keys, lens, n, &len);
    golden_bytes stored = golden_read(path);
    if (!is_newer_empty(n, len)) assert_int_equal(len, stored.len);
    assert_memory_equal(made, stored.at, len);
    free(made);
    free(stored.at);
    files++;
  }
  assert_int_equal(files, 62);
  free(table.at);
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(void **);
  } for_each[] = {{"the_same_bytes", the_same_bytes},
                  {"a_large_set", a_large_set},
                  {"the_same_answers_from_damaged_blocks", the_same_answers_from_damaged_blocks}};
  test_case tests[10] = {TEST(the_golden_files_made_again)};
  static char names[10][64];
  size_t n = 1;
  for (size_t t = 0; t < 3; t++) {
    for (size_t i = 0; i < 3; i++, n++) {
      snprintf(names[n], sizeof names[n], "%s %s", for_each[t].name, layouts[i]);
      tests[n] = (test_case)TEST_WITH(names[n], for_each[t].run, layouts[i]);
    }
  }
  return run_list("engine_rocksdb", tests, n);
}
