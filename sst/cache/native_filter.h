/*
 * native_filter.h - a decoded native filter of a table, with its hash function and its probe
 * function looked up once, when the filter is decoded.
 */
#ifndef NAY_SST_CACHE_NATIVE_FILTER_H
#define NAY_SST_CACHE_NATIVE_FILTER_H

#include "base/base.h"
#include "base/compiler.h"
#include "nay_format.h"

typedef struct nay_native_filter {
  nay_filter *filter; /* NULL: none */
  nay_probe probe;    /* `ask` NULL: the hash has two words */
  nay_hasher hasher;
} nay_native_filter;

/* nay_sst__native_filter_of: takes ownership of the filter; NULL: no filter. */
static inline nay_native_filter nay_sst__native_filter_of(nay_filter *filter) {
  nay_native_filter n = {.filter = filter, .hasher = {.size = sizeof n.hasher}};
  if (filter == NULL) return n;
  (void)nay_filter_hasher(filter, &n.hasher);
  if (nay_filter_probe(filter, &n.probe) != NAY_OK) n.probe.ask = NULL;
  return n;
}

/* nay_sst__filter_nbits: bits of the payload. 0: the filter would answer nay for every key. */
static inline uint64_t nay_sst__filter_nbits(const nay_filter *filter) {
  nay_plan plan = {.size = sizeof plan};
  (void)nay_filter_plan(filter, 0, NULL, &plan);
  return plan.nbits;
}

NAY_INLINE bool nay_sst__native_filter_may_contain(const nay_native_filter *n, nay_hash hash) {
  return NAY_LIKELY(n->probe.ask != NULL) ? n->probe.ask(n->probe.state, hash.lo)
                                          : nay_filter_may_contain_hash(n->filter, hash);
}

#endif /* NAY_SST_CACHE_NATIVE_FILTER_H */
