/*
 * filter_inline.c - what the inline probes of nay_inline.h take from a filter.
 *
 * The probes themselves are in the header, compiled into programs that may run with a later
 * library. They know the payload, which is the file format, and the three structs that are filled
 * here; of the handle they know nothing. So this file is where a filter that they cannot answer is
 * refused: what a family adds to its layout is refused here until it gets a shape of its own.
 */
#include "base/bytes.h"
#include "family/fuse.h"
#include "family/sbbf.h"
#include "filter.h"
#include "nay_inline.h"

/* The header repeats the constants of base/patterns.h, which is not public. */
_Static_assert(NAY_INLINE_G32 == NAY_G32, "blocked: the pattern");
_Static_assert(NAY_INLINE_G32_POW_8 == NAY_G32_POW_8, "blocked: the pattern");
_Static_assert(NAY_INLINE_G32_POW_16 == NAY_G32_POW_16, "blocked: the pattern");
_Static_assert(NAY_INLINE_REMIX == NAY_REMIX, "fuse: slots");
_Static_assert(NAY_INLINE_FOURTH == NAY_FINGERPRINT, "fuse: the fourth slot");
_Static_assert(NAY_BLOCK_BYTES == 64 && NAY_BLOCK_BIT_SHIFT == 23, "blocked: the block");
_Static_assert(NAY_FUSE_SAYS_NAY == 0 && NAY_FUSE_SAYS_MAYBE == 2, "fuse: fixed answers");
_Static_assert(NAY_FUSE_MAX_SEGMENT == 1 << 16, "fuse: slices of 16 bits");

/* A shape is one struct for ever: programs have it compiled in. */
_Static_assert(sizeof(void *) != 8 || sizeof(nay_inline_blocked) == 32, "the ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(nay_inline_fuse) == 48, "the ABI");
_Static_assert(sizeof(void *) != 8 || sizeof(nay_inline_sbbf) == 24, "the ABI");

/* What both kinds of probes need of a filter. */
static nay_status inline_check(const nay_filter *f, const nay_family *family, const void *probe,
                               const char *other, nay_diag *diag) {
  if (f == NULL || probe == NULL) return nay__fail(diag, NAY_EINVAL, "an argument is NULL", 0);
  /* other systems' layouts have families of their own */
  if (f->family != family) return nay__fail(diag, NAY_ENOTSUP, other, 0);
  if (f->hasher.locked) {
    return nay__fail(diag, NAY_EKEY, "the filter is locked: nay_filter_unlock first", 0);
  }
  if (f->lazy != NULL) {
    return nay__fail(diag, NAY_ENOTSUP,
                     "a lazily mapped filter verifies what it reads: map it without NAY_MMAP_LAZY",
                     0);
  }
  return NAY_OK;
}

static nay_status inline_blocked(const nay_filter *f, nay_diag *diag, nay_inline_blocked *probe) {
  NAY_TRY(inline_check(f, &nay__family_blocked, probe, "not a blocked filter", diag));
  if ((f->flags & NAY_CONCURRENT) != 0) {
    return nay__fail(diag, NAY_ENOTSUP,
                     "the filter takes concurrent adds: an inline probe reads without atomics", 0);
  }
  *probe = (nay_inline_blocked){
      .filter = f, .blocks = f->bits.bytes, .nblocks = f->shape.nunits, .k = f->shape.k};
  return NAY_OK;
}

static nay_status inline_sbbf(const nay_filter *f, nay_diag *diag, nay_inline_sbbf *probe) {
  NAY_TRY(inline_check(f, &nay__family_sbbf, probe, "not a split-block filter", diag));
  *probe = (nay_inline_sbbf){.filter = f, .blocks = f->bits.bytes, .nblocks = f->shape.nunits};
  return NAY_OK;
}

/* Whether the probes of the header are enough: hashes as they come, every shard with its slots. */
static bool inline_fuse_is_plain(const nay_filter *f, const nay_fuse_view *v) {
  uint64_t odd = 1;
  for (uint64_t i = 0; i < v->nshards; i++) odd &= nay__fuse_factor(v, i);
  return nay__load64le(f->bits.bytes) == 0 && !nay__fuse_is_fixed(odd);
}

static nay_status inline_fuse(const nay_filter *f, unsigned bits, unsigned slots, nay_diag *diag,
                              nay_inline_fuse *probe) {
  NAY_TRY(inline_check(f, &nay__family_fuse, probe, "not a fuse filter", diag));
  if (nay__fuse_bits(&f->shape) != bits || f->shape.k != slots) {
    return nay__fail(diag, NAY_ENOTSUP, "a fuse filter of other fingerprints or slots", 0);
  }
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (!inline_fuse_is_plain(f, &v)) {
    return nay__fail(diag, NAY_ENOTSUP, "a shard without slots, or hashes that are mixed first", 0);
  }
  *probe = (nay_inline_fuse){.arrays = v.arrays,
                             .factors = v.factors,
                             .nshards = v.nshards,
                             .stride = v.stride,
                             .span = v.span,
                             .segment = v.segment};
  return NAY_OK;
}

nay_status nay_filter_inline(const nay_filter *f, uint32_t shape, size_t size, nay_diag *diag,
                             void *probe) {
  size_t own = shape == NAY_INLINE_BLOCKED ? sizeof(nay_inline_blocked)
               : shape == NAY_INLINE_SBBF  ? sizeof(nay_inline_sbbf)
                                           : sizeof(nay_inline_fuse);
  if (shape < NAY_INLINE_BLOCKED || shape > NAY_INLINE_SBBF) {
    return nay__fail(diag, NAY_ENOTSUP, "a shape of probes that this library does not know", 0);
  }
  if (size != own) return nay__fail(diag, NAY_EINVAL, "size is not that of the shape's struct", 0);
  switch (shape) {
    case NAY_INLINE_FUSE8: return inline_fuse(f, 8, 3, diag, probe);
    case NAY_INLINE_FUSE16: return inline_fuse(f, 16, 3, diag, probe);
    case NAY_INLINE_FUSE8_4WISE: return inline_fuse(f, 8, 4, diag, probe);
    case NAY_INLINE_FUSE16_4WISE: return inline_fuse(f, 16, 4, diag, probe);
    case NAY_INLINE_SBBF: return inline_sbbf(f, diag, probe);
    default: return inline_blocked(f, diag, probe);
  }
}
