// SPDX-License-Identifier: Apache-2.0
//
// Does a heap with a journal hold what was acknowledged, whenever the power fails, with each engine
// that runs over a journal? Does each page then agree with its checksum? Who may have a journal?
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/medium/journaled_memory.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/child_process.h"
#include "tests/file_bytes.h"
#include "tests/native/journal_engines.h"
#include "tests/native/refuse_call.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"

namespace holdfast::journal_heap_test {
namespace {

using JournaledHeap = Heap<AnyEngine<NativeMachine>>;
using Content = std::string;

constexpr size_t kSector = 512;
constexpr size_t kCopies = 8;

/// Equal counters, far from each other. An update adds 1 to each.
struct Counters {
  static constexpr const char* kTypeName = "test.Counters";
  static constexpr uint32_t kTypeVersion = 1;
  struct Line {
    JournaledHeap::Field<uint64_t> count = 0;
    JournaledHeap::Field<uint64_t> unused[7];
  };
  Line lines[kCopies];
};

void write_all(const std::string& path, const Content& content) {
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// The content of a file at its syncs. The sectors written between two of them may be on the medium
/// in any combination; or the pages, if a unit is a page.
struct Recorded {
  struct Moment {
    Content issued;
    uint64_t acknowledged;  // before the image was taken: the least that it holds
    uint64_t issued_most;   // acknowledged after that, and the update that was running
  };
  std::vector<Moment> moments;
  size_t unit = kSector;

  /// Returns a medium on which some of the units that sync `i` would have made durable are new.
  Content mixed(size_t i, Random& random) const {
    Content medium = moments[i - 1].issued;
    const Content& issued = moments[i].issued;
    medium.resize(issued.size());
    const uint64_t odds = 1 + random.below(4);
    for (size_t at = 0; at < issued.size(); at += unit) {
      const size_t n = std::min(unit, issued.size() - at);
      if (random.below(4) < odds) {
        std::copy_n(issued.begin() + static_cast<ptrdiff_t>(at), n,
                    medium.begin() + static_cast<ptrdiff_t>(at));
      }
    }
    return medium;
  }
};

class JournalHeapTest : public testing::TestWithParam<std::string> {
 protected:
  JournalHeapTest() {
    create_.engine = GetParam();
    create_.bytes = 64 << 10;
    create_.max_bytes = 8 << 20;
    create_.max_threads = 2;
    create_.journal_bytes = 64 << 10;
    create_.options = small_log(GetParam());
    native_.domain = Domain::file;
    native_.sync = [](int) { return 0; };  // on a tmpfs; nothing is cut off here
  }

  std::unique_ptr<JournaledHeap> make() {
    return JournaledHeap::create(file_.path(), create_, native_).value();
  }
  Result<std::unique_ptr<JournaledHeap>> open() {
    return JournaledHeap::open(file_.path(), {}, native_);
  }
  static Counters* counters(JournaledHeap& heap) { return heap.root<Counters>("counters").value(); }
  static Status count(JournaledHeap& heap, Counters* counters) {
    return heap.update([&] {
      for (auto& line : counters->lines) {
        line.count = line.count + 1;
      }
    });
  }
  /// Returns the count; a failure if the copies differ.
  static uint64_t counted(JournaledHeap& heap) {
    const Counters* const found = heap.find_root<Counters>("counters").value();
    return heap
        .read([&] {
          for (const auto& line : found->lines) {
            EXPECT_EQ(line.count.load(), found->lines[0].count.load());
          }
          return found->lines[0].count.load();
        })
        .value();
  }

  /// Works with a heap, then opens what power cuts could have left at each sync.
  template <class F>
  void cut_the_power(F&& work, int mixtures);

  NativeTestFile file_{"/dev/shm"};
  CreateOptions create_;
  NativeOptions native_;
  size_t unit_ = kSector;  // of what a power cut tears
};

template <class F>
void JournalHeapTest::cut_the_power(F&& work, int mixtures) {
  Recorded recorded;
  recorded.unit = unit_;
  std::atomic<uint64_t> acknowledged = 0;
  std::atomic<bool> recording = false;
  std::mutex one_at_a_time;  // threads of the journal sync as well
  const auto plain = native_.sync;
  native_.sync = [&](int) {
    const std::lock_guard guard(one_at_a_time);
    if (recording) {
      const uint64_t before = acknowledged;
      const bool needed = recorded.moments.size() % kStep <= 1;  // one to look at, or before it
      Content issued = needed ? file_bytes(file_.path()) : Content();
      recorded.moments.push_back({std::move(issued), before, acknowledged + 1});
    }
    return 0;
  };
  {
    const auto heap = make();
    Counters* const root = counters(*heap);
    recording = true;
    ASSERT_TRUE(count(*heap, root).ok());  // so that the first moment has a durable one before it
    acknowledged = 1;
    work(*heap, root, acknowledged);
    heap->close().check();
    recording = false;
  }
  native_.sync = plain;
  Random random(7);
  for (size_t i = 1; i < recorded.moments.size(); i += kStep) {
    for (int mixture = 0; mixture <= mixtures; ++mixture) {
      // The last one is what a killed process leaves.
      write_all(file_.path(),
                mixture < mixtures ? recorded.mixed(i, random) : recorded.moments[i].issued);
      auto heap = open();
      ASSERT_TRUE(heap.ok()) << i << ": " << heap.status().to_string();
      const uint64_t found = counted(**heap);
      EXPECT_GE(found, recorded.moments[i].acknowledged) << "sync " << i;
      EXPECT_LE(found, recorded.moments[i].issued_most) << "sync " << i;
      const HeapCheck check = (*heap)->check().value();
      EXPECT_TRUE(check.errors.empty()) << check.errors.front();
    }
  }
}

TEST_P(JournalHeapTest, HoldsWhatWasAcknowledgedAfterAPowerCut) {
  const auto work = [](JournaledHeap& heap, Counters* root, std::atomic<uint64_t>& acknowledged) {
    for (int i = 0; i < 20; ++i) {
      count(heap, root).check();
      ++acknowledged;
    }
  };
  cut_the_power(work, 3);
}

TEST_P(JournalHeapTest, HoldsItWhileTheFileGrows) {
  const auto work = [](JournaledHeap& heap, Counters* root, std::atomic<uint64_t>& acknowledged) {
    for (int i = 0; i < 6; ++i) {
      static_cast<void>(heap.update([] { return JournaledHeap::allocate(20'000); }).value());
      count(heap, root).check();
      ++acknowledged;
    }
  };
  cut_the_power(work, 2);
  EXPECT_GT(inspect_heap_file(file_.path())->superblock.data_bytes(), create_.bytes);
}

TEST_P(JournalHeapTest, HoldsItWhileSpaceGoesBack) {
  unit_ = kPageBytes;  // a hole is whole pages
  const auto work = [](JournaledHeap& heap, Counters* root, std::atomic<uint64_t>& acknowledged) {
    constexpr size_t kBytes = 30'000;
    for (int i = 0; i < 4; ++i) {
      void* const block = heap.update([] {
                                auto* const made = static_cast<JournaledHeap::Field<uint64_t>*>(
                                    JournaledHeap::allocate(kBytes));
                                for (size_t word = 0; word < kBytes / 8; word += 8) {
                                  made[word] = word;
                                }
                                return static_cast<void*>(made);
                              })
                              .value();
      heap.machine().medium().journaled()->journal().checkpoint();
      heap.update([&] { JournaledHeap::deallocate(block, kBytes); }).check();
      heap.compact().status().check();
      count(heap, root).check();
      ++acknowledged;
    }
  };
  cut_the_power(work, 2);
}

TEST_P(JournalHeapTest, AnUpdateTakesOneSync) {
  std::atomic<int> syncs = 0;
  native_.sync = [&](int) {
    ++syncs;
    return 0;
  };
  create_.journal_bytes = 4 << 20;  // no checkpoint; it begins with 128 KiB
  const auto heap = make();
  Counters* const root = counters(*heap);
  const int before = syncs;
  for (int i = 0; i < 5; ++i) {
    count(*heap, root).check();
  }
  EXPECT_EQ(syncs - before, 5);
  heap->read([] {}).check();
  EXPECT_EQ(syncs - before, 5);
}

TEST_P(JournalHeapTest, ThreadsFindTheirUpdatesAgain) {
  create_.max_threads = 4;
  {
    const auto heap = make();
    Counters* const root = counters(*heap);
    heap->machine().run_threads(3, [&](int) {
      for (int i = 0; i < 100; ++i) {
        count(*heap, root).check();
      }
    });
    EXPECT_GT(heap->machine().medium().journaled()->journal().counters().checkpoints, 1u);
  }
  EXPECT_EQ(counted(*open().value()), 300u);
}

TEST_P(JournalHeapTest, ShowsTheJournalToAReaderAndInEachDomain) {
  Content crashed;
  {
    const auto heap = make();
    Counters* const root = counters(*heap);
    for (int i = 0; i < 5; ++i) {
      count(*heap, root).check();
    }
    crashed = file_bytes_at_one_moment(file_.path());
  }
  write_all(file_.path(), crashed);
  native_.read_only = true;
  EXPECT_EQ(counted(*open().value()), 5u);
  EXPECT_EQ(file_bytes(file_.path()), crashed);
  native_.read_only = false;
  native_.domain = Domain::process;
  {
    const auto heap = open().value();
    EXPECT_EQ(heap->machine().medium().journaled(), nullptr);
    EXPECT_EQ(counted(*heap), 5u);
    count(*heap, counters(*heap)).check();
  }
  native_.domain = Domain::file;
  EXPECT_EQ(counted(*open().value()), 6u);
}

TEST_P(JournalHeapTest, SaysThatItHasAJournal) {
  make()->close().check();
  const Superblock superblock = inspect_heap_file(file_.path()).value().superblock;
  EXPECT_TRUE(superblock.has_journal());
  EXPECT_EQ(superblock.bytes_of(ExtentKind::journal), create_.journal_bytes);
  const auto heap = open().value();
  EXPECT_NE(heap->machine().medium().description().find("journal"), std::string::npos);
}

TEST_P(JournalHeapTest, AFailedSyncIsFinal) {
  bool fail = false;
  native_.sync = [&](int) {
    if (std::exchange(fail, false)) {
      errno = EIO;
      return -1;
    }
    return 0;
  };
  Content crashed;
  {
    const auto heap = make();
    Counters* const root = counters(*heap);
    count(*heap, root).check();
    fail = true;
    EXPECT_EQ(count(*heap, root).code(), Code::io_error);
    EXPECT_EQ(count(*heap, root).code(), Code::io_error);
    EXPECT_FALSE(heap->close().ok());
  }
  const uint64_t found = counted(*open().value());
  EXPECT_GE(found, 1u);
  EXPECT_LE(found, 2u);
}

TEST_P(JournalHeapTest, DamageOfTheJournalIsReportedAndChangesNothing) {
  Content crashed;
  {
    const auto heap = make();
    Counters* const root = counters(*heap);
    count(*heap, root).check();
    count(*heap, root).check();
    crashed = file_bytes_at_one_moment(file_.path());
  }
  const uint64_t journal =
      inspect_heap_file(file_.path())->superblock.file_offset(ExtentKind::journal);
  for (const uint64_t block : {uint64_t{0}, uint64_t{1}}) {
    crashed[journal + block * kPageBytes + 9] ^= 1;  // the checksums of both heads
  }
  write_all(file_.path(), crashed);
  for (const bool read_only : {false, true}) {
    native_.read_only = read_only;
    EXPECT_EQ(open().status().code(), Code::corrupt);
    EXPECT_EQ(file_bytes(file_.path()), crashed);
  }
}

TEST_P(JournalHeapTest, WithoutThreadsCreationAndOpeningFail) {
  const auto begin_and_end = [&] {
    make()->close().check();
    for (const int call : {SYS_clone, SYS_clone3}) {
      if (!refuse_call(call, EAGAIN)) {
        return false;
      }
    }
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    const auto opened = open();
    EXPECT_EQ(opened.status().code(), Code::out_of_space) << opened.status().to_string();
    EXPECT_EQ(opened.status().system_error(), EAGAIN);
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    const std::string other = file_.directory() + "/other";
    const auto created = JournaledHeap::create(other, create_, native_);
    EXPECT_EQ(created.status().code(), Code::out_of_space) << created.status().to_string();
    EXPECT_FALSE(std::filesystem::exists(other));
    return !HasFailure();
  };
  EXPECT_EQ(end_of_child([&] { return begin_and_end() ? 0 : 1; }), 0);
  EXPECT_TRUE(open().ok());
}

INSTANTIATE_TEST_SUITE_P(Engines, JournalHeapTest, testing::ValuesIn(engines_by_journal(true)),
                         name_of_test);

// The cache may have content that a failed sync has left there, and that the medium lacks.
TEST(JournalHeap, WithoutAJournalAnOpeningAfterACrashForgetsTheCache) {
  for (const bool closed : {false, true}) {
    const NativeTestFile file;
    CreateOptions create;
    create.engine = engines_by_journal(true).front();
    create.bytes = 64 << 10;
    create.max_bytes = 8 << 20;
    create.max_threads = 2;
    create.journal_bytes = 0;
    create.options = small_log(create.engine);
    NativeOptions native;
    native.domain = Domain::file;
    auto heap = JournaledHeap::create(file.path(), create, native).value();
    if (!heap->machine().medium().waits_for_device()) {
      GTEST_SKIP() << "the files of tests are in memory";
    }
    heap.reset();
    if (!closed) {
      EXPECT_EQ(end_of_child([&] {
                  auto left = JournaledHeap::open(file.path(), {}, native).value();
                  _exit(0);
                  return 0;
                }),
                0);
    }
    const int end = end_of_child([&] {
      return filter_call(SYS_fadvise64, SECCOMP_RET_KILL_PROCESS) &&
                     JournaledHeap::open(file.path(), {}, native).ok()
                 ? 0
                 : 1;
    });
    const bool called = WIFSIGNALED(end) && WTERMSIG(end) == SIGSYS;
    EXPECT_EQ(called, !closed) << end;
  }
}

TEST(JournalHeap, IsTheDefaultOfAHeapOnADisk) {
  const std::string disk = std::filesystem::temp_directory_path();
  struct statfs system{};
  ASSERT_EQ(statfs(disk.c_str(), &system), 0);
  const bool memory = system.f_type == TMPFS_MAGIC;
  for (const std::string& engine : engines_by_journal(true)) {
    const bool pays =
        !EngineFactory<JournaledHeap::Engine>::describe(engine).value()->rewrites_heap;
    const NativeTestFile file(disk);
    CreateOptions create;
    create.engine = engine;
    create.bytes = 1 << 20;
    create.max_threads = 2;
    JournaledHeap::create(file.path(), create, NativeOptions{}).value()->close().check();
    EXPECT_EQ(inspect_heap_file(file.path())->superblock.has_journal(), !memory && pays) << engine;
  }
}

TEST(JournalHeap, IsRefusedWhereItCannotKeepThePromise) {
  const NativeTestFile file("/dev/shm");
  CreateOptions create;
  create.journal_bytes = 64 << 10;
  NativeOptions native;
  native.domain = Domain::file;
  for (const std::string& engine : engines_by_journal(false)) {
    create.engine = engine;
    const Status status = JournaledHeap::create(file.path(), create, native).status();
    EXPECT_EQ(status.code(), Code::unsupported) << engine;
    EXPECT_NE(status.message().find("another engine"), std::string::npos) << status.message();
  }
  create.engine = engines_by_journal(true).front();
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    native.domain = domain;
    native.force = true;
    EXPECT_EQ(JournaledHeap::create(file.path(), create, native).status().code(),
              Code::unsupported);
  }
  native.domain = Domain::file;
  create.journal_bytes = 1000;
  EXPECT_EQ(JournaledHeap::create(file.path(), create, native).status().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace holdfast::journal_heap_test
