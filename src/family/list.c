/*
 * list.c - exact lists: which keys of a known universe are listed, without an error.
 *
 * A filter of the listed keys R answers *maybe* for a few unlisted ones, too. Who knows the whole
 * universe U can store which: two levels [1]. Level 1 is a ribbon filter of R with k columns, which
 * |U - R| / 2^k unlisted keys pass; level 2 (the exact level) stores one bit for each key that
 * passes: listed or not. Both are bumped ribbon retrieval (burr.c). With x unlisted keys for each
 * listed one that is k + 1 + x / 2^k bits for each listed key, and the best k is floor(log2 x), of
 * 1.004 x since the exact level has more codes for each bit. Where most keys are listed, the
 * unlisted ones are stored.
 *
 *   x                     1      2      4      9     16     69    100  1,000  10,000
 *   k                     0      0      2      3      4      6      6      9      13
 *   bits per listed key   2      3      4   5.13      6   8.08   8.56  11.95   15.22
 *   lower bound           2   2.75   3.61   4.69   5.49   7.56   8.09  11.41   14.73
 *
 * Partitions. If the share of listed keys differs by an attribute that a reader knows (the issuer
 * of a certificate), the keys are cut by it: sum n_i h(r_i / n_i) <= n h(r / n). The attribute
 * begins the key. Each partition has a class of its own (k, or all alike; inverted or not), and all
 * partitions of one k share one structure, so that a small one costs its 10 bytes of table alone.
 *
 *   0    head: counts, lower bound, identity of the base, sizes
 *   64   groups, 16 bytes each: offset u64, blocks u32, columns u32; columns ascending
 *        partitions: a table of 8-byte slots, open addressing
 *        exceptions, 24 bytes each, ascending
 *        the groups, the exact level, the check bits: payloads of maps, each at a multiple of 64
 *
 * Keys are known by 64-bit hashes. Keys of the universe whose hashes collide are all exceptions:
 * stored with a second hash of 64 bits and their answer. Collisions of both hashes fail the build.
 *
 * [1] Schanck: Clubcards for the WebPKI. S&P 2025.
 */
#include "family/list.h"

#include "family/burr_probe.h"
#include "family/explain.h"
#include "math/elementary.h"
#include "math/plan.h"
#include "nay_list.h"

/* ---- payload ---- */

void nay__list_head_load(const uint8_t *p, nay_list_head *h) {
  *h = (nay_list_head){.nlisted = nay__load64le(p),
                       .bound = nay__load64le(p + 8),
                       .base = nay__load64le(p + 16),
                       .npartitions = nay__load32le(p + 24),
                       .nslots = nay__load32le(p + 28),
                       .nexceptions = nay__load32le(p + 32),
                       .ngroups = nay__load32le(p + 36),
                       .exact_blocks = nay__load32le(p + 40),
                       .check_blocks = nay__load32le(p + 44),
                       .whole = p[48]};
}

void nay__list_head_store(const nay_list_head *h, uint8_t *p) {
  memset(p, 0, NAY_LIST_HEAD_LEN);
  nay__store64le(p, h->nlisted);
  nay__store64le(p + 8, h->bound);
  nay__store64le(p + 16, h->base);
  nay__store32le(p + 24, h->npartitions);
  nay__store32le(p + 28, h->nslots);
  nay__store32le(p + 32, h->nexceptions);
  nay__store32le(p + 36, h->ngroups);
  nay__store32le(p + 40, h->exact_blocks);
  nay__store32le(p + 44, h->check_blocks);
  p[48] = h->whole;
}

static uint64_t list_slots_at(const nay_list_head *h) {
  return NAY_LIST_HEAD_LEN + (uint64_t)h->ngroups * NAY_LIST_ENTRY;
}

static uint64_t list_exceptions_at(const nay_list_head *h) {
  return list_slots_at(h) + (uint64_t)h->nslots * NAY_LIST_SLOT;
}

/* What a lookup needs of the head: offsets, and how many. */
enum { LIST_SLOTS, LIST_HOMES, LIST_EXACT, LIST_CHECK, LIST_BLOCKS, LIST_NDERIVED };
_Static_assert(LIST_NDERIVED <= NAY_NDERIVED, "the handle has no room for it");
#define LIST_HAS_EXCEPTIONS ((uint64_t)1 << 63)

/* The end of the last group: they follow each other. The payload may not be checked yet. */
static uint64_t list_groups_end(const nay_list_head *h, const uint8_t *payload) {
  if (h->ngroups == 0 || h->ngroups > NAY_LIST_MAX_GROUPS) return nay__list_tables_end(h);
  const uint8_t *last = payload + list_slots_at(h) - NAY_LIST_ENTRY;
  return nay__list_end(nay__load64le(last), nay__load32le(last + 8), nay__load32le(last + 12));
}

static void list_bind(nay_filter *f) {
  nay_list_head h;
  const uint8_t *p = f->bits.bytes;
  nay__list_head_load(p, &h);
  if (nay__list_tables_end(&h) > f->nbytes) h.ngroups = 0;
  uint64_t end = list_groups_end(&h, p);
  f->derived[LIST_SLOTS] = list_slots_at(&h);
  f->derived[LIST_HOMES] =
      nay__list_homes(h.npartitions) | (h.nexceptions != 0 ? LIST_HAS_EXCEPTIONS : 0);
  f->derived[LIST_EXACT] = nay__list_start(end);
  if (h.exact_blocks != 0) end = nay__list_end(nay__list_start(end), h.exact_blocks, 1);
  f->derived[LIST_CHECK] = nay__list_start(end);
  f->derived[LIST_BLOCKS] = h.exact_blocks | (uint64_t)h.check_blocks << 32;
}

/* ---- checking ---- */

static bool list_all_zero(const uint8_t *p, uint64_t from, uint64_t to) {
  for (; from < to; from++) {
    if (p[from] != 0) return false;
  }
  return true;
}

static bool list_class_ok(const nay_list_head *h, unsigned class) {
  class &= ~NAY_LIST_INVERTED;
  if (class == NAY_LIST_CONSTANT) return true;
  return h->exact_blocks != 0 &&
         (class == NAY_LIST_EXACT_ONLY || (class >= 1 && class <= h->ngroups));
}

/* Entries ascend, each as near to its home as that leaves; the last slot is free. */
static bool list_slots_ok(const nay_list_head *h, const uint8_t *slots, uint64_t *bad) {
  uint64_t before = 0, count = 0, free_from = 0; /* free_from: the slot after the last free one */
  for (uint64_t i = 0; i < h->nslots; i++) {
    uint64_t entry = nay__load64le(slots + i * NAY_LIST_SLOT);
    uint64_t home = nay__list_home(entry, nay__list_homes(h->npartitions));
    *bad = i;
    if (entry == 0) {
      free_from = i + 1;
      continue;
    }
    if (count++ != 0 && entry >> 8 <= before >> 8) return false;
    if (home > i || home < free_from || !list_class_ok(h, entry & 255)) return false;
    before = entry;
  }
  *bad = 0;
  if (h->nslots == 0) return h->npartitions == 0;
  return count == h->npartitions && free_from == h->nslots &&
         h->nslots >= nay__list_homes(h->npartitions);
}

static bool list_exceptions_ok(const uint8_t *p, uint64_t n, uint64_t *bad) {
  for (uint64_t i = 0; i < n; i++, p += NAY_LIST_EXCEPTION) {
    *bad = i;
    if (nay__load64le(p + 16) > 1) return false;
    if (i == 0) continue;
    uint64_t hash = nay__load64le(p), before = nay__load64le(p - NAY_LIST_EXCEPTION);
    if (before > hash) return false;
    if (before == hash && nay__load64le(p - NAY_LIST_EXCEPTION + 8) >= nay__load64le(p + 8))
      return false;
  }
  return true;
}

/* A structure that begins where the one before it ends: *end becomes its own. */
static nay_status list_part_check(uint8_t *p, size_t len, uint64_t nblocks, unsigned columns,
                                  uint64_t *end, nay_diag *diag) {
  uint64_t at = nay__list_start(*end), offset;
  if (at > len || nay__list_end(at, nblocks, columns) > len) {
    return nay__fail(diag, NAY_ECORRUPT, "a level is longer than the payload", 0);
  }
  if (!list_all_zero(p, *end, at)) {
    return nay__fail(diag, NAY_ECORRUPT, "padding is not zero", *end);
  }
  nay_burr b = nay__burr_of(p + at, nblocks, nblocks * columns, columns);
  *end = nay__list_end(at, nblocks, columns);
  if (!nay__burr_check(&b, &offset)) {
    return nay__fail(diag, NAY_ECORRUPT, "a bucket of the last layer is bumped", at + offset);
  }
  if (nay__burr_says_maybe(&b)) {
    return nay__fail(diag, NAY_ECORRUPT, "the last layer of a level has no slots", *end - 1);
  }
  return NAY_OK;
}

static nay_status list_levels_check(const nay_list_head *h, uint8_t *p, size_t len,
                                    unsigned check_bits, nay_diag *diag) {
  uint64_t end = nay__list_tables_end(h);
  uint32_t columns = 0;
  for (uint32_t g = 0; g < h->ngroups; g++) {
    uint64_t at = NAY_LIST_HEAD_LEN + (uint64_t)g * NAY_LIST_ENTRY, start = nay__list_start(end);
    uint32_t nblocks = nay__load32le(p + at + 8), next = nay__load32le(p + at + 12);
    bool ok = nay__load64le(p + at) == start && nblocks != 0 && next > columns && next <= 64;
    if (!ok) return nay__fail(diag, NAY_ECORRUPT, "a group is not as its neighbours say", at);
    columns = next;
    NAY_TRY(list_part_check(p, len, nblocks, columns, &end, diag));
  }
  if (h->exact_blocks != 0) NAY_TRY(list_part_check(p, len, h->exact_blocks, 1, &end, diag));
  if (h->check_blocks != 0) {
    NAY_TRY(list_part_check(p, len, h->check_blocks, check_bits, &end, diag));
  }
  if (end != len) return nay__fail(diag, NAY_ECORRUPT, "bytes after the last level", end);
  return NAY_OK;
}

static nay_status list_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                             nay_diag *diag) {
  nay_list_head h;
  uint64_t bad;
  nay__list_head_load(payload, &h);
  if (!list_all_zero(payload, 49, NAY_LIST_HEAD_LEN)) {
    return nay__fail(diag, NAY_ECORRUPT, "reserved bytes are not zero", 49);
  }
  if (h.nlisted > NAY_LIST_MAX_KEYS || h.ngroups > NAY_LIST_MAX_GROUPS ||
      (h.check_blocks != 0) != (shape->k != 0) || (h.nslots != 0) != (shape->extra != 0) ||
      nay__list_tables_end(&h) > len) {
    return nay__fail(diag, NAY_ECORRUPT, "numbers in the head contradict each other", 0);
  }
  bool whole_ok = shape->extra != 0 ? h.whole == 0 : list_class_ok(&h, h.whole);
  if (!whole_ok) return nay__fail(diag, NAY_ECORRUPT, "no such class", 48);
  if (!list_slots_ok(&h, payload + list_slots_at(&h), &bad)) {
    return nay__fail(diag, NAY_ECORRUPT, "the table of partitions is not in order",
                     list_slots_at(&h) + bad * NAY_LIST_SLOT);
  }
  if (!list_exceptions_ok(payload + list_exceptions_at(&h), h.nexceptions, &bad)) {
    return nay__fail(diag, NAY_ECORRUPT, "the exceptions are not in order",
                     list_exceptions_at(&h) + bad * NAY_LIST_EXCEPTION);
  }
  return list_levels_check(&h, (uint8_t *)(uintptr_t)payload, len, shape->k, diag);
}

/* ---- keys ---- */

nay_hash_fn nay__list_second(const nay_hash_fn *hasher) {
  nay_hash_fn second = *hasher;
  if (hasher->kind == NAY_HASH_XXH3) return nay__hasher_seed(hasher->seed ^ NAY_LIST_SECOND);
  for (size_t i = 0; i < sizeof second.key; i++) second.key[i] ^= NAY_LIST_SECOND & 255;
  return second;
}

size_t nay__list_partition_len(uint32_t rule, const void *key, size_t len) {
  if (rule <= NAY_LIST_MAX_PREFIX) return len < rule ? len : rule;
  const uint8_t *end = len != 0 ? memchr(key, (int)(rule >> 16), len) : NULL;
  return end != NULL ? (size_t)(end - (const uint8_t *)key) : 0;
}

/* ---- lookup ---- */

/* An exception with these hashes, NULL: none; second NULL: one with the first hash. */
static const uint8_t *list_exception(const nay_filter *f, uint64_t hash, const uint64_t *second) {
  nay_list_head h;
  nay__list_head_load(f->bits.bytes, &h);
  const uint8_t *all = f->bits.bytes + list_exceptions_at(&h);
  uint64_t from = 0, to = h.nexceptions;
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    const uint8_t *at = all + middle * NAY_LIST_EXCEPTION;
    uint64_t there = nay__load64le(at);
    bool below =
        there < hash || (there == hash && second != NULL && nay__load64le(at + 8) < *second);
    if (below) from = middle + 1;
    if (!below) to = middle;
  }
  const uint8_t *at = all + from * NAY_LIST_EXCEPTION;
  if (from == h.nexceptions || nay__load64le(at) != hash) return NULL;
  return second == NULL || nay__load64le(at + 8) == *second ? at : NULL;
}

/* The class of a partition; 0: none has this hash. */
NAY_INLINE unsigned list_class(const nay_filter *f, uint64_t part) {
  if (f->shape.extra == 0) return f->bits.bytes[48];
  uint64_t home = nay__list_home(part, f->derived[LIST_HOMES] & ~LIST_HAS_EXCEPTIONS);
  const uint8_t *slot = f->bits.bytes + f->derived[LIST_SLOTS] + home * NAY_LIST_SLOT;
  for (;; slot += NAY_LIST_SLOT) { /* the last slot is free */
    uint64_t entry = nay__load64le(slot);
    if (entry == 0 || entry >> 8 > part >> 8) return 0;
    if (entry >> 8 == part >> 8) return entry & 255;
  }
}

/* What n hashes add up to in the structure at an offset. */
NAY_INLINE void list_words(const nay_filter *f, uint64_t at, uint64_t nblocks, unsigned columns,
                           const uint64_t *hashes, unsigned n, uint64_t *words) {
  nay_burr b = nay__burr_of(f->bits.bytes + at, nblocks, nblocks * columns, columns);
  nay_burr_view v = nay__burr_view_of(&b);
  uint64_t premix = nay__burr_premix(&b), mixed[NAY_LIST_GROUP];
  if (NAY_LIKELY(premix == 0)) {
    nay__burr_words(f->kernels, &v, f->bits.in_cache, hashes, n, words);
    return;
  }
  for (unsigned i = 0; i < n; i++) mixed[i] = nay__premix(hashes[i], premix);
  nay__burr_words(f->kernels, &v, f->bits.in_cache, mixed, n, words);
}

/* Bit i: hash i has the word of its own. */
NAY_INLINE uint64_t list_match(const nay_filter *f, uint64_t at, uint64_t nblocks, unsigned columns,
                               const uint64_t *hashes, unsigned n) {
  uint64_t words[NAY_LIST_GROUP], match = 0;
  list_words(f, at, nblocks, columns, hashes, n, words);
  for (unsigned i = 0; i < n; i++) {
    match |= (uint64_t)(words[i] == nay__list_word(hashes[i], columns)) << i;
  }
  return match;
}

/* The hashes of the bits of a mask; returns how many. */
NAY_INLINE unsigned list_gather(const uint64_t *hashes, uint64_t mask, uint64_t *gathered) {
  unsigned n = 0;
  for (; mask != 0; mask &= mask - 1) gathered[n++] = hashes[nay__ctz64(mask)];
  return n;
}

/* Bit i of `bits` to the i-th set bit of mask. */
NAY_INLINE uint64_t list_scatter(uint64_t bits, uint64_t mask) {
  uint64_t result = 0;
  for (; mask != 0; mask &= mask - 1, bits >>= 1) {
    result |= (mask & (0 - mask)) * (bits & 1);
  }
  return result;
}

static uint64_t list_pass_group(const nay_filter *f, unsigned group, const uint64_t *hashes,
                                uint64_t mask) {
  const uint8_t *entry = f->bits.bytes + NAY_LIST_HEAD_LEN + (size_t)group * NAY_LIST_ENTRY;
  uint64_t gathered[NAY_LIST_GROUP];
  unsigned n = list_gather(hashes, mask, gathered);
  return list_scatter(list_match(f, nay__load64le(entry), nay__load32le(entry + 8),
                                 nay__load32le(entry + 12), gathered, n),
                      mask);
}

static uint64_t list_exact(const nay_filter *f, const uint64_t *hashes, uint64_t mask) {
  uint64_t gathered[NAY_LIST_GROUP], words[NAY_LIST_GROUP], bits = 0;
  unsigned n = list_gather(hashes, mask, gathered);
  for (unsigned i = 0; i < n; i++) gathered[i] = nay__list_exact_word(gathered[i]);
  list_words(f, f->derived[LIST_EXACT], (uint32_t)f->derived[LIST_BLOCKS], 1, gathered, n, words);
  for (unsigned i = 0; i < n; i++) bits |= (words[i] & 1) << i;
  return list_scatter(bits, mask);
}

/* list_sorted: keys by the level that they begin in. */
typedef struct list_sorted {
  uint64_t groups; /* bit g: a key is in group g */
  uint64_t members[NAY_LIST_MAX_GROUPS];
  uint64_t exact, inverted, known;
} list_sorted;

NAY_INLINE void list_sort(const nay_filter *f, const nay_list_asked *asked, unsigned n,
                          list_sorted *s) {
  s->groups = s->exact = s->inverted = s->known = 0;
  for (unsigned i = 0; i < n; i++) {
    unsigned class = list_class(f, asked->part[i]), level = class & ~NAY_LIST_INVERTED;
    uint64_t bit = (uint64_t)1 << i;
    if (level == 0) continue;
    s->known |= bit;
    if ((class & NAY_LIST_INVERTED) != 0) s->inverted |= bit;
    if (level == NAY_LIST_EXACT_ONLY) s->exact |= bit;
    if (level >= NAY_LIST_EXACT_ONLY) continue;
    uint64_t others = (s->groups >> (level - 1) & 1) != 0 ? s->members[level - 1] : 0;
    s->groups |= (uint64_t)1 << (level - 1);
    s->members[level - 1] = others | bit;
  }
}

static void list_take_exceptions(const nay_filter *f, const nay_list_asked *asked, unsigned n,
                                 uint64_t *listed, uint64_t *known) {
  for (unsigned i = 0; i < n; i++) {
    const uint8_t *at = list_exception(f, asked->hash[i], &asked->second[i]);
    if (at == NULL) continue;
    uint64_t bit = (uint64_t)1 << i;
    *known |= bit;
    *listed = (*listed & ~bit) | nay__load64le(at + 16) << i;
  }
}

uint64_t nay__list_answers(const nay_filter *f, const nay_list_asked *asked, unsigned n,
                           uint64_t *known) {
  list_sorted s;
  list_sort(f, asked, n, &s);
  for (uint64_t groups = s.groups; groups != 0; groups &= groups - 1) {
    unsigned g = nay__ctz64(groups);
    s.exact |= list_pass_group(f, g, asked->hash, s.members[g]);
  }
  uint64_t listed = s.exact != 0 ? list_exact(f, asked->hash, s.exact) : 0;
  if (f->shape.k != 0 && s.known != 0) {
    uint64_t gathered[NAY_LIST_GROUP];
    unsigned m = list_gather(asked->hash, s.known, gathered);
    s.known = list_scatter(list_match(f, f->derived[LIST_CHECK], f->derived[LIST_BLOCKS] >> 32,
                                      f->shape.k, gathered, m),
                           s.known);
  }
  listed = (listed ^ s.inverted) & s.known;
  *known = s.known;
  if (NAY_UNLIKELY((f->derived[LIST_HOMES] & LIST_HAS_EXCEPTIONS) != 0)) {
    list_take_exceptions(f, asked, n, &listed, known);
  }
  return listed;
}

/* nay__list_answers of one key, without the sorting by levels. Exceptions are the caller's. */
static uint64_t list_answer_one(const nay_filter *f, uint64_t hash, uint64_t part,
                                uint64_t *known) {
  unsigned class = list_class(f, part), level = class & ~NAY_LIST_INVERTED;
  *known = level != 0;
  if (f->shape.k != 0 && level != 0) {
    *known =
        list_match(f, f->derived[LIST_CHECK], f->derived[LIST_BLOCKS] >> 32, f->shape.k, &hash, 1);
  }
  bool exact = level == NAY_LIST_EXACT_ONLY;
  if (level != 0 && level < NAY_LIST_EXACT_ONLY) {
    const uint8_t *entry = f->bits.bytes + NAY_LIST_HEAD_LEN + (size_t)(level - 1) * NAY_LIST_ENTRY;
    exact = list_match(f, nay__load64le(entry), nay__load32le(entry + 8), nay__load32le(entry + 12),
                       &hash, 1) != 0;
  }
  uint64_t word = 0;
  if (exact) {
    uint64_t mixed = nay__list_exact_word(hash);
    list_words(f, f->derived[LIST_EXACT], (uint32_t)f->derived[LIST_BLOCKS], 1, &mixed, 1, &word);
  }
  return ((word & 1) ^ (class != level)) & *known;
}

uint64_t nay__list_get(const nay_filter *f, const void *const *keys, const size_t *lens, unsigned n,
                       uint64_t *known) {
  if (n == 1 && (f->derived[LIST_HOMES] & LIST_HAS_EXCEPTIONS) == 0) {
    uint64_t hash = nay__hash_key(&f->hasher, keys[0], lens[0]).lo, part = 0;
    if (f->shape.extra != 0) {
      size_t len = nay__list_partition_len(f->shape.extra, keys[0], lens[0]);
      part = nay__hash_key(&f->hasher, keys[0], len).lo;
    }
    return list_answer_one(f, hash, part, known);
  }
  nay_list_asked asked;
  for (unsigned i = 0; i < n; i++) {
    asked.hash[i] = nay__hash_key(&f->hasher, keys[i], lens[i]).lo;
    if (f->shape.extra != 0) {
      size_t len = nay__list_partition_len(f->shape.extra, keys[i], lens[i]);
      asked.part[i] = nay__hash_key(&f->hasher, keys[i], len).lo;
    }
  }
  if (NAY_UNLIKELY((f->derived[LIST_HOMES] & LIST_HAS_EXCEPTIONS) != 0)) {
    nay_hash_fn second = nay__list_second(&f->hasher);
    for (unsigned i = 0; i < n; i++) {
      asked.second[i] = nay__hash_key(&second, keys[i], lens[i]).lo;
    }
  }
  return nay__list_answers(f, &asked, n, known);
}

/* ---- probes ---- */

static nay_status list_test_key(const nay_filter *f, const void *key, size_t len, bool *maybe) {
  uint64_t known;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  *maybe = nay__list_get(f, &key, &len, 1, &known) != 0;
  return NAY_OK;
}

static uint64_t list_test_keys(const nay_filter *f, const void *const *keys, const size_t *lens,
                               unsigned n) {
  uint64_t known;
  return nay__list_get(f, keys, lens, n, &known);
}

static void list_explain_key(const nay_filter *f, const void *key, size_t len,
                             nay_explain_run *run) {
  uint64_t known;
  run->what.word = nay__hash_key(&f->hasher, key, len).lo;
  bool listed = nay__list_get(f, &key, &len, 1, &known) != 0;
  nay__explain_group(run, 0, 1);
  nay__explain_step(run, NULL,
                    (nay_explain_step){.kind = NAY_STEP_ANSWER, .found = listed, .expected = 1});
}

/* A hash does not tell the partition: every answer is maybe, unless nothing is listed. */
static bool list_test(const nay_filter *f, nay_hash h) {
  (void)h;
  return nay__load64le(f->bits.bytes) != 0;
}

static void list_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay__explain_constant(run, 0, list_test(f, h));
}

/* ---- shape ---- */

#define LIST_FLAGS (NAY_STORE_KEY | NAY_SMALL_PAGES | NAY_LOW_MEMORY | NAY_LIST_TWO_PASSES)

uint32_t nay__list_rule(const nay_params *p) {
  return p->list_delimiter != 0 ? p->list_delimiter << 16 : p->list_prefix;
}

nay_status nay__list_params(const nay_params *p, nay_diag *diag) {
  bool sized = p->fpr != 0 || p->bits_per_key != 0 || p->nbytes != 0 || p->nbits != 0;
  if (sized || p->k != 0 || p->fold != 0 || p->value_bits != 0) {
    return nay__fail(diag, NAY_EINVAL, "a list is sized by its keys and check_bits alone", 0);
  }
  if (p->hash == NAY_HASH_CALLER) {
    return nay__fail(diag, NAY_EINVAL, "hash: a list needs keys, not hashes", 0);
  }
  if (p->check_bits > NAY_LIST_MAX_CHECK) {
    return nay__fail(diag, NAY_EINVAL, "check_bits: above 32", 0);
  }
  if (p->list_prefix > NAY_LIST_MAX_PREFIX) {
    return nay__fail(diag, NAY_EINVAL, "list_prefix: above 65535", 0);
  }
  if (p->list_delimiter > 255) return nay__fail(diag, NAY_EINVAL, "list_delimiter: above 255", 0);
  if (p->list_prefix != 0 && p->list_delimiter != 0) {
    return nay__fail(diag, NAY_EINVAL, "list_prefix and list_delimiter: give one", 0);
  }
  if (p->list_outside > NAY_LIST_REFUSE) {
    return nay__fail(diag, NAY_EINVAL, "list_outside: above 2", 0);
  }
  if ((p->flags & ~LIST_FLAGS) != 0)
    return nay__fail(diag, NAY_EINVAL, "flags: not one of a list", 0);
  bool passes = (p->flags & NAY_LIST_TWO_PASSES) != 0;
  if (passes && p->check_bits != 0) {
    return nay__fail(diag, NAY_EINVAL, "check_bits: they need all keys at once, not two passes", 0);
  }
  if (passes && p->list_outside == NAY_LIST_DROP) {
    return nay__fail(diag, NAY_EINVAL, "list_outside: two passes refuse or join", 0);
  }
  if (p->threads > 256) return nay__fail(diag, NAY_EINVAL, "threads: above 256", 0);
  if (p->nkeys > NAY_LIST_MAX_KEYS) return nay__fail(diag, NAY_EINVAL, "nkeys: above 2^36", 0);
  return nay__params_knobs(p, NAY_KNOB_VALUES | NAY_KNOB_LIST, diag);
}

static nay_status list_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  (void)shape;
  NAY_TRY(nay__list_params(p, diag));
  return nay__fail(diag, NAY_EINVAL,
                   "kind: the size of a list depends on which keys are listed: build it", 0);
}

static bool list_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint32_t rule = shape->extra;
  if (shape->nunits < NAY_LIST_HEAD_LEN || shape->nunits > (uint64_t)1 << 56) return false;
  if (shape->k > NAY_LIST_MAX_CHECK) return false;
  if (rule > NAY_LIST_MAX_PREFIX && (rule >> 16 > 255 || (rule & 0xffff) != 0)) return false;
  *nbytes = shape->nunits;
  *nbits = *nbytes * 8;
  return true;
}

/* Of keys outside the universe that are not said to be unknown. */
static double list_fpr(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys;
  return 1 / (double)((uint64_t)1 << shape->k);
}

static void list_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                        nay_census *census) {
  (void)b, (void)factor; /* lists neither merge nor fold */
  uint64_t nbits = (uint64_t)a->nbytes * 8;
  *census = (nay_census){nbits, nbits, nay__exactly(a->nkeys), list_fpr(&a->shape, a->nkeys)};
}

static void list_describe(const nay_filter *f, nay_stats *stats) {
  nay_list_head h;
  nay__list_head_load(f->bits.bytes, &h);
  stats->check_bits = f->shape.k;
  stats->nlisted = h.nlisted;
  stats->list_bound = h.bound;
  stats->list_base = h.base;
  stats->list_id = XXH3_64bits_withSeed(f->bits.bytes, f->nbytes, f->hasher.seed) | 1;
  stats->npartitions = f->shape.extra != 0 ? h.npartitions : 1;
  stats->nexceptions = h.nexceptions;
  stats->list_prefix = f->shape.extra <= NAY_LIST_MAX_PREFIX ? f->shape.extra : 0;
  stats->list_delimiter = f->shape.extra >> 16;
}

static const nay_family_order list_order = {
    .test = list_test_key, .test_many = list_test_keys, .explain = list_explain_key};

const nay_family nay__family_list = {
    .kind = NAY_LIST,
    .name = "list",
    .traits = NAY_CAN_GET,
    .knobs = NAY_KNOB_VALUES | NAY_KNOB_LIST,
    .plan = list_plan,
    .payload = list_payload,
    .fpr = list_fpr,
    .check = list_check,
    .census = list_census,
    .describe = list_describe,
    .bind = list_bind,
    .test = list_test,
    .explain = list_explain,
    .batch = &nay__batch_each,
    .order = &list_order,
};
