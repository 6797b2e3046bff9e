/*
 * layered_build.c - fills the layers of a static filter, one after the other.
 *
 *   layer 0   the parts of the partition, group by group in a build with little memory
 *   list      what the parts leave, in any order: 2% of the keys, 0.17 bytes per key of the set
 *   layer 1   the list, sorted by part; what they leave is the list again
 *   ...
 *   last      all that is left, with one seed after the other
 *
 * Threads take parts from a counter and append to the list through another. A part depends on the
 * set of its keys alone, so the bytes are the same for every number of threads.
 *
 * The list has room for as many keys as the remaining layers have slots. A set that leaves more, or
 * whose last layer cannot be solved, is tried again with another seed for all layers. Equal keys
 * depend on each other in every layer, so both reach the last one and make it fail: a failed
 * attempt sorts the list to find them, and a filter that is filled has none.
 */
#include "build/layered_build.h"

#include "base/sort.h"
#include "family/static_hash.h"
#include "os/thread.h"

#define LAYERED_ATTEMPTS 64u
#define LAYERED_LAST_ATTEMPTS 16u

/* One attempt, layer by layer. */
typedef struct layered_run {
  const nay_layered *in;
  const nay_layers *verbs;
  const nay_shape *shape;
  unsigned layer;
  nay_memory lists, scratch;
  size_t scratch_bytes; /* of one thread */
  uint64_t capacity;    /* of each list */
  uint64_t *list;       /* for the next layer */
  uint64_t nlist;       /* keys that wanted to enter it: above capacity some are missing */
  uint64_t *keys;       /* of this layer, part by part */
  uint64_t *ends;       /* of the parts in keys[]; NULL: the partition has them */
  uint64_t next;        /* counter of parts */
  uint8_t missed;       /* a key that a filled filter lacks */
} layered_run;

static void layered_append(layered_run *r, const uint64_t *x, size_t n) {
  uint64_t end = nay__tally(&r->nlist, n), at = end - n;
  if (at >= r->capacity) return;
  memcpy(r->list + at, x, (size_t)nay__min_u64(n, r->capacity - at) * sizeof *x);
}

static void layered_part(layered_run *r, uint64_t part, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  if (r->verbs->is_last(r->shape, r->layer)) { /* the only layer: fill_last takes the list */
    layered_append(r, x, n);
    return;
  }
  uint64_t *bumped;
  n = r->verbs->fill_part(r->in->filter, r->layer, part, x, n, scratch, &bumped);
  layered_append(r, bumped, n);
}

/* ---- layers ---- */

static nay_status layered_make_scratch(layered_run *r, unsigned nthreads, uint64_t most) {
  r->scratch_bytes = (size_t)nay__round_up(r->verbs->scratch(r->shape, r->layer, most), 64);
  size_t size;
  if (!nay__mul_ok(r->scratch_bytes, nthreads, &size)) return NAY_ENOMEM;
  return nay__memory_raw(r->in->allocator, size, &r->scratch);
}

static void layered_first_worker(void *ctx, unsigned worker) {
  layered_run *r = ctx;
  const nay_partition *parts = r->in->parts;
  uint64_t part;
  while ((part = parts->group + nay__take(&r->next)) < parts->group_end) {
    layered_part(r, part, parts->work + parts->starts[part], (size_t)parts->lens[part],
                 r->scratch.at + worker * r->scratch_bytes);
  }
}

/* Layer 0, from the partition. */
static nay_status layered_first(layered_run *r) {
  nay_partition *parts = r->in->parts;
  uint64_t most = 0;
  for (uint64_t s = 0; s < parts->nshards; s++) most = nay__max_u64(most, parts->counts[s]);
  NAY_TRY(layered_make_scratch(r, r->in->nthreads, most));
  nay_status status = NAY_OK;
  bool more = true;
  nay__partition_rewind(parts);
  while (status == NAY_OK && more) {
    status = nay__partition_next(parts, &more);
    r->next = 0;
    if (status == NAY_OK && more) nay__parallel(r->in->nthreads, layered_first_worker, r);
  }
  nay__memory_free(r->in->allocator, &r->scratch);
  return status;
}

static void layered_worker(void *ctx, unsigned worker) {
  layered_run *r = ctx;
  uint64_t part, nparts = r->verbs->nparts(r->shape, r->layer);
  while ((part = nay__take(&r->next)) < nparts) {
    uint64_t from = part == 0 ? 0 : r->ends[part - 1];
    layered_part(r, part, r->keys + from, (size_t)(r->ends[part] - from),
                 r->scratch.at + worker * r->scratch_bytes);
  }
}

/* Sorts the list by part into keys[] (counting sort); returns the keys of the largest part. */
static uint64_t layered_sort(layered_run *r, uint64_t nparts) {
  uint64_t sum = 0, most = 0;
  memset(r->ends, 0, (size_t)nparts * sizeof *r->ends);
  for (uint64_t i = 0; i < r->nlist; i++) r->ends[nay__shard_of(r->list[i], nparts)]++;
  for (uint64_t p = 0; p < nparts; p++) {
    uint64_t count = r->ends[p];
    most = nay__max_u64(most, count);
    r->ends[p] = sum;
    sum += count;
  }
  for (uint64_t i = 0; i < r->nlist; i++) {
    r->keys[r->ends[nay__shard_of(r->list[i], nparts)]++] = r->list[i];
  }
  return most;
}

/* A layer between the first and the last. */
static nay_status layered_next(layered_run *r) {
  uint64_t nparts = r->verbs->nparts(r->shape, r->layer), most = layered_sort(r, nparts);
  unsigned nthreads = (unsigned)nay__min_u64(r->in->nthreads, nparts);
  NAY_TRY(layered_make_scratch(r, nthreads, most));
  r->nlist = r->next = 0;
  nay__parallel(nthreads, layered_worker, r);
  nay__memory_free(r->in->allocator, &r->scratch);
  return NAY_OK;
}

static nay_status layered_last(layered_run *r, unsigned attempt, bool *filled) {
  *filled = false;
  if (r->nlist > r->verbs->capacity(r->shape, r->layer)) return NAY_OK;
  NAY_TRY(layered_make_scratch(r, 1, r->nlist));
  unsigned first = attempt * LAYERED_LAST_ATTEMPTS;
  for (unsigned i = 0; i < LAYERED_LAST_ATTEMPTS && !*filled; i++) {
    *filled = r->verbs->fill_last(r->in->filter, (first + i) % NAY_LAST_ATTEMPTS, r->list,
                                  (size_t)r->nlist, r->scratch.at);
  }
  nay__memory_free(r->in->allocator, &r->scratch);
  return NAY_OK;
}

static nay_status layered_attempt(layered_run *r, unsigned attempt, bool *filled) {
  *filled = false;
  r->verbs->begin(r->in->filter, r->in->parts->premix, attempt);
  r->layer = 0;
  r->nlist = 0;
  NAY_TRY(layered_first(r));
  if (r->verbs->is_last(r->shape, 0)) return layered_last(r, attempt, filled);
  for (r->layer = 1; r->nlist <= r->verbs->capacity(r->shape, r->layer); r->layer++) {
    if (r->verbs->is_last(r->shape, r->layer)) return layered_last(r, attempt, filled);
    NAY_TRY(layered_next(r));
  }
  return NAY_OK;
}

/* After a failed attempt: whether the list has, or may lack, a key that is there twice. */
static bool layered_has_duplicates(const layered_run *r) {
  if (r->nlist > r->capacity) return true;
  nay__sort_u64(r->list, (size_t)r->nlist);
  for (uint64_t i = 1; i < r->nlist; i++) {
    if (r->list[i - 1] == r->list[i]) return true;
  }
  return false;
}

/* ---- verifying ---- */

static void layered_verify_worker(void *ctx, unsigned worker) {
  (void)worker;
  layered_run *r = ctx;
  const nay_partition *parts = r->in->parts;
  uint64_t part;
  while ((part = parts->group + nay__take(&r->next)) < parts->group_end) {
    const uint64_t *x = parts->work + parts->starts[part];
    uint64_t n = parts->lens[part];
    for (uint64_t i = 0; i < n; i += 64) {
      unsigned group = n - i < 64 ? (unsigned)(n - i) : 64;
      uint64_t found = r->in->solver->test(r->in->filter, x + i, group);
      if (found != ~(uint64_t)0 >> (64 - group)) nay__atomic_release8(&r->missed, 1);
    }
  }
}

/* Probes every key. The partition still has them all, unless it has loaded group after group. */
static nay_status layered_verify(layered_run *r, bool *filled) {
  nay_partition *parts = r->in->parts;
  bool more = true, whole = nay__partition_whole(parts);
  r->missed = 0;
  nay__partition_rewind(parts);
  while (more) {
    if (whole) {
      parts->group = 0;
      parts->group_end = parts->nshards;
    } else {
      NAY_TRY(nay__partition_next(parts, &more));
    }
    r->next = 0;
    if (more) nay__parallel(r->in->nthreads, layered_verify_worker, r);
    if (whole) more = false;
  }
  *filled = r->missed == 0;
  return NAY_OK;
}

/* ---- the whole ---- */

static nay_status layered_try_all(layered_run *r, nay_layered *in, nay_layered_end *end) {
  bool filled = false;
  *end = NAY_LAYERED_FILLED;
  r->missed = 0;
  for (unsigned attempt = 0; attempt < LAYERED_ATTEMPTS; attempt++) {
    NAY_TRY(layered_attempt(r, attempt, &filled));
    if (filled && in->verify) NAY_TRY(layered_verify(r, &filled));
    if (filled) return NAY_OK;
    if (!in->distinct && r->missed == 0) {
      *end = NAY_LAYERED_DUPLICATES;
      if (layered_has_duplicates(r)) return NAY_OK;
      *end = NAY_LAYERED_FILLED;
      in->distinct = true;
    }
  }
  if (r->missed != 0) return NAY_ECORRUPT;
  *end = NAY_LAYERED_STUCK;
  if (in->parts->premix == 0) return NAY_OK;
  *end = NAY_LAYERED_FILLED;
  r->verbs->give_up(in->filter);
  return NAY_OK;
}

/* Keys of the list: those of layer 1, or all where there is none. */
static uint64_t layered_list_keys(const nay_layers *verbs, const nay_shape *shape) {
  return verbs->capacity(shape, verbs->is_last(shape, 0) ? 0 : 1);
}

/* A second list and the ends of parts: where there are three layers or more. */
static uint64_t layered_list_words(const nay_layers *verbs, const nay_shape *shape) {
  uint64_t keys = layered_list_keys(verbs, shape);
  bool two = verbs->is_last(shape, 0) || verbs->is_last(shape, 1);
  return two ? keys : 2 * keys + verbs->nparts(shape, 1);
}

nay_status nay__layered_build(nay_layered *in, nay_layered_end *end) {
  const nay_shape *shape = &in->filter->shape;
  layered_run r = {.in = in, .verbs = in->solver->layers, .shape = shape};
  r.capacity = layered_list_keys(r.verbs, shape);
  uint64_t words = layered_list_words(r.verbs, shape);
  size_t size;
  if (!nay__size_ok(words, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(in->allocator, size, &r.lists));
  r.list = (uint64_t *)(void *)r.lists.at;
  if (words > r.capacity) {
    r.keys = r.list + r.capacity;
    r.ends = r.keys + r.capacity;
  }
  nay_status status = layered_try_all(&r, in, end);
  nay__memory_free(in->allocator, &r.lists);
  return status;
}

uint64_t nay__layered_memory(const nay_layers *layers, const nay_shape *shape, uint64_t n,
                             unsigned nthreads) {
  uint64_t most = nay__ceil_div(n, layers->nparts(shape, 0));
  return layered_list_words(layers, shape) * 8 +
         nthreads * (uint64_t)layers->scratch(shape, 0, most + most / 64);
}
