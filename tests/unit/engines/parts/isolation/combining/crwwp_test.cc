// SPDX-License-Identifier: Apache-2.0
// Do readers and writer of the reader-writer lock exclude each other?
#include "holdfast/engines/parts/isolation/combining/crwwp.h"

#include <gtest/gtest.h>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::crwwp_test {
namespace {

/// Stores leave the store buffers late, so that a missing fence between a reader's arrival and its
/// look at the writer's phase would show.
TEST(CrwwpTest, ReadersAndWriterExcludeEachOtherAndReadersLosePatience) {
  uint64_t refused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimMachine machine({.threads = 3, .seed = seed, .drain_probability = 0.02});
    Crwwp<SimMachine> lock(machine);
    auto* words = make_array<uint64_t>(machine, 2);
    machine.run_threads(3, [&](int worker) {
      const int slot = machine.self();
      for (uint64_t i = 1; i <= 20; ++i) {
        if (worker == 0) {
          lock.exclude();
          SimMachine::store(words, i);
          SimMachine::store(words + 1, i);
          lock.admit();
        } else if (lock.enter(slot)) {
          const uint64_t second = SimMachine::load(words + 1);
          machine.pause();
          EXPECT_EQ(SimMachine::load(words), second);
          lock.leave(slot);
        } else {
          ++refused;
        }
      }
    });
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  EXPECT_GT(refused, 0u);  // else the way out for starving readers is untested
}

}  // namespace
}  // namespace holdfast::crwwp_test
