/*
 * fuzz_compact.c - batches of gets and compactions over two untrusted tables, with checksums that
 * fit.
 *
 *   | flags u8 | length of the first table u16le | table | table |
 *
 * Whatever the bytes are: every call comes back; a batch of gets answers as the gets do; and if a
 * compaction succeeds, its outputs have the newest version of each key of the inputs. With the flag
 * 128 there is a merge operator, and walks over the outputs are those over the inputs.
 */
#include "nay_sst_compact.h"
#include "nay_sst_iter.h"
#include "support/sst_seal.h"

#define MOST_KEYS 64u
#define MOST_OUTPUTS 300u

typedef struct inputs {
  nay_sst *tables[2];
  size_t n;
  nay_sst_lookup *lookup;
  nay_sst_merge_operator merge;
  uint8_t *keys[MOST_KEYS]; /* user keys of the tables, and others */
  size_t lens[MOST_KEYS], nkeys;
} inputs;

static void *copy_of(const void *bytes, size_t len) {
  void *p = malloc(len + 1);
  if (p == NULL) abort();
  if (len != 0) memcpy(p, bytes, len);
  return p;
}

static void add_key(inputs *in, const void *key, size_t len) {
  if (in->nkeys == MOST_KEYS) return;
  in->keys[in->nkeys] = copy_of(key, len);
  in->lens[in->nkeys++] = len;
}

static void add_keys(inputs *in, const nay_sst *t) {
  nay_sst_iter *it;
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(t, &info);
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) abort();
  nay_status status = nay_sst_iter_first(it);
  for (unsigned i = 0; status == NAY_OK && i < 25; i++, status = nay_sst_iter_next(it)) {
    size_t len;
    const uint8_t *key = nay_sst_iter_key(it, &len);
    if (info.keys == NAY_SST_KEYS_INTERNAL) len -= 8;
    add_key(in, key, len);
    if (i % 4 == 0 && len != 0) add_key(in, key, len - 1);
  }
  nay_sst_iter_free(it);
}

/* ---- a batch beside gets ---- */

static void check_batch(const inputs *in, uint64_t sequence) {
  static nay_sst_value values[MOST_KEYS];
  nay_status statuses[MOST_KEYS], first = NAY_OK;
  size_t tables[MOST_KEYS];
  for (size_t i = 0; i < in->nkeys; i++) values[i] = (nay_sst_value){.size = sizeof values[i]};
  nay_status all = nay_sst_lookup_get_many(in->lookup, (const void *const *)in->keys, in->lens,
                                           in->nkeys, sequence, NULL, values, statuses, tables);
  for (size_t i = 0; i < in->nkeys; i++) {
    nay_sst_value v = {.size = sizeof v};
    size_t table = 99;
    nay_status status =
        nay_sst_lookup_get(in->lookup, in->keys[i], in->lens[i], sequence, NULL, &v, &table);
    if (status != statuses[i] || v.deleted != values[i].deleted) abort();
    if (status != NAY_ENOENT && table != tables[i]) abort();
    if (status == NAY_OK && (v.len != values[i].len || v.sequence != values[i].sequence)) abort();
    if (status == NAY_OK && v.len != 0 && memcmp(v.bytes, values[i].bytes, v.len) != 0) abort();
    if (first == NAY_OK && status != NAY_ENOENT) first = status;
    nay_sst_value_free(&v);
    nay_sst_value_free(&values[i]);
  }
  if (all != first) abort();
}

/* ---- a compaction beside its inputs ---- */

typedef struct outputs {
  nay_sst_memory *tables[MOST_OUTPUTS];
  size_t n;
  nay_sst_target sink; /* of the last */
} outputs;

static const nay_sst_target *next(void *ctx) {
  outputs *o = ctx;
  if (o->n == MOST_OUTPUTS) return NULL;
  if (nay_sst_memory_new(NULL, &o->tables[o->n]) != NAY_OK) abort();
  o->sink.size = sizeof o->sink;
  if (nay_sst_memory_target(o->tables[o->n++], &o->sink) != NAY_OK) abort();
  return &o->sink;
}

/* The newest version of a key in a table, by an iterator: a get misses a key if an untrusted index
 * separates it from its own versions, as LevelDB's does. */
static nay_status newest_in(const nay_sst *t, const uint8_t *key, size_t len, nay_sst_value *v) {
  nay_sst_iter *it;
  nay_sst_info info = {.size = sizeof info};
  nay_sst_stats(t, &info);
  size_t trailer = info.keys == NAY_SST_KEYS_INTERNAL ? 8 : 0;
  if (nay_sst_iter_new(t, NULL, &it) != NAY_OK) abort();
  nay_status status = nay_sst_iter_seek(it, key, len);
  if (status != NAY_OK && status != NAY_EEND) abort(); /* the compaction has read it */
  size_t at_len = 0;
  const uint8_t *at = status == NAY_OK ? nay_sst_iter_key(it, &at_len) : NULL;
  bool same = at != NULL && at_len == len + trailer && (len == 0 || memcmp(at, key, len) == 0);
  if (same && nay_sst_iter_pin(it, v) != NAY_OK) abort();
  nay_sst_iter_free(it);
  return same ? NAY_OK : NAY_ENOENT;
}

/* The newest version in all tables; of one version in two tables that of the newer table. In
 * untrusted tables the older one may have the newer version, so this is not nay_sst_lookup_get. */
static nay_status newest(const inputs *in, size_t i, nay_sst_value *best) {
  nay_status found = NAY_ENOENT;
  for (size_t t = 0; t < in->n; t++) {
    nay_sst_value v = {.size = sizeof v};
    nay_status status = newest_in(in->tables[t], in->keys[i], in->lens[i], &v);
    if (status == NAY_OK && (found == NAY_ENOENT || v.sequence > best->sequence)) {
      nay_sst_value_free(best);
      *best = v;
      found = NAY_OK;
    } else {
      nay_sst_value_free(&v);
    }
  }
  return found == NAY_OK && best->deleted ? NAY_ENOENT : found;
}

static void check_gets(const inputs *in, const nay_sst_lookup *after) {
  for (size_t i = 0; i < in->nkeys; i++) {
    nay_sst_value v = {.size = sizeof v}, w = {.size = sizeof w};
    nay_status old = newest(in, i, &v);
    nay_status new =
        nay_sst_lookup_get(after, in->keys[i], in->lens[i], NAY_SST_NEWEST, NULL, &w, NULL);
    if (old != new || (old == NAY_OK && (v.len != w.len || v.sequence != w.sequence))) abort();
    if (old == NAY_OK && v.len != 0 && memcmp(v.bytes, w.bytes, v.len) != 0) abort();
    nay_sst_value_free(&v);
    nay_sst_value_free(&w);
  }
}

/* Iterators have the order of a compaction, whatever the tables are. */
static void check_walks(const nay_sst_lookup *before, const nay_sst_lookup *after, bool backward) {
  nay_sst_scan *m[2];
  nay_status s[2];
  if (nay_sst_scan_new(before, NULL, NULL, NULL, &m[0]) != NAY_OK) abort();
  if (nay_sst_scan_new(after, NULL, NULL, NULL, &m[1]) != NAY_OK) abort();
  for (int i = 0; i < 2; i++) s[i] = backward ? nay_sst_scan_last(m[i]) : nay_sst_scan_first(m[i]);
  while (s[0] == NAY_OK && s[1] == NAY_OK) {
    nay_sst_entry v[2] = {{.size = sizeof v[0]}, {.size = sizeof v[1]}};
    const void *values[2];
    size_t lens[2];
    for (int i = 0; i < 2; i++) {
      if (nay_sst_scan_entry(m[i], &v[i]) != NAY_OK) abort();
      values[i] = nay_sst_scan_value(m[i], &lens[i]);
    }
    if (v[0].len != v[1].len || v[0].sequence != v[1].sequence || lens[0] != lens[1]) abort();
    if (memcmp(v[0].key, v[1].key, v[0].len) != 0) abort();
    if (memcmp(values[0], values[1], lens[0]) != 0) abort();
    for (int i = 0; i < 2; i++) s[i] = backward ? nay_sst_scan_prev(m[i]) : nay_sst_scan_next(m[i]);
  }
  if (s[0] != NAY_EEND || s[1] != NAY_EEND) abort();
  nay_sst_scan_free(m[0]);
  nay_sst_scan_free(m[1]);
}

static void check_answers(const inputs *in, const outputs *o) {
  nay_sst *tables[MOST_OUTPUTS];
  nay_sst_lookup *after;
  nay_sst_lookup_options merges = {sizeof merges, .merge = in->merge};
  for (size_t i = 0; i < o->n; i++) {
    size_t len;
    const void *bytes = nay_sst_memory_bytes(o->tables[i], &len);
    if (nay_sst_view(bytes, len, NULL, NULL, NULL, &tables[i]) != NAY_OK) abort();
  }
  nay_sst_lookup_level level = {
      .size = sizeof level, .tables = (const nay_sst *const *)tables, .n = o->n, .disjoint = true};
  if (nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &after) != NAY_OK) abort();
  if (in->merge == NULL) check_gets(in, after);
  if (in->merge != NULL) check_walks(in->lookup, after, false);
  if (in->merge != NULL) check_walks(in->lookup, after, true);
  nay_sst_lookup_free(after);
  for (size_t i = 0; i < o->n; i++) nay_sst_free(tables[i]);
}

static void check_compaction(const inputs *in, uint8_t flags) {
  static outputs o;
  const uint64_t snapshots[] = {3, 100};
  nay_diag diag = {.what = NULL};
  nay_sst_outputs to = {.size = sizeof to, .ctx = &o, .next_target = next};
  nay_sst_write_options write = {
      .size = sizeof write, .filter = NAY_SST_FULL_FILTER, .block_bytes = 64, .no_sync = true};
  nay_sst_compact_options how = {.size = sizeof how,
                                 .write = &write,
                                 .bottom = flags & 8,
                                 .snapshots = snapshots,
                                 .nsnapshots = flags & 16 ? 2 : 0,
                                 .target_bytes = flags & 32 ? 200 : 0,
                                 .range_bytes = 500,
                                 .max_memory = flags & 64 ? 100000 : 0,
                                 .merge = in->merge};
  o.n = 0;
  nay_status status =
      nay_sst_compact_to((const nay_sst *const *)in->tables, in->n, &to, &how, NULL, &diag, NULL);
  if (status != NAY_OK && diag.what == NULL) abort();
  if (status == NAY_OK) check_answers(in, &o);
  for (size_t i = 0; i < o.n; i++) nay_sst_memory_free(o.tables[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  size_t first = nay__load16le(data + 1), rest = size - 3;
  if (first > rest) first = rest;
  const uint8_t *from[] = {data + 3, data + 3 + first};
  const size_t lens[] = {first, rest - first};
  uint8_t *bytes[2];
  const nay_sst_codec *codecs[] = {&invert_codec};
  nay_sst_read_options how = {.size = sizeof how,
                              .keys = (nay_sst_keys)(data[0] % 3),
                              .codecs = codecs,
                              .ncodecs = 1,
                              .max_block_bytes = 1 << 16};
  inputs in = {.n = 0, .merge = data[0] & 128 ? append_operands : NULL};
  for (size_t i = 0; i < 2; i++) {
    bytes[i] = copy_of(from[i], lens[i]);
    seal_table(bytes[i], lens[i]);
    if (nay_sst_view(bytes[i], lens[i], &how, NULL, NULL, &in.tables[in.n]) != NAY_OK) continue;
    add_keys(&in, in.tables[in.n++]);
  }
  add_key(&in, "", 0);
  add_key(&in, "key00000010", 11);
  nay_sst_lookup_level level = {sizeof level, (const nay_sst *const *)in.tables, in.n, false};
  nay_sst_lookup_options merges = {sizeof merges, .merge = in.merge};
  nay_status made = nay_sst_lookup_new(&level, 1, &merges, NULL, NULL, &in.lookup);
  if (made == NAY_OK && in.n != 0) {
    check_batch(&in, NAY_SST_MAX_SEQUENCE);
    check_batch(&in, 7);
    check_compaction(&in, data[0]);
  }
  if (made == NAY_OK) nay_sst_lookup_free(in.lookup);
  for (size_t i = 0; i < in.nkeys; i++) free(in.keys[i]);
  for (size_t i = 0; i < in.n; i++) nay_sst_free(in.tables[i]);
  free(bytes[0]);
  free(bytes[1]);
  return 0;
}
