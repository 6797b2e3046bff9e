/*
 * hash_bench.c - the hashes of the native filter and of the layouts, over keys of 4 to 1,024 bytes.
 *
 * A filter hashes a key once, so for long keys the hash is what a probe costs. Each hash is timed
 * as its filters call it: in batches (nay_hasher_hash_many, keys independent, so that the CPU
 * overlaps them) and by one call for each key (nay_hasher_hash), which the call itself dominates
 * for short keys. The keys of a length fill at most 32 KiB and stay in L1: the hash is measured,
 * not memory. Names that end in x2 hash the key twice; those of 32 bits (leveldb, farm32) serve
 * filters of fewer keys.
 */
#include "hash_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hashers.h"
#include "numbers.h"
#include "progress.h"

#define HASHES_MAX 16
#define HASH_LENGTHS 9
#define HASH_SECONDS 0.005 /* of a figure: the best of the runs in this time */
#define HASH_L1 32768u
#define HASH_KEYS 1024u

static const size_t hash_lengths[HASH_LENGTHS] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

/* A hash, with an empty filter that has it, and the times of a key of each length. */
typedef struct timed_hash {
  nay_hash_kind kind;
  nay_filter *filter;
  char users[160]; /* the layouts that have it */
  double many_ns[HASH_LENGTHS], one_ns[HASH_LENGTHS];
} timed_hash;

/* ---- keys ---- */

key_row key_row_new(size_t n, size_t len, uint64_t salt) {
  key_row r = {must_alloc(n * len), must_alloc(n * sizeof(void *)), must_alloc(n * sizeof(size_t)),
               n, len};
  for (size_t i = 0; i < n; i++) {
    uint8_t *key = r.bytes + i * len;
    for (size_t at = 0; at < len; at += 8) {
      uint64_t word = nay_hash_mix(salt << 32 ^ i) ^ nay_hash_mix(at) * (at != 0);
      memcpy(key + at, &word, len - at < 8 ? len - at : 8);
    }
    r.keys[i] = key;
    r.lens[i] = len;
  }
  return r;
}

void key_row_free(key_row *r) {
  free(r->bytes);
  free(r->keys);
  free(r->lens);
}

/* ---- which hashes ---- */

static nay_filter *hash_filter_native(nay_hash_kind kind) {
  nay_params p = {.size = sizeof p, .kind = NAY_BLOOM, .nkeys = 1, .fpr = 0.5, .hash = kind};
  nay_filter *f = NULL;
  for (uint8_t i = 0; i < sizeof p.key && kind == NAY_HASH_SIPHASH; i++) p.key[i] = i;
  if (nay_filter_new(&p, NULL, NULL, &f) != NAY_OK) die(EXIT_TROUBLE, "out of memory");
  return f;
}

/* NULL: filters in this layout are not made here. */
static nay_filter *hash_filter_of(const nay_format *format) {
  nay_params p = {.size = sizeof p, .nkeys = 100, .bits_per_key = 10};
  nay_filter *f = NULL;
  nay_builder *b = NULL;
  if (nay_format_new(format, &p, NULL, NULL, &f) == NAY_OK) return f;
  if (nay_format_builder_new(format, &p, NULL, NULL, &b) != NAY_OK) return NULL;
  bool ok = nay_builder_add(b, "key", 3) == NAY_OK && nay_builder_finish(b, NULL, &f) == NAY_OK;
  nay_builder_free(b);
  return ok ? f : NULL;
}

/* Adds a filter with its hash, if no earlier one has that. */
static void hash_take(timed_hash *list, size_t *n, nay_filter *f, const char *user) {
  nay_stats s = {.size = sizeof s};
  size_t i = 0;
  if (f == NULL || nay_filter_stats(f, &s) != NAY_OK) return;
  while (i < *n && list[i].kind != s.hash) i++;
  if (i == *n && *n < HASHES_MAX) list[(*n)++] = (timed_hash){.kind = s.hash, .filter = f};
  if (i < *n) {
    size_t used = strlen(list[i].users);
    snprintf(list[i].users + used, sizeof list[i].users - used, "%s%s", used > 0 ? ", " : "", user);
  }
  if (i == *n || list[i].filter != f) nay_filter_free(f);
}

static size_t hashes_list(timed_hash *list) {
  size_t n = 0;
  const nay_format *format;
  hash_take(list, &n, hash_filter_native(NAY_HASH_XXH3), "nay");
  hash_take(list, &n, hash_filter_native(NAY_HASH_SIPHASH), "nay, keyed");
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    if (strcmp(nay_format_name(format), "nay") == 0) continue;
    hash_take(list, &n, hash_filter_of(format), nay_format_name(format));
  }
  return n;
}

/* ---- timing ---- */

static uint64_t hash_run_many(const nay_filter *f, const key_row *r) {
  static uint64_t lo[HASH_KEYS], hi[HASH_KEYS];
  nay_hasher hasher = filter_hasher(f);
  (void)nay_hasher_hash_many(&hasher, r->keys, r->lens, r->n, lo, hi);
  return lo[r->n - 1];
}

static uint64_t hash_run_one(const nay_filter *f, const key_row *r) {
  uint64_t sum = 0;
  nay_hasher hasher = filter_hasher(f);
  for (size_t i = 0; i < r->n; i++) {
    nay_hash h;
    (void)nay_hasher_hash(&hasher, r->keys[i], r->len, &h);
    sum += h.lo;
  }
  return sum;
}

static double hash_time(uint64_t (*run)(const nay_filter *, const key_row *), const nay_filter *f,
                        const key_row *r) {
  volatile uint64_t sink = 0;
  double best = 1e300, until = now_seconds() + HASH_SECONDS;
  do {
    double start = now_seconds();
    sink = sink + run(f, r);
    double took = now_seconds() - start;
    if (took < best) best = took;
  } while (now_seconds() < until);
  return best * 1e9 / (double)r->n;
}

static void hash_measure(timed_hash *h) {
  for (size_t i = 0; i < HASH_LENGTHS; i++) {
    size_t n = HASH_L1 / hash_lengths[i];
    key_row r = key_row_new(n < HASH_KEYS ? n : HASH_KEYS, hash_lengths[i], 1);
    h->many_ns[i] = hash_time(hash_run_many, h->filter, &r);
    h->one_ns[i] = hash_time(hash_run_one, h->filter, &r);
    key_row_free(&r);
  }
}

/* ---- printing ---- */

static void hash_title(const char *what) {
  out_text("%s%-14s", paint(PAINT_BOLD), what);
  for (size_t i = 0; i < HASH_LENGTHS; i++) out_text(" %6zu", hash_lengths[i]);
  out_text("%s\n", paint(PAINT_PLAIN));
}

static void hash_row(const timed_hash *h, const double *ns, const char *users) {
  out_text("%-14s", nay_hash_name(h->kind));
  for (size_t i = 0; i < HASH_LENGTHS; i++) out_text(" %6.1f", ns[i]);
  out_text("%s%s\n", *users != '\0' ? "  " : "", users);
}

static void hash_json(const timed_hash *h) {
  json_begin("nay.bench.hash/1");
  json_text("hash", nay_hash_name(h->kind));
  json_text("users", h->users);
  json_open("lengths", '[');
  for (size_t i = 0; i < HASH_LENGTHS; i++) {
    json_open(NULL, '{');
    json_count("key_nbytes", hash_lengths[i]);
    json_real("many_ns", h->many_ns[i]);
    json_real("one_ns", h->one_ns[i]);
    json_close();
  }
  json_close();
  json_end();
}

static void hash_csv(const timed_hash *h) {
  for (size_t i = 0; i < HASH_LENGTHS; i++) {
    out_text("%s,%zu,%.2f,%.2f\n", nay_hash_name(h->kind), hash_lengths[i], h->many_ns[i],
             h->one_ns[i]);
  }
}

static void hashes_text(const timed_hash *list, size_t n) {
  out_text("ns per key, by bytes of the key; keys in batches\n");
  hash_title("hash");
  for (size_t i = 0; i < n; i++) hash_row(&list[i], list[i].many_ns, list[i].users);
  out_text("\none call for each key\n");
  hash_title("hash");
  for (size_t i = 0; i < n; i++) hash_row(&list[i], list[i].one_ns, "");
  out_text("keys in L1, one thread, the fastest of several runs\n\n");
}

int hash_bench(const size_options *size, bool json, bool csv) {
  timed_hash list[HASHES_MAX];
  hash_schemes_check(size);
  size_t n = hashes_list(list);
  if (csv) out_text("hash,key_nbytes,many_ns,one_ns\n");
  for (size_t i = 0; i < n; i++) {
    hash_measure(&list[i]);
    if (json) hash_json(&list[i]);
    if (csv) hash_csv(&list[i]);
    nay_filter_free(list[i].filter);
  }
  if (!json && !csv) hashes_text(list, n);
  out_flush();
  if (!csv) hash_schemes(size, json);
  out_flush();
  return EXIT_FOUND;
}
