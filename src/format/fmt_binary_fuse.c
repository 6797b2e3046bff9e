/*
 * fmt_binary_fuse.c - binary fuse filters of FastFilter's xor_singleheader.
 *
 *   binary-fuse8, binary-fuse16                 _serialize
 *     | seed u64 | size u32 | segment u32 | segments u32 | span u32 | cells u32 | cells |
 *   binary-fuse8-packed, binary-fuse16-packed   _pack
 *     | seed u64 | size u32 | bitmap of the cells that are not 0 | those cells |
 *
 * Little-endian. span = segments * segment, cells = span + 2 * segment, segment a power of two.
 * binary_fuse16_serialization_bytes() says 4 bytes more than are written: such a file may end in 4
 * bytes of any value.
 *
 * Graf and Lemire, "Binary Fuse Filters", JEA 2022. Building follows the original step by step, so
 * that the bytes are the same: the order of the queue, the seeds, and what becomes of duplicates.
 */
#include "format/fastfilter.h"
#include "math/elementary.h"

#define FUSE_HEADER 28u
#define FUSE_PACK_HEADER 12u
#define FUSE_AT_SIZE 8u
#define FUSE_AT_SEGMENT 12u
#define FUSE_AT_SEGMENTS 16u
#define FUSE_AT_SPAN 20u
#define FUSE_AT_CELLS 24u
#define FUSE_STRAY 4u /* bytes at the end of a file of 16 bits */
#define FUSE_MAX_SEGMENT 262144u
#define FUSE_MAX_KEYS 3000000000u /* the cells must fit 32 bits */

/* ---- sizes ---- */

typedef struct bfuse_size {
  uint32_t segment, segments;
} bfuse_size;

static uint64_t bfuse_cells(const bfuse_size *s) {
  return ((uint64_t)s->segments + 2) * s->segment;
}

/* Logarithms are those of a good libm: the packed form has no other record of its size. */
static bfuse_size bfuse_size_for(uint64_t n) {
  bfuse_size s = {4, 1};
  if (n == 0) return s;
  double ln_n = nay__ln_nearest((double)n), power = ln_n / nay__ln_nearest(3.33) + 2.25;
  s.segment = power >= 18 ? FUSE_MAX_SEGMENT : (uint32_t)1 << (unsigned)power;
  double factor = n == 1 ? 0 : 0.875 + 0.25 * nay__ln_nearest(1000000.0) / ln_n;
  if (factor < 1.125) factor = 1.125;
  uint64_t capacity = n <= 1 ? 0 : (uint64_t)((double)n * factor + 0.5);
  uint64_t segments = nay__ceil_div(capacity, s.segment);
  s.segments = segments <= 2 ? 1 : (uint32_t)(segments - 2);
  return s;
}

static nay_status bfuse_shape(uint64_t n, unsigned bits, nay_diag *diag, nay_shape *shape) {
  if (n > FUSE_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: this layout has at most 3,000,000,000", 0);
  }
  bfuse_size s = bfuse_size_for(n);
  *shape = (nay_shape){bfuse_cells(&s), 3, bits};
  return NAY_OK;
}

static void bfuse_store_header(uint8_t *to, uint64_t seed, uint64_t n, const bfuse_size *s) {
  nay__store64le(to, seed);
  nay__store32le(to + FUSE_AT_SIZE, (uint32_t)n);
  nay__store32le(to + FUSE_AT_SEGMENT, s->segment);
  nay__store32le(to + FUSE_AT_SEGMENTS, s->segments);
  nay__store32le(to + FUSE_AT_SPAN, s->segments * s->segment);
  nay__store32le(to + FUSE_AT_CELLS, (uint32_t)bfuse_cells(s));
}

static nay_status bfuse_unpack_header(const uint8_t *bytes, unsigned bits, nay_diag *diag,
                                      uint8_t *dst, uint64_t *ncells) {
  (void)bits;
  uint64_t n = nay__load32le(bytes + FUSE_AT_SIZE);
  if (n > FUSE_MAX_KEYS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of keys is above 3,000,000,000", FUSE_AT_SIZE);
  }
  bfuse_size s = bfuse_size_for(n);
  *ncells = bfuse_cells(&s);
  if (dst != NULL) bfuse_store_header(dst, nay__load64le(bytes), n, &s);
  return NAY_OK;
}

/* ---- reading ---- */

/* Whether the numbers agree with each other; *ncells is what they say. */
static bool bfuse_header_holds(const uint8_t *bytes, uint64_t *ncells) {
  uint64_t segment = nay__load32le(bytes + FUSE_AT_SEGMENT),
           segments = nay__load32le(bytes + FUSE_AT_SEGMENTS),
           span = nay__load32le(bytes + FUSE_AT_SPAN);
  *ncells = nay__load32le(bytes + FUSE_AT_CELLS);
  bool power = segment != 0 && (segment & (segment - 1)) == 0 && segment <= FUSE_MAX_SEGMENT;
  return power && segments != 0 && span == segments * segment && *ncells == span + 2 * segment;
}

static nay_status bfuse_parse(const uint8_t *bytes, size_t len, unsigned bits, nay_diag *diag,
                              nay_shape *shape, nay_span *payload) {
  uint64_t ncells;
  if (len < FUSE_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  if (!bfuse_header_holds(bytes, &ncells)) {
    return nay__fail(diag, NAY_ECORRUPT, "the lengths of the header contradict each other",
                     FUSE_AT_SEGMENT);
  }
  uint64_t rest = len - FUSE_HEADER, need = ncells * (bits / 8);
  if (rest != need && !(bits == 16 && rest == need + FUSE_STRAY)) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of cells does not fit the length",
                     FUSE_AT_CELLS);
  }
  *shape = (nay_shape){ncells, 3, bits};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, FUSE_HEADER + (size_t)need};
  return NAY_OK;
}

static bool bfuse_fits(const uint8_t *head, size_t nhead, uint64_t len, unsigned bits) {
  uint64_t ncells;
  if (nhead < FUSE_HEADER || !bfuse_header_holds(head, &ncells)) return false;
  uint64_t whole = FUSE_HEADER + ncells * (bits / 8);
  return len == whole || (bits == 16 && len == whole + FUSE_STRAY);
}

/* ---- the layout ---- */

static nay_fast_places bfuse_places_in(uint64_t segment, uint64_t span, uint64_t h) {
  uint64_t a = nay__mulhi(h, span);
  return (nay_fast_places){
      {a, (a + segment) ^ (h >> 18 & (segment - 1)), (a + 2 * segment) ^ (h & (segment - 1))}};
}

static nay_fast_places bfuse_places(const nay_filter *f, uint64_t h) {
  const uint8_t *p = f->bits.bytes;
  return bfuse_places_in(nay__load32le(p + FUSE_AT_SEGMENT), nay__load32le(p + FUSE_AT_SPAN), h);
}

static uint64_t bfuse_unit_cells(const nay_filter *f) {
  return nay__load32le(f->bits.bytes + FUSE_AT_SEGMENT);
}

static uint64_t bfuse_nkeys(const nay_shape *shape, const uint8_t *bytes) {
  (void)shape;
  return nay__load32le(bytes + FUSE_AT_SIZE);
}

/* A key sets one cell. */
static uint64_t bfuse_most_used(const uint8_t *packed) {
  return nay__load32le(packed + FUSE_AT_SIZE);
}

static const nay_fast_layout bfuse_layout = {
    .header = FUSE_HEADER,
    .pack_header = FUSE_PACK_HEADER,
    .unit = "segment",
    .unit_cells = bfuse_unit_cells,
    .places = bfuse_places,
    .nkeys = bfuse_nkeys,
    .most_used = bfuse_most_used,
    .unpack_header = bfuse_unpack_header,
};
NAY_FAST_VERBS(bfuse, bfuse_layout)

/* ---- building ---- */

typedef struct bfuse_work {
  uint64_t *keys;     /* [n] */
  uint64_t *order;    /* [n + 1]: hashes by segment; then the stack */
  uint64_t *sums;     /* [cells]: xor of the hashes that use a cell */
  uint32_t *alone;    /* [cells]: the queue of cells with one key */
  uint32_t *start;    /* [1 << block_bits] */
  uint8_t *counts;    /* [cells]: keys, times 4, and the xor of their roles, 0 to 2 */
  uint8_t *roles;     /* [n]: of the stack: which of its places a key owns */
  size_t n, nstacked; /* keys, and those of the stack */
  uint64_t ncells, segment, span, seed;
  unsigned block_bits;
} bfuse_work;

static nay_fast_places bfuse_of(const bfuse_work *b, uint64_t h) {
  return bfuse_places_in(b->segment, b->span, h);
}

/* Memory beside the keys, in one piece. */
static nay_status bfuse_reserve(bfuse_work *b, const nay_allocator *allocator, nay_memory *memory) {
  size_t nstart = (size_t)1 << b->block_bits, ncells = (size_t)b->ncells;
  size_t nbytes = (b->n + 1 + ncells) * 8 + (ncells + nstart) * 4 + ncells + b->n;
  NAY_TRY(nay__memory_raw(allocator, nbytes, memory));
  b->order = (uint64_t *)(void *)memory->at;
  b->sums = b->order + b->n + 1;
  b->alone = (uint32_t *)(void *)(b->sums + ncells);
  b->start = b->alone + ncells;
  b->counts = (uint8_t *)(b->start + nstart);
  b->roles = b->counts + ncells;
  return NAY_OK;
}

/* The hashes by the block that their highest bits say: cells are then read nearly in sequence. */
static void bfuse_arrange(bfuse_work *b) {
  size_t nblocks = (size_t)1 << b->block_bits;
  memset(b->order, 0, b->n * sizeof *b->order);
  b->order[b->n] = 1;
  for (size_t i = 0; i < nblocks; i++) {
    b->start[i] = (uint32_t)((uint64_t)i * b->n >> b->block_bits);
  }
  for (size_t i = 0; i < b->n; i++) {
    uint64_t h = nay__fast_mix(b->keys[i], b->seed), block = h >> (64 - b->block_bits);
    while (b->order[b->start[block]] != 0) block = (block + 1) & (nblocks - 1);
    b->order[b->start[block]++] = h;
  }
}

static void bfuse_toggle(bfuse_work *b, const nay_fast_places *p, uint64_t h, int by) {
  for (unsigned role = 0; role < 3; role++) {
    uint8_t *count = &b->counts[p->at[role]];
    *count = (uint8_t)((*count + 4 * by) ^ (int)role);
    b->sums[p->at[role]] ^= h;
  }
}

/* A copy of a key: one of its cells has two keys, and their hashes cancel out. */
static bool bfuse_is_copy(const bfuse_work *b, const nay_fast_places *p) {
  uint64_t common = ~(uint64_t)0;
  bool twice = false;
  for (unsigned i = 0; i < 3; i++) {
    common &= b->sums[p->at[i]];
    twice |= b->sums[p->at[i]] == 0 && b->counts[p->at[i]] == 8;
  }
  return common == 0 && twice;
}

/* Counts all keys into their cells. false: one cell has 64, more than its count can tell. */
static bool bfuse_count(bfuse_work *b, size_t *ncopies) {
  bool fits = true;
  memset(b->counts, 0, (size_t)b->ncells);
  memset(b->sums, 0, (size_t)b->ncells * sizeof *b->sums);
  *ncopies = 0;
  for (size_t i = 0; i < b->n; i++) {
    uint64_t h = b->order[i];
    nay_fast_places p = bfuse_of(b, h);
    bfuse_toggle(b, &p, h, 1);
    if (bfuse_is_copy(b, &p)) {
      bfuse_toggle(b, &p, h, -1);
      ++*ncopies;
    }
    for (unsigned j = 0; j < 3; j++) fits &= b->counts[p.at[j]] >= 4;
  }
  return fits;
}

/* Stacks each key that has a cell of its own, and takes it away. */
static void bfuse_peel(bfuse_work *b) {
  size_t nalone = 0;
  b->nstacked = 0;
  for (uint64_t i = 0; i < b->ncells; i++) {
    if (b->counts[i] >> 2 == 1) b->alone[nalone++] = (uint32_t)i;
  }
  while (nalone > 0) {
    uint32_t cell = b->alone[--nalone];
    if (b->counts[cell] >> 2 != 1) continue;
    uint64_t h = b->sums[cell];
    unsigned own = b->counts[cell] & 3;
    nay_fast_places p = bfuse_of(b, h);
    b->roles[b->nstacked] = (uint8_t)own;
    b->order[b->nstacked++] = h;
    for (unsigned i = 1; i < 3; i++) {
      unsigned role = (own + i) % 3;
      uint64_t other = p.at[role];
      if (b->counts[other] >> 2 == 2) b->alone[nalone++] = (uint32_t)other;
      b->counts[other] = (uint8_t)((b->counts[other] - 4) ^ role);
      b->sums[other] ^= h;
    }
  }
}

/* One seed after the other, until all keys are on the stack. */
static bool bfuse_try(bfuse_work *b, uint64_t *state) {
  for (unsigned try = 0; try < NAY_FAST_TRIES; try++) {
    size_t ncopies;
    b->seed = nay__fast_next_seed(state);
    bfuse_arrange(b);
    if (!bfuse_count(b, &ncopies)) continue;
    bfuse_peel(b);
    if (b->nstacked + ncopies == b->n) return true;
    if (ncopies != 0) b->n = nay__fast_drop_copies(b->keys, b->n, b->order);
  }
  return false;
}

/* Where copies that the original misses make it fail, it goes on here without them. */
static bool bfuse_solve(bfuse_work *b) {
  uint64_t state = 0x726b2b9d438b9d4du;
  if (bfuse_try(b, &state)) return true;
  nay__sort_u64(b->keys, b->n);
  b->n = nay__unique_u64(b->keys, b->n);
  return bfuse_try(b, &state);
}

static void bfuse_fill(const bfuse_work *b, unsigned bits, uint8_t *cells) {
  for (size_t i = b->nstacked; i-- > 0;) {
    uint64_t h = b->order[i];
    nay_fast_places p = bfuse_of(b, h);
    unsigned own = b->roles[i];
    uint32_t value = nay__fast_fingerprint(h, bits) ^
                     nay__fast_cell(cells, p.at[(own + 1) % 3], bits) ^
                     nay__fast_cell(cells, p.at[(own + 2) % 3], bits);
    nay__fast_set_cell(cells, p.at[own], bits, value);
  }
}

static nay_status bfuse_build(nay_filter *f, uint64_t *keys, size_t n, nay_diag *diag) {
  nay_memory memory;
  bfuse_size size = bfuse_size_for(n);
  bfuse_work b = {.keys = keys,
                  .n = n,
                  .ncells = f->shape.nunits,
                  .segment = size.segment,
                  .span = (uint64_t)size.segment * size.segments,
                  .block_bits = 1};
  while ((uint32_t)1 << b.block_bits < size.segments) b.block_bits++;
  if (bfuse_reserve(&b, &f->allocator, &memory) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory to build, some 30 bytes for each key", 0);
  }
  bool solved = bfuse_solve(&b);
  if (solved) {
    bfuse_store_header(f->bits.bytes, b.seed, n, &size);
    bfuse_fill(&b, nay__fast_bits(&f->shape), f->bits.bytes + FUSE_HEADER);
  }
  nay__memory_free(&f->allocator, &memory);
  return solved ? NAY_OK
                : nay__fail(diag, NAY_EFULL, "none of the 100 seeds of this layout works", 0);
}

NAY_FAST_WIDTH(bfuse, bfuse_layout, 8, NAY_FUSE, "binary-fuse")
NAY_FAST_WIDTH(bfuse, bfuse_layout, 16, NAY_FUSE, "binary-fuse")

const nay_format nay__format_binary_fuse8 = {
    .name = "binary-fuse8",
    .about = "the binary fuse filter of xor_singleheader, 8 bits",
    NAY_FAST_PLAIN(bfuse, 8),
};

const nay_format nay__format_binary_fuse8_packed = {
    .name = "binary-fuse8-packed",
    .about = "the binary fuse filter of xor_singleheader, 8 bits, packed",
    NAY_FAST_PACKED(bfuse, 8),
};

const nay_format nay__format_binary_fuse16 = {
    .name = "binary-fuse16",
    .about = "the binary fuse filter of xor_singleheader, 16 bits",
    NAY_FAST_PLAIN(bfuse, 16),
};

const nay_format nay__format_binary_fuse16_packed = {
    .name = "binary-fuse16-packed",
    .about = "the binary fuse filter of xor_singleheader, 16 bits, packed",
    NAY_FAST_PACKED(bfuse, 16),
};
