/* groups.h - what the vector tables share: the powers of g, and which tables this build has.
 */
#ifndef NAY_KERNELS_SIMD_H
#define NAY_KERNELS_SIMD_H

#include "cpu/blocked_common.h"

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

/* kernels_aim.c, with AVX2 or NEON */
uint64_t nay__fuse_test64_aimed(const nay_fuse_map *map, const uint64_t *x, uint64_t *fixed);
uint64_t nay__cuckoo_test64_aimed(const nay_cuckoo_map *map, const uint64_t *hashes);
void nay__fuse_ask_aimed(const nay_fuse_map *map, const uint64_t *x, unsigned n);
void nay__cuckoo_ask_aimed(const nay_cuckoo_map *map, const uint64_t *hashes, unsigned n);

/* kernels_cuckoo.c, with AVX2 */
nay_probe nay__cuckoo_probe_avx2(unsigned tag_bits);

/* counting_scalar.c */
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

/* bloom_avx512.c */
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
