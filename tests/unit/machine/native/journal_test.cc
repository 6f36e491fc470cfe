// SPDX-License-Identifier: Apache-2.0
//
// Does the journal keep its contract while nothing fails? Does a line get copied as a prefix of its
// stores, and does no fence return while another one copies?
#include "holdfast/machine/native/journal/journal.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "holdfast/base/checksum.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native {
namespace {

TEST(Journal, BringsNothingHomeBeforeACheckpoint) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  program.fence(std::vector<uint64_t>{3, 4, 9}, 7);
  EXPECT_EQ(program.journal().position(), 3u);
  EXPECT_EQ(program.journal().durable(), 0u);
  program.sync();
  EXPECT_EQ(program.journal().durable(), 3u);
  EXPECT_EQ(home_of(file.issued()), program.home_at(0));
  program.journal().checkpoint();
  EXPECT_EQ(home_of(file.issued()), program.home_at(3));
}

TEST(Journal, AFenceCostsNoInputOrOutput) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  const int before = file.calls();
  program.fence(std::vector<uint64_t>{1, 2}, 1);
  program.fence({}, 1);
  EXPECT_EQ(file.calls(), before);
  program.sync();
  EXPECT_EQ(file.calls(), before + 2);  // a write and a sync
  program.sync();                       // durable already
  EXPECT_EQ(file.calls(), before + 2);
}

TEST(Journal, WritesMoreThanItHoldsRoundAfterRound) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  for (uint64_t i = 0; i < 100; ++i) {
    program.fence(std::vector<uint64_t>{i % kHomeLines, (i + 5) % kHomeLines}, i + 1);
    program.sync();
  }
  EXPECT_GT(program.journal().counters().checkpoints, 3u);
  FaultyFile again(file.issued());
  const JournalProgram next(again, 3);
  EXPECT_EQ(next.start(), 200u);
  EXPECT_EQ(next.memory(), program.memory());
}

TEST(Journal, GrowsAtItsCheckpointsAndStaysAsLongAsItIs) {
  FaultyFile file(new_content(kGrowingJournal), kLongFile);
  JournalProgram program(file, 2, kGrowingJournal);
  EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes());
  for (uint64_t i = 0; i < 100; ++i) {  // also groups that wrap around at the old end
    program.fence(std::vector<uint64_t>{i % kHomeLines, (i + 5) % kHomeLines}, i + 1);
    program.sync();
  }
  EXPECT_EQ(program.journal().counters().ring_bytes, kGrowingJournal.ring_bytes());
  FaultyFile again(file.issued());
  const JournalProgram next(again, 3, kGrowingJournal);
  EXPECT_EQ(next.start(), 200u);
  EXPECT_EQ(next.memory(), program.memory());
  FaultyFile third(again.issued());
  JournalProgram reopened(third, 4, kGrowingJournal);
  EXPECT_EQ(reopened.journal().counters().ring_bytes, kGrowingJournal.ring_bytes());
}

TEST(Journal, TakesNoMoreThanAShareOfItsFile) {
  // A page short of the room for another page of journal.
  const uint64_t rest = kJournalShare * (kSmallJournal.bytes + kPageBytes) - kPageBytes;
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

TEST(Journal, KeepsItsLengthOnAFullDisk) {
  FullFile file(new_content(kGrowingJournal), kLongFile);
  JournalProgram program(file, 2, kGrowingJournal);
  for (uint64_t i = 0; i < 100; ++i) {
    program.fence(std::vector<uint64_t>{i % kHomeLines}, i + 1);
    program.sync();
  }
  EXPECT_GT(program.journal().counters().checkpoints, 3u);
  EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes());
}

// Version 1 of the head had zeros in the place of the ring's length.
TEST(Journal, OpensAHeadOfVersion1) {
  FaultyFile file(new_content());
  {
    JournalProgram program(file, 2);
    program.fence(std::vector<uint64_t>{7}, 7);
    program.sync();
  }
  std::vector<std::byte> content = file.issued();
  for (const uint64_t block : {uint64_t{0}, kJournalBlock}) {
    std::byte* const at = content.data() + kSmallJournal.offset + block;
    JournalHead head{};
    std::memcpy(&head, at, sizeof head);
    head.magic[7] = '1';
    head.ring_blocks = 0;
    head.checksum = 0;
    head.checksum = checksum(&head, sizeof head);
    std::memcpy(at, &head, sizeof head);
  }
  FaultyFile old(content);
  JournalProgram program(old, 3);
  EXPECT_EQ(program.start(), 1u);
  EXPECT_EQ(program.journal().counters().ring_bytes, kSmallJournal.ring_bytes());
}

TEST(Journal, SplitsAFenceThatIsLargerThanAGroup) {
  FaultyFile file(new_content());
  auto journal = Journal::open(file, kSmallJournal, 2).value();
  std::vector<std::byte> memory(kHomeBytes, std::byte{0x5a});
  const LineRun all[] = {{0, memory.data(), kHomeLines}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(journal->append(all), (i + 1) * kHomeLines);
  }
  journal->checkpoint();
  EXPECT_GT(journal->counters().groups, 3u);
  EXPECT_EQ(home_of(file.issued()), memory);
}

TEST(Journal, GoesOnAtItsPositionAfterItWasClosed) {
  FaultyFile file(new_content());
  {
    JournalProgram program(file, 2);
    program.fence(std::vector<uint64_t>{5}, 5);
    program.journal().checkpoint(true);
  }
  JournalProgram program(file, 3);
  EXPECT_EQ(program.start(), 1u);
  EXPECT_EQ(program.journal().counters().recovered_groups, 0u);
  EXPECT_EQ(program.memory(), program.home_at(1));
}

TEST(Journal, RefusesAPlaceThatIsTooSmall) {
  FaultyFile file{std::vector<std::byte>(kHomeBytes)};
  EXPECT_EQ(Journal::format(file, {0, kPageBytes}, 1).code(), Code::invalid_argument);
  EXPECT_EQ(Journal::format(file, {0, JournalPlace::kLeastBytes + 1}, 1).code(),
            Code::invalid_argument);
}

// Each line is in a page of its own, so the pages take much more memory than the ring has bytes.
TEST(Journal, ACheckpointIsDueWhenItsLinesAreInManyPages) {
  constexpr uint64_t kPages = 120;
  constexpr JournalPlace kPlace = {kPages * kPageBytes, JournalPlace::kLeastBytes};
  static_assert(kPages * kPageBytes > 8 * kPlace.bytes - 8 * JournalPlace::kHeadBytes);
  FaultyFile file(std::vector<std::byte>(kPlace.offset + kPlace.bytes));
  Journal::format(file, kPlace, 1).check();
  const auto journal = Journal::open(file, kPlace, 2).value();
  const std::vector<std::byte> memory(kLineBytes);
  const auto append = [&](uint64_t first, uint64_t end) {
    for (uint64_t page = first; page < end; ++page) {
      const LineRun run[] = {{page * kPageBytes, memory.data(), 1}};
      journal->append(run);
      journal->append(run);  // counts once
    }
    journal->await(journal->position());
  };
  append(0, kPages / 2);
  append(0, kPages / 2);
  EXPECT_FALSE(journal->is_checkpoint_due());
  append(kPages / 2, kPages);
  EXPECT_LT(journal->counters().held_bytes, kPlace.ring_bytes() / 4 * 3);
  EXPECT_TRUE(journal->is_checkpoint_due());
  journal->checkpoint();
  append(0, 1);
  EXPECT_FALSE(journal->is_checkpoint_due());
}

TEST(Journal, APageIsAtHomeWhileTheJournalHasNoLineOfIt) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  const std::vector<uint64_t> pages = {0, kPageBytes, 2 * kPageBytes};
  const auto at_home = [&] {
    std::vector<uint64_t> found;
    program.journal().for_each_at_home(pages, [&](uint64_t page) { found.push_back(page); });
    return found;
  };
  constexpr uint64_t kSecondPage = kPageBytes / kLineBytes;
  EXPECT_EQ(at_home(), pages);
  program.fence(std::array<uint64_t, 2>{0, kSecondPage}, 1);
  const std::vector<uint64_t> third = {2 * kPageBytes};
  EXPECT_EQ(at_home(), third);
  program.sync();
  EXPECT_EQ(at_home(), third);
  program.journal().checkpoint();
  EXPECT_EQ(at_home(), pages);
  program.fence(std::array<uint64_t, 1>{kSecondPage + 3}, 2);
  EXPECT_EQ(at_home(), (std::vector<uint64_t>{0, 2 * kPageBytes}));
}

TEST(Journal, RecoveredLinesKeepTheirPagesFromHome) {
  FaultyFile file(new_content());
  {
    JournalProgram program(file, 2);
    program.fence(std::array<uint64_t, 1>{5}, 5);
    program.sync();
  }
  JournalProgram program(file, 3);
  int at_home = 0;
  const auto count = [&](uint64_t) { ++at_home; };
  program.journal().for_each_at_home(std::array<uint64_t, 1>{0}, count);
  EXPECT_EQ(at_home, 0);
  program.journal().checkpoint();
  program.journal().for_each_at_home(std::array<uint64_t, 1>{0}, count);
  EXPECT_EQ(at_home, 1);
}

// A store comes before each load of the copy in turn, then another one before each later load.
TEST(CopyLine, IsAPrefixOfStoresWhereverTheyComeInBetween) {
  constexpr size_t kWords = kLineBytes / sizeof(uint64_t);
  for (size_t first = 0; first < 3 * kWords; ++first) {
    for (size_t pause = 1; pause < 2 * kWords; ++pause) {
      uint64_t line[kWords] = {};
      size_t loads = 0;
      size_t stored = 0;
      const auto load = [&](size_t i) {
        if (loads == first + stored * pause && stored < kWords) {
          line[stored++] = 1;  // the writer stores upwards
        }
        ++loads;
        return line[i];
      };
      uint64_t copy[kWords];
      copy_line_with(copy, load);
      for (size_t i = 1; i < kWords; ++i) {
        EXPECT_LE(copy[i], copy[i - 1]) << "stores from load " << first << " on, every " << pause;
      }
    }
  }
}

/// A faulty file for several threads.
class SharedFile : public JournalFile {
 public:
  explicit SharedFile(std::vector<std::byte> content, uint64_t bytes = 0)
      : file_(std::move(content), bytes) {}

  Result<uint64_t> bytes() override { return file_.bytes(); }

  Status read(uint64_t offset, std::span<std::byte> to) override {
    const std::lock_guard lock(mutex_);
    return file_.read(offset, to);
  }
  Status write(uint64_t offset, std::span<const std::byte> from) override {
    const std::lock_guard lock(mutex_);
    return file_.write(offset, from);
  }
  Status sync() override {
    const std::lock_guard lock(mutex_);
    return file_.sync();
  }
  FaultyFile& file() { return file_; }

 private:
  std::mutex mutex_;
  FaultyFile file_;
};

/// A journal with its two threads.
class ServedJournal {
 public:
  explicit ServedJournal(JournalFile& file, const JournalPlace& place = kSmallJournal)
      : journal_(Journal::open(file, place, 2).value()),
        flushing_([this] { journal_->flush_in_background(); }),
        checkpointing_([this] { journal_->checkpoint_in_background(); }) {}
  ~ServedJournal() {
    journal_->stop();
    flushing_.join();
    checkpointing_.join();
  }
  ServedJournal(const ServedJournal&) = delete;
  ServedJournal& operator=(const ServedJournal&) = delete;

  Journal& operator*() { return *journal_; }
  Journal* operator->() { return journal_.get(); }

  /// Appends this value as the content of a line.
  uint64_t set(uint64_t line, uint64_t value) {
    std::array<uint64_t, kLineBytes / sizeof(uint64_t)> words;
    words.fill(value);
    const LineRun run[] = {{line * kLineBytes, reinterpret_cast<std::byte*>(words.data()), 1}};
    return journal_->append(run);
  }

 private:
  std::unique_ptr<Journal> journal_;
  std::thread flushing_;
  std::thread checkpointing_;
};

TEST(Journal, AGroupHasTheNewestCopyOfALine) {
  FaultyFile file(new_content());
  JournalProgram program(file, 2);
  program.fence(std::array<uint64_t, 2>{5, 6}, 1);
  program.fence(std::array<uint64_t, 2>{6, 9}, 2);
  program.sync();
  EXPECT_EQ(program.journal().position(), 4u);
  EXPECT_EQ(program.journal().counters().group_bytes, kJournalBlock);
  JournalRing ring(file, kSmallJournal);
  ring.read_head().check();
  const JournalTail tail = read_tail(ring).value();
  EXPECT_EQ(newest_lines(tail, kSmallJournal)->size(), 3u);
  GroupHead head{};
  ASSERT_TRUE(read_group_head(tail.bytes, head));
  std::vector<uint64_t> lines;
  for_each_line({tail.bytes.data(), head.bytes},
                [&](uint64_t offset, const std::byte*) { lines.push_back(offset / kLineBytes); });
  EXPECT_EQ(lines, (std::vector<uint64_t>{5, 6, 9}));
  program.journal().checkpoint();
  EXPECT_EQ(home_of(file.issued()), program.home_at(4));
}

/// Stores many times the ring's size, and waits for no position.
void serve(const JournalPlace& place) {
  SharedFile file(new_content(place), kLongFile);
  {
    ServedJournal journal(file, place);
    for (uint64_t i = 0; i < 20'000; ++i) {
      journal.set(i % kHomeLines, i);
    }
    EXPECT_GT(journal->durable(), 0u);
    EXPECT_GT(journal->counters().checkpoints, 0u);
    EXPECT_GT(journal->counters().home_bytes, 0u);
    EXPECT_EQ(journal->counters().ring_bytes, place.ring_bytes());
    journal->checkpoint(true);
    EXPECT_EQ(journal->counters().held_bytes, 0u);
  }
  const std::vector<std::byte> home = home_of(file.file().issued());
  for (uint64_t line = 0; line < kHomeLines; ++line) {
    uint64_t value = 0;
    std::memcpy(&value, home.data() + line * kLineBytes, sizeof value);
    EXPECT_EQ(value % kHomeLines, line);
    EXPECT_GE(value, 20'000 - kHomeLines);
  }
}

// Each group finds room.
TEST(Journal, ItsThreadsWriteGroupsAndMakeCheckpoints) {
  serve(kSmallJournal);
}

// Growth may come while a thread waits because the group is full.
TEST(Journal, GrowsWhileThreadsWaitForRoom) {
  for (int turn = 0; turn < 20; ++turn) {
    serve(kGrowingJournal);
  }
}

TEST(Journal, ALineBecomesDurableWithinTheAgeLimit) {
  SharedFile file(new_content());
  ServedJournal journal(file);
  journal->limit_age(std::chrono::milliseconds(1));
  for (uint64_t i = 1; i <= 3; ++i) {
    const uint64_t position = journal.set(0, i);
    while (journal->durable() < position) {
      std::this_thread::yield();
    }
  }
}

// Whichever call fails: no thread waits for ever, and each later call reports it.
TEST(Journal, AFailureInTheBackgroundIsFinal) {
  for (int call = 3; call < 40; ++call) {
    SharedFile file(new_content());
    file.file().fail_at(call);
    ServedJournal journal(file);
    const auto work = [&] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        journal.set(i % kHomeLines, i);
      }
    };
    EXPECT_THROW(work(), MediumFailure) << call;
    EXPECT_THROW(journal->append({}), MediumFailure);
    EXPECT_THROW(journal->checkpoint(), MediumFailure);
  }
}

// Both rules "take a position, then copy" and "copy, then take a position" fail if another fence
// may return while a thread copies. `copying` tells the test's thread that the copy has begun.
std::atomic<bool> copying{false};
std::atomic<bool> other_returned{false};
std::atomic<bool> saw_other_return{false};

void slow_copy(std::byte* to, const std::byte* from) {
  copying.store(true);
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::yield();
    saw_other_return.store(saw_other_return.load() || other_returned.load());
  }
  copy_line(to, from);
}

TEST(Journal, NoFenceReturnsWhileAnotherCopies) {
  FaultyFile file(new_content());
  auto journal = Journal::open(file, kSmallJournal, 2, &slow_copy).value();
  copying.store(false);
  other_returned.store(false);
  saw_other_return.store(false);
  const std::vector<std::byte> memory(kHomeBytes);
  std::thread other([&] {
    while (!copying.load()) {
      std::this_thread::yield();
    }
    journal->append({});
    other_returned.store(true);
  });
  const LineRun line[] = {{0, memory.data(), 1}};
  journal->append(line);
  other.join();
  EXPECT_FALSE(saw_other_return.load());
}

TEST(Journal, GathersTheLinesOfThreadsThatWait) {
  constexpr int kThreads = 4;
  constexpr uint64_t kFences = 50;
  FaultyFile file(new_content());
  auto journal = Journal::open(file, kSmallJournal, 2).value();
  std::vector<std::byte> memory(kHomeBytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::byte* const mine = memory.data() + static_cast<size_t>(t) * kLineBytes;
      for (uint64_t i = 1; i <= kFences; ++i) {
        std::memcpy(mine, &i, sizeof i);
        const LineRun run[] = {{static_cast<uint64_t>(t) * kLineBytes, mine, 1}};
        const uint64_t position = journal->append(run);
        journal->await(position);
        EXPECT_GE(journal->durable(), position);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(journal->position(), kThreads * kFences);
  EXPECT_EQ(journal->durable(), kThreads * kFences);
  EXPECT_LE(journal->counters().groups, kThreads * kFences);
  EXPECT_EQ(journal->counters().lines, kThreads * kFences);
  journal->checkpoint();
  EXPECT_EQ(home_of(file.issued()), memory);
}

}  // namespace
}  // namespace holdfast::native
