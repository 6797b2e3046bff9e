/* database.h - a real LevelDB database in a directory of its own, filled, read and counted. */
#ifndef NAY_TEST_DATABASE_H
#define NAY_TEST_DATABASE_H

#include <leveldb/c.h>

#include "nay_leveldb.h"
#include "support/directory.h"
#include "support/test.h"

/* What the policy of a database was asked; counted by its wrapper. */
typedef struct policy_counts {
  nay_policy inner;
  uint64_t created, asked, nays; /* changed with atomics */
} policy_counts;

static inline nay_status counted_create(void *ctx, const void *const *keys, const size_t *lens,
                                        size_t n, const nay_allocator *a, uint8_t **filter,
                                        size_t *len) {
  policy_counts *c = ctx;
  __atomic_fetch_add(&c->created, 1, __ATOMIC_RELAXED);
  return c->inner.create(c->inner.ctx, keys, lens, n, a, filter, len);
}

static inline bool counted_may_contain(void *ctx, const void *key, size_t key_len,
                                       const uint8_t *filter, size_t len) {
  policy_counts *c = ctx;
  bool maybe = c->inner.may_contain(c->inner.ctx, key, key_len, filter, len);
  __atomic_fetch_add(&c->asked, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&c->nays, !maybe, __ATOMIC_RELAXED);
  return maybe;
}

/* The policy of a mode, with counts. */
static inline leveldb_filterpolicy_t *counted_policy(nay_leveldb_mode mode, policy_counts *c) {
  *c = (policy_counts){.inner = {.size = sizeof c->inner}};
  assert_ok(nay_leveldb_mode_policy(mode, 10, &c->inner));
  nay_policy outer = {.size = sizeof outer,
                      .name = c->inner.name,
                      .create = counted_create,
                      .may_contain = counted_may_contain,
                      .ctx = c};
  return nay_leveldb_policy_of(&outer);
}

typedef struct database {
  leveldb_t *db;
  leveldb_options_t *options;
  leveldb_readoptions_t *read;
  leveldb_filterpolicy_t *policy; /* owned */
} database;

static inline void database_check(char *error) {
  if (error != NULL) fail_msg("LevelDB: %s", error);
}

static inline database database_open_paranoid(const char *path, leveldb_filterpolicy_t *policy,
                                              bool paranoid_checks) {
  database d = {NULL, leveldb_options_create(), leveldb_readoptions_create(), policy};
  char *error = NULL;
  leveldb_options_set_paranoid_checks(d.options, paranoid_checks);
  leveldb_options_set_create_if_missing(d.options, 1);
  if (policy != NULL) leveldb_options_set_filter_policy(d.options, policy);
  d.db = leveldb_open(d.options, path, &error);
  database_check(error);
  return d;
}

static inline database database_open(const char *path, leveldb_filterpolicy_t *policy) {
  return database_open_paranoid(path, policy, false);
}

static inline void database_close(database *d) {
  leveldb_close(d->db);
  leveldb_readoptions_destroy(d->read);
  leveldb_options_destroy(d->options);
  if (d->policy != NULL) leveldb_filterpolicy_destroy(d->policy);
}

#define DATABASE_VALUE 100

static inline size_t database_key(uint64_t i, char *key) {
  return (size_t)sprintf(key, "user%012llu", (unsigned long long)i);
}

/* Even numbers are there, odd ones are not: an absent key lies between two that are there. */
static inline void database_fill(database *d, uint64_t n) {
  leveldb_writeoptions_t *write = leveldb_writeoptions_create();
  for (uint64_t i = 0; i < n; i++) {
    char key[32], value[DATABASE_VALUE], *error = NULL;
    size_t len = database_key(2 * i, key);
    for (size_t b = 0; b < sizeof value; b++) value[b] = (char)(nay_hash_mix(i * 1000 + b) >> 8);
    leveldb_put(d->db, write, key, len, value, sizeof value, &error);
    database_check(error);
  }
  leveldb_writeoptions_destroy(write);
}

/* All of it into tables, with the filters of the policy that is open now. */
static inline void database_compact(database *d) { leveldb_compact_range(d->db, NULL, 0, NULL, 0); }

/* How many of the n keys from `from` on, in steps of 2, are found. */
static inline uint64_t database_found(const database *d, uint64_t from, uint64_t n) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < n; i++) {
    char key[32], *error = NULL;
    size_t len = database_key(from + 2 * i, key), value_len;
    char *value = leveldb_get(d->db, d->read, key, len, &value_len, &error);
    database_check(error);
    found += value != NULL && value_len == DATABASE_VALUE;
    leveldb_free(value);
  }
  return found;
}

#endif /* NAY_TEST_DATABASE_H */
