/* spill.h - an unlinked temporary file: it disappears when the process ends, in whatever way. */
#ifndef NAY_OS_SPILL_H
#define NAY_OS_SPILL_H

#include "base/base.h"

/* nay__spill_open: in directory (NULL: /tmp). The file is unlinked before the call returns. */
nay_status nay__spill_open(const char *directory, nay_diag *diag, int *fd);
nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len, nay_diag *diag);
nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len, nay_diag *diag);
void nay__spill_close(int fd);

#endif /* NAY_OS_SPILL_H */
