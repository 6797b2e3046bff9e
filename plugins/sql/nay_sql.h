/*
 * nay_sql.h - what the extensions of SQL engines share: values as keys, aggregate states, and
 * filters that are probed row after row. An engine's folder has its types, its errors and its
 * memory; nothing here knows an engine. It is no public header: the extensions compile it in.
 */
#ifndef NAY_SQL_H
#define NAY_SQL_H

#include <nay_advanced.h>
#include <nay_key.h>

/* nay_sql_error: a failed call fills it; the engine shows both texts. hint may be empty. */
typedef struct nay_sql_error {
  nay_status status;
  char message[320];
  char hint[240];
} nay_sql_error;

/* nay_sql_fail: fills the error, and returns the status. hint may be NULL. */
nay_status nay_sql_fail(nay_sql_error *error, nay_status status, const char *hint,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* nay_sql_refuse: the error of a call of the library. diag may be NULL. */
nay_status nay_sql_refuse(nay_sql_error *error, nay_status status, const nay_diag *diag);

/* nay_sql_memory: fresh memory of an engine's allocator, advised to use huge pages when it is
 * large: random probes of small pages miss the TLB. libnay does so for its own memory alone.
 * Returns memory. */
void *nay_sql_memory(void *memory, size_t size);

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * nay_sql_value: a value that is not NULL, in its canonical form (doc/keys.md). A text has type
 * NAY_KEY_TEXT, and so has a BLOB or bytea, with `binary` set.
 */
typedef struct nay_sql_value {
  nay_key_type type; /* neither HEX nor B64 */
  bool binary;
  bool above;      /* an unsigned integer above 2^63 - 1, whose key is that of a negative one */
  const void *key; /* room, or bytes of the engine */
  size_t len;
  uint8_t room[16];
} nay_sql_value;

/* nay_sql_int: any integer, bool, date or timestamp, as nay_key_int. */
static inline void nay_sql_int(nay_sql_value *value, nay_key_type type, int64_t number) {
  value->type = type;
  value->binary = value->above = false;
  nay_key_int(number, value->room);
  value->key = value->room;
  value->len = 8;
}

/* nay_sql_float: a double. */
static inline void nay_sql_float(nay_sql_value *value, double number) {
  value->type = NAY_KEY_FLOAT;
  value->binary = value->above = false;
  nay_key_float(number, value->room);
  value->key = value->room;
  value->len = 8;
}

/* nay_sql_bytes: bytes that are a key already: text, BLOB, uuid, the key of a numeric. */
static inline void nay_sql_bytes(nay_sql_value *value, nay_key_type type, bool binary,
                                 const void *bytes, size_t len) {
  value->type = type;
  value->binary = binary;
  value->above = false;
  value->key = len != 0 ? bytes : value->room;
  value->len = len;
}

/* ---- probing --------------------------------------------------------------------------------- */

/* nay_sql_probe: a filter in memory of its own, and how values become its keys. */
typedef struct nay_sql_probe {
  nay_filter *filter;
  nay_allocator allocator;
  nay_hasher hasher;
  nay_probe ask;           /* ask.ask is NULL when the filter has none */
  uint64_t identity[3];    /* of the bytes that it was decoded from */
  nay_key_description how; /* how.size is 0: this library does not know the description */
  bool empty;              /* no key of any type is in it */
  bool range;              /* a range filter, which is asked with keys and not with hashes */
  unsigned refs;           /* nay_sql_probe_free releases one; only nay_sql_cache adds */
} nay_sql_probe;

/* nay_sql_probe_new: the bytes of a native file, checked whole. Errors of nay_filter_decode, and
 * NAY_EKEY for a filter whose secret key is not in the file. */
nay_status nay_sql_probe_new(const void *bytes, size_t len, const nay_allocator *allocator,
                             nay_sql_error *error, nay_sql_probe **probe);
void nay_sql_probe_free(nay_sql_probe *probe);

/* nay_sql_probe_take: of a filter that is there, such as a mapped one. On success it owns it. */
nay_status nay_sql_probe_take(nay_filter *filter, const nay_allocator *allocator,
                              nay_sql_error *error, nay_sql_probe **probe);

/*
 * nay_sql_probe_is: whether the probe was made from these bytes, by their length and the two
 * digests of the native format that cover header and directory, and so all bytes. False for bytes
 * that are no native file. Reads 80 bytes.
 */
bool nay_sql_probe_is(const nay_sql_probe *probe, const void *bytes, size_t len);

/*
 * nay_sql_key: the key of a value for this filter. A text is converted as the filter's key
 * description says. A value of another type than the filter's is NAY_EINVAL with a hint, never a
 * key, unless the filter states no type and is empty: then every value is certainly absent. *key is
 * value->key, room, or memory of the probe's allocator: then *more is it, and the caller frees it
 * (*len bytes); else *more is NULL.
 */
nay_status nay_sql_key(const nay_sql_probe *probe, const nay_sql_value *value, uint8_t room[128],
                       nay_sql_error *error, const void **key, size_t *len, void **more);

/* nay_sql_hash: the hash of that key, for the calls that take hashes. */
nay_status nay_sql_hash(const nay_sql_probe *probe, const nay_sql_value *value,
                        nay_sql_error *error, nay_hash *hash);

/* nay_sql_ask: nay_filter_may_contain of that key. */
nay_status nay_sql_ask(const nay_sql_probe *probe, const nay_sql_value *value, nay_sql_error *error,
                       bool *maybe);

/*
 * nay_sql_readings: a literal, as the text that it is (values[0]) and as what the engine makes of
 * it where it is compared with a column: '\\x61' is also one byte, a time without a zone one of the
 * session's. A filter does not say which column it was made of: it is asked for all readings that
 * are of its type, and of floats also for the nearest binary32, which is what a column of reals
 * has.
 */
enum { NAY_SQL_READINGS = 6, NAY_SQL_HASHES = NAY_SQL_READINGS + 3 };
typedef struct nay_sql_readings {
  size_t n; /* at least 1 */
  nay_sql_value values[NAY_SQL_READINGS];
} nay_sql_readings;

/* nay_sql_hashes: of all readings, from 1 to NAY_SQL_HASHES. Not of a range filter. */
nay_status nay_sql_hashes(const nay_sql_probe *probe, const nay_sql_readings *literal,
                          nay_sql_error *error, nay_hash hashes[NAY_SQL_HASHES], size_t *n);

/* nay_sql_ask_literal: whether one reading may be a key. */
nay_status nay_sql_ask_literal(const nay_sql_probe *probe, const nay_sql_readings *literal,
                               nay_sql_error *error, bool *maybe);

/*
 * nay_sql_ask_range: whether a key of a range filter may lie from lo to hi, both included; of
 * literals from the least reading of lo to the greatest of hi. false when lo is above hi, as
 * BETWEEN. NAY_ENOTSUP: another kind of filter.
 */
nay_status nay_sql_ask_range(const nay_sql_probe *probe, const nay_sql_readings *lo,
                             const nay_sql_readings *hi, nay_sql_error *error, bool *maybe);

/*
 * nay_sql_cache: the last filters that were probed, for engines that hand over their bytes with
 * each row. Calls on one cache, and nay_sql_probe_free of what it gave, need a lock of the engine.
 */
enum { NAY_SQL_CACHED = 16 };
typedef struct nay_sql_cache {
  nay_sql_probe *probes[NAY_SQL_CACHED]; /* the last used one first */
} nay_sql_cache;

/*
 * nay_sql_handle: bytes that stand for a filter in the cache: a mark and its identity. Engines copy
 * the values that a subquery gave for each row or vector; these are 32 bytes. No file is as short.
 */
typedef struct nay_sql_handle {
  char mark[8];
  uint64_t identity[3];
} nay_sql_handle;
void nay_sql_handle_make(const nay_sql_probe *probe, nay_sql_handle *handle);

/*
 * nay_sql_cache_get: the probe of these bytes, a file or a handle, from the cache or new;
 * nay_sql_probe_free it. NAY_EINVAL: a handle of a filter that is not, or no longer, there.
 */
nay_status nay_sql_cache_get(nay_sql_cache *cache, const void *bytes, size_t len,
                             const nay_allocator *allocator, nay_sql_error *error,
                             nay_sql_probe **probe);

/* nay_sql_cache_find: by identity; NULL when it is not, or no longer, there. */
nay_sql_probe *nay_sql_cache_find(nay_sql_cache *cache, const uint64_t identity[3]);

/* nay_sql_cache_put: keeps a probe, whose identity is the caller's. */
void nay_sql_cache_put(nay_sql_cache *cache, nay_sql_probe *probe);
void nay_sql_cache_clear(nay_sql_cache *cache);

/* ---- aggregates ------------------------------------------------------------------------------ */

/*
 * nay_sql_wish: the arguments of an aggregate. nkeys 0: the distinct keys are counted. Kinds that
 * take adds and merge are filled as rows come when nkeys is given; of all others 8 bytes of each
 * distinct key are kept until the end.
 */
typedef struct nay_sql_wish {
  uint64_t nkeys;
  double fpr;
  nay_kind kind;
  size_t max_memory;        /* of hashes: NAY_EFULL beyond; 0: no limit */
  size_t max_file;          /* of the native file: NAY_EFULL beyond; 0: no limit */
  const char *memory;       /* what the engine calls max_memory, for hints; may be NULL */
  void (*interrupts)(void); /* called now and then while many hashes are moved; may be NULL. It may
                             * longjmp: then the state is only fit to be freed */
} nay_sql_wish;

/* nay_sql_wish_read: checks the arguments of SQL. nkeys is NULL when there is none; kind may be
 * NULL. */
nay_status nay_sql_wish_read(const int64_t *nkeys, double fpr, const char *kind, size_t kind_len,
                             nay_sql_error *error, nay_sql_wish *wish);

typedef struct nay_sql_agg nay_sql_agg;

nay_status nay_sql_agg_new(const nay_sql_wish *wish, const nay_allocator *allocator,
                           nay_sql_error *error, nay_sql_agg **agg);
void nay_sql_agg_free(nay_sql_agg *agg);

/* nay_sql_agg_wish: what it was made from. */
const nay_sql_wish *nay_sql_agg_wish(const nay_sql_agg *agg);

/* nay_sql_agg_memory: ctx of the allocator that it was made with; NULL for malloc. */
void *nay_sql_agg_memory(const nay_sql_agg *agg);

/* nay_sql_agg_set_type: the type of the values when there may be none. Without it the first value
 * decides. */
void nay_sql_agg_set_type(nay_sql_agg *agg, nay_key_type type);

/* nay_sql_agg_add: NAY_EINVAL: a value of another type than those before. */
nay_status nay_sql_agg_add(nay_sql_agg *agg, const nay_sql_value *value, nay_sql_error *error);

/* nay_sql_agg_merge: dst gets what src has; src stays as it is but for its order in memory. */
nay_status nay_sql_agg_merge(nay_sql_agg *dst, nay_sql_agg *src, nay_sql_error *error);

/* nay_sql_agg_result: the filter of all values so far, which lives until the next call. More values
 * may follow. */
nay_status nay_sql_agg_result(nay_sql_agg *agg, nay_sql_error *error, const nay_filter **filter);

/* nay_sql_agg_encode: the state as bytes, for another process. dst NULL: *written is their number.
 */
nay_status nay_sql_agg_encode(nay_sql_agg *agg, void *dst, size_t cap, nay_sql_error *error,
                              size_t *written);

/* nay_sql_agg_decode: the inverse. The bytes may be anyone's. The limits are those of `limits`. */
nay_status nay_sql_agg_decode(const void *bytes, size_t len, const nay_sql_wish *limits,
                              const nay_allocator *allocator, nay_sql_error *error,
                              nay_sql_agg **agg);

#endif /* NAY_SQL_H */
