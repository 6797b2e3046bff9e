/* engines_policy.h - the C++ side of the LevelDB plug-in, behind C calls for the tests. */
#ifndef NAY_TEST_ENGINES_POLICY_H
#define NAY_TEST_ENGINES_POLICY_H

#include "nay_leveldb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether nay::NewLevelDBPolicy gives one. */
bool engine_policy_exists(nay_leveldb_mode mode, int bits_per_key);

/* Whether its filter of the keys, appended to a string, is these bytes, and each key matches. */
bool engine_policy_makes(nay_leveldb_mode mode, int bits_per_key, const void *const *keys,
                         const size_t *lens, size_t n, const uint8_t *filter, size_t len);

/* Writes n keys into a database that has the policy, opens it again; how many keys are there. */
size_t engine_policy_database(const char *path, nay_leveldb_mode mode, size_t n);

#ifdef __cplusplus
}
#endif

#endif /* NAY_TEST_ENGINES_POLICY_H */
