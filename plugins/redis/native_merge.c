/*
 * native_merge.c - NAY.MERGE: the union of filters, without their keys.
 *
 * All or nothing: a single source is merged in place, which the library does completely or not at
 * all; several are merged into a copy of the destination, which then replaces it. A destination
 * keeps its size: larger filters are folded to it where possible; others are refused with the
 * reason and the number of the source.
 */
#include <stdio.h>

#include "native.h"
#include "reply.h"

/* A union with a higher FPR is useless. */
#define MERGE_MAX_RATE 0.5

static bool hash_alike(const nay_filter *a, const nay_filter *b) {
  nay_hasher x = {.size = sizeof x}, y = {.size = sizeof y};
  return nay_filter_hasher(a, &x) == NAY_OK && nay_filter_hasher(b, &y) == NAY_OK &&
         nay_hasher_same(&x, &y);
}

/* Whether src cannot be merged into dst; writes the reason. */
static bool differs(const nay_filter *dst, const nay_filter *src, char *why, size_t size) {
  nay_kind kind = nay_filter_kind(dst), other = nay_filter_kind(src);
  nay_params d = {.size = sizeof d}, s = {.size = sizeof s};
  if ((nay_kind_traits(other) & NAY_CAN_MERGE) == 0) {
    snprintf(why, size, "a %s filter does not merge", nay_kind_name(other));
  } else if (kind != other) {
    snprintf(why, size, "it is a %s filter, not a %s filter", nay_kind_name(other),
             nay_kind_name(kind));
  } else if (!nay_key_description_same(nay_filter_key(dst), nay_filter_key(src))) {
    snprintf(why, size, "its keys are of type %s, not %s", nay_filter_key(src),
             nay_filter_key(dst));
  } else if (!hash_alike(dst, src)) {
    snprintf(why, size, "its hash, seed or secret key differs: create filters with LIKE");
  } else if (nay_filter_params(dst, &d) != NAY_OK || nay_filter_params(src, &s) != NAY_OK) {
    snprintf(why, size, "it cannot be compared");
  } else if (d.k != s.k) {
    snprintf(why, size, "it has %u probes per key, not %u", s.k, d.k);
  } else if (d.nbits != 0 && s.nbits % d.nbits != 0) {
    snprintf(why, size, "its %llu bits are no multiple of %llu", (unsigned long long)s.nbits,
             (unsigned long long)d.nbits);
  } else {
    return false;
  }
  return true;
}

typedef struct merge {
  redis_ctx *ctx;
  module_key *keys; /* of the destination, then of the sources */
  int nkeys;
  nay_filter *target; /* merged into: the filter of the destination, or `made` */
  nay_filter *made;   /* ours until it is in place; NULL when none is needed */
  int nother;         /* sources other than the destination */
} merge;

static const native_value *merge_value(const merge *m, int i) { return m->keys[i].value; }

/* Whether source i is the destination itself. */
static bool merge_is_same(const merge *m, int i) { return m->keys[i].value == m->keys[0].value; }

/* Opens all keys. False: the client has received an error. */
static bool merge_open(merge *m, redis_string **names) {
  for (int i = 0; i < m->nkeys; i++) {
    int mode = i == 0 ? REDIS_READ | REDIS_WRITE : REDIS_READ;
    key_state state = key_open(m->ctx, names[i], mode, native_type, &m->keys[i]);
    if (state == KEY_OTHER) {
      reply_error(m->ctx, ERROR_WRONGTYPE);
    } else if (state == KEY_OURS && merge_value(m, i)->filter == NULL) {
      reply_error(m->ctx, ERROR_LOADING);
    } else if (state == KEY_MISSING && i > 0) {
      reply_errorf(m->ctx, "ERR source %d: no such key", i);
    } else {
      continue;
    }
    return false;
  }
  return true;
}

/* Chooses the target; *first is the first source that it does not contain yet. */
static nay_status merge_begin(merge *m, int *first) {
  nay_allocator a = native_allocator();
  const native_value *dst = merge_value(m, 0);
  *first = 1;
  if (dst != NULL && m->nkeys == 2) {
    m->target = dst->filter;
    return NAY_OK;
  }
  const nay_filter *start = dst != NULL ? dst->filter : merge_value(m, 1)->filter;
  nay_status status = nay_filter_copy(start, &a, NULL, &m->made);
  m->target = m->made;
  return status;
}

static bool merge_all(merge *m, int first) {
  char why[192];
  for (int i = first; i < m->nkeys; i++) {
    const nay_filter *src = merge_value(m, i)->filter;
    if (differs(m->target, src, why, sizeof why)) {
      reply_errorf(m->ctx, "ERR source %d: %s", i, why);
      return false;
    }
    if (merge_is_same(m, i)) continue; /* a filter is its union with itself */
    m->nother++;
    if (i == 1 && m->keys[0].value == NULL) continue; /* the target is a copy of it */
    nay_status status = nay_filter_merge(m->target, src, MERGE_MAX_RATE, NULL);
    if (status == NAY_EFULL) {
      reply_errorf(m->ctx, "ERR source %d: the union would exceed MEMORY or an FPR of 0.5", i);
    } else if (status != NAY_OK) {
      native_reply_status(m->ctx, status, NULL);
    }
    if (status != NAY_OK) return false;
  }
  return true;
}

/* Replaces the destination by the merged copy. The hash is the same, so the extras apply too. */
static bool merge_end(merge *m) {
  if (m->made == NULL || m->nother == 0) return true;
  native_value *dst = m->keys[0].value;
  const native_value *from = dst != NULL ? dst : merge_value(m, 1);
  native_extras extras = from->extras;
  if (dst != NULL) {
    if (native_value_adopt(dst, m->made, &extras) != NULL) return false;
  } else {
    dst = native_value_new(m->made, &extras);
    if (dst == NULL) return false;
    redis.ModuleTypeSetValue(m->keys[0].handle, native_type, dst);
  }
  m->made = NULL;
  return true;
}

int native_merge_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  merge m = {.ctx = ctx, .nkeys = argc - 1};
  int first;
  m.keys = redis.Calloc((size_t)m.nkeys, sizeof *m.keys);
  bool ok = merge_open(&m, argv + 1);
  if (ok) {
    nay_status status = merge_begin(&m, &first);
    ok = status == NAY_OK;
    if (!ok) native_reply_status(ctx, status, NULL);
  }
  ok = ok && merge_all(&m, first);
  if (ok && !merge_end(&m)) {
    ok = false;
    reply_error(ctx, memory_error(ERROR_NO_MEMORY));
  }
  nay_filter_free(m.made);
  for (int i = 0; i < m.nkeys; i++) key_close(&m.keys[i]);
  redis.Free(m.keys);
  if (!ok) return REDIS_OK;
  if (m.nother != 0) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "nay.merge", argv[1]);
  }
  return reply_ok(ctx);
}
