/*
 * sst_outputs.h - a history of writes in several tables, and the tables that a compaction makes of
 * them: named, told and opened as one disjoint level.
 */
#ifndef NAY_TEST_SST_OUTPUTS_H
#define NAY_TEST_SST_OUTPUTS_H

#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "support/sst_history.h"

#define N_TABLES 6u
#define MOST_OUTPUTS 64u

static const nay_sst_write_options internal_keys = {
    .size = sizeof internal_keys, .keys = NAY_SST_KEYS_INTERNAL, .block_bytes = 512};
static const nay_sst_read_options read_internal = {.size = sizeof read_internal,
                                                   .keys = NAY_SST_KEYS_INTERNAL};

/* ---- inputs and outputs ---- */

typedef struct inputs {
  char paths[N_TABLES][TEMP_MAX];
  const nay_sst *at[N_TABLES]; /* newest first */
} inputs;

static inline void inputs_make(const history *h, inputs *in) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    char name[32];
    unsigned age = N_TABLES - 1 - i, each = N_WRITES / N_TABLES;
    snprintf(name, sizeof name, "in%u.ldb", i);
    history_write(h, age * each + 1, (age + 1) * each, temp_path(in->paths[i], name),
                  &internal_keys);
    in->at[i] = open_table(in->paths[i], &read_internal);
  }
}

static inline void inputs_free(inputs *in) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)in->at[i]);
    unlink(in->paths[i]);
  }
}

typedef struct outputs {
  unsigned named, n;
  unsigned refuse_at; /* next returns NULL for this one; 0: never */
  char paths[MOST_OUTPUTS][TEMP_MAX];
  struct {
    const char *path;
    char smallest[32], largest[32];
    uint64_t entries, deletions, nbytes, low, high;
  } done[MOST_OUTPUTS];
} outputs;

static inline const char *outputs_next(void *ctx) {
  outputs *o = ctx;
  char name[32];
  if (o->refuse_at != 0 && o->named >= o->refuse_at) return NULL;
  assert_true(o->named < MOST_OUTPUTS);
  snprintf(name, sizeof name, "out%u.ldb", o->named);
  return temp_path(o->paths[o->named++], name);
}

static inline void outputs_done(void *ctx, const nay_sst_output *out) {
  outputs *o = ctx;
  unsigned at = o->n++;
  assert_int_equal(out->size, sizeof *out);
  /* in the order of keys, whatever thread made it */
  while (at > 0 && memcmp(o->done[at - 1].smallest, out->smallest, out->smallest_len) > 0) {
    o->done[at] = o->done[at - 1];
    at--;
  }
  memset(&o->done[at], 0, sizeof o->done[at]);
  o->done[at].path = out->path;
  memcpy(o->done[at].smallest, out->smallest, out->smallest_len);
  memcpy(o->done[at].largest, out->largest, out->largest_len);
  o->done[at].entries = out->entries;
  o->done[at].deletions = out->deletions;
  o->done[at].nbytes = out->nbytes;
  o->done[at].low = out->smallest_sequence;
  o->done[at].high = out->largest_sequence;
}

static inline nay_sst_outputs outputs_of(outputs *o) {
  return (nay_sst_outputs){
      .size = sizeof(nay_sst_outputs), .next = outputs_next, .done = outputs_done, .ctx = o};
}

static inline void outputs_remove(outputs *o) {
  for (unsigned i = 0; i < o->named; i++) unlink(o->paths[i]);
}

/* The outputs as one disjoint level, each compared with what was told of it. */
typedef struct level {
  nay_sst *at[MOST_OUTPUTS];
  unsigned n;
  nay_sst_lookup *lookup;
} level;

static inline void check_output(const outputs *o, unsigned i, const nay_sst *t) {
  nay_sst_iter *it;
  uint64_t entries = 0, deletions = 0, low = UINT64_MAX, high = 0;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (nay_status s = nay_sst_iter_first(it); s == NAY_OK; s = nay_sst_iter_next(it)) {
    nay_sst_entry v = {.size = sizeof v};
    size_t len;
    const void *key = nay_sst_iter_key(it, &len);
    assert_ok(nay_sst_key_split(key, len, &v));
    if (entries == 0) assert_memory_equal(v.key, o->done[i].smallest, v.len);
    entries++;
    deletions += v.type == NAY_SST_DELETE;
    if (v.sequence < low) low = v.sequence;
    if (v.sequence > high) high = v.sequence;
  }
  assert_true(entries == o->done[i].entries && deletions == o->done[i].deletions);
  assert_true(low == o->done[i].low && high == o->done[i].high);
  assert_int_equal(info_of(t).nbytes, o->done[i].nbytes);
  if (i > 0) assert_true(strcmp(o->done[i - 1].largest, o->done[i].smallest) < 0);
  nay_sst_iter_free(it);
}

static inline void level_open(const outputs *o, level *l) {
  l->n = o->n;
  for (unsigned i = 0; i < o->n; i++) {
    l->at[i] = open_table(o->done[i].path, &read_internal);
    check_output(o, i, l->at[i]);
  }
  nay_sst_lookup_level one = {
      .size = sizeof one, .tables = (const nay_sst *const *)l->at, .n = l->n, .disjoint = true};
  assert_ok(nay_sst_lookup_new(&one, 1, NULL, NULL, NULL, &l->lookup));
}

static inline void level_free(level *l) {
  nay_sst_lookup_free(l->lookup);
  for (unsigned i = 0; i < l->n; i++) nay_sst_free(l->at[i]);
}

static inline void assert_reader(const level *l, const history *h, unsigned user, unsigned moment) {
  char key[32], want[32];
  nay_sst_value v = {.size = sizeof v};
  unsigned s = history_at(h, user, moment);
  nay_status status =
      nay_sst_lookup_get(l->lookup, key, number_key(user, key), moment, NULL, &v, NULL);
  assert_status(status, s == 0 || h->deleted[s] ? NAY_ENOENT : NAY_OK);
  if (status == NAY_OK) {
    assert_int_equal(v.sequence, s);
    assert_int_equal(v.len, history_value(s, want));
    assert_memory_equal(v.bytes, want, v.len);
  }
  nay_sst_value_free(&v);
}

#endif /* NAY_TEST_SST_OUTPUTS_H */
