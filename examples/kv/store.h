/*
 * store.h - what the parts of the store share. Functions that other files call begin with kv__.
 *
 *   files.c       memory, errors, names of files, whole files, checksums
 *   log.c         memtables and their write-ahead logs
 *   levels.c      tables, and the levels they are in
 *   manifest.c    the text that says which files are the store
 *   views.c       the store at one moment: memtables and levels
 *   pick.c        which tables to merge next
 *   background.c  the thread that writes tables
 *   db.c          put, get, snapshots, iterators
 *   open.c        recovery
 *   repair.c      recovery from damaged logs
 */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <inttypes.h>
#include <nay_file.h>
#include <nay_sst_cache.h>
#include <nay_sst_memtable.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

/* So many tables of level 0 are too many; with so many, puts wait. A key, a value has so many bytes
 * at most. */
enum { KV_COMPACT_TABLES = 4, KV_STOP_TABLES = 12, KV_MAX_BYTES = 64 << 20 };

#define KV_MAX_FILE 999999999999u /* the largest number of a file */

/* kv_file: a path, and what the library says of the file that is there. */
typedef struct kv_file {
  char path[1100];
  nay_diag diag;
} kv_file;

/* ---- files.c ---- */

/* kv__grow: realloc, which ends the process when there is no memory: as harmless as kill -9. */
void *kv__grow(void *old, size_t n);
/* kv__alloc: zeroed memory, or the end of the process. */
void *kv__alloc(size_t n);
/* kv__fail: writes the text of the error, which may be NULL, and returns the status. */
nay_status kv__fail(kv_error *error, nay_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* kv__also: adds to the text, as far as there is room. */
void kv__also(kv_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* kv__blame: the error is what the library said of the file, with the offset if bytes of the file
 * are wrong; a call that the system refused has none. NAY_OK: writes nothing. */
nay_status kv__blame(kv_error *error, nay_status status, const kv_file *at);
int kv__compare(kv_slice a, kv_slice b);
kv_file kv__file_named(const kv *db, const char *name);
kv_file kv__file_numbered(const kv *db, uint64_t number, const char *suffix); /* 000007.log */

/*
 * Whole files; at->diag says what failed. kv__file_replace: the file becomes these bytes, or
 * nothing changes. kv__file_append: all bytes at the end of the file whose length is *length, which
 * grows; sync: they are on the disk, too. When it fails, the file is cut back to *length, so that
 * half a record is not taken for a whole one later. kv__file_read: the bytes of a regular file and
 * a 0 behind them, to be freed.
 */
nay_status kv__file_replace(kv_file *at, const void *bytes, size_t len);
nay_status kv__file_append(kv_file *at, int fd, const void *bytes, size_t len, bool sync,
                           uint64_t *length);
nay_status kv__file_read(kv_file *at, void **bytes, size_t *len);

/* kv__checksum: SipHash-1-3 with the id of a store and the number of a log as its key. */
uint64_t kv__checksum(uint64_t store, uint64_t log, const void *bytes, size_t len);

/* ---- log.c ---- */

/* kv_memtable: the newest entries, and the log that has them. */
typedef struct kv_memtable {
  _Atomic unsigned refs;
  nay_sst_memtable *list;
  uint64_t store, log; /* the store's id, the number of the log: the key of the log's checksums */
  uint64_t last;       /* sequence of the newest entry; without one, of what is older */
  kv_file at;          /* the log */
  int fd;              /* of the log; -1: nothing was put since the store was opened */
  bool settled;        /* the log ends at `length`, on the disk as well */
  uint64_t length;     /* the bytes of the log that are whole records, and its head */
  uint64_t synced;     /* the log is known to be on the disk up to this offset */
} kv_memtable;

/* Memory that the entries of a memtable take. */
static inline uint64_t kv__memtable_bytes(const kv_memtable *m) {
  nay_sst_memtable_info is = {.size = sizeof is};
  nay_sst_memtable_stats(m->list, &is);
  return is.nbytes;
}

enum { KV_LOG_HEAD = 16 }; /* bytes at the start of a log; one that has no more has no record */

/* kv_salvage: what a repair found in a log. */
typedef struct kv_salvage {
  uint64_t records, lost, offset; /* bytes that are not in a record, and where the first one is */
} kv_salvage;

kv_memtable *kv__memtable_new(const kv *db, uint64_t store, uint64_t log, uint64_t last);
void kv__memtable_unref(kv_memtable *m);
void kv__memtable_add(kv_memtable *m, const nay_sst_entry *entry, kv_slice value);

/* kv__log_create: an empty log, whose name is on the disk when it returns. */
nay_status kv__log_create(kv_memtable *m, kv_error *error);
nay_status kv__log_append(kv_memtable *m, const nay_sst_entry *entry, kv_slice value, bool sync,
                          kv_error *error);
nay_status kv__log_sync(kv_memtable *m, kv_error *error);

/* kv__log_replay: adds the records of a log to the memtable, up to the first place where there is
 * none. NAY_OK: what follows that place, if anything does, is a torn tail, and the text says so.
 * NAY_ECORRUPT: the place is damaged, since the log was on the disk beyond it. */
nay_status kv__log_replay(kv_memtable *m, const uint8_t *log, size_t len, kv_error *error);
/* kv__log_salvage: adds all records that are whole, whatever lies between them. */
kv_salvage kv__log_salvage(kv_memtable *m, const uint8_t *log, size_t len);

/* ---- levels.c ---- */

enum { KV_CACHE = 64 << 20, KV_OPEN_TABLES = 1000 };

typedef struct kv_table {
  _Atomic unsigned refs;
  unsigned level;
  bool merged;                  /* a compaction has replaced it */
  uint64_t number, bytes, last; /* last: its largest sequence */
  uint64_t overlap;             /* bytes of the tables of the next level that overlap it */
  kv_slice smallest, largest;   /* user keys, in memory of sst */
  nay_sst_pool *pool;           /* that has it open */
  const nay_sst *sst;
} kv_table;

/* kv_levels: the tables of the store at one moment, and the lookup over them. Never changed,
 * replaced by others; views share them. Level 0 has its newest table first, the other levels are
 * in the order of keys. */
typedef struct kv_levels {
  _Atomic unsigned refs;
  nay_sst_lookup *lookup;
  size_t n, start[KV_LEVELS + 1]; /* level i has the tables from start[i] to start[i + 1] */
  uint64_t *before;               /* n + 1: the bytes of all tables before this one */
  kv_table *tables[];
} kv_levels;

/* kv_range: the tables from `first` to `end`. */
typedef struct kv_range {
  size_t first, end;
} kv_range;

/* kv__table_open: fills in bytes, sequence and keys. A table that the manifest names has to be the
 * one that it says, and its first and last keys those that it states. */
nay_status kv__table_open(const kv *db, kv_table *t, kv_error *error);
void kv__table_unref(kv_table *t);
/* kv__table_reaches: whether there is a table at the path with entries above the sequence. */
bool kv__table_reaches(const char *path, uint64_t sequence);

/* kv__levels_new: n tables, which it owns from now on, in any order. Frees them when it fails. */
nay_status kv__levels_new(kv_table *const *tables, size_t n, kv_error *error, kv_levels **levels);
/* kv_change: what a flush or a compaction changes: the level of its outputs (of its inputs: that
 * level, and the one above), and all keys from smallest to largest. */
typedef struct kv_change {
  unsigned to;
  kv_slice smallest, largest;
} kv_change;

/* kv__levels_next: without the tables that are merged, with the n outputs of a change, in the order
 * of keys, which it owns from now on. Frees them when it fails. */
nay_status kv__levels_next(const kv_levels *old, kv_table *const *tables, size_t n,
                           const kv_change *change, kv_error *error, kv_levels **levels);
void kv__levels_unref(kv_levels *l);

/* kv__levels_overlap: the tables of a level that have keys from smallest to largest. Of level 0:
 * all. */
kv_range kv__levels_overlap(const kv_levels *l, unsigned level, kv_slice smallest,
                            kv_slice largest);
static inline size_t kv__levels_count(const kv_levels *l, unsigned level) {
  return l->start[level + 1] - l->start[level];
}
static inline uint64_t kv__levels_bytes(const kv_levels *l, kv_range r) {
  return l->before[r.end] - l->before[r.first];
}

/* ---- views.c ---- */

/* kv_view: the store at one moment. Never changed, replaced by another; the manifest is the view on
 * the disk. */
typedef struct kv_view {
  _Atomic unsigned refs;
  uint64_t sequence;      /* what is above it is in the memtables and their logs */
  kv_memtable *mem, *imm; /* takes the puts; is full and becomes a table, or NULL */
  kv_levels *levels;
} kv_view;

kv_view *kv__view_ref(kv *db);
void kv__view_unref(kv_view *v);
/* kv__view_next: a copy to be changed; v NULL: an empty one. */
kv_view *kv__view_next(const kv_view *v);
/* kv__view_commit: with the writer lock. The view is saved, and readers that come see it. If that
 * fails, or `status` says that something before it did, the view is freed. */
nay_status kv__view_commit(kv *db, kv_view *v, nay_status status, kv_error *error);

/* ---- manifest.c ---- */

nay_status kv__manifest_save(const kv *db, const kv_view *v, kv_error *error);
/* kv__manifest_parse: sets db->next and makes db->view, with memtables that are empty. *tables, the
 * *n tables it names, not yet open, are the caller's, when it fails as well. text[len] is 0. */
nay_status kv__manifest_parse(kv *db, char *text, size_t len, kv_error *error, kv_table ***tables,
                              size_t *n);

/* ---- pick.c ---- */

/* kv_pick: the inputs of a compaction, newest first; to be freed. */
typedef struct kv_pick {
  kv_change change;
  size_t n; /* 0: there is nothing to merge */
  kv_table **inputs;
} kv_pick;
kv_pick kv__pick(const kv_levels *l, size_t write_buffer);

/* ---- background.c ---- */

void *kv__background(void *db);
/* kv__flush_to: a memtable that is not empty becomes a table of level 0, which is open. */
nay_status kv__flush_to(kv *db, const kv_memtable *m, kv_error *error, kv_table **table);

/* ---- open.c ---- */

/* kv__open_lock: takes the lock of the store, which is on the directory. After NAY_OK, kv_close. */
nay_status kv__open_lock(const char *dir, const kv_options *options, kv_error *error, kv **db);
/* kv__open_tables: the view that MANIFEST has, its memtables empty. NAY_ENOENT: there is none. */
nay_status kv__open_tables(kv *db, kv_error *error);
/* kv__open_logs: replays the logs of the view into its memtables. */
nay_status kv__open_logs(kv *db, kv_error *error);
/* kv__open_files: what to do with the logs and tables in the directory that the view does not name.
 * CHECK: fails if one of them is not what a crash left, since it has records above `last`, the
 * newest of the view and its logs. REMOVE: removes them. SURVEY: as CHECK; sets db->next above the
 * number of any file, and fails if KEEP would. KEEP: gives those that are not empty another name,
 * and says so. */
typedef enum kv_unnamed {
  KV_UNNAMED_CHECK,
  KV_UNNAMED_REMOVE,
  KV_UNNAMED_SURVEY,
  KV_UNNAMED_KEEP
} kv_unnamed;
nay_status kv__open_files(kv *db, kv_unnamed act, uint64_t last, kv_error *error);

/* ---- the store ---- */

/* kv_held: a snapshot, and how many hold it. */
typedef struct kv_held {
  uint64_t sequence;
  size_t holders;
} kv_held;

struct kv {
  char dir[1024];
  kv_options options;
  int lock; /* the directory */
  pthread_t thread;
  /* writer: held while the store changes: log, manifest, view. Taken before mutex: held while a
   * reader takes the view or the snapshots */
  pthread_mutex_t writer, mutex;
  pthread_cond_t changed;
  bool running, idle;        /* the background thread */
  _Atomic nay_status failed; /* of the first write that failed; stays */
  kv_error failure;
  kv_stats stats;
  nay_sst_cache *cache; /* filters and indexes of all tables */
  nay_sst_pool *pool;   /* the open tables */
  kv_view *view;
  kv_held *snapshots;        /* ascending; some are released */
  size_t nsnapshots, nlive;  /* of them so many are held */
  _Atomic uint64_t sequence; /* of the newest entry that readers see */
  _Atomic uint64_t next;     /* number of the next file */
  _Atomic bool closing;
};

#endif /* KV_STORE_H */
