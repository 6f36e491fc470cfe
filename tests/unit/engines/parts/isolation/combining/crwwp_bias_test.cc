// SPDX-License-Identifier: Apache-2.0
//
// The reader-writer lock with its bias given back after every second quiet read, so that all
// transitions between biased and unbiased happen all the time.
#include <gtest/gtest.h>

#include <string>

#include "holdfast/engines/parts/isolation/combining/crwwp.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::crwwp_bias_test {
namespace {

struct Pair {
  SimMachine::Atomic<uint64_t> first;
  SimMachine::Atomic<uint64_t> second;
};

/// Two readers and one writer that keeps two words equal; how often a reader saw them differ.
template <class Machine>
int torn_reads(uint64_t seed) {
  SimOptions options;
  options.threads = 3;
  options.seed = seed;
  options.drain_probability = 0.1;  // stores linger in their buffers
  Machine machine(options);
  Crwwp<Machine> lock(machine, 2);
  auto* pair = make_object<Pair>(machine);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  int torn = 0;
  machine.run_threads(3, [&](int thread) {
    const int slot = machine.self();
    for (uint64_t i = 1; i <= 30; ++i) {
      if (thread == 0 && i % 5 == 0) {
        lock.exclude();
        pair->first.store(i, kRelaxed);
        pair->second.store(i, kRelaxed);
        lock.admit();
      } else if (thread == 0) {
        for (int k = 0; k < 8; ++k) {
          machine.work(1);  // the readers have time to become trusted
        }
      } else {
        while (!lock.enter(slot)) {
        }
        torn += pair->first.load(kRelaxed) != pair->second.load(kRelaxed) ? 1 : 0;
        lock.leave(slot);
      }
    }
  });
  return torn;
}

TEST(CrwwpBias, ReadersNeverMeetTheWriter) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    ASSERT_EQ(torn_reads<SimMachine>(seed), 0) << "seed " << seed;
  }
}

/// A machine whose heavy fence is an ordinary one: the readers' light fence is then worth nothing.
class NoHeavyFence : public SimMachine {
 public:
  using SimMachine::SimMachine;
  void heavy_fence(Site site) { fence(site); }
};

TEST(CrwwpBias, WithoutTheHeavyFenceTheyDo) {
  int torn = 0;
  for (uint64_t seed = 1; seed <= 400 && torn == 0; ++seed) {
    torn = torn_reads<NoHeavyFence>(seed);
  }
  EXPECT_GT(torn, 0) << "the test above would not notice a missing heavy fence";
}

}  // namespace
}  // namespace holdfast::crwwp_bias_test
