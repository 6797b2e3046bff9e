/*
 * fmt_nori_quotient.c - the filter that nori-sstable keeps in each data block since January 2026.
 *
 * nori calls it a quotient filter; it is a hash table of fingerprints with linear probing, without
 * the run bits and the shifting of Bender et al. (VLDB 2012). The hash h is XXH64 of the key, seed
 * 0:
 *
 *   quotient = the upper q bits of h        remainder = the next r bits
 *
 * A fingerprint, the pair of both, stands in slot (quotient mod slots) or in the next free one. A
 * lookup walks from there and ends at an equal pair (maybe) or at an empty slot (nay). Two keys of
 * one fingerprint share a slot.
 *
 *   nori-quotient           | 01 | q u8 | r u8 | count u32 | slots u32 | slots |
 *                           a slot: 00, or 01 | quotient u32 | remainder u16
 *   nori-quotient-compact   | 02 | q u8 | r u8 | count u32 | slots u32 | count rows |
 *                           a row, ascending by slot: slot u32 | quotient u32 | remainder u16
 *
 * Little-endian; only the first form is in tables. slots = 2^q, for load 0.75 at the planned number
 * of keys, 16 to 65,536. FPR: keys / 2^(q + r), at most 0.75 / 2^r.
 *
 * nori drops a key silently when all slots are in use, and then denies it. So here a filter whose
 * slots are all in use answers maybe for every key, and an add that finds no slot is NAY_EFULL.
 *
 * In memory a slot is 8 bytes, behind 8 bytes of header:
 *
 *   | count u32 | q u8 | r u8 | form u8 | 0 |      | quotient u32 | remainder u16 | used u8 | 0 |
 *
 * shape: nunits slots, k 1, extra = q, r << 8, form << 16. Order of adds: it decides which slot a
 * fingerprint gets, so the builder keeps the order of its input.
 */
#include "base/bytes.h"
#include "family/explain.h"
#include "format/format.h"
#include "math/elementary.h"

#define QUOTIENT_HEADER 11u
#define QUOTIENT_USED 7u  /* bytes of a used slot of the first form */
#define QUOTIENT_ROW 10u  /* bytes of a row of the compact form */
#define QUOTIENT_MIN_Q 4u /* nori's limits when it plans */
#define QUOTIENT_MAX_Q 16u
#define QUOTIENT_MAX_R 16u    /* the remainder is stored as u16 */
#define QUOTIENT_CELL 8u      /* bytes of a slot, and of the header, in memory */
#define QUOTIENT_COMPARED 49u /* bits of a slot in memory that tell its key */
#define QUOTIENT_SLOTS 1u     /* forms: the first byte of the file */
#define QUOTIENT_COMPACT 2u

static uint32_t quotient_q(const nay_shape *shape) { return shape->extra & 0xff; }
static uint32_t quotient_r(const nay_shape *shape) { return shape->extra >> 8 & 0xff; }
static uint32_t quotient_form(const nay_shape *shape) { return shape->extra >> 16; }

static uint32_t quotient_count(const nay_filter *f) { return nay__load32le(f->bits.bytes); }

static uint8_t *quotient_cell(const nay_filter *f, uint64_t slot) {
  return f->bits.bytes + QUOTIENT_CELL * (1 + slot);
}

/* ---- the family ---- */

static bool quotient_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > UINT32_MAX) return false;
  *nbytes = QUOTIENT_CELL * (1 + shape->nunits);
  *nbits = 8 * QUOTIENT_CELL * shape->nunits;
  return true;
}

/* count / 2^(q + r); all slots in use: the answer is maybe. A header may state more slots than
 * there are fingerprints. */
static double quotient_rate(const nay_shape *shape, uint64_t count) {
  if (shape->nunits != 0 && count >= shape->nunits) return 1;
  double fingerprints = (double)((uint64_t)1 << (quotient_q(shape) + quotient_r(shape)));
  return (double)count < fingerprints ? (double)count / fingerprints : 1;
}

typedef struct quotient_place {
  uint8_t *cell;
  bool found;
} quotient_place;

/* The cell of a fingerprint, or the empty one where it belongs; cell NULL: there is none. */
static quotient_place quotient_find(const nay_filter *f, uint64_t h) {
  uint32_t q = quotient_q(&f->shape), r = quotient_r(&f->shape);
  uint32_t quotient = (uint32_t)(h >> (64 - q));
  uint16_t remainder = (uint16_t)(h >> (64 - q - r) & (((uint32_t)1 << r) - 1));
  uint64_t nslots = f->shape.nunits, slot = nslots == 0 ? 0 : quotient % nslots;
  for (uint64_t i = 0; i < nslots; i++) {
    uint8_t *cell = quotient_cell(f, slot);
    if (cell[6] == 0) return (quotient_place){cell, false};
    if (nay__load32le(cell) == quotient && nay__load16le(cell + 4) == remainder) {
      return (quotient_place){cell, true};
    }
    if (++slot == nslots) slot = 0;
  }
  return (quotient_place){NULL, false};
}

/* nori drops the keys that a full filter has no slot for, and denies them. A full filter answers
 * maybe here, unless nori's own answers are asked for. */
static bool quotient_is_full(const nay_filter *f) {
  return f->shape.nunits != 0 && quotient_count(f) == f->shape.nunits &&
         (f->flags & NAY_IS_AS_WRITTEN) == 0;
}

static bool quotient_test(const nay_filter *f, nay_hash hash) {
  return quotient_is_full(f) || quotient_find(f, hash.lo).found;
}

/* Slots from that of the quotient on, to the fingerprint or an empty one. What is compared of a
 * slot are the pair and the lowest bit of `used`. */
static void quotient_explain(const nay_filter *f, nay_hash hash, nay_explain_run *run) {
  uint32_t q = quotient_q(&f->shape), r = quotient_r(&f->shape);
  uint64_t nslots = f->shape.nunits, mask = ((uint64_t)1 << QUOTIENT_COMPARED) - 1;
  if (nslots == 0 || quotient_is_full(f)) {
    nay__explain_constant(run, 0, nslots != 0);
    return;
  }
  uint64_t quotient = hash.lo >> (64 - q), expected = quotient | (uint64_t)1 << 48;
  expected |= (hash.lo >> (64 - q - r) & (((uint64_t)1 << r) - 1)) << 32;
  uint64_t slot = quotient % nslots, found = expected ^ 1;
  for (uint64_t i = 0; i < nslots && found != expected && found != 0; i++) {
    const uint8_t *cell = quotient_cell(f, slot);
    uint64_t bit = nay__explain_at(run, cell);
    nay_explain_unit unit = {"slot", slot, bit, QUOTIENT_CELL * 8};
    found = nay__load64le(cell) & mask;
    nay__explain_group(run, 0, 1);
    nay__explain_step(run, &unit,
                      (nay_explain_step){.kind = NAY_STEP_FINGERPRINT,
                                         .bit = bit,
                                         .nbits = QUOTIENT_COMPARED,
                                         .found = found,
                                         .expected = expected});
    if (++slot == nslots) slot = 0;
  }
}

static nay_status quotient_add(nay_filter *f, nay_hash hash, bool *is_new) {
  uint32_t q = quotient_q(&f->shape), r = quotient_r(&f->shape);
  quotient_place place = quotient_find(f, hash.lo);
  *is_new = !place.found;
  if (place.found) return NAY_OK;
  if (place.cell == NULL) return NAY_EFULL;
  nay__store32le(place.cell, (uint32_t)(hash.lo >> (64 - q)));
  nay__store16le(place.cell + 4, (uint16_t)(hash.lo >> (64 - q - r) & (((uint32_t)1 << r) - 1)));
  place.cell[6] = 1;
  nay__store32le(f->bits.bytes, quotient_count(f) + 1);
  return NAY_OK;
}

static void quotient_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b, (void)factor; /* no algebra */
  uint64_t count = quotient_count(a);
  *census = (nay_census){8 * QUOTIENT_CELL * a->shape.nunits, 8 * QUOTIENT_CELL * count,
                         nay__exactly(count), quotient_rate(&a->shape, count)};
}

static const nay_family quotient_family = {
    .kind = NAY_FOREIGN_KIND,
    .name = "quotient (nori)",
    .traits = NAY_CAN_ADD,
    .payload = quotient_payload,
    .fpr = quotient_rate,
    .add = quotient_add,
    .test = quotient_test,
    .explain = quotient_explain,
    .census = quotient_census,
    .batch = &nay__batch_each,
};

/* ---- plans ---- */

/* bits: those of the remainder. nori rounds in double; both steps are exact here. */
static nay_status quotient_plan(uint64_t nkeys, double bits, uint32_t form, nay_diag *diag,
                                nay_shape *shape) {
  uint32_t q = QUOTIENT_MIN_Q, r = (uint32_t)bits;
  if (r < bits) r++;
  if (r > QUOTIENT_MAX_R) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key: a remainder has at most 16 bits", 0);
  }
  if (nkeys > (uint64_t)1 << QUOTIENT_MAX_Q) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: nori's quotient filter has at most 65,536 slots", 0);
  }
  while (q < QUOTIENT_MAX_Q && (double)((uint32_t)1 << q) < (double)nkeys / 0.75) q++;
  *shape = (nay_shape){.nunits = (uint64_t)1 << q, .k = 1, .extra = q | r << 8 | form << 16};
  return NAY_OK;
}

static nay_status quotient_plan_slots(uint64_t nkeys, double bits, nay_diag *diag,
                                      nay_shape *shape) {
  return quotient_plan(nkeys, bits, QUOTIENT_SLOTS, diag, shape);
}

static nay_status quotient_plan_compact(uint64_t nkeys, double bits, nay_diag *diag,
                                        nay_shape *shape) {
  return quotient_plan(nkeys, bits, QUOTIENT_COMPACT, diag, shape);
}

/* The load that nori plans for. */
static uint64_t quotient_planned(const nay_shape *shape, const uint8_t *bytes) {
  (void)bytes;
  return shape->nunits / 4 * 3;
}

static double quotient_bits_rate(double bits) { return 0.75 * nay__exp(-bits * NAY_LN2); }

/* ---- bytes ---- */

typedef struct quotient_reader {
  const uint8_t *bytes;
  size_t len, at;
  uint32_t q, r, count, nslots;
  uint8_t *dst; /* NULL: only check and measure */
} quotient_reader;

static nay_status quotient_open(quotient_reader *in, uint32_t form, nay_diag *diag) {
  const uint8_t *p = in->bytes;
  if (in->len < QUOTIENT_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", in->len);
  }
  if (form != QUOTIENT_SLOTS && form != QUOTIENT_COMPACT) {
    return nay__fail(diag, NAY_ECORRUPT, "the form is neither 1 nor 2", 0);
  }
  in->q = p[1];
  in->r = p[2];
  in->count = nay__load32le(p + 3);
  in->nslots = nay__load32le(p + 7);
  in->at = QUOTIENT_HEADER;
  if (in->q < 1 || in->q > 32) {
    return nay__fail(diag, NAY_ECORRUPT, "the quotient is not of 1 to 32 bits", 1);
  }
  if (in->r > QUOTIENT_MAX_R) {
    return nay__fail(diag, NAY_ECORRUPT, "the remainder is of more than 16 bits", 2);
  }
  size_t most =
      form == QUOTIENT_SLOTS
          ? in->len - QUOTIENT_HEADER
          : (in->len > (size_t)1 << QUOTIENT_MAX_Q ? in->len : (size_t)1 << QUOTIENT_MAX_Q);
  if (in->nslots > most) {
    return nay__fail(diag, NAY_ECORRUPT, "the slots are more than the bytes can hold", 7);
  }
  if (in->count > in->nslots) return nay__fail(diag, NAY_ECORRUPT, "more keys than slots", 3);
  return NAY_OK;
}

/* A fingerprint at in->at, into a slot. */
static nay_status quotient_read_cell(quotient_reader *in, uint64_t slot, nay_diag *diag) {
  const uint8_t *p = in->bytes + in->at;
  uint32_t quotient = nay__load32le(p);
  if ((uint64_t)quotient >> in->q != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "a quotient of more than q bits", in->at);
  }
  if (nay__load16le(p + 4) >> in->r != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "a remainder of more than r bits", in->at + 4);
  }
  if (in->dst != NULL) {
    uint8_t *cell = in->dst + QUOTIENT_CELL * (1 + slot);
    memcpy(cell, p, 6);
    cell[6] = 1;
  }
  in->at += 6;
  return NAY_OK;
}

static nay_status quotient_read_slots(quotient_reader *in, nay_diag *diag) {
  uint32_t used = 0;
  for (uint64_t slot = 0; slot < in->nslots; slot++) {
    if (in->at >= in->len) return nay__fail(diag, NAY_ECORRUPT, "a slot is missing", in->len);
    if (in->bytes[in->at++] == 0) continue; /* any other tag is a used slot, as nori reads it */
    if (in->len - in->at < QUOTIENT_USED - 1) {
      return nay__fail(diag, NAY_ECORRUPT, "a slot is cut off", in->len);
    }
    NAY_TRY(quotient_read_cell(in, slot, diag));
    used++;
  }
  if (used == in->count) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "the count is not that of the used slots", 3);
}

static nay_status quotient_read_rows(quotient_reader *in, nay_diag *diag) {
  uint64_t next = 0; /* the least slot that may follow */
  for (uint32_t i = 0; i < in->count; i++) {
    if (in->len - in->at < QUOTIENT_ROW) {
      return nay__fail(diag, NAY_ECORRUPT, "a row is cut off", in->len);
    }
    uint32_t slot = nay__load32le(in->bytes + in->at);
    if (slot >= in->nslots || slot < next) {
      return nay__fail(diag, NAY_ECORRUPT, "the slots of the rows do not ascend", in->at);
    }
    next = (uint64_t)slot + 1;
    in->at += 4;
    NAY_TRY(quotient_read_cell(in, slot, diag));
  }
  return NAY_OK;
}

/*
 * A lookup ends at the first empty slot: a fingerprint behind one would be denied. So every used
 * slot must be reachable from its own: not farther from it than from the last empty slot.
 */
static nay_status quotient_check_reach(const uint8_t *flat, uint64_t nslots, nay_diag *diag) {
  uint64_t run = nslots; /* used slots up to here without a gap; all, until an empty one is seen */
  for (uint64_t i = 0; i < 2 * nslots; i++) {
    uint64_t slot = i % nslots;
    const uint8_t *cell = flat + QUOTIENT_CELL * (1 + slot);
    run = cell[6] == 0 ? 0 : run == nslots ? nslots : run + 1;
    if (cell[6] == 0) continue;
    uint64_t home = nay__load32le(cell) % nslots;
    uint64_t distance = slot >= home ? slot - home : slot + nslots - home;
    if (distance >= run) {
      return nay__fail(diag, NAY_ECORRUPT, "a fingerprint that no lookup reaches", 0);
    }
  }
  return NAY_OK;
}

static nay_status quotient_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                                  size_t *size, uint32_t *extra) {
  quotient_reader in = {.bytes = bytes, .len = len, .dst = dst};
  uint32_t form = len != 0 ? bytes[0] : 0;
  NAY_TRY(quotient_open(&in, form, diag));
  if (dst != NULL) {
    memset(dst, 0, QUOTIENT_CELL * (1 + (size_t)in.nslots));
    nay__store32le(dst, in.count);
    dst[4] = (uint8_t)in.q;
    dst[5] = (uint8_t)in.r;
    dst[6] = (uint8_t)form;
  }
  NAY_TRY(form == QUOTIENT_SLOTS ? quotient_read_slots(&in, diag) : quotient_read_rows(&in, diag));
  if (in.at != len) return nay__fail(diag, NAY_ECORRUPT, "bytes follow the last slot", in.at);
  *size = QUOTIENT_CELL * (1 + (size_t)in.nslots);
  *extra = in.q | in.r << 8 | form << 16;
  return dst != NULL && in.nslots != 0 ? quotient_check_reach(dst, in.nslots, diag) : NAY_OK;
}

static uint64_t quotient_packed_size(const nay_shape *shape, uint64_t nkeys) {
  if (quotient_form(shape) == QUOTIENT_COMPACT) return QUOTIENT_HEADER + QUOTIENT_ROW * nkeys;
  return QUOTIENT_HEADER + shape->nunits + (QUOTIENT_USED - 1) * nkeys;
}

static nay_status quotient_parse(const uint8_t *flat, size_t len, nay_diag *diag, nay_shape *shape,
                                 nay_span *payload) {
  (void)diag; /* unpack has checked */
  *shape = (nay_shape){.nunits = len / QUOTIENT_CELL - 1, .k = 1};
  shape->extra = flat[4] | (uint32_t)flat[5] << 8 | (uint32_t)flat[6] << 16;
  *payload = (nay_span){(uint8_t *)(uintptr_t)flat, len};
  return NAY_OK;
}

static const nay_format *quotient_variant(const nay_format *named, const uint8_t *flat,
                                          size_t len) {
  (void)named, (void)len;
  return flat[6] == QUOTIENT_SLOTS ? &nay__format_nori_quotient
                                   : &nay__format_nori_quotient_compact;
}

/* One slot of either form; returns how many bytes it takes. */
static size_t quotient_write_cell(const uint8_t *cell, uint32_t form, uint32_t slot, uint8_t *dst) {
  if (form == QUOTIENT_COMPACT) {
    nay__store32le(dst, slot);
    memcpy(dst + 4, cell, 6);
    return QUOTIENT_ROW;
  }
  dst[0] = 1;
  memcpy(dst + 1, cell, 6);
  return QUOTIENT_USED;
}

static nay_status quotient_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  uint32_t form = quotient_form(&f->shape), count = quotient_count(f);
  size_t nslots = (size_t)f->shape.nunits;
  *size =
      QUOTIENT_HEADER + (form == QUOTIENT_COMPACT ? (size_t)count * QUOTIENT_ROW
                                                  : nslots + (size_t)count * (QUOTIENT_USED - 1));
  if (dst == NULL) return NAY_OK;
  dst[0] = (uint8_t)form;
  dst[1] = (uint8_t)quotient_q(&f->shape);
  dst[2] = (uint8_t)quotient_r(&f->shape);
  nay__store32le(dst + 3, count);
  nay__store32le(dst + 7, (uint32_t)nslots);
  dst += QUOTIENT_HEADER;
  for (size_t slot = 0; slot < nslots; slot++) {
    const uint8_t *cell = quotient_cell(f, slot);
    if (cell[6] != 0) {
      dst += quotient_write_cell(cell, form, (uint32_t)slot, dst);
    } else if (form == QUOTIENT_SLOTS) {
      *dst++ = 0;
    }
  }
  return NAY_OK;
}

static const char *quotient_caveat(const nay_filter *f) {
  return quotient_is_full(f) ? "every slot is in use: nori drops and denies further keys, so every "
                               "answer here is maybe"
                             : NULL;
}

const nay_format nay__format_nori_quotient = {
    .name = "nori-quotient",
    .about = "nori-sstable's quotient filter, as its blocks store it",
    .family = &quotient_family,
    .hash = &nay__nori_hash,
    .plan = quotient_plan_slots,
    .rate = quotient_bits_rate,
    .variant = quotient_variant,
    .parse = quotient_parse,
    .planned = quotient_planned,
    .overhead = QUOTIENT_HEADER - QUOTIENT_CELL,
    .unpack = quotient_unpack,
    .pack = quotient_pack,
    .packed_size = quotient_packed_size,
    .caveat = quotient_caveat,
};

const nay_format nay__format_nori_quotient_compact = {
    .name = "nori-quotient-compact",
    .about = "nori-sstable's quotient filter, the compact form of its API",
    .family = &quotient_family,
    .hash = &nay__nori_hash,
    .plan = quotient_plan_compact,
    .rate = quotient_bits_rate,
    .variant = quotient_variant,
    .parse = quotient_parse,
    .planned = quotient_planned,
    .overhead = QUOTIENT_HEADER - QUOTIENT_CELL,
    .unpack = quotient_unpack,
    .pack = quotient_pack,
    .packed_size = quotient_packed_size,
    .caveat = quotient_caveat,
};
