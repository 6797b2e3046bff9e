/*
 * sst_sample.h - random tables for tests: entries in order, the same for the same seed, and what
 * must hold of every table that was made of them.
 */
#ifndef NAY_TEST_SST_SAMPLE_H
#define NAY_TEST_SST_SAMPLE_H

#include <sys/stat.h>

#include "nay_sst_iter.h"
#include "support/temp.h"
#include "support/test.h"
#include "table/write_options.h"

#define SAMPLE_KEY_MAX 48

typedef struct sample_entry {
  uint8_t key[SAMPLE_KEY_MAX];
  size_t len;
  const uint8_t *value;
  size_t value_len;
} sample_entry;

typedef struct sample {
  sample_entry *entries;
  size_t n, cap;
  uint8_t *pool; /* values are parts of it */
  size_t pool_len;
  uint64_t state;
  const nay_sst_comparator *order; /* NULL: bytewise */
} sample;

static inline uint64_t sample_draw(sample *s, uint64_t below) {
  s->state += 0x9e3779b97f4a7c15u;
  return nay_hash_mix(s->state) % below;
}

/* Keys of few letters share prefixes; of all bytes, they do not; decimal ones are like users'. */
static inline size_t sample_key(sample *s, unsigned style, uint8_t *key) {
  size_t len = sample_draw(s, style == 0 ? 12 : 33);
  if (style == 2) {
    return (size_t)snprintf((char *)key, SAMPLE_KEY_MAX, "user/%02u/%06u",
                            (unsigned)sample_draw(s, 40), (unsigned)sample_draw(s, 1000000));
  }
  for (size_t i = 0; i < len; i++) {
    key[i] = style == 0 ? (uint8_t)('a' + sample_draw(s, 3)) : (uint8_t)sample_draw(s, 256);
  }
  return len;
}

static inline int sample_compare(const void *a, const void *b) {
  const sample_entry *x = a, *y = b;
  size_t n = x->len < y->len ? x->len : y->len;
  int order = n == 0 ? 0 : memcmp(x->key, y->key, n);
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* sample_order: in the order of the sample. */
static inline int sample_order(const sample *s, const sample_entry *x, const sample_entry *y) {
  if (s->order == NULL) return sample_compare(x, y);
  return s->order->compare(s->order->ctx, x->key, x->len, y->key, y->len);
}

/* sample_sort: insertion, as qsort has no context. */
static inline void sample_sort(sample *s) {
  for (size_t i = 1; i < s->n; i++) {
    sample_entry e = s->entries[i];
    size_t at = i;
    for (; at > 0 && sample_order(s, &s->entries[at - 1], &e) > 0; at--) {
      s->entries[at] = s->entries[at - 1];
    }
    s->entries[at] = e;
  }
}

static inline void sample_init(sample *s, size_t cap) {
  *s = (sample){.entries = malloc(cap * sizeof *s->entries), .cap = cap, .pool_len = 1 << 16};
  s->pool = malloc(s->pool_len);
  assert_true(s->entries != NULL && s->pool != NULL);
  for (size_t i = 0; i < s->pool_len; i++) { /* half of it repeats, for the codec */
    s->pool[i] = i % 256 < 128 ? (uint8_t)('a' + i % 13) : (uint8_t)nay_hash_mix(i);
  }
}

static inline void sample_free(sample *s) {
  free(s->entries);
  free(s->pool);
}

/* sample_fill: up to `most` entries, by number of the sample. */
static inline void sample_fill(sample *s, uint64_t seed, size_t most) {
  s->state = nay_hash_mix(seed);
  if (most > s->cap) most = s->cap;
  size_t n = sample_draw(s, sample_draw(s, 3) == 0 ? 21 : most + 1), kept = 0;
  if (n > most) n = most;
  unsigned style = (unsigned)sample_draw(s, 3);
  size_t longest = (size_t)1 << sample_draw(s, 12);
  for (size_t i = 0; i < n; i++) {
    sample_entry *e = &s->entries[i];
    e->len = sample_key(s, style, e->key);
    e->value_len = sample_draw(s, longest);
    e->value = s->pool + sample_draw(s, s->pool_len - e->value_len);
  }
  if (n != 0) qsort(s->entries, n, sizeof *s->entries, sample_compare);
  s->n = n;
  if (s->order != NULL) sample_sort(s);
  for (size_t i = 0; i < n; i++) { /* one of those that are equal */
    if (kept != 0 && sample_order(s, &s->entries[kept - 1], &s->entries[i]) == 0) continue;
    s->entries[kept++] = s->entries[i];
  }
  s->n = kept;
}

/* sample_lower: the first entry that is not below a key. */
static inline size_t sample_lower(const sample *s, const uint8_t *key, size_t len) {
  sample_entry probe = {.len = len};
  size_t low = 0, high = s->n;
  memcpy(probe.key, key, len);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (sample_order(s, &s->entries[middle], &probe) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static inline void sample_write(const sample *s, const char *path,
                                const nay_sst_write_options *options) {
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(path, options, NULL, NULL, &w));
  for (size_t i = 0; i < s->n; i++) {
    const sample_entry *e = &s->entries[i];
    assert_ok(nay_sst_writer_add(w, e->key, e->len, e->value, e->value_len, NULL));
  }
  assert_int_equal(nay_sst__writer_count(w), s->n);
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* sample_read: a whole file, exactly as long. */
static inline uint8_t *sample_read(const char *path, size_t *len) {
  struct stat st;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(stat(path, &st), 0);
  uint8_t *bytes = malloc((size_t)st.st_size + 1);
  assert_non_null(bytes);
  *len = fread(bytes, 1, (size_t)st.st_size, file);
  assert_int_equal(*len, st.st_size);
  fclose(file);
  return bytes;
}

/* sample_bytes: the table as bytes, by way of a file that is gone afterwards. */
static inline uint8_t *sample_bytes(const sample *s, const nay_sst_write_options *options,
                                    size_t *len) {
  char path[TEMP_MAX];
  temp_path(path, "sample.ldb");
  sample_write(s, path, options);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

/* sample_copy_table: every entry of a table, written again; how many there were. */
static inline size_t sample_copy_table(const nay_sst *t, const char *path,
                                       const nay_sst_write_options *how) {
  nay_sst_iter *it;
  nay_sst_writer *w;
  size_t n = 0, len, value_len;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  assert_ok(nay_sst_writer_new(path, how, NULL, NULL, &w));
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it), n++) {
    const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
    assert_ok(nay_sst_writer_add(w, key, len, value, value_len, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_iter_free(it);
  return n;
}

/* sample_same_file: two files have the same bytes. */
static inline void sample_same_file(const char *a, const char *b) {
  size_t len, other_len;
  uint8_t *bytes = sample_read(a, &len), *other = sample_read(b, &other_len);
  assert_int_equal(len, other_len);
  assert_memory_equal(bytes, other, len);
  free(bytes);
  free(other);
}

static inline void sample_assert_entry(const nay_sst_iter *it, const sample_entry *e) {
  size_t len, value_len;
  const void *key = nay_sst_iter_key(it, &len), *value = nay_sst_iter_value(it, &value_len);
  assert_int_equal(len, e->len);
  assert_memory_equal(key, e->key, len);
  assert_int_equal(value_len, e->value_len);
  assert_memory_equal(value, e->value, value_len);
}

/* sample_check_iter: both directions, and seeks. */
static inline void sample_check_iter(sample *s, const nay_sst *t) {
  nay_sst_iter *it;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  nay_status status = nay_sst_iter_first(it);
  for (size_t i = 0; i < s->n; i++, status = nay_sst_iter_next(it)) {
    assert_ok(status);
    sample_assert_entry(it, &s->entries[i]);
  }
  assert_status(status, NAY_EEND);
  status = nay_sst_iter_last(it);
  for (size_t i = s->n; i-- > 0; status = nay_sst_iter_prev(it)) {
    assert_ok(status);
    sample_assert_entry(it, &s->entries[i]);
  }
  assert_status(status, NAY_EEND);
  for (int i = 0; i < 20; i++) {
    uint8_t key[SAMPLE_KEY_MAX];
    size_t len = sample_key(s, (unsigned)sample_draw(s, 3), key), want = sample_lower(s, key, len);
    assert_status(nay_sst_iter_seek(it, key, len), want == s->n ? NAY_EEND : NAY_OK);
    if (want != s->n) sample_assert_entry(it, &s->entries[want]);
  }
  nay_sst_iter_free(it);
}

/* sample_check_gets: every key has its value, and random keys answer as they should. */
static inline void sample_check_gets(sample *s, const nay_sst *t) {
  nay_sst_value v = {.size = sizeof v};
  for (size_t i = 0; i < s->n; i++) {
    const sample_entry *e = &s->entries[i];
    assert_ok(nay_sst_get(t, e->key, e->len, NAY_SST_NEWEST, NULL, &v));
    assert_int_equal(v.len, e->value_len);
    assert_memory_equal(v.bytes, e->value, v.len);
    assert_true(nay_sst_may_contain(t, e->key, e->len));
  }
  for (int i = 0; i < 40; i++) {
    uint8_t key[SAMPLE_KEY_MAX];
    size_t len = sample_key(s, (unsigned)sample_draw(s, 3), key), at = sample_lower(s, key, len);
    sample_entry probe = {.len = len};
    memcpy(probe.key, key, len);
    bool there = at < s->n && sample_order(s, &s->entries[at], &probe) == 0;
    assert_status(nay_sst_get(t, key, len, NAY_SST_NEWEST, NULL, &v), there ? NAY_OK : NAY_ENOENT);
  }
  nay_sst_value_free(&v);
}

#endif /* NAY_TEST_SST_SAMPLE_H */
