// SPDX-License-Identifier: Apache-2.0
//
// Does opening an existing database refuse options that contradict its file, take over those that
// may be raised, and leave the others free?
#include <atomic>
#include <iterator>
#include <thread>
#include <vector>

#include "holdfast/heap/file/inspect.h"
#include "tests/db/durable_engines.h"
#include "tests/file_bytes.h"

namespace holdfast::db::reopening_test {
namespace {

/// A database with one key, made with DbFile's options.
struct DbReopening : DbTest {
  DbReopening() {
    file.options.initial_bytes = 1 << 20;
    again = file.options;
    again.engine_options = {};
  }

  void make() {
    put(*file, "key", "value");
    file.close();
  }
  Status open() {
    DB* opened = nullptr;
    const Status status = DB::Open(again, file.path(), &opened);
    db.reset(opened);
    EXPECT_EQ(db != nullptr, status.ok());
    return status;
  }
  /// Opening is refused, says what the file has and what to do, and changes nothing.
  void expect_refused(const std::string& has) {
    const std::string before = file_bytes(file.path());
    for (const bool read_only : {false, true}) {
      again.read_only = read_only;
      const Status status = open();
      EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      EXPECT_NE(status.message().find(file.path() + " has " + has), std::string::npos)
          << status.ToString();
      EXPECT_NE(status.message().find("`holdfast convert --"), std::string::npos)
          << status.ToString();
    }
    again.read_only = false;
    EXPECT_EQ(file_bytes(file.path()), before);
  }
  void expect_opens() {
    const Status status = open();
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(get(*db, "key"), "value");
    db.reset();
  }
  const Description& engine() const {
    return *find_row("engine", GetParam(), db_engines(), Code::not_found).value()->description;
  }
  Superblock superblock() const { return inspect_heap_file(file.path()).value().superblock; }

  Options again;  ///< how the file is opened again
  std::unique_ptr<DB> db;
};
INSTANTIATE_TEST_SUITE_P(Engines, DbReopening, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbReopening, TheEngineStays) {
  make();
  again.engine = durable_engines().front() != GetParam() ? durable_engines().front()
                                                         : durable_engines().back();
  expect_refused("engine " + GetParam() + ", not " + again.engine);
  again.engine = "nonsense";
  const Status unknown = open();
  EXPECT_TRUE(unknown.IsInvalidArgument()) << unknown.ToString();
  EXPECT_NE(unknown.message().find("nonsense"), std::string::npos);
  again.engine = GetParam();
  expect_opens();
  again.engine = "";
  expect_opens();
}

TEST_P(DbReopening, OptionsGivenAtCreationStay) {
  const OptionInfo& option = engine().option_list()[0];
  const std::string name = option.name;
  const std::string first = option.tiny != nullptr ? option.fallback : "1";
  file.options.engine_options[name] = first;
  make();
  again.engine_options[name] = option.tiny != nullptr ? option.tiny : "0";
  expect_refused("engine option " + name + "=" + first + ", not " + again.engine_options[name]);
  again.engine_options[name] = first;
  expect_opens();
  again.engine_options = {{"nonsense", "1"}};
  EXPECT_TRUE(open().IsInvalidArgument());
}

TEST_P(DbReopening, OptionsThatLayOutTheFileStay) {
  make();
  const holdfast::Options recorded = superblock().options;
  for (const OptionInfo& option : engine().option_list()) {
    const auto own = recorded.find(option.name);
    const std::string has = own != recorded.end() ? own->second : option.fallback;
    again.engine_options = {{option.name, has}};
    expect_opens();
    if (option.tiny == nullptr) {
      continue;
    }
    again.engine_options = {{option.name, option.tiny}};
    const int slots = static_cast<int>(superblock().slots);
    if (engine().area_bytes(again.engine_options, slots).value() !=
        engine().area_bytes(recorded, slots).value()) {
      expect_refused("engine option " + std::string(option.name) + "=" + has);
    } else {
      expect_opens();
    }
  }
}

TEST_P(DbReopening, OtherOptionsAreFree) {
  make();
  const holdfast::Options recorded = superblock().options;
  for (const char* name : {"background", "combine", "retries", "patience"}) {
    again.engine_options = known_options(engine(), {{name, "0"}});
    if (std::string(name) == "patience" && !again.engine_options.empty()) {
      again.engine_options[name] = "7";
    }
    expect_opens();
  }
  EXPECT_EQ(superblock().options, recorded) << "an opening does not record them";
  again.engine_options = known_options(engine(), {{"background", "7"}});
  if (!again.engine_options.empty()) {
    EXPECT_TRUE(open().IsInvalidArgument()) << "a wrong value";
  }
}

TEST_P(DbReopening, TheLimitIsRaisedAndNotLowered) {
  make();
  const size_t recorded = file.options.max_bytes;
  again.max_bytes = recorded - kPageBytes;
  expect_refused("max_bytes=" + std::to_string(recorded));
  for (const size_t most : {recorded, recorded - 1, size_t{0}}) {
    again.max_bytes = most;
    expect_opens();
    EXPECT_EQ(superblock().capacity, recorded);
  }
  again.max_bytes = 2 * recorded;
  expect_opens();
  EXPECT_EQ(superblock().capacity, 2 * recorded);
  again.max_bytes = recorded;
  expect_refused("max_bytes=" + std::to_string(2 * recorded));
}

/// Puts a key on each of n threads, all of which have begun before one ends.
void put_on_threads(DB& db, int n) {
  std::atomic<int> begun{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 5; ++j) {
        put(db, "thread " + std::to_string(i), std::to_string(j));
        if (j == 0) {
          ++begun;
          while (begun < n) {
            std::this_thread::yield();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_P(DbReopening, TheNumberOfThreadsIsRaised) {
  constexpr int kThreads = 20;
  make();
  put_on_threads(*file, 8);
  Model expected = contents(*file);
  file.close();
  again.max_threads = 3;  // fewer have no effect
  expect_opens();
  EXPECT_EQ(superblock().slots, 9U);
  again.max_threads = kThreads;
  again.read_only = true;
  expect_opens();
  EXPECT_EQ(superblock().slots, 9U);
  again.read_only = false;
  const Status status = open();
  if (engine().layout == Layout::cells) {
    EXPECT_TRUE(status.IsNotSupportedError()) << status.ToString();
    EXPECT_NE(status.message().find("convert --max-threads"), std::string::npos);
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(superblock().slots, kThreads + 1U);
  EXPECT_EQ(contents(*db), expected);
  {
    const Snapshot* const before = db->GetSnapshot();
    put_on_threads(*db, kThreads - 1);
    EXPECT_EQ(contents(*db, before), expected);
    db->ReleaseSnapshot(before);
  }
  for (int i = 0; i < kThreads - 1; ++i) {
    expected["thread " + std::to_string(i)] = "4";
  }
  EXPECT_EQ(contents(*db), expected);
  db.reset();
  file.options.max_threads = 0;
  EXPECT_EQ(contents(*file), expected);
  expect_tidy(file);
  EXPECT_EQ(superblock().slots, kThreads + 1U);
  again.max_threads = kThreads + 1;  // one more
  expect_opens();
  EXPECT_EQ(superblock().slots, kThreads + 2U);
}

TEST(DbDefaults, ANewFileHasTheDefaultEngineAnd64Threads) {
  NativeTestFile place;
  Options options;
  options.create_if_missing = true;
  options.domain = Domain::process;
  options.max_bytes = 64 << 20;
  for (int i = 0; i < 2; ++i) {  // the second time it exists
    DB* opened = nullptr;
    const Status status = DB::Open(options, place.path(), &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    delete opened;
    const Superblock file = inspect_heap_file(place.path()).value().superblock;
    EXPECT_EQ(file.engine, kDefaultEngine);
    EXPECT_EQ(file.slots, 65U);
  }
  for (const int wrong : {-1, 256}) {
    options.max_threads = wrong;
    DB* opened = nullptr;
    const Status status = DB::Open(options, place.path(), &opened);
    EXPECT_TRUE(status.IsInvalidArgument()) << wrong;
    EXPECT_NE(status.message().find("max_threads is from 1 to 255"), std::string::npos);
  }
}

TEST(DbDefaults, ANewFileHasSmallChunksAndFewRecords) {
  for (const size_t bytes : {Options().initial_bytes, size_t{8} << 20}) {
    NativeTestFile place;
    Options options;
    options.create_if_missing = true;
    options.domain = Domain::process;
    options.initial_bytes = bytes;
    options.max_threads = 255;
    DB* opened = nullptr;
    ASSERT_TRUE(DB::Open(options, place.path(), &opened).ok());
    delete opened;
    const Superblock file = inspect_heap_file(place.path()).value().superblock;
    EXPECT_EQ(file.slots, 256U);
    EXPECT_EQ(file.chunk_bytes, 16U << 10);
    EXPECT_EQ(file.growth_bytes, 256U << 10);
    EXPECT_GE(file.data_bytes(), bytes);
    EXPECT_LT(file.data_bytes(), 2 * bytes);
    EXPECT_EQ(file.options, known_options(about(kDefaultEngine), {{"records", "65536"}}));
  }
}

}  // namespace
}  // namespace holdfast::db::reopening_test
