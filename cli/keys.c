/* keys.c - see keys.h. */
#include "keys.h"

#include <nay_range.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "described.h"
#include "numbers.h"

/* ---- options ---- */

static key_framing reader_framing(const keys_options *s) {
  bool fixed = s->type == KEY_U64LE, binary = fixed || s->length_prefixed;
  int columns = s->csv + s->tsv + s->jsonl;
  if (s->null + s->length_prefixed + columns + fixed > 1) {
    die(EXIT_TROUBLE,
        "-0, --length-prefixed, --csv, --tsv, --jsonl and --key=u64le are mutually exclusive");
  }
  if (s->separator != NULL && (columns > 0 || binary)) {
    die(EXIT_TROUBLE,
        "-F splits lines: it excludes --csv, --tsv, --jsonl, --length-prefixed, --key=u64le");
  }
  if (s->jsonl) return FRAME_JSON;
  if (s->crlf && binary) die(EXIT_TROUBLE, "--crlf is for lines, and these keys are not");
  if (fixed) return FRAME_FIXED;
  if (s->length_prefixed) return FRAME_LENGTH;
  return s->csv ? FRAME_CSV : s->tsv ? FRAME_TSV : FRAME_LINES;
}

/* What says how files are read contradicts keys that are arguments. */
static void reader_check_args(const keys_options *s) {
  const char *option = s->csv                 ? "--csv"
                       : s->tsv               ? "--tsv"
                       : s->jsonl             ? "--jsonl"
                       : s->separator != NULL ? "-F"
                       : s->column != NULL    ? "-k"
                       : s->delimiter != NULL ? "--delimiter"
                       : s->header            ? "--header"
                       : s->length_prefixed   ? "--length-prefixed"
                       : s->type == KEY_U64LE ? "--key=u64le"
                       : s->crlf              ? "--crlf"
                       : s->no_decompress     ? "--no-decompress"
                                              : NULL;
  if (option == NULL) return;
  die(EXIT_TROUBLE, "%s is for keys in files; here each argument is a key as it stands", option);
}

/* A number from 1, made a number from 0; false: it is none. */
static bool reader_number(const char *option, const char *text, size_t *at) {
  uint64_t number;
  if (!number_count(text, &number)) return false;
  if (number == 0) die(EXIT_TROUBLE, "%s: columns are counted from 1", option);
  *at = (size_t)number - 1;
  return true;
}

/* The option that names the column of the value. */
static const char *reader_value_option(const keys_options *s) {
  return s->value_is_partition ? "--partition" : "--value";
}

_Noreturn static void reader_same_column(const keys_options *s) {
  die(EXIT_TROUBLE, "-k and %s are the same column: give another one for the %s",
      reader_value_option(s), s->value_is_partition ? "partition" : "value");
}

static void reader_value_field(key_reader *r, const keys_options *s) {
  const char *option = reader_value_option(s);
  if (s->value != NULL && !reader_number(option, s->value, &r->value_column.at)) {
    die(EXIT_TROUBLE, "%s: '%s' is not the number of a field", option, s->value);
  }
  for (size_t i = 0; i < r->nranges; i++) {
    size_t at = r->value_column.at;
    if (r->ranges[i].first <= at && at <= r->ranges[i].last) reader_same_column(s);
  }
}

static void reader_separator(key_reader *r, const keys_options *s) {
  r->separator = strcmp(s->separator, "\\t") == 0 ? "\t" : s->separator; /* as in awk */
  r->separator_len = strlen(r->separator);
  if (r->separator_len == 0) die(EXIT_TROUBLE, "-F: the separator is empty");
  if (strchr(r->separator, '\n') != NULL && r->terminator == '\n') {
    die(EXIT_TROUBLE, "-F: a newline ends the line, and separates no fields");
  }
  if (s->delimiter != NULL) die(EXIT_TROUBLE, "--delimiter is for --csv; -F is the separator here");
  key_ranges(r, s->column != NULL ? s->column : "1");
  if (r->values) reader_value_field(r, s);
}

/* As awk without -F. */
static void reader_blanks(key_reader *r, const keys_options *s) {
  if (s->column[strspn(s->column, "0123456789,-")] != '\0') {
    die(EXIT_TROUBLE,
        "-k: '%s' is a name, which --csv, --tsv and --jsonl have: fields of lines are counted from "
        "1",
        s->column);
  }
  r->blanks = true;
  r->separator = " ";
  r->separator_len = 1;
  key_ranges(r, s->column);
  if (r->values) reader_value_field(r, s);
}

static void reader_column(key_reader *r, const char *option, const char *text, key_column *column) {
  if (text == NULL || reader_number(option, text, &column->at)) return;
  column->name = text;
  r->wants_header = true;
}

static void reader_columns(key_reader *r, const keys_options *s) {
  reader_column(r, "-k", s->column, &r->column);
  if (!r->values) return;
  reader_column(r, reader_value_option(s), s->value, &r->value_column);
  bool named = r->column.name != NULL || r->value_column.name != NULL;
  if (!named && r->column.at == r->value_column.at) reader_same_column(s);
}

/* Binary integers are keys as they are. */
static nay_key_description reader_how(const keys_options *s) {
  nay_key_description how = {.size = sizeof how};
  const char *text = s->type == KEY_U64LE ? "text" : described_key(s);
  nay_status status = nay_key_description_parse(text, NULL, &how);
  if (status != NAY_OK) die(EXIT_TROUBLE, "--key: %s", nay_status_text(status));
  return how;
}

static bool reader_is_text(const key_reader *r) {
  return r->how.type == NAY_KEY_TEXT && r->how.ntransformations == 0 && r->form == 0;
}

/* The value is one more field, the last: that of an option, or of -k. */
static void reader_json_value(key_reader *r, const keys_options *s) {
  json_paths *paths = &r->json->paths;
  unsigned nkeys = paths->n;
  if (s->value == NULL && nkeys < 2) {
    die(EXIT_TROUBLE, "--jsonl: a second field is the value: -k key,value");
  }
  if (s->value == NULL) return;
  size_t room = strlen(s->column) + strlen(s->value) + 2;
  char *both = must_alloc(room);
  snprintf(both, room, "%s,%s", s->column, s->value);
  const char *why = json_paths_parse(both, paths);
  free(both);
  if (why == NULL && paths->n != nkeys + 1) why = "not a single field";
  if (why != NULL) die(EXIT_TROUBLE, "the field of the value, '%s': %s", s->value, why);
}

static void reader_json(key_reader *r, const keys_options *s) {
  if (s->column == NULL) die(EXIT_TROUBLE, "--jsonl: say which field is the key, by -k");
  if (s->header || s->delimiter != NULL) {
    die(EXIT_TROUBLE, "--header and --delimiter are for --csv, not for --jsonl");
  }
  r->json = must_alloc(sizeof *r->json);
  const char *why = json_paths_parse(s->column, &r->json->paths);
  if (why != NULL) die(EXIT_TROUBLE, "-k: '%s': %s", s->column, why);
  if (s->ranges != NULL && r->json->paths.n != 2) {
    die(EXIT_TROUBLE, "--ranges: -k names two fields, the first and the second end: -k from,to");
  }
  if (r->values) reader_json_value(r, s);
}

void key_reader_end(key_reader *r) {
  free(r->json);
  r->json = NULL;
}

key_reader key_reader_new(const keys_options *s) {
  if (s->args.n > 0) reader_check_args(s);
  key_reader r = {.framing = reader_framing(s),
                  .how = reader_how(s),
                  .form = s->form,
                  .crlf = s->crlf,
                  .skip_empty = s->skip_empty,
                  .terminator = s->null || s->args.n > 0 ? '\0' : '\n',
                  .delimiter = s->tsv ? '\t' : ',',
                  .wants_header = s->header,
                  .values = s->values,
                  .value_is_rest = s->value_is_rest,
                  .value_is_partition = s->value_is_partition,
                  .range_filter = s->ranges,
                  .check = s->check,
                  .value_column = {.at = 1}};
  bool columns = r.framing == FRAME_CSV || r.framing == FRAME_TSV;
  if (r.framing == FRAME_JSON) {
    reader_json(&r, s);
    return r;
  }
  if (!columns && s->delimiter != NULL && s->separator == NULL) {
    die(EXIT_TROUBLE, "--delimiter needs --csv; -F separates the fields of lines");
  }
  bool fields = r.framing == FRAME_LINES && s->column != NULL;
  if (!columns && s->separator == NULL && !fields && (s->column != NULL || s->header)) {
    die(EXIT_TROUBLE, "-k and --header are for lines and rows of text");
  }
  if (fields && s->separator == NULL) reader_blanks(&r, s);
  if (s->separator != NULL) {
    reader_separator(&r, s);
  } else if (s->delimiter != NULL) {
    if (s->tsv || strlen(s->delimiter) != 1 || strchr("\"\r\n", s->delimiter[0]) != NULL) {
      die(EXIT_TROUBLE, "--delimiter: one character for --csv, not a quote or line end");
    }
    r.delimiter = (uint8_t)s->delimiter[0];
  }
  if (columns) reader_columns(&r, s);
  r.plain = r.framing == FRAME_LINES && reader_is_text(&r) && !r.crlf && r.separator == NULL &&
            !s->line_number && !r.values && s->max_record == 0 && r.check == NULL;
  return r;
}

size_t key_reader_room(const key_reader *r) {
  if (r->how.type != NAY_KEY_NUMERIC) return 0;
  return NAY_KEY_NUMERIC_MAX + (r->framing == FRAME_JSON ? KEYS_GROW : 0);
}

bool key_reader_keeps_cr(const key_reader *r) {
  return r->framing == FRAME_LINES && r->terminator == '\n' && !r->crlf;
}

void key_reader_check_whole(const key_reader *r) {
  if (r->framing == FRAME_FIXED || r->framing == FRAME_LENGTH) {
    die(EXIT_TROUBLE, "--on-bad=line is for lines and rows, and these keys are binary");
  }
  if (r->how.type == NAY_KEY_TEXT && r->form == 0 && r->check == NULL) return;
  die(EXIT_TROUBLE, "--on-bad=line makes keys of type text, and these are of type %s",
      r->check != NULL ? r->check->type : nay_key_type_name(r->how.type));
}

/* ---- the start of a file, and places in it ---- */

static bool reader_has_columns(const key_reader *r) {
  return r->framing == FRAME_CSV || r->framing == FRAME_TSV;
}

const char *key_reader_unit(const key_reader *r) {
  return key_reader_is_text(r) ? "line" : "record";
}

const char *key_reader_place(const key_reader *r, char text[64]) {
  snprintf(text, 64, "%s %llu", key_reader_unit(r), (unsigned long long)(r->nrecords + r->ninner));
  return text;
}

uint64_t key_reader_next_line(const key_reader *r) { return r->nrecords + r->ninner + 1; }

size_t key_reader_scratch(const key_reader *r, size_t len, size_t nrecords) {
  unsigned wide = r->form == KEY_FORM_UTF16 ? 2 : 1;
  if (r->framing == FRAME_JSON) return wide * (9 * len + 2 * (JSON_NUMBER + 40) * (nrecords + 1));
  return wide * KEY_SCRATCH(len) + 8 * (nrecords + 1);
}

bool key_reader_is_text(const key_reader *r) {
  if (r->framing == FRAME_JSON) return true;
  return (r->framing == FRAME_LINES && r->terminator == '\n') || reader_has_columns(r);
}

uint64_t key_reader_lines_inside(const key_reader *r, const uint8_t *p, size_t n) {
  uint64_t inside = 0;
  for (size_t i = 0; reader_has_columns(r) && i < n; i++) inside += p[i] == '\n';
  return inside;
}

bool key_reader_can_end(const key_reader *r, const uint8_t *p, size_t len) {
  bool ends = r->framing == FRAME_LINES || r->framing == FRAME_JSON ||
              reader_has_columns(r); /* in a terminator; binary: no */
  uint8_t terminator = reader_has_columns(r) ? '\n' : r->terminator;
  return !ends || memchr(p, terminator, len) != NULL;
}

/* Lines may be any bytes but zero: there the byte order mark counts only before a printable one. */
bool key_reader_is_utf16(const key_reader *r, const uint8_t *p, size_t len) {
  bool lines = r->framing == FRAME_LINES && r->terminator == '\n';
  if (len < 4 || !key_reader_is_text(r)) return false;
  bool little = p[0] == 0xff && p[1] == 0xfe, big = p[0] == 0xfe && p[1] == 0xff;
  uint8_t low = little ? p[2] : p[3], high = little ? p[3] : p[2];
  bool ascii = low >= 0x20 && low < 0x7f && high == 0;
  return (little || big) && (ascii || !lines);
}

/* ---- types ---- */

/* The code point at *p in UTF-8; false: none. */
static bool key_utf8(const uint8_t **p, const uint8_t *end, uint32_t *c) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  uint8_t first = *(*p)++;
  unsigned more = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  *c = more == 0 ? first : first & (0x3fu >> more);
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || (size_t)(end - *p) < more) return false;
  for (unsigned i = 0; i < more; i++, ++*p) {
    if ((**p & 0xc0) != 0x80) return false;
    *c = *c << 6 | (**p & 0x3fu);
  }
  return *c >= least[more] && *c <= 0x10ffff && (*c < 0xd800 || *c > 0xdfff);
}

static uint8_t *key_unit(uint8_t *to, uint32_t unit) {
  to[0] = (uint8_t)unit;
  to[1] = (uint8_t)(unit >> 8);
  return to + 2;
}

/* A text in UTF-8 -> UTF-16 behind it, two bytes for one at most. */
static const char *key_utf16(uint8_t **key, size_t *len) {
  const uint8_t *from = *key, *end = from + *len;
  uint8_t *start = *key + *len, *to = start;
  while (from < end) {
    uint32_t c;
    if (!key_utf8(&from, end, &c)) return "not UTF-8";
    if (c >= 0x10000) to = key_unit(to, 0xd7c0 + (c >> 10));
    to = key_unit(to, c < 0x10000 ? c : 0xdc00 + (c & 0x3ff));
  }
  *key = start;
  *len = (size_t)(to - start);
  return NULL;
}

/* The key of this form, from that of the library; or why there is none. */
static const char *key_form(unsigned form, uint8_t **key, size_t *len) {
  uint64_t word = 0;
  if (form == 0) return NULL;
  if (form == KEY_FORM_UTF16) return key_utf16(key, len);
  for (unsigned i = 0; i < 8; i++) word |= (uint64_t)(*key)[i] << (8 * i);
  *len = 4;
  return word + 0x80000000u <= UINT32_MAX ? NULL : "it is not between -2^31 and 2^31 - 1";
}

/* Whether there is no text, or none once it is trimmed. */
static bool reader_is_empty(const key_reader *r, const key_record *record) {
  if ((r->how.transformations & NAY_KEY_TRIM) == 0) return record->text_len == 0;
  for (size_t i = 0; i < record->text_len; i++) {
    if (strchr(" \t\n\v\f\r", record->text[i]) == NULL || record->text[i] == 0) return false;
  }
  return true;
}

/* The text as it stands -> the key. There is room for it: see key_reader_room. Inline also in
 * key_next, where a call would cost rows of text 3%. */
__attribute__((always_inline)) static inline key_result reader_decode(const key_reader *r,
                                                                      uint8_t *scratch,
                                                                      key_record *record,
                                                                      key_failure *fail) {
  record->key = record->text;
  record->key_len = record->text_len;
  record->skip = r->skip_empty && reader_is_empty(r, record);
  if (record->skip || reader_is_text(r)) return KEY_OK;
  uint8_t *to = scratch + record->scratch_used;
  /* the text of a number in JSON may be longer than its line */
  size_t room = record->len + record->text_len + 8 +
                (r->how.type == NAY_KEY_NUMERIC ? NAY_KEY_NUMERIC_MAX : 0);
  nay_diag diag = {.what = NULL};
  nay_status status = nay_key_convert(&r->how, (const char *)record->text, record->text_len, &diag,
                                      to, room, &record->key_len);
  if (status != NAY_OK) {
    *fail = (key_failure){.what = diag.what, .is_value = true, .offset = diag.offset};
    return KEY_BAD;
  }
  size_t used = record->key_len;
  const char *why = key_form(r->form, &to, &record->key_len);
  if (why != NULL) {
    *fail = (key_failure){.what = why, .is_value = true};
    return KEY_BAD;
  }
  record->key = to;
  record->scratch_used += r->form == KEY_FORM_UTF16 ? used + record->key_len : used;
  return KEY_OK;
}

/* The same, and whether the key is one of the type that keys are checked for. */
static key_result reader_key(const key_reader *r, uint8_t *scratch, key_record *record,
                             key_failure *fail) {
  nay_diag diag = {.what = NULL};
  key_result got = reader_decode(r, scratch, record, fail);
  if (got != KEY_OK || r->check == NULL || record->skip) return got;
  const char *text = (const char *)record->key;
  if (r->check->accepts(r->check->ctx, text, record->key_len, &diag)) return KEY_OK;
  *fail = (key_failure){.what = diag.what, .is_value = true, .offset = diag.offset};
  return KEY_BAD;
}

bool key_of_whole(const key_reader *r, const uint8_t *p, uint8_t *scratch, key_record *record) {
  key_failure fail;
  record->text = p;
  record->text_len = record->len - 1;
  bool drops_cr = r->crlf || r->framing != FRAME_LINES; /* rows and JSON may end in CRLF */
  if (drops_cr && record->text_len > 0 && p[record->text_len - 1] == '\r') record->text_len--;
  record->scratch_used = 0;
  return reader_key(r, scratch, record, &fail) == KEY_OK && !record->skip;
}

uint8_t *key_of_text(const keys_options *style, const char *option, const char *text, size_t *len) {
  nay_diag diag = {.what = NULL};
  if (text == NULL) return NULL;
  if (style->type == KEY_U64LE) die(EXIT_TROUBLE, "--key=u64le is for keys in files: give int");
  nay_key_description how = reader_how(style);
  if (style->form != 0)
    die(EXIT_TROUBLE, "--%s: a key of type int32 or utf16 is for filters", option);
  size_t cap = strlen(text) + 8 + (how.type == NAY_KEY_NUMERIC ? NAY_KEY_NUMERIC_MAX : 0);
  uint8_t *key = must_alloc(cap);
  if (nay_key_convert(&how, text, strlen(text), &diag, key, cap, len) != NAY_OK) {
    die(EXIT_TROUBLE, "--%s: '%s' is not of type %s: %s (at byte %llu)", option, text,
        nay_key_type_name(how.type), diag.what, (unsigned long long)diag.offset);
  }
  return key;
}

/* ---- ranges ---- */

#define RANGE_END_MOST 4096u /* bytes of a converted end: no more than its text and these */

/* The answer for the range that a record says. Bad: its second end is no value of the type, or is
 * below the first. */
static key_result reader_range(const key_reader *r, key_record *record, key_failure *fail) {
  nay_diag diag = {.what = NULL};
  size_t len, cap = record->value_len + RANGE_END_MOST;
  uint8_t *end = must_alloc(cap);
  nay_status status = nay_key_convert(&r->how, (const char *)record->value, record->value_len,
                                      &diag, end, cap, &len);
  if (status == NAY_OK) {
    status = nay_filter_may_contain_range(r->range_filter, record->key, record->key_len, end, len,
                                          &record->maybe);
    fail->what = "the first end of the range is above the second";
  } else {
    *fail = (key_failure){.what = diag.what != NULL ? diag.what : "a key of more than 4 KiB",
                          .is_value = true,
                          .offset = diag.offset};
    record->text = record->value;
    record->text_len = record->value_len;
  }
  free(end);
  return status == NAY_OK ? KEY_OK : KEY_BAD;
}

/* ---- framings ---- */

static key_result frame_line(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                             uint8_t *scratch, key_record *record, key_failure *fail) {
  const uint8_t *stop = memchr(p, r->terminator, (size_t)(end - p));
  if (stop == NULL && !last) return KEY_MORE;
  if (stop == NULL) stop = end;
  record->len = (size_t)(stop - p) + 1;
  record->text = p;
  record->text_len = (size_t)(stop - p);
  if (r->crlf && record->text_len > 0 && stop[-1] == '\r') record->text_len--;
  if (r->wants_header) {
    record->skip = record->header = true;
    r->wants_header = false;
    return KEY_OK;
  }
  return r->separator != NULL ? frame_fields(r, scratch, record, fail) : KEY_OK;
}

/* ---- JSON lines ---- */

static key_result json_bad(key_failure *fail, const char *why, size_t at) {
  fail->what = why;
  fail->is_byte = true;
  fail->offset = at;
  return KEY_BAD;
}

/* Several fields are one text: the array of their texts in JSON, which no other fields have. */
static void json_join(const key_json *json, size_t npaths, uint8_t *scratch, key_record *record) {
  size_t n = 0;
  for (size_t i = 0; i < npaths; i++) {
    const json_value *value = &json->values[i];
    scratch[n++] = i == 0 ? '[' : ',';
    if (value->is_plain) { /* without escapes, and without anything that needs one */
      scratch[n++] = '"';
      memcpy(scratch + n, value->at, value->len);
      n += value->len;
      scratch[n++] = '"';
    } else {
      uint8_t *text = scratch + n + 6 * value->len + JSON_NUMBER + 2;
      size_t len = json_value_text(value, text);
      n += json_value_quote(text, len, scratch + n);
    }
  }
  scratch[n++] = ']';
  record->text = scratch;
  record->text_len = record->scratch_used = n;
}

/* The text of value i. */
static void json_text_of(const key_json *json, size_t i, uint8_t *scratch, key_record *record) {
  const json_value *value = &json->values[i];
  record->scratch_used = 0;
  record->text = value->at;
  record->text_len = value->len;
  if (value->is_plain) return;
  record->text = scratch;
  record->text_len = record->scratch_used = json_value_text(value, scratch);
}

/* The value, behind the text of the key. */
static void json_value_of(const key_json *json, size_t i, uint8_t *scratch, key_record *record) {
  const json_value *value = &json->values[i];
  record->value = value->at;
  record->value_len = value->len;
  if (value->is_plain) return;
  record->value = scratch + record->scratch_used;
  record->value_len = json_value_text(value, scratch + record->scratch_used);
  record->scratch_used += record->value_len;
}

static key_result frame_json(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                             uint8_t *scratch, key_record *record, key_failure *fail) {
  const uint8_t *stop = memchr(p, '\n', (size_t)(end - p));
  if (stop == NULL && !last) return KEY_MORE;
  if (stop == NULL) stop = end;
  record->len = (size_t)(stop - p) + 1;
  size_t at;
  const char *why = json_find(&r->json->paths, p, (size_t)(stop - p), r->json->values,
                              &record->nkeys, &at, &record->skip);
  if (why != NULL) return json_bad(fail, why, at);
  if (record->skip) return KEY_OK;
  size_t npaths = r->json->paths.n - r->values;
  if (npaths > 1) {
    json_join(r->json, npaths, scratch, record);
  } else {
    json_text_of(r->json, 0, scratch, record);
  }
  if (r->json->paths.n > 1) record->nkeys = 1;
  if (r->values) json_value_of(r->json, npaths, scratch, record);
  return KEY_OK;
}

key_result key_more(key_reader *r, size_t i, uint8_t *scratch, key_record *record,
                    key_failure *fail) {
  json_text_of(r->json, i, scratch, record);
  return reader_key(r, scratch, record, fail);
}

#define VALUE_BYTES 8u /* of a binary record */

/* A key of len bytes after a head, and its value. */
static key_record frame_binary(const key_reader *r, const uint8_t *p, size_t head, size_t len) {
  key_record record = {.len = head + len, .text = p + head, .text_len = len};
  if (!r->values) return record;
  record.value = p + record.len;
  record.value_len = VALUE_BYTES;
  record.len += VALUE_BYTES;
  return record;
}

static key_result frame_fixed(const key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                              key_record *record, key_failure *fail) {
  *record = frame_binary(r, p, 0, 8);
  if ((size_t)(end - p) >= record->len) return KEY_OK;
  fail->what = r->values ? "fewer than 16 bytes at the end" : "fewer than 8 bytes at the end";
  return last ? KEY_BAD : KEY_MORE;
}

static key_result frame_length(const key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                               key_record *record, key_failure *fail) {
  size_t have = (size_t)(end - p);
  fail->what = r->values ? "the input ends inside a row" : "the input ends inside a key";
  if (have < 4) return last ? KEY_BAD : KEY_MORE;
  size_t len = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
  *record = frame_binary(r, p, 4, len);
  if (have < record->len) return last ? KEY_BAD : KEY_MORE;
  return KEY_OK;
}

/* Member by member: a compiler makes a string instruction of the whole, which takes longer than the
 * rest of a short line. */
static void record_clear(key_record *record) {
  record->len = 0;
  record->text = record->key = record->value = NULL;
  record->text_len = record->key_len = record->value_len = 0;
  record->maybe = record->skip = record->header = false;
  record->scratch_used = record->nkeys = 0;
  record->line = record->ninner = 0;
}

key_result key_next(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                    uint8_t *scratch, key_record *record, key_failure *fail) {
  record_clear(record);
  *fail = (key_failure){.what = NULL};
  key_result got = KEY_OK;
  switch (r->framing) {
    case FRAME_LINES: got = frame_line(r, p, end, last, scratch, record, fail); break;
    case FRAME_FIXED: got = frame_fixed(r, p, end, last, record, fail); break;
    case FRAME_LENGTH: got = frame_length(r, p, end, last, record, fail); break;
    case FRAME_CSV:
    case FRAME_TSV: got = frame_csv(r, p, end, last, scratch, record, fail); break;
    case FRAME_JSON: got = frame_json(r, p, end, last, scratch, record, fail); break;
  }
  if (got == KEY_MORE) return got;
  r->nrecords++;
  record->line = r->nrecords + r->ninner;
  if (got == KEY_OK && !record->skip) {
    got = r->check == NULL ? reader_decode(r, scratch, record, fail)
                           : reader_key(r, scratch, record, fail);
  }
  if (got == KEY_OK && !record->skip && r->range_filter != NULL)
    got = reader_range(r, record, fail);
  if (got == KEY_OK && !record->skip && r->value_is_partition && record->value_len != 0 &&
      memchr(record->value, '\t', record->value_len) != NULL) {
    fail->what = "the partition has a tab inside, which is what separates it from the key";
    got = KEY_BAD;
  }
  if (got != KEY_OK) return got; /* the place is that of its first line */
  r->ninner += record->ninner;
  return got;
}
