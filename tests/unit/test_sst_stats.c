/*
 * test_sst_stats.c - the properties of tables are what a walk counts, in every shape of table;
 * damage to them is an error, never a wrong answer; approximate offsets follow the keys.
 */
#include "nay_sst.h"
#include "support/flaky.h"
#include "support/sst_calls.h"
#include "support/sst_sample.h"
#include "support/sst_seal.h"
#include "table/table.h"

#define MAX_ENTRIES 300u

typedef struct model {
  nay_sst_properties p;
  uint8_t smallest[SAMPLE_KEY_MAX], largest[SAMPLE_KEY_MAX];
} model;

/* Adds an entry to the writer and to the model. */
static void add(nay_sst_writer *w, model *m, const sample_entry *e, bool internal,
                uint64_t sequence, unsigned type) {
  nay_sst_properties *p = &m->p;
  if (!internal) {
    assert_ok(nay_sst_writer_add(w, e->key, e->len, e->value, e->value_len, NULL));
  } else {
    nay_sst_entry v = {sizeof v,
                       e->key,
                       e->len,
                       sequence,
                       type == 0   ? NAY_SST_DELETE
                       : type == 2 ? NAY_SST_MERGE
                                   : NAY_SST_PUT,
                       0};
    assert_ok(nay_sst_writer_add_entry(w, &v, e->value, e->value_len, NULL));
    /* a key that is refused counts nothing */
    assert_status(nay_sst_writer_add_entry(w, &v, e->value, e->value_len, NULL), NAY_EINVAL);
    p->ndeletions += type == 0;
    p->nmerges += type == 2;
    if (p->nentries == 0 || sequence < p->smallest_sequence) p->smallest_sequence = sequence;
    if (sequence > p->largest_sequence) p->largest_sequence = sequence;
  }
  if (p->nentries++ == 0) {
    memcpy(m->smallest, e->key, e->len);
    p->smallest_len = e->len;
  }
  memcpy(m->largest, e->key, e->len);
  p->largest_len = e->len;
  p->key_bytes += e->len + (internal ? 8 : 0);
  p->value_bytes += e->value_len;
}

static void write_model(sample *s, const char *path, const nay_sst_write_options *how, model *m) {
  nay_sst_writer *w;
  bool internal = how->keys == NAY_SST_KEYS_INTERNAL;
  *m = (model){.p = {.size = sizeof m->p}};
  assert_ok(nay_sst_writer_new(path, how, NULL, NULL, &w));
  for (size_t i = 0; i < s->n; i++) {
    for (uint64_t version = internal ? 1 + sample_draw(s, 3) : 1; version > 0; version--) {
      uint64_t sequence = 100 * version + sample_draw(s, 100);
      add(w, m, &s->entries[i], internal, sequence, (unsigned)sample_draw(s, 3));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static void check_model(const nay_sst *t, const model *m) {
  nay_sst_properties p = {.size = sizeof p};
  assert_true(table_states(t, &p));
  assert_int_equal(p.nentries, m->p.nentries);
  assert_int_equal(p.ndeletions, m->p.ndeletions);
  assert_int_equal(p.nmerges, m->p.nmerges);
  assert_int_equal(p.key_bytes, m->p.key_bytes);
  assert_int_equal(p.value_bytes, m->p.value_bytes);
  assert_int_equal(p.smallest_sequence, m->p.smallest_sequence);
  assert_int_equal(p.largest_sequence, m->p.largest_sequence);
  assert_int_equal(p.smallest == NULL, m->p.nentries == 0);
  assert_int_equal(p.largest == NULL, m->p.nentries == 0);
  assert_int_equal(p.smallest_len, m->p.smallest_len);
  assert_int_equal(p.largest_len, m->p.largest_len);
  assert_memory_equal(p.smallest, m->smallest, p.smallest_len);
  assert_memory_equal(p.largest, m->largest, p.largest_len);
}

/* Offsets ascend with the keys, from 0 to behind the data; no block is read for them. */
static void check_offsets(const sample *s, const nay_sst *t) {
  uint64_t last = 0, offset;
  nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(t, &info);
  table_counts(t, &before);
  for (size_t i = 0; i < s->n; i++) {
    assert_ok(nay_sst__approximate_offset(t, s->entries[i].key, s->entries[i].len, NULL, &offset));
    if (i == 0) assert_int_equal(offset, 0);
    assert_true(offset >= last && offset < info.nbytes);
    last = offset;
  }
  table_counts(t, &after);
  assert_int_equal(before.block_reads, after.block_reads);
  assert_int_equal(before.gets, after.gets);
}

static void properties_are_what_was_written(void **state) {
  (void)state;
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  char path[TEMP_MAX];
  temp_path(path, "stats.ldb");
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (unsigned seed = 0; seed < TEST_SCALE(200); seed++) {
    model m;
    nay_sst *t;
    bool ordered = seed % 5 == 0;
    s.order = ordered ? &reverse : NULL;
    sample_fill(&s, seed, seed % 7 == 0 ? 0 : MAX_ENTRIES);
    nay_sst_write_options how = {sizeof how,
                                 .keys = seed % 2 ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                                 .block_bytes = 1 + (uint32_t)sample_draw(&s, 2000),
                                 .filter = seed % 3 ? NAY_SST_FULL_FILTER : NAY_SST_NO_FILTER,
                                 .comparator = s.order,
                                 .properties = true};
    write_model(&s, path, &how, &m);
    for (uint32_t flags = 0; flags <= NAY_SST_PREAD; flags += NAY_SST_PREAD) {
      nay_sst_read_options read = {sizeof read, .flags = flags, .comparator = s.order};
      assert_ok(nay_sst_open(path, &read, NULL, NULL, &t));
      check_model(t, &m);
      check_offsets(&s, t);
      nay_sst_free(t);
    }
  }
  unlink(path);
  sample_free(&s);
}

static void other_tables_state_none(void **state) {
  (void)state;
  nay_sst_comparator reverse = {.size = sizeof reverse};
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  sample s;
  sample_init(&s, MAX_ENTRIES);
  for (unsigned i = 0; i < 2; i++) { /* with a comparator there is a block, without counts */
    nay_sst_write_options how = {sizeof how, .comparator = i ? &reverse : NULL};
    nay_sst_read_options read = {sizeof read, .comparator = how.comparator};
    nay_sst_properties p = {.size = sizeof p, .nentries = 77};
    size_t len;
    nay_sst *t;
    s.order = how.comparator;
    sample_fill(&s, 3, MAX_ENTRIES);
    uint8_t *bytes = sample_bytes(&s, &how, &len);
    assert_ok(nay_sst_view(bytes, len, &read, NULL, NULL, &t));
    assert_false(table_states(t, &p));
    assert_int_equal(p.nentries, 77); /* unchanged */
    assert_status(nay_sst_stats(t, NULL), NAY_EINVAL);
    assert_status(nay_sst_stats(NULL, &(nay_sst_info){.size = sizeof(nay_sst_info)}), NAY_EINVAL);
    uint64_t offset = 5;
    assert_status(nay_sst__approximate_offset(t, NULL, 1, NULL, &offset), NAY_EINVAL);
    assert_status(nay_sst__approximate_offset(NULL, "", 0, NULL, &offset), NAY_EINVAL);
    assert_int_equal(offset, 5);
    nay_sst_free(t);
    free(bytes);
  }
  sample_free(&s);
}

/* The data behind the table is the same, whatever became of its properties. */
static void check_damaged(sample *s, const uint8_t *bytes, size_t len) {
  nay_sst *t;
  nay_diag diag = {.what = NULL};
  nay_status status = nay_sst_view(bytes, len, NULL, NULL, &diag, &t);
  if (status != NAY_OK) {
    assert_true(status == NAY_ECORRUPT || status == NAY_EMISMATCH || status == NAY_ENOTSUP);
    assert_non_null(diag.what);
    return;
  }
  nay_sst_properties p = {.size = sizeof p};
  if (table_states(t, &p)) {
    assert_true(p.ndeletions <= p.nentries && p.smallest_sequence <= p.largest_sequence);
    assert_int_equal(p.nentries != 0, p.smallest != NULL);
    unsigned sum = 0;
    for (size_t i = 0; i < p.smallest_len; i++) sum += ((const uint8_t *)p.smallest)[i];
    for (size_t i = 0; i < p.largest_len; i++) sum += ((const uint8_t *)p.largest)[i];
    assert_true(sum < UINT32_MAX);
  }
  nay_sst_value v = {.size = sizeof v};
  for (size_t i = 0; i < s->n; i++) {
    assert_ok(nay_sst_get(t, s->entries[i].key, s->entries[i].len, NAY_SST_NEWEST, NULL, &v));
  }
  nay_sst_value_free(&v);
  nay_sst_free(t);
}

static void every_flipped_bit(void **state) {
  (void)state;
  sample s;
  size_t len;
  nay_sst_write_options how = {sizeof how, .properties = true};
  sample_init(&s, 8);
  for (uint64_t seed = 0; s.n < 4; seed++) sample_fill(&s, seed, 8);
  uint8_t *bytes = sample_bytes(&s, &how, &len), *copy = malloc(len);
  nay_footer f;
  uint64_t from = 0;
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  for (size_t i = 0; i + 13 < len; i++) { /* its first name */
    if (memcmp(bytes + i, "nay.entries", 11) == 0) from = i - 3;
  }
  assert_true(from != 0 && from < f.metaindex.offset);
  for (uint64_t bit = from * 8; bit < f.metaindex.offset * 8; bit++) {
    memcpy(copy, bytes, len);
    copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    nay_sst *t;
    assert_status(nay_sst_view(copy, len, NULL, NULL, NULL, &t), NAY_ECORRUPT);
    seal_table(copy, len); /* and with a checksum that fits */
    check_damaged(&s, copy, len);
  }
  uint64_t end = f.metaindex.offset + f.metaindex.size;
  for (uint64_t bit = f.metaindex.offset * 8; bit < end * 8; bit++) {
    nay_sst *t;
    memcpy(copy, bytes, len);
    copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_status(nay_sst_view(copy, len, NULL, NULL, NULL, &t), NAY_ECORRUPT);
  }
  free(copy);
  free(bytes);
  sample_free(&s);
}

/* Each allocation of writing, opening and asking fails once. */
static void failing_allocations(void **state) {
  (void)state;
  char path[TEMP_MAX];
  temp_path(path, "stats-flaky.ldb");
  nay_sst_write_options how = {sizeof how, .properties = true};
  nay_sst_read_options read = {sizeof read, .flags = NAY_SST_PREAD};
  bool done = false;
  for (long at = 0; !done; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    nay_sst_writer *w = NULL;
    nay_sst *t = NULL;
    unlink(path);
    nay_status status = nay_sst_writer_new(path, &how, &a, NULL, &w);
    if (status == NAY_OK) status = nay_sst_writer_add(w, "key", 3, "value", 5, NULL);
    if (status == NAY_OK) status = nay_sst_writer_add(w, "lock", 4, "value", 5, NULL);
    if (status == NAY_OK) status = nay_sst_writer_finish(w, NULL);
    nay_sst_writer_free(w);
    if (status != NAY_OK) assert_int_equal(access(path, F_OK), -1);
    if (status == NAY_OK) status = nay_sst_open(path, &read, &a, NULL, &t);
    if (status == NAY_OK) {
      nay_sst_properties p = {.size = sizeof p};
      assert_true(table_states(t, &p));
      assert_int_equal(p.nentries, 2);
      assert_int_equal(p.largest_len, 4);
    } else {
      assert_status(status, NAY_ENOMEM);
    }
    nay_sst_free(t);
    assert_true(flaky_is_clean(&heap));
    done = heap.calls <= at;
  }
  unlink(path);
}

int main(void) {
  const test_case tests[] = {
      TEST(properties_are_what_was_written),
      TEST(other_tables_state_none),
      TEST(every_flipped_bit),
      TEST(failing_allocations),
  };
  return run_all(tests);
}
