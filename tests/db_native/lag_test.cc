// SPDX-License-Identifier: Apache-2.0
//
// Writes without sync: when are they durable, and what does a killed process lose?
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <latch>
#include <thread>

#include "tests/child_process.h"
#include "tests/db/durable_engines.h"
#include "tests/native/refuse_call.h"

namespace holdfast::db::lag_test {
namespace {

constexpr uint64_t kForEver = 3'600'000;  // milliseconds

WriteOptions later() {
  WriteOptions options;
  options.sync = false;
  return options;
}

/// Those that lag without a journal, too; the databases of these tests have none.
std::vector<std::string> lagging_engines() {
  return names_of(db_engines(), [](const DbEngine& row) { return row.description->lags; });
}

class DbLag : public DbTest {
 protected:
  DbLag() { file.options.lag_ms = kForEver; }
  uint64_t number(const std::string& property) {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast." + property, &text)) << property;
    return std::stoull(text);
  }
  uint64_t pending() { return number("pending-writes"); }
  void put_later(const std::string& key, const std::string& value = "value") {
    const Status status = file->Put(later(), key, value);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  static bool can_lag() { return about(GetParam()).lags; }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbLag, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbLag, AWriteWithoutSyncIsVisibleAtOnceAndDurableAfterSync) {
  EXPECT_EQ(number("lag"), can_lag() ? file.options.lag : 0);
  put_later("a");
  EXPECT_EQ(get(*file, "a"), "value");
  EXPECT_LE(pending(), can_lag() ? 1u : 0u);
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(pending(), 0u);
}

TEST_P(DbLag, ADurableWriteMakesAllBeforeItDurable) {
  for (int i = 0; i < 10; ++i) {
    put_later("key" + std::to_string(i));
  }
  put(*file, "durable", "value");
  EXPECT_EQ(pending(), 0u);
  put_later("a");
  ASSERT_TRUE(file->Transact([](Transaction& t) { t.Put("b", "value"); }).ok());
  EXPECT_EQ(pending(), 0u);
}

TEST_P(DbLag, NoMoreWritesWaitThanTheLimitAllows) {
  file.options.lag = 5;
  for (int i = 0; i < 100; ++i) {
    put_later("key" + std::to_string(i), std::string(i % 7 == 0 ? 5000 : 5, 'v'));
    ASSERT_LE(pending(), number("lag"));
  }
}

TEST_P(DbLag, NoneWaitsWithoutALimit) {
  file.options.lag = 0;
  put_later("a");
  EXPECT_EQ(number("lag"), 0u);
  EXPECT_EQ(pending(), 0u);
}

TEST_P(DbLag, AnOldWriteBecomesDurableThoughNobodyWrites) {
  file.options.lag_ms = 20;
  put_later("a");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (pending() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(pending(), 0u);
}

class DbThatLags : public DbLag {};
INSTANTIATE_TEST_SUITE_P(Engines, DbThatLags, ::testing::ValuesIn(lagging_engines()), engine_name);

TEST_P(DbThatLags, EveryKindOfWriteMayWait) {
  // Some engines make a write durable in the background at once. A write that is always durable
  // when it returns never waits, however often it is tried.
  const auto waits = [&](auto&& write) {
    for (int tries = 0; tries < 10'000; ++tries) {
      put(*file, "b", "value");
      const Status status = write();
      EXPECT_TRUE(status.ok()) << status.ToString();
      if (pending() > 0) {
        EXPECT_TRUE(file->Sync().ok());
        return true;
      }
    }
    return false;
  };
  WriteBatch batch;
  batch.Put("c", "value");
  EXPECT_TRUE(waits([&] { return file->Write(later(), &batch); }));
  EXPECT_TRUE(
      waits([&] { return file->Transact(later(), [](Transaction& t) { t.Put("c", "value"); }); }));
  EXPECT_TRUE(waits([&] { return file->Delete(later(), "b"); }));
  EXPECT_TRUE(waits([&] { return file->DeleteRange(later(), "a", "z"); }));
  ColumnFamilyHandle* map = nullptr;
  ASSERT_TRUE(file->CreateColumnFamily({}, "users", &map).ok());
  EXPECT_TRUE(waits([&] { return file->Put(later(), map, "a", "value"); }));
  EXPECT_TRUE(waits([&] {
    const Status status = file->Put({}, map, "a", "value");
    return status.ok() ? file->Delete(later(), map, "a") : status;
  }));
  EXPECT_TRUE(file->DestroyColumnFamilyHandle(map).ok());
}

/// The thread that makes writes durable needs a slot, which it may take late.
TEST_P(DbThatLags, NoThreadIsRefusedOnceWritesHaveWaited) {
  file.options.max_threads = 2;
  DB& db = *file;
  put(db, "a", "value");
  std::latch written(2);
  std::latch end(1);
  std::thread second([&] {
    put(db, "b", "value");
    written.count_down();
    end.wait();
  });
  written.arrive_and_wait();
  put_later("c");
  std::thread([&] { put_later("d"); }).join();
  end.count_down();
  second.join();
  EXPECT_EQ(contents(db).size(), 4u);
}

TEST_P(DbThatLags, AWriteNeedsNoNewThread) {
  DB& db = *file;
  std::thread([&] {
    ASSERT_TRUE(holdfast::refuse_call(SYS_clone, EAGAIN));
    ASSERT_TRUE(holdfast::refuse_call(SYS_clone3, EAGAIN));
    put_later("a");
  }).join();
  EXPECT_EQ(get(db, "a"), "value");
  put_later("b");
  ASSERT_TRUE(db.Sync().ok());
}

TEST_P(DbThatLags, AskingForStatisticsMakesNoWriteDurable) {
  file.options.change_feed_bytes = 1 << 20;
  put_later("a");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (pending() == 0) {
    return;  // the engine makes writes durable all the time, and not only old ones
  }
  std::string text;
  ASSERT_TRUE(file->GetProperty("holdfast.prometheus", &text));
  EXPECT_EQ(pending(), 1u);
  ASSERT_TRUE(file->GetProperty("holdfast.sequence", &text));
  EXPECT_EQ(pending(), 0u);
}

TEST_P(DbThatLags, TheAgeOfTheOldestWriteIsShown) {
  EXPECT_EQ(number("oldest-pending-ms"), 0u);
  put_later("a");
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  put_later("b");
  const uint64_t age = number("oldest-pending-ms");
  if (pending() == 2) {  // some engines make writes durable all the time
    EXPECT_GE(age, 29u);
  }
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(number("oldest-pending-ms"), 0u);
}

TEST_P(DbLag, FollowersAndCopiesSeeDurableStateOnly) {
  file.options.change_feed_bytes = 1 << 20;
  put_later("a");
  int seen = 0;
  ASSERT_TRUE(file->ChangesSince(0,
                                 [&](uint64_t, const WriteBatch&) {
                                   EXPECT_EQ(pending(), 0u);
                                   return ++seen < 100;
                                 })
                  .ok());
  EXPECT_EQ(seen, 1);
  put_later("b");
  EXPECT_EQ(number("sequence"), 2u);
  EXPECT_EQ(pending(), 0u);
  put_later("c");
  const NativeTestFile copy;
  unlink(copy.path().c_str());
  ASSERT_TRUE(file->Checkpoint(copy.path()).ok());
  EXPECT_EQ(pending(), 0u);
}

TEST_P(DbLag, ClosingLosesNothing) {
  for (int i = 0; i < 100; ++i) {
    put_later("key" + std::to_string(i));
  }
  file.close();
  EXPECT_EQ(contents(*file).size(), 100u);
  expect_tidy(file);
}

/// Writes in a child process, which ends as if it were killed.
void write_and_die(const Options& options, const std::string& path, int synced, int written) {
  const int how = end_of_child([&] {
    DB* db = nullptr;
    bool ok = DB::Open(options, path, &db).ok();
    for (int i = 0; i < written && ok; ++i) {
      ok =
          db->Put(later(), std::to_string(1000 + i), std::string(i % 50 == 0 ? 9000 : 9, 'v')).ok();
      if (i + 1 == synced) {
        ok = ok && db->Sync().ok();
      }
    }
    return ok ? 0 : 1;
  });
  ASSERT_EQ(how, 0);
}

TEST_P(DbLag, AKilledProcessLosesTheLastWritesOnly) {
  constexpr int kWritten = 300;
  file.options.lag = 20;
  for (const int synced : {0, 295, kWritten}) {
    file.close();
    unlink(file.path().c_str());
    write_and_die(file.options, file.path(), synced, kWritten);
    const Model left = contents(*file);
    const int count = static_cast<int>(left.size());
    EXPECT_GE(count, synced);
    EXPECT_GE(count, can_lag() ? kWritten - 20 : kWritten);
    if (count > 0) {  // the first ones, without a gap
      EXPECT_EQ(left.rbegin()->first, std::to_string(1000 + count - 1));
    }
    expect_tidy(file);
  }
}

TEST(DbLagOptions, AbsurdLimitsAreRefused) {
  for (const auto& [lag, lag_ms] :
       {std::pair<uint64_t, uint64_t>{10, 0}, {10, uint64_t{1} << 40}, {uint64_t{1} << 60, 100}}) {
    DbFile file;
    file.options.lag = lag;
    file.options.lag_ms = lag_ms;
    for (int twice = 0; twice < 2; ++twice) {  // a new file, and an existing one
      DB* opened = nullptr;
      const Status status = DB::Open(file.options, file.path(), &opened);
      EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      EXPECT_NE(status.ToString().find("lag"), std::string::npos) << status.ToString();
      Options plain = file.options;
      plain.lag = 1024;
      plain.lag_ms = 100;
      ASSERT_TRUE(DB::Open(plain, file.path(), &opened).ok());
      delete opened;
    }
  }
}

}  // namespace
}  // namespace holdfast::db::lag_test
