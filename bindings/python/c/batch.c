/*
 * batch.c - runs the blocks of a source through a filter, without the GIL.
 *
 * Objects become keys while the GIL is held, so a generator may use the filter that it feeds: the
 * filter is in use (guard.c) only while the library works on a block.
 */
#include "binding.h"

#define BATCH_KEYS ((size_t)1 << 16) /* whose bitmap is on the stack */
#define BATCH_BLOCKS 4096u           /* between two looks at signals */

/* ---- answers ---- */

static bool batch_reserve(py_batch *batch, size_t more) {
  size_t need = batch->nanswers + more;
  if (need <= batch->cap) return true;
  size_t cap = need < 2 * batch->cap ? 2 * batch->cap : need;
  uint8_t *answers = realloc(batch->answers, cap);
  if (answers == NULL) return false;
  batch->answers = answers;
  batch->cap = cap;
  return true;
}

/* Each bit as a byte. */
static void batch_spread(const uint64_t *bitmap, size_t n, uint8_t *bytes) {
  const uint16_t one = 1;
  bool little = *(const uint8_t *)&one == 1;
  size_t i = 0;
  for (; little && i + 8 <= n; i += 8) {
    uint64_t eight = bitmap[i / 64] >> (i % 64) & 0xff;
    eight = eight * 0x0101010101010101u & 0x8040201008040201u;
    eight = (eight + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
    memcpy(bytes + i, &eight, 8);
  }
  for (; i < n; i++) bytes[i] = nay_bitmap_get(bitmap, i);
}

/* Moves the answers of the keys, which come first, to their rows. */
static void batch_scatter(py_batch *batch, const py_block *b) {
  uint8_t *answers = batch->answers + batch->nanswers;
  size_t key = b->nkeys;
  for (size_t row = b->nrows; row-- > 0;) {
    answers[row] = b->null[row] ? batch->null_answer : answers[--key];
  }
}

/* ---- what is done with a block ---- */

static nay_column batch_slice(const nay_column *all, size_t from) {
  nay_column part = *all;
  if (all->offsets != NULL) {
    part.offsets = (const uint8_t *)all->offsets + from * all->offset_bytes;
  } else {
    part.bytes = (const uint8_t *)all->bytes + from * all->width;
    part.nbytes -= from * all->width;
  }
  return part;
}

nay_status py_apply_check(py_batch *batch, const py_block *b, size_t *rows) {
  uint64_t bitmap[NAY_BITMAP_WORDS(BATCH_KEYS)];
  *rows = 0;
  if (!batch_reserve(batch, b->nrows)) return NAY_ENOMEM;
  for (size_t i = 0, n; i < b->nkeys; i += n) {
    n = b->nkeys - i < BATCH_KEYS ? b->nkeys - i : BATCH_KEYS;
    nay_column part = b->keys == NULL ? batch_slice(&b->column, i) : b->column;
    nay_status status =
        b->keys != NULL
            ? nay_filter_may_contain_many(batch->self->filter, b->keys + i, b->lens + i, n, bitmap)
            : nay_filter_may_contain_column(batch->self->filter, &part, n, bitmap);
    if (status != NAY_OK) return status;
    batch_spread(bitmap, n, batch->answers + batch->nanswers + i);
  }
  if (b->null != NULL) batch_scatter(batch, b);
  batch->nanswers += b->nrows;
  return NAY_OK;
}

/* The row of the key with this number. */
static size_t batch_row(const py_block *b, size_t key) {
  if (b->null == NULL) return key;
  size_t row = 0;
  for (; row < b->nrows; row++) {
    if (b->null[row]) continue;
    if (key-- == 0) break;
  }
  return row;
}

nay_status py_apply_add(py_batch *batch, const py_block *b, size_t *rows) {
  uint64_t bitmap[NAY_BITMAP_WORDS(BATCH_KEYS)];
  size_t most = batch->wants ? BATCH_KEYS : b->nkeys;
  *rows = 0;
  if (batch->wants && !batch_reserve(batch, b->nrows)) return NAY_ENOMEM;
  for (size_t i = 0, n; i < b->nkeys; i += n) {
    n = b->nkeys - i < most ? b->nkeys - i : most;
    size_t taken = 0;
    nay_column part = b->keys == NULL ? batch_slice(&b->column, i) : b->column;
    uint64_t *is_new = batch->wants ? bitmap : NULL;
    nay_status status =
        b->keys != NULL
            ? nay_filter_add_many(batch->self->filter, b->keys + i, b->lens + i, n, is_new, &taken)
            : nay_filter_add_column(batch->self->filter, &part, n, is_new, &taken);
    if (status != NAY_OK) {
      *rows = batch_row(b, i + taken);
      return status;
    }
    if (batch->wants) batch_spread(bitmap, n, batch->answers + batch->nanswers + i);
  }
  if (!batch->wants) return NAY_OK;
  if (b->null != NULL) batch_scatter(batch, b);
  batch->nanswers += b->nrows;
  return NAY_OK;
}

nay_status py_apply_build(py_batch *batch, const py_block *b, size_t *rows) {
  size_t taken = 0;
  nay_status status = NAY_OK;
  if (b->keys == NULL) {
    status = nay_builder_add_column(batch->builder, &b->column, b->nkeys, &taken);
  }
  for (; b->keys != NULL && taken < b->nkeys && status == NAY_OK; taken++) {
    status = nay_builder_add(batch->builder, b->keys[taken], b->lens[taken]);
  }
  *rows = status == NAY_OK ? b->nrows : batch_row(b, taken);
  return status;
}

/* ---- maps, whose calls take pointers ---- */

/* Keys i to i + n of a block as pointers and lengths, n at most PY_BLOCK. */
static bool batch_pointers(const py_block *b, size_t i, size_t n, const void **keys, size_t *lens) {
  const nay_column *c = &b->column;
  for (size_t j = 0; j < n; j++) {
    uint64_t from = (uint64_t)(i + j) * c->width, to = from + c->width;
    if (b->keys != NULL) {
      keys[j] = b->keys[i + j];
      lens[j] = b->lens[i + j];
      continue;
    }
    if (c->offset_bytes != 0) {
      from = py_offset(c->offsets, c->offset_bytes, i + j);
      to = py_offset(c->offsets, c->offset_bytes, i + j + 1);
    }
    if (from > to || to > c->nbytes) return false;
    keys[j] = c->bytes != NULL ? (const uint8_t *)c->bytes + from : NULL;
    lens[j] = (size_t)(to - from);
  }
  return true;
}

nay_status py_apply_build_values(py_batch *batch, const py_block *b, size_t *rows) {
  const void *key;
  size_t len, row = 0, base = batch->nvalues;
  bool enough = batch->cap - (base < batch->cap ? base : batch->cap) >= b->nrows;
  if (!enough) { /* more keys than values: count them, the caller says how many */
    batch->nvalues += b->nrows;
    return NAY_OK;
  }
  for (size_t i = 0; i < b->nkeys; i++, row++) {
    while (b->null != NULL && b->null[row]) row++;
    *rows = row;
    if (!batch_pointers(b, i, 1, &key, &len)) return NAY_EINVAL;
    nay_status status = nay_builder_add_value(batch->builder, key, len, batch->values[base + row]);
    if (status != NAY_OK) return status;
  }
  batch->nvalues += b->nrows;
  return NAY_OK;
}

static void batch_scatter_values(py_batch *batch, const py_block *b, uint64_t *values) {
  size_t key = b->nkeys;
  for (size_t row = b->nrows; row-- > 0;) values[row] = b->null[row] ? 0 : values[--key];
  batch_scatter(batch, b);
}

nay_status py_apply_get(py_batch *batch, const py_block *b, size_t *rows) {
  const void *keys[64];
  size_t lens[64];
  uint64_t bitmap[1];
  *rows = 0;
  if (!batch_reserve(batch, b->nrows)) return NAY_ENOMEM;
  uint64_t *values = realloc(batch->values, (batch->nvalues + b->nrows) * sizeof *values);
  if (values == NULL) return NAY_ENOMEM;
  batch->values = values;
  values += batch->nvalues;
  for (size_t i = 0, n; i < b->nkeys; i += n) {
    n = b->nkeys - i < 64 ? b->nkeys - i : 64;
    if (!batch_pointers(b, i, n, keys, lens)) return NAY_EINVAL;
    nay_status status = nay_filter_get_many(batch->self->filter, keys, lens, n, values + i, bitmap);
    if (status != NAY_OK) return status;
    batch_spread(bitmap, n, batch->answers + batch->nanswers + i);
  }
  if (b->null != NULL) batch_scatter_values(batch, b, values);
  batch->nanswers += b->nrows;
  batch->nvalues += b->nrows;
  return NAY_OK;
}

nay_status py_apply_hash(py_batch *batch, const py_block *b, size_t *rows) {
  const void *keys[64];
  size_t lens[64];
  nay_hasher hasher = {.size = sizeof hasher};
  *rows = 0;
  if (!batch_reserve(batch, b->nrows)) return NAY_ENOMEM;
  uint64_t *values = realloc(batch->values, (batch->nvalues + b->nrows) * sizeof *values);
  if (values == NULL) return NAY_ENOMEM;
  batch->values = values;
  values += batch->nvalues;
  nay_status status = nay_filter_hasher(batch->self->filter, &hasher);
  for (size_t i = 0, n; status == NAY_OK && i < b->nkeys; i += n) {
    n = b->nkeys - i < 64 ? b->nkeys - i : 64;
    if (!batch_pointers(b, i, n, keys, lens)) return NAY_EINVAL;
    status = nay_hasher_hash_many(&hasher, keys, lens, n, values + i, NULL);
  }
  if (status != NAY_OK) return status;
  memset(batch->answers + batch->nanswers, 1, b->nkeys);
  if (b->null != NULL) batch_scatter_values(batch, b, values);
  batch->nanswers += b->nrows;
  batch->nvalues += b->nrows;
  return NAY_OK;
}

/* Ordered keys as the numbers that their ranges are of. */
nay_status py_apply_numbers(py_batch *batch, const py_block *b, size_t *rows) {
  *rows = 0;
  uint64_t *values = realloc(batch->values, (batch->nvalues + b->nrows) * sizeof *values);
  if (values == NULL) return NAY_ENOMEM;
  batch->values = values;
  for (size_t i = 0; i < b->nkeys; i++) {
    const void *key;
    size_t len;
    if (!batch_pointers(b, i, 1, &key, &len) || len != 8) return NAY_EINVAL;
    uint64_t number = 0;
    for (size_t j = 0; j < 8; j++) number = number << 8 | ((const uint8_t *)key)[j];
    values[batch->nvalues + i] = number;
  }
  batch->nvalues += b->nrows;
  return NAY_OK;
}

/* ---- running ---- */

static void batch_failed(py_source *s, nay_status status, size_t rows_before) {
  nay_diag diag = {0};
  if (status == NAY_EINVAL) diag.what = "a column whose offsets descend or leave the buffer";
  py_raise(status, status == NAY_EINVAL ? &diag : NULL, NULL);
  py_error_attribute("taken", rows_before);
  s->failed = true;
}

/* A block, or of a raw source all blocks of a chunk, without the GIL. False: a failure. */
static bool batch_run_some(py_batch *batch, py_source *s, py_block *b, bool have) {
  if (batch->self != NULL && !py_enter(batch->self, batch->change)) return false;
  nay_status status = NAY_OK;
  size_t rows = 0, before = s->row;
  unsigned blocks = 0;
  PyThreadState *state = PyEval_SaveThread();
  do {
    if (!have && !py_source_next(s, b)) break;
    before = s->row - b->nrows;
    status = batch->apply(batch, b, &rows);
    have = false;
  } while (status == NAY_OK && s->raw && ++blocks < BATCH_BLOCKS && b->nrows <= PY_BLOCK);
  PyEval_RestoreThread(state);
  if (batch->self != NULL) py_leave(batch->self, batch->change);
  if (status != NAY_OK) batch_failed(s, status, before + rows);
  return status == NAY_OK;
}

/* All blocks of a chunk. */
static bool batch_run_chunk(py_batch *batch, py_source *s) {
  py_block block;
  size_t row;
  if (!s->raw) {
    while (py_source_next(s, &block)) {
      if (!batch_run_some(batch, s, &block, true) || PyErr_CheckSignals() != 0) return false;
    }
    return true;
  }
  do {
    row = s->row;
    if (!batch_run_some(batch, s, &block, false) || PyErr_CheckSignals() != 0) return false;
  } while (s->row != row && !s->failed);
  return true;
}

bool py_batch_run(py_batch *batch, py_source *s) {
  int more;
  do {
    bool ok = batch->self == NULL || py_wait(batch->self, batch->change);
    if (!ok || !batch_run_chunk(batch, s)) return false;
    more = s->failed ? 0 : py_source_more(s);
  } while (more > 0);
  if (s->failed) py_source_raise(s);
  if (s->failed || more < 0) {
    py_error_attribute("taken", s->row);
    return false;
  }
  return true;
}

/* ---- results ---- */

PyObject *py_array_of(const void *bytes, size_t nbytes, const char *dtype, const char *format) {
  PyObject *array = NULL, *memory = PyByteArray_FromStringAndSize(bytes, (Py_ssize_t)nbytes);
  if (memory == NULL) return NULL;
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (numpy != NULL && nbytes == 0) { /* frombuffer takes no empty one */
    array = PyObject_CallMethod(numpy, "empty", "is", 0, dtype);
  } else if (numpy != NULL) {
    array = PyObject_CallMethod(numpy, "frombuffer", "Os", memory, dtype);
  } else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    PyObject *view = PyMemoryView_FromObject(memory);
    array = view != NULL ? PyObject_CallMethod(view, "cast", "s", format) : NULL;
    Py_XDECREF(view);
  }
  Py_XDECREF(numpy);
  Py_DECREF(memory);
  return array;
}

PyObject *py_answers(const uint8_t *answers, size_t n, bool array) {
  if (array) return py_array_of(answers, n, "bool", "?");
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list != NULL && i < n; i++) {
    if (PyList_SetItem(list, (Py_ssize_t)i, PyBool_FromLong(answers[i])) != 0) Py_CLEAR(list);
  }
  return list;
}

static bool batch_u64s_objects(PyObject *iterator, uint64_t **numbers, size_t *n) {
  size_t cap = 0;
  PyObject *value;
  while ((value = PyIter_Next(iterator)) != NULL) {
    PyObject *number = PyNumber_Index(value);
    Py_DECREF(value);
    uint64_t x = number != NULL ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred()) return false;
    if (*n == cap) {
      cap = cap == 0 ? 1024 : 2 * cap;
      uint64_t *larger = PyMem_Realloc(*numbers, cap * sizeof *larger);
      if (larger == NULL) {
        PyErr_NoMemory();
        return false;
      }
      *numbers = larger;
    }
    (*numbers)[(*n)++] = x;
  }
  return PyErr_Occurred() == NULL;
}

bool py_u64s(PyObject *values, uint64_t **numbers, size_t *n) {
  Py_buffer view;
  *numbers = NULL;
  *n = 0;
  if (PyObject_CheckBuffer(values) &&
      PyObject_GetBuffer(values, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0) {
    const char *f = view.format != NULL ? view.format : "B";
    bool fits =
        view.ndim == 1 && view.itemsize == 8 && f[0] != '\0' && f[1] == '\0' && strchr("QL", f[0]);
    if (fits) {
      *numbers = PyMem_Malloc((size_t)view.len + 8);
      if (*numbers != NULL) memcpy(*numbers, view.buf, (size_t)view.len);
      *n = (size_t)view.shape[0];
    }
    PyBuffer_Release(&view);
    if (fits && *numbers == NULL) PyErr_NoMemory();
    if (fits) return *numbers != NULL;
  }
  PyErr_Clear();
  PyObject *iterator = PyObject_GetIter(values);
  bool ok = iterator != NULL && batch_u64s_objects(iterator, numbers, n);
  Py_XDECREF(iterator);
  if (ok) return true;
  PyMem_Free(*numbers);
  *numbers = NULL;
  return false;
}
