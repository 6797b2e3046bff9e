/*
 * fuzz_range.c - range filters. The first byte says how: bit 0, the rest is a file, whose digests
 * are made right first if bit 1 is set; else the second byte is the form of keys and the rest a set
 * of keys, of which filters are built, merged and shrunk, and compared with the set. Every question
 * is asked of every table of kernels, alone and in a batch.
 */
#include "family/range.h"
#include "filter.h"
#include "support/exercise.h"
#include "support/native.h"

#define NKEYS 96u
#define KEY_MAX 12u

typedef struct some_key {
  uint8_t at[KEY_MAX];
  size_t len;
} some_key;

static int key_order(const some_key *a, const some_key *b) {
  size_t n = a->len < b->len ? a->len : b->len;
  int c = n != 0 ? memcmp(a->at, b->at, n) : 0;
  return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

/* ---- questions ---- */

/* 70 ranges of bytes, with every table of kernels. Bit i: the answer is maybe. */
static void ask_bytes(nay_filter *f, const some_key *lo, const some_key *hi, unsigned n,
                      uint64_t maybe[2]) {
  const nay_kernels *own = f->kernels;
  for (size_t table = 0; nay__kernels_at(table) != NULL; table++) {
    uint64_t answers[2] = {0, 0};
    f->kernels = nay__kernels_at(table);
    for (unsigned i = 0; i < n; i++) {
      bool answer = true;
      (void)nay_filter_may_contain_range(f, lo[i].at, lo[i].len, hi[i].at, hi[i].len, &answer);
      answers[i / 64] |= (uint64_t)answer << i % 64;
    }
    if (table == 0) memcpy(maybe, answers, sizeof answers);
    CHECK(memcmp(maybe, answers, sizeof answers) == 0);
  }
  f->kernels = own;
}

/* Ranges of numbers; false: keys have another form. */
static bool ask_numbers(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                        uint64_t maybe[2]) {
  const nay_kernels *own = f->kernels;
  bool answered = true;
  for (size_t table = 0; nay__kernels_at(table) != NULL && answered; table++) {
    uint64_t bitmap[2] = {0, 0};
    f->kernels = nay__kernels_at(table);
    nay_status status = nay_filter_may_contain_range_u64_many(f, lo, hi, n, bitmap);
    answered = status == NAY_OK;
    for (unsigned i = 0; i < n && answered; i++) {
      bool answer;
      CHECK(nay_filter_may_contain_range_u64(f, lo[i], hi[i], &answer) == NAY_OK);
      CHECK(answer == (bitmap[i / 64] >> i % 64 & 1));
    }
    if (table == 0) memcpy(maybe, bitmap, sizeof bitmap);
    CHECK(memcmp(maybe, bitmap, sizeof bitmap) == 0);
  }
  f->kernels = own;
  return answered;
}

static void ask_anything(nay_filter *f, uint64_t salt) {
  some_key lo[70], hi[70];
  uint64_t a[70], b[70], maybe[2];
  for (unsigned i = 0; i < 70; i++) {
    uint64_t x = nay_hash_mix(salt + i), length = nay_hash_mix(x) >> x % 64;
    a[i] = x >> (x >> 8) % 64;
    b[i] = a[i] > UINT64_MAX - length ? UINT64_MAX : a[i] + length;
    nay_range_key(a[i], lo[i].at);
    nay_range_key(b[i], hi[i].at);
    lo[i].len = i % 9 == 0 ? x % 9 : 8;
    hi[i].len = i % 9 == 0 ? lo[i].len : 8;
  }
  (void)ask_numbers(f, a, b, 70, maybe);
  ask_bytes(f, lo, hi, 70, maybe);
}

/* ---- files ---- */

static void range_bytes(uint8_t *p, size_t len, bool seal) {
  flaky heap = {.fail_at = -1};
  nay_allocator a = flaky_allocator(&heap);
  nay_filter *f = NULL;
  nay_view view = {.size = sizeof view};
  if (seal) native_seal(p, len);
  nay_status status = nay_filter_decode(p, len, &a, NULL, &f);
  CHECK(heap.peak <= exercise_limit(len));
  CHECK((status == NAY_OK) == (nay_view_open(p, len, NULL, NULL, &view) == NAY_OK));
  if (status == NAY_OK && nay_filter_kind(f) == NAY_RANGE) { /* or another family */
    exercise_stats(f);
    ask_anything(f, len);
    size_t size = nay_filter_encoded_size(f), written;
    uint8_t *again = malloc(size);
    CHECK(again != NULL && nay_filter_encode(f, again, size, &written) == NAY_OK);
    nay_filter *back = NULL;
    CHECK(nay_filter_decode(again, written, &a, NULL, &back) == NAY_OK);
    (void)nay_filter_merge(f, back, 1, NULL);
    (void)nay_filter_shrink(back, f->nbytes * 3 / 4, NULL);
    ask_anything(f, len + 1);
    ask_anything(back, len + 2);
    nay_filter_free(back);
    free(again);
  }
  nay_filter_free(f);
  CHECK(flaky_is_clean(&heap));
}

/* ---- keys ---- */

static nay_filter *build_of(const nay_params *p, const some_key *keys, unsigned n) {
  nay_builder *b;
  nay_filter *f;
  CHECK(nay_builder_new(p, NULL, NULL, &b) == NAY_OK);
  for (unsigned i = 0; i < n; i++) CHECK(nay_builder_add(b, keys[i].at, keys[i].len) == NAY_OK);
  CHECK(nay_builder_finish(b, NULL, &f) == NAY_OK);
  CHECK(f->family->check(&f->shape, f->bits.bytes, f->nbytes, NULL) == NAY_OK);
  nay_builder_free(b);
  return f;
}

static void check_keys(nay_filter *f, const some_key *keys, unsigned n, bool decimal) {
  some_key lo[70], hi[70];
  uint64_t maybe[2];
  unsigned m = n < 70 ? n : 70;
  for (unsigned i = 0; i < n; i++) {
    CHECK(nay_filter_may_contain(f, keys[i].at, keys[i].len));
  }
  if (n == 0) return;
  for (unsigned i = 0; i < m; i++) { /* between two keys; themselves, for decimal digits */
    const some_key *a = &keys[i], *b = decimal ? a : &keys[(i * 7 + 3) % n];
    bool swap = key_order(a, b) > 0;
    lo[i] = swap ? *b : *a;
    hi[i] = swap ? *a : *b;
  }
  ask_bytes(f, lo, hi, m, maybe);
  for (unsigned i = 0; i < m; i++) CHECK(maybe[i / 64] >> i % 64 & 1);
}

static void check_gaps(nay_filter *f, const some_key *keys, unsigned n, uint64_t salt) {
  some_key lo[70], hi[70];
  uint64_t maybe[2];
  for (unsigned i = 0; i < 70; i++) {
    uint64_t x = nay_hash_mix(salt + i);
    lo[i] = keys[x % n];
    hi[i] = keys[(x >> 8) % n];
    if (lo[i].len != 0) lo[i].at[lo[i].len - 1] ^= (uint8_t)(x >> 16 & 3);
    if (hi[i].len != 0) hi[i].at[hi[i].len - 1] ^= (uint8_t)(x >> 18 & 3);
    if (key_order(&lo[i], &hi[i]) <= 0) continue;
    some_key t = lo[i];
    lo[i] = hi[i];
    hi[i] = t;
  }
  ask_bytes(f, lo, hi, 70, maybe);
  for (unsigned i = 0; i < 70; i++) {
    for (unsigned k = 0; k < n; k++) {
      if (key_order(&keys[k], &lo[i]) < 0 || key_order(&keys[k], &hi[i]) > 0) continue;
      CHECK(maybe[i / 64] >> i % 64 & 1);
    }
  }
}

static void range_keys_of(const uint8_t *p, size_t len, uint8_t how) {
  static some_key keys[NKEYS];
  unsigned n = 0;
  while (len > 0 && n < NKEYS) { /* a byte for the length, then the key */
    size_t key_len = p[0] % (KEY_MAX + 1);
    if (key_len > len - 1) key_len = len - 1;
    memcpy(keys[n].at, p + 1, key_len);
    keys[n++].len = key_len;
    p += 1 + key_len;
    len -= 1 + key_len;
  }
  nay_params params = {sizeof params, .kind = NAY_RANGE, .fpr = 0.05, .nkeys = NKEYS,
                       .range_length = (uint64_t)1 << (how >> 4)};
  params.range_keys = how % 3;
  params.range_delimiter = (how & 8) != 0 ? ':' : 0;
  params.threads = 1 + (how >> 3) % 2;
  bool decimal = params.range_keys == NAY_RANGE_DECIMAL;
  nay_filter *all = build_of(&params, keys, n), *a = build_of(&params, keys, n / 2);
  nay_filter *b = build_of(&params, keys + n / 2, n - n / 2);
  check_keys(all, keys, n, decimal);
  if (n != 0 && !decimal) check_gaps(all, keys, n, how);
  CHECK(nay_filter_merge(a, b, 1, NULL) == NAY_OK);
  CHECK(a->nbytes == all->nbytes && memcmp(a->bits.bytes, all->bits.bytes, a->nbytes) == 0);
  (void)nay_filter_shrink(all, all->nbytes - all->nbytes / 8, NULL);
  check_keys(all, keys, n, decimal);
  nay_filter_free(all);
  nay_filter_free(a);
  nay_filter_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  size_t len = size - 1;
  uint8_t *p = malloc(len); /* exact: a read past the end is seen */
  if (p == NULL) return 0;
  memcpy(p, data + 1, len);
  if ((data[0] & 1) != 0) range_bytes(p, len, (data[0] & 2) != 0);
  if ((data[0] & 1) == 0) range_keys_of(p + 1, len - 1, p[0]);
  free(p);
  return 0;
}
