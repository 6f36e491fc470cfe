// SPDX-License-Identifier: Apache-2.0
// Do markers, redo logs and their replayer keep their contracts?
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/parts/durability/replay/durability_markers.h"
#include "holdfast/engines/parts/durability/replay/log_replayer.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/replay/state_array.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"
#include "holdfast/engines/parts/durability/replay/written_words.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/machine_without_memory.h"
#include "tests/present.h"

namespace holdfast::replay_parts_test {
namespace {

DurabilityMarker example(uint64_t number) {
  return {.number = number,
          .aborted = false,
          .thread = 5,
          .start = 4096,
          .bytes = 320,
          .checksum = 0x1234567};
}

TEST(DurabilityMarker, DecodesWhatWasEncoded) {
  for (const uint64_t number : {uint64_t{1}, uint64_t{65537}, uint64_t{1} << 51}) {
    for (const bool aborted : {false, true}) {
      DurabilityMarker marker = example(number);
      marker.aborted = aborted;
      const auto decoded = present(MarkerWords::encode(marker).decode());
      EXPECT_EQ(decoded.number, number);
      EXPECT_EQ(decoded.aborted, aborted);
      EXPECT_EQ(decoded.thread, 5);
      EXPECT_EQ(decoded.start, 4096u);
      EXPECT_EQ(decoded.bytes, 320u);
      EXPECT_EQ(decoded.checksum, 0x1234567u);
    }
  }
  EXPECT_FALSE(MarkerWords().decode());
}

TEST(DurabilityMarker, EveryFlippedBitGivesANumberThatCannotBe) {
  const MarkerWords good = MarkerWords::encode(example(1000));
  for (int word = 0; word < 4; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      MarkerWords bad = good;
      uint64_t* const words[] = {&bad.valid, &bad.place, &bad.extent, &bad.checksum};
      *words[word] ^= uint64_t{1} << bit;
      EXPECT_GT(present(bad.decode()).number, uint64_t{1} << 32)
          << "word " << word << " bit " << bit;
    }
  }
}

/// The hash that an encoded marker's first word is combined with.
uint64_t hash_of(const DurabilityMarker& marker) {
  return MarkerWords::encode(marker).valid ^ mix64(marker.number);
}

TEST(DurabilityMarker, IsNeverTakenForAnEmptySlot) {
  DurabilityMarker marker = example(1);
  const DurabilityMarker other = example(2);
  MarkerWords words = MarkerWords::encode(other);
  marker.checksum = 99;
  words.valid = hash_of(marker) ^ hash_of(other);
  marker.number = present(words.decode()).number;  // whose first word would be 0
  const MarkerWords salted = MarkerWords::encode(marker);
  EXPECT_NE(salted.valid, 0u);
  const auto decoded = present(salted.decode());
  EXPECT_EQ(decoded.number, marker.number);
  EXPECT_EQ(decoded.bytes, marker.bytes);
  EXPECT_FALSE(decoded.aborted);
}

TEST(DurabilityMarker, HasRoomForTheLargestNumbers) {
  const DurabilityMarker marker{.number = UINT64_MAX,
                                .aborted = true,
                                .thread = (1 << 16) - 1,
                                .start = ((uint64_t{1} << 48) - 1) * 8,
                                .bytes = (uint64_t{1} << 62) - 8,
                                .checksum = UINT64_MAX};
  const auto decoded = present(MarkerWords::encode(marker).decode());
  EXPECT_EQ(decoded.number, marker.number);
  EXPECT_TRUE(decoded.aborted);
  EXPECT_EQ(decoded.thread, marker.thread);
  EXPECT_EQ(decoded.start, marker.start);
  EXPECT_EQ(decoded.bytes, marker.bytes);
}

TEST(DurabilityMarkers, AreAllSeenAndAllErased) {
  SimMachine machine;
  constexpr uint64_t kSlots = 130;  // more than two of the pieces that are read at once
  const size_t bytes = kSlots * kLineBytes;
  machine.medium().grow(round_up(bytes, kPageBytes)).check();
  std::byte* const base = machine.medium().map(0, bytes, nullptr, MapMode::shared).value();
  DurabilityMarkers<SimMachine> markers(machine, base, kSlots);
  const std::vector<uint64_t> numbers = {0, 1, 63, 64, 127, 128, 129};
  for (const uint64_t number : numbers) {
    markers.write(example(number), Site{});
  }
  const auto slots = [&] {
    std::vector<uint64_t> seen;
    markers.for_each_at_rest([&](uint64_t slot, const DurabilityMarker& marker) {
      EXPECT_EQ(marker.number, slot);
      seen.push_back(slot);
    });
    return seen;
  };
  EXPECT_EQ(slots(), numbers);
  markers.write(example(kSlots), Site{});
  EXPECT_EQ(present(markers.read(0, markers.peek(0))).number, kSlots) << "the slot of 0";
  EXPECT_EQ(present(markers.read(kSlots, markers.peek(kSlots))).start, example(0).start);
  const uint64_t before = machine.counters().pwb;
  markers.format(Site{});
  EXPECT_EQ(machine.counters().pwb - before, numbers.size()) << "of those that are not empty";
  EXPECT_EQ(slots(), std::vector<uint64_t>());
}

TEST(WrittenWords, AreNewOnceInEachReplay) {
  SimMachine machine;
  WrittenWords<SimMachine> words(machine);
  const std::vector<uint64_t> offsets = {0, 8, 504, 512, 4088, 4096, 4104, 8184, 2 * kPageBytes};
  for (const size_t pages : {3, 3, 4, 9, 3}) {
    words.begin(pages * kPageBytes - kPageBytes + 1);
    for (const uint64_t offset : offsets) {
      EXPECT_TRUE(words.first(offset)) << offset;
    }
    for (const uint64_t offset : offsets) {
      EXPECT_FALSE(words.first(offset)) << offset;
    }
    EXPECT_TRUE(words.first((pages - 1) * kPageBytes + 8));
  }
}

TEST(WrittenWords, ATableThatGotNoMemoryIsMadeLater) {
  MachineWithoutMemory machine;
  WrittenWords<MachineWithoutMemory> words(machine);
  for (const int allowed : {0, 1}) {
    machine.allowed = allowed;
    EXPECT_THROW(words.begin(3 * kPageBytes), std::bad_alloc);
  }
  machine.allowed = 2;
  words.begin(3 * kPageBytes);
  EXPECT_EQ(machine.allowed, 0) << "both tables are new";
  EXPECT_TRUE(words.first(2 * kPageBytes));
  EXPECT_FALSE(words.first(2 * kPageBytes));
}

TEST(DurabilityMarker, TailWordChecksItself) {
  for (const uint64_t tail : {uint64_t{0}, uint64_t{1}, uint64_t{123456789}}) {
    EXPECT_EQ(decode_tail(encode_tail(tail)), tail);
    for (int bit = 0; bit < 64; ++bit) {
      EXPECT_EQ(decode_tail(encode_tail(tail) ^ uint64_t{1} << bit), std::nullopt)
          << tail << " bit " << bit;
    }
  }
  EXPECT_EQ(decode_tail(0), std::nullopt) << "a cleared page is no tail";
}

TEST(RedoLog, RecordsAddUpOrAreRefused) {
  const std::vector<uint64_t> words = {RedoRecord{8, 8}.header(), 42, RedoRecord{64, 16}.header(),
                                       1, 2};
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  EXPECT_TRUE(
      for_each_record(words.data(), words.size(), [&](RedoRecord r, const uint64_t* payload) {
        seen.emplace_back(r.offset, payload[r.bytes / 8 - 1]);
      }));
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, uint64_t>>{{8, 42}, {64, 2}}));
  auto ignore = [](RedoRecord, const uint64_t*) {};
  EXPECT_FALSE(for_each_record(words.data(), 4, ignore)) << "cut off";
  const uint64_t empty = RedoRecord{8, 0}.header();
  EXPECT_FALSE(for_each_record(&empty, 1, ignore)) << "a record without payload";
}

TEST(RedoLog, VolatileLogListsAWordOnce) {
  VolatileLog log;
  log.begin(64);
  EXPECT_EQ(log.add(8, 8), VolatileLog::Outcome::added);
  EXPECT_EQ(log.add(12, 4), VolatileLog::Outcome::known);
  EXPECT_EQ(log.add(8, 8), VolatileLog::Outcome::known);
  EXPECT_EQ(log.bytes(), 16u);
  EXPECT_EQ(log.add(13, 10), VolatileLog::Outcome::added) << "two words, of which one is new";
  EXPECT_EQ(log.bytes(), 16u + 24u);
  EXPECT_EQ(log.add(128, 24), VolatileLog::Outcome::full);
  EXPECT_EQ(log.add(128, 16), VolatileLog::Outcome::added);
  log.begin(64);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.add(8, 8), VolatileLog::Outcome::added) << "forgotten with its transaction";
}

TEST(RedoLog, AHeaderHasRoomForTheLargestHeapAndRecord) {
  const RedoRecord most{RedoRecord::kMostBytes - 8, RedoRecord::kMaxWords * 8};
  EXPECT_EQ(RedoRecord::unpack(most.header()).offset, most.offset);
  EXPECT_EQ(RedoRecord::unpack(most.header()).bytes, most.bytes);
  EXPECT_EQ((RedoRecord{16, 24}.header()), uint64_t{3} << 40 | 2);
}

TEST(RedoLog, VolatileLogKnowsShorterStoresToTheSameWord) {
  VolatileLog log;
  log.begin(1024);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.limit(), 1024u);
  EXPECT_EQ(log.add(64, 24), VolatileLog::Outcome::added);
  EXPECT_EQ(log.add(64, 24), VolatileLog::Outcome::known);
  EXPECT_EQ(log.add(64, 8), VolatileLog::Outcome::known);
  EXPECT_EQ(log.add(72, 8), VolatileLog::Outcome::added) << "it begins elsewhere";
  EXPECT_EQ(log.add(64, 25), VolatileLog::Outcome::added);
  EXPECT_EQ(log.add(64 + 64 * 8, 8), VolatileLog::Outcome::added) << "takes the other one's place";
  EXPECT_EQ(log.add(64, 8), VolatileLog::Outcome::added);
  ASSERT_EQ(log.records().size(), 5u);
  EXPECT_EQ(log.records()[2].offset, 64u);
  EXPECT_EQ(log.records()[2].bytes, 32u);
  EXPECT_EQ(log.bytes(), 5u * 8 + 24 + 8 + 32 + 8 + 8);
}

TEST(RedoLogArea, ReadsAroundTheEndOfALogAndFromTheHome) {
  const SimMachine machine;
  std::array<uint64_t, 32> memory{};  // two logs of 8 words, and a home
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i] = i;
  }
  auto* const base = reinterpret_cast<std::byte*>(memory.data());
  const RedoLogArea area{base, 64, 2, base + 128};
  const auto read = [&](int thread, uint64_t start, uint64_t n) {
    std::vector<uint64_t> words;
    area.read<SimMachine>(thread, start, n, words);
    return words;
  };
  using Words = std::vector<uint64_t>;
  EXPECT_EQ(read(0, 0, 64), (Words{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(read(1, 40, 24), (Words{13, 14, 15}));
  EXPECT_EQ(read(1, 40, 40), (Words{13, 14, 15, 8, 9}));
  EXPECT_FALSE(area.is_lent(56));
  EXPECT_TRUE(area.is_lent(64));
  EXPECT_EQ(read(1, 64, 16), (Words{16, 17}));
  EXPECT_EQ(read(0, 64 + 8, 16), (Words{17, 18}));
}

/// Markers, logs and a home on a simulated machine, while no thread works on a number.
class LogReplayerTest : public testing::Test {
 protected:
  using Machine = MachineWithoutMemory;
  static constexpr uint64_t kMarkers = 8;
  static constexpr size_t kLogBytes = 512;

  LogReplayerTest() {
    replayer_.format();
    for (int t = 0; t < 2; ++t) {
      redo_.emplace_back(machine_, logs_, t, replayer_.freed(t));
    }
  }

  /// A durable transaction that stored `value` into word `at`.
  void transaction(uint64_t number, int thread, uint64_t at, uint64_t value) {
    const uint64_t words[] = {RedoRecord{at * 8, 8}.header(), value};
    RedoLog<Machine>& log = redo_[static_cast<size_t>(thread)];
    log.write(words, sizeof(words), Site{});
    markers_.write({.number = number,
                    .thread = thread,
                    .start = log.start(),
                    .bytes = sizeof(words),
                    .checksum = holdfast::checksum(words, sizeof(words),
                                                   LogReplayer<Machine>::seed(number, thread))},
                   Site{});
    log.advance(sizeof(words));
  }

  uint64_t home(uint64_t at) {
    return Machine::load(reinterpret_cast<uint64_t*>(regions_.home) + at);
  }
  uint64_t replayed_up_to() {
    replayer_.replay_all(1000);
    return replayer_.tail();
  }

 private:
  static std::byte* map(Machine& machine) {
    machine.medium().grow(kPageBytes * 3).check();
    return machine.medium().map(0, kPageBytes * 3, nullptr, MapMode::shared).value();
  }

 protected:
  Machine machine_;
  std::byte* const base_ = map(machine_);
  uint64_t* const tail_ = reinterpret_cast<uint64_t*>(base_);
  const Regions regions_{.data = base_ + 2 * kPageBytes,
                         .home = base_ + 2 * kPageBytes,
                         .area = base_,
                         .bytes = kPageBytes,
                         .capacity = kPageBytes};
  const RedoLogArea logs_{base_ + kPageBytes, kLogBytes, 2};
  DurabilityMarkers<Machine> markers_{machine_, base_ + 2 * kLineBytes, kMarkers};
  StateArray<Machine> states_{machine_, 2};
  SlotStatistics<Machine> statistics_{machine_};
  LogReplayer<Machine> replayer_{machine_, regions_, tail_, markers_, logs_, states_, statistics_};
  std::vector<RedoLog<Machine>> redo_;
};

TEST_F(LogReplayerTest, StopsAtAHoleUntilItIsFilled) {
  transaction(1, 0, 3, 11);
  transaction(3, 0, 3, 33);
  EXPECT_EQ(replayed_up_to(), 1u);
  EXPECT_EQ(home(3), 11u);
  EXPECT_EQ(redo_[0].free_bytes(), kLogBytes - 64);
  transaction(2, 1, 3, 22);
  EXPECT_EQ(replayed_up_to(), 3u);
  EXPECT_EQ(home(3), 33u);
  EXPECT_EQ(redo_[0].free_bytes(), kLogBytes);
}

TEST_F(LogReplayerTest, StopsAtAMarkerThatIsStoredButNotDurable) {
  states_.take_number(1, 2);
  transaction(1, 0, 3, 11);
  transaction(2, 1, 3, 22);
  EXPECT_EQ(replayed_up_to(), 1u);
  EXPECT_EQ(home(3), 11u);
  states_.settle(1);
  EXPECT_EQ(replayed_up_to(), 2u);
  EXPECT_EQ(home(3), 22u);
}

TEST_F(LogReplayerTest, PassesAbortMarkers) {
  markers_.write({.number = 1, .aborted = true}, Site{});
  transaction(2, 1, 3, 22);
  EXPECT_EQ(replayed_up_to(), 2u);
  EXPECT_EQ(home(3), 22u);
}

TEST_F(LogReplayerTest, AnEarlierLapsMarkerIsAHole) {
  for (uint64_t n = 1; n <= kMarkers; ++n) {
    transaction(n, static_cast<int>(n % 2), n, n);
  }
  EXPECT_EQ(replayed_up_to(), kMarkers);
  EXPECT_EQ(replayed_up_to(), kMarkers) << "slot of 9 holds 1";
  transaction(kMarkers + 1, 0, 1, 100);
  EXPECT_EQ(replayed_up_to(), kMarkers + 1);
  EXPECT_EQ(home(1), 100u);
}

TEST_F(LogReplayerTest, RecoverySkipsHolesAndGoesOnAboveThem) {
  transaction(2, 0, 3, 22);
  transaction(5, 1, 4, 55);
  markers_.write({.number = 7, .aborted = true}, Site{});
  RecoveryReport report;
  EXPECT_EQ(replayer_.recover(report, 1).value(), 7u);
  EXPECT_EQ(report.transactions, 2u);
  EXPECT_EQ(home(3), 22u);
  EXPECT_EQ(home(4), 55u);
  EXPECT_EQ(decode_tail(Machine::load(tail_)), 7u);
}

TEST_F(LogReplayerTest, RecordsWrapAroundTheEndOfTheLog) {
  for (uint64_t n = 1; n <= 7; ++n) {  // 7 of 8 lines
    transaction(n, 0, n, n);
  }
  EXPECT_EQ(replayed_up_to(), 7u);
  std::vector<uint64_t> words = {RedoRecord{80, 160}.header()};
  for (uint64_t i = 0; i < 20; ++i) {
    words.push_back(100 + i);
  }
  const uint64_t bytes = words.size() * 8;
  EXPECT_EQ(redo_[0].start(), 7u * 64);
  redo_[0].write(words.data(), bytes, Site{});
  const uint64_t checksum =
      holdfast::checksum(words.data(), bytes, LogReplayer<Machine>::seed(8, 0));
  markers_.write(
      {.number = 8, .thread = 0, .start = redo_[0].start(), .bytes = bytes, .checksum = checksum},
      Site{});
  redo_[0].advance(bytes);
  RecoveryReport report;
  ASSERT_TRUE(replayer_.recover(report, 1).ok());
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(home(10 + i), 100 + i);
  }
}

TEST_F(LogReplayerTest, AReplayThatGetsNoMemoryCanBeginAgain) {
  transaction(1, 0, 3, 11);
  transaction(2, 1, 3, 22);
  machine_.allowed = 0;
  EXPECT_THROW(static_cast<void>(replayer_.replay_alone(2, {.replayers = 1, .filter = true})),
               std::bad_alloc);
  machine_.allowed = 100;
  EXPECT_EQ(replayer_.replay_alone(2, {.replayers = 1, .filter = true}).value().transactions, 2u);
  EXPECT_EQ(home(3), 22u);
}

}  // namespace
}  // namespace holdfast::replay_parts_test
