/* maker.c - see maker.h. */
#include "maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "filterfile.h"
#include "numbers.h"

bool can_add(nay_kind kind) {
  return kind == NAY_AUTO || (nay_kind_traits(kind) & NAY_CAN_ADD) != 0;
}

_Noreturn static void make_failed(nay_status status, const nay_diag *diag) {
  char why[DIAG_TEXT];
  die(EXIT_TROUBLE, "cannot build this filter: %s", diag_text(status, diag, why));
}

_Noreturn static void make_no_memory(const nay_format *format, const nay_params *params) {
  nay_plan plan = {.size = sizeof plan};
  char size[NUMBER_TEXT];
  if (nay_format_plan(format, params, NULL, &plan) != NAY_OK) make_failed(NAY_ENOMEM, NULL);
  die(EXIT_TROUBLE, "cannot build this filter: no memory for its %s", size_text(plan.nbytes, size));
}

nay_filter *new_filter(const nay_format *format, const nay_params *params) {
  nay_diag diag = {.what = NULL};
  nay_filter *f;
  if (format == NULL) format = nay_format_find("nay");
  nay_status status = nay_format_new(format, params, NULL, &diag, &f);
  if (status == NAY_ENOMEM) make_no_memory(format, params);
  if (status != NAY_OK) make_failed(status, &diag);
  return f;
}

/* A file stores the rate as a float at best. */
static bool same_rate(double a, double b) { return fabs(a - b) <= 1e-6 * fmax(a, b); }

bool same_plan(const size_options *size, double default_fpr, const nay_params *is) {
  nay_params p = size_params(size, NULL, default_fpr);
  nay_plan asked = {.size = sizeof asked}, has = {.size = sizeof has};
  p.kind = is->kind;
  p.nkeys = is->nkeys;
  p.max_nkeys = is->max_nkeys;
  p.window = is->window;
  return nay_params_plan(&p, NULL, &asked) == NAY_OK && nay_params_plan(is, NULL, &has) == NAY_OK &&
         asked.nbytes == has.nbytes && same_rate(asked.fpr, has.fpr) &&
         same_rate(asked.fpr_limit, has.fpr_limit);
}

/* A filter grows by doubling: numbers that take as many doublings are the same to it. */
static bool same_growth(uint64_t max_keys, const nay_params *is) {
  nay_params p = *is;
  nay_plan asked = {.size = sizeof asked}, has = {.size = sizeof has};
  p.max_nkeys = max_keys;
  return nay_params_plan(&p, NULL, &asked) == NAY_OK && nay_params_plan(is, NULL, &has) == NAY_OK &&
         asked.tag_bits == has.tag_bits;
}

const char *contradiction(const size_options *size, const nay_params *is) {
  if (size->kind != NAY_AUTO && size->kind != is->kind) return "-t";
  if (size->nkeys != 0 && size->nkeys != is->nkeys) return "-n";
  if (size->max_keys != 0 && !same_growth(size->max_keys, is)) return "--max-keys";
  const char *option = size->fpr != 0            ? "-p"
                       : size->bits_per_key != 0 ? "-b"
                       : size->nbytes != 0       ? "-M"
                                                 : NULL;
  return option != NULL && !same_plan(size, 0, is) ? option : NULL;
}

#define COPIES_MOST 8 /* of one key in a cuckoo filter: two buckets of four */

/* The key of a batch that has reached the maximum number of copies, or NULL. */
static const uint8_t *full_of_copies(const nay_filter *f, const key_batch *b, size_t *len) {
  for (size_t i = 0; i < b->n; i++) {
    uint64_t count = 0;
    *len = b->lens[i];
    bool known = nay_filter_count(f, b->keys[i], *len, &count) == NAY_OK;
    if (known && count >= COPIES_MOST) return b->keys[i];
  }
  return NULL;
}

/* What makes room: a larger number of keys, or one to which the filter may grow. */
static const char *full_advice(const options *o, const nay_filter *f, const char *state) {
  nay_params is = {.size = sizeof is};
  bool known = nay_filter_params(f, &is) == NAY_OK;
  if (known && is.max_nkeys > is.nkeys) return "rebuild it with a larger --max-keys";
  bool may_grow = nay_filter_kind(f) == NAY_CUCKOO && option_is_taken(o->command, "max-keys");
  if (state != NULL) return "use a new --state file with a larger -n";
  return may_grow ? "rebuild it with a larger -n, or with --max-keys, to which it may grow"
                  : "rebuild it with a larger -n";
}

const char *full_why(const options *o, const nay_filter *f, const key_batch *b, const char *state,
                     char *text) {
  nay_stats s = {.size = sizeof s};
  size_t len;
  char shown[80], now[COUNTED_TEXT];
  nay_filter_stats(f, &s);
  const uint8_t *key = s.kind == NAY_CUCKOO ? full_of_copies(f, b, &len) : NULL;
  if (key != NULL) {
    snprintf(text, FULL_TEXT,
             "'%s' occurs more than %d times, and a cuckoo filter holds at most %d copies of a "
             "key: remove the duplicates first (nay uniq), or choose another family with -t",
             escape_text(key, len, shown, sizeof shown), COPIES_MOST, COPIES_MOST);
  } else if (s.nkeys == 0) {
    snprintf(text, FULL_TEXT, "the filter is full: rebuild it with a larger size");
  } else {
    counted_text(s.nkeys_estimated, "key", now, sizeof now);
    snprintf(text, FULL_TEXT, "the filter is full: it was planned for %s and holds about %s; %s",
             COUNTED(s.nkeys, "key"), now, full_advice(o, f, state));
  }
  return text;
}

void add_all(const options *o, nay_filter *f, key_stream *s) {
  char why[FULL_TEXT];
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    nay_status status = batch_add_all(f, b, NULL, NULL);
    if (status == NAY_EFULL) die(EXIT_TROUBLE, "%s", full_why(o, f, b, NULL, why));
    if (status != NAY_OK) die(EXIT_TROUBLE, "cannot add: %s", nay_status_text(status));
  }
}

/* The number of keys is known: the filter is allocated first, and no key is kept. */
static nay_filter *make_known(const options *o, const keys_options *keys, const nay_format *format,
                              const nay_params *params, const char *const *paths, size_t npaths,
                              uint64_t *nkeys) {
  nay_filter *f = new_filter(format, params);
  key_stream *s = stream_open(o, keys, paths, npaths, f);
  add_all(o, f, s);
  *nkeys = stream_nkeys(s);
  stream_close(s);
  return f;
}

/* The number of keys is known only at the end: a builder keeps the hashes. */
static nay_filter *make_unknown(const options *o, const keys_options *keys,
                                const nay_format *format, const nay_params *params,
                                const char *const *paths, size_t npaths, uint64_t *nkeys) {
  nay_diag diag = {.what = NULL};
  nay_builder *builder;
  nay_params p = *params;
  p.threads = keys_threads(keys);
  if (format == NULL) format = nay_format_find("nay");
  nay_status status = nay_format_builder_new(format, &p, NULL, &diag, &builder);
  if (status != NAY_OK) make_failed(status, &diag);
  key_stream *s = stream_open(o, keys, paths, npaths, NULL);
  for (key_batch *b; (b = stream_next(s)) != NULL;) {
    for (size_t i = 0; i < b->n && status == NAY_OK; i++) {
      status = nay_builder_add(builder, b->keys[i], b->lens[i]);
    }
    if (status != NAY_OK) make_failed(status, NULL);
  }
  *nkeys = stream_nkeys(s);
  stream_close(s);
  nay_filter *f;
  status = nay_builder_finish(builder, &diag, &f);
  if (status != NAY_OK) make_failed(status, &diag);
  nay_builder_free(builder);
  return f;
}

/* It comes last, and the order of the keys counts: hashes wait in that order. */
static nay_filter *make_in_order(const options *o, const keys_options *keys,
                                 const nay_params *params, const char *const *paths, size_t npaths,
                                 uint64_t *nkeys) {
  nay_params p = *params,
             any = {sizeof any, .nkeys = 1, .fpr = 0.01, .hash = p.hash, .seed = p.seed};
  memcpy(any.key, p.key, sizeof any.key);
  nay_filter *hash_with = new_filter(NULL, &any);
  key_stream *s = stream_open(o, keys, paths, npaths, hash_with);
  uint64_t *hashes = NULL;
  size_t n = 0, room = 0;
  for (key_batch *b; (b = stream_next(s)) != NULL; n += b->n) {
    if (n + b->n > room) hashes = must_grow(hashes, (room = 2 * n + b->n) * sizeof *hashes);
    if (b->n != 0) memcpy(hashes + n, b->lo, b->n * sizeof *hashes);
  }
  *nkeys = n;
  stream_close(s);
  nay_filter_free(hash_with);
  p.nkeys = n != 0 ? n : 1;
  nay_filter *f = new_filter(NULL, &p);
  nay_status status = nay_filter_add_hash_many(f, hashes, NULL, n, NULL, NULL);
  if (status != NAY_OK) make_failed(status, NULL);
  free(hashes);
  return f;
}

static bool is_native(const nay_format *format) {
  return format == NULL || strcmp(nay_format_name(format), "nay") == 0;
}

/* The family that another system's layout is of, or that of -t. */
static nay_kind layout_kind(const nay_format *format, const nay_params *params) {
  nay_params p = *params;
  nay_plan plan = {.size = sizeof plan};
  if (p.nkeys == 0) p.nkeys = 1;
  bool known = !is_native(format) && nay_format_plan(format, &p, NULL, &plan) == NAY_OK;
  return known ? plan.kind : params->kind;
}

/* Whether the bytes of a native filter depend on the order of the adds or on repeated ones. A
 * builder brings the keys into an order of its own and drops duplicates. */
static bool depends_on_adds(const nay_format *format, nay_kind kind) {
  return is_native(format) && kind != NAY_AUTO &&
         (nay_kind_traits(kind) & (NAY_CAN_REMOVE | NAY_CAN_GROW)) != 0;
}

nay_filter *make_filter(const options *o, const keys_options *keys, const nay_format *format,
                        nay_params *params, const char *const *paths, size_t npaths,
                        uint64_t *nkeys) {
  nay_kind kind = layout_kind(format, params);
  stream_must_exist(o, keys, paths, npaths);
  if (!can_add(kind) || (params->nkeys == 0 && depends_on_adds(format, kind))) {
    message(can_add(kind) ? "%s without -n: keeping 8 bytes per key until the end"
                          : "%s needs all keys at once: keeping 8 bytes per key until the end",
            filterfile_kind_name(format, kind));
    return make_unknown(o, keys, format, params, paths, npaths, nkeys);
  }
  if (params->nkeys == 0 && !stream_count(keys, paths, npaths, &params->nkeys)) {
    message("without -n the number of keys is unknown: keeping 8 bytes per key until the end");
    if (kind == NAY_WINDOW && is_native(format)) {
      return make_in_order(o, keys, params, paths, npaths, nkeys);
    }
  }
  if (params->nkeys == 0) return make_unknown(o, keys, format, params, paths, npaths, nkeys);
  return make_known(o, keys, format, params, paths, npaths, nkeys);
}
