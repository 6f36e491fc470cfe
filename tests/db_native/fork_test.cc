// SPDX-License-Identifier: Apache-2.0
//
// Does a forked child get errors from its parent's database, and neither hang nor crash?
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/child_process.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::fork_test {
namespace {

class DbFork : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbFork, ::testing::ValuesIn(durable_engines()), engine_name);

/// A call in a child, and its name.
struct Call {
  const char* name;
  std::function<bool()> as_expected;
};

/// Expects that each call in a forked child returns true. A child that hangs is killed. Children
/// are slow under a sanitizer, so one makes all calls.
void expect_in_child(const std::vector<Call>& calls) {
  constexpr int kFirstWrong = 100;  // sanitizers have statuses of their own
  const int how = end_of_child([&] {
    for (size_t i = 0; i < calls.size(); ++i) {
      alarm(60);
      if (!calls[i].as_expected()) {
        return kFirstWrong + static_cast<int>(i);
      }
    }
    return 0;
  });
  const size_t wrong = static_cast<size_t>(WEXITSTATUS(how)) - kFirstWrong;
  EXPECT_EQ(how, 0) << (WIFEXITED(how) && wrong < calls.size() ? calls[wrong].name : "a call");
}

TEST_P(DbFork, AChildGetsErrors) {
  for (int i = 0; i < 500; ++i) {
    put(*file, "key" + std::to_string(i), "value");
  }
  DB& db = *file;
  ColumnFamilyHandle* opened = nullptr;
  ASSERT_TRUE(db.OpenColumnFamily("users", true, &opened).ok());
  const std::unique_ptr<ColumnFamilyHandle> users(opened);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(db.Put({}, users.get(), "key" + std::to_string(i), "value").ok());
  }
  const Snapshot* const snapshot = db.GetSnapshot();
  std::unique_ptr<Iterator> at(db.NewIterator({}));
  at->SeekToFirst();
  std::string value;
  ReadOptions as_of;
  as_of.snapshot = snapshot;
  const auto refused = [](const Status& status) { return status.IsInvalidArgument(); };
  const std::string longer(300'000, 'b');
  expect_in_child({
      {"Put", [&] { return refused(db.Put({}, "a", "b")); }},
      {"Put of a long value", [&] { return refused(db.Put({}, "a", longer)); }},
      {"Get", [&] { return refused(db.Get({}, "a", &value)); }},
      {"Get of a snapshot", [&] { return refused(db.Get(as_of, "a", &value)); }},
      {"GetSnapshot", [&] { return db.GetSnapshot() == nullptr; }},
      {"BeginTransaction", [&] { return db.BeginTransaction() == nullptr; }},
      {"Transact", [&] { return refused(db.Transact([](Transaction&) {})); }},
      {"Compact", [&] { return refused(db.Compact(nullptr)); }},
      {"DropColumnFamily", [&] { return refused(db.DropColumnFamily(users.get())); }},
      {"OpenColumnFamily", [&] { return refused(db.OpenColumnFamily("users", true, &opened)); }},
      {"GetProperty", [&] { return !db.GetProperty("holdfast.prometheus", &value); }},
      {"ReleaseSnapshot", [&] { return db.ReleaseSnapshot(snapshot), true; }},
      {"an iterator's end", [&] { return at.reset(), true; }},
  });
  db.ReleaseSnapshot(snapshot);
  at.reset();
  put(db, "a", "b");
}

// An iterator holds entries that it has read ahead, and others hold it.
TEST_P(DbFork, AChildsIteratorsEndInErrors) {
  DB& db = *file;
  ColumnFamilyHandle* opened = nullptr;
  ASSERT_TRUE(db.OpenColumnFamily("users", true, &opened).ok());
  const std::unique_ptr<ColumnFamilyHandle> users(opened);
  for (int i = 0; i < 500; ++i) {
    put(db, "key" + std::to_string(i), "value");
    ASSERT_TRUE(db.Put({}, users.get(), "key" + std::to_string(i), "value").ok());
  }
  const Slice end("key9");
  ReadOptions bounded;
  bounded.iterate_upper_bound = &end;
  const std::vector<std::function<Iterator*()>> kinds = {
      [&] { return db.NewIterator({}); },
      [&] { return db.NewIterator(bounded); },
      [&] { return db.NewIterator({}, users.get()); },
  };
  Slice key;
  Slice value;
  const std::vector<std::pair<const char*, std::function<void(Iterator&)>>> moves = {
      {"Next", [](Iterator& at) { at.Next(); }},
      {"Prev", [](Iterator& at) { at.Prev(); }},
      {"Seek", [](Iterator& at) { at.Seek("key2"); }},
      {"NextEntry", [&](Iterator& at) { at.NextEntry(&key, &value); }},
      {"PrevEntry", [&](Iterator& at) { at.PrevEntry(&key, &value); }},
  };
  std::vector<std::unique_ptr<Iterator>> iterators;
  std::vector<Call> calls;
  for (const auto& make : kinds) {
    for (const auto& [name, move] : moves) {
      Iterator& at = *iterators.emplace_back(make());
      at.SeekToFirst();
      for (int i = 0; i < 10; ++i) {
        at.Next();
      }
      ASSERT_TRUE(at.Valid());
      calls.push_back({name, [&at, &move = move] {
                         for (int i = 0; i < 1000 && at.Valid(); ++i) {
                           move(at);
                         }
                         return !at.Valid() && at.status().IsInvalidArgument();
                       }});
    }
  }
  expect_in_child(calls);
  for (const auto& at : iterators) {
    EXPECT_TRUE(at->Valid());
    at->Next();
    EXPECT_TRUE(at->Valid());
  }
}

// A lock that another thread holds at the fork stays held in the child.
TEST_P(DbFork, AChildWaitsForNoLockOfItsParentsThreads) {
  DB& db = *file;
  put(db, "a", "b");
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      std::string value;
      while (!stop) {
        const Snapshot* const snapshot = db.GetSnapshot();
        EXPECT_TRUE(db.Put({}, "a", "b").ok());
        db.ReleaseSnapshot(snapshot);
        EXPECT_TRUE(db.GetProperty("holdfast.prometheus", &value));
      }
    });
  }
  const Snapshot* const snapshot = db.GetSnapshot();
  for (int i = 0; i < 6; ++i) {
    std::string value;
    expect_in_child({
        {"ReleaseSnapshot", [&] { return db.ReleaseSnapshot(snapshot), true; }},
        {"GetSnapshot", [&] { return db.GetSnapshot() == nullptr; }},
        {"Put", [&] { return db.Put({}, "a", "c").IsInvalidArgument(); }},
        {"GetProperty", [&] { return !db.GetProperty("holdfast.prometheus", &value); }},
    });
  }
  stop = true;
  for (std::thread& other : others) {
    other.join();
  }
  db.ReleaseSnapshot(snapshot);
}

}  // namespace
}  // namespace holdfast::db::fork_test
