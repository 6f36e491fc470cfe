// SPDX-License-Identifier: Apache-2.0
//
// Does a heap with a journal hold what was acknowledged when its process is killed while several
// threads write?
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/killed_process.h"
#include "tests/native/test_file.h"

namespace holdfast {
namespace {

using KilledHeap = Heap<AnyEngine<NativeMachine>>;

constexpr size_t kWriters = 4;
constexpr int kKills = 5;
constexpr int kAnswersPerLife = 400;

/// A pair of equal counters for each writer.
struct Pairs {
  static constexpr const char* kTypeName = "test.Pairs";
  static constexpr uint32_t kTypeVersion = 1;
  struct Pair {
    KilledHeap::Field<uint64_t> first = 0;
    KilledHeap::Field<uint64_t> unused[15];
    KilledHeap::Field<uint64_t> second = 0;
  };
  Pair pairs[kWriters];
};

/// Counts for ever, and writes a byte with the writer's number for each update that was answered.
[[noreturn]] void count_until_killed(KilledHeap& heap, int answers) {
  Pairs* const root = heap.root<Pairs>("pairs").value();
  std::vector<std::thread> writers;
  for (size_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      for (;;) {
        Pairs::Pair& mine = root->pairs[i];
        const Status status = heap.update([&] {
          mine.first = mine.first + 1;
          mine.second = mine.first.load();
        });
        const char name = static_cast<char>(i);
        if (!status.ok() || ::write(answers, &name, 1) != 1) {
          _exit(1);
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  _exit(1);
}

class JournalKillTest : public testing::TestWithParam<const char*> {
 protected:
  /// Lets a process write until it has answered often enough, and kills it. Counts the answers.
  void live_and_die(std::vector<uint64_t>& answered) {
    run_and_kill(
        kAnswersPerLife,
        [&](int answers) {
          auto heap = KilledHeap::open(file_.path(), {}, native_);
          if (heap) {
            count_until_killed(**heap, answers);
          }
        },
        [&](char writer) { ++answered[static_cast<size_t>(writer)]; });
  }

  NativeTestFile file_{"/dev/shm"};
  NativeOptions native_;
};

TEST_P(JournalKillTest, HoldsWhatWasAnsweredAfterEachKill) {
  native_.domain = Domain::file;
  CreateOptions create;
  create.engine = GetParam();
  create.bytes = 256 << 10;
  create.max_bytes = 8 << 20;
  create.max_threads = kWriters + 1;
  create.journal_bytes = 128 << 10;  // so that checkpoints come often
  KilledHeap::create(file_.path(), create, native_).value()->root<Pairs>("pairs").value();
  std::vector<uint64_t> answered(kWriters);
  for (int i = 0; i < kKills; ++i) {
    live_and_die(answered);
    const auto heap = KilledHeap::open(file_.path(), {}, native_).value();
    Pairs* const root = heap->find_root<Pairs>("pairs").value();
    heap->read([&] {
          for (size_t writer = 0; writer < kWriters; ++writer) {
            const uint64_t found = root->pairs[writer].first;
            EXPECT_EQ(found, root->pairs[writer].second.load());
            EXPECT_GE(found, answered[writer]);
            EXPECT_LE(found, answered[writer] + 1);
            answered[writer] = found;
          }
        })
        .check();
    EXPECT_TRUE(heap->check()->errors.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, JournalKillTest, testing::ValuesIn([] {
                           std::vector<const char*> names;
                           for (const auto& row : engine_rows<NativeMachine>()) {
                             if (row.description->check_journal().ok()) {
                               names.push_back(row.description->name);
                             }
                           }
                           return names;
                         }()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast
