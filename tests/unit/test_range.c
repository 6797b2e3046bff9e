/*
 * test_range.c - range filters against a sorted array: no false nay, exact where they say so, the
 * FPR of the plan, refused calls that change nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "family/range.h"
#include "filter.h"
#include "nay_range.h"
#include "support/explained.h"
#include "support/ranges.h"

static int test_compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int c = n != 0 ? memcmp(a, b, n) : 0;
  return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

/* ---- every range of 8 bits, every number of locations ---- */

/* A filter of r locations, whatever the plan says, that is not exact. */
static nay_filter *build_with(uint64_t r, uint64_t seed, const uint64_t *keys, size_t n) {
  nay_hash_fn hasher = nay__hasher_seed(seed);
  nay_range_map map = nay__range_map_of(&hasher, r);
  uint64_t at[256];
  for (size_t i = 0; i < n; i++) at[i] = nay__range_place(&map, false, 0, keys[i]);
  size_t m = sort_unique(at, n);
  nay_range_head head = {.nvalues = m, .last = r - 1, .forms = NAY_RANGE_NO_FORMS};
  if (n != 0) head.forms = (nay_range_forms){.prefix_max = 0};
  head.low_bits = nay__range_low_bits(m, r - 1);
  nay_range_parts parts;
  assert_true(nay__range_parts(&head, &parts));
  nay_shape shape = {r, 1, 0};
  nay_filter *f;
  assert_int_equal(nay__filter_make_sized(&nay__family_range, &shape, (size_t)parts.end, &hasher, n,
                                          0, NULL, &f),
                   NAY_OK);
  nay__range_head_store(&head, f->bits.bytes);
  nay_range_writer w;
  nay__range_writer_start(&w, f->bits.bytes);
  for (size_t i = 0; i < m; i++) nay__range_writer_put(&w, at[i]);
  nay__range_writer_end(&w);
  nay__range_bind(f);
  nay_diag diag = {.what = NULL};
  assert_int_equal(f->family->check(&shape, f->bits.bytes, f->nbytes, &diag), NAY_OK);
  return f;
}

static void every_range_of_8_bits(void **state) {
  (void)state;
  uint64_t lo[64], hi[64], rng = 1;
  for (uint64_t r = 2; r <= 300; r++) {
    uint64_t keys[256];
    size_t n = (size_t)(r % 23);
    for (size_t i = 0; i < n; i++) keys[i] = test_random(&rng) % 256;
    n = sort_unique(keys, n);
    if (n > r) n = (size_t)r;
    nay_filter *f = build_with(r, r * 7, keys, n);
    for (uint64_t t = 0; t < r % 5 && nay__kernels_at((size_t)t) != NULL; t++) {
      f->kernels = nay__kernels_at((size_t)t); /* by turns */
    }
    for (uint64_t a = 0; a < 256; a++) {
      unsigned m = 0;
      for (uint64_t b = a; b < 256; b++) {
        lo[m] = a;
        hi[m++] = b;
        if (m == 64 || b == 255) {
          uint64_t got = nay__range_ask_numbers(f, lo, hi, m);
          for (unsigned i = 0; i < m; i++) {
            if (model_any(keys, n, lo[i], hi[i])) assert_true(got >> i & 1);
          }
          m = 0;
        }
      }
    }
    nay_filter_free(f);
  }
}

/* ---- explanations ---- */

/* Of every key of a filter, and of numbers beside them: the answer, and what was found. */
static void explain_numbers(const nay_params *p, const uint64_t *keys, size_t n, uint64_t shrunk) {
  static explained e;
  nay_filter *f = build(p, keys, n);
  if (shrunk != 0) assert_int_equal(nay_filter_shrink(f, shrunk, NULL), NAY_OK);
  uint64_t values = 0, constants = 0;
  for (size_t i = 0; i < n; i++) {
    for (uint64_t d = 0; d < 5; d++) {
      uint8_t key[8];
      nay_range_key(keys[i] + d * d * d, key);
      const char *wrong = explained_key(f, key, 8, &e);
      if (wrong != NULL)
        fail_msg("number %zu + %llu: %s", i, (unsigned long long)(d * d * d), wrong);
      assert_true(d != 0 || e.why.maybe);
      assert_int_equal(e.n, 1);
      assert_int_equal(e.why.hash.lo, 0);
      values += e.steps[0].kind == NAY_STEP_VALUE;
      constants += e.steps[0].kind == NAY_STEP_CONSTANT;
    }
  }
  assert_true(values > n);
  assert_true(constants < n);
  assert_null(explained_key(f, "short", 5, &e));
  assert_int_equal(e.why.reason, NAY_REASON_NO_KEYS);
  nay_filter_free(f);
}

static void explanations(void **state) {
  (void)state;
  static explained e;
  uint64_t keys[500], rng = 8;
  nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.3, .range_length = 4, .seed = 5};
  for (size_t i = 0; i < 500; i++) keys[i] = test_random(&rng) >> 1;
  explain_numbers(&p, keys, 500, 0);
  explain_numbers(&p, keys, 500, 400);
  for (size_t i = 0; i < 500; i++) keys[i] = 1000 + i * 7;
  explain_numbers(&p, keys, 500, 0); /* exact */
  p.range_keys = NAY_RANGE_DECIMAL;
  nay_builder *b;
  nay_filter *f;
  assert_int_equal(nay_builder_new(&p, NULL, NULL, &b), NAY_OK);
  assert_int_equal(nay_builder_add(b, "a:5", 3), NAY_OK);
  assert_int_equal(nay_builder_add(b, "b", 1), NAY_OK);
  assert_int_equal(nay_builder_add(b, "d", 1), NAY_OK);
  assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
  const char *const asked[] = {"a:5", "a:005", "a:6", "x:5", "c", "e", ""};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    assert_null(explained_key(f, asked[i], strlen(asked[i]), &e));
    if (asked[i][0] == 'c') assert_int_equal(e.why.reason, NAY_REASON_NO_ANSWER);
    if (i < 2) assert_int_equal(e.why.reason, NAY_REASON_MATCH);
  }
  nay_filter_free(f);
  assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK); /* of no keys */
  assert_null(explained_key(f, "a:5", 3, &e));
  assert_int_equal(e.why.reason, NAY_REASON_NO_KEYS);
  nay_filter_free(f);
  nay_builder_free(b);
  p = (nay_params){sizeof p, .kind = NAY_RANGE, .fpr = 0.5, .range_length = 1};
  for (size_t i = 0; i < 500; i++) keys[i] = i; /* no low bits */
  f = build(&p, keys, 500);
  uint8_t key[8];
  for (uint64_t i = 0; i < 500; i++) assert_null(explained_key(f, nay_range_key(i, key), 8, &e));
  assert_int_equal(e.steps[0].kind, NAY_STEP_BIT);
  nay_filter_free(f);
}

/* ---- the FPR of the plan ---- */

static void rates(void **state) {
  (void)state;
  uint64_t rng = 3;
  enum { N = 20000, ASKED = 200000 };
  uint64_t *keys = malloc(N * sizeof *keys);
  for (size_t i = 0; i < N; i++) keys[i] = test_random(&rng);
  nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 1000};
  nay_filter *f = build(&p, keys, N);
  size_t n = sort_unique(keys, N);
  nay_stats s = {.size = sizeof s};
  assert_int_equal(nay_filter_stats(f, &s), NAY_OK);
  double bits = (double)s.nbytes * 8 / N;
  assert_true(bits < 16.61 + 2.3); /* log2(1000 / 0.01) = 16.61; the handle and the head besides */
  for (unsigned near = 0; near < 2; near++) {
    unsigned asked = 0, maybe = 0;
    while (asked < ASKED) {
      uint64_t a =
          near != 0 ? keys[test_random(&rng) % n] + 1 + test_random(&rng) % 8 : test_random(&rng);
      if (a > UINT64_MAX - 999 || model_any(keys, n, a, a + 999)) continue;
      asked++;
      maybe += ask(f, a, a + 999);
    }
    double rate = (double)maybe / ASKED;
    assert_true(rate < 0.0103 + 4 * 0.00022);
    assert_true(rate > 0.0085);
  }
  nay_filter_free(f);
  free(keys);
}

/* ---- prefixes ---- */

static size_t order_key(char *key, unsigned user, unsigned order) {
  return (size_t)sprintf(key, "user:%u:order:%u", user, order);
}

static void decimal_keys(void **state) {
  (void)state;
  nay_params p = {sizeof p,
                  .kind = NAY_RANGE,
                  .fpr = 0.01,
                  .range_length = 16,
                  .range_keys = NAY_RANGE_DECIMAL,
                  .range_delimiter = ':'};
  nay_builder *b;
  nay_filter *f;
  char lo[64], hi[64];
  unsigned wrong = 0, asked = 0;
  assert_int_equal(nay_builder_new(&p, NULL, NULL, &b), NAY_OK);
  for (unsigned user = 0; user < 500; user++) {
    for (unsigned i = 0; i < 20; i++) {
      assert_int_equal(nay_builder_add(b, lo, order_key(lo, user, 100 * i)), NAY_OK);
    }
  }
  assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
  for (unsigned user = 0; user < 600; user++) {
    for (unsigned i = 0; i < 2000; i += 7) {
      bool maybe, there = user < 500 && (i + 15) / 100 != (i + 99) / 100 - 1 + (i % 100 == 0);
      there = user < 500 && (i % 100 == 0 || i % 100 > 84) && (i + 15) / 100 <= 19;
      size_t a = order_key(lo, user, i), c = order_key(hi, user, i + 15);
      assert_int_equal(nay_filter_may_contain_range(f, lo, a, hi, c, &maybe), NAY_OK);
      if (there) assert_true(maybe);
      asked += !there;
      wrong += maybe && !there;
    }
  }
  assert_true((double)wrong / asked < 0.0125);
  nay_filter_free(f);
  nay_builder_free(b);
}

/* Bytes in their order, keys of several lengths: the model compares bytes. */
static void bytes_in_order(void **state) {
  (void)state;
  uint64_t rng = 5, nays = 0, scans = 0;
  for (unsigned round = 0; round < 4500; round++) {
    uint8_t keys[12][24], q[2][24];
    size_t lens[12], ql[2];
    unsigned delimiter = round % 3 == 0 ? ':' : 0, form = round / 3 % 3;
    const char *alphabet = form == NAY_RANGE_DECIMAL ? "0:19" : "\0:ab";
    nay_params p = {sizeof p,          .kind = NAY_RANGE,  .fpr = 0.001,
                    .range_length = 4, .range_keys = form, .range_delimiter = delimiter,
                    .seed = round};
    nay_builder *b;
    nay_filter *f;
    assert_int_equal(nay_builder_new(&p, NULL, NULL, &b), NAY_OK);
    unsigned n = 1 + (unsigned)(test_random(&rng) % 12), least = round % 5 == 0 ? 0 : 8;
    unsigned span = round % 7 == 0 ? 1 : 12;
    for (unsigned i = 0; i < n + 2; i++) {
      uint8_t *key = i < n ? keys[i] : q[i - n];
      size_t len = least + (size_t)(test_random(&rng) % span);
      for (size_t j = 0; j < len; j++) key[j] = (uint8_t)alphabet[test_random(&rng) % 4];
      if (i < n)
        lens[i] = len;
      else
        ql[i - n] = len;
      if (i < n) assert_int_equal(nay_builder_add(b, key, len), NAY_OK);
    }
    assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
    for (unsigned t = 0; t < 200; t++) {
      for (unsigned e = 0; e < 2; e++) { /* an end near a key */
        unsigned k = (unsigned)(test_random(&rng) % n);
        memcpy(q[e], keys[k], lens[k]);
        ql[e] = lens[k];
        if (ql[e] != 0)
          q[e][ql[e] - 1 - test_random(&rng) % (ql[e] < 3 ? ql[e] : 3)] ^=
              (uint8_t)(test_random(&rng) % 4);
        if (test_random(&rng) % 4 == 0 && ql[e] > 1) ql[e]--;
      }
      int c = test_compare(q[0], ql[0], q[1], ql[1]);
      const uint8_t *lo = q[c > 0], *hi = q[c <= 0];
      size_t lo_len = ql[c > 0], hi_len = ql[c <= 0];
      bool maybe = true, below = true, there = false, scanned = false;
      for (unsigned k = 0; k < n; k++) {
        if (test_compare(keys[k], lens[k], lo, lo_len) < 0) continue;
        there |= test_compare(keys[k], lens[k], hi, hi_len) <= 0;
        scanned |= test_compare(keys[k], lens[k], hi, hi_len) < 0;
      }
      assert_int_equal(nay_filter_may_contain_scan(f, lo, lo_len, hi, hi_len, &below), NAY_OK);
      if (scanned) assert_true(below);
      scans += !below;
      if (form == NAY_RANGE_DECIMAL) continue; /* not in the order of bytes */
      assert_int_equal(nay_filter_may_contain_range(f, lo, lo_len, hi, hi_len, &maybe), NAY_OK);
      if (there) assert_true(maybe);
      nays += !maybe;
    }
    for (unsigned k = 0; k < n; k++) assert_true(nay_filter_may_contain(f, keys[k], lens[k]));
    nay_filter_free(f);
    nay_builder_free(b);
  }
  assert_true(nays > 10000);
  assert_true(scans > 20000);
}

/* Digits of one width: scans behind every prefix are asked; of two widths, or with a key that does
 * not belong there, none. */
static void scans_of_digits(void **state) {
  (void)state;
  nay_params p = {sizeof p,           .kind = NAY_RANGE, .fpr = 0.01,
                  .range_length = 10, .range_keys = 2,   .range_delimiter = ':'};
  for (unsigned odd = 0; odd < 4; odd++) {
    static const char *const more[] = {NULL, "user:7:order:12345", "user:7:x:000001", "zebra"};
    nay_builder *b;
    nay_filter *f;
    char key[64], end[64];
    unsigned nays = 0;
    assert_int_equal(nay_builder_new(&p, NULL, NULL, &b), NAY_OK);
    for (unsigned i = 0; i < 1000; i++) {
      int n = snprintf(key, sizeof key, "user:%u:order:%06u", i % 10, i * 50);
      assert_int_equal(nay_builder_add(b, key, (size_t)n), NAY_OK);
    }
    if (more[odd] != NULL)
      assert_int_equal(nay_builder_add(b, more[odd], strlen(more[odd])), NAY_OK);
    assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
    for (unsigned i = 0; i < 1000; i++) {
      bool maybe = false;
      int n = snprintf(key, sizeof key, "user:%u:order:%06u", i % 10, i * 50);
      int m = snprintf(end, sizeof end, "user:%u:order:%06u", i % 10, i * 50 + 1);
      assert_int_equal(nay_filter_may_contain_scan(f, key, (size_t)n, end, (size_t)m, &maybe),
                       NAY_OK);
      assert_true(maybe);
      n = snprintf(key, sizeof key, "user:%u:order:%06u", i % 10, i * 50 + 1);
      m = snprintf(end, sizeof end, "user:%u:order:%06u", i % 10, i * 50 + 11);
      assert_int_equal(nay_filter_may_contain_scan(f, key, (size_t)n, end, (size_t)m, &maybe),
                       NAY_OK);
      nays += !maybe;
      assert_int_equal(nay_filter_may_contain_scan(f, end, (size_t)m, key, (size_t)n, &maybe),
                       NAY_EINVAL);
      assert_int_equal(nay_filter_may_contain_scan(f, key, (size_t)n, key, (size_t)n, &maybe),
                       NAY_OK);
      assert_false(maybe);
    }
    if (odd == 0 || odd == 3) assert_true(nays > 970); /* zebra lies behind all of them */
    if (odd == 1) assert_int_equal(nays, 0);
    nay_filter_free(f);
    nay_builder_free(b);
  }
}

/* ---- files, batches, refusals ---- */

static void same_bytes(void **state) {
  (void)state;
  uint64_t rng = 9;
  enum { N = 5000 };
  uint64_t keys[N];
  for (size_t i = 0; i < N; i++) keys[i] = test_random(&rng) >> 20;
  nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 100};
  nay_filter *f = build(&p, keys, N), *g;
  for (unsigned variant = 0; variant < 3; variant++) {
    nay_params q = p;
    if (variant == 0) q.flags = NAY_LOW_MEMORY;
    if (variant == 1) q.threads = 4;
    for (size_t i = N - 1; i > 0; i--) {
      size_t j = (size_t)(test_random(&rng) % (i + 1));
      uint64_t t = keys[i];
      keys[i] = keys[j];
      keys[j] = t;
    }
    g = build(&q, keys, N);
    assert_int_equal(f->nbytes, g->nbytes);
    assert_memory_equal(f->bits.bytes, g->bits.bytes, f->nbytes);
    nay_filter_free(g);
  }
  size_t size = nay_filter_encoded_size(f), written;
  uint8_t *bytes = malloc(size);
  assert_int_equal(nay_filter_encode(f, bytes, size, &written), NAY_OK);
  nay_diag diag = {.what = NULL};
  assert_int_equal(nay_filter_decode(bytes, written, NULL, &diag, &g), NAY_OK);
  assert_memory_equal(f->bits.bytes, g->bits.bytes, f->nbytes);
  uint64_t lo[1000], hi[1000], bitmap[16];
  for (unsigned i = 0; i < 1000; i++) {
    lo[i] = test_random(&rng) >> 20;
    hi[i] = lo[i] + test_random(&rng) % 200;
  }
  assert_int_equal(nay_filter_may_contain_range_u64_many(g, lo, hi, 1000, bitmap), NAY_OK);
  for (unsigned i = 0; i < 1000; i++) {
    assert_int_equal(bitmap[i / 64] >> i % 64 & 1, ask(f, lo[i], hi[i]));
  }
  lo[7] = hi[7] + 1;
  assert_int_equal(nay_filter_may_contain_range_u64_many(g, lo, hi, 1000, bitmap), NAY_EINVAL);
  for (unsigned i = 0; i < 1000; i++) assert_true(bitmap[i / 64] >> i % 64 & 1);
  bool maybe = false;
  assert_int_equal(nay_filter_may_contain_range_u64(g, 2, 1, &maybe), NAY_EINVAL);
  assert_false(maybe);
  free(bytes);
  nay_filter_free(f);
  nay_filter_free(g);
}

/* Filters that merge answer as one of all keys; exact ones, empty ones, one exact and one not. */
static void merges(void **state) {
  (void)state;
  uint64_t rng = 21, keys[600];
  for (unsigned round = 0; round < 300; round++) {
    size_t n = (size_t)(test_random(&rng) % 300), m = (size_t)(test_random(&rng) % 300);
    nay_params p = {sizeof p,    .kind = NAY_RANGE,  .nkeys = 600,
                    .fpr = 0.01, .range_length = 20, .seed = round};
    for (size_t i = 0; i < n + m; i++) {
      unsigned wide = i < n ? round % 3 == 0 : round % 2 == 0;
      keys[i] = test_random(&rng) >> (wide ? 0 : 46);
    }
    nay_filter *a = build(&p, keys, n), *b = build(&p, keys + n, m), *all = build(&p, keys, n + m);
    nay_diag diag = {.what = NULL};
    size_t before = a->nbytes;
    nay_status status = nay_filter_merge(a, b, 1e-9, &diag);
    if (status == NAY_EFULL) {
      assert_int_equal(a->nbytes, before);
      status = nay_filter_merge(a, b, 1, &diag);
    }
    assert_int_equal(status, NAY_OK);
    assert_int_equal(a->nbytes, all->nbytes);
    assert_memory_equal(a->bits.bytes, all->bits.bytes, a->nbytes);
    nay_filter_free(a);
    nay_filter_free(b);
    nay_filter_free(all);
  }
}

static void shrinks(void **state) {
  (void)state;
  uint64_t rng = 23, keys[3000];
  for (unsigned round = 0; round < 60; round++) {
    size_t n = 1 + (size_t)(test_random(&rng) % 3000);
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 1000, .seed = round};
    for (size_t i = 0; i < n; i++) keys[i] = test_random(&rng) >> (round % 4 == 0 ? 44 : 0);
    nay_filter *f = build(&p, keys, n);
    for (unsigned step = 0; step < 12; step++) {
      size_t want = f->nbytes - f->nbytes / 20, had = f->nbytes;
      nay_diag diag = {.what = NULL};
      nay_status status = nay_filter_shrink(f, want, &diag);
      if (status != NAY_OK) {
        assert_int_equal(status, NAY_EINVAL);
        assert_int_equal(f->nbytes, had);
        break;
      }
      assert_true(f->nbytes <= want);
      assert_int_equal(f->family->check(&f->shape, f->bits.bytes, f->nbytes, &diag), NAY_OK);
      for (size_t i = 0; i < n; i++) {
        uint64_t below = test_random(&rng) % 1000, above = test_random(&rng) % 1000;
        uint64_t a = keys[i] < below ? 0 : keys[i] - below;
        assert_true(ask(f, a, keys[i] > UINT64_MAX - above ? UINT64_MAX : keys[i] + above));
      }
    }
    nay_filter_free(f);
  }
}

static void every_count(void **state) {
  (void)state;
  uint64_t keys[2000], rng = 11;
  for (size_t n = 0; n <= 2000; n++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.02, .range_length = 50, .seed = n};
    for (size_t i = 0; i < n; i++) {
      uint64_t cluster = test_random(&rng) % 3;
      keys[i] = cluster == 0 ? test_random(&rng) : cluster << 40 | i; /* dense buckets */
    }
    nay_filter *f = build(&p, keys, n);
    for (size_t i = 0; i < n; i++) {
      uint64_t a = keys[i] - (keys[i] < 9 ? keys[i] : test_random(&rng) % 9);
      assert_true(ask(f, a, a + 9 < a ? UINT64_MAX : a + 9));
      assert_true(ask(f, keys[i], keys[i]));
    }
    if (n == 0) assert_false(ask(f, 0, UINT64_MAX));
    nay_filter_free(f);
  }
}

/* ---- kernels ---- */

/* Keys of many densities: random, runs that fill buckets, groups and supergroups. */
static size_t dense_keys(uint64_t *keys, size_t n, unsigned round, uint64_t *rng) {
  for (size_t i = 0; i < n; i++) {
    uint64_t x = test_random(rng);
    switch (round % 4) {
      case 0: keys[i] = x; break;
      case 1: keys[i] = i % 3 == 0 ? x : ((uint64_t)7 << 40) + i; break;
      case 2: keys[i] = (x % 50) << 50 | x >> 50; break;
      default: keys[i] = i < n / 2 ? ((uint64_t)1 << 60) + i : x >> (x % 64);
    }
  }
  return sort_unique(keys, n);
}

static void kernels(void **state) {
  (void)state;
  uint64_t rng = 31, *keys = malloc(300000 * sizeof *keys);
  const size_t sizes[] = {1, 2, 3, 5, 9, 20, 40, 100, 700, 5000, 80000, 300000};
  for (unsigned round = 0; round < 4 * sizeof sizes / sizeof sizes[0]; round++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.02, .seed = round};
    p.range_length = (uint64_t)1 << (round * 5 % 24);
    size_t n = dense_keys(keys, sizes[round / 4], round, &rng);
    nay_filter *f = build(&p, keys, n);
    if (round % 3 == 1) (void)nay_filter_shrink(f, f->nbytes - f->nbytes / 8, NULL);
    for (unsigned group = 0; group < 60; group++) {
      uint64_t lo[64], hi[64], want = 0, all = ~(uint64_t)0;
      unsigned m = 1 + (unsigned)(test_random(&rng) % 64);
      if (group % 2 == 0) m = 64;
      if (m < 64) all = ((uint64_t)1 << m) - 1;
      for (unsigned i = 0; i < m; i++) {
        uint64_t span = test_random(&rng) % (2 * p.range_length), x = test_random(&rng);
        uint64_t key = keys[x % n] + (x >> 60) * p.range_length / 8;
        lo[i] = x >> 40 & 1 ? x : key - (key < span ? key : span);
        hi[i] = lo[i] > UINT64_MAX - span ? UINT64_MAX : lo[i] + span;
        want |= (uint64_t)model_any(keys, n, lo[i], hi[i]) << i;
      }
      f->kernels = nay__kernels_at(0);
      uint64_t got = nay__range_ask_numbers(f, lo, hi, m);
      assert_int_equal(got & ~all, 0);
      assert_int_equal(want & ~got, 0);
      for (size_t table = 0; nay__kernels_at(table) != NULL; table++) {
        f->kernels = nay__kernels_at(table);
        assert_int_equal(nay__range_ask_numbers(f, lo, hi, m), got);
        for (unsigned i = 0; i < m; i++) {
          assert_int_equal(nay__range_ask_numbers(f, lo + i, hi + i, 1), got >> i & 1);
        }
      }
    }
    nay_filter_free(f);
  }
  free(keys);
}

/* ---- duplicates: the same set, the same bytes ---- */

static void same_filter(nay_filter *f, nay_filter *g) {
  assert_int_equal(f->nkeys, g->nkeys);
  assert_int_equal(f->shape.nunits, g->shape.nunits);
  assert_int_equal(f->nbytes, g->nbytes);
  assert_memory_equal(f->bits.bytes, g->bits.bytes, f->nbytes);
  nay_filter_free(g);
}

static void duplicates(void **state) {
  (void)state;
  uint64_t rng = 41, *keys = malloc(400000 * sizeof *keys);
  const size_t extra[] = {1, 7, 300, 20000, 200000};
  for (unsigned round = 0; round < 20; round++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = round % 3 == 0 ? 0.3 : 0.01, .seed = round};
    p.range_length = round % 3 == 2 ? 5000 : 1; /* few locations: many are equal by chance */
    size_t n = 1 + (size_t)(test_random(&rng) % (round % 2 ? 200000 : 3000)),
           more = extra[round % 5];
    for (size_t i = 0; i < n; i++) keys[i] = test_random(&rng) >> (round % 7 == 6 ? 44 : 0);
    n = sort_unique(keys, n);
    nay_filter *f = build(&p, keys, n);
    for (size_t i = 0; i < more; i++) keys[n + i] = keys[test_random(&rng) % n];
    same_filter(f, build(&p, keys, n + more));
    p.threads = 3;
    same_filter(f, build(&p, keys, n + more));
    p.flags = NAY_LOW_MEMORY;
    same_filter(f, build(&p, keys, n + more));
    nay_filter_free(f);
  }
  free(keys);
}

static nay_filter *build_texts(const nay_params *p, const char *const *keys, size_t n,
                               unsigned times) {
  nay_builder *b;
  nay_filter *f;
  assert_int_equal(nay_builder_new(p, NULL, NULL, &b), NAY_OK);
  for (unsigned t = 0; t < times; t++) {
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(nay_builder_add(b, keys[i], strlen(keys[i])), NAY_OK);
    }
  }
  assert_int_equal(nay_builder_finish(b, NULL, &f), NAY_OK);
  nay_builder_free(b);
  return f;
}

static void duplicates_of_others(void **state) {
  (void)state;
  const char *const keys[] = {"abc", "a:5", "a:6", "zz", "12345678901234567890123"};
  nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 9,
                  .range_keys = NAY_RANGE_DECIMAL};
  nay_filter *f = build_texts(&p, keys, 5, 1);
  nay_stats s = {.size = sizeof s};
  same_filter(f, build_texts(&p, keys, 5, 100));
  assert_int_equal(nay_filter_stats(f, &s), NAY_OK);
  assert_int_equal(s.range_exact, 0);
  assert_false(s.overloaded);
  nay_filter *numbers = build_texts(&p, keys + 1, 2, 1), *others = build_texts(&p, keys, 1, 1);
  assert_int_equal(nay_filter_stats(others, &s), NAY_OK);
  assert_false(s.overloaded);
  assert_true(nay_filter_may_contain(others, "abc", 3));
  assert_false(nay_filter_may_contain(others, "abd", 3));
  nay_filter_free(numbers);
  nay_filter_free(others);
  nay_filter_free(f);
}

/* ---- budgets: kept, or refused ---- */

static void budgets(void **state) {
  (void)state;
  uint64_t rng = 43, kept = 0, refused = 0;
  uint64_t keys[2000];
  for (size_t i = 0; i < 2000; i++) keys[i] = test_random(&rng);
  for (unsigned round = 0; round < 20000; round++) {
    nay_params p = {sizeof p, .kind = NAY_RANGE};
    p.nkeys = 1 + test_random(&rng) % (round % 2 ? 2000 : 200000);
    p.range_length = 1 + (test_random(&rng) >> (test_random(&rng) % 64));
    if (round % 3 == 0) {
      p.bits_per_key = 1 + (double)(test_random(&rng) % 4000) / 100;
    } else {
      p.nbytes = 100 + p.nkeys * (test_random(&rng) % 500) / 64;
    }
    nay_plan plan = {.size = sizeof plan};
    nay_diag diag = {.what = NULL};
    nay_status status = nay_params_plan(&p, &diag, &plan);
    refused += status != NAY_OK;
    if (status != NAY_OK) assert_int_equal(status, NAY_EINVAL);
    if (status != NAY_OK) assert_non_null(diag.what);
    if (status != NAY_OK) continue;
    kept++;
    assert_true(plan.fpr < 1);
    uint64_t most =
        p.nbytes != 0 ? p.nbytes : (uint64_t)((double)p.nkeys * p.bits_per_key / 8) + 160;
    assert_true(plan.nbytes <= most);
    if (p.nkeys > 2000 || round % 8 != 1) continue;
    nay_filter *f = build(&p, keys, (size_t)p.nkeys);
    assert_true(f->nbytes <= most);
    nay_filter_free(f);
  }
  assert_true(kept > 1000);
  assert_true(refused > 1000);
}

static void refusals(void **state) {
  (void)state;
  const nay_params bad[] = {
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01},
      {sizeof bad[0], .kind = NAY_RANGE, .range_length = 5},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5, .range_keys = 3},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5, .range_delimiter = 256},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5, .k = 3},
      {sizeof bad[0], .kind = NAY_RANGE, .nbits = 1000, .range_length = 5},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5, .hash = NAY_HASH_CALLER},
      {sizeof bad[0], .kind = NAY_BLOOM, .fpr = 0.01, .range_length = 5},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = UINT64_MAX},
      {sizeof bad[0], .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5, .nkeys = 1ull << 56},
      {sizeof bad[0], .kind = NAY_RANGE, .nbytes = 200, .range_length = 5, .nkeys = 1000},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    nay_builder *b;
    nay_diag diag = {.what = NULL};
    assert_int_equal(nay_builder_new(&bad[i], NULL, &diag, &b), NAY_EINVAL);
    assert_non_null(diag.what);
  }
  const uint64_t hashes[] = {1, 2, 3};
  nay_params p = {sizeof p, .kind = NAY_RANGE, .fpr = 0.01, .range_length = 5};
  nay_filter *f = NULL;
  nay_builder *b;
  assert_int_equal(nay_filter_build(&p, hashes, 3, NULL, NULL, &f), NAY_ENOTSUP);
  p.nkeys = 3;
  assert_int_equal(nay_filter_build(&p, hashes, 3, NULL, NULL, &f), NAY_ENOTSUP);
  assert_int_equal(nay_filter_new(&p, NULL, NULL, &f), NAY_ENOTSUP);
  assert_null(f);
  assert_int_equal(nay_builder_new(&p, NULL, NULL, &b), NAY_OK);
  assert_int_equal(nay_builder_add_hash(b, (nay_hash){1, 0}), NAY_ENOTSUP);
  nay_builder_free(b);
}

int main(void) {
  const test_case tests[] = {
      TEST(every_range_of_8_bits),
      TEST(explanations),
      TEST(rates),
      TEST(decimal_keys),
      TEST(bytes_in_order),
      TEST(scans_of_digits),
      TEST(same_bytes),
      TEST(merges),
      TEST(shrinks),
      TEST(every_count),
      TEST(kernels),
      TEST(refusals),
      TEST(duplicates),
      TEST(duplicates_of_others),
      TEST(budgets),
  };
  return run_all(tests);
}
