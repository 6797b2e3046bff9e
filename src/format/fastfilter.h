/*
 * fastfilter.h - what the layouts of FastFilter's xor_singleheader share: binary fuse and xor
 * filters of 8 and 16 bits (fmt_binary_fuse.c, fmt_xor_filter.c).
 *
 * Keys are numbers of 64 bits: a key here is the 8 bytes of one, little-endian. A key of any other
 * length cannot be in such a filter, whose program hashed it first in a way that nobody states: it
 * is refused when a filter is built, and every filter answers maybe for it.
 *
 * In memory all of them are as `serialize` writes them: a header and the cells. `pack` writes the
 * start of the header, a bitmap of the cells that are not 0, and those cells.
 *
 * shape: nunits cells, k 3, extra = bits of a cell.
 */
#ifndef NAY_FASTFILTER_H
#define NAY_FASTFILTER_H

#include "base/bytes.h"
#include "base/sort.h"
#include "build/hash_source.h"
#include "family/explain.h"
#include "family/family.h"
#include "format/format.h"

#define NAY_FAST_TRIES 100u /* seeds, until building is given up */

extern const nay_foreign_hash nay__fast_hash;

static inline unsigned nay__fast_bits(const nay_shape *shape) { return shape->extra; }

static inline uint32_t nay__fast_cell(const uint8_t *cells, uint64_t i, unsigned bits) {
  return bits == 8 ? cells[i] : nay__load16le(cells + 2 * i);
}

static inline void nay__fast_set_cell(uint8_t *cells, uint64_t i, unsigned bits, uint32_t value) {
  if (bits == 8) {
    cells[i] = (uint8_t)value;
  } else {
    nay__store16le(cells + 2 * i, (uint16_t)value);
  }
}

/* nay__fast_mix: a key under a seed: the end of MurmurHash3. */
static inline uint64_t nay__fast_mix(uint64_t key, uint64_t seed) {
  uint64_t h = key + seed;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
}

static inline uint32_t nay__fast_fingerprint(uint64_t h, unsigned bits) {
  return (uint32_t)(h ^ h >> 32) & (((uint32_t)1 << bits) - 1);
}

/* nay__fast_next_seed: SplitMix64. */
uint64_t nay__fast_next_seed(uint64_t *state);

/*
 * nay__fast_drop_copies: what the original does about copies of a key; returns how many keys stay.
 * It compares the low 32 bits of a difference, as signed: no order, so that qsort, the merge sort
 * of glibc, may leave copies apart, and they stay. The bytes depend on it. scratch: n / 2 words.
 */
size_t nay__fast_drop_copies(uint64_t *keys, size_t n, uint64_t *scratch);

/* nay_fast_places: the three cells of a mixed key. */
typedef struct nay_fast_places {
  uint64_t at[3];
} nay_fast_places;

/* nay_fast_layout: one of the two families. */
typedef struct nay_fast_layout {
  size_t header;      /* bytes before the cells in memory */
  size_t pack_header; /* of these, those that a packed file starts with */
  const char *unit;   /* a third, or a segment */
  uint64_t (*unit_cells)(const nay_filter *);
  nay_fast_places (*places)(const nay_filter *, uint64_t h);
  /* how many keys the header states, or can have had at most */
  uint64_t (*nkeys)(const nay_shape *, const uint8_t *bytes);
  /* cells that are not 0 in a packed file, at most; NULL: all */
  uint64_t (*most_used)(const uint8_t *packed);
  /* the header of a packed file -> that in memory; sets *ncells. dst NULL: only that */
  nay_status (*unpack_header)(const uint8_t *bytes, unsigned bits, nay_diag *, uint8_t *dst,
                              uint64_t *ncells);
} nay_fast_layout;

bool nay__fast_test(const nay_fast_layout *layout, const nay_filter *f, nay_hash hash);
void nay__fast_explain(const nay_fast_layout *layout, const nay_filter *f, nay_hash hash,
                       nay_explain_run *run);
void nay__fast_census(const nay_fast_layout *layout, const nay_filter *f, nay_census *census);
bool nay__fast_payload(const nay_fast_layout *layout, const nay_shape *shape, uint64_t *nbits,
                       uint64_t *nbytes);
double nay__fast_fpr(const nay_shape *shape, uint64_t nkeys);

/* nay__fast_size: refuses a size that these layouts, which have one, do not reach. */
nay_status nay__fast_size(const nay_params *params, nay_sizing by, unsigned bits, nay_diag *diag);

nay_status nay__fast_unpack(const nay_fast_layout *layout, unsigned bits, const uint8_t *bytes,
                            size_t len, nay_diag *diag, uint8_t *dst, size_t *size);
/* nay__fast_packed_fits: the field `fits` of the packed layouts. */
bool nay__fast_packed_fits(const nay_fast_layout *layout, unsigned bits, const uint8_t *head,
                           size_t nhead, uint64_t len);
nay_status nay__fast_pack(const nay_fast_layout *layout, const nay_filter *f, uint8_t *dst,
                          size_t *size);
uint64_t nay__fast_packed_size(const nay_fast_layout *layout, const nay_shape *shape);

/* nay__fast_compose: a filter of all keys of the source, by the `build` of a layout: it fills the
 * header and the cells, and may change the keys. NAY_EINVAL: a key is no number. */
typedef nay_status (*nay_fast_build)(nay_filter *, uint64_t *keys, size_t n, nay_diag *);
nay_status nay__fast_compose(const nay_format *format, const nay_shape *shape,
                             const nay_source *source, const nay_allocator *allocator,
                             nay_fast_build build, nay_diag *diag, nay_filter **filter);

/*
 * NAY_FAST_VERBS: the verbs of a family by a `static const nay_fast_layout`; NAY_FAST_WIDTH: the
 * family verbs<bits> and what its two formats need, by verbs_shape, verbs_parse, verbs_fits and
 * verbs_build.
 */
#define NAY_FAST_VERBS(verbs, layout)                                                             \
  static bool verbs##_test(const nay_filter *f, nay_hash hash) {                                  \
    return nay__fast_test(&(layout), f, hash);                                                    \
  }                                                                                               \
  static void verbs##_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {         \
    nay__fast_explain(&(layout), f, hash, run);                                                   \
  }                                                                                               \
  static void verbs##_census(const nay_filter *a, const nay_filter *b, uint64_t factor,           \
                             nay_census *census) {                                                \
    (void)b, (void)factor; /* static filters neither merge nor fold */                            \
    nay__fast_census(&(layout), a, census);                                                       \
  }                                                                                               \
  static bool verbs##_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {        \
    return nay__fast_payload(&(layout), shape, nbits, nbytes);                                    \
  }                                                                                               \
  static uint64_t verbs##_batch_test(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                     unsigned n, const uint64_t *next) {                          \
    (void)next;                                                                                   \
    return nay__test_each(verbs##_test, f, lo, hi, n);                                            \
  }                                                                                               \
  static const nay_family_batch verbs##_batch = {.test = verbs##_batch_test};                     \
  static nay_status verbs##_pack(const nay_filter *f, uint8_t *dst, size_t *size) {               \
    return nay__fast_pack(&(layout), f, dst, size);                                               \
  }                                                                                               \
  static uint64_t verbs##_packed_size(const nay_shape *shape, uint64_t nkeys) {                   \
    (void)nkeys;                                                                                  \
    return nay__fast_packed_size(&(layout), shape);                                               \
  }                                                                                               \
  static uint64_t verbs##_planned(const nay_shape *shape, const uint8_t *bytes) {                 \
    return (layout).nkeys(shape, bytes);                                                          \
  }                                                                                               \
  static size_t verbs##_encoded_size(const nay_filter *f) { return f->nbytes; }                   \
  static void verbs##_encode(const nay_filter *f, uint8_t *dst) {                                 \
    memcpy(dst, f->bits.bytes, f->nbytes);                                                        \
  }

#define NAY_FAST_WIDTH(verbs, layout, bits, of_kind, title)                                   \
  static nay_status verbs##bits##_size(const nay_params *p, nay_sizing by, nay_diag *diag,    \
                                       nay_shape *shape) {                                    \
    NAY_TRY(nay__fast_size(p, by, bits, diag));                                               \
    return verbs##_shape(p->nkeys, bits, diag, shape);                                        \
  }                                                                                           \
  static nay_status verbs##bits##_parse(const uint8_t *bytes, size_t len, nay_diag *diag,     \
                                        nay_shape *shape, nay_span *payload) {                \
    return verbs##_parse(bytes, len, bits, diag, shape, payload);                             \
  }                                                                                           \
  static nay_status verbs##bits##_unpack(const uint8_t *bytes, size_t len, nay_diag *diag,    \
                                         uint8_t *dst, size_t *size, uint32_t *extra) {       \
    *extra = bits;                                                                            \
    return nay__fast_unpack(&(layout), bits, bytes, len, diag, dst, size);                    \
  }                                                                                           \
  static bool verbs##bits##_fits(const uint8_t *head, size_t nhead, uint64_t len) {           \
    return verbs##_fits(head, nhead, len, bits);                                              \
  }                                                                                           \
  static bool verbs##bits##_packed_fits(const uint8_t *head, size_t nhead, uint64_t len) {    \
    return nay__fast_packed_fits(&(layout), bits, head, nhead, len);                          \
  }                                                                                           \
  static nay_status verbs##bits##_compose(                                                    \
      const nay_format *format, const nay_params *params, const nay_source *source,           \
      const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {                  \
    nay_shape shape;                                                                          \
    (void)params;                                                                             \
    NAY_TRY(verbs##_shape(source->n, bits, diag, &shape));                                    \
    return nay__fast_compose(format, &shape, source, allocator, verbs##_build, diag, filter); \
  }                                                                                           \
  static const nay_family_bulk verbs##bits##_bulk = {.compose = verbs##bits##_compose};       \
  static const nay_family verbs##bits##_family = {                                            \
      .kind = (of_kind),                                                                      \
      .name = title #bits,                                                                    \
      .payload = verbs##_payload,                                                             \
      .fpr = nay__fast_fpr,                                                                   \
      .census = verbs##_census,                                                               \
      .test = verbs##_test,                                                                   \
      .explain = verbs##_explain,                                                             \
      .batch = &verbs##_batch,                                                                \
      .bulk = &verbs##bits##_bulk,                                                            \
  };

/* Fields of the formats of one width, beside name and about. */
#define NAY_FAST_PLAIN(verbs, bits)                                                        \
  .family = &verbs##bits##_family, .hash = &nay__fast_hash, .size_by = verbs##bits##_size, \
  .parse = verbs##bits##_parse, .fits = verbs##bits##_fits, .planned = verbs##_planned,    \
  .size = verbs##_encoded_size, .encode = verbs##_encode, .interchanges = true
#define NAY_FAST_PACKED(verbs, bits)                                                       \
  .family = &verbs##bits##_family, .hash = &nay__fast_hash, .size_by = verbs##bits##_size, \
  .parse = verbs##bits##_parse, .unpack = verbs##bits##_unpack, .pack = verbs##_pack,      \
  .planned = verbs##_planned, .packed_size = verbs##_packed_size,                          \
  .fits = verbs##bits##_packed_fits, .interchanges = true

#endif /* NAY_FASTFILTER_H */
