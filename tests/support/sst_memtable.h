/* sst_memtable.h - sorted internal keys in memory as a source of a merging iterator. */
#ifndef NAY_TEST_SST_MEMTABLE_H
#define NAY_TEST_SST_MEMTABLE_H

#include "support/merge_source.h"
#include "support/test.h"

#define MEMTABLE_MOST 256u

typedef struct memtable_entry {
  uint8_t key[40];
  size_t len;
  const char *value;
  size_t value_len;
} memtable_entry;

/* Entries in order; compare (NULL: bytewise) is that of user keys. */
typedef struct memtable {
  const nay_sst_comparator *order;
  memtable_entry at[MEMTABLE_MOST];
  size_t n, present;
} memtable;

static inline int memtable_compare(const memtable *m, const memtable_entry *e, const void *key,
                                   size_t len) {
  size_t user = e->len - 8;
  if (m->order != NULL) return m->order->compare(m->order->ctx, e->key, user, key, len);
  int sign = memcmp(e->key, key, user < len ? user : len);
  return sign != 0 ? sign : (user > len) - (user < len);
}

static inline void memtable_add(memtable *m, const nay_sst_entry *v, const char *value,
                                size_t value_len) {
  memtable_entry *e = &m->at[m->n++];
  assert_true(m->n <= MEMTABLE_MOST && v->len + 8 <= sizeof e->key);
  assert_ok(nay_sst_key_join(v, e->key, sizeof e->key, NULL));
  e->len = v->len + 8;
  e->value = value;
  e->value_len = value_len;
}

static inline nay_status memtable_to(void *state, size_t i) {
  memtable *m = state;
  m->present = i < m->n ? i : m->n;
  return i < m->n ? NAY_OK : NAY_EEND;
}

static inline nay_status memtable_first(void *s) { return memtable_to(s, 0); }
static inline nay_status memtable_last(void *s) { return memtable_to(s, ((memtable *)s)->n - 1); }
static inline nay_status memtable_next(void *s) {
  return memtable_to(s, ((memtable *)s)->present + 1);
}
static inline nay_status memtable_prev(void *s) {
  return memtable_to(s, ((memtable *)s)->present - 1);
}

static inline nay_status memtable_seek(void *state, const void *key, size_t len) {
  memtable *m = state;
  size_t i = 0;
  while (i < m->n && memtable_compare(m, &m->at[i], key, len) < 0) i++;
  return memtable_to(m, i);
}

static inline nay_status memtable_seek_for_prev(void *state, const void *key, size_t len) {
  memtable *m = state;
  size_t i = m->n;
  while (i > 0 && memtable_compare(m, &m->at[i - 1], key, len) > 0) i--;
  return memtable_to(m, i - 1);
}

static inline const void *memtable_key(void *state, size_t *len) {
  const memtable *m = state;
  *len = m->at[m->present].len;
  return m->at[m->present].key;
}

static inline const void *memtable_value(void *state, size_t *len) {
  const memtable *m = state;
  *len = m->at[m->present].value_len;
  return m->at[m->present].value;
}

static inline nay_sst_source memtable_source(memtable *m, bool stable) {
  return (nay_sst_source)MERGE_SOURCE(memtable, .ctx = m, .stable = stable);
}

#endif /* NAY_TEST_SST_MEMTABLE_H */
