// SPDX-License-Identifier: Apache-2.0
//
// Does a forked child get errors from its parent's database, and neither hang nor crash?
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/db/durable_engines.h"

namespace holdfast::db::fork_test {
namespace {

class DbFork : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbFork, ::testing::ValuesIn(durable_engines()), engine_name);

/// Expects that the work in a forked child returns true. A child that hangs is killed.
void expect_in_child(const std::function<bool()>& work, const char* what) {
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);
    _exit(work() ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << what << ": " << how;
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
  expect_in_child([&] { return refused(db.Put({}, "a", "b")); }, "Put");
  expect_in_child([&] { return refused(db.Put({}, "a", std::string(300'000, 'b'))); }, "long Put");
  expect_in_child([&] { return refused(db.Get({}, "a", &value)); }, "Get");
  expect_in_child([&] { return refused(db.Get(as_of, "a", &value)); }, "Get of a snapshot");
  expect_in_child([&] { return db.GetSnapshot() == nullptr; }, "GetSnapshot");
  expect_in_child([&] { return db.ReleaseSnapshot(snapshot), true; }, "ReleaseSnapshot");
  expect_in_child([&] { return db.BeginTransaction() == nullptr; }, "BeginTransaction");
  expect_in_child([&] { return refused(db.Transact([](Transaction&) {})); }, "Transact");
  expect_in_child([&] { return refused(db.Compact(nullptr)); }, "Compact");
  expect_in_child([&] { return refused(db.DropColumnFamily(users.get())); }, "Drop");
  expect_in_child([&] { return refused(db.OpenColumnFamily("users", true, &opened)); }, "Open");
  expect_in_child([&] { return !db.GetProperty("holdfast.prometheus", &value); }, "GetProperty");
  expect_in_child([&] { return moves_to_an_error([&] { at->Next(); }); }, "Next");
  expect_in_child([&] { return moves_to_an_error([&] { at->Prev(); }); }, "Prev");
  expect_in_child([&] { return moves_to_an_error([&] { at->Seek("key2"); }); }, "Seek");
  expect_in_child([&] { return at.reset(), true; }, "an iterator's end");
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
  for (int i = 0; i < 20; ++i) {
    expect_in_child(
        [&] {
          db.ReleaseSnapshot(snapshot);
          std::string value;
          return db.GetSnapshot() == nullptr && db.Put({}, "a", "c").IsInvalidArgument() &&
                 !db.GetProperty("holdfast.prometheus", &value);
        },
        "beside other threads");
  }
  stop = true;
  for (std::thread& other : others) {
    other.join();
  }
  db.ReleaseSnapshot(snapshot);
}

}  // namespace
}  // namespace holdfast::db::fork_test
