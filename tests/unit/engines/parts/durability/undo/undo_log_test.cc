// SPDX-License-Identifier: Apache-2.0
//
// Does an undo log put back what a transaction has overwritten, use its room to the last byte, and
// tell a torn record from damage?
#include "holdfast/engines/parts/durability/undo/undo_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::undo_log_test {
namespace {

/// Records of whole units of 16 bytes: one of 8 bytes takes 32.
template <bool kCounted, bool kOrdered>
struct Records {
  static constexpr size_t kUnit = 16;

  Records(SimMachine& of, const Options& /*options*/) : machine(of) {}
  void append(std::byte* to, const std::byte* from, size_t n) {
    SimMachine::copy(to, from, n);
    machine.pwb_range(to, n, Site{});
    machine.psync(Site{});
  }
  static constexpr bool ordered() { return kOrdered; }
  static constexpr bool counted() { return kCounted; }
  void count(uint64_t* word, uint64_t value) {
    SimMachine::store(word, value);
    machine.pwb(word, Site{});
    machine.psync(Site{});
  }
  SimMachine& machine;
};

constexpr size_t kSmall = 8;
constexpr size_t kSmallSpace = 32;
constexpr size_t kHeader = 24;
constexpr size_t kDataBytes = 4 * kPageBytes;

template <class R>
class UndoLogOf : public ::testing::Test {
 protected:
  using Log = UndoLog<SimMachine, R>;

  UndoLogOf() {
    for (size_t i = 0; i < kDataBytes; ++i) {
      data()[i] = static_cast<std::byte>(i % 251);
    }
    reset(10 * kSmallSpace);
  }

  /// An empty log with this room for records.
  void reset(size_t room) {
    regions_.area_bytes = kLineBytes + room;
    std::memset(regions_.area, 0, regions_.area_bytes);
    log_.emplace(machine_, regions_, Options{});
    log_->format();
  }
  Log& log() { return *log_; }
  std::byte* data() { return regions_.data; }
  std::byte* record(size_t position) { return regions_.area + kLineBytes + position; }

  /// Saves n bytes, and overwrites them.
  void change(size_t offset, size_t n) {
    log().append(data() + offset, n);
    std::memset(data() + offset, 0xff, n);
  }
  /// The first byte whose content is not that of the beginning; kDataBytes if there is none.
  size_t first_change() {
    size_t i = 0;
    while (i < kDataBytes && data()[i] == static_cast<std::byte>(i % 251)) {
      ++i;
    }
    return i;
  }
  /// Recovers with a new object, as after a crash.
  Status recover(RecoveryReport& report) {
    log_.emplace(machine_, regions_, Options{});
    return log_->recover(report);
  }
  Code recovered() {
    RecoveryReport report;
    return recover(report).code();
  }
  Code need_room(size_t count, size_t n) {
    try {
      log().need_room(count, n);
      return Code::ok;
    } catch (const Error& error) {
      return error.status().code();
    }
  }

 private:
  static std::byte* map(SimMachine& machine) {
    machine.medium().grow(kDataBytes + 4 * kPageBytes).check();
    return machine.medium().map(0, kDataBytes + 4 * kPageBytes, nullptr, MapMode::shared).value();
  }

 protected:
  SimMachine machine_{{.threads = 1}};
  std::byte* const base_ = map(machine_);
  Regions regions_{.data = base_,
                   .home = base_,
                   .area = base_ + kDataBytes,
                   .bytes = kDataBytes,
                   .capacity = kDataBytes};
  std::optional<Log> log_;
};

using Kinds = ::testing::Types<Records<false, true>, Records<false, false>, Records<true, true>>;
TYPED_TEST_SUITE(UndoLogOf, Kinds);

TYPED_TEST(UndoLogOf, HasRoomToItsLastByte) {
  EXPECT_EQ(this->need_room(10, kSmall), Code::ok);
  EXPECT_EQ(this->need_room(11, kSmall), Code::too_large);
  EXPECT_EQ(this->need_room(1, 10 * kSmallSpace - kHeader), Code::ok);
  EXPECT_EQ(this->need_room(1, 10 * kSmallSpace - kHeader + 1), Code::too_large);
  EXPECT_EQ(this->need_room(6, kSmall + 1), Code::ok) << "48 bytes each";
  EXPECT_EQ(this->need_room(7, kSmall + 1), Code::too_large);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(this->need_room(10 - i, kSmall), Code::ok);
    EXPECT_EQ(this->need_room(11 - i, kSmall), Code::too_large);
    this->change(100 * i, kSmall);
  }
  EXPECT_THROW(this->log().append(this->data(), 1), Error);
  EXPECT_EQ(this->recovered(), Code::ok);
  EXPECT_EQ(this->first_change(), kDataBytes);
  EXPECT_EQ(this->need_room(10, kSmall), Code::ok) << "the log is empty again";
}

TYPED_TEST(UndoLogOf, RollsBackToTheFirstContent) {
  this->change(16, 40);
  this->change(24, 8);
  this->change(1001, 3);
  this->log().roll_back();
  EXPECT_EQ(this->first_change(), kDataBytes);
  const uint64_t events = this->machine_.persist_events();
  this->log().roll_back();
  EXPECT_EQ(this->machine_.persist_events(), events) << "there is nothing to undo";
  this->log().restore();
  EXPECT_EQ(this->machine_.persist_events(), events);
}

TYPED_TEST(UndoLogOf, CountsTheBytesThatItWrites) {
  const size_t per_record = TypeParam::counted() ? sizeof(uint64_t) : 0;
  EXPECT_EQ(this->log().finish(), sizeof(uint64_t));
  this->change(0, kSmall);
  this->change(64, kSmall + 1);
  EXPECT_EQ(this->log().finish(), kSmallSpace + 48 + 2 * per_record + sizeof(uint64_t));
  this->change(128, kSmall);
  EXPECT_EQ(this->log().finish(), kSmallSpace + per_record + sizeof(uint64_t));
}

TYPED_TEST(UndoLogOf, RecoveryUndoesAnInterruptedTransactionOnce) {
  this->change(0, kSmall);
  this->log().finish();
  std::memcpy(this->data(), this->base_ + 251, kSmall);  // as in the beginning
  this->change(500, 20);
  this->change(600, kSmall);
  RecoveryReport report;
  ASSERT_TRUE(this->recover(report).ok());
  EXPECT_TRUE(report.needed);
  EXPECT_EQ(report.transactions, 1u);
  EXPECT_EQ(report.bytes, 28u);
  EXPECT_EQ(this->first_change(), kDataBytes);
  RecoveryReport second;
  ASSERT_TRUE(this->recover(second).ok());
  EXPECT_FALSE(second.needed);
  EXPECT_EQ(second.transactions, 0u);
  EXPECT_EQ(second.bytes, 0u);
}

TYPED_TEST(UndoLogOf, RecordsOfACommittedTransactionAreForgotten) {
  this->change(0, kSmall);
  this->change(8, kSmall);
  this->log().finish();
  EXPECT_EQ(this->recovered(), Code::ok);
  EXPECT_EQ(this->first_change(), 0u);
  // The first record of the next transaction is followed by one of that one.
  this->change(16, kSmall);
  EXPECT_EQ(this->recovered(), Code::ok);
  EXPECT_EQ(this->data()[15], std::byte{0xff});
  EXPECT_EQ(this->data()[16], std::byte{16});
}

TYPED_TEST(UndoLogOf, AnEmptiedLogIsDurableWithTheNextFence) {
  this->change(0, kSmall);
  this->log().empty();
  this->machine_.psync(Site{});
  EXPECT_EQ(this->recovered(), Code::ok);
  EXPECT_EQ(this->first_change(), 0u);
}

TYPED_TEST(UndoLogOf, ADamagedStateWordIsRefused) {
  for (const int bit : {0, 20, 47, 48, 63}) {
    auto* const word = reinterpret_cast<uint64_t*>(this->regions_.area);
    SimMachine::store(word, SimMachine::load(word) ^ uint64_t{1} << bit);
    EXPECT_EQ(this->recovered(), Code::corrupt) << bit;
    SimMachine::store(word, SimMachine::load(word) ^ uint64_t{1} << bit);
  }
  EXPECT_EQ(this->recovered(), Code::ok);
}

TYPED_TEST(UndoLogOf, OnlyTheLastRecordMayBeTorn) {
  for (const size_t torn : {0, 1, 2}) {
    this->reset(10 * kSmallSpace);
    for (size_t i = 0; i < 3; ++i) {
      this->change(100 * i, kSmall);
    }
    // Records that are not ordered may be torn in any order; a counted one was whole.
    const bool is_end = torn == 2 || !TypeParam::ordered();
    const bool refused = TypeParam::counted() || !is_end;
    for (const size_t at : {size_t{0}, size_t{8}, size_t{16}, kHeader}) {
      std::byte& byte = this->record(torn * kSmallSpace + at)[0];
      byte ^= std::byte{1};
      RecoveryReport report;
      UndoLog<SimMachine, TypeParam> later(this->machine_, this->regions_, Options{});
      EXPECT_EQ(later.examine(report).code(), refused ? Code::corrupt : Code::ok)
          << torn << ' ' << at;
      EXPECT_EQ(report.bytes, torn * kSmall);
      byte ^= std::byte{1};
    }
    EXPECT_EQ(this->recovered(), Code::ok);
    EXPECT_EQ(this->first_change(), kDataBytes);
  }
}

TYPED_TEST(UndoLogOf, RecordsOutsideOfTheHeapAreDamage) {
  this->change(kDataBytes - kSmall, kSmall);
  EXPECT_EQ(this->recovered(), Code::ok);
  EXPECT_EQ(this->first_change(), kDataBytes);
  for (const size_t offset : {kDataBytes - kSmall + 1, kDataBytes, kDataBytes + 1}) {
    this->reset(10 * kSmallSpace);
    this->log().append(this->data() + offset, kSmall);
    EXPECT_EQ(this->recovered(), Code::corrupt) << offset;
  }
}

TYPED_TEST(UndoLogOf, LooksForLaterRecordsWithinABound) {
  constexpr size_t kBound = 4096;
  const auto found = [&](size_t first, size_t second) {
    this->reset(3 * kPageBytes);
    this->log().append(this->data(), first - kHeader);
    this->log().append(this->data(), second);
    this->record(kHeader)[0] ^= std::byte{1};
    return this->recovered() == Code::corrupt;
  };
  if (TypeParam::counted()) {
    EXPECT_TRUE(found(kBound, 1)) << "the count tells";
    return;
  }
  EXPECT_EQ(found(kBound - 16, kSmall), TypeParam::ordered());
  EXPECT_FALSE(found(kBound, kSmall));
  EXPECT_EQ(found(kSmallSpace, kBound), TypeParam::ordered());
  EXPECT_FALSE(found(kSmallSpace, kBound + 1));
}

TEST(SealedWord, TellsDamage) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, SealedWord::kValueMask}) {
    const uint64_t word = SealedWord::of(value);
    EXPECT_TRUE(SealedWord::is_whole(word));
    EXPECT_EQ(SealedWord::value(word), value);
    for (int bit = 0; bit < 64; ++bit) {
      EXPECT_FALSE(SealedWord::is_whole(word ^ uint64_t{1} << bit)) << value << ' ' << bit;
    }
  }
  EXPECT_EQ(SealedWord::kValueMask, 0xffff'ffff'ffff);
}

}  // namespace
}  // namespace holdfast::undo_log_test
