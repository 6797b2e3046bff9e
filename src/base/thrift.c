/* thrift.c - see thrift.h. */
#include "base/thrift.h"

#include "base/varint.h"

static void thrift_fail(nay_thrift *t, const char *what) {
  if (t->bad == NULL) t->bad = what;
}

static size_t thrift_left(const nay_thrift *t) {
  return t->bad != NULL ? 0 : (size_t)(t->end - t->at);
}

static uint64_t thrift_varint(nay_thrift *t) {
  uint64_t v = 0;
  const uint8_t *after = t->bad == NULL ? nay__varint64_load(t->at, t->end, &v) : NULL;
  if (after == NULL) {
    thrift_fail(t, "a number does not end");
    return 0;
  }
  t->at = after;
  return v;
}

static int64_t thrift_zigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

static uint8_t thrift_byte(nay_thrift *t) {
  if (thrift_left(t) == 0) {
    thrift_fail(t, "the bytes end inside a struct");
    return 0;
  }
  return *t->at++;
}

static void thrift_advance(nay_thrift *t, uint64_t n) {
  if (n > thrift_left(t)) {
    thrift_fail(t, "a length is more than the bytes that are left");
  } else {
    t->at += n;
  }
}

bool nay__thrift_next(nay_thrift *t, nay_thrift_field *field) {
  uint8_t head = thrift_byte(t);
  if (t->bad != NULL || head == 0) return false;
  unsigned type = head & 15, delta = head >> 4;
  int64_t id = delta != 0 ? field->id + (int64_t)delta : thrift_zigzag(thrift_varint(t));
  if (type == 0 || type > NAY_THRIFT_UUID) thrift_fail(t, "a field has an unknown type");
  if (id < -32768 || id > 32767) thrift_fail(t, "the number of a field is above 32,767");
  if (t->bad != NULL) return false;
  *field = (nay_thrift_field){(int32_t)id, type};
  return true;
}

/* ---- skipping ---- */

/* What is open: a struct (type NAY_THRIFT_STRUCT), or `left` elements, of two types in turn for a
 * map. */
typedef struct thrift_frame {
  nay_thrift_field field;
  uint64_t left;
  unsigned type, other;
} thrift_frame;

static uint64_t thrift_count(nay_thrift *t, uint64_t n) {
  if (n > thrift_left(t)) thrift_fail(t, "a list has more elements than there are bytes");
  return t->bad == NULL ? n : 0;
}

static unsigned thrift_list_head(nay_thrift *t, uint64_t *n) {
  uint8_t head = thrift_byte(t);
  *n = thrift_count(t, head >> 4 != 15 ? (uint64_t)head >> 4 : thrift_varint(t));
  return head & 15;
}

/* A value that is no container; for a container *frame is what it opens, and true. An element of a
 * list of booleans is a byte. */
static bool thrift_value(nay_thrift *t, unsigned type, bool is_element, thrift_frame *frame) {
  switch (type) {
    case NAY_THRIFT_TRUE:
    case NAY_THRIFT_FALSE:
      if (is_element) thrift_advance(t, 1);
      return false;
    case NAY_THRIFT_I8: thrift_advance(t, 1); return false;
    case NAY_THRIFT_I16:
    case NAY_THRIFT_I32:
    case NAY_THRIFT_I64: (void)thrift_varint(t); return false;
    case NAY_THRIFT_DOUBLE: thrift_advance(t, 8); return false;
    case NAY_THRIFT_UUID: thrift_advance(t, 16); return false;
    case NAY_THRIFT_BINARY: thrift_advance(t, thrift_varint(t)); return false;
    case NAY_THRIFT_STRUCT:
      *frame = (thrift_frame){.type = NAY_THRIFT_STRUCT, .left = 0};
      return true;
    case NAY_THRIFT_LIST:
    case NAY_THRIFT_SET: {
      *frame = (thrift_frame){.left = 0};
      frame->type = frame->other = thrift_list_head(t, &frame->left);
      return frame->left != 0;
    }
    case NAY_THRIFT_MAP: {
      *frame = (thrift_frame){.left = thrift_count(t, thrift_varint(t))};
      if (frame->left == 0) return false;
      uint8_t types = thrift_byte(t);
      frame->type = types >> 4;
      frame->other = types & 15;
      frame->left *= 2; /* in turn */
      return true;
    }
    default: thrift_fail(t, "a value has an unknown type"); return false;
  }
}

void nay__thrift_skip(nay_thrift *t, const nay_thrift_field *field) {
  struct {
    thrift_frame frame;
    bool is_struct;
  } stack[NAY_THRIFT_MAX_DEPTH];
  unsigned depth = 0, type = field->type;
  bool is_element = false;
  for (;;) {
    thrift_frame frame;
    if (t->bad != NULL) return;
    if (thrift_value(t, type, is_element, &frame)) {
      if (depth == NAY_THRIFT_MAX_DEPTH) {
        thrift_fail(t, "structs and lists are nested too deep");
        return;
      }
      stack[depth].frame = frame;
      stack[depth++].is_struct = type == NAY_THRIFT_STRUCT;
    }
    for (; depth != 0 && t->bad == NULL; depth--) { /* the next value of what is open */
      thrift_frame *top = &stack[depth - 1].frame;
      if (stack[depth - 1].is_struct ? nay__thrift_next(t, &top->field) : top->left != 0) break;
    }
    if (depth == 0) return;
    thrift_frame *top = &stack[depth - 1].frame;
    is_element = !stack[depth - 1].is_struct;
    type = is_element ? (top->left % 2 == 0 ? top->type : top->other) : top->field.type;
    if (is_element) top->left--;
  }
}

/* ---- values ---- */

int64_t nay__thrift_int(nay_thrift *t, const nay_thrift_field *field) {
  switch (field->type) {
    case NAY_THRIFT_TRUE: return 1;
    case NAY_THRIFT_FALSE: return 0;
    case NAY_THRIFT_I8: return (int8_t)thrift_byte(t);
    case NAY_THRIFT_I16:
    case NAY_THRIFT_I32:
    case NAY_THRIFT_I64: {
      int64_t v = thrift_zigzag(thrift_varint(t));
      int64_t most = field->type == NAY_THRIFT_I16   ? INT16_MAX
                     : field->type == NAY_THRIFT_I32 ? INT32_MAX
                                                     : INT64_MAX;
      if (v > most || v < -most - 1) thrift_fail(t, "a number is too large for its type");
      return t->bad == NULL ? v : 0;
    }
    default: thrift_fail(t, "a field is no number"); return 0;
  }
}

const uint8_t *nay__thrift_element(nay_thrift *t, size_t *len) {
  uint64_t n = thrift_varint(t);
  const uint8_t *at = t->at;
  thrift_advance(t, n);
  *len = t->bad == NULL ? (size_t)n : 0;
  return at;
}

const uint8_t *nay__thrift_binary(nay_thrift *t, const nay_thrift_field *field, size_t *len) {
  if (field->type != NAY_THRIFT_BINARY) thrift_fail(t, "a field is no text");
  return nay__thrift_element(t, len);
}

size_t nay__thrift_list(nay_thrift *t, const nay_thrift_field *field, unsigned type) {
  uint64_t n = 0;
  if (field->type != NAY_THRIFT_LIST) thrift_fail(t, "a field is no list");
  if (t->bad == NULL && thrift_list_head(t, &n) != type && n != 0) {
    thrift_fail(t, "a list has elements of another type");
  }
  return t->bad == NULL ? (size_t)n : 0;
}

bool nay__thrift_struct(nay_thrift *t, const nay_thrift_field *field) {
  if (field->type != NAY_THRIFT_STRUCT) thrift_fail(t, "a field is no struct");
  return t->bad == NULL;
}
