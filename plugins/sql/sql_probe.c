/* sql_probe.c - errors as SQL engines show them; filters that are probed row after row. */
#define _DEFAULT_SOURCE 1 /* madvise */
#include <float.h>
#include <nay_range.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __unix__
#include <sys/mman.h>
#endif

#include "nay_sql.h"

/* ---- errors ---------------------------------------------------------------------------------- */

nay_status nay_sql_fail(nay_sql_error *error, nay_status status, const char *hint,
                        const char *format, ...) {
  error->status = status;
  va_list list;
  va_start(list, format);
  vsnprintf(error->message, sizeof error->message, format, list);
  va_end(list);
  snprintf(error->hint, sizeof error->hint, "%s", hint != NULL ? hint : "");
  return status;
}

static const char *sql_hint(nay_status status) {
  switch (status) {
    case NAY_EFORMAT:
    case NAY_ECORRUPT: return "A filter is the bytes of a native file of nay, unchanged.";
    case NAY_EVERSION: return "A newer version of nay made it: update this one.";
    case NAY_EKEY: return "Store the key in the file: NAY_STORE_KEY, or nay build --store-key.";
    case NAY_EMISMATCH:
      return "Build both with the same n, fpr, kind and type of values; nay_info shows them.";
    case NAY_ENOMEM: return "Take fewer keys or a higher false-positive rate.";
    case NAY_ENOTSUP: return "Kinds that add and merge: bloom, blocked, counting, scalable.";
    default: return NULL;
  }
}

nay_status nay_sql_refuse(nay_sql_error *error, nay_status status, const nay_diag *diag) {
  const char *what = diag != NULL ? diag->what : NULL;
  const char *text = nay_status_text(status);
  if (what == NULL) return nay_sql_fail(error, status, sql_hint(status), "%s", text);
  return nay_sql_fail(error, status, sql_hint(status), "%s: %s", text, what);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *nay_sql_memory(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
  const uintptr_t huge = (uintptr_t)2 << 20;
  uintptr_t start = ((uintptr_t)memory + huge - 1) & ~(huge - 1);
  uintptr_t end = ((uintptr_t)memory + size) & ~(huge - 1);
  if (memory != NULL && size >= 2 * huge && start < end)
    (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
  (void)size;
#endif
  return memory;
}

/* ---- one filter ------------------------------------------------------------------------------ */

/* From the native format (doc/formats/nay.md, 3): where digests are. */
enum { HEADER = 64, AT_NSECTIONS = 13, AT_BODY_LEN = 48, AT_DIGEST = 56, CHUNK = 65536 };

static uint64_t sql_load(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)bytes[i] << (8 * i);
  return word;
}

/* The length, the digest of the header, and the digest of the directory, which covers the digests
 * of all chunks. */
static bool sql_identity(const void *bytes, size_t len, uint64_t identity[3]) {
  const uint8_t *head = bytes;
  if (len < HEADER + 8) return false;
  uint64_t body_len = sql_load(head + AT_BODY_LEN);
  if (body_len > len) return false;
  uint64_t at = HEADER + 16u * (uint64_t)head[AT_NSECTIONS] + (body_len + CHUNK - 1) / CHUNK * 8;
  if (at > len - 8) return false;
  identity[0] = len;
  identity[1] = sql_load(head + AT_DIGEST);
  identity[2] = sql_load(head + at);
  return true;
}

bool nay_sql_probe_is(const nay_sql_probe *probe, const void *bytes, size_t len) {
  uint64_t identity[3];
  return sql_identity(bytes, len, identity) &&
         memcmp(identity, probe->identity, sizeof identity) == 0;
}

static void *sql_alloc(const nay_allocator *allocator, size_t size) {
  return allocator->alloc != NULL ? allocator->alloc(allocator->ctx, size) : malloc(size);
}

static void sql_release(const nay_allocator *allocator, void *ptr, size_t size) {
  if (allocator->alloc == NULL)
    free(ptr);
  else if (ptr != NULL)
    allocator->free(allocator->ctx, ptr, size);
}

static nay_status sql_probe_fill(nay_sql_probe *probe, nay_sql_error *error) {
  nay_status status = nay_filter_hasher(probe->filter, &probe->hasher);
  nay_hash hash;
  if (status == NAY_OK) status = nay_hasher_hash(&probe->hasher, "", 0, &hash);
  if (status == NAY_EKEY)
    return nay_sql_fail(error, status, sql_hint(status),
                        "the filter is keyed, and its file does not contain the key");
  if (status != NAY_OK)
    return nay_sql_fail(error, status, "Ask it where its hashes are made.",
                        "the filter takes hashes of its maker, no values");
  if (nay_filter_probe(probe->filter, &probe->ask) != NAY_OK) probe->ask.ask = NULL;
  if (nay_key_description_parse(nay_filter_key(probe->filter), NULL, &probe->how) != NAY_OK)
    probe->how.size = 0;
  probe->range = (nay_kind_traits(nay_filter_kind(probe->filter)) & NAY_CAN_RANGE) != 0;
  nay_stats stats = {.size = sizeof stats};
  probe->empty = probe->how.size != 0 && probe->how.type == NAY_KEY_TEXT &&
                 (nay_kind_traits(nay_filter_kind(probe->filter)) & NAY_CAN_ADD) != 0 &&
                 nay_filter_stats(probe->filter, &stats) == NAY_OK && stats.nbits_set == 0 &&
                 stats.nkeys_estimated == 0;
  return NAY_OK;
}

nay_status nay_sql_probe_take(nay_filter *filter, const nay_allocator *allocator,
                              nay_sql_error *error, nay_sql_probe **probe) {
  nay_allocator kept = {0};
  if (allocator != NULL) kept = *allocator;
  nay_sql_probe *made = sql_alloc(&kept, sizeof *made);
  if (made == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  *made = (nay_sql_probe){.filter = filter, .allocator = kept, .refs = 1};
  made->hasher.size = sizeof made->hasher;
  made->how.size = sizeof made->how;
  nay_status status = sql_probe_fill(made, error);
  if (status != NAY_OK) {
    sql_release(&kept, made, sizeof *made);
    return status;
  }
  *probe = made;
  return NAY_OK;
}

nay_status nay_sql_probe_new(const void *bytes, size_t len, const nay_allocator *allocator,
                             nay_sql_error *error, nay_sql_probe **probe) {
  nay_diag diag = {0};
  nay_filter *filter;
  nay_status status = nay_filter_decode(bytes, len, allocator, &diag, &filter);
  if (status != NAY_OK) return nay_sql_refuse(error, status, &diag);
  nay_sql_probe *made;
  status = nay_sql_probe_take(filter, allocator, error, &made);
  if (status != NAY_OK) {
    nay_filter_free(filter);
    return status;
  }
  sql_identity(bytes, len, made->identity); /* cannot fail: the bytes are a native file */
  *probe = made;
  return NAY_OK;
}

void nay_sql_probe_free(nay_sql_probe *probe) {
  if (probe == NULL || --probe->refs != 0) return;
  nay_allocator kept = probe->allocator;
  nay_filter_free(probe->filter);
  sql_release(&kept, probe, sizeof *probe);
}

/* ---- the last filters ------------------------------------------------------------------------ */

/* Moves entry i to the front, another caller's reference more. */
static nay_sql_probe *cache_use(nay_sql_cache *cache, size_t i) {
  nay_sql_probe *found = cache->probes[i];
  for (; i > 0; i--) cache->probes[i] = cache->probes[i - 1];
  cache->probes[0] = found;
  found->refs++;
  return found;
}

nay_sql_probe *nay_sql_cache_find(nay_sql_cache *cache, const uint64_t identity[3]) {
  for (size_t i = 0; i < NAY_SQL_CACHED && cache->probes[i] != NULL; i++) {
    if (memcmp(cache->probes[i]->identity, identity, sizeof cache->probes[i]->identity) == 0)
      return cache_use(cache, i);
  }
  return NULL;
}

void nay_sql_cache_put(nay_sql_cache *cache, nay_sql_probe *probe) {
  nay_sql_probe_free(cache->probes[NAY_SQL_CACHED - 1]);
  for (size_t i = NAY_SQL_CACHED - 1; i > 0; i--) cache->probes[i] = cache->probes[i - 1];
  cache->probes[0] = probe;
  probe->refs++;
}

static const char handle_mark[8] = {'n', 'a', 'y', 'o', 'p', 'e', 'n', '1'};

void nay_sql_handle_make(const nay_sql_probe *probe, nay_sql_handle *handle) {
  memcpy(handle->mark, handle_mark, sizeof handle_mark);
  memcpy(handle->identity, probe->identity, sizeof handle->identity);
}

static nay_status cache_handle(nay_sql_cache *cache, const void *bytes, nay_sql_error *error,
                               nay_sql_probe **probe) {
  nay_sql_handle handle;
  memcpy(&handle, bytes, sizeof handle);
  *probe = nay_sql_cache_find(cache, handle.identity);
  if (*probe != NULL) return NAY_OK;
  return nay_sql_fail(
      error, NAY_EINVAL, "A handle serves the statement that made it; store the filter itself.",
      "a handle of a filter that is not open: the last %d are kept", NAY_SQL_CACHED);
}

nay_status nay_sql_cache_get(nay_sql_cache *cache, const void *bytes, size_t len,
                             const nay_allocator *allocator, nay_sql_error *error,
                             nay_sql_probe **probe) {
  if (len == sizeof(nay_sql_handle) && memcmp(bytes, handle_mark, sizeof handle_mark) == 0)
    return cache_handle(cache, bytes, error, probe);
  uint64_t identity[3];
  nay_sql_probe *found = NULL;
  if (sql_identity(bytes, len, identity)) found = nay_sql_cache_find(cache, identity);
  if (found == NULL) {
    nay_status status = nay_sql_probe_new(bytes, len, allocator, error, &found);
    if (status != NAY_OK) return status;
    nay_sql_cache_put(cache, found);
  }
  *probe = found;
  return NAY_OK;
}

void nay_sql_cache_clear(nay_sql_cache *cache) {
  for (size_t i = 0; i < NAY_SQL_CACHED; i++) {
    nay_sql_probe_free(cache->probes[i]);
    cache->probes[i] = NULL;
  }
}

/* ---- values as keys -------------------------------------------------------------------------- */

/* Only a numeric with an exponent has a key much longer than its text: 1e131071 has 8 bytes. */
enum { KEY_FREE = 1024, KEY_LONGER = 64 };

static nay_status sql_convert(const nay_sql_probe *probe, const nay_sql_value *value,
                              uint8_t room[128], nay_sql_error *error, const void **key,
                              size_t *len, void **more) {
  nay_diag diag = {0};
  size_t need = 0;
  nay_status status = nay_key_convert(&probe->how, value->key, value->len, &diag, NULL, 0, &need);
  if (status != NAY_OK)
    return nay_sql_fail(error, status, "The filter's keys are of another type than text.",
                        "the text is not of type %s: %s (at byte %llu)",
                        nay_filter_key(probe->filter), diag.what, (unsigned long long)diag.offset);
  if (need > KEY_FREE && need > value->len + KEY_LONGER)
    return nay_sql_fail(error, NAY_EINVAL, "Write the digits out.",
                        "an exponent that makes a key of more than 1,024 bytes");
  uint8_t *dst = room;
  *more = NULL;
  if (need > 128) {
    dst = *more = sql_alloc(&probe->allocator, need);
    if (dst == NULL) return nay_sql_refuse(error, NAY_ENOMEM, NULL);
  }
  *key = dst;
  *len = need;
  return nay_key_convert(&probe->how, value->key, value->len, &diag, dst, need, &need);
}

/* The type that an ordered type orders; other types are themselves. */
static nay_key_type sql_unordered(nay_key_type type) {
  switch (type) {
    case NAY_KEY_ORDERED_INT: return NAY_KEY_INT;
    case NAY_KEY_ORDERED_FLOAT: return NAY_KEY_FLOAT;
    case NAY_KEY_ORDERED_DATE: return NAY_KEY_DATE;
    case NAY_KEY_ORDERED_TIMESTAMP: return NAY_KEY_TIMESTAMP;
    default: return type;
  }
}

/* The 8 bytes of a number as those of its ordered type. */
static nay_status sql_order(const nay_sql_probe *probe, const nay_sql_value *value,
                            uint8_t room[128], nay_sql_error *error) {
  if (value->above)
    return nay_sql_fail(error, NAY_EINVAL, "Keys of type ordered-int are from -2^63 to 2^63 - 1.",
                        "an integer above 2^63 - 1");
  uint64_t word = sql_load(value->key);
  if (probe->how.type == NAY_KEY_ORDERED_FLOAT) {
    double number;
    memcpy(&number, &word, sizeof number);
    nay_range_key(nay_range_double(number), room);
  } else {
    nay_range_key(nay_range_i64((int64_t)word), room);
  }
  return NAY_OK;
}

nay_status nay_sql_key(const nay_sql_probe *probe, const nay_sql_value *value, uint8_t room[128],
                       nay_sql_error *error, const void **key, size_t *len, void **more) {
  *more = NULL;
  const char *stated = nay_filter_key(probe->filter);
  if (probe->how.size == 0)
    return nay_sql_fail(error, NAY_EVERSION, sql_hint(NAY_EVERSION),
                        "the filter's keys are of type %s, which this version does not know",
                        stated);
  bool same = value->type == probe->how.type;
  if ((same && (value->type != NAY_KEY_TEXT || probe->how.ntransformations == 0)) || probe->empty) {
    *key = value->key;
    *len = value->len;
    return NAY_OK;
  }
  if (value->type == NAY_KEY_TEXT && (same || !value->binary))
    return sql_convert(probe, value, room, error, key, len, more);
  if (!same && value->type == sql_unordered(probe->how.type)) {
    *key = room;
    *len = 8;
    return sql_order(probe, value, room, error);
  }
  return nay_sql_fail(error, NAY_EINVAL, "Cast the value to the type of the filter's keys.",
                      "the filter's keys are of type %s, the value is of type %s", stated,
                      value->binary ? "bytes" : nay_key_type_name(value->type));
}

/* ---- questions ------------------------------------------------------------------------------- */

nay_status nay_sql_hash(const nay_sql_probe *probe, const nay_sql_value *value,
                        nay_sql_error *error, nay_hash *hash) {
  uint8_t room[128];
  const void *key = NULL;
  size_t len = 0;
  void *more;
  nay_status status = nay_sql_key(probe, value, room, error, &key, &len, &more);
  if (status == NAY_OK) {
    status = nay_hasher_hash(&probe->hasher, key, len, hash);
    if (status != NAY_OK) nay_sql_refuse(error, status, NULL);
  }
  if (more != NULL) sql_release(&probe->allocator, more, len);
  return status;
}

static bool sql_ask_hash(const nay_sql_probe *probe, nay_hash hash) {
  return probe->ask.ask != NULL ? probe->ask.ask(probe->ask.state, hash.lo)
                                : nay_filter_may_contain_hash(probe->filter, hash);
}

nay_status nay_sql_ask(const nay_sql_probe *probe, const nay_sql_value *value, nay_sql_error *error,
                       bool *maybe) {
  if (probe->range) {
    nay_sql_readings one = {.n = 1};
    one.values[0] = *value;
    if (value->key == value->room) one.values[0].key = one.values[0].room;
    return nay_sql_ask_range(probe, &one, &one, error, maybe);
  }
  nay_hash hash;
  nay_status status = nay_sql_hash(probe, value, error, &hash);
  if (status == NAY_OK) *maybe = sql_ask_hash(probe, hash);
  return status;
}

/* ---- literals -------------------------------------------------------------------------------- */

/*
 * The binary32 numbers that a text may be rounded to: the nearest one of its binary64, and that
 * one's neighbours, as rounding twice may end in one of them. Above the greatest of them: that one
 * and infinity. None when the binary64 is a binary32 itself.
 */
static size_t sql_floats(const nay_sql_probe *probe, const nay_sql_value *text,
                         nay_sql_value floats[3]) {
  nay_key_description how = probe->how;
  how.type = NAY_KEY_FLOAT;
  nay_diag diag = {0};
  uint8_t key[8];
  size_t len;
  if (text->type != NAY_KEY_TEXT ||
      nay_key_convert(&how, text->key, text->len, &diag, key, sizeof key, &len) != NAY_OK)
    return 0;
  uint64_t word = sql_load(key);
  double number;
  memcpy(&number, &word, sizeof number);
  if (number - number != 0) return 0; /* infinity or NaN */
  float nearest = number > (double)FLT_MAX    ? FLT_MAX
                  : number < -(double)FLT_MAX ? -FLT_MAX
                                              : (float)number;
  if ((double)nearest == number) return 0;
  uint32_t bits;
  memcpy(&bits, &nearest, sizeof bits);
  for (uint32_t i = 0; i < 3; i++) { /* bits - 1 of 0 is a NaN, which no literal is */
    uint32_t near = bits + i - 1;
    memcpy(&nearest, &near, sizeof nearest);
    nay_sql_float(&floats[i], (double)nearest);
  }
  return 3;
}

/* Reading i of a literal; NULL: none that this filter's keys can be. */
static const nay_sql_value *sql_reading(const nay_sql_probe *probe, const nay_sql_readings *literal,
                                        size_t i, const nay_sql_value floats[3], size_t nfloats) {
  if (i >= literal->n) return i - literal->n < nfloats ? &floats[i - literal->n] : NULL;
  const nay_sql_value *value = &literal->values[i];
  return i == 0 || value->type == sql_unordered(probe->how.type) ? value : NULL;
}

static size_t sql_find_floats(const nay_sql_probe *probe, const nay_sql_readings *literal,
                              nay_sql_value floats[3]) {
  return sql_unordered(probe->how.type) == NAY_KEY_FLOAT
             ? sql_floats(probe, &literal->values[0], floats)
             : 0;
}

nay_status nay_sql_hashes(const nay_sql_probe *probe, const nay_sql_readings *literal,
                          nay_sql_error *error, nay_hash hashes[NAY_SQL_HASHES], size_t *n) {
  nay_sql_value floats[3];
  size_t nfloats = sql_find_floats(probe, literal, floats), found = 0;
  for (size_t i = 0; i < literal->n + nfloats; i++) {
    const nay_sql_value *value = sql_reading(probe, literal, i, floats, nfloats);
    if (value == NULL) continue;
    nay_status status = nay_sql_hash(probe, value, error, &hashes[found]);
    if (status != NAY_OK) return status;
    found++;
  }
  *n = found;
  return NAY_OK;
}

nay_status nay_sql_ask_literal(const nay_sql_probe *probe, const nay_sql_readings *literal,
                               nay_sql_error *error, bool *maybe) {
  if (probe->range) return nay_sql_ask_range(probe, literal, literal, error, maybe);
  nay_hash hashes[NAY_SQL_HASHES];
  size_t n;
  nay_status status = nay_sql_hashes(probe, literal, error, hashes, &n);
  if (status != NAY_OK) return status;
  bool found = false;
  for (size_t i = 0; i < n && !found; i++) found = sql_ask_hash(probe, hashes[i]);
  *maybe = found;
  return NAY_OK;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* One end: a key of 8 ordered bytes, the least or the greatest reading, or a text. */
typedef struct sql_end {
  uint8_t room[128];
  const void *key;
  size_t len;
  void *more;
} sql_end;

static nay_status sql_end_read(const nay_sql_probe *probe, const nay_sql_readings *literal,
                               bool greatest, nay_sql_error *error, sql_end *end) {
  nay_status status =
      nay_sql_key(probe, &literal->values[0], end->room, error, &end->key, &end->len, &end->more);
  if (status != NAY_OK || sql_unordered(probe->how.type) == probe->how.type) return status;
  nay_sql_value floats[3];
  size_t nfloats = sql_find_floats(probe, literal, floats);
  for (size_t i = 1; i < literal->n + nfloats; i++) {
    const nay_sql_value *value = sql_reading(probe, literal, i, floats, nfloats);
    if (value == NULL) continue;
    uint8_t other[128];
    status = sql_order(probe, value, other, error);
    if (status != NAY_OK) return status;
    int order = memcmp(other, end->room, 8);
    if (greatest ? order > 0 : order < 0) memcpy(end->room, other, 8);
  }
  return NAY_OK;
}

nay_status nay_sql_ask_range(const nay_sql_probe *probe, const nay_sql_readings *lo,
                             const nay_sql_readings *hi, nay_sql_error *error, bool *maybe) {
  if (!probe->range)
    return nay_sql_fail(error, NAY_ENOTSUP, "nay build -t range makes a range filter.",
                        "a %s filter is asked for values, not for ranges",
                        nay_kind_name(nay_filter_kind(probe->filter)));
  sql_end ends[2] = {{.more = NULL}, {.more = NULL}};
  nay_status status = sql_end_read(probe, lo, false, error, &ends[0]);
  if (status == NAY_OK) status = sql_end_read(probe, hi, true, error, &ends[1]);
  if (status == NAY_OK) {
    bool answer = true;
    status = nay_filter_may_contain_range(probe->filter, ends[0].key, ends[0].len, ends[1].key,
                                          ends[1].len, &answer);
    if (status == NAY_EINVAL) { /* lo is above hi */
      answer = false;
      status = NAY_OK;
    }
    if (status == NAY_OK)
      *maybe = answer;
    else
      nay_sql_refuse(error, status, NULL);
  }
  for (int i = 0; i < 2; i++) {
    if (ends[i].more != NULL) sql_release(&probe->allocator, ends[i].more, ends[i].len);
  }
  return status;
}
