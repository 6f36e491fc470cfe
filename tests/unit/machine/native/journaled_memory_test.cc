// SPDX-License-Identifier: Apache-2.0
//
// Does memory that goes back show what it showed before?
#include "holdfast/machine/native/medium/journaled_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/memory_limit.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::journaled_memory_test {
namespace {

/// Some pages of a file, mapped through a journal.
class JournaledMemoryTest : public testing::Test {
 protected:
  JournaledMemoryTest() {
    fd_ = ::open(file_.path().c_str(), O_RDWR | O_CREAT, 0600);
    std::vector<std::byte> content = new_content();
    const PageRange table = {content.size(), kPageBytes};
    content.resize(content.size() + kPageBytes);
    EXPECT_EQ(::pwrite(fd_, content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    sync_ = std::make_unique<MediumSync>(fd_, file_.path(), [](int) { return 0; });
    table_file_ = std::make_unique<SystemJournalFile>(fd_, file_.path(), *sync_);
    table_ = std::make_unique<PageChecksums>(*table_file_);
    table_->use({kSmallJournal.offset, kSmallJournal.bytes}, {table});
    memory_ =
        JournaledMemory::open(fd_, file_.path(), *sync_, kSmallJournal, 2, 2, table_.get()).value();
    void* const p =
        ::mmap(nullptr, kHomeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd_, 0);
    home_ = static_cast<std::byte*>(p);
    memory_->add(home_, kHomeBytes, 0);
    memory_->give_back(true);
  }
  ~JournaledMemoryTest() override {
    memory_->give_back(false);
    memory_->remove(home_, kHomeBytes);
    ::munmap(home_, kHomeBytes);
    memory_.reset();
    ::close(fd_);
  }
  JournaledMemoryTest(const JournaledMemoryTest&) = delete;
  JournaledMemoryTest& operator=(const JournaledMemoryTest&) = delete;

  uint64_t& word(size_t page, size_t line) {
    return *reinterpret_cast<uint64_t*>(home_ + page * kPageBytes + line * kLineBytes);
  }
  void fence(size_t page, size_t line) {
    LineList lines;
    lines.add(&word(page, line), sizeof(uint64_t));
    memory_->fence(lines, true);
  }
  Status verify() { return memory_->journal().verify({0, kHomeBytes}).status(); }
  /// Stores to lines of page 0 until a part of the memory has gone back.
  void go_on() {
    const uint64_t before = memory_->given_back_bytes();
    for (uint64_t i = 0; memory_->given_back_bytes() == before; ++i) {
      memory_->store_gate().enter(0);
      word(0, i % 8) = i;
      fence(0, i % 8);
      memory_->store_gate().leave(0);
    }
  }

  NativeTestFile file_{"/dev/shm"};
  int fd_ = -1;
  std::unique_ptr<MediumSync> sync_;
  std::unique_ptr<SystemJournalFile> table_file_;
  std::unique_ptr<PageChecksums> table_;
  std::unique_ptr<JournaledMemory> memory_;
  std::byte* home_ = nullptr;
};

TEST_F(JournaledMemoryTest, ShowsTheFileWherePagesWentBack) {
  word(1, 3) = 13;
  fence(1, 3);
  go_on();
  EXPECT_EQ(word(1, 3), 13u);
  uint64_t at_home = 0;
  EXPECT_EQ(::pread(fd_, &at_home, sizeof at_home, kPageBytes + 3 * kLineBytes), 8);
  EXPECT_EQ(at_home, 13u);
}

TEST_F(JournaledMemoryTest, KeepsAPageWithAStoreThatNoFenceHasTaken) {
  word(1, 3) = 13;
  fence(1, 3);
  word(2, 3) = 23;
  fence(2, 3);
  word(2, 4) = 24;
  go_on();
  EXPECT_EQ(word(2, 4), 24u);
  fence(2, 4);
  word(2, 5) = 25;
  go_on();
  EXPECT_EQ(word(2, 3), 23u);
  EXPECT_EQ(word(2, 4), 24u);
  EXPECT_EQ(word(2, 5), 25u);
}

TEST_F(JournaledMemoryTest, GivesNothingBackUntilItMay) {
  go_on();
  memory_->give_back(false);
  const uint64_t before = memory_->given_back_bytes();
  const uint64_t checkpoints = memory_->journal().counters().checkpoints;
  for (uint64_t i = 0; memory_->journal().counters().checkpoints < checkpoints + 3; ++i) {
    word(1, i % 8) = i;
    fence(1, i % 8);
  }
  EXPECT_EQ(memory_->given_back_bytes(), before);
  memory_->give_back(true);
  go_on();
}

// The journal knows what these lines had last, and writes changes relative to that.
TEST_F(JournaledMemoryTest, LinesOfPagesThatBecameAHoleAreWrittenWhole) {
  const auto at_home = [&] {
    uint64_t value = 0;
    EXPECT_EQ(::pread(fd_, &value, sizeof value, kPageBytes + 3 * kLineBytes), 8);
    return value;
  };
  word(1, 3) = 13;
  fence(1, 3);
  memory_->discard(home_ + kPageBytes, kPageBytes);
  EXPECT_EQ(word(1, 3), 0u);
  EXPECT_EQ(at_home(), 0u);
  word(1, 3) = 13;
  fence(1, 3);
  memory_->journal().checkpoint();
  EXPECT_EQ(at_home(), 13u);
}

// A heap that could not grow by all it wanted maps less in the same place.
TEST_F(JournaledMemoryTest, AMappingReplacesWhatWasThere) {
  void* const second = home_ + kPageBytes;
  ASSERT_EQ(::mmap(second, kPageBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd_, 3 * kPageBytes),
            second);
  memory_->add(home_ + kPageBytes, kPageBytes, 3 * kPageBytes);
  for (size_t page = 0; page < 3; ++page) {
    word(page, 5) = page + 1;
    fence(page, 5);
  }
  memory_->journal().checkpoint();
  for (const auto& [page, expected] : {std::pair{0, 1u}, {1, 0u}, {2, 3u}, {3, 2u}}) {
    uint64_t value = 0;
    EXPECT_EQ(::pread(fd_, &value, sizeof value, page * kPageBytes + 5 * kLineBytes), 8);
    EXPECT_EQ(value, expected) << "page " << page;
  }
}

// Otherwise the checkpoint could write the page before the hole is made, and its entry afterwards.
// And the journal would take what the checkpoint has brought home for what is there.
TEST_F(JournaledMemoryTest, NoCheckpointWritesAPageWhileItBecomesAHole) {
  uint64_t* const words = &word(3, 1);
  std::thread other;
  const auto punch = [&] {
    words[0] = 7;  // as an engine that brings an old value home
    fence(3, 1);
    other = std::thread([&] { memory_->journal().checkpoint(); });
    for (int i = 0; i < 10'000; ++i) {
      std::this_thread::yield();  // so that a checkpoint that does not wait ends first
    }
    EXPECT_EQ(::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * kPageBytes,
                          static_cast<off_t>(kPageBytes)),
              0);
    EXPECT_EQ(::madvise(home_ + 3 * kPageBytes, kPageBytes, MADV_DONTNEED), 0);
  };
  ASSERT_TRUE(memory_->journal().make_hole({3 * kPageBytes, kPageBytes}, punch).ok());
  other.join();
  EXPECT_TRUE(verify().ok());
  words[0] = 7;
  words[1] = 8;
  fence(3, 1);
  memory_->journal().checkpoint();
  uint64_t at_home[2] = {};
  EXPECT_EQ(::pread(fd_, at_home, sizeof at_home, 3 * kPageBytes + kLineBytes), 16);
  EXPECT_EQ(at_home[0], 7u);
  EXPECT_EQ(at_home[1], 8u);
  EXPECT_TRUE(verify().ok());
  EXPECT_EQ(memory_->journal().counters().damaged_pages, 0u);
}

TEST_F(JournaledMemoryTest, PagesAgreeWithTheirChecksumsWhileCheckpointsAndHolesChangeThem) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint64_t i = 1; !stop; ++i) {
      memory_->store_gate().enter(0);
      word(i % 3, i % 8) = i;
      fence(i % 3, i % 8);
      memory_->store_gate().leave(0);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const Status status = verify();
    EXPECT_TRUE(status.ok()) << status.to_string();
    if (i % 10 == 0) {  // a page of its own, to which the other thread does not store
      memory_->store_gate().enter(1);
      word(3, 1) = static_cast<uint64_t>(i) + 1;
      fence(3, 1);
      memory_->store_gate().leave(1);
      memory_->discard(home_ + 3 * kPageBytes, kPageBytes);
    }
  }
  EXPECT_GT(memory_->journal().counters().checkpoints, 0u);
  stop = true;
  writer.join();
  uint64_t damage = 1;
  EXPECT_EQ(::pwrite(fd_, &damage, sizeof damage, 3 * kPageBytes + 800), 8);
  EXPECT_EQ(verify().code(), Code::corrupt);
}

// Without a line that has no room in a list, a later group could have a marker without its data.
TEST_F(JournaledMemoryTest, FailsForGoodIfThereIsNoMemoryForALineOfAList) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer ends the process instead";
  }
  LineList many;
  const auto list_many = [&] {
    const MemoryLimit limit(uint64_t{8} << 20);
    for (uint64_t i = 0; i < 10'000'000; ++i) {
      memory_->list(many, &word(0, 2 * (i % 2)), 1);
    }
  };
  EXPECT_THROW(list_many(), MediumFailure);
  EXPECT_EQ(sync_->failure().code(), Code::out_of_space);
  EXPECT_THROW(fence(1, 3), MediumFailure);
}

TEST_F(JournaledMemoryTest, FailsForGoodIfThereIsNoMemoryForTheLinesOfAFence) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer ends the process instead";
  }
  LineList many;
  for (uint64_t i = 0; i < 4'000'000; ++i) {
    memory_->list(many, &word(0, 2 * (i % 2)), 1);
  }
  const auto fence_many = [&] {
    const MemoryLimit limit(uint64_t{1} << 20);
    memory_->fence(many, true);
  };
  EXPECT_THROW(fence_many(), MediumFailure);
  EXPECT_EQ(sync_->failure().code(), Code::out_of_space);
  EXPECT_THROW(fence(1, 3), MediumFailure);
}

TEST_F(JournaledMemoryTest, AHoleAgreesWithItsChecksum) {
  word(1, 3) = 13;
  fence(1, 3);
  memory_->discard(home_ + kPageBytes, kPageBytes);
  EXPECT_TRUE(verify().ok());
  memory_->store_gate().enter(0);
  word(1, 4) = 14;
  fence(1, 4);
  memory_->store_gate().leave(0);
  memory_->journal().checkpoint();
  EXPECT_TRUE(verify().ok());
  EXPECT_EQ(memory_->journal().counters().damaged_pages, 0u);
}

}  // namespace
}  // namespace holdfast::native::journaled_memory_test
