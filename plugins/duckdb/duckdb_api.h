/*
 * duckdb_api.h - the part of DuckDB's C extension API that nay uses, in declarations of our own: no
 * package ships its header. DuckDB hands an extension a table of function pointers, whose first
 * 357 slots are the API v1.2.0 and stay where they are in every later version. Numbers and
 * signatures follow the documentation of that version.
 */
#ifndef NAY_DUCKDB_API_H
#define NAY_DUCKDB_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handles: pointers that only DuckDB looks into. */
typedef struct duck_handle *duck_database, *duck_connection, *duck_info, *duck_chunk, *duck_vector,
    *duck_type, *duck_function, *duck_set;
typedef void *duck_state;

/* What an extension is loaded with. */
typedef void (*duck_slot)(void);
typedef struct duck_access {
  void (*set_error)(duck_info info, const char *error);
  duck_database *(*get_database)(duck_info info);
  const void *(*get_api)(duck_info info, const char *version);
} duck_access;

/* A VARCHAR or BLOB in a vector: up to 12 bytes in place, more behind a pointer. */
typedef struct duck_string {
  uint32_t len;
  char bytes[4]; /* the first ones */
  union {
    char more[8];
    const char *ptr;
  } rest;
} duck_string;
_Static_assert(sizeof(duck_string) == 16, "the layout is DuckDB's");

typedef struct duck_int128 {
  uint64_t lower;
  int64_t upper;
} duck_int128;

/* The numbers of types. */
enum {
  DUCK_BOOLEAN = 1,
  DUCK_TINYINT,
  DUCK_SMALLINT,
  DUCK_INTEGER,
  DUCK_BIGINT,
  DUCK_UTINYINT,
  DUCK_USMALLINT,
  DUCK_UINTEGER,
  DUCK_UBIGINT,
  DUCK_FLOAT,
  DUCK_DOUBLE,
  DUCK_TIMESTAMP,
  DUCK_DATE,
  DUCK_HUGEINT = 16,
  DUCK_VARCHAR,
  DUCK_BLOB,
  DUCK_DECIMAL,
  DUCK_TIMESTAMP_S,
  DUCK_TIMESTAMP_MS,
  DUCK_TIMESTAMP_NS,
  DUCK_UUID = 27,
  DUCK_TIMESTAMP_TZ = 31,
  DUCK_UHUGEINT = 32,
  DUCK_ANY = 34,
  DUCK_SQLNULL = 36
};

typedef void (*duck_scalar)(duck_info, duck_chunk, duck_vector);
typedef uint64_t (*duck_size)(duck_info);
typedef void (*duck_init)(duck_info, duck_state);
typedef void (*duck_update)(duck_info, duck_chunk, duck_state *);
typedef void (*duck_combine)(duck_info, duck_state *, duck_state *, uint64_t);
typedef void (*duck_finalize)(duck_info, duck_state *, duck_vector, uint64_t, uint64_t);
typedef void (*duck_destroy)(duck_state *, uint64_t);

/* X(slot, result, name, arguments) */
#define DUCK_API(X)                                                                               \
  X(3, int, connect, (duck_database, duck_connection *))                                          \
  X(6, void, disconnect, (duck_connection *))                                                     \
  X(156, duck_type, create_logical_type, (int))                                                   \
  X(163, duck_type, create_struct_type, (duck_type *, const char **, uint64_t))                   \
  X(166, int, get_type_id, (duck_type))                                                           \
  X(168, uint8_t, decimal_scale, (duck_type))                                                     \
  X(169, int, decimal_internal_type, (duck_type))                                                 \
  X(184, void, destroy_logical_type, (duck_type *))                                               \
  X(190, duck_vector, chunk_get_vector, (duck_chunk, uint64_t))                                   \
  X(191, uint64_t, chunk_get_size, (duck_chunk))                                                  \
  X(193, duck_type, vector_get_column_type, (duck_vector))                                        \
  X(194, void *, vector_get_data, (duck_vector))                                                  \
  X(195, uint64_t *, vector_get_validity, (duck_vector))                                          \
  X(196, void, vector_ensure_validity_writable, (duck_vector))                                    \
  X(198, void, vector_assign_string_element_len, (duck_vector, uint64_t, const char *, uint64_t)) \
  X(203, duck_vector, struct_vector_get_child, (duck_vector, uint64_t))                           \
  X(209, duck_function, create_scalar_function, (void))                                           \
  X(210, void, destroy_scalar_function, (duck_function *))                                        \
  X(211, void, scalar_set_name, (duck_function, const char *))                                    \
  X(213, void, scalar_set_special_handling, (duck_function))                                      \
  X(215, void, scalar_add_parameter, (duck_function, duck_type))                                  \
  X(216, void, scalar_set_return_type, (duck_function, duck_type))                                \
  X(217, void, scalar_set_extra_info, (duck_function, void *, void (*)(void *)))                  \
  X(218, void, scalar_set_function, (duck_function, duck_scalar))                                 \
  X(219, int, register_scalar_function, (duck_connection, duck_function))                         \
  X(220, void *, scalar_get_extra_info, (duck_info))                                              \
  X(221, void, scalar_set_error, (duck_info, const char *))                                       \
  X(226, duck_function, create_aggregate_function, (void))                                        \
  X(227, void, destroy_aggregate_function, (duck_function *))                                     \
  X(228, void, aggregate_set_name, (duck_function, const char *))                                 \
  X(229, void, aggregate_add_parameter, (duck_function, duck_type))                               \
  X(230, void, aggregate_set_return_type, (duck_function, duck_type))                             \
  X(231, void, aggregate_set_functions,                                                           \
    (duck_function, duck_size, duck_init, duck_update, duck_combine, duck_finalize))              \
  X(232, void, aggregate_set_destructor, (duck_function, duck_destroy))                           \
  X(233, int, register_aggregate_function, (duck_connection, duck_function))                      \
  X(234, void, aggregate_set_special_handling, (duck_function))                                   \
  X(237, void, aggregate_set_error, (duck_info, const char *))                                    \
  X(238, duck_set, create_aggregate_function_set, (const char *))                                 \
  X(239, void, destroy_aggregate_function_set, (duck_set *))                                      \
  X(240, int, add_aggregate_function_to_set, (duck_set, duck_function))                           \
  X(241, int, register_aggregate_function_set, (duck_connection, duck_set))

/* duck: the functions, once nay_init_c_api was called. */
typedef struct duck_api {
#define X(slot, result, name, arguments) result(*name) arguments;
  DUCK_API(X)
#undef X
} duck_api;
extern duck_api duck;

static inline bool duck_is_null(const uint64_t *validity, uint64_t row) {
  return validity != NULL && (validity[row / 64] >> (row % 64) & 1) == 0;
}

static inline const char *duck_bytes(const duck_string *string) {
  return string->len <= 12 ? (const char *)string + offsetof(duck_string, bytes) : string->rest.ptr;
}

#endif /* NAY_DUCKDB_API_H */
