/*
 * store.h - what the parts of the store share. They are one translation unit, db.c, which includes
 * them in this order: files.c, views.c, background.c.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nay_compact.h>
#include <nay_file.h>
#include <nay_memtable.h>
#include <nay_sst_stats.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kv.h"

#define LAST_SEQUENCE (NAY_SST_MAX_SEQUENCE - 4096) /* some threads may be behind the check */

/* So many tables of level 0 are too many; with so many, puts wait. A key, a value has so many bytes
 * at most. */
enum { COMPACT_TABLES = 4, STOP_TABLES = 12, MAX_BYTES = 64 << 20 };

/* file: a path, and what the library says of what is there. */
typedef struct file {
  char path[1100];
  nay_diag diag;
} file;

/* memtable: the newest entries, and their log. */
typedef struct memtable {
  _Atomic unsigned refs;
  nay_memtable *list;
  uint64_t store, log;   /* the store's id, the number of the log: the key of the log's checksums */
  file at;               /* the log */
  int fd;                /* of it, or -1 */
  uint64_t length, last; /* of it; sequence of the newest entry, without one of what is older */
} memtable;

typedef struct table {
  _Atomic unsigned refs;
  unsigned level;
  uint64_t number, bytes, last; /* last: its largest sequence */
  bool merging, merged;         /* an input of the compaction under way; of one that is done */
  kv_slice smallest, largest;   /* user keys, in memory of sst */
  nay_sst *sst;
} table;

/* kv_view: the store at one moment. Never changed, replaced by another; the manifest is the view on
 * the disk. */
typedef struct kv_view {
  _Atomic unsigned refs;
  uint64_t sequence;   /* what is above it is in the memtables and their logs */
  memtable *mem, *imm; /* takes the puts; is full and becomes a table, or NULL */
  nay_lookup *lookup;  /* over the tables */
  size_t count[KV_LEVELS];
  uint64_t bytes[KV_LEVELS];
  size_t n;
  table *tables[]; /* level 0 newest first, then levels in the order of keys */
} view;

struct kv {
  char dir[1024];
  kv_options options;
  nay_filelock lock;
  pthread_t thread;
  /* writer: whoever changes the store: log, manifest, view. Before mutex: whoever reads the view or
   * the snapshots */
  pthread_mutex_t writer, mutex;
  pthread_cond_t changed;
  bool running, idle;        /* the background thread */
  _Atomic nay_status failed; /* of the first write that failed; stays */
  kv_error failure;
  kv_stats stats;
  view *view;
  uint64_t *snapshots; /* ascending */
  size_t nsnapshots;
  /* of the newest entry that readers see; number of the next file */
  _Atomic uint64_t sequence, next;
  _Atomic bool closing;
};
