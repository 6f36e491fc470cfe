// SPDX-License-Identifier: Apache-2.0
//
// Is a database as large as its content, and does compaction give space back?
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/db/durable_engines.h"

namespace holdfast::db::space_test {
namespace {

class DbSpace : public DbTest {
 protected:
  explicit DbSpace(const std::string& folder = "/tmp") : DbTest(folder) {
    file.options.initial_bytes = Options().initial_bytes;
    file.options.max_bytes = 0;
  }
  uint64_t number(const std::string& property) {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast." + property, &text)) << property;
    return std::stoull(text);
  }
  void fill(size_t count, size_t bytes) {
    WriteBatch batch;
    for (size_t i = 0; i < count; ++i) {
      batch.Put(key(i), std::string(bytes, static_cast<char>('a' + i % 26)));
      if (i % 100 == 99) {
        ASSERT_TRUE(file->Write({}, &batch).ok());
        batch.Clear();
      }
    }
    ASSERT_TRUE(file->Write({}, &batch).ok());
  }
  void erase(size_t count, size_t step) {
    for (size_t i = 0; i < count; i += step) {
      ASSERT_TRUE(file->Delete({}, key(i)).ok());
    }
  }
  static std::string key(size_t i) { return "key" + std::to_string(1'000'000 + i); }
  uint64_t compact() {
    uint64_t returned = 0;
    const Status status = file->Compact(&returned);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return returned;
  }
  void give_back_what_deleted_entries_took();
};
INSTANTIATE_TEST_SUITE_P(Engines, DbSpace, ::testing::ValuesIn(durable_engines()), engine_name);

TEST(DbSpaceOfTheDefault, AnEmptyDatabaseTakesAMebibyteAtMost) {
  const NativeTestFile place;
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(options, place.path(), &opened).ok());
  delete opened;
  struct stat found{};
  ASSERT_EQ(stat(place.path().c_str(), &found), 0);
  EXPECT_LE(found.st_blocks * 512, 1 << 20);  // a journal's place has few blocks, too
}

/// Puts 200,000 rows of 16 and 12 bytes in a random order, and returns the size of the file.
uint64_t bytes_of_small_rows(const std::string& engine) {
  constexpr int kRows = 200'000;
  const NativeTestFile place;
  Options options;
  options.create_if_missing = true;
  options.engine = engine;
  options.domain = Domain::process;
  DB* opened = nullptr;
  EXPECT_TRUE(DB::Open(options, place.path(), &opened).ok());
  const std::unique_ptr<DB> db(opened);
  std::vector<int> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  WriteBatch batch;
  for (int i = 0; i < kRows; ++i) {
    std::string key = std::to_string(rows[static_cast<size_t>(i)]);
    key.insert(0, 16 - key.size(), '0');
    batch.Put(key, std::string(12, 'x'));
    if (i % 1000 == 999) {
      EXPECT_TRUE(db->Write({}, &batch).ok());
      batch.Clear();
    }
  }
  std::string used;
  EXPECT_TRUE(db->GetProperty("holdfast.used-bytes", &used));
  // 96 bytes of a version, 31 of a leaf that is four fifths full, 6 of nodes above it.
  EXPECT_LT(std::stoull(used), uint64_t{kRows} * 140);
  return std::filesystem::file_size(place.path());
}

TEST(DbSpaceOfSmallRows, IsThatOfTheRowsAndASixteenthPerCopy) {
  for (const std::string& engine : durable_engines()) {
    const bool has_records = !known_options(about(engine), {{"records", "1"}}).empty();
    if (engine == kDefaultEngine) {
      EXPECT_LE(bytes_of_small_rows(engine), uint64_t{56} << 20);
    } else if (has_records && about(engine).any_size) {
      EXPECT_LE(bytes_of_small_rows(engine), uint64_t{30} << 20);
    }
  }
}

void DbSpace::give_back_what_deleted_entries_took() {
  put(*file, "keep", "this");
  const uint64_t empty = number("file-bytes");
  fill(6000, 300);
  const uint64_t full = number("file-bytes");
  EXPECT_GT(full, empty + (6000 * 300) / 2);
  EXPECT_GT(number("used-bytes"), 6000U * 300);
  erase(6000, 1);
  const uint64_t returned = compact();
  if (about(GetParam()).layout == Layout::cells) {
    EXPECT_EQ(returned, 0U);
  } else {
    EXPECT_GT(returned, 6000U * 300 * 3 / 4);
    EXPECT_LT(number("file-bytes"), full - returned / 2);
  }
  EXPECT_LT(number("used-bytes"), 6000U * 300 / 4);
  EXPECT_EQ(get(*file, "keep"), "this");
  fill(3000, 200);  // the space serves new entries
  EXPECT_EQ(get(*file, key(2999)), std::string(200, static_cast<char>('a' + 2999 % 26)));
  file.close();
  EXPECT_EQ(get(*file, "keep"), "this");
  EXPECT_EQ(get(*file, key(0)), std::string(200, 'a'));
  expect_tidy(file);
}

/// Pieces of a long value share chunks.
TEST_P(DbSpace, LongValuesTakeLittleMoreThanTheirBytes) {
  put(*file, "key", "value");
  const uint64_t before = number("used-bytes");
  constexpr size_t kCount = 8;
  constexpr size_t kBytes = 100'000;
  for (size_t i = 0; i < kCount; ++i) {
    put(*file, key(i), std::string(kBytes, 'x'));
  }
  const uint64_t used = number("used-bytes") - before;
  EXPECT_GT(used, kCount * kBytes);
  EXPECT_LT(used, kCount * kBytes * 5 / 4);
}

TEST_P(DbSpace, CompactionGivesBackWhatDeletedEntriesTook) {
  give_back_what_deleted_entries_took();
}

/// Without engines that write all of their memory back, so that the next checkpoint fills the holes
/// of the file again.
std::vector<std::string> journaled_engines_that_leave_holes() {
  std::vector<std::string> names = journaled_engines();
  std::erase_if(names, [](const std::string& name) { return about(name).rewrites_heap; });
  return names;
}

/// Over a journal, the mappings are private and the file has pages that they do not show.
struct DbSpaceOverAJournal : DbSpace {
  DbSpaceOverAJournal() : DbSpace("/dev/shm") {  // where a sync is fast
    file.options.domain = Domain::file;
    file.options.journal_bytes = 1 << 20;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbSpaceOverAJournal,
                         ::testing::ValuesIn(journaled_engines_that_leave_holes()), engine_name);

TEST_P(DbSpaceOverAJournal, CompactionGivesBackWhatDeletedEntriesTook) {
  give_back_what_deleted_entries_took();
}

TEST_P(DbSpace, CompactionKeepsWhatIsLeftOfEachChunk) {
  fill(4000, 100);
  erase(4000, 3);
  Model expected = contents(*file);
  compact();
  EXPECT_TRUE(contents(*file) == expected);
  for (int turn = 0; turn < 3; ++turn) {
    fill(500, 40 + 100 * static_cast<size_t>(turn));
    expected = contents(*file);
    compact();
    EXPECT_TRUE(contents(*file) == expected);
  }
  expect_tidy(file);
}

TEST_P(DbSpace, CompactionRunsBesideWriters) {
  fill(2000, 200);
  std::thread writer([&] {
    for (size_t i = 0; i < 4000; ++i) {
      const Status status = i % 2 == 0 ? file->Delete({}, key(i % 2000))
                                       : file->Put({}, key(3000 + i), std::string(i % 400, 'x'));
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  });
  for (int turn = 0; turn < 20; ++turn) {
    compact();
  }
  writer.join();
  compact();
  EXPECT_EQ(get(*file, key(3001)), "x");
  expect_tidy(file);
}

TEST_P(DbSpace, TheAgeOfTheOldestSnapshotIsKnown) {
  EXPECT_EQ(number("oldest-snapshot-seconds"), 0U);
  const Snapshot* const first = file->GetSnapshot();
  const Snapshot* const second = file->GetSnapshot();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::string text;
  ASSERT_TRUE(file->GetProperty("holdfast.oldest-snapshot-seconds", &text));
  EXPECT_GT(std::stod(text), 0);
  file->ReleaseSnapshot(first);
  file->ReleaseSnapshot(second);
  EXPECT_EQ(number("oldest-snapshot-seconds"), 0U);
}

}  // namespace
}  // namespace holdfast::db::space_test
