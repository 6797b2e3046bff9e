/* directory.h - a directory of its own for a test that writes files; below the build, gone at the
 * end. */
#ifndef NAY_TEST_DIRECTORY_H
#define NAY_TEST_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct directory {
  char path[256];
} directory;

static inline directory directory_make(void) {
  directory f;
  snprintf(f.path, sizeof f.path, "nay-test-XXXXXX");
  if (mkdtemp(f.path) == NULL) {
    perror("mkdtemp");
    abort();
  }
  return f;
}

/* The path of a name in it; one of 64 buffers, used in turn. */
static inline const char *directory_at(const directory *f, const char *name) {
  static char paths[64][1024];
  static unsigned next;
  char *path = paths[next++ % 64];
  snprintf(path, sizeof paths[0], "%s/%s", f->path, name);
  return path;
}

/* How many entries it has; with `match`, how many of them contain that text. */
static inline unsigned directory_count(const directory *f, const char *match) {
  unsigned n = 0;
  DIR *dir = opendir(f->path);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    n += match == NULL || strstr(e->d_name, match) != NULL;
  }
  if (dir != NULL) closedir(dir);
  return n;
}

/* Removes it and what is in it, one level of directories deep. */
static inline void directory_remove(const directory *f) {
  DIR *dir = opendir(f->path);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    directory inner;
    if ((size_t)snprintf(inner.path, sizeof inner.path, "%s/%.200s", f->path, e->d_name) >=
        sizeof inner.path) {
      continue;
    }
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", f->path, e->d_name);
    struct stat st;
    if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
      directory_remove(&inner);
    } else {
      unlink(full);
    }
  }
  if (dir != NULL) closedir(dir);
  rmdir(f->path);
}

/* A file's bytes, malloc'ed; NULL when it cannot be read. */
static inline unsigned char *directory_read(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  unsigned char *p = malloc(1 << 20);
  *len = p == NULL ? 0 : fread(p, 1, 1 << 20, file);
  fclose(file);
  return p;
}

static inline bool directory_holds(const char *path, const void *bytes, size_t len) {
  size_t n;
  unsigned char *p = directory_read(path, &n);
  bool same = p != NULL && n == len && memcmp(p, bytes, len) == 0;
  free(p);
  return same;
}

static inline void directory_write(const char *path, const void *bytes, size_t len) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
    perror(path);
    abort();
  }
}

#endif /* NAY_TEST_DIRECTORY_H */
