/*
 * test_engine_rocksdb_matrix.c - plugins/rocksdb under RocksDB's options: every answer of a
 * database is that of a model, in a covering array of configurations (RocksDB's own restrictions
 * apart). An answer counts as wrong when stock RocksDB, asked the same, is right.
 *
 *   test_engine_rocksdb_matrix         strength 3: any three options take every combination of
 *                                      their values; pairs of options alone under a sanitizer
 *   test_engine_rocksdb_matrix long    strength 4, and every question about every key
 *
 * Either way the combinations are counted in the configurations that were run.
 */
#include "covering_array.h"
#include "engine_rocksdb_matrix.h"
#include "support/test.h"

#define D MATRIX_DIMENSIONS

typedef struct totals {
  uint64_t configurations, keys, answers, wrong, wrong_stock, idle;
} totals;

static void run_one(const matrix_config *c, matrix_questions questions, totals *t) {
  char text[512];
  matrix_result r = matrix_run(c, questions);
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

static bool possible(const uint8_t *values) {
  matrix_config c;
  memcpy(c.at, values, D);
  return matrix_possible(&c);
}

static covering array_of(unsigned strength) {
  covering array = {.ndimensions = D, .strength = strength, .possible = possible};
  for (unsigned d = 0; d < D; d++) array.nvalues[d] = matrix_dimensions[d].n;
  covering_init(&array);
  return array;
}

/* What covering_array.h asks of matrix_possible: else it would take combinations for impossible
 * that are not. */
static void only_pairs_exclude_each_other(void **unused) {
  (void)unused;
  covering pairs = array_of(2);
  for (unsigned i = 0; i < 100000; i++) {
    uint8_t config[D], pair[D];
    for (unsigned d = 0; d < D; d++) config[d] = (uint8_t)covering_draw(&pairs, pairs.nvalues[d]);
    bool all = true;
    for (uint32_t set = 0; covering_next_set(&pairs, &set);) {
      for (unsigned d = 0; d < D; d++) pair[d] = set >> d & 1 ? config[d] : 0;
      all &= possible(pair);
    }
    assert_int_equal(all, possible(config));
  }
  covering_free(&pairs);
}

static void run_array(unsigned strength, bool every_question) {
  totals t = {0};
  covering array = array_of(strength);
  size_t room = 1024;
  matrix_config *run = malloc(room * sizeof *run);
  for (; covering_next(&array, run[t.configurations].at);) {
    unsigned turn = (unsigned)t.configurations;
    run_one(&run[turn], (matrix_questions){every_question ? 1 : 6, turn}, &t);
    if (t.configurations == room) run = realloc(run, (room *= 2) * sizeof *run);
    assert_non_null(run);
  }
  uint32_t missing = covering_missing(&array, run[0].at, (size_t)t.configurations);
  print_message("# strength %u: %u combinations of values, %u of them impossible, %u missed\n",
                strength, array.ncombinations, array.nimpossible, missing);
  assert_int_equal(missing, 0);
  assert_true(array.nimpossible < array.ncombinations / 10);
  covering_free(&array);
  free(run);
  assert_right(&t);
}

static void every_answer_is_right(void **unused) {
  (void)unused;
  run_array(TEST_SCALE(10) == 10 ? 3 : 2, false);
}

static void every_answer_is_right_at_length(void **unused) {
  (void)unused;
  run_array(4, true);
}

int main(int argc, char **argv) {
  const test_case few[] = {TEST(only_pairs_exclude_each_other), TEST(every_answer_is_right)};
  const test_case many[] = {TEST(every_answer_is_right_at_length)};
  if (argc >= 2 && strcmp(argv[1], "long") == 0) return run_all(many);
  return run_all(few);
}
