/*
 * native.h - the value of a key of type `nayfilter`, and what its commands share.
 *
 * A value holds a complete filter, a partly loaded file, or both: a filter that is being replaced
 * answers until the last byte of the new one has arrived and been verified.
 */
#ifndef NAY_REDIS_NATIVE_H
#define NAY_REDIS_NATIVE_H

#include <nay_key.h>

#include "module.h"

/* native_extras: properties of a filter that a native file does not store. */
typedef struct native_extras {
  bool by_seconds; /* a window whose clock is the server's */
  bool has_secret; /* the file was loaded without its secret key, which was given apart */
  uint8_t secret[16];
} native_extras;

typedef struct native_value {
  nay_filter *filter; /* NULL: still loading */
  native_extras extras;
  uint64_t generation; /* by_seconds: length of a generation in seconds; else 0 */
  uint64_t clock;      /* by_seconds: the time of the last advance */
  nay_decoder *arriving;
  native_extras arriving_extras;
} native_value;

extern redis_type *native_type;
extern redis_type_methods native_methods;
extern memory_use native_memory;

enum { NATIVE_ENCVER = 1 };

/* Bytes of one chunk in dumps, RDB and AOF files: far below proto-max-bulk-len, 512 MB. */
#define NATIVE_PIECE ((size_t)16 << 20)

/* native_allocator: the server's allocator; its memory is zeroed, so fresh pages stay untouched. */
nay_allocator native_allocator(void);

/* native_value_new: owns the filter, which may be NULL. NULL: out of memory. */
native_value *native_value_new(nay_filter *filter, const native_extras *extras);
void native_value_free(native_value *value);

/*
 * native_value_adopt: replaces the filter of a value by a verified one. NULL, or the error; then
 * nothing has changed and the caller still owns the filter.
 */
const char *native_value_adopt(native_value *value, nay_filter *filter,
                               const native_extras *extras);

/* native_value_refuses: NULL when keys can be hashed here and the extras apply; else the error. */
const char *native_value_refuses(const nay_filter *filter, const native_extras *extras);

/* native_value_drop_arriving: discards a partly loaded file. */
void native_value_drop_arriving(native_value *value);

/* native_hex, native_parse_hex: a secret key as 32 digits. */
void native_hex(const uint8_t secret[16], char text[33]);
bool native_parse_hex(const redis_string *text, uint8_t secret[16]);

/* ---- what commands share ------------------------------------------------------------------------
 */

#define ERROR_LOADING "ERR the filter is still being loaded"

/* native_reply_status: replies with the library's text of an error. */
int native_reply_status(redis_ctx *ctx, nay_status status, const nay_diag *diag);

/*
 * native_open: opens a key to read or change its filter. NATIVE_ANSWERED: the client has received
 * an error (wrong type, or a filter that is still loading) and the key is closed.
 */
typedef enum native_state { NATIVE_MISSING, NATIVE_FOUND, NATIVE_ANSWERED } native_state;
native_state native_open(redis_ctx *ctx, redis_string *name, int mode, module_key *key,
                         nay_filter **filter);

/* native_parse_u64: a number of digits only. */
bool native_parse_u64(const redis_string *text, uint64_t *number);

/*
 * native_item: the key that an argument stands for, by the key description of the filter
 * (nay_key.h). native_item_read: NAY_EINVAL, not a value of its type; NAY_EVERSION, a description
 * that this module does not know: nothing is guessed. native_item_refused replies with the reason.
 */
typedef struct native_item {
  const void *key;
  size_t len;
  uint8_t room[64];
  void *more; /* instead of the room, for a longer key */
} native_item;
nay_status native_item_read(const nay_filter *filter, const redis_string *argument,
                            native_item *item, nay_diag *diag);
void native_item_free(native_item *item);
int native_item_refused(redis_ctx *ctx, const nay_filter *filter, nay_status status,
                        const nay_diag *diag);

/* native_takes_text: whether items are keys as they are. */
bool native_takes_text(const nay_filter *filter);

/*
 * native_create: creates a filter in an open, empty key, and replicates its exact parameters: those
 * that the library computed, and the secret key, not the client's arguments. key_type: the key
 * description.
 */
nay_status native_create(redis_ctx *ctx, redis_string *name, module_key *key,
                         const nay_params *params, bool by_seconds, const char *key_type);

/* native_default_params: of filters that the first add creates. */
nay_params native_default_params(void);

/* native_tick: advances a window by seconds to the server's clock, before a write. */
void native_tick(redis_ctx *ctx, redis_string *name, native_value *value);

/* The commands, one file for each group. */
int native_add_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_madd_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_test_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_mtest_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_range_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_count_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_del_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_reserve_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_merge_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_advance_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_load_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_dump_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_info_command(redis_ctx *ctx, redis_string **argv, int argc);
int native_prom_command(redis_ctx *ctx, redis_string **argv, int argc);

#endif /* NAY_REDIS_NATIVE_H */
