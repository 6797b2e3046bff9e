/* filter.c - libnay.Filter. */
#include "binding.h"

#include <math.h>
#include <structmember.h>

/* ---- making ---- */

static PyObject *filter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *const positional[] = {"nkeys", "fpr", NULL};
  py_params params;
  nay_filter *filter = NULL;
  nay_diag diag = {0};
  PyObject *made = NULL;
  if (py_params_read(args, 0, positional, kwargs, NAY_AUTO, &params)) {
    nay_status status = params.format != NULL
                            ? nay_format_new(params.format, &params.params, NULL, &diag, &filter)
                            : nay_filter_new(&params.params, NULL, &diag, &filter);
    if (status == NAY_ENOTSUP) {
      diag.what = "this kind is built from all of its keys: use Filter.build(keys, ...)";
    }
    if (status != NAY_OK) {
      py_raise(status, &diag, NULL);
    } else if (py_params_state_key(&params, filter)) {
      made = py_filter_wrap(type, filter);
    }
  }
  py_params_done(&params);
  return made;
}

/* The number of rows, as far as it is known before they are read: for the choice of a static kind.
 */
static bool filter_choose_static(py_params *params, PyObject *keys) {
  if (params->params.kind != NAY_AUTO_STATIC) return true;
  nay_params wanted = params->params;
  if (wanted.nkeys == 0) {
    Py_ssize_t n = PyObject_Size(keys);
    if (n < 0) {
      PyErr_Clear();
      PyErr_SetString(PyExc_ValueError,
                      "kind='static' needs nkeys where keys have no len(): or name a kind");
      return false;
    }
    wanted.nkeys = (uint64_t)n;
  }
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {0};
  if (wanted.nkeys == 0) wanted.nkeys = 1;
  nay_status status = nay_params_plan(&wanted, &diag, &plan);
  if (status != NAY_OK) py_raise(status, &diag, NULL);
  params->params.kind = plan.kind;
  return status == NAY_OK;
}

static PyObject *filter_finish(PyTypeObject *type, const py_params *params, nay_builder *builder) {
  nay_filter *filter = NULL;
  nay_diag diag = {0};
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_builder_finish(builder, &diag, &filter);
  PyEval_RestoreThread(state);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  return py_params_state_key(params, filter) ? py_filter_wrap(type, filter) : NULL;
}

/* How the keys of a range filter end in numbers, as the command chooses it: keys that are numbers
 * are ordered ones, and texts end in decimal digits. */
static bool filter_range_form(py_params *params, py_typing *typing) {
  if (params->key == NULL) {
    PyErr_NoMemory();
    return false;
  }
  if (py_typing_order(params->key) == NULL) {
    PyErr_SetString(PyExc_ValueError, "the description of the keys is too long");
    return false;
  }
  py_typing_set(typing, params->key);
  bool named = params->range_keys;
  if (typing->ordered && (named || params->params.range_delimiter != 0)) {
    PyErr_SetString(PyExc_ValueError,
                    "range_keys and range_delimiter are for keys of bytes: these have a type");
    return false;
  }
  if (typing->ordered || named || typing->status != NAY_OK) return true;
  if (typing->type != NAY_KEY_TEXT) {
    PyErr_Format(PyExc_ValueError,
                 "a range filter of keys of type %s needs range_keys: how they end in a number",
                 typing->name);
    return false;
  }
  params->params.range_keys = NAY_RANGE_DECIMAL;
  return true;
}

static PyObject *filter_build_from(PyTypeObject *type, py_params *params, PyObject *keys,
                                   py_source *source) {
  py_typing typing;
  const char *key = params->key != NULL ? params->key : py_source_key_type(source);
  if (key == NULL) key = "text"; /* py_key_of then says why this is no key */
  py_typing_set(&typing, key);
  if (params->key == NULL && (params->key = PyMem_Malloc(sizeof typing.name)) != NULL) {
    memcpy(params->key, typing.name, sizeof typing.name);
  }
  if (params->params.kind == NAY_RANGE && !filter_range_form(params, &typing)) return NULL;
  source->skip_nulls = params->skip_nulls;
  source->advice = "skip_nulls=True leaves it out";
  if (!filter_choose_static(params, keys) || !py_source_use(source, &typing)) return NULL;
  nay_builder *builder = NULL;
  nay_diag diag = {0};
  nay_status status =
      params->format != NULL
          ? nay_format_builder_new(params->format, &params->params, NULL, &diag, &builder)
          : nay_builder_new(&params->params, NULL, &diag, &builder);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  py_batch batch = {.apply = py_apply_build, .builder = builder};
  PyObject *made = py_batch_run(&batch, source) ? filter_finish(type, params, builder) : NULL;
  nay_builder_free(builder);
  return made;
}

static PyObject *filter_build(PyObject *type, PyObject *args, PyObject *kwargs) {
  static const char *const positional[] = {"fpr", NULL};
  if (PyTuple_Size(args) < 1) {
    PyErr_SetString(PyExc_TypeError, "build() needs the keys");
    return NULL;
  }
  PyObject *keys = PyTuple_GetItem(args, 0), *made = NULL;
  py_params params;
  py_source source;
  if (py_params_read(args, 1, positional, kwargs, NAY_AUTO, &params) &&
      py_source_open(&source, keys)) {
    made = filter_build_from((PyTypeObject *)type, &params, keys, &source);
    py_source_close(&source);
  }
  py_params_done(&params);
  return made;
}

static PyObject *filter_empty(PyObject *object, PyObject *unused) {
  (void)unused;
  py_filter *self = (py_filter *)object;
  if (!py_wait(self, false)) return NULL;
  nay_params params = {.size = sizeof params};
  nay_filter *twin = NULL;
  nay_diag diag = {0};
  nay_status status = nay_filter_params(self->filter, &params);
  if (status == NAY_OK) status = nay_filter_new(&params, NULL, &diag, &twin);
  if (status == NAY_OK) status = nay_filter_set_key(twin, nay_filter_key(self->filter));
  memset(&params, 0, sizeof params);
  if (status == NAY_OK) return py_filter_wrap(Py_TYPE(object), twin);
  nay_filter_free(twin);
  return py_raise(status, &diag, NULL);
}

/* ---- one key ---- */

/* What a call does with a key, the GIL held. */
typedef nay_status filter_call(nay_filter *filter, const void *key, size_t len, uint64_t *result);

static bool filter_one(PyObject *object, PyObject *value, bool change, filter_call *call,
                       nay_status *status, uint64_t *result) {
  py_filter *self = (py_filter *)object;
  py_key key;
  if (!py_key_of(&self->typing, value, &key)) return false;
  bool waited = py_wait(self, change);
  if (waited) *status = call(self->filter, key.bytes, key.len, result);
  py_key_done(&key);
  return waited;
}

static nay_status filter_call_add(nay_filter *f, const void *key, size_t len, uint64_t *result) {
  bool is_new = false;
  nay_status status = nay_filter_add(f, key, len, &is_new);
  *result = is_new;
  return status;
}

static nay_status filter_call_remove(nay_filter *f, const void *key, size_t len, uint64_t *result) {
  (void)result;
  return nay_filter_remove(f, key, len);
}

static nay_status filter_call_count(nay_filter *f, const void *key, size_t len, uint64_t *result) {
  return nay_filter_count(f, key, len, result);
}

static nay_status filter_call_hash(nay_filter *f, const void *key, size_t len, uint64_t *result) {
  nay_hasher hasher = {.size = sizeof hasher};
  nay_hash hash = {0, 0};
  nay_status status = nay_filter_hasher(f, &hasher);
  if (status == NAY_OK) status = nay_hasher_hash(&hasher, key, len, &hash);
  *result = hash.lo;
  return status;
}

/* Raises with what the library's status does not say: what to do instead. */
static PyObject *filter_refused(PyObject *object, nay_status status) {
  nay_diag diag = {0};
  uint32_t can = nay_kind_traits(nay_filter_kind(((py_filter *)object)->filter));
  if (status == NAY_ENOTSUP && (can & NAY_CAN_ADD) == 0) {
    diag.what = "a static filter does not change: build it again, or take a kind such as blocked";
  } else if (status == NAY_ENOTSUP) {
    diag.what =
        "read-only, as when it is mapped (copy() is not), or of a kind that cannot do it "
        "(counting and cuckoo remove and count)";
  }
  return py_raise(status, &diag, NULL);
}

static PyObject *filter_add(PyObject *object, PyObject *value) {
  nay_status status;
  uint64_t is_new;
  if (!filter_one(object, value, true, filter_call_add, &status, &is_new)) return NULL;
  if (status != NAY_OK) return filter_refused(object, status);
  return PyBool_FromLong(is_new != 0);
}

static PyObject *filter_remove(PyObject *object, PyObject *value) {
  nay_status status;
  if (!filter_one(object, value, true, filter_call_remove, &status, NULL)) return NULL;
  if (status == NAY_OK) Py_RETURN_NONE;
  if (status != NAY_ENOENT) return filter_refused(object, status);
  PyErr_SetObject(PyExc_KeyError, value);
  return NULL;
}

static PyObject *filter_discard(PyObject *object, PyObject *value) {
  nay_status status;
  if (!filter_one(object, value, true, filter_call_remove, &status, NULL)) return NULL;
  if (status != NAY_OK && status != NAY_ENOENT) return filter_refused(object, status);
  return PyBool_FromLong(status == NAY_OK);
}

static PyObject *filter_count(PyObject *object, PyObject *value) {
  nay_status status;
  uint64_t count = 0;
  if (!filter_one(object, value, false, filter_call_count, &status, &count)) return NULL;
  if (status != NAY_OK && status != NAY_ENOENT) return filter_refused(object, status);
  return PyLong_FromUnsignedLongLong(count);
}

static PyObject *filter_hash(PyObject *object, PyObject *value) {
  nay_status status;
  uint64_t hash;
  if (!filter_one(object, value, false, filter_call_hash, &status, &hash)) return NULL;
  if (status != NAY_OK) return py_raise(status, NULL, NULL);
  return PyLong_FromUnsignedLongLong(hash);
}

static bool filter_hash_arg(PyObject *value, nay_hash *hash) {
  *hash = (nay_hash){0, 0};
  if (!PyLong_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "a hash is an int, as hash() returns it");
    return false;
  }
  hash->lo = PyLong_AsUnsignedLongLong(value);
  return PyErr_Occurred() == NULL;
}

static PyObject *filter_add_hash(PyObject *object, PyObject *value) {
  nay_hash hash;
  bool is_new;
  if (!filter_hash_arg(value, &hash) || !py_wait((py_filter *)object, true)) return NULL;
  nay_status status = nay_filter_add_hash(((py_filter *)object)->filter, hash, &is_new);
  return status == NAY_OK ? PyBool_FromLong(is_new) : filter_refused(object, status);
}

static PyObject *filter_check_hash(PyObject *object, PyObject *value) {
  nay_hash hash;
  if (!filter_hash_arg(value, &hash) || !py_wait((py_filter *)object, false)) return NULL;
  return PyBool_FromLong(nay_filter_may_contain_hash(((py_filter *)object)->filter, hash));
}

/* ---- batches ---- */

static PyObject *filter_add_batch(PyObject *object, PyObject *keys, int skip_nulls, bool wants) {
  py_filter *self = (py_filter *)object;
  py_batch batch = {.apply = py_apply_add, .self = self, .change = true, .wants = wants};
  py_source source;
  PyObject *made = NULL;
  if (!py_source_open(&source, keys)) return NULL;
  source.skip_nulls = skip_nulls != 0;
  source.advice = "skip_nulls=True leaves it out";
  if (py_source_use(&source, &self->typing) && py_batch_run(&batch, &source)) {
    made = wants ? py_answers(batch.answers, batch.nanswers, source.array) : Py_NewRef(Py_None);
  }
  free(batch.answers);
  py_source_close(&source);
  return made;
}

static PyObject *filter_add_many(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "skip_nulls", NULL};
  PyObject *keys;
  int skip = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p", names, &keys, &skip)) return NULL;
  return filter_add_batch(object, keys, skip, true);
}

/* As set.update: any number of iterables. */
static PyObject *filter_update(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"skip_nulls", NULL};
  int skip = 0;
  PyObject *none = PyTuple_New(0);
  bool ok = none != NULL && PyArg_ParseTupleAndKeywords(none, kwargs, "|$p", names, &skip);
  Py_XDECREF(none);
  if (!ok) return NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
    PyObject *done = filter_add_batch(object, PyTuple_GetItem(args, i), skip, false);
    if (done == NULL) return NULL;
    Py_DECREF(done);
  }
  Py_RETURN_NONE;
}

static PyObject *filter_hashes(PyObject *object, PyObject *hashes, bool add) {
  py_filter *self = (py_filter *)object;
  uint64_t *lo;
  size_t n;
  if (!py_u64s(hashes, &lo, &n)) return NULL;
  uint64_t *bitmap = PyMem_Malloc(NAY_BITMAP_WORDS(n) * sizeof *bitmap + 8);
  uint8_t *answers = PyMem_Malloc(n + 1);
  PyObject *made = NULL;
  nay_status status = NAY_ENOMEM;
  size_t taken = 0;
  bool entered = bitmap != NULL && answers != NULL && py_enter(self, add);
  if (entered) {
    PyThreadState *state = PyEval_SaveThread();
    status = add ? nay_filter_add_hash_many(self->filter, lo, NULL, n, bitmap, &taken)
                 : nay_filter_may_contain_hash_many(self->filter, lo, NULL, n, bitmap);
    for (size_t i = 0; status == NAY_OK && i < n; i++) answers[i] = nay_bitmap_get(bitmap, i);
    PyEval_RestoreThread(state);
    py_leave(self, add);
  }
  if (!entered) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
  } else if (status == NAY_OK) {
    made = py_answers(answers, n, !PyList_Check(hashes) && !PyTuple_Check(hashes));
  } else {
    filter_refused(object, status);
    if (add) py_error_attribute("taken", taken);
  }
  PyMem_Free(bitmap);
  PyMem_Free(answers);
  PyMem_Free(lo);
  return made;
}

/* The hashes of a batch, the rows that are null left out; or with `masked` 0 for them, and which
 * are not. */
static PyObject *filter_hash_many(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "skip_nulls", "masked", NULL};
  py_filter *self = (py_filter *)object;
  PyObject *keys, *made = NULL;
  int skip = 0, masked = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pp", names, &keys, &skip, &masked))
    return NULL;
  py_batch batch = {.apply = py_apply_hash, .self = self, .wants = true};
  py_source source;
  if (!py_source_open(&source, keys)) return NULL;
  source.skip_nulls = skip != 0 || masked != 0;
  source.advice = "skip_nulls=True leaves it out";
  if (py_source_use(&source, &self->typing) && py_batch_run(&batch, &source)) {
    size_t n = 0;
    for (size_t i = 0; !masked && i < batch.nvalues; i++) {
      if (batch.answers[i]) batch.values[n++] = batch.values[i];
    }
    made = py_array_of(batch.values, (masked ? batch.nvalues : n) * 8, "uint64", "Q");
    PyObject *present =
        made != NULL && masked ? py_answers(batch.answers, batch.nanswers, true) : NULL;
    if (masked) {
      PyObject *both = present != NULL ? PyTuple_Pack(2, made, present) : NULL;
      Py_XDECREF(made);
      Py_XDECREF(present);
      made = both;
    }
  }
  free(batch.answers);
  free(batch.values);
  py_source_close(&source);
  return made;
}

static PyObject *filter_build_hashes(PyObject *type, PyObject *args, PyObject *kwargs) {
  static const char *const positional[] = {"fpr", NULL};
  if (PyTuple_Size(args) < 1) {
    PyErr_SetString(PyExc_TypeError, "build_hashes() needs the hashes");
    return NULL;
  }
  py_params params;
  uint64_t *hashes = NULL;
  size_t n;
  PyObject *made = NULL;
  if (py_params_read(args, 1, positional, kwargs, NAY_AUTO, &params) &&
      filter_choose_static(&params, PyTuple_GetItem(args, 0)) &&
      py_u64s(PyTuple_GetItem(args, 0), &hashes, &n)) {
    nay_filter *filter = NULL;
    nay_diag diag = {0};
    nay_status status = NAY_EINVAL;
    diag.what = "layouts of other systems are built from keys";
    if (params.format == NULL) {
      PyThreadState *state = PyEval_SaveThread();
      status = nay_filter_build(&params.params, hashes, n, NULL, &diag, &filter);
      PyEval_RestoreThread(state);
    }
    if (status != NAY_OK) {
      py_raise(status, &diag, NULL);
    } else if (py_params_state_key(&params, filter)) {
      made = py_filter_wrap((PyTypeObject *)type, filter);
    }
  }
  PyMem_Free(hashes);
  py_params_done(&params);
  return made;
}

static PyObject *filter_add_hashes(PyObject *object, PyObject *hashes) {
  return filter_hashes(object, hashes, true);
}

static PyObject *filter_check_hashes(PyObject *object, PyObject *hashes) {
  return filter_hashes(object, hashes, false);
}

/* ---- algebra ---- */

static bool filter_is(PyObject *object) {
  int is = PyObject_IsInstance(object, (PyObject *)py_state.filter_type);
  if (is < 0) PyErr_Clear();
  return is == 1;
}

typedef enum filter_verb { FILTER_MERGE, FILTER_INTERSECT, FILTER_OVERLAP } filter_verb;

/* dst and src are two objects. */
static bool filter_combine(filter_verb verb, py_filter *dst, py_filter *src, double max_fpr,
                           nay_overlap *overlap) {
  nay_diag diag = {0};
  bool change = verb != FILTER_OVERLAP;
  for (;;) { /* no thread waits for one filter while it holds another: that could deadlock */
    if (!py_enter(dst, change)) return false;
    if (py_is_idle(src)) break;
    py_leave(dst, change);
    if (!py_wait(src, false)) return false;
  }
  if (!py_enter(src, false)) { /* closed */
    py_leave(dst, change);
    return false;
  }
  PyThreadState *state = PyEval_SaveThread();
  nay_status status =
      verb == FILTER_MERGE       ? nay_filter_merge(dst->filter, src->filter, max_fpr, &diag)
      : verb == FILTER_INTERSECT ? nay_filter_intersect(dst->filter, src->filter, &diag)
                                 : nay_filter_overlap(dst->filter, src->filter, &diag, overlap);
  PyEval_RestoreThread(state);
  py_leave(src, false);
  py_leave(dst, change);
  if (status != NAY_OK) py_raise(status, &diag, NULL);
  return status == NAY_OK;
}

static PyObject *filter_into(PyObject *dst, PyObject *src, filter_verb verb) {
  if (!filter_is(dst) || !filter_is(src)) return Py_NewRef(Py_NotImplemented);
  if (dst == src) return Py_NewRef(dst); /* with itself: nothing changes */
  bool ok = filter_combine(verb, (py_filter *)dst, (py_filter *)src, 1.0, NULL);
  return ok ? Py_NewRef(dst) : NULL;
}

static PyObject *filter_of_both(PyObject *a, PyObject *b, filter_verb verb) {
  if (!filter_is(a) || !filter_is(b)) return Py_NewRef(Py_NotImplemented);
  PyObject *copy = py_handle_copy(a, NULL);
  PyObject *made = copy != NULL ? filter_into(copy, b, verb) : NULL;
  Py_XDECREF(copy);
  return made;
}

static PyObject *filter_or(PyObject *a, PyObject *b) { return filter_of_both(a, b, FILTER_MERGE); }
static PyObject *filter_and(PyObject *a, PyObject *b) {
  return filter_of_both(a, b, FILTER_INTERSECT);
}
static PyObject *filter_ior(PyObject *a, PyObject *b) { return filter_into(a, b, FILTER_MERGE); }
static PyObject *filter_iand(PyObject *a, PyObject *b) {
  return filter_into(a, b, FILTER_INTERSECT);
}

static bool filter_other(PyObject *other) {
  if (filter_is(other)) return true;
  PyErr_SetString(PyExc_TypeError, "the other one is no Filter");
  return false;
}

static PyObject *filter_merge(PyObject *object, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "max_fpr", NULL};
  PyObject *other;
  double max_fpr = 1.0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$d", names, &other, &max_fpr)) return NULL;
  if (!filter_other(other)) return NULL;
  if (other == object) Py_RETURN_NONE;
  if (!filter_combine(FILTER_MERGE, (py_filter *)object, (py_filter *)other, max_fpr, NULL)) {
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject *filter_overlap(PyObject *object, PyObject *other) {
  nay_overlap overlap = {.size = sizeof overlap};
  if (!filter_other(other)) return NULL;
  PyObject *copy = other == object ? py_handle_copy(other, NULL) : Py_NewRef(other);
  bool ok = copy != NULL &&
            filter_combine(FILTER_OVERLAP, (py_filter *)object, (py_filter *)copy, 1.0, &overlap);
  Py_XDECREF(copy);
  return ok ? py_overlap_make(&overlap) : NULL;
}

static PyObject *filter_fold(PyObject *object, PyObject *factor) {
  py_filter *self = (py_filter *)object;
  unsigned long long by = PyLong_AsUnsignedLongLong(factor);
  nay_diag diag = {0};
  if (PyErr_Occurred() || !py_enter(self, true)) return NULL;
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_filter_fold(self->filter, by, &diag);
  PyEval_RestoreThread(state);
  py_leave(self, true);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  Py_RETURN_NONE;
}

static PyObject *filter_shrink(PyObject *object, PyObject *nbytes) {
  py_filter *self = (py_filter *)object;
  unsigned long long most = PyLong_AsUnsignedLongLong(nbytes);
  nay_diag diag = {0};
  if (PyErr_Occurred() || !py_enter(self, true)) return NULL;
  PyThreadState *state = PyEval_SaveThread();
  nay_status status = nay_filter_shrink(self->filter, most, &diag);
  PyEval_RestoreThread(state);
  py_leave(self, true);
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  Py_RETURN_NONE;
}

static PyObject *filter_clear(PyObject *object, PyObject *unused) {
  (void)unused;
  if (!py_wait((py_filter *)object, true)) return NULL;
  nay_status status = nay_filter_clear(((py_filter *)object)->filter);
  if (status != NAY_OK) return filter_refused(object, status);
  Py_RETURN_NONE;
}

static PyObject *filter_advance(PyObject *object, PyObject *now) {
  unsigned long long ticks = PyLong_AsUnsignedLongLong(now);
  if (PyErr_Occurred() || !py_wait((py_filter *)object, true)) return NULL;
  nay_status status = nay_filter_advance(((py_filter *)object)->filter, ticks);
  nay_diag diag = {0};
  if (status == NAY_EINVAL) diag.what = "time never goes back";
  if (status == NAY_ENOTSUP) diag.what = "only a window with window=TICKS has a clock";
  if (status != NAY_OK) return py_raise(status, &diag, NULL);
  Py_RETURN_NONE;
}

/* ---- facts ---- */

static Py_ssize_t filter_len(PyObject *object) {
  nay_stats stats;
  if (!py_handle_stats_read((py_filter *)object, &stats)) return -1;
  double n = stats.nkeys_estimated;
  if (isnan(n)) {
    PyErr_SetString(PyExc_ValueError, "an intersection does not know how many keys it has");
    return -1;
  }
  return n < 9e18 ? (Py_ssize_t)(n + 0.5) : PY_SSIZE_T_MAX;
}

static int filter_bool(PyObject *object) {
  nay_stats stats;
  if (!py_handle_stats_read((py_filter *)object, &stats)) return -1;
  return stats.nbits_set != 0 || stats.nkeys_estimated >= 0.5;
}

static PyObject *filter_repr(PyObject *object) {
  py_filter *self = (py_filter *)object;
  if (self->filter == NULL) return PyUnicode_FromString("<libnay.Filter, closed>");
  if (!py_wait(self, false)) return NULL;
  const char *kind = nay_kind_name(nay_filter_kind(self->filter));
  return PyUnicode_FromFormat("<libnay.Filter %s, keys are %s, %zu bytes>",
                              kind != NULL && strcmp(kind, "auto") != 0
                                  ? kind
                                  : nay_format_name(nay_filter_format(self->filter)),
                              nay_filter_key(self->filter), nay_filter_nbytes(self->filter));
}

static PyObject *filter_explain(PyObject *object, PyObject *key) {
  return py_explain((py_filter *)object, key);
}

#include "filter_doc.h"

#define FILTER_CLASS_METHOD (METH_CLASS | METH_VARARGS | METH_KEYWORDS)

static PyMethodDef filter_methods[] = {
    {"build", PY_METHOD(filter_build), FILTER_CLASS_METHOD, filter_build_doc},
    {"build_hashes", PY_METHOD(filter_build_hashes), FILTER_CLASS_METHOD, filter_build_hashes_doc},
    {"open", py_handle_open, METH_CLASS | METH_O, handle_open_doc},
    {"mmap", PY_METHOD(py_handle_mmap), FILTER_CLASS_METHOD, handle_mmap_doc},
    {"decode", PY_METHOD(py_handle_decode), FILTER_CLASS_METHOD, handle_decode_doc},
    {"empty", filter_empty, METH_NOARGS, filter_empty_doc},
    {"add", filter_add, METH_O, filter_add_doc},
    {"add_many", PY_METHOD(filter_add_many), METH_VARARGS | METH_KEYWORDS, filter_add_many_doc},
    {"update", PY_METHOD(filter_update), METH_VARARGS | METH_KEYWORDS, filter_update_doc},
    {"check_many", PY_METHOD(py_handle_check_many), METH_VARARGS | METH_KEYWORDS,
     handle_check_many_doc},
    {"remove", filter_remove, METH_O, filter_remove_doc},
    {"discard", filter_discard, METH_O, filter_discard_doc},
    {"count", filter_count, METH_O, filter_count_doc},
    {"hash", filter_hash, METH_O, filter_hash_doc},
    {"hash_many", PY_METHOD(filter_hash_many), METH_VARARGS | METH_KEYWORDS, filter_hash_many_doc},
    {"add_hash", filter_add_hash, METH_O, filter_add_hash_doc},
    {"check_hash", filter_check_hash, METH_O, filter_check_hash_doc},
    {"add_hashes", filter_add_hashes, METH_O, filter_add_hashes_doc},
    {"check_hashes", filter_check_hashes, METH_O, filter_check_hashes_doc},
    {"merge", PY_METHOD(filter_merge), METH_VARARGS | METH_KEYWORDS, filter_merge_doc},
    {"overlap", filter_overlap, METH_O, filter_overlap_doc},
    {"fold", filter_fold, METH_O, filter_fold_doc},
    {"shrink", filter_shrink, METH_O, filter_shrink_doc},
    {"check_range", py_check_range, METH_VARARGS, filter_check_range_doc},
    {"check_ranges", py_check_ranges, METH_VARARGS, filter_check_ranges_doc},
    {"clear", filter_clear, METH_NOARGS, filter_clear_doc},
    {"advance", filter_advance, METH_O, filter_advance_doc},
    {"copy", py_handle_copy, METH_NOARGS, handle_copy_doc},
    {"__copy__", py_handle_copy, METH_NOARGS, NULL},
    {"__deepcopy__", py_handle_copy, METH_O, NULL},
    {"save", py_handle_save, METH_O, handle_save_doc},
    {"encode", py_handle_encode, METH_NOARGS, handle_encode_doc},
    {"__bytes__", py_handle_encode, METH_NOARGS, NULL},
    {"stats", py_handle_stats, METH_NOARGS, filter_stats_doc},
    {"explain", filter_explain, METH_O, filter_explain_doc},
    {"unlock", py_handle_unlock, METH_O, handle_unlock_doc},
    {"close", py_handle_close, METH_NOARGS, handle_close_doc},
    {"__enter__", py_handle_enter, METH_NOARGS, NULL},
    {"__exit__", py_handle_close, METH_VARARGS, NULL},
    {"__reduce_ex__", py_handle_reduce, METH_O, NULL},
    {"__sizeof__", py_handle_sizeof, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

#define FILTER_PROPERTY(name, what, doc) \
  { name, py_handle_property, NULL, doc, (void *)(intptr_t)(what) }

static PyGetSetDef filter_properties[] = {
    FILTER_PROPERTY("kind", PY_KIND,
                    "Name of the kind, as \"blocked\"; None in another system's layout."),
    FILTER_PROPERTY("format", PY_FORMAT, "Layout of its bytes: \"nay\", or another system's."),
    FILTER_PROPERTY("caveat", PY_CAVEAT,
                    "What a user of this filter must know about its answers, or None."),
    {"key", py_handle_property, py_handle_set_key, handle_key_doc, (void *)(intptr_t)PY_KEY},
    {"meta", py_handle_property, py_handle_set_meta, handle_meta_doc, (void *)(intptr_t)PY_META},
    FILTER_PROPERTY("nbytes", PY_NBYTES, "Memory that the filter holds, in bytes."),
    FILTER_PROPERTY("closed", PY_CLOSED, "Whether close() was called."),
    FILTER_PROPERTY("locked", PY_LOCKED, "Whether unlock() must be called first."),
    FILTER_PROPERTY("damaged", PY_DAMAGED, "Whether a lazily mapped file has met damaged bytes."),
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef filter_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_filter, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot filter_slots[] = {{Py_tp_doc, (void *)(uintptr_t)filter_doc},
                                     {Py_tp_new, filter_new},
                                     {Py_tp_dealloc, py_handle_dealloc},
                                     {Py_tp_repr, filter_repr},
                                     {Py_tp_methods, filter_methods},
                                     {Py_tp_getset, filter_properties},
                                     {Py_tp_members, filter_members},
                                     {Py_sq_contains, py_handle_contains},
                                     {Py_sq_length, filter_len},
                                     {Py_nb_bool, filter_bool},
                                     {Py_nb_or, filter_or},
                                     {Py_nb_and, filter_and},
                                     {Py_nb_inplace_or, filter_ior},
                                     {Py_nb_inplace_and, filter_iand},
                                     {0, NULL}};

static PyType_Spec filter_spec = {"libnay.Filter", sizeof(py_filter), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, filter_slots};

bool py_filter_init(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &filter_spec, NULL);
  if (type == NULL || PyModule_AddObjectRef(module, "Filter", type) != 0) return false;
  py_state.filter_type = (PyTypeObject *)type;
  return true;
}
