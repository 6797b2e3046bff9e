/* fastfilter.c - see fastfilter.h. */
#include "format/fastfilter.h"

#include "family/bitarray.h"

/* hi tells a number from a key of another length, which has no hash. */
static nay_hash fast_hash_of(const uint8_t *key, size_t len) {
  return len == 8 ? (nay_hash){nay__load64le(key), 0} : (nay_hash){0, 1};
}
const nay_foreign_hash nay__fast_hash = {
    .kind = (nay_hash_kind)103, .name = "u64", .has_hi = true, .hash = fast_hash_of};

uint64_t nay__fast_next_seed(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* glibc's qsort: halves, the left one shorter, and of equal keys that of the left half first. */
static void fast_merge_sort(uint64_t *keys, size_t n, uint64_t *scratch) {
  if (n <= 1) return;
  size_t half = n / 2, left = 0, right = half, at = 0;
  fast_merge_sort(keys, half, scratch);
  fast_merge_sort(keys + half, n - half, scratch);
  memcpy(scratch, keys, half * sizeof *keys);
  while (left < half && right < n) {
    bool above = (int32_t)(uint32_t)(scratch[left] - keys[right]) > 0;
    keys[at++] = above ? keys[right++] : scratch[left++];
  }
  if (left < half) memcpy(keys + at, scratch + left, (half - left) * sizeof *keys);
}

size_t nay__fast_drop_copies(uint64_t *keys, size_t n, uint64_t *scratch) {
  fast_merge_sort(keys, n, scratch);
  return nay__unique_u64(keys, n);
}

/* ---- the family ---- */

static uint64_t fast_seed(const nay_filter *f) { return nay__load64le(f->bits.bytes); }

bool nay__fast_test(const nay_fast_layout *layout, const nay_filter *f, nay_hash hash) {
  if (NAY_UNLIKELY(hash.hi != 0)) return true;
  unsigned bits = nay__fast_bits(&f->shape);
  uint64_t h = nay__fast_mix(hash.lo, fast_seed(f));
  nay_fast_places p = layout->places(f, h);
  const uint8_t *cells = f->bits.bytes + layout->header;
  uint32_t sum = nay__fast_fingerprint(h, bits);
  for (unsigned i = 0; i < 3; i++) sum ^= nay__fast_cell(cells, p.at[i], bits);
  return sum == 0;
}

void nay__fast_explain(const nay_fast_layout *layout, const nay_filter *f, nay_hash hash,
                       nay_explain_run *run) {
  if (hash.hi != 0) {
    nay__explain_constant(run, 0, true);
    return;
  }
  unsigned bits = nay__fast_bits(&f->shape);
  uint64_t h = nay__fast_mix(hash.lo, fast_seed(f)), length = layout->unit_cells(f);
  nay_fast_places p = layout->places(f, h);
  const uint8_t *cells = f->bits.bytes + layout->header;
  uint64_t first = nay__explain_at(run, cells);
  uint32_t sum = 0;
  nay__explain_group(run, 0, 4);
  for (unsigned i = 0; i < 3; i++) {
    uint64_t index = p.at[i] / length;
    uint32_t value = nay__fast_cell(cells, p.at[i], bits);
    nay_explain_unit unit = {layout->unit, index, first + index * length * bits, length * bits};
    nay__explain_step(run, &unit,
                      (nay_explain_step){.kind = NAY_STEP_SLOT,
                                         .bit = first + p.at[i] * bits,
                                         .nbits = bits,
                                         .found = value,
                                         .expected = value});
    sum ^= value;
  }
  nay__explain_step(run, NULL,
                    (nay_explain_step){.kind = NAY_STEP_XOR,
                                       .nbits = bits,
                                       .found = sum,
                                       .expected = nay__fast_fingerprint(h, bits)});
}

double nay__fast_fpr(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys; /* an empty filter has the fingerprint 0 for every key */
  return 1.0 / (double)((uint32_t)1 << nay__fast_bits(shape));
}

void nay__fast_census(const nay_fast_layout *layout, const nay_filter *f, nay_census *census) {
  uint64_t nbits = f->shape.nunits * nay__fast_bits(&f->shape);
  *census = (nay_census){nbits, nbits, nay__exactly(layout->nkeys(&f->shape, f->bits.bytes)),
                         nay__fast_fpr(&f->shape, 0)};
}

bool nay__fast_payload(const nay_fast_layout *layout, const nay_shape *shape, uint64_t *nbits,
                       uint64_t *nbytes) {
  if (shape->nunits > (uint64_t)3 << 32) return false;
  *nbits = shape->nunits * nay__fast_bits(shape);
  *nbytes = layout->header + *nbits / 8;
  return true;
}

nay_status nay__fast_size(const nay_params *p, nay_sizing by, unsigned bits, nay_diag *diag) {
  if (by == NAY_BY_FPR && p->fpr < 1.0 / (double)((uint32_t)1 << bits)) {
    return nay__fail(diag, NAY_EINVAL,
                     bits == 8 ? "fpr: this layout has 1/256 and no less"
                               : "fpr: this layout has 1/65536 and no less",
                     0);
  }
  if (by == NAY_BY_BITS_PER_KEY && p->bits_per_key < bits) {
    return nay__fail(diag, NAY_EINVAL,
                     bits == 8 ? "bits_per_key: this layout has one size, above 8"
                               : "bits_per_key: this layout has one size, above 16",
                     0);
  }
  return NAY_OK;
}

/* ---- packed ---- */

/* Reads the list of cells that are not 0 into dst, or only checks. */
static nay_status fast_unpack_cells(const uint8_t *bytes, size_t len, size_t at, uint64_t ncells,
                                    unsigned bits, nay_diag *diag, uint8_t *dst) {
  const uint8_t *bitmap = bytes + at, *list = bitmap + nay__ceil_div(ncells, 8);
  uint64_t rest = (uint64_t)(bytes + len - list),
           used = nay__bits_count(bitmap, (size_t)(list - bitmap));
  if (!nay__bits_tail_clear(bitmap, (size_t)(list - bitmap), ncells)) {
    return nay__fail(diag, NAY_ECORRUPT, "bits are set past the last cell",
                     (uint64_t)(list - bytes) - 1);
  }
  if (used * (bits / 8) != rest) {
    return nay__fail(diag, NAY_ECORRUPT, "the cells are not as many as the bitmap says", at);
  }
  for (uint64_t i = 0; i < used; i++) {
    if (nay__fast_cell(list, i, bits) != 0) continue;
    return nay__fail(diag, NAY_ECORRUPT, "a cell of the list is 0",
                     (uint64_t)(list - bytes) + i * (bits / 8));
  }
  for (uint64_t i = 0, j = 0; dst != NULL && i < ncells; i++) {
    if (!nay__bit_get(bitmap, i)) continue;
    nay__fast_set_cell(dst, i, bits, nay__fast_cell(list, j++, bits));
  }
  return NAY_OK;
}

nay_status nay__fast_unpack(const nay_fast_layout *layout, unsigned bits, const uint8_t *bytes,
                            size_t len, nay_diag *diag, uint8_t *dst, size_t *size) {
  uint64_t ncells, at = layout->pack_header;
  if (len < at) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  NAY_TRY(layout->unpack_header(bytes, bits, diag, NULL, &ncells));
  if (nay__ceil_div(ncells, 8) > len - at) {
    return nay__fail(diag, NAY_ECORRUPT, "the bitmap of the cells does not fit the length", at);
  }
  *size = layout->header + (size_t)ncells * (bits / 8);
  if (dst != NULL) {
    memset(dst, 0, *size);
    NAY_TRY(layout->unpack_header(bytes, bits, diag, dst, &ncells));
  }
  return fast_unpack_cells(bytes, len, at, ncells, bits, diag,
                           dst != NULL ? dst + layout->header : NULL);
}

/* How many of the first n bits are set. */
static uint64_t fast_count_bits(const uint8_t *bitmap, uint64_t n) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) count += bitmap[i / 8] >> i % 8 & 1;
  return count;
}

/* Where the bitmap is not all there, the share of its bits that is set must be that of the cells.
 */
bool nay__fast_packed_fits(const nay_fast_layout *layout, unsigned bits, const uint8_t *head,
                           size_t nhead, uint64_t len) {
  uint64_t ncells, at = layout->pack_header, width = bits / 8;
  if (nhead < at || layout->unpack_header(head, bits, NULL, NULL, &ncells) != NAY_OK) return false;
  uint64_t nbitmap = nay__ceil_div(ncells, 8), rest = len - at - nbitmap;
  uint64_t nused = rest / width;
  if (len < at + nbitmap || rest % width != 0 || nused == 0 || nused > ncells) return false;
  if (layout->most_used != NULL && nused > layout->most_used(head)) return false;
  if (nhead >= at + nbitmap) {
    return fast_count_bits(head + at, 8 * nbitmap) == nused &&
           fast_count_bits(head + at, ncells) == nused;
  }
  double seen = 8.0 * (double)(nhead - at);
  double share = (double)fast_count_bits(head + at, 8 * (nhead - at)) / seen;
  double want = (double)nused / (double)ncells;
  return share > want - 0.1 && share < want + 0.1;
}

/* A header that a packed file does not keep: its numbers are not those that the size gives. */
static bool fast_header_is_usual(const nay_fast_layout *layout, const nay_filter *f) {
  uint8_t header[32];
  uint64_t ncells;
  return layout->unpack_header(f->bits.bytes, nay__fast_bits(&f->shape), NULL, header, &ncells) ==
             NAY_OK &&
         memcmp(header, f->bits.bytes, layout->header) == 0;
}

nay_status nay__fast_pack(const nay_fast_layout *layout, const nay_filter *f, uint8_t *dst,
                          size_t *size) {
  if (!fast_header_is_usual(layout, f)) return NAY_ENOTSUP;
  unsigned bits = nay__fast_bits(&f->shape);
  uint64_t ncells = f->shape.nunits, used = 0;
  const uint8_t *cells = f->bits.bytes + layout->header;
  size_t nbitmap = (size_t)nay__ceil_div(ncells, 8);
  uint8_t *bitmap = NULL, *list = NULL;
  if (dst != NULL) {
    bitmap = dst + layout->pack_header;
    list = bitmap + nbitmap;
    memcpy(dst, f->bits.bytes, layout->pack_header);
    memset(bitmap, 0, nbitmap);
  }
  for (uint64_t i = 0; i < ncells; i++) {
    uint32_t cell = nay__fast_cell(cells, i, bits);
    if (cell == 0) continue;
    if (dst != NULL) {
      (void)nay__bit_set(bitmap, i);
      nay__fast_set_cell(list, used, bits, cell);
    }
    used++;
  }
  *size = layout->pack_header + nbitmap + (size_t)used * (bits / 8);
  return NAY_OK;
}

/* At most so many: a cell that happens to be 0 is spared. */
uint64_t nay__fast_packed_size(const nay_fast_layout *layout, const nay_shape *shape) {
  return layout->pack_header + nay__ceil_div(shape->nunits, 8) +
         shape->nunits * (nay__fast_bits(shape) / 8);
}

/* ---- keys of a build ---- */

/* The keys, in the order of the input. */
static nay_status fast_keys(const nay_source *source, const nay_allocator *allocator,
                            nay_diag *diag, nay_memory *memory) {
  size_t nbytes;
  if (!nay__mul_ok((size_t)source->n, sizeof(uint64_t), &nbytes) ||
      nay__memory_raw(allocator, nbytes, memory) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the keys, 8 bytes for each", 0);
  }
  uint64_t *to = (uint64_t *)(void *)memory->at, others = 0;
  for (size_t r = 0; r < source->nruns; r++) {
    const nay_run *run = &source->runs[r];
    for (size_t i = 0; i + 1 < run->n; i += 2) {
      *to++ = run->at[i];
      others |= run->at[i + 1];
    }
  }
  if (others == 0) return NAY_OK;
  nay__memory_free(allocator, memory);
  return nay__fail(diag, NAY_EINVAL, "keys of this layout are numbers of 64 bits, 8 bytes each", 0);
}

nay_status nay__fast_compose(const nay_format *format, const nay_shape *shape,
                             const nay_source *source, const nay_allocator *allocator,
                             nay_fast_build build, nay_diag *diag, nay_filter **filter) {
  nay_memory keys;
  nay_filter *f;
  const nay_hash_fn hasher = nay__hasher_foreign(&nay__fast_hash);
  NAY_TRY(fast_keys(source, allocator, diag, &keys));
  nay_status status = nay__filter_make(format->family, shape, &hasher, source->n, 0, allocator, &f);
  if (status == NAY_OK) {
    f->format = format;
    status = build(f, (uint64_t *)(void *)keys.at, (size_t)source->n, diag);
    if (status != NAY_OK) nay_filter_free(f);
  } else {
    status = nay__filter_made(status, diag);
  }
  nay__memory_free(allocator, &keys);
  if (status == NAY_OK) *filter = f;
  return status;
}
