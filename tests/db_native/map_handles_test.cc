// SPDX-License-Identifier: Apache-2.0
//
// Is a dropped map gone, with all its entries, whatever happens meanwhile? Do handles that are no
// good say so? Do followers and copies have the same maps?
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/db/map_keys.h"
#include "tests/db/named_maps.h"

namespace holdfast::db::map_handles_test {
namespace {

class DbMapHandles : public MapsTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbMapHandles, ::testing::ValuesIn(durable_engines()),
                         engine_name);

TEST_P(DbMapHandles, ADroppedMapIsGoneAndItsHandlesSaySo) {
  Handle users = map("users");
  const Handle same = map("users");
  const Handle towns = map("towns");
  for (int i = 0; i < 500; ++i) {
    put(*file, users, std::to_string(i), std::string(i % 100 == 0 ? 9000 : 20, 'u'));
  }
  put(*file, towns, "oslo", "1");
  const Snapshot* const before = file->GetSnapshot();
  WriteBatch batch;
  batch.Put("key", "not written");
  batch.Put(users.get(), "late", "1");
  std::unique_ptr<OptimisticTransaction> late(file->BeginTransaction());
  late->Put(users.get(), "late", "1");
  std::unique_ptr<OptimisticTransaction> deleting(file->BeginTransaction());
  deleting->Put("key", "not written");
  const uint32_t id = users->GetID();
  ASSERT_TRUE(file->DropColumnFamily(users.get()).ok());
  EXPECT_EQ(names(*file), (std::vector<std::string>{"default", "towns"}));

  const char* const kWords = "map 'users' has been dropped";
  std::string value;
  bool committed = true;
  expect_refused(file->Get({}, same.get(), "1", &value), kWords);
  expect_refused(file->Put({}, same.get(), "1", "2"), kWords);
  expect_refused(file->Delete({}, same.get(), "1"), kWords);
  expect_refused(file->Write({}, &batch), kWords);
  expect_refused(file->DropColumnFamily(same.get()), kWords);
  expect_refused(file->DeleteRange({}, same.get(), "a", "b"), kWords);
  expect_refused(std::unique_ptr<Iterator>(file->NewIterator({}, same.get()))->status(), kWords);
  expect_refused(file->Transact([&](Transaction& t) {
    t.Put("key", "not written");
    t.Put(same.get(), "1", "2");
  }),
                 kWords);
  expect_refused(late->Commit(&committed), kWords);
  EXPECT_FALSE(committed);
  expect_refused(deleting->DeleteRange(users.get(), "a", "b"), kWords);
  expect_refused(deleting->Commit(&committed), kWords);
  EXPECT_FALSE(committed);
  expect_refused(file->Transact([&](Transaction& t) {
    t.Put("key", "not written");
    static_cast<void>(t.DeleteRange(same.get(), "a", "b").ok());
  }),
                 kWords);
  late.reset();  // they keep the versions that they may read
  deleting.reset();
  EXPECT_EQ(db::get(*file, "key"), "(none)");

  EXPECT_EQ(contents(*file, same, before).size(), 500u) << "the snapshot is older";
  const Snapshot* const after = file->GetSnapshot();
  ReadOptions as_of_after;
  as_of_after.snapshot = after;
  expect_refused(file->Get(as_of_after, same.get(), "1", &value), kWords);
  expect_refused(std::unique_ptr<Iterator>(file->NewIterator(as_of_after, same.get()))->status(),
                 kWords);
  file->ReleaseSnapshot(after);
  ReadOptions as_of;
  as_of.snapshot = before;
  ColumnFamilyHandle* old = nullptr;
  ASSERT_TRUE(file->OpenColumnFamily(as_of, "users", &old).ok());
  const Handle reopened(old);
  EXPECT_EQ(get(*file, reopened, "499", before), std::string(20, 'u'));
  expect_refused(file->Put({}, old, "1", "2"), kWords);
  expect_refused(file->Get({}, old, "1", &value), kWords);
  file->ReleaseSnapshot(before);

  users = map("users");
  EXPECT_GT(users->GetID(), id);
  EXPECT_EQ(contents(*file, users), Model());
  put(*file, users, "key", "new");
  EXPECT_EQ(contents(*file, towns), (Model{{"oslo", "1"}}));
  expect_tidy(file);
  EXPECT_EQ(contents(*file, map("users")), (Model{{"key", "new"}}));
}

TEST_P(DbMapHandles, OpeningFinishesADropThatWasInterrupted) {
  const Handle users = map("users");
  const Handle towns = map("towns");
  for (int i = 0; i < 300; ++i) {
    put(*file, users, std::to_string(i), "value");
  }
  put(*file, towns, "oslo", "1");
  const std::string id = id_bytes(users->GetID());
  const std::string by_name = stored_key(KeyKind::id_of_name, "users");
  const std::string by_id = stored_key(KeyKind::name_of_id, id);
  WriteBatch names_gone;  // the first transaction of a drop
  WriteBatchContents::erase(&names_gone, by_name);
  WriteBatchContents::erase(&names_gone, by_id);
  ASSERT_TRUE(file->Write({}, &names_gone).ok());
  EXPECT_TRUE(file->Put({}, users.get(), "1", "2").IsInvalidArgument());
  file.options.read_only = true;
  file.close();
  EXPECT_EQ(names(*file), (std::vector<std::string>{"default", "towns"}));
  file.options.read_only = false;
  file.close();
  WriteBatch names_back;
  WriteBatchContents::put(&names_back, by_name, id);
  WriteBatchContents::put(&names_back, by_id, "users");
  ASSERT_TRUE(file->Write({}, &names_back).ok());
  EXPECT_EQ(contents(*file, map("users")), Model()) << "opening deletes the entries";
  EXPECT_EQ(contents(*file, map("towns")), (Model{{"oslo", "1"}}));
  expect_tidy(file);
}

// Closing the snapshot leaves room for a few deletions, such as those of the map's name.
TEST_P(DbMapHandles, AFullHeapDropsAMapAndOpens) {
  file.options.initial_bytes = 1 << 20;
  file.options.max_bytes = 4 << 20;
  Handle big = map("big");
  const auto put_again = [&] {
    for (int i = 0; i < 8; ++i) {
      put(*file, big, "zz00000" + std::to_string(i), "");
    }
  };
  put_again();
  const Snapshot* const snapshot = file->GetSnapshot();
  put_again();
  uint32_t seed = 3;
  for (const size_t bytes : {3000, 1000, 400, 200, 100, 60, 30, 16, 1, 0}) {
    for (int failures = 0; failures < (bytes < 2 ? 300 : 20);) {
      seed = seed * 1664525 + 1013904223;
      const std::string key = std::to_string(10'000'000 + (seed >> 8));
      const Status status = file->Put({}, big.get(), key, std::string(bytes, 'v'));
      failures = status.ok() ? 0 : failures + 1;
    }
  }
  file->ReleaseSnapshot(snapshot);
  const Status dropped = file->DropColumnFamily(big.get());
  EXPECT_TRUE(dropped.ok()) << dropped.ToString();
  big.reset();
  file.close();
  ASSERT_NE(file.open(), nullptr);
  EXPECT_EQ(names(*file), (std::vector<std::string>{"default"}));
  put(*file, "key", std::string(100'000, 'v'));
  expect_tidy(file);
}

TEST_P(DbMapHandles, ADropLeavesItsRoomToValuesOfOtherSizes) {
  file.options.initial_bytes = 1 << 20;
  file.options.max_bytes = 4 << 20;
  const Handle big = map("big");
  Status status;
  for (int i = 0; status.ok(); ++i) {
    status = file->Put({}, big.get(), std::to_string(i), std::string(3000, 'b'));
  }
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  ASSERT_TRUE(file->DropColumnFamily(big.get()).ok());
  for (int i = 0; i < 1000; ++i) {
    put(*file, std::to_string(i), std::string(1000, 's'));
  }
  expect_tidy(file);
}

TEST_P(DbMapHandles, ADropFreesTheEntriesAtOnce) {
  const Handle users = map("users");
  put(*file, users, "long", std::string(300'000, 'l'));
  ASSERT_TRUE(file->DropColumnFamily(users.get()).ok());
  std::string old;
  ASSERT_TRUE(file->GetProperty("holdfast.old-versions", &old));
  EXPECT_EQ(old, "0");
}

TEST_P(DbMapHandles, NumbersRiseAndEnd) {
  for (uint32_t id = 1; id < 4; ++id) {
    EXPECT_EQ(map(std::to_string(id))->GetID(), id);
  }
  const auto set_counter = [&](const std::string& bytes) {
    WriteBatch batch;
    WriteBatchContents::put(&batch, stored_key(KeyKind::next_id), bytes);
    ASSERT_TRUE(file->Write({}, &batch).ok());
  };
  ColumnFamilyHandle* handle = nullptr;
  set_counter(id_bytes(UINT32_MAX - 1));
  EXPECT_EQ(map("last")->GetID(), UINT32_MAX - 1);
  EXPECT_TRUE(file->OpenColumnFamily("more", true, &handle).IsNotSupportedError());
  for (const std::string& damaged : {std::string(), std::string(4, '\0')}) {
    set_counter(damaged);
    const Status status = file->OpenColumnFamily("more", true, &handle);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  }
  WriteBatch batch;
  WriteBatchContents::put(&batch, stored_key(KeyKind::id_of_name, "1"), "bad");
  ASSERT_TRUE(file->Write({}, &batch).ok());
  EXPECT_TRUE(file->OpenColumnFamily("1", false, &handle).IsCorruption());
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(map("2")->GetID(), 2u);
}

/// Decodes the first character and encodes it anew: only the shortest form of a character that is
/// no surrogate is the same. Returns its length; 0 if it is none.
size_t length_of_character(const std::string& text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0xffu;
  };
  for (size_t size = 1; size <= 4; ++size) {
    uint32_t code = size == 1 ? byte(0) : byte(0) & (0x7fu >> size);
    for (size_t i = 1; i < size; ++i) {
      code = code << 6 | (byte(i) & 0x3fu);
    }
    std::string again;
    const auto rest = [&](int shift) { again += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      again += static_cast<char>(code);
    } else if (code < 0x800) {
      again += static_cast<char>(0xc0 | code >> 6);
      rest(0);
    } else if (code < 0x10000) {
      again += static_cast<char>(0xe0 | code >> 12);
      rest(6);
      rest(0);
    } else {
      again += static_cast<char>(0xf0 | code >> 18);
      rest(12);
      rest(6);
      rest(0);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (again == text.substr(0, size) && !surrogate && code <= 0x10ffff) {
      return size;
    }
  }
  return 0;
}

TEST(DbMapNames, AreUtf8) {
  DbFile file;
  ColumnFamilyHandle* handle = nullptr;
  const auto check = [&](const std::string& name) {
    bool good = true;
    for (size_t at = 0; good && at < name.size();) {
      const size_t size = length_of_character(name.substr(at));
      good = size != 0 && name[at] != '\0';
      at += size;
    }
    const Status status = file->OpenColumnFamily(name, false, &handle);
    ASSERT_EQ(status.message(), good ? "there is no map '" + name + "'"
                                     : "the name of a map has 1 to 255 bytes of UTF-8 text without "
                                       "zeros");
  };
  const std::string rests = "\x01\x7f\x80\xbf\xc0\xff";
  for (int first = 0; first < 256 && !HasFailure(); ++first) {
    const std::string start(1, static_cast<char>(first));
    check(start);
    for (int second = 0; second < 256; ++second) {
      const std::string two = start + static_cast<char>(second);
      check(two);
      for (size_t i = 0; first >= 0xdf && i < rests.size(); ++i) {
        check(two + rests[i]);
        for (size_t j = 0; first >= 0xef && j < rests.size(); ++j) {
          check(two + rests[i] + rests[j]);
        }
      }
    }
  }
}

TEST_P(DbMapHandles, BatchesWithImpossibleKeysAreRefused) {
  const std::string keys[] = {"\xff\x04", "\xff"};
  for (const std::string& key : keys) {
    WriteBatch batch;
    WriteBatchContents::put(&batch, key, "value");
    expect_refused(file->Write({}, &batch), "belongs to no map");
    struct Ignoring final : WriteBatch::Handler {
      void Put(const Slice& /*key*/, const Slice& /*value*/) override {}
      void Delete(const Slice& /*key*/) override {}
    } ignoring;
    EXPECT_TRUE(batch.Iterate(&ignoring).IsCorruption());
    WriteBatch other;
    EXPECT_FALSE(WriteBatchContents::set(&other, WriteBatchContents::of(batch)));
    EXPECT_TRUE(WriteBatchContents::set(&other, WriteBatchContents::of(batch), true));
    WriteBatch value;
    value.Put("key", key);
    EXPECT_TRUE(WriteBatchContents::set(&other, WriteBatchContents::of(value)));
  }
  const Handle users = map("users");
  const Handle towns = map("towns");
  WriteBatch named;
  named.Put(users.get(), "a", "1");
  WriteBatch batch;
  batch.Delete(users.get(), "b");
  batch.Put(towns.get(), "a", "1");
  named.Append(batch);
  EXPECT_EQ(WriteBatchContents::maps(named).size(), 2u);
  const std::string bytes = WriteBatchContents::of(named);
  EXPECT_TRUE(WriteBatchContents::set(&named, bytes));
  EXPECT_TRUE(WriteBatchContents::maps(named).empty());
  EXPECT_EQ(WriteBatchContents::of(named), bytes);
  batch.Clear();
  EXPECT_TRUE(WriteBatchContents::maps(batch).empty());
}

TEST_P(DbMapHandles, NamesAndHandlesAreChecked) {
  ColumnFamilyHandle* handle = nullptr;
  for (const std::string& bad :
       {std::string(), std::string(256, 'n'), std::string("a\0b", 3), std::string("\xff"),
        std::string("a\xc3"), std::string("\xc0\x80"), std::string("\xed\xa0\x80"),
        std::string("\xf5\x80\x80\x80"), std::string("\xe0\x80\x80"), std::string("\xc3("),
        std::string("\xe2(\xac"), std::string("\xe2\x82("), std::string("\xf0(\x90\x9f"),
        std::string("\xf0\x9f(\x9f"), std::string("\xf0\x9f\x90(")}) {
    expect_refused(file->OpenColumnFamily(bad, true, &handle), "1 to 255 bytes of UTF-8");
    EXPECT_EQ(handle, nullptr);
  }
  for (const std::string& good : {std::string(255, 'n'), std::string("caf\xc3\xa9"),
                                  std::string("\xf0\x9f\x90\x9f\xe2\x82\xac")}) {
    EXPECT_EQ(map(good)->GetName(), good);
  }
  expect_refused(file->OpenColumnFamily("users", false, &handle), "there is no map 'users'");
  ASSERT_TRUE(file->CreateColumnFamily({}, "users", &handle).ok());
  const Handle users(handle);
  expect_refused(file->CreateColumnFamily({}, "users", &handle), "map 'users' exists already");
  expect_refused(file->CreateColumnFamily({}, "default", &handle), "exists already");
  expect_refused(file->DropColumnFamily(file->DefaultColumnFamily()), "cannot be dropped");
  ASSERT_TRUE(file->OpenColumnFamily("default", false, &handle).ok());
  const Handle by_name(handle);
  put(*file, by_name, "\xff", "1");
  EXPECT_EQ(db::get(*file, "\xff"), "1");
  EXPECT_EQ(contents(*file, by_name), (Model{{"\xff", "1"}}));
  expect_refused(file->DestroyColumnFamilyHandle(file->DefaultColumnFamily()), "the database");
  ASSERT_TRUE(file->OpenColumnFamily("default", false, &handle).ok());
  EXPECT_TRUE(file->DestroyColumnFamilyHandle(handle).ok());
  std::string name;
  EXPECT_TRUE(file->GetProperty("holdfast.map-name" + std::to_string(users->GetID()), &name));
  EXPECT_EQ(name, "users");
  for (const char* const wrong : {"", "0", "77", "1x", "-1", "99999999999"}) {
    EXPECT_FALSE(file->GetProperty(std::string("holdfast.map-name") + wrong, &name)) << wrong;
  }

  DbFile other(GetParam());
  const char* const kWords = "belongs to another database";
  put(*other, open_map(*other, "users"), "key", "of the other one");
  std::string value;
  bool committed = true;
  WriteBatch batch;
  batch.Put(users.get(), "key", "value");
  expect_refused(other->Put({}, users.get(), "key", "value"), kWords);
  expect_refused(other->Get({}, users.get(), "key", &value), kWords);
  expect_refused(other->Write({}, &batch), kWords);
  expect_refused(other->DropColumnFamily(users.get()), kWords);
  for (const ColumnFamilyHandle* of_other : {file->DefaultColumnFamily(), by_name.get()}) {
    WriteBatch of_default;
    of_default.Put(of_other, "key", "value");
    uint64_t bytes = 1;
    const Range whole("", "\xff");
    const auto transact = [&](Transaction& both) { both.Put(of_other, "key", "value"); };
    expect_refused(other->Put({}, of_other, "key", "value"), kWords);
    expect_refused(other->Delete({}, of_other, "key"), kWords);
    expect_refused(other->DeleteRange({}, of_other, "a", "b"), kWords);
    expect_refused(other->Get({}, of_other, "key", &value), kWords);
    expect_refused(other->Write({}, &of_default), kWords);
    expect_refused(other->Transact(transact), kWords);
    other->GetApproximateSizes(of_other, &whole, 1, &bytes);
    EXPECT_EQ(bytes, 0u);
    const std::unique_ptr<Iterator> at(other->NewIterator({}, of_other));
    expect_refused(at->status(), kWords);
    EXPECT_TRUE(file->Write({}, &of_default).ok());
    EXPECT_TRUE(file->Delete({}, of_other, "key").ok());
  }
  EXPECT_EQ(db::get(*other, "key"), "(none)");
  Handle same_number;
  do {
    same_number = open_map(*other, "map " + std::to_string(names(*other).size()));
  } while (same_number->GetID() < users->GetID());
  EXPECT_EQ(same_number->GetID(), users->GetID());
  put(*other, same_number, "key", "of the other one");
  const Range all("", "\xff");
  uint64_t size = 1;
  other->GetApproximateSizes(users.get(), &all, 1, &size);
  EXPECT_EQ(size, 0u);
  const std::unique_ptr<OptimisticTransaction> t(other->BeginTransaction());
  expect_refused(t->Get(users.get(), "key", &value), kWords);
  t->Put(users.get(), "key", "value");
  expect_refused(t->Commit(&committed), kWords);
  EXPECT_FALSE(committed);
  file.close();
  expect_refused(file->Put({}, users.get(), "key", "value"), kWords);
  std::vector<std::string> values;
  const std::vector<Status> found = file->MultiGet({}, {nullptr}, {"a", "b"}, &values);
  ASSERT_EQ(found.size(), 2u);
  expect_refused(found[1], "a map for each key");
}

struct Backwards final : Comparator {
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "backwards"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_P(DbMapHandles, AComparatorOfItsOwnAllowsNoMaps) {
  const Backwards backwards;
  file.options.comparator = &backwards;
  const std::string key("\xff\x03\0\0\0\x01key", 9);
  put(*file, key, "1");
  put(*file, "a", "2");
  ColumnFamilyHandle* handle = nullptr;
  EXPECT_TRUE(file->OpenColumnFamily("users", true, &handle).IsNotSupportedError());
  EXPECT_TRUE(file->CreateColumnFamily({}, "users", &handle).IsNotSupportedError());
  EXPECT_EQ(names(*file), std::vector<std::string>{"default"});
  WriteBatch batch;
  batch.Put("\xff", "3");
  ASSERT_TRUE(file->Write({}, &batch).ok());
  ASSERT_TRUE(file->Transact([&](Transaction& t) { t.Put("\xff\xff", "4"); }).ok());
  const std::unique_ptr<Iterator> at(file->NewIterator({}));
  std::string all;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    all += at->value().ToString();
  }
  EXPECT_EQ(all, "4132");
  WriteBatch stored;
  WriteBatchContents::put(&stored, stored_key(KeyKind::entry, id_bytes(1)), "value");
  EXPECT_TRUE(file->Write({}, &stored).IsNotSupportedError());
  DbFile other(GetParam());
  WriteBatch named;
  named.Put(open_map(*other, "users").get(), "key", "value");
  EXPECT_FALSE(file->Write({}, &named).ok());
  const std::string copy = file.path() + ".copy";
  ASSERT_TRUE(file->Checkpoint(copy).ok());
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(file.options, copy, &opened).ok());
  const std::unique_ptr<DB> owned(opened);
  EXPECT_EQ(db::get(*owned, key), "1");
  EXPECT_EQ(db::get(*owned, "\xff\xff"), "4");
  ASSERT_TRUE(DestroyDB(copy, file.options).IsIOError()) << "it is open";
  owned.get()->CompactRange(nullptr, nullptr);
  unlink(copy.c_str());
}

/// Applies each change with ids to maps of entries.
struct ByNumber final : WriteBatch::Handler {
  void Put(const Slice& key, const Slice& value) override {
    maps[0][key.ToString()] = value.ToString();
  }
  void Delete(const Slice& key) override { maps[0].erase(key.ToString()); }
  Status PutCF(uint32_t id, const Slice& key, const Slice& value) override {
    maps[id][key.ToString()] = value.ToString();
    return Status::OK();
  }
  Status DeleteCF(uint32_t id, const Slice& key) override {
    maps[id].erase(key.ToString());
    return Status::OK();
  }
  Status CreateCF(uint32_t id, const Slice& name) override {
    names[id] = name.ToString();
    return Status::OK();
  }
  Status DropCF(uint32_t id) override {
    names.erase(id);
    return Status::OK();
  }
  std::map<uint32_t, Model> maps;
  std::map<uint32_t, std::string> names;
};

TEST_P(DbMapHandles, AFollowerGetsTheChangesOfAllMapsAndACopyHasThem) {
  file.options.change_feed_bytes = 16 << 20;
  const Handle users = map("users");
  put(*file, users, "ada", "1");
  const std::string copy = file.path() + ".copy";
  ASSERT_TRUE(file->Checkpoint(copy).ok());
  DbFile whole(GetParam());  // follows from the beginning
  {
    const Handle towns = map("towns");
    put(*file, towns, "oslo", std::string(200000, 'o'));
    put(*file, "\xff", "2");
    ASSERT_TRUE(file->Delete({}, users.get(), "ada").ok());
    put(*file, users, "bob", "3");
    const Handle gone = map("gone");
    put(*file, gone, "key", "4");
    ASSERT_TRUE(file->DropColumnFamily(gone.get()).ok());
  }
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(file.options, copy, &opened).ok());
  std::unique_ptr<DB> later(opened);
  EXPECT_EQ(contents(*later, open_map(*later, "users")), (Model{{"ada", "1"}}));
  ByNumber by_number;
  ASSERT_TRUE(file->ChangesSince(0,
                                 [&](uint64_t /*sequence*/, const WriteBatch& changes) {
                                   WriteBatch again = changes;
                                   EXPECT_TRUE(whole->Write({}, &again).ok());
                                   EXPECT_TRUE(later->Write({}, &again).ok())
                                       << "some are in the copy already";
                                   EXPECT_TRUE(changes.Iterate(&by_number).ok());
                                   return true;
                                 })
                  .ok());
  const std::map<std::string, Model> expected = {{"default", {{"\xff", "2"}}},
                                                 {"towns", {{"oslo", std::string(200000, 'o')}}},
                                                 {"users", {{"bob", "3"}}}};
  for (DB* db : {&*file, &*whole, later.get()}) {
    ASSERT_EQ(names(*db).size(), expected.size());
    for (const auto& [name, entries] : expected) {
      const Handle one = open_map(*db, name);
      EXPECT_EQ(contents(*db, one), entries) << name;
      EXPECT_EQ(by_number.maps[one->GetID()], entries) << name;
      EXPECT_TRUE(one->GetID() == 0 || by_number.names[one->GetID()] == name);
    }
  }
  struct Old final : WriteBatch::Handler {
    void Put(const Slice& /*key*/, const Slice& /*value*/) override {}
    void Delete(const Slice& /*key*/) override {}
  } old;
  WriteBatch named;
  named.Put(users.get(), "key", "value");
  expect_refused(named.Iterate(&old), "PutCF");
  named.Clear();
  named.Delete(users.get(), "key");
  expect_refused(named.Iterate(&old), "DeleteCF");
  later.reset();
  expect_tidy(whole);
  expect_tidy(file);
  unlink(copy.c_str());
}

TEST_P(DbMapHandles, OpenHandlesOfAFollowerKnowOfADrop) {
  file.options.change_feed_bytes = 1 << 20;
  DbFile follower(GetParam());
  uint64_t at = 0;
  const auto follow = [&] {
    Status applied;
    const Status status = file->ChangesSince(at, [&](uint64_t sequence, const WriteBatch& changes) {
      WriteBatch again = changes;
      applied = follower->Write({}, &again);
      at = applied.ok() ? sequence : at;
      return applied.ok();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return applied;
  };
  const Handle users = map("users");
  put(*file, users, "ada", "1");
  ASSERT_TRUE(follow().ok());
  const Handle there = open_map(*follower, "users");
  const Handle same = open_map(*follower, "users");
  EXPECT_EQ(get(*follower, there, "ada"), "1");
  const Snapshot* const before = follower->GetSnapshot();
  ASSERT_TRUE(file->DropColumnFamily(users.get()).ok());
  ASSERT_TRUE(follow().ok());
  std::string value;
  const char* const kWords = "map 'users' has been dropped";
  expect_refused(follower->Get({}, there.get(), "ada", &value), kWords);
  expect_refused(std::unique_ptr<Iterator>(follower->NewIterator({}, same.get()))->status(),
                 kWords);
  EXPECT_EQ(get(*follower, same, "ada", before), "1") << "the snapshot is older";
  follower->ReleaseSnapshot(before);

  // A map that the follower makes itself takes a number that the next one of the primary has.
  const Handle own = open_map(*follower, "own");
  put(*follower, own, "key", "1");
  const Handle towns = map("towns");
  EXPECT_EQ(towns->GetID(), own->GetID());
  put(*file, towns, "oslo", "2");
  expect_refused(follow(), "the number of map 'own' is that of map 'towns'");
  EXPECT_EQ(names(*follower), (std::vector<std::string>{"default", "own"}));
  EXPECT_EQ(contents(*follower, own), (Model{{"key", "1"}}));
  ASSERT_TRUE(follower->DropColumnFamily(own.get()).ok());
  ASSERT_TRUE(follow().ok());
  EXPECT_EQ(contents(*follower, open_map(*follower, "towns")), (Model{{"oslo", "2"}}));
  expect_tidy(follower);
}

/// While one thread drops a map, others write to it until they are refused. No write stays behind.
TEST_P(DbMapHandles, NoWriteGetsIntoAMapThatIsBeingDropped) {
  DB& db = *file;
  for (int round = 0; round < 20; ++round) {
    const Handle users = map("users");
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 2; ++writer) {
      writers.emplace_back([&db, &users, writer] {
        Status status;
        for (int i = 0; status.ok(); ++i) {
          const std::string key = std::to_string(writer) + " " + std::to_string(i);
          status = i % 2 == 0 ? db.Put({}, users.get(), key, "value")
                              : db.Transact([&](Transaction& t) { t.Put(users.get(), key, "v"); });
        }
        EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      });
    }
    EXPECT_TRUE(db.DropColumnFamily(users.get()).ok());
    for (std::thread& writer : writers) {
      writer.join();
    }
    const std::string id = id_bytes(users->GetID());
    WriteBatch back;  // shows what the drop has left
    WriteBatchContents::put(&back, stored_key(KeyKind::id_of_name, "left"), id);
    WriteBatchContents::put(&back, stored_key(KeyKind::name_of_id, id), "left");
    ASSERT_TRUE(db.Write({}, &back).ok());
    const Handle left = map("left");
    EXPECT_EQ(contents(db, left), Model());
    ASSERT_TRUE(db.DropColumnFamily(left.get()).ok());
  }
  expect_tidy(file);
}

}  // namespace
}  // namespace holdfast::db::map_handles_test
