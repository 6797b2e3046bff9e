/*
 * binding.h - what the files of the Python extension share.
 *
 * The extension stands on libnay's public headers and on the limited API of CPython 3.11: one
 * binary serves every later 3.x. Its objects hold no Python objects, so the garbage collector never
 * visits them.
 *
 * THREADS. Calls for one key hold the GIL. Batches and calls on a whole filter release it; a guard
 * in the object makes a conflicting call of another thread wait (guard.c).
 */
#ifndef NAY_PYTHON_BINDING_H
#define NAY_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <nay.h>
#ifndef NAY_PYTHON_AMALGAMATION /* there nay.h has all of them */
#include <nay_advanced.h>
#include <nay_column.h>
#include <nay_explain.h>
#include <nay_format.h>
#include <nay_key.h>
#include <nay_map.h>
#include <nay_range.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors: errors.c ---- */

/* One set for the process: the extension refuses to be loaded in subinterpreters. */
typedef struct py_globals {
  PyObject *error;         /* libnay.Error, base of what follows */
  PyObject *by_status[16]; /* the class of each status, index -status; NULL: a built-in one */
  PyTypeObject *filter_type, *map_type;
} py_globals;
extern py_globals py_state;

bool py_errors_init(PyObject *module);

/* Raises the exception of a status: NAY_ENOMEM is MemoryError, NAY_EIO with a path OSError. Always
 * returns NULL. diag and path may be NULL. */
PyObject *py_raise(nay_status status, const nay_diag *diag, PyObject *path);

/* Sets an attribute of the exception that is raised now; failures to do so are ignored. */
void py_error_attribute(const char *name, size_t value);

/* ---- typed keys: keys.c ---- */

/* How values become keys: the key description of a filter, parsed once. */
typedef struct py_typing {
  nay_key_description how;
  nay_status status; /* not NAY_OK: keys cannot be made, diag says why */
  nay_diag diag;
  nay_key_type
      type;     /* of the values: that of `how`, or for an ordered one the type that it orders */
  bool ordered; /* the keys are those of range filters: big-endian */
  bool plain;   /* the keys are the bytes of the texts */
  char name[NAY_KEY_DESCRIPTION_MAX + 1];
} py_typing;

/* A status that is not NAY_OK stays in the typing, and py_key_of raises it. */
void py_typing_set(py_typing *typing, const char *description);

/* The description for a range filter: that of "int" becomes that of "ordered-int". In place; NULL:
 * there is no room. */
char *py_typing_order(char description[NAY_KEY_DESCRIPTION_MAX + 1]);

/* Turns the 8 bytes of a number into those of an ordered key. */
void py_key_order(const py_typing *typing, uint8_t key[8]);

/* False: a ValueError, as bytes, hex and b64 are ways to write a text and no types of keys. */
bool py_key_is_type(const char *description);

typedef struct py_key {
  const void *bytes;
  size_t len;
  Py_buffer view; /* view.obj is NULL: none is held */
  uint8_t small[64];
  uint8_t *big; /* from malloc, or NULL */
} py_key;

/* The key of a value; false: an exception is set. Call py_key_done after a success. */
bool py_key_of(const py_typing *typing, PyObject *value, py_key *key);
void py_key_done(py_key *key);

/* The key of a text into dst[0, cap), or into memory from malloc in *big. No GIL is needed. */
nay_status py_key_convert(const py_typing *typing, const char *text, size_t len, nay_diag *diag,
                          uint8_t *dst, size_t cap, uint8_t **big, size_t *written);

/* Whether a value stands for a missing one: None, pandas' NA and NaT, and NaN where keys are no
 * floats. */
bool py_is_null(const py_typing *typing, PyObject *value);

/* The name of the key type that fits a value: "int" for an int. NULL: none does. */
const char *py_key_type_of(PyObject *value);

/* ---- objects: guard.c ---- */

typedef struct py_guard {
  pthread_mutex_t mutex;
  pthread_cond_t idle;
  unsigned readers; /* batches of other threads that run without the GIL */
  unsigned waiting; /* threads that want to change the filter: new readers wait for them */
  bool writer;
  pid_t pid; /* of the process in which they run */
} py_guard;

/* A Filter or a Map. */
typedef struct py_filter {
  PyObject_HEAD nay_filter *filter; /* NULL: closed */
  py_guard guard;
  py_typing typing;
  PyObject *weak;
} py_filter;

/* Waits until a call may read (or change) the filter while it holds the GIL. False: an exception is
 * set, as when the filter is closed. */
bool py_wait(py_filter *self, bool change);

/* py_wait, then marks the filter as in use: the GIL may be released until py_leave. */
bool py_enter(py_filter *self, bool change);
void py_leave(py_filter *self, bool change);

/* Whether a call may read the filter without waiting. */
bool py_is_idle(const py_filter *self);

/* An object of the type around a filter, which it frees also on failure. */
PyObject *py_filter_wrap(PyTypeObject *type, nay_filter *filter);

/* ---- keys of a batch: source.c, raw.c, arrow.c ---- */

#define PY_BLOCK 4096u /* rows that are converted at a time */

/* Keys of consecutive rows. */
typedef struct py_block {
  size_t nrows;
  size_t nkeys;      /* rows that are not null */
  nay_column column; /* the keys, when `keys` is NULL */
  const void **keys;
  size_t *lens;
  const uint8_t *null; /* of each row; NULL: none is */
} py_block;

typedef enum py_elem {
  PY_ELEM_INT,
  PY_ELEM_UINT,
  PY_ELEM_FLOAT,
  PY_ELEM_BOOL,    /* a byte each */
  PY_ELEM_BITS,    /* Arrow's booleans */
  PY_ELEM_FIXED,   /* `width` bytes each */
  PY_ELEM_UCS4,    /* numpy's U */
  PY_ELEM_OFFSETS, /* Arrow's strings */
  PY_ELEM_VIEWS,   /* Arrow's string views */
  PY_ELEM_DATE,
  PY_ELEM_TIMESTAMP
} py_elem;

/* An array in memory whose elements are no Python objects. */
typedef struct py_raw {
  py_elem elem;
  size_t n;
  size_t width; /* bytes of an element */
  bool swapped; /* the other byte order */
  bool strip;   /* FIXED: zero bytes at the end are padding */
  const uint8_t *data;
  Py_ssize_t stride;
  const void *offsets; /* n + 1 of them */
  uint32_t offset_bytes;
  const uint8_t *const *buffers; /* VIEWS */
  const int64_t *buffer_nbytes;
  int64_t nbuffers;
  size_t first;         /* BITS: of the first element */
  int64_t per_day;      /* DATE, TIMESTAMP: units in a day */
  bool nat;             /* the least int64 stands for null */
  const uint8_t *valid; /* Arrow's bitmap, NULL: all are */
  size_t valid_first;
  const uint8_t *mask; /* a byte for each row, not 0: null */
} py_raw;

/* What a block of converted rows lies in; too large for the stack of a thread. */
typedef struct py_room {
  uint64_t offsets[PY_BLOCK + 1];
  const void *keys[PY_BLOCK];
  size_t lens[PY_BLOCK];
  uint8_t null[PY_BLOCK];
} py_room;

typedef struct py_source {
  py_typing typing;   /* set before the first block; a copy, as a filter's may be set meanwhile */
  bool skip_nulls;    /* else a null row is an error, */
  const char *advice; /* which ends in this */
  bool raw;           /* blocks are made without the GIL */
  bool array;         /* answers are an array, not a list */
  /* rows that are Python objects */
  PyObject *iterator, *first;
  /* rows that are not */
  py_raw at;
  size_t next; /* row of `at` */
  Py_buffer view, mask;
  PyObject *held[2];    /* capsules of Arrow */
  void *stream, *chunk; /* of Arrow: arrow.c */
  /* the block that was made last */
  size_t row; /* rows before the next block, in all */
  py_room *room;
  uint8_t *arena;
  size_t arena_len, arena_cap;
  /* why there is no further block */
  bool failed;
  bool is_null;      /* the row is null */
  nay_status status; /* of a raw row */
  nay_diag diag;
  PyObject *error[3]; /* of a row that is an object */
} py_source;

/* Opens a batch of keys: an array, a column, or any iterable. false: an exception is set. */
bool py_source_open(py_source *source, PyObject *keys);
void py_source_close(py_source *source);

/* The key type that fits the rows. */
const char *py_source_key_type(const py_source *source);

/* Whether the rows can be keys of this typing; false: TypeError. */
bool py_source_use(py_source *source, const py_typing *typing);

/* The next block; false at the end, and where a row has no key (failed). With `raw` no GIL is
 * needed, else it is. */
bool py_source_next(py_source *source, py_block *block);

/* After the last block of a raw source: goes on to the next chunk, with the GIL. 1: there is one;
 * 0: no; -1: an exception is set. */
int py_source_more(py_source *source);

/* Raises what `failed` says. */
void py_source_raise(py_source *source);

/* Room for `more` bytes in the arena; false: no memory. */
bool py_arena_reserve(py_source *source, size_t more);

/* Offset i of 4 or 8 bytes; the interface does not promise alignment. */
static inline uint64_t py_offset(const void *offsets, uint32_t offset_bytes, size_t i) {
  uint64_t both;
  uint32_t word;
  const uint8_t *at = (const uint8_t *)offsets + i * offset_bytes;
  if (offset_bytes == 8) {
    memcpy(&both, at, sizeof both);
    return both;
  }
  memcpy(&word, at, sizeof word);
  return word;
}

bool py_raw_fits(const py_raw *raw, const py_typing *typing);
bool py_raw_next(py_source *source, py_block *block);

bool py_arrow_is(PyObject *keys);
bool py_arrow_open(py_source *source, PyObject *keys);
int py_arrow_more(py_source *source);
void py_arrow_close(py_source *source);

/* ---- batches: batch.c ---- */

typedef struct py_batch py_batch;
struct py_batch {
  /* Works on a block without the GIL. *rows: how many of its rows are done on failure. */
  nay_status (*apply)(py_batch *batch, const py_block *block, size_t *rows);
  py_filter *self;      /* or */
  nay_builder *builder; /* one of this call alone */
  bool change;
  bool wants;          /* an answer for each row */
  uint8_t null_answer; /* of null rows */
  uint8_t *answers;
  size_t nanswers, cap;
  uint64_t *values; /* maps: of each row; when they are built there are `cap` */
  size_t nvalues;
};

/* Runs all blocks; false: an exception is set, whose attribute `taken` counts the rows done. */
bool py_batch_run(py_batch *batch, py_source *source);

nay_status py_apply_check(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_add(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_build(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_build_values(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_get(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_hash(py_batch *batch, const py_block *block, size_t *rows);
nay_status py_apply_numbers(py_batch *batch, const py_block *block, size_t *rows);

/* The answers as a list of bool, or as an array of numpy (memoryview without numpy). */
PyObject *py_answers(const uint8_t *answers, size_t n, bool array);
PyObject *py_array_of(const void *bytes, size_t nbytes, const char *dtype, const char *format);

/* Unsigned 64-bit integers of an array or iterable, in memory from PyMem_Malloc. */
bool py_u64s(PyObject *values, uint64_t **numbers, size_t *n);

/* ---- parameters and results: params.c, results.c ---- */

typedef struct py_params {
  nay_params params;
  char *key;                   /* the key description, with room for any, or NULL */
  const nay_format *format;    /* NULL: the native one */
  bool skip_nulls, range_keys; /* range_keys: they were given */
} py_params;

/*
 * Reads arguments: those of args after the first `skip`, which are `positional` (ends with NULL),
 * and keywords; kind is the default. False: an exception is set. Call py_params_done in every case.
 */
bool py_params_read(PyObject *args, Py_ssize_t skip, const char *const *positional,
                    PyObject *kwargs, nay_kind kind, py_params *out);
void py_params_done(py_params *params);

/* False: the text has a zero byte, where C would end it; a ValueError is set. */
bool py_is_c_string(const char *name, const char *text, Py_ssize_t len);

/* The layout of a name. NULL: a ValueError is set. */
const nay_format *py_format_find(const char *name);

/* Gives a filter the key description of its params; frees the filter on failure. */
bool py_params_state_key(const py_params *params, nay_filter *filter);

PyObject *py_plan(PyObject *module, PyObject *args, PyObject *kwargs);

/* range.c: check_range(lo, hi), check_ranges(lo, hi) */
PyObject *py_check_range(PyObject *self, PyObject *args);
PyObject *py_check_ranges(PyObject *self, PyObject *args);

/* Results are named tuples of libnay/_results.py. */
PyObject *py_stats_make(const nay_stats *stats);
PyObject *py_overlap_make(const nay_overlap *overlap);
PyObject *py_explain(py_filter *self, PyObject *value);

/* ---- types: handle.c, filter.c, map.c ---- */

bool py_filter_init(PyObject *module);
bool py_map_init(PyObject *module);

/* Methods and properties of both types. */
PyObject *py_handle_open(PyObject *type, PyObject *path);
PyObject *py_handle_mmap(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_handle_decode(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *py_handle_encode(PyObject *self, PyObject *unused);
PyObject *py_handle_save(PyObject *self, PyObject *path);
PyObject *py_handle_copy(PyObject *self, PyObject *unused);
PyObject *py_handle_close(PyObject *self, PyObject *unused);
PyObject *py_handle_enter(PyObject *self, PyObject *unused);
PyObject *py_handle_reduce(PyObject *self, PyObject *protocol);
PyObject *py_handle_sizeof(PyObject *self, PyObject *unused);
PyObject *py_handle_stats(PyObject *self, PyObject *unused);
PyObject *py_handle_unlock(PyObject *self, PyObject *secret);
PyObject *py_handle_check_many(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *py_handle_property(PyObject *self, void *what);
int py_handle_set_key(PyObject *self, PyObject *value, void *unused);
int py_handle_set_meta(PyObject *self, PyObject *value, void *unused);
int py_handle_contains(PyObject *self, PyObject *key);
void py_handle_dealloc(PyObject *self);
bool py_handle_stats_read(py_filter *self, nay_stats *stats);

/* For tables of methods: C wants the cast through a function without arguments. */
#define PY_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* What py_handle_property returns. */
enum {
  PY_KIND,
  PY_KEY,
  PY_META,
  PY_CLOSED,
  PY_NBYTES,
  PY_LOCKED,
  PY_DAMAGED,
  PY_FORMAT,
  PY_CAVEAT
};

#endif
