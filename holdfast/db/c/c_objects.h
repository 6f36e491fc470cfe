// SPDX-License-Identifier: Apache-2.0
//
// The structs behind the handles of c.h, and helpers for the functions there.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
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

/// Replaces the string that *errptr points to. A null one would mean that nothing has failed.
inline void store_error(char** errptr, const char* message) {
  std::free(*errptr);
  *errptr = strdup(message);
  if (*errptr == nullptr) {
    std::abort();
  }
}

/// Calls work(), which returns a Status. Returns whether it fails, and then stores its message in
/// *errptr. Missing memory is a failure too, because no exception may reach C.
template <class Work>
bool failed(char** errptr, Work&& work) {
  try {
    const Status status = work();
    if (status.ok()) {
      return false;
    }
    store_error(errptr, status.ToString().c_str());
  } catch (const std::bad_alloc&) {
    store_error(errptr, "IO error: this computer ran out of memory");
  }
  return true;
}

/// Returns a handle of the object that make(Object**), which returns a Status, stores; null if it
/// fails.
template <class Handle, class Object, class Make>
Handle* made(char** errptr, Make&& make) {
  Handle* handle = nullptr;
  failed(errptr, [&] {
    Object* object = nullptr;
    Status status = make(&object);
    std::unique_ptr<Object> owned(object);
    if (status.ok()) {
      handle = new Handle{std::move(owned)};
    }
    return status;
  });
  return handle;
}

/// Returns memory for leveldb_free to free.
inline void* allocated(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

/// Returns a copy for leveldb_free to free. A zero byte follows the copied bytes.
inline char* malloc_copy(const std::string& bytes) {
  char* const copy = static_cast<char*>(allocated(bytes.size() + 1));
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

/// Converts the result of get(std::string* value), which returns a Status, to that of leveldb_get.
template <class Get>
char* get_result(size_t* size, char** errptr, Get&& get) {
  char* copy = nullptr;
  *size = 0;
  failed(errptr, [&] {
    std::string value;
    const Status status = get(&value);
    if (status.ok()) {
      copy = malloc_copy(value);
      *size = value.size();
    }
    return status.IsNotFound() ? Status::OK() : status;
  });
  return copy;
}

inline std::vector<Slice> slices(size_t count, const char* const* list, const size_t* sizes) {
  std::vector<Slice> keys;
  keys.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    keys.emplace_back(list[i], sizes[i]);
  }
  return keys;
}

/// Converts the results of multi_get(std::vector<std::string>* values), which returns the statuses,
/// like get_result.
template <class MultiGet>
void get_results(size_t count, char** values_list, size_t* values_list_sizes, char** errs,
                 MultiGet&& multi_get) {
  std::vector<std::string> values;
  std::vector<Status> found;
  try {
    found = multi_get(&values);
  } catch (const std::bad_alloc&) {
    // the error of each key, below
  }
  for (size_t i = 0; i < count; ++i) {
    errs[i] = nullptr;
    values_list[i] = get_result(&values_list_sizes[i], &errs[i], [&](std::string* value) {
      if (found.empty()) {
        throw std::bad_alloc();
      }
      *value = std::move(values[i]);
      return found[i];
    });
  }
}

}  // namespace holdfast::db
