/*
 * builder.c - a filter from a stream of keys whose number is not known in advance.
 *
 * The builder stores hashes in pages of 64 Ki, so that growing never copies. finish moves them page
 * by page into one array (and frees each page at once), sorts it in place (not for a window, where
 * the order is the age of the keys) and drops duplicates;
 * only then is the number of keys known, and the filter is made and loaded. Peak: 8 bytes per key,
 * one page, and the filter (16 bytes per key for two-word hashes, which foreign layouts have). If
 * that fails, the hashes stay in the array: nothing is lost, the caller may add more keys and call
 * finish again.
 *
 * Streaming: where the number of keys is stated and the bits do not depend on the order of adds
 * (blocked, bloom), the first 4,096 hashes make the filter, and hashes go into it in batches. The
 * builder then stores nothing, except what waits in the partitions of a filter larger than the LLC
 * (partitioned_add.c).
 *
 * Static families are built from the pages in place: static_build.c makes the copy that it needs
 * and finds duplicates while it solves. With NAY_LOW_MEMORY the hashes go to a temporary file
 * instead of pages (hash_spill.c).
 */
#include "build/builder.h"

#include "base/abi.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/sort.h"
#include "batch.h"
#include "build/bulk_strategy.h"
#include "build/list_build.h"
#include "build/map_build.h"
#include "build/parallel_sort.h"
#include "build/partitioned_add.h"
#include "build/range_build.h"
#include "build/static_build.h"
#include "build/threaded_add.h"
#include "filter.h"
#include "nay_map.h"

#define BUILDER_PAGE 65536u  /* words */
#define BUILDER_STREAM 4096u /* hashes added at a time: 32 KiB, which stay in L2 */

typedef struct builder_page {
  struct builder_page *next;
  size_t used;
  uint64_t words[BUILDER_PAGE]; /* two-word hashes: lo, hi, lo, hi, ... */
} builder_page;

struct nay_builder {
  nay_allocator allocator;
  const struct nay_format *format; /* NULL: native */
  const nay_family *family;        /* NULL: NAY_AUTO, chosen when the number of keys is known */
  nay_params params;
  nay_hash_fn hasher;
  nay_builder_plan plan;
  bool distinct;
  unsigned words_per_key;
  uint64_t nkeys;               /* added, duplicates included; without those of the window */
  uint64_t *at, *end;           /* the window: free words of the last page, or NULL */
  builder_page *first, *last;   /* hashes in the order of the adds */
  nay_hash_spill *spill;        /* or in a temporary file */
  nay_filter *filter;           /* streaming: takes the hashes of every full batch */
  nay_partitioner *partitioner; /* in front of the filter; or NULL */
  uint64_t *sorted;             /* hashes that a finish has moved: sorted (not those of a window),
                                   without duplicates */
  size_t nsorted, sorted_bytes;
  bool repeats;         /* of a window: `sorted` is in the order of the adds, with duplicates */
  nay_buffer keys;      /* layouts that take no hashes: keys, each after its length of 8 bytes */
  nay_map_builder *map; /* the pairs of a map, instead of all hashes; or NULL */
  nay_range_builder *range; /* the keys of a range filter, the same; or NULL */
  nay_list_builder *list;   /* the keys of an exact list, the same; or NULL */
};

static void builder_drop_pages(nay_builder *b) {
  while (b->first != NULL) {
    builder_page *next = b->first->next;
    nay__free(&b->allocator, b->first, sizeof *b->first);
    b->first = next;
  }
  b->last = NULL;
}

static void builder_reset(nay_builder *b) {
  b->at = b->end = NULL;
  builder_drop_pages(b);
  if (b->spill != NULL) nay__hash_spill_clear(b->spill);
  nay__partitioner_free(b->partitioner);
  b->partitioner = NULL;
  nay_filter_free(b->filter);
  b->filter = NULL;
  nay__free(&b->allocator, b->sorted, b->sorted_bytes);
  b->sorted = NULL;
  b->nsorted = b->sorted_bytes = 0;
  b->repeats = false;
  nay__buffer_free(&b->keys, &b->allocator);
  b->nkeys = 0;
}

nay_status nay__builder_make(const struct nay_format *format, const nay_family *family,
                             const nay_params *params, const nay_hash_fn *hasher,
                             nay_builder_plan plan, bool distinct, const nay_allocator *allocator,
                             nay_diag *diag, nay_builder **builder) {
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  nay_builder *b = nay__alloc(&a, sizeof *b);
  if (b == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a builder", 0);
  *b = (nay_builder){.allocator = a,
                     .format = format,
                     .family = family,
                     .params = *params,
                     .hasher = *hasher,
                     .plan = plan,
                     .distinct = distinct,
                     .words_per_key = nay__hasher_has_hi(hasher) ? 2 : 1};
  *builder = b;
  return NAY_OK;
}

nay_status nay__builder_check(const nay_params *params, nay_diag *diag, const nay_family **family,
                              nay_hash_fn *hasher) {
  nay_shape shape;
  if (params->kind == NAY_MAP) {
    return nay__fail(diag, NAY_EINVAL, "kind: a map is built of keys and values", 0);
  }
  if (params->kind == NAY_RANGE) {
    return nay__fail(diag, NAY_EINVAL, "kind: a range filter is built of keys, not of hashes", 0);
  }
  if (params->kind == NAY_LIST) {
    return nay__fail(diag, NAY_EINVAL, "kind: a list is built of keys, not of hashes", 0);
  }
  return nay__resolve_counted(params, 1, diag, family, &shape, hasher);
}

static nay_status builder_new_map(const nay_params *params, const nay_allocator *allocator,
                                  nay_diag *diag, nay_builder **builder) {
  nay_hash_fn hasher;
  nay_builder *b;
  NAY_TRY(nay__map_params(params, diag));
  NAY_TRY(nay__hasher_init(params, diag, &hasher));
  NAY_TRY(
      nay__builder_make(NULL, &nay__family_map, params, &hasher, NULL, true, allocator, diag, &b));
  b->params.spill_dir = NULL; /* the caller owns the string */
  nay_status status = nay__map_builder_new(params, &hasher, &b->allocator, diag, &b->map);
  if (status != NAY_OK) {
    nay_builder_free(b);
    return status;
  }
  *builder = b;
  return NAY_OK;
}

static nay_status builder_new_range(const nay_params *params, const nay_allocator *allocator,
                                    nay_diag *diag, nay_builder **builder) {
  nay_hash_fn hasher;
  nay_builder *b;
  nay_shape shape; /* of the least number of keys: nothing larger could be finished either */
  NAY_TRY(nay__range_params(params, diag));
  if (params->nkeys != 0 || params->fpr > 0) {
    NAY_TRY(nay__range_shape(params, nay__max_u64(params->nkeys, 1), diag, &shape));
  }
  NAY_TRY(nay__hasher_init(params, diag, &hasher));
  NAY_TRY(nay__builder_make(NULL, &nay__family_range, params, &hasher, NULL, true, allocator, diag,
                            &b));
  b->params.spill_dir = NULL;             /* the caller owns the string */
  b->hasher.n9to16 = b->hasher.n4to8 = 0; /* no key takes the fast path: all of it is needed */
  nay_status status = nay__range_builder_new(params, &hasher, &b->allocator, diag, &b->range);
  if (status != NAY_OK) {
    nay_builder_free(b);
    return status;
  }
  *builder = b;
  return NAY_OK;
}

static nay_status builder_new_list(const nay_params *params, const nay_allocator *allocator,
                                   nay_diag *diag, nay_builder **builder) {
  nay_hash_fn hasher;
  nay_builder *b;
  NAY_TRY(nay__list_params(params, diag));
  NAY_TRY(nay__hasher_init(params, diag, &hasher));
  NAY_TRY(
      nay__builder_make(NULL, &nay__family_list, params, &hasher, NULL, true, allocator, diag, &b));
  b->params.spill_dir = NULL;             /* the caller owns the string */
  b->hasher.n9to16 = b->hasher.n4to8 = 0; /* no key takes the fast path: all of it is needed */
  nay_status status = nay__list_builder_new(params, &hasher, &b->allocator, diag, &b->list);
  if (status != NAY_OK) {
    nay_builder_free(b);
    return status;
  }
  *builder = b;
  return NAY_OK;
}

nay_status nay_builder_new(const nay_params *from, const nay_allocator *allocator, nay_diag *diag,
                           nay_builder **builder) {
  nay_params full;
  const nay_params *params = &full;
  if (from == NULL || builder == NULL) {
    return nay__fail(diag, NAY_EINVAL, "params or builder is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, from, diag, &full));
  if (params->kind == NAY_MAP) return builder_new_map(params, allocator, diag, builder);
  if (params->kind == NAY_RANGE) return builder_new_range(params, allocator, diag, builder);
  if (params->kind == NAY_LIST) return builder_new_list(params, allocator, diag, builder);
  const nay_family *family;
  nay_hash_fn hasher;
  NAY_TRY(nay__builder_check(params, diag, &family, &hasher));
  if (params->kind == NAY_AUTO) family = NULL;
  nay_builder *b;
  NAY_TRY(nay__builder_make(NULL, family, params, &hasher, NULL, true, allocator, diag, &b));
  b->params.spill_dir = NULL; /* the caller owns the string */
  if (family != NULL && nay__family_solver(family) != NULL &&
      (params->flags & NAY_LOW_MEMORY) != 0) {
    nay_status status = nay__hash_spill_new(params->spill_dir, 1, &b->allocator, diag, &b->spill);
    if (status != NAY_OK) {
      nay_builder_free(b);
      return status;
    }
  }
  *builder = b;
  return NAY_OK;
}

static bool builder_is_duplicate(const nay_builder *b, nay_hash hash) {
  if (b->family == NULL || !b->family->skips_repeats || b->last == NULL) return false;
  return b->last->used != 0 && b->last->words[b->last->used - 1] == hash.lo;
}

static nay_status builder_new_page(nay_builder *b) {
  builder_page *page = nay__alloc(&b->allocator, sizeof *page);
  if (page == NULL) return NAY_ENOMEM;
  page->next = NULL;
  page->used = 0;
  if (b->last != NULL) b->last->next = page;
  if (b->first == NULL) b->first = page;
  b->last = page;
  return NAY_OK;
}

static nay_status builder_make_empty(const nay_builder *b, uint64_t nkeys, nay_diag *diag,
                                     nay_filter **filter) {
  const nay_family *family = b->family;
  nay_shape shape;
  if (b->format != NULL) {
    NAY_TRY(b->plan(b->format, &b->params, nkeys, diag, &shape));
  } else {
    nay_hash_fn same;
    if (nkeys == 0) nkeys = 1; /* the empty set gets the smallest filter, as the plan says */
    NAY_TRY(nay__resolve_counted(&b->params, nkeys, diag, &family, &shape, &same));
  }
  nay_status status =
      nay__filter_make(family, &shape, &b->hasher, nkeys, b->params.flags, &b->allocator, filter);
  if (status != NAY_OK) return nay__filter_made(status, diag);
  (*filter)->format = b->format;
  nay__filter_init(*filter, &b->params);
  return NAY_OK;
}

static bool builder_streams(const nay_builder *b) {
  return b->format == NULL && b->family != NULL && b->family->add != NULL && !b->family->ordered &&
         b->params.nkeys != 0 && b->params.threads <= 1;
}

/* False: no memory for the filter. No memory for a partitioner only costs time. */
static bool builder_start_stream(nay_builder *b, const builder_page *page) {
  if (b->filter != NULL) return true;
  if (builder_make_empty(b, b->params.nkeys, NULL, &b->filter) != NAY_OK) return false;
  if (nay__bulk_strategy(b->filter, b->params.nkeys, page->words, page->used, 1).partitioned) {
    (void)nay__partitioner_new(b->filter, 1, &b->partitioner);
  }
  return true;
}

/* Adds the only page to the filter. Without memory for a filter the page stays. */
static void builder_stream(nay_builder *b) {
  builder_page *page = b->first;
  if (!builder_start_stream(b, page)) return;
  if (b->partitioner != NULL) {
    nay__partitioner_add(b->partitioner, 0, page->words, page->used);
    page->used = 0;
  } else if (nay_filter_add_hash_many(b->filter, page->words, NULL, page->used, NULL, NULL) ==
             NAY_OK) {
    page->used = 0;
  }
}

/* The next hashes are plain stores: to the rest of a batch of 4,096 in the last page. */
static void builder_open_window(nay_builder *b) {
  if (b->words_per_key != 1 || (b->family != NULL && b->family->skips_repeats)) return;
  b->at = b->last->words + b->last->used;
  b->end = b->at + (BUILDER_STREAM - b->last->used % BUILDER_STREAM) % BUILDER_STREAM;
}

/* How many hashes the window has taken. */
static size_t builder_in_window(const nay_builder *b) {
  return b->at != NULL ? (size_t)(b->at - b->last->words) - b->last->used : 0;
}

static void builder_close_window(nay_builder *b) {
  size_t n = builder_in_window(b);
  b->nkeys += n;
  if (n != 0) b->last->used += n;
  b->at = b->end = NULL;
}

static NAY_NOINLINE nay_status builder_push_any(nay_builder *b, nay_hash hash) {
  bool by_key = b->map != NULL || b->range != NULL || b->list != NULL;
  if (by_key) return NAY_ENOTSUP; /* a hash is not enough */
  builder_close_window(b);
  if (builder_is_duplicate(b, hash)) return NAY_OK;
  if (b->spill != NULL) {
    NAY_TRY(nay__hash_spill_add(b->spill, &hash.lo));
    b->nkeys++;
    return NAY_OK;
  }
  bool full = b->last != NULL && b->last->used != 0 && b->last->used % BUILDER_STREAM == 0;
  if (full && b->last == b->first && builder_streams(b)) builder_stream(b);
  if (b->last == NULL || b->last->used == BUILDER_PAGE) NAY_TRY(builder_new_page(b));
  b->last->words[b->last->used++] = hash.lo;
  if (b->words_per_key == 2) b->last->words[b->last->used++] = hash.hi;
  b->nkeys++;
  builder_open_window(b);
  return NAY_OK;
}

NAY_INLINE nay_status builder_push(nay_builder *b, nay_hash hash) {
  if (NAY_UNLIKELY(b->at == b->end)) return builder_push_any(b, hash);
  *b->at++ = hash.lo;
  return NAY_OK;
}

nay_status nay_builder_add_hash(nay_builder *b, nay_hash hash) {
  if (b != NULL && b->family != NULL && b->family->add_key != NULL) return NAY_ENOTSUP;
  return NAY_UNLIKELY(b == NULL) ? NAY_EINVAL : builder_push(b, hash);
}

static nay_status builder_keep_key(nay_builder *b, const void *key, size_t len) {
  uint8_t length[8];
  nay__store64le(length, len);
  if (len > SIZE_MAX - sizeof length) return NAY_ENOMEM;
  NAY_TRY(nay__buffer_reserve(&b->keys, sizeof length + len, &b->allocator));
  (void)nay__buffer_append(&b->keys, length, sizeof length, &b->allocator);
  (void)nay__buffer_append(&b->keys, key, len, &b->allocator);
  b->nkeys++;
  return NAY_OK;
}

static nay_status builder_add_keys(const nay_builder *b, nay_filter *f) {
  for (size_t at = 0; at < b->keys.len;) {
    size_t len = (size_t)nay__load64le(b->keys.at + at);
    bool is_new;
    NAY_TRY(f->family->add_key(f, b->keys.at + at + 8, len, &is_new));
    at += 8 + len;
  }
  return NAY_OK;
}

/* Other lengths and hash functions: kept apart, so that the fast path needs no stack frame. */
NAY_FLATTEN static NAY_NOINLINE nay_status builder_add_any(nay_builder *b, const void *key,
                                                           size_t len) {
  if (b == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  if (b->family != NULL && b->family->add_key != NULL) return builder_keep_key(b, key, len);
  if (b->range != NULL) return nay__range_builder_add(b->range, key, len);
  if (b->list != NULL) return nay__list_builder_add(b->list, key, len, NAY_LIST_OF_UNIVERSE);
  NAY_TRY(nay__hasher_ready(&b->hasher));
  return builder_push(b, nay__hash_key(&b->hasher, key, len));
}

nay_status nay_builder_add(nay_builder *b, const void *key, size_t len) {
  nay_hash hash = {0, 0};
  if (NAY_LIKELY(b != NULL && nay__hash_4to16(&b->hasher, key, len, &hash.lo))) {
    return builder_push(b, hash);
  }
  return builder_add_any(b, key, len);
}

nay_status nay_builder_add_column(nay_builder *b, const nay_column *column, size_t n,
                                  size_t *taken) {
  nay_column full;
  nay_batch_input in = nay__batch_of_column(&full, n);
  if (taken != NULL) *taken = 0;
  if (b == NULL) return NAY_EINVAL;
  NAY_TRY(nay__column_read(column, n, &full));
  NAY_TRY(nay__hasher_ready(&b->hasher));
  if (b->map != NULL) return NAY_ENOTSUP;
  if (!nay__batch_all_ok(&in)) return NAY_EINVAL;
  bool by_key = b->range != NULL || b->list != NULL;
  for (size_t i = 0; by_key && i < n; i++) {
    size_t len;
    const void *key = nay__batch_key(&in, i, &len);
    NAY_TRY(builder_add_any(b, key, len));
    if (taken != NULL) *taken = i + 1;
  }
  if (by_key) return NAY_OK;
  uint64_t lo[64], hi[64];
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) {
      size_t m = n - i < 64 ? n - i : 64;
      (void)nay__batch_hash(&b->hasher, nay__kernels_best()->hash, &in, i, m, lo, hi);
    }
    NAY_TRY(builder_push(b, (nay_hash){lo[i % 64], hi[i % 64]}));
    if (taken != NULL) *taken = i + 1;
  }
  return NAY_OK;
}

nay_status nay_builder_add_value_hash(nay_builder *b, nay_hash hash, uint64_t value) {
  if (b == NULL) return NAY_EINVAL;
  return b->map != NULL ? nay__map_builder_add(b->map, hash.lo, value) : NAY_ENOTSUP;
}

nay_status nay_builder_add_value(nay_builder *b, const void *key, size_t len, uint64_t value) {
  if (b == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  if (b->list != NULL && value > 1) return NAY_EINVAL;
  if (b->list != NULL) return nay__list_builder_add(b->list, key, len, (unsigned)value);
  if (b->map == NULL) return NAY_ENOTSUP;
  NAY_TRY(nay__hasher_ready(&b->hasher));
  return nay__map_builder_add(b->map, nay__hash_key(&b->hasher, key, len).lo, value);
}

uint64_t nay_builder_nkeys(const nay_builder *b) {
  if (b != NULL && b->map != NULL) return nay__map_builder_npairs(b->map);
  if (b != NULL && b->range != NULL) return nay__range_builder_nkeys(b->range);
  if (b != NULL && b->list != NULL) return nay__list_builder_nkeys(b->list);
  return b != NULL ? b->nkeys + builder_in_window(b) : 0;
}

/* The order of the keys is their age: the family forgets the oldest ones. */
static bool builder_has_ages(const nay_builder *b) {
  return b->family != NULL && (b->family->traits & NAY_CAN_EXPIRE) != 0;
}

/*
 * Sorts the hashes into the order of the adds and drops duplicates; returns how many remain. The
 * order is ascending, so that adds access memory sequentially. A family that depends on the order
 * gets another one: its levels or generations take consecutive keys, and ascending hashes would all
 * fall into the same few blocks. There the sort key is the hash times G, which depends on all bits.
 */
static size_t builder_arrange(const nay_builder *b, uint64_t *hashes, size_t n) {
  const uint64_t g = NAY_G64, inverse = NAY_G64_INVERSE; /* modulo 2^64 */
  bool mixed = b->family != NULL && b->family->ordered;
  for (size_t i = 0; mixed && i < n; i++) hashes[i] *= g;
  nay__sort_parallel(hashes, n, nay__bulk_threads(b->params.threads, n));
  n = nay__unique_u64(hashes, n);
  for (size_t i = 0; mixed && i < n; i++) hashes[i] *= inverse;
  return n;
}

/* A window keeps the order of its keys: of equal ones the last counts. */
static nay_status builder_keep_last(nay_builder *b) {
  size_t n = b->nsorted, bytes;
  if (!b->repeats || n == 0) return NAY_OK;
  if (!nay__mul_ok(NAY_LAST_SCRATCH(n), sizeof(uint64_t), &bytes)) return NAY_ENOMEM;
  uint64_t *scratch = nay__alloc(&b->allocator, bytes);
  if (scratch == NULL) return NAY_ENOMEM;
  b->nsorted = nay__unique_last_u64(b->sorted, n, scratch);
  b->repeats = false;
  nay__free(&b->allocator, scratch, bytes);
  return NAY_OK;
}

/* Moves all hashes to b->sorted. NAY_ENOMEM changes nothing. */
static nay_status builder_sort(nay_builder *b) {
  size_t n = b->nsorted, bytes;
  if (b->first == NULL) return NAY_OK;
  for (const builder_page *page = b->first; page != NULL; page = page->next) n += page->used;
  if (!nay__mul_ok(n, sizeof(uint64_t), &bytes)) return NAY_ENOMEM;
  uint64_t *all = nay__alloc(&b->allocator, bytes);
  if (all == NULL) return NAY_ENOMEM;
  n = b->nsorted;
  if (n != 0) memcpy(all, b->sorted, n * sizeof(uint64_t));
  nay__free(&b->allocator, b->sorted, b->sorted_bytes);
  while (b->first != NULL) {
    builder_page *page = b->first;
    memcpy(all + n, page->words, page->used * sizeof(uint64_t));
    n += page->used;
    b->first = page->next;
    nay__free(&b->allocator, page, sizeof *page);
  }
  b->last = NULL;
  b->sorted = all;
  b->sorted_bytes = bytes;
  b->repeats = builder_has_ages(b);
  b->nsorted = b->repeats ? n : builder_arrange(b, all, n);
  return NAY_OK;
}

nay_status nay__builder_take(nay_builder *b, const uint64_t *hashes, size_t n) {
  size_t bytes;
  if (n == 0) return NAY_OK;
  if (!nay__mul_ok(n, sizeof *hashes, &bytes)) return NAY_ENOMEM;
  uint64_t *all = nay__alloc(&b->allocator, bytes);
  if (all == NULL) return NAY_ENOMEM;
  memcpy(all, hashes, bytes);
  b->sorted = all;
  b->sorted_bytes = bytes;
  b->nsorted = builder_arrange(b, all, n);
  b->nkeys = n;
  return NAY_OK;
}

uint64_t nay__builder_memory(uint64_t nkeys) { return sizeof(nay_builder) + nkeys * 8; }

/* All hashes as runs: the sorted ones, then the pages. */
static nay_status builder_runs(const nay_builder *b, nay_run **runs, size_t *nruns, size_t *size) {
  size_t n = 1;
  for (const builder_page *page = b->first; page != NULL; page = page->next) n++;
  if (!nay__mul_ok(n, sizeof(nay_run), size)) return NAY_ENOMEM;
  nay_run *run = nay__alloc(&b->allocator, *size);
  if (run == NULL) return NAY_ENOMEM;
  *runs = run;
  if (b->nsorted != 0) *run++ = (nay_run){b->sorted, b->nsorted};
  for (const builder_page *page = b->first; page != NULL; page = page->next) {
    *run++ = (nay_run){page->words, page->used};
  }
  *nruns = (size_t)(run - *runs);
  return NAY_OK;
}

static nay_status builder_add_words(const nay_builder *b, nay_filter *f) {
  nay_run *runs;
  size_t nruns, size;
  NAY_TRY(builder_runs(b, &runs, &nruns, &size));
  nay_status status = nay__threaded_add(f, runs, nruns, b->params.threads);
  nay__free(&b->allocator, runs, size);
  return status;
}

/* Two-word hashes: splits the pairs of the pages into the two arrays of a batch. */
static nay_status builder_add_pairs(const nay_builder *b, nay_filter *f) {
  for (const builder_page *page = b->first; page != NULL; page = page->next) {
    for (size_t i = 0; i < page->used; i += 128) {
      uint64_t lo[64], hi[64];
      size_t n = page->used - i < 128 ? (page->used - i) / 2 : 64;
      for (size_t j = 0; j < n; j++) {
        lo[j] = page->words[i + 2 * j];
        hi[j] = page->words[i + 2 * j + 1];
      }
      NAY_TRY(nay_filter_add_hash_many(f, lo, hi, n, NULL, NULL));
    }
  }
  return NAY_OK;
}

static nay_status builder_make_filter(const nay_builder *b, uint64_t nkeys, nay_diag *diag,
                                      nay_filter **filter) {
  nay_filter *f;
  NAY_TRY(builder_make_empty(b, nkeys, diag, &f));
  nay_status status = b->family != NULL && b->family->add_key != NULL ? builder_add_keys(b, f)
                      : b->words_per_key == 1                         ? builder_add_words(b, f)
                                                                      : builder_add_pairs(b, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return nay__filter_made(status, diag);
  }
  *filter = f;
  return NAY_OK;
}

static nay_status builder_make_static(const nay_builder *b, nay_diag *diag, nay_filter **filter) {
  nay_run *runs;
  size_t nruns, size;
  if (builder_runs(b, &runs, &nruns, &size) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the list of pages", 0);
  }
  nay_source source = {runs, nruns, b->spill, b->nkeys};
  nay_status status =
      b->family->bulk->compose != NULL
          ? b->family->bulk->compose(b->format, &b->params, &source, &b->allocator, diag, filter)
          : nay__static_build(b->family, &b->params, &b->hasher, &source, &b->allocator, diag,
                              filter);
  nay__free(&b->allocator, runs, size);
  return status;
}

static nay_status builder_make_mutable(nay_builder *b, nay_diag *diag, nay_filter **filter) {
  if (b->filter != NULL) {
    if (b->partitioner != NULL) nay__partitioner_flush(b->partitioner, 0);
    nay__partitioner_free(b->partitioner);
    b->partitioner = NULL;
    nay_status status = builder_add_words(b, b->filter);
    if (status != NAY_OK) return nay__filter_made(status, diag); /* a second try adds some again */
    *filter = b->filter;
    b->filter = NULL;
    return NAY_OK;
  }
  uint64_t nkeys = b->params.nkeys != 0 ? b->params.nkeys : b->nkeys;
  bool must_sort = b->family != NULL && b->family->ordered;
  if (b->distinct && (b->params.nkeys == 0 || must_sort)) {
    if (builder_sort(b) != NAY_OK || builder_keep_last(b) != NAY_OK) {
      return nay__fail(diag, NAY_ENOMEM, "no memory to sort the hashes, 8 bytes for each", 0);
    }
    if (b->params.nkeys == 0) nkeys = b->nsorted;
    /* a window of the last nkeys keys would drop the first ones of the set: a false nay */
    bool drops = builder_has_ages(b) && b->params.window == 0;
    if (drops && b->nsorted > nkeys) {
      return nay__fail(diag, NAY_EFULL, "nkeys: the window would drop keys of the set", 0);
    }
  }
  return builder_make_filter(b, nkeys, diag, filter);
}

nay_status nay_builder_finish(nay_builder *b, nay_diag *diag, nay_filter **filter) {
  if (b == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "builder or filter is NULL", 0);
  }
  if (b->map != NULL) return nay__map_builder_finish(b->map, diag, filter);
  if (b->range != NULL) return nay__range_builder_finish(b->range, diag, filter);
  if (b->list != NULL) return nay__list_builder_finish(b->list, diag, filter);
  builder_close_window(b);
  const nay_family_bulk *bulk = b->family != NULL ? b->family->bulk : NULL;
  bool is_static = bulk != NULL && (bulk->solver != NULL || bulk->compose != NULL);
  NAY_TRY(is_static ? builder_make_static(b, diag, filter) : builder_make_mutable(b, diag, filter));
  builder_reset(b);
  return NAY_OK;
}

void nay_builder_free(nay_builder *b) {
  if (b == NULL) return;
  builder_reset(b);
  nay__hash_spill_free(b->spill);
  nay__map_builder_free(b->map);
  nay__range_builder_free(b->range);
  nay__list_builder_free(b->list);
  nay_allocator a = b->allocator;
  nay__free(&a, b, sizeof *b);
}
