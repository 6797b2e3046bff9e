/*
 * crash_disk.h - a disk that loses power. The linker puts the functions below between a program and
 * libc (--wrap); while a recording runs, they write down what the program does to the files of one
 * directory, in order, and do it. disk_crash then builds what a disk may have after the first k of
 * these events:
 *
 *   - of each page written since the last sync of its file, the content after any of those writes,
 *     or what was synced; runs of pages on their own, so that they reach the disk in any order;
 *   - the length of each file after any of those writes, or the synced one; zeros where no page is;
 *   - for each name in the directory the file it had after any change since the last sync of the
 *     directory, or the synced one; each name on its own, so that a rename may be seen by halves.
 *
 * That is more than file systems do: ext4 and XFS keep the order of changes of names. Which of
 * these happens follows from a seed alone.
 */
#ifndef NAY_TEST_CRASH_DISK_H
#define NAY_TEST_CRASH_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/directory.h"
#include "support/test.h"

enum { DISK_FILES = 4096, DISK_NAME = 64 };

typedef enum disk_kind {
  DISK_WRITE,    /* bytes at an offset */
  DISK_TRUNCATE, /* offset is the length */
  DISK_SYNC,     /* a file */
  DISK_NAME_IS,  /* the name is that of the file; 0: of none */
  DISK_SYNC_DIR,
  DISK_MARK /* something that the program under test says: its number is the offset */
} disk_kind;

typedef struct disk_event {
  disk_kind kind;
  unsigned file, mark;
  uint64_t offset;
  size_t len;
  uint8_t *bytes;
  char name[DISK_NAME];
} disk_event;

typedef struct disk_bytes {
  uint8_t *at;
  size_t len;
} disk_bytes;

typedef struct disk_entry {
  char name[DISK_NAME];
  unsigned file;
} disk_entry;

/* The recording. File 0 is none; the first files and names are those that were there. */
static struct {
  pthread_mutex_t lock;
  bool on;
  bool no_file_syncs, no_dir_syncs; /* the disk answers, and does nothing */
  char dir[256];
  ino_t dir_ino;
  disk_event *events;
  size_t nevents;
  ino_t inos[DISK_FILES];
  disk_bytes was[DISK_FILES]; /* on the disk when the recording began */
  unsigned nfiles;
  disk_entry names[DISK_FILES];
  size_t nnames;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- recording ---- */

static disk_event *disk_add(disk_kind kind, unsigned file) {
  if ((disk.nevents & (disk.nevents - 1)) == 0)
    disk.events =
        realloc(disk.events, (disk.nevents == 0 ? 1 : 2 * disk.nevents) * sizeof *disk.events);
  if (disk.events == NULL) abort();
  disk.events[disk.nevents] = (disk_event){.kind = kind, .file = file};
  return &disk.events[disk.nevents++];
}

static unsigned disk_new_file(ino_t ino) {
  if (++disk.nfiles >= DISK_FILES) fail_msg("the recording has too many files");
  disk.inos[disk.nfiles] = ino;
  disk.was[disk.nfiles] = (disk_bytes){NULL, 0};
  return disk.nfiles;
}

/* The newest file with this number: file systems use numbers again. */
static unsigned disk_file(ino_t ino) {
  for (unsigned i = disk.nfiles; i > 0; i--)
    if (disk.inos[i] == ino) return i;
  return 0;
}

static unsigned disk_file_of(int fd, struct stat *st) {
  return disk.on && fstat(fd, st) == 0 ? disk_file(st->st_ino) : 0;
}

static void disk_name(const char *path, unsigned file) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  snprintf(disk_add(DISK_NAME_IS, file)->name, DISK_NAME, "%.63s", name);
}

static void disk_lock(void) { pthread_mutex_lock(&disk.lock); }
static void disk_unlock(void) { pthread_mutex_unlock(&disk.lock); }

static inline void disk_mark(unsigned mark, uint64_t number) {
  disk_lock();
  disk_event *e = disk_add(DISK_MARK, 0);
  e->mark = mark;
  e->offset = number;
  disk_unlock();
}

/* Begins with what is in the directory, all of it on the disk. */
static inline void disk_record(const char *dir) {
  struct stat st;
  for (size_t i = 0; i < disk.nevents; i++) free(disk.events[i].bytes);
  for (unsigned i = 1; i <= disk.nfiles; i++) free(disk.was[i].at);
  free(disk.events);
  disk.events = NULL;
  disk.nevents = disk.nnames = disk.nfiles = 0;
  snprintf(disk.dir, sizeof disk.dir, "%s", dir);
  assert_int_equal(stat(dir, &st), 0);
  disk.dir_ino = st.st_ino;
  DIR *d = opendir(dir);
  for (const struct dirent *e; (e = readdir(d)) != NULL;) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (e->d_name[0] == '.' || stat(path, &st) != 0) continue;
    unsigned file = disk_new_file(st.st_ino);
    disk.was[file].at = directory_read(path, &disk.was[file].len);
    snprintf(disk.names[disk.nnames].name, DISK_NAME, "%.63s", e->d_name);
    disk.names[disk.nnames++].file = file;
  }
  closedir(d);
  disk.on = true;
}

static inline void disk_stop(void) { disk.on = false; }

/* ---- the calls in between ---- */

ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len) {
  struct stat st;
  disk_lock();
  unsigned file = disk_file_of(fd, &st);
  off_t at = file != 0 ? lseek(fd, 0, SEEK_CUR) : 0;
  if (file != 0 && (fcntl(fd, F_GETFL) & O_APPEND) != 0) at = st.st_size;
  ssize_t n = __real_write(fd, bytes, len);
  if (file != 0 && n > 0) {
    disk_event *e = disk_add(DISK_WRITE, file);
    e->offset = (uint64_t)at;
    e->len = (size_t)n;
    e->bytes = malloc((size_t)n);
    if (e->bytes == NULL) abort();
    memcpy(e->bytes, bytes, (size_t)n);
  }
  disk_unlock();
  return n;
}

static void disk_synced(int fd) {
  struct stat st;
  unsigned file = disk_file_of(fd, &st);
  if (file != 0 && !disk.no_file_syncs) disk_add(DISK_SYNC, file);
  if (file == 0 && disk.on && st.st_ino == disk.dir_ino && !disk.no_dir_syncs)
    disk_add(DISK_SYNC_DIR, 0);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
  disk_lock();
  int result = __real_fsync(fd);
  if (result == 0) disk_synced(fd);
  disk_unlock();
  return result;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd) {
  disk_lock();
  int result = __real_fdatasync(fd);
  if (result == 0) disk_synced(fd);
  disk_unlock();
  return result;
}

int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len) {
  struct stat st;
  disk_lock();
  int result = __real_ftruncate(fd, len);
  unsigned file = disk_file_of(fd, &st);
  if (file != 0 && result == 0) disk_add(DISK_TRUNCATE, file)->offset = (uint64_t)len;
  disk_unlock();
  return result;
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
  disk_lock();
  int result = __real_unlink(path);
  if (disk.on && result == 0) disk_name(path, 0);
  disk_unlock();
  return result;
}

int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags) {
  disk_lock();
  int result = __real_unlinkat(at, path, flags);
  if (disk.on && result == 0) disk_name(path, 0);
  disk_unlock();
  return result;
}

int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags) {
  struct stat st;
  disk_lock();
  int result = __real_linkat(a, from, b, to, flags);
  if (disk.on && result == 0 && fstatat(b, to, &st, 0) == 0) disk_name(to, disk_file(st.st_ino));
  disk_unlock();
  return result;
}

int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to) {
  struct stat st;
  disk_lock();
  int result = __real_renameat(a, from, b, to);
  if (disk.on && result == 0 && fstatat(b, to, &st, 0) == 0) {
    disk_name(to, disk_file(st.st_ino));
    disk_name(from, 0);
  }
  disk_unlock();
  return result;
}

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...) {
  struct stat st;
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  disk_lock();
  int fd = __real_openat(at, path, flags, mode);
  bool unnamed = (flags & O_TMPFILE) == O_TMPFILE, makes = unnamed || (flags & O_EXCL) != 0;
  if (disk.on && fd >= 0 && makes && fstat(fd, &st) == 0) {
    unsigned file = disk_new_file(st.st_ino);
    if (!unnamed) disk_name(path, file);
  }
  disk_unlock();
  return fd;
}

/* Stores have the ids 1, 2, ...: a run is like any other. */
int __wrap_getentropy(void *bytes, size_t len);
int __wrap_getentropy(void *bytes, size_t len) {
  static uint64_t next;
  memset(bytes, 0, len);
  next++;
  memcpy(bytes, &next, len < sizeof next ? len : sizeof next);
  return 0;
}

/* ---- a crash ---- */

typedef struct disk_random {
  uint64_t state;
} disk_random;

static uint64_t disk_next(disk_random *r) { return r->state = nay_hash_mix(r->state + 1); }

/* One of n + 1 versions, 0 the synced one: often that, often the newest. */
static size_t disk_choose(disk_random *r, size_t n) {
  uint64_t x = disk_next(r);
  if (x % 4 == 0) return 0;
  return x % 4 < 3 ? n : (size_t)(x >> 8) % (n + 1);
}

static void disk_apply(disk_bytes *b, const disk_event *e) {
  size_t end = (size_t)e->offset + e->len;
  if (e->kind == DISK_WRITE) {
    if (end > b->len) {
      b->at = realloc(b->at, end);
      if (b->at == NULL) abort();
      memset(b->at + b->len, 0, end - b->len);
      b->len = end;
    }
    memcpy(b->at + e->offset, e->bytes, e->len);
  } else if (e->offset < b->len) {
    b->len = (size_t)e->offset;
  }
}

/* One page after the first n of a file's events. */
static void disk_page(uint8_t *page, size_t size, size_t from, const disk_event *const *events,
                      size_t n) {
  for (size_t i = 0; i < n; i++) {
    const disk_event *e = events[i];
    size_t first = e->offset > from ? (size_t)e->offset : from, end = from + size;
    if (e->kind == DISK_WRITE && e->offset + e->len < end) end = (size_t)e->offset + e->len;
    if (first >= end) continue;
    if (e->kind == DISK_WRITE)
      memcpy(page + first - from, e->bytes + (first - e->offset), end - first);
    else
      memset(page + first - from, 0, end - first);
  }
}

/* What the disk has of a file after the first k events. */
static disk_bytes disk_contents(unsigned file, size_t k, size_t page, disk_random *r) {
  disk_bytes b = {NULL, 0}, now;
  const disk_event **events = malloc((k + 1) * sizeof *events);
  size_t n = 0, most = 0, *lengths = malloc((k + 1) * sizeof *lengths);
  if (events == NULL || lengths == NULL) abort();
  if (disk.was[file].len != 0)
    disk_apply(&b, &(disk_event){
                       .kind = DISK_WRITE, .len = disk.was[file].len, .bytes = disk.was[file].at});
  for (size_t i = 0; i < k; i++) {
    const disk_event *e = &disk.events[i];
    if (e->file != file || e->kind > DISK_SYNC) continue;
    if (e->kind != DISK_SYNC) events[n++] = e;
    for (size_t j = 0; j < n && e->kind == DISK_SYNC; j++) disk_apply(&b, events[j]);
    if (e->kind == DISK_SYNC) n = 0;
  }
  lengths[0] = most = now.len = b.len;
  for (size_t i = 0; i < n; i++) {
    size_t end = (size_t)events[i]->offset + events[i]->len;
    now.len = events[i]->kind == DISK_TRUNCATE || end > now.len ? end : now.len;
    lengths[i + 1] = now.len;
    if (now.len > most) most = now.len;
  }
  now.at = calloc(1, most + page);
  if (now.at == NULL) abort();
  if (b.len != 0) memcpy(now.at, b.at, b.len);
  for (size_t from = 0, version = 0; from < most && n != 0; from += page) {
    if (from == 0 || disk_next(r) % 4 == 0) version = disk_choose(r, n); /* runs of pages */
    disk_page(now.at + from, page, from, events, version);
  }
  now.len = lengths[disk_choose(r, n)];
  free(b.at);
  free(events);
  free(lengths);
  return now;
}

/* The file of a name after the first k events. */
static unsigned disk_lookup(const char *name, unsigned file, size_t k, disk_random *r) {
  unsigned versions[64] = {file};
  size_t n = 0;
  for (size_t i = 0; i < k; i++) {
    const disk_event *e = &disk.events[i];
    if (e->kind == DISK_SYNC_DIR) {
      versions[0] = versions[n];
      n = 0;
    }
    if (e->kind != DISK_NAME_IS || strcmp(e->name, name) != 0) continue;
    if (n + 1 == 64) fail_msg("%s changes too often between two syncs", name);
    versions[++n] = e->file;
  }
  return versions[disk_choose(r, n)];
}

static bool disk_names_has(const disk_entry *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i].name, name) == 0) return true;
  return false;
}

/* Makes `dir`, which is empty, what the disk may have after the first k events. */
static inline void disk_crash(size_t k, size_t page, uint64_t seed, const directory *dir) {
  static disk_entry names[DISK_FILES];
  static disk_bytes contents[DISK_FILES];
  static bool made[DISK_FILES];
  disk_random r = {nay_hash_mix(seed)};
  size_t n = disk.nnames;
  memcpy(names, disk.names, n * sizeof names[0]);
  for (size_t i = 0; i < k; i++) {
    const disk_event *e = &disk.events[i];
    if (e->kind != DISK_NAME_IS || disk_names_has(names, n, e->name)) continue;
    if (n == DISK_FILES) fail_msg("the recording has too many names");
    names[n] = (disk_entry){.file = 0};
    memcpy(names[n++].name, e->name, DISK_NAME);
  }
  memset(made, 0, sizeof made);
  for (size_t i = 0; i < n; i++) {
    unsigned file = disk_lookup(names[i].name, names[i].file, k, &r);
    if (file == 0) continue;
    if (!made[file]) contents[file] = disk_contents(file, k, page, &r);
    made[file] = true;
    char path[400];
    snprintf(path, sizeof path, "%s/%.63s", dir->path, names[i].name);
    directory_write(path, contents[file].at, contents[file].len);
  }
  for (unsigned i = 1; i <= disk.nfiles; i++)
    if (made[i]) free(contents[i].at);
}

#endif /* NAY_TEST_CRASH_DISK_H */
