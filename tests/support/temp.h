/* temp.h - a place for a file that a test writes: in TMPDIR, else in memory, else right here. */
#ifndef NAY_TEST_TEMP_H
#define NAY_TEST_TEMP_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_MAX 512

/* temp_path: a name that no other process uses; nothing is created. */
static inline const char *temp_path(char path[TEMP_MAX], const char *name) {
  struct stat st;
  const char *directory = getenv("TMPDIR");
  if (directory == NULL) directory = stat("/dev/shm", &st) == 0 ? "/dev/shm" : ".";
  snprintf(path, TEMP_MAX, "%s/nay-test-%ld-%s", directory, (long)getpid(), name);
  return path;
}

#endif /* NAY_TEST_TEMP_H */
