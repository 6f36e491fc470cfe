// SPDX-License-Identifier: Apache-2.0
// Do the registers of a heap show each damage, and record each access?
#include "holdfast/check/registers/checked_registers.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::check::checked_registers_test {
namespace {

constexpr Object kObjects = 7;  ///< five of them shared
constexpr Object kShared = 5;
constexpr Object kBoxed = 2;  ///< objects 3 and 4
constexpr Object kPieces = 10;
constexpr uint64_t kStray = ~uint64_t{0};

class CheckedRegistersTest : public testing::Test {
 protected:
  CheckedRegistersTest() : registers_(kObjects, kShared, kBoxed, kPieces) {
    CreateOptions create;
    const auto durable = [](const auto& row) { return is_durable(*row.description); };
    create.engine = engine_rows_test::first_row(durable).description->name;
    create.bytes = 64 << 10;
    heap_ = SimHeap::create(machine_, create).value();
    registers_.set_up(*heap_).check();
    registers_.attach(*heap_).check();
    recorder_ = std::make_unique<Recorder>(registers_.all_objects(), 1);
  }

  /// Runs one transaction and returns its record.
  Transaction run(const char* body) {
    const Body parsed = RegisterProgram::parse(body, kPieces).value().threads[0][0];
    status_ = registers_.execute(*heap_, parsed, recorder_->client(0));
    return recorder_->history().transactions.back();
  }
  std::vector<uint64_t> words() { return registers_.observe(*heap_).value(); }
  std::vector<std::pair<std::byte*, size_t>> blocks() {
    std::vector<std::pair<std::byte*, size_t>> all;
    registers_.visit_blocks([&](const void* block, size_t n) {
      all.emplace_back(static_cast<std::byte*>(const_cast<void*>(block)), n);
    });
    return all;
  }
  /// Changes a byte, and returns the objects that are stray until it is changed back.
  std::set<Object> stray(std::byte* byte) {
    const std::byte before = SimMachine::load(byte);
    SimMachine::store(byte, before ^ std::byte{0x10});
    const std::vector<uint64_t> found = words();
    SimMachine::store(byte, before);
    std::set<Object> objects;
    for (Object i = 0; i < found.size(); ++i) {
      if (found[i] == kStray) {
        objects.insert(i);
      }
    }
    return objects;
  }

  SimMachine machine_;
  std::unique_ptr<SimHeap> heap_;
  CheckedRegisters<SimHeap> registers_;
  std::unique_ptr<Recorder> recorder_;
  Status status_;
};

using Stray = std::set<Object>;

TEST_F(CheckedRegistersTest, AreZeroAtFirst) {
  EXPECT_EQ(registers_.all_objects(), kObjects + kPieces);
  EXPECT_EQ(words(), std::vector<uint64_t>(kObjects + kPieces));
}

TEST_F(CheckedRegistersTest, OwnTheirArrayTheBoxesAndTheString) {
  const auto all = blocks();
  ASSERT_EQ(all.size(), 1u + kBoxed + 1u);
  EXPECT_EQ(all[0].second, kObjects * kLineBytes);
  EXPECT_EQ(all[1].second, 3 * sizeof(uint64_t));
  EXPECT_EQ(all[2].second, 3 * sizeof(uint64_t));
  EXPECT_EQ(all[3].second, kPieces * Piece::kBytes);
  const auto owned = [&](const BlockVisitor& visit) { registers_.visit_blocks(visit); };
  EXPECT_TRUE(heap_->check(owned).value().ok());
}

TEST_F(CheckedRegistersTest, HoldTheWordsThatWereWritten) {
  const Transaction t = run("w0 b3 w4 b6 W2-4 B9");
  EXPECT_TRUE(status_.ok());
  std::vector<uint64_t> expected(kObjects + kPieces);
  ASSERT_EQ(t.accesses.size(), 4u + 3 + 1);
  for (const Access& access : t.accesses) {
    expected[access.object] = access.version.word();
    EXPECT_TRUE(access.kind == Access::Kind::blind || access.replaced.initial());
  }
  EXPECT_EQ(words(), expected);
  for (const Object written : {0, 3, 4, 6, 7 + 2, 7 + 3, 7 + 4, 7 + 9}) {
    EXPECT_NE(expected[written], 0u) << written;
  }
  const Transaction again = run("r0 r3 r4 r6 R2-4 w3");
  for (const Access& access : again.accesses) {
    EXPECT_EQ((access.writes() ? access.replaced : access.version).word(), expected[access.object]);
  }
}

TEST_F(CheckedRegistersTest, AScanReadsTheSharedObjects) {
  run("w0 w1 w2 w3 w4 w5");
  const Transaction t = run("s");
  ASSERT_EQ(t.accesses.size(), kShared);
  for (Object i = 0; i < kShared; ++i) {
    EXPECT_EQ(t.accesses[i].object, i);
    EXPECT_EQ(t.accesses[i].version.transaction, 1u);
  }
}

TEST_F(CheckedRegistersTest, ShowADamagedBoxAndNoOther) {
  run("w3 w4 w0");
  const auto all = blocks();
  for (Object box = 0; box < kBoxed; ++box) {
    const auto [block, n] = all[1 + box];
    for (size_t byte = 0; byte < n; ++byte) {
      EXPECT_EQ(stray(block + byte), Stray{kShared - kBoxed + box}) << byte;
    }
  }
}

TEST_F(CheckedRegistersTest, ShowAPointerThatLeavesTheHeap) {
  std::byte* pointer = blocks()[0].first + 3 * kLineBytes + sizeof(uint64_t) + 6;
  EXPECT_EQ(stray(pointer), Stray{3});
}

TEST_F(CheckedRegistersTest, ShowADamagedPieceAndNoOther) {
  run("W0-9");
  std::byte* byte = blocks().back().first;
  for (Object piece = 0; piece < kPieces; ++piece) {
    for (size_t i = 0; i < Piece::kBytes; ++i) {
      EXPECT_EQ(stray(byte++), Stray{kObjects + piece}) << i;
    }
  }
}

TEST_F(CheckedRegistersTest, APieceOfTwoWritesIsStray) {
  const auto one = Piece::of(Version{1, 1}.word());
  auto mixed = Piece::of(Version{1, 2}.word());
  EXPECT_EQ(Piece::word(mixed.data(), 5), (Version{1, 2}.word()));
  mixed[0] = one[0];
  EXPECT_EQ(Piece::word(mixed.data(), 5), 5u);
}

TEST_F(CheckedRegistersTest, TellHowATransactionEnded) {
  EXPECT_EQ(run("w0").outcome, Outcome::committed);
  const Transaction thrown = run("x w0");
  EXPECT_EQ(thrown.outcome, Outcome::aborted);
  EXPECT_TRUE(thrown.threw);
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(words()[0], (Version{1, 1}.word()));
  EXPECT_TRUE(run("r0").read_only);
  EXPECT_FALSE(run("u r0").read_only);
  EXPECT_EQ(run("d w0").commit, Commit::durable);
  const Transaction fence = run("f");
  EXPECT_EQ(fence.commit, Commit::durable);
  EXPECT_EQ(fence.outcome, Outcome::committed);
  EXPECT_TRUE(fence.accesses.empty());
}

TEST_F(CheckedRegistersTest, PauseBeforeEachStepAndBehindTheLast) {
  int pauses = 0;
  registers_.between_steps([&] { ++pauses; });
  run("w0 r1 W0-3 s");
  EXPECT_EQ(pauses, 5);
}

TEST_F(CheckedRegistersTest, ATouchStoresTheInitialValue) {
  run("w0 w3 W1-4");
  heap_
      ->update([&] {
        registers_.touch(0);
        registers_.touch(3);
        registers_.touch_pieces(2, 2);
      })
      .check();
  const std::vector<uint64_t> found = words();
  EXPECT_EQ(found[0], 0u);
  EXPECT_EQ(found[3], 0u);
  EXPECT_NE(found[kObjects + 1], 0u);
  EXPECT_EQ(found[kObjects + 2], 0u);
  EXPECT_EQ(found[kObjects + 3], 0u);
  EXPECT_NE(found[kObjects + 4], 0u);
}

TEST_F(CheckedRegistersTest, AreFoundInTheHeapAgain) {
  run("w0 w3 W1-4");
  const std::vector<uint64_t> before = words();
  CheckedRegisters<SimHeap> others(kObjects, kShared, kBoxed, kPieces);
  others.attach(*heap_).check();
  EXPECT_EQ(others.observe(*heap_).value(), before);
  CheckedRegisters<SimHeap> without(kObjects, kShared, kBoxed);
  without.attach(*heap_).check();
  EXPECT_EQ(without.observe(*heap_).value(),
            std::vector<uint64_t>(before.begin(), before.begin() + kObjects));
}

}  // namespace
}  // namespace holdfast::check::checked_registers_test
