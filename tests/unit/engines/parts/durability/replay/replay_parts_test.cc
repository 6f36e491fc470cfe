// SPDX-License-Identifier: Apache-2.0
// Do markers, redo logs and their replayer keep their contracts?
#include <gtest/gtest.h>

#include <set>

#include "holdfast/engines/parts/durability/replay/durability_markers.h"
#include "holdfast/engines/parts/durability/replay/log_replayer.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/replay/state_array.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"
#include "holdfast/machine/sim/sim_machine.h"
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

/// Markers, logs and a home on a simulated machine, while no thread works on a number.
class LogReplayerTest : public testing::Test {
 protected:
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
    RedoLog<SimMachine>& log = redo_[static_cast<size_t>(thread)];
    log.write(words, sizeof(words), Site{});
    markers_.write({.number = number,
                    .thread = thread,
                    .start = log.start(),
                    .bytes = sizeof(words),
                    .checksum = holdfast::checksum(words, sizeof(words),
                                                   LogReplayer<SimMachine>::seed(number, thread))},
                   Site{});
    log.advance(sizeof(words));
  }

  uint64_t home(uint64_t at) {
    return SimMachine::load(reinterpret_cast<uint64_t*>(regions_.home) + at);
  }
  uint64_t replayed_up_to() {
    replayer_.replay_all(1000);
    return replayer_.tail();
  }

 private:
  static std::byte* map(SimMachine& machine) {
    machine.medium().grow(kPageBytes * 3).check();
    return machine.medium().map(0, kPageBytes * 3, nullptr, MapMode::shared).value();
  }

 protected:
  SimMachine machine_;
  std::byte* const base_ = map(machine_);
  uint64_t* const tail_ = reinterpret_cast<uint64_t*>(base_);
  const Regions regions_{.data = base_ + 2 * kPageBytes,
                         .home = base_ + 2 * kPageBytes,
                         .area = base_,
                         .bytes = kPageBytes,
                         .capacity = kPageBytes};
  const RedoLogArea logs_{base_ + kPageBytes, kLogBytes, 2};
  DurabilityMarkers<SimMachine> markers_{machine_, base_ + 2 * kLineBytes, kMarkers};
  StateArray<SimMachine> states_{machine_, 2};
  SlotStatistics<SimMachine> statistics_{machine_};
  LogReplayer<SimMachine> replayer_{machine_, regions_, tail_,      markers_,
                                    logs_,    states_,  statistics_};
  std::vector<RedoLog<SimMachine>> redo_;
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
  EXPECT_EQ(decode_tail(SimMachine::load(tail_)), 7u);
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
      holdfast::checksum(words.data(), bytes, LogReplayer<SimMachine>::seed(8, 0));
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

}  // namespace
}  // namespace holdfast::replay_parts_test
