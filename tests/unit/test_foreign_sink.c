/*
 * test_foreign_sink.c - tables of nori and mini-lsm written to a sink. Every layout writes the same
 * bytes as to a path, and each call of the sink fails in every way.
 */
#include "nay_sst.h"
#include "support/flaky.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"

#define N_ENTRIES 300u

static const char *const layouts[] = {"nori-sst",           "mini-lsm-sst",
                                      "mini-lsm-sst-day4",  "mini-lsm-sst-week1",
                                      "mini-lsm-sst-week2", "mini-lsm-sst-week3"};
#define N_LAYOUTS (sizeof layouts / sizeof *layouts)

static nay_sst_write_options options_of(size_t layout) {
  return (nay_sst_write_options){
      .size = sizeof(nay_sst_write_options), .layout = layouts[layout], .block_bytes = 500};
}

/* Adds entries up to the first error. */
static nay_status add_entries(nay_sst_writer *w) {
  nay_status status = NAY_OK;
  for (unsigned i = 0; i < N_ENTRIES && status == NAY_OK; i++) {
    char key[32];
    nay_sst_entry v = {.size = sizeof v, .key = key, .len = number_key(i, key)};
    status = nay_sst_writer_add_entry(w, &v, "value", 5, NULL);
  }
  return status;
}

static void sinks_take_the_bytes_of_files(void **state) {
  (void)state;
  static own_sink own;
  char path[TEMP_MAX];
  temp_path(path, "foreign-sink.sst");
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    nay_sst_write_options how = options_of(i);
    nay_sst_writer *w;
    size_t len;
    assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
    assert_ok(add_entries(w));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    own = (own_sink){.fail_at = -1};
    nay_sst_target sink = own_sink_of(&own);
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    memset(&sink, 0, sizeof sink); /* the writer has a copy */
    assert_ok(add_entries(w));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_true(own.syncs == 1 && own.finishes == 1 && own.aborts == 0);
    uint8_t *want = sample_read(path, &len);
    assert_int_equal(own.len, len);
    assert_memory_equal(own.bytes, want, len);
    free(want);
    unlink(path);
  }
}

static void sinks_fail_at_every_call(void **state) {
  (void)state;
  static const nay_status failures[] = {NAY_EIO, NAY_ENOMEM, NAY_ENOENT, NAY_EINVAL};
  static own_sink own;
  for (size_t i = 0; i < N_LAYOUTS; i++) {
    long at = 0;
    for (bool failed = true; failed; at++) {
      nay_sst_write_options how = options_of(i);
      nay_sst_writer *w;
      nay_diag diag = {.what = NULL};
      nay_status failure = failures[at % 4], want = at % 4 == 1 ? NAY_ENOMEM : NAY_EIO;
      own = (own_sink){.fail_at = at, .failure = failure};
      nay_sst_target sink = own_sink_of(&own);
      assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
      nay_status status = add_entries(w);
      if (status != NAY_OK) assert_status(status, want);
      status = nay_sst_writer_finish(w, &diag);
      failed = own.failed;
      assert_status(status, failed ? want : NAY_OK);
      if (failed) assert_non_null(strstr(diag.what, "the table"));
      nay_sst_writer_free(w);
      assert_int_equal(own.finishes + own.aborts, 1);
      if (!failed) assert_int_equal(own.finishes, 1);
    }
    assert_true(at > 5);
  }
}

static void writers_that_are_not_finished_abort(void **state) {
  (void)state;
  static own_sink own;
  nay_sst_write_options how = options_of(0), wrong = {.size = sizeof wrong, .layout = "no-sst"};
  nay_sst_writer *w = NULL;
  own = (own_sink){.fail_at = -1};
  nay_sst_target sink = own_sink_of(&own);
  assert_status(nay_sst_writer_new_target(&sink, &wrong, NULL, NULL, &w), NAY_EINVAL);
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  for (long at = 0;; at++) {
    flaky_arm(&heap, at, false);
    nay_status status = nay_sst_writer_new_target(&sink, &how, &a, NULL, &w);
    if (status == NAY_OK) break;
    assert_status(status, NAY_ENOMEM);
    assert_true(flaky_is_clean(&heap) && own.calls == 0 && own.aborts == 0);
  }
  flaky_arm(&heap, -1, false);
  assert_ok(add_entries(w));
  nay_sst_writer_free(w);
  assert_true(own.aborts == 1 && own.finishes == 0 && flaky_is_clean(&heap));
  sink.write = NULL;
  assert_status(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w), NAY_EINVAL);
  sink.size = 3;
  assert_status(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w), NAY_EINVAL);
  assert_status(nay_sst_writer_new_target(NULL, &how, NULL, NULL, &w), NAY_EINVAL);
}

int main(void) {
  const test_case tests[] = {
      TEST(sinks_take_the_bytes_of_files),
      TEST(sinks_fail_at_every_call),
      TEST(writers_that_are_not_finished_abort),
  };
  return run_all(tests);
}
