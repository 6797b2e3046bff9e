/*
 * keys.h - from bytes to keys. A *record* is a piece of the file, terminator included, and is
 * what commands print; the *key* is what is hashed: the line without its end, the decoded hex, the
 * field of a CSV row.
 *
 *   lines (-0)         key \n                      fixed (u64le)      8 bytes, each record a key
 *   length-prefixed    | length u32le | key |      csv, tsv           a column of each row
 */
#ifndef NAY_KEYS_H
#define NAY_KEYS_H

#include "options.h"

typedef enum key_framing {
  FRAME_LINES,
  FRAME_FIXED,
  FRAME_LENGTH,
  FRAME_CSV,
  FRAME_TSV
} key_framing;

typedef struct key_reader {
  key_framing framing;
  key_encoding encoding;
  bool crlf, skip_empty;
  uint8_t terminator, delimiter;
  bool wants_header; /* the next record is a header */
  const char *name;  /* the column to find in it, or NULL */
  size_t column;     /* from 0 */
  uint64_t nrecords; /* of this file, seen so far */
  uint64_t ninner;   /* line ends inside them, in quoted fields */
  bool plain;        /* record = key + terminator: nothing to decode */
} key_reader;

/* key_reader_new: exits with a message when the options contradict each other. */
key_reader key_reader_new(const key_style *style);

/* key_reader_place: the position of the last record: "line 7", or "record 7" when it has no lines.
 */
const char *key_reader_place(const key_reader *r, char text[64]);

/* key_reader_is_utf16: whether a file of text that starts so is UTF-16. */
bool key_reader_is_utf16(const key_reader *r, const uint8_t *p, size_t len);

typedef struct key_record {
  size_t len;         /* of the record, terminator included */
  const uint8_t *key; /* in the record, or in the scratch memory */
  size_t key_len;
  uint64_t ninner; /* line ends inside it */
  bool skip;       /* an empty key that is not one, or a header */
  bool header;
} key_record;

typedef enum key_result { KEY_OK, KEY_MORE, KEY_BAD } key_result;

/*
 * key_next: the record at p. KEY_MORE: it does not end before `end`, and there may be more. `last`
 * says that there is not: then the record ends at `end`, where a terminator stands for it.
 * scratch has room for the record's length and 8 bytes. KEY_BAD: `fail` says why.
 */
key_result key_next(key_reader *r, const uint8_t *p, const uint8_t *end, bool last,
                    uint8_t *scratch, key_record *record, const char **fail);

#endif /* NAY_KEYS_H */
