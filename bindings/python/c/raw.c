/*
 * raw.c - rows of an array in memory as keys, without the GIL.
 *
 * Where the elements are the keys already (64-bit integers, UUIDs, strings with offsets) the
 * library reads them where they lie. Padded strings and columns with nulls are handed over by
 * pointers. All else is converted, PY_BLOCK rows at a time, into the arena.
 */
#include "binding.h"

#define RAW_PIECE ((size_t)1 << 24) /* rows between two looks at signals */
#define RAW_ARENA ((size_t)1 << 20) /* bytes after which a block ends */

/* ---- what fits ---- */

static bool raw_is_text(const py_raw *r) {
  return r->elem == PY_ELEM_FIXED || r->elem == PY_ELEM_UCS4 || r->elem == PY_ELEM_OFFSETS ||
         r->elem == PY_ELEM_VIEWS;
}

bool py_raw_fits(const py_raw *r, const py_typing *typing) {
  if (raw_is_text(r)) return true; /* a text of any type */
  switch (typing->type) {
    case NAY_KEY_INT:
    case NAY_KEY_BOOL:
      return r->elem == PY_ELEM_INT || r->elem == PY_ELEM_UINT || r->elem == PY_ELEM_BOOL ||
             r->elem == PY_ELEM_BITS;
    case NAY_KEY_FLOAT:
      return r->elem == PY_ELEM_FLOAT || r->elem == PY_ELEM_INT || r->elem == PY_ELEM_UINT;
    case NAY_KEY_NUMERIC: return r->elem == PY_ELEM_INT || r->elem == PY_ELEM_UINT;
    case NAY_KEY_DATE: return r->elem == PY_ELEM_DATE;
    case NAY_KEY_TIMESTAMP: return r->elem == PY_ELEM_TIMESTAMP || r->elem == PY_ELEM_DATE;
    default: return false;
  }
}

/* ---- elements ---- */

static uint64_t raw_word(const py_raw *r, const uint8_t *p) {
  uint8_t bytes[8] = {0};
  size_t width = r->width < 8 ? r->width : 8;
  memcpy(bytes, p, width);
  if (r->swapped) {
    for (size_t i = 0; i < width / 2; i++) {
      uint8_t swap = bytes[i];
      bytes[i] = bytes[width - 1 - i];
      bytes[width - 1 - i] = swap;
    }
  }
  uint16_t half;
  uint32_t word;
  uint64_t both;
  switch (width) {
    case 1: return bytes[0];
    case 2: memcpy(&half, bytes, 2); return half;
    case 4: memcpy(&word, bytes, 4); return word;
    default: memcpy(&both, bytes, 8); return both;
  }
}

static int64_t raw_int(const py_raw *r, uint64_t word) {
  if (r->elem == PY_ELEM_UINT || r->width == 8) return (int64_t)word;
  uint64_t sign = (uint64_t)1 << (8 * r->width - 1);
  return (int64_t)((word ^ sign) - sign);
}

static double raw_half(uint64_t bits) { /* binary16 */
  uint64_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double x = exponent == 0 ? (double)mantissa / 16777216 : (double)(mantissa + 1024) / 1024;
  if (exponent == 31) {
    const uint64_t words[2] = {0x7ff0000000000000u, 0x7ff8000000000000u};
    memcpy(&x, &words[mantissa != 0], sizeof x);
  } else if (exponent != 0) {
    for (; exponent > 15; exponent--) x *= 2;
    for (; exponent < 15; exponent++) x /= 2;
  }
  return (bits & 0x8000) != 0 ? -x : x;
}

static double raw_float(const py_raw *r, uint64_t word) {
  if (r->width == 2) return raw_half(word);
  if (r->width == 4) {
    uint32_t bits = (uint32_t)word;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
  }
  double x;
  memcpy(&x, &word, sizeof x);
  return x;
}

static bool raw_bit(const uint8_t *bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

static bool raw_null(const py_raw *r, size_t i) {
  if (r->valid != NULL && !raw_bit(r->valid, r->valid_first + i)) return true;
  if (r->mask != NULL && r->mask[i] != 0) return true;
  if (!r->nat) return false;
  return raw_word(r, r->data + (Py_ssize_t)i * r->stride) == (uint64_t)1 << 63;
}

static uint64_t raw_offset(const py_raw *r, size_t i) {
  return py_offset(r->offsets, r->offset_bytes, i);
}

/* ---- texts ---- */

static bool raw_fault(py_source *s, nay_status status, const char *what) {
  s->status = status;
  s->diag = (nay_diag){.what = what};
  return false;
}

static uint32_t raw_char(const uint8_t *p, size_t i, bool swapped) {
  uint32_t c;
  memcpy(&c, p + 4 * i, sizeof c);
  if (!swapped) return c;
  return c >> 24 | (c >> 8 & 0xff00u) | (c << 8 & 0xff0000u) | c << 24;
}

/* UCS4 as UTF-8, at the end of the arena. */
static bool raw_utf8(py_source *s, const uint8_t *p, size_t *len) {
  size_t n = s->at.width / 4;
  bool swapped = s->at.swapped;
  while (n > 0 && raw_char(p, n - 1, false) == 0) n--;
  if (!py_arena_reserve(s, 4 * n)) return raw_fault(s, NAY_ENOMEM, NULL);
  uint8_t *to = s->arena + s->arena_len, *start = to;
  for (size_t i = 0; i < n; i++) {
    uint32_t c = raw_char(p, i, swapped);
    if (c < 0x80) {
      *to++ = (uint8_t)c;
      continue;
    }
    if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
      return raw_fault(s, NAY_EINVAL, "a character that UTF-8 has no bytes for");
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (uint8_t)(0xff00u >> (more + 1) | c >> (6 * more));
    while (more-- > 0) *to++ = (uint8_t)(0x80u | (c >> (6 * more) & 0x3fu));
  }
  *len = (size_t)(to - start);
  return true;
}

/* Where the text of row i lies; UCS4 has none. */
static bool raw_text(py_source *s, size_t i, const uint8_t **text, size_t *len) {
  const py_raw *r = &s->at;
  const uint8_t *p = r->data + (Py_ssize_t)i * r->stride;
  if (r->elem == PY_ELEM_FIXED) {
    *text = p;
    *len = r->width;
    while (r->strip && *len > 0 && p[*len - 1] == 0) (*len)--;
    return true;
  }
  if (r->elem == PY_ELEM_OFFSETS) {
    uint64_t from = raw_offset(r, i), to = raw_offset(r, i + 1);
    uint64_t most = r->offset_bytes == 8 ? INT64_MAX : INT32_MAX;
    if (from > to || to > most) return raw_fault(s, NAY_EINVAL, "an offset descends");
    *text = r->data != NULL ? r->data + from : (const uint8_t *)""; /* all texts may be empty */
    *len = (size_t)(to - from);
    return true;
  }
  int32_t head[4]; /* length, then 12 bytes, or 4 of them, buffer and offset */
  memcpy(head, p, sizeof head);
  if (head[0] < 0) return raw_fault(s, NAY_EINVAL, "a view has a negative length");
  *len = (size_t)head[0];
  *text = p + 4;
  if (*len <= 12) return true;
  if (head[2] < 0 || head[2] >= r->nbuffers || head[3] < 0 ||
      (int64_t)head[3] + head[0] > r->buffer_nbytes[head[2]]) {
    return raw_fault(s, NAY_EINVAL, "a view lies outside of its buffer");
  }
  *text = r->buffers[head[2]] + head[3];
  return true;
}

/* The text in the arena becomes the key that the typing makes of it. */
static bool raw_convert(py_source *s, const uint8_t *text, size_t len) {
  const py_typing *typing = &s->typing;
  if (typing->type == NAY_KEY_UUID && s->at.elem == PY_ELEM_FIXED && s->at.width == 16) {
    if (!py_arena_reserve(s, 16)) return raw_fault(s, NAY_ENOMEM, NULL);
    memset(s->arena + s->arena_len, 0, 16); /* numpy strips zeros at the end */
    memcpy(s->arena + s->arena_len, text, len);
    s->arena_len += 16;
    return true;
  }
  uint8_t *big;
  size_t room = len + 8, written;
  if (!py_arena_reserve(s, room)) return raw_fault(s, NAY_ENOMEM, NULL);
  s->status = py_key_convert(typing, (const char *)text, len, &s->diag, s->arena + s->arena_len,
                             room, &big, &written);
  if (s->status != NAY_OK) return false;
  if (big != NULL) {
    bool ok = py_arena_reserve(s, written);
    if (ok) memcpy(s->arena + s->arena_len, big, written);
    free(big);
    if (!ok) return raw_fault(s, NAY_ENOMEM, NULL);
  }
  s->arena_len += written;
  return true;
}

static bool raw_add_text(py_source *s, size_t i) {
  const uint8_t *text;
  size_t len;
  if (s->at.elem == PY_ELEM_UCS4) {
    if (!raw_utf8(s, s->at.data + (Py_ssize_t)i * s->at.stride, &len)) return false;
    if (s->typing.plain) {
      s->arena_len += len;
      return true;
    }
    uint8_t *copy = malloc(len + 1); /* the arena may move */
    if (copy == NULL) return raw_fault(s, NAY_ENOMEM, NULL);
    if (len > 0) memcpy(copy, s->arena + s->arena_len, len);
    bool ok = raw_convert(s, copy, len);
    free(copy);
    return ok;
  }
  return raw_text(s, i, &text, &len) && raw_convert(s, text, len);
}

/* ---- numbers ---- */

static bool raw_add_time(py_source *s, int64_t x, uint8_t key[8]) {
  const py_raw *r = &s->at;
  int64_t wanted = s->typing.type == NAY_KEY_DATE ? 1 : 86400000000;
  if (wanted >= r->per_day) {
    int64_t factor = wanted / r->per_day;
    if (x > INT64_MAX / factor || x < INT64_MIN / factor) {
      return raw_fault(s, NAY_EINVAL, "out of the range of timestamps");
    }
    x *= factor;
  } else {
    int64_t divisor = r->per_day / wanted;
    if (x % divisor != 0) {
      return raw_fault(s, NAY_EINVAL,
                       wanted == 1 ? "a time of day: dates have none"
                                   : "more than microseconds: take key=\"int\" of the nanoseconds");
    }
    x /= divisor;
  }
  nay_key_int(x, key);
  return true;
}

static bool raw_add_numeric(py_source *s, const char *digits) {
  return raw_convert(s, (const uint8_t *)digits, strlen(digits));
}

static bool raw_add_number(py_source *s, size_t i) {
  const py_raw *r = &s->at;
  uint64_t word = r->elem == PY_ELEM_BITS ? raw_bit(r->data, r->first + i)
                                          : raw_word(r, r->data + (Py_ssize_t)i * r->stride);
  bool is_signed =
      r->elem == PY_ELEM_INT || r->elem == PY_ELEM_DATE || r->elem == PY_ELEM_TIMESTAMP;
  int64_t x = is_signed ? raw_int(r, word) : (int64_t)word;
  bool above = r->elem == PY_ELEM_UINT && x < 0; /* 2^63 and more */
  uint8_t key[8];
  if (r->elem == PY_ELEM_BOOL) x = x != 0;
  switch (s->typing.type) {
    case NAY_KEY_INT:
      if (above && s->typing.ordered) {
        return raw_fault(s, NAY_EINVAL, "above 2**63 - 1: ordered integers end there");
      }
      nay_key_int(x, key);
      break;
    case NAY_KEY_BOOL:
      if (above || x < 0 || x > 1) return raw_fault(s, NAY_EINVAL, "a number that is no bool");
      nay_key_int(x, key);
      break;
    case NAY_KEY_FLOAT: {
      double y = r->elem == PY_ELEM_FLOAT ? raw_float(r, word) : above ? (double)word : (double)x;
      if (r->elem != PY_ELEM_FLOAT) {
        uint64_t size = !above && x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
        while (size > (uint64_t)1 << 53 && (size & 1) == 0) size >>= 1;
        if (size > (uint64_t)1 << 53) {
          return raw_fault(s, NAY_EINVAL, "no float: more than 53 bits");
        }
      }
      nay_key_float(y, key);
      break;
    }
    case NAY_KEY_NUMERIC: {
      char digits[24];
      PyOS_snprintf(digits, sizeof digits, above ? "%llu" : "%lld", (long long)x);
      return raw_add_numeric(s, digits);
    }
    default:
      if (!raw_add_time(s, x, key)) return false;
  }
  if (s->typing.ordered) py_key_order(&s->typing, key);
  if (!py_arena_reserve(s, sizeof key)) return raw_fault(s, NAY_ENOMEM, NULL);
  memcpy(s->arena + s->arena_len, key, sizeof key);
  s->arena_len += sizeof key;
  return true;
}

/* ---- blocks ---- */

/* Whether the library can read the rows where they are. */
static bool raw_in_place(const py_source *s) {
  const py_raw *r = &s->at;
  if (r->valid != NULL || r->mask != NULL || r->swapped) return false;
  const uint16_t one = 1;
  switch (r->elem) {
    case PY_ELEM_INT:
    case PY_ELEM_UINT:
      return s->typing.how.type == NAY_KEY_INT && r->width == 8 && r->stride == 8 &&
             *(const uint8_t *)&one == 1;
    case PY_ELEM_OFFSETS: /* of a buffer at an odd address they are read one by one */
      return s->typing.plain && (uintptr_t)r->offsets % r->offset_bytes == 0;
    case PY_ELEM_FIXED:
      return s->typing.plain && !r->strip && r->width > 0 && r->width < UINT32_MAX &&
             r->stride == (Py_ssize_t)r->width;
    default: return false;
  }
}

static bool raw_in_place_next(py_source *s, py_block *b) {
  const py_raw *r = &s->at;
  size_t n = r->n - s->next < RAW_PIECE ? r->n - s->next : RAW_PIECE;
  b->nrows = b->nkeys = n;
  if (r->elem == PY_ELEM_OFFSETS) {
    const uint8_t *offsets = r->offsets;
    uint64_t end = raw_offset(r, s->next + n);
    uint64_t most = r->offset_bytes == 8 ? INT64_MAX : INT32_MAX;
    if (end > most) {
      s->failed = true;
      return raw_fault(s, NAY_EINVAL, "an offset is negative");
    }
    b->column = (nay_column){.size = sizeof b->column,
                             .bytes = r->data,
                             .nbytes = r->data != NULL ? (size_t)end : 0,
                             .offsets = offsets + s->next * r->offset_bytes,
                             .offset_bytes = r->offset_bytes};
  } else {
    b->column = (nay_column){.size = sizeof b->column,
                             .bytes = r->data + s->next * r->width,
                             .nbytes = n * r->width,
                             .width = (uint32_t)r->width};
  }
  s->next += n;
  return true;
}

/* One row; false: it is the first that has no key. */
static bool raw_row(py_source *s, bool pointers, size_t i, py_block *b) {
  if (raw_null(&s->at, i)) {
    s->room->null[b->nrows] = 1;
    b->null = s->room->null;
    s->is_null = !s->skip_nulls;
    return s->skip_nulls;
  }
  s->room->null[b->nrows] = 0;
  if (pointers) {
    const uint8_t *text;
    if (!raw_text(s, i, &text, &s->room->lens[b->nkeys])) return false;
    s->room->keys[b->nkeys] = text;
  } else {
    if (raw_is_text(&s->at) ? !raw_add_text(s, i) : !raw_add_number(s, i)) return false;
    s->room->offsets[b->nkeys + 1] = s->arena_len;
  }
  b->nkeys++;
  return true;
}

bool py_raw_next(py_source *s, py_block *b) {
  const py_raw *r = &s->at;
  if (s->failed || s->next == r->n) return false;
  if (raw_in_place(s)) return raw_in_place_next(s, b);
  bool pointers = s->typing.plain && raw_is_text(r) && r->elem != PY_ELEM_UCS4;
  size_t start = s->next;
  s->arena_len = 0;
  s->room->offsets[0] = 0;
  while (s->next < r->n && b->nrows < PY_BLOCK && s->arena_len < RAW_ARENA) {
    if (!raw_row(s, pointers, s->next, b)) {
      s->failed = true;
      break;
    }
    b->nrows++;
    s->next++;
  }
  if (pointers) {
    b->keys = s->room->keys;
    b->lens = s->room->lens;
  } else {
    b->column = (nay_column){.size = sizeof b->column,
                             .bytes = s->arena,
                             .nbytes = s->arena_len,
                             .offsets = s->room->offsets,
                             .offset_bytes = 8};
  }
  return s->next != start;
}
