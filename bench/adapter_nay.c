/*
 * adapter_nay.c - every family of the library, through its public header only.
 *
 * The list comes from the library's registry, so a new family is timed without a change here.
 * nay_wanted chooses parameters that match those of the peers.
 */
#include <nay_advanced.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define NAY_CHUNK ((size_t)4096) /* keys in one call of the batch interface */

/*
 * The parameters of a family's peers: RocksDB's full filter has 10 bits per key,
 * LevelDB's policy 10 bits and 6 probes; static filters and cuckoo filters store fingerprints of 8
 * and 12 bits; the rest aim at 1%.
 */
static nay_params nay_wanted(nay_kind kind, uint64_t nkeys) {
  nay_params p = {sizeof p, .kind = kind, .nkeys = nkeys};
  switch (kind) {
    case NAY_BLOCKED: p.bits_per_key = 10; break;
    case NAY_BLOOM:
      p.bits_per_key = 10;
      p.k = 6;
      break;
    case NAY_XOR:
    case NAY_FUSE: p.fpr = 1.0 / 256; break;
    case NAY_CUCKOO: p.fpr = 0.002; break;
    case NAY_SCALABLE:
      p.nkeys = nkeys / 16 + 1;
      p.fpr = 0.01;
      break; /* it must grow */
    default: p.fpr = 0.01; break;
  }
  return p;
}

/* ---- building ---- */

static nay_filter *nay_new(const bench_adapter *a, const bench_keys *keys) {
  nay_params p = nay_wanted((nay_kind)a->setting, keys->n);
  nay_filter *f = NULL;
  return nay_filter_new(&p, NULL, NULL, &f) == NAY_OK ? f : NULL;
}

static nay_filter *nay_kept_if(nay_status status, nay_filter *f) {
  if (status == NAY_OK) return f;
  nay_filter_free(f);
  return NULL;
}

/* One key per call, as for peers with a builder. */
static void *nay_build_key_by_key(const nay_params *p, const bench_keys *keys) {
  nay_builder *builder;
  nay_filter *f = NULL;
  if (nay_builder_new(p, NULL, NULL, &builder) != NAY_OK) return NULL;
  nay_status status = NAY_OK;
  for (size_t i = 0; keys->strings != NULL && i < keys->n && status == NAY_OK; i++) {
    status = nay_builder_add(builder, keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN);
  }
  for (size_t i = 0; keys->strings == NULL && i < keys->n && status == NAY_OK; i++) {
    status = nay_builder_add_hash(builder, (nay_hash){keys->hashes[i], 0});
  }
  if (status == NAY_OK) status = nay_builder_finish(builder, NULL, &f);
  nay_builder_free(builder);
  return nay_kept_if(status, f);
}

static void *nay_build(const bench_adapter *a, const bench_keys *keys) {
  nay_params p = nay_wanted((nay_kind)a->setting, keys->n);
  bool adds = (nay_kind_traits(p.kind) & NAY_CAN_ADD) != 0;
  if (keys->strings != NULL || adds) return nay_build_key_by_key(&p, keys);
  nay_filter *f = NULL;
  return nay_filter_build(&p, keys->hashes, keys->n, NULL, NULL, &f) == NAY_OK ? f : NULL;
}

static void *nay_add(const bench_adapter *a, const bench_keys *keys) {
  nay_filter *f = nay_new(a, keys);
  if (f == NULL) return NULL;
  nay_status status = NAY_OK;
  if (keys->strings != NULL) {
    for (size_t i = 0; i < keys->n && status == NAY_OK; i++) {
      status = nay_filter_add(f, keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN, NULL);
    }
  } else {
    for (size_t i = 0; i < keys->n && status == NAY_OK; i++) {
      status = nay_filter_add_hash(f, (nay_hash){keys->hashes[i], 0}, NULL);
    }
  }
  return nay_kept_if(status, f);
}

/* Pointers and lengths for a chunk of strings: what a caller has at hand. */
typedef struct nay_chunk {
  const void *keys[NAY_CHUNK];
  size_t lens[NAY_CHUNK];
} nay_chunk;

static void nay_chunk_init(nay_chunk *c) {
  for (size_t i = 0; i < NAY_CHUNK; i++) c->lens[i] = BENCH_KEY_LEN;
}

static size_t nay_chunk_fill(nay_chunk *c, const bench_keys *keys, size_t from) {
  size_t n = keys->n - from < NAY_CHUNK ? keys->n - from : NAY_CHUNK;
  for (size_t i = 0; i < n; i++) c->keys[i] = keys->strings + (from + i) * BENCH_KEY_LEN;
  return n;
}

static void *nay_add_batch(const bench_adapter *a, const bench_keys *keys) {
  nay_filter *f = nay_new(a, keys);
  if (f == NULL) return NULL;
  if (keys->strings == NULL) {
    return nay_kept_if(nay_filter_add_hash_many(f, keys->hashes, NULL, keys->n, NULL, NULL), f);
  }
  nay_chunk chunk;
  nay_chunk_init(&chunk);
  nay_status status = NAY_OK;
  for (size_t i = 0; i < keys->n && status == NAY_OK; i += NAY_CHUNK) {
    size_t n = nay_chunk_fill(&chunk, keys, i);
    status = nay_filter_add_many(f, chunk.keys, chunk.lens, n, NULL, NULL);
  }
  return nay_kept_if(status, f);
}

/* ---- probing ---- */

static size_t nay_probe_single(const void *filter, const bench_keys *keys) {
  const nay_filter *f = filter;
  size_t maybe = 0;
  if (keys->strings != NULL) {
    for (size_t i = 0; i < keys->n; i++) {
      maybe += nay_filter_may_contain(f, keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN);
    }
  } else {
    for (size_t i = 0; i < keys->n; i++) {
      maybe += nay_filter_may_contain_hash(f, (nay_hash){keys->hashes[i], 0});
    }
  }
  return maybe;
}

static size_t nay_probe_alone(const void *filter, const bench_keys *keys) {
  const nay_filter *f = filter;
  size_t maybe = 0;
  for (size_t i = 0; i < keys->n;) {
    bool answer = keys->strings != NULL
                      ? nay_filter_may_contain(f, keys->strings + i * BENCH_KEY_LEN, BENCH_KEY_LEN)
                      : nay_filter_may_contain_hash(f, (nay_hash){keys->hashes[i], 0});
    maybe += answer;
    i = bench_next(i, answer);
  }
  return maybe;
}

static size_t nay_count(const uint64_t *bitmap, size_t n) {
  size_t maybe = 0;
  for (size_t i = 0; i < (n + 63) / 64; i++) maybe += (size_t)__builtin_popcountll(bitmap[i]);
  return maybe;
}

static size_t nay_probe_batch(const void *filter, const bench_keys *keys) {
  uint64_t bitmap[NAY_CHUNK / 64];
  nay_chunk chunk;
  size_t maybe = 0;
  if (keys->strings != NULL) nay_chunk_init(&chunk);
  for (size_t i = 0; i < keys->n; i += NAY_CHUNK) {
    size_t n = keys->n - i < NAY_CHUNK ? keys->n - i : NAY_CHUNK;
    nay_status status;
    if (keys->strings != NULL) {
      nay_chunk_fill(&chunk, keys, i);
      status = nay_filter_may_contain_many(filter, chunk.keys, chunk.lens, n, bitmap);
    } else {
      status = nay_filter_may_contain_hash_many(filter, keys->hashes + i, NULL, n, bitmap);
    }
    if (status != NAY_OK) return 0; /* the runner compares with single probes, and objects */
    maybe += nay_count(bitmap, n);
  }
  return maybe;
}

static uint64_t nay_nbytes(const void *filter) {
  nay_stats stats = {.size = sizeof stats};
  return nay_filter_stats(filter, &stats) == NAY_OK ? stats.nbytes : 0;
}

static void nay_release(void *filter) { nay_filter_free(filter); }

size_t bench_nay_adapters(bench_adapter out[], size_t cap) {
  size_t n = 0;
  for (int kind = 1; kind < 64 && n < cap; kind++) {
    const char *name = nay_kind_name((nay_kind)kind);
    uint32_t traits = nay_kind_traits((nay_kind)kind);
    if (name == NULL || (traits & (NAY_CAN_GET | NAY_CAN_RANGE)) != 0) continue;
    bool adds = (traits & NAY_CAN_ADD) != 0;
    out[n++] = (bench_adapter){.library = "nay",
                               .version = nay_version(),
                               .name = name,
                               .family = name,
                               .takes_hashes = true,
                               .takes_strings = true,
                               .setting = (uint64_t)kind,
                               .build = nay_build,
                               .add = adds ? nay_add : NULL,
                               .add_batch = adds ? nay_add_batch : NULL,
                               .probe = nay_probe_single,
                               .probe_batch = nay_probe_batch,
                               .probe_alone = nay_probe_alone,
                               .nbytes = nay_nbytes,
                               .free = nay_release};
    if (n < cap && bench_nay_inline(&out[n - 1], &out[n])) n++;
  }
  return n;
}
