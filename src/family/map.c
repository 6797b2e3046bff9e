/*
 * map.c - static maps: bumped ribbon retrieval (burr.c) of values instead of fingerprints.
 *
 * A ribbon filter stores slots such that those of a key add up to its fingerprint. Nothing in the
 * solver depends on what they add up to: with values instead of fingerprints the structure returns
 * the value of every key of the set, in 1.002 bits for each bit of it (1.005 when it has one bit),
 * and an arbitrary one for any other key. Check bits are a fingerprint beside the value: a key
 * whose slots do not add up to its check bits is not in the set.
 *
 *   word of a key    | value: value_bits | check: check_bits |       column 0 is the lowest bit
 *
 * A lookup reads all columns of two neighbouring blocks, 32 bytes for each bit of the word, where a
 * filter mostly ends after four.
 */
#include "family/map.h"

#include "family/burr_probe.h"

/* nay_filter.derived: what a lookup needs of the first layer. */
enum {
  MAP_NPARTS,
  MAP_NBLOCKS, /* of a part */
  MAP_PREMIX,
  MAP_SEED, /* bit 32: keys may be bumped */
  MAP_NDERIVED
};
_Static_assert(MAP_NDERIVED <= NAY_NDERIVED, "the handle has no room for it");
#define MAP_BUMPS ((uint64_t)1 << 32)

static void map_bind(nay_filter *f) {
  nay_burr b = nay__map_open(f);
  nay_burr_view v = nay__burr_view_of(&b);
  f->derived[MAP_NPARTS] = v.layer.nparts;
  f->derived[MAP_NBLOCKS] = v.layer.nblocks;
  f->derived[MAP_PREMIX] = nay__burr_premix(&b);
  f->derived[MAP_SEED] = v.seed | (v.codes != NULL ? MAP_BUMPS : 0);
}

/* A lazy map is not bound: its trailer is verified after it. */
uint64_t nay__map_premix(const nay_filter *f) {
  nay_burr b = nay__map_open(f);
  return f->lazy != NULL ? nay__burr_premix(&b) : f->derived[MAP_PREMIX];
}

static nay_burr_view map_view(const nay_filter *f) {
  nay_burr b = nay__map_open(f);
  if (f->lazy != NULL) return nay__burr_view_of(&b);
  bool bumps = (f->derived[MAP_SEED] & MAP_BUMPS) != 0;
  nay_burr_layer first = {0, f->derived[MAP_NPARTS], (uint32_t)f->derived[MAP_NBLOCKS], !bumps};
  return (nay_burr_view){b, bumps ? b.bytes + b.codes_at : NULL, first,
                         (uint32_t)f->derived[MAP_SEED]};
}

/* ---- lookup ---- */

/* Four columns at a time: a nibble of the word from the lowest bits of four quarters. */
static uint64_t map_word(const nay_ribbon_location *p) {
  uint64_t word = 0;
  unsigned c = 0;
  for (; c + 4 <= p->columns; c += 4) {
    uint64_t got = nay__burr_parities(nay__burr_column(p, c), nay__burr_column(p, c + 1),
                                      nay__burr_column(p, c + 2), nay__burr_column(p, c + 3));
    word |= ((got & NAY_BURR_QUARTERS) * 0x0001000200040008u >> 48 & 15) << c;
  }
  for (; c < p->columns; c++) word |= (uint64_t)nay__parity64(nay__burr_column(p, c)) << c;
  return word;
}

NAY_INLINE void map_find(const nay_burr_view *v, uint64_t x, nay_ribbon_location *p) {
  /* map_check has refused a map whose last layer has no slots */
  if (NAY_UNLIKELY(!nay__burr_find(v, x, p))) nay__burr_find_bumped(&v->burr, x, p);
}

#define MAP_AHEAD 16u
#define MAP_VECTOR_COLUMNS 4u /* fewer are faster one by one */

NAY_INLINE void map_lookup_each(bool vectors, const nay_filter *f, const nay_burr_view *v,
                                const uint64_t *x, unsigned n, uint64_t *words) {
  for (unsigned from = 0; from < n; from += MAP_AHEAD) {
    nay_ribbon_location locations[MAP_AHEAD];
    unsigned group = n - from < MAP_AHEAD ? n - from : MAP_AHEAD;
    for (unsigned i = 0; i < group; i++) {
      map_find(v, x[from + i], &locations[i]);
      if (n > 1 && !f->bits.in_cache) nay__burr_prefetch(&locations[i]);
    }
    for (unsigned i = 0; i < group; i++) {
      words[from + i] = vectors ? f->kernels->ribbon->sum(&locations[i]) : map_word(&locations[i]);
    }
  }
}

static void map_lookup_batch(const nay_filter *f, const nay_burr_view *v, const uint64_t *x,
                             unsigned n, uint64_t *words) {
  nay_ribbon_map map = nay__burr_kernel_map(v, f->bits.in_cache);
  uint64_t bumped;
  f->kernels->ribbon->sum64(&map, x, n, words, &bumped);
  if (bumped == 0) return;
  nay_burr_second second = nay__burr_second_of(v);
  for (; bumped != 0; bumped &= bumped - 1) {
    unsigned i = nay__ctz64(bumped);
    nay_ribbon_location p;
    nay__burr_find_after(v, &second, x[i], &p);
    words[i] = f->kernels->ribbon->sum(&p);
  }
}

void nay__map_lookup(const nay_filter *f, const uint64_t *x, unsigned n, uint64_t *words) {
  nay_burr_view v = map_view(f);
  const nay_ribbon_kernels *kernels = f->kernels->ribbon;
  if (kernels != NULL && kernels->sum64 != NULL && n > 1) {
    map_lookup_batch(f, &v, x, n, words);
  } else if (kernels != NULL && v.burr.columns >= MAP_VECTOR_COLUMNS) {
    map_lookup_each(true, f, &v, x, n, words);
  } else {
    map_lookup_each(false, f, &v, x, n, words);
  }
}

/* In a lazy map: the codes and the trailer are verified when the file is mapped. */
static unsigned map_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  nay_burr_view v = map_view(f);
  nay_ribbon_location p;
  map_find(&v, nay__premix(h.lo, nay__map_premix(f)), &p);
  addresses[0] = p.here; /* and all up to the next address: less than a chunk */
  addresses[1] = p.next + p.columns * NAY_BURR_COLUMN - 1;
  return 2;
}

/* ---- payload ---- */

static bool map_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > UINT32_MAX) return false;
  if (shape->k == 0 || shape->k > NAY_MAP_MAX_COLUMNS || shape->extra >= shape->k) return false;
  *nbytes = shape->nunits * shape->k * NAY_BURR_COLUMN + nay__burr_tail(shape->nunits);
  *nbits = *nbytes * 8;
  return true;
}

static uint64_t map_tail(const nay_shape *shape) { return nay__burr_tail(shape->nunits); }

static nay_status map_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                            nay_diag *diag) {
  uint64_t offset;
  nay_burr b = nay__burr_of((uint8_t *)(uintptr_t)payload, shape->nunits, shape->nunits * shape->k,
                            shape->k);
  if (!nay__burr_check(&b, &offset)) {
    return nay__fail(diag, NAY_ECORRUPT, "a bucket of the last layer is bumped", offset);
  }
  if (nay__burr_says_maybe(&b)) {
    return nay__fail(diag, NAY_ECORRUPT, "the last layer of a map has no slots", len - 1);
  }
  return NAY_OK;
}

/* Only what files, copies and lazy maps need: no filter has this family. */
const nay_family nay__family_map = {
    .kind = (nay_kind)NAY_KIND_MAP,
    .name = "map",
    .payload = map_payload,
    .check = map_check,
    .bind = map_bind,
    .probe_addresses = map_probe_addresses,
    .tail = map_tail,
};
