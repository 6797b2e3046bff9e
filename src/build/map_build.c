/*
 * map_build.c - builds static maps (family/map.h), layer after layer.
 *
 *   pairs     the caller's; hashes that come twice have been found and compared (map_pairs.c)
 *   layer 0   the distinct pairs, sorted by part, with their words in the order of the columns
 *   list      what the parts bump, in any order: 2% of the pairs
 *   layer 1   the list, sorted by part; and so on
 *   last      all that is left, with one seed after the other
 *
 * Threads take parts from a counter. A part depends on the set of its pairs alone, so the bytes are
 * the same for every number of threads and every order of the pairs.
 *
 * Retries. A set that leaves more pairs than the other layers have slots, or whose last layer is
 * not solved, gets another seed. Hashes that are not random (the caller's) crowd some parts with
 * every seed: from the fifth attempt on they are mixed with a number drawn from the set. Every
 * eighth attempt adds a block, for the few sets that no seed fits in the blocks that are planned.
 */
#include "build/map_build.h"

#include "build/bulk_strategy.h"
#include "build/map_pairs.h"
#include "os/thread.h"

#define MAPBUILD_ATTEMPTS 128u /* numbers of seeds are below 256 */
#define MAPBUILD_UNMIXED 4u    /* attempts without a premix */
#define MAPBUILD_PER_SIZE 8u
#define MAPBUILD_LAST_SEEDS 16u

/* Pairs of premixed hashes and words; the bits of a word are where nay__burr_bit says. */
typedef struct mapbuild_list {
  uint64_t *x, *words;
  uint64_t n;
} mapbuild_list;

typedef struct mapbuild_job {
  nay_map_pairs pairs;
  nay_map_params params;
  nay_hasher hasher;
  nay_allocator allocator;
  unsigned nthreads;
  nay_shape shape;
  nay_filter *f;
  uint32_t premix;

  nay_memory first_memory, memory, scratch;
  mapbuild_list first;         /* layer 0, part by part */
  mapbuild_list keys;          /* of a later layer, part by part */
  mapbuild_list list;          /* for the next layer */
  uint64_t capacity;           /* of keys and of list */
  uint64_t *first_ends, *ends; /* of the parts of layer 0, of a later layer */
  size_t scratch_bytes;        /* of one thread */

  nay_burr_layer layer;
  const mapbuild_list *from; /* keys of the layer */
  const uint64_t *from_ends;
  uint64_t next; /* counter of parts */
  uint8_t wrong; /* a key whose value is not the one that was given */
} mapbuild_job;

/* ---- words ---- */

/* Bit c of a word goes to bit nay__burr_bit(c): four neighbours, each to a quarter. */
static uint64_t mapbuild_spread(uint64_t word) {
  uint64_t spread = 0;
  for (unsigned i = 0; word != 0; i++, word >>= 4) {
    spread |= ((word & 15) * 0x0000200040008001u & 0x0001000100010001u) << i;
  }
  return spread;
}

/* ---- layer 0 ---- */

static void mapbuild_count(void *ctx, uint64_t hash, uint64_t value) {
  mapbuild_job *j = ctx;
  (void)value;
  j->first_ends[nay__reduce(nay__premix(hash, j->premix), j->layer.nparts)]++;
}

static void mapbuild_place(void *ctx, uint64_t hash, uint64_t value) {
  mapbuild_job *j = ctx;
  uint64_t x = nay__premix(hash, j->premix);
  uint64_t to = j->first_ends[nay__reduce(x, j->layer.nparts)]++;
  j->first.x[to] = x;
  j->first.words[to] = mapbuild_spread(nay__map_word_of(&j->shape, hash, value));
}

/* Counts become starts, which the keys that are placed turn into ends. Returns the largest. */
static uint64_t mapbuild_starts(uint64_t *ends, uint64_t nparts) {
  uint64_t sum = 0, most = 0;
  for (uint64_t p = 0; p < nparts; p++) {
    uint64_t count = ends[p];
    most = nay__max_u64(most, count);
    ends[p] = sum;
    sum += count;
  }
  return most;
}

static void mapbuild_sort_first(mapbuild_job *j) {
  j->layer = nay__burr_layer_at(j->shape.nunits, 0);
  memset(j->first_ends, 0, (size_t)j->layer.nparts * sizeof *j->first_ends);
  nay__map_pairs_each(&j->pairs, mapbuild_count, j);
  mapbuild_starts(j->first_ends, j->layer.nparts);
  j->first.n = j->pairs.ndistinct;
  nay__map_pairs_each(&j->pairs, mapbuild_place, j);
}

/* ---- a layer ---- */

static nay_status mapbuild_make_scratch(mapbuild_job *j, unsigned nthreads, uint64_t most) {
  j->scratch_bytes = nay__band_bytes(j->layer.nblocks, (size_t)most, true);
  size_t size;
  if (!nay__mul_ok(j->scratch_bytes, nthreads, &size)) return NAY_ENOMEM;
  return nay__memory_raw(&j->allocator, size, &j->scratch);
}

static void mapbuild_append(mapbuild_job *j, const nay_band_part *p) {
  uint64_t end = nay__tally(&j->list.n, p->nbumped), at = end - p->nbumped;
  for (size_t i = 0; i < p->nbumped && at + i < j->capacity; i++) {
    j->list.x[at + i] = nay__burr_next(p->bumped[i]);
    j->list.words[at + i] = p->bumped_values[i];
  }
}

static void mapbuild_worker(void *ctx, unsigned worker) {
  mapbuild_job *j = ctx;
  nay_burr b = nay__map_open(j->f);
  uint64_t part;
  while ((part = nay__take(&j->next)) < j->layer.nparts) {
    uint64_t from = part == 0 ? 0 : j->from_ends[part - 1];
    nay_band_part p;
    nay__burr_fill_part(j->f->kernels, &b, &j->layer, part, j->from->x + from,
                        j->from->words + from, (size_t)(j->from_ends[part] - from),
                        j->scratch.at + worker * j->scratch_bytes, &p);
    mapbuild_append(j, &p);
  }
}

/* Fills the layer from keys that are sorted by part, of which one has at most `most`. */
static nay_status mapbuild_layer(mapbuild_job *j, const mapbuild_list *from, const uint64_t *ends,
                                 uint64_t most) {
  unsigned nthreads = (unsigned)nay__min_u64(j->nthreads, j->layer.nparts);
  NAY_TRY(mapbuild_make_scratch(j, nthreads, most));
  j->from = from;
  j->from_ends = ends;
  j->list.n = j->next = 0;
  nay__parallel(nthreads, mapbuild_worker, j);
  nay__memory_free(&j->allocator, &j->scratch);
  return NAY_OK;
}

static nay_status mapbuild_first_layer(mapbuild_job *j) {
  uint64_t most = 0, from = 0;
  for (uint64_t p = 0; p < j->layer.nparts; from = j->first_ends[p++]) {
    most = nay__max_u64(most, j->first_ends[p] - from);
  }
  return mapbuild_layer(j, &j->first, j->first_ends, most);
}

/* A layer between the first and the last: the list, sorted by part. */
static nay_status mapbuild_next_layer(mapbuild_job *j) {
  uint64_t nparts = j->layer.nparts;
  memset(j->ends, 0, (size_t)nparts * sizeof *j->ends);
  for (uint64_t i = 0; i < j->list.n; i++) j->ends[nay__reduce(j->list.x[i], nparts)]++;
  uint64_t most = mapbuild_starts(j->ends, nparts);
  for (uint64_t i = 0; i < j->list.n; i++) {
    uint64_t to = j->ends[nay__reduce(j->list.x[i], nparts)]++;
    j->keys.x[to] = j->list.x[i];
    j->keys.words[to] = j->list.words[i];
  }
  return mapbuild_layer(j, &j->keys, j->ends, most);
}

static nay_status mapbuild_last_layer(mapbuild_job *j, const mapbuild_list *list, unsigned attempt,
                                      bool *filled) {
  nay_burr b = nay__map_open(j->f);
  *filled = false;
  if (list->n > (uint64_t)j->layer.nblocks * NAY_RIBBON_WIDTH) return NAY_OK;
  NAY_TRY(mapbuild_make_scratch(j, 1, list->n));
  for (unsigned i = 0; i < MAPBUILD_LAST_SEEDS && !*filled; i++) {
    unsigned number = (MAPBUILD_LAST_SEEDS * attempt + i) % NAY_BURR_SAYS_MAYBE;
    *filled = nay__burr_fill_last(j->f->kernels, &b, number, list->x, list->words, (size_t)list->n,
                                  j->scratch.at);
  }
  nay__memory_free(&j->allocator, &j->scratch);
  return NAY_OK;
}

static nay_status mapbuild_layers(mapbuild_job *j, unsigned attempt, bool *filled) {
  nay_burr b = nay__map_open(j->f);
  *filled = false;
  j->layer = nay__burr_layer_at(b.nblocks, 0);
  nay__burr_begin(&b, j->premix, j->layer.last ? 0 : attempt);
  if (j->layer.last) return mapbuild_last_layer(j, &j->first, attempt, filled);
  NAY_TRY(mapbuild_first_layer(j));
  while (j->list.n <= j->capacity) {
    j->layer = nay__burr_layer_at(b.nblocks, nay__burr_layer_end(&j->layer));
    if (j->layer.last) return mapbuild_last_layer(j, &j->list, attempt, filled);
    NAY_TRY(mapbuild_next_layer(j));
  }
  return NAY_OK;
}

/* ---- verifying ---- */

static void mapbuild_verify_worker(void *ctx, unsigned worker) {
  (void)worker;
  mapbuild_job *j = ctx;
  uint64_t group;
  while ((group = nay__take(&j->next) * 4096) < j->first.n) {
    uint64_t end = nay__min_u64(group + 4096, j->first.n);
    for (uint64_t i = group; i < end; i += NAY_MAP_GROUP) {
      unsigned n = (unsigned)nay__min_u64(end - i, NAY_MAP_GROUP);
      uint64_t words[NAY_MAP_GROUP];
      nay__map_lookup(j->f, j->first.x + i, n, words);
      for (unsigned k = 0; k < n; k++) {
        if (mapbuild_spread(words[k]) != j->first.words[i + k]) nay__atomic_release8(&j->wrong, 1);
      }
    }
  }
}

static nay_status mapbuild_verify(mapbuild_job *j, nay_diag *diag) {
  if ((j->params.flags & NAY_NO_VERIFY) != 0) return NAY_OK;
  j->next = 0;
  nay__parallel(j->nthreads, mapbuild_verify_worker, j);
  if (j->wrong == 0) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a value was not stored as given", 0);
}

/* ---- the whole ---- */

static void mapbuild_mix(void *ctx, uint64_t hash, uint64_t value) {
  (void)value;
  *(uint64_t *)ctx += nay_hash_mix(hash);
}

/* A number drawn from the set, so that nobody can prepare a set that crowds with it. */
static uint32_t mapbuild_premix(mapbuild_job *j) {
  uint64_t sum = 0;
  nay__map_pairs_each(&j->pairs, mapbuild_mix, &sum);
  return (uint32_t)nay_hash_mix(sum) | 1;
}

/* The words of `count` arrays of `words` each, and `more`. */
static nay_status mapbuild_alloc(mapbuild_job *j, uint64_t words, uint64_t count, uint64_t more,
                                 nay_memory *memory) {
  size_t size;
  if (!nay__size_ok(words * count + more, &size) || !nay__mul_ok(size, 8, &size)) return NAY_ENOMEM;
  return nay__memory_raw(&j->allocator, size, memory);
}

static nay_status mapbuild_make_lists(mapbuild_job *j) {
  nay_burr_layer l = nay__burr_layer_at(j->shape.nunits, 0);
  nay__memory_free(&j->allocator, &j->first_memory);
  nay__memory_free(&j->allocator, &j->memory);
  uint64_t n = j->pairs.ndistinct;
  NAY_TRY(mapbuild_alloc(j, n, 2, l.nparts, &j->first_memory));
  j->first.x = (uint64_t *)(void *)j->first_memory.at;
  j->first.words = j->first.x + n;
  j->first_ends = j->first.words + n;
  j->capacity = (j->shape.nunits - nay__burr_layer_end(&l)) * NAY_RIBBON_WIDTH;
  NAY_TRY(mapbuild_alloc(j, j->capacity, 4, l.nparts, &j->memory));
  j->list.x = (uint64_t *)(void *)j->memory.at;
  j->list.words = j->list.x + j->capacity;
  j->keys.x = j->list.words + j->capacity;
  j->keys.words = j->keys.x + j->capacity;
  j->ends = j->keys.words + j->capacity; /* a later layer has fewer parts */
  return NAY_OK;
}

/* A filter of the size for this attempt, and layer 0 for it. */
static nay_status mapbuild_prepare(mapbuild_job *j, unsigned attempt) {
  uint64_t nblocks = nay__burr_blocks(j->pairs.ndistinct) + attempt / MAPBUILD_PER_SIZE;
  bool mixes = attempt == MAPBUILD_UNMIXED;
  if (attempt % MAPBUILD_PER_SIZE != 0 && !mixes) return NAY_OK;
  if (mixes) j->premix = mapbuild_premix(j);
  nay_filter_free(j->f);
  j->f = NULL;
  j->shape.nunits = nblocks;
  uint32_t flags = j->params.flags & ~NAY_NO_VERIFY;
  NAY_TRY(nay__filter_make(&nay__family_map, &j->shape, &j->hasher, j->pairs.ndistinct, flags,
                           &j->allocator, &j->f));
  NAY_TRY(mapbuild_make_lists(j));
  mapbuild_sort_first(j);
  return NAY_OK;
}

static nay_status mapbuild_run(mapbuild_job *j, nay_diag *diag) {
  NAY_TRY(nay__map_pairs_check(&j->pairs, &j->params.value_bits, diag));
  j->shape.k = j->params.value_bits + j->params.check_bits;
  j->shape.extra = j->params.check_bits;
  if (j->shape.k > NAY_MAP_MAX_COLUMNS) {
    return nay__fail(diag, NAY_EINVAL, "check_bits: value_bits + check_bits is above 64", 0);
  }
  for (unsigned attempt = 0; attempt < MAPBUILD_ATTEMPTS; attempt++) {
    bool filled;
    nay_status status = mapbuild_prepare(j, attempt);
    if (status == NAY_OK) status = mapbuild_layers(j, attempt, &filled);
    if (status != NAY_OK) return nay__fail(diag, status, "no memory to build the map", 0);
    if (!filled) continue;
    nay__filter_attach(j->f, j->f->bits.bytes, j->f->nbytes); /* now that there is a trailer */
    return mapbuild_verify(j, diag);
  }
  return nay__fail(diag, NAY_EFULL, "no seed solves the equations of the keys", 0);
}

nay_status nay__map_build(const nay_map_params *params, const nay_hasher *hasher,
                          const nay_map_run *runs, size_t nruns, uint64_t n,
                          const nay_allocator *allocator, nay_diag *diag, nay_map **map) {
  if (n > NAY_MAP_MAX_KEYS) return nay__fail(diag, NAY_EINVAL, "n: above 2^38", 0);
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  mapbuild_job *j = nay__alloc(&a, sizeof *j);
  if (j == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to build the map", 0);
  *j = (mapbuild_job){.pairs = {.runs = runs, .nruns = nruns, .n = n, .allocator = a},
                      .params = *params,
                      .hasher = *hasher,
                      .allocator = a,
                      .nthreads = nay__bulk_threads(params->threads, n)};
  nay_status status = mapbuild_run(j, diag);
  nay__map_pairs_free(&j->pairs);
  nay__memory_free(&a, &j->first_memory);
  nay__memory_free(&a, &j->memory);
  if (status == NAY_OK) {
    *map = nay__map_of(j->f);
  } else {
    nay_filter_free(j->f);
  }
  nay__free(&a, j, sizeof *j);
  return status;
}

nay_status nay_map_build(const nay_map_params *params, const uint64_t *hashes,
                         const uint64_t *values, size_t n, const nay_allocator *allocator,
                         nay_diag *diag, nay_map **map) {
  nay_map_params checked;
  nay_hasher hasher;
  if (map == NULL || (n != 0 && (hashes == NULL || values == NULL))) {
    return nay__fail(diag, NAY_EINVAL, "hashes, values or map is NULL", 0);
  }
  NAY_TRY(nay__map_params(params, diag, &checked, &hasher));
  nay_map_run run = {hashes, values, n};
  return nay__map_build(&checked, &hasher, &run, 1, n, allocator, diag, map);
}
