/*
 * filter_explain.c - nay_filter_explain: as filter.c answers a query, with the family's `explain`
 * in place of its `test`. What filter.c decides before it calls the family is a reason here.
 */
#include "base/abi.h"
#include "family/explain.h"
#include "filter.h"

#define EXPLAIN_ABI NAY_ABI(nay_explanation, payload_nbytes)

static const char *explain_reason_text(nay_explain_reason reason) {
  switch (reason) {
    case NAY_REASON_NO_MATCH: return "the bits that this key would have are not all there";
    case NAY_REASON_MATCH: return "all that the filter stores of this key is there";
    case NAY_REASON_NO_KEYS: return "the filter, or the key's part of it, holds no keys";
    case NAY_REASON_NO_ANSWER: return "the filter, or the key's part of it, cannot exclude any key";
    case NAY_REASON_LOCKED: return "the secret key is missing: the key cannot be hashed";
    case NAY_REASON_NO_HASH: return "the filter does not hash keys: its caller does";
    case NAY_REASON_DAMAGED: return "bytes that the probe needs are damaged";
  }
  return "";
}

static nay_status explain_deliver(nay_explanation *what, nay_explanation *to) {
  what->reason_text = explain_reason_text(what->reason);
  nay__abi_write(EXPLAIN_ABI, what, to);
  return NAY_OK;
}

static nay_status explain_check(const nay_filter *f, const nay_explanation *to) {
  if (f == NULL || to == NULL) return NAY_EINVAL;
  return nay__abi_check(EXPLAIN_ABI, to, NULL);
}

static nay_explanation explain_begin(const nay_filter *f) {
  bool seeded = f->hasher.kind == NAY_HASH_XXH3 || f->hasher.kind == NAY_HASH_CALLER;
  return (nay_explanation){.hash_kind = f->hasher.kind,
                           .seed = seeded ? f->hasher.seed : 0,
                           .nshards = 1,
                           .payload = f->bits.bytes,
                           .payload_nbytes = f->nbytes};
}

static nay_status explain_unread(nay_explanation what, nay_explain_reason reason,
                                 nay_explanation *to) {
  what.maybe = true;
  what.reason = reason;
  return explain_deliver(&what, to);
}

/* The reason, from the steps. */
static nay_status explain_end(nay_explain_run *run, nay_explanation *explanation) {
  nay_explanation *what = &run->what;
  if (run->status != NAY_OK) return run->status;
  if (what->maybe) {
    what->reason = run->constant_match ? NAY_REASON_NO_ANSWER : NAY_REASON_MATCH;
  } else {
    what->reason = run->only_constants ? NAY_REASON_NO_KEYS : NAY_REASON_NO_MATCH;
    what->group = what->ngroups;
  }
  return explain_deliver(what, explanation);
}

nay_status nay__filter_explain_hash(const nay_filter *f, nay_hash hash, nay_explain_visitor visit,
                                    void *ctx, nay_explanation *explanation) {
  NAY_TRY(explain_check(f, explanation));
  nay_explain_run run = {
      .visit = visit, .ctx = ctx, .what = explain_begin(f), .only_constants = true};
  run.what.hash = hash;
  if (f->family->explain_key != NULL) {
    return explain_unread(run.what, NAY_REASON_NO_HASH, explanation);
  }
  run.what.word = hash.lo;
  if (f->lazy != NULL && !nay__filter_probe_verified(f, hash)) {
    return explain_unread(run.what, NAY_REASON_DAMAGED, explanation);
  }
  f->family->explain(f, hash, &run);
  return explain_end(&run, explanation);
}

/* A family that needs the key itself. It has no lazy maps. */
static nay_status explain_key(const nay_filter *f, const void *key, size_t len,
                              nay_explain_visitor visit, void *ctx, nay_explanation *explanation) {
  nay_explain_run run = {
      .visit = visit, .ctx = ctx, .what = explain_begin(f), .only_constants = true};
  if (f->family->explain_key != NULL) {
    f->family->explain_key(f, nay__key_bytes(key), len, &run);
  } else {
    f->family->order->explain(f, key, len, &run);
  }
  return explain_end(&run, explanation);
}

nay_status nay_filter_explain(const nay_filter *f, const void *key, size_t len,
                              nay_explain_visitor visit, void *ctx, nay_explanation *explanation) {
  NAY_TRY(explain_check(f, explanation));
  if (key == NULL && len != 0) return NAY_EINVAL;
  if (f->family->explain_key != NULL) return explain_key(f, key, len, visit, ctx, explanation);
  nay_status status = nay__hasher_ready(&f->hasher);
  if (status == NAY_EKEY || status == NAY_ENOTSUP) {
    return explain_unread(explain_begin(f),
                          status == NAY_EKEY ? NAY_REASON_LOCKED : NAY_REASON_NO_HASH, explanation);
  }
  if (f->family->order != NULL) return explain_key(f, key, len, visit, ctx, explanation);
  return nay__filter_explain_hash(f, nay__hash_key(&f->hasher, key, len), visit, ctx, explanation);
}
