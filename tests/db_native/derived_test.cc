// SPDX-License-Identifier: Apache-2.0
//
// Can a program derive classes from DB, Iterator and Snapshot as it does with LevelDB's, overriding
// LevelDB's functions only?
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/db.h"
#include "holdfast/db/export.h"

namespace leveldb = holdfast::db;  // as a program written for LevelDB would say

namespace {

using leveldb::Slice;
using leveldb::Status;
using Map = std::map<std::string, std::string>;

class MapIterator final : public leveldb::Iterator {
 public:
  explicit MapIterator(Map map) : map_(std::move(map)), at_(map_.end()) {}
  bool Valid() const override { return at_ != map_.end(); }
  void SeekToFirst() override { at_ = map_.begin(); }
  void SeekToLast() override { at_ = map_.empty() ? map_.end() : std::prev(map_.end()); }
  void Seek(const Slice& target) override { at_ = map_.lower_bound(target.ToString()); }
  void Next() override { ++at_; }
  void Prev() override { at_ = at_ == map_.begin() ? map_.end() : std::prev(at_); }
  Slice key() const override { return at_->first; }
  Slice value() const override { return at_->second; }
  Status status() const override { return Status::OK(); }

 private:
  const Map map_;
  Map::const_iterator at_;
};

class LEVELDB_EXPORT MapDB final : public leveldb::DB {
 public:
  Status Put(const leveldb::WriteOptions& options, const Slice& key, const Slice& value) override {
    return DB::Put(options, key, value);
  }
  Status Delete(const leveldb::WriteOptions& options, const Slice& key) override {
    return DB::Delete(options, key);
  }
  Status Write(const leveldb::WriteOptions& /*options*/, leveldb::WriteBatch* batch) override {
    struct Handler final : leveldb::WriteBatch::Handler {
      explicit Handler(Map& to) : map(to) {}
      void Put(const Slice& key, const Slice& value) override {
        map[key.ToString()] = value.ToString();
      }
      void Delete(const Slice& key) override { map.erase(key.ToString()); }
      Map& map;
    } handler(map_);
    return batch->Iterate(&handler);
  }
  Status Get(const leveldb::ReadOptions& options, const Slice& key, std::string* value) override {
    const Map& map = state(options);
    const auto at = map.find(key.ToString());
    if (at == map.end()) {
      return Status::NotFound(key);
    }
    *value = at->second;
    return Status::OK();
  }
  leveldb::Iterator* NewIterator(const leveldb::ReadOptions& options) override {
    return new MapIterator(state(options));
  }
  const leveldb::Snapshot* GetSnapshot() override {
    ++snapshots;
    if (refuses_snapshots) {
      return nullptr;
    }
    return new MapSnapshot(map_);
  }
  void ReleaseSnapshot(const leveldb::Snapshot* snapshot) override {
    delete static_cast<const MapSnapshot*>(snapshot);
  }
  bool GetProperty(const Slice& /*property*/, std::string* /*value*/) override { return false; }
  void GetApproximateSizes(const leveldb::Range* /*range*/, int n, uint64_t* sizes) override {
    std::fill_n(sizes, n, 0);
  }
  void CompactRange(const Slice* /*begin*/, const Slice* /*end*/) override {}

  int snapshots = 0;  ///< taken so far
  bool refuses_snapshots = false;

 private:
  struct MapSnapshot final : leveldb::Snapshot {
    explicit MapSnapshot(Map of) : map(std::move(of)) {}
    const Map map;
  };
  const Map& state(const leveldb::ReadOptions& options) const {
    return options.snapshot == nullptr ? map_
                                       : static_cast<const MapSnapshot*>(options.snapshot)->map;
  }

  Map map_;
};

TEST(DbDerived, PutAndDeleteWriteBatches) {
  MapDB model;
  leveldb::DB& db = model;
  ASSERT_TRUE(db.Put({}, "a", "1").ok());
  ASSERT_TRUE(db.Put({}, "b", "2").ok());
  const leveldb::Snapshot* const before = db.GetSnapshot();
  ASSERT_TRUE(db.Delete({}, "a").ok());
  std::string value;
  EXPECT_TRUE(db.Get({}, "a", &value).IsNotFound());
  leveldb::ReadOptions as_of;
  as_of.snapshot = before;
  ASSERT_TRUE(db.Get(as_of, "a", &value).ok());
  EXPECT_EQ(value, "1");
  const std::unique_ptr<leveldb::Iterator> at(db.NewIterator(as_of));
  at->SeekToFirst();
  Slice key;
  Slice content;
  ASSERT_TRUE(at->NextEntry(&key, &content)) << "one of Holdfast's own functions";
  EXPECT_EQ(key.ToString() + content.ToString(), "b2");
  db.ReleaseSnapshot(before);
}

TEST(DbDerived, FunctionsThatItLeavesOutSaySo) {
  MapDB db;
  EXPECT_EQ(db.BeginTransaction(), nullptr);
  EXPECT_TRUE(db.Checkpoint("file").IsNotSupportedError());
  EXPECT_TRUE(db.Verify().IsNotSupportedError());
  EXPECT_TRUE(db.ChangesSince(0, [](uint64_t, const leveldb::WriteBatch&) {
                  return true;
                }).IsNotSupportedError());
  EXPECT_TRUE(db.Transact([](leveldb::Transaction&) {}).IsNotSupportedError());
  EXPECT_TRUE(db.DeleteRange({}, "a", "b").IsNotSupportedError());
  EXPECT_TRUE(db.Sync().IsNotSupportedError());
  EXPECT_TRUE(db.Compact(nullptr).IsNotSupportedError());
}

TEST(DbDerived, HasNoNamedMaps) {
  MapDB db;
  leveldb::ColumnFamilyHandle named(std::make_shared<leveldb::NamedMap>("name", 1, nullptr));
  leveldb::ColumnFamilyHandle* handle = &named;
  EXPECT_TRUE(db.CreateColumnFamily({}, "name", &handle).IsNotSupportedError());
  EXPECT_EQ(handle, nullptr);
  handle = &named;
  EXPECT_TRUE(db.OpenColumnFamily("name", true, &handle).IsNotSupportedError());
  EXPECT_EQ(handle, nullptr);
  handle = &named;
  EXPECT_TRUE(db.OpenColumnFamily(leveldb::ReadOptions(), "name", &handle).IsNotSupportedError());
  EXPECT_EQ(handle, nullptr);
  std::vector<std::string> names;
  EXPECT_TRUE(db.ListColumnFamilies({}, &names).IsNotSupportedError());
  EXPECT_TRUE(db.DropColumnFamily(&named).IsNotSupportedError());
  EXPECT_EQ(db.DefaultColumnFamily(), nullptr);
  EXPECT_TRUE(db.DestroyColumnFamilyHandle(nullptr).ok());
  std::string value;
  leveldb::DB& base = db;
  EXPECT_TRUE(base.Put({}, &named, "a", "1").IsNotSupportedError());
  EXPECT_TRUE(base.Delete({}, &named, "a").IsNotSupportedError());
  EXPECT_TRUE(base.Get({}, &named, "a", &value).IsNotSupportedError());
  const std::unique_ptr<leveldb::Iterator> at(base.NewIterator({}, &named));
  EXPECT_TRUE(at->status().IsNotSupportedError());
  const leveldb::Range ranges[] = {{"a", "b"}, {"c", "d"}};
  uint64_t sizes[] = {7, 7};
  base.GetApproximateSizes(&named, ranges, 2, sizes);
  EXPECT_EQ(sizes[0] + sizes[1], 0u);
}

TEST(DbDerived, SeveralKeysAreReadFromOneSnapshot) {
  MapDB db;
  ASSERT_TRUE(db.Put({}, "a", "1").ok());
  ASSERT_TRUE(db.Put({}, "c", "3").ok());
  std::vector<std::string> values;
  const std::vector<Status> found = db.MultiGet({}, {"a", "b", "c"}, &values);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].ok() && found[1].IsNotFound() && found[2].ok());
  EXPECT_EQ(values[0] + values[2], "13");
  EXPECT_EQ(db.snapshots, 1);
  EXPECT_TRUE(db.MultiGet({}, {"a"}, &values)[0].ok());
  EXPECT_EQ(db.snapshots, 1) << "one key needs none";
  leveldb::ReadOptions as_of;
  as_of.snapshot = db.GetSnapshot();
  ASSERT_TRUE(db.Delete({}, "a").ok());
  EXPECT_TRUE(db.MultiGet(as_of, {"a", "c"}, &values)[0].ok());
  EXPECT_EQ(db.snapshots, 2) << "it has one";
  db.ReleaseSnapshot(as_of.snapshot);
  db.refuses_snapshots = true;
  for (const Status& status : db.MultiGet({}, {"b", "c"}, &values)) {
    EXPECT_TRUE(status.IsIOError()) << "each key has a state of its own";
  }
  EXPECT_TRUE(db.MultiGet({}, {"c"}, &values)[0].ok());
}

}  // namespace
