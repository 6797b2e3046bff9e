/*
 * test_file_kill.c - kill -9 of a process that saves in a loop, 200 times: the file is the old one
 * or the new one, never a mixture, never gone.
 */
#define _GNU_SOURCE 1

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "support/directory.h"
#include "support/native.h"
#include "support/test.h"

#define KILLS 200

static void save_for_ever(const nay_filter *const filters[2], const char *path) {
  for (unsigned i = 0;; i++) {
    if (nay_filter_save(filters[i % 2], path, NULL) != NAY_OK) _exit(1);
  }
}

static void sleep_us(uint64_t us) {
  struct timespec t = {0, (long)us * 1000};
  nanosleep(&t, NULL);
}

/* What a killed process left under a temporary name. With unnamed files it is complete. */
static unsigned check_leftovers(const directory *dir, bool must_be_complete) {
  unsigned n = 0;
  DIR *d = opendir(dir->path);
  assert_non_null(d);
  for (const struct dirent *e; (e = readdir(d)) != NULL;) {
    if (strstr(e->d_name, ".nay-") == NULL) continue;
    nay_filter *f = NULL;
    nay_status status = nay_filter_open(directory_at(dir, e->d_name), NULL, NULL, &f);
    nay_filter_free(f);
    if (must_be_complete) assert_ok(status);
    unlink(directory_at(dir, e->d_name));
    n++;
  }
  closedir(d);
  return n;
}

static void old_or_new_never_a_mixture(void **state) {
  (void)state;
  directory dir = directory_make();
  char path[512];
  snprintf(path, sizeof path, "%s", directory_at(&dir, "f.nay"));
  nay_params a = {sizeof a, .kind = NAY_BLOOM, .nbits = 300000 * 8, .k = 6}, b = a;
  b.nbits -= 64 * 1001;
  b.seed = 7;
  nay_filter *filters[2] = {native_filter(&a, 5000), native_filter(&b, 5000)};
  uint8_t *bytes[2];
  size_t len[2];
  unsigned seen[2] = {0, 0}, leftovers = 0;
  int unnamed = open(dir.path, O_WRONLY | O_TMPFILE, 0600);
  for (unsigned i = 0; i < 2; i++) bytes[i] = native_encode(filters[i], &len[i]);
  assert_ok(nay_filter_save(filters[0], path, NULL));
  for (unsigned kill_number = 0; kill_number < KILLS; kill_number++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_for_ever((const nay_filter *const *)filters, path);
    sleep_us(nay_hash_mix(kill_number) % 8000);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* it had not failed before */
    bool is_a = directory_holds(path, bytes[0], len[0]),
         is_b = directory_holds(path, bytes[1], len[1]);
    if (!is_a && !is_b) fail_msg("kill %u: neither the old nor the new file", kill_number);
    seen[is_a ? 0 : 1]++;
    leftovers += check_leftovers(&dir, unnamed >= 0);
  }
  print_message("# %d kills: %u times one file, %u times the other; %u leftovers\n", KILLS, seen[0],
                seen[1], leftovers);
  assert_int_equal(directory_count(&dir, NULL), 1);
  if (unnamed >= 0) close(unnamed);
  for (unsigned i = 0; i < 2; i++) {
    nay_filter_free(filters[i]);
    free(bytes[i]);
  }
  directory_remove(&dir);
}

int main(void) {
  const test_case tests[] = {TEST(old_or_new_never_a_mixture)};
  return run_all(tests);
}
