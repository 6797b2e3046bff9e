/* test_kv_files.c - whole files and checksums of the store: examples/kv/files.c. */
#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hash/hash.h"
#include "store.h"
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

static kv_file file_at(const char *name) {
  kv_file at = {.diag = {.what = NULL}};
  snprintf(at.path, sizeof at.path, "%s", directory_at(&dir, name));
  return at;
}

static void whole_files(void **state) {
  (void)state;
  kv_file at = file_at("whole"), none = file_at("none"), folder = {.diag = {.what = NULL}};
  void *bytes = NULL;
  size_t len = 99;
  assert_ok(kv__file_replace(&at, "a\0b", 3));
  assert_ok(kv__file_read(&at, &bytes, &len));
  assert_int_equal(len, 3);
  assert_memory_equal(bytes, "a\0b", 4); /* and a 0 */
  free(bytes);
  assert_ok(kv__file_replace(&at, NULL, 0));
  assert_ok(kv__file_read(&at, &bytes, &len));
  assert_int_equal(len, 0);
  free(bytes);
  assert_status(kv__file_read(&none, &bytes, &len), NAY_EIO);
  assert_int_equal(none.diag.os_error, ENOENT);
  snprintf(folder.path, sizeof folder.path, "%s", dir.path);
  assert_status(kv__file_read(&folder, &bytes, &len), NAY_EIO);
  assert_int_equal(folder.diag.os_error, EISDIR);
  assert_int_equal(unlink(at.path), 0);
  assert_int_equal(mkfifo(at.path, 0666), 0); /* nobody waits for its writer */
  assert_status(kv__file_read(&at, &bytes, &len), NAY_EIO);
  assert_int_equal(at.diag.os_error, EINVAL);
  assert_int_equal(unlink(at.path), 0);
}

/* All of a record, or nothing: the limit of a file's size is met in the middle of it. */
static void appends_are_whole(void **state) {
  (void)state;
  kv_file at = file_at("log");
  uint64_t length = 0;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, 10});
    int fd = open(at.path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    bool right = kv__file_append(&at, fd, "12345678", 8, true, &length) == NAY_OK && length == 8;
    right &= kv__file_append(&at, fd, "1234", 4, false, &length) == NAY_EIO && length == 8;
    right &= at.diag.os_error == EFBIG;
    right &= kv__file_append(&at, fd, "90", 2, false, &length) == NAY_OK && length == 10;
    right &= kv__file_append(&at, fd, NULL, 0, true, &length) == NAY_OK && length == 10;
    _exit(right ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(directory_holds(at.path, "1234567890", 10));
  assert_status(kv__file_append(&at, -1, "a", 1, false, &length), NAY_EIO);
  assert_non_null(strstr(at.diag.what, "nor cut it back"));
  assert_int_equal(unlink(at.path), 0);
}

/* The store's own SipHash-1-3 is the library's, at every length modulo 8. */
static void checksums(void **state) {
  (void)state;
  uint8_t key[16], bytes[40];
  for (unsigned i = 0; i < sizeof key; i++) key[i] = (uint8_t)(17 * i + 1);
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i + 200);
  uint64_t words[2] = {0, 0};
  for (unsigned i = 0; i < sizeof key; i++) words[i / 8] |= (uint64_t)key[i] << i % 8 * 8;
  for (size_t len = 0; len <= sizeof bytes; len++) {
    assert_int_equal(kv__checksum(words[0], words[1], bytes, len),
                     nay__siphash(key, bytes, len, 1, 3));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_files),
      cmocka_unit_test(appends_are_whole),
      cmocka_unit_test(checksums),
  };
  return cmocka_run_group_tests_name("kv_files", tests, start, end);
}
