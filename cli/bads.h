/*
 * bads.h - bad records: those that have no key. A field or a column is missing, a quote does not
 * close, a text is no value of --key, a record is longer than --max-record. --on-bad says what
 * becomes of them, --bad-to keeps them; the numbers of all streams of a command are added up here.
 */
#ifndef NAY_BADS_H
#define NAY_BADS_H

#include "options.h"

/* on_bad: in the order of the words of --on-bad. */
typedef enum on_bad {
  ON_BAD_FAIL,   /* the file ends at the record, with a message; or the command, see stream.h */
  ON_BAD_REPORT, /* no key; a message, and exit status 2 at the end */
  ON_BAD_SKIP,   /* no key */
  ON_BAD_PASS,   /* no key; commands that print records print it */
  ON_BAD_LINE,   /* the whole record, without its end, is the key */
  ON_BAD_DEFAULT /* not given */
} on_bad;

#define BADS_TOLD 5u /* messages about single records; the others are counted */

/* bad_record: one in a batch. */
typedef struct bad_record {
  size_t before; /* it stands before this key of the batch */
  const uint8_t *bytes;
  size_t len; /* terminator included */
  uint64_t line;
  char *why; /* a message, of the first BADS_TOLD of a file; to be freed */
} bad_record;

/* bad_list: those of a batch, in their order; npassed of them are printed. */
typedef struct bad_list {
  bad_record *at;
  size_t n, cap, npassed;
  bool passes;            /* ON_BAD_PASS */
  const uint8_t *printed; /* the good record that was printed last: it may have several keys */
} bad_list;

/* bads_begin: what the options of a stream say, which answers or else makes a result. Exits when
 * --bad-to cannot be. */
void bads_begin(const keys_options *keys, on_bad mode, bool answers);

/* bads_take: counts a bad record, and keeps it for --bad-to. file: its name, or NULL when there is
 * but one. */
void bads_take(const bad_record *bad, const char *file);

/* bads_mute: from now on bad records are known from an earlier reading of their files. */
void bads_mute(void);

/* bads_count: so far. */
uint64_t bads_count(void);

/* bads_end: writes --bad-to, and says how many there were. Returns the exit status, worse than
 * `status` when a result was written without records that were to be reported. */
int bads_end(int status);

#endif /* NAY_BADS_H */
