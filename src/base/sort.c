/*
 * sort.c - American flag sort: MSD radix, in place.
 *
 * Hashes are random, so a digit of a few bits splits them into nearly equal buckets: one pass
 * counts, one pass swaps every value into its bucket, and each bucket is sorted by the next digit.
 * Small buckets end in an insertion sort. Digits have 8 bits, whose buckets the caches hold at
 * once, or fewer for few values; a set of less than 2^15 values is split once, by up to 10. The
 * depth of the recursion is at most 16 for any input, 80 KiB of stack.
 */
#include "base/sort.h"

#include <string.h>

#define SORT_SMALL 48 /* insertion sort wins below: measured 16, 24, 32, 48 on 10^7 hashes */
#define SORT_BITS 8
#define SORT_ONCE_BITS \
  10 /* 2^10 buckets: 20% faster than twice 2^8 up to SORT_ONCE, slower above */
#define SORT_ONCE ((size_t)1 << 15)

static void sort_insertion(uint64_t *a, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t x = a[i];
    size_t j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

/* A digit of a value: `bits` bits from `shift` on. */
typedef struct sort_digit {
  unsigned shift, bits;
} sort_digit;

static size_t sort_bucket(uint64_t x, sort_digit d) {
  return (size_t)(x >> d.shift) & (((size_t)1 << d.bits) - 1);
}

/* Permutes the values into buckets by one digit; bucket b ends at end[b]. next[] is scratch. */
static void sort_split(uint64_t *a, size_t n, sort_digit d, size_t *next, size_t *end) {
  const size_t nbuckets = (size_t)1 << d.bits;
  memset(end, 0, nbuckets * sizeof end[0]);
  for (size_t i = 0; i < n; i++) end[sort_bucket(a[i], d)]++;
  size_t sum = 0;
  for (size_t b = 0; b < nbuckets; b++) {
    next[b] = sum;
    sum += end[b];
    end[b] = sum;
  }
  for (size_t b = 0; b < nbuckets; b++) {
    while (next[b] < end[b]) {
      uint64_t x = a[next[b]];
      size_t home = sort_bucket(x, d);
      while (home != b) { /* follow the cycle until a value belongs here */
        uint64_t other = a[next[home]];
        a[next[home]++] = x;
        x = other;
        home = sort_bucket(x, d);
      }
      a[next[b]++] = x;
    }
  }
}

/* How many bits a number has. */
static unsigned sort_width(uint64_t x) {
  unsigned width = 0;
  for (; x != 0; x >>= 1) width++;
  return width;
}

/* The digit below the highest bits, of which `left` remain: buckets of about 2^log2_size values. */
static sort_digit sort_next_digit(size_t n, unsigned left, unsigned most, unsigned log2_size) {
  unsigned bits = sort_width(n) - 1 - log2_size;
  if (bits > most) bits = most;
  if (bits > left) bits = left;
  return (sort_digit){left - bits, bits};
}

static void sort_below(uint64_t *a, size_t n, unsigned left);

static void sort_buckets(uint64_t *a, const size_t *end, sort_digit d) {
  size_t start = 0;
  for (size_t b = 0; b < (size_t)1 << d.bits; b++) {
    if (end[b] - start > 1) sort_below(a + start, end[b] - start, d.shift);
    start = end[b];
  }
}

/* Sorts values that differ in their lowest `left` bits only. */
static void sort_below(uint64_t *a, size_t n, unsigned left) {
  if (left == 0) return;
  if (n < SORT_SMALL) {
    sort_insertion(a, n);
    return;
  }
  size_t next[1 << SORT_BITS], end[1 << SORT_BITS];
  sort_digit d = sort_next_digit(n, left, SORT_BITS, 1);
  sort_split(a, n, d, next, end);
  sort_buckets(a, end, d);
}

void nay__sort_u64(uint64_t *a, size_t n) {
  if (n < SORT_SMALL) {
    sort_insertion(a, n);
    return;
  }
  uint64_t differ = 0; /* the values of a shard share their top bits */
  for (size_t i = 0; i < n; i++) differ |= a[i] ^ a[0];
  size_t next[1 << SORT_ONCE_BITS], end[1 << SORT_ONCE_BITS];
  unsigned left = sort_width(differ);
  sort_digit d = n < SORT_ONCE ? sort_next_digit(n, left, SORT_ONCE_BITS, 3)
                               : sort_next_digit(n, left, SORT_BITS, 1);
  sort_split(a, n, d, next, end);
  sort_buckets(a, end, d);
}

void nay__sort_split_u64(uint64_t *a, size_t n, size_t end[256]) {
  size_t next[256];
  sort_split(a, n, (sort_digit){56, 8}, next, end);
}

size_t nay__unique_u64(uint64_t *a, size_t n) {
  if (n == 0) return 0;
  size_t kept = 1;
  for (size_t i = 1; i < n; i++) {
    if (a[i] != a[kept - 1]) a[kept++] = a[i];
  }
  return kept;
}

/* Where a sorted array of n distinct values has one that is in it. */
static size_t sort_find(const uint64_t *a, size_t n, uint64_t value) {
  size_t low = 0, high = n - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (a[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

size_t nay__unique_last_u64(uint64_t *a, size_t n, uint64_t *scratch) {
  if (n == 0) return 0;
  uint64_t *seen = scratch + n; /* a bit for each distinct value */
  memcpy(scratch, a, n * sizeof *a);
  memset(seen, 0, (n / 64 + 1) * sizeof *seen);
  nay__sort_u64(scratch, n);
  size_t ndistinct = nay__unique_u64(scratch, n), kept = n;
  for (size_t i = n; i-- > 0;) {
    size_t at = sort_find(scratch, ndistinct, a[i]);
    if ((seen[at / 64] >> at % 64 & 1) != 0) continue;
    seen[at / 64] |= (uint64_t)1 << at % 64;
    a[--kept] = a[i];
  }
  memmove(a, a + kept, ndistinct * sizeof *a);
  return ndistinct;
}
