/*
 * module.c - the module's entry point: binds the server's functions, then registers every part.
 *
 * The module is called `bf`, as RedisBloom's and Valkey's own are: clients look for that name, and
 * two modules with the same commands cannot be loaded together anyway.
 */
#include "module.h"

#include <stdio.h>
#include <string.h>

#include "reply.h"

static const char module_name[] = "bf";

static const module_part *const parts[] = {
    &bf_part,
    &cf_part,
    &native_part,
};
enum { NPARTS = sizeof parts / sizeof parts[0] };

static const redis_command_info_version info_version = {1, sizeof(redis_history),
                                                        sizeof(redis_key_spec), sizeof(redis_arg)};

#define KEY_AT_FIRST                                              \
  .begin_search = REDIS_BEGIN_SEARCH_INDEX, .begin.index.pos = 1, \
  .find_keys = REDIS_FIND_KEYS_RANGE, .find.range = {.lastkey = 0, .keystep = 1}

/* At most two specifications for a command, and a zero entry that ends them. */
static redis_key_spec key_specs[NKEYUSES][3] = {
    [KEYS_READ] = {{.flags = REDIS_KEY_RO | REDIS_KEY_ACCESS, KEY_AT_FIRST}},
    [KEYS_READ_ALL] = {{.flags = REDIS_KEY_RO | REDIS_KEY_ACCESS,
                        .begin_search = REDIS_BEGIN_SEARCH_INDEX,
                        .begin.index.pos = 1,
                        .find_keys = REDIS_FIND_KEYS_RANGE,
                        .find.range = {.lastkey = -1, .keystep = 1}}},
    [KEYS_DUMP] = {{.flags = REDIS_KEY_RW | REDIS_KEY_ACCESS, KEY_AT_FIRST}},
    [KEYS_INSERT] = {{.flags = REDIS_KEY_RW | REDIS_KEY_INSERT, KEY_AT_FIRST}},
    [KEYS_UPDATE] = {{.flags = REDIS_KEY_RW | REDIS_KEY_UPDATE, KEY_AT_FIRST}},
    [KEYS_DELETE] = {{.flags = REDIS_KEY_RW | REDIS_KEY_DELETE, KEY_AT_FIRST}},
    [KEYS_RESERVE] = {{.flags = REDIS_KEY_RW | REDIS_KEY_INSERT, KEY_AT_FIRST},
                      {.flags = REDIS_KEY_RO | REDIS_KEY_ACCESS,
                       .begin_search = REDIS_BEGIN_SEARCH_KEYWORD,
                       .begin.keyword = {.keyword = "LIKE", .startfrom = 2},
                       .find_keys = REDIS_FIND_KEYS_RANGE,
                       .find.range = {.lastkey = 0, .keystep = 1}}},
    [KEYS_MERGE] = {{.flags = REDIS_KEY_RW | REDIS_KEY_ACCESS | REDIS_KEY_INSERT, KEY_AT_FIRST},
                    {.flags = REDIS_KEY_RO | REDIS_KEY_ACCESS,
                     .begin_search = REDIS_BEGIN_SEARCH_INDEX,
                     .begin.index.pos = 2,
                     .find_keys = REDIS_FIND_KEYS_RANGE,
                     .find.range = {.lastkey = -1, .keystep = 1}}},
};

/* Redis 7.2 has categories but cannot add any: the last one, our own, is left out there. */
static int command_categorize(redis_cmd *handle, const char *categories) {
  char known[64];
  if (redis.SetCommandACLCategories == NULL) return REDIS_OK;
  if (redis.AddACLCategory != NULL) return redis.SetCommandACLCategories(handle, categories);
  const char *own = strrchr(categories, ' ');
  snprintf(known, sizeof known, "%.*s", own == NULL ? 0 : (int)(own - categories), categories);
  return known[0] == 0 ? REDIS_OK : redis.SetCommandACLCategories(handle, known);
}

static int command_describe(redis_ctx *ctx, const module_command *command) {
  redis_cmd *handle = redis.GetCommand(ctx, command->name);
  if (handle == NULL) return REDIS_ERR;
  if (command_categorize(handle, command->acl) != REDIS_OK) return REDIS_ERR;
  redis_command_info info = {.version = &info_version,
                             .summary = command->summary,
                             .complexity = command->complexity,
                             .since = command->since,
                             .tips = command->tips,
                             .arity = command->arity,
                             .key_specs = key_specs[command->keys],
                             .args = command->args};
  return redis.SetCommandInfo(handle, &info);
}

static int part_register(redis_ctx *ctx, const module_part *part) {
  *part->type = redis.CreateDataType(ctx, part->type_name, part->encver, part->methods);
  if (*part->type == NULL) return REDIS_ERR;
  if (part->acl_category != NULL && redis.AddACLCategory != NULL &&
      redis.AddACLCategory(ctx, part->acl_category) != REDIS_OK) {
    return REDIS_ERR;
  }
  for (size_t i = 0; i < part->ncommands; i++) {
    const module_command *command = &part->commands[i];
    if (redis.CreateCommand(ctx, command->name, command->run, command->flags, 1, 1, 1) !=
            REDIS_OK ||
        command_describe(ctx, command) != REDIS_OK) {
      redis.Log(ctx, "warning", "cannot register %s", command->name);
      return REDIS_ERR;
    }
  }
  return REDIS_OK;
}

static void module_info(redis_info *info, int for_crash) {
  (void)for_crash;
  redis.InfoAddSection(info, "filters");
  redis.InfoAddFieldCString(info, "nay_version", nay_version());
  for (size_t i = 0; i < NPARTS; i++) {
    if (parts[i]->info != NULL) parts[i]->info(info);
  }
}

/* RedisModule_OnLoad: the only symbol that the server looks up. */
__attribute__((visibility("default"))) int RedisModule_OnLoad(redis_ctx *ctx, redis_string **argv,
                                                              int argc);

int RedisModule_OnLoad(redis_ctx *ctx, redis_string **argv, int argc) {
  const char *missing = redis_api_bind(ctx);
  if (missing != NULL) {
    if (redis.Log != NULL) redis.Log(ctx, "warning", "nay: this server lacks %s", missing);
    return REDIS_ERR;
  }
  if (redis.IsModuleNameBusy(module_name)) return REDIS_ERR;
  int version = NAY_VERSION_MAJOR * 10000 + NAY_VERSION_MINOR * 100 + NAY_VERSION_PATCH;
  redis.SetModuleAttribs(ctx, module_name, version, REDIS_API_VERSION);
  redis.SetModuleOptions(ctx, REDIS_OPTION_HANDLE_IO_ERRORS);
  if (settings_load(ctx, argv, argc) != REDIS_OK) return REDIS_ERR;
  for (size_t i = 0; i < NPARTS; i++) {
    if (part_register(ctx, parts[i]) != REDIS_OK) return REDIS_ERR;
  }
  if (redis.RegisterInfoFunc(ctx, module_info) != REDIS_OK) return REDIS_ERR;
  return settings_register(ctx);
}
