/*
 * fuzz_mutable.c - the families that change, twice over: programs of operations against an exact
 * multiset, and payloads that an enemy wrote. The input is
 *
 *   family and params (2 bytes), then operations, one byte each with its arguments behind it
 *
 * Operation 15 writes the next bytes into the payload and asks check(): when that accepts them, the
 * model is worth nothing any more, but everything must stay safe to call.
 */
#include <stdlib.h>

#include "family/family.h"
#include "filter.h"
#include "nay_advanced.h"
#include "support/explained.h"

#define NKEYS 64u

typedef struct fuzz {
  const uint8_t *at, *end;
  nay_filter *f;
  uint32_t count[NKEYS];
  bool hostile; /* the payload is not ours: no promise but safety */
} fuzz;

static void require(bool condition) {
  if (!condition) abort();
}

static uint8_t next_byte(fuzz *z) { return z->at < z->end ? *z->at++ : 0; }

static nay_hash key_hash(unsigned key) { return (nay_hash){nay_hash_mix(key), 0}; }

static nay_params draw_params(fuzz *z) {
  uint8_t kind = next_byte(z), knobs = next_byte(z);
  nay_params p = {sizeof p, .nkeys = 1 + (knobs & 31u), .fpr = 0.02, .hash = NAY_HASH_CALLER};
  switch (kind % 4) {
    case 0: p.kind = NAY_COUNTING; break;
    case 1: p.kind = NAY_SCALABLE; break;
    case 2:
      p.kind = NAY_WINDOW;
      p.generations = 1 + kind / 4u % 15;
      p.window = (knobs & 32) != 0 ? 20 + knobs : 0;
      break;
    default:
      p.kind = NAY_CUCKOO;
      p.tag_bits = 6 + kind / 4u % 20;
      p.fpr = 0.5;
      if ((knobs & 32) != 0) p.max_nkeys = p.nkeys * 8;
      break;
  }
  if ((knobs & 64) != 0 && (p.kind == NAY_COUNTING || p.kind == NAY_CUCKOO)) p.flags = NAY_UNIQUE;
  return p;
}

static void op_add(fuzz *z) {
  unsigned key = next_byte(z) % NKEYS;
  bool before = nay_filter_may_contain_hash(z->f, key_hash(key)), is_new = !before;
  nay_status status = nay_filter_add_hash(z->f, key_hash(key), &is_new);
  if (z->hostile) return;
  if (status == NAY_EFULL) return;
  require(status == NAY_OK && is_new == !before);
  bool kept = (z->f->shape.extra & (z->f->family->kind == NAY_CUCKOO ? 0x10000u : 1u)) != 0;
  bool unique = kept && (z->f->family->traits & NAY_CAN_REMOVE) != 0;
  if (!unique || !before) z->count[key]++;
}

static void op_remove(fuzz *z) {
  unsigned key = next_byte(z) % NKEYS;
  bool before = nay_filter_may_contain_hash(z->f, key_hash(key));
  if (z->count[key] == 0 && before && !z->hostile) return; /* would be somebody else's */
  nay_status status = nay_filter_remove_hash(z->f, key_hash(key));
  if (z->hostile) return;
  if ((z->f->family->traits & NAY_CAN_REMOVE) == 0) {
    require(status == NAY_ENOTSUP);
  } else if (before) {
    require(status == NAY_OK);
    z->count[key]--;
  } else {
    require(status == NAY_ENOENT);
  }
}

static void op_reload(fuzz *z) {
  size_t len = nay_filter_encoded_size(z->f), written = 0;
  uint8_t *bytes = malloc(len);
  require(bytes != NULL && nay_filter_encode(z->f, bytes, len, &written) == NAY_OK);
  nay_filter *read;
  require(nay_filter_decode(bytes, written, NULL, NULL, &read) == NAY_OK);
  free(bytes);
  nay_filter_free(z->f);
  z->f = read;
}

static void op_merge(fuzz *z) {
  nay_filter *copy;
  require(nay_filter_copy(z->f, NULL, NULL, &copy) == NAY_OK);
  nay_status status = nay_filter_merge(z->f, copy, 1.0, NULL);
  if (status == NAY_OK && !z->hostile) {
    for (unsigned i = 0; i < NKEYS; i++) z->count[i] *= 2;
  }
  nay_filter_free(copy);
}

static void op_fold(fuzz *z) {
  uint64_t factor;
  if (nay_filter_fold_factor(z->f, 0.5, &factor) == NAY_OK)
    (void)nay_filter_fold(z->f, factor, NULL);
}

static void op_advance(fuzz *z) {
  uint64_t now = (uint64_t)next_byte(z) << (next_byte(z) % 57);
  (void)nay_filter_advance(z->f, now);
}

static void op_overwrite(fuzz *z) {
  unsigned at = next_byte(z) % 8 * 24, n = next_byte(z) % 32;
  nay_filter *bad;
  require(nay_filter_copy(z->f, NULL, NULL, &bad) == NAY_OK);
  for (unsigned i = 0; i < n; i++) bad->bits.bytes[(at + i) % bad->nbytes] ^= next_byte(z);
  if (bad->family->check(&bad->shape, bad->bits.bytes, bad->nbytes, NULL) != NAY_OK) {
    nay_filter_free(bad);
    return;
  }
  nay_filter_free(z->f);
  z->f = bad;
  z->hostile = true;
}

static void op_look(fuzz *z) {
  static explained e;
  nay_stats stats = {.size = sizeof stats};
  uint64_t count;
  require(nay_filter_stats(z->f, &stats) == NAY_OK);
  for (unsigned key = 0; key < NKEYS; key++) {
    bool maybe = nay_filter_may_contain_hash(z->f, key_hash(key));
    if (key % 8 == 0) require(explained_hash(z->f, key_hash(key), NULL, &e) == NULL);
    bool counted = nay__filter_count_hash(z->f, key_hash(key), &count) == NAY_OK;
    if (z->hostile || z->count[key] == 0 || (z->f->family->traits & NAY_CAN_EXPIRE) != 0) continue;
    require(maybe);
    if (counted) require(count >= (z->count[key] < 15 ? z->count[key] : 15));
  }
}

static void step(fuzz *z) {
  switch (next_byte(z) & 15) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: op_add(z); break;
    case 6:
    case 7:
    case 8: op_remove(z); break;
    case 9: op_look(z); break;
    case 10: op_reload(z); break;
    case 11: op_merge(z); break;
    case 12: op_fold(z); break;
    case 13: op_advance(z); break;
    case 14:
      require(nay_filter_clear(z->f) == NAY_OK);
      for (unsigned i = 0; i < NKEYS; i++) z->count[i] = 0;
      break;
    default: op_overwrite(z); break;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
  fuzz z = {.at = bytes, .end = bytes + len};
  nay_params p = draw_params(&z);
  if (nay_filter_new(&p, NULL, NULL, &z.f) != NAY_OK) return 0;
  for (unsigned i = 0; z.at < z.end && i < 2000 && z.f->nbytes < 1 << 20; i++) step(&z);
  op_look(&z);
  nay_filter_free(z.f);
  return 0;
}
