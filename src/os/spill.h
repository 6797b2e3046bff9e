/* spill.h - a temporary file without a name: gone when it is closed, however the process ends. */
#ifndef NAY_OS_SPILL_H
#define NAY_OS_SPILL_H

#include "base/base.h"

/* nay__spill_open: in folder (NULL: /tmp). The name is removed before the call returns. */
nay_status nay__spill_open(const char *folder, int *fd);
nay_status nay__spill_write(int fd, uint64_t at, const void *bytes, size_t len);
nay_status nay__spill_read(int fd, uint64_t at, void *bytes, size_t len);
void nay__spill_close(int fd);

#endif /* NAY_OS_SPILL_H */
