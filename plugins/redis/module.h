/*
 * module.h - what the files of the module share: tables of commands, settings, memory, keys.
 *
 * A family of commands is a `module_part`: its table of commands, its data type, its lines in INFO.
 * module.c has the list of parts and registers them; a part knows nothing of the others.
 */
#ifndef NAY_REDIS_MODULE_H
#define NAY_REDIS_MODULE_H

#include <nay_advanced.h>

#include "redis/redis.h"
#include "redis_api.h"

/* ---- parts -------------------------------------------------------------------------------------
 */

/*
 * key_use: which arguments of a command are keys, and what it does with them. The server enforces
 * ACL rules by the key specifications that module.c has for each: %R~ permits access, %W~ the rest.
 */
typedef enum key_use {
  KEYS_READ,     /* the first argument: its data is read */
  KEYS_READ_ALL, /* every argument is a key that is read */
  KEYS_DUMP,     /* likewise; RedisBloom calls it RW, and COMMAND INFO shows that */
  KEYS_INSERT,   /* the first argument: data is added, the key may be created */
  KEYS_UPDATE,   /* the first argument: data is overwritten */
  KEYS_DELETE,   /* the first argument: data is removed */
  KEYS_RESERVE,  /* the first argument is created; the one after LIKE, if any, is read */
  KEYS_MERGE,    /* the first argument is read and added to; all others are read */
  NKEYUSES
} key_use;

typedef struct module_command {
  const char *name; /* "bf.add": in lower case, as errors print it */
  redis_handler run;
  const char *flags; /* "write deny-oom" */
  const char *acl;   /* "write bloom": categories for servers that can set them */
  int arity;
  key_use keys;
  const char *since, *complexity, *summary;
  const char *tips; /* may be NULL */
  redis_arg *args;  /* ends with a zero entry */
} module_command;

typedef struct module_part {
  const char *acl_category; /* its own category, "bloom"; NULL: none */
  const module_command *commands;
  size_t ncommands;
  const char *type_name; /* nine characters */
  int encver;
  redis_type_methods *methods;
  redis_type **type;              /* set when the type is registered */
  void (*info)(redis_info *info); /* adds fields to the module's INFO section; may be NULL */
} module_part;

extern const module_part bf_part;
extern const module_part cf_part;
extern const module_part native_part;

/* Shorthand for rows of command tables. */
#define READ_FLAGS "readonly fast"
#define WRITE_FLAGS "write deny-oom"

/* Shorthand for rows of redis_arg tables. */
#define ARG_KEY \
  { .name = "key", .type = REDIS_ARG_KEY, .key_spec_index = 0 }
#define ARG(arg_name, arg_type) \
  { .name = arg_name, .type = arg_type, .key_spec_index = -1 }
#define ARG_MANY(arg_name, arg_type) \
  { .name = arg_name, .type = arg_type, .key_spec_index = -1, .flags = REDIS_ARG_MULTIPLE }
#define ARG_OPTION(arg_name, arg_type, arg_token)                                 \
  {                                                                               \
    .name = arg_name, .type = arg_type, .key_spec_index = -1, .token = arg_token, \
    .flags = REDIS_ARG_OPTIONAL                                                   \
  }
#define ARG_TOKEN(arg_name, arg_token) \
  { .name = arg_name, .type = REDIS_ARG_PURE_TOKEN, .key_spec_index = -1, .token = arg_token }
#define ARG_END \
  { .name = NULL }

/* Tables that commands of several types have, in keys.c. */
extern redis_arg args_key[], args_item[], args_items[], args_scandump[], args_loadchunk[];

/* ---- settings ----------------------------------------------------------------------------------
 */

/* module_settings: set by load arguments and CONFIG SET, read by commands. */
typedef struct module_settings {
  double bf_error_rate;
  long long bf_initial_size;
  long long bf_expansion_factor;
  long long cf_bucket_size;
  long long cf_initial_size;
  long long cf_max_iterations;
  long long cf_expansion_factor;
  long long cf_max_expansions;
} module_settings;

extern module_settings settings;

/* Limits that settings and commands share. */
enum { MAX_EXPANSION = 32768 };
#define MAX_CAPACITY (1ll << 30)

/* settings_load: defaults, then `NAME VALUE` pairs of the load command. REDIS_ERR: logged. */
int settings_load(redis_ctx *ctx, redis_string **argv, int argc);

/* settings_register: registers them for CONFIG GET and SET, and loads the configuration file's. */
int settings_register(redis_ctx *ctx);

/* ---- memory ------------------------------------------------------------------------------------
 */

/*
 * memory_use: memory and number of the values of one type, for INFO. A thread of the server may
 * free values, so the counters are atomic.
 */
typedef struct memory_use {
  _Atomic uint64_t nbytes;
  _Atomic uint64_t nvalues;
  uint64_t limit; /* of nbytes; set by the first allocation */
} memory_use;

/* memory_allocator, memory_zallocator: the server's allocator, counted in *use. They return NULL
 * when out of memory, where RedisModule_Alloc would abort the server. */
nay_allocator memory_allocator(memory_use *use);
nay_zallocator memory_zallocator(memory_use *use);

/* memory_adopt: counts a buffer of LoadStringBuffer that a value takes over; memory_disown undoes
 * it. */
void memory_adopt(memory_use *use, size_t size);
void memory_disown(memory_use *use, size_t size);

/*
 * memory_watch: a command starts that may create or change a filter. Until memory_unwatch, the
 * allocators refuse to make the filter larger than maxmemory allows in an otherwise empty server;
 * not on a replica, while a file is loaded, or for commands that must be obeyed. Called by key_open
 * and key_close.
 */
void memory_watch(redis_ctx *ctx);
void memory_unwatch(void);

/* memory_grows: the command adds to a filter that has `nbytes(value)` bytes already. */
void memory_grows(size_t (*nbytes)(const void *value), const void *value);

/* memory_permits: whether a filter of this size may be created; for sizes known in advance. */
bool memory_permits(uint64_t nbytes);

/* memory_error: the server's OOM error when maxmemory caused the last refusal of this command,
 * else the given error. */
const char *memory_error(const char *otherwise);

/* memory_value_made, memory_value_freed: count values. */
void memory_value_made(memory_use *use);
void memory_value_freed(memory_use *use);

/*
 * memory_free_effort: what freeing a value costs, in allocations. Gigabytes take the kernel a
 * while: they count as one for every 256 KiB, so that UNLINK hands values of 16 MiB and more (64
 * units) to the server's thread. Smaller ones are freed at once: eviction then knows what it has
 * gained.
 */
size_t memory_free_effort(uint64_t nallocations, uint64_t nbytes);

/*
 * memory_defrag: passes the parts of a value to the server's defragmenter, from its cursor on.
 * `move` passes one part by memory_move and returns false past the last. The result is that of the
 * type's defrag method.
 */
int memory_defrag(redis_defrag *ctx, void **value,
                  bool (*move)(void **value, uint64_t part, redis_defrag *ctx));
void *memory_move(void *ctx, void *ptr);

/* memory_info: the fields `<prefix>_values` and `<prefix>_bytes` of INFO. */
void memory_info(redis_info *info, const char *prefix, const memory_use *use);

/* ---- keys --------------------------------------------------------------------------------------
 */

typedef enum key_state { KEY_MISSING, KEY_OTHER, KEY_OURS } key_state;

/* A key that a command has opened; close it with key_close. `value` is set for KEY_OURS. */
typedef struct module_key {
  redis_key *handle;
  void *value;
} module_key;

/* key_open: mode is REDIS_READ, or REDIS_READ | REDIS_WRITE when the command may change the key;
 * then memory_watch is active until key_close. */
key_state key_open(redis_ctx *ctx, redis_string *name, int mode, redis_type *type, module_key *key);
void key_close(module_key *key);

/* key_need: the value of a key that was opened with this state. NULL: the client has received the
 * error, the key is closed. */
void *key_need(redis_ctx *ctx, key_state state, module_key *key);

/* key_close_error: closes the key and replies with an error. */
int key_close_error(redis_ctx *ctx, module_key *key, const char *text);

/* must_obey: the command comes from the master or from a file, so it was accepted before: limits
 * of this server do not apply. */
bool must_obey(redis_ctx *ctx);

/* key_event: sends a keyspace event. */
void key_event(redis_ctx *ctx, const char *event, redis_string *name);

#endif /* NAY_REDIS_MODULE_H */
