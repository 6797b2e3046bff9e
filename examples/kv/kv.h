/*
 * kv.h - a small key-value store: what an LSM tree is, on libnay's tables. README.md has the tour.
 *
 * A put goes to the log and to the memtable; a thread in the background makes a full memtable a
 * table of level 0, and merges tables downwards. A get asks newest first: memtables, tables; the
 * filter of a table says nay before a block of it is read.
 *
 * THREADS. All calls on one kv are safe together, but kv_close. An iterator belongs to one thread.
 * A kv belongs to one process: after fork only one of the two may use it. ERRORS. Calls return a
 * nay_status and explain it in a kv_error (may be NULL). After a failed write the store is
 * read-only until it is opened again; reads go on.
 */
#ifndef KV_H
#define KV_H

#include <nay_sst_iter.h>

#define KV_LEVELS 7

typedef struct kv kv;
typedef struct kv_slice { /* bytes of someone else */
  const void *data;
  size_t len;
} kv_slice;
typedef struct kv_bytes { /* what gets reuse: zero it before the first, free(data) after the last */
  char *data;
  size_t len;
} kv_bytes;
typedef struct kv_error {
  char text[512];
} kv_error;

typedef struct kv_options {
  bool sync;           /* a put returns when it is on the disk; else when the system has it */
  bool must_exist;     /* do not make a store */
  size_t write_buffer; /* a memtable of so many bytes becomes a table; 0: 4 MiB. Compaction makes
                          tables of half of it; level 1 has 2.5 times, each further one 10 times as
                          much */
} kv_options;

/* kv_open: an empty or missing directory becomes a store; options NULL: all zero. NAY_OK: the text
 * is empty, or says what a crash of the machine tore off the log. NAY_EIO: another process has it
 * open, a file is missing. NAY_ECORRUPT: the offset is in the text. NAY_EMISMATCH: made with
 * another comparator. NAY_ENOENT: must_exist, and there is none. */
nay_status kv_open(const char *dir, const kv_options *options, kv_error *error, kv **db);
void kv_close(kv *db);

/* kv_repair: a store that does not open because its logs are damaged or missing opens again, with
 * all records that are whole. NAY_OK: the text says what was found, and is empty if there was
 * nothing to repair. No file is lost: those that the manifest does not name are kept under another
 * name. Other damage is an error, and nothing is changed; so is a manifest that is older than a log
 * or table beside it. */
nay_status kv_repair(const char *dir, kv_error *error);

/* kv_put: keys and values have at most 64 MiB each. NAY_OK: acknowledged, survives kill -9; with
 * sync also a crash of the machine. An error: not in the store, unless it says that the log could
 * not be cut back. Every write after that is not in the store, and returns the same error. */
nay_status kv_put(kv *db, kv_slice key, kv_slice value, kv_error *error);
nay_status kv_delete(kv *db, kv_slice key, kv_error *error);

/* kv_snapshot_take: the store as it is now, for gets and iterators until it is released. */
uint64_t kv_snapshot_take(kv *db);
void kv_snapshot_release(kv *db, uint64_t snapshot);

/* kv_get: NAY_ENOENT: not there. snapshot 0, or one above all: now. trace (may be NULL) is told
 * each step. */
typedef void (*kv_trace)(void *ctx, const char *step);
nay_status kv_get(kv *db, kv_slice key, uint64_t snapshot, kv_bytes *value, kv_trace trace,
                  void *ctx, kv_error *error);

/* kv_iter: the keys from `from` on (NULL: the first), below `to` (NULL: no end); sees no later put.
 * Move and read `merge` by the calls of nay_sst_iter.h; it stands at the first key. NAY_EEND:
 * there is none. Free the iterator after NAY_OK and NAY_EEND. */
typedef struct kv_iter {
  nay_sst_scan *merge;
  struct kv_view *view;
} kv_iter;
nay_status kv_iter_new(kv *db, uint64_t snapshot, kv_slice from, kv_slice to, kv_error *error,
                       kv_iter *iter);
void kv_iter_free(kv_iter *iter);

/* kv_settle: the memtable becomes a table, and compaction runs until no level is too large. */
nay_status kv_settle(kv *db, kv_error *error);

typedef struct kv_stats {
  size_t tables[KV_LEVELS];
  uint64_t bytes[KV_LEVELS];
  /* bytes: in the memtable now, of tables written since it was opened */
  uint64_t sequence, memtable, flushed, compacted;
  nay_sst_counters counters; /* of the tables open now */
  uint64_t open,
      held; /* tables that are open, and the memory that their filters and indexes take */
} kv_stats;
void kv_describe(kv *db, kv_stats *stats);

#endif /* KV_H */
