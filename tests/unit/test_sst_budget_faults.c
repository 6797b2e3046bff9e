/*
 * test_sst_budget_faults.c - tables whose index and filters are in a cache, and cannot be read
 * again: a read that fails, an allocation that fails, or an index that is damaged once the table is
 * open, is an error and never a nay; a filter is left out and counted.
 */
#include "block/filter_builder.h"
#include "block/metaindex.h"
#include "support/flaky.h"
#include "support/sst_shapes.h"

/* ---- faults ---- */

/* What a call that may have met a fault returned: right, or one of these errors and right when it
 * is asked again. */
static bool excused(nay_status got, const nay_diag *diag) {
  if (got != NAY_EIO && got != NAY_ENOMEM && got != NAY_ECORRUPT) return false;
  assert_non_null(diag->what);
  return true;
}

static void fault_gets(const nay_sst *t) {
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag = {.what = NULL};
  for (unsigned i = 1; i < 2 * N_KEYS; i += 21) {
    char key[32];
    size_t len = number_key(i, key);
    nay_status want = i % 2 == 0 ? NAY_OK : NAY_ENOENT,
               got = nay_sst_get(t, key, len, NAY_SST_NEWEST, &diag, &v);
    if (got != want) {
      assert_true(excused(got, &diag));
      assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, &diag, &v), want);
    }
    if (i % 2 == 0) assert_true(nay_sst_may_contain(t, key, len));
  }
  nay_sst_value_free(&v);
}

static void fault_walk(const nay_sst *t) {
  nay_sst_iter *it;
  unsigned n = 0;
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) return; /* no memory */
  nay_status status = nay_sst_iter_first(it);
  if (status != NAY_OK) {
    assert_true(excused(status, nay_sst_iter_diag(it)));
    status = nay_sst_iter_first(it);
  }
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) n++;
  if (status == NAY_EEND) assert_int_equal(n, N_KEYS);
  if (status != NAY_EEND) assert_true(excused(status, nay_sst_iter_diag(it)));
  nay_sst_iter_free(it);
}

static void fault_rest(const nay_sst *t) {
  nay_diag diag = {.what = NULL};
  nay_sst_lookup *l;
  char text[4][32];
  const void *keys[4];
  size_t lens[4];
  nay_status statuses[4];
  nay_sst_value values[4];
  uint64_t offset;
  nay_status status = nay_sst__approximate_offset(t, "key00000070", 11, &diag, &offset);
  assert_true(status == NAY_OK || excused(status, &diag));
  assert_ok(nay_sst_lookup_new(&(nay_sst_lookup_level){sizeof(nay_sst_lookup_level), &t, 1, false},
                               1, NULL, NULL, NULL, &l));
  for (unsigned i = 0; i < 4; i++) {
    lens[i] = number_key(i * 41, text[i]);
    keys[i] = text[i];
    values[i] = (nay_sst_value){.size = sizeof values[i]};
  }
  status = nay_sst_lookup_get_many(l, keys, lens, 4, NAY_SST_MAX_SEQUENCE, &diag, values, statuses,
                                   NULL);
  assert_true(status == NAY_OK || excused(status, &diag));
  for (unsigned i = 0; status == NAY_OK && i < 4; i++) {
    assert_status(statuses[i], i % 2 == 0 ? NAY_OK : NAY_ENOENT);
  }
  for (unsigned i = 0; i < 4; i++) nay_sst_value_free(&values[i]);
  nay_sst_lookup_free(l);
}

/* Whether the fault was behind the last call. */
static bool with_fault(subject *s, size_t budget, long read, long allocation, nay_status failure) {
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_sst_cache *cache;
  nay_sst *t = NULL;
  assert_ok(nay_sst_cache_new(
      &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budget, budget / 2, true}, &a, NULL,
      &cache));
  s->file = (own_file){.bytes = s->bytes, .len = s->len, .fail_at = read, .failure = failure};
  flaky_arm(&heap, allocation, false);
  nay_status status = subject_open(s, OWN, cache, NAY_SST_BUDGETED, &a, &t);
  if (status == NAY_OK) {
    fault_gets(t);
    fault_walk(t);
    fault_rest(t);
  } else {
    bool is_short = read >= 0 && failure == NAY_OK; /* what is read of the footer may be anything */
    if (!is_short) assert_status(status, read >= 0 ? NAY_EIO : NAY_ENOMEM);
    assert_int_equal(stats_of(cache).filter.bytes, 0);
  }
  nay_sst_free(t);
  nay_sst_cache_free(cache);
  assert_true(flaky_is_clean(&heap));
  return read >= 0 ? s->file.reads <= read : heap.calls <= allocation;
}

static void reads_and_allocations_fail(void **state) {
  (void)state;
  static subject s;
  static const size_t budgets[] = {1, 2500};
  for (unsigned i = 0; i < 2 * N_FILTERS; i++) {
    unsigned filter = i / 2, odd = i % 2;
    subject_make(&s, filter << 4 | 8u | odd << 2 | (odd ^ (filter & 1)));
    for (unsigned b = 0; b < 2; b++) {
      long at = 0;
      while (!with_fault(&s, budgets[b], at, -1, at % 2 == 0 ? NAY_EIO : NAY_ENOENT)) at++;
      assert_true(at > 20);
      for (at = 0; !with_fault(&s, budgets[b], at, -1, NAY_OK);) at++;
      for (at = 0; !with_fault(&s, budgets[b], -1, at, NAY_OK);) at++;
      assert_true(at > 20);
    }
    subject_free(&s);
  }
}

/* A read that falls short and says NAY_OK leaves the end of an earlier block in a buffer that is
 * used again: of another partition of the filter, say, with the same first half. */
static void reads_fall_short(void **state) {
  (void)state;
  static subject s;
  for (unsigned filter = NONE; filter < N_FILTERS; filter++) {
    nay_sst_cache *cache;
    nay_sst *t;
    nay_sst_value v = {.size = sizeof v};
    char key[32];
    subject_make(&s, filter << 4);
    assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1, 0, true},
                                NULL, NULL, &cache));
    assert_ok(subject_open(&s, OWN, cache, NAY_SST_BUDGETED | NAY_SST_PINNED, NULL, &t));
    for (unsigned i = 0; i < N_KEYS * N_KEYS; i += 7) {
      unsigned absent = 2 * (i / N_KEYS) + 1, present = 2 * (i % N_KEYS);
      nay_diag diag = {.what = NULL};
      (void)nay_sst_get(t, key, number_key(absent, key), NAY_SST_NEWEST, NULL, &v);
      s.file.fail_at = s.file.reads;
      nay_status status = nay_sst_get(t, key, number_key(present, key), NAY_SST_NEWEST, &diag, &v);
      assert_true(status == NAY_OK || excused(status, &diag));
      s.file.fail_at = -1;
    }
    nay_sst_value_free(&v);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    subject_free(&s);
  }
}

/* ---- damage behind an open table ---- */

/* Every call that needs the index says where it is damaged. */
static void assert_index_damaged(const nay_sst *t, uint64_t at) {
  nay_sst_value v = {.size = sizeof v};
  nay_diag diag;
  nay_sst_iter *it;
  uint64_t offset;
  char path[TEMP_MAX], key[32];
  for (unsigned i = 0; i < 2 * N_KEYS; i += 7) {
    size_t len = number_key(i, key);
    diag = (nay_diag){.offset = 0};
    nay_status status = nay_sst_get(t, key, len, NAY_SST_NEWEST, &diag, &v);
    if (i % 2 != 0 && status == NAY_ENOENT) continue; /* a filter or the range denied it */
    assert_status(status, NAY_ECORRUPT);
    assert_int_equal(diag.offset, at);
    assert_true(nay_sst_may_contain(t, key, len));
  }
  assert_status(nay_sst__approximate_offset(t, "key00000100", 11, &diag, &offset), NAY_ECORRUPT);
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_status(nay_sst_iter_first(it), NAY_ECORRUPT);
  assert_status(nay_sst_iter_next(it), NAY_ECORRUPT);
  assert_status(nay_sst_iter_last(it), NAY_ECORRUPT);
  assert_status(nay_sst_iter_seek(it, "key00000100", 11), NAY_ECORRUPT);
  assert_status(nay_sst_iter_seek_for_prev(it, "key00000100", 11), NAY_ECORRUPT);
  assert_int_equal(nay_sst_iter_diag(it)->offset, at);
  nay_sst_iter_free(it);
  nay_sst_compact_options how = {.size = sizeof how};
  assert_status(nay_sst_compact(&t, 1, temp_path(path, "no.ldb"), &how, NULL, &diag, NULL),
                NAY_ECORRUPT);
  assert_int_equal(access(path, F_OK), -1);
  nay_sst_value_free(&v);
}

static void the_index_is_damaged_later(void **state) {
  (void)state;
  static subject s;
  for (unsigned i = 0; i < 16 * N_FILTERS; i += 3) {
    nay_sst_cache *cache;
    nay_sst *t;
    subject_make(&s, i);
    nay_handle index = footer_of(&s).index;
    assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1, 0, true},
                                NULL, NULL, &cache));
    assert_ok(subject_open(&s, OWN, cache, NAY_SST_BUDGETED, NULL, &t));
    for (uint64_t at = 0; at < index.size + NAY_BLOCK_TRAILER; at += 11) {
      s.bytes[index.offset + at] ^= 0x10;
      assert_index_damaged(t, index.offset);
      s.bytes[index.offset + at] ^= 0x10;
    }
    assert_same_gets(t, s.want); /* and whole again */
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    subject_free(&s);
  }
}

/* An index that is whole, but of another table: nothing that was checked holds for it. */
static void the_index_is_replaced_later(void **state) {
  (void)state;
  static subject s;
  char path[TEMP_MAX];
  for (unsigned i = 0; i < 16 * N_FILTERS; i += 5) {
    nay_sst_cache *cache;
    nay_sst *t;
    size_t len;
    subject_make(&s, i & ~4u); /* compressed ones are of different sizes */
    shape_make(&s.shape, temp_path(path, "other.ldb"), 1);
    uint8_t *other = sample_read(path, &len);
    nay_handle index = footer_of(&s).index;
    assert_int_equal(len, s.len);
    assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1, 0, true},
                                NULL, NULL, &cache));
    assert_ok(subject_open(&s, OWN, cache, NAY_SST_BUDGETED, NULL, &t));
    size_t n = (size_t)index.size + NAY_BLOCK_TRAILER;
    assert_true(memcmp(s.bytes + index.offset, other + index.offset, n) != 0);
    memcpy(s.bytes + index.offset, other + index.offset, n);
    assert_index_damaged(t, index.offset);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    free(other);
    unlink(path);
    subject_free(&s);
  }
}

/* Any other byte behind the data: filters are left out and counted, and the answers are right. */
static void filters_are_damaged_later(void **state) {
  (void)state;
  static subject s;
  for (unsigned filter = BLOCK; filter < N_FILTERS; filter++) {
    uint64_t faults = 0;
    nay_sst_cache *cache;
    nay_sst *t;
    subject_make(&s, filter << 4);
    nay_footer f = footer_of(&s);
    assert_ok(nay_sst_cache_new(&(nay_sst_cache_options){sizeof(nay_sst_cache_options), 1, 0, true},
                                NULL, NULL, &cache));
    assert_ok(subject_open(&s, OWN, cache, NAY_SST_BUDGETED, NULL, &t));
    for (uint64_t at = f.metaindex.offset - 60; at < f.index.offset; at += 7) {
      s.bytes[at] ^= 0x10;
      fault_gets(t);
      s.bytes[at] ^= 0x10;
    }
    faults = counters_of(t).filter_faults;
    assert_true(faults != 0);
    assert_same_gets(t, s.want);
    assert_int_equal(counters_of(t).filter_faults, faults);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
    subject_free(&s);
  }
}

/* ---- a metaindex that names one block for two parts ---- */

/* The table with another metaindex: a filter and a prefix filter at these. */
static void name_blocks(subject *s, const uint8_t *old, size_t old_len, const char *filter,
                        nay_handle whole, nay_handle prefixes) {
  nay_allocator a = nay__allocator_default();
  nay_block_builder b = {.interval = 1};
  nay_footer f;
  char name[80];
  uint8_t value[NAY_HANDLE_MAX];
  assert_ok(nay_sst__footer_load(old + old_len - NAY_FOOTER, NAY_FOOTER, old_len, NULL, &f));
  assert_ok(nay_sst__block_reset(&b, &a));
  size_t n = nay_sst__handle_store(value, whole);
  assert_ok(nay_sst__block_add(&b, (const uint8_t *)filter, strlen(filter), 0, value, n, &a));
  assert_ok(
      nay_sst__block_add(&b, (const uint8_t *)"nay.keys", 8, 0, (const uint8_t *)"plain", 5, &a));
  n = nay_sst__handle_store(value, prefixes);
  int name_len = snprintf(name, sizeof name, "nay.prefix.%s", prefix.name);
  assert_ok(nay_sst__block_add(&b, (const uint8_t *)name, (size_t)name_len, 0, value, n, &a));
  assert_ok(nay_sst__block_finish(&b, &a));
  uint8_t *p = s->bytes + f.metaindex.offset;
  memcpy(p, b.bytes.at, b.bytes.len);
  nay_sst__block_trailer_store(p + b.bytes.len, 0, b.bytes.at, b.bytes.len);
  p += b.bytes.len + NAY_BLOCK_TRAILER;
  memcpy(p, old + f.index.offset, (size_t)f.index.size + NAY_BLOCK_TRAILER);
  f.metaindex.size = b.bytes.len;
  f.index.offset = (uint64_t)(p - s->bytes);
  p += f.index.size + NAY_BLOCK_TRAILER;
  nay_sst__footer_store(p, &f);
  s->len = s->file.len = (size_t)(p - s->bytes) + NAY_FOOTER;
  nay_sst__block_builder_free(&b, &a);
}

/* The blocks that a metaindex names. */
static nay_status note_block(void *ctx, const nay_meta_entry *e) {
  nay_handle **next = ctx;
  if (e->has_handle && e->kind != NAY_META_IS_KEYS) *(*next)++ = e->block.at;
  return NAY_OK;
}

static void assert_same_by_budget(subject *s) {
  static const size_t budgets[] = {1, 1u << 20};
  nay_sst *want, *t;
  assert_ok(subject_open(s, OWN, NULL, 0, NULL, &want));
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_cache *cache;
    nay_sst_value v = {.size = sizeof v};
    assert_ok(nay_sst_cache_new(
        &(nay_sst_cache_options){sizeof(nay_sst_cache_options), budgets[i], budgets[i], true}, NULL,
        NULL, &cache));
    assert_ok(subject_open(s, OWN, cache, NAY_SST_BUDGETED, NULL, &t));
    assert_same_info(t, want);
    for (unsigned k = 0; k < 2 * N_KEYS; k += 3) {
      char key[32];
      size_t len = number_key(k, key);
      nay_status status = nay_sst_get(want, key, len, NAY_SST_NEWEST, NULL, &v);
      assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v), status);
    }
    nay_sst_value_free(&v);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
  }
  nay_sst_free(want);
}

static void one_block_for_two_parts(void **state) {
  (void)state;
  static const char *const names[] = {"nay.full.test.any", "nay.full." NAY_NATIVE_POLICY,
                                      "nay.partitioned.test.any",
                                      "nay.partitioned." NAY_NATIVE_POLICY};
  static subject s;
  nay_allocator a = nay__allocator_default();
  nay_handle blocks[8] = {{0, 0}}, *next = blocks;
  subject_make(&s, FULL_POLICY << 4 | 8);
  nay_footer f = footer_of(&s);
  nay_bytes meta = {s.bytes + f.metaindex.offset, (size_t)f.metaindex.size};
  assert_ok(nay_sst__metaindex_walk(meta, note_block, &next, &a, NULL));
  assert_int_equal(next - blocks, 2);
  size_t len = s.len;
  uint8_t *old = malloc(len);
  memcpy(old, s.bytes, len);
  for (unsigned i = 0; i < 4 * 4; i++) {
    name_blocks(&s, old, len, names[i / 4], blocks[i / 2 % 2], blocks[i % 2]);
    assert_same_by_budget(&s);
  }
  free(old);
  subject_free(&s);
}

int main(void) {
  const test_case tests[] = {
      TEST(reads_and_allocations_fail), TEST(reads_fall_short),
      TEST(the_index_is_damaged_later), TEST(the_index_is_replaced_later),
      TEST(filters_are_damaged_later),  TEST(one_block_for_two_parts),
  };
  return shapes_init() ? run_all(tests) : 1;
}
