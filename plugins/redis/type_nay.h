/*
 * type_nay.h - the value of a key of type `nayfilter`, and what its commands share.
 *
 * A value has a filter that answers, or a file of which more is to come, or both: a filter that is
 * being replaced answers until the last byte of the new one has arrived and been checked.
 */
#ifndef NAY_REDIS_TYPE_NAY_H
#define NAY_REDIS_TYPE_NAY_H

#include "module.h"

/* native_extras: what the server knows of a filter and a native file does not say. */
typedef struct native_extras {
  bool by_seconds; /* a window whose clock is the server's */
  bool has_secret; /* the file came without its secret key, which was given beside it */
  uint8_t secret[16];
} native_extras;

typedef struct native_value {
  nay_filter *filter; /* NULL: nothing is complete yet */
  native_extras extras;
  uint64_t generation; /* by_seconds: length of a generation in seconds; else 0 */
  uint64_t clock;      /* by_seconds: when the filter was last told the time */
  nay_decoder *arriving;
  native_extras arriving_extras;
} native_value;

extern redis_type *native_type;
extern redis_type_methods native_methods;
extern memory_use native_memory;

enum { NATIVE_ENCVER = 1 };

/* Bytes of one piece in dumps, RDB and AOF files: far below proto-max-bulk-len, 512 MB. */
#define NATIVE_PIECE ((size_t)16 << 20)

/* native_allocator: the server's; its memory is zero when it comes, so fresh pages stay untouched.
 */
nay_allocator native_allocator(void);

/* native_value_new: takes the filter, which may be NULL. NULL when there is no memory. */
native_value *native_value_new(nay_filter *filter, const native_extras *extras);
void native_value_free(native_value *value);

/*
 * native_value_adopt: puts a checked filter in the place of the one that was there. NULL, or what
 * is wrong with it; then nothing has changed and the filter is still the caller's.
 */
const char *native_value_adopt(native_value *value, nay_filter *filter,
                               const native_extras *extras);

/* native_value_refuses: NULL when keys can be hashed here and the extras fit; else the reason. */
const char *native_value_refuses(const nay_filter *filter, const native_extras *extras);

/* native_value_drop_arriving: forgets what has come of a file. */
void native_value_drop_arriving(native_value *value);

/* native_hex, native_parse_hex: a secret key as 32 digits. */
void native_hex(const uint8_t secret[16], char text[33]);
bool native_parse_hex(const redis_string *text, uint8_t secret[16]);

/* ---- what commands share ------------------------------------------------------------------------
 */

#define ERROR_LOADING "ERR the filter is still being loaded"

/* native_reply_status: an error in the words of the library, for one that has no better. */
int native_reply_status(redis_ctx *ctx, nay_status status, const nay_diag *diag);

/*
 * native_open: opens a key to read or change its filter. ANSWERED: the client has its error (the
 * wrong type, or a filter that is still being loaded) and the key is closed.
 */
typedef enum native_state { NATIVE_MISSING, NATIVE_FOUND, NATIVE_ANSWERED } native_state;
native_state native_open(redis_ctx *ctx, redis_string *name, int mode, module_key *key,
                         nay_filter **filter);

/* native_parse_u64: digits alone. */
bool native_parse_u64(const redis_string *text, uint64_t *number);

/*
 * native_create: makes the key, which is open and empty, a new filter, and tells replicas exactly
 * which: what the library has computed and the secret key, not what the client has said.
 */
nay_status native_create(redis_ctx *ctx, redis_string *name, module_key *key,
                         const nay_params *params, bool by_seconds);

/* native_default_params: of filters that appear with their first key. */
nay_params native_default_params(void);

/* native_tick: lets time pass in a window by seconds, before it is written to. */
void native_tick(redis_ctx *ctx, redis_string *name, native_value *value);

/* The commands, one file for each group. */
int native_reserve_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_merge_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_advance_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_load_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_dump_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_info_command(redis_ctx *ctx, redis_string **argv, int argc);

#endif /* NAY_REDIS_TYPE_NAY_H */
