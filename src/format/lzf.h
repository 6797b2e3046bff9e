/*
 * lzf.h - LZF, the compression of strings in Redis' RDB files.
 *
 *   000nnnnn  n + 1 literal bytes follow
 *   lllooooo oooooooo            copy l + 2 bytes from o + 1 bytes back   (l = 1 .. 6)
 *   111ooooo llllllll oooooooo   copy l + 9 bytes
 *
 * The compressor takes the same matches as the one in Redis, so that a string which Redis wrote is
 * written back with the same bytes.
 */
#ifndef NAY_LZF_H
#define NAY_LZF_H

#include "base/base.h"

#define NAY_LZF_TABLE_LEN ((size_t)65536 * sizeof(uint32_t)) /* bytes of a compressor's table */
#define NAY_LZF_MAX_RATIO 88u                                /* three bytes stand for at most 264 */

/*
 * nay__lzf_compress: returns the number of bytes, 0 when they would be more than cap. dst NULL only
 * counts. table is scratch of NAY_LZF_TABLE_LEN bytes.
 */
size_t nay__lzf_compress(const uint8_t *src, size_t len, uint8_t *dst, size_t cap, uint32_t *table);

/* nay__lzf_expand: true when src is exactly `want` bytes, compressed. dst NULL only checks. */
bool nay__lzf_expand(const uint8_t *src, size_t len, uint8_t *dst, size_t want);

#endif /* NAY_LZF_H */
