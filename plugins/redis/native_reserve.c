/*
 * native_reserve.c - NAY.RESERVE: parses its options, creates the filter, replicates it.
 *
 * Replicas and the AOF do not receive the client's arguments: defaults may change with a version,
 * an FPR becomes a size by computation, a secret key is random. The command is replicated with the
 * size in bits, the number of probes and the key (nay_filter_params), so that the bytes of the
 * filter are the same everywhere.
 */
#include <stddef.h>
#include <string.h>

#include "native.h"
#include "reply.h"

/* The first capacity of a filter that an add creates: 2.2 KB; 17.8 bits per key at a million. */
enum { FIRST_CAPACITY = 1000 };

/* Generations of a window, unless it is shorter: the library's default. */
enum { GENERATIONS = 7 };

typedef enum window_unit { UNIT_SECONDS, UNIT_TICKS, UNIT_KEYS } window_unit;

/* The arguments. Numbers are 0 when not given; `given` has a bit for each option. */
typedef struct reserve {
  double fpr;
  uint64_t capacity;
  nay_kind kind;
  uint64_t window, generations, memory, seed, max_capacity, bits, probes, tag_bits;
  window_unit unit;
  redis_string *like;
  char key_type[NAY_KEY_DESCRIPTION_MAX + 1];
  uint8_t secret[16];
  unsigned given;
} reserve;

/* Options that take a number. */
typedef struct number_option {
  const char *word;
  size_t field;
  uint64_t most;
} number_option;

#define NUMBER(option, name, most) \
  { option, offsetof(reserve, name), most }

static const number_option numbers[] = {
    NUMBER("WINDOW", window, INT64_MAX),
    NUMBER("GENERATIONS", generations, UINT32_MAX),
    NUMBER("MEMORY", memory, INT64_MAX),
    NUMBER("SEED", seed, UINT64_MAX),
    NUMBER("MAXCAPACITY", max_capacity, INT64_MAX),
    NUMBER("BITS", bits, INT64_MAX),
    NUMBER("PROBES", probes, UINT32_MAX),
    NUMBER("TAGBITS", tag_bits, UINT32_MAX),
};
enum { NNUMBERS = sizeof numbers / sizeof numbers[0] };

/* Bits of `given`: those of the table in order, then the others. */
enum {
  GIVEN_WINDOW = 1 << 0,
  GIVEN_GENERATIONS = 1 << 1,
  GIVEN_MEMORY = 1 << 2,
  GIVEN_SEED = 1 << 3,
  GIVEN_BITS = 1 << 5,
  GIVEN_KIND = 1 << NNUMBERS,
  GIVEN_LIKE = 1 << (NNUMBERS + 1),
  GIVEN_HASHKEY = 1 << (NNUMBERS + 2),
  GIVEN_UNIQUE = 1 << (NNUMBERS + 3),
  GIVEN_KEYTYPE = 1 << (NNUMBERS + 4),
};

/* ---- arguments ---- */

static const char *parse_number(reserve *r, size_t which, redis_string **argv, int argc, int *at) {
  uint64_t value;
  if (*at + 1 >= argc) return "ERR an option has no value";
  if (!native_parse_u64(argv[*at + 1], &value) || value > numbers[which].most) {
    return "ERR the value of an option must be an integer";
  }
  memcpy((char *)r + numbers[which].field, &value, sizeof value);
  r->given |= 1u << which;
  *at += 2;
  if (which != 0 || *at >= argc) return NULL;
  static const char *const units[] = {"SECONDS", "TICKS", "KEYS"};
  for (unsigned unit = UNIT_SECONDS; unit <= UNIT_KEYS; unit++) {
    if (!arg_is(argv[*at], units[unit])) continue;
    r->unit = (window_unit)unit;
    ++*at;
    break;
  }
  return NULL;
}

static const char *parse_kind(reserve *r, const redis_string *argument) {
  char name[16] = {0};
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  for (size_t i = 0; i < len && i < sizeof name - 1; i++) {
    name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
  }
  if (len >= sizeof name || nay_kind_parse(name, &r->kind) != NAY_OK || r->kind == NAY_AUTO) {
    return "ERR KIND is one of blocked, counting, scalable, cuckoo, window, bloom";
  }
  if ((nay_kind_traits(r->kind) & NAY_CAN_ADD) == 0) {
    return "ERR KIND: a static filter is built from all keys at once: use NAY.LOAD";
  }
  r->given |= GIVEN_KIND;
  return NULL;
}

static const char *parse_key_type(reserve *r, const redis_string *argument) {
  nay_key_description how = {.size = sizeof how};
  size_t len;
  const char *text = redis.StringPtrLen(argument, &len);
  if (len < sizeof r->key_type) memcpy(r->key_type, text, len);
  bool whole = len < sizeof r->key_type && strlen(r->key_type) == len;
  if (!whole || nay_key_description_parse(r->key_type, NULL, &how) != NAY_OK) {
    return "ERR KEYTYPE is one of text, int, float, bool, date, timestamp, uuid, numeric";
  }
  /* items are converted by the type that the filter states, which is never a notation */
  char canonical[NAY_KEY_DESCRIPTION_MAX + 1];
  bool notation =
      how.type == NAY_KEY_HEX || how.type == NAY_KEY_B64 || strncmp(r->key_type, "bytes", 5) == 0;
  if (nay_key_description_canonical(text, len, NULL, canonical) != NAY_OK || notation) {
    return "ERR KEYTYPE: bytes, hex and b64 are notations of text; decode the items, and give text";
  }
  memcpy(r->key_type, canonical, sizeof canonical);
  r->given |= GIVEN_KEYTYPE;
  return NULL;
}

static const char *parse_option(reserve *r, redis_string **argv, int argc, int *at) {
  for (size_t i = 0; i < NNUMBERS; i++) {
    if (arg_is(argv[*at], numbers[i].word)) return parse_number(r, i, argv, argc, at);
  }
  if (arg_is(argv[*at], "UNIQUE")) {
    r->given |= GIVEN_UNIQUE;
    ++*at;
    return NULL;
  }
  bool is_kind = arg_is(argv[*at], "KIND"), is_like = arg_is(argv[*at], "LIKE");
  bool is_key_type = arg_is(argv[*at], "KEYTYPE");
  if (!is_kind && !is_like && !is_key_type && !arg_is(argv[*at], "HASHKEY")) {
    return "ERR unknown option";
  }
  if (*at + 1 >= argc) return "ERR an option has no value";
  redis_string *value = argv[*at + 1];
  *at += 2;
  if (is_kind) return parse_kind(r, value);
  if (is_key_type) return parse_key_type(r, value);
  r->given |= is_like ? GIVEN_LIKE : GIVEN_HASHKEY;
  if (is_like) {
    r->like = value;
    return NULL;
  }
  return native_parse_hex(value, r->secret) ? NULL : "ERR HASHKEY must be 32 hexadecimal digits";
}

/* The server checks the ACL of the first LIKE only, so no option may be repeated. */
static const char *parse_options(reserve *r, redis_string **argv, int argc, int at) {
  const char *error = NULL;
  while (error == NULL && at < argc) {
    unsigned before = r->given;
    error = parse_option(r, argv, argc, &at);
    if (error == NULL && r->given == before) error = "ERR an option is given twice";
  }
  return error;
}

/* The FPR is ignored when the size is given in bits, and both are with LIKE. */
static const char *parse_sizes(reserve *r, redis_string **argv) {
  long long capacity;
  if (redis.StringToDouble(argv[2], &r->fpr) != REDIS_OK) return "ERR bad error rate";
  if (redis.StringToLongLong(argv[3], &capacity) != REDIS_OK || capacity < 0) {
    return "ERR bad capacity";
  }
  r->capacity = (uint64_t)capacity;
  return NULL;
}

static const char *parse_reserve(reserve *r, redis_string **argv, int argc) {
  *r = (reserve){.kind = NAY_SCALABLE};
  bool is_short = argc == 4 && arg_is(argv[2], "LIKE");
  int at = is_short ? 2 : 4;
  const char *error = is_short ? NULL : parse_sizes(r, argv);
  if (error == NULL) error = parse_options(r, argv, argc, at);
  if (error != NULL) return error;
  if ((r->given & GIVEN_LIKE) != 0) {
    bool alone = (r->given & ~(unsigned)(GIVEN_LIKE | GIVEN_MEMORY)) == 0;
    return alone ? NULL : "ERR LIKE takes all parameters of the other filter, save MEMORY";
  }
  if ((r->given & GIVEN_BITS) == 0 && !(r->fpr > 0 && r->fpr < 1)) {
    return "ERR error rate must be in the range (0, 1)";
  }
  if ((r->given & GIVEN_BITS) == 0 && r->capacity == 0 && r->kind != NAY_SCALABLE) {
    return "ERR bad capacity";
  }
  if ((r->given & GIVEN_SEED) != 0 && (r->given & GIVEN_HASHKEY) != 0) {
    return "ERR SEED is for the unkeyed hash, HASHKEY for the keyed: give one";
  }
  if ((r->given & (GIVEN_WINDOW | GIVEN_GENERATIONS)) != 0) {
    if ((r->given & GIVEN_KIND) == 0) r->kind = NAY_WINDOW;
    if (r->kind != NAY_WINDOW) return "ERR WINDOW and GENERATIONS are for KIND window";
  }
  if ((r->given & GIVEN_WINDOW) != 0 && r->unit == UNIT_KEYS && r->window != r->capacity) {
    return "ERR WINDOW in KEYS is the capacity";
  }
  return NULL;
}

/* ---- parameters ---- */

nay_params native_default_params(void) {
  nay_params p = {.size = sizeof p,
                  .kind = NAY_SCALABLE,
                  .nkeys = FIRST_CAPACITY,
                  .fpr = 0.01,
                  .flags = NAY_STORE_KEY | NAY_ZEROED,
                  .hash = NAY_HASH_SIPHASH};
  redis.GetRandomBytes(p.key, sizeof p.key);
  return p;
}

static nay_params reserve_params(const reserve *r) {
  nay_params p = native_default_params();
  p.kind = r->kind;
  p.nkeys = r->capacity;
  p.fpr = (r->given & GIVEN_BITS) != 0 && r->kind != NAY_SCALABLE ? 0 : r->fpr;
  p.nbits = r->bits;
  p.k = (uint32_t)r->probes;
  p.tag_bits = (uint32_t)r->tag_bits;
  p.max_nkeys = r->max_capacity;
  p.generations = (uint32_t)r->generations;
  p.window = r->unit == UNIT_KEYS ? 0 : r->window;
  if (p.window != 0 && p.window < GENERATIONS && p.generations == 0) {
    p.generations = (uint32_t)p.window;
  }
  if ((r->given & GIVEN_UNIQUE) != 0) p.flags |= NAY_UNIQUE;
  if ((r->given & GIVEN_HASHKEY) != 0) memcpy(p.key, r->secret, sizeof p.key);
  if ((r->given & GIVEN_SEED) != 0) {
    memset(p.key, 0, sizeof p.key);
    p.hash = NAY_HASH_XXH3;
    p.seed = r->seed;
  }
  return p;
}

/* The parameters and the key type of the filter at `name`. NULL, or the error. */
static const char *like_params(redis_ctx *ctx, redis_string *name, nay_params *params,
                               bool *by_seconds, char key_type[NAY_KEY_DESCRIPTION_MAX + 1]) {
  module_key key;
  key_state state = key_open(ctx, name, REDIS_READ, native_type, &key);
  const native_value *other = state == KEY_OURS ? key.value : NULL;
  const char *error = state == KEY_MISSING    ? "ERR LIKE: no such key"
                      : state == KEY_OTHER    ? ERROR_WRONGTYPE
                      : other->filter == NULL ? ERROR_LOADING
                      : nay_filter_params(other->filter, params) != NAY_OK
                          ? "ERR LIKE: a static filter takes no keys"
                          : NULL;
  if (error == NULL) {
    *by_seconds = other->extras.by_seconds;
    memcpy(key_type, nay_filter_key(other->filter), strlen(nay_filter_key(other->filter)) + 1);
    params->flags |= NAY_STORE_KEY | NAY_ZEROED;
  }
  key_close(&key);
  return error;
}

/* MEMORY limits the size of every filter, and the growth of those that grow. */
static bool within_memory(const reserve *r, nay_params *params, const nay_plan *plan) {
  if (r->memory == 0) return true;
  if ((nay_kind_traits(plan->kind) & NAY_CAN_GROW) != 0) params->max_nbytes = r->memory;
  return plan->nbytes <= r->memory;
}

/* ---- replication ---- */

enum { MAX_ARGS = 26 };

typedef struct replicated_args {
  redis_string *at[MAX_ARGS];
  size_t n;
} replicated_args;

static void push(replicated_args *w, const char *word) {
  w->at[w->n++] = redis.CreateString(NULL, word, strlen(word));
}

static void push_number(replicated_args *w, const char *word, uint64_t number) {
  if (number == 0 && word != NULL) return; /* the default */
  if (word != NULL) push(w, word);
  w->at[w->n++] = redis.CreateStringPrintf(NULL, "%llu", (unsigned long long)number);
}

static void push_hash(replicated_args *w, const nay_params *p) {
  if (p->hash == NAY_HASH_SIPHASH) {
    char hex[33];
    native_hex(p->key, hex);
    push(w, "HASHKEY");
    push(w, hex);
  } else {
    push(w, "SEED");
    push_number(w, NULL, p->seed);
  }
}

static void replicate_reserve(redis_ctx *ctx, redis_string *name, const nay_params *p,
                              bool by_seconds, const nay_filter *filter) {
  replicated_args w = {.n = 0};
  w.at[w.n++] = redis.CreateStringPrintf(NULL, "%.17g", p->fpr);
  push_number(&w, NULL, p->nkeys);
  push(&w, "KIND");
  push(&w, nay_kind_name(p->kind));
  push_number(&w, "BITS", p->nbits);
  push_number(&w, "PROBES", p->k);
  push_number(&w, "TAGBITS", p->tag_bits);
  push_number(&w, "MAXCAPACITY", p->max_nkeys);
  push_number(&w, "MEMORY", p->max_nbytes);
  push_number(&w, "GENERATIONS", p->generations);
  push_number(&w, "WINDOW", p->window);
  if (p->window != 0) push(&w, by_seconds ? "SECONDS" : "TICKS");
  if ((p->flags & NAY_UNIQUE) != 0) push(&w, "UNIQUE");
  if (!native_takes_text(filter)) {
    push(&w, "KEYTYPE");
    push(&w, nay_filter_key(filter));
  }
  push_hash(&w, p);
  redis.Replicate(ctx, "NAY.RESERVE", "sv", name, w.at, w.n);
  for (size_t i = 0; i < w.n; i++) redis.FreeString(NULL, w.at[i]);
}

nay_status native_create(redis_ctx *ctx, redis_string *name, module_key *key,
                         const nay_params *params, bool by_seconds, const char *key_type) {
  nay_allocator a = native_allocator();
  nay_filter *filter;
  nay_params exact = {.size = sizeof exact};
  nay_status status = nay_filter_new(params, &a, NULL, &filter);
  if (status != NAY_OK) return status;
  native_value *value = NULL;
  status = nay_filter_params(filter, &exact);
  if (status == NAY_OK) status = nay_filter_set_key(filter, key_type);
  if (status == NAY_OK) {
    value = native_value_new(filter, &(native_extras){.by_seconds = by_seconds});
    if (value == NULL) status = NAY_ENOMEM;
  }
  if (status != NAY_OK) {
    nay_filter_free(filter);
    return status;
  }
  redis.ModuleTypeSetValue(key->handle, native_type, value);
  key->value = value;
  replicate_reserve(ctx, name, &exact, by_seconds, filter);
  native_tick(ctx, name, value);
  return NAY_OK;
}

int native_reserve_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 4) return redis.WrongArity(ctx);
  reserve r;
  nay_params params = {.size = sizeof params};
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {.what = NULL};
  bool by_seconds = false;
  const char *error = parse_reserve(&r, argv, argc);
  if (error == NULL && r.like != NULL) {
    error = like_params(ctx, r.like, &params, &by_seconds, r.key_type);
  } else if (error == NULL) {
    params = reserve_params(&r);
    by_seconds = params.window != 0 && r.unit == UNIT_SECONDS;
  }
  if (error != NULL) return reply_error(ctx, error);
  nay_status status = nay_params_plan(&params, &diag, &plan);
  if (status != NAY_OK) return native_reply_status(ctx, status, &diag);
  if (!within_memory(&r, &params, &plan)) {
    return reply_errorf(ctx, "ERR MEMORY: the filter would have %llu bytes",
                        (unsigned long long)plan.nbytes);
  }
  module_key key;
  key_state state = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, native_type, &key);
  if (state == KEY_MISSING) {
    const char *key_type = r.key_type[0] != '\0' ? r.key_type : "text";
    status = native_create(ctx, argv[1], &key, &params, by_seconds, key_type);
    if (status == NAY_OK) key_event(ctx, "nay.reserve", argv[1]);
  }
  key_close(&key);
  if (state != KEY_MISSING) {
    return reply_error(ctx, state == KEY_OTHER ? ERROR_WRONGTYPE : ERROR_EXISTS);
  }
  return status == NAY_OK ? reply_ok(ctx) : native_reply_status(ctx, status, NULL);
}
