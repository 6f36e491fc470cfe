// SPDX-License-Identifier: Apache-2.0
//
// Does a heap with a journal hold what was acknowledged when its process is killed while 32 threads
// write? With a lag: does it hold a prefix, all that a fence has promised, and as much of
// the rest as the lag says?
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/journal_engines.h"
#include "tests/native/killed_process.h"
#include "tests/native/test_file.h"

namespace holdfast::journal_kill_test {
namespace {

using KilledHeap = Heap<AnyEngine<NativeMachine>>;

constexpr size_t kWriters = 32;
constexpr int kKills = 5;
constexpr int kAnswersPerLife = 800;
constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();

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

/// The counters of all updates, too: it is right in a prefix of the commit order only.
struct Totals {
  static constexpr const char* kTypeName = "test.Totals";
  static constexpr uint32_t kTypeVersion = 1;
  KilledHeap::Field<uint64_t> updates = 0;
};

constexpr char kFenced = 'F';  // plus the writer's number; an update's byte is the number

/// Counts for ever, and writes a byte for each update that was answered. With Commit::later, a
/// writer sometimes fences and writes a byte for that.
[[noreturn]] void count_until_killed(KilledHeap& heap, int answers, Commit commit) {
  Pairs* const root = heap.root<Pairs>("pairs").value();
  Totals* const totals = heap.root<Totals>("totals").value();
  std::vector<std::thread> writers;
  for (size_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      const auto tell = [&](const Status& status, size_t byte) {
        const char name = static_cast<char>(byte);
        if (!status.ok() || ::write(answers, &name, 1) != 1) {
          _exit(1);
        }
      };
      for (uint64_t n = 1;; ++n) {
        Pairs::Pair& mine = root->pairs[i];
        const auto body = [&] {
          mine.first = mine.first + 1;
          totals->updates = totals->updates + 1;
          mine.second = mine.first.load();
        };
        tell(heap.update(body, commit), i);
        if (commit == Commit::later && n % 64 == 0) {
          tell(heap.fence(), kFenced + i);
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  _exit(1);
}

/// The answers of a writer: all of them, and those before its last fence.
struct Answered {
  uint64_t updates = 0;
  uint64_t fenced = 0;
};

class JournalKillTest : public testing::TestWithParam<std::string> {
 protected:
  void create() {
    native_.domain = Domain::file;
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 512 << 10;
    create.max_bytes = 16 << 20;
    create.max_threads = kWriters + 1;
    create.journal_bytes = 128 << 10;  // so that checkpoints come often
    const auto heap = KilledHeap::create(file_.path(), create, native_).value();
    heap->root<Pairs>("pairs").value();
    heap->root<Totals>("totals").value();
  }

  /// Lets a process write until it has answered often enough, and kills it. Counts the answers.
  void live_and_die(std::vector<Answered>& answered, Commit commit, const Options& options) {
    run_and_kill(
        kAnswersPerLife,
        [&](int answers) {
          OpenOptions open;
          open.options = options;
          auto heap = KilledHeap::open(file_.path(), open, native_);
          if (heap) {
            count_until_killed(**heap, answers, commit);
          }
        },
        [&](char byte) {
          const bool fence = byte >= kFenced;
          Answered& writer = answered[static_cast<size_t>(fence ? byte - kFenced : byte)];
          writer.updates += fence ? 0 : 1;
          writer.fenced = fence ? writer.updates : writer.fenced;
        });
  }

  /// Kills processes in turn. Each heap that they leave has lost at most `bound` answers.
  void kill_in_turn(Commit commit, uint64_t bound, const Options& options) {
    create();
    std::vector<Answered> answered(kWriters);
    for (int i = 0; i < kKills; ++i) {
      live_and_die(answered, commit, options);
      const auto heap = KilledHeap::open(file_.path(), {}, native_).value();
      Pairs* const root = heap->find_root<Pairs>("pairs").value();
      Totals* const totals = heap->find_root<Totals>("totals").value();
      heap->read([&] {
            uint64_t sum = 0;
            uint64_t lost = 0;
            for (size_t writer = 0; writer < kWriters; ++writer) {
              const uint64_t found = root->pairs[writer].first;
              Answered& known = answered[writer];
              EXPECT_EQ(found, root->pairs[writer].second.load());
              EXPECT_GE(found, bound == 0 ? known.updates : known.fenced);
              EXPECT_LE(found, known.updates + 1);
              sum += found;
              lost += known.updates - std::min(known.updates, found);
              known = {found, found};
            }
            EXPECT_EQ(sum, totals->updates.load());
            EXPECT_LE(lost, bound);
          })
          .check();
      EXPECT_TRUE(heap->check()->errors.empty());
    }
  }

  NativeTestFile file_{"/dev/shm"};
  NativeOptions native_;
};

TEST_P(JournalKillTest, HoldsWhatWasAnsweredAfterEachKill) {
  kill_in_turn(Commit::durable, 0, {});
}

TEST_P(JournalKillTest, HoldsAPrefixWithAllThatWasFencedIfUpdatesLag) {
  kill_in_turn(Commit::later, 100, {{"lag", "100"}, {"lag_ms", "60000"}});
}

// The background makes groups while the writers work. A process that is killed says nothing about
// time, so only the prefix and the fences are judged.
TEST_P(JournalKillTest, HoldsAPrefixWithAllThatWasFencedIfTheBackgroundFlushes) {
  kill_in_turn(Commit::later, kNoBound, {{"lag", "1000000"}, {"lag_ms", "10"}});
}

INSTANTIATE_TEST_SUITE_P(Engines, JournalKillTest, testing::ValuesIn(engines_by_journal(true)),
                         name_of_test);

}  // namespace
}  // namespace holdfast::journal_kill_test
