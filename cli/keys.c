/* keys.c - see keys.h. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "numbers.h"

/* ---- options ---- */

static key_framing reader_framing(const key_style *s) {
  int framings = s->null + s->length_prefixed + s->csv + s->tsv + (s->encoding == KEY_U64LE);
  if (framings > 1) {
    die(EXIT_TROUBLE, "-0, --length-prefixed, --csv, --tsv and --key=u64le are mutually exclusive");
  }
  if (s->encoding == KEY_U64LE) return FRAME_FIXED;
  if (s->length_prefixed) return FRAME_LENGTH;
  return s->csv ? FRAME_CSV : s->tsv ? FRAME_TSV : FRAME_LINES;
}

key_reader key_reader_new(const key_style *s) {
  key_reader r = {.framing = reader_framing(s),
                  .encoding = (key_encoding)s->encoding,
                  .crlf = s->crlf,
                  .skip_empty = s->skip_empty,
                  .terminator = s->null ? '\0' : '\n',
                  .delimiter = s->tsv ? '\t' : ','};
  bool columns = r.framing == FRAME_CSV || r.framing == FRAME_TSV;
  if (!columns && (s->column != NULL || s->header || s->delimiter != NULL)) {
    die(EXIT_TROUBLE, "-k, --header and --delimiter need --csv or --tsv");
  }
  if (s->delimiter != NULL) {
    if (s->tsv || strlen(s->delimiter) != 1 || strchr("\"\r\n", s->delimiter[0]) != NULL) {
      die(EXIT_TROUBLE, "--delimiter: one character for --csv, not a quote or line end");
    }
    r.delimiter = (uint8_t)s->delimiter[0];
  }
  r.wants_header = s->header;
  if (s->column != NULL) {
    uint64_t number;
    if (!number_count(s->column, &number)) {
      r.name = s->column;
      r.wants_header = true;
    } else if (number == 0) {
      die(EXIT_TROUBLE, "-k: columns are counted from 1");
    } else {
      r.column = (size_t)number - 1;
    }
  }
  r.plain = r.framing == FRAME_LINES && r.encoding == KEY_TEXT && !r.crlf;
  return r;
}

/* ---- the start of a file, and places in it ---- */

static bool reader_has_columns(const key_reader *r) {
  return r->framing == FRAME_CSV || r->framing == FRAME_TSV;
}

const char *key_reader_place(const key_reader *r, char text[64]) {
  bool lines = reader_has_columns(r) || (r->framing == FRAME_LINES && r->terminator == '\n');
  snprintf(text, 64, "%s %llu", lines ? "line" : "record",
           (unsigned long long)(r->nrecords + r->ninner));
  return text;
}

/* Lines may be any bytes: there the byte order mark counts only before a printable one. */
bool key_reader_is_utf16(const key_reader *r, const uint8_t *p, size_t len) {
  bool lines = r->framing == FRAME_LINES && r->terminator == '\n';
  if (len < 4 || !(lines || reader_has_columns(r))) return false;
  bool little = p[0] == 0xff && p[1] == 0xfe, big = p[0] == 0xfe && p[1] == 0xff;
  uint8_t low = little ? p[2] : p[3], high = little ? p[3] : p[2];
  bool ascii = low >= 0x20 && low < 0x7f && high == 0;
  return (little || big) && (ascii || !lines);
}

/* The length of a UTF-8 byte order mark before the first row; KEY_MORE when it may come yet. */
static key_result reader_skip_bom(const key_reader *r, const uint8_t *p, const uint8_t *end,
                                  bool last, size_t *skip) {
  size_t have = (size_t)(end - p) < 3 ? (size_t)(end - p) : 3;
  *skip = 0;
  if (!reader_has_columns(r) || r->nrecords != 0) return KEY_OK;
  if (memcmp(p, "\xef\xbb\xbf", have) != 0) return KEY_OK;
  if (have < 3) return last ? KEY_OK : KEY_MORE;
  *skip = 3;
  return KEY_OK;
}

/* ---- encodings ---- */

static int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode_hex(const uint8_t *p, size_t len, uint8_t *to, size_t *n) {
  if (len % 2 != 0) return "an odd number of hex digits";
  for (size_t i = 0; i < len; i += 2) {
    int high = hex_digit(p[i]), low = hex_digit(p[i + 1]);
    if (high < 0 || low < 0) return "not hexadecimal";
    *to++ = (uint8_t)(high << 4 | low);
  }
  *n = len / 2;
  return NULL;
}

static int b64_digit(uint8_t c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62; /* - and _ are those of URLs */
  return c == '/' || c == '_' ? 63 : -1;
}

static const char *decode_b64(const uint8_t *p, size_t len, uint8_t *to, size_t *n) {
  for (int i = 0; i < 2 && len > 0 && p[len - 1] == '='; i++) len--;
  if (len % 4 == 1) return "base64 of an impossible length";
  uint32_t bits = 0;
  size_t done = 0;
  for (size_t i = 0; i < len; i++) {
    int digit = b64_digit(p[i]);
    if (digit < 0) return "not base64";
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 != 0) to[done++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
  }
  uint32_t spare = len % 4 == 2 ? 0xfu : len % 4 == 3 ? 0x3u : 0; /* bits that encode nothing */
  if ((bits & spare) != 0) return "base64 with non-zero bits after the last byte";
  *n = done;
  return NULL;
}

static const char *decode_u64(const uint8_t *p, size_t len, uint8_t *to, size_t *n) {
  uint64_t value = 0;
  if (len == 0) return "not a number";
  for (size_t i = 0; i < len; i++) {
    if (p[i] < '0' || p[i] > '9') return "not a whole number";
    uint64_t digit = p[i] - '0';
    if (value > (UINT64_MAX - digit) / 10) return "a number above 2^64 - 1";
    value = value * 10 + digit;
  }
  for (unsigned i = 0; i < 8; i++) to[i] = (uint8_t)(value >> (8 * i));
  *n = 8;
  return NULL;
}

/* The field as it stands -> the key. */
static key_result reader_decode(const key_reader *r, uint8_t *scratch, key_record *record,
                                const char **fail) {
  const uint8_t *p = record->key;
  size_t len = record->key_len;
  *fail = NULL;
  if (len == 0 && r->skip_empty) {
    record->skip = true;
    return KEY_OK;
  }
  switch (r->encoding) {
    case KEY_TEXT:
    case KEY_U64LE: return KEY_OK;
    case KEY_HEX: *fail = decode_hex(p, len, scratch, &record->key_len); break;
    case KEY_B64: *fail = decode_b64(p, len, scratch, &record->key_len); break;
    case KEY_U64: *fail = decode_u64(p, len, scratch, &record->key_len); break;
  }
  record->key = scratch;
  return *fail == NULL ? KEY_OK : KEY_BAD;
}

/* ---- framings ---- */

static key_result frame_line(const key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                             key_record *record) {
  const uint8_t *stop = memchr(p, r->terminator, (size_t)(end - p));
  if (stop == NULL && !last) return KEY_MORE;
  if (stop == NULL) stop = end;
  record->len = (size_t)(stop - p) + 1;
  record->key = p;
  record->key_len = (size_t)(stop - p);
  if (r->crlf && record->key_len > 0 && stop[-1] == '\r') record->key_len--;
  return KEY_OK;
}

static key_result frame_fixed(const uint8_t *p, const uint8_t *end, bool last, key_record *record,
                              const char **fail) {
  if (end - p < 8 && !last) return KEY_MORE;
  *fail = "fewer than 8 bytes at the end";
  if (end - p < 8) return KEY_BAD;
  *record = (key_record){.len = 8, .key = p, .key_len = 8};
  return KEY_OK;
}

static key_result frame_length(const uint8_t *p, const uint8_t *end, bool last, key_record *record,
                               const char **fail) {
  size_t have = (size_t)(end - p);
  *fail = "the input ends inside a key";
  if (have < 4) return last ? KEY_BAD : KEY_MORE;
  size_t len = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
  if (have - 4 < len) return last ? KEY_BAD : KEY_MORE;
  *record = (key_record){.len = len + 4, .key = p + 4, .key_len = len};
  return KEY_OK;
}

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
                             csv_field *field, const char **fail) {
  const uint8_t *p = field->at = *q + 1;
  while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
    if (p + 1 == end && !last) return KEY_MORE; /* perhaps the first half of "" */
    if (p + 1 == end || p[1] != '"') break;
    field->quoted = true;
    p += 2;
  }
  *fail = "a quoted field does not end";
  if (p == NULL) return last ? KEY_BAD : KEY_MORE;
  field->len = (size_t)(p++ - field->at);
  for (size_t i = 0; i < field->len; i++) field->ninner += field->at[i] == '\n';
  bool clean = p == end || *p == r->delimiter;
  if (p < end && *p == '\r') p++;
  clean |= p == end || *p == '\n';
  *fail = "something follows the closing quote of a field";
  *q = p;
  return clean ? KEY_OK : KEY_BAD;
}

/* One field. A quoted one may hold delimiters, line ends and "" for a quote. */
static key_result csv_next(const key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                           csv_field *field, const char **fail) {
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

static void csv_key(const csv_field *field, uint8_t *scratch, key_record *record) {
  record->key = field->at;
  record->key_len = field->len;
  if (!field->quoted) return;
  record->key_len = csv_unquote(field, scratch);
  record->key = scratch;
}

static key_result frame_csv(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                            uint8_t *scratch, key_record *record, const char **fail) {
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
      csv_key(&field, scratch, record);
      is_it =
          record->key_len == strlen(r->name) && memcmp(record->key, r->name, record->key_len) == 0;
      *fail = "the header has this column twice: give its number with -k, and --header";
      if (is_it && found) return KEY_BAD;
      if (is_it) r->column = i;
    }
    if (is_it) csv_key(&field, scratch, record);
    found |= is_it;
    if (field.last_of_row) break;
  }
  record->len = (size_t)(field.next - p);
  bool blank = record->len == 1 || (record->len == 2 && p[0] == '\r');
  if (!found && blank) record->skip = true; /* a blank line is no row */
  *fail = r->wants_header ? "the header has no such column" : "the row has too few columns";
  if (!found && !blank) return KEY_BAD;
  record->ninner = ninner;
  if (r->wants_header) {
    record->skip = record->header = true;
    r->wants_header = false;
  }
  return KEY_OK;
}

key_result key_next(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                    uint8_t *scratch, key_record *record, const char **fail) {
  *record = (key_record){.len = 0};
  size_t skip;
  key_result got = reader_skip_bom(r, p, end, last, &skip);
  if (got != KEY_OK) return got;
  p += skip;
  switch (r->framing) {
    case FRAME_LINES: got = frame_line(r, p, end, last, record); break;
    case FRAME_FIXED: got = frame_fixed(p, end, last, record, fail); break;
    case FRAME_LENGTH: got = frame_length(p, end, last, record, fail); break;
    case FRAME_CSV:
    case FRAME_TSV: got = frame_csv(r, p, end, last, scratch, record, fail); break;
  }
  if (got == KEY_MORE) return got;
  r->nrecords++;
  if (got == KEY_OK && !record->skip) got = reader_decode(r, scratch, record, fail);
  if (got != KEY_OK) return got; /* the place is that of its first line */
  r->ninner += record->ninner;
  record->len += skip;
  return got;
}
