/*
 * test_sst_io_faults.c - tables under failing I/O: every system call of a writer, of an open and of
 * gets fails in turn. A writer that fails leaves the old file; a reader returns an error or the
 * right answer, and the next call is as if nothing had been.
 *
 * The calls are wrapped by the linker: CMakeLists.txt lists them.
 */
#include <errno.h>
#include <fcntl.h>

#include "nay_sst.h"
#include "nay_sst_cache.h"
#include "support/sst_calls.h"
#include "support/sst_numbers.h"

#define N_KEYS 400u

static struct {
  bool armed;
  long fail_at, calls;
} plan;

static bool fails(void) {
  if (!plan.armed || plan.calls++ != plan.fail_at) return false;
  errno = EIO;
  return true;
}

static void arm(long fail_at) {
  plan.fail_at = fail_at;
  plan.calls = 0;
  plan.armed = true;
}

ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at) {
  return fails() ? -1 : __real_pread(fd, to, n, at);
}

ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n) {
  return fails() ? -1 : __real_write(fd, from, n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) { return fails() ? -1 : __real_fsync(fd); }

int __real_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b) {
  return fails() ? -1 : __real_renameat(from, a, to, b);
}

/* ---- writing ---- */

static nay_status write_table(const char *path, unsigned first, nay_diag *diag) {
  nay_sst_write_options how = {sizeof how, .filter = NAY_SST_FULL_FILTER, .block_bytes = 500,
                               .properties = true};
  nay_sst_writer *w;
  char key[32];
  nay_status status = nay_sst_writer_new(path, &how, NULL, diag, &w);
  if (status != NAY_OK) return status;
  for (unsigned i = first; status == NAY_OK && i < N_KEYS; i++) {
    status = nay_sst_writer_add(w, key, number_key(i, key), "value", 5, NULL);
  }
  nay_status finished = nay_sst_writer_finish(w, diag);
  nay_sst_writer_free(w);
  assert_status(finished, status == NAY_OK ? finished : status);
  return finished;
}

static void a_failed_write_leaves_the_old_table(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_diag diag = {.what = NULL};
  bool done = false;
  unsigned failed = 0;
  temp_path(path, "faults-w.ldb");
  assert_ok(write_table(path, 100, &diag));
  for (long at = 0; !done; at++) {
    nay_sst *t;
    nay_sst_properties p = {.size = sizeof p};
    arm(at);
    nay_status status = write_table(path, 0, &diag);
    plan.armed = false;
    done = plan.calls <= at;
    assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
    assert_true(table_states(t, &p));
    if (status != NAY_OK) {
      assert_status(status, NAY_EIO);
      assert_non_null(diag.what);
      failed++;
    } else {
      assert_int_equal(p.nentries, N_KEYS);
    }
    /* after a failed sync of the directory the new one may stand there: one of the two, whole */
    assert_true(p.nentries == N_KEYS || p.nentries == N_KEYS - 100);
    nay_sst_free(t);
    assert_ok(write_table(path, 100, &diag));
  }
  assert_true(failed >= 3); /* a write, the sync, what gives it its name */
  unlink(path);
}

/* ---- reading ---- */

static const uint32_t read_flags[] = {NAY_SST_PREAD, NAY_SST_PREAD | NAY_SST_BUDGETED,
                                      NAY_SST_PREAD | NAY_SST_NO_FILTERS};

/* Opens and asks with the plan armed; whether the plan was longer than the calls. */
static bool read_with_fault(const char *path, uint32_t flags, size_t budget, long at) {
  nay_sst_cache *cache;
  nay_sst *t;
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.what = NULL};
  char key[32];
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget / 2, true}, NULL, NULL,
      &cache));
  nay_sst_read_options how = {sizeof how, .flags = flags, .cache = cache};
  arm(at);
  nay_status status = nay_sst_open(path, &how, NULL, &diag, &t);
  if (status == NAY_OK) {
    nay_sst_properties p = {.size = sizeof p};
    assert_true(!table_states(t, &p) || p.nentries == N_KEYS);
    for (unsigned i = 0; i < 2 * N_KEYS; i += 23) {
      nay_status want = i < N_KEYS ? NAY_OK : NAY_ENOENT;
      nay_status got = nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, &diag, &v);
      if (got == want) continue;
      assert_status(got, NAY_EIO);
      assert_non_null(diag.what);
      assert_status(nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, &diag, &v), want);
    }
    nay_sst_value_free(&v);
    nay_sst_free(t);
  } else {
    assert_status(status, NAY_EIO);
    assert_non_null(diag.what);
  }
  plan.armed = false;
  nay_sst_cache_info s = {.size = sizeof s};
  assert_ok(nay_sst_cache_stats(cache, &s));
  assert_int_equal(s.filter.held, 0);
  nay_sst_cache_free(cache);
  return plan.calls <= at;
}

static void reads_fail_or_are_right(void **state) {
  (void)state;
  char path[TEMP_MAX];
  nay_diag diag = {.what = NULL};
  temp_path(path, "faults-r.ldb");
  assert_ok(write_table(path, 0, &diag));
  for (size_t i = 0; i < sizeof read_flags / sizeof *read_flags; i++) {
    for (size_t budget = 400; budget < 100000; budget *= 15) {
      long at = 0;
      while (!read_with_fault(path, read_flags[i], budget, at)) at++;
      assert_true(at > 10);
    }
  }
  unlink(path);
}

int main(void) {
  const test_case tests[] = {TEST(a_failed_write_leaves_the_old_table),
                             TEST(reads_fail_or_are_right)};
  return run_all(tests);
}
