/*
 * layout.h - the native file, as arithmetic: where its parts lie. The spec is doc/formats/nay.md.
 *
 *   0            header, 64 bytes; its last 8 are the XXH3 of the first 56
 *   64           section table, 16 bytes for each section: type u32, flags u32, length u64
 *                chunk digests, 8 bytes for each 64 KiB of the body: XXH3 of the chunk
 *                directory digest, 8 bytes: XXH3 of everything from offset 56 (the digest of the
 *                header) up to here
 *                zeros to the next multiple of 64
 *   body_at      the sections, in table order, each starting at a multiple of 64
 *
 * Lengths are stored, places are computed: there is nothing to overlap or to point outside.
 */
#ifndef NAY_LAYOUT_H
#define NAY_LAYOUT_H

#include "family/lazy.h"

#define NAY_HEADER_LEN 64u
#define NAY_SECTION_ALIGN 64u
#define NAY_SECTION_ENTRY 16u

/* nay__body_at: where the body starts, given the number of sections and the length of the body. */
uint64_t nay__body_at(uint32_t nsections, uint64_t body_len);

/* nay__section_end: where a section that starts at `at` and its padding end, unless it is the last.
 */
uint64_t nay__section_end(uint64_t at, uint64_t len);

#endif /* NAY_LAYOUT_H */
