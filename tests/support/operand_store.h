/*
 * operand_store.h - a small LSM tree with merge operands, and a model of what its readers see.
 *
 * A write is a value "=s", a deletion or an operand "+s", s being its sequence number. A reader
 * sees the value below and all operands above it, oldest first: "=3+7+9". The memtable is flushed
 * to level 0, level 0 is compacted into level 1, and that into level 2, the bottom.
 */
#ifndef NAY_TEST_OPERAND_STORE_H
#define NAY_TEST_OPERAND_STORE_H

#include "nay_sst_cache.h"
#include "nay_sst_compact.h"
#include "support/append_operator.h"
#include "support/fold_order.h"
#include "support/sst_numbers.h"

#include "support/sst_memtable.h"

#define USERS 24u
#define MOST_WRITES 400u
#define MOST_TABLES 64u
#define MOST_SNAPSHOTS 3u
#define LEVELS 3u
#define TEXT 4096u

typedef struct store_entry {
  unsigned user;
  enum { DELETION, VALUE, OPERAND } type;
  char text[16];
} store_entry;

typedef struct shape {
  const char *name;
  const nay_sst_comparator *order;
  nay_sst_filter_layout filter;
  uint32_t block_bytes, flags;
  size_t cache_bytes;
} shape;

typedef struct level {
  nay_sst *at[MOST_TABLES];
  size_t n;
} level;

typedef struct store {
  const shape *is;
  uint64_t random;
  store_entry writes[MOST_WRITES + 1]; /* by sequence number */
  unsigned now, flushed;
  uint64_t snapshots[MOST_SNAPSHOTS];
  size_t nsnapshots;
  level levels[LEVELS];
  nay_sst_cache *cache;
  nay_sst_lookup *lookup;
  memtable mem;
  unsigned noperands, nmany; /* how often the operator was called; combined values in batches */
} store;

/* ---- keys ---- */

static inline unsigned pick(store *st, unsigned below) {
  st->random = nay_hash_mix(st->random + 1);
  return (unsigned)(st->random % below);
}

/* The key of a user in a spelling; without the comparator there is one. */
static inline size_t spell(const store *st, unsigned user, uint64_t spelling, char key[32]) {
  size_t len = number_key(user, key);
  for (unsigned i = 0; i < 3 && st->is->order != NULL; i++) {
    if (nay_hash_mix(spelling) >> i & 1) key[i] = (char)(key[i] & ~0x20);
  }
  return len;
}

static inline nay_sst_entry version_of(const store *st, unsigned s, char key[32]) {
  const store_entry *w = &st->writes[s];
  return (nay_sst_entry){sizeof(nay_sst_entry),
                         key,
                         spell(st, w->user, s, key),
                         s,
                         w->type == DELETION  ? NAY_SST_DELETE
                         : w->type == OPERAND ? NAY_SST_MERGE
                                              : NAY_SST_PUT,
                         0};
}

/* ---- the model ---- */

static inline unsigned newest_of(const store *st, unsigned user, unsigned moment) {
  while (moment > 0 && st->writes[moment].user != user) moment--;
  return moment;
}

/* What a reader sees of a user; *newest is the write that it sees first, 0: none. */
static inline bool value_at(const store *st, unsigned user, unsigned moment, char text[TEXT],
                            unsigned *newest) {
  unsigned writes[MOST_WRITES], n = 0;
  size_t len = 0;
  *newest = newest_of(st, user, moment);
  for (unsigned s = *newest; s != 0 && st->writes[s].type != DELETION;
       s = newest_of(st, user, s - 1)) {
    writes[n++] = s;
    if (st->writes[s].type == VALUE) break;
  }
  text[0] = '\0';
  for (unsigned i = n; i-- > 0;) {
    len += (size_t)snprintf(text + len, TEXT - len, "%s", st->writes[writes[i]].text);
  }
  assert_true(len < TEXT - 16);
  return n != 0;
}

/* Append: associative, and as strict about what it gets as it can be. */
static inline nay_status append(void *ctx, const nay_sst_operands *o, void *out, size_t cap,
                                size_t *len) {
  store *st = ctx;
  st->noperands++;
  assert_true(o->newer_len > 0 && *(const char *)o->newer == '+' && o->key_len == 11);
  assert_true(o->older != NULL || (o->base && o->older_len == 0));
  if (!o->base) assert_true(*(const char *)o->older == '+');
  /* the key is spelled as the newest operand was */
  const char *last = o->newer;
  for (size_t i = 0; i < o->newer_len; i++) {
    if (((const char *)o->newer)[i] == '+') last = (const char *)o->newer + i;
  }
  char key[32], number[16];
  size_t digits = o->newer_len - (size_t)(last - (const char *)o->newer) - 1;
  snprintf(number, sizeof number, "%.*s", (int)digits, last + 1);
  (void)version_of(st, (unsigned)atoi(number), key);
  assert_memory_equal(o->key, key, o->key_len);
  return append_operator(ctx, o, out, cap, len);
}

/* ---- the tree ---- */

static inline nay_sst *store_open(const store *st, const char *path) {
  nay_sst *t;
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = NAY_SST_KEYS_INTERNAL,
                              .flags = st->is->flags,
                              .cache = st->cache,
                              .comparator = st->is->order};
  assert_ok(nay_sst_open(path, &how, NULL, NULL, &t));
  unlink(path);
  return t;
}

static inline nay_sst_write_options store_writes(const store *st) {
  return (nay_sst_write_options){.size = sizeof(nay_sst_write_options),
                                 .keys = NAY_SST_KEYS_INTERNAL,
                                 .block_bytes = st->is->block_bytes,
                                 .filter = st->is->filter,
                                 .partition_keys = 4,
                                 .comparator = st->is->order};
}

static inline void store_relook(store *st) {
  nay_sst_lookup_level levels[LEVELS];
  for (unsigned i = 0; i < LEVELS; i++) {
    levels[i] = (nay_sst_lookup_level){sizeof levels[i], (const nay_sst *const *)st->levels[i].at,
                                       st->levels[i].n, i != 0};
  }
  nay_sst_lookup_options how = {sizeof how, .merge = append, .merge_ctx = st};
  nay_sst_lookup_free(st->lookup);
  assert_ok(nay_sst_lookup_new(levels, LEVELS, &how, NULL, NULL, &st->lookup));
}

/* The writes of the memtable, in order. */
static inline void store_fill(store *st) {
  st->mem = (memtable){.order = st->is->order};
  for (unsigned user = 0; user < USERS; user++) {
    for (unsigned s = st->now; s > st->flushed; s--) {
      char key[32];
      if (st->writes[s].user != user) continue;
      nay_sst_entry v = version_of(st, s, key);
      memtable_add(&st->mem, &v, st->writes[s].text, strlen(st->writes[s].text));
    }
  }
}

static inline void store_flush(store *st) {
  nay_sst_writer *w;
  char path[TEMP_MAX];
  nay_sst_write_options how = store_writes(st);
  level *l = &st->levels[0];
  if (st->now == st->flushed || l->n == MOST_TABLES) return;
  assert_ok(nay_sst_writer_new(temp_path(path, "flush.ldb"), &how, NULL, NULL, &w));
  store_fill(st);
  for (size_t i = 0; i < st->mem.n; i++) {
    const memtable_entry *e = &st->mem.at[i];
    assert_ok(nay_sst_writer_add(w, e->key, e->len, e->value, e->value_len, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  memmove(l->at + 1, l->at, l->n * sizeof *l->at);
  l->at[0] = store_open(st, path);
  l->n++;
  st->flushed = st->now;
}

typedef struct outputs {
  store *st;
  unsigned named;
  char path[TEMP_MAX];
  level made;
} outputs;

static const char *outputs_next(void *ctx) {
  outputs *o = ctx;
  char name[32];
  snprintf(name, sizeof name, "out%u.ldb", o->named++);
  return temp_path(o->path, name);
}

static inline void outputs_done(void *ctx, const nay_sst_output *out) {
  outputs *o = ctx;
  assert_true(o->made.n < MOST_TABLES);
  o->made.at[o->made.n++] = store_open(o->st, out->path);
}

/* Level i and the one below it become the one below it. */
static inline void store_compact(store *st, unsigned i) {
  const nay_sst *inputs[2 * MOST_TABLES];
  level *upper = &st->levels[i], *lower = &st->levels[i + 1];
  size_t n = upper->n + lower->n;
  outputs out = {.st = st};
  if (n == 0) return;
  memcpy(inputs, upper->at, upper->n * sizeof *inputs);
  memcpy(inputs + upper->n, lower->at, lower->n * sizeof *inputs);
  nay_sst_write_options files = store_writes(st);
  files.keys = NAY_SST_KEYS_AUTO;
  nay_sst_outputs to = {sizeof to, .next = outputs_next, .done = outputs_done, .ctx = &out};
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &files,
                                 .bottom = i + 2 == LEVELS,
                                 .snapshots = st->snapshots,
                                 .nsnapshots = st->nsnapshots,
                                 .target_bytes = 400,
                                 .merge = append,
                                 .merge_ctx = st};
  assert_ok(nay_sst_compact_to(inputs, n, &to, &how, NULL, NULL, NULL));
  nay_sst_lookup_free(st->lookup);
  st->lookup = NULL;
  for (size_t k = 0; k < n; k++) nay_sst_free((nay_sst *)(uintptr_t)inputs[k]);
  upper->n = 0;
  *lower = out.made;
}

/* ---- writes ---- */

static inline void store_write(store *st) {
  unsigned kind = pick(st, 10);
  store_entry *w = &st->writes[++st->now];
  w->user = pick(st, USERS / 2) + (pick(st, 3) == 0 ? USERS / 2 : 0);
  w->type = kind < 2 ? DELETION : kind < 4 ? VALUE : OPERAND;
  if (w->type != DELETION) {
    snprintf(w->text, sizeof w->text, "%c%u", w->type == VALUE ? '=' : '+', st->now);
  }
}

/* Takes one of the present, or releases any. */
static inline void store_snapshot(store *st) {
  if (st->nsnapshots < MOST_SNAPSHOTS && pick(st, 2) == 0 &&
      (st->nsnapshots == 0 || st->snapshots[st->nsnapshots - 1] < st->now)) {
    st->snapshots[st->nsnapshots++] = st->now;
  } else if (st->nsnapshots != 0) {
    unsigned i = pick(st, (unsigned)st->nsnapshots);
    memmove(st->snapshots + i, st->snapshots + i + 1,
            (--st->nsnapshots - i) * sizeof *st->snapshots);
  }
}

#endif /* NAY_TEST_OPERAND_STORE_H */
