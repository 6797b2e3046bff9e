/*
 * map_builder.c - collects the pairs of a map that stream in: pages of hashes and values, which are
 * the runs of the build, or with NAY_LOW_MEMORY a temporary file.
 */
#include "build/bulk_strategy.h"
#include "build/map_build.h"

#define MAPB_PAGE 16384u /* pairs */

typedef struct mapb_page {
  struct mapb_page *next;
  size_t used;
  uint64_t hashes[MAPB_PAGE], values[MAPB_PAGE];
} mapb_page;

struct nay_map_builder {
  nay_params params;
  nay_hash_fn hasher;
  nay_allocator allocator;
  nay_hash_spill *spill; /* instead of pages, or NULL */
  mapb_page *first, *last;
  uint64_t npairs;
  size_t npages;
};

nay_status nay__map_builder_new(const nay_params *params, const nay_hash_fn *hasher,
                                const nay_allocator *allocator, nay_diag *diag,
                                nay_map_builder **builder) {
  nay_allocator a = *allocator;
  nay_map_builder *b = nay__alloc(&a, sizeof *b);
  if (b == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory for the builder", 0);
  *b = (nay_map_builder){.params = *params, .hasher = *hasher, .allocator = a};
  b->params.spill_dir = NULL; /* the caller owns the string */
  if ((params->flags & NAY_LOW_MEMORY) != 0) {
    nay_status status = nay__hash_spill_new(params->spill_dir, NAY_MAP_RECORD, &a, diag, &b->spill);
    if (status != NAY_OK) {
      nay__free(&a, b, sizeof *b);
      return status;
    }
  }
  *builder = b;
  return NAY_OK;
}

static nay_status mapb_new_page(nay_map_builder *b) {
  mapb_page *page = nay__alloc(&b->allocator, sizeof *page);
  if (page == NULL) return NAY_ENOMEM;
  page->next = NULL;
  page->used = 0;
  if (b->last != NULL) {
    b->last->next = page;
  } else {
    b->first = page;
  }
  b->last = page;
  b->npages++;
  return NAY_OK;
}

nay_status nay__map_builder_add(nay_map_builder *b, uint64_t hash, uint64_t value) {
  if (b->spill != NULL) {
    const uint64_t record[NAY_MAP_RECORD] = {hash, value, b->npairs};
    NAY_TRY(nay__hash_spill_add(b->spill, record));
    b->npairs++;
    return NAY_OK;
  }
  if (b->last == NULL || b->last->used == MAPB_PAGE) NAY_TRY(mapb_new_page(b));
  b->last->hashes[b->last->used] = hash;
  b->last->values[b->last->used++] = value;
  b->npairs++;
  return NAY_OK;
}

uint64_t nay__map_builder_npairs(const nay_map_builder *b) { return b->npairs; }

static void mapb_reset(nay_map_builder *b) {
  if (b->spill != NULL) nay__hash_spill_clear(b->spill);
  while (b->first != NULL) {
    mapb_page *page = b->first;
    b->first = page->next;
    nay__free(&b->allocator, page, sizeof *page);
  }
  b->last = NULL;
  b->npairs = 0;
  b->npages = 0;
}

nay_status nay__map_builder_finish(nay_map_builder *b, nay_diag *diag, nay_filter **map) {
  size_t size;
  if (!nay__mul_ok(b->npages + 1, sizeof(nay_map_run), &size)) return NAY_ENOMEM;
  nay_map_run *runs = nay__alloc(&b->allocator, size);
  if (runs == NULL) return nay__fail(diag, NAY_ENOMEM, "no memory to build the map", 0);
  size_t n = 0;
  for (const mapb_page *page = b->first; page != NULL; page = page->next) {
    runs[n++] = (nay_map_run){page->hashes, page->values, page->used};
  }
  nay_map_source source = {.runs = runs, .nruns = n, .spill = b->spill, .n = b->npairs};
  source.group_keys = nay__bulk_group_keys(b->params.flags, b->npairs);
  nay_status status = nay__map_build(&b->params, &b->hasher, &source, &b->allocator, diag, map);
  nay__free(&b->allocator, runs, size);
  if (status == NAY_OK) mapb_reset(b);
  return status;
}

void nay__map_builder_free(nay_map_builder *b) {
  if (b == NULL) return;
  mapb_reset(b);
  nay__hash_spill_free(b->spill);
  nay_allocator a = b->allocator;
  nay__free(&a, b, sizeof *b);
}
