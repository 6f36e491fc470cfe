// SPDX-License-Identifier: Apache-2.0
//
// The structs behind the handles of c.h, and helpers for the functions there.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/c.h"
#include "holdfast/db/cache.h"
#include "holdfast/db/db.h"
#include "holdfast/db/env.h"
#include "holdfast/db/filter_policy.h"

struct leveldb_t {
  std::unique_ptr<holdfast::db::DB> rep;
};
struct leveldb_iterator_t {
  std::unique_ptr<holdfast::db::Iterator> rep;
};
struct leveldb_writebatch_t {
  holdfast::db::WriteBatch rep;
};
struct leveldb_snapshot_t {
  const holdfast::db::Snapshot* rep;
};
struct leveldb_options_t {
  holdfast::db::Options rep;
};
struct leveldb_readoptions_t {
  holdfast::db::ReadOptions rep;
  /// A bound of iterators, and the copy that the options refer to.
  struct Bound {
    std::string key;
    holdfast::db::Slice slice;

    const holdfast::db::Slice* set(const char* from, size_t bytes) {
      if (from == nullptr) {
        return nullptr;
      }
      key.assign(from, bytes);
      slice = key;
      return &slice;
    }
  } lower, upper;
};
struct leveldb_writeoptions_t {
  holdfast::db::WriteOptions rep;
};
struct leveldb_cache_t {
  std::unique_ptr<holdfast::db::Cache> rep;
};
struct leveldb_env_t {
  holdfast::db::Env* rep;
};
struct leveldb_logger_t {
  holdfast::db::Logger* rep;
};
struct holdfast_transaction_t {
  std::unique_ptr<holdfast::db::OptimisticTransaction> rep;
};

struct holdfast_map_t {
  std::unique_ptr<holdfast::db::ColumnFamilyHandle> rep;
};

namespace holdfast::db {

/// Returns whether the status is a failure, and stores its message in *errptr then.
inline bool failed(char** errptr, const Status& status) {
  if (status.ok()) {
    return false;
  }
  std::free(*errptr);
  *errptr = strdup(status.ToString().c_str());
  return true;
}

/// Returns a copy for leveldb_free to free. A zero byte follows the copied bytes.
inline char* malloc_copy(const std::string& bytes) {
  char* const copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  std::memcpy(copy, bytes.c_str(), bytes.size() + 1);
  return copy;
}

/// Calls NextEntry or PrevEntry, and converts the slices.
inline bool step_entry(Iterator& at, bool (Iterator::*step)(Slice*, Slice*), const char** key,
                       size_t* key_bytes, const char** value, size_t* value_bytes) {
  Slice k;
  Slice v;
  if (!(at.*step)(&k, &v)) {
    return false;
  }
  *key = k.data();
  *key_bytes = k.size();
  *value = v.data();
  *value_bytes = v.size();
  return true;
}

/// Converts the result of a Get to the result of leveldb_get.
inline char* get_result(const Status& status, const std::string& value, size_t* size,
                        char** errptr) {
  *size = status.ok() ? value.size() : 0;
  if (status.IsNotFound() || failed(errptr, status)) {
    return nullptr;
  }
  return malloc_copy(value);
}

inline std::vector<Slice> slices(size_t count, const char* const* list, const size_t* sizes) {
  std::vector<Slice> keys;
  keys.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    keys.emplace_back(list[i], sizes[i]);
  }
  return keys;
}

/// Converts the results of a MultiGet like get_result.
inline void get_results(const std::vector<Status>& found, const std::vector<std::string>& values,
                        char** values_list, size_t* values_list_sizes, char** errs) {
  for (size_t i = 0; i < found.size(); ++i) {
    errs[i] = nullptr;
    values_list[i] = get_result(found[i], values[i], &values_list_sizes[i], &errs[i]);
  }
}

}  // namespace holdfast::db
