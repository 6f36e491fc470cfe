// SPDX-License-Identifier: Apache-2.0
//
// Does the interface behave like LevelDB's, on engines of every family?
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/db/durable_engines.h"

namespace holdfast::db::semantics_test {
namespace {

class DbSemantics : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbSemantics, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbSemantics, GetPutDelete) {
  std::string value = "untouched";
  EXPECT_TRUE(file->Get({}, "k", &value).IsNotFound());
  EXPECT_EQ(value, "untouched");
  EXPECT_TRUE(file->Delete({}, "k").ok()) << "a key that is not there is no error";
  put(*file, "k", "v");
  put(*file, "k", "w");
  EXPECT_EQ(get(*file, "k"), "w");
  EXPECT_TRUE(file->Delete({}, "k").ok());
  EXPECT_EQ(get(*file, "k"), "(none)");
  put(*file, "k", std::string(100, 'a'));
  EXPECT_EQ(get(*file, "k"), std::string(100, 'a'));
  std::string text = "k";  // one string for the key and the value
  EXPECT_TRUE(file->Get({}, text, &text).ok());
  EXPECT_EQ(text, std::string(100, 'a'));
  EXPECT_TRUE(file->Get({}, text, &text).IsNotFound());
  EXPECT_EQ(text, std::string(100, 'a'));
}

TEST_P(DbSemantics, KeysAndValuesOfAnyBytes) {
  const std::string zeros("\0\0\0", 3);
  const std::string high("\xff\xfe\0x", 4);
  const std::string longest(70000, 'k');
  const Model all = {{"", ""}, {zeros, high}, {high, zeros}, {"a", ""}, {longest, "long"}};
  for (const auto& [key, value] : all) {
    put(*file, key, value);
  }
  EXPECT_EQ(contents(*file), all);
  file.close();
  EXPECT_EQ(contents(*file), all);
}

TEST_P(DbSemantics, ValuesLargerThanALog) {
  std::string big(5 << 20, '\0');
  for (size_t i = 0; i < big.size(); ++i) {
    big[i] = static_cast<char>(i * 31 + (i >> 13));
  }
  put(*file, "big", big);
  put(*file, "small", "s");
  EXPECT_EQ(get(*file, "big"), big);
  const Snapshot* before = file->GetSnapshot();
  put(*file, "big", "short now");
  EXPECT_TRUE(get(*file, "big", before) == big);
  file->ReleaseSnapshot(before);
  put(*file, "big", big);
  file.close();
  EXPECT_TRUE(get(*file, "big") == big);
  expect_tidy(file);
}

/// Around the longest short value, the bytes of a piece, and those of a transaction.
TEST_P(DbSemantics, ValuesOfAnyLength) {
  constexpr size_t kPiece = 5120 - 16;
  Model model;
  std::vector<std::string> keys;
  for (const size_t bytes : {size_t{1}, size_t{8}, size_t{400}, size_t{4096}, kPiece, 2 * kPiece,
                             size_t{128} << 10, size_t{130} << 10}) {
    for (const size_t length : {bytes - 1, bytes, bytes + 1}) {
      keys.push_back(std::to_string(length));
      std::string& value = model[keys.back()] = std::string(length, '\0');
      for (size_t i = 0; i < length; ++i) {
        value[i] = static_cast<char>(i * 7 + i / 251);
      }
      put(*file, keys.back(), value);
    }
  }
  EXPECT_TRUE(contents(*file) == model);
  WriteBatch batch;  // each key gets another one's value
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.Put(keys[i], model[keys[keys.size() - 1 - i]]);
  }
  const Snapshot* const before = file->GetSnapshot();
  ASSERT_TRUE(file->Write({}, &batch).ok());
  EXPECT_TRUE(contents(*file, before) == model);
  file->ReleaseSnapshot(before);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(get(*file, keys[i]) == model[keys[keys.size() - 1 - i]]) << keys[i];
  }
  expect_tidy(file);
}

TEST_P(DbSemantics, SnapshotsIsolate) {
  put(*file, "a", "1");
  put(*file, "b", "1");
  const Snapshot* first = file->GetSnapshot();
  put(*file, "a", "2");
  EXPECT_TRUE(file->Delete({}, "b").ok());
  put(*file, "c", "2");
  const Snapshot* second = file->GetSnapshot();
  put(*file, "a", "3");
  put(*file, "b", "3");
  EXPECT_EQ(contents(*file, first), (Model{{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(contents(*file, second), (Model{{"a", "2"}, {"c", "2"}}));
  EXPECT_EQ(contents(*file), (Model{{"a", "3"}, {"b", "3"}, {"c", "2"}}));
  EXPECT_EQ(get(*file, "b", second), "(none)");
  file->ReleaseSnapshot(first);
  EXPECT_EQ(contents(*file, second), (Model{{"a", "2"}, {"c", "2"}}));
  file->ReleaseSnapshot(second);
  expect_tidy(file);
}

/// A snapshot keeps the versions that it shows, and no later ones.
TEST_P(DbSemantics, OldVersionsAreKeptForTheirReadersOnly) {
  put(*file, "k", "0");
  const Snapshot* held = file->GetSnapshot();
  for (int i = 1; i <= 200; ++i) {
    put(*file, "k", std::to_string(i));
  }
  std::string old;
  ASSERT_TRUE(file->GetProperty("holdfast.old-versions", &old));
  EXPECT_LE(std::stoi(old), 4) << "the one it shows, and what awaits the next write";
  EXPECT_EQ(get(*file, "k", held), "0");
  file->ReleaseSnapshot(held);
  put(*file, "k", "last");
  put(*file, "k", "last");
  ASSERT_TRUE(file->GetProperty("holdfast.old-versions", &old));
  EXPECT_LE(std::stoi(old), 1) << "later writes free what the last reader has released";
  expect_tidy(file);
}

TEST_P(DbSemantics, IteratorsSeeTheStateTheyWereOpenedOn) {
  for (const char* key : {"b", "d", "f"}) {
    put(*file, key, key);
  }
  const std::unique_ptr<Iterator> at(file->NewIterator({}));
  EXPECT_FALSE(at->Valid());
  at->Seek("c");
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->key().ToString(), "d");
  // The caller writes between steps, and deletes the key at which the iterator is.
  EXPECT_TRUE(file->Delete({}, "d").ok());
  EXPECT_TRUE(file->Delete({}, "f").ok());
  put(*file, "e", "new");
  put(*file, "b", "new");
  EXPECT_EQ(at->value().ToString(), "d");
  at->Next();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->key().ToString(), "f");
  at->Next();
  EXPECT_FALSE(at->Valid());
  at->SeekToLast();
  EXPECT_EQ(at->key().ToString(), "f");
  at->Prev();
  EXPECT_EQ(at->key().ToString(), "d");
  at->Prev();
  EXPECT_EQ(at->value().ToString(), "b");
  at->Prev();
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().ok());
  EXPECT_EQ(contents(*file), (Model{{"b", "new"}, {"e", "new"}}));
}

TEST_P(DbSemantics, BatchesInOrderAndWhole) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "1");
  batch.Delete("a");
  batch.Put("b", "2");
  WriteBatch more;
  more.Put("c", std::string(9000, 'c'));
  batch.Append(more);
  EXPECT_GT(batch.ApproximateSize(), 9000u);
  struct Recorder : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      text += "put " + key.ToString() + " " + std::to_string(value.size()) + "\n";
    }
    void Delete(const Slice& key) override { text += "delete " + key.ToString() + "\n"; }
    std::string text;
  } recorder;
  ASSERT_TRUE(batch.Iterate(&recorder).ok());
  EXPECT_EQ(recorder.text, "put a 1\nput b 1\ndelete a\nput b 1\nput c 9000\n");
  ASSERT_TRUE(file->Write({}, &batch).ok());
  EXPECT_EQ(contents(*file), (Model{{"b", "2"}, {"c", std::string(9000, 'c')}}));
  batch.Clear();
  ASSERT_TRUE(file->Write({}, &batch).ok());
  expect_tidy(file);
}

TEST_P(DbSemantics, TransactionsAcrossKeys) {
  put(*file, "from", "5");
  const Status status = file->Transact([](Transaction& t) {
    std::string v;
    ASSERT_TRUE(t.Get("from", &v).ok());
    t.Delete("from");
    t.Put("to", v);
    ASSERT_TRUE(t.Get("from", &v).IsNotFound()) << "reads see the own writes";
    ASSERT_TRUE(t.Get("to", &v).ok());
  });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(contents(*file), (Model{{"to", "5"}}));
}

TEST_P(DbSemantics, TransactionsRollBack) {
  put(*file, "a", "1");
  const auto change = [](Transaction& t) {
    t.Put("a", "2");
    t.Put("b", "2");
    t.Delete("a");
  };
  EXPECT_THROW(static_cast<void>(file->Transact([&](Transaction& t) {
                 change(t);
                 throw std::runtime_error("no");
               })),
               std::runtime_error);
  const Status status = file->Transact([&](Transaction& t) {
    change(t);
    return Status::InvalidArgument("not today");
  });
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_EQ(contents(*file), (Model{{"a", "1"}}));
  expect_tidy(file);
}

uint64_t used_bytes(DB& db) {
  std::string value;
  EXPECT_TRUE(db.GetProperty("holdfast.used-bytes", &value));
  return std::stoull(value);
}

/// Puts values of these sizes in turn until the heap is full. Returns the failure.
Status fill(DbFile& file, const std::string& prefix, const std::vector<size_t>& sizes,
            Model& written) {
  Status status;
  for (size_t i = 0; status.ok() && i < 10000; ++i) {
    const std::string key = prefix + std::to_string(i);
    const std::string value(sizes[i % sizes.size()], static_cast<char>('a' + i % 26));
    status = file->Put({}, key, value);
    if (status.ok()) {
      written[key] = value;
    }
  }
  return status;
}

TEST_P(DbSemantics, AFullHeapFailsAndLosesNothing) {
  file.options.max_bytes = 8 << 20;
  Model written;
  const Status status = fill(file, "key", {150000, 3000, 6000, 3000, 3000, 3000, 3000}, written);
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  EXPECT_NE(status.message().find("larger max_bytes"), std::string::npos) << status.message();
  EXPECT_GT(written.size(), 100u);
  EXPECT_EQ(contents(*file), written);
  file.close();
  EXPECT_EQ(contents(*file), written);
  expect_tidy(file);
}

// It begins with a block that was freed, so it must not take what that holds for a piece.
TEST_P(DbSemantics, ALongValueWithoutRoomForItsFirstPieceLeavesNothing) {
  file.options.max_bytes = 8 << 20;
  Model written;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(file->Put({}, "freed" + std::to_string(i), std::string(6000, 'f')).ok());
  }
  EXPECT_TRUE(fill(file, "key", {3000}, written).IsIOError());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(file->Delete({}, "freed" + std::to_string(i)).ok());
  }
  EXPECT_TRUE(fill(file, "more", {3000}, written).IsIOError());
  const uint64_t used = used_bytes(*file);
  EXPECT_TRUE(file->Put({}, "long", std::string(300000, 'l')).IsIOError());
  EXPECT_LE(used_bytes(*file), used) << "what was written is freed at once";
  EXPECT_EQ(contents(*file), written);
  expect_tidy(file);
}

// Parts would take the last blocks from other writers for a moment.
TEST_P(DbSemantics, AFullHeapIsNotTriedInParts) {
  file.options.max_bytes = 8 << 20;
  Model written;
  EXPECT_TRUE(fill(file, "key", {3000}, written).IsIOError());
  const auto updates = [&] {
    std::string stats;
    EXPECT_TRUE(file->GetProperty("holdfast.stats", &stats));
    return std::stoull(stats.substr(stats.find("\nupdates ") + 9));
  };
  const uint64_t before = updates();
  EXPECT_TRUE(file->Put({}, "long", std::string(20000, 'l')).IsIOError());
  EXPECT_LE(updates(), before + 1) << "it looks for values to free";
}

TEST_P(DbSemantics, ARefusedLongValueLeavesItsRoomToShortOnes) {
  file.options.initial_bytes = 1 << 20;
  file.options.max_bytes = 4 << 20;
  const auto put_some = [&](const std::string& prefix) {
    for (int i = 0; i < 200; ++i) {
      put(*file, prefix + std::to_string(i), std::string(3000, 's'));
    }
  };
  put_some("before");
  EXPECT_TRUE(file->Put({}, "long", std::string(4 << 20, 'l')).IsIOError());
  put_some("after");
  expect_tidy(file);
}

TEST_P(DbSemantics, AFullHeapFreesTheOldVersionsOfOtherThreads) {
  file.options.max_bytes = 8 << 20;
  DB& db = *file;
  std::thread([&] {
    for (int twice = 0; twice < 2; ++twice) {
      WriteBatch batch;
      for (int i = 0; i < 40; ++i) {
        batch.Put("other " + std::to_string(i), std::string(1000, 'o'));
      }
      ASSERT_TRUE(db.Write({}, &batch).ok());
    }
  }).join();
  std::string old;
  ASSERT_TRUE(db.GetProperty("holdfast.old-versions", &old));
  EXPECT_GE(std::stoi(old), 40);
  Model written;
  EXPECT_TRUE(fill(file, "key", {3000}, written).IsIOError());
  ASSERT_TRUE(db.GetProperty("holdfast.old-versions", &old));
  EXPECT_EQ(old, "0");
  EXPECT_EQ(contents(db).size(), written.size() + 40);
  expect_tidy(file);
}

TEST_P(DbSemantics, ALongValueIsReplacedAgainAndAgainWhereTwoFit) {
  for (const uint64_t feed : {0, 1}) {
    DbFile small(GetParam());
    small.options.initial_bytes = 1 << 20;
    small.options.max_bytes = 4 << 20;
    small.options.change_feed_bytes = feed;
    const size_t bytes = feed == 0 ? 1'400'000 : 700'000;  // the feed has the value once more
    for (int i = 0; i < 6; ++i) {
      const Status status = small->Put({}, "key", std::string(bytes, static_cast<char>('a' + i)));
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    EXPECT_EQ(get(*small, "key"), std::string(bytes, 'f'));
    expect_tidy(small);
  }
}

TEST_P(DbSemantics, ReplacedLongValuesGiveTheirSpaceBack) {
  uint64_t first = 0;
  for (int i = 0; i < 20; ++i) {
    put(*file, "key", std::string(300000, static_cast<char>('a' + i)));
    first = i == 0 ? used_bytes(*file) : first;
  }
  EXPECT_LT(used_bytes(*file), first + 3 * 300000);
  put(*file, "key", "short");
  put(*file, "other", "short");
  EXPECT_LT(used_bytes(*file), first - 200000);
  expect_tidy(file);
}

Status try_open(const Options& options, const std::string& path) {
  DB* db = nullptr;
  const Status status = DB::Open(options, path, &db);
  EXPECT_EQ(db != nullptr, status.ok());
  delete db;
  return status;
}

TEST(DbOpening, CreatesAndRefusesAsAsked) {
  DbFile file;
  file.options.create_if_missing = false;
  EXPECT_TRUE(try_open(file.options, file.path()).IsInvalidArgument());
  file.options.create_if_missing = true;
  EXPECT_TRUE(try_open(file.options, file.path()).ok());
  file.options.error_if_exists = true;
  EXPECT_TRUE(try_open(file.options, file.path()).IsInvalidArgument());
  file.options.error_if_exists = false;
  file.options.engine = durable_engines().back();
  ASSERT_NE(file.options.engine, kDefaultEngine);
  EXPECT_TRUE(try_open(file.options, file.path()).IsInvalidArgument()) << "it has another engine";
  file.options.engine = "";
  std::string engine;
  ASSERT_TRUE(file->GetProperty("holdfast.engine", &engine));
  EXPECT_EQ(engine, kDefaultEngine);
  EXPECT_TRUE(try_open(file.options, file.path()).IsIOError()) << "it is open already";
}

TEST(DbOpening, RefusesEnginesThatKeepNothing) {
  DbFile file;
  auto refused = names_of(db_engines(), [](const DbEngine& row) { return row.open == nullptr; });
  refused.emplace_back("no such engine");
  for (const std::string& engine : refused) {
    file.options.engine = engine;
    EXPECT_FALSE(try_open(file.options, file.path()).ok()) << engine;
  }
  file.options.engine = durable_engines().front();
  EXPECT_TRUE(try_open(file.options, file.path()).ok()) << "no file was left behind";
}

TEST(DbOpening, TakesADirectoryAsLevelDBDoes) {
  const NativeTestFile place;
  const std::string name = place.directory() + "/directory";
  Options options;
  options.domain = Domain::process;
  ASSERT_TRUE(Env::Default()->CreateDir(name).ok());
  DB* db = nullptr;
  EXPECT_TRUE(DB::Open(options, name, &db).IsInvalidArgument()) << "no database is in it";
  options.create_if_missing = true;
  options.error_if_exists = true;
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "x", name + "/other").ok());
  EXPECT_TRUE(DB::Open(options, name, &db).IsInvalidArgument()) << "hardly meant to be one";
  EXPECT_FALSE(Env::Default()->FileExists(name + "/holdfast.db"));
  ASSERT_TRUE(Env::Default()->RemoveFile(name + "/other").ok());
  ASSERT_TRUE(DB::Open(options, name, &db).ok());
  put(*db, "key", "value");
  delete db;
  EXPECT_TRUE(DB::Open(options, name, &db).IsInvalidArgument());
  options.error_if_exists = false;
  ASSERT_TRUE(DB::Open(options, name, &db).ok());
  EXPECT_EQ(get(*db, "key"), "value");
  delete db;
  EXPECT_TRUE(Env::Default()->FileExists(name + "/holdfast.db"));

  ASSERT_TRUE(WriteStringToFile(Env::Default(), "x", name + "/another").ok());
  EXPECT_TRUE(DestroyDB(name, options).ok());
  EXPECT_TRUE(Env::Default()->FileExists(name + "/another")) << "only the database goes";
  ASSERT_TRUE(Env::Default()->RemoveFile(name + "/another").ok());
  EXPECT_TRUE(DestroyDB(name, options).ok());
  EXPECT_FALSE(Env::Default()->FileExists(name));
}

TEST(DbOpening, DestroysAndRepairs) {
  DbFile file;
  put(*file, "k", "v");
  EXPECT_FALSE(DestroyDB(file.path(), file.options).ok()) << "it is open";
  file.close();
  Options careful = file.options;
  careful.error_if_exists = true;
  EXPECT_TRUE(RepairDB(file.path(), careful).ok());
  EXPECT_FALSE(RepairDB(file.path() + "2", careful).ok());
  EXPECT_FALSE(Env::Default()->FileExists(file.path() + "2"));
  EXPECT_EQ(get(*file, "k"), "v");
  file.close();
  EXPECT_TRUE(DestroyDB(file.path(), file.options).ok());
  EXPECT_TRUE(DestroyDB(file.path(), file.options).ok()) << "there is none: no error";
  EXPECT_EQ(get(*file, "k"), "(none)");
}

/// All strings of up to three of these bytes.
std::vector<std::string> short_strings() {
  std::vector<std::string> all = {""};
  for (size_t i = 0; all[i].size() < 3; ++i) {
    for (const char c : {'\0', 'a', 'b', 'd', '\xfe', '\xff'}) {
      all.push_back(all[i] + c);
    }
  }
  return all;
}

TEST(DbComparator, ShortensAsLevelDbDoes) {
  const auto between = [](std::string start, const std::string& limit) {
    BytewiseComparator()->FindShortestSeparator(&start, limit);
    return start;
  };
  const auto above = [](std::string key) {
    BytewiseComparator()->FindShortSuccessor(&key);
    return key;
  };
  EXPECT_EQ(between("foo", "foo"), "foo");
  EXPECT_EQ(between("foo", "foobar"), "foo");
  EXPECT_EQ(between("abc1xy", "abc3xy"), "abc2");
  EXPECT_EQ(between("abc1xy", "abc2xy"), "abc1xy") << "no byte lies between";
  EXPECT_EQ(between("b", "a"), "b") << "the limit is below";
  EXPECT_EQ(above("abc"), "b");
  EXPECT_EQ(above("\xff\xff"
                  "ab"),
            "\xff\xff"
            "b");
  EXPECT_EQ(above("\xff\xff"), "\xff\xff") << "there is none";
  for (const std::string& start : short_strings()) {
    const std::string next = above(start);
    EXPECT_TRUE(Slice(start).compare(next) <= 0 && next.size() <= start.size());
    for (const std::string& limit : short_strings()) {
      const std::string got = between(start, limit);
      EXPECT_LE(got.size(), start.size());
      EXPECT_LE(Slice(start).compare(got), 0);
      EXPECT_TRUE(got == start || Slice(got).compare(limit) < 0);
    }
  }
}

class Backwards : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.Backwards"; }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}
};

TEST(DbOpening, ComparatorsOrderAndMustMatch) {
  const Backwards backwards;
  DbFile file;
  file.options.comparator = &backwards;
  for (int i = 0; i < 500; ++i) {
    put(*file, std::to_string(i), "v");
  }
  {
    const std::unique_ptr<Iterator> at(file->NewIterator({}));
    std::string before = "x";
    int n = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++n) {
      ASSERT_LT(at->key().ToString(), before);
      before = at->key().ToString();
    }
    EXPECT_EQ(n, 500);
  }
  file.close();
  file.options.comparator = BytewiseComparator();
  EXPECT_TRUE(try_open(file.options, file.path()).IsInvalidArgument());
  file.options.comparator = &backwards;
  EXPECT_TRUE(try_open(file.options, file.path()).ok());
}

/// The order of bytes, without the shortcuts for it.
class Forwards : public Backwards {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return "test.Forwards"; }
};

/// A node of the tree has a key's first 16 bytes, and a search copies 128 further ones.
TEST(DbOpening, KeysMayDifferAtAnyByte) {
  const Forwards forwards;
  const Comparator* const comparators[] = {BytewiseComparator(), &forwards};
  for (const Comparator* const comparator : comparators) {
    DbFile file;
    file.options.comparator = comparator;
    Model model;
    for (const char fill : {'\0', 'p'}) {
      for (const size_t common : {0u, 1u, 7u, 8u, 14u, 15u, 16u, 17u, 126u, 127u, 128u, 129u, 142u,
                                  143u, 144u, 145u, 2000u}) {
        for (const std::string& rest : {std::string(), std::string(1, '\0'), std::string(2, '\0'),
                                        std::string("a"), std::string("ab"), std::string("b")}) {
          const std::string key = std::string(common, fill) + rest;
          put(*file, key, model[key] = std::to_string(model.size()));
        }
      }
    }
    EXPECT_EQ(contents(*file), model);
    for (const auto& [key, value] : model) {
      EXPECT_EQ(get(*file, key), value);
      EXPECT_EQ(get(*file, key + "\x01"), "(none)");
      const std::unique_ptr<Iterator> at(file->NewIterator({}));
      at->Seek(key);
      ASSERT_TRUE(at->Valid());
      EXPECT_EQ(at->key().ToString(), key);
    }
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(file->Delete({}, key).ok());
    }
    EXPECT_EQ(contents(*file), Model());
    expect_tidy(file);
  }
}

class CaseBlind : public Backwards {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return lower(a).compare(lower(b)); }
  const char* Name() const override { return "test.CaseBlind"; }

 private:
  static std::string lower(const Slice& text) {
    std::string lower = text.ToString();
    for (char& c : lower) {
      c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return lower;
  }
};

/// Each version keeps the bytes of its own key, although the comparator takes them for equal.
TEST(DbOpening, AComparatorMayTakeDifferentBytesForOneKey) {
  const CaseBlind case_blind;
  DbFile file;
  file.options.comparator = &case_blind;
  const auto key = [](char first, int i) {
    return first + std::string(i % 2 == 0 ? 1 : 30, 'k') + std::to_string(i);
  };
  Model small;
  Model large;
  for (int i = 0; i < 100; ++i) {
    put(*file, key('k', i), small[key('k', i)] = "small");
    large[key('K', i)] = "large";
  }
  const Snapshot* const before = file->GetSnapshot();
  for (const auto& [k, value] : large) {
    put(*file, k, value);
  }
  EXPECT_EQ(get(*file, key('k', 7)), "large");
  EXPECT_EQ(contents(*file), large);
  EXPECT_EQ(contents(*file, before), small);
  const Status sound = file->Verify();
  EXPECT_TRUE(sound.ok()) << sound.ToString();
  for (const auto& [k, value] : small) {
    ASSERT_TRUE(file->Delete({}, k).ok());
  }
  EXPECT_EQ(contents(*file), Model());
  EXPECT_EQ(contents(*file, before), small);
  file->ReleaseSnapshot(before);
  std::unique_ptr<OptimisticTransaction> both(file->BeginTransaction());
  both->Put("Key", "1");
  both->Put("KEY", "2");
  bool committed = false;
  ASSERT_TRUE(both->Commit(&committed).ok());
  both.reset();
  EXPECT_EQ(contents(*file), (Model{{"KEY", "2"}})) << "the last key's bytes, as with a batch";
  expect_tidy(file);
}

TEST(DbProperties, SizesAndNames) {
  DbFile file;
  for (int i = 100; i < 1000; ++i) {
    put(*file, std::to_string(i), std::string(97, 'v'));
  }
  const Range ranges[] = {{"100", "200"}, {"", "~"}, {"5", "4"}};
  uint64_t sizes[3];
  file->GetApproximateSizes(ranges, 3, sizes);
  EXPECT_EQ(sizes[0], 100u * 100);
  EXPECT_EQ(sizes[1], 900u * 100);
  EXPECT_EQ(sizes[2], 0u);
  std::string value;
  for (const char* name : {"leveldb.stats", "leveldb.num-files-at-level0", "leveldb.sstables",
                           "leveldb.approximate-memory-usage", "holdfast.open-snapshots"}) {
    EXPECT_TRUE(file->GetProperty(name, &value)) << name;
  }
  EXPECT_FALSE(file->GetProperty("holdfast.nonsense", &value));
}

/// The sizes are the room that a range takes, so they include old versions that are still there.
TEST(DbProperties, SizesCountOldVersions) {
  DbFile file;
  const std::string big(50000, 'b');
  put(*file, "foo", big);
  put(*file, "pastfoo", "v");
  const Range range("", "pastfoo");
  uint64_t size = 0;
  const auto measure = [&] { return file->GetApproximateSizes(&range, 1, &size), size; };
  EXPECT_EQ(measure(), 3u + 50000);
  const Snapshot* const before = file->GetSnapshot();
  put(*file, "foo", "tiny");
  put(*file, "pastfoo", "w");
  EXPECT_EQ(get(*file, "foo", before), big);
  EXPECT_EQ(measure(), 3u + 50000 + 3 + 4);
  ASSERT_TRUE(file->Delete({}, "foo").ok());
  EXPECT_GE(measure(), 3u + 50000);
  file->ReleaseSnapshot(before);
  file->CompactRange(nullptr, nullptr);
  EXPECT_EQ(measure(), 0u);
  expect_tidy(file);
}

/// LevelDB's own test expects more than nothing, and less than 5 MiB after one put.
TEST(DbProperties, MemoryIsThePartOfTheFileInMemory) {
  DbFile file;
  file.options.initial_bytes = Options().initial_bytes;
  file.options.max_bytes = Options().max_bytes;
  const auto measure = [&] {
    std::string value;
    EXPECT_TRUE(file->GetProperty("leveldb.approximate-memory-usage", &value));
    return std::stoul(value);
  };
  put(*file, "foo", "v1");
  const size_t before = measure();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 5u << 20);
  put(*file, "big", std::string(3 << 20, 'b'));
  EXPECT_GE(measure(), before + (3u << 20));
}

}  // namespace
}  // namespace holdfast::db::semantics_test
