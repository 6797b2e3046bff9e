/* test_sst_tables.c - the cache of open tables: what it keeps open, and never more than it may. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "nay_sst_cache.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"

#define N_FILES 12u
#define N_KEYS 50u

static char paths[N_FILES][TEMP_MAX];

/* Table i has N_KEYS + i keys: which one it is can be told. */
static void write_files(void) {
  for (unsigned i = 0; i < N_FILES; i++) {
    char name[32];
    snprintf(name, sizeof name, "tables-%u.ldb", i);
    write_even(temp_path(paths[i], name), NULL, N_KEYS + i);
  }
}

static void remove_files(void) {
  for (unsigned i = 0; i < N_FILES; i++) unlink(paths[i]);
}

static const nay_sst_read_options pread_options = {sizeof pread_options, .flags = NAY_SST_PREAD};

static nay_sst_pool *tables_of(size_t max_open, bool strict) {
  nay_sst_pool_options how = {
      .size = sizeof how, .max_open = max_open, .strict = strict, .read = &pread_options};
  nay_sst_pool *tables;
  assert_ok(nay_sst_pool_new(&how, NULL, NULL, &tables));
  return tables;
}

static nay_sst_pool_info stats_of(const nay_sst_pool *tables) {
  nay_sst_pool_info stats = {.size = sizeof stats};
  assert_ok(nay_sst_pool_stats(tables, &stats));
  return stats;
}

static void assert_stats(const nay_sst_pool *tables, uint64_t open, uint64_t in_use, uint64_t hits,
                         uint64_t misses) {
  nay_sst_pool_info s = stats_of(tables);
  assert_int_equal(s.open, open);
  assert_int_equal(s.in_use, in_use);
  assert_int_equal(s.hits, hits);
  assert_int_equal(s.misses, misses);
}

/* Whether it is table i: it has key number 2 * (N_KEYS + i - 1), and not the next one. */
static bool is_table(const nay_sst *t, unsigned i) {
  nay_sst_value v = {.size = sizeof v};
  char key[32];
  unsigned last = 2 * (N_KEYS + i - 1);
  bool has = nay_sst_get(t, key, number_key(last, key), NAY_SST_NEWEST, NULL, &v) == NAY_OK;
  bool more =
      nay_sst_get(t, key, number_key(last + 2, key), NAY_SST_NEWEST, NULL, &v) != NAY_ENOENT;
  nay_sst_value_free(&v);
  return has && !more;
}

static const nay_sst *acquire(nay_sst_pool *tables, unsigned i) {
  const nay_sst *t;
  assert_ok(nay_sst_pool_acquire(tables, paths[i], NULL, &t));
  assert_true(is_table(t, i));
  return t;
}

static void use(nay_sst_pool *tables, unsigned i) {
  nay_sst_pool_release(tables, acquire(tables, i));
}

static void the_least_recently_used_is_closed(void **state) {
  (void)state;
  nay_sst_pool *tables = tables_of(2, false);
  use(tables, 0);
  use(tables, 1);
  use(tables, 0); /* so 1 is the oldest */
  assert_stats(tables, 2, 0, 1, 2);
  use(tables, 2);
  assert_stats(tables, 2, 0, 1, 3);
  use(tables, 0);
  assert_stats(tables, 2, 0, 2, 3);
  use(tables, 1);
  assert_stats(tables, 2, 0, 2, 4);
  assert_int_equal(stats_of(tables).closed, 2);
  assert_int_equal(stats_of(tables).peak_open, 2);
  nay_sst_pool_free(tables);
}

/* Two users of one table are two users of one object. */
static void tables_in_use_stay(void **state) {
  (void)state;
  nay_sst_pool *tables = tables_of(1, false);
  const nay_sst *a = acquire(tables, 0), *again = acquire(tables, 0);
  assert_ptr_equal(a, again);
  const nay_sst *b = acquire(tables, 1), *c = acquire(tables, 2);
  assert_stats(tables, 3, 3, 1, 3);
  nay_sst_pool_release(tables, a);
  assert_stats(tables, 3, 3, 1, 3);
  assert_true(is_table(again, 0));
  nay_sst_pool_release(tables, again);
  nay_sst_pool_release(tables, b);
  assert_stats(tables, 1, 1, 1, 3); /* above max_open: closed at once */
  nay_sst_pool_release(tables, c);
  assert_stats(tables, 1, 0, 1, 3); /* the last one stays open */
  use(tables, 2);
  assert_stats(tables, 1, 0, 2, 3);
  nay_sst_pool_release(tables, NULL);
  nay_sst_pool_free(tables);
}

static void strict_is_strict(void **state) {
  (void)state;
  nay_sst_pool *tables = tables_of(2, true);
  const nay_sst *a = acquire(tables, 0), *b = acquire(tables, 1), *none = NULL;
  nay_diag diag = {.what = NULL};
  assert_status(nay_sst_pool_acquire(tables, paths[2], &diag, &none), NAY_EFULL);
  assert_non_null(diag.what);
  assert_null(none);
  assert_stats(tables, 2, 2, 0, 3);
  assert_ptr_equal(acquire(tables, 1), b); /* open ones still are */
  nay_sst_pool_release(tables, b);
  nay_sst_pool_release(tables, b);
  use(tables, 2);
  assert_true(is_table(a, 0));
  nay_sst_pool_release(tables, a);
  assert_int_equal(stats_of(tables).peak_open, 2);
  nay_sst_pool_free(tables);
}

/* A file that is replaced: who has the old table keeps it, the next gets the new one. */
static void evicted_tables_are_opened_anew(void **state) {
  (void)state;
  char path[TEMP_MAX];
  const nay_sst *old, *new;
  nay_sst_pool *tables = tables_of(4, false);
  write_even(temp_path(path, "tables-replaced.ldb"), NULL, N_KEYS);
  assert_ok(nay_sst_pool_acquire(tables, path, NULL, &old));
  write_even(path, NULL, N_KEYS + 1);
  nay_sst_pool_evict(tables, path);
  assert_ok(nay_sst_pool_acquire(tables, path, NULL, &new));
  assert_true(old != new &&is_table(old, 0) && is_table(new, 1));
  assert_stats(tables, 2, 2, 0, 2);
  nay_sst_pool_release(tables, old);
  assert_stats(tables, 1, 1, 0, 2);
  nay_sst_pool_release(tables, new);
  assert_stats(tables, 1, 0, 0, 2);
  unlink(path);
  nay_sst_pool_evict(tables, path);
  nay_sst_pool_evict(tables, path); /* not there: nothing */
  assert_stats(tables, 0, 0, 0, 2);
  assert_status(nay_sst_pool_acquire(tables, path, NULL, &new), NAY_EIO);
  nay_sst_pool_free(tables);
}

/* An error is not remembered, and takes no room. */
static void errors_are_not_cached(void **state) {
  (void)state;
  char path[TEMP_MAX];
  const nay_sst *t = NULL;
  nay_diag diag = {.what = NULL};
  nay_sst_pool *tables = tables_of(2, true);
  temp_path(path, "tables-late.ldb");
  for (int i = 0; i < 5; i++) {
    assert_status(nay_sst_pool_acquire(tables, path, &diag, &t), NAY_EIO);
    assert_int_equal(diag.os_error, 2); /* ENOENT */
  }
  assert_stats(tables, 0, 0, 0, 5);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fputs("this is no table, and it is longer than the footer of one is", file) < 0,
                   0);
  fclose(file);
  assert_status(nay_sst_pool_acquire(tables, path, &diag, &t), NAY_EFORMAT);
  assert_null(t);
  write_even(path, NULL, N_KEYS);
  assert_ok(nay_sst_pool_acquire(tables, path, &diag, &t));
  nay_sst_pool_release(tables, t);
  assert_stats(tables, 1, 0, 0, 7);
  nay_sst_pool_free(tables);
  unlink(path);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  char name[NAY_SST_COMPARATOR_NAME];
  nay_sst_pool *tables = NULL;
  nay_sst_read_options read = {.size = sizeof read};
  nay_sst_pool_options how = {.size = sizeof how};
  assert_status(nay_sst_pool_new(&how, NULL, NULL, &tables), NAY_EINVAL);
  assert_status(nay_sst_pool_new(NULL, NULL, NULL, &tables), NAY_EINVAL);
  how.max_open = 1;
  assert_status(nay_sst_pool_new(&how, NULL, NULL, NULL), NAY_EINVAL);
  how.read = &read;
  read.stored_comparator = name;
  assert_status(nay_sst_pool_new(&how, NULL, NULL, &tables), NAY_EINVAL);
  read.stored_comparator = NULL;
  read.flags = 1u << 31;
  assert_status(nay_sst_pool_new(&how, NULL, NULL, &tables), NAY_EINVAL);
  assert_null(tables);
  how = (nay_sst_pool_options){.size = sizeof how, .max_open = SIZE_MAX};
  assert_ok(nay_sst_pool_new(&how, NULL, NULL, &tables));
  const nay_sst *t = NULL;
  assert_status(nay_sst_pool_acquire(tables, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_pool_acquire(tables, paths[0], NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_pool_acquire(NULL, paths[0], NULL, &t), NAY_EINVAL);
  nay_sst_pool_evict(tables, NULL);
  assert_stats(tables, 0, 0, 0, 0);
  nay_sst_pool_free(tables);
}

/* Every allocation fails once: an error, and the cache goes on as if there had been no call. */
static void allocations_fail(void **state) {
  (void)state;
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_pool_options how = {
      .size = sizeof how, .max_open = 1, .strict = true, .read = &pread_options};
  nay_sst_pool *tables = NULL;
  for (long at = 0;; at++) {
    flaky_arm(&heap, at, false);
    nay_status status = nay_sst_pool_new(&how, &a, NULL, &tables);
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
    assert_true(flaky_is_clean(&heap));
  }
  const nay_sst *t = NULL;
  long at = 0;
  for (;; at++) {
    flaky_arm(&heap, at, false);
    nay_status status = nay_sst_pool_acquire(tables, paths[at % 2], NULL, &t);
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
    assert_stats(tables, 0, 0, 0, (uint64_t)at + 1);
  }
  assert_true(at > 3);
  flaky_arm(&heap, -1, false);
  assert_true(is_table(t, (unsigned)(at % 2)));
  nay_sst_pool_release(tables, t);
  nay_sst_pool_free(tables);
  assert_true(flaky_is_clean(&heap));
}

/* ---- threads ---- */

#define N_THREADS 4u
#define N_ROUNDS 2000u

typedef struct work {
  nay_sst_pool *tables;
  uint64_t seed;
  unsigned wrong, full, done;
} work;

static void *work_on(void *ctx) {
  work *w = ctx;
  for (unsigned i = 0; i < TEST_SCALE(N_ROUNDS); i++) {
    uint64_t draw = nay_hash_mix(w->seed + i);
    unsigned file = (unsigned)(draw % N_FILES);
    const nay_sst *t;
    if (draw >> 60 == 0) nay_sst_pool_evict(w->tables, paths[file]);
    nay_status status = nay_sst_pool_acquire(w->tables, paths[file], NULL, &t);
    if (status == NAY_EFULL) {
      w->full++;
      sched_yield();
      continue;
    }
    w->done++;
    w->wrong += status != NAY_OK || !is_table(t, file);
    if (status == NAY_OK) nay_sst_pool_release(w->tables, t);
  }
  return NULL;
}

/* So many files that this process can open from now on. */
static struct rlimit limit_files(size_t n) {
  struct rlimit old, now;
  int fds[16], highest = -1;
  for (size_t i = 0; i < n; i++) {
    fds[i] = open(paths[0], O_RDONLY);
    assert_true(fds[i] >= 0);
    if (fds[i] > highest) highest = fds[i];
  }
  for (size_t i = 0; i < n; i++) close(fds[i]);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
  now = (struct rlimit){(rlim_t)highest + 1, old.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
  return old;
}

/*
 * Four threads, twelve tables, room for three; the system itself refuses a fourth file, so a cache
 * that opens before it closes fails with EMFILE. Not strict: room for one, and no refusal.
 */
static void threads_share_few_files(void **strict) {
  bool is_strict = *(const bool *)*strict;
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  unsigned done = 0;
  nay_sst_pool *tables = tables_of(is_strict ? 3 : 1, is_strict);
  struct rlimit old = {0, 0};
  for (unsigned i = 0; i < N_THREADS; i++) works[i] = (work){.tables = tables, .seed = i * 7919u};
  if (is_strict) old = limit_files(3);
  for (unsigned i = 0; i < N_THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, work_on, &works[i]), 0);
  }
  for (int i = 0; i < 100; i++) (void)stats_of(tables); /* readable at any time */
  for (unsigned i = 0; i < N_THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  if (is_strict) assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
  for (unsigned i = 0; i < N_THREADS; i++) {
    assert_int_equal(works[i].wrong, 0);
    if (!is_strict) assert_int_equal(works[i].full, 0);
    done += works[i].done;
  }
  nay_sst_pool_info s = stats_of(tables);
  assert_true(done > 0 && s.hits + s.misses == N_THREADS * TEST_SCALE(N_ROUNDS));
  assert_true(s.in_use == 0 && s.open <= (is_strict ? 3 : 1));
  /* a thread that comes second with a table has its own, which it closes, and the first one */
  assert_true(s.peak_open <= (is_strict ? 3 : 2 * N_THREADS));
  nay_sst_pool_free(tables);
}

/* The system gives three descriptors, fewer than max_open: idle tables are closed for another. With
 * all in use it is an error, which stays none. */
static void idle_tables_give_their_descriptors(void **state) {
  const nay_sst *held[3], *one_more;
  (void)state;
  nay_sst_pool *tables = tables_of(N_FILES, false);
  struct rlimit old = limit_files(3);
  for (unsigned i = 0; i < 3 * N_FILES; i++) use(tables, i % N_FILES);
  assert_stats(tables, 3, 0, 0, 3 * N_FILES);
  for (unsigned i = 0; i < 3; i++) held[i] = acquire(tables, i);
  nay_diag diag = {.what = NULL};
  assert_int_equal(nay_sst_pool_acquire(tables, paths[5], &diag, &one_more), NAY_EIO);
  assert_int_equal(diag.os_error, EMFILE);
  assert_int_equal(nay_sst_pool_acquire(tables, paths[5], NULL, &one_more), NAY_EIO);
  assert_int_equal(stats_of(tables).open, 3);
  nay_sst_pool_release(tables, held[1]);
  use(tables, 5);
  nay_sst_pool_release(tables, held[0]);
  nay_sst_pool_release(tables, held[2]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
  nay_sst_pool_free(tables);
}

int main(void) {
  static const bool yes = true, no = false;
  const test_case tests[] = {
      TEST(the_least_recently_used_is_closed),
      TEST(tables_in_use_stay),
      TEST(strict_is_strict),
      TEST(evicted_tables_are_opened_anew),
      TEST(errors_are_not_cached),
      TEST(nonsense_is_refused),
      TEST(allocations_fail),
      TEST(idle_tables_give_their_descriptors),
      TEST_WITH("threads_share_few_files strict", threads_share_few_files, &yes),
      TEST_WITH("threads_share_few_files one", threads_share_few_files, &no),
  };
  write_files();
  int failed = run_all(tests);
  remove_files();
  return failed;
}
