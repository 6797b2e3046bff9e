/*
 * stream.h - a copy with non-temporal stores, for data written once and read much later: it neither
 * reads the destination's lines nor evicts others. Without SSE2 a plain copy.
 */
#ifndef NAY_STREAM_H
#define NAY_STREAM_H

#include "base/base.h"

#if defined(__SSE2__)

#include <emmintrin.h>

/* nay__stream: both aligned to 16 bytes, len a multiple of it. */
static inline void nay__stream(void *to, const void *from, size_t len) {
  __m128i *t = to;
  const __m128i *f = from;
  for (size_t i = 0; i < len / sizeof *t; i++) _mm_stream_si128(t + i, _mm_load_si128(f + i));
}

/* nay__stream_end: other threads see what was streamed before they see what is written next. */
static inline void nay__stream_end(void) { _mm_sfence(); }

#else

static inline void nay__stream(void *to, const void *from, size_t len) { memcpy(to, from, len); }
static inline void nay__stream_end(void) {}

#endif

#endif /* NAY_STREAM_H */
