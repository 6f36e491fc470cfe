// SPDX-License-Identifier: Apache-2.0
//
// Are the numbers about a database those that its other functions show, and are all of them there?
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "holdfast/heap/file/inspect.h"
#include "tests/child_process.h"
#include "tests/db/durable_engines.h"
#include "tests/native/refuse_call.h"

namespace holdfast::db::properties_test {
namespace {

using Numbers = std::map<std::string, uint64_t>;

class DbNumbers : public ::testing::Test {
 protected:
  std::string property(const std::string& name) {
    std::string value = "not set";
    EXPECT_TRUE(file->GetProperty(name, &value)) << name;
    return value;
  }
  uint64_t number(const std::string& name) { return std::stoull(property("holdfast." + name)); }

  /// The samples of property "holdfast.prometheus". Each follows its help and its type.
  Numbers samples() {
    Numbers found;
    std::istringstream lines(property("holdfast.prometheus"));
    const std::string start = "holdfast_db_";
    std::string help;
    std::string type;
    std::string sample;
    while (std::getline(lines, help) && std::getline(lines, type) && std::getline(lines, sample)) {
      const std::string name = sample.substr(0, sample.find('{'));
      EXPECT_EQ(help.rfind("# HELP " + name + " ", 0), 0u) << help;
      EXPECT_EQ(help.back(), '.') << help;
      const bool counts = name.ends_with("_total");
      EXPECT_EQ(type, "# TYPE " + name + (counts ? " counter" : " gauge"));
      EXPECT_EQ(name.rfind(start, 0), 0u) << name;
      found[name.substr(start.size())] = std::stoull(sample.substr(sample.find("} ") + 2));
    }
    return found;
  }
  void cancel() {
    const Status status = file->Transact([](Transaction& t) {
      t.Put("key", "cancelled");
      return Status::InvalidArgument("no");
    });
    ASSERT_TRUE(status.IsInvalidArgument());
  }

  DbFile file;
};

TEST_F(DbNumbers, OfPrometheusAreAllThere) {
  file.options.change_feed_bytes = 1 << 20;
  put(*file, "key", std::string(1000, 'v'));
  put(*file, "key", "newer");
  const Snapshot* const snapshot = file->GetSnapshot();
  const Numbers found = samples();
  const Superblock shape = inspect_heap_file(file.path()).value().superblock;
  const Numbers expected = {
      {"pending_writes", number("pending-writes")},
      {"oldest_pending_microseconds", 0},
      {"data_bytes", shape.data_bytes()},
      {"capacity_bytes", file.options.max_bytes},
      {"used_bytes", number("used-bytes")},
      {"free_bytes", number("free-bytes")},
      {"reclaimable_bytes", number("reclaimable-bytes")},
      {"file_bytes", number("file-bytes")},
      {"journal_bytes", 0},
      {"journal_held_bytes", 0},
      {"journal_groups_total", 0},
      {"journal_lines_total", 0},
      {"journal_written_bytes_total", 0},
      {"journal_checkpoints_total", 0},
      {"journal_home_bytes_total", 0},
      {"journal_given_back_bytes_total", 0},
      {"checksummed_pages", 0},
      {"damaged_pages_total", 0},
      {"domain_emulated", 0},
      {"open_snapshots", 1},
      {"sequence", 2},
      {"old_versions", number("old-versions")},
      {"aborts_total", 0},
      {"user_aborts_total", 0},
  };
  for (const auto& [name, value] : expected) {
    EXPECT_TRUE(found.contains(name) && found.at(name) == value)
        << name << " " << (found.contains(name) ? std::to_string(found.at(name)) : "is missing");
  }
  for (const char* name : {"updates_total", "reads_total", "stored_bytes_total",
                           "written_bytes_total", "fences_total", "oldest_snapshot_milliseconds"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  EXPECT_EQ(found.size(), expected.size() + 6);
  EXPECT_EQ(number("open-snapshots"), 1u);
  EXPECT_GT(number("old-versions"), 0u);
  EXPECT_GT(number("used-bytes"), 0u);
  EXPECT_GE(number("free-bytes"), number("reclaimable-bytes"));
  EXPECT_LE(number("used-bytes") + number("free-bytes"), shape.data_bytes());
  EXPECT_GT(number("used-bytes") + number("free-bytes"), shape.data_bytes() / 2);
  file->ReleaseSnapshot(snapshot);
}

TEST_F(DbNumbers, AreNumbersOrUnknownOnceTheMediumHasFailed) {
  file.options.domain = Domain::file;
  file.options.journal_bytes = 0;
  file.options.change_feed_bytes = 1 << 20;
  EXPECT_EQ(end_of_child([&] {
              put(*file, "key", "value");
              std::string value;
              if (!refuse_call(SYS_fdatasync, EIO) || !file->Put({}, "key", "lost").IsIOError() ||
                  file->GetProperty("holdfast.sequence", &value)) {
                return 1;
              }
              for (const char* const name : {"used-bytes", "free-bytes", "reclaimable-bytes",
                                             "old-versions", "pending-writes", "file-bytes"}) {
                if (file->GetProperty("holdfast." + std::string(name), &value) &&
                    (value.empty() || value.find_first_not_of("0123456789") != std::string::npos)) {
                  return 2;
                }
              }
              return 0;
            }),
            0);
}

TEST_F(DbNumbers, CountTransactions) {
  put(*file, "key", "value");
  const Numbers before = samples();
  put(*file, "key", std::string(1000, 'v'));
  put(*file, "key", std::string(1000, 'w'));
  cancel();
  const Numbers between = samples();
  EXPECT_EQ(get(*file, "key"), std::string(1000, 'w'));
  const Numbers after = samples();
  const auto more = [](const Numbers& first, const Numbers& second, const char* name) {
    return second.at(name) - first.at(name);
  };
  EXPECT_EQ(more(before, between, "updates_total"), 2u);
  EXPECT_EQ(more(before, between, "user_aborts_total"), 1u);
  EXPECT_GE(more(before, between, "stored_bytes_total"), 2000u);
  EXPECT_LT(more(before, between, "stored_bytes_total"), 100'000u);
  EXPECT_GE(more(before, between, "written_bytes_total"), 2000u);
  EXPECT_GT(more(before, between, "fences_total"), 0u);
  EXPECT_LT(more(before, between, "fences_total"), 100u);
  EXPECT_GT(more(between, after, "reads_total"), 0u);
  EXPECT_EQ(more(between, after, "updates_total"), 0u);
  EXPECT_EQ(more(between, after, "stored_bytes_total"), 0u);
}

TEST_F(DbNumbers, OfReadsTellThatAWalkReadsAhead) {
  for (int i = 1000; i < 3000; ++i) {
    put(*file, std::to_string(i), "value");
  }
  const std::unique_ptr<Iterator> at(file->NewIterator({}));
  for (const bool forwards : {true, false}) {
    const uint64_t before = samples().at("reads_total");
    int entries = 0;
    for (forwards ? at->SeekToFirst() : at->SeekToLast(); at->Valid();
         forwards ? at->Next() : at->Prev()) {
      ++entries;
    }
    EXPECT_EQ(entries, 2000);
    EXPECT_LT(samples().at("reads_total"), before + 50);
  }
}

TEST_F(DbNumbers, AgesHaveTheirUnits) {
  file.options.lag_ms = 3'600'000;
  const Snapshot* const snapshot = file->GetSnapshot();
  WriteOptions later;
  later.sync = false;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(file->Put(later, "key", "value").ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto age = [&] { return std::stod(property("holdfast.oldest-snapshot-seconds")); };
  const auto pending = [&] { return std::stod(property("holdfast.oldest-pending-ms")); };
  const double snapshot_before = age();
  const double pending_before = pending();
  const Numbers found = samples();
  EXPECT_EQ(found.at("pending_writes"), 1u);
  EXPECT_GE(static_cast<double>(found.at("oldest_pending_microseconds")),
            pending_before * 1000 - 1);
  EXPECT_LE(static_cast<double>(found.at("oldest_pending_microseconds")), pending() * 1000 + 1);
  EXPECT_GE(static_cast<double>(found.at("oldest_snapshot_milliseconds")),
            snapshot_before * 1000 - 1);
  EXPECT_LE(static_cast<double>(found.at("oldest_snapshot_milliseconds")), age() * 1000 + 1);
  const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - start;
  EXPECT_GE(found.at("oldest_pending_microseconds"), 4000u) << "it has slept for 5 ms";
  EXPECT_LE(static_cast<double>(found.at("oldest_pending_microseconds")), since.count() * 2000);
  file->ReleaseSnapshot(snapshot);
}

// A sanitizer sees a read of what growth is changing.
TEST_F(DbNumbers, AreRightWhileTheHeapGrows) {
  file.options.initial_bytes = 1 << 20;
  const uint64_t before = samples()["data_bytes"];
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 3000; ++i) {
      put(*file, "key" + std::to_string(i), std::string(4000, 'x'));
    }
    done = true;
  });
  for (uint64_t last = before; !done;) {
    const Numbers now = samples();
    EXPECT_GE(now.at("data_bytes"), last);
    EXPECT_LE(now.at("data_bytes"), now.at("capacity_bytes"));
    EXPECT_LE(now.at("free_bytes"), now.at("capacity_bytes"));
    last = now.at("data_bytes");
  }
  writer.join();
  EXPECT_GT(samples()["data_bytes"], before);
}

TEST_F(DbNumbers, OfStatisticsHaveALineEach) {
  put(*file, "key", "value");
  std::istringstream lines(property("leveldb.stats"));
  Numbers found;
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, std::string("engine ") + kDefaultEngine);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line.rfind("domain ", 0), 0u) << line;
  while (std::getline(lines, line)) {
    const size_t space = line.rfind(' ');
    found[line.substr(0, space)] = std::stoull(line.substr(space + 1));
  }
  const Numbers samples = this->samples();
  const Numbers expected = {
      {"updates", samples.at("updates_total")},
      {"reads", found["reads"]},  // each look at the space is one
      {"bytes written", samples.at("written_bytes_total")},
      {"pending writes", 0},
      {"used bytes", number("used-bytes")},
      {"free bytes", number("free-bytes")},
      {"reclaimable bytes", number("reclaimable-bytes")},
      {"file bytes", number("file-bytes")},
  };
  EXPECT_EQ(found, expected);
}

TEST_F(DbNumbers, OfLevelDbAreThoseOfOneTable) {
  EXPECT_EQ(property("leveldb.num-files-at-level0"), "1");
  EXPECT_EQ(property("leveldb.num-files-at-level1"), "0");
  EXPECT_EQ(property("leveldb.num-files-at-level6"), "0");
  EXPECT_EQ(property("leveldb.sstables"), "");
  EXPECT_EQ(property("holdfast.engine"), kDefaultEngine);
  EXPECT_EQ(property("holdfast.domain"), "process");
}

}  // namespace
}  // namespace holdfast::db::properties_test
