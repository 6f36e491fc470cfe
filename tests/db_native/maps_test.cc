// SPDX-License-Identifier: Apache-2.0
//
// Is each named map an ordered map of its own, that changes with the others in one transaction? Do
// keys of the default map that begin with 0xff stay apart from them?
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/engine/heap_db.h"
#include "holdfast/db/map_keys.h"
#include "tests/db/named_maps.h"

namespace holdfast::db::maps_test {
namespace {

class DbMaps : public MapsTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbMaps, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbMaps, EachIsAnOrderedMapOfItsOwn) {
  put(*file, "key", "of the default map");
  Handle users = map("users");
  Handle towns = map("towns");
  EXPECT_EQ(users->GetName(), "users");
  EXPECT_NE(users->GetID(), towns->GetID());
  EXPECT_EQ(map("users")->GetID(), users->GetID());
  put(*file, users, "key", "a user");
  put(*file, users, "", "the empty key");
  put(*file, users, std::string("\xff\xff\0", 3), std::string(10000, 'l'));
  put(*file, towns, "key", "a town");
  ASSERT_TRUE(file->Delete({}, towns.get(), "key").ok());
  put(*file, towns, "oslo", "717710");
  const Model of_users = {{"", "the empty key"},
                          {"key", "a user"},
                          {std::string("\xff\xff\0", 3), std::string(10000, 'l')}};
  const Model of_towns = {{"oslo", "717710"}};
  for (int opening = 0; opening < 2; ++opening) {
    EXPECT_EQ(contents(*file), (Model{{"key", "of the default map"}}));
    EXPECT_EQ(contents(*file, users), of_users);
    EXPECT_EQ(contents(*file, towns), of_towns);
    EXPECT_EQ(get(*file, towns, "key"), "(none)");
    EXPECT_EQ(names(*file), (std::vector<std::string>{"default", "towns", "users"}));
    std::vector<std::string> values;
    const std::vector<Status> found =
        file->MultiGet({}, {users.get(), nullptr, towns.get(), towns.get()},
                       {"key", "key", "oslo", "key"}, &values);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(values[0] + values[1] + values[2], "a userof the default map717710");
    EXPECT_TRUE(found[3].IsNotFound());
    file.close();
    users = map("users");
    towns = map("towns");
  }
  uint64_t sizes[2] = {};
  const Range ranges[] = {{"", "\xff\xff\xff"}, {"l", "\xff"}};
  file->GetApproximateSizes(users.get(), ranges, 2, sizes);
  EXPECT_GT(sizes[0], 10000u);
  EXPECT_EQ(sizes[1], 0u);
  ASSERT_TRUE(file->DeleteRange({}, users.get(), "a", "\xff").ok());
  EXPECT_EQ(contents(*file, users).size(), 2u);
  EXPECT_EQ(contents(*file, towns), of_towns);
  expect_tidy(file);
}

TEST_P(DbMaps, KeysOfTheDefaultMapMayBeginWith255) {
  const std::vector<std::string> keys = {"",
                                         "a",
                                         "\xfe\xff",
                                         "\xff",
                                         std::string("\xff\0", 2),
                                         std::string("\xff\0name", 6),
                                         "\xff\x01",
                                         "\xff\x02\x01",
                                         std::string("\xff\x03\0\0\0\x01key", 9),
                                         "\xff\xff",
                                         "\xff\xff\xff\x01"};
  const Handle users = map("users");
  put(*file, users, "key", "a user");
  Model model;
  for (const std::string& key : keys) {
    put(*file, key, "value of " + key);
    model[key] = "value of " + key;
  }
  EXPECT_EQ(contents(*file), model);
  EXPECT_EQ(contents(*file, users), (Model{{"key", "a user"}}));
  for (const std::string& from : keys) {
    EXPECT_EQ(db::get(*file, from), model[from]);
    for (const std::string& to : keys) {
      const Slice lower(from);
      const Slice upper(to);
      ReadOptions bounds;
      bounds.iterate_lower_bound = &lower;
      bounds.iterate_upper_bound = &upper;
      Model expected;
      if (from < to) {
        expected.insert(model.lower_bound(from), model.lower_bound(to));
      }
      EXPECT_EQ(entries_of(*std::unique_ptr<Iterator>(file->NewIterator(bounds))), expected);
      const Range range(from, to);
      uint64_t bytes = 0;
      file->GetApproximateSizes(&range, 1, &bytes);
      EXPECT_EQ(bytes == 0, expected.empty()) << bytes;
    }
    const std::unique_ptr<Iterator> at(file->NewIterator({}));
    at->Seek(from);
    ASSERT_TRUE(at->Valid());
    EXPECT_EQ(at->key().ToString(), from);
    at->Prev();
    EXPECT_EQ(at->Valid(), from != keys.front());
  }
  ASSERT_TRUE(file->DeleteRange({}, "\xfe", "\xff\xff").ok());
  model.erase(model.lower_bound("\xfe"), model.lower_bound("\xff\xff"));
  EXPECT_EQ(contents(*file), model);
  EXPECT_EQ(contents(*file, users), (Model{{"key", "a user"}}));
  ASSERT_TRUE(file->Delete({}, "\xff\xff").ok());
  EXPECT_EQ(db::get(*file, "\xff\xff"), "(none)");
  expect_tidy(file);
  EXPECT_EQ(contents(*file).size(), model.size() - 1);
}

TEST_P(DbMaps, AnIteratorThatIsOpenedBeforeTheFirstMapShowsTheDefaultMapAlone) {
  put(*file, "a", "1");
  const std::unique_ptr<Iterator> before(file->NewIterator({}));
  const Snapshot* const snapshot = file->GetSnapshot();
  const Handle users = map("users");
  put(*file, users, "key", "a user");
  put(*file, "\xff", "2");
  EXPECT_EQ(entries_of(*before), (Model{{"a", "1"}}));
  EXPECT_EQ(contents(*file, snapshot), (Model{{"a", "1"}}));
  EXPECT_EQ(contents(*file, users, snapshot), (Model{}));
  ReadOptions as_of;
  as_of.snapshot = snapshot;
  ColumnFamilyHandle* none = nullptr;
  expect_refused(file->OpenColumnFamily(as_of, "users", &none), "no map 'users'");
  file->ReleaseSnapshot(snapshot);
  EXPECT_EQ(contents(*file), (Model{{"a", "1"}, {"\xff", "2"}}));
}

TEST_P(DbMaps, BatchesAndTransactionsChangeSeveralMaps) {
  const Handle users = map("users");
  const Handle towns = map("towns");
  WriteBatch batch;
  batch.Put("\xff", "default");
  batch.Put(users.get(), "ada", "oslo");
  batch.Put(towns.get(), "oslo", "1");
  WriteBatch more;
  more.Put(towns.get(), "bodo", "2");
  more.Delete(towns.get(), "oslo");
  more.Put(file->DefaultColumnFamily(), "b", "default");
  batch.Append(more);
  ASSERT_TRUE(file->Write({}, &batch).ok());
  EXPECT_EQ(contents(*file, users), (Model{{"ada", "oslo"}}));
  EXPECT_EQ(contents(*file, towns), (Model{{"bodo", "2"}}));
  EXPECT_EQ(contents(*file), (Model{{"\xff", "default"}, {"b", "default"}}));

  const Snapshot* const before = file->GetSnapshot();
  const auto body = [&](Transaction& t) {
    std::string town;
    EXPECT_TRUE(t.Get(users.get(), "ada", &town).ok());
    EXPECT_TRUE(t.Get(towns.get(), "ada", &town).IsNotFound());
    t.Put(towns.get(), town, "3");
    t.Put(users.get(), "bob", town);
    t.Delete("b");
    t.Put("\xff\x03", "4");
    EXPECT_EQ(entries_of(*std::unique_ptr<Iterator>(t.NewIterator(towns.get()))),
              (Model{{"bodo", "2"}, {"oslo", "3"}}));
    EXPECT_EQ(entries_of(*std::unique_ptr<Iterator>(t.NewIterator())),
              (Model{{"\xff", "default"}, {"\xff\x03", "4"}}));
    return t.DeleteRange(towns.get(), "a", "c");
  };
  const auto check = [&](const Snapshot* snapshot, bool after) {
    EXPECT_EQ(contents(*file, users, snapshot).size(), after ? 2u : 1u);
    EXPECT_EQ(contents(*file, towns, snapshot),
              after ? (Model{{"oslo", "3"}}) : (Model{{"bodo", "2"}}));
  };
  ASSERT_TRUE(file->Transact(body).ok());
  check(nullptr, true);
  check(before, false);
  ASSERT_TRUE(file->DeleteRange({}, towns.get(), "", "\xff").ok());
  ASSERT_TRUE(file->Delete({}, users.get(), "bob").ok());
  ASSERT_TRUE(file->Delete({}, "\xff\x03").ok());
  put(*file, towns, "bodo", "2");
  std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  ASSERT_TRUE(body(*t).ok());
  check(nullptr, false);
  bool committed = false;
  ASSERT_TRUE(t->Commit(&committed).ok());
  t.reset();  // it keeps the versions that it may read
  EXPECT_TRUE(committed);
  check(nullptr, true);
  file->ReleaseSnapshot(before);
  expect_tidy(file);
}

TEST_P(DbMaps, AWalkOfATransactionCountsItsOwnMapAsReadAndNoOther) {
  const Handle first = map("first");
  const Handle second = map("second");
  put(*file, first, "a", "1");
  put(*file, second, "a", "1");
  const auto commits_beside = [&](const Handle& changed, const std::string& key) {
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    EXPECT_EQ(entries_of(*std::unique_ptr<Iterator>(t->NewIterator(first.get()))).count("a"), 1u);
    t->Put("the default map", "is not walked");
    put(*file, changed, key, "changed");
    bool committed = false;
    EXPECT_TRUE(t->Commit(&committed).ok());
    return committed;
  };
  EXPECT_TRUE(commits_beside(second, "a"));
  EXPECT_TRUE(commits_beside(second, "0"));
  EXPECT_FALSE(commits_beside(first, "a"));
  EXPECT_FALSE(commits_beside(first, "z"));
  EXPECT_FALSE(commits_beside(first, ""));
}

/// Random operations on several maps, compared with models.
TEST_P(DbMaps, RandomOperationsAgreeWithModels) {
  Random random(7);
  std::vector<std::string> all = {"default", "a", "b", "a longer name"};
  std::map<std::string, Model> models;
  struct Held {
    const Snapshot* snapshot;
    std::map<std::string, Model> models;
  };
  std::vector<Held> held;
  const auto key = [&] {
    std::string text(random.below(3) == 0 ? "\xff" : "");
    for (uint64_t left = random.below(3); left > 0; --left) {
      text += static_cast<char>(random.below(6) + (random.below(2) == 0 ? 250 : 0));
    }
    return text;
  };
  const auto check = [&](const std::string& name) {
    EXPECT_EQ(contents(*file, map(name)), models[name]) << name;
    for (const Held& one : held) {
      const Handle old = map(name);
      EXPECT_EQ(contents(*file, old, one.snapshot), one.models.at(name)) << name;
    }
  };
  for (const std::string& name : all) {
    models[name];
  }
  for (int step = 0; step < 3000 && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const std::string& name = all[random.below(all.size())];
    const Handle one = map(name);
    const uint64_t dice = random.below(100);
    if (dice < 60) {
      WriteBatch batch;
      for (uint64_t left = random.below(5); left > 0; --left) {
        const std::string& to = all[random.below(all.size())];
        const Handle family = map(to);
        const std::string k = key();
        if (random.below(3) == 0) {
          batch.Delete(family.get(), k);
          models[to].erase(k);
        } else {
          const std::string v = std::to_string(step);
          batch.Put(family.get(), k, v);
          models[to][k] = v;
        }
      }
      ASSERT_TRUE(file->Write({}, &batch).ok());
    } else if (dice < 75) {
      const std::string begin = key();
      const std::string end = key();
      ASSERT_TRUE(file->DeleteRange({}, one.get(), begin, end).ok());
      if (begin < end) {
        models[name].erase(models[name].lower_bound(begin), models[name].lower_bound(end));
      }
    } else if (dice < 90) {
      const std::unique_ptr<Iterator> at(file->NewIterator({}, one.get()));
      const std::string from = key();
      at->Seek(from);
      auto expected = models[name].lower_bound(from);
      for (int moves = 0; moves < 8 && expected != models[name].end(); ++moves) {
        ASSERT_TRUE(at->Valid());
        ASSERT_EQ(at->key().ToString(), expected->first);
        ASSERT_EQ(at->value().ToString(), expected->second);
        if (random.below(2) == 0) {
          at->Next();
          ++expected;
        } else if (expected != models[name].begin()) {
          at->Prev();
          --expected;
        }
      }
      ASSERT_EQ(at->Valid(), expected != models[name].end());
    } else if (dice < 93 && held.empty()) {
      held.push_back({file->GetSnapshot(), models});
    } else if (dice < 97) {
      check(name);
    } else {
      for (const Held& snapshot : held) {
        file->ReleaseSnapshot(snapshot.snapshot);
      }
      held.clear();
      if (dice == 99) {
        file.close();
      }
    }
  }
  for (const Held& one : held) {
    file->ReleaseSnapshot(one.snapshot);
  }
  held.clear();
  for (const std::string& name : all) {
    check(name);
  }
  expect_tidy(file);
}

// A disk that becomes full has no blocks for holes in the file, so only compaction makes holes.
TEST(DbMapDrops, LeaveTheFileItsBlocks) {
  DbFile file;
  const auto file_bytes = [&] {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast.file-bytes", &text));
    return std::stoull(text);
  };
  const Handle users = open_map(*file, "users");
  put(*file, users, "key", std::string(2'000'000, 'v'));
  const uint64_t before = file_bytes();
  ASSERT_TRUE(file->DropColumnFamily(users.get()).ok());
  EXPECT_GE(file_bytes(), before);
  uint64_t returned = 0;
  ASSERT_TRUE(file->Compact(&returned).ok());
  EXPECT_GT(returned, 1'000'000u);
  expect_tidy(file);
}

/// A database in memory whose deletions stay, as they do while a snapshot is open. Counts the keys
/// that its iterators look at.
class WithDeletions final : public HeapDB {
 public:
  WithDeletions() : HeapDB(KeySpace::Kind::with_maps) {}

  size_t looks = 0;

  Status Put(const WriteOptions& o, const Slice& key, const Slice& value) override {
    return DB::Put(o, key, value);
  }
  Status Delete(const WriteOptions& o, const Slice& key) override { return DB::Delete(o, key); }
  Status Write(const WriteOptions& /*options*/, WriteBatch* updates) override {
    return WriteBatchContents::for_each(*updates, [&](const Slice& key, const Slice* value) {
      auto& stored = values_[key.ToString()];
      value == nullptr ? stored.reset() : static_cast<void>(stored = value->ToString());
      return Status::OK();
    });
  }
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override {
    return get_stored(options, key, value);
  }
  Iterator* NewIterator(const ReadOptions& options) override { return iterate_stored(options); }
  const Snapshot* GetSnapshot() override { return nullptr; }
  void ReleaseSnapshot(const Snapshot* /*snapshot*/) override {}
  void CompactRange(const Slice* /*begin*/, const Slice* /*end*/) override {}
  holdfast::Status check() override { return {}; }
  Result<uint64_t> verify_pages() override { return 0u; }

 private:
  using Values = std::map<std::string, std::optional<std::string>>;

  class Walk final : public Iterator {
   public:
    explicit Walk(WithDeletions& db) : db_(db), at_(db.values_.end()) {}
    bool Valid() const override { return at_ != db_.values_.end(); }
    void SeekToFirst() override { Seek({}); }
    void SeekToLast() override { throw std::logic_error("unused"); }
    void Seek(const Slice& target) override { skip(db_.values_.lower_bound(target.ToString())); }
    void Next() override { skip(std::next(at_)); }
    void Prev() override { throw std::logic_error("unused"); }
    Slice key() const override { return at_->first; }
    Slice value() const override { return *at_->second; }
    Status status() const override { return Status::OK(); }

   private:
    void skip(Values::const_iterator at) {
      for (++db_.looks; at != db_.values_.end() && !at->second; ++db_.looks) {
        ++at;
      }
      at_ = at;
    }
    WithDeletions& db_;
    Values::const_iterator at_;
  };

  Status get_stored(const ReadOptions& /*options*/, const Slice& key, std::string* value) override {
    const auto found = values_.find(key.ToString());
    if (found == values_.end() || !found->second) {
      return Status::NotFound(key);
    }
    *value = *found->second;
    return Status::OK();
  }
  Iterator* iterate_stored(const ReadOptions& /*options*/) override { return new Walk(*this); }
  uint64_t stored_bytes(const Slice& /*from*/, const Slice& /*to*/) override { return 0; }
  const Description& engine() const override { throw std::logic_error("unused"); }
  const Superblock& superblock() const override { throw std::logic_error("unused"); }
  const NativeMedium& medium() const override { throw std::logic_error("unused"); }
  const Comparator* comparator() const override { return BytewiseComparator(); }
  Statistics statistics() const override { return {}; }
  size_t open_views() const override { return 0; }
  Result<uint64_t> sequence() override { return 0u; }
  Result<uint64_t> durable_sequence() override { return 0u; }
  uint64_t lag() const override { return 0; }
  PendingUpdates pending() override { return {}; }
  double milliseconds(uint64_t /*ticks*/) const override { return 0; }
  Result<uint64_t> old_versions() override { return 0u; }
  Result<HeapSpace> space() override { return HeapSpace{}; }
  holdfast::Status collect() override { return {}; }
  double oldest_snapshot_seconds() const override { return 0; }
  Status check_process() const override { return Status::OK(); }

  Values values_;
};

TEST(DbMapDrops, LookAtEachKeyOnceWhileASnapshotIsOpen) {
  constexpr int kKeys = 5000;
  WithDeletions db;
  const Handle users = open_map(db, "users");
  WriteBatch batch;
  for (int i = 0; i < kKeys; ++i) {
    batch.Put(users.get(), std::to_string(i), "value");
  }
  ASSERT_TRUE(db.Write({}, &batch).ok());
  db.looks = 0;
  ASSERT_TRUE(db.DropColumnFamily(users.get()).ok());
  EXPECT_LT(db.looks, 2u * kKeys);
  const std::unique_ptr<Iterator> at(db.NewIterator({}));
  at->Seek(users->map()->prefix);
  EXPECT_FALSE(at->Valid());
}

TEST(DbMapKeys, AStoredKeyHasOneMeaning) {
  using Part = MapKey::Part;
  std::string buffer;
  EXPECT_EQ(default_key("\xff", &buffer).ToString(), "\xff\xff");
  EXPECT_EQ(MapKey::of("\xff\xff").key.ToString(), "\xff");
  EXPECT_EQ(MapKey::of("").part, Part::entry);
  EXPECT_EQ(MapKey::of(stored_key(KeyKind::next_id)).part, Part::next_id);
  const std::string entry = stored_key(KeyKind::entry, id_bytes(0x01020304)) + "key";
  EXPECT_EQ(entry, "\xff\x03\x01\x02\x03\x04key");
  EXPECT_EQ(MapKey::of(entry).map, 0x01020304u);
  EXPECT_EQ(MapKey::of(entry).key.ToString(), "key");
  EXPECT_EQ(MapKey::of(stored_key(KeyKind::id_of_name, "n")).key.ToString(), "n");
  EXPECT_EQ(MapKey::of(stored_key(KeyKind::name_of_id, id_bytes(9))).map, 9u);
  EXPECT_EQ(end_of_map(stored_key(KeyKind::entry, id_bytes(0xff))),
            stored_key(KeyKind::entry, id_bytes(0x100)));
  for (const std::string& bad :
       {std::string("\xff"), std::string("\xff\x04"), std::string("\xff\0x", 3),
        std::string("\xff\x02\x01"), std::string("\xff\x03\x01\x01\x01"),
        std::string("\xff\x03\0\0\0\0key", 9), std::string("\xff\xfe")}) {
    EXPECT_EQ(MapKey::of(bad).part, Part::unknown);
    WriteBatch batch;
    WriteBatchContents::put(&batch, bad, "value");
    WriteBatch other;
    EXPECT_FALSE(WriteBatchContents::set(&other, WriteBatchContents::of(batch)));
  }
}

}  // namespace
}  // namespace holdfast::db::maps_test
