/*
 * partitioned_add.c - adds to a filter larger than the last-level cache (LLC). nay__bulk_strategy
 * decides when.
 *
 * An add at random costs a cache miss, and later the write-back of the line. Bulk adds need not
 * happen in the order of the input, so they are partitioned first (radix partitioning with software
 * write-combining):
 *
 *   hash --> unit, item --shift--> buffer, 256 bytes --full--> queue, 128 KiB --full--> filter
 *                                  in L2                       in memory, written       256 KiB
 *                                                              with non-temporal        in L2
 *                                                              stores
 *
 * A partition covers 256 KiB of the filter. It has a write-combining buffer and a queue of items.
 * An item is the hash (8 bytes) where one unit holds all bits of a key (blocked), or the location
 * of one bit in its partition (4 bytes) where a key sets bits anywhere (bloom).
 *
 * A full queue is applied: the family reads that part of the filter sequentially, at twice the
 * bandwidth of random access, and adds four hashes for each line while the part sits in L2. Queues
 * are written and read sequentially, too.
 *
 * Cost: blocked, 10^8 keys of 10 bits: 4.8 ns/key instead of 6.4. Queues of half the size: 5.4, of
 * a quarter: 6.7. A buffer of 8 hashes instead of 32: 0.8 ns more, since "is it full" is a branch
 * that mispredicts once per buffer. Without non-temporal stores: 1.5 ns more. A filter that fits in
 * the LLC takes hashes faster in the order of the input.
 *
 * Each thread has its own buffers and queues, and locks a partition while it applies a queue; with
 * 500 partitions two threads seldom collide. The queues of all threads take as much memory as the
 * filter, those of a single thread half of it. More than 1,024 buffers would not stay in L2, so
 * larger filters get larger partitions. Threads apply queues in any order: this is for families
 * whose bytes do not depend on the order of adds.
 */
#include "build/partitioned_add.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/stream.h"
#include "math/plan.h"
#include "os/pages.h"
#include "os/spin.h"

#define PARTITION_BYTES ((uint64_t)256 << 10) /* of the filter: a quarter of a usual L2 */
#define PARTITION_MAX 1024u
#define PARTITION_BUFFER 256u /* bytes */

/* The memory of one thread. */
typedef struct partitioner_thread {
  uint8_t *queues, *buffers;
  uint32_t *used; /* bytes of each queue, those in its buffer included */
} partitioner_thread;

struct nay_partitioner {
  nay_filter *f;
  nay_memory memory;
  size_t thread_bytes;
  unsigned npartitions, shift; /* partitions of 2^shift units */
  uint32_t queue_bytes;        /* a multiple of PARTITION_BUFFER */
  uint8_t locks[NAY_LOCK_BYTES];
};

/* A partition has a power of two of units, be they bits (bloom) or blocks. */
static void partitioner_divide(nay_partitioner *p, unsigned nthreads) {
  uint64_t nunits = p->f->shape.nunits, bytes = PARTITION_BYTES;
  while (p->f->nbytes / bytes >= PARTITION_MAX) bytes *= 2;
  uint64_t units = p->f->family->bulk->locate_bits != NULL ? bytes * 8 : bytes / NAY_BLOCK_BYTES;
  while ((uint64_t)1 << p->shift < units) p->shift++;
  p->npartitions = (unsigned)nay__ceil_div(nunits, units);
  p->queue_bytes = (uint32_t)nay__round_up(bytes / (nthreads < 2 ? 2 : nthreads), PARTITION_BUFFER);
}

static nay_status partitioner_allocate(nay_partitioner *p, unsigned nthreads) {
  const nay_allocator *a = &p->f->allocator;
  size_t each = (size_t)p->queue_bytes + PARTITION_BUFFER + sizeof(uint32_t), bytes;
  if (!nay__mul_ok(each, p->npartitions, &p->thread_bytes)) return NAY_ENOMEM;
  p->thread_bytes += NAY_CACHE_LINE - p->thread_bytes % NAY_CACHE_LINE;
  if (!nay__mul_ok(p->thread_bytes, nthreads, &bytes)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(a, bytes, &p->memory));
  if (nay__allocator_is_default(a) && (p->f->flags & NAY_SMALL_PAGES) == 0) {
    nay__pages_want_huge(p->memory.at, bytes);
  }
  return NAY_OK;
}

static partitioner_thread partitioner_thread_at(const nay_partitioner *p, unsigned thread) {
  uint8_t *queues = p->memory.at + thread * p->thread_bytes;
  uint8_t *buffers = queues + (size_t)p->npartitions * p->queue_bytes;
  void *used = buffers + (size_t)p->npartitions * PARTITION_BUFFER;
  return (partitioner_thread){queues, buffers, used};
}

nay_status nay__partitioner_new(nay_filter *f, unsigned nthreads, nay_partitioner **partitioner) {
  nay_partitioner *p = nay__alloc(&f->allocator, sizeof *p);
  if (p == NULL) return NAY_ENOMEM;
  *p = (nay_partitioner){.f = f};
  partitioner_divide(p, nthreads);
  nay_status status = partitioner_allocate(p, nthreads);
  if (status != NAY_OK) {
    nay__free(&f->allocator, p, sizeof *p);
    return status;
  }
  for (unsigned t = 0; t < nthreads; t++) {
    memset(partitioner_thread_at(p, t).used, 0, p->npartitions * sizeof(uint32_t));
  }
  *partitioner = p;
  return NAY_OK;
}

void nay__partitioner_free(nay_partitioner *p) {
  if (p == NULL) return;
  nay_allocator a = p->f->allocator;
  nay__memory_free(&a, &p->memory);
  nay__free(&a, p, sizeof *p);
}

/* The locks of the filter, where others add to it, too: all regions that the partition touches. */
static void partitioner_apply_shared(const nay_partitioner *p, const void *items, size_t nbytes,
                                     uint64_t first, uint64_t count) {
  unsigned shift = nay__region_shift(p->f->shape.nunits);
  uint32_t from = (uint32_t)(first >> shift), to = (uint32_t)((first + count - 1) >> shift);
  for (uint32_t region = from; region <= to; region++) nay__region_lock(p->f->locks, region);
  p->f->family->bulk->add_partition(p->f, items, nbytes, first, count);
  for (uint32_t region = from; region <= to; region++) nay__region_unlock(p->f->locks, region);
}

/* Adds the items of a queue to the filter. */
static void partitioner_apply(nay_partitioner *p, const partitioner_thread *t, uint64_t partition) {
  uint64_t nunits = p->f->shape.nunits, first = partition << p->shift;
  uint64_t count = nay__min_u64((uint64_t)1 << p->shift, nunits - first);
  const uint8_t *items = t->queues + partition * p->queue_bytes;
  if (p->f->locks != NULL) {
    partitioner_apply_shared(p, items, t->used[partition], first, count);
  } else {
    uint8_t *lock = nay__spin_lock(p->locks, nay__stripe_of(partition));
    p->f->family->bulk->add_partition(p->f, items, t->used[partition], first, count);
    nay__spin_unlock(lock);
  }
  t->used[partition] = 0;
}

/* Writes a full buffer to its queue. */
static NAY_NOINLINE void partitioner_flush_buffer(nay_partitioner *p, const partitioner_thread *t,
                                                  uint64_t partition) {
  uint8_t *to = t->queues + partition * p->queue_bytes + t->used[partition] - PARTITION_BUFFER;
  nay__stream(to, t->buffers + partition * PARTITION_BUFFER, PARTITION_BUFFER);
  if (t->used[partition] == p->queue_bytes) partitioner_apply(p, t, partition);
}

NAY_INLINE void partitioner_append(nay_partitioner *p, const partitioner_thread *t,
                                   uint64_t partition, const void *item, size_t size) {
  uint32_t used = t->used[partition];
  memcpy(t->buffers + partition * PARTITION_BUFFER + used % PARTITION_BUFFER, item, size);
  t->used[partition] = used += (uint32_t)size;
  if (used % PARTITION_BUFFER == 0) partitioner_flush_buffer(p, t, partition);
}

static void partitioner_add_hashes(nay_partitioner *p, const partitioner_thread *t,
                                   const uint64_t *hashes, uint64_t n) {
  uint64_t nunits = p->f->shape.nunits;
  unsigned shift = p->shift;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t partition = nay__reduce(hashes[i], nunits) >> shift;
    partitioner_append(p, t, partition, &hashes[i], sizeof hashes[i]);
  }
}

#define PARTITION_HASHES 16u /* whose bits are computed together */

static void partitioner_add_bits(nay_partitioner *p, const partitioner_thread *t,
                                 const uint64_t *hashes, uint64_t n) {
  uint64_t bits[PARTITION_HASHES * NAY_MAX_K], mask = ((uint64_t)1 << p->shift) - 1;
  for (uint64_t i = 0; i < n; i += PARTITION_HASHES) {
    unsigned group = n - i < PARTITION_HASHES ? (unsigned)(n - i) : PARTITION_HASHES;
    p->f->family->bulk->locate_bits(p->f, hashes + i, group, bits);
    for (uint32_t b = 0; b < group * p->f->shape.k; b++) {
      uint32_t item = (uint32_t)(bits[b] & mask);
      partitioner_append(p, t, bits[b] >> p->shift, &item, sizeof item);
    }
  }
}

void nay__partitioner_add(nay_partitioner *p, unsigned thread, const uint64_t *hashes, uint64_t n) {
  partitioner_thread t = partitioner_thread_at(p, thread);
  if (p->f->family->bulk->locate_bits != NULL) {
    partitioner_add_bits(p, &t, hashes, n);
  } else {
    partitioner_add_hashes(p, &t, hashes, n);
  }
}

void nay__partitioner_flush(nay_partitioner *p, unsigned thread) {
  partitioner_thread t = partitioner_thread_at(p, thread);
  for (uint64_t i = 0; i < p->npartitions; i++) {
    uint32_t rest = t.used[i] % PARTITION_BUFFER;
    uint8_t *end = t.queues + i * p->queue_bytes + t.used[i];
    memcpy(end - rest, t.buffers + i * PARTITION_BUFFER, rest);
    if (t.used[i] != 0) partitioner_apply(p, &t, i);
  }
  nay__stream_end();
}
