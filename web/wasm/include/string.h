/* string.h - what the library and xxhash.h call of it; libc.c has the functions. */
#ifndef NAY_WASM_STRING_H
#define NAY_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *bytes, int byte, size_t n);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#endif /* NAY_WASM_STRING_H */
