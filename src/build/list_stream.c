/*
 * list_stream.c - see list_stream.h.
 *
 * The first pass counts the keys of each partition, which says how each is stored. A later pass
 * drops the keys that level 1 denies: its answer is theirs, and the bytes that denied them go into
 * the list. The others become records, and the build is that of one pass (list_build.c).
 *
 * Which keys are the few in a partition of mostly listed keys is known when all have been added
 * once more (`gathers`); only then can level 1 be built, for a third pass (`filters`). Without such
 * partitions the second pass does both, and it is the last one, too, if no partition has a level 1
 * of listed keys.
 */
#include "build/list_stream.h"

nay_list_stream *nay__list_stream_new(const nay_allocator *allocator) {
  nay_list_stream *s = nay__alloc(allocator, sizeof *s);
  if (s != NULL) memset(s, 0, sizeof *s);
  return s;
}

void nay__list_stream_clear(nay_list_stream *s) {
  for (unsigned g = 0; g < NAY_LIST_MAX_GROUPS; g++) nay_filter_free(s->sieves[g].map);
  memset(s, 0, sizeof *s);
}

void nay__list_stream_free(nay_list_stream *s, const nay_allocator *allocator) {
  if (s == NULL) return;
  nay__list_stream_clear(s);
  nay__free(allocator, s, sizeof *s);
}

/* Whether a key is listed is part of its digest. */
void nay__list_stream_count(nay_list_stream *s, const nay_list_record *r) {
  uint64_t status = nay__list_status(r);
  s->now.nkeys++;
  s->now.sums[0] += r->hash;
  s->now.sums[1] += nay_hash_mix(r->second + status);
}

bool nay__list_stream_same(const nay_list_stream *s) {
  return s->now.nkeys == s->first.nkeys && s->now.sums[0] == s->first.sums[0] &&
         s->now.sums[1] == s->first.sums[1];
}

void nay__list_stream_next(nay_list_stream *s, bool gathers, bool filters) {
  if (s->pass++ == 0) s->first = s->now;
  s->now = (nay_list_digest){.nkeys = 0};
  s->gathers = gathers;
  s->filters = filters;
}

/* Keys that are not looked up yet, because there is no memory for one that passes, wait on. */
static nay_status stream_sift(nay_list_sieve *sieve, nay_list_records *records) {
  uint64_t hashes[NAY_MAP_GROUP], words[NAY_MAP_GROUP];
  unsigned n = sieve->nqueued, i = 0;
  nay_status status = NAY_OK;
  if (n == 0) return NAY_OK;
  for (unsigned k = 0; k < n; k++) hashes[k] = sieve->queue[k].hash;
  (void)nay__map_get(sieve->map, hashes, n, words);
  for (; i < n; i++) {
    if (words[i] != nay__list_word(hashes[i], sieve->columns)) continue;
    status = nay__list_records_add(records, &sieve->queue[i]);
    if (status != NAY_OK) break;
  }
  sieve->nqueued = n - i;
  memmove(sieve->queue, sieve->queue + i, sieve->nqueued * sizeof sieve->queue[0]);
  return status;
}

nay_status nay__list_stream_take(nay_list_stream *s, nay_list_records *records,
                                 const nay_list_record *r, unsigned class) {
  unsigned level = class & ~NAY_LIST_INVERTED;
  bool sifted = level != 0 && level < NAY_LIST_EXACT_ONLY && class == level;
  if (!sifted) { /* a constant partition without listed keys keeps none */
    bool kept = s->gathers && level != 0 && class != NAY_LIST_CONSTANT;
    return kept ? nay__list_records_add(records, r) : NAY_OK;
  }
  if (!s->filters) return NAY_OK;
  nay_list_sieve *sieve = &s->sieves[level - 1];
  if (sieve->nqueued == NAY_MAP_GROUP) NAY_TRY(stream_sift(sieve, records));
  sieve->queue[sieve->nqueued++] = *r;
  return NAY_OK;
}

nay_status nay__list_stream_flush(nay_list_stream *s, nay_list_records *records) {
  for (unsigned g = 0; g < NAY_LIST_MAX_GROUPS; g++) {
    NAY_TRY(stream_sift(&s->sieves[g], records));
  }
  return NAY_OK;
}
