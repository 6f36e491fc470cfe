// SPDX-License-Identifier: Apache-2.0
// Does the memory controller serve every request at the picosecond that its rules say? The rules
// are at the top of memory_controller.cc.
#include "holdfast/machine/sim/caches/memory_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/status.h"

namespace holdfast::sim::memory_controller_test {
namespace {

constexpr size_t kLine = 64;
// The device of `device()` in picoseconds.
constexpr Time kRead = 150'000;
constexpr Time kHit = 15'000;
constexpr Time kWrite = 100'000;
constexpr Time kBus = 3'332;
constexpr Time kTurn = 1'666;
constexpr Time kThere = 10'000;  // half of the path
constexpr Time kIdle = 2 * kThere + kRead + kBus;

/// Persistent memory behind gem5's NVM interface. Row hits take a time of their own, so that tests
/// see them.
MemoryDescription device() {
  MemoryDescription d;
  d.banks = 16;
  d.row_bytes = 256;
  d.read_ns = 150;
  d.row_hit_ns = 15;
  d.write_ns = 100;
  d.bus_ns = 3.332;
  d.turnaround_ns = 1.666;
  d.path_ns = 20;
  return d;
}

/// A device without the low mark: a write begins as soon as its bank is idle.
MemoryDescription eager() {
  MemoryDescription d = device();
  d.drain_low = 0;
  return d;
}

/// The first line of a row. A row has four lines, and there are sixteen banks.
uint64_t line_of(uint64_t bank, uint64_t row) {
  return (row * 16 + bank) * 4;
}

/// Writes n lines at `now`, all to different rows of one bank.
void fill_bank(MemoryController& memory, uint64_t bank, uint64_t n, Time now) {
  for (uint64_t i = 0; i < n; ++i) {
    memory.write(line_of(bank, 1000 + i), now);
  }
}

TEST(SimMemoryController, IdleReadTakesPathBankAndBus) {
  MemoryController memory(device(), kLine);
  EXPECT_EQ(memory.read(0, 0), kIdle);
  EXPECT_EQ(memory.read(line_of(7, 3), 5'000'000), 5'000'000 + kIdle);
  EXPECT_EQ(memory.counters().reads, 2u);
  EXPECT_EQ(memory.counters().reads_waited, 0u);
}

TEST(SimMemoryController, OddPathIsNotRounded) {
  MemoryDescription d = device();
  d.path_ns = 0.003;
  MemoryController memory(d, kLine);
  EXPECT_EQ(memory.read(0, 0), 3 + kRead + kBus);
  EXPECT_EQ(memory.write(8, 100), 101u);
}

TEST(SimMemoryController, OpenRowIsFaster) {
  MemoryController memory(device(), kLine);
  memory.read(0, 0);
  const Time hit = 2 * kThere + kHit + kBus;
  EXPECT_EQ(memory.read(3, 1'000'000), 1'000'000 + hit);
  EXPECT_EQ(memory.read(4, 2'000'000), 2'000'000 + kIdle) << "another bank";
  EXPECT_EQ(memory.read(3, 3'000'000), 3'000'000 + hit) << "still open";
  EXPECT_EQ(memory.read(line_of(0, 1), 4'000'000), 4'000'000 + kIdle) << "another row";
  EXPECT_EQ(memory.read(0, 5'000'000), 5'000'000 + kIdle) << "which closed the first";
  EXPECT_EQ(memory.counters().row_hits, 2u);
}

TEST(SimMemoryController, WithoutRowBuffersNothingIsOpen) {
  MemoryDescription d = device();
  d.row_bytes = 0;
  MemoryController memory(d, kLine);
  memory.read(0, 0);
  EXPECT_EQ(memory.read(0, 1'000'000), 1'000'000 + kIdle);
  EXPECT_EQ(memory.read(1, 1'000'000), 1'000'000 + kIdle + kBus) << "the next line, the next bank";
}

TEST(SimMemoryController, BankConflictWaitsForTheBankOnly) {
  MemoryController memory(device(), kLine);
  memory.read(line_of(0, 0), 0);
  EXPECT_EQ(memory.read(line_of(0, 1), 0), kIdle + kRead);
  EXPECT_EQ(memory.counters().reads_waited, kRead);

  MemoryController on_time(device(), kLine);
  on_time.read(line_of(0, 0), 0);
  EXPECT_EQ(on_time.read(line_of(0, 1), kRead), kRead + kIdle);
  EXPECT_EQ(on_time.counters().reads_waited, 0u);

  MemoryController early(device(), kLine);
  early.read(line_of(0, 0), 0);
  EXPECT_EQ(early.read(line_of(0, 1), kRead - 1), kRead + kIdle);
  EXPECT_EQ(early.counters().reads_waited, 1u);
}

TEST(SimMemoryController, BanksOverlapAndShareTheBus) {
  MemoryController memory(device(), kLine);
  for (uint64_t bank = 0; bank < 16; ++bank) {
    EXPECT_EQ(memory.read(line_of(bank, 0), 0), kIdle + bank * kBus);
  }
}

TEST(SimMemoryController, RowHitOvertakesOnTheBus) {
  MemoryController memory(device(), kLine);
  memory.read(line_of(0, 0), 0);
  memory.read(line_of(1, 0), 1'000'000);  // its transfer begins at 1'160'000
  EXPECT_EQ(memory.read(line_of(0, 0), 1'000'000), 1'000'000 + 2 * kThere + kHit + kBus);
  // A read whose transfer would begin in the middle of that transfer goes after it.
  const Time now = 1'160'000 - kHit - kThere + 1;
  EXPECT_EQ(memory.read(line_of(0, 0), now), 1'160'000 + 2 * kBus + kThere);
}

TEST(SimMemoryController, ReadQueueFullDelaysAcceptance) {
  MemoryDescription d = device();
  d.read_queue = 2;
  MemoryController memory(d, kLine);
  const Time first = memory.read(line_of(0, 0), 0);
  const Time second = memory.read(line_of(1, 0), 0);
  EXPECT_EQ(memory.read(line_of(2, 0), 0), first - kThere + kRead + kBus + kThere);
  EXPECT_EQ(memory.read(line_of(3, 0), 0), second - kThere + kRead + kBus + kThere);
}

TEST(SimMemoryController, BankRestsBetweenWriteAndRead) {
  MemoryController memory(eager(), kLine);
  EXPECT_EQ(memory.write(line_of(0, 0), 0), kThere);
  const Time after = kThere + kWrite + kTurn;
  EXPECT_EQ(memory.read(line_of(0, 1), 1), after + kRead + kBus + kThere);

  for (const Time late : {Time{0}, Time{1}}) {  // exactly at the end of the rest, and 1 ps before
    MemoryController rested(eager(), kLine);
    rested.write(line_of(0, 0), 0);
    const Time now = after - kThere - late;
    EXPECT_EQ(rested.read(line_of(0, 1), now), now + late + kIdle);
  }
}

TEST(SimMemoryController, BankAndBusRestBetweenReadAndWrite) {
  MemoryDescription d = eager();
  d.bus_ns = 0;
  MemoryController bank(d, kLine);
  bank.read(line_of(0, 0), 0);
  bank.write(line_of(0, 1), 0);
  EXPECT_EQ(bank.drained(kThere), kThere + kRead + kTurn + kWrite);

  MemoryController bus(eager(), kLine);
  bus.read(line_of(0, 0), 0);
  const Time transfer = kThere + kRead;
  bus.write(line_of(1, 0), transfer - kThere);
  EXPECT_EQ(bus.drained(transfer), transfer + kBus + kTurn + kWrite);

  MemoryController free(eager(), kLine);
  free.read(line_of(0, 0), 0);
  free.write(line_of(1, 0), transfer - kThere - 1);
  EXPECT_EQ(free.drained(transfer - 1), transfer - 1 + kWrite) << "before the read's transfer";
}

TEST(SimMemoryController, FullQueueWaitsForOneBankWrite) {
  MemoryController memory(device(), kLine);
  for (uint64_t i = 0; i < 64; ++i) {
    ASSERT_EQ(memory.write(line_of(i, 0), 0), kThere) << i;
  }
  EXPECT_EQ(memory.counters().highest_fill, 64u);
  EXPECT_EQ(memory.counters().writes_waited, 0u);
  EXPECT_EQ(memory.write(line_of(64, 0), 0), kThere + kWrite);
  // The second bank got its line one bus transfer later.
  EXPECT_EQ(memory.write(line_of(65, 0), 0), kThere + kWrite + kBus);
  EXPECT_EQ(memory.counters().highest_fill, 64u);
  EXPECT_EQ(memory.counters().writes_waited, 2 * kWrite + kBus);
}

TEST(SimMemoryController, EntryIsFreeWhenTheBankHasFinishedAndNotBefore) {
  for (const Time early : {Time{0}, Time{1}}) {
    MemoryController memory(device(), kLine);
    fill_bank(memory, 0, 64, 0);
    EXPECT_EQ(memory.write(line_of(1, 0), kWrite - early), kThere + kWrite);
    EXPECT_EQ(memory.counters().writes_waited, early);
    EXPECT_EQ(memory.write(line_of(2, 0), kWrite), kThere + kWrite + kWrite) << "one bank has all";
  }
}

/// Offers 10,000 writes of consecutive lines at once. Returns the time when the last one is
/// accepted.
Time stream(MemoryController& memory) {
  Time last = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const Time accepted = memory.write(i, 0);
    EXPECT_GE(accepted, last);
    last = accepted;
  }
  return last - kThere;
}

TEST(SimMemoryController, PeakWriteRateIsBanksPerWriteTime) {
  MemoryController memory(device(), kLine);
  const Time banks_limit = (10'000 - 64) * kWrite / 16;
  const Time time = stream(memory);
  EXPECT_GE(time + kWrite, banks_limit);
  EXPECT_LE(time, banks_limit + kWrite);
  const Time all = memory.drained(kThere) - kThere;
  EXPECT_GE(all, 10'000 * kWrite / 16);
  EXPECT_LE(all, 10'000 * kWrite / 16 + 4 * kWrite) << "the last rows leave banks idle";
}

TEST(SimMemoryController, PeakWriteRateIsLimitedByTheBus) {
  MemoryDescription d = device();
  d.write_ns = 16;
  MemoryController memory(d, kLine);
  EXPECT_EQ(stream(memory), 16'000 + (10'000 - 65) * kBus);
}

TEST(SimMemoryController, ChannelsMultiplyTheWriteRate) {
  MemoryDescription d = device();
  d.channels = 3;
  MemoryController memory(d, kLine);
  const Time limit = (10'000 - 3 * 64) * kWrite / 48;
  const Time time = stream(memory);
  EXPECT_GE(time + 2 * kWrite, limit);
  EXPECT_LE(time, limit + 2 * kWrite);
}

TEST(SimMemoryController, WritesOfOneLineMergeUntilTheyBegin) {
  MemoryController memory(eager(), kLine);
  memory.write(0, 0);
  EXPECT_EQ(memory.write(0, 0), kThere);
  EXPECT_EQ(memory.counters().merged, 1u);
  EXPECT_EQ(memory.counters().highest_fill, 1u);
  memory.write(0, 1);  // the first is in service now
  EXPECT_EQ(memory.counters().merged, 1u);
  EXPECT_EQ(memory.counters().highest_fill, 2u);
  EXPECT_EQ(memory.drained(kThere + 1), kThere + 2 * kWrite);
}

TEST(SimMemoryController, MergingNeedsNoEntry) {
  MemoryController memory(device(), kLine);
  for (uint64_t i = 0; i < 64; ++i) {
    memory.write(line_of(i, 0), 0);
  }
  EXPECT_EQ(memory.write(line_of(63, 0), 0), kThere);
  EXPECT_EQ(memory.counters().merged, 1u);
  EXPECT_EQ(memory.write(line_of(64, 0), 0), kThere + kWrite);
}

TEST(SimMemoryController, WithoutMergingEachWriteHasItsEntry) {
  MemoryDescription d = device();
  d.merges = false;
  MemoryController memory(d, kLine);
  memory.write(0, 0);
  memory.write(0, 0);
  EXPECT_EQ(memory.counters().merged, 0u);
  EXPECT_EQ(memory.counters().highest_fill, 2u);
  EXPECT_EQ(memory.drained(kThere), kThere + 2 * kWrite);
  EXPECT_TRUE(memory.queued(0, kThere + 2 * kWrite - 1));
}

TEST(SimMemoryController, ReadsOfQueuedLinesAreForwarded) {
  MemoryController memory(eager(), kLine);
  memory.write(0, 0);
  EXPECT_EQ(memory.read(0, 0), 2 * kThere) << "waiting";
  EXPECT_EQ(memory.read(0, kWrite - 1), kWrite - 1 + 2 * kThere) << "in service";
  EXPECT_EQ(memory.counters().forwarded, 2u);
  // The line is on the medium now: the bank reads the row that the write left open.
  EXPECT_EQ(memory.read(0, kWrite), kThere + kWrite + kTurn + kHit + kBus + kThere);
  EXPECT_EQ(memory.counters().forwarded, 2u);
}

TEST(SimMemoryController, WithoutForwardingTheBankWritesFirst) {
  MemoryDescription d = device();
  d.forwards = false;
  MemoryController memory(d, kLine);
  memory.write(line_of(0, 1), 0);
  memory.write(line_of(0, 0), 0);
  memory.write(line_of(0, 2), 0);
  EXPECT_EQ(memory.read(line_of(0, 0), 0), kThere + 2 * kWrite + kTurn + kHit + kBus + kThere);
  EXPECT_EQ(memory.counters().forwarded, 0u);
  EXPECT_TRUE(memory.queued(line_of(0, 2), 10'000'000)) << "the third was not needed";
}

TEST(SimMemoryController, LowMarkKeepsWritesInTheQueue) {
  MemoryController memory(device(), kLine);
  fill_bank(memory, 0, 32, 0);
  EXPECT_EQ(memory.read(line_of(0, 0), 1), 1 + kIdle) << "32 wait: none goes out";
  EXPECT_TRUE(memory.queued(line_of(0, 1000), 1'000'000'000));
}

TEST(SimMemoryController, IdleBankWritesAboveTheLowMark) {
  MemoryController memory(device(), kLine);
  for (uint64_t i = 0; i < 33; ++i) {
    memory.write(line_of(15 - i % 16, i), 5 * i);
  }
  const Time begin = Time{5} * 32 + kThere;
  EXPECT_TRUE(memory.queued(line_of(15, 0), begin + kWrite - 1)) << "the oldest, until finished";
  EXPECT_FALSE(memory.queued(line_of(15, 0), begin + kWrite));
  for (uint64_t i = 1; i < 33; ++i) {
    EXPECT_TRUE(memory.queued(line_of(15 - i % 16, i), 1'000'000'000)) << i;
  }
}

TEST(SimMemoryController, ReadsGoBeforeWaitingWrites) {
  MemoryController memory(device(), kLine);
  fill_bank(memory, 0, 54, 0);  // the high mark is 55
  EXPECT_EQ(memory.read(line_of(0, 0), 0), kIdle) << "nothing has begun yet";

  MemoryController begun(device(), kLine);
  fill_bank(begun, 0, 54, 0);
  const Time first = begun.read(line_of(0, 0), 1);
  EXPECT_EQ(first, kThere + kWrite + kTurn + kRead + kBus + kThere) << "only the one in service";
  EXPECT_EQ(begun.read(line_of(0, 1), 1), first + kRead) << "and reads keep the bank";
  EXPECT_EQ(begun.read(line_of(1, 0), 2'000), 2'000 + kIdle) << "another bank";
}

TEST(SimMemoryController, ReadsWaitForADrain) {
  MemoryController memory(device(), kLine);
  fill_bank(memory, 0, 55, 0);
  const Time quota = 55 - 32;
  const Time first = memory.read(line_of(0, 0), 0);
  EXPECT_EQ(first, kThere + quota * kWrite + kTurn + kRead + kBus + kThere);
  EXPECT_EQ(memory.read(line_of(0, 1), 0), first + kRead) << "the drain is over by then";
  EXPECT_EQ(memory.read(line_of(1, 0), 0), kIdle) << "a bank with no part in it";
  EXPECT_TRUE(memory.queued(line_of(0, 1000 + quota), 1'000'000'000)) << "the rest stays";
  EXPECT_FALSE(memory.queued(line_of(0, 1000 + quota - 1), 1'000'000'000));
}

TEST(SimMemoryController, DrainIsNotProlongedByLaterWrites) {
  MemoryController memory(device(), kLine);
  fill_bank(memory, 0, 60, 0);
  EXPECT_EQ(memory.read(line_of(0, 0), 0),
            kThere + (55 - 32) * kWrite + kTurn + kRead + kBus + kThere);
}

TEST(SimMemoryController, DrainWritesABatchAtLeast) {
  MemoryDescription d = device();
  d.drain_low = 0.84;  // 53 entries
  MemoryController memory(d, kLine);
  fill_bank(memory, 0, 55, 0);
  EXPECT_EQ(memory.read(line_of(0, 0), 0), kThere + 16 * kWrite + kTurn + kRead + kBus + kThere);
}

TEST(SimMemoryController, LinesGoRoundTheChannels) {
  for (const int channels : {2, 3, 6}) {
    MemoryDescription d = device();
    d.channels = channels;
    MemoryController memory(d, kLine);
    const auto n = static_cast<uint64_t>(channels);
    for (uint64_t line = 0; line < n; ++line) {
      EXPECT_EQ(memory.read(line, 0), kIdle) << "nothing shared";
    }
    EXPECT_EQ(memory.read(n, 1'000'000), 1'000'000 + 2 * kThere + kHit + kBus) << "same row";
    EXPECT_EQ(memory.read(4 * n, 2'000'000), 2'000'000 + kIdle) << "next bank";
    EXPECT_EQ(memory.read(64 * n, 3'000'000), 3'000'000 + kIdle) << "next row, first bank";
    EXPECT_EQ(memory.read(0, 3'000'000), 3'000'000 + kIdle + kRead) << "conflict";
  }
}

TEST(SimMemoryController, EarlyReadTakesTheGapBeforeLaterOnes) {
  MemoryController memory(device(), kLine);
  memory.read(line_of(0, 0), 300'000);  // occupies the bank from 310'000 to 460'000
  EXPECT_EQ(memory.read(line_of(0, 1), 0), kIdle);
  MemoryController exact(device(), kLine);
  exact.read(line_of(0, 0), 300'000);
  EXPECT_EQ(exact.read(line_of(0, 1), 300'000 - kRead), 300'000 - kRead + kIdle) << "just fits";
  MemoryController tight(device(), kLine);
  tight.read(line_of(0, 0), 300'000);
  EXPECT_EQ(tight.read(line_of(0, 1), 300'001 - kRead), 300'000 + kRead + kIdle);
}

TEST(SimMemoryController, EarlyRequestsDoNotQueueBehindTheFuture) {
  MemoryController memory(device(), kLine);
  for (uint64_t i = 0; i < 1'000; ++i) {
    memory.write(line_of(i, i / 16), 1'000'000);
  }
  // The writes keep the banks busy until 7.2 us. A read waits for its bank's part of one drain: a
  // write in service, and 23 / 16 of the quota, rounded up.
  const Time during = 2'000'000;
  EXPECT_LE(memory.read(line_of(3, 500), during), during + 4 * kWrite + kTurn + kIdle);
  EXPECT_EQ(memory.read(line_of(4, 500), 700'000), 700'000 + kIdle) << "before all of them";

  MemoryController write(device(), kLine);
  write.write(line_of(0, 0), 1'000'000);
  EXPECT_EQ(write.write(line_of(0, 1), 0), kThere);
}

TEST(SimMemoryController, WritesPushedAsideAreDoneLater) {
  MemoryDescription d = device();
  d.bus_ns = 0;
  d.turnaround_ns = 0;
  MemoryController memory(d, kLine);
  fill_bank(memory, 0, 1'000, 0);  // booked far beyond now
  constexpr Time kReads = 40;
  for (Time i = 0; i < kReads; ++i) {
    memory.read(line_of(0, i), i * 700'000);
  }
  EXPECT_EQ(memory.drained(kThere + kReads * 700'000), kThere + 1'000 * kWrite + kReads * kRead);
}

TEST(SimMemoryController, ReadsAndWritesShareTheBus) {
  MemoryDescription d = device();
  d.read_ns = d.write_ns = 20;
  d.bus_ns = 10;
  d.turnaround_ns = 0;
  MemoryController memory(d, kLine);
  constexpr Time kSteps = 2'000;
  Time accepted = 0;
  for (Time i = 0; i < kSteps; ++i) {  // every 20 ns one read and two writes: 30 ns of bus
    memory.read(line_of(i % 8, i), (i ^ 1) * 20'000);  // every other read comes early
    memory.write(line_of(8 + i % 8, i), i * 20'000);
    accepted = memory.write(line_of(8 + (i + 4) % 8, 100'000 + i), i * 20'000);
  }
  // While reads come, writes have half of the bus; afterwards they have all of it.
  const Time writes_left = 2 * kSteps - kSteps - 64;
  const Time expected = kSteps * 20'000 + writes_left * 10'000;
  EXPECT_GE(accepted, expected - expected / 100);
  EXPECT_LE(accepted, expected + expected / 100);
}

TEST(SimMemoryController, DrainedEmptiesTheQueue) {
  MemoryController memory(device(), kLine);
  EXPECT_EQ(memory.drained(77), 77u);
  fill_bank(memory, 2, 10, 0);
  const Time end = memory.drained(kThere);
  EXPECT_EQ(end, kThere + 10 * kWrite);
  EXPECT_TRUE(memory.queued(line_of(2, 1009), end - 1));
  EXPECT_FALSE(memory.queued(line_of(2, 1009), end));
  EXPECT_EQ(memory.drained(end), end);
  EXPECT_EQ(memory.drained(end + 5), end + 5);
}

TEST(SimMemoryController, QueuedFromAcceptance) {
  MemoryController memory(device(), kLine);
  EXPECT_FALSE(memory.queued(5, 1'000));
  const Time accepted = memory.write(5, 20'000);
  EXPECT_FALSE(memory.queued(5, accepted - 1));
  EXPECT_TRUE(memory.queued(5, accepted));
  EXPECT_FALSE(memory.queued(6, accepted));
}

// ---- writes that are taken back (rule 12)

TEST(SimMemoryController, AWriteIsCancelledUntilItsBankBegins) {
  for (const Time late : {Time{0}, Time{1}}) {
    MemoryController memory(eager(), kLine);
    WriteTicket ticket;
    memory.write(line_of(0, 0), 0, &ticket);  // its bank begins at kThere
    EXPECT_EQ(memory.cancel(ticket, kThere + late), late == 0);
    EXPECT_EQ(memory.queued(line_of(0, 0), kThere + late), late != 0);
    EXPECT_EQ(memory.counters().cancelled, 1 - late);
    EXPECT_EQ(memory.drained(kThere + late), kThere + late * kWrite);
    EXPECT_FALSE(memory.cancel(ticket, kThere + 2 * kWrite)) << "it is gone";
  }
}

TEST(SimMemoryController, ATicketDoesNotCancelALaterWriteInItsEntry) {
  MemoryController memory(eager(), kLine);
  WriteTicket first;
  WriteTicket second;
  memory.write(line_of(0, 0), 0, &first);
  ASSERT_TRUE(memory.cancel(first, kThere));
  memory.write(line_of(0, 1), 0, &second);
  ASSERT_EQ(first.entry, second.entry);
  EXPECT_FALSE(memory.cancel(first, kThere));
  EXPECT_TRUE(memory.queued(line_of(0, 1), kThere));
  EXPECT_TRUE(memory.cancel(second, kThere));
}

TEST(SimMemoryController, AWriteThatMergedWithACancelledOneRemains) {
  for (const size_t cancelled : {0, 1}) {
    MemoryController memory(device(), kLine);
    WriteTicket tickets[2];
    memory.write(0, 0, &tickets[0]);
    memory.write(0, 0, &tickets[1]);
    ASSERT_EQ(memory.counters().merged, 1u);
    EXPECT_TRUE(memory.cancel(tickets[cancelled], kThere));
    EXPECT_TRUE(memory.queued(0, kThere)) << "the other one";
    EXPECT_TRUE(memory.cancel(tickets[1 - cancelled], kThere));
    EXPECT_FALSE(memory.queued(0, kThere));
    EXPECT_EQ(memory.drained(kThere), kThere) << "the medium is not written";
  }
}

// Wear counts writes that happen: not those that merge into one that waits, or are taken back.
TEST(SimMemoryController, WearAddsUpToTheWritesOfTheMedium) {
  MemoryController memory(device(), kLine);
  memory.write(3, 0);
  EXPECT_EQ(memory.wear().writes, 0u) << "it is not counted unless asked for";
  memory.count_wear();
  WriteTicket tickets[3];
  memory.write(0, 0, &tickets[0]);
  memory.write(0, 0, &tickets[1]);
  memory.write(9, 0, &tickets[2]);
  memory.write(1000, 0);
  ASSERT_TRUE(memory.cancel(tickets[1], kThere)) << "the other write of line 0 remains";
  ASSERT_TRUE(memory.cancel(tickets[2], kThere));
  const Time later = memory.drained(kThere);
  memory.write(0, later);
  memory.drained(later + kThere);
  memory.write(0, later + kWrite + kThere);
  const WearSummary wear = memory.wear();
  EXPECT_EQ(wear.lines, 2u);
  EXPECT_EQ(wear.most, 3u);
  EXPECT_EQ(wear.writes, 4u);
  const MemoryCounters counted = memory.counters();
  EXPECT_EQ(wear.writes + 1, counted.writes - counted.merged - counted.cancelled) << "and line 3";
}

TEST(SimMemoryController, AWriteFromBeforeTheCountOfWearIsTakenBack) {
  MemoryController memory(device(), kLine);
  WriteTicket ticket;
  memory.write(0, 0, &ticket);
  memory.count_wear();
  ASSERT_TRUE(memory.cancel(ticket, kThere));
  EXPECT_EQ(memory.wear().writes, 0u);
  EXPECT_EQ(memory.wear().most, 0u);
}

TEST(SimMemoryController, ACancelledWriteMakesRoomAtOnce) {
  for (const uint64_t which : {0, 31, 63}) {
    MemoryController memory(device(), kLine);
    std::vector<WriteTicket> tickets(64);
    for (uint64_t i = 0; i < 64; ++i) {
      memory.write(line_of(i, 0), 0, &tickets[i]);
    }
    ASSERT_TRUE(memory.cancel(tickets[which], kThere));
    EXPECT_EQ(memory.write(line_of(64, 0), 0), kThere) << "else it waits for a bank's write";
    EXPECT_EQ(memory.write(line_of(65, 0), 0), kThere + kWrite) << "one entry, one write";
  }
}

TEST(SimMemoryController, TheBankWritesTheOthersInTheirOrder) {
  for (const uint64_t removed : {0, 1, 2}) {
    MemoryController memory(eager(), kLine);
    std::vector<WriteTicket> tickets(3);
    for (uint64_t i = 0; i < 3; ++i) {
      memory.write(line_of(0, i), 0, &tickets[i]);
    }
    ASSERT_TRUE(memory.cancel(tickets[removed], kThere));
    memory.write(line_of(0, 3), 0);
    Time end = kThere;
    for (uint64_t i = 0; i < 4; ++i) {
      if (i != removed) {
        end += kWrite;
        EXPECT_TRUE(memory.queued(line_of(0, i), end - 1)) << i;
        EXPECT_FALSE(memory.queued(line_of(0, i), end)) << i;
      }
    }
    EXPECT_EQ(memory.drained(end), end);
  }
}

TEST(SimMemoryController, ADrainEndsWithItsLastWrite) {
  const auto drain = [](uint64_t cancelled, Time& read) {
    MemoryController memory(device(), kLine);
    std::vector<WriteTicket> tickets(55);  // the high mark
    for (uint64_t i = 0; i < 55; ++i) {
      memory.write(line_of(0, i), 0, &tickets[i]);
    }
    for (uint64_t i = 0; i < cancelled; ++i) {
      EXPECT_TRUE(memory.cancel(tickets[i], kThere));
    }
    read = memory.read(line_of(0, 500), 0);
    fill_bank(memory, 1, 55, 10'000'000);
    return memory.read(line_of(1, 500), 10'000'000);
  };
  const Time quota = 55 - 32;
  for (const uint64_t cancelled : {0, 1, 32, 33, 54, 55}) {
    Time read = 0;
    const Time again = drain(cancelled, read);
    const Time writes = std::min<Time>(quota, 55 - cancelled);
    const Time wait = writes == 0 ? 0 : writes * kWrite + kTurn;
    EXPECT_EQ(read, kIdle + wait) << cancelled << " cancelled";
    if (cancelled >= 32) {  // nothing of the first drain waits any more
      EXPECT_EQ(again, 10'000'000 + kIdle + quota * kWrite + kTurn) << "the next drain";
    }
  }
}

// A queue from which writes were taken back is like one that never had them.
TEST(SimMemoryController, CancelledWritesLeaveNoTrace) {
  MemoryDescription d = device();
  d.drain_low = d.drain_high = 1;  // nothing begins
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    MemoryController memory(d, kLine);
    Random random(seed);
    std::vector<std::pair<uint64_t, WriteTicket>> waiting;
    for (uint64_t i = 0; i < 400; ++i) {
      if (waiting.size() == 50 || (!waiting.empty() && random.below(5) < 2)) {
        const auto which = static_cast<std::ptrdiff_t>(random.below(waiting.size()));
        ASSERT_TRUE(memory.cancel(waiting[static_cast<size_t>(which)].second, kThere));
        waiting.erase(waiting.begin() + which);
      } else {
        waiting.emplace_back(line_of(random.below(8), 1000 + i), WriteTicket{});
        ASSERT_EQ(memory.write(waiting.back().first, 0, &waiting.back().second), kThere);
      }
    }
    MemoryController other(d, kLine);
    for (const auto& write : waiting) {
      other.write(write.first, 0);
    }
    const Time end = memory.drained(kThere);
    ASSERT_EQ(end, other.drained(kThere)) << "seed " << seed;
    for (Time t = kThere; t <= end; t += kBus) {
      for (const auto& write : waiting) {
        ASSERT_EQ(memory.queued(write.first, t), other.queued(write.first, t)) << "seed " << seed;
      }
    }
  }
}

/// Returns a digest of a random run, with times that jump back by up to 400 ns.
uint64_t random_run(const MemoryDescription& d, uint64_t seed) {
  MemoryController memory(d, kLine);
  Random random(seed);
  uint64_t digest = 0;
  Time clock = 1'000'000;
  for (int i = 0; i < 50'000; ++i) {
    clock += random.below(120'000);
    const Time now = clock - random.below(400'000);
    const uint64_t line = random.below(random.below(10) == 0 ? 64 : 1'000'000);
    const bool is_read = random.below(3) != 0;
    const Time done = is_read ? memory.read(line, now) : memory.write(line, now);
    EXPECT_GE(done, now + (is_read ? 2 * kThere : kThere));
    EXPECT_LT(done, now + 20'000'000) << "seed " << seed << ", request " << i;
    digest = mix64(digest ^ done);
  }
  EXPECT_LE(memory.counters().highest_fill, static_cast<uint64_t>(d.write_queue));
  return digest;
}

TEST(SimMemoryController, SameRequestsSameTimes) {
  MemoryDescription odd = device();
  odd.channels = 3;
  odd.banks = 5;
  odd.write_queue = 7;
  odd.read_queue = 3;
  odd.merges = odd.forwards = false;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(random_run(device(), seed), random_run(device(), seed));
    EXPECT_EQ(random_run(odd, seed), random_run(odd, seed));
    EXPECT_NE(random_run(device(), seed), random_run(device(), seed + 10));
  }
}

TEST(SimMemoryController, SmallestDevice) {
  MemoryDescription d;
  d.banks = d.read_queue = d.write_queue = d.drain_batch = 1;
  d.read_ns = d.write_ns = 10;
  MemoryController memory(d, kLine);
  EXPECT_EQ(memory.write(0, 0), 0u);
  EXPECT_EQ(memory.write(1, 0), 10'000u);
  EXPECT_EQ(memory.write(2, 0), 20'000u);
  EXPECT_EQ(memory.drained(20'000), 30'000u);
}

TEST(SimMemoryController, ImpossibleDescriptionsAreRefused) {
  const std::vector<std::function<void(MemoryDescription&)>> mistakes = {
      [](MemoryDescription& d) { d.channels = 0; },
      [](MemoryDescription& d) { d.banks = 0; },
      [](MemoryDescription& d) { d.banks = 1025; },
      [](MemoryDescription& d) { d.read_queue = 0; },
      [](MemoryDescription& d) { d.write_queue = 0; },
      [](MemoryDescription& d) { d.write_queue = 65'535; },
      [](MemoryDescription& d) { d.drain_low = 0.9; },
      [](MemoryDescription& d) { d.drain_high = 1.1; },
      [](MemoryDescription& d) { d.drain_batch = 0; },
      [](MemoryDescription& d) { d.write_ns = -1; },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    MemoryDescription d = device();
    mistakes[i](d);
    try {
      const MemoryController memory(d, kLine);
      ADD_FAILURE() << "mistake " << i << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), Code::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace holdfast::sim::memory_controller_test
