/* errors.c - statuses of the library as exceptions. */
#include "binding.h"

py_globals py_state;

static const struct {
  nay_status status;
  const char *name, *doc;
  PyObject **also; /* a built-in class that the exception is as well */
} errors_classes[] = {
    {NAY_EINVAL, "libnay.InvalidError", "An argument is out of its documented range.",
     &PyExc_ValueError},
    {NAY_ENOTSUP, "libnay.UnsupportedError",
     "The kind of this filter cannot do that, or the filter is read-only.", &PyExc_TypeError},
    {NAY_EMISMATCH, "libnay.MismatchError",
     "The filters differ in kind, shape, hash, seed or key type.", &PyExc_ValueError},
    {NAY_ECORRUPT, "libnay.CorruptError", "The bytes are damaged.", &PyExc_ValueError},
    {NAY_EVERSION, "libnay.VersionError", "The bytes need a newer library.", &PyExc_ValueError},
    {NAY_EFORMAT, "libnay.FormatError", "The bytes are no filter of nay.", &PyExc_ValueError},
    {NAY_EKEY, "libnay.LockedError",
     "The secret is missing or is not the one that the filter was made with.", &PyExc_ValueError},
    {NAY_EFULL, "libnay.FullError", "The result would exceed a limit on rate or size.",
     &PyExc_OverflowError},
    {NAY_ENOENT, "libnay.AbsentError", "The key is not in the filter.", &PyExc_KeyError},
};

static bool errors_add(PyObject *module, const char *name, PyObject *class) {
  return class != NULL && PyModule_AddObjectRef(module, strchr(name, '.') + 1, class) == 0;
}

bool py_errors_init(PyObject *module) {
  Py_XDECREF(py_state.error);
  py_state.error = PyErr_NewExceptionWithDoc(
      "libnay.Error",
      "Base of all errors that the library reports. `status` is the name of the status, as "
      "\"NAY_EINVAL\", and `offset` the byte of the input to blame.",
      NULL, NULL);
  if (!errors_add(module, "libnay.Error", py_state.error)) return false;
  for (size_t i = 0; i < sizeof errors_classes / sizeof *errors_classes; i++) {
    PyObject *bases = PyTuple_Pack(2, py_state.error, *errors_classes[i].also);
    if (bases == NULL) return false;
    PyObject *class =
        PyErr_NewExceptionWithDoc(errors_classes[i].name, errors_classes[i].doc, bases, NULL);
    Py_DECREF(bases);
    if (!errors_add(module, errors_classes[i].name, class)) return false;
    Py_XDECREF(py_state.by_status[-errors_classes[i].status]);
    py_state.by_status[-errors_classes[i].status] = class;
  }
  return true;
}

static PyObject *errors_os(const nay_diag *diag, PyObject *path) {
  const char *what = diag != NULL && diag->what != NULL ? diag->what : nay_status_text(NAY_EIO);
  int number = diag != NULL ? diag->os_error : 0;
  PyObject *args = path != NULL ? Py_BuildValue("(isO)", number, what, path)
                                : Py_BuildValue("(is)", number, what);
  if (args == NULL) return NULL;
  PyObject *error = PyObject_Call(PyExc_OSError, args, NULL);
  Py_DECREF(args);
  if (error == NULL) return NULL;
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

PyObject *py_raise(nay_status status, const nay_diag *diag, PyObject *path) {
  if (status == NAY_ENOMEM) return PyErr_NoMemory();
  if (status == NAY_EIO) return errors_os(diag, path);
  size_t index = (size_t)-status;
  PyObject *class = index < sizeof py_state.by_status / sizeof *py_state.by_status
                        ? py_state.by_status[index]
                        : NULL;
  if (class == NULL) class = py_state.error;
  const char *what = diag != NULL && diag->what != NULL ? diag->what : nay_status_text(status);
  uint64_t offset = diag != NULL && diag->what != NULL ? diag->offset : 0;
  PyObject *text;
  if (path != NULL) {
    text = PyUnicode_FromFormat("%S: %s", path, what);
  } else if (offset != 0) {
    text = PyUnicode_FromFormat("%s (at byte %llu)", what, (unsigned long long)offset);
  } else {
    text = PyUnicode_FromString(what);
  }
  PyObject *error = text != NULL ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;
  Py_XDECREF(text);
  if (error == NULL) return NULL;
  PyObject *name = PyUnicode_FromString(nay_status_name(status));
  PyObject *at = PyLong_FromUnsignedLongLong(offset);
  if (name != NULL && at != NULL && PyObject_SetAttrString(error, "status", name) == 0 &&
      PyObject_SetAttrString(error, "offset", at) == 0) {
    PyErr_SetObject(class, error);
  }
  Py_XDECREF(name);
  Py_XDECREF(at);
  Py_DECREF(error);
  return NULL;
}

void py_error_attribute(const char *name, size_t value) {
  PyObject *type, *error, *trace, *number = NULL;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (error != NULL) number = PyLong_FromSize_t(value);
  if (number == NULL || PyObject_SetAttrString(error, name, number) != 0) PyErr_Clear();
  Py_XDECREF(number);
  PyErr_Restore(type, error, trace);
}
