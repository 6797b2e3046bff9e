/*
 * json_read.c - see json_read.h.
 *
 * One pass with a stack of the open objects and arrays. Each has the set of paths that lead into
 * it, a bit for each path; below an object that no path leads into, names are not compared.
 */
#include "json_read.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- paths ---- */

/* A name up to . [ or the end; a backslash takes the next character as it is. */
static const char *path_name(const char *at, json_paths *paths, size_t *used,
                             struct json_segment *segment) {
  char *to = paths->names + *used;
  size_t n = 0;
  for (; *at != '\0' && strchr(".[],", *at) == NULL; at++) {
    if (*at == '\\' && at[1] != '\0') at++;
    if (*used + n + 1 >= sizeof paths->names) return NULL;
    to[n++] = *at;
  }
  *used += n;
  *segment = (struct json_segment){.name = to, .len = n};
  return n > 0 ? at : NULL;
}

/* One path; the comma or the end after it, or NULL. */
static const char *path_parse(const char *at, json_paths *paths, size_t *used, json_path *path) {
  *path = (json_path){.n = 0};
  if (at[0] == '.' && (at[1] == '\0' || at[1] == ',')) return at + 1;
  for (bool first = true;; first = false) {
    if (path->n == JSON_SEGMENTS) return NULL;
    struct json_segment *segment = &path->segments[path->n++];
    if (strncmp(at, "[]", 2) == 0) {
      *segment = (struct json_segment){.name = NULL};
      path->has_elements = true;
      at += 2;
    } else {
      if (!first) {
        if (*at != '.') return NULL;
        at++;
      }
      at = path_name(at, paths, used, segment);
      if (at == NULL) return NULL;
    }
    if (*at == '\0' || *at == ',') return at;
  }
}

const char *json_paths_parse(const char *text, json_paths *paths) {
  size_t used = 0;
  bool has_elements = false;
  paths->n = 0;
  for (const char *at = text;; at++) {
    if (paths->n == JSON_PATHS) return "more than 16 fields";
    at = path_parse(at, paths, &used, &paths->at[paths->n]);
    if (at == NULL) return "not a field such as id, user.id or items[].sku";
    has_elements |= paths->at[paths->n++].has_elements;
    if (*at == '\0') break;
  }
  if (has_elements && paths->n > 1) return "a field with [] stands alone";
  return NULL;
}

/* ---- the reader ---- */

typedef struct json_level {
  uint32_t alive; /* paths that lead into it */
  uint32_t seen;  /* of them, those whose name has been there */
  uint32_t next;  /* those that lead into the value that comes next */
  bool is_object;
} json_level;

typedef struct json_reader {
  const json_paths *paths;
  const uint8_t *start, *at, *end;
  json_value *values;
  size_t nvalues;
  const char *key_why; /* valid JSON, but no key */
  size_t key_at;
  unsigned depth;
  json_level levels[JSON_DEPTH + 1];
} json_reader;

static inline const uint8_t *json_blanks(const uint8_t *p, const uint8_t *end) {
  if (p<end && * p> ' ') return p; /* mostly */
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) p++;
  return p;
}

/* The first byte that is a quote, a backslash, a control character or not ASCII. */
static inline const uint8_t *json_special(const uint8_t *p, const uint8_t *end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), blank = _mm_set1_epi8(32);
  for (; end - p >= 16; p += 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    /* signed: control characters and bytes above 0x7f are less than a blank */
    __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape)),
                                 _mm_cmplt_epi8(v, blank));
    int mask = _mm_movemask_epi8(found);
    if (mask != 0) return p + __builtin_ctz((unsigned)mask);
  }
#endif
  while (p < end && *p != '"' && *p != '\\' && *p >= 32 && *p < 0x80) p++;
  return p;
}

static const uint8_t *json_fail(json_reader *r, const uint8_t *at, const char *why) {
  r->key_why = why;
  r->key_at = (size_t)(at - r->start);
  return NULL;
}

/* A key cannot be made of this; the first such reason counts, unless the line is no JSON. */
static void json_no_key(json_reader *r, const uint8_t *at, const char *why) {
  if (r->key_why == NULL) (void)json_fail(r, at, why);
}

static bool json_is_tail(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/* The length of the UTF-8 character at p, which is not ASCII; 0: it is none. */
static size_t json_utf8(const uint8_t *p, const uint8_t *end) {
  size_t left = (size_t)(end - p);
  if (p[0] < 0xc2) return 0;
  if (p[0] < 0xe0) return left >= 2 && json_is_tail(p[1]) ? 2 : 0;
  if (p[0] < 0xf0) {
    if (left < 3 || !json_is_tail(p[1]) || !json_is_tail(p[2])) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;
    return p[0] == 0xed && p[1] > 0x9f ? 0 : 3;
  }
  if (p[0] > 0xf4 || left < 4) return 0;
  if (!json_is_tail(p[1]) || !json_is_tail(p[2]) || !json_is_tail(p[3])) return 0;
  if (p[0] == 0xf0 && p[1] < 0x90) return 0;
  return p[0] == 0xf4 && p[1] > 0x8f ? 0 : 4;
}

static int json_hex_digit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  byte |= 0x20;
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The four digits of \uXXXX, from the u on; -1: they are not there. */
static int json_unit(const uint8_t *p, const uint8_t *end) {
  int unit = 0;
  if (end - p < 5 || p[0] != 'u') return -1;
  for (int i = 1; i <= 4; i++) {
    int digit = json_hex_digit(p[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

/* What follows a backslash; NULL: no escape. A code point of its own is in *code. */
static const uint8_t *json_escape(const uint8_t *p, const uint8_t *end, uint32_t *code) {
  static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  if (p == end) return NULL;
  const char *letter = *p != '\0' ? strchr(letters, *p) : NULL;
  if (letter != NULL) {
    *code = (uint8_t)means[letter - letters];
    return p + 1;
  }
  int high = json_unit(p, end), low;
  if (high < 0 || (high >= 0xdc00 && high <= 0xdfff)) return NULL;
  *code = (uint32_t)high;
  if (high < 0xd800 || high > 0xdbff) return p + 5;
  low = end - p > 6 && p[5] == '\\' ? json_unit(p + 6, end) : -1;
  if (low < 0xdc00 || low > 0xdfff) return NULL;
  *code = 0x10000u + (((uint32_t)high - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
  return p + 11;
}

/* A string from after its quote; what follows the closing one, or NULL. Inline, as members are: a
 * quarter of the time of a line. */
static inline __attribute__((always_inline)) const uint8_t *json_string(json_reader *r,
                                                                        const uint8_t *p,
                                                                        json_value *value) {
  *value = (json_value){.at = p, .is_string = true, .is_plain = true};
  for (;;) {
    p = json_special(p, r->end);
    if (p == r->end) return json_fail(r, value->at - 1, "a string does not end");
    if (*p == '"') break;
    if (*p == '\\') {
      uint32_t code;
      const uint8_t *after = json_escape(p + 1, r->end, &code);
      if (after == NULL) return json_fail(r, p, "no escape of JSON, or half of a surrogate pair");
      value->is_plain = false;
      p = after;
    } else if (*p < 32) {
      return json_fail(r, p, "a control character in a string");
    } else {
      size_t n = json_utf8(p, r->end);
      if (n == 0) return json_fail(r, p, "not UTF-8");
      p += n;
    }
  }
  value->len = (size_t)(p - value->at);
  return p + 1;
}

static const uint8_t *json_digits(const uint8_t *p, const uint8_t *end) {
  while (p < end && *p >= '0' && *p <= '9') p++;
  return p;
}

#define JSON_EXPONENT_DIGITS 15

static const uint8_t *json_number(json_reader *r, const uint8_t *p, json_value *value) {
  const uint8_t *end = r->end, *first, *after;
  *value = (json_value){.at = p, .is_plain = true};
  bool negative = *p == '-';
  p += negative;
  first = p;
  p = json_digits(p, end);
  if (p == first || (*first == '0' && p - first > 1)) return json_fail(r, first, "not a number");
  if (negative && *first == '0') value->is_plain = false; /* -0 is 0 */
  if (p < end && *p == '.') {
    after = json_digits(p + 1, end);
    if (after == p + 1) return json_fail(r, p, "a number that ends in a point");
    value->is_plain = false;
    p = after;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    after = json_digits(p, end);
    if (after == p) return json_fail(r, p, "an exponent without digits");
    while (*p == '0' && p + 1 < after) p++;
    if (after - p > JSON_EXPONENT_DIGITS) return json_fail(r, p, "an exponent beyond 10^15");
    value->is_plain = false;
    p = after;
  }
  value->len = (size_t)(p - value->at);
  value->is_plain = value->is_plain && value->len <= JSON_NUMBER; /* 10^30 may be 1e30 elsewhere */
  return p;
}

static const uint8_t *json_word(json_reader *r, const uint8_t *p, const char *word, size_t len,
                                json_value *value) {
  if ((size_t)(r->end - p) < len || memcmp(p, word, len) != 0) {
    return json_fail(r, p, "not a value of JSON");
  }
  *value = (json_value){.at = p, .len = len, .is_plain = true};
  return p + len;
}

/* ---- names and paths ---- */

static size_t json_unescape(const uint8_t *p, const uint8_t *end, uint8_t *dst, size_t cap) {
  size_t n = 0;
  while (p < end) {
    uint32_t code = *p;
    const uint8_t *after = p + 1;
    bool escaped = *p == '\\';
    if (escaped) after = json_escape(p + 1, end, &code);
    if (!escaped || code < 0x80) {
      if (n < cap) dst[n] = (uint8_t)code;
      n++;
    } else {
      uint8_t bytes[4];
      size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      for (size_t i = len - 1; i > 0; i--, code >>= 6) bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
      bytes[0] = (uint8_t)((0xf00u >> len) | code);
      for (size_t i = 0; i < len; i++) {
        if (n < cap) dst[n] = bytes[i];
        n++;
      }
    }
    p = after;
  }
  return n;
}

static bool json_is_name(const json_value *name, const struct json_segment *segment) {
  if (segment->name == NULL) return false;
  if (name->is_plain)
    return name->len == segment->len && name->at[0] == (uint8_t)segment->name[0] &&
           memcmp(name->at, segment->name, segment->len) == 0;
  uint8_t text[1024];
  size_t len = json_unescape(name->at, name->at + name->len, text, sizeof text);
  return len == segment->len && memcmp(text, segment->name, len) == 0;
}

/* A name of an object that paths lead into: those that go on here. */
static void json_name(json_reader *r, json_level *level, const json_value *name) {
  level->next = 0;
  for (uint32_t left = level->alive; left != 0; left &= left - 1) {
    unsigned p = (unsigned)__builtin_ctz(left);
    const json_path *path = &r->paths->at[p];
    if (json_is_name(name, &path->segments[r->depth - 1])) level->next |= UINT32_C(1) << p;
  }
  if ((level->seen & level->next) != 0) json_no_key(r, name->at, "the field stands twice");
  level->seen |= level->next;
}

/* The paths that end at the value that comes next. */
static uint32_t json_ending(const json_reader *r, uint32_t next) {
  uint32_t ending = 0;
  for (uint32_t left = next; left != 0; left &= left - 1) {
    unsigned p = (unsigned)__builtin_ctz(left);
    if (r->paths->at[p].n == r->depth) ending |= UINT32_C(1) << p;
  }
  return ending;
}

static uint32_t json_next(const json_reader *r) { return r->levels[r->depth].next; }

/* A scalar that paths lead to. */
static void json_take(json_reader *r, const json_value *value, bool is_null) {
  uint32_t next = json_next(r), ending = json_ending(r, next);
  if (next != ending) json_no_key(r, value->at, "the field is in no object or array");
  if (ending != 0 && is_null) json_no_key(r, value->at, "the field is null");
  if (ending == 0 || r->key_why != NULL) return;
  if (r->paths->n > 1) {
    for (; ending != 0; ending &= ending - 1) r->values[__builtin_ctz(ending)] = *value;
  } else if (r->nvalues == JSON_VALUES) {
    json_no_key(r, value->at, "more than 8,192 elements");
  } else {
    r->values[r->nvalues++] = *value;
  }
}

/* ---- structure ---- */

static const uint8_t *json_open_level(json_reader *r, const uint8_t *p, bool is_object) {
  uint32_t next = json_next(r), alive = 0;
  if (json_ending(r, next) != 0) {
    json_no_key(r, p, is_object ? "the field is an object" : "the field is an array");
  }
  for (uint32_t left = next; left != 0; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    const json_path *path = &r->paths->at[i];
    if (path->n == r->depth) continue;
    bool elements = path->segments[r->depth].name == NULL;
    if (elements == is_object) {
      json_no_key(r, p,
                  is_object ? "an object where [] wants an array"
                            : "an array where a name wants an object: give []");
    }
    alive |= (uint32_t)(elements != is_object) << i;
  }
  if (r->depth == JSON_DEPTH) return json_fail(r, p, "more than 1,024 levels");
  r->levels[++r->depth] = (json_level){
      .alive = alive, .next = is_object ? 0 : alive, .seen = 0, .is_object = is_object};
  return p + 1;
}

static void json_close_level(json_reader *r, const uint8_t *p) {
  const json_level *level = &r->levels[r->depth--];
  if (level->is_object && (level->alive & ~level->seen) != 0) {
    json_no_key(r, p, "the line lacks the field");
  }
}

/* A value that is no object and no array. */
static const uint8_t *json_scalar(json_reader *r, const uint8_t *p) {
  json_value value;
  bool is_null = false;
  const uint8_t *at = p;
  if (*p == '"') {
    p = json_string(r, p + 1, &value);
  } else if (*p == '-' || (*p >= '0' && *p <= '9')) {
    p = json_number(r, p, &value);
  } else {
    is_null = *p == 'n';
    bool is_false = !is_null && *p != 't';
    p = json_word(r, p, is_null ? "null" : is_false ? "false" : "true", 4 + is_false, &value);
  }
  if (p != NULL && json_next(r) != 0) {
    if (!value.is_string) value.at = at;
    json_take(r, &value, is_null);
  }
  return p;
}

/* A name and its colon; p is at the quote. */
static inline __attribute__((always_inline)) const uint8_t *json_member(json_reader *r,
                                                                        const uint8_t *p) {
  json_value name;
  json_level *level = &r->levels[r->depth];
  if (p == r->end || *p != '"') return json_fail(r, p, "a name in quotes is missing");
  p = json_string(r, p + 1, &name);
  if (p == NULL) return NULL;
  if (level->alive != 0) json_name(r, level, &name);
  p = json_blanks(p, r->end);
  if (p == r->end || *p != ':') return json_fail(r, p, "a colon is missing");
  return json_blanks(p + 1, r->end);
}

/* After a value: closes what ends here; the next value, or the end of the line with depth 0. */
static const uint8_t *json_after(json_reader *r, const uint8_t *p) {
  for (;;) {
    p = json_blanks(p, r->end);
    if (r->depth == 0) return p;
    bool is_object = r->levels[r->depth].is_object;
    if (p == r->end) return json_fail(r, p, "the line ends inside a value");
    if (*p == ',') {
      p = json_blanks(p + 1, r->end);
      return is_object ? json_member(r, p) : p;
    }
    if (*p != (is_object ? '}' : ']')) {
      return json_fail(r, p, "a comma or a closing bracket is missing");
    }
    json_close_level(r, p);
    p++;
  }
}

/* Reads the line; NULL when it is no JSON. */
static const uint8_t *json_line(json_reader *r, const uint8_t *p) {
  for (;;) {
    if (p == r->end) return json_fail(r, p, "the line ends where a value must be");
    bool opens = *p == '{' || *p == '[', is_object = *p == '{';
    if (opens) {
      p = json_open_level(r, p, is_object);
      if (p == NULL) return NULL;
      p = json_blanks(p, r->end);
      bool empty = p < r->end && *p == (is_object ? '}' : ']');
      if (!empty) {
        if (is_object) p = json_member(r, p);
        if (p == NULL) return NULL;
        continue;
      }
    } else {
      p = json_scalar(r, p);
    }
    if (p != NULL) p = json_after(r, p);
    if (p == NULL) return NULL;
    if (r->depth > 0) continue;
    return p == r->end ? p : json_fail(r, p, "something follows the value");
  }
}

const char *json_find(const json_paths *paths, const uint8_t *line, size_t len, json_value *values,
                      size_t *n, size_t *at, bool *blank) {
  json_reader r; /* levels are written before they are read */
  r.paths = paths;
  r.start = line;
  r.end = line + len;
  r.values = values;
  r.nvalues = 0;
  r.key_why = NULL;
  r.key_at = 0;
  r.depth = 0;
  r.levels[0] = (json_level){.next = paths->n == 32 ? UINT32_MAX : (UINT32_C(1) << paths->n) - 1};
  const uint8_t *p = json_blanks(line, r.end);
  *blank = p == r.end;
  *at = 0;
  *n = 0;
  if (*blank) return NULL;
  (void)json_line(&r, p);
  *at = r.key_at;
  if (r.key_why != NULL) return r.key_why;
  *n = paths->n > 1 ? paths->n : r.nvalues;
  return *n > 0 ? NULL : "the array has no elements";
}

/* ---- texts ---- */

/* json_digits_of: the significant digits of a number, without zeros at either end, and the power
 * of ten of the last one. */
typedef struct json_decimal {
  const uint8_t *first, *last; /* among them a point */
  size_t ndigits;
  int64_t exponent;
} json_decimal;

static int64_t json_exponent(const uint8_t *p, const uint8_t *end) {
  if (p >= end) return 0;
  p++; /* the e */
  bool negative = *p == '-';
  int64_t value = 0;
  if (*p == '-' || *p == '+') p++;
  for (; p < end; p++) value = value * 10 + (*p - '0');
  return negative ? -value : value;
}

static void json_decimal_of(const uint8_t *p, const uint8_t *end, json_decimal *d) {
  const uint8_t *e = p, *point = NULL;
  while (e < end && (*e | 0x20) != 'e') {
    if (*e == '.') point = e;
    e++;
  }
  d->exponent = json_exponent(e, end);
  const uint8_t *last = e;
  while (p < last && (*p == '0' || *p == '.')) p++;
  while (last > p && (last[-1] == '0' || last[-1] == '.')) last--;
  d->first = p;
  d->last = last;
  d->ndigits = (size_t)(last - p);
  if (point != NULL && point > p && point < last) d->ndigits--;
  /* the power of ten of the digit before `last` */
  const uint8_t *units = point != NULL ? point : e;
  if (last > units) {
    d->exponent -= last - units - 1;
  } else {
    d->exponent += units - last;
  }
}

static size_t json_put_digits(const json_decimal *d, uint8_t *dst) {
  size_t n = 0;
  for (const uint8_t *p = d->first; p < d->last; p++) {
    if (*p != '.') dst[n++] = *p;
  }
  return n;
}

static size_t json_put_exponent(int64_t value, uint8_t *dst) {
  char digits[24];
  size_t n = 0, len = 0;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  dst[len++] = 'e';
  if (value < 0) dst[len++] = '-';
  do digits[n++] = (char)('0' + left % 10);
  while ((left /= 10) > 0);
  while (n > 0) dst[len++] = (uint8_t)digits[--n];
  return len;
}

static size_t json_number_text(const json_value *value, uint8_t *dst) {
  const uint8_t *p = value->at, *end = p + value->len;
  size_t n = 0;
  bool negative = *p == '-';
  json_decimal d;
  json_decimal_of(p + negative, end, &d);
  if (d.ndigits == 0) {
    dst[0] = '0';
    return 1;
  }
  if (negative) dst[n++] = '-';
  int64_t before = (int64_t)d.ndigits + d.exponent; /* digits before the point */
  int64_t size = before <= 0       ? 2 - before + (int64_t)d.ndigits
                 : d.exponent >= 0 ? before
                                   : (int64_t)d.ndigits + 1;
  if (size > (int64_t)JSON_NUMBER && d.exponent != 0 && (before <= 0 || d.exponent > 0)) {
    n += json_put_digits(&d, dst + n);
    return n + json_put_exponent(d.exponent, dst + n);
  }
  if (before <= 0) {
    dst[n++] = '0';
    dst[n++] = '.';
    for (int64_t i = before; i < 0; i++) dst[n++] = '0';
    return n + json_put_digits(&d, dst + n);
  }
  size_t digits = json_put_digits(&d, dst + n);
  if (d.exponent >= 0) {
    n += digits;
    for (int64_t i = 0; i < d.exponent; i++) dst[n++] = '0';
    return n;
  }
  memmove(dst + n + before + 1, dst + n + before, digits - (size_t)before);
  dst[n + (size_t)before] = '.';
  return n + digits + 1;
}

size_t json_value_text(const json_value *value, uint8_t *dst) {
  if (value->is_plain) {
    memcpy(dst, value->at, value->len);
    return value->len;
  }
  if (!value->is_string) return json_number_text(value, dst);
  return json_unescape(value->at, value->at + value->len, dst, value->len);
}

size_t json_value_quote(const uint8_t *text, size_t len, uint8_t *dst) {
  static const char digits[] = "0123456789abcdef";
  size_t n = 0;
  dst[n++] = '"';
  for (size_t i = 0; i < len; i++) {
    uint8_t byte = text[i];
    if (byte < 32) {
      memcpy(dst + n, "\\u00", 4);
      dst[n + 4] = (uint8_t)digits[byte >> 4];
      dst[n + 5] = (uint8_t)digits[byte & 15];
      n += 6;
      continue;
    }
    if (byte == '"' || byte == '\\') dst[n++] = '\\';
    dst[n++] = byte;
  }
  dst[n++] = '"';
  return n;
}
