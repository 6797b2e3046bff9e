/*
 * test_compact_sink.c - compactions into sinks: the bytes of files at a path, for one thread and
 * for many; and every sink ends with finish or with abort, whichever call fails, in whatever way.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "nay_sst.h"
#include "support/flaky.h"
#include "support/sst_outputs.h"

/* ---- sinks ---- */

struct bag;

typedef struct bag_sink {
  struct bag *bag;
  uint8_t *bytes;
  size_t len, cap;
  unsigned syncs, finishes, aborts, told;
  bool failed;
} bag_sink;

/* All sinks of a compaction. One struct is given again and again: the library has to copy it. */
typedef struct bag {
  pthread_mutex_t lock;
  unsigned n, refuse_at; /* sinks; next_target returns NULL for this one; 0: never */
  long calls, fail_at;   /* of write, sync and finish, in all sinks; -1: none fails */
  nay_status failure;
  unsigned wrong; /* calls that may not come */
  bag_sink sinks[MOST_OUTPUTS];
  bag_sink *done[MOST_OUTPUTS]; /* in the order of keys */
  unsigned ndone;
  char smallest[MOST_OUTPUTS][32];
  nay_sst_target given;
} bag;

static nay_status bag_call(bag_sink *s, unsigned *count) {
  bag *b = s->bag;
  pthread_mutex_lock(&b->lock);
  b->wrong += s->failed || s->finishes != 0 || s->aborts != 0;
  s->failed = b->calls++ == b->fail_at;
  if (count != NULL) ++*count;
  nay_status status = s->failed ? b->failure : NAY_OK;
  pthread_mutex_unlock(&b->lock);
  return status;
}

static nay_status bag_write(void *ctx, const void *bytes, size_t len, nay_diag *diag) {
  bag_sink *s = ctx;
  (void)diag;
  nay_status status = bag_call(s, NULL);
  if (status != NAY_OK) return status;
  if (len > s->cap - s->len) {
    s->cap = 2 * s->cap + len;
    s->bytes = realloc(s->bytes, s->cap);
    if (s->bytes == NULL) abort();
  }
  memcpy(s->bytes + s->len, bytes, len);
  s->len += len;
  return NAY_OK;
}

static nay_status bag_sync(void *ctx, nay_diag *diag) {
  bag_sink *s = ctx;
  (void)diag;
  return bag_call(s, &s->syncs);
}

static nay_status bag_finish(void *ctx, nay_diag *diag) {
  bag_sink *s = ctx;
  (void)diag;
  return bag_call(s, &s->finishes);
}

static void bag_abort(void *ctx) {
  bag_sink *s = ctx;
  pthread_mutex_lock(&s->bag->lock);
  s->bag->wrong += s->finishes != 0 || s->aborts != 0;
  s->aborts++;
  pthread_mutex_unlock(&s->bag->lock);
}

static const nay_sst_target *bag_next(void *ctx) {
  bag *b = ctx;
  pthread_mutex_lock(&b->lock);
  unsigned i = b->n;
  bool refuse = (b->refuse_at != 0 && i + 1 >= b->refuse_at) || i == MOST_OUTPUTS;
  if (!refuse) {
    b->n++;
    b->sinks[i].bag = b;
    b->given =
        (nay_sst_target){sizeof b->given, bag_write, bag_sync, bag_finish, bag_abort, &b->sinks[i]};
  }
  pthread_mutex_unlock(&b->lock);
  return refuse ? NULL : &b->given;
}

static void bag_done(void *ctx, const nay_sst_output *o) {
  bag *b = ctx;
  bag_sink *s = o->target != NULL ? o->target->ctx : NULL;
  unsigned at = b->ndone++;
  pthread_mutex_lock(&b->lock); /* sinks of other threads write meanwhile */
  b->wrong += o->path != NULL || s == NULL || s->finishes != 1 || s->told++ != 0;
  b->wrong += s == NULL || o->nbytes != s->len;
  pthread_mutex_unlock(&b->lock);
  for (; at > 0 && memcmp(b->smallest[at - 1], o->smallest, o->smallest_len) > 0; at--) {
    b->done[at] = b->done[at - 1];
    memcpy(b->smallest[at], b->smallest[at - 1], sizeof b->smallest[at]);
  }
  memset(b->smallest[at], 0, sizeof b->smallest[at]);
  memcpy(b->smallest[at], o->smallest, o->smallest_len);
  b->done[at] = s;
}

static void bag_start(bag *b, long fail_at, nay_status failure) {
  *b = (bag){.fail_at = fail_at, .failure = failure};
  pthread_mutex_init(&b->lock, NULL);
}

static nay_sst_outputs outputs_into(bag *b) {
  return (nay_sst_outputs){
      .size = sizeof(nay_sst_outputs), .done = bag_done, .ctx = b, .next_target = bag_next};
}

/* Every sink has ended once, and those that were finished were told. */
static void bag_end(bag *b) {
  assert_int_equal(b->wrong, 0);
  unsigned told = 0;
  for (unsigned i = 0; i < b->n; i++) {
    const bag_sink *s = &b->sinks[i];
    assert_int_equal(s->finishes + s->aborts, 1);
    assert_int_equal(s->told, s->finishes == 1 && !s->failed);
    told += s->told;
    free(b->sinks[i].bytes);
  }
  assert_int_equal(told, b->ndone);
  pthread_mutex_destroy(&b->lock);
}

/* ---- bytes ---- */

static nay_sst_compact_options shape_of(unsigned i, nay_sst_write_options *write) {
  static const nay_sst_filter_layout filters[] = {NAY_SST_NO_FILTER, NAY_SST_FULL_FILTER,
                                                  NAY_SST_PARTITIONED_FILTER};
  static const uint64_t snapshots[] = {700, 2000};
  *write = internal_keys;
  write->filter = filters[i % 3];
  write->codec = i & 1 ? &snappy_codec : NULL;
  write->properties = i % 5 == 0;
  write->no_sync = i % 4 == 0;
  return (nay_sst_compact_options){.size = sizeof(nay_sst_compact_options),
                                   .write = write,
                                   .bottom = i & 2,
                                   .snapshots = snapshots,
                                   .nsnapshots = i % 3,
                                   .target_bytes = i % 7 == 0 ? 0 : 1500 + 700 * (i % 5),
                                   .threads = 1 + i % 4};
}

static void sinks_take_the_bytes_of_files(void **state) {
  (void)state;
  history h;
  inputs in;
  static outputs out;
  static bag b;
  unsigned several = 0;
  history_make(&h, 5);
  inputs_make(&h, &in);
  for (unsigned i = 0; i < 40; i++) {
    nay_sst_write_options write;
    nay_sst_compact_options how = shape_of(i, &write);
    nay_sst_compact_stats a = {.size = sizeof a}, c = {.size = sizeof c};
    out = (outputs){.n = 0};
    nay_sst_outputs files = outputs_of(&out), sinks = outputs_into(&b);
    bag_start(&b, -1, NAY_OK);
    assert_ok(nay_sst_compact_to(in.at, N_TABLES, &files, &how, NULL, NULL, &a));
    assert_ok(nay_sst_compact_to(in.at, N_TABLES, &sinks, &how, NULL, NULL, &c));
    assert_true(a.written == c.written && a.bytes_written == c.bytes_written);
    assert_int_equal(b.ndone, out.n);
    several += out.n > 3;
    for (unsigned k = 0; k < out.n; k++) {
      size_t len;
      uint8_t *bytes = sample_read(out.done[k].path, &len);
      assert_int_equal(len, b.done[k]->len);
      assert_memory_equal(bytes, b.done[k]->bytes, len);
      assert_int_equal(b.done[k]->syncs, !write.no_sync);
      free(bytes);
    }
    bag_end(&b);
    outputs_remove(&out);
  }
  assert_true(several > 10);
  inputs_free(&in);
}

/* Own reads, memory between, a descriptor in the end: no path anywhere. */
static const nay_sst_target *next_given(void *ctx) { return ctx; }

static void without_a_path(void **state) {
  (void)state;
  char path[TEMP_MAX];
  size_t len;
  nay_sst_memory *first, *second;
  nay_sst_writer *w;
  nay_sst *t;
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_outputs to = {.size = sizeof to, .ctx = &sink, .next_target = next_given};
  assert_ok(nay_sst_memory_new(NULL, &first));
  assert_ok(nay_sst_memory_new(NULL, &second));
  assert_ok(nay_sst_memory_target(first, &sink));
  assert_ok(nay_sst_writer_new_target(&sink, NULL, NULL, NULL, &w));
  assert_ok(nay_sst_writer_add(w, "a", 1, "1", 1, NULL));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  const void *bytes = nay_sst_memory_bytes(first, &len);
  assert_ok(nay_sst_view(bytes, len, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_memory_target(second, &sink));
  assert_ok(nay_sst_compact_to((const nay_sst *const[]){t}, 1, &to, NULL, NULL, NULL, NULL));
  size_t n;
  const void *compacted = nay_sst_memory_bytes(second, &n);
  assert_int_equal(n, len);
  assert_memory_equal(compacted, bytes, len);
  int fd = open(temp_path(path, "sink.ldb"), O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_ok(nay_sst_target_descriptor(fd, &sink));
  assert_ok(nay_sst_compact_to((const nay_sst *const[]){t}, 1, &to, NULL, NULL, NULL, NULL));
  assert_int_equal(lseek(fd, 0, SEEK_END), (off_t)len);
  close(fd);
  unlink(path);
  nay_sst_free(t);
  nay_sst_memory_free(first);
  nay_sst_memory_free(second);
}

/* ---- faults ---- */

/* What the library makes of a status of the caller's. */
static nay_status wanted_of(nay_status failure) {
  return failure == NAY_ENOMEM || failure == NAY_ECORRUPT ? failure : NAY_EIO;
}

static void each_call_fails_in_every_way(void **state) {
  (void)state;
  static const nay_status failures[] = {NAY_EIO,    NAY_ENOMEM, NAY_ECORRUPT,  NAY_ENOENT,
                                        NAY_EINVAL, NAY_EFULL,  NAY_ECANCELED, (nay_status)99};
  history h;
  inputs in;
  static bag b;
  history_make(&h, 6);
  inputs_make(&h, &in);
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    bool done = false;
    for (long at = 0; !done; at++) {
      nay_status failure = failures[(size_t)at % (sizeof failures / sizeof *failures)];
      nay_sst_compact_options how = {sizeof how, .write = &internal_keys, .target_bytes = 600,
                                     .threads = threads};
      nay_diag diag = {.what = NULL};
      bag_start(&b, at, failure);
      nay_sst_outputs to = outputs_into(&b);
      nay_status status = nay_sst_compact_to(in.at, N_TABLES, &to, &how, NULL, &diag, NULL);
      done = b.calls <= at;
      assert_status(status, done ? NAY_OK : wanted_of(failure));
      if (!done) assert_non_null(diag.what);
      if (done) assert_true(at > 10 && b.ndone > 4);
      bag_end(&b);
    }
  }
  inputs_free(&in);
}

static void next_sink_has_none(void **state) {
  (void)state;
  history h;
  inputs in;
  static bag b;
  history_make(&h, 7);
  inputs_make(&h, &in);
  for (unsigned i = 1; i < 8; i++) {
    nay_sst_compact_options how = {sizeof how, .write = &internal_keys, .target_bytes = 400,
                                   .threads = 1 + i % 3};
    bag_start(&b, -1, NAY_OK);
    b.refuse_at = i;
    nay_sst_outputs to = outputs_into(&b);
    assert_status(nay_sst_compact_to(in.at, N_TABLES, &to, &how, NULL, NULL, NULL), NAY_ECANCELED);
    assert_int_equal(b.n, i - 1);
    bag_end(&b);
  }
  inputs_free(&in);
}

static void allocations_fail(void **state) {
  (void)state;
  history h;
  inputs in;
  static bag b;
  bool done = false;
  history_make(&h, 8);
  inputs_make(&h, &in);
  for (long at = 0; !done; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_compact_options how = {sizeof how, .write = &internal_keys, .target_bytes = 20000};
    bag_start(&b, -1, NAY_OK);
    nay_sst_outputs to = outputs_into(&b);
    nay_status status = nay_sst_compact_to(in.at, N_TABLES, &to, &how, &a, NULL, NULL);
    done = heap.calls <= at;
    assert_true(status == NAY_OK || status == NAY_ENOMEM);
    bag_end(&b);
    assert_true(flaky_is_clean(&heap));
  }
  inputs_free(&in);
}

/* ---- cancelled ---- */

#define N_MANY 30000u

static nay_status cancel_after(void *ctx, const nay_sst_compact_stats *so_far) {
  (void)so_far;
  return atomic_fetch_add((atomic_uint *)ctx, 1) < 2 ? NAY_OK : NAY_ECANCELED;
}

static void progress_cancels(void **state) {
  (void)state;
  char path[TEMP_MAX], value[60] = {0};
  nay_sst_writer *w;
  static bag b;
  assert_ok(nay_sst_writer_new(temp_path(path, "many.ldb"), NULL, NULL, NULL, &w));
  for (unsigned i = 0; i < N_MANY; i++) {
    char key[32];
    assert_ok(nay_sst_writer_add(w, key, number_key(i, key), value, sizeof value, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t = open_table(path, NULL);
  for (unsigned threads = 1; threads <= 4; threads++) {
    atomic_uint reports = 0;
    nay_sst_compact_options how = {.size = sizeof how,
                                   .target_bytes = 100000,
                                   .range_bytes = 600000,
                                   .threads = threads,
                                   .progress = cancel_after,
                                   .progress_ctx = &reports};
    bag_start(&b, -1, NAY_OK);
    nay_sst_outputs to = outputs_into(&b);
    assert_status(nay_sst_compact_to((const nay_sst *const[]){t}, 1, &to, &how, NULL, NULL, NULL),
                  NAY_ECANCELED);
    unsigned aborts = 0;
    for (unsigned i = 0; i < b.n; i++) aborts += b.sinks[i].aborts;
    assert_true(aborts != 0 && aborts <= threads);
    bag_end(&b);
  }
  nay_sst_free(t);
  unlink(path);
}

/* ---- refused ---- */

static unsigned refused_aborts;

static void count_abort(void *ctx) {
  (void)ctx;
  refused_aborts++;
}

static void refused(void **state) {
  (void)state;
  char path[TEMP_MAX];
  static bag b;
  nay_diag diag = {.what = NULL};
  write_even(temp_path(path, "refused.ldb"), NULL, 10);
  nay_sst *t = open_table(path, NULL);
  const nay_sst *one[] = {t};
  nay_sst_target sink = {.size = sizeof sink, .abort = count_abort};
  nay_sst_outputs to = {.size = sizeof to}, both = outputs_into(&b);
  assert_status(nay_sst_compact_to(one, 1, &to, NULL, NULL, &diag, NULL), NAY_EINVAL);
  assert_non_null(diag.what);
  both.next = outputs_next;
  assert_status(nay_sst_compact_to(one, 1, &both, NULL, NULL, NULL, NULL), NAY_EINVAL);
  to.ctx = &sink;
  to.next_target = next_given;
  diag.what = NULL;
  assert_status(nay_sst_compact_to(one, 1, &to, NULL, NULL, &diag, NULL), NAY_EINVAL);
  assert_non_null(diag.what);
  assert_int_equal(refused_aborts, 1); /* without write; but it was given */
  sink.size = 3;
  assert_status(nay_sst_compact_to(one, 1, &to, NULL, NULL, &diag, NULL), NAY_EINVAL);
  assert_int_equal(refused_aborts, 1); /* nothing in it can be trusted */
  nay_sst_free(t);
  unlink(path);
}

int main(void) {
  const test_case tests[] = {
      TEST(sinks_take_the_bytes_of_files),
      TEST(without_a_path),
      TEST(each_call_fails_in_every_way),
      TEST(next_sink_has_none),
      TEST(allocations_fail),
      TEST(progress_cancels),
      TEST(refused),
  };
  return run_all(tests);
}
