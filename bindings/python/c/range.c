/* range.c - ranges of range filters: check_range, check_ranges. */
#include "binding.h"

/* Where keys are numbers that have another order than their bytes, a range of bytes is none of
 * values, and an answer could be a false nay. */
static bool range_has_order(const py_typing *typing) {
  bool text = typing->type == NAY_KEY_TEXT || typing->type == NAY_KEY_UUID;
  if (typing->status != NAY_OK || typing->ordered || text) return true;
  PyErr_Format(PyExc_TypeError, "keys of type %s are not in the order of their values: no ranges",
               typing->name);
  return false;
}

/* 1: maybe; 0: nay; -1: an exception is set. */
static int range_check(py_filter *self, PyObject *lo, PyObject *hi) {
  py_key from, to;
  if (!py_key_of(&self->typing, lo, &from)) return -1;
  if (!py_key_of(&self->typing, hi, &to)) {
    py_key_done(&from);
    return -1;
  }
  bool maybe = true, waited = py_wait(self, false);
  nay_status status = NAY_OK;
  if (waited) {
    status =
        nay_filter_may_contain_range(self->filter, from.bytes, from.len, to.bytes, to.len, &maybe);
  }
  py_key_done(&from);
  py_key_done(&to);
  if (!waited) return -1;
  if (status == NAY_OK) return maybe;
  nay_diag diag = {0};
  if (status == NAY_EINVAL) diag.what = "the first end of the range is above the second";
  if (status == NAY_ENOTSUP) diag.what = "only range filters answer ranges: kind=\"range\"";
  py_raise(status, &diag, NULL);
  return -1;
}

PyObject *py_check_range(PyObject *object, PyObject *args) {
  py_filter *self = (py_filter *)object;
  PyObject *lo, *hi;
  if (!PyArg_ParseTuple(args, "OO", &lo, &hi) || !range_has_order(&self->typing)) return NULL;
  int maybe = range_check(self, lo, hi);
  return maybe < 0 ? NULL : PyBool_FromLong(maybe);
}

/* ---- batches ---- */

/* The ends as numbers, in memory from malloc. */
static bool range_numbers(const py_typing *typing, PyObject *ends, uint64_t **numbers, size_t *n,
                          bool *array) {
  py_batch batch = {.apply = py_apply_numbers};
  py_source source;
  if (!py_source_open(&source, ends)) return false;
  source.advice = "leave it out";
  *array = source.array;
  bool ok = py_source_use(&source, typing) && py_batch_run(&batch, &source);
  py_source_close(&source);
  *numbers = batch.values;
  *n = batch.nvalues;
  return ok;
}

static bool range_as_long(size_t nlo, size_t nhi) {
  if (nlo == nhi) return true;
  PyErr_Format(PyExc_ValueError, "%zu lower ends and %zu upper ones", nlo, nhi);
  return false;
}

static PyObject *range_check_numbers(py_filter *self, const uint64_t *lo, const uint64_t *hi,
                                     size_t n, bool array) {
  uint64_t *bitmap = PyMem_Malloc(NAY_BITMAP_WORDS(n) * sizeof *bitmap + 8);
  uint8_t *answers = PyMem_Malloc(n + 1);
  PyObject *made = NULL;
  if (bitmap == NULL || answers == NULL) {
    PyErr_NoMemory();
  } else if (py_enter(self, false)) {
    PyThreadState *state = PyEval_SaveThread();
    nay_status status = nay_filter_may_contain_range_u64_many(self->filter, lo, hi, n, bitmap);
    for (size_t i = 0; i < n; i++) answers[i] = nay_bitmap_get(bitmap, i);
    PyEval_RestoreThread(state);
    py_leave(self, false);
    nay_diag diag = {0};
    if (status == NAY_EINVAL) diag.what = "a first end of a range is above the second";
    if (status == NAY_ENOTSUP) diag.what = "only range filters of numbers answer these ranges";
    made = status == NAY_OK ? py_answers(answers, n, array) : py_raise(status, &diag, NULL);
  }
  PyMem_Free(bitmap);
  PyMem_Free(answers);
  return made;
}

/* Of texts: one after the other. */
static PyObject *range_check_each(py_filter *self, PyObject *los, PyObject *his) {
  PyObject *lo = PySequence_List(los), *hi = lo != NULL ? PySequence_List(his) : NULL, *made = NULL;
  size_t n = lo != NULL ? (size_t)PyList_Size(lo) : 0;
  uint8_t *answers = PyMem_Malloc(n + 1);
  if (hi != NULL && answers == NULL) PyErr_NoMemory();
  if (hi != NULL && answers != NULL && range_as_long(n, (size_t)PyList_Size(hi))) {
    size_t i = 0;
    for (; i < n; i++) {
      int maybe =
          range_check(self, PyList_GetItem(lo, (Py_ssize_t)i), PyList_GetItem(hi, (Py_ssize_t)i));
      if (maybe < 0) break;
      answers[i] = (uint8_t)maybe;
    }
    bool list = PyList_Check(los) || PyTuple_Check(los);
    if (i == n) made = py_answers(answers, n, !list && PyObject_HasAttrString(los, "dtype"));
  }
  PyMem_Free(answers);
  Py_XDECREF(lo);
  Py_XDECREF(hi);
  return made;
}

PyObject *py_check_ranges(PyObject *object, PyObject *args) {
  py_filter *self = (py_filter *)object;
  PyObject *los, *his, *made = NULL;
  if (!PyArg_ParseTuple(args, "OO", &los, &his) || !range_has_order(&self->typing)) return NULL;
  if (!self->typing.ordered) return range_check_each(self, los, his);
  py_typing typing = self->typing;
  uint64_t *lo = NULL, *hi = NULL;
  size_t nlo = 0, nhi = 0;
  bool array = false, other;
  if (range_numbers(&typing, los, &lo, &nlo, &array) &&
      range_numbers(&typing, his, &hi, &nhi, &other) && range_as_long(nlo, nhi)) {
    made = range_check_numbers(self, lo, hi, nlo, array);
  }
  free(lo);
  free(hi);
  return made;
}
