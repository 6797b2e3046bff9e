/* kernels_simd.h - what the vector tables share: the powers of g, and which tables this build has.
 */
#ifndef NAY_KERNELS_SIMD_H
#define NAY_KERNELS_SIMD_H

#include "cpu/kernels_define.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_HAS_X86_KERNELS 1
#else
#define NAY_HAS_X86_KERNELS 0
#endif

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define NAY_HAS_NEON_KERNELS 1
#else
#define NAY_HAS_NEON_KERNELS 0
#endif

/* g^i mod 2^32, g = 0x9e3779b9, and G^i mod 2^64; a test recomputes them. */
#define NAY_G32_POWERS_0_TO_7                                                                  \
  {                                                                                            \
    0x00000001u, 0x9e3779b9u, 0xe35e67b1u, 0x734297e9u, 0x35fbe861u, 0xdeb7c719u, 0x0448b211u, \
        0x3459b749u                                                                            \
  }
#define NAY_G32_POWERS_0_TO_15                                                                     \
  {                                                                                                \
    0x00000001u, 0x9e3779b9u, 0xe35e67b1u, 0x734297e9u, 0x35fbe861u, 0xdeb7c719u, 0x0448b211u,     \
        0x3459b749u, 0xab25f4c1u, 0x52941879u, 0x9c95e071u, 0xf5ab9aa9u, 0x2d6ba521u, 0x8bededd9u, \
        0x9bfb72d1u, 0x3ae1c209u                                                                   \
  }
#define NAY_G64_POWERS_0_TO_7                                                              \
  {                                                                                        \
    0x0000000000000001u, 0x9e3779b97f4a7c15u, 0xdf442d22ce4859b9u, 0x604a5ce3addef82du,    \
        0xd94363fc538227b1u, 0x2e2b795f2d10fd85u, 0x4be7956e30a337e9u, 0x5ecb31e4ccd2721du \
  }
#define NAY_G32_POWER_8 0xab25f4c1u
#define NAY_G32_POWER_16 0x7fca7981u

/* kernels_aim.c, with AVX2 or NEON */
uint64_t nay__fuse_test64_aimed(const nay_fuse_map *map, const uint64_t *x, uint64_t *fixed);
uint64_t nay__cuckoo_test64_aimed(const nay_cuckoo_map *map, const uint64_t *hashes);
void nay__fuse_ask_aimed(const nay_fuse_map *map, const uint64_t *x, unsigned n);
void nay__cuckoo_ask_aimed(const nay_cuckoo_map *map, const uint64_t *hashes, unsigned n);

/* kernels_cuckoo.c, with AVX2 */
nay_probe nay__cuckoo_probe_avx2(unsigned tag_bits);

/* kernels_counting.c */
nay_counted nay__counting_add(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_remove(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_add_avx2(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_remove_avx2(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_add_deposit(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_remove_deposit(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_add_avx512(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
nay_counted nay__counting_remove_avx512(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);

/* kernels_ribbon.c; the last two with VBMI2 and VPOPCNTDQ */
bool nay__ribbon_look_avx2(const nay_ribbon_spot *spot);
bool nay__ribbon_look_avx512(const nay_ribbon_spot *spot);
bool nay__ribbon_look_popcnt(const nay_ribbon_spot *spot);
uint64_t nay__ribbon_test64_avx512(const nay_ribbon_map *map, const uint64_t *x, unsigned n);

/* kernels_band.c, with the same */
void nay__band_sweep_avx512(nay_band_sweep halves[2], uint32_t npanels);
void nay__band_solve_avx512(const nay_band_row *rows, unsigned part, nay_band_columns *columns);

bool nay__ribbon_look_neon(const nay_ribbon_spot *spot);

/* kernels_bloom_avx512.c */
bool nay__avx512_bloom_test(const nay_bits *b, uint64_t hash);
nay_probe nay__avx512_bloom_test_for(const nay_bits *b);
bool nay__avx512_bloom_add(const nay_bits *b, uint64_t hash);
nay_put nay__avx512_bloom_put_for(const nay_bits *b);
uint64_t nay__avx512_bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__avx512_bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__avx512_bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);

/* kernels_bloom_avx2.c */
bool nay__avx2_bloom_test(const nay_bits *b, uint64_t hash);
nay_probe nay__avx2_bloom_test_for(const nay_bits *b);
bool nay__avx2_bloom_add(const nay_bits *b, uint64_t hash);
nay_put nay__avx2_bloom_put_for(const nay_bits *b);
uint64_t nay__avx2_bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__avx2_bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__avx2_bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);

/* kernels_bloom_neon.c */
bool nay__neon_bloom_test(const nay_bits *b, uint64_t hash);
nay_probe nay__neon_bloom_test_for(const nay_bits *b);
bool nay__neon_bloom_add(const nay_bits *b, uint64_t hash);
nay_put nay__neon_bloom_put_for(const nay_bits *b);
uint64_t nay__neon_bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__neon_bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__neon_bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);

extern const nay_kernels nay__kernels_avx2;
extern const nay_kernels nay__kernels_deposit; /* AVX2, and a deposit that is fast */
extern const nay_kernels nay__kernels_avx512;
extern const nay_kernels nay__kernels_gfni; /* AVX-512 with VBMI and GFNI */
extern const nay_kernels nay__kernels_neon;

/* What the table of GFNI has from that of AVX-512. */
bool nay__avx512_blocked_test(const nay_bits *b, uint64_t hash);
bool nay__avx512_blocked_add(const nay_bits *b, uint64_t hash);
uint64_t nay__avx512_blocked_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__avx512_blocked_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__avx512_blocked_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__avx512_test64_ahead(const nay_bits *b, const uint64_t *hashes, const uint64_t *next);
uint64_t nay__avx512_add64_ahead(const nay_bits *b, const uint64_t *hashes, const uint64_t *next,
                                 bool tell);
unsigned nay__avx512_keep64(const uint64_t *hashes, uint64_t least, uint64_t span, uint64_t *kept);
size_t nay__avx512_xxh3_short(uint64_t seed, const nay_key_list *list, size_t from, size_t n,
                              uint64_t *hashes);

#endif /* NAY_KERNELS_SIMD_H */
