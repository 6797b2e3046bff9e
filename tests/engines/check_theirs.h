/* check_theirs.h - LevelDB reads a table of ours: what it finds is what was written. */
#ifndef NAY_TEST_CHECK_THEIRS_H
#define NAY_TEST_CHECK_THEIRS_H

#include "engine_table.h"
#include "support/sst_sample.h"

/* LevelDB walks and seeks in a table of ours. */
static inline void check_theirs(sample *s, const uint8_t *bytes, size_t len, int filter_bits,
                                engine_comparator order) {
  engine_table *t = engine_table_open(bytes, len, filter_bits, order);
  engine_slice key, value;
  assert_non_null(t);
  bool there = engine_table_first(t, &key, &value);
  for (size_t i = 0; i < s->n; i++, there = engine_table_next(t, &key, &value)) {
    assert_true(there);
    assert_int_equal(key.len, s->entries[i].len);
    assert_memory_equal(key.at, s->entries[i].key, key.len);
    assert_int_equal(value.len, s->entries[i].value_len);
    assert_memory_equal(value.at, s->entries[i].value, value.len);
  }
  assert_false(there);
  for (int i = 0; i < 10; i++) {
    uint8_t probe[SAMPLE_KEY_MAX];
    size_t n = sample_key(s, (unsigned)sample_draw(s, 3), probe), want = sample_lower(s, probe, n);
    there = engine_table_seek(t, (engine_slice){probe, n}, &key, &value);
    assert_int_equal(there, want != s->n);
    if (there) assert_memory_equal(key.at, s->entries[want].key, s->entries[want].len);
  }
  assert_false(engine_table_failed(t));
  engine_table_close(t);
}

#endif /* NAY_TEST_CHECK_THEIRS_H */
