/* test_sqlite_core.c - the extension compiled into a program, with SQLITE_CORE: every connection
 * has its functions, handles and filters kept for statements live as long as they should, and no
 * allocation that fails makes an answer wrong. Runs under ASan too. */
#include <sqlite3.h>

#include "nay_sqlite.h"
#include "support/test.h"

/* ---- an allocator of SQLite that fails at a chosen call ----------------------------------------
 */

static struct {
  long calls, fail_at; /* fail_at -1: none */
  bool for_ever;
  long live;
} heap = {.fail_at = -1};

typedef struct label {
  size_t size, unused;
} label;

static void *core_malloc(int size) {
  long call = heap.calls++;
  if (heap.fail_at >= 0 && (call == heap.fail_at || (heap.for_ever && call > heap.fail_at)))
    return NULL;
  label *made = malloc(sizeof *made + (size_t)size);
  if (made == NULL) return NULL;
  made->size = (size_t)size;
  heap.live++;
  return made + 1;
}

static void core_free(void *ptr) {
  if (ptr == NULL) return;
  heap.live--;
  free((label *)ptr - 1);
}

static int core_size(void *ptr) { return ptr != NULL ? (int)((label *)ptr - 1)->size : 0; }

static void *core_realloc(void *ptr, int size) {
  void *made = core_malloc(size);
  if (made == NULL) return NULL;
  int old = core_size(ptr);
  if (ptr != NULL) memcpy(made, ptr, (size_t)(old < size ? old : size));
  core_free(ptr);
  return made;
}

static int core_roundup(int size) { return (size + 7) & ~7; }

static int core_init(void *unused) {
  (void)unused;
  return SQLITE_OK;
}

static void core_shutdown(void *unused) { (void)unused; }

/* ---- questions ---------------------------------------------------------------------------------
 */

static sqlite3 *opened(void) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  return db;
}

/* The first column of the first row, as an integer; -1 for NULL or no row, -2 for an error. */
static long asked(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  long answer = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) return -2;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
    answer = (long)sqlite3_column_int64(stmt, 0);
  if (rc == SQLITE_ROW) rc = sqlite3_step(stmt);
  while (rc == SQLITE_ROW) rc = sqlite3_step(stmt);
  return sqlite3_finalize(stmt) == SQLITE_OK ? answer : -2;
}

static void done(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void refused(sqlite3 *db, const char *sql, const char *why) {
  assert_int_equal(asked(db, sql), -2);
  if (strstr(sqlite3_errmsg(db), why) == NULL) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

#define SERIES(n) \
  "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t WHERE x < " #n ") "

static void every_connection_has_the_functions(void **unused) {
  (void)unused;
  sqlite3 *dbs[2] = {opened(), opened()};
  for (int i = 0; i < 2; i++) {
    done(dbs[i], "CREATE TABLE f(g)");
    done(dbs[i], SERIES(500) "INSERT INTO f SELECT nay_agg(x, 500, 1e-9) FROM t");
    assert_int_equal(asked(dbs[i], "SELECT nkeys FROM f, nay_info(g)"), 500);
    assert_int_equal(
        asked(dbs[i], SERIES(600) "SELECT sum(nay_contains((SELECT g FROM f), x)) FROM t"), 500);
    refused(dbs[i], "SELECT nay_contains(nay_file('x.nay'), 1)", "opens no files");
    refused(dbs[i], "SELECT nay_contains(x'00', 1)", "native file");
  }
  sqlite3_close(dbs[0]);
  assert_int_equal(asked(dbs[1], "SELECT nay_contains(g, 500) FROM f"), 1);
  sqlite3_close(dbs[1]);
}

/* One statement, stepped again with other filters: what it kept for a constant goes with it. */
static void a_statement_that_is_bound_again(void **unused) {
  (void)unused;
  sqlite3 *db = opened();
  done(db, "CREATE TABLE f(i, g)");
  done(db, SERIES(40) "INSERT INTO f SELECT x, nay_agg(x, 10, 1e-9) FROM t GROUP BY x");
  sqlite3_stmt *all, *one;
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT i, g FROM f", -1, &all, NULL), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(
          db, SERIES(40) "SELECT sum(nay_contains(?1, x)), max(x * nay_contains(?1, x)) FROM t", -1,
          &one, NULL),
      SQLITE_OK);
  for (int n = 0; sqlite3_step(all) == SQLITE_ROW; n++) {
    int len = sqlite3_column_bytes(all, 1);
    void *exact = malloc((size_t)len); /* a read beyond it is seen */
    assert_non_null(exact);
    memcpy(exact, sqlite3_column_blob(all, 1), (size_t)len);
    sqlite3_bind_blob(one, 1, exact, len, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(one), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(one, 0), 1);
    assert_int_equal(sqlite3_column_int(one, 1), sqlite3_column_int(all, 0));
    sqlite3_reset(one);
    sqlite3_clear_bindings(one);
    free(exact);
  }
  sqlite3_finalize(all);
  sqlite3_finalize(one);
  sqlite3_close(db);
}

/* A handle outlives neither its connection nor the 16 filters that were asked after it, and the
 * filter outlives neither while a statement has it. */
static void handles(void **unused) {
  (void)unused;
  sqlite3 *db = opened(), *other = opened();
  done(db, "CREATE TABLE f(i, g)");
  done(db, SERIES(40) "INSERT INTO f SELECT x, nay_agg(x, 10, 1e-9) FROM t GROUP BY x");
  done(db, "CREATE TABLE h AS SELECT nay_open(g) AS h FROM f WHERE i = 7");
  assert_int_equal(asked(db, "SELECT nay_contains(h, 7) FROM h"), 1);
  assert_int_equal(asked(db, "SELECT nay_contains(h, 8) FROM h"), 0);
  sqlite3_stmt *stmt;
  assert_int_equal(
      sqlite3_prepare_v2(db, "SELECT nay_contains((SELECT h FROM h), i) FROM f", -1, &stmt, NULL),
      SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  for (int i = 0; i < 3; i++)
    assert_int_equal(asked(db, "SELECT sum(nay_contains(g, i)) FROM f WHERE i <> 7"), 39);
  refused(db, "SELECT nay_contains(h, 7) FROM h", "not open");
  int rc = sqlite3_step(stmt); /* the statement has it still, or says that it is gone */
  assert_true(rc == SQLITE_ROW || rc == SQLITE_ERROR);
  sqlite3_finalize(stmt);
  refused(other, "SELECT nay_contains(CAST('nayopen1' AS BLOB) || zeroblob(24), 7)", "BLOB");
  refused(
      other,
      "SELECT nay_contains(x'6e61796f70656e31000000000000000000000000000000000000000000000000', 7)",
      "not open");
  sqlite3_close(db);
  sqlite3_close(other);
}

static const char *const questions[] = {
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_agg(x, 3000, 1e-9) FROM t), x)) FROM t",
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_open(nay_agg(x, 1e-9)) FROM t), x)) FROM t",
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_agg(x, 3000, 1e-9, 'fuse') FROM t), x)) FROM t",
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_agg('key ' || x, 3000, 1e-9, 'ribbon') FROM t), 'key ' || x)) FROM t",
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_union(f) FROM (SELECT nay_agg(x, 3000, 1e-9, 'bloom') AS f FROM t "
                 "GROUP BY x % 7)), x)) FROM t",
    SERIES(3000) "SELECT sum(nay_contains((SELECT nay_merge(nay_agg(x, 3000, 1e-9), nay_agg(x + 1, 3000, 1e-9)) FROM t), x)) "
                 "FROM t",
    SERIES(30) "SELECT sum(nkeys) * 100 FROM (SELECT nay_agg(x, 10, 1e-9, 'bloom') OVER (ORDER BY x) AS f FROM t) s, "
               "nay_info(s.f)"};

/* Each question with the allocation that fails moved along, once and for ever: the answer is right
 * or an error, and all is freed. */
static void no_memory_anywhere(void **unused) {
  (void)unused;
  for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
    long right = strstr(questions[q], "nkeys") != NULL ? 30000 : 3000;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
      bool failed = true;
      for (long at = 0; failed; at += 1 + at / 64) {
        heap.fail_at = -1;
        long before = heap.live;
        sqlite3 *db = opened();
        heap.calls = 0;
        heap.fail_at = at;
        heap.for_ever = for_ever != 0;
        long answer = asked(db, questions[q]);
        failed = heap.calls > at;
        heap.fail_at = -1;
        if (answer != right && answer != -2)
          fail_msg("question %zu, allocation %ld: %ld", q, at, answer);
        if (!failed) assert_int_equal(answer, right);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(heap.live, before);
      }
    }
  }
}

/* Connections that cannot be opened because no memory is left leave nothing behind. */
static void no_memory_for_a_connection(void **unused) {
  (void)unused;
  bool failed = true;
  for (long at = 0; failed; at++) {
    heap.fail_at = -1;
    long before = heap.live;
    heap.calls = 0;
    heap.fail_at = at;
    heap.for_ever = false;
    sqlite3 *db = NULL;
    int rc = sqlite3_open(":memory:", &db);
    failed = heap.calls > at;
    heap.fail_at = -1;
    if (rc == SQLITE_OK) assert_true(asked(db, "SELECT nay_contains(nay_agg(7), 7)") == 1);
    sqlite3_close(db);
    assert_int_equal(heap.live, before);
  }
}

/* Bytes that are nearly a filter, in memory of exactly their length, through every function. */
static void hostile_blobs(void **unused) {
  (void)unused;
  static const char *const calls[] = {"SELECT nay_contains(?1, 7)", "SELECT nay_open(?1)",
                                      "SELECT nay_union(?1)", "SELECT nay_merge(?1, ?1)",
                                      "SELECT fpr_now FROM nay_info(?1)"};
  enum { NCALLS = sizeof calls / sizeof *calls };
  static const char *const kinds[] = {"bloom",  "blocked", "counting", "scalable", "window",
                                      "cuckoo", "xor",     "fuse",     "ribbon"};
  sqlite3 *db = opened();
  sqlite3_stmt *stmts[NCALLS], *build;
  for (int i = 0; i < NCALLS; i++)
    assert_int_equal(sqlite3_prepare_v2(db, calls[i], -1, &stmts[i], NULL), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(db, SERIES(40) "SELECT nay_agg(x, 40, 0.01, ?1) FROM t", -1, &build, NULL),
      SQLITE_OK);
  uint64_t salt = 32;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    sqlite3_reset(build);
    sqlite3_bind_text(build, 1, kinds[k], -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(build), SQLITE_ROW);
    const uint8_t *good = sqlite3_column_blob(build, 0);
    size_t len = (size_t)sqlite3_column_bytes(build, 0);
    for (int round = 0; round < 2000; round++) {
      salt = nay_hash_mix(salt);
      size_t use = salt % 8 == 0 ? (size_t)(salt >> 16) % len : len;
      uint8_t *exact = malloc(use + !use);
      assert_non_null(exact);
      memcpy(exact, good, use);
      for (int i = 0; i < 1 + round % 3 && use != 0; i++) {
        salt = nay_hash_mix(salt);
        size_t at = (size_t)(salt >> 16) % (salt % 4 != 0 && use > 160 ? 160 : use);
        exact[at] =
            salt % 2 != 0 ? (uint8_t)(exact[at] ^ 1u << (salt >> 8) % 8) : (uint8_t)(salt >> 8);
      }
      sqlite3_stmt *stmt = stmts[round % NCALLS];
      sqlite3_bind_blob(stmt, 1, exact, (int)use, SQLITE_STATIC);
      int rc = sqlite3_step(stmt);
      assert_true(rc == SQLITE_ROW || rc == SQLITE_ERROR || rc == SQLITE_NOMEM ||
                  rc == SQLITE_DONE);
      sqlite3_reset(stmt);
      free(exact);
    }
  }
  for (int i = 0; i < NCALLS; i++) sqlite3_finalize(stmts[i]);
  sqlite3_finalize(build);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  sqlite3_mem_methods methods = {core_malloc,  core_free, core_realloc,  core_size,
                                 core_roundup, core_init, core_shutdown, NULL};
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK ||
      sqlite3_auto_extension((void (*)(void))sqlite3_nay_init) != SQLITE_OK)
    return 1;
  const test_case tests[] = {TEST(every_connection_has_the_functions),
                             TEST(a_statement_that_is_bound_again),
                             TEST(handles),
                             TEST(no_memory_anywhere),
                             TEST(no_memory_for_a_connection),
                             TEST(hostile_blobs)};
  return run_all(tests);
}
