/* sha256.h - SHA-256 (FIPS 180-4) of two pieces of bytes, one behind the other. */
#ifndef NAY_SHA256_H
#define NAY_SHA256_H

#include "base/base.h"

#define NAY_SHA256_BYTES 32u

/* nay__sha256: the digest of a[0, alen) || b[0, blen). A piece without bytes may be NULL. */
void nay__sha256(const void *a, size_t alen, const void *b, size_t blen,
                 uint8_t digest[NAY_SHA256_BYTES]);

#endif /* NAY_SHA256_H */
