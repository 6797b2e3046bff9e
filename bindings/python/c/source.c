/* source.c - the keys of a batch: opens arrays, columns and iterables, and makes blocks of them. */
#include "binding.h"

#define SOURCE_ARENA ((size_t)1 << 20) /* bytes after which a block ends */

bool py_arena_reserve(py_source *s, size_t more) {
  if (s->arena != NULL && more <= s->arena_cap - s->arena_len) return true;
  if (more > SIZE_MAX / 4 - s->arena_len) return false;
  size_t cap = s->arena_cap < 65536 ? 65536 : 2 * s->arena_cap;
  while (cap < s->arena_len + more) cap *= 2;
  uint8_t *arena = realloc(s->arena, cap);
  if (arena == NULL) return false;
  s->arena = arena;
  s->arena_cap = cap;
  return true;
}

/* ---- buffers ---- */

static bool source_refuse(const char *what, const char *format) {
  PyErr_Format(PyExc_TypeError, "%s is no column of keys (its buffer's format is '%s')", what,
               format);
  return false;
}

/* The elements that a format of the struct module stands for. */
static bool source_format(py_raw *r, const Py_buffer *view) {
  const char *format = view->format != NULL ? view->format : "B", *f = format;
  const uint16_t one = 1;
  bool little = *(const uint8_t *)&one == 1;
  if (*f == '<') r->swapped = !little;
  if (*f == '>' || *f == '!') r->swapped = little;
  if (strchr("@=<>!", *f) != NULL) f++;
  while (*f >= '0' && *f <= '9') f++;
  if (*f == '\0' || f[1] != '\0') return source_refuse("a structured array", format);
  if (strchr("bhilqn", *f) != NULL) {
    r->elem = PY_ELEM_INT;
  } else if (strchr("BHILQN", *f) != NULL) {
    r->elem = PY_ELEM_UINT;
  } else if (strchr("efd", *f) != NULL) {
    r->elem = PY_ELEM_FLOAT;
  } else if (*f == '?') {
    r->elem = PY_ELEM_BOOL;
  } else if (*f == 's' || *f == 'c') {
    r->elem = PY_ELEM_FIXED;
    r->strip = true;
  } else if (*f == 'w') {
    r->elem = PY_ELEM_UCS4;
  } else {
    return source_refuse("this array", format);
  }
  return true;
}

/* numpy gives arrays of times no buffer, so their integers come with a name such as "M8[ns]". */
static bool source_unit(py_raw *r, const char *unit) {
  static const struct {
    const char *name;
    int64_t per_day;
  } units[] = {{"D", 1},         {"h", 24},           {"m", 1440},           {"s", 86400},
               {"ms", 86400000}, {"us", 86400000000}, {"ns", 86400000000000}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(unit, units[i].name) != 0) continue;
    r->elem = i == 0 ? PY_ELEM_DATE : PY_ELEM_TIMESTAMP;
    r->per_day = units[i].per_day;
    r->nat = true;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "times in units of '%s' have no key", unit);
  return false;
}

static bool source_mask(py_source *s, PyObject *mask) {
  if (mask == Py_None) return true;
  if (PyObject_GetBuffer(mask, &s->mask, PyBUF_SIMPLE) != 0) {
    s->mask.obj = NULL;
    return false;
  }
  if ((size_t)s->mask.len == s->at.n) {
    s->at.mask = s->mask.buf;
    return true;
  }
  PyErr_SetString(PyExc_ValueError, "the mask has not one byte for each row");
  return false;
}

static bool source_buffer(py_source *s, PyObject *array) {
  if (PyObject_GetBuffer(array, &s->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    s->view.obj = NULL;
    return false;
  }
  const Py_buffer *v = &s->view;
  if (v->ndim != 1) {
    PyErr_Format(PyExc_TypeError, "keys are an array of one dimension, not of %d", v->ndim);
    return false;
  }
  py_raw *r = &s->at;
  if (!source_format(r, v)) return false;
  r->n = (size_t)v->shape[0];
  r->width = (size_t)v->itemsize;
  r->data = v->buf;
  r->stride = v->strides != NULL ? v->strides[0] : v->itemsize;
  bool number = r->elem <= PY_ELEM_FLOAT;
  if (number && r->width != 1 && r->width != 2 && r->width != 4 && r->width != 8) {
    return source_refuse("this array", v->format);
  }
  s->raw = s->array = true;
  return true;
}

/* ---- opening ---- */

static bool source_iterate(py_source *s, PyObject *keys) {
  s->iterator = PyObject_GetIter(keys);
  if (s->iterator == NULL) return false;
  s->first = PyIter_Next(s->iterator);
  return s->first != NULL || PyErr_Occurred() == NULL;
}

/* numpy's and pandas' columns: libnay/_columns.py says what of them is an array with a buffer. */
static bool source_column(py_source *s, PyObject *keys) {
  PyObject *module = PyImport_ImportModule("libnay._columns");
  PyObject *parts = module != NULL ? PyObject_CallMethod(module, "plain", "O", keys) : NULL;
  Py_XDECREF(module);
  PyObject *array, *mask;
  const char *unit;
  bool ok = parts != NULL && PyArg_ParseTuple(parts, "OOz", &array, &mask, &unit);
  if (ok && PyList_Check(array)) {
    ok = source_iterate(s, array);
    s->array = true;
  } else if (ok) {
    ok = source_buffer(s, array) && source_mask(s, mask) &&
         (unit == NULL || source_unit(&s->at, unit));
  }
  Py_XDECREF(parts);
  return ok;
}

/* A data frame, which would iterate over the names of its columns. */
static bool source_is_table(PyObject *keys) {
  PyObject *ndim = PyObject_GetAttrString(keys, "ndim");
  long n = ndim != NULL && PyLong_Check(ndim) ? PyLong_AsLong(ndim) : 1;
  Py_XDECREF(ndim);
  PyErr_Clear();
  return n > 1;
}

/* pandas' columns have both a dtype and Arrow's methods, which need pyarrow. */
static bool source_is_of_pandas(PyObject *keys) {
  PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(keys), "__module__");
  PyObject *start = PyUnicode_FromString("pandas.");
  bool is = module != NULL && PyUnicode_Check(module) && start != NULL &&
            PyUnicode_Tailmatch(module, start, 0, PY_SSIZE_T_MAX, -1) == 1;
  Py_XDECREF(module);
  Py_XDECREF(start);
  PyErr_Clear();
  return is;
}

bool py_source_open(py_source *s, PyObject *keys) {
  memset(s, 0, sizeof *s);
  if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)) {
    PyErr_SetString(PyExc_TypeError,
                    "a batch is an iterable of keys, and this is one key: put it into a list");
    return false;
  }
  s->room = malloc(sizeof *s->room);
  bool ok = s->room != NULL;
  if (!ok) {
    PyErr_NoMemory();
  } else if (PyList_Check(keys) || PyTuple_Check(keys)) {
    ok = source_iterate(s, keys);
  } else if (source_is_table(keys)) {
    PyErr_SetString(PyExc_TypeError,
                    "a batch is one column of keys, and this is a table: name a column");
    ok = false;
  } else if (py_arrow_is(keys) && !source_is_of_pandas(keys)) {
    ok = py_arrow_open(s, keys);
  } else if (PyObject_HasAttrString(keys, "dtype")) {
    ok = source_column(s, keys);
  } else if (PyObject_CheckBuffer(keys)) {
    ok = source_buffer(s, keys);
  } else {
    ok = source_iterate(s, keys);
  }
  if (!ok) py_source_close(s);
  return ok;
}

void py_source_close(py_source *s) {
  Py_CLEAR(s->iterator);
  Py_CLEAR(s->first);
  py_arrow_close(s);
  if (s->view.obj != NULL) PyBuffer_Release(&s->view);
  if (s->mask.obj != NULL) PyBuffer_Release(&s->mask);
  for (int i = 0; i < 2; i++) Py_CLEAR(s->held[i]);
  for (int i = 0; i < 3; i++) Py_CLEAR(s->error[i]);
  free(s->room);
  free(s->arena);
  s->room = NULL;
  s->arena = NULL;
  s->arena_cap = 0;
}

/* ---- types ---- */

const char *py_source_key_type(const py_source *s) {
  if (!s->raw) return s->first != NULL ? py_key_type_of(s->first) : "text";
  switch (s->at.elem) {
    case PY_ELEM_INT:
    case PY_ELEM_UINT: return "int";
    case PY_ELEM_FLOAT: return "float";
    case PY_ELEM_BOOL:
    case PY_ELEM_BITS: return "bool";
    case PY_ELEM_DATE: return "date";
    case PY_ELEM_TIMESTAMP: return "timestamp";
    default: return "text";
  }
}

bool py_source_use(py_source *s, const py_typing *typing) {
  s->typing = *typing;
  if (typing->status != NAY_OK) {
    py_raise(typing->status, &typing->diag, NULL);
    return false;
  }
  if (!s->raw || py_raw_fits(&s->at, typing)) return true;
  const char *has = py_source_key_type(s);
  if (typing->plain) {
    PyErr_Format(PyExc_TypeError,
                 "a column of type %s has no keys of a filter of texts: make the filter with "
                 "key=\"%s\"",
                 has, has);
  } else {
    PyErr_Format(PyExc_TypeError,
                 "a column of type %s has no keys of a filter whose key type is %s", has,
                 typing->name);
  }
  return false;
}

/* ---- blocks ---- */

/* One object into the block; false: it has no key, and an exception is set. */
static bool source_object(py_source *s, PyObject *value, py_block *b) {
  py_key key;
  s->room->null[b->nrows] = 0;
  if (!py_key_of(&s->typing, value, &key)) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
      return false;
    }
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    bool null = py_is_null(&s->typing, value);
    if (!null || !s->skip_nulls) {
      s->is_null = null;
      PyErr_Restore(type, error, trace);
      return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    s->room->null[b->nrows] = 1;
    b->null = s->room->null;
    return true;
  }
  bool ok = py_arena_reserve(s, key.len);
  if (ok && key.len > 0) memcpy(s->arena + s->arena_len, key.bytes, key.len);
  if (ok) s->arena_len += key.len;
  py_key_done(&key);
  if (!ok) PyErr_NoMemory();
  s->room->offsets[++b->nkeys] = s->arena_len;
  return ok;
}

static void source_fail(py_source *s) {
  s->failed = true;
  PyErr_Fetch(&s->error[0], &s->error[1], &s->error[2]);
}

static bool source_next_objects(py_source *s, py_block *b) {
  s->arena_len = 0;
  s->room->offsets[0] = 0;
  while (b->nrows < PY_BLOCK && s->arena_len < SOURCE_ARENA) {
    PyObject *value = s->first != NULL ? s->first : PyIter_Next(s->iterator);
    s->first = NULL;
    if (value == NULL) {
      if (PyErr_Occurred()) source_fail(s);
      break;
    }
    size_t nkeys = b->nkeys;
    bool ok = source_object(s, value, b);
    Py_DECREF(value);
    if (!ok) {
      b->nkeys = nkeys;
      source_fail(s);
      break;
    }
    b->nrows++;
  }
  b->column = (nay_column){.size = sizeof b->column,
                           .bytes = s->arena,
                           .nbytes = s->arena_len,
                           .offsets = s->room->offsets,
                           .offset_bytes = 8};
  return b->nrows > 0;
}

bool py_source_next(py_source *s, py_block *b) {
  b->nrows = b->nkeys = 0;
  b->keys = NULL;
  b->null = NULL;
  if (s->failed) return false;
  bool more = s->raw ? py_raw_next(s, b) : source_next_objects(s, b);
  if (more) s->row += b->nrows;
  return more;
}

int py_source_more(py_source *s) { return s->stream != NULL ? py_arrow_more(s) : 0; }

void py_source_raise(py_source *s) {
  if (s->is_null) {
    PyErr_Format(PyExc_ValueError, "row %zu is null, and null has no key: %s", s->row, s->advice);
  } else if (!s->raw) {
    PyErr_Restore(s->error[0], s->error[1], s->error[2]);
    s->error[0] = s->error[1] = s->error[2] = NULL;
  } else if (s->status == NAY_EINVAL) {
    PyErr_Format(PyExc_ValueError, "row %zu is not of key type %s: %s", s->row, s->typing.name,
                 s->diag.what != NULL ? s->diag.what : "out of range");
  } else {
    py_raise(s->status, &s->diag, NULL);
  }
}
