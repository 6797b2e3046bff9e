/*
 * static_build.c - builds filters of static families (xor, fuse, ribbon).
 *
 * The top bits of the hashes partition the set into shards (shard_partition.c); the solver of the
 * family solves one shard at a time, and threads take shards from a counter. The bytes of a shard
 * depend on its keys alone, so the filter is the same for every number of threads and every order
 * of the keys. The shards of a ribbon leave keys to further layers: layered_build.c.
 *
 * Duplicates. Nothing is sorted in advance: a shard with two equal keys cannot be solved, and a
 * shard that is solved has none. When an attempt fails, the shard is sorted to find duplicates. If
 * there are few, the shard is solved without them, and the filter stands if the plan for the
 * smaller number of keys has the same layout. Otherwise the whole set is sorted, duplicates are
 * dropped, and the build starts again with the size for the distinct keys.
 *
 * Retries. A seed is a function of the attempt, and from the eighth attempt on of the keys of the
 * shard as well, so that an attacker cannot prepare a set on which every seed fails. A set with
 * overfull shards, or one that no seed solves (hashes of the caller that are not random), starts
 * again with hashes mixed with a number drawn from the set. If all attempts fail even then, the
 * solver gives up in a way that still never answers a false nay.
 */
#include "build/static_build.h"

#include "base/sort.h"
#include "build/bulk_strategy.h"
#include "build/layered_build.h"
#include "build/shard_partition.h"
#include "family/static_hash.h"
#include "filter.h"
#include "os/thread.h"

#define BUILD_ATTEMPTS 32u
#define BUILD_FIXED_SEEDS 8u
#define BUILD_SEED_MASK 0x7fffffffu /* solvers mark a shard they gave up with the top bit */
#define BUILD_FEW 1024u             /* 1 duplicate in so many keys does not restart a build */

typedef struct build_job {
  const nay_family *family;
  const nay_solver *solver;
  nay_params params;
  nay_hash_fn hasher;
  nay_allocator allocator;
  nay_diag *diag; /* the caller's */
  unsigned nthreads;
  nay_partition parts;
  bool distinct; /* the source has no duplicates */
  nay_filter *f;

  nay_memory memory; /* of all scratch */
  uint8_t *scratch[NAY_MAX_THREADS];
  uint64_t next;       /* counter of shards */
  uint64_t duplicates; /* dropped from shards */
  /* set by any thread: stop; no seed solves a shard; a solved shard lacks a key */
  uint8_t stop, stuck, misbuilt;
} build_job;

/* ---- one shard ---- */

static uint64_t build_sum(const uint64_t *x, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += nay_hash_mix(x[i]);
  return sum;
}

static uint32_t build_seed(unsigned attempt, const uint64_t *x, size_t n) {
  if (attempt == 0) return 0;
  uint64_t from = attempt < BUILD_FIXED_SEEDS ? 0 : build_sum(x, n);
  return (uint32_t)nay_hash_mix(from + attempt) & BUILD_SEED_MASK;
}

static bool build_verified(const build_job *j, const uint64_t *x, size_t n) {
  if ((j->params.flags & NAY_NO_VERIFY) != 0) return true;
  for (size_t i = 0; i < n; i += 64) {
    unsigned group = n - i < 64 ? (unsigned)(n - i) : 64;
    if (j->solver->test(j->f, x + i, group) != ~(uint64_t)0 >> (64 - group)) return false;
  }
  return true;
}

/* Drops duplicates; *few is false when the build must start again instead. */
static size_t build_drop_duplicates(build_job *j, uint64_t *x, size_t n, bool *few) {
  nay__sort_u64(x, n);
  size_t left = nay__unique_u64(x, n);
  if (left == n) return n;
  uint64_t duplicates = nay__tally(&j->duplicates, n - left);
  *few = j->solver->shards->alike != NULL && duplicates <= j->f->nkeys / BUILD_FEW;
  return left;
}

static bool build_try(build_job *j, uint64_t shard, const uint64_t *x, size_t n, uint8_t *scratch,
                      unsigned from, unsigned to) {
  for (unsigned attempt = from; attempt < to; attempt++) {
    uint32_t seed = build_seed(attempt, x, n);
    if (j->solver->shards->attempt(j->f, shard, attempt, seed, x, n, scratch) &&
        build_verified(j, x, n)) {
      return true;
    }
  }
  return false;
}

/* Reorders x. False: the build must stop. */
static bool build_solve_shard(build_job *j, uint64_t shard, uint64_t *x, size_t n,
                              uint8_t *scratch) {
  if (build_try(j, shard, x, n, scratch, 0, 1)) return true;
  unsigned from = 1;
  if (!j->distinct) {
    bool few = true;
    size_t left = build_drop_duplicates(j, x, n, &few);
    if (!few) return false;
    if (left != n) from = 0; /* another set: start from the first seed */
    n = left;
  }
  if (build_try(j, shard, x, n, scratch, from, BUILD_ATTEMPTS)) return true;
  if (j->parts.premix == 0) {
    nay__atomic_release8(&j->stuck, 1);
    return false;
  }
  j->solver->shards->give_up(j->f, shard, build_seed(BUILD_ATTEMPTS, x, n), x, n, scratch);
  if (build_verified(j, x, n)) return true;
  nay__atomic_release8(&j->misbuilt, 1);
  return false;
}

static void build_worker(void *ctx, unsigned worker) {
  build_job *j = ctx;
  uint64_t shard;
  while (nay__atomic_acquire8(&j->stop) == 0 &&
         (shard = j->parts.group + nay__take(&j->next)) < j->parts.group_end) {
    uint64_t *x = j->parts.work + j->parts.starts[shard];
    if (!build_solve_shard(j, shard, x, (size_t)j->parts.lens[shard], j->scratch[worker])) {
      nay__atomic_release8(&j->stop, 1);
    }
  }
}

/* ---- the whole ---- */

/* Scratch for the largest shard. */
static nay_status build_make_scratch(build_job *j) {
  uint64_t most = 0;
  for (uint64_t s = 0; s < j->parts.nshards; s++) most = nay__max_u64(most, j->parts.counts[s]);
  uint64_t one = nay__round_up(j->solver->shards->scratch(&j->f->shape, most), 64);
  size_t size;
  if (!nay__size_ok(one, &size) || !nay__mul_ok(size, j->nthreads, &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_new(&j->allocator, size, &j->memory));
  for (unsigned i = 0; i < j->nthreads; i++) j->scratch[i] = j->memory.at + i * one;
  return NAY_OK;
}

/* Solves all shards; the flags of the job tell what failed. */
static nay_status build_solve_shards(build_job *j) {
  j->solver->shards->begin(j->f, j->parts.premix);
  nay_status status = build_make_scratch(j);
  nay__partition_rewind(&j->parts);
  while (status == NAY_OK && j->stop == 0) {
    bool more;
    status = nay__partition_next(&j->parts, &more);
    if (status != NAY_OK || !more) break;
    j->next = 0;
    nay__parallel(j->nthreads, build_worker, j);
  }
  nay__memory_free(&j->allocator, &j->memory);
  return status == NAY_OK && j->misbuilt != 0 ? NAY_ECORRUPT : status;
}

static nay_status build_fill_layers(build_job *j) {
  nay_layered layered = {.filter = j->f,
                         .solver = j->solver,
                         .parts = &j->parts,
                         .allocator = &j->allocator,
                         .nthreads = j->nthreads,
                         .verify = (j->params.flags & NAY_NO_VERIFY) == 0,
                         .distinct = j->distinct};
  nay_layered_end end;
  NAY_TRY(nay__layered_build(&layered, &end));
  j->stop = end != NAY_LAYERED_FILLED;
  j->stuck = end == NAY_LAYERED_STUCK;
  return NAY_OK;
}

static nay_status build_solve(build_job *j) {
  j->duplicates = 0;
  j->stop = j->stuck = j->misbuilt = 0;
  return j->solver->layers != NULL ? build_fill_layers(j) : build_solve_shards(j);
}

/* Whether a shard is overfull: 8 standard deviations above the mean. */
static bool build_is_skewed(const build_job *j, uint64_t n) {
  uint64_t mean = nay__ceil_div(n, j->parts.nshards);
  for (uint64_t s = 0; s < j->parts.nshards; s++) {
    uint64_t count = j->parts.counts[s], over = count > mean + 8 ? count - mean - 8 : 0;
    if (over > mean || over * over / 64 > mean) return true;
  }
  return false;
}

/* Drops all duplicates; mix: mixes the hashes, too. */
static nay_status build_improve(build_job *j, bool mix, uint64_t *n) {
  if (!j->distinct) NAY_TRY(nay__partition_distinct(&j->parts, n));
  j->distinct = true;
  return mix ? nay__partition_mix(&j->parts, j->solver->premix_mask) : NAY_OK;
}

/* Counts the keys of each shard for n keys. *again: n or the hashes have changed: start over. */
static nay_status build_cut(build_job *j, nay_shape *shape, uint64_t *n, bool *again) {
  nay_params p = j->params;
  p.nkeys = nay__max_u64(*n, 1); /* the empty set gets the smallest filter */
  NAY_TRY(j->family->plan(&p, j->diag, shape));
  NAY_TRY(nay__partition_cut(&j->parts, j->solver->nshards(shape)));
  NAY_TRY(nay__partition_recount(&j->parts));
  *again = j->parts.premix == 0 && build_is_skewed(j, *n);
  return *again ? build_improve(j, j->distinct, n) : NAY_OK;
}

/* Whether the filter, planned with duplicates counted, is the one for the distinct keys. */
static bool build_fits(build_job *j, const nay_shape *shape) {
  if (j->stop != 0) return false;
  if (j->duplicates == 0) return true;
  uint64_t left = j->f->nkeys - j->duplicates;
  nay_params p = j->params;
  nay_shape same;
  p.nkeys = nay__max_u64(left, 1);
  if (j->family->plan(&p, NULL, &same) != NAY_OK || same.nunits != shape->nunits ||
      same.k != shape->k || same.extra != shape->extra ||
      !j->solver->shards->alike(j->f, j->f->nkeys, left)) {
    return false;
  }
  j->f->nkeys = left;
  return true;
}

static nay_status build_run(build_job *j, uint64_t n) {
  for (;;) {
    nay_shape shape;
    bool again;
    NAY_TRY(build_cut(j, &shape, &n, &again));
    if (again) continue;
    uint32_t flags = j->params.flags & ~(NAY_NO_VERIFY | NAY_LOW_MEMORY);
    nay_status status =
        nay__filter_make(j->family, &shape, &j->hasher, n, flags, &j->allocator, &j->f);
    if (status != NAY_OK) return nay__filter_made(status, j->diag);
    NAY_TRY(build_solve(j));
    if (build_fits(j, &shape)) {
      nay__filter_attach(j->f, j->f->bits.bytes,
                         j->f->nbytes); /* now that there is something in it */
      return NAY_OK;
    }
    nay_filter_free(j->f);
    j->f = NULL;
    NAY_TRY(build_improve(j, j->stuck != 0, &n));
  }
}

/* What a build that has planned its shape can fail for. */
static nay_status build_told(nay_status status, const nay_source *source, nay_diag *diag) {
  switch (status) {
    case NAY_EIO:
      if (diag != NULL) *diag = *nay__hash_spill_trouble(source->spill);
      return status;
    case NAY_ENOMEM:
      return nay__fail(diag, status,
                       "no memory for the build: nay_params_plan tells how much (nbytes_build)", 0);
    case NAY_ECORRUPT:
      return nay__fail(diag, status, "the filter denies a key it was built from: faulty memory", 0);
    case NAY_EINVAL: return status; /* the plan says which field */
    default: return nay__fail(diag, status, nay_status_text(status), 0);
  }
}

nay_status nay__static_build(const nay_family *family, const nay_params *params,
                             const nay_hash_fn *hasher, const nay_source *source,
                             const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {
  build_job *j;
  nay_allocator a;
  NAY_TRY(nay__allocator_read(allocator, diag, &a));
  if ((j = nay__alloc(&a, sizeof *j)) == NULL) return build_told(NAY_ENOMEM, source, diag);
  *j = (build_job){.family = family,
                   .solver = nay__family_solver(family),
                   .params = *params,
                   .hasher = *hasher,
                   .allocator = a,
                   .diag = diag,
                   .nthreads = nay__bulk_threads(params->threads, source->n)};
  nay__partition_open(&j->parts, source, j->nthreads,
                      nay__bulk_group_keys(params->flags, source->n), &a);
  nay_status status = build_run(j, source->n);
  if (status == NAY_OK) {
    *filter = j->f;
  } else {
    nay_filter_free(j->f);
    build_told(status, source, diag);
  }
  nay__partition_close(&j->parts);
  nay__free(&a, j, sizeof *j);
  return status;
}

uint64_t nay__static_build_memory(const nay_family *family, const nay_shape *shape,
                                  const nay_params *params) {
  const nay_solver *solver = nay__family_solver(family);
  uint64_t n = params->nkeys, nshards = solver->nshards(shape);
  unsigned threads = nay__bulk_threads(params->threads, n);
  uint64_t most = nay__ceil_div(n, nshards) + nay__ceil_div(n, nshards) / 64;
  uint64_t scratch = solver->layers != NULL
                         ? nay__layered_memory(solver->layers, shape, n, threads)
                         : threads * (uint64_t)solver->shards->scratch(shape, most);
  return nay__min_u64(n, nay__bulk_group_keys(params->flags, n)) * 8 + scratch +
         8 * (2 * threads + 3) * nshards + sizeof(build_job);
}
