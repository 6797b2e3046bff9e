/* params.c - keyword arguments as nay_params, and plans. */
#include "binding.h"

typedef enum params_type {
  PARAMS_U64,
  PARAMS_U32,
  PARAMS_DOUBLE,
  PARAMS_FLAG,
  PARAMS_KIND,
  PARAMS_HASH,
  PARAMS_SECRET,
  PARAMS_KEY,
  PARAMS_FORMAT,
  PARAMS_RANGE_KEYS,
  PARAMS_BYTE,
  PARAMS_NULLS
} params_type;

#define PARAMS_FIELD(name, type) \
  { #name, type, offsetof(nay_params, name), 0 }

static const struct params_field {
  const char *name;
  params_type type;
  size_t offset;
  uint32_t flag;
} params_fields[] = {
    PARAMS_FIELD(nkeys, PARAMS_U64),
    PARAMS_FIELD(fpr, PARAMS_DOUBLE),
    PARAMS_FIELD(kind, PARAMS_KIND),
    {"key", PARAMS_KEY, 0, 0},
    {"format", PARAMS_FORMAT, 0, 0},
    PARAMS_FIELD(bits_per_key, PARAMS_DOUBLE),
    PARAMS_FIELD(nbytes, PARAMS_U64),
    PARAMS_FIELD(nbits, PARAMS_U64),
    PARAMS_FIELD(k, PARAMS_U32),
    PARAMS_FIELD(fold, PARAMS_U64),
    PARAMS_FIELD(hash, PARAMS_HASH),
    PARAMS_FIELD(seed, PARAMS_U64),
    {"secret", PARAMS_SECRET, 0, 0},
    {"store_secret", PARAMS_FLAG, 0, NAY_STORE_KEY},
    {"unique", PARAMS_FLAG, 0, NAY_UNIQUE},
    {"low_memory", PARAMS_FLAG, 0, NAY_LOW_MEMORY},
    PARAMS_FIELD(tag_bits, PARAMS_U32),
    PARAMS_FIELD(generations, PARAMS_U32),
    PARAMS_FIELD(window, PARAMS_U64),
    PARAMS_FIELD(max_nkeys, PARAMS_U64),
    PARAMS_FIELD(max_nbytes, PARAMS_U64),
    PARAMS_FIELD(threads, PARAMS_U32),
    PARAMS_FIELD(value_bits, PARAMS_U32),
    PARAMS_FIELD(check_bits, PARAMS_U32),
    PARAMS_FIELD(range_length, PARAMS_U64),
    PARAMS_FIELD(range_keys, PARAMS_RANGE_KEYS),
    PARAMS_FIELD(range_delimiter, PARAMS_BYTE),
    {"skip_nulls", PARAMS_NULLS, 0, 0},
};

static bool params_u64(PyObject *value, uint64_t most, uint64_t *x) {
  double number = PyFloat_Check(value) ? PyFloat_AsDouble(value) : 0.5;
  if (number >= 0 && number <= 9007199254740992.0 && number == (double)(uint64_t)number) {
    *x = (uint64_t)number; /* 1e6 */
  } else {
    PyObject *index = PyNumber_Index(value);
    *x = index != NULL ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    if (PyErr_Occurred()) return false;
  }
  if (*x <= most) return true;
  PyErr_SetString(PyExc_ValueError, "out of range");
  return false;
}

static bool params_hash(const char *name, nay_hash_kind *hash) {
  const nay_hash_kind all[] = {NAY_HASH_XXH3, NAY_HASH_SIPHASH, NAY_HASH_CALLER};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(nay_hash_name(all[i]), name) != 0) continue;
    *hash = all[i];
    return true;
  }
  PyErr_Format(PyExc_ValueError, "no hash '%s': there are xxh3, siphash13 and caller", name);
  return false;
}

static bool params_range_keys(const char *name, py_params *out) {
  static const char *const names[] = {"be8", "be4", "decimal"}; /* nay_range_keys */
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) != 0) continue;
    out->params.range_keys = (uint32_t)i;
    out->range_keys = true;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "range_keys '%s': there are be8, be4 and decimal", name);
  return false;
}

/* One byte, as b":" or ":". */
static bool params_byte(const char *name, PyObject *value, uint32_t *byte) {
  Py_buffer view;
  Py_ssize_t len = 0;
  const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &len) : NULL;
  if (PyUnicode_Check(value) && text == NULL) return false;
  if (text != NULL) {
    *byte = (uint8_t)*text;
  } else {
    if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) return false;
    len = view.len;
    *byte = len > 0 ? *(const uint8_t *)view.buf : 0;
    PyBuffer_Release(&view);
  }
  if (len == 1 && *byte != 0) return true;
  PyErr_Format(PyExc_ValueError, "'%s' is one byte, and not 0", name);
  return false;
}

static bool params_secret(PyObject *value, uint8_t key[16]) {
  Py_buffer view;
  if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) return false;
  bool ok = view.len == 16;
  if (ok) memcpy(key, view.buf, 16);
  PyBuffer_Release(&view);
  if (!ok) PyErr_SetString(PyExc_ValueError, "a secret has 16 bytes");
  return ok;
}

bool py_is_c_string(const char *name, const char *text, Py_ssize_t len) {
  if (strlen(text) == (size_t)len) return true;
  PyErr_Format(PyExc_ValueError, "'%s' contains a zero byte", name);
  return false;
}

const nay_format *py_format_find(const char *name) {
  const nay_format *format = nay_format_find(name);
  if (format == NULL) PyErr_Format(PyExc_ValueError, "no format '%s'", name);
  return format;
}

static bool params_text(const struct params_field *field, PyObject *value, py_params *out) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "'%s' is a str", field->name);
    return false;
  }
  Py_ssize_t len;
  const char *text = PyUnicode_AsUTF8AndSize(value, &len);
  if (text == NULL || !py_is_c_string(field->name, text, len)) return false;
  if (field->type == PARAMS_HASH) return params_hash(text, &out->params.hash);
  if (field->type == PARAMS_FORMAT) return (out->format = py_format_find(text)) != NULL;
  if (field->type == PARAMS_RANGE_KEYS) return params_range_keys(text, out);
  if (field->type == PARAMS_KIND) {
    if (nay_kind_parse(text, &out->params.kind) == NAY_OK) return true;
    if (strcmp(text, "static") == 0) {
      out->params.kind = NAY_AUTO_STATIC;
      return true;
    }
    PyErr_Format(PyExc_ValueError, "no kind '%s'", text);
    return false;
  }
  if (!py_key_is_type(text)) return false;
  char canonical[NAY_KEY_DESCRIPTION_MAX + 1];
  nay_diag diag;
  nay_status status = nay_key_description_canonical(text, (size_t)len, &diag, canonical);
  nay_key_description how = {.size = sizeof how};
  if (status == NAY_OK) status = nay_key_description_parse(canonical, &diag, &how);
  if (status != NAY_OK) {
    PyErr_Format(PyExc_ValueError, "key type '%s': %s", text, diag.what);
    return false;
  }
  PyMem_Free(out->key);
  out->key = PyMem_Malloc(sizeof canonical);
  if (out->key == NULL) {
    PyErr_NoMemory();
    return false;
  }
  memcpy(out->key, canonical, sizeof canonical);
  return true;
}

static bool params_set(const struct params_field *field, PyObject *value, py_params *out) {
  char *at = (char *)&out->params + field->offset;
  uint64_t number = 0;
  int truth;
  if (value == Py_None) return true; /* as if it was not given */
  switch (field->type) {
    case PARAMS_U64: return params_u64(value, UINT64_MAX, (uint64_t *)(void *)at);
    case PARAMS_U32:
      if (!params_u64(value, UINT32_MAX, &number)) return false;
      *(uint32_t *)(void *)at = (uint32_t)number;
      return true;
    case PARAMS_DOUBLE: {
      double x = PyFloat_AsDouble(value);
      if (x == -1 && PyErr_Occurred()) return false;
      *(double *)(void *)at = x;
      if (x > 0) return true;
      PyErr_Format(PyExc_ValueError, "'%s' must be above 0", field->name); /* 0: not given */
      return false;
    }
    case PARAMS_FLAG:
    case PARAMS_NULLS:
      truth = PyObject_IsTrue(value);
      if (truth < 0) return false;
      if (field->type == PARAMS_NULLS) {
        out->skip_nulls = truth == 1;
      } else if (truth == 1) {
        out->params.flags |= field->flag;
      }
      return true;
    case PARAMS_SECRET:
      out->params.hash = NAY_HASH_SIPHASH;
      return params_secret(value, out->params.key);
    case PARAMS_BYTE: return params_byte(field->name, value, (uint32_t *)(void *)at);
    default: return params_text(field, value, out);
  }
}

static bool params_named(const char *name, PyObject *value, py_params *out) {
  for (size_t i = 0; i < sizeof params_fields / sizeof *params_fields; i++) {
    if (strcmp(params_fields[i].name, name) != 0) continue;
    if (params_set(&params_fields[i], value, out)) return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      PyErr_Format(PyExc_ValueError, "'%s' is out of range", name);
    }
    return false;
  }
  PyErr_Format(PyExc_TypeError, "unexpected keyword argument '%s'", name);
  return false;
}

bool py_params_read(PyObject *args, Py_ssize_t skip, const char *const *positional,
                    PyObject *kwargs, nay_kind kind, py_params *out) {
  memset(out, 0, sizeof *out);
  out->params.kind = kind;
  out->params.size = sizeof out->params;
  Py_ssize_t nargs = PyTuple_Size(args);
  for (Py_ssize_t i = skip; i < nargs; i++) {
    const char *name = positional[i - skip];
    if (name == NULL) {
      PyErr_Format(PyExc_TypeError, "at most %zd positional arguments", i);
      return false;
    }
    PyObject *name_object = PyUnicode_FromString(name);
    int twice = name_object != NULL && kwargs != NULL ? PyDict_Contains(kwargs, name_object) : 0;
    Py_XDECREF(name_object);
    if (twice > 0) PyErr_Format(PyExc_TypeError, "two values for '%s'", name);
    if (PyErr_Occurred() || !params_named(name, PyTuple_GetItem(args, i), out)) return false;
  }
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (kwargs != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (text == NULL || !params_named(text, value, out)) return false;
  }
  const nay_params *p = &out->params;
  if (p->fpr == 0 && p->bits_per_key == 0 && p->nbytes == 0 && p->nbits == 0 &&
      p->kind != NAY_MAP) {
    out->params.fpr = 0.01;
  }
  bool secret = false;
  for (size_t i = 0; i < sizeof p->key; i++) secret |= p->key[i] != 0;
  if (p->hash == NAY_HASH_SIPHASH && !secret) {
    PyErr_SetString(PyExc_ValueError, "hash 'siphash13' needs a secret of 16 random bytes");
    return false;
  }
  return true;
}

void py_params_done(py_params *params) {
  PyMem_Free(params->key);
  params->key = NULL;
  memset(&params->params, 0, sizeof params->params);
}

bool py_params_state_key(const py_params *params, nay_filter *filter) {
  if (params->key == NULL) return true;
  nay_status status = nay_filter_set_key(filter, params->key);
  if (status == NAY_OK) return true;
  nay_filter_free(filter);
  py_raise(status, NULL, NULL);
  return false;
}

PyObject *py_plan(PyObject *module, PyObject *args, PyObject *kwargs) {
  static const char *const positional[] = {"nkeys", "fpr", NULL};
  (void)module;
  py_params params;
  nay_plan plan = {.size = sizeof plan};
  nay_diag diag = {0};
  PyObject *made = NULL;
  if (py_params_read(args, 0, positional, kwargs, NAY_AUTO, &params)) {
    nay_status status = params.format != NULL
                            ? nay_format_plan(params.format, &params.params, &diag, &plan)
                            : nay_params_plan(&params.params, &diag, &plan);
    if (status != NAY_OK) {
      py_raise(status, &diag, NULL);
    } else {
      PyObject *results = PyImport_ImportModule("libnay._results");
      if (results != NULL) {
        made = PyObject_CallMethod(
            results, "Plan", "zIKKKKKddddII", nay_kind_name(plan.kind), (unsigned)plan.k,
            (unsigned long long)plan.nkeys, (unsigned long long)plan.nbits,
            (unsigned long long)plan.nbytes, (unsigned long long)plan.nbytes_file,
            (unsigned long long)plan.nbytes_build, plan.bits_per_key, plan.fpr, plan.fpr_limit,
            plan.window_error, (unsigned)plan.generations, (unsigned)plan.tag_bits);
        Py_DECREF(results);
      }
    }
  }
  py_params_done(&params);
  return made;
}
