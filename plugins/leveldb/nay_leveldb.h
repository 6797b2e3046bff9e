/*
 * nay_leveldb.h - nay's filters inside a LevelDB database, from C and from C++.
 *
 *   leveldb_filterpolicy_t *filter = nay_leveldb_policy(NAY_LEVELDB_NAY, 10);        // C
 *   leveldb_options_set_filter_policy(options, filter);
 *   ...  leveldb_close(db);  leveldb_filterpolicy_destroy(filter);
 *
 *   auto filter = nay::NewLevelDBPolicy(NAY_LEVELDB_NAY, 10);                        // C++
 *   options.filter_policy = filter.get();
 *   ...  delete db;                              // before the policy, as with LevelDB's own
 *
 * A database may change its policy at any time: LevelDB ignores filters whose policy has another
 * name, and compaction writes new ones.
 *
 * When memory runs out, a filter that matches every key is stored: reads get slower, no key is
 * lost. All calls are thread-safe.
 */
#ifndef NAY_LEVELDB_H
#define NAY_LEVELDB_H

#include <leveldb/c.h>

#include "nay_policy.h"

typedef enum nay_leveldb_mode {
  /* "leveldb.BuiltinBloomFilter2": the bytes of LevelDB's own policy, built faster. A database can
   * return to stock LevelDB, which uses the filters. */
  NAY_LEVELDB_COMPATIBLE = 0,
  /* "nay.small.v1": a lower false-positive rate (FPR) at the same size, and a flipped bit in a
   * filter is a maybe where LevelDB's own policy loses keys. Stock LevelDB ignores these filters.
   */
  NAY_LEVELDB_NAY = 1
} nay_leveldb_mode;

#ifdef __cplusplus
extern "C" {
#endif

/* nay_leveldb_mode_policy: the policy of a mode. NAY_EINVAL: unknown, or bits out of [1, 4096]. */
nay_status nay_leveldb_mode_policy(nay_leveldb_mode mode, int bits_per_key, nay_policy *policy);

/*
 * nay_leveldb_policy: for leveldb_options_set_filter_policy; release it after the database is
 * closed, with leveldb_filterpolicy_destroy. NULL: as above, or out of memory.
 */
leveldb_filterpolicy_t *nay_leveldb_policy(nay_leveldb_mode mode, int bits_per_key);

/*
 * nay_leveldb_policy_of: any policy, the library's or yours. *policy is copied; its name and state
 * must live as long as the result. NULL: out of memory, or policy is NULL.
 */
leveldb_filterpolicy_t *nay_leveldb_policy_of(const nay_policy *policy);

#ifdef __cplusplus
} /* extern "C" */

#include <memory>

namespace leveldb {
class FilterPolicy;
}

namespace nay {

struct LevelDBPolicyDeleter {
  void operator()(const leveldb::FilterPolicy *policy) const;
};
typedef std::unique_ptr<const leveldb::FilterPolicy, LevelDBPolicyDeleter> LevelDBPolicy;

/* The same two for leveldb::Options::filter_policy; empty where those return NULL. */
LevelDBPolicy NewLevelDBPolicy(nay_leveldb_mode mode, int bits_per_key);
LevelDBPolicy NewLevelDBPolicy(const nay_policy &policy);

}  // namespace nay
#endif

#endif /* NAY_LEVELDB_H */
