/*
 * arrow.c - columns by the Arrow C data interface: __arrow_c_array__ and __arrow_c_stream__.
 *
 * The structs are those of Arrow's specification, which wants them copied. Lengths of buffers are
 * not part of the interface: offsets are checked to ascend, and who made them is believed that they
 * end inside of the buffer.
 */
#include "binding.h"

typedef struct arrow_schema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct arrow_schema **children, *dictionary;
  void (*release)(struct arrow_schema *);
  void *private_data;
} arrow_schema;

typedef struct arrow_array {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct arrow_array **children, *dictionary;
  void (*release)(struct arrow_array *);
  void *private_data;
} arrow_array;

typedef struct arrow_stream {
  int (*get_schema)(struct arrow_stream *, arrow_schema *);
  int (*get_next)(struct arrow_stream *, arrow_array *);
  const char *(*get_last_error)(struct arrow_stream *);
  void (*release)(struct arrow_stream *);
  void *private_data;
} arrow_stream;

bool py_arrow_is(PyObject *keys) {
  return PyObject_HasAttrString(keys, "__arrow_c_array__") ||
         PyObject_HasAttrString(keys, "__arrow_c_stream__");
}

/* ---- formats ---- */

typedef struct arrow_shape {
  const char *format;
  py_elem elem;
  size_t width;
  int64_t per_day;
} arrow_shape;

static bool arrow_format(py_raw *r, const char *format) {
  static const arrow_shape shapes[] = {
      {"c", PY_ELEM_INT, 1, 0},
      {"C", PY_ELEM_UINT, 1, 0},
      {"s", PY_ELEM_INT, 2, 0},
      {"S", PY_ELEM_UINT, 2, 0},
      {"i", PY_ELEM_INT, 4, 0},
      {"I", PY_ELEM_UINT, 4, 0},
      {"l", PY_ELEM_INT, 8, 0},
      {"L", PY_ELEM_UINT, 8, 0},
      {"e", PY_ELEM_FLOAT, 2, 0},
      {"f", PY_ELEM_FLOAT, 4, 0},
      {"g", PY_ELEM_FLOAT, 8, 0},
      {"b", PY_ELEM_BITS, 0, 0},
      {"u", PY_ELEM_OFFSETS, 4, 0},
      {"z", PY_ELEM_OFFSETS, 4, 0},
      {"U", PY_ELEM_OFFSETS, 8, 0},
      {"Z", PY_ELEM_OFFSETS, 8, 0},
      {"vu", PY_ELEM_VIEWS, 16, 0},
      {"vz", PY_ELEM_VIEWS, 16, 0},
      {"tdD", PY_ELEM_DATE, 4, 1},
      {"tdm", PY_ELEM_DATE, 8, 86400000},
      {"tss:", PY_ELEM_TIMESTAMP, 8, 86400},
      {"tsm:", PY_ELEM_TIMESTAMP, 8, 86400000},
      {"tsu:", PY_ELEM_TIMESTAMP, 8, 86400000000},
      {"tsn:", PY_ELEM_TIMESTAMP, 8, 86400000000000},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const arrow_shape *s = &shapes[i];
    bool zone = s->elem == PY_ELEM_TIMESTAMP; /* what follows is the name of a time zone */
    if (zone ? strncmp(format, s->format, 4) != 0 : strcmp(format, s->format) != 0) continue;
    r->elem = s->elem;
    r->width = s->width;
    r->per_day = s->per_day;
    return true;
  }
  char *end;
  if (strncmp(format, "w:", 2) == 0) {
    unsigned long width = strtoul(format + 2, &end, 10);
    if (*end == '\0' && width > 0 && width <= INT32_MAX) {
      r->elem = PY_ELEM_FIXED;
      r->width = width;
      return true;
    }
  }
  PyErr_Format(PyExc_TypeError, "a column of Arrow's format '%s' has no keys", format);
  return false;
}

/* ---- arrays ---- */

static bool arrow_bad(const char *what) {
  PyErr_Format(PyExc_ValueError, "a column of Arrow that cannot be: %s", what);
  return false;
}

static bool arrow_views(py_raw *r, const arrow_array *a) {
  if (a->n_buffers < 3) return arrow_bad("views without lengths of their buffers");
  r->nbuffers = a->n_buffers - 3;
  r->buffers = (const uint8_t *const *)(const void *)(a->buffers + 2);
  r->buffer_nbytes = a->buffers[a->n_buffers - 1];
  if (r->nbuffers > 0 && r->buffer_nbytes == NULL) return arrow_bad("no lengths of buffers");
  return true;
}

/* Fills in the rows of one array; the format is there already. */
static bool arrow_rows(py_source *s, const arrow_array *a) {
  py_raw *r = &s->at;
  bool strings = r->elem == PY_ELEM_OFFSETS;
  if (a->dictionary != NULL) return arrow_bad("a dictionary where the schema has none");
  if (a->length < 0 || a->offset < 0 || a->offset > INT64_MAX - 1 - a->length) {
    return arrow_bad("its length or offset is negative");
  }
  if (a->n_buffers < (strings ? 3 : 2) || a->buffers == NULL) return arrow_bad("too few buffers");
  size_t from = (size_t)a->offset;
  const uint8_t *data = a->buffers[1];
  s->next = 0;
  r->n = (size_t)a->length;
  r->valid = a->null_count != 0 ? a->buffers[0] : NULL;
  r->valid_first = from;
  if (r->n > 0 && data == NULL) return arrow_bad("a buffer is missing");
  if (strings) {
    r->offset_bytes = (uint32_t)r->width;
    r->offsets = data != NULL ? data + from * r->width : NULL;
    r->data = a->buffers[2];
    uint64_t last = 0;
    if (r->n > 0) {
      const uint8_t *end = (const uint8_t *)r->offsets + r->n * r->width;
      memcpy(&last, end, r->width); /* zero or not: all that matters */
      if (last != 0 && r->data == NULL) return arrow_bad("a buffer is missing");
    }
    return true;
  }
  r->first = from;
  r->stride = (Py_ssize_t)r->width;
  r->data = data != NULL && r->elem != PY_ELEM_BITS ? data + from * r->width : data;
  return r->elem != PY_ELEM_VIEWS || arrow_views(r, a);
}

static bool arrow_schema_read(py_raw *r, const arrow_schema *schema) {
  if (schema->release == NULL || schema->format == NULL) return arrow_bad("no schema");
  if (schema->dictionary != NULL) {
    PyErr_SetString(PyExc_TypeError, "a dictionary column of Arrow: decode it first");
    return false;
  }
  return arrow_format(r, schema->format);
}

/* ---- opening ---- */

static bool arrow_open_array(py_source *s, PyObject *keys) {
  PyObject *both = PyObject_CallMethod(keys, "__arrow_c_array__", NULL);
  if (both != NULL && !PyTuple_Check(both)) {
    PyErr_SetString(PyExc_TypeError, "__arrow_c_array__() returned no pair of capsules");
    Py_DECREF(both);
    return false;
  }
  bool ok = both != NULL && PyArg_ParseTuple(both, "OO", &s->held[0], &s->held[1]);
  if (both != NULL && !ok) s->held[0] = s->held[1] = NULL;
  if (ok) {
    Py_INCREF(s->held[0]);
    Py_INCREF(s->held[1]);
  }
  Py_XDECREF(both);
  if (!ok) return false;
  const arrow_schema *schema = PyCapsule_GetPointer(s->held[0], "arrow_schema");
  const arrow_array *array =
      schema != NULL ? PyCapsule_GetPointer(s->held[1], "arrow_array") : NULL;
  if (array == NULL || !arrow_schema_read(&s->at, schema)) return false;
  if (array->release == NULL) return arrow_bad("the array was released");
  return arrow_rows(s, array);
}

static bool arrow_failed(arrow_stream *stream, int code) {
  const char *why = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
  PyErr_Format(PyExc_OSError, "a stream of Arrow failed: %s",
               why != NULL ? why : strerror(code < 0 ? -code : code));
  return false;
}

static bool arrow_open_stream(py_source *s, PyObject *keys) {
  s->held[0] = PyObject_CallMethod(keys, "__arrow_c_stream__", NULL);
  if (s->held[0] == NULL) return false;
  arrow_stream *stream = PyCapsule_GetPointer(s->held[0], "arrow_array_stream");
  if (stream == NULL) return false;
  if (stream->release == NULL) return arrow_bad("the stream was released");
  arrow_schema schema = {0};
  int code = stream->get_schema(stream, &schema);
  if (code != 0) return arrow_failed(stream, code);
  bool ok = arrow_schema_read(&s->at, &schema);
  if (schema.release != NULL) schema.release(&schema);
  if (!ok) return false;
  s->chunk = PyMem_Calloc(1, sizeof(arrow_array));
  if (s->chunk == NULL) {
    PyErr_NoMemory();
    return false;
  }
  s->stream = stream;
  return py_arrow_more(s) >= 0;
}

bool py_arrow_open(py_source *s, PyObject *keys) {
  s->raw = s->array = true;
  return PyObject_HasAttrString(keys, "__arrow_c_array__") ? arrow_open_array(s, keys)
                                                           : arrow_open_stream(s, keys);
}

static void arrow_release(arrow_array *chunk) {
  if (chunk != NULL && chunk->release != NULL) chunk->release(chunk);
}

int py_arrow_more(py_source *s) {
  arrow_stream *stream = s->stream;
  arrow_array *chunk = s->chunk;
  do {
    arrow_release(chunk);
    memset(chunk, 0, sizeof *chunk);
    int code = stream->get_next(stream, chunk);
    if (code != 0) {
      arrow_failed(stream, code);
      return -1;
    }
    s->at.n = s->next = 0;
    if (chunk->release == NULL) return 0;
    if (!arrow_rows(s, chunk)) return -1;
  } while (s->at.n == 0);
  return 1;
}

void py_arrow_close(py_source *s) {
  arrow_release(s->chunk);
  PyMem_Free(s->chunk);
  s->chunk = s->stream = NULL;
}
