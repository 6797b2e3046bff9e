/*
 * settings.c - the defaults of commands, from load arguments and CONFIG.
 *
 * Names, ranges and messages are RedisBloom's. In Redis 8 the names stand alone (`CONFIG SET
 * bf-error-rate`); older servers and Valkey prefix the module's name (`bf.bf-error-rate`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "module.h"
#include "reply.h"

module_settings settings = {
    .bf_error_rate = 0.01,
    .bf_initial_size = 100,
    .bf_expansion_factor = 2,
    .cf_bucket_size = 2,
    .cf_initial_size = 1024,
    .cf_max_iterations = 20,
    .cf_expansion_factor = 1,
    .cf_max_expansions = 32,
};

typedef struct setting {
  const char *name;
  const char *old_name; /* of load arguments before Redis 8; may be NULL */
  double *real;         /* one of these two */
  long long *whole;
  long long min, max;  /* real: outside the range; whole: inside */
  redis_string *shown; /* the last reply to CONFIG GET: the server only borrows it */
} setting;

static setting table[] = {
    {"bf-error-rate", "ERROR_RATE", &settings.bf_error_rate, NULL, 0, 1, NULL},
    {"bf-initial-size", "INITIAL_SIZE", NULL, &settings.bf_initial_size, 1, MAX_CAPACITY, NULL},
    {"bf-expansion-factor", NULL, NULL, &settings.bf_expansion_factor, 0, MAX_EXPANSION, NULL},
    {"cf-bucket-size", NULL, NULL, &settings.cf_bucket_size, 1, 255, NULL},
    {"cf-initial-size", NULL, NULL, &settings.cf_initial_size, 2, MAX_CAPACITY, NULL},
    {"cf-max-iterations", NULL, NULL, &settings.cf_max_iterations, 1, 65535, NULL},
    {"cf-expansion-factor", NULL, NULL, &settings.cf_expansion_factor, 0, MAX_EXPANSION, NULL},
    {"cf-max-expansions", "CF_MAX_EXPANSIONS", NULL, &settings.cf_max_expansions, 1, 65536, NULL},
};
enum { NSETTINGS = sizeof table / sizeof table[0] };

/* A cuckoo filter has at least two buckets: the least size depends on the bucket size. */
static long long setting_min(const setting *s) {
  return s->whole == &settings.cf_initial_size ? 2 * settings.cf_bucket_size : s->min;
}

/* NULL, or a new string with the error. */
static redis_string *setting_set(setting *s, const redis_string *value) {
  double real = 0;
  long long whole = 0;
  bool is_read = s->real != NULL ? redis.StringToDouble(value, &real) == REDIS_OK
                                 : redis.StringToLongLong(value, &whole) == REDIS_OK;
  if (!is_read) return redis.CreateStringPrintf(NULL, "Invalid value for `%s`", s->name);
  if (s->real != NULL && !(real > (double)s->min && real < (double)s->max)) {
    return redis.CreateStringPrintf(NULL, "Value for `%s` must be in the range (%f, %f)", s->name,
                                    (double)s->min, (double)s->max);
  }
  if (s->whole != NULL && (whole < setting_min(s) || whole > s->max)) {
    return redis.CreateStringPrintf(NULL, "Value for `%s` must be in the range [%lld, %lld]",
                                    s->name, setting_min(s), s->max);
  }
  if (s->real != NULL) {
    *s->real = real;
  } else {
    *s->whole = whole;
  }
  return NULL;
}

/* The shortest decimal that reads back as the same number. */
static void setting_text(const setting *s, char *text, size_t size) {
  if (s->whole != NULL) {
    snprintf(text, size, "%lld", *s->whole);
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, *s->real);
    if (strtod(text, NULL) == *s->real) return;
  }
}

static redis_string *config_get(const char *name, void *privdata) {
  (void)name;
  setting *s = privdata;
  char text[64];
  setting_text(s, text, sizeof text);
  if (s->shown != NULL) redis.FreeString(NULL, s->shown);
  s->shown = redis.CreateString(NULL, text, strlen(text));
  return s->shown;
}

static int config_set(const char *name, redis_string *value, void *privdata, redis_string **err) {
  (void)name;
  *err = setting_set(privdata, value);
  return *err == NULL ? REDIS_OK : REDIS_ERR;
}

static setting *setting_find(const redis_string *name, bool *is_old) {
  for (size_t i = 0; i < NSETTINGS; i++) {
    *is_old = table[i].old_name != NULL && arg_is(name, table[i].old_name);
    if (*is_old || arg_is(name, table[i].name)) return &table[i];
  }
  return NULL;
}

static int settings_load_pair(redis_ctx *ctx, redis_string **pair) {
  bool is_old;
  setting *s = setting_find(pair[0], &is_old);
  if (s == NULL) {
    redis.Log(ctx, "warning", "Unrecognized option: %s", redis.StringPtrLen(pair[0], NULL));
    return REDIS_ERR;
  }
  if (is_old) redis.Log(ctx, "warning", "%s is deprecated, use %s", s->old_name, s->name);
  redis_string *why = setting_set(s, pair[1]);
  if (why == NULL) return REDIS_OK;
  redis.Log(ctx, "warning", "%s", redis.StringPtrLen(why, NULL));
  redis.FreeString(NULL, why);
  return REDIS_ERR;
}

int settings_load(redis_ctx *ctx, redis_string **argv, int argc) {
  size_t len = 1;
  if (argc == 1) redis.StringPtrLen(argv[0], &len);
  if (argc == 1 && len == 0) return REDIS_OK; /* what some launchers pass for "no arguments" */
  if (argc % 2 != 0) {
    redis.Log(ctx, "warning", "Invalid number of arguments passed");
    return REDIS_ERR;
  }
  for (int i = 0; i < argc; i += 2) {
    if (settings_load_pair(ctx, argv + i) != REDIS_OK) return REDIS_ERR;
  }
  return REDIS_OK;
}

static int setting_register(redis_ctx *ctx, setting *s, unsigned flags) {
  char value[64];
  setting_text(s, value, sizeof value);
  return redis.RegisterStringConfig(ctx, s->name, value, flags, config_get, config_set, NULL, s);
}

/* Names without the module's in front came with Redis 8, as LoadDefaultConfigs did; a server that
 * does not know the flag logs a warning, so it is used only where it is known. */
int settings_register(redis_ctx *ctx) {
  bool is_redis8 = redis.LoadDefaultConfigs != NULL && !redis.is_valkey;
  unsigned flags = is_redis8 ? REDIS_CONFIG_UNPREFIXED : REDIS_CONFIG_DEFAULT;
  for (size_t i = 0; i < NSETTINGS; i++) {
    if (setting_register(ctx, &table[i], flags) != REDIS_OK) return REDIS_ERR;
  }
  return redis.LoadConfigs(ctx);
}
