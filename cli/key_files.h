/*
 * key_files.h - which files keys are read from: the operands, the names in a list (--files-from),
 * and for directories the files below them (--recursive).
 *
 * The list is made before the first file is opened. A file that is gone by then is an error, as an
 * operand is; one that comes later is not read.
 */
#ifndef NAY_KEY_FILES_H
#define NAY_KEY_FILES_H

#include "options.h"

/* key_files: the list. found: the file was met in a directory, so it is skipped when it is binary.
 */
typedef struct key_files {
  const char **paths;
  bool *found;
  size_t n, cap;
} key_files;

/*
 * key_files_list: the n paths, or what they stand for with --recursive and --files-from, which
 * `keys` then refers to, so that streams know that there may be none. Without either, the paths
 * themselves. The list lives as long as the program. Exits when the options contradict each other.
 */
const char *const *key_files_list(keys_options *keys, const char *const *paths, size_t *n);

#endif /* NAY_KEY_FILES_H */
