/*
 * test_leveldb_flips.c - one flipped bit in the filter block of a real database, a thousand times,
 * with LevelDB's default options (no checksum is verified): in nay mode no key is ever lost. The
 * same with LevelDB's own policy, to show that the test detects a loss.
 */
#define _GNU_SOURCE 1
#include "database.h"
#include "support/ldb_file.h"

#define N_KEYS 12000u
#define N_FLIPS 1000u
#define N_FLIPS_CONTROL 200u

/* A table of the database: its bytes as LevelDB wrote them. */
typedef struct table {
  char path[600];
  uint8_t *bytes;
  size_t len;
  ldb_filter_block block;
} table;

static uint8_t *read_all(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *len = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*len + 1);
  assert_true(bytes != NULL && fread(bytes, 1, *len, file) == *len);
  fclose(file);
  return bytes;
}

/* The largest table, which has most of the keys. */
static table find_table(const directory *f, const char *policy_name) {
  table best = {.len = 0};
  DIR *dir = opendir(f->path);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (strstr(e->d_name, ".ldb") == NULL) continue;
    table t = {.len = 0};
    snprintf(t.path, sizeof t.path, "%s/%s", f->path, e->d_name);
    t.bytes = read_all(t.path, &t.len);
    assert_true(ldb_find_filter(t.bytes, t.len, &t.block));
    if (strcmp(t.block.name, policy_name) == 0 && t.len > best.len) {
      free(best.bytes);
      best = t;
    } else {
      free(t.bytes);
    }
  }
  closedir(dir);
  assert_true(best.len > 100000);
  return best;
}

static void write_bytes(const table *t, uint64_t at, const uint8_t *bytes, size_t n) {
  FILE *file = fopen(t->path, "r+b");
  assert_true(file != NULL && fseek(file, (long)at, SEEK_SET) == 0);
  assert_true(fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static leveldb_filterpolicy_t *make_policy(bool nay) {
  return nay ? nay_leveldb_policy(NAY_LEVELDB_NAY, 10) : leveldb_filterpolicy_create_bloom(10);
}

/* How many keys are not found where these bytes of the filter block are others. */
static uint64_t lost_by(const directory *f, const table *t, bool nay, bool paranoid_checks,
                        uint64_t from, const uint8_t *bytes, size_t n) {
  uint64_t at = t->block.offset + from;
  write_bytes(t, at, bytes, n);
  database d = database_open_paranoid(f->path, make_policy(nay), paranoid_checks);
  uint64_t found = database_found(&d, 0, N_KEYS);
  database_close(&d);
  write_bytes(t, at, t->bytes + at, n);
  return N_KEYS - found;
}

static uint64_t lost_by_flip(const directory *f, const table *t, bool nay, uint64_t bit) {
  uint8_t byte = t->bytes[t->block.offset + bit / 8] ^ (uint8_t)(1u << bit % 8);
  return lost_by(f, t, nay, false, bit / 8, &byte, 1);
}

static directory make_database(bool nay) {
  directory f = directory_make();
  database d = database_open(f.path, make_policy(nay));
  database_fill(&d, N_KEYS);
  database_compact(&d);
  database_close(&d);
  return f;
}

/* Bits of filters and of their offsets, drawn with a fixed seed; counts flips that lost a key. */
static unsigned losing_flips(bool nay, unsigned flips) {
  directory f = make_database(nay);
  table t = find_table(&f, nay ? "nay.small.v1" : "leveldb.BuiltinBloomFilter2");
  unsigned losing = 0, offsets = 0;
  for (unsigned i = 0; i < flips; i++) {
    uint64_t bit = nay_hash_mix(i) % ((t.block.size - 5) * 8);
    uint64_t lost = lost_by_flip(&f, &t, nay, bit);
    losing += lost != 0;
    offsets += bit / 8 >= t.block.filters;
    if (nay && lost != 0)
      print_message("# bit %llu of %llu: %llu keys lost\n", (unsigned long long)bit,
                    (unsigned long long)t.block.size * 8, (unsigned long long)lost);
  }
  print_message("# %s: %u of %u flips lost keys; %u were in offsets\n", t.block.name, losing, flips,
                offsets);
  assert_true(offsets > flips / 50);
  free(t.bytes);
  directory_remove(&f);
  return losing;
}

static void no_flip_loses_a_key(void **state) {
  (void)state;
  assert_int_equal(losing_flips(true, N_FLIPS), 0);
}

static void the_built_in_policy_does_lose_keys(void **state) {
  (void)state;
  assert_true(losing_flips(false, N_FLIPS_CONTROL) > N_FLIPS_CONTROL / 5);
}

/*
 * The last 5 bytes of a filter block say where the offsets are and how wide a range is. LevelDB
 * alone reads them, and some of their bits send it to the intact filter of other keys: no policy
 * can help there. All 40, so that the number in the plug-in's README is the one that is true.
 */
static void the_last_five_bytes_are_leveldb_s_own(void **state) {
  (void)state;
  directory f = make_database(true);
  table t = find_table(&f, "nay.small.v1");
  unsigned losing = 0;
  for (unsigned i = 0; i < 40; i++) {
    losing += lost_by_flip(&f, &t, true, (t.block.size - 5) * 8 + i) != 0;
  }
  print_message("# %u of the 40 bits lose keys, of %llu in the block\n", losing,
                (unsigned long long)t.block.size * 8);
  assert_true(losing >= 1 && losing <= 20);
  free(t.bytes);
  directory_remove(&f);
}

/* ---- bursts ---- */

/* Damage that is more than one bit, in nay mode. */
typedef struct bursts {
  const char *name;
  unsigned losing[2]; /* without and with paranoid_checks */
  unsigned n;
} bursts;

static void burst(const directory *f, const table *t, uint64_t from, const uint8_t *bytes, size_t n,
                  bursts *b) {
  b->n++;
  for (int paranoid = 0; paranoid < 2; paranoid++) {
    b->losing[paranoid] += lost_by(f, t, true, paranoid != 0, from, bytes, n) != 0;
  }
}

/* A run of up to `width` bytes from `from` on is replaced by random ones. */
static void random_burst(const directory *f, const table *t, uint64_t from, size_t width,
                         uint64_t seed, bursts *b) {
  uint8_t bytes[8];
  for (size_t i = 0; i < width; i++) bytes[i] = (uint8_t)nay_hash_mix(seed * 8 + i);
  burst(f, t, from, bytes, width, b);
}

/* A filter that is not empty, by its number; LevelDB makes them for every second range only. */
static uint64_t draw_filter(const table *t, uint64_t noffsets, uint64_t seed) {
  const uint8_t *offsets = t->bytes + t->block.offset + t->block.filters;
  uint64_t at = nay_hash_mix(seed) % (noffsets - 1);
  while (memcmp(offsets + 4 * at, offsets + 4 * at + 4, 4) == 0) at = (at + 1) % (noffsets - 1);
  return at;
}

/* Two neighbouring offsets become those of another filter: it is intact, and has other keys. */
static void other_filter(const directory *f, const table *t, uint64_t at, uint64_t other,
                         bursts *b) {
  const uint8_t *offsets = t->bytes + t->block.offset + t->block.filters;
  burst(f, t, t->block.filters + 4 * at, offsets + 4 * other, 8, b);
}

/*
 * What the README says of bursts: with two neighbouring offsets replaced keys can be lost, and
 * paranoid_checks see it. The other two rows are not certain without it, only likely to be seen.
 */
static void bursts_need_paranoid_checks(void **state) {
  (void)state;
  enum { N_BURSTS = 24 };
  directory f = make_database(true);
  table t = find_table(&f, "nay.small.v1");
  uint64_t noffsets = (t.block.size - 5 - t.block.filters) / 4;
  bursts two = {"two neighbouring offsets, those of another filter", {0, 0}, 0},
         one = {"one offset, random", {0, 0}, 0}, bits = {"8 bytes of filters, random", {0, 0}, 0};
  for (uint64_t i = 0; i < N_BURSTS; i++) {
    uint64_t at = draw_filter(&t, noffsets, i), other = draw_filter(&t, noffsets, i + 999);
    if (other != at) other_filter(&f, &t, at, other, &two);
    random_burst(&f, &t, t.block.filters + 4 * at, 4, i, &one);
    random_burst(&f, &t, nay_hash_mix(i + 555) % (t.block.filters - 8), 8, i, &bits);
  }
  const bursts *all[] = {&two, &one, &bits};
  for (int i = 0; i < 3; i++) {
    print_message("# %s: %u of %u lose keys, with paranoid_checks %u\n", all[i]->name,
                  all[i]->losing[0], all[i]->n, all[i]->losing[1]);
    assert_int_equal(all[i]->losing[1], 0);
  }
  assert_true(two.n > N_BURSTS / 2 && two.losing[0] == two.n);
  free(t.bytes);
  directory_remove(&f);
}

int main(void) {
  const test_case tests[] = {
      TEST(no_flip_loses_a_key),
      TEST(the_built_in_policy_does_lose_keys),
      TEST(the_last_five_bytes_are_leveldb_s_own),
      TEST(bursts_need_paranoid_checks),
  };
  return run_all(tests);
}
