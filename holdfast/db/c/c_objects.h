// SPDX-License-Identifier: Apache-2.0
//
// What the handles of c.h are.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

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

namespace holdfast::db {

/// Whether the status is a failure, which *errptr then tells.
inline bool failed(char** errptr, const Status& status) {
  if (status.ok()) {
    return false;
  }
  std::free(*errptr);
  *errptr = strdup(status.ToString().c_str());
  return true;
}

/// For leveldb_free; with a zero behind it that does not count.
inline char* copied(const std::string& bytes) {
  char* const copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  std::memcpy(copy, bytes.c_str(), bytes.size() + 1);
  return copy;
}

/// A step in one call; see Iterator::NextEntry.
inline bool stepped(Iterator& at, bool (Iterator::*step)(Slice*, Slice*), const char** key,
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

/// As leveldb_get ends.
inline char* answered(const Status& status, const std::string& value, size_t* size, char** errptr) {
  *size = status.ok() ? value.size() : 0;
  if (status.IsNotFound() || failed(errptr, status)) {
    return nullptr;
  }
  return copied(value);
}

}  // namespace holdfast::db
