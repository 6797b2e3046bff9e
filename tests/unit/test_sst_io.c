/*
 * test_sst_io.c - tables over files and sinks of the caller, descriptors and memory: the same bytes
 * and answers as over paths, and when a call fails an error, never an answer.
 */
#define _GNU_SOURCE 1

#include <fcntl.h>

#include "nay_sst_cache.h"
#include "nay_sst_iter.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"

#define N_KEYS 600u

static long fsyncs;
int __real_fsync(int fd);
int __wrap_fsync(int fd) {
  fsyncs++;
  return __real_fsync(fd);
}

static const nay_status failures[] = {NAY_EIO,       NAY_ENOMEM,   NAY_ECORRUPT, NAY_ENOENT,
                                      NAY_EINVAL,    NAY_ENOTSUP,  NAY_EFORMAT,  NAY_EMISMATCH,
                                      NAY_ECANCELED, (nay_status)7};
#define N_FAILURES (sizeof failures / sizeof failures[0])

static bool is_io_error(nay_status status) {
  return status == NAY_EIO || status == NAY_ENOMEM || status == NAY_ECORRUPT;
}

static void add_keys(nay_sst_writer *w) {
  char key[32], value[32];
  for (unsigned i = 0; i < N_KEYS; i++) {
    int len = snprintf(value, sizeof value, "value %u", 2 * i);
    assert_ok(nay_sst_writer_add(w, key, number_key(2 * i, key), value, (size_t)len, NULL));
  }
}

static nay_sst_write_options how_of(unsigned i) {
  nay_sst_write_options how = {.size = sizeof how, .block_bytes = 300, .partition_keys = 100};
  how.filter = (nay_sst_filter_layout)(i % 4);
  if (how.filter == NAY_SST_BLOCK_FILTER) how.policy = &exact;
  if (i >= 4) how.codec = &snappy_codec;
  return how;
}
#define N_HOWS 8u

static nay_sst_memory *table_in_memory(const nay_sst_write_options *how) {
  nay_sst_memory *memory;
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  assert_ok(nay_sst_memory_new(NULL, &memory));
  assert_ok(nay_sst_memory_target(memory, &sink));
  assert_ok(nay_sst_writer_new_target(&sink, how, NULL, NULL, &w));
  add_keys(w);
  assert_null(nay_sst_memory_bytes(memory, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  return memory;
}

static nay_sst_read_options read_of(void) {
  static const nay_policy *const policies[] = {&exact};
  return (nay_sst_read_options){.size = sizeof(nay_sst_read_options),
                                .codecs = snappy_codecs,
                                .ncodecs = 1,
                                .policies = policies,
                                .npolicies = 1};
}

static own_file file_of(const nay_sst_memory *memory) {
  own_file f = {.fail_at = -1};
  f.bytes = nay_sst_memory_bytes(memory, &f.len);
  assert_non_null(f.bytes);
  return f;
}

static nay_sst *open_own(own_file *f, const nay_sst_read_options *read) {
  nay_sst_file file = own_file_of(f);
  nay_sst *t;
  assert_ok(nay_sst_open_file(&file, read, NULL, NULL, &t));
  return t;
}

/* ---- writing ---- */

/* Every sink gets the bytes that a file at a path has. */
static void sinks_get_the_same_bytes(void **state) {
  (void)state;
  static own_sink own;
  char path[TEMP_MAX], other[TEMP_MAX];
  temp_path(path, "io-a.ldb");
  temp_path(other, "io-b.ldb");
  for (unsigned i = 0; i < N_HOWS; i++) {
    nay_sst_write_options how = how_of(i);
    size_t want_len, len;
    write_even(path, &how, N_KEYS);
    uint8_t *want = sample_read(path, &want_len);
    nay_sst_memory *memory = table_in_memory(&how);
    const void *bytes = nay_sst_memory_bytes(memory, &len);
    assert_int_equal(len, want_len);
    assert_memory_equal(bytes, want, len);
    nay_sst_writer *w;
    own = (own_sink){.fail_at = -1};
    nay_sst_target sink = own_sink_of(&own);
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    memset(&sink, 0, sizeof sink); /* it was copied */
    add_keys(w);
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_true(own.syncs == 1 && own.finishes == 1 && own.aborts == 0);
    assert_int_equal(own.len, want_len);
    assert_memory_equal(own.bytes, want, want_len);
    int fd = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
    sink = (nay_sst_target){.size = sizeof sink};
    assert_ok(nay_sst_target_descriptor(fd, &sink));
    fsyncs = 0;
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    add_keys(w);
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_int_equal(fsyncs, 1);
    assert_int_equal(close(fd), 0); /* it is still open */
    uint8_t *got = sample_read(other, &len);
    assert_int_equal(len, want_len);
    assert_memory_equal(got, want, len);
    free(got);
    free(want);
    nay_sst_memory_free(memory);
  }
  unlink(path);
  unlink(other);
}

/* Each call fails in each way: the error is final, finish is not called, abort is, once. */
static void sinks_fail_at_every_call(void **state) {
  (void)state;
  static own_sink own;
  nay_sst_write_options how = {.size = sizeof how};
  char key[32];
  static char value[20000];
  for (size_t i = 0; i < N_FAILURES; i++) {
    long at = 0;
    for (bool failed = true; failed; at++) {
      nay_sst_writer *w;
      nay_diag diag = {.what = NULL};
      nay_status status = NAY_OK, want = is_io_error(failures[i]) ? failures[i] : NAY_EIO;
      own = (own_sink){.fail_at = at, .failure = failures[i]};
      nay_sst_target sink = own_sink_of(&own);
      assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
      for (unsigned k = 0; k < 10 && status == NAY_OK; k++) {
        status = nay_sst_writer_add(w, key, number_key(k, key), value, sizeof value, NULL);
      }
      if (status != NAY_OK) {
        assert_status(status, want);
        assert_status(nay_sst_writer_add(w, "zzz", 3, "", 0, NULL), want);
      }
      status = nay_sst_writer_finish(w, &diag);
      failed = own.failed;
      assert_status(status, failed ? want : NAY_OK);
      if (failed) assert_non_null(strstr(diag.what, "the table"));
      nay_sst_writer_free(w);
      assert_int_equal(own.finishes + own.aborts, 1);
      if (!failed) assert_int_equal(own.finishes, 1);
    }
    assert_true(at > 5); /* writes, sync, finish, and a run without failure */
  }
}

static void writers_that_are_not_finished_abort(void **state) {
  (void)state;
  static own_sink own;
  nay_sst_writer *w = NULL;
  own = (own_sink){.fail_at = -1};
  nay_sst_target sink = own_sink_of(&own);
  assert_ok(nay_sst_writer_new_target(&sink, NULL, NULL, NULL, &w));
  add_keys(w);
  nay_sst_writer_free(w);
  assert_true(own.aborts == 1 && own.finishes == 0);
  /* a writer that could not be made has not touched the sink */
  own = (own_sink){.fail_at = -1};
  nay_sst_write_options wrong = {.size = sizeof wrong, .filter = (nay_sst_filter_layout)9};
  w = NULL;
  assert_status(nay_sst_writer_new_target(&sink, &wrong, NULL, NULL, &w), NAY_EINVAL);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  for (long at = 0;; at++) {
    flaky_arm(&heap, at, false);
    nay_status status = nay_sst_writer_new_target(&sink, NULL, &a, NULL, &w);
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
    assert_true(flaky_is_clean(&heap) && own.calls == 0 && own.aborts == 0);
  }
  nay_sst_writer_free(w);
  assert_int_equal(own.aborts, 1);
  sink.write = NULL;
  assert_status(nay_sst_writer_new_target(&sink, NULL, NULL, NULL, &w), NAY_EINVAL);
  assert_status(nay_sst_writer_new_target(NULL, NULL, NULL, NULL, &w), NAY_EINVAL);
  assert_status(nay_sst_target_descriptor(-1, &sink), NAY_EINVAL);
}

/* Calls that may be NULL are. */
static void sinks_may_have_write_alone(void **state) {
  (void)state;
  static own_sink own;
  nay_sst_writer *w;
  own = (own_sink){.fail_at = -1};
  nay_sst_target sink = {.size = sizeof sink, .write = own_write, .ctx = &own};
  for (int i = 0; i < 2; i++) {
    assert_ok(nay_sst_writer_new_target(&sink, NULL, NULL, NULL, &w));
    if (i == 0) assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
  }
  assert_true(own.syncs + own.finishes + own.aborts == 0);
}

static void no_sync_does_not_sync(void **state) {
  (void)state;
  static own_sink own;
  char path[TEMP_MAX];
  temp_path(path, "io-sync.ldb");
  for (int i = 0; i < 2; i++) {
    nay_sst_write_options how = {.size = sizeof how, .no_sync = i == 1};
    nay_sst_writer *w;
    fsyncs = 0;
    write_even(path, &how, N_KEYS);
    assert_int_equal(fsyncs, i == 0 ? 2 : 0); /* the file and its directory */
    nay_sst *t = open_table(path, NULL);
    ask_all(t, N_KEYS);
    nay_sst_free(t);
    own = (own_sink){.fail_at = -1};
    nay_sst_target sink = own_sink_of(&own);
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_true(own.syncs == 1 - i && own.finishes == 1);
  }
  unlink(path);
}

/* A pipe takes a table, but cannot be synced; nor can a table be read from it. */
static void descriptors_may_be_pipes(void **state) {
  (void)state;
  int ends[2];
  uint8_t bytes[4096];
  nay_diag diag = {.what = NULL};
  nay_sst_file file = {.size = sizeof file};
  assert_int_equal(pipe(ends), 0);
  for (int i = 0; i < 2; i++) {
    nay_sst_write_options how = {.size = sizeof how, .no_sync = i == 1};
    nay_sst_target sink = {.size = sizeof sink};
    nay_sst_writer *w;
    assert_ok(nay_sst_target_descriptor(ends[1], &sink));
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    assert_ok(nay_sst_writer_add(w, "foo", 3, "bar", 3, NULL));
    assert_status(nay_sst_writer_finish(w, &diag), i == 0 ? NAY_EIO : NAY_OK);
    nay_sst_writer_free(w);
    ssize_t n = read(ends[0], bytes, sizeof bytes);
    nay_sst *t;
    assert_ok(nay_sst_view(bytes, (size_t)n, NULL, NULL, NULL, &t));
    nay_sst_free(t);
  }
  assert_status(nay_sst_file_descriptor(ends[0], &diag, &file), NAY_EIO);
  close(ends[0]);
  close(ends[1]);
  assert_status(nay_sst_file_descriptor(-1, &diag, &file), NAY_EIO);
  assert_status(nay_sst_file_descriptor(0, &diag, NULL), NAY_EINVAL);
}

static void memory_is_replaced_or_empty(void **state) {
  (void)state;
  nay_sst_write_options how = {.size = sizeof how};
  nay_sst_memory *memory = table_in_memory(&how);
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  size_t len = 1;
  assert_ok(nay_sst_memory_target(memory, &sink));
  assert_null(nay_sst_memory_bytes(memory, &len));
  assert_int_equal(len, 0);
  assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
  add_keys(w);
  nay_sst_writer_free(w); /* not finished */
  assert_null(nay_sst_memory_bytes(memory, &len));
  nay_sst_memory_free(memory);
  flaky heap = {.fail_at = 0};
  nay_allocator a = flaky_allocator(&heap);
  assert_status(nay_sst_memory_new(&a, &memory), NAY_ENOMEM);
  for (long at = 0;; at++) {
    flaky_arm(&heap, -1, false);
    assert_ok(nay_sst_memory_new(&a, &memory));
    assert_ok(nay_sst_memory_target(memory, &sink));
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    add_keys(w);
    flaky_arm(&heap, at, false);
    nay_status status = nay_sst_writer_finish(w, NULL);
    nay_sst_writer_free(w);
    assert_true((nay_sst_memory_bytes(memory, NULL) != NULL) == (status == NAY_OK));
    nay_sst_memory_free(memory);
    assert_true(flaky_is_clean(&heap));
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
  }
}

/* ---- reading ---- */

static void own_files_answer_as_paths_do(void **state) {
  (void)state;
  char path[TEMP_MAX];
  temp_path(path, "io-read.ldb");
  for (unsigned i = 0; i < N_HOWS; i++) {
    nay_sst_write_options how = how_of(i);
    nay_sst_read_options read = read_of();
    nay_sst_memory *memory = table_in_memory(&how);
    own_file f = file_of(memory);
    nay_sst *t = open_own(&f, &read);
    ask_all(t, N_KEYS);
    nay_sst_free(t);
    assert_int_equal(f.closes, 1);
    write_even(path, &how, N_KEYS);
    int fd = open(path, O_RDONLY);
    nay_sst_file file = {.size = sizeof file};
    assert_ok(nay_sst_file_descriptor(fd, NULL, &file));
    assert_ok(nay_sst_open_file(&file, &read, NULL, NULL, &t));
    ask_all(t, N_KEYS);
    nay_sst_free(t);
    assert_int_equal(close(fd), 0); /* it is still open */
    nay_sst_memory_free(memory);
  }
  unlink(path);
}

/* All keys by get, and by a walk: right, or an error; *errors counts those. */
static void ask_or_fail(const nay_sst *t, unsigned *errors) {
  nay_sst_value v = {.size = sizeof v};
  nay_sst_iter *it;
  char key[32];
  for (unsigned i = 0; i < 2 * N_KEYS; i += 7) {
    nay_status status = nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, NULL, &v);
    if (is_io_error(status)) {
      ++*errors;
    } else {
      assert_status(status, i % 2 == 0 ? NAY_OK : NAY_ENOENT);
    }
  }
  nay_sst_value_free(&v);
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  unsigned n = 0;
  nay_status status = nay_sst_iter_first(it);
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) n++;
  if (is_io_error(status)) {
    ++*errors;
    assert_non_null(nay_sst_iter_diag(it)->what);
  } else {
    assert_status(status, NAY_EEND);
    assert_int_equal(n, N_KEYS);
  }
  nay_sst_iter_free(it);
}

/*
 * Each read fails once with NAY_EIO, and many in each other way. The open fails and leaves the file
 * alone, or the table answers right but for the one call that met the failure; afterwards it
 * answers everything.
 */
static void reads_fail_at_every_call(void **readahead) {
  size_t ahead = *(const size_t *)*readahead;
  for (unsigned h = 0; h < 4; h++) {
    nay_sst_write_options how = how_of(h);
    nay_sst_read_options read = read_of();
    nay_sst_memory *memory = table_in_memory(&how);
    read.readahead = ahead;
    for (size_t i = 0; i < N_FAILURES; i++) {
      bool reached = true;
      for (long at = 0; reached; at += i == 0 ? 1 : 1 + at / 10) {
        unsigned errors = 0;
        nay_sst *t = NULL;
        nay_diag diag = {.what = NULL};
        own_file f = file_of(memory);
        f.fail_at = at;
        f.failure = failures[i];
        nay_sst_file file = own_file_of(&f);
        nay_status status = nay_sst_open_file(&file, &read, NULL, &diag, &t);
        if (status != NAY_OK) {
          assert_true(is_io_error(status) && diag.what != NULL && t == NULL && f.closes == 0);
          continue;
        }
        ask_or_fail(t, &errors);
        assert_true(errors <= 1);
        reached = f.reads > at;
        f.fail_at = -1;
        ask_all(t, N_KEYS);
        nay_sst_free(t);
        assert_int_equal(f.closes, 1);
      }
    }
    nay_sst_memory_free(memory);
  }
}

static void open_refuses_nonsense(void **state) {
  (void)state;
  nay_sst_write_options how = {.size = sizeof how};
  nay_sst_memory *memory = table_in_memory(&how);
  own_file f = file_of(memory);
  nay_sst_file file = own_file_of(&f);
  nay_sst_read_options wrong = {.size = sizeof wrong, .flags = 1u << 30};
  nay_sst *t = NULL;
  assert_status(nay_sst_open_file(NULL, NULL, NULL, NULL, &t), NAY_EINVAL);
  assert_status(nay_sst_open_file(&file, NULL, NULL, NULL, NULL), NAY_EINVAL);
  assert_status(nay_sst_open_file(&file, &wrong, NULL, NULL, &t), NAY_EINVAL);
  file.read_at = NULL;
  assert_status(nay_sst_open_file(&file, NULL, NULL, NULL, &t), NAY_EINVAL);
  for (size_t len = 0; len < f.len; len += len < 100 ? 1 : 97) { /* cut short */
    own_file cut = f;
    cut.len = len;
    file = own_file_of(&cut);
    assert_true(nay_sst_open_file(&file, NULL, NULL, NULL, &t) != NAY_OK);
    assert_int_equal(cut.closes, 0);
  }
  file = own_file_of(&f);
  file.close = NULL;
  assert_ok(nay_sst_open_file(&file, NULL, NULL, NULL, &t));
  nay_sst_free(t);
  assert_int_equal(f.closes, 0);
  nay_sst_memory_free(memory);
}

/* Tables of other engines are read through the same calls. */
static void foreign_tables_over_own_files(void **state) {
  (void)state;
  char path[TEMP_MAX], key[32];
  nay_sst_write_options how = {.size = sizeof how, .layout = "nori-sst"};
  nay_sst_writer *w;
  temp_path(path, "io-foreign.sst");
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned i = 0; i < 100; i++) {
    nay_sst_entry v = {.size = sizeof v, .key = key, .len = number_key(i, key), .sequence = 1};
    assert_ok(nay_sst_writer_add_entry(w, &v, "value", 5, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  own_file f = {.fail_at = -1};
  uint8_t *bytes = sample_read(path, &f.len);
  f.bytes = bytes;
  nay_sst *t = open_own(&f, NULL);
  nay_sst_value v = {.size = sizeof v};
  for (unsigned i = 0; i < 101; i++) {
    assert_status(nay_sst_get(t, key, number_key(i, key), NAY_SST_NEWEST, NULL, &v),
                  i < 100 ? NAY_OK : NAY_ENOENT);
  }
  nay_sst_value_free(&v);
  nay_sst_free(t);
  assert_int_equal(f.closes, 1);
  free(bytes);
  unlink(path);
}

/* ---- the cache of tables ---- */

static nay_status open_by_name(void *ctx, const char *name, const nay_sst_read_options *read,
                               const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  own_file *files = ctx;
  if (name[0] < 'a' || name[0] > 'c') return NAY_ENOENT;
  nay_sst_file file = own_file_of(&files[name[0] - 'a']);
  return nay_sst_open_file(&file, read, allocator, diag, sst);
}

static void tables_of_own_files_are_cached(void **state) {
  (void)state;
  nay_sst_write_options how = {.size = sizeof how};
  nay_sst_memory *memory = table_in_memory(&how);
  own_file files[3];
  nay_sst_pool *tables;
  const nay_sst *t = NULL;
  for (int i = 0; i < 3; i++) files[i] = file_of(memory);
  nay_sst_pool_options few = {
      .size = sizeof few, .max_open = 2, .open = open_by_name, .open_ctx = files};
  assert_ok(nay_sst_pool_new(&few, NULL, NULL, &tables));
  static const char *const names[] = {"a", "b", "a", "c", "a"};
  for (int i = 0; i < 5; i++) {
    assert_ok(nay_sst_pool_acquire(tables, names[i], NULL, &t));
    ask_all(t, N_KEYS);
    nay_sst_pool_release(tables, t);
  }
  assert_true(files[0].closes == 0 && files[1].closes == 1 && files[2].closes == 0);
  t = NULL;
  assert_status(nay_sst_pool_acquire(tables, "x", NULL, &t), NAY_ENOENT);
  assert_null(t);
  nay_sst_pool_free(tables);
  assert_true(files[0].closes == 1 && files[2].closes == 1);
  nay_sst_memory_free(memory);
}

int main(void) {
  static const size_t none = 0, large = 1u << 20;
  const test_case tests[] = {
      TEST(sinks_get_the_same_bytes),
      TEST(sinks_fail_at_every_call),
      TEST(writers_that_are_not_finished_abort),
      TEST(sinks_may_have_write_alone),
      TEST(no_sync_does_not_sync),
      TEST(descriptors_may_be_pipes),
      TEST(memory_is_replaced_or_empty),
      TEST(own_files_answer_as_paths_do),
      TEST_WITH("reads_fail_at_every_call", reads_fail_at_every_call, &none),
      TEST_WITH("reads_fail_at_every_call with readahead", reads_fail_at_every_call, &large),
      TEST(open_refuses_nonsense),
      TEST(foreign_tables_over_own_files),
      TEST(tables_of_own_files_are_cached),
  };
  return run_all(tests);
}
