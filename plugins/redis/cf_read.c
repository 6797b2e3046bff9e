/*
 * cf_read.c - CF.* commands that probe and describe filters: CF.EXISTS, CF.MEXISTS, CF.COUNT,
 * CF.INFO, CF.DEBUG.
 */
#include <stdio.h>

#include "cf.h"
#include "reply.h"

/* ---- CF.EXISTS, CF.MEXISTS, CF.COUNT ---- */

static void cf_reply_exists(redis_ctx *ctx, const nay_cfchain *chain, redis_string **items,
                            int nitems) {
  uint64_t hashes[CF_BATCH];
  for (int start = 0; start < nitems; start += CF_BATCH) {
    int n = nitems - start < CF_BATCH ? nitems - start : CF_BATCH;
    for (int i = 0; i < n && chain != NULL; i++) hashes[i] = cf_hash(items[start + i]);
    if (chain != NULL && n > 1) nay__cfchain_prefetch(chain, hashes, (size_t)n, true);
    for (int i = 0; i < n; i++) {
      redis.ReplyWithBool(ctx, chain != NULL && nay__cfchain_has(chain, hashes[i]));
    }
  }
}

/* A missing key, or one of another type, holds no items: the answer is 0, not an error. */
int cf_exists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  cf_reply_exists(ctx, key.value, argv + 2, 1);
  key_close(&key);
  return REDIS_OK;
}

int cf_mexists(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  redis.ReplyWithArray(ctx, argc - 2);
  cf_reply_exists(ctx, key.value, argv + 2, argc - 2);
  key_close(&key);
  return REDIS_OK;
}

int cf_count(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 3) return redis.WrongArity(ctx);
  module_key key;
  cf_open(ctx, argv[1], &key);
  uint64_t count = key.value != NULL ? nay__cfchain_count(key.value, cf_hash(argv[2])) : 0;
  key_close(&key);
  return redis.ReplyWithLongLong(ctx, (long long)count);
}

/* ---- CF.INFO, CF.DEBUG ---- */

/* CF.INFO key */
int cf_info(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_cfchain *chain = key_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  nay_cfchain_header h;
  nay__cfchain_describe(chain, &h);
  redis.ReplyWithMap(ctx, 8);
  reply_field(ctx, "Size", (long long)nay__cfchain_nbytes(chain));
  reply_field(ctx, "Number of buckets", (long long)h.nbuckets);
  reply_field(ctx, "Number of filters", (long long)h.nfilters);
  reply_field(ctx, "Number of items inserted", (long long)h.nitems);
  reply_field(ctx, "Number of items deleted", (long long)h.ndeletes);
  reply_field(ctx, "Bucket size", h.bucket_size);
  reply_field(ctx, "Expansion rate", h.expansion);
  reply_field(ctx, "Max iterations", h.max_iterations);
  key_close(&key);
  return REDIS_OK;
}

/* CF.DEBUG key */
int cf_debug(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc != 2) return redis.WrongArity(ctx);
  module_key key;
  nay_cfchain *chain = key_need(ctx, cf_open(ctx, argv[1], &key), &key);
  if (chain == NULL) return REDIS_OK;
  nay_cfchain_header h;
  char text[256];
  nay__cfchain_describe(chain, &h);
  int len = snprintf(text, sizeof text,
                     "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu "
                     "max_iterations:%u expansion:%u",
                     h.bucket_size, (unsigned long long)h.nbuckets, (unsigned long long)h.nitems,
                     (unsigned long long)h.ndeletes, (unsigned long long)h.nfilters,
                     h.max_iterations, h.expansion);
  key_close(&key);
  return redis.ReplyWithStringBuffer(ctx, text, (size_t)len);
}
