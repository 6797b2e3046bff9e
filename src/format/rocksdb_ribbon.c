/*
 * rocksdb_ribbon.c - RocksDB's ribbon filter (Standard128Ribbon): probing it, and making the bytes
 * that RocksDB would make.
 *
 *   | block 0 | block 1 | ... | block B-1 | fe | seed u8 | B u24 |
 *
 * A block is 128 slots, stored by columns of 16 bytes, as in our own ribbon family (ribbon.h): the
 * first `lower` blocks have a column less than the others. A key is an equation over the 128 slots
 * from `start` on, for each column: the xor of those that its coefficients choose is its result.
 *
 * What RocksDB makes depends on the order of the keys in one thing: the first hash draws the first
 * seed and rounds the size. A small set becomes a Bloom filter when that has fewer bytes, and so
 * does one for which no seed works. Which rows of the band are taken does not depend on the order,
 * nor does the solution, so any order of elimination gives RocksDB's bytes.
 *
 * shape: nunits segments, k columns of the wider blocks, `extra` the number of blocks. A plan, made
 * before the first hash is known, may be a block off, and says RIBBON_AS_BLOOM for a small set.
 *
 * Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and xor. 2021.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "build/hash_source.h"
#include "build/threaded_add.h"
#include "family/explain.h"
#include "format/classic.h"
#include "format/rocksdb.h"
#include "math/elementary.h"

#define RIBBON_WIDTH 128u
#define RIBBON_SEGMENT 16u
#define RIBBON_MAX_COLUMNS 32u
#define RIBBON_MAX_KEYS 950000000u /* more are a Bloom filter */
#define RIBBON_SMALL_SLOTS 1024u   /* fewer may be one */
#define RIBBON_SEEDS 256u
#define RIBBON_AS_BLOOM 0x40000000u
#define RIBBON_AHEAD 12u /* equations whose rows are fetched before their turn */

/* ---- sizes: RocksDB's, in its order of operations ---- */

/* The most keys that 2^l slots take, so that one seed in twenty fails. Measured by RocksDB. */
static double rocksdb_ribbon_keys_of(unsigned l) {
  static const double keys[] = {248.851, 499.532, 1001.26, 2003.97, 4005.59,
                                8000.39, 15966.6, 31828.1, 63447.3, 126506};
  if (l < 8) return 0;
  if (l < 18) return keys[l - 8];
  return (double)((uint64_t)1 << l) / (131072 / keys[9] - 17 * 0.0038 + l * 0.0038);
}

static double rocksdb_ribbon_slots_of(double nkeys) {
  unsigned l = (unsigned)(nay__ln(nkeys) * 1.4426950409 + 0.5);
  if (l == 0 || rocksdb_ribbon_keys_of(l) == 0) return 256;
  if (nkeys < rocksdb_ribbon_keys_of(l)) l--;
  double low = rocksdb_ribbon_keys_of(l), high = rocksdb_ribbon_keys_of(l + 1),
         power = (double)((uint64_t)1 << l);
  return (nkeys - low) / (high - low) * power + power;
}

static uint64_t rocksdb_ribbon_blocks_of(uint64_t nkeys) {
  uint64_t slots = (uint64_t)(rocksdb_ribbon_slots_of((double)nkeys) + 0.999999999);
  return nay__max_u64(2, nay__ceil_div(slots, RIBBON_WIDTH));
}

/* The FPR of a cache-local Bloom filter by RocksDB's estimate: the mean of a line with a standard
 * deviation more keys than the mean and one with a deviation fewer. A ribbon gets the same FPR. */
double nay__rocksdb_ribbon_rate(double bits_per_key) {
  uint32_t k = nay__rocksdb_probes(nay__rocksdb_millibits(bits_per_key));
  double keys = 512 / bits_per_key, deviation = nay__sqrt(keys), sum = 0;
  for (int sign = 1; sign >= -1; sign -= 2) {
    double bits = 512 / (keys + sign * deviation);
    sum += nay__ipow(1 - nay__exp(-(double)k / bits), k);
  }
  return sum / 2;
}

typedef struct rocksdb_ribbon_size {
  uint64_t nblocks, nsegments;
} rocksdb_ribbon_size;

/* Segments for an FPR between 2^-(c+1) and 2^-c: some blocks get c columns, the others c + 1. */
static rocksdb_ribbon_size rocksdb_ribbon_size_of(uint64_t nkeys, double bits_per_key,
                                                  uint64_t first_hash) {
  rocksdb_ribbon_size size = {.nblocks = rocksdb_ribbon_blocks_of(nkeys)};
  double one_in = 1 / nay__rocksdb_ribbon_rate(bits_per_key);
  if (one_in > 4294967295.0) { /* all 32 columns */
    size.nsegments = size.nblocks * RIBBON_MAX_COLUMNS;
    return size;
  }
  unsigned c = 0;
  while (c < 31 && (uint64_t)one_in >> (c + 1) != 0) c++;
  double upper = 1.0 / (double)((uint64_t)1 << c), lower = upper / 2;
  double share = (1 / one_in - lower) / (upper - lower);
  double starts = (double)(size.nblocks * RIBBON_WIDTH - (RIBBON_WIDTH - 1));
  double rounding = ((double)(first_hash >> 32) + 0.5) / 4294967296.0;
  uint64_t short_blocks = (uint64_t)((share * starts + rounding) / RIBBON_WIDTH);
  size.nsegments = size.nblocks * (c + 1) - nay__min_u64(short_blocks, size.nblocks);
  return size;
}

/* Whether RocksDB makes a Bloom filter of so many keys; its shape then. */
static bool rocksdb_ribbon_is_bloom(uint64_t nkeys, double bits_per_key,
                                    const rocksdb_ribbon_size *size, nay_shape *bloom) {
  bool many = nkeys > RIBBON_MAX_KEYS;
  bool small = size->nblocks * RIBBON_WIDTH < RIBBON_SMALL_SLOTS;
  if (!many && !small) return false;
  if (nay__rocksdb_bloom_plan(nkeys, bits_per_key, NULL, bloom) != NAY_OK) return false;
  return many || bloom->nunits * 64 < size->nsegments * RIBBON_SEGMENT;
}

static nay_shape rocksdb_ribbon_shape_of(const rocksdb_ribbon_size *size) {
  uint32_t columns = (uint32_t)nay__ceil_div(size->nsegments, size->nblocks);
  return (nay_shape){size->nsegments, columns, (uint32_t)size->nblocks};
}

nay_status nay__rocksdb_ribbon_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                    nay_shape *shape) {
  nay_shape planned;
  NAY_TRY(nay__rocksdb_bloom_plan(nkeys, bits_per_key, diag, &planned)); /* the same limits */
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  if (nkeys == 0) {
    planned = (nay_shape){.nunits = 0};
  } else {
    rocksdb_ribbon_size size = rocksdb_ribbon_size_of(nay__min_u64(nkeys, RIBBON_MAX_KEYS),
                                                      bits_per_key, (uint64_t)1 << 63);
    if (rocksdb_ribbon_is_bloom(nkeys, bits_per_key, &size, &planned)) {
      planned.extra |= RIBBON_AS_BLOOM;
    } else {
      planned = rocksdb_ribbon_shape_of(&size);
    }
  }
  *shape = planned;
  return NAY_OK;
}

static nay_shape rocksdb_ribbon_as_bloom(const nay_shape *shape) {
  return (nay_shape){shape->nunits, shape->k, shape->extra & ~RIBBON_AS_BLOOM};
}

static bool rocksdb_ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  nay_shape bloom = rocksdb_ribbon_as_bloom(shape);
  if ((shape->extra & RIBBON_AS_BLOOM) != 0) {
    return nay__family_rocksdb_bloom.payload(&bloom, nbits, nbytes);
  }
  *nbits = shape->nunits * RIBBON_WIDTH;
  *nbytes = shape->nunits == 0 ? 0 : shape->nunits * RIBBON_SEGMENT + NAY_ROCKSDB_TRAILER;
  return true;
}

/* ---- the filter, unpacked ---- */

typedef struct rocksdb_ribbon {
  uint64_t starts, short_blocks;
  uint32_t columns;
  uint32_t raw_seed;
} rocksdb_ribbon;

static uint32_t rocksdb_ribbon_raw_seed(uint8_t ordinal) {
  uint64_t t = ordinal * 0xc78219a23eeadd03u;
  return (uint32_t)(t ^ (t & 0xf0f0f0f0f0f0f0f0u) >> 4);
}

static rocksdb_ribbon rocksdb_ribbon_of(const nay_shape *shape, uint8_t ordinal) {
  uint64_t nblocks = shape->extra;
  return (rocksdb_ribbon){nblocks * RIBBON_WIDTH - (RIBBON_WIDTH - 1),
                          nblocks * shape->k - shape->nunits, shape->k,
                          rocksdb_ribbon_raw_seed(ordinal)};
}

static uint8_t rocksdb_ribbon_ordinal(const nay_filter *f) { return f->bits.bytes[f->nbytes - 4]; }

nay_shape nay__rocksdb_ribbon_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t nblocks = nay__load32le(trailer + 1) >> 8;
  uint64_t nsegments = (len - NAY_ROCKSDB_TRAILER) / RIBBON_SEGMENT;
  if (nblocks < 2 || nsegments == 0) return (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
  return rocksdb_ribbon_shape_of(
      &(rocksdb_ribbon_size){nblocks, nay__min_u64(nsegments, nblocks * RIBBON_MAX_COLUMNS)});
}

/* The FPR: a block with a column less has twice the FPR. */
static double rocksdb_ribbon_fpr(const nay_shape *shape, uint64_t nkeys) {
  if ((shape->extra & NAY_ROCKSDB_MAYBE) != 0) return 1;
  if (shape->nunits == 0) return 0;
  if ((shape->extra & RIBBON_AS_BLOOM) != 0) {
    nay_shape bloom = rocksdb_ribbon_as_bloom(shape);
    return nay__family_rocksdb_bloom.fpr(&bloom, nkeys);
  }
  double nblocks = shape->extra, narrow = nblocks * shape->k - (double)shape->nunits;
  return (1 + narrow / nblocks) * nay__ipow(0.5, shape->k);
}

/* How many keys a filter of so many blocks was made for: the middle of those that give it. */
static double rocksdb_ribbon_estimate(uint64_t nblocks) {
  double slots = (double)(nblocks * RIBBON_WIDTH) - RIBBON_WIDTH / 2, low = 1, high = slots;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    if (rocksdb_ribbon_slots_of(middle) < slots) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

static void rocksdb_ribbon_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                                  nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  uint64_t nbits = a->shape.nunits * RIBBON_WIDTH;
  nay_census c = {.nbits = nbits, .nbits_set = nbits, .fpr = rocksdb_ribbon_fpr(&a->shape, 0)};
  if (a->shape.nunits != 0) {
    c.keys.nkeys = a->nkeys != 0 ? (double)a->nkeys : rocksdb_ribbon_estimate(a->shape.extra);
  }
  *census = c;
}

/* ---- the equation of a key ---- */

typedef struct rocksdb_ribbon_row {
  uint64_t lo, hi; /* coefficients; bit 0 of lo is set. Both 0: an empty row */
  uint32_t result;
} rocksdb_ribbon_row;

static uint64_t rocksdb_ribbon_rehash(const rocksdb_ribbon *r, uint64_t hash) {
  return (hash ^ r->raw_seed) * 0x6193d459236a3a0du;
}

static uint64_t rocksdb_ribbon_start(const rocksdb_ribbon *r, uint64_t h) {
  return nay__mulhi(h, r->starts);
}

static rocksdb_ribbon_row rocksdb_ribbon_row_of(uint64_t h) {
  uint64_t a = h * 0xc28f82822b650bedu;
  uint32_t high = (uint32_t)(a >> 32);
  uint32_t swapped = high >> 24 | (high >> 8 & 0xff00) | (high << 8 & 0xff0000) | high << 24;
  return (rocksdb_ribbon_row){(a ^ 0xc367844a6e52731du) | 1, a, swapped};
}

/* The first segment of a block. */
static uint64_t rocksdb_ribbon_segment_of(const rocksdb_ribbon *r, uint64_t block) {
  return block * r->columns - nay__min_u64(block, r->short_blocks);
}

/* ---- probing ---- */

/* What the coefficients choose of 128 slots, its two words added. */
static uint64_t rocksdb_ribbon_chosen(const uint8_t *segment, const uint64_t w[2]) {
  return (nay__load64le(segment) & w[0]) ^ (nay__load64le(segment + 8) & w[1]);
}

static bool rocksdb_ribbon_probe(const rocksdb_ribbon *r, const uint8_t *bytes, uint64_t hash) {
  uint64_t h = rocksdb_ribbon_rehash(r, hash), start = rocksdb_ribbon_start(r, h),
           block = start / RIBBON_WIDTH;
  unsigned shift = start % RIBBON_WIDTH;
  rocksdb_ribbon_row row = rocksdb_ribbon_row_of(h);
  uint32_t ncolumns = r->columns - (block < r->short_blocks);
  const uint8_t *at = bytes + rocksdb_ribbon_segment_of(r, block) * RIBBON_SEGMENT;
  /* the coefficients, moved to where the slots are: four words, two in each block */
  uint64_t w[5] = {0, 0, 0, 0, 0};
  unsigned word = shift / 64, bits = shift % 64;
  w[word] = row.lo << bits;
  w[word + 1] = row.hi << bits;
  if (bits != 0) {
    w[word + 1] |= row.lo >> (64 - bits);
    w[word + 2] = row.hi >> (64 - bits);
  }
  for (uint32_t c = 0; c < ncolumns; c++, at += RIBBON_SEGMENT) {
    uint64_t chosen = rocksdb_ribbon_chosen(at, w);
    if (shift != 0) chosen ^= rocksdb_ribbon_chosen(at + (size_t)ncolumns * RIBBON_SEGMENT, w + 2);
    if (nay__parity64(chosen) != (row.result >> c & 1)) return false;
  }
  return true;
}

static bool rocksdb_ribbon_test(const nay_filter *f, nay_hash hash) {
  if ((f->shape.extra & NAY_ROCKSDB_MAYBE) != 0) return true;
  if (f->shape.nunits == 0) return false;
  rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, rocksdb_ribbon_ordinal(f));
  return rocksdb_ribbon_probe(&r, f->bits.bytes, hash.lo);
}

static void rocksdb_ribbon_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  rocksdb_ribbon r = {0};
  if (f->shape.nunits != 0) r = rocksdb_ribbon_of(&f->shape, rocksdb_ribbon_ordinal(f));
  uint64_t h = rocksdb_ribbon_rehash(&r, hash.lo), start = rocksdb_ribbon_start(&r, h),
           block = start / RIBBON_WIDTH, at = rocksdb_ribbon_segment_of(&r, block) * RIBBON_WIDTH;
  uint32_t ncolumns = r.columns - (block < r.short_blocks), width = ncolumns * RIBBON_WIDTH;
  if (ncolumns == 0) { /* no keys, reserved bytes, or a block without columns */
    nay__explain_constant(run, 0, f->shape.nunits != 0 || f->shape.extra == NAY_ROCKSDB_MAYBE);
    return;
  }
  rocksdb_ribbon_row row = rocksdb_ribbon_row_of(h);
  nay_explain_unit unit = {"block", block, at, width};
  nay__explain_group(run, 0, ncolumns);
  for (uint32_t c = 0; c < ncolumns; c++, at += RIBBON_WIDTH) {
    nay__explain_column(run, &unit, at, start % RIBBON_WIDTH, at + width,
                        (const uint64_t[2]){row.lo, row.hi}, row.result >> c & 1);
  }
}

static void rocksdb_ribbon_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n) {
  (void)hi;
  if (f->shape.nunits == 0) return;
  rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, rocksdb_ribbon_ordinal(f));
  for (unsigned i = 0; i < n; i++) {
    uint64_t block = rocksdb_ribbon_start(&r, rocksdb_ribbon_rehash(&r, lo[i])) / RIBBON_WIDTH;
    const uint8_t *at = f->bits.bytes + rocksdb_ribbon_segment_of(&r, block) * RIBBON_SEGMENT;
    NAY_PREFETCH(at);
    NAY_PREFETCH(at + (size_t)r.columns * RIBBON_SEGMENT);
  }
}

/* ---- solving ---- */

/* Brings an equation into the band; false when it contradicts others. See banding.c. */
static bool rocksdb_ribbon_insert(rocksdb_ribbon_row *rows, uint64_t start, rocksdb_ribbon_row e) {
  rocksdb_ribbon_row *row = rows + start;
  for (;;) {
    if (row->lo == 0) {
      *row = e;
      return true;
    }
    e.lo ^= row->lo;
    e.hi ^= row->hi;
    e.result ^= row->result;
    if (e.lo == 0) {
      if (e.hi == 0) return e.result == 0; /* a repeat, or one that says what others say */
      e.lo = e.hi;
      e.hi = 0;
      row += 64;
    }
    unsigned zeros = nay__ctz64(e.lo);
    row += zeros;
    e.lo = e.lo >> zeros | (e.hi << 1) << (63 - zeros);
    e.hi >>= zeros;
  }
}

static bool rocksdb_ribbon_eliminate(const rocksdb_ribbon *r, const nay_source *source,
                                     rocksdb_ribbon_row *rows) {
  for (size_t i = 0; i < source->nruns; i++) {
    const nay_run *run = &source->runs[i];
    for (size_t j = 0; j < run->n; j++) {
      if (j + RIBBON_AHEAD < run->n) {
        NAY_PREFETCH(rows +
                     rocksdb_ribbon_start(r, rocksdb_ribbon_rehash(r, run->at[j + RIBBON_AHEAD])));
      }
      uint64_t h = rocksdb_ribbon_rehash(r, run->at[j]);
      if (!rocksdb_ribbon_insert(rows, rocksdb_ribbon_start(r, h), rocksdb_ribbon_row_of(h)))
        return false;
    }
  }
  return true;
}

/* From the last slot to the first; each column remembers the 128 slots it has computed last. */
static void rocksdb_ribbon_substitute(const rocksdb_ribbon *r, const rocksdb_ribbon_row *rows,
                                      uint64_t nblocks, uint8_t *bytes) {
  uint64_t lo[RIBBON_MAX_COLUMNS] = {0}, hi[RIBBON_MAX_COLUMNS] = {0};
  for (uint64_t i = nblocks * RIBBON_WIDTH; i-- > 0;) {
    const rocksdb_ribbon_row *row = rows + i;
    for (uint32_t c = 0; c < r->columns; c++) {
      hi[c] = hi[c] << 1 | lo[c] >> 63;
      lo[c] <<= 1;
      unsigned bit = nay__parity64((lo[c] & row->lo) ^ (hi[c] & row->hi));
      lo[c] |= (bit ^ row->result >> c) & 1;
    }
    if (i % RIBBON_WIDTH != 0) continue;
    uint64_t block = i / RIBBON_WIDTH;
    uint8_t *at = bytes + rocksdb_ribbon_segment_of(r, block) * RIBBON_SEGMENT;
    for (uint32_t c = 0; c < r->columns - (block < r->short_blocks); c++, at += RIBBON_SEGMENT) {
      nay__store64le(at, lo[c]);
      nay__store64le(at + 8, hi[c]);
    }
  }
}

/* Tries the seeds; false when none of them works. */
static bool rocksdb_ribbon_solve(nay_filter *f, const nay_source *source, uint64_t first_hash,
                                 rocksdb_ribbon_row *rows) {
  uint64_t nblocks = f->shape.extra;
  for (unsigned i = 0; i < RIBBON_SEEDS; i++) {
    uint8_t ordinal = (uint8_t)(first_hash + i);
    rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, ordinal);
    memset(rows, 0, (size_t)nblocks * RIBBON_WIDTH * sizeof *rows);
    if (!rocksdb_ribbon_eliminate(&r, source, rows)) continue;
    rocksdb_ribbon_substitute(&r, rows, nblocks, f->bits.bytes);
    uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
    nay__store32le(trailer + 1, (uint32_t)nblocks << 8 | ordinal);
    trailer[0] = NAY_ROCKSDB_RIBBON;
    return true;
  }
  return false;
}

/* ---- making ---- */

static nay_status rocksdb_ribbon_make_bloom(const nay_shape *shape, const nay_source *source,
                                            const nay_allocator *allocator, nay_filter **filter) {
  nay_filter *f;
  const nay_family *family = &nay__family_rocksdb_bloom;
  const nay_hash_fn hasher = nay__hasher_foreign(&nay__rocksdb_hash);
  NAY_TRY(nay__filter_make(family, shape, &hasher, source->n, 0, allocator, &f));
  f->format = &nay__format_rocksdb_bloom;
  nay__filter_init(f, NULL);
  nay_status status = nay__threaded_add(f, source->runs, source->nruns, 1);
  assert(status == NAY_OK); /* a new filter with lines takes every hash */
  (void)status;
  *filter = f;
  return NAY_OK;
}

static nay_status rocksdb_ribbon_make(const nay_format *format, const rocksdb_ribbon_size *size,
                                      const nay_source *source, const nay_allocator *allocator,
                                      bool *solved, nay_filter **filter) {
  nay_shape shape = rocksdb_ribbon_shape_of(size);
  nay_filter *f;
  nay_memory rows;
  size_t rows_bytes;
  const nay_hash_fn hasher = nay__hasher_foreign(&nay__rocksdb_hash);
  NAY_TRY(
      nay__filter_make(&nay__family_rocksdb_ribbon, &shape, &hasher, source->n, 0, allocator, &f));
  f->format = format;
  bool fits =
      nay__mul_ok((size_t)size->nblocks * RIBBON_WIDTH, sizeof(rocksdb_ribbon_row), &rows_bytes);
  nay_status status = fits ? nay__memory_new(&f->allocator, rows_bytes, &rows) : NAY_ENOMEM;
  if (status == NAY_OK) {
    *solved = rocksdb_ribbon_solve(f, source, source->runs[0].at[0],
                                   (rocksdb_ribbon_row *)(void *)rows.at);
    nay__memory_free(&f->allocator, &rows);
    *filter = f;
  } else {
    nay_filter_free(f);
  }
  return status;
}

static nay_status rocksdb_ribbon_compose(const nay_format *format, const nay_params *params,
                                         const nay_source *source, const nay_allocator *allocator,
                                         nay_diag *diag, nay_filter **filter) {
  double bits_per_key;
  NAY_TRY(nay__format_bits(format, params, diag, &bits_per_key));
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  if (source->n == 0) {
    const nay_hash_fn hasher = nay__hasher_foreign(&nay__rocksdb_hash);
    nay_status made = nay__filter_make(&nay__family_rocksdb_ribbon, &(nay_shape){.nunits = 0},
                                       &hasher, 0, 0, allocator, filter);
    if (made == NAY_OK) (*filter)->format = format;
    return nay__filter_made(made, diag);
  }
  nay_shape bloom;
  uint64_t first_hash = source->runs[0].at[0];
  rocksdb_ribbon_size size =
      rocksdb_ribbon_size_of(nay__min_u64(source->n, RIBBON_MAX_KEYS), bits_per_key, first_hash);
  if (rocksdb_ribbon_is_bloom(source->n, bits_per_key, &size, &bloom)) {
    return nay__filter_made(rocksdb_ribbon_make_bloom(&bloom, source, allocator, filter), diag);
  }
  bool solved;
  nay_filter *f;
  nay_status status = rocksdb_ribbon_make(format, &size, source, allocator, &solved, &f);
  if (status != NAY_OK) return nay__filter_made(status, diag);
  if (!solved) {
    nay_filter_free(f);
    NAY_TRY(nay__rocksdb_bloom_plan(source->n, bits_per_key, diag, &bloom));
    return nay__filter_made(rocksdb_ribbon_make_bloom(&bloom, source, allocator, filter), diag);
  }
  *filter = f;
  return NAY_OK;
}

static uint64_t rocksdb_ribbon_batch_test(const nay_filter *f, const uint64_t *lo,
                                          const uint64_t *hi, unsigned n, const uint64_t *next) {
  (void)next;
  return nay__test_each(rocksdb_ribbon_test, f, lo, hi, n);
}

static const nay_family_batch rocksdb_ribbon_batch = {
    .test = rocksdb_ribbon_batch_test,
    .prefetch = rocksdb_ribbon_prefetch,
};

static const nay_family_bulk rocksdb_ribbon_bulk = {.compose = rocksdb_ribbon_compose};

const nay_family nay__family_rocksdb_ribbon = {
    .kind = NAY_RIBBON,
    .name = "ribbon (RocksDB)",
    .skips_repeats = true,
    .payload = rocksdb_ribbon_payload,
    .fpr = rocksdb_ribbon_fpr,
    .test = rocksdb_ribbon_test,
    .explain = rocksdb_ribbon_explain,
    .census = rocksdb_ribbon_census,
    .batch = &rocksdb_ribbon_batch,
    .bulk = &rocksdb_ribbon_bulk,
};
