/*
 * test_engine_comparator.c - tables in other orders than bytewise, against the real LevelDB with
 * the same comparators: data, filters and index have the same bytes, and each reads what the other
 * wrote.
 */
#include "check_theirs.h"
#include "nay_table_filters.h"
#include "support/snappy_codec.h"

#define N_TABLES 1000
#define MAX_ENTRIES 300

/* LevelDB's side is Numeric in engine_table.cc. */
static int numeric_compare(const nay_sst_comparator *self, const void *a, size_t a_len,
                           const void *b, size_t b_len) {
  (void)self;
  if (a_len != b_len) return a_len < b_len ? -1 : 1;
  return a_len == 0 ? 0 : memcmp(a, b, a_len);
}

static nay_sst_comparator comparator_of(engine_comparator order) {
  nay_sst_comparator c = {.size = sizeof c};
  if (order == ENGINE_REVERSE) {
    assert_ok(nay_sst_comparator_reverse(&c));
  } else if (order == ENGINE_PREFIX) {
    assert_ok(nay_sst_comparator_prefix(3, &c));
  } else {
    c = (nay_sst_comparator){sizeof c, .name = "test.numeric", .compare = numeric_compare};
  }
  return c;
}

static engine_table_options draw_options(sample *s, engine_comparator order) {
  const size_t sizes[] = {1, 60, 300, 1024, 4096};
  return (engine_table_options){.block_bytes = sizes[sample_draw(s, 5)],
                                .restart_interval = 1 + (int)sample_draw(s, 20),
                                .snappy = sample_draw(s, 2) == 0,
                                .filter_bits = (int)sample_draw(s, 3) * 6,
                                .comparator = order};
}

static uint8_t *build_theirs(const sample *s, const engine_table_options *o, size_t *len) {
  static engine_slice keys[MAX_ENTRIES], values[MAX_ENTRIES];
  for (size_t i = 0; i < s->n; i++) {
    keys[i] = (engine_slice){s->entries[i].key, s->entries[i].len};
    values[i] = (engine_slice){s->entries[i].value, s->entries[i].value_len};
  }
  uint8_t *bytes = engine_table_build(o, keys, values, s->n, len);
  assert_non_null(bytes);
  return bytes;
}

static nay_sst_write_options ours_of(const engine_table_options *o, const nay_policy *policy,
                                     const nay_sst_comparator *order) {
  return (nay_sst_write_options){
      .size = sizeof(nay_sst_write_options),
      .block_bytes = (uint32_t)o->block_bytes,
      .restart_interval = (uint32_t)o->restart_interval,
      .codec = o->snappy ? &snappy_codec : NULL,
      .filter = o->filter_bits ? NAY_SST_BLOCK_FILTER : NAY_SST_NO_FILTER,
      .policy = o->filter_bits ? policy : NULL,
      .comparator = order};
}

/* Ours walks and gets from a table, LevelDB's or ours. */
static void check_ours(sample *s, const uint8_t *bytes, size_t len, const nay_policy *policy,
                       bool stored) {
  const nay_policy *policies[] = {policy};
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = NAY_SST_KEYS_PLAIN,
                              .codecs = snappy_codecs,
                              .ncodecs = 1,
                              .policies = policies,
                              .npolicies = 1,
                              .comparator = s->order};
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
  assert_ok(nay_sst_describe(t, &info));
  assert_string_equal(info.comparator, s->order->name);
  assert_int_equal(info.comparator_stored, stored);
  sample_check_iter(s, t);
  sample_check_gets(s, t);
  nay_sst_free(t);
}

/* The filters of the table alone, which are not told the order. */
static void check_filters(const sample *s, const uint8_t *bytes, size_t len) {
  nay_table_filters *t;
  nay_table_filters_options how = {sizeof how, .codecs = snappy_codecs, .ncodecs = 1};
  assert_ok(nay_table_filters_open(bytes, len, &how, NULL, NULL, &t));
  for (size_t i = 0; i < s->n; i++) {
    assert_true(nay_table_filters_may_contain(t, s->entries[i].key, s->entries[i].len));
  }
  nay_table_filters_free(t);
}

/* LevelDB's table up to its metaindex, which is where ours gets entries of its own. */
static size_t metaindex_at(const uint8_t *bytes, size_t len) {
  size_t at = 0;
  const uint8_t *p = bytes + len - 48;
  for (unsigned shift = 0;; shift += 7) {
    at |= (size_t)(*p & 0x7f) << shift;
    if ((*p++ & 0x80) == 0) return at;
  }
}

static void both_ways(void **state) {
  engine_comparator order = *(const engine_comparator *)*state;
  nay_sst_comparator comparator = comparator_of(order);
  nay_policy policy = {.size = sizeof policy};
  sample s;
  sample_init(&s, MAX_ENTRIES);
  s.order = &comparator;
  for (uint64_t seed = 0; seed < TEST_SCALE(N_TABLES); seed++) {
    size_t len, their_len;
    sample_fill(&s, seed + 3000000, MAX_ENTRIES);
    engine_table_options o = draw_options(&s, order);
    assert_ok(nay_policy_leveldb(o.filter_bits != 0 ? (uint32_t)o.filter_bits : 10, &policy));
    nay_sst_write_options how = ours_of(&o, &policy, &comparator);
    uint8_t *theirs = build_theirs(&s, &o, &their_len), *ours = sample_bytes(&s, &how, &len);
    assert_true(len > their_len);
    assert_memory_equal(ours, theirs, metaindex_at(theirs, their_len));
    check_ours(&s, theirs, their_len, &policy, false);
    check_ours(&s, ours, len, &policy, true);
    check_theirs(&s, ours, len, o.filter_bits, o.comparator);
    check_filters(&s, ours, len);
    free(theirs);
    free(ours);
  }
  sample_free(&s);
}

int main(void) {
  static const engine_comparator reverse = ENGINE_REVERSE, numeric = ENGINE_NUMERIC,
                                 prefix = ENGINE_PREFIX;
  const test_case tests[] = {
      TEST_WITH("both_ways reverse", both_ways, &reverse),
      TEST_WITH("both_ways numeric", both_ways, &numeric),
      TEST_WITH("both_ways prefix", both_ways, &prefix),
  };
  return run_all(tests);
}
