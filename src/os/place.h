/*
 * place.h - a resolved path: an open directory and a name in it. Replacing and locking a file must
 * agree on what a path means, so both resolve it here.
 */
#ifndef NAY_OS_PLACE_H
#define NAY_OS_PLACE_H

#include <limits.h>

#include "base/base.h"

/* nay__os_fail: NAY_EIO, with errno and the step that failed in diag. */
nay_status nay__os_fail(nay_diag *diag, const char *what);

/* nay__os_openat: openat with O_CLOEXEC, retried after EINTR. */
int nay__os_openat(int dir, const char *name, int flags, unsigned mode);

/* nay__os_close: close that preserves errno, where an error of close does not matter. */
void nay__os_close(int fd);

typedef struct nay_place {
  int dir;
  char name[NAME_MAX + 1];
} nay_place;

/*
 * nay__place_resolve: follows symbolic links, also to a target that does not exist yet. The caller
 * closes place->dir with nay__os_close.
 */
nay_status nay__place_resolve(const char *path, nay_diag *diag, nay_place *place);

#endif /* NAY_OS_PLACE_H */
