/*
 * bf_read.c - BF.* commands that probe and describe filters: BF.EXISTS, BF.MEXISTS, BF.INFO,
 * BF.CARD, BF.DEBUG.
 */
#include <stdio.h>

#include "bf.h"
#include "reply.h"

/* ---- BF.EXISTS, BF.MEXISTS ---- */

int bf_exists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  bool is_there = false;
  if (key_open(ctx, argv[1], REDIS_READ, bf_type, &key) == KEY_OURS) {
    size_t len;
    const char *item = redis.StringPtrLen(argv[2], &len);
    is_there = nay__sbchain_may_contain(key.value, item, len);
  }
  key_close(&key);
  return redis.ReplyWithBool(ctx, is_there);
}

int bf_mexists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  bool is_ours = key_open(ctx, argv[1], REDIS_READ, bf_type, &key) == KEY_OURS;
  size_t n = (size_t)argc - 2, batch;
  redis.ReplyWithArray(ctx, (long)n);
  for (size_t from = 0; from < n; from += batch) {
    const void *bytes[NAY_SB_BATCH];
    size_t lens[NAY_SB_BATCH];
    uint64_t answers = 0;
    batch = bf_gather(argv + 2 + from, n - from, bytes, lens);
    if (is_ours) nay__sbchain_may_contain_many(key.value, bytes, lens, batch, &answers);
    for (size_t i = 0; i < batch; i++) redis.ReplyWithBool(ctx, answers >> i & 1);
  }
  key_close(&key);
  return REDIS_OK;
}

/* ---- BF.INFO, BF.CARD, BF.DEBUG ---- */

enum { BF_INFO_EXPANSION = 4, BF_INFO_FIELDS = 5 };
static const char *const bf_info_args[] = {"CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"};
static const char *const bf_info_names[] = {"Capacity", "Size", "Number of filters",
                                            "Number of items inserted", "Expansion rate"};

static void bf_reply_info(redis_ctx *ctx, const nay_sbchain *chain, int field, bool with_name) {
  nay_sbstats stats;
  nay__sbchain_stats(chain, &stats);
  const uint64_t values[] = {stats.capacity, bf_size(chain), stats.nlinks, stats.size,
                             stats.growth};
  if (with_name) redis.ReplyWithSimpleString(ctx, bf_info_names[field]);
  if (field == BF_INFO_EXPANSION && (stats.options & NAY_SB_NO_SCALING)) {
    redis.ReplyWithNull(ctx);
  } else {
    redis.ReplyWithLongLong(ctx, (long long)values[field]);
  }
}

/* Replies with one field: RESP3 includes its name, RESP2 does not. */
static void bf_reply_one_info(redis_ctx *ctx, const nay_sbchain *chain, const redis_string *word) {
  int field = 0;
  while (field < BF_INFO_FIELDS && !arg_is(word, bf_info_args[field])) field++;
  if (field == BF_INFO_FIELDS) {
    reply_error(ctx, "Invalid information value");
    return;
  }
  bool with_name = reply_is_resp3(ctx);
  if (with_name) {
    redis.ReplyWithMap(ctx, 1);
  } else {
    redis.ReplyWithArray(ctx, 1);
  }
  bf_reply_info(ctx, chain, field, with_name);
}

int bf_info(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2 && argc != 3) return redis.WrongArity(ctx);
  module_key key;
  if (bf_need(ctx, argv[1], &key) == NULL) return REDIS_OK;
  if (argc == 3) {
    bf_reply_one_info(ctx, key.value, argv[2]);
  } else {
    redis.ReplyWithMap(ctx, BF_INFO_FIELDS);
    for (int i = 0; i < BF_INFO_FIELDS; i++) bf_reply_info(ctx, key.value, i, true);
  }
  key_close(&key);
  return REDIS_OK;
}

int bf_card(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_sbstats stats = {.size = 0};
  key_state state = key_open(ctx, argv[1], REDIS_READ, bf_type, &key);
  if (state == KEY_OURS) nay__sbchain_stats(key.value, &stats);
  key_close(&key);
  if (state == KEY_OTHER) return reply_error(ctx, ERROR_WRONGTYPE);
  return redis.ReplyWithLongLong(ctx, (long long)stats.size);
}

static void bf_reply_link(redis_ctx *ctx, const nay_sblink *link, uint32_t options) {
  char text[256];
  int len =
      snprintf(text, sizeof text,
               "bytes:%llu bits:%llu hashes:%u hashwidth:%d capacity:%llu size:%llu ratio:%g",
               (unsigned long long)link->nbytes, (unsigned long long)link->nbits, link->hashes,
               options & NAY_SB_HASH64 ? 64 : 32, (unsigned long long)link->entries,
               (unsigned long long)link->size, link->error);
  redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
}

int bf_debug(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  if (bf_need(ctx, argv[1], &key) == NULL) return REDIS_OK;
  nay_sbstats stats;
  nay__sbchain_stats(key.value, &stats);
  redis.ReplyWithArray(ctx, 1 + (long)stats.nlinks);
  char text[32];
  int len = snprintf(text, sizeof text, "size:%llu", (unsigned long long)stats.size);
  redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
  nay_sblink link;
  for (uint64_t i = 0; nay__sbchain_link(key.value, i, &link) == NAY_OK; i++) {
    bf_reply_link(ctx, &link, stats.options);
  }
  key_close(&key);
  return REDIS_OK;
}
