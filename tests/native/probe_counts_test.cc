// SPDX-License-Identifier: Apache-2.0
//
// Does a native machine count the rare paths that its threads take, if it is asked to?
#include "holdfast/machine/native/support/probe_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/machine/native/native_machine.h"
#include "tests/native/killed_process.h"
#include "tests/native/stopped_process.h"
#include "tests/native/test_file.h"

namespace holdfast::probe_counts_test {
namespace {

using Counts = std::map<std::string, uint64_t>;

class NativeProbes : public testing::Test {
 protected:
  std::unique_ptr<NativeMachine> make(ProbeCounts* probes, int max_threads = 4) {
    files_.push_back(std::make_unique<NativeTestFile>());
    return std::move(NativeMachine::open(files_.back()->path(), {.create = true,
                                                                 .domain = Domain::process,
                                                                 .max_threads = max_threads,
                                                                 .probes = probes}))
        .value();
  }

  std::vector<std::unique_ptr<NativeTestFile>> files_;
};

TEST_F(NativeProbes, AreCountedOverThreadsAndTheBackgroundThread) {
  ProbeCounts probes;
  const auto machine = make(&probes);
  NativeMachine::reach(Probe{"opened"});  // no slot yet, as in recovery
  machine->run_threads(3, [&](int i) {
    static_cast<void>(machine->self());
    for (int k = 0; k < 1000; ++k) {
      NativeMachine::reach(Probe{"all"});
    }
    if (i == 1) {
      NativeMachine::reach(Probe{"one"});
    }
  });
  NativeMachine::Atomic<uint64_t> called{0};
  machine->set_background([&] {
    if (called.load() == 0) {
      NativeMachine::reach(Probe{"background"});
      called.store(1);
    }
    return false;
  });
  machine->wait_while(called, uint64_t{0});
  machine->set_background(nullptr);
  EXPECT_EQ(probes.counts(), (Counts{{"all", 3000}, {"background", 1}, {"one", 1}, {"opened", 1}}));
}

TEST_F(NativeProbes, CountForTheMachineThatTheThreadUsedLast) {
  ProbeCounts first;
  ProbeCounts second;
  const auto a = make(&first);
  const auto b = make(&second);
  const auto c = make(nullptr);
  NativeMachine::reach(Probe{"nowhere"});  // c was opened last
  static_cast<void>(a->self());
  NativeMachine::reach(Probe{"here"});
  static_cast<void>(b->self());
  NativeMachine::reach(Probe{"there"});
  static_cast<void>(c->self());
  NativeMachine::reach(Probe{"nowhere"});
  EXPECT_EQ(first.counts(), (Counts{{"here", 1}}));
  EXPECT_EQ(second.counts(), (Counts{{"there", 1}}));
}

// A guest counts while it has the slot, and a thread without one does not.
TEST_F(NativeProbes, AGuestCountsLikeAnyThread) {
  ProbeCounts probes;
  const auto machine = make(&probes, 1);
  ASSERT_GE(machine->self(), 0);
  std::thread([&] {
    ASSERT_EQ(machine->self(), -1);
    NativeMachine::reach(Probe{"no slot"});
    {
      const NativeMachine::GuestSlot slot(*machine);
      NativeMachine::reach(Probe{"guest"});
    }
    NativeMachine::reach(Probe{"no slot"});
  }).join();
  EXPECT_EQ(probes.counts(), (Counts{{"guest", 1}}));
}

// The next machine of a thread must not count into an object that has ended with the first one.
TEST_F(NativeProbes, TheCountsMayEndAfterTheirMachine) {
  auto probes = std::make_unique<ProbeCounts>();
  auto machine = make(probes.get());
  static_cast<void>(machine->self());
  machine.reset();
  probes.reset();
  const auto next = make(nullptr);
  NativeMachine::reach(Probe{"recovery"});
}

TEST_F(NativeProbes, EqualNamesCountTogether) {
  ProbeCounts probes;
  const std::string name = "full";
  const std::string again = "full";
  probes.count(Probe{name.c_str()});
  probes.count(Probe{again.c_str()});
  EXPECT_EQ(probes.counts(), (Counts{{"full", 2}}));
}

TEST_F(NativeProbes, CountsOfAKilledChildRemain) {
  SharedObject<ProbeCounts> probes;
  run_and_kill(
      1,
      [&](int answers) {
        const auto machine = make(&*probes);
        static_cast<void>(machine->self());
        NativeMachine::reach(Probe{"child"});
        if (::write(answers, "x", 1) == 1) {
          ::pause();
        }
      },
      [](char) {});
  EXPECT_EQ(probes->counts(), (Counts{{"child", 1}}));
}

TEST(StoppedProcess, GoesOnWhereItStood) {
  struct Steps {
    std::atomic<int> child{0};
    int seen = 0;
  };
  SharedObject<Steps> steps;
  run_with_stops(
      [&] {
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(steps->seen, i);
          ++steps->child;
          stop_here();
        }
      },
      [&] {
        ++steps->seen;
        EXPECT_EQ(steps->child, steps->seen);
      });
  EXPECT_EQ(steps->seen, 3);
}

}  // namespace
}  // namespace holdfast::probe_counts_test
