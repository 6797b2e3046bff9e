/* test_kernels.c - every table of kernels gives the bits and answers of the scalar one. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "cpu/groups.h"
#include "cpu/halves.h"
#include "cpu/units.h"
#include "hash/hash.h"
#include "support/test.h"

#define NBYTES 4096u

static uint8_t scalar_bytes[NBYTES + 64], other_bytes[NBYTES + 64];

/* The address is off by `shift`: views hand kernels bytes at any alignment. */
static nay_bits bits_at(uint8_t *bytes, unsigned shift, uint64_t nunits, uint32_t k) {
  return (nay_bits){.bytes = bytes + shift, .nunits = nunits, .k = k};
}

static void powers_of_g(void **state) {
  (void)state;
  const uint32_t powers[16] = {NAY_G32_POWS_0_TO_15};
  const uint32_t first[8] = {NAY_G32_POWS_0_TO_7};
  uint32_t p = 1;
  for (unsigned i = 0; i < 16; i++, p *= NAY_G32) {
    assert_int_equal(powers[i], p);
    if (i < 8) assert_int_equal(first[i], p);
    if (i == 8) assert_int_equal(NAY_G32_POW_8, p);
  }
  assert_int_equal(NAY_G32_POW_16, p);
}

static void powers_of_big_g(void **state) {
  (void)state;
  const uint64_t powers[8] = {NAY_G64_POWS_0_TO_7};
  uint64_t p = 1;
  for (unsigned i = 0; i < 8; i++, p *= NAY_G64) assert_int_equal(powers[i], p);
  assert_int_equal(NAY_G64_POW_8, p);
}

/* What families call without asking: every slot that may not be NULL, of every group of a table. */
static void groups_are_complete(void **state) {
  const nay_kernels *t = *state;
  bool bytes = t->blocked_add->choose_add_blind == NULL; /* where adds go one by one */
  assert_non_null(t->name);
  assert_true(t->bloom->test && t->bloom->choose_test && t->bloom->test64);
  assert_true(t->bloom->add && t->bloom->add64);
  assert_true(t->bloom->choose_add_blind == NULL || !bytes);
  assert_true(t->blocked->test && t->blocked->test64);
  assert_true(t->blocked_add->add && t->blocked_add->add64);
  assert_true(t->counting->add && t->counting->remove);
  assert_true(t->scalable->choose_test && t->scalable->test64 && t->scalable->set);
  assert_true(t->window->test && t->window->test64 && t->window->find);
  assert_non_null(t->window->add64);
  if (t->fuse != NULL) assert_true(t->fuse->test64 && t->fuse->prefetch64);
  if (t->cuckoo != NULL) assert_true(t->cuckoo->test64 && t->cuckoo->prefetch64);
  assert_true(t->sbbf->test && t->sbbf->test64);
  assert_true(t->sbbf->add && t->sbbf->add_blind && t->sbbf->add64);
  if (t->ribbon != NULL) assert_true(t->ribbon->test != NULL && t->ribbon->sum != NULL);
  if (t->banding != NULL) assert_true(t->banding->bump && t->banding->back_substitute);
  if (t->partition != NULL) assert_non_null(t->partition->select64);
  if (t->hash != NULL) assert_non_null(t->hash->xxh3_short);
}

/* The kernels of bloom or blocked, as far as both have them. */
typedef struct probe_kernels {
  const nay_kernels *table;
  bool blocked;
} probe_kernels;

static bool test_one(probe_kernels p, const nay_bits *b, uint64_t hash) {
  return p.blocked ? p.table->blocked->test(b, hash) : p.table->bloom->test(b, hash);
}

static bool add_one(probe_kernels p, const nay_bits *b, uint64_t hash) {
  return p.blocked ? p.table->blocked_add->add(b, hash) : p.table->bloom->add(b, hash);
}

static uint64_t test_batch(probe_kernels p, const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return p.blocked ? p.table->blocked->test64(b, hashes, n, NULL)
                   : p.table->bloom->test64(b, hashes, n);
}

static uint64_t add_batch(probe_kernels p, const nay_bits *b, const uint64_t *hashes, unsigned n,
                          bool report) {
  return p.blocked ? p.table->blocked_add->add64(b, hashes, n, NULL, report)
                   : p.table->bloom->add64(b, hashes, n, report);
}

/* A few repeats, and a few with many equal probes, since few of their low bits are set. */
static uint64_t a_hash(uint64_t seed, unsigned i) {
  uint64_t h = nay_hash_mix(seed | (i % 61));
  return i % 16 == 5 ? h >> 32 << 32 | (uint32_t)(h & 7) << 29 : h;
}

static void compare(probe_kernels scalar, probe_kernels other, uint64_t nunits) {
  for (uint32_t k = 1; k <= 64; k++) {
    unsigned shift = k % 64;
    memset(scalar_bytes, 0, sizeof scalar_bytes);
    memset(other_bytes, 0, sizeof other_bytes);
    nay_bits a = bits_at(scalar_bytes, shift, nunits, k),
             b = bits_at(other_bytes, shift, nunits, k);
    b.in_cache = k % 2 == 0;
    uint64_t hashes[64];
    for (uint64_t round = 0; round < 8; round++) {
      uint64_t fresh = 0, maybe = 0;
      unsigned n = (unsigned)(nay_hash_mix(k * 8 + round) % 65);
      for (unsigned i = 0; i < n; i++) {
        hashes[i] = a_hash(k << 20 | round << 8, i);
        maybe |= (uint64_t)test_one(scalar, &a, hashes[i]) << i;
        assert_int_equal(test_one(other, &b, hashes[i]), maybe >> i & 1);
      }
      assert_int_equal(test_batch(other, &b, hashes, n), maybe);
      for (unsigned i = 0; i < n; i++) fresh |= (uint64_t)add_one(scalar, &a, hashes[i]) << i;
      if (round % 4 == 2) {
        add_batch(other, &b, hashes, n, false);
      } else if (round % 2 == 0) {
        assert_int_equal(add_batch(other, &b, hashes, n, true), fresh);
      } else {
        for (unsigned i = 0; i < n; i++)
          assert_int_equal(add_one(other, &b, hashes[i]), fresh >> i & 1);
      }
      assert_memory_equal(scalar_bytes, other_bytes, sizeof scalar_bytes);
    }
  }
}

static void same_bits_as_scalar(void **state) {
  const nay_kernels *other = *state, *scalar = &nay__kernels_scalar;
  compare((probe_kernels){scalar, true}, (probe_kernels){other, true}, NBYTES / NAY_BLOCK_BYTES);
  compare((probe_kernels){scalar, false}, (probe_kernels){other, false}, NBYTES * 8 - 5);
}

/* Bit by bit, as doc/formats/nay.md has it. */
static bool bloom_has(const nay_bits *b, uint64_t h) {
  for (uint32_t i = 0; i < b->k; i++, h *= NAY_G64) {
    uint64_t bit = nay__reduce(h, b->nunits);
    if ((b->bytes[bit >> 3] >> (bit & 7) & 1) == 0) return false;
  }
  return true;
}

/*
 * The functions that are chosen once for a filter, and single adds. The array ends where its memory
 * does, in the middle of a word or not; one of 2^32 bits and more, of which few pages are touched,
 * takes other kernels than small ones.
 */
static void bloom_chosen_once(void **state) {
  const nay_kernels *table = *state;
  const uint64_t sizes[] = {64, 1000, 100037, (uint64_t)1 << 25, ((uint64_t)1 << 32) + 64};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (uint32_t k = 1; k <= 20; k++) {
      nay_bits b = {.nunits = sizes[s], .k = k, .in_cache = s < 2};
      b.bytes = calloc((size_t)nay__ceil_div(sizes[s], 64), 8);
      assert_non_null(b.bytes);
      nay_bits_probe test = table->bloom->choose_test(&b);
      nay_add_blind add_blind = table->bloom->choose_add_blind(&b);
      uint64_t hashes[64], maybe = 0;
      for (unsigned i = 0; i < 64; i++) {
        hashes[i] = nay_hash_mix(s << 20 | k << 8 | i);
        if (i % 3 == 0) assert_int_equal(add_blind(&b, hashes[i]), NAY_OK);
        if (i % 3 == 0) assert_true(bloom_has(&b, hashes[i]));
        bool known = bloom_has(&b, hashes[i]);
        if (i % 3 == 1) assert_int_equal(table->bloom->add(&b, hashes[i]), !known);
      }
      for (unsigned i = 0; i < 64; i++) {
        maybe |= (uint64_t)bloom_has(&b, hashes[i]) << i;
        assert_int_equal(test(&b, hashes[i]), maybe >> i & 1);
        assert_int_equal(table->bloom->test(&b, hashes[i]), maybe >> i & 1);
      }
      for (unsigned n = 0; n <= 64; n += 7) {
        uint64_t mask = ((uint64_t)1 << n) - 1;
        assert_int_equal(table->bloom->test64(&b, hashes, n), maybe & mask);
      }
      free(b.bytes);
    }
  }
}

/* Batches of adds, with and without answers, into arrays whose lines are prefetched and others. */
static void bloom_batches(void **state) {
  const nay_kernels *table = *state, *scalar = &nay__kernels_scalar;
  const uint64_t sizes[] = {64, 100037, ((uint64_t)1 << 25) + 1};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (uint32_t k = 1; k <= 20; k++) {
      nay_bits a = {.nunits = sizes[s], .k = k}, b = a;
      size_t nwords = (size_t)nay__ceil_div(sizes[s], 64);
      a.bytes = calloc(nwords, 8);
      b.bytes = calloc(nwords, 8);
      assert_non_null(a.bytes);
      assert_non_null(b.bytes);
      for (unsigned n = 0; n <= 64; n += 9) {
        uint64_t hashes[64], fresh = 0;
        for (unsigned i = 0; i < n; i++) hashes[i] = a_hash(s << 40 | k << 20 | n / 18 << 8, i);
        for (unsigned i = 0; i < n; i++) fresh |= (uint64_t)scalar->bloom->add(&a, hashes[i]) << i;
        if (n % 2 != 0) {
          assert_int_equal(table->bloom->add64(&b, hashes, n, true), fresh);
        } else {
          table->bloom->add64(&b, hashes, n, false);
        }
        uint64_t all = n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
        assert_int_equal(table->bloom->test64(&b, hashes, n), all);
      }
      assert_memory_equal(a.bytes, b.bytes, nwords * 8);
      free(a.bytes);
      free(b.bytes);
    }
  }
}

static void selects_a_range(void **state) {
  const nay_kernels *table = *state;
  for (uint64_t round = 0; round < 300; round++) {
    uint64_t hashes[64], kept[64], least = nay_hash_mix(round), span = nay_hash_mix(~round);
    if (round % 3 == 0) span = round % 2 == 0 ? 0 : ~(uint64_t)0; /* one, or all */
    for (unsigned i = 0; i < 64; i++) hashes[i] = nay_hash_mix(round << 8 | i);
    hashes[5] = least;
    hashes[60] = least + span;
    hashes[61] = least - 1;
    unsigned n = table->partition->select64(hashes, least, span, kept), expected = 0;
    for (unsigned i = 0; i < 64; i++) {
      if (hashes[i] - least <= span) assert_int_equal(kept[expected++], hashes[i]);
    }
    assert_int_equal(n, expected);
  }
}

/* With a prefetch for the keys of a later batch. */
static void prefetching_changes_nothing(void **state) {
  const nay_kernels *other = *state, *scalar = &nay__kernels_scalar;
  for (uint32_t k = 1; k <= 64; k++) {
    memset(scalar_bytes, 0, sizeof scalar_bytes);
    memset(other_bytes, 0, sizeof other_bytes);
    nay_bits a = bits_at(scalar_bytes, k % 64, NBYTES / NAY_BLOCK_BYTES, k),
             b = bits_at(other_bytes, k % 64, NBYTES / NAY_BLOCK_BYTES, k);
    for (uint64_t round = 0; round < 6; round++) {
      uint64_t hashes[64], next[64];
      for (unsigned i = 0; i < 64; i++) {
        hashes[i] = a_hash(k << 20 | round / 2 << 8, i + 7 * (unsigned)(round % 2));
        next[i] = nay_hash_mix(hashes[i]);
      }
      uint64_t maybe = scalar->blocked->test64(&a, hashes, 64, NULL);
      assert_int_equal(other->blocked->test64(&b, hashes, 64, next), maybe);
      uint64_t fresh = scalar->blocked_add->add64(&a, hashes, 64, NULL, true);
      uint64_t bitmap = other->blocked_add->add64(&b, hashes, 64, next, round % 2 == 0);
      if (round % 2 == 0) assert_int_equal(bitmap, fresh);
      assert_memory_equal(scalar_bytes, other_bytes, sizeof scalar_bytes);
    }
  }
}

/* Adds that do not report what was new, one key at a time. */
static void blind_adds_are_adds(void **state) {
  const nay_kernels *other = *state;
  for (uint32_t k = 1; k <= 64; k++) {
    memset(scalar_bytes, 0, sizeof scalar_bytes);
    memset(other_bytes, 0, sizeof other_bytes);
    nay_bits a = bits_at(scalar_bytes, k % 64, NBYTES / NAY_BLOCK_BYTES, k),
             b = bits_at(other_bytes, k % 64, NBYTES / NAY_BLOCK_BYTES, k);
    nay_add_blind add_blind = other->blocked_add->choose_add_blind(&b);
    for (unsigned i = 0; i < 300; i++) {
      uint64_t hash = a_hash(k << 20 | i / 61 << 8, i);
      nay__kernels_scalar.blocked_add->add(&a, hash);
      assert_int_equal(add_blind(&b, hash), NAY_OK);
      assert_memory_equal(scalar_bytes, other_bytes, sizeof scalar_bytes);
    }
  }
}

/* Keys of 0 to 20 bytes, mostly 9 to 16, with a pointer each and packed. */
static void same_hashes_as_xxhash(void **state) {
  const nay_kernels *table = *state;
  uint8_t bytes[64 * 20];
  const void *keys[64];
  size_t lens[64], offsets[65], refused = 0;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)nay_hash_mix(i);
  for (uint64_t round = 0; round < 200; round++) {
    uint64_t seed = round % 3 == 0 ? 0 : nay_hash_mix(round);
    for (size_t i = 0, at = 0; i < 64; i++, at += lens[i - 1]) {
      uint64_t x = nay_hash_mix(round << 8 | i);
      lens[i] = x % 64 == 0 ? x / 64 % 21 : round % 4 == 1 ? 16 : 9 + x / 64 % 8;
      keys[i] = bytes + at;
      offsets[i] = at;
      offsets[i + 1] = at + lens[i];
    }
    nay_key_list lists[2] = {{.keys = keys, .lens = lens, .n = 64},
                             {.bytes = bytes, .offsets = offsets, .n = 64}};
    for (size_t from = 0, done; from + 8 <= 64; from += done) {
      uint64_t hashes[64];
      done = table->hash->xxh3_short(seed, &lists[round / 2 % 2], from, 64 - from, hashes);
      for (size_t i = 0; i < done; i++) {
        assert_int_equal(hashes[i], XXH3_64bits_withSeed(keys[from + i], lens[from + i], seed));
      }
      bool all = done == 0;
      for (size_t i = from; all && i < from + 8; i++) all = lens[i] >= 9 && lens[i] <= 16;
      assert_false(all); /* eight good ones were refused */
      refused += done == 0;
      if (done == 0) done = 8;
    }
  }
  assert_true(refused > 0);
}

/* ---- a block of a counting filter, against counters one by one ---- */

typedef struct counted_model {
  uint8_t count[512];
  bool bare[8]; /* groups that have bits and no counters */
} counted_model;

static unsigned model_sum(const counted_model *m, unsigned group) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 64; i++) sum += m->count[group * 64 + i];
  return sum;
}

static void model_write(const counted_model *m, uint8_t *plane, uint8_t *words) {
  for (unsigned g = 0; g < 8; g++) {
    uint64_t p = 0, w = 0;
    for (unsigned i = 0, at = 0; i < 64; i++) {
      if (m->count[g * 64 + i] == 0) continue;
      p |= (uint64_t)1 << i;
      at += m->count[g * 64 + i];
      if (!m->bare[g]) w |= (uint64_t)1 << (at - 1);
    }
    nay__store64le(plane + g * 8, p);
    nay__store64le(words + g * 8, w);
  }
}

/* Groups that are empty, sparse or dense; in a block also large counters, full groups, bare ones,
 * or all of these. */
static counted_model model_random(uint64_t seed) {
  counted_model m = {{0}, {false}};
  bool large = seed % 5 % 4 == 1, full = seed % 5 >= 3, bare = seed % 5 == 2 || seed % 5 == 4;
  for (unsigned g = 0; g < 8; g++) {
    uint64_t x = nay_hash_mix(seed << 8 | g);
    unsigned room = full && x % 4 == 0 ? 58 + (unsigned)(x >> 8) % 7 : (unsigned)(x >> 8) % 45;
    for (uint64_t i = 0; room > 0; i++) {
      uint64_t y = nay_hash_mix(x ^ i);
      uint8_t *count = &m.count[g * 64 + y % 64];
      unsigned more = large && (y >> 8) % 16 == 0 ? 13 + (unsigned)(y >> 16) % 3 : 1;
      if (*count + more > 15) more = 15u - *count;
      if (more > room) more = room;
      *count = (uint8_t)(*count + more);
      room -= more;
    }
    m.bare[g] = bare && (x >> 16) % 4 == 0 && model_sum(&m, g) > 0;
  }
  return m;
}

static bool model_has(const counted_model *m, uint32_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    if (m->count[h >> 23] == 0) return false;
  }
  return true;
}

static nay_counted model_change(counted_model *m, uint32_t h, uint32_t k, bool removing) {
  bool seen[512] = {false};
  nay_counted counted = {0, false};
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t *count = &m->count[h >> 23];
    if (seen[h >> 23]) continue;
    seen[h >> 23] = true;
    if (m->bare[h >> 29] || (!removing && model_sum(m, h >> 29) == 64)) {
      counted.left |= (uint64_t)1 << i;
    } else if (*count < 15) {
      counted.fresh |= *count == 0;
      *count = (uint8_t)(removing ? *count - 1 : *count + 1);
    }
  }
  return counted;
}

static void counts_one_by_one(void **state) {
  const nay_kernels *table = *state;
  unsigned left = 0, removed = 0;
  for (uint64_t round = 0; round < 3000; round++) {
    counted_model m = model_random(round);
    uint32_t k = 1 + (uint32_t)(round % (round % 4 == 0 ? 64 : 18));
    uint8_t got[128], written[128];
    model_write(&m, got, got + 64);
    for (unsigned step = 0; step < 12; step++) {
      bool removing = step % 3 == 2; /* the key of the step before */
      uint64_t hash = a_hash(round << 8, (step - removing) * 3);
      if (removing && !model_has(&m, (uint32_t)hash, k)) continue; /* it was left */
      nay_counted want = model_change(&m, (uint32_t)hash, k, removing);
      nay_counted counted = removing ? table->counting->remove(got, got + 64, hash, k)
                                     : table->counting->add(got, got + 64, hash, k);
      assert_int_equal(counted.left, want.left);
      if (!removing) assert_int_equal(counted.fresh, want.fresh);
      model_write(&m, written, written + 64);
      assert_memory_equal(got, written, sizeof written);
      left += want.left != 0;
      removed += removing;
    }
  }
  assert_true(left > 1000 && removed > 1000);
}

static uint64_t word_at(const uint8_t *block, unsigned column, unsigned half) {
  uint64_t word;
  memcpy(&word, block + column * 16 + half * 8, 8);
  return word;
}

/* A key's three words follow each other: from the lower half of `here` on, or from the upper. */
static unsigned parity_of(const nay_ribbon_location *s, unsigned column) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < 3; i++) {
    unsigned at = i + s->upper;
    sum ^= word_at(at < 2 ? s->here : s->next, column, at % 2) & s->bits[i];
  }
  return nay__parity64(sum);
}

/* Two blocks of random slots, to be freed; the last column ends where its memory does. */
static nay_ribbon_location a_location(unsigned columns, uint64_t seed, bool upper,
                                      uint8_t **blocks) {
  uint8_t *bytes = malloc(columns * 32 + 1);
  assert_non_null(bytes);
  for (size_t i = 0; i < columns * 32; i++) bytes[i] = (uint8_t)nay_hash_mix(seed + i);
  nay_ribbon_location l = {.here = bytes, .next = bytes + columns * 16, .columns = columns};
  l.upper = upper;
  for (unsigned i = 0; i < 3; i++) l.bits[i] = nay_hash_mix(seed ^ 1000 ^ i);
  *blocks = bytes;
  return l;
}

/* Every number of columns. */
static void same_sums(void **state) {
  const nay_kernels *table = *state;
  for (unsigned columns = 1; columns <= 64; columns++) {
    for (uint64_t round = 0; round < 50; round++) {
      uint8_t *blocks;
      uint64_t seed = (uint64_t)columns << 16 | round << 8, want = 0;
      nay_ribbon_location l = a_location(columns, seed, round % 2 != 0, &blocks);
      for (unsigned c = 0; c < columns; c++) want |= (uint64_t)parity_of(&l, c) << c;
      assert_int_equal(table->ribbon->sum(&l), want);
      free(blocks);
    }
  }
}

/* Every number of columns; all right, and one wrong. */
static void same_parities(void **state) {
  const nay_kernels *table = *state;
  for (unsigned columns = 0; columns <= 32; columns++) {
    for (uint64_t round = 0; round < 50; round++) {
      uint8_t *blocks;
      uint64_t seed = columns << 16 | round << 8, print = nay_hash_mix(seed);
      nay_ribbon_location l = a_location(columns, seed, round % 2 != 0, &blocks);
      for (unsigned c = 0; c < columns; c++) {
        uint64_t bit = (uint64_t)1 << (c % 4 * 16 + c / 4);
        print = parity_of(&l, c) != 0 ? print | bit : print & ~bit;
      }
      l.fingerprint = print;
      assert_true(table->ribbon->test(&l));
      for (unsigned c = 0; c < columns; c++) {
        l.fingerprint = print ^ (uint64_t)1 << (c % 4 * 16 + c / 4);
        assert_false(table->ribbon->test(&l));
      }
      free(blocks);
    }
  }
}

/* Slots from the last to the first: each is the parity of its row over those above, and a constant.
 */
static void same_slots(void **state) {
  const nay_kernels *table = *state;
  nay_band_row rows[128];
  nay_band_columns columns;
  for (size_t i = 0; i < 32; i++) {
    columns.lo[i] = nay_hash_mix(i);
    columns.hi[i] = nay_hash_mix(~i);
  }
  nay_band_columns want = columns;
  for (unsigned i = 128; i-- > 0;) {
    rows[i] = (nay_band_row){nay_hash_mix(1000 + i) | 1, nay_hash_mix(2000 + i), nay_hash_mix(i)};
    if (i % 9 == 0) rows[i] = (nay_band_row){0, 0, 0};
    for (unsigned c = 0; c < 32; c++) {
      want.hi[c] = want.hi[c] << 1 | want.lo[c] >> 63;
      want.lo[c] <<= 1;
      uint64_t sum = (want.lo[c] & rows[i].lo) ^ (want.hi[c] & rows[i].hi);
      want.lo[c] |= nay__parity64(sum) ^ (rows[i].fingerprint >> (c % 4 * 16 + c / 4) & 1);
    }
  }
  for (unsigned part = 0; part < 4; part++) table->banding->back_substitute(rows, part, &columns);
  assert_memory_equal(&columns, &want, sizeof want);
}

/* A payload of random levels: of one half or two, of 1 to 64 probes, most of their bits set. */
#define LEVELS_NBYTES 65536u
static uint8_t levels_payload[LEVELS_NBYTES];

static void a_payload_of_levels(unsigned nlevels, unsigned most_k, uint64_t seed) {
  uint64_t at = NAY_LEVELS_HEADER + nlevels * NAY_LEVELS_ROW;
  memset(levels_payload, 0, sizeof levels_payload);
  nay__store32le(levels_payload, nlevels);
  for (unsigned i = 0; i < nlevels; i++) {
    uint8_t *row = nay__levels_row(levels_payload, i);
    uint64_t r = nay_hash_mix(seed + i), nblocks = 1 + r % 12;
    uint32_t k = 1 + (uint32_t)(r >> 8) % most_k, nhalves = 1 + (r >> 16 & 1);
    uint32_t block_bytes = most_k == 64 && (r >> 17 & 1) != 0 ? 64 : 32;
    nay__store64le(row + NAY_ROW_AT, at);
    nay__store64le(row + NAY_ROW_NBLOCKS, nblocks);
    nay__store32le(row + NAY_ROW_K, k);
    nay__store32le(row + NAY_ROW_NHALVES, nhalves);
    nay__store32le(row + NAY_ROW_BLOCK_BITS, block_bytes * 8);
    /* about half of the keys are to be a maybe: p^k = 1 / 2 nlevels, p = 1 - ln(2 nlevels) / k */
    uint64_t clear = 700 * (nay__log2_64(nlevels) + 1) / k, end;
    if (clear > 700) clear = 700;
    end = at + nay__round_up(nblocks * nhalves * block_bytes, 64);
    for (uint64_t bit = at * 8; bit < end * 8; bit++) {
      bool set = nay_hash_mix(seed ^ bit << 8) % 1000 >= clear;
      levels_payload[bit / 8] |= (uint8_t)(set << bit % 8);
    }
    at = end;
  }
  assert_true(at <= LEVELS_NBYTES);
}

static void same_answers_of_levels(void **state) {
  const nay_scalable_kernels *want = nay__kernels_scalar.scalable;
  const nay_scalable_kernels *have = ((const nay_kernels *)*state)->scalable;
  uint64_t hashes[128], maybes = 0, all = 0;
  for (uint64_t round = 0; round < 400; round++) {
    unsigned nlevels = 1 + (unsigned)(round % 20 == 19 ? 63 : round % 18);
    a_payload_of_levels(nlevels, round % 3 == 0 ? 64 : 15, round << 32);
    nay_bits bits = {.bytes = levels_payload};
    nay_bits_probe probe = have->choose_test(&bits), model = want->choose_test(&bits);
    for (unsigned i = 0; i < 128; i++) hashes[i] = nay_hash_mix(round * 128 + i);
    uint64_t expected = want->test64(&bits, hashes, 64, NULL);
    for (unsigned i = 0; i < 64; i++) {
      assert_int_equal(model(&bits, hashes[i]), expected >> i & 1);
      assert_int_equal(probe(&bits, hashes[i]), expected >> i & 1);
    }
    assert_true(have->test64(&bits, hashes, 64, NULL) == expected);
    assert_true(have->test64(&bits, hashes, 64, hashes + 64) == expected);
    assert_true(have->test64(&bits, hashes, 37, NULL) == (expected & (((uint64_t)1 << 37) - 1)));
    maybes += nay__popcount64(expected);
    all += 64;
  }
  assert_true(maybes > all / 8 && maybes < all - all / 8);
}

static void same_bits_of_halves(void **state) {
  const nay_scalable_kernels *have = ((const nay_kernels *)*state)->scalable;
  for (uint32_t k = 1; k <= 64; k++) {
    uint8_t a[NAY_BLOCK_BYTES] = {0}, b[NAY_BLOCK_BYTES] = {0};
    nay_halves level = {.k = k, .block_log = 5 + k % 3 / 2};
    for (uint64_t i = 0; i < 20; i++) {
      uint64_t hash = nay_hash_mix(k << 16 | i);
      assert_int_equal(have->set(&level, a, hash),
                       nay__kernels_scalar.scalable->set(&level, b, hash));
      assert_memory_equal(a, b, sizeof a);
    }
  }
}

/* ---- bloom with concurrent adds ---- */

static int compare_bits(const void *a, const void *b) {
  uint32_t x, y;
  memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* The bits of each part, in any order, for sizes on both sides of 32 bits. */
static void same_parts(void **state) {
  const nay_bloom_split_kernels *ours = ((const nay_kernels *)*state)->bloom_split;
  static const uint64_t sizes[] = {1, 64, 4096, 4097, 1000003, UINT32_MAX, (uint64_t)1 << 35};
  static nay_bloom_parts a, b;
  uint64_t hashes[NAY_BLOOM_PART / 2];
  for (unsigned round = 0; round < 700; round++) {
    uint32_t k = 1 + round % 64;
    unsigned n = round * 13 % (NAY_BLOOM_PART / 2 / k + 1);
    nay_bits bits = {.nunits = sizes[round % 7], .k = k};
    a.shift = 9;
    while ((bits.nunits - 1) >> a.shift >= NAY_BLOOM_NPARTS) a.shift++;
    memset(a.used, 0, sizeof a.used);
    memcpy(b.used, a.used, sizeof b.used);
    b.shift = a.shift;
    for (unsigned twice = 0; twice < 2; twice++) { /* what is there stays there */
      for (unsigned i = 0; i < n; i++) hashes[i] = a_hash((uint64_t)round << 8 | twice, i);
      nay__bloom_split_scalar.split(&bits, hashes, n, &a);
      ours->split(&bits, hashes, n, &b);
    }
    for (unsigned i = 0; i < NAY_BLOOM_NPARTS; i++) {
      assert_int_equal(a.used[i], b.used[i]);
      qsort(a.at[i], a.used[i], sizeof a.at[i][0], compare_bits);
      qsort(b.at[i], b.used[i], sizeof b.at[i][0], compare_bits);
      assert_memory_equal(a.at[i], b.at[i], a.used[i] * sizeof a.at[i][0]);
    }
  }
}

/* ---- window ---- */

/* Batches of adds to one generation after the other, with keys that are in the batch twice or in
 * another generation, for every number of generations and of probes. */
static void same_adds_of_windows(void **state) {
  const nay_window_kernels *want = nay__kernels_scalar.window;
  const nay_window_kernels *have = ((const nay_kernels *)*state)->window;
  enum { UNITS = 5, BYTES = NAY_WINDOW_HEADER + UNITS * NAY_WINDOW_UNIT };
  static uint8_t a[BYTES], b[BYTES];
  uint64_t hashes[128], again = 0, late = 0;
  for (uint32_t all = 2; all <= 16; all++) {
    for (uint32_t k = 1; k <= 64; k += k < 20 ? 1 : 11) {
      memset(a, 0, sizeof a);
      memset(b, 0, sizeof b);
      nay_bits x = {.bytes = a, .nunits = UNITS, .k = k, .extra = all}, y = x;
      y.bytes = b;
      for (unsigned round = 0; round < 12; round++) {
        unsigned n = round % 3 == 0 ? 64 : (round * 23 + k) % 65, changed, other;
        unsigned generation = (round / 2 * 5 + all - 1) % all;
        const uint64_t *next = n == 64 && round % 2 == 0 ? hashes + 64 : NULL;
        for (unsigned i = 0; i < 128; i++) hashes[i] = nay_hash_mix((round * 31 + i * 7) % 97 + k);
        uint64_t fresh = want->add64(&x, hashes, n, next, generation, &changed);
        assert_true(have->add64(&y, hashes, n, next, generation, &other) == fresh);
        assert_int_equal(other, changed);
        assert_memory_equal(a, b, sizeof a);
        for (unsigned i = 0; i < n; i++) {
          uint64_t found = have->find(&y, hashes[i]);
          assert_true((found >> generation & 1) != 0);
          assert_true(found == want->find(&x, hashes[i]));
        }
        assert_true(nay__popcount64(fresh) <= changed);
        again += n - changed;
        late += changed - nay__popcount64(fresh);
      }
    }
  }
  assert_true(again > 0 && late > 0);
}

/* ---- sbbf ---- */

/* Batches of 0 to 64 keys, adds and probes one by one and in batches, at any alignment. */
static void same_split_blocks(void **state) {
  const nay_sbbf_kernels *ours = ((const nay_kernels *)*state)->sbbf, *plain = &nay__sbbf_scalar;
  static const uint64_t sizes[] = {1, 2, 3, 64, 100};
  uint64_t hashes[64];
  for (unsigned round = 0; round < 2000; round++) {
    uint64_t nblocks = sizes[round % 5], maybe = 0, fresh = 0;
    unsigned n = round % 65, shift = round % 33;
    bool report = round % 3 != 0;
    if (round % 40 < 5) memset(scalar_bytes, 0, sizeof scalar_bytes);
    memcpy(other_bytes + shift, scalar_bytes + shift, nblocks * 32);
    nay_bits a = bits_at(scalar_bytes, shift, nblocks, 8),
             b = bits_at(other_bytes, shift, nblocks, 8);
    memcpy(b.bytes, a.bytes, nblocks * 32);
    for (unsigned i = 0; i < n; i++) {
      hashes[i] = i == 9 ? ~(uint64_t)0 : a_hash((uint64_t)round << 8, i);
      maybe |= (uint64_t)plain->test(&a, hashes[i]) << i;
      assert_int_equal(ours->test(&b, hashes[i]), maybe >> i & 1);
    }
    const uint64_t *next = n == 64 && round % 2 == 0 ? hashes : NULL;
    assert_int_equal(plain->test64(&a, hashes, n, next), maybe);
    assert_int_equal(ours->test64(&b, hashes, n, next), maybe);
    for (unsigned i = 0; i < n; i++) fresh |= (uint64_t)plain->add(&a, hashes[i]) << i;
    if (round % 4 == 0) {
      for (unsigned i = 0; i < n; i++) assert_int_equal(ours->add(&b, hashes[i]), fresh >> i & 1);
    } else if (round % 4 == 1) {
      for (unsigned i = 0; i < n; i++) assert_ok(ours->add_blind(&b, hashes[i]));
    } else {
      uint64_t got = ours->add64(&b, hashes, n, next, report);
      if (report) assert_int_equal(got, fresh);
    }
    assert_memory_equal(a.bytes, b.bytes, nblocks * 32);
  }
}

int main(void) {
  test_case tests[96] = {TEST(powers_of_g), TEST(powers_of_big_g)};
  size_t n = 2;
  const nay_kernels *table;
  for (size_t i = 0; (table = nay__kernels_at(i)) != NULL; i++) {
    tests[n++] = (test_case)TEST_WITH(table->name, groups_are_complete, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_bits_as_scalar, table);
    tests[n++] = (test_case)TEST_WITH(table->name, bloom_chosen_once, table);
    tests[n++] = (test_case)TEST_WITH(table->name, bloom_batches, table);
    tests[n++] = (test_case)TEST_WITH(table->name, blind_adds_are_adds, table);
    tests[n++] = (test_case)TEST_WITH(table->name, prefetching_changes_nothing, table);
    tests[n++] = (test_case)TEST_WITH(table->name, counts_one_by_one, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_answers_of_levels, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_bits_of_halves, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_adds_of_windows, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_split_blocks, table);
    if (table->partition != NULL) {
      tests[n++] = (test_case)TEST_WITH(table->name, selects_a_range, table);
    }
    if (table->hash != NULL) {
      tests[n++] = (test_case)TEST_WITH(table->name, same_hashes_as_xxhash, table);
    }
    if (table->ribbon != NULL) {
      tests[n++] = (test_case)TEST_WITH(table->name, same_parities, table);
      tests[n++] = (test_case)TEST_WITH(table->name, same_sums, table);
    }
    if (table->banding != NULL) {
      tests[n++] = (test_case)TEST_WITH(table->name, same_slots, table);
    }
  }
  for (size_t i = 0; (table = nay__kernels_shared_at(i)) != NULL; i++) {
    tests[n++] = (test_case)TEST_WITH(table->name, groups_are_complete, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_bits_as_scalar, table);
    tests[n++] = (test_case)TEST_WITH(table->name, prefetching_changes_nothing, table);
    tests[n++] = (test_case)TEST_WITH(table->name, counts_one_by_one, table);
    tests[n++] = (test_case)TEST_WITH(table->name, same_parts, table);
  }
  return run_list("kernels", tests, n);
}
