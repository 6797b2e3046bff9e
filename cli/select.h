/*
 * select.h - the keys that a command selects, as grep does lines: --max-count of each file,
 * --line-number, the count of -c.
 */
#ifndef NAY_SELECT_H
#define NAY_SELECT_H

#include "stream.h"

typedef struct selection {
  const options *o;
  const select_options *asked;
  bool line_number, ends_in_zero;
  uint64_t nkeys, nselected; /* of all files; keys after the last one of --max-count do not count */
  struct file_count *files;  /* -H -c: of each file; nfiles of them */
  size_t nfiles;
  uint64_t file, left; /* the file of the last batch, and how many may be selected of it */
} selection;

/* file_count: of one file. */
typedef struct file_count {
  uint64_t nkeys, nselected;
} file_count;

selection selection_begin(const options *o, const select_options *asked, const keys_options *keys);

/* selection_counts: whether the count is written at the end: with -c, but as in grep a --max-count
 * of 0 writes no line; --json writes its document always. */
bool selection_counts(const options *o, const select_options *asked);

/*
 * selection_take: counts the selected keys of a batch. Clears the bits beyond --max-count, and
 * reads no more of this file then. Returns how many keys of the batch were examined.
 */
size_t selection_take(selection *s, key_stream *stream, const key_batch *b, uint64_t *bitmap);

/* selection_goes_on: whether --max-count allows another key of this file. selection_add: key i. */
bool selection_goes_on(selection *s, const key_batch *b);
void selection_add(selection *s, key_stream *stream, const key_batch *b, size_t i, bool selected);

/* selection_files: -H -c: name, colon and count of each file that was read, or the member "files"
 * of the open JSON document. selection_end: releases what it holds. */
void selection_files(const selection *s, const key_stream *stream);
void selection_end(selection *s);

/* selection_done: whether no more keys are needed: -q, and one is selected. */
bool selection_done(const selection *s);

/* selection_print: the selected records as they came, with their line numbers if wanted. */
void selection_print(const selection *s, const key_batch *b, const uint64_t *bitmap);
void selection_print_header(const selection *s, const key_batch *b);

/* selection_pass: the bad records before key i that are to be printed, each after its line number,
 * if wanted, and a mark. */
void selection_pass(const key_batch *b, size_t i, const char *mark);

/* selection_prefix: the line number of key i, if wanted, after the file's name with -H or when
 * there are several. selection_json_key: the members key and line. */
void selection_prefix(const key_batch *b, size_t i);
void selection_json_key(const key_batch *b, size_t i);

/* selection_json_range: the members that are the ends of a range, and its place. */
void selection_json_range(const key_batch *b, size_t i);

static inline bool is_selected(const uint64_t *bitmap, size_t i) {
  return (bitmap[i / 64] >> (i % 64) & 1) != 0;
}

#endif /* NAY_SELECT_H */
