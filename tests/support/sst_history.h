/*
 * sst_history.h - a history of writes to numbered user keys, what is true at each moment of it, and
 * tables of internal keys with a part of it.
 */
#ifndef NAY_TEST_SST_HISTORY_H
#define NAY_TEST_SST_HISTORY_H

#include "support/sst_numbers.h"

#define N_USERS 200u
#define N_WRITES 3000u

/* Write number s (from 1, its sequence) sets or deletes a user key. */
typedef struct history {
  unsigned user[N_WRITES + 1];
  bool deleted[N_WRITES + 1];
} history;

static inline void history_make(history *h, uint64_t seed) {
  for (unsigned s = 1; s <= N_WRITES; s++) {
    uint64_t random = nay_hash_mix(seed * 1000003 + s);
    h->user[s] = (unsigned)(random % N_USERS);
    h->deleted[s] = (random >> 32) % 4 == 0;
  }
}

/* The newest write to a user at or before a moment; 0: none. */
static inline unsigned history_at(const history *h, unsigned user, unsigned moment) {
  while (moment > 0 && h->user[moment] != user) moment--;
  return moment;
}

static inline size_t history_value(unsigned s, char value[32]) {
  return (size_t)snprintf(value, 32, "write %u", s);
}

/* The writes from a to b of users from `first` to before `end`, as a memory table would be written
 * out: all versions, newest first. */
static inline void history_write_users(const history *h, unsigned a, unsigned b, unsigned first,
                                       unsigned end, const char *path,
                                       const nay_sst_write_options *how) {
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(path, how, NULL, NULL, &w));
  for (unsigned user = first; user < end; user++) {
    char key[32], value[32];
    size_t len = number_key(user, key);
    for (unsigned s = b; s >= a; s--) {
      if (h->user[s] != user) continue;
      nay_sst_entry version = {.size = sizeof version,
                               .key = key,
                               .len = len,
                               .sequence = s,
                               .type = h->deleted[s] ? NAY_SST_DELETE : NAY_SST_PUT};
      size_t value_len = h->deleted[s] ? 0 : history_value(s, value);
      assert_ok(nay_sst_writer_add_entry(w, &version, value, value_len, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static inline void history_write(const history *h, unsigned a, unsigned b, const char *path,
                                 const nay_sst_write_options *how) {
  history_write_users(h, a, b, 0, N_USERS, path, how);
}

#endif /* NAY_TEST_SST_HISTORY_H */
