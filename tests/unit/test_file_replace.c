/*
 * test_file_replace.c - save, open and map on a real file system: links, modes, odd targets, a full
 * disk, a read-only directory. Whatever fails says which step and errno, and leaves the old file,
 * the directory and the filter as they were.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "support/directory.h"
#include "support/flaky.h"
#include "support/native.h"
#include "support/test.h"

static const nay_params small = {sizeof small, .kind = NAY_BLOCKED, .nbits = 1024, .k = 6};
static const nay_params large = {sizeof large, .kind = NAY_BLOOM, .nbits = 3 * 65536 * 8, .k = 6};

static directory dir;
static nay_filter *old_filter, *new_filter;
static uint8_t *old_bytes, *new_bytes;
static size_t old_len, new_len;

static int start(void **state) {
  (void)state;
  dir = directory_make();
  old_filter = native_filter(&small, 10);
  new_filter = native_filter(&large, 20);
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
  return 0;
}

/* Saving fails with this errno, says why, and changes nothing in the directory or the filter. */
static void expect_refusal(const directory *where, const char *path, int error) {
  unsigned entries = directory_count(where, NULL);
  nay_diag diag = {.what = NULL};
  assert_status(nay_filter_save(new_filter, path, &diag), NAY_EIO);
  assert_non_null(diag.what);
  if (diag.os_error != error) {
    fail_msg("%s: %s: %s, expected %s", path, diag.what, strerror(diag.os_error), strerror(error));
  }
  assert_int_equal(directory_count(where, NULL), entries);
  size_t len;
  uint8_t *now = native_encode(new_filter, &len);
  assert_int_equal(len, new_len);
  assert_memory_equal(now, new_bytes, len);
  free(now);
}

/* ---- the usual way ---- */

static void round_trip(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  for (int again = 0; again < 2; again++) {
    nay_filter *f;
    assert_ok(nay_filter_save(new_filter, path, NULL));
    assert_true(directory_holds(path, new_bytes, new_len));
    assert_ok(nay_filter_open(path, NULL, NULL, &f));
    assert_true(native_members_ok(f, 20));
    assert_ok(nay_filter_add(f, "more", 4, NULL)); /* its own memory: it can change */
    nay_filter_free(f);
    for (unsigned flags = 0; flags <= NAY_MMAP_LAZY; flags++) {
      nay_stats stats = {.size = sizeof stats};
      assert_ok(nay_filter_mmap(path, flags, NULL, NULL, &f));
      assert_true(native_members_ok(f, 20));
      assert_ok(nay_filter_stats(f, &stats));
      assert_true(stats.read_only);
      assert_status(nay_filter_add(f, "more", 4, NULL), NAY_ENOTSUP);
      assert_ok(nay_filter_save(f, path, NULL)); /* onto itself: the map keeps the old file */
      assert_true(native_members_ok(f, 20));
      nay_filter_free(f);
    }
  }
  assert_int_equal(directory_count(&dir, NULL), 1);
  unlink(path);
}

static void names(void **state) {
  (void)state;
  char name[NAME_MAX + 2];
  memset(name, 'n', sizeof name);
  name[NAME_MAX] = '\0'; /* as long as a name can be: the temporary one must not be longer */
  assert_ok(nay_filter_save(new_filter, directory_at(&dir, name), NULL));
  assert_true(directory_holds(directory_at(&dir, name), new_bytes, new_len));
  unlink(directory_at(&dir, name));
  char cwd[1024];
  assert_non_null(getcwd(cwd, sizeof cwd));
  assert_int_equal(chdir(dir.path), 0);
  assert_ok(nay_filter_save(new_filter, "bare", NULL)); /* no directory in the path */
  assert_true(directory_holds("bare", new_bytes, new_len));
  unlink("bare");
  assert_int_equal(chdir(cwd), 0);
}

static mode_t mode_of(const char *path) {
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  return st.st_mode & 07777;
}

static void modes(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  mode_t before = umask(027);
  assert_ok(nay_filter_save(old_filter, path, NULL));
  assert_int_equal(mode_of(path), 0640);
  const mode_t kept[] = {0600, 0666, 0444, 0000, 0751};
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    assert_int_equal(chmod(path, kept[i]), 0);
    assert_ok(nay_filter_save(new_filter, path, NULL));
    assert_int_equal(mode_of(path), kept[i]);
  }
  umask(before);
  unlink(path);
}

/* root keeps the owner of what it replaces. */
static void owners(void **state) {
  (void)state;
  if (geteuid() != 0) skip();
  const char *path = directory_at(&dir, "f.nay");
  struct stat st;
  assert_ok(nay_filter_save(old_filter, path, NULL));
  assert_int_equal(chown(path, 1234, 4321), 0);
  assert_ok(nay_filter_save(new_filter, path, NULL));
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_uid, 1234);
  assert_int_equal(st.st_gid, 4321);
  unlink(path);
}

/* ---- links ---- */

static bool is_link(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void links(void **state) {
  (void)state;
  const char *target = directory_at(&dir, "inner/target.nay"), *link = directory_at(&dir, "link");
  const char *second = directory_at(&dir, "second");
  assert_int_equal(mkdir(directory_at(&dir, "inner"), 0777), 0);
  assert_int_equal(symlink("inner/target.nay", link), 0);
  assert_int_equal(symlink("link", second), 0);
  assert_ok(nay_filter_save(old_filter, second, NULL)); /* both dangle: the target is made */
  assert_true(is_link(link) && is_link(second) && !is_link(target));
  assert_true(directory_holds(target, old_bytes, old_len));
  assert_int_equal(chmod(target, 0600), 0);
  assert_ok(nay_filter_save(new_filter, second, NULL));
  assert_true(is_link(link) && is_link(second) && !is_link(target));
  assert_true(directory_holds(target, new_bytes, new_len));
  assert_int_equal(mode_of(target), 0600);
  char absolute[PATH_MAX];
  assert_non_null(realpath(target, absolute));
  unlink(link);
  assert_int_equal(symlink(absolute, link), 0);
  assert_ok(nay_filter_save(old_filter, second, NULL));
  assert_true(directory_holds(target, old_bytes, old_len));
  unlink(link);
  assert_int_equal(symlink("missing/target.nay", link), 0);
  expect_refusal(&dir, second, ENOENT);
  unlink(link);
  assert_int_equal(symlink("second", link), 0);
  expect_refusal(&dir, second, ELOOP);
  unlink(link);
  unlink(second);
  unlink(target);
  assert_int_equal(rmdir(directory_at(&dir, "inner")), 0);
}

/* ---- odd targets ---- */

static void targets_that_are_no_files(void **state) {
  (void)state;
  const char *inner = directory_at(&dir, "inner"), *pipe = directory_at(&dir, "pipe");
  struct stat st;
  assert_int_equal(mkdir(inner, 0777), 0);
  expect_refusal(&dir, inner, EISDIR);
  expect_refusal(&dir, directory_at(&dir, "inner/"), EISDIR);
  expect_refusal(&dir, directory_at(&dir, "inner/."), EISDIR);
  expect_refusal(&dir, directory_at(&dir, "inner/.."), EISDIR);
  assert_int_equal(rmdir(inner), 0); /* and nothing was left in it */
  assert_int_equal(mkfifo(pipe, 0666), 0);
  expect_refusal(&dir, pipe, EINVAL);
  assert_int_equal(stat(pipe, &st), 0);
  assert_true(S_ISFIFO(st.st_mode));
  nay_filter *f = NULL;
  nay_diag diag;
  assert_status(nay_filter_open(pipe, NULL, &diag, &f), NAY_EIO); /* and does not wait */
  assert_int_equal(diag.os_error, EINVAL);
  assert_status(nay_filter_mmap(pipe, 0, NULL, &diag, &f), NAY_EIO);
  unlink(pipe);
  expect_refusal(&dir, "/dev/null", EINVAL);
  assert_int_equal(stat("/dev/null", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
}

static void paths_that_lead_nowhere(void **state) {
  (void)state;
  char name[NAME_MAX + 2], path[PATH_MAX + 300];
  const char *file = directory_at(&dir, "file");
  expect_refusal(&dir, "", ENOENT);
  expect_refusal(&dir, directory_at(&dir, "missing/f.nay"), ENOENT);
  directory_write(file, "x", 1);
  expect_refusal(&dir, directory_at(&dir, "file/f.nay"), ENOTDIR);
  unlink(file);
  memset(name, 'n', sizeof name);
  name[NAME_MAX + 1] = '\0';
  expect_refusal(&dir, directory_at(&dir, name), ENAMETOOLONG);
  memset(path, '/', sizeof path);
  memcpy(path + PATH_MAX + 100, "f.nay", 6);
  expect_refusal(&dir, path, ENAMETOOLONG);
}

/* ---- opening what is not there, or not ours ---- */

static void expect_open(const char *path, nay_status want, int error) {
  nay_filter *f = NULL;
  for (int how = 0; how < 3; how++) {
    flaky memory = {.fail_at = -1};
    nay_allocator a = flaky_allocator(&memory);
    nay_diag diag = {.os_error = -1};
    nay_status status = how == 0
                            ? nay_filter_open(path, &a, &diag, &f)
                            : nay_filter_mmap(path, how == 1 ? 0 : NAY_MMAP_LAZY, &a, &diag, &f);
    assert_status(status, want);
    assert_int_equal(diag.os_error, error);
    assert_non_null(diag.what);
    assert_null(f);
    assert_int_equal(memory.objects, 0);
    assert_true(memory.peak <= 4096);
  }
}

static void files_that_are_refused(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  expect_open(path, NAY_EIO, ENOENT);
  expect_open(dir.path, NAY_EIO, EISDIR);
  directory_write(path, "", 0);
  expect_open(path, NAY_EFORMAT, 0);
  directory_write(path, "#!/bin/sh\nexit 1\n", 17);
  expect_open(path, NAY_EFORMAT, 0);
  directory_write(path, old_bytes, 40);
  expect_open(path, NAY_ECORRUPT, 0);
  directory_write(path, old_bytes, old_len - 1);
  expect_open(path, NAY_ECORRUPT, 0);
  /* a terabyte of nothing, and one that begins well: refused without memory for it */
  directory_write(path, "", 0);
  if (truncate(path, (off_t)1 << 40) == 0) expect_open(path, NAY_EFORMAT, 0);
  directory_write(path, old_bytes, old_len);
  if (truncate(path, (off_t)1 << 40) == 0) expect_open(path, NAY_ECORRUPT, 0);
  unlink(path);
}

static void flags_and_nulls(void **state) {
  (void)state;
  nay_filter *f = NULL;
  assert_status(nay_filter_mmap("x", 2, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_mmap(NULL, 0, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_mmap("x", 0, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_open(NULL, NULL, NULL, &f), NAY_EINVAL);
  assert_status(nay_filter_open("x", NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_filter_save(NULL, "x", NULL), NAY_EINVAL);
  assert_status(nay_filter_save(old_filter, NULL, NULL), NAY_EINVAL);
}

/* At every allocation that open and map make. */
static void memory_runs_out(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  assert_ok(nay_filter_save(new_filter, path, NULL));
  for (int how = 0; how < 3; how++) {
    nay_status status = NAY_ENOMEM;
    for (long call = 0; status == NAY_ENOMEM; call++) {
      flaky memory = {.fail_at = call};
      nay_allocator a = flaky_allocator(&memory);
      nay_diag diag = {.what = NULL};
      nay_filter *f = NULL;
      status = how == 0 ? nay_filter_open(path, &a, &diag, &f)
                        : nay_filter_mmap(path, how == 1 ? 0 : NAY_MMAP_LAZY, &a, &diag, &f);
      assert_true(status == NAY_OK || (status == NAY_ENOMEM && diag.what != NULL && f == NULL));
      nay_filter_free(f);
      assert_int_equal(memory.objects, 0);
    }
    assert_ok(status);
  }
  unlink(path);
}

/* A damaged map is not saved: not even over itself. */
static void damage_is_not_passed_on(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay"), *other = directory_at(&dir, "other.nay");
  uint8_t *damaged = malloc(new_len);
  memcpy(damaged, new_bytes, new_len);
  damaged[new_len / 2] ^= 1;
  directory_write(path, damaged, new_len);
  nay_filter *f;
  nay_diag diag = {.what = NULL};
  assert_status(nay_filter_open(path, NULL, NULL, &f), NAY_ECORRUPT);
  assert_status(nay_filter_mmap(path, 0, NULL, NULL, &f), NAY_ECORRUPT);
  assert_ok(nay_filter_mmap(path, NAY_MMAP_LAZY, NULL, NULL, &f));
  assert_status(nay_filter_save(f, path, &diag), NAY_ECORRUPT);
  assert_non_null(diag.what);
  assert_status(nay_filter_save(f, other, NULL), NAY_ECORRUPT);
  assert_true(directory_holds(path, damaged, new_len));
  assert_int_equal(directory_count(&dir, NULL), 1);
  nay_filter_free(f);
  free(damaged);
  unlink(path);
}

/* ---- no room, no permission ---- */

static void file_size_limit(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  struct rlimit before, limit;
  assert_ok(nay_filter_save(old_filter, path, NULL));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  signal(SIGXFSZ, SIG_IGN);
  const rlim_t sizes[] = {0, 1, 63, 64, 4096, 65536, 150000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    limit.rlim_cur = sizes[i];
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_refusal(&dir, path, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(directory_holds(path, old_bytes, old_len));
  }
  signal(SIGXFSZ, SIG_DFL);
  unlink(path);
}

static void read_only_directory(void **state) {
  (void)state;
  const char *path = directory_at(&dir, "f.nay");
  assert_ok(nay_filter_save(old_filter, path, NULL));
  bool root = geteuid() == 0; /* to whom permissions mean nothing: become nobody for a moment */
  assert_int_equal(chmod(dir.path, 0555), 0);
  if (root && seteuid(65534) != 0) skip();
  int error = access(path, R_OK) == 0 ? EACCES : 0;
  if (error != 0) {
    nay_diag diag = {.what = NULL};
    assert_status(nay_filter_save(new_filter, path, &diag), NAY_EIO);
    assert_int_equal(diag.os_error, EACCES);
    assert_string_equal(diag.what, "cannot create a temporary file in the directory");
  }
  if (root) assert_int_equal(seteuid(0), 0);
  assert_int_equal(chmod(dir.path, 0777), 0);
  assert_true(directory_holds(path, old_bytes, old_len));
  assert_int_equal(directory_count(&dir, NULL), 1);
  unlink(path);
  if (error == 0) skip(); /* the build lies where nobody cannot go */
}

/* A small file system of our own, in a mount namespace that ends with this process. */
static bool mount_here(const char *path, unsigned long flags, const char *options) {
  static bool apart = false;
  if (!apart) {
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
    apart = true;
  }
  return mount("none", path, "tmpfs", flags, options) == 0;
}

static void full_disk(void **state) {
  (void)state;
  directory disk;
  snprintf(disk.path, sizeof disk.path, "%s", directory_at(&dir, "disk"));
  assert_int_equal(mkdir(disk.path, 0777), 0);
  if (!mount_here(disk.path, 0, "size=128k")) {
    rmdir(disk.path);
    print_message("# skip: mounting is not allowed here\n");
    skip();
  }
  const char *path = directory_at(&disk, "f.nay");
  assert_ok(nay_filter_save(old_filter, path, NULL));
  expect_refusal(&disk, path, ENOSPC); /* 192 KiB do not fit */
  assert_true(directory_holds(path, old_bytes, old_len));
  assert_ok(nay_filter_save(old_filter, path, NULL)); /* and no room was lost */
  assert_int_equal(mount(NULL, disk.path, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
  expect_refusal(&disk, path, EROFS);
  assert_true(directory_holds(path, old_bytes, old_len));
  assert_int_equal(umount(disk.path), 0);
  rmdir(disk.path);
}

int main(void) {
  const test_case tests[] = {
      TEST(round_trip),
      TEST(names),
      TEST(modes),
      TEST(owners),
      TEST(links),
      TEST(targets_that_are_no_files),
      TEST(paths_that_lead_nowhere),
      TEST(files_that_are_refused),
      TEST(flags_and_nulls),
      TEST(memory_runs_out),
      TEST(damage_is_not_passed_on),
      TEST(file_size_limit),
      TEST(read_only_directory),
      TEST(full_disk),
  };
  return cmocka_run_group_tests_name("file_replace", tests, start, end);
}
