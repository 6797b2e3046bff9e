/*
 * fmt_xor_filter.c - xor filters of FastFilter's xor_singleheader.
 *
 *   xor8, xor16                  _serialize  | seed u64 | third u64 | cells |
 *   xor8-packed, xor16-packed    _pack       | seed u64 | third u64 | bitmap | cells that are not 0
 * |
 *
 * Little-endian; 3 * third cells, third = trunc(32 + 1.23 n) / 3 for n keys. The number of keys is
 * not stated: it is at most what this allows. The original does not initialise its cells, so that
 * those of no key hold what memory held; here they are 0.
 *
 * Graf and Lemire, "Xor Filters", JEA 2020. Building follows the original step by step, so that the
 * bytes are the same.
 */
#include "format/fastfilter.h"

#define XOR_HEADER 16u
#define XOR_AT_THIRD 8u
#define XOR_SORTS 10u /* the try at which the original looks for copies */
#define XOR_MAX_KEYS 3000000000u

/* ---- sizes ---- */

static uint64_t xorf_third(uint64_t n) { return (uint64_t)(32 + 1.23 * (double)n) / 3; }

static nay_status xorf_shape(uint64_t n, unsigned bits, nay_diag *diag, nay_shape *shape) {
  if (n > XOR_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: this layout has at most 3,000,000,000", 0);
  }
  *shape = (nay_shape){3 * xorf_third(n), 3, bits};
  return NAY_OK;
}

/* The most keys that are laid out so. */
static uint64_t xorf_nkeys(const nay_shape *shape, const uint8_t *bytes) {
  (void)bytes;
  uint64_t third = shape->nunits / 3;
  double most = (3 * (double)third + 3 - 32) / 1.23;
  uint64_t n = most > 0 ? (uint64_t)most : 0;
  while (n > 0 && xorf_third(n) > third) n--;
  while (xorf_third(n + 1) <= third) n++;
  return n;
}

/* ---- reading ---- */

static nay_status xorf_unpack_header(const uint8_t *bytes, unsigned bits, nay_diag *diag,
                                     uint8_t *dst, uint64_t *ncells) {
  (void)bits;
  uint64_t third = nay__load64le(bytes + XOR_AT_THIRD);
  if (third == 0 || third > UINT32_MAX) {
    return nay__fail(diag, NAY_ECORRUPT, "a third is not of 1 to 2^32 - 1 cells", XOR_AT_THIRD);
  }
  *ncells = 3 * third;
  if (dst != NULL) memcpy(dst, bytes, XOR_HEADER);
  return NAY_OK;
}

static nay_status xorf_parse(const uint8_t *bytes, size_t len, unsigned bits, nay_diag *diag,
                             nay_shape *shape, nay_span *payload) {
  uint64_t ncells;
  if (len < XOR_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  NAY_TRY(xorf_unpack_header(bytes, bits, diag, NULL, &ncells));
  if (len - XOR_HEADER != ncells * (bits / 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of cells does not fit the length",
                     XOR_AT_THIRD);
  }
  *shape = (nay_shape){ncells, 3, bits};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  return NAY_OK;
}

static bool xorf_fits(const uint8_t *head, size_t nhead, uint64_t len, unsigned bits) {
  uint64_t ncells;
  return nhead >= XOR_HEADER && xorf_unpack_header(head, bits, NULL, NULL, &ncells) == NAY_OK &&
         len == XOR_HEADER + ncells * (bits / 8);
}

/* ---- the layout ---- */

static nay_fast_places xorf_places_in(uint64_t third, uint64_t h) {
  uint64_t a = (uint32_t)h, b = (uint32_t)nay__rotl64(h, 21), c = (uint32_t)nay__rotl64(h, 42);
  return (nay_fast_places){
      {a * third >> 32, third + (b * third >> 32), 2 * third + (c * third >> 32)}};
}

static nay_fast_places xorf_places(const nay_filter *f, uint64_t h) {
  return xorf_places_in(nay__load64le(f->bits.bytes + XOR_AT_THIRD), h);
}

static uint64_t xorf_unit_cells(const nay_filter *f) {
  return nay__load64le(f->bits.bytes + XOR_AT_THIRD);
}

static const nay_fast_layout xorf_layout = {
    .header = XOR_HEADER,
    .pack_header = XOR_HEADER,
    .unit = "third",
    .unit_cells = xorf_unit_cells,
    .places = xorf_places,
    .nkeys = xorf_nkeys,
    .unpack_header = xorf_unpack_header,
};
NAY_FAST_VERBS(xorf, xorf_layout)

/* ---- building ---- */

/* xorf_entry: a cell with one key, and that key's hash. */
typedef struct xorf_entry {
  uint64_t cell, hash;
} xorf_entry;

typedef struct xorf_cell {
  uint64_t sum;
  uint64_t count;
} xorf_cell;

typedef struct xorf_work {
  uint64_t *keys;    /* [n] */
  xorf_cell *cells;  /* [3 * third] */
  xorf_entry *queue; /* [3 * third]: a queue for each third */
  xorf_entry *stack; /* [n] */
  size_t n, nstacked, nqueued[3];
  uint64_t third, seed;
} xorf_work;

static void xorf_push(xorf_work *b, uint64_t cell) {
  unsigned q = (unsigned)(cell / b->third);
  b->queue[q * b->third + b->nqueued[q]++] = (xorf_entry){cell, b->cells[cell].sum};
}

static void xorf_count(xorf_work *b) {
  memset(b->cells, 0, (size_t)(3 * b->third) * sizeof *b->cells);
  for (size_t i = 0; i < b->n; i++) {
    uint64_t h = nay__fast_mix(b->keys[i], b->seed);
    nay_fast_places p = xorf_places_in(b->third, h);
    for (unsigned j = 0; j < 3; j++) {
      b->cells[p.at[j]].sum ^= h;
      b->cells[p.at[j]].count++;
    }
  }
}

/* Takes a key away from the cells of the other two thirds. */
static void xorf_take(xorf_work *b, const xorf_entry *e, unsigned q) {
  nay_fast_places p = xorf_places_in(b->third, e->hash);
  b->stack[b->nstacked++] = *e;
  for (unsigned j = 0; j < 3; j++) {
    xorf_cell *cell = &b->cells[p.at[j]];
    if (j == q) continue;
    cell->sum ^= e->hash;
    if (--cell->count == 1) xorf_push(b, p.at[j]);
  }
}

static void xorf_peel(xorf_work *b) {
  b->nstacked = b->nqueued[0] = b->nqueued[1] = b->nqueued[2] = 0;
  for (uint64_t i = 0; i < 3 * b->third; i++) {
    if (b->cells[i].count == 1) xorf_push(b, i);
  }
  while (b->nqueued[0] + b->nqueued[1] + b->nqueued[2] > 0) {
    for (unsigned q = 0; q < 3; q++) {
      while (b->nqueued[q] > 0) {
        xorf_entry e = b->queue[q * b->third + --b->nqueued[q]];
        if (b->cells[e.cell].count != 0) xorf_take(b, &e, q);
      }
    }
  }
}

static bool xorf_try(xorf_work *b, uint64_t *state) {
  for (unsigned try = 1; try <= NAY_FAST_TRIES; try++) {
    b->seed = nay__fast_next_seed(state);
    if (try == XOR_SORTS) {
      b->n = nay__fast_drop_copies(b->keys, b->n, (uint64_t *)(void *)b->cells);
    }
    xorf_count(b);
    xorf_peel(b);
    if (b->nstacked == b->n) return true;
  }
  return false;
}

/* Where copies that the original misses make it fail, it goes on here without them. */
static bool xorf_solve(xorf_work *b) {
  uint64_t state = 1;
  if (xorf_try(b, &state)) return true;
  nay__sort_u64(b->keys, b->n);
  b->n = nay__unique_u64(b->keys, b->n);
  return xorf_try(b, &state);
}

static void xorf_fill(const xorf_work *b, unsigned bits, uint8_t *cells) {
  for (size_t i = b->nstacked; i-- > 0;) {
    const xorf_entry *e = &b->stack[i];
    nay_fast_places p = xorf_places_in(b->third, e->hash);
    uint32_t value = nay__fast_fingerprint(e->hash, bits);
    for (unsigned j = 0; j < 3; j++) {
      if (p.at[j] != e->cell) value ^= nay__fast_cell(cells, p.at[j], bits);
    }
    nay__fast_set_cell(cells, e->cell, bits, value);
  }
}

static nay_status xorf_build(nay_filter *f, uint64_t *keys, size_t n, nay_diag *diag) {
  nay_memory memory;
  size_t ncells = (size_t)f->shape.nunits;
  size_t nbytes = ncells * (sizeof(xorf_cell) + sizeof(xorf_entry)) + n * sizeof(xorf_entry);
  xorf_work b = {.keys = keys, .n = n, .third = f->shape.nunits / 3};
  if (nay__memory_raw(&f->allocator, nbytes, &memory) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory to build, some 60 bytes for each key", 0);
  }
  b.cells = (xorf_cell *)(void *)memory.at;
  b.queue = (xorf_entry *)(void *)(b.cells + ncells);
  b.stack = b.queue + ncells;
  bool solved = xorf_solve(&b);
  if (solved) {
    nay__store64le(f->bits.bytes, b.seed);
    nay__store64le(f->bits.bytes + XOR_AT_THIRD, b.third);
    xorf_fill(&b, nay__fast_bits(&f->shape), f->bits.bytes + XOR_HEADER);
  }
  nay__memory_free(&f->allocator, &memory);
  return solved ? NAY_OK
                : nay__fail(diag, NAY_EFULL, "none of the 100 seeds of this layout works", 0);
}

NAY_FAST_WIDTH(xorf, xorf_layout, 8, NAY_XOR, "xor")
NAY_FAST_WIDTH(xorf, xorf_layout, 16, NAY_XOR, "xor")

const nay_format nay__format_xor8 = {
    .name = "xor8",
    .about = "the xor filter of xor_singleheader, 8 bits",
    NAY_FAST_PLAIN(xorf, 8),
};

const nay_format nay__format_xor8_packed = {
    .name = "xor8-packed",
    .about = "the xor filter of xor_singleheader, 8 bits, packed",
    NAY_FAST_PACKED(xorf, 8),
};

const nay_format nay__format_xor16 = {
    .name = "xor16",
    .about = "the xor filter of xor_singleheader, 16 bits",
    NAY_FAST_PLAIN(xorf, 16),
};

const nay_format nay__format_xor16_packed = {
    .name = "xor16-packed",
    .about = "the xor filter of xor_singleheader, 16 bits, packed",
    NAY_FAST_PACKED(xorf, 16),
};
