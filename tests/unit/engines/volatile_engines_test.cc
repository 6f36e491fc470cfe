// SPDX-License-Identifier: Apache-2.0
// Engines without durability promise the state of the last clean close, whole, or a refusal.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::volatile_engines_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

struct Counters {
  static constexpr const char* kTypeName = "volatile.counters";
  H::Field<uint64_t> first{0};
  std::array<std::byte, 500> apart;
  H::Field<uint64_t> second{0};
};

class VolatileEngines : public testing::TestWithParam<std::string> {
 protected:
  static SimOptions machine_options(uint64_t seed) {
    SimOptions o;
    o.threads = 2;
    o.seed = seed;
    return o;
  }
  static std::unique_ptr<H> create(SimMachine& machine) {
    CreateOptions options;
    options.engine = GetParam();
    options.bytes = 128 << 10;
    options.max_bytes = 256 << 10;
    return H::create(machine, options).value();
  }
  static void count(SimMachine& machine, H& heap, int times) {
    auto* counters = heap.root<Counters>("counters").value();
    machine.run_threads(2, [&](int) {
      for (int i = 0; i < times; ++i) {
        heap.update([&] {
              counters->first += 1;
              counters->second += 1;
            })
            .check();
      }
    });
  }
  /// Both counters, which no transaction ever leaves different.
  static uint64_t read(H& heap) {
    auto* counters = heap.find_root<Counters>("counters").value();
    const auto pair =
        heap.read([&] { return std::pair(counters->first.load(), counters->second.load()); });
    EXPECT_EQ(pair.value().first, pair.value().second);
    return pair.value().first;
  }
};

TEST_P(VolatileEngines, KeepWhatACleanCloseHasSaved) {
  SimImage image;
  {
    SimMachine machine(machine_options(1));
    auto heap = create(machine);
    count(machine, *heap, 10);
    heap->close().check();
    image = machine.earliest_image();
  }
  SimMachine machine(machine_options(2), image);
  auto heap = H::open(machine).value();
  EXPECT_EQ(read(*heap), 20u);
  count(machine, *heap, 1);
  EXPECT_EQ(read(*heap), 22u);
}

TEST_P(VolatileEngines, GoBackToTheLastCleanCloseAfterACrash) {
  SimImage image;
  {
    SimMachine machine(machine_options(1));
    auto heap = create(machine);
    count(machine, *heap, 10);
    heap->close().check();
    image = machine.earliest_image();
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimImage crashed;
    {
      SimMachine machine(machine_options(seed), image);
      auto heap = H::open(machine).value();
      count(machine, *heap, 10);
      Random random(seed);
      crashed = machine.sample_image(random);
    }
    SimMachine machine(machine_options(seed), crashed);
    auto heap = H::open(machine).value();
    EXPECT_EQ(read(*heap), 20u) << "seed " << seed;
    EXPECT_TRUE(heap->check().value().ok());
  }
}

TEST_P(VolatileEngines, RefuseAHeapThatWasNeverClosed) {
  SimImage image;
  {
    SimMachine machine(machine_options(1));
    auto heap = create(machine);
    count(machine, *heap, 10);
    image = machine.earliest_image();
  }
  SimMachine machine(machine_options(1), image);
  const auto heap = H::open(machine);
  ASSERT_FALSE(heap.ok());
  EXPECT_EQ(heap.status().code(), Code::corrupt);
  EXPECT_NE(heap.status().message().find("closed for the first time"), std::string::npos)
      << heap.status().to_string();
}

TEST_P(VolatileEngines, ACrashDuringACloseShowsOneStateOrIsRefused) {
  SimImage image;
  {
    SimMachine machine(machine_options(1));
    auto heap = create(machine);
    count(machine, *heap, 10);
    heap->close().check();
    image = machine.earliest_image();
  }
  int refused = 0;
  int before = 0;
  int after = 0;
  std::vector<SimImage> images;
  {
    SimMachine machine(machine_options(3), image);
    auto heap = H::open(machine).value();
    count(machine, *heap, 5);
    Random random(3);
    machine.before_persist_event([&](uint64_t) {
      for (int i = 0; i < 3; ++i) {
        images.push_back(machine.sample_image(random));
      }
    });
    machine.run_threads(1, [&](int) { heap->close().check(); });
    machine.before_persist_event({});
    images.push_back(machine.earliest_image());
  }
  for (const SimImage& crashed : images) {
    SimMachine machine(machine_options(4), crashed);
    auto heap = H::open(machine);
    if (!heap.ok()) {
      ++refused;
      EXPECT_NE(heap.status().message().find("while the heap was being closed"), std::string::npos)
          << heap.status().to_string();
      continue;
    }
    const uint64_t seen = read(**heap);
    ++(seen == 20 ? before : after);
    EXPECT_TRUE(seen == 20 || seen == 30) << seen;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->durability == Durability::none) {
      all.emplace_back(row.description->name);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, VolatileEngines, testing::ValuesIn(names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast::volatile_engines_test
