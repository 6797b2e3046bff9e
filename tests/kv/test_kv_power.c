/*
 * test_kv_power.c - the machine loses power while a store is written to, flushed and compacted:
 * crash_disk.h builds what the disk may have. With sync every put that was acknowledged is there,
 * without it some prefix of all puts; nothing else is, whatever the crashes before. The store
 * opens, and says what it drops.
 *
 * Crashes are in rows: the disk that one of them left is the one that the next is of. So that a put
 * which a crash undid cannot be taken for the one that came in its place, each put of all rows has
 * a number of its own, which its value has.
 */
#define _GNU_SOURCE 1

#include "crash_disk.h"
#include "kv_model.h"
#include "store.h"

enum { ROW = 24, CRASHES = 10 }; /* rounds until a new store; crashes of each round */
enum { MARK_STARTED, MARK_ACKNOWLEDGED, MARK_DURABLE };

typedef struct history {
  uint64_t seed, next; /* number of the next put */
  size_t n;            /* puts in the store */
  uint64_t numbers[8192];
} history;

static directory disk_dir, try_dir;
static unsigned crashes, torn, dropped;

static void directory_clear(const directory *d) {
  directory_remove(d);
  assert_int_equal(mkdir(d->path, 0777), 0);
}

/* Until the background thread has nothing to do: so a run is like any other. */
static void wait_idle(kv *db) {
  pthread_mutex_lock(&db->writer);
  while (!db->idle) pthread_cond_wait(&db->changed, &db->writer);
  pthread_mutex_unlock(&db->writer);
}

typedef struct round {
  history *h;
  kv_options options;
  bool calm; /* one thread at a time */
} round_of;

/* Puts, now and then a flush, with what follows from it. */
static void round_write(const round_of *w, disk_random *r) {
  history *h = w->h;
  kv *db = model_open(disk_dir.path, w->options);
  if (w->calm) wait_idle(db);
  size_t puts = disk_next(r) % 40;
  for (size_t i = 0; i < puts; i++) {
    disk_mark(MARK_STARTED, h->n + 1);
    assert_ok(model_write(db, h->seed, h->next, NULL));
    h->numbers[h->n++] = h->next++;
    assert_true(h->n < sizeof h->numbers / sizeof h->numbers[0]);
    disk_mark(MARK_ACKNOWLEDGED, h->n);
    if (disk_next(r) % 12 != 0) continue;
    assert_ok(kv_settle(db, NULL));
    disk_mark(MARK_DURABLE, h->n);
  }
  kv_close(db);
}

/* The least and the most puts that may be there after the first k events. */
static void round_bounds(bool sync, size_t k, size_t *least, size_t *most) {
  for (size_t i = 0; i < k; i++) {
    const disk_event *e = &disk.events[i];
    if (e->kind != DISK_MARK) continue;
    if (e->mark == MARK_STARTED) *most = (size_t)e->offset;
    if (e->mark == MARK_DURABLE || (sync && e->mark == MARK_ACKNOWLEDGED))
      *least = (size_t)e->offset;
  }
}

/* Whether all that the log has is replayed, or the text says that it is not. */
static bool says_what_it_drops(const kv *db, const kv_error *error) {
  const kv_memtable *m = db->view->mem;
  struct stat st;
  assert_int_equal(stat(m->at.path, &st), 0);
  bool cut = (uint64_t)st.st_size != m->length;
  torn += cut;
  return cut == (strstr(error->text, "bytes dropped") != NULL);
}

/* Why the store of try_dir is not what a crash may leave, or NULL. *n: the puts it has. */
static const char *round_check(const round_of *w, size_t least, size_t most, size_t *n) {
  static char why[700];
  kv_error error = {""};
  kv *db;
  if (kv_open(try_dir.path, &w->options, &error, &db) != NAY_OK) {
    snprintf(why, sizeof why, "does not open: %s", error.text);
    return why;
  }
  const char *wrong = says_what_it_drops(db, &error) ? NULL : "does not say what it drops";
  *n = model_operations(db);
  if (*n < least || *n > most) {
    snprintf(why, sizeof why, "has %zu puts, not %zu to %zu", *n, least, most);
    wrong = why;
  }
  model m = {.seed = w->h->seed};
  for (size_t i = 0; i < *n && wrong == NULL; i++) model_apply(&m, w->h->numbers[i]);
  for (unsigned i = 0; i < MODEL_KEYS && wrong == NULL; i++)
    if (!model_holds(&m, db, 0, i)) wrong = "has a key that is not what the last put wrote";
  if (wrong == NULL) model_check_scan(&m, db, 0);
  dropped += *n < most;
  crashes++;
  kv_close(db);
  return wrong;
}

/* A round and its crashes; the last of them is the disk of the next round. */
static const char *round_run(const round_of *w, disk_random *r) {
  static const size_t pages[] = {16, 64, 512, 4096};
  const size_t before = w->h->n;
  const char *wrong = NULL;
  size_t n = 0, least = 0, most = 0;
  disk_record(disk_dir.path);
  round_write(w, r);
  disk_stop();
  for (unsigned i = 0; i < CRASHES && wrong == NULL; i++) {
    uint64_t seed = disk_next(r);
    size_t k = (size_t)(seed % (disk.nevents + 1)), page = pages[(seed >> 32) % 4];
    least = most = before;
    round_bounds(w->options.sync, k, &least, &most);
    directory_clear(&try_dir);
    disk_crash(k, page, seed, &try_dir);
    wrong = round_check(w, least, most, &n);
    if (i + 1 < CRASHES || wrong != NULL) continue;
    directory_clear(&disk_dir);
    disk_crash(k, page, seed, &disk_dir);
  }
  w->h->n = n;
  return wrong;
}

static const char *rows_run(bool sync, bool calm, unsigned rounds, uint64_t seed) {
  static history h;
  const char *wrong = NULL;
  disk_random r = {seed};
  h = (history){.seed = seed};
  for (unsigned i = 0; i < rounds && wrong == NULL; i++) {
    kv_options options = {.sync = sync, .write_buffer = calm ? 32 << 10 : 3 << 10};
    round_of w = {&h, options, calm};
    if (i % ROW == 0) {
      h.n = 0;
      directory_clear(&disk_dir); /* the round makes a new store */
    }
    wrong = round_run(&w, &r);
    if (wrong != NULL) print_message("# seed %llu, round %u\n", (unsigned long long)seed, i);
  }
  return wrong;
}

static void rows(bool sync, bool calm, unsigned rounds) {
  crashes = torn = dropped = 0;
  const char *wrong = rows_run(sync, calm, rounds / 2, 1 + sync);
  if (wrong == NULL) wrong = rows_run(sync, calm, rounds / 2, MODEL_EVEN + sync);
  print_message("# %u crashes: %u left a torn log, after %u the last puts were gone\n", crashes,
                torn, dropped);
  if (wrong != NULL) fail_msg("after a crash the store %s", wrong);
  if (calm) assert_true(torn > crashes / 50 && dropped > crashes / 50);
}

static void with_sync(void **state) {
  (void)state;
  rows(true, true, TEST_SCALE(600));
}

static void without_sync(void **state) {
  (void)state;
  rows(false, true, TEST_SCALE(600));
}

/* Memtables get full while others are flushed and merged. */
static void with_threads(void **state) {
  (void)state;
  rows(true, false, TEST_SCALE(100));
  rows(false, false, TEST_SCALE(100));
}

/* Of three records the second is lost and the third is whole: both are dropped. A put takes the
 * place of the second one. Whatever the next crash leaves of it, the third does not come back. */
static void a_record_that_was_dropped(void **state) {
  (void)state;
  static history h = {.seed = MODEL_EVEN};
  const round_of w = {&h, {.sync = false}, true};
  enum { HEAD = 16, RECORD = 80 };
  static const uint8_t zeros[RECORD];
  size_t n, seen = 0;
  directory_clear(&disk_dir);
  kv *db = model_open(disk_dir.path, w.options);
  for (uint64_t i = 0; i < 3; i++) assert_ok(model_write(db, h.seed, i, NULL));
  kv_close(db);
  int fd = open(directory_at(&disk_dir, "000001.log"), O_WRONLY);
  assert_int_equal(pwrite(fd, zeros, RECORD, HEAD + RECORD), RECORD);
  close(fd);
  disk_record(disk_dir.path);
  db = model_open(disk_dir.path, w.options);
  assert_ok(model_write(db, h.seed, 3, NULL));
  kv_close(db);
  disk_stop();
  h.numbers[1] = 3;
  for (uint64_t seed = 0; seed < TEST_SCALE(1000); seed++) {
    directory_clear(&try_dir);
    disk_crash(disk.nevents, 16, seed, &try_dir);
    const char *wrong = round_check(&w, 1, 2, &n);
    if (wrong != NULL) fail_msg("after crash %u the store %s", (unsigned)seed, wrong);
    seen += n == 2;
  }
  assert_true(seen > 0);
}

/* Disks that break the promise of a sync: these tests would notice. */
static void disks_that_lie(void **state) {
  (void)state;
  for (int files = 0; files < 2; files++) {
    disk.no_file_syncs = files;
    disk.no_dir_syncs = !files;
    const char *wrong = rows_run(true, true, 100, 3);
    print_message("# without syncs of %s: the store %s\n", files ? "files" : "the directory",
                  wrong != NULL ? wrong : "is well");
    assert_non_null(wrong);
  }
  disk.no_file_syncs = disk.no_dir_syncs = false;
}

int main(void) {
  const test_case tests[] = {TEST(with_sync), TEST(without_sync), TEST(with_threads),
                             TEST(a_record_that_was_dropped), TEST(disks_that_lie)};
  if (chdir("/dev/shm") != 0) print_message("# no /dev/shm: on the disk\n");
  disk_dir = directory_make();
  try_dir = directory_make();
  int result = run_all(tests);
  directory_remove(&disk_dir);
  directory_remove(&try_dir);
  return result;
}
