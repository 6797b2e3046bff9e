/* shard_partition.c - see shard_partition.h. All memory is allocated before threads start. */
#include "build/shard_partition.h"

#include "base/sort.h"
#include "family/static_hash.h"
#include "os/thread.h"

void nay__partition_open(nay_partition *p, const nay_source *source, unsigned nthreads,
                         uint64_t group_limit, const nay_allocator *allocator) {
  *p = (nay_partition){
      .source = *source, .allocator = *allocator, .nthreads = nthreads, .group_limit = group_limit};
}

static void partition_drop_tables(nay_partition *p) {
  nay__free(&p->allocator, p->counts, p->tables_bytes);
  p->counts = NULL;
}

void nay__partition_close(nay_partition *p) {
  partition_drop_tables(p);
  nay__free(&p->allocator, p->work, p->work_bytes);
  p->work = NULL;
}

bool nay__partition_whole(const nay_partition *p) { return p->source.n <= p->group_limit; }

/* ---- reading the source ---- */

/* Processes a piece of the source; `slots` are those of the range that it is from. */
typedef void (*partition_each)(const nay_partition *p, const uint64_t *hashes, size_t n,
                               uint64_t *slots);

typedef struct partition_reader {
  const nay_partition *p;
  partition_each each;
  uint64_t *slots;
} partition_reader;

static void partition_read_chunk(void *ctx, const uint64_t *hashes, size_t n) {
  const partition_reader *r = ctx;
  r->each(r->p, hashes, n, r->slots);
}

/* Reads one range of the runs; there are as many equal ranges as threads. */
static void partition_read_runs(const nay_partition *p, uint64_t range, partition_each each,
                                uint64_t *slots) {
  uint64_t total = 0;
  for (size_t i = 0; i < p->source.nruns; i++) total += p->source.runs[i].n;
  uint64_t share = total / p->nthreads, from = share * range;
  uint64_t to = range + 1 == p->nthreads ? total : share * (range + 1);
  partition_reader reader = {p, each, slots};
  nay__runs_read(p->source.runs, p->source.nruns, from, to, partition_read_chunk, &reader);
}

/* Without a premix the buckets of the file are in the order of shards: read those of the group. */
static nay_status partition_read_spill(const nay_partition *p, partition_each each,
                                       uint64_t *slots) {
  uint64_t lo = 0, hi = UINT64_MAX, end = p->group_end;
  if (p->premix == 0) {
    uint64_t width = UINT64_MAX / p->nshards; /* at most the width of a shard */
    lo = p->group * width;
    if (end < p->nshards) hi = end * width + end;
  }
  partition_reader reader = {p, each, slots};
  return nay__hash_spill_read(p->source.spill, lo, hi, partition_read_chunk, &reader);
}

/* Reads one range; range 0 includes the spill file. */
static void partition_read(nay_partition *p, uint64_t range, partition_each each, uint64_t *slots) {
  partition_read_runs(p, range, each, slots);
  if (range != 0 || p->source.spill == NULL) return;
  nay_status status = partition_read_spill(p, each, slots);
  if (status != NAY_OK) p->io = status;
}

/* ---- counting ---- */

static void partition_count_piece(const nay_partition *p, const uint64_t *hashes, size_t n,
                                  uint64_t *slots) {
  for (size_t i = 0; i < n; i++) {
    slots[nay__shard_of(nay__premix(hashes[i], p->premix), p->nshards)]++;
  }
}

static void partition_count_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t range;
  while ((range = nay__take(&p->next)) < p->nthreads) {
    partition_read(p, range, partition_count_piece, p->ranges + range * p->nshards);
  }
}

static nay_status partition_count(nay_partition *p) {
  p->group = 0;
  p->group_end = p->nshards;
  p->next = 0;
  p->io = NAY_OK;
  nay__parallel(p->nthreads, partition_count_worker, p);
  for (unsigned r = 0; r < p->nthreads; r++) {
    for (uint64_t s = 0; s < p->nshards; s++) p->counts[s] += p->ranges[r * p->nshards + s];
  }
  return p->io;
}

static void partition_count_sorted(nay_partition *p) {
  for (uint64_t i = 0; i < p->source.n; i++) p->counts[nay__shard_of(p->work[i], p->nshards)]++;
}

nay_status nay__partition_cut(nay_partition *p, uint64_t nshards) {
  partition_drop_tables(p);
  p->nshards = nshards;
  uint64_t words = nshards * (2 * p->nthreads + 3) + 1;
  size_t size;
  if (!nay__size_ok(words, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  p->counts = nay__alloc(&p->allocator, size);
  if (p->counts == NULL) return NAY_ENOMEM;
  memset(p->counts, 0, size);
  p->tables_bytes = size;
  p->ranges = p->counts + nshards;
  p->cursors = p->ranges + nshards * p->nthreads;
  p->starts = p->cursors + p->nshards * p->nthreads;
  p->lens = p->starts + p->nshards;
  if (!p->sorted) return partition_count(p);
  partition_count_sorted(p);
  return NAY_OK;
}

/* ---- loading ---- */

static void partition_scatter_piece(const nay_partition *p, const uint64_t *hashes, size_t n,
                                    uint64_t *slots) {
  uint64_t *work = p->work;
  if (p->group == 0 && p->group_end == p->nshards) {
    for (size_t i = 0; i < n; i++) {
      uint64_t x = nay__premix(hashes[i], p->premix);
      work[slots[nay__shard_of(x, p->nshards)]++] = x;
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t x = nay__premix(hashes[i], p->premix), shard = nay__shard_of(x, p->nshards);
    if (shard >= p->group && shard < p->group_end) work[slots[shard]++] = x;
  }
}

static void partition_scatter_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t range;
  while ((range = nay__take(&p->next)) < p->nthreads) {
    partition_read(p, range, partition_scatter_piece, p->cursors + range * p->nshards);
  }
}

/* Sorts the loaded shards and drops duplicates. */
static void partition_sort_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t shard;
  while ((shard = p->group + nay__take(&p->next)) < p->group_end) {
    nay__sort_u64(p->work + p->starts[shard], (size_t)p->lens[shard]);
    p->lens[shard] = nay__unique_u64(p->work + p->starts[shard], (size_t)p->lens[shard]);
  }
}

static void partition_sort(nay_partition *p) {
  p->next = 0;
  nay__parallel(p->nthreads, partition_sort_worker, p);
}

/* The keys of a shard with duplicates: ranges[], since counts[] may be of the distinct keys. */
static uint64_t partition_shard_keys(const nay_partition *p, uint64_t shard) {
  if (p->sorted) return p->counts[shard];
  uint64_t keys = 0;
  for (unsigned r = 0; r < p->nthreads; r++) keys += p->ranges[r * p->nshards + shard];
  return keys;
}

/* The end of the group that starts at `shard`, and its keys. */
static uint64_t partition_group_end(const nay_partition *p, uint64_t shard, uint64_t *keys) {
  *keys = 0;
  for (; shard < p->nshards; shard++) {
    uint64_t more = partition_shard_keys(p, shard);
    if (*keys != 0 && *keys + more > p->group_limit) break;
    *keys += more;
  }
  return shard;
}

/* Allocates work[] for the largest group. */
static nay_status partition_make_work(nay_partition *p) {
  uint64_t most = 1, keys;
  for (uint64_t shard = 0; shard < p->nshards;) {
    shard = partition_group_end(p, shard, &keys);
    most = nay__max_u64(most, keys);
  }
  size_t size;
  if (!nay__size_ok(most, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  if (p->work != NULL && p->work_bytes >= size) return NAY_OK;
  nay__free(&p->allocator, p->work, p->work_bytes);
  p->work = nay__alloc(&p->allocator, size);
  if (p->work == NULL) return NAY_ENOMEM;
  p->work_bytes = size;
  return NAY_OK;
}

void nay__partition_rewind(nay_partition *p) { p->group = p->group_end = 0; }

/* Prefix sums: where the shards of a group start in work[], and where each thread writes. */
static void partition_layout(nay_partition *p) {
  uint64_t at = 0;
  for (uint64_t s = p->group; s < p->group_end; s++) {
    p->starts[s] = at;
    p->lens[s] = partition_shard_keys(p, s);
    at += p->lens[s];
    uint64_t cursor = p->starts[s];
    for (unsigned r = 0; r < p->nthreads; r++) {
      p->cursors[r * p->nshards + s] = cursor;
      cursor += p->ranges[r * p->nshards + s];
    }
  }
}

nay_status nay__partition_next(nay_partition *p, bool *more) {
  if (p->group_end == 0 && !p->sorted) NAY_TRY(partition_make_work(p));
  uint64_t keys;
  p->group = p->group_end;
  p->group_end = p->sorted ? p->nshards : partition_group_end(p, p->group, &keys);
  *more = p->group < p->group_end;
  if (!*more) return NAY_OK;
  partition_layout(p);
  if (p->sorted) return NAY_OK;
  p->next = 0;
  p->io = NAY_OK;
  nay__parallel(p->nthreads, partition_scatter_worker, p);
  if (p->dedupe && p->io == NAY_OK) partition_sort(p);
  return p->io;
}

/* ---- distinct ---- */

/* All shards are loaded, sorted and in ascending order: closes the gaps of dropped duplicates. */
static void partition_close_gaps(nay_partition *p) {
  uint64_t at = 0;
  for (uint64_t s = 0; s < p->nshards; s++) {
    memmove(p->work + at, p->work + p->starts[s], (size_t)p->lens[s] * sizeof(uint64_t));
    at += p->lens[s];
  }
  p->sorted = true;
  p->source.n = at;
}

nay_status nay__partition_distinct(nay_partition *p, uint64_t *n) {
  bool more;
  p->dedupe = true;
  *n = 0;
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) break;
    for (uint64_t s = p->group; s < p->group_end; s++) *n += p->lens[s];
    if (nay__partition_whole(p)) {
      partition_close_gaps(p);
      break;
    }
  }
  return NAY_OK;
}

nay_status nay__partition_recount(nay_partition *p) {
  if (p->sorted || !p->dedupe) return NAY_OK;
  bool more;
  memset(p->counts, 0, (size_t)p->nshards * sizeof(uint64_t));
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) return NAY_OK;
    for (uint64_t s = p->group; s < p->group_end; s++) {
      for (uint64_t i = 0; i < p->lens[s]; i++) {
        p->counts[nay__shard_of(p->work[p->starts[s] + i], p->nshards)]++;
      }
    }
  }
}

static uint64_t partition_digest(const uint64_t *x, uint64_t n) {
  uint64_t sum = 0; /* of mixed words, independent of their order */
  for (uint64_t i = 0; i < n; i++) sum += nay_hash_mix(x[i] ^ NAY_G64);
  return sum;
}

/* The sum over all groups, which have no duplicates. */
static nay_status partition_digest_groups(nay_partition *p, uint64_t *sum) {
  bool more;
  *sum = 0;
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) return NAY_OK;
    for (uint64_t s = p->group; s < p->group_end; s++) {
      *sum += partition_digest(p->work + p->starts[s], p->lens[s]);
    }
  }
}

nay_status nay__partition_mix(nay_partition *p, uint64_t mask) {
  uint64_t sum;
  if (p->sorted) {
    sum = partition_digest(p->work, p->source.n); /* counts[] may be older than the sort */
  } else {
    NAY_TRY(partition_digest_groups(p, &sum));
  }
  p->premix = (nay_hash_mix(sum) & mask) | 1; /* not 0, which means none */
  if (!p->sorted) return NAY_OK;
  for (uint64_t i = 0; i < p->source.n; i++) p->work[i] = nay__premix(p->work[i], p->premix);
  nay__sort_u64(p->work, (size_t)p->source.n);
  return NAY_OK;
}
