/*
 * test_compact_callbacks.c - compactions that filter values and combine merge operands, against a
 * model of what every reader may still see.
 */
#include "support/append_operator.h"
#include "support/flaky.h"
#include "support/sst_outputs.h"

/* ---- filter ---- */

typedef struct verdicts {
  const history *h;
  uint64_t newest_snapshot;
  unsigned offered[3];
} verdicts;

static unsigned user_of(const void *key) {
  char text[16] = {0};
  memcpy(text, (const char *)key + 3, 8);
  return (unsigned)strtoul(text, NULL, 10);
}

/* By the user: a third each kept, dropped, and changed to a long value. */
static nay_status decide(void *ctx, const nay_sst_entry *v, const void *value, size_t len,
                         nay_sst_compact_verdict *verdict, void *out, size_t cap, size_t *new_len) {
  verdicts *all = ctx;
  char want[32];
  unsigned user = user_of(v->key);
  assert_true(v->sequence > all->newest_snapshot && v->type == NAY_SST_PUT);
  assert_int_equal(history_at(all->h, user, N_WRITES), v->sequence);
  assert_int_equal(len, history_value((unsigned)v->sequence, want));
  assert_memory_equal(value, want, len);
  all->offered[user % 3]++;
  assert_int_equal(*verdict, NAY_SST_COMPACT_KEEP);
  if (user % 3 == 1) *verdict = NAY_SST_COMPACT_DROP;
  if (user % 3 != 2) return NAY_OK;
  *new_len = 200 + user * 5; /* some need a second call */
  if (*new_len > cap) return NAY_EBUFFER;
  memset(out, 'x', *new_len);
  *verdict = NAY_SST_COMPACT_CHANGE;
  return NAY_OK;
}

static void check_filtered(const history *h, const level *l, uint64_t snapshot) {
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32];
    nay_sst_value v = {.size = sizeof v};
    unsigned s = history_at(h, user, N_WRITES);
    if (snapshot != 0) assert_reader(l, h, user, (unsigned)snapshot);
    if (s <= snapshot || h->deleted[s] || user % 3 == 0) {
      assert_reader(l, h, user, N_WRITES);
      continue;
    }
    nay_status status =
        nay_sst_lookup_get(l->lookup, key, number_key(user, key), NAY_SST_NEWEST, NULL, &v, NULL);
    assert_status(status, user % 3 == 1 ? NAY_ENOENT : NAY_OK);
    if (status == NAY_OK) {
      assert_int_equal(v.len, 200 + user * 5);
      for (size_t i = 0; i < v.len; i++) assert_int_equal(((const char *)v.bytes)[i], 'x');
    }
    nay_sst_value_free(&v);
  }
}

static void a_filter_drops_and_changes(void **state) {
  (void)state;
  history h;
  inputs in;
  static outputs out;
  history_make(&h, 3);
  inputs_make(&h, &in);
  for (unsigned i = 0; i < 4; i++) {
    uint64_t snapshots[] = {N_WRITES - 300};
    bool bottom = i % 2 != 0, snapshot = i / 2 != 0;
    verdicts all = {.h = &h, .newest_snapshot = snapshot ? snapshots[0] : 0};
    nay_sst_compact_stats stats = {.size = sizeof stats};
    nay_sst_compact_options how = {.size = sizeof how,
                                   .bottom = bottom,
                                   .snapshots = snapshots,
                                   .nsnapshots = snapshot,
                                   .filter = decide,
                                   .filter_ctx = &all};
    out = (outputs){.n = 0};
    nay_sst_outputs to = outputs_of(&out);
    assert_ok(nay_sst_compact_to(in.at, N_TABLES, &to, &how, NULL, NULL, &stats));
    level l;
    level_open(&out, &l);
    check_filtered(&h, &l, snapshot ? snapshots[0] : 0);
    assert_true(all.offered[0] > 10 && all.offered[1] > 10 && all.offered[2] > 10);
    assert_int_equal(stats.read,
                     stats.written + stats.superseded + stats.deletions + stats.filtered);
    /* gone without a trace only if nothing can be below */
    assert_int_equal(stats.filtered, bottom && !snapshot ? all.offered[1] : 0);
    level_free(&l);
    outputs_remove(&out);
  }
  nay_sst_compact_options plain = {sizeof plain, .filter = decide};
  char path[TEMP_MAX];
  write_even(temp_path(path, "plain.ldb"), NULL, 10);
  nay_sst *t = open_table(path, NULL);
  const nay_sst *one[] = {t};
  assert_status(nay_sst_compact(one, 1, path, &plain, NULL, NULL, NULL), NAY_EINVAL);
  nay_sst_free(t);
  unlink(path);
  inputs_free(&in);
}

/* ---- merge operands ---- */

/* Each write of the history is a value "=s", a deletion, or an operand "+s"; a reader sees the
 * value below and all operands above it, oldest first: "=3+7+9". */
static nay_status append(void *ctx, const nay_sst_operands *o, void *out, size_t cap, size_t *len) {
  (*(unsigned *)ctx)++;
  assert_true(o->newer_len > 0 && ((const char *)o->newer)[0] == '+');
  if (!o->base) assert_int_equal(((const char *)o->older)[0], '+');
  return append_operator(ctx, o, out, cap, len);
}

static bool is_operand(unsigned s) { return nay_hash_mix(s) % 3 != 0; }

static void operands_write(const history *h, unsigned a, unsigned b, const char *path) {
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(path, &internal_keys, NULL, NULL, &w));
  for (unsigned user = 0; user < N_USERS; user++) {
    char key[32], value[32];
    for (unsigned s = b; s >= a; s--) {
      if (h->user[s] != user) continue;
      nay_sst_entry v = {.size = sizeof v, .key = key, .len = number_key(user, key)};
      v.sequence = s;
      bool operand = is_operand(s);
      v.type = h->deleted[s] ? NAY_SST_DELETE : operand ? NAY_SST_MERGE : NAY_SST_PUT;
      int len = h->deleted[s] ? 0 : snprintf(value, sizeof value, "%c%u", operand ? '+' : '=', s);
      assert_ok(nay_sst_writer_add_entry(w, &v, value, (size_t)len, NULL));
    }
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
}

/* What a reader sees, by the model. false: nothing. */
static bool operands_at(const history *h, unsigned user, unsigned moment, char text[4096]) {
  unsigned writes[N_WRITES], n = 0;
  for (unsigned s = moment; s > 0; s--) {
    if (h->user[s] != user) continue;
    if (h->deleted[s]) break;
    writes[n++] = s;
    if (!is_operand(s)) break;
  }
  size_t len = 0;
  for (unsigned i = n; i-- > 0;) {
    char type = is_operand(writes[i]) ? '+' : '=';
    len += (size_t)snprintf(text + len, 4096 - len, "%c%u", type, writes[i]);
  }
  return n != 0;
}

/* The same by a lookup over the table: operands are left where a stripe ends. */
static bool operands_in(const nay_sst_lookup *l, unsigned user, unsigned moment, char text[4096]) {
  char key[32];
  nay_sst_value v = {.size = sizeof v};
  nay_status status = nay_sst_lookup_get(l, key, number_key(user, key), moment, NULL, &v, NULL);
  text[0] = 0;
  if (status == NAY_OK) snprintf(text, 4096, "%.*s", (int)v.len, (const char *)v.bytes);
  if (status != NAY_OK) assert_status(status, NAY_ENOENT);
  nay_sst_value_free(&v);
  return status == NAY_OK;
}

static void operands_are_combined(void **state) {
  (void)state;
  char paths[2][TEMP_MAX], path[TEMP_MAX];
  history h;
  history_make(&h, 11);
  operands_write(&h, N_WRITES / 2 + 1, N_WRITES, temp_path(paths[0], "op0.ldb"));
  operands_write(&h, 1, N_WRITES / 2, temp_path(paths[1], "op1.ldb"));
  const nay_sst *t[] = {open_table(paths[0], &read_internal), open_table(paths[1], &read_internal)};
  temp_path(path, "operands.ldb");
  for (unsigned i = 0; i < 4; i++) {
    uint64_t snapshots[] = {500, 2200};
    unsigned calls = 0;
    nay_sst_compact_stats stats = {.size = sizeof stats};
    nay_sst_compact_options how = {.size = sizeof how,
                                   .bottom = i % 2 != 0,
                                   .snapshots = snapshots,
                                   .nsnapshots = i / 2 != 0 ? 2 : 0,
                                   .merge = append,
                                   .merge_ctx = &calls};
    assert_ok(nay_sst_compact(t, 2, path, &how, NULL, NULL, &stats));
    assert_int_equal(stats.read, N_WRITES);
    assert_int_equal(stats.read, stats.written + stats.superseded + stats.deletions + stats.merged);
    assert_true(calls >= stats.merged && stats.merged > 100);
    nay_sst *all = open_table(path, &read_internal);
    nay_sst_lookup *l;
    nay_sst_lookup_level one = {sizeof one, .tables = (const nay_sst *const *)&all, .n = 1};
    nay_sst_lookup_options read = {sizeof read, .merge = append, .merge_ctx = &calls};
    assert_ok(nay_sst_lookup_new(&one, 1, &read, NULL, NULL, &l));
    for (unsigned user = 0; user < N_USERS; user++) {
      for (size_t k = 0; k <= how.nsnapshots; k++) {
        char want[4096] = "", got[4096];
        unsigned moment = k == how.nsnapshots ? N_WRITES : (unsigned)snapshots[k];
        bool some = operands_at(&h, user, moment, want);
        assert_int_equal(operands_in(l, user, moment, got), some);
        assert_string_equal(got, want);
      }
    }
    nay_sst_lookup_free(l);
    nay_sst_free(all);
  }
  assert_status(nay_sst_compact(t, 2, path, NULL, NULL, NULL, NULL), NAY_ENOTSUP);
  unlink(path);
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
}

/* At the bottom without snapshots every key is one value, which nay_sst_get reads. An operand that
 * was not combined is an error there, not a value. */
static nay_status refuse(void *ctx, const nay_sst_operands *o, void *out, size_t room,
                         size_t *len) {
  (void)ctx, (void)o, (void)out, (void)room, (void)len;
  return NAY_ECORRUPT;
}

static void an_operand_is_no_value(void **state) {
  (void)state;
  char path[TEMP_MAX], done[TEMP_MAX];
  nay_sst_writer *w;
  nay_sst_value v = {.size = sizeof v};
  unsigned calls = 0;
  nay_diag diag = {.what = NULL};
  assert_ok(nay_sst_writer_new(temp_path(path, "operand.ldb"), &internal_keys, NULL, NULL, &w));
  nay_sst_entry one = {
      .size = sizeof one, .key = "k", .len = 1, .sequence = 5, .type = NAY_SST_MERGE};
  assert_ok(nay_sst_writer_add_entry(w, &one, "+5", 2, NULL));
  one.sequence = 4;
  one.type = (nay_sst_entry_type)3;
  assert_status(nay_sst_writer_add_entry(w, &one, "", 0, NULL), NAY_EINVAL); /* no type */
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst *t = open_table(path, &read_internal);
  const nay_sst *only[] = {t};
  assert_status(nay_sst_get(t, "k", 1, NAY_SST_NEWEST, NULL, &v), NAY_ENOTSUP);
  temp_path(done, "done.ldb");
  nay_sst_compact_options how = {
      .size = sizeof how, .bottom = true, .merge = refuse, .merge_ctx = &calls};
  assert_status(nay_sst_compact(only, 1, done, &how, NULL, &diag, NULL), NAY_ECORRUPT);
  assert_non_null(diag.what);
  how.merge = append;
  assert_ok(nay_sst_compact(only, 1, done, &how, NULL, NULL, NULL));
  nay_sst_free(t);
  t = open_table(done, &read_internal);
  assert_ok(nay_sst_get(t, "k", 1, NAY_SST_NEWEST, NULL, &v));
  assert_memory_equal(v.bytes, "+5", 2);
  nay_sst_value_free(&v);
  nay_sst_free(t);
  unlink(path);
  unlink(done);
}

/* ---- memory ---- */

static void memory_may_run_out_at_each_call(void **state) {
  (void)state;
  char paths[2][TEMP_MAX];
  history h;
  static outputs out;
  history_make(&h, 11);
  operands_write(&h, N_WRITES / 2 + 1, N_WRITES, temp_path(paths[0], "oom0.ldb"));
  operands_write(&h, 1, N_WRITES / 2, temp_path(paths[1], "oom1.ldb"));
  const nay_sst *t[] = {open_table(paths[0], &read_internal), open_table(paths[1], &read_internal)};
  nay_status status = NAY_ENOMEM;
  for (long at = 0; status == NAY_ENOMEM; at++) {
    flaky heap = {.fail_at = at};
    nay_allocator a = flaky_allocator(&heap);
    unsigned calls = 0;
    nay_diag diag = {.what = NULL};
    nay_sst_compact_options how = {.size = sizeof how,
                                   .write = &internal_keys,
                                   .target_bytes = 20000,
                                   .range_bytes = 20000,
                                   .merge = append,
                                   .merge_ctx = &calls};
    out = (outputs){.n = 0};
    nay_sst_outputs to = outputs_of(&out);
    status = nay_sst_compact_to(t, 2, &to, &how, &a, &diag, NULL);
    assert_true(flaky_is_clean(&heap));
    if (status != NAY_OK) assert_non_null(diag.what);
    outputs_remove(&out);
  }
  assert_ok(status);
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_free((nay_sst *)(uintptr_t)t[i]);
    unlink(paths[i]);
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(a_filter_drops_and_changes),
      TEST(operands_are_combined),
      TEST(an_operand_is_no_value),
      TEST(memory_may_run_out_at_each_call),
  };
  return run_all(tests);
}
