// SPDX-License-Identifier: Apache-2.0
//
// Is a journal's home a prefix of its lines after each power cut, with everything that was
// acknowledged? Is the first failure of the file final? Is damage told from a torn group?
#include <gtest/gtest.h>

#include <new>

#include "tests/memory_limit.h"
#include "tests/sanitized.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::journal_power_test {
namespace {

/// Opens what a power cut has left and compares home with the program's at the position found.
void expect_prefix(const std::vector<std::byte>& medium, const JournalProgram& program,
                   const JournalPlace& place = kSmallJournal) {
  FaultyFile file(medium);
  auto journal = Journal::open(file, place, 77);
  ASSERT_TRUE(journal.ok()) << journal.status().to_string();
  const uint64_t position = (*journal)->position();
  EXPECT_GE(position, program.acknowledged());
  ASSERT_GE(position, program.start());
  EXPECT_EQ(opened_home(file, **journal), program.home_at(position)) << "position " << position;
}

/// Runs steps until the file fails. Returns whether it has.
bool fails(JournalProgram& program, Random& random, int steps) {
  try {
    for (int i = 0; i < steps; ++i) {
      program.step(random, static_cast<uint64_t>(i) + 1);
    }
    return false;
  } catch (const MediumFailure&) {
    return true;
  }
}

// The group fills one block. Its sectors reach the medium in each combination.
TEST(JournalPowerCut, AGroupIsThereWithAllItsSectorsOrNotAtAll) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  program.fence(std::vector<uint64_t>{1}, 1);
  program.sync();
  file.fail_at(file.calls() + 1);  // the sync of the second group
  std::vector<uint64_t> lines(55);
  for (uint64_t i = 0; i < lines.size(); ++i) {
    lines[i] = 2 * i;  // so that each has a run of its own: 64 + 55 * 72 bytes, all eight sectors
  }
  program.fence(lines, 2);
  EXPECT_THROW(program.sync(), MediumFailure);
  const std::vector<uint64_t> sectors = file.unsynced_sectors();
  ASSERT_EQ(sectors.size(), 8u);
  for (uint64_t chosen = 0; chosen < 256; ++chosen) {
    const auto medium = file.after_power_cut([&](uint64_t sector, size_t /*writes*/) {
      const uint64_t i = (sector - sectors[0]) / FaultyFile::kSector;
      return std::pair<size_t, size_t>((chosen >> i) & 1, 0);
    });
    FaultyFile after(medium);
    auto journal = Journal::open(after, kSmallJournal, 3).value();
    EXPECT_EQ(journal->position(), chosen == 255 ? 56u : 1u) << chosen;
    EXPECT_EQ(opened_home(after, *journal), program.home_at(journal->position()));
  }
}

TEST(JournalPowerCut, ATornSectorIsATornGroup) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  file.fail_at(file.calls() + 1);
  uint64_t value = 1;
  while (JournalProgram::words_of(value) < 8) {  // a word that is not stored is never torn
    ++value;
  }
  program.fence(std::vector<uint64_t>{1, 2, 3}, value);
  EXPECT_THROW(program.sync(), MediumFailure);
  const uint64_t first = file.unsynced_sectors().at(0);
  for (size_t torn = 0; torn < FaultyFile::kSector; torn += 8) {
    FaultyFile after(file.after_power_cut([&](uint64_t sector, size_t writes) {
      return sector == first ? std::pair<size_t, size_t>(0, torn)
                             : std::pair<size_t, size_t>(writes, 0);
    }));
    auto journal = Journal::open(after, kSmallJournal, 3).value();
    // 64 + 8 + 3 * 64 bytes count; the rest of the sector is padding.
    EXPECT_EQ(journal->position(), torn >= 264 ? 3u : 0u) << torn;
  }
}

// Groups of several lives stand behind each other until a checkpoint comes.
TEST(JournalPowerCut, LinesOfEarlierLivesStayInTheJournal) {
  std::vector<std::byte> content = new_content();
  std::vector<std::byte> expected = home_of(content);
  for (uint64_t life = 1; life <= 4; ++life) {
    FaultyFile file(content);
    JournalProgram program(file, life);
    EXPECT_EQ(program.memory(), expected);
    EXPECT_EQ(program.start(), 2 * (life - 1));
    program.fence(std::vector<uint64_t>{life, 40}, life);
    program.sync();
    expected = program.memory();
    program.fence(std::vector<uint64_t>{50}, life);  // torn: its first sector is missing
    file.fail_at(file.calls() + 1);
    EXPECT_THROW(program.sync(), MediumFailure);
    const uint64_t first = file.unsynced_sectors().at(0);
    content = file.after_power_cut([&](uint64_t sector, size_t writes) {
      return std::pair<size_t, size_t>(sector == first ? 0 : writes, 0);
    });
    EXPECT_EQ(home_of(content), home_of(new_content()));
  }
  FaultyFile file(content);
  JournalProgram program(file, 9);
  EXPECT_EQ(program.journal().counters().recovered_groups, 4u);
  program.journal().checkpoint();
  EXPECT_EQ(home_of(file.issued()), expected);
}

/// Cuts the power at each call of a program's work in turn.
void cut_at_each_call(const JournalPlace& place, uint64_t seed) {
  const std::vector<std::byte> content = new_content(place, seed % 4 != 0);
  for (int call = 2;; ++call) {  // the first two are the opening's
    FaultyFile file(content, kLongFile);
    file.fail_at(call);
    Random random(seed);
    std::unique_ptr<JournalProgram> program;
    try {
      program = std::make_unique<JournalProgram>(file, 2, place);
    } catch (const Error&) {
      continue;  // the opening itself has failed
    }
    if (!fails(*program, random, 100)) {
      EXPECT_GT(call, 40);
      EXPECT_EQ(program->journal().counters().ring_bytes, place.ring_bytes());
      return;
    }
    Random cuts(seed + static_cast<uint64_t>(call));
    for (int i = 0; i < 4; ++i) {
      expect_prefix(file.after_power_cut(cuts), *program, place);
    }
    expect_prefix(file.issued(), *program, place);  // a killed process
  }
}

class JournalRandomPower : public testing::TestWithParam<uint64_t> {};

TEST_P(JournalRandomPower, LeavesAPrefixWithAllThatWasAcknowledged) {
  cut_at_each_call(kSmallJournal, GetParam());
}

TEST_P(JournalRandomPower, LeavesAPrefixOfAJournalThatGrows) {
  cut_at_each_call(kGrowingJournal, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, JournalRandomPower,
                         testing::Range(uint64_t{1}, uint64_t{kSanitized ? 3 : 9}));

// The power fails again at each call of the recovery, and then in the work after it.
TEST(JournalPowerCut, MayComeTwiceInARow) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  Random random(5);
  file.fail_at(45);
  ASSERT_TRUE(fails(program, random, 100));
  Random cuts(6);
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::byte> medium = file.after_power_cut(cuts);
    bool opened = false;
    for (int call = 0; !opened; ++call) {
      FaultyFile second(medium);
      second.fail_at(call);
      opened = Journal::open(second, kSmallJournal, 3).ok();
      EXPECT_EQ(opened, second.calls() <= call) << call;
      expect_prefix(second.after_power_cut(cuts), program);
      expect_prefix(second.issued(), program);
    }
    FaultyFile second(medium);
    JournalProgram next(second, 3);
    EXPECT_EQ(next.memory(), program.home_at(next.start()));
    second.fail_at(second.calls() + 15);
    ASSERT_TRUE(fails(next, random, 100));
    expect_prefix(second.after_power_cut(cuts), next);
  }
}

/// Lets each call of a program's work fail in turn. The next program opens what the cache then has,
/// and works. Then the power fails.
void fail_then_cut(const JournalPlace& place, uint64_t seed) {
  for (int call = 0;; ++call) {
    FaultyFile file(new_content(place), kLongFile);
    JournalProgram program(file, 2, place);
    file.fail_at(file.calls() + call);
    Random random(seed);
    if (!fails(program, random, 100)) {
      EXPECT_GT(call, 40);
      return;
    }
    JournalProgram next(file, 3, place);
    ASSERT_GE(next.start(), program.acknowledged());
    EXPECT_EQ(next.memory(), program.home_at(next.start()));
    for (int round = 0; round < 3; ++round) {
      expect_prefix(file.after_power_cut(random), next, place);
      ASSERT_FALSE(fails(next, random, round * 10)) << call;
    }
    expect_prefix(file.after_power_cut(random), next, place);
  }
}

TEST_P(JournalRandomPower, AfterAFailureAndAReopeningLeavesAPrefix) {
  fail_then_cut(kSmallJournal, GetParam());
}

TEST_P(JournalRandomPower, AfterAFailureAndAReopeningLeavesAPrefixOfAJournalThatGrows) {
  fail_then_cut(kGrowingJournal, GetParam());
}

// Linux reports a failed write-back once; a second sync succeeds without the data.
TEST(JournalFailure, IsFinalAndAcknowledgesNothingMore) {
  for (const int call : {0, 1}) {  // the write, the sync
    FaultyFile file(new_content());
    JournalProgram program(file, 2);
    program.fence(std::vector<uint64_t>{1}, 1);
    program.sync();
    file.fail_at(file.calls() + call);
    program.fence(std::vector<uint64_t>{2}, 2);
    EXPECT_THROW(program.sync(), MediumFailure);
    const int calls = file.calls();
    EXPECT_THROW(program.sync(), MediumFailure);
    EXPECT_THROW(program.journal().append({}), MediumFailure);
    EXPECT_THROW(program.journal().checkpoint(), MediumFailure);
    program.journal().await(1);  // durable since before
    EXPECT_EQ(program.journal().durable(), 1u);
    EXPECT_EQ(file.calls(), calls);
  }
}

// The number of its page takes 16 TiB, and there is no memory for that.
TEST(JournalFailure, ALineWithoutMemoryIsInNoGroup) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer ends the process instead";
  }
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  program.fence(std::vector<uint64_t>{1}, 1);
  {
    const MemoryLimit limit(uint64_t{1} << 30);
    const LineRun far[] = {{uint64_t{1} << 62, program.memory().data(), 1}};
    EXPECT_THROW(program.journal().append(far), std::bad_alloc);
  }
  program.fence(std::vector<uint64_t>{2}, 2);
  program.sync();
  expect_prefix(file.issued(), program);
}

/// A journal with three durable groups of one block each.
std::vector<std::byte> three_groups() {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  for (uint64_t i = 1; i <= 3; ++i) {
    program.fence(std::vector<uint64_t>{i}, i);
    program.sync();
  }
  return file.issued();
}

// As after a long time in which updates of one line could lag.
TEST(JournalTail, MayHaveManyMoreCopiesOfALineThanBytes) {
  FaultyFile file(new_content());
  JournalRing ring(file, kSmallJournal);
  ring.read_head().check();
  GroupBuilder group(4 * kJournalBlock);
  std::memset(group.place(kLineBytes), 7, kLineBytes);
  GroupHead head{};
  head.number = ring.head().number;
  head.end = uint64_t{1} << 40;
  ring.write(ring.head().tail, group.seal(head, ring.head().salt)).check();
  const auto journal = Journal::open(file, kSmallJournal, 3).value();
  EXPECT_EQ(journal->position(), head.end);
  std::vector<std::byte> home(kHomeBytes);
  std::memset(home.data() + kLineBytes, 7, kLineBytes);
  EXPECT_EQ(opened_home(file, *journal), home);
  journal->checkpoint();
  EXPECT_EQ(home_of(file.issued()), home);
}

constexpr uint64_t kFirstGroup = kHomeBytes + JournalPlace::kHeadBytes;

TEST(JournalDamage, OfAGroupBeforeADurableOneIsReportedAndChangesNothing) {
  for (const uint64_t group : {0, 1}) {
    for (const uint64_t byte : {0, 8, 16, 24, 70, 100}) {
      std::vector<std::byte> content = three_groups();
      content[kFirstGroup + group * kJournalBlock + byte] ^= std::byte{1};
      FaultyFile file(content);
      auto journal = Journal::open(file, kSmallJournal, 3);
      EXPECT_EQ(journal.status().code(), Code::corrupt) << group << ' ' << byte;
      EXPECT_EQ(file.calls(), 0);
    }
  }
}

TEST(JournalDamage, OfTheLastGroupLooksLikeATornOne) {
  std::vector<std::byte> content = three_groups();
  content[kFirstGroup + 2 * kJournalBlock + 20] ^= std::byte{1};
  FaultyFile file(content);
  EXPECT_EQ(Journal::open(file, kSmallJournal, 3).value()->position(), 2u);
}

TEST(JournalDamage, OfOneHeadIsHealedAndOfBothReported) {
  const std::vector<std::byte> content = three_groups();
  for (const int damaged : {1, 2, 3}) {
    FaultyFile file(content);
    JournalRing ring(file, kSmallJournal);
    ring.read_head().check();
    const uint64_t newest = ring.head().sequence % 2;
    std::vector<std::byte> wrong = content;
    if ((damaged & 1) != 0) {  // the older head
      wrong[kHomeBytes + (1 - newest) * kJournalBlock + 40] ^= std::byte{1};
    }
    if ((damaged & 2) != 0) {
      wrong[kHomeBytes + newest * kJournalBlock + 40] ^= std::byte{1};
    }
    FaultyFile after(wrong);
    auto journal = Journal::open(after, kSmallJournal, 3);
    if (damaged == 1) {
      EXPECT_EQ(journal.value()->position(), 3u);
    } else if (damaged == 3) {
      EXPECT_EQ(journal.status().code(), Code::corrupt);
    }
  }
}

// No checkpoint has come since the opening, so groups count only with the salt of that.
TEST(JournalDamage, OfTheNewestHeadHidesNoGroup) {
  for (const bool closed : {false, true}) {
    std::vector<std::byte> content = new_content();
    if (closed) {
      FaultyFile file(content);
      JournalProgram(file, 2).journal().checkpoint(true);
      content = file.issued();
    }
    FaultyFile file(content);
    JournalProgram program(file, 3);
    program.fence(std::vector<uint64_t>{1}, 1);
    program.sync();
    JournalRing ring(file, kSmallJournal);
    ring.read_head().check();
    content = file.issued();
    content[kHomeBytes + ring.head().sequence % 2 * kJournalBlock + 24] ^= std::byte{1};
    expect_prefix(content, program);
  }
}

// The bytes of a group as user data, at the place where the next group would be.
TEST(JournalDamage, AnOldGroupIsNotTakenForANewOne) {
  std::vector<std::byte> content = three_groups();
  FaultyFile file(content);
  JournalProgram program(file, 3);  // a new salt
  EXPECT_EQ(program.start(), 3u);
  JournalRing ring(file, kSmallJournal);
  ring.read_head().check();
  std::vector<std::byte> old(kJournalBlock);
  ring.read(0, old).check();
  GroupHead head{};
  ASSERT_TRUE(read_group_head(old, head));
  head.number = ring.head().number;  // as it would have to be
  head.begin = 3;
  head.end = 4;
  std::memcpy(old.data(), &head, sizeof head);
  ring.write(ring.head().tail, old).check();
  EXPECT_EQ(read_tail(ring).value().groups, 0u);
}

}  // namespace
}  // namespace holdfast::native::journal_power_test
