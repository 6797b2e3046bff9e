/*
 * native_keys.c - NAY.ADD, NAY.MADD, NAY.TEST, NAY.MTEST, NAY.COUNT, NAY.DEL: keys in filters.
 *
 * Adds that change nothing are not replicated, and adds that fail are left out: replicas receive
 * exactly what happened here.
 */
#include <string.h>

#include "native.h"
#include "reply.h"

/* Items of one batch: four groups of the library, whose cache lines are prefetched. */
enum { BATCH = 256 };

/* Whether this kind of filter has the trait; if not, replies with an error and closes the key. */
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

/* ---- NAY.ADD, NAY.MADD ---- */

/* The state of one command that adds items. */
typedef struct adding {
  redis_ctx *ctx;
  nay_filter *filter;
  nay_kind kind;
  redis_string **done; /* items that were added, once one has failed; NULL: none has failed */
  size_t ndone, nnew;
} adding;

/* Families in which adding a key that tests maybe changes no bit. */
static bool adding_is_set(nay_kind kind) {
  return (nay_kind_traits(kind) & (NAY_CAN_REMOVE | NAY_CAN_COUNT | NAY_CAN_EXPIRE)) == 0;
}

static void adding_reply(adding *a, redis_string **items, size_t at, size_t nitems,
                         nay_status status, const nay_diag *diag, bool is_new) {
  if (status == NAY_OK) {
    redis.ReplyWithBool(a->ctx, is_new);
    if (a->done != NULL) a->done[a->ndone] = items[at];
    a->ndone++;
    a->nnew += is_new;
    return;
  }
  if (a->done == NULL) { /* the first that failed: all before it were added */
    a->done = redis.Alloc(nitems * sizeof *a->done);
    memcpy(a->done, items, a->ndone * sizeof *a->done);
  }
  if (diag != NULL) {
    native_item_refused(a->ctx, a->filter, status, diag);
  } else {
    native_reply_status(a->ctx, status, NULL);
  }
}

/* Families that are never full add whole batches. */
static void adding_batch(adding *a, const batch *b, redis_string **items, size_t first,
                         size_t nitems) {
  uint64_t bitmap[BATCH / 64];
  nay_status status = nay_filter_add_many(a->filter, b->keys, b->lens, b->n, bitmap, NULL);
  for (size_t i = 0; i < b->n; i++) {
    bool is_new = status == NAY_OK && (bitmap[i / 64] >> i % 64 & 1) != 0;
    adding_reply(a, items, first + i, nitems, status, NULL, is_new);
  }
}

/*
 * Others may fail in the middle, and every item has a reply of its own. Probing the batch first
 * brings its cache lines in and finds the keys that are present already.
 */
static void adding_singly(adding *a, const batch *b, redis_string **items, size_t first,
                          size_t nitems) {
  uint64_t hashes[BATCH], seen[BATCH / 64];
  nay_hasher hasher = {.size = sizeof hasher};
  nay_status status = nay_filter_hasher(a->filter, &hasher);
  if (status == NAY_OK) {
    status = nay_hasher_hash_many(&hasher, b->keys, b->lens, b->n, hashes, NULL);
  }
  if (status == NAY_OK) {
    status = nay_filter_may_contain_hash_many(a->filter, hashes, NULL, b->n, seen);
  }
  for (size_t i = 0; i < b->n; i++) {
    bool is_new = false, is_there = status == NAY_OK && (seen[i / 64] >> i % 64 & 1) != 0;
    nay_status one = status;
    if (one == NAY_OK && !(is_there && adding_is_set(a->kind))) {
      one = nay_filter_add_hash(a->filter, (nay_hash){hashes[i], 0}, &is_new);
    }
    adding_reply(a, items, first + i, nitems, one, NULL, is_new);
  }
}

/* Items of a type other than text: each is converted, or refused. */
static void adding_typed(adding *a, redis_string **items, size_t nitems) {
  for (size_t i = 0; i < nitems; i++) {
    native_item item;
    nay_diag diag = {.what = NULL};
    bool is_new = false;
    nay_status status = native_item_read(a->filter, items[i], &item, &diag);
    bool converted = status == NAY_OK;
    if (converted) status = nay_filter_add(a->filter, item.key, item.len, &is_new);
    adding_reply(a, items, i, nitems, status, converted ? NULL : &diag, is_new);
    native_item_free(&item);
  }
}

static void adding_all(adding *a, redis_string **items, size_t nitems) {
  if (!native_takes_text(a->filter)) {
    adding_typed(a, items, nitems);
    return;
  }
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
    nay_status status = native_create(ctx, argv[1], &key, &params, false, "text");
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

int native_add_command(redis_ctx *ctx, redis_string **argv, int argc) {
  return argc == 3 ? add_items(ctx, argv, argc, false) : redis.WrongArity(ctx);
}

int native_madd_command(redis_ctx *ctx, redis_string **argv, int argc) {
  return argc >= 3 ? add_items(ctx, argv, argc, true) : redis.WrongArity(ctx);
}

/* ---- NAY.TEST, NAY.MTEST, NAY.COUNT ---- */

/* Replies with the answer, or with the reason why the item is no key of this filter. */
static void test_item(redis_ctx *ctx, const nay_filter *filter, const redis_string *argument) {
  native_item item;
  nay_diag diag = {.what = NULL};
  nay_status status = native_item_read(filter, argument, &item, &diag);
  if (status == NAY_OK) {
    redis.ReplyWithBool(ctx, nay_filter_may_contain(filter, item.key, item.len));
  } else {
    native_item_refused(ctx, filter, status, &diag);
  }
  native_item_free(&item);
}

int native_test_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter = NULL;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_MISSING) {
    redis.ReplyWithBool(ctx, false);
  } else {
    test_item(ctx, filter, argv[2]);
  }
  key_close(&key);
  return REDIS_OK;
}

int native_mtest_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter = NULL;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  size_t nitems = (size_t)argc - 2;
  bool typed = filter != NULL && !native_takes_text(filter);
  redis.ReplyWithArray(ctx, argc - 2);
  for (size_t i = 0; typed && i < nitems; i++) test_item(ctx, filter, argv[2 + i]);
  for (size_t first = 0; !typed && first < nitems; first += BATCH) {
    batch b;
    uint64_t bitmap[BATCH / 64] = {0};
    batch_fill(&b, argv + 2 + first, nitems - first);
    if (filter != NULL) nay_filter_may_contain_many(filter, b.keys, b.lens, b.n, bitmap);
    for (size_t i = 0; i < b.n; i++) redis.ReplyWithBool(ctx, (bitmap[i / 64] >> i % 64 & 1) != 0);
  }
  key_close(&key);
  return REDIS_OK;
}

/*
 * What `use` says of the key of one item. Every status but NAY_OK and NAY_ENOENT has been replied.
 */
typedef nay_status (*item_use)(nay_filter *filter, const native_item *item, uint64_t *count);

static nay_status use_item(redis_ctx *ctx, nay_filter *filter, const redis_string *argument,
                           item_use use, uint64_t *count) {
  native_item item;
  nay_diag diag = {.what = NULL};
  nay_status status = native_item_read(filter, argument, &item, &diag);
  if (status != NAY_OK) {
    native_item_refused(ctx, filter, status, &diag);
  } else {
    status = use(filter, &item, count);
    if (status != NAY_OK && status != NAY_ENOENT) native_reply_status(ctx, status, NULL);
  }
  native_item_free(&item);
  return status;
}

static nay_status count_item(nay_filter *filter, const native_item *item, uint64_t *count) {
  return nay_filter_count(filter, item->key, item->len, count);
}

int native_count_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  uint64_t count = 0;
  nay_status status = NAY_OK;
  native_state state = native_open(ctx, argv[1], REDIS_READ, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_FOUND) {
    if (!require(ctx, &key, filter, NAY_CAN_COUNT, "does not count")) return REDIS_OK;
    status = use_item(ctx, filter, argv[2], count_item, &count);
  }
  key_close(&key);
  if (status != NAY_OK) return REDIS_OK;
  return redis.ReplyWithLongLong(ctx, (long long)count);
}

/* ---- NAY.DEL ---- */

static nay_status remove_item(nay_filter *filter, const native_item *item, uint64_t *count) {
  (void)count;
  return nay_filter_remove(filter, item->key, item->len);
}

int native_del_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  nay_filter *filter;
  nay_status status = NAY_ENOENT;
  native_state state = native_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, &key, &filter);
  if (state == NATIVE_ANSWERED) return REDIS_OK;
  if (state == NATIVE_FOUND) {
    if (!require(ctx, &key, filter, NAY_CAN_REMOVE, "cannot remove keys")) return REDIS_OK;
    status = use_item(ctx, filter, argv[2], remove_item, NULL);
  }
  key_close(&key);
  if (status != NAY_OK && status != NAY_ENOENT) return REDIS_OK;
  if (status == NAY_OK) {
    redis.ReplicateVerbatim(ctx);
    key_event(ctx, "nay.del", argv[1]);
  }
  return redis.ReplyWithBool(ctx, status == NAY_OK);
}
