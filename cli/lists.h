/* lists.h - exact lists in files, the changes to them, and keys with their partitions. */
#ifndef NAY_LISTS_H
#define NAY_LISTS_H

#include <nay_list.h>

#include "maps.h"

/* LIST_WARNING: what everybody who reads a list without check bits has to know. */
#define LIST_WARNING "a key outside the universe gets an arbitrary answer"

/* LIST_TAB: with --partition a key is the partition, this byte, and the key itself. */
#define LIST_TAB '\t'

/* list_options: of nay list; the rows are in cmd_list.c. */
typedef struct list_options {
  options common;
  keys_options keys;
  select_options select;
  output_options output;
  size_options size; /* its seed */
  text_list universe;
  const char *partition; /* a column */
  const char *partition_delimiter;
  uint64_t partition_prefix, check_bits;
  unsigned outside; /* nay_list_outside */
  const char *secret, *meta;
  bool store_key, invert, annotate, low_memory, two_passes;
  bool again; /* the files are read once more: their bad records are known */
} list_options;

/* ---- keys ---- */

/* list_style: how the records of keys are read: with --partition they have a second column. */
keys_options list_style(const list_options *o);

/* list_keys: the keys of a batch as the list knows them. Those of the batch without --partition. */
typedef struct list_keys {
  const void *const *at;
  const size_t *lens;
  const void *made[BATCH_KEYS];
  size_t made_lens[BATCH_KEYS];
  uint8_t *bytes; /* to be freed */
  size_t cap;
} list_keys;

void list_keys_of(list_keys *keys, const list_options *o, const key_batch *b);

/* list_read: calls `each` for the keys of the files; `answers`: a file that cannot be read is a
 * message, and the next one follows. Returns an exit status. */
typedef void list_each(void *ctx, const key_batch *b, const list_keys *keys);
int list_read(const list_options *o, const text_list *files, bool answers, list_each *each,
              void *ctx);

/* ---- lists ---- */

/* list_chain: a list, and the changes to it, oldest first. */
typedef struct list_chain {
  const char *const *paths;
  nay_filter **lists;
  size_t n;
  nay_stats first, last; /* of the first and the last list */
} list_chain;

/* list_open: exits when one is no list, is locked, or does not follow the one before. The keys are
 * then read as the first one states. */
list_chain list_open(list_options *o, const char *const *paths, size_t n);
void list_close(list_chain *c);

/* list_is_file: whether a file is an exact list, not a file of keys; exits when it is damaged. */
bool list_is_file(const char *path, const char *secret);

/* list_answer: bit i of listed and known: key i is listed, and may be of the universe. */
void list_answer(const list_chain *c, const void *const *keys, const size_t *lens, size_t n,
                 uint64_t *listed, uint64_t *known);

/* list_bits_per_listed: of the payload; 0 when nothing is listed. */
static inline double list_bits_per_listed(const nay_stats *s, uint64_t nbits) {
  return s->nlisted != 0 ? (double)nbits / (double)s->nlisted : 0;
}

/* The verbs of nay list. */
int list_build(list_options *o);
int list_check(list_options *o);
int list_info(list_options *o);
int list_verify(list_options *o);
int list_delta(list_options *o);

#endif /* NAY_LISTS_H */
