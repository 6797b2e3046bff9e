/*
 * test_kv_faults.c - the disk is full from the n-th write on; the n-th call of any kind fails; the
 * process ends before the n-th call, or in the middle of that write: for every n. A put that fails
 * says so, reads go on, and after the next open the store has what was acknowledged and nothing
 * else.
 *
 * The linker puts the functions below between the store, the library and libc (--wrap).
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kv_model.h"
#include "support/directory.h"

/* ---- the calls in between ---- */

typedef enum fault {
  FAULT_NONE,
  FAULT_FULL,      /* each write from the n-th on: ENOSPC */
  FAULT_HALF_FULL, /* the same, but half of the n-th is written */
  FAULT_ONCE,      /* the n-th call: EIO */
  FAULT_DIE,       /* before the n-th call */
  FAULT_DIE_HALF   /* the same; half of it is written, if it is a write */
} fault;

static struct {
  _Atomic int fault;
  _Atomic long calls, at;
} plan;

static void plan_start(fault f, long at) {
  plan.fault = FAULT_NONE;
  plan.calls = 0;
  plan.at = at;
  plan.fault = f;
}

/* Whether this call fails; *half: a write that does half of its work first. */
static bool plan_fails(bool writes, bool *half) {
  int f = plan.fault;
  if (half != NULL) *half = false;
  if (f == FAULT_NONE || ((f == FAULT_FULL || f == FAULT_HALF_FULL) && !writes)) return false;
  long call = atomic_fetch_add(&plan.calls, 1), at = plan.at;
  if (f == FAULT_FULL || f == FAULT_HALF_FULL) {
    errno = ENOSPC;
    if (half != NULL) *half = f == FAULT_HALF_FULL && call == at;
    return call >= at;
  }
  if (call != at) return false;
  if (f == FAULT_DIE_HALF && writes) return *half = true;
  if (f != FAULT_ONCE) _exit(7);
  errno = EIO;
  return true;
}

ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len) {
  bool half;
  if (!plan_fails(true, &half)) return __real_write(fd, bytes, len);
  if (!half || len < 2) return -1;
  ssize_t wrote = __real_write(fd, bytes, len / 2);
  if (plan.fault == FAULT_DIE_HALF) _exit(7);
  return wrote;
}

#define WRAP(name, parameters, ...)         \
  int __real_##name parameters;             \
  int __wrap_##name parameters {            \
    if (plan_fails(false, NULL)) return -1; \
    return __real_##name(__VA_ARGS__);      \
  }
WRAP(fsync, (int fd), fd)
WRAP(fdatasync, (int fd), fd)
WRAP(ftruncate, (int fd, off_t len), fd, len)
WRAP(unlink, (const char *path), path)
WRAP(linkat, (int a, const char *from, int b, const char *to, int flags), a, from, b, to, flags)
WRAP(renameat, (int a, const char *from, int b, const char *to), a, from, b, to)

static _Atomic long may_write; /* calls of open for more than reading */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  may_write += (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  return plan_fails(false, NULL) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  may_write += (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  return plan_fails(false, NULL) ? -1 : __real_openat(at, path, flags, mode);
}

/* ---- the work ---- */

#define OPERATIONS 90u
#define SEED 4u

static directory dir;

static kv_options fault_options(long n) {
  kv_options options = model_options();
  options.sync = n % 2 == 0;
  options.write_buffer = 4 << 10;
  return options;
}

typedef struct progress {
  _Atomic uint64_t started, acknowledged;
} progress;

/* Writes until an operation fails; checks that reads go on. */
static void work(long n, progress *p) {
  kv_options options = fault_options(n);
  kv_error error = {""};
  kv *db;
  if (kv_open(dir.path, &options, &error, &db) != NAY_OK) {
    assert_true(error.text[0] != 0);
    return;
  }
  nay_status status = NAY_OK;
  for (uint64_t i = 0; i < OPERATIONS && status == NAY_OK; i++) {
    p->started = i + 1;
    status = model_write(db, SEED, i, &error);
    if (status == NAY_OK) p->acknowledged = i + 1;
    if (i % 40 == 39 && status == NAY_OK) kv_settle(db, &error); /* its failure stays */
  }
  if (status != NAY_OK) {
    model m = {.seed = SEED};
    for (uint64_t i = 0; i < p->acknowledged; i++) model_apply(&m, i);
    model_check(&m, db, 0);
    const char *why = strerror(plan.fault == FAULT_ONCE ? EIO : ENOSPC);
    if (strstr(error.text, why) == NULL) fail_msg("%s, not %s", error.text, why);
    assert_status(kv_put(db, (kv_slice){"k", 1}, (kv_slice){"v", 1}, &error), status);
    if (strstr(error.text, why) == NULL) fail_msg("%s, not %s", error.text, why);
  }
  kv_close(db);
}

static void check_after(long n, const progress *p, bool may_have_happened) {
  kv *db = model_open(dir.path, fault_options(n));
  model m = {.seed = SEED};
  uint64_t operations = model_operations(db);
  for (uint64_t i = 0; i < p->acknowledged; i++) model_apply(&m, i);
  if (may_have_happened && operations == p->acknowledged + 1 && p->started == operations)
    model_apply(&m, p->acknowledged);
  else
    assert_int_equal(operations, p->acknowledged);
  model_check(&m, db, 0);
  assert_ok(put(db, "k", 1, "v", 1));
  kv_close(db);
  directory_remove(&dir);
  assert_int_equal(mkdir(dir.path, 0777), 0);
}

static void every_call(fault f, bool dies) {
  progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(p != MAP_FAILED);
  long n = 0, step = TEST_SCALE(10) == 10 ? 1 : 7;
  for (bool reached = true; reached; n += step) {
    p->started = p->acknowledged = 0;
    pid_t child = dies ? fork() : 0;
    if (child == 0) {
      plan_start(f, n);
      work(n, p);
      reached = plan.calls > n;
      plan.fault = FAULT_NONE;
      if (dies) _exit(0);
    } else {
      int status;
      assert_int_equal(waitpid(child, &status, 0), child);
      if (!WIFEXITED(status) || (WEXITSTATUS(status) != 7 && WEXITSTATUS(status) != 0))
        fail_msg("call %ld: %d", n, status);
      reached = WEXITSTATUS(status) == 7;
    }
    if (!reached) assert_int_equal(p->acknowledged, OPERATIONS);
    check_after(n, p, dies);
  }
  print_message("# %ld calls\n", n - step);
  assert_true(n > 50);
  munmap(p, sizeof *p);
}

/* The same while a store is opened whose log has records, and they become a table. */
static void while_it_recovers(void **state) {
  fault f = *(fault *)*state;
  long n = 0;
  for (bool reached = true; reached; n++) {
    progress p = {0};
    kv_options options = fault_options(n);
    kv_error error = {""};
    kv *db;
    work(n, &p);
    assert_int_equal(p.acknowledged, OPERATIONS);
    pid_t child = f == FAULT_DIE ? fork() : 0;
    if (child == 0) {
      plan_start(f, n);
      if (kv_open(dir.path, &options, &error, &db) == NAY_OK) {
        kv_settle(db, &error); /* its failure stays */
        kv_close(db);
      } else {
        assert_true(error.text[0] != 0);
      }
      reached = plan.calls > n;
      plan.fault = FAULT_NONE;
      if (f == FAULT_DIE) _exit(0);
    } else {
      int status;
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_true(WIFEXITED(status));
      reached = WEXITSTATUS(status) == 7;
    }
    check_after(n, &p, false);
  }
  assert_true(n > 2);
}

/* A log of synced puts with one byte wrong in its first record. */
static void store_damage(void) {
  kv_options options = {.sync = true};
  kv *db = model_open(dir.path, options);
  for (uint64_t i = 0; i < 10; i++) assert_ok(model_write(db, SEED, i, NULL));
  kv_close(db);
  int fd = open(directory_at(&dir, "000001.log"), O_WRONLY);
  assert_int_equal(pwrite(fd, "!", 1, 50), 1);
  close(fd);
}

/* The same while a store is repaired: then it is, or the next repair does it. */
static void while_it_is_repaired(void **state) {
  fault f = *(fault *)*state;
  long n = 0;
  for (bool reached = true; reached; n++) {
    kv_error error = {""};
    kv *db;
    store_damage();
    pid_t child = f == FAULT_DIE || f == FAULT_DIE_HALF ? fork() : 0;
    if (child == 0) {
      plan_start(f, n);
      nay_status status = kv_repair(dir.path, &error);
      reached = plan.calls > n;
      plan.fault = FAULT_NONE;
      if (!reached) assert_ok(status);
      assert_true(error.text[0] != 0);
      if (f == FAULT_DIE || f == FAULT_DIE_HALF) _exit(0);
    } else {
      int status;
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_true(WIFEXITED(status));
      reached = WEXITSTATUS(status) == 7;
    }
    if (kv_open(dir.path, NULL, &error, &db) == NAY_OK)
      kv_close(db);
    else
      assert_ok(kv_repair(dir.path, &error));
    db = model_open(dir.path, fault_options(n));
    model m = {.seed = SEED};
    for (uint64_t i = 1; i < 10; i++) model_apply(&m, i);
    model_check(&m, db, 0);
    assert_ok(put(db, "k", 1, "v", 1));
    kv_close(db);
    assert_int_equal(access(directory_at(&dir, "000001.log.damaged"), F_OK), 0);
    directory_remove(&dir);
    assert_int_equal(mkdir(dir.path, 0777), 0);
  }
  assert_true(n > 3);
}

/* A store that is opened and read, with a table and a torn log: no file is made or opened for
 * writing, and no byte written. The put that then fails names no offset. */
static void an_open_writes_nothing(void **state) {
  (void)state;
  kv_bytes value = {0};
  kv_error error = {""};
  kv *db = model_open(dir.path, model_options());
  assert_ok(put(db, "a", 1, "1", 1));
  assert_ok(kv_settle(db, NULL));
  assert_ok(put(db, "b", 1, "2", 1));
  assert_ok(put(db, "c", 1, "3", 1));
  kv_close(db);
  struct stat st;
  assert_int_equal(stat(directory_at(&dir, "000002.log"), &st), 0);
  assert_int_equal(truncate(directory_at(&dir, "000002.log"), st.st_size - 1), 0);
  const unsigned files = directory_count(&dir, NULL);
  may_write = 0;
  plan_start(FAULT_FULL, 0);
  db = model_open(dir.path, model_options());
  assert_int_equal(directory_count(&dir, NULL), files);
  assert_ok(get(db, "a", 1, &value));
  assert_ok(get(db, "b", 1, &value));
  assert_status(get(db, "c", 1, &value), NAY_ENOENT);
  assert_int_equal(may_write, 0);
  assert_int_equal(plan.calls, 0);
  assert_status(kv_put(db, (kv_slice){"d", 1}, (kv_slice){"4", 1}, &error), NAY_EIO);
  assert_non_null(strstr(error.text, strerror(ENOSPC)));
  assert_null(strstr(error.text, "offset"));
  kv_close(db);
  plan.fault = FAULT_NONE;
  free(value.data);
  directory_remove(&dir);
  assert_int_equal(mkdir(dir.path, 0777), 0);
}

/* Tables that take several writes: the disk is full in the middle of one. */
static void disk_full_in_a_table(void **state) {
  (void)state;
  static char value[4000];
  kv_options options = model_options();
  options.write_buffer = 400 << 10;
  unsigned in_tables = 0;
  for (long n = 90; n < 130; n++) {
    kv_error error = {""};
    kv *db = NULL;
    unsigned acknowledged = 0;
    plan_start(FAULT_FULL, n);
    assert_ok(kv_open(dir.path, &options, &error, &db));
    nay_status status = NAY_OK;
    for (char key[8]; status == NAY_OK && acknowledged < 400;) {
      snprintf(key, sizeof key, "%05u", acknowledged);
      status = kv_put(db, (kv_slice){key, 5}, (kv_slice){value, sizeof value}, &error);
      if (status == NAY_OK && ++acknowledged % 100 == 0) status = kv_settle(db, &error);
    }
    assert_status(status, NAY_EIO);
    if (strstr(error.text, strerror(ENOSPC)) == NULL) fail_msg("call %ld: %s", n, error.text);
    in_tables += strstr(error.text, ".ldb") != NULL;
    plan.fault = FAULT_NONE;
    kv_close(db);
    db = model_open(dir.path, options);
    assert_int_equal(model_operations(db), acknowledged);
    kv_close(db);
    directory_remove(&dir);
    assert_int_equal(mkdir(dir.path, 0777), 0);
  }
  assert_true(in_tables > 2);
}

static void disk_full(void **state) { every_call(*(fault *)*state, false); }
static void calls_that_fail(void **state) { every_call(*(fault *)*state, false); }
static void ends_at_a_call(void **state) { every_call(*(fault *)*state, true); }

int main(void) {
  static const fault full = FAULT_FULL, half_full = FAULT_HALF_FULL, once = FAULT_ONCE,
                     die = FAULT_DIE, die_half = FAULT_DIE_HALF;
  const test_case tests[] = {
      TEST_WITH("the disk is full at each write", disk_full, &full),
      TEST_WITH("the disk is full in the middle of each write", disk_full, &half_full),
      TEST(disk_full_in_a_table),
      TEST(an_open_writes_nothing),
      TEST_WITH("each call fails once", calls_that_fail, &once),
      TEST_WITH("the disk is full at each write while it recovers", while_it_recovers, &full),
      TEST_WITH("each call fails once while it recovers", while_it_recovers, &once),
      TEST_WITH("the process ends at each call while it recovers", while_it_recovers, &die),
      TEST_WITH("the disk is full at each write while it is repaired", while_it_is_repaired, &full),
      TEST_WITH("each call fails once while it is repaired", while_it_is_repaired, &once),
      TEST_WITH("the process ends at each call while it is repaired", while_it_is_repaired, &die),
      TEST_WITH("the process ends in a write while it is repaired", while_it_is_repaired,
                &die_half),
      TEST_WITH("the process ends at each call", ends_at_a_call, &die),
      TEST_WITH("the process ends in the middle of each write", ends_at_a_call, &die_half),
  };
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  dir = directory_make();
  int result = run_all(tests);
  directory_remove(&dir);
  return result;
}
