/*
 * heap.c - malloc over memory.grow: two-level segregated fit.
 *
 * The heap is a row of blocks without gaps, from the end of the module's data to the end of memory.
 * A block is 16 bytes or a multiple; the row starts 8 bytes before a multiple of 16, so that what
 * malloc returns is aligned to 16:
 *
 *   before: length of the block before, 4 | length, bit 0: free, 4 | payload ...
 *                                                     free: next, 4 | previous, 4 | ...
 *
 * Free blocks are in lists by size: 8 lists for each power of two, and a bitmap of the lists that
 * are not empty. A request is rounded up to the next list, so that the first block of any list at
 * or above it fits: malloc and free take a constant number of steps, whatever the heap looks like.
 * What is left of a block is split off; a freed block is joined with free neighbours, so no two
 * free blocks are adjacent (M. Masmano et al., "TLSF", 2004).
 *
 * When no block fits, memory grows by an eighth or by what is needed. Growing detaches every view
 * that JavaScript has of the memory: nayw_grown, which JavaScript provides, makes them anew, so
 * that no call needs to look whether they are valid. When the engine refuses to grow, malloc
 * returns NULL, the library NAY_ENOMEM, and nothing has changed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_PAGE ((uint64_t)65536)
#define HEAP_SMALLEST 16u /* header and the two links */
#define HEAP_CLASSES (32u * 8u)
#define HEAP_LARGEST ((size_t)0xffff0000u)

typedef struct block {
  uint32_t before; /* length of the block before; 0: this is the first */
  uint32_t length; /* of this one, header included; bit 0: it is free */
  struct block *next, *previous;
} block;
#define BLOCK_HEADER 8u

__attribute__((import_module("env"), import_name("grown"))) void nayw_grown(void);
extern uint8_t __heap_base;

static block *heap_lists[HEAP_CLASSES];
static uint64_t heap_filled[HEAP_CLASSES / 64]; /* which lists are not empty */
static block *heap_end; /* a block of no length behind the last; NULL before the first malloc */

static uint32_t block_length(const block *b) { return b->length & ~1u; }
static bool block_is_free(const block *b) { return (b->length & 1u) != 0; }
static block *block_after(block *b) { return (block *)(void *)((uint8_t *)b + block_length(b)); }
static block *block_before(block *b) { return (block *)(void *)((uint8_t *)b - b->before); }

/* The list of blocks of this length: the power of two and the three bits below the leading one. */
static uint32_t heap_class(uint32_t length) {
  uint32_t power = 31u - (uint32_t)__builtin_clz(length);
  return power * 8 + (length >> (power - 3) & 7u);
}

static void heap_insert(block *b, uint32_t length) {
  uint32_t class = heap_class(length);
  b->length = length | 1u;
  block_after(b)->before = length;
  b->previous = NULL;
  b->next = heap_lists[class];
  if (b->next != NULL) b->next->previous = b;
  heap_lists[class] = b;
  heap_filled[class / 64] |= (uint64_t)1 << class % 64;
}

static void heap_remove(block *b) {
  uint32_t class = heap_class(block_length(b));
  if (b->next != NULL) b->next->previous = b->previous;
  if (b->previous != NULL)
    b->previous->next = b->next;
  else
    heap_lists[class] = b->next;
  if (heap_lists[class] == NULL) heap_filled[class / 64] &= ~((uint64_t)1 << class % 64);
  b->length &= ~1u;
}

/* Makes the block free, joined with its free neighbours. */
static void heap_release(block *b) {
  uint32_t length = block_length(b);
  block *after = block_after(b);
  if (block_is_free(after)) {
    length += block_length(after);
    heap_remove(after);
  }
  if (b->before != 0 && block_is_free(block_before(b))) {
    b = block_before(b);
    length += block_length(b);
    heap_remove(b);
  }
  heap_insert(b, length);
}

/* The first block of the first list, from this class on, that is not empty. */
static block *heap_find(uint32_t class) {
  uint64_t mask = ~(uint64_t)0 << class % 64;
  for (uint32_t i = class / 64; i < HEAP_CLASSES / 64; i++, mask = ~(uint64_t)0) {
    uint64_t filled = heap_filled[i] & mask;
    if (filled != 0) return heap_lists[i * 64 + (uint32_t)__builtin_ctzll(filled)];
  }
  return NULL;
}

static bool heap_pages(uint64_t nbytes) {
  size_t pages = (size_t)((nbytes + HEAP_PAGE - 1) / HEAP_PAGE);
  return __builtin_wasm_memory_grow(0, pages) != (size_t)-1;
}

/* The memory between the old end of the row and the new end of memory becomes a free block. */
static void heap_extend(void) {
  uint64_t end = (uint64_t)__builtin_wasm_memory_size(0) * HEAP_PAGE - 16;
  if (end > HEAP_LARGEST) end = HEAP_LARGEST;
  block *b = heap_end;
  heap_end = (block *)(uintptr_t)(((uintptr_t)end & ~(uintptr_t)15) | 8u);
  b->length = (uint32_t)((uint8_t *)heap_end - (uint8_t *)b);
  heap_end->length = 0;
  heap_end->before = b->length;
  heap_release(b);
}

/* Room for a block of this length in a list that heap_find will look at. */
static bool heap_grow(uint32_t length) {
  uint64_t size = (uint64_t)__builtin_wasm_memory_size(0) * HEAP_PAGE;
  uint64_t needed = (uint64_t)length + length / 8 + 64;
  if (size + needed > HEAP_LARGEST) return false;
  if (needed >= size / 8 || !heap_pages(size / 8)) {
    if (!heap_pages(needed)) return false;
  }
  nayw_grown();
  heap_extend();
  return true;
}

/* The memory behind the module's data that is there already. */
static void heap_start(void) {
  uintptr_t base = (uintptr_t)&__heap_base;
  block *first = (block *)(uintptr_t)(((base + 15) & ~(uintptr_t)15) + 8);
  first->before = 0;
  heap_end = first;
  heap_extend();
}

void *malloc(size_t size) {
  if (size > HEAP_LARGEST - 64) return NULL;
  if (heap_end == NULL) heap_start();
  uint32_t length = ((uint32_t)size + BLOCK_HEADER + 15u) & ~15u;
  if (length < HEAP_SMALLEST) length = HEAP_SMALLEST;
  uint32_t rounded = length;
  if (length >= 256) rounded += (1u << (28u - (uint32_t)__builtin_clz(length))) - 1;
  if (rounded < length) return NULL;
  block *b = heap_find(heap_class(rounded));
  if (b == NULL) {
    if (!heap_grow(length)) return NULL;
    b = heap_find(heap_class(rounded));
    if (b == NULL) return NULL;
  }
  heap_remove(b);
  uint32_t rest = block_length(b) - length;
  if (rest >= HEAP_SMALLEST) {
    b->length = length;
    block *tail = block_after(b);
    tail->before = length;
    heap_insert(tail, rest);
  }
  return (uint8_t *)b + BLOCK_HEADER;
}

void *calloc(size_t n, size_t size) {
  if (size != 0 && n > SIZE_MAX / size) return NULL;
  void *ptr = malloc(n * size);
  if (ptr != NULL) memset(ptr, 0, n * size);
  return ptr;
}

void free(void *ptr) {
  if (ptr != NULL) heap_release((block *)(void *)((uint8_t *)ptr - BLOCK_HEADER));
}
