/*
 * test_kv_threads.c - the store under threads. Two threads that write, two that get, one that
 * scans, over flushes and compactions: under ThreadSanitizer no race; everywhere each reader sees
 * what one moment had.
 *
 * Each writer puts the same round number to all of its keys, in order. So in every snapshot the
 * rounds along its keys fall, and by one at most.
 */
#define _GNU_SOURCE 1

#include <pthread.h>
#include <stdatomic.h>

#include "kv_model.h"
#include "support/directory.h"

enum { WRITERS = 2, KEYS = 40, ROUNDS = TEST_SCALE(200) };

typedef struct shared {
  kv *db;
  _Atomic unsigned done;
} shared;

typedef struct worker {
  shared *s;
  unsigned number;
  uint64_t checked;
  pthread_t thread;
} worker;

static size_t thread_key(unsigned writer, unsigned key, char out[16]) {
  return (size_t)snprintf(out, 16, "%u-%03u", writer, key);
}

static void *write_rounds(void *ctx) {
  worker *w = ctx;
  char key[16], value[160];
  memset(value, 'x', sizeof value);
  for (unsigned round = 1; round <= ROUNDS; round++) {
    for (unsigned k = 0; k < KEYS; k++) {
      size_t len = thread_key(w->number, k, key);
      snprintf(value, sizeof value, "%u", round);
      assert_ok(put(w->s->db, key, len, value, sizeof value));
    }
  }
  w->s->done++;
  return NULL;
}

/* The rounds of a writer's keys, as seen in order. */
static void check_rounds(const unsigned *rounds) {
  for (unsigned k = 0; k < KEYS; k++) {
    if (k > 0 && rounds[k] > rounds[k - 1]) fail_msg("a later put is seen, an earlier one not");
    if (rounds[0] - rounds[k] > 1) fail_msg("a put that was overwritten is seen");
  }
}

/* Without a snapshot: what a key has only ever grows. */
static void check_grows(worker *w, kv_bytes *value) {
  static _Atomic unsigned seen[WRITERS];
  for (unsigned writer = 0; writer < WRITERS; writer++) {
    char key[16];
    size_t len = thread_key(writer, 0, key);
    unsigned before = seen[writer];
    nay_status status = get(w->s->db, key, len, value);
    unsigned now = status == NAY_OK ? (unsigned)strtoul(value->data, NULL, 10) : 0;
    if (now < before) fail_msg("round %u is seen after round %u", now, before);
    while (before < now && !atomic_compare_exchange_weak(&seen[writer], &before, now)) {
    }
  }
}

static void *get_rounds(void *ctx) {
  worker *w = ctx;
  kv_bytes value = {0};
  while (w->s->done < WRITERS) {
    uint64_t at = kv_snapshot_take(w->s->db);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
      unsigned rounds[KEYS];
      for (unsigned k = 0; k < KEYS; k++) {
        char key[16];
        size_t len = thread_key(writer, k, key);
        nay_status status = kv_get(w->s->db, (kv_slice){key, len}, at, &value, NULL, NULL, NULL);
        assert_true(status == NAY_OK || status == NAY_ENOENT);
        rounds[k] = status == NAY_OK ? (unsigned)strtoul(value.data, NULL, 10) : 0;
      }
      check_rounds(rounds);
      check_grows(w, &value);
      w->checked++;
    }
    kv_snapshot_release(w->s->db, at);
  }
  free(value.data);
  return NULL;
}

static void *scan_rounds(void *ctx) {
  worker *w = ctx;
  uint64_t last = 0;
  while (w->s->done < WRITERS) {
    unsigned rounds[WRITERS][KEYS] = {{0}};
    kv_iter it;
    nay_status status = iter_new(w->s->db, 0, NULL, NULL, &it);
    for (; status == NAY_OK; status = nay_sst_scan_next(it.merge)) {
      size_t len;
      const char *key = nay_sst_scan_key(it.merge, &len),
                 *value = nay_sst_scan_value(it.merge, &len);
      rounds[key[0] - '0'][strtoul(key + 2, NULL, 10)] = (unsigned)strtoul(value, NULL, 10);
    }
    assert_status(status, NAY_EEND);
    kv_iter_free(&it);
    for (unsigned writer = 0; writer < WRITERS; writer++) check_rounds(rounds[writer]);
    kv_stats stats;
    kv_describe(w->s->db, &stats);
    assert_true(stats.sequence >= last);
    last = stats.sequence;
    w->checked++;
  }
  return NULL;
}

static void readers_see_one_moment(void **state) {
  (void)state;
  directory dir = directory_make();
  shared s = {.db = model_open(dir.path, model_options())};
  void *(*const jobs[])(void *) = {write_rounds, write_rounds, get_rounds, get_rounds, scan_rounds};
  enum { N = sizeof jobs / sizeof jobs[0] };
  worker workers[N];
  for (unsigned i = 0; i < N; i++) {
    workers[i] = (worker){.s = &s, .number = i};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, jobs[i], &workers[i]), 0);
  }
  for (unsigned i = 0; i < N; i++) pthread_join(workers[i].thread, NULL);
  print_message("# snapshots checked: %llu and %llu by gets, %llu by scans\n",
                (unsigned long long)workers[2].checked, (unsigned long long)workers[3].checked,
                (unsigned long long)workers[4].checked);
  kv_close(s.db);
  directory_remove(&dir);
}

/* ---- the files of the store ---- */

static void *write_much(void *ctx) {
  worker *w = ctx;
  char key[24], value[100] = {0};
  for (uint64_t i = 0; i < TEST_SCALE(40000); i++) {
    size_t len = (size_t)snprintf(key, sizeof key, "%016llx", (unsigned long long)nay_hash_mix(i));
    assert_ok(put(w->s->db, key, len, value, sizeof value));
  }
  w->s->done++;
  return NULL;
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

static _Atomic unsigned removed;

/* A file that MANIFEST names is never removed: a kill at that moment would end the store. */
int __wrap_unlink(const char *path) {
  static const char *const formats[] = {"\ntable %*u %u ", "\nlogs %u ", "\nlogs %*u %*u %u "};
  static char text[1 << 18];
  const char *name = strrchr(path, '/');
  unsigned number = name != NULL ? (unsigned)strtoul(name + 1, NULL, 10) : 0, named;
  if (number != 0) {
    snprintf(text, sizeof text, "%.*s/MANIFEST", (int)(name - path), path);
    FILE *file = fopen(text, "r");
    if (file == NULL) return __real_unlink(path); /* the directory is removed */
    size_t len = fread(text, 1, sizeof text - 1, file);
    assert_true(len < sizeof text - 1);
    fclose(file);
    text[len] = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
      for (size_t i = 0; i < 3; i++)
        if (sscanf(at, formats[i], &named) == 1 && named == number)
          fail_msg("%s is removed, and MANIFEST names it", path);
    removed++;
  }
  return __real_unlink(path);
}

/* Small memtables are flushed while large compactions run. */
static void named_files_stay(void **state) {
  (void)state;
  directory dir = directory_make();
  shared s = {.db = model_open(dir.path, (kv_options){.write_buffer = 65536})};
  worker writer = {.s = &s};
  write_much(&writer);
  kv_stats stats;
  kv_describe(s.db, &stats);
  print_message("# %u files removed; flushed %llu bytes, compacted %llu\n", removed,
                (unsigned long long)stats.flushed, (unsigned long long)stats.compacted);
  assert_true(removed > 0);
  kv_close(s.db);
  directory_remove(&dir);
}

int main(void) {
  const test_case tests[] = {TEST(readers_see_one_moment), TEST(named_files_stay)};
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  return run_all(tests);
}
