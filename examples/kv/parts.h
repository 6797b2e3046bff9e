/* parts.h - the parts of the store, one file each, and what they share. */
#ifndef KV_PARTS_H
#define KV_PARTS_H

#include <inttypes.h>
#include <nay_file.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv.h"

enum { KV_DELETED = 0, KV_VALUE = 1 }; /* the low byte of a tag */

typedef struct kv_name {
  char text[1100];
} kv_name;

/* ---- memtable.c: a skip list of records ---- */

typedef struct kv_node {
  kv_slice key, value; /* in its record, which is that of the log: key, tag, value */
  uint64_t tag;        /* sequence << 8 | type */
  _Atomic(struct kv_node *) next[];
} kv_node;

typedef struct kv_memtable {
  unsigned refs;
  size_t bytes;
  uint64_t last; /* sequence of the newest entry; without one, of what is older */
  kv_node *head;
} kv_memtable;

kv_memtable *kv_memtable_new(uint64_t last);
void kv_memtable_unref(kv_memtable *m);
kv_node *kv_memtable_add(kv_memtable *m, uint64_t tag, kv_slice key, kv_slice value);
/* kv_memtable_find: the first entry at or behind (key, tag); of one key the newest is first. key
 * NULL: behind all. before (may be NULL) gets the node before it in each list. */
kv_node *kv_memtable_find(const kv_memtable *m, const kv_slice *key, uint64_t tag,
                          kv_node **before);
kv_node *kv_node_next(const kv_node *node); /* of m->head: the first */
nay_merge_source kv_memtable_source(const kv_memtable *m);

/* ---- files.c: the log, the manifest, names and numbers ---- */

#define KV_RECORD 16                    /* bytes of a record's header */
#define KV_MAX_BYTES ((size_t)64 << 20) /* of a key, of a value */

typedef struct kv_table {
  unsigned level, refs;
  uint64_t number, bytes;
  bool merging; /* an input of the compaction under way */
  nay_sst *sst;
  kv_slice smallest, largest; /* user keys in memory of sst; no key is above the largest */
} kv_table;

/* kv_view: the store at one moment. Never changed, replaced by another; the manifest is the view on
 * the disk. */
typedef struct kv_view {
  unsigned refs;
  uint64_t log, sequence; /* the log has what is above the sequence; 0: no log yet */
  kv_memtable *mem;
  nay_lookup *lookup;
  size_t n;
  kv_table *tables[]; /* level 0 newest first, then levels in the order of keys */
} kv_view;

/* kv_alloc: zeroed. No memory ends the process, which is as harmless as kill -9. */
void *kv_alloc(size_t n);
void *kv_grow(void *old, size_t n);
/* kv_fail: writes the text, returns status. kv_blame: what the library says of a file. */
nay_status kv_fail(kv_error *error, nay_status status, const char *format, ...);
nay_status kv_blame(kv_error *error, nay_status status, const char *path, const nay_diag *diag);
uint64_t kv_load(const uint8_t *at, unsigned n);
void kv_store(uint8_t *at, uint64_t value, unsigned n);
uint64_t kv_checksum(const void *bytes, size_t len);
int kv_compare(kv_slice a, kv_slice b);
/* kv_path: of file `number`; of MANIFEST or LOCK, if the number is 0. */
kv_name kv_path(const kv *db, uint64_t number, const char *suffix);

/* kv_record_seal: writes the header of a record; returns how long all of it is. */
size_t kv_record_seal(uint8_t *record, size_t len, size_t value_len);
int kv_log_new(const kv *db, uint64_t number, kv_error *error);
nay_status kv_log_append(kv *db, const void *record, size_t n, kv_error *error);
/* kv_log_replay: into the memtable. NAY_OK with a text: a torn record was dropped. */
nay_status kv_log_replay(const char *name, kv_bytes log, kv_memtable *m, kv_error *error);
/* kv_manifest_parse: the text ends in a 0. The view is the caller's, whatever it returns. */
nay_status kv_manifest_parse(kv_bytes text, kv_view **view, kv_error *error);
nay_status kv_manifest_save(const kv *db, const kv_view *view, kv_error *error);

/* ---- db.c: the store ---- */

struct kv {
  char dir[1024];
  kv_options options;
  nay_filelock lock;
  pthread_t thread;
  pthread_mutex_t writer; /* whoever changes the store: log, manifest, view. Before mutex */
  pthread_cond_t changed;
  int fd;             /* of the log */
  uint64_t length;    /* of it */
  bool running, idle; /* the background thread */
  nay_status failed;  /* of the first write that failed; stays */
  kv_error failure;
  kv_stats stats;
  pthread_mutex_t mutex; /* whoever reads: the view, counts of references, snapshots */
  kv_view *view;
  uint64_t *snapshots; /* ascending */
  size_t nsnapshots;
  _Atomic uint64_t sequence; /* of the newest entry that readers see */
  _Atomic uint64_t next;     /* number of the next file */
  _Atomic bool closing;
};

nay_status kv_table_open(const kv *db, kv_table *table, kv_error *error);
kv_view *kv_view_ref(kv *db);
void kv_view_unref(kv *db, kv_view *view);
/* kv_view_next: a copy to be changed, with room for more tables. It has no references yet. */
kv_view *kv_view_next(const kv_view *view, size_t more);
/* kv_view_commit: with the writer lock: the view is saved, and readers that come see it. It takes
 * what the view has, and frees that if it fails, or status says that what came before did.
 * kv_flush: the same after it made the memtable a table of level 0, the last of the view; an empty
 * memtable and an empty log are next. */
nay_status kv_view_commit(kv *db, kv_view *view, nay_status status, kv_error *error);
nay_status kv_flush(kv *db, const kv_memtable *m, kv_view *view, kv_error *error);
/* kv_level: how many tables of a level a view has, and their bytes. */
size_t kv_level(const kv_view *view, unsigned level, uint64_t *bytes);

/* ---- compaction.c: the background thread ---- */

#define KV_COMPACT_TABLES 4 /* so many tables of level 0 are merged into level 1 */
#define KV_STOP_TABLES 12   /* with so many, puts wait for that */
extern const nay_sst_write_options kv_table_options;
void *kv_background(void *db);

#endif /* KV_PARTS_H */
