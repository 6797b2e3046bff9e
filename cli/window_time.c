/* window_time.c - see window_time.h. */
#include "window_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maker.h"
#include "numbers.h"

#define MICROSECONDS 1000000
#define STAMP_TEXT 64u /* bytes of a timestamp, at most */

/* ---- times ---- */

/* Digits, perhaps with a fraction, in units of which so many are a second. */
static bool time_number(const char *text, size_t len, uint64_t per_second, uint64_t *seconds) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
    uint64_t digit = (uint64_t)(text[i] - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (i == 0) return false;
  if (i < len && text[i] == '.') {
    for (i++; i < len && text[i] >= '0' && text[i] <= '9';) i++;
  }
  *seconds = value / per_second;
  return i == len;
}

/* As nay_key.h reads timestamps and dates; a fraction may have any number of digits. */
static bool time_stamp(const char *text, size_t len, uint64_t *seconds) {
  const nay_key_description how = {.size = sizeof how, .type = NAY_KEY_TIMESTAMP};
  char whole[STAMP_TEXT];
  uint8_t key[STAMP_TEXT + 8];
  size_t n = 0, key_len;
  if (len >= STAMP_TEXT) return false;
  for (size_t i = 0; i < len; i++) {
    bool fraction = (text[i] == '.' || text[i] == ',') && i + 1 < len && n > 0 &&
                    whole[n - 1] >= '0' && whole[n - 1] <= '9';
    if (!fraction) whole[n++] = text[i];
    while (fraction && i + 1 < len && text[i + 1] >= '0' && text[i + 1] <= '9') i++;
  }
  if (nay_key_convert(&how, whole, n, NULL, key, sizeof key, &key_len) != NAY_OK) return false;
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++) value |= (uint64_t)key[i] << (8 * i);
  if (key_len != 8 || value > INT64_MAX - 1) return false; /* before 1970, or an infinity */
  *seconds = value / MICROSECONDS;
  return true;
}

static bool time_parse(const char *text, size_t len, unsigned unit, uint64_t *seconds) {
  static const uint64_t per_second[] = {1, 1000, 1000000, 1000000000};
  return time_number(text, len, per_second[unit], seconds) || time_stamp(text, len, seconds);
}

/* --now is in seconds, whatever the column has. */
static uint64_t time_now(const window_options *w) {
  uint64_t now;
  if (w->now == NULL || strcmp(w->now, "now") == 0) return (uint64_t)time(NULL);
  if (!time_parse(w->now, strlen(w->now), 0, &now)) {
    die(EXIT_TROUBLE,
        "--now: '%s' is no time: seconds since 1970, 2026-01-31T12:00:00Z, a date, or now", w->now);
  }
  return now;
}

/* A clock as people read it, and as --now takes it. */
static const char *clock_text(uint64_t seconds, char text[STAMP_TEXT]) {
  struct tm tm;
  time_t t = (time_t)seconds;
  bool shows = seconds < 253402300800u && gmtime_r(&t, &tm) != NULL; /* the year 10000 */
  if (!shows || strftime(text, STAMP_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
    snprintf(text, STAMP_TEXT, "%llu", (unsigned long long)seconds);
  }
  return text;
}

/* ---- options ---- */

bool window_begin(const window_options *w) {
  uint64_t seconds;
  if (w->length != NULL && !number_span(w->length, &seconds)) {
    die(EXIT_TROUBLE, "--window: '%s' is not a time such as 90s, 15m, 1h, 7d", w->length);
  }
  (void)time_now(w);
  if (w->unit != 0 && w->column == NULL) die(EXIT_TROUBLE, "--time-unit needs --time-column");
  return w->length != NULL || w->now != NULL || w->column != NULL;
}

void window_params(const window_options *w, const size_options *size, nay_params *params) {
  if (size->kind != NAY_AUTO && size->kind != NAY_WINDOW) {
    die(EXIT_TROUBLE, "--window: a %s filter forgets nothing: omit -t", nay_kind_name(size->kind));
  }
  if (size->nkeys == 0 && size->nbytes == 0) {
    die(EXIT_TROUBLE, "--window needs -n, the number of keys that come within one window");
  }
  params->kind = NAY_WINDOW;
  (void)number_span(w->length, &params->window);
}

bool window_contradicts(const window_options *w, const nay_params *is) {
  uint64_t seconds;
  return w->length != NULL && number_span(w->length, &seconds) && seconds != is->window;
}

bool window_is_timed(const nay_filter *f) {
  nay_params is = {.size = sizeof is};
  return nay_filter_kind(f) == NAY_WINDOW && nay_filter_params(f, &is) == NAY_OK && is.window != 0;
}

static uint64_t window_clock(const nay_filter *f) {
  nay_stats s = {.size = sizeof s};
  nay_filter_stats(f, &s);
  return s.clock;
}

/* Programs may count anything in ticks; nay and the Redis module count seconds. */
const char *window_about(const nay_filter *f, uint64_t *ticks, uint64_t *clock,
                         char text[WINDOW_TEXT]) {
  nay_params is = {.size = sizeof is};
  char stamp[STAMP_TEXT];
  if (!window_is_timed(f) || nay_filter_params(f, &is) != NAY_OK) return NULL;
  *ticks = is.window;
  *clock = window_clock(f);
  snprintf(text, WINDOW_TEXT, "%s; clock at %llu%s%s", COUNTED(is.window, "tick"),
           (unsigned long long)*clock, *clock != 0 ? ", in seconds " : "",
           *clock != 0 ? clock_text(*clock, stamp) : "");
  return text;
}

static void window_set(nay_filter *f, uint64_t now, const char *path) {
  char text[2][STAMP_TEXT];
  if (!window_is_timed(f)) {
    die(EXIT_TROUBLE, "%s is no window by time, and has no clock: --window makes one", path);
  }
  if (nay_filter_advance(f, now) != NAY_OK) {
    die(EXIT_TROUBLE, "%s: its clock is at %s, and cannot go back to %s", path,
        clock_text(window_clock(f), text[0]), clock_text(now, text[1]));
  }
}

void window_advance(const window_options *w, nay_filter *f, const char *path) {
  window_set(f, time_now(w), path);
}

/* ---- keys with times ---- */

typedef struct window_run {
  const window_options *w;
  nay_filter *f;
  const char *path;
  const options *o;
  on_bad mode;
  uint64_t now, clock; /* clock: the latest time so far, 0: none */
  bool has_clock;
  uint64_t nlate, late_most; /* keys that came after later ones, by how many seconds */
} window_run;

/* The time of key i; false: the record is bad, and said to be. */
static bool run_time(window_run *r, key_stream *s, const key_batch *b, size_t i, uint64_t *at) {
  const char *text = (const char *)b->values[i];
  char shown[80], why[400];
  bool is_time = time_parse(text, b->value_lens[i], r->w->unit, at);
  if (is_time && *at <= r->now) return true;
  const char *file = b->path == NULL || strcmp(b->path, "-") == 0 ? "standard input" : b->path;
  snprintf(why, sizeof why, "%.200s: line %llu: '%s' %s", file, (unsigned long long)b->lines[i],
           escape_text(b->values[i], b->value_lens[i], shown, sizeof shown),
           is_time ? "is later than --now" : "is no time");
  if (r->mode == ON_BAD_FAIL) die(EXIT_TROUBLE, "%s", why);
  stream_bad_key(s, b, i, why);
  return false;
}

static void run_add(window_run *r, const key_batch *b, size_t first, size_t n) {
  key_batch part = *b;
  char why[FULL_TEXT];
  part.n = n;
  nay_status status = nay_filter_add_hash_many(r->f, b->lo + first, NULL, n, NULL, NULL);
  if (status == NAY_EFULL) {
    die(EXIT_TROUBLE, "%s", full_why(r->o, r->f, &part, NULL, why));
  }
  if (status != NAY_OK) die(EXIT_TROUBLE, "cannot add: %s", nay_status_text(status));
}

/* Keys of one time are added together. Returns how many of the batch were keys. */
static uint64_t run_batch(window_run *r, key_stream *s, const key_batch *b) {
  uint64_t nkeys = 0;
  size_t first = 0;
  for (size_t i = 0; i < b->n; i++) {
    uint64_t at = 0;
    bool good = run_time(r, s, b, i, &at), later = good && (!r->has_clock || at > r->clock);
    if (!good || later) {
      if (i > first) run_add(r, b, first, i - first);
      first = good ? i : i + 1;
    }
    if (!good) continue;
    nkeys++;
    if (later) {
      window_set(r->f, at, r->path);
      r->clock = at;
      r->has_clock = true;
    } else if (at < r->clock) {
      r->nlate++;
      if (r->clock - at > r->late_most) r->late_most = r->clock - at;
    }
  }
  if (b->n > first) run_add(r, b, first, b->n - first);
  return nkeys;
}

/* The column is that of a value: see keys.h. */
static keys_options run_style(const window_options *w, const keys_options *keys) {
  keys_options style = *keys;
  bool framed = style.csv || style.tsv || style.jsonl || style.separator != NULL ||
                (style.column != NULL && !style.length_prefixed && style.type != KEY_U64LE);
  if (!framed) {
    die(EXIT_TROUBLE, "--time-column is for fields: give --csv, --tsv, --jsonl, -F or -k too");
  }
  if (style.args.n > 0) die(EXIT_TROUBLE, "--time-column is for key files, and -e gives the keys");
  if (style.on_bad == ON_BAD_LINE) {
    die(EXIT_TROUBLE, "--on-bad=line: a record without a time cannot be added");
  }
  if (strcmp(style.column != NULL ? style.column : "1", w->column) == 0) {
    die(EXIT_TROUBLE, "-k and --time-column are the same column: give another one for the time");
  }
  style.values = style.line_number = true;
  style.value = w->column;
  return style;
}

static void run_tell_late(const window_run *r) {
  if (r->nlate == 0) return;
  message("%s came after later ones, by up to %llu s: taken at the time of those, so kept longer",
          COUNTED(r->nlate, "key"), (unsigned long long)r->late_most);
}

uint64_t window_fill(const options *o, const window_options *w, const keys_options *keys,
                     const char *const *paths, size_t npaths, nay_filter *f, const char *path) {
  window_run r = {.w = w, .f = f, .path = path, .o = o, .now = time_now(w)};
  keys_options style = w->column != NULL ? run_style(w, keys) : *keys;
  r.mode = keys->on_bad != ON_BAD_DEFAULT ? (on_bad)keys->on_bad : ON_BAD_FAIL;
  r.clock = window_clock(f);
  r.has_clock = r.clock != 0;
  if (w->column == NULL) window_set(f, r.now, path);
  if (w->column != NULL && w->now != NULL && r.has_clock && r.clock > r.now) {
    window_set(f, r.now, path); /* which cannot be */
  }
  key_stream *s = stream_open(o, &style, paths, npaths, f);
  uint64_t nkeys = 0;
  for (key_batch *b; w->column != NULL && (b = stream_next(s)) != NULL;) {
    nkeys += run_batch(&r, s, b);
  }
  if (w->column == NULL) add_all(o, f, s);
  if (w->column == NULL) nkeys = stream_nkeys(s);
  (void)stream_status(s);
  stream_close(s);
  if (w->column != NULL && w->now != NULL) window_set(f, r.now, path);
  run_tell_late(&r);
  return nkeys;
}
