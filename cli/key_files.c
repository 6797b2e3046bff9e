/* key_files.c - see key_files.h. */
#include "key_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source.h"

/* A command has one list of names, which are kept as long as the program runs. */
static key_files listed;

static void files_add(key_files *l, const char *path, bool found) {
  if (l->n == l->cap) {
    l->cap = l->cap != 0 ? 2 * l->cap : 64;
    l->paths = must_grow(l->paths, l->cap * sizeof *l->paths);
    l->found = must_grow(l->found, l->cap * sizeof *l->found);
  }
  l->paths[l->n] = path;
  l->found[l->n++] = found;
}

/* ---- directories ---- */

/* Files below "." have no "./" before their names. */
static char *files_join(const char *directory, const char *name) {
  bool here = strcmp(directory, ".") == 0;
  size_t len = strlen(directory), room = len + strlen(name) + 2;
  const char *slash = len > 0 && directory[len - 1] == '/' ? "" : "/";
  char *path = must_alloc(room);
  snprintf(path, room, "%s%s%s", here ? "" : directory, here ? "" : slash, name);
  return path;
}

/* Files and directories, no links, pipes or devices. What cannot be asked is listed: opening it
 * says why. */
static void files_take(key_files *files, key_files *directories, const char *directory,
                       const char *name) {
  struct stat st;
  char *path = files_join(directory, name);
  bool known = lstat(path, &st) == 0;
  if (known && S_ISDIR(st.st_mode)) {
    files_add(directories, path, true);
  } else if (!known || S_ISREG(st.st_mode)) {
    files_add(files, path, true);
  } else {
    free(path);
  }
}

/* False: the directory cannot be read. */
static bool files_read_directory(key_files *files, key_files *directories, const char *path) {
  DIR *d = opendir(path);
  if (d == NULL) return false;
  const struct dirent *entry;
  while (errno = 0, (entry = readdir(d)) != NULL) {
    if (entry->d_name[0] != '.') files_take(files, directories, path, entry->d_name);
  }
  bool whole = errno == 0;
  closedir(d);
  return whole;
}

static int files_compare(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In the order of the bytes of their names, whatever the order of the directory. A directory that
 * cannot be read is listed: opening it says why. */
static void files_walk(key_files *l, const char *path) {
  key_files files = {.n = 0}, directories = {.n = 0};
  files_add(&directories, strcpy(must_alloc(strlen(path) + 1), path), true);
  while (directories.n > 0) {
    const char *next = directories.paths[--directories.n];
    if (files_read_directory(&files, &directories, next)) {
      free((void *)(uintptr_t)next);
    } else {
      files_add(&files, next, true);
    }
  }
  if (files.n > 1) qsort(files.paths, files.n, sizeof *files.paths, files_compare);
  for (size_t i = 0; i < files.n; i++) files_add(l, files.paths[i], true);
  free(files.paths);
  free(files.found);
  free(directories.paths);
  free(directories.found);
}

static void files_add_path(key_files *l, const keys_options *keys, const char *path) {
  struct stat st;
  bool walks = keys->recursive && strcmp(path, "-") != 0;
  if (walks && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    files_walk(l, path);
  } else {
    files_add(l, path, false);
  }
}

/* ---- lists of names ---- */

static char *files_read_list(const char *path, size_t *len) {
  const source_use use = {.wanted = "names"};
  source_failure fail;
  source *s;
  size_t cap = 65536;
  char *bytes = must_alloc(cap + 1);
  ssize_t n = -1;
  if (source_open(path, &use, &s, &fail)) {
    for (*len = 0; (n = source_read(s, bytes + *len, cap - *len, &fail)) > 0;) {
      *len += (size_t)n;
      if (*len == cap) bytes = must_grow(bytes, (cap *= 2) + 1);
    }
    source_close(s);
  }
  if (n < 0) die(fail.status, "--files-from: %s", fail.text);
  return bytes;
}

/* Lines, or when there is a zero byte, which no name has, names that end in one. */
static void files_add_list(key_files *l, const keys_options *keys, const char *list) {
  size_t len, before = l->n;
  char *bytes = files_read_list(list, &len);
  int terminator = memchr(bytes, '\0', len) != NULL ? '\0' : '\n';
  bool from_stdin = strcmp(list, "-") == 0;
  for (char *p = bytes, *end = bytes + len; p < end;) {
    char *stop = memchr(p, terminator, (size_t)(end - p));
    if (stop == NULL) stop = end; /* there is a byte of room */
    *stop = '\0';
    if (from_stdin && strcmp(p, "-") == 0) {
      die(EXIT_TROUBLE, "--files-from=-: standard input has names, and cannot have keys too");
    }
    if (*p != '\0') files_add_path(l, keys, p);
    p = stop + 1;
  }
  if (l->n == before) free(bytes);
}

/* ---- the list ---- */

static void files_check(const keys_options *keys, const char *const *paths, size_t n) {
  const char *option = keys->recursive ? "--recursive" : "--files-from";
  if (keys->args.n > 0) die(EXIT_TROUBLE, "%s is for key files, and -e gives the keys", option);
  size_t nstdin = 0;
  for (size_t i = 0; i < keys->files_from.n; i++) {
    nstdin += strcmp(keys->files_from.at[i], "-") == 0;
  }
  if (nstdin > 1) die(EXIT_TROUBLE, "--files-from=-: standard input is read once");
  for (size_t i = 0; i < n && nstdin > 0; i++) {
    if (strcmp(paths[i], "-") == 0) die(EXIT_TROUBLE, "standard input cannot have names and keys");
  }
}

const char *const *key_files_list(keys_options *keys, const char *const *paths, size_t *n) {
  if (!keys->recursive && keys->files_from.n == 0) return paths;
  files_check(keys, paths, *n);
  key_files *l = &listed;
  files_add(l, "", false); /* the list is one even when it is empty */
  l->n = 0;
  for (size_t i = 0; i < *n; i++) files_add_path(l, keys, paths[i]);
  for (size_t i = 0; i < keys->files_from.n; i++) files_add_list(l, keys, keys->files_from.at[i]);
  if (*n == 0 && keys->files_from.n == 0) files_add_path(l, keys, ".");
  keys->listed = l;
  *n = l->n;
  return l->paths;
}
