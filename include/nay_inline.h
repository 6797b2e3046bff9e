/* Experimental: any minor version may change what is here; symbols then get another version. */
/*
 * nay_inline.h - probes that the compiler inlines into your loop, for blocked, split-block and fuse
 * filters.
 *
 *   nay_inline_blocked probe;
 *   if (nay_inline_blocked_init(filter, NULL, &probe) == NAY_OK) {
 *     for (size_t i = 0; i < n; i++) maybes += nay_inline_blocked_may_contain(&probe, hashes[i]);
 *   } else {
 *     for (size_t i = 0; i < n; i++) maybes += nay_filter_may_contain_hash(filter, ...);
 *   }
 *
 * WHEN. nay_filter_may_contain_hash is an indirect call of code for this CPU. Inlined, the shape of
 * the filter stays in registers and a probe has fewer instructions, so that the CPU works on more
 * iterations of your loop at once and more of their cache misses overlap. Take it for a loop of
 * your own that probes one filter. When the hashes are in an array already, the batch calls of
 * nay.h are faster still, because they prefetch.
 *
 * HOW. Init checks family and shape once, and copies what a probe needs: addresses and numbers. A
 * probe then does what the filter's own code does, with the same answer. Keep the struct in a local
 * variable: it stays in registers. A condition around the loop makes a field constant inside it:
 *
 *   if (probe.k == 6) { for (...) ... } else { for (...) ... }               blocked
 *   if (probe.fuse.nshards == 1) { for (...) ... } else { for (...) ... }    fuse
 *
 * The answers are the same with and without; the second lets clang vectorize the loop. Compile with
 * -march=native, -mavx2 or -mavx512f -mavx512vl: then a probe of a blocked filter tests eight or
 * sixteen bits at a time, and one of an sbbf filter its eight bits; on aarch64 both do so without a
 * flag. fuse is portable C.
 *
 * HASHES are an array that nay_hasher_hash_many has filled, the low word of nay_hasher_hash, or
 * your own (NAY_HASH_CALLER). There is no call for a key of bytes: nay_filter_may_contain hashes
 * and probes in one, which is faster than a call that hashes and an inline probe.
 *
 * LIFETIME. A probe ends when the filter changes in another way than by adds: do not use it after
 * free, merge, intersect, fold or clear, or when a view or its bytes are gone. Adds to a blocked or
 * sbbf filter by the same thread are seen.
 *
 * INIT REFUSES what these probes cannot answer, and diag says why:
 *
 *   NAY_EINVAL    an argument is NULL
 *   NAY_EKEY      the filter is locked
 *   NAY_ENOTSUP   another family, another system's layout, other fingerprints or slots; a lazily
 *                 mapped file, as a probe would not verify what it reads; a blocked filter that
 *                 takes concurrent adds (NAY_CONCURRENT); a fuse filter of no keys, or of hashes
 *                 that were not random
 *
 * Go on with nay_filter_may_contain_hash then, which answers for every filter. A refusal leaves the
 * probe as it was.
 *
 * ABI. A shape's number stands for one struct and one algorithm. What a probe reads is the payload
 * of the file format; of the handle it reads nothing. A later library refuses filters that these
 * probes cannot answer, or a whole shape (NAY_ENOTSUP), and the program takes its other branch.
 */
#ifndef NAY_INLINE_H
#define NAY_INLINE_H

#include "nay_advanced.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define NAY_INLINE_PROBE static inline __attribute__((always_inline))
#define NAY_INLINE_PREFETCH(p) __builtin_prefetch(p)
#define NAY_INLINE_UNLIKELY(x) __builtin_expect(x, 0)
#else
#define NAY_INLINE_PROBE static inline
#define NAY_INLINE_PREFETCH(p) ((void)(p))
#define NAY_INLINE_UNLIKELY(x) (x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The constants of the file format (doc/formats/nay.md). */
#define NAY_INLINE_G32 0x9e3779b9u       /* blocked: from one bit of a key to the next */
#define NAY_INLINE_G32_POW_8 0xab25f4c1u /* eight bits on */
#define NAY_INLINE_G32_POW_16 0x7fca7981u
#define NAY_INLINE_REMIX 0xd6e8feb86659fd93u  /* fuse */
#define NAY_INLINE_FOURTH 0xa0761d6478bd642fu /* fuse: the fourth slot */

/* ---- words ---- */

/* The high and the low half of a * b. */
NAY_INLINE_PROBE uint64_t nay_inline_mul(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 nay_inline_u128;
  nay_inline_u128 product = (nay_inline_u128)a * b;
  *low = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32);
  uint64_t mid2 = al * bh + (uint32_t)mid;
  *low = a * b;
  return ah * bh + (mid >> 32) + (mid2 >> 32);
#endif
}

/* floor(hash * n / 2^64): from a hash to one of n. */
NAY_INLINE_PROBE uint64_t nay_inline_reduce(uint64_t hash, uint64_t n) {
  uint64_t low;
  return nay_inline_mul(hash, n, &low);
}

/* Little-endian loads at any alignment; compilers make one instruction of each. */
NAY_INLINE_PROBE uint32_t nay_inline_load16(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

NAY_INLINE_PROBE uint64_t nay_inline_load64(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
         (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* ---- shapes ---- */

/* A number stands for one struct and one algorithm, and is never used again. */
#define NAY_INLINE_BLOCKED 1u     /* nay_inline_blocked */
#define NAY_INLINE_FUSE8 2u       /* nay_inline_fuse, as are the next */
#define NAY_INLINE_FUSE16 3u      /* fingerprints of 16 bits */
#define NAY_INLINE_FUSE8_4WISE 4u /* four slots */
#define NAY_INLINE_FUSE16_4WISE 5u
#define NAY_INLINE_SBBF 6u /* nay_inline_sbbf */

/*
 * nay_filter_inline: the library's part of the inits below. size is that of the shape's struct,
 * else NAY_EINVAL. A library that does not know the shape, or no longer, returns NAY_ENOTSUP.
 */
NAY_API nay_status nay_filter_inline(const nay_filter *filter, uint32_t shape, size_t size,
                                     nay_diag *diag, void *probe);

/* ---- blocked ---- */

/* nay_inline_blocked: a blocked filter, as a probe sees it. */
typedef struct nay_inline_blocked {
  const nay_filter *filter;
  const uint8_t *blocks; /* of 64 bytes */
  uint64_t nblocks;
  uint64_t k; /* bits of a key in its block, 1 to 64 */
} nay_inline_blocked;

/* nay_inline_blocked_init: probes of a blocked filter. Statuses: above, "init refuses". */
NAY_INLINE_PROBE nay_status nay_inline_blocked_init(const nay_filter *filter, nay_diag *diag,
                                                    nay_inline_blocked *probe) {
  nay_inline_blocked made; /* the library sees this address, so *probe can stay in registers */
  nay_status status = nay_filter_inline(filter, NAY_INLINE_BLOCKED, sizeof made, diag, &made);
  if (status == NAY_OK) *probe = made;
  return status;
}

NAY_INLINE_PROBE const uint8_t *nay_inline_block(const nay_inline_blocked *probe, uint64_t hash) {
  return probe->blocks + nay_inline_reduce(hash, probe->nblocks) * 64;
}

/*
 * Bit i of a key is (h * g^i mod 2^32) >> 23 of the 512 of its block. nay_inline_bits_8 tests the
 * first `left` of up to eight, nay_inline_bits the next eight or sixteen. No branch depends on the
 * block: it would be mispredicted, and discard the misses of later keys.
 */
#if defined(__AVX512F__) && defined(__AVX512VL__)

#define NAY_INLINE_VECTORS
#define NAY_INLINE_AT_ONCE 16u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_16
NAY_INLINE_PROBE __m512i nay_inline_powers(void) {
  return _mm512_setr_epi32(0x00000001, (int)0x9e3779b9, (int)0xe35e67b1, 0x734297e9, 0x35fbe861,
                           (int)0xdeb7c719, 0x0448b211, 0x3459b749, (int)0xab25f4c1, 0x52941879,
                           (int)0x9c95e071, (int)0xf5ab9aa9, 0x2d6ba521, (int)0x8bededd9,
                           (int)0x9bfb72d1, 0x3ae1c209);
}

/* Half a register: less work on some CPUs. */
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  const __m256i powers = _mm256_setr_epi32(0x00000001, (int)0x9e3779b9, (int)0xe35e67b1, 0x734297e9,
                                           0x35fbe861, (int)0xdeb7c719, 0x0448b211, 0x3459b749);
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int)h), powers);
  __m256i words = _mm256_permutex2var_epi32(low, _mm256_srli_epi32(probes, 28), high);
  __m256i wanted = _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(probes, 23));
  return _mm256_mask_testn_epi32_mask((__mmask8)((1u << left) - 1), words, wanted) == 0;
}

/* All lanes by mask: the forms without one start from an undefined register, and g++ 12 warns. */
NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  const __mmask16 all = (__mmask16)0xffff;
  __m512i probes = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), nay_inline_powers());
  __m512i words = _mm512_maskz_permutexvar_epi32(all, _mm512_maskz_srli_epi32(all, probes, 28),
                                                 _mm512_loadu_si512(block));
  __m512i wanted =
      _mm512_maskz_rolv_epi32(all, _mm512_set1_epi32(1), _mm512_maskz_srli_epi32(all, probes, 23));
  __mmask16 lanes = left < 16 ? (__mmask16)((1u << left) - 1) : all;
  return _mm512_mask_testn_epi32_mask(lanes, words, wanted) == 0;
}

#elif defined(__AVX2__)

#define NAY_INLINE_VECTORS
#define NAY_INLINE_AT_ONCE 8u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_8
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  const __m256i powers = _mm256_setr_epi32(0x00000001, (int)0x9e3779b9, (int)0xe35e67b1, 0x734297e9,
                                           0x35fbe861, (int)0xdeb7c719, 0x0448b211, 0x3459b749);
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int)h), powers);
  /* the top 4 bits are one of sixteen words, the topmost chooses the half */
  __m256i at = _mm256_srli_epi32(probes, 28);
  __m256 in_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, at));
  __m256 in_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, at));
  __m256 words = _mm256_blendv_ps(in_low, in_high, _mm256_castsi256_ps(probes));
  /* the next 5 are one of its bits; lanes from `left` on want none */
  __m256i one = _mm256_srli_epi32(_mm256_sub_epi32(index, _mm256_set1_epi32((int)left)), 31);
  __m256i wanted = _mm256_sllv_epi32(one, _mm256_srli_epi32(_mm256_slli_epi32(probes, 4), 27));
  return _mm256_testc_si256(_mm256_castps_si256(words), wanted) != 0;
}

NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  return nay_inline_bits_8(block, h, left);
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(NAY_INLINE_PORTABLE)

#define NAY_INLINE_AT_ONCE 8u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_8
/* A table lookup in the 64 bytes of the block fetches the byte of each bit. */
NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  static const uint32_t powers[8] = {0x00000001u, 0x9e3779b9u, 0xe35e67b1u, 0x734297e9u,
                                     0x35fbe861u, 0xdeb7c719u, 0x0448b211u, 0x3459b749u};
  const uint8x8_t index = vcreate_u8(0x0706050403020100u);
  uint8x16x4_t table = {
      {vld1q_u8(block), vld1q_u8(block + 16), vld1q_u8(block + 32), vld1q_u8(block + 48)}};
  uint32x4_t a = vmulq_u32(vdupq_n_u32(h), vld1q_u32(powers));
  uint32x4_t b = vmulq_u32(vdupq_n_u32(h), vld1q_u32(powers + 4));
  uint16x8_t at = vcombine_u16(vmovn_u32(vshrq_n_u32(a, 23)), vmovn_u32(vshrq_n_u32(b, 23)));
  uint8x8_t shift = vand_u8(vmovn_u16(at), vdup_n_u8(7));
  uint8x8_t wanted = vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(shift));
  uint8x8_t set = vtst_u8(vqtbl4_u8(table, vshrn_n_u16(at, 3)), wanted);
  uint8x8_t beyond = vcge_u8(index, vdup_n_u8((uint8_t)left)); /* lanes from `left` on want none */
  return vminv_u8(vorr_u8(set, beyond)) != 0;
}

NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  return nay_inline_bits(block, h, left);
}

#else

#define NAY_INLINE_AT_ONCE 8u
#define NAY_INLINE_NEXT_BITS NAY_INLINE_G32_POW_8
NAY_INLINE_PROBE bool nay_inline_bits_8(const uint8_t *block, uint32_t h, uint32_t left) {
  uint32_t set = 1;
  for (uint32_t i = 0; i < left; i++, h *= NAY_INLINE_G32) {
    set &= (uint32_t)block[h >> 26] >> (h >> 23 & 7);
  }
  return set != 0;
}

NAY_INLINE_PROBE bool nay_inline_bits(const uint8_t *block, uint32_t h, uint32_t left) {
  return nay_inline_bits_8(block, h, left < 8 ? left : 8);
}

#endif

/*
 * nay_inline_blocked_may_contain: false is certain, true is a maybe. Compiled for x86-64 without
 * AVX2 this calls the filter's own code, which is chosen for the CPU at run time: portable C takes
 * twice as long, inlined or not.
 */
NAY_INLINE_PROBE bool nay_inline_blocked_may_contain(const nay_inline_blocked *probe,
                                                     uint64_t hash) {
#if defined(__x86_64__) && !defined(NAY_INLINE_VECTORS) && !defined(NAY_INLINE_PORTABLE)
  nay_hash both = {hash, 0};
  return nay_filter_may_contain_hash(probe->filter, both);
#else
  const uint8_t *block = nay_inline_block(probe, hash);
  uint32_t h = (uint32_t)hash, left = (uint32_t)probe->k;
  if (left <= 8) return nay_inline_bits_8(block, h, left);
  for (;; left -= NAY_INLINE_AT_ONCE, h *= NAY_INLINE_NEXT_BITS) {
    bool set = nay_inline_bits(block, h, left);
    if (left <= NAY_INLINE_AT_ONCE || !set) return set;
  }
#endif
}

/* nay_inline_blocked_prefetch: the cache line that a probe of this hash reads. */
NAY_INLINE_PROBE void nay_inline_blocked_prefetch(const nay_inline_blocked *probe, uint64_t hash) {
  NAY_INLINE_PREFETCH(nay_inline_block(probe, hash));
}

/* ---- sbbf ---- */

/* nay_inline_sbbf: a split-block filter, as a probe sees it. Its hash is XXH64 of the value, seed
   0. */
typedef struct nay_inline_sbbf {
  const nay_filter *filter;
  const uint8_t *blocks; /* of 32 bytes */
  uint64_t nblocks;
} nay_inline_sbbf;

/* nay_inline_sbbf_init: probes of a split-block filter. Statuses: above, "init refuses". */
NAY_INLINE_PROBE nay_status nay_inline_sbbf_init(const nay_filter *filter, nay_diag *diag,
                                                 nay_inline_sbbf *probe) {
  nay_inline_sbbf made;
  nay_status status = nay_filter_inline(filter, NAY_INLINE_SBBF, sizeof made, diag, &made);
  if (status == NAY_OK) *probe = made;
  return status;
}

NAY_INLINE_PROBE const uint8_t *nay_inline_sbbf_block(const nay_inline_sbbf *probe, uint64_t hash) {
  return probe->blocks + ((hash >> 32) * probe->nblocks >> 32) * 32;
}

/* Word i of the block has bit (h * salt[i] mod 2^32) >> 27 of the key. */
#define NAY_INLINE_SALTS                                                              \
  0x47b6137b, 0x44974d91, (int)0x8824ad5bu, (int)0xa2b7289du, 0x705495c7, 0x2df1424b, \
      (int)0x9efc4947u, 0x5c6bfb31
#if defined(__AVX2__)

NAY_INLINE_PROBE bool nay_inline_sbbf_bits(const uint8_t *block, uint32_t h) {
  __m256i products =
      _mm256_mullo_epi32(_mm256_set1_epi32((int)h), _mm256_setr_epi32(NAY_INLINE_SALTS));
  __m256i wanted = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
  return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *)(const void *)block), wanted) != 0;
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(NAY_INLINE_PORTABLE)

NAY_INLINE_PROBE uint32x4_t nay_inline_sbbf_half(const uint8_t *half, uint32_t h, int32x4_t salt) {
  uint32x4_t bit = vshrq_n_u32(vmulq_n_u32(vreinterpretq_u32_s32(salt), h), 27);
  uint32x4_t wanted = vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit));
  return vtstq_u32(vreinterpretq_u32_u8(vld1q_u8(half)), wanted);
}

NAY_INLINE_PROBE bool nay_inline_sbbf_bits(const uint8_t *block, uint32_t h) {
  static const int32_t salts[8] = {NAY_INLINE_SALTS};
  uint32x4_t low = nay_inline_sbbf_half(block, h, vld1q_s32(salts));
  uint32x4_t high = nay_inline_sbbf_half(block + 16, h, vld1q_s32(salts + 4));
  return vminvq_u32(vandq_u32(low, high)) != 0;
}

#else

NAY_INLINE_PROBE bool nay_inline_sbbf_bits(const uint8_t *block, uint32_t h) {
  static const int32_t salts[8] = {NAY_INLINE_SALTS};
  uint32_t set = 1;
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t bit = h * (uint32_t)salts[i] >> 27;
    set &= (uint32_t)block[4 * i + bit / 8] >> (bit & 7);
  }
  return set != 0;
}

#endif

/* nay_inline_sbbf_may_contain: false is certain, true is a maybe. Compiled for x86-64 without AVX2
   it calls the filter's own code, as nay_inline_blocked_may_contain does. */
NAY_INLINE_PROBE bool nay_inline_sbbf_may_contain(const nay_inline_sbbf *probe, uint64_t hash) {
#if defined(__x86_64__) && !defined(__AVX2__) && !defined(NAY_INLINE_PORTABLE)
  nay_hash both = {hash, 0};
  return nay_filter_may_contain_hash(probe->filter, both);
#else
  return nay_inline_sbbf_bits(nay_inline_sbbf_block(probe, hash), (uint32_t)hash);
#endif
}

/* nay_inline_sbbf_prefetch: the cache line that a probe of this hash reads. */
NAY_INLINE_PROBE void nay_inline_sbbf_prefetch(const nay_inline_sbbf *probe, uint64_t hash) {
  NAY_INLINE_PREFETCH(nay_inline_sbbf_block(probe, hash));
}

/* ---- fuse ---- */

/*
 * nay_inline_fuse: a fuse filter, as a probe sees it. Above 2^21 keys the set is cut into shards by
 * the top bits of the hash; each has an array of slots and a factor of its own.
 */
typedef struct nay_inline_fuse {
  const uint8_t *arrays;  /* the slots of shard 0; those of the next shard are `stride` bytes on */
  const uint8_t *factors; /* of 8 bytes */
  uint64_t nshards, stride;
  uint64_t span;    /* so many slots can be the first of a key */
  uint64_t segment; /* the others are in the segments after it; a power of two */
} nay_inline_fuse;

/* Where a hash is: the addresses of its slots. `bits` and `slots` are constants. */
typedef struct nay_inline_slots {
  uint64_t fingerprint;
  const uint8_t *at[4];
} nay_inline_slots;

NAY_INLINE_PROBE nay_inline_slots nay_inline_locate(const nay_inline_fuse *probe, unsigned bits,
                                                    unsigned slots, uint64_t hash) {
  nay_inline_slots found;
  const uint8_t *array = probe->arrays, *factor = probe->factors;
  uint64_t low, high = nay_inline_mul(hash, NAY_INLINE_REMIX, &low), m = high ^ low;
  uint64_t first = nay_inline_reduce(m, probe->span), mask = probe->segment - 1;
  if (NAY_INLINE_UNLIKELY(probe->nshards != 1)) {
    uint64_t shard = nay_inline_reduce(hash, probe->nshards);
    array += shard * probe->stride;
    factor += 8 * shard;
  }
  uint64_t w = found.fingerprint = m * nay_inline_load64(factor);
  uint64_t slices = w & (mask << 48 | mask << 32); /* of 16 bits at most; one `and` for both */
  found.at[0] = array + first * (bits / 8);
  found.at[1] = array + ((first + probe->segment) ^ slices >> 48) * (bits / 8);
  found.at[2] = array + ((first + 2 * probe->segment) ^ (uint16_t)(slices >> 32)) * (bits / 8);
  found.at[3] = found.at[0];
  if (slots == 4) {
    uint64_t fourth = w * NAY_INLINE_FOURTH >> 48 & mask;
    found.at[3] = array + ((first + 3 * probe->segment) ^ fourth) * (bits / 8);
  }
  return found;
}

/* Whether the xor of the slots is the fingerprint. */
NAY_INLINE_PROBE bool nay_inline_fits(nay_inline_slots found, unsigned bits, unsigned slots) {
  if (bits == 8) {
    uint8_t sum = (uint8_t)(*found.at[0] ^ *found.at[1] ^ *found.at[2]);
    if (slots == 4) sum = (uint8_t)(sum ^ *found.at[3]);
    return sum == (uint8_t)found.fingerprint;
  }
  uint32_t sum = nay_inline_load16(found.at[0]) ^ nay_inline_load16(found.at[1]);
  sum ^= nay_inline_load16(found.at[2]);
  if (slots == 4) sum ^= nay_inline_load16(found.at[3]);
  return sum == (uint16_t)found.fingerprint;
}

/*
 * A type for each shape, so that its numbers are constants in the probe and cannot be mixed up:
 *
 *   nay_inline_fuse8    nay_inline_fuse8_4wise      fingerprints of 8 bits, 3 and 4 slots
 *   nay_inline_fuse16   nay_inline_fuse16_4wise     16 bits
 *
 * each with, as for nay_inline_blocked,
 *
 *   nay_status TYPE_init(const nay_filter *, nay_diag *, TYPE *)
 *   bool TYPE_may_contain(const TYPE *, uint64_t hash)
 *   void TYPE_prefetch(const TYPE *, uint64_t hash)
 */
#define NAY_INLINE_FUSES(type, shape, bits, slots)                                                 \
  typedef struct type {                                                                            \
    nay_inline_fuse fuse;                                                                          \
  } type;                                                                                          \
  NAY_INLINE_PROBE nay_status type##_init(const nay_filter *filter, nay_diag *diag, type *probe) { \
    nay_inline_fuse made;                                                                          \
    nay_status status = nay_filter_inline(filter, shape, sizeof made, diag, &made);                \
    if (status == NAY_OK) probe->fuse = made;                                                      \
    return status;                                                                                 \
  }                                                                                                \
  NAY_INLINE_PROBE bool type##_may_contain(const type *probe, uint64_t hash) {                     \
    return nay_inline_fits(nay_inline_locate(&probe->fuse, bits, slots, hash), bits, slots);       \
  }                                                                                                \
  NAY_INLINE_PROBE void type##_prefetch(const type *probe, uint64_t hash) {                        \
    nay_inline_slots found = nay_inline_locate(&probe->fuse, bits, slots, hash);                   \
    for (unsigned i = 0; i < (slots); i++) NAY_INLINE_PREFETCH(found.at[i]);                       \
  }

NAY_INLINE_FUSES(nay_inline_fuse8, NAY_INLINE_FUSE8, 8, 3)
NAY_INLINE_FUSES(nay_inline_fuse16, NAY_INLINE_FUSE16, 16, 3)
NAY_INLINE_FUSES(nay_inline_fuse8_4wise, NAY_INLINE_FUSE8_4WISE, 8, 4)
NAY_INLINE_FUSES(nay_inline_fuse16_4wise, NAY_INLINE_FUSE16_4WISE, 16, 4)

#undef NAY_INLINE_FUSES
#undef NAY_INLINE_SALTS
#undef NAY_INLINE_VECTORS
#undef NAY_INLINE_PROBE
#undef NAY_INLINE_PREFETCH
#undef NAY_INLINE_UNLIKELY

#ifdef __cplusplus
}
#endif

#endif /* NAY_INLINE_H */
