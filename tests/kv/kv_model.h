/*
 * kv_model.h - a model of the store of examples/kv: operation i of a seed is a put or a delete
 * whose key and value follow from (seed, i) alone, so that another process can tell what a store
 * has to hold after the first n of them. A value names its operation: an older one that comes back
 * shows.
 */
#ifndef NAY_TEST_KV_MODEL_H
#define NAY_TEST_KV_MODEL_H

#include "kv.h"
#include "support/test.h"

#define MODEL_KEYS 300u
#define MODEL_VALUE 400u /* bytes at most */

/* Seeds from here on: all operations are puts of 34 bytes, so that all records of a log have 80.
 * Then one can end where another that is gone began. */
#define MODEL_EVEN (UINT64_C(1) << 63)

typedef struct model {
  uint64_t seed;
  uint64_t put[MODEL_KEYS]; /* operation + 1 that put the value; 0: not there */
} model;

typedef struct model_op {
  unsigned key_number;
  bool deletes;
  char key[16], value[MODEL_VALUE];
  size_t len, value_len;
} model_op;

static inline void model_key(unsigned number, model_op *op) {
  op->key_number = number;
  op->len = (size_t)snprintf(op->key, sizeof op->key, "%c%05u", 'a' + (int)(number % 7), number);
}

static inline model_op model_operation(uint64_t seed, uint64_t i) {
  model_op op = {0};
  uint64_t r = nay_hash_mix(seed * 1000003 + i);
  model_key((unsigned)(r % MODEL_KEYS), &op);
  op.deletes = (r >> 32) % 5 == 0 && seed < MODEL_EVEN;
  op.value_len = (size_t)snprintf(op.value, sizeof op.value, "%llu:", (unsigned long long)i);
  size_t len = seed < MODEL_EVEN ? op.value_len + (r >> 40) % 250 : 34;
  memset(op.value + op.value_len, 'a' + (int)(i % 26), len - op.value_len);
  op.value_len = len;
  return op;
}

static inline void model_apply(model *m, uint64_t i) {
  model_op op = model_operation(m->seed, i);
  m->put[op.key_number] = op.deletes ? 0 : i + 1;
}

static inline nay_status put(kv *db, const void *key, size_t len, const void *value, size_t n) {
  return kv_put(db, (kv_slice){key, len}, (kv_slice){value, n}, NULL);
}

static inline nay_status get(kv *db, const void *key, size_t len, kv_bytes *value) {
  return kv_get(db, (kv_slice){key, len}, 0, value, NULL, NULL, NULL);
}

static inline nay_status iter_new(kv *db, uint64_t at, const char *from, const char *to,
                                  kv_iter *it) {
  kv_slice start = {from, from != NULL ? strlen(from) : 0}, end = {to, to != NULL ? strlen(to) : 0};
  return kv_iter_new(db, at, start, end, NULL, it);
}

static inline nay_status model_write(kv *db, uint64_t seed, uint64_t i, kv_error *error) {
  model_op op = model_operation(seed, i);
  if (op.deletes) return kv_delete(db, (kv_slice){op.key, op.len}, error);
  return kv_put(db, (kv_slice){op.key, op.len}, (kv_slice){op.value, op.value_len}, error);
}

/* Whether the store has for this key what the model has. */
static inline bool model_holds(const model *m, kv *db, uint64_t at, unsigned number) {
  model_op op = {0};
  kv_bytes value = {0};
  kv_error error = {""};
  model_key(number, &op);
  nay_status status = kv_get(db, (kv_slice){op.key, op.len}, at, &value, NULL, NULL, &error);
  if (status != NAY_OK && status != NAY_ENOENT) fail_msg("get: %s", error.text);
  bool same = (status == NAY_OK) == (m->put[number] != 0);
  if (same && status == NAY_OK) {
    op = model_operation(m->seed, m->put[number] - 1);
    same = value.len == op.value_len && memcmp(value.data, op.value, op.value_len) == 0;
  }
  free(value.data);
  return same;
}

static inline int model_order(const void *a, const void *b) {
  return strcmp(((const model_op *)a)->key, ((const model_op *)b)->key);
}

/* A scan gives the keys of the model in order, and nothing else. */
static inline void model_check_scan(const model *m, kv *db, uint64_t at) {
  static model_op all[MODEL_KEYS];
  size_t n = 0;
  kv_iter it;
  for (unsigned i = 0; i < MODEL_KEYS; i++) {
    if (m->put[i] == 0) continue;
    all[n] = model_operation(m->seed, m->put[i] - 1);
    n++;
  }
  qsort(all, n, sizeof all[0], model_order);
  nay_status status = iter_new(db, at, NULL, NULL, &it);
  for (size_t i = 0; i < n; i++, status = nay_sst_scan_next(it.merge)) {
    if (status != NAY_OK) fail_msg("scan ends after %zu of %zu: %s", i, n, nay_status_name(status));
    size_t len, value_len;
    const void *key = nay_sst_scan_key(it.merge, &len),
               *value = nay_sst_scan_value(it.merge, &value_len);
    if (len != all[i].len || memcmp(key, all[i].key, len) != 0)
      fail_msg("scan: key %zu is %.*s, not %s", i, (int)len, (const char *)key, all[i].key);
    if (value_len != all[i].value_len || memcmp(value, all[i].value, value_len) != 0)
      fail_msg("scan: value of %s is %.9s, not %.9s", all[i].key, (const char *)value,
               all[i].value);
  }
  assert_status(status, NAY_EEND);
  kv_iter_free(&it);
}

static inline void model_check(const model *m, kv *db, uint64_t at) {
  for (unsigned i = 0; i < MODEL_KEYS; i++)
    if (!model_holds(m, db, at, i))
      fail_msg("key %u is not what operation %d wrote", i, (int)m->put[i] - 1);
  model_check_scan(m, db, at);
}

/* How many operations a store has seen; its first put has sequence 2. */
static inline uint64_t model_operations(kv *db) {
  kv_stats stats;
  kv_describe(db, &stats);
  return stats.sequence - 1;
}

/* Tables and levels so small that a few hundred operations go through all of them. */
static inline kv_options model_options(void) { return (kv_options){.write_buffer = 6 << 10}; }

static inline kv *model_open(const char *dir, kv_options options) {
  kv_error error = {""};
  kv *db = NULL;
  nay_status status = kv_open(dir, &options, &error, &db);
  if (status != NAY_OK) fail_msg("%s: %s", nay_status_name(status), error.text);
  return db;
}

#endif /* NAY_TEST_KV_MODEL_H */
