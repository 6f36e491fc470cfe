// SPDX-License-Identifier: Apache-2.0
//
// Does each page agree with its checksum whenever the power fails, and is a damaged page found? Do
// the rules of order matter?
#include "holdfast/machine/native/journal/page_checksums.h"

#include <gtest/gtest.h>

#include <array>

#include "holdfast/base/checksum.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::page_checksums_test {
namespace {

using Content = std::vector<std::byte>;

constexpr PageRange kHome = {0, kHomeBytes};

/// The table lies behind the journal, whose pages have no entries.
constexpr PageRange table_behind(const JournalPlace& place) {
  return {place.offset + place.bytes, kPageBytes};
}

/// Returns a file with zeros at home, an empty journal and a table.
Content new_checked_content(const JournalPlace& place = kSmallJournal) {
  Content content = new_content(place);
  content.resize(content.size() + kPageBytes);
  return content;
}

std::unique_ptr<PageChecksums> table_of(JournalFile& file, const JournalPlace& place) {
  auto table = std::make_unique<PageChecksums>(file);
  table->use({place.offset, place.bytes}, {table_behind(place)});
  return table;
}

/// A program over a journal with a table.
struct CheckedProgram {
  CheckedProgram(FaultyFile& file, uint64_t salt, const JournalPlace& place = kSmallJournal)
      : table(table_of(file, place)), program(file, salt, place, table.get()) {}

  JournalProgram* operator->() { return &program; }
  Journal& journal() { return program.journal(); }

  std::unique_ptr<PageChecksums> table;
  JournalProgram program;
};

/// Returns whether each page of home agrees with its entry.
bool all_agree(const Content& content, const JournalPlace& place = kSmallJournal) {
  FaultyFile file(content);
  return table_of(file, place)
      ->compare(kHome, [](uint64_t page) { return damaged_page(page); })
      .ok();
}

/// Opens what a crash has left. Each page agrees, or has a line in the journal. After the
/// checkpoint all of them agree.
testing::AssertionResult is_right_after_crash(const Content& medium,
                                              const JournalPlace& place = kSmallJournal) {
  FaultyFile file(medium);
  auto table = table_of(file, place);
  auto journal = Journal::open(file, place, 77, &copy_line, table.get());
  if (!journal) {
    return testing::AssertionFailure() << journal.status().to_string();
  }
  if (auto pages = (*journal)->verify(kHome); !pages) {
    return testing::AssertionFailure() << "opened: " << pages.status().to_string();
  }
  (*journal)->checkpoint();
  if (!all_agree(file.issued(), place)) {
    return testing::AssertionFailure() << "after the checkpoint";
  }
  return testing::AssertionSuccess();
}

TEST(PageEntry, OfZerosIsZeroAndOfOtherContentIsNot) {
  Content page(kPageBytes);
  EXPECT_EQ(page_entry(page.data()), kZeroPage);
  EXPECT_TRUE(agrees(kZeroPage, page.data()));
  EXPECT_FALSE(agrees(1, page.data()));
  for (const size_t byte : {size_t{0}, size_t{7}, size_t{8}, size_t{4095}}) {
    page.assign(kPageBytes, std::byte{0});
    page[byte] = std::byte{1};
    const uint64_t entry = page_entry(page.data());
    EXPECT_EQ(entry, checksum(page.data(), kPageBytes) & ~kMayBeZeros);
    EXPECT_TRUE(agrees(entry, page.data()));
    EXPECT_FALSE(agrees(kZeroPage, page.data()));
    EXPECT_FALSE(agrees(entry ^ 1, page.data()));
  }
}

TEST(PageEntry, OfAPageThatBecomesAHoleAllowsTheContentAndZeros) {
  Content page(kPageBytes, std::byte{3});
  const uint64_t entry = page_entry(page.data()) | kMayBeZeros;
  EXPECT_TRUE(agrees(entry, page.data()));
  page[100] = std::byte{4};
  EXPECT_FALSE(agrees(entry, page.data()));
  page.assign(kPageBytes, std::byte{0});
  EXPECT_TRUE(agrees(entry, page.data()));
  EXPECT_FALSE(agrees(entry & ~kMayBeZeros, page.data()));
}

TEST(PageEntry, OfADamagedPageAllowsNothing) {
  Content page(kPageBytes);
  EXPECT_FALSE(agrees(kDamagedPage, page.data()));
  page[1] = std::byte{1};
  EXPECT_FALSE(agrees(kDamagedPage, page.data()));
}

TEST(PageChecksums, CountThePagesWithoutTheJournal) {
  // Two pages, a journal of three, two pages, and the table in two pieces.
  FaultyFile file(Content(9 * kPageBytes));
  PageChecksums table(file);
  table.use({2 * kPageBytes, 3 * kPageBytes}, {{7 * kPageBytes, kPageBytes}});
  const std::vector<PageEntry> entries = {
      {0, 10}, {kPageBytes, 11}, {5 * kPageBytes, 12}, {6 * kPageBytes, 13}};
  ASSERT_TRUE(table.store(entries).ok());
  std::array<uint64_t, 5> found{};
  ASSERT_TRUE(file.read(7 * kPageBytes, std::as_writable_bytes(std::span(found))).ok());
  EXPECT_EQ(found, (std::array<uint64_t, 5>{10, 11, 12, 13, 0}));
  for (const PageEntry& entry : entries) {
    uint64_t one = 0;
    ASSERT_TRUE(table.load(entry.page, {&one, 1}).ok());
    EXPECT_EQ(one, entry.entry);
  }
  uint64_t one = 0;
  for (const uint64_t page : {2, 3, 4}) {
    EXPECT_EQ(table.load(page * kPageBytes, {&one, 1}).code(), Code::corrupt) << page;
  }
}

TEST(PageChecksums, GoOnInTheNextPiece) {
  constexpr uint64_t kPerPage = kPageBytes / 8;
  FaultyFile file(Content(4 * kPageBytes));
  PageChecksums table(file);
  table.use({0, 0}, {{2 * kPageBytes, kPageBytes}});
  uint64_t one = 0;
  const uint64_t beyond = kPerPage * kPageBytes;
  EXPECT_EQ(table.load(beyond, {&one, 1}).code(), Code::corrupt);
  table.use({0, 0}, {{2 * kPageBytes, kPageBytes}, {0, kPageBytes}});
  ASSERT_TRUE(table.store(std::vector<PageEntry>{{beyond - kPageBytes, 7}, {beyond, 8}}).ok());
  std::array<uint64_t, 2> both{};
  ASSERT_TRUE(table.load(beyond - kPageBytes, both).ok());
  EXPECT_EQ(both, (std::array<uint64_t, 2>{7, 8}));
  ASSERT_TRUE(file.read(0, std::as_writable_bytes(std::span(&one, 1))).ok());
  EXPECT_EQ(one, 8u);
  EXPECT_EQ(table.load(2 * beyond, {&one, 1}).code(), Code::corrupt);
}

TEST(PageChecksums, AreRightAfterACheckpointAndBeforeIt) {
  FaultyFile file(new_checked_content());
  CheckedProgram program(file, 2);
  EXPECT_EQ(program.journal().verify(kHome).value(), kHomeBytes / kPageBytes);
  for (uint64_t i = 1; i < 20; ++i) {
    program->fence(std::vector<uint64_t>{i, 70 + i}, i);
    program->sync();
    EXPECT_TRUE(program.journal().verify(kHome).ok());
    if (i % 4 == 0) {
      program.journal().checkpoint();
      EXPECT_TRUE(all_agree(file.issued()));
    }
  }
  EXPECT_EQ(program.journal().counters().damaged_pages, 0u);
}

/// Cuts the power at each call of a program's work in turn. Returns whether the pages were right
/// after each cut.
template <class File>
bool right_at_each_cut(const JournalPlace& place, uint64_t seed) {
  const Content content = new_checked_content(place);
  for (int call = 2;; ++call) {  // the first two are the opening's
    File file(content, kLongFile);
    Random random(seed);
    file.fail_at(call);
    bool failed = false;
    try {
      CheckedProgram program(file, 2, place);
      for (uint64_t i = 1; i <= 60; ++i) {
        program->step(random, i);
      }
    } catch (const Error&) {
      failed = true;
    } catch (const MediumFailure&) {
      failed = true;
    }
    if (!failed) {
      EXPECT_GT(call, 30);
      return true;
    }
    Random cuts(seed + static_cast<uint64_t>(call));
    for (int i = 0; i < 3; ++i) {
      if (!is_right_after_crash(file.after_power_cut(cuts), place)) {
        return false;
      }
    }
    if (!is_right_after_crash(file.issued(), place)) {
      return false;
    }
  }
}

class ChecksumsAfterPowerCut : public testing::TestWithParam<uint64_t> {};

TEST_P(ChecksumsAfterPowerCut, AreRight) {
  EXPECT_TRUE(right_at_each_cut<FaultyFile>(kSmallJournal, GetParam()));
}
TEST_P(ChecksumsAfterPowerCut, AreRightWhileTheJournalGrows) {
  EXPECT_TRUE(right_at_each_cut<FaultyFile>(kGrowingJournal, GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Seeds, ChecksumsAfterPowerCut, testing::Range(uint64_t{1}, uint64_t{5}));

/// Breaks a rule: entries reach the file after the head that moves the tail.
class LateEntries : public FaultyFile {
 public:
  using FaultyFile::FaultyFile;
  Status write(uint64_t offset, std::span<const std::byte> from) override {
    if (offset == table_behind(kSmallJournal).offset) {
      late_.assign(from.begin(), from.end());
      return {};
    }
    Status status = FaultyFile::write(offset, from);
    if (status.ok() && offset >= kSmallJournal.offset &&
        offset < kSmallJournal.offset + JournalPlace::kHeadBytes && !late_.empty()) {
      status = FaultyFile::write(table_behind(kSmallJournal).offset, std::exchange(late_, {}));
    }
    return status;
  }

 private:
  Content late_;
};

TEST(ChecksumsCanary, EntriesBehindTheHeadAreFound) {
  bool found = false;
  for (uint64_t seed = 1; seed < 5 && !found; ++seed) {
    found = !right_at_each_cut<LateEntries>(kSmallJournal, seed);
  }
  EXPECT_TRUE(found);
}

// The power fails again at each call of the checkpoint that follows the recovery.
TEST(ChecksumsAfterPowerCut, TwiceInARowAreRight) {
  FaultyFile file(new_checked_content());
  Random random(5);
  file.fail_at(45);
  EXPECT_THROW(
      {
        CheckedProgram program(file, 2);
        for (uint64_t i = 1; i <= 100; ++i) {
          program->step(random, i);
        }
      },
      MediumFailure);
  Random cuts(6);
  for (int round = 0; round < 10; ++round) {
    const Content medium = file.after_power_cut(cuts);
    bool done = false;
    for (int call = 0; !done; ++call) {
      FaultyFile second(medium);
      second.fail_at(call);
      auto table = table_of(second, kSmallJournal);
      if (auto journal = Journal::open(second, kSmallJournal, 3, &copy_line, table.get())) {
        try {
          (*journal)->checkpoint();
        } catch (const MediumFailure&) {
          EXPECT_LE(call, second.calls());
        }
      }
      done = second.calls() <= call;
      EXPECT_TRUE(is_right_after_crash(second.after_power_cut(cuts))) << call;
      EXPECT_TRUE(is_right_after_crash(second.issued())) << call;
    }
  }
}

/// A file with lines at home in each page, and an empty journal.
Content filled() {
  FaultyFile file(new_checked_content());
  CheckedProgram program(file, 2);
  program->fence(std::vector<uint64_t>{1, 70, 130, 200}, 9);
  program.journal().checkpoint(true);
  return file.issued();
}

TEST(DamagedPage, IsFoundWhereverItsBytesChange) {
  const Content good = filled();
  for (uint64_t page = 0; page < 4; ++page) {
    for (const uint64_t byte : {0, 64, 1000, 4095}) {
      Content content = good;
      content[page * kPageBytes + byte] ^= std::byte{8};
      FaultyFile file(content);
      CheckedProgram program(file, 3);
      const Status status = program.journal().verify(kHome).status();
      EXPECT_EQ(status.code(), Code::corrupt);
      EXPECT_NE(status.message().find("byte " + std::to_string(page * kPageBytes) + " "),
                std::string::npos)
          << status.message();
    }
  }
}

TEST(DamagedPage, IsFoundIfItsEntryIsDamaged) {
  const uint64_t table = table_behind(kSmallJournal).offset;
  for (const std::byte value : {std::byte{0}, std::byte{0xff}}) {
    Content content = filled();
    std::fill_n(content.begin() + static_cast<ptrdiff_t>(table), 16, value);
    FaultyFile file(content);
    CheckedProgram program(file, 3);
    EXPECT_EQ(program.journal().verify(kHome).status().code(), Code::corrupt);
  }
}

// A checkpoint changes another line of the page. A checksum of the result would hide the damage.
TEST(DamagedPage, StaysDamagedWhenACheckpointChangesIt) {
  Content content = filled();
  content[kPageBytes + 100] ^= std::byte{1};
  FaultyFile file(content);
  CheckedProgram program(file, 3);
  program->fence(std::vector<uint64_t>{100}, 1);
  program.journal().checkpoint();
  EXPECT_EQ(program.journal().counters().damaged_pages, 1u);
  EXPECT_EQ(program.journal().verify(kHome).status().code(), Code::corrupt);
  program->fence(std::vector<uint64_t>{101}, 2);
  program.journal().checkpoint();
  EXPECT_EQ(program.journal().counters().damaged_pages, 1u);  // counts once
  FaultyFile again(file.issued());
  CheckedProgram next(again, 4);
  EXPECT_EQ(next.journal().verify(kHome).status().code(), Code::corrupt);
  next->fence(std::vector<uint64_t>{102}, 2);  // also in the life after a crash
  next->sync();
  FaultyFile third(again.issued());
  CheckedProgram last(third, 5);
  last.journal().checkpoint();
  EXPECT_EQ(last.journal().verify(kHome).status().code(), Code::corrupt);
}

TEST(DamagedPage, IsRightAgainOnceAllOfItWasReplaced) {
  Content content = filled();
  content[kPageBytes + 100] ^= std::byte{1};
  FaultyFile file(content);
  CheckedProgram program(file, 3);
  std::vector<uint64_t> lines;
  for (uint64_t line = 0; line < kPageBytes / kLineBytes; ++line) {
    lines.push_back(kPageBytes / kLineBytes + line);
  }
  program->fence(lines, 5);
  program.journal().checkpoint();
  EXPECT_TRUE(program.journal().verify(kHome).ok());
  EXPECT_TRUE(all_agree(file.issued()));
}

/// Makes page 1 a hole, as far as `steps` of the three steps go, and returns whether each medium
/// agrees that a power cut may leave.
bool hole_is_right(bool allow_first, int steps) {
  FaultyFile file(filled());
  const auto table = table_of(file, kSmallJournal);
  const PageRange page = {kPageBytes, kPageBytes};
  const Content zeros(kPageBytes);
  const auto allow = [&] { EXPECT_TRUE(table->allow_zeros(page).value()); };
  const auto punch = [&] { EXPECT_TRUE(file.write(page.offset, zeros).ok()); };
  if (steps > 0) {
    allow_first ? allow() : punch();
  }
  if (steps > 1) {
    EXPECT_TRUE(file.sync().ok());
  }
  if (steps > 2) {
    allow_first ? punch() : allow();
  }
  bool right = true;
  for (const size_t hole : {0, 1}) {  // a hole is a whole page
    for (const size_t entry : {0, 1}) {
      right = right && all_agree(file.after_power_cut([&](uint64_t sector, size_t /*writes*/) {
                return std::pair<size_t, size_t>(sector < kHomeBytes ? hole : entry, 0);
              }));
    }
  }
  return right;
}

TEST(AHole, IsRightAtEachStep) {
  for (int steps = 0; steps <= 3; ++steps) {
    EXPECT_TRUE(hole_is_right(true, steps)) << steps;
  }
}

TEST(ChecksumsCanary, AHoleBeforeItsEntryAllowsItIsFound) {
  EXPECT_FALSE(hole_is_right(false, 1));
  EXPECT_FALSE(hole_is_right(false, 3));
}

TEST(AHole, TakesASyncOnce) {
  FaultyFile file(filled());
  CheckedProgram program(file, 3);
  const int before = file.syncs();
  int punched = 0;
  const auto punch = [&] {
    EXPECT_EQ(file.syncs(), before + 1);
    ++punched;
  };
  ASSERT_TRUE(program.journal().make_hole({0, 2 * kPageBytes}, punch).ok());
  ASSERT_TRUE(program.journal().make_hole({0, 2 * kPageBytes}, punch).ok());
  EXPECT_EQ(punched, 2);
  EXPECT_TRUE(program.journal().verify(kHome).ok());
  // The next checkpoint of the page takes the permission back.
  program->fence(std::vector<uint64_t>{1}, 3);
  program.journal().checkpoint();
  uint64_t entry = 0;
  ASSERT_TRUE(program.table->load(0, {&entry, 1}).ok());
  EXPECT_EQ(entry & kMayBeZeros, 0u);
}

TEST(AStaleTable, IsNotAskedUntilItIsNew) {
  Content content = filled();
  {
    FaultyFile file(content);
    CheckedProgram program(file, 3);
    ASSERT_TRUE(program.journal().set_table_stale(true).ok());
    content =
        file.after_power_cut([](uint64_t, size_t) { return std::pair<size_t, size_t>(0, 0); });
  }
  content[200] = std::byte{77};  // stored without the journal
  FaultyFile file(content);
  CheckedProgram program(file, 4);
  EXPECT_TRUE(program.journal().is_table_stale());
  EXPECT_EQ(program.journal().verify(kHome).value(), 0u);
  ASSERT_TRUE(program.journal().renew_table(content.size()).ok());
  EXPECT_EQ(program.journal().verify(kHome).value(), 4u);
  EXPECT_TRUE(all_agree(file.issued()));
  program->fence(std::vector<uint64_t>{1}, 3);
  program.journal().checkpoint(true);
  FaultyFile again(file.issued());
  CheckedProgram next(again, 5);
  EXPECT_FALSE(next.journal().is_table_stale());
  EXPECT_EQ(next.journal().verify(kHome).value(), 4u);
}

}  // namespace
}  // namespace holdfast::native::page_checksums_test
