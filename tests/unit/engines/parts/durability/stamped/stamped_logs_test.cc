// SPDX-License-Identifier: Apache-2.0
//
// Do logs of commit blocks replay what is complete, in the order of times, and free the space of
// what has come home? And does the queue before them persist blocks in this order?
#include "holdfast/engines/parts/durability/stamped/stamped_logs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engines/parts/durability/lag/persist_queue.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::stamped_logs_test {
namespace {

using Logs = StampedLogs<SimMachine>;
using Gaps = Logs::Gaps;

constexpr uint64_t kMagic = 0x1234;
constexpr size_t kBlock = 64;  // space of a block with one word
constexpr size_t kLog = 512;
constexpr size_t kDataBytes = kPageBytes;

class StampedLogsTest : public ::testing::Test {
 protected:
  explicit StampedLogsTest(size_t log_bytes = kLog) : area_({.log_bytes = log_bytes}, 1) {
    machine_.medium().grow(kPageBytes + area_.bytes).check();
    std::byte* const base =
        machine_.medium().map(0, kPageBytes + area_.bytes, nullptr, MapMode::shared).value();
    regions_ = {.data = base,
                .home = base,
                .area = base + kPageBytes,
                .bytes = kDataBytes,
                .capacity = kDataBytes,
                .area_bytes = area_.bytes};
    start();
    logs().format().check();
  }

  Logs& logs() { return *logs_; }
  /// Makes the object anew, as after a crash.
  void start(Gaps gaps = Gaps::skip) {
    logs_.emplace(machine_, regions_, area_, kMagic, gaps, clock_, statistics_);
  }
  Result<RecoveryReport> recover(Gaps gaps = Gaps::skip) {
    start(gaps);
    RecoveryReport report;
    const Status status = logs().recover(report);
    return status.ok() ? Result<RecoveryReport>(report) : Result<RecoveryReport>(status);
  }

  static CommitBlock block_of(uint64_t offset, uint64_t value) {
    CommitBlock block;
    block.add(offset, value);
    return block;
  }
  /// A transaction that stores a word in place, unless the word is to come from the log alone.
  void commit(int slot, uint64_t time, uint64_t offset, uint64_t value, uint64_t transactions = 1) {
    CommitBlock block = block_of(offset, value);
    logs().make_room(slot, block.bytes());
    logs().announce(slot);
    clock_.now.store(time);
    logs().write(slot, block, time, Site{}, transactions);
    machine_.pfence(Site{});
    logs().complete(slot, block);
  }
  uint64_t word(uint64_t offset) {
    return SimMachine::load(reinterpret_cast<const uint64_t*>(regions_.data + offset));
  }
  std::byte* log(int slot) {
    return regions_.area + area_.log_offset + static_cast<size_t>(slot) * area_.log_bytes;
  }
  std::byte* tail(int slot) {
    return regions_.area + area_.tail_offset + static_cast<size_t>(slot) * kLineBytes;
  }
  uint64_t replayed() { return statistics_.sum().replayed; }

  SimMachine machine_{{.threads = 1}};
  const StampedLogsArea area_;
  Regions regions_;
  VersionClock<SimMachine>& clock_ = *make_object<VersionClock<SimMachine>>(machine_);
  SlotStatistics<SimMachine> statistics_{machine_};
  std::optional<Logs> logs_;
};

TEST_F(StampedLogsTest, AreReplayedInTheOrderOfTimesOnce) {
  commit(1, 1, 0, 11);
  commit(0, 2, 8, 12);
  commit(0, 3, 0, 13);
  commit(1, 4, 8, 14);
  const RecoveryReport report = recover().value();
  EXPECT_EQ(word(0), 13u);
  EXPECT_EQ(word(8), 14u);
  EXPECT_TRUE(report.needed);
  EXPECT_EQ(report.transactions, 4u);
  EXPECT_EQ(report.bytes, 32u);
  EXPECT_EQ(report.text, "replayed 4 transactions from the logs");
  EXPECT_EQ(clock_.now.load(), 4u);
  EXPECT_TRUE(logs().has_room(0, kLog));
  const RecoveryReport second = recover().value();
  EXPECT_FALSE(second.needed);
  EXPECT_EQ(second.transactions, 0u);
  EXPECT_EQ(second.bytes, 0u);
  EXPECT_EQ(clock_.now.load(), 4u);
}

TEST_F(StampedLogsTest, GoOnBehindWhatWasRecoveredAndWrapAround) {
  uint64_t time = 0;
  for (int life = 0; life < 5; ++life) {
    for (int i = 0; i < 3; ++i) {
      ++time;
      commit(0, time, 8 * (time % 4), time);
    }
    EXPECT_EQ(recover(Gaps::stop).value().transactions, 3u) << life;
    EXPECT_EQ(word(8 * (time % 4)), time);
  }
}

TEST_F(StampedLogsTest, AMissingTimeHidesLaterOnesOrNone) {
  commit(0, 1, 0, 11);
  commit(1, 3, 8, 13);
  EXPECT_EQ(recover(Gaps::stop).value().transactions, 1u);
  EXPECT_EQ(word(0), 11u);
  EXPECT_EQ(word(8), 0u);
  EXPECT_EQ(clock_.now.load(), 1u);
  commit(0, 4, 16, 14);
  EXPECT_EQ(recover(Gaps::skip).value().transactions, 1u);
  EXPECT_EQ(word(16), 14u);
}

TEST_F(StampedLogsTest, ABlockMayStandForSeveralTimes) {
  commit(0, 1, 0, 11);
  commit(1, 4, 8, 14, 3);
  commit(0, 5, 16, 15);
  EXPECT_EQ(recover(Gaps::stop).value().transactions, 5u);
  EXPECT_EQ(word(8), 14u);
  EXPECT_EQ(word(16), 15u);
  commit(1, 8, 24, 18, 2);  // 7 and 8, without 6
  EXPECT_EQ(recover(Gaps::stop).value().transactions, 0u);
}

TEST_F(StampedLogsTest, SpaceIsFreeOnceItsBlocksAreHome) {
  for (uint64_t time = 1; time <= 7; ++time) {
    EXPECT_TRUE(logs().has_room(0, kBlock));
    commit(0, time, 8 * time, time);
  }
  EXPECT_TRUE(logs().has_room(0, kBlock));
  EXPECT_FALSE(logs().has_room(0, kBlock + 1));
  EXPECT_TRUE(logs().has_room(1, kLog));
  EXPECT_EQ(replayed(), 0u);
  commit(0, 8, 64, 8);
  EXPECT_FALSE(logs().has_room(0, 1));
  commit(0, 9, 72, 9);  // waits for room
  EXPECT_EQ(replayed(), 8u);
  EXPECT_TRUE(logs().reclaim_all());
  EXPECT_EQ(replayed(), 9u);
  EXPECT_TRUE(logs().has_room(0, kLog));
  EXPECT_FALSE(recover().value().needed);
  EXPECT_EQ(clock_.now.load(), 9u);
}

/// Transactions use a copy of the home.
class StampedLogsOfACopy : public StampedLogsTest {
 protected:
  StampedLogsOfACopy() {
    regions_.data = machine_.medium().map(0, kPageBytes, nullptr, MapMode::copy_on_write).value();
    start();
  }
};

TEST_F(StampedLogsOfACopy, CountTheBytesThatComeHome) {
  commit(0, 1, 8, 11);
  commit(1, 2, 16, 12);
  const uint64_t before = statistics_.sum().bytes_written;
  EXPECT_TRUE(logs().reclaim_all());
  EXPECT_EQ(statistics_.sum().bytes_written - before, 2 * sizeof(uint64_t));
  EXPECT_EQ(SimMachine::load(reinterpret_cast<const uint64_t*>(regions_.home + 16)), 12u);
  EXPECT_EQ(word(16), 0u) << "the owner stores there";
}

TEST_F(StampedLogsTest, BlocksBehindATransactionThatRunsStay) {
  for (uint64_t time = 1; time <= 5; ++time) {
    commit(1, time, 8 * time, time);
    if (time == 2) {
      logs().announce(0);  // its time will be at least 3
    }
  }
  EXPECT_FALSE(logs().reclaim_all());
  EXPECT_EQ(replayed(), 2u);
  logs().announce_time(0, 5);
  EXPECT_FALSE(logs().reclaim_all());
  EXPECT_EQ(replayed(), 4u);
  logs().await_complete(0, 9, Site{});  // not for itself
  logs().await_complete(1, 4, Site{});  // nor for later times
  logs().retract(0);
  EXPECT_TRUE(logs().reclaim_all());
  EXPECT_EQ(replayed(), 5u);
}

TEST_F(StampedLogsTest, TheBackgroundReclaimsWhenALogIsHalfFull) {
  for (uint64_t time = 1; time <= 5; ++time) {
    commit(0, time, 8, time);
    EXPECT_FALSE(logs().background()) << time;
  }
  commit(0, 6, 8, 6);  // has found less than half of the log free
  EXPECT_TRUE(logs().background());
  EXPECT_EQ(replayed(), 6u);
  EXPECT_FALSE(logs().background());
  EXPECT_FALSE(logs().background());
}

TEST_F(StampedLogsTest, ABlockFitsIntoAnEmptyLogOrIsRefused) {
  logs().check_size(kLog);
  EXPECT_THROW(logs().check_size(kLog + 1), Error);
  logs().make_room(0, kLog);
  EXPECT_THROW(logs().make_room(0, kLog + 1), Error);
}

TEST_F(StampedLogsTest, ATornBlockIsDroppedForGood) {
  commit(0, 1, 0, 11);
  commit(0, 2, 8, 12);
  log(0)[kBlock + 24] ^= std::byte{1};
  EXPECT_EQ(recover().value().transactions, 1u);
  EXPECT_EQ(word(8), 0u);
  log(0)[kBlock + 24] ^= std::byte{1};
  EXPECT_FALSE(recover().value().needed);
  EXPECT_EQ(word(8), 0u);
}

TEST_F(StampedLogsTest, DamageIsRefused) {
  commit(2, 1, kDataBytes - 8, 11);
  const auto refused = [&](std::byte& byte) {
    byte ^= std::byte{1};
    const Code code = recover().status().code();
    byte ^= std::byte{1};
    return code == Code::corrupt || code == Code::wrong_format;
  };
  for (const size_t at : {0, 8, 16, 24}) {
    EXPECT_TRUE(refused(regions_.area[at])) << "header " << at;
  }
  for (const int slot : {0, 2}) {
    EXPECT_TRUE(refused(tail(slot)[0])) << slot;
    EXPECT_TRUE(refused(tail(slot)[8])) << slot;
  }
  EXPECT_EQ(word(kDataBytes - 8), 0u);
  EXPECT_EQ(recover().value().transactions, 1u);
  EXPECT_EQ(word(kDataBytes - 8), 11u);
  commit(0, 2, kDataBytes, 12);
  const Status outside = recover().status();
  EXPECT_EQ(outside.code(), Code::corrupt);
  EXPECT_NE(outside.message().find("log 0"), std::string::npos);
}

TEST(StampedLogsArea, HasATailAndALogForEachSlot) {
  const StampedLogOptions defaults = StampedLogOptions::parse({}).value();
  EXPECT_EQ(defaults.log_bytes, uint64_t{1} << 20);
  EXPECT_TRUE(defaults.background);
  const StampedLogOptions given =
      StampedLogOptions::parse({{"log_bytes", "1000"}, {"background", "0"}}).value();
  EXPECT_EQ(given.log_bytes, 896u);
  EXPECT_FALSE(given.background);
  const StampedLogsArea area(given, 63);  // 65 lines of tails
  EXPECT_EQ(area.logs, 65);
  EXPECT_EQ(area.tail_offset, kPageBytes);
  EXPECT_EQ(area.log_offset, 3 * kPageBytes);
  EXPECT_EQ(area.bytes, 3 * kPageBytes + 65 * 896);
}

/// The queue before the logs. Blocks are visible at once.
class PersistQueueTest : public StampedLogsTest {
 protected:
  using StampedLogsTest::StampedLogsTest;
  void make(bool combines, uint64_t bound = 4) {
    start(Gaps::stop);
    queue_.emplace(machine_, logs(), bound, combines);
    logs().complete_up_to(queue_->durable());
  }
  void put(uint64_t time, uint64_t offset, uint64_t value, bool has_credit = false) {
    CommitBlock block = block_of(offset, value);
    queue_->put(time, block, has_credit);
  }
  uint64_t durable() { return queue_->durable().load(); }

  std::optional<PersistQueue<SimMachine>> queue_;
};

TEST_F(PersistQueueTest, PersistsBlocksInTheOrderOfTheirTimes) {
  for (const bool combines : {false, true}) {
    logs().format().check();
    make(combines);
    put(2, 8, 12);
    put(3, 0, 13);
    EXPECT_FALSE(queue_->persist()) << "the first one is missing";
    put(1, 0, 11);
    EXPECT_EQ(queue_->pending(3).count, 3u);
    const uint64_t before = statistics_.sum().bytes_written;
    EXPECT_TRUE(queue_->persist());
    EXPECT_EQ(durable(), 3u);
    EXPECT_FALSE(queue_->persist());
    EXPECT_EQ(queue_->pending(3).count, 0u);
    EXPECT_EQ(statistics_.sum().bytes_written - before,
              combines ? CommitBlock::kFrameBytes + 24 : 3 * (CommitBlock::kFrameBytes + 16));
    put(4, 16, 14);
    queue_->await(4, Site{});
    EXPECT_EQ(durable(), 4u);
    put(5, 16, 15);
    queue_->await_behind_others(5, Site{});
    EXPECT_EQ(durable(), 5u);
    EXPECT_EQ(recover(Gaps::stop).value().transactions, 5u);
    EXPECT_EQ(word(0), 13u);
    EXPECT_EQ(word(8), 12u);
    EXPECT_EQ(word(16), 15u);
    std::memset(regions_.data, 0, kDataBytes);
    std::memset(log(0), 0, 3 * area_.log_bytes);
  }
}

TEST_F(PersistQueueTest, GivesCreditsBackWithTheirBlocks) {
  make(false, 2);
  queue_->take_credit();
  queue_->take_credit();
  put(1, 0, 1, true);
  put(2, 8, 2, true);
  EXPECT_EQ(durable(), 0u);
  queue_->take_credit();  // persists
  EXPECT_EQ(durable(), 2u);
  queue_->take_credit();
  put(3, 0, 3, true);
  put(4, 8, 4);
  queue_->await(4, Site{});
  queue_->take_credit();
  queue_->return_credits(2);
  queue_->take_credit();
  queue_->take_credit();
  EXPECT_EQ(durable(), 4u);
}

TEST_F(PersistQueueTest, TakesAsManyBlocksAsTheLogHasRoomFor) {
  for (const bool combines : {false, true}) {
    make(combines);
    queue_->resume(0);
    for (uint64_t time = 1; time <= 30; ++time) {
      put(time, 0, time);
    }
    EXPECT_TRUE(queue_->persist());
    const uint64_t some = combines ? kLog / 40 : kLog / kBlock;
    EXPECT_EQ(durable(), some);
    EXPECT_TRUE(queue_->persist());
    // The combined block is short, and in the log until the next round.
    EXPECT_EQ(durable(), some + (combines ? (kLog - kBlock) / 40 : some));
  }
}

class QueueOfLargeLogs : public PersistQueueTest {
 protected:
  QueueOfLargeLogs() : PersistQueueTest(16 << 10) {}
};

TEST_F(QueueOfLargeLogs, AreFilledInBatchesFromABoundedNumberOfBlocks) {
  make(true);
  for (uint64_t time = 1; time <= 256; ++time) {
    put(time, 0, time);
  }
  EXPECT_EQ(durable(), 0u);
  EXPECT_TRUE(queue_->persist());
  EXPECT_EQ(durable(), 64u);
  put(257, 0, 257);
  EXPECT_EQ(durable(), 64u) << "there was room";
  for (uint64_t time = 258; time <= 321; ++time) {
    put(time, 0, time);
  }
  EXPECT_EQ(durable(), 128u);
  queue_->await(321, Site{});
  EXPECT_EQ(durable(), 321u);
  queue_->resume(1000);
  put(1001, 0, 1);
  EXPECT_TRUE(queue_->persist());
  EXPECT_EQ(durable(), 1001u);
}

}  // namespace
}  // namespace holdfast::stamped_logs_test
