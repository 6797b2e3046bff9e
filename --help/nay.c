/*
 * nay.c - libnay 0.1.0 in one file, made by tools/amalgamate.py from the sources of nay.
 * Compile it with your program:  cc -O2 -c nay.c
 * Inside a shared library add -fvisibility=hidden, so that its names stay inside; with -DNAY_SHARED
 * as well the public ones, and only they, are exported.
 *
 * MIT License
 *
 * Copyright (c) 2026 nay contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* O_TMPFILE; what else is used is POSIX 2008 */
#endif
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
/* sizes must come out the same with and without fused multiply-add; and clang calls the inline
 * functions of a header unused when the header's text stands in the source itself */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function"
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "nay.h"

/* ==== src/base/status.c ===================================================================== */
/* status.c - the texts of the one error list, and the version. */

/* ==== src/base/base.h ======================================================================= */
/*
 * base.h - what every other folder may use of the C library, and the smallest helpers.
 * Only src/base and src/os include libc headers: porting to a place without libc is porting these.
 */
#ifndef NAY_BASE_H
#define NAY_BASE_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* NAY_TRY: forwards a failure to the caller. */
#define NAY_TRY(expr)                        \
  do {                                       \
    nay_status nay_try_ = (expr);            \
    if (nay_try_ != NAY_OK) return nay_try_; \
  } while (0)

/* nay__fail: fills diag (may be NULL) and returns status: `return nay__fail(...)`. */
static inline nay_status nay__fail(nay_diag *diag, nay_status status, const char *what,
                                   uint64_t offset) {
  if (diag != NULL) *diag = (nay_diag){.what = what, .offset = offset, .os_error = 0};
  return status;
}

/* nay__mul_ok: *product = a * b, false on overflow. For every size that feeds an allocation. */
static inline bool nay__mul_ok(size_t a, size_t b, size_t *product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

/* nay__size_ok: a 64-bit count of bytes as size_t, false where size_t is too narrow. */
static inline bool nay__size_ok(uint64_t nbytes, size_t *size) {
  if (nbytes > SIZE_MAX / 2) return false; /* half: room to round up without a second check */
  *size = (size_t)nbytes;
  return true;
}

static inline uint64_t nay__min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t nay__max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline uint64_t nay__ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* nay__round_up: the least multiple of `to` at or above x; the caller knows that it fits. */
static inline uint64_t nay__round_up(uint64_t x, uint64_t to) { return nay__ceil_div(x, to) * to; }

#endif /* NAY_BASE_H */

#define STATUS_STR2(x) #x
#define STATUS_STR(x) STATUS_STR2(x)

const char *nay_version(void) {
  return STATUS_STR(NAY_VERSION_MAJOR) "." STATUS_STR(NAY_VERSION_MINOR) "." STATUS_STR(
      NAY_VERSION_PATCH);
}

const char *nay_status_text(nay_status status) {
  switch (status) {
#define X(name, value, text) \
  case NAY_##name: return text;
    NAY_STATUS_MAP(X)
#undef X
  }
  return "unknown status";
}

const char *nay_status_name(nay_status status) {
  switch (status) {
#define X(name, value, text) \
  case NAY_##name: return "NAY_" #name;
    NAY_STATUS_MAP(X)
#undef X
  }
  return "unknown status";
}
#undef STATUS_STR
#undef STATUS_STR2

/* ==== src/base/alloc.c ====================================================================== */
/* alloc.c - the default allocator, and aligned regions on top of any allocator. */

/* ==== src/base/alloc.h ====================================================================== */
/* alloc.h - memory from the object's own allocator, aligned to a cache line where it matters. */
#ifndef NAY_ALLOC_H
#define NAY_ALLOC_H

#define NAY_CACHE_LINE 64u

/* nay__allocator_or_default: a copy of *a, or malloc and free when a is NULL. */
nay_allocator nay__allocator_or_default(const nay_allocator *a);

/* nay__calloc_default: zeroed memory from libc; fresh pages of the kernel are not written again. */
void *nay__calloc_default(void *ctx, size_t size);
void nay__free_default(void *ctx, void *ptr, size_t size);
/* nay__allocator_is_default: whether memory of it is malloc's, and ours to advise. */
bool nay__allocator_is_default(const nay_allocator *a);

static inline void *nay__alloc(const nay_allocator *a, size_t size) {
  return a->alloc(a->ctx, size);
}

static inline void nay__free(const nay_allocator *a, void *ptr, size_t size) {
  if (ptr != NULL) a->free(a->ctx, ptr, size);
}

/*
 * nay_memory: a zeroed, cache-line aligned region. `at` is what to use; the other two are what the
 * allocator gave, which has its own idea of alignment.
 */
typedef struct nay_memory {
  uint8_t *at;
  void *raw;
  size_t raw_size;
} nay_memory;

/* nay__memory_new: size 0 is fine. NAY_ENOMEM leaves *memory alone. */
nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay__memory_from: the same; `zeroed` tells that memory of the allocator is zero when it comes. */
nay_status nay__memory_from(const nay_allocator *a, size_t size, bool zeroed, nay_memory *memory);

/* nay__memory_raw: the same, with whatever the allocator's memory has in it. */
nay_status nay__memory_raw(const nay_allocator *a, size_t size, nay_memory *memory);

/* nay__memory_move: offers the region to a nay_mover; false when it stays where it is. */
bool nay__memory_move(nay_memory *memory, nay_mover move, void *ctx);
void nay__memory_free(const nay_allocator *a, nay_memory *memory);

#endif /* NAY_ALLOC_H */

#include <stdlib.h>

static void *alloc_default(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}

void *nay__calloc_default(void *ctx, size_t size) {
  (void)ctx;
  return calloc(1, size);
}

void nay__free_default(void *ctx, void *ptr, size_t size) {
  (void)ctx;
  (void)size;
  free(ptr);
}

nay_allocator nay__allocator_or_default(const nay_allocator *a) {
  if (a != NULL) return *a;
  return (nay_allocator){alloc_default, nay__free_default, NULL};
}

static nay_memory alloc_place(void *raw, size_t raw_size) {
  size_t skip = (size_t)(-(uintptr_t)raw & (NAY_CACHE_LINE - 1));
  return (nay_memory){(uint8_t *)raw + skip, raw, raw_size};
}

nay_status nay__memory_raw(const nay_allocator *a, size_t size, nay_memory *memory) {
  if (size > SIZE_MAX - NAY_CACHE_LINE) return NAY_ENOMEM;
  void *raw = nay__alloc(a, size + NAY_CACHE_LINE);
  if (raw == NULL) return NAY_ENOMEM;
  *memory = alloc_place(raw, size + NAY_CACHE_LINE);
  return NAY_OK;
}

nay_status nay__memory_from(const nay_allocator *a, size_t size, bool zeroed, nay_memory *memory) {
  if (a->alloc != alloc_default) {
    NAY_TRY(nay__memory_raw(a, size, memory));
    if (!zeroed) memset(memory->raw, 0, memory->raw_size);
    return NAY_OK;
  }
  /* calloc hands out fresh pages that the kernel has zeroed: a big filter is not written twice */
  if (size > SIZE_MAX - NAY_CACHE_LINE) return NAY_ENOMEM;
  void *raw = calloc(1, size + NAY_CACHE_LINE);
  if (raw == NULL) return NAY_ENOMEM;
  *memory = alloc_place(raw, size + NAY_CACHE_LINE);
  return NAY_OK;
}

bool nay__allocator_is_default(const nay_allocator *a) { return a->alloc == alloc_default; }

nay_status nay__memory_new(const nay_allocator *a, size_t size, nay_memory *memory) {
  return nay__memory_from(a, size, false, memory);
}

/* The new place may be aligned otherwise; then the bytes shift within their block. */
bool nay__memory_move(nay_memory *memory, nay_mover move, void *ctx) {
  size_t skip = (size_t)(memory->at - (uint8_t *)memory->raw);
  void *raw = move(ctx, memory->raw);
  if (raw == NULL) return false;
  *memory = alloc_place(raw, memory->raw_size);
  uint8_t *was_at = (uint8_t *)raw + skip;
  if (memory->at != was_at) memmove(memory->at, was_at, memory->raw_size - NAY_CACHE_LINE);
  return true;
}

void nay__memory_free(const nay_allocator *a, nay_memory *memory) {
  nay__free(a, memory->raw, memory->raw_size);
  *memory = (nay_memory){NULL, NULL, 0};
}

/* ==== src/base/sort.c ======================================================================= */
/*
 * sort.c - American flag sort: MSD radix, in place.
 *
 * Hashes are random, so the top byte splits them into 256 nearly equal parts: one pass counts, one
 * pass swaps every value into its part, and each part is sorted by the next byte. Small parts end
 * in an insertion sort. The recursion goes by byte, so its depth is at most 8 whatever the input.
 */

/* ==== src/base/sort.h ======================================================================= */
/* sort.h - sorting hashes in place, with nothing allocated. */
#ifndef NAY_SORT_H
#define NAY_SORT_H

/* nay__sort_u64: ascending. In place; made for random values such as hashes, right for all. */
void nay__sort_u64(uint64_t *a, size_t n);

/* nay__unique_u64: drops repeats from a sorted array; returns how many remain at its front. */
size_t nay__unique_u64(uint64_t *a, size_t n);

#endif /* NAY_SORT_H */

#define SORT_SMALL 48 /* below this insertion sort wins: tried 16, 32, 48, 64 on 10^7 hashes */

static void sort_insertion(uint64_t *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

static void sort_by_byte(uint64_t *a, size_t n, unsigned shift) {
  if (n < SORT_SMALL) {
    sort_insertion(a, n);
    return;
  }
  size_t end[256] = {0};
  for (size_t i = 0; i < n; i++) end[a[i] >> shift & 255]++;
  size_t next[256];
  size_t sum = 0;
  for (unsigned b = 0; b < 256; b++) {
    next[b] = sum;
    sum += end[b];
    end[b] = sum;
  }
  for (unsigned b = 0; b < 256; b++) {
    while (next[b] < end[b]) {
      uint64_t x = a[next[b]];
      unsigned home = (unsigned)(x >> shift & 255);
      while (home != b) { /* carry x to its part, take what was there, until one belongs here */
        uint64_t other = a[next[home]];
        a[next[home]++] = x;
        x = other;
        home = (unsigned)(x >> shift & 255);
      }
      a[next[b]++] = x;
    }
  }
  if (shift == 0) return;
  for (unsigned b = 0; b < 256; b++) {
    size_t start = b == 0 ? 0 : end[b - 1];
    if (end[b] - start > 1) sort_by_byte(a + start, end[b] - start, shift - 8);
  }
}

void nay__sort_u64(uint64_t *a, size_t n) { sort_by_byte(a, n, 56); }

size_t nay__unique_u64(uint64_t *a, size_t n) {
  if (n == 0) return 0;
  size_t kept = 1;
  for (size_t i = 1; i < n; i++) {
    if (a[i] != a[kept - 1]) a[kept++] = a[i];
  }
  return kept;
}
#undef SORT_SMALL

/* ==== src/base/crc32.c ====================================================================== */
/* crc32.c - CRC-32 by nibbles: a table of 16 words is enough for a trailer that is read once. */

/* ==== src/base/crc32.h ====================================================================== */
/* crc32.h - CRC-32 (IEEE, the one of zlib and Ethernet). */
#ifndef NAY_CRC32_H
#define NAY_CRC32_H

uint32_t nay__crc32(const uint8_t *bytes, size_t len);

#endif /* NAY_CRC32_H */

uint32_t nay__crc32(const uint8_t *bytes, size_t len) {
  static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
                                     0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
                                     0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                     0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  uint32_t crc = ~0u;
  for (size_t i = 0; i < len; i++) {
    crc ^= bytes[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

/* ==== src/base/crc32c.c ===================================================================== */
/*
 * crc32c.c - CRC-32C by slices of eight bytes.
 *
 * Row k of the table has the checksum of one byte followed by k zero bytes, so eight rows together
 * advance the register by eight bytes. A row is linear: entry b is the sum of the entries of the
 * bits of b, and the eight numbers of a row below are those. A test derives them again.
 */

/* ==== src/base/crc32c.h ===================================================================== */
/*
 * crc32c.h - CRC-32C (Castagnoli), the checksum of LevelDB's and RocksDB's blocks.
 *
 * All of them continue a checksum: nay__crc32c_x(nay__crc32c_x(0, a), b) is that of a followed by
 * b. cpu/crc32c.h has the one that is fastest here.
 */
#ifndef NAY_CRC32C_H
#define NAY_CRC32C_H

/* ==== src/base/bits.h ======================================================================= */
/* bits.h - arithmetic on words that C lacks: rotate, population count, the high half of a product.
 */
#ifndef NAY_BITS_H
#define NAY_BITS_H

static inline uint32_t nay__rotl32(uint32_t x, unsigned r) { return x << r | x >> (32 - r); }
static inline uint32_t nay__rotr32(uint32_t x, unsigned r) { return x >> r | x << (32 - r); }
static inline uint64_t nay__rotl64(uint64_t x, unsigned r) { return x << r | x >> (64 - r); }

/* nay__swap64: the bytes in reverse; one instruction where there is one. */
static inline uint64_t nay__swap64(uint64_t x) {
  x = x << 32 | x >> 32;
  x = (x & 0x0000ffff0000ffffu) << 16 | (x >> 16 & 0x0000ffff0000ffffu);
  return (x & 0x00ff00ff00ff00ffu) << 8 | (x >> 8 & 0x00ff00ff00ff00ffu);
}

/* Where the target has no instruction for it the builtin would be a call: the sums are faster. */
static inline unsigned nay__popcount64(uint64_t x) {
#if defined(__POPCNT__) || (defined(__GNUC__) && !defined(__x86_64__) && !defined(__i386__))
  return (unsigned)__builtin_popcountll(x);
#else
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)(x * 0x0101010101010101u >> 56);
#endif
}

/* nay__ctz64: how many zeros are below the lowest set bit; x is not 0. */
static inline unsigned nay__ctz64(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
  return (unsigned)__builtin_ctzll(x);
#else
  return nay__popcount64((x & (0 - x)) - 1);
#endif
}

/* nay__parity64: 1 when an odd number of bits is set. */
static inline unsigned nay__parity64(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
  return (unsigned)__builtin_parityll(x);
#else
  return nay__popcount64(x) & 1;
#endif
}

/*
 * nay__select64: the position of the r-th set bit of x, from r = 0; x has more than r. Counts of
 * pairs, nibbles and bytes lead there without a branch.
 */
static inline unsigned nay__select64(uint64_t x, unsigned r) {
  uint64_t pairs = x - (x >> 1 & 0x5555555555555555u);
  uint64_t nibbles = (pairs & 0x3333333333333333u) + (pairs >> 2 & 0x3333333333333333u);
  uint64_t sums = ((nibbles + (nibbles >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u;
  /* byte i of sums: bits up to byte i. One mark for each byte whose sum is at most r */
  uint64_t marks = ((r * 0x0101010101010101u | 0x8080808080808080u) - sums) & 0x8080808080808080u;
  unsigned at = (unsigned)((marks >> 7) * 0x0101010101010101u >> 56) * 8;
  r -= (unsigned)(sums << 8 >> at & 0xff);
  unsigned below = (unsigned)(nibbles >> at & 15), skip = r >= below;
  r -= below & (0 - skip);
  at += 4 * skip;
  below = (unsigned)(pairs >> at & 3);
  skip = r >= below;
  r -= below & (0 - skip);
  at += 2 * skip;
  return at + (r >= (x >> at & 1));
}

/* nay__mulhi: the high 64 bits of a * b. */
static inline uint64_t nay__mulhi(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 u128;
  return (uint64_t)((u128)a * b >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t mid = ah * bl + (al * bl >> 32);
  uint64_t mid2 = al * bh + (uint32_t)mid;
  return ah * bh + (mid >> 32) + (mid2 >> 32);
#endif
}

/* nay__mul128: both halves of a * b by one multiplication; returns the high one. */
static inline uint64_t nay__mul128(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
  __extension__ typedef unsigned __int128 u128;
  u128 product = (u128)a * b;
  *low = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  *low = a * b;
  return nay__mulhi(a, b);
#endif
}

/*
 * nay__reduce: maps a random 64-bit hash to [0, n) without division: floor(hash * n / 2^64).
 * It keeps order, hence floor(reduce(h, f * n) / f) == reduce(h, n): what makes folding exact.
 */
static inline uint64_t nay__reduce(uint64_t hash, uint64_t n) { return nay__mulhi(hash, n); }

/* nay__part: where part `part` of nparts equal ones begins among n things. */
static inline uint64_t nay__part(uint64_t n, unsigned part, unsigned nparts) {
  return n / nparts * part + n % nparts * part / nparts;
}

static inline uint64_t nay__gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

#endif /* NAY_BITS_H */

/* nay__crc32c_scalar: slicing by eight bytes, on any CPU. */
uint32_t nay__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len);

/*
 * nay__crc32c_mask: how a checksum is stored next to the bytes it is of. The CRC of bytes that
 * contain their own CRC is the same for all contents; a rotation and a constant undo that.
 */
static inline uint32_t nay__crc32c_mask(uint32_t crc) { return nay__rotr32(crc, 15) + 0xa282ead8u; }

#endif /* NAY_CRC32C_H */

/* ==== src/base/bytes.h ====================================================================== */
/*
 * bytes.h - loads and stores with a stated byte order, at any alignment. All bytes that leave or
 * enter the library pass here, so no other file knows the byte order of the machine.
 */
#ifndef NAY_BYTES_H
#define NAY_BYTES_H

static inline uint32_t nay__load32le(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t nay__load64le(const uint8_t *p) {
  return (uint64_t)nay__load32le(p) | (uint64_t)nay__load32le(p + 4) << 32;
}

static inline uint16_t nay__load16le(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static inline uint32_t nay__load32be(const uint8_t *p) {
  return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

static inline void nay__store16le(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

static inline void nay__store32le(uint8_t *p, uint32_t v) {
  nay__store16le(p, (uint16_t)v);
  nay__store16le(p + 2, (uint16_t)(v >> 16));
}

static inline void nay__store64le(uint8_t *p, uint64_t v) {
  nay__store32le(p, (uint32_t)v);
  nay__store32le(p + 4, (uint32_t)(v >> 32));
}

static inline void nay__store32be(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)(v >> 24);
  p[1] = (uint8_t)(v >> 16);
  p[2] = (uint8_t)(v >> 8);
  p[3] = (uint8_t)v;
}

/* nay__all_zero: padding must be zero; readers check it. */
static inline bool nay__all_zero(const uint8_t *p, size_t len) {
  uint8_t any = 0;
  for (size_t i = 0; i < len; i++) any |= p[i];
  return any == 0;
}

/* nay__bits_of: bit i is flags[i], which is 0 or 1; a product moves eight of them together. */
static inline uint64_t nay__bits_of(const uint8_t flags[64]) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    bits |= (nay__load64le(flags + i) * 0x0102040810204080u >> 56) << i;
  }
  return bits;
}

#endif /* NAY_BYTES_H */

#define CRC_BIT(i, bit, value) (((i) >> (bit)&1u) != 0 ? (value) : 0u)
#define CRC_SUM(i, a, b, c, d, e, f, g, h)                                                        \
  (CRC_BIT(i, 0, a) ^ CRC_BIT(i, 1, b) ^ CRC_BIT(i, 2, c) ^ CRC_BIT(i, 3, d) ^ CRC_BIT(i, 4, e) ^ \
   CRC_BIT(i, 5, f) ^ CRC_BIT(i, 6, g) ^ CRC_BIT(i, 7, h))
#define CRC_4(i, ...)                                                                             \
  CRC_SUM((i) + 0u, __VA_ARGS__), CRC_SUM((i) + 1u, __VA_ARGS__), CRC_SUM((i) + 2u, __VA_ARGS__), \
      CRC_SUM((i) + 3u, __VA_ARGS__)
#define CRC_16(i, ...)                                                                      \
  CRC_4((i) + 0u, __VA_ARGS__), CRC_4((i) + 4u, __VA_ARGS__), CRC_4((i) + 8u, __VA_ARGS__), \
      CRC_4((i) + 12u, __VA_ARGS__)
#define CRC_64(i, ...)                                                                           \
  CRC_16((i) + 0u, __VA_ARGS__), CRC_16((i) + 16u, __VA_ARGS__), CRC_16((i) + 32u, __VA_ARGS__), \
      CRC_16((i) + 48u, __VA_ARGS__)
#define CRC_ROW(...)                                                              \
  {                                                                               \
    CRC_64(0u, __VA_ARGS__), CRC_64(64u, __VA_ARGS__), CRC_64(128u, __VA_ARGS__), \
        CRC_64(192u, __VA_ARGS__)                                                 \
  }

static const uint32_t crc_rows[8][256] = {
    CRC_ROW(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu,
            0x417b1dbcu, 0x82f63b78u),
    CRC_ROW(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u,
            0xff17c604u, 0xfbc3faf9u),
    CRC_ROW(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u,
            0xc76580d9u, 0x8b277743u),
    CRC_ROW(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu,
            0xaba65fe7u, 0x52a0c93fu),
    CRC_ROW(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u,
            0x37516aaeu, 0x6ea2d55cu),
    CRC_ROW(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du,
            0x0e045bebu, 0x1c08b7d6u),
    CRC_ROW(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu,
            0x7ab7077au, 0xf56e0ef4u),
    CRC_ROW(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u,
            0x1a00cb32u, 0x34019664u),
};

static uint32_t crc_word(uint32_t word, unsigned row) {
  return crc_rows[row][word & 0xff] ^ crc_rows[row - 1][word >> 8 & 0xff] ^
         crc_rows[row - 2][word >> 16 & 0xff] ^ crc_rows[row - 3][word >> 24];
}

uint32_t nay__crc32c_scalar(uint32_t crc, const uint8_t *bytes, size_t len) {
  crc = ~crc;
  for (; len >= 8; bytes += 8, len -= 8) {
    crc = crc_word(crc ^ nay__load32le(bytes), 7) ^ crc_word(nay__load32le(bytes + 4), 3);
  }
  for (; len > 0; bytes++, len--) crc = crc >> 8 ^ crc_rows[0][(crc ^ *bytes) & 0xff];
  return ~crc;
}
#undef CRC_16
#undef CRC_4
#undef CRC_64
#undef CRC_BIT
#undef CRC_ROW
#undef CRC_SUM

/* ==== src/base/buffer.c ===================================================================== */
/* buffer.c - see buffer.h. */

/* ==== src/base/buffer.h ===================================================================== */
/* buffer.h - bytes that grow. Zero-initialise; the allocator is the owner's, given at each call. */
#ifndef NAY_BUFFER_H
#define NAY_BUFFER_H

typedef struct nay_buffer {
  uint8_t *at;
  size_t len;
  size_t cap;
} nay_buffer;

/* nay__buffer_grow: the slow path of nay__buffer_reserve. */
nay_status nay__buffer_grow(nay_buffer *buffer, size_t more, const nay_allocator *a);

/* nay__buffer_reserve: room for `more` bytes after the present ones. NAY_ENOMEM changes nothing. */
static inline nay_status nay__buffer_reserve(nay_buffer *buffer, size_t more,
                                             const nay_allocator *a) {
  return buffer->cap - buffer->len >= more ? NAY_OK : nay__buffer_grow(buffer, more, a);
}

static inline nay_status nay__buffer_append(nay_buffer *buffer, const void *bytes, size_t len,
                                            const nay_allocator *a) {
  NAY_TRY(nay__buffer_reserve(buffer, len, a));
  if (len != 0) memcpy(buffer->at + buffer->len, bytes, len);
  buffer->len += len;
  return NAY_OK;
}

static inline void nay__buffer_free(nay_buffer *buffer, const nay_allocator *a) {
  nay__free(a, buffer->at, buffer->cap);
  *buffer = (nay_buffer){NULL, 0, 0};
}

#endif /* NAY_BUFFER_H */

nay_status nay__buffer_grow(nay_buffer *buffer, size_t more, const nay_allocator *a) {
  if (more > SIZE_MAX / 2 - buffer->len) return NAY_ENOMEM;
  size_t cap = buffer->len + more;
  if (cap < 2 * buffer->cap) cap = 2 * buffer->cap; /* so that n appends copy O(n) bytes */
  uint8_t *at = nay__alloc(a, cap);
  if (at == NULL) return NAY_ENOMEM;
  if (buffer->len != 0) memcpy(at, buffer->at, buffer->len);
  nay__free(a, buffer->at, buffer->cap);
  buffer->at = at;
  buffer->cap = cap;
  return NAY_OK;
}

/* ==== src/base/spin.c ======================================================================= */
/* spin.c - waiting for a stripe. */

/* ==== src/base/spin.h ======================================================================= */
/*
 * spin.h - striped spin locks: one byte each, held for the few dozen nanoseconds of an add.
 *
 * A filter that takes adds from many threads has NAY_NSTRIPES of them beside its payload. An adder
 * locks the stripe of what it changes (a block, a page, a key), so that test-and-add is one step;
 * readers never lock. A thread that waits spins briefly, then lets others run: the holder may have
 * lost its processor.
 */
#ifndef NAY_SPIN_H
#define NAY_SPIN_H

/* ==== src/base/compiler.h =================================================================== */
/* compiler.h - the only place outside src/cpu with compiler extensions, each with a plain fallback.
 */
#ifndef NAY_COMPILER_H
#define NAY_COMPILER_H

#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define NAY_LIKELY(x) __builtin_expect(!!(x), 1)
#define NAY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NAY_PREFETCH(p) __builtin_prefetch((p), 0, 3)
#define NAY_PREFETCH_TO_WRITE(p) __builtin_prefetch((p), 1, 3)
#define NAY_INLINE static inline __attribute__((always_inline))
#define NAY_NOINLINE __attribute__((noinline))
#define NAY_FLATTEN __attribute__((flatten)) /* what it calls is inlined, however long */
#else
#define NAY_LIKELY(x) (x)
#define NAY_UNLIKELY(x) (x)
#define NAY_PREFETCH(p) ((void)(p))
#define NAY_PREFETCH_TO_WRITE(p) ((void)(p))
#define NAY_INLINE static inline
#define NAY_NOINLINE
#define NAY_FLATTEN
#endif

/* NAY_OPAQUE: makes the compiler forget what it knows of an integer variable. */
#if defined(__GNUC__) || defined(__clang__)
#define NAY_OPAQUE(x) __asm__("" : "+r"(x))
#else
#define NAY_OPAQUE(x) ((void)(x))
#endif

/*
 * Bits by the instructions of x86-64 that have them: a function marked NAY_BMI2 may only be called
 * where the CPU has them (nay_kernels.popcnt). On other machines the mark is nothing.
 */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_BMI2 __attribute__((target("bmi,bmi2,popcnt")))
#else
#define NAY_BMI2
#endif

/*
 * Relaxed atomics on single bytes. A byte needs no alignment and has no byte order, so the filters
 * that take concurrent adds keep the same bytes as all others.
 */
#if defined(__GNUC__) || defined(__clang__)
NAY_INLINE unsigned char nay__atomic_load8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_or8(unsigned char *p, unsigned char mask) {
  return __atomic_fetch_or(p, mask, __ATOMIC_RELAXED);
}
NAY_INLINE void nay__atomic_store8(unsigned char *p, unsigned char value) {
  __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_swap8(unsigned char *p, unsigned char value) {
  return __atomic_exchange_n(p, value, __ATOMIC_ACQUIRE);
}
NAY_INLINE uint64_t nay__atomic_load64(const uint64_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
NAY_INLINE void nay__atomic_increment64(uint64_t *p) { __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }
NAY_INLINE void nay__atomic_add64(uint64_t *p, uint64_t more) {
  __atomic_fetch_add(p, more, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_acquire8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
NAY_INLINE void nay__atomic_release8(unsigned char *p, unsigned char value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
#else
#error "nay needs gcc or clang: add the atomics of your compiler here"
#endif

#endif /* NAY_COMPILER_H */

/* 4096: with 32 adders the chance that two meet in a stripe by accident is 12 %, and they wait for
 * one add; the array is a page of memory. */
#define NAY_NSTRIPES 4096u

/* nay__spin_wait: the slow path of nay__spin_lock. */
void nay__spin_wait(uint8_t *lock);

/* nay__spin_lock: the lock of a thing by its number, taken; hand it back to nay__spin_unlock. */
static inline uint8_t *nay__spin_lock(uint8_t *locks, uint64_t thing) {
  uint8_t *lock = locks + (thing * 0x9e3779b97f4a7c15u >> 52);
  if (NAY_UNLIKELY(nay__atomic_swap8(lock, 1) != 0)) nay__spin_wait(lock);
  return lock;
}

static inline void nay__spin_unlock(uint8_t *lock) { nay__atomic_release8(lock, 0); }

/* nay__spin_lock_all: for what must not see an add half done. No lock may be held before. */
void nay__spin_lock_all(uint8_t *locks);
void nay__spin_unlock_all(uint8_t *locks);

#endif /* NAY_SPIN_H */

#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#define SPIN_YIELD() sched_yield()
#else
#define SPIN_YIELD() ((void)0)
#endif

#define SPIN_TRIES 64 /* about as long as the longest add */

void nay__spin_wait(uint8_t *lock) {
  do {
    for (unsigned i = 0; nay__atomic_load8(lock) != 0; i++) {
      if (i >= SPIN_TRIES) SPIN_YIELD();
    }
  } while (nay__atomic_swap8(lock, 1) != 0);
}

void nay__spin_lock_all(uint8_t *locks) {
  for (unsigned i = 0; i < NAY_NSTRIPES; i++) {
    if (nay__atomic_swap8(locks + i, 1) != 0) nay__spin_wait(locks + i);
  }
}

void nay__spin_unlock_all(uint8_t *locks) {
  for (unsigned i = 0; i < NAY_NSTRIPES; i++) nay__spin_unlock(locks + i);
}
#undef SPIN_TRIES
#undef SPIN_YIELD

/* ==== src/os/file.c ========================================================================= */
/*
 * file.c - see file.h. Short writes, EINTR and partial reads are handled here and nowhere else.
 *
 * How a file is replaced. The folder is opened first and all else happens relative to it, so that
 * whatever can fail without having written anything does.
 *
 *   open(O_TMPFILE), write, fsync     a complete file on disk that has no name yet
 *   linkat                            a name of its own: ".name.nay-PID-N"
 *   renameat                          the target's name: old file or new file, nothing between
 *   fsync(folder)                     the name is on disk as well
 *
 * A process that is killed leaves nothing behind, but for a complete ".name.nay-PID-N" when it dies
 * between linkat and renameat. Where the file system or kernel has no O_TMPFILE the file has that
 * name from the start, and a kill while it is written leaves a part of it. Such leftovers are never
 * removed by a later save: on a shared folder nobody can know that the process, perhaps of another
 * machine, is dead, and deleting the file of a live one would ruin its save. They are never opened
 * either: the name is always made with O_EXCL or linkat.
 */
#ifndef __LP64__
#define _FILE_OFFSET_BITS 64
#endif

/* ==== src/os/file.h ========================================================================= */
/*
 * file.h - files: read whole, map, replace atomically. With threads, the only user of POSIX.
 * On failure diag gets the step that failed and errno.
 */
#ifndef NAY_OS_FILE_H
#define NAY_OS_FILE_H

/*
 * nay_accept: looks at the first bytes of a file (all of them, if it is shorter than
 * NAY_FILE_START) and at its length, before memory is taken for the rest.
 */
#define NAY_FILE_START 64u
typedef nay_status (*nay_accept)(const uint8_t *start, size_t file_len, nay_diag *diag);

/* nay__file_read: a regular file's bytes into aligned memory, exactly as long as it was at open. */
nay_status nay__file_read(const char *path, nay_accept accept, const nay_allocator *allocator,
                          nay_diag *diag, nay_memory *memory, size_t *len);

/* nay__file_map: read-only. An empty file maps to NULL with length 0. */
nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len);
void nay__file_unmap(void *mapping, size_t len);

/* nay__file_open: a regular file, to be read in pieces; nay__file_close accepts what it gave. */
nay_status nay__file_open(const char *path, nay_diag *diag, int *fd, size_t *len);
nay_status nay__file_pread(int fd, uint64_t at, uint8_t *dst, size_t len, nay_diag *diag);
void nay__file_close(int fd);

/*
 * nay__file_replace: what `produce` writes to its sink becomes the file at path, or nothing
 * changes. A symbolic link keeps pointing where it did; its target is replaced, or made if it does
 * not exist yet. An existing file's permissions are kept, and its owner where the system lets us;
 * access control lists are not. Only a regular file is ever replaced. One failure comes too late to
 * undo: when the folder cannot be synced, the new file is in place and diag says so.
 */
typedef nay_status (*nay_producer)(const void *object, nay_sink sink, void *sink_ctx);
nay_status nay__file_replace(const char *path, nay_producer produce, const void *object,
                             nay_diag *diag);

/*
 * nay_replacement: the same for a file whose bytes come over time. Calls: new (write)* [finish]
 * free; without finish, or when it failed, nothing has changed.
 */
typedef struct nay_replacement nay_replacement;
nay_status nay__replacement_new(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement);
nay_status nay__replacement_write(nay_replacement *replacement, const void *bytes, size_t len,
                                  nay_diag *diag);
nay_status nay__replacement_finish(nay_replacement *replacement, nay_diag *diag);
void nay__replacement_free(nay_replacement *replacement);

#endif /* NAY_OS_FILE_H */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== src/os/pages.h ======================================================================== */
/* pages.h - advice to the kernel about memory that is probed at random. Nothing in it can fail. */
#ifndef NAY_OS_PAGES_H
#define NAY_OS_PAGES_H

/*
 * nay__pages_want_huge: [p, p + len) would like huge pages: a random probe into a big filter
 * otherwise misses the TLB as well. For fresh memory of 4 MiB and more.
 */
void nay__pages_want_huge(void *p, size_t len);

/*
 * nay__pages_random: a mapped file will be read here and there: no reading ahead, which would fetch
 * what nobody asks for, and huge pages where the file system has them.
 */
void nay__pages_random(void *mapping, size_t len);

/* nay__pages_soon: these bytes of a mapped file will be read now, all of them. */
void nay__pages_soon(const void *p, size_t len);

#endif /* NAY_OS_PAGES_H */

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

#define FILE_MAX_LINKS 40 /* as Linux: more symbolic links than this are a loop */
#define FILE_ATTEMPTS 1000

static nay_status file_fail(nay_diag *diag, const char *what) {
  int error = errno;
  if (diag != NULL) *diag = (nay_diag){.what = what, .offset = 0, .os_error = error};
  return NAY_EIO;
}

static int file_openat(int folder, const char *name, int flags, mode_t mode) {
  int fd;
  do fd = openat(folder, name, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* close without a trace in errno: for descriptors whose fate no longer matters. */
static void file_drop(int fd) {
  int error = errno;
  close(fd);
  errno = error;
}

/* ---- reading ---- */

static nay_status file_open_regular(const char *path, nay_diag *diag, int *fd, size_t *len) {
  struct stat st;
  /* not to wait for a writer, should this be a pipe; means nothing to a regular file */
  int f = file_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (f < 0) return file_fail(diag, "cannot open the file");
  nay_status status = NAY_OK;
  if (fstat(f, &st) != 0) {
    status = file_fail(diag, "cannot stat the file");
  } else if (!S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    status = file_fail(diag, "not a regular file");
  } else if (!nay__size_ok((uint64_t)st.st_size, len)) {
    errno = EFBIG;
    status = file_fail(diag, "the file is too long for this machine");
  }
  if (status != NAY_OK) {
    file_drop(f);
    return status;
  }
  *fd = f;
  return NAY_OK;
}

/* Reads dst[from, to); dst[0] is the file's first byte. */
static nay_status file_read_range(int fd, uint8_t *dst, size_t from, size_t to, nay_diag *diag) {
  while (from < to) {
    ssize_t n = read(fd, dst + from, to - from);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_fail(diag, "cannot read the file");
    if (n == 0) {
      return nay__fail(diag, NAY_ECORRUPT, "the file became shorter while it was read", from);
    }
    from += (size_t)n;
  }
  return NAY_OK;
}

static nay_status file_read_fd(int fd, size_t size, nay_accept accept,
                               const nay_allocator *allocator, nay_diag *diag, nay_memory *memory) {
  uint8_t start[NAY_FILE_START];
  size_t n = size < sizeof start ? size : sizeof start;
  NAY_TRY(file_read_range(fd, start, 0, n, diag));
  NAY_TRY(accept(start, size, diag));
  nay_memory m = {NULL, NULL, 0};
  if (nay__memory_new(allocator, size, &m) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the file", 0);
  }
  if (nay__allocator_is_default(allocator)) nay__pages_want_huge(m.at, size);
  memcpy(m.at, start, n);
  nay_status status = file_read_range(fd, m.at, n, size, diag);
  if (status != NAY_OK) {
    nay__memory_free(allocator, &m);
    return status;
  }
  *memory = m;
  return NAY_OK;
}

nay_status nay__file_read(const char *path, nay_accept accept, const nay_allocator *allocator,
                          nay_diag *diag, nay_memory *memory, size_t *len) {
  int fd;
  size_t size;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  nay_status status = file_read_fd(fd, size, accept, allocator, diag, memory);
  file_drop(fd);
  if (status == NAY_OK) *len = size;
  return status;
}

nay_status nay__file_map(const char *path, nay_diag *diag, void **mapping, size_t *len) {
  int fd;
  size_t size;
  NAY_TRY(file_open_regular(path, diag, &fd, &size));
  void *m = NULL;
  if (size != 0) m = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  nay_status status = m == MAP_FAILED ? file_fail(diag, "cannot map the file") : NAY_OK;
  file_drop(fd);
  if (status != NAY_OK) return status;
  *mapping = m;
  *len = size;
  return NAY_OK;
}

void nay__file_unmap(void *mapping, size_t len) {
  if (mapping != NULL) munmap(mapping, len);
}

nay_status nay__file_open(const char *path, nay_diag *diag, int *fd, size_t *len) {
  return file_open_regular(path, diag, fd, len);
}

nay_status nay__file_pread(int fd, uint64_t at, uint8_t *dst, size_t len, nay_diag *diag) {
  while (len > 0) {
    ssize_t n = pread(fd, dst, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      nay_status status = file_fail(diag, "cannot read the file");
      if (diag != NULL) diag->offset = at;
      return status;
    }
    if (n == 0) return nay__fail(diag, NAY_ECORRUPT, "the file became shorter", at);
    dst += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

void nay__file_close(int fd) { file_drop(fd); }

/* ---- replacing: where ---- */

/* A file that may not exist yet: its folder, open, and its name in it. */
typedef struct file_place {
  int folder;
  char name[NAME_MAX + 1];
} file_place;

/* Opens the folder of path, seen from `base`, and splits off the name. -1 and errno on failure. */
static int file_enter(int base, const char *path, char name[NAME_MAX + 1]) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/'), *last = slash == NULL ? path : slash + 1;
  size_t folder_len = (size_t)(last - path), name_len = strlen(last);
  if (folder_len >= sizeof folder || name_len > NAME_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (name_len == 0) {
    errno = folder_len == 0 ? ENOENT : EISDIR;
    return -1;
  }
  memcpy(folder, path, folder_len);
  folder[folder_len] = '\0';
  memcpy(name, last, name_len + 1);
  return file_openat(base, folder_len == 0 ? "." : folder, O_RDONLY | O_DIRECTORY, 0);
}

/* Follows symbolic links by hand: unlike realpath, to a target that is yet to be made. */
static nay_status file_resolve(const char *path, nay_diag *diag, file_place *place) {
  char link[PATH_MAX];
  place->folder = file_enter(AT_FDCWD, path, place->name);
  for (int hops = 0; place->folder >= 0; hops++) {
    ssize_t n = readlinkat(place->folder, place->name, link, sizeof link);
    if (n < 0 && (errno == EINVAL || errno == ENOENT)) return NAY_OK; /* no link, or nothing yet */
    int from = place->folder;
    place->folder = -1;
    if (n >= (ssize_t)sizeof link) {
      errno = ENAMETOOLONG;
    } else if (hops == FILE_MAX_LINKS) {
      errno = ELOOP;
    } else if (n >= 0) {
      link[n] = '\0';
      place->folder = file_enter(from, link, place->name);
    }
    file_drop(from);
  }
  return file_fail(diag, "cannot open the folder of the file");
}

/* What is there now, if anything: mode 0 when nothing is. */
static nay_status file_look(const file_place *place, nay_diag *diag, struct stat *old) {
  if (fstatat(place->folder, place->name, old, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return file_fail(diag, "cannot stat the file that is to be replaced");
    *old = (struct stat){.st_mode = 0};
    return NAY_OK;
  }
  if (S_ISREG(old->st_mode)) return NAY_OK;
  errno = S_ISDIR(old->st_mode) ? EISDIR : EINVAL;
  return file_fail(diag, "only a regular file can be replaced");
}

/* ---- replacing: the new file ---- */

/* The file while it is written. */
typedef struct file_temp {
  int fd;
  int folder;
  char name[NAME_MAX + 1]; /* empty: it has none yet */
  nay_diag *diag;
} file_temp;

/* ".name.nay-PID-N"; a long name is cut, it is only there for people who find the file. */
static void file_temp_name(file_temp *t, const char *name, int attempt) {
  snprintf(t->name, sizeof t->name, ".%.200s.nay-%ld-%d", name, (long)getpid(), attempt);
}

#ifdef O_TMPFILE
static void file_fd_path(int fd, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", fd); }

/* -1 when the system has no unnamed files, or no way to give one a name later. */
static int file_create_unnamed(int folder, mode_t mode) {
  char path[32];
  int fd = file_openat(folder, ".", O_WRONLY | O_TMPFILE, mode);
  if (fd < 0) return -1;
  file_fd_path(fd, path);
  if (access(path, F_OK) == 0) return fd;
  file_drop(fd);
  return -1;
}

static int file_give_name(file_temp *t, const char *name) {
  char path[32];
  file_fd_path(t->fd, path);
  for (int attempt = 0; attempt < FILE_ATTEMPTS; attempt++) {
    file_temp_name(t, name, attempt);
    if (linkat(AT_FDCWD, path, t->folder, t->name, AT_SYMLINK_FOLLOW) == 0) return 0;
    t->name[0] = '\0';
    if (errno != EEXIST) return -1;
  }
  return -1;
}
#else
static int file_create_unnamed(int folder, mode_t mode) {
  (void)folder, (void)mode;
  return -1;
}
static int file_give_name(file_temp *t, const char *name) {
  (void)t, (void)name;
  return -1;
}
#endif

/*
 * Not mkstemp, whose mode of 0600 could only be undone by asking for the umask, which other threads
 * would notice. The mode is never wider than the old file's: it may hold a secret key.
 */
static nay_status file_create(const file_place *place, mode_t mode, file_temp *t) {
  t->folder = place->folder;
  t->name[0] = '\0';
  t->fd = file_create_unnamed(place->folder, mode);
  for (int attempt = 0; t->fd < 0 && attempt < FILE_ATTEMPTS; attempt++) {
    file_temp_name(t, place->name, attempt);
    t->fd = file_openat(place->folder, t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (t->fd < 0 && errno != EEXIST) break;
  }
  return t->fd >= 0 ? NAY_OK : file_fail(t->diag, "cannot create a temporary file in the folder");
}

static nay_status file_write(void *ctx, const void *bytes, size_t len) {
  const file_temp *t = ctx;
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = write(t->fd, p, len);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* POSIX has no such answer for a regular file: do not ask for ever */
    if (n <= 0) return file_fail(t->diag, "cannot write the temporary file");
    p += n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

static int file_sync(int fd) {
  int result;
  do result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

/* Owner before mode: a change of owner clears bits of the mode. That only root may do it is fine.
 */
static nay_status file_inherit(const file_temp *t, const struct stat *old) {
  struct stat now;
  if (old->st_mode == 0) return NAY_OK;
  if (fstat(t->fd, &now) != 0) return file_fail(t->diag, "cannot stat the temporary file");
  if (now.st_uid != old->st_uid || now.st_gid != old->st_gid) {
    if (fchown(t->fd, old->st_uid, old->st_gid) != 0 && errno != EPERM) {
      return file_fail(t->diag, "cannot give the temporary file the old one's owner");
    }
  }
  if (fchmod(t->fd, old->st_mode & 07777) == 0) return NAY_OK;
  return file_fail(t->diag, "cannot give the temporary file the old one's mode");
}

/* Closes the temporary file and makes it the target; on failure it is as if it had never been. */
static nay_status file_finish(file_temp *t, const file_place *place, const struct stat *old) {
  nay_status status = file_inherit(t, old);
  if (status == NAY_OK && file_sync(t->fd) != 0) {
    status = file_fail(t->diag, "cannot sync the temporary file");
  }
  if (status == NAY_OK && t->name[0] == '\0' && file_give_name(t, place->name) != 0) {
    status = file_fail(t->diag, "cannot give the temporary file a name");
  }
  if (close(t->fd) != 0 && errno != EINTR && status == NAY_OK) {
    status = file_fail(t->diag, "cannot close the temporary file");
  }
  if (status == NAY_OK && renameat(t->folder, t->name, t->folder, place->name) != 0) {
    status = file_fail(t->diag, "cannot rename the temporary file");
  }
  if (status != NAY_OK && t->name[0] != '\0') unlinkat(t->folder, t->name, 0);
  return status;
}

/* ---- replacing: all of it ---- */

struct nay_replacement {
  nay_allocator allocator; /* of this object, when it is on the heap */
  file_place place;
  struct stat old;
  file_temp temp;
  bool open; /* the temporary file is there */
};

static nay_status file_begin(nay_replacement *r, const char *path, nay_diag *diag) {
  r->temp = (file_temp){.diag = diag};
  r->open = false;
  NAY_TRY(file_resolve(path, diag, &r->place));
  nay_status status = file_look(&r->place, diag, &r->old);
  if (status == NAY_OK) {
    mode_t mode = r->old.st_mode != 0 ? r->old.st_mode & 0777 : 0666;
    status = file_create(&r->place, mode, &r->temp);
  }
  r->open = status == NAY_OK;
  if (!r->open) file_drop(r->place.folder);
  return status;
}

static nay_status file_commit(nay_replacement *r) {
  r->open = false;
  nay_status status = file_finish(&r->temp, &r->place, &r->old);
  /* some file systems cannot sync a folder and say EINVAL: there is nothing more to do then */
  if (status == NAY_OK && file_sync(r->place.folder) != 0 && errno != EINVAL) {
    status = file_fail(r->temp.diag, "the file is replaced, but its folder cannot be synced");
  }
  file_drop(r->place.folder);
  return status;
}

static void file_abandon(nay_replacement *r) {
  r->open = false;
  file_drop(r->temp.fd);
  if (r->temp.name[0] != '\0') unlinkat(r->temp.folder, r->temp.name, 0);
  file_drop(r->place.folder);
}

nay_status nay__file_replace(const char *path, nay_producer produce, const void *object,
                             nay_diag *diag) {
  nay_replacement r;
  NAY_TRY(file_begin(&r, path, diag));
  nay_status status = produce(object, file_write, &r.temp);
  if (status == NAY_OK) return file_commit(&r);
  file_abandon(&r);
  return status;
}

nay_status nay__replacement_new(const char *path, const nay_allocator *allocator, nay_diag *diag,
                                nay_replacement **replacement) {
  nay_replacement *r = nay__alloc(allocator, sizeof *r);
  if (r == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to write a file", 0);
  r->allocator = *allocator;
  nay_status status = file_begin(r, path, diag);
  if (status != NAY_OK) {
    nay__free(allocator, r, sizeof *r);
    return status;
  }
  *replacement = r;
  return NAY_OK;
}

nay_status nay__replacement_write(nay_replacement *r, const void *bytes, size_t len,
                                  nay_diag *diag) {
  r->temp.diag = diag;
  return file_write(&r->temp, bytes, len);
}

nay_status nay__replacement_finish(nay_replacement *r, nay_diag *diag) {
  r->temp.diag = diag;
  return file_commit(r);
}

void nay__replacement_free(nay_replacement *r) {
  if (r == NULL) return;
  if (r->open) file_abandon(r);
  nay_allocator a = r->allocator;
  nay__free(&a, r, sizeof *r);
}
#undef FILE_ATTEMPTS
#undef FILE_MAX_LINKS
#undef _FILE_OFFSET_BITS

/* ==== src/os/pages.c ======================================================================== */
/* pages.c - see pages.h. */

#include <sys/mman.h>

#define PAGES_WORTH ((size_t)4 << 20) /* below this the TLB holds it anyway */
#define PAGES_HUGE ((uintptr_t)2 << 20)

void nay__pages_want_huge(void *p, size_t len) {
#ifdef MADV_HUGEPAGE
  if (len < PAGES_WORTH) return;
  uintptr_t start = ((uintptr_t)p + PAGES_HUGE - 1) & ~(PAGES_HUGE - 1);
  uintptr_t end = ((uintptr_t)p + len) & ~(PAGES_HUGE - 1);
  if (start < end) (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
  (void)p;
  (void)len;
#endif
}

void nay__pages_random(void *mapping, size_t len) {
#ifdef MADV_RANDOM
  if (mapping != NULL) (void)madvise(mapping, len, MADV_RANDOM);
#endif
  nay__pages_want_huge(mapping, len);
}

void nay__pages_soon(const void *p, size_t len) {
#ifdef MADV_WILLNEED
  const uintptr_t page =
      4096; /* where pages are larger the kernel refuses, and reads as it likes */
  uintptr_t start = (uintptr_t)p & ~(page - 1);
  (void)madvise((void *)start, (uintptr_t)p + len - start, MADV_WILLNEED);
#else
  (void)p;
  (void)len;
#endif
}
#undef PAGES_HUGE
#undef PAGES_WORTH

/* ==== src/os/thread.c ======================================================================= */
/* thread.c - see thread.h. Where there are no threads (the browser) the caller works alone. */

/* ==== src/os/thread.h ======================================================================= */
/* thread.h - one job for several threads, and nothing else about threads. */
#ifndef NAY_OS_THREAD_H
#define NAY_OS_THREAD_H

#define NAY_MAX_THREADS 256u

/*
 * nay__parallel: runs work(ctx, 0), work(ctx, 1), ... work(ctx, n - 1) at the same time, the first
 * in the calling thread, and returns when all are done. When the system refuses a thread there are
 * fewer of them: the work must take its pieces from a shared counter, not from its number.
 */
void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx);

/* nay__take: the next piece of work, counted up from *next by all threads together. */
uint64_t nay__take(uint64_t *next);

/* nay__tally: adds to a sum that all threads share; returns the sum. */
uint64_t nay__tally(uint64_t *sum, uint64_t more);

#endif /* NAY_OS_THREAD_H */

#if !defined(__wasm__)
#include <pthread.h>

typedef struct thread_start {
  void (*work)(void *ctx, unsigned worker);
  void *ctx;
  unsigned worker;
} thread_start;

static void *thread_main(void *arg) {
  const thread_start *start = arg;
  start->work(start->ctx, start->worker);
  return NULL;
}

void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx) {
  pthread_t threads[NAY_MAX_THREADS];
  thread_start starts[NAY_MAX_THREADS];
  unsigned running = 0;
  if (n > NAY_MAX_THREADS) n = NAY_MAX_THREADS;
  for (unsigned i = 1; i < n; i++) {
    starts[running] = (thread_start){work, ctx, i};
    if (pthread_create(&threads[running], NULL, thread_main, &starts[running]) != 0) break;
    running++;
  }
  work(ctx, 0);
  for (unsigned i = 0; i < running; i++) pthread_join(threads[i], NULL);
}

uint64_t nay__take(uint64_t *next) { return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED); }

uint64_t nay__tally(uint64_t *sum, uint64_t more) {
  return __atomic_add_fetch(sum, more, __ATOMIC_RELAXED);
}

#else

void nay__parallel(unsigned n, void (*work)(void *ctx, unsigned worker), void *ctx) {
  (void)n;
  work(ctx, 0);
}

uint64_t nay__take(uint64_t *next) { return (*next)++; }

uint64_t nay__tally(uint64_t *sum, uint64_t more) { return *sum += more; }

#endif

/* ==== src/os/spill.c ======================================================================== */
/* spill.c - see spill.h. Where there are no files (the browser) there is no low-memory builder. */
#define _FILE_OFFSET_BITS 64

/* ==== src/os/spill.h ======================================================================== */
/* spill.h - a temporary file without a name: gone when it is closed, however the process ends. */
#ifndef NAY_OS_SPILL_H
#define NAY_OS_SPILL_H

/* nay__spill_open: in folder (NULL: /tmp). The name is removed before the call returns. */
nay_status nay__spill_open(const char *folder, int *fd);
nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len);
nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len);
void nay__spill_close(int fd);

#endif /* NAY_OS_SPILL_H */

#if !defined(__wasm__)
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

nay_status nay__spill_open(const char *folder, int *fd) {
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s/nay-spill-XXXXXX", folder != NULL ? folder : "/tmp");
  if (len < 0 || (size_t)len >= sizeof path) return NAY_EIO;
  int opened = mkstemp(path);
  if (opened < 0) return NAY_EIO;
  if (unlink(path) != 0) {
    close(opened);
    return NAY_EIO;
  }
  *fd = opened;
  return NAY_OK;
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len) {
  const uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = pwrite(fd, p, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NAY_EIO;
    p += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len) {
  uint8_t *p = bytes;
  while (len > 0) {
    ssize_t n = pread(fd, p, len, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NAY_EIO;
    p += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return NAY_OK;
}

void nay__spill_close(int fd) { close(fd); }

#else

nay_status nay__spill_open(const char *folder, int *fd) {
  (void)folder, (void)fd;
  return NAY_ENOTSUP;
}

nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return NAY_ENOTSUP;
}

nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len) {
  (void)fd, (void)at, (void)bytes, (void)len;
  return NAY_ENOTSUP;
}

void nay__spill_close(int fd) { (void)fd; }

#endif
#undef _FILE_OFFSET_BITS

/* ==== src/hash/hash.c ======================================================================= */
/* hash.c - the list of hash kinds, and what a secret key needs beside a hash: check and unlock. */

/* ==== src/hash/hash.h ======================================================================= */
/*
 * hash.h - from keys to hashes. A hasher is a hash function with its seed or key, held by a filter.
 *
 * Families never see keys: filter.c hashes once and hands over a nay_hash. That keeps the choice of
 * hash, the seeds and the kinds of key out of every family.
 */
#ifndef NAY_HASH_H
#define NAY_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

/* What a hasher's `seed` says depends on the kind: XXH3's seed, or the check value of a secret key.
 */
typedef struct nay_hasher {
  nay_hash_kind kind;
  bool locked; /* a secret key is needed and has not been given */
  uint64_t seed;
  uint64_t nshort, first, last; /* nay__hasher_seed, for the shortcuts of nay__hash_key */
  uint64_t ntiny, flip;
  uint8_t key[16];
} nay_hasher;

/* nay__hasher_init: from params. NAY_EINVAL for a hash that native families do not have. */
nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hasher *hasher);

/* nay__hasher_seed: a hasher of XXH3 with this seed. */
nay_hasher nay__hasher_seed(uint64_t seed);

/* nay__hasher_unlock: NAY_EKEY when key does not give the check value in hasher->seed. */
nay_status nay__hasher_unlock(nay_hasher *hasher, const uint8_t key[16]);

/* nay__hasher_ready: NAY_OK when keys can be hashed; NAY_EKEY or NAY_ENOTSUP when not. */
static inline nay_status nay__hasher_ready(const nay_hasher *hasher) {
  if (hasher->locked) return NAY_EKEY;
  return hasher->kind == NAY_HASH_CALLER ? NAY_ENOTSUP : NAY_OK;
}

/* nay__hasher_same: whether two hashers give every key the same hash. */
bool nay__hasher_same(const nay_hasher *a, const nay_hasher *b);

/*
 * nay__hash_xxh3: the usual hash. In a NAY_FLATTEN function the cases of up to 128 bytes are
 * inlined, which for 16 bytes is twice as fast as a call; longer keys are always a call.
 */
static inline uint64_t nay__hash_xxh3(uint64_t seed, const void *key, size_t len) {
  return XXH3_64bits_withSeed(key != NULL ? key : "", len, seed);
}

/*
 * Keys of 9 to 16 bytes and those of 4 to 8 have ways of their own, short enough to be inlined
 * where keys are asked for one by one: no frame, and the words of the seed are ready. One
 * comparison tells the length and that the hash is XXH3 at all, since nshort and ntiny are 0 for
 * all others.
 */
#define NAY_SHORT_MIN 9u
#define NAY_SHORT_LENS 8u
#define NAY_SHORT_FIRST 0x6782737bea4239b9u /* words of XXH3's default secret, xored */
#define NAY_SHORT_LAST 0xaf56bc3b0996523au
#define NAY_SHORT_PRIME 0x165667919e3779f9u
#define NAY_TINY_MIN 4u
#define NAY_TINY_LENS 5u
#define NAY_TINY_FLIP 0xc73ab174c5ecd5a2u
#define NAY_TINY_PRIME 0x9fb21c651e98df25u

NAY_INLINE bool nay__hash_is_short(const nay_hasher *hasher, const void *key, size_t len) {
  return key != NULL && (uint64_t)len - NAY_SHORT_MIN < hasher->nshort;
}

NAY_INLINE uint64_t nay__hash_short(const nay_hasher *hasher, const void *key, size_t len) {
  const uint8_t *p = key;
  uint64_t low, a = nay__load64le(p) ^ hasher->first, b = nay__load64le(p + len - 8) ^ hasher->last;
  uint64_t high = nay__mul128(a, b, &low), x = len + nay__swap64(a) + b + (high ^ low);
  x ^= x >> 37;
  x *= NAY_SHORT_PRIME;
  return x ^ x >> 32;
}

NAY_INLINE bool nay__hash_is_tiny(const nay_hasher *hasher, const void *key, size_t len) {
  return key != NULL && (uint64_t)len - NAY_TINY_MIN < hasher->ntiny;
}

NAY_INLINE uint64_t nay__hash_tiny(const nay_hasher *hasher, const void *key, size_t len) {
  const uint8_t *p = key;
  uint64_t first = nay__load32le(p), last = nay__load32le(p + len - 4);
  uint64_t x = (first << 32 | last) ^ hasher->flip;
  x ^= nay__rotl64(x, 49) ^ nay__rotl64(x, 24);
  x *= NAY_TINY_PRIME;
  x ^= (x >> 35) + len;
  x *= NAY_TINY_PRIME;
  return x ^ x >> 28;
}

/* nay__hash_any: all kinds, all lengths. */
nay_hash nay__hash_any(const nay_hasher *hasher, const void *key, size_t len);

/* nay__hash_key: the hasher must be ready; key may be NULL when len is 0. */
NAY_INLINE nay_hash nay__hash_key(const nay_hasher *hasher, const void *key, size_t len) {
  if (NAY_LIKELY(nay__hash_is_short(hasher, key, len))) {
    return (nay_hash){nay__hash_short(hasher, key, len), 0};
  }
  if (nay__hash_is_tiny(hasher, key, len)) return (nay_hash){nay__hash_tiny(hasher, key, len), 0};
  return nay__hash_any(hasher, key, len);
}

/* nay__hash_has_hi: whether the kind needs both words of nay_hash. */
static inline bool nay__hash_has_hi(nay_hash_kind kind) {
  return kind == NAY_HASH_XXH64_PAIR || kind == NAY_HASH_FNV_MIX || kind == NAY_HASH_MURMUR64X2 ||
         kind == NAY_HASH_MURMUR32X2;
}

/* The hash functions, one file each. */
uint64_t nay__siphash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c, unsigned d);
uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed);
/* The same of four keys side by side, all of len bytes, a multiple of 4. */
void nay__leveldb_hash_four(const void *const keys[4], size_t len, uint32_t seed,
                            uint32_t hashes[4]);
uint32_t nay__leveldb_hash_s8(const uint8_t *p, size_t len, uint32_t seed);
uint64_t nay__xxph3(const uint8_t *p, size_t len);
uint32_t nay__farm_fingerprint32(const uint8_t *p, size_t len);
uint64_t nay__fnv1a64(const uint8_t *p, size_t len);
uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed);
uint32_t nay__murmur32(const uint8_t *p, size_t len, uint32_t seed);
/* RedisBloom's pairs: the second hash has the first as its seed. */
nay_hash nay__murmur64x2(const uint8_t *p, size_t len);
nay_hash nay__murmur32x2(const uint8_t *p, size_t len);

#endif /* NAY_HASH_H */

#define LEVELDB_SEED 0xbc9f1d34u

const char *nay_hash_name(nay_hash_kind kind) {
  switch (kind) {
    case NAY_HASH_XXH3: return "xxh3";
    case NAY_HASH_SIPHASH: return "siphash13";
    case NAY_HASH_CALLER: return "caller";
    case NAY_HASH_LEVELDB: return "leveldb";
    case NAY_HASH_FARM32: return "farm32";
    case NAY_HASH_XXH64_PAIR: return "xxh64x2";
    case NAY_HASH_FNV_MIX: return "fnv1a-splitmix";
    case NAY_HASH_XXPH3: return "xxph3";
    case NAY_HASH_LEVELDB_S8: return "leveldb-s8";
    case NAY_HASH_MURMUR64: return "murmur64a";
    case NAY_HASH_MURMUR64X2: return "murmur64a-x2";
    case NAY_HASH_MURMUR32X2: return "murmur2-x2";
  }
  return "unknown";
}

uint64_t nay_hash_mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

uint64_t nay_hash_siphash(const uint8_t key[16], const void *bytes, size_t len, unsigned c,
                          unsigned d) {
  return nay__siphash(key, bytes, len, c, d);
}

/*
 * The check value goes into files in the clear: enough to refuse a wrong key, useless for finding
 * the right one. 2-4 rounds and a fixed text keep it apart from every hash the filter itself uses.
 */
static uint64_t hash_key_check(const uint8_t key[16]) {
  static const char text[] = "nay key check v1";
  return nay__siphash(key, (const uint8_t *)text, sizeof text - 1, 2, 4);
}

/* XXH3 stirs the seed before it flips the bits of a tiny key with it. */
nay_hasher nay__hasher_seed(uint64_t seed) {
  uint64_t stirred = seed ^ (nay__swap64(seed) >> 32 << 32);
  return (nay_hasher){.kind = NAY_HASH_XXH3,
                      .seed = seed,
                      .nshort = NAY_SHORT_LENS,
                      .first = NAY_SHORT_FIRST + seed,
                      .last = NAY_SHORT_LAST - seed,
                      .ntiny = NAY_TINY_LENS,
                      .flip = NAY_TINY_FLIP - stirred};
}

nay_status nay__hasher_init(const nay_params *params, nay_diag *diag, nay_hasher *hasher) {
  nay_hasher h = {.kind = params->hash};
  switch (params->hash) {
    case NAY_HASH_XXH3: h = nay__hasher_seed(params->seed); break;
    case NAY_HASH_SIPHASH:
      memcpy(h.key, params->key, sizeof h.key);
      h.seed = hash_key_check(h.key);
      break;
    case NAY_HASH_CALLER: h.seed = params->seed; break;
    default:
      return nay__fail(diag, NAY_EINVAL, "hash: native families take xxh3, siphash or caller", 0);
  }
  *hasher = h;
  return NAY_OK;
}

nay_status nay__hasher_unlock(nay_hasher *hasher, const uint8_t key[16]) {
  if (hasher->kind != NAY_HASH_SIPHASH || hash_key_check(key) != hasher->seed) return NAY_EKEY;
  memcpy(hasher->key, key, sizeof hasher->key);
  hasher->locked = false;
  return NAY_OK;
}

/* For a keyed hash the check values stand in for the keys, which one side may not have. */
bool nay__hasher_same(const nay_hasher *a, const nay_hasher *b) {
  return a->kind == b->kind && a->seed == b->seed;
}

static NAY_NOINLINE nay_hash hash_slow(const nay_hasher *hasher, const void *key, size_t len) {
  const uint8_t *p = key;
  switch (hasher->kind) {
    case NAY_HASH_SIPHASH: return (nay_hash){nay__siphash(hasher->key, p, len, 1, 3), 0};
    case NAY_HASH_LEVELDB: return (nay_hash){nay__leveldb_hash(p, len, LEVELDB_SEED), 0};
    case NAY_HASH_FARM32: return (nay_hash){nay__farm_fingerprint32(p, len), 0};
    case NAY_HASH_XXH64_PAIR: return (nay_hash){XXH64(p, len, 0), XXH64(p, len, 1)};
    case NAY_HASH_FNV_MIX: {
      uint64_t h = nay_hash_mix(nay__fnv1a64(p, len));
      return (nay_hash){(uint32_t)h, h >> 32};
    }
    case NAY_HASH_XXPH3: return (nay_hash){nay__xxph3(p, len), 0};
    case NAY_HASH_LEVELDB_S8: return (nay_hash){nay__leveldb_hash_s8(p, len, LEVELDB_SEED), 0};
    case NAY_HASH_MURMUR64: return (nay_hash){nay__murmur64a(p, len, 0), 0};
    case NAY_HASH_MURMUR64X2: return nay__murmur64x2(p, len);
    case NAY_HASH_MURMUR32X2: return nay__murmur32x2(p, len);
    case NAY_HASH_XXH3:
    case NAY_HASH_CALLER: break;
  }
  assert(false && "the hasher is not ready");
  return (nay_hash){0, 0};
}

NAY_FLATTEN nay_hash nay__hash_any(const nay_hasher *hasher, const void *key, size_t len) {
  if (NAY_LIKELY(hasher->kind == NAY_HASH_XXH3)) {
    return (nay_hash){nay__hash_xxh3(hasher->seed, key, len), 0};
  }
  return hash_slow(hasher, key != NULL ? key : "", len);
}
#undef LEVELDB_SEED

/* ==== src/hash/siphash.c ==================================================================== */
/*
 * siphash.c - SipHash-c-d: a pseudo-random function of bytes under a 128-bit key [1].
 *
 * c rounds for each 8 bytes, d rounds at the end. The library hashes keys with 1-3, the choice of
 * Rust and Python for their tables; 2-4 is the cautious original whose vectors test this code.
 * [1] Aumasson, Bernstein: SipHash, a fast short-input PRF. INDOCRYPT 2012.
 */

typedef struct sip_state {
  uint64_t v0, v1, v2, v3;
} sip_state;

NAY_INLINE void sip_rounds(sip_state *s, unsigned n) {
  while (n-- > 0) {
    s->v0 += s->v1;
    s->v1 = nay__rotl64(s->v1, 13) ^ s->v0;
    s->v0 = nay__rotl64(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = nay__rotl64(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = nay__rotl64(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = nay__rotl64(s->v1, 17) ^ s->v2;
    s->v2 = nay__rotl64(s->v2, 32);
  }
}

NAY_INLINE uint64_t sip_hash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c,
                             unsigned d) {
  uint64_t k0 = nay__load64le(key), k1 = nay__load64le(key + 8);
  sip_state s = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                 k1 ^ 0x7465646279746573u};
  size_t rest = len;
  for (; rest >= 8; rest -= 8, p += 8) {
    uint64_t word = nay__load64le(p);
    s.v3 ^= word;
    sip_rounds(&s, c);
    s.v0 ^= word;
  }
  uint64_t last = (uint64_t)len << 56;
  for (size_t i = 0; i < rest; i++) last |= (uint64_t)p[i] << (8 * i);
  s.v3 ^= last;
  sip_rounds(&s, c);
  s.v0 ^= last;
  s.v2 ^= 0xff;
  sip_rounds(&s, d);
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t nay__siphash(const uint8_t key[16], const uint8_t *p, size_t len, unsigned c, unsigned d) {
  if (c == 1 && d == 3) return sip_hash(key, p, len, 1, 3); /* constants: the loops unroll */
  return sip_hash(key, p, len, c, d);
}

/* ==== src/hash/leveldb_hash.c =============================================================== */
/*
 * leveldb_hash.c - the 32-bit hash of LevelDB, of which its filters are made, in its two forms.
 * In LevelDB 1.18 and later the up to three bytes at the end are unsigned. In older LevelDB and in
 * RocksDB's legacy filters they are signed, so the two disagree on keys whose tail has a byte of
 * 0x80 or above.
 */

#define LEVELDB_M 0xc6a4a793u

static inline uint32_t leveldb_round(uint32_t h, const uint8_t *p) {
  h = (h + nay__load32le(p)) * LEVELDB_M;
  return h ^ h >> 16;
}

static uint32_t leveldb_words(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed ^ (uint32_t)(len * LEVELDB_M);
  for (; len >= 4; len -= 4, p += 4) h = leveldb_round(h, p);
  return h;
}

void nay__leveldb_hash_four(const void *const keys[4], size_t len, uint32_t seed,
                            uint32_t hashes[4]) {
  const uint8_t *a = keys[0], *b = keys[1], *c = keys[2], *d = keys[3];
  uint32_t ha = seed ^ (uint32_t)(len * LEVELDB_M), hb = ha, hc = ha, hd = ha;
  for (size_t i = 0; i < len; i += 4) {
    ha = leveldb_round(ha, a + i);
    hb = leveldb_round(hb, b + i);
    hc = leveldb_round(hc, c + i);
    hd = leveldb_round(hd, d + i);
  }
  hashes[0] = ha;
  hashes[1] = hb;
  hashes[2] = hc;
  hashes[3] = hd;
}

/* The tail, its bytes already as wide as they count. */
static uint32_t leveldb_tail(uint32_t h, uint32_t tail) {
  h = (h + tail) * LEVELDB_M;
  return h ^ h >> 24;
}

uint32_t nay__leveldb_hash(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = leveldb_words(p, len, seed), tail = 0;
  size_t rest = len % 4;
  if (rest == 0) return h;
  for (size_t i = 0; i < rest; i++) tail += (uint32_t)p[len - rest + i] << 8 * i;
  return leveldb_tail(h, tail);
}

uint32_t nay__leveldb_hash_s8(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = leveldb_words(p, len, seed), tail = 0;
  size_t rest = len % 4;
  if (rest == 0) return h;
  for (size_t i = 0; i < rest; i++) {
    uint32_t extended = (uint32_t)p[len - rest + i] | (p[len - rest + i] >= 0x80 ? ~0xffu : 0);
    tail += extended << 8 * i;
  }
  return leveldb_tail(h, tail);
}
#undef LEVELDB_M

/* ==== src/hash/farm32.c ===================================================================== */
/*
 * farm32.c - FarmHash Fingerprint32 as mini-lsm computes it, whose filters are made from it. Four
 * cases by length, all made of Murmur3's mixing steps.
 *
 * mini-lsm takes the function from the Rust crate farmhash 1.1.5, which differs from Google's C++
 * in one thing: up to 4 bytes, C++ sign-extends each byte (signed char) and the crate does not. So
 * the two disagree on keys of 1 to 4 bytes with a byte of 0x80 or above, and on no others. Here the
 * crate is right: a filter of mini-lsm that holds such a key must not be answered with nay.
 */

#define FARM_C1 0xcc9e2d51u
#define FARM_C2 0x1b873593u

static uint32_t farm_finish(uint32_t h) {
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

static uint32_t farm_step(uint32_t h) { return nay__rotl32(h, 13) * 5 + 0xe6546b64u; }

static uint32_t farm_scramble(uint32_t a) { return nay__rotr32(a * FARM_C1, 17) * FARM_C2; }

static uint32_t farm_mix(uint32_t a, uint32_t h) { return farm_step(h ^ farm_scramble(a)); }

static uint32_t farm_len_0_to_4(const uint8_t *p, size_t len) {
  uint32_t b = 0, c = 9;
  for (size_t i = 0; i < len; i++) {
    b = b * FARM_C1 + p[i];
    c ^= b;
  }
  return farm_finish(farm_mix(b, farm_mix((uint32_t)len, c)));
}

static uint32_t farm_len_5_to_12(const uint8_t *p, size_t len) {
  uint32_t a = (uint32_t)len, b = a * 5, c = 9, d = b;
  a += nay__load32le(p);
  b += nay__load32le(p + len - 4);
  c += nay__load32le(p + (len >> 1 & 4));
  return farm_finish(farm_mix(c, farm_mix(b, farm_mix(a, d))));
}

static uint32_t farm_len_13_to_24(const uint8_t *p, size_t len) {
  uint32_t a = nay__load32le(p + (len >> 1) - 4), b = nay__load32le(p + 4);
  uint32_t c = nay__load32le(p + len - 8), d = nay__load32le(p + (len >> 1));
  uint32_t e = nay__load32le(p), f = nay__load32le(p + len - 4);
  uint32_t h = d * FARM_C1 + (uint32_t)len;
  a = nay__rotr32(a, 12) + f;
  h = farm_mix(c, h) + a;
  a = nay__rotr32(a, 3) + c;
  h = farm_mix(e, h) + a;
  a = nay__rotr32(a + f, 12) + d;
  h = farm_mix(b, h) + a;
  return farm_finish(h);
}

static uint32_t farm_long(const uint8_t *p, size_t len) {
  uint32_t h = (uint32_t)len, g = FARM_C1 * h, f = g;
  h = farm_step(h ^ farm_scramble(nay__load32le(p + len - 4)));
  h = farm_step(h ^ farm_scramble(nay__load32le(p + len - 16)));
  g = farm_step(g ^ farm_scramble(nay__load32le(p + len - 8)));
  g = farm_step(g ^ farm_scramble(nay__load32le(p + len - 12)));
  f = nay__rotr32(f + farm_scramble(nay__load32le(p + len - 20)), 19) + 113;
  for (size_t left = (len - 1) / 20; left > 0; left--, p += 20) {
    uint32_t a = nay__load32le(p), b = nay__load32le(p + 4), c = nay__load32le(p + 8);
    uint32_t d = nay__load32le(p + 12), e = nay__load32le(p + 16);
    h = farm_mix(d, h + a) + e;
    g = farm_mix(c, g + b) + a;
    f = farm_mix(b + e * FARM_C1, f + c) + d;
    f += g;
    g += f;
  }
  g = nay__rotr32(nay__rotr32(g, 11) * FARM_C1, 17) * FARM_C1;
  f = nay__rotr32(nay__rotr32(f, 11) * FARM_C1, 17) * FARM_C1;
  h = nay__rotr32(farm_step(h + g), 17) * FARM_C1;
  h = nay__rotr32(farm_step(h + f), 17) * FARM_C1;
  return h;
}

uint32_t nay__farm_fingerprint32(const uint8_t *p, size_t len) {
  if (len <= 4) return farm_len_0_to_4(p, len);
  if (len <= 12) return farm_len_5_to_12(p, len);
  if (len <= 24) return farm_len_13_to_24(p, len);
  return farm_long(p, len);
}
#undef FARM_C1
#undef FARM_C2

/* ==== src/hash/fnv.c ======================================================================== */
/* fnv.c - FNV-1a, 64 bits: one multiplication a byte. Weak alone; the lab's layout mixes it after.
 */

uint64_t nay__fnv1a64(const uint8_t *p, size_t len) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) h = (h ^ p[i]) * 0x100000001b3u;
  return h;
}

/* ==== src/hash/xxph3.c ====================================================================== */
/*
 * xxph3.c - the 64-bit hash of which RocksDB's filters are made: XXH3 as it was in xxHash 0.7.2,
 * a preview that RocksDB froze as its own. It never equals the XXH3 of libxxhash: there are other
 * multipliers in it, and in long inputs a lane is added to itself and not to its neighbour.
 *
 * Five cases by length. In all of them the key is xored with the secret, products of 64 by 64 bits
 * are folded to 64, and an avalanche ends it. The empty key has a value that RocksDB gave it.
 * doc/formats/rocksdb.md has the whole recipe; tests/golden/hash/xxph3.txt what RocksDB computed.
 */

#define XXPH3_P1 0x9e3779b185ebca87u
#define XXPH3_P2 0xc2b2ae3d27d4eb4fu
#define XXPH3_P3 0x165667b19e3779f9u
#define XXPH3_P4 0x85ebca77c2b2ae63u
#define XXPH3_P5 0x27d4eb2f165667c5u
#define XXPH3_SMALL1 0x9e3779b1u
#define XXPH3_SMALL2 0x85ebca77u
#define XXPH3_SMALL3 0xc2b2ae3du

#define XXPH3_STRIPE 64u
#define XXPH3_BLOCK (16u * XXPH3_STRIPE)

/* The default secret of XXH3, the same in the preview and in the release. */
static const uint8_t xxph3_secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t xxph3_secret64(size_t at) { return nay__load64le(xxph3_secret + at); }

static uint64_t xxph3_fold(uint64_t a, uint64_t b) {
  uint64_t low, high = nay__mul128(a, b, &low);
  return low ^ high;
}

static uint64_t xxph3_avalanche(uint64_t x) {
  x = (x ^ x >> 37) * XXPH3_P3;
  return x ^ x >> 32;
}

/* 16 bytes of the key with 16 of the secret. */
static uint64_t xxph3_mix(const uint8_t *p, size_t secret) {
  return xxph3_fold(nay__load64le(p) ^ xxph3_secret64(secret),
                    nay__load64le(p + 8) ^ xxph3_secret64(secret + 8));
}

static uint64_t xxph3_len_1_to_3(const uint8_t *p, size_t n) {
  uint32_t c = p[0] | (uint32_t)p[n >> 1] << 8 | (uint32_t)p[n - 1] << 16 | (uint32_t)n << 24;
  return xxph3_avalanche((c ^ (uint64_t)nay__load32le(xxph3_secret)) * XXPH3_P1);
}

static uint64_t xxph3_len_4_to_8(const uint8_t *p, size_t n) {
  uint64_t v = (nay__load32le(p) | (uint64_t)nay__load32le(p + n - 4) << 32) ^ xxph3_secret64(0);
  uint64_t m = n + (v ^ v >> 51) * XXPH3_SMALL1;
  return xxph3_avalanche((m ^ m >> 47) * XXPH3_P2);
}

static uint64_t xxph3_len_9_to_16(const uint8_t *p, size_t n) {
  uint64_t a = nay__load64le(p) ^ xxph3_secret64(0);
  uint64_t b = nay__load64le(p + n - 8) ^ xxph3_secret64(8);
  return xxph3_avalanche(n + a + b + xxph3_fold(a, b));
}

/* Pairs of 16 bytes from both ends, the inner ones first. */
static uint64_t xxph3_len_17_to_128(const uint8_t *p, size_t n) {
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = (n - 1) / 32 + 1; i-- > 0;) {
    sum += xxph3_mix(p + 16 * i, 32 * i) + xxph3_mix(p + n - 16 * (i + 1), 32 * i + 16);
  }
  return xxph3_avalanche(sum);
}

static uint64_t xxph3_len_129_to_240(const uint8_t *p, size_t n) {
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = 0; i < 8; i++) sum += xxph3_mix(p + 16 * i, 16 * i);
  sum = xxph3_avalanche(sum);
  for (size_t i = 8; i < n / 16; i++) sum += xxph3_mix(p + 16 * i, 16 * (i - 8) + 3);
  return xxph3_avalanche(sum + xxph3_mix(p + n - 16, 119));
}

/* ---- above 240 bytes: eight lanes ---- */

static void xxph3_stripe(uint64_t lanes[8], const uint8_t *p, size_t secret) {
  for (size_t i = 0; i < 8; i++) {
    uint64_t v = nay__load64le(p + 8 * i), d = v ^ xxph3_secret64(secret + 8 * i);
    lanes[i] += v + (uint64_t)(uint32_t)d * (d >> 32);
  }
}

static void xxph3_stripes(uint64_t lanes[8], const uint8_t *p, size_t nstripes) {
  for (size_t i = 0; i < nstripes; i++) xxph3_stripe(lanes, p + i * XXPH3_STRIPE, 8 * i);
}

static void xxph3_scramble(uint64_t lanes[8]) {
  for (size_t i = 0; i < 8; i++) {
    lanes[i] = ((lanes[i] ^ lanes[i] >> 47) ^ xxph3_secret64(128 + 8 * i)) * XXPH3_SMALL1;
  }
}

static uint64_t xxph3_long(const uint8_t *p, size_t n) {
  uint64_t lanes[8] = {XXPH3_SMALL3, XXPH3_P1,     XXPH3_P2, XXPH3_P3,
                       XXPH3_P4,     XXPH3_SMALL2, XXPH3_P5, XXPH3_SMALL1};
  size_t blocks = n / XXPH3_BLOCK, rest = n % XXPH3_BLOCK;
  const uint8_t *end = p + n;
  for (; blocks > 0; blocks--, p += XXPH3_BLOCK) {
    xxph3_stripes(lanes, p, 16);
    xxph3_scramble(lanes);
  }
  xxph3_stripes(lanes, p, rest / XXPH3_STRIPE);
  if (n % XXPH3_STRIPE != 0) xxph3_stripe(lanes, end - XXPH3_STRIPE, 121);
  uint64_t sum = n * XXPH3_P1;
  for (size_t i = 0; i < 4; i++) {
    sum += xxph3_fold(lanes[2 * i] ^ xxph3_secret64(11 + 16 * i),
                      lanes[2 * i + 1] ^ xxph3_secret64(19 + 16 * i));
  }
  return xxph3_avalanche(sum);
}

uint64_t nay__xxph3(const uint8_t *p, size_t len) {
  if (len == 0) return xxph3_fold(xxph3_secret64(0), XXPH3_P2);
  if (len <= 3) return xxph3_len_1_to_3(p, len);
  if (len <= 8) return xxph3_len_4_to_8(p, len);
  if (len <= 16) return xxph3_len_9_to_16(p, len);
  if (len <= 128) return xxph3_len_17_to_128(p, len);
  if (len <= 240) return xxph3_len_129_to_240(p, len);
  return xxph3_long(p, len);
}
#undef XXPH3_BLOCK
#undef XXPH3_P1
#undef XXPH3_P2
#undef XXPH3_P3
#undef XXPH3_P4
#undef XXPH3_P5
#undef XXPH3_SMALL1
#undef XXPH3_SMALL2
#undef XXPH3_SMALL3
#undef XXPH3_STRIPE

/* ==== src/hash/murmur2.c ==================================================================== */
/*
 * murmur2.c - Austin Appleby's MurmurHash2, in 64 bits (his MurmurHash64A) and 32. RedisBloom's
 * layouts are made from them. Weak against chosen keys whatever the seed: kept for those bytes.
 */

#define MURMUR_M64 0xc6a4a7935bd1e995u
#define MURMUR_M32 0x5bd1e995u

static uint64_t murmur_mix64(uint64_t k) {
  k *= MURMUR_M64;
  return (k ^ k >> 47) * MURMUR_M64;
}

/* The last len % 8 bytes as a number. With a whole block before them one load does, shifted. */
static uint64_t murmur_tail64(const uint8_t *p, size_t len) {
  size_t rest = len & 7;
  if (len >= 8) return nay__load64le(p + len - 8) >> (64 - 8 * rest);
  uint64_t tail = 0;
  for (size_t i = rest; i > 0; i--) tail = tail << 8 | p[i - 1];
  return tail;
}

static inline uint64_t murmur_blocks64(const uint8_t *p, size_t len, uint64_t tail, uint64_t seed) {
  uint64_t h = seed ^ (uint64_t)len * MURMUR_M64;
  for (size_t i = 0; i + 8 <= len; i += 8)
    h = (h ^ murmur_mix64(nay__load64le(p + i))) * MURMUR_M64;
  if ((len & 7) != 0) h = (h ^ tail) * MURMUR_M64;
  h = (h ^ h >> 47) * MURMUR_M64;
  return h ^ h >> 47;
}

uint64_t nay__murmur64a(const uint8_t *p, size_t len, uint64_t seed) {
  return murmur_blocks64(p, len, (len & 7) != 0 ? murmur_tail64(p, len) : 0, seed);
}

nay_hash nay__murmur64x2(const uint8_t *p, size_t len) {
  uint64_t tail = (len & 7) != 0 ? murmur_tail64(p, len) : 0;
  uint64_t a = murmur_blocks64(p, len, tail, MURMUR_M64);
  return (nay_hash){a, murmur_blocks64(p, len, tail, a)};
}

uint32_t nay__murmur32(const uint8_t *p, size_t len, uint32_t seed) {
  uint32_t h = seed ^ (uint32_t)len;
  const uint8_t *end = p + (len & ~(size_t)3);
  for (; p != end; p += 4) {
    uint32_t k = nay__load32le(p) * MURMUR_M32;
    h = h * MURMUR_M32 ^ (k ^ k >> 24) * MURMUR_M32;
  }
  if ((len & 3) != 0) {
    uint32_t tail = 0;
    for (size_t i = len & 3; i > 0; i--) tail = tail << 8 | p[i - 1];
    h = (h ^ tail) * MURMUR_M32;
  }
  h = (h ^ h >> 13) * MURMUR_M32;
  return h ^ h >> 15;
}

nay_hash nay__murmur32x2(const uint8_t *p, size_t len) {
  uint32_t a = nay__murmur32(p, len, 0x9747b28cu);
  return (nay_hash){a, nay__murmur32(p, len, a)};
}
#undef MURMUR_M32
#undef MURMUR_M64

/* ==== src/cpu/dispatch.c ==================================================================== */
/* dispatch.c - which kernels this CPU runs. The only file that asks what the CPU can do. */

/* ==== src/cpu/crc32c.h ====================================================================== */
/* crc32c.h - CRC-32C by the instructions that CPUs have for it. */
#ifndef NAY_CPU_CRC32C_H
#define NAY_CPU_CRC32C_H

typedef uint32_t (*nay_crc32c)(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay__crc32c: continues a checksum, in the fastest way of this CPU. */
uint32_t nay__crc32c(uint32_t crc, const uint8_t *bytes, size_t len);

/* nay__crc32c_at: the i-th way that this CPU can run, the scalar one first; NULL past the last. */
nay_crc32c nay__crc32c_at(size_t i);

/* those of crc32c_hw.c; only where dispatch.c says so */
uint32_t nay__crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t len);
uint32_t nay__crc32c_arm(uint32_t crc, const uint8_t *bytes, size_t len);

#endif /* NAY_CPU_CRC32C_H */

/* ==== src/cpu/kernels_simd.h ================================================================ */
/* kernels_simd.h - what the vector tables share: the powers of g, and which tables this build has.
 */
#ifndef NAY_KERNELS_SIMD_H
#define NAY_KERNELS_SIMD_H

/* ==== src/cpu/kernels_define.h ============================================================== */
/*
 * kernels_define.h - the loops that are the same for every table: one key, and up to 64 keys. A
 * table differs only in how it tests and adds one key, and in the instructions the compiler may
 * use.
 */
#ifndef NAY_KERNELS_DEFINE_H
#define NAY_KERNELS_DEFINE_H

/* ==== src/cpu/kernels.h ===================================================================== */
/*
 * kernels.h - the inner loops, one table for each way the CPU can run them.
 *
 * A filter takes a pointer to a table when it is made and never asks about the CPU again, so two
 * filters in one process may use different tables, and a test can compare any of them with the
 * scalar one: they must give identical bits.
 *
 * The bit patterns, which are part of the file format:
 *
 *   bloom     probe i is bit reduce(h * G^i mod 2^64, nbits), G = 0x9e3779b97f4a7c15
 *   blocked   block reduce(h, nblocks); probe i is bit (lo32(h) * g^i mod 2^32) >> 23 of its 512,
 *             g = 0x9e3779b9
 *
 * where bit b of a byte array is bit b % 8 (least significant first) of byte b / 8.
 */
#ifndef NAY_KERNELS_H
#define NAY_KERNELS_H

#define NAY_BLOCK_BITS 512u
#define NAY_BLOCK_BYTES 64u
#define NAY_G64 0x9e3779b97f4a7c15u
#define NAY_G32 0x9e3779b9u

/*
 * nay_bits: what a kernel needs to know of a filter. `nunits` counts bits (bloom) or blocks. It
 * begins with the filter's own probe, for nay_filter_may_contain_hash.
 */
typedef struct nay_bits {
  nay_probe probe;
  uint8_t *bytes;
  uint64_t nunits;
  uint32_t k;
  uint32_t extra; /* for the family, as in its shape */
  bool in_cache;  /* small enough that asking for lines ahead of time costs more than it gives */
} nay_bits;

/* nay_put: adds a key to a filter of k probes, and does not say whether it was new. NAY_OK. */
typedef nay_status (*nay_put)(const nay_bits *, uint64_t hash);

/* A fuse or xor filter of less than 2^32 bytes, with shards of less than 2^32 bits. */
typedef struct nay_fuse_map {
  const uint8_t *factors, *arrays;         /* of the shards */
  uint64_t nshards, stride, span, segment; /* stride: bytes of an array; segment: 0 for xor */
  unsigned bits, arity;
} nay_fuse_map;

/* A cuckoo table that does not grow, of less than 2^28 buckets. */
typedef struct nay_cuckoo_map {
  const uint8_t *slots;
  uint64_t nbuckets;
  unsigned bits; /* of a tag, at most 16 */
} nay_cuckoo_map;

/*
 * Where a key's columns are in a ribbon filter, and which bits of them are its. A column's 128
 * slots are two words; the 128 slots of a key, which may begin anywhere, reach into three of the
 * four of its two blocks.
 */
typedef struct nay_ribbon_spot {
  const uint8_t *here, *next; /* column 0 of both blocks; the same when nothing is in the next */
  uint64_t bits[3];
  bool upper; /* the first word is the upper one of `here` */
  unsigned columns;
  uint64_t print; /* bit c % 4 * 16 + c / 4 is for column c */
} nay_ribbon_spot;

/* The bytes of a ribbon filter, as family/ribbon.h has them: where its directory and its blocks
 * are.
 */
typedef struct nay_ribbon_map {
  const uint8_t *directory, *blocks;
  uint64_t nshards;
  uint64_t short_blocks; /* so many have a column less; never the last one */
  unsigned columns;      /* 1 to 32 */
  bool in_cache;
} nay_ribbon_map;

/* A row of the equations of a ribbon filter, and the slots found so far (family/banding.c). */
typedef struct nay_band_row {
  uint64_t lo, hi; /* lo is 0: empty, and so is print */
  uint64_t print;  /* as in a spot */
} nay_band_row;
typedef struct nay_band_columns {
  uint64_t lo[32], hi[32]; /* the last 128 slots of each column, the lowest bit found last */
} nay_band_columns;

/* Equations on their way, from the first slot of a panel on; room to store eight too many. */
#define NAY_BAND_PENDING 64u
typedef struct nay_band_pending {
  uint64_t lo[NAY_BAND_PENDING + 8], hi[NAY_BAND_PENDING + 8], print[NAY_BAND_PENDING + 8];
  unsigned n;
} nay_band_pending;

/* Half of a shard's slots, and the keys that begin in them, sorted by panels of slots. */
#define NAY_BAND_PANEL 8u
typedef struct nay_band_sweep {
  nay_band_row *rows;     /* of the next panel */
  const uint32_t *ends;   /* of the keys of the next panel and those after it */
  uint64_t *keys;         /* of the shard */
  uint32_t next;          /* key */
  uint32_t seed, starts;  /* of the shard; how many first slots it has */
  uint32_t aside, naside; /* keys set aside, moved to the front of the half's */
  nay_band_pending pending;
} nay_band_sweep;

/* What a kernel has done in a block of a counting filter. */
typedef struct nay_counted {
  uint32_t probes; /* the first so many of k; the others need more than a kernel can */
  bool fresh;      /* a bit of theirs was clear */
} nay_counted;

/* nay_key_list: keys with a pointer and a length each, or one after the other in a buffer. */
typedef struct nay_key_list {
  const void *const *keys; /* NULL: packed */
  const size_t *lens;
  const uint8_t *bytes; /* packed: key i is bytes[offsets[i], offsets[i + 1]) */
  const size_t *offsets;
  size_t n; /* how many there are; 0: not known, and none is fetched ahead */
} nay_key_list;

/*
 * nay__keys_ahead: asks for `count` keys that are hashed 64 keys later. They may lie anywhere;
 * packed ones are read in order, which processors notice.
 */
static inline void nay__keys_ahead(const nay_key_list *list, size_t i, size_t count) {
  if (list->keys == NULL || i + 64 + count > list->n) return;
  for (size_t j = 0; j < count; j++) NAY_PREFETCH(list->keys[i + 64 + j]);
}

/*
 * Batches have at most 64 keys: bit i of the word answers for hashes[i]. A batch's prefetch is
 * called one batch ahead, and only for filters that do not fit in the cache.
 */
typedef struct nay_kernels {
  const char *name;
  bool popcnt; /* functions marked NAY_BMI2 may be called */
  nay_probe bloom_test;
  /* the same for this size and number of probes only, chosen once; NULL: as bloom_test */
  nay_probe (*bloom_test_for)(const nay_bits *);
  bool (*bloom_add)(const nay_bits *, uint64_t hash); /* true when a bit changed: the key is new */
  uint64_t (*bloom_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*bloom_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /* as the adds, when nobody asks what was new; NULL: adds need a lock */
  nay_put (*bloom_put_for)(const nay_bits *);
  void (*bloom_put64)(const nay_bits *, const uint64_t *hashes, unsigned n);

  bool (*blocked_test)(const nay_bits *, uint64_t hash);
  bool (*blocked_add)(const nay_bits *, uint64_t hash);
  nay_put (*blocked_put)(uint32_t k); /* NULL: adds need a lock */
  uint64_t (*blocked_test64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  uint64_t (*blocked_add64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /* as blocked_add64, when nobody asks what was new; NULL: no faster than with the answers */
  void (*blocked_put64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  void (*blocked_prefetch64)(const nay_bits *, const uint64_t *hashes, unsigned n);
  /*
   * Exactly 64 keys, for filters out of cache: with each goes the prefetch of one of the 64 that
   * are next. As many lines asked for at once would fill the processor's list of those on their way
   * and hold up what comes after them. tell: whether the word of what was new is wanted.
   */
  uint64_t (*blocked_test64_ahead)(const nay_bits *, const uint64_t *hashes, const uint64_t *next);
  uint64_t (*blocked_add64_ahead)(const nay_bits *, const uint64_t *hashes, const uint64_t *next,
                                  bool tell);

  /* a key of a block and its counters; NULL: counting.c does it. The CPUs that have AVX-512 are not
   * among those where a deposit takes a hundred cycles */
  nay_counted (*counting_add)(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);
  nay_counted (*counting_remove)(uint8_t *plane, uint8_t *words, uint64_t hash, uint32_t k);

  /* Those of 64 hashes from least to least + span, in their order; returns how many. `kept` has
   * room for 64. NULL: one at a time */
  unsigned (*keep64)(const uint64_t *hashes, uint64_t least, uint64_t span, uint64_t *kept);

  /* exactly 64 keys, for fuse those that are premixed; NULL: one after the other. fixed: the keys
   * of shards with an even factor, which is no factor; what is returned for them means nothing */
  uint64_t (*fuse_test64)(const nay_fuse_map *, const uint64_t *x, uint64_t *fixed);
  uint64_t (*cuckoo_test64)(const nay_cuckoo_map *, const uint64_t *hashes);
  /* one key of tags of so many bits that do not grow. NULL, or it returns NULL: cuckoo.c does it */
  nay_probe (*cuckoo_probe)(unsigned tag_bits);
  bool (*ribbon_look)(const nay_ribbon_spot *); /* NULL: ribbon.c does it by words */
  /* keys that are premixed; NULL: one look after the other */
  uint64_t (*ribbon_test64)(const nay_ribbon_map *, const uint64_t *x, unsigned n);
  /* eliminates all but what is pending or set aside. NULL, as the next: banding.c does it */
  void (*band_sweep)(nay_band_sweep halves[2], uint32_t npanels);
  /* 128 slots of columns 8 part to 8 part + 7, from the last row to the first */
  void (*band_solve)(const nay_band_row *rows, unsigned part, nay_band_columns *);

  /*
   * XXH3 of keys from, from + 1, ... in eights, up to n, until eight of which one has not 9 to 16
   * bytes. Returns how many were hashed. May be NULL.
   */
  size_t (*xxh3_short)(uint64_t seed, const nay_key_list *, size_t from, size_t n,
                       uint64_t *hashes);
} nay_kernels;

extern const nay_kernels nay__kernels_scalar;
/* relaxed atomics: probes from any thread, adds from those that hold the stripe (base/spin.h) */
extern const nay_kernels nay__kernels_shared;

/* nay__kernels_best: for this CPU. */
const nay_kernels *nay__kernels_best(void);

/* nay__kernels_at: the i-th table that this CPU can run, scalar first; NULL past the last. */
const nay_kernels *nay__kernels_at(size_t i);

#endif /* NAY_KERNELS_H */

/*
 * Defines name(bits, hash) and name64(bits, hashes, n) from an inline `one(bits, hash, k)`. A
 * macro, because the target attribute must stand on each function and cannot be passed in any other
 * way. The usual numbers of probes (6 to 20 bits per key) get loops of constant length: a quarter
 * less time for an add.
 */
#define NAY_KERNEL_LOOP(one, k) \
  for (unsigned i = 0; i < n; i++) word |= (uint64_t)one(b, hashes[i], k) << i
#define NAY_DEFINE_KERNEL(attribute, name, one)                                        \
  attribute bool name(const nay_bits *b, uint64_t hash) { return one(b, hash, b->k); } \
  attribute uint64_t name##64(const nay_bits *b, const uint64_t *hashes, unsigned n) { \
    uint64_t word = 0;                                                                 \
    NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP, one)                                        \
    return word;                                                                       \
  }

/* Defines name(bits, hashes, next): 64 keys, and a prefetch with each of them. */
#define NAY_KERNEL_LOOP_AHEAD(one, k)            \
  for (unsigned i = 0; i < 64; i++) {            \
    NAY_PREFETCH(nay__block_of(b, next[i]));     \
    word |= (uint64_t)one(b, hashes[i], k) << i; \
  }
#define NAY_DEFINE_TEST_AHEAD(attribute, name, one)                                          \
  attribute uint64_t name(const nay_bits *b, const uint64_t *hashes, const uint64_t *next) { \
    uint64_t word = 0;                                                                       \
    NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP_AHEAD, one)                                        \
    return word;                                                                             \
  }

/*
 * Defines name(k): a function that does what `one` does, forgets what it answers, and knows k. What
 * a filter's single adds cost is the number of their instructions.
 */
#define NAY_DEFINE_PUT(attribute, name, one, k)                        \
  attribute static nay_status name(const nay_bits *b, uint64_t hash) { \
    (void)one(b, hash, k);                                             \
    return NAY_OK;                                                     \
  }
#define NAY_DEFINE_PUTS(attribute, name, one)                                                    \
  NAY_DEFINE_PUT(attribute, name##_any, one, b->k)                                               \
  NAY_DEFINE_PUT(attribute, name##_4, one, 4)                                                    \
  NAY_DEFINE_PUT(attribute, name##_5, one, 5)                                                    \
  NAY_DEFINE_PUT(attribute, name##_6, one, 6)                                                    \
  NAY_DEFINE_PUT(attribute, name##_7, one, 7)                                                    \
  NAY_DEFINE_PUT(attribute, name##_8, one, 8)                                                    \
  NAY_DEFINE_PUT(attribute, name##_9, one, 9)                                                    \
  static nay_put name(uint32_t k) {                                                              \
    static const nay_put usual[] = {name##_4, name##_5, name##_6, name##_7, name##_8, name##_9}; \
    return k >= 4 && k <= 9 ? usual[k - 4] : name##_any;                                         \
  }

#define NAY_FOR_USUAL_K(k, loop, argument) \
  switch (k) {                             \
    case 4: loop(argument, 4); break;      \
    case 5: loop(argument, 5); break;      \
    case 6: loop(argument, 6); break;      \
    case 7: loop(argument, 7); break;      \
    case 8: loop(argument, 8); break;      \
    case 9: loop(argument, 9); break;      \
    default: loop(argument, k); break;     \
  }

NAY_INLINE uint8_t *nay__block_of(const nay_bits *b, uint64_t hash) {
  return b->bytes + nay__reduce(hash, b->nunits) * NAY_BLOCK_BYTES;
}

/* The kernels in plain C that other tables have too. */
bool nay__bloom_test(const nay_bits *b, uint64_t hash);
nay_probe nay__bloom_test_for(const nay_bits *b);
bool nay__bloom_add(const nay_bits *b, uint64_t hash);
nay_put nay__bloom_put_for(const nay_bits *b);
uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n);
uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n);
void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n);

#endif /* NAY_KERNELS_DEFINE_H */

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

/* kernels_cuckoo.c, with AVX2 */
nay_probe nay__cuckoo_probe_avx2(unsigned tag_bits);

/* kernels_counting.c */
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

extern const nay_kernels nay__kernels_avx2;
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

const nay_kernels *nay__kernels_at(size_t i) {
  const nay_kernels *tables[5] = {&nay__kernels_scalar};
  size_t n = 1;
#if NAY_HAS_X86_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("popcnt")) {
    tables[n++] = &nay__kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
      tables[n++] = &nay__kernels_avx512;
      if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") &&
          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq")) {
        tables[n++] = &nay__kernels_gfni;
      }
    }
  }
#endif
#if NAY_HAS_NEON_KERNELS
  tables[n++] = &nay__kernels_neon; /* every 64-bit Arm has it */
#endif
  return i < n ? tables[i] : NULL;
}

/* The last one is the best. */
const nay_kernels *nay__kernels_best(void) {
  const nay_kernels *best = NULL, *next;
  for (size_t i = 0; (next = nay__kernels_at(i)) != NULL; i++) best = next;
  return best;
}

nay_crc32c nay__crc32c_at(size_t i) {
  nay_crc32c ways[2] = {nay__crc32c_scalar};
  size_t n = 1;
#if NAY_HAS_X86_KERNELS
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
    ways[n++] = nay__crc32c_sse42;
  }
#elif defined(__ARM_FEATURE_CRC32)
  ways[n++] = nay__crc32c_arm; /* the compiler was told so: every Arm from version 8.1 on has it */
#endif
  return i < n ? ways[i] : NULL;
}

uint32_t nay__crc32c(uint32_t crc, const uint8_t *bytes, size_t len) {
  nay_crc32c best = nay__crc32c_at(1);
  return best != NULL ? best(crc, bytes, len) : nay__crc32c_scalar(crc, bytes, len);
}

/* ==== src/cpu/crc32c_hw.c =================================================================== */
/*
 * crc32c_hw.c - CRC-32C by instructions: SSE 4.2 with carry-less multiplication, and ARMv8.
 *
 * The instruction takes 8 bytes and has a latency of three cycles, so three streams side by side
 * keep it busy. To join two streams the first one's register is advanced over as many zero bytes as
 * the second has: a product with x^(8 n) mod P. The carry-less product of reflected numbers is
 * short of one factor x, and reducing it by the instruction itself adds x^32, so that the constant
 * for n bytes is x^(8 n - 33).
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define CRC_STREAM 256u        /* a block of 4 KiB is five rounds and a rest */
#define CRC_SKIP_1 0xb9e02b86u /* x^(8 * 256 - 33) mod P, reflected */
#define CRC_SKIP_2 0xdd7e3b0cu /* x^(8 * 512 - 33) */
#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

CRC_TARGET static inline uint64_t crc_load(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v); /* x86 is little-endian */
  return v;
}

CRC_TARGET static inline uint64_t crc_advance(uint64_t crc, uint64_t constant) {
  __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
                                         _mm_cvtsi64_si128((long long)constant), 0);
  return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

CRC_TARGET uint32_t nay__crc32c_sse42(uint32_t start, const uint8_t *p, size_t len) {
  uint64_t crc = ~start;
  for (; len >= 3 * CRC_STREAM; p += 3 * CRC_STREAM, len -= 3 * CRC_STREAM) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < CRC_STREAM; i += 8) {
      crc = _mm_crc32_u64(crc, crc_load(p + i));
      second = _mm_crc32_u64(second, crc_load(p + CRC_STREAM + i));
      third = _mm_crc32_u64(third, crc_load(p + 2 * CRC_STREAM + i));
    }
    crc = crc_advance(crc, CRC_SKIP_2) ^ crc_advance(second, CRC_SKIP_1) ^ third;
  }
  for (; len >= 8; p += 8, len -= 8) crc = _mm_crc32_u64(crc, crc_load(p));
  uint32_t low = (uint32_t)crc;
  for (; len > 0; p++, len--) low = _mm_crc32_u8(low, *p);
  return ~low;
}

#endif

#if defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

uint32_t nay__crc32c_arm(uint32_t crc, const uint8_t *p, size_t len) {
  crc = ~crc;
  for (; len >= 8; p += 8, len -= 8) crc = __crc32cd(crc, nay__load64le(p));
  for (; len > 0; p++, len--) crc = __crc32cb(crc, *p);
  return ~crc;
}

#endif
#undef CRC_SKIP_1
#undef CRC_SKIP_2
#undef CRC_STREAM
#undef CRC_TARGET

/* ==== src/cpu/kernels_scalar.c ============================================================== */
/*
 * kernels_scalar.c - the kernels in plain C: the table that defines the bits, and the one with
 * relaxed atomic accesses for filters that many threads change.
 *
 * What makes test-and-add one step is a lock that the family holds around an add (base/spin.h): on
 * the block for blocked, whose bytes then have one writer at a time, so a relaxed store will do; on
 * the key for bloom, where another key's adder may write the same byte and the or must be atomic.
 * Readers hold no lock: they see each byte before or after, and once an add has returned and its
 * thread has told another of it, after.
 */

/* ---- blocked, plain ---- */

NAY_INLINE bool scalar_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    if ((block[h >> 26] >> (h >> 23 & 7) & 1) == 0) return false;
  }
  return true;
}

NAY_INLINE bool scalar_blocked_add(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash), fresh = 0;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> 23 & 7)), *p = block + (h >> 26);
    fresh |= (uint8_t)(~*p & mask);
    *p |= mask;
  }
  return fresh != 0;
}

NAY_DEFINE_KERNEL(static, scalar_test, scalar_blocked_test)
NAY_DEFINE_KERNEL(static, scalar_add, scalar_blocked_add)
NAY_DEFINE_PUTS(, scalar_put, scalar_blocked_add)
NAY_DEFINE_TEST_AHEAD(static, scalar_test64_ahead, scalar_blocked_test)

static uint64_t scalar_add64_ahead(const nay_bits *b, const uint64_t *hashes, const uint64_t *next,
                                   bool tell) {
  uint64_t word = 0;
  (void)tell;
  NAY_FOR_USUAL_K(b->k, NAY_KERNEL_LOOP_AHEAD, scalar_blocked_add)
  return word;
}

void nay__blocked_prefetch64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n; i++) NAY_PREFETCH(nay__block_of(b, hashes[i]));
}

const nay_kernels nay__kernels_scalar = {
    .name = "scalar",
    .bloom_test = nay__bloom_test,
    .bloom_test_for = nay__bloom_test_for,
    .bloom_add = nay__bloom_add,
    .bloom_put_for = nay__bloom_put_for,
    .bloom_test64 = nay__bloom_test64,
    .bloom_add64 = nay__bloom_add64,
    .bloom_put64 = nay__bloom_put64,
    .blocked_test = scalar_test,
    .blocked_add = scalar_add,
    .blocked_put = scalar_put,
    .blocked_test64 = scalar_test64,
    .blocked_add64 = scalar_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = scalar_test64_ahead,
    .blocked_add64_ahead = scalar_add64_ahead,
};

/* ---- shared: many threads ---- */

NAY_INLINE bool shared_get(const uint8_t *bytes, uint64_t bit) {
  return (nay__atomic_load8(bytes + (bit >> 3)) >> (bit & 7) & 1) != 0;
}

/* True when this call set the bit. The load first spares a locked write that would change nothing.
 */
NAY_INLINE bool shared_set(uint8_t *bytes, uint64_t bit) {
  uint8_t mask = (uint8_t)(1u << (bit & 7)), *p = bytes + (bit >> 3);
  return (nay__atomic_load8(p) & mask) == 0 && (nay__atomic_or8(p, mask) & mask) == 0;
}

NAY_INLINE bool shared_bloom_test_one(const nay_bits *b, uint64_t h, uint32_t k) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    if (!shared_get(b->bytes, nay__reduce(h, b->nunits))) return false;
  }
  return true;
}

NAY_INLINE bool shared_bloom_add_one(const nay_bits *b, uint64_t h, uint32_t k) {
  bool is_new = false;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    is_new |= shared_set(b->bytes, nay__reduce(h, b->nunits));
  }
  return is_new;
}

NAY_INLINE bool shared_blocked_test_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    if (!shared_get(block, h >> 23)) return false;
  }
  return true;
}

NAY_INLINE bool shared_blocked_add_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  bool is_new = false;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    uint8_t mask = (uint8_t)(1u << (h >> 23 & 7)), *p = block + (h >> 26);
    if ((*p & mask) != 0) continue;
    nay__atomic_store8(p, *p | mask); /* the lock of the block is ours: no other writer */
    is_new = true;
  }
  return is_new;
}

NAY_DEFINE_KERNEL(static, shared_bloom_test, shared_bloom_test_one)
NAY_DEFINE_KERNEL(static, shared_bloom_add, shared_bloom_add_one)
NAY_DEFINE_KERNEL(static, shared_blocked_test, shared_blocked_test_one)
NAY_DEFINE_KERNEL(static, shared_blocked_add, shared_blocked_add_one)
NAY_DEFINE_TEST_AHEAD(static, shared_blocked_test64_ahead, shared_blocked_test_one)

const nay_kernels nay__kernels_shared = {
    .name = "shared",
    .bloom_test = shared_bloom_test,
    .bloom_add = shared_bloom_add,
    .bloom_test64 = shared_bloom_test64,
    .bloom_add64 = shared_bloom_add64,
    .blocked_test = shared_blocked_test,
    .blocked_add = shared_blocked_add,
    .blocked_test64 = shared_blocked_test64,
    .blocked_add64 = shared_blocked_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = shared_blocked_test64_ahead,
};

/* ==== src/cpu/kernels_bloom.c =============================================================== */
/*
 * kernels_bloom.c - the classic Bloom: k random bits, k cache lines, in plain C.
 *
 * What decides is how many lines are on their way at once. A probe that leaves at the first zero
 * bit reads fewer lines, but whether it leaves is a branch that nobody can foretell and that is
 * decided only when the line is there; all that was begun behind it is thrown away. So the bits of
 * a key are looked at together, eight at a time. A batch looks at two bits of each key, then at the
 * others of the keys that are left, without a branch on what it finds. Adds know all positions of a
 * few keys before they touch the first.
 *
 * Probes look at words of 64 bits, which takes fewer instructions than bytes do. A payload is whole
 * words, so none reaches past its end.
 */

/* ==== src/cpu/kernels_bloom.h =============================================================== */
/* kernels_bloom.h - what the plain and the vector kernels of the classic Bloom share. */
#ifndef NAY_KERNELS_BLOOM_H
#define NAY_KERNELS_BLOOM_H

#define NAY_BLOOM_MAX_K 64u
#define NAY_BLOOM_ROUND 8u /* probes of one key that are looked at without a branch between */
#define NAY_G64_POWER_8 0x06d4b2611beb6861u /* G^8 mod 2^64; a test recomputes it */

/*
 * Lines are asked for ahead of adds only where they come from far: from 4 MiB on that takes 14 ns a
 * key in place of 19 (10^7 keys), below it adds as much as it saves, or more.
 */
NAY_INLINE bool nay__bloom_is_far(const nay_bits *b) { return b->nunits >> 25 != 0; }

NAY_INLINE uint64_t nay__bloom_look(const uint8_t *bytes, uint64_t bit) {
  return nay__load64le(bytes + (bit >> 6) * 8) >> (bit & 63);
}

/* Probes 0 to k - 1 of h together. */
NAY_INLINE bool nay__bloom_look_all(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t all = 1;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) {
    all &= nay__bloom_look(b->bytes, nay__reduce(h, b->nunits));
  }
  return (all & 1) != 0;
}

NAY_INLINE bool nay__bloom_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POWER_8) {
    if (!nay__bloom_look_all(b, h, NAY_BLOOM_ROUND)) return false;
  }
  return nay__bloom_look_all(b, h, k);
}

/*
 * Defines name_for(k), which gives the function for so many probes, from an inline one(bits, hash,
 * k) that has no loop when k is a constant.
 */
#define NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, k, suffix)         \
  attribute static type name##_##suffix(const nay_bits *b, uint64_t hash) { \
    return one(b, hash, k);                                                 \
  }
#define NAY_BLOOM_DEFINE(attribute, type, pointer, name, one)                           \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 4, 4)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 5, 5)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 6, 6)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 7, 7)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, 8, 8)                                \
  NAY_BLOOM_DEFINE_ONE(attribute, type, name, one, b->k, any)                           \
  static pointer name##_for(uint32_t k) {                                               \
    static const pointer usual[5] = {name##_4, name##_5, name##_6, name##_7, name##_8}; \
    return k >= 4 && k <= 8 ? usual[k - 4] : name##_any;                                \
  }

#endif /* NAY_KERNELS_BLOOM_H */

#define BLOOM_FIRST 2u /* probes after which a batch drops what is absent: three keys of four */
#define BLOOM_GROUP 8u /* keys whose lines are asked for together: 8 x 7 lines fit in L1 */

/* ---- one key ---- */

NAY_BLOOM_DEFINE(, bool, nay_probe, bloom_test, nay__bloom_test_k)

nay_probe nay__bloom_test_for(const nay_bits *b) { return bloom_test_for(b->k); }

bool nay__bloom_test(const nay_bits *b, uint64_t h) { return nay__bloom_test_k(b, h, b->k); }

NAY_INLINE void bloom_aim(const nay_bits *b, uint64_t h, uint32_t k, uint64_t *at) {
  for (uint32_t i = 0; i < k; i++, h *= NAY_G64) at[i] = nay__reduce(h, b->nunits);
}

NAY_INLINE void bloom_set(uint8_t *bytes, uint64_t bit) {
  bytes[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

NAY_INLINE bool bloom_add_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes, fresh = 0;
  bloom_aim(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) {
    fresh |= (uint8_t)(~bytes[at[i] >> 3] & 1u << (at[i] & 7));
    bloom_set(bytes, at[i]);
  }
  return fresh != 0;
}

NAY_INLINE nay_status bloom_put_k(const nay_bits *b, uint64_t h, uint32_t k) {
  uint64_t at[NAY_BLOOM_MAX_K];
  uint8_t *bytes = b->bytes;
  bloom_aim(b, h, k, at);
  for (uint32_t i = 0; i < k; i++) bloom_set(bytes, at[i]);
  return NAY_OK;
}

NAY_BLOOM_DEFINE(, bool, nay_probe, bloom_add, bloom_add_k)
NAY_BLOOM_DEFINE(, nay_status, nay_put, bloom_put, bloom_put_k)

bool nay__bloom_add(const nay_bits *b, uint64_t hash) { return bloom_add_for(b->k)(b, hash); }

nay_put nay__bloom_put_for(const nay_bits *b) { return bloom_put_for(b->k); }

/* ---- up to 64 keys ---- */

uint64_t nay__bloom_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint32_t first = b->k < BLOOM_FIRST ? b->k : BLOOM_FIRST;
  uint64_t left[64], word = 0;
  uint8_t who[64];
  unsigned kept = 0;
  for (unsigned i = 0; i < n; i++) {
    left[kept] = hashes[i] * (NAY_G64 * NAY_G64);
    who[kept] = (uint8_t)i;
    kept += nay__bloom_look_all(b, hashes[i], first);
  }
  for (unsigned i = 0; i < kept; i++) {
    word |= (uint64_t)nay__bloom_test_k(b, left[i], b->k - first) << who[i];
  }
  return word;
}

/* Asks for the lines of some keys where they are far, before the first of them is added. */
NAY_INLINE void bloom_ask(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  for (unsigned i = 0; i < n && nay__bloom_is_far(b); i++) {
    uint64_t h = hashes[i];
    for (uint32_t probe = 0; probe < b->k; probe++, h *= NAY_G64) {
      NAY_PREFETCH(b->bytes + (nay__reduce(h, b->nunits) >> 3));
    }
  }
}

uint64_t nay__bloom_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  nay_probe add = bloom_add_for(b->k);
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    if (i % BLOOM_GROUP == 0) bloom_ask(b, hashes + i, n - i < BLOOM_GROUP ? n - i : BLOOM_GROUP);
    word |= (uint64_t)add(b, hashes[i]) << i;
  }
  return word;
}

void nay__bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  nay_put put = bloom_put_for(b->k);
  for (unsigned i = 0; i < n; i++) {
    if (i % BLOOM_GROUP == 0) bloom_ask(b, hashes + i, n - i < BLOOM_GROUP ? n - i : BLOOM_GROUP);
    put(b, hashes[i]);
  }
}
#undef BLOOM_FIRST
#undef BLOOM_GROUP

/* ==== src/cpu/kernels_bloom_avx512.c ======================================================== */
/*
 * kernels_bloom_avx512.c - the classic Bloom with AVX-512: positions eight at a time.
 *
 * Position i of a key is the high half of a product of 64 by 64 bits, which no vector instruction
 * gives. But an array has less than 2^32 bits unless it is larger than 512 MiB, and then
 *
 *   reduce(x, nbits) = (high32(x) * nbits + (low32(x) * nbits >> 32)) >> 32
 *
 * takes two products of 32 by 32 bits. One key: the eight lanes are its probes, h * (1, G, G^2
 * ...), and each goes to a general register to load its word. A batch: the lanes are eight keys,
 * and words are gathered; keys that are left after two probes are moved together, again without a
 * branch. Larger arrays take the plain way. Figures: doc/design/speed.md.
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define BLOOM8_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,bmi,bmi2,popcnt")))
#define BLOOM8_FIRST 2u  /* probes of a batch after which it looks who is left */
#define BLOOM8_NEXT 5u   /* and so on: 7 probes are two rounds */
#define BLOOM8_GROUP 32u /* keys added together */

NAY_INLINE bool bloom8_fits(const nay_bits *b) { return b->nunits >> 32 == 0; }

BLOOM8_AVX512 NAY_INLINE __m256i bloom8_reduce(__m512i x, __m512i nbits) {
  __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), nbits);
  __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, nbits), 32);
  return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_add_epi64(high, low), 32));
}

BLOOM8_AVX512 NAY_INLINE __m512i bloom8_nbits(const nay_bits *b) {
  return _mm512_set1_epi64((int64_t)b->nunits);
}

BLOOM8_AVX512 NAY_INLINE __m512i bloom8_step(__m512i x) {
  return _mm512_mullo_epi64(x, _mm512_set1_epi64((int64_t)NAY_G64));
}

/* Words of 64 bits: a byte takes an instruction more. Looking and setting agree on the width, since
 * a load does not get what a narrower store before it has written until that is in the cache. */
NAY_INLINE uint64_t bloom8_look(const uint8_t *bytes, uint32_t bit) {
  uint64_t word;
  memcpy(&word, bytes + (size_t)(bit >> 6) * 8, sizeof word);
  return word >> (bit & 63);
}

NAY_INLINE void bloom8_set(uint8_t *bytes, uint32_t bit) {
  uint64_t word;
  memcpy(&word, bytes + (size_t)(bit >> 6) * 8, sizeof word);
  word |= (uint64_t)1 << (bit & 63);
  memcpy(bytes + (size_t)(bit >> 6) * 8, &word, sizeof word);
}

/* ---- one key ---- */

static const uint64_t bloom8_powers[8] = NAY_G64_POWERS_0_TO_7;

/* Two positions in each word. */
typedef struct bloom8_places {
  uint64_t pair[4];
} bloom8_places;

BLOOM8_AVX512 NAY_INLINE bloom8_places bloom8_aim(const nay_bits *b, uint64_t h) {
  __m512i x = _mm512_mullo_epi64(_mm512_set1_epi64((int64_t)h), _mm512_loadu_si512(bloom8_powers));
  __m256i at = bloom8_reduce(x, bloom8_nbits(b));
  __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
  return (bloom8_places){{(uint64_t)_mm_cvtsi128_si64(low), (uint64_t)_mm_extract_epi64(low, 1),
                          (uint64_t)_mm_cvtsi128_si64(high), (uint64_t)_mm_extract_epi64(high, 1)}};
}

NAY_INLINE uint32_t bloom8_place(const bloom8_places *p, unsigned i) {
  return (uint32_t)(p->pair[i / 2] >> i % 2 * 32);
}

/* Written out: as a loop the compiler would make a gather of it, which is slower for one key. */
#define BLOOM8_EACH(k, one) \
  do {                      \
    if ((k) > 0) one(0);    \
    if ((k) > 1) one(1);    \
    if ((k) > 2) one(2);    \
    if ((k) > 3) one(3);    \
    if ((k) > 4) one(4);    \
    if ((k) > 5) one(5);    \
    if ((k) > 6) one(6);    \
    if ((k) > 7) one(7);    \
  } while (0)

BLOOM8_AVX512 NAY_INLINE bool bloom8_look_all(const nay_bits *b, const bloom8_places *p,
                                              uint32_t k) {
  const uint8_t *bytes = b->bytes;
  uint64_t all = 1;
#define BLOOM8_LOOK(i) all &= bloom8_look(bytes, bloom8_place(p, i))
  BLOOM8_EACH(k, BLOOM8_LOOK);
  return (all & 1) != 0;
}

BLOOM8_AVX512 NAY_INLINE bool bloom8_test_k(const nay_bits *b, uint64_t h, uint32_t k) {
  for (; k > NAY_BLOOM_ROUND; k -= NAY_BLOOM_ROUND, h *= NAY_G64_POWER_8) {
    bloom8_places p = bloom8_aim(b, h);
    if (!bloom8_look_all(b, &p, NAY_BLOOM_ROUND)) return false;
  }
  bloom8_places p = bloom8_aim(b, h);
  return bloom8_look_all(b, &p, k);
}

NAY_BLOOM_DEFINE(BLOOM8_AVX512, bool, nay_probe, bloom8_test, bloom8_test_k)

nay_probe nay__avx512_bloom_test_for(const nay_bits *b) {
  return bloom8_fits(b) ? bloom8_test_for(b->k) : nay__bloom_test_for(b);
}

bool nay__avx512_bloom_test(const nay_bits *b, uint64_t hash) {
  return nay__avx512_bloom_test_for(b)(b, hash);
}

/* ---- adding one key ---- */

BLOOM8_AVX512 NAY_INLINE void bloom8_set_all(const nay_bits *b, const bloom8_places *p,
                                             uint32_t k) {
  uint8_t *bytes = b->bytes;
#define BLOOM8_SET(i) bloom8_set(bytes, bloom8_place(p, i))
  BLOOM8_EACH(k, BLOOM8_SET);
}

/* True when a bit was clear. A round that finds none changes none, so the next sees what was. */
BLOOM8_AVX512 NAY_INLINE bool bloom8_change(const nay_bits *b, uint64_t h, uint32_t k, bool ask) {
  bool was = true;
  for (uint32_t left = k; left > 0; h *= NAY_G64_POWER_8) {
    bloom8_places p = bloom8_aim(b, h);
    uint32_t round = left < NAY_BLOOM_ROUND ? left : NAY_BLOOM_ROUND;
    if (ask) was &= bloom8_look_all(b, &p, round);
    bloom8_set_all(b, &p, round);
    left -= round;
  }
  return !was;
}

BLOOM8_AVX512 NAY_INLINE bool bloom8_add_k(const nay_bits *b, uint64_t h, uint32_t k) {
  return bloom8_change(b, h, k, true);
}

BLOOM8_AVX512 NAY_INLINE nay_status bloom8_put_k(const nay_bits *b, uint64_t h, uint32_t k) {
  (void)bloom8_change(b, h, k, false);
  return NAY_OK;
}

NAY_BLOOM_DEFINE(BLOOM8_AVX512, bool, nay_probe, bloom8_add, bloom8_add_k)
NAY_BLOOM_DEFINE(BLOOM8_AVX512, nay_status, nay_put, bloom8_put, bloom8_put_k)

/* What waits for positions to come out of vectors pays only where lines take longer. */
bool nay__avx512_bloom_add(const nay_bits *b, uint64_t hash) {
  bool pays = nay__bloom_is_far(b) && bloom8_fits(b);
  return pays ? bloom8_add_for(b->k)(b, hash) : nay__bloom_add(b, hash);
}

nay_put nay__avx512_bloom_put_for(const nay_bits *b) {
  return !b->in_cache && bloom8_fits(b) ? bloom8_put_for(b->k) : nay__bloom_put_for(b);
}

/* ---- up to 64 keys: asking ---- */

/* Which of eight keys have the next `probes` bits set; *x moves on to the probe after them. */
BLOOM8_AVX512 NAY_INLINE unsigned bloom8_look_eight(const nay_bits *b, __m512i *x,
                                                    uint32_t probes) {
  const __m256i one = _mm256_set1_epi32(1);
  __m512i nbits = bloom8_nbits(b);
  __m256i all = one;
  for (uint32_t i = 0; i < probes; i++, *x = bloom8_step(*x)) {
    __m256i at = bloom8_reduce(*x, nbits);
    __m256i words =
        _mm256_i32gather_epi32((const int *)(const void *)b->bytes, _mm256_srli_epi32(at, 5), 4);
    __m256i bit = _mm256_and_si256(at, _mm256_set1_epi32(31));
    all = _mm256_and_si256(all, _mm256_srlv_epi32(words, bit));
  }
  return _mm256_test_epi32_mask(all, one);
}

/* Keys of whom all probes so far were set: the hash of the next probe, and a bit of the answer. */
typedef struct bloom8_left {
  uint64_t x[64 + 8], bit[64 + 8];
  unsigned n;
} bloom8_left;

BLOOM8_AVX512 NAY_INLINE __mmask8 bloom8_lanes(unsigned n) {
  return (__mmask8)(n < 8 ? (1u << n) - 1 : 0xff);
}

BLOOM8_AVX512 NAY_INLINE void bloom8_keep(bloom8_left *left, __mmask8 lanes, __m512i x,
                                          __m512i bit) {
  _mm512_storeu_si512(left->x + left->n, _mm512_maskz_compress_epi64(lanes, x));
  _mm512_storeu_si512(left->bit + left->n, _mm512_maskz_compress_epi64(lanes, bit));
  left->n += (unsigned)_mm_popcnt_u32(lanes);
}

BLOOM8_AVX512 NAY_INLINE void bloom8_first(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                           uint32_t probes, bloom8_left *left) {
  __m512i bit = _mm512_setr_epi64(1, 2, 4, 8, 16, 32, 64, 128);
  left->n = 0;
  for (unsigned i = 0; i < n; i += 8, bit = _mm512_slli_epi64(bit, 8)) {
    __mmask8 lanes = bloom8_lanes(n - i);
    __m512i x = _mm512_maskz_loadu_epi64(lanes, hashes + i);
    lanes &= (__mmask8)bloom8_look_eight(b, &x, probes);
    bloom8_keep(left, lanes, x, bit);
  }
}

/* In place: what is kept never overtakes what is read. */
BLOOM8_AVX512 NAY_INLINE void bloom8_next(const nay_bits *b, uint32_t probes, bloom8_left *left) {
  unsigned n = left->n;
  left->n = 0;
  for (unsigned i = 0; i < n; i += 8) {
    __m512i x = _mm512_loadu_si512(left->x + i), bit = _mm512_loadu_si512(left->bit + i);
    __mmask8 lanes = bloom8_lanes(n - i);
    lanes &= (__mmask8)bloom8_look_eight(b, &x, probes);
    bloom8_keep(left, lanes, x, bit);
  }
}

BLOOM8_AVX512 NAY_INLINE uint64_t bloom8_last(const nay_bits *b, uint32_t probes,
                                              bloom8_left *left) {
  __m512i word = _mm512_setzero_si512();
  for (unsigned i = 0; i < left->n; i += 8) {
    __m512i x = _mm512_loadu_si512(left->x + i), bit = _mm512_loadu_si512(left->bit + i);
    __mmask8 lanes = bloom8_lanes(left->n - i);
    lanes &= (__mmask8)bloom8_look_eight(b, &x, probes);
    word = _mm512_mask_or_epi64(word, lanes, word, bit);
  }
  return (uint64_t)_mm512_reduce_or_epi64(word);
}

BLOOM8_AVX512 uint64_t nay__avx512_bloom_test64(const nay_bits *b, const uint64_t *hashes,
                                                unsigned n) {
  if (!bloom8_fits(b)) return nay__bloom_test64(b, hashes, n);
  bloom8_left left;
  uint32_t probes = b->k < BLOOM8_FIRST ? b->k : BLOOM8_FIRST;
  bloom8_first(b, hashes, n, probes, &left);
  uint32_t more = b->k - probes;
  for (; more > BLOOM8_NEXT; more -= BLOOM8_NEXT) bloom8_next(b, BLOOM8_NEXT, &left);
  return bloom8_last(b, more, &left);
}

/* ---- up to 64 keys: adding ---- */

typedef struct bloom8_spots {
  uint32_t at[NAY_BLOOM_MAX_K][BLOOM8_GROUP];
} bloom8_spots;

/* Positions of a group, and their lines asked for where they are far. */
BLOOM8_AVX512 NAY_INLINE void bloom8_aim_group(const nay_bits *b, const uint64_t *hashes,
                                               unsigned n, bloom8_spots *spots) {
  __m512i nbits = bloom8_nbits(b);
  for (unsigned i = 0; i < n; i += 8) {
    __m512i x = _mm512_maskz_loadu_epi64(bloom8_lanes(n - i), hashes + i);
    for (uint32_t probe = 0; probe < b->k; probe++, x = bloom8_step(x)) {
      _mm256_storeu_si256((__m256i *)(void *)&spots->at[probe][i], bloom8_reduce(x, nbits));
    }
  }
  if (!nay__bloom_is_far(b)) return;
  for (uint32_t probe = 0; probe < b->k; probe++) {
    for (unsigned i = 0; i < n; i++) NAY_PREFETCH(b->bytes + (spots->at[probe][i] >> 3));
  }
}

NAY_INLINE bool bloom8_add_spots(const nay_bits *b, const bloom8_spots *spots, unsigned i) {
  uint8_t *bytes = b->bytes;
  uint64_t all = 1;
  uint32_t k = b->k;
  for (uint32_t probe = 0; probe < k; probe++) all &= bloom8_look(bytes, spots->at[probe][i]);
  for (uint32_t probe = 0; probe < k; probe++) bloom8_set(bytes, spots->at[probe][i]);
  return (all & 1) == 0;
}

BLOOM8_AVX512 uint64_t nay__avx512_bloom_add64(const nay_bits *b, const uint64_t *hashes,
                                               unsigned n) {
  if (!bloom8_fits(b)) return nay__bloom_add64(b, hashes, n);
  uint64_t word = 0;
  bloom8_spots spots;
  for (unsigned start = 0; start < n; start += BLOOM8_GROUP) {
    unsigned group = n - start < BLOOM8_GROUP ? n - start : BLOOM8_GROUP;
    bloom8_aim_group(b, hashes + start, group, &spots);
    for (unsigned i = 0; i < group; i++) {
      word |= (uint64_t)bloom8_add_spots(b, &spots, i) << (start + i);
    }
  }
  return word;
}

BLOOM8_AVX512 NAY_INLINE void bloom8_put_spots(uint8_t *bytes, uint32_t k,
                                               const bloom8_spots *spots, unsigned n) {
  for (uint32_t probe = 0; probe < k; probe++) {
    for (unsigned i = 0; i < n; i++) bloom8_set(bytes, spots->at[probe][i]);
  }
}

BLOOM8_AVX512 void nay__avx512_bloom_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (!bloom8_fits(b)) {
    nay__bloom_put64(b, hashes, n);
    return;
  }
  bloom8_spots spots;
  for (unsigned start = 0; start < n; start += BLOOM8_GROUP) {
    unsigned group = n - start < BLOOM8_GROUP ? n - start : BLOOM8_GROUP;
    bloom8_aim_group(b, hashes + start, group, &spots);
    bloom8_put_spots(b->bytes, b->k, &spots, group);
  }
}

#endif /* NAY_HAS_X86_KERNELS */
#undef BLOOM8_AVX512
#undef BLOOM8_EACH
#undef BLOOM8_FIRST
#undef BLOOM8_GROUP
#undef BLOOM8_LOOK
#undef BLOOM8_NEXT
#undef BLOOM8_SET

/* ==== src/cpu/kernels_avx2.c ================================================================ */
/*
 * kernels_avx2.c - blocked filters with 256-bit vectors.
 *
 * test   one multiplication by the powers of g gives eight probes. The top 4 bits of a product name
 *        one of the sixteen 32-bit words of the block: a permute of each half and a blend on the
 *        product's own top bit fetch them; the next 5 bits name the bit. k <= 8 is one pass.
 * add    a probe's position p, less 0, 64, ... 448, is a shift count for the eight 64-bit words: a
 *        shift by 64 or more, which a negative count is, gives 0, so only the right word gets a
 * bit. The block is read once and written once.
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi2")))

/* g^0 .. g^7 and g^8. */
static const uint32_t avx2_powers[8] = NAY_G32_POWERS_0_TO_7;

AVX2 NAY_INLINE bool avx2_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  static const int32_t lanes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx2_powers);
  uint32_t h = (uint32_t)hash, left = k;
  for (;; left -= 8, h *= NAY_G32_POWER_8) {
    __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h), powers);
    __m256i word = _mm256_srli_epi32(probe, 28);
    __m256 from_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
    __m256 from_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
    __m256 words = _mm256_blendv_ps(from_low, from_high, _mm256_castsi256_ps(probe));
    const int32_t *ones_at = lanes + (left < 8 ? 8 - left : 0);
    __m256i ones = _mm256_loadu_si256((const __m256i *)(const void *)ones_at);
    __m256i bit = _mm256_srli_epi32(_mm256_slli_epi32(probe, 4), 27);
    __m256i wanted = _mm256_sllv_epi32(ones, bit);
    if (!_mm256_testc_si256(_mm256_castps_si256(words), wanted)) return false;
    if (left <= 8) return true;
  }
}

AVX2 NAY_INLINE bool avx2_blocked_add(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m256i low_base = _mm256_setr_epi64x(0, 64, 128, 192);
  const __m256i high_base = _mm256_setr_epi64x(256, 320, 384, 448);
  const __m256i one = _mm256_set1_epi64x(1);
  __m256i low = _mm256_setzero_si256(), high = low;
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= NAY_G32) {
    __m256i at = _mm256_set1_epi64x((int64_t)(h >> 23));
    low = _mm256_or_si256(low, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, low_base)));
    high = _mm256_or_si256(high, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, high_base)));
  }
  __m256i old_low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i old_high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(old_low, low));
  _mm256_storeu_si256((__m256i *)(void *)(block + 32), _mm256_or_si256(old_high, high));
  return !(_mm256_testc_si256(old_low, low) && _mm256_testc_si256(old_high, high));
}

/* Many adds: all positions first, for the reason that kernels_avx512.c gives. */
AVX2 NAY_INLINE uint64_t avx2_add_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                      const uint64_t *next, uint32_t k, bool tell) {
  uint32_t at[64][8] __attribute__((aligned(32)));
  const __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx2_powers);
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hashes[i]), powers);
    _mm256_store_si256((__m256i *)(void *)at[i], _mm256_srli_epi32(probe, 23));
  }
  const __m256i low_base = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
  const __m256i high_base = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
  const __m256i one = _mm256_set1_epi32(1);
  for (unsigned i = 0; i < n; i++) {
    __m256i *block = (__m256i *)(void *)nay__block_of(b, hashes[i]);
    if (next != NULL) NAY_PREFETCH_TO_WRITE(nay__block_of(b, next[i]));
    __m256i low = _mm256_setzero_si256(), high = low;
    for (uint32_t probe = 0; probe < k; probe++) {
      __m256i p = _mm256_set1_epi32((int32_t)at[i][probe]);
      low = _mm256_or_si256(low, _mm256_sllv_epi32(one, _mm256_xor_si256(p, low_base)));
      high = _mm256_or_si256(high, _mm256_sllv_epi32(one, _mm256_xor_si256(p, high_base)));
    }
    __m256i old_low = _mm256_loadu_si256(block), old_high = _mm256_loadu_si256(block + 1);
    _mm256_storeu_si256(block, _mm256_or_si256(old_low, low));
    _mm256_storeu_si256(block + 1, _mm256_or_si256(old_high, high));
    if (!tell) continue;
    bool old = _mm256_testc_si256(old_low, low) && _mm256_testc_si256(old_high, high);
    word |= (uint64_t)!old << i;
  }
  return word;
}

NAY_DEFINE_KERNEL(static AVX2, avx2_test, avx2_blocked_test)
NAY_DEFINE_TEST_AHEAD(static AVX2, avx2_test64_ahead, avx2_blocked_test)

NAY_DEFINE_PUTS(AVX2, avx2_put, avx2_blocked_add)

AVX2 static bool avx2_add(const nay_bits *b, uint64_t hash) {
  return avx2_blocked_add(b, hash, b->k);
}

#define AVX2_ADD_ALL(tell, k) word = avx2_add_all(b, hashes, n, next, (k) < 8 ? (k) : 8, tell)

/* The answers are there in any case when k is above 8: such filters take one key at a time. */
AVX2 NAY_INLINE uint64_t avx2_add_any(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                      const uint64_t *next, bool tell) {
  uint64_t word = 0;
  if (b->k > 8) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH_TO_WRITE(nay__block_of(b, next[i]));
      word |= (uint64_t)avx2_blocked_add(b, hashes[i], b->k) << i;
    }
    return word;
  }
  NAY_FOR_USUAL_K(b->k, AVX2_ADD_ALL, tell)
  return word;
}

AVX2 static uint64_t avx2_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return avx2_add_any(b, hashes, n, NULL, true);
}

AVX2 static void avx2_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  avx2_add_any(b, hashes, n, NULL, false);
}

AVX2 static uint64_t avx2_add64_ahead(const nay_bits *b, const uint64_t *hashes,
                                      const uint64_t *next, bool tell) {
  return tell ? avx2_add_any(b, hashes, 64, next, true) : avx2_add_any(b, hashes, 64, next, false);
}

const nay_kernels nay__kernels_avx2 = {
    .name = "avx2",
    .popcnt = true,
    .bloom_test = nay__bloom_test,
    .bloom_test_for = nay__bloom_test_for,
    .bloom_add = nay__bloom_add,
    .bloom_put_for = nay__bloom_put_for,
    .bloom_test64 = nay__bloom_test64,
    .bloom_add64 = nay__bloom_add64,
    .bloom_put64 = nay__bloom_put64,
    .blocked_test = avx2_test,
    .blocked_add = avx2_add,
    .blocked_put = avx2_put,
    .blocked_test64 = avx2_test64,
    .blocked_add64 = avx2_add64,
    .blocked_put64 = avx2_put64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .cuckoo_probe = nay__cuckoo_probe_avx2,
    .ribbon_look = nay__ribbon_look_avx2,
    .blocked_test64_ahead = avx2_test64_ahead,
    .blocked_add64_ahead = avx2_add64_ahead,
};

#endif /* NAY_HAS_X86_KERNELS */
#undef AVX2
#undef AVX2_ADD_ALL

/* ==== src/cpu/kernels_avx512.c ============================================================== */
/*
 * kernels_avx512.c - blocked filters with 512-bit vectors: a block is one register.
 *
 * As kernels_avx2.c, with sixteen probes in one pass, one permute for the words, and no halves.
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,popcnt,prfchw")))

static const uint32_t avx512_powers[16] = NAY_G32_POWERS_0_TO_15;

/*
 * Which of up to eight probes find no bit: the usual case. Half registers will do, and cost half on
 * some CPUs.
 */
AVX512 NAY_INLINE __mmask8 avx512_missing(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
  __m256i powers = _mm256_loadu_si256((const __m256i *)(const void *)avx512_powers);
  __m256i probe = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)hash), powers);
  __m256i words = _mm256_permutex2var_epi32(low, _mm256_srli_epi32(probe, 28), high);
  /* a rotation takes its count modulo 32 */
  __m256i wanted = _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(probe, 23));
  return _mm256_mask_testn_epi32_mask((__mmask8)((1u << k) - 1), words, wanted);
}

AVX512 NAY_INLINE bool avx512_test_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint32_t h = (uint32_t)hash, left = k;
  if (k <= 8) return avx512_missing(b, hash, k) == 0;
  __m512i block = _mm512_loadu_si512(nay__block_of(b, hash));
  __m512i powers = _mm512_loadu_si512(avx512_powers);
  for (;; left -= 16, h *= NAY_G32_POWER_16) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)h), powers);
    __m512i words = _mm512_permutexvar_epi32(_mm512_srli_epi32(probe, 28), block);
    __m512i wanted = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(probe, 23));
    __mmask16 lanes = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
    if (_mm512_mask_testn_epi32_mask(lanes, words, wanted) != 0) return false;
    if (left <= 16) return true;
  }
}

/*
 * The pattern first, then the block: so that no store waits for long (doc/design/speed.md). The
 * prefetch does not wait for the stores before it, as the load may.
 */
AVX512 NAY_INLINE bool avx512_add_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  uint8_t *block = nay__block_of(b, hash);
  const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
  const __m512i one = _mm512_set1_epi64(1);
  __m512i bits = _mm512_setzero_si512();
  uint32_t h = (uint32_t)hash;
  NAY_PREFETCH_TO_WRITE(block);
  for (uint32_t i = 0; i < k; i++) {
    if (i % 16 == 0 && i != 0) h *= NAY_G32_POWER_16;
    __m512i at = _mm512_set1_epi64((int64_t)(h * avx512_powers[i % 16] >> 23));
    bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one, _mm512_sub_epi64(at, base)));
  }
  __m512i old = _mm512_loadu_si512(block), fresh = _mm512_andnot_si512(old, bits);
  _mm512_storeu_si512(block, _mm512_or_si512(old, bits));
  return _mm512_test_epi64_mask(fresh, fresh) != 0;
}

/*
 * Many adds, in two passes: the positions of all keys, then the blocks. A broadcast from memory is
 * only a load, which spares the vector units a third of their work; and the positions must be in
 * the cache by then, since a load of a part of what a store before it has not yet brought there
 * waits for it (three times slower when it was tried key by key).
 */
AVX512 NAY_INLINE uint64_t avx512_add_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          const uint64_t *next, uint32_t k, bool tell) {
  uint32_t at[64][16] __attribute__((aligned(64)));
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    __m512i probe = _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)hashes[i]),
                                       _mm512_loadu_si512(avx512_powers));
    _mm512_store_si512(at[i], _mm512_srli_epi32(probe, 23));
  }
  const __m512i base =
      _mm512_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480);
  const __m512i one = _mm512_set1_epi32(1);
  for (unsigned i = 0; i < n; i++) {
    uint8_t *block = nay__block_of(b, hashes[i]);
    if (next != NULL) NAY_PREFETCH_TO_WRITE(nay__block_of(b, next[i]));
    __m512i old = _mm512_loadu_si512(block), bits = old;
    for (uint32_t probe = 0; probe < k; probe++) {
      __m512i shift = _mm512_xor_si512(_mm512_set1_epi32((int32_t)at[i][probe]), base);
      bits = _mm512_or_si512(bits, _mm512_sllv_epi32(one, shift));
    }
    _mm512_storeu_si512(block, bits);
    if (tell) word |= (uint64_t)(_mm512_cmpneq_epi64_mask(old, bits) != 0) << i;
  }
  return word;
}

/*
 * Many tests: what is missing of each key goes to a byte, and one instruction finds the bytes that
 * are 0. To make a bit of each answer and put it in its place takes a fifth of the time.
 */
AVX512 NAY_INLINE uint64_t avx512_test_all(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                           const uint64_t *next, uint32_t k) {
  uint8_t missing[64] __attribute__((aligned(64)));
  _mm512_store_si512(missing, _mm512_set1_epi8(1)); /* of keys that are not there */
  for (unsigned i = 0; i < n; i++) {
    if (next != NULL) NAY_PREFETCH(nay__block_of(b, next[i]));
    missing[i] = k <= 8 ? avx512_missing(b, hashes[i], k) : !avx512_test_one(b, hashes[i], k);
  }
  __m512i all = _mm512_load_si512(missing);
  return _mm512_testn_epi8_mask(all, all);
}

#define AVX512_TEST_ALL(next, k) word = avx512_test_all(b, hashes, n, next, k)

AVX512 bool nay__avx512_blocked_test(const nay_bits *b, uint64_t hash) {
  return avx512_test_one(b, hash, b->k);
}

AVX512 uint64_t nay__avx512_blocked_test64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  uint64_t word;
  NAY_FOR_USUAL_K(b->k, AVX512_TEST_ALL, NULL)
  return word;
}

AVX512 uint64_t nay__avx512_test64_ahead(const nay_bits *b, const uint64_t *hashes,
                                         const uint64_t *next) {
  const unsigned n = 64;
  uint64_t word;
  NAY_FOR_USUAL_K(b->k, AVX512_TEST_ALL, next)
  return word;
}

NAY_DEFINE_PUTS(AVX512, avx512_put, avx512_add_one)

AVX512 bool nay__avx512_blocked_add(const nay_bits *b, uint64_t hash) {
  return avx512_add_one(b, hash, b->k);
}

#define AVX512_ADD_ALL(tell, k) word = avx512_add_all(b, hashes, n, next, k, tell)

/* More than 16 probes go one key at a time. */
AVX512 NAY_INLINE uint64_t avx512_add_any(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                          const uint64_t *next, bool tell) {
  uint64_t word = 0;
  if (b->k > 16) {
    for (unsigned i = 0; i < n; i++) {
      if (next != NULL) NAY_PREFETCH_TO_WRITE(nay__block_of(b, next[i]));
      word |= (uint64_t)avx512_add_one(b, hashes[i], b->k) << i;
    }
    return word;
  }
  NAY_FOR_USUAL_K(b->k, AVX512_ADD_ALL, tell)
  return word;
}

AVX512 uint64_t nay__avx512_blocked_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return avx512_add_any(b, hashes, n, NULL, true);
}

AVX512 void nay__avx512_blocked_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  avx512_add_any(b, hashes, n, NULL, false);
}

AVX512 uint64_t nay__avx512_add64_ahead(const nay_bits *b, const uint64_t *hashes,
                                        const uint64_t *next, bool tell) {
  return tell ? avx512_add_any(b, hashes, 64, next, true)
              : avx512_add_any(b, hashes, 64, next, false);
}

AVX512 unsigned nay__avx512_keep64(const uint64_t *hashes, uint64_t least, uint64_t span,
                                   uint64_t *kept) {
  unsigned used = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    __m512i h = _mm512_loadu_si512(hashes + i);
    __m512i above = _mm512_sub_epi64(h, _mm512_set1_epi64((int64_t)least));
    __mmask8 mine = _mm512_cmple_epu64_mask(above, _mm512_set1_epi64((int64_t)span));
    _mm512_storeu_si512(kept + used, _mm512_maskz_compress_epi64(mine, h)); /* used <= i */
    used += (unsigned)__builtin_popcount(mine);
  }
  return used;
}

const nay_kernels nay__kernels_avx512 = {
    .name = "avx512",
    .popcnt = true,
    .bloom_test = nay__avx512_bloom_test,
    .bloom_test_for = nay__avx512_bloom_test_for,
    .bloom_add = nay__avx512_bloom_add,
    .bloom_put_for = nay__avx512_bloom_put_for,
    .bloom_test64 = nay__avx512_bloom_test64,
    .bloom_add64 = nay__avx512_bloom_add64,
    .bloom_put64 = nay__avx512_bloom_put64,
    .blocked_test = nay__avx512_blocked_test,
    .blocked_add = nay__avx512_blocked_add,
    .blocked_put = avx512_put,
    .blocked_test64 = nay__avx512_blocked_test64,
    .blocked_add64 = nay__avx512_blocked_add64,
    .blocked_put64 = nay__avx512_blocked_put64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = nay__avx512_test64_ahead,
    .blocked_add64_ahead = nay__avx512_add64_ahead,
    .keep64 = nay__avx512_keep64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .cuckoo_probe = nay__cuckoo_probe_avx2,
    .counting_add = nay__counting_add_avx512,
    .counting_remove = nay__counting_remove_avx512,
    .ribbon_look = nay__ribbon_look_avx512,
    .xxh3_short = nay__avx512_xxh3_short,
};

#endif /* NAY_HAS_X86_KERNELS */
#undef AVX512
#undef AVX512_ADD_ALL
#undef AVX512_TEST_ALL

/* ==== src/cpu/kernels_gfni.c ================================================================ */
/*
 * kernels_gfni.c - adding many keys to a blocked filter by products of bit matrices.
 *
 * A probe is a position of 9 bits, q c r: word q of the block, byte c of the word, bit r of the
 * byte. Eight probes i of a key, as three matrices of 8 x 8 bits in one word each:
 *
 *   Q[q][i] = 1 when probe i is in word q       C[c][i], R[r][i] the same for byte and bit
 *
 * Word q of the pattern that the block gets is then the product  (C with the columns of q only) x R
 * transposed, and such a product is one instruction for all eight words of the block
 * (gf2p8affineqb). So a key costs a shuffle, an and, and a product, whatever its number of probes;
 * making Q, C and R takes some 25 instructions for eight keys together, and 11 for a single one.
 *
 * The product adds where we want an or: two equal probes would cancel. Whether probes i and j agree
 * in q is the product of Q's own transpose with itself, and a probe that agrees with an earlier one
 * in all three is struck from Q. So are those from k on. Up to 16 probes take two rounds.
 *
 * All patterns of a group are in registers before the first block is read: the processor looks up
 * loads among the stores before them by 12 bits of the address, and stores to random lines that
 * wait for their data would hold up loads that have nothing to do with them (twice as slow).
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define GFNI_TARGET "avx512f,avx512dq,avx512bw,avx512vl,avx512cd,avx512vbmi,gfni,bmi2,prfchw"
#define GFNI __attribute__((target(GFNI_TARGET)))
#define GFNI_MAX_K 16u
#define GFNI_IDENTITY 0x8040201008040201
#define GFNI_REVERSED 0x0102040810204080

/* Dword d of row a: the power for probe 2 a + d / 8 of key d % 8. */
#define GFNI_EIGHT(p) p, p, p, p, p, p, p, p
static const uint32_t gfni_powers[4][16] = {
    {GFNI_EIGHT(0x00000001u), GFNI_EIGHT(0x9e3779b9u)},
    {GFNI_EIGHT(0xe35e67b1u), GFNI_EIGHT(0x734297e9u)},
    {GFNI_EIGHT(0x35fbe861u), GFNI_EIGHT(0xdeb7c719u)},
    {GFNI_EIGHT(0x0448b211u), GFNI_EIGHT(0x3459b749u)},
};

/*
 * From the words made by gfni_fields (their bytes: rc rc cq cq of two keys for a probe, twice) to
 * eight bytes a key: the place of r and c of probe i of key j is entry 8 j + i; c and q are 2 on.
 */
static const uint8_t gfni_places[64] = {
    0,  32,  4,  36,  64, 96, 68, 100, 1,  33,  5,  37,  65, 97, 69, 101, 8,  40,  12, 44,  72, 104,
    76, 108, 9,  41,  13, 45, 73, 105, 77, 109, 16, 48,  20, 52, 80, 112, 84, 116, 17, 49,  21, 53,
    81, 113, 85, 117, 24, 56, 28, 60,  88, 120, 92, 124, 25, 57, 29, 61,  89, 121, 93, 125,
};

/* The rows of the matrices of eight keys, one word a key: bit 7 - i of a row is for probe i. */
typedef struct gfni_group {
  uint64_t q[8], c[8], r[8];
} gfni_group;

/* For each probe the earlier ones that it may equal: all, from the first that is not wanted. */
static uint64_t gfni_strike(uint32_t k) {
  return 0xfefcf8f0e0c08000u | (k < 8 ? ~(uint64_t)0 << 8 * k : 0);
}

/* r and c, c and q in the low 6 bits of bytes, for the probes of two rows of powers. */
GFNI NAY_INLINE __m512i gfni_fields(__m512i hashes, unsigned row) {
  const __m512i from = _mm512_set1_epi32(0x3a1a3717); /* bits 23, 55, 26, 58 of a word */
  __m512i a = _mm512_mullo_epi32(hashes, _mm512_loadu_si512(gfni_powers[row]));
  __m512i b = _mm512_mullo_epi32(hashes, _mm512_loadu_si512(gfni_powers[row + 1]));
  return _mm512_mask_multishift_epi64_epi8(_mm512_multishift_epi64_epi8(from, a),
                                           0xf0f0f0f0f0f0f0f0u, from, b);
}

/* 1 << x of the low and of the high 3 of 6 bits, for each byte. */
GFNI NAY_INLINE __m512i gfni_low(__m512i x) {
  return _mm512_permutexvar_epi8(x, _mm512_set1_epi64((int64_t)GFNI_IDENTITY));
}

GFNI NAY_INLINE __m512i gfni_high(__m512i x) {
  const __m512i table = _mm512_setr_epi64(
      0x0101010101010101, 0x0202020202020202, 0x0404040404040404, 0x0808080808080808,
      0x1010101010101010, 0x2020202020202020, 0x4040404040404040, (int64_t)0x8080808080808080);
  return _mm512_permutexvar_epi8(x, table);
}

/*
 * b stays in a register: clang 14 writes a wrong address into the form of this instruction that
 * takes one word from memory for all lanes (it scales the displacement by 64 instead of 8).
 */
GFNI NAY_INLINE __m512i gfni_product(__m512i a, __m512i b) {
  __asm__("" : "+v"(b));
  return _mm512_gf2p8affine_epi64_epi8(a, b, 0);
}

/* The matrices of eight keys, whose hashes come twice as 32-bit lanes. */
GFNI NAY_INLINE void gfni_prepare(__m512i hashes, __m512i strike, gfni_group *g) {
  const __m512i identity = _mm512_set1_epi64((int64_t)GFNI_IDENTITY);
  const __m512i reversed = _mm512_set1_epi64(GFNI_REVERSED);
  __m512i places = _mm512_loadu_si512(gfni_places), a = gfni_fields(hashes, 0);
  __m512i b = gfni_fields(hashes, 2), two = _mm512_set1_epi8(2);
  __m512i rc = _mm512_permutex2var_epi8(a, places, b);
  __m512i cq = _mm512_permutex2var_epi8(a, _mm512_or_si512(places, two), b);
  __m512i r = gfni_low(rc), c = gfni_high(rc), q = gfni_high(cq);
  __m512i equal = _mm512_and_si512(_mm512_and_si512(gfni_product(r, r), gfni_product(c, c)),
                                   gfni_product(q, q));
  q = _mm512_maskz_mov_epi8(_mm512_testn_epi8_mask(equal, strike), q);
  _mm512_storeu_si512(g->q, gfni_product(identity, q));
  _mm512_storeu_si512(g->c, gfni_product(identity, c));
  _mm512_storeu_si512(g->r, gfni_product(reversed, r));
}

/* The bits of one key of a group, as they will be in its block. */
GFNI NAY_INLINE __m512i gfni_pattern(const gfni_group *g, unsigned key) {
  const __m512i word_of = _mm512_setr_epi64(
      0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303, 0x0404040404040404,
      0x0505050505050505, 0x0606060606060606, 0x0707070707070707);
  __m512i q = _mm512_shuffle_epi8(_mm512_set1_epi64((int64_t)g->q[key]), word_of);
  __m512i c = _mm512_and_si512(q, _mm512_set1_epi64((int64_t)g->c[key]));
  return gfni_product(c, _mm512_set1_epi64((int64_t)g->r[key]));
}

/* Adds the keys of a group; with `more` they have a second round of probes. */
GFNI NAY_INLINE uint64_t gfni_add_group(const nay_bits *b, const uint64_t *hashes,
                                        const uint64_t *next, const gfni_group *g,
                                        const gfni_group *more, bool tell) {
  __m512i patterns[8];
  uint8_t *blocks[8];
  uint64_t word = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    blocks[i] = nay__block_of(b, hashes[i]);
    patterns[i] = gfni_pattern(g, i);
    if (more != NULL) patterns[i] = _mm512_or_si512(patterns[i], gfni_pattern(more, i));
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    if (next != NULL) NAY_PREFETCH_TO_WRITE(nay__block_of(b, next[i]));
    __m512i old = _mm512_loadu_si512(blocks[i]);
    _mm512_storeu_si512(blocks[i], _mm512_or_si512(old, patterns[i]));
    /* a bit of the pattern that was not there: andnot, then any */
    __m512i fresh = _mm512_andnot_si512(old, patterns[i]);
    if (tell) word |= (uint64_t)(_mm512_test_epi64_mask(fresh, fresh) != 0) << i;
  }
  return word;
}

/* Whole groups of eight; returns the answers, and how many keys were done. */
GFNI NAY_INLINE uint64_t gfni_add_groups(const nay_bits *b, const uint64_t *hashes, unsigned n,
                                         const uint64_t *next, bool tell) {
  const __m512i twice = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
  gfni_group groups[8], more[8];
  bool two = b->k > 8;
  __m512i strike = _mm512_set1_epi64((int64_t)gfni_strike(two ? 8 : b->k));
  __m512i strike_more = _mm512_set1_epi64((int64_t)gfni_strike(two ? b->k - 8 : 0));
  for (unsigned i = 0; i < n / 8; i++) {
    __m512i h = _mm512_permutexvar_epi32(twice, _mm512_loadu_si512(hashes + 8 * i));
    gfni_prepare(h, strike, &groups[i]);
    if (!two) continue;
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int32_t)NAY_G32_POWER_8));
    gfni_prepare(h, strike_more, &more[i]);
  }
  uint64_t word = 0;
  for (unsigned i = 0; i < n / 8; i++) {
    const uint64_t *next_eight = next != NULL ? next + 8 * i : NULL;
    const gfni_group *rest = two ? &more[i] : NULL;
    word |= gfni_add_group(b, hashes + 8 * i, next_eight, &groups[i], rest, tell) << 8 * i;
  }
  return word;
}

/* ---- one key ---- */

/*
 * The powers for k probes of one key: eight from entry 8 - k on. Those past the k-th repeat a
 * probe, and are struck as any other that does.
 */
static const uint32_t gfni_powers_back[15] __attribute__((aligned(64))) = {
    0x3459b749u, 0x0448b211u, 0xdeb7c719u, 0x35fbe861u, 0x734297e9u, 0xe35e67b1u, 0x9e3779b9u, 1u,
    1u,          1u,          1u,          1u,          1u,          1u,          1u,
};

/* R, C and Q of one key in the words of half a register; probes that repeat one are struck in R. */
GFNI NAY_INLINE __m256i gfni_matrices(uint32_t h, uint32_t k) {
  const __m256i *powers = (const __m256i *)(const void *)(gfni_powers_back + 8 - k);
  /* bits 23, 26 and 29, then 55, 58 and 61 of each word: r r c c q q of two probes */
  const __m256i from = _mm256_set1_epi64x(0x3d1d3a1a3717);
  const __m256i places = _mm256_setr_epi8(0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27,
                                          4, 5, 12, 13, 20, 21, 28, 29, 6, 6, 6, 6, 6, 6, 6, 6);
  const __m256i ones = _mm256_set1_epi64x((int64_t)GFNI_IDENTITY);
  const __m256i turned =
      _mm256_setr_epi64x(GFNI_REVERSED, (int64_t)GFNI_IDENTITY, (int64_t)GFNI_IDENTITY, 0);
  __m256i probes = _mm256_mullo_epi32(_mm256_set1_epi32((int32_t)h), _mm256_loadu_si256(powers));
  __m256i fields = _mm256_multishift_epi64_epi8(from, probes);
  __m256i rows = _mm256_permutexvar_epi8(_mm256_permutexvar_epi8(places, fields), ones);
  __m256i repeats = _mm256_conflict_epi32(_mm256_srli_epi32(probes, 23));
  rows = _mm256_mask_sub_epi8(rows, _mm256_test_epi32_mask(repeats, repeats), rows, rows);
  return _mm256_gf2p8affine_epi64_epi8(turned, rows, 0);
}

/* The pattern of one key of up to eight probes; none of its registers has seen the block. */
GFNI NAY_INLINE __m512i gfni_pattern_of(uint32_t h, uint32_t k) {
  const __m512i word_of = _mm512_setr_epi64(
      0x1010101010101010, 0x1111111111111111, 0x1212121212121212, 0x1313131313131313,
      0x1414141414141414, 0x1515151515151515, 0x1616161616161616, 0x1717171717171717);
  __m256i matrices = gfni_matrices(h, k);
  __m128i rc = _mm256_castsi256_si128(matrices);
  __m512i q = _mm512_permutexvar_epi8(word_of, _mm512_castsi256_si512(matrices));
  __m512i c = _mm512_broadcastq_epi64(_mm_unpackhi_epi64(rc, rc));
  return gfni_product(_mm512_and_si512(q, c), _mm512_broadcastq_epi64(rc));
}

GFNI NAY_INLINE bool gfni_add_one(const nay_bits *b, uint64_t hash, uint32_t k) {
  if (k > GFNI_MAX_K) return nay__avx512_blocked_add(b, hash);
  uint8_t *block = nay__block_of(b, hash);
  uint32_t h = (uint32_t)hash;
  NAY_PREFETCH_TO_WRITE(block); /* the load below may have to wait for stores, this does not */
  __m512i pattern = gfni_pattern_of(h, k < 8 ? k : 8);
  if (k > 8) pattern = _mm512_or_si512(pattern, gfni_pattern_of(h * NAY_G32_POWER_8, k - 8));
  __m512i old = _mm512_loadu_si512(block), fresh = _mm512_andnot_si512(old, pattern);
  _mm512_storeu_si512(block, _mm512_or_si512(old, pattern));
  return _mm512_test_epi64_mask(fresh, fresh) != 0;
}

NAY_DEFINE_PUTS(GFNI, gfni_put, gfni_add_one)

GFNI static bool gfni_add(const nay_bits *b, uint64_t hash) { return gfni_add_one(b, hash, b->k); }

/* The keys that do not fill a group go one by one; more than 16 probes the way of AVX-512. */
GFNI static uint64_t gfni_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (b->k > GFNI_MAX_K) return nay__avx512_blocked_add64(b, hashes, n);
  uint64_t word = gfni_add_groups(b, hashes, n, NULL, true);
  for (unsigned i = n & ~7u; i < n; i++) {
    word |= (uint64_t)gfni_add(b, hashes[i]) << i;
  }
  return word;
}

GFNI static void gfni_put64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  if (b->k > GFNI_MAX_K) {
    nay__avx512_blocked_put64(b, hashes, n);
    return;
  }
  gfni_add_groups(b, hashes, n, NULL, false);
  for (unsigned i = n & ~7u; i < n; i++) (void)gfni_add(b, hashes[i]);
}

GFNI static uint64_t gfni_add64_ahead(const nay_bits *b, const uint64_t *hashes,
                                      const uint64_t *next, bool tell) {
  if (b->k > GFNI_MAX_K) return nay__avx512_add64_ahead(b, hashes, next, tell);
  return tell ? gfni_add_groups(b, hashes, 64, next, true)
              : gfni_add_groups(b, hashes, 64, next, false);
}

const nay_kernels nay__kernels_gfni = {
    .name = "gfni",
    .popcnt = true,
    .bloom_test = nay__avx512_bloom_test,
    .bloom_test_for = nay__avx512_bloom_test_for,
    .bloom_add = nay__avx512_bloom_add,
    .bloom_put_for = nay__avx512_bloom_put_for,
    .bloom_test64 = nay__avx512_bloom_test64,
    .bloom_add64 = nay__avx512_bloom_add64,
    .bloom_put64 = nay__avx512_bloom_put64,
    .blocked_test = nay__avx512_blocked_test,
    .blocked_add = gfni_add,
    .blocked_put = gfni_put,
    .blocked_test64 = nay__avx512_blocked_test64,
    .blocked_add64 = gfni_add64,
    .blocked_put64 = gfni_put64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .blocked_test64_ahead = nay__avx512_test64_ahead,
    .blocked_add64_ahead = gfni_add64_ahead,
    .xxh3_short = nay__avx512_xxh3_short,
    .keep64 = nay__avx512_keep64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .cuckoo_probe = nay__cuckoo_probe_avx2,
    .counting_add = nay__counting_add_avx512,
    .counting_remove = nay__counting_remove_avx512,
    .ribbon_look = nay__ribbon_look_popcnt,
    .ribbon_test64 = nay__ribbon_test64_avx512,
    .band_sweep = nay__band_sweep_avx512,
    .band_solve = nay__band_solve_avx512,
};

#endif /* NAY_HAS_X86_KERNELS */
#undef GFNI
#undef GFNI_EIGHT
#undef GFNI_IDENTITY
#undef GFNI_MAX_K
#undef GFNI_REVERSED
#undef GFNI_TARGET

/* ==== src/cpu/kernels_neon.c ================================================================ */
/*
 * kernels_neon.c - blocked filters on 64-bit Arm.
 *
 * NEON's table lookup takes a 64-byte table, which is a block: the byte that each of sixteen probes
 * wants is fetched by one instruction, and a test-bits of it with 1 << (position % 8) decides them
 * all. Adds are bound by their stores; the scalar loop is as fast.
 */

#if NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

static const uint32_t neon_powers[16] = NAY_G32_POWERS_0_TO_15;

/* Lanes from k on are probes that nobody asked for: 0xff there means "set". */
static const uint8_t neon_beyond[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* The top 9 bits of four products at a time, narrowed to 16 bits. */
NAY_INLINE uint16x8_t neon_positions(uint32x4_t h, unsigned first) {
  uint32x4_t a = vmulq_u32(h, vld1q_u32(neon_powers + first));
  uint32x4_t b = vmulq_u32(h, vld1q_u32(neon_powers + first + 4));
  return vcombine_u16(vmovn_u32(vshrq_n_u32(a, 23)), vmovn_u32(vshrq_n_u32(b, 23)));
}

NAY_INLINE bool neon_blocked_test(const nay_bits *b, uint64_t hash, uint32_t k) {
  const uint8_t *block = nay__block_of(b, hash);
  uint8x16x4_t table = {
      {vld1q_u8(block), vld1q_u8(block + 16), vld1q_u8(block + 32), vld1q_u8(block + 48)}};
  uint32_t h = (uint32_t)hash, left = k;
  for (;; left -= 16, h *= NAY_G32_POWER_16) {
    uint16x8_t p0 = neon_positions(vdupq_n_u32(h), 0), p1 = neon_positions(vdupq_n_u32(h), 8);
    uint8x16_t index = vcombine_u8(vshrn_n_u16(p0, 3), vshrn_n_u16(p1, 3));
    uint8x16_t low = vcombine_u8(vmovn_u16(p0), vmovn_u16(p1));
    uint8x16_t shift = vandq_u8(low, vdupq_n_u8(7));
    uint8x16_t mask = vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(shift));
    uint8x16_t set = vtstq_u8(vqtbl4q_u8(table, index), mask);
    if (left < 16) set = vorrq_u8(set, vld1q_u8(neon_beyond + 16 - left));
    if (vminvq_u8(set) == 0) return false;
    if (left <= 16) return true;
  }
}

NAY_DEFINE_KERNEL(static, neon_test, neon_blocked_test)
NAY_DEFINE_TEST_AHEAD(static, neon_test64_ahead, neon_blocked_test)

static bool neon_add(const nay_bits *b, uint64_t hash) {
  return nay__kernels_scalar.blocked_add(b, hash);
}

static nay_put neon_put(uint32_t k) { return nay__kernels_scalar.blocked_put(k); }

static uint64_t neon_add64(const nay_bits *b, const uint64_t *hashes, unsigned n) {
  return nay__kernels_scalar.blocked_add64(b, hashes, n);
}

static uint64_t neon_add64_ahead(const nay_bits *b, const uint64_t *hashes, const uint64_t *next,
                                 bool tell) {
  return nay__kernels_scalar.blocked_add64_ahead(b, hashes, next, tell);
}

const nay_kernels nay__kernels_neon = {
    .name = "neon",
    .bloom_test = nay__bloom_test,
    .bloom_test_for = nay__bloom_test_for,
    .bloom_add = nay__bloom_add,
    .bloom_put_for = nay__bloom_put_for,
    .bloom_test64 = nay__bloom_test64,
    .bloom_add64 = nay__bloom_add64,
    .bloom_put64 = nay__bloom_put64,
    .blocked_test = neon_test,
    .blocked_add = neon_add,
    .blocked_put = neon_put,
    .blocked_test64 = neon_test64,
    .blocked_add64 = neon_add64,
    .blocked_prefetch64 = nay__blocked_prefetch64,
    .fuse_test64 = nay__fuse_test64_aimed,
    .cuckoo_test64 = nay__cuckoo_test64_aimed,
    .ribbon_look = nay__ribbon_look_neon,
    .blocked_test64_ahead = neon_test64_ahead,
    .blocked_add64_ahead = neon_add64_ahead,
};

#endif /* NAY_HAS_NEON_KERNELS */

/* ==== src/cpu/kernels_xxh3.c ================================================================ */
/*
 * kernels_xxh3.c - XXH3 of eight keys of 9 to 16 bytes at a time.
 *
 * For such keys XXH3 (64 bits, with a seed) takes the first and the last 8 bytes, a and b:
 *
 *   a ^= c1 + seed,  b ^= c2 - seed          c1, c2: words of its default secret, xored
 *   x  = length + swapped(a) + b + (high half ^ low half of a * b)
 *   x ^= x >> 37,  x *= prime,  x ^= x >> 32
 *
 * There is no vector product of 64 by 64 bits: it is made of four of 32 by 32. The bytes are
 * fetched key by key, straight into registers: through an array they would be slower than no
 * vectors at all, since a vector load waits until the words stored before it have left for the
 * cache.
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define XXH3_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw")))
#define XXH3_FIRST 0x6782737bea4239b9
#define XXH3_LAST 0xaf56bc3b0996523a
#define XXH3_PRIME 0x165667919e3779f9

/* The halves of a * b, xored. */
XXH3_AVX512 NAY_INLINE __m512i xxh3_fold(__m512i a, __m512i b) {
  const __m512i low32 = _mm512_set1_epi64(0xffffffff);
  __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
  __m512i low = _mm512_mul_epu32(a, b), high = _mm512_mul_epu32(a_high, b_high);
  __m512i middle = _mm512_mul_epu32(a_high, b);
  __m512i cross = _mm512_add_epi64(_mm512_srli_epi64(low, 32), _mm512_mul_epu32(a, b_high));
  cross = _mm512_add_epi64(cross, _mm512_and_si512(middle, low32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(cross, 32));
  low = _mm512_and_si512(low, low32);
  return _mm512_xor_si512(_mm512_xor_si512(high, low), _mm512_slli_epi64(cross, 32));
}

XXH3_AVX512 NAY_INLINE __m512i xxh3_swap(__m512i a) {
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
  return _mm512_shuffle_epi8(a, order);
}

NAY_INLINE const uint8_t *xxh3_key(const nay_key_list *list, size_t i, size_t *len) {
  *len = list->keys != NULL ? list->lens[i] : list->offsets[i + 1] - list->offsets[i];
  return list->keys != NULL ? list->keys[i] : list->bytes + list->offsets[i];
}

/* The first 8 bytes of a key, and the last. */
XXH3_AVX512 NAY_INLINE __m128i xxh3_ends(const nay_key_list *list, size_t i) {
  size_t len;
  const uint8_t *key = xxh3_key(list, i, &len);
  __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)key);
  const double *last = (const double *)(const void *)(key + len - 8);
  return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(first), last));
}

/* Four keys, one in each quarter; those of 16 bytes are their own ends. */
XXH3_AVX512 NAY_INLINE __m512i xxh3_four(const nay_key_list *list, size_t from, bool whole) {
  __m128i key[4];
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; i++) {
    size_t len;
    key[i] = whole ? _mm_loadu_si128((const __m128i *)(const void *)xxh3_key(list, from + i, &len))
                   : xxh3_ends(list, from + i);
  }
  __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(key[0]), key[1], 1);
  __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(key[2]), key[3], 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Keys 0, 4, 1, 5, 2, 6, 3, 7: the order that unpacking two fours gives. */
XXH3_AVX512 NAY_INLINE __m512i xxh3_woven(__m512i in_order) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), in_order);
}

XXH3_AVX512 NAY_INLINE __m512i xxh3_lens(const nay_key_list *list, size_t i) {
  if (list->keys != NULL) return _mm512_loadu_si512(list->lens + i);
  return _mm512_sub_epi64(_mm512_loadu_si512(list->offsets + i + 1),
                          _mm512_loadu_si512(list->offsets + i));
}

/* Of eight keys, four in each of `low` and `high`. */
XXH3_AVX512 NAY_INLINE __m512i xxh3_hashes(uint64_t seed, __m512i len, __m512i low, __m512i high) {
  __m512i a = _mm512_xor_si512(_mm512_unpacklo_epi64(low, high),
                               _mm512_set1_epi64((int64_t)(XXH3_FIRST + seed)));
  __m512i b = _mm512_xor_si512(_mm512_unpackhi_epi64(low, high),
                               _mm512_set1_epi64((int64_t)(XXH3_LAST - seed)));
  __m512i x = _mm512_add_epi64(xxh3_woven(len), b);
  x = _mm512_add_epi64(x, _mm512_add_epi64(xxh3_swap(a), xxh3_fold(a, b)));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 37));
  x = _mm512_mullo_epi64(x, _mm512_set1_epi64(XXH3_PRIME));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
}

XXH3_AVX512 NAY_INLINE bool xxh3_eight(uint64_t seed, const nay_key_list *list, size_t from,
                                       uint64_t *hashes) {
  __m512i len = xxh3_lens(list, from), above = _mm512_sub_epi64(len, _mm512_set1_epi64(9));
  if (_mm512_cmplt_epu64_mask(above, _mm512_set1_epi64(8)) != 0xff) return false;
  if (list->keys != NULL) {
    __m512i keys = _mm512_loadu_si512(list->keys + from);
    if (_mm512_test_epi64_mask(keys, keys) != 0xff) return false;
  }
  nay__keys_ahead(list, from, 8);
  bool whole = _mm512_cmpeq_epi64_mask(len, _mm512_set1_epi64(16)) == 0xff;
  __m512i low = whole ? xxh3_four(list, from, true) : xxh3_four(list, from, false);
  __m512i high = whole ? xxh3_four(list, from + 4, true) : xxh3_four(list, from + 4, false);
  _mm512_storeu_si512(hashes, xxh3_hashes(seed, len, low, high));
  return true;
}

XXH3_AVX512 size_t nay__avx512_xxh3_short(uint64_t seed, const nay_key_list *list, size_t from,
                                          size_t n, uint64_t *hashes) {
  size_t done = 0;
  if (list->keys == NULL && list->bytes == NULL) return 0;
  while (done + 8 <= n && xxh3_eight(seed, list, from + done, hashes + done)) done += 8;
  return done;
}

#endif /* NAY_HAS_X86_KERNELS */
#undef XXH3_AVX512
#undef XXH3_FIRST
#undef XXH3_LAST
#undef XXH3_PRIME

/* ==== src/cpu/kernels_aim.c ================================================================= */
/*
 * kernels_aim.c - 64 keys of a cuckoo, fuse or xor filter, side by side.
 *
 * A probe of these families is mostly multiplication: a dozen products choose its places, and only
 * then memory is looked at. Vectors of AVX2 and NEON multiply 32 by 32 bits at most, so numbers of
 * 64 bits are taken apart; but few of the products need all four of theirs, since arrays have less
 * than 2^32 slots and of most others only one half is wanted. The formulas are those of
 * family/fuse.h and family/cuckoo.c; they stand here once for both kinds of vectors:
 *
 *   longs   64 bits of AIM_KEYS / 2 keys                        halves   32 bits of AIM_KEYS keys,
 *   wide    two of them, for AIM_KEYS keys: products                     ready to be multiplied
 *   words   32 bits of AIM_KEYS keys, in order
 *
 * All places of a group are found before the first is looked at. A cuckoo bucket is a word, and so
 * are the bits around a fingerprint: these are compared in vectors again. Fingerprints of whole
 * bytes are summed one key at a time, where a load and a sum are one instruction.
 *
 * Measured on Zen 4, in the cache, ns a key, one key at a time and here: cuckoo 3.5 and 1.15, fuse
 * of 8 bits 2.5 and 1.5. Vectors of 512 bits, which multiply 64 by 64, took 2.3 and 1.8, so there
 * is no third kind. NEON has only been counted, not timed.
 */

/* ---- what differs: AVX2 ---- */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define AIM __attribute__((target("avx2,bmi,bmi2")))
#define AIM_KEYS 8u

typedef uint32_t aim_words __attribute__((vector_size(32)));
typedef uint64_t aim_longs __attribute__((vector_size(32)));
typedef struct aim_wide {
  aim_longs a, b; /* keys 0 1 4 5 and 2 3 6 7, so that packing them is one shuffle */
} aim_wide;
typedef aim_wide aim_half; /* the upper 32 bits may be anything */

AIM NAY_INLINE aim_half aim_all(uint32_t x) {
  aim_longs all = (aim_longs)_mm256_set1_epi64x((int64_t)x);
  return (aim_half){all, all};
}

AIM NAY_INLINE aim_half aim_low(aim_wide x) { return x; }

AIM NAY_INLINE aim_half aim_top(aim_wide x) { return (aim_half){x.a >> 32, x.b >> 32}; }

AIM NAY_INLINE aim_words aim_pack(aim_half x) {
  return (aim_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0x88);
}

AIM NAY_INLINE aim_words aim_pack_top(aim_wide x) {
  return (aim_words)_mm256_shuffle_ps((__m256)x.a, (__m256)x.b, 0xdd);
}

AIM NAY_INLINE aim_half aim_unpack(aim_words x) {
  __m256i v = (__m256i)x;
  return (aim_half){(aim_longs)_mm256_unpacklo_epi32(v, v), (aim_longs)_mm256_unpackhi_epi32(v, v)};
}

AIM NAY_INLINE aim_wide aim_widen(aim_words x) {
  __m256i v = (__m256i)x, zero = _mm256_setzero_si256();
  return (aim_wide){(aim_longs)_mm256_unpacklo_epi32(v, zero),
                    (aim_longs)_mm256_unpackhi_epi32(v, zero)};
}

AIM NAY_INLINE aim_half aim_xor(aim_half x, aim_half y) { return (aim_half){x.a ^ y.a, x.b ^ y.b}; }

AIM NAY_INLINE aim_wide aim_mul(aim_half x, aim_half y) {
  return (aim_wide){(aim_longs)_mm256_mul_epu32((__m256i)x.a, (__m256i)y.a),
                    (aim_longs)_mm256_mul_epu32((__m256i)x.b, (__m256i)y.b)};
}

AIM NAY_INLINE aim_longs aim_shift(aim_longs x, aim_longs counts) {
  return (aim_longs)_mm256_srlv_epi64((__m256i)x, (__m256i)counts);
}

/* Bit i: the sign of word i. */
AIM NAY_INLINE uint64_t aim_signs(aim_words x) { return (uint32_t)_mm256_movemask_ps((__m256)x); }

AIM NAY_INLINE aim_longs aim_join(__m128i low, __m128i high) {
  return (aim_longs)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

AIM NAY_INLINE aim_wide aim_load(const uint64_t *x) {
  const __m128i *two = (const __m128i *)(const void *)x;
  return (aim_wide){aim_join(_mm_loadu_si128(two), _mm_loadu_si128(two + 2)),
                    aim_join(_mm_loadu_si128(two + 1), _mm_loadu_si128(two + 3))};
}

AIM NAY_INLINE __m128i aim_fetch2(const uint8_t *bytes, const uint32_t *at) {
  __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(bytes + at[0]));
  return _mm_insert_epi64(low, (int64_t)nay__load64le(bytes + at[1]), 1);
}

/* The eight bytes at each place. Gathering them is slower here, and far slower on some others. */
AIM NAY_INLINE aim_wide aim_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (aim_wide){aim_join(aim_fetch2(bytes, at), aim_fetch2(bytes, at + 4)),
                    aim_join(aim_fetch2(bytes, at + 2), aim_fetch2(bytes, at + 6))};
}

/* ---- what differs: NEON ---- */

#elif NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

#define AIM
#define AIM_KEYS 4u

typedef uint32_t aim_words __attribute__((vector_size(16)));
typedef uint64_t aim_longs __attribute__((vector_size(16)));
typedef struct aim_wide {
  aim_longs a, b; /* keys 0 1 and 2 3 */
} aim_wide;
typedef uint32x4_t aim_half;

NAY_INLINE aim_half aim_all(uint32_t x) { return vdupq_n_u32(x); }

NAY_INLINE aim_half aim_low(aim_wide x) { return vuzp1q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE aim_half aim_top(aim_wide x) { return vuzp2q_u32((uint32x4_t)x.a, (uint32x4_t)x.b); }

NAY_INLINE aim_words aim_pack(aim_half x) { return (aim_words)x; }

NAY_INLINE aim_words aim_pack_top(aim_wide x) { return (aim_words)aim_top(x); }

NAY_INLINE aim_half aim_unpack(aim_words x) { return (aim_half)x; }

NAY_INLINE aim_wide aim_widen(aim_words x) {
  uint32x4_t v = (uint32x4_t)x;
  return (aim_wide){(aim_longs)vmovl_u32(vget_low_u32(v)), (aim_longs)vmovl_high_u32(v)};
}

NAY_INLINE aim_half aim_xor(aim_half x, aim_half y) { return veorq_u32(x, y); }

NAY_INLINE aim_wide aim_mul(aim_half x, aim_half y) {
  return (aim_wide){(aim_longs)vmull_u32(vget_low_u32(x), vget_low_u32(y)),
                    (aim_longs)vmull_high_u32(x, y)};
}

NAY_INLINE aim_longs aim_shift(aim_longs x, aim_longs counts) {
  return (aim_longs)vshlq_u64((uint64x2_t)x, vnegq_s64((int64x2_t)counts));
}

NAY_INLINE uint64_t aim_signs(aim_words x) {
  const int32x4_t places = {0, 1, 2, 3};
  return vaddvq_u32(vshlq_u32(vshrq_n_u32((uint32x4_t)x, 31), places));
}

NAY_INLINE aim_wide aim_load(const uint64_t *x) {
  return (aim_wide){(aim_longs)vld1q_u64(x), (aim_longs)vld1q_u64(x + 2)};
}

NAY_INLINE aim_longs aim_fetch2(const uint8_t *bytes, const uint32_t *at) {
  return (aim_longs)vcombine_u64(vreinterpret_u64_u8(vld1_u8(bytes + at[0])),
                                 vreinterpret_u64_u8(vld1_u8(bytes + at[1])));
}

NAY_INLINE aim_wide aim_fetch(const uint8_t *bytes, const uint32_t *at) {
  return (aim_wide){aim_fetch2(bytes, at), aim_fetch2(bytes, at + 2)};
}

#endif

#if NAY_HAS_X86_KERNELS || NAY_HAS_NEON_KERNELS

/* ---- arithmetic ---- */

AIM NAY_INLINE aim_wide aim_add_top(aim_wide sum, aim_wide x) {
  return (aim_wide){sum.a + (x.a >> 32), sum.b + (x.b >> 32)};
}

AIM NAY_INLINE aim_wide aim_add_low(aim_wide sum, aim_wide x) {
  return (aim_wide){sum.a + (x.a & 0xffffffffu), sum.b + (x.b & 0xffffffffu)};
}

AIM NAY_INLINE void aim_store(uint32_t *to, aim_words x) { memcpy(to, &x, sizeof x); }

AIM NAY_INLINE aim_words aim_read(const uint32_t *from) {
  aim_words x;
  memcpy(&x, from, sizeof x);
  return x;
}

/* floor(x * n / 2^64), x in halves. */
AIM NAY_INLINE aim_words aim_reduce(aim_half low, aim_half top, aim_half n) {
  return aim_pack_top(aim_add_top(aim_mul(top, n), aim_mul(low, n)));
}

/* A factor of 64 bits for each key. */
typedef struct aim_factor {
  aim_half low;
  aim_words low_words, top_words;
} aim_factor;

AIM NAY_INLINE aim_factor aim_factor_of(uint64_t c) {
  const aim_words zero = {0};
  return (aim_factor){aim_all((uint32_t)c), zero + (uint32_t)c, zero + (uint32_t)(c >> 32)};
}

/* The upper half of x * c modulo 2^64; `product` is that of the lower halves. */
AIM NAY_INLINE aim_words aim_upper(aim_words low, aim_words top, const aim_factor *c,
                                   aim_wide product) {
  return aim_pack_top(product) + low * c->top_words + top * c->low_words;
}

/* Bit i: whether number i is 0. */
AIM NAY_INLINE uint64_t aim_zeros(aim_wide x) {
  return aim_signs((aim_words)((aim_pack(aim_low(x)) | aim_pack_top(x)) == 0));
}

/* ---- fuse and xor ---- */

/* Slots and fingerprints of 64 keys. */
typedef struct aim_fuse {
  _Alignas(32) uint32_t at[4][64]; /* the slot; if it straddles bytes, its first byte */
  uint32_t shifts[64];             /* and four bytes: its first bit there */
  uint32_t shards[64];
  uint32_t print[64];
} aim_fuse;

/* nay__remix: high half xor low half of x * C. */
AIM NAY_INLINE void aim_remix(aim_half *low, aim_half *top) {
  const uint64_t c = 0xd6e8feb86659fd93u;
  const aim_half c_low = aim_all((uint32_t)c), c_top = aim_all((uint32_t)(c >> 32));
  aim_wide first = aim_mul(*low, c_low);
  aim_wide second = aim_add_top(aim_mul(*top, c_low), first);
  aim_wide third = aim_add_low(aim_mul(*low, c_top), second);
  aim_wide high = aim_add_top(aim_add_top(aim_mul(*top, c_top), second), third);
  *low = aim_xor(aim_low(high), aim_low(first));
  *top = aim_xor(aim_top(high), aim_low(third));
}

/* nay__fuse_slots, of AIM_KEYS keys. */
AIM NAY_INLINE void aim_slots(const nay_fuse_map *map, const uint64_t *x, const aim_factor *factor,
                              unsigned arity, bool is_xor, aim_words at[4], aim_words *print) {
  const uint32_t segment = (uint32_t)map->segment, mask = segment - 1, span = (uint32_t)map->span;
  const aim_half all_span = aim_all(span);
  aim_wide keys = aim_load(x);
  aim_half low = aim_low(keys), top = aim_top(keys);
  aim_remix(&low, &top);
  aim_wide product = aim_mul(low, factor->low);
  aim_words w_low = aim_pack(aim_low(product));
  aim_words w_top = aim_upper(aim_pack(low), aim_pack(top), factor, product);
  *print = w_low & (uint32_t)(((uint64_t)1 << map->bits) - 1);
  at[0] = aim_reduce(low, top, all_span);
  if (is_xor) {
    at[1] = aim_pack_top(aim_mul(aim_unpack(w_top), all_span)) + span;
    at[2] = aim_pack_top(aim_mul(aim_unpack(w_top << 21 | w_low >> 11), all_span)) + 2 * span;
    return;
  }
  at[1] = (at[0] + segment) ^ (w_top >> 16 & mask);
  at[2] = (at[0] + 2 * segment) ^ (w_top & mask);
  if (arity == 3) return;
  const aim_factor f = aim_factor_of(0xa0761d6478bd642fu);
  aim_words upper = aim_upper(w_low, w_top, &f, aim_mul(aim_low(product), f.low));
  at[3] = (at[0] + 3 * segment) ^ (upper >> 16 & mask);
}

/* Places of two keys in one load: loads are what limits the next loop. */
NAY_INLINE uint64_t aim_two(const uint32_t *at) {
  uint64_t two = nay__load64le((const uint8_t *)(const void *)at);
  NAY_OPAQUE(two); /* or compilers put single slots together in vectors */
  return two;
}

#define AIM_DEFINE_SUM(name, type, load)                                                      \
  AIM NAY_INLINE uint64_t name(const uint8_t *array, const aim_fuse *spots, unsigned arity) { \
    _Alignas(32) uint32_t sums[64];                                                           \
    uint64_t bitmap = 0;                                                                      \
    for (unsigned i = 0; i < 64; i += 2) {                                                    \
      type a = 0, b = 0;                                                                      \
      for (unsigned j = 0; j < arity; j++) {                                                  \
        uint64_t two = aim_two(&spots->at[j][i]);                                             \
        a = (type)(a ^ load(array + sizeof(type) * (uint32_t)two));                           \
        b = (type)(b ^ load(array + sizeof(type) * (two >> 32)));                             \
      }                                                                                       \
      sums[i] = a;                                                                            \
      sums[i + 1] = b;                                                                        \
    }                                                                                         \
    for (unsigned i = 0; i < 64; i += AIM_KEYS) {                                             \
      aim_words same = (aim_words)(aim_read(sums + i) == aim_read(spots->print + i));         \
      bitmap |= aim_signs(same) << i;                                                         \
    }                                                                                         \
    return bitmap;                                                                            \
  }

NAY_INLINE uint8_t aim_load8(const uint8_t *p) { return *p; }

AIM_DEFINE_SUM(aim_sum8, uint8_t, aim_load8)
AIM_DEFINE_SUM(aim_sum16, uint16_t, nay__load16le)
AIM_DEFINE_SUM(aim_sum32, uint32_t, nay__load32le)
#undef AIM_DEFINE_SUM

/* Slots that straddle bytes: the eight bytes around each, shifted. */
AIM NAY_INLINE uint64_t aim_sum_any(const nay_fuse_map *map, const aim_fuse *spots,
                                    unsigned arity) {
  const uint64_t mask = ((uint64_t)1 << map->bits) - 1;
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_wide sum = aim_widen(aim_read(spots->print + i));
    aim_words shifts = aim_read(spots->shifts + i);
    for (unsigned j = 0; j < arity; j++) {
      aim_wide around = aim_fetch(map->arrays, spots->at[j] + i),
               by = aim_widen(shifts >> 8 * j & 7);
      sum.a ^= aim_shift(around.a, by.a);
      sum.b ^= aim_shift(around.b, by.b);
    }
    bitmap |= aim_zeros((aim_wide){sum.a & mask, sum.b & mask}) << i;
  }
  return bitmap;
}

/* The shards of 64 keys, as places of their factors. */
AIM NAY_INLINE void aim_shards(const nay_fuse_map *map, const uint64_t *x, uint32_t *shards) {
  const aim_half nshards = aim_all((uint32_t)map->nshards);
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_wide keys = aim_load(x + i);
    aim_store(shards + i, aim_reduce(aim_low(keys), aim_top(keys), nshards) * 8);
  }
}

/* All slots; returns the keys whose shard has an even factor. */
AIM NAY_INLINE uint64_t aim_fuse_keys(const nay_fuse_map *map, const uint64_t *x, unsigned arity,
                                      bool is_xor, bool sharded, bool straddles, aim_fuse *spots) {
  const uint32_t stride = (uint32_t)(straddles ? map->stride : map->stride / (map->bits / 8));
  aim_factor factor = aim_factor_of(nay__load64le(map->factors));
  uint64_t odd = sharded ? 0 : 0 - (uint64_t)(map->factors[0] & 1);
  if (sharded) aim_shards(map, x, spots->shards);
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_words at[4], print, shifts = {0}, array = {0};
    if (sharded) {
      aim_wide c = aim_fetch(map->factors, spots->shards + i);
      factor = (aim_factor){aim_low(c), aim_pack(aim_low(c)), aim_pack_top(c)};
      array = (aim_read(spots->shards + i) >> 3) * stride;
      odd |= aim_signs(factor.low_words << 31) << i;
    }
    aim_slots(map, x + i, &factor, arity, is_xor, at, &print);
    for (unsigned j = 0; j < arity; j++) {
      if (straddles) at[j] *= map->bits;
      if (straddles) shifts |= (at[j] & 7) << 8 * j;
      aim_store(spots->at[j] + i, (straddles ? at[j] >> 3 : at[j]) + array);
    }
    if (straddles) aim_store(spots->shifts + i, shifts);
    aim_store(spots->print + i, print);
  }
  return ~odd;
}

AIM NAY_INLINE uint64_t aim_fuse_aim(const nay_fuse_map *map, const uint64_t *x, unsigned arity,
                                     bool is_xor, bool straddles, aim_fuse *spots) {
  return map->nshards == 1 ? aim_fuse_keys(map, x, arity, is_xor, false, straddles, spots)
                           : aim_fuse_keys(map, x, arity, is_xor, true, straddles, spots);
}

AIM NAY_INLINE uint64_t aim_fuse_test(const nay_fuse_map *map, const uint64_t *x, unsigned arity,
                                      bool is_xor, uint64_t *fixed) {
  aim_fuse spots;
  if (map->bits != 8 && map->bits != 16 && map->bits != 32) {
    *fixed = aim_fuse_aim(map, x, arity, is_xor, true, &spots);
    return aim_sum_any(map, &spots, arity);
  }
  *fixed = aim_fuse_aim(map, x, arity, is_xor, false, &spots);
  if (map->bits == 8) return aim_sum8(map->arrays, &spots, arity);
  if (map->bits == 16) return aim_sum16(map->arrays, &spots, arity);
  return aim_sum32(map->arrays, &spots, arity);
}

AIM uint64_t nay__fuse_test64_aimed(const nay_fuse_map *map, const uint64_t *x, uint64_t *fixed) {
  if (map->segment == 0) return aim_fuse_test(map, x, 3, true, fixed);
  return map->arity == 4 ? aim_fuse_test(map, x, 4, false, fixed)
                         : aim_fuse_test(map, x, 3, false, fixed);
}

/* ---- cuckoo ---- */

/* Tags of 64 keys, and the first bytes of both buckets. */
typedef struct aim_cuckoo {
  _Alignas(32) uint32_t tag[64], home[64], other[64];
  uint32_t shifts[64]; /* two bytes: the first bits of the buckets there */
} aim_cuckoo;

/* cuckoo_locate, of AIM_KEYS keys. */
AIM NAY_INLINE void aim_buckets(const nay_cuckoo_map *map, const uint64_t *hashes, aim_words *tags,
                                aim_words *home, aim_words *other) {
  const uint32_t m = (uint32_t)map->nbuckets, mask = ((uint32_t)1 << map->bits) - 1;
  const aim_half all_m = aim_all(m);
  aim_wide keys = aim_load(hashes);
  aim_half low = aim_low(keys), top = aim_top(keys);
  aim_words tag = aim_pack(low) & mask;
  tag -= (aim_words)(tag == 0);
  aim_words square = tag * tag;
  aim_wide product = aim_mul(aim_unpack(square), aim_all((uint32_t)NAY_G64));
  aim_words upper = aim_pack_top(product) + square * (uint32_t)(NAY_G64 >> 32);
  aim_words r = aim_reduce(aim_low(product), aim_unpack(upper), all_m) | 1;
  *tags = tag;
  *home = aim_reduce(low, top, all_m);
  *other = r - *home + ((aim_words)(r < *home) & m);
}

/* cuckoo_has: 0 when neither of the two buckets has the tag. */
AIM NAY_INLINE aim_longs aim_has(aim_longs home, aim_longs other, aim_longs pair, unsigned f) {
  const uint64_t two = 1 | (uint64_t)1 << f, ones = two | two << 2 * f, top = ones << (f - 1);
  aim_longs same = pair | pair << 2 * f;
  home ^= same;
  other ^= same;
  return (((home - ones) & ~home) | ((other - ones) & ~other)) & top;
}

/* Tags of odd width: a bucket may begin in the middle of its first byte. */
AIM NAY_INLINE aim_wide aim_bucket(const uint8_t *slots, const uint32_t *at, bool odd,
                                   aim_words shifts) {
  aim_wide word = aim_fetch(slots, at);
  if (!odd) return word;
  aim_wide by = aim_widen(shifts & 4);
  return (aim_wide){aim_shift(word.a, by.a), aim_shift(word.b, by.b)};
}

AIM NAY_INLINE uint64_t aim_compare(const nay_cuckoo_map *map, const aim_cuckoo *spots, bool odd) {
  const unsigned f = map->bits;
  uint64_t none = 0;
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_words tag = aim_read(spots->tag + i), shifts = {0};
    if (odd) shifts = aim_read(spots->shifts + i);
    aim_wide pair = aim_widen(tag | tag << f);
    aim_wide home = aim_bucket(map->slots, spots->home + i, odd, shifts);
    aim_wide other = aim_bucket(map->slots, spots->other + i, odd, shifts >> 8);
    aim_wide has = {aim_has(home.a, other.a, pair.a, f), aim_has(home.b, other.b, pair.b, f)};
    none |= aim_zeros(has) << i;
  }
  return ~none;
}

AIM NAY_INLINE uint64_t aim_cuckoo_test(const nay_cuckoo_map *map, const uint64_t *hashes,
                                        bool odd) {
  aim_cuckoo spots;
  for (unsigned i = 0; i < 64; i += AIM_KEYS) {
    aim_words tag, home, other;
    aim_buckets(map, hashes + i, &tag, &home, &other);
    home *= map->bits; /* half bytes */
    other *= map->bits;
    aim_store(spots.tag + i, tag);
    aim_store(spots.home + i, home >> 1);
    aim_store(spots.other + i, other >> 1);
    if (odd) aim_store(spots.shifts + i, (home & 1) << 2 | (other & 1) << 10);
  }
  return aim_compare(map, &spots, odd);
}

AIM uint64_t nay__cuckoo_test64_aimed(const nay_cuckoo_map *map, const uint64_t *hashes) {
  return map->bits % 2 == 0 ? aim_cuckoo_test(map, hashes, false)
                            : aim_cuckoo_test(map, hashes, true);
}

#endif
#undef AIM
#undef AIM_KEYS

/* ==== src/cpu/kernels_cuckoo.c ============================================================== */
/*
 * kernels_cuckoo.c - one key of a cuckoo filter, with both of its buckets in one vector.
 *
 * What limits a probe in the cache is the number of instructions for the general registers, of
 * which a processor runs four in a cycle: finding the buckets takes most of them. So the comparison
 * is left to the vectors, which are idle: eight tags at a time, with the formula of cuckoo_has. The
 * constants are read from memory, where an instruction takes its operand for nothing.
 *
 * There is a function for each width up to 16 bits, of which four fill a word. Zen 4, tags of 12
 * and 13 bits, ns: in the cache 3.1 to 2.6 and 4.0 to 3.1; a million keys 5.7 to 4.0.
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define PAIR_AVX2 __attribute__((target("avx2,bmi2")))
#define PAIR_HEADER 64u /* of the payload; the buckets follow */

typedef struct pair_constants {
  uint64_t minus_ones[2], top[2]; /* of the fields of both buckets */
  uint64_t factor;
} pair_constants;

#define PAIR_ONES(f) \
  ((uint64_t)1 | (uint64_t)1 << (f) | (uint64_t)1 << 2 * (f) | (uint64_t)1 << 3 * (f))
#define PAIR_TOP(f) (PAIR_ONES(f) << ((f)-1))
#define PAIR_CONSTANTS(f) \
  { {0 - PAIR_ONES(f), 0 - PAIR_ONES(f)}, {PAIR_TOP(f), PAIR_TOP(f)}, NAY_G64 }

PAIR_AVX2 NAY_INLINE __m128i pair_load(const uint64_t x[2]) {
  return _mm_loadu_si128((const __m128i *)(const void *)x);
}

/* The tag in each of the four fields of both halves. */
PAIR_AVX2 NAY_INLINE __m128i pair_spread(uint64_t tag, int f) {
  __m128i x = _mm_set1_epi64x((int64_t)tag);
  x = _mm_or_si128(x, _mm_slli_epi64(x, f));
  return _mm_or_si128(x, _mm_slli_epi64(x, 2 * f));
}

/* Both buckets from bit 0 on. Every other one of odd tags begins in the middle of a byte. */
PAIR_AVX2 NAY_INLINE __m128i pair_fetch(const uint8_t *slots, uint64_t home, uint64_t other,
                                        uint64_t f) {
  const uint8_t *at = slots + (f % 2 == 0 ? home * (f / 2) : home * f / 2);
  const uint8_t *to = slots + (f % 2 == 0 ? other * (f / 2) : other * f / 2);
  __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)at);
  x = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(x), (const double *)(const void *)to));
  if (f % 2 == 0) return x;
  __m128i buckets = _mm_set_epi64x((int64_t)other, (int64_t)home);
  return _mm_srlv_epi64(x, _mm_and_si128(_mm_slli_epi64(buckets, 2), _mm_set1_epi64x(4)));
}

PAIR_AVX2 NAY_INLINE bool pair_test(const nay_bits *b, uint64_t hash, int f,
                                    const pair_constants *c) {
  NAY_OPAQUE(c);
  const uint8_t *slots = b->bytes + PAIR_HEADER;
  uint64_t m = b->nunits, tag = hash & (((uint64_t)1 << f) - 1);
  tag = tag != 0 ? tag : 1;
  uint64_t home = nay__reduce(hash, m), r = nay__reduce(tag * tag * c->factor, m) | 1;
  uint64_t other = r - home, more = other + m;
  other = more < other ? more : other;
  __m128i x = pair_fetch(slots, home, other, (uint64_t)f);
  x = _mm_xor_si128(x, pair_spread(tag, f));
  __m128i found = _mm_andnot_si128(x, _mm_add_epi64(x, pair_load(c->minus_ones)));
  return !_mm_testz_si128(found, pair_load(c->top));
}

#define PAIR_WIDTHS(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#define PAIR_DEFINE(f)                                                     \
  PAIR_AVX2 static bool pair_probe_##f(const nay_bits *b, uint64_t hash) { \
    static const pair_constants constants = PAIR_CONSTANTS(f);             \
    return pair_test(b, hash, f, &constants);                              \
  }
PAIR_WIDTHS(PAIR_DEFINE)
#undef PAIR_DEFINE

nay_probe nay__cuckoo_probe_avx2(unsigned tag_bits) {
  switch (tag_bits) {
#define PAIR_CASE(f) \
  case f: return pair_probe_##f;
    PAIR_WIDTHS(PAIR_CASE)
#undef PAIR_CASE
    default: return NULL;
  }
}

#endif
#undef PAIR_AVX2
#undef PAIR_CONSTANTS
#undef PAIR_HEADER
#undef PAIR_ONES
#undef PAIR_TOP
#undef PAIR_WIDTHS

/* ==== src/cpu/kernels_ribbon.c ============================================================== */
/*
 * kernels_ribbon.c - eight columns of a ribbon filter at once, and eight keys.
 *
 * A column is 128 slots of a block, 16 bytes; those of one block follow each other. So one vector
 * of 512 bits is four columns of the block where a key begins, another the same columns of the next
 * block, and two ands and a xor leave in each pair of lanes a column's slots that are the key's.
 * The pairs of columns 0 to 3 and 4 to 7 are summed across, into even and odd lanes of one vector,
 * and the parities of its lanes are compared with the fingerprint: no branch depends on the key,
 * where the plain code leaves after four columns and guesses wrong for half of the keys.
 *
 * For a batch the places of eight keys are computed side by side, all 64 before the first look: a
 * word of a vector that has just been stored cannot be loaded until the store has reached the
 * cache. The answers of 64 looks are 64 bytes, compared with 64 fingerprints at the end.
 *
 * Solving is the same the other way round: eight columns, a lane each, whose slots are found from
 * the last to the first (family/banding.c).
 */

#if NAY_HAS_X86_KERNELS

/* ==== src/cpu/ribbon_rows.h ================================================================= */
/*
 * ribbon_rows.h - the equations of eight keys of a ribbon filter, side by side. The formulas are
 * those of nay__ribbon_row_of (family/ribbon.h).
 */
#ifndef NAY_RIBBON_ROWS_H
#define NAY_RIBBON_ROWS_H

#include <immintrin.h>

#define RIBBON_POPCNT \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vbmi2,avx512vpopcntdq,bmi,bmi2,popcnt")))

RIBBON_POPCNT static inline __m512i ribbon_set1(uint64_t x) {
  return _mm512_set1_epi64((int64_t)x);
}

/* Both halves of x * c, from products of 32 bits. */
RIBBON_POPCNT static inline __m512i ribbon_product(__m512i x, uint64_t c, __m512i *low) {
  __m512i c0 = ribbon_set1(c & 0xffffffffu), c1 = ribbon_set1(c >> 32);
  __m512i x1 = _mm512_srli_epi64(x, 32), low32 = ribbon_set1(0xffffffffu);
  __m512i a = _mm512_mul_epu32(x1, c0), b = _mm512_mul_epu32(x, c1);
  __m512i carry = _mm512_srli_epi64(_mm512_mul_epu32(x, c0), 32);
  carry = _mm512_add_epi64(carry, _mm512_and_si512(a, low32));
  carry = _mm512_add_epi64(carry, _mm512_and_si512(b, low32));
  __m512i high = _mm512_add_epi64(_mm512_mul_epu32(x1, c1), _mm512_srli_epi64(carry, 32));
  high = _mm512_add_epi64(high, _mm512_srli_epi64(a, 32));
  *low = _mm512_mullo_epi64(x, ribbon_set1(c));
  return _mm512_add_epi64(high, _mm512_srli_epi64(b, 32));
}

typedef struct ribbon_rows {
  __m512i lo, hi, print, start;
} ribbon_rows;

/* starts: how many first slots the shard has. */
RIBBON_POPCNT static inline ribbon_rows ribbon_rows_of(__m512i x, __m512i seed, __m512i starts) {
  ribbon_rows r;
  __m512i m = ribbon_product(_mm512_xor_si512(x, seed), 0xd6e8feb86659fd93u, &r.lo);
  m = _mm512_xor_si512(m, r.lo);
  r.hi = ribbon_product(m, 0xe7037ed1a0b428dbu, &r.lo);
  r.lo = _mm512_or_si512(r.lo, ribbon_set1(1));
  r.print = _mm512_mullo_epi64(m, ribbon_set1(0xa0761d6478bd642fu));
  r.print = _mm512_xor_si512(r.print, _mm512_srli_epi64(r.print, 32));
  r.start = _mm512_srli_epi64(_mm512_mul_epu32(m, starts), 32);
  return r;
}

#endif /* NAY_RIBBON_ROWS_H */

#define RIBBON_TARGET __attribute__((target("avx512f,avx512dq,bmi2")))
#define RIBBON_PAIRS 0x0003000300030003u /* of a fingerprint: the bits of columns c and c + 4 */

/* Which words of eight columns to load when there are n, and in which lanes their parities end. */
typedef struct ribbon_lanes {
  uint8_t low, high; /* columns 0 to 3, 4 to 7 */
  uint8_t valid;     /* column c in lane 2c, column c + 4 in lane 2c + 1 */
} ribbon_lanes;
static const ribbon_lanes ribbon_lanes_of[9] = {
    {0, 0, 0},          {0x03, 0, 0x01},    {0x0f, 0, 0x05},    {0x3f, 0, 0x15},   {0xff, 0, 0x55},
    {0xff, 0x03, 0x57}, {0xff, 0x0f, 0x5f}, {0xff, 0x3f, 0x7f}, {0xff, 0xff, 0xff}};

/* The slots that are the key's, in pairs of lanes: both words of a column, here and in the next. */
typedef struct ribbon_row_slots {
  __m512i here, next;
} ribbon_row_slots;

RIBBON_TARGET static inline ribbon_row_slots ribbon_slots_of(const nay_ribbon_spot *s) {
  /* the 128 coefficients begin in the lower (even) or in the upper (odd) words of their block */
  const unsigned even = 0x55, odd = 0xaa, upper = s->upper;
  __mmask8 outer = (__mmask8)(even << upper);
  __mmask8 second_here = (__mmask8)(odd & (upper - 1)),
           second_next = (__mmask8)(even & (0 - upper));
  __m512i second = _mm512_set1_epi64((int64_t)s->bits[1]);
  return (ribbon_row_slots){_mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_here, second),
                                                   outer, (int64_t)s->bits[0]),
                            _mm512_mask_set1_epi64(_mm512_maskz_mov_epi64(second_next, second),
                                                   outer, (int64_t)s->bits[2])};
}

/* Eight columns at p and q, each summed into one lane. */
RIBBON_TARGET static inline __m512i ribbon_sum(const uint8_t *p, const uint8_t *q,
                                               ribbon_lanes lanes, ribbon_row_slots slots) {
  __m512i a = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes.low, p), slots.here);
  __m512i b = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes.high, p + 64), slots.here);
  __m512i c = _mm512_maskz_loadu_epi64(lanes.low, q);
  __m512i d = _mm512_maskz_loadu_epi64(lanes.high, q + 64);
  a = _mm512_ternarylogic_epi64(a, c, slots.next, 0x78); /* a ^ (c & next) */
  b = _mm512_ternarylogic_epi64(b, d, slots.next, 0x78);
  return _mm512_xor_si512(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Bit i: the parity of lane i. */
RIBBON_TARGET static inline uint32_t ribbon_parity_folded(__m512i x) {
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 16));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 8));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 4));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 2));
  x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 1));
  return _mm512_test_epi64_mask(x, _mm512_set1_epi64(1));
}

RIBBON_POPCNT static inline uint32_t ribbon_parity_counted(__m512i x) {
  return _mm512_test_epi64_mask(_mm512_popcnt_epi64(x), _mm512_set1_epi64(1));
}

/* Columns from the first of eight on. */
#define RIBBON_LANES(left) (ribbon_lanes_of[(left) < 8 ? (left) : 8])

#define RIBBON_DEFINE_LOOK(target, name, parity)                                   \
  target bool name(const nay_ribbon_spot *s) {                                     \
    ribbon_row_slots slots = ribbon_slots_of(s);                                   \
    uint64_t print = s->print;                                                     \
    uint32_t differ = 0;                                                           \
    for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, print >>= 2) { \
      ribbon_lanes lanes = RIBBON_LANES(left);                                     \
      uint32_t got = parity(ribbon_sum(s->here + at, s->next + at, lanes, slots)); \
      differ |= (got ^ (uint32_t)_pext_u64(print, RIBBON_PAIRS)) & lanes.valid;    \
      if (left <= 8) return differ == 0;                                           \
    }                                                                              \
  }

RIBBON_DEFINE_LOOK(RIBBON_TARGET, nay__ribbon_look_avx512, ribbon_parity_folded)
RIBBON_DEFINE_LOOK(RIBBON_POPCNT, nay__ribbon_look_popcnt, ribbon_parity_counted)

/* ---- the same by vectors of 256 bits ---- */

#define RIBBON_AVX2 __attribute__((target("avx2")))

/* All ones in the words of n columns, read from 16 - 2 n on. */
static const int64_t ribbon_words[32] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                         -1, -1, -1, -1, -1, -1, -1, -1};

typedef struct ribbon_pair {
  __m256i here, next, mask[4];
} ribbon_pair;

/* Four columns from pair i on, a word each: 0, 2, 1, 3. */
RIBBON_AVX2 static inline __m256i ribbon_four(const nay_ribbon_spot *s, size_t at,
                                              const ribbon_pair *p, unsigned i) {
  __m256i sum[2];
  for (unsigned j = 0; j < 2; j++) {
    const long long *here = (const long long *)(const void *)(s->here + at + 32 * (i + j));
    const long long *next = (const long long *)(const void *)(s->next + at + 32 * (i + j));
    __m256i a = _mm256_and_si256(_mm256_maskload_epi64(here, p->mask[i + j]), p->here);
    __m256i b = _mm256_and_si256(_mm256_maskload_epi64(next, p->mask[i + j]), p->next);
    sum[j] = _mm256_xor_si256(a, b);
  }
  return _mm256_xor_si256(_mm256_unpacklo_epi64(sum[0], sum[1]),
                          _mm256_unpackhi_epi64(sum[0], sum[1]));
}

/* The parities of eight words, halves of which meet in one vector. */
RIBBON_AVX2 static inline uint32_t ribbon_parity_of_halves(__m256i low, __m256i high) {
  low = _mm256_xor_si256(low, _mm256_srli_epi64(low, 32));
  high = _mm256_xor_si256(high, _mm256_slli_epi64(high, 32));
  __m256i x = _mm256_permute4x64_epi64(_mm256_blend_epi32(low, high, 0xaa), 0xd8);
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 16));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 8));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 4));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 2));
  x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 1));
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

RIBBON_AVX2 bool nay__ribbon_look_avx2(const nay_ribbon_spot *s) {
  const int64_t a = (int64_t)s->bits[0], b = (int64_t)s->bits[1], c = (int64_t)s->bits[2];
  int64_t upper = 0 - (int64_t)s->upper, first = a & ~upper, second = (b & ~upper) | (a & upper);
  int64_t third = (c & ~upper) | (b & upper), fourth = c & upper;
  ribbon_pair p = {.here = _mm256_set_epi64x(second, first, second, first),
                   .next = _mm256_set_epi64x(fourth, third, fourth, third)};
  uint64_t print = s->print;
  uint32_t differ = 0;
  for (unsigned left = s->columns, at = 0;; left -= 8, at += 128, print >>= 2) {
    const int64_t *words = ribbon_words + 16 - 2 * (left < 8 ? left : 8);
    for (unsigned i = 0; i < 4; i++) {
      p.mask[i] = _mm256_loadu_si256((const __m256i *)(const void *)(words + 4 * i));
    }
    uint32_t got = ribbon_parity_of_halves(ribbon_four(s, at, &p, 0), ribbon_four(s, at, &p, 2));
    uint64_t want = print & RIBBON_PAIRS; /* as a bit extraction, which old CPUs take long for */
    want |= want >> 14;
    want |= want >> 28;
    differ |= (got ^ (uint32_t)want) & RIBBON_LANES(left).valid;
    if (left <= 8) return differ == 0;
  }
}

/* ---- batches ---- */

/* 64 keys: the slots that are theirs, in both words of a column of both blocks; where the blocks
 * are; what the parities of columns 8 i to 8 i + 7 must be. */
typedef struct ribbon_group {
  uint64_t here[64][2], next[64][2];
  uint64_t here_at[64], next_at[64];
  uint8_t print[4][64];
  uint64_t is_short, empty; /* bit i: key i begins in a block with a column less, in no block */
} ribbon_group;

/* Entries of the directory: first block and seed, and the first block of the next shard. */
RIBBON_POPCNT static inline __m512i ribbon_entries(const nay_ribbon_map *map, __m512i x,
                                                   __m512i *next) {
  if (map->nshards == 1) {
    uint64_t entry[2];
    memcpy(entry, map->directory, sizeof entry);
    *next = ribbon_set1(entry[1]);
    return ribbon_set1(entry[0]);
  }
  __m512i n = ribbon_set1(map->nshards); /* below 2^32 */
  __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, n), 32);
  __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), n);
  __m512i shard = _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
  *next = _mm512_i64gather_epi64(shard, map->directory + 8, 8);
  return _mm512_i64gather_epi64(shard, map->directory, 8);
}

/* Eight rows of 128 coefficients, moved up by `offset` slots over the four words of two blocks. A
 * shift by 64 or more, or by less than 0, leaves nothing. */
RIBBON_POPCNT static inline void ribbon_shift(__m512i lo, __m512i hi, __m512i offset,
                                              ribbon_group *g, unsigned i) {
  __m512i up = _mm512_sub_epi64(offset, ribbon_set1(64));
  __m512i down = _mm512_sub_epi64(ribbon_set1(64), offset);
  __m512i far_down = _mm512_sub_epi64(ribbon_set1(128), offset);
  __m512i here_lo = _mm512_sllv_epi64(lo, offset), next_hi = _mm512_srlv_epi64(hi, far_down);
  __m512i here_hi = _mm512_ternarylogic_epi64(
      _mm512_sllv_epi64(hi, offset), _mm512_srlv_epi64(lo, down), _mm512_sllv_epi64(lo, up), 0xfe);
  __m512i next_lo =
      _mm512_ternarylogic_epi64(_mm512_srlv_epi64(hi, down), _mm512_srlv_epi64(lo, far_down),
                                _mm512_sllv_epi64(hi, up), 0xfe);
  /* pairs of the even keys, pairs of the odd ones: into their order */
  const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(g->here[i], _mm512_permutex2var_epi64(here_lo, first, here_hi));
  _mm512_storeu_si512(g->here[i + 4], _mm512_permutex2var_epi64(here_lo, second, here_hi));
  _mm512_storeu_si512(g->next[i], _mm512_permutex2var_epi64(next_lo, first, next_hi));
  _mm512_storeu_si512(g->next[i + 4], _mm512_permutex2var_epi64(next_lo, second, next_hi));
}

/* Bits c and c + 4 of four columns lie 16 apart: as eight bits, in the order of the lanes. */
RIBBON_POPCNT static inline void ribbon_prints(__m512i print, unsigned columns, ribbon_group *g,
                                               unsigned i) {
  for (unsigned part = 0; part < (columns + 7) / 8; part++) {
    __m512i bits = _mm512_and_si512(print, ribbon_set1(RIBBON_PAIRS));
    bits = _mm512_or_si512(bits, _mm512_srli_epi64(bits, 14));
    bits = _mm512_or_si512(bits, _mm512_srli_epi64(bits, 28));
    _mm_storel_epi64((__m128i *)(void *)(g->print[part] + i), _mm512_cvtepi64_epi8(bits));
    print = _mm512_srli_epi64(print, 2);
  }
}

/* Eight keys, as nay__ribbon_row_of and ribbon_aim have it for one. */
RIBBON_POPCNT static inline void ribbon_aim8(const nay_ribbon_map *map, __m512i x, ribbon_group *g,
                                             unsigned i) {
  const __m512i low32 = ribbon_set1(0xffffffffu);
  __m512i after, entry = ribbon_entries(map, x, &after), seed = _mm512_srli_epi64(entry, 32);
  __m512i first = _mm512_and_si512(entry, low32);
  __m512i nblocks = _mm512_sub_epi64(_mm512_and_si512(after, low32), first);
  __mmask8 empty = _mm512_testn_epi64_mask(nblocks, nblocks);
  g->empty |= (uint64_t)empty << i;
  first = _mm512_mask_set1_epi64(first, empty, 0);
  nblocks = _mm512_mask_set1_epi64(nblocks, empty, 1);

  __m512i starts = _mm512_sub_epi64(_mm512_slli_epi64(nblocks, 7), ribbon_set1(127));
  ribbon_rows rows = ribbon_rows_of(x, seed, starts);
  __mmask8 homogeneous = _mm512_test_epi64_mask(seed, ribbon_set1(0x80000000u));
  ribbon_prints(_mm512_mask_set1_epi64(rows.print, homogeneous, 0), map->columns, g, i);
  __m512i offset = _mm512_and_si512(rows.start, ribbon_set1(127));
  ribbon_shift(rows.lo, rows.hi, offset, g, i);
  __m512i block = _mm512_add_epi64(first, _mm512_srli_epi64(rows.start, 7));
  __m512i short_blocks = ribbon_set1(map->short_blocks), columns = ribbon_set1(map->columns);
  __mmask8 is_short = _mm512_cmplt_epu64_mask(block, short_blocks);
  g->is_short |= (uint64_t)is_short << i;
  __m512i at =
      _mm512_sub_epi64(_mm512_mul_epu32(block, columns), _mm512_min_epu64(block, short_blocks));
  /* a key that begins with its block has nothing in the next, which may not exist */
  __mmask8 reaches = _mm512_test_epi64_mask(offset, offset);
  __m512i next_at = _mm512_mask_add_epi64(at, reaches, at, columns);
  next_at = _mm512_mask_sub_epi64(next_at, reaches & is_short, next_at, ribbon_set1(1));
  _mm512_storeu_si512(g->here_at + i, _mm512_slli_epi64(at, 4));
  _mm512_storeu_si512(g->next_at + i, _mm512_slli_epi64(next_at, 4));
}

/* A key's two blocks are neighbours: a run of up to 1024 bytes, fetched line by line. */
static inline void ribbon_fetch(const nay_ribbon_map *map, const ribbon_group *g, unsigned i) {
  const uint8_t *end = map->blocks + g->next_at[i] + map->columns * 16;
  for (const uint8_t *at = map->blocks + g->here_at[i]; at < end; at += 64) NAY_PREFETCH(at);
  NAY_PREFETCH(end - 1);
}

/* The last block is never short, so the columns of a whole one can be read everywhere. */
RIBBON_POPCNT static inline uint32_t ribbon_row_parities(const nay_ribbon_map *map,
                                                         const ribbon_group *g, unsigned i,
                                                         size_t at, ribbon_lanes lanes) {
  const __m128i *here = (const __m128i *)(const void *)g->here[i];
  const __m128i *next = (const __m128i *)(const void *)g->next[i];
  ribbon_row_slots slots = {_mm512_broadcast_i64x2(_mm_loadu_si128(here)),
                            _mm512_broadcast_i64x2(_mm_loadu_si128(next))};
  const uint8_t *blocks = map->blocks + at;
  return ribbon_parity_counted(
      ribbon_sum(blocks + g->here_at[i], blocks + g->next_at[i], lanes, slots));
}

#define RIBBON_AHEAD 8u /* keys, of some four lines each */

/* Bit i: key i differs from its fingerprint in one of eight columns from 8 `part` on. */
RIBBON_POPCNT static uint64_t ribbon_differ64(const nay_ribbon_map *map, const ribbon_group *g,
                                              unsigned n, unsigned part) {
  unsigned left = map->columns - 8 * part;
  ribbon_lanes lanes = RIBBON_LANES(left), fewer = RIBBON_LANES(left - 1);
  uint8_t got[64] = {0};
  bool far = part == 0 && !map->in_cache;
  for (unsigned i = 0; far && i < n && i < RIBBON_AHEAD; i++) ribbon_fetch(map, g, i);
  for (unsigned i = 0; i < n; i++) {
    if (far && i + RIBBON_AHEAD < n) ribbon_fetch(map, g, i + RIBBON_AHEAD);
    got[i] = (uint8_t)ribbon_row_parities(map, g, i, 128 * (size_t)part, lanes);
  }
  __m512i valid =
      _mm512_mask_set1_epi8(_mm512_set1_epi8((char)lanes.valid), g->is_short, (char)fewer.valid);
  __m512i differ = _mm512_xor_si512(_mm512_loadu_si512(got), _mm512_loadu_si512(g->print[part]));
  return _mm512_test_epi8_mask(differ, valid);
}

RIBBON_POPCNT uint64_t nay__ribbon_test64_avx512(const nay_ribbon_map *map, const uint64_t *x,
                                                 unsigned n) {
  ribbon_group g;
  g.is_short = g.empty = 0;
  for (unsigned i = 0; i < n; i += 8) {
    __mmask8 keys = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : 0xff;
    ribbon_aim8(map, _mm512_maskz_loadu_epi64(keys, x + i), &g, i);
  }
  uint64_t nay = g.empty;
  for (unsigned part = 0; part < (map->columns + 7) / 8; part++) {
    nay |= ribbon_differ64(map, &g, n, part);
  }
  return ~nay & ~(uint64_t)0 >> (64 - n);
}

#endif /* NAY_HAS_X86_KERNELS */

#if NAY_HAS_NEON_KERNELS

#include <arm_neon.h>

/*
 * On 64-bit Arm a vector is one column. The words of two columns are summed across into one vector,
 * bits are counted byte by byte, and three rounds of adding neighbours leave a byte for each of
 * eight columns, to be compared with as many bytes of the fingerprint.
 */
typedef struct ribbon_masks {
  uint64x2_t here, next;
} ribbon_masks;

static inline ribbon_masks ribbon_masks_of(const nay_ribbon_spot *s) {
  uint64x1_t first = vcreate_u64(s->bits[0]), second = vcreate_u64(s->bits[1]);
  uint64x1_t third = vcreate_u64(s->bits[2]), none = vcreate_u64(0);
  if (s->upper) return (ribbon_masks){vcombine_u64(none, first), vcombine_u64(second, third)};
  return (ribbon_masks){vcombine_u64(first, second), vcombine_u64(third, none)};
}

static inline uint64x2_t ribbon_column_sum(const nay_ribbon_spot *s, size_t at,
                                           const ribbon_masks *m) {
  uint64x2_t here = vreinterpretq_u64_u8(vld1q_u8(s->here + at));
  uint64x2_t next = vreinterpretq_u64_u8(vld1q_u8(s->next + at));
  return veorq_u64(vandq_u64(here, m->here), vandq_u64(next, m->next));
}

/* Counts of the bits of two columns, eight bytes each. */
static inline uint8x16_t ribbon_two(uint64x2_t a, uint64x2_t b) {
  return vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vzip1q_u64(a, b), vzip2q_u64(a, b))));
}

/* Byte c: bit 0 is the fingerprint's for column c of eight; other bits are rubbish. */
static inline uint8x8_t ribbon_print_bytes(uint64_t print) {
  return vmovn_u16(vcombine_u16(vcreate_u16(print), vcreate_u16(print >> 1)));
}

bool nay__ribbon_look_neon(const nay_ribbon_spot *s) {
  static const uint8_t wanted[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  ribbon_masks masks = ribbon_masks_of(s);
  uint8x8_t differ = vdup_n_u8(0);
  uint64_t print = s->print;
  for (unsigned first = 0; first < s->columns; first += 8, print >>= 2) {
    unsigned left = s->columns - first < 8 ? s->columns - first : 8;
    uint64x2_t sum[8];
    for (unsigned c = 0; c < 8; c++) {
      sum[c] = c < left ? ribbon_column_sum(s, (size_t)(first + c) * 16, &masks) : vdupq_n_u64(0);
    }
    uint8x16_t low = vpaddq_u8(ribbon_two(sum[0], sum[1]), ribbon_two(sum[2], sum[3]));
    uint8x16_t high = vpaddq_u8(ribbon_two(sum[4], sum[5]), ribbon_two(sum[6], sum[7]));
    uint8x16_t all = vpaddq_u8(low, high);
    uint8x8_t got = vpadd_u8(vget_low_u8(all), vget_high_u8(all));
    got = vand_u8(veor_u8(got, ribbon_print_bytes(print)), vld1_u8(wanted + 8 - left));
    differ = vorr_u8(differ, got);
  }
  return vget_lane_u64(vreinterpret_u64_u8(differ), 0) == 0;
}

#endif /* NAY_HAS_NEON_KERNELS */
#undef RIBBON_AHEAD
#undef RIBBON_AVX2
#undef RIBBON_DEFINE_LOOK
#undef RIBBON_LANES
#undef RIBBON_PAIRS
#undef RIBBON_TARGET

/* ==== src/cpu/kernels_band.c ================================================================ */
/*
 * kernels_band.c - the equations of a ribbon filter, eliminated and solved by vectors.
 *
 * Elimination (family/banding.c) one key after the other is a chain: each step waits for the row
 * that the one before has led to, some fifteen steps a key. Here a sweep goes over the slots, eight
 * at a time, with all equations that have begun and are not placed yet: some 25, at most 64.
 *
 *   equation e   | 8 slots of the panel | ... 128 and 7 slots from its first on | print |
 *
 *   1. the eight slots of 64 equations are eight words, a bit for each equation. In them pivots are
 *      found: for each slot an equation that has it becomes the slot's row, and is added to all
 *      others that have it. Only the words are changed; who gets which row is kept.
 *   2. the rows: those that got others before them are summed up, and stored.
 *   3. all equations get the rows that are theirs, eight equations in a vector; those that have
 *      become rows are dropped, the others move on by eight slots.
 *
 * It gives the rows of the same slots, and so the same solution. A key that finds 64 others
 * unplaced is set aside, to be placed one by one when all rows are there; so are those that the
 * first half of the slots leaves to the second.
 *
 * Solving goes from the last slot to the first, eight columns side by side, a lane each.
 */

#if NAY_HAS_X86_KERNELS

#define BAND_TOP 0xff00000000000000u /* no fingerprint has these bits: slots 128 to 134 */

/* The keys that begin in a panel. */
RIBBON_POPCNT static inline void band_enter(nay_band_sweep *s) {
  nay_band_pending *p = &s->pending;
  uint32_t end = *s->ends++;
  const __m512i seed = ribbon_set1(s->seed), starts = ribbon_set1(s->starts);
  while (s->next < end) {
    unsigned n = end - s->next < 8 ? end - s->next : 8;
    if (NAY_UNLIKELY(p->n + n > NAY_BAND_PENDING)) {
      while (n-- > 0) s->keys[s->aside + s->naside++] = s->keys[s->next++];
      continue;
    }
    __mmask8 mask = (__mmask8)((1u << n) - 1);
    ribbon_rows r = ribbon_rows_of(_mm512_maskz_loadu_epi64(mask, s->keys + s->next), seed, starts);
    __m512i up = _mm512_and_si512(r.start, ribbon_set1(NAY_BAND_PANEL - 1));
    __m512i down = _mm512_sub_epi64(ribbon_set1(64), up);
    __m512i top = _mm512_slli_epi64(_mm512_srlv_epi64(r.hi, down), 56);
    __m512i hi = _mm512_or_si512(_mm512_sllv_epi64(r.hi, up), _mm512_srlv_epi64(r.lo, down));
    _mm512_storeu_si512(p->lo + p->n, _mm512_sllv_epi64(r.lo, up));
    _mm512_storeu_si512(p->hi + p->n, hi);
    _mm512_storeu_si512(p->print + p->n,
                        _mm512_or_si512(_mm512_andnot_si512(ribbon_set1(BAND_TOP), r.print), top));
    p->n += n;
    s->next += n;
  }
}

/* What step 1 finds. */
typedef struct band_pivots {
  uint64_t others[NAY_BAND_PANEL]; /* bit e: equation e gets the row of this slot */
  uint64_t at[NAY_BAND_PANEL];     /* which equation is the row */
  uint64_t left;                   /* equations that are no row */
  __mmask8 found;
} band_pivots;

/* The low bytes of 64 equations. */
RIBBON_POPCNT static inline __m512i band_low_bytes(const nay_band_pending *p) {
  __m256i half[2];
  for (unsigned i = 0; i < 2; i++) {
    const uint64_t *lo = p->lo + 32 * i;
    __m128i a = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo));
    __m128i b = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 8));
    __m128i c = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 16));
    __m128i d = _mm512_cvtepi64_epi8(_mm512_loadu_si512(lo + 24));
    half[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(a, b)),
                                      _mm_unpacklo_epi64(c, d), 1);
  }
  return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

RIBBON_POPCNT static inline void band_find(const nay_band_pending *p, band_pivots *v) {
  uint64_t slot[NAY_BAND_PANEL], left = p->n == 0 ? 0 : ~(uint64_t)0 >> (64 - p->n);
  __m512i bytes = band_low_bytes(p);
  unsigned found = 0;
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    slot[i] = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8((char)(1u << i)));
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    uint64_t have = slot[i] & left, row = have & (0 - have), others = have ^ row;
    left ^= row;
    found |= (unsigned)(row != 0) << i;
    v->at[i] = _tzcnt_u64(row) & 63;
    v->others[i] = others;
#pragma GCC unroll 8
    for (unsigned j = i + 1; j < NAY_BAND_PANEL; j++) {
      slot[j] ^= others & (0 - (uint64_t)((slot[j] & row) != 0));
    }
  }
  v->left = left;
  v->found = (__mmask8)found;
}

/* Rows of eight slots, a lane each. */
typedef struct band_eight {
  __m512i lo, hi, print;
} band_eight;

RIBBON_POPCNT static inline band_eight band_add(band_eight a, __mmask8 lanes, band_eight b) {
  return (band_eight){_mm512_mask_xor_epi64(a.lo, lanes, a.lo, b.lo),
                      _mm512_mask_xor_epi64(a.hi, lanes, a.hi, b.hi),
                      _mm512_mask_xor_epi64(a.print, lanes, a.print, b.print)};
}

/* Sums up the rows; each[i] is row i in all lanes. */
RIBBON_POPCNT static inline band_eight band_rows(const nay_band_pending *p, const band_pivots *v,
                                                 band_eight *each) {
  const __m512i none = _mm512_setzero_si512();
  __m512i at = _mm512_loadu_si512(v->at);
  band_eight r = {_mm512_mask_i64gather_epi64(none, v->found, at, p->lo, 8),
                  _mm512_mask_i64gather_epi64(none, v->found, at, p->hi, 8),
                  _mm512_mask_i64gather_epi64(none, v->found, at, p->print, 8)};
#pragma GCC unroll 8
  for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
    __m512i lane = ribbon_set1(i);
    each[i] =
        (band_eight){_mm512_permutexvar_epi64(lane, r.lo), _mm512_permutexvar_epi64(lane, r.hi),
                     _mm512_permutexvar_epi64(lane, r.print)};
    __m512i mine = _mm512_srlv_epi64(ribbon_set1(v->others[i]), at);
    r = band_add(r, v->found & _mm512_test_epi64_mask(mine, ribbon_set1(1)), each[i]);
  }
  return r;
}

/* Row i begins at slot i: moved down by i, and stored one after the other. */
RIBBON_POPCNT static inline void band_store_rows(band_eight r, nay_band_row *rows) {
  const __m512i down = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i up = _mm512_sub_epi64(ribbon_set1(64), down);
  __m512i top = _mm512_srli_epi64(r.print, 56),
          print = _mm512_andnot_si512(ribbon_set1(BAND_TOP), r.print);
  __m512i lo = _mm512_or_si512(_mm512_srlv_epi64(r.lo, down), _mm512_sllv_epi64(r.hi, up));
  __m512i hi = _mm512_or_si512(_mm512_srlv_epi64(r.hi, down), _mm512_sllv_epi64(top, up));
  /* lo 0, hi 0, print 0, lo 1, ...: first lo and hi, 8 + i being hi's, then print */
  const __m512i pairs[3] = {_mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10),
                            _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5),
                            _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0)};
  const __m512i thirds[3] = {_mm512_setr_epi64(0, 0, 0, 0, 0, 1, 0, 0),
                             _mm512_setr_epi64(2, 0, 0, 3, 0, 0, 4, 0),
                             _mm512_setr_epi64(0, 5, 0, 0, 6, 0, 0, 7)};
  const __mmask8 lanes[3] = {0x24, 0x49, 0x92};
  for (unsigned i = 0; i < 3; i++) {
    __m512i both = _mm512_permutex2var_epi64(lo, pairs[i], hi);
    both = _mm512_mask_permutexvar_epi64(both, lanes[i], thirds[i], print);
    _mm512_storeu_si512((uint64_t *)rows + 8 * i, both);
  }
}

/* Adds the rows to all equations, drops those that are rows, and goes on by eight slots. */
RIBBON_POPCNT static inline void band_apply(nay_band_pending *p, const band_pivots *v,
                                            const band_eight *each) {
  unsigned to = 0;
  uint64_t left = v->left;
  for (unsigned from = 0; from < p->n; from += 8) {
    band_eight e = {_mm512_loadu_si512(p->lo + from), _mm512_loadu_si512(p->hi + from),
                    _mm512_loadu_si512(p->print + from)};
#pragma GCC unroll 8
    for (unsigned i = 0; i < NAY_BAND_PANEL; i++) {
      e = band_add(e, (__mmask8)(v->others[i] >> from), each[i]);
    }
    __mmask8 keep = (__mmask8)(left >> from);
    __m512i lo = _mm512_shrdi_epi64(e.lo, e.hi, 8), top = ribbon_set1(BAND_TOP);
    __m512i hi = _mm512_ternarylogic_epi64(_mm512_srli_epi64(e.hi, 8), e.print, top, 0xf8);
    _mm512_storeu_si512(p->lo + to, _mm512_maskz_compress_epi64(keep, lo));
    _mm512_storeu_si512(p->hi + to, _mm512_maskz_compress_epi64(keep, hi));
    _mm512_storeu_si512(p->print + to,
                        _mm512_maskz_compress_epi64(keep, _mm512_andnot_si512(top, e.print)));
    to += (unsigned)_mm_popcnt_u32(keep);
  }
  p->n = to;
}

/* One half of the slots, and what is known of its panel. */
typedef struct band_half {
  nay_band_sweep *sweep;
  band_pivots pivots;
  band_eight each[NAY_BAND_PANEL];
} band_half;

/* Each step waits for the one before it, so both halves go on at once. */
RIBBON_POPCNT void nay__band_sweep_avx512(nay_band_sweep sweeps[2], uint32_t npanels) {
  band_half halves[2] = {{.sweep = &sweeps[0]}, {.sweep = &sweeps[1]}};
  for (uint32_t panel = 0; panel < npanels; panel++) {
    for (unsigned i = 0; i < 2; i++) band_enter(&sweeps[i]);
    for (unsigned i = 0; i < 2; i++) band_find(&sweeps[i].pending, &halves[i].pivots);
    for (unsigned i = 0; i < 2; i++) {
      band_half *h = &halves[i];
      band_store_rows(band_rows(&h->sweep->pending, &h->pivots, h->each), h->sweep->rows);
      h->sweep->rows += NAY_BAND_PANEL;
    }
    for (unsigned i = 0; i < 2; i++) {
      band_apply(&sweeps[i].pending, &halves[i].pivots, halves[i].each);
    }
  }
}

/* ---- solving ---- */

RIBBON_POPCNT void nay__band_solve_avx512(const nay_band_row *rows, unsigned part,
                                          nay_band_columns *columns) {
  const __m512i one = ribbon_set1(1);
  const __m512i print_bit = _mm512_add_epi64(_mm512_setr_epi64(0, 16, 32, 48, 1, 17, 33, 49),
                                             ribbon_set1(2 * (uint64_t)part));
  __m512i lo = _mm512_loadu_si512(columns->lo + 8 * part);
  __m512i hi = _mm512_loadu_si512(columns->hi + 8 * part);
  for (unsigned i = 128; i-- > 0;) {
    __m512i print = _mm512_srlv_epi64(ribbon_set1(rows[i].print), print_bit);
    hi = _mm512_shldi_epi64(hi, lo, 1);
    lo = _mm512_add_epi64(lo, lo);
    __m512i x = _mm512_and_si512(lo, ribbon_set1(rows[i].lo));
    x = _mm512_ternarylogic_epi64(x, hi, ribbon_set1(rows[i].hi), 0x78);
    lo = _mm512_or_si512(lo, _mm512_and_si512(print, one));
    lo = _mm512_ternarylogic_epi64(lo, _mm512_popcnt_epi64(x), one, 0x78);
  }
  _mm512_storeu_si512(columns->lo + 8 * part, lo);
  _mm512_storeu_si512(columns->hi + 8 * part, hi);
}

#endif /* NAY_HAS_X86_KERNELS */
#undef BAND_TOP

/* ==== src/cpu/kernels_counting.c ============================================================ */
/*
 * kernels_counting.c - adds and removes a key in a block of a counting filter, where nothing
 * unusual is in it.
 *
 * A block is eight groups: a word of the bit plane, and a word with the counters of its set bits in
 * unary, c - 1 zeros and a one for each (family/counting.c). The counter of the r-th set bit begins
 * after the r-th one: at the r-th one of the word moved up by one, with a one put below it, and
 * that the deposit instruction finds at once. What is left is to insert or delete one bit.
 *
 * Nothing is done in a block with a group that is stuck, and adding ends at a group that is full:
 * both are for counting.c. Vectors tell beforehand whether a block has a group that may become full
 * or a counter that has stuck, and whether a probe repeats, which counts once. In most there is
 * nothing of that, and the probes need no branch at all; least of all one that asks whether a bit
 * is set already, which is a coin's throw in a filter that is full (a third slower).
 *
 * Probes go one by one, though some wait for what the one before has stored: sorted by group there
 * are branches that nobody can foretell (a third slower), and with steps for empty groups in their
 * place there are too many (twice as slow).
 */

#if NAY_HAS_X86_KERNELS

#include <immintrin.h>

#define COUNTED_TARGET __attribute__((target("avx512f,avx512dq,avx512cd,bmi,bmi2,popcnt")))
#define COUNTED_MAX_K 16u
#define COUNTED_STUCK 15u /* a counter that has come so far is never changed again */

static const uint32_t counted_powers[16] = NAY_G32_POWERS_0_TO_15;

/* What the groups of a block are like. */
typedef struct counted_block {
  bool stuck;   /* one has bits and no counters */
  bool careful; /* one has a counter that has stuck, or fewer than k bits left */
} counted_block;

COUNTED_TARGET static inline counted_block counted_look(const uint8_t *plane, const uint8_t *words,
                                                        uint32_t k) {
  __m512i p = _mm512_loadu_si512(plane), w = _mm512_loadu_si512(words);
  __mmask8 stuck = _mm512_mask_test_epi64_mask(_mm512_testn_epi64_mask(w, w), p, p);
  /* bit i of run: bits i to i + 13 are not set. One with such a run below it has stuck */
  __m512i run = _mm512_andnot_si512(w, _mm512_set1_epi64(-1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 1));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 2));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 4));
  run = _mm512_and_si512(run, _mm512_srli_epi64(run, 6));
  __mmask8 careful = _mm512_test_epi64_mask(run, _mm512_srli_epi64(w, COUNTED_STUCK - 1));
  careful |= _mm512_test_epi64_mask(w, _mm512_set1_epi64((int64_t)(~(uint64_t)0 << (64 - k))));
  return (counted_block){stuck != 0, careful != 0};
}

/* Bit i: probe i is the same as one before it. */
COUNTED_TARGET static inline unsigned counted_repeats(uint32_t h, uint32_t k) {
  __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32((int)h), _mm512_loadu_si512(counted_powers));
  __m512i same = _mm512_conflict_epi32(_mm512_srli_epi32(at, 23));
  return _mm512_test_epi32_mask(same, same) & ((1u << k) - 1);
}

/*
 * Changes one bit of a group. `at` is where its counter begins, as a single bit. Choices are masks
 * of all ones: where the compiler sees a condition it may make a branch. Returns the bit if it was
 * not set.
 */
COUNTED_TARGET static inline uint64_t counted_step(uint8_t *plane, uint8_t *word, uint64_t bit,
                                                   bool removing, bool careful) {
  uint64_t p = nay__load64le(plane), w = nay__load64le(word), fresh = ~p & bit;
  uint64_t at = _pdep_u64((uint64_t)1 << _mm_popcnt_u64(p & (bit - 1)), w << 1 | 1);
  uint64_t above = w & (0 - at), absent = 0 - (uint64_t)(fresh != 0);
  uint64_t counter = w & ((at << (COUNTED_STUCK - 1)) - at);
  if (careful && (counter | absent) == 0) return 0; /* 14 zeros: it has stuck */
  if (removing) {
    nay__store64le(plane, p ^ (bit & (0 - (uint64_t)((w & at) != 0))));
    nay__store64le(word, w ^ above ^ (above >> 1 & (0 - at)));
  } else {
    nay__store64le(plane, p | bit);
    nay__store64le(word, w + above + (at & absent));
  }
  return fresh;
}

COUNTED_TARGET static inline nay_counted counted_steps(uint8_t *plane, uint8_t *words, uint32_t h,
                                                       uint32_t k, bool removing, bool careful,
                                                       unsigned repeats) {
  uint64_t fresh = 0;
  uint32_t i = 0;
  for (; i < k; i++, h *= NAY_G32) {
    size_t at = (h >> 29) * 8;
    if (careful && (repeats >> i & 1) != 0) continue;
    if (careful && !removing && nay__load64le(words + at) >> 63 != 0) break;
    fresh |= counted_step(plane + at, words + at, (uint64_t)1 << (h >> 23 & 63), removing, careful);
  }
  return (nay_counted){i, fresh != 0};
}

COUNTED_TARGET static inline nay_counted counted_change(uint8_t *plane, uint8_t *words,
                                                        uint64_t hash, uint32_t k, bool removing) {
  if (k > COUNTED_MAX_K) return (nay_counted){0, false};
  uint32_t h = (uint32_t)hash;
  unsigned repeats = counted_repeats(h, k);
  counted_block block = counted_look(plane, words, k);
  if (NAY_UNLIKELY(block.stuck)) return (nay_counted){0, false};
  if (NAY_LIKELY(!block.careful && repeats == 0)) {
    return counted_steps(plane, words, h, k, removing, false, 0);
  }
  return counted_steps(plane, words, h, k, removing, true, repeats);
}

COUNTED_TARGET nay_counted nay__counting_add_avx512(uint8_t *plane, uint8_t *words, uint64_t hash,
                                                    uint32_t k) {
  return counted_change(plane, words, hash, k, false);
}

COUNTED_TARGET nay_counted nay__counting_remove_avx512(uint8_t *plane, uint8_t *words,
                                                       uint64_t hash, uint32_t k) {
  return counted_change(plane, words, hash, k, true);
}

#endif
#undef COUNTED_MAX_K
#undef COUNTED_STUCK
#undef COUNTED_TARGET

/* ==== src/math/elementary.c ================================================================= */
/* elementary.c - ln by the series of artanh, exp by Taylor, both after reduction by powers of two.
 */
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
#error "doubles are computed in 80 bits here, and sizes would differ: add -msse2 -mfpmath=sse"
#endif

/* ==== src/math/elementary.h ================================================================= */
/*
 * elementary.h - ln, exp and square roots from + - * / alone.
 *
 * Sizes are part of the promise "same keys, same bytes everywhere", and libm may differ in the last
 * bit from one system to the next. IEEE 754 fixes the four operations, so these do not. They also
 * spare the library a dependency on libm, which the browser build does not have.
 */
#ifndef NAY_ELEMENTARY_H
#define NAY_ELEMENTARY_H

#define NAY_LN2 0.693147180559945309417232121458

double nay__ln(double x);               /* x > 0, finite; within 3 ulp; ln(0) is -infinity */
double nay__ln1p(double x);             /* ln(1 + x), x > -1; within 2 ulp below 1e-4, else 1e-12 */
double nay__exp(double x);              /* 0 below -700 and infinity above 700 */
double nay__sqrt(double x);             /* 0, or normal and finite; within 1 ulp */
double nay__ipow(double x, uint64_t n); /* x to a whole power, by squaring */

/* nay__ln_nearest: ln of a finite x > 0, rounded to the nearest double. Slow: for layouts that
 * store it. */
double nay__ln_nearest(double x);

#endif /* NAY_ELEMENTARY_H */

#define ELEMENTARY_INFINITY ((double)(1e300 * 1e10))

static uint64_t elementary_to_bits(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

static double elementary_from_bits(uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}

double nay__ln(double x) {
  if (x <= 0) return -ELEMENTARY_INFINITY;
  int exponent = 0;
  if (x < 2.3e-308) {         /* subnormal: scale up first */
    x *= 18014398509481984.0; /* 2^54 */
    exponent = -54;
  }
  uint64_t bits = elementary_to_bits(x);
  exponent += (int)(bits >> 52) - 1023;
  double m = elementary_from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) { /* keep m near 1: the series wants |s| <= 0.172 */
    m *= 0.5;
    exponent++;
  }
  double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
  for (int i = 23; i >= 3; i -= 2) sum = s2 * (sum + 1.0 / i);
  return 2 * s * (1 + sum) + exponent * NAY_LN2;
}

double nay__ln1p(double x) {
  if (x > -1e-4 && x < 1e-4) { /* five terms: the sixth is below 1e-21 of the first */
    return x * (1 - x * (1.0 / 2 - x * (1.0 / 3 - x * (1.0 / 4 - x / 5))));
  }
  return nay__ln(1 + x);
}

double nay__exp(double x) {
  if (x < -700) return 0;
  if (x > 700) return ELEMENTARY_INFINITY;
  int n = (int)(x / NAY_LN2 + (x < 0 ? -0.5 : 0.5));
  double r = x - n * 0.693147180369123816490; /* ln 2 in two parts: n * high is exact */
  r -= n * 1.90821492927058770002e-10;
  double sum = 1;
  for (int i = 16; i >= 1; i--) sum = 1 + sum * r / i;
  return sum * elementary_from_bits((uint64_t)(n + 1023) << 52);
}

/* Newton's steps from the halved exponent: four leave no error that a double can show. */
double nay__sqrt(double x) {
  if (x <= 0) return 0;
  double r = elementary_from_bits((elementary_to_bits(x) >> 1) + 0x1ff8000000000000u);
  for (int i = 0; i < 5; i++) r = 0.5 * (r + x / r);
  return r;
}

double nay__ipow(double x, uint64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if (n & 1) result *= x;
  }
  return result;
}
#undef ELEMENTARY_INFINITY

/* ==== src/math/fpr.c ======================================================================== */
/*
 * fpr.c - exact rates.
 *
 * Throw t balls into m bins. With q1 = (1-1/m)^t and q2 = (1-2/m)^t the share X/m of occupied bins
 * has mean p = 1 - q1 and variance v = (1-1/m) q2 + q1/m - q1^2. A false positive is a query whose
 * k probes all meet occupied bins, so its rate is E[(X/m)^k]; to second order that is
 *
 *     p^k (1 + k(k-1)/2 * v/p^2)                                                             (1)
 *
 * with an error below 0.1 % for m = 512 and up to 16 bits per key (0.6 % at 40), less for larger m.
 * For tiny arrays (m <= 1024, few balls) the whole distribution of X is walked instead: one ball
 * takes X from x to x with chance x/m and to x+1 otherwise.
 *
 * A blocked filter is a mixture: the keys in one block follow Binomial(n, 1/nblocks), and within
 * the block (1) holds with m = 512. Putze, Sanders, Singler 2007 give the mixture (with Poisson,
 * and without the variance).
 */

/* ==== src/math/fpr.h ======================================================================== */
/*
 * fpr.h - from bits and keys to the rate of false positives, exactly, and back from bits to keys.
 *
 * The textbook rate (1 - e^(-kn/m))^k takes the mean fill and raises it to the k-th power. But a
 * power of a mean is less than the mean of the power: the fill of a small array varies, and fuller
 * ones answer maybe far more often. For a 512-bit block at 16 bits per key the textbook mixture
 * says 0.0826 %, the truth is 0.0844 %. So the functions here use the mean *and the variance* of
 * the number of occupied bits, both known exactly; tests compare them with the full distribution.
 */
#ifndef NAY_FPR_H
#define NAY_FPR_H

/* nay__fpr_bloom: n keys of k probes in m bits. m >= 1. */
double nay__fpr_bloom(uint64_t m, uint32_t k, uint64_t n);

/* nay__fpr_bloom_fast: the same from mean and variance alone, for searches over sizes. */
double nay__fpr_bloom_fast(uint64_t m, uint32_t k, uint64_t n);

/* nay__fpr_blocked: n keys over nblocks blocks of 512 bits, k probes within one block. */
double nay__fpr_blocked(uint64_t nblocks, uint32_t k, uint64_t n);

/* nay__fpr_blocks: the same for blocks of another size, all of whose bits are equally likely. */
double nay__fpr_blocks(uint64_t nblocks, uint32_t block_bits, uint32_t k, uint64_t n);

/* nay__estimate_keys: the n that makes x occupied bits of m most likely, k probes a key. */
double nay__estimate_keys(uint64_t m, uint32_t k, uint64_t x);

#endif /* NAY_FPR_H */

#define FPR_SMALL_BITS 1024
#define FPR_BLOCK_BITS 512
#define FPR_FULL 64 /* probes for each bit at which no bit stays clear: e^-64 is 0 beside 1 */

static double fpr_clamp(double p) { return p < 0 ? 0 : p > 1 ? 1 : p; }

/* Formula (1). q1 and q2 as above. */
static double fpr_moments(double m, uint32_t k, double q1, double q2) {
  double p = 1 - q1;
  if (p <= 0) return 0;
  double v = (1 - 1 / m) * q2 + q1 / m - q1 * q1;
  /*
   * When m is huge the difference above is all rounding. With L = t/m, v is close to
   * (e^-L - (1+L) e^-2L) / m, which is at most (1 - e^-L)^2 / 2m: a few balls hardly ever meet.
   */
  if (v < 0) v = 0;
  if (v > p * p / (2 * m)) v = p * p / (2 * m);
  return fpr_clamp(nay__ipow(p, k) * (1 + 0.5 * k * (k - 1.0) * v / (p * p)));
}

static double fpr_small(unsigned m, uint32_t k, uint64_t balls) {
  double chance[FPR_SMALL_BITS + 1] = {1};
  const double per_bin = 1.0 / m;
  unsigned top = 0; /* most occupied bins that are possible so far */
  for (uint64_t ball = 0; ball < balls; ball++) {
    if (top < m) top++;
    for (unsigned x = top; x > 0; x--) {
      chance[x] = (chance[x] * x + chance[x - 1] * (m - x + 1)) * per_bin;
    }
    chance[0] = 0;
  }
  double rate = 0;
  for (unsigned x = 0; x <= top; x++) rate += chance[x] * nay__ipow((double)x / m, k);
  return fpr_clamp(rate);
}

double nay__fpr_bloom(uint64_t m, uint32_t k, uint64_t n) {
  if (m <= FPR_SMALL_BITS && n <= FPR_SMALL_BITS && n * k <= 4 * FPR_SMALL_BITS) {
    return fpr_small((unsigned)m, k, n * k);
  }
  return nay__fpr_bloom_fast(m, k, n);
}

double nay__fpr_bloom_fast(uint64_t m, uint32_t k, uint64_t n) {
  if (n == 0) return 0;
  if (m <= 2) return 1;
  double balls = (double)n * k;
  double q1 = nay__exp(balls * nay__ln1p(-1.0 / (double)m));
  double q2 = nay__exp(balls * nay__ln1p(-2.0 / (double)m));
  return fpr_moments((double)m, k, q1, q2);
}

/*
 * The binomial weights are walked outward from the mode, where they start as 1, until they vanish;
 * dividing by their sum makes them probabilities. No factorial, no underflow.
 */
double nay__fpr_blocked(uint64_t nblocks, uint32_t k, uint64_t n) {
  return nay__fpr_blocks(nblocks, FPR_BLOCK_BITS, k, n);
}

double nay__fpr_blocks(uint64_t nblocks, uint32_t block_bits, uint32_t k, uint64_t n) {
  if (n == 0) return 0;
  const double m = block_bits;
  const double s1 = nay__ipow(1 - 1 / m, k), s2 = nay__ipow(1 - 2 / m, k);
  /* another key of the block with the same low 32 bits has the same pattern, whatever k is */
  const double twins = (double)n / (double)nblocks / 4294967296.0;
  if (nblocks == 1) return fpr_clamp(fpr_moments(m, k, nay__ipow(s1, n), nay__ipow(s2, n)) + twins);
  const uint64_t mode = n / nblocks;
  /* also bounds the walk below, whose length is a few times the square root of the mode */
  if (mode * k >= (uint64_t)FPR_BLOCK_BITS * FPR_FULL) return 1;
  const double odds = 1.0 / (double)(nblocks - 1), nn = (double)n;
  const double q1_mode = nay__ipow(s1, mode), q2_mode = nay__ipow(s2, mode);
  double weights = 0, rate = 0;

  double w = 1, q1 = q1_mode, q2 = q2_mode;
  for (uint64_t i = mode; w > 1e-18; i++) {
    weights += w;
    rate += w * fpr_moments(m, k, q1, q2);
    if (i == n) break;
    w *= (nn - (double)i) / ((double)i + 1) * odds;
    q1 *= s1;
    q2 *= s2;
  }
  w = 1, q1 = q1_mode, q2 = q2_mode;
  for (uint64_t i = mode; i > 0; i--) {
    w *= (double)i / ((nn - (double)i + 1) * odds);
    if (w < 1e-18) break;
    q1 /= s1;
    q2 /= s2;
    weights += w;
    rate += w * fpr_moments(m, k, q1, q2);
  }
  return fpr_clamp(rate / weights + twins);
}

double nay__estimate_keys(uint64_t m, uint32_t k, uint64_t x) {
  if (x == 0) return 0;
  double occupied = (double)x, bins = (double)m;
  if (x >= m) occupied = bins - 0.5; /* full: the likelihood has no maximum; half a free bit */
  if (m == 1) return 1;
  return nay__ln1p(-occupied / bins) / (k * nay__ln1p(-1 / bins));
}
#undef FPR_BLOCK_BITS
#undef FPR_FULL
#undef FPR_SMALL_BITS

/* ==== src/math/plan.c ======================================================================= */
/*
 * plan.c - sizing.
 *
 * k is chosen by trying: rates are cheap to compute and have one minimum in k, so walk from the
 * textbook value (bits per key times ln 2) to the best, then down while the loss stays within 1 %:
 * a probe less is a probe faster. Sizes for a rate are found by bisection on the exact rate, which
 * falls as the size grows.
 */

/* ==== src/math/plan.h ======================================================================= */
/* plan.h - from what the user wants to a size: the checks and searches that families share. */
#ifndef NAY_PLAN_H
#define NAY_PLAN_H

#define NAY_MAX_K 64u
#define NAY_MAX_NKEYS ((uint64_t)1 << 56)
#define NAY_MAX_NBITS ((uint64_t)1 << 60)
#define NAY_MAX_BITS_PER_KEY 4096.0

/* Which of the four sizes of nay_params is set. */
typedef enum nay_sizing { NAY_BY_FPR, NAY_BY_BITS_PER_KEY, NAY_BY_NBYTES, NAY_BY_NBITS } nay_sizing;

/*
 * nay__params_check: every rule of nay_params that does not depend on the family, with a diag that
 * names the field; tells which size was given. Positive numbers only, no NaN, exactly one size.
 */
nay_status nay__params_check(const nay_params *params, nay_diag *diag, nay_sizing *sizing);

/* nay__params_knobs: the fields that belong to one family only; NAY_EINVAL when another has them.
 */
nay_status nay__params_knobs(const nay_params *params, nay_kind kind, nay_diag *diag);

/* nay__bloom_k: probes for m bits and n keys: the smallest k whose rate is within 1 % of the best.
 */
uint32_t nay__bloom_k(uint64_t m, uint64_t n);

/* nay__bloom_bits: the fewest bits that keep n keys at or below fpr with k probes (k 0: any k). */
uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k);

/* nay__blocked_k: as nay__bloom_k, for blocks of 512 bits. */
uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n);

/*
 * nay__blocked_blocks: the fewest blocks that keep n keys at or below fpr; 0 when no size up to
 * NAY_MAX_BITS_PER_KEY does (a block is too small a place for a very low rate).
 */
uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k);

/*
 * nay__fold_step: a size that is a multiple of this has many small divisors, so that it can be
 * folded, and rounding to it costs at most 0.4 %. When fold is above 1 it divides the step.
 */
uint64_t nay__fold_step(uint64_t size, uint64_t fold);

#endif /* NAY_PLAN_H */

#define PLAN_BLOCK_BITS 512
#define PLAN_K_SLACK 1.01

typedef double (*plan_rate)(uint64_t size, uint32_t k, uint64_t n);

static bool plan_is_set(double x) { return x != 0; /* NaN is set, and refused below */ }

nay_status nay__params_check(const nay_params *p, nay_diag *diag, nay_sizing *sizing) {
  int given =
      plan_is_set(p->fpr) + plan_is_set(p->bits_per_key) + (p->nbytes != 0) + (p->nbits != 0);
  if (given == 0) {
    return nay__fail(diag, NAY_EINVAL, "no size: set fpr, bits_per_key, nbytes or nbits", 0);
  }
  if (given > 1) {
    return nay__fail(diag, NAY_EINVAL,
                     "more than one size: set only one of fpr, bits_per_key, nbytes, nbits", 0);
  }
  if (p->nkeys == 0 && p->nbits == 0) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is 0: say how many keys you will add", 0);
  }
  if (p->nkeys > NAY_MAX_NKEYS) return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^56", 0);
  if (p->k > NAY_MAX_K) return nay__fail(diag, NAY_EINVAL, "k is above 64", 0);
  if (p->nbits > NAY_MAX_NBITS) return nay__fail(diag, NAY_EINVAL, "nbits is above 2^60", 0);
  if (p->nbytes > NAY_MAX_NBITS / 8) return nay__fail(diag, NAY_EINVAL, "nbytes is above 2^57", 0);
  if (p->fold > NAY_MAX_NBITS) return nay__fail(diag, NAY_EINVAL, "fold is above 2^60", 0);
  if ((p->flags & ~(NAY_CONCURRENT | NAY_STORE_KEY | NAY_SMALL_PAGES | NAY_UNIQUE | NAY_NO_VERIFY |
                    NAY_LOW_MEMORY | NAY_ZEROED)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "flags has a bit that is not known", 0);
  }
  if (p->threads > 256) return nay__fail(diag, NAY_EINVAL, "threads is above 256", 0);
  if (plan_is_set(p->fpr) && !(p->fpr > 0 && p->fpr < 1)) {
    return nay__fail(diag, NAY_EINVAL, "fpr is not between 0 and 1", 0);
  }
  if (plan_is_set(p->bits_per_key) &&
      !(p->bits_per_key > 0 && p->bits_per_key <= NAY_MAX_BITS_PER_KEY)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is not between 0 and 4096", 0);
  }
  if (plan_is_set(p->bits_per_key) && p->bits_per_key * (double)p->nkeys > (double)NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key times nkeys is above 2^60", 0);
  }
  *sizing = plan_is_set(p->fpr)            ? NAY_BY_FPR
            : plan_is_set(p->bits_per_key) ? NAY_BY_BITS_PER_KEY
            : p->nbytes != 0               ? NAY_BY_NBYTES
                                           : NAY_BY_NBITS;
  return NAY_OK;
}

nay_status nay__params_knobs(const nay_params *p, nay_kind kind, nay_diag *diag) {
  if (kind != NAY_CUCKOO) {
    if (p->tag_bits != 0) return nay__fail(diag, NAY_EINVAL, "tag_bits is for cuckoo", 0);
    if (p->max_nkeys != 0) return nay__fail(diag, NAY_EINVAL, "max_nkeys is for cuckoo", 0);
  }
  if ((p->flags & NAY_UNIQUE) != 0 && kind != NAY_CUCKOO && kind != NAY_COUNTING) {
    return nay__fail(diag, NAY_EINVAL, "flags: NAY_UNIQUE is for counting and cuckoo", 0);
  }
  if (kind != NAY_WINDOW) {
    if (p->generations != 0) return nay__fail(diag, NAY_EINVAL, "generations is for window", 0);
    if (p->window != 0) return nay__fail(diag, NAY_EINVAL, "window is for window", 0);
  }
  if (p->max_nbytes != 0 && kind != NAY_SCALABLE && kind != NAY_CUCKOO) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is for scalable and cuckoo, which grow", 0);
  }
  return NAY_OK;
}

static uint32_t plan_best_k(plan_rate rate, uint64_t size, uint64_t n, double bits_per_key) {
  double start = bits_per_key * NAY_LN2;
  uint32_t k = start < 1 ? 1 : start > NAY_MAX_K ? NAY_MAX_K : (uint32_t)start;
  double best = rate(size, k, n);
  while (k < NAY_MAX_K) {
    double up = rate(size, k + 1, n);
    if (!(up < best)) break;
    best = up;
    k++;
  }
  while (k > 1) {
    double down = rate(size, k - 1, n);
    if (down > best * PLAN_K_SLACK) break;
    if (down < best) best = down;
    k--;
  }
  return k;
}

uint32_t nay__bloom_k(uint64_t m, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(nay__fpr_bloom_fast, m, n, (double)m / (double)n);
}

uint32_t nay__blocked_k(uint64_t nblocks, uint64_t n) {
  if (n == 0) return 1;
  return plan_best_k(nay__fpr_blocked, nblocks, n, (double)nblocks * PLAN_BLOCK_BITS / (double)n);
}

/* The least size in (low, high] at which the rate is at or below fpr; high is known to be enough.
 */
static uint64_t plan_bisect(plan_rate rate, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t low,
                            uint64_t high, uint64_t n, double fpr, uint32_t k) {
  while (high - low > 1 + low / 65536) { /* 0.0015 %: the last bits of a size buy nothing */
    uint64_t mid = low + (high - low) / 2;
    if (rate(mid, k != 0 ? k : best_k(mid, n), n) <= fpr) {
      high = mid;
    } else {
      low = mid;
    }
  }
  return high;
}

/* Doubles from the textbook size until the rate holds; then bisects. 0 when max_size is not enough.
 */
static uint64_t plan_search(plan_rate rate, uint32_t (*best_k)(uint64_t, uint64_t), uint64_t start,
                            uint64_t max_size, uint64_t n, double fpr, uint32_t k) {
  uint64_t low = 0, high = start < 1 ? 1 : start;
  while (rate(high, k != 0 ? k : best_k(high, n), n) > fpr) {
    if (high >= max_size) return 0;
    low = high;
    high = nay__min_u64(max_size, high + high / 8 + 1);
  }
  return plan_bisect(rate, best_k, low, high, n, fpr, k);
}

/* The textbook size for a rate: -n ln(fpr) / ln(2)^2. */
static double plan_textbook_bits(uint64_t n, double fpr) {
  return -(double)n * nay__ln(fpr) / (NAY_LN2 * NAY_LN2);
}

uint64_t nay__bloom_bits(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr);
  if (start > (double)NAY_MAX_NBITS) return 0;
  uint64_t m =
      plan_search(nay__fpr_bloom_fast, nay__bloom_k, (uint64_t)start, NAY_MAX_NBITS, n, fpr, k);
  while (m != 0 && nay__fpr_bloom(m, k != 0 ? k : nay__bloom_k(m, n), n) > fpr) {
    m = m < NAY_MAX_NBITS ? m + m / 128 + 1 : 0; /* tiny arrays: the fast rate is a little low */
  }
  return m;
}

uint64_t nay__blocked_blocks(uint64_t n, double fpr, uint32_t k) {
  double start = plan_textbook_bits(n, fpr) / PLAN_BLOCK_BITS;
  double most = (double)n * (NAY_MAX_BITS_PER_KEY / PLAN_BLOCK_BITS);
  if (most > (double)(NAY_MAX_NBITS / PLAN_BLOCK_BITS)) {
    most = (double)(NAY_MAX_NBITS / PLAN_BLOCK_BITS);
  }
  if (start > most) return 0;
  return plan_search(nay__fpr_blocked, nay__blocked_k, (uint64_t)start, (uint64_t)most + 1, n, fpr,
                     k);
}

/*
 * Steps of 60 * 2^j have the divisors 1 2 3 4 5 6 8 10 12 15 16 ...; 256 steps make a size, so that
 * rounding up costs 0.4 % at most. Because the step doubles with the size, from 15360 units on a
 * plan for twice the keys is exactly twice as large (1452 of 1454 that were tried: the search may
 * stop on either side of a step), and the two can be merged by folding.
 */
uint64_t nay__fold_step(uint64_t size, uint64_t fold) {
  static const uint64_t small[] = {2, 4, 12, 60};
  uint64_t step = 1;
  for (unsigned i = 0; i < 4; i++) {
    if (small[i] <= size / 256) step = small[i];
  }
  if (step == 60) {
    while (step * 2 <= size / 256) step *= 2;
  }
  if (fold <= 1 || step % fold == 0) return step;
  return fold;
}
#undef PLAN_BLOCK_BITS
#undef PLAN_K_SLACK

/* ==== src/math/choose.c ===================================================================== */
/*
 * choose.c - the reasons, in one place.
 *
 * blocked is the default: one cache miss whatever the rate. Two cases are better off with the
 * classic Bloom: a set so small that it does not fill a few blocks (its whole array is a few cache
 * lines anyway, and 512-bit steps would waste a good part of it), and a rate so low that uneven
 * blocks cost a quarter more bits than the classic array.
 */

/* ==== src/math/choose.h ===================================================================== */
/* choose.h - which family to take when the user does not say. */
#ifndef NAY_CHOOSE_H
#define NAY_CHOOSE_H

/* nay__choose: the kind for params whose kind is NAY_AUTO, among those that take adds. */
nay_kind nay__choose(const nay_params *params);

#endif /* NAY_CHOOSE_H */

#define CHOOSE_SMALL_BITS 4096u /* eight cache lines */
#define CHOOSE_BLOCK_BITS 512u
#define CHOOSE_WASTE 1.25

nay_kind nay__choose(const nay_params *p) {
  nay_sizing by;
  if (nay__params_check(p, NULL, &by) != NAY_OK) return NAY_BLOCKED; /* whose plan says why not */
  switch (by) {
    case NAY_BY_NBITS: return p->nbits % CHOOSE_BLOCK_BITS == 0 ? NAY_BLOCKED : NAY_BLOOM;
    case NAY_BY_NBYTES: return p->nbytes * 8 < CHOOSE_SMALL_BITS ? NAY_BLOOM : NAY_BLOCKED;
    case NAY_BY_BITS_PER_KEY:
      /* from 26 bits per key on, blocked needs a quarter more for the same rate */
      if (p->bits_per_key >= 26) return NAY_BLOOM;
      return p->bits_per_key * (double)p->nkeys < CHOOSE_SMALL_BITS ? NAY_BLOOM : NAY_BLOCKED;
    case NAY_BY_FPR: break;
  }
  double bloom = (double)nay__bloom_bits(p->nkeys, p->fpr, p->k);
  if (bloom < CHOOSE_SMALL_BITS) return NAY_BLOOM;
  double blocked = (double)nay__blocked_blocks(p->nkeys, p->fpr, p->k) * CHOOSE_BLOCK_BITS;
  return blocked == 0 || blocked > bloom * CHOOSE_WASTE ? NAY_BLOOM : NAY_BLOCKED;
}
#undef CHOOSE_BLOCK_BITS
#undef CHOOSE_SMALL_BITS
#undef CHOOSE_WASTE

/* ==== src/math/series.c ===================================================================== */
/*
 * series.c - the share of level i is 0.12 * 0.88^i.
 *
 * Levels double, so the last one holds half of the keys and its share decides what a key costs. A
 * series must converge, but slowly. Halving (the usual choice) gives level 14 a share of 2^-15;
 * 1/i^2 is slow in the end but spends 61 % on the first level, which is soon a small part of the
 * filter. tests/stats/test_mutable_series.c computes what each costs, with the exact rate, for
 * 10^3 to 10^10 keys grown from 10^2, 10^3, 10^5; of the candidates there this one is never more
 * than 6 % above the best for a size (0.15 * 0.85^i: 14 %). The table is in
 * doc/families/scalable.md.
 */

/* ==== src/math/series.h ===================================================================== */
/* series.h - how a filter that grows divides its rate among the levels to come. */
#ifndef NAY_SERIES_H
#define NAY_SERIES_H

/*
 * nay__series_share: the part of the whole rate that level i may spend; over all i the parts sum to
 * 1, so the rate holds however often the filter grows.
 */
double nay__series_share(unsigned i);

/* nay_level: one level of a filter that grows: a blocked Bloom filter planned for nkeys. */
typedef struct nay_level {
  uint64_t nkeys;
  uint64_t nblocks;
  uint64_t nbits_full; /* no fewer than nkeys keys set, but for one case in 10^4 */
  uint32_t k;
} nay_level;

/* nay__series_level: level i for nkeys keys, of a filter with this rate; false: none can do it. */
bool nay__series_level(uint64_t nkeys, double fpr, unsigned i, nay_level *level);

/* nay__series_fpr: the rate of a filter that started with `first` keys and now holds n. */
double nay__series_fpr(uint64_t first, double fpr, uint64_t n);

#endif /* NAY_SERIES_H */

#define SERIES_FIRST 0.12
#define SERIES_RATIO 0.88
#define SERIES_BLOCK_BITS 512.0

double nay__series_share(unsigned i) { return SERIES_FIRST * nay__ipow(SERIES_RATIO, i); }

/* A key misses a given bit of its block with s = (1-1/512)^k; n keys over N blocks: see fpr.c. */
static uint64_t series_full(uint64_t nblocks, uint32_t k, uint64_t nkeys) {
  double s = nay__ipow(1 - 1 / SERIES_BLOCK_BITS, k);
  double clear = nblocks == 1 ? nay__ipow(s, nkeys)
                              : nay__exp((double)nkeys * nay__ln1p((s - 1) / (double)nblocks));
  double full = (double)nblocks * SERIES_BLOCK_BITS * (1 - clear);
  return full < 1 ? 1 : (uint64_t)full;
}

/*
 * The bits of nkeys keys vary by about a quarter of sqrt(nkeys) keys. A level planned for
 * sqrt(nkeys) more is not taken for full before nkeys are in: who knows the number needs no second
 * level.
 */
static uint64_t series_with_room(uint64_t nkeys) {
  return nkeys + (uint64_t)nay__exp(0.5 * nay__ln((double)nkeys)) + 1;
}

bool nay__series_level(uint64_t nkeys, double fpr, unsigned i, nay_level *level) {
  if (nkeys == 0 || nkeys > NAY_MAX_NKEYS) return false;
  uint64_t n = series_with_room(nkeys);
  uint64_t nblocks = nay__blocked_blocks(n, fpr * nay__series_share(i), 0);
  if (nblocks == 0) return false;
  nblocks = nay__round_up(nblocks, nay__fold_step(nblocks, 0));
  uint32_t k = nay__blocked_k(nblocks, n);
  *level = (nay_level){nkeys, nblocks, series_full(nblocks, k, n), k};
  return true;
}

double nay__series_fpr(uint64_t first, double fpr, uint64_t n) {
  double nay = 1; /* chance that an absent key is nay in every level */
  for (unsigned i = 0; n > 0 && i < 64; i++, first *= 2) {
    nay_level level;
    if (!nay__series_level(first, fpr, i, &level)) break;
    uint64_t here = nay__min_u64(n, first);
    nay *= 1 - nay__fpr_blocked(level.nblocks, level.k, here);
    n -= here;
  }
  return 1 - nay;
}
#undef SERIES_BLOCK_BITS
#undef SERIES_FIRST
#undef SERIES_RATIO

/* ==== src/math/sliced.c ===================================================================== */
/* sliced.c - the searches of plan.c for a rate that is made of several. */

/* ==== src/math/sliced.h ===================================================================== */
/* sliced.h - sizes for a window: several small Bloom filters side by side in each unit. */
#ifndef NAY_SLICED_H
#define NAY_SLICED_H

/* nay_slices: `slices` filters of nbits bits each in every unit; a query asks them all. */
typedef struct nay_slices {
  uint32_t slices;
  uint32_t nbits;
} nay_slices;

/* nay__sliced_fpr: the rate when each slice holds n keys over all units. */
double nay__sliced_fpr(nay_slices s, uint64_t nunits, uint32_t k, uint64_t n);

/* nay__sliced_k: the least k whose rate is within 1 % of the best. */
uint32_t nay__sliced_k(nay_slices s, uint64_t nunits, uint64_t n);

/* nay__sliced_units: the fewest units that keep the rate; k 0: any k; 0 units: none can. */
uint64_t nay__sliced_units(nay_slices s, uint64_t n, double fpr, uint32_t k);

#endif /* NAY_SLICED_H */

#define SLICED_K_SLACK 1.01

double nay__sliced_fpr(nay_slices s, uint64_t nunits, uint32_t k, uint64_t n) {
  return 1 - nay__ipow(1 - nay__fpr_blocks(nunits, s.nbits, k, n), s.slices);
}

uint32_t nay__sliced_k(nay_slices s, uint64_t nunits, uint64_t n) {
  double best = 1;
  uint32_t best_k = 1;
  for (uint32_t k = 1; k <= NAY_MAX_K / 2; k++) {
    double rate = nay__sliced_fpr(s, nunits, k, n);
    if (rate > best * 1.5) break; /* past the minimum */
    if (rate < best) best = rate;
  }
  for (uint32_t k = NAY_MAX_K / 2; k >= 1; k--) {
    if (nay__sliced_fpr(s, nunits, k, n) <= best * SLICED_K_SLACK) best_k = k;
  }
  return best_k;
}

static bool sliced_enough(nay_slices s, uint64_t nunits, uint64_t n, double fpr, uint32_t k) {
  return nay__sliced_fpr(s, nunits, k != 0 ? k : nay__sliced_k(s, nunits, n), n) <= fpr;
}

uint64_t nay__sliced_units(nay_slices s, uint64_t n, double fpr, uint32_t k) {
  /* half of the textbook size for the keys of one slice is below what is needed */
  double start = -(double)n * nay__ln(fpr) / (NAY_LN2 * NAY_LN2) / s.nbits / 2;
  double most = (double)n * (NAY_MAX_BITS_PER_KEY / s.nbits) + 1;
  if (most > (double)(NAY_MAX_NBITS / 1024)) most = (double)(NAY_MAX_NBITS / 1024);
  if (start > most) return 0;
  uint64_t low = 0, high = start < 1 ? 1 : (uint64_t)start;
  while (!sliced_enough(s, high, n, fpr, k)) {
    if ((double)high >= most) return 0;
    low = high;
    high += high / 4 + 1;
  }
  while (high - low > 1 + low / 4096) {
    uint64_t mid = low + (high - low) / 2;
    if (sliced_enough(s, mid, n, fpr, k)) {
      high = mid;
    } else {
      low = mid;
    }
  }
  return high;
}
#undef SLICED_K_SLACK

/* ==== src/math/ln_nearest.c ================================================================= */
/*
 * ln_nearest.c - ln to the nearest double, for layouts that store what a good libm returned.
 *
 * RedisBloom writes -ln(rate) / ln(2)^2 as a double into its dumps; a last bit that differs is a
 * dump that differs. So the series of elementary.c is summed here in double-double arithmetic: a
 * number is hi + lo, exact to about 2^-104, and rounded once, at the end. Dekker's products need no
 * fused multiply-add. Slow, and called once for each link of a chain.
 */

typedef struct ln_pair {
  double hi, lo;
} ln_pair;

static ln_pair ln_pair_sum(double a, double b) { /* exact, whatever their sizes */
  double s = a + b, bb = s - a;
  return (ln_pair){s, (a - (s - bb)) + (b - bb)};
}

static ln_pair ln_pair_product(double a, double b) { /* exact: each factor cut into 26-bit halves */
  double ca = 134217729.0 * a, cb = 134217729.0 * b;
  double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  double p = a * b;
  return (ln_pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static ln_pair ln_pair_add(ln_pair a, ln_pair b) {
  ln_pair s = ln_pair_sum(a.hi, b.hi);
  return ln_pair_sum(s.hi, s.lo + (a.lo + b.lo));
}

static ln_pair ln_pair_mul(ln_pair a, ln_pair b) {
  ln_pair p = ln_pair_product(a.hi, b.hi);
  return ln_pair_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static ln_pair ln_pair_div(ln_pair a,
                           ln_pair b) { /* one Newton step after the quotient of the high parts */
  double q = a.hi / b.hi;
  ln_pair p = ln_pair_mul((ln_pair){q, 0}, b);
  ln_pair rest = ln_pair_add(a, (ln_pair){-p.hi, -p.lo});
  return ln_pair_sum(q, rest.hi / b.hi);
}

double nay__ln_nearest(double x) {
  int exponent = 0;
  while (x < 0.70710678118654752) { /* powers of two scale without error */
    x *= 2;
    exponent--;
  }
  while (x > 1.4142135623730951) {
    x *= 0.5;
    exponent++;
  }
  ln_pair s = ln_pair_div(ln_pair_sum(x, -1), ln_pair_sum(x, 1)), s2 = ln_pair_mul(s, s),
          sum = {0, 0};
  for (int i = 45; i >= 1; i -= 2) { /* |s| <= 0.172: what is left out is below 2^-118 of s */
    sum = ln_pair_add(ln_pair_mul(sum, s2), ln_pair_div((ln_pair){1, 0}, (ln_pair){i, 0}));
  }
  ln_pair m = ln_pair_mul(ln_pair_mul(sum, s), (ln_pair){2, 0});
  ln_pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}; /* ln 2 to 2^-108 */
  ln_pair result = ln_pair_add(ln_pair_mul(ln2, (ln_pair){exponent, 0}), m);
  return result.hi + result.lo;
}

/* ==== src/family/registry.c ================================================================= */
/* registry.c - the native families. Adding one is a line here, a file beside it, a page in doc/. */

/* ==== src/family/family.h =================================================================== */
/*
 * family.h - what a filter is, and what a family must know how to do. Read this first.
 *
 * A family stores 64-bit hashes (two words for some foreign layouts) and answers whether it has
 * seen one. It lives in one file, which ends in a const nay_family; registry.c lists the native
 * ones. The contract tests run over that list, so a new family is tested before anyone writes a
 * test for it.
 *
 * The payload in memory is, byte for byte, the payload of the file. Writing is copying, opening is
 * checking, mapping and viewing need neither; and the bytes are the same on every machine.
 */
#ifndef NAY_FAMILY_H
#define NAY_FAMILY_H

/* nay_shape: the geometry that makes two filters of one family alike; stored in file headers. */
typedef struct nay_shape {
  uint64_t nunits; /* bloom: bits; blocked: blocks of 512 bits */
  uint32_t k;      /* probes per key */
  uint32_t extra;  /* for the family; 0 when it has no use for it */
} nay_shape;

/* nay_span: some bytes of a section, as found in a file. */
typedef struct nay_span {
  uint8_t *at;
  size_t len;
} nay_span;

typedef struct nay_family nay_family;
struct nay_format;
struct nay_source; /* the hashes of a build: partition.h */
struct nay_lazy;   /* the unverified chunks of a mapped file: family/lazy.h */

#define NAY_IS_READ_ONLY 0x100u /* the bytes are not ours to change */
#define NAY_IS_DERIVED 0x200u   /* made by intersection */

/* nay_fuse_view: a payload of family/fuse.h, taken apart for its probes. */
typedef struct nay_fuse_view {
  uint64_t nshards, stride, span, segment;
  const uint8_t *factors; /* of the shards */
  uint8_t *arrays;
} nay_fuse_view;

/* The public handle. Fields are set by filter.c and fmt_nay.c; families use bits, shape and k. */
struct nay_filter {
  nay_bits bits; /* payload as the kernels see it; first, as nay.h says */
  nay_fuse_view fuse;
  const nay_family *family;
  const nay_kernels *kernels;
  nay_put put;   /* adds one hash where nothing comes before it and nobody asks whether it is new */
  size_t nbytes; /* length of the payload */
  nay_shape shape;
  nay_hasher hasher;
  uint64_t nkeys; /* planned */
  uint32_t flags; /* NAY_CONCURRENT | NAY_STORE_KEY | NAY_IS_... */
  nay_allocator allocator;
  nay_memory memory;   /* what holds the payload, unless it is mapped or borrowed */
  const uint8_t *meta; /* the user's metadata; in `memory`, or in its own allocation */
  size_t meta_len;
  bool meta_owned;
  struct nay_lazy *lazy; /* NULL: every byte has been verified */
  void *mapping;         /* a mapped file, and how to let go of it */
  size_t mapping_len;
  void (*unmap)(void *mapping, size_t len);
  const struct nay_format *format; /* another system's layout; NULL: native */
  void *state;                     /* for families that need more than bits */
  uint8_t *locks;                  /* NAY_CONCURRENT: NAY_NSTRIPES of base/spin.h; NULL: none */
  uint64_t nrefused;               /* removals of keys that test nay */
};

/* Numbers that a family reads off its bits, for stats, merge and fold. */
typedef struct nay_census {
  uint64_t nbits; /* that keys can set: counters and headers are not among them */
  uint64_t nbits_set;
  double nkeys; /* estimated */
  double fpr;   /* of the bits as they are */
} nay_census;

/*
 * nay_solver: what a static family knows of being built. sharded.c cuts the keys into shards, runs
 * the threads, draws the seeds, finds duplicates and verifies; a solver sees one shard at a time.
 * Its keys are 64-bit words x made from the hashes by the filter's premix (family/static_hash.h),
 * all of one shard: nay__shard_of(x, nshards). They come in any order, and the bytes must not
 * depend on it. Threads call attempt, give_up and test64 at once, each for shards of its own.
 */
typedef struct nay_solver {
  uint64_t (*nshards)(const nay_shape *);
  unsigned shards_per_task_log2; /* 2^this neighbouring shards are one piece of a thread's work */
  /* Whether filters of a and b keys are laid out alike; NULL: that depends on every count. */
  bool (*alike)(const nay_filter *, uint64_t a, uint64_t b);
  /* Writes all that comes before the arrays; shard s has counts[s] keys. */
  void (*begin)(nay_filter *, uint64_t premix, const uint64_t *counts);
  /* Bytes of scratch for a shard of n keys, 64-byte aligned. */
  size_t (*scratch)(const nay_shape *, uint64_t n);
  /* false: the n keys do not work out with this seed, or two of them are equal. Attempts count up
   * from 0; the seed says what was tried, so it is what is stored. */
  bool (*attempt)(nay_filter *, uint64_t shard, unsigned attempt, uint32_t seed, const uint64_t *x,
                  size_t n, uint8_t *scratch);
  /* After the last attempt: an answer that is never a false nay, at whatever rate. */
  void (*give_up)(nay_filter *, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                  uint8_t *scratch);
  /* As nay_family.test64, for words that are premixed already. */
  uint64_t (*test64)(const nay_filter *, const uint64_t *x, unsigned n);
} nay_solver;

/* A NULL slot means NAY_ENOTSUP. Callers have checked arguments, read-only-ness and mismatch. */
struct nay_family {
  nay_kind kind;
  const char *name;
  unsigned traits; /* NAY_CAN_... */

  /*
   * The length of a payload is stated in the payload itself (shards, levels, a pool), not only in
   * the shape: payload() then gives what a new filter needs, and check() must also verify `len`.
   */
  bool self_sized;
  bool ordered; /* the order of adds or their repeats show: builders choose it, and drop repeats */
  bool shared;  /* takes NAY_CONCURRENT */
  bool copy_locked;   /* and a copy must wait for adds: half of one would not pass check() */
  bool skips_repeats; /* builders drop a hash that equals the one before it */

  /* params -> shape; fills diag with the field to blame. Allocates nothing. */
  nay_status (*plan)(const nay_params *, nay_diag *, nay_shape *);
  /* the payload that a shape needs, in bits and bytes; false when it exceeds what can be addressed
   */
  bool (*payload)(const nay_shape *, uint64_t *nbits, uint64_t *nbytes);
  /* the exact rate of a shape that holds nkeys keys */
  double (*fpr)(const nay_shape *, uint64_t nkeys);

  /* more to say in a plan or in stats than the numbers that all families have */
  void (*foresee)(const nay_params *, const nay_shape *, nay_plan *);
  void (*describe)(const nay_filter *, nay_stats *);

  /* writes what an empty filter has in its zeroed payload; NULL: nothing */
  void (*init)(nay_filter *, const nay_params *);
  /* the size and the knobs that plan and init would make this shape from; families with add */
  void (*recall)(const nay_filter *, nay_params *);
  /* forgets every key; NULL: all bytes become zero */
  nay_status (*clear)(nay_filter *);

  /* static families only: how sharded.c builds them */
  const nay_solver *build;
  /* static layouts of other systems: made from all hashes, in the order in which they came */
  nay_status (*compose)(const struct nay_format *, const nay_params *, const struct nay_source *,
                        const nay_allocator *, nay_filter **);

  /* what answers for one hash of this filter by its bits alone: bits.probe; optional, and NULL when
   * there is none for it. Called when the payload is there; may note in bits what the probe needs
   */
  nay_probe (*kernel)(nay_filter *);
  /* the same for adds, which never fail: f->put; the filter may be written to */
  nay_put (*put_kernel)(const nay_filter *);
  nay_status (*add)(nay_filter *, nay_hash, bool *is_new);
  bool (*test)(const nay_filter *, nay_hash);
  /* at most 64 keys; hi is NULL unless the hash has two words */
  nay_status (*add64)(nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n,
                      uint64_t *bitmap);
  /* adds those of n hashes (bloom: those of their bits) that belong to one of nparts parts of the
   * payload, which share no byte: several threads fill a new filter. NULL: one does */
  void (*fill_part)(nay_filter *, const uint64_t *lo, uint64_t n, unsigned part, unsigned nparts);
  /* add64 when nobody asks what was new, where that is faster; may be NULL, and may refuse */
  bool (*put64)(nay_filter *, const uint64_t *lo, unsigned n);
  uint64_t (*test64)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n);
  /* asks for the memory that the next batch will read; optional */
  void (*prefetch64)(const nay_filter *, const uint64_t *lo, const uint64_t *hi, unsigned n);
  /* exactly 64 keys, while the memory of the 64 after them is asked for key by key; optional, for
   * hashes of one word. bitmap may be NULL */
  uint64_t (*test64_ahead)(const nay_filter *, const uint64_t *lo, const uint64_t *next);
  nay_status (*add64_ahead)(nay_filter *, const uint64_t *lo, const uint64_t *next,
                            uint64_t *bitmap);
  /* the same for one key, where test64 does its own asking */
  void (*prepare)(const nay_filter *, nay_hash);
  nay_status (*remove)(nay_filter *, nay_hash);
  nay_status (*count)(const nay_filter *, nay_hash, uint64_t *count);
  nay_status (*advance)(nay_filter *, uint64_t now);

  /* dst and src have the same shape */
  nay_status (*merge)(nay_filter *dst, const nay_filter *src);
  /* instead of merge, where shapes may differ: hashes agree, the rest is up to the family */
  nay_status (*join)(nay_filter *dst, const nay_filter *src, double max_fpr);
  void (*intersect)(nay_filter *dst, const nay_filter *src);
  /* writes src, folded by factor (a divisor of nunits), into the zeroed bytes of dst */
  void (*fold)(const nay_filter *src, uint64_t factor, uint8_t *dst);
  /* instead of fold, where only a part shrinks and the filter takes no new key after it: the number
   * of units that factor must divide, and the deed */
  uint64_t (*foldable)(const nay_filter *);
  nay_status (*finish)(nay_filter *, uint64_t factor);
  /* shrinking without the keys: the shape of f in nbytes or less, and its bytes */
  nay_status (*shrunk)(const nay_filter *f, uint64_t nbytes, nay_shape *);
  void (*shrink)(const nay_filter *src, const nay_shape *, uint8_t *dst);
  /*
   * Reads the bits: of a as it is (b NULL, factor 1), of the union of a and b, or of a folded.
   * Never both.
   */
  void (*census)(const nay_filter *a, const nay_filter *b, uint64_t factor, nay_census *);

  /*
   * Whether a payload from a file can be this shape's: lengths have been checked against
   * payload(); what is left are invariants of the bytes, such as zero padding. The bytes are an
   * enemy's, and in a lazy map only the first and the last chunk have been verified: what is read
   * elsewhere may be damaged, and touch() must name it again. diag's offset counts from `payload`.
   */
  nay_status (*check)(const nay_shape *, const uint8_t *payload, size_t len, nay_diag *);
  /*
   * The addresses that a probe may read, at most NAY_MAX_TOUCH: verified first in a lazy map, so
   * touch() itself reads nothing outside the first and the last chunk. NULL: no lazy map, files of
   * this family are verified when they are mapped.
   */
  unsigned (*touch)(const nay_filter *, nay_hash, const uint8_t **addresses);
};

#define NAY_MAX_TOUCH 64u

/* Payloads up to this size are taken to be in the cache: half of a usual L2. */
#define NAY_CACHE_BYTES ((size_t)512 << 10)

/* nay__family_at: the i-th native family, NULL past the last. */
const nay_family *nay__family_at(size_t i);

/* nay__family_find: by kind; NULL when there is none (NAY_AUTO included). */
const nay_family *nay__family_find(nay_kind kind);

/* nay__family_is_native: whether the family is in the registry and so has native files. */
bool nay__family_is_native(const nay_family *family);

extern const nay_family nay__family_bloom;
extern const nay_family nay__family_blocked;
extern const nay_family nay__family_counting;
extern const nay_family nay__family_scalable;
extern const nay_family nay__family_window;
extern const nay_family nay__family_cuckoo;
extern const nay_family nay__family_xor;
extern const nay_family nay__family_fuse;
extern const nay_family nay__family_ribbon;

#endif /* NAY_FAMILY_H */

static const nay_family *const registry[] = {
    &nay__family_bloom,    &nay__family_blocked, &nay__family_counting,
    &nay__family_scalable, &nay__family_window,  &nay__family_cuckoo,
    &nay__family_xor,      &nay__family_fuse,    &nay__family_ribbon,
};

const nay_family *nay__family_at(size_t i) {
  return i < sizeof registry / sizeof registry[0] ? registry[i] : NULL;
}

const nay_family *nay__family_find(nay_kind kind) {
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if (family->kind == kind) return family;
  }
  return NULL;
}

bool nay__family_is_native(const nay_family *family) {
  return nay__family_find(family->kind) == family;
}

const char *nay_kind_name(nay_kind kind) {
  if (kind == NAY_AUTO) return "auto";
  const nay_family *family = nay__family_find(kind);
  return family != NULL ? family->name : NULL;
}

nay_status nay_kind_parse(const char *name, nay_kind *kind) {
  if (name == NULL || kind == NULL) return NAY_EINVAL;
  if (strcmp(name, "auto") == 0) {
    *kind = NAY_AUTO;
    return NAY_OK;
  }
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if (strcmp(family->name, name) == 0) {
      *kind = family->kind;
      return NAY_OK;
    }
  }
  return NAY_EINVAL;
}

unsigned nay_kind_traits(nay_kind kind) {
  const nay_family *family = nay__family_find(kind);
  return family != NULL ? family->traits : 0;
}

/* ==== src/family/bitarray.c ================================================================= */
/* bitarray.c - whole-array operations, eight bytes at a time where that is allowed. */

/* ==== src/family/bitarray.h ================================================================= */
/*
 * bitarray.h - an array of bits in bytes, least significant bit first: what every Bloom is made of.
 *
 *      bit  7 6 5 4 3 2 1 0   15 14 13 12 11 10 9 8  ...
 *           [   byte 0    ]   [      byte 1       ]
 *
 * Bit b is bit b % 8 of byte b / 8. As the arrays are bytes, they are the same on every machine.
 */
#ifndef NAY_BITARRAY_H
#define NAY_BITARRAY_H

static inline bool nay__bit_get(const uint8_t *bits, uint64_t b) {
  return (bits[b >> 3] >> (b & 7) & 1) != 0;
}

/* nay__bit_set: sets a bit and returns its previous value. */
static inline bool nay__bit_set(uint8_t *bits, uint64_t b) {
  bool before = nay__bit_get(bits, b);
  bits[b >> 3] |= (uint8_t)(1u << (b & 7));
  return before;
}

/* nay__bits_count: how many bits are set in len bytes. */
uint64_t nay__bits_count(const uint8_t *bits, size_t len);

/* nay__bits_count_or: how many bits are set in a | b. */
uint64_t nay__bits_count_or(const uint8_t *a, const uint8_t *b, size_t len);

void nay__bits_or(uint8_t *dst, const uint8_t *src, size_t len);
void nay__bits_and(uint8_t *dst, const uint8_t *src, size_t len);

/* nay__bits_tail_clear: whether the bits from nbits to the end of len bytes are all zero. */
bool nay__bits_tail_clear(const uint8_t *bits, size_t len, uint64_t nbits);

#endif /* NAY_BITARRAY_H */

/* memcpy is how C spells an unaligned load; byte order does not matter to counting, or, and. */
static uint64_t bitarray_load(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static void bitarray_store(uint8_t *p, uint64_t word) { memcpy(p, &word, sizeof word); }

uint64_t nay__bits_count(const uint8_t *bits, size_t len) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= len; i += 8) count += nay__popcount64(bitarray_load(bits + i));
  for (; i < len; i++) count += nay__popcount64(bits[i]);
  return count;
}

uint64_t nay__bits_count_or(const uint8_t *a, const uint8_t *b, size_t len) {
  uint64_t count = 0;
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    count += nay__popcount64(bitarray_load(a + i) | bitarray_load(b + i));
  for (; i < len; i++) count += nay__popcount64((uint64_t)(a[i] | b[i]));
  return count;
}

void nay__bits_or(uint8_t *dst, const uint8_t *src, size_t len) {
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    bitarray_store(dst + i, bitarray_load(dst + i) | bitarray_load(src + i));
  for (; i < len; i++) dst[i] |= src[i];
}

void nay__bits_and(uint8_t *dst, const uint8_t *src, size_t len) {
  size_t i = 0;
  for (; i + 8 <= len; i += 8)
    bitarray_store(dst + i, bitarray_load(dst + i) & bitarray_load(src + i));
  for (; i < len; i++) dst[i] &= src[i];
}

bool nay__bits_tail_clear(const uint8_t *bits, size_t len, uint64_t nbits) {
  size_t whole = (size_t)(nbits >> 3);
  if (whole < len && (nbits & 7) != 0 && bits[whole] >> (nbits & 7) != 0) return false;
  for (size_t i = whole + ((nbits & 7) != 0); i < len; i++) {
    if (bits[i] != 0) return false;
  }
  return true;
}

/* ==== src/family/lazy.c ===================================================================== */
/* lazy.c - see lazy.h. */

/* ==== src/family/lazy.h ===================================================================== */
/*
 * lazy.h - a mapped file whose chunks are verified at first touch.
 *
 * Each 64 KiB chunk of the body has a checksum in the directory and a byte of state here: unknown,
 * good or bad. Several threads may verify one chunk at the same time; they come to the same result,
 * so a release store of one byte is all the synchronisation there is.
 */
#ifndef NAY_LAZY_H
#define NAY_LAZY_H

#define NAY_CHUNK ((size_t)65536)

typedef struct nay_lazy {
  const uint8_t *body;
  size_t body_len;
  const uint8_t *digests; /* u64le for each chunk */
  size_t nchunks;
  /* tells the system that these bytes are read next, in one piece; or NULL */
  void (*soon)(const void *at, size_t len);
  uint8_t bad;     /* 1 once a damaged chunk was met: nay_filter_health */
  uint8_t state[]; /* one for each chunk */
} nay_lazy;

size_t nay__lazy_size(size_t nchunks);

/* nay__lazy_ok: verifies the chunk that holds `at`, once. False when it is damaged. */
bool nay__lazy_ok(nay_lazy *lazy, const uint8_t *at);

/* nay__lazy_range_ok: the same for every chunk that holds a part of at[0, len). */
bool nay__lazy_range_ok(nay_lazy *lazy, const uint8_t *at, size_t len);

/* nay__lazy_all_ok: verifies every chunk. */
bool nay__lazy_all_ok(nay_lazy *lazy);

#endif /* NAY_LAZY_H */

enum { LAZY_UNKNOWN = 0, LAZY_GOOD = 1, LAZY_BAD = 2 };

size_t nay__lazy_size(size_t nchunks) { return sizeof(nay_lazy) + nchunks; }

static bool lazy_chunk_ok(nay_lazy *lazy, size_t chunk) {
  assert(chunk < lazy->nchunks);
  uint8_t state = nay__atomic_acquire8(&lazy->state[chunk]);
  if (NAY_LIKELY(state == LAZY_GOOD)) return true;
  if (state == LAZY_BAD) return false;
  size_t start = chunk * NAY_CHUNK;
  size_t len = lazy->body_len - start < NAY_CHUNK ? lazy->body_len - start : NAY_CHUNK;
  if (lazy->soon != NULL) lazy->soon(lazy->body + start, len);
  bool good = XXH3_64bits(lazy->body + start, len) == nay__load64le(lazy->digests + 8 * chunk);
  nay__atomic_release8(&lazy->state[chunk], good ? LAZY_GOOD : LAZY_BAD);
  if (!good) nay__atomic_release8(&lazy->bad, 1);
  return good;
}

bool nay__lazy_ok(nay_lazy *lazy, const uint8_t *at) {
  return lazy_chunk_ok(lazy, (size_t)(at - lazy->body) / NAY_CHUNK);
}

bool nay__lazy_range_ok(nay_lazy *lazy, const uint8_t *at, size_t len) {
  if (len == 0) return true;
  size_t start = (size_t)(at - lazy->body);
  bool ok = true;
  for (size_t i = start / NAY_CHUNK; i <= (start + len - 1) / NAY_CHUNK; i++) {
    ok &= lazy_chunk_ok(lazy, i);
  }
  return ok;
}

bool nay__lazy_all_ok(nay_lazy *lazy) {
  return nay__lazy_range_ok(lazy, lazy->body, lazy->body_len);
}

/* ==== src/family/bloom.c ==================================================================== */
/*
 * bloom.c - the classic Bloom filter: k bits of one array for each key.
 *
 *   add      sets bits p0 .. p(k-1)                    0 0 1 0 0 1 0 0 0 0 1 0 ... nbits
 *   test     nay unless all of them are set                ^     ^         ^
 *
 * The k positions come from one 64-bit hash: h, h*G, h*G^2, ... (mod 2^64), each reduced to
 * [0, nbits) by a multiplication that keeps the high bits. Double hashing (h1 + i*h2), the usual
 * choice, is cheaper by nothing and worse for small arrays: at 50 keys of 16 bits it costs 5.1
 * times the theoretical rate, this 1.01 times. Keeping the high bits also makes folding exact:
 * position p of nbits is position p/f of nbits/f, so or-ing groups of f neighbouring bits gives,
 * bit for bit, the filter that the same keys would have built at that size.
 *
 * Cost: up to k cache lines for a probe, all at once. blocked.c needs one; take
 * this family for tiny sets, very low rates, and to learn. Payload: the bits, padded with zeros to
 * 8 bytes. Spec: doc/formats/nay.md.
 *
 * Bloom: Space/time trade-offs in hash coding with allowable errors. CACM 13(7), 1970.
 */

static nay_status bloom_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint64_t nbits = 0;
  switch (by) {
    case NAY_BY_FPR: nbits = nay__bloom_bits(p->nkeys, p->fpr, p->k); break;
    case NAY_BY_BITS_PER_KEY: nbits = (uint64_t)((double)p->nkeys * p->bits_per_key + 0.5); break;
    case NAY_BY_NBYTES:
      nbits = p->nbytes / 8 * 64; /* the payload is whole words: what is left over cannot be used */
      if (nbits == 0) return nay__fail(diag, NAY_EINVAL, "nbytes is below one word of 8 bytes", 0);
      break;
    case NAY_BY_NBITS: nbits = p->nbits; break;
  }
  if (nbits == 0 && by == NAY_BY_FPR) {
    return nay__fail(diag, NAY_EINVAL, "fpr and nkeys need more than 2^60 bits", 0);
  }
  if (by == NAY_BY_FPR) {
    uint64_t words = nay__ceil_div(nbits, 64); /* whole words: that memory is taken anyway */
    nbits = 64 * nay__round_up(words, nay__fold_step(words, 0));
  }
  if (p->fold > 1) {
    if (by == NAY_BY_FPR || by == NAY_BY_BITS_PER_KEY) nbits = nay__round_up(nbits, p->fold);
    if (by == NAY_BY_NBYTES) nbits -= nbits % p->fold;
    if (nbits == 0) return nay__fail(diag, NAY_EINVAL, "fold is above the number of bits", 0);
    if (nbits % p->fold != 0) return nay__fail(diag, NAY_EINVAL, "fold does not divide nbits", 0);
  }
  if (nbits == 0) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key times nkeys is below one bit", 0);
  }
  if (nbits > NAY_MAX_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "fpr, bits_per_key or fold needs more than 2^60 bits", 0);
  }
  *shape = (nay_shape){nbits, p->k != 0 ? p->k : nay__bloom_k(nbits, p->nkeys), 0};
  return NAY_OK;
}

static bool bloom_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K || shape->extra != 0) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 64) * 8;
  return true;
}

static double bloom_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_bloom(shape->nunits, shape->k, nkeys);
}

static nay_probe bloom_kernel(nay_filter *f) {
  const nay_kernels *kernels = f->kernels;
  return kernels->bloom_test_for != NULL ? kernels->bloom_test_for(&f->bits) : kernels->bloom_test;
}

static nay_put bloom_put_kernel(const nay_filter *f) {
  return f->kernels->bloom_put_for != NULL ? f->kernels->bloom_put_for(&f->bits) : NULL;
}

/*
 * With many threads: the bits of a key lie anywhere, so what is locked is the key itself. Two
 * adders of one key come one after the other, and only the first can find a bit clear; adders of
 * other keys may write the same byte at the same time, which the atomic or of the shared kernel
 * allows.
 */
static nay_status bloom_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *lock = f->locks != NULL ? nay__spin_lock(f->locks, h.lo) : NULL;
  *is_new = f->kernels->bloom_add(&f->bits, h.lo);
  if (lock != NULL) nay__spin_unlock(lock);
  return NAY_OK;
}

static bool bloom_test(const nay_filter *f, nay_hash h) {
  return f->kernels->bloom_test(&f->bits, h.lo);
}

static nay_status bloom_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                              uint64_t *bitmap) {
  (void)hi;
  if (f->locks == NULL) {
    *bitmap = f->kernels->bloom_add64(&f->bits, lo, n);
    return NAY_OK;
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(bloom_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

static bool bloom_put64(nay_filter *f, const uint64_t *lo, unsigned n) {
  if (f->locks != NULL || f->kernels->bloom_put64 == NULL) return false;
  f->kernels->bloom_put64(&f->bits, lo, n);
  return true;
}

/* Sets bits whose lines were asked for when they were noted. */
static void bloom_set_all(uint8_t *bytes, const uint64_t *bits, unsigned n) {
  for (unsigned i = 0; i < n; i++) bytes[bits[i] >> 3] |= (uint8_t)(1u << (bits[i] & 7));
}

/* A part is a run of whole cache lines: of each key the bits that lie there. */
static void bloom_fill_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                            unsigned nparts) {
  const uint64_t line = NAY_CACHE_LINE * 8;
  uint64_t nlines = nay__ceil_div(f->shape.nunits, line);
  uint64_t first = nay__part(nlines, part, nparts) * line;
  uint64_t count = nay__part(nlines, part + 1, nparts) * line - first;
  uint64_t bits[128 + NAY_MAX_K];
  unsigned used = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t h = lo[i];
    for (uint32_t probe = 0; probe < f->shape.k; probe++, h *= NAY_G64) {
      uint64_t bit = nay__reduce(h, f->shape.nunits);
      bool mine = bit - first < count;
      bits[used] = bit;
      used += mine; /* no branch to foretell; for the bits of others the first line of ours is asked
                       for */
      NAY_PREFETCH(f->bits.bytes + ((mine ? bit : first) >> 3));
    }
    if (used < 128) continue;
    bloom_set_all(f->bits.bytes, bits, used);
    used = 0;
  }
  bloom_set_all(f->bits.bytes, bits, used);
}

static uint64_t bloom_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                             unsigned n) {
  (void)hi;
  return f->kernels->bloom_test64(&f->bits, lo, n);
}

/* A probe looks at eight bits at once; few absent keys get further. */
static void bloom_prepare(const nay_filter *f, nay_hash h) {
  for (uint32_t i = 0; i < f->shape.k && i < 8; i++, h.lo *= NAY_G64) {
    NAY_PREFETCH(f->bits.bytes + (nay__reduce(h.lo, f->shape.nunits) >> 3));
  }
}

static nay_status bloom_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void bloom_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void bloom_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  uint64_t nbits = src->shape.nunits / factor, from = 0;
  for (uint64_t to = 0; to < nbits; to++) {
    for (uint64_t i = 0; i < factor; i++, from++) {
      if (nay__bit_get(src->bits.bytes, from)) nay__bit_set(dst, to);
    }
  }
}

/* How many bits would be set after a fold: groups of `factor` neighbours that are not all zero. */
static uint64_t bloom_count_folded(const nay_filter *f, uint64_t factor) {
  uint64_t count = 0, from = 0, nbits = f->shape.nunits / factor;
  for (uint64_t to = 0; to < nbits; to++, from += factor) {
    for (uint64_t i = 0; i < factor; i++) {
      if (nay__bit_get(f->bits.bytes, from + i)) {
        count++;
        break;
      }
    }
  }
  return count;
}

static void bloom_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census) {
  uint64_t nbits = a->shape.nunits / factor;
  uint64_t set = b != NULL     ? nay__bits_count_or(a->bits.bytes, b->bits.bytes, a->nbytes)
                 : factor != 1 ? bloom_count_folded(a, factor)
                               : nay__bits_count(a->bits.bytes, a->nbytes);
  double fill = (double)set / (double)nbits, fpr = 1;
  for (uint32_t i = 0; i < a->shape.k; i++) fpr *= fill;
  *census = (nay_census){nbits, set, nay__estimate_keys(nbits, a->shape.k, set), fpr};
}

static nay_status bloom_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                              nay_diag *diag) {
  if (nay__bits_tail_clear(payload, len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past the end of the array", len - 1);
}

static unsigned bloom_touch(const nay_filter *f, nay_hash hash, const uint8_t **addresses) {
  uint64_t h = hash.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, h *= NAY_G64) {
    addresses[i] = f->bits.bytes + (nay__reduce(h, f->shape.nunits) >> 3);
  }
  return f->shape.k;
}

static void bloom_recall(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits;
}

const nay_family nay__family_bloom = {
    .kind = NAY_BLOOM,
    .name = "bloom",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .shared = true,
    .plan = bloom_plan,
    .payload = bloom_payload,
    .fpr = bloom_fpr,
    .recall = bloom_recall,
    .kernel = bloom_kernel,
    .put_kernel = bloom_put_kernel,
    .add = bloom_add,
    .test = bloom_test,
    .add64 = bloom_add64,
    .put64 = bloom_put64,
    .fill_part = bloom_fill_part,
    .test64 = bloom_test64,
    .prepare = bloom_prepare,
    .merge = bloom_merge,
    .intersect = bloom_intersect,
    .fold = bloom_fold,
    .census = bloom_census,
    .check = bloom_check,
    .touch = bloom_touch,
};

/* ==== src/family/blocked.c ================================================================== */
/*
 * blocked.c - the blocked Bloom filter: all k bits of a key lie in one cache line.
 *
 *          block 0          block 1          block 2                 64 bytes = 512 bits each
 *     |................|..1....1.1....1.|................| ...
 *                         \____ one key: k bits of one block
 *
 * The high bits of the hash choose the block, floor(h * nblocks / 2^64); the low 32 bits make the
 * pattern: x, x*g, x*g^2, ... (mod 2^32), the top 9 bits of each naming one of the 512. A probe
 * costs one cache miss whatever k is, and the pattern is made by one vector multiplication.
 *
 * The price: blocks do not fill evenly. At 1 % that is 3 % more bits than a classic Bloom, at 0.1 %
 * 8 %, at 10^-6 34 %. The exact rate (math/fpr.c) mixes over the number of keys in a block.
 *
 * Fold by f: block i of nblocks is block i/f of nblocks/f, so or-ing f neighbours gives exactly the
 * filter built at that size. Sizes are chosen with many divisors (math/plan.c).
 *
 * Payload: the blocks. Putze, Sanders, Singler: Cache-, hash- and space-efficient Bloom filters,
 * WEA 2007; the in-line pattern is that of RocksDB's FastLocalBloom.
 */

/* ==== src/family/blocked.h ================================================================== */
/*
 * blocked.h - what the families built of blocks (counting, scalable) share with blocked.c.
 */
#ifndef NAY_BLOCKED_H
#define NAY_BLOCKED_H

/* nay_pattern: the k bits of a key as the eight words of its block; a repeated bit counts once. */
typedef struct nay_pattern {
  uint64_t word[NAY_BLOCK_BITS / 64];
} nay_pattern;

static inline nay_pattern nay__block_pattern(uint64_t hash, uint32_t k) {
  nay_pattern p = {{0}};
  uint32_t h = (uint32_t)hash;
  for (uint32_t i = 0; i < k; i++, h *= 0x9e3779b9u) { /* as in cpu/kernels.h */
    uint32_t bit = h >> 23;
    p.word[bit >> 6] |= (uint64_t)1 << (bit & 63);
  }
  return p;
}

/* nay__blocked_plan: params -> nblocks and k of a bit plane. */
nay_status nay__blocked_plan(const nay_params *params, nay_diag *diag, nay_shape *shape);

/* nay__blocked_measure: keys and rate of a plane, of the union with another, or of a fold. */
void nay__blocked_measure(const nay_bits *a, const nay_bits *b, uint64_t factor,
                          nay_census *census);

/* The slot census, for payloads that begin with a bit plane of shape.nunits blocks. */
void nay__blocked_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census);

/* Slots that a family with a blocked bit plane at the start of its payload shares. */
void nay__blocked_recall(const nay_filter *f, nay_params *params);
nay_probe nay__blocked_kernel(nay_filter *f);
uint64_t nay__blocked_test64_ahead(const nay_filter *f, const uint64_t *lo, const uint64_t *next);
void nay__blocked_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n);

/* nay__blocked_fill: adds those of n hashes whose block is one of `count` from `first` on. */
void nay__blocked_fill(nay_filter *f, const uint64_t *lo, uint64_t n, uint64_t first,
                       uint64_t count);

#endif /* NAY_BLOCKED_H */

nay_status nay__blocked_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint64_t nblocks = 0;
  switch (by) {
    case NAY_BY_FPR:
      nblocks = nay__blocked_blocks(p->nkeys, p->fpr, p->k);
      if (nblocks == 0) {
        return nay__fail(diag, NAY_EINVAL, "fpr is too low for blocks of 512 bits: take bloom", 0);
      }
      nblocks = nay__round_up(nblocks, nay__fold_step(nblocks, p->fold));
      break;
    case NAY_BY_BITS_PER_KEY: {
      uint64_t nbits = (uint64_t)((double)p->nkeys * p->bits_per_key + 0.5);
      nblocks = nay__max_u64(1, nay__ceil_div(nbits, NAY_BLOCK_BITS));
      nblocks = nay__round_up(nblocks, nay__fold_step(nblocks, p->fold));
      break;
    }
    case NAY_BY_NBYTES:
      nblocks = p->nbytes / NAY_BLOCK_BYTES;
      if (nblocks == 0) {
        return nay__fail(diag, NAY_EINVAL, "nbytes is below one block of 64 bytes: take bloom", 0);
      }
      nblocks -= nblocks % nay__fold_step(nblocks, p->fold);
      break;
    case NAY_BY_NBITS:
      if (p->nbits % NAY_BLOCK_BITS != 0) {
        return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 512, the block", 0);
      }
      nblocks = p->nbits / NAY_BLOCK_BITS;
      break;
  }
  if (p->fold > 1 && (nblocks == 0 || nblocks % p->fold != 0)) {
    return nay__fail(diag, NAY_EINVAL, "fold does not divide the number of blocks", 0);
  }
  if (nblocks > NAY_MAX_NBITS / NAY_BLOCK_BITS) {
    return nay__fail(diag, NAY_EINVAL, "fpr, bits_per_key or fold needs more than 2^60 bits", 0);
  }
  *shape = (nay_shape){nblocks, p->k != 0 ? p->k : nay__blocked_k(nblocks, p->nkeys), 0};
  return NAY_OK;
}

static bool blocked_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / NAY_BLOCK_BITS) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K || shape->extra != 0) return false;
  *nbits = shape->nunits * NAY_BLOCK_BITS;
  *nbytes = shape->nunits * NAY_BLOCK_BYTES;
  return true;
}

static double blocked_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
}

nay_probe nay__blocked_kernel(nay_filter *f) { return f->kernels->blocked_test; }

static nay_put blocked_put_kernel(const nay_filter *f) {
  return f->kernels->blocked_put != NULL ? f->kernels->blocked_put(f->shape.k) : NULL;
}

/*
 * With many threads: adders lock the stripe of the block, so that finding a bit clear and setting
 * all of them is one step, and one of several adders of a key is told that it is new. Readers lock
 * nothing.
 */
static nay_status blocked_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *lock =
      f->locks != NULL ? nay__spin_lock(f->locks, nay__reduce(h.lo, f->shape.nunits)) : NULL;
  *is_new = f->kernels->blocked_add(&f->bits, h.lo);
  if (lock != NULL) nay__spin_unlock(lock);
  return NAY_OK;
}

static bool blocked_test(const nay_filter *f, nay_hash h) {
  return f->kernels->blocked_test(&f->bits, h.lo);
}

static nay_status blocked_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                uint64_t *bitmap) {
  (void)hi;
  if (f->locks == NULL) {
    *bitmap = f->kernels->blocked_add64(&f->bits, lo, n);
    return NAY_OK;
  }
  for (unsigned i = 0; i < n; i++) {
    NAY_PREFETCH(f->bits.bytes + nay__reduce(lo[i], f->shape.nunits) * NAY_BLOCK_BYTES);
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(blocked_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

static bool blocked_put64(nay_filter *f, const uint64_t *lo, unsigned n) {
  if (f->locks != NULL || f->kernels->blocked_put64 == NULL) return false;
  f->kernels->blocked_put64(&f->bits, lo, n);
  return true;
}

/* The least hash of unit `unit` of n: the units of a part are a range of hashes. */
static uint64_t blocked_least_hash(uint64_t unit, uint64_t n) {
  uint64_t hash = 0;
  for (uint64_t bit = (uint64_t)1 << 63; bit != 0; bit >>= 1) {
    if (nay__reduce(hash | (bit - 1), n) < unit) hash |= bit;
  }
  return hash;
}

/* None of the families that are filled like this can fail. */
static void blocked_fill_all(nay_filter *f, const uint64_t *lo, unsigned n) {
  for (unsigned i = 0; i < n; i += 64) {
    unsigned group = n - i < 64 ? n - i : 64;
    uint64_t ignored;
    if (f->family->put64 != NULL && f->family->put64(f, lo + i, group)) continue;
    (void)f->family->add64(f, lo + i, NULL, group, &ignored);
  }
}

/* Adds 64 keys, while the memory of the 64 that are next comes. */
static void blocked_fill_group(nay_filter *f, const uint64_t *lo, const uint64_t *next) {
  if (f->family->add64_ahead != NULL) {
    (void)f->family->add64_ahead(f, lo, next, NULL);
    return;
  }
  f->family->prefetch64(f, next, NULL, 64);
  blocked_fill_all(f, lo, 64);
}

static unsigned blocked_keep(const nay_filter *f, const uint64_t *lo, unsigned n, uint64_t least,
                             uint64_t span, uint64_t *kept) {
  if (n == 64 && f->kernels->keep64 != NULL) return f->kernels->keep64(lo, least, span, kept);
  unsigned used = 0;
  for (unsigned i = 0; i < n; i++) {
    kept[used] = lo[i];
    used += lo[i] - least <= span; /* no branch: nobody could foretell it */
  }
  return used;
}

/* Goes through the hashes, keeps those of the part, and adds 64 when the 64 after them are known.
 */
void nay__blocked_fill(nay_filter *f, const uint64_t *lo, uint64_t n, uint64_t first,
                       uint64_t count) {
  if (count == 0) return;
  uint64_t nunits = f->shape.nunits, least = blocked_least_hash(first, nunits);
  bool last = first + count == nunits;
  uint64_t span = (last ? 0 : blocked_least_hash(first + count, nunits)) - 1 - least;
  uint64_t kept[3 * 64];
  unsigned used = 0;
  for (uint64_t from = 0; from < n; from += 64) {
    unsigned chunk = n - from < 64 ? (unsigned)(n - from) : 64;
    used += blocked_keep(f, lo + from, chunk, least, span, kept + used);
    if (used < 128) continue;
    blocked_fill_group(f, kept, kept + 64);
    used -= 64;
    memmove(kept, kept + 64, used * sizeof kept[0]);
  }
  blocked_fill_all(f, kept, used);
}

static void blocked_fill_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                              unsigned nparts) {
  uint64_t first = nay__part(f->shape.nunits, part, nparts);
  nay__blocked_fill(f, lo, n, first, nay__part(f->shape.nunits, part + 1, nparts) - first);
}

static uint64_t blocked_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                               unsigned n) {
  (void)hi;
  return f->kernels->blocked_test64(&f->bits, lo, n);
}

void nay__blocked_prefetch(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                           unsigned n) {
  (void)hi;
  f->kernels->blocked_prefetch64(&f->bits, lo, n);
}

uint64_t nay__blocked_test64_ahead(const nay_filter *f, const uint64_t *lo, const uint64_t *next) {
  return f->kernels->blocked_test64_ahead(&f->bits, lo, next);
}

static nay_status blocked_add64_ahead(nay_filter *f, const uint64_t *lo, const uint64_t *next,
                                      uint64_t *bitmap) {
  uint64_t word;
  if (f->locks != NULL) {
    nay__blocked_prefetch(f, next, NULL, 64);
    return blocked_add64(f, lo, NULL, 64, bitmap != NULL ? bitmap : &word);
  }
  word = f->kernels->blocked_add64_ahead(&f->bits, lo, next, bitmap != NULL);
  if (bitmap != NULL) *bitmap = word;
  return NAY_OK;
}

static nay_status blocked_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void blocked_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void blocked_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  const uint8_t *from = src->bits.bytes;
  for (uint64_t to = 0; to < src->shape.nunits / factor; to++, dst += NAY_BLOCK_BYTES) {
    for (uint64_t i = 0; i < factor; i++, from += NAY_BLOCK_BYTES) {
      nay__bits_or(dst, from, NAY_BLOCK_BYTES);
    }
  }
}

/* histogram[x]: how many blocks have x bits set, after the union with b or the fold by factor. */
static void blocked_histogram(const nay_bits *a, const nay_bits *b, uint64_t factor,
                              uint64_t histogram[NAY_BLOCK_BITS + 1]) {
  const uint8_t *p = a->bytes, *q = b != NULL ? b->bytes : NULL;
  for (uint64_t block = 0; block < a->nunits / factor; block++) {
    uint8_t sum[NAY_BLOCK_BYTES] = {0};
    for (uint64_t i = 0; i < factor; i++, p += NAY_BLOCK_BYTES) nay__bits_or(sum, p, sizeof sum);
    if (q != NULL) nay__bits_or(sum, q + block * NAY_BLOCK_BYTES, sizeof sum);
    histogram[nay__bits_count(sum, sizeof sum)]++;
  }
}

/* Maximum likelihood and rate block by block: a mean over all bits would miss the uneven filling.
 */
void nay__blocked_measure(const nay_bits *a, const nay_bits *b, uint64_t factor,
                          nay_census *census) {
  uint64_t histogram[NAY_BLOCK_BITS + 1] = {0};
  blocked_histogram(a, b, factor, histogram);
  uint64_t nblocks = a->nunits / factor;
  nay_census c = {nblocks * NAY_BLOCK_BITS, 0, 0, 0};
  for (unsigned x = 0; x <= NAY_BLOCK_BITS; x++) {
    double blocks = (double)histogram[x];
    c.nbits_set += x * histogram[x];
    c.nkeys += blocks * nay__estimate_keys(NAY_BLOCK_BITS, a->k, x);
    c.fpr += blocks / (double)nblocks * nay__ipow((double)x / NAY_BLOCK_BITS, a->k);
  }
  *census = c;
}

void nay__blocked_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                         nay_census *census) {
  nay__blocked_measure(&a->bits, b != NULL ? &b->bits : NULL, factor, census);
}

static unsigned blocked_touch(const nay_filter *f, nay_hash hash, const uint8_t **addresses) {
  addresses[0] = f->bits.bytes + nay__reduce(hash.lo, f->shape.nunits) * NAY_BLOCK_BYTES;
  return 1; /* blocks and checksummed chunks are both aligned: a block never lies in two chunks */
}

void nay__blocked_recall(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits * NAY_BLOCK_BITS;
}

const nay_family nay__family_blocked = {
    .kind = NAY_BLOCKED,
    .name = "blocked",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT | NAY_CAN_FOLD,
    .shared = true,
    .plan = nay__blocked_plan,
    .payload = blocked_payload,
    .fpr = blocked_fpr,
    .recall = nay__blocked_recall,
    .kernel = nay__blocked_kernel,
    .put_kernel = blocked_put_kernel,
    .add = blocked_add,
    .test = blocked_test,
    .add64 = blocked_add64,
    .put64 = blocked_put64,
    .fill_part = blocked_fill_part,
    .test64 = blocked_test64,
    .prefetch64 = nay__blocked_prefetch,
    .test64_ahead = nay__blocked_test64_ahead,
    .add64_ahead = blocked_add64_ahead,
    .merge = blocked_merge,
    .intersect = blocked_intersect,
    .fold = blocked_fold,
    .census = nay__blocked_census,
    .touch = blocked_touch,
};

/* ==== src/family/counting.c ================================================================= */
/*
 * counting.c - a blocked Bloom filter from which keys can be removed.
 *
 * Queries read a plain bit plane, exactly that of blocked.c, with the same kernels at the same
 * speed. Beside it lie counters: how many keys hold each bit. A bit is cleared with the last of
 * them. Four-bit counters for every bit would cost four planes; these cost little more than one:
 *
 *   payload   | bit plane: nblocks x 64 bytes | page 0 | page 1 | ...
 *   page      | a word for each group | flags | pool | ranks |        512 blocks, the last one less
 *
 * A group is 64 bits of the plane. Its word holds the counters of the bits that are set, in order,
 * in unary: c - 1 zeros, then a one.
 *
 *   plane word   ...0 1 0 0 1 1 0      three bits set, counters 1, 3, 1 from the right
 *   group word   ...0 0 0 1 1 0 0 1    read from the right: "1", "001", "1"
 *
 * So the r-th set bit owns what follows the r-th one, adding or removing a key inserts or deletes
 * one bit there, and the word is full when the counters sum to 64. The mean sum in a filter as full
 * as planned is about 40. The few groups above (0.2 % at 1 %) have their flag set, their word zero,
 * and 64 four-bit counters in the page's pool, where records are sorted by group: a rank before
 * each row of 64 flags and the flags of the row itself tell which. As nothing depends on history,
 * the bytes are the same whatever the order of adds and removes, and keys that have gone leave no
 * trace.
 *
 * A counter that has reached 15 sticks: it is never changed again. Nor is a group that finds the
 * pool full: it is stuck as a whole (word zero, flag clear, plane not zero). What sticks can only
 * turn a nay into a maybe.
 *
 * Threads: whoever adds or removes locks the page; the plane is written byte by byte with atomic
 * stores, so readers need no lock. Bytes: doc/families/counting.md. Fan, Cao, Almeida, Broder,
 * Summary Cache, 2000 (counting); unary words beside a plane: the succinct filter of
 * fastfilter_cpp.
 */

#define COUNTING_PAGE 512u /* blocks; larger pages save a percent of pool and move more memory */
#define COUNTING_GROUPS 8u /* of a block */
#define COUNTING_RECORD 32u
#define COUNTING_STUCK 15u
#define COUNTING_UNIQUE 1u /* shape.extra */

/* ---- where things are ---- */

typedef struct counting_table {
  uint8_t *plane;
  uint8_t *pages;
  uint64_t nblocks;
  uint32_t nrecords; /* in each pool */
  bool shared;
} counting_table;

typedef struct counting_page {
  uint8_t *words, *flags, *ranks, *pool;
  unsigned nblocks, nrows;
  uint32_t nrecords;
} counting_page;

/*
 * Records of a page: one for each 48 groups, and 8. Of the 4096 groups of a page in a filter as
 * full as planned, 3 to 8 are above 64 (rates from 10 % to 0.01 %); with 10 % more keys 17 to 31,
 * eight standard deviations below the 93 records; with 20 % more the pools begin to overflow.
 */
static uint32_t counting_nrecords(const nay_shape *shape) {
  uint64_t nblocks = nay__min_u64(shape->nunits, COUNTING_PAGE);
  return (uint32_t)nay__min_u64(nblocks / 6 + 8, nblocks * COUNTING_GROUPS);
}

static counting_table counting_open(uint8_t *payload, const nay_shape *shape, bool shared) {
  return (counting_table){payload, payload + shape->nunits * NAY_BLOCK_BYTES, shape->nunits,
                          counting_nrecords(shape), shared};
}

static counting_table counting_of(const nay_filter *f) {
  return counting_open(f->bits.bytes, &f->shape, f->locks != NULL);
}

static unsigned counting_rows(unsigned nblocks) { return (nblocks + 7) / 8; }

/* Words, flags (8 bytes a row), pool, ranks (2 bytes a row and the total); to a cache line. */
static uint64_t counting_page_size(unsigned nblocks, uint32_t nrecords) {
  unsigned nrows = counting_rows(nblocks);
  return (uint64_t)nblocks * NAY_BLOCK_BYTES +
         nay__round_up((uint64_t)nrows * 8 + (nrows + 1) * 2 + (uint64_t)nrecords * COUNTING_RECORD,
                       NAY_CACHE_LINE);
}

NAY_INLINE counting_page counting_page_at(const counting_table *t, uint64_t page) {
  uint64_t left = t->nblocks - page * COUNTING_PAGE;
  counting_page p = {.nblocks = left < COUNTING_PAGE ? (unsigned)left : COUNTING_PAGE,
                     .nrecords = t->nrecords};
  p.nrows = counting_rows(p.nblocks);
  p.words = t->pages + page * counting_page_size(COUNTING_PAGE, t->nrecords);
  p.flags = p.words + (size_t)p.nblocks * NAY_BLOCK_BYTES;
  p.pool = p.flags + (size_t)p.nrows * 8;
  p.ranks = p.pool + (size_t)p.nrecords * COUNTING_RECORD;
  return p;
}

static uint64_t counting_npages(uint64_t nblocks) { return nay__ceil_div(nblocks, COUNTING_PAGE); }

/* ---- one group ---- */

/* A group at its place: `at` points to its plane word; row and bit to its flag. */
typedef struct counting_group {
  uint8_t *plane, *word;
  unsigned row, bit;
} counting_group;

NAY_INLINE counting_group counting_group_at(const counting_table *t, const counting_page *p,
                                            uint64_t block, unsigned group) {
  unsigned in_page = (unsigned)(block % COUNTING_PAGE);
  return (counting_group){t->plane + block * NAY_BLOCK_BYTES + group * 8,
                          p->words + (size_t)in_page * NAY_BLOCK_BYTES + group * 8, in_page / 8,
                          in_page % 8 * COUNTING_GROUPS + group};
}

NAY_INLINE bool counting_flagged(const counting_page *p, const counting_group *g) {
  return (nay__load64le(p->flags + g->row * 8) >> g->bit & 1) != 0;
}

static unsigned counting_rank(const counting_page *p, unsigned row) {
  return nay__load16le(p->ranks + row * 2);
}

static uint8_t *counting_record(const counting_page *p, const counting_group *g) {
  uint64_t below = nay__load64le(p->flags + g->row * 8) & (((uint64_t)1 << g->bit) - 1);
  return p->pool + (size_t)(counting_rank(p, g->row) + nay__popcount64(below)) * COUNTING_RECORD;
}

/* Sets or clears a flag and keeps the ranks of the rows after it. */
static void counting_flip_flag(const counting_page *p, const counting_group *g, int change) {
  uint8_t *flags = p->flags + g->row * 8;
  nay__store64le(flags, nay__load64le(flags) ^ (uint64_t)1 << g->bit);
  for (unsigned row = g->row + 1; row <= p->nrows; row++) {
    nay__store16le(p->ranks + row * 2, (uint16_t)((int)counting_rank(p, row) + change));
  }
}

/* A zeroed record for the group at its sorted place; NULL when the pool is full. */
static uint8_t *counting_record_insert(const counting_page *p, const counting_group *g) {
  unsigned used = counting_rank(p, p->nrows);
  if (used == p->nrecords) return NULL;
  uint8_t *record = counting_record(p, g), *end = p->pool + (size_t)used * COUNTING_RECORD;
  memmove(record + COUNTING_RECORD, record, (size_t)(end - record));
  memset(record, 0, COUNTING_RECORD);
  counting_flip_flag(p, g, 1);
  return record;
}

static void counting_record_delete(const counting_page *p, const counting_group *g) {
  unsigned used = counting_rank(p, p->nrows);
  uint8_t *record = counting_record(p, g), *end = p->pool + (size_t)used * COUNTING_RECORD;
  memmove(record, record + COUNTING_RECORD, (size_t)(end - record) - COUNTING_RECORD);
  memset(end - COUNTING_RECORD, 0, COUNTING_RECORD);
  counting_flip_flag(p, g, -1);
}

/* Readers look at the plane without a lock: bytes that change are stored one by one, atomically. */
static void counting_store_plane(const counting_table *t, uint8_t *at, uint64_t before,
                                 uint64_t after) {
  if (!t->shared) {
    nay__store64le(at, after);
    return;
  }
  for (unsigned i = 0; i < 8; i++, before >>= 8, after >>= 8) {
    if ((uint8_t)before != (uint8_t)after) nay__atomic_store8(at + i, (uint8_t)after);
  }
}

static unsigned counting_nibble(const uint8_t *record, unsigned bit) {
  return record[bit / 2] >> (bit % 2 * 4) & 15;
}

static void counting_set_nibble(uint8_t *record, unsigned bit, unsigned value) {
  unsigned shift = bit % 2 * 4;
  record[bit / 2] = (uint8_t)((record[bit / 2] & ~(15u << shift)) | value << shift);
}

static unsigned counting_total(const uint8_t *record) {
  unsigned total = 0;
  for (unsigned i = 0; i < COUNTING_RECORD; i++) total += (record[i] & 15u) + (record[i] >> 4);
  return total;
}

/* The counters of a group, all 64; false when it is stuck. */
static bool counting_get(const counting_page *p, const counting_group *g, uint8_t counts[64]) {
  uint64_t plane = nay__load64le(g->plane), word = nay__load64le(g->word);
  memset(counts, 0, 64);
  if (counting_flagged(p, g)) {
    const uint8_t *record = counting_record(p, g);
    for (unsigned bit = 0; bit < 64; bit++) counts[bit] = (uint8_t)counting_nibble(record, bit);
    return true;
  }
  if (word == 0) return plane == 0;
  for (; plane != 0 && word != 0; plane &= plane - 1) {
    unsigned zeros = nay__ctz64(word);
    counts[nay__ctz64(plane)] = (uint8_t)(zeros + 1);
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static uint64_t counting_unary(const uint8_t counts[64]) {
  uint64_t word = 0;
  unsigned at = 0;
  for (unsigned bit = 0; bit < 64; bit++) {
    if (counts[bit] == 0) continue;
    at += counts[bit];
    word |= (uint64_t)1 << (at - 1);
  }
  return word;
}

/* Writes counters into a group that has neither word nor record; stuck when there is no room. */
static void counting_put(const counting_page *p, const counting_group *g,
                         const uint8_t counts[64]) {
  unsigned total = 0;
  for (unsigned bit = 0; bit < 64; bit++) total += counts[bit];
  if (total <= 64) {
    nay__store64le(g->word, counting_unary(counts));
    return;
  }
  nay__store64le(g->word, 0);
  uint8_t *record = counting_record_insert(p, g);
  for (unsigned bit = 0; record != NULL && bit < 64; bit++) {
    counting_set_nibble(record, bit, counts[bit]);
  }
}

/* ---- add and remove in one group ---- */

static void counting_record_add(uint8_t *record, uint64_t mask) {
  for (; mask != 0; mask &= mask - 1) {
    unsigned bit = nay__ctz64(mask), count = counting_nibble(record, bit);
    if (count < COUNTING_STUCK) counting_set_nibble(record, bit, count + 1);
  }
}

/* Where the unary counter of a bit starts and how long it is. */
NAY_INLINE unsigned counting_unary_at(uint64_t plane, uint64_t word, unsigned bit,
                                      unsigned *length) {
  unsigned r = nay__popcount64(plane & (((uint64_t)1 << bit) - 1));
  unsigned start = r == 0 ? 0 : nay__select64(word, r - 1) + 1;
  *length = (plane >> bit & 1) != 0 ? nay__ctz64(word >> start) + 1 : 0;
  return start;
}

NAY_INLINE uint64_t counting_insert_bit(uint64_t word, unsigned at, uint64_t value) {
  uint64_t low = word & (((uint64_t)1 << at) - 1);
  return low | (word ^ low) << 1 | value << at;
}

NAY_INLINE uint64_t counting_delete_bit(uint64_t word, unsigned at) {
  uint64_t low = word & (((uint64_t)1 << at) - 1);
  return low | ((word ^ low) >> 1 & ~(((uint64_t)1 << at) - 1));
}

/* Moves a group whose word is full to the pool, and goes on there; or it sticks. */
static void counting_overflow(const counting_page *p, const counting_group *g, uint64_t plane,
                              uint64_t word, uint64_t rest) {
  uint8_t *record = counting_record_insert(p, g);
  nay__store64le(g->word, 0);
  if (record == NULL) return;
  for (; plane != 0 && word != 0; plane &= plane - 1) {
    unsigned zeros = nay__ctz64(word);
    counting_set_nibble(record, nay__ctz64(plane), zeros + 1);
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  counting_record_add(record, rest);
}

static void counting_group_add(const counting_table *t, const counting_page *p,
                               const counting_group *g, uint64_t mask) {
  uint64_t before = nay__load64le(g->plane), plane = before, word = nay__load64le(g->word);
  counting_store_plane(t, g->plane, before, before | mask);
  if (counting_flagged(p, g)) {
    counting_record_add(counting_record(p, g), mask);
    return;
  }
  if (word == 0 && plane != 0) return; /* stuck */
  for (; mask != 0; mask &= mask - 1) {
    unsigned bit = nay__ctz64(mask), length;
    unsigned start = counting_unary_at(plane, word, bit, &length);
    if (length == COUNTING_STUCK) continue;
    if (word >> 63 != 0) {
      counting_overflow(p, g, plane, word, mask);
      return;
    }
    word = counting_insert_bit(word, start, length == 0);
    plane |= (uint64_t)1 << bit;
  }
  nay__store64le(g->word, word);
}

/* Takes one off the counters of mask; what is left fits the word again when the sum is 64. */
static uint64_t counting_record_remove(const counting_page *p, const counting_group *g,
                                       uint64_t mask, uint64_t plane) {
  uint8_t *record = counting_record(p, g);
  for (; mask != 0; mask &= mask - 1) {
    unsigned bit = nay__ctz64(mask), count = counting_nibble(record, bit);
    if (count == COUNTING_STUCK) continue;
    counting_set_nibble(record, bit, count - 1);
    if (count == 1) plane &= ~((uint64_t)1 << bit);
  }
  if (counting_total(record) <= 64) {
    uint8_t counts[64];
    counting_get(p, g, counts);
    counting_record_delete(p, g);
    nay__store64le(g->word, counting_unary(counts));
  }
  return plane;
}

static void counting_group_remove(const counting_table *t, const counting_page *p,
                                  const counting_group *g, uint64_t mask) {
  uint64_t before = nay__load64le(g->plane), plane = before, word = nay__load64le(g->word);
  if (counting_flagged(p, g)) {
    counting_store_plane(t, g->plane, before, counting_record_remove(p, g, mask, plane));
    return;
  }
  if (word == 0) return; /* stuck */
  for (; mask != 0; mask &= mask - 1) {
    unsigned bit = nay__ctz64(mask), length;
    unsigned start = counting_unary_at(plane, word, bit, &length);
    if (length == COUNTING_STUCK) continue;
    word = counting_delete_bit(word, start);
    if (length == 1) plane &= ~((uint64_t)1 << bit);
  }
  nay__store64le(g->word, word);
  counting_store_plane(t, g->plane, before, plane);
}

/* ---- the family ---- */

static bool counting_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / NAY_BLOCK_BITS / 8) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K) return false;
  if ((shape->extra & ~COUNTING_UNIQUE) != 0) return false;
  uint32_t nrecords = counting_nrecords(shape);
  uint64_t npages = counting_npages(shape->nunits);
  uint64_t last = shape->nunits - (npages - 1) * COUNTING_PAGE;
  *nbytes = shape->nunits * NAY_BLOCK_BYTES +
            (npages - 1) * counting_page_size(COUNTING_PAGE, nrecords) +
            counting_page_size((unsigned)last, nrecords);
  *nbits = *nbytes * 8;
  return true;
}

/* The largest plane whose payload, counters included, is within a budget; 0 when none is. */
static uint64_t counting_fit(const nay_params *p, uint64_t budget) {
  uint64_t nblocks = budget / (2 * NAY_BLOCK_BYTES), nbits, nbytes;
  for (; nblocks > 0; nblocks -= nblocks / 128 + 1) {
    nay_shape shape = {nblocks - nblocks % nay__fold_step(nblocks, p->fold), p->k, 0};
    if (shape.nunits == 0) return 0;
    if (shape.k == 0) shape.k = 1; /* the length does not depend on it */
    if (counting_payload(&shape, &nbits, &nbytes) && nbytes <= budget) return shape.nunits;
  }
  return 0;
}

static nay_status counting_plan(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(params, diag, &by));
  nay_params plane = *params;
  if (by == NAY_BY_BITS_PER_KEY || by == NAY_BY_NBYTES) {
    uint64_t budget = by == NAY_BY_NBYTES
                          ? params->nbytes
                          : (uint64_t)((double)params->nkeys * params->bits_per_key / 8);
    uint64_t nblocks = counting_fit(params, budget);
    if (nblocks == 0) {
      return nay__fail(diag, NAY_EINVAL,
                       "the size is below one block and its counters, or fold is above it", 0);
    }
    plane.bits_per_key = 0;
    plane.nbytes = 0;
    plane.nbits = nblocks * NAY_BLOCK_BITS;
  }
  NAY_TRY(nay__blocked_plan(&plane, diag, shape));
  if ((params->flags & NAY_UNIQUE) != 0) shape->extra |= COUNTING_UNIQUE;
  uint64_t nbits, nbytes;
  if (!counting_payload(shape, &nbits, &nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^57 bits", 0);
  }
  return NAY_OK;
}

static double counting_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
}

typedef void (*counting_change)(const counting_table *, const counting_page *,
                                const counting_group *, uint64_t mask);

static void counting_apply(const counting_table *t, uint64_t block, const nay_pattern *pattern,
                           counting_change change) {
  counting_page page = counting_page_at(t, block / COUNTING_PAGE);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    if (pattern->word[g] == 0) continue;
    counting_group group = counting_group_at(t, &page, block, g);
    change(t, &page, &group, pattern->word[g]);
  }
}

static uint8_t *counting_lock(const nay_filter *f, uint64_t block) {
  return f->locks != NULL ? nay__spin_lock(f->locks, block / COUNTING_PAGE) : NULL;
}

static void counting_unlock(uint8_t *lock) {
  if (lock != NULL) nay__spin_unlock(lock);
}

/* Where a block and its counters are, asked for at once: they are two lines far from each other. */
typedef struct counting_place {
  uint8_t *plane, *words, *flags; /* flags: a byte, a bit for each group that is in the pool */
} counting_place;

NAY_INLINE counting_place counting_find(const counting_table *t, uint64_t block) {
  counting_page page = counting_page_at(t, block / COUNTING_PAGE);
  uint64_t in_page = block % COUNTING_PAGE;
  return (counting_place){t->plane + block * NAY_BLOCK_BYTES,
                          page.words + in_page * NAY_BLOCK_BYTES, page.flags + in_page};
}

/* By the kernel, where there is one and no group of the block is in the pool. */
NAY_INLINE nay_counted counting_quickly(nay_counted (*kernel)(uint8_t *, uint8_t *, uint64_t,
                                                              uint32_t),
                                        const nay_filter *f, const counting_place *at,
                                        uint64_t hash) {
  if (kernel == NULL || f->locks != NULL || *at->flags != 0) return (nay_counted){0, false};
  return kernel(at->plane, at->words, hash, f->shape.k);
}

/* The probes that a kernel has left. */
static void counting_slowly(const nay_filter *f, const counting_table *t, uint64_t block,
                            uint64_t hash, uint32_t done, counting_change change) {
  nay_pattern pattern = nay__block_pattern(hash, f->shape.k),
              before = nay__block_pattern(hash, done);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) pattern.word[g] &= ~before.word[g];
  counting_apply(t, block, &pattern, change);
}

static bool counting_is_unique(const nay_filter *f) {
  return NAY_UNLIKELY((f->shape.extra & COUNTING_UNIQUE) != 0);
}

static NAY_NOINLINE bool counting_add_slowly(const nay_filter *f, const counting_table *t,
                                             uint64_t block, uint64_t hash, nay_counted counted) {
  uint8_t *lock = counting_lock(f, block);
  bool all_set = f->kernels->blocked_test(&f->bits, hash);
  if (!all_set || counted.fresh || !counting_is_unique(f)) {
    counting_slowly(f, t, block, hash, counted.probes, counting_group_add);
  }
  counting_unlock(lock);
  return all_set && !counted.fresh;
}

/* Whether all its bits were set before. */
NAY_INLINE bool counting_add_one(const nay_filter *f, const counting_table *t, uint64_t hash) {
  uint64_t block = nay__reduce(hash, t->nblocks);
  counting_place at = counting_find(t, block);
  nay_counted counted = {0, false};
  if (!counting_is_unique(f) || !f->kernels->blocked_test(&f->bits, hash)) {
    counted = counting_quickly(f->kernels->counting_add, f, &at, hash);
  }
  if (NAY_LIKELY(counted.probes == f->shape.k)) return !counted.fresh;
  return counting_add_slowly(f, t, block, hash, counted);
}

static nay_status counting_add(nay_filter *f, nay_hash h, bool *is_new) {
  counting_table t = counting_of(f);
  *is_new = !counting_add_one(f, &t, h.lo);
  return NAY_OK;
}

static nay_status counting_remove(nay_filter *f, nay_hash h) {
  counting_table t = counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks);
  counting_place at = counting_find(&t, block);
  NAY_PREFETCH(at.words);
  uint8_t *lock = counting_lock(f, block);
  bool was_there = f->kernels->blocked_test(&f->bits, h.lo);
  if (was_there && counting_quickly(f->kernels->counting_remove, f, &at, h.lo).probes == 0) {
    counting_slowly(f, &t, block, h.lo, 0, counting_group_remove);
  }
  counting_unlock(lock);
  return was_there ? NAY_OK : NAY_ENOENT;
}

/* The least counter of the key's bits: none of them counts less than the key itself. */
static nay_status counting_count(const nay_filter *f, nay_hash h, uint64_t *count) {
  counting_table t = counting_of(f);
  uint64_t block = nay__reduce(h.lo, t.nblocks), least = COUNTING_STUCK;
  nay_pattern pattern = nay__block_pattern(h.lo, f->shape.k);
  uint8_t *lock = counting_lock(f, block);
  counting_page page = counting_page_at(&t, block / COUNTING_PAGE);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    uint8_t counts[64];
    counting_group group = counting_group_at(&t, &page, block, g);
    bool stuck = !counting_get(&page, &group, counts);
    uint64_t plane = nay__load64le(group.plane);
    for (uint64_t mask = pattern.word[g]; mask != 0; mask &= mask - 1) {
      unsigned bit = nay__ctz64(mask);
      uint64_t c = !stuck ? counts[bit] : (plane >> bit & 1) != 0 ? COUNTING_STUCK : 0;
      least = nay__min_u64(least, c);
    }
  }
  counting_unlock(lock);
  *count = least;
  return NAY_OK;
}

static bool counting_test(const nay_filter *f, nay_hash h) {
  return f->kernels->blocked_test(&f->bits, h.lo);
}

static uint64_t counting_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n) {
  (void)hi;
  return f->kernels->blocked_test64(&f->bits, lo, n);
}

#define COUNTING_AHEAD \
  8u /* keys: with 64 at once most are lost, and a batch of 10^7 takes three times as long */

NAY_INLINE void counting_fetch(const counting_table *t, uint64_t hash) {
  counting_place at = counting_find(t, nay__reduce(hash, t->nblocks));
  NAY_PREFETCH(at.plane);
  NAY_PREFETCH(at.words);
  NAY_PREFETCH(at.flags);
}

static nay_status counting_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                 uint64_t *bitmap) {
  (void)hi;
  counting_table t = counting_of(f);
  *bitmap = 0;
  for (unsigned i = 0; i < n && i < COUNTING_AHEAD; i++) counting_fetch(&t, lo[i]);
  for (unsigned i = 0; i < n; i++) {
    if (i + COUNTING_AHEAD < n) counting_fetch(&t, lo[i + COUNTING_AHEAD]);
    *bitmap |= (uint64_t)!counting_add_one(f, &t, lo[i]) << i;
  }
  return NAY_OK;
}

/* Parts are whole pages: nothing outside a page depends on its keys. */
static void counting_fill_part(nay_filter *f, const uint64_t *lo, uint64_t n, unsigned part,
                               unsigned nparts) {
  uint64_t npages = counting_npages(f->shape.nunits);
  uint64_t first = nay__part(npages, part, nparts) * COUNTING_PAGE;
  uint64_t end = nay__part(npages, part + 1, nparts) * COUNTING_PAGE;
  nay__blocked_fill(f, lo, n, first, nay__min_u64(end, f->shape.nunits) - first);
}

/* Adds the counters of one group to those of another, stuck when either is. */
static void counting_join(const counting_table *dst, const counting_page *dst_page,
                          const counting_group *to, const counting_page *src_page,
                          const counting_group *from) {
  uint64_t before = nay__load64le(to->plane), more = nay__load64le(from->plane);
  uint8_t sum[64], other[64];
  if (more == 0) return;
  bool counted = counting_get(dst_page, to, sum);
  counted &= counting_get(src_page, from, other);
  if (counting_flagged(dst_page, to)) counting_record_delete(dst_page, to);
  counting_store_plane(dst, to->plane, before, before | more);
  nay__store64le(to->word, 0); /* stuck, unless the sum can be put */
  if (!counted) return;
  for (unsigned bit = 0; bit < 64; bit++) {
    unsigned total = (unsigned)sum[bit] + other[bit];
    sum[bit] = (uint8_t)(total < COUNTING_STUCK ? total : COUNTING_STUCK);
  }
  counting_put(dst_page, to, sum);
}

/* Adds block `from` of src to block `to` of dst. */
static void counting_join_block(const counting_table *dst, uint64_t to, const counting_table *src,
                                uint64_t from) {
  counting_page dst_page = counting_page_at(dst, to / COUNTING_PAGE);
  counting_page src_page = counting_page_at(src, from / COUNTING_PAGE);
  for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
    counting_group to_group = counting_group_at(dst, &dst_page, to, g);
    counting_group from_group = counting_group_at(src, &src_page, from, g);
    counting_join(dst, &dst_page, &to_group, &src_page, &from_group);
  }
}

static nay_status counting_merge(nay_filter *dst, const nay_filter *src) {
  counting_table d = counting_of(dst), s = counting_of(src);
  for (uint64_t block = 0; block < d.nblocks; block++) counting_join_block(&d, block, &s, block);
  return NAY_OK;
}

static void counting_fold(const nay_filter *src, uint64_t factor, uint8_t *dst) {
  nay_shape shape = src->shape;
  shape.nunits /= factor;
  counting_table d = counting_open(dst, &shape, false), s = counting_of(src);
  for (uint64_t block = 0; block < s.nblocks; block++) {
    counting_join_block(&d, block / factor, &s, block);
  }
}

static uint64_t counting_stuck_in(const counting_page *p, const counting_group *g) {
  uint8_t counts[64];
  if (!counting_get(p, g, counts)) return nay__popcount64(nay__load64le(g->plane));
  uint64_t n = 0;
  for (unsigned bit = 0; bit < 64; bit++) n += counts[bit] == COUNTING_STUCK;
  return n;
}

static void counting_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = (uint64_t)f->nbytes * 8; /* the counters too; fill stays that of the plane */
  counting_table t = counting_of(f);
  stats->nbits = f->nbytes * 8;
  for (uint64_t block = 0; block < t.nblocks; block++) {
    counting_page page = counting_page_at(&t, block / COUNTING_PAGE);
    for (unsigned g = 0; g < COUNTING_GROUPS; g++) {
      counting_group group = counting_group_at(&t, &page, block, g);
      stats->nstuck += counting_stuck_in(&page, &group);
    }
  }
}

/* ---- bytes from outside ---- */

static bool counting_word_ok(uint64_t plane, uint64_t word) {
  if (word == 0) return true; /* empty, or stuck */
  if (nay__popcount64(word) != nay__popcount64(plane)) return false;
  while (word != 0) {
    unsigned zeros = nay__ctz64(word);
    if (zeros >= COUNTING_STUCK) return false;
    word = zeros == 63 ? 0 : word >> (zeros + 1);
  }
  return true;
}

static bool counting_record_ok(uint64_t plane, const uint8_t *record) {
  for (unsigned bit = 0; bit < 64; bit++) {
    if ((counting_nibble(record, bit) != 0) != ((plane >> bit & 1) != 0)) return false;
  }
  return counting_total(record) > 64;
}

/* Flags, ranks and the unused rest of the pool: what every place in the page is computed from. */
static bool counting_page_ok(const counting_page *p, const uint8_t *end) {
  unsigned used = 0, spare = p->nrows * 8 - p->nblocks;
  for (unsigned row = 0; row < p->nrows; row++) {
    if (counting_rank(p, row) != used) return false;
    used += nay__popcount64(nay__load64le(p->flags + row * 8));
  }
  if (counting_rank(p, p->nrows) != used || used > p->nrecords) return false;
  const uint8_t *free_at = p->pool + (size_t)used * COUNTING_RECORD;
  const uint8_t *after = p->ranks + (p->nrows + 1) * 2;
  return nay__all_zero(p->flags + p->nblocks, spare) &&
         nay__all_zero(free_at, (size_t)(p->ranks - free_at)) &&
         nay__all_zero(after, (size_t)(end - after));
}

static bool counting_groups_ok(const counting_table *t, const counting_page *p, uint64_t first) {
  for (unsigned i = 0; i < p->nblocks * COUNTING_GROUPS; i++) {
    counting_group g = counting_group_at(t, p, first + i / COUNTING_GROUPS, i % COUNTING_GROUPS);
    uint64_t plane = nay__load64le(g.plane), word = nay__load64le(g.word);
    bool ok = counting_flagged(p, &g)
                  ? word == 0 && counting_record_ok(plane, counting_record(p, &g))
                  : counting_word_ok(plane, word);
    if (!ok) return false;
  }
  return true;
}

static nay_status counting_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  counting_table t = counting_open((uint8_t *)(uintptr_t)payload, shape, false);
  for (uint64_t i = 0; i < counting_npages(t.nblocks); i++) {
    counting_page p = counting_page_at(&t, i);
    const uint8_t *end = p.words + counting_page_size(p.nblocks, p.nrecords);
    if (end > payload + len || !counting_page_ok(&p, end) ||
        !counting_groups_ok(&t, &p, i * COUNTING_PAGE)) {
      return nay__fail(diag, NAY_ECORRUPT, "counters do not fit the bits",
                       (uint64_t)(p.words - payload));
    }
  }
  return NAY_OK;
}

static void counting_recall(const nay_filter *f, nay_params *params) {
  nay__blocked_recall(f, params);
  if ((f->shape.extra & COUNTING_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
}

const nay_family nay__family_counting = {
    .kind = NAY_COUNTING,
    .name = "counting",
    .traits = NAY_CAN_ADD | NAY_CAN_REMOVE | NAY_CAN_MERGE | NAY_CAN_FOLD | NAY_CAN_COUNT,
    .ordered = true,
    .shared = true,
    .copy_locked = true,
    .plan = counting_plan,
    .payload = counting_payload,
    .fpr = counting_fpr,
    .describe = counting_describe,
    .recall = counting_recall,
    .add = counting_add,
    .test = counting_test,
    .add64 = counting_add64,
    .fill_part = counting_fill_part,
    .test64 = counting_test64,
    .kernel = nay__blocked_kernel,
    .prefetch64 = nay__blocked_prefetch,
    .test64_ahead = nay__blocked_test64_ahead,
    .remove = counting_remove,
    .count = counting_count,
    .merge = counting_merge,
    .fold = counting_fold,
    .census = nay__blocked_census,
    .check = counting_check,
};
#undef COUNTING_AHEAD
#undef COUNTING_GROUPS
#undef COUNTING_PAGE
#undef COUNTING_RECORD
#undef COUNTING_STUCK
#undef COUNTING_UNIQUE

/* ==== src/family/regrow.c =================================================================== */
/* regrow.c - see regrow.h. */

/* ==== src/family/regrow.h =================================================================== */
/*
 * regrow.h - a payload that becomes larger or smaller: make a new one, fill it, then take it.
 *
 *   nay_memory fresh;
 *   NAY_TRY(nay__payload_new(f, nbytes, &fresh));     may fail: f is as it was
 *   ... write fresh.at, reading f->bits.bytes ...
 *   nay__payload_take(f, &fresh, nbytes);             cannot fail
 */
#ifndef NAY_REGROW_H
#define NAY_REGROW_H

nay_status nay__payload_new(nay_filter *f, uint64_t nbytes, nay_memory *fresh);
void nay__payload_take(nay_filter *f, nay_memory *fresh, size_t nbytes);

#endif /* NAY_REGROW_H */

/* The metadata of a filter that was opened lies in the memory that is about to go: it moves out. */
nay_status nay__payload_new(nay_filter *f, uint64_t nbytes, nay_memory *fresh) {
  size_t size;
  if (!nay__size_ok(nbytes, &size)) return NAY_ENOMEM;
  if (f->meta != NULL && !f->meta_owned) NAY_TRY(nay_filter_set_meta(f, f->meta, f->meta_len));
  return nay__memory_from(&f->allocator, size, (f->flags & NAY_ZEROED) != 0, fresh);
}

void nay__payload_take(nay_filter *f, nay_memory *fresh, size_t nbytes) {
  nay__memory_free(&f->allocator, &f->memory);
  f->memory = *fresh;
  f->bits.bytes = fresh->at;
  f->bits.in_cache = nbytes <= NAY_CACHE_BYTES;
  f->nbytes = nbytes;
}

/* ==== src/family/scalable.c ================================================================= */
/*
 * scalable.c - a filter that grows: when the last level is full, a level for twice the keys
 * follows.
 *
 *   payload   | header 64 | a row of 40 bytes for each level | 0.. | level 0 | level 1 | ... |
 *                                                          to 64     blocked Bloom filters
 *   row       | nblocks u64 | nkeys u64 | bits set u64 | bits when full u64 | k u32 | 0 u32 |
 *
 * An absent key must be nay in every level, so the rates add up. Level i gets fpr * 0.12 * 0.88^i
 * (math/series.c says why): the sum stays below fpr for ever, and bits per key grow slowly.
 *
 * A level is full when as many of its bits are set as are expected of the keys it was planned for.
 * The count of set bits is kept in the row and is exact; a count of keys would miss those that set
 * no new bit, and an enemy's choice of keys shows in the bits, not in their number. Keys that test
 * maybe are not added again.
 *
 * Queries start with the last level: it holds half of the keys. Growing copies the old levels into
 * a larger payload; once for each doubling, so a key is copied about once in all. The limit
 * max_nbytes is looked at before anything is allocated.
 *
 * Merging joins the level lists, sorted by size; rates add up and are checked by the caller's
 * limit. Folding shrinks the last level to what is in it and finishes the filter: it takes no new
 * key.
 *
 * Almeida, Baquero, Preguica, Hutchison: Scalable Bloom filters, 2007.
 */

#define SCALABLE_HEADER 64u
#define SCALABLE_ROW 40u
#define SCALABLE_MAX_LEVELS 64u
#define SCALABLE_FIRST 1000u /* keys of the first level when nkeys is 0 */
#define SCALABLE_MAX_FIRST ((uint64_t)1 << 48)
#define SCALABLE_MIN_FPR 1e-6
#define SCALABLE_MAX_FPR 0.5
/* The same as the header of the file has them; singles above 0 are in the order of their bits. */
#define SCALABLE_MIN_EXTRA 0x358637bdu
#define SCALABLE_MAX_EXTRA 0x3f000000u

/* Header fields; the rest is zero. */
enum {
  SCALABLE_AT_NLEVELS = 0,     /* u32 */
  SCALABLE_AT_FINISHED = 4,    /* u32: 1 when folded */
  SCALABLE_AT_NGROWN = 8,      /* u64: levels made so far, the index of the next share */
  SCALABLE_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  SCALABLE_AT_LIMIT = 24,      /* double: the sum of the rates of everything that was joined */
  SCALABLE_AT_END = 32,
};

/* Fields of a row. */
enum {
  SCALABLE_ROW_NBLOCKS = 0,
  SCALABLE_ROW_NKEYS = 8,
  SCALABLE_ROW_NSET = 16,
  SCALABLE_ROW_FULL = 24,
  SCALABLE_ROW_K = 32,
  SCALABLE_ROW_ZERO = 36
};

/* ---- numbers in bytes ---- */

/* The rate as the header of the file has it: an IEEE single, rounded down. */
static uint32_t scalable_rate_bits(double fpr) {
  float single = (float)fpr;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return (double)single > fpr ? bits - 1 : bits;
}

static double scalable_rate(const nay_shape *shape) {
  float single;
  memcpy(&single, &shape->extra, sizeof single);
  return (double)single;
}

static double scalable_load_double(const uint8_t *p) {
  uint64_t bits = nay__load64le(p);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void scalable_store_double(uint8_t *p, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  nay__store64le(p, bits);
}

/* ---- levels ---- */

static uint32_t scalable_nlevels(const uint8_t *payload) {
  return nay__load32le(payload + SCALABLE_AT_NLEVELS);
}

static uint8_t *scalable_row(uint8_t *payload, uint32_t level) {
  return payload + SCALABLE_HEADER + (size_t)level * SCALABLE_ROW;
}

static uint64_t scalable_levels_at(uint32_t nlevels) {
  return nay__round_up(SCALABLE_HEADER + (uint64_t)nlevels * SCALABLE_ROW, NAY_CACHE_LINE);
}

static uint64_t scalable_level_bytes(const uint8_t *row) {
  return nay__load64le(row + SCALABLE_ROW_NBLOCKS) * NAY_BLOCK_BYTES;
}

static void scalable_put_row(uint8_t *row, const nay_level *level) {
  nay__store64le(row + SCALABLE_ROW_NBLOCKS, level->nblocks);
  nay__store64le(row + SCALABLE_ROW_NKEYS, level->nkeys);
  nay__store64le(row + SCALABLE_ROW_NSET, 0);
  nay__store64le(row + SCALABLE_ROW_FULL, level->nbits_full);
  nay__store32le(row + SCALABLE_ROW_K, level->k);
}

/* A walk over the levels from the last, which ends the payload, to the first. */
typedef struct scalable_walk {
  uint8_t *payload;
  uint32_t left;  /* levels before the current one */
  uint8_t *row;   /* of the current level */
  nay_bits level; /* the current level, as the kernels see it */
} scalable_walk;

static scalable_walk scalable_begin(const nay_filter *f) {
  uint8_t *payload = f->bits.bytes;
  return (scalable_walk){payload, scalable_nlevels(payload), NULL, {.bytes = payload + f->nbytes}};
}

NAY_INLINE bool scalable_next(scalable_walk *w) {
  if (w->left == 0) return false;
  w->left--;
  w->row = scalable_row(w->payload, w->left);
  w->level.nunits = nay__load64le(w->row + SCALABLE_ROW_NBLOCKS);
  w->level.k = nay__load32le(w->row + SCALABLE_ROW_K);
  w->level.bytes -= w->level.nunits * NAY_BLOCK_BYTES;
  return true;
}

/* ---- plan ---- */

static bool scalable_first(const nay_shape *shape, nay_level *level) {
  if (shape->extra < SCALABLE_MIN_EXTRA || shape->extra > SCALABLE_MAX_EXTRA) return false;
  if (shape->nunits > SCALABLE_MAX_FIRST) return false;
  return nay__series_level(shape->nunits, scalable_rate(shape), 0, level);
}

/* k is for people: the levels have their own, and another planner may choose another. */
static bool scalable_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  nay_level level;
  if (!scalable_first(shape, &level) || shape->k == 0 || shape->k > NAY_MAX_K) return false;
  *nbytes = scalable_levels_at(1) + level.nblocks * NAY_BLOCK_BYTES;
  *nbits = *nbytes * 8;
  return true;
}

static nay_status scalable_plan(const nay_params *params, nay_diag *diag, nay_shape *shape) {
  nay_params p = *params;
  nay_sizing by;
  if (p.nkeys == 0) p.nkeys = SCALABLE_FIRST;
  NAY_TRY(nay__params_check(&p, diag, &by));
  if (by != NAY_BY_FPR) {
    return nay__fail(diag, NAY_EINVAL, "scalable has no size of its own: set fpr", 0);
  }
  if (p.fpr < SCALABLE_MIN_FPR || p.fpr > SCALABLE_MAX_FPR) {
    return nay__fail(diag, NAY_EINVAL, "fpr: scalable takes 0.000001 to 0.5", 0);
  }
  if (p.k != 0) return nay__fail(diag, NAY_EINVAL, "k: scalable chooses it for each level", 0);
  if (p.fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: scalable has no fixed size", 0);
  nay_shape s = {p.nkeys, 0, scalable_rate_bits(p.fpr)};
  nay_level level;
  if (!scalable_first(&s, &level))
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^48, where scalable may start", 0);
  s.k = level.k;
  uint64_t nbytes = scalable_levels_at(1) + level.nblocks * NAY_BLOCK_BYTES;
  if (p.max_nbytes != 0 && nbytes > p.max_nbytes) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is below the size of the first level", 0);
  }
  *shape = s;
  return NAY_OK;
}

static double scalable_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__series_fpr(shape->nunits, scalable_rate(shape), nkeys);
}

static void scalable_foresee(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  (void)params;
  plan->fpr_limit = scalable_rate(shape);
}

/* The empty first level; the payload is zero but for the header, of which these fields stay. */
static void scalable_start(nay_filter *f, uint64_t max_nbytes) {
  uint8_t *payload = f->bits.bytes;
  nay_level level;
  if (!scalable_first(&f->shape, &level)) return; /* the plan has seen that it can */
  nay__store32le(payload + SCALABLE_AT_NLEVELS, 1);
  nay__store64le(payload + SCALABLE_AT_NGROWN, 1);
  nay__store64le(payload + SCALABLE_AT_MAX_NBYTES, max_nbytes);
  scalable_store_double(payload + SCALABLE_AT_LIMIT, scalable_rate(&f->shape));
  scalable_put_row(scalable_row(payload, 0), &level);
}

static void scalable_init(nay_filter *f, const nay_params *params) {
  scalable_start(f, params->max_nbytes);
}

/* nkeys 0 and the number it stands for make the same filter but for the number kept in files. */
static void scalable_recall(const nay_filter *f, nay_params *params) {
  if (f->nkeys != 0 || f->shape.nunits != SCALABLE_FIRST) params->nkeys = f->shape.nunits;
  params->k = 0;
  params->fpr = scalable_rate(&f->shape);
  params->max_nbytes = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES);
}

/* Back to one level: in the memory that is there, unless folding has made it smaller than that. */
static nay_status scalable_clear(nay_filter *f) {
  uint64_t max_nbytes = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES), nbits, nbytes;
  if (!scalable_payload(&f->shape, &nbits, &nbytes)) return NAY_EINVAL;
  if (nbytes > f->nbytes) {
    nay_memory fresh;
    NAY_TRY(nay__payload_new(f, nbytes, &fresh));
    nay__payload_take(f, &fresh, (size_t)nbytes);
  }
  f->nbytes = (size_t)nbytes;
  memset(f->bits.bytes, 0, f->nbytes);
  scalable_start(f, max_nbytes);
  return NAY_OK;
}

/* ---- growing ---- */

static bool scalable_within_limit(const nay_filter *f, uint64_t nbytes) {
  uint64_t most = nay__load64le(f->bits.bytes + SCALABLE_AT_MAX_NBYTES);
  return (most == 0 || nbytes <= most) && nbytes <= NAY_MAX_NBITS / 8;
}

static nay_status scalable_grow(nay_filter *f) {
  uint8_t *old = f->bits.bytes;
  uint32_t nlevels = scalable_nlevels(old);
  uint64_t ngrown = nay__load64le(old + SCALABLE_AT_NGROWN),
           levels_at = scalable_levels_at(nlevels);
  nay_level level;
  if (nay__load32le(old + SCALABLE_AT_FINISHED) != 0 || nlevels == SCALABLE_MAX_LEVELS)
    return NAY_EFULL;
  uint64_t nkeys = nay__load64le(scalable_row(old, nlevels - 1) + SCALABLE_ROW_NKEYS) * 2;
  if (!nay__series_level(nkeys, scalable_rate(&f->shape), (unsigned)ngrown, &level)) {
    return NAY_EFULL;
  }
  uint64_t kept = f->nbytes - levels_at, new_at = scalable_levels_at(nlevels + 1);
  uint64_t nbytes = new_at + kept + level.nblocks * NAY_BLOCK_BYTES;
  if (!scalable_within_limit(f, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, old, SCALABLE_HEADER + (size_t)nlevels * SCALABLE_ROW);
  memcpy(fresh.at + new_at, old + levels_at, (size_t)kept);
  nay__store32le(fresh.at + SCALABLE_AT_NLEVELS, nlevels + 1);
  nay__store64le(fresh.at + SCALABLE_AT_NGROWN, ngrown + 1);
  scalable_put_row(scalable_row(fresh.at, nlevels), &level);
  nay__payload_take(f, &fresh, (size_t)nbytes);
  return NAY_OK;
}

/* Sets the bits of a key; how many were clear. */
static unsigned scalable_set(const nay_bits *level, uint64_t hash) {
  uint8_t *block = level->bytes + nay__reduce(hash, level->nunits) * NAY_BLOCK_BYTES;
  nay_pattern pattern = nay__block_pattern(hash, level->k);
  unsigned fresh = 0;
  for (unsigned i = 0; i < NAY_BLOCK_BITS / 64; i++) {
    uint64_t before = nay__load64le(block + i * 8);
    fresh += nay__popcount64(pattern.word[i] & ~before);
    nay__store64le(block + i * 8, before | pattern.word[i]);
  }
  return fresh;
}

static bool scalable_test(const nay_filter *f, nay_hash h) {
  for (scalable_walk w = scalable_begin(f); scalable_next(&w);) {
    nay_bits level = {.bytes = w.level.bytes, .nunits = w.level.nunits, .k = w.level.k};
    if (f->kernels->blocked_test(&level, h.lo))
      return true; /* a copy: the walk stays in registers */
  }
  return false;
}

static nay_status scalable_add(nay_filter *f, nay_hash h, bool *is_new) {
  if (scalable_test(f, h)) {
    *is_new = false;
    return NAY_OK;
  }
  scalable_walk w = scalable_begin(f);
  (void)scalable_next(&w);
  bool full = nay__load64le(w.row + SCALABLE_ROW_NSET) >= nay__load64le(w.row + SCALABLE_ROW_FULL);
  if (full || nay__load32le(w.payload + SCALABLE_AT_FINISHED) != 0) {
    NAY_TRY(scalable_grow(f));
    w = scalable_begin(f);
    (void)scalable_next(&w);
  }
  uint64_t nset = nay__load64le(w.row + SCALABLE_ROW_NSET);
  nay__store64le(w.row + SCALABLE_ROW_NSET, nset + scalable_set(&w.level, h.lo));
  *is_new = true;
  return NAY_OK;
}

static nay_status scalable_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                 uint64_t *bitmap) {
  (void)hi;
  scalable_walk w = scalable_begin(f);
  for (unsigned depth = 0; depth < 2 && scalable_next(&w); depth++) { /* three quarters of all */
    for (unsigned i = 0; i < n; i++) {
      NAY_PREFETCH(w.level.bytes + nay__reduce(lo[i], w.level.nunits) * NAY_BLOCK_BYTES);
    }
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(scalable_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

/* Level after level, each with the keys that no level has claimed yet. */
static uint64_t scalable_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                unsigned n) {
  (void)hi;
  uint64_t left[64], answer = 0;
  uint8_t index[64];
  for (unsigned i = 0; i < n; i++) {
    left[i] = lo[i];
    index[i] = (uint8_t)i;
  }
  for (scalable_walk w = scalable_begin(f); n > 0 && scalable_next(&w);) {
    if (!f->bits.in_cache) f->kernels->blocked_prefetch64(&w.level, left, n);
    uint64_t found = f->kernels->blocked_test64(&w.level, left, n);
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
      if ((found >> i & 1) != 0) {
        answer |= (uint64_t)1 << index[i];
      } else {
        left[kept] = left[i];
        index[kept++] = index[i];
      }
    }
    n = kept;
  }
  return answer;
}

/* ---- the whole filter ---- */

/* factor folds the last level alone: what nay_filter_fold would do. */
static void scalable_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b;
  nay_census sum = {0, 0, 0, 0};
  double nay = 1;
  for (scalable_walk w = scalable_begin(a); scalable_next(&w); factor = 1) {
    nay_census c;
    nay__blocked_measure(&w.level, NULL, factor, &c);
    sum.nbits += c.nbits;
    sum.nbits_set += c.nbits_set;
    sum.nkeys += c.nkeys;
    nay *= 1 - c.fpr;
  }
  sum.fpr = 1 - nay;
  *census = sum;
}

static void scalable_describe(const nay_filter *f, nay_stats *stats) {
  stats->nbits = f->nbytes * 8;
  stats->nlevels = scalable_nlevels(f->bits.bytes);
  stats->fpr_planned = scalable_load_double(f->bits.bytes + SCALABLE_AT_LIMIT);
  /* growing is what it is for: more keys than it started with are no overload */
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* Copies the levels of both into `to`, smallest first; at equal size a's first. */
static void scalable_interleave(uint8_t *to, uint32_t nlevels, const nay_filter *a,
                                const nay_filter *b) {
  const nay_filter *side[2] = {a, b};
  uint32_t next[2] = {0, 0};
  const uint8_t *from[2];
  for (unsigned s = 0; s < 2; s++) {
    from[s] = side[s]->bits.bytes + scalable_levels_at(scalable_nlevels(side[s]->bits.bytes));
  }
  uint8_t *level = to + scalable_levels_at(nlevels);
  for (uint32_t i = 0; i < nlevels; i++) {
    const uint8_t *row[2];
    for (unsigned s = 0; s < 2; s++) {
      bool any = next[s] < scalable_nlevels(side[s]->bits.bytes);
      row[s] = any ? scalable_row(side[s]->bits.bytes, next[s]) : NULL;
    }
    unsigned s = row[0] == NULL ||
                 (row[1] != NULL && scalable_level_bytes(row[1]) < scalable_level_bytes(row[0]));
    size_t len = (size_t)scalable_level_bytes(row[s]);
    memcpy(scalable_row(to, i), row[s], SCALABLE_ROW);
    memcpy(level, from[s], len);
    level += len;
    from[s] += len;
    next[s]++;
  }
}

static nay_status scalable_join(nay_filter *dst, const nay_filter *src, double max_fpr) {
  if (dst == src) return NAY_OK;
  uint8_t *old = dst->bits.bytes;
  const uint8_t *other = src->bits.bytes;
  uint32_t nlevels = scalable_nlevels(old) + scalable_nlevels(other);
  nay_census a, b;
  if (nlevels > SCALABLE_MAX_LEVELS) return NAY_EFULL;
  scalable_census(dst, NULL, 1, &a);
  scalable_census(src, NULL, 1, &b);
  if (a.fpr + b.fpr - a.fpr * b.fpr > max_fpr) return NAY_EFULL;
  uint64_t nbytes = scalable_levels_at(nlevels) +
                    (dst->nbytes - scalable_levels_at(scalable_nlevels(old))) +
                    (src->nbytes - scalable_levels_at(scalable_nlevels(other)));
  if (!scalable_within_limit(dst, nbytes)) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(dst, nbytes, &fresh));
  memcpy(fresh.at, old, SCALABLE_HEADER);
  nay__store32le(fresh.at + SCALABLE_AT_NLEVELS, nlevels);
  double limit = scalable_load_double(old + SCALABLE_AT_LIMIT) +
                 scalable_load_double(other + SCALABLE_AT_LIMIT);
  scalable_store_double(fresh.at + SCALABLE_AT_LIMIT, limit < 1 ? limit : 1);
  scalable_interleave(fresh.at, nlevels, dst, src);
  nay__payload_take(dst, &fresh, (size_t)nbytes);
  return NAY_OK;
}

static uint64_t scalable_foldable(const nay_filter *f) {
  return nay__load64le(scalable_row(f->bits.bytes, scalable_nlevels(f->bits.bytes) - 1) +
                       SCALABLE_ROW_NBLOCKS);
}

/*
 * Folds the last level; the shorter payload stays in the memory that is there. The level is then
 * planned for what it holds: should it be joined to a filter that still grows, it is full there.
 */
static nay_status scalable_finish(nay_filter *f, uint64_t factor) {
  scalable_walk w = scalable_begin(f);
  (void)scalable_next(&w);
  nay_census census;
  nay__blocked_measure(&w.level, NULL, factor, &census);
  uint64_t nblocks = w.level.nunits / factor;
  uint8_t *to = w.level.bytes;
  const uint8_t *from = to;
  for (uint64_t i = 0; i < nblocks; i++, to += NAY_BLOCK_BYTES) {
    uint8_t sum[NAY_BLOCK_BYTES] = {0};
    for (uint64_t j = 0; j < factor; j++, from += NAY_BLOCK_BYTES) {
      nay__bits_or(sum, from, sizeof sum);
    }
    memcpy(to, sum, sizeof sum);
  }
  size_t len = (size_t)(nblocks * NAY_BLOCK_BYTES);
  f->nbytes -= (size_t)(w.level.nunits * NAY_BLOCK_BYTES) - len;
  nay__store64le(w.row + SCALABLE_ROW_NBLOCKS, nblocks);
  nay__store64le(w.row + SCALABLE_ROW_NSET, census.nbits_set);
  nay__store64le(w.row + SCALABLE_ROW_FULL, nay__max_u64(1, census.nbits_set));
  nay__store64le(w.row + SCALABLE_ROW_NKEYS,
                 nay__min_u64((uint64_t)census.nkeys + 1, nblocks * NAY_BLOCK_BITS));
  nay__store32le(w.payload + SCALABLE_AT_FINISHED, 1);
  return NAY_OK;
}

/* ---- bytes from outside ---- */

static nay_status scalable_bad(nay_diag *diag, const char *what, uint64_t offset) {
  return nay__fail(diag, NAY_ECORRUPT, what, offset);
}

static bool scalable_row_ok(const uint8_t *row, uint64_t left) {
  uint64_t nblocks = nay__load64le(row + SCALABLE_ROW_NBLOCKS),
           nkeys = nay__load64le(row + SCALABLE_ROW_NKEYS);
  uint32_t k = nay__load32le(row + SCALABLE_ROW_K);
  uint64_t full = nay__load64le(row + SCALABLE_ROW_FULL);
  if (nblocks == 0 || nblocks > left / NAY_BLOCK_BYTES) return false;
  uint64_t nbits = nblocks * NAY_BLOCK_BITS;
  return nkeys > 0 && nkeys <= nbits && full > 0 && full <= nbits && k > 0 && k <= NAY_MAX_K &&
         nay__load32le(row + SCALABLE_ROW_ZERO) == 0;
}

static nay_status scalable_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                                 nay_diag *diag) {
  (void)shape;
  if (len < scalable_levels_at(1)) return scalable_bad(diag, "shorter than a header", 0);
  uint32_t nlevels = scalable_nlevels(payload);
  double limit = scalable_load_double(payload + SCALABLE_AT_LIMIT);
  uint64_t ngrown = nay__load64le(payload + SCALABLE_AT_NGROWN);
  uint64_t most = nay__load64le(payload + SCALABLE_AT_MAX_NBYTES);
  if (nlevels == 0 || nlevels > SCALABLE_MAX_LEVELS || len < scalable_levels_at(nlevels)) {
    return scalable_bad(diag, "impossible number of levels", SCALABLE_AT_NLEVELS);
  }
  if (nay__load32le(payload + SCALABLE_AT_FINISHED) > 1 || ngrown == 0 || ngrown > nlevels ||
      (most != 0 && len > most) || !(limit > 0 && limit <= 1) ||
      !nay__all_zero(payload + SCALABLE_AT_END, SCALABLE_HEADER - SCALABLE_AT_END)) {
    return scalable_bad(diag, "a field of the header is out of range", SCALABLE_AT_FINISHED);
  }
  uint64_t at = scalable_levels_at(nlevels);
  uint64_t rows_end = SCALABLE_HEADER + (uint64_t)nlevels * SCALABLE_ROW;
  if (!nay__all_zero(payload + rows_end, (size_t)(at - rows_end))) {
    return scalable_bad(diag, "padding after the level table is not zero", rows_end);
  }
  for (uint32_t i = 0; i < nlevels; i++) {
    uint64_t row_at = SCALABLE_HEADER + (uint64_t)i * SCALABLE_ROW;
    const uint8_t *row = payload + row_at;
    if (!scalable_row_ok(row, len - at)) return scalable_bad(diag, "an impossible level", row_at);
    size_t size = (size_t)scalable_level_bytes(row);
    if (nay__bits_count(payload + at, size) != nay__load64le(row + SCALABLE_ROW_NSET)) {
      return scalable_bad(diag, "a level has another number of bits than it says", row_at);
    }
    at += size;
  }
  return at == len ? NAY_OK : scalable_bad(diag, "bytes after the last level", at);
}

const nay_family nay__family_scalable = {
    .kind = NAY_SCALABLE,
    .name = "scalable",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_FOLD | NAY_CAN_GROW,
    .self_sized = true,
    .ordered = true,
    .plan = scalable_plan,
    .payload = scalable_payload,
    .fpr = scalable_fpr,
    .foresee = scalable_foresee,
    .describe = scalable_describe,
    .init = scalable_init,
    .clear = scalable_clear,
    .recall = scalable_recall,
    .add = scalable_add,
    .test = scalable_test,
    .add64 = scalable_add64,
    .test64 = scalable_test64,
    .join = scalable_join,
    .foldable = scalable_foldable,
    .finish = scalable_finish,
    .census = scalable_census,
    .check = scalable_check,
};
#undef SCALABLE_FIRST
#undef SCALABLE_HEADER
#undef SCALABLE_MAX_EXTRA
#undef SCALABLE_MAX_FIRST
#undef SCALABLE_MAX_FPR
#undef SCALABLE_MAX_LEVELS
#undef SCALABLE_MIN_EXTRA
#undef SCALABLE_MIN_FPR
#undef SCALABLE_ROW

/* ==== src/family/window.c =================================================================== */
/*
 * window.c - a filter that forgets: generations of Bloom filters, the oldest dropped in time.
 *
 *   payload   | header 192 | unit 0: 128 bytes | unit 1 | ...
 *   unit      16 words; each is cut into 64 / G cells of G bits, one bit for each generation
 *
 *      word    | ... | cell 2 | cell 1 | cell 0 |        G = 8: cells are bytes
 *                             \__ bit j: a key of generation j has probed here
 *
 * The window is g generations long and there are G = g + 1 of them: keys go into the newest, all
 * are asked, and when the newest has served its time it becomes the second and the oldest is
 * emptied to be the newest. A key is thus remembered for one window at least, and for 1 + 1/g at
 * most.
 *
 * All generations of a key lie in one unit, two cache lines, and share their probes: a query reads
 * k cells and takes their bitwise and. What remains are the generations in which all k bits are
 * set. Asking separate filters would touch G lines; the price is that a slice of a unit is a small
 * filter (64 to 512 bits) and fills unevenly: 20 % more bits at 1 % and g = 7.
 *
 * Time is either counted in keys (the newest is full after nkeys / g keys that changed it) or told
 * by the caller in ticks; it never goes back, and queries never move it. Emptying a generation is
 * one pass over the payload, once for nkeys / g keys.
 *
 *   header    newest u32 | clock set u32 | window u64 | clock u64 | keys per generation u64 | 0..
 *             at 64: for each of 16 generations, how many keys changed it, u64
 *
 * Probe i of a hash: unit reduce(h, nunits); x = lo32(h) * g^i as in blocked.c; its top 4 bits are
 * the word, the other 28 the cell: reduce to 64 / G.
 */

#define WINDOW_HEADER 192u
#define WINDOW_UNIT 128u
#define WINDOW_WORDS 16u
#define WINDOW_MAX_GENERATIONS 16u
#define WINDOW_DEFAULT 7u /* G = 8 fills words without a rest; a key stays 1/7 too long at most */
#define WINDOW_G32 0x9e3779b9u

enum {
  WINDOW_AT_NEWEST = 0,
  WINDOW_AT_CLOCK_SET = 4,
  WINDOW_AT_TICKS = 8,
  WINDOW_AT_CLOCK = 16,
  WINDOW_AT_PER_GENERATION = 24,
  WINDOW_AT_ZERO = 32,
  WINDOW_AT_COUNTS = 64,
};

/* ---- where things are ---- */

static unsigned window_all(const nay_shape *shape) { return shape->extra; }

static nay_slices window_slices(unsigned all) { return (nay_slices){all, 64 / all * WINDOW_WORDS}; }

static uint64_t window_per_generation(uint64_t nkeys, unsigned all) {
  return nay__max_u64(1, nay__ceil_div(nkeys, all - 1));
}

static uint64_t window_count(const nay_filter *f, unsigned generation) {
  return nay__load64le(f->bits.bytes + WINDOW_AT_COUNTS + generation * 8);
}

static void window_set_count(nay_filter *f, unsigned generation, uint64_t count) {
  nay__store64le(f->bits.bytes + WINDOW_AT_COUNTS + generation * 8, count);
}

NAY_INLINE uint8_t *window_unit(const nay_filter *f, uint64_t hash) {
  return f->bits.bytes + WINDOW_HEADER + nay__reduce(hash, f->shape.nunits) * WINDOW_UNIT;
}

/* One probe: a word of the unit and where the cell starts in it. */
typedef struct window_probe {
  unsigned word, shift;
} window_probe;

NAY_INLINE window_probe window_probe_of(uint32_t x, unsigned cells, unsigned all) {
  uint64_t cell = (uint64_t)(x & 0x0fffffffu) * cells >> 28;
  return (window_probe){x >> 28, (unsigned)cell * all};
}

/* ---- keys ---- */

/* The generations that have all bits of the key. */
NAY_INLINE uint64_t window_find(const nay_filter *f, const uint8_t *unit, uint64_t hash) {
  unsigned all = window_all(&f->shape), cells = 64 / all;
  uint64_t found = ((uint64_t)1 << all) - 1;
  uint32_t x = (uint32_t)hash;
  for (uint32_t i = 0; i < f->shape.k && found != 0; i++, x *= WINDOW_G32) {
    window_probe p = window_probe_of(x, cells, all);
    found &= nay__load64le(unit + p.word * 8) >> p.shift;
  }
  return found;
}

static bool window_test(const nay_filter *f, nay_hash h) {
  return window_find(f, window_unit(f, h.lo), h.lo) != 0;
}

static uint64_t window_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                              unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n; i++) {
    const uint8_t *unit = window_unit(f, lo[i]);
    NAY_PREFETCH(unit);
    NAY_PREFETCH(unit + NAY_CACHE_LINE);
  }
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bitmap |= (uint64_t)(window_find(f, window_unit(f, lo[i]), lo[i]) != 0) << i;
  }
  return bitmap;
}

/* Empties the generations whose bits are set. */
static void window_forget(nay_filter *f, uint64_t generations) {
  unsigned all = window_all(&f->shape);
  uint64_t mask = 0;
  for (unsigned cell = 0; cell < 64 / all; cell++) mask |= generations << cell * all;
  uint8_t *at = f->bits.bytes + WINDOW_HEADER, *end = f->bits.bytes + f->nbytes;
  for (; at < end; at += 8) nay__store64le(at, nay__load64le(at) & ~mask);
  for (unsigned i = 0; i < all; i++) {
    if ((generations >> i & 1) != 0) window_set_count(f, i, 0);
  }
}

/* The newest generation moves on by `steps`; those that it passes are the oldest. */
static void window_rotate(nay_filter *f, uint64_t steps) {
  unsigned all = window_all(&f->shape);
  unsigned newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST);
  uint64_t gone = 0;
  for (uint64_t i = 1; i <= nay__min_u64(steps, all); i++)
    gone |= (uint64_t)1 << (newest + i) % all;
  window_forget(f, gone);
  nay__store32le(f->bits.bytes + WINDOW_AT_NEWEST, (uint32_t)((newest + steps % all) % all));
}

static nay_status window_add(nay_filter *f, nay_hash h, bool *is_new) {
  uint8_t *unit = window_unit(f, h.lo);
  uint64_t found = window_find(f, unit, h.lo);
  unsigned newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST);
  *is_new = found == 0;
  if ((found >> newest & 1) != 0) return NAY_OK;
  bool by_count = nay__load64le(f->bits.bytes + WINDOW_AT_TICKS) == 0;
  if (by_count &&
      window_count(f, newest) >= nay__load64le(f->bits.bytes + WINDOW_AT_PER_GENERATION)) {
    window_rotate(f, 1);
    newest = nay__load32le(f->bits.bytes + WINDOW_AT_NEWEST);
  }
  unsigned all = window_all(&f->shape), cells = 64 / all;
  uint32_t x = (uint32_t)h.lo;
  for (uint32_t i = 0; i < f->shape.k; i++, x *= WINDOW_G32) {
    window_probe p = window_probe_of(x, cells, all);
    uint8_t *word = unit + p.word * 8;
    nay__store64le(word, nay__load64le(word) | (uint64_t)1 << (p.shift + newest));
  }
  window_set_count(f, newest, window_count(f, newest) + 1);
  return NAY_OK;
}

static nay_status window_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                               uint64_t *bitmap) {
  (void)hi;
  for (unsigned i = 0; i < n; i++) {
    const uint8_t *unit = window_unit(f, lo[i]);
    NAY_PREFETCH(unit);
    NAY_PREFETCH(unit + NAY_CACHE_LINE);
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(window_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

/* ---- time ---- */

static nay_status window_advance(nay_filter *f, uint64_t now) {
  uint8_t *header = f->bits.bytes;
  uint64_t ticks = nay__load64le(header + WINDOW_AT_TICKS);
  if (ticks == 0) return NAY_ENOTSUP;
  uint64_t length = nay__ceil_div(ticks, window_all(&f->shape) - 1);
  uint64_t before = nay__load64le(header + WINDOW_AT_CLOCK);
  if (nay__load32le(header + WINDOW_AT_CLOCK_SET) == 0) {
    nay__store32le(header + WINDOW_AT_CLOCK_SET, 1);
  } else {
    if (now < before) return NAY_EINVAL;
    uint64_t steps = now / length - before / length;
    if (steps != 0) window_rotate(f, steps);
  }
  nay__store64le(header + WINDOW_AT_CLOCK, now);
  return NAY_OK;
}

/* ---- plan ---- */

static bool window_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / 8 / WINDOW_UNIT) return false;
  if (shape->k == 0 || shape->k > NAY_MAX_K) return false;
  if (shape->extra < 2 || shape->extra > WINDOW_MAX_GENERATIONS) return false;
  *nbytes = WINDOW_HEADER + shape->nunits * WINDOW_UNIT;
  *nbits = *nbytes * 8;
  return true;
}

static nay_status window_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  uint32_t g = p->generations != 0 ? p->generations : WINDOW_DEFAULT;
  if (g >= WINDOW_MAX_GENERATIONS) {
    return nay__fail(diag, NAY_EINVAL, "generations is above 15", 0);
  }
  if (p->nkeys == 0) return nay__fail(diag, NAY_EINVAL, "nkeys: how many are in one window?", 0);
  if (p->window != 0 && p->window < g) {
    return nay__fail(diag, NAY_EINVAL, "window has fewer ticks than generations", 0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: window does not fold", 0);
  nay_slices slices = window_slices(g + 1);
  uint64_t n = window_per_generation(p->nkeys, g + 1), nunits = 0;
  switch (by) {
    case NAY_BY_FPR: nunits = nay__sliced_units(slices, n, p->fpr, p->k); break;
    case NAY_BY_BITS_PER_KEY:
      nunits = (uint64_t)((double)p->nkeys * p->bits_per_key / 8 / WINDOW_UNIT + 0.5);
      break;
    case NAY_BY_NBYTES:
      nunits = p->nbytes < WINDOW_HEADER ? 0 : (p->nbytes - WINDOW_HEADER) / WINDOW_UNIT;
      break;
    case NAY_BY_NBITS:
      if (p->nbits % (8 * WINDOW_UNIT) != 0) {
        return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 1024, the unit", 0);
      }
      nunits = p->nbits / 8 / WINDOW_UNIT;
      break;
  }
  if (nunits == 0) {
    const char *what = by == NAY_BY_FPR ? "fpr is too low for so many generations in 128 bytes"
                                        : "the size is below one unit of 128 bytes";
    return nay__fail(diag, NAY_EINVAL, what, 0);
  }
  *shape = (nay_shape){nunits, p->k != 0 ? p->k : nay__sliced_k(slices, nunits, n), g + 1};
  return NAY_OK;
}

/* At its worst: all generations full, just before the oldest goes. */
static double window_fpr(const nay_shape *shape, uint64_t nkeys) {
  unsigned all = window_all(shape);
  if (nkeys == 0) return 0;
  return nay__sliced_fpr(window_slices(all), shape->nunits, shape->k,
                         window_per_generation(nkeys, all));
}

static void window_foresee(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  unsigned g = window_all(shape) - 1;
  uint64_t length = params->window != 0 ? params->window : params->nkeys;
  plan->generations = g;
  plan->window_error = (double)(nay__ceil_div(length, g) * (g + 1)) / (double)length - 1;
}

static void window_init(nay_filter *f, const nay_params *params) {
  nay__store64le(f->bits.bytes + WINDOW_AT_TICKS, params->window);
  nay__store64le(f->bits.bytes + WINDOW_AT_PER_GENERATION,
                 window_per_generation(f->nkeys, window_all(&f->shape)));
}

static void window_recall(const nay_filter *f, nay_params *params) {
  params->nbits = f->shape.nunits * WINDOW_UNIT * 8;
  params->generations = window_all(&f->shape) - 1;
  params->window = nay__load64le(f->bits.bytes + WINDOW_AT_TICKS);
}

/* Keys go, the clock stays: time never goes back. */
static nay_status window_clear(nay_filter *f) {
  nay__store32le(f->bits.bytes + WINDOW_AT_NEWEST, 0);
  memset(f->bits.bytes + WINDOW_AT_COUNTS, 0, f->nbytes - WINDOW_AT_COUNTS);
  return NAY_OK;
}

/* ---- what it knows of itself ---- */

/* For one slice with x of its bits set: the keys in it, and the chance that it claims a stranger.
 */
typedef struct window_tables {
  double keys[64 / 2 * WINDOW_WORDS + 1], claims[64 / 2 * WINDOW_WORDS + 1];
} window_tables;

static void window_fill_tables(const nay_shape *shape, window_tables *t) {
  uint32_t nbits = window_slices(window_all(shape)).nbits;
  for (uint32_t x = 0; x <= nbits; x++) {
    t->keys[x] = nay__estimate_keys(nbits, shape->k, x);
    t->claims[x] = nay__ipow((double)x / nbits, shape->k);
  }
}

static void window_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b;
  (void)factor;
  unsigned all = window_all(&a->shape);
  uint64_t first = 0; /* the lowest bit of each cell */
  for (unsigned cell = 0; cell < 64 / all; cell++) first |= (uint64_t)1 << cell * all;
  window_tables t;
  window_fill_tables(&a->shape, &t);
  nay_census c = {a->shape.nunits * WINDOW_UNIT * 8, 0, 0, 0};
  for (uint64_t u = 0; u < a->shape.nunits; u++) {
    const uint8_t *unit = a->bits.bytes + WINDOW_HEADER + u * WINDOW_UNIT;
    double nay = 1;
    for (unsigned i = 0; i < all; i++) {
      unsigned x = 0;
      for (unsigned w = 0; w < WINDOW_WORDS; w++) {
        x += nay__popcount64(nay__load64le(unit + w * 8) >> i & first);
      }
      c.nbits_set += x;
      c.nkeys += t.keys[x];
      nay *= 1 - t.claims[x];
    }
    c.fpr += (1 - nay) / (double)a->shape.nunits;
  }
  *census = c;
}

static void window_describe(const nay_filter *f, nay_stats *stats) {
  const uint8_t *header = f->bits.bytes;
  stats->nbits = f->nbytes * 8;
  stats->nlevels = window_all(&f->shape);
  stats->clock = nay__load64le(header + WINDOW_AT_CLOCK);
  stats->overloaded = false; /* g + 1 generations may hold more than a window */
  for (unsigned i = 0; i < window_all(&f->shape); i++) {
    uint64_t planned = nay__load64le(header + WINDOW_AT_PER_GENERATION);
    stats->overloaded |= window_count(f, i) > planned + planned / 20;
  }
}

/* ---- bytes from outside ---- */

static bool window_header_ok(const nay_shape *shape, const uint8_t *header) {
  unsigned all = window_all(shape);
  uint64_t ticks = nay__load64le(header + WINDOW_AT_TICKS);
  uint32_t clock_set = nay__load32le(header + WINDOW_AT_CLOCK_SET);
  size_t counts_end = WINDOW_AT_COUNTS + all * 8;
  return nay__load32le(header + WINDOW_AT_NEWEST) < all && clock_set <= 1 &&
         (ticks == 0 || ticks >= all - 1) && (ticks != 0 || clock_set == 0) &&
         (clock_set != 0 || nay__load64le(header + WINDOW_AT_CLOCK) == 0) &&
         nay__load64le(header + WINDOW_AT_PER_GENERATION) != 0 &&
         nay__all_zero(header + WINDOW_AT_ZERO, WINDOW_AT_COUNTS - WINDOW_AT_ZERO) &&
         nay__all_zero(header + counts_end, WINDOW_HEADER - counts_end);
}

static nay_status window_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  if (!window_header_ok(shape, payload)) {
    return nay__fail(diag, NAY_ECORRUPT, "a field of the window's header is out of range", 0);
  }
  unsigned used = 64 / window_all(shape) * window_all(shape);
  for (size_t at = WINDOW_HEADER; used < 64 && at < len; at += 8) {
    if (nay__load64le(payload + at) >> used != 0) {
      return nay__fail(diag, NAY_ECORRUPT, "the rest of a word is not zero", at);
    }
  }
  return NAY_OK;
}

const nay_family nay__family_window = {
    .kind = NAY_WINDOW,
    .name = "window",
    .traits = NAY_CAN_ADD | NAY_CAN_EXPIRE,
    .ordered = true,
    .plan = window_plan,
    .payload = window_payload,
    .fpr = window_fpr,
    .foresee = window_foresee,
    .describe = window_describe,
    .init = window_init,
    .clear = window_clear,
    .recall = window_recall,
    .add = window_add,
    .test = window_test,
    .add64 = window_add64,
    .test64 = window_test64,
    .advance = window_advance,
    .census = window_census,
    .check = window_check,
};
#undef WINDOW_DEFAULT
#undef WINDOW_G32
#undef WINDOW_HEADER
#undef WINDOW_MAX_GENERATIONS
#undef WINDOW_UNIT
#undef WINDOW_WORDS

/* ==== src/family/cuckoo.c =================================================================== */
/*
 * cuckoo.c - cuckoo filter: a short tag of each key in one of two buckets; removal at low rates.
 *
 *   payload   | header 64 | bucket 0 | bucket 1 | ... | at least 8 zero bytes, to 64 |
 *   bucket    | tag | tag | tag | tag |        four tags of f bits, packed; 0 is an empty slot
 *
 * A key has a home bucket i and a tag; its other bucket is computable from either and the tag
 * alone, so a tag can move without its key [1]:
 *
 *   alt(i) = (r - i) mod m      r odd, from the tag; m even: any even number of buckets
 *
 * alt(alt(i)) = i, and alt(i) is never i, as 2i is not odd. Adding to two full buckets moves tags
 * out of the way: the shortest chain of moves that ends in a free slot is searched breadth first
 * before anything is written. So a failed add has changed nothing, the same operations give the
 * same bytes, and there is no state of a random walk to keep.
 *
 * The rate is that of 8 tags met by chance: 1 - (1 - 1/t)^(8 load), load at most 0.95. Tags are
 * bits of the hash, with 1 in place of 0: t = 4^f / (2^f + 2), as two of 2^f values are one.
 *
 * GROWING. Not by a chain of filters: a key that matches in two of them by chance cannot be removed
 * safely, since the tag taken out may be another key's only one. Instead tags start with spare
 * bits, one for each doubling to come. Doubling moves the top spare bit of each tag into its bucket
 * number: bucket I becomes 2I and 2I + 1, nothing needs to be evicted, and equal keys stay equal:
 *
 *   tag      | spare: D - d bits | low: F bits, never 0 |       after d doublings of at most D
 *   bucket I = i * 2^d + the d spare bits already used;  alt acts on i, with r from low
 *
 * The rate doubles with each step and arrives, after the last, where it was planned; the memory for
 * spare bits is largest when the filter is smallest.
 *
 * [1] Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo filter, CoNEXT 2014. The sum form of alt for
 * any even m is that of Lemire's cuckoofilter_stable.
 */

#define CUCKOO_HEADER 64u
#define CUCKOO_SLOTS 4u
#define CUCKOO_TAIL 8u /* a tag is loaded as eight bytes */
#define CUCKOO_MIN_TAG 6u
#define CUCKOO_MAX_TAG 32u
#define CUCKOO_MAX_COPIES 8u
#define CUCKOO_NODES 1024u /* of a search; 95 % load needs a few dozen: tests/stats */
#define CUCKOO_LOAD 0.95
#define CUCKOO_MAX_BUCKETS ((uint64_t)1 << 53) /* 2^60 bits of the widest tags */

/* Header fields; the rest is zero. */
enum {
  CUCKOO_AT_DOUBLINGS = 0,   /* u64 */
  CUCKOO_AT_NENTRIES = 8,    /* u64: tags in the table */
  CUCKOO_AT_MAX_NBYTES = 16, /* u64: 0 is no limit */
  CUCKOO_AT_END = 24,
};

/* shape.extra: low tag bits F, doublings D, and the mode that adds a key once only. */
#define CUCKOO_UNIQUE 0x10000u
static uint32_t cuckoo_extra(unsigned low_bits, unsigned doublings) {
  return low_bits | doublings << 8;
}
static unsigned cuckoo_low_bits(const nay_shape *shape) { return shape->extra & 255; }
static unsigned cuckoo_most_doublings(const nay_shape *shape) { return shape->extra >> 8 & 255; }

/* ---- where things are ---- */

typedef struct cuckoo_table {
  uint8_t *slots;
  uint64_t m;         /* buckets before the first doubling */
  unsigned d, spare;  /* doublings done and still to come */
  unsigned low, f;    /* bits of a tag: those that stay, all */
  bool narrow;        /* f <= 16: a bucket is one word */
  uint64_t ones, top; /* narrow: the lowest and the highest bit of each tag of a bucket */
} cuckoo_table;

NAY_INLINE void cuckoo_set_width(cuckoo_table *t, bool narrow) {
  t->f = t->low + t->spare;
  t->narrow = narrow;
  if (!narrow) return;
  uint64_t pair = 1 | (uint64_t)1 << t->f;
  t->ones = pair | pair << 2 * t->f;
  t->top = t->ones << (t->f - 1);
}

static cuckoo_table cuckoo_open(const nay_shape *shape, uint8_t *payload, unsigned d) {
  cuckoo_table t = {.slots = payload + CUCKOO_HEADER, .m = shape->nunits, .d = d};
  t.low = cuckoo_low_bits(shape);
  t.spare = cuckoo_most_doublings(shape) - d;
  cuckoo_set_width(&t, t.low + t.spare <= 16);
  return t;
}

static cuckoo_table cuckoo_of(const nay_filter *f) {
  return cuckoo_open(&f->shape, f->bits.bytes,
                     (unsigned)nay__load64le(f->bits.bytes + CUCKOO_AT_DOUBLINGS));
}

/* The usual filter: it does not grow and has at most 16 bits in a tag. */
static bool cuckoo_is_plain(const nay_shape *shape) { return (shape->extra & 0xffffu) <= 16; }

/* The same table for it, with what the compiler then knows: no doublings, no spare bits, narrow. */
NAY_INLINE cuckoo_table cuckoo_plain(const nay_bits *b, unsigned tag_bits) {
  cuckoo_table t = {.slots = b->bytes + CUCKOO_HEADER, .m = b->nunits, .low = tag_bits};
  cuckoo_set_width(&t, true);
  return t;
}

static uint64_t cuckoo_nbuckets(const cuckoo_table *t) { return t->m << t->d; }

static uint64_t cuckoo_nbits(const nay_shape *shape, unsigned d) {
  uint64_t f = cuckoo_low_bits(shape) + cuckoo_most_doublings(shape) - d;
  return (shape->nunits << d) * CUCKOO_SLOTS * f;
}

static uint64_t cuckoo_nbytes(const nay_shape *shape, unsigned d) {
  return CUCKOO_HEADER +
         nay__round_up(nay__ceil_div(cuckoo_nbits(shape, d), 8) + CUCKOO_TAIL, NAY_CACHE_LINE);
}

/* ---- slots and buckets ---- */

NAY_INLINE uint64_t cuckoo_mask(unsigned bits) { return ((uint64_t)1 << bits) - 1; }

/* Slots are named by the bit at which they start, counted from the first bucket. */
NAY_INLINE uint64_t cuckoo_bucket_bit(const cuckoo_table *t, uint64_t bucket) {
  return bucket * CUCKOO_SLOTS * t->f;
}

NAY_INLINE uint64_t cuckoo_get(const cuckoo_table *t, uint64_t bit) {
  return nay__load64le(t->slots + (bit >> 3)) >> (bit & 7) & cuckoo_mask(t->f);
}

NAY_INLINE void cuckoo_set(const cuckoo_table *t, uint64_t bit, uint64_t tag) {
  uint8_t *at = t->slots + (bit >> 3);
  uint64_t word = nay__load64le(at) & ~(cuckoo_mask(t->f) << (bit & 7));
  nay__store64le(at, word | tag << (bit & 7));
}

NAY_INLINE const uint8_t *cuckoo_bucket_at(const cuckoo_table *t, uint64_t bucket) {
  return t->slots + (cuckoo_bucket_bit(t, bucket) >> 3);
}

/* Narrow tags: the bucket from bit 0 on, rubbish above it. Even ones fill whole bytes. */
NAY_INLINE uint64_t cuckoo_bucket_word(const cuckoo_table *t, uint64_t bucket) {
  if (t->f % 2 == 0) return nay__load64le(t->slots + bucket * (t->f / 2));
  uint64_t bit = cuckoo_bucket_bit(t, bucket);
  return nay__load64le(t->slots + (bit >> 3)) >> (bit & 7);
}

/*
 * The slots that hold a tag (0: the empty ones), one bit each at the top of the slot's place. Up to
 * 16 bits a bucket is one word and all slots are compared at once: a field x - tag is 0 exactly
 * when neither its top bit nor the carry from the bits below it is set.
 */
NAY_INLINE uint64_t cuckoo_match(const cuckoo_table *t, uint64_t bucket, uint64_t tag) {
  if (t->narrow) {
    uint64_t x = cuckoo_bucket_word(t, bucket) ^ tag * t->ones;
    uint64_t rest = t->top - t->ones; /* each field: all bits below the top one */
    return ~(((x & rest) + rest) | x) & t->top;
  }
  uint64_t found = 0;
  for (unsigned slot = 0; slot < CUCKOO_SLOTS; slot++) {
    uint64_t bit = cuckoo_bucket_bit(t, bucket) + slot * t->f;
    found |= (uint64_t)(cuckoo_get(t, bit) == tag) << slot;
  }
  return found;
}

/* The first slot of a bucket's match, which is not empty. */
NAY_INLINE uint64_t cuckoo_first(const cuckoo_table *t, uint64_t bucket, uint64_t match) {
  unsigned at = nay__ctz64(match);
  return cuckoo_bucket_bit(t, bucket) + (t->narrow ? at - (t->f - 1) : at * t->f);
}

/* How many slots a match names: the fields are summed by one multiplication. */
NAY_INLINE unsigned cuckoo_count_of(const cuckoo_table *t, uint64_t match) {
  if (!t->narrow) return nay__popcount64(match);
  return (unsigned)((match >> (t->f - 1)) * t->ones >> 3 * t->f & 7);
}

/* ---- keys ---- */

typedef struct cuckoo_key {
  uint64_t tag;
  uint64_t home, other;
} cuckoo_key;

/*
 * Tags to sums of buckets. Multiples of the tag would be spaced evenly, and then sums and
 * differences of them coincide: few buckets can be reached in two steps, and short tags fail at
 * 93 % load. Multiples of its square do not.
 */
NAY_INLINE uint64_t cuckoo_alt(const cuckoo_table *t, uint64_t bucket, uint64_t low) {
  uint64_t r = nay__reduce(low * low * 0x9e3779b97f4a7c15u, t->m) | 1, i = bucket >> t->d;
  uint64_t alt = r - i, more = alt + t->m;
  alt = more < alt ? more : alt; /* r - i below 0 is a large number, and then the sum is small */
  return alt << t->d | (bucket & cuckoo_mask(t->d));
}

/* High bits of the hash make the bucket, the lowest the tag that stays, those above it the spare.
 */
NAY_INLINE cuckoo_key cuckoo_locate(const cuckoo_table *t, uint64_t hash) {
  uint64_t low = hash & cuckoo_mask(t->low);
  low = low != 0 ? low : 1;
  uint64_t spare = hash >> t->low & cuckoo_mask(t->d + t->spare);
  cuckoo_key key = {.tag = (spare & cuckoo_mask(t->spare)) << t->low | low};
  key.home = nay__reduce(hash, t->m) << t->d | spare >> t->spare;
  key.other = cuckoo_alt(t, key.home, low);
  return key;
}

/*
 * Whether a bucket has the tag. To know that some field of x is 0 the carries that cuckoo_match
 * avoids do no harm: x - 1 borrows from fields above the first that is 0 only.
 */
NAY_INLINE bool cuckoo_has(const cuckoo_table *t, const cuckoo_key *key) {
  if (!t->narrow) {
    return (cuckoo_match(t, key->home, key->tag) | cuckoo_match(t, key->other, key->tag)) != 0;
  }
  uint64_t ones = t->ones;
  NAY_OPAQUE(ones); /* one product: compilers would make it of six shifts and sums */
  uint64_t same = key->tag * ones;
  uint64_t home = cuckoo_bucket_word(t, key->home) ^ same;
  uint64_t other = cuckoo_bucket_word(t, key->other) ^ same;
  return (((home - ones) & ~home) | ((other - ones) & ~other)) & t->top;
}

NAY_INLINE unsigned cuckoo_copies(const cuckoo_table *t, const cuckoo_key *key) {
  return cuckoo_count_of(t, cuckoo_match(t, key->home, key->tag)) +
         cuckoo_count_of(t, cuckoo_match(t, key->other, key->tag));
}

/* ---- making room ---- */

/* A bucket reached by moving the tag in `slot` of its parent there. */
typedef struct cuckoo_node {
  uint64_t bucket;
  uint16_t parent;
  uint8_t slot;
} cuckoo_node;

/* Moves the tags along the path to nodes[last], which has a free slot; the root's slot gets tag. */
static void cuckoo_shift(const cuckoo_table *t, const cuckoo_node *nodes, unsigned last,
                         uint64_t tag) {
  uint64_t to = cuckoo_first(t, nodes[last].bucket, cuckoo_match(t, nodes[last].bucket, 0));
  while (last > 1) { /* nodes 0 and 1 are the roots */
    unsigned parent = nodes[last].parent;
    uint64_t from = cuckoo_bucket_bit(t, nodes[parent].bucket) + nodes[last].slot * t->f;
    cuckoo_set(t, to, cuckoo_get(t, from));
    to = from;
    last = parent;
  }
  cuckoo_set(t, to, tag);
}

/*
 * Breadth first from both buckets: the four neighbours of a bucket are fetched together, and the
 * first with a free slot ends the search. No bucket can be on the path twice, because the part
 * between would make it longer than another that is found earlier.
 */
static bool cuckoo_evict(const cuckoo_table *t, const cuckoo_key *key) {
  cuckoo_node nodes[CUCKOO_NODES];
  nodes[0] = (cuckoo_node){key->home, 0, 0};
  nodes[1] = (cuckoo_node){key->other, 0, 0};
  for (unsigned next = 0, end = 2; next < end && end + CUCKOO_SLOTS <= CUCKOO_NODES; next++) {
    unsigned first = end;
    for (unsigned slot = 0; slot < CUCKOO_SLOTS; slot++) {
      uint64_t bucket = nodes[next].bucket;
      uint64_t tag = cuckoo_get(t, cuckoo_bucket_bit(t, bucket) + slot * t->f);
      uint64_t alt = cuckoo_alt(t, bucket, tag & cuckoo_mask(t->low));
      NAY_PREFETCH(cuckoo_bucket_at(t, alt));
      nodes[end++] = (cuckoo_node){alt, (uint16_t)next, (uint8_t)slot};
    }
    for (unsigned i = first; i < end; i++) {
      if (cuckoo_match(t, nodes[i].bucket, 0) == 0) continue;
      cuckoo_shift(t, nodes, i, key->tag);
      return true;
    }
  }
  return false;
}

/* The emptier of the two buckets: it keeps chains short until late. Chosen without a branch. */
NAY_INLINE bool cuckoo_insert(const cuckoo_table *t, const cuckoo_key *key) {
  uint64_t home = cuckoo_match(t, key->home, 0), other = cuckoo_match(t, key->other, 0);
  if (NAY_UNLIKELY((home | other) == 0)) return cuckoo_evict(t, key);
  bool at_home = cuckoo_count_of(t, home) >= cuckoo_count_of(t, other);
  uint64_t bucket = at_home ? key->home : key->other, match = at_home ? home : other;
  cuckoo_set(t, cuckoo_first(t, bucket, match), key->tag);
  return true;
}

/* Whether the next doubling would bring the key and all eight tags of its buckets together again.
 */
static bool cuckoo_inseparable(const cuckoo_table *t, const cuckoo_key *key) {
  uint64_t mask = cuckoo_mask(t->low) | (uint64_t)1 << (t->f - 1);
  for (unsigned i = 0; i < 2 * CUCKOO_SLOTS; i++) {
    uint64_t bucket = i < CUCKOO_SLOTS ? key->home : key->other;
    uint64_t tag = cuckoo_get(t, cuckoo_bucket_bit(t, bucket) + i % CUCKOO_SLOTS * t->f);
    if (((tag ^ key->tag) & mask) != 0) return false;
  }
  return true;
}

static void cuckoo_split(const cuckoo_table *from, const cuckoo_table *to) {
  for (uint64_t bucket = 0; bucket < cuckoo_nbuckets(from); bucket++) {
    unsigned used[2] = {0, 0};
    for (unsigned slot = 0; slot < CUCKOO_SLOTS; slot++) {
      uint64_t tag = cuckoo_get(from, cuckoo_bucket_bit(from, bucket) + slot * from->f);
      unsigned bit = (unsigned)(tag >> (from->f - 1));
      if (tag == 0) continue;
      uint64_t slot_bit = cuckoo_bucket_bit(to, bucket << 1 | bit) + used[bit]++ * to->f;
      cuckoo_set(to, slot_bit, tag & cuckoo_mask(to->f));
    }
  }
}

/* Twice the buckets, tags one bit shorter. Only when half full: fewer would be an enemy's work. */
static nay_status cuckoo_double(nay_filter *f, const cuckoo_key *key) {
  cuckoo_table from = cuckoo_of(f);
  uint64_t nentries = nay__load64le(f->bits.bytes + CUCKOO_AT_NENTRIES);
  uint64_t most = nay__load64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES);
  if (from.spare == 0 || nentries < cuckoo_nbuckets(&from) * CUCKOO_SLOTS / 2) return NAY_EFULL;
  if (cuckoo_inseparable(&from, key)) return NAY_EFULL;
  uint64_t nbytes = cuckoo_nbytes(&f->shape, from.d + 1);
  if (most != 0 && nbytes > most) return NAY_EFULL;
  nay_memory fresh;
  NAY_TRY(nay__payload_new(f, nbytes, &fresh));
  memcpy(fresh.at, f->bits.bytes, CUCKOO_HEADER);
  nay__store64le(fresh.at + CUCKOO_AT_DOUBLINGS, from.d + 1);
  cuckoo_table to = cuckoo_open(&f->shape, fresh.at, from.d + 1);
  cuckoo_split(&from, &to);
  nay__payload_take(f, &fresh, (size_t)nbytes);
  return NAY_OK;
}

/* ---- plan ---- */

/* The chance that one of the tags met in two buckets is the one looked for. */
static double cuckoo_rate(double tags, double load) {
  return 1 - nay__exp(2 * CUCKOO_SLOTS * load * nay__ln1p(-1 / tags));
}

/* Tags of f bits are as good as so many that are equally frequent. */
static double cuckoo_tags(unsigned f) {
  double all = (double)((uint64_t)1 << f);
  return all * all / (all + 2);
}

/* The highest load at which tags of f bits keep the rate; 0: none worth having. */
static double cuckoo_load_for(unsigned f, double fpr) {
  double most = nay__ln1p(-fpr) / (2 * CUCKOO_SLOTS * nay__ln1p(-1 / cuckoo_tags(f)));
  return most > CUCKOO_LOAD ? CUCKOO_LOAD : most < 0.05 ? 0 : most;
}

/*
 * Buckets for n keys at a load. Small tables fill unevenly, so they get some room: with it, adds of
 * n random keys failed in none of 10^5 trials for any n (tests/stats).
 */
static uint64_t cuckoo_buckets(uint64_t n, double load) {
  double room = load > 0.9 && n < 40000 ? 2 + 2.0 * nay__exp(0.4 * nay__ln((double)n)) : 0;
  double slots = (double)n / load + room;
  uint64_t m = (uint64_t)(slots / CUCKOO_SLOTS) + 1;
  return m + m % 2;
}

static nay_status cuckoo_plan_growth(const nay_params *p, nay_diag *diag, unsigned low,
                                     nay_shape *shape) {
  unsigned doublings = 0;
  for (uint64_t n = p->nkeys; n < p->max_nkeys; n *= 2) doublings++;
  if (p->max_nkeys > NAY_MAX_NKEYS)
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is above 2^56", 0);
  if (low + doublings > CUCKOO_MAX_TAG) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys: tags of 32 bits cannot grow that far", 0);
  }
  shape->extra = cuckoo_extra(low, doublings);
  if ((p->flags & NAY_UNIQUE) != 0) shape->extra |= CUCKOO_UNIQUE;
  if (p->max_nbytes != 0 && cuckoo_nbytes(shape, 0) > p->max_nbytes) {
    return nay__fail(diag, NAY_EINVAL, "max_nbytes is below the size of the table", 0);
  }
  return NAY_OK;
}

static nay_status cuckoo_size_by_rate(const nay_params *p, nay_diag *diag, unsigned *low,
                                      uint64_t *m) {
  unsigned f = p->tag_bits != 0 ? p->tag_bits : CUCKOO_MIN_TAG;
  while (p->tag_bits == 0 && f < CUCKOO_MAX_TAG && cuckoo_load_for(f, p->fpr) < CUCKOO_LOAD) f++;
  double load = cuckoo_load_for(f, p->fpr);
  if (load == 0) return nay__fail(diag, NAY_EINVAL, "fpr is too low for the tags", 0);
  /* doubling splits the table into parts that fill unevenly: plan the parts less full */
  if (p->max_nkeys > p->nkeys && load > 0.85) load = 0.85;
  *low = f;
  *m = cuckoo_buckets(p->nkeys, load);
  return NAY_OK;
}

/* The longest tags with which the keys fit into so many bytes of buckets. */
static nay_status cuckoo_size_by_bytes(const nay_params *p, double nbytes, nay_diag *diag,
                                       unsigned *low, uint64_t *m) {
  uint64_t least = cuckoo_buckets(p->nkeys, CUCKOO_LOAD);
  for (unsigned f = CUCKOO_MAX_TAG; f >= CUCKOO_MIN_TAG; f--) {
    if (p->tag_bits != 0 && f != p->tag_bits) continue;
    double fit = nbytes * 8 / (CUCKOO_SLOTS * f);
    if (fit < (double)least || fit > (double)CUCKOO_MAX_BUCKETS) continue;
    *low = f;
    *m = (uint64_t)fit & ~(uint64_t)1;
    return NAY_OK;
  }
  return nay__fail(diag, NAY_EINVAL, "the size is too small for nkeys tags of at least 6 bits", 0);
}

static nay_status cuckoo_size_by_nbits(const nay_params *p, nay_diag *diag, unsigned *low,
                                       uint64_t *m) {
  *low = p->tag_bits != 0 ? p->tag_bits : 12;
  if (p->nbits % (2 * CUCKOO_SLOTS * *low) != 0) {
    return nay__fail(diag, NAY_EINVAL, "nbits is not a multiple of 8 tags (tag_bits 0 means 12)",
                     0);
  }
  *m = p->nbits / (CUCKOO_SLOTS * *low);
  return NAY_OK;
}

static bool cuckoo_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  unsigned low = cuckoo_low_bits(shape), doublings = cuckoo_most_doublings(shape);
  if (shape->nunits < 2 || shape->nunits % 2 != 0 || shape->k != 2) return false;
  if ((shape->extra & ~(CUCKOO_UNIQUE | 0xffffu)) != 0) return false;
  if (low < CUCKOO_MIN_TAG || low + doublings > CUCKOO_MAX_TAG) return false;
  if (shape->nunits > CUCKOO_MAX_BUCKETS >> doublings) return false;
  *nbits = cuckoo_nbits(shape, 0);
  *nbytes = cuckoo_nbytes(shape, 0);
  return true;
}

static nay_status cuckoo_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  unsigned low = 0;
  nay_shape s = {0, 2, 0};
  NAY_TRY(nay__params_check(p, diag, &by));
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: cuckoo has no probes to choose", 0);
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: cuckoo does not fold", 0);
  if (p->tag_bits != 0 && (p->tag_bits < CUCKOO_MIN_TAG || p->tag_bits > CUCKOO_MAX_TAG)) {
    return nay__fail(diag, NAY_EINVAL, "tag_bits is not between 6 and 32", 0);
  }
  if (p->max_nkeys != 0 && (p->max_nkeys < p->nkeys || p->nkeys == 0)) {
    return nay__fail(diag, NAY_EINVAL, "max_nkeys is below nkeys, or without it", 0);
  }
  switch (by) {
    case NAY_BY_FPR: NAY_TRY(cuckoo_size_by_rate(p, diag, &low, &s.nunits)); break;
    case NAY_BY_BITS_PER_KEY:
      NAY_TRY(
          cuckoo_size_by_bytes(p, (double)p->nkeys * p->bits_per_key / 8, diag, &low, &s.nunits));
      break;
    case NAY_BY_NBYTES:
      NAY_TRY(cuckoo_size_by_bytes(
          p, (double)(p->nbytes - p->nbytes % NAY_CACHE_LINE) - CUCKOO_HEADER - CUCKOO_TAIL, diag,
          &low, &s.nunits));
      break;
    case NAY_BY_NBITS: NAY_TRY(cuckoo_size_by_nbits(p, diag, &low, &s.nunits)); break;
  }
  NAY_TRY(cuckoo_plan_growth(p, diag, low, &s));
  uint64_t nbits, nbytes;
  if (!cuckoo_payload(&s, &nbits, &nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size is above 2^53 buckets", 0);
  }
  *shape = s;
  return NAY_OK;
}

/* The doublings that nkeys keys need; the rate is that of the tags and the load there. */
static double cuckoo_fpr(const nay_shape *shape, uint64_t nkeys) {
  unsigned d = 0, most = cuckoo_most_doublings(shape), low = cuckoo_low_bits(shape);
  double slots = (double)shape->nunits * CUCKOO_SLOTS;
  for (; d < most && (double)nkeys > CUCKOO_LOAD * slots; d++) slots *= 2;
  double tags = cuckoo_tags(low) * (double)((uint64_t)1 << (most - d));
  double load = (double)nkeys / slots;
  return cuckoo_rate(tags, load < 1 ? load : 1);
}

static void cuckoo_foresee(const nay_params *params, const nay_shape *shape, nay_plan *plan) {
  plan->tag_bits = cuckoo_low_bits(shape) + cuckoo_most_doublings(shape);
  if (params->max_nkeys != 0) plan->fpr_limit = cuckoo_fpr(shape, params->max_nkeys);
}

static void cuckoo_init(nay_filter *f, const nay_params *params) {
  nay__store64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES, params->max_nbytes);
}

static void cuckoo_recall(const nay_filter *f, nay_params *params) {
  params->k = 0;
  params->tag_bits = cuckoo_low_bits(&f->shape);
  params->nbits = f->shape.nunits * CUCKOO_SLOTS * params->tag_bits;
  params->max_nkeys = params->nkeys << cuckoo_most_doublings(&f->shape);
  params->max_nbytes = nay__load64le(f->bits.bytes + CUCKOO_AT_MAX_NBYTES);
  if ((f->shape.extra & CUCKOO_UNIQUE) != 0) params->flags |= NAY_UNIQUE;
}

/* Keeps the size it has grown to: the keys that come next are as many as those that went. */
static nay_status cuckoo_clear(nay_filter *f) {
  memset(f->bits.bytes + CUCKOO_HEADER, 0, f->nbytes - CUCKOO_HEADER);
  nay__store64le(f->bits.bytes + CUCKOO_AT_NENTRIES, 0);
  return NAY_OK;
}

/* ---- add, test, remove, count ---- */

static void cuckoo_entries(nay_filter *f, int change) {
  uint8_t *at = f->bits.bytes + CUCKOO_AT_NENTRIES;
  nay__store64le(at, nay__load64le(at) + (uint64_t)(int64_t)change);
}

/* Adds at once, or says why not: NAY_EFULL, or NAY_ENOENT when no slot was found. */
NAY_INLINE nay_status cuckoo_try(nay_filter *f, const cuckoo_table *t, uint64_t hash,
                                 bool *is_new) {
  cuckoo_key key = cuckoo_locate(t, hash);
  bool found = cuckoo_has(t, &key);
  if (found) {
    if ((f->shape.extra & CUCKOO_UNIQUE) != 0) {
      *is_new = false;
      return NAY_OK;
    }
    if (cuckoo_copies(t, &key) == CUCKOO_MAX_COPIES) return NAY_EFULL;
  }
  if (!cuckoo_insert(t, &key)) return NAY_ENOENT;
  cuckoo_entries(f, 1);
  *is_new = !found;
  return NAY_OK;
}

static nay_status cuckoo_add_growing(nay_filter *f, uint64_t hash, bool *is_new) {
  for (;;) {
    cuckoo_table t = cuckoo_of(f);
    nay_status status = cuckoo_try(f, &t, hash, is_new);
    if (status != NAY_ENOENT) return status;
    cuckoo_key key = cuckoo_locate(&t, hash);
    NAY_TRY(cuckoo_double(f, &key));
  }
}

static nay_status cuckoo_add(nay_filter *f, nay_hash h, bool *is_new) {
  if (!cuckoo_is_plain(&f->shape)) return cuckoo_add_growing(f, h.lo, is_new);
  cuckoo_table t = cuckoo_plain(&f->bits, cuckoo_low_bits(&f->shape));
  nay_status status = cuckoo_try(f, &t, h.lo, is_new);
  return status == NAY_ENOENT ? NAY_EFULL : status;
}

NAY_INLINE bool cuckoo_test_in(const cuckoo_table *t, uint64_t hash) {
  cuckoo_key key = cuckoo_locate(t, hash);
  return cuckoo_has(t, &key);
}

NAY_INLINE void cuckoo_prefetch(const cuckoo_table *t, const cuckoo_key *key) {
  NAY_PREFETCH(cuckoo_bucket_at(t, key->home));
  NAY_PREFETCH(cuckoo_bucket_at(t, key->other));
}

/* For the usual tables: as cuckoo_test_each, with what the compiler then knows. */
NAY_INLINE uint64_t cuckoo_test_batch(const nay_filter *f, const cuckoo_table *t,
                                      const uint64_t *hashes, unsigned n) {
  cuckoo_key keys[64];
  uint8_t maybe[64] = {0};
  for (unsigned i = 0; i < n; i++) {
    keys[i] = cuckoo_locate(t, hashes[i]);
    if (!f->bits.in_cache) cuckoo_prefetch(t, &keys[i]);
  }
  for (unsigned i = 0; i < n; i++) maybe[i] = cuckoo_has(t, &keys[i]);
  return nay__bits_of(maybe);
}

/* For all tables. */
static NAY_NOINLINE uint64_t cuckoo_test_each(const nay_filter *f, const uint64_t *hashes,
                                              unsigned n) {
  cuckoo_table t = cuckoo_of(f);
  cuckoo_key keys[64];
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    keys[i] = cuckoo_locate(&t, hashes[i]);
    cuckoo_prefetch(&t, &keys[i]);
  }
  for (unsigned i = 0; i < n; i++) bitmap |= (uint64_t)cuckoo_has(&t, &keys[i]) << i;
  return bitmap;
}

/*
 * A probe waits for two cache lines, and the fewer instructions it has the more probes wait at the
 * same time. So the widths of 10 %, 3 %, 1 %, 0.2 %, 0.1 % and 0.01 % have code of their own.
 */
#define CUCKOO_WIDTHS(X) X(7) X(8) X(10) X(12) X(13) X(16)

#define CUCKOO_PROBE(tag_bits)                                                            \
  static bool cuckoo_probe_##tag_bits(const nay_bits *b, uint64_t hash) {                 \
    cuckoo_table t = cuckoo_plain(b, tag_bits);                                           \
    return cuckoo_test_in(&t, hash);                                                      \
  }                                                                                       \
  NAY_BMI2 static bool cuckoo_probe_##tag_bits##_bmi2(const nay_bits *b, uint64_t hash) { \
    cuckoo_table t = cuckoo_plain(b, tag_bits);                                           \
    return cuckoo_test_in(&t, hash);                                                      \
  }
CUCKOO_WIDTHS(CUCKOO_PROBE)
#undef CUCKOO_PROBE

static nay_probe cuckoo_kernel(nay_filter *f) {
  bool bmi2 = f->kernels->popcnt;
  unsigned bits = f->shape.extra & 0xffffu;
  nay_probe probe = f->kernels->cuckoo_probe != NULL ? f->kernels->cuckoo_probe(bits) : NULL;
  if (probe != NULL) return probe;
  switch (bits) {
#define CUCKOO_CASE(tag_bits) \
  case tag_bits: return bmi2 ? cuckoo_probe_##tag_bits##_bmi2 : cuckoo_probe_##tag_bits;
    CUCKOO_WIDTHS(CUCKOO_CASE)
#undef CUCKOO_CASE
    default: return NULL;
  }
}

static uint64_t cuckoo_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                              unsigned n) {
  (void)hi;
  cuckoo_table t;
  if (n == 64 && f->kernels->cuckoo_test64 != NULL && cuckoo_is_plain(&f->shape) &&
      f->shape.nunits >> 28 == 0) {
    nay_cuckoo_map map = {f->bits.bytes + CUCKOO_HEADER, f->shape.nunits,
                          cuckoo_low_bits(&f->shape)};
    return f->kernels->cuckoo_test64(&map, lo);
  }
  switch (f->shape.extra & 0xffffu) {
#define CUCKOO_CASE(tag_bits) \
  case tag_bits: t = cuckoo_plain(&f->bits, tag_bits); return cuckoo_test_batch(f, &t, lo, n);
    CUCKOO_WIDTHS(CUCKOO_CASE)
#undef CUCKOO_CASE
    default: return cuckoo_test_each(f, lo, n);
  }
}

static bool cuckoo_test(const nay_filter *f, nay_hash h) {
  cuckoo_table t = cuckoo_of(f);
  return cuckoo_test_in(&t, h.lo);
}

static nay_status cuckoo_remove(nay_filter *f, nay_hash h) {
  cuckoo_table t = cuckoo_of(f);
  cuckoo_key key = cuckoo_locate(&t, h.lo);
  uint64_t bucket = key.home, match = cuckoo_match(&t, bucket, key.tag);
  if (match == 0) match = cuckoo_match(&t, bucket = key.other, key.tag);
  if (match == 0) return NAY_ENOENT;
  cuckoo_set(&t, cuckoo_first(&t, bucket, match), 0);
  cuckoo_entries(f, -1);
  return NAY_OK;
}

static nay_status cuckoo_count(const nay_filter *f, nay_hash h, uint64_t *count) {
  cuckoo_table t = cuckoo_of(f);
  cuckoo_key key = cuckoo_locate(&t, h.lo);
  *count = cuckoo_copies(&t, &key);
  return NAY_OK;
}

static nay_status cuckoo_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                               uint64_t *bitmap) {
  (void)hi;
  cuckoo_table t = cuckoo_of(f);
  for (unsigned i = 0; i < n; i++) {
    cuckoo_key key = cuckoo_locate(&t, lo[i]);
    cuckoo_prefetch(&t, &key);
  }
  *bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(cuckoo_add(f, (nay_hash){lo[i], 0}, &is_new));
    *bitmap |= (uint64_t)is_new << i;
  }
  return NAY_OK;
}

/* ---- the whole filter ---- */

static void cuckoo_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b;
  (void)factor;
  cuckoo_table t = cuckoo_of(a);
  uint64_t nentries = nay__load64le(a->bits.bytes + CUCKOO_AT_NENTRIES);
  double slots = (double)cuckoo_nbuckets(&t) * CUCKOO_SLOTS;
  double tags = cuckoo_tags(t.low) * (double)((uint64_t)1 << t.spare);
  *census = (nay_census){cuckoo_nbits(&a->shape, t.d), nentries * t.f, (double)nentries,
                         cuckoo_rate(tags, (double)nentries / slots)};
}

static void cuckoo_describe(const nay_filter *f, nay_stats *stats) {
  cuckoo_table t = cuckoo_of(f);
  stats->nlevels = 1 + t.d;
  stats->tag_bits = t.f;
  if (t.d + t.spare == 0) return;
  stats->fpr_planned = cuckoo_rate(cuckoo_tags(t.low), CUCKOO_LOAD);
  stats->overloaded = stats->fpr_now > stats->fpr_planned;
}

/* ---- bytes from outside ---- */

static nay_status cuckoo_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  if (len < CUCKOO_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", 0);
  uint64_t d = nay__load64le(payload + CUCKOO_AT_DOUBLINGS), nentries = 0;
  if (d > cuckoo_most_doublings(shape) || cuckoo_nbytes(shape, (unsigned)d) != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit its header",
                     CUCKOO_AT_DOUBLINGS);
  }
  uint64_t most = nay__load64le(payload + CUCKOO_AT_MAX_NBYTES);
  if (most != 0 && len > most) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload is longer than its limit",
                     CUCKOO_AT_MAX_NBYTES);
  }
  if (!nay__all_zero(payload + CUCKOO_AT_END, CUCKOO_HEADER - CUCKOO_AT_END)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", CUCKOO_AT_END);
  }
  cuckoo_table t = cuckoo_open(shape, (uint8_t *)(uintptr_t)payload, (unsigned)d);
  for (uint64_t i = 0; i < cuckoo_nbuckets(&t) * CUCKOO_SLOTS; i++) {
    uint64_t tag = cuckoo_get(&t, i * t.f);
    nentries += tag != 0;
    if (tag != 0 && (tag & cuckoo_mask(t.low)) == 0) {
      return nay__fail(diag, NAY_ECORRUPT, "an impossible tag", CUCKOO_HEADER + (i * t.f >> 3));
    }
  }
  if (nentries != nay__load64le(payload + CUCKOO_AT_NENTRIES)) {
    return nay__fail(diag, NAY_ECORRUPT, "another number of tags than the header says",
                     CUCKOO_AT_NENTRIES);
  }
  uint64_t nbits = cuckoo_nbits(shape, (unsigned)d), end = CUCKOO_HEADER + (nbits >> 3);
  bool clear = payload[end] >> (nbits & 7) == 0 && nay__all_zero(payload + end + 1, len - end - 1);
  return clear ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "padding is not zero", end);
}

const nay_family nay__family_cuckoo = {
    .kind = NAY_CUCKOO,
    .name = "cuckoo",
    .traits = NAY_CAN_ADD | NAY_CAN_REMOVE | NAY_CAN_COUNT | NAY_CAN_GROW,
    .self_sized = true,
    .ordered = true,
    .plan = cuckoo_plan,
    .payload = cuckoo_payload,
    .fpr = cuckoo_fpr,
    .foresee = cuckoo_foresee,
    .describe = cuckoo_describe,
    .init = cuckoo_init,
    .clear = cuckoo_clear,
    .kernel = cuckoo_kernel,
    .recall = cuckoo_recall,
    .add = cuckoo_add,
    .test = cuckoo_test,
    .add64 = cuckoo_add64,
    .test64 = cuckoo_test64,
    .remove = cuckoo_remove,
    .count = cuckoo_count,
    .census = cuckoo_census,
    .check = cuckoo_check,
};
#undef CUCKOO_HEADER
#undef CUCKOO_LOAD
#undef CUCKOO_MAX_BUCKETS
#undef CUCKOO_MAX_COPIES
#undef CUCKOO_MAX_TAG
#undef CUCKOO_MIN_TAG
#undef CUCKOO_NODES
#undef CUCKOO_SLOTS
#undef CUCKOO_TAIL
#undef CUCKOO_UNIQUE
#undef CUCKOO_WIDTHS

/* ==== src/family/fuse.c ===================================================================== */
/*
 * fuse.c - binary fuse and xor filters: a static set as a system of equations.
 *
 * An array of r-bit slots is filled so that for every key the xor of its 3 (or 4) slots is its
 * r-bit fingerprint. A key that is not in the set finds its fingerprint there by accident, once in
 * 2^r: that is the whole rate, whatever the number of keys. A probe reads 3 slots and compares.
 *
 *   xor    thirds of the array                fuse   windows of neighbouring segments
 *          |----*-----|-*--------|--------*-|        |---|-*-|*--|--*|---|---|---| ...
 *
 * In a xor filter [1] each third gives one slot, and 1.23 n slots are needed for the equations to
 * come apart (peel.c). In a fuse filter [2] the slots lie in 3 neighbouring segments of a long
 * chain; its two ends come apart first and the rest follows: 1.125 n slots are enough, 1.075 n with
 * 4 slots, and a build walks through memory instead of jumping about. Short chains need more:
 *
 *   keys      10^3   10^4   10^5   10^6 and more        (slots per key)
 *   3 slots   1.41   1.28   1.19   1.125 - 1.14
 *   4 slots   1.38   1.23   1.13   1.075 - 1.09
 *
 * Above 2^21 keys the set is cut into shards of 2^20 by the top bits of the hash, each a filter of
 * its own with its own factor: they are built in cache, by several threads, and the sizes are
 * equal, so that there is nothing to look up but the factor. Each has room for 3 standard
 * deviations more keys than its share.
 *
 * Bytes: fuse.h and doc/formats. A probe costs 3 cache lines (4), in parallel.
 *
 * [1] Graf, Lemire: Xor filters. ACM JEA 25, 2020.
 * [2] Graf, Lemire: Binary fuse filters. ACM JEA 27, 2022. The segment lengths are theirs.
 */

/* ==== src/family/fuse.h ===================================================================== */
/*
 * fuse.h - the bytes of xor and fuse filters, and where a key's slots are. fuse.c probes them,
 * peel.c fills them.
 *
 *   0    u64 premix        8   u32 slots of one shard      12   u32 segment length (xor: 0)
 *   16   u32 span: how many slots can be a key's first     20   u32 zero
 *   24   u64 for each shard: its factor, odd; or the same answer for every key (NAY_FUSE_SAYS_)
 *   ...  zeros to a multiple of 64 (8 when there is one shard), then the arrays, one after the
 * other
 *
 * An array is its slots, r bits each, least significant bit first, then zeros.
 */
#ifndef NAY_FUSE_H
#define NAY_FUSE_H

/* ==== src/family/static_hash.h ============================================================== */
/*
 * static_hash.h - how static families take a hash apart. Part of the file format.
 *
 *   x      = hash, or mix(hash ^ premix) when the filter has a premix
 *   shard  = floor(x * nshards / 2^64), the top bits of x
 *   m      = high half xor low half of (x ^ seed) * C: 64 bits that look new for each seed
 *
 * Hashes come well mixed, so a premix is drawn only for sets that crowd some shards (hashes of the
 * caller's that are not what they should be). In a ribbon a seed is stored for each shard, 0 is the
 * first tried; fuse and xor have seed 0 and a factor for each shard instead (family/fuse.h).
 */
#ifndef NAY_STATIC_HASH_H
#define NAY_STATIC_HASH_H

#define NAY_STATIC_G 0x9e3779b97f4a7c15u
#define NAY_STATIC_C 0xd6e8feb86659fd93u /* odd, 40 of 64 bits set */
#define NAY_STATIC_F 0xa0761d6478bd642fu /* odd; for fingerprints */

NAY_INLINE uint64_t nay__premix(uint64_t hash, uint64_t premix) {
  return NAY_LIKELY(premix == 0) ? hash : nay_hash_mix(hash ^ premix);
}

NAY_INLINE uint64_t nay__shard_of(uint64_t x, uint64_t nshards) { return nay__reduce(x, nshards); }

NAY_INLINE uint64_t nay__remix(uint64_t x, uint32_t seed) {
  uint64_t low, high = nay__mul128(x ^ seed, NAY_STATIC_C, &low);
  return high ^ low;
}

/* nay__print_of: 64 bits for fingerprints; the top ones are the best. */
NAY_INLINE uint64_t nay__print_of(uint64_t m) { return m * NAY_STATIC_F; }

#endif /* NAY_STATIC_HASH_H */

#define NAY_FUSE_MIN_BITS 4u
#define NAY_FUSE_MAX_BITS 32u
#define NAY_FUSE_HEADER 24u
#define NAY_FUSE_SAYS_NAY 0u        /* the shard has no key */
#define NAY_FUSE_SAYS_MAYBE 2u      /* no factor worked */
#define NAY_FUSE_MAX_SEGMENT 65536u /* slices of 16 bits of m */

typedef enum nay_fuse_layout { NAY_FUSE_3, NAY_FUSE_4, NAY_XOR_3 } nay_fuse_layout;

/* nay_fuse_dims: what a number of keys needs; see math in fuse.c. */
typedef struct nay_fuse_dims {
  uint64_t nshards;
  uint32_t slots;   /* of one shard */
  uint32_t segment; /* length; 0 for xor */
} nay_fuse_dims;

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys);

NAY_INLINE uint64_t nay__fuse_nshards(const nay_shape *shape) { return shape->extra >> 8; }
NAY_INLINE unsigned nay__fuse_bits(const nay_shape *shape) { return shape->extra & 255; }

NAY_INLINE uint64_t nay__fuse_align(uint64_t nshards) { return nshards == 1 ? 8 : 64; }

NAY_INLINE uint64_t nay__fuse_arrays_at(uint64_t nshards) {
  return nay__round_up(NAY_FUSE_HEADER + nshards * 8, nay__fuse_align(nshards));
}

/* nay__fuse_stride: bytes of one array. 8 more than the slots need: a slot is read as a word. */
NAY_INLINE uint64_t nay__fuse_stride(uint64_t nshards, uint64_t slots, unsigned bits) {
  uint64_t bytes = (slots * bits + 7) / 8 + (bits == 8 || bits == 16 || bits == 32 ? 0 : 8);
  return nay__round_up(bytes, nay__fuse_align(nshards));
}

NAY_INLINE nay_fuse_view nay__fuse_view_of(const nay_shape *shape, uint8_t *payload) {
  uint64_t nshards = nay__fuse_nshards(shape), slots = shape->nunits / nshards;
  return (nay_fuse_view){.nshards = nshards,
                         .stride = nay__fuse_stride(nshards, slots, nay__fuse_bits(shape)),
                         .span = nay__load32le(payload + 16),
                         .segment = nay__load32le(payload + 12),
                         .factors = payload + NAY_FUSE_HEADER,
                         .arrays = payload + nay__fuse_arrays_at(nshards)};
}

NAY_INLINE uint64_t nay__fuse_factor(const nay_fuse_view *v, uint64_t shard) {
  return nay__load64le(v->factors + 8 * shard);
}

NAY_INLINE bool nay__fuse_is_fixed(uint64_t factor) { return factor % 2 == 0; }

NAY_INLINE unsigned nay__fuse_arity(nay_fuse_layout layout) { return layout == NAY_FUSE_4 ? 4 : 3; }

/*
 * nay__fuse_slots: the slots and the fingerprint of a key, of which only m = nay__remix(x, 0) is
 * needed. The top bits of m choose the first slot: memory can be asked for before the factor of the
 * shard is there. The product of m and that factor chooses the others and the fingerprint. fuse:
 * its slices of 16 bits choose one slot in each of the segments that follow; a fourth slot takes
 * another product. xor: slices of 32 bits choose one slot in each third of the array.
 */
NAY_INLINE uint32_t nay__fuse_slots(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                                    uint64_t m, unsigned bits, uint64_t at[4]) {
  uint64_t w = m * factor, mask = v->segment - 1;
  at[0] = nay__reduce(m, v->span);
  if (layout == NAY_XOR_3) {
    at[1] = v->span + ((w >> 32) * v->span >> 32);
    at[2] = 2 * v->span + ((uint64_t)(uint32_t)(w >> 11) * v->span >> 32);
  } else {
    at[1] = (at[0] + v->segment) ^ (nay__rotl64(w, 16) & mask);
    at[2] = (at[0] + 2 * v->segment) ^ (nay__rotl64(w, 32) & mask);
  }
  if (layout == NAY_FUSE_4) {
    at[3] = (at[0] + 3 * v->segment) ^ (nay__rotl64(w * NAY_STATIC_F, 16) & mask);
  }
  return (uint32_t)(w & (((uint64_t)1 << bits) - 1));
}

/* nay__fuse_get: the only place that knows widths, with nay__fuse_put. */
NAY_INLINE uint32_t nay__fuse_get(const uint8_t *array, uint64_t slot, unsigned bits) {
  switch (bits) {
    case 8: return array[slot];
    case 16: return nay__load16le(array + 2 * slot);
    case 32: return nay__load32le(array + 4 * slot);
    default: break;
  }
  uint64_t bit = slot * bits, word = nay__load64le(array + (bit >> 3)) >> (bit & 7);
  return (uint32_t)(word & (((uint64_t)1 << bits) - 1));
}

/* nay__fuse_put: into a slot that is zero. */
NAY_INLINE void nay__fuse_put(uint8_t *array, uint64_t slot, unsigned bits, uint32_t value) {
  switch (bits) {
    case 8: array[slot] = (uint8_t)value; return;
    case 16: nay__store16le(array + 2 * slot, (uint16_t)value); return;
    case 32: nay__store32le(array + 4 * slot, value); return;
    default: break;
  }
  uint64_t bit = slot * bits;
  uint8_t *p = array + (bit >> 3);
  nay__store64le(p, nay__load64le(p) | (uint64_t)value << (bit & 7));
}

extern const nay_solver nay__peel_solver;

/* nay__fuse_layout_of: from the kind and the arity. */
nay_fuse_layout nay__fuse_layout_of(const nay_filter *f);

uint64_t nay__fuse_test64(const nay_filter *f, const uint64_t *x, unsigned n);

#endif /* NAY_FUSE_H */

#define FUSE_SHARD_LOG2 20
#define FUSE_SHARD_SEGMENT 8192u
#define FUSE_NEAR ((size_t)4 << 20) /* bytes: below, prefetching costs more than it saves */
#define FUSE_MAX_NSHARDS ((uint64_t)1 << 24)

/* ---- sizes ---- */

static double fuse_max(double a, double b) { return a > b ? a : b; }

static double fuse_sqrt(double x) { return x > 0 ? nay__exp(0.5 * nay__ln(x)) : 0; }

/* Segment length and slots of a chain for n keys, by the formulas of [2]. */
static void fuse_chain(nay_fuse_layout layout, double n, nay_fuse_dims *dims) {
  double log = nay__ln(n), factor, exponent;
  if (layout == NAY_FUSE_3) {
    exponent = log / nay__ln(3.33) + 2.25;
    factor = fuse_max(1.125, 0.875 + 0.25 * nay__ln(1e6) / log);
  } else {
    exponent = log / nay__ln(2.91) - 0.5;
    factor = fuse_max(1.075, 0.77 + 0.305 * nay__ln(6e5) / log);
  }
  dims->segment = (uint32_t)1 << (exponent < 1 ? 1 : (unsigned)exponent);
  /* the size is a number of segments: among shards, which are of equal size, keep them short */
  if (dims->nshards > 1 && dims->segment > FUSE_SHARD_SEGMENT) dims->segment = FUSE_SHARD_SEGMENT;
  uint64_t length = dims->segment, arity = nay__fuse_arity(layout);
  uint64_t nsegments = nay__max_u64(arity, nay__ceil_div((uint64_t)(n * factor + 0.5), length));
  dims->slots = (uint32_t)(nsegments * length);
}

nay_fuse_dims nay__fuse_dims(nay_fuse_layout layout, uint64_t nkeys) {
  nay_fuse_dims dims = {.nshards = 1};
  if (nkeys >> (FUSE_SHARD_LOG2 + 1) != 0) dims.nshards = nkeys >> FUSE_SHARD_LOG2;
  double n = (double)nay__ceil_div(nay__max_u64(nkeys, 2), dims.nshards);
  if (dims.nshards > 1) n += 3 * fuse_sqrt(n);
  if (layout == NAY_XOR_3) {
    dims.slots = 3 * (uint32_t)((1.23 * n + 32) / 3 + 1); /* the constants of [1] */
  } else {
    fuse_chain(layout, n, &dims);
  }
  return dims;
}

static nay_shape fuse_shape(nay_fuse_layout layout, uint64_t nkeys, unsigned bits) {
  nay_fuse_dims dims = nay__fuse_dims(layout, nkeys);
  return (nay_shape){dims.nshards * dims.slots, nay__fuse_arity(layout),
                     (uint32_t)(dims.nshards << 8 | bits)};
}

static bool fuse_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint64_t nshards = nay__fuse_nshards(shape), bits = nay__fuse_bits(shape);
  if (shape->k != 3 && shape->k != 4) return false;
  if (bits < NAY_FUSE_MIN_BITS || bits > NAY_FUSE_MAX_BITS) return false;
  if (nshards == 0 || shape->nunits == 0 || shape->nunits % nshards != 0) return false;
  uint64_t slots = shape->nunits / nshards;
  if (slots > UINT32_MAX / 2) return false;
  *nbytes =
      nay__fuse_arrays_at(nshards) + nshards * nay__fuse_stride(nshards, slots, (unsigned)bits);
  *nbits = *nbytes * 8;
  return true;
}

static bool fuse_fits(nay_fuse_layout layout, uint64_t nkeys, unsigned bits, double budget) {
  uint64_t nbits, nbytes;
  nay_shape shape = fuse_shape(layout, nkeys, bits);
  return fuse_payload(&shape, &nbits, &nbytes) && (double)nbytes <= budget;
}

static nay_status fuse_plan_for(nay_fuse_layout layout, const nay_params *p, nay_diag *diag,
                                nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (by == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: the size of a static filter follows from its keys",
                     0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: this family does not fold", 0);
  if (p->nkeys >> FUSE_SHARD_LOG2 >= FUSE_MAX_NSHARDS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^44, the limit of this family", 0);
  }
  unsigned bits = NAY_FUSE_MIN_BITS;
  if (by == NAY_BY_FPR) {
    double rate = 1.0 / 16;
    for (; rate > p->fpr && bits <= NAY_FUSE_MAX_BITS; bits++) rate /= 2;
    if (bits > NAY_FUSE_MAX_BITS) {
      return nay__fail(diag, NAY_EINVAL, "fpr is below 2^-32: fingerprints have up to 32 bits", 0);
    }
  } else {
    double budget =
        by == NAY_BY_NBYTES ? (double)p->nbytes : p->bits_per_key * (double)p->nkeys / 8;
    /* like every family, bits_per_key may not hold for a handful of keys; nbytes always does */
    bool fits = by == NAY_BY_NBYTES ? fuse_fits(layout, p->nkeys, bits, budget)
                                    : p->bits_per_key >= NAY_FUSE_MIN_BITS;
    if (!fits) {
      return nay__fail(diag, NAY_EINVAL, "the size is too small: fingerprints have 4 bits at least",
                       0);
    }
    while (bits < NAY_FUSE_MAX_BITS && fuse_fits(layout, p->nkeys, bits + 1, budget)) bits++;
  }
  *shape = fuse_shape(layout, p->nkeys, bits);
  return NAY_OK;
}

static nay_status fuse_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(fuse_plan_for(p->k == 4 ? NAY_FUSE_4 : NAY_FUSE_3, p, diag, shape));
  if (p->k == 0 || p->k == 3 || p->k == 4) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "k is not 3 or 4, the slots of a key", 0);
}

static nay_status xor_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  NAY_TRY(fuse_plan_for(NAY_XOR_3, p, diag, shape));
  if (p->k == 0 || p->k == 3) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "k is not 3, the slots of a key", 0);
}

static bool xor_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  return shape->k == 3 && fuse_payload(shape, nbits, nbytes);
}

static double fuse_rate(unsigned bits) { return 1.0 / (double)((uint64_t)1 << bits); }

static double fuse_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nkeys == 0 ? 0 : fuse_rate(nay__fuse_bits(shape));
}

/* ---- probes ---- */

nay_fuse_layout nay__fuse_layout_of(const nay_filter *f) {
  if (f->family->kind == NAY_XOR) return NAY_XOR_3;
  return f->shape.k == 4 ? NAY_FUSE_4 : NAY_FUSE_3;
}

/* 0 when the slots of x in the array of its shard xor to its fingerprint. */
NAY_INLINE uint32_t fuse_differ(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                                uint64_t shard, uint64_t factor, uint64_t x) {
  const uint8_t *array = v->arrays + shard * v->stride;
  uint64_t at[4];
  uint32_t sum = nay__fuse_slots(layout, v, factor, nay__remix(x, 0), bits, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) sum ^= nay__fuse_get(array, at[j], bits);
  return sum;
}

/*
 * Answers are shifted in from the top, so that keys are read in their order, which the memory
 * likes, and without a branch: half of the keys may be present.
 */
NAY_INLINE uint64_t fuse_push(uint64_t bitmap, uint32_t differ) {
  return bitmap >> 1 | (((uint64_t)differ - 1) & (uint64_t)1 << 63);
}

/*
 * One probe. It waits for three cache lines, and the fewer instructions it has the more probes wait
 * at the same time. So there is a copy for each layout, for one shard or many, for the widths that
 * divide a word, and for CPUs that multiply without fixed registers; it is for filters as they
 * nearly always are, without premix and without shards whose answer is fixed.
 */
NAY_INLINE bool fuse_find(nay_fuse_layout layout, unsigned width, bool one_shard, const nay_bits *b,
                          uint64_t x) {
  const nay_fuse_view *v = &((const nay_filter *)(const void *)b)->fuse;
  uint64_t shard = one_shard ? 0 : nay__shard_of(x, v->nshards);
  return fuse_differ(layout, width, v, shard, nay__fuse_factor(v, shard), x) == 0;
}

/* The same for every filter. */
static bool fuse_find_any(const nay_filter *f, nay_hash h) {
  uint64_t x = nay__premix(h.lo, nay__load64le(f->bits.bytes));
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  uint64_t shard = nay__shard_of(x, v.nshards);
  uint64_t factor = nay__fuse_factor(&v, shard);
  if (nay__fuse_is_fixed(factor)) return factor == NAY_FUSE_SAYS_MAYBE;
  return fuse_differ(nay__fuse_layout_of(f), nay__fuse_bits(&f->shape), &v, shard, factor, x) == 0;
}

#define FUSE_PROBE(target, name, layout, width, one_shard)    \
  target static bool name(const nay_bits *b, uint64_t hash) { \
    return fuse_find(layout, width, one_shard, b, hash);      \
  }
#define FUSE_PROBES(target, name, layout)                    \
  FUSE_PROBE(target, name##_8, layout, 8, true)              \
  FUSE_PROBE(target, name##_16, layout, 16, true)            \
  FUSE_PROBE(target, name##_8_sharded, layout, 8, false)     \
  FUSE_PROBE(target, name##_16_sharded, layout, 16, false)   \
  static nay_probe name(unsigned bits, bool one_shard) {     \
    if (bits != 8 && bits != 16) return NULL;                \
    if (one_shard) return bits == 8 ? name##_8 : name##_16;  \
    return bits == 8 ? name##_8_sharded : name##_16_sharded; \
  }
#define FUSE_ANY_CPU
FUSE_PROBES(FUSE_ANY_CPU, fuse_probe3, NAY_FUSE_3)
FUSE_PROBES(FUSE_ANY_CPU, fuse_probe4, NAY_FUSE_4)
FUSE_PROBES(FUSE_ANY_CPU, xor_probe3, NAY_XOR_3)
FUSE_PROBES(NAY_BMI2, fuse_probe3_bmi2, NAY_FUSE_3)
FUSE_PROBES(NAY_BMI2, fuse_probe4_bmi2, NAY_FUSE_4)
FUSE_PROBES(NAY_BMI2, xor_probe3_bmi2, NAY_XOR_3)
#undef FUSE_PROBES
#undef FUSE_PROBE

/* Whether fuse_find is enough: no premix, no shard whose answer is fixed. */
static bool fuse_is_plain(const nay_filter *f) {
  uint64_t odd = 1;
  for (uint64_t i = 0; i < f->fuse.nshards; i++) odd &= nay__fuse_factor(&f->fuse, i);
  return nay__load64le(f->bits.bytes) == 0 && !nay__fuse_is_fixed(odd);
}

static nay_probe fuse_kernel(nay_filter *f) {
  f->fuse = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (!fuse_is_plain(f)) return NULL;
  unsigned bits = nay__fuse_bits(&f->shape);
  bool one_shard = f->fuse.nshards == 1, bmi2 = f->kernels->popcnt;
  switch (nay__fuse_layout_of(f)) {
    case NAY_FUSE_3: return (bmi2 ? fuse_probe3_bmi2 : fuse_probe3)(bits, one_shard);
    case NAY_FUSE_4: return (bmi2 ? fuse_probe4_bmi2 : fuse_probe4)(bits, one_shard);
    case NAY_XOR_3: break;
  }
  return (bmi2 ? xor_probe3_bmi2 : xor_probe3)(bits, one_shard);
}

/* In a cache there is nothing to wait for: test one after the other. */
NAY_INLINE uint64_t fuse_near_test(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                                   const uint64_t *x, unsigned n) {
  uint64_t bitmap = 0;
  uint64_t factor = nay__fuse_factor(v, 0);
  if (nay__fuse_is_fixed(factor))
    return factor == NAY_FUSE_SAYS_MAYBE ? ~(uint64_t)0 >> (64 - n) : 0;
  for (unsigned i = 0; i < n; i++) {
    bitmap = fuse_push(bitmap, fuse_differ(layout, bits, v, 0, factor, x[i]));
  }
  return bitmap >> (64 - n);
}

/* A group of probes on its way: all lines are asked for before the first is looked at. */
typedef struct fuse_group {
  uint64_t at[4][64]; /* slots, in bytes from the first array on; in bits if they straddle */
  uint32_t print[64];
  uint64_t fixed, answers; /* keys of shards that answer without looking */
} fuse_group;

/* Where a slot is, and what it holds: nay__fuse_get in two halves. */
NAY_INLINE uint64_t fuse_place(uint64_t array_at, uint64_t slot, unsigned bits) {
  return bits % 8 == 0 ? array_at + slot * (bits / 8) : array_at * 8 + slot * bits;
}

NAY_INLINE uint32_t fuse_load(const uint8_t *bytes, uint64_t place, unsigned bits) {
  switch (bits) {
    case 8: return bytes[place];
    case 16: return nay__load16le(bytes + place);
    case 32: return nay__load32le(bytes + place);
    default: break;
  }
  if (bits == 24) return (uint32_t)nay__load64le(bytes + place) & 0xffffff;
  uint64_t word = nay__load64le(bytes + (place >> 3)) >> (place & 7);
  return (uint32_t)(word & (((uint64_t)1 << bits) - 1));
}

NAY_INLINE void fuse_prepare(nay_fuse_layout layout, unsigned bits, const nay_fuse_view *v,
                             const uint64_t *x, unsigned n, fuse_group *g) {
  for (unsigned i = 0; i < n; i++) {
    uint64_t shard = nay__shard_of(x[i], v->nshards), at[4];
    uint64_t factor = nay__fuse_factor(v, shard);
    if (NAY_UNLIKELY(nay__fuse_is_fixed(factor))) { /* its slots are looked at all the same */
      g->fixed |= (uint64_t)1 << i;
      g->answers |= (uint64_t)(factor == NAY_FUSE_SAYS_MAYBE) << i;
    }
    g->print[i] = nay__fuse_slots(layout, v, factor, nay__remix(x[i], 0), bits, at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      uint64_t place = g->at[j][i] = fuse_place(shard * v->stride, at[j], bits);
      NAY_PREFETCH(v->arrays + (bits % 8 == 0 ? place : place >> 3));
    }
  }
}

/* 64 keys, where the CPU does them side by side. */
NAY_INLINE uint64_t fuse_aimed_test(nay_fuse_layout layout, unsigned bits, const nay_filter *f,
                                    const nay_fuse_view *v, const uint64_t *x) {
  nay_fuse_map map = {v->factors, v->arrays,  v->nshards, v->stride,
                      v->span,    v->segment, bits,       nay__fuse_arity(layout)};
  uint64_t fixed, bitmap = f->kernels->fuse_test64(&map, x, &fixed);
  for (bitmap &= ~fixed; NAY_UNLIKELY(fixed != 0); fixed &= fixed - 1) {
    unsigned i = nay__ctz64(fixed);
    uint64_t factor = nay__fuse_factor(v, nay__shard_of(x[i], v->nshards));
    bitmap |= (uint64_t)(factor == NAY_FUSE_SAYS_MAYBE) << i;
  }
  return bitmap;
}

NAY_INLINE uint64_t fuse_group_test(nay_fuse_layout layout, unsigned bits, const nay_filter *f,
                                    const uint64_t *x, unsigned n) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (n == 64 && f->kernels->fuse_test64 != NULL && f->nbytes >> 32 == 0 && v.stride >> 29 == 0) {
    return fuse_aimed_test(layout, bits, f, &v, x);
  }
  if (f->nbytes < FUSE_NEAR && v.nshards == 1) {
    return fuse_near_test(layout, bits, &v, x, n);
  }
  fuse_group g;
  g.fixed = g.answers = 0;
  fuse_prepare(layout, bits, &v, x, n, &g);
  uint64_t bitmap = 0;
  for (unsigned i = 0; i < n; i++) {
    uint32_t sum = g.print[i];
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      sum ^= fuse_load(v.arrays, g.at[j][i], bits);
    }
    bitmap = fuse_push(bitmap, sum);
  }
  return (bitmap >> (64 - n) & ~g.fixed) | g.answers;
}

/* A copy of the loops for each width that divides a word, so that the compiler sees it. */
NAY_INLINE uint64_t fuse_widths(nay_fuse_layout layout, const nay_filter *f, const uint64_t *x,
                                unsigned n) {
  switch (nay__fuse_bits(&f->shape)) {
    case 8: return fuse_group_test(layout, 8, f, x, n);
    case 16: return fuse_group_test(layout, 16, f, x, n);
    case 32: return fuse_group_test(layout, 32, f, x, n);
    default: return fuse_group_test(layout, nay__fuse_bits(&f->shape), f, x, n);
  }
}

uint64_t nay__fuse_test64(const nay_filter *f, const uint64_t *x, unsigned n) {
  switch (nay__fuse_layout_of(f)) {
    case NAY_FUSE_3: return fuse_widths(NAY_FUSE_3, f, x, n);
    case NAY_FUSE_4: return fuse_widths(NAY_FUSE_4, f, x, n);
    case NAY_XOR_3: break;
  }
  return fuse_widths(NAY_XOR_3, f, x, n);
}

static uint64_t fuse_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                            unsigned n) {
  (void)hi;
  uint64_t premix = nay__load64le(f->bits.bytes), x[64];
  if (NAY_LIKELY(premix == 0)) return nay__fuse_test64(f, lo, n);
  for (unsigned i = 0; i < n; i++) x[i] = nay__premix(lo[i], premix);
  return nay__fuse_test64(f, x, n);
}

static unsigned fuse_touch(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  uint64_t x = nay__premix(h.lo, nay__load64le(f->bits.bytes)), at[4];
  uint64_t shard = nay__shard_of(x, v.nshards);
  unsigned bits = nay__fuse_bits(&f->shape), n = 0;
  uint64_t factor = nay__fuse_factor(&v, shard);
  addresses[n++] = v.factors + 8 * shard; /* aligned */
  if (nay__fuse_is_fixed(factor)) return n;
  const uint8_t *array = v.arrays + shard * v.stride;
  nay_fuse_layout layout = nay__fuse_layout_of(f);
  nay__fuse_slots(layout, &v, factor, nay__remix(x, 0), bits, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    uint64_t bit = at[j] * bits;
    addresses[n++] = array + (bit >> 3);
    addresses[n++] = array + ((bit + bits - 1) >> 3);
  }
  return n;
}

/* ---- whole filters ---- */

static void fuse_census(const nay_filter *a, const nay_filter *b, uint64_t fold,
                        nay_census *census) {
  (void)b, (void)fold; /* static filters neither merge nor fold */
  nay_fuse_view v = nay__fuse_view_of(&a->shape, a->bits.bytes);
  double rates = 0;
  for (uint64_t i = 0; i < v.nshards; i++) {
    uint64_t factor = nay__fuse_factor(&v, i);
    rates += nay__fuse_is_fixed(factor) ? factor == NAY_FUSE_SAYS_MAYBE
                                        : fuse_rate(nay__fuse_bits(&a->shape));
  }
  uint64_t nbits = a->nbytes * 8;
  *census = (nay_census){nbits, nbits, (double)a->nkeys, rates / (double)v.nshards};
}

/* The slots that keys can have are all in the array. */
static bool fuse_span_ok(const nay_shape *shape, bool is_xor, const nay_fuse_view *v,
                         uint64_t slots) {
  if (v->span == 0) return false;
  if (is_xor) return v->span * 3 <= slots;
  return v->span % v->segment == 0 && v->span + (shape->k - 1) * v->segment <= slots;
}

static nay_status fuse_check_kind(const nay_shape *shape, bool is_xor, const uint8_t *payload,
                                  size_t len, nay_diag *diag) {
  (void)len; /* it is what payload() says */
  nay_fuse_view v = nay__fuse_view_of(shape, (uint8_t *)(uintptr_t)payload);
  uint64_t slots = shape->nunits / v.nshards, end = NAY_FUSE_HEADER + 8 * v.nshards;
  if (slots < shape->k || nay__load32le(payload + 8) != slots) {
    return nay__fail(diag, NAY_ECORRUPT, "the payload's size does not fit the header", 8);
  }
  bool power = v.segment != 0 && (v.segment & (v.segment - 1)) == 0;
  if (is_xor ? v.segment != 0 : !power || v.segment > NAY_FUSE_MAX_SEGMENT) {
    return nay__fail(diag, NAY_ECORRUPT, "impossible segment length", 12);
  }
  if (!fuse_span_ok(shape, is_xor, &v, slots)) {
    return nay__fail(diag, NAY_ECORRUPT, "the slots of a key do not fit its array", 16);
  }
  if (nay__load32le(payload + 20) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", 20);
  }
  for (uint64_t i = 0; i < v.nshards; i++) {
    uint64_t factor = nay__fuse_factor(&v, i);
    if (nay__fuse_is_fixed(factor) && factor > NAY_FUSE_SAYS_MAYBE) {
      return nay__fail(diag, NAY_ECORRUPT, "an impossible factor", NAY_FUSE_HEADER + 8 * i);
    }
  }
  bool clear = nay__all_zero(payload + end, (size_t)(nay__fuse_arrays_at(v.nshards) - end));
  return clear ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "padding is not zero", end);
}

static nay_status fuse_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                             nay_diag *diag) {
  return fuse_check_kind(shape, false, payload, len, diag);
}

static nay_status xor_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                            nay_diag *diag) {
  return fuse_check_kind(shape, true, payload, len, diag);
}

#define FUSE_SHARED                                                                \
  .traits = 0, .fpr = fuse_fpr, .build = &nay__peel_solver, .kernel = fuse_kernel, \
  .test = fuse_find_any, .test64 = fuse_test64, .census = fuse_census, .touch = fuse_touch

const nay_family nay__family_xor = {
    .kind = NAY_XOR,
    .name = "xor",
    .plan = xor_plan,
    .payload = xor_payload,
    .check = xor_check,
    FUSE_SHARED,
};

const nay_family nay__family_fuse = {
    .kind = NAY_FUSE,
    .name = "fuse",
    .plan = fuse_plan,
    .payload = fuse_payload,
    .check = fuse_check,
    FUSE_SHARED,
};
#undef FUSE_ANY_CPU
#undef FUSE_MAX_NSHARDS
#undef FUSE_NEAR
#undef FUSE_SHARD_LOG2
#undef FUSE_SHARD_SEGMENT
#undef FUSE_SHARED

/* ==== src/family/peel.c ===================================================================== */
/*
 * peel.c - solves the equations of one shard of a xor or fuse filter by peeling.
 *
 * Lay every key over its slots. A slot that only one key uses can be given to that key: whatever
 * the other slots hold, this one can make the xor right. Take the key away; other slots are now
 * used by one key only; go on until no key is left. Then fill the slots in the opposite order, each
 * fixed by those that were filled before it.
 *
 *   per slot    u64  xor of the keys that use it: the key itself when there is only one
 *               u8   how many use it
 *
 * The table does not know the order in which keys came, so the order of peeling, and hence every
 * byte, depends on the set alone. The walk goes through the slots chunk by chunk, pushes the lonely
 * ones on a queue and follows the queue to its end before the next chunk: what it touches are a few
 * neighbouring segments, and the queue's neighbours are independent of each other, so their cache
 * misses overlap. A slot enters the queue once, when its count falls to one; the places of the
 * queue that have been read take the order of peeling.
 *
 * Before that, the keys are brought into the order of their windows by one pass over 256 buckets,
 * so that the table, too, is filled through a moving window that fits the second-level cache.
 *
 * Keys that are equal never come apart. A count of 128 or more (the mean is 2.7) ends the attempt.
 * Every second attempt halves the segments, which helps where a number of keys makes the formula's
 * chain too short (n near 11,500).
 */

#define PEEL_BUCKET_FROM 32768u /* keys; below, the table is in the second-level cache anyway */
#define PEEL_CHUNK 4096u
#define PEEL_CROWDED 0x80u

typedef struct peel_table {
  uint64_t *keys;  /* xor of the keys of a slot */
  uint32_t *queue; /* shares its memory with `bucketed`, which is not needed any more by then */
  uint64_t *bucketed;
  uint8_t *counts;
  uint32_t slots;
  uint64_t nshards;
} peel_table;

static size_t peel_shared_bytes(uint64_t slots, uint64_t n) {
  uint64_t queue = (slots + 8) * sizeof(uint32_t), bucketed = n * sizeof(uint64_t);
  return (size_t)nay__round_up(nay__max_u64(queue, bucketed), 64);
}

static size_t peel_scratch(const nay_shape *shape, uint64_t n) {
  uint64_t slots = shape->nunits / nay__fuse_nshards(shape);
  return (size_t)nay__round_up(slots * 8, 64) + peel_shared_bytes(slots, n) + (size_t)slots;
}

static peel_table peel_open(const nay_shape *shape, size_t n, uint8_t *scratch) {
  peel_table t = {.nshards = nay__fuse_nshards(shape)};
  uint32_t slots = t.slots = (uint32_t)(shape->nunits / t.nshards);
  t.keys = (uint64_t *)(void *)scratch;
  scratch += nay__round_up((uint64_t)slots * 8, 64);
  t.queue = (uint32_t *)(void *)scratch;
  t.bucketed = (uint64_t *)(void *)scratch;
  t.counts = scratch + peel_shared_bytes(slots, n);
  return t;
}

/* The words m of the keys, roughly in the order of their first slots. */
static void peel_bucket(const uint64_t *x, size_t n, uint64_t *out) {
  size_t next[256] = {0};
  for (size_t i = 0; i < n; i++) next[nay__remix(x[i], 0) >> 56]++;
  size_t sum = 0;
  for (unsigned b = 0; b < 256; b++) {
    size_t count = next[b];
    next[b] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t m = nay__remix(x[i], 0);
    out[next[m >> 56]++] = m;
  }
}

/* Lays a key over its slots; returns the counts, or-ed. */
NAY_INLINE unsigned peel_lay(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                             uint64_t m, const peel_table *t) {
  unsigned any = 0;
  uint64_t at[4];
  nay__fuse_slots(layout, v, factor, m, 8, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    any |= ++t->counts[at[j]];
    t->keys[at[j]] ^= m;
  }
  return any;
}

/* Lays all keys over their slots; false when a slot is crowded. */
NAY_INLINE bool peel_fill(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                          const uint64_t *x, size_t n, const peel_table *t) {
  unsigned any = 0;
  memset(t->keys, 0, (size_t)t->slots * 8);
  memset(t->counts, 0, t->slots);
  if (layout != NAY_XOR_3 && n >= PEEL_BUCKET_FROM) {
    peel_bucket(x, n, t->bucketed);
    for (size_t i = 0; i < n; i++) any |= peel_lay(layout, v, factor, t->bucketed[i], t);
  } else {
    for (size_t i = 0; i < n; i++) any |= peel_lay(layout, v, factor, nay__remix(x[i], 0), t);
  }
  return (any & PEEL_CROWDED) == 0;
}

/* Takes the key of a lonely slot away; slots that become lonely join the queue. */
NAY_INLINE size_t peel_take(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t, uint32_t slot, size_t tail) {
  uint64_t m = t->keys[slot];
  uint64_t at[4];
  nay__fuse_slots(layout, v, factor, m, 8, at);
  for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
    t->queue[tail] = (uint32_t)at[j];
    tail += --t->counts[at[j]] == 1;
    t->keys[at[j]] ^= m;
  }
  t->keys[slot] = m; /* the loop took it away here too; the assignment needs it */
  return tail;
}

/* Returns how many keys came off; queue[0 .. that) are their slots in that order. */
NAY_INLINE size_t peel_walk(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t) {
  size_t head = 0, tail = 0, done = 0;
  for (uint32_t start = 0; start < t->slots; start += PEEL_CHUNK) {
    uint32_t end = t->slots - start < PEEL_CHUNK ? t->slots : start + PEEL_CHUNK;
    for (uint32_t i = start; i < end; i++) {
      t->queue[tail] = i;
      tail += t->counts[i] == 1;
    }
    while (head < tail) {
      uint32_t slot = t->queue[head++];
      if (t->counts[slot] != 1) continue;
      t->queue[done++] = slot;
      tail = peel_take(layout, v, factor, t, slot, tail);
    }
  }
  return done;
}

NAY_INLINE void peel_assign(nay_fuse_layout layout, const nay_fuse_view *v, uint64_t factor,
                            const peel_table *t, size_t n, unsigned bits, uint8_t *array) {
  while (n-- > 0) {
    uint32_t slot = t->queue[n];
    uint64_t m = t->keys[slot], at[4];
    uint32_t value = nay__fuse_slots(layout, v, factor, m, bits, at);
    for (unsigned j = 0; j < nay__fuse_arity(layout); j++) {
      value ^= nay__fuse_get(array, at[j], bits); /* its own is still zero */
    }
    nay__fuse_put(array, slot, bits, value);
  }
}

NAY_INLINE bool peel_solve(nay_fuse_layout layout, const nay_shape *shape, const nay_fuse_view *v,
                           uint64_t factor, const uint64_t *x, size_t n, uint8_t *scratch,
                           uint8_t *array) {
  peel_table t = peel_open(shape, n, scratch);
  unsigned bits = nay__fuse_bits(shape);
  if (!peel_fill(layout, v, factor, x, n, &t) || peel_walk(layout, v, factor, &t) != n)
    return false;
  memset(array, 0, (size_t)v->stride);
  switch (bits) {
    case 8: peel_assign(layout, v, factor, &t, n, 8, array); break;
    case 16: peel_assign(layout, v, factor, &t, n, 16, array); break;
    case 32: peel_assign(layout, v, factor, &t, n, 32, array); break;
    default: peel_assign(layout, v, factor, &t, n, bits, array); break;
  }
  return true;
}

/* ---- the solver ---- */

static void peel_put_factor(nay_filter *f, uint64_t shard, uint64_t factor) {
  nay__store64le(f->bits.bytes + NAY_FUSE_HEADER + 8 * shard, factor);
}

/*
 * The slots for an attempt. Shards are alike; but a filter of one shard may try shorter segments, a
 * half, a quarter.
 */
static void peel_choose_slots(const nay_filter *f, unsigned attempt, nay_fuse_view *v) {
  nay_fuse_layout layout = nay__fuse_layout_of(f);
  uint64_t slots = f->shape.nunits / v->nshards;
  if (layout == NAY_XOR_3) {
    v->segment = 0;
    v->span = slots / 3;
    return;
  }
  v->segment = nay__fuse_dims(layout, f->nkeys).segment;
  if (v->nshards == 1) v->segment = nay__max_u64(v->segment >> attempt / 2 % 3, 2);
  v->span = (slots / v->segment - (nay__fuse_arity(layout) - 1)) * v->segment;
}

static void peel_put_slots(nay_filter *f, const nay_fuse_view *v) {
  nay__store32le(f->bits.bytes + 12, (uint32_t)v->segment);
  nay__store32le(f->bits.bytes + 16, (uint32_t)v->span);
}

static void peel_begin(nay_filter *f, uint64_t premix, const uint64_t *counts) {
  (void)counts;
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  nay__store64le(f->bits.bytes, premix);
  nay__store32le(f->bits.bytes + 8, (uint32_t)(f->shape.nunits / v.nshards));
  peel_choose_slots(f, 0, &v);
  peel_put_slots(f, &v);
}

static bool peel_attempt(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                         const uint64_t *x, size_t n, uint8_t *scratch) {
  if (n == 0) {
    peel_put_factor(f, shard, NAY_FUSE_SAYS_NAY);
    return true;
  }
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  if (n >= f->shape.nunits / v.nshards) return false;
  peel_choose_slots(f, attempt, &v);
  uint8_t *array = v.arrays + shard * v.stride;
  uint64_t factor = nay_hash_mix(seed) | 1;
  bool solved = false;
  switch (nay__fuse_layout_of(f)) {
#define PEEL_CASE(layout) \
  case layout: solved = peel_solve(layout, &f->shape, &v, factor, x, n, scratch, array); break;
    PEEL_CASE(NAY_FUSE_3)
    PEEL_CASE(NAY_FUSE_4)
    PEEL_CASE(NAY_XOR_3)
#undef PEEL_CASE
  }
  if (!solved) return false;
  if (v.nshards == 1) peel_put_slots(f, &v);
  peel_put_factor(f, shard, factor);
  return true;
}

/* No enemy gets here by luck (sharded.c draws the late seeds from the set itself). */
static void peel_give_up(nay_filter *f, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  (void)seed, (void)x, (void)n, (void)scratch;
  nay_fuse_view v = nay__fuse_view_of(&f->shape, f->bits.bytes);
  memset(v.arrays + shard * v.stride, 0, (size_t)v.stride);
  peel_put_factor(f, shard, NAY_FUSE_SAYS_MAYBE);
}

static uint64_t peel_nshards(const nay_shape *shape) { return nay__fuse_nshards(shape); }

static bool peel_alike(const nay_filter *f, uint64_t a, uint64_t b) {
  nay_fuse_dims one = nay__fuse_dims(nay__fuse_layout_of(f), a);
  nay_fuse_dims other = nay__fuse_dims(nay__fuse_layout_of(f), b);
  return one.nshards == other.nshards && one.slots == other.slots && one.segment == other.segment;
}

const nay_solver nay__peel_solver = {
    .nshards = peel_nshards,
    .shards_per_task_log2 = 0,
    .alike = peel_alike,
    .begin = peel_begin,
    .scratch = peel_scratch,
    .attempt = peel_attempt,
    .give_up = peel_give_up,
    .test64 = nay__fuse_test64,
};
#undef PEEL_BUCKET_FROM
#undef PEEL_CHUNK
#undef PEEL_CROWDED

/* ==== src/family/ribbon.c =================================================================== */
/*
 * ribbon.c - the ribbon filter: the fewest bits for a set that does not change.
 *
 * As in a fuse filter, slots of r bits are chosen so that every key finds its r-bit fingerprint as
 * the xor of some of them; but here a key uses about half of 128 neighbouring slots. Equations over
 * a band solve fast, and 1.02 n slots are enough where fuse needs 1.125 n and many keys.
 *
 *   key        first slot s, 128 coefficients c, fingerprint p
 *   equation   column by column: parity(c & slots s .. s+127) = p        (banding.c solves them)
 *
 *   block b    | column 0: 128 slots | column 1 | ... | column r-1 |     16 bytes a column
 *
 * Stored by columns, a probe is one and, one parity for each column, over two neighbouring blocks;
 * an absent key is nearly always found out within four.
 *
 * Fractions. The first U blocks have a column less. So any rate, and any number of bytes, is
 * hit to the size of a column. It costs up to 1.2 % at 1 %, 2.4 % at 10 % against the ideal of a
 * fractional number of columns. Dropping the last column of more blocks shrinks a filter without
 * its keys, to the very bytes that a build for that size would give.
 *
 * Shards of about 16,000 keys keep the slots per key at 1.02 for ever (one band of 10^8 keys needs
 * 1.07) and a build in the cache. They get blocks for the keys they have, so a directory says where
 * each begins.
 *
 * Few keys: a block is 128 slots, and a Bloom filter is smaller below some 150 keys. Then this is
 * one: shape.extra is 0, shape.k its probes, and its bits follow the premix.
 *
 * Bytes: ribbon.h and doc/formats. Papers: banding.c.
 */

/* ==== src/family/ribbon.h =================================================================== */
/*
 * ribbon.h - the bytes of a ribbon filter, and what it makes of a key. ribbon.c probes them,
 * banding.c fills them.
 *
 *   0     u64 premix
 *   8     for each shard: u32 first block, u32 seed
 *   ...   once more: u32 the end of the last shard's blocks, u32 number of blocks in all
 *   ...   the blocks
 *
 * A block is 128 slots. It is stored by columns, 16 bytes each: bit i of column c is bit c of slot
 * i. The first U blocks have r - 1 columns, the others r. So block b begins at column
 * b * r - min(b, U), and the number of columns in all, which the header has, tells U.
 */
#ifndef NAY_RIBBON_H
#define NAY_RIBBON_H

#define NAY_RIBBON_WIDTH 128u
#define NAY_RIBBON_COLUMN 16u /* bytes */
#define NAY_RIBBON_MAX_COLUMNS 32u
#define NAY_RIBBON_HEADER 8u
#define NAY_RIBBON_ENTRY 8u
#define NAY_RIBBON_C 0xe7037ed1a0b428dbu   /* odd, above 2^63 */
#define NAY_RIBBON_HOMOGENEOUS 0x80000000u /* in a seed: all results of the shard are 0 */

/* nay_ribbon: a ribbon filter, unpacked. */
typedef struct nay_ribbon {
  uint64_t nshards;
  uint64_t short_blocks; /* U: blocks with a column less */
  unsigned columns;      /* r */
} nay_ribbon;

/* nay_ribbon_row: the equation of a key: the xor of the slots in `lo, hi` after `start` is print.
 */
typedef struct nay_ribbon_row {
  uint64_t lo, hi; /* bit 0 of lo is always set */
  uint64_t print;  /* bit nay__ribbon_print_bit(c) is for column c */
  uint32_t start;  /* slot, from the first of the shard */
} nay_ribbon_row;

/* nay_ribbon_shard: one entry of the directory. */
typedef struct nay_ribbon_shard {
  uint32_t first; /* block */
  uint32_t nblocks;
  uint32_t seed;
} nay_ribbon_shard;

NAY_INLINE uint64_t nay__ribbon_blocks_at(uint64_t nshards) {
  return NAY_RIBBON_HEADER + (nshards + 1) * NAY_RIBBON_ENTRY;
}

NAY_INLINE nay_ribbon_shard nay__ribbon_shard_at(const uint8_t *bytes, uint64_t shard) {
  const uint8_t *entry = bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
  uint32_t first = nay__load32le(entry);
  return (nay_ribbon_shard){first, nay__load32le(entry + NAY_RIBBON_ENTRY) - first,
                            nay__load32le(entry + 4)};
}

NAY_INLINE nay_ribbon nay__ribbon_open(const nay_bits *b) {
  nay_ribbon r = {.nshards = b->extra, .columns = b->k};
  uint64_t nblocks = nay__load32le(b->bytes + NAY_RIBBON_HEADER + r.nshards * NAY_RIBBON_ENTRY + 4);
  r.short_blocks = nblocks * r.columns - b->nunits;
  return r;
}

/* nay__ribbon_column_of: the first column of a block. */
NAY_INLINE uint64_t nay__ribbon_column_of(const nay_ribbon *r, uint64_t block) {
  return block * r->columns - (block < r->short_blocks ? block : r->short_blocks);
}

/* nay__ribbon_print_bit: four columns are looked at together, each in a quarter of a word. */
NAY_INLINE unsigned nay__ribbon_print_bit(unsigned column) { return column % 4 * 16 + column / 4; }

NAY_INLINE nay_ribbon_row nay__ribbon_row_of(uint64_t x, const nay_ribbon_shard *s) {
  uint64_t m = nay__remix(x, s->seed), lo, hi = nay__mul128(m, NAY_RIBBON_C, &lo);
  uint64_t print = nay__print_of(m);
  print ^= print >> 32; /* the low bits of a product are poor */
  uint32_t starts = s->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
  return (nay_ribbon_row){lo | 1, hi, (s->seed & NAY_RIBBON_HOMOGENEOUS) != 0 ? 0 : print,
                          (uint32_t)((uint64_t)(uint32_t)m * starts >> 32)};
}

extern const nay_solver nay__band_solver;

/* nay__ribbon_demand: blocks that n keys of one shard should have. */
uint64_t nay__ribbon_demand(uint64_t n);

/* nay_ribbon_dims: shards and blocks for n keys. */
typedef struct nay_ribbon_dims {
  uint64_t nshards, nblocks;
} nay_ribbon_dims;

nay_ribbon_dims nay__ribbon_dims(uint64_t nkeys);

/* nay__ribbon_bloom: the bits of a filter that is a Bloom filter because it is small (extra is 0).
 */
NAY_INLINE nay_bits nay__ribbon_bloom(const nay_filter *f) {
  nay_bits bits = f->bits;
  bits.bytes += NAY_RIBBON_HEADER;
  bits.nunits *= 64;
  return bits;
}

uint64_t nay__ribbon_test64(const nay_filter *f, const uint64_t *x, unsigned n);

#endif /* NAY_RIBBON_H */

#define RIBBON_SHARD_KEYS 16384u
#define RIBBON_ALWAYS_BLOOM 16u
#define RIBBON_MAX_KEYS ((uint64_t)1 << 38) /* so that blocks are counted in 32 bits */

/* ---- sizes ---- */

/*
 * 1.021: at 16,384 keys one seed in eight fails with so many slots; rounding up to blocks makes it
 * one in twenty on average. At 1.016 one in eight, at 1.024 one in thirty fail on average.
 */
static double ribbon_slots(double n) { return n * 1.021 + 4; }

uint64_t nay__ribbon_demand(uint64_t n) {
  if (n == 0) return 0;
  return nay__ceil_div((uint64_t)ribbon_slots((double)n) + 1, NAY_RIBBON_WIDTH);
}

static double ribbon_sqrt(double x) { return x > 0 ? nay__exp(0.5 * nay__ln(x)) : 0; }

/* Rounding up to blocks costs half of one for each shard, with a deviation of 0.29. */
nay_ribbon_dims nay__ribbon_dims(uint64_t nkeys) {
  nay_ribbon_dims dims = {nay__max_u64(1, (nkeys + RIBBON_SHARD_KEYS / 2) / RIBBON_SHARD_KEYS), 0};
  double shards = (double)dims.nshards;
  if (dims.nshards == 1) {
    dims.nblocks = nay__ribbon_demand(nkeys);
  } else {
    double blocks = shards * ribbon_slots((double)nkeys / shards) / NAY_RIBBON_WIDTH;
    dims.nblocks = (uint64_t)(blocks + shards / 2 + 0.29 * ribbon_sqrt(shards) + 1);
  }
  return dims;
}

static nay_shape ribbon_shape(uint64_t nkeys, uint64_t columns, unsigned r) {
  return (nay_shape){columns, r, (uint32_t)nay__ribbon_dims(nkeys).nshards};
}

static bool ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits == 0 || shape->nunits > NAY_MAX_NBITS / 128) return false;
  if (shape->k == 0) return false;
  if (shape->extra == 0) {
    if (shape->k > NAY_MAX_K) return false;
    *nbytes = NAY_RIBBON_HEADER + shape->nunits * 8;
  } else {
    if (shape->k > NAY_RIBBON_MAX_COLUMNS) return false;
    *nbytes = nay__ribbon_blocks_at(shape->extra) + shape->nunits * NAY_RIBBON_COLUMN;
  }
  *nbits = *nbytes * 8;
  return true;
}

static uint64_t ribbon_bytes(const nay_shape *shape) {
  uint64_t nbits, nbytes;
  return ribbon_payload(shape, &nbits, &nbytes) ? nbytes : UINT64_MAX;
}

/* The rate when a share of the keys' first slots is in blocks with a column less. */
static double ribbon_rate(unsigned r, double share) {
  return (1 + share) / (double)((uint64_t)1 << r);
}

/* How many blocks hold the first slots of all keys: a shard's last block is that of one slot only.
 */
static double ribbon_start_blocks(const nay_ribbon_dims *dims) {
  return (double)dims->nblocks - (double)dims->nshards * (NAY_RIBBON_WIDTH - 1) / NAY_RIBBON_WIDTH;
}

static double ribbon_fpr(const nay_shape *shape, uint64_t nkeys) {
  if (nkeys == 0) return 0;
  if (shape->extra == 0) return nay__fpr_bloom(shape->nunits * 64, shape->k, nkeys);
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  double share =
      ((double)dims.nblocks * shape->k - (double)shape->nunits) / ribbon_start_blocks(&dims);
  return ribbon_rate(shape->k, share < 0 ? 0 : share > 1 ? 1 : share);
}

/* ---- plan ---- */

static nay_shape ribbon_bloom_shape(uint64_t nkeys, uint64_t nwords) {
  return (nay_shape){nwords, nay__bloom_k(nwords * 64, nkeys), 0};
}

/* Shapes of both kinds; columns or words are 0 when there is none. */
typedef struct ribbon_choice {
  nay_shape ribbon, bloom;
} ribbon_choice;

static bool ribbon_for_fpr(uint64_t nkeys, double fpr, ribbon_choice *choice) {
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  uint64_t nblocks = dims.nblocks;
  unsigned r = 1;
  double rate = 0.5;
  for (; rate > fpr && r <= NAY_RIBBON_MAX_COLUMNS; r++) rate /= 2;
  if (r > NAY_RIBBON_MAX_COLUMNS) return false;
  uint64_t short_blocks = (uint64_t)((fpr / rate - 1) * ribbon_start_blocks(&dims));
  if (short_blocks >= nblocks) short_blocks = nblocks - 1;
  choice->ribbon = ribbon_shape(nkeys, nblocks * r - short_blocks, r);
  uint64_t bloom = nkeys <= 4096 ? nay__ceil_div(nay__bloom_bits(nkeys, fpr, 0), 64) : 0;
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(bloom, 1));
  if (bloom == 0) choice->bloom.nunits = 0;
  return true;
}

/* The columns that fit into a budget, and the r they are for. */
static nay_shape ribbon_for_bytes(uint64_t nkeys, uint64_t nbytes) {
  nay_ribbon_dims dims = nay__ribbon_dims(nkeys);
  uint64_t head = nay__ribbon_blocks_at(dims.nshards);
  uint64_t columns = nbytes > head ? (nbytes - head) / NAY_RIBBON_COLUMN : 0;
  columns = nay__min_u64(columns, dims.nblocks * NAY_RIBBON_MAX_COLUMNS);
  return ribbon_shape(nkeys, columns, (unsigned)nay__ceil_div(columns, dims.nblocks));
}

static void ribbon_for_budget(uint64_t nkeys, uint64_t nbytes, ribbon_choice *choice) {
  choice->ribbon = ribbon_for_bytes(nkeys, nbytes);
  uint64_t words =
      nkeys <= 4096 && nbytes > NAY_RIBBON_HEADER ? (nbytes - NAY_RIBBON_HEADER) / 8 : 0;
  words = nay__min_u64(words, nkeys * 2); /* 128 bits a key: no k makes use of more */
  choice->bloom = ribbon_bloom_shape(nkeys, nay__max_u64(words, 1));
  if (words == 0) choice->bloom.nunits = 0;
}

static nay_status ribbon_plan(const nay_params *p, nay_diag *diag, nay_shape *shape) {
  nay_sizing by;
  NAY_TRY(nay__params_check(p, diag, &by));
  if (by == NAY_BY_NBITS) {
    return nay__fail(diag, NAY_EINVAL, "nbits: the size of a static filter follows from its keys",
                     0);
  }
  if (p->fold > 1) return nay__fail(diag, NAY_EINVAL, "fold: this family does not fold", 0);
  if (p->k != 0) return nay__fail(diag, NAY_EINVAL, "k: a ribbon filter has none to choose", 0);
  if (p->nkeys > RIBBON_MAX_KEYS) {
    return nay__fail(diag, NAY_EINVAL, "nkeys is above 2^38, the limit of this family", 0);
  }
  ribbon_choice choice;
  bool bloom;
  if (by == NAY_BY_FPR) {
    if (!ribbon_for_fpr(p->nkeys, p->fpr, &choice)) {
      return nay__fail(diag, NAY_EINVAL, "fpr is below 2^-32: there are up to 32 columns", 0);
    }
    bloom = choice.bloom.nunits != 0 && ribbon_bytes(&choice.bloom) < ribbon_bytes(&choice.ribbon);
  } else {
    double budget =
        by == NAY_BY_NBYTES ? (double)p->nbytes : p->bits_per_key * (double)p->nkeys / 8;
    /* like every family, bits_per_key may not hold for a handful of keys; nbytes always does */
    if (by == NAY_BY_BITS_PER_KEY && budget < NAY_RIBBON_HEADER + 8) budget = NAY_RIBBON_HEADER + 8;
    ribbon_for_budget(p->nkeys, (uint64_t)budget, &choice);
    bloom = choice.bloom.nunits != 0 &&
            (choice.ribbon.nunits == 0 ||
             ribbon_fpr(&choice.bloom, p->nkeys) < ribbon_fpr(&choice.ribbon, p->nkeys));
  }
  if (choice.bloom.nunits != 0 && p->nkeys <= RIBBON_ALWAYS_BLOOM) bloom = true;
  *shape = bloom ? choice.bloom : choice.ribbon;
  if (shape->nunits != 0) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "the size is too small for one column", 0);
}

/* ---- probes ---- */

NAY_INLINE nay_ribbon_spot ribbon_aim(const nay_ribbon *r, const uint8_t *blocks,
                                      const nay_ribbon_shard *s, uint64_t x) {
  nay_ribbon_row row = nay__ribbon_row_of(x, s);
  uint64_t block = s->first + row.start / NAY_RIBBON_WIDTH;
  unsigned offset = row.start % NAY_RIBBON_WIDTH, bit = offset % 64;
  nay_ribbon_spot p = {.print = row.print, .columns = r->columns - (block < r->short_blocks)};
  p.bits[0] = row.lo << bit;
  p.bits[1] = row.hi << bit | (row.lo >> 1) >> (63 - bit);
  p.bits[2] = (row.hi >> 1) >> (63 - bit);
  p.upper = offset >= 64;
  p.here = blocks + nay__ribbon_column_of(r, block) * NAY_RIBBON_COLUMN;
  /* no branch here: nobody can foretell it. A key that begins with its block has nothing in the
   * next, which may not exist */
  p.next = p.here + ((size_t)p.columns * NAY_RIBBON_COLUMN & (0 - (size_t)(offset != 0)));
  return p;
}

/* A column of the key, folded into one word: the first of its words, the second, the third. */
NAY_INLINE uint64_t ribbon_column(const nay_ribbon_spot *p, size_t c) {
  size_t at = c * NAY_RIBBON_COLUMN, upper = p->upper ? 8 : 0;
  const uint8_t *middle = p->upper ? p->next : p->here + 8;
  return (nay__load64le(p->here + upper + at) & p->bits[0]) ^
         (nay__load64le(middle + at) & p->bits[1]) ^
         (nay__load64le(p->next + upper + at) & p->bits[2]);
}

#define RIBBON_QUARTERS 0x0001000100010001u

/* The parities of four words, in the lowest bit of each quarter; other bits are rubbish. */
NAY_INLINE uint64_t ribbon_parities(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  uint32_t a32 = (uint32_t)(a ^ a >> 32), b32 = (uint32_t)(b ^ b >> 32);
  uint32_t c32 = (uint32_t)(c ^ c >> 32), d32 = (uint32_t)(d ^ d >> 32);
  uint32_t ab = ((a32 ^ a32 >> 16) & 0xffff) | ((b32 ^ b32 << 16) & 0xffff0000);
  uint32_t cd = ((c32 ^ c32 >> 16) & 0xffff) | ((d32 ^ d32 << 16) & 0xffff0000);
  uint64_t x = ab | (uint64_t)cd << 32;
  x ^= x >> 8;
  x ^= x >> 4;
  x ^= x >> 2;
  return x ^ x >> 1;
}

/* Bit 0 is 0 when `n` columns from c on are as the fingerprint says. */
NAY_INLINE uint64_t ribbon_differ(const nay_ribbon_spot *p, unsigned c, unsigned n,
                                  uint64_t print) {
  uint64_t differ = 0;
  for (unsigned end = c + n; c < end; c++, print >>= 16) {
    differ |= print ^ nay__parity64(ribbon_column(p, c));
  }
  return differ;
}

NAY_INLINE bool ribbon_four_differ(const nay_ribbon_spot *p, unsigned c, uint64_t print) {
  uint64_t got = ribbon_parities(ribbon_column(p, c), ribbon_column(p, c + 1),
                                 ribbon_column(p, c + 2), ribbon_column(p, c + 3));
  return ((got ^ print) & RIBBON_QUARTERS) != 0;
}

/* Four columns at a time: 15 of 16 absent keys end at the one branch that can be foretold. */
NAY_INLINE bool ribbon_look(const nay_ribbon_spot *p) {
  uint64_t print = p->print;
  unsigned c = 0;
  for (; c + 4 <= p->columns; c += 4, print >>= 1) {
    if (ribbon_four_differ(p, c, print)) return false;
  }
  return (ribbon_differ(p, c, p->columns - c, print) & 1) == 0;
}

NAY_INLINE bool ribbon_see(bool vectors, const nay_kernels *kernels, const nay_ribbon_spot *p) {
  return vectors ? kernels->ribbon_look(p) : ribbon_look(p);
}

NAY_INLINE bool ribbon_find(bool vectors, const nay_filter *f, uint64_t hash) {
  const nay_bits *b = &f->bits;
  uint64_t x = nay__premix(hash, nay__load64le(b->bytes));
  nay_ribbon r = nay__ribbon_open(b);
  nay_ribbon_shard s = nay__ribbon_shard_at(b->bytes, nay__shard_of(x, r.nshards));
  if (NAY_UNLIKELY(s.nblocks == 0)) return false;
  nay_ribbon_spot p = ribbon_aim(&r, b->bytes + nay__ribbon_blocks_at(r.nshards), &s, x);
  return ribbon_see(vectors, f->kernels, &p);
}

static bool ribbon_test_by_words(const nay_filter *f, nay_hash h) {
  if (f->shape.extra != 0) return ribbon_find(false, f, h.lo);
  nay_bits bits = nay__ribbon_bloom(f);
  return f->kernels->bloom_test(&bits, nay__premix(h.lo, nay__load64le(f->bits.bytes)));
}

static bool ribbon_test(const nay_filter *f, nay_hash h) {
  if (NAY_UNLIKELY(f->kernels->ribbon_look == NULL || f->shape.extra == 0)) {
    return ribbon_test_by_words(f, h);
  }
  return ribbon_find(true, f, h.lo);
}

/* A key's two blocks are neighbours: a run of up to 1024 bytes, fetched line by line. */
NAY_INLINE void ribbon_prefetch(const nay_ribbon_spot *p) {
  const uint8_t *end = p->next + p->columns * NAY_RIBBON_COLUMN;
  for (const uint8_t *at = p->here; at < end; at += NAY_CACHE_LINE) NAY_PREFETCH(at);
  NAY_PREFETCH(end - 1);
}

#define RIBBON_GROUP 16u

NAY_INLINE uint64_t ribbon_find64(bool vectors, const nay_filter *f, const uint64_t *x,
                                  unsigned n) {
  const nay_bits *b = &f->bits;
  nay_ribbon r = nay__ribbon_open(b);
  const uint8_t *blocks = b->bytes + nay__ribbon_blocks_at(r.nshards);
  uint64_t bitmap = 0;
  for (unsigned from = 0; from < n; from += RIBBON_GROUP) {
    nay_ribbon_spot spots[RIBBON_GROUP];
    unsigned group = n - from < RIBBON_GROUP ? n - from : RIBBON_GROUP, empty = 0;
    for (unsigned i = 0; i < group; i++) {
      nay_ribbon_shard s = nay__ribbon_shard_at(b->bytes, nay__shard_of(x[from + i], r.nshards));
      empty |= (unsigned)(s.nblocks == 0) << i;
      if (NAY_UNLIKELY(s.nblocks == 0)) s = (nay_ribbon_shard){0, 1, 0};
      spots[i] = ribbon_aim(&r, blocks, &s, x[from + i]);
      if (!b->in_cache) ribbon_prefetch(&spots[i]);
    }
    for (unsigned i = 0; i < group; i++) {
      bitmap |= (uint64_t)ribbon_see(vectors, f->kernels, &spots[i]) << (from + i);
    }
    bitmap &= ~((uint64_t)empty << from);
  }
  return bitmap;
}

static nay_ribbon_map ribbon_map(const nay_bits *b) {
  nay_ribbon r = nay__ribbon_open(b);
  return (nay_ribbon_map){.directory = b->bytes + NAY_RIBBON_HEADER,
                          .blocks = b->bytes + nay__ribbon_blocks_at(r.nshards),
                          .nshards = r.nshards,
                          .short_blocks = r.short_blocks,
                          .columns = r.columns,
                          .in_cache = b->in_cache};
}

uint64_t nay__ribbon_test64(const nay_filter *f, const uint64_t *x, unsigned n) {
  if (f->shape.extra == 0) {
    nay_bits bits = nay__ribbon_bloom(f);
    return f->kernels->bloom_test64(&bits, x, n);
  }
  if (f->kernels->ribbon_test64 != NULL) {
    nay_ribbon_map map = ribbon_map(&f->bits);
    return f->kernels->ribbon_test64(&map, x, n);
  }
  bool vectors = f->kernels->ribbon_look != NULL;
  return vectors ? ribbon_find64(true, f, x, n) : ribbon_find64(false, f, x, n);
}

static uint64_t ribbon_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                              unsigned n) {
  (void)hi;
  uint64_t premix = nay__load64le(f->bits.bytes), x[64];
  if (NAY_LIKELY(premix == 0)) return nay__ribbon_test64(f, lo, n);
  for (unsigned i = 0; i < n; i++) x[i] = nay__premix(lo[i], premix);
  return nay__ribbon_test64(f, x, n);
}

static unsigned ribbon_touch_bloom(const nay_filter *f, uint64_t x, const uint8_t **addresses) {
  nay_bits bits = nay__ribbon_bloom(f);
  for (uint32_t i = 0; i < bits.k; i++, x *= 0x9e3779b97f4a7c15u) {
    addresses[i] = bits.bytes + (nay__reduce(x, bits.nunits) >> 3);
  }
  return bits.k;
}

static unsigned ribbon_touch(const nay_filter *f, nay_hash h, const uint8_t **addresses) {
  const uint8_t *bytes = f->bits.bytes;
  uint64_t x = nay__premix(h.lo, nay__load64le(bytes));
  if (f->shape.extra == 0) return ribbon_touch_bloom(f, x, addresses);
  nay_ribbon r = nay__ribbon_open(&f->bits);
  uint64_t shard = nay__shard_of(x, r.nshards);
  addresses[0] = bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
  addresses[1] = addresses[0] + NAY_RIBBON_ENTRY;
  addresses[2] = bytes + NAY_RIBBON_HEADER + r.nshards * NAY_RIBBON_ENTRY;
  nay_ribbon_shard s = nay__ribbon_shard_at(bytes, shard);
  if (s.nblocks == 0) return 3;
  nay_ribbon_spot p = ribbon_aim(&r, bytes + nay__ribbon_blocks_at(r.nshards), &s, x);
  if (p.columns == 0) return 3;
  addresses[3] = p.here; /* and all up to the next address: less than a chunk */
  addresses[4] = p.next + p.columns * NAY_RIBBON_COLUMN - 1;
  return 5;
}

/* ---- whole filters ---- */

/* The share of a shard's first slots that lie in blocks with a column less. */
static double ribbon_short_share(const nay_ribbon *r, const nay_ribbon_shard *s) {
  if (s->first >= r->short_blocks) return 0;
  if (s->first + s->nblocks <= r->short_blocks) return 1;
  double starts = (double)s->nblocks * NAY_RIBBON_WIDTH - (NAY_RIBBON_WIDTH - 1);
  return (double)(r->short_blocks - s->first) * NAY_RIBBON_WIDTH / starts;
}

static void ribbon_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                          nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  uint64_t nbits = a->nbytes * 8;
  if (a->shape.extra == 0) {
    *census = (nay_census){nbits, nbits, (double)a->nkeys, ribbon_fpr(&a->shape, a->nkeys)};
    return;
  }
  nay_ribbon r = nay__ribbon_open(&a->bits);
  double rates = 0;
  for (uint64_t i = 0; i < r.nshards; i++) {
    nay_ribbon_shard s = nay__ribbon_shard_at(a->bits.bytes, i);
    if (s.nblocks != 0) rates += ribbon_rate(r.columns, ribbon_short_share(&r, &s));
  }
  *census = (nay_census){nbits, nbits, (double)a->nkeys, rates / (double)r.nshards};
}

static nay_status ribbon_check(const nay_shape *shape, const uint8_t *payload, size_t len,
                               nay_diag *diag) {
  (void)len; /* it is what payload() says */
  if (shape->extra == 0) return NAY_OK;
  uint64_t nshards = shape->extra, end_at = NAY_RIBBON_HEADER + nshards * NAY_RIBBON_ENTRY;
  uint64_t nblocks = nay__load32le(payload + end_at + 4);
  if (nblocks * shape->k < shape->nunits || nblocks * (shape->k - 1) >= shape->nunits) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of blocks does not fit the header",
                     end_at + 4);
  }
  uint64_t before = 0;
  for (uint64_t i = 0; i <= nshards; i++) {
    uint64_t at = NAY_RIBBON_HEADER + i * NAY_RIBBON_ENTRY, first = nay__load32le(payload + at);
    if (first < before || first > nblocks || first - before > UINT32_MAX / NAY_RIBBON_WIDTH ||
        (i == 0 && first != 0)) {
      return nay__fail(diag, NAY_ECORRUPT, "the blocks of a shard are not where they belong", at);
    }
    before = first;
  }
  return NAY_OK;
}

static nay_status ribbon_shrunk(const nay_filter *f, uint64_t nbytes, nay_shape *shape) {
  if (f->shape.extra == 0) return NAY_ENOTSUP;
  uint64_t head = nay__ribbon_blocks_at(f->shape.extra);
  uint64_t nblocks = nay__load32le(f->bits.bytes + head - 4);
  uint64_t columns = nbytes > head ? (nbytes - head) / NAY_RIBBON_COLUMN : 0;
  if (columns == 0) return NAY_EINVAL;
  columns = nay__min_u64(columns, f->shape.nunits);
  *shape = f->shape;
  shape->nunits = columns;
  shape->k = (uint32_t)nay__ceil_div(columns, nblocks);
  return NAY_OK;
}

static void ribbon_shrink(const nay_filter *src, const nay_shape *shape, uint8_t *dst) {
  uint64_t head = nay__ribbon_blocks_at(shape->extra);
  uint64_t nblocks = nay__load32le(src->bits.bytes + head - 4);
  memcpy(dst, src->bits.bytes, (size_t)head);
  nay_bits shrunk = {.bytes = dst, .nunits = shape->nunits, .k = shape->k, .extra = shape->extra};
  nay_ribbon from = nay__ribbon_open(&src->bits), to = nay__ribbon_open(&shrunk);
  for (uint64_t b = 0; b < nblocks; b++) {
    size_t columns = to.columns - (b < to.short_blocks);
    memcpy(dst + head + nay__ribbon_column_of(&to, b) * NAY_RIBBON_COLUMN,
           src->bits.bytes + head + nay__ribbon_column_of(&from, b) * NAY_RIBBON_COLUMN,
           columns * NAY_RIBBON_COLUMN);
  }
}

const nay_family nay__family_ribbon = {
    .kind = NAY_RIBBON,
    .name = "ribbon",
    .traits = 0,
    .plan = ribbon_plan,
    .payload = ribbon_payload,
    .fpr = ribbon_fpr,
    .build = &nay__band_solver,
    .test = ribbon_test,
    .test64 = ribbon_test64,
    .shrunk = ribbon_shrunk,
    .shrink = ribbon_shrink,
    .census = ribbon_census,
    .check = ribbon_check,
    .touch = ribbon_touch,
};
#undef RIBBON_ALWAYS_BLOOM
#undef RIBBON_GROUP
#undef RIBBON_MAX_KEYS
#undef RIBBON_QUARTERS
#undef RIBBON_SHARD_KEYS

/* ==== src/family/banding.c ================================================================== */
/*
 * banding.c - solves the equations of one shard of a ribbon filter.
 *
 * Each key is an equation over 128 neighbouring slots. They are brought, one by one, into a band
 * matrix in echelon form: the equation goes to the row of its first slot; if that row is taken, the
 * two are added, which removes the first slot, and the sum goes on to the row of its next one:
 *
 *      slot  0 1 2 3 4 5 6 7 8 9 ...
 *      row 0 1 0 1 1 0 1
 *      row 1   1 1 0 0 1 0           each row begins with a 1 on the diagonal, or is empty
 *      row 3       1 0 1 1 0 1
 *
 * A sum that vanishes means that the equations depend on each other: another seed. Then the slots
 * are computed from the last to the first. The columns of the result do not know of each other, so
 * each has a register with its last 128 slots, shifted by one for each row; every 128 rows the
 * registers are a block as it is stored.
 *
 * Which rows are taken depends on the set alone, slots of empty rows are 0, and the rest follows:
 * the order of the keys leaves no trace. They are sorted by their first slot, roughly, for the
 * cache and for the CPUs that eliminate eight slots at a time (cpu/kernels_band.c).
 *
 * Homogeneous [2]: when no seed works, all results are made 0 and the slots of empty rows random.
 * That has always a solution. It would need 1.05 n slots to keep the rate, so here it is a last
 * resort that costs the rate of a shard: 32 seeds fail together once in 10^40 shards.
 *
 * [1] Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and xor. 2021.
 * [2] Dillinger, Hübschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate
 *     membership using ribbon. SEA 2022.
 */

#define BAND_LANES 2u /* 1: 20 % slower, 4: 15 % slower, for want of registers */

typedef struct band {
  nay_band_row *rows;
  uint32_t *ends; /* of the keys of each panel */
  uint64_t *keys; /* in the order of their panels */
  uint32_t nslots;
} band;

static size_t band_rows_bytes(uint64_t nblocks) {
  return (size_t)nay__round_up(nblocks * NAY_RIBBON_WIDTH * sizeof(nay_band_row), 64);
}

static size_t band_ends_bytes(uint64_t nblocks) {
  return (size_t)(nblocks * NAY_RIBBON_WIDTH / NAY_BAND_PANEL * sizeof(uint32_t));
}

static size_t band_scratch(const nay_shape *shape, uint64_t n) {
  (void)shape;
  uint64_t nblocks = nay__ribbon_demand(n) + 1; /* band_begin gives a shard one more, at most */
  return band_rows_bytes(nblocks) + band_ends_bytes(nblocks) + (size_t)n * sizeof(uint64_t);
}

static band band_open(const nay_ribbon_shard *s, uint8_t *scratch) {
  uint8_t *ends = scratch + band_rows_bytes(s->nblocks), *keys = ends + band_ends_bytes(s->nblocks);
  return (band){(nay_band_row *)(void *)scratch, (uint32_t *)(void *)ends, (uint64_t *)(void *)keys,
                s->nblocks * NAY_RIBBON_WIDTH};
}

/* ---- elimination ---- */

static void band_sort(const nay_ribbon_shard *s, const uint64_t *x, size_t n, const band *b) {
  uint32_t sum = 0;
  memset(b->ends, 0, band_ends_bytes(s->nblocks));
  for (size_t i = 0; i < n; i++) b->ends[nay__ribbon_row_of(x[i], s).start / NAY_BAND_PANEL]++;
  for (uint32_t i = 0; i < b->nslots / NAY_BAND_PANEL; i++) {
    uint32_t count = b->ends[i];
    b->ends[i] = sum; /* where its keys begin, until all of them are there */
    sum += count;
  }
  for (size_t i = 0; i < n; i++) {
    b->keys[b->ends[nay__ribbon_row_of(x[i], s).start / NAY_BAND_PANEL]++] = x[i];
  }
}

/* A share of the sorted keys, and the equation of one of them on its way down the band. */
typedef struct band_lane {
  const uint64_t *next, *end;
  uint64_t lo, hi, print;
  nay_band_row *row;
} band_lane;

/* Takes up the next key; false at the end of the share. */
NAY_INLINE bool band_start(const nay_ribbon_shard *s, const band *b, band_lane *l) {
  if (l->next == l->end) return false;
  nay_ribbon_row equation = nay__ribbon_row_of(*l->next++, s);
  l->lo = equation.lo;
  l->hi = equation.hi;
  l->print = equation.print;
  l->row = b->rows + equation.start;
  return true;
}

enum { BAND_GOES_ON, BAND_PLACED, BAND_DEPENDS };

/* Goes on to the first slot that is not eliminated. */
NAY_INLINE int band_skip(band_lane *l, nay_band_row *row, uint64_t lo, uint64_t hi) {
  if (NAY_UNLIKELY(lo == 0)) {
    if (hi == 0) return BAND_DEPENDS;
    row += 64;
    lo = hi;
    hi = 0;
  }
  unsigned zeros = nay__ctz64(lo);
  l->row = row + zeros;
  l->lo = lo >> zeros | (hi << 1) << (63 - zeros);
  l->hi = hi >> zeros;
  return BAND_GOES_ON;
}

/* One step: into the row if it is empty, else on to the next one. */
NAY_INLINE int band_step(band_lane *l) {
  nay_band_row *row = l->row;
  if (row->lo == 0) {
    *row = (nay_band_row){l->lo, l->hi, l->print};
    return BAND_PLACED;
  }
  l->print ^= row->print;
  return band_skip(l, row, l->lo ^ row->lo, l->hi ^ row->hi);
}

/* False when an equation depends on others, which in a homogeneous system does no harm. */
NAY_INLINE bool band_advance(const nay_ribbon_shard *s, const band *b, bool homogeneous,
                             band_lane *l, bool *more) {
  int step = band_step(l);
  if (NAY_LIKELY(step == BAND_GOES_ON)) return true;
  if (step == BAND_DEPENDS && !homogeneous) return false;
  *more = band_start(s, b, l);
  return true;
}

/*
 * A step waits for the one before it. So several keys go down at once, from different parts of the
 * band; where their ways meet, any order of steps is as good as another.
 */
static bool band_place(const nay_ribbon_shard *s, const band *b, uint64_t *keys, size_t n,
                       bool homogeneous) {
  band_lane lanes[BAND_LANES];
  bool more = true;
  for (size_t i = 0; i < BAND_LANES; i++) {
    lanes[i].next = keys + n * i / BAND_LANES;
    lanes[i].end = keys + n * (i + 1) / BAND_LANES;
    if (!band_start(s, b, &lanes[i])) lanes[i].row = NULL;
    more = more && lanes[i].row != NULL;
  }
  while (more) {
    for (size_t i = 0; i < BAND_LANES; i++) {
      bool lane_more = true;
      if (!band_advance(s, b, homogeneous, &lanes[i], &lane_more)) return false;
      if (NAY_UNLIKELY(!lane_more)) {
        lanes[i].row = NULL;
        more = false;
      }
    }
  }
  for (size_t i = 0; i < BAND_LANES; i++) { /* one share has ended: the others one by one */
    bool lane_more = lanes[i].row != NULL;
    while (lane_more) {
      if (!band_advance(s, b, homogeneous, &lanes[i], &lane_more)) return false;
    }
  }
  return true;
}

/* Equations that begin anywhere after `row`. */
static bool band_place_pending(const nay_band_pending *p, nay_band_row *row) {
  for (unsigned i = 0; i < p->n; i++) {
    band_lane l = {.print = p->print[i]};
    int step = band_skip(&l, row, p->lo[i], p->hi[i]);
    while (step == BAND_GOES_ON) step = band_step(&l);
    if (step == BAND_DEPENDS) return false;
  }
  return true;
}

/* By vectors; the few keys that are left then go down one by one. */
static bool band_sweep(const nay_filter *f, const nay_ribbon_shard *s, const band *b) {
  uint32_t half = b->nslots / NAY_BAND_PANEL / 2, middle = b->ends[half - 1];
  uint32_t starts = b->nslots - (NAY_RIBBON_WIDTH - 1);
  nay_band_sweep halves[2];
  for (uint32_t i = 0; i < 2; i++) {
    nay_band_sweep *h = &halves[i];
    h->rows = b->rows + (size_t)i * half * NAY_BAND_PANEL;
    h->ends = b->ends + (size_t)i * half;
    h->keys = b->keys;
    h->next = h->aside = i == 0 ? 0 : middle;
    h->seed = s->seed;
    h->starts = starts;
    h->naside = 0;
    memset(&h->pending, 0, sizeof h->pending);
  }
  f->kernels->band_sweep(halves, half);
  /* what the second half leaves has no slot: it depends on others */
  return halves[1].pending.n == 0 &&
         band_place_pending(&halves[0].pending, b->rows + (size_t)half * NAY_BAND_PANEL) &&
         band_place(s, b, b->keys, halves[0].naside, false) &&
         band_place(s, b, b->keys + middle, halves[1].naside, false);
}

static bool band_eliminate(const nay_filter *f, const nay_ribbon_shard *s, const band *b, size_t n,
                           bool homogeneous) {
  if (f->kernels->band_sweep != NULL && !homogeneous) return band_sweep(f, s, b);
  memset(b->rows, 0, b->nslots * sizeof *b->rows);
  return band_place(s, b, b->keys, n, homogeneous);
}

/* ---- substitution ---- */

/* All columns of one slot. free: the results of an empty row. */
NAY_INLINE void band_substitute(const nay_band_row *row, uint64_t free, bool popcnt,
                                nay_band_columns *columns, unsigned ncolumns) {
  uint64_t constant = row->lo == 0 ? free : row->print;
  for (unsigned c = 0; c < ncolumns; c++) {
    uint64_t lo = columns->lo[c], hi = columns->hi[c];
    hi = hi << 1 | lo >> 63;
    lo <<= 1;
    uint64_t bit = constant >> nay__ribbon_print_bit(c), x = (lo & row->lo) ^ (hi & row->hi);
    bit ^= popcnt ? nay__popcount64(x) : nay__parity64(x);
    columns->lo[c] = lo | (bit & 1);
    columns->hi[c] = hi;
  }
}

static void band_store(const nay_filter *f, const nay_ribbon *r, uint64_t block,
                       const nay_band_columns *columns) {
  uint8_t *p = f->bits.bytes + nay__ribbon_blocks_at(r->nshards) +
               nay__ribbon_column_of(r, block) * NAY_RIBBON_COLUMN;
  unsigned n = r->columns - (block < r->short_blocks);
  for (unsigned c = 0; c < n; c++, p += NAY_RIBBON_COLUMN) {
    nay__store64le(p, columns->lo[c]);
    nay__store64le(p + 8, columns->hi[c]);
  }
}

NAY_INLINE void band_solve(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                           const band *b, bool homogeneous, bool popcnt) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t i = b->nslots; i-- > 0;) {
    uint64_t free = homogeneous ? nay_hash_mix(((uint64_t)s->first << 32) + i) : 0;
    band_substitute(&b->rows[i], free, popcnt, &columns, r->columns);
    if (i % NAY_RIBBON_WIDTH == 0) band_store(f, r, s->first + i / NAY_RIBBON_WIDTH, &columns);
  }
}

/* The same, block by block. */
static void band_solve_vectors(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                               const band *b) {
  nay_band_columns columns = {{0}, {0}};
  for (uint32_t block = s->nblocks; block-- > 0;) {
    for (unsigned part = 0; part < (r->columns + 7) / 8; part++) {
      f->kernels->band_solve(b->rows + (size_t)block * NAY_RIBBON_WIDTH, part, &columns);
    }
    band_store(f, r, s->first + block, &columns);
  }
}

NAY_BMI2 static void band_solve_popcnt(const nay_filter *f, const nay_ribbon *r,
                                       const nay_ribbon_shard *s, const band *b, bool homogeneous) {
  band_solve(f, r, s, b, homogeneous, true);
}

static void band_solve_back(const nay_filter *f, const nay_ribbon *r, const nay_ribbon_shard *s,
                            const band *b, bool homogeneous) {
  if (f->kernels->band_solve != NULL && !homogeneous) {
    band_solve_vectors(f, r, s, b);
  } else if (f->kernels->popcnt) {
    band_solve_popcnt(f, r, s, b, homogeneous);
  } else {
    band_solve(f, r, s, b, homogeneous, false);
  }
}

/* ---- the solver ---- */

static uint64_t band_nshards(const nay_shape *shape) { return nay__max_u64(shape->extra, 1); }

static uint8_t *band_entry(nay_filter *f, uint64_t shard) {
  return f->bits.bytes + NAY_RIBBON_HEADER + shard * NAY_RIBBON_ENTRY;
}

/* While the directory is made, the number of blocks of a shard is where its first block will be. */
static void band_change_blocks(nay_filter *f, uint64_t shard, uint64_t *difference, int by) {
  uint8_t *entry = band_entry(f, shard);
  uint32_t blocks = nay__load32le(entry);
  if (*difference == 0 || blocks == 0 || (by < 0 && blocks == 1)) return;
  nay__store32le(entry, by < 0 ? blocks - 1 : blocks + 1);
  --*difference;
}

/*
 * The directory. The plan has fixed the number of blocks; each shard gets what its keys demand. Of
 * what is left over it gets one more, as long as there are any; what lacks is taken one by one.
 */
static void band_begin(nay_filter *f, uint64_t premix, const uint64_t *counts) {
  nay__store64le(f->bits.bytes, premix);
  if (f->shape.extra == 0) return;
  uint64_t nshards = f->shape.extra, nblocks = nay__ribbon_dims(f->nkeys).nblocks, demand = 0;
  for (uint64_t s = 0; s < nshards; s++) {
    uint64_t blocks = nay__ribbon_demand(counts[s]);
    nay__store32le(band_entry(f, s), (uint32_t)blocks);
    demand += blocks;
  }
  uint64_t spare = demand < nblocks ? nblocks - demand : 0;
  for (uint64_t s = 0; s < nshards; s++) band_change_blocks(f, s, &spare, 1);
  uint64_t lack = demand > nblocks ? demand - nblocks : 0;
  while (lack != 0) { /* ends: there are fewer shards than blocks */
    for (uint64_t s = 0; s < nshards; s++) band_change_blocks(f, s, &lack, -1);
  }
  uint32_t first = 0;
  for (uint64_t s = 0; s < nshards; s++) {
    uint32_t blocks = nay__load32le(band_entry(f, s));
    nay__store32le(band_entry(f, s), first);
    first += blocks;
  }
  nay__store32le(band_entry(f, nshards), first);
  nay__store32le(band_entry(f, nshards) + 4, (uint32_t)nblocks);
}

/* A set for which a Bloom filter is smaller: see ribbon.c. Equal keys are refused here too. */
static bool band_fill_bloom(nay_filter *f, const uint64_t *x, size_t n, uint8_t *scratch) {
  nay_bits bits = nay__ribbon_bloom(f);
  uint64_t *sorted = (uint64_t *)(void *)scratch;
  if (n != 0) memcpy(sorted, x, n * sizeof *x);
  nay__sort_u64(sorted, n);
  if (nay__unique_u64(sorted, n) != n) return false;
  for (size_t i = 0; i < n; i++) nay__kernels_scalar.bloom_add(&bits, x[i]);
  return true;
}

static bool band_attempt(nay_filter *f, uint64_t shard, unsigned attempt, uint32_t seed,
                         const uint64_t *x, size_t n, uint8_t *scratch) {
  (void)attempt;
  if (f->shape.extra == 0) return band_fill_bloom(f, x, n, scratch);
  nay_ribbon r = nay__ribbon_open(&f->bits);
  nay_ribbon_shard s = nay__ribbon_shard_at(f->bits.bytes, shard);
  if (n == 0) return true;
  s.seed = seed;
  band b = band_open(&s, scratch);
  if (n > b.nslots) return false;
  band_sort(&s, x, n, &b);
  if (!band_eliminate(f, &s, &b, n, false)) return false;
  band_solve_back(f, &r, &s, &b, false);
  nay__store32le(band_entry(f, shard) + 4, seed);
  return true;
}

static void band_give_up(nay_filter *f, uint64_t shard, uint32_t seed, const uint64_t *x, size_t n,
                         uint8_t *scratch) {
  nay_ribbon r = nay__ribbon_open(&f->bits);
  nay_ribbon_shard s = nay__ribbon_shard_at(f->bits.bytes, shard);
  s.seed = seed | NAY_RIBBON_HOMOGENEOUS;
  band b = band_open(&s, scratch);
  band_sort(&s, x, n, &b);
  band_eliminate(f, &s, &b, n, true);
  band_solve_back(f, &r, &s, &b, true);
  nay__store32le(band_entry(f, shard) + 4, s.seed);
}

const nay_solver nay__band_solver = {
    .nshards = band_nshards,
    .shards_per_task_log2 = 4, /* 2^18 keys: enough to cut in one pass, few enough to share */
    .begin = band_begin,
    .scratch = band_scratch,
    .attempt = band_attempt,
    .give_up = band_give_up,
    .test64 = nay__ribbon_test64,
};
#undef BAND_LANES

/* ==== src/redis/sbchain.c =================================================================== */
/*
 * sbchain.c - RedisBloom's chained Bloom filter: a list of plain Bloom filters, each larger and
 * stricter than the one before.
 *
 *   link 0           link 1                link 2
 *   [ n, e/2 ]  -->  [ n*growth, e/4 ] --> [ n*growth^2, e/8 ]      rates sum up to less than e
 *
 * An item is new if no link has it; it then goes into the last link, and when that holds as many
 * items as it was made for, a further one is opened. An item has two hashes, and its positions in a
 * link of m bits are
 *
 *   a = murmur64a(item, 0xc6a4a7935bd1e995)   b = murmur64a(item, a)
 *   position i = ((a + i * b) mod 2^64) mod m,   byte position / 8, bit position % 8
 *
 * so an item is hashed once however long the chain is. Filters of before 2019 have a 32-bit hash
 * and sizes that are powers of two; they are read, probed and grown as they were.
 *
 * Two things make it faster than dividing and waiting, with the same bits. The remainder of a
 * division by m comes from a multiplication by floor((2^64 - 1) / m): that quotient is at most one
 * too small, so one subtraction settles it. And the items of a batch are hashed first and their
 * cache lines asked for together: a filter of ten million items is larger than the caches, and one
 * access after the other would wait for the memory each time. A probe that will say nay mostly says
 * it after two positions (half of the bits are set), so a batch first asks for two lines of each
 * item, and for the rest only of those items that are still in doubt.
 */

/* ==== src/redis/sbchain.h =================================================================== */
/* sbchain.h - inside a chained Bloom filter: what its operations and its bytes share. */
#ifndef NAY_SBCHAIN_H
#define NAY_SBCHAIN_H

/* A probe reads the first four fields of a link and nothing else. */
typedef struct sblink {
  uint64_t modulus;    /* positions are taken modulo this: 2^n2 or nbits */
  uint64_t reciprocal; /* floor((2^64 - 1) / modulus) */
  uint8_t *bytes;
  uint32_t hashes;
  uint32_t n2;
  uint64_t entries, size, nbits, nbytes;
  double error, bpe;
} sblink;

struct nay_sbchain {
  sblink *links;
  uint32_t nlinks, room; /* links in use; links that the list has place for */
  uint32_t options, growth;
  uint32_t max_hashes; /* of all links: a stranger's chain need not tighten */
  uint64_t size;
  nay_zallocator allocator;
};

/* nay__sblink_plan: the shape of a link for `entries` items; no memory yet. NAY_EINVAL. */
nay_status nay__sblink_plan(uint64_t entries, double error, uint32_t options, sblink *link);

/* nay__sblink_rate_bpe: bits per entry for a rate, with RedisBloom's constant. */
double nay__sblink_rate_bpe(double error);

/* nay__sblink_hashes: how many bits an item sets. */
uint32_t nay__sblink_hashes(double bpe);

/* nay__sblink_set_modulus: from nbits and n2. */
void nay__sblink_set_modulus(sblink *link);

/* nay__sblink_position: the bit that hash i of an item sets; the remainder without a division. */
NAY_INLINE uint64_t nay__sblink_position(const sblink *link, nay_hash hash, uint32_t i) {
  uint64_t x = hash.lo + i * hash.hi;
  uint64_t rest = x - nay__mulhi(x, link->reciprocal) * link->modulus;
  return rest >= link->modulus ? rest - link->modulus : rest;
}

/* nay__sblink_test: whether the link has an item of this hash. */
bool nay__sblink_test(const sblink *link, nay_hash hash);

/* nay__sblink_mark: sets its bits. */
void nay__sblink_mark(sblink *link, nay_hash hash);

/*
 * Dumps in place: the header is NAY_SB_HEAD bytes and NAY_SB_ROW for each link, then come the
 * arrays. nay__sb_read_row believes the row; nay__sb_check_dump says whether one may, for all of
 * them and for len bytes of header and arrays together.
 */
enum { NAY_SB_HEAD = 20, NAY_SB_ROW = 53 };
void nay__sb_read_row(const uint8_t *row, sblink *link);
void nay__sb_write_row(const sblink *link, uint8_t *row);
nay_status nay__sb_check_dump(const uint8_t *bytes, size_t len, nay_diag *diag);

/* nay__sbchain_alloc: a chain without links. */
nay_status nay__sbchain_alloc(const nay_zallocator *allocator, nay_sbchain **chain);

/* nay__sbchain_push: appends a link, which takes its bytes along. NAY_ENOMEM: it did not. */
nay_status nay__sbchain_push(nay_sbchain *chain, const sblink *link);

/* nay__sbchain_push_zero: appends a link with an array of zeros. */
nay_status nay__sbchain_push_zero(nay_sbchain *chain, sblink *link);

#endif /* NAY_SBCHAIN_H */

#define SB_LN2 0.693147180559945          /* RedisBloom's constants, digit by digit: */
#define SB_LN2_SQUARED 0.480453013918201  /* sizes are computed from them */
#define SB_TIGHTENING 0.5                 /* each link has half the rate of the one before */
#define SB_CACHED (256u << 10)            /* an array up to this size is in the caches anyway */
#define SB_MAX_BITS 9223372036854775808.0 /* 2^63 */
#define SB_OPTIONS_KNOWN 15u

/* ---- shapes ---- */

double nay__sblink_rate_bpe(double error) { return -(nay__ln_nearest(error) / SB_LN2_SQUARED); }

uint32_t nay__sblink_hashes(double bpe) {
  double exact = SB_LN2 * bpe;
  uint32_t whole = (uint32_t)exact;
  return whole + (whole < exact);
}

void nay__sblink_set_modulus(sblink *link) {
  link->modulus = link->n2 > 0 ? 1ull << link->n2 : link->nbits;
  link->reciprocal = UINT64_MAX / link->modulus;
}

/* The power of two above the need; the items that fit into the surplus are added to the capacity.
 */
static nay_status sblink_round_up(double need, sblink *link) {
  uint32_t n2 = 1;
  while (n2 < 63 && (double)(1ull << n2) <= need) n2++;
  if ((double)(1ull << n2) <= need) return NAY_EINVAL;
  link->n2 = n2;
  uint64_t spare = (uint64_t)((double)(1ull << n2) - need);
  link->entries += (uint64_t)((double)spare / link->bpe);
  return NAY_OK;
}

nay_status nay__sblink_plan(uint64_t entries, double error, uint32_t options, sblink *link) {
  if (entries == 0 || !(error > 0 && error < 1)) return NAY_EINVAL;
  *link = (sblink){.entries = entries, .error = error, .bpe = nay__sblink_rate_bpe(error)};
  double need = (double)entries * link->bpe;
  if (options & NAY_SB_ENTRIES_ARE_LOG2) {
    if (entries > 63) return NAY_EINVAL;
    link->n2 = (uint32_t)entries;
    link->entries = (uint64_t)((double)(1ull << link->n2) / link->bpe);
    if (link->entries == 0) return NAY_EINVAL; /* not even one item fits */
  } else if (!(options & NAY_SB_NO_ROUND)) {
    NAY_TRY(sblink_round_up(need, link));
  } else if (!(need < SB_MAX_BITS - 64)) {
    return NAY_EINVAL;
  }
  uint64_t nbits = link->n2 > 0 ? 1ull << link->n2 : nay__max_u64((uint64_t)need, 1);
  link->nbytes = nay__ceil_div(nbits, 64) * 8;
  link->nbits = link->nbytes * 8;
  link->hashes = nay__sblink_hashes(link->bpe);
  nay__sblink_set_modulus(link);
  return NAY_OK;
}

/* ---- making and releasing ---- */

nay_status nay__sbchain_alloc(const nay_zallocator *allocator, nay_sbchain **chain) {
  nay_zallocator from = {nay__calloc_default, nay__free_default, NULL};
  if (allocator != NULL) from = *allocator;
  nay_sbchain *made = from.zalloc(from.ctx, sizeof *made);
  if (made == NULL) return NAY_ENOMEM;
  *made = (nay_sbchain){.allocator = from};
  *chain = made;
  return NAY_OK;
}

static void *sbchain_zalloc(const nay_sbchain *chain, uint64_t nbytes) {
  size_t size;
  if (!nay__size_ok(nbytes, &size)) return NULL;
  return chain->allocator.zalloc(chain->allocator.ctx, size);
}

static void sbchain_release(const nay_sbchain *chain, void *ptr, uint64_t nbytes) {
  if (ptr != NULL) chain->allocator.free(chain->allocator.ctx, ptr, (size_t)nbytes);
}

/* The list doubles: a chain has few links, and a hostile one must not cost a copy for each. */
static nay_status sbchain_make_room(nay_sbchain *chain) {
  if (chain->nlinks < chain->room) return NAY_OK;
  if (chain->nlinks > UINT32_MAX / 4) return NAY_ENOMEM;
  uint32_t room = chain->room == 0 ? 1 : 2 * chain->room;
  sblink *links = sbchain_zalloc(chain, room * sizeof *links);
  if (links == NULL) return NAY_ENOMEM;
  if (chain->nlinks > 0) memcpy(links, chain->links, chain->nlinks * sizeof *links);
  sbchain_release(chain, chain->links, chain->room * sizeof *links);
  chain->links = links;
  chain->room = room;
  return NAY_OK;
}

nay_status nay__sbchain_push(nay_sbchain *chain, const sblink *link) {
  NAY_TRY(sbchain_make_room(chain));
  chain->links[chain->nlinks++] = *link;
  if (link->hashes > chain->max_hashes) chain->max_hashes = link->hashes;
  return NAY_OK;
}

nay_status nay__sbchain_push_zero(nay_sbchain *chain, sblink *link) {
  NAY_TRY(sbchain_make_room(chain));
  link->bytes = sbchain_zalloc(chain, link->nbytes);
  return link->bytes == NULL ? NAY_ENOMEM : nay__sbchain_push(chain, link);
}

nay_status nay_sbchain_new(double error, uint64_t capacity, uint32_t growth, uint32_t options,
                           const nay_zallocator *allocator, nay_sbchain **chain) {
  bool scales = !(options & NAY_SB_NO_SCALING);
  if ((options & ~SB_OPTIONS_KNOWN) != 0 || (scales && growth == 0)) return NAY_EINVAL;
  sblink link;
  NAY_TRY(nay__sblink_plan(capacity, scales ? error * SB_TIGHTENING : error, options, &link));
  nay_sbchain *made;
  NAY_TRY(nay__sbchain_alloc(allocator, &made));
  made->options = options;
  made->growth = growth;
  nay_status status = nay__sbchain_push_zero(made, &link);
  if (status != NAY_OK) {
    nay_sbchain_free(made);
    return status;
  }
  *chain = made;
  return NAY_OK;
}

static nay_status sbchain_copy_links(const nay_sbchain *from, nay_sbchain *to) {
  for (uint32_t i = 0; i < from->nlinks; i++) {
    sblink link = from->links[i];
    NAY_TRY(nay__sbchain_push_zero(to, &link));
    memcpy(link.bytes, from->links[i].bytes, (size_t)link.nbytes);
  }
  return NAY_OK;
}

nay_status nay_sbchain_copy(const nay_sbchain *chain, const nay_zallocator *allocator,
                            nay_sbchain **copy) {
  nay_sbchain *made;
  NAY_TRY(nay__sbchain_alloc(allocator, &made));
  made->options = chain->options;
  made->growth = chain->growth;
  made->size = chain->size;
  nay_status status = sbchain_copy_links(chain, made);
  if (status != NAY_OK) {
    nay_sbchain_free(made);
    return status;
  }
  *copy = made;
  return NAY_OK;
}

void nay_sbchain_free(nay_sbchain *chain) {
  if (chain == NULL) return;
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    sbchain_release(chain, chain->links[i].bytes, chain->links[i].nbytes);
  }
  sbchain_release(chain, chain->links, chain->room * sizeof *chain->links);
  nay_zallocator from = chain->allocator;
  from.free(from.ctx, chain, sizeof *chain);
}

bool nay_sbchain_move(nay_sbchain **chain, uint64_t part, nay_mover mover, void *ctx) {
  nay_sbchain *c = *chain;
  if (part >= 2 + (uint64_t)c->nlinks) return false;
  void *old = part == 0 ? (void *)c : part == 1 ? (void *)c->links : c->links[part - 2].bytes;
  void *moved = mover(ctx, old);
  if (moved == NULL) return true;
  if (part == 0) {
    *chain = moved;
  } else if (part == 1) {
    c->links = moved;
  } else {
    c->links[part - 2].bytes = moved;
  }
  return true;
}

/* ---- items ---- */

static nay_hash sbchain_hash(const nay_sbchain *chain, const void *item, size_t len) {
  if (NAY_LIKELY(chain->options & NAY_SB_HASH64)) return nay__murmur64x2(item, len);
  return nay__murmur32x2(item, len);
}

/* Whether the bits from position `first` up to `last` are all set; all are looked at. */
NAY_INLINE bool sblink_has_range(const sblink *link, nay_hash hash, uint32_t first, uint32_t last) {
  unsigned all = 1;
  for (uint32_t i = first; i < last; i++) {
    uint64_t at = nay__sblink_position(link, hash, i);
    all &= (unsigned)link->bytes[at >> 3] >> (at & 7);
  }
  return all & 1;
}

/*
 * A probe that will say nay mostly does so after two positions: half of the bits are set. Between
 * them, and behind them, there is no branch to guess wrong.
 */
static uint32_t sblink_few(const sblink *link) { return link->hashes < 2 ? link->hashes : 2; }

static bool sblink_has(const sblink *link, nay_hash hash) {
  uint32_t few = sblink_few(link);
  return sblink_has_range(link, hash, 0, few) && sblink_has_range(link, hash, few, link->hashes);
}

static void sblink_set(sblink *link, nay_hash hash) {
  for (uint32_t i = 0; i < link->hashes; i++) {
    uint64_t at = nay__sblink_position(link, hash, i);
    link->bytes[at >> 3] |= (uint8_t)(1u << (at & 7));
  }
}

static bool sbchain_has(const nay_sbchain *chain, nay_hash hash) {
  for (uint32_t i = chain->nlinks; i-- > 0;) {
    if (sblink_has(&chain->links[i], hash)) return true;
  }
  return false;
}

static nay_status sbchain_grow(nay_sbchain *chain) {
  const sblink *last = &chain->links[chain->nlinks - 1];
  if (chain->options & NAY_SB_NO_SCALING) return NAY_EFULL;
  if (last->entries > UINT64_MAX / chain->growth) return NAY_EINVAL;
  sblink next;
  NAY_TRY(nay__sblink_plan(last->entries * chain->growth, last->error * SB_TIGHTENING,
                           chain->options, &next));
  return nay__sbchain_push_zero(chain, &next);
}

static nay_status sbchain_add_hash(nay_sbchain *chain, nay_hash hash, bool *is_new) {
  *is_new = false;
  if (sbchain_has(chain, hash)) return NAY_OK;
  sblink *last = &chain->links[chain->nlinks - 1];
  if (last->size >= last->entries) {
    NAY_TRY(sbchain_grow(chain));
    last = &chain->links[chain->nlinks - 1];
  }
  sblink_set(last, hash);
  last->size++;
  chain->size++;
  *is_new = true;
  return NAY_OK;
}

nay_status nay_sbchain_add(nay_sbchain *chain, const void *item, size_t len, bool *is_new) {
  bool was_new;
  NAY_TRY(sbchain_add_hash(chain, sbchain_hash(chain, item, len), &was_new));
  if (is_new != NULL) *is_new = was_new;
  return NAY_OK;
}

bool nay_sbchain_may_contain(const nay_sbchain *chain, const void *item, size_t len) {
  return sbchain_has(chain, sbchain_hash(chain, item, len));
}

/* ---- batches ---- */

/* Positions of a group of items in one link, kept from the prefetch to the probe. */
#define SB_STORED 1024u
typedef uint64_t sb_positions[SB_STORED];

/* How many items are taken together: their positions in any link have to fit. 0: not even one,
 * which takes a rate below 10^-308. */
static size_t sbchain_group(const nay_sbchain *chain, size_t n) {
  return (size_t)nay__min_u64(n, SB_STORED / chain->max_hashes);
}

static void sbchain_hash_many(const nay_sbchain *chain, const void *const *items,
                              const size_t *lens, size_t n, nay_hash *hashes) {
  for (size_t i = 0; i < n; i++) hashes[i] = sbchain_hash(chain, items[i], lens[i]);
}

/* Positions [first, last) of an item into at[], and their lines on the way from memory. */
NAY_INLINE void sblink_fetch(const sblink *link, nay_hash hash, uint32_t first, uint32_t last,
                             uint64_t *at) {
  for (uint32_t i = first; i < last; i++) {
    at[i] = nay__sblink_position(link, hash, i);
    NAY_PREFETCH(link->bytes + (at[i] >> 3));
  }
}

/* The lines are here: looking at all bits costs less than guessing where to stop. */
NAY_INLINE bool sblink_has_at(const sblink *link, const uint64_t *at, uint32_t first,
                              uint32_t last) {
  unsigned all = 1;
  for (uint32_t i = first; i < last; i++) all &= (unsigned)link->bytes[at[i] >> 3] >> (at[i] & 7);
  return all & 1;
}

static void sblink_set_at(sblink *link, const uint64_t *at) {
  for (uint32_t i = 0; i < link->hashes; i++) {
    link->bytes[at[i] >> 3] |= (uint8_t)(1u << (at[i] & 7));
  }
}

/* An item that is added reads all its positions in the last link, few in the others. */
static void sbchain_fetch_older(const nay_sbchain *chain, const nay_hash *hashes, size_t n) {
  for (uint32_t i = chain->nlinks - 1; i-- > 0;) {
    const sblink *link = &chain->links[i];
    if (link->nbytes <= SB_CACHED) continue;
    uint64_t at[2];
    for (size_t j = 0; j < n; j++) sblink_fetch(link, hashes[j], 0, sblink_few(link), at);
  }
}

/* As sbchain_add_hash, for an item whose positions in the last link are known. */
static nay_status sbchain_add_at(nay_sbchain *chain, nay_hash hash, const uint64_t *at,
                                 bool *is_new) {
  sblink *last = &chain->links[chain->nlinks - 1];
  *is_new = false;
  if (sblink_has_at(last, at, 0, last->hashes)) return NAY_OK;
  if (last->size >= last->entries) return sbchain_add_hash(chain, hash, is_new);
  for (uint32_t i = chain->nlinks - 1; i-- > 0;) {
    if (sblink_has(&chain->links[i], hash)) return NAY_OK;
  }
  sblink_set_at(last, at);
  last->size++;
  chain->size++;
  *is_new = true;
  return NAY_OK;
}

/* One group; *done and *is_new count on. A link that is opened on the way ends the group. */
static nay_status sbchain_add_group(nay_sbchain *chain, const nay_hash *hashes, size_t n,
                                    uint64_t *is_new, size_t *done) {
  sb_positions stored;
  const sblink *last = &chain->links[chain->nlinks - 1];
  uint32_t nlinks = chain->nlinks, k = last->hashes;
  for (size_t i = 0; i < n; i++) sblink_fetch(last, hashes[i], 0, k, stored + i * k);
  sbchain_fetch_older(chain, hashes, n);
  for (size_t i = 0; i < n && chain->nlinks == nlinks; i++, ++*done) {
    bool was_new;
    NAY_TRY(sbchain_add_at(chain, hashes[i], stored + i * k, &was_new));
    *is_new |= (uint64_t)was_new << *done;
  }
  return NAY_OK;
}

nay_status nay_sbchain_add_many(nay_sbchain *chain, const void *const *items, const size_t *lens,
                                size_t n, uint64_t *is_new, size_t *done) {
  nay_hash hashes[NAY_SB_BATCH];
  if (n > NAY_SB_BATCH) return NAY_EINVAL;
  sbchain_hash_many(chain, items, lens, n, hashes);
  *is_new = 0;
  *done = 0;
  while (*done < n) {
    size_t group = sbchain_group(chain, n - *done);
    if (group > 0) {
      NAY_TRY(sbchain_add_group(chain, hashes + *done, group, is_new, done));
      continue;
    }
    bool was_new;
    NAY_TRY(sbchain_add_hash(chain, hashes[*done], &was_new));
    *is_new |= (uint64_t)was_new << (*done)++;
  }
  return NAY_OK;
}

/* Which items of `todo` the link has: first two positions of all, then the rest of the doubtful. */
static uint64_t sblink_has_many(const sblink *link, const nay_hash *hashes, uint64_t todo,
                                uint64_t *stored) {
  uint32_t k = link->hashes, few = sblink_few(link);
  uint64_t doubt = 0, found = 0;
  for (uint64_t rest = todo; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    sblink_fetch(link, hashes[i], 0, few, stored + i * k);
  }
  for (uint64_t rest = todo; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    doubt |= (uint64_t)sblink_has_at(link, stored + i * k, 0, few) << i;
  }
  for (uint64_t rest = doubt; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    sblink_fetch(link, hashes[i], few, k, stored + i * k);
  }
  for (uint64_t rest = doubt; rest != 0; rest &= rest - 1) {
    unsigned i = nay__ctz64(rest);
    found |= (uint64_t)sblink_has_at(link, stored + i * k, few, k) << i;
  }
  return found;
}

static uint64_t sbchain_has_group(const nay_sbchain *chain, const nay_hash *hashes, size_t n) {
  sb_positions stored;
  uint64_t all = UINT64_MAX >> (64 - n), found = 0;
  for (uint32_t i = chain->nlinks; i-- > 0 && found != all;) {
    found |= sblink_has_many(&chain->links[i], hashes, all & ~found, stored);
  }
  return found;
}

void nay_sbchain_may_contain_many(const nay_sbchain *chain, const void *const *items,
                                  const size_t *lens, size_t n, uint64_t *answers) {
  nay_hash hashes[NAY_SB_BATCH];
  *answers = 0;
  if (n > NAY_SB_BATCH) n = NAY_SB_BATCH;
  sbchain_hash_many(chain, items, lens, n, hashes);
  for (size_t from = 0, group; from < n; from += group) {
    group = sbchain_group(chain, n - from);
    if (group > 0) {
      *answers |= sbchain_has_group(chain, hashes + from, group) << from;
    } else {
      group = 1;
      *answers |= (uint64_t)sbchain_has(chain, hashes[from]) << from;
    }
  }
}

bool nay__sblink_test(const sblink *link, nay_hash hash) { return sblink_has(link, hash); }

void nay__sblink_mark(sblink *link, nay_hash hash) { sblink_set(link, hash); }

/* ---- what it is ---- */

void nay_sbchain_stats(const nay_sbchain *chain, nay_sbstats *stats) {
  *stats = (nay_sbstats){.size = chain->size,
                         .nlinks = chain->nlinks,
                         .options = chain->options,
                         .growth = chain->growth};
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    stats->capacity += chain->links[i].entries;
    stats->nbytes += chain->links[i].nbytes;
  }
}

nay_status nay_sbchain_link(const nay_sbchain *chain, uint64_t i, nay_sblink *link) {
  if (i >= chain->nlinks) return NAY_EINVAL;
  const sblink *l = &chain->links[i];
  *link = (nay_sblink){.entries = l->entries,
                       .size = l->size,
                       .error = l->error,
                       .bpe = l->bpe,
                       .nbits = l->nbits,
                       .nbytes = l->nbytes,
                       .hashes = l->hashes,
                       .n2 = l->n2,
                       .bytes = l->bytes};
  return NAY_OK;
}
#undef SB_CACHED
#undef SB_LN2
#undef SB_LN2_SQUARED
#undef SB_MAX_BITS
#undef SB_OPTIONS_KNOWN
#undef SB_STORED
#undef SB_TIGHTENING

/* ==== src/redis/sbchain_bytes.c ============================================================= */
/*
 * sbchain_bytes.c - a chain from bytes and fields of others, and back.
 *
 * The header of a dump, little-endian and packed, one row of 53 bytes for each link:
 *
 *    0        8      12      16      20
 *   +--------+-------+-------+-------+----------------------
 *   | size   | links |options|growth | rows ...
 *   +--------+-------+-------+-------+----------------------
 *   row:  0       8      16     24      32     40      44        52   53
 *        +-------+------+------+-------+------+-------+---------+----+
 *        | bytes | bits | size | error | bpe  |hashes | entries | n2 |
 *        +-------+------+------+-------+------+-------+---------+----+
 *
 * Nothing of it is believed. Of a link's eight numbers three are free: entries, error and size. The
 * others follow from them, and are computed and compared: bits per entry from the rate, hashes from
 * those, the length of the array from both. That closes the ways in which RedisBloom was broken
 * into: bits beyond the array (reads and writes anywhere), zero bits (division), shifts by 64, no
 * links at all, a billion hashes, a list allocated by a number that nobody checked.
 *
 * The comparisons leave room where versions differ: the last bits of a logarithm, and arrays that
 * old versions rounded up to bytes, to 64 bits or to a power of two.
 */

#define SB_OPTIONS_KNOWN 15u
#define SB_SLACK 1e-9 /* a logarithm of another libm, relative */

static uint64_t sb_from_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double sb_to_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- checks ---- */

static const char *sb_bad_rate(const nay_sblink *link) {
  if (!(link->error > 0 && link->error < 1)) return "a link's error rate is not between 0 and 1";
  double bpe = nay__sblink_rate_bpe(link->error);
  if (!(link->bpe >= bpe * (1 - SB_SLACK) && link->bpe <= bpe * (1 + SB_SLACK))) {
    return "a link's bits per entry are not those of its error rate";
  }
  if (link->hashes != nay__sblink_hashes(link->bpe)) {
    return "a link's number of hashes is not that of its error rate";
  }
  return NULL;
}

/* Only filters of before 2018, which had no options, may have bits that do not fill their bytes. */
static const char *sb_bad_bits(const nay_sblink *link, uint32_t options) {
  if (link->nbits == 0 || link->nbytes > UINT64_MAX / 16) return "a link has no bits, or too many";
  uint64_t whole = link->nbytes * 8, slack = options == 0 && link->n2 == 0 ? 63 : 0;
  bool is_so = whole >= link->nbits && whole - link->nbits <= slack;
  return is_so ? NULL : "a link's bits are not those of its bytes";
}

/* Powers of two are what options without NO_ROUND ask for, and nothing else is. */
static const char *sb_bad_power(const nay_sblink *link, uint32_t options) {
  if (link->n2 > 63) return "a link's size is a power of two beyond 2^63";
  if (link->n2 > 0 && (options & NAY_SB_NO_ROUND)) return "a link's size is rounded after all";
  if (link->n2 == 0 && (options & NAY_SB_ENTRIES_ARE_LOG2)) return "a link's size is not given";
  uint64_t nbits = nay__max_u64(1ull << link->n2, 64);
  return link->n2 == 0 || link->nbits == nbits ? NULL : "a link's size is another power of two";
}

/* The array has the size for its entries: at least their bits, at most what rounding up adds. */
static const char *sb_bad_size(const nay_sblink *link, uint32_t options) {
  const char *why = sb_bad_bits(link, options);
  if (why == NULL) why = sb_bad_power(link, options);
  if (why != NULL) return why;
  double need = (double)link->entries * link->bpe, have = (double)link->nbits;
  if (link->entries == 0 || need > have * (1 + SB_SLACK) + 1) {
    return "a link's array is too small for its entries";
  }
  if (link->size > link->nbits) return "a link has more items than bits"; /* each set a new one */
  bool fits = link->n2 > 0 || have <= need * (1 + SB_SLACK) + 65;
  return fits ? NULL : "a link's array is too large for its entries";
}

static sblink sb_of_row(const nay_sblink *row) {
  sblink link = {.hashes = row->hashes,
                 .n2 = row->n2,
                 .entries = row->entries,
                 .size = row->size,
                 .nbits = row->nbits,
                 .nbytes = row->nbytes,
                 .error = row->error,
                 .bpe = row->bpe};
  nay__sblink_set_modulus(&link);
  return link;
}

static nay_status sb_check_link(const nay_sblink *given, uint32_t options, nay_diag *diag,
                                sblink *link) {
  const char *why = sb_bad_rate(given);
  if (why == NULL) why = sb_bad_size(given, options);
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 0);
  *link = sb_of_row(given);
  return NAY_OK;
}

static const char *sb_bad_head(uint64_t options, uint64_t growth) {
  if ((options & ~(uint64_t)SB_OPTIONS_KNOWN) != 0) return "unknown options";
  bool scales = (options & NAY_SB_NO_SCALING) == 0;
  bool is_factor = growth <= UINT32_MAX && (growth > 0 || !scales);
  return is_factor ? NULL : "the chain cannot grow by this factor";
}

/* ---- assembling ---- */

nay_status nay_sbchain_begin(uint64_t size, uint64_t options, uint64_t growth,
                             const nay_zallocator *allocator, nay_diag *diag, nay_sbchain **chain) {
  const char *why = sb_bad_head(options, growth);
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 0);
  NAY_TRY(nay__sbchain_alloc(allocator, chain));
  (*chain)->options = (uint32_t)options;
  (*chain)->growth = (uint32_t)growth;
  (*chain)->size = size;
  return NAY_OK;
}

nay_status nay_sbchain_take(nay_sbchain *chain, const nay_sblink *link, void *bytes,
                            nay_diag *diag) {
  sblink made;
  NAY_TRY(sb_check_link(link, chain->options, diag, &made));
  made.bytes = bytes;
  return nay__sbchain_push(chain, &made);
}

nay_status nay_sbchain_finish(nay_sbchain *chain, nay_diag *diag) {
  if (chain->nlinks == 0) return nay__fail(diag, NAY_ECORRUPT, "a chain without links", 0);
  uint64_t rest = chain->size;
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    if (chain->links[i].size > rest) break;
    rest -= chain->links[i].size;
    if (rest == 0 && i + 1 == chain->nlinks) return NAY_OK;
  }
  return nay__fail(diag, NAY_ECORRUPT, "the links' items do not add up to the chain's", 0);
}

/* ---- headers ---- */

size_t nay_sbchain_header_size(const nay_sbchain *chain) {
  return NAY_SB_HEAD + NAY_SB_ROW * (size_t)chain->nlinks;
}

void nay__sb_write_row(const sblink *link, uint8_t *row) {
  nay__store64le(row, link->nbytes);
  nay__store64le(row + 8, link->nbits);
  nay__store64le(row + 16, link->size);
  nay__store64le(row + 24, sb_from_double(link->error));
  nay__store64le(row + 32, sb_from_double(link->bpe));
  nay__store32le(row + 40, link->hashes);
  nay__store64le(row + 44, link->entries);
  row[52] = (uint8_t)link->n2;
}

static nay_sblink sb_decode_row(const uint8_t *row) {
  return (nay_sblink){.nbytes = nay__load64le(row),
                      .nbits = nay__load64le(row + 8),
                      .size = nay__load64le(row + 16),
                      .error = sb_to_double(nay__load64le(row + 24)),
                      .bpe = sb_to_double(nay__load64le(row + 32)),
                      .hashes = nay__load32le(row + 40),
                      .entries = nay__load64le(row + 44),
                      .n2 = row[52]};
}

nay_status nay_sbchain_encode_header(const nay_sbchain *chain, void *dst, size_t cap,
                                     size_t *written) {
  size_t len = nay_sbchain_header_size(chain);
  if (cap < len) return NAY_EBUFFER;
  uint8_t *p = dst;
  nay__store64le(p, chain->size);
  nay__store32le(p + 8, chain->nlinks);
  nay__store32le(p + 12, chain->options);
  nay__store32le(p + 16, chain->growth);
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    nay__sb_write_row(&chain->links[i], p + NAY_SB_HEAD + NAY_SB_ROW * (size_t)i);
  }
  *written = len;
  return NAY_OK;
}

/* All rows are checked before the first array is allocated. */
static nay_status sb_check_rows(const uint8_t *p, size_t nlinks, nay_diag *diag) {
  for (size_t i = 0; i < nlinks; i++) {
    size_t at = NAY_SB_HEAD + NAY_SB_ROW * i;
    nay_sblink row = sb_decode_row(p + at);
    sblink link;
    nay_status status = sb_check_link(&row, nay__load32le(p + 12), diag, &link);
    if (status != NAY_OK && diag != NULL) diag->offset = at;
    NAY_TRY(status);
  }
  return NAY_OK;
}

static nay_status sb_push_rows(nay_sbchain *chain, const uint8_t *p, size_t nlinks,
                               nay_diag *diag) {
  for (size_t i = 0; i < nlinks; i++) {
    nay_sblink row = sb_decode_row(p + NAY_SB_HEAD + NAY_SB_ROW * i);
    sblink link;
    NAY_TRY(sb_check_link(&row, chain->options, diag, &link));
    NAY_TRY(nay__sbchain_push_zero(chain, &link));
  }
  return nay_sbchain_finish(chain, diag);
}

nay_status nay_sbchain_decode_header(const void *bytes, size_t len, const nay_zallocator *allocator,
                                     nay_diag *diag, nay_sbchain **chain) {
  const uint8_t *p = bytes;
  if (len < NAY_SB_HEAD) return nay__fail(diag, NAY_ECORRUPT, "the header is cut short", len);
  size_t nlinks = nay__load32le(p + 8);
  if ((len - NAY_SB_HEAD) % NAY_SB_ROW != 0 || (len - NAY_SB_HEAD) / NAY_SB_ROW != nlinks) {
    return nay__fail(diag, NAY_ECORRUPT, "the header's length is not that of its links", 8);
  }
  NAY_TRY(sb_check_rows(p, nlinks, diag));
  nay_sbchain *made;
  NAY_TRY(nay_sbchain_begin(nay__load64le(p), nay__load32le(p + 12), nay__load32le(p + 16),
                            allocator, diag, &made));
  nay_status status = sb_push_rows(made, p, nlinks, diag);
  if (status != NAY_OK) {
    nay_sbchain_free(made);
    return status;
  }
  *chain = made;
  return NAY_OK;
}

/* ---- dumps in place ---- */

void nay__sb_read_row(const uint8_t *row, sblink *link) {
  nay_sblink given = sb_decode_row(row);
  *link = sb_of_row(&given);
}

/* Options, growth, and sizes that add up: as nay_sbchain_begin and _finish, without a chain. */
static nay_status sb_check_head(const uint8_t *p, nay_diag *diag) {
  uint32_t nlinks = nay__load32le(p + 8);
  const char *why = sb_bad_head(nay__load32le(p + 12), nay__load32le(p + 16));
  if (why != NULL) return nay__fail(diag, NAY_ECORRUPT, why, 12);
  uint64_t rest = nay__load64le(p);
  for (uint32_t i = 0; i < nlinks; i++) {
    uint64_t size = nay__load64le(p + NAY_SB_HEAD + NAY_SB_ROW * (size_t)i + 16);
    if (size > rest) return nay__fail(diag, NAY_ECORRUPT, "a link has more items than all", 0);
    rest -= size;
  }
  if (rest != 0 || nlinks == 0) {
    return nay__fail(diag, NAY_ECORRUPT, "the links' items do not add up to the chain's", 0);
  }
  return NAY_OK;
}

nay_status nay__sb_check_dump(const uint8_t *bytes, size_t len, nay_diag *diag) {
  if (len < NAY_SB_HEAD) return nay__fail(diag, NAY_ECORRUPT, "the header is cut short", len);
  uint32_t nlinks = nay__load32le(bytes + 8);
  size_t rest = len - NAY_SB_HEAD;
  if (nlinks > rest / NAY_SB_ROW) {
    return nay__fail(diag, NAY_ECORRUPT, "more links than there are bytes for", 8);
  }
  NAY_TRY(sb_check_rows(bytes, nlinks, diag));
  NAY_TRY(sb_check_head(bytes, diag));
  rest -= NAY_SB_ROW * (size_t)nlinks;
  for (uint32_t i = 0; i < nlinks; i++) {
    size_t at = NAY_SB_HEAD + NAY_SB_ROW * (size_t)i;
    uint64_t nbytes = nay__load64le(bytes + at);
    if (nbytes > rest) return nay__fail(diag, NAY_ECORRUPT, "a link's array is cut short", at);
    rest -= (size_t)nbytes;
  }
  if (rest != 0) return nay__fail(diag, NAY_ECORRUPT, "bytes follow the last link", len - rest);
  return NAY_OK;
}

/* ---- chunks ---- */

/* The link that holds byte *offset of all arrays; *offset becomes the place inside it. */
static const sblink *sb_find(const nay_sbchain *chain, uint64_t *offset) {
  for (uint32_t i = 0; i < chain->nlinks; i++) {
    if (*offset < chain->links[i].nbytes) return &chain->links[i];
    *offset -= chain->links[i].nbytes;
  }
  return NULL;
}

bool nay_sbchain_chunk(const nay_sbchain *chain, uint64_t offset, size_t max, const uint8_t **bytes,
                       size_t *len) {
  const sblink *link = sb_find(chain, &offset);
  if (link == NULL) return false;
  *bytes = link->bytes + offset;
  *len = (size_t)nay__min_u64(max, link->nbytes - offset);
  return true;
}

nay_status nay_sbchain_load_chunk(nay_sbchain *chain, uint64_t offset, const void *bytes,
                                  size_t len) {
  const sblink *link = sb_find(chain, &offset);
  if (link == NULL) return NAY_EINVAL;
  if (len > link->nbytes - offset) return NAY_EBUFFER;
  if (len > 0) memcpy(link->bytes + offset, bytes, len);
  return NAY_OK;
}
#undef SB_OPTIONS_KNOWN
#undef SB_SLACK

/* ==== src/redis/cfchain.c =================================================================== */
/*
 * cfchain.c - RedisBloom's cuckoo filter: a chain of sub-filters, each a power of two of buckets.
 *
 *   sub-filter 0   | bucket | bucket | ...            nbuckets
 *   sub-filter 1   | bucket | bucket | ...            nbuckets * expansion
 *   sub-filter i                                      nbuckets * expansion^i
 *
 *   bucket         | fp | fp | ... |                  bucket_size bytes, 0: free
 *
 * An add looks for a free slot in the key's two buckets, in the newest sub-filter first, then in
 * older ones. If there is none it kicks in the newest alone: victim slots 0, 1, 2, ... in turn,
 * each moving to its other bucket; after max_iterations kicks all of them are undone and the chain
 * grows. A remove goes the same way, and compacts the chain from time to time.
 *
 * Nothing is random: the same calls make the same bytes, here, on a replica and in RedisBloom. That
 * is why its order of search is kept to the letter, also where another would be faster. What is not
 * kept: its count of a key whose two buckets are one (it counted such slots twice), its 32-bit
 * index of slots, its trust in headers.
 *
 * Invariants: nitems is the number of slots that are not free; nbuckets and a non-zero expansion
 * are powers of two; the bytes of all sub-filters together can be addressed.
 */

/* ==== src/redis/cfsub.h ===================================================================== */
/*
 * cfsub.h - one sub-filter of RedisBloom's cuckoo chain, over bytes that somebody else holds: the
 * chain object (cfchain.c) or a dump in memory (format/). Everything here is arithmetic on slots.
 *
 *   fp = hash % 255 + 1        a slot is one byte; 0: free
 *   bucket 1 = hash mod nbuckets, bucket 2 = (hash ^ fp * 0x5bd1e995) mod nbuckets
 *
 * nbuckets is a power of two, so the partner of a bucket can be told from its index and the
 * fingerprint alone, in this sub-filter and in every smaller one.
 */
#ifndef NAY_CFSUB_H
#define NAY_CFSUB_H

typedef struct nay_cfsub {
  uint8_t *slots; /* nbuckets * bucket_size of the chain */
  uint64_t nbuckets;
} nay_cfsub;

/* nay_cfkey: where a key may be, in any sub-filter. */
typedef struct nay_cfkey {
  uint64_t h1, h2;
  uint8_t fp;
} nay_cfkey;

static inline uint64_t nay__cf_partner(uint64_t h, uint8_t fp) {
  return h ^ (uint64_t)fp * 0x5bd1e995u;
}

static inline nay_cfkey nay__cf_key(uint64_t hash) {
  uint8_t fp = (uint8_t)(hash % 255 + 1);
  return (nay_cfkey){hash, nay__cf_partner(hash, fp), fp};
}

static inline uint8_t *nay__cf_bucket(const nay_cfsub *sub, uint32_t bucket_size, uint64_t h) {
  return sub->slots + (size_t)(h & (sub->nbuckets - 1)) * bucket_size;
}

/* nay__cf_find: the first slot of bucket 1, then 2, that holds `value` (0: a free one); or NULL. */
static inline uint8_t *nay__cf_find(const nay_cfsub *sub, uint32_t bucket_size,
                                    const nay_cfkey *key, uint8_t value) {
  uint8_t *a = nay__cf_bucket(sub, bucket_size, key->h1);
  for (uint32_t i = 0; i < bucket_size; i++) {
    if (a[i] == value) return a + i;
  }
  uint8_t *b = nay__cf_bucket(sub, bucket_size, key->h2);
  for (uint32_t i = 0; i < bucket_size; i++) {
    if (b[i] == value) return b + i;
  }
  return NULL;
}

/* nay__cf_count: slots that hold the key's fingerprint, each once. */
uint64_t nay__cf_count(const nay_cfsub *sub, uint32_t bucket_size, const nay_cfkey *key);

/*
 * nay__cf_kick: makes room for the key by moving others, at most max_iterations of them. False: it
 * did not work out, and every slot is as it was.
 */
bool nay__cf_kick(const nay_cfsub *sub, uint32_t bucket_size, uint32_t max_iterations,
                  const nay_cfkey *key);

/* nay__cf_occupied: slots that are not free. */
uint64_t nay__cf_occupied(const uint8_t *slots, size_t n);

#endif /* NAY_CFSUB_H */

struct nay_cfchain {
  nay_cfsub *subs;
  uint64_t nbuckets; /* of subs[0] */
  uint64_t nitems;
  uint64_t ndeletes;
  uint32_t nfilters;
  uint32_t nfilters_room; /* length of subs: compaction leaves it as it is, so it cannot fail */
  uint32_t bucket_size;
  uint32_t max_iterations;
  uint32_t expansion;
  nay_zallocator allocator;
};

#define CFCHAIN_MAX_NBYTES ((uint64_t)1 << 56)
#define CFCHAIN_MAX_EXPANSION 32768u
#define CFCHAIN_MAX_NDELETES ((uint64_t)INT64_MAX) /* replies are signed */

/* How RedisBloom counts memory: the struct, then this for each sub-filter. */
#define CFCHAIN_NBYTES_STRUCT 40u
#define CFCHAIN_NBYTES_FILTER 16u

uint64_t nay_cfchain_hash(const void *key, size_t len) { return nay__murmur64a(key, len, 0); }

/* ---- one sub-filter ---- */

uint64_t nay__cf_count(const nay_cfsub *sub, uint32_t bucket_size, const nay_cfkey *key) {
  const uint8_t *a = nay__cf_bucket(sub, bucket_size, key->h1);
  const uint8_t *b = nay__cf_bucket(sub, bucket_size, key->h2);
  uint64_t count = 0;
  for (uint32_t i = 0; i < bucket_size; i++) {
    count += (a[i] == key->fp) + (unsigned)(b != a && b[i] == key->fp);
  }
  return count;
}

static uint8_t cf_swap(uint8_t *slot, uint8_t fp) {
  uint8_t old = *slot;
  *slot = fp;
  return old;
}

bool nay__cf_kick(const nay_cfsub *sub, uint32_t bucket_size, uint32_t max_iterations,
                  const nay_cfkey *key) {
  uint64_t at = key->h1 & (sub->nbuckets - 1);
  uint32_t victim = 0;
  uint8_t fp = key->fp;
  for (uint32_t i = 0; i < max_iterations; i++) {
    fp = cf_swap(nay__cf_bucket(sub, bucket_size, at) + victim, fp);
    at = nay__cf_partner(at, fp) & (sub->nbuckets - 1);
    uint8_t *bucket = nay__cf_bucket(sub, bucket_size, at);
    uint8_t *empty = memchr(bucket, 0, bucket_size);
    if (empty != NULL) {
      *empty = fp;
      return true;
    }
    victim = victim + 1 == bucket_size ? 0 : victim + 1;
  }
  for (uint32_t i = 0; i < max_iterations; i++) {
    victim = victim == 0 ? bucket_size - 1 : victim - 1;
    at = nay__cf_partner(at, fp) & (sub->nbuckets - 1);
    fp = cf_swap(nay__cf_bucket(sub, bucket_size, at) + victim, fp);
  }
  assert(fp == key->fp);
  return false;
}

uint64_t nay__cf_occupied(const uint8_t *slots, size_t n) {
  uint64_t occupied = 0;
  for (size_t i = 0; i < n; i++) occupied += slots[i] != 0;
  return occupied;
}

/* ---- sizes ---- */

static bool cf_is_pow2(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

static uint64_t cf_round_pow2(uint64_t x) {
  uint64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

nay_status nay_cfchain_plan(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                            uint32_t expansion, nay_cfchain_header *header) {
  if (header == NULL || bucket_size < 1 || bucket_size > 255 || max_iterations < 1 ||
      max_iterations > 65535 || expansion > CFCHAIN_MAX_EXPANSION ||
      capacity < 2 * (uint64_t)bucket_size || capacity > NAY_CFCHAIN_MAX_CAPACITY) {
    return NAY_EINVAL;
  }
  *header = (nay_cfchain_header){
      .nbuckets = cf_round_pow2(capacity / bucket_size),
      .nfilters = 1,
      .bucket_size = bucket_size,
      .max_iterations = max_iterations,
      .expansion = expansion == 0 ? 0 : (uint32_t)cf_round_pow2(expansion),
  };
  return NAY_OK;
}

/* Offsets are those of the fields in a dump. */
static nay_status cf_check_fields(const nay_cfchain_header *h, nay_diag *diag) {
  if (!cf_is_pow2(h->nbuckets)) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of buckets is not a power of two", 8);
  }
  if (h->ndeletes > CFCHAIN_MAX_NDELETES) {
    return nay__fail(diag, NAY_ECORRUPT, "more deletes than CF.INFO can tell", 16);
  }
  if (h->nfilters < 1 || h->nfilters > NAY_CFCHAIN_MAX_FILTERS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of sub-filters is not 1 to 65535", 24);
  }
  if (h->bucket_size < 1 || h->bucket_size > 255) {
    return nay__fail(diag, NAY_ECORRUPT, "the bucket size is not 1 to 255", 32);
  }
  if (h->max_iterations < 1 || h->max_iterations > 65535) {
    return nay__fail(diag, NAY_ECORRUPT, "the iterations are not 1 to 65535", 34);
  }
  if (h->expansion > CFCHAIN_MAX_EXPANSION || (h->expansion != 0 && !cf_is_pow2(h->expansion))) {
    return nay__fail(diag, NAY_ECORRUPT, "the expansion is not 0 or a power of two to 32768", 36);
  }
  if (h->expansion == 0 && h->nfilters != 1) {
    return nay__fail(diag, NAY_ECORRUPT, "a chain that does not expand has one sub-filter", 24);
  }
  return NAY_OK;
}

nay_status nay_cfchain_nslots(const nay_cfchain_header *h, nay_diag *diag, uint64_t *nslots) {
  if (h == NULL || nslots == NULL) return nay__fail(diag, NAY_EINVAL, "an argument is NULL", 0);
  NAY_TRY(cf_check_fields(h, diag));
  uint64_t total = 0, nbuckets = h->nbuckets;
  for (uint64_t i = 0; i < h->nfilters; i++) {
    if (i != 0 && nbuckets > CFCHAIN_MAX_NBYTES / h->expansion)
      nbuckets = CFCHAIN_MAX_NBYTES;
    else if (i != 0)
      nbuckets *= h->expansion;
    if (nbuckets > (CFCHAIN_MAX_NBYTES - total) / h->bucket_size) {
      return nay__fail(diag, NAY_ECORRUPT, "the sub-filters are larger than can be addressed", 8);
    }
    total += nbuckets * h->bucket_size;
  }
  if (h->nitems > total) {
    return nay__fail(diag, NAY_ECORRUPT, "more items than slots", 0);
  }
  *nslots = total;
  return NAY_OK;
}

static size_t cf_sub_len(const nay_cfchain *chain, uint64_t i) {
  return (size_t)chain->subs[i].nbuckets * chain->bucket_size;
}

static uint64_t cf_nslots(const nay_cfchain *chain) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) total += cf_sub_len(chain, i);
  return total;
}

uint64_t nay_cfchain_nbytes(const nay_cfchain *chain) {
  return CFCHAIN_NBYTES_STRUCT + CFCHAIN_NBYTES_FILTER * (uint64_t)chain->nfilters +
         cf_nslots(chain);
}

/* ---- making and releasing ---- */

static nay_zallocator cf_allocator(const nay_zallocator *a) {
  return a != NULL ? *a : (nay_zallocator){nay__calloc_default, nay__free_default, NULL};
}

static void *cf_alloc(const nay_zallocator *a, size_t size) { return a->zalloc(a->ctx, size); }

static void cf_free(const nay_zallocator *a, void *ptr, size_t size) {
  if (ptr != NULL) a->free(a->ctx, ptr, size);
}

static nay_status cf_fill_slots(nay_cfchain *chain) {
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    chain->subs[i].slots = cf_alloc(&chain->allocator, cf_sub_len(chain, i));
    if (chain->subs[i].slots == NULL) return NAY_ENOMEM;
  }
  return NAY_OK;
}

nay_status nay_cfchain_open(const nay_cfchain_header *h, const nay_zallocator *allocator,
                            nay_diag *diag, nay_cfchain **chain) {
  uint64_t nslots;
  size_t nbytes;
  if (chain == NULL) return nay__fail(diag, NAY_EINVAL, "chain is NULL", 0);
  NAY_TRY(nay_cfchain_nslots(h, diag, &nslots));
  if (!nay__size_ok(nslots, &nbytes)) {
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  nay_zallocator a = cf_allocator(allocator);
  nay_cfchain *c = cf_alloc(&a, sizeof *c);
  nay_cfsub *subs = cf_alloc(&a, (size_t)h->nfilters * sizeof *subs);
  if (c == NULL || subs == NULL) {
    cf_free(&a, c, sizeof *c);
    cf_free(&a, subs, (size_t)h->nfilters * sizeof *subs);
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  uint64_t nbuckets = h->nbuckets;
  for (uint64_t i = 0; i < h->nfilters; i++, nbuckets *= h->expansion) {
    subs[i] = (nay_cfsub){NULL, nbuckets};
  }
  *c = (nay_cfchain){.subs = subs,
                     .nbuckets = h->nbuckets,
                     .ndeletes = h->ndeletes,
                     .nfilters = (uint32_t)h->nfilters,
                     .nfilters_room = (uint32_t)h->nfilters,
                     .bucket_size = h->bucket_size,
                     .max_iterations = h->max_iterations,
                     .expansion = h->expansion,
                     .allocator = a};
  *chain = c;
  return NAY_OK;
}

nay_status nay_cfchain_new(const nay_cfchain_header *header, const nay_zallocator *allocator,
                           nay_diag *diag, nay_cfchain **chain) {
  nay_cfchain *c;
  if (chain == NULL) return nay__fail(diag, NAY_EINVAL, "chain is NULL", 0);
  NAY_TRY(nay_cfchain_open(header, allocator, diag, &c));
  nay_status status = cf_fill_slots(c);
  if (status != NAY_OK) {
    nay_cfchain_free(c);
    return nay__fail(diag, status, nay_status_text(status), 0);
  }
  *chain = c;
  return NAY_OK;
}

nay_status nay_cfchain_adopt(nay_cfchain *chain, uint64_t i, uint64_t nbuckets, void *slots,
                             size_t len) {
  if (chain == NULL || slots == NULL) return NAY_EINVAL;
  if (i >= chain->nfilters || chain->subs[i].slots != NULL || chain->subs[i].nbuckets != nbuckets ||
      cf_sub_len(chain, i) != len) {
    return NAY_ECORRUPT;
  }
  chain->subs[i].slots = slots;
  return NAY_OK;
}

nay_status nay_cfchain_finish(nay_cfchain *chain) {
  uint64_t nitems = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    if (chain->subs[i].slots == NULL) return NAY_ECORRUPT;
    nitems += nay__cf_occupied(chain->subs[i].slots, cf_sub_len(chain, i));
  }
  chain->nitems = nitems;
  return NAY_OK;
}

nay_status nay_cfchain_copy(const nay_cfchain *chain, const nay_zallocator *allocator,
                            nay_cfchain **copy) {
  nay_cfchain_header header;
  nay_cfchain *c;
  if (chain == NULL || copy == NULL) return NAY_EINVAL;
  nay_cfchain_describe(chain, &header);
  NAY_TRY(nay_cfchain_new(&header, allocator, NULL, &c));
  for (uint32_t i = 0; i < c->nfilters; i++) {
    memcpy(c->subs[i].slots, chain->subs[i].slots, cf_sub_len(c, i));
  }
  c->nitems = chain->nitems;
  *copy = c;
  return NAY_OK;
}

void nay_cfchain_free(nay_cfchain *chain) {
  if (chain == NULL) return;
  nay_zallocator a = chain->allocator;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    cf_free(&a, chain->subs[i].slots, cf_sub_len(chain, i));
  }
  cf_free(&a, chain->subs, chain->nfilters_room * sizeof *chain->subs);
  cf_free(&a, chain, sizeof *chain);
}

void nay_cfchain_describe(const nay_cfchain *chain, nay_cfchain_header *header) {
  *header = (nay_cfchain_header){
      .nitems = chain->nitems,
      .nbuckets = chain->nbuckets,
      .ndeletes = chain->ndeletes,
      .nfilters = chain->nfilters,
      .bucket_size = chain->bucket_size,
      .max_iterations = chain->max_iterations,
      .expansion = chain->expansion,
  };
}

const uint8_t *nay_cfchain_slots(const nay_cfchain *chain, uint64_t i, size_t *len) {
  if (i >= chain->nfilters) return NULL;
  *len = cf_sub_len(chain, i);
  return chain->subs[i].slots;
}

/* Room for one more in the array of sub-filters. */
static nay_status cf_make_room(nay_cfchain *chain) {
  if (chain->nfilters < chain->nfilters_room) return NAY_OK;
  uint32_t room = chain->nfilters + 1;
  nay_cfsub *subs = cf_alloc(&chain->allocator, room * sizeof *subs);
  if (subs == NULL) return NAY_ENOMEM;
  memcpy(subs, chain->subs, chain->nfilters * sizeof *subs);
  cf_free(&chain->allocator, chain->subs, chain->nfilters_room * sizeof *subs);
  chain->subs = subs;
  chain->nfilters_room = room;
  return NAY_OK;
}

static nay_status cf_grow(nay_cfchain *chain) {
  if (chain->expansion == 0 || chain->nfilters == NAY_CFCHAIN_MAX_FILTERS) return NAY_EFULL;
  nay_cfchain_header header;
  uint64_t nslots;
  size_t nbytes;
  nay_cfchain_describe(chain, &header);
  header.nfilters++;
  if (nay_cfchain_nslots(&header, NULL, &nslots) != NAY_OK || !nay__size_ok(nslots, &nbytes)) {
    return NAY_ENOMEM;
  }
  nay_cfsub sub = {NULL, chain->subs[chain->nfilters - 1].nbuckets * chain->expansion};
  nbytes = (size_t)sub.nbuckets * chain->bucket_size;
  NAY_TRY(cf_make_room(chain));
  sub.slots = cf_alloc(&chain->allocator, nbytes);
  if (sub.slots == NULL) return NAY_ENOMEM;
  chain->subs[chain->nfilters++] = sub;
  return NAY_OK;
}

/* ---- keys ---- */

/* How many of the newest sub-filters are asked for: a chain of more is not worth its own misses. */
#define CFCHAIN_PREFETCHED 4u

void nay_cfchain_prefetch(const nay_cfchain *chain, const uint64_t *hashes, size_t n, bool all) {
  uint32_t depth = !all ? 1 : chain->nfilters;
  if (depth > CFCHAIN_PREFETCHED) depth = CFCHAIN_PREFETCHED;
  for (uint32_t d = 1; d <= depth; d++) {
    const nay_cfsub *sub = &chain->subs[chain->nfilters - d];
    for (size_t i = 0; i < n; i++) {
      nay_cfkey key = nay__cf_key(hashes[i]);
      NAY_PREFETCH(nay__cf_bucket(sub, chain->bucket_size, key.h1));
      NAY_PREFETCH(nay__cf_bucket(sub, chain->bucket_size, key.h2));
    }
  }
}

/* The slot that holds `value` (0: free) for this key, newest sub-filter first. */
static uint8_t *cf_search(const nay_cfchain *chain, const nay_cfkey *key, uint8_t value) {
  for (uint32_t i = chain->nfilters; i-- != 0;) {
    uint8_t *slot = nay__cf_find(&chain->subs[i], chain->bucket_size, key, value);
    if (slot != NULL) return slot;
  }
  return NULL;
}

static nay_status cf_place(nay_cfchain *chain, const nay_cfkey *key) {
  uint8_t *slot = cf_search(chain, key, 0);
  if (slot == NULL) {
    const nay_cfsub *newest = &chain->subs[chain->nfilters - 1];
    if (nay__cf_kick(newest, chain->bucket_size, chain->max_iterations, key)) return NAY_OK;
    NAY_TRY(cf_grow(chain));
    slot = nay__cf_bucket(&chain->subs[chain->nfilters - 1], chain->bucket_size, key->h1);
  }
  *slot = key->fp;
  return NAY_OK;
}

nay_status nay_cfchain_add(nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  NAY_TRY(cf_place(chain, &key));
  chain->nitems++;
  return NAY_OK;
}

bool nay_cfchain_has(const nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  return cf_search(chain, &key, key.fp) != NULL;
}

uint64_t nay_cfchain_count(const nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  uint64_t count = 0;
  for (uint32_t i = 0; i < chain->nfilters; i++) {
    count += nay__cf_count(&chain->subs[i], chain->bucket_size, &key);
  }
  return count;
}

/* ---- removal and compaction ---- */

/* Moves one fingerprint of sub-filter `from` into the first older one with room. */
static bool cf_relocate(nay_cfchain *chain, uint32_t from, uint64_t bucket, uint8_t *slot) {
  nay_cfkey key = {bucket, nay__cf_partner(bucket, *slot), *slot};
  for (uint32_t i = 0; i < from; i++) {
    uint8_t *empty = nay__cf_find(&chain->subs[i], chain->bucket_size, &key, 0);
    if (empty == NULL) continue;
    *empty = *slot;
    *slot = 0;
    return true;
  }
  return false;
}

/* The first slot in use from `at` on; len if there is none. Empty ones go by in eights. */
static size_t cf_next_used(const uint8_t *slots, size_t at, size_t len) {
  while (len - at >= 8 && nay__load64le(slots + at) == 0) at += 8;
  while (at < len && slots[at] == 0) at++;
  return at;
}

/* Whether sub-filter i could be emptied. */
static bool cf_empty_out(nay_cfchain *chain, uint32_t i) {
  uint8_t *slots = chain->subs[i].slots;
  size_t len = cf_sub_len(chain, i);
  bool all = true;
  for (size_t at = cf_next_used(slots, 0, len); at < len; at = cf_next_used(slots, at + 1, len)) {
    if (!cf_relocate(chain, i, at / chain->bucket_size, slots + at)) all = false;
  }
  return all;
}

/* Releases the newest sub-filter, which is empty. */
static void cf_drop_newest(nay_cfchain *chain) {
  uint32_t last = chain->nfilters - 1;
  cf_free(&chain->allocator, chain->subs[last].slots, cf_sub_len(chain, last));
  chain->nfilters = last;
}

static void cf_compact(nay_cfchain *chain, bool thorough) {
  for (uint32_t i = chain->nfilters; i-- > 1;) {
    bool emptied = cf_empty_out(chain, i);
    if (emptied && i == chain->nfilters - 1) cf_drop_newest(chain);
    if (!emptied && !thorough) break;
  }
  chain->ndeletes = 0;
}

void nay_cfchain_compact(nay_cfchain *chain) { cf_compact(chain, true); }

bool nay_cfchain_remove(nay_cfchain *chain, uint64_t hash) {
  nay_cfkey key = nay__cf_key(hash);
  uint8_t *slot = cf_search(chain, &key, key.fp);
  if (slot == NULL) return false;
  *slot = 0;
  chain->nitems--;
  if (chain->ndeletes != CFCHAIN_MAX_NDELETES) chain->ndeletes++;
  if (chain->nfilters > 1 && chain->ndeletes > chain->nitems / 10) cf_compact(chain, false);
  return true;
}

/* ---- dumps ---- */

void nay_cfchain_write_header(const nay_cfchain_header *h, uint8_t bytes[NAY_CFCHAIN_HEADER_LEN]) {
  nay__store64le(bytes, h->nitems);
  nay__store64le(bytes + 8, h->nbuckets);
  nay__store64le(bytes + 16, h->ndeletes);
  nay__store64le(bytes + 24, h->nfilters);
  nay__store16le(bytes + 32, (uint16_t)h->bucket_size);
  nay__store16le(bytes + 34, (uint16_t)h->max_iterations);
  nay__store16le(bytes + 36, (uint16_t)h->expansion);
}

nay_status nay_cfchain_read_header(const void *bytes, size_t len, nay_diag *diag,
                                   nay_cfchain_header *header) {
  const uint8_t *p = bytes;
  if (p == NULL || len != NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "a header has 38 bytes", len);
  }
  nay_cfchain_header h = {.nitems = nay__load64le(p),
                          .nbuckets = nay__load64le(p + 8),
                          .ndeletes = nay__load64le(p + 16),
                          .nfilters = nay__load64le(p + 24),
                          .bucket_size = nay__load16le(p + 32),
                          .max_iterations = nay__load16le(p + 34),
                          .expansion = nay__load16le(p + 36)};
  uint64_t nslots;
  NAY_TRY(nay_cfchain_nslots(&h, diag, &nslots));
  *header = h;
  return NAY_OK;
}

/* The sub-filter that an offset into all slots falls into; *offset becomes one into its own. */
static uint32_t cf_sub_at(const nay_cfchain *chain, uint64_t *offset) {
  uint32_t i = 0;
  while (i < chain->nfilters && *offset >= cf_sub_len(chain, i)) *offset -= cf_sub_len(chain, i++);
  return i;
}

const uint8_t *nay_cfchain_chunk(const nay_cfchain *chain, uint64_t offset, size_t *len) {
  uint32_t i = cf_sub_at(chain, &offset);
  if (i == chain->nfilters) return NULL;
  size_t rest = cf_sub_len(chain, i) - (size_t)offset;
  *len = rest < NAY_CFCHAIN_CHUNK_LEN ? rest : NAY_CFCHAIN_CHUNK_LEN;
  return chain->subs[i].slots + offset;
}

nay_status nay_cfchain_load(nay_cfchain *chain, uint64_t offset, const void *bytes, size_t len) {
  if (bytes == NULL || len == 0) return NAY_EINVAL;
  uint32_t i = cf_sub_at(chain, &offset);
  if (i == chain->nfilters || len > cf_sub_len(chain, i) - (size_t)offset) return NAY_EINVAL;
  uint8_t *at = chain->subs[i].slots + offset;
  chain->nitems -= nay__cf_occupied(at, len);
  memcpy(at, bytes, len);
  chain->nitems += nay__cf_occupied(at, len);
  return NAY_OK;
}

static void *cf_moved(void *ptr, nay_mover mover, void *ctx) {
  void *moved = mover(ctx, ptr);
  return moved != NULL ? moved : ptr;
}

bool nay_cfchain_move(nay_cfchain **chain, uint64_t part, nay_mover mover, void *ctx) {
  nay_cfchain *c = *chain;
  if (part == 0) {
    *chain = cf_moved(c, mover, ctx);
  } else if (part == 1) {
    c->subs = cf_moved(c->subs, mover, ctx);
  } else if (part - 2 < c->nfilters) {
    c->subs[part - 2].slots = cf_moved(c->subs[part - 2].slots, mover, ctx);
  } else {
    return false;
  }
  return true;
}
#undef CFCHAIN_MAX_EXPANSION
#undef CFCHAIN_MAX_NBYTES
#undef CFCHAIN_MAX_NDELETES
#undef CFCHAIN_NBYTES_FILTER
#undef CFCHAIN_NBYTES_STRUCT
#undef CFCHAIN_PREFETCHED

/* ==== src/filter.c ========================================================================== */
/*
 * filter.c - the public handle: check the arguments, hash the key once, forward to the family.
 *
 * The life of a query: nay_filter_may_contain -> nay__hash_key -> family->test -> kernel.
 * Everything unusual is decided here, before the family is called: a filter that cannot hash,
 * read-only bytes, chunks of a mapped file that nobody has verified yet.
 */

/* ==== src/filter.h ========================================================================== */
/* filter.h - what the layers above the handle (builder, formats) need of filter.c. */
#ifndef NAY_FILTER_H
#define NAY_FILTER_H

/* nay__filter_make: an empty, writable filter of a shape, with a zeroed payload of its own. */
nay_status nay__filter_make(const nay_family *family, const nay_shape *shape,
                            const nay_hasher *hasher, uint64_t nkeys, uint32_t flags,
                            const nay_allocator *allocator, nay_filter **filter);

/* nay__filter_init: what an empty filter of the family has in its payload, after nay__filter_make.
 */
void nay__filter_init(nay_filter *filter, const nay_params *params);

/* nay__filter_attach: points a filter (its shape set) at its payload and chooses its kernels. */
void nay__filter_attach(nay_filter *filter, uint8_t *payload, size_t nbytes);

/* nay__filter_writable: NAY_EINVAL for NULL, NAY_ENOTSUP when the bytes are not ours to change. */
nay_status nay__filter_writable(const nay_filter *filter);

/* nay__filter_all_verified: verifies what a lazy map has not looked at yet. NAY_ECORRUPT. */
nay_status nay__filter_all_verified(const nay_filter *filter);

/* nay__resolve: params of a native family -> family (NAY_AUTO resolved), shape, hasher. */
nay_status nay__resolve(const nay_params *params, nay_diag *diag, const nay_family **family,
                        nay_shape *shape, nay_hasher *hasher);

#endif /* NAY_FILTER_H */

/* ==== src/builder.h ========================================================================= */
/* builder.h - what others need of builder.c beside the public calls. */
#ifndef NAY_BUILDER_H
#define NAY_BUILDER_H

/* nay_builder_plan: the number of keys -> the shape of a layout, once all keys are known. */
typedef nay_status (*nay_builder_plan)(const struct nay_format *, const nay_params *,
                                       uint64_t nkeys, nay_shape *);

/*
 * nay__builder_make: for another system's layout. `distinct` says whether the number of keys leaves
 * duplicates out.
 */
nay_status nay__builder_make(const struct nay_format *format, const nay_family *family,
                             const nay_params *params, const nay_hasher *hasher,
                             nay_builder_plan plan, bool distinct, const nay_allocator *allocator,
                             nay_builder **builder);

/*
 * nay__builder_take: all the hashes of a new builder at once, one word each, for a filter that is
 * made of them in order: they are copied once and sorted, without a page.
 */
nay_status nay__builder_take(nay_builder *builder, const uint64_t *hashes, size_t n);

/* nay__builder_memory: what a builder holds that has taken so many. */
uint64_t nay__builder_memory(uint64_t nkeys);

#endif /* NAY_BUILDER_H */

/* ==== src/fill.h ============================================================================ */
/* fill.h - many hashes into a new filter, by several threads. */
#ifndef NAY_FILL_H
#define NAY_FILL_H

/* ==== src/partition.h ======================================================================= */
/*
 * partition.h - hashes, cut by their top bits into tasks that a thread can hold in its cache.
 *
 *   source ---count---> keys of each shard ---load---> work[]: task after task
 *   (only read,          (exact, or with                (8 bytes a key, private; all tasks,
 *    in any order)        repeats)                       or one group of them after the other)
 *
 * Calls: open cut (rewind (next)*)* ... close, and cut again for another number of shards.
 */
#ifndef NAY_PARTITION_H
#define NAY_PARTITION_H

/* ==== src/hash_spill.h ====================================================================== */
/*
 * hash_spill.h - hashes in a temporary file, so that a builder of many keys needs little memory.
 *
 * They are sorted into 256 buckets by their top byte as they come; a bucket's buffer goes to the
 * end of the file when it is full. So a build can read any range of hashes by reading whole chunks.
 */
#ifndef NAY_HASH_SPILL_H
#define NAY_HASH_SPILL_H

typedef struct nay_hash_spill nay_hash_spill;

/* nay__hash_spill_new: NAY_EIO when the folder takes no file. */
nay_status nay__hash_spill_new(const char *folder, const nay_allocator *allocator,
                               nay_hash_spill **spill);

/* nay__hash_spill_add: on failure nothing is lost and the hash is not in. */
nay_status nay__hash_spill_add(nay_hash_spill *spill, uint64_t hash);

uint64_t nay__hash_spill_count(const nay_hash_spill *spill);

/* nay__hash_spill_read: all hashes in [lo, hi], and perhaps others, in pieces. */
nay_status nay__hash_spill_read(const nay_hash_spill *spill, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *hashes, size_t n),
                                void *ctx);

/* nay__hash_spill_clear: forgets all hashes; the file stays open and is written over. */
void nay__hash_spill_clear(nay_hash_spill *spill);
void nay__hash_spill_free(nay_hash_spill *spill);

#endif /* NAY_HASH_SPILL_H */

/* nay_run: hashes side by side in memory. */
typedef struct nay_run {
  const uint64_t *at;
  size_t n;
} nay_run;

/* nay_source: all hashes of a build, repeats allowed. They are read several times. */
typedef struct nay_source {
  const nay_run *runs;
  size_t nruns;
  const nay_hash_spill *spill; /* more of them, in a file; or NULL */
  uint64_t n;                  /* in all */
} nay_source;

typedef struct nay_partition {
  nay_source source;
  nay_allocator allocator;
  unsigned nthreads;
  uint64_t group_limit; /* keys in work[] at one time, unless one task has more */
  uint64_t premix;      /* 0, or what hashes are mixed with: family/static_hash.h */
  bool dedupe;          /* free every group of repeats as it is loaded */
  bool sorted;          /* work[] is the whole set, premixed, ascending, without repeats */

  uint64_t nshards, ntasks;
  unsigned task_log2;
  uint64_t *counts;  /* keys of each shard, repeats counted unless `sorted` */
  uint64_t *ranges;  /* the same for each thread's part of the source */
  uint64_t *cursors; /* where a thread puts the next key of a task */
  uint64_t *starts;  /* where a task begins in work[] */
  uint64_t *lens;    /* how many keys it has there */
  size_t tables_bytes;

  uint64_t *work;
  size_t work_bytes;
  uint64_t group, group_end; /* tasks that are in work[] */

  uint64_t next; /* counter of pieces that threads take */
  nay_status io; /* of the thread that reads the file */
} nay_partition;

void nay__partition_open(nay_partition *p, const nay_source *source, unsigned nthreads,
                         uint64_t group_limit, const nay_allocator *allocator);
void nay__partition_close(nay_partition *p);

/* nay__partition_cut: for so many shards, 2^task_log2 of them a task; counts[] is then known. */
nay_status nay__partition_cut(nay_partition *p, uint64_t nshards, unsigned task_log2);

/* nay__partition_rewind, nay__partition_next: all tasks, group by group. *more is false at the end.
 */
void nay__partition_rewind(nay_partition *p);
nay_status nay__partition_next(nay_partition *p, bool *more);

/* nay__partition_whole: whether all tasks are one group. */
bool nay__partition_whole(const nay_partition *p);

/*
 * nay__partition_distinct: how many distinct hashes there are. From then on no group has repeats;
 * when all tasks are one group the set is also kept sorted. Cut again afterwards.
 */
nay_status nay__partition_distinct(nay_partition *p, uint64_t *n);

/* nay__partition_recount: counts[] without repeats, for a partition that dedupes group by group. */
nay_status nay__partition_recount(nay_partition *p);

/* nay__partition_mix: draws a premix from the set, which has been made distinct. Cut again. */
nay_status nay__partition_mix(nay_partition *p);

static inline uint64_t nay__partition_first_shard(const nay_partition *p, uint64_t task) {
  return nay__min_u64(p->nshards, task << p->task_log2);
}

#endif /* NAY_PARTITION_H */

/* nay__fill: adds the hashes of all runs, one word each. The bytes do not depend on nthreads. */
nay_status nay__fill(nay_filter *filter, const nay_run *runs, size_t nruns, unsigned nthreads);

#endif /* NAY_FILL_H */

/* ==== src/sharded.h ========================================================================= */
/* sharded.h - builds static filters: cuts the keys into shards and solves them in parallel. */
#ifndef NAY_SHARDED_H
#define NAY_SHARDED_H

/*
 * nay__sharded_build: a filter of a static family. params say the size; the number of keys is that
 * of the distinct hashes. The bytes depend on that set and on the size alone.
 */
nay_status nay__sharded_build(const nay_family *family, const nay_params *params,
                              const nay_hasher *hasher, const nay_source *source,
                              const nay_allocator *allocator, nay_filter **filter);

/* nay__sharded_memory: what a build takes beside the filter, for the plan. */
uint64_t nay__sharded_memory(const nay_family *family, const nay_shape *shape,
                             const nay_params *params);

#endif /* NAY_SHARDED_H */

#define FILTER_NAN ((double)((1e300 * 1e10) * 0.0))

/* ---- making and releasing ---- */

/* A family without add has nothing to share: its filters are const, and const calls are safe. */
static bool filter_may_share(const nay_family *family) {
  return family->shared || (family->traits & NAY_CAN_ADD) == 0;
}

static nay_status filter_make_locks(nay_filter *f) {
  if ((f->flags & NAY_CONCURRENT) == 0 || f->locks != NULL || !f->family->shared) return NAY_OK;
  f->locks = nay__alloc(&f->allocator, NAY_NSTRIPES);
  if (f->locks == NULL) return NAY_ENOMEM;
  memset(f->locks, 0, NAY_NSTRIPES);
  return NAY_OK;
}

nay_status nay__resolve(const nay_params *params, nay_diag *diag, const nay_family **family,
                        nay_shape *shape, nay_hasher *hasher) {
  if (params == NULL) return nay__fail(diag, NAY_EINVAL, "params is NULL", 0);
  nay_kind kind = params->kind == NAY_AUTO ? nay__choose(params) : params->kind;
  const nay_family *found = nay__family_find(kind);
  if (found == NULL) return nay__fail(diag, NAY_EINVAL, "kind is not a family of this library", 0);
  NAY_TRY(nay__hasher_init(params, diag, hasher));
  NAY_TRY(nay__params_knobs(params, kind, diag));
  if ((params->flags & NAY_CONCURRENT) != 0 && !filter_may_share(found)) {
    return nay__fail(diag, NAY_EINVAL, "flags: this family takes adds from one thread at a time",
                     0);
  }
  NAY_TRY(found->plan(params, diag, shape));
  *family = found;
  return NAY_OK;
}

/* Where nothing has to be decided before a probe or an add it is one indirect call. */
static void filter_choose_kernels(nay_filter *f) {
  f->kernels = (f->flags & NAY_CONCURRENT) != 0 ? &nay__kernels_shared : nay__kernels_best();
  bool direct = f->lazy == NULL && f->family->kernel != NULL;
  f->bits.probe = direct ? f->family->kernel(f) : NULL;
  direct = (f->flags & NAY_IS_READ_ONLY) == 0 && f->family->put_kernel != NULL;
  f->put = direct ? f->family->put_kernel(f) : NULL;
}

void nay__filter_attach(nay_filter *f, uint8_t *payload, size_t nbytes) {
  const nay_shape *shape = &f->shape;
  f->bits = (nay_bits){.bytes = payload,
                       .nunits = shape->nunits,
                       .k = shape->k,
                       .extra = shape->extra,
                       .in_cache = nbytes <= NAY_CACHE_BYTES};
  f->nbytes = nbytes;
  filter_choose_kernels(f);
}

static nay_status filter_make_sized(const nay_family *family, const nay_shape *shape, size_t nbytes,
                                    const nay_hasher *hasher, uint64_t nkeys, uint32_t flags,
                                    const nay_allocator *allocator, nay_filter **filter) {
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_filter *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return NAY_ENOMEM;
  *f = (nay_filter){.family = family,
                    .shape = *shape,
                    .hasher = *hasher,
                    .nkeys = nkeys,
                    .flags = flags,
                    .allocator = a};
  nay_status status = nay__memory_from(&a, nbytes, (flags & NAY_ZEROED) != 0, &f->memory);
  if (status == NAY_OK) status = filter_make_locks(f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  /* memory of the caller's own allocator is the caller's to advise */
  if (nay__allocator_is_default(&a) && (flags & NAY_SMALL_PAGES) == 0)
    nay__pages_want_huge(f->memory.at, nbytes);
  nay__filter_attach(f, f->memory.at, nbytes);
  *filter = f;
  return NAY_OK;
}

nay_status nay__filter_make(const nay_family *family, const nay_shape *shape,
                            const nay_hasher *hasher, uint64_t nkeys, uint32_t flags,
                            const nay_allocator *allocator, nay_filter **filter) {
  uint64_t nbits, nbytes64;
  size_t nbytes;
  if (!family->payload(shape, &nbits, &nbytes64)) return NAY_EINVAL;
  if (!nay__size_ok(nbytes64, &nbytes)) return NAY_ENOMEM;
  return filter_make_sized(family, shape, nbytes, hasher, nkeys, flags, allocator, filter);
}

void nay__filter_init(nay_filter *f, const nay_params *params) {
  if (f->family->init != NULL) f->family->init(f, params);
}

nay_status nay_filter_new(const nay_params *params, const nay_allocator *allocator,
                          nay_filter **filter) {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  if (filter == NULL) return NAY_EINVAL;
  NAY_TRY(nay__resolve(params, NULL, &family, &shape, &hasher));
  if ((family->traits & NAY_CAN_ADD) == 0) return NAY_ENOTSUP;
  NAY_TRY(
      nay__filter_make(family, &shape, &hasher, params->nkeys, params->flags, allocator, filter));
  nay__filter_init(*filter, params);
  return NAY_OK;
}

/* The size is known and the family takes adds: nothing to collect, count or sort. */
static nay_status filter_build_by_adding(const nay_params *params, const uint64_t *hashes, size_t n,
                                         const nay_allocator *allocator, nay_filter **filter) {
  nay_filter *f;
  NAY_TRY(nay_filter_new(params, allocator, &f));
  nay_run all = {hashes, n};
  nay_status status = nay__fill(f, &all, 1, params->threads);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_build(const nay_params *params, const uint64_t *hashes, size_t n,
                            const nay_allocator *allocator, nay_filter **filter) {
  if (params == NULL || filter == NULL || (hashes == NULL && n != 0)) return NAY_EINVAL;
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  nay_params p = *params;
  if (p.nkeys == 0) p.nkeys = nay__max_u64(n, 1);
  NAY_TRY(nay__resolve(&p, NULL, &family, &shape, &hasher)); /* params are checked as they came */
  if (family->build != NULL) {
    nay_run all = {hashes, n};
    nay_source source = {&all, 1, NULL, n};
    return nay__sharded_build(family, params, &hasher, &source, allocator, filter);
  }
  if (params->nkeys != 0 && !family->ordered) {
    return filter_build_by_adding(params, hashes, n, allocator, filter);
  }
  nay_builder *builder;
  NAY_TRY(nay_builder_new(params, allocator, &builder));
  nay_status status = nay__builder_take(builder, hashes, n);
  if (status == NAY_OK) status = nay_builder_finish(builder, filter);
  nay_builder_free(builder);
  return status;
}

/* Byte by byte where other threads may be adding: each byte is one that the filter has had. */
static void filter_copy_payload(const nay_filter *f, uint8_t *dst) {
  if ((f->flags & NAY_CONCURRENT) == 0) {
    if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
    return;
  }
  for (size_t i = 0; i < f->nbytes; i++) dst[i] = nay__atomic_load8(f->bits.bytes + i);
}

nay_status nay_filter_copy(const nay_filter *f, const nay_allocator *allocator, nay_filter **copy) {
  if (f == NULL || copy == NULL) return NAY_EINVAL;
  NAY_TRY(nay__filter_all_verified(f));
  nay_filter *c;
  uint32_t flags = f->flags & ~(NAY_IS_READ_ONLY | NAY_ZEROED);
  /* as long as it is, which in a self-sized family is not what a new filter would be */
  NAY_TRY(filter_make_sized(f->family, &f->shape, f->nbytes, &f->hasher, f->nkeys, flags, allocator,
                            &c));
  bool wait = f->locks != NULL && f->family->copy_locked;
  if (wait) nay__spin_lock_all(f->locks);
  filter_copy_payload(f, c->bits.bytes);
  if (wait) nay__spin_unlock_all(f->locks);
  nay__filter_attach(c, c->bits.bytes, c->nbytes); /* a probe may depend on what is there */
  c->format = f->format;
  nay_status status = nay_filter_set_meta(c, f->meta, f->meta_len);
  if (status != NAY_OK) {
    nay_filter_free(c);
    return status;
  }
  *copy = c;
  return NAY_OK;
}

/* Flags that are the caller's wish and no state. */
#define FILTER_WISHES (NAY_CONCURRENT | NAY_STORE_KEY | NAY_SMALL_PAGES)

nay_status nay_filter_params(const nay_filter *f, nay_params *params) {
  if (f == NULL || params == NULL) return NAY_EINVAL;
  if (f->format != NULL || f->family->recall == NULL) return NAY_ENOTSUP;
  if (f->hasher.locked) return NAY_EKEY;
  NAY_TRY(nay__filter_all_verified(f));
  nay_params p = {.kind = f->family->kind,
                  .nkeys = f->nkeys,
                  .k = f->shape.k,
                  .flags = f->flags & FILTER_WISHES,
                  .hash = f->hasher.kind};
  if (f->hasher.kind == NAY_HASH_SIPHASH) {
    memcpy(p.key, f->hasher.key, sizeof p.key);
  } else {
    p.seed = f->hasher.seed;
  }
  f->family->recall(f, &p);
  *params = p;
  return NAY_OK;
}

static void filter_drop_meta(nay_filter *f) {
  if (f->meta_owned) nay__free(&f->allocator, (void *)(uintptr_t)f->meta, f->meta_len);
  f->meta = NULL;
  f->meta_len = 0;
  f->meta_owned = false;
}

void nay_filter_free(nay_filter *f) {
  if (f == NULL) return;
  nay_allocator a = f->allocator;
  filter_drop_meta(f);
  if (f->lazy != NULL) nay__free(&a, f->lazy, nay__lazy_size(f->lazy->nchunks));
  if (f->unmap != NULL) f->unmap(f->mapping, f->mapping_len);
  nay__memory_free(&a, &f->memory);
  nay__free(&a, f->locks, NAY_NSTRIPES);
  nay__free(&a, f, sizeof *f);
}

nay_kind nay_filter_kind(const nay_filter *f) {
  return f != NULL && f->format == NULL ? f->family->kind : NAY_AUTO;
}

size_t nay_filter_nbytes(const nay_filter *f) {
  if (f == NULL) return 0;
  return sizeof *f + f->memory.raw_size + (f->meta_owned ? f->meta_len : 0) +
         (f->locks != NULL ? NAY_NSTRIPES : 0) +
         (f->lazy != NULL ? nay__lazy_size(f->lazy->nchunks) : 0);
}

/* The block that holds the payload; metadata of an opened file lies in it as well. */
static void filter_move_memory(nay_filter *f, nay_mover move, void *ctx) {
  size_t payload = (size_t)(f->bits.bytes - f->memory.at), meta = 0;
  bool meta_inside = f->meta != NULL && !f->meta_owned;
  if (meta_inside) meta = (size_t)(f->meta - f->memory.at);
  if (!nay__memory_move(&f->memory, move, ctx)) return;
  f->bits.bytes = f->memory.at + payload;
  if (meta_inside) f->meta = f->memory.at + meta;
}

nay_filter *nay_filter_move(nay_filter *f, nay_mover move, void *ctx) {
  if (f == NULL || move == NULL) return f;
  if (f->memory.raw != NULL) filter_move_memory(f, move, ctx);
  void *to = f->meta_owned ? move(ctx, (void *)(uintptr_t)f->meta) : NULL;
  if (to != NULL) f->meta = to;
  to = f->locks != NULL ? move(ctx, f->locks) : NULL;
  if (to != NULL) f->locks = to;
  to = move(ctx, f);
  return to != NULL ? to : f;
}

nay_status nay_filter_share(nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  if (f->format != NULL || !filter_may_share(f->family)) return NAY_ENOTSUP;
  uint32_t before = f->flags;
  f->flags |= NAY_CONCURRENT;
  nay_status status = filter_make_locks(f);
  if (status != NAY_OK) {
    f->flags = before;
    return status;
  }
  filter_choose_kernels(f);
  return NAY_OK;
}

nay_status nay__filter_writable(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  return (f->flags & NAY_IS_READ_ONLY) != 0 ? NAY_ENOTSUP : NAY_OK;
}

nay_status nay_filter_clear(nay_filter *f) {
  NAY_TRY(nay__filter_writable(f));
  if ((f->family->traits & NAY_CAN_ADD) == 0) return NAY_ENOTSUP;
  if (f->family->clear != NULL) {
    NAY_TRY(f->family->clear(f));
  } else {
    memset(f->bits.bytes, 0, f->nbytes);
  }
  f->flags &= ~NAY_IS_DERIVED;
  return NAY_OK;
}

/* ---- keys ---- */

static nay_status filter_hash(const nay_filter *f, const void *key, size_t len, nay_hash *hash) {
  if (f == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&f->hasher));
  *hash = nay__hash_key(&f->hasher, key, len);
  return NAY_OK;
}

NAY_FLATTEN nay_status nay_filter_hash(const nay_filter *f, const void *key, size_t len,
                                       nay_hash *hash) {
  return hash == NULL ? NAY_EINVAL : filter_hash(f, key, len, hash);
}

bool nay_filter_same_hash(const nay_filter *a, const nay_filter *b) {
  return a != NULL && b != NULL && nay__hasher_same(&a->hasher, &b->hasher);
}

static NAY_NOINLINE nay_status filter_add_hash_any(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(nay__filter_writable(f));
  if (f->family->add == NULL) return NAY_ENOTSUP;
  bool ignored;
  return f->family->add(f, hash, is_new != NULL ? is_new : &ignored);
}

nay_status nay_filter_add_hash(nay_filter *f, nay_hash hash, bool *is_new) {
  if (NAY_LIKELY(f != NULL && f->put != NULL && is_new == NULL)) return f->put(&f->bits, hash.lo);
  return filter_add_hash_any(f, hash, is_new);
}

/* Other keys, or callers that ask: with a frame that the usual ones do not pay for. */
NAY_FLATTEN static NAY_NOINLINE nay_status filter_add_any(nay_filter *f, const void *key,
                                                          size_t len, bool *is_new) {
  nay_hash hash;
  NAY_TRY(filter_hash(f, key, len, &hash));
  return f->put != NULL && is_new == NULL ? f->put(&f->bits, hash.lo)
                                          : filter_add_hash_any(f, hash, is_new);
}

nay_status nay_filter_add(nay_filter *f, const void *key, size_t len, bool *is_new) {
  bool direct = f != NULL && is_new == NULL && nay__hash_is_short(&f->hasher, key, len);
  if (NAY_LIKELY(direct && f->put != NULL)) {
    return f->put(&f->bits, nay__hash_short(&f->hasher, key, len));
  }
  return filter_add_any(f, key, len, is_new);
}

/* Whether every byte that a probe of this hash will read is known to be good. */
static bool filter_touch_ok(const nay_filter *f, nay_hash hash) {
  const uint8_t *addresses[NAY_MAX_TOUCH];
  unsigned n = f->family->touch(f, hash, addresses);
  bool ok = true;
  for (unsigned i = 0; i < n; i++) ok &= nay__lazy_ok(f->lazy, addresses[i]);
  return ok;
}

extern inline bool nay_filter_may_contain_hash(const nay_filter *f, nay_hash hash);

bool nay_filter_may_contain_hash_slow(const nay_filter *f, nay_hash hash) {
  if (NAY_UNLIKELY(f == NULL)) return true;
  if (f->lazy != NULL && !filter_touch_ok(f, hash)) return true;
  return f->family->test(f, hash);
}

/* Other lengths: still inlined, but with a frame that keys of the usual one do not pay for. */
NAY_FLATTEN static NAY_NOINLINE bool filter_may_contain_any(const nay_filter *f, const void *key,
                                                            size_t len) {
  if (NAY_LIKELY(f != NULL && key != NULL && f->bits.probe != NULL &&
                 f->hasher.kind == NAY_HASH_XXH3)) {
    return f->bits.probe(&f->bits, nay__hash_xxh3(f->hasher.seed, key, len));
  }
  nay_hash hash;
  if (filter_hash(f, key, len, &hash) != NAY_OK) return true;
  return nay_filter_may_contain_hash(f, hash);
}

/* The usual case first: no frame, few branches. */
bool nay_filter_may_contain(const nay_filter *f, const void *key, size_t len) {
  if (NAY_LIKELY(f != NULL && nay__hash_is_short(&f->hasher, key, len) && f->bits.probe != NULL)) {
    return f->bits.probe(&f->bits, nay__hash_short(&f->hasher, key, len));
  }
  if (f != NULL && nay__hash_is_tiny(&f->hasher, key, len) && f->bits.probe != NULL) {
    return f->bits.probe(&f->bits, nay__hash_tiny(&f->hasher, key, len));
  }
  return filter_may_contain_any(f, key, len);
}

nay_status nay_filter_remove_hash(nay_filter *f, nay_hash hash) {
  NAY_TRY(nay__filter_writable(f));
  if (f->family->remove == NULL) return NAY_ENOTSUP;
  nay_status status = f->family->remove(f, hash);
  if (status == NAY_ENOENT) nay__atomic_increment64(&f->nrefused);
  return status;
}

nay_status nay_filter_remove(nay_filter *f, const void *key, size_t len) {
  nay_hash hash;
  NAY_TRY(filter_hash(f, key, len, &hash));
  return nay_filter_remove_hash(f, hash);
}

nay_status nay_filter_count_hash(const nay_filter *f, nay_hash hash, uint64_t *count) {
  if (f == NULL || count == NULL) return NAY_EINVAL;
  if (f->family->count == NULL) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f)); /* counts read more than what a probe touches */
  return f->family->count(f, hash, count);
}

nay_status nay_filter_count(const nay_filter *f, const void *key, size_t len, uint64_t *count) {
  nay_hash hash;
  NAY_TRY(filter_hash(f, key, len, &hash));
  return nay_filter_count_hash(f, hash, count);
}

nay_status nay_filter_advance(nay_filter *f, uint64_t now) {
  NAY_TRY(nay__filter_writable(f));
  return f->family->advance != NULL ? f->family->advance(f, now) : NAY_ENOTSUP;
}

/* ---- whole-filter operations ---- */

nay_status nay__filter_all_verified(const nay_filter *f) {
  return f->lazy == NULL || nay__lazy_all_ok(f->lazy) ? NAY_OK : NAY_ECORRUPT;
}

nay_status nay_filter_health(const nay_filter *f) {
  if (f == NULL) return NAY_EINVAL;
  bool bad = f->lazy != NULL && nay__atomic_acquire8(&f->lazy->bad) != 0;
  return bad ? NAY_ECORRUPT : NAY_OK;
}

/* Alike but for size: what folding can bring together. */
static bool filter_same_but_size(const nay_filter *a, const nay_filter *b) {
  return a->family == b->family && a->shape.k == b->shape.k && a->shape.extra == b->shape.extra &&
         nay__hasher_same(&a->hasher, &b->hasher);
}

static bool filter_alike(const nay_filter *a, const nay_filter *b) {
  return filter_same_but_size(a, b) && a->shape.nunits == b->shape.nunits;
}

static nay_status filter_pair_ready(const nay_filter *a, const nay_filter *b) {
  if (a == NULL || b == NULL) return NAY_EINVAL;
  NAY_TRY(nay__filter_all_verified(a));
  return nay__filter_all_verified(b);
}

/* A new filter: f at 1/factor of its size. */
static nay_status filter_folded(const nay_filter *f, uint64_t factor,
                                const nay_allocator *allocator, nay_filter **out) {
  nay_shape shape = f->shape;
  shape.nunits /= factor;
  nay_filter *folded;
  uint32_t flags = f->flags & ~(NAY_IS_READ_ONLY | NAY_ZEROED);
  NAY_TRY(nay__filter_make(f->family, &shape, &f->hasher, f->nkeys, flags, allocator, &folded));
  f->family->fold(f, factor, folded->bits.bytes);
  *out = folded;
  return NAY_OK;
}

/* f takes the payload and shape of `other`, which is freed. Nothing of f may point into its memory.
 */
static void filter_take_payload(nay_filter *f, nay_filter *other) {
  nay_memory old = f->memory;
  f->shape = other->shape;
  f->memory = other->memory;
  nay__filter_attach(f, other->bits.bytes, other->nbytes);
  other->memory = old;
  nay_filter_free(other);
}

/* Makes the metadata f's own, so that its payload can be replaced. */
static nay_status filter_own_meta(nay_filter *f) {
  if (f->meta == NULL || f->meta_owned) return NAY_OK;
  return nay_filter_set_meta(f, f->meta, f->meta_len);
}

static nay_status filter_merge_folding(nay_filter *dst, const nay_filter *src, double max_fpr) {
  uint64_t common = nay__gcd(dst->shape.nunits, src->shape.nunits);
  nay_filter *a = NULL, *b = NULL;
  nay_status status = filter_own_meta(dst);
  if (status == NAY_OK) {
    status = filter_folded(dst, dst->shape.nunits / common, &dst->allocator, &a);
  }
  if (status == NAY_OK) {
    status = filter_folded(src, src->shape.nunits / common, &dst->allocator, &b);
  }
  if (status == NAY_OK) status = nay_filter_merge(a, b, max_fpr);
  if (status == NAY_OK) {
    dst->flags |= a->flags & NAY_IS_DERIVED;
    filter_take_payload(dst, a);
    a = NULL;
  }
  nay_filter_free(a);
  nay_filter_free(b);
  return status;
}

nay_status nay_filter_merge(nay_filter *dst, const nay_filter *src, double max_fpr) {
  NAY_TRY(filter_pair_ready(dst, src));
  NAY_TRY(nay__filter_writable(dst));
  if (dst->family->merge == NULL && dst->family->join == NULL) return NAY_ENOTSUP;
  if (!(max_fpr > 0 && max_fpr <= 1)) return NAY_EINVAL;
  if (dst->family->join != NULL) {
    if (dst->family != src->family || !nay_filter_same_hash(dst, src)) return NAY_EMISMATCH;
    return dst->family->join(dst, src, max_fpr);
  }
  if (!filter_same_but_size(dst, src)) return NAY_EMISMATCH;
  if (!filter_alike(dst, src)) {
    if (dst->family->fold == NULL) return NAY_EMISMATCH;
    return filter_merge_folding(dst, src, max_fpr);
  }
  if (max_fpr < 1) {
    nay_census census;
    dst->family->census(dst, src, 1, &census);
    if (census.fpr > max_fpr) return NAY_EFULL;
  }
  NAY_TRY(dst->family->merge(dst, src));
  dst->flags |= src->flags & NAY_IS_DERIVED;
  return NAY_OK;
}

nay_status nay_filter_intersect(nay_filter *dst, const nay_filter *src) {
  NAY_TRY(filter_pair_ready(dst, src));
  NAY_TRY(nay__filter_writable(dst));
  if (dst->family->intersect == NULL) return NAY_ENOTSUP;
  if (!filter_alike(dst, src)) return NAY_EMISMATCH;
  dst->family->intersect(dst, src);
  dst->flags |= NAY_IS_DERIVED;
  return NAY_OK;
}

/* What a factor must divide; 0: this family does not fold. */
static uint64_t filter_foldable(const nay_filter *f) {
  if (f->family->foldable != NULL) return f->family->foldable(f);
  return f->family->fold != NULL ? f->shape.nunits : 0;
}

nay_status nay_filter_fold(nay_filter *f, uint64_t factor) {
  NAY_TRY(nay__filter_writable(f));
  uint64_t nunits = filter_foldable(f);
  if (nunits == 0) return NAY_ENOTSUP;
  if (factor == 0 || nunits % factor != 0) return NAY_EINVAL;
  if (f->family->finish != NULL) return f->family->finish(f, factor);
  if (factor == 1) return NAY_OK;
  NAY_TRY(filter_own_meta(f));
  nay_filter *folded;
  NAY_TRY(filter_folded(f, factor, &f->allocator, &folded));
  filter_take_payload(f, folded);
  return NAY_OK;
}

nay_status nay_filter_shrink(nay_filter *f, uint64_t nbytes) {
  NAY_TRY(nay__filter_writable(f));
  if (f->family->shrink == NULL) return NAY_ENOTSUP;
  nay_shape shape;
  nay_filter *small;
  NAY_TRY(f->family->shrunk(f, nbytes, &shape));
  if (shape.nunits == f->shape.nunits) return NAY_OK;
  NAY_TRY(filter_own_meta(f));
  NAY_TRY(
      nay__filter_make(f->family, &shape, &f->hasher, f->nkeys, f->flags, &f->allocator, &small));
  f->family->shrink(f, &shape, small->bits.bytes);
  filter_take_payload(f, small);
  return NAY_OK;
}

/*
 * Tries the divisors upward. Rates grow with the factor but for accidents of the bits, so the first
 * failure at d ends the search at 2d; and no plan asks for factors past 2^20.
 */
nay_status nay_filter_fold_factor(const nay_filter *f, double max_fpr, uint64_t *factor) {
  if (f == NULL || factor == NULL || !(max_fpr > 0 && max_fpr <= 1)) return NAY_EINVAL;
  uint64_t nunits = filter_foldable(f);
  if (nunits == 0) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f));
  uint64_t best = 1, limit = nay__min_u64(nunits, (uint64_t)1 << 20);
  for (uint64_t d = 2; d <= limit; d++) {
    if (nunits % d != 0) continue;
    nay_census census;
    f->family->census(f, NULL, d, &census);
    if (census.fpr <= max_fpr) {
      best = d;
    } else {
      limit = nay__min_u64(limit, 2 * d);
    }
  }
  *factor = best;
  return NAY_OK;
}

/* ---- what it knows of itself ---- */

nay_status nay_filter_stats(const nay_filter *f, nay_stats *stats) {
  if (f == NULL || stats == NULL) return NAY_EINVAL;
  NAY_TRY(nay__filter_all_verified(f));
  nay_census census;
  f->family->census(f, NULL, 1, &census);
  bool derived = (f->flags & NAY_IS_DERIVED) != 0;
  nay_stats s = {
      .kind = f->family->kind,
      .hash = f->hasher.kind,
      .k = f->shape.k,
      .nkeys = f->nkeys,
      .nkeys_estimated = derived ? FILTER_NAN : census.nkeys,
      .nbits = census.nbits,
      .nbits_set = census.nbits_set,
      .nbytes = f->nbytes + sizeof *f,
      .fill = census.nbits == 0 ? 0 : (double)census.nbits_set / (double)census.nbits,
      .fpr_now = derived ? FILTER_NAN : census.fpr,
      .fpr_planned = f->nkeys != 0 ? f->family->fpr(&f->shape, f->nkeys) : 0,
      .derived = derived,
      .read_only = (f->flags & NAY_IS_READ_ONLY) != 0,
      .locked = f->hasher.locked,
      .stores_key = f->hasher.kind == NAY_HASH_SIPHASH && (f->flags & NAY_STORE_KEY) != 0,
      .nlevels = 1,
      .nrefused = nay__atomic_load64(&f->nrefused),
  };
  if (f->nkeys != 0 && !derived) {
    s.utilisation = census.nkeys / (double)f->nkeys;
    /* 5 %: an estimate from bits is within 1 % even for a few hundred keys; below that, a key or
     * two */
    s.overloaded = census.nkeys > 1.05 * (double)f->nkeys + 2;
  }
  if (f->family->describe != NULL) f->family->describe(f, &s);
  *stats = s;
  return NAY_OK;
}

nay_status nay_filter_overlap(const nay_filter *a, const nay_filter *b, nay_overlap *overlap) {
  if (overlap == NULL) return NAY_EINVAL;
  NAY_TRY(filter_pair_ready(a, b));
  if (a->family->merge == NULL && a->family->join == NULL) return NAY_ENOTSUP;
  if (a->family != b->family || !nay_filter_same_hash(a, b)) return NAY_EMISMATCH;
  if (a->family->merge == NULL) return NAY_ENOTSUP;
  if (!filter_alike(a, b)) return NAY_EMISMATCH;
  nay_census ca, cb, cu;
  a->family->census(a, NULL, 1, &ca);
  b->family->census(b, NULL, 1, &cb);
  a->family->census(a, b, 1, &cu);
  double both = ca.nkeys + cb.nkeys - cu.nkeys;
  if (both < 0) both = 0;
  *overlap = (nay_overlap){ca.nkeys, cb.nkeys, cu.nkeys, both, cu.nkeys > 0 ? both / cu.nkeys : 0};
  return NAY_OK;
}

nay_status nay_filter_unlock(nay_filter *f, const uint8_t key[16]) {
  if (f == NULL || key == NULL) return NAY_EINVAL;
  return nay__hasher_unlock(&f->hasher, key);
}

const void *nay_filter_meta(const nay_filter *f, size_t *len) {
  if (len != NULL) *len = f != NULL ? f->meta_len : 0;
  return f != NULL ? f->meta : NULL;
}

nay_status nay_filter_set_meta(nay_filter *f, const void *bytes, size_t len) {
  if (f == NULL || (bytes == NULL && len != 0)) return NAY_EINVAL;
  if (f->format != NULL && len != 0) return NAY_ENOTSUP; /* no other layout has a place for it */
  uint8_t *copy = NULL;
  if (len != 0) {
    copy = nay__alloc(&f->allocator, len);
    if (copy == NULL) return NAY_ENOMEM;
    memcpy(copy, bytes, len);
  }
  filter_drop_meta(f);
  f->meta = copy;
  f->meta_len = len;
  f->meta_owned = copy != NULL;
  return NAY_OK;
}
#undef FILTER_NAN
#undef FILTER_WISHES

/* ==== src/batch.c =========================================================================== */
/*
 * batch.c - many keys in one call.
 *
 * Groups of 64, so that a group's answers are one word of the bitmap. While the family works on one
 * group the memory of the next is on its way (unless the whole filter fits in the cache). It is
 * asked for in one of three ways:
 *
 *   with the work    a line for each key that is worked on: families that have test64_ahead
 *   with the hashes  16 keys are hashed, then 16 asked for: other families, keys of the caller
 *   at once          other families, hashes of the caller; and groups of less than 64
 *
 * The processor keeps track of some two dozen lines that are on their way; if 64 are asked for at
 * once, what comes next waits until the last of them is on its way. A feed hides where the hashes
 * come from: the caller's arrays, or keys that are hashed as they are needed, each with its own
 * pointer or one after the other in a buffer.
 */

typedef struct batch_group {
  const uint64_t *lo, *hi;
  unsigned n;
  uint64_t hashed[2][64];
} batch_group;

/* Keys as the caller has them: hashes, or a list of keys. */
typedef struct batch_input {
  const uint64_t *lo, *hi;
  bool hashed;
  nay_key_list list;
  size_t n;
} batch_input;

typedef struct batch_feed {
  const nay_filter *filter;
  batch_input in;
  size_t next;
  batch_group groups[2];
  unsigned turn;
  bool fetch; /* memory has to be asked for */
  bool paced; /* and the family does it, key by key */
  bool bad;   /* a key was NULL and had a length */
} batch_feed;

/* ---- hashing ---- */

NAY_INLINE const void *batch_key(const nay_key_list *list, size_t i, size_t *len) {
  if (list->keys != NULL) {
    *len = list->lens[i];
    return list->keys[i];
  }
  *len = list->offsets[i + 1] - list->offsets[i];
  bool usable = list->bytes != NULL && list->offsets[i] <= list->offsets[i + 1];
  return usable ? list->bytes + list->offsets[i] : NULL;
}

/*
 * The usual hash: short keys by vectors where the machine can, others inlined into the loop. False:
 * a key is NULL and has a length; the hashes are then of no use.
 */
NAY_FLATTEN static bool batch_hash_xxh3(const nay_filter *f, const nay_key_list *list, size_t from,
                                        size_t n, uint64_t *lo) {
  uint64_t seed = f->hasher.seed;
  bool ok = true;
  for (size_t i = 0; i < n;) {
    if (f->kernels->xxh3_short != NULL) {
      i += f->kernels->xxh3_short(seed, list, from + i, n - i, lo + i);
    }
    for (size_t end = n - i < 8 ? n : i + 8; i < end; i++) {
      size_t len;
      const void *key = batch_key(list, from + i, &len);
      nay__keys_ahead(list, from + i, 1);
      ok &= key != NULL || len == 0;
      lo[i] = nay__hash_xxh3(seed, key, key != NULL ? len : 0);
    }
  }
  return ok;
}

/* hi may be NULL where the hash has one word. */
static bool batch_hash(const nay_filter *f, const nay_key_list *list, size_t from, size_t n,
                       uint64_t *lo, uint64_t *hi) {
  if (NAY_LIKELY(f->hasher.kind == NAY_HASH_XXH3)) {
    for (size_t i = 0; hi != NULL && i < n; i++) hi[i] = 0;
    return batch_hash_xxh3(f, list, from, n, lo);
  }
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    size_t len;
    const void *key = batch_key(list, from + i, &len);
    ok &= key != NULL || len == 0;
    nay_hash h = nay__hash_key(&f->hasher, key, key != NULL ? len : 0);
    lo[i] = h.lo;
    if (hi != NULL) hi[i] = h.hi;
  }
  return ok;
}

/* ---- the feed ---- */

#define BATCH_STEP 16u

static bool batch_hash_group(const batch_feed *feed, batch_group *g) {
  const nay_filter *f = feed->filter;
  bool two = nay__hash_has_hi(f->hasher.kind), fetch = feed->fetch && !feed->paced, ok = true;
  g->lo = g->hashed[0];
  g->hi = two ? g->hashed[1] : NULL;
  for (unsigned i = 0, step = fetch ? BATCH_STEP : 64; i < g->n; i += step) {
    unsigned n = g->n - i < step ? g->n - i : step;
    uint64_t *hi = two ? g->hashed[1] + i : NULL;
    ok &= batch_hash(f, &feed->in.list, feed->next + i, n, g->hashed[0] + i, hi);
    if (fetch) f->family->prefetch64(f, g->lo + i, hi, n);
  }
  return ok;
}

/* Fills the other group with the keys that follow. */
static void batch_feed_ahead(batch_feed *feed) {
  const batch_input *in = &feed->in;
  batch_group *g = &feed->groups[feed->turn ^= 1];
  size_t left = in->n - feed->next;
  g->n = left < 64 ? (unsigned)left : 64;
  if (in->hashed) {
    g->lo = in->lo != NULL ? in->lo + feed->next : NULL; /* an empty batch may have no array */
    g->hi = in->hi != NULL ? in->hi + feed->next : NULL;
  } else {
    feed->bad |= !batch_hash_group(feed, g);
  }
  feed->next += g->n;
}

/* The group that is ready; the one after it is made meanwhile. n is 0 when all are done. */
static const batch_group *batch_feed_next(batch_feed *feed) {
  const batch_group *ready = &feed->groups[feed->turn];
  batch_feed_ahead(feed);
  return ready;
}

/* The hashes of the group after the one that is ready, if the family is to ask for their memory. */
NAY_INLINE const uint64_t *batch_feed_paced(const batch_feed *feed) {
  const batch_group *g = &feed->groups[feed->turn];
  return feed->paced && g->n == 64 ? g->lo : NULL;
}

/* Asks for the memory of that group at once, unless that has been done with its hashes. */
static void batch_feed_fetch(const batch_feed *feed) {
  const batch_group *g = &feed->groups[feed->turn];
  if (!feed->fetch || (!feed->in.hashed && !feed->paced)) return;
  feed->filter->family->prefetch64(feed->filter, g->lo, g->hi, g->n);
}

static void batch_feed_start(batch_feed *feed, const nay_filter *f, const batch_input *in,
                             bool can_pace) {
  feed->filter = f;
  feed->in = *in;
  feed->next = feed->turn = 0;
  feed->fetch = f->family->prefetch64 != NULL && !f->bits.in_cache && f->lazy == NULL;
  feed->paced = feed->fetch && can_pace;
  feed->bad = false;
  batch_feed_ahead(feed);
  batch_feed_fetch(feed);
}

/* ---- what the caller may not give ---- */

/* Single keys are looked at when they are hashed. */
static nay_status batch_list_ok(const nay_filter *f, const batch_input *in) {
  const nay_key_list *list = &in->list;
  bool there = list->offsets != NULL || (list->keys != NULL && list->lens != NULL);
  if (f == NULL || (in->n != 0 && !there)) return NAY_EINVAL;
  return nay__hasher_ready(&f->hasher);
}

/* Keys must be usable before the first one is added: a failed batch has added nothing. */
static nay_status batch_keys_ok(const nay_filter *f, const batch_input *in) {
  NAY_TRY(batch_list_ok(f, in));
  bool bad = false;
  for (size_t i = 0; i < in->n; i++) {
    size_t len;
    bad |= batch_key(&in->list, i, &len) == NULL && len != 0;
  }
  return bad ? NAY_EINVAL : NAY_OK;
}

static nay_status batch_hashes_ok(const nay_filter *f, const batch_input *in) {
  if (f == NULL || (in->n != 0 && in->lo == NULL)) return NAY_EINVAL;
  bool half = in->n != 0 && in->hi == NULL && nay__hash_has_hi(f->hasher.kind);
  return half ? NAY_EINVAL : NAY_OK;
}

static batch_input batch_of_hashes(const uint64_t *lo, const uint64_t *hi, size_t n) {
  return (batch_input){.lo = lo, .hi = hi, .hashed = true, .n = n};
}

static batch_input batch_of_keys(const void *const *keys, const size_t *lens, size_t n) {
  return (batch_input){.list = {.keys = keys, .lens = lens, .n = n}, .n = n};
}

static batch_input batch_of_packed(const void *bytes, const size_t *offsets, size_t n) {
  return (batch_input){.list = {.bytes = bytes, .offsets = offsets, .n = n}, .n = n};
}

/* ---- add ---- */

/* word may be NULL. */
static nay_status batch_add_group(const batch_feed *feed, nay_filter *f, const batch_group *g,
                                  uint64_t *word) {
  const uint64_t *next = batch_feed_paced(feed);
  if (next != NULL) return f->family->add64_ahead(f, g->lo, next, word);
  batch_feed_fetch(feed);
  uint64_t ignored;
  if (word == NULL && f->family->put64 != NULL && f->family->put64(f, g->lo, g->n)) return NAY_OK;
  return f->family->add64(f, g->lo, g->hi, g->n, word != NULL ? word : &ignored);
}

static nay_status batch_add(nay_filter *f, const batch_input *in, uint64_t *bitmap) {
  if (f->family->add64 == NULL) return NAY_ENOTSUP;
  batch_feed feed;
  batch_feed_start(&feed, f, in, f->family->add64_ahead != NULL);
  const batch_group *g;
  while ((g = batch_feed_next(&feed))->n != 0) {
    NAY_TRY(batch_add_group(&feed, f, g, bitmap));
    if (bitmap != NULL) bitmap++;
  }
  return NAY_OK;
}

nay_status nay_filter_add_hash_many(nay_filter *f, const uint64_t *lo, const uint64_t *hi, size_t n,
                                    uint64_t *bitmap) {
  batch_input in = batch_of_hashes(lo, hi, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_hashes_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_many(nay_filter *f, const void *const *keys, const size_t *lens, size_t n,
                               uint64_t *bitmap) {
  batch_input in = batch_of_keys(keys, lens, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_add_packed(nay_filter *f, const void *bytes, const size_t *offsets, size_t n,
                                 uint64_t *bitmap) {
  batch_input in = batch_of_packed(bytes, offsets, n);
  NAY_TRY(nay__filter_writable(f));
  NAY_TRY(batch_keys_ok(f, &in));
  return batch_add(f, &in, bitmap);
}

nay_status nay_filter_hash_many(const nay_filter *f, const void *const *keys, const size_t *lens,
                                size_t n, uint64_t *lo, uint64_t *hi) {
  batch_input in = batch_of_keys(keys, lens, n);
  NAY_TRY(batch_keys_ok(f, &in));
  if (n != 0 && (lo == NULL || (hi == NULL && nay__hash_has_hi(f->hasher.kind)))) {
    return NAY_EINVAL;
  }
  batch_hash(f, &in.list, 0, n, lo, hi);
  return NAY_OK;
}

/* ---- test ---- */

static NAY_NOINLINE uint64_t batch_test_one_by_one(const nay_filter *f, const batch_group *g) {
  uint64_t word = 0;
  for (unsigned i = 0; i < g->n; i++) {
    nay_hash hash = {g->lo[i], g->hi != NULL ? g->hi[i] : 0};
    word |= (uint64_t)nay_filter_may_contain_hash(f, hash) << i;
  }
  return word;
}

static uint64_t batch_test_group(const batch_feed *feed, const batch_group *g) {
  const nay_filter *f = feed->filter;
  const uint64_t *next = batch_feed_paced(feed);
  if (next != NULL) return f->family->test64_ahead(f, g->lo, next);
  if (NAY_UNLIKELY(f->lazy != NULL)) return batch_test_one_by_one(f, g);
  batch_feed_fetch(feed);
  return f->family->test64(f, g->lo, g->hi, g->n);
}

static nay_status batch_all_maybe(nay_status status, size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    bitmap[i / 64] = ~(uint64_t)0 >> (n - i < 64 ? 64 - (n - i) : 0);
  }
  return status;
}

/* `status` tells whether the input can be used; where it cannot no key is known to be absent. */
static nay_status batch_test(nay_status status, const nay_filter *f, const batch_input *in,
                             uint64_t *bitmap) {
  if (in->n != 0 && bitmap == NULL) return NAY_EINVAL;
  if (status != NAY_OK) return batch_all_maybe(status, in->n, bitmap);
  batch_feed feed;
  batch_feed_start(&feed, f, in, f->family->test64_ahead != NULL);
  const batch_group *g;
  uint64_t *word = bitmap;
  while ((g = batch_feed_next(&feed))->n != 0) *word++ = batch_test_group(&feed, g);
  if (feed.bad) return batch_all_maybe(NAY_EINVAL, in->n, bitmap);
  return nay_filter_health(f);
}

nay_status nay_filter_may_contain_hash_many(const nay_filter *f, const uint64_t *lo,
                                            const uint64_t *hi, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_hashes(lo, hi, n);
  return batch_test(batch_hashes_ok(f, &in), f, &in, bitmap);
}

nay_status nay_filter_may_contain_many(const nay_filter *f, const void *const *keys,
                                       const size_t *lens, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_keys(keys, lens, n);
  return batch_test(batch_list_ok(f, &in), f, &in, bitmap);
}

nay_status nay_filter_may_contain_packed(const nay_filter *f, const void *bytes,
                                         const size_t *offsets, size_t n, uint64_t *bitmap) {
  batch_input in = batch_of_packed(bytes, offsets, n);
  return batch_test(batch_list_ok(f, &in), f, &in, bitmap);
}

/* ---- one key, in two steps ---- */

void nay_filter_prepare(const nay_filter *f, nay_hash hash) {
  if (f == NULL || f->bits.in_cache || f->lazy != NULL) return;
  if (f->family->prepare != NULL) {
    f->family->prepare(f, hash);
  } else if (f->family->prefetch64 != NULL) {
    f->family->prefetch64(f, &hash.lo, &hash.hi, 1);
  }
}
#undef BATCH_STEP

/* ==== src/fill.c ============================================================================ */
/*
 * fill.c - many hashes into a new filter, by several threads.
 *
 * The payload is cut into as many parts as there are threads, which share no byte. Each thread
 * reads all hashes and adds what falls into its part: reading them is sequential and costs a
 * nanosecond a key, adding is random and costs ten, so little is lost by every thread reading
 * everything, and nothing has to be moved, locked or merged. A part gets its keys in the order of
 * the arrays, as it does from one thread: the bytes are the same for every number of threads.
 */

#define FILL_THREAD_KEYS 32768u /* for fewer a thread is not worth its start */

typedef struct fill_job {
  nay_filter *f;
  const nay_run *runs;
  size_t nruns;
  unsigned nparts;
  uint64_t next;
} fill_job;

static void fill_worker(void *ctx, unsigned worker) {
  (void)worker;
  fill_job *j = ctx;
  uint64_t part;
  while ((part = nay__take(&j->next)) < j->nparts) {
    for (size_t i = 0; i < j->nruns; i++) {
      j->f->family->fill_part(j->f, j->runs[i].at, j->runs[i].n, (unsigned)part, j->nparts);
    }
  }
}

nay_status nay__fill(nay_filter *f, const nay_run *runs, size_t nruns, unsigned nthreads) {
  uint64_t n = 0;
  for (size_t i = 0; i < nruns; i++) n += runs[i].n;
  uint64_t nparts = n / FILL_THREAD_KEYS < nthreads ? n / FILL_THREAD_KEYS : nthreads;
  if (nparts < 2 || f->family->fill_part == NULL || f->locks != NULL) {
    for (size_t i = 0; i < nruns; i++) {
      NAY_TRY(nay_filter_add_hash_many(f, runs[i].at, NULL, (size_t)runs[i].n, NULL));
    }
    return NAY_OK;
  }
  fill_job job = {f, runs, nruns, (unsigned)nparts, 0};
  nay__parallel(job.nparts, fill_worker, &job);
  return NAY_OK;
}
#undef FILL_THREAD_KEYS

/* ==== src/builder.c ========================================================================= */
/*
 * builder.c - a filter from a stream of keys whose number is not known.
 *
 * Hashes are kept in pages of 64 Ki, so that growing never copies. At the end they move, page by
 * page, into one array (a page is freed as soon as it has moved), are sorted in place and counted
 * without repeats; only then is the size known and the filter made. Peak: 8 bytes a key, one page,
 * and the filter (16 bytes a key for hashes of two words, which other systems' layouts have).
 * When making the filter fails the hashes stay in that array: nothing is lost, finish can be tried
 * again, more keys can be added before.
 *
 * Where the size is known and the bits do not depend on the order (blocked, bloom), the filter is
 * made when the first few thousand hashes are there, and they go into it, batch by batch: nothing
 * is kept. Static families are built from the pages as they are: sharded.c makes the copy that it
 * needs and finds duplicates on the way. With NAY_LOW_MEMORY there are no pages but a file
 * (hash_spill.c).
 */

#define BUILDER_PAGE 65536u
#define BUILDER_STREAM                                                      \
  4096u /* hashes that are added at a time: 32 KiB, which stay in the cache \
         */

typedef struct builder_page {
  struct builder_page *next;
  size_t used;
  uint64_t words[BUILDER_PAGE]; /* two-word hashes: lo, hi, lo, hi, ... */
} builder_page;

struct nay_builder {
  nay_allocator allocator;
  const struct nay_format *format; /* NULL: native */
  const nay_family *family;        /* NULL: NAY_AUTO, decided when the number of keys is known */
  nay_params params;
  nay_hasher hasher;
  nay_builder_plan plan;
  bool distinct;
  unsigned words_per_key;
  uint64_t nkeys;             /* added, duplicates counted; without those of the window */
  uint64_t *at, *end;         /* the window: of the last page, or NULL */
  builder_page *first, *last; /* hashes as they came */
  nay_hash_spill *spill;      /* or in a file */
  nay_filter *filter;         /* or in here, all but those of the only page */
  uint64_t *sorted;           /* those that a finish has moved, sorted, without repeats */
  size_t nsorted, sorted_bytes;
};

static void builder_drop_pages(nay_builder *b) {
  while (b->first != NULL) {
    builder_page *next = b->first->next;
    nay__free(&b->allocator, b->first, sizeof *b->first);
    b->first = next;
  }
  b->last = NULL;
}

static void builder_reset(nay_builder *b) {
  b->at = b->end = NULL;
  builder_drop_pages(b);
  if (b->spill != NULL) nay__hash_spill_clear(b->spill);
  nay_filter_free(b->filter);
  b->filter = NULL;
  nay__free(&b->allocator, b->sorted, b->sorted_bytes);
  b->sorted = NULL;
  b->nsorted = b->sorted_bytes = 0;
  b->nkeys = 0;
}

nay_status nay__builder_make(const struct nay_format *format, const nay_family *family,
                             const nay_params *params, const nay_hasher *hasher,
                             nay_builder_plan plan, bool distinct, const nay_allocator *allocator,
                             nay_builder **builder) {
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_builder *b = nay__alloc(&a, sizeof *b);
  if (b == NULL) return NAY_ENOMEM;
  *b = (nay_builder){.allocator = a,
                     .format = format,
                     .family = family,
                     .params = *params,
                     .hasher = *hasher,
                     .plan = plan,
                     .distinct = distinct,
                     .words_per_key = nay__hash_has_hi(hasher->kind) ? 2 : 1};
  *builder = b;
  return NAY_OK;
}

nay_status nay_builder_new(const nay_params *params, const nay_allocator *allocator,
                           nay_builder **builder) {
  if (params == NULL || builder == NULL) return NAY_EINVAL;
  nay_params p = *params;
  if (p.nkeys == 0) p.nkeys = 1; /* any number, to have the other fields checked now */
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  NAY_TRY(nay__resolve(&p, NULL, &family, &shape, &hasher));
  if (params->kind == NAY_AUTO) family = NULL;
  nay_builder *b;
  NAY_TRY(nay__builder_make(NULL, family, params, &hasher, NULL, true, allocator, &b));
  b->params.spill_dir = NULL; /* the caller's string is not ours to keep */
  if (family != NULL && family->build != NULL && (params->flags & NAY_LOW_MEMORY) != 0) {
    nay_status status = nay__hash_spill_new(params->spill_dir, &b->allocator, &b->spill);
    if (status != NAY_OK) {
      nay_builder_free(b);
      return status;
    }
  }
  *builder = b;
  return NAY_OK;
}

static bool builder_repeats(const nay_builder *b, nay_hash hash) {
  if (b->family == NULL || !b->family->skips_repeats || b->last == NULL) return false;
  return b->last->used != 0 && b->last->words[b->last->used - 1] == hash.lo;
}

static nay_status builder_new_page(nay_builder *b) {
  builder_page *page = nay__alloc(&b->allocator, sizeof *page);
  if (page == NULL) return NAY_ENOMEM;
  page->next = NULL;
  page->used = 0;
  if (b->last != NULL) b->last->next = page;
  if (b->first == NULL) b->first = page;
  b->last = page;
  return NAY_OK;
}

static nay_status builder_make_empty(const nay_builder *b, uint64_t nkeys, nay_filter **filter) {
  const nay_family *family = b->family;
  nay_shape shape;
  if (b->format != NULL) {
    NAY_TRY(b->plan(b->format, &b->params, nkeys, &shape));
  } else {
    nay_params p = b->params;
    nay_hasher same;
    p.nkeys = nkeys != 0 ? nkeys : 1; /* the empty set gets the smallest filter */
    NAY_TRY(nay__resolve(&p, NULL, &family, &shape, &same));
  }
  NAY_TRY(
      nay__filter_make(family, &shape, &b->hasher, nkeys, b->params.flags, &b->allocator, filter));
  (*filter)->format = b->format;
  nay__filter_init(*filter, &b->params);
  return NAY_OK;
}

static bool builder_streams(const nay_builder *b) {
  return b->format == NULL && b->family != NULL && b->family->put64 != NULL &&
         b->params.nkeys != 0 && b->params.threads <= 1;
}

/* Empties the only page into the filter. Without memory for one, hashes are kept as ever. */
static void builder_stream(nay_builder *b) {
  builder_page *page = b->first;
  if (b->filter == NULL && builder_make_empty(b, b->params.nkeys, &b->filter) != NAY_OK) return;
  if (nay_filter_add_hash_many(b->filter, page->words, NULL, page->used, NULL) == NAY_OK) {
    page->used = 0;
  }
}

/* Where the next hashes may go without another thought: the rest of 4096 of the last page. */
static void builder_open_window(nay_builder *b) {
  if (b->words_per_key != 1 || (b->family != NULL && b->family->skips_repeats)) return;
  b->at = b->last->words + b->last->used;
  b->end = b->at + (BUILDER_STREAM - b->last->used % BUILDER_STREAM) % BUILDER_STREAM;
}

/* How many have gone there since. */
static size_t builder_in_window(const nay_builder *b) {
  return b->at != NULL ? (size_t)(b->at - b->last->words) - b->last->used : 0;
}

static void builder_close_window(nay_builder *b) {
  size_t n = builder_in_window(b);
  b->nkeys += n;
  if (n != 0) b->last->used += n;
  b->at = b->end = NULL;
}

static NAY_NOINLINE nay_status builder_push_any(nay_builder *b, nay_hash hash) {
  builder_close_window(b);
  if (builder_repeats(b, hash)) return NAY_OK;
  if (b->spill != NULL) {
    NAY_TRY(nay__hash_spill_add(b->spill, hash.lo));
    b->nkeys++;
    return NAY_OK;
  }
  bool full = b->last != NULL && b->last->used != 0 && b->last->used % BUILDER_STREAM == 0;
  if (full && b->last == b->first && builder_streams(b)) builder_stream(b);
  if (b->last == NULL || b->last->used == BUILDER_PAGE) NAY_TRY(builder_new_page(b));
  b->last->words[b->last->used++] = hash.lo;
  if (b->words_per_key == 2) b->last->words[b->last->used++] = hash.hi;
  b->nkeys++;
  builder_open_window(b);
  return NAY_OK;
}

NAY_INLINE nay_status builder_push(nay_builder *b, nay_hash hash) {
  if (NAY_UNLIKELY(b->at == b->end)) return builder_push_any(b, hash);
  *b->at++ = hash.lo;
  return NAY_OK;
}

nay_status nay_builder_add_hash(nay_builder *b, nay_hash hash) {
  return NAY_UNLIKELY(b == NULL) ? NAY_EINVAL : builder_push(b, hash);
}

/* Other keys: with a frame that the usual ones do not pay for. */
NAY_FLATTEN static NAY_NOINLINE nay_status builder_add_any(nay_builder *b, const void *key,
                                                           size_t len) {
  if (b == NULL || (key == NULL && len != 0)) return NAY_EINVAL;
  NAY_TRY(nay__hasher_ready(&b->hasher));
  return builder_push(b, nay__hash_key(&b->hasher, key, len));
}

nay_status nay_builder_add(nay_builder *b, const void *key, size_t len) {
  if (NAY_LIKELY(b != NULL && nay__hash_is_short(&b->hasher, key, len))) {
    return builder_push(b, (nay_hash){nay__hash_short(&b->hasher, key, len), 0});
  }
  return builder_add_any(b, key, len);
}

uint64_t nay_builder_nkeys(const nay_builder *b) {
  return b != NULL ? b->nkeys + builder_in_window(b) : 0;
}

/*
 * Brings hashes into the order in which they will be added and drops repeats; returns how many
 * remain. Ascending, so that adds walk through memory; but not for a family that depends on the
 * order: there a level or a generation takes the keys that come one after the other, and ascending
 * hashes would all belong to the same few blocks of it. They come in the order of a product that
 * depends on all their bits.
 */
static size_t builder_arrange(const nay_builder *b, uint64_t *hashes, size_t n) {
  const uint64_t g = 0x9e3779b97f4a7c15u, inverse = 0xf1de83e19937733du; /* modulo 2^64 */
  bool spread = b->family != NULL && b->family->ordered;
  for (size_t i = 0; spread && i < n; i++) hashes[i] *= g;
  nay__sort_u64(hashes, n);
  n = nay__unique_u64(hashes, n);
  for (size_t i = 0; spread && i < n; i++) hashes[i] *= inverse;
  return n;
}

/* Moves all hashes into b->sorted. When there is no memory for it, everything stays where it is. */
static nay_status builder_sort(nay_builder *b) {
  size_t n = b->nsorted, bytes;
  if (b->first == NULL) return NAY_OK;
  for (const builder_page *page = b->first; page != NULL; page = page->next) n += page->used;
  if (!nay__mul_ok(n, sizeof(uint64_t), &bytes)) return NAY_ENOMEM;
  uint64_t *all = nay__alloc(&b->allocator, bytes);
  if (all == NULL) return NAY_ENOMEM;
  n = b->nsorted;
  if (n != 0) memcpy(all, b->sorted, n * sizeof(uint64_t));
  nay__free(&b->allocator, b->sorted, b->sorted_bytes);
  while (b->first != NULL) {
    builder_page *page = b->first;
    memcpy(all + n, page->words, page->used * sizeof(uint64_t));
    n += page->used;
    b->first = page->next;
    nay__free(&b->allocator, page, sizeof *page);
  }
  b->last = NULL;
  b->sorted = all;
  b->sorted_bytes = bytes;
  b->nsorted = builder_arrange(b, all, n);
  return NAY_OK;
}

nay_status nay__builder_take(nay_builder *b, const uint64_t *hashes, size_t n) {
  size_t bytes;
  if (n == 0) return NAY_OK;
  if (!nay__mul_ok(n, sizeof *hashes, &bytes)) return NAY_ENOMEM;
  uint64_t *all = nay__alloc(&b->allocator, bytes);
  if (all == NULL) return NAY_ENOMEM;
  memcpy(all, hashes, bytes);
  b->sorted = all;
  b->sorted_bytes = bytes;
  b->nsorted = builder_arrange(b, all, n);
  b->nkeys = n;
  return NAY_OK;
}

uint64_t nay__builder_memory(uint64_t nkeys) { return sizeof(nay_builder) + nkeys * 8; }

/* All hashes as runs: those that were sorted, then the pages. */
static nay_status builder_runs(const nay_builder *b, nay_run **runs, size_t *nruns, size_t *size) {
  size_t n = 1;
  for (const builder_page *page = b->first; page != NULL; page = page->next) n++;
  if (!nay__mul_ok(n, sizeof(nay_run), size)) return NAY_ENOMEM;
  nay_run *run = nay__alloc(&b->allocator, *size);
  if (run == NULL) return NAY_ENOMEM;
  *runs = run;
  if (b->nsorted != 0) *run++ = (nay_run){b->sorted, b->nsorted};
  for (const builder_page *page = b->first; page != NULL; page = page->next) {
    *run++ = (nay_run){page->words, page->used};
  }
  *nruns = (size_t)(run - *runs);
  return NAY_OK;
}

static nay_status builder_fill_singles(const nay_builder *b, nay_filter *f) {
  nay_run *runs;
  size_t nruns, size;
  NAY_TRY(builder_runs(b, &runs, &nruns, &size));
  nay_status status = nay__fill(f, runs, nruns, b->params.threads);
  nay__free(&b->allocator, runs, size);
  return status;
}

/* Two-word hashes: the pairs of the pages are split into the two arrays of the batch. */
static nay_status builder_fill_pairs(const nay_builder *b, nay_filter *f) {
  for (const builder_page *page = b->first; page != NULL; page = page->next) {
    for (size_t i = 0; i < page->used; i += 128) {
      uint64_t lo[64], hi[64];
      size_t n = page->used - i < 128 ? (page->used - i) / 2 : 64;
      for (size_t j = 0; j < n; j++) {
        lo[j] = page->words[i + 2 * j];
        hi[j] = page->words[i + 2 * j + 1];
      }
      NAY_TRY(nay_filter_add_hash_many(f, lo, hi, n, NULL));
    }
  }
  return NAY_OK;
}

static nay_status builder_make_filter(const nay_builder *b, uint64_t nkeys, nay_filter **filter) {
  nay_filter *f;
  NAY_TRY(builder_make_empty(b, nkeys, &f));
  nay_status status = b->words_per_key == 1 ? builder_fill_singles(b, f) : builder_fill_pairs(b, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

static nay_status builder_make_static(const nay_builder *b, nay_filter **filter) {
  nay_run *runs;
  size_t nruns, size;
  NAY_TRY(builder_runs(b, &runs, &nruns, &size));
  nay_source source = {runs, nruns, b->spill, b->nkeys};
  nay_status status =
      b->family->compose != NULL
          ? b->family->compose(b->format, &b->params, &source, &b->allocator, filter)
          : nay__sharded_build(b->family, &b->params, &b->hasher, &source, &b->allocator, filter);
  nay__free(&b->allocator, runs, size);
  return status;
}

static nay_status builder_make_mutable(nay_builder *b, nay_filter **filter) {
  if (b->filter != NULL) {
    NAY_TRY(builder_fill_singles(b, b->filter)); /* tried again, it adds what is there already */
    *filter = b->filter;
    b->filter = NULL;
    return NAY_OK;
  }
  uint64_t nkeys = b->params.nkeys != 0 ? b->params.nkeys : b->nkeys;
  bool must_sort = b->family != NULL && b->family->ordered;
  if (b->distinct && (b->params.nkeys == 0 || must_sort)) {
    NAY_TRY(builder_sort(b));
    if (b->params.nkeys == 0) nkeys = b->nsorted;
  }
  return builder_make_filter(b, nkeys, filter);
}

nay_status nay_builder_finish(nay_builder *b, nay_filter **filter) {
  if (b == NULL || filter == NULL) return NAY_EINVAL;
  builder_close_window(b);
  bool is_static = b->family != NULL && (b->family->build != NULL || b->family->compose != NULL);
  NAY_TRY(is_static ? builder_make_static(b, filter) : builder_make_mutable(b, filter));
  builder_reset(b);
  return NAY_OK;
}

void nay_builder_free(nay_builder *b) {
  if (b == NULL) return;
  builder_reset(b);
  nay__hash_spill_free(b->spill);
  nay_allocator a = b->allocator;
  nay__free(&a, b, sizeof *b);
}
#undef BUILDER_PAGE
#undef BUILDER_STREAM

/* ==== src/sharded.c ========================================================================= */
/*
 * sharded.c - builds static filters.
 *
 * The set is cut by the top bits of its hashes into shards (partition.c), each solved on its own by
 * the family's solver. Neighbouring shards form tasks; threads take tasks from a counter. What a
 * shard becomes depends on its keys alone, so the bytes are the same for every number of threads
 * and every order of the keys.
 *
 * Duplicates. Nothing is sorted in advance: a shard with two equal keys cannot be solved, and a
 * shard that can be has none. When an attempt fails, that shard is sorted to see whether duplicates
 * are to blame. If they are few, the shard goes on without them, and the filter is right if one of
 * so many keys less would have been laid out alike. Otherwise the whole set is sorted and freed of
 * them, and the build starts again with the size that the distinct keys need.
 *
 * Retries. Seeds are a function of the attempt; from the eighth on also of the keys of the shard,
 * so that nobody can prepare a set on which every seed fails. Sets that crowd some shards, or that
 * no seed can solve (hashes of the caller's that are not random), start again with hashes mixed
 * with a number drawn from the set. If the attempts end even then, the solver gives up in a way
 * that still never says a false nay.
 */

#define SHARDED_ATTEMPTS 32u
#define SHARDED_FIXED_SEEDS 8u
#define SHARDED_SEED_MASK 0x7fffffffu /* the top bit is for solvers to mark what they gave up */
#define SHARDED_GROUPS 8u
#define SHARDED_FEW 1024u          /* so many times fewer twins than keys do not stop a build */
#define SHARDED_THREAD_KEYS 32768u /* for fewer a thread is not worth its start */
#define SHARDED_MIN_GROUP ((uint64_t)1 << 22)

/* Scratch of one thread. */
typedef struct sharded_scratch {
  uint64_t *task; /* the keys of a task, shard by shard */
  uint8_t *solver;
} sharded_scratch;

typedef struct sharded_job {
  const nay_family *family;
  const nay_solver *solver;
  nay_params params;
  nay_hasher hasher;
  nay_allocator allocator;
  unsigned nthreads;
  nay_partition parts;
  bool distinct; /* no key comes twice */
  nay_filter *f;

  nay_memory memory; /* of all scratch */
  sharded_scratch scratch[NAY_MAX_THREADS];
  uint64_t next;  /* counter of tasks */
  uint64_t twins; /* keys left out because they came before */
  /* raised by any thread: stop; the hashes need mixing; verify failed */
  uint8_t stop, stuck, misbuilt;
} sharded_job;

/* ---- one shard ---- */

static uint64_t sharded_sum(const uint64_t *x, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += nay_hash_mix(x[i]);
  return sum;
}

static uint32_t sharded_seed(unsigned attempt, const uint64_t *x, size_t n) {
  if (attempt == 0) return 0;
  uint64_t from = attempt < SHARDED_FIXED_SEEDS ? 0 : sharded_sum(x, n);
  return (uint32_t)nay_hash_mix(from + attempt) & SHARDED_SEED_MASK;
}

static bool sharded_verified(const sharded_job *j, const uint64_t *x, size_t n) {
  if ((j->params.flags & NAY_NO_VERIFY) != 0) return true;
  for (size_t i = 0; i < n; i += 64) {
    unsigned group = n - i < 64 ? (unsigned)(n - i) : 64;
    if (j->solver->test64(j->f, x + i, group) != ~(uint64_t)0 >> (64 - group)) return false;
  }
  return true;
}

/* Leaves out what comes twice; *few is false when the build should start again instead. */
static size_t sharded_drop_twins(sharded_job *j, uint64_t *x, size_t n, bool *few) {
  nay__sort_u64(x, n);
  size_t left = nay__unique_u64(x, n);
  if (left == n) return n;
  uint64_t twins = nay__tally(&j->twins, n - left);
  *few = j->solver->alike != NULL && twins <= j->f->nkeys / SHARDED_FEW;
  return left;
}

static bool sharded_try(sharded_job *j, uint64_t shard, const uint64_t *x, size_t n,
                        uint8_t *scratch, unsigned from, unsigned to) {
  for (unsigned attempt = from; attempt < to; attempt++) {
    uint32_t seed = sharded_seed(attempt, x, n);
    if (j->solver->attempt(j->f, shard, attempt, seed, x, n, scratch) &&
        sharded_verified(j, x, n)) {
      return true;
    }
  }
  return false;
}

/* x may be put into another order. False: the build must stop. */
static bool sharded_solve_shard(sharded_job *j, uint64_t shard, uint64_t *x, size_t n,
                                uint8_t *scratch) {
  if (sharded_try(j, shard, x, n, scratch, 0, 1)) return true;
  unsigned from = 1;
  if (!j->distinct) {
    bool few = true;
    size_t left = sharded_drop_twins(j, x, n, &few);
    if (!few) return false;
    if (left != n) from = 0; /* another set: the first seed again */
    n = left;
  }
  if (sharded_try(j, shard, x, n, scratch, from, SHARDED_ATTEMPTS)) return true;
  if (j->parts.premix == 0) {
    nay__atomic_release8(&j->stuck, 1);
    return false;
  }
  j->solver->give_up(j->f, shard, sharded_seed(SHARDED_ATTEMPTS, x, n), x, n, scratch);
  if (sharded_verified(j, x, n)) return true;
  nay__atomic_release8(&j->misbuilt, 1);
  return false;
}

/* ---- one task ---- */

/* Brings the keys of a task into the order of their shards; ends[] are counted from its start. */
static void sharded_sort_task(const sharded_job *j, uint64_t task, const uint64_t *x, size_t n,
                              size_t *ends, uint64_t *out) {
  uint64_t first = nay__partition_first_shard(&j->parts, task);
  uint64_t last = nay__partition_first_shard(&j->parts, task + 1);
  size_t at = 0;
  for (uint64_t s = first; s < last; s++) {
    ends[s - first] = at;
    at += (size_t)j->parts.counts[s];
  }
  for (size_t i = 0; i < n; i++) {
    out[ends[nay__shard_of(x[i], j->parts.nshards) - first]++] = x[i];
  }
}

#define SHARDED_MAX_TASK_LOG2 7

static bool sharded_solve_task(sharded_job *j, uint64_t task, const sharded_scratch *scratch) {
  uint64_t *x = j->parts.work + j->parts.starts[task];
  size_t n = (size_t)j->parts.lens[task], ends[1 << SHARDED_MAX_TASK_LOG2], from = 0;
  uint64_t first = nay__partition_first_shard(&j->parts, task);
  uint64_t last = nay__partition_first_shard(&j->parts, task + 1);
  if (last - first == 1) return sharded_solve_shard(j, first, x, n, scratch->solver);
  sharded_sort_task(j, task, x, n, ends, scratch->task);
  for (uint64_t s = first; s < last; s++) {
    size_t end = ends[s - first];
    if (!sharded_solve_shard(j, s, scratch->task + from, end - from, scratch->solver)) return false;
    from = end;
  }
  return true;
}

static void sharded_worker(void *ctx, unsigned worker) {
  sharded_job *j = ctx;
  uint64_t task;
  while (nay__atomic_acquire8(&j->stop) == 0 &&
         (task = j->parts.group + nay__take(&j->next)) < j->parts.group_end) {
    if (!sharded_solve_task(j, task, &j->scratch[worker])) nay__atomic_release8(&j->stop, 1);
  }
}

/* ---- the whole ---- */

/* Scratch for the largest task and the largest shard. */
static nay_status sharded_make_scratch(sharded_job *j) {
  uint64_t task_keys = 0, shard_keys = 0;
  for (uint64_t t = 0; t < j->parts.ntasks; t++) {
    uint64_t keys = 0, first = nay__partition_first_shard(&j->parts, t);
    for (uint64_t s = first; s < nay__partition_first_shard(&j->parts, t + 1); s++) {
      keys += j->parts.counts[s];
      shard_keys = nay__max_u64(shard_keys, j->parts.counts[s]);
    }
    task_keys = nay__max_u64(task_keys, keys);
  }
  if (j->parts.task_log2 == 0) task_keys = 0;
  uint64_t task = nay__round_up(task_keys * 8, 64);
  uint64_t one = task + nay__round_up(j->solver->scratch(&j->f->shape, shard_keys), 64);
  size_t size;
  if (!nay__size_ok(one, &size) || !nay__mul_ok(size, j->nthreads, &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_new(&j->allocator, size, &j->memory));
  for (unsigned i = 0; i < j->nthreads; i++) {
    uint8_t *at = j->memory.at + i * one;
    j->scratch[i] = (sharded_scratch){(uint64_t *)(void *)at, at + task};
  }
  return NAY_OK;
}

/* Solves all tasks; the flags say what went wrong. */
static nay_status sharded_solve(sharded_job *j) {
  j->twins = 0;
  j->stop = j->stuck = j->misbuilt = 0;
  j->solver->begin(j->f, j->parts.premix, j->parts.counts);
  nay_status status = sharded_make_scratch(j);
  nay__partition_rewind(&j->parts);
  while (status == NAY_OK && j->stop == 0) {
    bool more;
    status = nay__partition_next(&j->parts, &more);
    if (status != NAY_OK || !more) break;
    j->next = 0;
    nay__parallel(j->nthreads, sharded_worker, j);
  }
  nay__memory_free(&j->allocator, &j->memory);
  return status == NAY_OK && j->misbuilt != 0 ? NAY_ECORRUPT : status;
}

/* More keys in a shard than chance can explain: 8 standard deviations. */
static bool sharded_crowded(const sharded_job *j, uint64_t n) {
  uint64_t mean = nay__ceil_div(n, j->parts.nshards);
  for (uint64_t s = 0; s < j->parts.nshards; s++) {
    uint64_t count = j->parts.counts[s], over = count > mean + 8 ? count - mean - 8 : 0;
    if (over > mean || over * over / 64 > mean) return true;
  }
  return false;
}

/* Makes the set distinct; when it is already, or must be mixed, mixes it. */
static nay_status sharded_improve(sharded_job *j, bool mix, uint64_t *n) {
  if (!j->distinct) NAY_TRY(nay__partition_distinct(&j->parts, n));
  j->distinct = true;
  return mix ? nay__partition_mix(&j->parts) : NAY_OK;
}

/* The shards for n keys, counted. *again: n has changed, or the hashes: start over. */
static nay_status sharded_cut(sharded_job *j, nay_shape *shape, uint64_t *n, bool *again) {
  nay_params p = j->params;
  p.nkeys = nay__max_u64(*n, 1); /* the empty set gets the smallest filter */
  NAY_TRY(j->family->plan(&p, NULL, shape));
  NAY_TRY(
      nay__partition_cut(&j->parts, j->solver->nshards(shape), j->solver->shards_per_task_log2));
  NAY_TRY(nay__partition_recount(&j->parts));
  *again = j->parts.premix == 0 && sharded_crowded(j, *n);
  return *again ? sharded_improve(j, j->distinct, n) : NAY_OK;
}

/* Whether the filter in j->f, planned for n keys, is the one for those that were no twins. */
static bool sharded_fits(sharded_job *j, const nay_shape *shape) {
  if (j->stop != 0) return false;
  if (j->twins == 0) return true;
  uint64_t left = j->f->nkeys - j->twins;
  nay_params p = j->params;
  nay_shape same;
  p.nkeys = nay__max_u64(left, 1);
  if (j->family->plan(&p, NULL, &same) != NAY_OK || same.nunits != shape->nunits ||
      same.k != shape->k || same.extra != shape->extra ||
      !j->solver->alike(j->f, j->f->nkeys, left)) {
    return false;
  }
  j->f->nkeys = left;
  return true;
}

static nay_status sharded_run(sharded_job *j, uint64_t n) {
  for (;;) {
    nay_shape shape;
    bool again;
    NAY_TRY(sharded_cut(j, &shape, &n, &again));
    if (again) continue;
    uint32_t flags = j->params.flags & ~(NAY_NO_VERIFY | NAY_LOW_MEMORY);
    NAY_TRY(nay__filter_make(j->family, &shape, &j->hasher, n, flags, &j->allocator, &j->f));
    NAY_TRY(sharded_solve(j));
    if (sharded_fits(j, &shape)) {
      nay__filter_attach(j->f, j->f->bits.bytes,
                         j->f->nbytes); /* now that there is something in it */
      return NAY_OK;
    }
    nay_filter_free(j->f);
    j->f = NULL;
    NAY_TRY(sharded_improve(j, j->stuck != 0, &n));
  }
}

static unsigned sharded_threads(const nay_params *params, uint64_t n) {
  return (unsigned)nay__max_u64(1, nay__min_u64(params->threads, n / SHARDED_THREAD_KEYS));
}

static uint64_t sharded_group_limit(const nay_params *params, uint64_t n) {
  if ((params->flags & NAY_LOW_MEMORY) == 0) return UINT64_MAX;
  return nay__max_u64(SHARDED_MIN_GROUP, n / SHARDED_GROUPS);
}

nay_status nay__sharded_build(const nay_family *family, const nay_params *params,
                              const nay_hasher *hasher, const nay_source *source,
                              const nay_allocator *allocator, nay_filter **filter) {
  sharded_job *j;
  nay_allocator a = nay__allocator_or_default(allocator);
  if ((j = nay__alloc(&a, sizeof *j)) == NULL) return NAY_ENOMEM;
  *j = (sharded_job){.family = family,
                     .solver = family->build,
                     .params = *params,
                     .hasher = *hasher,
                     .allocator = a,
                     .nthreads = sharded_threads(params, source->n)};
  nay__partition_open(&j->parts, source, j->nthreads, sharded_group_limit(params, source->n), &a);
  nay_status status = sharded_run(j, source->n);
  if (status == NAY_OK) {
    *filter = j->f;
  } else {
    nay_filter_free(j->f);
  }
  nay__partition_close(&j->parts);
  nay__free(&a, j, sizeof *j);
  return status;
}

uint64_t nay__sharded_memory(const nay_family *family, const nay_shape *shape,
                             const nay_params *params) {
  uint64_t n = params->nkeys, nshards = family->build->nshards(shape);
  uint64_t threads = sharded_threads(params, n);
  uint64_t shard_keys = nay__ceil_div(n, nshards) + nay__ceil_div(n, nshards) / 64;
  uint64_t ntasks = nay__ceil_div(nshards, (uint64_t)1 << family->build->shards_per_task_log2);
  uint64_t task = family->build->shards_per_task_log2 == 0 ? 0 : nay__ceil_div(n, ntasks) * 8;
  return nay__min_u64(n, sharded_group_limit(params, n)) * 8 +
         threads * (task + family->build->scratch(shape, shard_keys)) +
         8 * (threads + 2) * nshards + sizeof(sharded_job);
}

/* ---- which family ---- */

static nay_status sharded_cost(const nay_family *family, const nay_params *params, nay_diag *diag,
                               double *nbytes, double *fpr) {
  nay_shape shape;
  uint64_t bits, bytes;
  nay_params p = *params;
  p.kind = family->kind;
  NAY_TRY(family->plan(&p, diag, &shape));
  if (!family->payload(&shape, &bits, &bytes)) return NAY_EINVAL;
  *nbytes = (double)bytes;
  *fpr = family->fpr(&shape, params->nkeys);
  return NAY_OK;
}

nay_status nay_params_choose_static(const nay_params *params, nay_diag *diag, nay_kind *kind) {
  if (params == NULL || kind == NULL)
    return nay__fail(diag, NAY_EINVAL, "params or kind is NULL", 0);
  double fuse_bytes, fuse_fpr, ribbon_bytes, ribbon_fpr;
  NAY_TRY(sharded_cost(&nay__family_ribbon, params, diag, &ribbon_bytes, &ribbon_fpr));
  bool fuse = sharded_cost(&nay__family_fuse, params, NULL, &fuse_bytes, &fuse_fpr) == NAY_OK &&
              fuse_bytes <= ribbon_bytes * 1.125 && fuse_fpr <= ribbon_fpr * 2;
  *kind = fuse ? NAY_FUSE : NAY_RIBBON;
  return NAY_OK;
}
#undef SHARDED_ATTEMPTS
#undef SHARDED_FEW
#undef SHARDED_FIXED_SEEDS
#undef SHARDED_GROUPS
#undef SHARDED_MAX_TASK_LOG2
#undef SHARDED_MIN_GROUP
#undef SHARDED_SEED_MASK
#undef SHARDED_THREAD_KEYS

/* ==== src/partition.c ======================================================================= */
/* partition.c - see partition.h. All memory is taken before threads start. */

void nay__partition_open(nay_partition *p, const nay_source *source, unsigned nthreads,
                         uint64_t group_limit, const nay_allocator *allocator) {
  *p = (nay_partition){
      .source = *source, .allocator = *allocator, .nthreads = nthreads, .group_limit = group_limit};
}

static void partition_drop_tables(nay_partition *p) {
  nay__free(&p->allocator, p->counts, p->tables_bytes);
  p->counts = NULL;
}

void nay__partition_close(nay_partition *p) {
  partition_drop_tables(p);
  nay__free(&p->allocator, p->work, p->work_bytes);
  p->work = NULL;
}

bool nay__partition_whole(const nay_partition *p) { return p->source.n <= p->group_limit; }

/* ---- reading the source ---- */

/* What is done with a piece of the source; `slots` belong to the part that it is from. */
typedef void (*partition_each)(const nay_partition *p, const uint64_t *hashes, size_t n,
                               uint64_t *slots);

/* Part `range` of the runs, of as many equal parts as there are threads. */
static void partition_read_runs(const nay_partition *p, uint64_t range, partition_each each,
                                uint64_t *slots) {
  uint64_t total = 0, at = 0;
  for (size_t i = 0; i < p->source.nruns; i++) total += p->source.runs[i].n;
  uint64_t share = total / p->nthreads, from = share * range;
  uint64_t to = range + 1 == p->nthreads ? total : share * (range + 1);
  for (size_t i = 0; i < p->source.nruns && at < to; i++) {
    const nay_run *run = &p->source.runs[i];
    uint64_t lo = from > at ? from - at : 0, hi = nay__min_u64(run->n, to - at);
    if (lo < hi) each(p, run->at + lo, (size_t)(hi - lo), slots);
    at += run->n;
  }
}

typedef struct partition_reader {
  const nay_partition *p;
  partition_each each;
  uint64_t *slots;
} partition_reader;

static void partition_read_chunk(void *ctx, const uint64_t *hashes, size_t n) {
  const partition_reader *r = ctx;
  r->each(r->p, hashes, n, r->slots);
}

/* Without a premix the file's buckets are in the order of the shards: read only those needed. */
static nay_status partition_read_spill(const nay_partition *p, partition_each each,
                                       uint64_t *slots) {
  uint64_t lo = 0, hi = UINT64_MAX, end = nay__partition_first_shard(p, p->group_end);
  if (p->premix == 0) {
    uint64_t width = UINT64_MAX / p->nshards; /* at most a shard's share of the hashes */
    lo = nay__partition_first_shard(p, p->group) * width;
    if (end < p->nshards) hi = end * width + end;
  }
  partition_reader reader = {p, each, slots};
  return nay__hash_spill_read(p->source.spill, lo, hi, partition_read_chunk, &reader);
}

/* One part; the file belongs to the first. */
static void partition_read(nay_partition *p, uint64_t range, partition_each each, uint64_t *slots) {
  partition_read_runs(p, range, each, slots);
  if (range != 0 || p->source.spill == NULL) return;
  nay_status status = partition_read_spill(p, each, slots);
  if (status != NAY_OK) p->io = status;
}

/* ---- counting ---- */

static void partition_count_piece(const nay_partition *p, const uint64_t *hashes, size_t n,
                                  uint64_t *slots) {
  for (size_t i = 0; i < n; i++) {
    slots[nay__shard_of(nay__premix(hashes[i], p->premix), p->nshards)]++;
  }
}

static void partition_count_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t range;
  while ((range = nay__take(&p->next)) < p->nthreads) {
    partition_read(p, range, partition_count_piece, p->ranges + range * p->nshards);
  }
}

static nay_status partition_count(nay_partition *p) {
  p->group = 0;
  p->group_end = p->ntasks;
  p->next = 0;
  p->io = NAY_OK;
  nay__parallel(p->nthreads, partition_count_worker, p);
  for (unsigned r = 0; r < p->nthreads; r++) {
    for (uint64_t s = 0; s < p->nshards; s++) p->counts[s] += p->ranges[r * p->nshards + s];
  }
  return p->io;
}

static void partition_count_sorted(nay_partition *p) {
  for (uint64_t i = 0; i < p->source.n; i++) p->counts[nay__shard_of(p->work[i], p->nshards)]++;
}

nay_status nay__partition_cut(nay_partition *p, uint64_t nshards, unsigned task_log2) {
  partition_drop_tables(p);
  p->nshards = nshards;
  p->task_log2 = task_log2;
  p->ntasks = nay__ceil_div(nshards, (uint64_t)1 << task_log2);
  uint64_t words = nshards * (p->nthreads + 1) + p->ntasks * (p->nthreads + 2) + 1;
  size_t size;
  if (!nay__size_ok(words, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  p->counts = nay__alloc(&p->allocator, size);
  if (p->counts == NULL) return NAY_ENOMEM;
  memset(p->counts, 0, size);
  p->tables_bytes = size;
  p->ranges = p->counts + nshards;
  p->cursors = p->ranges + nshards * p->nthreads;
  p->starts = p->cursors + p->ntasks * p->nthreads;
  p->lens = p->starts + p->ntasks;
  if (!p->sorted) return partition_count(p);
  partition_count_sorted(p);
  return NAY_OK;
}

/* ---- loading ---- */

static uint64_t partition_task_of(const nay_partition *p, uint64_t x) {
  return nay__shard_of(x, p->nshards) >> p->task_log2;
}

static void partition_scatter_piece(const nay_partition *p, const uint64_t *hashes, size_t n,
                                    uint64_t *slots) {
  uint64_t *work = p->work;
  if (p->group == 0 && p->group_end == p->ntasks) {
    for (size_t i = 0; i < n; i++) {
      uint64_t x = nay__premix(hashes[i], p->premix);
      work[slots[partition_task_of(p, x)]++] = x;
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t x = nay__premix(hashes[i], p->premix), task = partition_task_of(p, x);
    if (task >= p->group && task < p->group_end) work[slots[task]++] = x;
  }
}

static void partition_scatter_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t range;
  while ((range = nay__take(&p->next)) < p->nthreads) {
    partition_read(p, range, partition_scatter_piece, p->cursors + range * p->ntasks);
  }
}

/* Sorts the loaded tasks and frees them of repeats. */
static void partition_sort_worker(void *ctx, unsigned worker) {
  (void)worker;
  nay_partition *p = ctx;
  uint64_t task;
  while ((task = p->group + nay__take(&p->next)) < p->group_end) {
    nay__sort_u64(p->work + p->starts[task], (size_t)p->lens[task]);
    p->lens[task] = nay__unique_u64(p->work + p->starts[task], (size_t)p->lens[task]);
  }
}

static void partition_sort(nay_partition *p) {
  p->next = 0;
  nay__parallel(p->nthreads, partition_sort_worker, p);
}

/* The end of the group that begins at `task`, and its keys. ranges[] and not counts[], which may
 * have been made distinct. */
static uint64_t partition_task_keys(const nay_partition *p, uint64_t task) {
  uint64_t keys = 0;
  for (uint64_t s = nay__partition_first_shard(p, task);
       s < nay__partition_first_shard(p, task + 1); s++) {
    if (p->sorted) {
      keys += p->counts[s];
      continue;
    }
    for (unsigned r = 0; r < p->nthreads; r++) keys += p->ranges[r * p->nshards + s];
  }
  return keys;
}

static uint64_t partition_group_end(const nay_partition *p, uint64_t task, uint64_t *keys) {
  *keys = 0;
  for (; task < p->ntasks; task++) {
    uint64_t more = partition_task_keys(p, task);
    if (*keys != 0 && *keys + more > p->group_limit) break;
    *keys += more;
  }
  return task;
}

/* Room for the largest group. */
static nay_status partition_make_work(nay_partition *p) {
  uint64_t most = 1, keys;
  for (uint64_t task = 0; task < p->ntasks;) {
    task = partition_group_end(p, task, &keys);
    most = nay__max_u64(most, keys);
  }
  size_t size;
  if (!nay__size_ok(most, &size) || !nay__mul_ok(size, sizeof(uint64_t), &size)) return NAY_ENOMEM;
  if (p->work != NULL && p->work_bytes >= size) return NAY_OK;
  nay__free(&p->allocator, p->work, p->work_bytes);
  p->work = nay__alloc(&p->allocator, size);
  if (p->work == NULL) return NAY_ENOMEM;
  p->work_bytes = size;
  return NAY_OK;
}

void nay__partition_rewind(nay_partition *p) { p->group = p->group_end = 0; }

/* Where the tasks of a group are in work[], and where each thread begins to write. */
static void partition_layout(nay_partition *p) {
  uint64_t at = 0;
  for (uint64_t t = p->group; t < p->group_end; t++) {
    p->starts[t] = at;
    p->lens[t] = partition_task_keys(p, t);
    at += p->lens[t];
    uint64_t cursor = p->starts[t];
    for (unsigned r = 0; r < p->nthreads; r++) {
      p->cursors[r * p->ntasks + t] = cursor;
      for (uint64_t s = nay__partition_first_shard(p, t); s < nay__partition_first_shard(p, t + 1);
           s++) {
        cursor += p->ranges[r * p->nshards + s];
      }
    }
  }
}

nay_status nay__partition_next(nay_partition *p, bool *more) {
  if (p->group_end == 0 && !p->sorted) NAY_TRY(partition_make_work(p));
  uint64_t keys;
  p->group = p->group_end;
  p->group_end = p->sorted ? p->ntasks : partition_group_end(p, p->group, &keys);
  *more = p->group < p->group_end;
  if (!*more) return NAY_OK;
  partition_layout(p);
  if (p->sorted) return NAY_OK;
  p->next = 0;
  p->io = NAY_OK;
  nay__parallel(p->nthreads, partition_scatter_worker, p);
  if (p->dedupe && p->io == NAY_OK) partition_sort(p);
  return p->io;
}

/* ---- distinct ---- */

/* All tasks are loaded, sorted and in the order of their keys: close the gaps. */
static void partition_close_gaps(nay_partition *p) {
  uint64_t at = 0;
  for (uint64_t t = 0; t < p->ntasks; t++) {
    memmove(p->work + at, p->work + p->starts[t], (size_t)p->lens[t] * sizeof(uint64_t));
    at += p->lens[t];
  }
  p->sorted = true;
  p->source.n = at;
}

nay_status nay__partition_distinct(nay_partition *p, uint64_t *n) {
  bool more;
  p->dedupe = true;
  *n = 0;
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) break;
    for (uint64_t t = p->group; t < p->group_end; t++) *n += p->lens[t];
    if (nay__partition_whole(p)) {
      partition_close_gaps(p);
      break;
    }
  }
  return NAY_OK;
}

nay_status nay__partition_recount(nay_partition *p) {
  if (p->sorted || !p->dedupe) return NAY_OK;
  bool more;
  memset(p->counts, 0, (size_t)p->nshards * sizeof(uint64_t));
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) return NAY_OK;
    for (uint64_t t = p->group; t < p->group_end; t++) {
      for (uint64_t i = 0; i < p->lens[t]; i++) {
        p->counts[nay__shard_of(p->work[p->starts[t] + i], p->nshards)]++;
      }
    }
  }
}

static uint64_t partition_digest(const uint64_t *x, uint64_t n) {
  uint64_t sum = 0; /* of mixed words: the order does not matter */
  for (uint64_t i = 0; i < n; i++) sum += nay_hash_mix(x[i] ^ NAY_STATIC_G);
  return sum;
}

/* The sum over all groups, which are free of repeats. */
static nay_status partition_digest_groups(nay_partition *p, uint64_t *sum) {
  bool more;
  *sum = 0;
  nay__partition_rewind(p);
  for (;;) {
    NAY_TRY(nay__partition_next(p, &more));
    if (!more) return NAY_OK;
    for (uint64_t t = p->group; t < p->group_end; t++) {
      *sum += partition_digest(p->work + p->starts[t], p->lens[t]);
    }
  }
}

nay_status nay__partition_mix(nay_partition *p) {
  uint64_t sum;
  if (p->sorted) {
    sum = partition_digest(p->work, p->source.n); /* counts[] may be from before it was sorted */
  } else {
    NAY_TRY(partition_digest_groups(p, &sum));
  }
  p->premix = nay_hash_mix(sum) | 1; /* never 0, which means none */
  if (!p->sorted) return NAY_OK;
  for (uint64_t i = 0; i < p->source.n; i++) p->work[i] = nay__premix(p->work[i], p->premix);
  nay__sort_u64(p->work, (size_t)p->source.n);
  return NAY_OK;
}

/* ==== src/hash_spill.c ====================================================================== */
/*
 * hash_spill.c - see hash_spill.h.
 *
 * In memory: 256 buffers of 64 KiB, and one byte for each chunk in the file: whose it is. Finding
 * the chunks of a bucket is a scan of those bytes, 10^9 keys have 122,071 of them.
 */

#define SPILL_BUCKETS 256u
#define SPILL_CHUNK 8192u /* hashes */

struct nay_hash_spill {
  nay_allocator allocator;
  int fd;
  uint64_t n;
  uint8_t *owner; /* of each chunk in the file */
  size_t nchunks, owner_cap;
  uint64_t *read_buffer;
  size_t used[SPILL_BUCKETS];
  uint64_t buffer[SPILL_BUCKETS + 1][SPILL_CHUNK]; /* the last one is for reading */
};

nay_status nay__hash_spill_new(const char *folder, const nay_allocator *allocator,
                               nay_hash_spill **spill) {
  nay_hash_spill *s = nay__alloc(allocator, sizeof *s);
  if (s == NULL) return NAY_ENOMEM;
  s->allocator = *allocator;
  s->owner = NULL;
  s->owner_cap = 0;
  s->read_buffer = s->buffer[SPILL_BUCKETS];
  nay__hash_spill_clear(s);
  nay_status status = nay__spill_open(folder, &s->fd);
  if (status != NAY_OK) {
    nay__free(allocator, s, sizeof *s);
    return status;
  }
  *spill = s;
  return NAY_OK;
}

void nay__hash_spill_clear(nay_hash_spill *s) {
  s->n = 0;
  s->nchunks = 0;
  memset(s->used, 0, sizeof s->used);
}

static nay_status spill_grow(nay_hash_spill *s) {
  if (s->nchunks < s->owner_cap) return NAY_OK;
  size_t cap = s->owner_cap == 0 ? 4096 : s->owner_cap * 2;
  uint8_t *owner = nay__alloc(&s->allocator, cap);
  if (owner == NULL) return NAY_ENOMEM;
  if (s->nchunks != 0) memcpy(owner, s->owner, s->nchunks);
  nay__free(&s->allocator, s->owner, s->owner_cap);
  s->owner = owner;
  s->owner_cap = cap;
  return NAY_OK;
}

static nay_status spill_flush(nay_hash_spill *s, unsigned bucket) {
  NAY_TRY(spill_grow(s));
  NAY_TRY(nay__spill_write(s->fd, (uint64_t)s->nchunks * sizeof s->buffer[0], s->buffer[bucket],
                           sizeof s->buffer[0]));
  s->owner[s->nchunks++] = (uint8_t)bucket;
  s->used[bucket] = 0;
  return NAY_OK;
}

nay_status nay__hash_spill_add(nay_hash_spill *s, uint64_t hash) {
  unsigned bucket = (unsigned)(hash >> 56);
  if (s->used[bucket] == SPILL_CHUNK) NAY_TRY(spill_flush(s, bucket));
  s->buffer[bucket][s->used[bucket]++] = hash;
  s->n++;
  return NAY_OK;
}

uint64_t nay__hash_spill_count(const nay_hash_spill *s) { return s->n; }

nay_status nay__hash_spill_read(const nay_hash_spill *s, uint64_t lo, uint64_t hi,
                                void (*piece)(void *ctx, const uint64_t *hashes, size_t n),
                                void *ctx) {
  unsigned first = (unsigned)(lo >> 56), last = (unsigned)(hi >> 56);
  for (unsigned b = first; b <= last; b++) {
    if (s->used[b] != 0) piece(ctx, s->buffer[b], s->used[b]);
  }
  uint64_t *buffer = s->read_buffer;
  for (size_t i = 0; i < s->nchunks; i++) {
    if (s->owner[i] < first || s->owner[i] > last) continue;
    NAY_TRY(nay__spill_read(s->fd, (uint64_t)i * sizeof s->buffer[0], buffer, sizeof s->buffer[0]));
    piece(ctx, buffer, SPILL_CHUNK);
  }
  return NAY_OK;
}

void nay__hash_spill_free(nay_hash_spill *s) {
  if (s == NULL) return;
  nay__spill_close(s->fd);
  nay_allocator a = s->allocator;
  nay__free(&a, s->owner, s->owner_cap);
  nay__free(&a, s, sizeof *s);
}
#undef SPILL_BUCKETS
#undef SPILL_CHUNK

/* ==== src/format/fmt_nay.c ================================================================== */
/*
 * fmt_nay.c - the native file: encode, parse, decode, view. Files on disk are in native_file.c.
 *
 * Every byte is covered: the header and the directory by their own digests, the body by one digest
 * for each 64 KiB, the gap between directory and body by the rule that padding is zero. The digests
 * form a chain (the directory's covers the header's, and holds those of the body), so that parts of
 * two good files do not make a third. Every flipped bit is noticed before it can make a false nay.
 *
 * The parser believes nothing. It walks header, directory, body in that order, and each part is
 * checked against its digest and against the length that is really there before a number from it
 * is used; nothing is allocated on the word of a header.
 */

/* ==== src/format/fmt_nay.h ================================================================== */
/* fmt_nay.h - the native file in memory: parse and verify without copying. */
#ifndef NAY_FMT_NAY_H
#define NAY_FMT_NAY_H

/* When the chunks are verified. */
typedef enum nay_trust { NAY_VERIFY_ALL, NAY_VERIFY_AT_TOUCH } nay_trust;

/*
 * nay__native_parse: fills *f, which points into bytes (writable only if the caller owns them).
 * With NAY_VERIFY_AT_TOUCH f->lazy is made from f->allocator, which must be set before.
 */
nay_status nay__native_parse(uint8_t *bytes, size_t len, nay_trust trust, nay_diag *diag,
                             nay_filter *f);

/* nay__native_accept: a nay_accept (os/file.h): whether a file of this length may start like this.
 */
nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag);

/* nay__native_length: how long the file is that starts with these 64 bytes, if it may be one. */
nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len);

/* nay__native_handle: an empty filter in which a file can be parsed. */
nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter);

/* nay__native_magic: whether the bytes begin like a native file. */
bool nay__native_magic(const uint8_t *bytes, size_t len);

#endif /* NAY_FMT_NAY_H */

/* ==== src/format/layout.h =================================================================== */
/*
 * layout.h - the native file, as arithmetic: where its parts lie. The spec is doc/formats/nay.md.
 *
 *   0            header, 64 bytes; its last 8 are the XXH3 of the first 56
 *   64           section table, 16 bytes for each section: type u32, flags u32, length u64
 *                chunk digests, 8 bytes for each 64 KiB of the body: XXH3 of the chunk
 *                directory digest, 8 bytes: XXH3 of everything from offset 56 (the digest of the
 *                header) up to here
 *                zeros to the next multiple of 64
 *   body_at      the sections, in table order, each starting at a multiple of 64
 *
 * Lengths are stored, places are computed: there is nothing to overlap or to point outside.
 */
#ifndef NAY_LAYOUT_H
#define NAY_LAYOUT_H

#define NAY_HEADER_LEN 64u
#define NAY_SECTION_ALIGN 64u
#define NAY_SECTION_ENTRY 16u

/* nay__body_at: where the body starts, given the number of sections and the length of the body. */
uint64_t nay__body_at(uint32_t nsections, uint64_t body_len);

/* nay__section_end: where a section that starts at `at` and its padding end, unless it is the last.
 */
uint64_t nay__section_end(uint64_t at, uint64_t len);

#endif /* NAY_LAYOUT_H */

static const uint8_t native_magic[8] = {0x89, 'n', 'a', 'y', '\r', '\n', 0x1a, '\n'};

#define NATIVE_VERSION 1u

/* Header fields. */
enum {
  AT_MAGIC = 0,
  AT_VERSION = 8,
  AT_KIND = 9,
  AT_HASH = 10,
  AT_REQUIRED = 11, /* a flag here that the reader does not know means: do not read */
  AT_OPTIONAL = 12, /* a flag here may be ignored */
  AT_NSECTIONS = 13,
  AT_ZERO = 14, /* u16, zero */
  AT_SEED = 16,
  AT_NKEYS = 24,
  AT_NUNITS = 32,
  AT_K = 40,
  AT_EXTRA = 44,
  AT_BODY_LEN = 48,
  AT_DIGEST = 56,
};

#define NATIVE_OPTIONAL_DERIVED 0x01u

/* Section types and their one flag. */
enum { SECTION_PAYLOAD = 1, SECTION_KEY = 2, SECTION_META = 3 };
#define SECTION_REQUIRED 0x01u

/* Where the directory's digest stands: after the section table and the digests of the chunks. */
static uint64_t native_directory_end(uint32_t nsections, uint64_t body_len) {
  uint64_t nchunks = nay__ceil_div(body_len, NAY_CHUNK);
  return NAY_HEADER_LEN + (uint64_t)nsections * NAY_SECTION_ENTRY + nchunks * 8;
}

uint64_t nay__body_at(uint32_t nsections, uint64_t body_len) {
  return nay__round_up(native_directory_end(nsections, body_len) + 8, NAY_SECTION_ALIGN);
}

uint64_t nay__section_end(uint64_t at, uint64_t len) {
  return nay__round_up(at + len, NAY_SECTION_ALIGN);
}

bool nay__native_magic(const uint8_t *bytes, size_t len) {
  return len >= sizeof native_magic && memcmp(bytes, native_magic, sizeof native_magic) == 0;
}

/* ---- encode ---- */

/* The parts of a file about to be written: small sections first, the payload last. */
#define NATIVE_MAX_PARTS 3u
typedef struct native_parts {
  struct {
    uint32_t type, flags;
    const uint8_t *at;
    size_t len;
  } section[NATIVE_MAX_PARTS];
  uint32_t nsections;
  uint64_t body_len;
} native_parts;

static void native_add_part(native_parts *parts, uint32_t type, uint32_t flags, const uint8_t *at,
                            size_t len) {
  uint32_t i = parts->nsections++;
  assert(i < NATIVE_MAX_PARTS);
  parts->section[i].type = type;
  parts->section[i].flags = flags;
  parts->section[i].at = at;
  parts->section[i].len = len;
  parts->body_len = nay__section_end(parts->body_len, 0) + len;
}

static bool native_stores_key(const nay_filter *f) {
  return f->hasher.kind == NAY_HASH_SIPHASH && !f->hasher.locked && (f->flags & NAY_STORE_KEY) != 0;
}

static native_parts native_split(const nay_filter *f) {
  native_parts parts = {.nsections = 0};
  if (native_stores_key(f)) {
    native_add_part(&parts, SECTION_KEY, SECTION_REQUIRED, f->hasher.key, sizeof f->hasher.key);
  }
  if (f->meta_len != 0) native_add_part(&parts, SECTION_META, 0, f->meta, f->meta_len);
  native_add_part(&parts, SECTION_PAYLOAD, SECTION_REQUIRED, f->bits.bytes, f->nbytes);
  return parts;
}

static void native_put_header(const nay_filter *f, const native_parts *parts,
                              uint8_t header[NAY_HEADER_LEN]) {
  memset(header, 0, NAY_HEADER_LEN);
  memcpy(header, native_magic, sizeof native_magic);
  header[AT_VERSION] = NATIVE_VERSION;
  header[AT_KIND] = (uint8_t)f->family->kind;
  header[AT_HASH] = (uint8_t)f->hasher.kind;
  header[AT_OPTIONAL] = (f->flags & NAY_IS_DERIVED) != 0 ? NATIVE_OPTIONAL_DERIVED : 0;
  header[AT_NSECTIONS] = (uint8_t)parts->nsections;
  nay__store64le(header + AT_SEED, f->hasher.seed);
  nay__store64le(header + AT_NKEYS, f->nkeys);
  nay__store64le(header + AT_NUNITS, f->shape.nunits);
  nay__store32le(header + AT_K, f->shape.k);
  nay__store32le(header + AT_EXTRA, f->shape.extra);
  nay__store64le(header + AT_BODY_LEN, parts->body_len);
  nay__store64le(header + AT_DIGEST, XXH3_64bits(header, AT_DIGEST));
}

/*
 * Two passes over the body, one to digest it and one to write it, because the digests come first.
 * The front of the file is many small pieces (a digest is 8 bytes): they are gathered, so that a
 * sink sees few calls.
 */
typedef struct native_writer {
  nay_sink sink;
  void *ctx;
  XXH3_state_t directory; /* what the directory's digest covers */
  XXH3_state_t chunk;
  uint64_t in_chunk;
  size_t npending;
  uint8_t pending[4096];
} native_writer;

static nay_status native_flush(native_writer *w) {
  size_t len = w->npending;
  w->npending = 0;
  return len != 0 ? w->sink(w->ctx, w->pending, len) : NAY_OK;
}

/* A piece of the front, at most 64 bytes. */
static nay_status native_put(native_writer *w, const void *bytes, size_t len) {
  if (len > sizeof w->pending - w->npending) NAY_TRY(native_flush(w));
  memcpy(w->pending + w->npending, bytes, len);
  w->npending += len;
  return NAY_OK;
}

static nay_status native_put_digest(native_writer *w, const XXH3_state_t *state) {
  uint8_t digest[8];
  nay__store64le(digest, XXH3_64bits_digest(state));
  XXH3_64bits_update(&w->directory, digest, sizeof digest);
  return native_put(w, digest, sizeof digest);
}

/* Adds bytes of the body to its digests: one goes out whenever a chunk is complete. */
static nay_status native_digest_bytes(native_writer *w, const uint8_t *p, size_t len) {
  while (len > 0) {
    size_t room = NAY_CHUNK - (size_t)w->in_chunk, take = len < room ? len : room;
    XXH3_64bits_update(&w->chunk, p, take);
    w->in_chunk += take;
    p += take;
    len -= take;
    if (w->in_chunk < NAY_CHUNK) break;
    NAY_TRY(native_put_digest(w, &w->chunk));
    XXH3_64bits_reset(&w->chunk);
    w->in_chunk = 0;
  }
  return NAY_OK;
}

static nay_status native_write_bytes(native_writer *w, const uint8_t *p, size_t len) {
  return len != 0 ? w->sink(w->ctx, p, len) : NAY_OK;
}

static const uint8_t native_zeros[NAY_SECTION_ALIGN] = {0};

/* Calls `each` for every run of bytes in the body: the sections and the zeros between them. */
static nay_status native_walk_body(const native_parts *parts, native_writer *w,
                                   nay_status (*each)(native_writer *, const uint8_t *, size_t)) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < parts->nsections; i++) {
    size_t pad = (size_t)(nay__section_end(at, 0) - at);
    NAY_TRY(each(w, native_zeros, pad));
    NAY_TRY(each(w, parts->section[i].at, parts->section[i].len));
    at += pad + parts->section[i].len;
  }
  return NAY_OK;
}

static nay_status native_put_directory(const native_parts *parts, native_writer *w) {
  for (uint32_t i = 0; i < parts->nsections; i++) {
    uint8_t entry[NAY_SECTION_ENTRY];
    nay__store32le(entry, parts->section[i].type);
    nay__store32le(entry + 4, parts->section[i].flags);
    nay__store64le(entry + 8, parts->section[i].len);
    XXH3_64bits_update(&w->directory, entry, sizeof entry);
    NAY_TRY(native_put(w, entry, sizeof entry));
  }
  XXH3_64bits_reset(&w->chunk);
  NAY_TRY(native_walk_body(parts, w, native_digest_bytes));
  if (w->in_chunk != 0) NAY_TRY(native_put_digest(w, &w->chunk));
  return native_put_digest(w, &w->directory);
}

/* Everything before the body. */
static nay_status native_write_front(const nay_filter *f, const native_parts *parts,
                                     native_writer *w) {
  uint8_t header[NAY_HEADER_LEN];
  native_put_header(f, parts, header);
  NAY_TRY(native_put(w, header, sizeof header));
  XXH3_64bits_reset(&w->directory);
  XXH3_64bits_update(&w->directory, header + AT_DIGEST, NAY_HEADER_LEN - AT_DIGEST);
  NAY_TRY(native_put_directory(parts, w));
  uint64_t end = native_directory_end(parts->nsections, parts->body_len) + 8;
  size_t pad = (size_t)(nay__body_at(parts->nsections, parts->body_len) - end);
  NAY_TRY(native_put(w, native_zeros, pad));
  return native_flush(w);
}

static nay_status native_write(const nay_filter *f, nay_sink sink, void *ctx) {
  native_parts parts = native_split(f);
  native_writer w = {.sink = sink, .ctx = ctx};
  NAY_TRY(native_write_front(f, &parts, &w));
  return native_walk_body(&parts, &w, native_write_bytes);
}

static bool native_has_file(const nay_filter *f) {
  return f->format == NULL && nay__family_is_native(f->family);
}

/*
 * A filter that other threads may be adding to is copied first: the digests of the first pass would
 * not be those of the bytes that the second one sees.
 */
nay_status nay_filter_encode_stream(const nay_filter *f, nay_sink sink, void *ctx) {
  if (f == NULL || sink == NULL) return NAY_EINVAL;
  if (!native_has_file(f)) return NAY_ENOTSUP;
  NAY_TRY(nay__filter_all_verified(f));
  if ((f->flags & NAY_CONCURRENT) == 0) return native_write(f, sink, ctx);
  nay_filter *still;
  NAY_TRY(nay_filter_copy(f, &f->allocator, &still));
  nay_status status = native_write(still, sink, ctx);
  nay_filter_free(still);
  return status;
}

size_t nay_filter_encoded_size(const nay_filter *f) {
  if (f == NULL || !native_has_file(f)) return 0;
  native_parts parts = native_split(f);
  size_t size;
  uint64_t total = nay__body_at(parts.nsections, parts.body_len) + parts.body_len;
  return nay__size_ok(total, &size) ? size : 0;
}

/* The size is known before the first byte: the sink needs no check of its own. */
static nay_status native_to_buffer(void *ctx, const void *bytes, size_t len) {
  uint8_t **at = ctx;
  memcpy(*at, bytes, len);
  *at += len;
  return NAY_OK;
}

nay_status nay_filter_encode(const nay_filter *f, void *dst, size_t cap, size_t *written) {
  if (f == NULL || dst == NULL || written == NULL) return NAY_EINVAL;
  if (!native_has_file(f)) return NAY_ENOTSUP;
  size_t size = nay_filter_encoded_size(f);
  if (size == 0) return NAY_EFULL; /* more than this machine can address */
  if (cap < size) return NAY_EBUFFER;
  uint8_t *at = dst;
  NAY_TRY(nay_filter_encode_stream(f, native_to_buffer, &at));
  *written = size;
  return NAY_OK;
}

/* A sink that keeps what falls into a range of the file. */
typedef struct native_range {
  uint8_t *dst;
  uint64_t first, end; /* of the range */
  uint64_t at;         /* of the next byte that comes */
} native_range;

static nay_status native_to_range(void *ctx, const void *bytes, size_t len) {
  native_range *r = ctx;
  uint64_t first = nay__max_u64(r->first, r->at), end = nay__min_u64(r->end, r->at + len);
  if (first < end) {
    memcpy(r->dst + (first - r->first), (const uint8_t *)bytes + (first - r->at),
           (size_t)(end - first));
  }
  r->at += len;
  return NAY_OK;
}

nay_status nay_filter_encode_range(const nay_filter *f, uint64_t offset, void *dst, size_t len) {
  if (f == NULL || (dst == NULL && len != 0)) return NAY_EINVAL;
  if (!native_has_file(f) || (f->flags & NAY_CONCURRENT) != 0) return NAY_ENOTSUP;
  size_t size = nay_filter_encoded_size(f);
  if (offset > size || len > size - offset) return NAY_EINVAL;
  if (len == 0) return NAY_OK;
  NAY_TRY(nay__filter_all_verified(f));
  native_parts parts = native_split(f);
  uint64_t body_at = nay__body_at(parts.nsections, parts.body_len);
  native_range range = {dst, offset, offset + len, 0};
  native_writer w = {.sink = native_to_range, .ctx = &range};
  if (offset < body_at) NAY_TRY(native_write_front(f, &parts, &w));
  range.at = body_at;
  return native_walk_body(&parts, &w, native_write_bytes);
}

/* ---- parse ---- */

/* What the header says, once it has been checked. */
typedef struct native_header {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  uint64_t nkeys;
  uint32_t nsections;
  uint32_t flags;
  uint64_t body_len;
  uint64_t payload_len; /* that this shape needs */
} native_header;

static nay_status native_parse_kind(const uint8_t *p, nay_diag *diag, native_header *h) {
  h->family = nay__family_find((nay_kind)p[AT_KIND]);
  if (h->family == NULL) return nay__fail(diag, NAY_EVERSION, "unknown kind of filter", AT_KIND);
  h->shape = (nay_shape){nay__load64le(p + AT_NUNITS), nay__load32le(p + AT_K),
                         nay__load32le(p + AT_EXTRA)};
  uint64_t nbits;
  if (!h->family->payload(&h->shape, &nbits, &h->payload_len)) {
    return nay__fail(diag, NAY_ECORRUPT, "impossible size or number of probes", AT_NUNITS);
  }
  h->hasher = (nay_hasher){.kind = (nay_hash_kind)p[AT_HASH], .seed = nay__load64le(p + AT_SEED)};
  switch (h->hasher.kind) {
    case NAY_HASH_XXH3: h->hasher = nay__hasher_seed(h->hasher.seed); return NAY_OK;
    case NAY_HASH_CALLER: return NAY_OK;
    case NAY_HASH_SIPHASH: h->hasher.locked = true; return NAY_OK;
    default: return nay__fail(diag, NAY_EVERSION, "unknown hash function", AT_HASH);
  }
}

/* What can be said of a header before any of its numbers is used. */
static nay_status native_check_header(const uint8_t *p, size_t len, nay_diag *diag) {
  if (!nay__native_magic(p, len)) {
    return nay__fail(diag, NAY_EFORMAT, "no magic number: not a nay file", 0);
  }
  if (len < NAY_HEADER_LEN) return nay__fail(diag, NAY_ECORRUPT, "shorter than a header", len);
  /* the version first: a later one may put its digest elsewhere */
  if (p[AT_VERSION] != NATIVE_VERSION) {
    return nay__fail(diag, NAY_EVERSION, "unknown version of the file format", AT_VERSION);
  }
  if (XXH3_64bits(p, AT_DIGEST) != nay__load64le(p + AT_DIGEST)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the header is wrong", AT_DIGEST);
  }
  return NAY_OK;
}

/* Reads at most NAY_HEADER_LEN bytes of p; the file has len. */
static nay_status native_parse_header(const uint8_t *p, size_t len, nay_diag *diag,
                                      native_header *h) {
  NAY_TRY(native_check_header(p, len, diag));
  if (p[AT_REQUIRED] != 0) {
    return nay__fail(diag, NAY_EVERSION, "a required flag is not known", AT_REQUIRED);
  }
  if (!nay__all_zero(p + AT_ZERO, 2)) {
    return nay__fail(diag, NAY_ECORRUPT, "a reserved field is not zero", AT_ZERO);
  }
  h->flags = (p[AT_OPTIONAL] & NATIVE_OPTIONAL_DERIVED) != 0 ? NAY_IS_DERIVED : 0;
  h->nsections = p[AT_NSECTIONS];
  h->nkeys = nay__load64le(p + AT_NKEYS);
  if (h->nkeys > NAY_MAX_NKEYS) {
    return nay__fail(diag, NAY_ECORRUPT, "the number of keys is above 2^56", AT_NKEYS);
  }
  h->body_len = nay__load64le(p + AT_BODY_LEN);
  if (h->body_len >= len) { /* before any sum with it */
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than the file", AT_BODY_LEN);
  }
  if (nay__body_at(h->nsections, h->body_len) + h->body_len != len) {
    return nay__fail(diag, NAY_ECORRUPT, "the length of the file is not what its header says", len);
  }
  return native_parse_kind(p, diag, h);
}

nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag) {
  native_header h = {.family = NULL};
  return native_parse_header(start, file_len, diag, &h);
}

nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len) {
  NAY_TRY(native_check_header(start, NAY_HEADER_LEN, diag));
  uint64_t body_len = nay__load64le(start + AT_BODY_LEN);
  /* a payload has 2^60 bits at most; the rest of the body is small, or not of this world */
  bool possible = body_len <= NAY_MAX_NBITS;
  uint64_t total = possible ? nay__body_at(start[AT_NSECTIONS], body_len) + body_len : 0;
  size_t size = 0;
  if (!possible || !nay__size_ok(total, &size)) {
    return nay__fail(diag, NAY_ECORRUPT, "the body is longer than any can be", AT_BODY_LEN);
  }
  NAY_TRY(nay__native_accept(start, size, diag));
  *len = size;
  return NAY_OK;
}

/* The digest covers that of the header, the section table and those of the chunks. */
static nay_status native_check_directory(const uint8_t *p, const native_header *h, nay_diag *diag) {
  size_t end = (size_t)native_directory_end(h->nsections, h->body_len);
  size_t body = (size_t)nay__body_at(h->nsections, h->body_len);
  if (XXH3_64bits(p + AT_DIGEST, end - AT_DIGEST) != nay__load64le(p + end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum of the directory is wrong", end);
  }
  if (!nay__all_zero(p + end + 8, body - end - 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "padding after the directory is not zero", end + 8);
  }
  return NAY_OK;
}

/* One section at its place: remembered, skipped, or a reason to refuse. */
static nay_status native_take_section(uint8_t *at, size_t len, uint32_t type, uint32_t flags,
                                      uint64_t offset, const native_header *h, nay_diag *diag,
                                      nay_filter *f) {
  switch (type) {
    case SECTION_PAYLOAD:
      if (f->bits.bytes != NULL) return nay__fail(diag, NAY_ECORRUPT, "two payloads", offset);
      if (!h->family->self_sized && len != h->payload_len) {
        return nay__fail(diag, NAY_ECORRUPT, "the payload's length does not fit the header",
                         offset);
      }
      nay__filter_attach(f, at, len);
      return NAY_OK;
    case SECTION_KEY:
      if (h->hasher.kind != NAY_HASH_SIPHASH || len != sizeof f->hasher.key || !f->hasher.locked) {
        return nay__fail(diag, NAY_ECORRUPT, "a secret key where none belongs", offset);
      }
      if (nay__hasher_unlock(&f->hasher, at) != NAY_OK) {
        return nay__fail(diag, NAY_ECORRUPT, "the stored key does not fit its check value", offset);
      }
      f->flags |= NAY_STORE_KEY;
      return NAY_OK;
    case SECTION_META:
      if (f->meta != NULL) return nay__fail(diag, NAY_ECORRUPT, "two metadata sections", offset);
      if (len == 0) return nay__fail(diag, NAY_ECORRUPT, "an empty metadata section", offset);
      if (f->lazy != NULL && !nay__lazy_range_ok(f->lazy, at, len)) { /* users see all of it */
        return nay__fail(diag, NAY_ECORRUPT, "the checksum of the metadata is wrong", offset);
      }
      f->meta = at;
      f->meta_len = len;
      return NAY_OK;
    default:
      if ((flags & SECTION_REQUIRED) == 0) return NAY_OK;
      return nay__fail(diag, NAY_EVERSION, "a required section is not known", offset);
  }
}

/* In a lazy map: the chunks in which a section starts or ends are read here, so verify them now. */
static nay_status native_edges_ok(const nay_filter *f, const uint8_t *at, size_t len,
                                  uint64_t offset, nay_diag *diag) {
  if (f->lazy == NULL || len == 0) return NAY_OK;
  bool ok = nay__lazy_ok(f->lazy, at) && nay__lazy_ok(f->lazy, at + len - 1);
  return ok ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, "the checksum of a chunk is wrong", offset);
}

static nay_status native_take_sections(uint8_t *p, size_t len, const native_header *h,
                                       nay_diag *diag, nay_filter *f) {
  uint64_t at = len - h->body_len;
  for (uint32_t i = 0; i < h->nsections; i++) {
    uint64_t entry_at = NAY_HEADER_LEN + (uint64_t)i * NAY_SECTION_ENTRY;
    const uint8_t *entry = p + entry_at;
    uint32_t type = nay__load32le(entry), flags = nay__load32le(entry + 4);
    uint64_t section_len = nay__load64le(entry + 8);
    if ((flags & ~SECTION_REQUIRED) != 0) {
      return nay__fail(diag, NAY_EVERSION, "a section has an unknown flag", entry_at + 4);
    }
    if (section_len > len - at) {
      return nay__fail(diag, NAY_ECORRUPT, "a section is longer than the body", entry_at + 8);
    }
    NAY_TRY(native_edges_ok(f, p + at, (size_t)section_len, at, diag));
    NAY_TRY(native_take_section(p + at, (size_t)section_len, type, flags, at, h, diag, f));
    uint64_t end = at + section_len;
    at = i + 1 < h->nsections ? nay__section_end(at, section_len) : end;
    if (at > len || !nay__all_zero(p + end, (size_t)(at - end))) {
      return nay__fail(diag, NAY_ECORRUPT, "padding after a section is missing or not zero", end);
    }
  }
  if (at != len) return nay__fail(diag, NAY_ECORRUPT, "bytes after the last section", at);
  if (f->bits.bytes == NULL) return nay__fail(diag, NAY_ECORRUPT, "no payload", NAY_HEADER_LEN);
  return NAY_OK;
}

static nay_status native_verify_body(const uint8_t *p, size_t len, const native_header *h,
                                     nay_diag *diag) {
  const uint8_t *digests = p + NAY_HEADER_LEN + h->nsections * NAY_SECTION_ENTRY;
  size_t body = len - (size_t)h->body_len;
  for (size_t at = body; at < len; at += NAY_CHUNK, digests += 8) {
    size_t chunk = len - at < NAY_CHUNK ? len - at : NAY_CHUNK;
    if (XXH3_64bits(p + at, chunk) != nay__load64le(digests)) {
      return nay__fail(diag, NAY_ECORRUPT, "the checksum of a chunk is wrong", at);
    }
  }
  return NAY_OK;
}

static nay_status native_make_lazy(uint8_t *p, size_t len, const native_header *h, nay_diag *diag,
                                   nay_filter *f) {
  size_t nchunks = (size_t)nay__ceil_div(h->body_len, NAY_CHUNK);
  nay_lazy *lazy = nay__alloc(&f->allocator, nay__lazy_size(nchunks));
  if (lazy == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the state of the chunks", 0);
  memset(lazy, 0, nay__lazy_size(nchunks));
  lazy->body = p + len - (size_t)h->body_len;
  lazy->body_len = (size_t)h->body_len;
  lazy->digests = p + NAY_HEADER_LEN + h->nsections * NAY_SECTION_ENTRY;
  lazy->nchunks = nchunks;
  f->lazy = lazy;
  return NAY_OK;
}

/* The invariants of the payload that only its family knows. Offsets count from the file's start. */
static nay_status native_check_payload(const uint8_t *p, const nay_filter *f, nay_diag *diag) {
  if (f->family->check == NULL) return NAY_OK;
  nay_diag inner = {.what = "the payload is not what its family writes"};
  nay_status status = f->family->check(&f->shape, f->bits.bytes, f->nbytes, &inner);
  if (status == NAY_OK) return NAY_OK;
  return nay__fail(diag, status, inner.what, (uint64_t)(f->bits.bytes - p) + inner.offset);
}

nay_status nay__native_parse(uint8_t *p, size_t len, nay_trust trust, nay_diag *diag,
                             nay_filter *f) {
  native_header h = {.family = NULL};
  NAY_TRY(native_parse_header(p, len, diag, &h));
  NAY_TRY(native_check_directory(p, &h, diag));
  f->family = h.family;
  f->shape = h.shape;
  f->hasher = h.hasher;
  f->nkeys = h.nkeys;
  f->flags |= h.flags;
  /* a family that cannot tell what a probe will read has to be verified now */
  bool at_touch = trust == NAY_VERIFY_AT_TOUCH && f->family->touch != NULL;
  NAY_TRY(at_touch ? native_make_lazy(p, len, &h, diag, f) : native_verify_body(p, len, &h, diag));
  NAY_TRY(native_take_sections(p, len, &h, diag, f));
  return native_check_payload(p, f, diag);
}

/* ---- decode and view ---- */

nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter) {
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_filter *f = nay__alloc(&a, sizeof *f);
  if (f == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the filter", 0);
  *f = (nay_filter){.allocator = a, .flags = flags};
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_decode(const void *bytes, size_t len, const nay_allocator *allocator,
                             nay_diag *diag, nay_filter **filter) {
  if (filter == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or filter is NULL", 0);
  }
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  nay_status status = nay_filter_copy(&parsed, allocator, filter);
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, "no memory for the filter", 0);
}

_Static_assert(sizeof(nay_filter) <= sizeof(nay_view), "nay_view is too small for a filter");

nay_status nay_view_open(const void *bytes, size_t len, const uint8_t *key, nay_diag *diag,
                         nay_view *view) {
  if (view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or view is NULL", 0);
  }
  nay_filter parsed = {.flags = NAY_IS_READ_ONLY};
  NAY_TRY(nay__native_parse((uint8_t *)(uintptr_t)bytes, len, NAY_VERIFY_ALL, diag, &parsed));
  if (key != NULL && nay__hasher_unlock(&parsed.hasher, key) != NAY_OK) {
    return nay__fail(diag, NAY_EKEY, "the key does not fit its check value", AT_SEED);
  }
  memcpy(view, &parsed, sizeof parsed);
  return NAY_OK;
}

const nay_filter *nay_view_filter(const nay_view *view) {
  return (const nay_filter *)(const void *)view;
}

/* ---- plan: here, because what a filter costs includes its file ---- */

nay_status nay_params_plan(const nay_params *params, nay_diag *diag, nay_plan *plan) {
  const nay_family *family;
  nay_shape shape;
  nay_hasher hasher;
  if (plan == NULL) return nay__fail(diag, NAY_EINVAL, "plan is NULL", 0);
  NAY_TRY(nay__resolve(params, diag, &family, &shape, &hasher));
  nay_plan p = {.kind = family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  bool key = hasher.kind == NAY_HASH_SIPHASH && (params->flags & NAY_STORE_KEY) != 0;
  uint64_t body = p.nbytes + (key ? NAY_SECTION_ALIGN : 0);
  p.nbytes_file = nay__body_at(key ? 2 : 1, body) + body;
  p.nbytes_build = p.nbytes + NAY_CACHE_LINE + sizeof(nay_filter);
  if (family->shared && (params->flags & NAY_CONCURRENT) != 0) p.nbytes_build += NAY_NSTRIPES;
  if (family->ordered) p.nbytes_build += nay__builder_memory(params->nkeys);
  if (family->build != NULL) p.nbytes_build += nay__sharded_memory(family, &shape, params);
  if (params->nkeys != 0) p.bits_per_key = (double)p.nbits / (double)params->nkeys;
  p.fpr = family->fpr(&shape, params->nkeys);
  p.fpr_limit = p.fpr;
  if (family->foresee != NULL) family->foresee(params, &shape, &p);
  *plan = p;
  return NAY_OK;
}
#undef NATIVE_MAX_PARTS
#undef NATIVE_OPTIONAL_DERIVED
#undef NATIVE_VERSION
#undef SECTION_REQUIRED

/* ==== src/format/native_file.c ============================================================== */
/* native_file.c - native files on disk: save, open, map. */

static nay_status native_produce(const void *object, nay_sink sink, void *ctx) {
  return nay_filter_encode_stream(object, sink, ctx);
}

nay_status nay_filter_save(const nay_filter *f, const char *path, nay_diag *diag) {
  if (f == NULL || path == NULL) return nay__fail(diag, NAY_EINVAL, "filter or path is NULL", 0);
  if (f->format != NULL || !nay__family_is_native(f->family)) {
    return nay__fail(diag, NAY_ENOTSUP, "another system's layout has no native file", 0);
  }
  nay_status status = nay__file_replace(path, native_produce, f, diag);
  if (status == NAY_ECORRUPT) nay__fail(diag, status, "the mapped filter is damaged", 0);
  if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a copy of a shared filter", 0);
  return status;
}

nay_status nay_filter_open(const char *path, const nay_allocator *allocator, nay_diag *diag,
                           nay_filter **filter) {
  if (path == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or filter is NULL", 0);
  }
  nay_filter *f;
  size_t len = 0;
  NAY_TRY(nay__native_handle(allocator, 0, diag, &f));
  nay_status status =
      nay__file_read(path, nay__native_accept, &f->allocator, diag, &f->memory, &len);
  if (status == NAY_OK) status = nay__native_parse(f->memory.at, len, NAY_VERIFY_ALL, diag, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

nay_status nay_filter_map(const char *path, unsigned flags, const nay_allocator *allocator,
                          nay_diag *diag, nay_filter **filter) {
  if (path == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or filter is NULL", 0);
  }
  if ((flags & ~NAY_MAP_LAZY) != 0) return nay__fail(diag, NAY_EINVAL, "unknown flag", 0);
  nay_filter *f;
  NAY_TRY(nay__native_handle(allocator, NAY_IS_READ_ONLY, diag, &f));
  nay_status status = nay__file_map(path, diag, &f->mapping, &f->mapping_len);
  if (status == NAY_OK) {
    f->unmap = nay__file_unmap;
    nay_trust trust = (flags & NAY_MAP_LAZY) != 0 ? NAY_VERIFY_AT_TOUCH : NAY_VERIFY_ALL;
    if (trust == NAY_VERIFY_AT_TOUCH) nay__pages_random(f->mapping, f->mapping_len);
    status = nay__native_parse(f->mapping, f->mapping_len, trust, diag, f);
    if (trust == NAY_VERIFY_ALL) nay__pages_random(f->mapping, f->mapping_len); /* it was read */
    if (f->lazy != NULL) f->lazy->soon = nay__pages_soon;
  }
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  *filter = f;
  return NAY_OK;
}

/* ==== src/format/decoder.c ================================================================== */
/*
 * decoder.c - a native file that arrives in pieces.
 *
 * The bytes are gathered where they will stay: the filter that comes out probes them in place, as
 * one from nay_filter_open does, and there is no second copy of the payload. The length is in the
 * header, which anybody may have written; so the region grows towards it in steps of eight, each
 * taken only when the one before is full. A lie costs eight times what was sent; honest bytes are
 * copied once or not at all, and at most an eighth of them exists twice for a moment.
 */

#define DECODER_FIRST ((size_t)1 << 20) /* taken on the word of the header */
#define DECODER_STEP 8u

struct nay_decoder {
  nay_allocator allocator;
  nay_memory memory;
  size_t len, cap; /* bytes here, and room for them */
  size_t total;    /* 0: not known yet */
};

nay_status nay_decoder_new(const nay_allocator *allocator, nay_decoder **decoder) {
  if (decoder == NULL) return NAY_EINVAL;
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_decoder *d = nay__alloc(&a, sizeof *d);
  if (d == NULL) return NAY_ENOMEM;
  *d = (nay_decoder){.allocator = a};
  *decoder = d;
  return NAY_OK;
}

void nay_decoder_free(nay_decoder *d) {
  if (d == NULL) return;
  nay_allocator a = d->allocator;
  nay__memory_free(&a, &d->memory);
  nay__free(&a, d, sizeof *d);
}

/* The least of total, total / 8, total / 64, ... that has room for `need` and is worth taking. */
static size_t decoder_room(size_t total, size_t need) {
  size_t room = total;
  while (room / DECODER_STEP >= need && room / DECODER_STEP >= DECODER_FIRST) room /= DECODER_STEP;
  return room;
}

static nay_status decoder_reserve(nay_decoder *d, size_t total, size_t need) {
  if (need <= d->cap) return NAY_OK;
  size_t cap = decoder_room(total, need);
  nay_memory fresh;
  NAY_TRY(nay__memory_raw(&d->allocator, cap, &fresh));
  if (d->len != 0) memcpy(fresh.at, d->memory.at, d->len);
  nay__memory_free(&d->allocator, &d->memory);
  d->memory = fresh;
  d->cap = cap;
  return NAY_OK;
}

/* The total, once the bytes here and those that come make up a header. */
static nay_status decoder_length(const nay_decoder *d, const uint8_t *bytes, size_t len,
                                 nay_diag *diag, size_t *total) {
  uint8_t start[NAY_HEADER_LEN];
  *total = d->total;
  if (d->total != 0 || len < NAY_HEADER_LEN - d->len) return NAY_OK;
  if (d->len != 0) memcpy(start, d->memory.at, d->len);
  memcpy(start + d->len, bytes, NAY_HEADER_LEN - d->len);
  return nay__native_length(start, diag, total);
}

nay_status nay_decoder_add(nay_decoder *d, const void *bytes, size_t len, nay_diag *diag) {
  if (d == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "decoder or bytes is NULL", 0);
  }
  if (len == 0) return NAY_OK;
  size_t total;
  NAY_TRY(decoder_length(d, bytes, len, diag, &total));
  size_t most = total != 0 ? total : NAY_HEADER_LEN;
  if (len > most - d->len) {
    return nay__fail(diag, NAY_ECORRUPT, "more bytes than the header says", most);
  }
  if (decoder_reserve(d, most, d->len + len) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for the bytes", d->len);
  }
  memcpy(d->memory.at + d->len, bytes, len);
  d->len += len;
  d->total = total;
  return NAY_OK;
}

const void *nay_decoder_bytes(const nay_decoder *d, size_t *len, uint64_t *total) {
  if (len != NULL) *len = d != NULL ? d->len : 0;
  if (total != NULL) *total = d != NULL ? d->total : 0;
  return d != NULL ? d->memory.at : NULL;
}

nay_status nay_decoder_truncate(nay_decoder *d, size_t len) {
  if (d == NULL || len > d->len) return NAY_EINVAL;
  d->len = len;
  if (len < NAY_HEADER_LEN) d->total = 0;
  return NAY_OK;
}

nay_status nay_decoder_finish(nay_decoder *d, nay_diag *diag, nay_filter **filter) {
  if (d == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "decoder or filter is NULL", 0);
  }
  if (d->total == 0 || d->len != d->total) {
    return nay__fail(diag, NAY_ECORRUPT, "bytes are missing at the end", d->len);
  }
  nay_filter *f;
  NAY_TRY(nay__native_handle(&d->allocator, 0, diag, &f));
  nay_status status = nay__native_parse(d->memory.at, d->len, NAY_VERIFY_ALL, diag, f);
  if (status != NAY_OK) {
    nay_filter_free(f);
    return status;
  }
  f->memory = d->memory;
  *d = (nay_decoder){.allocator = d->allocator};
  *filter = f;
  return NAY_OK;
}
#undef DECODER_FIRST
#undef DECODER_STEP

/* ==== src/format/format_registry.c ========================================================== */
/*
 * format_registry.c - the list of formats, and the public calls over it. Adding a format is a line
 * in the list, a file beside this one, a page in doc/formats/.
 */

/* ==== src/format/format.h =================================================================== */
/*
 * format.h - what a format must know how to do. One file per format, listed in format_registry.c.
 *
 * Another system's layout is a shape and a payload inside some bytes. Its filter is a nay_filter of
 * one of the classic families (classic.h) with that system's hash; only where the payload lies and
 * what stands around it is the format's own.
 */
#ifndef NAY_FORMAT_INTERNAL_H
#define NAY_FORMAT_INTERNAL_H

struct nay_format {
  const char *name;
  const char *about;
  bool has_magic;
  bool has_checksum;
  const nay_family *family; /* NULL: the native format, which has many */
  nay_hash_kind hash;

  /* nkeys and bits per key -> shape; the bits are a whole number unless `rate` is there */
  nay_status (*plan)(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
  /* bits per key -> the rate; takes fractions of a bit, and finds the bits for a wanted rate */
  double (*rate)(double bits_per_key);
  /* layouts that one reader tells apart by the bytes: which of them these are; NULL: this one */
  const nay_format *(*variant)(const nay_format *named, const uint8_t *bytes, size_t len);
  /* bytes -> shape and where the payload lies in them; all checks */
  nay_status (*parse)(const uint8_t *bytes, size_t len, nay_diag *, nay_shape *, nay_span *payload);
  size_t overhead; /* bytes around the payload */
  /* how many bytes encode writes; NULL: payload and overhead */
  size_t (*size)(const nay_filter *);
  void (*encode)(const nay_filter *, uint8_t *dst);

  /* ---- what few layouts need; NULL and false elsewhere ---- */

  /* the hash of a payload, where it is not the same for all; NULL: hash */
  nay_hash_kind (*hash_of)(const uint8_t *payload);
  /* whether bytes start with this layout's magic number */
  bool (*matches)(const uint8_t *bytes, size_t len);
  /*
   * Bytes that have to be unpacked before `parse` can read them, and their way back, instead of
   * encode. With dst NULL both only check and measure. *extra goes into shape.extra.
   */
  nay_status (*unpack)(const uint8_t *bytes, size_t len, nay_diag *, uint8_t *dst, size_t *size,
                       uint32_t *extra);
  nay_status (*pack)(const nay_filter *, uint8_t *dst, size_t *size);
  /* nkeys and a rate -> shape, instead of plan, where a layout is sized by its rate */
  nay_status (*reserve)(uint64_t nkeys, double fpr, nay_diag *, nay_shape *);
  /* a filter of the family in any other such layout can be written in this one as it is */
  bool interchanges;
};

/* nay__format_bits: checks what params ask of a layout; the bits per key that they mean. */
nay_status nay__format_bits(const nay_format *format, const nay_params *params, nay_diag *diag,
                            double *bits_per_key);

/* nay__encode_k_m_bits: | k u32le | m u64le | bits |, the layout of nori12 and the lab. */
void nay__encode_k_m_bits(const nay_filter *f, uint8_t *dst);

extern const nay_format nay__format_leveldb;
extern const nay_format nay__format_minilsm;
extern const nay_format nay__format_nori;
extern const nay_format nay__format_nori12;
extern const nay_format nay__format_lab;
extern const nay_format nay__format_rocksdb_bloom;
extern const nay_format nay__format_rocksdb_legacy;
extern const nay_format nay__format_rocksdb_ribbon;
extern const nay_format nay__format_redisbloom_bf;
extern const nay_format nay__format_redisbloom_cf;
extern const nay_format nay__format_redis_dump_bf;
extern const nay_format nay__format_redis_dump_cf;

#endif /* NAY_FORMAT_INTERNAL_H */

static const nay_format format_native = {
    .name = "nay",
    .about = "the native file: every family, every byte checksummed",
    .has_magic = true,
    .has_checksum = true,
};

static const nay_format *const format_list[] = {
    &format_native,
    &nay__format_leveldb,
    &nay__format_minilsm,
    &nay__format_nori,
    &nay__format_nori12,
    &nay__format_lab,
    &nay__format_rocksdb_bloom,
    &nay__format_rocksdb_ribbon,
    &nay__format_rocksdb_legacy,
    &nay__format_redisbloom_bf,
    &nay__format_redisbloom_cf,
    &nay__format_redis_dump_bf,
    &nay__format_redis_dump_cf,
};

const nay_format *nay_format_at(size_t i) {
  return i < sizeof format_list / sizeof format_list[0] ? format_list[i] : NULL;
}

const nay_format *nay_format_find(const char *name) {
  const nay_format *format;
  for (size_t i = 0; name != NULL && (format = nay_format_at(i)) != NULL; i++) {
    if (strcmp(format->name, name) == 0) return format;
  }
  return NULL;
}

const char *nay_format_name(const nay_format *format) { return format->name; }
const char *nay_format_about(const nay_format *format) { return format->about; }
bool nay_format_has_magic(const nay_format *format) { return format->has_magic; }
bool nay_format_has_checksum(const nay_format *format) { return format->has_checksum; }

const nay_format *nay_format_recognise(const void *bytes, size_t len) {
  if (bytes == NULL) return NULL;
  if (nay__native_magic(bytes, len)) return &format_native;
  const nay_format *format;
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    if (format->matches != NULL && format->matches(bytes, len)) return format;
  }
  return NULL;
}

const nay_format *nay_format_of(const nay_filter *f) {
  return f == NULL ? NULL : f->format != NULL ? f->format : &format_native;
}

/* Fills diag for a call that takes none. */
static nay_status format_told(nay_diag *diag, nay_status status) {
  return status == NAY_OK ? NAY_OK : nay__fail(diag, status, nay_status_text(status), 0);
}

/* ---- making filters in another system's layout ---- */

/* These systems size by bits per key and have one hash: every other wish is refused. */
static const char *format_refused(const nay_format *format, const nay_params *p) {
  if (p->kind != NAY_AUTO && p->kind != format->family->kind) {
    return "kind: this layout is of another family, leave it 0";
  }
  if (p->nbytes != 0) return "nbytes: this layout is sized by bits_per_key or fpr";
  if (p->nbits != 0) return "nbits: this layout is sized by bits_per_key or fpr";
  if (p->k != 0) return "k: this layout takes it from bits_per_key";
  if (p->fold != 0) return "fold: this layout cannot be folded";
  if (p->hash != NAY_HASH_XXH3) return "hash: this layout has one of its own, leave it 0";
  if (p->seed != 0) return "seed: the hash of this layout has none";
  if (p->flags != 0) return "flags: this layout has none";
  if (p->nkeys > NAY_MAX_NKEYS) return "nkeys is above 2^56";
  return NULL;
}

/* The bits per key that reach a rate: tenths where the layout takes them, else whole ones. */
static double format_bits_for(const nay_format *format, double fpr) {
  if (format->rate == NULL) {
    double bits = -nay__ln(fpr) / (NAY_LN2 * NAY_LN2);
    return bits > (double)(uint32_t)bits ? (double)(uint32_t)bits + 1 : bits;
  }
  unsigned tenths = 10;
  while (tenths < 1000 && format->rate(tenths / 10.0) > fpr) tenths++;
  return tenths / 10.0;
}

nay_status nay__format_bits(const nay_format *format, const nay_params *p, nay_diag *diag,
                            double *bits_per_key) {
  const char *refused = p == NULL ? "params is NULL" : format_refused(format, p);
  if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, 0);
  nay_params checked = {.nkeys = 1, .fpr = p->fpr, .bits_per_key = p->bits_per_key};
  nay_sizing by;
  NAY_TRY(nay__params_check(&checked, diag, &by));
  double bits = by == NAY_BY_FPR ? format_bits_for(format, p->fpr) : p->bits_per_key;
  if (by == NAY_BY_FPR && format->rate != NULL && format->rate(bits) > p->fpr) {
    return nay__fail(diag, NAY_EINVAL, "fpr is too low for this layout", 0);
  }
  if (format->rate == NULL && (bits < 1 || bits != (double)(uint32_t)bits)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key must be a whole number in this layout", 0);
  }
  *bits_per_key = bits;
  return NAY_OK;
}

/* For layouts that are sized by a rate: bits per key are those of the first link, at half of it. */
static nay_status format_reserve(const nay_format *format, const nay_params *p, nay_diag *diag,
                                 nay_shape *shape) {
  const char *refused = p == NULL ? "params is NULL" : format_refused(format, p);
  if (refused != NULL) return nay__fail(diag, NAY_EINVAL, refused, 0);
  nay_params checked = {.nkeys = 1, .fpr = p->fpr, .bits_per_key = p->bits_per_key};
  nay_sizing by;
  NAY_TRY(nay__params_check(&checked, diag, &by));
  double fpr = p->fpr;
  if (by != NAY_BY_FPR) fpr = 2 * nay__exp(-p->bits_per_key * NAY_LN2 * NAY_LN2);
  if (!(fpr < 1)) return nay__fail(diag, NAY_EINVAL, "bits_per_key is too low for this layout", 0);
  return format->reserve(nay__max_u64(p->nkeys, 1), fpr, diag, shape);
}

static nay_status format_shape(const nay_format *format, const nay_params *p, nay_diag *diag,
                               nay_shape *shape) {
  double bits_per_key;
  if (format->reserve != NULL) return format_reserve(format, p, diag, shape);
  if (format->plan == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "filters in this layout are read here, not made", 0);
  }
  NAY_TRY(nay__format_bits(format, p, diag, &bits_per_key));
  return format->plan(p->nkeys, bits_per_key, diag, shape);
}

nay_status nay_format_plan(const nay_format *format, const nay_params *params, nay_diag *diag,
                           nay_plan *plan) {
  if (format == NULL || plan == NULL)
    return nay__fail(diag, NAY_EINVAL, "format or plan is NULL", 0);
  if (format->family == NULL) return nay_params_plan(params, diag, plan);
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  nay_plan p = {.kind = format->family->kind, .k = shape.k, .nkeys = params->nkeys};
  if (!format->family->payload(&shape, &p.nbits, &p.nbytes)) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  p.nbytes_file = p.nbytes + format->overhead;
  p.nbytes_build = p.nbytes + sizeof(nay_filter);
  if (params->nkeys != 0) p.bits_per_key = (double)p.nbits / (double)params->nkeys;
  p.fpr = format->family->fpr(&shape, params->nkeys);
  *plan = p;
  return NAY_OK;
}

nay_status nay_format_new(const nay_format *format, const nay_params *params,
                          const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {
  if (format == NULL || filter == NULL) {
    return nay__fail(diag, NAY_EINVAL, "format or filter is NULL", 0);
  }
  if (format->family == NULL) {
    nay_plan plan; /* for its diag */
    NAY_TRY(nay_params_plan(params, diag, &plan));
    return format_told(diag, nay_filter_new(params, allocator, filter));
  }
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  if (format->family->add == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "this layout needs all keys at once: take a builder", 0);
  }
  nay_hasher hasher = {.kind = format->hash};
  nay_filter *f;
  NAY_TRY(format_told(
      diag, nay__filter_make(format->family, &shape, &hasher, params->nkeys, 0, allocator, &f)));
  f->format = format;
  nay__filter_init(f, params);
  *filter = f;
  return NAY_OK;
}

/* The builder learns of the format through a plan that knows it: see builder.h. */
static nay_status format_builder_plan(const struct nay_format *format, const nay_params *params,
                                      uint64_t nkeys, nay_shape *shape) {
  nay_params p = *params;
  p.nkeys = nkeys;
  return format_shape(format, &p, NULL, shape);
}

nay_status nay_format_builder(const nay_format *format, const nay_params *params,
                              const nay_allocator *allocator, nay_diag *diag,
                              nay_builder **builder) {
  if (format == NULL || builder == NULL) {
    return nay__fail(diag, NAY_EINVAL, "format or builder is NULL", 0);
  }
  if (params == NULL) return nay__fail(diag, NAY_EINVAL, "params is NULL", 0);
  if (format->family == NULL) {
    nay_params p = *params;
    if (p.nkeys == 0) p.nkeys = 1; /* it will be counted; the other fields are checked now */
    nay_plan plan;
    NAY_TRY(nay_params_plan(&p, diag, &plan));
    return format_told(diag, nay_builder_new(params, allocator, builder));
  }
  nay_shape shape;
  NAY_TRY(format_shape(format, params, diag, &shape));
  nay_hasher hasher = {.kind = format->hash};
  return format_told(diag, nay__builder_make(format, format->family, params, &hasher,
                                             format_builder_plan, false, allocator, builder));
}

/* ---- bytes ---- */

/*
 * The layout in which the bytes of a filter will be when they are asked for in `format`; NULL when
 * they cannot be. Of variants one reader takes all, so a filter stays in its own.
 */
static const nay_format *format_written(const nay_format *format, const nay_filter *f) {
  const nay_format *own = nay_format_of(f);
  if (own == format || (own->variant != NULL && own->variant == format->variant)) return own;
  bool same = format->interchanges && own->interchanges && own->family == format->family;
  return same ? format : NULL;
}

size_t nay_format_encoded_size(const nay_format *format, const nay_filter *f) {
  size_t packed;
  const nay_format *as = format != NULL && f != NULL ? format_written(format, f) : NULL;
  if (as == NULL) return 0;
  if (as->family == NULL) return nay_filter_encoded_size(f);
  if (as->pack != NULL) return as->pack(f, NULL, &packed) == NAY_OK ? packed : 0;
  return as->size != NULL ? as->size(f) : f->nbytes + as->overhead;
}

nay_status nay_format_encode(const nay_format *format, const nay_filter *f, void *dst, size_t cap,
                             size_t *written) {
  if (format == NULL || f == NULL || dst == NULL || written == NULL) return NAY_EINVAL;
  const nay_format *as = format_written(format, f);
  if (as == NULL) return NAY_EMISMATCH;
  if (as->family == NULL) return nay_filter_encode(f, dst, cap, written);
  size_t size = nay_format_encoded_size(format, f);
  if (as->pack != NULL && size == 0) return NAY_ENOMEM;
  if (cap < size) return NAY_EBUFFER;
  if (as->pack != NULL) return as->pack(f, dst, written);
  as->encode(f, dst);
  *written = size;
  return NAY_OK;
}

/* A read-only filter over the bytes themselves. */
static nay_status format_parse(const nay_format *format, const void *bytes, size_t len,
                               nay_diag *diag, nay_filter *f) {
  if (format->variant != NULL) format = format->variant(format, bytes, len);
  nay_filter parsed = {.family = format->family,
                       .format = format,
                       .flags = NAY_IS_READ_ONLY,
                       .hasher = {.kind = format->hash}};
  nay_span payload;
  NAY_TRY(format->parse(bytes, len, diag, &parsed.shape, &payload));
  if (format->hash_of != NULL) parsed.hasher.kind = format->hash_of(payload.at);
  nay__filter_attach(&parsed, payload.at, payload.len);
  *f = parsed;
  return NAY_OK;
}

/* The same by way of the form that parse reads, in memory for as long as it takes. */
static nay_status format_unpack(const nay_format *format, const void *bytes, size_t len,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_filter **filter) {
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_memory flat;
  nay_filter parsed;
  size_t size;
  uint32_t extra;
  NAY_TRY(format->unpack(bytes, len, diag, NULL, &size, &extra));
  NAY_TRY(format_told(diag, nay__memory_new(&a, size, &flat)));
  nay_status status = format->unpack(bytes, len, diag, flat.at, &size, &extra);
  if (status == NAY_OK) {
    status = format_parse(format, flat.at, size, diag, &parsed);
    if (status != NAY_OK && diag != NULL) diag->offset = 0; /* it is not one of the input */
  }
  if (status == NAY_OK) {
    parsed.shape.extra = extra;
    status = format_told(diag, nay_filter_copy(&parsed, allocator, filter));
  }
  nay__memory_free(&a, &flat);
  return status;
}

nay_status nay_format_decode(const nay_format *format, const void *bytes, size_t len,
                             const nay_allocator *allocator, nay_diag *diag, nay_filter **filter) {
  if (format == NULL || filter == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "format, bytes or filter is NULL", 0);
  }
  if (format->family == NULL) return nay_filter_decode(bytes, len, allocator, diag, filter);
  if (format->unpack != NULL) return format_unpack(format, bytes, len, allocator, diag, filter);
  nay_filter parsed;
  NAY_TRY(format_parse(format, bytes, len, diag, &parsed));
  return format_told(diag, nay_filter_copy(&parsed, allocator, filter));
}

nay_status nay_format_view(const nay_format *format, const void *bytes, size_t len, nay_diag *diag,
                           nay_view *view) {
  if (format == NULL || view == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "format, bytes or view is NULL", 0);
  }
  if (format->family == NULL) return nay_view_open(bytes, len, NULL, diag, view);
  if (format->unpack != NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "packed bytes cannot be probed where they are", 0);
  }
  nay_filter parsed;
  NAY_TRY(format_parse(format, bytes, len, diag, &parsed));
  memcpy(view, &parsed, sizeof parsed);
  return NAY_OK;
}

/* ==== src/format/classic.c ================================================================== */
/*
 * classic.c - see classic.h. Both recipes are double hashing: the k positions of a key lie on a
 * line, so small arrays have more false positives than k independent probes would. Measured at 50
 * keys of 16 bits: 2.5 times as many for LevelDB and nori, whose sums wrap around, 5 times for the
 * lab, whose do not, 18 times for nori12 with its power of two. doc/formats/README.md has more. The
 * recipes are here because files of theirs are.
 */

/* ==== src/format/classic.h ================================================================== */
/*
 * classic.h - the Bloom filters of other systems: k bits of one array, by two old recipes.
 *
 *   rotating   32-bit hash h, delta = h rotated right by 17; bit h % m, h += delta, k times
 *              (LevelDB, mini-lsm). k above 30 or 0 is reserved: such a filter answers maybe.
 *   striding   bits (lo + i * hi mod 2^64) % m for i = 0 .. k-1  (nori, the lab)
 *
 * shape: nunits bits (0: a filter of no keys, which answers nay), k, and in `extra` what the format
 * wants to remember.
 */
#ifndef NAY_CLASSIC_H
#define NAY_CLASSIC_H

extern const nay_family nay__family_rotating;
extern const nay_family nay__family_striding;

#define NAY_CLASSIC_MAX_K \
  255u /* a file that claims more is refused: each probe would cost as much */

/* nay__classic_bits: n * bits_per_key, refused when it leaves the range that can be addressed. */
nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits);

/* nay__classic_add64, nay__classic_test64: one after the other, by the family's own add and test.
 */
nay_status nay__classic_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                              uint64_t *bitmap);
uint64_t nay__classic_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                             unsigned n);

#endif /* NAY_CLASSIC_H */

#define ROTATING_MAX_K 30u

nay_status nay__classic_bits(uint64_t nkeys, double bits_per_key, nay_diag *diag, uint64_t *nbits) {
  uint64_t whole = (uint64_t)bits_per_key;
  if (nkeys > NAY_MAX_NBITS / whole) {
    return nay__fail(diag, NAY_EINVAL, "nkeys times bits_per_key is above 2^60", 0);
  }
  *nbits = nkeys * whole;
  return NAY_OK;
}

static bool classic_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  if (shape->nunits > NAY_MAX_NBITS) return false;
  *nbits = shape->nunits;
  *nbytes = nay__ceil_div(shape->nunits, 8);
  return true;
}

static double classic_fpr(const nay_shape *shape, uint64_t nkeys) {
  return shape->nunits == 0 ? 0 : nay__fpr_bloom(shape->nunits, shape->k, nkeys);
}

static nay_status classic_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, dst->nbytes);
  return NAY_OK;
}

static void classic_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, dst->nbytes);
}

static void classic_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                           nay_census *census) {
  assert(factor == 1); /* no fold */
  (void)factor;
  uint64_t set = b == NULL ? nay__bits_count(a->bits.bytes, a->nbytes)
                           : nay__bits_count_or(a->bits.bytes, b->bits.bytes, a->nbytes);
  nay_census c = {a->shape.nunits, set, 0, 0};
  if (a->shape.nunits != 0) {
    c.fpr = nay__ipow((double)set / (double)a->shape.nunits, a->shape.k);
    if (a->shape.k != 0) c.nkeys = nay__estimate_keys(a->shape.nunits, a->shape.k, set);
  }
  *census = c;
}

/* A filter of no keys has no bit to set, and a reserved k has no meaning to add to. */
static nay_status classic_can_add(const nay_filter *f, uint32_t max_k) {
  if (f->shape.nunits == 0) return NAY_EFULL;
  return f->shape.k == 0 || f->shape.k > max_k ? NAY_ENOTSUP : NAY_OK;
}

/* ---- rotating ---- */

static bool rotating_is_reserved(uint32_t k) { return k == 0 || k > ROTATING_MAX_K; }

static nay_status rotating_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(classic_can_add(f, ROTATING_MAX_K));
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) {
    fresh |= !nay__bit_set(f->bits.bytes, h % f->shape.nunits);
  }
  *is_new = fresh;
  return NAY_OK;
}

static bool rotating_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return false;
  if (rotating_is_reserved(f->shape.k)) return true;
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) {
    if (!nay__bit_get(f->bits.bytes, h % f->shape.nunits)) return false;
  }
  return true;
}

static void rotating_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  classic_census(a, b, factor, census);
  if (a->shape.nunits != 0 && rotating_is_reserved(a->shape.k)) census->fpr = 1;
}

/* ---- striding ---- */

static nay_status striding_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(classic_can_add(f, NAY_CLASSIC_MAX_K));
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, hash.lo += hash.hi) {
    fresh |= !nay__bit_set(f->bits.bytes, hash.lo % f->shape.nunits);
  }
  *is_new = fresh;
  return NAY_OK;
}

static bool striding_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return false;
  for (uint32_t i = 0; i < f->shape.k; i++, hash.lo += hash.hi) {
    if (!nay__bit_get(f->bits.bytes, hash.lo % f->shape.nunits)) return false;
  }
  return true;
}

/* ---- batches: one after the other, through the family's own add and test ---- */

nay_status nay__classic_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                              uint64_t *bitmap) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(f->family->add(f, (nay_hash){lo[i], hi != NULL ? hi[i] : 0}, &is_new));
    word |= (uint64_t)is_new << i;
  }
  *bitmap = word;
  return NAY_OK;
}

uint64_t nay__classic_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                             unsigned n) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    nay_hash hash = {lo[i], hi != NULL ? hi[i] : 0};
    word |= (uint64_t)f->family->test(f, hash) << i;
  }
  return word;
}

const nay_family nay__family_rotating = {
    .kind = NAY_BLOOM,
    .name = "bloom (rotating)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = classic_payload,
    .fpr = classic_fpr,
    .add = rotating_add,
    .test = rotating_test,
    .add64 = nay__classic_add64,
    .test64 = nay__classic_test64,
    .merge = classic_merge,
    .intersect = classic_intersect,
    .census = rotating_census,
};

const nay_family nay__family_striding = {
    .kind = NAY_BLOOM,
    .name = "bloom (striding)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .payload = classic_payload,
    .fpr = classic_fpr,
    .add = striding_add,
    .test = striding_test,
    .add64 = nay__classic_add64,
    .test64 = nay__classic_test64,
    .merge = classic_merge,
    .intersect = classic_intersect,
    .census = classic_census,
};
#undef ROTATING_MAX_K

/* ==== src/format/fmt_leveldb.c ============================================================== */
/*
 * fmt_leveldb.c - the filters of LevelDB's built-in policy, "leveldb.BuiltinBloomFilter2".
 *
 *   | bits, max(64, n * bits_per_key) rounded up to bytes | k u8 |
 *
 * k = trunc(0.69 * bits_per_key) in [1, 30]; larger values are reserved and mean maybe. A filter of
 * fewer than 2 bytes matches nothing, as in LevelDB itself; one of no bytes stands in a filter
 * block wherever a range of the file has no keys. There is no checksum: LevelDB keeps one around
 * the block, and with default options does not look at it.
 */

#define LEVELDB_NO_BYTES 1u /* shape.extra of the filter of no bytes, which has no k either */

static nay_status leveldb_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                               nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = (uint32_t)(bits_per_key * 0.69);
  *shape = (nay_shape){.nunits = nay__round_up(nay__max_u64(64, nbits), 8),
                       .k = k < 1    ? 1
                            : k > 30 ? 30
                                     : k};
  return NAY_OK;
}

static nay_status leveldb_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  (void)diag;                            /* any bytes are a filter */
  size_t array = len == 0 ? 0 : len - 1; /* one byte is k and no bits */
  *shape = len == 0 ? (nay_shape){.extra = LEVELDB_NO_BYTES}
                    : (nay_shape){.nunits = (uint64_t)array * 8, .k = bytes[len - 1]};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, array};
  return NAY_OK;
}

static size_t leveldb_size(const nay_filter *f) {
  return f->shape.extra == LEVELDB_NO_BYTES ? 0 : f->nbytes + 1;
}

static void leveldb_encode(const nay_filter *f, uint8_t *dst) {
  if (f->shape.extra == LEVELDB_NO_BYTES) return;
  if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
  dst[f->nbytes] = (uint8_t)f->shape.k;
}

const nay_format nay__format_leveldb = {
    .name = "leveldb",
    .about = "LevelDB's built-in Bloom policy (leveldb.BuiltinBloomFilter2)",
    .family = &nay__family_rotating,
    .hash = NAY_HASH_LEVELDB,
    .plan = leveldb_plan,
    .parse = leveldb_parse,
    .overhead = 1,
    .size = leveldb_size,
    .encode = leveldb_encode,
};
#undef LEVELDB_NO_BYTES

/* ==== src/format/fmt_minilsm.c ============================================================== */
/*
 * fmt_minilsm.c - the filter block of mini-lsm, as its code stores it.
 *
 *   | bits, max(64, n * bits_per_key) rounded up to bytes | k u8 | CRC-32 u32 big-endian |
 *
 * The checksum covers bits and k. k = trunc(0.69 * bits_per_key) in [1, 30]; above 30 means maybe.
 * mini-lsm reduces by the number of bits modulo 2^32 when it reads and modulo 2^64 when it builds,
 * so filters of 2^32 bits and more do not work there and are refused here.
 */

#define MINILSM_TRAILER 5u

static nay_status minilsm_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                               nay_shape *shape) {
  NAY_TRY(nay__format_leveldb.plan(nkeys, bits_per_key, diag, shape)); /* the same sizes */
  if (shape->nunits > UINT32_MAX) {
    return nay__fail(diag, NAY_EINVAL, "mini-lsm cannot read filters of 2^32 bits or more", 0);
  }
  return NAY_OK;
}

static nay_status minilsm_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  if (len < MINILSM_TRAILER) {
    return nay__fail(diag, NAY_ECORRUPT, "shorter than k and checksum", len);
  }
  size_t array = len - MINILSM_TRAILER;
  if (nay__crc32(bytes, array + 1) != nay__load32be(bytes + array + 1)) {
    return nay__fail(diag, NAY_ECORRUPT, "the CRC-32 is wrong", array + 1);
  }
  if (array == 0) return nay__fail(diag, NAY_ECORRUPT, "no bits", 0);
  if (array > UINT32_MAX / 8) {
    return nay__fail(diag, NAY_ECORRUPT, "2^32 bits or more: mini-lsm cannot read these", 0);
  }
  *shape = (nay_shape){.nunits = (uint64_t)array * 8, .k = bytes[array]};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, array};
  return NAY_OK;
}

static void minilsm_encode(const nay_filter *f, uint8_t *dst) {
  memcpy(dst, f->bits.bytes, f->nbytes);
  dst[f->nbytes] = (uint8_t)f->shape.k;
  nay__store32be(dst + f->nbytes + 1, nay__crc32(dst, f->nbytes + 1));
}

const nay_format nay__format_minilsm = {
    .name = "mini-lsm",
    .about = "the filter block of mini-lsm's SSTables",
    .has_checksum = true,
    .family = &nay__family_rotating,
    .hash = NAY_HASH_FARM32,
    .plan = minilsm_plan,
    .parse = minilsm_parse,
    .overhead = MINILSM_TRAILER,
    .encode = minilsm_encode,
};
#undef MINILSM_TRAILER

/* ==== src/format/fmt_nori.c ================================================================= */
/*
 * fmt_nori.c - nori-sstable's filter, in the form its page documents and in the form its code
 * writes.
 *
 *   nori     | num_bits u64 | k u32 | bits_per_key u32 | bits |    num_bits = n * bits_per_key
 *   nori12   | k u32 | num_bits u64 | bits |                       num_bits rounded up to 2^i
 *
 * Little-endian, bits least significant first. k = ceil(0.693 * bits_per_key), at least 1; the
 * documented form also stops at 30. A power of two makes "& (num_bits - 1)" of "% num_bits", so one
 * family serves both. num_bits 0 is the filter of no keys; nori12 then also allows k = 0, which is
 * what nori writes for an empty table. The reader of nori12 ignores what follows the bits, as the
 * code's does; the documented form ends where its bits end.
 */

#define NORI_HEADER 16u
#define NORI12_HEADER 12u
#define NORI_MAX_K 30u

static uint32_t nori_k(double bits_per_key) {
  double x = 0.693 * bits_per_key;
  uint32_t k = (uint32_t)x;
  if (k < x) k++;
  return k < 1 ? 1 : k;
}

static nay_status nori_check_tail(const nay_shape *shape, const nay_span *payload, uint64_t at,
                                  nay_diag *diag) {
  if (nay__bits_tail_clear(payload->at, payload->len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past num_bits", at + payload->len - 1);
}

/* ---- the documented form ---- */

static nay_status nori_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = nori_k(bits_per_key);
  *shape = (nay_shape){nbits, k > NORI_MAX_K ? NORI_MAX_K : k, (uint32_t)bits_per_key};
  return NAY_OK;
}

static nay_status nori_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                             nay_span *payload) {
  if (len < NORI_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){nay__load64le(bytes), nay__load32le(bytes + 8), nay__load32le(bytes + 12)};
  if (shape->nunits > NAY_MAX_NBITS ||
      nay__ceil_div(shape->nunits, 8) != (uint64_t)len - NORI_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "num_bits does not fit the length", 0);
  }
  if (shape->k < 1 || shape->k > NORI_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 30", 8);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + NORI_HEADER, len - NORI_HEADER};
  return nori_check_tail(shape, payload, NORI_HEADER, diag);
}

static void nori_encode(const nay_filter *f, uint8_t *dst) {
  nay__store64le(dst, f->shape.nunits);
  nay__store32le(dst + 8, f->shape.k);
  nay__store32le(dst + 12, f->shape.extra);
  if (f->nbytes != 0) memcpy(dst + NORI_HEADER, f->bits.bytes, f->nbytes);
}

const nay_format nay__format_nori = {
    .name = "nori",
    .about = "nori-sstable's filter, as its page documents it",
    .family = &nay__family_striding,
    .hash = NAY_HASH_XXH64_PAIR,
    .plan = nori_plan,
    .parse = nori_parse,
    .overhead = NORI_HEADER,
    .encode = nori_encode,
};

/* ---- the form of the code ---- */

static nay_status nori12_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                              nay_shape *shape) {
  uint64_t nbits, rounded = 1;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  while (rounded < nbits) rounded *= 2;
  uint32_t k = nori_k(bits_per_key);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key asks for more than 255 probes", 0);
  }
  *shape = (nay_shape){.nunits = nbits == 0 ? 0 : rounded, .k = k};
  return NAY_OK;
}

static nay_status nori12_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload) {
  if (len < NORI12_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){.nunits = nay__load64le(bytes + 4), .k = nay__load32le(bytes)};
  bool no_probes = shape->k == 0 && shape->nunits != 0;
  if (no_probes || shape->k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 0);
  }
  if ((shape->nunits & (shape->nunits - 1)) != 0) {
    return nay__fail(diag, NAY_ECORRUPT, "num_bits is not a power of two", 4);
  }
  uint64_t need = nay__ceil_div(shape->nunits, 8);
  if (need > (uint64_t)len - NORI12_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "num_bits does not fit the length", 4);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + NORI12_HEADER, (size_t)need};
  return nori_check_tail(shape, payload, NORI12_HEADER, diag);
}

/* Also the layout of the lab, which has another hash. */
void nay__encode_k_m_bits(const nay_filter *f, uint8_t *dst) {
  nay__store32le(dst, f->shape.k);
  nay__store64le(dst + 4, f->shape.nunits);
  if (f->nbytes != 0) memcpy(dst + NORI12_HEADER, f->bits.bytes, f->nbytes);
}

const nay_format nay__format_nori12 = {
    .name = "nori12",
    .about = "nori-sstable's filter, as its code writes it (12-byte header, power of two)",
    .family = &nay__family_striding,
    .hash = NAY_HASH_XXH64_PAIR,
    .plan = nori12_plan,
    .parse = nori12_parse,
    .overhead = NORI12_HEADER,
    .encode = nay__encode_k_m_bits,
};
#undef NORI12_HEADER
#undef NORI_HEADER
#undef NORI_MAX_K

/* ==== src/format/fmt_lab.c ================================================================== */
/*
 * fmt_lab.c - the filter of the Rust / Go / C++ lab: one layout for three languages.
 *
 *   | k u32 | m u64 | bits, ceil(m / 8) bytes |       little-endian, least significant bit first
 *
 * Hash: SplitMix64 (with its golden step) of FNV-1a-64; h1 is the low half, h2 the high half, both
 * widened to 64 bits; probe i is (h1 + i * h2) % m. m = n * bits_per_key, k = round(bits_per_key
 * * ln 2). The lab's page leaves some of this open; doc/formats/lab.md says which reading this is.
 */

#define LAB_HEADER 12u

static nay_status lab_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag, nay_shape *shape) {
  uint64_t nbits;
  NAY_TRY(nay__classic_bits(nkeys, bits_per_key, diag, &nbits));
  uint32_t k = (uint32_t)(bits_per_key * NAY_LN2 + 0.5);
  if (k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key asks for more than 255 probes", 0);
  }
  *shape = (nay_shape){.nunits = nbits, .k = k < 1 ? 1 : k};
  return NAY_OK;
}

static nay_status lab_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                            nay_span *payload) {
  if (len < LAB_HEADER) return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  *shape = (nay_shape){.nunits = nay__load64le(bytes + 4), .k = nay__load32le(bytes)};
  if (shape->k < 1 || shape->k > NAY_CLASSIC_MAX_K) {
    return nay__fail(diag, NAY_ECORRUPT, "k is not between 1 and 255", 0);
  }
  if (shape->nunits > NAY_MAX_NBITS ||
      nay__ceil_div(shape->nunits, 8) != (uint64_t)len - LAB_HEADER) {
    return nay__fail(diag, NAY_ECORRUPT, "m does not fit the length", 4);
  }
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes + LAB_HEADER, len - LAB_HEADER};
  if (nay__bits_tail_clear(payload->at, payload->len, shape->nunits)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "bits are set past m", len - 1);
}

const nay_format nay__format_lab = {
    .name = "lab",
    .about = "the filter of the Rust / Go / C++ lab",
    .family = &nay__family_striding,
    .hash = NAY_HASH_FNV_MIX,
    .plan = lab_plan,
    .parse = lab_parse,
    .overhead = LAB_HEADER,
    .encode = nay__encode_k_m_bits,
};
#undef LAB_HEADER

/* ==== src/format/fmt_rocksdb.c ============================================================== */
/*
 * fmt_rocksdb.c - the filter blocks of RocksDB's block-based tables.
 *
 *   | bits | which u8 | 4 bytes, by layout |
 *
 *   rocksdb-bloom    | lines of 64 bytes | ff | 00 | probes u8 | 00 00 |        FastLocalBloom
 *   rocksdb-ribbon   | segments of 16 bytes | fe | seed u8 | blocks u24 |       Standard128Ribbon
 *   rocksdb-legacy   | lines of 64 bytes | probes u8 | lines u32 |              until format 4
 *
 * Five bytes or fewer hold no key and answer nay. `which` 0, and every value that RocksDB reserves,
 * answers maybe; six zero bytes are what writers put for that. Nothing here is checked by a sum:
 * RocksDB keeps one around each block of a table.
 */

/* ==== src/format/rocksdb.h ================================================================== */
/*
 * rocksdb.h - what the layouts of RocksDB's filter blocks share.
 *
 * A block is some bits and five bytes after them, whose first tells which of three layouts it is.
 * RocksDB's reader goes by these bytes alone, so each of the three names reads all of them. Here
 * the payload of a filter is the whole block, the five bytes included: writing is copying, and odd
 * blocks stay what they are.
 *
 * shape: nunits is 0 for a block of no keys, which answers nay; `extra` has NAY_ROCKSDB_MAYBE for
 * one whose bytes are reserved, which answers maybe.
 */
#ifndef NAY_ROCKSDB_H
#define NAY_ROCKSDB_H

#define NAY_ROCKSDB_TRAILER 5u
#define NAY_ROCKSDB_BLOOM 0xffu  /* first byte of the trailer */
#define NAY_ROCKSDB_RIBBON 0xfeu /* 1 to 127: legacy, and the number of probes; others: maybe */
#define NAY_ROCKSDB_MAYBE 0x80000000u

extern const nay_family nay__family_rocksdb_bloom;
extern const nay_family nay__family_rocksdb_legacy;
extern const nay_family nay__family_rocksdb_ribbon;

/* nay__rocksdb_check_bits: RocksDB takes 0.5 to 100 bits, and makes 1 of what is below that. */
nay_status nay__rocksdb_check_bits(double *bits_per_key, nay_diag *diag);

/* nay__rocksdb_probes: how many RocksDB takes for so many thousandths of a bit per key. */
uint32_t nay__rocksdb_probes(uint32_t millibits);

/* bits per key -> thousandths, as RocksDB rounds them */
uint32_t nay__rocksdb_millibits(double bits_per_key);

/* The sizes that RocksDB gives n keys. */
nay_status nay__rocksdb_bloom_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
nay_status nay__rocksdb_legacy_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);
nay_status nay__rocksdb_ribbon_plan(uint64_t nkeys, double bits_per_key, nay_diag *, nay_shape *);

/* The expected rate at so many bits per key, for a large set. */
double nay__rocksdb_bloom_rate(double bits_per_key);
double nay__rocksdb_ribbon_rate(double bits_per_key);

/* A block of len > 5 bytes whose trailer says that it is one -> its shape. */
nay_shape nay__rocksdb_bloom_shape(const uint8_t *bytes, size_t len);
nay_shape nay__rocksdb_legacy_shape(const uint8_t *bytes, size_t len);
nay_shape nay__rocksdb_ribbon_shape(const uint8_t *bytes, size_t len);

#endif /* NAY_ROCKSDB_H */

nay_status nay__rocksdb_check_bits(double *bits_per_key, nay_diag *diag) {
  if (!(*bits_per_key >= 0.5 && *bits_per_key <= 100)) {
    return nay__fail(diag, NAY_EINVAL, "bits_per_key is not between 0.5 and 100, RocksDB's range",
                     0);
  }
  if (*bits_per_key < 1) *bits_per_key = 1;
  return NAY_OK;
}

uint32_t nay__rocksdb_millibits(double bits_per_key) {
  return (uint32_t)(bits_per_key * 1000 + 0.500001); /* the nudge is RocksDB's */
}

uint32_t nay__rocksdb_probes(uint32_t millibits) {
  static const uint32_t most[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                  11720, 14001, 16050, 18300, 22001, 25501};
  if (millibits > 50000) return 24;
  for (uint32_t k = 1; k <= sizeof most / sizeof most[0]; k++) {
    if (millibits <= most[k - 1]) return k;
  }
  return (millibits - 1) / 2000 - 1;
}

/* Which layout a block is in. One that holds nothing or means nothing is in the one it is named. */
static const nay_format *rocksdb_variant(const nay_format *named, const uint8_t *bytes,
                                         size_t len) {
  if (len <= NAY_ROCKSDB_TRAILER) return named;
  uint8_t which = bytes[len - NAY_ROCKSDB_TRAILER];
  if (which == NAY_ROCKSDB_BLOOM) return &nay__format_rocksdb_bloom;
  if (which == NAY_ROCKSDB_RIBBON) return &nay__format_rocksdb_ribbon;
  return which >= 1 && which <= 127 ? &nay__format_rocksdb_legacy : named;
}

/* Any bytes are a filter. */
static nay_status rocksdb_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  (void)diag;
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  *shape = (nay_shape){.nunits = 0};
  if (len <= NAY_ROCKSDB_TRAILER) return NAY_OK;
  uint8_t which = bytes[len - NAY_ROCKSDB_TRAILER];
  if (which == NAY_ROCKSDB_BLOOM) {
    *shape = nay__rocksdb_bloom_shape(bytes, len);
  } else if (which == NAY_ROCKSDB_RIBBON) {
    *shape = nay__rocksdb_ribbon_shape(bytes, len);
  } else if (which >= 1 && which <= 127) {
    *shape = nay__rocksdb_legacy_shape(bytes, len);
  } else {
    shape->extra = NAY_ROCKSDB_MAYBE;
  }
  return NAY_OK;
}

static size_t rocksdb_size(const nay_filter *f) { return f->nbytes; }

static void rocksdb_encode(const nay_filter *f, uint8_t *dst) {
  if (f->nbytes != 0) memcpy(dst, f->bits.bytes, f->nbytes);
}

const nay_format nay__format_rocksdb_bloom = {
    .name = "rocksdb-bloom",
    .about = "RocksDB's Bloom filter since format 5 (FastLocalBloom)",
    .family = &nay__family_rocksdb_bloom,
    .hash = NAY_HASH_XXPH3,
    .plan = nay__rocksdb_bloom_plan,
    .rate = nay__rocksdb_bloom_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};

const nay_format nay__format_rocksdb_legacy = {
    .name = "rocksdb-legacy",
    .about = "RocksDB's Bloom filter until format 4",
    .family = &nay__family_rocksdb_legacy,
    .hash = NAY_HASH_LEVELDB_S8,
    .plan = nay__rocksdb_legacy_plan,
    .rate = nay__rocksdb_bloom_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};

const nay_format nay__format_rocksdb_ribbon = {
    .name = "rocksdb-ribbon",
    .about = "RocksDB's ribbon filter (Standard128Ribbon)",
    .family = &nay__family_rocksdb_ribbon,
    .hash = NAY_HASH_XXPH3,
    .plan = nay__rocksdb_ribbon_plan,
    .rate = nay__rocksdb_ribbon_rate,
    .variant = rocksdb_variant,
    .parse = rocksdb_parse,
    .size = rocksdb_size,
    .encode = rocksdb_encode,
};

/* ==== src/format/rocksdb_bloom.c ============================================================ */
/*
 * rocksdb_bloom.c - RocksDB's two Bloom filters, which both keep the bits of a key in one line.
 *
 *   FastLocalBloom   line (lo32(h) * lines) >> 32; bit i is (hi32(h) * g^i mod 2^32) >> 23 of 512,
 *                    g = 0x9e3779b9: inside the line that is our own blocked filter, and its
 *                    kernels are used, one line at a time
 *   legacy           line h % lines, h 32 bits wide; bits h, h + d, h + 2d ... modulo the bits of
 *                    the line, d = h rotated right by 17
 *
 * The legacy pattern is an arithmetic progression modulo 512, so its rate is above that of a
 * blocked filter, which is the rate stated here: at 10 bits per key 1.1 % and not 0.9 %. Lines of
 * other lengths than 64 bytes come from machines with other cache lines; they are read, not made.
 *
 * shape: nunits is the number of lines, k the probes, `extra` the binary logarithm of a line's
 * bytes.
 */

#define LOCAL_LINE_LOG2 6u
#define LOCAL_MAX_BYTES 0xffffffc0u /* where RocksDB stops to make filters larger */
#define LEGACY_MAX_BITS 0xffff0000u
#define LOCAL_MAX_PROBES 30u

static uint32_t rocksdb_local_line_log2(const nay_shape *shape) {
  return shape->extra & ~NAY_ROCKSDB_MAYBE;
}

/* ---- sizes ---- */

nay_status nay__rocksdb_bloom_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                   nay_shape *shape) {
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  uint32_t millibits = nay__rocksdb_millibits(bits_per_key);
  if (nkeys > (uint64_t)LOCAL_MAX_BYTES * 8000 / millibits) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: RocksDB's filters end at 4 GiB", 0);
  }
  uint64_t nbytes = nay__ceil_div(nkeys * millibits, 8000);
  *shape = (nay_shape){nay__ceil_div(nbytes, 64), nay__rocksdb_probes(millibits), LOCAL_LINE_LOG2};
  return NAY_OK;
}

nay_status nay__rocksdb_legacy_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                    nay_shape *shape) {
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  uint32_t whole = (nay__rocksdb_millibits(bits_per_key) + 500) / 1000;
  if (nkeys > LEGACY_MAX_BITS / whole) {
    return nay__fail(diag, NAY_EINVAL, "nkeys: legacy filters end at 512 MiB", 0);
  }
  uint32_t k = (uint32_t)(whole * 0.69);
  k = k < 1 ? 1 : k > LOCAL_MAX_PROBES ? LOCAL_MAX_PROBES : k;
  uint64_t lines = nay__ceil_div(nkeys * whole, NAY_BLOCK_BITS);
  *shape = (nay_shape){lines != 0 ? lines | 1 : 0, k, LOCAL_LINE_LOG2};
  return NAY_OK;
}

/* 4096 lines: as good as any number. */
double nay__rocksdb_bloom_rate(double bits_per_key) {
  const uint64_t lines = 4096;
  uint64_t nkeys = (uint64_t)((double)(lines * NAY_BLOCK_BITS) / bits_per_key);
  uint32_t k = nay__rocksdb_probes(nay__rocksdb_millibits(bits_per_key));
  return nay__fpr_blocked(lines, k, nkeys);
}

static bool rocksdb_local_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  uint64_t nbits_of_lines = shape->nunits << (rocksdb_local_line_log2(shape) + 3);
  *nbits = nbits_of_lines;
  *nbytes = nbits_of_lines / 8 + NAY_ROCKSDB_TRAILER;
  return true;
}

static double rocksdb_local_fpr(const nay_shape *shape, uint64_t nkeys) {
  if (shape->nunits == 0) return (shape->extra & NAY_ROCKSDB_MAYBE) != 0;
  uint32_t log2 = rocksdb_local_line_log2(shape);
  if (log2 == LOCAL_LINE_LOG2) return nay__fpr_blocked(shape->nunits, shape->k, nkeys);
  return nay__fpr_bloom(shape->nunits << (log2 + 3), shape->k, nkeys);
}

/* ---- trailers ---- */

nay_shape nay__rocksdb_bloom_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t lines = (uint64_t)(len - NAY_ROCKSDB_TRAILER) >> LOCAL_LINE_LOG2;
  uint32_t k = trailer[2] & 31, line_log2 = trailer[2] >> 5; /* above 6: only 0 has a meaning */
  bool known = trailer[1] == 0 && line_log2 == 0 && k >= 1 && k <= LOCAL_MAX_PROBES &&
               nay__load16le(trailer + 3) == 0 && lines != 0 && lines <= UINT32_MAX;
  return known ? (nay_shape){lines, k, LOCAL_LINE_LOG2} : (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
}

nay_shape nay__rocksdb_legacy_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t array = len - NAY_ROCKSDB_TRAILER, lines = nay__load32le(trailer + 1);
  uint32_t log2 = 0;
  while (lines != 0 && log2 < 32 && lines << log2 < array) log2++;
  bool known = lines != 0 && lines << log2 == array && log2 < 29; /* a bit number has 32 bits */
  if (!known) return (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
  return (nay_shape){lines, trailer[0], log2};
}

static void rocksdb_bloom_init(nay_filter *f, const nay_params *params) {
  (void)params;
  uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
  trailer[0] = NAY_ROCKSDB_BLOOM;
  trailer[2] = (uint8_t)f->shape.k;
}

static void rocksdb_legacy_init(nay_filter *f, const nay_params *params) {
  (void)params;
  uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
  trailer[0] = (uint8_t)f->shape.k;
  nay__store32le(trailer + 1, (uint32_t)f->shape.nunits);
}

/* ---- what both do with their bits ---- */

/* A block of no keys has no bit to set, and one whose bytes are reserved no meaning to add to. */
static nay_status rocksdb_local_can_add(const nay_filter *f) {
  if (f->shape.nunits != 0) return NAY_OK;
  return (f->shape.extra & NAY_ROCKSDB_MAYBE) != 0 ? NAY_ENOTSUP : NAY_EFULL;
}

static bool rocksdb_local_without_lines(const nay_filter *f) {
  return (f->shape.extra & NAY_ROCKSDB_MAYBE) != 0;
}

static size_t rocksdb_local_nbytes(const nay_filter *f) {
  return f->shape.nunits == 0 ? 0 : (size_t)f->shape.nunits << rocksdb_local_line_log2(&f->shape);
}

static nay_status rocksdb_local_clear(nay_filter *f) {
  if (f->shape.nunits != 0) memset(f->bits.bytes, 0, rocksdb_local_nbytes(f));
  return NAY_OK;
}

static nay_status rocksdb_local_merge(nay_filter *dst, const nay_filter *src) {
  nay__bits_or(dst->bits.bytes, src->bits.bytes, rocksdb_local_nbytes(dst));
  return NAY_OK;
}

static void rocksdb_local_intersect(nay_filter *dst, const nay_filter *src) {
  nay__bits_and(dst->bits.bytes, src->bits.bytes, rocksdb_local_nbytes(dst));
}

/* The rate of the lines as they are: the mean over lines of fill^k. */
static double rocksdb_local_rate(const nay_filter *a, const nay_filter *b) {
  size_t line = (size_t)1 << rocksdb_local_line_log2(&a->shape);
  double sum = 0;
  for (uint64_t i = 0; i < a->shape.nunits; i++) {
    const uint8_t *at = a->bits.bytes + i * line;
    uint64_t set = b == NULL ? nay__bits_count(at, line)
                             : nay__bits_count_or(at, b->bits.bytes + i * line, line);
    sum += nay__ipow((double)set / (double)(line * 8), a->shape.k);
  }
  return sum / (double)a->shape.nunits;
}

static void rocksdb_local_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                                 nay_census *census) {
  assert(factor == 1); /* no fold */
  (void)factor;
  size_t nbytes = rocksdb_local_nbytes(a);
  nay_census c = {(uint64_t)nbytes * 8, 0, 0, rocksdb_local_fpr(&a->shape, 0)};
  if (nbytes != 0) {
    c.nbits_set = b == NULL ? nay__bits_count(a->bits.bytes, nbytes)
                            : nay__bits_count_or(a->bits.bytes, b->bits.bytes, nbytes);
    c.nkeys = nay__estimate_keys(c.nbits, a->shape.k, c.nbits_set);
    c.fpr = rocksdb_local_rate(a, b);
  }
  *census = c;
}

/* ---- FastLocalBloom ---- */

/* One line as the kernels of the blocked family see it: a filter of a single block. */
static nay_bits rocksdb_bloom_line(const nay_filter *f, uint64_t h) {
  uint64_t line = (uint64_t)(uint32_t)h * f->shape.nunits >> 32;
  return (nay_bits){.bytes = f->bits.bytes + (line << LOCAL_LINE_LOG2),
                    .nunits = 1,
                    .k = f->shape.k,
                    .in_cache = true};
}

static nay_status rocksdb_bloom_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(rocksdb_local_can_add(f));
  nay_bits line = rocksdb_bloom_line(f, hash.lo);
  *is_new = f->kernels->blocked_add(&line, hash.lo >> 32);
  return NAY_OK;
}

static bool rocksdb_bloom_test(const nay_filter *f, nay_hash hash) {
  if (NAY_UNLIKELY(f->shape.nunits == 0)) return rocksdb_local_without_lines(f);
  nay_bits line = rocksdb_bloom_line(f, hash.lo);
  return f->kernels->blocked_test(&line, hash.lo >> 32);
}

static nay_status rocksdb_bloom_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      unsigned n, uint64_t *bitmap) {
  (void)hi;
  NAY_TRY(rocksdb_local_can_add(f));
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    nay_bits line = rocksdb_bloom_line(f, lo[i]);
    word |= (uint64_t)f->kernels->blocked_add(&line, lo[i] >> 32) << i;
  }
  *bitmap = word;
  return NAY_OK;
}

static uint64_t rocksdb_bloom_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n) {
  (void)hi;
  uint64_t word = 0, all = n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
  if (NAY_UNLIKELY(f->shape.nunits == 0)) return rocksdb_local_without_lines(f) ? all : 0;
  for (unsigned i = 0; i < n; i++) {
    nay_bits line = rocksdb_bloom_line(f, lo[i]);
    word |= (uint64_t)f->kernels->blocked_test(&line, lo[i] >> 32) << i;
  }
  return word;
}

static void rocksdb_bloom_prefetch64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     unsigned n) {
  (void)hi;
  for (unsigned i = 0; i < n && f->shape.nunits != 0; i++)
    NAY_PREFETCH(rocksdb_bloom_line(f, lo[i]).bytes);
}

/* ---- legacy ---- */

static uint8_t *rocksdb_legacy_line(const nay_filter *f, uint32_t h) {
  return f->bits.bytes + ((size_t)(h % f->shape.nunits) << rocksdb_local_line_log2(&f->shape));
}

static nay_status rocksdb_legacy_add(nay_filter *f, nay_hash hash, bool *is_new) {
  NAY_TRY(rocksdb_local_can_add(f));
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  uint32_t mask = (8u << rocksdb_local_line_log2(&f->shape)) - 1;
  uint8_t *line = rocksdb_legacy_line(f, h);
  bool fresh = false;
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) fresh |= !nay__bit_set(line, h & mask);
  *is_new = fresh;
  return NAY_OK;
}

static bool rocksdb_legacy_test(const nay_filter *f, nay_hash hash) {
  if (f->shape.nunits == 0) return rocksdb_local_without_lines(f);
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  uint32_t mask = (8u << rocksdb_local_line_log2(&f->shape)) - 1;
  const uint8_t *line = rocksdb_legacy_line(f, h);
  for (uint32_t i = 0; i < f->shape.k; i++, h += delta) {
    if (!nay__bit_get(line, h & mask)) return false;
  }
  return true;
}

const nay_family nay__family_rocksdb_bloom = {
    .kind = NAY_BLOCKED,
    .name = "blocked (RocksDB)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .skips_repeats = true,
    .payload = rocksdb_local_payload,
    .fpr = rocksdb_local_fpr,
    .init = rocksdb_bloom_init,
    .clear = rocksdb_local_clear,
    .add = rocksdb_bloom_add,
    .test = rocksdb_bloom_test,
    .add64 = rocksdb_bloom_add64,
    .test64 = rocksdb_bloom_test64,
    .prefetch64 = rocksdb_bloom_prefetch64,
    .merge = rocksdb_local_merge,
    .intersect = rocksdb_local_intersect,
    .census = rocksdb_local_census,
};

const nay_family nay__family_rocksdb_legacy = {
    .kind = NAY_BLOCKED,
    .name = "blocked (RocksDB, legacy)",
    .traits = NAY_CAN_ADD | NAY_CAN_MERGE | NAY_CAN_INTERSECT,
    .skips_repeats = true,
    .payload = rocksdb_local_payload,
    .fpr = rocksdb_local_fpr,
    .init = rocksdb_legacy_init,
    .clear = rocksdb_local_clear,
    .add = rocksdb_legacy_add,
    .test = rocksdb_legacy_test,
    .add64 = nay__classic_add64,
    .test64 = nay__classic_test64,
    .merge = rocksdb_local_merge,
    .intersect = rocksdb_local_intersect,
    .census = rocksdb_local_census,
};
#undef LEGACY_MAX_BITS
#undef LOCAL_LINE_LOG2
#undef LOCAL_MAX_BYTES
#undef LOCAL_MAX_PROBES

/* ==== src/format/rocksdb_ribbon.c =========================================================== */
/*
 * rocksdb_ribbon.c - RocksDB's ribbon filter (Standard128Ribbon): probing it, and making the bytes
 * that RocksDB would make.
 *
 *   | block 0 | block 1 | ... | block B-1 | fe | seed u8 | B u24 |
 *
 * A block is 128 slots, stored by columns of 16 bytes, as in our own ribbon family (ribbon.h): the
 * first `lower` blocks have a column less than the others. A key is an equation over the 128 slots
 * from `start` on, for each column: the xor of those that its coefficients choose is its result.
 *
 * What RocksDB makes depends on the order of the keys in one thing: the first hash draws the first
 * seed and rounds the size. A small set becomes a Bloom filter when that has fewer bytes, and so
 * does one for which no seed works. Which rows of the band are taken does not depend on the order,
 * nor does the solution, so any order of elimination gives RocksDB's bytes.
 *
 * shape: nunits segments, k columns of the wider blocks, `extra` the number of blocks. A plan, made
 * before the first hash is known, may be a block off, and says RIBBON_AS_BLOOM for a small set.
 *
 * Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and xor. 2021.
 */

#define RIBBON_WIDTH 128u
#define RIBBON_SEGMENT 16u
#define RIBBON_MAX_COLUMNS 32u
#define RIBBON_MAX_KEYS 950000000u /* more are a Bloom filter */
#define RIBBON_SMALL_SLOTS 1024u   /* fewer may be one */
#define RIBBON_SEEDS 256u
#define RIBBON_AS_BLOOM 0x40000000u
#define RIBBON_AHEAD 12u /* equations whose rows are fetched before their turn */

/* ---- sizes: RocksDB's, in its order of operations ---- */

/* The most keys that 2^l slots take, so that one seed in twenty fails. Measured by RocksDB. */
static double rocksdb_ribbon_keys_of(unsigned l) {
  static const double keys[] = {248.851, 499.532, 1001.26, 2003.97, 4005.59,
                                8000.39, 15966.6, 31828.1, 63447.3, 126506};
  if (l < 8) return 0;
  if (l < 18) return keys[l - 8];
  return (double)((uint64_t)1 << l) / (131072 / keys[9] - 17 * 0.0038 + l * 0.0038);
}

static double rocksdb_ribbon_slots_of(double nkeys) {
  unsigned l = (unsigned)(nay__ln(nkeys) * 1.4426950409 + 0.5);
  if (l == 0 || rocksdb_ribbon_keys_of(l) == 0) return 256;
  if (nkeys < rocksdb_ribbon_keys_of(l)) l--;
  double low = rocksdb_ribbon_keys_of(l), high = rocksdb_ribbon_keys_of(l + 1),
         power = (double)((uint64_t)1 << l);
  return (nkeys - low) / (high - low) * power + power;
}

static uint64_t rocksdb_ribbon_blocks_of(uint64_t nkeys) {
  uint64_t slots = (uint64_t)(rocksdb_ribbon_slots_of((double)nkeys) + 0.999999999);
  return nay__max_u64(2, nay__ceil_div(slots, RIBBON_WIDTH));
}

/* The rate of a cache-local Bloom filter by RocksDB's estimate: a line with a deviation more and
 * one with a deviation less than the mean number of keys. A ribbon is made to have it, too. */
double nay__rocksdb_ribbon_rate(double bits_per_key) {
  uint32_t k = nay__rocksdb_probes(nay__rocksdb_millibits(bits_per_key));
  double keys = 512 / bits_per_key, deviation = nay__sqrt(keys), sum = 0;
  for (int sign = 1; sign >= -1; sign -= 2) {
    double bits = 512 / (keys + sign * deviation);
    sum += nay__ipow(1 - nay__exp(-(double)k / bits), k);
  }
  return sum / 2;
}

typedef struct rocksdb_ribbon_size {
  uint64_t nblocks, nsegments;
} rocksdb_ribbon_size;

/* Segments for a rate between 2^-(c+1) and 2^-c: some blocks get c columns, the others c + 1. */
static rocksdb_ribbon_size rocksdb_ribbon_size_of(uint64_t nkeys, double bits_per_key,
                                                  uint64_t first_hash) {
  rocksdb_ribbon_size size = {.nblocks = rocksdb_ribbon_blocks_of(nkeys)};
  double one_in = 1 / nay__rocksdb_ribbon_rate(bits_per_key);
  if (one_in > 4294967295.0) { /* all 32 columns */
    size.nsegments = size.nblocks * RIBBON_MAX_COLUMNS;
    return size;
  }
  unsigned c = 0;
  while (c < 31 && (uint64_t)one_in >> (c + 1) != 0) c++;
  double upper = 1.0 / (double)((uint64_t)1 << c), lower = upper / 2;
  double share = (1 / one_in - lower) / (upper - lower);
  double starts = (double)(size.nblocks * RIBBON_WIDTH - (RIBBON_WIDTH - 1));
  double rounding = ((double)(first_hash >> 32) + 0.5) / 4294967296.0;
  uint64_t short_blocks = (uint64_t)((share * starts + rounding) / RIBBON_WIDTH);
  size.nsegments = size.nblocks * (c + 1) - nay__min_u64(short_blocks, size.nblocks);
  return size;
}

/* Whether RocksDB makes a Bloom filter of so many keys; its shape then. */
static bool rocksdb_ribbon_is_bloom(uint64_t nkeys, double bits_per_key,
                                    const rocksdb_ribbon_size *size, nay_shape *bloom) {
  bool many = nkeys > RIBBON_MAX_KEYS;
  bool small = size->nblocks * RIBBON_WIDTH < RIBBON_SMALL_SLOTS;
  if (!many && !small) return false;
  if (nay__rocksdb_bloom_plan(nkeys, bits_per_key, NULL, bloom) != NAY_OK) return false;
  return many || bloom->nunits * 64 < size->nsegments * RIBBON_SEGMENT;
}

static nay_shape rocksdb_ribbon_shape_of(const rocksdb_ribbon_size *size) {
  uint32_t columns = (uint32_t)nay__ceil_div(size->nsegments, size->nblocks);
  return (nay_shape){size->nsegments, columns, (uint32_t)size->nblocks};
}

nay_status nay__rocksdb_ribbon_plan(uint64_t nkeys, double bits_per_key, nay_diag *diag,
                                    nay_shape *shape) {
  nay_shape planned;
  NAY_TRY(nay__rocksdb_bloom_plan(nkeys, bits_per_key, diag, &planned)); /* the same limits */
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, diag));
  if (nkeys == 0) {
    planned = (nay_shape){.nunits = 0};
  } else {
    rocksdb_ribbon_size size = rocksdb_ribbon_size_of(nay__min_u64(nkeys, RIBBON_MAX_KEYS),
                                                      bits_per_key, (uint64_t)1 << 63);
    if (rocksdb_ribbon_is_bloom(nkeys, bits_per_key, &size, &planned)) {
      planned.extra |= RIBBON_AS_BLOOM;
    } else {
      planned = rocksdb_ribbon_shape_of(&size);
    }
  }
  *shape = planned;
  return NAY_OK;
}

static nay_shape rocksdb_ribbon_as_bloom(const nay_shape *shape) {
  return (nay_shape){shape->nunits, shape->k, shape->extra & ~RIBBON_AS_BLOOM};
}

static bool rocksdb_ribbon_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  nay_shape bloom = rocksdb_ribbon_as_bloom(shape);
  if ((shape->extra & RIBBON_AS_BLOOM) != 0) {
    return nay__family_rocksdb_bloom.payload(&bloom, nbits, nbytes);
  }
  *nbits = shape->nunits * RIBBON_WIDTH;
  *nbytes = shape->nunits == 0 ? 0 : shape->nunits * RIBBON_SEGMENT + NAY_ROCKSDB_TRAILER;
  return true;
}

/* ---- the filter, unpacked ---- */

typedef struct rocksdb_ribbon {
  uint64_t starts, short_blocks;
  uint32_t columns;
  uint32_t raw_seed;
} rocksdb_ribbon;

static uint32_t rocksdb_ribbon_raw_seed(uint8_t ordinal) {
  uint64_t t = ordinal * 0xc78219a23eeadd03u;
  return (uint32_t)(t ^ (t & 0xf0f0f0f0f0f0f0f0u) >> 4);
}

static rocksdb_ribbon rocksdb_ribbon_of(const nay_shape *shape, uint8_t ordinal) {
  uint64_t nblocks = shape->extra;
  return (rocksdb_ribbon){nblocks * RIBBON_WIDTH - (RIBBON_WIDTH - 1),
                          nblocks * shape->k - shape->nunits, shape->k,
                          rocksdb_ribbon_raw_seed(ordinal)};
}

static uint8_t rocksdb_ribbon_ordinal(const nay_filter *f) { return f->bits.bytes[f->nbytes - 4]; }

nay_shape nay__rocksdb_ribbon_shape(const uint8_t *bytes, size_t len) {
  const uint8_t *trailer = bytes + len - NAY_ROCKSDB_TRAILER;
  uint64_t nblocks = nay__load32le(trailer + 1) >> 8;
  uint64_t nsegments = (len - NAY_ROCKSDB_TRAILER) / RIBBON_SEGMENT;
  if (nblocks < 2 || nsegments == 0) return (nay_shape){.extra = NAY_ROCKSDB_MAYBE};
  return rocksdb_ribbon_shape_of(
      &(rocksdb_ribbon_size){nblocks, nay__min_u64(nsegments, nblocks * RIBBON_MAX_COLUMNS)});
}

/* The rate: blocks with a column less let twice as many pass. */
static double rocksdb_ribbon_fpr(const nay_shape *shape, uint64_t nkeys) {
  if ((shape->extra & NAY_ROCKSDB_MAYBE) != 0) return 1;
  if (shape->nunits == 0) return 0;
  if ((shape->extra & RIBBON_AS_BLOOM) != 0) {
    nay_shape bloom = rocksdb_ribbon_as_bloom(shape);
    return nay__family_rocksdb_bloom.fpr(&bloom, nkeys);
  }
  double nblocks = shape->extra, narrow = nblocks * shape->k - (double)shape->nunits;
  return (1 + narrow / nblocks) * nay__ipow(0.5, shape->k);
}

/* How many keys a filter of so many blocks was made for: the middle of those that give it. */
static double rocksdb_ribbon_estimate(uint64_t nblocks) {
  double slots = (double)(nblocks * RIBBON_WIDTH) - RIBBON_WIDTH / 2, low = 1, high = slots;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    if (rocksdb_ribbon_slots_of(middle) < slots) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

static void rocksdb_ribbon_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                                  nay_census *census) {
  (void)b, (void)factor; /* static filters neither merge nor fold */
  nay_census c = {a->shape.nunits * RIBBON_WIDTH, a->shape.nunits * RIBBON_WIDTH, 0,
                  rocksdb_ribbon_fpr(&a->shape, 0)};
  if (a->shape.nunits != 0) {
    c.nkeys = a->nkeys != 0 ? (double)a->nkeys : rocksdb_ribbon_estimate(a->shape.extra);
  }
  *census = c;
}

/* ---- the equation of a key ---- */

typedef struct rocksdb_ribbon_row {
  uint64_t lo, hi; /* coefficients; bit 0 of lo is set. Both 0: an empty row */
  uint32_t result;
} rocksdb_ribbon_row;

static uint64_t rocksdb_ribbon_rehash(const rocksdb_ribbon *r, uint64_t hash) {
  return (hash ^ r->raw_seed) * 0x6193d459236a3a0du;
}

static uint64_t rocksdb_ribbon_start(const rocksdb_ribbon *r, uint64_t h) {
  return nay__mulhi(h, r->starts);
}

static rocksdb_ribbon_row rocksdb_ribbon_row_of(uint64_t h) {
  uint64_t a = h * 0xc28f82822b650bedu;
  uint32_t high = (uint32_t)(a >> 32);
  uint32_t swapped = high >> 24 | (high >> 8 & 0xff00) | (high << 8 & 0xff0000) | high << 24;
  return (rocksdb_ribbon_row){(a ^ 0xc367844a6e52731du) | 1, a, swapped};
}

/* The first segment of a block. */
static uint64_t rocksdb_ribbon_segment_of(const rocksdb_ribbon *r, uint64_t block) {
  return block * r->columns - nay__min_u64(block, r->short_blocks);
}

/* ---- probing ---- */

/* What the coefficients choose of 128 slots, its two words added. */
static uint64_t rocksdb_ribbon_chosen(const uint8_t *segment, const uint64_t w[2]) {
  return (nay__load64le(segment) & w[0]) ^ (nay__load64le(segment + 8) & w[1]);
}

static bool rocksdb_ribbon_probe(const rocksdb_ribbon *r, const uint8_t *bytes, uint64_t hash) {
  uint64_t h = rocksdb_ribbon_rehash(r, hash), start = rocksdb_ribbon_start(r, h),
           block = start / RIBBON_WIDTH;
  unsigned shift = start % RIBBON_WIDTH;
  rocksdb_ribbon_row row = rocksdb_ribbon_row_of(h);
  uint32_t ncolumns = r->columns - (block < r->short_blocks);
  const uint8_t *at = bytes + rocksdb_ribbon_segment_of(r, block) * RIBBON_SEGMENT;
  /* the coefficients, moved to where the slots are: four words, two in each block */
  uint64_t w[5] = {0, 0, 0, 0, 0};
  unsigned word = shift / 64, bits = shift % 64;
  w[word] = row.lo << bits;
  w[word + 1] = row.hi << bits;
  if (bits != 0) {
    w[word + 1] |= row.lo >> (64 - bits);
    w[word + 2] = row.hi >> (64 - bits);
  }
  for (uint32_t c = 0; c < ncolumns; c++, at += RIBBON_SEGMENT) {
    uint64_t chosen = rocksdb_ribbon_chosen(at, w);
    if (shift != 0) chosen ^= rocksdb_ribbon_chosen(at + (size_t)ncolumns * RIBBON_SEGMENT, w + 2);
    if (nay__parity64(chosen) != (row.result >> c & 1)) return false;
  }
  return true;
}

static bool rocksdb_ribbon_test(const nay_filter *f, nay_hash hash) {
  if ((f->shape.extra & NAY_ROCKSDB_MAYBE) != 0) return true;
  if (f->shape.nunits == 0) return false;
  rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, rocksdb_ribbon_ordinal(f));
  return rocksdb_ribbon_probe(&r, f->bits.bytes, hash.lo);
}

static void rocksdb_ribbon_prefetch64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      unsigned n) {
  (void)hi;
  if (f->shape.nunits == 0) return;
  rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, rocksdb_ribbon_ordinal(f));
  for (unsigned i = 0; i < n; i++) {
    uint64_t block = rocksdb_ribbon_start(&r, rocksdb_ribbon_rehash(&r, lo[i])) / RIBBON_WIDTH;
    const uint8_t *at = f->bits.bytes + rocksdb_ribbon_segment_of(&r, block) * RIBBON_SEGMENT;
    NAY_PREFETCH(at);
    NAY_PREFETCH(at + (size_t)r.columns * RIBBON_SEGMENT);
  }
}

/* ---- solving ---- */

/* Brings an equation into the band; false when it contradicts others. See banding.c. */
static bool rocksdb_ribbon_insert(rocksdb_ribbon_row *rows, uint64_t start, rocksdb_ribbon_row e) {
  rocksdb_ribbon_row *row = rows + start;
  for (;;) {
    if (row->lo == 0) {
      *row = e;
      return true;
    }
    e.lo ^= row->lo;
    e.hi ^= row->hi;
    e.result ^= row->result;
    if (e.lo == 0) {
      if (e.hi == 0) return e.result == 0; /* a repeat, or one that says what others say */
      e.lo = e.hi;
      e.hi = 0;
      row += 64;
    }
    unsigned zeros = nay__ctz64(e.lo);
    row += zeros;
    e.lo = e.lo >> zeros | (e.hi << 1) << (63 - zeros);
    e.hi >>= zeros;
  }
}

static bool rocksdb_ribbon_eliminate(const rocksdb_ribbon *r, const nay_source *source,
                                     rocksdb_ribbon_row *rows) {
  for (size_t i = 0; i < source->nruns; i++) {
    const nay_run *run = &source->runs[i];
    for (size_t j = 0; j < run->n; j++) {
      if (j + RIBBON_AHEAD < run->n) {
        NAY_PREFETCH(rows +
                     rocksdb_ribbon_start(r, rocksdb_ribbon_rehash(r, run->at[j + RIBBON_AHEAD])));
      }
      uint64_t h = rocksdb_ribbon_rehash(r, run->at[j]);
      if (!rocksdb_ribbon_insert(rows, rocksdb_ribbon_start(r, h), rocksdb_ribbon_row_of(h)))
        return false;
    }
  }
  return true;
}

/* From the last slot to the first; each column remembers the 128 slots it has computed last. */
static void rocksdb_ribbon_substitute(const rocksdb_ribbon *r, const rocksdb_ribbon_row *rows,
                                      uint64_t nblocks, uint8_t *bytes) {
  uint64_t lo[RIBBON_MAX_COLUMNS] = {0}, hi[RIBBON_MAX_COLUMNS] = {0};
  for (uint64_t i = nblocks * RIBBON_WIDTH; i-- > 0;) {
    const rocksdb_ribbon_row *row = rows + i;
    for (uint32_t c = 0; c < r->columns; c++) {
      hi[c] = hi[c] << 1 | lo[c] >> 63;
      lo[c] <<= 1;
      unsigned bit = nay__parity64((lo[c] & row->lo) ^ (hi[c] & row->hi));
      lo[c] |= (bit ^ row->result >> c) & 1;
    }
    if (i % RIBBON_WIDTH != 0) continue;
    uint64_t block = i / RIBBON_WIDTH;
    uint8_t *at = bytes + rocksdb_ribbon_segment_of(r, block) * RIBBON_SEGMENT;
    for (uint32_t c = 0; c < r->columns - (block < r->short_blocks); c++, at += RIBBON_SEGMENT) {
      nay__store64le(at, lo[c]);
      nay__store64le(at + 8, hi[c]);
    }
  }
}

/* Tries the seeds; false when none of them works. */
static bool rocksdb_ribbon_solve(nay_filter *f, const nay_source *source, uint64_t first_hash,
                                 rocksdb_ribbon_row *rows) {
  uint64_t nblocks = f->shape.extra;
  for (unsigned i = 0; i < RIBBON_SEEDS; i++) {
    uint8_t ordinal = (uint8_t)(first_hash + i);
    rocksdb_ribbon r = rocksdb_ribbon_of(&f->shape, ordinal);
    memset(rows, 0, (size_t)nblocks * RIBBON_WIDTH * sizeof *rows);
    if (!rocksdb_ribbon_eliminate(&r, source, rows)) continue;
    rocksdb_ribbon_substitute(&r, rows, nblocks, f->bits.bytes);
    uint8_t *trailer = f->bits.bytes + f->nbytes - NAY_ROCKSDB_TRAILER;
    nay__store32le(trailer + 1, (uint32_t)nblocks << 8 | ordinal);
    trailer[0] = NAY_ROCKSDB_RIBBON;
    return true;
  }
  return false;
}

/* ---- making ---- */

static nay_status rocksdb_ribbon_make_bloom(const nay_shape *shape, const nay_source *source,
                                            const nay_allocator *allocator, nay_filter **filter) {
  nay_filter *f;
  const nay_family *family = &nay__family_rocksdb_bloom;
  NAY_TRY(nay__filter_make(family, shape, &(nay_hasher){.kind = NAY_HASH_XXPH3}, source->n, 0,
                           allocator, &f));
  f->format = &nay__format_rocksdb_bloom;
  nay__filter_init(f, NULL);
  nay_status status = nay__fill(f, source->runs, source->nruns, 1);
  assert(status == NAY_OK); /* a new filter with lines takes every hash */
  (void)status;
  *filter = f;
  return NAY_OK;
}

static nay_status rocksdb_ribbon_make(const nay_format *format, const rocksdb_ribbon_size *size,
                                      const nay_source *source, const nay_allocator *allocator,
                                      bool *solved, nay_filter **filter) {
  nay_shape shape = rocksdb_ribbon_shape_of(size);
  nay_filter *f;
  nay_memory rows;
  size_t rows_bytes;
  NAY_TRY(nay__filter_make(&nay__family_rocksdb_ribbon, &shape,
                           &(nay_hasher){.kind = NAY_HASH_XXPH3}, source->n, 0, allocator, &f));
  f->format = format;
  bool fits =
      nay__mul_ok((size_t)size->nblocks * RIBBON_WIDTH, sizeof(rocksdb_ribbon_row), &rows_bytes);
  nay_status status = fits ? nay__memory_new(&f->allocator, rows_bytes, &rows) : NAY_ENOMEM;
  if (status == NAY_OK) {
    *solved = rocksdb_ribbon_solve(f, source, source->runs[0].at[0],
                                   (rocksdb_ribbon_row *)(void *)rows.at);
    nay__memory_free(&f->allocator, &rows);
    *filter = f;
  } else {
    nay_filter_free(f);
  }
  return status;
}

static nay_status rocksdb_ribbon_compose(const nay_format *format, const nay_params *params,
                                         const nay_source *source, const nay_allocator *allocator,
                                         nay_filter **filter) {
  double bits_per_key;
  NAY_TRY(nay__format_bits(format, params, NULL, &bits_per_key));
  NAY_TRY(nay__rocksdb_check_bits(&bits_per_key, NULL));
  if (source->n == 0) {
    NAY_TRY(nay__filter_make(&nay__family_rocksdb_ribbon, &(nay_shape){.nunits = 0},
                             &(nay_hasher){.kind = NAY_HASH_XXPH3}, 0, 0, allocator, filter));
    (*filter)->format = format;
    return NAY_OK;
  }
  nay_shape bloom;
  uint64_t first_hash = source->runs[0].at[0];
  rocksdb_ribbon_size size =
      rocksdb_ribbon_size_of(nay__min_u64(source->n, RIBBON_MAX_KEYS), bits_per_key, first_hash);
  if (rocksdb_ribbon_is_bloom(source->n, bits_per_key, &size, &bloom)) {
    return rocksdb_ribbon_make_bloom(&bloom, source, allocator, filter);
  }
  bool solved;
  nay_filter *f;
  NAY_TRY(rocksdb_ribbon_make(format, &size, source, allocator, &solved, &f));
  if (!solved) {
    nay_filter_free(f);
    NAY_TRY(nay__rocksdb_bloom_plan(source->n, bits_per_key, NULL, &bloom));
    return rocksdb_ribbon_make_bloom(&bloom, source, allocator, filter);
  }
  *filter = f;
  return NAY_OK;
}

const nay_family nay__family_rocksdb_ribbon = {
    .kind = NAY_RIBBON,
    .name = "ribbon (RocksDB)",
    .skips_repeats = true,
    .payload = rocksdb_ribbon_payload,
    .fpr = rocksdb_ribbon_fpr,
    .compose = rocksdb_ribbon_compose,
    .test = rocksdb_ribbon_test,
    .test64 = nay__classic_test64,
    .prefetch64 = rocksdb_ribbon_prefetch64,
    .census = rocksdb_ribbon_census,
};
#undef RIBBON_AHEAD
#undef RIBBON_AS_BLOOM
#undef RIBBON_MAX_COLUMNS
#undef RIBBON_MAX_KEYS
#undef RIBBON_SEEDS
#undef RIBBON_SEGMENT
#undef RIBBON_SMALL_SLOTS
#undef RIBBON_WIDTH

/* ==== src/format/redisbloom.c =============================================================== */
/* redisbloom.c - see redisbloom.h. Every size was recomputed by parse: what follows may trust it.
 */

/* ==== src/format/redisbloom.h =============================================================== */
/*
 * redisbloom.h - RedisBloom's two filters as families: chained Bloom (BF.*) and cuckoo (CF.*).
 *
 * The payload of both is a dump as SCANDUMP gives it, header and chunks one after the other:
 *
 *   bf   | size u64 | links u32 | options u32 | growth u32 | 53 bytes for each link | arrays |
 *   cf   | items u64 | buckets u64 | deletes u64 | filters u64 | bucketsize u16 |
 *        | maxiterations u16 | expansion u16 | slots |
 *
 * They are probed where they lie, by the code that the module for Redis runs (src/redis). A Bloom
 * filter also takes adds, until its last link is full: a chain grows in Redis, not here. A cuckoo
 * filter is only read.
 */
#ifndef NAY_REDISBLOOM_H
#define NAY_REDISBLOOM_H

extern const nay_family nay__family_rb_bloom;
extern const nay_family nay__family_rb_cuckoo;

/* As nay_format.parse: the whole of the bytes is the payload. */
nay_status nay__rb_bloom_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload);
nay_status nay__rb_cuckoo_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload);

/* nay__rb_bloom_reserve: the shape of what BF.RESERVE would make. NAY_EINVAL. */
nay_status nay__rb_bloom_reserve(uint64_t nkeys, double fpr, nay_diag *diag, nay_shape *shape);

/* nay__rb_bloom_hash: which of its two hashes a chain of Bloom filters was made with. */
nay_hash_kind nay__rb_bloom_hash(const uint8_t *payload);

#endif /* NAY_REDISBLOOM_H */

static uint8_t *rb_bytes(const nay_filter *f) { return f->bits.bytes; }

/* Batches, one after the other: a dump is read from a file, its answers are not waited for. */
static uint64_t rb_test64(const nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    nay_hash hash = {lo[i], hi != NULL ? hi[i] : 0};
    word |= (uint64_t)f->family->test(f, hash) << i;
  }
  return word;
}

/* shape.nunits is the length of the payload. */
static bool rb_payload(const nay_shape *shape, uint64_t *nbits, uint64_t *nbytes) {
  *nbytes = shape->nunits;
  *nbits = shape->nunits * 8;
  return shape->nunits <= NAY_MAX_NBITS / 8;
}

/* ---- chained Bloom ---- */

/* Goes through the links: a row of the header, and where its array starts. */
typedef struct rb_links {
  const uint8_t *row;
  uint8_t *array;
  uint32_t left;
  sblink link;
} rb_links;

static rb_links rb_links_of(const nay_filter *f) {
  uint8_t *bytes = rb_bytes(f);
  uint32_t n = nay__load32le(bytes + 8);
  return (rb_links){
      .row = bytes + NAY_SB_HEAD, .array = bytes + NAY_SB_HEAD + NAY_SB_ROW * (size_t)n, .left = n};
}

static bool rb_next_link(rb_links *at) {
  if (at->left == 0) return false;
  nay__sb_read_row(at->row, &at->link);
  at->link.bytes = at->array;
  at->array += at->link.nbytes;
  at->row += NAY_SB_ROW;
  at->left--;
  return true;
}

nay_hash_kind nay__rb_bloom_hash(const uint8_t *payload) {
  bool is_64 = (nay__load32le(payload + 12) & NAY_SB_HASH64) != 0;
  return is_64 ? NAY_HASH_MURMUR64X2 : NAY_HASH_MURMUR32X2;
}

nay_status nay__rb_bloom_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                               nay_span *payload) {
  NAY_TRY(nay__sb_check_dump(bytes, len, diag));
  *shape = (nay_shape){.nunits = len, .k = nay__load32le(bytes + NAY_SB_HEAD + 40)};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  return NAY_OK;
}

static bool rb_bloom_test(const nay_filter *f, nay_hash hash) {
  rb_links at = rb_links_of(f);
  while (rb_next_link(&at)) {
    if (nay__sblink_test(&at.link, hash)) return true;
  }
  return false;
}

/* ---- new ones, and adding ---- */

#define RB_GROWTH 2u /* the default of BF.RESERVE */

/* The one link of a new chain, at half the rate: the others will need the rest. */
static nay_status rb_bloom_first(uint64_t nkeys, double fpr, sblink *link) {
  return nay__sblink_plan(nkeys, fpr * 0.5, NAY_SB_DEFAULT, link);
}

nay_status nay__rb_bloom_reserve(uint64_t nkeys, double fpr, nay_diag *diag, nay_shape *shape) {
  sblink link;
  if (rb_bloom_first(nkeys, fpr, &link) != NAY_OK) {
    return nay__fail(diag, NAY_EINVAL, "the size cannot be addressed", 0);
  }
  *shape = (nay_shape){.nunits = NAY_SB_HEAD + NAY_SB_ROW + link.nbytes, .k = link.hashes};
  return NAY_OK;
}

/* The rate is the one whose shape this is: params may have stated bits per key. */
static void rb_bloom_init(nay_filter *f, const nay_params *params) {
  uint8_t *p = rb_bytes(f);
  sblink link;
  double fpr = params->fpr;
  if (fpr == 0) fpr = 2 * nay__exp(-params->bits_per_key * NAY_LN2 * NAY_LN2);
  (void)rb_bloom_first(nay__max_u64(f->nkeys, 1), fpr, &link);
  nay__store32le(p + 8, 1);
  nay__store32le(p + 12, NAY_SB_DEFAULT);
  nay__store32le(p + 16, RB_GROWTH);
  nay__sb_write_row(&link, p + NAY_SB_HEAD);
}

static void rb_count_up(uint8_t *at) { nay__store64le(at, nay__load64le(at) + 1); }

static nay_status rb_bloom_add(nay_filter *f, nay_hash hash, bool *is_new) {
  rb_links at = rb_links_of(f);
  bool had = false;
  while (rb_next_link(&at)) had |= nay__sblink_test(&at.link, hash);
  if (!had) { /* at.link is the last one */
    if (at.link.size >= at.link.entries) return NAY_EFULL;
    nay__sblink_mark(&at.link, hash);
    rb_count_up((uint8_t *)(uintptr_t)at.row - NAY_SB_ROW + 16);
    rb_count_up(rb_bytes(f));
  }
  *is_new = !had;
  return NAY_OK;
}

static nay_status rb_bloom_add64(nay_filter *f, const uint64_t *lo, const uint64_t *hi, unsigned n,
                                 uint64_t *bitmap) {
  uint64_t word = 0;
  for (unsigned i = 0; i < n; i++) {
    bool is_new;
    NAY_TRY(rb_bloom_add(f, (nay_hash){lo[i], hi != NULL ? hi[i] : 0}, &is_new));
    word |= (uint64_t)is_new << i;
  }
  *bitmap = word;
  return NAY_OK;
}

static nay_status rb_bloom_clear(nay_filter *f) {
  for (rb_links at = rb_links_of(f); rb_next_link(&at);) {
    memset(at.link.bytes, 0, (size_t)at.link.nbytes);
    nay__store64le((uint8_t *)(uintptr_t)at.row - NAY_SB_ROW + 16, 0);
  }
  nay__store64le(rb_bytes(f), 0);
  return NAY_OK;
}

static double rb_bloom_fpr(const nay_shape *shape, uint64_t nkeys) {
  return nay__fpr_bloom((shape->nunits - NAY_SB_HEAD - NAY_SB_ROW) * 8, shape->k, nkeys);
}

/* ---- what it knows of itself ---- */

/* The rate of the chain: one minus the chance that every link says nay. */
static void rb_bloom_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                            nay_census *census) {
  (void)b; /* no merge, no fold */
  (void)factor;
  nay_census c = {0, 0, 0, 0};
  double nay = 1;
  rb_links at = rb_links_of(a);
  while (rb_next_link(&at)) {
    const sblink *link = &at.link;
    uint64_t set = nay__bits_count(link->bytes, (size_t)link->nbytes);
    if (set > link->modulus) set = link->modulus; /* bits past a small power of two are not read */
    c.nbits += link->nbytes * 8;
    c.nbits_set += set;
    if (link->hashes != 0) c.nkeys += nay__estimate_keys(link->modulus, link->hashes, set);
    nay *= 1 - nay__ipow((double)set / (double)link->modulus, link->hashes);
  }
  c.fpr = 1 - nay;
  *census = c;
}

/* The rate that was asked for is the sum of the links' rates: the first has half of it. */
static void rb_bloom_describe(const nay_filter *f, nay_stats *stats) {
  stats->nlevels = nay__load32le(rb_bytes(f) + 8);
  rb_links at = rb_links_of(f);
  stats->fpr_planned = 0;
  stats->nkeys = 0;
  while (rb_next_link(&at)) {
    stats->nkeys += at.link.entries;
    stats->fpr_planned += at.link.error;
  }
  if (stats->fpr_planned > 1) stats->fpr_planned = 1;
  stats->utilisation = stats->nkeys_estimated / (double)stats->nkeys;
}

const nay_family nay__family_rb_bloom = {
    .kind = NAY_BLOOM,
    .name = "bloom (RedisBloom's chain)",
    .traits = NAY_CAN_ADD,
    .self_sized = true,
    .payload = rb_payload,
    .fpr = rb_bloom_fpr,
    .describe = rb_bloom_describe,
    .init = rb_bloom_init,
    .clear = rb_bloom_clear,
    .add = rb_bloom_add,
    .add64 = rb_bloom_add64,
    .test = rb_bloom_test,
    .test64 = rb_test64,
    .census = rb_bloom_census,
};

/* ---- cuckoo ---- */

/* Goes through the sub-filters, which lie one after the other. */
typedef struct rb_subs {
  nay_cfchain_header header;
  nay_cfsub sub;
  uint64_t left;
} rb_subs;

static rb_subs rb_subs_of(const nay_filter *f) {
  rb_subs at;
  (void)nay_cfchain_read_header(rb_bytes(f), NAY_CFCHAIN_HEADER_LEN, NULL, &at.header);
  at.sub = (nay_cfsub){rb_bytes(f) + NAY_CFCHAIN_HEADER_LEN, at.header.nbuckets};
  at.left = at.header.nfilters;
  return at;
}

static size_t rb_sub_len(const rb_subs *at) {
  return (size_t)at->sub.nbuckets * at->header.bucket_size;
}

static void rb_next_sub(rb_subs *at) {
  at->sub.slots += rb_sub_len(at);
  at->sub.nbuckets *= at->header.expansion;
  at->left--;
}

nay_status nay__rb_cuckoo_parse(const uint8_t *bytes, size_t len, nay_diag *diag, nay_shape *shape,
                                nay_span *payload) {
  if (len < NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "shorter than the header", len);
  }
  nay_cfchain_header header;
  uint64_t nslots;
  NAY_TRY(nay_cfchain_read_header(bytes, NAY_CFCHAIN_HEADER_LEN, diag, &header));
  NAY_TRY(nay_cfchain_nslots(&header, diag, &nslots));
  if (nslots != len - NAY_CFCHAIN_HEADER_LEN) {
    return nay__fail(diag, NAY_ECORRUPT, "the slots are not as many as the header says", len);
  }
  const uint8_t *slots = bytes + NAY_CFCHAIN_HEADER_LEN;
  if (nay__cf_occupied(slots, (size_t)nslots) != header.nitems) {
    return nay__fail(diag, NAY_ECORRUPT, "the items are not as many as the slots in use", 0);
  }
  *shape = (nay_shape){.nunits = len, .k = 2};
  *payload = (nay_span){(uint8_t *)(uintptr_t)bytes, len};
  return NAY_OK;
}

static bool rb_cuckoo_test(const nay_filter *f, nay_hash hash) {
  nay_cfkey key = nay__cf_key(hash.lo);
  for (rb_subs at = rb_subs_of(f); at.left != 0; rb_next_sub(&at)) {
    if (nay__cf_find(&at.sub, at.header.bucket_size, &key, key.fp) != NULL) return true;
  }
  return false;
}

static nay_status rb_cuckoo_count(const nay_filter *f, nay_hash hash, uint64_t *count) {
  nay_cfkey key = nay__cf_key(hash.lo);
  *count = 0;
  for (rb_subs at = rb_subs_of(f); at.left != 0; rb_next_sub(&at)) {
    *count += nay__cf_count(&at.sub, at.header.bucket_size, &key);
  }
  return NAY_OK;
}

/* An absent key meets a fingerprint in each slot of two buckets that is in use, one of 255. */
static void rb_cuckoo_census(const nay_filter *a, const nay_filter *b, uint64_t factor,
                             nay_census *census) {
  (void)b;
  (void)factor;
  double met = 0;
  rb_subs at = rb_subs_of(a);
  for (; at.left != 0; rb_next_sub(&at)) {
    uint64_t used = nay__cf_occupied(at.sub.slots, rb_sub_len(&at));
    met += 2 * (double)used / (double)at.sub.nbuckets;
  }
  uint64_t nslots = (uint64_t)(a->nbytes - NAY_CFCHAIN_HEADER_LEN);
  *census = (nay_census){nslots * 8, at.header.nitems * 8, (double)at.header.nitems,
                         1 - nay__exp(met * nay__ln(254.0 / 255.0))};
}

static void rb_cuckoo_describe(const nay_filter *f, nay_stats *stats) {
  rb_subs at = rb_subs_of(f);
  stats->nlevels = (uint32_t)at.header.nfilters;
  stats->tag_bits = 8;
}

const nay_family nay__family_rb_cuckoo = {
    .kind = NAY_CUCKOO,
    .name = "cuckoo (RedisBloom's chain)",
    .traits = NAY_CAN_COUNT,
    .self_sized = true,
    .payload = rb_payload,
    .describe = rb_cuckoo_describe,
    .test = rb_cuckoo_test,
    .test64 = rb_test64,
    .count = rb_cuckoo_count,
    .census = rb_cuckoo_census,
};
#undef RB_GROWTH

/* ==== src/format/fmt_redisbloom.c =========================================================== */
/*
 * fmt_redisbloom.c - RedisBloom's filters outside of Redis: what BF.SCANDUMP and CF.SCANDUMP give,
 * header and chunks one after the other, and what DUMP gives for such a key.
 *
 *   redisbloom-bf, redisbloom-cf     the payload of the families in redisbloom.h, nothing around it
 *   redis-dump-bf, redis-dump-cf     the same numbers in another order, in the encoding of rdb.h:
 *
 *   bf   size, links, options, growth;
 *        for each link: entries, error (double), hashes, bpe (double), bits, n2, array, size
 *   cf   filters, buckets, items, deletes, bucketsize, maxiterations, expansion;
 *        for each sub-filter: buckets, slots
 *
 * A scan has neither magic number nor checksum. A DUMP has the id of its type and a CRC-64. Both
 * forms of one filter are written from each other: no hash and no bit changes.
 */

/* ==== src/format/lzf.h ====================================================================== */
/*
 * lzf.h - LZF, the compression of strings in Redis' RDB files.
 *
 *   000nnnnn  n + 1 literal bytes follow
 *   lllooooo oooooooo            copy l + 2 bytes from o + 1 bytes back   (l = 1 .. 6)
 *   111ooooo llllllll oooooooo   copy l + 9 bytes
 *
 * The compressor takes the same matches as the one in Redis, so that a string which Redis wrote is
 * written back with the same bytes.
 */
#ifndef NAY_LZF_H
#define NAY_LZF_H

#define NAY_LZF_TABLE_LEN ((size_t)65536 * sizeof(uint32_t)) /* bytes of a compressor's table */
#define NAY_LZF_MAX_RATIO 88u                                /* three bytes stand for at most 264 */

/*
 * nay__lzf_compress: returns the number of bytes, 0 when they would be more than cap. dst NULL only
 * counts. table is scratch of NAY_LZF_TABLE_LEN bytes.
 */
size_t nay__lzf_compress(const uint8_t *src, size_t len, uint8_t *dst, size_t cap, uint32_t *table);

/* nay__lzf_expand: true when src is exactly `want` bytes, compressed. dst NULL only checks. */
bool nay__lzf_expand(const uint8_t *src, size_t len, uint8_t *dst, size_t want);

#endif /* NAY_LZF_H */

/* ==== src/format/rdb.h ====================================================================== */
/*
 * rdb.h - the value of one key as Redis' DUMP writes it: numbers, doubles and strings of a module's
 * type, and what stands around them.
 *
 *   | 07 | type id, a length | { opcode, value } ... | 00 | RDB version u16 | CRC-64 u64 |
 *
 *   opcode 2: an unsigned number, written as a length      4: a double, 8 bytes little-endian
 *          5: a string
 *   length 00nnnnnn | 01nnnnnn n | 80 and 4 bytes | 81 and 8 bytes, big-endian
 *   string a length and its bytes; or c0, c1, c2 and 1, 2, 4 bytes of an integer that stands for
 * its decimal digits; or c3, two lengths (packed, unpacked) and LZF
 *
 * A type id is nine characters of 6 bits and, in the lowest 10 bits, the version of the encoding.
 */
#ifndef NAY_RDB_H
#define NAY_RDB_H

#define NAY_RDB_FOOTER 10u

/* ---- reading: the first thing that is wrong sticks, and everything after it reads as 0 ---- */

typedef struct nay_rdb_reader {
  const uint8_t *bytes;
  size_t at, end; /* end: where the footer starts */
  const char *wrong;
} nay_rdb_reader;

/* A string: where its bytes are, or how they are packed. */
typedef struct nay_rdb_string {
  const uint8_t *packed; /* NULL: digits[] */
  size_t npacked;        /* 0: not packed, the bytes are at `packed` */
  size_t len;
  char digits[12];
} nay_rdb_string;

/* nay__rdb_starts: whether the bytes begin like a value of the type, whose id has version 0. */
bool nay__rdb_starts(const uint8_t *bytes, size_t len, uint64_t type_id);

/*
 * nay__rdb_open: checks head and footer. NAY_EFORMAT: no value of this type. NAY_EVERSION: another
 * version of the encoding. NAY_ECORRUPT: too short, or the checksum is wrong.
 */
nay_status nay__rdb_open(const uint8_t *bytes, size_t len, uint64_t type_id, unsigned encver,
                         nay_diag *diag, nay_rdb_reader *reader, uint32_t *rdb_version);

uint64_t nay__rdb_read_number(nay_rdb_reader *reader);
uint64_t nay__rdb_read_double(nay_rdb_reader *reader); /* its bits */
nay_rdb_string nay__rdb_read_string(nay_rdb_reader *reader);

/* nay__rdb_write_out: the bytes of a string that was read. False: the packed ones are damaged. dst
 * NULL only checks. */
bool nay__rdb_write_out(const nay_rdb_string *string, uint8_t *dst);

/* nay__rdb_close: NAY_OK when all was well and nothing is left. */
nay_status nay__rdb_close(const nay_rdb_reader *reader, nay_diag *diag);

/* ---- writing: as Redis does with its defaults, strings of more than 20 bytes packed ---- */

typedef struct nay_rdb_writer {
  uint8_t *dst; /* NULL: only count */
  size_t len;
  uint32_t *table; /* scratch of NAY_LZF_TABLE_LEN bytes */
} nay_rdb_writer;

void nay__rdb_begin(nay_rdb_writer *writer, uint64_t type_id, unsigned encver);
void nay__rdb_write_number(nay_rdb_writer *writer, uint64_t value);
void nay__rdb_write_double(nay_rdb_writer *writer, uint64_t bits);
void nay__rdb_write_string(nay_rdb_writer *writer, const uint8_t *bytes, size_t len);
void nay__rdb_end(nay_rdb_writer *writer, uint32_t rdb_version);

#endif /* NAY_RDB_H */

#define RB_BLOOM_ID 0x3016e5a289bef800u  /* "MBbloom--" */
#define RB_CUCKOO_ID 0x3016e5a289821400u /* "MBbloomCF" */
#define RB_ENCVER 4u
#define RB_RDB_VERSION 10u /* of Redis 7.0: later servers read it too */

/* The second pass of unpack writes what the first has measured: the strings at their places. */
typedef struct rb_unpack {
  nay_rdb_reader reader;
  uint8_t *dst; /* NULL: only measure */
  uint64_t size;
} rb_unpack;

static void rb_unpack_string(rb_unpack *u, const nay_rdb_string *s) {
  uint8_t *at = u->dst != NULL ? u->dst + u->size : NULL;
  if (u->reader.wrong == NULL && !nay__rdb_write_out(s, at)) {
    u->reader.wrong = "a packed string is damaged";
  }
  u->size += s->len;
}

static nay_status rb_unpack_end(rb_unpack *u, nay_diag *diag, size_t *size) {
  NAY_TRY(nay__rdb_close(&u->reader, diag));
  if (!nay__size_ok(u->size, size)) {
    return nay__fail(diag, NAY_ENOMEM, nay_status_text(NAY_ENOMEM), 0);
  }
  return NAY_OK;
}

/* ---- chained Bloom ---- */

static void rb_bloom_unpack_link(rb_unpack *u, uint8_t *row) {
  nay_rdb_reader *r = &u->reader;
  uint64_t entries = nay__rdb_read_number(r), error = nay__rdb_read_double(r),
           hashes = nay__rdb_read_number(r), bpe = nay__rdb_read_double(r),
           nbits = nay__rdb_read_number(r), n2 = nay__rdb_read_number(r);
  nay_rdb_string array = nay__rdb_read_string(r);
  uint64_t nitems = nay__rdb_read_number(r);
  if (hashes > UINT32_MAX || n2 > UINT8_MAX) r->wrong = "a number of a link is too large";
  rb_unpack_string(u, &array);
  if (row == NULL) return;
  nay__store64le(row, array.len);
  nay__store64le(row + 8, nbits);
  nay__store64le(row + 16, nitems);
  nay__store64le(row + 24, error);
  nay__store64le(row + 32, bpe);
  nay__store32le(row + 40, (uint32_t)hashes);
  nay__store64le(row + 44, entries);
  row[52] = (uint8_t)n2;
}

static nay_status rb_bloom_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                                  size_t *size, uint32_t *extra) {
  rb_unpack u = {.dst = dst};
  NAY_TRY(nay__rdb_open(bytes, len, RB_BLOOM_ID, RB_ENCVER, diag, &u.reader, extra));
  uint64_t nitems = nay__rdb_read_number(&u.reader), nlinks = nay__rdb_read_number(&u.reader),
           options = nay__rdb_read_number(&u.reader), growth = nay__rdb_read_number(&u.reader);
  if (nlinks > len / 20 || options > UINT32_MAX || growth > UINT32_MAX) {
    u.reader.wrong = "a number of the chain is too large"; /* a link takes more than 20 bytes */
  }
  u.size = NAY_SB_HEAD + NAY_SB_ROW * nlinks;
  for (uint64_t i = 0; i < nlinks && u.reader.wrong == NULL; i++) {
    rb_bloom_unpack_link(&u, dst != NULL ? dst + NAY_SB_HEAD + NAY_SB_ROW * i : NULL);
  }
  if (dst != NULL) {
    nay__store64le(dst, nitems);
    nay__store32le(dst + 8, (uint32_t)nlinks);
    nay__store32le(dst + 12, (uint32_t)options);
    nay__store32le(dst + 16, (uint32_t)growth);
  }
  return rb_unpack_end(&u, diag, size);
}

static void rb_bloom_write(const nay_filter *f, nay_rdb_writer *w) {
  const uint8_t *p = f->bits.bytes, *row = p + NAY_SB_HEAD;
  uint32_t nlinks = nay__load32le(p + 8);
  const uint8_t *array = row + NAY_SB_ROW * (size_t)nlinks;
  nay__rdb_begin(w, RB_BLOOM_ID, RB_ENCVER);
  nay__rdb_write_number(w, nay__load64le(p));
  nay__rdb_write_number(w, nlinks);
  nay__rdb_write_number(w, nay__load32le(p + 12));
  nay__rdb_write_number(w, nay__load32le(p + 16));
  for (uint32_t i = 0; i < nlinks; i++, row += NAY_SB_ROW) {
    size_t nbytes = (size_t)nay__load64le(row);
    nay__rdb_write_number(w, nay__load64le(row + 44));
    nay__rdb_write_double(w, nay__load64le(row + 24));
    nay__rdb_write_number(w, nay__load32le(row + 40));
    nay__rdb_write_double(w, nay__load64le(row + 32));
    nay__rdb_write_number(w, nay__load64le(row + 8));
    nay__rdb_write_number(w, row[52]);
    nay__rdb_write_string(w, array, nbytes);
    nay__rdb_write_number(w, nay__load64le(row + 16));
    array += nbytes;
  }
}

/* ---- cuckoo ---- */

static nay_status rb_cuckoo_unpack(const uint8_t *bytes, size_t len, nay_diag *diag, uint8_t *dst,
                                   size_t *size, uint32_t *extra) {
  rb_unpack u = {.dst = dst, .size = NAY_CFCHAIN_HEADER_LEN};
  nay_rdb_reader *r = &u.reader;
  NAY_TRY(nay__rdb_open(bytes, len, RB_CUCKOO_ID, RB_ENCVER, diag, r, extra));
  nay_cfchain_header h = {.nfilters = nay__rdb_read_number(r)};
  h.nbuckets = nay__rdb_read_number(r);
  h.nitems = nay__rdb_read_number(r);
  h.ndeletes = nay__rdb_read_number(r);
  uint64_t bucket_size = nay__rdb_read_number(r), max_iterations = nay__rdb_read_number(r),
           expansion = nay__rdb_read_number(r);
  if (bucket_size > UINT16_MAX || max_iterations > UINT16_MAX || expansion > UINT16_MAX ||
      h.nfilters > NAY_CFCHAIN_MAX_FILTERS) {
    r->wrong = "a number of the chain is too large";
  }
  h.bucket_size = (uint32_t)bucket_size;
  h.max_iterations = (uint32_t)max_iterations;
  h.expansion = (uint32_t)expansion;
  if (dst != NULL) nay_cfchain_write_header(&h, dst);
  uint64_t nbuckets = h.nbuckets;
  for (uint64_t i = 0; i < h.nfilters && r->wrong == NULL; i++, nbuckets *= h.expansion) {
    if (nay__rdb_read_number(r) != nbuckets) r->wrong = "a sub-filter of the wrong size";
    nay_rdb_string slots = nay__rdb_read_string(r);
    rb_unpack_string(&u, &slots);
  }
  return rb_unpack_end(&u, diag, size);
}

static void rb_cuckoo_write(const nay_filter *f, nay_rdb_writer *w) {
  const uint8_t *slots = f->bits.bytes + NAY_CFCHAIN_HEADER_LEN;
  nay_cfchain_header h;
  (void)nay_cfchain_read_header(f->bits.bytes, NAY_CFCHAIN_HEADER_LEN, NULL, &h);
  nay__rdb_begin(w, RB_CUCKOO_ID, RB_ENCVER);
  nay__rdb_write_number(w, h.nfilters);
  nay__rdb_write_number(w, h.nbuckets);
  nay__rdb_write_number(w, h.nitems);
  nay__rdb_write_number(w, h.ndeletes);
  nay__rdb_write_number(w, h.bucket_size);
  nay__rdb_write_number(w, h.max_iterations);
  nay__rdb_write_number(w, h.expansion);
  for (uint64_t i = 0; i < h.nfilters; i++, h.nbuckets *= h.expansion) {
    size_t len = (size_t)h.nbuckets * h.bucket_size;
    nay__rdb_write_number(w, h.nbuckets);
    nay__rdb_write_string(w, slots, len);
    slots += len;
  }
}

/* ---- the formats ---- */

/* Measured first, then written: the compressor's table is needed both times. */
static nay_status rb_pack(const nay_filter *f, void (*write)(const nay_filter *, nay_rdb_writer *),
                          uint8_t *dst, size_t *size) {
  nay_rdb_writer w = {.dst = dst, .table = nay__alloc(&f->allocator, NAY_LZF_TABLE_LEN)};
  if (w.table == NULL) return NAY_ENOMEM;
  write(f, &w);
  nay__rdb_end(&w, f->shape.extra != 0 ? f->shape.extra : RB_RDB_VERSION);
  nay__free(&f->allocator, w.table, NAY_LZF_TABLE_LEN);
  *size = w.len;
  return NAY_OK;
}

static nay_status rb_bloom_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  return rb_pack(f, rb_bloom_write, dst, size);
}

static nay_status rb_cuckoo_pack(const nay_filter *f, uint8_t *dst, size_t *size) {
  return rb_pack(f, rb_cuckoo_write, dst, size);
}

static bool rb_bloom_matches(const uint8_t *bytes, size_t len) {
  return nay__rdb_starts(bytes, len, RB_BLOOM_ID);
}

static bool rb_cuckoo_matches(const uint8_t *bytes, size_t len) {
  return nay__rdb_starts(bytes, len, RB_CUCKOO_ID);
}

static void rb_encode(const nay_filter *f, uint8_t *dst) { memcpy(dst, f->bits.bytes, f->nbytes); }

const nay_format nay__format_redisbloom_bf = {
    .name = "redisbloom-bf",
    .about = "RedisBloom's Bloom filter, header and chunks of BF.SCANDUMP",
    .family = &nay__family_rb_bloom,
    .hash = NAY_HASH_MURMUR64X2,
    .hash_of = nay__rb_bloom_hash,
    .reserve = nay__rb_bloom_reserve,
    .parse = nay__rb_bloom_parse,
    .encode = rb_encode,
    .interchanges = true,
};

const nay_format nay__format_redisbloom_cf = {
    .name = "redisbloom-cf",
    .about = "RedisBloom's cuckoo filter, header and chunks of CF.SCANDUMP",
    .family = &nay__family_rb_cuckoo,
    .hash = NAY_HASH_MURMUR64,
    .parse = nay__rb_cuckoo_parse,
    .encode = rb_encode,
    .interchanges = true,
};

const nay_format nay__format_redis_dump_bf = {
    .name = "redis-dump-bf",
    .about = "RedisBloom's Bloom filter, as Redis' DUMP writes the key",
    .has_magic = true,
    .has_checksum = true,
    .family = &nay__family_rb_bloom,
    .hash = NAY_HASH_MURMUR64X2,
    .hash_of = nay__rb_bloom_hash,
    .reserve = nay__rb_bloom_reserve,
    .matches = rb_bloom_matches,
    .parse = nay__rb_bloom_parse,
    .unpack = rb_bloom_unpack,
    .pack = rb_bloom_pack,
    .interchanges = true,
};

const nay_format nay__format_redis_dump_cf = {
    .name = "redis-dump-cf",
    .about = "RedisBloom's cuckoo filter, as Redis' DUMP writes the key",
    .has_magic = true,
    .has_checksum = true,
    .family = &nay__family_rb_cuckoo,
    .hash = NAY_HASH_MURMUR64,
    .matches = rb_cuckoo_matches,
    .parse = nay__rb_cuckoo_parse,
    .unpack = rb_cuckoo_unpack,
    .pack = rb_cuckoo_pack,
    .interchanges = true,
};
#undef RB_BLOOM_ID
#undef RB_CUCKOO_ID
#undef RB_ENCVER
#undef RB_RDB_VERSION

/* ==== src/format/rdb.c ====================================================================== */
/* rdb.c - see rdb.h. */

#define RDB_MODULE_2 7u
enum { RDB_EOF = 0, RDB_UNSIGNED = 2, RDB_DOUBLE = 4, RDB_STRING = 5 };
enum { RDB_INT8 = 0xc0, RDB_INT16 = 0xc1, RDB_INT32 = 0xc2, RDB_LZF = 0xc3 };
#define RDB_PACKED_FROM 21u /* shorter strings are not worth it */
#define RDB_ID_MASK (~(uint64_t)1023)

/*
 * CRC-64 with Jones' polynomial, reflected, as Redis has it. Half a byte at a time: the table is
 * small enough to be read by people.
 */
static uint64_t rdb_crc64(const uint8_t *bytes, size_t len) {
  static const uint64_t table[16] = {
      0x0000000000000000u, 0x7d08ff3b88be6f81u, 0xfa11fe77117cdf02u, 0x8719014c99c2b083u,
      0xdf7adabd7a6e2d6fu, 0xa2722586f2d042eeu, 0x256b24ca6b12f26du, 0x5863dbf1e3ac9decu,
      0x95ac9329ac4bc9b5u, 0xe8a46c1224f5a634u, 0x6fbd6d5ebd3716b7u, 0x12b5926535897936u,
      0x4ad64994d625e4dau, 0x37deb6af5e9b8b5bu, 0xb0c7b7e3c7593bd8u, 0xcdcf48d84fe75459u};
  uint64_t crc = 0;
  for (size_t i = 0; i < len; i++) {
    crc ^= bytes[i];
    crc = table[crc & 15] ^ crc >> 4;
    crc = table[crc & 15] ^ crc >> 4;
  }
  return crc;
}

/* ---- reading ---- */

static uint64_t rdb_fail(nay_rdb_reader *r, const char *wrong) {
  if (r->wrong == NULL) r->wrong = wrong;
  return 0;
}

static const uint8_t *rdb_take(nay_rdb_reader *r, uint64_t n) {
  if (r->wrong != NULL || n > r->end - r->at) {
    rdb_fail(r, "the value is cut short");
    return NULL;
  }
  r->at += (size_t)n;
  return r->bytes + r->at - n;
}

static uint64_t rdb_big_endian(const uint8_t *p, unsigned n) {
  uint64_t value = 0;
  for (unsigned i = 0; i < n; i++) value = value << 8 | p[i];
  return value;
}

/* A length whose first byte has been read. */
static uint64_t rdb_length_after(nay_rdb_reader *r, uint8_t first) {
  if (first < 0x40) return first;
  unsigned n = first < 0x80 ? 1 : first == 0x80 ? 4 : first == 0x81 ? 8 : 0;
  if (n == 0) return rdb_fail(r, "a length of an unknown kind");
  const uint8_t *p = rdb_take(r, n);
  if (p == NULL) return 0;
  uint64_t high = first < 0x80 ? first & 63u : 0;
  return high << 8 | rdb_big_endian(p, n);
}

static uint64_t rdb_length(nay_rdb_reader *r) {
  const uint8_t *first = rdb_take(r, 1);
  return first == NULL ? 0 : rdb_length_after(r, *first);
}

static void rdb_expect(nay_rdb_reader *r, uint64_t opcode, const char *wrong) {
  if (rdb_length(r) != opcode) rdb_fail(r, wrong);
}

uint64_t nay__rdb_read_number(nay_rdb_reader *r) {
  rdb_expect(r, RDB_UNSIGNED, "a number was expected");
  return rdb_length(r);
}

uint64_t nay__rdb_read_double(nay_rdb_reader *r) {
  rdb_expect(r, RDB_DOUBLE, "a double was expected");
  const uint8_t *p = rdb_take(r, 8);
  return p == NULL ? 0 : nay__load64le(p);
}

/* The decimal digits of a number, as a string of up to 11 characters. */
static size_t rdb_digits(int64_t value, char digits[12]) {
  char reversed[12];
  size_t n = 0, len = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    reversed[n++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) digits[len++] = '-';
  while (n != 0) digits[len++] = reversed[--n];
  return len;
}

static nay_rdb_string rdb_read_integer(nay_rdb_reader *r, uint8_t first) {
  nay_rdb_string s = {0};
  unsigned n = first == RDB_INT8 ? 1 : first == RDB_INT16 ? 2 : 4;
  const uint8_t *p = rdb_take(r, n);
  if (p == NULL) return s;
  int64_t value = n == 1   ? (int8_t)p[0]
                  : n == 2 ? (int16_t)nay__load16le(p)
                           : (int32_t)nay__load32le(p);
  s.len = rdb_digits(value, s.digits);
  return s;
}

static nay_rdb_string rdb_read_packed(nay_rdb_reader *r) {
  nay_rdb_string s = {0};
  uint64_t npacked = rdb_length(r), len = rdb_length(r);
  /* before anybody allocates: no LZF of this length unpacks to more */
  if (npacked == 0 || len == 0 || len / NAY_LZF_MAX_RATIO > npacked) {
    rdb_fail(r, "a packed string claims too much");
    return s;
  }
  s.packed = rdb_take(r, npacked);
  if (s.packed == NULL) return s;
  s.npacked = (size_t)npacked;
  s.len = (size_t)len;
  return s;
}

nay_rdb_string nay__rdb_read_string(nay_rdb_reader *r) {
  nay_rdb_string s = {0};
  rdb_expect(r, RDB_STRING, "a string was expected");
  const uint8_t *first = rdb_take(r, 1);
  if (first == NULL) return s;
  if (*first == RDB_LZF) return rdb_read_packed(r);
  if (*first >= RDB_INT8 && *first <= RDB_INT32) return rdb_read_integer(r, *first);
  uint64_t len = rdb_length_after(r, *first);
  s.packed = rdb_take(r, len);
  if (s.packed != NULL) s.len = (size_t)len;
  return s;
}

bool nay__rdb_write_out(const nay_rdb_string *s, uint8_t *dst) {
  if (s->npacked != 0) return nay__lzf_expand(s->packed, s->npacked, dst, s->len);
  const void *bytes = s->packed != NULL ? (const void *)s->packed : s->digits;
  if (dst != NULL && s->len != 0) memcpy(dst, bytes, s->len);
  return true;
}

bool nay__rdb_starts(const uint8_t *bytes, size_t len, uint64_t type_id) {
  return len >= 10 && bytes[0] == RDB_MODULE_2 && bytes[1] == 0x81 &&
         (rdb_big_endian(bytes + 2, 8) & RDB_ID_MASK) == type_id;
}

nay_status nay__rdb_open(const uint8_t *bytes, size_t len, uint64_t type_id, unsigned encver,
                         nay_diag *diag, nay_rdb_reader *reader, uint32_t *rdb_version) {
  if (!nay__rdb_starts(bytes, len, type_id)) {
    return nay__fail(diag, NAY_EFORMAT, "not a value of this type, as DUMP writes it", 0);
  }
  if (len < 10 + NAY_RDB_FOOTER) return nay__fail(diag, NAY_ECORRUPT, "shorter than a value", len);
  if (rdb_crc64(bytes, len - 8) != nay__load64le(bytes + len - 8)) {
    return nay__fail(diag, NAY_ECORRUPT, "the checksum is wrong", len - 8);
  }
  if ((rdb_big_endian(bytes + 2, 8) & ~RDB_ID_MASK) != encver) {
    return nay__fail(diag, NAY_EVERSION, "this version of the type's encoding is not read", 2);
  }
  *rdb_version = nay__load16le(bytes + len - NAY_RDB_FOOTER);
  *reader = (nay_rdb_reader){.bytes = bytes, .at = 10, .end = len - NAY_RDB_FOOTER};
  return NAY_OK;
}

nay_status nay__rdb_close(const nay_rdb_reader *reader, nay_diag *diag) {
  nay_rdb_reader r = *reader;
  rdb_expect(&r, RDB_EOF, "the value does not end where it should");
  if (r.at != r.end) rdb_fail(&r, "bytes follow the value");
  return r.wrong == NULL ? NAY_OK : nay__fail(diag, NAY_ECORRUPT, r.wrong, r.at);
}

/* ---- writing ---- */

static void rdb_put(nay_rdb_writer *w, const void *bytes, size_t len) {
  if (w->dst != NULL && len != 0) memcpy(w->dst + w->len, bytes, len);
  w->len += len;
}

static void rdb_put_big_endian(nay_rdb_writer *w, uint8_t first, uint64_t value, unsigned n) {
  uint8_t bytes[9] = {first};
  for (unsigned i = 0; i < n; i++) bytes[1 + i] = (uint8_t)(value >> (8 * (n - 1 - i)));
  rdb_put(w, bytes, 1 + n);
}

static void rdb_put_length(nay_rdb_writer *w, uint64_t value) {
  if (value < 1u << 6) {
    rdb_put_big_endian(w, (uint8_t)value, 0, 0);
  } else if (value < 1u << 14) {
    rdb_put_big_endian(w, (uint8_t)(0x40 | value >> 8), value, 1);
  } else if (value <= UINT32_MAX) {
    rdb_put_big_endian(w, 0x80, value, 4);
  } else {
    rdb_put_big_endian(w, 0x81, value, 8);
  }
}

void nay__rdb_begin(nay_rdb_writer *w, uint64_t type_id, unsigned encver) {
  rdb_put_length(w, RDB_MODULE_2);
  rdb_put_big_endian(w, 0x81, type_id | encver, 8);
}

void nay__rdb_write_number(nay_rdb_writer *w, uint64_t value) {
  rdb_put_length(w, RDB_UNSIGNED);
  rdb_put_length(w, value);
}

void nay__rdb_write_double(nay_rdb_writer *w, uint64_t bits) {
  uint8_t bytes[8];
  nay__store64le(bytes, bits);
  rdb_put_length(w, RDB_DOUBLE);
  rdb_put(w, bytes, sizeof bytes);
}

/* Strings that are the digits of a 32-bit integer become that integer. */
static bool rdb_put_integer(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  char digits[12];
  int64_t value = 0;
  if (len == 0 || len > 11) return false;
  for (size_t i = bytes[0] == '-'; i < len; i++) {
    if (bytes[i] < '0' || bytes[i] > '9') return false;
    value = value * 10 + (bytes[i] - '0');
  }
  if (bytes[0] == '-') value = -value;
  if (value < INT32_MIN || value > INT32_MAX) return false;
  /* not "007" or "-0": those would come back as others */
  if (rdb_digits(value, digits) != len || memcmp(digits, bytes, len) != 0) return false;
  unsigned n = value >= INT8_MIN && value <= INT8_MAX ? 1 : value == (int16_t)value ? 2 : 4;
  uint8_t out[5] = {n == 1 ? RDB_INT8 : n == 2 ? RDB_INT16 : RDB_INT32};
  nay__store32le(out + 1, (uint32_t)value);
  rdb_put(w, out, 1 + n);
  return true;
}

static bool rdb_put_packed(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  if (len < RDB_PACKED_FROM) return false;
  size_t npacked = nay__lzf_compress(bytes, len, NULL, len - 4, w->table);
  if (npacked == 0) return false;
  rdb_put_big_endian(w, RDB_LZF, 0, 0);
  rdb_put_length(w, npacked);
  rdb_put_length(w, len);
  if (w->dst != NULL) nay__lzf_compress(bytes, len, w->dst + w->len, len - 4, w->table);
  w->len += npacked;
  return true;
}

void nay__rdb_write_string(nay_rdb_writer *w, const uint8_t *bytes, size_t len) {
  rdb_put_length(w, RDB_STRING);
  if (rdb_put_integer(w, bytes, len) || rdb_put_packed(w, bytes, len)) return;
  rdb_put_length(w, len);
  rdb_put(w, bytes, len);
}

void nay__rdb_end(nay_rdb_writer *w, uint32_t rdb_version) {
  uint8_t bytes[8];
  rdb_put_length(w, RDB_EOF);
  nay__store16le(bytes, (uint16_t)rdb_version);
  rdb_put(w, bytes, 2);
  if (w->dst != NULL) nay__store64le(bytes, rdb_crc64(w->dst, w->len));
  rdb_put(w, bytes, 8);
}
#undef RDB_ID_MASK
#undef RDB_MODULE_2
#undef RDB_PACKED_FROM

/* ==== src/format/lzf.c ====================================================================== */
/*
 * lzf.c - see lzf.h. A match is looked for where the same three bytes were last seen, as a table of
 * 2^16 places remembers it; after a match the places of its last two bytes are entered, the others
 * are not. These choices are Redis' (HLOG 16, VERY_FAST) and show in the bytes.
 */

#define LZF_MAX_LITERALS 32u
#define LZF_MAX_BACK (1u << 13)
#define LZF_MAX_MATCH ((size_t)264)

typedef struct lzf_out {
  uint8_t *dst; /* NULL: only count */
  size_t len, cap;
  size_t run; /* where the count of the open run of literals stands */
  unsigned nliterals;
} lzf_out;

static void lzf_put(lzf_out *out, uint8_t byte) {
  if (out->dst != NULL && out->len < out->cap) out->dst[out->len] = byte;
  out->len++;
}

static void lzf_open_run(lzf_out *out) {
  out->run = out->len;
  out->nliterals = 0;
  lzf_put(out, 0);
}

/* A run of nothing takes its count back. */
static void lzf_close_run(lzf_out *out) {
  if (out->nliterals == 0) {
    out->len--;
  } else if (out->dst != NULL && out->run < out->cap) {
    out->dst[out->run] = (uint8_t)(out->nliterals - 1);
  }
}

static void lzf_literal(lzf_out *out, uint8_t byte) {
  lzf_put(out, byte);
  if (++out->nliterals == LZF_MAX_LITERALS) {
    lzf_close_run(out);
    lzf_open_run(out);
  }
}

static void lzf_copy(lzf_out *out, size_t back, size_t len) {
  lzf_close_run(out);
  size_t l = len - 2, o = back - 1;
  lzf_put(out, (uint8_t)((l < 7 ? l : 7) << 5 | o >> 8));
  if (l >= 7) lzf_put(out, (uint8_t)(l - 7));
  lzf_put(out, (uint8_t)o);
  lzf_open_run(out);
}

static uint32_t *lzf_place(uint32_t *table, const uint8_t *p) {
  uint32_t h = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
  return &table[((h >> 8) - h * 5) & 0xffff];
}

/*
 * How long the match of src + at with src + ref is; both have three bytes alike. Far from the end
 * Redis compares 16 bytes in one go and then one more, whatever the limit says.
 */
static size_t lzf_match(const uint8_t *src, size_t len, size_t ref, size_t at) {
  size_t most = len - at - 2, n = 2;
  if (most > LZF_MAX_MATCH) most = LZF_MAX_MATCH;
  while (most > 16 && n < 18) {
    n++;
    if (src[ref + n] != src[at + n]) return n;
  }
  do n++;
  while (n < most && src[ref + n] == src[at + n]);
  return n;
}

/* Whether Redis would still go on: it wants some bytes of room before it writes. */
static bool lzf_has_room(const lzf_out *out, size_t more) { return out->len + more <= out->cap; }

size_t nay__lzf_compress(const uint8_t *src, size_t len, uint8_t *dst, size_t cap,
                         uint32_t *table) {
  lzf_out out = {.dst = dst, .cap = cap};
  memset(table, 0, NAY_LZF_TABLE_LEN); /* place 0 is never a match: the first byte is not */
  lzf_open_run(&out);
  size_t at = 0;
  while (at + 2 < len) {
    uint32_t *place = lzf_place(table, src + at);
    uint32_t last = *place, back = (uint32_t)at - last; /* places modulo 2^32: near is near */
    *place = (uint32_t)at;
    if (last == 0 || back - 1 >= LZF_MAX_BACK || memcmp(src + at - back, src + at, 3) != 0) {
      if (!lzf_has_room(&out, 1)) return 0;
      lzf_literal(&out, src[at++]);
      continue;
    }
    if (!lzf_has_room(&out, out.nliterals == 0 ? 4 : 5)) return 0;
    size_t n = lzf_match(src, len, at - back, at);
    lzf_copy(&out, back, n);
    at += n;
    if (at + 2 >= len) break;
    *lzf_place(table, src + at - 2) = (uint32_t)(at - 2);
    *lzf_place(table, src + at - 1) = (uint32_t)(at - 1);
  }
  if (!lzf_has_room(&out, 3)) return 0;
  while (at < len) lzf_literal(&out, src[at++]);
  lzf_close_run(&out);
  return out.len;
}

bool nay__lzf_expand(const uint8_t *src, size_t len, uint8_t *dst, size_t want) {
  size_t in = 0, out = 0;
  while (in < len) {
    size_t head = src[in++];
    if (head < LZF_MAX_LITERALS) {
      size_t n = head + 1;
      if (n > len - in || n > want - out) return false;
      if (dst != NULL) memcpy(dst + out, src + in, n);
      in += n;
      out += n;
      continue;
    }
    size_t n = (head >> 5) + 2;
    if (n == 9) {
      if (in == len) return false;
      n += src[in++];
    }
    if (in == len) return false;
    size_t back = ((head & 31) << 8 | src[in++]) + 1;
    if (back > out || n > want - out) return false;
    for (; n > 0; n--, out++) { /* byte by byte: the copy may read what it writes */
      if (dst != NULL) dst[out] = dst[out - back];
    }
  }
  return out == want;
}
#undef LZF_MAX_BACK
#undef LZF_MAX_LITERALS
#undef LZF_MAX_MATCH

/* ==== src/policy/policy.c =================================================================== */
/* policy.c - see policy.h. */

/* ==== src/policy/policy.h =================================================================== */
/* policy.h - what the policies of the library share: arguments, sizes, LevelDB's recipe for both.
 */
#ifndef NAY_POLICY_PRIVATE_H
#define NAY_POLICY_PRIVATE_H

/* nay__policy_args: NAY_EINVAL when an array is missing; who hashes the keys looks at each. */
nay_status nay__policy_args(const void *const *keys, const size_t *lens, size_t n, uint8_t **filter,
                            const size_t *len);

/* nay__policy_bits: checks bits_per_key and fills in a policy that has nothing else to say. */
nay_status nay__policy_bits(uint32_t bits_per_key, nay_policy *policy);

/*
 * nay__policy_size: bytes of LevelDB's filter of n keys, its array and one for k. NAY_ENOMEM when
 * that leaves the range of size_t.
 */
nay_status nay__policy_size(const nay_policy *self, size_t n, size_t *size);

/*
 * Setting bits of a small array one after the other is slow: each is a load, an or and a store, and
 * in so few bytes the next load waits for the last store. So small arrays are made in a scratch
 * that has a byte for each bit, to be set to 1: stores alone, which do not wait. nay__policy_pack
 * makes bits of it. Measured, for LevelDB's filters of 20 keys: 4.8 ns a key, instead of 6.6.
 */
#define NAY_POLICY_SCRATCH 8192u /* bits: 500 keys of 16; larger arrays rarely meet themselves */

/* nay__policy_clear: zeros nbits bytes. A call, because memset of a size that is known to be small
 * becomes a string instruction with a slow start. */
void nay__policy_clear(uint8_t *scratch, size_t nbits);

/* nay__policy_pack: bit i is byte i of the scratch, which is 0 or 1; nbits is a multiple of 8. */
void nay__policy_pack(const uint8_t *scratch, size_t nbits, uint8_t *bits);

/* nay__policy_key: a key of no bytes may be NULL, which hash functions must not see. */
static inline const uint8_t *nay__policy_key(const void *key) {
  return key != NULL ? key : (const uint8_t *)"";
}

#endif /* NAY_POLICY_PRIVATE_H */

#define POLICY_MAX_BITS_PER_KEY 4096u /* as in nay_params */

nay_status nay__policy_args(const void *const *keys, const size_t *lens, size_t n, uint8_t **filter,
                            const size_t *len) {
  if (filter == NULL || len == NULL || (n != 0 && (keys == NULL || lens == NULL))) {
    return NAY_EINVAL;
  }
  return NAY_OK;
}

nay_status nay__policy_bits(uint32_t bits_per_key, nay_policy *policy) {
  if (policy == NULL || bits_per_key == 0 || bits_per_key > POLICY_MAX_BITS_PER_KEY) {
    return NAY_EINVAL;
  }
  *policy = (nay_policy){.params = {.kind = NAY_BLOOM, .bits_per_key = bits_per_key}};
  return NAY_OK;
}

nay_status nay__policy_size(const nay_policy *self, size_t n, size_t *size) {
  size_t nbits;
  if (!nay__mul_ok(n, (size_t)self->params.bits_per_key, &nbits)) return NAY_ENOMEM;
  *size = (size_t)nay__ceil_div(nay__max_u64(nbits, 64), 8) + 1;
  return NAY_OK;
}

void nay__policy_clear(uint8_t *scratch, size_t nbits) { memset(scratch, 0, nbits); }

/* The factor brings the lowest bits of the 8 bytes side by side into the top byte. */
void nay__policy_pack(const uint8_t *scratch, size_t nbits, uint8_t *bits) {
  const uint64_t gather = 0x0102040810204080u;
  size_t i = 0;
  for (; i + 32 <= nbits; i += 32) {
    uint64_t a = nay__load64le(scratch + i) * gather >> 56;
    uint64_t b = nay__load64le(scratch + i + 8) * gather >> 56;
    uint64_t c = nay__load64le(scratch + i + 16) * gather >> 56;
    uint64_t d = nay__load64le(scratch + i + 24) * gather >> 56;
    nay__store32le(bits + i / 8, (uint32_t)(a | b << 8 | c << 16 | d << 24));
  }
  for (; i < nbits; i += 8) bits[i / 8] = (uint8_t)(nay__load64le(scratch + i) * gather >> 56);
}
#undef POLICY_MAX_BITS_PER_KEY

/* ==== src/policy/policy_leveldb.c =========================================================== */
/*
 * policy_leveldb.c - "leveldb.BuiltinBloomFilter2": LevelDB's own filters, byte for byte.
 *
 *   | bits, max(64, n * bits_per_key) rounded up to bytes | k u8 |
 *
 * k = trunc(0.69 * bits_per_key) in [1, 30]. A key's 32-bit hash h gives bit h % m, h += delta, k
 * times, delta being h rotated right by 17. A filter of fewer than 2 bytes matches nothing; k above
 * 30 is reserved and matches everything, and so does k = 0, which probes nothing.
 *
 * format/fmt_leveldb.c reads and writes the same bytes as a nay_filter. Here are only the two calls
 * that an engine makes a million times: no handle, and no division. The remainder of a 32-bit
 * number by m needs two multiplications once 2^64 / m is known (Lemire, Kaser, Kurz: Faster
 * remainder by direct computation, 2019: exact for all 32-bit h and m).
 */

#define LEVELDB_SEED 0xbc9f1d34u
#define LEVELDB_MAX_K 30u
#define LEVELDB_BATCH 64u

/* divisor: remainders by m; reciprocal 0 when m is above 2^32 and h % m is h. */
typedef struct leveldb_divisor {
  uint64_t reciprocal, m;
} leveldb_divisor;

static leveldb_divisor leveldb_divisor_of(uint64_t m) {
  return (leveldb_divisor){m <= UINT32_MAX ? UINT64_MAX / m + 1 : 0, m};
}

static inline uint64_t leveldb_remainder(leveldb_divisor d, uint32_t h) {
  return d.reciprocal != 0 ? nay__mulhi(d.reciprocal * h, d.m) : h;
}

static uint32_t leveldb_k(const nay_policy *self) {
  uint32_t k =
      (uint32_t)self->params.bits_per_key * 69 / 100; /* as trunc(b * 0.69), up to b = 99 */
  return k < 1 ? 1 : k > LEVELDB_MAX_K ? LEVELDB_MAX_K : k;
}

/* Whether four keys have the same length, in whole words, and are there. */
static inline bool leveldb_four_alike(const void *const *keys, const size_t *lens) {
  size_t len = lens[0];
  bool there = keys[0] != NULL && keys[1] != NULL && keys[2] != NULL && keys[3] != NULL;
  return len % 4 == 0 && there && len == lens[1] && len == lens[2] && len == lens[3];
}

/*
 * Hashing is a chain of multiplications for each key: the batch lets those of several overlap.
 * False: a key is NULL and has a length.
 */
static bool leveldb_hash_batch(const void *const *keys, const size_t *lens, size_t n,
                               uint32_t *hashes) {
  size_t i = 0;
  for (; i + 4 <= n && leveldb_four_alike(keys + i, lens + i); i += 4) {
    nay__leveldb_hash_four(keys + i, lens[i], LEVELDB_SEED, hashes + i);
  }
  for (; i < n; i++) {
    if (NAY_UNLIKELY(keys[i] == NULL && lens[i] != 0)) return false;
    hashes[i] = nay__leveldb_hash(keys[i], lens[i], LEVELDB_SEED);
  }
  return true;
}

static inline void leveldb_mark_one(uint8_t *scratch, leveldb_divisor d, uint32_t h) {
  scratch[nay__mulhi(d.reciprocal * h, d.m)] = 1;
}

/* One key's k bytes of the scratch. Six at a time: k is 6 at 10 bits per key. */
static inline void leveldb_mark(uint8_t *scratch, leveldb_divisor d, uint32_t h, uint32_t k) {
  uint32_t delta = nay__rotr32(h, 17);
  for (; k >= 6; k -= 6, h += 6 * delta) {
    leveldb_mark_one(scratch, d, h);
    leveldb_mark_one(scratch, d, h + delta);
    leveldb_mark_one(scratch, d, h + 2 * delta);
    leveldb_mark_one(scratch, d, h + 3 * delta);
    leveldb_mark_one(scratch, d, h + 4 * delta);
    leveldb_mark_one(scratch, d, h + 5 * delta);
  }
  for (; k > 0; k--, h += delta) leveldb_mark_one(scratch, d, h);
}

static bool leveldb_fill_small(const void *const *keys, const size_t *lens, size_t n, uint32_t k,
                               uint8_t *bits, uint32_t m) {
  uint8_t scratch[NAY_POLICY_SCRATCH];
  nay__policy_clear(scratch, m);
  leveldb_divisor d = leveldb_divisor_of(m);
  uint32_t hashes[LEVELDB_BATCH];
  for (size_t done = 0, batch; done < n; done += batch) {
    batch = n - done < LEVELDB_BATCH ? n - done : LEVELDB_BATCH;
    if (!leveldb_hash_batch(keys + done, lens + done, batch, hashes)) return false;
    for (size_t i = 0; i < batch; i++) leveldb_mark(scratch, d, hashes[i], k);
  }
  nay__policy_pack(scratch, m, bits);
  return true;
}

static bool leveldb_fill(const void *const *keys, const size_t *lens, size_t n, uint32_t k,
                         uint8_t *bits, uint64_t m) {
  memset(bits, 0, (size_t)(m / 8));
  leveldb_divisor d = leveldb_divisor_of(m);
  uint32_t hash;
  for (size_t i = 0; i < n; i++) {
    if (!leveldb_hash_batch(keys + i, lens + i, 1, &hash)) return false;
    uint32_t delta = nay__rotr32(hash, 17);
    for (uint32_t j = 0; j < k; j++, hash += delta) nay__bit_set(bits, leveldb_remainder(d, hash));
  }
  return true;
}

static nay_status leveldb_create(const nay_policy *self, const void *const *keys,
                                 const size_t *lens, size_t n, const nay_allocator *allocator,
                                 uint8_t **filter, size_t *len) {
  size_t size;
  NAY_TRY(nay__policy_args(keys, lens, n, filter, len));
  NAY_TRY(nay__policy_size(self, n, &size));
  nay_allocator a = nay__allocator_or_default(allocator);
  uint8_t *bytes = nay__alloc(&a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  uint32_t k = leveldb_k(self);
  uint64_t m = (uint64_t)(size - 1) * 8;
  bool ok = m <= NAY_POLICY_SCRATCH ? leveldb_fill_small(keys, lens, n, k, bytes, (uint32_t)m)
                                    : leveldb_fill(keys, lens, n, k, bytes, m);
  if (!ok) {
    nay__free(&a, bytes, size);
    return NAY_EINVAL;
  }
  bytes[size - 1] = (uint8_t)k;
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static nay_hash leveldb_hash(const nay_policy *self, const void *key, size_t key_len) {
  (void)self;
  return (nay_hash){nay__leveldb_hash(key, key_len, LEVELDB_SEED), 0};
}

static bool leveldb_may_match_hash(const nay_policy *self, nay_hash hash, const uint8_t *filter,
                                   size_t len) {
  (void)self;
  if (len < 2) return false;
  uint32_t k = filter[len - 1];
  if (k > LEVELDB_MAX_K) return true;
  leveldb_divisor d = leveldb_divisor_of((uint64_t)(len - 1) * 8);
  uint32_t h = (uint32_t)hash.lo, delta = nay__rotr32(h, 17);
  for (uint32_t i = 0; i < k; i++, h += delta) {
    if (!nay__bit_get(filter, leveldb_remainder(d, h))) return false;
  }
  return true;
}

static bool leveldb_may_match(const nay_policy *self, const void *key, size_t key_len,
                              const uint8_t *filter, size_t len) {
  return leveldb_may_match_hash(self, leveldb_hash(self, key, key_len), filter, len);
}

nay_status nay_policy_leveldb(uint32_t bits_per_key, nay_policy *policy) {
  NAY_TRY(nay__policy_bits(bits_per_key, policy));
  policy->name = "leveldb.BuiltinBloomFilter2";
  policy->create = leveldb_create;
  policy->may_match = leveldb_may_match;
  policy->hash = leveldb_hash;
  policy->may_match_hash = leveldb_may_match_hash;
  return NAY_OK;
}
#undef LEVELDB_BATCH
#undef LEVELDB_MAX_K
#undef LEVELDB_SEED

/* ==== src/policy/policy_small.c ============================================================= */
/*
 * policy_small.c - "nay.small.v1": Bloom filters of a few dozen keys, with a check that is certain.
 *
 *   | head u8 | m bits, least significant first | check u8 |        len bytes, m = 8 * (len - 2)
 *
 *   head  = 84 * (len % 3) + 21 * salt + k         k in [1, 21], salt in [0, 3]; 0 and 253 to 255
 *                                                  are reserved
 *   check = 83 * (len % 3) + x % 83                x: the bytes before it, folded into 64 bits
 *
 * len is that of LevelDB's own filter for as many keys. Probe i of a key is bit
 * floor(g_i * m / 2^64), g_i = rotl64(h, 8 * salt) * G^i mod 2^64, G = 0x9e3779b97f4a7c15,
 * h = XXH3 of the key: the independent probes of family bloom. LevelDB's lie on a line, and in a
 * small array lines meet: at 50 keys of 16 bits its rate is 2.5 times that of independent ones.
 *
 * The salt. The fewer bits the keys happen to set, the lower the rate, and for few keys luck is
 * large: +-4 % of the bits for 20 keys, +-25 % of the rate. The writer makes the filter with each
 * of four salts and keeps the one with the fewest bits set; above 8192 bits luck is small, and the
 * salt is 0.
 *
 * The check. x is the exclusive or of all 8-byte words, the last one padded with zeros, word i
 * rotated left by 5 * (i % 4). A flipped bit of the filter flips exactly one bit of x, and so
 * changes it, as a number, by
 * +-2^j, which no odd modulus divides: x % 83 becomes another one, always. (83 is a prime of which
 * 2 is a primitive root: of the pairs of bits of x, few cancel each other.) A flipped bit of the
 * check itself is seen as well, for the byte has one right value. Where filters lie side by side
 * behind an array of offsets, as in LevelDB, a flipped bit of an offset moves one end of two
 * filters by 2^j bytes. Then len % 3 has changed for certain, and the byte at the end that did not
 * move, head or check, still has the old one. So every single flipped bit, wherever, is noticed;
 * of random damage 1 in 250 is not.
 *
 * Only a nay needs the check: a maybe harms nobody. Keys that are there do not pay for it.
 */

/* ==== src/cpu/lanes.h ======================================================================= */
/*
 * lanes.h - the exclusive or of many words, in four lanes: word i goes to lane i % 4.
 *
 * Every x86-64 has SSE2, so there is nothing to dispatch; two words at a time are twice as fast,
 * because what limits this loop is the number of loads.
 */
#ifndef NAY_LANES_H
#define NAY_LANES_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define NAY_LANES_BYTES 32u

/* nay__lanes: of the nbytes at p, a multiple of 32; little-endian words, any alignment. */
static inline void nay__lanes(const uint8_t *p, size_t nbytes, uint64_t lane[4]) {
#if defined(__SSE2__)
  __m128i low = _mm_setzero_si128(), high = low;
  for (size_t i = 0; i < nbytes; i += NAY_LANES_BYTES) {
    low = _mm_xor_si128(low, _mm_loadu_si128((const __m128i *)(const void *)(p + i)));
    high = _mm_xor_si128(high, _mm_loadu_si128((const __m128i *)(const void *)(p + i + 16)));
  }
  _mm_storeu_si128((__m128i *)(void *)lane, low);
  _mm_storeu_si128((__m128i *)(void *)(lane + 2), high);
#else
  lane[0] = lane[1] = lane[2] = lane[3] = 0;
  for (size_t i = 0; i < nbytes; i += NAY_LANES_BYTES) {
    for (unsigned j = 0; j < 4; j++) lane[j] ^= nay__load64le(p + i + 8 * j);
  }
#endif
}

#endif /* NAY_LANES_H */

#define SMALL_SEED 0x6e61792e736d616cu /* "nay.smal": not the hash that shards are chosen by */
#define SMALL_MIN_LEN 3u
#define SMALL_MAX_K 21u
#define SMALL_SALTS 4u
#define SMALL_MODULUS 83u
#define SMALL_G2 (NAY_G64 * NAY_G64)
#define SMALL_G3 (NAY_G64 * NAY_G64 * NAY_G64)
#define SMALL_G4 (NAY_G64 * NAY_G64 * NAY_G64 * NAY_G64)

static inline uint64_t small_salted(uint64_t hash, unsigned salt) {
  return salt == 0 ? hash : nay__rotl64(hash, 8 * salt);
}

static inline uint64_t small_hash_key(const void *key, size_t len) {
  return XXH3_64bits_withSeed(nay__policy_key(key), len, SMALL_SEED);
}

/* ---- the check ---- */

/* The 8 bytes at p + i, of which those past the end count as zero; len is 8 at least. */
static inline uint64_t small_word(const uint8_t *p, size_t i, size_t len) {
  return i + 8 <= len ? nay__load64le(p + i) : nay__load64le(p + len - 8) >> (8 * (i + 8 - len));
}

/* The last words, fewer than four, from the end: each turn rotates those behind it once more. */
static uint64_t small_fold(const uint8_t *p, size_t len) {
  uint8_t padded[8] = {0};
  if (len < 8) { /* nobody writes such filters */
    memcpy(padded, p, len);
    return nay__load64le(padded);
  }
  uint64_t x = 0, lane[4];
  size_t whole = len / NAY_LANES_BYTES * NAY_LANES_BYTES;
  for (size_t i = (len + 7) / 8 * 8; i > whole; i -= 8) {
    x = nay__rotl64(x, 5) ^ small_word(p, i - 8, len);
  }
  if (whole == 0) return x;
  nay__lanes(p, whole, lane);
  x ^= lane[0] ^ nay__rotl64(lane[1], 5) ^ nay__rotl64(lane[2], 10) ^ nay__rotl64(lane[3], 15);
  return x;
}

static uint8_t small_check(const uint8_t *filter, size_t len) {
  uint64_t x = small_fold(filter, len - 1);
  return (uint8_t)(SMALL_MODULUS * (len % 3) + x % SMALL_MODULUS);
}

/* ---- create ---- */

/* The nearest whole number to m / n * ln 2, where a Bloom filter has its lowest rate. */
static uint32_t small_best_k(uint64_t m, uint64_t n) {
  if (n == 0) return 1;
  if (m / n >= 31) return SMALL_MAX_K;
  uint64_t k = (m * 2839 + n * 2048) / (n * 4096); /* 2839 / 4096: ln 2 */
  return k < 1 ? 1 : k > SMALL_MAX_K ? SMALL_MAX_K : (uint32_t)k;
}

static void small_fill(const uint64_t *hashes, size_t n, unsigned salt, const nay_bits *bits) {
  memset(bits->bytes, 0, (size_t)(bits->nunits / 8));
  for (size_t i = 0; i < n; i++) {
    uint64_t h = small_salted(hashes[i], salt);
    for (uint32_t j = 0; j < bits->k; j++, h *= NAY_G64) {
      nay__bit_set(bits->bytes, nay__reduce(h, bits->nunits));
    }
  }
}

/* The same through a scratch, which has room for small filters only. */
static void small_fill_scratch(const uint64_t *hashes, size_t n, unsigned salt,
                               const nay_bits *bits) {
  uint8_t scratch[NAY_POLICY_SCRATCH];
  const uint64_t m = bits->nunits;
  nay__policy_clear(scratch, (size_t)m);
  for (size_t i = 0; i < n; i++) {
    uint64_t h = small_salted(hashes[i], salt);
    uint32_t j = bits->k;
    for (; j >= 3; j -= 3, h *= SMALL_G3) {
      scratch[nay__reduce(h, m)] = 1;
      scratch[nay__reduce(h * NAY_G64, m)] = 1;
      scratch[nay__reduce(h * SMALL_G2, m)] = 1;
    }
    for (; j > 0; j--, h *= NAY_G64) scratch[nay__reduce(h, m)] = 1;
  }
  nay__policy_pack(scratch, (size_t)m, bits->bytes);
}

/* Makes the filter with each salt, keeps that with the fewest bits set, and returns the salt. */
static unsigned small_fill_best(const uint64_t *hashes, size_t n, const nay_bits *bits) {
  uint8_t best[NAY_POLICY_SCRATCH / 8];
  size_t nbytes = (size_t)(bits->nunits / 8);
  uint64_t fewest = UINT64_MAX;
  unsigned chosen = 0;
  for (unsigned salt = 0; salt < SMALL_SALTS; salt++) {
    small_fill_scratch(hashes, n, salt, bits);
    uint64_t set = nay__bits_count(bits->bytes, nbytes);
    if (set >= fewest) continue;
    fewest = set;
    chosen = salt;
    memcpy(best, bits->bytes, nbytes);
  }
  memcpy(bits->bytes, best, nbytes);
  return chosen;
}

static void small_write(const uint64_t *hashes, size_t n, uint8_t *filter, size_t len) {
  nay_bits bits = {.bytes = filter + 1, .nunits = (uint64_t)(len - 2) * 8};
  bits.k = small_best_k(bits.nunits, n);
  unsigned salt = 0;
  if (bits.nunits <= NAY_POLICY_SCRATCH) {
    salt = small_fill_best(hashes, n, &bits);
  } else {
    small_fill(hashes, n, salt, &bits);
  }
  filter[0] = (uint8_t)(SMALL_MAX_K * (SMALL_SALTS * (len % 3) + salt) + bits.k);
  filter[len - 1] = small_check(filter, len);
}

static nay_status small_hash_all(const void *const *keys, const size_t *lens, size_t n,
                                 uint64_t *hashes) {
  for (size_t i = 0; i < n; i++) {
    if (keys[i] == NULL && lens[i] != 0) return NAY_EINVAL;
    hashes[i] = small_hash_key(keys[i], lens[i]);
  }
  return NAY_OK;
}

/* Sorted, so that a repeated key counts once, and order not at all. */
static nay_status small_make(uint64_t *hashes, size_t n, size_t size, const nay_allocator *a,
                             uint8_t **filter, size_t *len) {
  uint8_t *bytes = nay__alloc(a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  nay__sort_u64(hashes, n);
  small_write(hashes, nay__unique_u64(hashes, n), bytes, size);
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static nay_status small_create(const nay_policy *self, const void *const *keys, const size_t *lens,
                               size_t n, const nay_allocator *allocator, uint8_t **filter,
                               size_t *len) {
  size_t size;
  NAY_TRY(nay__policy_args(keys, lens, n, filter, len));
  NAY_TRY(nay__policy_size(self, n, &size));
  nay_allocator a = nay__allocator_or_default(allocator);
  uint64_t few[64], *hashes = few;
  if (n > sizeof few / sizeof few[0]) hashes = nay__alloc(&a, n * sizeof *hashes);
  if (hashes == NULL) return NAY_ENOMEM;
  nay_status status = small_hash_all(keys, lens, n, hashes);
  if (status == NAY_OK) status = small_make(hashes, n, size, &a, filter, len);
  if (hashes != few) nay__free(&a, hashes, n * sizeof *hashes);
  return status;
}

/* ---- may match ---- */

static nay_hash small_hash(const nay_policy *self, const void *key, size_t key_len) {
  (void)self;
  return (nay_hash){small_hash_key(key, key_len), 0};
}

/* Four probes and one branch, which absent keys take 15 times of 16: it is foreseen. */
static inline bool small_probe(const uint8_t *bits, uint64_t m, uint64_t h, uint32_t k) {
  for (; k >= 4; k -= 4, h *= SMALL_G4) {
    bool a = nay__bit_get(bits, nay__reduce(h, m));
    bool b = nay__bit_get(bits, nay__reduce(h * NAY_G64, m));
    bool c = nay__bit_get(bits, nay__reduce(h * SMALL_G2, m));
    bool d = nay__bit_get(bits, nay__reduce(h * SMALL_G3, m));
    if (!(a & b & c & d)) return false;
  }
  for (; k > 0; k--, h *= NAY_G64) {
    if (!nay__bit_get(bits, nay__reduce(h, m))) return false;
  }
  return true;
}

static bool small_may_match_hash(const nay_policy *self, nay_hash hash, const uint8_t *filter,
                                 size_t len) {
  (void)self;
  if (len < SMALL_MIN_LEN) return true;
  uint32_t head = (uint32_t)filter[0] - 1, k = head % SMALL_MAX_K + 1;
  uint32_t salt = head / SMALL_MAX_K % SMALL_SALTS;
  if (head / (SMALL_MAX_K * SMALL_SALTS) != len % 3) return true; /* reserved values as well */
  uint64_t h = small_salted(hash.lo, salt), m = (uint64_t)(len - 2) * 8;
  return small_probe(filter + 1, m, h, k) || small_check(filter, len) != filter[len - 1];
}

static bool small_may_match(const nay_policy *self, const void *key, size_t key_len,
                            const uint8_t *filter, size_t len) {
  return small_may_match_hash(self, small_hash(self, key, key_len), filter, len);
}

nay_status nay_policy_small(uint32_t bits_per_key, nay_policy *policy) {
  NAY_TRY(nay__policy_bits(bits_per_key, policy));
  policy->name = "nay.small.v1";
  policy->create = small_create;
  policy->may_match = small_may_match;
  policy->hash = small_hash;
  policy->may_match_hash = small_may_match_hash;
  return NAY_OK;
}
#undef SMALL_G2
#undef SMALL_G3
#undef SMALL_G4
#undef SMALL_MAX_K
#undef SMALL_MIN_LEN
#undef SMALL_MODULUS
#undef SMALL_SALTS
#undef SMALL_SEED

/* ==== src/policy/policy_filter.c ============================================================ */
/*
 * policy_filter.c - "nay.filter.v1": the native file of any family (doc/formats/nay.md) as a
 * policy's filter. The file says what it is, so a reader needs no params but a secret key.
 */

static nay_status filter_policy_encode(const nay_filter *f, const nay_allocator *a,
                                       uint8_t **filter, size_t *len) {
  size_t size = nay_filter_encoded_size(f), written;
  uint8_t *bytes = nay__alloc(a, size);
  if (bytes == NULL) return NAY_ENOMEM;
  nay_status status = nay_filter_encode(f, bytes, size, &written);
  if (status != NAY_OK) {
    nay__free(a, bytes, size);
    return status;
  }
  *filter = bytes;
  *len = size;
  return NAY_OK;
}

static nay_status filter_policy_create(const nay_policy *self, const void *const *keys,
                                       const size_t *lens, size_t n, const nay_allocator *allocator,
                                       uint8_t **filter, size_t *len) {
  NAY_TRY(nay__policy_args(keys, lens, n, filter, len));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_builder *builder;
  NAY_TRY(nay_builder_new(&self->params, &a, &builder));
  nay_status status = NAY_OK;
  for (size_t i = 0; i < n && status == NAY_OK; i++) {
    status = nay_builder_add(builder, keys[i], lens[i]);
  }
  nay_filter *f = NULL;
  if (status == NAY_OK) status = nay_builder_finish(builder, &f);
  if (status == NAY_OK) status = filter_policy_encode(f, &a, filter, len);
  nay_filter_free(f);
  nay_builder_free(builder);
  return status;
}

/* The filter in the bytes, or NULL when they are not one that this policy can ask. */
static const nay_filter *filter_policy_open(const nay_policy *self, const uint8_t *bytes,
                                            size_t len, nay_view *view) {
  const uint8_t *key = self->params.hash == NAY_HASH_SIPHASH ? self->params.key : NULL;
  return nay_view_open(bytes, len, key, NULL, view) == NAY_OK ? nay_view_filter(view) : NULL;
}

static bool filter_policy_may_match(const nay_policy *self, const void *key, size_t key_len,
                                    const uint8_t *filter, size_t len) {
  nay_view view;
  return nay_filter_may_contain(filter_policy_open(self, filter, len, &view), key, key_len);
}

static nay_hasher filter_policy_hasher(const nay_policy *self) {
  nay_hasher hasher = {.kind = NAY_HASH_XXH3};
  (void)nay__hasher_init(&self->params, NULL, &hasher); /* nay_policy_filter has tried it */
  return hasher;
}

static nay_hash filter_policy_hash(const nay_policy *self, const void *key, size_t key_len) {
  nay_hasher hasher = filter_policy_hasher(self);
  return nay__hash_key(&hasher, nay__policy_key(key), key_len);
}

/* A filter that was made with another seed or key would take the hash for that of another key. */
static bool filter_policy_may_match_hash(const nay_policy *self, nay_hash hash,
                                         const uint8_t *filter, size_t len) {
  nay_view view;
  const nay_filter *f = filter_policy_open(self, filter, len, &view);
  nay_hasher hasher = filter_policy_hasher(self);
  if (f == NULL || !nay__hasher_same(&f->hasher, &hasher)) return true;
  return nay_filter_may_contain_hash(f, hash);
}

nay_status nay_policy_filter(const nay_params *params, nay_policy *policy) {
  if (params == NULL || policy == NULL || params->hash == NAY_HASH_CALLER) return NAY_EINVAL;
  nay_params p = *params;
  nay_plan plan;
  if (p.nkeys == 0) p.nkeys = 1; /* any number, to have the other fields checked now */
  NAY_TRY(nay_params_plan(&p, NULL, &plan));
  *policy = (nay_policy){.name = "nay.filter.v1",
                         .create = filter_policy_create,
                         .may_match = filter_policy_may_match,
                         .hash = filter_policy_hash,
                         .may_match_hash = filter_policy_may_match_hash,
                         .params = *params};
  return NAY_OK;
}

/* ==== src/sst/order.c ======================================================================= */
/*
 * order.c - see order.h. The separators are LevelDB's to the byte: an index made with others would
 * be as good, but its file would not be the same.
 */

/* ==== src/sst/order.h ======================================================================= */
/*
 * order.h - how keys of a table compare, and short keys that separate two of them.
 *
 * Plain keys compare as bytes. Keys inside a LevelDB or RocksDB database are *internal keys*:
 *
 *   | user key | u64le: sequence << 8 | type |      type 1: a value, 0: a deletion
 *
 * ordered by user key, then by the number in descending order, so that the newest version of a key
 * comes first.
 */
#ifndef NAY_SST_ORDER_H
#define NAY_SST_ORDER_H

typedef enum nay_order { NAY_ORDER_BYTES, NAY_ORDER_INTERNAL } nay_order;

#define NAY_TRAILER 8u /* of an internal key */

/* The largest sequence (56 bits) and type that a search can ask for: the newest of all versions. */
#define NAY_TRAILER_NEWEST 0xffffffffffffff01u

/* nay__common: how many leading bytes a[0,n) and b[0,n) share. */
static inline size_t nay__common(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t differ = nay__load64le(a + i) ^ nay__load64le(b + i);
    if (differ != 0) return i + nay__ctz64(differ) / 8;
  }
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* nay__order_bytes: memcmp, then the shorter one first. */
static inline int nay__order_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len) {
  size_t n = a_len < b_len ? a_len : b_len;
  int order = n == 0 ? 0 : memcmp(a, b, n);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* nay_target: a key that is searched for; the trailer counts in the order of internal keys only. */
typedef struct nay_target {
  const uint8_t *user;
  size_t len;
  uint64_t trailer;
} nay_target;

/* nay__order_target: a stored key against a target. */
int nay__order_target(nay_order order, const uint8_t *key, size_t len, const nay_target *target);

/* nay__order: below 0, 0 or above. An internal key of fewer than 8 bytes has an empty user key. */
int nay__order(nay_order order, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len);

/* nay__user_len: the part of a key that users know. */
static inline size_t nay__user_len(nay_order order, size_t len) {
  if (order == NAY_ORDER_BYTES) return len;
  return len < NAY_TRAILER ? 0 : len - NAY_TRAILER;
}

/*
 * nay__order_separator: makes key, whose room is enough, the short key that LevelDB's comparators
 * choose: key <= result < next. next NULL: the table's last key, result >= key.
 */
void nay__order_separator(nay_order order, nay_buffer *key, const uint8_t *next, size_t next_len);

#endif /* NAY_SST_ORDER_H */

static uint64_t order_trailer(const uint8_t *key, size_t len) {
  return len < NAY_TRAILER ? 0 : nay__load64le(key + len - NAY_TRAILER);
}

int nay__order_target(nay_order order, const uint8_t *key, size_t len, const nay_target *target) {
  int users = nay__order_bytes(key, nay__user_len(order, len), target->user, target->len);
  if (users != 0 || order == NAY_ORDER_BYTES) return users;
  uint64_t trailer = order_trailer(key, len);
  return (trailer < target->trailer) - (trailer > target->trailer);
}

int nay__order(nay_order order, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len) {
  nay_target target = {b, nay__user_len(order, b_len), order_trailer(b, b_len)};
  return nay__order_target(order, a, a_len, &target);
}

/* Both return which byte to increment, cutting off what follows it; `len` when there is none. */
static size_t order_successor(const uint8_t *key, size_t len) {
  size_t i = 0;
  while (i < len && key[i] == 0xff) i++;
  return i;
}

static size_t order_between(const uint8_t *key, size_t len, const uint8_t *next, size_t next_len) {
  size_t least = len < next_len ? len : next_len, same = nay__common(key, next, least);
  bool room = same < least && key[same] != 0xff && key[same] + 1 < next[same];
  return room ? same : len;
}

void nay__order_separator(nay_order order, nay_buffer *key, const uint8_t *next, size_t next_len) {
  size_t old = nay__user_len(order, key->len), grows;
  if (next == NULL) {
    grows = order_successor(key->at, old);
  } else {
    grows = order_between(key->at, old, next, nay__user_len(order, next_len));
  }
  if (grows == old) return;
  if (order == NAY_ORDER_BYTES) {
    key->at[grows]++;
    key->len = grows + 1;
  } else if (grows + 1 < old) { /* an internal key is left alone if it does not become shorter */
    key->at[grows]++;
    /* a user key that no entry has: its newest version comes before all others of that key */
    nay__store64le(key->at + grows + 1, NAY_TRAILER_NEWEST);
    key->len = grows + 1 + NAY_TRAILER;
  }
}

/* ==== src/sst/block.c ======================================================================= */
/*
 * block.c - see block.h.
 *
 * A search never puts a key together. While it walks it knows `same`, how many leading bytes of the
 * target the present key has, and the byte that differs. The next key either shares more than that
 * with the present one, and then compares the same way without a look at it; or its suffix starts
 * at or before the difference, and is compared from there on.
 */

/* ==== src/sst/block.h ======================================================================= */
/*
 * block.h - blocks of sorted entries with shared prefixes: what LevelDB's and RocksDB's tables are
 * made of.
 *
 *   entry    | shared varint32 | unshared varint32 | value_len varint32 | key[shared..] | value |
 *   block    | entry | entry | ... | restart u32le x n | n u32le |
 *
 * Each key leaves out the `shared` bytes that it has in common with the key before it. At a restart
 * shared is 0, and the array at the end says where the restarts are: a search is a binary search
 * among them, then a walk of a few entries.
 *
 * The reader takes bytes of any origin: whatever they are, nothing outside of them is read, and
 * every loop ends. `diag->offset` counts from the start of the block.
 */
#ifndef NAY_SST_BLOCK_H
#define NAY_SST_BLOCK_H

/* ==== src/base/varint.h ===================================================================== */
/* varint.h - LEB128: unsigned numbers of seven bits a byte, the low ones first. */
#ifndef NAY_VARINT_H
#define NAY_VARINT_H

#define NAY_VARINT32_MAX 5u /* bytes */
#define NAY_VARINT64_MAX 10u

/* nay__varint_store: returns the first byte after the number. */
static inline uint8_t *nay__varint_store(uint8_t *p, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}

/*
 * nay__varint64_load: the first byte after the number, or NULL when it does not end before `end`
 * or needs more than 64 bits. Numbers that are longer than they need to be are fine, as in LevelDB.
 */
static inline const uint8_t *nay__varint64_load(const uint8_t *p, const uint8_t *end, uint64_t *v) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift <= 63 && p < end; shift += 7) {
    uint64_t byte = *p++;
    if (shift == 63 && byte > 1) return NULL;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *v = result;
      return p;
    }
  }
  return NULL;
}

/* nay__varint32_load: the same for 32 bits; one byte is the common case. */
static inline const uint8_t *nay__varint32_load(const uint8_t *p, const uint8_t *end, uint32_t *v) {
  if (NAY_LIKELY(p < end && *p < 0x80)) {
    *v = *p;
    return p + 1;
  }
  uint64_t wide = 0;
  p = nay__varint64_load(p, end, &wide);
  if (p == NULL || wide > UINT32_MAX) return NULL;
  *v = (uint32_t)wide;
  return p;
}

#endif /* NAY_VARINT_H */

/* ---- writing ---- */

/* nay_block_builder: zero-initialise, with `interval` set; nay__block_reset before the first add.
 */
typedef struct nay_block_builder {
  nay_buffer bytes;
  nay_buffer restarts; /* as they will be stored */
  uint32_t interval;   /* entries from one restart to the next */
  uint32_t since;      /* entries since the last restart */
} nay_block_builder;

nay_status nay__block_reset(nay_block_builder *builder, const nay_allocator *a);
void nay__block_builder_free(nay_block_builder *builder, const nay_allocator *a);

/*
 * nay__block_add: `shared` is what the key has in common with the one added before it; the builder
 * decides whether to use it. NAY_ENOMEM changes nothing.
 */
nay_status nay__block_add(nay_block_builder *builder, const uint8_t *key, size_t len, size_t shared,
                          const uint8_t *value, size_t value_len, const nay_allocator *a);

/* nay__block_finish: appends the restarts; the block is then builder->bytes, until the reset. */
nay_status nay__block_finish(nay_block_builder *builder, const nay_allocator *a);

/* nay__block_size: how long the block would be if it were finished now. */
static inline size_t nay__block_size(const nay_block_builder *builder) {
  return builder->bytes.len + builder->restarts.len + 4;
}

/* ---- reading ---- */

typedef struct nay_block {
  const uint8_t *bytes;
  uint32_t end; /* of the entries: where the restarts start */
  uint32_t nrestarts;
} nay_block;

/* nay__block_open: NAY_ECORRUPT when the restarts do not fit. No entry is looked at yet. */
nay_status nay__block_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_block *block);

/* nay_entry: an entry where it lies. */
typedef struct nay_entry {
  uint32_t at;   /* offset in the block */
  uint32_t next; /* of the entry after it */
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_len;
  const uint8_t *suffix; /* unshared bytes */
  const uint8_t *value;
} nay_entry;

/* nay_found: where a search ended. */
typedef struct nay_found {
  nay_entry entry;
  uint64_t trailer; /* of an internal key, if the user keys are equal */
  bool equal;       /* the user keys are */
} nay_found;

/*
 * nay__block_find: the first entry whose key is not before target, without putting together any
 * key. NAY_ENOENT: all are before it. NAY_ECORRUPT.
 */
nay_status nay__block_find(const nay_block *block, nay_order order, const nay_target *target,
                           nay_diag *diag, nay_found *found);

/*
 * nay_cursor: walks a block with keys put together. Set block, order and allocator; the rest zero.
 * Movements return NAY_OK when there is an entry, NAY_ENOENT past either end (the cursor is then at
 * no entry), NAY_ECORRUPT, NAY_ENOMEM. The key buffer is the cursor's: free it in the end.
 */
typedef struct nay_cursor {
  nay_block block;
  nay_order order;
  const nay_allocator *allocator;
  nay_entry entry;
  nay_buffer key;
  bool valid;
} nay_cursor;

nay_status nay__cursor_first(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_last(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_next(nay_cursor *cursor, nay_diag *diag);
nay_status nay__cursor_prev(nay_cursor *cursor, nay_diag *diag);

/* nay__cursor_seek: the first entry that is not before target. */
nay_status nay__cursor_seek(nay_cursor *cursor, const nay_target *target, nay_diag *diag);

#endif /* NAY_SST_BLOCK_H */

/* ---- writing ---- */

nay_status nay__block_reset(nay_block_builder *b, const nay_allocator *a) {
  const uint8_t first[4] = {0, 0, 0, 0};
  b->bytes.len = b->restarts.len = 0;
  b->since = 0;
  return nay__buffer_append(&b->restarts, first, sizeof first, a);
}

void nay__block_builder_free(nay_block_builder *b, const nay_allocator *a) {
  nay__buffer_free(&b->bytes, a);
  nay__buffer_free(&b->restarts, a);
}

nay_status nay__block_add(nay_block_builder *b, const uint8_t *key, size_t len, size_t shared,
                          const uint8_t *value, size_t value_len, const nay_allocator *a) {
  bool restart = b->since >= b->interval;
  if (restart || b->bytes.len == 0) shared = 0;
  NAY_TRY(nay__buffer_reserve(&b->restarts, 4, a));
  NAY_TRY(nay__buffer_reserve(&b->bytes, 3 * NAY_VARINT32_MAX + len - shared + value_len, a));
  if (restart) {
    nay__store32le(b->restarts.at + b->restarts.len, (uint32_t)b->bytes.len);
    b->restarts.len += 4;
    b->since = 0;
  }
  uint8_t *p = b->bytes.at + b->bytes.len;
  p = nay__varint_store(p, shared);
  p = nay__varint_store(p, len - shared);
  p = nay__varint_store(p, value_len);
  if (len != shared) memcpy(p, key + shared, len - shared);
  p += len - shared;
  if (value_len != 0) memcpy(p, value, value_len);
  b->bytes.len = (size_t)(p + value_len - b->bytes.at);
  b->since++;
  return NAY_OK;
}

nay_status nay__block_finish(nay_block_builder *b, const nay_allocator *a) {
  NAY_TRY(nay__buffer_reserve(&b->bytes, b->restarts.len + 4, a));
  uint8_t *p = b->bytes.at + b->bytes.len;
  memcpy(p, b->restarts.at, b->restarts.len);
  nay__store32le(p + b->restarts.len, (uint32_t)(b->restarts.len / 4));
  b->bytes.len += b->restarts.len + 4;
  return NAY_OK;
}

/* ---- reading ---- */

nay_status nay__block_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_block *block) {
  if (len < 4 || len > UINT32_MAX) {
    return nay__fail(diag, NAY_ECORRUPT, "a block is too short or too long", 0);
  }
  uint32_t n = nay__load32le(bytes + len - 4);
  if (n > (len - 4) / 4) {
    return nay__fail(diag, NAY_ECORRUPT, "a block has more restarts than bytes", len - 4);
  }
  *block = (nay_block){bytes, (uint32_t)(len - 4 - (size_t)n * 4), n};
  return NAY_OK;
}

static nay_status block_bad(nay_diag *diag, uint32_t at) {
  return nay__fail(diag, NAY_ECORRUPT, "a block has an entry that does not fit", at);
}

static inline bool block_entry(const nay_block *b, uint32_t at, nay_entry *e) {
  const uint8_t *p = b->bytes + at, *end = b->bytes + b->end;
  p = nay__varint32_load(p, end, &e->shared);
  if (p == NULL || (p = nay__varint32_load(p, end, &e->unshared)) == NULL) return false;
  p = nay__varint32_load(p, end, &e->value_len);
  if (p == NULL || (uint64_t)e->unshared + e->value_len > (uint64_t)(end - p)) return false;
  e->at = at;
  e->suffix = p;
  e->value = p + e->unshared;
  e->next = (uint32_t)(e->value + e->value_len - b->bytes);
  return true;
}

static inline uint32_t block_restart(const nay_block *b, uint32_t i) {
  return nay__load32le(b->bytes + b->end + (size_t)i * 4);
}

/* The entry at a restart, which must have a whole key. */
static nay_status block_restart_entry(const nay_block *b, uint32_t i, nay_diag *diag,
                                      nay_entry *e) {
  uint32_t at = block_restart(b, i);
  if (at >= b->end || !block_entry(b, at, e) || e->shared != 0) return block_bad(diag, at);
  return NAY_OK;
}

/* The last restart whose key is before target, or the first restart; the block has entries. */
static nay_status block_narrow(const nay_block *b, nay_order order, const nay_target *target,
                               nay_diag *diag, uint32_t *restart) {
  uint32_t low = 0, high = b->nrestarts - 1;
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    nay_entry e;
    NAY_TRY(block_restart_entry(b, middle, diag, &e));
    if (nay__order_target(order, e.suffix, e.unshared, target) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  *restart = low;
  return NAY_OK;
}

/* The walk of a search: how the present key stands to the target. */
typedef struct block_walk {
  const uint8_t *target; /* the user key alone */
  size_t target_len;
  size_t same;               /* leading bytes in common with the whole present key */
  uint8_t differs;           /* the byte of the present key after them, if it is that long */
  uint8_t tail[NAY_TRAILER]; /* internal keys: bytes target_len.. of the present key */
} block_walk;

static inline void block_step(block_walk *w, const nay_entry *e) {
  if (e->shared > w->same) return;
  size_t room = w->target_len - e->shared, n = e->unshared < room ? e->unshared : room;
  size_t more = nay__common(e->suffix, w->target + e->shared, n);
  w->same = e->shared + more;
  if (more < e->unshared) w->differs = e->suffix[more];
}

/* Keeps the bytes behind the place where the target's user key ends. */
static inline void block_keep_tail(block_walk *w, const nay_entry *e) {
  for (size_t i = 0; i < NAY_TRAILER; i++) {
    size_t at = w->target_len + i;
    if (at >= e->shared && at - e->shared < e->unshared) w->tail[i] = e->suffix[at - e->shared];
  }
}

/* The user part of the present key, `len` bytes, against the target's. */
static inline int block_compare(const block_walk *w, size_t len) {
  if (w->same >= len) return len < w->target_len ? -1 : 0;
  if (w->same == w->target_len) return 1;
  return w->differs < w->target[w->same] ? -1 : 1;
}

nay_status nay__block_find(const nay_block *b, nay_order order, const nay_target *target,
                           nay_diag *diag, nay_found *found) {
  if (b->nrestarts == 0 || b->end == 0) return NAY_ENOENT;
  bool internal = order == NAY_ORDER_INTERNAL;
  uint32_t restart;
  NAY_TRY(block_narrow(b, order, target, diag, &restart));
  block_walk w = {.target = target->user, .target_len = target->len};
  uint32_t at = block_restart(b, restart);
  if (at > b->end) return block_bad(diag, at);
  uint64_t key_len = 0;
  for (nay_entry e; at < b->end; at = e.next) {
    if (!block_entry(b, at, &e) || e.shared > key_len) return block_bad(diag, at);
    key_len = (uint64_t)e.shared + e.unshared;
    if (internal && key_len < NAY_TRAILER) return block_bad(diag, at);
    block_step(&w, &e);
    if (internal) block_keep_tail(&w, &e);
    int sign = block_compare(&w, internal ? (size_t)key_len - NAY_TRAILER : (size_t)key_len);
    if (sign < 0) continue;
    uint64_t trailer = sign == 0 && internal ? nay__load64le(w.tail) : 0;
    if (sign == 0 && internal && trailer > target->trailer)
      continue; /* a newer version than is asked for */
    *found = (nay_found){e, trailer, sign == 0};
    return NAY_OK;
  }
  return NAY_ENOENT;
}

/* ---- walking ---- */

/* Takes the entry at `at`, whose predecessor is the cursor's present key. */
static nay_status cursor_take(nay_cursor *c, uint32_t at, nay_diag *diag) {
  nay_entry e;
  c->valid = false;
  if (at >= c->block.end) return at == c->block.end ? NAY_ENOENT : block_bad(diag, at);
  if (!block_entry(&c->block, at, &e) || e.shared > c->key.len) return block_bad(diag, at);
  uint64_t len = (uint64_t)e.shared + e.unshared;
  if (c->order == NAY_ORDER_INTERNAL && len < NAY_TRAILER) return block_bad(diag, at);
  c->key.len = e.shared;
  if (nay__buffer_append(&c->key, e.suffix, e.unshared, c->allocator) != NAY_OK) {
    return nay__fail(diag, NAY_ENOMEM, "no memory for a key", at);
  }
  c->entry = e;
  c->valid = true;
  return NAY_OK;
}

static nay_status cursor_restart(nay_cursor *c, uint32_t restart, nay_diag *diag) {
  c->valid = false;
  c->key.len = 0;
  if (c->block.nrestarts == 0) return NAY_ENOENT;
  return cursor_take(c, block_restart(&c->block, restart), diag);
}

nay_status nay__cursor_first(nay_cursor *c, nay_diag *diag) { return cursor_restart(c, 0, diag); }

nay_status nay__cursor_next(nay_cursor *c, nay_diag *diag) {
  return c->valid ? cursor_take(c, c->entry.next, diag) : NAY_ENOENT;
}

/* From a restart to the last entry that starts before `limit`. */
static nay_status cursor_walk_to(nay_cursor *c, uint32_t restart, uint32_t limit, nay_diag *diag) {
  NAY_TRY(cursor_restart(c, restart, diag));
  while (c->entry.next < limit) NAY_TRY(cursor_take(c, c->entry.next, diag));
  return NAY_OK;
}

nay_status nay__cursor_last(nay_cursor *c, nay_diag *diag) {
  if (c->block.nrestarts == 0) return cursor_restart(c, 0, diag);
  return cursor_walk_to(c, c->block.nrestarts - 1, c->block.end, diag);
}

nay_status nay__cursor_prev(nay_cursor *c, nay_diag *diag) {
  if (!c->valid) return NAY_ENOENT;
  uint32_t here = c->entry.at, low = 0, high = c->block.nrestarts;
  while (low < high) { /* the restarts before this entry */
    uint32_t middle = low + (high - low) / 2;
    if (block_restart(&c->block, middle) < here) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  c->valid = false;
  if (low == 0) return NAY_ENOENT;
  return cursor_walk_to(c, low - 1, here, diag);
}

nay_status nay__cursor_seek(nay_cursor *c, const nay_target *target, nay_diag *diag) {
  uint32_t restart = 0;
  c->valid = false;
  if (c->block.nrestarts == 0) return NAY_ENOENT;
  NAY_TRY(block_narrow(&c->block, c->order, target, diag, &restart));
  NAY_TRY(cursor_restart(c, restart, diag));
  while (nay__order_target(c->order, c->key.at, c->key.len, target) < 0) {
    NAY_TRY(cursor_take(c, c->entry.next, diag));
  }
  return NAY_OK;
}

/* ==== src/sst/footer.c ====================================================================== */
/* footer.c - see footer.h. */

/* ==== src/sst/footer.h ====================================================================== */
/*
 * footer.h - the frame of a table file: where blocks are, and whether they are what was written.
 *
 *   block on disk   | contents | type u8 | crc32c of contents and type, masked, u32le |
 *   handle          | offset varint64 | size of the contents varint64 |
 *   footer          | metaindex handle | index handle | 0 ... up to byte 40 | magic u64le |
 */
#ifndef NAY_SST_FOOTER_H
#define NAY_SST_FOOTER_H

#define NAY_BLOCK_FRAME 5u /* type and checksum */
#define NAY_HANDLE_MAX (2 * NAY_VARINT64_MAX)
#define NAY_FOOTER 48u
#define NAY_FOOTER_MAGIC 0xdb4775248b80fb57u

typedef struct nay_handle {
  uint64_t offset;
  uint64_t size; /* of the contents, without the frame */
} nay_handle;

/* nay__handle_store: returns the length. */
size_t nay__handle_store(uint8_t *p, nay_handle handle);

/* nay__handle_load: the first byte after it, or NULL when it does not end before `end`. */
const uint8_t *nay__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle);

/*
 * nay__handle_fits: whether the block and its frame lie in the first `limit` bytes of the file, and
 * its size is one that this machine can hold.
 */
bool nay__handle_fits(nay_handle handle, uint64_t limit);

typedef struct nay_footer {
  nay_handle metaindex;
  nay_handle index;
} nay_footer;

void nay__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer);

/*
 * nay__footer_load: of a file of file_len bytes. NAY_EFORMAT: not a table. NAY_ECORRUPT: a handle
 * is not one, or leads out of the file.
 */
nay_status nay__footer_load(const uint8_t bytes[NAY_FOOTER], uint64_t file_len, nay_diag *diag,
                            nay_footer *footer);

/* nay__frame_store: the five bytes behind contents[0, len). */
void nay__frame_store(uint8_t frame[NAY_BLOCK_FRAME], uint8_t type, const uint8_t *contents,
                      size_t len);

/* nay__frame_check: block[0, size + 5) as it is on disk. NAY_ECORRUPT: offset is its place there.
 */
nay_status nay__frame_check(const uint8_t *block, size_t size, uint64_t offset, nay_diag *diag);

#endif /* NAY_SST_FOOTER_H */

size_t nay__handle_store(uint8_t *p, nay_handle handle) {
  uint8_t *end = nay__varint_store(nay__varint_store(p, handle.offset), handle.size);
  return (size_t)(end - p);
}

const uint8_t *nay__handle_load(const uint8_t *p, const uint8_t *end, nay_handle *handle) {
  nay_handle h;
  p = nay__varint64_load(p, end, &h.offset);
  if (p == NULL || (p = nay__varint64_load(p, end, &h.size)) == NULL) return NULL;
  *handle = h;
  return p;
}

bool nay__handle_fits(nay_handle handle, uint64_t limit) {
  size_t ignored;
  return handle.offset <= limit && limit - handle.offset >= NAY_BLOCK_FRAME &&
         handle.size <= limit - handle.offset - NAY_BLOCK_FRAME &&
         nay__size_ok(handle.size, &ignored);
}

void nay__footer_store(uint8_t bytes[NAY_FOOTER], const nay_footer *footer) {
  memset(bytes, 0, NAY_FOOTER);
  size_t n = nay__handle_store(bytes, footer->metaindex);
  nay__handle_store(bytes + n, footer->index);
  nay__store64le(bytes + NAY_FOOTER - 8, NAY_FOOTER_MAGIC);
}

nay_status nay__footer_load(const uint8_t bytes[NAY_FOOTER], uint64_t file_len, nay_diag *diag,
                            nay_footer *footer) {
  uint64_t at = file_len - NAY_FOOTER;
  nay_footer f;
  if (nay__load64le(bytes + NAY_FOOTER - 8) != NAY_FOOTER_MAGIC) {
    return nay__fail(diag, NAY_EFORMAT, "no table: the last eight bytes are not its magic number",
                     file_len - 8);
  }
  const uint8_t *end = bytes + NAY_FOOTER - 8, *p = nay__handle_load(bytes, end, &f.metaindex);
  if (p == NULL || nay__handle_load(p, end, &f.index) == NULL) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer has no two block handles", at);
  }
  if (!nay__handle_fits(f.metaindex, at) || !nay__handle_fits(f.index, at)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer points out of the file", at);
  }
  *footer = f;
  return NAY_OK;
}

void nay__frame_store(uint8_t frame[NAY_BLOCK_FRAME], uint8_t type, const uint8_t *contents,
                      size_t len) {
  frame[0] = type;
  uint32_t crc = nay__crc32c(nay__crc32c(0, contents, len), frame, 1);
  nay__store32le(frame + 1, nay__crc32c_mask(crc));
}

nay_status nay__frame_check(const uint8_t *block, size_t size, uint64_t offset, nay_diag *diag) {
  uint32_t crc = nay__crc32c(0, block, size + 1);
  if (nay__crc32c_mask(crc) == nay__load32le(block + size + 1)) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a block does not have its checksum", offset);
}

/* ==== src/sst/prefix.c ====================================================================== */
/* prefix.c - the extractors that come with the library, and internal keys in parts. */

static bool prefix_fixed_extract(const nay_prefix *self, const void *key, size_t len,
                                 size_t *prefix_len) {
  (void)key;
  if (len < self->number) return false;
  *prefix_len = (size_t)self->number;
  return true;
}

static bool prefix_delimiter_extract(const nay_prefix *self, const void *key, size_t len,
                                     size_t *prefix_len) {
  const uint8_t *at = len == 0 ? NULL : memchr(key, (int)self->number, len);
  if (at == NULL) return false;
  *prefix_len = (size_t)(at - (const uint8_t *)key) + 1;
  return true;
}

/* "nay.fixed." and the like with a number in decimal behind it. */
static void prefix_name(nay_prefix *p, const char *kind, size_t number) {
  char digits[24];
  size_t n = 0, at = strlen(kind);
  do digits[n++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  memcpy(p->name, kind, at);
  while (n > 0) p->name[at++] = digits[--n];
  p->name[at] = '\0';
}

nay_status nay_prefix_fixed(size_t len, nay_prefix *prefix) {
  if (prefix == NULL || len == 0 || len > UINT16_MAX) return NAY_EINVAL;
  *prefix = (nay_prefix){.extract = prefix_fixed_extract, .number = len};
  prefix_name(prefix, "nay.fixed.", len);
  return NAY_OK;
}

nay_status nay_prefix_delimiter(uint8_t byte, nay_prefix *prefix) {
  if (prefix == NULL) return NAY_EINVAL;
  *prefix = (nay_prefix){.extract = prefix_delimiter_extract, .number = byte};
  prefix_name(prefix, "nay.delimiter.", byte);
  return NAY_OK;
}

nay_status nay_sst_key_split(const void *key, size_t len, nay_sst_version *version) {
  if (key == NULL || version == NULL || len < NAY_TRAILER) return NAY_EINVAL;
  uint64_t trailer = nay__load64le((const uint8_t *)key + len - NAY_TRAILER);
  if ((trailer & 0xff) > 1) return NAY_EINVAL;
  *version = (nay_sst_version){key, len - NAY_TRAILER, trailer >> 8, (trailer & 0xff) == 0};
  return NAY_OK;
}

/* ==== src/sst/filter_maker.c ================================================================ */
/* filter_maker.c - see filter_maker.h. */

/* ==== src/sst/filter_maker.h ================================================================ */
/*
 * filter_maker.h - takes keys, gives the bytes of a filter: by a policy, or a native file by
 * params. And LevelDB's filter block, which is many of them in a row.
 *
 *   filter block   | filter 0 | filter 1 | ... | offset u32le of each | offset of these u32le | 11
 * |
 *
 * Filter i has the keys of the data blocks that start in bytes [2048 i, 2048 (i + 1)) of the file;
 * where none starts it has no bytes.
 */
#ifndef NAY_SST_FILTER_MAKER_H
#define NAY_SST_FILTER_MAKER_H

#define NAY_NATIVE_POLICY "nay.filter.v1" /* the bytes are a native file: doc/formats/nay.md */

/* nay_filter_maker: set up by nay__maker_init; n is the number of keys since the last finish. */
typedef struct nay_filter_maker {
  const nay_policy *policy; /* NULL: native */
  nay_builder *builder;     /* native */
  nay_buffer keys;          /* else: the keys' bytes in a row, */
  nay_buffer ends;          /* where each of them ends, */
  nay_buffer pointers;      /* and room for what policy->create wants */
  size_t n;
} nay_filter_maker;

nay_status nay__maker_init(nay_filter_maker *maker, const nay_policy *policy,
                           const nay_params *params, const nay_allocator *a);
nay_status nay__maker_add(nay_filter_maker *maker, const void *key, size_t len,
                          const nay_allocator *a);

/* nay__maker_finish: appends the filter of the keys to `out`; the maker is then empty again. */
nay_status nay__maker_finish(nay_filter_maker *maker, nay_buffer *out, const nay_allocator *a);
void nay__maker_free(nay_filter_maker *maker, const nay_allocator *a);

/* ---- LevelDB's filter block ---- */

typedef struct nay_filter_block_builder {
  nay_filter_maker maker;
  nay_buffer filters;
  nay_buffer offsets; /* as they will be stored */
} nay_filter_block_builder;

/* nay__filter_block_start: the next data block starts at this byte of the file. */
nay_status nay__filter_block_start(nay_filter_block_builder *builder, uint64_t offset,
                                   const nay_allocator *a);

/* nay__filter_block_finish: the block is then builder->filters. */
nay_status nay__filter_block_finish(nay_filter_block_builder *builder, const nay_allocator *a);
void nay__filter_block_free(nay_filter_block_builder *builder, const nay_allocator *a);

typedef struct nay_filter_block {
  const uint8_t *bytes;
  size_t array; /* where the offsets start */
  size_t n;
  unsigned lg; /* one filter for each 2^lg bytes of the file */
} nay_filter_block;

/* nay__filter_block_open: false when the bytes cannot be one. */
bool nay__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block);

/* nay__filter_block_may_match: for a key that could only be in the data block at that offset. */
bool nay__filter_block_may_match(const nay_filter_block *block, const nay_policy *policy,
                                 uint64_t offset, const void *key, size_t len);

#endif /* NAY_SST_FILTER_MAKER_H */

#define BLOCK_LG 11u /* LevelDB's: 2 KiB */

nay_status nay__maker_init(nay_filter_maker *m, const nay_policy *policy, const nay_params *params,
                           const nay_allocator *a) {
  *m = (nay_filter_maker){.policy = policy};
  return policy != NULL ? NAY_OK : nay_builder_new(params, a, &m->builder);
}

nay_status nay__maker_add(nay_filter_maker *m, const void *key, size_t len,
                          const nay_allocator *a) {
  if (m->policy == NULL) {
    NAY_TRY(nay_builder_add(m->builder, key, len));
  } else {
    NAY_TRY(nay__buffer_append(&m->keys, key, len, a));
    NAY_TRY(nay__buffer_append(&m->ends, &m->keys.len, sizeof m->keys.len, a));
  }
  m->n++;
  return NAY_OK;
}

static nay_status maker_native(nay_filter_maker *m, nay_buffer *out, const nay_allocator *a) {
  nay_filter *f = NULL;
  NAY_TRY(nay_builder_finish(m->builder, &f));
  size_t size = nay_filter_encoded_size(f);
  nay_status status = nay__buffer_reserve(out, size, a);
  if (status == NAY_OK) status = nay_filter_encode(f, out->at + out->len, size, &size);
  if (status == NAY_OK) out->len += size;
  nay_filter_free(f);
  return status;
}

/* What policy->create takes: pointers first, then lengths, in one piece of memory. */
static nay_status maker_pointers(nay_filter_maker *m, const nay_allocator *a, const void ***keys,
                                 size_t **lens) {
  size_t bytes;
  if (!nay__mul_ok(m->n, sizeof **keys + sizeof **lens, &bytes)) return NAY_ENOMEM;
  m->pointers.len = 0;
  NAY_TRY(nay__buffer_reserve(&m->pointers, bytes, a));
  *keys = (const void **)(void *)m->pointers.at; /* the allocator aligns for any type */
  *lens = (size_t *)(void *)(m->pointers.at + m->n * sizeof **keys);
  size_t start = 0, end;
  for (size_t i = 0; i < m->n; i++, start = end) {
    memcpy(&end, m->ends.at + i * sizeof end, sizeof end);
    (*keys)[i] = m->keys.at + start;
    (*lens)[i] = end - start;
  }
  return NAY_OK;
}

static nay_status maker_by_policy(nay_filter_maker *m, nay_buffer *out, const nay_allocator *a) {
  const void **keys;
  size_t *lens, len = 0;
  uint8_t *filter = NULL;
  NAY_TRY(maker_pointers(m, a, &keys, &lens));
  NAY_TRY(m->policy->create(m->policy, keys, lens, m->n, a, &filter, &len));
  nay_status status = nay__buffer_append(out, filter, len, a);
  nay__free(a, filter, len);
  m->keys.len = m->ends.len = 0;
  return status;
}

nay_status nay__maker_finish(nay_filter_maker *m, nay_buffer *out, const nay_allocator *a) {
  NAY_TRY(m->policy == NULL ? maker_native(m, out, a) : maker_by_policy(m, out, a));
  m->n = 0;
  return NAY_OK;
}

void nay__maker_free(nay_filter_maker *m, const nay_allocator *a) {
  nay_builder_free(m->builder);
  nay__buffer_free(&m->keys, a);
  nay__buffer_free(&m->ends, a);
  nay__buffer_free(&m->pointers, a);
}

/* ---- LevelDB's filter block ---- */

/* Closes a filter; without keys it has no bytes. */
static nay_status maker_close(nay_filter_block_builder *b, const nay_allocator *a) {
  uint8_t offset[4];
  nay__store32le(offset, (uint32_t)b->filters.len);
  NAY_TRY(nay__buffer_append(&b->offsets, offset, sizeof offset, a));
  return b->maker.n == 0 ? NAY_OK : nay__maker_finish(&b->maker, &b->filters, a);
}

nay_status nay__filter_block_start(nay_filter_block_builder *b, uint64_t offset,
                                   const nay_allocator *a) {
  while (b->offsets.len / 4 < offset >> BLOCK_LG) NAY_TRY(maker_close(b, a));
  return NAY_OK;
}

nay_status nay__filter_block_finish(nay_filter_block_builder *b, const nay_allocator *a) {
  if (b->maker.n != 0) NAY_TRY(maker_close(b, a));
  uint8_t end[5];
  nay__store32le(end, (uint32_t)b->filters.len);
  end[4] = BLOCK_LG;
  NAY_TRY(nay__buffer_append(&b->filters, b->offsets.at, b->offsets.len, a));
  return nay__buffer_append(&b->filters, end, sizeof end, a);
}

void nay__filter_block_free(nay_filter_block_builder *b, const nay_allocator *a) {
  nay__maker_free(&b->maker, a);
  nay__buffer_free(&b->filters, a);
  nay__buffer_free(&b->offsets, a);
}

bool nay__filter_block_open(const uint8_t *bytes, size_t len, nay_filter_block *block) {
  if (len < 5) return false;
  size_t array = nay__load32le(bytes + len - 5);
  unsigned lg = bytes[len - 1];
  if (array > len - 5 || lg > 63) return false;
  *block = (nay_filter_block){bytes, array, (len - 5 - array) / 4, lg};
  return true;
}

bool nay__filter_block_may_match(const nay_filter_block *b, const nay_policy *policy,
                                 uint64_t offset, const void *key, size_t len) {
  uint64_t i = offset >> b->lg;
  if (i >= b->n) return true;
  const uint8_t *entry = b->bytes + b->array + (size_t)i * 4;
  size_t start = nay__load32le(entry), end = nay__load32le(entry + 4);
  if (start > end || end > b->array) return true;
  return start != end && policy->may_match(policy, key, len, b->bytes + start, end - start);
}
#undef BLOCK_LG

/* ==== src/sst/table_writer.c ================================================================ */
/*
 * table_writer.c - writes a table from keys in order, a block at a time.
 *
 *   | data block | data block | ... | filters | metaindex | index | footer |
 *
 * The bytes are those of LevelDB's TableBuilder for the same entries and options, as long as no
 * filter of nay's own is asked for. An index entry is written when the first key of the next block
 * is known: a short key between the two blocks is enough for it. Of the table only the block that
 * is being filled, the index, and what filters must remember of the keys are in memory; partitions
 * of a filter are written where they are full, between data blocks.
 */

#define WRITER_BUFFER 65536u     /* as LevelDB's files */
#define WRITER_MAX (1u << 30)    /* of a key or value: offsets in a block have 32 bits */
#define WRITER_MAX_NAME 200u     /* of a policy */
#define WRITER_BLOCK_BYTES 4096u /* defaults: LevelDB's, */
#define WRITER_INTERVAL 16u
#define WRITER_PARTITION 8192u /* and 10 KiB of filter at 10 bits per key */

struct nay_sst_writer {
  nay_allocator allocator;
  nay_sst_write_options options;
  nay_order order;
  nay_replacement *file;
  nay_buffer out;  /* written, but not yet to the file */
  uint64_t offset; /* of the next block */
  uint64_t count;
  nay_block_builder data, index;
  nay_buffer last; /* key */
  nay_buffer compressed;
  nay_buffer version;   /* an internal key that came in parts */
  bool pending;         /* a block was written that has no index entry yet: */
  nay_handle block;     /* this one, */
  bool pending_part;    /* and with it a partition of the filter: */
  nay_handle partition; /* this one */
  nay_filter_block_builder filter_block;
  nay_filter_maker whole, prefixes;
  nay_buffer last_prefix;
  nay_buffer filter;     /* bytes of one, on their way to the file */
  nay_block_builder top; /* index of the partitions */
  nay_block_builder metaindex;
  nay_buffer meta_key;
  bool finished;
  nay_status failed;
  nay_diag trouble; /* with the file */
};

/* ---- options ---- */

static nay_status writer_check(const nay_sst_write_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL) {
    return nay__fail(diag, NAY_EINVAL, "no such kind of keys", 0);
  }
  if ((unsigned)o->filter > NAY_SST_PARTITIONED_FILTER) {
    return nay__fail(diag, NAY_EINVAL, "no such kind of filter", 0);
  }
  if (o->filter == NAY_SST_BLOCK_FILTER && o->policy == NULL) {
    return nay__fail(diag, NAY_EINVAL, "a block filter needs a policy", 0);
  }
  const nay_policy *p = o->policy;
  if (p != NULL && (p->name == NULL || p->create == NULL || p->may_match == NULL ||
                    p->name[0] == '\0' || strlen(p->name) > WRITER_MAX_NAME)) {
    return nay__fail(diag, NAY_EINVAL, "the policy has no name, a long one, or no calls", 0);
  }
  const nay_prefix *x = o->prefix;
  if (x != NULL &&
      (x->extract == NULL || x->name[0] == '\0' || memchr(x->name, '\0', sizeof x->name) == NULL)) {
    return nay__fail(diag, NAY_EINVAL, "the prefix has no name or no extractor", 0);
  }
  if (o->block_bytes > WRITER_MAX || o->partition_keys > WRITER_MAX || o->params.nkeys != 0) {
    return nay__fail(diag, NAY_EINVAL, "block_bytes, partition_keys or params.nkeys", 0);
  }
  const nay_codec *c = o->codec;
  if (c != NULL && (c->id == 0 || c->bound == NULL || c->compress == NULL)) {
    return nay__fail(diag, NAY_EINVAL, "the codec has id 0 or no calls", 0);
  }
  return NAY_OK;
}

static void writer_defaults(nay_sst_write_options *o) {
  nay_params *p = &o->params;
  if (o->block_bytes == 0) o->block_bytes = WRITER_BLOCK_BYTES;
  if (o->restart_interval == 0) o->restart_interval = WRITER_INTERVAL;
  if (o->partition_keys == 0) o->partition_keys = WRITER_PARTITION;
  bool sized = p->fpr != 0 || p->bits_per_key != 0 || p->nbytes != 0 || p->nbits != 0;
  if (!sized) p->bits_per_key = 10;
  if (p->kind == NAY_AUTO) p->kind = NAY_BLOCKED;
}

/* ---- bytes ---- */

static nay_status writer_flush_file(nay_sst_writer *w) {
  NAY_TRY(nay__replacement_write(w->file, w->out.at, w->out.len, &w->trouble));
  w->out.len = 0;
  return NAY_OK;
}

static nay_status writer_put(nay_sst_writer *w, const uint8_t *bytes, size_t len) {
  NAY_TRY(nay__buffer_append(&w->out, bytes, len, &w->allocator));
  w->offset += len;
  return w->out.len >= WRITER_BUFFER ? writer_flush_file(w) : NAY_OK;
}

/* A block as it is, with its frame. */
static nay_status writer_put_block(nay_sst_writer *w, const nay_buffer *contents, uint8_t type,
                                   nay_handle *handle) {
  uint8_t frame[NAY_BLOCK_FRAME];
  nay_handle h = {w->offset, contents->len};
  nay__frame_store(frame, type, contents->at, contents->len);
  NAY_TRY(writer_put(w, contents->at, contents->len));
  NAY_TRY(writer_put(w, frame, sizeof frame));
  *handle = h;
  return NAY_OK;
}

/* Into w->compressed; false when it does not save an eighth, which is LevelDB's rule. */
static bool writer_compress(nay_sst_writer *w, const nay_buffer *raw) {
  const nay_codec *codec = w->options.codec;
  if (codec == NULL) return false;
  size_t bound = codec->bound(codec, raw->len), len = bound;
  w->compressed.len = 0;
  if (nay__buffer_reserve(&w->compressed, bound, &w->allocator) != NAY_OK) return false;
  if (!codec->compress(codec, raw->at, raw->len, w->compressed.at, &len) || len > bound) {
    return false;
  }
  w->compressed.len = len;
  return len < raw->len - raw->len / 8;
}

/* Finishes a block, writes it, and makes the builder ready for the next. */
static nay_status writer_put_builder(nay_sst_writer *w, nay_block_builder *b, nay_handle *handle) {
  NAY_TRY(nay__block_finish(b, &w->allocator));
  if (writer_compress(w, &b->bytes)) {
    NAY_TRY(writer_put_block(w, &w->compressed, w->options.codec->id, handle));
  } else {
    NAY_TRY(writer_put_block(w, &b->bytes, 0, handle));
  }
  return nay__block_reset(b, &w->allocator);
}

static nay_status writer_add_handle(nay_sst_writer *w, nay_block_builder *b, const nay_buffer *key,
                                    nay_handle handle) {
  uint8_t value[NAY_HANDLE_MAX];
  size_t len = nay__handle_store(value, handle);
  return nay__block_add(b, key->at, key->len, 0, value, len, &w->allocator);
}

/* ---- filters ---- */

/* The partition ends with the block that was just written; its key comes with that block's. */
static nay_status writer_cut_partition(nay_sst_writer *w) {
  w->filter.len = 0;
  NAY_TRY(nay__maker_finish(&w->whole, &w->filter, &w->allocator));
  NAY_TRY(writer_put_block(w, &w->filter, 0, &w->partition));
  w->pending_part = true;
  return NAY_OK;
}

static nay_status writer_filter_prefix(nay_sst_writer *w, const uint8_t *key, size_t len) {
  size_t n = 0;
  const nay_prefix *prefix = w->options.prefix;
  if (prefix == NULL || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_OK;
  bool same = w->prefixes.n != 0 && w->last_prefix.len == n &&
              (n == 0 || memcmp(w->last_prefix.at, key, n) == 0);
  if (same) return NAY_OK;
  w->last_prefix.len = 0;
  NAY_TRY(nay__buffer_append(&w->last_prefix, key, n, &w->allocator));
  return nay__maker_add(&w->prefixes, key, n, &w->allocator);
}

static nay_status writer_filter_key(nay_sst_writer *w, const uint8_t *key, size_t len) {
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__maker_add(&w->filter_block.maker, key, len, &w->allocator));
  } else if (w->options.filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay__maker_add(&w->whole, key, len, &w->allocator));
  }
  return writer_filter_prefix(w, key, len);
}

/* ---- entries ---- */

/* Writes the index entry of the block before: `next` is the first key after it, NULL at the end. */
static nay_status writer_index_pending(nay_sst_writer *w, const uint8_t *next, size_t len) {
  if (!w->pending) return NAY_OK;
  nay__order_separator(w->order, &w->last, next, len);
  NAY_TRY(writer_add_handle(w, &w->index, &w->last, w->block));
  if (w->pending_part) NAY_TRY(writer_add_handle(w, &w->top, &w->last, w->partition));
  w->pending = w->pending_part = false;
  return NAY_OK;
}

static nay_status writer_flush_block(nay_sst_writer *w) {
  if (w->data.bytes.len == 0) return NAY_OK;
  NAY_TRY(writer_put_builder(w, &w->data, &w->block));
  w->pending = true;
  if (w->options.filter == NAY_SST_BLOCK_FILTER) {
    return nay__filter_block_start(&w->filter_block, w->offset, &w->allocator);
  }
  bool full =
      w->options.filter == NAY_SST_PARTITIONED_FILTER && w->whole.n >= w->options.partition_keys;
  return full ? writer_cut_partition(w) : NAY_OK;
}

static nay_status writer_append(nay_sst_writer *w, const uint8_t *key, size_t len, size_t shared,
                                const uint8_t *value, size_t value_len) {
  const nay_allocator *a = &w->allocator;
  NAY_TRY(writer_index_pending(w, key, len));
  NAY_TRY(writer_filter_key(w, key, nay__user_len(w->order, len)));
  NAY_TRY(nay__block_add(&w->data, key, len, shared, value, value_len, a));
  w->last.len = 0;
  /* room to turn it into a separator, which never is longer by more than a trailer */
  NAY_TRY(nay__buffer_reserve(&w->last, len + NAY_TRAILER, a));
  NAY_TRY(nay__buffer_append(&w->last, key, len, a));
  w->count++;
  return nay__block_size(&w->data) >= w->options.block_bytes ? writer_flush_block(w) : NAY_OK;
}

/* Whether the key is above the last one, and how many bytes the two share. */
static bool writer_ascends(const nay_sst_writer *w, const uint8_t *key, size_t len,
                           size_t *shared) {
  size_t n = len < w->last.len ? len : w->last.len;
  *shared = nay__common(w->last.at, key, n);
  if (w->count == 0) return true;
  if (w->order == NAY_ORDER_INTERNAL) {
    return nay__order(w->order, w->last.at, w->last.len, key, len) < 0;
  }
  return *shared < n ? w->last.at[*shared] < key[*shared] : w->last.len < len;
}

nay_status nay_sst_writer_add(nay_sst_writer *w, const void *key, size_t len, const void *value,
                              size_t value_len) {
  nay_sst_version ignored;
  size_t shared;
  if (w == NULL || (key == NULL && len != 0) || (value == NULL && value_len != 0)) {
    return NAY_EINVAL;
  }
  if (key == NULL) key = ""; /* the empty key, for those who extract prefixes of it */
  if (w->failed != NAY_OK) return w->failed;
  if (w->finished || len >= WRITER_MAX || value_len >= WRITER_MAX) return NAY_EINVAL;
  if (w->order == NAY_ORDER_INTERNAL && nay_sst_key_split(key, len, &ignored) != NAY_OK) {
    return NAY_EINVAL;
  }
  if (!writer_ascends(w, key, len, &shared)) return NAY_EINVAL;
  w->failed = writer_append(w, key, len, shared, value, value_len);
  return w->failed;
}

nay_status nay_sst_writer_add_version(nay_sst_writer *w, const nay_sst_version *v,
                                      const void *value, size_t value_len) {
  uint8_t trailer[NAY_TRAILER];
  if (w == NULL || v == NULL || (v->key == NULL && v->len != 0) || v->len >= WRITER_MAX ||
      v->sequence > NAY_SST_MAX_SEQUENCE || w->order != NAY_ORDER_INTERNAL) {
    return NAY_EINVAL;
  }
  nay__store64le(trailer, v->sequence << 8 | !v->deleted);
  w->version.len = 0;
  nay_status status = nay__buffer_append(&w->version, v->key, v->len, &w->allocator);
  if (status == NAY_OK) {
    status = nay__buffer_append(&w->version, trailer, sizeof trailer, &w->allocator);
  }
  if (status != NAY_OK) return w->failed = status;
  return nay_sst_writer_add(w, w->version.at, w->version.len, value, value_len);
}

uint64_t nay_sst_writer_bytes(const nay_sst_writer *w) { return w->offset; }

uint64_t nay_sst_writer_count(const nay_sst_writer *w) { return w->count; }

/* ---- the end ---- */

/* An entry of the metaindex; they come in the order of their keys. */
static nay_status writer_add_meta(nay_sst_writer *w, const char *kind, const char *name,
                                  const uint8_t *value, size_t len) {
  w->meta_key.len = 0;
  NAY_TRY(nay__buffer_append(&w->meta_key, kind, strlen(kind), &w->allocator));
  NAY_TRY(nay__buffer_append(&w->meta_key, name, strlen(name), &w->allocator));
  /* nothing shared: the few bytes that a prefix would save are not worth remembering the last key,
   * and the one entry that LevelDB knows comes out as LevelDB writes it */
  return nay__block_add(&w->metaindex, w->meta_key.at, w->meta_key.len, 0, value, len,
                        &w->allocator);
}

static nay_status writer_meta_block(nay_sst_writer *w, const nay_buffer *contents, const char *kind,
                                    const char *name) {
  nay_handle handle;
  uint8_t value[NAY_HANDLE_MAX];
  NAY_TRY(writer_put_block(w, contents, 0, &handle));
  return writer_add_meta(w, kind, name, value, nay__handle_store(value, handle));
}

static nay_status writer_meta_maker(nay_sst_writer *w, nay_filter_maker *maker, const char *kind,
                                    const char *name) {
  w->filter.len = 0;
  NAY_TRY(nay__maker_finish(maker, &w->filter, &w->allocator));
  return writer_meta_block(w, &w->filter, kind, name);
}

static nay_status writer_put_filters(nay_sst_writer *w) {
  const nay_policy *policy = w->options.policy;
  const char *name = policy != NULL ? policy->name : NAY_NATIVE_POLICY;
  nay_sst_filter filter = w->options.filter;
  if (filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__filter_block_finish(&w->filter_block, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->filter_block.filters, "filter.", name));
  }
  if (w->count == 0) return NAY_OK; /* filters of nothing are not written */
  if (filter == NAY_SST_FULL_FILTER) {
    NAY_TRY(writer_meta_maker(w, &w->whole, "nay.full.", name));
  }
  if (filter > NAY_SST_BLOCK_FILTER || w->prefixes.n != 0) {
    bool internal = w->order == NAY_ORDER_INTERNAL;
    const char *keys = internal ? "internal" : "plain";
    NAY_TRY(writer_add_meta(w, "nay.keys", "", (const uint8_t *)keys, strlen(keys)));
  }
  if (filter == NAY_SST_PARTITIONED_FILTER) {
    NAY_TRY(nay__block_finish(&w->top, &w->allocator));
    NAY_TRY(writer_meta_block(w, &w->top.bytes, "nay.partitioned.", name));
  }
  if (w->prefixes.n == 0) return NAY_OK;
  return writer_meta_maker(w, &w->prefixes, "nay.prefix.", w->options.prefix->name);
}

static nay_status writer_put_end(nay_sst_writer *w) {
  nay_footer footer;
  uint8_t bytes[NAY_FOOTER];
  NAY_TRY(writer_flush_block(w));
  if (w->options.filter == NAY_SST_PARTITIONED_FILTER && w->whole.n != 0) {
    NAY_TRY(writer_cut_partition(w));
  }
  NAY_TRY(writer_index_pending(w, NULL, 0));
  NAY_TRY(writer_put_filters(w));
  NAY_TRY(writer_put_builder(w, &w->metaindex, &footer.metaindex));
  NAY_TRY(writer_put_builder(w, &w->index, &footer.index));
  nay__footer_store(bytes, &footer);
  return writer_put(w, bytes, sizeof bytes);
}

nay_status nay_sst_writer_finish(nay_sst_writer *w, nay_diag *diag) {
  if (w == NULL || w->finished) {
    return nay__fail(diag, NAY_EINVAL, "there is no writer, or it has finished", 0);
  }
  if (w->failed == NAY_OK) w->failed = writer_put_end(w);
  if (w->failed == NAY_OK) w->failed = writer_flush_file(w);
  if (w->failed == NAY_OK) w->failed = nay__replacement_finish(w->file, &w->trouble);
  w->finished = true;
  if (w->failed == NAY_OK) return NAY_OK;
  nay__fail(diag, w->failed, "a filter or a block could not be made", w->offset);
  if (diag != NULL && w->trouble.what != NULL) *diag = w->trouble;
  return w->failed;
}

/* ---- making and releasing ---- */

static nay_status writer_init(nay_sst_writer *w, const char *path, nay_diag *diag) {
  const nay_allocator *a = &w->allocator;
  const nay_sst_write_options *o = &w->options;
  nay_block_builder *builders[] = {&w->data, &w->index, &w->top, &w->metaindex};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    builders[i]->interval = i == 1 || i == 2 ? 1 : o->restart_interval;
    NAY_TRY(nay__block_reset(builders[i], a));
  }
  if (o->filter == NAY_SST_BLOCK_FILTER) {
    NAY_TRY(nay__maker_init(&w->filter_block.maker, o->policy, NULL, a));
  } else if (o->filter != NAY_SST_NO_FILTER) {
    NAY_TRY(nay__maker_init(&w->whole, o->policy, &o->params, a));
  }
  if (o->prefix != NULL) NAY_TRY(nay__maker_init(&w->prefixes, NULL, &o->params, a));
  return nay__replacement_new(path, a, diag, &w->file);
}

nay_status nay_sst_writer_new(const char *path, const nay_sst_write_options *options,
                              const nay_allocator *allocator, nay_diag *diag,
                              nay_sst_writer **writer) {
  nay_sst_write_options o = {.keys = NAY_SST_KEYS_AUTO};
  if (path == NULL || writer == NULL) {
    return nay__fail(diag, NAY_EINVAL, "path or writer is NULL", 0);
  }
  if (options != NULL) o = *options;
  NAY_TRY(writer_check(&o, diag));
  writer_defaults(&o);
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_sst_writer *w = nay__alloc(&a, sizeof *w);
  if (w == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for a writer", 0);
  *w = (nay_sst_writer){.allocator = a, .options = o};
  if (o.keys == NAY_SST_KEYS_INTERNAL) w->order = NAY_ORDER_INTERNAL;
  if (diag != NULL) diag->what = NULL;
  nay_status status = writer_init(w, path, diag);
  if (status != NAY_OK) {
    if (diag != NULL && diag->what == NULL) {
      nay__fail(diag, status, "the filter's params or memory", 0);
    }
    nay_sst_writer_free(w);
    return status;
  }
  *writer = w;
  return NAY_OK;
}

void nay_sst_writer_free(nay_sst_writer *w) {
  if (w == NULL) return;
  nay_allocator a = w->allocator;
  nay_block_builder *builders[] = {&w->data, &w->index, &w->top, &w->metaindex};
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
    nay__block_builder_free(builders[i], &a);
  }
  nay_buffer *buffers[] = {&w->out,         &w->last,   &w->compressed, &w->version,
                           &w->last_prefix, &w->filter, &w->meta_key};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) nay__buffer_free(buffers[i], &a);
  nay__filter_block_free(&w->filter_block, &a);
  nay__maker_free(&w->whole, &a);
  nay__maker_free(&w->prefixes, &a);
  nay__replacement_free(w->file);
  nay__free(&a, w, sizeof *w);
}
#undef WRITER_BLOCK_BYTES
#undef WRITER_BUFFER
#undef WRITER_INTERVAL
#undef WRITER_MAX
#undef WRITER_MAX_NAME
#undef WRITER_PARTITION

/* ==== src/sst/cache.c ======================================================================= */
/* cache.c - see cache.h. A lock is held for a few pointers at a time; memory is freed outside. */

/* ==== src/sst/cache.h ======================================================================= */
/*
 * cache.h - blocks and filter partitions in memory: two lists of entries, each with its own budget,
 * its own lock, and the least recently used entry at its end.
 *
 * An entry that is found or inserted is pinned until it is released: it may leave the list
 * meanwhile, but not the memory.
 */
#ifndef NAY_SST_CACHE_H
#define NAY_SST_CACHE_H

typedef enum nay_cache_side { NAY_CACHE_DATA, NAY_CACHE_FILTER } nay_cache_side;

/* nay_cache_entry: `len` bytes at `bytes`, and the filter they were decoded to, if any. */
typedef struct nay_cache_entry {
  uint64_t table, offset; /* what it is */
  size_t len;
  nay_filter *filter;                    /* goes with the entry */
  size_t charge;                         /* bytes that count */
  uint32_t npins;                        /* from here on the cache's own, under its lock */
  bool listed;                           /* can be found */
  struct nay_cache_entry *chain;         /* of the same bucket */
  struct nay_cache_entry *newer, *older; /* of the list */
  uint8_t *bytes;                        /* behind this struct */
} nay_cache_entry;

/* nay__cache_id: a number for a table, never given twice. */
uint64_t nay__cache_id(nay_sst_cache *cache);

/* nay__cache_find: pinned, or NULL. */
nay_cache_entry *nay__cache_find(nay_sst_cache *cache, nay_cache_side side, uint64_t table,
                                 uint64_t offset);

/* nay__cache_entry_new: room for len bytes, in nobody's list yet. NULL when there is no memory. */
nay_cache_entry *nay__cache_entry_new(nay_sst_cache *cache, uint64_t table, uint64_t offset,
                                      size_t len);
void nay__cache_entry_free(nay_sst_cache *cache, nay_cache_entry *entry);

/* nay__cache_insert: the entry is then pinned. When it is there already, or above the whole budget,
 * it is kept beside the list for the caller alone. */
void nay__cache_insert(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);
void nay__cache_release(nay_sst_cache *cache, nay_cache_side side, nay_cache_entry *entry);

/* nay__cache_allocator: what filters that go into entries are made with. */
const nay_allocator *nay__cache_allocator(const nay_sst_cache *cache);

#endif /* NAY_SST_CACHE_H */

#define CACHE_BUCKETS 1024u /* at first; a power of two */

typedef struct cache_list {
  uint8_t lock;
  nay_cache_entry **buckets;
  size_t nbuckets;
  nay_cache_entry *newest, *oldest;
  size_t budget;
  struct nay_sst_cache_side stats;
} cache_list;

struct nay_sst_cache {
  nay_allocator allocator;
  uint64_t last_id;
  cache_list lists[2];
};

static void cache_lock(cache_list *l) {
  if (nay__atomic_swap8(&l->lock, 1) != 0) nay__spin_wait(&l->lock);
}

static nay_cache_entry **cache_bucket(const cache_list *l, uint64_t table, uint64_t offset) {
  uint64_t h = nay_hash_mix(offset ^ table * 0x9e3779b97f4a7c15u);
  return &l->buckets[h & (l->nbuckets - 1)];
}

/* The link that points to the entry, or to the NULL where it would be. */
static nay_cache_entry **cache_link(const cache_list *l, uint64_t table, uint64_t offset) {
  nay_cache_entry **p = cache_bucket(l, table, offset);
  while (*p != NULL && ((*p)->table != table || (*p)->offset != offset)) p = &(*p)->chain;
  return p;
}

static void cache_unlink(cache_list *l, nay_cache_entry *e) {
  *(e->newer != NULL ? &e->newer->older : &l->newest) = e->older;
  *(e->older != NULL ? &e->older->newer : &l->oldest) = e->newer;
}

static void cache_to_front(cache_list *l, nay_cache_entry *e) {
  e->newer = NULL;
  e->older = l->newest;
  *(l->newest != NULL ? &l->newest->newer : &l->oldest) = e;
  l->newest = e;
}

/* Twice the buckets; without memory for them chains get longer, and that is all. */
static void cache_grow(cache_list *l, const nay_allocator *a) {
  size_t old = l->nbuckets, bytes;
  nay_cache_entry **buckets;
  if (!nay__mul_ok(old * 2, sizeof *buckets, &bytes)) return;
  buckets = nay__alloc(a, bytes);
  if (buckets == NULL) return;
  nay__free(a, l->buckets, old * sizeof *buckets);
  memset(buckets, 0, bytes);
  l->buckets = buckets;
  l->nbuckets = old * 2;
  for (nay_cache_entry *e = l->newest; e != NULL; e = e->older) {
    nay_cache_entry **p = cache_bucket(l, e->table, e->offset);
    e->chain = *p;
    *p = e;
  }
}

/* Takes the oldest entries off the list until it is within budget. Those that nobody holds are
 * returned, chained by `older`, for the caller to free without the lock. */
static nay_cache_entry *cache_shrink(cache_list *l) {
  nay_cache_entry *dead = NULL;
  while (l->stats.bytes > l->budget && l->oldest != NULL) {
    nay_cache_entry *e = l->oldest;
    cache_unlink(l, e);
    *cache_link(l, e->table, e->offset) = e->chain;
    e->listed = false;
    l->stats.bytes -= e->charge;
    l->stats.entries--;
    l->stats.evictions++;
    if (e->npins == 0) {
      e->older = dead;
      dead = e;
    }
  }
  return dead;
}

static void cache_bury(nay_sst_cache *c, nay_cache_entry *dead) {
  while (dead != NULL) {
    nay_cache_entry *next = dead->older;
    nay__cache_entry_free(c, dead);
    dead = next;
  }
}

uint64_t nay__cache_id(nay_sst_cache *c) {
  cache_list *l = &c->lists[0];
  cache_lock(l);
  uint64_t id = ++c->last_id;
  nay__spin_unlock(&l->lock);
  return id;
}

const nay_allocator *nay__cache_allocator(const nay_sst_cache *c) { return &c->allocator; }

nay_cache_entry *nay__cache_find(nay_sst_cache *c, nay_cache_side side, uint64_t table,
                                 uint64_t offset) {
  cache_list *l = &c->lists[side];
  cache_lock(l);
  nay_cache_entry *e = *cache_link(l, table, offset);
  if (e != NULL) {
    e->npins++;
    cache_unlink(l, e);
    cache_to_front(l, e);
    l->stats.hits++;
  } else {
    l->stats.misses++;
  }
  nay__spin_unlock(&l->lock);
  return e;
}

nay_cache_entry *nay__cache_entry_new(nay_sst_cache *c, uint64_t table, uint64_t offset,
                                      size_t len) {
  if (len > SIZE_MAX / 2) return NULL;
  nay_cache_entry *e = nay__alloc(&c->allocator, sizeof *e + len);
  if (e == NULL) return NULL;
  *e = (nay_cache_entry){.table = table, .offset = offset, .len = len, .charge = sizeof *e + len};
  e->bytes = (uint8_t *)(e + 1);
  return e;
}

void nay__cache_entry_free(nay_sst_cache *c, nay_cache_entry *e) {
  nay_filter_free(e->filter);
  nay__free(&c->allocator, e, sizeof *e + e->len);
}

void nay__cache_insert(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_list *l = &c->lists[side];
  nay_cache_entry *dead = NULL;
  e->npins = 1;
  cache_lock(l);
  nay_cache_entry **p = cache_link(l, e->table, e->offset);
  if (*p == NULL && e->charge <= l->budget) {
    *p = e;
    e->chain = NULL;
    e->listed = true;
    cache_to_front(l, e);
    l->stats.bytes += e->charge;
    if (++l->stats.entries > l->nbuckets) cache_grow(l, &c->allocator);
    dead = cache_shrink(l);
  }
  nay__spin_unlock(&l->lock);
  cache_bury(c, dead);
}

void nay__cache_release(nay_sst_cache *c, nay_cache_side side, nay_cache_entry *e) {
  cache_list *l = &c->lists[side];
  cache_lock(l);
  bool dead = --e->npins == 0 && !e->listed;
  nay__spin_unlock(&l->lock);
  if (dead) nay__cache_entry_free(c, e);
}

nay_status nay_sst_cache_new(size_t data_bytes, size_t filter_bytes, const nay_allocator *allocator,
                             nay_sst_cache **cache) {
  if (cache == NULL) return NAY_EINVAL;
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_sst_cache *c = nay__alloc(&a, sizeof *c);
  if (c == NULL) return NAY_ENOMEM;
  *c = (nay_sst_cache){.allocator = a};
  c->lists[NAY_CACHE_DATA].budget = data_bytes;
  c->lists[NAY_CACHE_FILTER].budget = filter_bytes;
  for (size_t i = 0; i < 2; i++) {
    size_t bytes = CACHE_BUCKETS * sizeof *c->lists[i].buckets;
    c->lists[i].buckets = nay__alloc(&a, bytes);
    if (c->lists[i].buckets == NULL) {
      nay_sst_cache_free(c);
      return NAY_ENOMEM;
    }
    memset(c->lists[i].buckets, 0, bytes);
    c->lists[i].nbuckets = CACHE_BUCKETS;
  }
  *cache = c;
  return NAY_OK;
}

void nay_sst_cache_free(nay_sst_cache *c) {
  if (c == NULL) return;
  nay_allocator a = c->allocator;
  for (size_t i = 0; i < 2; i++) {
    cache_list *l = &c->lists[i];
    cache_bury(c, l->newest);
    nay__free(&a, l->buckets, l->nbuckets * sizeof *l->buckets);
  }
  nay__free(&a, c, sizeof *c);
}

void nay_sst_cache_describe(const nay_sst_cache *cache, nay_sst_cache_stats *stats) {
  nay_sst_cache *c = (nay_sst_cache *)(uintptr_t)cache; /* for the locks */
  struct nay_sst_cache_side *sides[2] = {&stats->data, &stats->filter};
  for (size_t i = 0; i < 2; i++) {
    cache_lock(&c->lists[i]);
    *sides[i] = c->lists[i].stats;
    nay__spin_unlock(&c->lists[i].lock);
  }
}
#undef CACHE_BUCKETS

/* ==== src/sst/table_read.c ================================================================== */
/*
 * table_read.c - a block from the file or the cache.
 *
 * In a mapped file a block that is not compressed is used where it lies. Everything else needs
 * memory: the cache's when there is one, else that of the hold, which a caller uses again and again
 * so that a get in steady state allocates nothing.
 */

/* ==== src/sst/table.h ======================================================================= */
/*
 * table.h - an open table, shared by what opens it, reads it and walks it.
 *
 *   table_open.c    footer, index, what kind of keys
 *   table_filter.c  the filters of the metaindex, and asking them
 *   table_read.c    a block from the file or the cache, checked
 *   table_get.c     one key
 *   table_iter.c    many in order
 *   lookup.c        one key in many tables
 */
#ifndef NAY_SST_TABLE_H
#define NAY_SST_TABLE_H

/* Counted with relaxed atomics. One count for each way a get can go: their sum is `gets`. */
typedef struct nay_table_counts {
  uint64_t out_of_range, useful, maybe, unfiltered;
  uint64_t false_positives, faults, loads;
  uint64_t prefix_useful, prefix_maybe;
  uint64_t hashes, reads, hits;
} nay_table_counts;

/* nay_hold: what keeps the bytes of a block that was not used in place. Made when first needed. */
typedef struct nay_hold {
  nay_allocator allocator;
  nay_buffer raw;   /* as read from the file */
  nay_buffer plain; /* uncompressed */
  nay_sst_cache *cache;
  nay_cache_entry *pin; /* in the data side of the cache */
} nay_hold;

void nay__hold_free(nay_hold *hold);

/* nay_bytes: a view. */
typedef struct nay_bytes {
  const uint8_t *at;
  size_t len;
} nay_bytes;

struct nay_sst {
  nay_allocator allocator;
  nay_sst_read_options options;
  const uint8_t *bytes; /* the whole file, mapped or the caller's; NULL: it is read through fd */
  void *mapping;
  int fd;
  uint64_t file_len;
  uint64_t limit; /* where the footer starts: no block is behind it */
  uint64_t cache_id;
  nay_order order;
  bool order_guessed;
  nay_table_counts *counts;

  nay_hold *index_hold;
  nay_block index;
  uint8_t
      *verified; /* a bit for each block of a mapped file whose checksum was right; NULL: none */
  size_t verified_len;
  bool empty;
  bool has_smallest;
  nay_buffer smallest, largest;
  uint64_t nblocks;
  uint8_t first_codec;

  nay_sst_filter filter;
  bool filter_used;
  uint64_t filter_bytes;
  uint64_t npartitions;
  nay_buffer policy_name, prefix_name; /* end in 0; empty: no filter */
  const nay_policy *policy;            /* NULL: native */
  nay_hold *filter_hold;
  nay_bytes filter_at;           /* full filter of a policy */
  nay_filter_block filter_block; /* LevelDB's */
  nay_block partitions;          /* top-level index */
  nay_filter *full;
  nay_filter *prefix;
  uint64_t prefix_bytes;
};

/* nay_hash_memo: the hash of one key, for all filters that hash alike. Zero-initialise. */
typedef struct nay_hash_memo {
  bool set;
  nay_hasher hasher;
  nay_hash hash;
  uint64_t nhashes;
} nay_hash_memo;

/* nay__table_fetch: the contents of a block that is not data, its checksum verified, past the
 * cache. *hold is made when it is needed, and keeps the bytes until it is used again. */
nay_status nay__table_fetch(const nay_sst *sst, nay_handle handle, nay_hold **hold, nay_diag *diag,
                            nay_bytes *contents);

/* nay__table_block: the data block of an index entry for a search or a walk; counted. */
nay_status nay__table_block(const nay_sst *sst, const nay_entry *entry, nay_handle handle,
                            nay_hold **hold, nay_diag *diag, nay_block *block);

/* nay__table_moved: adds the place of a block to an offset inside it. */
static inline nay_status nay__table_moved(nay_status status, nay_diag *diag, nay_handle handle) {
  if (status == NAY_ECORRUPT && diag != NULL) diag->offset += handle.offset;
  return status;
}

/* nay__table_handle: the handle in an index entry's value. */
nay_status nay__table_handle(const nay_sst *sst, const uint8_t *value, size_t len, nay_diag *diag,
                             nay_handle *handle);

/* nay__table_filters: reads the metaindex. Whatever is wrong with a filter is counted, no more. */
nay_status nay__table_filters(nay_sst *sst, nay_handle metaindex);
void nay__table_filters_free(nay_sst *sst);

/* What filters say. NAY_UNASKED: there is none for this question. */
typedef enum nay_verdict { NAY_UNASKED, NAY_SAYS_NAY, NAY_SAYS_MAYBE } nay_verdict;

/* nay__table_ask: the filters that need no index entry; hold as in nay__table_fetch. */
nay_verdict nay__table_ask(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold);

/* nay__table_ask_block: LevelDB's filter of the data block. */
nay_verdict nay__table_ask_block(const nay_sst *sst, const nay_target *target, nay_handle handle);

/* nay__table_ask_range: the prefix filter, for all keys from `from` to before `to` (NULL: no end).
 */
nay_verdict nay__table_ask_range(const nay_sst *sst, nay_bytes from, const nay_bytes *to);

/* nay__table_get: what nay_sst_get does, with a hash that may be known already. */
nay_status nay__table_get(const nay_sst *sst, const nay_target *target, nay_hash_memo *memo,
                          nay_diag *diag, nay_sst_value *value);

#endif /* NAY_SST_TABLE_H */

#define READ_MAX_BLOCK (256u << 20)

static nay_hold *read_hold(const nay_sst *t, nay_hold **slot) {
  if (*slot == NULL) {
    nay_hold *h = nay__alloc(&t->allocator, sizeof *h);
    if (h == NULL) return NULL;
    *h = (nay_hold){.allocator = t->allocator};
    *slot = h;
  }
  return *slot;
}

static void read_unpin(nay_hold *h) {
  if (h == NULL || h->pin == NULL) return;
  nay__cache_release(h->cache, NAY_CACHE_DATA, h->pin);
  h->pin = NULL;
}

void nay__hold_free(nay_hold *h) {
  if (h == NULL) return;
  nay_allocator a = h->allocator;
  read_unpin(h);
  nay__buffer_free(&h->raw, &a);
  nay__buffer_free(&h->plain, &a);
  nay__free(&a, h, sizeof *h);
}

static nay_status read_no_memory(nay_diag *diag, nay_handle handle) {
  return nay__fail(diag, NAY_ENOMEM, "no memory for a block", handle.offset);
}

static nay_bytes read_pin(const nay_sst *t, nay_hold *h, nay_cache_entry *e) {
  h->cache = t->options.cache;
  h->pin = e;
  return (nay_bytes){e->bytes, e->len};
}

/* The block with its frame: in place, or into hold->raw. */
static nay_status read_raw(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_diag *diag,
                           const uint8_t **raw) {
  if (t->bytes != NULL) {
    *raw = t->bytes + handle.offset;
    return NAY_OK;
  }
  size_t len = (size_t)handle.size + NAY_BLOCK_FRAME;
  nay_hold *h = read_hold(t, slot);
  if (h == NULL) return read_no_memory(diag, handle);
  h->raw.len = 0;
  if (nay__buffer_reserve(&h->raw, len, &h->allocator) != NAY_OK) {
    return read_no_memory(diag, handle);
  }
  NAY_TRY(nay__file_pread(t->fd, handle.offset, h->raw.at, len, diag));
  h->raw.len = len;
  *raw = h->raw.at;
  return NAY_OK;
}

static const nay_codec *read_codec(const nay_sst *t, uint8_t id) {
  for (size_t i = 0; i < t->options.ncodecs; i++) {
    if (t->options.codecs[i]->id == id) return t->options.codecs[i];
  }
  return NULL;
}

/* How long the contents are, and by which codec (NULL: none) they come out of the raw block. */
static nay_status read_plan(const nay_sst *t, const uint8_t *raw, nay_handle handle, nay_diag *diag,
                            const nay_codec **codec, size_t *size) {
  uint64_t most = t->options.max_block_bytes != 0 ? t->options.max_block_bytes : READ_MAX_BLOCK;
  uint8_t type = raw[handle.size];
  *codec = NULL;
  *size = (size_t)handle.size;
  if (type == 0) return NAY_OK;
  *codec = read_codec(t, type);
  if (*codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and no codec was given for it",
                     handle.offset);
  }
  if (!(*codec)->uncompressed_size(*codec, raw, (size_t)handle.size, size)) {
    return nay__fail(diag, NAY_ECORRUPT, "a compressed block does not tell its size",
                     handle.offset);
  }
  if (*size <= most) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a block would be longer than max_block_bytes",
                   handle.offset);
}

/* Contents into dst, which has room for them. */
static nay_status read_unpack(const nay_codec *codec, const uint8_t *raw, nay_handle handle,
                              uint8_t *dst, size_t size, nay_diag *diag) {
  if (codec == NULL) {
    memcpy(dst, raw, size);
  } else if (!codec->uncompress(codec, raw, (size_t)handle.size, dst, size)) {
    return nay__fail(diag, NAY_ECORRUPT, "a block cannot be uncompressed", handle.offset);
  }
  return NAY_OK;
}

static nay_status read_into_cache(const nay_sst *t, const uint8_t *raw, nay_handle handle,
                                  const nay_codec *codec, size_t size, nay_hold **slot,
                                  nay_diag *diag, nay_bytes *contents) {
  nay_hold *h = read_hold(t, slot);
  nay_cache_entry *e =
      h == NULL ? NULL : nay__cache_entry_new(t->options.cache, t->cache_id, handle.offset, size);
  if (e == NULL) return read_no_memory(diag, handle);
  nay_status status = read_unpack(codec, raw, handle, e->bytes, size, diag);
  if (status != NAY_OK) {
    nay__cache_entry_free(t->options.cache, e);
    return status;
  }
  nay__cache_insert(t->options.cache, NAY_CACHE_DATA, e);
  *contents = read_pin(t, h, e);
  return NAY_OK;
}

static nay_status read_into_hold(const nay_sst *t, const uint8_t *raw, nay_handle handle,
                                 const nay_codec *codec, size_t size, nay_hold **slot,
                                 nay_diag *diag, nay_bytes *contents) {
  nay_hold *h = read_hold(t, slot);
  if (h == NULL) return read_no_memory(diag, handle);
  h->plain.len = 0;
  if (nay__buffer_reserve(&h->plain, size, &h->allocator) != NAY_OK) {
    return read_no_memory(diag, handle);
  }
  NAY_TRY(read_unpack(codec, raw, handle, h->plain.at, size, diag));
  *contents = (nay_bytes){h->plain.at, size};
  return NAY_OK;
}

/* From the cache, if it may be there. */
static bool read_cached(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_bytes *contents) {
  bool in_place = t->bytes != NULL && t->bytes[handle.offset + handle.size] == 0;
  if (t->options.cache == NULL || in_place) return false;
  nay_hold *h = read_hold(t, slot);
  nay_cache_entry *e =
      h == NULL ? NULL
                : nay__cache_find(t->options.cache, NAY_CACHE_DATA, t->cache_id, handle.offset);
  if (e == NULL) return false;
  *contents = read_pin(t, h, e);
  return true;
}

/* From the file: verified unless the caller knows that it was, into the cache if that is for it. */
static nay_status read_block(const nay_sst *t, nay_handle handle, bool verified, bool cache,
                             nay_hold **slot, nay_diag *diag, nay_bytes *contents) {
  const uint8_t *raw;
  const nay_codec *codec;
  size_t size;
  NAY_TRY(read_raw(t, handle, slot, diag, &raw));
  if (!verified) NAY_TRY(nay__frame_check(raw, (size_t)handle.size, handle.offset, diag));
  NAY_TRY(read_plan(t, raw, handle, diag, &codec, &size));
  if (codec == NULL && (t->bytes != NULL || !cache)) {
    *contents = (nay_bytes){raw, size};
    return NAY_OK;
  }
  return (cache ? read_into_cache : read_into_hold)(t, raw, handle, codec, size, slot, diag,
                                                    contents);
}

static nay_status read_outside(nay_diag *diag, nay_handle handle) {
  return nay__fail(diag, NAY_ECORRUPT, "a block would lie outside of the file", handle.offset);
}

nay_status nay__table_fetch(const nay_sst *t, nay_handle handle, nay_hold **slot, nay_diag *diag,
                            nay_bytes *contents) {
  if (!nay__handle_fits(handle, t->limit)) return read_outside(diag, handle);
  read_unpin(*slot);
  return read_block(t, handle, false, false, slot, diag, contents);
}

/*
 * The checksum of a block in a mapped file is verified when the block is first used, and its bit
 * set. An index entry has five bytes or more, so a quarter of its offset is a number of its own.
 */
static uint8_t *read_bit(const nay_sst *t, const nay_entry *entry, uint8_t *mask) {
  size_t bit = entry->at / 4;
  *mask = (uint8_t)(1u << bit % 8);
  return t->verified != NULL && bit / 8 < t->verified_len ? t->verified + bit / 8 : NULL;
}

nay_status nay__table_block(const nay_sst *t, const nay_entry *entry, nay_handle handle,
                            nay_hold **slot, nay_diag *diag, nay_block *block) {
  nay_bytes contents;
  uint8_t mask, *byte = read_bit(t, entry, &mask);
  if (!nay__handle_fits(handle, t->limit)) return read_outside(diag, handle);
  nay__atomic_increment64(&t->counts->reads);
  read_unpin(*slot);
  if (read_cached(t, handle, slot, &contents)) {
    nay__atomic_increment64(&t->counts->hits);
  } else {
    bool verified = byte != NULL && (nay__atomic_load8(byte) & mask) != 0;
    bool cache = t->options.cache != NULL;
    NAY_TRY(read_block(t, handle, verified, cache, slot, diag, &contents));
    if (byte != NULL && !verified) (void)nay__atomic_or8(byte, mask);
  }
  return nay__table_moved(nay__block_open(contents.at, contents.len, diag, block), diag, handle);
}

nay_status nay__table_handle(const nay_sst *t, const uint8_t *value, size_t len, nay_diag *diag,
                             nay_handle *handle) {
  if (nay__handle_load(value, value + len, handle) == NULL ||
      !nay__handle_fits(*handle, t->limit)) {
    return nay__fail(diag, NAY_ECORRUPT, "an index entry points to no block", 0);
  }
  return NAY_OK;
}
#undef READ_MAX_BLOCK

/* ==== src/sst/table_filter.c ================================================================ */
/*
 * table_filter.c - the filters of a table: found in the metaindex, asked before blocks are read.
 *
 *   filter.<policy>            LevelDB's block of filters, one for each 2 KiB
 *   nay.full.<policy>          one filter
 *   nay.keys                   "plain" or "internal"
 *   nay.partitioned.<policy>   index of filters, one for each range of keys
 *   nay.prefix.<extractor>     one filter of prefixes, native
 *
 * A filter only ever saves work: one that cannot be read, has a policy that nobody knows or was
 * fed by another extractor is left out. Damage is counted as a fault.
 */

#define META_MAX_NAME 1024u /* a longer one is nobody's */

/* ---- opening ---- */

static void filter_fault(const nay_sst *t) { nay__atomic_increment64(&t->counts->faults); }

static bool filter_starts(const nay_buffer *key, const char *with, nay_bytes *rest) {
  size_t n = strlen(with);
  if (key->len < n || memcmp(key->at, with, n) != 0) return false;
  *rest = (nay_bytes){key->at + n, key->len - n};
  return true;
}

static bool filter_is(nay_bytes name, const char *text) {
  size_t n = strlen(text);
  return name.len == n && (n == 0 || memcmp(name.at, text, n) == 0);
}

static const nay_policy *filter_policy(const nay_sst *t, nay_bytes name) {
  for (size_t i = 0; i < t->options.npolicies; i++) {
    if (filter_is(name, t->options.policies[i]->name)) return t->options.policies[i];
  }
  return NULL;
}

static nay_status filter_name(const nay_sst *t, nay_buffer *to, nay_bytes name) {
  to->len = 0;
  NAY_TRY(nay__buffer_append(to, name.at, name.len, &t->allocator));
  return nay__buffer_append(to, "", 1, &t->allocator);
}

/* A native filter from its bytes, with the caller's secret key if it wants one. NULL: damaged. */
static nay_filter *filter_decode(const nay_sst *t, nay_bytes bytes, const nay_allocator *a) {
  nay_filter *f = NULL;
  if (nay_filter_decode(bytes.at, bytes.len, a, NULL, &f) != NAY_OK) return NULL;
  if (t->options.hash_key != NULL) (void)nay_filter_unlock(f, t->options.hash_key);
  return f;
}

/* Whether a whole-key filter that is fetched can be used; fills the field of its kind. */
static bool filter_accept(nay_sst *t, nay_sst_filter kind, bool native, nay_bytes bytes) {
  switch (kind) {
    case NAY_SST_BLOCK_FILTER: return nay__filter_block_open(bytes.at, bytes.len, &t->filter_block);
    case NAY_SST_PARTITIONED_FILTER:
      t->npartitions = 0;
      return nay__block_open(bytes.at, bytes.len, NULL, &t->partitions) == NAY_OK;
    default:
      t->filter_at = bytes;
      if (native) t->full = filter_decode(t, bytes, &t->allocator);
      return !native || t->full != NULL;
  }
}

/* What the partitions hold in all; their index tells, and so is walked once. */
static void filter_measure(nay_sst *t) {
  nay_cursor c = {.block = t->partitions, .order = t->order, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, NULL);
  for (; status == NAY_OK; status = nay__cursor_next(&c, NULL)) {
    nay_handle h;
    if (nay__table_handle(t, c.entry.value, c.entry.value_len, NULL, &h) != NAY_OK) continue;
    t->npartitions++;
    t->filter_bytes += h.size;
  }
  nay__buffer_free(&c.key, &t->allocator);
}

static nay_status filter_open_whole(nay_sst *t, nay_sst_filter kind, nay_bytes name,
                                    nay_bytes value) {
  nay_handle handle;
  nay_bytes bytes;
  if (t->filter_used) return NAY_OK; /* one is enough */
  t->filter = kind;
  NAY_TRY(filter_name(t, &t->policy_name, name));
  bool native = kind != NAY_SST_BLOCK_FILTER && filter_is(name, NAY_NATIVE_POLICY);
  t->policy = native ? NULL : filter_policy(t, name);
  if (nay__table_handle(t, value.at, value.len, NULL, &handle) != NAY_OK) {
    filter_fault(t);
    return NAY_OK;
  }
  t->filter_bytes = handle.size;
  if (!native && t->policy == NULL) return NAY_OK; /* not understood, which is no fault */
  nay_status status = nay__table_fetch(t, handle, &t->filter_hold, NULL, &bytes);
  if (status == NAY_ENOMEM) return status;
  t->filter_used = status == NAY_OK && filter_accept(t, kind, native, bytes);
  if (!t->filter_used) filter_fault(t);
  return NAY_OK;
}

static nay_status filter_open_prefix(nay_sst *t, nay_bytes name, nay_bytes value) {
  nay_handle handle;
  nay_bytes bytes;
  nay_hold *hold = NULL;
  if (t->prefix != NULL) return NAY_OK;
  NAY_TRY(filter_name(t, &t->prefix_name, name));
  const nay_prefix *extractor = t->options.prefix;
  bool ours = extractor != NULL && filter_is(name, extractor->name);
  nay_status status = nay__table_handle(t, value.at, value.len, NULL, &handle);
  if (status == NAY_OK) {
    t->prefix_bytes = handle.size;
    if (!ours) return NAY_OK;
    status = nay__table_fetch(t, handle, &hold, NULL, &bytes);
  }
  if (status == NAY_OK) t->prefix = filter_decode(t, bytes, &t->allocator);
  if (ours && t->prefix == NULL) filter_fault(t);
  nay__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status filter_open_entry(nay_sst *t, const nay_cursor *c) {
  nay_bytes name, value = {c->entry.value, c->entry.value_len};
  if (c->key.len > META_MAX_NAME) return NAY_OK;
  if (filter_starts(&c->key, "filter.", &name)) {
    return filter_open_whole(t, NAY_SST_BLOCK_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.full.", &name)) {
    return filter_open_whole(t, NAY_SST_FULL_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.partitioned.", &name)) {
    return filter_open_whole(t, NAY_SST_PARTITIONED_FILTER, name, value);
  }
  if (filter_starts(&c->key, "nay.prefix.", &name)) return filter_open_prefix(t, name, value);
  if (filter_starts(&c->key, "nay.keys", &name) && name.len == 0 &&
      t->options.keys == NAY_SST_KEYS_AUTO) {
    t->order = filter_is(value, "internal") ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES;
    t->order_guessed = false;
  }
  return NAY_OK;
}

nay_status nay__table_filters(nay_sst *t, nay_handle metaindex) {
  nay_hold *hold = NULL;
  nay_bytes bytes;
  nay_cursor c = {.order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  nay_status status = nay__table_fetch(t, metaindex, &hold, NULL, &bytes);
  if (status == NAY_OK) status = nay__block_open(bytes.at, bytes.len, NULL, &c.block);
  if (status == NAY_OK) status = nay__cursor_first(&c, NULL);
  while (status == NAY_OK) {
    status = filter_open_entry(t, &c);
    if (status == NAY_OK) status = nay__cursor_next(&c, NULL);
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(hold);
  if (status == NAY_ENOMEM) return status;
  if (status != NAY_ENOENT) filter_fault(t);
  if (t->filter_used && t->filter == NAY_SST_PARTITIONED_FILTER) filter_measure(t);
  return NAY_OK;
}

void nay__table_filters_free(nay_sst *t) {
  nay_filter_free(t->full);
  nay_filter_free(t->prefix);
  nay__hold_free(t->filter_hold);
  nay__buffer_free(&t->policy_name, &t->allocator);
  nay__buffer_free(&t->prefix_name, &t->allocator);
}

/* ---- asking ---- */

static bool filter_native_test(const nay_sst *t, const nay_filter *f, const nay_target *target,
                               nay_hash_memo *memo) {
  if (!memo->set || !nay__hasher_same(&memo->hasher, &f->hasher)) {
    if (nay__hasher_ready(&f->hasher) != NAY_OK) return true; /* its secret key is missing */
    memo->hasher = f->hasher;
    memo->hash = nay__hash_key(&f->hasher, target->len != 0 ? target->user : (const uint8_t *)"",
                               target->len);
    memo->set = true;
    memo->nhashes++;
    nay__atomic_increment64(&t->counts->hashes);
  }
  return nay_filter_may_contain_hash(f, memo->hash);
}

/* A partition that is in the cache, or is put there. NULL: it cannot be read. */
static nay_cache_entry *filter_cached_partition(const nay_sst *t, nay_handle handle,
                                                nay_hold **hold) {
  nay_sst_cache *cache = t->options.cache;
  nay_bytes bytes;
  nay_cache_entry *e = nay__cache_find(cache, NAY_CACHE_FILTER, t->cache_id, handle.offset);
  if (e != NULL) return e;
  nay__atomic_increment64(&t->counts->loads);
  if (nay__table_fetch(t, handle, hold, NULL, &bytes) != NAY_OK) return NULL;
  e = nay__cache_entry_new(cache, t->cache_id, handle.offset, t->policy != NULL ? bytes.len : 0);
  if (e == NULL) return NULL;
  if (t->policy != NULL) {
    memcpy(e->bytes, bytes.at, bytes.len);
  } else {
    e->filter = filter_decode(t, bytes, nay__cache_allocator(cache));
    if (e->filter == NULL) {
      nay__cache_entry_free(cache, e);
      return NULL;
    }
    e->charge += sizeof *e->filter + e->filter->memory.raw_size;
  }
  nay__cache_insert(cache, NAY_CACHE_FILTER, e);
  return e;
}

static bool filter_policy_test(const nay_sst *t, const nay_target *target, const uint8_t *bytes,
                               size_t len) {
  return t->policy->may_match(t->policy, target->user, target->len, bytes, len);
}

/* Without a cache the partition is checked and asked where it lies, each time. */
static nay_verdict filter_ask_in_place(const nay_sst *t, nay_handle handle,
                                       const nay_target *target, nay_hash_memo *memo,
                                       nay_hold **hold) {
  nay_bytes bytes;
  nay_view view;
  bool maybe;
  nay__atomic_increment64(&t->counts->loads);
  if (nay__table_fetch(t, handle, hold, NULL, &bytes) != NAY_OK) return NAY_UNASKED;
  if (t->policy != NULL) {
    maybe = filter_policy_test(t, target, bytes.at, bytes.len);
  } else {
    if (nay_view_open(bytes.at, bytes.len, t->options.hash_key, NULL, &view) != NAY_OK) {
      return NAY_UNASKED;
    }
    maybe = filter_native_test(t, nay_view_filter(&view), target, memo);
  }
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

static nay_verdict filter_ask_partition(const nay_sst *t, const nay_target *target,
                                        nay_hash_memo *memo, nay_hold **hold) {
  nay_found found;
  nay_handle handle;
  nay_verdict verdict = NAY_UNASKED;
  if (nay__block_find(&t->partitions, t->order, target, NULL, &found) == NAY_OK &&
      nay__table_handle(t, found.entry.value, found.entry.value_len, NULL, &handle) == NAY_OK) {
    if (t->options.cache == NULL) {
      verdict = filter_ask_in_place(t, handle, target, memo, hold);
    } else {
      nay_cache_entry *e = filter_cached_partition(t, handle, hold);
      if (e != NULL) {
        bool maybe = t->policy != NULL ? filter_policy_test(t, target, e->bytes, e->len)
                                       : filter_native_test(t, e->filter, target, memo);
        nay__cache_release(t->options.cache, NAY_CACHE_FILTER, e);
        verdict = maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
      }
    }
  }
  if (verdict == NAY_UNASKED) filter_fault(t);
  return verdict;
}

/* The prefix filter knows the prefix of every key that has one. */
static nay_verdict filter_ask_prefix(const nay_sst *t, const uint8_t *key, size_t len) {
  size_t n = 0;
  const nay_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, key, len, &n) || n > len) return NAY_UNASKED;
  bool maybe = nay_filter_may_contain(t->prefix, key, n);
  nay__atomic_increment64(maybe ? &t->counts->prefix_maybe : &t->counts->prefix_useful);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

nay_verdict nay__table_ask(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold) {
  bool maybe;
  if (!t->filter_used) return filter_ask_prefix(t, target->user, target->len);
  switch (t->filter) {
    case NAY_SST_FULL_FILTER:
      maybe = t->full != NULL ? filter_native_test(t, t->full, target, memo)
                              : filter_policy_test(t, target, t->filter_at.at, t->filter_at.len);
      return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
    case NAY_SST_PARTITIONED_FILTER: return filter_ask_partition(t, target, memo, hold);
    default: return NAY_UNASKED;
  }
}

nay_verdict nay__table_ask_block(const nay_sst *t, const nay_target *target, nay_handle handle) {
  if (!t->filter_used || t->filter != NAY_SST_BLOCK_FILTER) return NAY_UNASKED;
  bool maybe = nay__filter_block_may_match(&t->filter_block, t->policy, handle.offset, target->user,
                                           target->len);
  return maybe ? NAY_SAYS_MAYBE : NAY_SAYS_NAY;
}

/* Whether no key at or above `prefix` and below `to` starts otherwise: to <= successor(prefix). */
static bool filter_covers(nay_bytes prefix, nay_bytes to) {
  size_t n = prefix.len;
  while (n > 0 && prefix.at[n - 1] == 0xff) n--;
  if (n == 0) return true; /* nothing sorts behind all keys that start with it */
  size_t least = n - 1 < to.len ? n - 1 : to.len, same = nay__common(prefix.at, to.at, least);
  if (same < least) return to.at[same] < prefix.at[same];
  if (to.len < n) return true;
  return to.at[n - 1] <= prefix.at[n - 1] || (to.at[n - 1] == prefix.at[n - 1] + 1 && to.len == n);
}

nay_verdict nay__table_ask_range(const nay_sst *t, nay_bytes from, const nay_bytes *to) {
  size_t n = 0;
  const nay_prefix *prefix = t->options.prefix;
  if (t->prefix == NULL || !prefix->extract(prefix, from.at, from.len, &n) || n > from.len) {
    return NAY_UNASKED;
  }
  nay_bytes start = {from.at, n}, all = {NULL, 0};
  if (to == NULL) {
    for (size_t i = 0; i < n; i++) {
      if (from.at[i] != 0xff) return NAY_UNASKED;
    }
  } else {
    all = *to;
  }
  if (to != NULL && !filter_covers(start, all)) return NAY_UNASKED;
  return filter_ask_prefix(t, from.at, from.len);
}
#undef META_MAX_NAME

/* ==== src/sst/table_open.c ================================================================== */
/* table_open.c - opens a table: footer, index, filters, and what kind of keys it has. */

#define OPEN_INDEX_KEYS 64u /* looked at to tell internal keys */

/* ---- internal keys or plain ones ---- */

typedef struct open_guess {
  nay_buffer last;
  size_t nkeys;
  bool internal; /* no key so far speaks against it */
} open_guess;

static nay_status open_guess_key(nay_sst *t, open_guess *g, const nay_buffer *key) {
  nay_sst_version ignored;
  bool ascends = g->nkeys == 0 ||
                 nay__order(NAY_ORDER_INTERNAL, g->last.at, g->last.len, key->at, key->len) < 0;
  if (nay_sst_key_split(key->at, key->len, &ignored) != NAY_OK || !ascends) g->internal = false;
  g->nkeys++;
  g->last.len = 0;
  return nay__buffer_append(&g->last, key->at, key->len, &t->allocator);
}

/* Up to `most` keys of a block. Damage is not looked for here: it ends the walk. */
static nay_status open_guess_block(nay_sst *t, open_guess *g, const nay_block *block, size_t most) {
  nay_cursor c = {.block = *block, .order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, NULL), memory = NAY_OK;
  for (size_t i = 0; i < most && status == NAY_OK && memory == NAY_OK && g->internal; i++) {
    memory = open_guess_key(t, g, &c.key);
    status = nay__cursor_next(&c, NULL);
  }
  nay__buffer_free(&c.key, &t->allocator);
  return status == NAY_ENOMEM ? status : memory;
}

static nay_status open_guess_order(nay_sst *t, const nay_block *first_block) {
  open_guess g = {.internal = true};
  nay_status status = NAY_OK;
  if (first_block != NULL) status = open_guess_block(t, &g, first_block, SIZE_MAX);
  size_t nkeys = g.nkeys;
  g.nkeys = 0; /* the index starts over */
  if (status == NAY_OK) status = open_guess_block(t, &g, &t->index, OPEN_INDEX_KEYS);
  bool any = nkeys + g.nkeys != 0;
  t->order = any && g.internal ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES;
  nay__buffer_free(&g.last, &t->allocator);
  return status;
}

/* ---- the range of keys ---- */

static nay_status open_copy(nay_sst *t, nay_buffer *to, const nay_buffer *key) {
  to->len = 0;
  return nay__buffer_append(to, key->at, key->len, &t->allocator);
}

/* The index: how many blocks, where the first is, the last key. */
static nay_status open_walk_index(nay_sst *t, nay_diag *diag, nay_handle *first) {
  nay_cursor c = {.block = t->index, .order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  nay_status status = nay__cursor_first(&c, diag);
  t->empty = status == NAY_ENOENT;
  if (status == NAY_OK) {
    status = nay__table_handle(t, c.entry.value, c.entry.value_len, diag, first);
  }
  while (status == NAY_OK) {
    t->nblocks++;
    status = nay__cursor_next(&c, diag);
  }
  /* past the end the cursor still has the last key */
  if (status == NAY_ENOENT) status = t->empty ? NAY_OK : open_copy(t, &t->largest, &c.key);
  nay__buffer_free(&c.key, &t->allocator);
  return status;
}

/*
 * The first block: its first key, and all of them to tell of which kind they are. That it cannot be
 * read is no reason not to open the table: whoever asks for its keys will be told.
 */
static nay_status open_first_block(nay_sst *t, nay_handle handle) {
  nay_hold *hold = NULL;
  nay_bytes contents;
  nay_block block;
  nay_cursor c = {.order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  nay_status status = nay__table_fetch(t, handle, &hold, NULL, &contents);
  if (status == NAY_OK) status = nay__block_open(contents.at, contents.len, NULL, &block);
  bool readable = status == NAY_OK;
  if (t->order_guessed && status != NAY_ENOMEM) {
    nay_status memory = open_guess_order(t, readable ? &block : NULL);
    if (memory != NAY_OK) status = memory;
  }
  if (status == NAY_OK) {
    c.block = block;
    status = nay__cursor_first(&c, NULL);
    if (status == NAY_OK) status = open_copy(t, &t->smallest, &c.key);
    t->has_smallest = status == NAY_OK;
  }
  nay__buffer_free(&c.key, &t->allocator);
  nay__hold_free(hold);
  return status == NAY_ENOMEM ? status : NAY_OK;
}

static nay_status open_codec_of(nay_sst *t, nay_handle handle) {
  uint64_t at = handle.offset + handle.size;
  if (t->bytes != NULL) {
    t->first_codec = t->bytes[at];
    return NAY_OK;
  }
  return nay__file_pread(t->fd, at, &t->first_codec, 1, NULL);
}

/* ---- opening ---- */

static nay_status open_footer(nay_sst *t, nay_diag *diag, nay_footer *footer) {
  uint8_t bytes[NAY_FOOTER];
  if (t->file_len < NAY_FOOTER) {
    return nay__fail(diag, NAY_EFORMAT, "no table: shorter than a footer", t->file_len);
  }
  t->limit = t->file_len - NAY_FOOTER;
  if (t->bytes != NULL) {
    memcpy(bytes, t->bytes + t->limit, sizeof bytes);
  } else {
    NAY_TRY(nay__file_pread(t->fd, t->limit, bytes, sizeof bytes, diag));
  }
  return nay__footer_load(bytes, t->file_len, diag, footer);
}

/* Room to note which blocks of a mapped file were verified. */
static nay_status open_verified(nay_sst *t) {
  if (t->bytes == NULL) return NAY_OK;
  t->verified_len = t->index.end / 32 + 1;
  t->verified = nay__alloc(&t->allocator, t->verified_len);
  if (t->verified == NULL) return NAY_ENOMEM;
  memset(t->verified, 0, t->verified_len);
  return NAY_OK;
}

static nay_status open_parts(nay_sst *t, nay_diag *diag) {
  nay_footer footer;
  nay_bytes index;
  nay_handle first;
  NAY_TRY(open_footer(t, diag, &footer));
  NAY_TRY(nay__table_fetch(t, footer.index, &t->index_hold, diag, &index));
  NAY_TRY(
      nay__table_moved(nay__block_open(index.at, index.len, diag, &t->index), diag, footer.index));
  NAY_TRY(nay__table_moved(open_walk_index(t, diag, &first), diag, footer.index));
  t->order_guessed = t->options.keys == NAY_SST_KEYS_AUTO;
  if (t->options.keys == NAY_SST_KEYS_INTERNAL) t->order = NAY_ORDER_INTERNAL;
  if ((t->options.flags & NAY_SST_NO_FILTERS) == 0) {
    NAY_TRY(nay__table_filters(t, footer.metaindex));
  }
  if (t->empty) return NAY_OK;
  NAY_TRY(open_verified(t));
  NAY_TRY(open_codec_of(t, first));
  return open_first_block(t, first);
}

static nay_status open_check(const nay_sst_read_options *o, nay_diag *diag) {
  if ((unsigned)o->keys > NAY_SST_KEYS_INTERNAL ||
      (o->flags & ~(NAY_SST_PREAD | NAY_SST_NO_FILTERS)) != 0) {
    return nay__fail(diag, NAY_EINVAL, "no such kind of keys, or an unknown flag", 0);
  }
  if ((o->codecs == NULL && o->ncodecs != 0) || (o->policies == NULL && o->npolicies != 0)) {
    return nay__fail(diag, NAY_EINVAL, "codecs or policies are NULL", 0);
  }
  for (size_t i = 0; i < o->ncodecs; i++) {
    const nay_codec *c = o->codecs[i];
    if (c == NULL || c->uncompressed_size == NULL || c->uncompress == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a codec is NULL or has no calls", i);
    }
  }
  for (size_t i = 0; i < o->npolicies; i++) {
    const nay_policy *p = o->policies[i];
    if (p == NULL || p->name == NULL || p->may_match == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a policy is NULL or has no name or call", i);
    }
  }
  if (o->prefix == NULL || o->prefix->extract != NULL) return NAY_OK;
  return nay__fail(diag, NAY_EINVAL, "the prefix has no extractor", 0);
}

static nay_status open_new(const nay_sst_read_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst **sst) {
  nay_sst_read_options o = {.keys = NAY_SST_KEYS_AUTO};
  if (options != NULL) o = *options;
  NAY_TRY(open_check(&o, diag));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_sst *t = nay__alloc(&a, sizeof *t);
  nay_table_counts *counts = nay__alloc(&a, sizeof *counts);
  if (t == NULL || counts == NULL) {
    nay__free(&a, t, sizeof *t);
    nay__free(&a, counts, sizeof *counts);
    return nay__fail(diag, NAY_ENOMEM, "no memory for a table", 0);
  }
  *counts = (nay_table_counts){.out_of_range = 0};
  *t = (nay_sst){.allocator = a, .options = o, .fd = -1, .counts = counts};
  if (o.cache != NULL) t->cache_id = nay__cache_id(o.cache);
  *sst = t;
  return NAY_OK;
}

static nay_status open_finish(nay_sst *t, nay_diag *diag, nay_sst **sst) {
  nay_status status = open_parts(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for a table", 0);
    nay_sst_free(t);
    return status;
  }
  *sst = t;
  return NAY_OK;
}

nay_status nay_sst_open(const char *path, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  size_t len = 0;
  nay_status status;
  if (path == NULL || sst == NULL) return nay__fail(diag, NAY_EINVAL, "path or sst is NULL", 0);
  NAY_TRY(open_new(options, allocator, diag, &t));
  if ((t->options.flags & NAY_SST_PREAD) != 0) {
    status = nay__file_open(path, diag, &t->fd, &len);
  } else {
    status = nay__file_map(path, diag, &t->mapping, &len);
    t->bytes = t->mapping != NULL ? t->mapping : (const uint8_t *)"";
  }
  t->file_len = len;
  if (status == NAY_OK) return open_finish(t, diag, sst);
  nay_sst_free(t);
  return status;
}

nay_status nay_sst_view(const void *bytes, size_t len, const nay_sst_read_options *options,
                        const nay_allocator *allocator, nay_diag *diag, nay_sst **sst) {
  nay_sst *t;
  if ((bytes == NULL && len != 0) || sst == NULL) {
    return nay__fail(diag, NAY_EINVAL, "bytes or sst is NULL", 0);
  }
  NAY_TRY(open_new(options, allocator, diag, &t));
  t->bytes = len != 0 ? bytes : "";
  t->file_len = len;
  return open_finish(t, diag, sst);
}

void nay_sst_free(nay_sst *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay__table_filters_free(t);
  nay__hold_free(t->index_hold);
  nay__free(&a, t->verified, t->verified_len);
  nay__buffer_free(&t->smallest, &a);
  nay__buffer_free(&t->largest, &a);
  if (t->mapping != NULL) nay__file_unmap(t->mapping, (size_t)t->file_len);
  if (t->fd >= 0) nay__file_close(t->fd);
  nay__free(&a, t->counts, sizeof *t->counts);
  nay__free(&a, t, sizeof *t);
}

/* ---- what it is ---- */

static const char *open_text(const nay_buffer *name) {
  return name->len != 0 ? (const char *)name->at : NULL;
}

void nay_sst_describe(const nay_sst *t, nay_sst_info *info) {
  bool internal = t->order == NAY_ORDER_INTERNAL;
  *info = (nay_sst_info){
      .keys = internal ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN,
      .keys_guessed = t->order_guessed,
      .nbytes = t->file_len,
      .nblocks = t->nblocks,
      .codec = t->first_codec,
      .filter = t->filter,
      .filter_used = t->filter_used,
      .filter_bytes = t->filter_bytes,
      .npartitions = t->npartitions,
      .policy = open_text(&t->policy_name),
      .prefix = open_text(&t->prefix_name),
      .prefix_used = t->prefix != NULL,
      .prefix_bytes = t->prefix_bytes,
      .smallest =
          t->has_smallest ? (t->smallest.len != 0 ? t->smallest.at : (const void *)"") : NULL,
      .smallest_len = t->has_smallest ? t->smallest.len : 0,
      .largest = t->empty ? NULL : (t->largest.len != 0 ? t->largest.at : (const void *)""),
      .largest_len = t->largest.len,
  };
}

const nay_filter *nay_sst_filter_of(const nay_sst *t) { return t->full; }

void nay_sst_count(const nay_sst *t, nay_sst_counters *counters) {
  const nay_table_counts *c = t->counts;
  uint64_t useful = nay__atomic_load64(&c->useful), maybe = nay__atomic_load64(&c->maybe);
  uint64_t out = nay__atomic_load64(&c->out_of_range);
  uint64_t prefix_useful = nay__atomic_load64(&c->prefix_useful);
  *counters = (nay_sst_counters){
      .gets = out + useful + maybe + nay__atomic_load64(&c->unfiltered),
      .out_of_range = out,
      .filter_checks = useful + maybe,
      .filter_useful = useful,
      .filter_false_positives = nay__atomic_load64(&c->false_positives),
      .filter_faults = nay__atomic_load64(&c->faults),
      .filter_loads = nay__atomic_load64(&c->loads),
      .prefix_checks = prefix_useful + nay__atomic_load64(&c->prefix_maybe),
      .prefix_useful = prefix_useful,
      .hashes = nay__atomic_load64(&c->hashes),
      .block_reads = nay__atomic_load64(&c->reads),
      .cache_hits = nay__atomic_load64(&c->hits),
  };
}
#undef OPEN_INDEX_KEYS

/* ==== src/sst/table_get.c =================================================================== */
/*
 * table_get.c - one key: its range, its filter, its index entry, its block.
 *
 * Each step may end the search, and each costs more than the one before it. Only the last touches
 * the file. Nothing is allocated, unless a block must be read or uncompressed into memory and the
 * value has none from an earlier get.
 */

static bool get_in_range(const nay_sst *t, const nay_target *target) {
  if (t->empty) return false;
  size_t low = nay__user_len(t->order, t->smallest.len);
  size_t high = nay__user_len(t->order, t->largest.len);
  if (t->has_smallest && nay__order_bytes(target->user, target->len, t->smallest.at, low) < 0) {
    return false;
  }
  return nay__order_bytes(target->user, target->len, t->largest.at, high) <= 0;
}

/* Where a key would be: an index entry, and the block it points to. */
typedef struct get_place {
  nay_entry entry;
  nay_handle handle;
} get_place;

/* The data block that may have the key. NAY_ENOENT: none does. */
static nay_status get_handle(const nay_sst *t, const nay_target *target, nay_diag *diag,
                             get_place *place) {
  nay_found found;
  NAY_TRY(nay__block_find(&t->index, t->order, target, diag, &found));
  place->entry = found.entry;
  return nay__table_handle(t, found.entry.value, found.entry.value_len, diag, &place->handle);
}

static nay_status get_from_block(const nay_sst *t, const nay_target *target, const get_place *place,
                                 nay_diag *diag, nay_sst_value *value) {
  nay_block block;
  nay_found found;
  nay_hold *hold = value->hold;
  nay_status status = nay__table_block(t, &place->entry, place->handle, &hold, diag, &block);
  value->hold = hold;
  if (status != NAY_OK) return status;
  NAY_TRY(nay__table_moved(nay__block_find(&block, t->order, target, diag, &found), diag,
                           place->handle));
  if (!found.equal) return NAY_ENOENT;
  value->bytes = found.entry.value;
  value->len = found.entry.value_len;
  value->sequence = found.trailer >> 8;
  value->deleted = t->order == NAY_ORDER_INTERNAL && (found.trailer & 0xff) == 0;
  return NAY_OK;
}

static nay_verdict get_ask(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                           nay_hold **hold, nay_diag *diag, nay_status *status, get_place *place) {
  nay_verdict verdict = nay__table_ask(t, target, memo, hold);
  *status = NAY_OK;
  if (verdict == NAY_SAYS_NAY) return verdict;
  *status = get_handle(t, target, diag, place);
  if (*status != NAY_OK || verdict != NAY_UNASKED) return verdict;
  return nay__table_ask_block(t, target, place->handle);
}

nay_status nay__table_get(const nay_sst *t, const nay_target *target, nay_hash_memo *memo,
                          nay_diag *diag, nay_sst_value *value) {
  nay_status status;
  get_place place;
  nay_table_counts *counts = t->counts;
  if (!get_in_range(t, target)) {
    nay__atomic_increment64(&counts->out_of_range);
    return NAY_ENOENT;
  }
  nay_hold *hold = value->hold;
  nay_verdict verdict = get_ask(t, target, memo, &hold, diag, &status, &place);
  value->hold = hold;
  if (verdict == NAY_SAYS_NAY) {
    nay__atomic_increment64(&counts->useful);
    return NAY_ENOENT;
  }
  bool asked = verdict == NAY_SAYS_MAYBE;
  nay__atomic_increment64(asked ? &counts->maybe : &counts->unfiltered);
  if (status == NAY_OK) status = get_from_block(t, target, &place, diag, value);
  if (status == NAY_ENOENT && asked) nay__atomic_increment64(&counts->false_positives);
  return status;
}

nay_status nay_sst_get_at(const nay_sst *t, const void *key, size_t len, uint64_t sequence,
                          nay_diag *diag, nay_sst_value *value) {
  if (t == NULL || value == NULL || (key == NULL && len != 0) || sequence > NAY_SST_MAX_SEQUENCE) {
    return nay__fail(diag, NAY_EINVAL, "table, key, sequence or value", 0);
  }
  nay_target target = {len != 0 ? key : "", len, sequence << 8 | 1};
  nay_hash_memo memo = {.set = false};
  value->deleted = false;
  return nay__table_get(t, &target, &memo, diag, value);
}

nay_status nay_sst_get(const nay_sst *t, const void *key, size_t len, nay_diag *diag,
                       nay_sst_value *value) {
  return nay_sst_get_at(t, key, len, NAY_SST_MAX_SEQUENCE, diag, value);
}

bool nay_sst_may_contain(const nay_sst *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  nay_target target = {len != 0 ? key : "", len, NAY_TRAILER_NEWEST};
  nay_hash_memo memo = {.set = false};
  nay_hold *hold = NULL;
  nay_status status = NAY_OK;
  get_place place;
  if (!get_in_range(t, &target)) return false;
  nay_verdict verdict = get_ask(t, &target, &memo, &hold, NULL, &status, &place);
  nay__hold_free(hold);
  return verdict != NAY_SAYS_NAY && status != NAY_ENOENT;
}

void nay_sst_value_free(nay_sst_value *value) {
  if (value == NULL) return;
  nay__hold_free(value->hold);
  *value = (nay_sst_value){.bytes = NULL};
}

/* ==== src/sst/table_iter.c ================================================================== */
/*
 * table_iter.c - walks a table: a cursor in the index, and one in the data block it points to.
 */

struct nay_sst_iter {
  const nay_sst *table;
  nay_cursor index, data;
  nay_handle block; /* of data */
  nay_hold *hold;
  nay_buffer end; /* user key before which a range ends */
  bool ends;
  bool valid;
  nay_diag diag;
};

nay_status nay_sst_iter_new(const nay_sst *t, nay_sst_iter **iter) {
  if (t == NULL || iter == NULL) return NAY_EINVAL;
  nay_sst_iter *it = nay__alloc(&t->allocator, sizeof *it);
  if (it == NULL) return NAY_ENOMEM;
  nay_cursor cursor = {.order = t->order, .allocator = &t->allocator};
  *it = (nay_sst_iter){.table = t, .index = cursor, .data = cursor};
  it->index.block = t->index;
  *iter = it;
  return NAY_OK;
}

void nay_sst_iter_free(nay_sst_iter *it) {
  if (it == NULL) return;
  const nay_allocator *a = &it->table->allocator;
  nay__buffer_free(&it->index.key, a);
  nay__buffer_free(&it->data.key, a);
  nay__buffer_free(&it->end, a);
  nay__hold_free(it->hold);
  nay__free(a, it, sizeof *it);
}

/* The block of the present index entry becomes the present one. */
static nay_status iter_load(nay_sst_iter *it) {
  const nay_entry *e = &it->index.entry;
  NAY_TRY(nay__table_handle(it->table, e->value, e->value_len, &it->diag, &it->block));
  it->data.valid = false;
  return nay__table_block(it->table, e, it->block, &it->hold, &it->diag, &it->data.block);
}

static nay_status iter_in_block(nay_sst_iter *it, nay_status status) {
  return nay__table_moved(status, &it->diag, it->block);
}

typedef nay_status (*iter_move)(nay_cursor *, nay_diag *);

/* While the data cursor is past its block: goes on to the next one that has an entry. */
static nay_status iter_carry(nay_sst_iter *it, nay_status status, iter_move step, iter_move enter) {
  while (status == NAY_ENOENT) {
    NAY_TRY(step(&it->index, &it->diag));
    NAY_TRY(iter_load(it));
    status = iter_in_block(it, enter(&it->data, &it->diag));
  }
  return status;
}

static nay_status iter_enter(nay_sst_iter *it, nay_status status, iter_move step, iter_move enter) {
  if (status == NAY_OK) status = iter_load(it);
  if (status != NAY_OK) return status;
  return iter_carry(it, iter_in_block(it, enter(&it->data, &it->diag)), step, enter);
}

/* Where a movement ended: at an entry, unless that is behind the range. */
static nay_status iter_settle(nay_sst_iter *it, nay_status status) {
  if (status == NAY_OK && it->ends) {
    size_t len = nay__user_len(it->table->order, it->data.key.len);
    if (nay__order_bytes(it->data.key.at, len, it->end.at, it->end.len) >= 0) status = NAY_ENOENT;
  }
  it->valid = status == NAY_OK;
  return status;
}

nay_status nay_sst_iter_first(nay_sst_iter *it) {
  it->ends = false;
  nay_status status = nay__cursor_first(&it->index, &it->diag);
  return iter_settle(it, iter_enter(it, status, nay__cursor_next, nay__cursor_first));
}

nay_status nay_sst_iter_last(nay_sst_iter *it) {
  it->ends = false;
  nay_status status = nay__cursor_last(&it->index, &it->diag);
  return iter_settle(it, iter_enter(it, status, nay__cursor_prev, nay__cursor_last));
}

nay_status nay_sst_iter_next(nay_sst_iter *it) {
  if (!it->valid) return NAY_ENOENT;
  nay_status status = iter_in_block(it, nay__cursor_next(&it->data, &it->diag));
  return iter_settle(it, iter_carry(it, status, nay__cursor_next, nay__cursor_first));
}

nay_status nay_sst_iter_prev(nay_sst_iter *it) {
  if (!it->valid) return NAY_ENOENT;
  nay_status status = iter_in_block(it, nay__cursor_prev(&it->data, &it->diag));
  return iter_settle(it, iter_carry(it, status, nay__cursor_prev, nay__cursor_last));
}

static nay_status iter_seek(nay_sst_iter *it, const void *key, size_t len) {
  nay_target target = {len != 0 ? key : (const void *)"", len, NAY_TRAILER_NEWEST};
  nay_status status = nay__cursor_seek(&it->index, &target, &it->diag);
  if (status == NAY_OK) status = iter_load(it);
  if (status == NAY_OK) {
    status = iter_in_block(it, nay__cursor_seek(&it->data, &target, &it->diag));
    status = iter_carry(it, status, nay__cursor_next, nay__cursor_first);
  }
  return iter_settle(it, status);
}

static nay_status iter_bad_argument(nay_sst_iter *it) {
  it->valid = false;
  return nay__fail(&it->diag, NAY_EINVAL, "a key is NULL and has a length", 0);
}

nay_status nay_sst_iter_seek(nay_sst_iter *it, const void *key, size_t len) {
  if (key == NULL && len != 0) return iter_bad_argument(it);
  it->ends = false;
  return iter_seek(it, key, len);
}

/* Sets the end of a range, copied; the caller may change it. */
static nay_status iter_end_before(nay_sst_iter *it, bool ends, const void *end, size_t len) {
  it->valid = false;
  it->ends = ends;
  it->end.len = 0;
  if (nay__buffer_append(&it->end, end, ends ? len : 0, &it->table->allocator) == NAY_OK) {
    return NAY_OK;
  }
  return nay__fail(&it->diag, NAY_ENOMEM, "no memory for a key", 0);
}

/* From `from` to the end that is set, if the filter of prefixes lets us. */
static nay_status iter_scan(nay_sst_iter *it, const uint8_t *from, size_t len) {
  nay_bytes start = {from, len}, end = {it->end.at, it->end.len};
  if (nay__table_ask_range(it->table, start, it->ends ? &end : NULL) == NAY_SAYS_NAY) {
    return NAY_ENOENT;
  }
  return iter_seek(it, from, len);
}

nay_status nay_sst_iter_range(nay_sst_iter *it, const void *from, size_t from_len, const void *to,
                              size_t to_len) {
  if ((from == NULL && from_len != 0) || (to == NULL && to_len != 0)) return iter_bad_argument(it);
  NAY_TRY(iter_end_before(it, to != NULL, to, to_len));
  return iter_scan(it, from_len != 0 ? from : (const void *)"", from_len);
}

nay_status nay_sst_iter_prefix(nay_sst_iter *it, const void *prefix, size_t len) {
  if (prefix == NULL && len != 0) return iter_bad_argument(it);
  const uint8_t *p = len != 0 ? prefix : (const void *)"";
  size_t n = len;
  while (n > 0 && p[n - 1] == 0xff) n--;
  /* the first key behind them all: the last byte that can grow does */
  NAY_TRY(iter_end_before(it, n != 0, p, n));
  if (n != 0) it->end.at[n - 1]++;
  return iter_scan(it, p, len);
}

bool nay_sst_iter_valid(const nay_sst_iter *it) { return it->valid; }

const void *nay_sst_iter_key(const nay_sst_iter *it, size_t *len) {
  *len = it->valid ? it->data.key.len : 0;
  if (!it->valid) return NULL;
  return it->data.key.len != 0 ? it->data.key.at : (const void *)"";
}

const void *nay_sst_iter_value(const nay_sst_iter *it, size_t *len) {
  *len = it->valid ? it->data.entry.value_len : 0;
  return it->valid ? it->data.entry.value : NULL;
}

const nay_diag *nay_sst_iter_diag(const nay_sst_iter *it) { return &it->diag; }

/* ==== src/sst/lookup.c ====================================================================== */
/*
 * lookup.c - one key in many tables, newest first. The key is hashed once, not once a table, and
 * with the hash known the memory that the next few filters will need is asked for ahead of time.
 */

#define LOOKUP_AHEAD 8u /* tables; about as many lines as a core has on their way at a time */

struct nay_lookup {
  nay_allocator allocator;
  size_t n;
  uint64_t own[2];
  uint64_t *counts; /* gets and hashes, in own[]: const calls count too */
  const nay_sst *tables[];
};

static size_t lookup_size(size_t n) {
  size_t bytes;
  if (!nay__mul_ok(n, sizeof(const nay_sst *), &bytes) || bytes > SIZE_MAX / 2) return 0;
  return sizeof(nay_lookup) + bytes;
}

nay_status nay_lookup_new(const nay_sst *const *tables, size_t n, const nay_allocator *allocator,
                          nay_lookup **lookup) {
  if ((tables == NULL && n != 0) || lookup == NULL) return NAY_EINVAL;
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return NAY_EINVAL;
  }
  nay_allocator a = nay__allocator_or_default(allocator);
  size_t size = lookup_size(n);
  nay_lookup *l = size == 0 ? NULL : nay__alloc(&a, size);
  if (l == NULL) return NAY_ENOMEM;
  l->allocator = a;
  l->n = n;
  for (size_t i = 0; i < n; i++) l->tables[i] = tables[i];
  l->counts = l->own;
  l->counts[0] = l->counts[1] = 0;
  *lookup = l;
  return NAY_OK;
}

void nay_lookup_free(nay_lookup *l) {
  if (l == NULL) return;
  nay_allocator a = l->allocator;
  nay__free(&a, l, lookup_size(l->n));
}

static void lookup_prefetch(const nay_sst *t, const nay_hash_memo *memo) {
  const nay_filter *f = t->full;
  if (f == NULL || f->family->prefetch64 == NULL || f->lazy != NULL ||
      !nay__hasher_same(&memo->hasher, &f->hasher)) {
    return;
  }
  f->family->prefetch64(f, &memo->hash.lo, &memo->hash.hi, 1);
}

nay_status nay_lookup_get(const nay_lookup *l, const void *key, size_t len, nay_diag *diag,
                          nay_sst_value *value, size_t *table) {
  if (l == NULL || value == NULL || (key == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "lookup, key or value", 0);
  }
  nay_target target = {len != 0 ? key : (const void *)"", len, NAY_TRAILER_NEWEST};
  nay_hash_memo memo = {.set = false};
  nay_status status = NAY_ENOENT;
  size_t i = 0, asked = 0;
  value->deleted = false;
  for (; i < l->n && status == NAY_ENOENT; i++) {
    for (; memo.set && asked < l->n && asked <= i + LOOKUP_AHEAD; asked++) {
      if (asked > i) lookup_prefetch(l->tables[asked], &memo);
    }
    status = nay__table_get(l->tables[i], &target, &memo, diag, value);
  }
  nay__atomic_increment64(&l->counts[0]);
  if (memo.nhashes != 0) nay__atomic_add64(&l->counts[1], memo.nhashes);
  if (status != NAY_OK) return status;
  if (table != NULL) *table = i - 1;
  return value->deleted ? NAY_ENOENT : NAY_OK;
}

void nay_lookup_count(const nay_lookup *l, nay_sst_counters *counters) {
  nay_sst_counters sum = {.gets = 0};
  for (size_t i = 0; i < l->n; i++) {
    nay_sst_counters c;
    nay_sst_count(l->tables[i], &c);
    sum.out_of_range += c.out_of_range;
    sum.filter_checks += c.filter_checks;
    sum.filter_useful += c.filter_useful;
    sum.filter_false_positives += c.filter_false_positives;
    sum.filter_faults += c.filter_faults;
    sum.filter_loads += c.filter_loads;
    sum.prefix_checks += c.prefix_checks;
    sum.prefix_useful += c.prefix_useful;
    sum.block_reads += c.block_reads;
    sum.cache_hits += c.cache_hits;
  }
  sum.gets = nay__atomic_load64(&l->counts[0]);
  sum.hashes = nay__atomic_load64(&l->counts[1]);
  *counters = sum;
}
#undef LOOKUP_AHEAD

/* ==== src/sst/compact.c ===================================================================== */
/*
 * compact.c - k tables into one, as an LSM tree does it.
 *
 * A heap holds an iterator for each table that has entries left. The smallest key is on top; of
 * equal keys, that of the newest table. So the versions of a key pass by newest first, and one
 * look back decides:
 *
 *   the key came by before, at or below the oldest snapshot    superseded: nobody can see it
 *   a deletion, at or below the oldest snapshot, at the bottom there is nothing left to hide
 *   anything else                                              goes into the new table
 *
 * Plain keys are the same with all sequence numbers 0 and no snapshot. Filters are not merged: the
 * union of the old ones would still say maybe for everything that was dropped here, and be as full
 * as all of them together. The writer makes new ones from the keys that are left.
 */

typedef struct compact_input {
  nay_sst_iter *iter;
  const uint8_t *key; /* of the entry the iterator is at */
  size_t len;
  size_t age; /* 0: the newest table */
} compact_input;

typedef struct compaction {
  nay_allocator allocator;
  nay_order order;
  uint64_t snapshot; /* what is at or below it is seen by all readers alike */
  bool bottom;
  nay_sst_writer *writer;
  compact_input *heap;
  size_t n, ninputs; /* in the heap; room of the array */
  nay_buffer last;   /* user key of the entry before */
  bool has_last;
  uint64_t last_sequence;
  nay_sst_compact_stats stats;
} compaction;

#define COMPACT_PROGRESS 8192u /* entries between two reports: some milliseconds */

/* ---- the heap ---- */

static bool compact_before(const compaction *c, const compact_input *a, const compact_input *b) {
  int order = nay__order(c->order, a->key, a->len, b->key, b->len);
  return order != 0 ? order < 0 : a->age < b->age;
}

static void compact_sink(compaction *c, size_t at) {
  compact_input x = c->heap[at];
  for (size_t child; (child = 2 * at + 1) < c->n; at = child) {
    if (child + 1 < c->n && compact_before(c, &c->heap[child + 1], &c->heap[child])) child++;
    if (!compact_before(c, &c->heap[child], &x)) break;
    c->heap[at] = c->heap[child];
  }
  c->heap[at] = x;
}

/* Where a movement of an input's iterator led: false at its end. */
static nay_status compact_look(compact_input *input, nay_status moved, nay_diag *diag, bool *at) {
  *at = moved == NAY_OK;
  if (moved != NAY_OK && moved != NAY_ENOENT) {
    if (diag != NULL) *diag = *nay_sst_iter_diag(input->iter);
    return moved;
  }
  input->key = nay_sst_iter_key(input->iter, &input->len);
  return NAY_OK;
}

static nay_status compact_open(compaction *c, const nay_sst *const *tables, nay_diag *diag) {
  for (size_t i = 0; i < c->ninputs; i++) {
    compact_input *input = &c->heap[c->n];
    bool at;
    *input = (compact_input){.age = i};
    NAY_TRY(nay_sst_iter_new(tables[i], &input->iter));
    nay_status status = compact_look(input, nay_sst_iter_first(input->iter), diag, &at);
    if (status == NAY_OK && at) {
      c->n++;
    } else {
      nay_sst_iter_free(input->iter);
    }
    NAY_TRY(status);
  }
  for (size_t i = c->n / 2; i > 0; i--) compact_sink(c, i - 1);
  return NAY_OK;
}

static nay_status compact_advance(compaction *c, nay_diag *diag) {
  compact_input *top = &c->heap[0];
  bool at;
  NAY_TRY(compact_look(top, nay_sst_iter_next(top->iter), diag, &at));
  if (!at) {
    nay_sst_iter_free(top->iter);
    *top = c->heap[--c->n];
  }
  if (c->n > 0) compact_sink(c, 0);
  return NAY_OK;
}

/* ---- one entry ---- */

static nay_status compact_split(const compaction *c, const compact_input *top, nay_diag *diag,
                                nay_sst_version *v) {
  if (c->order == NAY_ORDER_BYTES) {
    *v = (nay_sst_version){.key = top->key, .len = top->len};
    return NAY_OK;
  }
  if (nay_sst_key_split(top->key, top->len, v) == NAY_OK) return NAY_OK;
  return nay__fail(diag, NAY_ECORRUPT, "a key of the table is not an internal key", 0);
}

/* Whether the entry goes into the new table; it is then the one before the next. */
static nay_status compact_decide(compaction *c, const nay_sst_version *v, bool *keep) {
  bool same = c->has_last && nay__order_bytes(v->key, v->len, c->last.at, c->last.len) == 0;
  bool superseded = same && (c->last_sequence <= c->snapshot || c->last_sequence == v->sequence);
  bool gone = !superseded && v->deleted && c->bottom && v->sequence <= c->snapshot;
  c->stats.superseded += superseded;
  c->stats.deletions += gone;
  *keep = !superseded && !gone;
  c->last_sequence = v->sequence;
  c->has_last = true;
  if (same) return NAY_OK;
  c->last.len = 0;
  return nay__buffer_append(&c->last, v->key, v->len, &c->allocator);
}

/* Who can refuse a key here is a table whose keys are not in order; other errors are final, and
 * finish has the story. */
static nay_status compact_write(compaction *c, const compact_input *top, nay_diag *diag) {
  size_t value_len;
  const void *value = nay_sst_iter_value(top->iter, &value_len);
  nay_status status = nay_sst_writer_add(c->writer, top->key, top->len, value, value_len);
  if (status == NAY_EINVAL) {
    return nay__fail(diag, NAY_ECORRUPT, "the keys of a table are not in order", 0);
  }
  if (status != NAY_OK) return nay_sst_writer_finish(c->writer, diag);
  c->stats.written++;
  return NAY_OK;
}

static nay_status compact_entry(compaction *c, nay_diag *diag) {
  const compact_input *top = &c->heap[0];
  nay_sst_version version;
  bool keep;
  NAY_TRY(compact_split(c, top, diag, &version));
  NAY_TRY(compact_decide(c, &version, &keep));
  c->stats.read++;
  if (keep) NAY_TRY(compact_write(c, top, diag));
  return compact_advance(c, diag);
}

/* ---- all of them ---- */

/* An empty table has no keys to be of one kind or the other. */
static nay_status compact_order(const nay_sst *const *tables, size_t n, nay_sst_keys wanted,
                                nay_diag *diag, nay_order *order) {
  bool known = wanted != NAY_SST_KEYS_AUTO;
  *order = wanted == NAY_SST_KEYS_INTERNAL ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES;
  for (size_t i = 0; i < n; i++) {
    if (tables[i] == NULL) return nay__fail(diag, NAY_EINVAL, "a table is NULL", 0);
    if (tables[i]->empty) continue;
    if (known && tables[i]->order != *order) {
      return nay__fail(diag, NAY_EMISMATCH, "some keys are plain and some are internal", 0);
    }
    *order = tables[i]->order;
    known = true;
  }
  return NAY_OK;
}

static nay_status compact_run(compaction *c, const nay_sst *const *tables,
                              const nay_sst_compact_options *o, nay_diag *diag) {
  NAY_TRY(compact_open(c, tables, diag));
  while (c->n > 0) {
    NAY_TRY(compact_entry(c, diag));
    if (o->progress != NULL && c->stats.read % COMPACT_PROGRESS == 0) {
      o->progress(o->progress_ctx, &c->stats);
    }
  }
  return nay_sst_writer_finish(c->writer, diag);
}

static void compact_close(compaction *c) {
  for (size_t i = 0; i < c->n; i++) nay_sst_iter_free(c->heap[i].iter);
  nay_sst_writer_free(c->writer);
  nay__buffer_free(&c->last, &c->allocator);
  nay__free(&c->allocator, c->heap, c->ninputs * sizeof *c->heap);
}

static nay_status compact_begin(compaction *c, const char *path, const nay_sst_compact_options *o,
                                nay_diag *diag) {
  size_t size;
  nay_sst_write_options write = o->write;
  write.keys = c->order == NAY_ORDER_INTERNAL ? NAY_SST_KEYS_INTERNAL : NAY_SST_KEYS_PLAIN;
  if (!nay__mul_ok(c->ninputs, sizeof *c->heap, &size)) return NAY_ENOMEM;
  c->heap = nay__alloc(&c->allocator, size);
  if (c->heap == NULL) return NAY_ENOMEM;
  return nay_sst_writer_new(path, &write, &c->allocator, diag, &c->writer);
}

nay_status nay_sst_compact(const nay_sst *const *tables, size_t n, const char *path,
                           const nay_sst_compact_options *options, const nay_allocator *allocator,
                           nay_diag *diag, nay_sst_compact_stats *stats) {
  static const nay_sst_compact_options plain = {.bottom = false};
  const nay_sst_compact_options *o = options != NULL ? options : &plain;
  if (tables == NULL || n == 0 || path == NULL) {
    return nay__fail(diag, NAY_EINVAL, "no tables, or no path", 0);
  }
  compaction c = {.allocator = nay__allocator_or_default(allocator),
                  .bottom = o->bottom,
                  .ninputs = n,
                  .snapshot = o->oldest_snapshot != 0 ? o->oldest_snapshot : UINT64_MAX};
  NAY_TRY(compact_order(tables, n, o->write.keys, diag, &c.order));
  nay_status status = compact_begin(&c, path, o, diag);
  if (status == NAY_OK) status = compact_run(&c, tables, o, diag);
  compact_close(&c);
  if (status == NAY_OK && stats != NULL) *stats = c.stats;
  return status;
}
#undef COMPACT_PROGRESS

/* ==== src/sst/inspect_frame.c =============================================================== */
/* inspect_frame.c - see inspect_frame.h. */

/* ==== src/sst/inspect_frame.h =============================================================== */
/*
 * inspect_frame.h - where the blocks of a table are and whether they are whole, for every footer
 * that LevelDB and RocksDB have had.
 *
 *   LevelDB, RocksDB 0   | handles to 40 | magic u64 |                                   48 bytes
 *   RocksDB 1 to 5       | checksum u8 | handles to 40 | version u32 | magic u64 |       53 bytes
 *   RocksDB 6, 7         | checksum u8 | 3e 00 7a 00 | sum u32 | context u32 |
 *                        | metaindex size u32 | 0 ... 24 | version u32 | magic u64 |     53 bytes
 *
 * From 6 on the metaindex stands right before the footer and knows where the index is; `sum` is of
 * the footer itself; and every checksum has a number added to it that depends on the context and on
 * the place of the block, so that a block that was moved is noticed.
 */
#ifndef NAY_SST_INSPECT_FRAME_H
#define NAY_SST_INSPECT_FRAME_H

typedef enum nay_checksum {
  NAY_CHECKSUM_NONE = 0,
  NAY_CHECKSUM_CRC32C = 1,
  NAY_CHECKSUM_XXH32 = 2,
  NAY_CHECKSUM_XXH64 = 3,
  NAY_CHECKSUM_XXH3 = 4
} nay_checksum;

typedef struct nay_frame {
  const uint8_t *bytes; /* the file */
  uint64_t end;         /* of its blocks: where the footer starts */
  bool rocksdb;         /* by the magic number; format 0 has LevelDB's */
  uint32_t format_version;
  nay_checksum checksum;
  uint32_t context;
  nay_footer footer; /* from format 6 on the index is not in it, and has size 0 */
} nay_frame;

/* nay__frame_magic: whether the bytes end in the magic number of a table. */
bool nay__frame_magic(const uint8_t *bytes, size_t len);

/* nay__frame_open: NAY_EFORMAT, NAY_EVERSION, NAY_ECORRUPT. */
nay_status nay__frame_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_frame *frame);

/* nay__frame_sound: whether a block that fits the file has its checksum. */
bool nay__frame_sound(const nay_frame *frame, nay_handle handle);

/* nay__frame_block: the contents of a block and its type. NAY_ECORRUPT: it leads out, or is bad. */
nay_status nay__frame_block(const nay_frame *frame, nay_handle handle, nay_diag *diag,
                            const uint8_t **contents, uint8_t *type);

#endif /* NAY_SST_INSPECT_FRAME_H */

#define FRAME_MAGIC 0x88e241b785f4cff7u /* RocksDB from format 1 on */
#define FRAME_FOOTER 53u
#define FRAME_EXTENDED 0x007a003eu /* what stands where the first handle was, from format 6 on */
#define FRAME_NEWEST 7u

/* ---- checksums ---- */

/* Of len bytes, the last of which is the type of a block. XXH3 leaves that one out and mixes it in
 * afterwards, which lets RocksDB choose it last. */
static uint32_t frame_sum(nay_checksum checksum, const uint8_t *bytes, size_t len) {
  switch (checksum) {
    case NAY_CHECKSUM_NONE: break;
    case NAY_CHECKSUM_CRC32C: return nay__crc32c_mask(nay__crc32c(0, bytes, len));
    case NAY_CHECKSUM_XXH32: return XXH32(bytes, len, 0);
    case NAY_CHECKSUM_XXH64: return (uint32_t)XXH64(bytes, len, 0);
    case NAY_CHECKSUM_XXH3:
      return (uint32_t)XXH3_64bits(bytes, len - 1) ^ bytes[len - 1] * 0x6b9083d9u;
  }
  return 0;
}

/* What is added to the checksum of a block at `offset`. */
static uint32_t frame_modifier(uint32_t context, uint64_t offset) {
  return context == 0 ? 0 : context ^ ((uint32_t)offset + (uint32_t)(offset >> 32));
}

bool nay__frame_sound(const nay_frame *frame, nay_handle handle) {
  if (frame->checksum == NAY_CHECKSUM_NONE) return true;
  const uint8_t *block = frame->bytes + handle.offset;
  uint32_t sum = frame_sum(frame->checksum, block, (size_t)handle.size + 1);
  return sum + frame_modifier(frame->context, handle.offset) ==
         nay__load32le(block + handle.size + 1);
}

nay_status nay__frame_block(const nay_frame *frame, nay_handle handle, nay_diag *diag,
                            const uint8_t **contents, uint8_t *type) {
  if (!nay__handle_fits(handle, frame->end)) {
    return nay__fail(diag, NAY_ECORRUPT, "a handle leads out of the file", handle.offset);
  }
  if (!nay__frame_sound(frame, handle)) {
    return nay__fail(diag, NAY_ECORRUPT, "a block does not have its checksum", handle.offset);
  }
  *contents = frame->bytes + handle.offset;
  *type = (*contents)[handle.size];
  return NAY_OK;
}

/* ---- footers ---- */

bool nay__frame_magic(const uint8_t *bytes, size_t len) {
  if (len < NAY_FOOTER) return false;
  uint64_t magic = nay__load64le(bytes + len - 8);
  return magic == NAY_FOOTER_MAGIC || (magic == FRAME_MAGIC && len >= FRAME_FOOTER);
}

/* The footer from format 6 on; f->checksum and f->end are known. */
static nay_status frame_extended(const uint8_t *footer, nay_diag *diag, nay_frame *f) {
  const uint8_t *part = footer + 1;
  uint8_t copy[FRAME_FOOTER];
  if (nay__load32le(part) != FRAME_EXTENDED || !nay__all_zero(part + 16, 24)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer is not one of its format", f->end);
  }
  f->context = nay__load32le(part + 8);
  memcpy(copy, footer, sizeof copy);
  memset(copy + 1 + 4, 0, 4); /* the sum itself */
  uint32_t sum = frame_sum(f->checksum, copy, sizeof copy) + frame_modifier(f->context, f->end);
  if (f->checksum != NAY_CHECKSUM_NONE && sum != nay__load32le(part + 4)) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer does not have its checksum", f->end);
  }
  uint64_t size = nay__load32le(part + 12);
  if (size + NAY_BLOCK_FRAME > f->end) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer points out of the file", f->end);
  }
  f->footer.metaindex = (nay_handle){f->end - NAY_BLOCK_FRAME - size, size};
  return NAY_OK;
}

static nay_status frame_handles(const uint8_t *footer, nay_diag *diag, nay_frame *f) {
  const uint8_t *p = footer + 1, *end = p + 40;
  p = nay__handle_load(p, end, &f->footer.metaindex);
  if (p == NULL || nay__handle_load(p, end, &f->footer.index) == NULL) {
    return nay__fail(diag, NAY_ECORRUPT, "the footer has no two block handles", f->end);
  }
  return NAY_OK;
}

nay_status nay__frame_open(const uint8_t *bytes, size_t len, nay_diag *diag, nay_frame *frame) {
  if (!nay__frame_magic(bytes, len)) {
    return nay__fail(diag, NAY_EFORMAT, "no table: the last eight bytes are not its magic number",
                     len < 8 ? 0 : len - 8);
  }
  nay_frame f = {.bytes = bytes, .checksum = NAY_CHECKSUM_CRC32C};
  if (nay__load64le(bytes + len - 8) == NAY_FOOTER_MAGIC) {
    f.end = len - NAY_FOOTER;
    NAY_TRY(nay__footer_load(bytes + f.end, len, diag, &f.footer));
    *frame = f;
    return NAY_OK;
  }
  const uint8_t *footer = bytes + len - FRAME_FOOTER;
  f.end = len - FRAME_FOOTER;
  f.rocksdb = true;
  f.format_version = nay__load32le(footer + 41);
  if (f.format_version > FRAME_NEWEST) {
    return nay__fail(diag, NAY_EVERSION, "a format of RocksDB above 7", f.end + 41);
  }
  if (footer[0] > NAY_CHECKSUM_XXH3) {
    return nay__fail(diag, NAY_EVERSION, "a kind of checksum that is not known", f.end);
  }
  f.checksum = (nay_checksum)footer[0];
  NAY_TRY(f.format_version >= 6 ? frame_extended(footer, diag, &f)
                                : frame_handles(footer, diag, &f));
  *frame = f;
  return NAY_OK;
}
#undef FRAME_EXTENDED
#undef FRAME_FOOTER
#undef FRAME_MAGIC
#undef FRAME_NEWEST

/* ==== src/sst/inspect_parts.c =============================================================== */
/*
 * inspect_parts.c - see inspect_parts.h.
 *
 *   entry     | shared varint | unshared varint | value_len varint | key | value: handle |
 *   delta     | shared varint | unshared varint | key | handle, or zigzag varint of a size |
 *
 * In the second form a value is a handle at a restart (shared is 0); else the block follows the one
 * before it, and the value is by how much its size differs.
 */

/* ==== src/sst/inspect_parts.h =============================================================== */
/* inspect_parts.h - the entries of an index block: keys that end a part of the table, and handles.
 */
#ifndef NAY_SST_INSPECT_PARTS_H
#define NAY_SST_INSPECT_PARTS_H

typedef struct nay_part {
  nay_handle handle;
  size_t key_at; /* in nay_parts.keys */
  size_t key_len;
  bool damaged; /* for the owner */
} nay_part;

typedef struct nay_parts {
  nay_buffer list; /* of nay_part */
  nay_buffer keys;
  bool all_internal; /* every key has room for a trailer */
} nay_parts;

/*
 * nay__parts_load: of an uncompressed index block. delta: RocksDB's form since format 4, without
 * lengths of values, where a handle that follows the one before it is only a difference. `most` is
 * how many bytes of keys are kept: more is NAY_ECORRUPT, for no real index grows like that.
 */
nay_status nay__parts_load(const uint8_t *block, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_parts *parts);
void nay__parts_free(nay_parts *parts, const nay_allocator *a);

static inline size_t nay__parts_count(const nay_parts *parts) {
  return parts->list.len / sizeof(nay_part);
}

static inline nay_part *nay__part_at(const nay_parts *parts, size_t i) {
  return (nay_part *)(void *)parts->list.at + i;
}

/* nay__parts_find: the first part whose key is not before the user key; the count when all are. */
size_t nay__parts_find(const nay_parts *parts, nay_order order, const void *key, size_t len);

#endif /* NAY_SST_INSPECT_PARTS_H */

typedef struct parts_load {
  const nay_allocator *allocator;
  nay_diag *diag;
  size_t most;
  nay_parts *parts;
} parts_load;

static nay_status parts_add(const parts_load *l, const nay_buffer *key, nay_handle handle,
                            uint64_t at) {
  nay_parts *p = l->parts;
  if (key->len > l->most || p->keys.len > l->most - key->len) {
    return nay__fail(l->diag, NAY_ECORRUPT, "the keys of an index grow beyond the file", at);
  }
  nay_part part = {.handle = handle, .key_at = p->keys.len, .key_len = key->len};
  NAY_TRY(nay__buffer_append(&p->keys, key->at, key->len, l->allocator));
  NAY_TRY(nay__buffer_append(&p->list, &part, sizeof part, l->allocator));
  p->all_internal = p->all_internal && key->len >= NAY_TRAILER;
  return NAY_OK;
}

static nay_status parts_bad(const parts_load *l, uint64_t at) {
  return nay__fail(l->diag, NAY_ECORRUPT, "an index has an entry that does not fit", at);
}

static nay_status parts_load_plain(const parts_load *l, const nay_block *block) {
  nay_cursor c = {.block = *block, .order = NAY_ORDER_BYTES, .allocator = l->allocator};
  nay_status status = nay__cursor_first(&c, l->diag);
  for (; status == NAY_OK; status = nay__cursor_next(&c, l->diag)) {
    nay_handle handle;
    const uint8_t *value = c.entry.value;
    if (nay__handle_load(value, value + c.entry.value_len, &handle) == NULL) {
      status = parts_bad(l, c.entry.at);
      break;
    }
    if ((status = parts_add(l, &c.key, handle, c.entry.at)) != NAY_OK) break;
  }
  nay__buffer_free(&c.key, l->allocator);
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* The value of an entry in the delta form; NULL when it is not one. */
static const uint8_t *parts_value(const uint8_t *p, const uint8_t *end, bool whole, bool first,
                                  nay_handle *handle) {
  if (whole) return nay__handle_load(p, end, handle);
  uint64_t zigzag;
  if (first || (p = nay__varint64_load(p, end, &zigzag)) == NULL) return NULL;
  uint64_t differs = zigzag >> 1 ^ (0 - (zigzag & 1));
  *handle = (nay_handle){handle->offset + handle->size + NAY_BLOCK_FRAME, handle->size + differs};
  return p;
}

static nay_status parts_load_delta(const parts_load *l, const nay_block *block, nay_buffer *key) {
  const uint8_t *p = block->bytes, *end = block->bytes + block->end;
  nay_handle handle = {0, 0};
  for (bool first = true; p < end; first = false) {
    uint64_t at = (uint64_t)(p - block->bytes);
    uint32_t shared, unshared;
    p = nay__varint32_load(p, end, &shared);
    if (p == NULL || (p = nay__varint32_load(p, end, &unshared)) == NULL) return parts_bad(l, at);
    if (shared > key->len || unshared > (size_t)(end - p)) return parts_bad(l, at);
    key->len = shared;
    NAY_TRY(nay__buffer_append(key, p, unshared, l->allocator));
    p = parts_value(p + unshared, end, shared == 0, first, &handle);
    if (p == NULL) return parts_bad(l, at);
    NAY_TRY(parts_add(l, key, handle, at));
  }
  return NAY_OK;
}

nay_status nay__parts_load(const uint8_t *bytes, size_t len, bool delta, size_t most,
                           const nay_allocator *a, nay_diag *diag, nay_parts *parts) {
  nay_block block;
  nay_buffer key = {NULL, 0, 0};
  parts_load load = {a, diag, most, parts};
  *parts = (nay_parts){.all_internal = true};
  NAY_TRY(nay__block_open(bytes, len, diag, &block));
  nay_status status =
      delta ? parts_load_delta(&load, &block, &key) : parts_load_plain(&load, &block);
  nay__buffer_free(&key, a);
  if (status != NAY_OK) nay__parts_free(parts, a);
  return status;
}

void nay__parts_free(nay_parts *parts, const nay_allocator *a) {
  nay__buffer_free(&parts->list, a);
  nay__buffer_free(&parts->keys, a);
}

size_t nay__parts_find(const nay_parts *parts, nay_order order, const void *key, size_t len) {
  nay_target target = {key, len, NAY_TRAILER_NEWEST};
  size_t low = 0, high = nay__parts_count(parts);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nay_part *part = nay__part_at(parts, middle);
    if (nay__order_target(order, parts->keys.at + part->key_at, part->key_len, &target) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ==== src/sst/inspect.c ===================================================================== */
/*
 * inspect.c - finds the filters of a table and asks them.
 *
 *   footer -> metaindex -> "filter.<policy>"              LevelDB: one for each 2 KiB of the file
 *                          "fullfilter.<policy>"          RocksDB: one block
 *                          "partitionedfilter.<policy>"   RocksDB: an index of blocks
 *                          "nay.full.", "nay.partitioned.<policy>", "nay.prefix.<extractor>"
 *                          "rocksdb.properties"           what else RocksDB says of the table
 *
 * A filter block of LevelDB is | filters | offset u32 x N | offset of the offsets u32 | lg u8 |,
 * and filter i is of the data blocks that start in the i-th 2^lg bytes of the file.
 */

/* ==== src/sst/inspect.h ===================================================================== */
/* inspect.h - what inspect.c has found in a table, for inspect_ask.c to ask. */
#ifndef NAY_SST_INSPECT_H
#define NAY_SST_INSPECT_H

#define INSPECT_TEXT 128u

struct nay_table {
  nay_allocator allocator;
  nay_table_options options;
  nay_frame frame;
  nay_table_engine engine;
  nay_sst_filter layout;
  const nay_format *format; /* of the filters; NULL: `policy` is asked, or nobody */
  const nay_policy *policy;
  nay_policy small;        /* nay.small.v1, which is no format: its bytes know no size */
  nay_handle filter;       /* the block that the metaindex names */
  nay_parts parts;         /* partitions; or data blocks, for filters of 2 KiB */
  nay_handle prefix_block; /* nay's filter of prefixes; size 0: none */
  bool prefix_damaged;
  nay_handle properties;
  char policy_name[INSPECT_TEXT], policy_option[INSPECT_TEXT], prefix[INSPECT_TEXT];
  bool whole_keys, prefixes, internal, delta, other_order, index_known;
  bool damaged; /* the one block of a full filter, or that of 2 KiB */
  bool has_view;
  nay_view view; /* of a full filter */
  uint64_t nkeys, nentries;
};

/* LevelDB's filter block, taken apart; count is 0 when it is not one. */
typedef struct nay_filter_blocks {
  const uint8_t *bytes;
  uint32_t array; /* where the offsets are */
  uint32_t count;
  unsigned lg;
} nay_filter_blocks;

static inline nay_filter_blocks nay__filter_blocks(const nay_table *t) {
  nay_filter_blocks b = {.bytes = t->frame.bytes + t->filter.offset};
  size_t size = (size_t)t->filter.size;
  if (size < 5 || size > UINT32_MAX) return b;
  uint32_t array = nay__load32le(b.bytes + size - 5);
  if (array > size - 5) return b;
  b.array = array;
  b.count = (uint32_t)((size - 5 - array) / 4);
  b.lg = b.bytes[size - 1];
  return b;
}

/* The i-th filter; false when its place is not one, which LevelDB takes for a maybe. The word after
 * the last offset is that of the offsets themselves, so the last filter needs no case of its own.
 */
static inline bool nay__filter_block_at(const nay_filter_blocks *b, uint64_t i,
                                        const uint8_t **bytes, size_t *len) {
  const uint8_t *offset = b->bytes + b->array + i * 4;
  uint32_t start = nay__load32le(offset), limit = nay__load32le(offset + 4);
  if (start > limit || limit > b->array) return false;
  *bytes = b->bytes + start;
  *len = limit - start;
  return true;
}

/* nay__text_after: the rest of a text after a prefix; NULL when it does not start so. */
static inline const uint8_t *nay__text_after(const uint8_t *text, size_t len, const char *start,
                                             size_t *rest_len) {
  size_t n = strlen(start);
  if (len < n || memcmp(text, start, n) != 0) return NULL;
  *rest_len = len - n;
  return text + n;
}

#endif /* NAY_SST_INSPECT_H */

#define INSPECT_MAX_RATIO 64u /* no codec that LevelDB has makes less of a block than this */

static const char *const inspect_checksums[] = {"none", "crc32c", "xxh32", "xxh64", "xxh3"};

const char *nay_table_engine_name(nay_table_engine engine) {
  static const char *const names[] = {"LevelDB", "RocksDB", "nay"};
  return engine <= NAY_TABLE_NAY ? names[engine] : "unknown";
}

bool nay_table_recognise(const void *bytes, size_t len) {
  return bytes != NULL && nay__frame_magic(bytes, len);
}

/* ---- names ---- */

static bool inspect_is(const uint8_t *text, size_t len, const char *what) {
  return len == strlen(what) && memcmp(text, what, len) == 0;
}

/* Keeps a text; one that is too long or has a zero byte is cut there. */
static void inspect_keep(char dst[INSPECT_TEXT], const uint8_t *text, size_t len) {
  size_t n = len < INSPECT_TEXT - 1 ? len : INSPECT_TEXT - 1;
  memset(dst, 0, INSPECT_TEXT);
  memcpy(dst, text, n);
}

static const nay_format *inspect_format_of(const char *policy) {
  static const char *const rocksdb[] = {/* what 7.1 and later and 6 write, then early 7.0 */
                                        "rocksdb.BuiltinBloomFilter",
                                        "bloomfilter",
                                        "ribbonfilter",
                                        "rocksdb.internal.LegacyBloomFilter",
                                        "rocksdb.internal.FastLocalBloomFilter",
                                        "rocksdb.internal.Standard128RibbonFilter",
                                        "rocksdb.internal.DeprecatedBlockBasedBloomFilter"};
  if (strcmp(policy, "leveldb.BuiltinBloomFilter2") == 0) return nay_format_find("leveldb");
  if (strcmp(policy, NAY_NATIVE_POLICY) == 0) return nay_format_find("nay");
  if (strcmp(policy, "nay.rocksdb.v1") == 0) return nay_format_find("nay"); /* plugins/rocksdb */
  for (size_t i = 0; i < sizeof rocksdb / sizeof rocksdb[0]; i++) {
    if (strcmp(policy, rocksdb[i]) == 0) return nay_format_find("rocksdb-bloom");
  }
  return NULL;
}

/* ---- metaindex and properties ---- */

static bool inspect_meta_filter(nay_table *t, const uint8_t *key, size_t len, nay_handle handle) {
  static const struct {
    const char *start;
    nay_table_engine engine;
    nay_sst_filter layout;
  } kinds[] = {
      {"filter.", NAY_TABLE_LEVELDB, NAY_SST_BLOCK_FILTER},
      {"fullfilter.", NAY_TABLE_ROCKSDB, NAY_SST_FULL_FILTER},
      {"partitionedfilter.", NAY_TABLE_ROCKSDB, NAY_SST_PARTITIONED_FILTER},
      {"nay.full.", NAY_TABLE_NAY, NAY_SST_FULL_FILTER},
      {"nay.partitioned.", NAY_TABLE_NAY, NAY_SST_PARTITIONED_FILTER},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    size_t rest;
    const uint8_t *name = nay__text_after(key, len, kinds[i].start, &rest);
    if (name == NULL) continue;
    if (t->layout != NAY_SST_NO_FILTER) return true; /* the first one counts */
    t->layout = kinds[i].layout;
    t->filter = handle;
    t->whole_keys = true;
    if (kinds[i].engine != NAY_TABLE_LEVELDB) t->engine = kinds[i].engine;
    inspect_keep(t->policy_name, name, rest);
    return true;
  }
  return false;
}

static nay_status inspect_meta(nay_table *t, const uint8_t *key, size_t len, const uint8_t *value,
                               size_t value_len, nay_diag *diag) {
  size_t rest;
  if (inspect_is(key, len, "nay.keys")) {
    t->engine = NAY_TABLE_NAY;
    t->internal = inspect_is(value, value_len, "internal");
    return NAY_OK;
  }
  if (nay__text_after(key, len, "rocksdb.", &rest) != NULL) t->engine = NAY_TABLE_ROCKSDB;
  nay_handle handle;
  if (nay__handle_load(value, value + value_len, &handle) == NULL) return NAY_OK; /* not a block */
  bool properties =
      inspect_is(key, len, "rocksdb.properties") || inspect_is(key, len, "rocksdb.stats");
  const uint8_t *extractor = nay__text_after(key, len, "nay.prefix.", &rest);
  bool known = properties || extractor != NULL || inspect_meta_filter(t, key, len, handle);
  if (known && !nay__handle_fits(handle, t->frame.end)) {
    return nay__fail(diag, NAY_ECORRUPT, "the metaindex points out of the file",
                     t->frame.footer.metaindex.offset);
  }
  if (properties) t->properties = handle;
  if (extractor != NULL) {
    t->engine = NAY_TABLE_NAY;
    t->prefixes = true;
    t->prefix_block = handle;
    inspect_keep(t->prefix, extractor, rest);
  }
  return NAY_OK;
}

static void inspect_property(nay_table *t, const uint8_t *key, size_t len, const uint8_t *value,
                             size_t value_len) {
  uint64_t number = 0;
  bool yes = inspect_is(value, value_len, "1");
  bool is_number = nay__varint64_load(value, value + value_len, &number) != NULL;
  if (inspect_is(key, len, "rocksdb.num.entries") && is_number) t->nkeys = number;
  if (inspect_is(key, len, "rocksdb.num.filter_entries") && is_number) t->nentries = number;
  if (inspect_is(key, len, "rocksdb.filter.policy"))
    inspect_keep(t->policy_option, value, value_len);
  if (inspect_is(key, len, "rocksdb.prefix.extractor.name") &&
      !inspect_is(value, value_len, "nullptr")) {
    inspect_keep(t->prefix, value, value_len);
  }
  if (inspect_is(key, len, "rocksdb.block.based.table.whole.key.filtering")) t->whole_keys = yes;
  if (inspect_is(key, len, "rocksdb.block.based.table.prefix.filtering")) t->prefixes = yes;
  if (inspect_is(key, len, "rocksdb.index.key.is.user.key")) t->internal = number == 0;
  if (inspect_is(key, len, "rocksdb.index.value.is.delta.encoded")) t->delta = number != 0;
  if (inspect_is(key, len, "rocksdb.comparator")) {
    t->other_order = !inspect_is(value, value_len, "leveldb.BytewiseComparator");
  }
}

/* Walks the metaindex, or the properties. */
static nay_status inspect_walk(nay_table *t, const uint8_t *bytes, size_t len, bool properties,
                               uint64_t offset, nay_diag *diag) {
  nay_block block = {NULL, 0, 0};
  nay_status status = nay__block_open(bytes, len, diag, &block);
  nay_cursor c = {.block = block, .order = NAY_ORDER_BYTES, .allocator = &t->allocator};
  if (status == NAY_OK) status = nay__cursor_first(&c, diag);
  while (status == NAY_OK) {
    if (properties) {
      inspect_property(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len);
    } else {
      status = inspect_meta(t, c.key.at, c.key.len, c.entry.value, c.entry.value_len, diag);
    }
    if (status == NAY_OK) status = nay__cursor_next(&c, diag);
  }
  nay__buffer_free(&c.key, &t->allocator);
  if (status == NAY_ECORRUPT && diag != NULL && diag->offset < len) diag->offset += offset;
  return status == NAY_ENOENT ? NAY_OK : status;
}

/* ---- compressed blocks ---- */

static const nay_codec *inspect_codec(const nay_table *t, uint8_t type) {
  for (size_t i = 0; i < t->options.ncodecs; i++) {
    if (t->options.codecs[i]->id == type) return t->options.codecs[i];
  }
  return NULL;
}

/* The contents of a block, uncompressed into `room` if they must be. */
static nay_status inspect_block(const nay_table *t, nay_handle handle, nay_buffer *room,
                                nay_diag *diag, const uint8_t **contents, size_t *len) {
  const uint8_t *stored;
  uint8_t type;
  NAY_TRY(nay__frame_block(&t->frame, handle, diag, &stored, &type));
  *contents = stored;
  *len = (size_t)handle.size;
  if (type == 0) return NAY_OK;
  const nay_codec *codec = inspect_codec(t, type);
  if (codec == NULL) {
    return nay__fail(diag, NAY_ENOTSUP, "a block is compressed, and its codec was not given",
                     handle.offset);
  }
  size_t size;
  bool ok =
      codec->uncompressed_size(codec, stored, *len, &size) && size / INSPECT_MAX_RATIO <= *len + 1;
  if (ok) NAY_TRY(nay__buffer_reserve(room, size, &t->allocator));
  if (!ok || !codec->uncompress(codec, stored, *len, room->at, size)) {
    return nay__fail(diag, NAY_ECORRUPT, "a compressed block is damaged", handle.offset);
  }
  *contents = room->at;
  *len = size;
  return NAY_OK;
}

static nay_status inspect_load_metaindex(nay_table *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len;
  nay_handle handle = t->frame.footer.metaindex;
  nay_status status = inspect_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) status = inspect_walk(t, contents, len, false, handle.offset, diag);
  nay__buffer_free(&room, &t->allocator);
  return status;
}

static nay_status inspect_load_properties(nay_table *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  t->delta = t->frame.format_version >= 4; /* unless the properties say otherwise */
  t->internal = t->internal || (t->engine == NAY_TABLE_ROCKSDB && t->frame.format_version < 3);
  if (t->properties.size == 0) return NAY_OK;
  NAY_TRY(nay__frame_block(&t->frame, t->properties, diag, &contents, &type));
  if (type != 0) return NAY_OK;
  return inspect_walk(t, contents, (size_t)t->properties.size, true, t->properties.offset, diag);
}

/* ---- parts ---- */

/* Partitions lie beside each other: more bytes than the file has are a lie, and not read. */
static nay_status inspect_check_partitions(nay_table *t, nay_diag *diag) {
  uint64_t sum = 0;
  for (size_t i = 0; i < nay__parts_count(&t->parts); i++) {
    nay_part *part = nay__part_at(&t->parts, i);
    if (!nay__handle_fits(part->handle, t->frame.end) || part->handle.size > t->frame.end - sum) {
      return nay__fail(diag, NAY_ECORRUPT, "the partitions of the filter do not fit the file",
                       t->filter.offset);
    }
    sum += part->handle.size;
    part->damaged = !nay__frame_sound(&t->frame, part->handle);
  }
  return NAY_OK;
}

static nay_status inspect_load_partitions(nay_table *t, nay_diag *diag) {
  const uint8_t *contents;
  uint8_t type;
  size_t most = (size_t)t->frame.end * 2 + 65536;
  bool delta = t->delta && t->engine == NAY_TABLE_ROCKSDB;
  NAY_TRY(nay__frame_block(&t->frame, t->filter, diag, &contents, &type));
  NAY_TRY(nay__parts_load(contents, (size_t)t->filter.size, delta, most, &t->allocator, diag,
                          &t->parts));
  return inspect_check_partitions(t, diag);
}

/* The index of LevelDB's data blocks; without it every filter must be asked. */
static nay_status inspect_load_index(nay_table *t, nay_diag *diag) {
  nay_buffer room = {NULL, 0, 0};
  const uint8_t *contents;
  size_t len, most = (size_t)t->frame.end * 2 + 65536;
  nay_handle handle = t->frame.footer.index;
  if (handle.size == 0) return NAY_OK;
  nay_status status = inspect_block(t, handle, &room, diag, &contents, &len);
  if (status == NAY_OK) {
    status = nay__parts_load(contents, len, false, most, &t->allocator, diag, &t->parts);
    t->index_known = status == NAY_OK;
  }
  nay__buffer_free(&room, &t->allocator);
  return status == NAY_ENOTSUP ? NAY_OK : status;
}

/* A native filter is verified once; the others are ready as they are. */
static void inspect_open_view(nay_table *t) {
  if (t->format == NULL || t->damaged) return;
  t->has_view = nay_format_view(t->format, t->frame.bytes + t->filter.offset,
                                (size_t)t->filter.size, NULL, &t->view) == NAY_OK;
}

static nay_status inspect_load_filters(nay_table *t, nay_diag *diag) {
  t->format = inspect_format_of(t->policy_name);
  /* RocksDB's old filters for each block are LevelDB's with another hash, and long gone */
  if (t->layout == NAY_SST_BLOCK_FILTER && t->engine == NAY_TABLE_ROCKSDB) t->format = NULL;
  if (t->format == NULL && nay_policy_small(10, &t->small) == NAY_OK &&
      strcmp(t->small.name, t->policy_name) == 0) {
    t->policy = &t->small;
  }
  for (size_t i = 0; t->format == NULL && i < t->options.npolicies; i++) {
    const nay_policy *policy = t->options.policies[i];
    if (strcmp(policy->name, t->policy_name) == 0) t->policy = policy;
  }
  if (t->prefix_block.size != 0) {
    t->prefix_damaged = !nay__frame_sound(&t->frame, t->prefix_block);
  }
  if (t->layout == NAY_SST_NO_FILTER) return NAY_OK;
  if (t->layout == NAY_SST_PARTITIONED_FILTER) return inspect_load_partitions(t, diag);
  t->damaged = !nay__frame_sound(&t->frame, t->filter);
  if (t->layout == NAY_SST_BLOCK_FILTER) return inspect_load_index(t, diag);
  inspect_open_view(t);
  return NAY_OK;
}

/* ---- open and free ---- */

nay_status nay_table_open(const void *bytes, size_t len, const nay_table_options *options,
                          const nay_allocator *allocator, nay_diag *diag, nay_table **table) {
  if (table == NULL || (bytes == NULL && len != 0)) {
    return nay__fail(diag, NAY_EINVAL, "bytes or table is NULL", 0);
  }
  nay_frame frame;
  NAY_TRY(nay__frame_open(bytes, len, diag, &frame));
  nay_allocator a = nay__allocator_or_default(allocator);
  nay_table *t = nay__alloc(&a, sizeof *t);
  if (t == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the table", 0);
  memset(t, 0, sizeof *t);
  t->allocator = a;
  if (options != NULL) t->options = *options;
  t->frame = frame;
  t->engine = frame.rocksdb ? NAY_TABLE_ROCKSDB : NAY_TABLE_LEVELDB;
  nay_status status = inspect_load_metaindex(t, diag);
  if (status == NAY_OK) status = inspect_load_properties(t, diag);
  if (status == NAY_OK) status = inspect_load_filters(t, diag);
  if (status != NAY_OK) {
    if (status == NAY_ENOMEM) nay__fail(diag, status, "no memory for the table", 0);
    nay_table_free(t);
    return status;
  }
  *table = t;
  return NAY_OK;
}

void nay_table_free(nay_table *t) {
  if (t == NULL) return;
  nay_allocator a = t->allocator;
  nay__parts_free(&t->parts, &a);
  nay__free(&a, t, sizeof *t);
}

/* ---- the filters, one by one ---- */

static uint64_t inspect_count(const nay_table *t) {
  switch (t->layout) {
    case NAY_SST_NO_FILTER: return 0;
    case NAY_SST_BLOCK_FILTER: return nay__filter_blocks(t).count;
    case NAY_SST_FULL_FILTER: return 1;
    case NAY_SST_PARTITIONED_FILTER: return nay__parts_count(&t->parts);
  }
  return 0;
}

static nay_table_filter inspect_whole(const nay_table *t, nay_handle handle, bool damaged) {
  return (nay_table_filter){.bytes = t->frame.bytes + handle.offset,
                            .len = (size_t)handle.size,
                            .offset = handle.offset,
                            .damaged = damaged,
                            .format = t->format};
}

/* RocksDB has three layouts: the bytes say which. */
static const nay_format *inspect_exact_format(const nay_table_filter *f) {
  nay_view view;
  bool ok =
      f->format != NULL && nay_format_view(f->format, f->bytes, f->len, NULL, &view) == NAY_OK;
  return ok ? nay_format_of(nay_view_filter(&view)) : f->format;
}

nay_status nay_table_filter_at(const nay_table *t, uint64_t i, nay_table_filter *filter) {
  if (t == NULL || filter == NULL) return NAY_EINVAL;
  nay_table_filter f = {.bytes = NULL};
  uint64_t n = inspect_count(t);
  if (i == n && t->prefix_block.size != 0) {
    f = inspect_whole(t, t->prefix_block, t->prefix_damaged);
    f.format = nay_format_find("nay");
    f.of_prefixes = true;
  } else if (i >= n) {
    return NAY_ENOENT;
  } else if (t->layout == NAY_SST_FULL_FILTER) {
    f = inspect_whole(t, t->filter, t->damaged);
  } else if (t->layout == NAY_SST_PARTITIONED_FILTER) {
    const nay_part *part = nay__part_at(&t->parts, (size_t)i);
    f = inspect_whole(t, part->handle, part->damaged);
    f.last_key = t->parts.keys.at + part->key_at;
    f.last_key_len =
        nay__user_len(t->internal ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES, part->key_len);
  } else {
    nay_filter_blocks b = nay__filter_blocks(t);
    const uint8_t *bytes = b.bytes;
    size_t len = 0;
    f.damaged = !nay__filter_block_at(&b, i, &bytes, &len) || t->damaged;
    f.format = t->format;
    f.bytes = bytes;
    f.len = len;
    f.offset = (uint64_t)(bytes - t->frame.bytes);
  }
  if (!f.damaged) f.format = inspect_exact_format(&f);
  *filter = f;
  return NAY_OK;
}

void nay_table_describe(const nay_table *t, nay_table_info *info) {
  nay_table_info d = {
      .engine = t->engine,
      .format_version = t->frame.format_version,
      .checksum = inspect_checksums[t->frame.checksum],
      .layout = t->layout,
      .policy = t->layout != NAY_SST_NO_FILTER ? t->policy_name : NULL,
      .policy_option = t->policy_option[0] != '\0' ? t->policy_option : NULL,
      .prefix = t->prefix[0] != '\0' ? t->prefix : NULL,
      .whole_keys = t->whole_keys,
      .prefixes = t->prefixes,
      .understood = t->format != NULL || t->policy != NULL,
      .index_known = t->index_known || t->layout != NAY_SST_BLOCK_FILTER,
      .nkeys = t->nkeys,
      .nentries = t->nentries,
  };
  nay_table_filter f;
  for (uint64_t i = 0; nay_table_filter_at(t, i, &f) == NAY_OK; i++) {
    d.nempty += f.len == 0;
    d.nfilters += f.len != 0;
    d.ndamaged += f.damaged;
    d.nbytes += f.len;
  }
  *info = d;
}
#undef INSPECT_MAX_RATIO

/* ==== src/sst/inspect_ask.c ================================================================= */
/*
 * inspect_ask.c - what the filters of a table say of a key.
 *
 * Whose filter of 2 KiB a key belongs to only the index knows. Nothing says whether its keys are
 * internal ones, and the two readings may lead to two blocks: then both filters are asked. A table
 * with another order of keys than that of bytes has every partition asked.
 */

/* A decimal number to the end of the text, after a prefix; 0 when it is none. */
static size_t ask_number(const char *text, const char *start) {
  size_t rest, value = 0;
  const uint8_t *p = nay__text_after((const uint8_t *)text, strlen(text), start, &rest);
  for (size_t i = 0; p != NULL && i < rest; i++) {
    if (p[i] < '0' || p[i] > '9' || value > 65535) return 0;
    value = value * 10 + (size_t)(p[i] - '0');
  }
  return value;
}

/* ---- asking ---- */

static bool ask_one(const nay_table *t, const uint8_t *bytes, size_t filter_len, const void *key,
                    size_t len) {
  nay_view view;
  if (t->policy != NULL) return t->policy->may_match(t->policy, key, len, bytes, filter_len);
  if (t->format == NULL) return true;
  if (nay_format_view(t->format, bytes, filter_len, NULL, &view) != NAY_OK) return true;
  return nay_filter_may_contain(nay_view_filter(&view), key, len);
}

/* The filter of the data block at `offset`. */
static bool ask_block(const nay_table *t, const nay_filter_blocks *b, uint64_t offset,
                      const void *key, size_t len) {
  const uint8_t *bytes;
  size_t filter_len;
  uint64_t i = b->lg < 64 ? offset >> b->lg : 0;
  if (i >= b->count || !nay__filter_block_at(b, i, &bytes, &filter_len)) return true;
  return filter_len != 0 && ask_one(t, bytes, filter_len, key, len);
}

static bool ask_blocks(const nay_table *t, const void *key, size_t len) {
  nay_filter_blocks b = nay__filter_blocks(t);
  if (t->damaged) return true;
  if (!t->index_known) {
    bool any = b.count == 0;
    for (uint64_t i = 0; i < b.count && !any; i++) {
      const uint8_t *bytes;
      size_t filter_len;
      any = !nay__filter_block_at(&b, i, &bytes, &filter_len) ||
            (filter_len != 0 && ask_one(t, bytes, filter_len, key, len));
    }
    return any;
  }
  size_t n = nay__parts_count(&t->parts);
  size_t plain = nay__parts_find(&t->parts, NAY_ORDER_BYTES, key, len), internal = plain;
  if (t->parts.all_internal) {
    internal = nay__parts_find(&t->parts, NAY_ORDER_INTERNAL, key, len);
  }
  if (plain < n && ask_block(t, &b, nay__part_at(&t->parts, plain)->handle.offset, key, len))
    return true;
  return internal != plain && internal < n &&
         ask_block(t, &b, nay__part_at(&t->parts, internal)->handle.offset, key, len);
}

static bool ask_part(const nay_table *t, size_t i, const void *key, size_t len) {
  const nay_part *part = nay__part_at(&t->parts, i);
  return part->damaged ||
         ask_one(t, t->frame.bytes + part->handle.offset, (size_t)part->handle.size, key, len);
}

/* The key chooses the partition, its first what_len bytes are asked. A key past all of them is
 * asked of the last one, as RocksDB does: a prefix may belong there. */
static bool ask_partitions(const nay_table *t, const void *key, size_t len, size_t what_len) {
  size_t n = nay__parts_count(&t->parts);
  if (n == 0) return false;
  bool any = false;
  for (size_t i = 0; t->other_order && i < n && !any; i++) any = ask_part(t, i, key, what_len);
  if (t->other_order) return any;
  nay_order order = t->internal ? NAY_ORDER_INTERNAL : NAY_ORDER_BYTES;
  size_t i = nay__parts_find(&t->parts, order, key, len);
  return ask_part(t, i < n ? i : n - 1, key, what_len);
}

/* The prefix of a key; false when the extractor is not known, or the key has none. */
static bool ask_prefix_of(const nay_table *t, const uint8_t *key, size_t len, size_t *prefix) {
  size_t fixed = ask_number(t->prefix, "rocksdb.FixedPrefix.");
  size_t capped = ask_number(t->prefix, "rocksdb.CappedPrefix.");
  if (fixed == 0) fixed = ask_number(t->prefix, "nay.fixed.");
  if (capped != 0) {
    *prefix = len < capped ? len : capped;
    return true;
  }
  if (fixed != 0) {
    *prefix = fixed;
    return len >= fixed;
  }
  size_t rest;
  if (nay__text_after((const uint8_t *)t->prefix, strlen(t->prefix), "nay.delimiter.", &rest) ==
      NULL) {
    return false;
  }
  const uint8_t *end =
      len == 0 ? NULL : memchr(key, (int)ask_number(t->prefix, "nay.delimiter."), len);
  if (end != NULL) *prefix = (size_t)(end - key) + 1;
  return end != NULL;
}

static bool ask_prefix_block(const nay_table *t, const void *key, size_t prefix) {
  nay_view view;
  const uint8_t *bytes = t->frame.bytes + t->prefix_block.offset;
  if (t->prefix_damaged ||
      nay_view_open(bytes, (size_t)t->prefix_block.size, NULL, NULL, &view) != NAY_OK) {
    return true;
  }
  return nay_filter_may_contain(nay_view_filter(&view), key, prefix);
}

bool nay_table_may_contain(const nay_table *t, const void *key, size_t len) {
  if (t == NULL || (key == NULL && len != 0)) return true;
  if (key == NULL) key = "";
  size_t what = len;
  if (!t->whole_keys) {
    if (!t->prefixes || !ask_prefix_of(t, key, len, &what)) return true;
    if (t->prefix_block.size != 0) return ask_prefix_block(t, key, what);
  }
  switch (t->layout) {
    case NAY_SST_NO_FILTER: break;
    case NAY_SST_BLOCK_FILTER: return ask_blocks(t, key, what);
    case NAY_SST_FULL_FILTER:
      if (t->damaged) return true;
      if (t->has_view) return nay_filter_may_contain(nay_view_filter(&t->view), key, what);
      return t->policy == NULL ||
             ask_one(t, t->frame.bytes + t->filter.offset, (size_t)t->filter.size, key, what);
    case NAY_SST_PARTITIONED_FILTER: return ask_partitions(t, key, len, what);
  }
  return true;
}
