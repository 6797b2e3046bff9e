/* results.c - structs of the library as the named tuples of libnay/_results.py. */
#include "binding.h"

static PyObject *results_make(const char *name, PyObject *fields) {
  if (fields == NULL) return NULL;
  PyObject *module = PyImport_ImportModule("libnay._results");
  PyObject *class = module != NULL ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *made = class != NULL ? PyObject_CallObject(class, fields) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(class);
  Py_DECREF(fields);
  return made;
}

static PyObject *results_bool(bool x) { return x ? Py_True : Py_False; }

PyObject *py_stats_make(const nay_stats *s) {
  const char *kind = nay_kind_name(s->kind), *hash = nay_hash_name(s->hash);
  return results_make(
      "Stats",
      Py_BuildValue("(zzIKdKKKddddOOOOOOIIKKKIIKKOI)", kind, hash, (unsigned)s->k,
                    (unsigned long long)s->nkeys, s->nkeys_estimated, (unsigned long long)s->nbits,
                    (unsigned long long)s->nbits_set, (unsigned long long)s->nbytes, s->fill,
                    s->utilisation, s->fpr_now, s->fpr_planned, results_bool(s->overloaded),
                    results_bool(s->derived), results_bool(s->saturated),
                    results_bool(s->read_only), results_bool(s->locked),
                    results_bool(s->stores_key), (unsigned)s->nlevels, (unsigned)s->tag_bits,
                    (unsigned long long)s->nstuck, (unsigned long long)s->nrefused,
                    (unsigned long long)s->clock, (unsigned)s->value_bits, (unsigned)s->check_bits,
                    (unsigned long long)s->range_length, (unsigned long long)s->range_block,
                    results_bool(s->range_exact != 0), (unsigned)s->range_shift));
}

PyObject *py_overlap_make(const nay_overlap *o) {
  return results_make("Overlap", Py_BuildValue("(ddddd)", o->nkeys_a, o->nkeys_b, o->nkeys_union,
                                               o->nkeys_intersection, o->jaccard));
}

/* ---- explanations ---- */

static nay_status results_step(void *ctx, const nay_explain_step *s) {
  PyObject *step = results_make(
      "Step", Py_BuildValue("(sOIIIsKKKIKK)", s->name, results_bool(s->ok), (unsigned)s->group,
                            (unsigned)s->level, (unsigned)s->index, s->unit,
                            (unsigned long long)s->unit_index, (unsigned long long)s->unit_bit,
                            (unsigned long long)s->bit, (unsigned)s->nbits,
                            (unsigned long long)s->found, (unsigned long long)s->expected));
  int failed = step == NULL || PyList_Append(ctx, step) != 0;
  Py_XDECREF(step);
  return failed ? NAY_ECANCELED : NAY_OK;
}

PyObject *py_explain(py_filter *self, PyObject *value) {
  py_key key;
  if (!py_wait(self, false) || !py_key_of(&self->typing, value, &key)) return NULL;
  PyObject *steps = PyList_New(0), *made = NULL;
  nay_explanation why = {.size = sizeof why};
  /* converting the key may have run Python code: look again */
  nay_status status = NAY_ECANCELED;
  if (steps != NULL && py_enter(self, false)) {
    status = nay_filter_explain(self->filter, key.bytes, key.len, results_step, steps, &why);
    py_leave(self, false);
  }
  if (status == NAY_OK) {
    made =
        results_make("Explanation",
                     Py_BuildValue("(OsKIO)", results_bool(why.maybe), why.reason_text,
                                   (unsigned long long)why.hash.lo, (unsigned)why.ngroups, steps));
  } else if (!PyErr_Occurred()) {
    py_raise(status, NULL, NULL);
  }
  py_key_done(&key);
  Py_XDECREF(steps);
  return made;
}
