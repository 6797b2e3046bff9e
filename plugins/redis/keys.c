/* keys.c - opens keys of our types and sends keyspace events. */
#include "module.h"

key_state key_open(redis_ctx *ctx, redis_string *name, int mode, redis_type *type,
                   module_key *key) {
  *key = (module_key){.handle = redis.OpenKey(ctx, name, mode)};
  if ((mode & REDIS_WRITE) != 0) memory_watch(ctx);
  if (key->handle == NULL || redis.KeyType(key->handle) == REDIS_KEYTYPE_EMPTY) return KEY_MISSING;
  if (redis.ModuleTypeGetType(key->handle) != type) return KEY_OTHER;
  key->value = redis.ModuleTypeGetValue(key->handle);
  return KEY_OURS;
}

void key_close(module_key *key) {
  memory_unwatch();
  if (key->handle != NULL) redis.CloseKey(key->handle);
  *key = (module_key){.handle = NULL};
}

bool must_obey(redis_ctx *ctx) {
  if (redis.MustObeyClient != NULL && redis.MustObeyClient(ctx)) return true;
  return (redis.GetContextFlags(ctx) & (REDIS_CTX_REPLICATED | REDIS_CTX_LOADING)) != 0;
}

/* The event class is that of DEL and EXPIRE ("g"), as in Valkey's own Bloom module. */
void key_event(redis_ctx *ctx, const char *event, redis_string *name) {
  redis.NotifyKeyspaceEvent(ctx, REDIS_NOTIFY_GENERIC, event, name);
}
