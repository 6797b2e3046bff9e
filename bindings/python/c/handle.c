/* handle.c - what filters and maps have in common. */
#include "binding.h"

PyObject *py_filter_wrap(PyTypeObject *type, nay_filter *filter) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  py_filter *self = (py_filter *)alloc(type, 0);
  if (self == NULL) {
    nay_filter_free(filter);
    return NULL;
  }
  self->filter = filter;
  pthread_mutex_init(&self->guard.mutex, NULL);
  pthread_cond_init(&self->guard.idle, NULL);
  self->guard.pid = getpid();
  py_typing_set(&self->typing, nay_filter_key(filter));
  return (PyObject *)self;
}

void py_handle_dealloc(PyObject *object) {
  py_filter *self = (py_filter *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (self->weak != NULL) PyObject_ClearWeakRefs(object);
  nay_filter_free(self->filter);
  if (self->guard.pid == getpid()) {
    pthread_cond_destroy(&self->guard.idle);
    pthread_mutex_destroy(&self->guard.mutex);
  }
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

/* ---- keys ---- */

int py_handle_contains(PyObject *object, PyObject *value) {
  py_filter *self = (py_filter *)object;
  py_key key;
  if (!py_key_of(&self->typing, value, &key)) return -1;
  int maybe = -1;
  if (py_wait(self, false)) maybe = nay_filter_may_contain(self->filter, key.bytes, key.len);
  py_key_done(&key);
  return maybe;
}

static bool handle_null_answer(PyObject *null, py_batch *batch, py_source *source) {
  source->advice = "null=True or null=False is its answer then";
  if (null == NULL || null == Py_None) return true;
  int truth = PyObject_IsTrue(null);
  if (truth < 0) return false;
  source->skip_nulls = true;
  batch->null_answer = truth == 1;
  return true;
}

PyObject *py_handle_check_many(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "null", NULL};
  PyObject *keys, *null = NULL, *made = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O", names, &keys, &null)) return NULL;
  py_filter *self = (py_filter *)object;
  py_batch batch = {.apply = py_apply_check, .self = self, .wants = true};
  py_source source;
  if (!py_source_open(&source, keys)) return NULL;
  if (handle_null_answer(null, &batch, &source) && py_source_use(&source, &self->typing) &&
      py_batch_run(&batch, &source)) {
    made = py_answers(batch.answers, batch.nanswers, source.array);
  }
  free(batch.answers);
  py_source_close(&source);
  return made;
}

/* ---- files and bytes ---- */

static bool handle_right_kind(PyObject *type, const nay_filter *filter) {
  bool map = nay_filter_kind(filter) == NAY_MAP;
  bool wants = PyType_IsSubtype((PyTypeObject *)type, py_state.map_type) != 0;
  if (map == wants) return true;
  PyErr_SetString(PyExc_TypeError,
                  map ? "these are the bytes of a map: read them with libnay.Map"
                      : "these are the bytes of a filter: read them with libnay.Filter");
  return false;
}

static PyObject *handle_made(PyObject *type, nay_filter *filter) {
  if (handle_right_kind(type, filter)) return py_filter_wrap((PyTypeObject *)type, filter);
  nay_filter_free(filter);
  return NULL;
}

static PyObject *handle_read(PyObject *type, PyObject *path, int lazy) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
  char *name;
  Py_ssize_t len;
  if (PyBytes_AsStringAndSize(bytes, &name, &len) != 0) {
    Py_DECREF(bytes);
    return NULL;
  }
  nay_filter *filter = NULL;
  nay_diag diag = {0};
  nay_status status;
  PyThreadState *state = PyEval_SaveThread();
  if (lazy < 0) {
    status = nay_filter_open(name, NULL, &diag, &filter);
  } else {
    status = nay_filter_mmap(name, lazy ? NAY_MMAP_LAZY : 0, NULL, &diag, &filter);
  }
  PyEval_RestoreThread(state);
  Py_DECREF(bytes);
  if (status != NAY_OK) return py_raise(status, &diag, path);
  return handle_made(type, filter);
}

PyObject *py_handle_open(PyObject *type, PyObject *path) { return handle_read(type, path, -1); }

PyObject *py_handle_mmap(PyObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "lazy", NULL};
  PyObject *path;
  int lazy = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p", names, &path, &lazy)) return NULL;
  return handle_read(type, path, lazy);
}

PyObject *py_handle_decode(PyObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "format", NULL};
  PyObject *bytes;
  const char *name = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|z", names, &bytes, &name)) return NULL;
  const nay_format *format = py_format_find(name != NULL ? name : "nay");
  Py_buffer view;
  if (format == NULL || PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) != 0) return NULL;
  nay_filter *filter = NULL;
  nay_diag diag = {0};
  PyThreadState *state = PyEval_SaveThread();
  nay_status status =
      nay_format_decode(format, view.buf, (size_t)view.len, 0, NULL, &diag, &filter);
  PyEval_RestoreThread(state);
  PyBuffer_Release(&view);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  return handle_made(type, filter);
}

PyObject *py_handle_encode(PyObject *object, PyObject *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (!py_enter(self, false)) return NULL;
  const nay_format *format = nay_filter_format(self->filter);
  size_t size = nay_format_encoded_size(format, self->filter), written = 0;
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  char *to = NULL;
  Py_ssize_t len;
  nay_status status = NAY_OK;
  if (bytes != NULL && PyBytes_AsStringAndSize(bytes, &to, &len) == 0) {
    PyThreadState *state = PyEval_SaveThread();
    status = nay_format_encode(format, self->filter, to, size, &written);
    PyEval_RestoreThread(state);
  }
  py_leave(self, false);
  if (to != NULL && status == NAY_OK && written == size) return bytes;
  Py_XDECREF(bytes);
  if (PyErr_Occurred()) return NULL;
  return py_raise(status != NAY_OK ? status : NAY_EINVAL, NULL, NULL);
}

PyObject *py_handle_save(PyObject *object, PyObject *path) {
  py_filter *self = (py_filter *)object;
  PyObject *bytes = NULL;
  char *name;
  Py_ssize_t len;
  if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
  nay_status status = NAY_OK;
  nay_diag diag = {0};
  bool entered = PyBytes_AsStringAndSize(bytes, &name, &len) == 0 && py_enter(self, false);
  if (entered) {
    PyThreadState *state = PyEval_SaveThread();
    status = nay_filter_save(self->filter, name, &diag);
    PyEval_RestoreThread(state);
    py_leave(self, false);
  }
  Py_DECREF(bytes);
  if (!entered) return NULL;
  if (status != NAY_OK) return py_raise(status, &diag, path);
  Py_RETURN_NONE;
}

PyObject *py_handle_copy(PyObject *object, PyObject *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (!py_enter(self, false)) return NULL;
  nay_filter *copy = NULL;
  nay_diag diag = {0};
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_filter_copy(self->filter, NULL, &diag, &copy);
  PyEval_RestoreThread(state);
  py_leave(self, false);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  return py_filter_wrap(Py_TYPE(object), copy);
}

/* Protocol 5 hands the bytes over without a copy where the pickler takes them out of band. */
PyObject *py_handle_reduce(PyObject *object, PyObject *protocol) {
  long number = PyLong_AsLong(protocol);
  if (number == -1 && PyErr_Occurred()) return NULL;
  PyObject *bytes = py_handle_encode(object, NULL);
  if (bytes != NULL && number >= 5) {
    PyObject *pickle = PyImport_ImportModule("pickle");
    PyObject *buffer =
        pickle != NULL ? PyObject_CallMethod(pickle, "PickleBuffer", "O", bytes) : NULL;
    Py_XDECREF(pickle);
    Py_DECREF(bytes);
    bytes = buffer;
  }
  if (bytes == NULL) return NULL;
  PyObject *decode = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "decode");
  const char *format = nay_format_name(nay_filter_format(((py_filter *)object)->filter));
  PyObject *own =
      decode != NULL ? PyObject_GetAttrString(object, "__dict__") : NULL; /* of a subclass */
  if (decode != NULL && own == NULL) PyErr_Clear();
  PyObject *made = decode == NULL ? NULL
                   : own != NULL  ? Py_BuildValue("(O(Os)O)", decode, bytes, format, own)
                                  : Py_BuildValue("(O(Os))", decode, bytes, format);
  Py_XDECREF(own);
  Py_XDECREF(decode);
  Py_DECREF(bytes);
  return made;
}

/* ---- lifetime ---- */

PyObject *py_handle_close(PyObject *object, PyObject *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (self->filter == NULL) Py_RETURN_NONE;
  if (!py_wait(self, true)) {
    if (self->filter == NULL) PyErr_Clear(); /* another thread was first */
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
  }
  nay_filter *filter = self->filter;
  self->filter = NULL;
  nay_filter_free(filter);
  Py_RETURN_NONE;
}

PyObject *py_handle_enter(PyObject *object, PyObject *unused) {
  (void)unused;
  return py_wait((py_filter *)object, false) ? Py_NewRef(object) : NULL;
}

/* ---- facts ---- */

PyObject *py_handle_sizeof(PyObject *object, PyObject *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (self->filter == NULL) return PyLong_FromSize_t(sizeof *self);
  if (!py_wait(self, false)) return NULL;
  return PyLong_FromSize_t(sizeof *self + nay_filter_nbytes(self->filter));
}

bool py_handle_stats_read(py_filter *self, nay_stats *stats) {
  memset(stats, 0, sizeof *stats);
  stats->size = sizeof *stats;
  if (!py_enter(self, false)) return false;
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_filter_stats(self->filter, stats);
  PyEval_RestoreThread(state);
  py_leave(self, false);
  if (status != NAY_OK) py_raise(status, NULL, NULL);
  return status == NAY_OK;
}

PyObject *py_handle_stats(PyObject *object, PyObject *unused) {
  (void)unused;
  nay_stats stats;
  if (!py_handle_stats_read((py_filter *)object, &stats)) return NULL;
  return py_stats_make(&stats);
}

PyObject *py_handle_unlock(PyObject *object, PyObject *secret) {
  py_filter *self = (py_filter *)object;
  Py_buffer view;
  if (PyObject_GetBuffer(secret, &view, PyBUF_SIMPLE) != 0) return NULL;
  nay_status status = NAY_EKEY;
  bool waited = py_wait(self, true);
  if (waited && view.len == 16) status = nay_filter_unlock(self->filter, view.buf);
  PyBuffer_Release(&view);
  if (!waited) return NULL;
  if (status != NAY_OK) return py_raise(status, NULL, NULL);
  Py_RETURN_NONE;
}

static PyObject *handle_text(const char *text) {
  return text != NULL ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

PyObject *py_handle_property(PyObject *object, void *what) {
  py_filter *self = (py_filter *)object;
  intptr_t which = (intptr_t)what;
  if (which == PY_CLOSED) return PyBool_FromLong(self->filter == NULL);
  if (!py_wait(self, false)) return NULL;
  const nay_filter *f = self->filter;
  nay_hasher hasher = {.size = sizeof hasher};
  nay_hash hash;
  size_t len;
  const void *meta;
  switch (which) {
    case PY_KIND:
      return handle_text(nay_filter_kind(f) != NAY_AUTO ? nay_kind_name(nay_filter_kind(f)) : NULL);
    case PY_FORMAT: return handle_text(nay_format_name(nay_filter_format(f)));
    case PY_CAVEAT: return handle_text(nay_filter_caveat(f));
    case PY_KEY: return PyUnicode_FromString(nay_filter_key(f));
    case PY_NBYTES: return PyLong_FromSize_t(nay_filter_nbytes(f));
    case PY_DAMAGED: return PyBool_FromLong(nay_filter_health(f) != NAY_OK);
    case PY_LOCKED:
      return PyBool_FromLong(nay_filter_hasher(f, &hasher) == NAY_OK &&
                             nay_hasher_hash(&hasher, "", 0, &hash) == NAY_EKEY);
    case PY_META:
      meta = nay_filter_meta(f, &len);
      return PyBytes_FromStringAndSize(meta, meta != NULL ? (Py_ssize_t)len : 0);
    default: PyErr_SetString(PyExc_AttributeError, "no such property"); return NULL;
  }
}

int py_handle_set_key(PyObject *object, PyObject *value, void *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (value == NULL || !PyUnicode_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "a key type is a str, such as \"int\"");
    return -1;
  }
  Py_ssize_t len;
  const char *text = PyUnicode_AsUTF8AndSize(value, &len);
  if (text == NULL || !py_is_c_string("key", text, len) || !py_key_is_type(text)) return -1;
  if (!py_wait(self, true)) return -1;
  nay_status status = nay_filter_set_key(self->filter, text);
  if (status != NAY_OK) {
    nay_diag diag = {.what = "no key type of this version, or a layout that states none"};
    py_raise(status, &diag, NULL);
    return -1;
  }
  py_typing_set(&self->typing, nay_filter_key(self->filter));
  return 0;
}

int py_handle_set_meta(PyObject *object, PyObject *value, void *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  Py_buffer view = {0};
  if (value != NULL && PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) return -1;
  bool waited = py_wait(self, true);
  nay_status status =
      waited ? nay_filter_set_meta(self->filter, view.buf, (size_t)view.len) : NAY_OK;
  if (value != NULL) PyBuffer_Release(&view);
  if (status != NAY_OK) py_raise(status, NULL, NULL);
  return waited && status == NAY_OK ? 0 : -1;
}
