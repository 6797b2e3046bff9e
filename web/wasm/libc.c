/*
 * libc.c - the functions of <string.h> that the library calls. WebAssembly has instructions for
 * three of them (bulk memory: memory.copy, memory.fill), and clang makes them of the builtins.
 */
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n) {
  __builtin_memcpy(dst, src, n);
  return dst;
}

void *memmove(void *dst, const void *src, size_t n) {
  __builtin_memmove(dst, src, n);
  return dst;
}

void *memset(void *dst, int byte, size_t n) {
  __builtin_memset(dst, byte, n);
  return dst;
}

/* Eight bytes at a time while they are equal. */
int memcmp(const void *a, const void *b, size_t n) {
  const uint8_t *x = a, *y = b;
  for (; n >= 8; x += 8, y += 8, n -= 8) {
    uint64_t p, q;
    __builtin_memcpy(&p, x, 8);
    __builtin_memcpy(&q, y, 8);
    if (p != q) break;
  }
  for (; n > 0; x++, y++, n--) {
    if (*x != *y) return *x < *y ? -1 : 1;
  }
  return 0;
}

/* Eight bytes at a time while none is the byte: x has a zero byte where they are equal, and only
 * then a bit of the mask is set at or below it. */
void *memchr(const void *bytes, int byte, size_t n) {
  const uint64_t ones = 0x0101010101010101u;
  const uint8_t *at = bytes;
  for (; n >= 8; at += 8, n -= 8) {
    uint64_t x;
    __builtin_memcpy(&x, at, 8);
    x ^= ones * (uint8_t)byte;
    x = (x - ones) & ~x & ones << 7;
    if (x != 0) return (void *)(uintptr_t)(at + __builtin_ctzll(x) / 8);
  }
  for (; n > 0; at++, n--) {
    if (*at == (uint8_t)byte) return (void *)(uintptr_t)at;
  }
  return NULL;
}

size_t strlen(const char *text) {
  size_t n = 0;
  while (text[n] != '\0') n++;
  return n;
}

int strncmp(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (a[i] != b[i]) return (uint8_t)a[i] < (uint8_t)b[i] ? -1 : 1;
    if (a[i] == '\0') return 0;
  }
  return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }
