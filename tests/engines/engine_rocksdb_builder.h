/*
 * engine_rocksdb_builder.h - filter policies by the string that names them, and the builders they
 * hand out, called as RocksDB calls them.
 */
#ifndef NAY_TEST_ENGINE_ROCKSDB_BUILDER_H
#define NAY_TEST_ENGINE_ROCKSDB_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ways by which a string becomes a policy. */
typedef enum rocks_route {
  ROCKS_BY_POLICY,  /* FilterPolicy::CreateFromString */
  ROCKS_BY_TABLE,   /* GetBlockBasedTableOptionsFromString */
  ROCKS_BY_FAMILY,  /* GetColumnFamilyOptionsFromString */
  ROCKS_BY_OLD_API, /* GetBlockBasedTableOptionsFromString without ConfigOptions */
  ROCKS_BY_FILE,    /* LoadOptionsFromFile */
  ROCKS_ROUTES
} rocks_route;

typedef struct rocks_named {
  bool ok;           /* the string was taken, and a database opens with the policy */
  bool exists;       /* whether there is a policy; with an error it opens no database */
  char id[512];      /* its GetId */
  char message[256]; /* the status as text */
} rocks_named;

rocks_named rocks_policy_by(rocks_route route, const char *id);

/*
 * Makes a database with this policy, closes it, loads its OPTIONS file and opens it with what that
 * says. `loaded` is the policy of the loaded options. False: a call failed.
 */
bool rocks_reload(const char *path, const char *id, rocks_named *loaded);

/* Flushes n keys to a table with partitions of 256 bytes, in memory. Returns how many of them are
 * found. */
unsigned rocks_flush_partitions(const char *id, unsigned n);

/* Whether NewRocksPolicy makes a policy, and its GetId. */
rocks_named rocks_policy_new(bool compatible, double bits_per_key, int blocked_before_level);

/* Whether two policies make the same bytes of 1000 keys, for tables of every origin and level. */
bool rocks_same_filters(const char *id, const char *other);

typedef struct rocks_builder rocks_builder;
rocks_builder *rocks_builder_new(const char *id);
void rocks_builder_add(rocks_builder *builder, const char *key);
/* A key and its prefix. False: RocksDB's own builder has no such function before 9.6. */
bool rocks_builder_add_alt(rocks_builder *builder, const char *key, const char *alt);
/* The bytes of a block. False: RocksDB's own builder has no such function before 10.9. */
bool rocks_builder_space(rocks_builder *builder, size_t nentries, size_t *nbytes);
/* The false-positive rate of such a block; of nay's builders only. */
double rocks_builder_fpr(rocks_builder *builder, size_t nentries, size_t nbytes);
/* How many entries a block of so many bytes has room for. */
size_t rocks_builder_room(rocks_builder *builder, size_t nbytes);
size_t rocks_builder_entries(rocks_builder *builder);
/* from malloc */
uint8_t *rocks_builder_finish(rocks_builder *builder, size_t *len);
bool rocks_builder_may_match(const rocks_builder *builder, const uint8_t *block, size_t len,
                             const char *key);
void rocks_builder_free(rocks_builder *builder);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINE_ROCKSDB_BUILDER_H */
