/* fmt_nay.h - the native file in memory: parse and verify without copying. */
#ifndef NAY_FMT_NAY_H
#define NAY_FMT_NAY_H

#include "filter.h"

/* When the chunks are verified. */
typedef enum nay_trust { NAY_VERIFY_ALL, NAY_VERIFY_AT_TOUCH } nay_trust;

/*
 * nay__native_parse: fills *f, which points into bytes (writable only if the caller owns them).
 * With NAY_VERIFY_AT_TOUCH f->lazy is made from f->allocator, which must be set before.
 */
nay_status nay__native_parse(uint8_t *bytes, size_t len, nay_trust trust, nay_diag *diag,
                             nay_filter *f);

/* nay__native_accept: a nay_accept (os/file.h): whether a file of this length may start like this.
 */
nay_status nay__native_accept(const uint8_t *start, size_t file_len, nay_diag *diag);

/* nay__native_length: how long the file is that starts with these 64 bytes, if it may be one. */
nay_status nay__native_length(const uint8_t *start, nay_diag *diag, size_t *len);

/* nay__native_handle: an empty filter in which a file can be parsed. */
nay_status nay__native_handle(const nay_allocator *allocator, uint32_t flags, nay_diag *diag,
                              nay_filter **filter);

/* nay__native_magic: whether the bytes begin like a native file. */
bool nay__native_magic(const uint8_t *bytes, size_t len);

#endif /* NAY_FMT_NAY_H */
