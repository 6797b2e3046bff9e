/* keys.c - opens keys of our types, sends keyspace events; the arguments that name them. */
#include "module.h"
#include "reply.h"

redis_arg args_key[] = {ARG_KEY, ARG_END};
redis_arg args_item[] = {ARG_KEY, ARG("item", REDIS_ARG_STRING), ARG_END};
redis_arg args_items[] = {ARG_KEY, ARG_MANY("item", REDIS_ARG_STRING), ARG_END};
redis_arg args_scandump[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER), ARG_END};
redis_arg args_loadchunk[] = {ARG_KEY, ARG("iterator", REDIS_ARG_INTEGER),
                              ARG("data", REDIS_ARG_STRING), ARG_END};

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

int key_close_error(redis_ctx *ctx, module_key *key, const char *text) {
  key_close(key);
  return reply_error(ctx, text);
}

void *key_need(redis_ctx *ctx, key_state state, module_key *key) {
  if (state == KEY_OURS) return key->value;
  key_close_error(ctx, key, state == KEY_MISSING ? ERROR_NOT_FOUND : ERROR_WRONGTYPE);
  return NULL;
}

bool must_obey(redis_ctx *ctx) {
  if (redis.MustObeyClient != NULL && redis.MustObeyClient(ctx)) return true;
  return (redis.GetContextFlags(ctx) & (REDIS_CTX_REPLICATED | REDIS_CTX_LOADING)) != 0;
}

/* The event class is that of DEL and EXPIRE ("g"), as in Valkey's own Bloom module. */
void key_event(redis_ctx *ctx, const char *event, redis_string *name) {
  redis.NotifyKeyspaceEvent(ctx, REDIS_NOTIFY_GENERIC, event, name);
}
