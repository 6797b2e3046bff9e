/*
 * test_kv_kill.c - kill -9 of a process that writes to a store, at random moments: nothing that was
 * acknowledged is lost, nothing comes back. The one operation under way may have happened or not.
 *
 * The writer counts in memory that it shares with the parent which operation it starts and which
 * was acknowledged; the parent kills it some operations and up to 3 ms later. It flushes and
 * compacts all the time, as the memtable is small, and it is killed while it recovers as well.
 */
#define _GNU_SOURCE 1

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "kv_model.h"
#include "support/directory.h"

typedef struct progress {
  _Atomic uint64_t started, acknowledged;
} progress;

static unsigned kills = TEST_SCALE(60);

static void write_for_ever(const char *dir, kv_options options, uint64_t seed, progress *p) {
  kv *db;
  kv_error error = {""};
  if (kv_open(dir, &options, &error, &db) != NAY_OK) {
    fprintf(stderr, "# %s\n", error.text);
    _exit(1);
  }
  for (uint64_t i = p->acknowledged;; i++) {
    p->started = i + 1;
    if (model_write(db, seed, i, &error) != NAY_OK) {
      fprintf(stderr, "# %s\n", error.text);
      _exit(2);
    }
    p->acknowledged = i + 1;
  }
}

static void sleep_us(uint64_t us) {
  struct timespec t = {0, (long)us * 1000};
  nanosleep(&t, NULL);
}

static void nothing_is_lost_nothing_comes_back(void **state) {
  (void)state;
  directory dir = directory_make();
  progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(p != MAP_FAILED);
  model m = {.seed = 2};
  unsigned happened = 0, not_happened = 0, none = 0;
  for (unsigned k = 0; k < kills; k++) {
    kv_options options = model_options();
    options.sync = k % 4 == 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) write_for_ever(dir.path, options, m.seed, p);
    uint64_t random = nay_hash_mix(k), until = p->acknowledged;
    if (k % 5 != 0) until += random % 200; /* else it is killed while it opens the store */
    for (unsigned wait = 0; p->acknowledged < until && wait < 20000; wait++) sleep_us(100);
    sleep_us((random >> 32) % 3000);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status)) fail_msg("kill %u: the writer had failed: %d", k, status);
    static uint64_t applied;
    for (; applied < p->acknowledged; applied++) model_apply(&m, applied);
    kv *db = model_open(dir.path, options);
    if (p->started > applied) { /* one was under way */
      if (model_operations(db) == p->started) {
        model_apply(&m, applied++);
        happened++;
      } else {
        not_happened++;
      }
      p->started = p->acknowledged = applied;
    } else {
      none++;
    }
    assert_int_equal(model_operations(db), applied);
    model_check(&m, db, 0);
    kv_close(db);
  }
  print_message(
      "# %u kills, %llu operations; of those under way %u happened, %u did not; %u none\n", kills,
      (unsigned long long)p->acknowledged, happened, not_happened, none);
  munmap(p, sizeof *p);
  directory_remove(&dir);
}

int main(int argc, char **argv) {
  if (argc > 1)
    kills = (unsigned)strtoul(argv[1], NULL, 10); /* those are on the disk */
  else if (chdir("/dev/shm") != 0)
    print_message("# no /dev/shm: on the disk\n");
  const test_case tests[] = {TEST(nothing_is_lost_nothing_comes_back)};
  return run_all(tests);
}
