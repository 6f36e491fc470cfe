// SPDX-License-Identifier: Apache-2.0
//
// Does a heap with a journal give the memory of pages back that checkpoints have brought home, and
// does no store get lost while it does?
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/medium/journaled_memory.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/journal_engines.h"
#include "tests/native/test_file.h"

namespace holdfast::journal_memory_test {
namespace {

using JournaledHeap = Heap<AnyEngine<NativeMachine>>;

constexpr int kThreads = 3;
constexpr size_t kPages = 2000;
constexpr size_t kJournalBytes = 64 << 10;

/// A page of numbers: one for each thread, and others that fill it.
struct Page {
  JournaledHeap::Field<uint64_t> counts[kThreads];
  JournaledHeap::Field<uint64_t> others[kPageBytes / sizeof(uint64_t) - kThreads];
};

/// Many pages.
struct Book {
  static constexpr const char* kTypeName = "test.Book";
  static constexpr uint32_t kTypeVersion = 1;
  JournaledHeap::Field<Page*> pages[kPages];
};

/// Returns the bytes that the process keeps for itself in private mappings of the file.
uint64_t private_bytes(const std::string& path) {
  std::ifstream lines("/proc/self/smaps");
  uint64_t sum = 0;
  bool mine = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kib = 0;
    words >> name;
    if (name.back() != ':') {  // "7f10b000-7f10c000 rw-p 00000000 fe:00 131081   /the/name"
      mine = line.find(path) != std::string::npos;
    } else if (mine && name == "Anonymous:" && words >> kib) {
      sum += kib << 10;
    }
  }
  return sum;
}

class JournalMemoryTest : public testing::TestWithParam<std::string> {
 protected:
  void make(size_t pages) {
    native_.domain = Domain::file;
    native_.sync = [](int) { return 0; };  // on a tmpfs; nothing is cut off here
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 1 << 20;
    create.max_bytes = 64 << 20;
    create.max_threads = kThreads + 1;
    create.journal_bytes = journal_bytes_;
    using Factory = EngineFactory<JournaledHeap::Engine>;
    for (const OptionInfo& option : Factory::describe(GetParam()).value()->option_list()) {
      if (std::string(option.name) == "log_bytes") {
        create.options["log_bytes"] = "65536";
      }
    }
    heap_ = JournaledHeap::create(file_.path(), create, native_).value();
    book_ = heap_->root<Book>("book").value();
    for (size_t i = 0; i < pages; ++i) {
      heap_
          ->update([&] {
            auto* const page = JournaledHeap::make<Page>();
            for (auto& count : page->counts) {
              count = 0;
            }
            for (auto& other : page->others) {
              other = i;
            }
            book_->pages[i] = page;
          })
          .check();
    }
  }

  /// Makes a heap whose journal has room for more than a test writes.
  void make_roomy() {
    heap_.reset();
    std::filesystem::remove(file_.path());
    journal_bytes_ = 1 << 20;
    make(1);
  }

  void reopen() {
    heap_.reset();
    heap_ = JournaledHeap::open(file_.path(), {}, native_).value();
    book_ = heap_->find_root<Book>("book").value();
  }

  void expect_content(size_t pages) {
    heap_
        ->read([&] {
          for (size_t i = 0; i < pages; ++i) {
            const Page* const page = book_->pages[i];
            for (const auto& other : page->others) {
              ASSERT_EQ(other.load(), i);
            }
          }
        })
        .check();
  }

  bool has_working_copy() const {
    return heap_->description().layout == Layout::working_copy;  // which keeps its pages
  }
  native::JournalCounters counters() { return heap_->machine().medium().journal_counters(); }

  NativeTestFile file_{"/dev/shm"};
  NativeOptions native_;
  size_t journal_bytes_ = kJournalBytes;
  std::unique_ptr<JournaledHeap> heap_;
  Book* book_ = nullptr;
};

TEST_P(JournalMemoryTest, StaysBoundedWhileAHeapMuchLargerThanTheJournalIsFilled) {
  make(kPages);
  if (has_working_copy()) {
    EXPECT_GT(counters().given_back_bytes, 0u);
    return;
  }
  // Pages with lines in the journal, and those that came while a checkpoint ran.
  constexpr uint64_t kMost = 32 * kJournalBytes;
  static_assert(kMost * 3 < kPages * kPageBytes);
  // The journal's thread needs processor time, and further checkpoints to begin.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  uint64_t found = private_bytes(file_.path());
  while (found > kMost && std::chrono::steady_clock::now() < limit) {
    for (uint64_t i = 0; i < 100; ++i) {
      heap_->update([&] { book_->pages[0]->counts[0] = i; }).check();
    }
    found = private_bytes(file_.path());
  }
  EXPECT_LE(found, kMost);
  EXPECT_GE(counters().given_back_bytes, kPages * kPageBytes / 2);
  expect_content(kPages);
  reopen();
  EXPECT_LE(private_bytes(file_.path()), kMost);
  expect_content(kPages);
}

// Pages go back and get private copies again all the time.
TEST_P(JournalMemoryTest, LosesNoStoreOfThreadsThatWriteMeanwhile) {
  constexpr size_t kShared = 100;
  constexpr int kUpdates = 3000;
  make(kShared);
  std::vector<std::vector<uint64_t>> counted(kThreads, std::vector<uint64_t>(kShared));
  heap_->machine().run_threads(kThreads, [&](int thread) {
    const auto mine = static_cast<size_t>(thread);
    Random random(mine + 1);
    for (int i = 0; i < kUpdates; ++i) {
      const size_t page = random.below(kShared);
      heap_
          ->update([&] {
            auto& count = book_->pages[page]->counts[mine];
            EXPECT_EQ(count.load(), counted[mine][page]);
            count = count + 1;
          })
          .check();
      ++counted[mine][page];
    }
  });
  EXPECT_GT(counters().given_back_bytes, 0u);
  for (int life = 0; life < 2; ++life) {
    for (size_t page = 0; page < kShared; ++page) {
      for (size_t thread = 0; thread < kThreads; ++thread) {
        const auto found = heap_->read([&] { return book_->pages[page]->counts[thread].load(); });
        EXPECT_EQ(found.value(), counted[thread][page]) << page << ' ' << thread;
      }
    }
    expect_content(kShared);
    reopen();
  }
}

TEST_P(JournalMemoryTest, GivesNothingBackWhileAThreadStores) {
  using namespace std::chrono_literals;
  constexpr size_t kSome = 40;
  make(kSome);
  // In turns, so that most pages have no line in the journal.
  const auto store = [&](uint64_t i) {
    heap_->update([&] { book_->pages[i % kSome]->counts[0] = i; }).check();
  };
  {
    const NativeMachine::StoreScope storing(heap_->machine());
    const uint64_t before = counters().given_back_bytes;
    const uint64_t checkpoints = counters().checkpoints;
    for (uint64_t i = 0; counters().checkpoints < checkpoints + 5; ++i) {
      store(i);
    }
    EXPECT_EQ(counters().given_back_bytes, before);
  }
  const uint64_t before = counters().given_back_bytes;
  for (uint64_t i = 0; counters().given_back_bytes == before; ++i) {
    store(i);
    // Without a rest all pages may have new lines before the journal's thread gets a processor.
    std::this_thread::sleep_for(100us);
  }
  make_roomy();
  native::StoreGate& gate = *heap_->machine().medium().store_gate();
  heap_->update([&] { EXPECT_FALSE(gate.close(10us)); }).check();
  heap_->read([&] { EXPECT_TRUE(gate.close(60s)); }).check();
  gate.open();
}

// Without engines whose journal has lines of all pages, which stay.
INSTANTIATE_TEST_SUITE_P(
    Engines, JournalMemoryTest,
    testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                               [](const auto& row) {
                                 return row.description->check_journal().ok() &&
                                        !row.description->rewrites_heap;
                               })),
    name_of_test);

}  // namespace
}  // namespace holdfast::journal_memory_test
