/*
 * map_pairs.c - checks the pairs of a map before it is built.
 *
 * Duplicates are rare, so they are looked for in a copy of the hashes alone, which is sorted: 8
 * bytes for each pair. Only the hashes that come more than once are kept; if there are any, each
 * pair is looked up among them, and a second value for a hash is a conflict.
 */
#include "build/map_pairs.h"

#include "base/bits.h"
#include "base/sort.h"

static nay_status pairs_value_bits(const nay_map_pairs *p, uint32_t *value_bits, nay_diag *diag) {
  uint64_t all = 0, index = 0, most = *value_bits != 0 ? nay__low_bits(*value_bits) : ~(uint64_t)0;
  for (size_t r = 0; r < p->nruns; r++) {
    for (size_t i = 0; i < p->runs[r].n; i++, index++) {
      uint64_t value = p->runs[r].values[i];
      all |= value;
      if (value > most) {
        return nay__fail(diag, NAY_EINVAL, "a value has more bits than value_bits", index);
      }
    }
  }
  if (*value_bits == 0) *value_bits = all == 0 ? 1 : nay__log2_64(all) + 1;
  return NAY_OK;
}

/* The sorted hashes, and of them those that come more than once, each once. */
static nay_status pairs_sort(nay_map_pairs *p) {
  size_t size, n = 0, nrepeated = 0;
  if (!nay__size_ok(p->n, &size) || !nay__mul_ok(size, 8, &size)) return NAY_ENOMEM;
  NAY_TRY(nay__memory_raw(&p->allocator, size, &p->sorted));
  uint64_t *all = (uint64_t *)(void *)p->sorted.at;
  for (size_t r = 0; r < p->nruns; r++) {
    if (p->runs[r].n != 0) memcpy(all + n, p->runs[r].hashes, p->runs[r].n * sizeof *all);
    n += p->runs[r].n;
  }
  nay__sort_u64(all, n);
  p->ndistinct = n != 0;
  for (size_t i = 1; i < n; i++) {
    if (all[i] != all[i - 1]) {
      p->ndistinct++;
    } else if (nrepeated == 0 || all[nrepeated - 1] != all[i]) {
      all[nrepeated++] = all[i]; /* below i: each takes two */
    }
  }
  p->repeated = all;
  p->nrepeated = nrepeated;
  p->seen = all + nrepeated; /* there are at least twice as many pairs */
  return NAY_OK;
}

/* Where a hash is among the repeated ones; nrepeated: it is not. */
static size_t pairs_find(const nay_map_pairs *p, uint64_t hash) {
  size_t from = 0, to = p->nrepeated;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (p->repeated[middle] < hash) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < p->nrepeated && p->repeated[from] == hash ? from : p->nrepeated;
}

static uint64_t pairs_value_at(const nay_map_pairs *p, uint64_t index) {
  size_t len = p->runs[0].n; /* of all runs but the last */
  return p->runs[index / len].values[index % len];
}

/* Whether this is the first pair with its hash; *first is the index of that. */
static bool pairs_is_first(nay_map_pairs *p, uint64_t hash, uint64_t index, uint64_t *first) {
  size_t at = p->nrepeated == 0 ? 0 : pairs_find(p, hash);
  if (at == p->nrepeated) return true;
  if (p->seen[at] == 0) p->seen[at] = index + 1;
  *first = p->seen[at] - 1;
  return *first == index;
}

static nay_status pairs_conflicts(nay_map_pairs *p, nay_diag *diag) {
  uint64_t index = 0, first = 0;
  if (p->nrepeated == 0) return NAY_OK;
  memset(p->seen, 0, p->nrepeated * sizeof *p->seen);
  for (size_t r = 0; r < p->nruns; r++) {
    for (size_t i = 0; i < p->runs[r].n; i++, index++) {
      if (pairs_is_first(p, p->runs[r].hashes[i], index, &first)) continue;
      if (pairs_value_at(p, first) != p->runs[r].values[i]) {
        return nay__fail(diag, NAY_EINVAL, "two values for one key", index);
      }
    }
  }
  return NAY_OK;
}

nay_status nay__map_pairs_check(nay_map_pairs *p, uint32_t *value_bits, nay_diag *diag) {
  NAY_TRY(pairs_value_bits(p, value_bits, diag));
  nay_status status = pairs_sort(p);
  if (status != NAY_OK) return nay__fail(diag, status, "no memory to look for duplicates", 0);
  NAY_TRY(pairs_conflicts(p, diag));
  if (p->nrepeated == 0) nay__memory_free(&p->allocator, &p->sorted); /* not needed again */
  return NAY_OK;
}

void nay__map_pairs_free(nay_map_pairs *p) { nay__memory_free(&p->allocator, &p->sorted); }

void nay__map_pairs_each(nay_map_pairs *p, void (*each)(void *, uint64_t, uint64_t), void *ctx) {
  uint64_t index = 0, first;
  for (size_t r = 0; r < p->nruns; r++) {
    for (size_t i = 0; i < p->runs[r].n; i++, index++) {
      uint64_t hash = p->runs[r].hashes[i];
      if (pairs_is_first(p, hash, index, &first)) each(ctx, hash, p->runs[r].values[i]);
    }
  }
}
