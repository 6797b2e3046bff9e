/* measure.c - see measure.h. */
#include "measure.h"

#include <stdlib.h>

#include "progress.h"

#define MEASURE_BATCH 1024u

typedef struct key_set {
  uint64_t (*bytes)[2];
  const void **keys;
  size_t *lens;
  size_t n;
} key_set;

/* Key i of set `salt`: both words are bijections of i, so sets with other salts share no key. */
static key_set keys_new(size_t n, uint64_t salt) {
  key_set s = {must_alloc(n * 16), must_alloc(n * sizeof(void *)), must_alloc(n * sizeof(size_t)),
               n};
  for (size_t i = 0; i < n; i++) {
    s.bytes[i][0] = nay_hash_mix(i);
    s.bytes[i][1] = salt;
    s.keys[i] = s.bytes[i];
    s.lens[i] = 16;
  }
  return s;
}

static void keys_free(key_set *s) {
  free(s->bytes);
  free(s->keys);
  free(s->lens);
}

/* A filter to add to; NAY_ENOTSUP: the family or the layout must be built. */
static nay_status measure_new(const nay_format *format, const nay_params *p, nay_diag *diag,
                              nay_filter **f) {
  if (format != NULL) return nay_format_new(format, p, NULL, diag, f);
  if ((nay_kind_traits(p->kind) & NAY_CAN_ADD) == 0) return NAY_ENOTSUP;
  return nay_filter_new(p, NULL, diag, f);
}

static nay_status measure_build(const nay_format *format, const nay_params *p, const key_set *s,
                                nay_diag *diag, nay_filter **f) {
  nay_status status = measure_new(format, p, diag, f);
  if (status == NAY_OK) {
    status = nay_filter_add_many(*f, s->keys, s->lens, s->n, NULL, NULL);
    if (status != NAY_OK) nay_filter_free(*f);
    return status;
  }
  if (status != NAY_ENOTSUP) return status;
  nay_builder *b;
  status = format != NULL ? nay_format_builder_new(format, p, NULL, diag, &b)
                          : nay_builder_new(p, NULL, diag, &b);
  if (status != NAY_OK) return status;
  for (size_t i = 0; i < s->n && status == NAY_OK; i++) {
    status = nay_builder_add(b, s->keys[i], s->lens[i]);
  }
  if (status == NAY_OK) status = nay_builder_finish(b, diag, f);
  nay_builder_free(b);
  return status;
}

static uint64_t measure_batches(const nay_filter *f, const key_set *s) {
  uint64_t bitmap[MEASURE_BATCH / 64], hits = 0;
  for (size_t i = 0; i < s->n; i += MEASURE_BATCH) {
    size_t n = s->n - i < MEASURE_BATCH ? s->n - i : MEASURE_BATCH;
    nay_filter_may_contain_many(f, s->keys + i, s->lens + i, n, bitmap);
    for (size_t w = 0; w < (n + 63) / 64; w++) hits += (uint64_t)__builtin_popcountll(bitmap[w]);
  }
  return hits;
}

static uint64_t measure_ones(const nay_filter *f, const key_set *s) {
  uint64_t hits = 0;
  for (size_t i = 0; i < s->n; i++) hits += nay_filter_may_contain(f, s->keys[i], s->lens[i]);
  return hits;
}

/* The best time per key of repeated runs that last `seconds` together. */
static double measure_time(uint64_t (*run)(const nay_filter *, const key_set *),
                           const nay_filter *f, const key_set *s, double seconds, uint64_t *hits) {
  double best = 1e300, until = now_seconds() + seconds;
  do {
    double start = now_seconds();
    *hits = run(f, s);
    double took = now_seconds() - start;
    if (took < best) best = took;
  } while (now_seconds() < until);
  return best * 1e9 / (double)s->n;
}

nay_status measure_filter(const nay_format *format, const nay_params *params, double seconds,
                          nay_diag *diag, measurement *m) {
  m->plan = (nay_plan){.size = sizeof m->plan};
  nay_status status = format != NULL ? nay_format_plan(format, params, diag, &m->plan)
                                     : nay_params_plan(params, diag, &m->plan);
  if (status != NAY_OK) return status;
  size_t n = (size_t)params->nkeys;
  key_set present = keys_new(n, 1), absent = keys_new(n < 100000 ? 100000 : n, 2);
  nay_filter *f = NULL;
  double until = now_seconds() + seconds, best = 1e300;
  do {
    double start = now_seconds();
    nay_filter_free(f);
    f = NULL;
    status = measure_build(format, params, &present, diag, &f);
    double took = now_seconds() - start;
    if (took < best) best = took;
  } while (status == NAY_OK && now_seconds() < until);
  if (status == NAY_OK) {
    uint64_t hits;
    m->build_ns = best * 1e9 / (double)n;
    m->hit_ns = measure_time(measure_batches, f, &present, seconds, &hits);
    m->one_ns = measure_time(measure_ones, f, &absent, seconds, &hits);
    m->miss_ns = measure_time(measure_batches, f, &absent, seconds, &hits);
    m->nabsent = absent.n;
    m->fpr = interval_of(hits, absent.n, Z_95);
    nay_filter_free(f);
  }
  keys_free(&present);
  keys_free(&absent);
  return status;
}

nay_status measure_fpr(const nay_format *format, const nay_params *params, size_t nabsent,
                       uint64_t *nmaybes) {
  nay_filter *f = NULL;
  key_set present = keys_new((size_t)params->nkeys, 1);
  nay_status status = measure_build(format, params, &present, NULL, &f);
  keys_free(&present);
  if (status != NAY_OK) return status;
  key_set absent = keys_new(nabsent, 2);
  *nmaybes = measure_batches(f, &absent);
  keys_free(&absent);
  nay_filter_free(f);
  return NAY_OK;
}
