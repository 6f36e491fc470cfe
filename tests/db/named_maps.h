// SPDX-License-Identifier: Apache-2.0
//
// Named maps in tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/durable_engines.h"

namespace holdfast::db {

using Handle = std::unique_ptr<ColumnFamilyHandle>;

inline Handle open_map(DB& db, const std::string& name) {
  ColumnFamilyHandle* handle = nullptr;
  const Status status = db.OpenColumnFamily(name, true, &handle);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return Handle(handle);
}

inline std::string get(DB& db, const Handle& map, const Slice& key,
                       const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  std::string value;
  const Status status = db.Get(options, map.get(), key, &value);
  return status.ok() ? value : status.IsNotFound() ? "(none)" : status.ToString();
}

inline void put(DB& db, const Handle& map, const Slice& key, const Slice& value) {
  const Status status = db.Put({}, map.get(), key, value);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

inline Model contents(DB& db, const Handle& map, const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  return entries_of(*std::unique_ptr<Iterator>(db.NewIterator(options, map.get())));
}

inline std::vector<std::string> names(DB& db) {
  std::vector<std::string> found;
  EXPECT_TRUE(db.ListColumnFamilies({}, &found).ok());
  return found;
}

/// Expects InvalidArgument with these words.
inline void expect_refused(const Status& status, const std::string& words) {
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find(words), std::string::npos) << status.ToString();
}

/// For tests of named maps with every durable engine.
struct MapsTest : DbTest {
  Handle map(const std::string& name) { return open_map(*file, name); }
};

}  // namespace holdfast::db
