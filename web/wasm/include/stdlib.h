/* stdlib.h - memory; heap.c has the functions. */
#ifndef NAY_WASM_STDLIB_H
#define NAY_WASM_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void free(void *ptr);

#endif /* NAY_WASM_STDLIB_H */
