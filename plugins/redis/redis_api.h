/*
 * redis_api.h - the part of the server's module interface that we use, declared anew.
 *
 * A module needs no header of the server: it exports RedisModule_OnLoad, and the first word of the
 * context passed to it points to a function that finds all others by name. They are bound once into
 * the struct `redis`, so a call reads `redis.ReplyWithBool(ctx, true)`.
 *
 * The functions of REDIS_API_REQUIRED exist in every supported server (Redis 7.0 and later, Valkey
 * 8 and later). Those of REDIS_API_OPTIONAL came later or exist in one of the two only: test them
 * for NULL. Constants and struct layouts have not changed since 7.0.
 */
#ifndef NAY_REDIS_API_H
#define NAY_REDIS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct redis_ctx redis_ctx;
typedef struct redis_string redis_string;
typedef struct redis_key redis_key;
typedef struct redis_io redis_io;
typedef struct redis_type redis_type;
typedef struct redis_cmd redis_cmd;
typedef struct redis_digest redis_digest;
typedef struct redis_defrag redis_defrag;
typedef struct redis_info redis_info;
typedef struct redis_server_info redis_server_info;

typedef int (*redis_handler)(redis_ctx *ctx, redis_string **argv, int argc);

enum { REDIS_OK = 0, REDIS_ERR = 1 };
enum { REDIS_API_VERSION = 1 };
enum { REDIS_READ = 1, REDIS_WRITE = 2 };                   /* OpenKey */
enum { REDIS_KEYTYPE_EMPTY = 0, REDIS_KEYTYPE_MODULE = 6 }; /* KeyType */
enum { REDIS_POSTPONED_LEN = -1 };
enum { REDIS_NOTIFY_GENERIC = 1 << 2, REDIS_NOTIFY_MODULE = 1 << 13 };
enum { REDIS_OPTION_HANDLE_IO_ERRORS = 1 << 0 };
enum {
  REDIS_CTX_SLAVE = 1 << 3,
  REDIS_CTX_REPLICATED = 1 << 12,
  REDIS_CTX_LOADING = 1 << 13,
  REDIS_CTX_RESP3 = 1 << 22
};
enum { REDIS_CONFIG_DEFAULT = 0, REDIS_CONFIG_UNPREFIXED = 1 << 9 };

/* What a key of a command is used for (redis_key_spec.flags). */
#define REDIS_KEY_RO (1u << 0)
#define REDIS_KEY_RW (1u << 1)
#define REDIS_KEY_ACCESS (1u << 4)
#define REDIS_KEY_UPDATE (1u << 5)
#define REDIS_KEY_INSERT (1u << 6)
#define REDIS_KEY_DELETE (1u << 7)

enum { REDIS_BEGIN_SEARCH_INDEX = 2, REDIS_BEGIN_SEARCH_KEYWORD = 3, REDIS_FIND_KEYS_RANGE = 2 };

typedef struct redis_key_spec {
  const char *notes;
  uint64_t flags;
  int begin_search;
  union {
    struct {
      int pos;
    } index;
    struct {
      const char *keyword;
      int startfrom;
    } keyword;
  } begin;
  int find_keys;
  union {
    struct {
      int lastkey, keystep, limit;
    } range;
    struct {
      int keynumidx, firstkey, keystep;
    } keynum;
  } find;
} redis_key_spec;

enum {
  REDIS_ARG_STRING,
  REDIS_ARG_INTEGER,
  REDIS_ARG_DOUBLE,
  REDIS_ARG_KEY,
  REDIS_ARG_PATTERN,
  REDIS_ARG_UNIX_TIME,
  REDIS_ARG_PURE_TOKEN,
  REDIS_ARG_ONEOF,
  REDIS_ARG_BLOCK
};
enum { REDIS_ARG_OPTIONAL = 1, REDIS_ARG_MULTIPLE = 2 };

/* Arguments of a command for COMMAND DOCS; an array ends with a zero entry. */
typedef struct redis_arg {
  const char *name;
  int type;
  int key_spec_index; /* of a REDIS_ARG_KEY; -1 for all others */
  const char *token, *summary, *since;
  int flags;
  const char *deprecated_since;
  struct redis_arg *subargs;
  const char *display_text;
} redis_arg;

typedef struct redis_history {
  const char *since, *changes;
} redis_history;

typedef struct redis_command_info_version {
  int version;
  size_t sizeof_history, sizeof_key_spec, sizeof_arg;
} redis_command_info_version;

typedef struct redis_command_info {
  const redis_command_info_version *version;
  const char *summary, *complexity, *since;
  redis_history *history;
  const char *tips;
  int arity;
  redis_key_spec *key_specs;
  redis_arg *args;
} redis_command_info;

/* The methods of a data type up to version 3, which Redis 7.0 and all later servers take. */
enum { REDIS_TYPE_METHODS_VERSION = 3 };

typedef struct redis_type_methods {
  uint64_t version;
  void *(*rdb_load)(redis_io *io, int encver);
  void (*rdb_save)(redis_io *io, void *value);
  void (*aof_rewrite)(redis_io *io, redis_string *key, void *value);
  size_t (*mem_usage)(const void *value);
  void (*digest)(redis_digest *digest, void *value);
  void (*free)(void *value);
  int (*aux_load)(redis_io *io, int encver, int when);
  void (*aux_save)(redis_io *io, int when);
  int aux_save_triggers;
  size_t (*free_effort)(redis_string *key, const void *value);
  void (*unlink)(redis_string *key, const void *value);
  void *(*copy)(redis_string *from, redis_string *to, const void *value);
  int (*defrag)(redis_defrag *ctx, redis_string *key, void **value);
} redis_type_methods;

typedef redis_string *(*redis_config_get)(const char *name, void *privdata);
typedef int (*redis_config_set)(const char *name, redis_string *value, void *privdata,
                                redis_string **err);
typedef int (*redis_config_apply)(redis_ctx *ctx, void *privdata, redis_string **err);

#define REDIS_API_REQUIRED(X)                                                                    \
  X(void *, Alloc, (size_t size))                                                                \
  X(void *, TryAlloc, (size_t size))                                                             \
  X(void *, Calloc, (size_t n, size_t size))                                                     \
  X(void, Free, (void *ptr))                                                                     \
  X(int, CreateCommand,                                                                          \
    (redis_ctx * ctx, const char *name, redis_handler handler, const char *flags, int first,     \
     int last, int step))                                                                        \
  X(redis_cmd *, GetCommand, (redis_ctx * ctx, const char *name))                                \
  X(int, SetCommandInfo, (redis_cmd * command, const redis_command_info *info))                  \
  X(void, SetModuleAttribs, (redis_ctx * ctx, const char *name, int version, int api))           \
  X(int, IsModuleNameBusy, (const char *name))                                                   \
  X(void, SetModuleOptions, (redis_ctx * ctx, int options))                                      \
  X(redis_type *, CreateDataType,                                                                \
    (redis_ctx * ctx, const char *name, int encver, redis_type_methods *methods))                \
  X(int, GetContextFlags, (redis_ctx * ctx))                                                     \
  X(void, Log, (redis_ctx * ctx, const char *level, const char *format, ...))                    \
  X(int, WrongArity, (redis_ctx * ctx))                                                          \
  X(int, ReplyWithLongLong, (redis_ctx * ctx, long long value))                                  \
  X(int, ReplyWithBool, (redis_ctx * ctx, int value))                                            \
  X(int, ReplyWithDouble, (redis_ctx * ctx, double value))                                       \
  X(int, ReplyWithNull, (redis_ctx * ctx))                                                       \
  X(int, ReplyWithArray, (redis_ctx * ctx, long len))                                            \
  X(int, ReplyWithMap, (redis_ctx * ctx, long len))                                              \
  X(void, ReplySetArrayLength, (redis_ctx * ctx, long len))                                      \
  X(int, ReplyWithSimpleString, (redis_ctx * ctx, const char *text))                             \
  X(int, ReplyWithError, (redis_ctx * ctx, const char *text))                                    \
  X(int, ReplyWithStringBuffer, (redis_ctx * ctx, const char *bytes, size_t len))                \
  X(int, ReplicateVerbatim, (redis_ctx * ctx))                                                   \
  X(int, Replicate, (redis_ctx * ctx, const char *command, const char *format, ...))             \
  X(int, NotifyKeyspaceEvent, (redis_ctx * ctx, int type, const char *event, redis_string *key)) \
  X(void *, OpenKey, (redis_ctx * ctx, redis_string * name, int mode))                           \
  X(void, CloseKey, (redis_key * key))                                                           \
  X(int, KeyType, (redis_key * key))                                                             \
  X(redis_type *, ModuleTypeGetType, (redis_key * key))                                          \
  X(void *, ModuleTypeGetValue, (redis_key * key))                                               \
  X(int, ModuleTypeSetValue, (redis_key * key, redis_type * type, void *value))                  \
  X(const char *, StringPtrLen, (const redis_string *string, size_t *len))                       \
  X(int, StringToLongLong, (const redis_string *string, long long *value))                       \
  X(int, StringToDouble, (const redis_string *string, double *value))                            \
  X(redis_string *, CreateString, (redis_ctx * ctx, const char *bytes, size_t len))              \
  X(redis_string *, CreateStringPrintf, (redis_ctx * ctx, const char *format, ...))              \
  X(void, FreeString, (redis_ctx * ctx, redis_string * string))                                  \
  X(void, SaveUnsigned, (redis_io * io, uint64_t value))                                         \
  X(void, SaveDouble, (redis_io * io, double value))                                             \
  X(void, SaveStringBuffer, (redis_io * io, const char *bytes, size_t len))                      \
  X(uint64_t, LoadUnsigned, (redis_io * io))                                                     \
  X(double, LoadDouble, (redis_io * io))                                                         \
  X(char *, LoadStringBuffer, (redis_io * io, size_t * len))                                     \
  X(int, IsIOError, (redis_io * io))                                                             \
  X(void, LogIOError, (redis_io * io, const char *level, const char *format, ...))               \
  X(void, EmitAOF, (redis_io * io, const char *command, const char *format, ...))                \
  X(int, RegisterStringConfig,                                                                   \
    (redis_ctx * ctx, const char *name, const char *value, unsigned flags, redis_config_get get, \
     redis_config_set set, redis_config_apply apply, void *privdata))                            \
  X(int, LoadConfigs, (redis_ctx * ctx))                                                         \
  X(void *, DefragAlloc, (redis_defrag * ctx, void *ptr))                                        \
  X(int, DefragShouldStop, (redis_defrag * ctx))                                                 \
  X(int, DefragCursorSet, (redis_defrag * ctx, unsigned long cursor))                            \
  X(int, DefragCursorGet, (redis_defrag * ctx, unsigned long *cursor))                           \
  X(int, RegisterInfoFunc, (redis_ctx * ctx, void (*info)(redis_info * info, int for_crash)))    \
  X(int, InfoAddSection, (redis_info * info, const char *name))                                  \
  X(int, InfoAddFieldULongLong, (redis_info * info, const char *name, unsigned long long value)) \
  X(redis_server_info *, GetServerInfo, (redis_ctx * ctx, const char *section))                  \
  X(void, FreeServerInfo, (redis_ctx * ctx, redis_server_info * info))                           \
  X(unsigned long long, ServerInfoGetFieldUnsigned,                                              \
    (redis_server_info * info, const char *name, int *error))                                    \
  X(int, InfoAddFieldCString, (redis_info * info, const char *name, const char *value))          \
  X(void, DigestAddStringBuffer, (redis_digest * digest, const char *bytes, size_t len))         \
  X(void, DigestAddLongLong, (redis_digest * digest, long long value))                           \
  X(void, DigestEndSequence, (redis_digest * digest))                                            \
  X(void, GetRandomBytes, (unsigned char *bytes, size_t len))                                    \
  X(long long, Milliseconds, (void))

#define REDIS_API_OPTIONAL(X)                                                                  \
  X(void *, TryCalloc, (size_t n, size_t size))                                  /* 7.4 */     \
  X(int, AddACLCategory, (redis_ctx * ctx, const char *name))                    /* 7.4 */     \
  X(int, LoadDefaultConfigs, (redis_ctx * ctx))                                  /* Redis 8 */ \
  X(int, SetCommandACLCategories, (redis_cmd * command, const char *categories)) /* 7.2 */     \
  X(int, MustObeyClient, (redis_ctx * ctx))                                      /* Valkey 8.1 */

typedef struct redis_api {
#define X(type, name, arguments) type(*name) arguments;
  REDIS_API_REQUIRED(X)
  REDIS_API_OPTIONAL(X)
#undef X
  bool is_valkey;
} redis_api;

/* redis: bound by redis_api_bind, then never changed. */
extern redis_api redis;

/* redis_api_bind: NULL, or the name of a function that this server lacks and we need. */
const char *redis_api_bind(redis_ctx *ctx);

#endif /* NAY_REDIS_API_H */
