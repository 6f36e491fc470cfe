// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "holdfast/db/db.h"
#include "tests/native/test_file.h"

namespace holdfast::db {

/// A database in a temporary file, which a test can close and open again.
class DbFile {
 public:
  explicit DbFile(const std::string& engine = kDefaultEngine, const std::string& folder = "/tmp")
      : file_(folder) {
    options.engine = engine;
    options.create_if_missing = true;
    options.initial_bytes = 4 << 20;
    options.max_bytes = 64 << 20;
    options.max_threads = 8;
    options.domain = Domain::process;  // tests observe no difference between domains
  }

  DB& operator*() { return *open(); }
  DB* operator->() { return open(); }
  DB* open() {
    if (db_ == nullptr) {
      DB* opened = nullptr;
      const Status status = DB::Open(options, path(), &opened);
      EXPECT_TRUE(status.ok()) << status.ToString();
      db_.reset(opened);
    }
    return db_.get();
  }
  void close() { db_.reset(); }
  const std::string& path() const { return file_.path(); }

  Options options;

 private:
  NativeTestFile file_;
  std::unique_ptr<DB> db_;
};

inline std::string get(DB& db, const Slice& key, const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  std::string value;
  const Status status = db.Get(options, key, &value);
  return status.ok() ? value : status.IsNotFound() ? "(none)" : status.ToString();
}

inline void put(DB& db, const Slice& key, const Slice& value) {
  const Status status = db.Put({}, key, value);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

using Model = std::map<std::string, std::string>;

/// Returns the entries that the iterator shows. Both directions must agree.
inline Model entries_of(Iterator& at) {
  Model forwards;
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    EXPECT_TRUE(forwards.empty() || at.key().compare(forwards.rbegin()->first) > 0);
    forwards.emplace(at.key().ToString(), at.value().ToString());
  }
  EXPECT_TRUE(at.status().ok()) << at.status().ToString();
  Model backwards;
  for (at.SeekToLast(); at.Valid(); at.Prev()) {
    EXPECT_TRUE(backwards.empty() || at.key().compare(backwards.begin()->first) < 0);
    backwards.emplace(at.key().ToString(), at.value().ToString());
  }
  EXPECT_TRUE(forwards == backwards);
  return forwards;
}

inline Model contents(DB& db, const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  return entries_of(*std::unique_ptr<Iterator>(db.NewIterator(options)));
}

/// Expects that all old versions can be freed, and that every block of the heap has an owner.
inline void expect_tidy(DbFile& file) {
  file->CompactRange(nullptr, nullptr);
  std::string old;
  ASSERT_TRUE(file->GetProperty("holdfast.old-versions", &old));
  EXPECT_EQ(old, "0");
  file.close();
  const Status status = RepairDB(file.path(), file.options);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

}  // namespace holdfast::db
