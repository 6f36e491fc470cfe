// SPDX-License-Identifier: Apache-2.0
//
// Do durable engines in software survive a power cut at any event, also during recovery? A suite
// that each of them instantiates in its own folder. (tests/crash searches deeper, over a heap.)
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/history.h"

namespace holdfast::history_test {

template <class E>
EngineFixtureShape shape(bool background) {
  const Options wished = {{"log_bytes", "768"},
                          {"records", "32"},
                          {"locks", "64"},
                          {"alias_bytes", "4096"},
                          {"background", background ? "1" : "0"}};
  EngineFixtureShape s;
  for (size_t i = 0; i < E::kDescription.option_count; ++i) {
    const auto found = wished.find(E::kDescription.options[i].name);
    if (found != wished.end()) {
      s.options.insert(*found);
    }
  }
  s.bytes = kPageBytes;
  s.max_threads = 3;
  return s;
}

inline SimOptions sim_options(uint64_t seed) {
  SimOptions o;
  o.threads = 3;
  o.seed = seed;
  o.switch_probability = 0.08;
  return o;
}

struct Run {
  std::vector<SimImage> images;
  bool crashed = false;
};

/// A run that ends before persist event `event`, and images it may leave.
template <class E>
Run run_until(uint64_t seed, uint64_t event, Acknowledged& told) {
  SimMachine machine(sim_options(seed));
  EngineFixture<E> heap(machine, shape<E>(seed % 2 == 0));
  heap.format().check();
  heap.recover().check();
  uint64_t next = 1;
  Worker<E> before(heap, told, seed);
  for (int i = 0; i < 6; ++i) {
    before.update(next++);
  }
  machine.crash_at(machine.persist_events() + event);
  machine.run_threads(3, [&](int w) {
    Worker<E> worker(heap, told, seed * 3 + static_cast<uint64_t>(w));
    for (int i = 0; i < 5; ++i) {
      i % 3 == w % 3 ? worker.read() : worker.update(next++);
    }
  });
  Random random(seed + event);
  return {{machine.earliest_image(), machine.latest_image(), machine.sample_image(random)},
          machine.crashed()};
}

template <class E>
std::string recover_and_judge(uint64_t seed, const SimImage& image, const Acknowledged& told,
                              uint64_t* replayed) {
  SimMachine machine(sim_options(seed), image);
  EngineFixture<E> heap(machine, shape<E>(false));
  if (const Status status = heap.recover(); !status.ok()) {
    return status.to_string();
  }
  if (replayed != nullptr) {
    *replayed += heap.report().transactions;
  }
  if (std::string wrong = judge(heap, told); !wrong.empty()) {
    return wrong;
  }
  // It is a heap to work with.
  heap.write(1, 77);
  return heap.read(1) == 77 ? "" : "a store after recovery is lost";
}

/// The option that bounds what a transaction stores.
template <class E>
std::string bound() {
  return shape<E>(false).options.count("log_bytes") == 1 ? "log_bytes" : "records";
}

template <class E>
class StmRecovery : public testing::Test {};
TYPED_TEST_SUITE_P(StmRecovery);

TYPED_TEST_P(StmRecovery, APowerCutAtEveryEvent) {
  uint64_t points = 0;
  uint64_t replayed = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (uint64_t event = 0;; event += kStep, ++points) {
      Acknowledged told;
      const Run run = run_until<TypeParam>(seed, event, told);
      for (const SimImage& image : run.images) {
        ASSERT_EQ(recover_and_judge<TypeParam>(seed, image, told, &replayed), "")
            << "seed " << seed << ", power cut before event " << event;
      }
      if (!run.crashed) {
        break;
      }
    }
  }
  std::printf("[ %llu points, %llu transactions replayed ]\n",
              static_cast<unsigned long long>(points), static_cast<unsigned long long>(replayed));
  EXPECT_GT(replayed, 100 / kShare);
}

TYPED_TEST_P(StmRecovery, APowerCutInRecovery) {
  uint64_t points = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Acknowledged told;
    const Run run = run_until<TypeParam>(seed, 30 + 11 * seed, told);
    for (const SimImage& image : run.images) {
      for (uint64_t event = 0;; event += kStep, ++points) {
        std::vector<SimImage> again;
        bool crashed_again = false;
        {
          SimMachine machine(sim_options(seed), image);
          machine.crash_at(event);
          EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
          machine.run_threads(1, [&](int) { heap.recover().check(); });
          crashed_again = machine.crashed();
          Random random(event);
          again = {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
        }
        for (const SimImage& second : again) {
          ASSERT_EQ(recover_and_judge<TypeParam>(seed, second, told, nullptr), "")
              << "seed " << seed << ", power cut in recovery before event " << event;
        }
        if (!crashed_again) {
          break;
        }
      }
    }
  }
  EXPECT_GT(points, 20 / kStep);
}

TYPED_TEST_P(StmRecovery, ACleanCloseLeavesNothingToDo) {
  SimImage image;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<TypeParam> heap(machine, shape<TypeParam>(true));
    heap.format().check();
    heap.recover().check();
    for (size_t i = 0; i < 200; ++i) {
      heap.write(i, i + 1);
    }
    heap.engine().close().check();
    image = machine.earliest_image();
  }
  SimMachine machine(sim_options(2), image);
  EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
  heap.recover().check();
  EXPECT_FALSE(heap.report().needed);
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(heap.read(i), i + 1);
  }
}

TYPED_TEST_P(StmRecovery, OtherOptionsThanAtCreationAreRefused) {
  SimImage image;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
    heap.format().check();
    image = machine.earliest_image();
  }
  EngineFixtureShape other = shape<TypeParam>(false);
  other.options[bound<TypeParam>()] = "4096";
  SimMachine machine(sim_options(1), image);
  EngineFixture<TypeParam> heap(machine, other);
  EXPECT_EQ(heap.recover().code(), Code::corrupt);
}

TYPED_TEST_P(StmRecovery, ATransactionLargerThanItsLogIsRefusedClearly) {
  SimMachine machine(sim_options(1));
  EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
  heap.format().check();
  heap.recover().check();
  try {
    heap.engine().update([&] {
      for (size_t i = 0; i < 100; ++i) {
        heap.set(i * 2, i);
      }
    });
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::too_large);
    EXPECT_NE(error.status().message().find(bound<TypeParam>()), std::string::npos);
  }
  heap.write(2, 5);
  EXPECT_EQ(heap.read(2), 5u);
  EXPECT_EQ(heap.read(4), 0u);
}

/// Write-backs and fences of an update of n scattered words.
template <class E>
PersistCounters cost(size_t n, size_t line) {
  SimOptions sim = sim_options(1);
  sim.line_bytes = line;
  SimMachine machine(sim);
  EngineFixtureShape s = shape<E>(false);
  s.options["log_bytes"] = "8192";
  EngineFixture<E> heap(machine, s);
  heap.format().check();
  heap.recover().check();
  const PersistCounters before = machine.counters();
  heap.engine().update([&] {
    for (size_t i = 0; i < n; ++i) {
      heap.set(i * 2, n);
    }
  });
  return machine.counters() - before;
}

REGISTER_TYPED_TEST_SUITE_P(StmRecovery, APowerCutAtEveryEvent, APowerCutInRecovery,
                            ACleanCloseLeavesNothingToDo, OtherOptionsThanAtCreationAreRefused,
                            ATransactionLargerThanItsLogIsRefusedClearly);

}  // namespace holdfast::history_test
