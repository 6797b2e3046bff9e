/*
 * metrics.c - NAY.PROM: filters as metrics in the text format of Prometheus.
 *
 *     # HELP nay_redis_fpr_now false-positive rate now
 *     # TYPE nay_redis_fpr_now gauge
 *     nay_redis_fpr_now{key="week",kind="blocked"} 0.0099
 *
 * The format wants all samples of a metric together, so the values of all keys are gathered first.
 * Native filters are measured as NAY.INFO measures them; the chains of BF and CF count their items.
 *
 * Labels are UTF-8, keys are bytes: a backslash, a control character and a byte that is not UTF-8
 * become \xHH, so no two keys have the same label. For the same reason a key counts once, however
 * often it is named.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bf.h"
#include "cf.h"
#include "native.h"
#include "reply.h"

enum { METRICS_KEYS = 4096 }; /* of one command: duplicates are searched for in pairs */

typedef enum metric {
  UP,
  MEMORY_BYTES,
  KEYS_PLANNED,
  KEYS_ESTIMATED,
  FILL_RATIO,
  FPR_NOW,
  FPR_PLANNED,
  OVERFILLED,
  SATURATED,
  NMETRICS
} metric;

static const struct {
  const char *name, *help;
} metrics[NMETRICS] = {
    [UP] = {"up", "1 when the key has a filter that is completely loaded"},
    [MEMORY_BYTES] = {"memory_bytes", "memory of the filter"},
    [KEYS_PLANNED] = {"keys_planned", "keys the filter has room for at its planned rate"},
    [KEYS_ESTIMATED] = {"keys_estimated", "keys now: estimated from the bits, or counted"},
    [FILL_RATIO] = {"fill_ratio", "fraction of its bits that are set"},
    [FPR_NOW] = {"fpr_now", "false-positive rate now"},
    [FPR_PLANNED] = {"fpr_planned", "false-positive rate at the planned number of keys"},
    [OVERFILLED] = {"overfilled", "1 when the filter has more keys than planned, or takes no more"},
    [SATURATED] =
        {"saturated",
         "1 when a filter or a block has no clear bit: there are more keys than estimated"},
};

typedef struct samples {
  const char *key;
  size_t len;
  const char *kind; /* NULL: the key was named before */
  bool has[NMETRICS];
  double value[NMETRICS];
} samples;

static void sample(samples *s, metric m, double value) {
  s->has[m] = true;
  s->value[m] = value;
}

/* ---- where the values come from ---- */

static void gather_native(samples *s, const native_value *value) {
  nay_stats stats = {.size = sizeof stats};
  sample(s, MEMORY_BYTES, (double)native_methods.mem_usage(value));
  if (value->filter == NULL) { /* still loading */
    s->kind = "none";
    return;
  }
  s->kind = nay_kind_name(nay_filter_kind(value->filter));
  if (nay_filter_stats(value->filter, &stats) != NAY_OK) return;
  sample(s, UP, 1);
  nay_params is = {.size = sizeof is};
  bool grows = nay_filter_params(value->filter, &is) == NAY_OK && is.max_nkeys > stats.nkeys;
  if (stats.nkeys != 0) sample(s, KEYS_PLANNED, (double)(grows ? is.max_nkeys : stats.nkeys));
  sample(s, KEYS_ESTIMATED, stats.nkeys_estimated);
  sample(s, FILL_RATIO, stats.fill);
  sample(s, FPR_NOW, isnan(stats.fpr_now) ? 1 : stats.fpr_now); /* as NAY.INFO */
  sample(s, FPR_PLANNED, stats.fpr_planned);
  sample(s, OVERFILLED, stats.overloaded);
  sample(s, SATURATED, stats.saturated);
}

static void gather_bf(samples *s, const nay_sbchain *chain) {
  nay_sbstats stats;
  nay__sbchain_stats(chain, &stats);
  s->kind = "bf";
  sample(s, UP, 1);
  sample(s, MEMORY_BYTES, (double)bf_size(chain));
  sample(s, KEYS_PLANNED, (double)stats.capacity);
  sample(s, KEYS_ESTIMATED, (double)stats.size);
  if ((stats.options & NAY_SB_NO_SCALING) != 0) sample(s, OVERFILLED, stats.size >= stats.capacity);
}

static void gather_cf(samples *s, const nay_cfchain *chain) {
  nay_cfchain_header h;
  nay__cfchain_describe(chain, &h);
  double slots = 0, nbuckets = (double)h.nbuckets;
  for (uint64_t i = 0; i < h.nfilters; i++, nbuckets *= h.expansion) {
    slots += nbuckets * h.bucket_size;
  }
  s->kind = "cf";
  sample(s, UP, 1);
  sample(s, MEMORY_BYTES, (double)cf_size(chain));
  sample(s, KEYS_PLANNED, slots);
  sample(s, KEYS_ESTIMATED, (double)h.nitems);
  sample(s, FILL_RATIO, slots > 0 ? (double)h.nitems / slots : 0);
}

/* A key that is missing, or of a type that is not ours, is down. */
static void gather(redis_ctx *ctx, redis_string *name, samples *s) {
  module_key key;
  s->kind = "none";
  sample(s, UP, 0);
  if (key_open(ctx, name, REDIS_READ, native_type, &key) == KEY_OURS) gather_native(s, key.value);
  key_close(&key);
  if (key_open(ctx, name, REDIS_READ, bf_type, &key) == KEY_OURS) gather_bf(s, key.value);
  key_close(&key);
  if (key_open(ctx, name, REDIS_READ, cf_type, &key) == KEY_OURS) gather_cf(s, key.value);
  key_close(&key);
}

static bool named_before(const samples *all, size_t n, const samples *s) {
  for (size_t i = 0; i < n; i++) {
    if (all[i].len == s->len && memcmp(all[i].key, s->key, s->len) == 0) return true;
  }
  return false;
}

/* ---- the text ---- */

typedef struct text {
  char *at;
  size_t len, room;
  bool failed; /* out of memory */
} text;

static void put(text *t, const char *bytes, size_t len) {
  if (t->len + len > t->room && !t->failed) {
    size_t room = (t->len + len) * 2;
    char *at = redis.TryAlloc(room);
    t->failed = at == NULL;
    if (at != NULL) {
      if (t->len != 0) memcpy(at, t->at, t->len);
      redis.Free(t->at);
      t->at = at;
      t->room = room;
    }
  }
  if (t->failed) return;
  memcpy(t->at + t->len, bytes, len);
  t->len += len;
}

static void put_text(text *t, const char *s) { put(t, s, strlen(s)); }

/* The length of the UTF-8 sequence at p, of at most `left` bytes; 0: it is none. */
static size_t utf8_len(const uint8_t *p, size_t left) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
  if (len == 1) return 1;
  if (p[0] < 0xc2 || p[0] > 0xf4 || left < len) return 0;
  uint32_t code = p[0] & (0x7fu >> len);
  for (size_t i = 1; i < len; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < smallest[len] || code > 0x10ffff || surrogate ? 0 : len;
}

static void put_label(text *t, const char *key, size_t len) {
  for (size_t i = 0, step; i < len; i += step) {
    const uint8_t *p = (const uint8_t *)key + i;
    char hex[8];
    step = utf8_len(p, len - i);
    if (*p == '"') {
      put_text(t, "\\\"");
    } else if (step == 0 || *p < 0x20 || *p == 0x7f || *p == '\\') {
      snprintf(hex, sizeof hex, "\\\\x%02x", *p);
      put_text(t, hex);
      step = 1;
    } else {
      put(t, key + i, step);
    }
  }
}

static void put_metric(text *t, metric m, const samples *all, size_t n) {
  const char *name = metrics[m].name;
  char line[256];
  bool headed = false;
  for (size_t i = 0; i < n; i++) {
    const samples *s = &all[i];
    if (s->kind == NULL || !s->has[m]) continue;
    if (!headed) {
      snprintf(line, sizeof line, "# HELP nay_redis_%s %s\n# TYPE nay_redis_%s gauge\n", name,
               metrics[m].help, name);
      put_text(t, line);
      headed = true;
    }
    snprintf(line, sizeof line, "nay_redis_%s{key=\"", name);
    put_text(t, line);
    put_label(t, s->key, s->len);
    snprintf(line, sizeof line, "\",kind=\"%s\"} %.10g\n", s->kind, s->value[m]);
    put_text(t, line);
  }
}

/* NAY.PROM key [key ...] */
int native_prom_command(redis_ctx *ctx, redis_string **argv, int argc) {
  if (argc < 2) return redis.WrongArity(ctx);
  size_t n = (size_t)argc - 1;
  if (n > METRICS_KEYS) return reply_errorf(ctx, "ERR at most %d keys", METRICS_KEYS);
  samples *all = redis.TryAlloc(n * sizeof *all);
  text t = {.at = NULL};
  if (all == NULL) return reply_error(ctx, "ERR out of memory");
  memset(all, 0, n * sizeof *all);
  for (size_t i = 0; i < n; i++) {
    all[i].key = redis.StringPtrLen(argv[i + 1], &all[i].len);
    if (!named_before(all, i, &all[i])) gather(ctx, argv[i + 1], &all[i]);
  }
  for (unsigned m = 0; m < NMETRICS; m++) put_metric(&t, (metric)m, all, n);
  if (t.failed) {
    reply_error(ctx, "ERR out of memory");
  } else {
    redis.ReplyWithStringBuffer(ctx, t.at, t.len);
  }
  redis.Free(t.at);
  redis.Free(all);
  return REDIS_OK;
}
