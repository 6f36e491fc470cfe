// SPDX-License-Identifier: Apache-2.0
//
// Does a forked child get errors from its parent's database, and neither hang nor crash?
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
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
  const Snapshot* const snapshot = db.GetSnapshot();
  std::unique_ptr<Iterator> at(db.NewIterator({}));
  at->SeekToFirst();
  std::string value;
  ReadOptions as_of;
  as_of.snapshot = snapshot;
  const auto refused = [](const Status& status) { return status.IsInvalidArgument(); };
  const auto moves_to_an_error = [&](auto&& move) {
    for (int i = 0; i < 1000 && at->Valid(); ++i) {
      move();
    }
    return !at->Valid() && refused(at->status());
  };
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
  // An error ends an iterator for good, so each move has a child of its own.
  expect_in_child({{"Next", [&] { return moves_to_an_error([&] { at->Next(); }); }}});
  expect_in_child({{"Prev", [&] { return moves_to_an_error([&] { at->Prev(); }); }}});
  expect_in_child({{"Seek", [&] { return moves_to_an_error([&] { at->Seek("key2"); }); }}});
  db.ReleaseSnapshot(snapshot);
  at.reset();
  put(db, "a", "b");
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
