/*
 * test_file_faults.c - every system call of save, open and map fails once, at each place where it
 * is made: EIO, ENOSPC and others, interruptions, short reads and writes. The linker puts the
 * functions below between the library and libc (--wrap, see CMakeLists.txt).
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "support/directory.h"
#include "support/flaky.h"
#include "support/native.h"
#include "support/test.h"

/* ---- the calls in between ---- */

#define MAX_LOG 4096u

static struct {
  bool armed;
  long fail_at;        /* the call that fails, counted over all kinds; -1: none */
  int error;           /* and how */
  bool interrupt;      /* every read, write, openat, fsync is interrupted once before it works */
  bool no_tmpfile;     /* a file system without unnamed files */
  size_t piece;        /* at most so many bytes at a time; 0: no limit */
  long end_of_file_at; /* the read that finds the file shorter; -1: none */
  long calls, reads;
  bool was_interrupted;
  mode_t mode; /* with which the last file was created */
  const char *log[MAX_LOG];
} plan;

static void plan_arm(void) {
  plan.armed = true;
  plan.calls = plan.reads = 0;
  plan.was_interrupted = false;
}

static void plan_reset(void) {
  memset(&plan, 0, sizeof plan);
  plan.fail_at = plan.end_of_file_at = -1;
}

/* Counts a call; true when it is the one that fails. */
static bool plan_fails(const char *name) {
  if (!plan.armed) return false;
  if (plan.calls < (long)MAX_LOG) plan.log[plan.calls] = name;
  if (plan.calls++ != plan.fail_at) return false;
  errno = plan.error;
  return true;
}

static bool plan_interrupts(void) {
  if (!plan.armed || !plan.interrupt) return false;
  plan.was_interrupted = !plan.was_interrupted;
  if (plan.was_interrupted) errno = EINTR;
  return plan.was_interrupted;
}

static size_t plan_piece(size_t len) {
  return plan.armed && plan.piece != 0 && len > plan.piece ? plan.piece : len;
}

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  if (plan_interrupts()) return -1;
  if (plan.armed && plan.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  if (mode != 0) plan.mode = mode;
  return plan_fails("openat") ? -1 : __real_openat(at, name, flags, mode);
}

ssize_t __real_read(int fd, void *buffer, size_t len);
ssize_t __wrap_read(int fd, void *buffer, size_t len) {
  if (plan_interrupts()) return -1;
  if (plan.armed && plan.reads++ == plan.end_of_file_at) return 0;
  return plan_fails("read") ? -1 : __real_read(fd, buffer, plan_piece(len));
}

ssize_t __real_write(int fd, const void *buffer, size_t len);
ssize_t __wrap_write(int fd, const void *buffer, size_t len) {
  if (plan_interrupts()) return -1;
  if (plan_fails("write")) return plan.error == 0 ? 0 : -1;
  return __real_write(fd, buffer, plan_piece(len));
}

int __real_fsync(int fd);
int __wrap_fsync(int fd) {
  if (plan_interrupts()) return -1;
  return plan_fails("fsync") ? -1 : __real_fsync(fd);
}

int __real_close(int fd);
int __wrap_close(int fd) { /* a close that fails has closed */
  int result = __real_close(fd);
  return plan_fails("close") ? -1 : result;
}

#define WRAP(name, parameters, arguments) \
  int __real_##name parameters;           \
  int __wrap_##name parameters { return plan_fails(#name) ? -1 : __real_##name arguments; }
WRAP(fstat, (int fd, struct stat *st), (fd, st))
WRAP(fstatat, (int fd, const char *name, struct stat *st, int flags), (fd, name, st, flags))
WRAP(fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP(access, (const char *path, int mode), (path, mode))
WRAP(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
WRAP(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))

ssize_t __real_readlinkat(int at, const char *name, char *buffer, size_t len);
ssize_t __wrap_readlinkat(int at, const char *name, char *buffer, size_t len) {
  return plan_fails("readlinkat") ? -1 : __real_readlinkat(at, name, buffer, len);
}

void *__real_mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset) {
  if (plan_fails("mmap")) return MAP_FAILED;
  return __real_mmap(at, len, protection, flags, fd, offset);
}

/* ---- fixtures ---- */

static directory dir;
static nay_filter *old_filter, *new_filter;
static uint8_t *old_bytes, *new_bytes;
static size_t old_len, new_len;
static const char *path;

static int start(void **state) {
  (void)state;
  nay_params small = {sizeof small, .kind = NAY_BLOCKED, .nbits = 1024, .k = 6};
  nay_params large = {sizeof large, .kind = NAY_BLOOM, .nbits = 3 * 65536 * 8, .k = 6};
  plan_reset();
  dir = directory_make();
  path = strdup(directory_at(&dir, "f.nay"));
  old_filter = native_filter(&small, 10);
  new_filter = native_filter(&large, 20);
  nay_filter_set_meta(new_filter, "metadata", 8);
  old_bytes = native_encode(old_filter, &old_len);
  new_bytes = native_encode(new_filter, &new_len);
  return 0;
}

static int end(void **state) {
  (void)state;
  nay_filter_free(old_filter);
  nay_filter_free(new_filter);
  free(old_bytes);
  free(new_bytes);
  directory_remove(&dir);
  free((void *)(uintptr_t)path);
  return 0;
}

static nay_status save(nay_diag *diag) {
  plan_arm();
  nay_status status = nay_filter_save(new_filter, path, diag);
  plan.armed = false;
  return status;
}

/* ---- save ---- */

/*
 * The n-th call fails, for every n, with or without unnamed files, over an old file or none. True
 * when there was no n-th call.
 */
static bool save_failing_at(long n, int error, bool no_tmpfile, bool exists) {
  nay_diag diag = {.what = NULL};
  unlink(path);
  if (exists) directory_write(path, old_bytes, old_len);
  plan_reset();
  plan.fail_at = n;
  plan.error = error;
  plan.no_tmpfile = no_tmpfile;
  nay_status status = save(&diag);
  bool done = n >= plan.calls;
  const char *call = done ? "none" : plan.log[n];
  if (status == NAY_OK) { /* a call we can do without: the unnamed file, the last close */
    bool spare = done || strcmp(call, "openat") == 0 || strcmp(call, "access") == 0 ||
                 (strcmp(call, "close") == 0 && n == plan.calls - 1);
    if (!spare) fail_msg("call %ld, %s, failed and save did not notice", n, call);
    assert_true(directory_holds(path, new_bytes, new_len));
  } else {
    assert_status(status, NAY_EIO);
    assert_int_equal(diag.os_error, error == 0 ? EIO : error);
    assert_non_null(diag.what);
    bool too_late = strstr(diag.what, "the file is replaced") != NULL;
    if (too_late) {
      assert_string_equal(call, "fsync");
      assert_true(directory_holds(path, new_bytes, new_len));
    } else if (exists) {
      if (!directory_holds(path, old_bytes, old_len)) fail_msg("%s: the old file changed", call);
    } else {
      assert_int_not_equal(access(path, F_OK), 0);
    }
  }
  unsigned expected = exists || status == NAY_OK || access(path, F_OK) == 0;
  if (directory_count(&dir, NULL) != expected) fail_msg("%s: a file was left behind", call);
  return done;
}

static void every_call_of_save_fails(void **state) {
  (void)state;
  const int errors[] = {EIO, ENOSPC, EDQUOT, EACCES, EROFS};
  for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
    for (unsigned mode = 0; mode < 4; mode++) {
      long n = 0;
      while (!save_failing_at(n, errors[e], (mode & 1) != 0, (mode & 2) != 0)) n++;
      assert_true(n >= 10);
    }
  }
}

/* A write that returns 0 for ever must not hang. */
static void writes_that_do_nothing(void **state) {
  (void)state;
  unlink(path);
  plan_reset();
  assert_ok(save(NULL));
  long first = 0;
  while (strcmp(plan.log[first], "write") != 0) first++;
  assert_false(save_failing_at(first, 0, false, true));
}

static void interruptions_and_short_writes(void **state) {
  (void)state;
  for (size_t piece = 1; piece < 100000; piece = piece * 7 + 1) {
    for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
      directory_write(path, old_bytes, old_len);
      plan_reset();
      plan.interrupt = true;
      plan.piece = piece < 8 ? 61 : piece; /* a byte at a time takes too long */
      plan.no_tmpfile = no_tmpfile != 0;
      assert_ok(save(NULL));
      assert_true(directory_holds(path, new_bytes, new_len));
    }
  }
}

/* A directory that cannot be synced says EINVAL: not an error. */
static void directories_without_sync(void **state) {
  (void)state;
  plan_reset();
  assert_ok(save(NULL));
  long last = plan.calls - 1;
  while (strcmp(plan.log[last], "fsync") != 0) last--;
  plan_reset();
  plan.fail_at = last;
  plan.error = EINVAL;
  assert_ok(save(NULL));
  assert_true(directory_holds(path, new_bytes, new_len));
}

/* Temporary names that exist already are skipped: the files may be in use. */
static void names_in_use(void **state) {
  (void)state;
  char name[64];
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, ".f.nay.nay-%ld-%d", (long)getpid(), i);
    directory_write(directory_at(&dir, name), "theirs", 6);
  }
  for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
    plan_reset();
    plan.no_tmpfile = no_tmpfile != 0;
    assert_ok(save(NULL));
    assert_true(directory_holds(path, new_bytes, new_len));
    assert_int_equal(directory_count(&dir, NULL), 4);
  }
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, ".f.nay.nay-%ld-%d", (long)getpid(), i);
    assert_true(directory_holds(directory_at(&dir, name), "theirs", 6));
    unlink(directory_at(&dir, name));
  }
}

/* The old file may be private, and the new one holds a secret key: at no time can others read it.
 */
static void temporary_files_are_private(void **state) {
  (void)state;
  for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
    assert_int_equal(chmod(path, 0600), 0);
    plan_reset();
    plan.no_tmpfile = no_tmpfile != 0;
    assert_ok(save(NULL));
    assert_int_equal(plan.mode, 0600);
    unlink(path);
    assert_ok(save(NULL));
    assert_int_equal(plan.mode, 0666); /* less the umask */
  }
}

static long log_find(const char *name, long from) {
  while (from < plan.calls && strcmp(plan.log[from], name) != 0) from++;
  return from;
}

/* What makes it atomic: all writes, sync, name, rename, sync of the directory, in this order. */
static void order_of_calls(void **state) {
  (void)state;
  for (int no_tmpfile = 0; no_tmpfile < 2; no_tmpfile++) {
    plan_reset();
    plan.no_tmpfile = no_tmpfile != 0;
    assert_ok(save(NULL));
    long write = log_find("write", 0), sync = log_find("fsync", 0),
         rename = log_find("renameat", 0);
    assert_true(write < sync && sync < rename && rename < plan.calls);
    assert_int_equal(log_find("write", sync), plan.calls); /* none after the sync */
    assert_true(log_find("fsync", rename) < plan.calls);   /* the directory */
    if (!no_tmpfile) {
      long link = log_find("linkat", 0);
      assert_true(sync < link && link < rename);
    }
  }
}

/* ---- open and map ---- */

static nay_status read_with(int how, const nay_allocator *a, nay_diag *diag, nay_filter **f) {
  plan_arm();
  nay_status status = how == 0 ? nay_filter_open(path, a, diag, f)
                               : nay_filter_mmap(path, how == 1 ? 0 : NAY_MMAP_LAZY, a, diag, f);
  plan.armed = false;
  return status;
}

static void every_call_of_open_fails(void **state) {
  (void)state;
  directory_write(path, new_bytes, new_len);
  for (int how = 0; how < 3; how++) {
    for (long n = 0;; n++) {
      flaky memory = {.fail_at = -1};
      nay_allocator a = flaky_allocator(&memory);
      nay_diag diag = {.what = NULL};
      nay_filter *f = NULL;
      plan_reset();
      plan.fail_at = n;
      plan.error = EIO;
      nay_status status = read_with(how, &a, &diag, &f);
      bool done = n >= plan.calls;
      if (status == NAY_OK) {
        assert_true(done || strcmp(plan.log[n], "close") == 0);
        assert_true(native_members_ok(f, 20));
      } else {
        assert_status(status, NAY_EIO);
        assert_int_equal(diag.os_error, EIO);
        assert_null(f);
      }
      nay_filter_free(f);
      assert_int_equal(memory.objects, 0);
      if (done) break;
    }
  }
}

static void interruptions_and_short_reads(void **state) {
  (void)state;
  directory_write(path, new_bytes, new_len);
  for (size_t piece = 1; piece < 100000; piece = piece * 5 + 1) {
    nay_filter *f;
    plan_reset();
    plan.interrupt = true;
    plan.piece = piece < 5 ? 13 : piece;
    assert_ok(read_with(0, NULL, NULL, &f));
    assert_true(native_members_ok(f, 20));
    nay_filter_free(f);
  }
}

/* The file shrinks between fstat and a read, at each of them: 64 bytes first, then the rest. */
static void files_that_shrink(void **state) {
  (void)state;
  directory_write(path, new_bytes, new_len);
  for (long n = 0;; n++) {
    nay_filter *f = NULL;
    nay_diag diag = {.what = NULL};
    plan_reset();
    plan.end_of_file_at = n;
    plan.piece = 4096;
    nay_status status = read_with(0, NULL, &diag, &f);
    nay_filter_free(f);
    if (plan.reads <= n) { /* fewer reads than that: nothing was missing */
      assert_ok(status);
      assert_true(n > 40);
      break;
    }
    assert_status(status, NAY_ECORRUPT);
    assert_non_null(strstr(diag.what, "shorter"));
    assert_int_equal(diag.offset, n == 0 ? 0 : 64 + 4096 * (n - 1));
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(every_call_of_save_fails),
      TEST(writes_that_do_nothing),
      TEST(interruptions_and_short_writes),
      TEST(directories_without_sync),
      TEST(names_in_use),
      TEST(order_of_calls),
      TEST(temporary_files_are_private),
      TEST(every_call_of_open_fails),
      TEST(interruptions_and_short_reads),
      TEST(files_that_shrink),
  };
  return cmocka_run_group_tests_name("file_faults", tests, start, end);
}
