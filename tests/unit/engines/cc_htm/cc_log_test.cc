// SPDX-License-Identifier: Apache-2.0
// Does recovery find the records of a batch, all of them and no others, wherever they stand in
// their logs? Does a thread know how much room its log has?
#include "holdfast/engines/cc_htm/cc_log.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::cc_log_test {
namespace {

using cc_htm::CcArea;
using cc_htm::CcLog;
using cc_htm::CcOptions;
using cc_htm::Finished;
using cc_htm::FoundRecord;
using cc_htm::LoggedWord;
using cc_htm::RecordHead;
using cc_htm::Stamp;
using Log = CcLog<SimMachine>;

constexpr size_t kLogBytes = 512;
constexpr size_t kHeapBytes = kPageBytes;

/// The words of a record of so many lines: a head of 32 bytes, and 16 bytes for each word.
std::vector<LoggedWord> words_for(size_t lines, uint64_t value) {
  std::vector<LoggedWord> words(lines * kLineBytes / sizeof(LoggedWord) - 2);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = {.offset = i * sizeof(uint64_t), .value = value + i};
  }
  return words;
}

struct World {
  World() {
    machine.medium().grow(regions.area_bytes).check();
    regions.area = machine.medium().map(0, regions.area_bytes, nullptr, MapMode::shared).value();
    log.emplace(machine, regions, area);
    log->format();
  }
  ~World() { machine.medium().unmap(regions.area, regions.area_bytes); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Appends a record with this time and number.
  Finished append(uint64_t thread, uint64_t time, const std::vector<LoggedWord>& words) {
    const Stamp stamp{.time = time, .id = time};
    return {.stamp = stamp,
            .end = time + 1,
            .position = log->append(thread, stamp, words),
            .bytes = Log::bytes_of(words.size()),
            .thread = thread,
            .credit = 0};
  }
  /// Finds the records that a recovery would replay.
  Status examine(std::vector<FoundRecord>& found, bool all = false) {
    return Log(machine, regions, area).examine(all, found);
  }
  RecordHead* head_at(int thread, size_t position) const {
    return reinterpret_cast<RecordHead*>(regions.area + area.log_offset(thread) + position);
  }

  SimMachine machine{SimOptions{}};
  const CcArea area{CcOptions::parse({{"log_bytes", std::to_string(kLogBytes)}}).value(), 2};
  Regions regions = [this] {
    Regions r;
    r.area_bytes = round_up(area.bytes(), kPageBytes);
    r.bytes = r.capacity = kHeapBytes;
    return r;
  }();
  std::optional<Log> log;
};

TEST(CcLog, RecoveryFindsABatchInTheOrderOfItsStamps) {
  World w;
  w.append(3, 30, words_for(1, 300));
  w.append(0, 10, words_for(2, 100));
  w.append(3, 31, words_for(1, 310));
  w.append(1, 20, words_for(1, 200));
  w.append(1, 40, words_for(1, 400));
  w.log->begin_batch({.time = 10, .id = 10}, 1);
  w.log->end_batch();
  w.log->begin_batch({.time = 31, .id = 31}, 3);
  std::vector<FoundRecord> found;
  w.examine(found).check();
  ASSERT_EQ(found.size(), 3u) << "not the one before, which is home, nor the one behind";
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t time = std::array<uint64_t, 3>{20, 30, 31}[i];
    EXPECT_EQ(found[i].stamp, (Stamp{.time = time, .id = time}));
    EXPECT_EQ(found[i].words.size(), 2u);
    EXPECT_EQ(found[i].words[1].value, 10 * time + 1);
  }
  found.clear();
  w.examine(found, true).check();
  EXPECT_EQ(found.size(), 4u) << "all that recovery may find";
}

/// Equal times: the numbers decide.
TEST(CcLog, NumbersOrderEqualTimes) {
  const Stamp a{.time = 5, .id = 9};
  const Stamp b{.time = 5, .id = 10};
  const Stamp c{.time = 6, .id = 1};
  EXPECT_TRUE(a < b && b < c && a < c);
  EXPECT_FALSE(b < a || c < b || a < a);
}

/// A record may fill the log, or its last line.
TEST(CcLog, ARecordMayEndWhereTheLogDoes) {
  for (const size_t lines : {size_t{1}, kLogBytes / kLineBytes}) {
    World w;
    for (size_t line = 0; line < kLogBytes / kLineBytes; line += lines) {
      w.append(1, 1 + line, words_for(lines, line));
    }
    const uint64_t last = 1 + kLogBytes / kLineBytes - lines;
    w.log->begin_batch({.time = last, .id = last}, kLogBytes / kLineBytes / lines);
    std::vector<FoundRecord> found;
    w.examine(found).check();
    ASSERT_EQ(found.size(), kLogBytes / kLineBytes / lines);
    EXPECT_EQ(found.back().words.back().value, last - 1 + found.back().words.size() - 1);
  }
}

TEST(CcLog, ARecordThatIsMissingIsDamage) {
  World w;
  w.append(0, 1, words_for(1, 1));
  w.log->begin_batch({.time = 1, .id = 1}, 2);
  std::vector<FoundRecord> found;
  const Status status = w.examine(found);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.message().find("1 of 2 records"), std::string::npos) << status.message();
}

TEST(CcLog, ARecordPointsToWordsOfTheHeap) {
  for (const uint64_t offset : {kHeapBytes - 8, kHeapBytes, kHeapBytes - 4, kHeapBytes + 8}) {
    World w;
    w.append(0, 1, {{.offset = 0, .value = 1}, {.offset = offset, .value = 1}});
    w.log->begin_batch({.time = 1, .id = 1}, 1);
    std::vector<FoundRecord> found;
    EXPECT_EQ(w.examine(found).code(), offset == kHeapBytes - 8 ? Code::ok : Code::corrupt)
        << offset;
  }
}

/// A trap: a torn head may claim any number of words, also one whose size in bytes wraps around.
TEST(CcLog, AHeadWithAnAbsurdNumberOfWordsIsNoRecord) {
  for (const uint64_t words :
       {uint64_t{1} << 60, (uint64_t{1} << 60) - 2, ~uint64_t{0}, kLogBytes / sizeof(LoggedWord),
        kLogBytes / sizeof(LoggedWord) - 1, uint64_t{3}}) {
    for (const size_t position : {size_t{0}, kLogBytes - kLineBytes}) {
      World w;
      w.append(0, 2, words_for(1, 7));
      SimMachine::store(&w.head_at(1, position)->words, words);
      SimMachine::store(&w.head_at(1, position)->stamp.time, uint64_t{1});
      w.log->begin_batch({.time = 2, .id = 2}, 1);
      std::vector<FoundRecord> found;
      w.examine(found).check();
      EXPECT_EQ(found.size(), 1u) << words << " words at " << position;
    }
  }
}

/// Rewritten in place, or moved to another line, a record does not count; nor in another epoch.
TEST(CcLog, ARecordCountsOnlyWhereAndWhenItWasWritten) {
  for (const char* change : {"none", "value", "place", "epoch"}) {
    World w;
    w.append(0, 1, words_for(1, 7));
    auto* const from = reinterpret_cast<uint64_t*>(w.head_at(0, 0));
    if (std::string(change) == "value") {
      SimMachine::store(from + 5, SimMachine::load(from + 5) ^ 1);
    } else if (std::string(change) == "place") {
      auto* const to = reinterpret_cast<uint64_t*>(w.head_at(0, kLineBytes));
      for (size_t i = 0; i < kLineBytes / sizeof(uint64_t); ++i) {
        SimMachine::store(to + i, SimMachine::load(from + i));
        SimMachine::store(from + i, uint64_t{0});
      }
    } else if (std::string(change) == "epoch") {
      w.log->begin_epoch();
    }
    w.log->begin_batch({.time = 1, .id = 1}, 1);
    std::vector<FoundRecord> found;
    EXPECT_EQ(w.examine(found).code(), std::string(change) == "none" ? Code::ok : Code::corrupt)
        << change;
  }
}

TEST(CcLog, RoomIsWhatIsFreeInOnePiece) {
  World w;
  EXPECT_TRUE(w.log->room(0).empty);
  EXPECT_TRUE(w.log->room(0).fits(kLogBytes));
  const Finished first = w.append(0, 1, words_for(3, 1));
  const Finished second = w.append(0, 2, words_for(2, 1));  // of 8 lines, 3 are free
  EXPECT_FALSE(w.log->room(0).empty);
  EXPECT_TRUE(w.log->room(0).fits(3 * kLineBytes));
  EXPECT_FALSE(w.log->room(0).fits(4 * kLineBytes));
  w.log->free({first}, 1);
  EXPECT_TRUE(w.log->room(0).fits(3 * kLineBytes)) << "at the end, or at the beginning";
  EXPECT_FALSE(w.log->room(0).fits(4 * kLineBytes)) << "two pieces of three lines";
  const Finished third = w.append(0, 3, words_for(1, 1));
  EXPECT_TRUE(w.log->room(0).fits(2 * kLineBytes));
  EXPECT_TRUE(w.log->room(0).fits(3 * kLineBytes)) << "at the beginning";
  EXPECT_FALSE(w.log->room(0).fits(4 * kLineBytes));
  const Finished fourth = w.append(0, 4, words_for(3, 1));
  EXPECT_EQ(fourth.position, kLogBytes) << "the two lines at the end are left out";
  EXPECT_FALSE(w.log->room(0).fits(kLineBytes));
  w.log->free({third}, 1);
  EXPECT_FALSE(w.log->room(0).empty);
  w.log->free({fourth}, 1);
  EXPECT_TRUE(w.log->room(0).empty);
  EXPECT_TRUE(w.log->room(0).fits(kLogBytes)) << "an empty log takes any record";
  EXPECT_TRUE(w.log->room(1).empty) << "each thread has its own";
  static_cast<void>(second);
}

TEST(CcLog, ABatchFreesTheRoomOfItsRecordsAndNoOther) {
  World w;
  std::vector<Finished> records = {w.append(0, 1, words_for(3, 1)), w.append(1, 2, words_for(2, 1)),
                                   w.append(0, 3, words_for(2, 1)),
                                   w.append(0, 4, words_for(3, 1))};
  w.log->free(records, 1);
  EXPECT_FALSE(w.log->room(1).empty);
  EXPECT_TRUE(w.log->room(0).fits(3 * kLineBytes)) << "the first record's";
  EXPECT_FALSE(w.log->room(0).fits(4 * kLineBytes));
  w.log->free(records, 3);
  EXPECT_TRUE(w.log->room(1).empty);
  EXPECT_TRUE(w.log->room(0).fits(5 * kLineBytes)) << "also the third record's";
  EXPECT_FALSE(w.log->room(0).fits(6 * kLineBytes));
  w.log->free(records, 4);
  EXPECT_TRUE(w.log->room(0).empty);
}

}  // namespace
}  // namespace holdfast::cc_log_test
