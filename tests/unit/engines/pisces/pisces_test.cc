// SPDX-License-Identifier: Apache-2.0
// Pisces' narrow windows: what takes more luck to come upon than the search for canaries has.
#include "holdfast/engines/pisces/pisces.h"

#include <gtest/gtest.h>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::pisces_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

/// One writer of two words, one writer of another word, and a reader of the first two: how many
/// schedules of `schedules` showed it halves of a transaction.
int fractured_reads(int schedules, const char* mutation, double drain) {
  int found = 0;
  for (int seed = 1; seed <= schedules; ++seed) {
    SimOptions options;
    options.threads = 3;
    options.seed = static_cast<uint64_t>(seed);
    options.drain_probability = drain;
    if (mutation != nullptr) {
      options.mutations = {parse_mutation(mutation).value()};
    }
    SimMachine machine(options);
    EngineFixtureShape shape;
    shape.options = {{"log_bytes", "512"}, {"locks", "64"}};
    shape.bytes = kPageBytes;
    shape.max_threads = 3;
    EngineFixture<Pisces<SimMachine>> heap(machine, shape);
    heap.format().check();
    heap.recover().check();
    bool fractured = false;
    machine.run_threads(3, [&](int worker) {
      for (uint64_t i = 1; i <= 12; ++i) {
        if (worker == 0) {
          heap.engine().update([&] {
            heap.set(0, i);
            heap.set(4 * kLineWords, i);
          });
        } else if (worker == 1) {
          heap.write(8 * kLineWords, i);
        } else {
          for (int k = 0; k < 5; ++k) {
            heap.engine().read([&] {
              const uint64_t first = heap.get(0);
              fractured = fractured || heap.get(4 * kLineWords) != first;
            });
          }
        }
      }
    });
    found += fractured ? 1 : 0;
  }
  return found;
}

TEST(Pisces, ReadersWaitForACriticalOwner) {
  EXPECT_EQ(fractured_reads(400, nullptr, 0.4), 0);
  EXPECT_GT(fractured_reads(400, "pisces.read.critical=drop", 0.4), 0);
  EXPECT_GT(fractured_reads(400, "pisces.critical=drop", 0.4), 0);
}

TEST(Pisces, CriticalIsVisibleBeforeTheClockIsRead) {
  EXPECT_EQ(fractured_reads(400, nullptr, 0.02), 0);
  EXPECT_GT(fractured_reads(400, "pisces.critical.clock=drop", 0.02), 0);
}

}  // namespace
}  // namespace holdfast::pisces_test
