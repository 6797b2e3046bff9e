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
#include "family/explain.h"
#include "family/ribbon.h"
#include "math/plan.h"

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

void nay__map_lookup(const nay_filter *f, const uint64_t *x, unsigned n, uint64_t *words) {
  nay_burr_view v = map_view(f);
  nay__burr_words(f->kernels, &v, f->bits.in_cache, x, n, words);
}

/* Bit i: word i has the check bits of its hash; words become values, 0 where it has not. */
static uint64_t map_values(const nay_filter *f, const uint64_t *hashes, unsigned n,
                           uint64_t *words) {
  unsigned bits = nay__map_value_bits(&f->shape), check_bits = f->shape.extra;
  uint64_t bitmap = ~(uint64_t)0 >> (64 - n);
  if (check_bits == 0) return bitmap;
  for (unsigned i = 0; i < n; i++) {
    bool same = words[i] >> bits == nay__map_check_of(hashes[i], check_bits);
    words[i] = same ? words[i] & nay__low_bits(bits) : 0;
    bitmap ^= (uint64_t)!same << i;
  }
  return bitmap;
}

uint64_t nay__map_get(const nay_filter *f, const uint64_t *hashes, unsigned n, uint64_t *values) {
  uint64_t premix = nay__map_premix(f), mixed[NAY_MAP_GROUP];
  if (premix == 0) {
    nay__map_lookup(f, hashes, n, values);
  } else {
    for (unsigned i = 0; i < n; i++) mixed[i] = nay__premix(hashes[i], premix);
    nay__map_lookup(f, mixed, n, values);
  }
  return map_values(f, hashes, n, values);
}

/* ---- probes ---- */

static bool map_test(const nay_filter *f, nay_hash h) {
  uint64_t value;
  return f->shape.extra == 0 || nay__map_get(f, &h.lo, 1, &value) != 0;
}

static uint64_t map_test_many(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                              unsigned n, const uint64_t *next) {
  uint64_t values[NAY_MAP_GROUP];
  (void)hi, (void)next;
  if (f->shape.extra == 0) return ~(uint64_t)0 >> (64 - n);
  return nay__map_get(f, lo, n, values);
}

/* The columns of the check bits, each with the parity that the key's would have. */
static void map_explain_check(const nay_burr *b, const nay_burr_place *place, unsigned layer,
                              unsigned value_bits, uint64_t check, nay_explain_run *run) {
  uint64_t here = nay__burr_column_of(b, place->block) * NAY_BURR_COLUMN * 8;
  uint64_t width = (uint64_t)b->columns * NAY_RIBBON_WIDTH;
  uint64_t coefficients[2] = {place->row.lo, place->row.hi};
  nay_explain_unit unit = {"block", place->block, here, width};
  nay__explain_group(run, layer, b->columns - value_bits);
  for (unsigned c = value_bits; c < b->columns; c++) {
    uint64_t at = here + (uint64_t)c * NAY_RIBBON_WIDTH;
    nay__explain_column(run, &unit, at, place->row.start % NAY_RIBBON_WIDTH, at + width,
                        coefficients, check >> (c - value_bits) & 1);
  }
}

static void map_explain(const nay_filter *f, nay_hash h, nay_explain_run *run) {
  nay_burr b = nay__map_open(f);
  nay_explanation *what = &run->what;
  what->premix = nay__burr_premix(&b);
  what->word = nay__premix(h.lo, what->premix);
  if (f->shape.extra == 0) {
    nay__explain_constant(run, 0, true);
    return;
  }
  nay_burr_place place;
  unsigned layer = nay__ribbon_explain_place(&b, what, &place);
  map_explain_check(&b, &place, layer, nay__map_value_bits(&f->shape),
                    nay__map_check_of(h.lo, f->shape.extra), run);
}

/* In a lazy map: the codes and the trailer are verified when the file is mapped. */
static unsigned map_probe_addresses(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  nay_burr_view v = map_view(f);
  nay_ribbon_location p;
  nay__burr_find_any(&v, nay__premix(h.lo, nay__map_premix(f)), &p);
  addresses[0] = p.here; /* and all up to the next address: less than a chunk */
  addresses[1] = p.next + p.columns * NAY_BURR_COLUMN - 1;
  return 2;
}

/* ---- shape ---- */

#define MAP_FLAGS (NAY_STORE_KEY | NAY_NO_VERIFY | NAY_SMALL_PAGES | NAY_LOW_MEMORY)
#define MAP_SPARE(n) (60 + (n) / 2800) /* slots beyond the keys */
#define MAP_BUILD_BYTES 17u            /* of memory for each key of a build */
#define MAP_LOW_KEYS ((uint64_t)4 << 20)

nay_status nay__map_params(const nay_params *p, nay_diag *diag) {
  bool sized = p->fpr != 0 || p->bits_per_key != 0 || p->nbytes != 0 || p->nbits != 0;
  if (sized || p->k != 0 || p->fold != 0) {
    return nay__fail(diag, NAY_EINVAL, "a map is sized by value_bits and check_bits alone", 0);
  }
  if (p->value_bits > NAY_MAP_MAX_COLUMNS) {
    return nay__fail(diag, NAY_EINVAL, "value_bits: above 64", 0);
  }
  if (p->check_bits > NAY_MAP_MAX_COLUMNS - nay__max_u64(p->value_bits, 1)) {
    return nay__fail(diag, NAY_EINVAL, "check_bits: value_bits + check_bits is above 64", 0);
  }
  if ((p->flags & ~MAP_FLAGS) != 0)
    return nay__fail(diag, NAY_EINVAL, "flags: not one of a map", 0);
  if (p->threads > 256) return nay__fail(diag, NAY_EINVAL, "threads: above 256", 0);
  if (p->nkeys > NAY_MAP_MAX_KEYS) return nay__fail(diag, NAY_EINVAL, "nkeys: above 2^38", 0);
  return nay__params_knobs(p, NAY_KNOB_VALUES, diag);
}

/*
 * The plan of burr.c leaves a margin, so that 1 filter in 50 needs a second attempt. A map in a
 * layer of one part, where a block is 0.06% or more, has a block less if 3 sets in 4 fit at once.
 * The bound is measured: doc/design/0017-bumped-ribbon.md.
 */
uint64_t nay__map_blocks(uint64_t n) {
  uint64_t nblocks = nay__burr_blocks(n), fewer = nblocks - 1;
  nay_burr_layer l = nay__burr_layer_at(nblocks, 0);
  if (l.last || l.nparts != 1 || nay__burr_layer_at(fewer, 0).last) return nblocks;
  return fewer * NAY_RIBBON_WIDTH >= n + MAP_SPARE(n) ? fewer : nblocks;
}

static nay_status map_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(nay__map_params(p, diag));
  if (p->value_bits == 0) {
    return nay__fail(diag, NAY_EINVAL, "value_bits is 0: a plan needs the bits of a value", 0);
  }
  *shape = (nay_shape){nay__map_blocks(p->nkeys), p->value_bits + p->check_bits, p->check_bits};
  return NAY_OK;
}

/* Of keys outside the set that get a value. */
static double map_fpr(const nay_shape *shape, uint64_t nkeys) {
  (void)nkeys;
  return 1 / (double)((uint64_t)1 << shape->extra);
}

static void map_extend_plan(const nay_params *p, const nay_shape *shape, nay_plan *plan) {
  uint64_t keys = p->nkeys;
  (void)shape;
  if ((p->flags & NAY_LOW_MEMORY) != 0) {
    keys = nay__min_u64(keys, nay__max_u64(keys / 8, MAP_LOW_KEYS));
  }
  plan->nbytes_build += keys * MAP_BUILD_BYTES;
}

/* ---- payload ---- */

static void map_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                       nay_census *census) {
  (void)b, (void)factor; /* maps neither merge nor fold */
  uint64_t nbits = (uint64_t)a->nbytes * 8;
  *census = (nay_census){nbits, nbits, nay__exactly(a->nkeys), map_fpr(&a->shape, a->nkeys)};
}

static void map_describe(const nay_filter *f, nay_stats *stats) {
  nay_burr_layer l = nay__burr_layer_at(f->shape.nunits, 0);
  for (; !l.last; stats->nlevels++) {
    l = nay__burr_layer_at(f->shape.nunits, nay__burr_layer_end(&l));
  }
  stats->value_bits = nay__map_value_bits(&f->shape);
  stats->check_bits = f->shape.extra;
}

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

static const nay_family_batch map_batch = {.test = map_test_many};

const nay_family nay__family_map = {
    .kind = NAY_MAP,
    .name = "map",
    .traits = NAY_CAN_GET,
    .knobs = NAY_KNOB_VALUES,
    .plan = map_plan,
    .payload = map_payload,
    .fpr = map_fpr,
    .extend_plan = map_extend_plan,
    .check = map_check,
    .census = map_census,
    .describe = map_describe,
    .bind = map_bind,
    .test = map_test,
    .explain = map_explain,
    .probe_addresses = map_probe_addresses,
    .tail = map_tail,
    .batch = &map_batch,
};
