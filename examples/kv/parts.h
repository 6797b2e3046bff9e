/* parts.h - the parts of the store, one file each, and what they share. */
#ifndef KV_PARTS_H
#define KV_PARTS_H

#include <nay_file.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kv.h"

#define KV_MAX_BYTES ((size_t)64 << 20)                 /* of a key, of a value */
enum { KV_DELETED = 0, KV_VALUE = 1, KV_NEXT_LOG = 2 }; /* the low byte of a tag */

/* kv_alloc: zeroed. No memory ends the process, which the store survives as any other end. */
void *kv_alloc(size_t n);
/* kv_fail: writes the text, returns status. */
nay_status kv_fail(kv_error *error, nay_status status, const char *format, ...);
uint64_t kv_load(const uint8_t *at, unsigned n);
void kv_store(uint8_t *at, uint64_t value, unsigned n);
/* kv_compare: user keys; comparator NULL: bytewise. */
int kv_compare(const nay_sst_comparator *comparator, kv_slice a, kv_slice b);

/* kv_path: of file `number`; of MANIFEST or LOCK, if the number is 0. */
typedef struct kv_name {
  char text[1100];
} kv_name;
kv_name kv_path(const kv *db, uint64_t number, const char *suffix);

/* ---- memtable.c: a skip list of records ---- */

typedef struct kv_node {
  kv_slice key, value; /* in its record, which is that of the log: key, tag, value */
  uint64_t tag;        /* sequence << 8 | type */
  unsigned height;
  _Atomic(struct kv_node *) next[];
} kv_node;

typedef struct kv_memtable {
  const nay_sst_comparator *comparator;
  unsigned refs;
  size_t bytes;
  uint64_t last;     /* sequence of the newest entry */
  uint64_t next_log; /* once it is full: the first log that has nothing of it */
  struct kv_chunk *chunks;
  size_t used; /* of the first chunk */
  kv_node *head;
  _Atomic unsigned height;
} kv_memtable;

kv_memtable *kv_memtable_new(const nay_sst_comparator *comparator);
void kv_memtable_unref(kv_memtable *m);
kv_node *kv_memtable_add(kv_memtable *m, uint64_t tag, kv_slice key, kv_slice value);
/* kv_memtable_seek: the first entry at or behind (key, tag); of one key the newest is first. */
kv_node *kv_memtable_seek(const kv_memtable *m, kv_slice key, uint64_t tag);
kv_node *kv_memtable_first(const kv_memtable *m);
kv_node *kv_node_next(const kv_node *node);
nay_merge_source kv_memtable_source(const kv_memtable *m);

/* ---- log.c: records with checksums ---- */

#define KV_RECORD 16 /* bytes of a record's header */
typedef struct kv_log {
  int fd;
  uint64_t number, length;
} kv_log;

/* kv_replay: where the records of logs go, and what was found. */
typedef struct kv_replay {
  kv_memtable *mem;
  uint64_t sequence;     /* of the last record */
  uint64_t next_log;     /* that the log ends with; 0: it is the last */
  size_t records, valid; /* behind `valid` the last record is torn */
  bool dropped;
  const kv_options *options;
} kv_replay;

uint32_t kv_crc32c(const void *bytes, size_t len);
/* kv_record_seal: writes the header of a record; returns how long all of it is. */
size_t kv_record_seal(uint8_t *record, size_t len, size_t value_len);
/* kv_log_open: for appending at length; what is behind it is cut off. */
nay_status kv_log_open(const kv *db, uint64_t number, uint64_t length, bool create, kv_log *log,
                       kv_error *error);
nay_status kv_log_append(kv_log *log, const void *record, size_t n, bool sync, kv_error *error);
nay_status kv_log_replay(const char *name, kv_slice log, kv_replay *replay, kv_error *error);

/* ---- manifest.c: which files are the store ---- */

typedef struct kv_table {
  unsigned level, refs;
  uint64_t number, bytes;
  bool obsolete; /* unlinked when the last view that has it is gone */
  nay_sst *sst;
  kv_slice smallest, largest; /* user keys, its own copies */
} kv_table;

typedef struct kv_manifest {
  uint64_t log, sequence, next; /* logs from `log` on have what is above `sequence` */
  size_t n;
  kv_table **tables;
} kv_manifest;

/* kv_manifest_parse: the text ends in a 0. The tables are the caller's, whatever it returns. */
nay_status kv_manifest_parse(kv_slice text, const nay_sst_comparator *comparator,
                             kv_manifest *manifest, kv_error *error);
nay_status kv_manifest_save(const kv *db, const kv_manifest *manifest, kv_error *error);

/* ---- db.c, read.c: the store ---- */

/* kv_view: what a reader of one moment sees. Never changed, replaced by another. */
typedef struct kv_view {
  unsigned refs;
  kv_memtable *mem, *full; /* full: being written to a table, or NULL */
  nay_lookup *lookup;
  size_t n;
  kv_table *tables[]; /* level 0 newest first, then levels in the order of keys */
} kv_view;

struct kv {
  char dir[1024];
  kv_options options;
  nay_filelock lock;
  pthread_t thread;
  pthread_mutex_t writer; /* one put at a time: log, mem. Taken before mutex */
  kv_log log;
  kv_memtable *mem;
  pthread_mutex_t mutex;     /* all that follows, and counts of references */
  pthread_cond_t work, done; /* for the background thread, from it */
  kv_view *view;
  uint64_t *snapshots; /* ascending */
  size_t nsnapshots;
  kv_manifest saved;           /* without its tables; `next`: the number of the next file */
  bool running, closing, idle; /* of the background thread */
  nay_status failed;           /* of the first write that failed; stays */
  kv_error failure;
  kv_stats stats;
  _Atomic uint64_t sequence; /* of the newest entry that readers see */
};

uint64_t kv_number(kv *db);
nay_status kv_table_open(kv *db, kv_table *table, kv_error *error);
void kv_table_unref(kv *db, kv_table *table);
/* kv_view_publish: with the mutex. Readers that come see these. */
nay_status kv_view_publish(kv *db, kv_memtable *mem, kv_memtable *full, kv_table *const *tables,
                           size_t n, kv_error *error);
void kv_view_unref(kv *db, kv_view *view);
void kv_set_failed(kv *db, nay_status status, const kv_error *error);

/* ---- compaction.c: the background thread ---- */

#define KV_COMPACT_TABLES 4 /* so many tables of level 0 are merged into level 1 */
#define KV_STOP_TABLES 12   /* with so many, puts wait for that */
/* kv_level: how many tables of a level a view has, and their bytes. */
size_t kv_level(const kv_view *view, unsigned level, uint64_t *bytes);
void *kv_background(void *db);

#endif /* KV_PARTS_H */
