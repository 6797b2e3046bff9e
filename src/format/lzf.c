/*
 * lzf.c - see lzf.h. A hash table of 2^16 entries holds where each three bytes were last seen, and
 * only that position is tried as a match; after a match only the positions of its last two bytes
 * are entered. These choices are Redis' (HLOG 16, VERY_FAST) and determine the bytes.
 */
#include "format/lzf.h"

#define LZF_MAX_LITERALS 32u
#define LZF_MAX_BACK (1u << 13)
#define LZF_MAX_MATCH ((size_t)264)

typedef struct lzf_out {
  uint8_t *dst; /* NULL: only count */
  size_t len, cap;
  size_t run; /* where the count of the open run of literals stands */
  unsigned nliterals;
} lzf_out;

static void lzf_put(lzf_out *out, uint8_t byte) {
  if (out->dst != NULL && out->len < out->cap) out->dst[out->len] = byte;
  out->len++;
}

static void lzf_open_run(lzf_out *out) {
  out->run = out->len;
  out->nliterals = 0;
  lzf_put(out, 0);
}

/* A run of nothing takes its count back. */
static void lzf_close_run(lzf_out *out) {
  if (out->nliterals == 0) {
    out->len--;
  } else if (out->dst != NULL && out->run < out->cap) {
    out->dst[out->run] = (uint8_t)(out->nliterals - 1);
  }
}

static void lzf_literal(lzf_out *out, uint8_t byte) {
  lzf_put(out, byte);
  if (++out->nliterals == LZF_MAX_LITERALS) {
    lzf_close_run(out);
    lzf_open_run(out);
  }
}

static void lzf_copy(lzf_out *out, size_t back, size_t len) {
  lzf_close_run(out);
  size_t l = len - 2, o = back - 1;
  lzf_put(out, (uint8_t)((l < 7 ? l : 7) << 5 | o >> 8));
  if (l >= 7) lzf_put(out, (uint8_t)(l - 7));
  lzf_put(out, (uint8_t)o);
  lzf_open_run(out);
}

static uint32_t *lzf_place(uint32_t *table, const uint8_t *p) {
  uint32_t h = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
  return &table[((h >> 8) - h * 5) & 0xffff];
}

/*
 * The length of the match of src + at with src + ref, which share three bytes. Away from the end
 * Redis compares 16 bytes at once and then one more, whatever the limit.
 */
static size_t lzf_match(const uint8_t *src, size_t len, size_t ref, size_t at) {
  size_t most = len - at - 2, n = 2;
  if (most > LZF_MAX_MATCH) most = LZF_MAX_MATCH;
  while (most > 16 && n < 18) {
    n++;
    if (src[ref + n] != src[at + n]) return n;
  }
  do n++;
  while (n < most && src[ref + n] == src[at + n]);
  return n;
}

/* Whether Redis would continue: it needs some free bytes before it writes. */
static bool lzf_has_room(const lzf_out *out, size_t more) { return out->len + more <= out->cap; }

size_t nay__lzf_compress(const uint8_t *src, size_t len, uint8_t *dst, size_t cap,
                         uint32_t *table) {
  lzf_out out = {.dst = dst, .cap = cap};
  memset(table, 0, NAY_LZF_TABLE_LEN); /* position 0 is never a match */
  lzf_open_run(&out);
  size_t at = 0;
  while (at + 2 < len) {
    uint32_t *place = lzf_place(table, src + at);
    uint32_t last = *place, back = (uint32_t)at - last; /* places modulo 2^32: near is near */
    *place = (uint32_t)at;
    if (last == 0 || back - 1 >= LZF_MAX_BACK || memcmp(src + at - back, src + at, 3) != 0) {
      if (!lzf_has_room(&out, 1)) return 0;
      lzf_literal(&out, src[at++]);
      continue;
    }
    if (!lzf_has_room(&out, out.nliterals == 0 ? 4 : 5)) return 0;
    size_t n = lzf_match(src, len, at - back, at);
    lzf_copy(&out, back, n);
    at += n;
    if (at + 2 >= len) break;
    *lzf_place(table, src + at - 2) = (uint32_t)(at - 2);
    *lzf_place(table, src + at - 1) = (uint32_t)(at - 1);
  }
  if (!lzf_has_room(&out, 3)) return 0;
  while (at < len) lzf_literal(&out, src[at++]);
  lzf_close_run(&out);
  return out.len;
}

bool nay__lzf_expand(const uint8_t *src, size_t len, uint8_t *dst, size_t want) {
  size_t in = 0, out = 0;
  while (in < len) {
    size_t head = src[in++];
    if (head < LZF_MAX_LITERALS) {
      size_t n = head + 1;
      if (n > len - in || n > want - out) return false;
      if (dst != NULL) memcpy(dst + out, src + in, n);
      in += n;
      out += n;
      continue;
    }
    size_t n = (head >> 5) + 2;
    if (n == 9) {
      if (in == len) return false;
      n += src[in++];
    }
    if (in == len) return false;
    size_t back = ((head & 31) << 8 | src[in++]) + 1;
    if (back > out || n > want - out) return false;
    for (; n > 0; n--, out++) { /* byte by byte: the copy may read what it writes */
      if (dst != NULL) dst[out] = dst[out - back];
    }
  }
  return out == want;
}
