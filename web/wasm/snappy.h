/* snappy.h - snappy's decoder as a codec of nay_sst.h: its id is 1, it compresses nothing. */
#ifndef NAYW_SNAPPY_H
#define NAYW_SNAPPY_H

#include "nay_sst.h"

nay_status nayw_snappy_size(void *ctx, const void *src, size_t len, size_t *size);
nay_status nayw_snappy_uncompress(void *ctx, const void *src, size_t len, void *dst, size_t size);

#endif /* NAYW_SNAPPY_H */
