/*
 * key_columns.c - keys that are a part of their record: columns of CSV and tab-separated files,
 * fields of lines. See keys.h.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "keys.h"
#include "output.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- fields of a line ---- */

_Noreturn static void ranges_bad(const char *list) {
  die(EXIT_TROUBLE, "-k: '%s' is not a list of fields, counted from 1, such as 2, 2,5 or 3-4",
      list);
}

/* A number from 1 at *at, made a number from 0. */
static size_t range_end(const char *list, const char **at) {
  size_t value = 0, digits = strspn(*at, "0123456789");
  for (size_t i = 0; i < digits; i++) value = value * 10 + (size_t)(*(*at)++ - '0');
  if (digits == 0 || digits > 9 || value == 0) ranges_bad(list);
  return value - 1;
}

/* A field twice would make the text longer than the line. */
static void range_check(const key_reader *r, const char *list) {
  const field_range *range = &r->ranges[r->nranges - 1];
  if (range->last < range->first) ranges_bad(list);
  for (const field_range *other = r->ranges; other < range; other++) {
    if (range->first <= other->last && other->first <= range->last) {
      die(EXIT_TROUBLE, "-k: '%s' has a field twice", list);
    }
  }
}

void key_ranges(key_reader *r, const char *list) {
  for (const char *at = list;; at++) {
    if (r->nranges == KEY_RANGES) die(EXIT_TROUBLE, "-k: at most %d fields or ranges", KEY_RANGES);
    field_range *range = &r->ranges[r->nranges++];
    range->first = range->last = range_end(list, &at);
    if (*at == '-') {
      at++;
      range->last = *at == '\0' || *at == ',' ? SIZE_MAX : range_end(list, &at);
    }
    range_check(r, list);
    if (*at == '\0') return;
    if (*at != ',') ranges_bad(list);
  }
}

/* The bytes of the line from the first field of the range to the last; false when it has fewer. */
static bool range_find(const key_reader *r, const uint8_t *line, size_t len,
                       const field_range *range, const uint8_t **from, size_t *n) {
  const uint8_t *p = line, *end = line + len;
  for (size_t i = 0;; i++) {
    if (i == range->first) *from = p;
    if (i == range->first && range->last == SIZE_MAX) break;
    const uint8_t *stop = memmem(p, (size_t)(end - p), r->separator, r->separator_len);
    if (i == range->last && stop != NULL) end = stop;
    if (i == range->last) break;
    if (stop == NULL) return false;
    p = stop + r->separator_len;
  }
  *n = (size_t)(end - *from);
  return true;
}

static bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

/* The same between runs of blanks. */
static bool blanks_find(const uint8_t *line, size_t len, const field_range *range,
                        const uint8_t **from, size_t *n) {
  const uint8_t *p = line, *end = line + len;
  bool started = false;
  for (size_t i = 0;; i++) {
    while (p < end && is_blank(*p)) p++;
    if (p == end) return started && range->last == SIZE_MAX;
    if (i == range->first) *from = p;
    started |= i == range->first;
    while (p < end && !is_blank(*p)) p++;
    if (started) *n = (size_t)(p - *from);
    if (i == range->last) return true;
  }
}

#define KEY_VALUE_MISSING "no value: a row is a key, a tab and a value"

static bool fields_value(const key_reader *r, const uint8_t *line, size_t len, key_record *record) {
  field_range range = {r->value_column.at, r->value_is_rest ? SIZE_MAX : r->value_column.at};
  return r->blanks ? blanks_find(line, len, &range, &record->value, &record->value_len)
                   : range_find(r, line, len, &range, &record->value, &record->value_len);
}

key_result frame_fields(const key_reader *r, uint8_t *scratch, key_record *record,
                        key_failure *fail) {
  const uint8_t *line = record->text, *from = line;
  size_t len = record->text_len, n = 0, used = 0;
  if (len == 0 && r->skip_empty) return KEY_OK; /* reader_decode skips it */
  fail->what = "the line has too few fields";
  for (size_t i = 0; i < r->nranges; i++) {
    bool found = r->blanks ? blanks_find(line, len, &r->ranges[i], &from, &n)
                           : range_find(r, line, len, &r->ranges[i], &from, &n);
    if (!found) return KEY_BAD;
    if (r->nranges == 1) break;
    if (i > 0) memcpy(scratch + used, r->separator, r->separator_len);
    if (i > 0) used += r->separator_len;
    memcpy(scratch + used, from, n);
    used += n;
  }
  if (r->values && !fields_value(r, line, len, record)) {
    if (r->value_is_rest) fail->what = KEY_VALUE_MISSING;
    return KEY_BAD;
  }
  record->text = r->nranges == 1 ? from : scratch;
  record->text_len = r->nranges == 1 ? n : used;
  record->scratch_used = used;
  return KEY_OK;
}

/* ---- columns ---- */

typedef struct csv_field {
  const uint8_t *at;
  size_t len;
  bool quoted;         /* with "" inside, to be undone */
  uint64_t ninner;     /* line ends inside the quotes */
  const uint8_t *next; /* past the delimiter or line end */
  bool last_of_row;
} csv_field;

/* The delimiter or line end from p on, or `end`. */
static inline const uint8_t *csv_stop(const uint8_t *p, const uint8_t *end, uint8_t delimiter) {
#ifdef __SSE2__
  const __m128i at = _mm_set1_epi8((char)delimiter), line = _mm_set1_epi8('\n');
  for (; end - p >= 16; p += 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    int mask = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, at), _mm_cmpeq_epi8(v, line)));
    if (mask != 0) return p + __builtin_ctz((unsigned)mask);
  }
#endif
  while (p < end && *p != delimiter && *p != '\n') p++;
  return p;
}

/* From the opening quote to what follows the closing one, which is put into *q. */
static key_result csv_quoted(const key_reader *r, const uint8_t **q, const uint8_t *end, bool last,
                             csv_field *field, key_failure *fail) {
  const uint8_t *p = field->at = *q + 1;
  while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
    if (p + 1 == end && !last) return KEY_MORE; /* perhaps the first half of "" */
    if (p + 1 == end || p[1] != '"') break;
    field->quoted = true;
    p += 2;
  }
  fail->what = "a quoted field does not end";
  if (p == NULL) return last ? KEY_BAD : KEY_MORE;
  field->len = (size_t)(p++ - field->at);
  for (size_t i = 0; i < field->len; i++) field->ninner += field->at[i] == '\n';
  bool clean = p == end || *p == r->delimiter;
  if (p < end && *p == '\r') p++;
  clean |= p == end || *p == '\n';
  fail->what = "something follows the closing quote of a field";
  *q = p;
  return clean ? KEY_OK : KEY_BAD;
}

/* One field. A quoted one may hold delimiters, line ends and "" for a quote. */
static key_result csv_next(const key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                           csv_field *field, key_failure *fail) {
  const uint8_t *q = p;
  *field = (csv_field){.at = p};
  if (r->framing == FRAME_CSV && q < end && *q == '"') {
    key_result got = csv_quoted(r, &q, end, last, field, fail);
    if (got != KEY_OK) return got;
  } else {
    q = csv_stop(p, end, r->delimiter);
    field->len = (size_t)(q - p);
    bool ends_row = q == end || *q == '\n';
    if (ends_row && field->len > 0 && q[-1] == '\r') field->len--;
  }
  if (q == end && !last) return KEY_MORE;
  field->last_of_row = q >= end || *q != r->delimiter;
  field->next = q + 1;
  return KEY_OK;
}

static size_t csv_unquote(const csv_field *field, uint8_t *to) {
  size_t n = 0;
  for (size_t i = 0; i < field->len; i++) {
    to[n++] = field->at[i];
    if (field->at[i] == '"') i++;
  }
  return n;
}

/* What a field says; without its quotes in scratch memory, of which *to is the next byte. */
static const uint8_t *csv_text(const csv_field *field, uint8_t **to, size_t *len) {
  *len = field->len;
  if (!field->quoted) return field->at;
  const uint8_t *text = *to;
  *len = csv_unquote(field, *to);
  *to += *len;
  return text;
}

/* Whether field i of a header is the column; by its name, whose place the column gets. */
static key_result csv_is_column(const key_reader *r, const csv_field *field, size_t i, bool found,
                                uint8_t *scratch, key_column *column, bool *is_it,
                                key_failure *fail) {
  size_t len;
  *is_it = i == column->at;
  if (column->name == NULL) return KEY_OK;
  const uint8_t *text = csv_text(field, &scratch, &len);
  *is_it = len == strlen(column->name) && memcmp(text, column->name, len) == 0;
  fail->what = column == &r->column
                   ? "the header has this column twice: give its number with -k, and --header"
               : r->value_is_partition
                   ? "the header has the column of --partition twice: give its number, and --header"
                   : "the header has the column of --value twice: give its number, and --header";
  if (*is_it && found) return KEY_BAD;
  if (*is_it) column->at = i;
  return KEY_OK;
}

/* csv_row: what of a row is found so far. */
typedef struct csv_row {
  bool key, value;
  uint64_t ninner;
  uint8_t *to; /* scratch memory */
} csv_row;

static key_result csv_take_name(key_reader *r, const csv_field *field, size_t i, const csv_row *row,
                                bool *is_key, bool *is_value, key_failure *fail) {
  key_result got = csv_is_column(r, field, i, row->key, row->to, &r->column, is_key, fail);
  if (got != KEY_OK || !r->values) return got;
  return csv_is_column(r, field, i, row->value, row->to, &r->value_column, is_value, fail);
}

static key_result csv_take(key_reader *r, const csv_field *field, size_t i, csv_row *row,
                           key_record *record, key_failure *fail) {
  bool is_key = i == r->column.at, is_value = r->values && i == r->value_column.at;
  if (r->wants_header) {
    key_result got = csv_take_name(r, field, i, row, &is_key, &is_value, fail);
    if (got != KEY_OK) return got;
  }
  if (is_key) record->text = csv_text(field, &row->to, &record->text_len);
  if (is_value) record->value = csv_text(field, &row->to, &record->value_len);
  if (row->value && r->value_is_rest) {
    record->value_len = (size_t)(field->at + field->len - record->value);
  }
  if (is_key) row->key = true;
  if (is_value) row->value = true;
  row->ninner += field->ninner;
  return KEY_OK;
}

/* The end of a row: whether it has all that it must have. */
static key_result csv_check(const key_reader *r, const csv_row *row, bool blank, key_record *record,
                            key_failure *fail) {
  bool found = row->key && (row->value || !r->values);
  if (!found && blank) record->skip = true; /* a blank line is no row */
  fail->what = r->wants_header                ? "the header has no such column"
               : row->key && r->value_is_rest ? KEY_VALUE_MISSING
                                              : "the row has too few columns";
  if (!found && !blank) return KEY_BAD;
  fail->what = r->value_is_partition
                   ? "-k and --partition are the same column: give another one for the partition"
                   : "-k and --value are the same column: give another one for the value";
  bool same = r->values && r->column.at == r->value_column.at;
  return r->wants_header && same ? KEY_BAD : KEY_OK;
}

#define HEADER_NAMES 64u
#define HEADER_NAME 33u /* nearest_word compares no more */

typedef struct header_names {
  char names[HEADER_NAMES][HEADER_NAME];
  const char *list[HEADER_NAMES + 1]; /* ends in NULL */
  char all[200];                      /* "id, email, name", or the first of them and "..." */
} header_names;

/* false: there is no room for more names. */
static bool header_add(header_names *h, size_t i, const uint8_t *name, size_t len) {
  char text[80];
  size_t used = strlen(h->all);
  escape_text(name, len, text, sizeof text);
  bool fits = i < HEADER_NAMES && used + strlen(text) + 8 < sizeof h->all;
  snprintf(h->all + used, sizeof h->all - used, "%s%s", i > 0 ? ", " : "", fits ? text : "...");
  if (!fits) return false;
  snprintf(h->names[i], HEADER_NAME, "%.*s", (int)(len < 32 ? len : 32), (const char *)name);
  h->list[i] = h->names[i];
  return true;
}

static void header_read(const key_reader *r, const uint8_t *p, const uint8_t *end, uint8_t *scratch,
                        header_names *h) {
  csv_field field = {.last_of_row = false};
  key_failure fail;
  for (size_t i = 0; !field.last_of_row; i++, p = field.next) {
    uint8_t *to = scratch;
    size_t len;
    if (csv_next(r, p, end, true, &field, &fail) != KEY_OK) return;
    const uint8_t *name = csv_text(&field, &to, &len);
    if (!header_add(h, i, name, len)) return;
  }
}

/* The name that differs in its case alone, or by a typing slip; NULL: none. */
static const char *header_nearest(const header_names *h, const char *column) {
  for (size_t i = 0; h->list[i] != NULL; i++) {
    if (strcasecmp(h->list[i], column) == 0) return h->list[i];
  }
  return nearest_word(column, h->list);
}

/* "the header has no column 'emial': it has id, email, name; did you mean email?" */
static void header_missing(key_reader *r, const char *column, const uint8_t *p, const uint8_t *end,
                           uint8_t *scratch) {
  header_names h = {.all = ""};
  char text[80], shown[80] = "";
  header_read(r, p, end, scratch, &h);
  const char *near = header_nearest(&h, column);
  if (near != NULL) escape_text((const uint8_t *)near, strlen(near), shown, sizeof shown);
  snprintf(r->why, sizeof r->why, "the header has no column '%s': it has %s%s%s%s",
           escape_text((const uint8_t *)column, strlen(column), text, sizeof text), h.all,
           near != NULL ? "; did you mean " : "", shown, near != NULL ? "?" : "");
}

key_result frame_csv(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                     uint8_t *scratch, key_record *record, key_failure *fail) {
  const uint8_t *q = p;
  csv_field field;
  csv_row row = {.to = scratch};
  for (size_t i = 0;; i++, q = field.next) {
    key_result got = csv_next(r, q, end, last, &field, fail);
    if (got == KEY_OK) got = csv_take(r, &field, i, &row, record, fail);
    if (got != KEY_OK) return got;
    if (field.last_of_row) break;
  }
  record->len = (size_t)(field.next - p);
  record->scratch_used = (size_t)(row.to - scratch);
  bool blank = record->len == 1 || (record->len == 2 && p[0] == '\r');
  key_result got = csv_check(r, &row, blank, record, fail);
  const key_column *missing = row.key ? &r->value_column : &r->column;
  if (got != KEY_OK && r->wants_header && missing->name != NULL && !(row.key && row.value)) {
    header_missing(r, missing->name, p, field.next - 1, scratch);
    fail->what = r->why;
  }
  if (got != KEY_OK) return got;
  record->ninner = row.ninner;
  if (r->wants_header) {
    record->skip = record->header = true;
    r->wants_header = false;
  }
  return KEY_OK;
}
