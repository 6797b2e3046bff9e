/*
 * keys.h - from bytes to keys. A *record* is a piece of the file, terminator included, and is
 * what commands print; the *text* is the part of it that stands for the key: the line without its
 * end, the field of a CSV row; the *key* is what is hashed: the value of the text in the type of
 * --key, by nay_key_convert, or the text itself.
 *
 *   lines (-0)         text \n                     fixed (u64le)      8 bytes, each record a key
 *   lines, -F          field SEP field SEP ... \n  csv, tsv           a column of each row
 *   lines, -k          fields between runs of blanks
 *   length-prefixed    | length u32le | key |
 *   JSON lines         fields of each, see json_read.h; one with [] may give several keys
 *
 * A record may also have a *value*, for maps: another column or field; in binary records 8 bytes
 * after the key, little-endian.
 */
#ifndef NAY_KEYS_H
#define NAY_KEYS_H

#include "json_read.h"
#include "options.h"

typedef enum key_framing {
  FRAME_LINES,
  FRAME_FIXED,
  FRAME_LENGTH,
  FRAME_CSV,
  FRAME_TSV,
  FRAME_JSON
} key_framing;

/* field_range: fields of a line, counted from 0; last SIZE_MAX: to the end. */
typedef struct field_range {
  size_t first, last;
} field_range;
#define KEY_RANGES 32

/* key_column: a column of a CSV file. */
typedef struct key_column {
  const char *name; /* to find in the header, or NULL */
  size_t at;        /* from 0 */
} key_column;

/* key_json: of FRAME_JSON. */
typedef struct key_json {
  json_paths paths;
  json_value values[JSON_VALUES]; /* of the last line */
} key_json;

/* key_check: keys are texts of a type that nay_key.h does not have; others are bad records. */
typedef struct key_check {
  bool (*accepts)(const void *ctx, const char *text, size_t len, nay_diag *diag);
  const void *ctx;
  const char *type; /* its name, for messages */
} key_check;

typedef struct key_reader {
  key_framing framing;
  nay_key_description how;
  unsigned form; /* KEY_FORM_... */
  bool crlf, skip_empty;
  uint8_t terminator, delimiter;
  bool wants_header; /* the next record is a header */
  key_column column;
  bool values;                    /* records have a value: */
  bool value_is_rest;             /* all that follows the key's column, not its own column alone */
  bool value_is_partition;        /* messages name --partition instead of --value */
  key_column value_column;        /* of a field: its number */
  const nay_filter *range_filter; /* key and value are the ends of a range that it is asked for */
  const key_check *check;         /* or NULL */
  const char *separator;          /* of the fields of a line, or NULL: the line is the text */
  size_t separator_len;
  bool blanks; /* runs of blanks separate the fields, as in awk; those at the ends count for nothing
                */
  field_range ranges[KEY_RANGES]; /* joined by the separator, in this order */
  size_t nranges;
  uint64_t nrecords; /* of this file, seen so far */
  uint64_t ninner;   /* line ends inside them, in quoted fields */
  key_json *json;    /* to be freed by key_reader_end, or NULL */
  bool plain;        /* record = key + terminator: nothing to decode */
  char why[400];     /* a message about the header */
} key_reader;

/* key_reader_new: exits with a message when the options contradict each other. */
key_reader key_reader_new(const keys_options *style);

/* key_reader_end: what it has allocated. */
void key_reader_end(key_reader *r);

/* key_reader_unit: what its records are counted by: "line", or "record" when there are no lines.
 * key_reader_place: the position of the last record: "line 7", "record 7". */
const char *key_reader_unit(const key_reader *r);
const char *key_reader_place(const key_reader *r, char text[64]);

/* key_reader_next_line: the number of the next record's first line. key_reader_is_text: whether
 * records are lines or rows of text, in which no byte is zero. */
uint64_t key_reader_next_line(const key_reader *r);
bool key_reader_is_text(const key_reader *r);

/* key_reader_lines_inside: line ends in the n bytes of a record before its own. */
uint64_t key_reader_lines_inside(const key_reader *r, const uint8_t *p, size_t n);

/* key_reader_can_end: whether a record that did not end before these bytes can end in them. */
bool key_reader_can_end(const key_reader *r, const uint8_t *p, size_t len);

/* key_reader_is_utf16: whether a file of text that starts so is UTF-16. */
bool key_reader_is_utf16(const key_reader *r, const uint8_t *p, size_t len);

/* key_reader_check_whole: exits unless a whole record can be a key: lines and rows of text. */
void key_reader_check_whole(const key_reader *r);

/* key_reader_keeps_cr: whether a carriage return at the end of a line is part of the text. */
bool key_reader_keeps_cr(const key_reader *r);

typedef struct key_record {
  size_t len;          /* of the record, terminator included */
  const uint8_t *text; /* in the record, or in the scratch memory */
  size_t text_len;
  const uint8_t *key; /* the same bytes as the text, or in the scratch memory */
  size_t key_len;
  const uint8_t *value; /* in the record or in the scratch memory, if records have one */
  size_t value_len;
  bool maybe; /* of a range: the answer */
  size_t scratch_used;
  uint64_t line;   /* of its file, counted from 1; the number of the record if it has no lines */
  uint64_t ninner; /* line ends inside it */
  bool skip;       /* an empty key that is not one, or a header */
  bool header;
  size_t nkeys; /* 0 and 1: one; else the others come by key_more */
} key_record;

typedef enum key_result { KEY_OK, KEY_MORE, KEY_BAD } key_result;

/* Why a record is KEY_BAD. */
typedef struct key_failure {
  const char *what;
  bool is_value; /* the text is not a value of the type, from this byte of it on: */
  bool is_byte;  /* the line is wrong from this byte of it on: */
  uint64_t offset;
} key_failure;

/*
 * KEYS_GROW: the keys of one record that are longer than their texts have at most this many bytes
 * more, all together, but for the last one.
 */
#define KEYS_GROW ((size_t)4 << 20)

/*
 * KEY_SCRATCH: scratch memory that a record of len bytes needs at most, its text and key (of
 * UTF-16, twice that: two bytes for one beside the text that they are made of).
 * key_reader_room: beyond that, for numerics with an exponent.
 */
#define KEY_SCRATCH(len) (2 * (len) + 8)
size_t key_reader_room(const key_reader *r);

/* key_of_whole: the record at p, of record->len bytes, as a key without its line end; see
 * key_reader_check_whole. False: it is empty, and --skip-empty ignores that. */
bool key_of_whole(const key_reader *r, const uint8_t *p, uint8_t *scratch, key_record *record);

/* key_reader_scratch: scratch memory for a batch of len bytes, in nrecords records. */
size_t key_reader_scratch(const key_reader *r, size_t len, size_t nrecords);

/*
 * key_next: the record at p. KEY_MORE: it does not end before `end`, and there may be more. `last`
 * says that there is not: then the record ends at `end`, where a terminator stands for it.
 * scratch has room for the record as above.
 */
key_result key_next(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                    uint8_t *scratch, key_record *record, key_failure *fail);

/* key_more: key i of the record that key_next gave last, of record->nkeys. KEY_OK or KEY_BAD. */
key_result key_more(key_reader *r, size_t i, uint8_t *scratch, key_record *record,
                    key_failure *fail);

/*
 * key_of_text: the key of a text that is an option's value, in memory to be freed; NULL when there
 * is no text. Exits when it is no value of the type.
 */
uint8_t *key_of_text(const keys_options *style, const char *option, const char *text, size_t *len);

/* ---- key_columns.c ---- */

/* key_ranges: the list of -k, such as 2,5 or 3-4, into r->ranges; exits when it is none. */
void key_ranges(key_reader *r, const char *list);

/* frame_fields: the selected fields of the line that is the text of the record. */
key_result frame_fields(const key_reader *r, uint8_t *scratch, key_record *record,
                        key_failure *fail);

/* frame_csv: a row of a CSV or tab-separated file. */
key_result frame_csv(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                     uint8_t *scratch, key_record *record, key_failure *fail);

#endif /* NAY_KEYS_H */
