/*
 * engine_rocksdb_model.h - a RocksDB database in memory and the std::map that it must agree with.
 * Writes go to both. Private to engine_rocksdb_matrix.cc and engine_rocksdb_answers.cc.
 */
#ifndef NAY_TEST_ENGINE_ROCKSDB_MODEL_H
#define NAY_TEST_ENGINE_ROCKSDB_MODEL_H

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine_rocksdb_matrix.h"

namespace matrix {

/* In the order of the database's comparator. */
struct Before {
  bool reverse = false;
  bool operator()(const std::string &a, const std::string &b) const {
    return reverse ? b < a : a < b;
  }
};
typedef std::map<std::string, std::string, Before> Map;

/* The state of the database at a moment, and how to read it: by snapshot or by timestamp. */
struct Moment {
  const rocksdb::Snapshot *snapshot;
  uint64_t timestamp;
  Map map;                                 /* all keys; or, where `hot` has a key, */
  std::pair<std::string, std::string> hot; /* this one alone */
};

struct Database {
  matrix_config config;
  matrix_questions questions;
  rocksdb::Options options;
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> db;
  bool timestamps = false;
  bool shorter = false; /* some keys are shorter than a fixed prefix */
  uint64_t now = 1;     /* the timestamp of the next write */
  Map map;
  std::vector<Moment> moments;
  std::vector<std::string> universe; /* every key that was ever written, and some that never were */

  unsigned is(matrix_dimension d) const { return config.at[d]; }
};

/* Questions with a wrong answer, in words. */
struct Answers {
  uint64_t asked = 0;
  std::set<std::string> wrong;
};

/* Asks everything about the latest state and, with `history`, about all moments. */
void Ask(const Database &d, bool history, Answers *answers);

std::string Timestamp(uint64_t now);

}  // namespace matrix

#endif /* NAY_TEST_ENGINE_ROCKSDB_MODEL_H */
