/*
 * range_sort.c - see range_sort.h.
 *
 *   count    the locations of each part, a share of the locations that have equal top bits
 *   scatter  every location to its part, computed a second time: that is less than a pass over them
 *   sort     each part, which a cache holds, and drop duplicates
 *   write    each part: Elias-Fano's upper and low bits from its first value on
 *
 * Each step is a number of tasks that threads take. Two parts share a word of upper and one of low
 * bits at most: these are set by atomics.
 */
#include "build/range_sort.h"

#include "base/sort.h"
#include "os/thread.h"

#define RSORT_PART_LOG 4u       /* a part has about 2^4 locations, */
#define RSORT_MOST_PARTS_LOG 12 /* until there are 2^12 parts */

typedef struct rsort_job {
  const nay_range_source *source;
  nay_range_sorted *s;
  unsigned nchunks;  /* of the runs */
  uint64_t *cursors; /* of each chunk and part: the count, then where the next location goes */
  uint64_t next;     /* task */
  uint8_t *payload;
  nay_range_parts parts;
  uint32_t low_bits;
  bool shared; /* several threads write */
  /* records at repeated locations */
  const uint64_t *filter;
  unsigned filter_shift;
  uint64_t *hits, nhits;
} rsort_job;

/* ---- locations ---- */

NAY_INLINE uint64_t rsort_location(const nay_range_source *s, const uint64_t *record,
                                   unsigned width) {
  if (width == 1) {
    uint64_t number = record[0] * NAY_G64_INVERSE;
    return s->exact ? number - s->base : nay__range_place(&s->map, false, 0, number);
  }
  return nay__range_place(&s->map, true, record[0] - record[1] * NAY_G64, record[1]);
}

/* The runs of a chunk. */
static void rsort_chunk(const rsort_job *j, uint64_t chunk, size_t *from, size_t *to) {
  *from = (size_t)nay__part(j->source->nruns, (unsigned)chunk, j->nchunks);
  *to = (size_t)nay__part(j->source->nruns, (unsigned)chunk + 1, j->nchunks);
}

NAY_FLATTEN static void rsort_count_run(const nay_range_source *s, const nay_range_run *run,
                                        unsigned shift, uint64_t *counts) {
  for (size_t i = 0; i < run->n; i++) {
    counts[rsort_location(s, run->records + i * run->width, run->width) >> shift]++;
  }
}

static void rsort_count(void *ctx, unsigned worker) {
  (void)worker;
  rsort_job *j = ctx;
  uint64_t chunk;
  while ((chunk = nay__take(&j->next)) < j->nchunks) {
    size_t from, to;
    rsort_chunk(j, chunk, &from, &to);
    uint64_t *counts = j->cursors + chunk * j->s->nparts;
    for (size_t i = from; i < to; i++) {
      rsort_count_run(j->source, &j->source->runs[i], j->s->shift, counts);
    }
  }
}

NAY_FLATTEN static void rsort_scatter_run(const nay_range_source *s, const nay_range_run *run,
                                          unsigned shift, uint64_t *cursors, uint64_t *words) {
  for (size_t i = 0; i < run->n; i++) {
    uint64_t location = rsort_location(s, run->records + i * run->width, run->width);
    words[cursors[location >> shift]++] = location;
  }
}

static void rsort_scatter(void *ctx, unsigned worker) {
  (void)worker;
  rsort_job *j = ctx;
  uint64_t chunk;
  while ((chunk = nay__take(&j->next)) < j->nchunks) {
    size_t from, to;
    rsort_chunk(j, chunk, &from, &to);
    uint64_t *cursors = j->cursors + chunk * j->s->nparts;
    for (size_t i = from; i < to; i++) {
      rsort_scatter_run(j->source, &j->source->runs[i], j->s->shift, cursors, j->s->words);
    }
  }
}

/* ---- parts ---- */

static void rsort_repeat(nay_range_sorted *s, uint64_t location) {
  uint64_t at = nay__take(&s->nrepeats);
  if (at < s->repeats_cap) s->repeats[at] = location;
}

static void rsort_parts(void *ctx, unsigned worker) {
  (void)worker;
  rsort_job *j = ctx;
  nay_range_sorted *s = j->s;
  uint64_t part;
  while ((part = nay__take(&j->next)) < s->nparts) {
    uint64_t *a = s->words + s->first[part];
    size_t n = (size_t)(s->first[part + 1] - s->first[part]), kept = 0;
    nay__sort_u64(a, n);
    for (size_t i = 0; i < n; i++) {
      if (kept != 0 && a[i] == a[kept - 1]) {
        rsort_repeat(s, a[i]);
      } else {
        a[kept++] = a[i];
      }
    }
    s->kept[part] = kept;
  }
}

static void rsort_run(rsort_job *j, unsigned nthreads, void (*work)(void *, unsigned)) {
  j->next = 0;
  nay__parallel(nthreads, work, j);
}

static unsigned rsort_nparts_log(size_t n) {
  unsigned log = n >> RSORT_PART_LOG == 0 ? 0 : nay__log2_64(n >> RSORT_PART_LOG) + 1;
  return log < RSORT_MOST_PARTS_LOG ? log : RSORT_MOST_PARTS_LOG;
}

/* Where every chunk writes its locations of every part. */
static void rsort_place(rsort_job *j) {
  nay_range_sorted *s = j->s;
  uint64_t at = 0;
  for (unsigned part = 0; part < s->nparts; part++) {
    s->first[part] = at;
    for (unsigned chunk = 0; chunk < j->nchunks; chunk++) {
      uint64_t *cursor = j->cursors + (size_t)chunk * s->nparts + part, n = *cursor;
      *cursor = at;
      at += n;
    }
  }
  s->first[s->nparts] = at;
}

nay_status nay__range_sort(const nay_range_source *source, unsigned nthreads,
                           const nay_allocator *allocator, nay_range_sorted *s) {
  unsigned log = rsort_nparts_log(source->nrecords), bits = nay__log2_64(source->last | 1) + 1;
  s->shift = bits > log ? bits - log : 0;
  s->nparts = (unsigned)(source->last >> s->shift) + 1;
  size_t words = (size_t)s->nparts * (2 + nthreads) + 1;
  s->tables_bytes = words * sizeof(uint64_t);
  s->tables = nay__alloc(allocator, s->tables_bytes);
  if (s->tables == NULL) return NAY_ENOMEM;
  memset(s->tables, 0, s->tables_bytes);
  s->first = s->tables;
  s->kept = s->first + s->nparts + 1;
  s->nrepeats = 0;
  rsort_job j = {.source = source, .s = s, .nchunks = nthreads, .cursors = s->kept + s->nparts};
  rsort_run(&j, nthreads, rsort_count);
  rsort_place(&j);
  rsort_run(&j, nthreads, rsort_scatter);
  rsort_run(&j, nthreads, rsort_parts);
  s->nvalues = 0;
  for (unsigned part = 0; part < s->nparts; part++) s->nvalues += s->kept[part];
  return NAY_OK;
}

void nay__range_sorted_clear(const nay_allocator *allocator, nay_range_sorted *s) {
  nay__free(allocator, s->tables, s->tables_bytes);
  s->tables = NULL;
}

/* ---- writing ---- */

/* Sets bits of a word, which may be another thread's as well. */
static void rsort_set(uint8_t *words, uint64_t i, uint64_t word, bool shared) {
  uint8_t *at = words + i * 8;
  if (!shared) {
    nay__store64le(at, nay__load64le(at) | word);
    return;
  }
  for (unsigned byte = 0; byte < 8; byte++, word >>= 8) {
    if ((word & 0xff) != 0) (void)nay__atomic_or8(at + byte, (uint8_t)word);
  }
}

/* n > 0 values, the first of which is number `first`. */
static void rsort_write(const rsort_job *j, const uint64_t *values, size_t n, uint64_t first) {
  uint8_t *upper = j->payload + j->parts.upper, *low = j->payload + j->parts.low;
  unsigned bits = j->low_bits, fill = (unsigned)(first * bits & 63);
  uint64_t mask = ((uint64_t)1 << bits) - 1, low_word = 0, upper_word = 0;
  uint64_t low_at = first * bits >> 6, upper_at = ((values[0] >> bits) + first) >> 6;
  bool low_shared = j->shared, upper_shared = j->shared;
  for (size_t i = 0; i < n; i++) {
    uint64_t at = (values[i] >> bits) + first + i, x = values[i] & mask;
    if (at >> 6 != upper_at) {
      rsort_set(upper, upper_at, upper_word, upper_shared);
      upper_shared = false; /* the words between the first and the last are of this part alone */
      upper_at = at >> 6;
      upper_word = 0;
    }
    upper_word |= (uint64_t)1 << (at & 63);
    low_word |= x << fill;
    fill += bits;
    if (fill >= 64) {
      rsort_set(low, low_at++, low_word, low_shared);
      low_shared = false;
      fill -= 64;
      low_word = x >> (bits - fill);
    }
  }
  rsort_set(upper, upper_at, upper_word, j->shared);
  rsort_set(low, low_at, low_word, j->shared);
}

static void rsort_writes(void *ctx, unsigned worker) {
  (void)worker;
  rsort_job *j = ctx;
  nay_range_sorted *s = j->s;
  uint64_t part;
  while ((part = nay__take(&j->next)) < s->nparts) {
    uint64_t first = s->kept[part];
    uint64_t end = part + 1 < s->nparts ? s->kept[part + 1] : s->nvalues;
    if (end > first) rsort_write(j, s->words + s->first[part], (size_t)(end - first), first);
  }
}

void nay__range_sorted_write(nay_range_sorted *s, unsigned nthreads, uint8_t *payload) {
  rsort_job j = {.s = s, .payload = payload, .shared = nthreads > 1};
  nay_range_head head;
  nay__range_head_load(payload, &head);
  nay__range_layout(&head, &j.parts);
  j.low_bits = head.low_bits;
  uint64_t first = 0;
  for (unsigned part = 0; part < s->nparts; part++) {
    uint64_t n = s->kept[part];
    s->kept[part] = first;
    first += n;
  }
  rsort_run(&j, nthreads, rsort_writes);
  (void)nay__range_counts(payload, &j.parts, payload);
}

/* ---- equal records ---- */

#define RSORT_FILTER_LOG 6u /* bits of the filter for each repeated location: 2^6 */

static bool rsort_has(const uint64_t *sorted, size_t n, uint64_t value) {
  size_t a = 0, b = n;
  while (a < b) {
    size_t middle = a + (b - a) / 2;
    if (sorted[middle] < value) {
      a = middle + 1;
    } else {
      b = middle;
    }
  }
  return a < n && sorted[a] == value;
}

NAY_FLATTEN static void rsort_match_run(rsort_job *j, const nay_range_run *run) {
  const nay_range_sorted *s = j->s;
  for (size_t i = 0; i < run->n; i++) {
    const uint64_t *record = run->records + i * run->width;
    uint64_t location = rsort_location(j->source, record, run->width);
    uint64_t bit = location * NAY_G64 >> j->filter_shift;
    if (NAY_LIKELY((j->filter[bit / 64] >> bit % 64 & 1) == 0)) continue;
    if (rsort_has(s->repeats, (size_t)s->nrepeats, location))
      j->hits[nay__take(&j->nhits)] = record[0];
  }
}

static void rsort_match(void *ctx, unsigned worker) {
  (void)worker;
  rsort_job *j = ctx;
  uint64_t run;
  while ((run = nay__take(&j->next)) < j->source->nruns) rsort_match_run(j, &j->source->runs[run]);
}

nay_status nay__range_equal_records(const nay_range_source *source, nay_range_sorted *s,
                                    unsigned nthreads, const nay_allocator *allocator,
                                    uint64_t *nequal) {
  uint64_t more = s->nrepeats; /* records beyond the first at their location */
  nay__sort_u64(s->repeats, (size_t)s->nrepeats);
  s->nrepeats = nay__unique_u64(s->repeats, (size_t)s->nrepeats);
  unsigned log = nay__log2_64(s->nrepeats) + 1 + RSORT_FILTER_LOG;
  size_t filter_words = (size_t)1 << (log - 6), nhits = (size_t)(more + s->nrepeats);
  size_t bytes = (filter_words + nhits) * sizeof(uint64_t);
  uint64_t *filter = nay__alloc(allocator, bytes);
  if (filter == NULL) return NAY_ENOMEM;
  memset(filter, 0, filter_words * sizeof *filter);
  for (uint64_t i = 0; i < s->nrepeats; i++) {
    uint64_t bit = s->repeats[i] * NAY_G64 >> (64 - log);
    filter[bit / 64] |= (uint64_t)1 << bit % 64;
  }
  rsort_job j = {.source = source,
                 .s = s,
                 .filter = filter,
                 .filter_shift = 64 - log,
                 .hits = filter + filter_words};
  rsort_run(&j, nthreads, rsort_match);
  nay__sort_u64(j.hits, (size_t)j.nhits);
  *nequal = j.nhits - nay__unique_u64(j.hits, (size_t)j.nhits);
  nay__free(allocator, filter, bytes);
  return NAY_OK;
}
