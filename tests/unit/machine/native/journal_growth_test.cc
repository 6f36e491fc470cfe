// SPDX-License-Identifier: Apache-2.0
//
// When does a journal take more of its place, and how much of it?
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::journal_growth_test {
namespace {

TEST(JournalGrowth, ComesBeforePagesGoHomeAndIsKept) {
  FaultyFile file(new_content(kGrowingJournal), kLongFile);
  JournalProgram program(file, 2, kGrowingJournal);
  EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes());
  uint64_t fences = 0;
  while (program.journal().counters().ring_bytes < kGrowingJournal.ring_bytes()) {
    ASSERT_EQ(program.journal().counters().checkpoints, 0u);
    program.fence(std::vector<uint64_t>{fences % kHomeLines, (fences + 5) % kHomeLines}, fences);
    program.sync();
    ++fences;
  }
  EXPECT_EQ(program.journal().counters().checkpoints, 0u);
  FaultyFile again(file.issued());
  const JournalProgram next(again, 3, kGrowingJournal);
  EXPECT_EQ(next.start(), 2 * fences);
  EXPECT_EQ(next.memory(), program.memory());
  FaultyFile third(again.issued());
  JournalProgram reopened(third, 4, kGrowingJournal);
  EXPECT_EQ(reopened.journal().counters().ring_bytes, kGrowingJournal.ring_bytes());
}

/// Calls `meanwhile` within its next sync.
class BusyFile : public FaultyFile {
 public:
  using FaultyFile::FaultyFile;
  Status sync() override {
    if (const auto work = std::exchange(meanwhile, {})) {
      work();
    }
    return FaultyFile::sync();
  }
  std::function<void()> meanwhile;
};

// They would have other places in a longer ring.
TEST(JournalGrowth, ComesOnlyWhenNoGroupsWrapAround) {
  BusyFile file(new_content(kGrowingJournal));
  JournalProgram program(file, 2, kGrowingJournal);
  const auto counters = [&] { return program.journal().counters(); };
  uint64_t fences = 0;
  const auto fence = [&] {
    program.fence(std::vector<uint64_t>{fences % kHomeLines, (fences + 5) % kHomeLines}, fences);
    program.sync();
    ++fences;
  };
  const auto fill_to = [&](uint64_t eighths) {
    while (counters().held_bytes < kSmallJournal.ring_bytes() / 8 * eighths) {
      fence();
    }
  };
  const auto expect_all = [&] {
    FaultyFile again(file.issued());
    const JournalProgram next(again, 3, kGrowingJournal);
    EXPECT_EQ(next.start(), 2 * fences);
    EXPECT_EQ(next.memory(), program.memory());
  };
  fill_to(4);
  program.journal().checkpoint();
  fill_to(2);
  file.set_bytes(kLongFile);  // as when the heap grows
  file.meanwhile = [&] { fill_to(6); };
  program.journal().checkpoint();  // prepares the growth
  EXPECT_EQ(counters().checkpoints, 2u);
  fill_to(5);
  EXPECT_EQ(counters().ring_bytes, kSmallJournal.ring_bytes());
  expect_all();
  while (counters().ring_bytes < kGrowingJournal.ring_bytes()) {
    ASSERT_LT(fences, 1000u);
    fence();
  }
  fence();
  expect_all();
}

TEST(JournalGrowth, TakesNoMoreThanTheRestOfItsFileHas) {
  const uint64_t rest = kSmallJournal.bytes;
  for (const uint64_t more : {uint64_t{0}, kPageBytes}) {
    FaultyFile file(new_content(kGrowingJournal), kGrowingJournal.bytes + rest + more);
    JournalProgram program(file, 2, kGrowingJournal);
    for (uint64_t i = 0; i < 50; ++i) {
      program.fence(std::vector<uint64_t>{i % kHomeLines}, i + 1);
      program.sync();
    }
    EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes() + more);
  }
}

/// A file on a disk that has no room for the growth of a journal.
class FullFile : public FaultyFile {
 public:
  using FaultyFile::FaultyFile;
  Status write(uint64_t offset, std::span<const std::byte> from) override {
    return offset >= kSmallJournal.offset + kSmallJournal.bytes
               ? Status(Code::out_of_space, "the disk is full")
               : FaultyFile::write(offset, from);
  }
};

TEST(JournalGrowth, KeepsItsLengthOnAFullDisk) {
  FullFile file(new_content(kGrowingJournal), kLongFile);
  JournalProgram program(file, 2, kGrowingJournal);
  for (uint64_t i = 0; i < 100; ++i) {
    program.fence(std::vector<uint64_t>{i % kHomeLines}, i + 1);
    program.sync();
  }
  EXPECT_GT(program.journal().counters().checkpoints, 3u);
  EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes());
}

}  // namespace
}  // namespace holdfast::native::journal_growth_test
