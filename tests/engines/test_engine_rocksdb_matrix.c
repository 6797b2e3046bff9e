/*
 * test_engine_rocksdb_matrix.c - plugins/rocksdb under RocksDB's options: every answer of a
 * database is that of a model, in a selection of configurations in which every value of an option
 * meets every pair of values of two others (a covering array of strength 3; RocksDB's own
 * restrictions apart). An answer counts as wrong when stock RocksDB, asked the same, is right.
 *
 *   test_engine_rocksdb_matrix long [n]    instead: the product of the first six dimensions, or
 *                                          each n-th of it; the others drawn with a fixed seed
 */
#include "engine_rocksdb_matrix.h"
#include "support/test.h"

#define D MATRIX_DIMENSIONS
#define MAX_VALUES 8

typedef struct totals {
  uint64_t configurations, keys, answers, wrong, wrong_stock, idle;
} totals;

static unsigned values_of(unsigned d) { return matrix_dimensions[d].n; }

static void run_one(const matrix_config *c, totals *t) {
  char text[512];
  matrix_result r = matrix_run(c);
  t->configurations++;
  t->keys += r.keys;
  t->answers += r.answers;
  t->wrong += r.wrong;
  t->wrong_stock += r.wrong_stock;
  bool idle = matrix_filters(c) && r.filter_nays == 0;
  t->idle += idle;
  if (r.wrong == 0 && r.wrong_stock == 0 && !idle) return;
  matrix_print(c, text, sizeof text);
  print_message("# %s: %llu wrong (stock as well: %llu)%s %s\n", text, (unsigned long long)r.wrong,
                (unsigned long long)r.wrong_stock, idle ? ", no filter said nay" : "", r.first);
}

static void assert_right(const totals *t) {
  print_message(
      "# %llu configurations, %llu keys, %llu answers: %llu wrong; stock RocksDB alike: "
      "%llu; %llu with idle filters\n",
      (unsigned long long)t->configurations, (unsigned long long)t->keys,
      (unsigned long long)t->answers, (unsigned long long)t->wrong,
      (unsigned long long)t->wrong_stock, (unsigned long long)t->idle);
  assert_int_equal(t->wrong, 0);
  assert_int_equal(t->idle, 0);
}

/* ---- all pairs: of 60 random configurations take the one with the most new pairs ---- */

static uint8_t covered[D][D][MAX_VALUES][MAX_VALUES];
static uint64_t state = 1;

static unsigned draw(unsigned below) {
  state += 0x9e3779b97f4a7c15u;
  return (unsigned)(nay_hash_mix(state) % below);
}

/* Pairs of this configuration that none before it had; with `take` they are now covered. */
static unsigned new_pairs(const matrix_config *c, bool take) {
  unsigned n = 0;
  for (unsigned i = 0; i < D; i++) {
    for (unsigned j = i + 1; j < D; j++) {
      uint8_t *pair = &covered[i][j][c->at[i]][c->at[j]];
      n += *pair == 0;
      if (take) *pair = 1;
    }
  }
  return n;
}

static matrix_config draw_config(void) {
  matrix_config c;
  do {
    for (unsigned d = 0; d < D; d++) c.at[d] = (uint8_t)draw(values_of(d));
  } while (!matrix_possible(&c));
  return c;
}

/* False: of 20,000 random configurations none had a pair that was new. */
static bool next_config(matrix_config *best) {
  unsigned most = 0;
  for (unsigned i = 0; i < 60 || (most == 0 && i < 20000); i++) {
    matrix_config c = draw_config();
    unsigned n = new_pairs(&c, false);
    if (n > most) most = n, *best = c;
  }
  if (most != 0) new_pairs(best, true);
  return most != 0;
}

static void every_answer_is_right(void **unused) {
  (void)unused;
  totals t = {0};
  matrix_config c;
  while (t.configurations < TEST_SCALE(300) && next_config(&c)) run_one(&c, &t);
  assert_right(&t);
}

/* ---- the product ---- */

static void the_product(void **step) {
  totals t = {0};
  unsigned product = 1;
  for (unsigned d = 0; d <= MATRIX_COMPARATOR; d++) product *= values_of(d);
  for (unsigned i = 0; i < product; i += *(const unsigned *)*step) {
    matrix_config c = draw_config();
    unsigned rest = i;
    for (unsigned d = 0; d <= MATRIX_COMPARATOR; d++) {
      c.at[d] = (uint8_t)(rest % values_of(d));
      rest /= values_of(d);
    }
    if (c.at[MATRIX_LAYOUT] != 0) c.at[MATRIX_INDEX] = 0;
    if (!matrix_possible(&c)) c.at[MATRIX_ORIGIN] = 0;
    if (matrix_possible(&c)) run_one(&c, &t);
  }
  assert_right(&t);
}

int main(int argc, char **argv) {
  unsigned step = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
  if (step == 0) return 2;
  const test_case few[] = {TEST(every_answer_is_right)};
  const test_case all[] = {TEST_WITH("the_product", the_product, &step)};
  if (argc >= 2 && strcmp(argv[1], "long") == 0) return run_all(all);
  return run_all(few);
}
