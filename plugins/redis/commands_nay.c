/*
 * commands_nay.c - NAY.*: native filters. Keys here; making, merging, time, bytes and facts in the
 * files beside it. README.md has the grammar.
 *
 * Adds that change nothing are not replicated, and adds that fail are left out: a replica hears of
 * exactly what happened here.
 */
#include <stdio.h>
#include <string.h>

#include "reply.h"
#include "type_nay.h"

/* Items of one batch: four groups of the library, whose memory is fetched ahead. */
enum { BATCH = 256 };

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

/* Whether this kind of filter can do something; if not, the client is told and the key closed. */
static bool require(redis_ctx *ctx, module_key *key, const nay_filter *filter, unsigned trait,
                    const char *what) {
  nay_kind kind = nay_filter_kind(filter);
  if ((nay_kind_traits(kind) & trait) != 0) return true;
  key_close(key);
  reply_errorf(ctx, "ERR a %s filter %s", nay_kind_name(kind), what);
  return false;
}

/* ---- batches ---- */

typedef struct batch {
  const void *keys[BATCH];
  size_t lens[BATCH];
  size_t n;
} batch;

static void batch_fill(batch *b, redis_string **items, size_t nitems) {
  b->n = nitems < BATCH ? nitems : BATCH;
  for (size_t i = 0; i < b->n; i++) b->keys[i] = redis.StringPtrLen(items[i], &b->lens[i]);
}

/* ---- adding ---- */

/* What has become of the items of one command. */
typedef struct adding {
  redis_ctx *ctx;
  nay_filter *filter;
  nay_kind kind;
  redis_string **done; /* items that went in, once one has failed; NULL: none has */
  size_t ndone, nnew;
} adding;

/* In sets a key that tests maybe changes no bit when it is added. */
static bool adding_is_set(nay_kind kind) {
  return kind == NAY_BLOOM || kind == NAY_BLOCKED || kind == NAY_SCALABLE;
}

static void adding_tell(adding *a, redis_string **items, size_t at, size_t nitems,
                        nay_status status, bool is_new) {
  if (status == NAY_OK) {
    redis.ReplyWithBool(a->ctx, is_new);
    if (a->done != NULL) a->done[a->ndone] = items[at];
    a->ndone++;
    a->nnew += is_new;
    return;
  }
  if (a->done == NULL) { /* the first that failed: all before it went in */
    a->done = redis.Alloc(nitems * sizeof *a->done);
    memcpy(a->done, items, a->ndone * sizeof *a->done);
  }
  native_reply_status(a->ctx, status, NULL);
}

/* Families that are never full take a batch as it is. */
static void adding_batch(adding *a, const batch *b, redis_string **items, size_t first,
                         size_t nitems) {
  uint64_t bitmap[BATCH / 64];
  nay_status status = nay_filter_add_many(a->filter, b->keys, b->lens, b->n, bitmap);
  for (size_t i = 0; i < b->n; i++) {
    bool is_new = status == NAY_OK && (bitmap[i / 64] >> i % 64 & 1) != 0;
    adding_tell(a, items, first + i, nitems, status, is_new);
  }
}

/*
 * Others may fail in the middle, and every item has an answer of its own. Probing them all first
 * brings their memory into the cache, and tells which keys a set has already.
 */
static void adding_singly(adding *a, const batch *b, redis_string **items, size_t first,
                          size_t nitems) {
  uint64_t hashes[BATCH], seen[BATCH / 64];
  nay_status status = nay_filter_hash_many(a->filter, b->keys, b->lens, b->n, hashes, NULL);
  if (status == NAY_OK) {
    status = nay_filter_may_contain_hash_many(a->filter, hashes, NULL, b->n, seen);
  }
  for (size_t i = 0; i < b->n; i++) {
    bool is_new = false, is_there = status == NAY_OK && (seen[i / 64] >> i % 64 & 1) != 0;
    nay_status one = status;
    if (one == NAY_OK && !(is_there && adding_is_set(a->kind))) {
      one = nay_filter_add_hash(a->filter, (nay_hash){hashes[i], 0}, &is_new);
    }
    adding_tell(a, items, first + i, nitems, one, is_new);
  }
}

static void adding_all(adding *a, redis_string **items, size_t nitems) {
  bool may_fail = (nay_kind_traits(a->kind) & NAY_CAN_GROW) != 0;
  for (size_t first = 0; first < nitems; first += BATCH) {
    batch b;
    batch_fill(&b, items + first, nitems - first);
    (may_fail ? adding_singly : adding_batch)(a, &b, items, first, nitems);
  }
}

static void adding_propagate(adding *a, redis_string *name) {
  bool changed = adding_is_set(a->kind) ? a->nnew != 0 : a->ndone != 0;
  if (changed) {
    if (a->done == NULL) {
      redis.ReplicateVerbatim(a->ctx);
    } else {
      redis.Replicate(a->ctx, "NAY.MADD", "sv", name, a->done, a->ndone);
    }
    key_event(a->ctx, "nay.add", name);
  }
  if (a->done != NULL) redis.Free(a->done);
}

static int add_items(redis_ctx *ctx, redis_string **argv, int argc, bool is_array) {
  module_key key;
  nay_filter *filter;
  native_state state = native_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_MISSING) {
    nay_params params = native_default_params();
    nay_status status = native_create(ctx, argv[1], &key, &params, false);
    if (status != NAY_OK) {
      key_close(&key);
      return native_reply_status(ctx, status, NULL);
    }
    filter = ((native_value *)key.value)->filter;
  }
  if (!require(ctx, &key, filter, NAY_CAN_ADD, "is static and takes no keys")) return REDIS_OK;
  native_tick(ctx, argv[1], key.value);
  adding a = {.ctx = ctx, .filter = filter, .kind = nay_filter_kind(filter)};
  if (is_array) redis.ReplyWithArray(ctx, argc - 2);
  adding_all(&a, argv + 2, (size_t)argc - 2);
  adding_propagate(&a, argv[1]);
  key_close(&key);
  return REDIS_OK;
}

static int add_command(redis_ctx *ctx, redis_string **argv, int argc) {
  return argc == 3 ? add_items(ctx, argv, argc, false) : redis.WrongArity(ctx);
}

static int madd_command(redis_ctx *ctx, redis_string **argv, int argc) {
  return argc >= 3 ? add_items(ctx, argv, argc, true) : redis.WrongArity(ctx);
}

/* ---- asking ---- */

static int test_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter = NULL;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  size_t len;
  const char *item = redis.StringPtrLen(argv[2], &len);
  bool maybe = state == NATIVE_FOUND && nay_filter_may_contain(filter, item, len);
  key_close(&key);
  return redis.ReplyWithBool(ctx, maybe);
}

static int mtest_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter = NULL;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  size_t nitems = (size_t)argc - 2;
  redis.ReplyWithArray(ctx, argc - 2);
  for (size_t first = 0; first < nitems; first += BATCH) {
    batch b;
    uint64_t bitmap[BATCH / 64] = {0};
    batch_fill(&b, argv + 2 + first, nitems - first);
    if (filter != NULL) nay_filter_may_contain_many(filter, b.keys, b.lens, b.n, bitmap);
    for (size_t i = 0; i < b.n; i++) redis.ReplyWithBool(ctx, (bitmap[i / 64] >> i % 64 & 1) != 0);
  }
  key_close(&key);
  return REDIS_OK;
}

static int count_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  uint64_t count = 0;
  nay_status status = NAY_OK;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_FOUND) {
    if (!require(ctx, &key, filter, NAY_CAN_COUNT, "does not count")) return REDIS_OK;
    size_t len;
    const char *item = redis.StringPtrLen(argv[2], &len);
    status = nay_filter_count(filter, item, len, &count);
  }
  key_close(&key);
  if (status != NAY_OK) return native_reply_status(ctx, status, NULL);
  return redis.ReplyWithLongLong(ctx, (long long)count);
}

/* ---- removing ---- */

static int del_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  nay_status status = NAY_ENOENT;
  native_state state = native_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_FOUND) {
    if (!require(ctx, &key, filter, NAY_CAN_REMOVE, "cannot remove keys")) return REDIS_OK;
    size_t len;
    const char *item = redis.StringPtrLen(argv[2], &len);
    status = nay_filter_remove(filter, item, len);
  }
  key_close(&key);
  if (status != NAY_OK && status != NAY_ENOENT) return native_reply_status(ctx, status, NULL);
  if (status == NAY_OK) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "nay.del", argv[1]);
  }
  return redis.ReplyWithBool(ctx, status == NAY_OK);
}

/* ---- the table ---- */

static redis_arg args_item[] = {ARG_KEY, ARG("item", REDIS_ARG_STRING), ARG_END};
static redis_arg args_items[] = {ARG_KEY, ARG_MANY("item", REDIS_ARG_STRING), ARG_END};
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
                                   ARG_OPTION("max-capacity", REDIS_ARG_INTEGER, "MAXCAPACITY"),
                                   ARG_OPTION("unique", REDIS_ARG_PURE_TOKEN, "UNIQUE"),
                                   ARG_OPTION("bits", REDIS_ARG_INTEGER, "BITS"),
                                   ARG_OPTION("probes", REDIS_ARG_INTEGER, "PROBES"),
                                   ARG_OPTION("tag-bits", REDIS_ARG_INTEGER, "TAGBITS"),
                                   ARG_END};
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

static const module_command commands[] = {
    {.name = "nay.reserve",
     .run = native_reserve_command,
     .flags = "write deny-oom",
     .acl = "write fast nay",
     .arity = -4,
     .keys = KEYS_RESERVE,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes",
     .summary = "Makes an empty filter of a kind, a size and a rate of false positives",
     .args = args_reserve},
    {.name = "nay.add",
     .run = add_command,
     .flags = "write deny-oom fast",
     .acl = "write fast nay",
     .arity = 3,
     .keys = KEYS_INSERT,
     .since = "0.1.0",
     .complexity = "O(1); scalable: O(log N) where N is the number of keys",
     .summary = "Adds a key to a filter, which is made if there is none",
     .args = args_item},
    {.name = "nay.madd",
     .run = madd_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -3,
     .keys = KEYS_INSERT,
     .since = "0.1.0",
     .complexity = "O(M) where M is the number of items",
     .summary = "Adds many keys to a filter, which is made if there is none",
     .args = args_items},
    {.name = "nay.test",
     .run = test_command,
     .flags = "readonly fast",
     .acl = "read fast nay",
     .arity = 3,
     .keys = KEYS_READ,
     .since = "0.1.0",
     .complexity = "O(1); scalable: O(log N) where N is the number of keys",
     .summary = "Asks whether a key may have been added; no is certain",
     .args = args_item},
    {.name = "nay.mtest",
     .run = mtest_command,
     .flags = "readonly fast",
     .acl = "read nay",
     .arity = -3,
     .keys = KEYS_READ,
     .since = "0.1.0",
     .complexity = "O(M) where M is the number of items",
     .summary = "Asks for many keys whether they may have been added; no is certain",
     .args = args_items},
    {.name = "nay.del",
     .run = del_command,
     .flags = "write fast",
     .acl = "write fast nay",
     .arity = 3,
     .keys = KEYS_DELETE,
     .since = "0.1.0",
     .complexity = "O(1)",
     .summary = "Removes a key that was added: counting and cuckoo",
     .args = args_item},
    {.name = "nay.count",
     .run = count_command,
     .flags = "readonly fast",
     .acl = "read fast nay",
     .arity = 3,
     .keys = KEYS_READ,
     .since = "0.1.0",
     .complexity = "O(1)",
     .summary = "Tells at most how often a key was added: counting and cuckoo",
     .args = args_item},
    {.name = "nay.merge",
     .run = native_merge_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -3,
     .keys = KEYS_MERGE,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes of all filters",
     .summary = "Adds the keys of filters to another one, without the keys",
     .args = args_merge},
    {.name = "nay.advance",
     .run = native_advance_command,
     .flags = "write",
     .acl = "write nay",
     .arity = -2,
     .keys = KEYS_UPDATE,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes, when a generation ends; otherwise O(1)",
     .summary = "Tells a window what time it is; keys that are too old are forgotten",
     .args = args_advance},
    {.name = "nay.load",
     .run = native_load_command,
     .flags = "write deny-oom",
     .acl = "write nay",
     .arity = -4,
     .keys = KEYS_INSERT,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes",
     .summary = "Takes bytes of a native file; the last make it a filter",
     .args = args_load},
    {.name = "nay.dump",
     .run = native_dump_command,
     .flags = "readonly",
     .acl = "read nay",
     .arity = -3,
     .keys = KEYS_READ,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes of the filter for the first piece, "
                   "of the piece for others",
     .summary = "Gives bytes of a filter as a native file, and where to go on",
     .tips = "dont_cache",
     .args = args_dump},
    {.name = "nay.info",
     .run = native_info_command,
     .flags = "readonly",
     .acl = "read nay",
     .arity = -2,
     .keys = KEYS_READ,
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes; O(1) for fields that are not measured",
     .summary = "Tells the kind, fill, estimated keys and present rate of a filter",
     .tips = "dont_cache",
     .args = args_info},
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
