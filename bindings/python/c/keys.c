/*
 * keys.c - Python values as keys, by the rules of doc/keys.md.
 *
 * A str or bytes is a key of a filter of texts as it is. For the other key types a str is a text of
 * that type, as on the command line; ints, floats and bools are converted here, and dates, UUIDs
 * and decimals by the text that they print, so that the library alone knows the forms.
 */
#include "binding.h"

#include <math.h>

static const struct {
  nay_key_type type, ordered;
} keys_orders[] = {{NAY_KEY_INT, NAY_KEY_ORDERED_INT},
                   {NAY_KEY_FLOAT, NAY_KEY_ORDERED_FLOAT},
                   {NAY_KEY_DATE, NAY_KEY_ORDERED_DATE},
                   {NAY_KEY_TIMESTAMP, NAY_KEY_ORDERED_TIMESTAMP}};

void py_typing_set(py_typing *typing, const char *description) {
  memset(typing, 0, sizeof *typing);
  typing->how.size = sizeof typing->how;
  typing->status = nay_key_description_parse(description, &typing->diag, &typing->how);
  typing->plain = typing->status == NAY_OK && typing->how.type == NAY_KEY_TEXT &&
                  typing->how.ntransformations == 0;
  typing->ordered = typing->status == NAY_OK && typing->how.type >= NAY_KEY_ORDERED_INT;
  typing->type = typing->how.type;
  for (size_t i = 0; i < sizeof keys_orders / sizeof *keys_orders; i++) {
    if (typing->type == keys_orders[i].ordered) typing->type = keys_orders[i].type;
  }
  strncpy(typing->name, description, sizeof typing->name - 1);
}

char *py_typing_order(char description[NAY_KEY_DESCRIPTION_MAX + 1]) {
  size_t len = strcspn(description, ",");
  for (size_t i = 0; i < sizeof keys_orders / sizeof *keys_orders; i++) {
    const char *name = nay_key_type_name(keys_orders[i].type);
    if (strlen(name) != len || strncmp(description, name, len) != 0) continue;
    char made[2 * NAY_KEY_DESCRIPTION_MAX];
    int n = PyOS_snprintf(made, sizeof made, "%s%s", nay_key_type_name(keys_orders[i].ordered),
                          description + len);
    if (n < 0 || n > (int)NAY_KEY_DESCRIPTION_MAX) return NULL;
    memcpy(description, made, (size_t)n + 1);
  }
  return description;
}

void py_key_order(const py_typing *typing, uint8_t key[8]) {
  uint64_t word = 0;
  for (unsigned i = 8; i-- > 0;) word = word << 8 | key[i];
  if (typing->type == NAY_KEY_FLOAT) {
    double x;
    memcpy(&x, &word, sizeof x);
    word = nay_range_double(x);
  } else {
    word = nay_range_i64((int64_t)word);
  }
  nay_range_key(word, key);
}

bool py_key_is_type(const char *description) {
  static const char *const notations[] = {"bytes", "hex", "b64"};
  size_t len = strcspn(description, ",");
  for (size_t i = 0; i < sizeof notations / sizeof *notations; i++) {
    if (strlen(notations[i]) != len || strncmp(description, notations[i], len) != 0) continue;
    PyErr_Format(PyExc_ValueError,
                 "'%s' is a way to write a text and no key type: decode it and take key=\"text\"",
                 notations[i]);
    return false;
  }
  return true;
}

/* ---- classes ---- */

/* Whether a value is of a class that is looked up when it is first needed. */
static bool keys_is(PyObject *value, const char *module, const char *name, PyObject **class) {
  if (*class == NULL) {
    PyObject *from = PyImport_ImportModule(module);
    *class = from != NULL ? PyObject_GetAttrString(from, name) : NULL;
    Py_XDECREF(from);
    if (*class == NULL) PyErr_Clear();
  }
  int is = *class != NULL ? PyObject_IsInstance(value, *class) : 0;
  if (is < 0) PyErr_Clear();
  return is == 1;
}

static bool keys_is_date(PyObject *value) {
  static PyObject *class;
  return keys_is(value, "datetime", "date", &class);
}

static bool keys_is_datetime(PyObject *value) {
  static PyObject *class;
  return keys_is(value, "datetime", "datetime", &class);
}

static bool keys_is_uuid(PyObject *value) {
  static PyObject *class;
  return keys_is(value, "uuid", "UUID", &class);
}

static bool keys_is_decimal(PyObject *value) {
  static PyObject *class;
  return keys_is(value, "decimal", "Decimal", &class);
}

/* Whether the name of the class is one of those, for classes of numpy and pandas. */
static bool keys_is_named(PyObject *value, const char *a, const char *b) {
  PyObject *name = PyType_GetName(Py_TYPE(value));
  bool is = name != NULL && (PyUnicode_CompareWithASCIIString(name, a) == 0 ||
                             PyUnicode_CompareWithASCIIString(name, b) == 0);
  Py_XDECREF(name);
  return is;
}

static bool keys_is_bytes(PyObject *value) {
  return PyBytes_Check(value) || PyByteArray_Check(value) || PyMemoryView_Check(value);
}

static bool keys_is_bool(PyObject *value) {
  return PyBool_Check(value) || keys_is_named(value, "bool_", "bool");
}

bool py_is_null(const py_typing *typing, PyObject *value) {
  if (value == Py_None) return true;
  if (PyFloat_Check(value)) {
    double x = PyFloat_AsDouble(value);
    return x != x && typing->type != NAY_KEY_FLOAT;
  }
  if (PyUnicode_Check(value) || PyBytes_Check(value) || PyLong_Check(value)) return false;
  if (keys_is_named(value, "NAType", "NaTType")) return true;
  if (!keys_is_named(value, "datetime64", "timedelta64")) return false;
  int same = PyObject_RichCompareBool(value, value, Py_EQ); /* numpy's NaT is not itself */
  if (same < 0) PyErr_Clear();
  PyObject *text = PyObject_Str(value);
  bool null = text != NULL && PyUnicode_CompareWithASCIIString(text, "NaT") == 0;
  Py_XDECREF(text);
  return null;
}

const char *py_key_type_of(PyObject *value) {
  if (PyUnicode_Check(value) || keys_is_bytes(value)) return "text";
  if (keys_is_bool(value)) return "bool";
  if (PyFloat_Check(value)) return "float";
  if (PyIndex_Check(value)) return "int";
  if (keys_is_datetime(value)) return "timestamp";
  if (keys_is_date(value)) return "date";
  if (keys_is_uuid(value)) return "uuid";
  if (keys_is_decimal(value)) return "numeric";
  if (keys_is_named(value, "float32", "float16")) return "float";
  return NULL;
}

/* ---- texts ---- */

nay_status py_key_convert(const py_typing *typing, const char *text, size_t len, nay_diag *diag,
                          uint8_t *dst, size_t cap, uint8_t **big, size_t *written) {
  *big = NULL;
  nay_status status = nay_key_convert(&typing->how, text, len, diag, dst, cap, written);
  if (status != NAY_EBUFFER) return status;
  size_t needed;
  status = nay_key_convert(&typing->how, text, len, diag, NULL, 0, &needed);
  if (status != NAY_OK) return status;
  *big = malloc(needed);
  if (*big == NULL) return NAY_ENOMEM;
  return nay_key_convert(&typing->how, text, len, diag, *big, needed, written);
}

static bool keys_from_text(const py_typing *typing, PyObject *value, const char *text, size_t len,
                           py_key *key) {
  nay_diag diag = {0};
  nay_status status =
      py_key_convert(typing, text, len, &diag, key->small, sizeof key->small, &key->big, &key->len);
  key->bytes = key->big != NULL ? key->big : key->small;
  if (status == NAY_OK) return true;
  free(key->big);
  key->big = NULL;
  if (status != NAY_EINVAL) {
    py_raise(status, &diag, NULL);
  } else {
    PyErr_Format(PyExc_ValueError, "%R is not of key type %s: %s (at byte %llu)", value,
                 typing->name, diag.what, (unsigned long long)diag.offset);
  }
  return false;
}

/* The key of the text that a value has after a call such as isoformat(). */
static bool keys_from_call(const py_typing *typing, PyObject *value, PyObject *text, py_key *key) {
  Py_ssize_t len;
  const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
  bool ok = utf8 != NULL && keys_from_text(typing, value, utf8, (size_t)len, key);
  Py_XDECREF(text);
  return ok;
}

static bool keys_from_view(PyObject *value, py_key *key) {
  if (PyObject_GetBuffer(value, &key->view, PyBUF_SIMPLE) != 0) {
    key->view.obj = NULL;
    return false;
  }
  key->bytes = key->view.buf;
  key->len = (size_t)key->view.len;
  return true;
}

/* ---- numbers ---- */

static bool keys_refuse(const py_typing *typing, PyObject *value) {
  PyObject *name = PyType_GetName(Py_TYPE(value));
  if (name == NULL) return false;
  if (value == Py_None) {
    PyErr_SetString(PyExc_TypeError, "None has no key");
  } else if (!typing->plain) {
    PyErr_Format(PyExc_TypeError, "%U is no key of a filter whose key type is %s", name,
                 typing->name);
  } else {
    const char *fits = py_key_type_of(value);
    if (fits == NULL) {
      PyErr_Format(PyExc_TypeError, "%U is no key: str and bytes are", name);
    } else {
      PyErr_Format(PyExc_TypeError,
                   "%U is no key of a filter of texts: make the filter with key=\"%s\"", name,
                   fits);
    }
  }
  Py_DECREF(name);
  return false;
}

static bool keys_word(const py_typing *typing, int64_t x, py_key *key) {
  nay_key_int(x, key->small);
  if (typing->ordered) py_key_order(typing, key->small);
  key->bytes = key->small;
  key->len = 8;
  return true;
}

static bool keys_int(const py_typing *typing, PyObject *value, py_key *key) {
  if (!PyIndex_Check(value)) return keys_refuse(typing, value);
  int overflow;
  PyObject *number = PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Index(value);
  if (number == NULL) return false;
  long long x = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow > 0 && !typing->ordered) {
    unsigned long long y = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
      PyErr_Clear();
    } else {
      overflow = 0;
      x = (long long)y;
    }
  }
  Py_DECREF(number);
  if (overflow == 0) return keys_word(typing, x, key);
  PyErr_SetString(PyExc_ValueError, typing->ordered
                                        ? "no key: ordered integers go from -2**63 to 2**63 - 1"
                                        : "no key: integers go from -2**63 to 2**64 - 1");
  return false;
}

/* Whether float() is the value, rounded: of numpy's times and complex numbers it is another one. */
static bool keys_has_float(PyObject *value) {
  static const char *const others[] = {"complex64", "complex256", "clongdouble", "datetime64",
                                       "timedelta64"};
  if (keys_is_bytes(value) || PyComplex_Check(value)) return false;
  PyObject *name = PyType_GetName(Py_TYPE(value));
  bool has = name != NULL;
  for (size_t i = 0; has && i < sizeof others / sizeof *others; i++) {
    has = PyUnicode_CompareWithASCIIString(name, others[i]) != 0;
  }
  Py_XDECREF(name);
  return has && PyObject_HasAttrString(value, "__float__");
}

static bool keys_float(const py_typing *typing, PyObject *value, py_key *key) {
  double x;
  if (PyFloat_Check(value)) {
    x = PyFloat_AsDouble(value);
  } else if (PyIndex_Check(value)) {
    PyObject *number = PyNumber_Index(value), *back = NULL;
    x = number != NULL ? PyLong_AsDouble(number) : -1;
    if (!PyErr_Occurred()) back = PyLong_FromDouble(x);
    int same = back != NULL ? PyObject_RichCompareBool(number, back, Py_EQ) : -1;
    Py_XDECREF(number);
    Py_XDECREF(back);
    if (same == 0 || (same < 0 && PyErr_ExceptionMatches(PyExc_OverflowError))) {
      PyErr_Format(PyExc_ValueError, "%R is no float: it has more than 53 bits", value);
    }
    if (same != 1) return false;
  } else if (keys_has_float(value)) {
    PyObject *number = PyNumber_Float(value);
    if (number == NULL) return false;
    x = PyFloat_AsDouble(number);
    int same = isinf(x) ? PyObject_RichCompareBool(number, value, Py_EQ) : 1;
    Py_DECREF(number);
    if (same == 0) PyErr_Format(PyExc_ValueError, "%R is no float: it rounds to infinity", value);
    if (same != 1) return false;
  } else {
    return keys_refuse(typing, value);
  }
  nay_key_float(x, key->small);
  if (typing->ordered) py_key_order(typing, key->small);
  key->bytes = key->small;
  key->len = 8;
  return true;
}

static bool keys_bool(const py_typing *typing, PyObject *value, py_key *key) {
  if (keys_is_bool(value)) {
    int x = PyObject_IsTrue(value);
    return x >= 0 && keys_word(typing, x, key);
  }
  if (!PyIndex_Check(value)) return keys_refuse(typing, value);
  int overflow;
  PyObject *number = PyNumber_Index(value);
  long long x = number != NULL ? PyLong_AsLongLongAndOverflow(number, &overflow) : -1;
  Py_XDECREF(number);
  if (x == 0 || x == 1) return keys_word(typing, x, key);
  if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "%R is no bool", value);
  return false;
}

/* ---- one key ---- */

static bool keys_typed(const py_typing *typing, PyObject *value, py_key *key) {
  switch (typing->type) {
    case NAY_KEY_TEXT: /* with transformations, which see bytes as a text */
    case NAY_KEY_HEX:
    case NAY_KEY_B64: {
      if (!keys_is_bytes(value)) break;
      py_key text = {0};
      if (!keys_from_view(value, &text)) return false;
      bool ok = keys_from_text(typing, value, text.bytes, text.len, key);
      py_key_done(&text);
      return ok;
    }
    case NAY_KEY_INT: return keys_int(typing, value, key);
    case NAY_KEY_FLOAT: return keys_float(typing, value, key);
    case NAY_KEY_BOOL: return keys_bool(typing, value, key);
    case NAY_KEY_DATE:
      if (keys_is_named(value, "datetime64", "datetime64")) {
        return keys_from_call(typing, value, PyObject_Str(value), key);
      }
      if (!keys_is_date(value) || keys_is_datetime(value)) break;
      return keys_from_call(typing, value, PyObject_CallMethod(value, "isoformat", NULL), key);
    case NAY_KEY_TIMESTAMP:
      if (keys_is_named(value, "datetime64", "datetime64")) {
        return keys_from_call(typing, value, PyObject_Str(value), key);
      }
      if (!keys_is_date(value)) break;
      return keys_from_call(typing, value, PyObject_CallMethod(value, "isoformat", NULL), key);
    case NAY_KEY_UUID:
      if (keys_is_uuid(value)) return keys_from_call(typing, value, PyObject_Str(value), key);
      if (!keys_is_bytes(value) || !keys_from_view(value, key)) break;
      if (key->len == 16) return true;
      py_key_done(key);
      PyErr_SetString(PyExc_ValueError, "no key: a UUID in bytes has 16 of them");
      return false;
    case NAY_KEY_NUMERIC:
      if (PyLong_Check(value) || PyIndex_Check(value)) {
        return keys_from_call(typing, value, PyNumber_ToBase(value, 10), key);
      }
      if (keys_is_decimal(value)) return keys_from_call(typing, value, PyObject_Str(value), key);
      break;
    default: break;
  }
  return PyErr_Occurred() == NULL && keys_refuse(typing, value);
}

bool py_key_of(const py_typing *typing, PyObject *value, py_key *key) {
  key->view.obj = NULL;
  key->big = NULL;
  if (typing->status != NAY_OK) {
    py_raise(typing->status, &typing->diag, NULL);
    return false;
  }
  if (PyUnicode_Check(value)) {
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(value, &len);
    if (text == NULL) return false;
    if (!typing->plain) return keys_from_text(typing, value, text, (size_t)len, key);
    key->bytes = text;
    key->len = (size_t)len;
    return true;
  }
  if (!typing->plain) return keys_typed(typing, value, key);
  if (PyBytes_Check(value)) {
    Py_ssize_t len;
    char *bytes;
    if (PyBytes_AsStringAndSize(value, &bytes, &len) != 0) return false;
    key->bytes = bytes;
    key->len = (size_t)len;
    return true;
  }
  return keys_is_bytes(value) ? keys_from_view(value, key) : keys_refuse(typing, value);
}

void py_key_done(py_key *key) {
  if (key->view.obj != NULL) PyBuffer_Release(&key->view);
  free(key->big);
}
