/*
 * map_build.c - builds static maps (family/map.h), layer after layer.
 *
 *   pairs     the caller's, or in a temporary file; hashes that come twice have been found and
 *             compared (map_pairs.c)
 *   layer 0   the distinct pairs, sorted by part, with their words in the order of the columns;
 * with little memory one group of parts after the other list      what the parts bump, in any
 * order: 2% of the pairs layer 1   the list, sorted by part; and so on last      all that is left,
 * with one seed after the other
 *
 * Threads take parts from a counter. A part depends on the set of its pairs alone, so the bytes are
 * the same for every number of threads and every order of the pairs.
 *
 * Memory. 16 bytes for each pair of a group, which is all or with NAY_LOW_MEMORY an eighth of them,
 * 0.8 for what is bumped, and the scratch of threads. Every group reads all pairs that are in
 * arrays, and of a file those that it needs, three times: to count, to build, to verify.
 *
 * Retries. A set that leaves more pairs than the other layers have slots, or whose last layer is
 * not solved, gets another seed. Hashes that are not random (the caller's) crowd some parts with
 * every seed: from the fifth attempt on they are mixed with a number drawn from the set. Every
 * eighth attempt adds a block, for the few sets that no seed fits in the blocks that are planned.
 */
#include "build/map_build.h"

#include "base/abi.h"
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
  nay_params params;
  nay_hash_fn hasher;
  nay_allocator allocator;
  unsigned nthreads;
  nay_shape shape;
  nay_filter *f;
  uint32_t premix;

  nay_memory first_memory, tables, memory, scratch;
  nay_burr_layer first_layer;
  mapbuild_list first;         /* layer 0: the parts of a group, part by part */
  uint64_t *counts;            /* pairs of the parts of layer 0 */
  uint64_t group, group_end;   /* the parts in `first` */
  bool loaded;                 /* `first` has all parts */
  mapbuild_list keys;          /* of a later layer, part by part */
  mapbuild_list list;          /* for the next layer */
  uint64_t capacity;           /* of keys and of list */
  uint64_t *first_ends, *ends; /* of the parts of layer 0, of a later layer */
  size_t scratch_bytes;        /* of one thread */

  nay_burr_layer layer;
  const mapbuild_list *from; /* keys of the layer, of parts [from_part, to_part) */
  const uint64_t *from_ends;
  uint64_t from_part, to_part;
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
  j->counts[nay__reduce(nay__premix(hash, j->premix), j->first_layer.nparts)]++;
}

static void mapbuild_place(void *ctx, uint64_t hash, uint64_t value) {
  mapbuild_job *j = ctx;
  uint64_t x = nay__premix(hash, j->premix), part = nay__reduce(x, j->first_layer.nparts);
  if (part < j->group || part >= j->group_end) return;
  uint64_t to = j->first_ends[part]++;
  j->first.x[to] = x;
  j->first.words[to] = mapbuild_spread(nay__map_word_of(&j->shape, hash, value));
}

/* The end of the group that begins with a part: as many parts as fit, at least one. */
static uint64_t mapbuild_group_end(const mapbuild_job *j, uint64_t part, uint64_t *n) {
  uint64_t limit = j->pairs.source.group_keys;
  *n = j->counts[part++];
  while (part < j->first_layer.nparts && j->counts[part] <= limit - nay__min_u64(limit, *n)) {
    *n += j->counts[part++];
  }
  return part;
}

/* Without a premix parts are ranges of hashes: reads those of the group, and a few more. */
static nay_status mapbuild_read_group(mapbuild_job *j) {
  uint64_t lo = 0, hi = UINT64_MAX, nparts = j->first_layer.nparts, width = UINT64_MAX / nparts;
  if (j->premix == 0) {
    lo = j->group * width; /* at most where the group begins */
    if (j->group_end < nparts) hi = j->group_end * width + j->group_end;
  }
  return nay__map_pairs_each(&j->pairs, lo, hi, mapbuild_place, j);
}

static void mapbuild_rewind(mapbuild_job *j) { j->group_end = 0; }

/* The next group of parts, sorted by part, until !*more. */
static nay_status mapbuild_load(mapbuild_job *j, bool *more) {
  j->group = j->group_end;
  *more = j->group < j->first_layer.nparts;
  if (!*more) return NAY_OK;
  j->group_end = mapbuild_group_end(j, j->group, &j->first.n);
  if (j->loaded) return NAY_OK;
  for (uint64_t part = j->group, sum = 0; part < j->group_end; part++) {
    j->first_ends[part] = sum; /* a start, which the pairs that are placed turn into the end */
    sum += j->counts[part];
  }
  NAY_TRY(mapbuild_read_group(j));
  j->loaded = j->group == 0 && j->group_end == j->first_layer.nparts;
  return NAY_OK;
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
  while ((part = j->from_part + nay__take(&j->next)) < j->to_part) {
    uint64_t from = part == j->from_part ? 0 : j->from_ends[part - 1];
    nay_band_part p;
    nay__burr_fill_part(j->f->kernels, &b, &j->layer, part, j->from->x + from,
                        j->from->words + from, (size_t)(j->from_ends[part] - from),
                        j->scratch.at + worker * j->scratch_bytes, &p);
    mapbuild_append(j, &p);
  }
}

/* Fills parts [from_part, to_part) of the layer, of which one has at most `most` keys. */
static nay_status mapbuild_parts(mapbuild_job *j, const mapbuild_list *from, const uint64_t *ends,
                                 uint64_t most) {
  unsigned nthreads = (unsigned)nay__min_u64(j->nthreads, j->to_part - j->from_part);
  NAY_TRY(mapbuild_make_scratch(j, nthreads, most));
  j->from = from;
  j->from_ends = ends;
  j->next = 0;
  nay__parallel(nthreads, mapbuild_worker, j);
  nay__memory_free(&j->allocator, &j->scratch);
  return NAY_OK;
}

static nay_status mapbuild_first_layer(mapbuild_job *j) {
  bool more;
  j->list.n = 0;
  mapbuild_rewind(j);
  for (;;) {
    NAY_TRY(mapbuild_load(j, &more));
    if (!more) return NAY_OK;
    uint64_t most = 0;
    for (uint64_t p = j->group; p < j->group_end; p++) most = nay__max_u64(most, j->counts[p]);
    j->from_part = j->group;
    j->to_part = j->group_end;
    NAY_TRY(mapbuild_parts(j, &j->first, j->first_ends, most));
  }
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
  j->list.n = j->from_part = 0;
  j->to_part = nparts;
  return mapbuild_parts(j, &j->keys, j->ends, most);
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
  if (j->layer.last) {
    bool more;
    mapbuild_rewind(j);
    NAY_TRY(mapbuild_load(j, &more));
    return mapbuild_last_layer(j, &j->first, attempt, filled);
  }
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
  bool more;
  if ((j->params.flags & NAY_NO_VERIFY) != 0) return NAY_OK;
  mapbuild_rewind(j);
  for (;;) {
    NAY_TRY(mapbuild_load(j, &more));
    if (!more) break;
    j->next = 0;
    nay__parallel(j->nthreads, mapbuild_verify_worker, j);
  }
  if (j->wrong == 0) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a value was not stored as given", 0);
}

/* ---- the whole ---- */

static void mapbuild_mix(void *ctx, uint64_t hash, uint64_t value) {
  (void)value;
  *(uint64_t *)ctx += nay_hash_mix(hash);
}

/* A number drawn from the set, so that nobody can prepare a set that crowds with it. */
static nay_status mapbuild_premix(mapbuild_job *j) {
  uint64_t sum = 0;
  NAY_TRY(nay__map_pairs_each(&j->pairs, 0, UINT64_MAX, mapbuild_mix, &sum));
  j->premix = (uint32_t)nay_hash_mix(sum) | 1;
  return NAY_OK;
}

/* The words of `count` arrays of `words` each, and `more`. */
static nay_status mapbuild_alloc(mapbuild_job *j, uint64_t words, uint64_t count, uint64_t more,
                                 nay_memory *memory) {
  size_t size;
  if (!nay__size_ok(words * count + more, &size) || !nay__mul_ok(size, 8, &size)) return NAY_ENOMEM;
  return nay__memory_raw(&j->allocator, size, memory);
}

/* How many pairs each part of layer 0 has, and memory for the largest group of them. */
static nay_status mapbuild_make_groups(mapbuild_job *j) {
  uint64_t nparts = j->first_layer.nparts, most = 0, n;
  nay__memory_free(&j->allocator, &j->tables);
  nay__memory_free(&j->allocator, &j->first_memory);
  NAY_TRY(mapbuild_alloc(j, nparts, 2, 0, &j->tables));
  j->counts = (uint64_t *)(void *)j->tables.at;
  j->first_ends = j->counts + nparts;
  j->loaded = false;
  memset(j->counts, 0, (size_t)nparts * sizeof *j->counts);
  NAY_TRY(nay__map_pairs_each(&j->pairs, 0, UINT64_MAX, mapbuild_count, j));
  for (uint64_t part = 0; part < nparts; most = nay__max_u64(most, n)) {
    part = mapbuild_group_end(j, part, &n);
  }
  NAY_TRY(mapbuild_alloc(j, most, 2, 0, &j->first_memory));
  j->first.x = (uint64_t *)(void *)j->first_memory.at;
  j->first.words = j->first.x + most;
  return NAY_OK;
}

static nay_status mapbuild_make_lists(mapbuild_job *j) {
  nay_burr_layer l = j->first_layer;
  nay__memory_free(&j->allocator, &j->memory);
  j->capacity = (j->shape.nunits - nay__burr_layer_end(&l)) * NAY_RIBBON_WIDTH;
  NAY_TRY(mapbuild_alloc(j, j->capacity, 4, l.nparts, &j->memory));
  j->list.x = (uint64_t *)(void *)j->memory.at;
  j->list.words = j->list.x + j->capacity;
  j->keys.x = j->list.words + j->capacity;
  j->keys.words = j->keys.x + j->capacity;
  j->ends = j->keys.words + j->capacity; /* a later layer has fewer parts */
  return NAY_OK;
}

/* A filter of the size for this attempt, and memory for its layers. */
static nay_status mapbuild_prepare(mapbuild_job *j, unsigned attempt) {
  uint64_t nblocks = nay__map_blocks(j->pairs.ndistinct) + attempt / MAPBUILD_PER_SIZE;
  bool mixes = attempt == MAPBUILD_UNMIXED;
  if (attempt % MAPBUILD_PER_SIZE != 0 && !mixes) return NAY_OK;
  if (mixes) NAY_TRY(mapbuild_premix(j));
  nay_filter_free(j->f);
  j->f = NULL;
  j->shape.nunits = nblocks;
  uint32_t flags = j->params.flags & ~(NAY_NO_VERIFY | NAY_LOW_MEMORY);
  NAY_TRY(nay__filter_make(&nay__family_map, &j->shape, &j->hasher, j->pairs.ndistinct, flags,
                           &j->allocator, &j->f));
  j->first_layer = nay__burr_layer_at(nblocks, 0);
  NAY_TRY(mapbuild_make_groups(j));
  return mapbuild_make_lists(j);
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

nay_status nay__map_build(const nay_params *params, const nay_hash_fn *hasher,
                          const nay_map_source *source, const nay_allocator *allocator,
                          nay_diag *diag, nay_filter **map) {
  uint64_t n = source->n;
  if (n > NAY_MAP_MAX_KEYS) return nay__fail(diag, NAY_EINVAL, "n: above 2^38", 0);
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  mapbuild_job *j = nay__alloc(&a, sizeof *j);
  if (j == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to build the map", 0);
  *j = (mapbuild_job){.pairs = {.source = *source, .allocator = a},
                      .params = *params,
                      .hasher = *hasher,
                      .allocator = a,
                      .nthreads = nay__bulk_threads(params->threads, n)};
  nay_status status = mapbuild_run(j, diag);
  nay__map_pairs_free(&j->pairs);
  nay__memory_free(&a, &j->first_memory);
  nay__memory_free(&a, &j->tables);
  nay__memory_free(&a, &j->memory);
  if (status == NAY_EIO && diag != NULL) *diag = *nay__hash_spill_trouble(source->spill);
  if (status == NAY_OK) {
    *map = j->f;
  } else {
    nay_filter_free(j->f);
  }
  nay__free(&a, j, sizeof *j);
  return status;
}

nay_status nay__map_build_arrays(const nay_params *params, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, const nay_allocator *allocator,
                                 nay_diag *diag, nay_filter **map) {
  nay_params full;
  nay_hash_fn hasher;
  if (params == NULL || map == NULL || (n != 0 && (hashes == NULL || values == NULL))) {
    return nay__fail(diag, NAY_EINVAL, "params, hashes, values or map is NULL", 0);
  }
  NAY_TRY(nay__abi_read(NAY_ABI_PARAMS, params, diag, &full));
  NAY_TRY(nay__map_params(&full, diag));
  NAY_TRY(nay__hasher_init(&full, diag, &hasher));
  nay_map_run run = {hashes, values, n};
  nay_map_source source = {.runs = &run, .nruns = 1, .n = n};
  source.group_keys = nay__bulk_group_keys(full.flags, n);
  return nay__map_build(&full, &hasher, &source, allocator, diag, map);
}
