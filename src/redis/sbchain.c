/*
 * sbchain.c - RedisBloom's chained Bloom filter: a list of plain Bloom filters, each larger and
 * stricter than the one before.
 *
 *   link 0           link 1                link 2
 *   [ n, e/2 ]  -->  [ n*growth, e/4 ] --> [ n*growth^2, e/8 ]      FPRs add up to less than e
 *
 * An item is new if no link has it; it then goes into the last link, and when that holds as many
 * items as it was made for, a further one is opened. An item has two hashes, and its positions in a
 * link of m bits are
 *
 *   a = murmur64a(item, 0xc6a4a7935bd1e995)   b = murmur64a(item, a)
 *   position i = ((a + i * b) mod 2^64) mod m,   byte position / 8, bit position % 8
 *
 * so an item is hashed once however long the chain is. Filters of before 2019 have a 32-bit hash
 * and sizes that are powers of two; they are read, probed and grown as they were.
 *
 * Two optimisations keep the bits. The remainder by m comes from a multiplication by floor((2^64 -
 * 1) / m): that quotient is at most one too small, so one subtraction corrects it. And a batch
 * hashes its items first and prefetches their cache lines together: a filter of ten million items
 * is larger than the LLC, and one access after the other would stall each time. A negative probe
 * mostly ends after two positions (half of the bits are set), so a batch first prefetches two lines
 * of each item, and the rest only of the items that are still undecided.
 */
#include "redis/sbchain.h"

#include "base/compiler.h"
#include "hash/hash.h"
#include "math/elementary.h"

#define SB_LN2 0.693147180559945          /* RedisBloom's constants, digit by digit: */
#define SB_LN2_SQUARED 0.480453013918201  /* sizes are computed from them */
#define SB_TIGHTENING 0.5                 /* each link has half the FPR of the one before */
#define SB_CACHED (256u << 10)            /* an array up to this size stays in the caches */
#define SB_MAX_BITS 9223372036854775808.0 /* 2^63 */
#define SB_OPTIONS_KNOWN 15u

/* ---- shapes ---- */

double nay__sblink_rate_bpe(double error) { return -(nay__ln_nearest(error) / SB_LN2_SQUARED); }

uint32_t nay__sblink_hashes(double bpe) {
  double exact = SB_LN2 * bpe;
  uint32_t whole = (uint32_t)exact;
  return whole + (whole < exact);
}

void nay__sblink_set_modulus(sblink *link) {
  link->modulus = link->n2 > 0 ? 1ull << link->n2 : link->nbits;
  link->reciprocal = UINT64_MAX / link->modulus;
}

/* The power of two above the need; the items that fit into the surplus are added to the capacity.
 */
static nay_status sblink_round_up(double need, sblink *link) {
  uint32_t n2 = 1;
  while (n2 < 63 && (double)(1ull << n2) <= need) n2++;
  if ((double)(1ull << n2) <= need) return NAY_EINVAL;
  link->n2 = n2;
  uint64_t spare = (uint64_t)((double)(1ull << n2) - need);
  link->entries += (uint64_t)((double)spare / link->bpe);
  return NAY_OK;
}

nay_status nay__sblink_plan(uint64_t entries, double error, uint32_t options, sblink *link) {
  if (entries == 0 || !(error > 0 && error < 1)) return NAY_EINVAL;
  *link = (sblink){.entries = entries, .error = error, .bpe = nay__sblink_rate_bpe(error)};
  double need = (double)entries * link->bpe;
  if (options & NAY_SB_ENTRIES_ARE_LOG2) {
    if (entries > 63) return NAY_EINVAL;
    link->n2 = (uint32_t)entries;
    link->entries = (uint64_t)((double)(1ull << link->n2) / link->bpe);
    if (link->entries == 0) return NAY_EINVAL; /* not even one item fits */
  } else if (!(options & NAY_SB_NO_ROUND)) {
    NAY_TRY(sblink_round_up(need, link));
  } else if (!(need < SB_MAX_BITS - 64)) {
    return NAY_EINVAL;
  }
  uint64_t nbits = link->n2 > 0 ? 1ull << link->n2 : nay__max_u64((uint64_t)need, 1);
  link->nbytes = nay__ceil_div(nbits, 64) * 8;
  link->nbits = link->nbytes * 8;
  link->hashes = nay__sblink_hashes(link->bpe);
  nay__sblink_set_modulus(link);
  return NAY_OK;
}

/* ---- making and releasing ---- */

nay_status nay__sbchain_alloc(const nay_zallocator *allocator, nay_sbchain **chain) {
  nay_zallocator from = {nay__calloc_default, nay__free_default, NULL};
  if (allocator != NULL) from = *allocator;
  nay_sbchain *made = from.zalloc(from.ctx, sizeof *made);
  if (made == NULL) return NAY_ENOMEM;
  *made = (nay_sbchain){.allocator = from};
  *chain = made;
  return NAY_OK;
}

static void *sbchain_zalloc(const nay_sbchain *chain, uint64_t nbytes) {
  size_t size;
  if (!nay__size_ok(nbytes, &size)) return NULL;
  return chain->allocator.zalloc(chain->allocator.ctx, size);
}

static void sbchain_release(const nay_sbchain *chain, void *ptr, uint64_t nbytes) {
  if (ptr != NULL) chain->allocator.free(chain->allocator.ctx, ptr, (size_t)nbytes);
}

/* The list doubles: a chain has few links, and a hostile one must not cost a copy for each. */
static nay_status sbchain_make_room(nay_sbchain *chain) {
  if (chain->nlinks < chain->room) return NAY_OK;
  if (chain->nlinks > UINT32_MAX / 4) return NAY_ENOMEM;
  uint32_t room = chain->room == 0 ? 1 : 2 * chain->room;
  sblink *links = sbchain_zalloc(chain, room * sizeof *links);
  if (links == NULL) return NAY_ENOMEM;
  if (chain->nlinks > 0) memcpy(links, chain->links, chain->nlinks * sizeof *links);
  sbchain_release(chain, chain->links, chain->room * sizeof *links);
  chain->links = links;
  chain->room = room;
  return NAY_OK;
}

nay_status nay__sbchain_push(nay_sbchain *chain, const sblink *link) {
  NAY_TRY(sbchain_make_room(chain));
  chain->links[chain->nlinks++] = *link;
  if (link->hashes > chain->max_hashes) chain->max_hashes = link->hashes;
  return NAY_OK;
}

nay_status nay__sbchain_push_zero(nay_sbchain *chain, sblink *link) {
  NAY_TRY(sbchain_make_room(chain));
  link->bytes = sbchain_zalloc(chain, link->nbytes);
  return link->bytes == NULL ? NAY_ENOMEM : nay__sbchain_push(chain, link);
}

nay_status nay__sbchain_new(double error, uint64_t capacity, uint32_t growth, uint32_t options,
                            const nay_zallocator *allocator, nay_sbchain **chain) {
  bool scales = !(options & NAY_SB_NO_SCALING);
  if ((options & ~SB_OPTIONS_KNOWN) != 0 || (scales && growth == 0)) return NAY_EINVAL;
  sblink link;
  NAY_TRY(nay__sblink_plan(capacity, scales ? error * SB_TIGHTENING : error, options, &link));
  nay_sbchain *made;
  NAY_TRY(nay__sbchain_alloc(allocator, &made));
  made->options = options;
  made->growth = growth;
  nay_status status = nay__sbchain_push_zero(made, &link);
  if (status != NAY_OK) {
    nay__sbchain_free(made);
    return status;
  }
  *chain = made;
  return NAY_OK;
}

static nay_status sbchain_copy_links(const nay_sbchain *from, nay_sbchain *to) {
  for (uint32_t i = 0; i < from->nlinks; i++) {
    sblink link = from->links[i];
    NAY_TRY(nay__sbchain_push_zero(to, &link));
    memcpy(link.bytes, from->links[i].bytes, (size_t)link.nbytes);
  }
  return NAY_OK;
}

nay_status nay__sbchain_copy(const nay_sbchain *chain, const nay_zallocator *allocator,
                             nay_sbchain **copy) {
  nay_sbchain *made;
  NAY_TRY(nay__sbchain_alloc(allocator, &made));
  made->options = chain->options;
  made->growth = chain->growth;
  made->size = chain->size;
  nay_status status = sbchain_copy_links(chain, made);
  if (status != NAY_OK) {
    nay__sbchain_free(made);
    return status;
  }
  *copy = made;
  return NAY_OK;
}

void nay__sbchain_free(nay_sbchain *chain) {
  if (chain == NULL) return;
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    sbchain_release(chain, chain->links[i].bytes, chain->links[i].nbytes);
  }
  sbchain_release(chain, chain->links, chain->room * sizeof *chain->links);
  nay_zallocator from = chain->allocator;
  from.free(from.ctx, chain, sizeof *chain);
}

bool nay__sbchain_move(nay_sbchain **chain, uint64_t part, nay_mover mover, void *ctx) {
  nay_sbchain *c = *chain;
  if (part >= 2 + (uint64_t)c->nlinks) return false;
  void *old = part == 0 ? (void *)c : part == 1 ? (void *)c->links : c->links[part - 2].bytes;
  void *moved = mover(ctx, old);
  if (moved == NULL) return true;
  if (part == 0) {
    *chain = moved;
  } else if (part == 1) {
    c->links = moved;
  } else {
    c->links[part - 2].bytes = moved;
  }
  return true;
}

/* ---- items ---- */

static nay_hash sbchain_hash(const nay_sbchain *chain, const void *item, size_t len) {
  if (NAY_LIKELY(chain->options & NAY_SB_HASH64)) return nay__murmur64x2(item, len);
  return nay__murmur32x2(item, len);
}

/* Whether the bits from position `first` up to `last` are all set; branch-free, tests all of them.
 */
NAY_INLINE bool sblink_has_range(const sblink *link, nay_hash hash, uint32_t first, uint32_t last) {
  unsigned all = 1;
  for (uint32_t i = first; i < last; i++) {
    uint64_t at = nay__sblink_position(link, hash, i);
    all &= (unsigned)link->bytes[at >> 3] >> (at & 7);
  }
  return all & 1;
}

/*
 * A negative probe mostly ends after two positions: half of the bits are set. That is the only
 * branch; the tests before and after it are branch-free.
 */
static uint32_t sblink_few(const sblink *link) { return link->hashes < 2 ? link->hashes : 2; }

static bool sblink_has(const sblink *link, nay_hash hash) {
  uint32_t few = sblink_few(link);
  return sblink_has_range(link, hash, 0, few) && sblink_has_range(link, hash, few, link->hashes);
}

static void sblink_set(sblink *link, nay_hash hash) {
  for (uint32_t i = 0; i < link->hashes; i++) {
    uint64_t at = nay__sblink_position(link, hash, i);
    link->bytes[at >> 3] |= (uint8_t)(1u << (at & 7));
  }
}

static bool sbchain_has(const nay_sbchain *chain, nay_hash hash) {
  for (uint32_t i = chain->nlinks; i-- > 0;) {
    if (sblink_has(&chain->links[i], hash)) return true;
  }
  return false;
}

static nay_status sbchain_grow(nay_sbchain *chain) {
  const sblink *last = &chain->links[chain->nlinks - 1];
  if (chain->options & NAY_SB_NO_SCALING) return NAY_EFULL;
  if (last->entries > UINT64_MAX / chain->growth) return NAY_EINVAL;
  sblink next;
  NAY_TRY(nay__sblink_plan(last->entries * chain->growth, last->error * SB_TIGHTENING,
                           chain->options, &next));
  return nay__sbchain_push_zero(chain, &next);
}

static nay_status sbchain_add_hash(nay_sbchain *chain, nay_hash hash, bool *is_new) {
  *is_new = false;
  if (sbchain_has(chain, hash)) return NAY_OK;
  sblink *last = &chain->links[chain->nlinks - 1];
  if (last->size >= last->entries) {
    NAY_TRY(sbchain_grow(chain));
    last = &chain->links[chain->nlinks - 1];
  }
  sblink_set(last, hash);
  last->size++;
  chain->size++;
  *is_new = true;
  return NAY_OK;
}

nay_status nay__sbchain_add(nay_sbchain *chain, const void *item, size_t len, bool *is_new) {
  bool was_new;
  NAY_TRY(sbchain_add_hash(chain, sbchain_hash(chain, item, len), &was_new));
  if (is_new != NULL) *is_new = was_new;
  return NAY_OK;
}

bool nay__sbchain_may_contain(const nay_sbchain *chain, const void *item, size_t len) {
  return sbchain_has(chain, sbchain_hash(chain, item, len));
}

/* ---- batches ---- */

/* Positions of a group of items in one link, kept from the prefetch to the probe. */
#define SB_STORED 1024u
typedef uint64_t sb_positions[SB_STORED];

/* How many items form a group: their positions in any link must fit. 0: not even one, at an FPR
 * below 10^-308. */
static size_t sbchain_group(const nay_sbchain *chain, size_t n) {
  return (size_t)nay__min_u64(n, SB_STORED / chain->max_hashes);
}

static void sbchain_hash_many(const nay_sbchain *chain, const void *const *items,
                              const size_t *lens, size_t n, nay_hash *hashes) {
  for (size_t i = 0; i < n; i++) hashes[i] = sbchain_hash(chain, items[i], lens[i]);
}

/* Computes positions [first, last) of an item into at[] and prefetches their lines. */
NAY_INLINE void sblink_fetch(const sblink *link, nay_hash hash, uint32_t first, uint32_t last,
                             uint64_t *at) {
  for (uint32_t i = first; i < last; i++) {
    at[i] = nay__sblink_position(link, hash, i);
    NAY_PREFETCH(link->bytes + (at[i] >> 3));
  }
}

/* The lines are in L1: testing all bits costs less than a mispredicted branch. */
NAY_INLINE bool sblink_has_at(const sblink *link, const uint64_t *at, uint32_t first,
                              uint32_t last) {
  unsigned all = 1;
  for (uint32_t i = first; i < last; i++) all &= (unsigned)link->bytes[at[i] >> 3] >> (at[i] & 7);
  return all & 1;
}

static void sblink_set_at(sblink *link, const uint64_t *at) {
  for (uint32_t i = 0; i < link->hashes; i++) {
    link->bytes[at[i] >> 3] |= (uint8_t)(1u << (at[i] & 7));
  }
}

/* An item that is added reads all its positions in the last link, few in the others. */
static void sbchain_fetch_older(const nay_sbchain *chain, const nay_hash *hashes, size_t n) {
  for (uint32_t i = chain->nlinks - 1; i-- > 0;) {
    const sblink *link = &chain->links[i];
    if (link->nbytes <= SB_CACHED) continue;
    uint64_t at[2];
    for (size_t j = 0; j < n; j++) sblink_fetch(link, hashes[j], 0, sblink_few(link), at);
  }
}

/* As sbchain_add_hash, for an item whose positions in the last link are known. */
static nay_status sbchain_add_at(nay_sbchain *chain, nay_hash hash, const uint64_t *at,
                                 bool *is_new) {
  sblink *last = &chain->links[chain->nlinks - 1];
  *is_new = false;
  if (sblink_has_at(last, at, 0, last->hashes)) return NAY_OK;
  if (last->size >= last->entries) return sbchain_add_hash(chain, hash, is_new);
  for (uint32_t i = chain->nlinks - 1; i-- > 0;) {
    if (sblink_has(&chain->links[i], hash)) return NAY_OK;
  }
  sblink_set_at(last, at);
  last->size++;
  chain->size++;
  *is_new = true;
  return NAY_OK;
}

/* One group; adds to *done and *is_new. A link that is opened meanwhile ends the group. */
static nay_status sbchain_add_group(nay_sbchain *chain, const nay_hash *hashes, size_t n,
                                    uint64_t *is_new, size_t *done) {
  sb_positions stored;
  const sblink *last = &chain->links[chain->nlinks - 1];
  uint32_t nlinks = chain->nlinks, k = last->hashes;
  for (size_t i = 0; i < n; i++) sblink_fetch(last, hashes[i], 0, k, stored + i * k);
  sbchain_fetch_older(chain, hashes, n);
  for (size_t i = 0; i < n && chain->nlinks == nlinks; i++, ++*done) {
    bool was_new;
    NAY_TRY(sbchain_add_at(chain, hashes[i], stored + i * k, &was_new));
    *is_new |= (uint64_t)was_new << *done;
  }
  return NAY_OK;
}

nay_status nay__sbchain_add_many(nay_sbchain *chain, const void *const *items, const size_t *lens,
                                 size_t n, uint64_t *is_new, size_t *done) {
  nay_hash hashes[NAY_SB_BATCH];
  if (n > NAY_SB_BATCH) return NAY_EINVAL;
  sbchain_hash_many(chain, items, lens, n, hashes);
  *is_new = 0;
  *done = 0;
  while (*done < n) {
    size_t group = sbchain_group(chain, n - *done);
    if (group > 0) {
      NAY_TRY(sbchain_add_group(chain, hashes + *done, group, is_new, done));
      continue;
    }
    bool was_new;
    NAY_TRY(sbchain_add_hash(chain, hashes[*done], &was_new));
    *is_new |= (uint64_t)was_new << (*done)++;
  }
  return NAY_OK;
}

/* Which items of `todo` the link has: first two positions of all, then the rest of the doubtful. */
static uint64_t sblink_has_many(const sblink *link, const nay_hash *hashes, uint64_t todo,
                                uint64_t *stored) {
  uint32_t k = link->hashes, few = sblink_few(link);
  uint64_t doubt = 0, found = 0;
  for (uint64_t rest = todo; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    sblink_fetch(link, hashes[i], 0, few, stored + i * k);
  }
  for (uint64_t rest = todo; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    doubt |= (uint64_t)sblink_has_at(link, stored + i * k, 0, few) << i;
  }
  for (uint64_t rest = doubt; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    sblink_fetch(link, hashes[i], few, k, stored + i * k);
  }
  for (uint64_t rest = doubt; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    found |= (uint64_t)sblink_has_at(link, stored + i * k, few, k) << i;
  }
  return found;
}

static uint64_t sbchain_has_group(const nay_sbchain *chain, const nay_hash *hashes, size_t n) {
  sb_positions stored;
  uint64_t all = UINT64_MAX >> (64 - n), found = 0;
  for (uint32_t i = chain->nlinks; i-- > 0 && found != all;) {
    found |= sblink_has_many(&chain->links[i], hashes, all & ~found, stored);
  }
  return found;
}

void nay__sbchain_may_contain_many(const nay_sbchain *chain, const void *const *items,
                                   const size_t *lens, size_t n, uint64_t *answers) {
  nay_hash hashes[NAY_SB_BATCH];
  *answers = 0;
  if (n > NAY_SB_BATCH) n = NAY_SB_BATCH;
  sbchain_hash_many(chain, items, lens, n, hashes);
  for (size_t from = 0, group; from < n; from += group) {
    group = sbchain_group(chain, n - from);
    if (group > 0) {
      *answers |= sbchain_has_group(chain, hashes + from, group) << from;
    } else {
      group = 1;
      *answers |= (uint64_t)sbchain_has(chain, hashes[from]) << from;
    }
  }
}

bool nay__sblink_test(const sblink *link, nay_hash hash) { return sblink_has(link, hash); }

void nay__sblink_mark(sblink *link, nay_hash hash) { sblink_set(link, hash); }

/* ---- what it is ---- */

void nay__sbchain_stats(const nay_sbchain *chain, nay_sbstats *stats) {
  *stats = (nay_sbstats){.size = chain->size,
                         .nlinks = chain->nlinks,
                         .options = chain->options,
                         .growth = chain->growth};
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    stats->capacity += chain->links[i].entries;
    stats->nbytes += chain->links[i].nbytes;
  }
}

nay_status nay__sbchain_link(const nay_sbchain *chain, uint64_t i, nay_sblink *link) {
  if (i >= chain->nlinks) return NAY_EINVAL;
  const sblink *l = &chain->links[i];
  *link = (nay_sblink){.entries = l->entries,
                       .size = l->size,
                       .error = l->error,
                       .bpe = l->bpe,
                       .nbits = l->nbits,
                       .nbytes = l->nbytes,
                       .hashes = l->hashes,
                       .n2 = l->n2,
                       .bytes = l->bytes};
  return NAY_OK;
}
