/*
 * stream.h - keys in batches. While one batch is used, a second thread reads, frames and hashes
 * the next ones; a batch that is not full is handed over as soon as the input pauses, so that a
 * slow pipe is answered at once.
 */
#ifndef NAY_STREAM_H
#define NAY_STREAM_H

#include "bads.h"
#include "keys.h"
#include "source.h"

#define BATCH_KEYS 8192u /* the arrays of a batch fit in L2 */
#define BATCH_WORDS (BATCH_KEYS / 64)

typedef struct key_batch {
  size_t n;
  const void **keys;
  size_t *lens;
  uint64_t *lo, *hi; /* hashes, when the stream was told how to hash */
  /* private: see batch_record, batch_text */
  const uint8_t **records; /* NULL when the reader is plain */
  size_t *record_lens;
  const uint8_t **texts; /* NULL: the keys are the texts */
  size_t *text_lens;
  uint64_t *lines;        /* NULL without --line-number */
  const uint8_t **values; /* NULL: records have none */
  size_t *value_lens;
  bool *maybes; /* of ranges: their answers; else NULL */
  bool plain;
  const uint8_t *header; /* the header of the first file, if it came in this batch */
  size_t header_len;
  uint64_t file;           /* its number: all keys of a batch are of one file */
  const char *name;        /* its name, when there are several files or -H is given; else NULL */
  const char *path;        /* its name, NULL: keys are arguments */
  bool named;              /* -H: the name is printed before keys */
  uint64_t nlines, nbytes; /* records, and their bytes, that gave these keys, bad ones included */
  uint64_t position;       /* bytes of input files read so far */
  bool idle;               /* the input pauses after this batch: flush */
  source_failure *fail;    /* reading failed after these keys */
  bad_list *bads;          /* records without a key */
  nay_status hashed;
  struct batch_memory *memory;
} key_batch;

typedef struct key_stream key_stream;

/*
 * stream_open: the keys that are arguments, or else those of the files in order ("-" is stdin; no
 * files: stdin). hash_with may be NULL;
 * the filter must live as long as the stream. threads 1: nothing happens in the background.
 */
key_stream *stream_open(const options *o, const keys_options *keys, const char *const *paths,
                        size_t n, const nay_filter *hash_with);

/*
 * stream_open_to_answer: the same for commands that only answer: a file that cannot be read or is
 * damaged ends where it fails, with a message, and the next one follows. What becomes of bad
 * records without --on-bad is `otherwise`. stream_status is then 2, or 3 for damage; else 0.
 */
key_stream *stream_open_to_answer(const options *o, const keys_options *keys,
                                  const char *const *paths, size_t n, const nay_filter *hash_with,
                                  on_bad otherwise);
int stream_status(key_stream *s);

/* stream_open_whole: for an answer that needs all files: one that cannot be read ends the command,
 * as with stream_open; a bad record does not. */
key_stream *stream_open_whole(const options *o, const keys_options *keys, const char *const *paths,
                              size_t n);

/* stream_nfiles: how many files it has. stream_file: the name of file i, from 0, as it is printed,
 * or NULL when it was not read to its end: it failed, or was skipped. After the last batch. */
size_t stream_nfiles(const key_stream *s);
const char *stream_file(const key_stream *s, size_t i);

/* stream_print_name: the name of a key file, "(standard input)" for "-", and an end. */
void stream_print_name(const char *path, const char *end);

/* stream_must_exist: exits when one of the files cannot be opened: before anything else is said,
 * and before the ones before it are read. */
void stream_must_exist(const options *o, const keys_options *keys, const char *const *paths,
                       size_t n);

/* stream_next: the next batch, valid until the following call; NULL at the end. A file that cannot
 * be read or is damaged ends the program, as does a bad record without --on-bad: what a filter is
 * made of must be whole. */
key_batch *stream_next(key_stream *s);

/* stream_bad_key: the record of key i of the batch is bad after all: the command cannot use it. */
void stream_bad_key(key_stream *s, const key_batch *b, size_t i, const char *why);

/* stream_skip_file: no more keys of the file of the last batch, of which n were used. */
void stream_skip_file(key_stream *s, size_t n);

uint64_t stream_nkeys(const key_stream *s); /* handed out so far */
void stream_close(key_stream *s);

/* batch_record: the record of key i, terminator included. */
static inline const uint8_t *batch_record(const key_batch *b, size_t i, size_t *len) {
  *len = b->plain ? b->lens[i] + 1 : b->record_lens[i];
  return b->plain ? b->keys[i] : b->records[i];
}

/* batch_text: the text that stands for key i, before --key made a key of it. */
static inline const uint8_t *batch_text(const key_batch *b, size_t i, size_t *len) {
  *len = b->texts != NULL ? b->text_lens[i] : b->lens[i];
  return b->texts != NULL ? b->texts[i] : b->keys[i];
}

/* batch_passing: the next bad record that is to be printed before key i, or NULL. */
const bad_record *batch_passing(const key_batch *b, size_t i);

/* batch_print_once: false when the record was printed for the key before. */
bool batch_print_once(const key_batch *b, const uint8_t *record);

/* batch_print: the records of keys 64 * w + i for which bit i of word is set, and the bad ones
 * before them that are to be printed; batch_print_rest: those that are left. */
void batch_print(const key_batch *b, size_t w, uint64_t word);
void batch_print_rest(const key_batch *b);

/* word_mask: the bits of word w that stand for keys of an array of n. */
static inline uint64_t word_mask(size_t n, size_t w) {
  size_t left = n - 64 * w;
  return left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

/* stream_count: how many keys stream_open would give, without keeping them; false when the files
 * cannot be read twice (pipes, compressed files). */
bool stream_count(const keys_options *keys, const char *const *paths, size_t n, uint64_t *nkeys);

/* stream_use: how the options have key files read. */
source_use stream_use(const options *o, const keys_options *keys);

/* stream_nbytes: bytes of all files, for progress; 0 when one is not a regular file. */
uint64_t stream_nbytes(const char *const *paths, size_t n);

#endif /* NAY_STREAM_H */
