/*
 * sort.c - American flag sort: MSD radix, in place.
 *
 * Hashes are random, so the top byte splits them into 256 nearly equal buckets: one pass counts,
 * one pass swaps every value into its bucket, and each bucket is sorted by the next byte. Small
 * buckets end in an insertion sort. The recursion goes by byte, so its depth is at most 8 for any
 * input.
 */
#include "base/sort.h"

#define SORT_SMALL 48 /* insertion sort wins below: measured 16, 32, 48, 64 on 10^7 hashes */

static void sort_insertion(uint64_t *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* Permutes the values into buckets by one byte; bucket b ends at end[b]. */
static void sort_split(uint64_t *a, size_t n, unsigned shift, size_t end[256]) {
  memset(end, 0, 256 * sizeof end[0]);
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
      while (home != b) { /* follow the cycle until a value belongs here */
        uint64_t other = a[next[home]];
        a[next[home]++] = x;
        x = other;
        home = (unsigned)(x >> shift & 255);
      }
      a[next[b]++] = x;
    }
  }
}

static void sort_by_byte(uint64_t *a, size_t n, unsigned shift) {
  if (n < SORT_SMALL) {
    sort_insertion(a, n);
    return;
  }
  size_t end[256];
  sort_split(a, n, shift, end);
  if (shift == 0) return;
  for (unsigned b = 0; b < 256; b++) {
    size_t start = b == 0 ? 0 : end[b - 1];
    if (end[b] - start > 1) sort_by_byte(a + start, end[b] - start, shift - 8);
  }
}

void nay__sort_u64(uint64_t *a, size_t n) { sort_by_byte(a, n, 56); }

void nay__sort_split_u64(uint64_t *a, size_t n, size_t end[256]) { sort_split(a, n, 56, end); }

size_t nay__unique_u64(uint64_t *a, size_t n) {
  if (n == 0) return 0;
  size_t kept = 1;
  for (size_t i = 1; i < n; i++) {
    if (a[i] != a[kept - 1]) a[kept++] = a[i];
  }
  return kept;
}
