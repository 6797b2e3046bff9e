/* redis_api.c - finds the server's functions by name. */
#include "redis_api.h"

redis_api redis;

/* What the server leaves at the start of the context while a module loads. */
typedef int (*get_api)(const char *name, void *function);

const char *redis_api_bind(redis_ctx *ctx) {
  get_api find = *(get_api *)(void *)ctx;
  const char *missing = NULL;
  redis = (redis_api){.is_valkey = false};
#define X(type, name, arguments) \
  if (find("RedisModule_" #name, (void *)&redis.name) != 0) missing = "RedisModule_" #name;
  REDIS_API_REQUIRED(X)
#undef X
  /* a missing function leaves its pointer NULL */
#define X(type, name, arguments) (void)find("RedisModule_" #name, (void *)&redis.name);
  REDIS_API_OPTIONAL(X)
#undef X
  void *(*valkey_alloc)(size_t) = NULL;
  redis.is_valkey = find("ValkeyModule_Alloc", (void *)&valkey_alloc) == 0;
  return missing;
}
