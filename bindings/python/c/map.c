/* map.c - libnay.Map: a value for each key, without the keys. */
#include "binding.h"

#include <structmember.h>

static PyObject *map_finish(PyTypeObject *type, const py_params *params, nay_builder *builder) {
  nay_filter *map = NULL;
  nay_diag diag = {0};
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_builder_finish(builder, &diag, &map);
  PyEval_RestoreThread(state);
  if (status != NAY_OK) {
    py_raise(status, &(nay_diag){.what = diag.what}, NULL);
    py_error_attribute("row", (size_t)diag.offset);
    return NULL;
  }
  return py_params_state_key(params, map) ? py_filter_wrap(type, map) : NULL;
}

/* With as many values as rows: the batch stops where there is no value for a row. */
static PyObject *map_build_from(PyTypeObject *type, py_params *params, py_source *source,
                                uint64_t *values, size_t nvalues) {
  py_typing typing;
  const char *key = params->key != NULL ? params->key : py_source_key_type(source);
  py_typing_set(&typing, key != NULL ? key : "text");
  if (params->key == NULL && (params->key = PyMem_Malloc(sizeof typing.name)) != NULL) {
    memcpy(params->key, typing.name, sizeof typing.name);
  }
  source->skip_nulls = params->skip_nulls;
  source->advice = "skip_nulls=True leaves it out";
  if (!py_source_use(source, &typing)) return NULL;
  nay_builder *builder = NULL;
  nay_diag diag = {0};
  nay_status status = nay_builder_new(&params->params, NULL, &diag, &builder);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  py_batch batch = {
      .apply = py_apply_build_values, .builder = builder, .values = values, .cap = nvalues};
  PyObject *made = NULL;
  if (py_batch_run(&batch, source)) {
    if (batch.nvalues != nvalues) {
      PyErr_Format(PyExc_ValueError, "%zu values for %zu keys", nvalues, batch.nvalues);
    } else {
      made = map_finish(type, params, builder);
    }
  }
  nay_builder_free(builder);
  return made;
}

static PyObject *map_build(PyObject *type, PyObject *args, PyObject *kwargs) {
  static const char *const positional[] = {NULL};
  if (PyTuple_Size(args) < 1 || PyTuple_Size(args) > 2) {
    PyErr_SetString(PyExc_TypeError, "build() takes a mapping, or keys and their values");
    return NULL;
  }
  PyObject *keys = Py_NewRef(PyTuple_GetItem(args, 0)), *values, *made = NULL;
  if (PyTuple_Size(args) == 2) {
    values = Py_NewRef(PyTuple_GetItem(args, 1));
  } else {
    PyObject *mapping = keys;
    keys = PyMapping_Keys(mapping);
    values = keys != NULL ? PyMapping_Values(mapping) : NULL;
    Py_DECREF(mapping);
  }
  py_params params;
  py_source source;
  uint64_t *numbers = NULL;
  size_t n;
  bool read = py_params_read(args, PyTuple_Size(args), positional, kwargs, NAY_MAP, &params);
  if (keys != NULL && values != NULL && read && py_u64s(values, &numbers, &n) &&
      py_source_open(&source, keys)) {
    made = map_build_from((PyTypeObject *)type, &params, &source, numbers, n);
    py_source_close(&source);
  }
  PyMem_Free(numbers);
  py_params_done(&params);
  Py_XDECREF(keys);
  Py_XDECREF(values);
  return made;
}

/* ---- values ---- */

/* 1: there is a value; 0: absent; -1: an exception is set. */
static int map_value(PyObject *object, PyObject *value, uint64_t *found) {
  py_filter *self = (py_filter *)object;
  py_key key;
  if (!py_key_of(&self->typing, value, &key)) return -1;
  bool waited = py_wait(self, false);
  nay_status status = waited ? nay_filter_get(self->filter, key.bytes, key.len, found) : NAY_EINVAL;
  py_key_done(&key);
  if (!waited) return -1;
  if (status == NAY_OK) return 1;
  if (status == NAY_ENOENT) return 0;
  py_raise(status, NULL, NULL);
  return -1;
}

static PyObject *map_subscript(PyObject *object, PyObject *key) {
  uint64_t value;
  int found = map_value(object, key, &value);
  if (found == 0) PyErr_SetObject(PyExc_KeyError, key);
  return found > 0 ? PyLong_FromUnsignedLongLong(value) : NULL;
}

static PyObject *map_get(PyObject *object, PyObject *args) {
  PyObject *key, *absent = Py_None;
  uint64_t value;
  if (!PyArg_ParseTuple(args, "O|O", &key, &absent)) return NULL;
  int found = map_value(object, key, &value);
  if (found < 0) return NULL;
  return found > 0 ? PyLong_FromUnsignedLongLong(value) : Py_NewRef(absent);
}

static PyObject *map_list(const py_batch *batch) {
  PyObject *list = PyList_New((Py_ssize_t)batch->nvalues);
  for (size_t i = 0; list != NULL && i < batch->nvalues; i++) {
    PyObject *item =
        batch->answers[i] ? PyLong_FromUnsignedLongLong(batch->values[i]) : Py_NewRef(Py_None);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *map_arrays(const py_batch *batch) {
  PyObject *values = py_array_of(batch->values, batch->nvalues * 8, "uint64", "Q");
  PyObject *present = values != NULL ? py_answers(batch->answers, batch->nanswers, true) : NULL;
  PyObject *both = present != NULL ? PyTuple_Pack(2, values, present) : NULL;
  Py_XDECREF(values);
  Py_XDECREF(present);
  return both;
}

static PyObject *map_get_many(PyObject *object, PyObject *keys) {
  py_filter *self = (py_filter *)object;
  py_batch batch = {.apply = py_apply_get, .self = self, .wants = true};
  py_source source;
  PyObject *made = NULL;
  if (!py_source_open(&source, keys)) return NULL;
  source.skip_nulls = true; /* null has no key, so no value */
  if (py_source_use(&source, &self->typing) && py_batch_run(&batch, &source)) {
    made = source.array ? map_arrays(&batch) : map_list(&batch);
  }
  free(batch.answers);
  free(batch.values);
  py_source_close(&source);
  return made;
}

static Py_ssize_t map_len(PyObject *object) {
  nay_stats stats;
  if (!py_handle_stats_read((py_filter *)object, &stats)) return -1;
  return (Py_ssize_t)stats.nkeys;
}

static PyObject *map_repr(PyObject *object) {
  py_filter *self = (py_filter *)object;
  if (self->filter == NULL) return PyUnicode_FromString("<libnay.Map, closed>");
  if (!py_wait(self, false)) return NULL;
  return PyUnicode_FromFormat("<libnay.Map, keys are %s, %zu bytes>", nay_filter_key(self->filter),
                              nay_filter_nbytes(self->filter));
}

#include "filter_doc.h"

#define MAP_CLASS_METHOD (METH_CLASS | METH_VARARGS | METH_KEYWORDS)

static PyMethodDef map_methods[] = {
    {"build", PY_METHOD(map_build), MAP_CLASS_METHOD, map_build_doc},
    {"open", py_handle_open, METH_CLASS | METH_O, handle_open_doc},
    {"mmap", PY_METHOD(py_handle_mmap), MAP_CLASS_METHOD, handle_mmap_doc},
    {"decode", PY_METHOD(py_handle_decode), MAP_CLASS_METHOD, handle_decode_doc},
    {"get", map_get, METH_VARARGS, map_get_doc},
    {"get_many", map_get_many, METH_O, map_get_many_doc},
    {"check_many", PY_METHOD(py_handle_check_many), METH_VARARGS | METH_KEYWORDS,
     handle_check_many_doc},
    {"copy", py_handle_copy, METH_NOARGS, handle_copy_doc},
    {"__copy__", py_handle_copy, METH_NOARGS, NULL},
    {"__deepcopy__", py_handle_copy, METH_O, NULL},
    {"save", py_handle_save, METH_O, handle_save_doc},
    {"encode", py_handle_encode, METH_NOARGS, handle_encode_doc},
    {"__bytes__", py_handle_encode, METH_NOARGS, NULL},
    {"stats", py_handle_stats, METH_NOARGS, filter_stats_doc},
    {"unlock", py_handle_unlock, METH_O, handle_unlock_doc},
    {"close", py_handle_close, METH_NOARGS, handle_close_doc},
    {"__enter__", py_handle_enter, METH_NOARGS, NULL},
    {"__exit__", py_handle_close, METH_VARARGS, NULL},
    {"__reduce_ex__", py_handle_reduce, METH_O, NULL},
    {"__sizeof__", py_handle_sizeof, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

#define MAP_PROPERTY(name, what, doc) \
  { name, py_handle_property, NULL, doc, (void *)(intptr_t)(what) }

static PyGetSetDef map_properties[] = {
    {"key", py_handle_property, py_handle_set_key, handle_key_doc, (void *)(intptr_t)PY_KEY},
    {"meta", py_handle_property, py_handle_set_meta, handle_meta_doc, (void *)(intptr_t)PY_META},
    MAP_PROPERTY("nbytes", PY_NBYTES, "Memory that the map holds, in bytes."),
    MAP_PROPERTY("closed", PY_CLOSED, "Whether close() was called."),
    MAP_PROPERTY("locked", PY_LOCKED, "Whether unlock() must be called first."),
    MAP_PROPERTY("damaged", PY_DAMAGED, "Whether a lazily mapped file has met damaged bytes."),
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef map_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_filter, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyObject *map_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)type, (void)args, (void)kwargs;
  PyErr_SetString(PyExc_TypeError, "a map is built from all of its keys: use Map.build(...)");
  return NULL;
}

static PyType_Slot map_slots[] = {{Py_tp_doc, (void *)(uintptr_t)map_doc},
                                  {Py_tp_new, map_new},
                                  {Py_tp_dealloc, py_handle_dealloc},
                                  {Py_tp_repr, map_repr},
                                  {Py_tp_methods, map_methods},
                                  {Py_tp_getset, map_properties},
                                  {Py_tp_members, map_members},
                                  {Py_sq_contains, py_handle_contains},
                                  {Py_mp_length, map_len},
                                  {Py_mp_subscript, map_subscript},
                                  {0, NULL}};

static PyType_Spec map_spec = {"libnay.Map", sizeof(py_filter), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, map_slots};

bool py_map_init(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &map_spec, NULL);
  if (type == NULL || PyModule_AddObjectRef(module, "Map", type) != 0) return false;
  py_state.map_type = (PyTypeObject *)type;
  return true;
}
