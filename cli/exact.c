/*
 * exact.c - an open table of hashes and the places of their keys in pages of memory; linear
 * probing, at most three quarters full. A page is never moved, so that growing copies only places.
 */
#include "exact.h"

#include <stdlib.h>
#include <string.h>

#define EXACT_PAGE ((size_t)1 << 20)

typedef struct exact_slot {
  uint64_t hash;
  const uint8_t *key; /* NULL: free */
  size_t len;
  bool seen;
} exact_slot;

typedef struct exact_page {
  struct exact_page *next;
  uint8_t bytes[];
} exact_page;

struct exact_set {
  exact_slot *slots;
  size_t nslots, used, nseen; /* nslots is a power of two */
  exact_page *pages;
  size_t page_at, page_cap;
};

exact_set *exact_new(void) {
  exact_set *s = must_alloc(sizeof *s);
  *s = (exact_set){.nslots = 1024};
  s->slots = calloc(s->nslots, sizeof *s->slots);
  if (s->slots == NULL) die(EXIT_TROUBLE, "out of memory");
  return s;
}

static const uint8_t *exact_keep(exact_set *s, const void *key, size_t len) {
  if (s->pages == NULL || s->page_cap - s->page_at < len) {
    size_t cap = len > EXACT_PAGE ? len : EXACT_PAGE;
    exact_page *page = must_alloc(sizeof *page + cap);
    page->next = s->pages;
    s->pages = page;
    s->page_at = 0;
    s->page_cap = cap;
  }
  uint8_t *at = s->pages->bytes + s->page_at;
  memcpy(at, key, len);
  s->page_at += len;
  return at;
}

static void exact_grow(exact_set *s) {
  size_t nslots = s->nslots * 2;
  exact_slot *slots = calloc(nslots, sizeof *slots);
  if (slots == NULL) die(EXIT_TROUBLE, "out of memory: every distinct key is kept");
  for (size_t i = 0; i < s->nslots; i++) {
    if (s->slots[i].key == NULL) continue;
    size_t at = (size_t)s->slots[i].hash & (nslots - 1);
    while (slots[at].key != NULL) at = (at + 1) & (nslots - 1);
    slots[at] = s->slots[i];
  }
  free(s->slots);
  s->slots = slots;
  s->nslots = nslots;
}

/* The slot of the key, or a free one. */
static size_t exact_slot_of(const exact_set *s, const void *key, size_t len, uint64_t hash) {
  size_t at = (size_t)hash & (s->nslots - 1);
  for (; s->slots[at].key != NULL; at = (at + 1) & (s->nslots - 1)) {
    const exact_slot *slot = &s->slots[at];
    if (slot->hash == hash && slot->len == len && memcmp(slot->key, key, len) == 0) break;
  }
  return at;
}

bool exact_see(exact_set *s, const void *key, size_t len, uint64_t hash) {
  exact_slot *slot = &s->slots[exact_slot_of(s, key, len, hash)];
  if (slot->key == NULL) return false;
  s->nseen += !slot->seen;
  slot->seen = true;
  return true;
}

uint64_t exact_count(const exact_set *s) { return s->used; }
uint64_t exact_nseen(const exact_set *s) { return s->nseen; }

bool exact_add(exact_set *s, const void *key, size_t len, uint64_t hash) {
  if (s->used >= s->nslots / 4 * 3) exact_grow(s);
  size_t at = exact_slot_of(s, key, len, hash);
  if (s->slots[at].key != NULL) return false;
  s->slots[at] = (exact_slot){.hash = hash, .key = exact_keep(s, key, len), .len = len};
  s->used++;
  return true;
}

void exact_free(exact_set *s) {
  while (s->pages != NULL) {
    exact_page *next = s->pages->next;
    free(s->pages);
    s->pages = next;
  }
  free(s->slots);
  free(s);
}
