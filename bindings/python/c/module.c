/* module.c - libnay._libnay. */
#include "binding.h"

static PyObject *module_kinds(void) {
  PyObject *names = PyList_New(0);
  for (int i = 1; names != NULL && i < 64; i++) {
    const char *name = nay_kind_name((nay_kind)i);
    if (name == NULL || (nay_kind_traits((nay_kind)i) & NAY_CAN_GET) != 0) continue;
    PyObject *text = PyUnicode_FromString(name);
    if (text == NULL || PyList_Append(names, text) != 0) Py_CLEAR(names);
    Py_XDECREF(text);
  }
  PyObject *tuple = names != NULL ? PyList_AsTuple(names) : NULL;
  Py_XDECREF(names);
  return tuple;
}

/* Number of a status -> (name, text). */
static PyObject *module_statuses(void) {
  PyObject *all = PyDict_New();
#define X(name, value, text)                                                                      \
  if (all != NULL) {                                                                              \
    PyObject *number = PyLong_FromLong(value), *pair = Py_BuildValue("(ss)", "NAY_" #name, text); \
    if (number == NULL || pair == NULL || PyDict_SetItem(all, number, pair) != 0) Py_CLEAR(all);  \
    Py_XDECREF(number);                                                                           \
    Py_XDECREF(pair);                                                                             \
  }
  NAY_STATUS_MAP(X)
#undef X
  return all;
}

/* key_bytes(value, key_type): what a filter hashes. */
static PyObject *module_key_bytes(PyObject *module, PyObject *args) {
  PyObject *value;
  const char *type = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "O|z", &value, &type)) return NULL;
  if (type == NULL) type = py_key_type_of(value);
  py_typing typing;
  py_key key;
  py_typing_set(&typing, type != NULL ? type : "text");
  if (!py_key_of(&typing, value, &key)) return NULL;
  PyObject *bytes = PyBytes_FromStringAndSize(key.bytes, (Py_ssize_t)key.len);
  py_key_done(&key);
  return bytes;
}

static int module_exec(PyObject *module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "libnay cannot be loaded in a subinterpreter");
    return -1;
  }
  PyObject *kinds = module_kinds();
  int failed = kinds == NULL || PyModule_AddObjectRef(module, "KINDS", kinds) != 0;
  Py_XDECREF(kinds);
  PyObject *statuses = failed ? NULL : module_statuses();
  failed = statuses == NULL || PyModule_AddObjectRef(module, "STATUSES", statuses) != 0;
  Py_XDECREF(statuses);
  if (failed || PyModule_AddStringConstant(module, "LIBRARY_VERSION", nay_version()) != 0)
    return -1;
  return py_errors_init(module) && py_filter_init(module) && py_map_init(module) ? 0 : -1;
}

#include "filter_doc.h"

static PyMethodDef module_methods[] = {
    {"plan", PY_METHOD(py_plan), METH_VARARGS | METH_KEYWORDS, plan_doc},
    {"key_bytes", module_key_bytes, METH_VARARGS, key_bytes_doc},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                 "_libnay",
                                 "The C part of libnay.",
                                 0,
                                 module_methods,
                                 module_slots,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__libnay(void);
PyMODINIT_FUNC PyInit__libnay(void) { return PyModuleDef_Init(&module_def); }
