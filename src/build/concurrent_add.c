/*
 * concurrent_add.c - batches of adds to a filter that takes adds from several threads.
 *
 * An add by itself locks the stripe of its block: a locked exchange, which waits for every earlier
 * store and ends the overlap of cache misses. It costs more than the add. A batch locks regions of
 * the filter instead (os/spin.h), each for 64 keys at a time:
 *
 *   hash --> buffer of its region, 64 hashes --full--> lock the region, add 64 keys, unlock
 *            (prefetches the line of its block)
 *
 * A region is held for some 100 ns. Sixteen threads that add all the time find one in six of the 64
 * regions taken, and wait for half of those 100 ns. Keys of a region keep their order: of a key
 * that is twice in the batch the first one is new.
 */
#include "build/concurrent_add.h"

#include "base/bits.h"
#include "math/plan.h"
#include "os/spin.h"

#define CONCURRENT_BUFFER 64u   /* hashes: a group of the family */
#define CONCURRENT_MIN 512u     /* for fewer keys the locks of regions cost more than stripes */
#define CONCURRENT_MIN_BITS 16u /* the same where a key has bits in many regions */
#define CONCURRENT_PIECE 65536u /* of the batch: places in it have 16 bits */

#define CONCURRENT_BYTES (CONCURRENT_BUFFER * 8)
#define CONCURRENT_HASHES (NAY_NREGIONS * CONCURRENT_BUFFER)

typedef struct concurrent_adds {
  nay_filter *f;
  uint64_t *bitmap;            /* of this piece of the batch, zeroed; NULL: nobody asks */
  uint64_t *end[NAY_NREGIONS]; /* of the hashes in each buffer */
  /* Buffers one after the other, aligned to their size: a full one ends at a multiple of it. */
  uint64_t hashes[CONCURRENT_HASHES] __attribute__((aligned(CONCURRENT_BYTES)));
  uint16_t places[CONCURRENT_HASHES]; /* of the hashes in the piece; only if there is a bitmap */
} concurrent_adds;

static uint64_t *concurrent_buffer(concurrent_adds *a, uint32_t region) {
  return a->hashes + (size_t)region * CONCURRENT_BUFFER;
}

bool nay__concurrent_add_pays(const nay_filter *f, size_t n) {
  const nay_family_bulk *bulk = f->family->bulk;
  if (f->locks == NULL || bulk == NULL) return false;
  return (bulk->add_held != NULL && n >= CONCURRENT_MIN) ||
         (bulk->add_batch != NULL && n >= CONCURRENT_MIN_BITS);
}

static NAY_NOINLINE void concurrent_flush(concurrent_adds *a, uint32_t region) {
  uint64_t *hashes = concurrent_buffer(a, region);
  unsigned n = (unsigned)(a->end[region] - hashes);
  nay__region_lock(a->f->locks, region);
  uint64_t fresh = a->f->family->bulk->add_held(a->f, hashes, n, a->bitmap != NULL);
  nay__region_unlock(a->f->locks, region);
  a->end[region] = hashes;
  if (a->bitmap == NULL) return;
  const uint16_t *places = a->places + (hashes - a->hashes);
  for (; fresh != 0; fresh &= fresh - 1) {
    unsigned place = places[nay__ctz64(fresh)];
    a->bitmap[place / 64] |= (uint64_t)1 << place % 64;
  }
}

/* The conditions are constants of the callers below. */
NAY_INLINE void concurrent_append(concurrent_adds *a, const uint64_t *lo, unsigned n,
                                  unsigned first, bool prefetch, bool report) {
  const uint8_t *bytes = a->f->bits.bytes;
  uint64_t nunits = a->f->shape.nunits;
  unsigned shift = nay__region_shift(nunits);
  for (unsigned i = 0; i < n; i++) {
    uint64_t unit = nay__reduce(lo[i], nunits);
    uint64_t region = unit >> shift, *at = a->end[region];
    if (prefetch) NAY_PREFETCH(bytes + unit * NAY_BLOCK_BYTES);
    if (report) a->places[at - a->hashes] = (uint16_t)(first + i);
    *at++ = lo[i];
    a->end[region] = at;
    if (NAY_UNLIKELY((uintptr_t)at % CONCURRENT_BYTES == 0)) concurrent_flush(a, (uint32_t)region);
  }
}

static void concurrent_append_any(concurrent_adds *a, const uint64_t *lo, unsigned n,
                                  unsigned first) {
  bool report = a->bitmap != NULL;
  if (a->f->bits.in_cache) {
    report ? concurrent_append(a, lo, n, first, false, true)
           : concurrent_append(a, lo, n, first, false, false);
  } else {
    report ? concurrent_append(a, lo, n, first, true, true)
           : concurrent_append(a, lo, n, first, true, false);
  }
}

/* Keys from, from + 1, ... of the input, n of them, at most CONCURRENT_PIECE. */
static void concurrent_add_piece(concurrent_adds *a, const nay_batch_input *in, size_t from,
                                 unsigned n) {
  const nay_filter *f = a->f;
  uint64_t hashes[256];
  if (in->hashed) {
    concurrent_append_any(a, in->lo + from, n, 0);
  } else {
    for (unsigned i = 0; i < n; i += 256) {
      unsigned some = n - i < 256 ? n - i : 256;
      (void)nay__batch_hash(&f->hasher, f->kernels->hash, in, from + i, some, hashes, NULL);
      concurrent_append_any(a, hashes, some, i);
    }
  }
  for (uint32_t region = 0; region < NAY_NREGIONS; region++) {
    if (a->end[region] != concurrent_buffer(a, region)) concurrent_flush(a, region);
  }
}

/* A family that has locks of its own for batches. */
static void concurrent_add_batch(nay_filter *f, const nay_batch_input *in, uint64_t *bitmap) {
  uint64_t hashes[1024];
  if (in->hashed) {
    f->family->bulk->add_batch(f, in->lo, in->n, bitmap);
    return;
  }
  for (size_t i = 0; i < in->n; i += 1024) {
    size_t n = (size_t)nay__min_u64(in->n - i, 1024);
    (void)nay__batch_hash(&f->hasher, f->kernels->hash, in, i, n, hashes, NULL);
    f->family->bulk->add_batch(f, hashes, n, bitmap != NULL ? bitmap + i / 64 : NULL);
  }
}

void nay__concurrent_add(nay_filter *f, const nay_batch_input *in, uint64_t *bitmap) {
  if (f->family->bulk->add_batch != NULL) {
    concurrent_add_batch(f, in, bitmap);
    return;
  }
  concurrent_adds a;
  a.f = f;
  for (uint32_t region = 0; region < NAY_NREGIONS; region++)
    a.end[region] = concurrent_buffer(&a, region);
  for (size_t i = 0; i < in->n; i += CONCURRENT_PIECE) {
    unsigned n = (unsigned)nay__min_u64(in->n - i, CONCURRENT_PIECE);
    a.bitmap = bitmap != NULL ? bitmap + i / 64 : NULL;
    if (a.bitmap != NULL) memset(a.bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
    concurrent_add_piece(&a, in, i, n);
  }
}
