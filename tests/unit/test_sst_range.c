/*
 * test_sst_range.c - range filters in tables: scans with bounds give what they give without the
 * filter, entry by entry, in both directions, and read fewer blocks; the counters; damage.
 */
#include "nay_range.h"
#include "nay_sst_compact.h"
#include "nay_sst_lookup.h"
#include "support/sst_blocks.h"
#include "support/sst_numbers.h"
#include "support/sst_own_io.h"
#include "support/sst_seal.h"

#define MAX_TABLES 6u
#define MAX_KEYS 160u

/* ---- tables of random versions ---- */

/* range_form: how the keys of a model end in numbers. */
typedef enum range_form {
  FORM_BE8,
  FORM_BE4,
  FORM_DECIMAL,
  FORM_PREFIX_BE8,
  FORM_MIXED,
  FORMS
} range_form;

typedef struct range_key {
  uint8_t at[32];
  size_t len;
} range_key;

static uint64_t rng;

static uint64_t test_random(uint64_t *state) { return nay_hash_mix(*state += 0x9e3779b97f4a7c15u); }

static uint64_t draw(uint64_t n) { return test_random(&rng) % n; }

static range_key key_of(range_form form, uint64_t number) {
  range_key k = {.len = 0};
  uint64_t prefix = number / 1000 % 3, v = number % 1000 * 7;
  switch (form) {
    case FORM_BE8:
    case FORM_BE4:
      v = number * 5;
      k.len = form == FORM_BE8 ? 8 : 4;
      for (size_t i = 0; i < k.len; i++) k.at[i] = (uint8_t)(v >> 8 * (k.len - 1 - i));
      return k;
    case FORM_PREFIX_BE8:
      k.len = (size_t)snprintf((char *)k.at, sizeof k.at, "user:%u:", (unsigned)prefix);
      for (size_t i = 0; i < 8; i++) k.at[k.len + i] = (uint8_t)(v >> 8 * (7 - i));
      k.len += 8;
      return k;
    case FORM_MIXED: /* numbers of several lengths, and keys without any */
      if (number % 97 == 0) {
        k.len = (size_t)snprintf((char *)k.at, sizeof k.at, "user:%u:note", (unsigned)prefix);
      } else {
        k.len = (size_t)snprintf((char *)k.at, sizeof k.at, "user:%u:%u", (unsigned)prefix,
                                 (unsigned)v);
      }
      return k;
    default:
      k.len = (size_t)snprintf((char *)k.at, sizeof k.at, "user:%u:%06u", (unsigned)prefix,
                               (unsigned)v);
      return k;
  }
}

static nay_params params_of(range_form form) {
  nay_params p = {.size = sizeof p, .fpr = 0.01, .range_length = 40, .seed = rng};
  if (form == FORM_BE4) p.range_keys = NAY_RANGE_BE4;
  if (form == FORM_DECIMAL || form == FORM_MIXED) p.range_keys = NAY_RANGE_DECIMAL;
  if (form > FORM_BE4) p.range_delimiter = ':';
  return p;
}

typedef struct range_entry {
  range_key key;
  uint64_t sequence;
  unsigned type; /* 0: deletion, 1: value, 2: operand */
} range_entry;

static int by_key(const void *x, const void *y) {
  const range_entry *a = x, *b = y;
  int order = nay_sst_compare(NULL, a->key.at, a->key.len, b->key.at, b->key.len);
  if (order != 0) return order;
  return (a->sequence < b->sequence) - (a->sequence > b->sequence);
}

/* A table of n entries with numbers in [low, low + span), and with sequence numbers from `first`.
 */
static uint8_t *make_table(range_form form, uint64_t low, uint64_t span, size_t n, uint64_t first,
                           bool internal, range_entry *entries, size_t *nentries, size_t *len) {
  for (size_t i = 0; i < n; i++) {
    entries[i] = (range_entry){key_of(form, low + draw(span)), first + i, (unsigned)draw(4) % 3};
    if (!internal) entries[i].type = 1;
  }
  qsort(entries, n, sizeof *entries, by_key);
  nay_params range = params_of(form);
  nay_sst_write_options how = {sizeof how,
                               .filter = draw(2) == 0 ? NAY_SST_FULL_FILTER : NAY_SST_NO_FILTER,
                               .block_bytes = 120,
                               .range = &range,
                               .properties = draw(2) == 0,
                               .keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN};
  nay_sst_memory *memory;
  nay_sst_target sink = {.size = sizeof sink};
  nay_sst_writer *w;
  assert_ok(nay_sst_memory_new(NULL, &memory));
  assert_ok(nay_sst_memory_target(memory, &sink));
  assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
  *nentries = 0;
  for (size_t i = 0; i < n; i++) {
    range_entry *e = &entries[i];
    if (!internal && i > 0 && entries[*nentries - 1].key.len == e->key.len &&
        memcmp(entries[*nentries - 1].key.at, e->key.at, e->key.len) == 0) {
      continue;
    }
    char value[24];
    int value_len = snprintf(value, sizeof value, "v%u.", (unsigned)e->sequence);
    if (internal) {
      nay_sst_entry v = {sizeof v, e->key.at, e->key.len, e->sequence,
                         .type = e->type == 0   ? NAY_SST_DELETE
                                 : e->type == 2 ? NAY_SST_MERGE
                                                : NAY_SST_PUT};
      assert_ok(nay_sst_writer_add_entry(w, &v, value, e->type == 0 ? 0 : (size_t)value_len, NULL));
    } else {
      assert_ok(nay_sst_writer_add(w, e->key.at, e->key.len, value, (size_t)value_len, NULL));
    }
    entries[(*nentries)++] = *e;
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  const void *bytes = nay_sst_memory_bytes(memory, len);
  uint8_t *copy = malloc(*len);
  assert_non_null(copy);
  memcpy(copy, bytes, *len);
  nay_sst_memory_free(memory);
  return copy;
}

typedef struct model {
  range_form form;
  bool internal;
  size_t n;
  uint8_t *bytes[MAX_TABLES];
  size_t lens[MAX_TABLES];
  range_entry entries[MAX_TABLES][MAX_KEYS];
  size_t nentries[MAX_TABLES];
  nay_sst *with[MAX_TABLES], *without[MAX_TABLES];
  nay_sst_lookup *l_with, *l_without;
  nay_sst_cache *cache;
} model;

static void model_open(model *m, bool disjoint) {
  nay_sst_read_options none = {.size = sizeof none, .flags = NAY_SST_NO_FILTERS};
  nay_sst_read_options how = {.size = sizeof how};
  nay_sst_cache_options room = {
      .size = sizeof room, .data_bytes = 1u << 20, .filter_bytes = 1u << 18};
  if (draw(2) == 0) {
    assert_ok(nay_sst_cache_new(&room, NULL, NULL, &m->cache));
    how.cache = m->cache;
    how.flags = draw(2) == 0 ? NAY_SST_BUDGETED : NAY_SST_BUDGETED | NAY_SST_PINNED;
  }
  for (size_t i = 0; i < m->n; i++) {
    nay_sst_info info = {.size = sizeof info};
    assert_ok(nay_sst_view(m->bytes[i], m->lens[i], &how, NULL, NULL, &m->with[i]));
    assert_ok(nay_sst_view(m->bytes[i], m->lens[i], &none, NULL, NULL, &m->without[i]));
    assert_ok(nay_sst_stats(m->with[i], &info));
    assert_true(info.range_used);
    assert_true(info.range_bytes != 0);
  }
  nay_sst_lookup_level level = {sizeof level, (const nay_sst *const *)m->with, m->n, disjoint};
  nay_sst_lookup_options merges = {sizeof merges, .merge = append_operands};
  assert_ok(nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &m->l_with));
  level.tables = (const nay_sst *const *)m->without;
  assert_ok(nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &m->l_without));
}

static void model_make(model *m, range_form form) {
  memset(m, 0, sizeof *m);
  bool disjoint = draw(2) == 0;
  m->form = form;
  m->internal = draw(3) != 0;
  m->n = 1 + (size_t)draw(MAX_TABLES);
  for (size_t i = 0; i < m->n; i++) {
    /* of a disjoint level each table has numbers of its own, in the order of bytes too */
    uint64_t low = disjoint ? i * 150 : draw(300), span = disjoint ? 150 : 50 + draw(600);
    if (form == FORM_MIXED && disjoint) low = 0, span = 3000, m->n = 1;
    m->bytes[i] = make_table(form, low, span, 1 + (size_t)draw(MAX_KEYS), 1 + (m->n - i) * 1000,
                             m->internal, m->entries[i], &m->nentries[i], &m->lens[i]);
  }
  model_open(m, disjoint);
}

static void model_free(model *m) {
  nay_sst_lookup_free(m->l_with);
  nay_sst_lookup_free(m->l_without);
  for (size_t i = 0; i < m->n; i++) {
    nay_sst_free(m->with[i]);
    nay_sst_free(m->without[i]);
    free(m->bytes[i]);
  }
  nay_sst_cache_free(m->cache);
}

/* Two keys near those of the tables, in order or not. */
static void draw_bounds(const model *m, range_key *from, range_key *to) {
  uint64_t at = draw(1100), length = draw(3) == 0 ? draw(900) : draw(8);
  *from = key_of(m->form, at);
  *to = key_of(m->form, at + length);
  range_key *ends[] = {from, to};
  for (unsigned i = 0; i < 2; i++) {
    size_t last = ends[i]->len - 1;
    if (draw(2) == 0) ends[i]->at[last] = (uint8_t)(ends[i]->at[last] + draw(3));
    if (draw(20) == 0) ends[i]->len = (size_t)draw(ends[i]->len + 1);
    if (draw(20) == 0) ends[i]->at[ends[i]->len++] = (uint8_t)draw(256);
  }
}

/* ---- one table ---- */

static size_t model_count(const model *m, size_t table, const range_key *from,
                          const range_key *to) {
  size_t n = 0;
  for (size_t i = 0; i < m->nentries[table]; i++) {
    const range_key *k = &m->entries[table][i].key;
    n += nay_sst_compare(NULL, k->at, k->len, from->at, from->len) >= 0 &&
         nay_sst_compare(NULL, k->at, k->len, to->at, to->len) < 0;
  }
  return n;
}

/* Every entry of the range is met; no block is read for a nay; the counters count. */
static void check_one(const model *m, size_t table, uint64_t *nays) {
  range_key from, to;
  nay_sst_iter *it;
  nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
  draw_bounds(m, &from, &to);
  size_t want = model_count(m, table, &from, &to), n = 0;
  assert_ok(nay_sst_iter_new(m->with[table], NULL, &it));
  table_counts(m->with[table], &before);
  nay_status status = nay_sst_iter_seek_range(it, from.at, from.len, to.at, to.len);
  table_counts(m->with[table], &after);
  bool asked = after.range_checks != before.range_checks;
  bool nay = after.range_useful != before.range_useful;
  bool wrong = after.range_false_positives != before.range_false_positives;
  if (nay) assert_int_equal(after.block_reads, before.block_reads);
  if (nay) assert_int_equal(want, 0);
  assert_int_equal(wrong, asked && !nay && want == 0);
  *nays += nay;
  for (; status == NAY_OK; status = nay_sst_iter_next(it)) n++;
  assert_status(status, NAY_EEND);
  assert_int_equal(n, want);
  nay_sst_iter_free(it);
}

/* ---- many tables ---- */

static void same_entry(const nay_sst_scan *a, const nay_sst_scan *b) {
  size_t a_len, b_len;
  nay_sst_entry x = {.size = sizeof x}, y = {.size = sizeof y};
  assert_ok(nay_sst_scan_entry(a, &x));
  assert_ok(nay_sst_scan_entry(b, &y));
  assert_int_equal(x.len, y.len);
  assert_memory_equal(x.key, y.key, x.len);
  assert_int_equal(x.sequence, y.sequence);
  assert_int_equal(x.type, y.type);
  const void *v = nay_sst_scan_value(a, &a_len), *w = nay_sst_scan_value(b, &b_len);
  assert_int_equal(a_len, b_len);
  assert_memory_equal(v, w, a_len);
}

/* The same moves over the tables with and without their filters. */
static void check_moves(const model *m, nay_sst_scan *a, nay_sst_scan *b) {
  for (unsigned i = 0; i < 12; i++) {
    range_key from, to;
    nay_status x, y;
    draw_bounds(m, &from, &to);
    switch (draw(6)) {
      case 0: x = nay_sst_scan_first(a), y = nay_sst_scan_first(b); break;
      case 1: x = nay_sst_scan_last(a), y = nay_sst_scan_last(b); break;
      case 2:
        x = nay_sst_scan_seek(a, from.at, from.len), y = nay_sst_scan_seek(b, from.at, from.len);
        break;
      case 3:
        x = nay_sst_scan_seek_for_prev(a, from.at, from.len);
        y = nay_sst_scan_seek_for_prev(b, from.at, from.len);
        break;
      case 4: x = nay_sst_scan_next(a), y = nay_sst_scan_next(b); break;
      default: x = nay_sst_scan_prev(a), y = nay_sst_scan_prev(b); break;
    }
    assert_status(x, y);
    for (unsigned steps = (unsigned)draw(6); x == NAY_OK; steps--) {
      same_entry(a, b);
      if (steps == 0) break;
      bool forward = draw(3) != 0;
      x = forward ? nay_sst_scan_next(a) : nay_sst_scan_prev(a);
      assert_status(x, forward ? nay_sst_scan_next(b) : nay_sst_scan_prev(b));
    }
  }
}

static void check_scan(const model *m) {
  range_key from, to;
  draw_bounds(m, &from, &to);
  uint64_t sequence = draw(8000);
  nay_sst_scan_options how = {sizeof how, .upper = to.at, .upper_len = to.len};
  if (draw(4) != 0) how.lower = from.at, how.lower_len = from.len;
  if (m->internal && draw(3) == 0) how.sequence = &sequence;
  how.keep_deletions = draw(3) == 0;
  how.all_versions = draw(4) == 0;
  nay_sst_scan *a, *b;
  assert_ok(nay_sst_scan_new(m->l_with, &how, NULL, NULL, &a));
  assert_ok(nay_sst_scan_new(m->l_without, &how, NULL, NULL, &b));
  nay_status x = nay_sst_scan_first(a), y = nay_sst_scan_first(b);
  while (x == NAY_OK) {
    same_entry(a, b);
    x = nay_sst_scan_next(a), y = nay_sst_scan_next(b);
    assert_status(x, y);
  }
  assert_status(x, y);
  check_moves(m, a, b);
  nay_sst_scan_free(a);
  nay_sst_scan_free(b);
}

static void as_without(void **state) {
  range_form form = *(const range_form *)*state;
  uint64_t nays = 0;
  rng = 100 + form;
  for (unsigned round = 0; round < TEST_SCALE(150); round++) {
    model m;
    nay_sst_counters sum = {.size = sizeof sum};
    model_make(&m, form);
    for (unsigned i = 0; i < 60; i++) check_one(&m, (size_t)draw(m.n), &nays);
    for (unsigned i = 0; i < 60; i++) check_scan(&m);
    assert_ok(nay_sst_lookup_stats(m.l_with, &sum));
    assert_true(sum.range_useful + sum.range_false_positives <= sum.range_checks);
    model_free(&m);
  }
  if (form != FORM_MIXED) assert_true(nays > TEST_SCALE(150) * 5);
}

/* ---- what a range must see ---- */

/* A deletion and an operand in the newer table are keys of its filter. */
static void deletions_are_seen(void **unused) {
  (void)unused;
  char paths[2][TEMP_MAX];
  nay_params range = {.size = sizeof range, .fpr = 0.001, .range_length = 10};
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .range = &range};
  nay_sst *t[2];
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_writer *w;
    assert_ok(nay_sst_writer_new(temp_path(paths[i], i == 0 ? "new.ldb" : "old.ldb"), &how, NULL,
                                 NULL, &w));
    for (uint64_t k = 0; k < 300; k++) {
      uint8_t key[8];
      nay_sst_entry v = {sizeof v, nay_range_key(k * 100, key), 8, i == 0 ? 10 : 5, NAY_SST_PUT, 0};
      if (i == 0 && k % 3 != 2) v.type = k % 3 == 0 ? NAY_SST_DELETE : NAY_SST_MERGE;
      if (i == 0 && k % 3 == 2) continue;
      assert_ok(nay_sst_writer_add_entry(w, &v, i == 0 ? "+" : "x",
                                         v.type == NAY_SST_DELETE ? 0 : 1, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    assert_ok(nay_sst_open(paths[i], NULL, NULL, NULL, &t[i]));
  }
  nay_sst_lookup_level level = {sizeof level, (const nay_sst *const *)t, 2, false};
  nay_sst_lookup_options merges = {sizeof merges, .merge = append_operands};
  nay_sst_lookup *l;
  assert_ok(nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &l));
  for (uint64_t k = 0; k < 300; k++) {
    uint8_t from[8], to[8];
    nay_sst_scan_options bounds = {sizeof bounds, .lower = nay_range_key(k * 100, from),
                                   .lower_len = 8, .upper = nay_range_key(k * 100 + 5, to),
                                   .upper_len = 8};
    nay_sst_scan *s;
    size_t len;
    assert_ok(nay_sst_scan_new(l, &bounds, NULL, NULL, &s));
    assert_status(nay_sst_scan_first(s), k % 3 == 0 ? NAY_EEND : NAY_OK);
    if (k % 3 != 0) {
      const void *value = nay_sst_scan_value(s, &len);
      assert_int_equal(len, k % 3 == 1 ? 2 : 1);
      assert_memory_equal(value, "x+", len);
    }
    nay_sst_scan_free(s);
  }
  nay_sst_lookup_free(l);
  /* a compaction builds the filter of what it keeps */
  char out[TEMP_MAX];
  nay_sst_write_options write = {sizeof write, .range = &range};
  nay_sst_compact_options compact = {
      .size = sizeof compact, .write = &write, .bottom = true, .merge = append_operands};
  assert_ok(nay_sst_compact((const nay_sst *const *)t, 2, temp_path(out, "all.ldb"), &compact, NULL,
                            NULL, NULL));
  nay_sst *all;
  nay_sst_info info = {.size = sizeof info};
  uint64_t nentries, ndenied;
  assert_ok(nay_sst_open(out, NULL, NULL, NULL, &all));
  assert_ok(nay_sst_stats(all, &info));
  assert_true(info.range_used);
  assert_ok(nay_sst_verify(all, NULL, &nentries, &ndenied));
  assert_int_equal(nentries, 200);
  assert_int_equal(ndenied, 0);
  nay_sst_free(all);
  unlink(out);
  for (unsigned i = 0; i < 2; i++) {
    nay_sst_free(t[i]);
    unlink(paths[i]);
  }
}

/* ---- damage, and tables that are not what the filter was built for ---- */

#define N_PLAIN 500u

/* Even numbers below 2 * N_PLAIN * 50, as 8 bytes. */
static uint8_t *plain_table(const nay_params *range, nay_sst_filter_layout layout, size_t *len) {
  char path[TEMP_MAX];
  nay_sst_write_options how = {sizeof how, .filter = layout, .range = range, .block_bytes = 400};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "plain.ldb"), &how, NULL, NULL, &w));
  for (uint64_t i = 0; i < N_PLAIN; i++) {
    uint8_t key[8];
    assert_ok(nay_sst_writer_add(w, nay_range_key(i * 100, key), 8, "v", 1, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  uint8_t *bytes = sample_read(path, len);
  unlink(path);
  return bytes;
}

/* Scans of ten numbers, with a key and without; the answers are right. */
static void check_plain(const nay_sst *t, nay_sst_counters *counters) {
  nay_sst_iter *it;
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (uint64_t i = 0; i < N_PLAIN; i++) {
    uint8_t from[8], to[8];
    nay_range_key(i * 100 - (i != 0 ? 5 : 0), from), nay_range_key(i * 100 + 5, to);
    assert_status(nay_sst_iter_seek_range(it, from, 8, to, 8), NAY_OK);
    nay_range_key(i * 100 + 20, from), nay_range_key(i * 100 + 30, to);
    assert_status(nay_sst_iter_seek_range(it, from, 8, to, 8), NAY_EEND);
  }
  nay_sst_iter_free(it);
  table_counts(t, counters);
}

static nay_handle range_block(const uint8_t *bytes, size_t len) {
  nay_footer f;
  nay_handle h;
  size_t at = len - (sizeof "nay.range" - 1);
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  while (memcmp(bytes + at, "nay.range", 9) != 0) at--;
  assert_non_null(nay_sst__handle_load(bytes + at + 9, bytes + len, &h));
  return h;
}

static const uint32_t read_ways[] = {0, NAY_SST_BUDGETED, NAY_SST_BUDGETED | NAY_SST_PINNED};

static void check_ways(const uint8_t *bytes, size_t len, bool used, bool fault) {
  for (size_t i = 0; i < sizeof read_ways / sizeof *read_ways; i++) {
    nay_sst_cache *cache;
    nay_sst_cache_options room = {
        .size = sizeof room, .data_bytes = 1u << 20, .filter_bytes = 1u << 20};
    assert_ok(nay_sst_cache_new(&room, NULL, NULL, &cache));
    nay_sst_read_options how = {
        .size = sizeof how, .flags = read_ways[i], .cache = i != 0 ? cache : NULL};
    nay_sst *t;
    nay_sst_info info = {.size = sizeof info};
    nay_sst_counters counters = {.size = sizeof counters};
    assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
    assert_ok(nay_sst_stats(t, &info));
    assert_int_equal(info.range_used, used);
    check_plain(t, &counters);
    assert_int_equal(counters.filter_faults != 0, fault);
    assert_int_equal(counters.range_checks != 0, used);
    if (used) assert_true(counters.range_useful > N_PLAIN * 9 / 10);
    nay_sst_free(t);
    nay_sst_cache_free(cache);
  }
}

static void damaged_filters(void **unused) {
  (void)unused;
  nay_params range = {.size = sizeof range, .fpr = 0.001, .range_length = 10};
  size_t len;
  uint8_t *bytes = plain_table(&range, NAY_SST_FULL_FILTER, &len);
  check_ways(bytes, len, true, false);
  nay_handle h = range_block(bytes, len);
  for (uint64_t at = h.offset; at < h.offset + h.size + NAY_BLOCK_TRAILER; at += 37) {
    bytes[at] ^= 0x10;
    check_ways(bytes, len, false, true);
    bytes[at] ^= 0x10;
  }
  /* with checksums that fit, but for those of the filter itself */
  for (uint64_t at = h.offset; at < h.offset + h.size; at += 41) {
    uint8_t *copy = malloc(len);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    copy[at] ^= 0x10;
    seal_named(copy, len, "nay.range");
    check_ways(copy, len, false, true);
    free(copy);
  }
  free(bytes);
}

/* The file with another metaindex: the entry `from` is named `to` (NULL: left out), and `more` is a
 * further one with the handle of the range filter. */
static uint8_t *with_meta(const uint8_t *bytes, size_t len, const char *from, const char *to,
                          const char *more, size_t *new_len) {
  nay_allocator a = nay__allocator_default();
  nay_footer f;
  nay_buffer out = {NULL, 0, 0};
  nay_block_builder b = {.interval = 1};
  nay_cursor c = {.order = NAY_BYTEWISE, .allocator = &a};
  uint8_t footer[NAY_FOOTER];
  assert_ok(nay_sst__footer_load(bytes, len, len, NULL, &f));
  assert_ok(nay__buffer_append(&out, bytes, (size_t)f.metaindex.offset, &a));
  assert_ok(
      nay_sst__block_open(bytes + f.metaindex.offset, (size_t)f.metaindex.size, NULL, &c.block));
  assert_ok(nay_sst__block_reset(&b, &a));
  nay_status status = nay_sst__cursor_first(&c, NULL);
  for (; status == NAY_OK; status = nay_sst__cursor_next(&c, NULL)) {
    bool renamed = c.key.len == strlen(from) && memcmp(c.key.at, from, c.key.len) == 0;
    if (renamed && to == NULL) continue;
    const uint8_t *name = renamed ? (const uint8_t *)to : c.key.at;
    assert_ok(nay_sst__block_add(&b, name, renamed ? strlen(to) : c.key.len, 0, c.entry.value,
                                 c.entry.value_len, &a));
  }
  if (more != NULL) add_entry(&b, more, range_block(bytes, len), &a);
  f.metaindex = put_block(&out, &b, &a);
  nay_handle index = {out.len, f.index.size};
  assert_ok(nay__buffer_append(&out, bytes + f.index.offset,
                               (size_t)f.index.size + NAY_BLOCK_TRAILER, &a));
  f.index = index;
  nay_sst__footer_store(footer, &f);
  assert_ok(nay__buffer_append(&out, footer, sizeof footer, &a));
  uint8_t *copy = malloc(out.len);
  assert_non_null(copy);
  memcpy(copy, out.at, out.len);
  *new_len = out.len;
  nay__buffer_free(&out, &a);
  nay__buffer_free(&c.key, &a);
  nay_sst__block_builder_free(&b, &a);
  return copy;
}

/* Another kind of filter behind the name; range deletions beside it; no statement of the keys. */
static void other_tables(void **unused) {
  (void)unused;
  nay_params range = {.size = sizeof range, .fpr = 0.001, .range_length = 10};
  size_t len, n;
  uint8_t *bytes = plain_table(&range, NAY_SST_FULL_FILTER, &len);
  uint8_t *copy = with_meta(bytes, len, "nay.full.nay.filter.v1", "nay.range", NULL, &n);
  check_ways(copy, n, false, true);
  free(copy);
  copy = with_meta(bytes, len, "", "", "rocksdb.range_del", &n);
  nay_sst *t;
  assert_status(nay_sst_view(copy, n, NULL, NULL, NULL, &t), NAY_ENOTSUP);
  free(copy);
  copy = with_meta(bytes, len, "nay.keys", NULL, NULL, &n);
  nay_sst_counters counters = {.size = sizeof counters};
  nay_sst_read_options how = {.size = sizeof how, .keys = NAY_SST_KEYS_PLAIN};
  assert_ok(nay_sst_view(copy, n, &how, NULL, NULL, &t));
  check_plain(t, &counters);
  assert_int_equal(counters.range_checks, 0);
  nay_sst_free(t);
  free(copy);
  how.flags = NAY_SST_NO_FILTERS;
  assert_ok(nay_sst_view(bytes, len, &how, NULL, NULL, &t));
  check_plain(t, &counters);
  assert_int_equal(counters.range_checks, 0);
  nay_sst_free(t);
  free(bytes);
}

/* Opened as plain keys, an internal key is 8 bytes longer than what the filter knows. */
static void keys_read_otherwise(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_params range = {.size = sizeof range, .fpr = 0.001, .range_length = 10};
  nay_sst_write_options how = {sizeof how, .keys = NAY_SST_KEYS_INTERNAL, .range = &range};
  nay_sst_writer *w;
  assert_ok(nay_sst_writer_new(temp_path(path, "as-plain.ldb"), &how, NULL, NULL, &w));
  for (uint64_t i = 0; i < 100; i++) {
    uint8_t key[8];
    nay_sst_entry v = {sizeof v, nay_range_key(i * 1000, key), 8, 7, NAY_SST_PUT, 0};
    assert_ok(nay_sst_writer_add_entry(w, &v, "v", 1, NULL));
  }
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  nay_sst_read_options plain = {.size = sizeof plain, .keys = NAY_SST_KEYS_PLAIN};
  nay_sst *t;
  nay_sst_iter *it;
  assert_ok(nay_sst_open(path, &plain, NULL, NULL, &t));
  assert_ok(nay_sst_iter_new(t, NULL, &it));
  for (uint64_t i = 0; i < 100; i++) {
    uint8_t from[16] = {0}, to[16];
    nay_range_key(i * 1000, from);
    memset(to, 0xff, sizeof to);
    memcpy(to, from, 8);
    assert_ok(nay_sst_iter_seek_range(it, from, 16, to, 16));
  }
  nay_sst_iter_free(it);
  nay_sst_free(t);
  unlink(path);
}

static void refusals(void **unused) {
  (void)unused;
  char path[TEMP_MAX];
  nay_sst_comparator reverse = {.size = sizeof reverse};
  nay_sst_writer *w;
  nay_diag diag;
  temp_path(path, "refused.ldb");
  assert_ok(nay_sst_comparator_find("rocksdb.ReverseBytewiseComparator", &reverse));
  nay_params good = {.size = sizeof good, .fpr = 0.01, .range_length = 10};
  nay_params bad[] = {
      {sizeof bad[0], .fpr = 0.01},                                          /* no length */
      {sizeof bad[0], .range_length = 10},                                   /* no size */
      {sizeof bad[0], .kind = NAY_BLOCKED, .fpr = 0.01, .range_length = 10}, /* another kind */
      {sizeof bad[0], .fpr = 2, .range_length = 10},                         /* no rate */
      {sizeof bad[0], .fpr = 0.01, .range_length = 10, .range_keys = 7},     /* no form */
      {sizeof bad[0], .fpr = 0.01, .range_length = 10, .range_delimiter = 300},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nay_sst_write_options how = {sizeof how, .range = &bad[i]};
    diag.what = NULL;
    assert_status(nay_sst_writer_new(path, &how, NULL, &diag, &w), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  nay_sst_write_options ordered = {sizeof ordered, .range = &good, .comparator = &reverse};
  assert_status(nay_sst_writer_new(path, &ordered, NULL, &diag, &w), NAY_EINVAL);
  nay_sst_write_options nori = {sizeof nori, .range = &good, .layout = "nori-sst"};
  assert_status(nay_sst_writer_new(path, &nori, NULL, &diag, &w), NAY_EINVAL);
  good.kind = NAY_RANGE;
  nay_sst_write_options full = {sizeof full, .filter = NAY_SST_FULL_FILTER, .params = &good};
  assert_status(nay_sst_writer_new(path, &full, NULL, &diag, &w), NAY_EINVAL);
  nay_params map = {.size = sizeof map, .kind = NAY_MAP, .value_bits = 8};
  full.params = &map;
  assert_status(nay_sst_writer_new(path, &full, NULL, &diag, &w), NAY_EINVAL);
  /* no entries: no filter */
  nay_sst_write_options empty = {sizeof empty, .range = &good};
  nay_sst *t;
  nay_sst_info info = {.size = sizeof info};
  assert_ok(nay_sst_writer_new(path, &empty, NULL, &diag, &w));
  assert_ok(nay_sst_writer_finish(w, NULL));
  nay_sst_writer_free(w);
  assert_ok(nay_sst_open(path, NULL, NULL, NULL, &t));
  assert_ok(nay_sst_stats(t, &info));
  assert_int_equal(info.range_bytes, 0);
  assert_false(info.range_used);
  nay_sst_free(t);
  unlink(path);
}

/* ---- how many blocks are read ---- */

#define N_RUNS 100u
#define N_SCANS 10000u

/* 100 tables that overlap: of short scans that find nothing, one in 50 blocks is left at most. */
static void short_scans(void **unused) {
  (void)unused;
  enum { PER_TABLE = 300 };
  uint8_t *bytes[N_RUNS];
  size_t lens[N_RUNS];
  uint64_t *keys = malloc(N_RUNS * PER_TABLE * sizeof *keys);
  nay_sst *t[2][N_RUNS];
  nay_params range = {.size = sizeof range, .fpr = 0.01, .range_length = 1000};
  assert_non_null(keys);
  rng = 77;
  for (unsigned i = 0; i < N_RUNS; i++) {
    nay_sst_memory *memory;
    nay_sst_target sink = {.size = sizeof sink};
    nay_sst_writer *w;
    nay_sst_write_options how = {sizeof how, .range = &range};
    assert_ok(nay_sst_memory_new(NULL, &memory));
    assert_ok(nay_sst_memory_target(memory, &sink));
    assert_ok(nay_sst_writer_new_target(&sink, &how, NULL, NULL, &w));
    for (unsigned k = 0; k < PER_TABLE; k++) {
      uint8_t key[8];
      uint64_t number = ((uint64_t)k << 40) + (test_random(&rng) >> 24);
      keys[i * PER_TABLE + k] = number;
      assert_ok(nay_sst_writer_add(w, nay_range_key(number, key), 8, "value", 5, NULL));
    }
    assert_ok(nay_sst_writer_finish(w, NULL));
    nay_sst_writer_free(w);
    const void *at = nay_sst_memory_bytes(memory, &lens[i]);
    bytes[i] = malloc(lens[i]);
    assert_non_null(bytes[i]);
    memcpy(bytes[i], at, lens[i]);
    nay_sst_memory_free(memory);
    nay_sst_read_options none = {.size = sizeof none, .flags = NAY_SST_NO_FILTERS};
    assert_ok(nay_sst_view(bytes[i], lens[i], NULL, NULL, NULL, &t[0][i]));
    assert_ok(nay_sst_view(bytes[i], lens[i], &none, NULL, NULL, &t[1][i]));
  }
  uint64_t reads[2];
  for (unsigned way = 0; way < 2; way++) {
    nay_sst_lookup_level level = {sizeof level, (const nay_sst *const *)t[way], N_RUNS, false};
    nay_sst_lookup *l;
    nay_sst_counters before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(nay_sst_lookup_new(&level, 1, NULL, NULL, NULL, &l));
    assert_ok(nay_sst_lookup_stats(l, &before));
    unsigned found = 0;
    uint64_t seed = 5;
    for (unsigned i = 0; i < TEST_SCALE(N_SCANS); i++) {
      uint8_t lo[8], hi[8];
      uint64_t from = test_random(&seed) % ((uint64_t)(PER_TABLE - 2) << 40) + ((uint64_t)1 << 40);
      nay_sst_scan_options how = {sizeof how, .lower = nay_range_key(from, lo), .lower_len = 8,
                                  .upper = nay_range_key(from + 1000, hi), .upper_len = 8};
      nay_sst_scan *s;
      assert_ok(nay_sst_scan_new(l, &how, NULL, NULL, &s));
      found += nay_sst_scan_first(s) == NAY_OK;
      nay_sst_scan_free(s);
    }
    assert_true(found < 5);
    assert_ok(nay_sst_lookup_stats(l, &after));
    reads[way] = after.block_reads - before.block_reads;
    if (way == 0) {
      assert_int_equal(after.range_checks, (uint64_t)TEST_SCALE(N_SCANS) * N_RUNS);
      assert_true(after.range_checks - after.range_useful - after.range_false_positives <= 5);
    }
    nay_sst_lookup_free(l);
  }
  assert_true(reads[1] >= (uint64_t)TEST_SCALE(N_SCANS) * N_RUNS);
  assert_true(reads[0] * 50 <= reads[1]);
  for (unsigned i = 0; i < N_RUNS; i++) {
    nay_sst_free(t[0][i]);
    nay_sst_free(t[1][i]);
    free(bytes[i]);
  }
  free(keys);
}

int main(void) {
  static const range_form forms[FORMS] = {FORM_BE8, FORM_BE4, FORM_DECIMAL, FORM_PREFIX_BE8,
                                          FORM_MIXED};
  const test_case tests[] = {
      TEST_WITH("scans of 8 bytes", as_without, &forms[0]),
      TEST_WITH("scans of 4 bytes", as_without, &forms[1]),
      TEST_WITH("scans of a prefix and digits", as_without, &forms[2]),
      TEST_WITH("scans of a prefix and 8 bytes", as_without, &forms[3]),
      TEST_WITH("scans of digits of several lengths", as_without, &forms[4]),
      TEST(deletions_are_seen),
      TEST(damaged_filters),
      TEST(other_tables),
      TEST(keys_read_otherwise),
      TEST(refusals),
      TEST(short_scans),
  };
  return run_all(tests);
}
