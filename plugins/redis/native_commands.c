/*
 * native_commands.c - NAY.*: the table of the commands on native filters, and what they share.
 *
 * native_reserve.c creates filters, native_keys.c adds, probes, counts and removes keys,
 * native_range.c answers ranges, native_merge.c unites filters, native_window.c is time,
 * native_dump.c loads and dumps native files, native_info.c describes a filter, metrics.c several
 * for Prometheus, native_type.c is the data type: RDB, AOF, memory. README.md has the grammar.
 */
#include <stdio.h>
#include <string.h>

#include "native.h"
#include "reply.h"

/* ---- what commands share ---- */

int native_reply_status(redis_ctx *ctx, nay_status status, const nay_diag *diag) {
  switch (status) {
    case NAY_ENOMEM: return reply_error(ctx, memory_error(ERROR_NO_MEMORY));
    case NAY_EFULL: return reply_error(ctx, "ERR the filter is full");
    default:
      return reply_errorf(
          ctx, "ERR %s", diag != NULL && diag->what != NULL ? diag->what : nay_status_text(status));
  }
}

native_state native_open(redis_ctx *ctx, redis_string *name, int mode, module_key *key,
                         nay_filter **filter) {
  const char *error = NULL;
  key_state state = key_open(ctx, name, mode, native_type, key);
  if (state == KEY_MISSING) return NATIVE_MISSING;
  if (state == KEY_OTHER) {
    error = ERROR_WRONGTYPE;
  } else if (((native_value *)key->value)->filter == NULL) {
    error = ERROR_LOADING;
  }
  if (error != NULL) {
    key_close(key);
    reply_error(ctx, error);
    return NATIVE_ANSWERED;
  }
  *filter = ((native_value *)key->value)->filter;
  return NATIVE_FOUND;
}

bool native_parse_u64(const redis_string *text, uint64_t *number) {
  size_t len;
  const char *at = redis.StringPtrLen(text, &len);
  uint64_t x = 0;
  if (len == 0 || len > 20) return false;
  for (size_t i = 0; i < len; i++) {
    if (at[i] < '0' || at[i] > '9') return false;
    uint64_t digit = (uint64_t)(at[i] - '0');
    if (x > (UINT64_MAX - digit) / 10) return false;
    x = x * 10 + digit;
  }
  *number = x;
  return true;
}

void native_hex(const uint8_t secret[16], char text[33]) {
  for (unsigned i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", secret[i]);
}

bool native_parse_hex(const redis_string *text, uint8_t secret[16]) {
  size_t len;
  const char *at = redis.StringPtrLen(text, &len);
  if (len != 32) return false;
  for (size_t i = 0; i < len; i++) {
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *digit = at[i] != '\0' ? strchr(digits, at[i]) : NULL;
    if (digit == NULL) return false;
    unsigned nibble = (unsigned)(digit - digits) & 15;
    secret[i / 2] = (uint8_t)(i % 2 == 0 ? nibble << 4 : secret[i / 2] | nibble);
  }
  return true;
}

/* ---- the table ---- */

static redis_arg args_reserve[] = {ARG_KEY,
                                   ARG("fpr", REDIS_ARG_DOUBLE),
                                   ARG("capacity", REDIS_ARG_INTEGER),
                                   ARG_OPTION("kind", REDIS_ARG_STRING, "KIND"),
                                   ARG_OPTION("length", REDIS_ARG_INTEGER, "WINDOW"),
                                   ARG_OPTION("seconds", REDIS_ARG_PURE_TOKEN, "SECONDS"),
                                   ARG_OPTION("ticks", REDIS_ARG_PURE_TOKEN, "TICKS"),
                                   ARG_OPTION("keys", REDIS_ARG_PURE_TOKEN, "KEYS"),
                                   ARG_OPTION("generations", REDIS_ARG_INTEGER, "GENERATIONS"),
                                   ARG_OPTION("bytes", REDIS_ARG_INTEGER, "MEMORY"),
                                   {.name = "like",
                                    .type = REDIS_ARG_KEY,
                                    .key_spec_index = 1,
                                    .token = "LIKE",
                                    .flags = REDIS_ARG_OPTIONAL},
                                   ARG_OPTION("seed", REDIS_ARG_INTEGER, "SEED"),
                                   ARG_OPTION("hash-key", REDIS_ARG_STRING, "HASHKEY"),
                                   ARG_OPTION("key-type", REDIS_ARG_STRING, "KEYTYPE"),
                                   ARG_OPTION("max-capacity", REDIS_ARG_INTEGER, "MAXCAPACITY"),
                                   ARG_OPTION("unique", REDIS_ARG_PURE_TOKEN, "UNIQUE"),
                                   ARG_OPTION("bits", REDIS_ARG_INTEGER, "BITS"),
                                   ARG_OPTION("probes", REDIS_ARG_INTEGER, "PROBES"),
                                   ARG_OPTION("tag-bits", REDIS_ARG_INTEGER, "TAGBITS"),
                                   ARG_END};
static redis_arg args_range[] = {ARG_KEY, ARG("first", REDIS_ARG_STRING),
                                 ARG("last", REDIS_ARG_STRING), ARG_END};
static redis_arg args_merge[] = {
    {.name = "destination", .type = REDIS_ARG_KEY, .key_spec_index = 0},
    {.name = "source", .type = REDIS_ARG_KEY, .key_spec_index = 1, .flags = REDIS_ARG_MULTIPLE},
    ARG_END};
static redis_arg args_advance[] = {
    ARG_KEY,
    {.name = "now", .type = REDIS_ARG_INTEGER, .key_spec_index = -1, .flags = REDIS_ARG_OPTIONAL},
    ARG_END};
static redis_arg args_load[] = {ARG_KEY,
                                ARG("offset", REDIS_ARG_INTEGER),
                                ARG("bytes", REDIS_ARG_STRING),
                                ARG_OPTION("replace", REDIS_ARG_PURE_TOKEN, "REPLACE"),
                                ARG_OPTION("seconds", REDIS_ARG_PURE_TOKEN, "SECONDS"),
                                ARG_OPTION("hash-key", REDIS_ARG_STRING, "HASHKEY"),
                                ARG_END};
static redis_arg args_dump[] = {
    ARG_KEY,
    ARG("offset", REDIS_ARG_INTEGER),
    {.name = "count", .type = REDIS_ARG_INTEGER, .key_spec_index = -1, .flags = REDIS_ARG_OPTIONAL},
    ARG_END};
static redis_arg args_info[] = {
    ARG_KEY,
    {.name = "field", .type = REDIS_ARG_STRING, .key_spec_index = -1, .flags = REDIS_ARG_OPTIONAL},
    ARG_END};

static redis_arg args_prom[] = {
    {.name = "key", .type = REDIS_ARG_KEY, .key_spec_index = 0, .flags = REDIS_ARG_MULTIPLE},
    ARG_END};

static const module_command commands[] = {
    {.name = "nay.reserve",
     .run = native_reserve_command,
     .flags = "write deny-oom",
     .acl = "write fast nay",
     .arity = -4,
     .keys = KEYS_RESERVE,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes",
     .summary = "Creates an empty filter of a kind, for a false-positive rate and a capacity",
     .args = args_reserve},
    {.name = "nay.add",
     .run = native_add_command,
     .flags = "write deny-oom fast",
     .acl = "write fast nay",
     .arity = 3,
     .keys = KEYS_INSERT,
     .since = "0.10.0",
     .complexity = "O(1); scalable: O(log N) where N is the number of keys",
     .summary = "Adds a key to a filter, which is created if it does not exist",
     .args = args_item},
    {.name = "nay.madd",
     .run = native_madd_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -3,
     .keys = KEYS_INSERT,
     .since = "0.10.0",
     .complexity = "O(M) where M is the number of items",
     .summary = "Adds keys to a filter, which is created if it does not exist",
     .args = args_items},
    {.name = "nay.test",
     .run = native_test_command,
     .flags = "readonly fast",
     .acl = "read fast nay",
     .arity = 3,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(1); scalable: O(log N) where N is the number of keys",
     .summary = "Checks whether a key may be in a filter; 0 is certain",
     .args = args_item},
    {.name = "nay.mtest",
     .run = native_mtest_command,
     .flags = "readonly fast",
     .acl = "read nay",
     .arity = -3,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(M) where M is the number of items",
     .summary = "Checks which keys may be in a filter; 0 is certain",
     .args = args_items},
    {.name = "nay.range",
     .run = native_range_command,
     .flags = "readonly fast",
     .acl = "read fast nay",
     .arity = 4,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(1)",
     .summary = "Checks whether a range filter may have a key between two keys; 0 is certain",
     .args = args_range},
    {.name = "nay.del",
     .run = native_del_command,
     .flags = "write fast",
     .acl = "write fast nay",
     .arity = 3,
     .keys = KEYS_DELETE,
     .since = "0.10.0",
     .complexity = "O(1)",
     .summary = "Removes a key that was added to a counting or cuckoo filter",
     .args = args_item},
    {.name = "nay.count",
     .run = native_count_command,
     .flags = "readonly fast",
     .acl = "read fast nay",
     .arity = 3,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(1)",
     .summary =
         "Returns an upper bound of how often a key was added to a counting or cuckoo filter",
     .args = args_item},
    {.name = "nay.merge",
     .run = native_merge_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -3,
     .keys = KEYS_MERGE,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes of all filters",
     .summary = "Merges filters into another one; does not need the keys",
     .args = args_merge},
    {.name = "nay.advance",
     .run = native_advance_command,
     .flags = "write",
     .acl = "write nay",
     .arity = -2,
     .keys = KEYS_UPDATE,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes, when a generation ends; otherwise O(1)",
     .summary = "Advances the clock of a window; drops keys that are too old",
     .args = args_advance},
    {.name = "nay.load",
     .run = native_load_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -4,
     .keys = KEYS_INSERT,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes",
     .summary = "Loads a native file in chunks; the last chunk completes the filter",
     .args = args_load},
    {.name = "nay.dump",
     .run = native_dump_command,
     .flags = "readonly",
     .acl = "read nay",
     .arity = -3,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes of the filter for the first chunk, "
                   "of the chunk for others",
     .summary = "Returns a chunk of a filter as a native file, and the next offset",
     .tips = "dont_cache",
     .args = args_dump},
    {.name = "nay.info",
     .run = native_info_command,
     .flags = "readonly",
     .acl = "read nay",
     .arity = -2,
     .keys = KEYS_READ,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes; O(1) for fields that are not measured",
     .summary =
         "Returns the kind, fill, estimated keys and current false-positive rate of a filter",
     .tips = "dont_cache",
     .args = args_info},
    {.name = "nay.prom",
     .run = native_prom_command,
     .flags = "readonly",
     .acl = "read nay",
     .arity = -2,
     .keys = KEYS_READ_ALL,
     .since = "0.10.0",
     .complexity = "O(N) where N is the number of bytes of all native filters",
     .summary = "Returns metrics of filters in the text format of Prometheus",
     .tips = "dont_cache",
     .args = args_prom},
};

static void native_info(redis_info *info) { memory_info(info, "nay", &native_memory); }

const module_part native_part = {.acl_category = "nay",
                                 .commands = commands,
                                 .ncommands = sizeof commands / sizeof commands[0],
                                 .type_name = "nayfilter",
                                 .encver = NATIVE_ENCVER,
                                 .methods = &native_methods,
                                 .type = &native_type,
                                 .info = native_info};
