/*
 * test_compact_equal.c - compactions of keys that the comparator calls equal although their bytes
 * differ (equal_may_differ), against a model of what every reader may still see.
 *
 * Each write of a history spells its user key in upper and lower case by its own number. A
 * compaction is right if every reader sees through its outputs what a lookup over the inputs
 * answers, under any spelling and in both directions; if nothing is kept that no reader sees; and
 * if each version that stays has the spelling of its write.
 */
#include "nay_sst_iter.h"
#include "support/append_operator.h"
#include "support/fold_order.h"
#include "support/sst_outputs.h"

/* The key of a user: three letters, in one of 8 spellings, and a number. */
static size_t spell(unsigned user, uint64_t spelling, char key[32]) {
  size_t len = number_key(user, key);
  for (unsigned i = 0; i < 3; i++) {
    if (spelling >> i & 1) key[i] = (char)(key[i] & ~0x20);
  }
  return len;
}

static size_t spell_write(const history *h, unsigned s, char key[32]) {
  return spell(h->user[s], nay_hash_mix(s), key);
}

/* ---- inputs ---- */

typedef struct shape {
  bool internal, operands;
} shape;

static bool is_operand(const shape *p, const history *h, unsigned s) {
  return p->operands && !h->deleted[s] && nay_hash_mix(s + 7) % 3 == 0;
}

static size_t value_of(const shape *p, const history *h, unsigned s, char value[32]) {
  if (p->internal && h->deleted[s]) return 0;
  return (size_t)snprintf(value, 32, "%c%u", is_operand(p, h, s) ? '+' : '=', s);
}

/* Plain keys: the newest write of each user, none of them a deletion. */
static void write_part(const shape *p, const history *h, unsigned a, unsigned b, const char *path) {
  nay_sst_writer *w;
  nay_sst_write_options how = {.size = sizeof how,
                               .keys = p->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                               .block_bytes = 512,
                               .comparator = &fold};
  assert_ok(nay_sst_writer_new(path, &how, NULL, NULL, &w));
  for (unsigned user = 0; user < N_USERS; user++) {
    for (unsigned s = b; s >= a; s--) {
      char key[32], value[32];
      if (h->user[s] != user) continue;
      size_t len = spell_write(h, s, key), value_len = value_of(p, h, s, value);
      nay_sst_entry v = {sizeof v, key, len, .sequence = s};
      v.type = h->deleted[s] ? NAY_SST_DELETE : is_operand(p, h, s) ? NAY_SST_MERGE : NAY_SST_PUT;
      if (p->internal) {
        assert_ok(nay_sst_writer_add_entry(w, &v, value, value_len, NULL));
      } else {
        assert_ok(nay_sst_writer_add(w, key, len, value, value_len, NULL));
        break;
      }
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

static nay_sst *open_fold(const shape *p, const nay_sst_comparator *order, const char *path) {
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = p->internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
                              .comparator = order};
  return open_table(path, &how);
}

static void fold_inputs(const shape *p, const history *h, const nay_sst_comparator *order,
                        inputs *in) {
  for (unsigned i = 0; i < N_TABLES; i++) {
    char name[32];
    unsigned age = N_TABLES - 1 - i, each = N_WRITES / N_TABLES;
    snprintf(name, sizeof name, "in%u.ldb", i);
    write_part(p, h, age * each + 1, (age + 1) * each, temp_path(in->paths[i], name));
    in->at[i] = open_fold(p, order, in->paths[i]);
  }
}

/* ---- outputs ---- */

/* In the order of keys, whatever thread made it. */
static void fold_done(void *ctx, const nay_sst_output *out) {
  outputs *o = ctx;
  unsigned at = o->n++;
  for (; at > 0 && fold_compare(NULL, o->done[at - 1].smallest, out->smallest_len, out->smallest,
                                out->smallest_len) > 0;
       at--) {
    o->done[at] = o->done[at - 1];
  }
  memset(&o->done[at], 0, sizeof o->done[at]);
  o->done[at].path = out->path;
  memcpy(o->done[at].smallest, out->smallest, out->smallest_len);
}

/* As one disjoint level: the lookup refuses tables that have versions of the same key. */
static void fold_open(const shape *p, const outputs *o, level *l) {
  l->n = o->n;
  for (unsigned i = 0; i < o->n; i++) l->at[i] = open_fold(p, &fold, o->done[i].path);
  nay_sst_lookup_level one = {
      .size = sizeof one, .tables = (const nay_sst *const *)l->at, .n = l->n, .disjoint = true};
  nay_sst_lookup_options how = {sizeof how, .merge = p->operands ? append_operator : NULL};
  assert_ok(nay_sst_lookup_new(&one, 1, &how, NULL, NULL, &l->lookup));
}

/* ---- what a reader must see ---- */

/* The value of a user at a moment; false: none. *newest is the write whose spelling it has. */
static bool value_at(const shape *p, const history *h, unsigned user, unsigned moment,
                     char text[4096], unsigned *newest) {
  unsigned writes[N_WRITES], n = 0;
  for (unsigned s = history_at(h, user, moment); s != 0; s = history_at(h, user, s - 1)) {
    if (p->internal && h->deleted[s]) break;
    writes[n++] = s;
    if (!is_operand(p, h, s)) break;
  }
  *newest = n != 0 ? writes[0] : 0;
  size_t len = 0;
  while (n-- > 0) len += value_of(p, h, writes[n], text + len);
  text[len] = '\0';
  return *newest != 0;
}

static void assert_gets(const shape *p, const history *h, const level *l, unsigned moment) {
  nay_sst_value v = {.size = sizeof v};
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32], want[4096];
    unsigned newest;
    bool there = value_at(p, h, user, moment, want, &newest);
    size_t len = spell(user, nay_hash_mix(user + moment), key);
    nay_status status = nay_sst_lookup_get(l->lookup, key, len, moment, NULL, &v, NULL);
    assert_status(status, there ? NAY_OK : NAY_ENOENT);
    if (!there) continue;
    assert_int_equal(v.len, strlen(want));
    assert_memory_equal(v.bytes, want, v.len);
  }
  nay_sst_value_free(&v);
}

/* Each user once, with the spelling of the newest write. */
static void assert_walk(const shape *p, const history *h, const level *l, unsigned moment,
                        bool backward) {
  nay_sst_scan *m;
  nay_sst_scan_options how = {.size = sizeof how, .sequence = &(uint64_t){moment}};
  assert_ok(nay_sst_scan_new(l->lookup, &how, NULL, NULL, &m));
  nay_status status = backward ? nay_sst_scan_last(m) : nay_sst_scan_first(m);
  for (unsigned i = 0; i < N_USERS; i++) {
    char key[32], want[4096];
    unsigned user = backward ? N_USERS - 1 - i : i, newest;
    size_t len, value_len;
    if (!value_at(p, h, user, moment, want, &newest)) continue;
    assert_ok(status);
    const void *at = nay_sst_scan_key(m, &len), *value = nay_sst_scan_value(m, &value_len);
    assert_int_equal(len, spell_write(h, newest, key));
    assert_memory_equal(at, key, len);
    assert_int_equal(value_len, strlen(want));
    assert_memory_equal(value, want, value_len);
    status = backward ? nay_sst_scan_prev(m) : nay_sst_scan_next(m);
  }
  assert_status(status, NAY_EEND);
  nay_sst_scan_free(m);
}

/* Each version is spelled as its write was, combined operands as the newest of them, with whose
 * value they end. */
static uint64_t assert_versions(const shape *p, const history *h, const level *l) {
  nay_sst_scan *m;
  uint64_t n = 0;
  nay_sst_scan_options how = {sizeof how, .all_versions = true};
  assert_ok(nay_sst_scan_new(l->lookup, &how, NULL, NULL, &m));
  for (nay_status s = nay_sst_scan_first(m); s == NAY_OK; s = nay_sst_scan_next(m), n++) {
    char key[32];
    nay_sst_entry v = {.size = sizeof v};
    assert_ok(nay_sst_scan_entry(m, &v));
    assert_int_equal(v.len, spell_write(h, (unsigned)v.sequence, key));
    assert_memory_equal(v.key, key, v.len);
    char end[32];
    size_t len, end_len = value_of(p, h, (unsigned)v.sequence, end);
    const char *value = nay_sst_scan_value(m, &len);
    assert_true((v.type == NAY_SST_DELETE) == h->deleted[v.sequence] && len >= end_len);
    assert_memory_equal(value + len - end_len, end, end_len);
  }
  nay_sst_scan_free(m);
  return n;
}

/* Entries that have to stay, without operands. */
static uint64_t entries_needed(const shape *p, const history *h,
                               const nay_sst_compact_options *how) {
  uint64_t needed = 0;
  for (unsigned user = 0; user < N_USERS; user++) {
    unsigned last = 0;
    for (size_t i = how->nsnapshots + 1; i-- > 0;) {
      unsigned s =
          history_at(h, user, i == how->nsnapshots ? N_WRITES : (unsigned)how->snapshots[i]);
      if (s == 0 || s == last) continue;
      last = s;
      bool lowest = how->nsnapshots == 0 || s <= how->snapshots[0];
      needed += !(p->internal && h->deleted[s] && how->bottom && lowest);
    }
  }
  return needed;
}

/* ---- compactions ---- */

static void check_compaction(const shape *p, const history *h, const inputs *in,
                             const nay_sst_compact_options *how) {
  static outputs out;
  out = (outputs){.n = 0};
  nay_sst_outputs to = outputs_of(&out);
  to.done = fold_done;
  nay_sst_compact_stats stats = {.size = sizeof stats};
  assert_ok(nay_sst_compact_to(in->at, N_TABLES, &to, how, NULL, NULL, &stats));
  assert_true(how->target_bytes == 0 ? out.n == 1 : out.n > 4);
  level l;
  fold_open(p, &out, &l);
  if (p->internal) assert_int_equal(assert_versions(p, h, &l), stats.written);
  if (!p->operands) assert_int_equal(stats.written, entries_needed(p, h, how));
  assert_int_equal(stats.read, stats.written + stats.superseded + stats.deletions + stats.merged);
  for (size_t i = 0; i <= how->nsnapshots; i++) {
    unsigned moment = i == how->nsnapshots ? N_WRITES : (unsigned)how->snapshots[i];
    assert_gets(p, h, &l, moment);
    for (int backward = 0; backward < 2; backward++) assert_walk(p, h, &l, moment, backward);
  }
  level_free(&l);
  outputs_remove(&out);
}

/* At the bottom or not, with snapshots or none, one output or several, by one thread or more. */
static void equal_keys_are_one_key(void **state) {
  const shape *p = *state;
  static const uint64_t snapshots[] = {400, 1500, 1501, 2600};
  history h;
  inputs in;
  history_make(&h, 17);
  fold_inputs(p, &h, &fold, &in);
  for (unsigned i = 0; i < 16; i++) {
    nay_sst_compact_options how = {.size = sizeof how,
                                   .bottom = i % 2 != 0,
                                   .snapshots = snapshots,
                                   .nsnapshots = i / 2 % 2 != 0 && p->internal ? 4 : 0,
                                   .target_bytes = i / 4 % 2 != 0 ? (p->internal ? 2000 : 500) : 0,
                                   .range_bytes = i / 4 % 2 != 0 ? (p->internal ? 10000 : 3000) : 0,
                                   .threads = i / 8 % 2 != 0 ? 3 : 1,
                                   .merge = p->operands ? append_operator : NULL};
    check_compaction(p, &h, &in, &how);
  }
  inputs_free(&in);
}

/* The deletion of one spelling hides another one: nothing comes back. */
static void a_deletion_hides_other_spellings(void **state) {
  (void)state;
  char paths[2][TEMP_MAX], out[TEMP_MAX];
  const shape internal = {true, false};
  nay_sst_write_options how = {
      .size = sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .comparator = &fold};
  const nay_sst *t[2];
  for (unsigned i = 0; i < 2; i++) { /* newest first */
    nay_sst_writer *w;
    nay_sst_entry v = {
        sizeof v, i == 0 ? "KEY" : "key", 3, 2 - i, i == 0 ? NAY_SST_DELETE : NAY_SST_PUT, 0};
    temp_path(paths[i], i == 0 ? "newer.ldb" : "older.ldb");
    assert_ok(nay_sst_writer_new(paths[i], &how, NULL, NULL, &w));
    assert_ok(nay_sst_writer_add_entry(w, &v, "old", i == 0 ? 0 : 3, NULL));
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    t[i] = open_fold(&internal, &fold, paths[i]);
  }
  temp_path(out, "hidden.ldb");
  for (int bottom = 0; bottom < 2; bottom++) {
    nay_sst_compact_stats stats = {.size = sizeof stats};
    nay_sst_compact_options compact = {sizeof compact, .bottom = bottom != 0};
    nay_sst_value v = {.size = sizeof v};
    assert_ok(nay_sst_compact(t, 2, out, &compact, NULL, NULL, &stats));
    assert_int_equal(stats.written, bottom ? 0 : 1);
    assert_int_equal(stats.superseded, 1);
    nay_sst *made = open_fold(&internal, &fold, out);
    nay_status status = nay_sst_get(made, "kEy", 3, NAY_SST_NEWEST, NULL, &v);
    assert_status(status, NAY_ENOENT);
    assert_true(v.deleted == !bottom);
    nay_sst_value_free(&v);
    nay_sst_free(made);
  }
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
  unlink(out);
}

/* A comparator that does not say so is refused, as by a get: its filters would deny keys. */
static void equal_keys_that_may_not_differ(void **state) {
  (void)state;
  nay_sst_comparator silent = fold;
  silent.equal_may_differ = false;
  for (int internal = 0; internal < 2; internal++) {
    const shape p = {internal != 0, false};
    char out[TEMP_MAX];
    history h;
    inputs in;
    nay_diag diag = {.what = NULL};
    history_make(&h, 17);
    fold_inputs(&p, &h, &silent, &in);
    temp_path(out, "silent.ldb");
    assert_status(nay_sst_compact(in.at, N_TABLES, out, NULL, NULL, &diag, NULL), NAY_EINVAL);
    assert_non_null(strstr(diag.what, "comparator"));
    assert_int_equal(access(out, F_OK), -1);
    inputs_free(&in);
  }
}

int main(void) {
  static const shape shapes[] = {{true, false}, {false, false}, {true, true}};
  const test_case tests[] = {
      TEST_WITH("equal_keys_are_one_key internal", equal_keys_are_one_key, &shapes[0]),
      TEST_WITH("equal_keys_are_one_key plain", equal_keys_are_one_key, &shapes[1]),
      TEST_WITH("equal_keys_are_one_key operands", equal_keys_are_one_key, &shapes[2]),
      TEST(a_deletion_hides_other_spellings),
      TEST(equal_keys_that_may_not_differ),
  };
  return run_all(tests);
}
