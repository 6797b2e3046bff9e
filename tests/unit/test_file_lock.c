/*
 * test_file_lock.c - nay_file.h: locks that survive the replacement of their file, and bytes of any
 * kind replaced atomically, with the modes and groups that were promised.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "nay_file.h"
#include "support/directory.h"
#include "support/test.h"

static directory dir;

static int start(void **state) {
  (void)state;
  dir = directory_make();
  return 0;
}

static int end(void **state) {
  (void)state;
  directory_remove(&dir);
  return 0;
}

typedef struct text {
  const char *bytes;
  nay_status status; /* what the producer says after its bytes */
} text;

static nay_status produce(void *ctx, nay_sink sink, void *sink_ctx) {
  const text *t = ctx;
  nay_status status = sink(sink_ctx, t->bytes, strlen(t->bytes));
  return status == NAY_OK ? t->status : status;
}

static nay_status replace(const char *path, uint32_t flags, const char *bytes) {
  text t = {bytes, NAY_OK};
  return nay_file_replace(path, flags, produce, &t, NULL);
}

static bool busy(const char *path) {
  nay_filelock lock = {.size = sizeof lock};
  nay_diag diag = {.what = NULL};
  nay_status status = nay_file_lock(path, NAY_LOCK_TRY, &diag, &lock);
  if (status == NAY_OK) nay_file_unlock(&lock);
  if (status == NAY_OK) return false;
  assert_status(status, NAY_EIO);
  assert_int_equal(diag.os_error, EWOULDBLOCK);
  return true;
}

/* ---- locks ---- */

static void one_at_a_time(void **state) {
  (void)state;
  nay_filelock lock = {.size = sizeof lock};
  const char *path = directory_at(&dir, "f"), *link = directory_at(&dir, "link");
  assert_int_equal(symlink("f", link), 0); /* to nothing, at first */
  for (int exists = 0; exists < 2; exists++) {
    unsigned before = directory_count(&dir, NULL);
    assert_ok(nay_file_lock(path, 0, NULL, &lock));
    assert_true(busy(path));
    assert_true(busy(link)); /* the same file, the same lock */
    assert_false(busy(directory_at(&dir, "g")));
    assert_ok(replace(path, 0, "one"));
    assert_true(busy(path)); /* another inode by now */
    unlink(path);
    assert_true(busy(path));
    assert_ok(replace(path, 0, "two"));
    nay_file_unlock(&lock);
    assert_false(busy(path));
    assert_int_equal(directory_count(&dir, NULL), before + (exists == 0)); /* no lock file */
  }
  unlink(path);
  unlink(link);
}

/* Names of every length have a lock, and long ones that differ only at the end have two. */
static void names(void **state) {
  (void)state;
  for (size_t len = 1; len <= 255; len++) {
    char name[256], other[256];
    memset(name, 'x', len);
    name[len] = '\0';
    memcpy(other, name, len + 1);
    other[len - 1] = 'y';
    nay_filelock lock = {.size = sizeof lock};
    assert_ok(nay_file_lock(directory_at(&dir, name), 0, NULL, &lock));
    assert_true(busy(directory_at(&dir, name)));
    assert_false(busy(directory_at(&dir, other)));
    nay_file_unlock(&lock);
  }
  assert_int_equal(directory_count(&dir, NULL), 0);
}

/* What others may have put where the lock file goes. */
static void lock_files_that_are_there(void **state) {
  (void)state;
  nay_filelock lock = {.size = sizeof lock};
  nay_diag diag;
  const char *path = directory_at(&dir, "f"), *beside = directory_at(&dir, ".f.nay-lock");
  const char *victim = directory_at(&dir, "victim");
  assert_ok(replace(beside, 0, "")); /* a process that was killed: taken, then removed */
  assert_ok(nay_file_lock(path, NAY_LOCK_TRY, NULL, &lock));
  nay_file_unlock(&lock);
  assert_int_equal(directory_count(&dir, NULL), 0);
  assert_ok(replace(victim, 0, "theirs"));
  assert_int_equal(symlink("victim", beside), 0);
  assert_status(nay_file_lock(path, 0, &diag, &lock), NAY_EIO);
  assert_int_equal(diag.os_error, ELOOP);
  assert_true(directory_holds(victim, "theirs", 6));
  unlink(beside);
  unlink(victim);
  assert_status(nay_file_lock(directory_at(&dir, "none/f"), 0, &diag, &lock), NAY_EIO);
  assert_int_equal(diag.os_error, ENOENT);
  assert_status(nay_file_lock(NULL, 0, NULL, &lock), NAY_EINVAL);
  assert_status(nay_file_lock(path, 0, NULL, NULL), NAY_EINVAL);
  assert_status(nay_file_lock(path, 0x80, NULL, &lock), NAY_EINVAL);
}

static void kill_releases(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f");
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    nay_filelock lock = {.size = sizeof lock};
    byte = nay_file_lock(path, 0, NULL, &lock) == NAY_OK;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(byte, 1);
  assert_true(busy(path));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_false(busy(path));
  close(ready[0]);
  close(ready[1]);
}

static void count_up(const char *path, int times) {
  while (times-- > 0) {
    nay_filelock lock = {.size = sizeof lock};
    char number[32] = "0";
    if (nay_file_lock(path, 0, NULL, &lock) != NAY_OK) _exit(1);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, number, sizeof number - 1);
    if (fd >= 0) close(fd);
    number[n > 0 ? n : 1] = '\0';
    snprintf(number, sizeof number, "%d", atoi(number) + 1);
    if (replace(path, 0, number) != NAY_OK) _exit(1);
    nay_file_unlock(&lock);
  }
}

/* Read, modify, replace by many processes, from a file that does not exist: no update is lost. */
static void no_update_is_lost(void **state) {
  (void)state;
  enum { PROCESSES = 6, TIMES = 100 };
  const char *path = directory_at(&dir, "count");
  for (int i = 0; i < PROCESSES; i++) {
    if (fork() == 0) {
      count_up(path, TIMES);
      _exit(0);
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  assert_true(directory_holds(path, "600", 3));
  assert_int_equal(directory_count(&dir, NULL), 1);
  unlink(path);
}

/* ---- replacing any bytes ---- */

static void failures_of_the_producer(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f");
  assert_ok(replace(path, 0, "old"));
  text t = {"new", NAY_EFULL};
  nay_diag diag = {.offset = 7};
  assert_status(nay_file_replace(path, 0, produce, &t, &diag), NAY_EFULL);
  assert_int_equal(diag.offset, 7); /* as it was */
  assert_true(directory_holds(path, "old", 3));
  assert_int_equal(directory_count(&dir, NULL), 1);
  assert_status(nay_file_replace(NULL, 0, produce, &t, NULL), NAY_EINVAL);
  assert_status(nay_file_replace(path, 0, NULL, &t, NULL), NAY_EINVAL);
  assert_status(nay_file_replace(path, 0x80, produce, &t, NULL), NAY_EINVAL);
  unlink(path);
}

static void private_files(void **state) {
  (void)state;
  struct stat st;
  mode_t before = umask(0);
  const char *path = directory_at(&dir, "f");
  for (unsigned flags = 0; flags <= NAY_FILE_PRIVATE; flags++) {
    assert_ok(replace(path, flags, "new"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, flags == 0 ? 0666 : 0600);
    chmod(path, 0604); /* what the user chose stays */
    assert_ok(replace(path, flags, "newer"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0604);
    unlink(path);
  }
  umask(before);
}

/* Replaces root's file as user 1234, who is in group 1234 and in `group`; the mode and the group.
 */
static void replaced_as(gid_t group, mode_t mode, mode_t want_mode, gid_t want_group) {
  const char *path = directory_at(&dir, "f");
  struct stat st;
  int status;
  assert_ok(replace(path, 0, "old"));
  assert_int_equal(chown(path, 0, 4321), 0);
  assert_int_equal(chmod(path, mode), 0);
  pid_t child = fork();
  if (child == 0) {
    if (setgroups(1, &group) != 0 || setgid(1234) != 0 || setuid(1234) != 0) _exit(2);
    _exit(replace(path, 0, "new") == NAY_OK ? 0 : 1);
  }
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_gid, want_group);
  assert_int_equal(st.st_mode & 07777, want_mode);
  unlink(path);
}

/* A user who may write the directory may replace the file; no user can read more afterwards. */
static void groups(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  assert_int_equal(chmod(dir.path, 0777), 0);
  replaced_as(4321, 0640, 0640, 4321);
  replaced_as(9999, 0640, 0600, 1234);
  replaced_as(9999, 0664, 0644, 1234);
  replaced_as(9999, 06755, 0755, 1234);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_at_a_time),
      cmocka_unit_test(names),
      cmocka_unit_test(lock_files_that_are_there),
      cmocka_unit_test(kill_releases),
      cmocka_unit_test(no_update_is_lost),
      cmocka_unit_test(failures_of_the_producer),
      cmocka_unit_test(private_files),
      cmocka_unit_test(groups),
  };
  return cmocka_run_group_tests_name("file_lock", tests, start, end);
}
