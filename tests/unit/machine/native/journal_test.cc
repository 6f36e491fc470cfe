// SPDX-License-Identifier: Apache-2.0
//
// Does the journal keep its contract while nothing fails? Does a line get copied as a prefix of its
// stores, and does no fence return while another one copies?
#include "holdfast/machine/native/journal/journal.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "holdfast/base/checksum.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::journal_test {
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

// The second copy of the line is left out of its group.
TEST(Journal, APageComesHomeAlsoWhenNothingInItHasChanged) {
  SharedFile file(new_content());
  const auto journal = Journal::open(file, kSmallJournal, 2).value();
  std::atomic<int> rounds{0};
  std::mutex mutex;
  std::set<uint64_t> home;
  std::thread checkpoints([&] {
    journal->checkpoint_in_background([&] {
      const std::lock_guard lock(mutex);
      const auto pages = journal->take_home_pages();
      home.insert(pages.begin(), pages.end());
      ++rounds;
    });
  });
  const std::vector<std::byte> memory(kHomeBytes, std::byte{7});
  const auto sync = [&](uint64_t page) {
    const LineRun run[] = {{page * kPageBytes, memory.data(), 1}};
    journal->await(journal->append(run));
  };
  const auto is_home = [&] {
    const std::lock_guard lock(mutex);
    return home.count(kPageBytes) != 0;
  };
  while (!is_home()) {  // else it would never go back
    sync(0);
    sync(1);
    for (int before = rounds; rounds == before;) {
      sync(0);
    }
  }
  journal->stop();
  checkpoints.join();
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

TEST(Journal, CheckpointsGoOnAlthoughNoMemoryIsLeftForWhatFollowsThem) {
  SharedFile file(new_content());
  const auto journal = Journal::open(file, kSmallJournal, 2).value();
  std::atomic<int> rounds{0};
  std::thread checkpoints([&] {
    journal->checkpoint_in_background([&] {
      EXPECT_FALSE(journal->take_home_pages().empty());
      ++rounds;
      throw std::bad_alloc();
    });
  });
  const std::vector<std::byte> memory(kHomeBytes, std::byte{7});
  const LineRun run[] = {{0, memory.data(), 1}};
  while (rounds < 3) {
    journal->await(journal->append(run));
  }
  journal->stop();
  checkpoints.join();
}

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
                [&](uint64_t offset, WordMask mask, const std::byte*) {
                  EXPECT_EQ(mask, kAllWords);
                  lines.push_back(offset / kLineBytes);
                });
  EXPECT_EQ(lines, (std::vector<uint64_t>{5, 6, 9}));
  program.journal().checkpoint();
  EXPECT_EQ(home_of(file.issued()), program.home_at(4));
}

/// Stores to words of lines in memory, and makes these lines a group. Reads groups back.
class LineGroups {
 public:
  using Record = std::pair<uint64_t, int>;  // a line, and the words that its record has

  explicit LineGroups(FaultyFile& file)
      : file_(file), journal_(Journal::open(file, kSmallJournal, 2).value()), memory_(kHomeBytes) {}

  void store(uint64_t line, size_t word, uint64_t value) {
    std::memcpy(memory_.data() + line * kLineBytes + word * sizeof value, &value, sizeof value);
  }
  void sync(std::span<const uint64_t> lines) {
    std::vector<LineRun> runs;
    for (const uint64_t line : lines) {
      runs.push_back({line * kLineBytes, memory_.data() + line * kLineBytes, 1});
    }
    journal_->await(journal_->append(runs));
  }
  /// Returns the records of the newest group.
  std::vector<Record> newest_group() const {
    JournalRing ring(file_, kSmallJournal);
    ring.read_head().check();
    const JournalTail tail = read_tail(ring).value();
    std::vector<Record> records;
    for (uint64_t at = 0; at < tail.bytes.size();) {
      GroupHead head{};
      EXPECT_TRUE(read_group_head(std::span(tail.bytes).subspan(at), head));
      records.clear();
      for_each_line({tail.bytes.data() + at, head.bytes},
                    [&](uint64_t offset, WordMask mask, const std::byte*) {
                      records.emplace_back(offset / kLineBytes, std::popcount(mask));
                    });
      at += padded_bytes(head);
    }
    return records;
  }
  Journal& journal() { return *journal_; }
  const std::vector<std::byte>& memory() const { return memory_; }

 private:
  FaultyFile& file_;
  std::unique_ptr<Journal> journal_;
  std::vector<std::byte> memory_;
};

using Records = std::vector<LineGroups::Record>;

TEST(Journal, AGroupHasTheWordsOfALineThatChanged) {
  FaultyFile file(new_content());
  LineGroups groups(file);
  const std::vector<uint64_t> lines = {3, 4, 5, 6, 7};
  for (const uint64_t line : lines) {
    groups.store(line, 0, 1);
  }
  groups.sync(lines);
  EXPECT_EQ(groups.newest_group(), (Records{{3, 8}, {4, 8}, {5, 8}, {6, 8}, {7, 8}}));
  groups.store(3, 7, 2);  // one word; none of line 4; five and six words; two again
  for (size_t word = 0; word < 6; ++word) {
    groups.store(5, word, word < 5 ? 3 : 0);
    groups.store(6, word, 4);
  }
  groups.store(7, 0, 5);
  groups.store(7, 7, 5);
  groups.sync(lines);
  EXPECT_EQ(groups.newest_group(), (Records{{3, 1}, {5, 5}, {6, 8}, {7, 2}}));
  groups.sync(lines);
  EXPECT_EQ(groups.newest_group(), Records{});
  EXPECT_EQ(groups.journal().durable(), 15u);
  FaultyFile again(file.issued());
  const auto journal = Journal::open(again, kSmallJournal, 3).value();
  EXPECT_EQ(journal->position(), 15u);
  EXPECT_EQ(opened_home(again, *journal), groups.memory());
  journal->checkpoint();
  EXPECT_EQ(home_of(again.issued()), groups.memory());
}

// A checksum protects a group, but not from a program that writes it wrongly.
TEST(Group, IsNotWholeIfARecordLeavesIt) {
  GroupBuilder builder(64 * kJournalBlock);
  LineCache cache(64);
  std::array<std::byte, kLineBytes> line{};
  line.fill(std::byte{7});
  GroupHead head{};
  head.end = 1;
  std::memcpy(builder.place(0), line.data(), kLineBytes);
  static_cast<void>(builder.seal(head, 9, &cache));
  line[8] = line[63] = std::byte{8};
  std::memcpy(builder.place(0), line.data(), kLineBytes);
  const auto sealed = builder.seal(head, 9, &cache);
  const std::vector<std::byte> group(sealed.begin(), sealed.begin() + 64 + 8 + 2 * 8);
  ASSERT_TRUE(is_whole_group(group, 9));
  const auto with = [&](uint64_t word) {
    std::vector<std::byte> changed = group;
    std::memcpy(changed.data() + sizeof(GroupHead), &word, sizeof word);
    constexpr size_t kSummed = offsetof(GroupHead, number);
    const uint64_t sum = checksum(changed.data() + kSummed, changed.size() - kSummed, 9);
    std::memcpy(changed.data() + offsetof(GroupHead, checksum), &sum, sizeof sum);
    return is_whole_group(changed, 9);
  };
  const auto change = [](uint64_t mask) { return uint64_t{1} << 63 | mask << 48; };
  EXPECT_TRUE(with(change(0b1000'0010)));
  EXPECT_TRUE(with(change(0b0100'0010)));
  EXPECT_FALSE(with(change(0))) << "no words";
  EXPECT_FALSE(with(change(0b1001'0010))) << "three words";
  EXPECT_FALSE(with(change(0b0000'0010))) << "a word without a head";
  EXPECT_FALSE(with(0)) << "a line";
  EXPECT_FALSE(with(63)) << "64 lines";
}

// The whole line has gone home with its group.
TEST(Journal, AChangeMayBeRelativeToHome) {
  FaultyFile file(new_content());
  LineGroups groups(file);
  for (size_t word = 0; word < 8; ++word) {
    groups.store(9, word, 1 + word);
  }
  groups.sync(std::array<uint64_t, 1>{9});
  groups.journal().checkpoint();
  groups.store(9, 2, 20);
  groups.sync(std::array<uint64_t, 1>{9});
  groups.store(9, 5, 50);
  groups.sync(std::array<uint64_t, 1>{9});
  EXPECT_EQ(groups.newest_group(), (Records{{9, 1}}));
  FaultyFile again(file.issued());
  const auto journal = Journal::open(again, kSmallJournal, 3).value();
  EXPECT_EQ(opened_home(again, *journal), groups.memory());
  groups.journal().checkpoint();
  EXPECT_EQ(home_of(file.issued()), groups.memory());
}

// The heads of a journal of an older version do not say that groups may have changes.
TEST(Journal, WithoutChangesGroupsHaveWholeLines) {
  for (const bool changes : {false, true}) {
    FaultyFile file(new_content(kSmallJournal, changes));
    LineGroups groups(file);
    for (uint64_t i = 1; i <= 2; ++i) {
      groups.store(3, 0, i);
      groups.sync(std::array<uint64_t, 1>{3});
      EXPECT_EQ(groups.newest_group(), (Records{{3, changes && i == 2 ? 1 : 8}}));
      groups.journal().checkpoint();
    }
  }
}

TEST(LineCache, KnowsALineUntilAnotherOneTakesItsPlace) {
  LineCache cache(2);
  std::array<std::byte, kLineBytes> content{};
  std::array<int, 2> known{};
  for (uint64_t line = 0; line < 8; ++line) {
    EXPECT_EQ(cache.exchange(line * kLineBytes, content.data()), kAllWords);
  }
  for (uint64_t line = 0; line < 8; ++line) {
    const WordMask changed = cache.exchange(line * kLineBytes, content.data());
    ++known[changed == 0 ? 1 : 0];
  }
  EXPECT_GE(known[0], 6);
  content[9] = std::byte{1};
  content[63] = std::byte{1};
  EXPECT_EQ(cache.exchange(7 * kLineBytes, content.data()), WordMask{1 << 1 | 1 << 7});
  EXPECT_EQ(cache.exchange(7 * kLineBytes, content.data()), 0);
}

/// Stores without waiting, then waits for each store until a checkpoint has come.
void serve(const JournalPlace& place) {
  SharedFile file(new_content(place), kLongFile);
  uint64_t stored = 0;
  {
    ServedJournal journal(file, place);
    for (; stored < 20'000; ++stored) {
      journal.set(stored % kHomeLines, stored);
    }
    for (; stored < 30'000 && journal->counters().checkpoints == 0; ++stored) {
      journal->await(journal.set(stored % kHomeLines, stored));
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
    EXPECT_GE(value, stored - kHomeLines);
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
  for (int call = 0; call < 40; ++call) {
    SharedFile file(new_content());
    ServedJournal journal(file);
    file.file().fail_at(file.file().calls() + call);  // the journal's threads have no work yet
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
}  // namespace holdfast::native::journal_test
