/* test_batch.c - batches of keys, apart or in columns, and probes in two steps, give single
 * answers.
 */
#include "filter.h"
#include "support/hashes.h"
#include "support/keys.h"
#include "support/test.h"

#define N 1000u

static uint8_t bytes[N * 40];
static const void *keys[N];
static size_t lens[N], offsets[N + 1];
static uint32_t narrow[N + 1];

/* Keys of 0 to 39 bytes; runs of short ones, which machines with vectors hash together. */
static void make_keys(uint64_t seed) {
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)nay_hash_mix(seed + i);
  for (size_t i = 0, at = 0; i < N; i++) {
    uint64_t x = nay_hash_mix(seed ^ i);
    lens[i] = i / 100 % 2 == 0 ? 9 + x % 8 : x % 40;
    keys[i] = bytes + at;
    offsets[i] = at;
    offsets[i + 1] = at += lens[i];
    narrow[i + 1] = (uint32_t)at;
  }
}

static nay_filter *make_filter(nay_kind kind, nay_hash_kind hash, uint64_t seed) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = 2 * N, .fpr = 0.01, .hash = hash, .seed = seed};
  nay_filter *f;
  assert_int_equal(nay_filter_new(&p, NULL, NULL, &f), NAY_OK);
  return f;
}

/* The same keys, with offsets of either width. */
static nay_column keys_column(bool wide) {
  nay_column column = column_of(bytes, offsets, N);
  if (!wide) column.offsets = narrow;
  if (!wide) column.offset_bytes = 4;
  return column;
}

static void column_is_many(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 6; round++) {
    nay_hash_kind hash = round % 3 == 2 ? NAY_HASH_SIPHASH : NAY_HASH_XXH3;
    nay_filter *f = make_filter(round % 2 == 0 ? NAY_BLOCKED : NAY_BLOOM, hash, round);
    nay_filter *one = make_filter(round % 2 == 0 ? NAY_BLOCKED : NAY_BLOOM, hash, round);
    uint64_t fresh[(N + 63) / 64], many[(N + 63) / 64], column[(N + 63) / 64];
    f->bits.in_cache = round < 3; /* the others ask for memory ahead of time */
    make_keys(round);
    size_t half = N / 2 + 13 * round;
    nay_column in = keys_column(round % 2 == 0), other = keys_column(round % 2 != 0);
    assert_int_equal(nay_filter_add_column(f, &in, half, fresh, NULL), NAY_OK);
    for (size_t i = 0; i < half; i++) {
      bool is_new;
      assert_int_equal(nay_filter_add(one, keys[i], lens[i], &is_new), NAY_OK);
      assert_int_equal(is_new, fresh[i / 64] >> (i % 64) & 1);
    }
    assert_int_equal(nay_filter_may_contain_many(f, keys, lens, N, many), NAY_OK);
    assert_int_equal(nay_filter_may_contain_column(f, &other, N, column), NAY_OK);
    assert_memory_equal(many, column, sizeof many);
    for (size_t i = 0; i < N; i++) {
      bool maybe = nay_filter_may_contain(one, keys[i], lens[i]);
      assert_int_equal(maybe, column[i / 64] >> (i % 64) & 1);
      assert_true(maybe || i >= half);
    }
    nay_filter_free(f);
    nay_filter_free(one);
  }
}

static size_t count_maybes(const nay_filter *f, size_t from, size_t to) {
  size_t n = 0;
  for (size_t i = from; i < to; i++) n += nay_filter_may_contain(f, keys[i], lens[i]);
  return n;
}

/* numpy's arrays: keys of one width, without offsets. */
static void columns_of_one_width(void **state) {
  (void)state;
  for (uint32_t width = 1; width <= 40; width++) {
    nay_filter *f = make_filter(NAY_BLOCKED, NAY_HASH_XXH3, width);
    nay_filter *one = make_filter(NAY_BLOCKED, NAY_HASH_XXH3, width);
    nay_column column = {sizeof column, .bytes = bytes, .nbytes = N * width, .width = width};
    uint64_t bitmap[(N + 63) / 64];
    make_keys(width);
    assert_ok(nay_filter_add_column(f, &column, N, NULL, NULL));
    for (size_t i = 0; i < N; i++) assert_ok(nay_filter_add(one, bytes + i * width, width, NULL));
    assert_memory_equal(f->bits.bytes, one->bits.bytes, f->nbytes);
    assert_ok(nay_filter_may_contain_column(f, &column, N, bitmap));
    assert_int_equal(nay_bitmap_count(bitmap, N), N);
    column.nbytes--; /* the last key is not all there */
    assert_status(nay_filter_may_contain_column(f, &column, N, bitmap), NAY_EINVAL);
    nay_filter_free(f);
    nay_filter_free(one);
  }
}

/* A slice of a column of Arrow: its first offset is not 0, and it lies at any address. */
static void columns_at_any_address(void **state) {
  (void)state;
  make_keys(3);
  uint8_t *moved = malloc(sizeof offsets + 8);
  assert_non_null(moved);
  for (unsigned at = 0; at < 8; at++) {
    for (unsigned wide = 0; wide < 2; wide++) {
      nay_filter *f = make_filter(NAY_BLOCKED, NAY_HASH_XXH3, at);
      nay_column column = keys_column(wide);
      uint64_t bitmap[(N + 63) / 64];
      memcpy(moved + at, column.offsets, (N + 1) * column.offset_bytes);
      column.offsets = moved + at + 300 * column.offset_bytes;
      assert_ok(nay_filter_add_column(f, &column, 100, NULL, NULL));
      column.offsets = moved + at;
      assert_ok(nay_filter_may_contain_column(f, &column, N, bitmap));
      assert_int_equal(nay_bitmap_count(bitmap, N),
                       100 + count_maybes(f, 0, 300) + count_maybes(f, 400, N));
      for (size_t i = 300; i < 400; i++) assert_true(nay_bitmap_get(bitmap, i));
      nay_filter_free(f);
    }
  }
  free(moved);
}

/* A builder makes the same filter of a column as of single keys, and takes none of a bad one. */
static void columns_in_builders(void **state) {
  (void)state;
  make_keys(9);
  for (unsigned wide = 0; wide < 2; wide++) {
    nay_params p = {sizeof p, .kind = NAY_FUSE, .fpr = 1.0 / 256};
    nay_column column = keys_column(wide);
    nay_builder *a, *b;
    nay_filter *f, *g;
    size_t taken = 7;
    assert_ok(nay_builder_new(&p, NULL, NULL, &a));
    assert_ok(nay_builder_new(&p, NULL, NULL, &b));
    column.nbytes--;
    assert_status(nay_builder_add_column(a, &column, N, &taken), NAY_EINVAL);
    assert_true(taken == 0 && nay_builder_nkeys(a) == 0);
    column.nbytes++;
    assert_ok(nay_builder_add_column(a, &column, N, &taken));
    assert_true(taken == N && nay_builder_nkeys(a) == N);
    for (size_t i = 0; i < N; i++) assert_ok(nay_builder_add(b, keys[i], lens[i]));
    assert_ok(nay_builder_finish(a, NULL, &f));
    assert_ok(nay_builder_finish(b, NULL, &g));
    assert_int_equal(f->nbytes, g->nbytes);
    assert_memory_equal(f->bits.bytes, g->bits.bytes, f->nbytes);
    nay_filter_free(f);
    nay_filter_free(g);
    nay_builder_free(a);
    nay_builder_free(b);
  }
}

static void hash_many_is_hash(void **state) {
  (void)state;
  make_keys(99);
  nay_filter *f = make_filter(NAY_BLOOM, NAY_HASH_XXH3, 7);
  uint64_t lo[N], hi[N];
  assert_int_equal(filter_hash_many(f, keys, lens, N, lo, hi), NAY_OK);
  for (size_t i = 0; i < N; i++) {
    nay_hash h;
    assert_int_equal(filter_hash(f, keys[i], lens[i], &h), NAY_OK);
    assert_int_equal(h.lo, lo[i]);
    assert_int_equal(hi[i], 0);
  }
  nay_filter_free(f);
}

/* A batch with a key that cannot be used adds nothing, and a probe says maybe to all. */
/* Nothing is added, and every answer is maybe. */
static void assert_unusable(nay_filter *f, const nay_column *column, unsigned which) {
  uint64_t bitmap[(N + 63) / 64] = {0}, last = ~(uint64_t)0 >> (64 - N % 64);
  nay_status added, probed;
  if (column == NULL && which == 0) {
    uint64_t hashes[N];
    added = nay_filter_add_many(f, keys, lens, N, NULL, NULL);
    probed = nay_filter_may_contain_many(f, keys, lens, N, bitmap);
    assert_int_equal(filter_hash_many(f, keys, lens, N, hashes, NULL), NAY_EINVAL);
  } else {
    added = nay_filter_add_column(f, column, N, NULL, NULL);
    probed = nay_filter_may_contain_column(f, column, N, bitmap);
  }
  if (added != NAY_EINVAL || probed != NAY_EINVAL) fail_msg("column %u is usable", which);
  for (size_t i = 0; i < N / 64; i++) assert_int_equal(bitmap[i], ~(uint64_t)0);
  assert_int_equal(bitmap[N / 64], last);
}

static void unusable_keys(void **state) {
  (void)state;
  make_keys(5);
  nay_filter *f = make_filter(NAY_BLOCKED, NAY_HASH_XXH3, 0);
  const void *key = keys[650];
  keys[650] = NULL; /* it has 9 to 16 bytes */
  assert_unusable(f, NULL, 0);
  keys[650] = key;
  for (unsigned which = 1; which < 11; which++) {
    nay_column column = keys_column(which % 2 != 0);
    size_t wide = offsets[650];
    if (which == 1) offsets[650] = offsets[651] + 1;
    if (which == 2) narrow[650] = narrow[651] + 1;
    if (which == 3) offsets[N] = (size_t)-1;
    if (which == 4) narrow[N] = UINT32_MAX; /* -1 in Arrow */
    if (which == 5) column.bytes = NULL;
    if (which == 6) column.offsets = NULL;
    if (which == 7) column.offset_bytes = 2;
    if (which == 8) column.width = 8; /* and offsets */
    if (which == 9) column.size = 1;
    assert_unusable(f, which < 10 ? &column : NULL, which);
    offsets[650] = wide;
    offsets[N] = column.nbytes;
    narrow[650] = (uint32_t)wide;
    narrow[N] = (uint32_t)column.nbytes;
  }
  nay_stats stats = {.size = sizeof stats};
  assert_int_equal(nay_filter_stats(f, &stats), NAY_OK);
  assert_int_equal(stats.nbits_set, 0);
  nay_column nothing = {.size = sizeof nothing};
  assert_int_equal(nay_filter_add_column(f, &nothing, 0, NULL, NULL), NAY_OK);
  assert_int_equal(nay_filter_may_contain_column(f, &nothing, 0, NULL), NAY_OK);
  size_t none[3] = {0, 0, 0};
  uint64_t bitmap[1];
  nay_column empty = column_of(NULL, none, 2);
  assert_int_equal(nay_filter_add_column(f, &empty, 2, bitmap, NULL), NAY_OK); /* two empty keys */
  assert_int_equal(bitmap[0], 1);
  nay_filter_free(f);
}

/* prepare is only a hint, for every family and also when there is nothing to ask for. */
static void prepare_changes_nothing(void **state) {
  (void)state;
  nay_filter_prefetch(NULL, (nay_hash){1, 2});
  for (int kind = 1; kind < 64; kind++) {
    if (nay_kind_name((nay_kind)kind) == NULL ||
        (nay_kind_traits((nay_kind)kind) & (NAY_CAN_GET | NAY_CAN_RANGE)) != 0)
      continue;
    for (size_t n = 10; n <= 2000000; n *= 200000) {
      nay_params p = {sizeof p, .kind = (nay_kind)kind, .nkeys = n, .fpr = 0.001};
      uint64_t hashes[10];
      for (size_t i = 0; i < 10; i++) hashes[i] = nay_hash_mix(i);
      nay_filter *f;
      assert_int_equal(nay_filter_build(&p, hashes, 10, NULL, NULL, &f), NAY_OK);
      for (uint64_t i = 0; i < 200; i++) {
        nay_hash h = {nay_hash_mix(i), 0};
        bool before = nay_filter_may_contain_hash(f, h);
        nay_filter_prefetch(f, h);
        assert_int_equal(nay_filter_may_contain_hash(f, h), before);
        assert_true(before || i >= 10);
      }
      nay_filter_free(f);
    }
  }
}

/* A filter answers alike, one by one and in batches, whichever kernels it has. */
static void every_table_answers_alike(void **state) {
  (void)state;
  static uint64_t hashes[20000], queries[2 * N + 3], first[(2 * N + 66) / 64],
      again[sizeof first / 8];
  const size_t nqueries = sizeof queries / sizeof queries[0];
  for (size_t i = 0; i < 20000; i++) hashes[i] = nay_hash_mix(i);
  for (size_t i = 0; i < nqueries; i++) queries[i] = nay_hash_mix(i % 2 == 0 ? i : i << 32);
  const double rates[] = {0.2, 0.01, 0.002, 1.0 / 256, 1e-5, 1e-8};
  for (unsigned which = 0; which < 64 * 6 * 2; which++) {
    nay_params p = {sizeof p, .kind = (nay_kind)(1 + which / 12), .fpr = rates[which % 6]};
    p.nkeys = which / 6 % 2 == 0 ? 300 : 20000;
    nay_filter *f;
    if (nay_kind_name(p.kind) == NULL) continue;
    if (nay_filter_build(&p, hashes, p.nkeys, NULL, NULL, &f) != NAY_OK) continue;
    const nay_kernels *table;
    for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
      f->kernels = table;
      if (f->family->bind != NULL) f->family->bind(f);
      uint64_t *bitmap = t == 0 ? first : again;
      f->bits.in_cache = t % 2 == 0;
      assert_int_equal(nay_filter_may_contain_hash_many(f, queries, NULL, nqueries, bitmap),
                       NAY_OK);
      assert_memory_equal(first, bitmap, (nqueries + 63) / 64 * 8);
      for (size_t i = 0; i < nqueries; i++) {
        bool one = nay_filter_may_contain_hash(f, (nay_hash){queries[i], 0});
        assert_int_equal(one, bitmap[i / 64] >> (i % 64) & 1);
        assert_int_equal(one, f->family->test(f, (nay_hash){queries[i], 0}));
        assert_true(one || i % 2 != 0 || i >= p.nkeys);
      }
    }
    nay_filter_free(f);
  }
}

#define FAR_KEYS 6000000u

/* A filter of 24 MiB and more, that need not hold many keys, unless it is a static one. */
static nay_filter *far_filter(nay_kind kind, const uint64_t *hashes) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = 25000000, .fpr = 0.001};
  nay_filter *f;
  if ((nay_kind_traits(kind) & NAY_CAN_ADD) != 0) {
    assert_ok(nay_filter_new(&p, NULL, NULL, &f));
    assert_ok(nay_filter_add_hash_many(f, hashes, NULL, N, NULL, NULL));
  } else {
    p.nkeys = FAR_KEYS;
    p.fpr = 1.0 / ((uint64_t)1 << 32); /* four bytes a key */
    p.threads = 2;
    assert_ok(nay_filter_build(&p, hashes, FAR_KEYS, NULL, NULL, &f));
  }
  assert_true(f->nbytes >= NAY_OUT_OF_CACHE_BYTES);
  return f;
}

/* Lines that are far are asked for ahead, in every family and table in its own way. */
static void far_filters_answer_alike(void **state) {
  (void)state;
  const nay_kind kinds[] = {NAY_BLOOM, NAY_BLOCKED, NAY_COUNTING, NAY_CUCKOO, NAY_FUSE};
  static uint64_t queries[N + 3], bitmap[(N + 66) / 64];
  size_t ends[N + 4];
  uint64_t *hashes = malloc(FAR_KEYS * sizeof *hashes);
  assert_non_null(hashes);
  for (size_t i = 0; i < FAR_KEYS; i++) hashes[i] = nay_hash_mix(i);
  for (size_t i = 0; i < N + 3; i++) queries[i] = nay_hash_mix(i % 2 == 0 ? i / 2 : i << 32);
  for (size_t i = 0; i < N + 4; i++) ends[i] = i * sizeof queries[0];
  for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    nay_filter *f = far_filter(kinds[k], hashes);
    const nay_kernels *table;
    for (size_t t = 0; (table = nay__kernels_at(t)) != NULL; t++) {
      f->kernels = table;
      assert_ok(nay_filter_may_contain_hash_many(f, queries, NULL, N + 3, bitmap));
      for (size_t i = 0; i < N + 3; i++) {
        bool maybe = (bitmap[i / 64] >> (i % 64) & 1) != 0;
        assert_int_equal(maybe, f->family->test(f, (nay_hash){queries[i], 0}));
        assert_true(maybe || i % 2 != 0);
      }
      nay_column column = column_of(queries, ends, N + 3);
      assert_ok(nay_filter_may_contain_column(f, &column, N + 3, bitmap));
      for (size_t i = 0; i < N + 3; i++) {
        bool maybe = (bitmap[i / 64] >> (i % 64) & 1) != 0;
        assert_int_equal(maybe, nay_filter_may_contain(f, &queries[i], sizeof queries[i]));
      }
    }
    nay_filter_free(f);
  }
  free(hashes);
}

/* Whether memory is asked for or not, with answers and without, for one thread and for many. */
static void batches_of_any_length(void **state) {
  (void)state;
  const nay_kind kinds[] = {NAY_BLOCKED, NAY_COUNTING, NAY_BLOOM};
  uint64_t hashes[N], bitmap[(N + 63) / 64], maybe[(N + 63) / 64];
  for (unsigned round = 0; round < 48; round++) {
    const size_t lengths[] = {1, 63, 64, 65, 127, 128, 129, N};
    size_t n = lengths[round / 6];
    nay_filter *f, *one = make_filter(kinds[round % 3], NAY_HASH_XXH3, 0);
    nay_params p = {.size = sizeof p};
    assert_int_equal(nay_filter_params(one, &p), NAY_OK);
    p.flags = round / 3 % 2 == 0 ? NAY_CONCURRENT : 0;
    assert_int_equal(nay_filter_new(&p, NULL, NULL, &f), NAY_OK);
    for (size_t i = 0; i < n; i++) hashes[i] = nay_hash_mix(round << 16 | (i % 500));
    f->bits.in_cache = false;
    assert_int_equal(nay_filter_add_hash_many(f, hashes, NULL, n / 2, NULL, NULL), NAY_OK);
    assert_int_equal(nay_filter_add_hash_many(f, hashes, NULL, n, bitmap, NULL), NAY_OK);
    for (size_t i = 0; i < n / 2; i++) {
      assert_int_equal(nay_filter_add_hash(one, (nay_hash){hashes[i], 0}, NULL), NAY_OK);
    }
    for (size_t i = 0; i < n; i++) {
      bool is_new;
      assert_int_equal(nay_filter_add_hash(one, (nay_hash){hashes[i], 0}, &is_new), NAY_OK);
      assert_int_equal(is_new, bitmap[i / 64] >> (i % 64) & 1);
    }
    assert_memory_equal(f->bits.bytes, one->bits.bytes, f->nbytes);
    for (size_t i = 0; i < n; i++) hashes[i] ^= i % 3 == 0 ? 0 : (uint64_t)i << 40;
    assert_int_equal(nay_filter_may_contain_hash_many(f, hashes, NULL, n, maybe), NAY_OK);
    for (size_t i = 0; i < n; i++) {
      bool answer = nay_filter_may_contain_hash(one, (nay_hash){hashes[i], 0});
      assert_int_equal(answer, maybe[i / 64] >> (i % 64) & 1);
    }
    nay_filter_free(f);
    nay_filter_free(one);
  }
}

/* Bits past n are undefined before the call: half of the rounds set them. */
static void bitmaps_are_read(void **state) {
  (void)state;
  for (size_t n = 0; n <= 200; n++) {
    for (uint64_t round = 0; round < 12; round++) {
      uint64_t bitmap[NAY_BITMAP_WORDS(200) + 1];
      for (size_t w = 0; w < sizeof bitmap / sizeof bitmap[0]; w++) {
        uint64_t x = nay_hash_mix(n * 1000 + round * 10 + w);
        bitmap[w] = round == 0 ? 0 : round == 1 ? UINT64_MAX : round < 6 ? x : x & nay_hash_mix(x);
        if (round > 8) bitmap[w] = (uint64_t)1 << (x % 64);
      }
      size_t count = 0, next = n;
      for (size_t i = n; i-- > 0;) {
        bool set = (bitmap[i / 64] & (uint64_t)1 << (i % 64)) != 0;
        assert_int_equal(nay_bitmap_get(bitmap, i), set);
        if (set) next = i;
        count += set;
        assert_int_equal(nay_bitmap_next(bitmap, n, i), next);
      }
      assert_int_equal(nay_bitmap_count(bitmap, n), count);
      assert_int_equal(nay_bitmap_next(bitmap, n, n), n);
    }
  }
}

int main(void) {
  const test_case tests[] = {
      TEST(column_is_many),           TEST(columns_of_one_width),  TEST(columns_at_any_address),
      TEST(columns_in_builders),      TEST(hash_many_is_hash),     TEST(unusable_keys),
      TEST(prepare_changes_nothing),  TEST(batches_of_any_length), TEST(every_table_answers_alike),
      TEST(far_filters_answer_alike), TEST(bitmaps_are_read)};
  return run_all(tests);
}
