/*
 * key_columns.c - keys that are a part of their record: columns of CSV and tab-separated files,
 * fields of lines. See keys.h.
 */
#include <string.h>

#include "keys.h"

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

key_result frame_fields(const key_reader *r, uint8_t *scratch, key_record *record,
                        key_failure *fail) {
  const uint8_t *line = record->text, *from = line;
  size_t len = record->text_len, n = 0, used = 0;
  if (len == 0 && r->skip_empty) return KEY_OK; /* reader_decode skips it */
  fail->what = "the line has too few fields";
  for (size_t i = 0; i < r->nranges; i++) {
    if (!range_find(r, line, len, &r->ranges[i], &from, &n)) return KEY_BAD;
    if (r->nranges == 1) break;
    if (i > 0) memcpy(scratch + used, r->separator, r->separator_len);
    if (i > 0) used += r->separator_len;
    memcpy(scratch + used, from, n);
    used += n;
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
    while (q < end && *q != r->delimiter && *q != '\n') q++;
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

static void csv_text(const csv_field *field, uint8_t *scratch, key_record *record) {
  record->text = field->at;
  record->text_len = field->len;
  record->scratch_used = 0;
  if (!field->quoted) return;
  record->text_len = record->scratch_used = csv_unquote(field, scratch);
  record->text = scratch;
}

key_result frame_csv(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                     uint8_t *scratch, key_record *record, key_failure *fail) {
  const uint8_t *q = p;
  bool found = false;
  csv_field field;
  uint64_t ninner = 0;
  for (size_t i = 0;; i++, q = field.next) {
    key_result got = csv_next(r, q, end, last, &field, fail);
    if (got != KEY_OK) return got;
    ninner += field.ninner;
    bool is_it = i == r->column;
    if (r->wants_header && r->name != NULL) {
      csv_text(&field, scratch, record);
      is_it = record->text_len == strlen(r->name) &&
              memcmp(record->text, r->name, record->text_len) == 0;
      fail->what = "the header has this column twice: give its number with -k, and --header";
      if (is_it && found) return KEY_BAD;
      if (is_it) r->column = i;
    }
    if (is_it) csv_text(&field, scratch, record);
    found |= is_it;
    if (field.last_of_row) break;
  }
  record->len = (size_t)(field.next - p);
  bool blank = record->len == 1 || (record->len == 2 && p[0] == '\r');
  if (!found && blank) record->skip = true; /* a blank line is no row */
  fail->what = r->wants_header ? "the header has no such column" : "the row has too few columns";
  if (!found && !blank) return KEY_BAD;
  record->ninner = ninner;
  if (r->wants_header) {
    record->skip = record->header = true;
    r->wants_header = false;
  }
  return KEY_OK;
}
