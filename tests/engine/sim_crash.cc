// SPDX-License-Identifier: Apache-2.0
//
// The power fails at every persist event of small concurrent runs, in every domain. Whatever image
// survives, the recovered heap holds whole transactions only, every acknowledged one, and
// everything a reader was told.
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/engines/common/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine/conformance.h"

namespace holdfast::conformance {
namespace {

using H = Heap<AnyEngine<SimMachine>>;
constexpr int kThreads = 3;
constexpr int kTransactions = 3;
constexpr uint64_t kMostCrashes = 300;  // per schedule

/// Small logs, so that they wrap around and fill.
CreateOptions small_heap(const std::string& engine) {
  CreateOptions o;
  o.engine = engine;
  o.bytes = 64 << 10;
  o.max_bytes = 1 << 20;
  if (engine == "undo") {
    o.options["log_bytes"] = "4096";
  }
  if (engine.rfind("fur", 0) == 0) {
    o.options["log_bytes"] = "1024";
    o.options["markers"] = "16";
  }
  return o;
}

SimOptions machine_options(Domain domain, uint64_t seed) {
  SimOptions o;
  o.threads = kThreads;
  o.seed = seed;
  o.domain = domain;
  return o;
}

/// What clients were told before the power failed.
struct Told {
  int64_t acknowledged[kThreads] = {};
  int64_t started[kThreads] = {};
  int64_t seen[kThreads] = {};
};

void run_clients(SimMachine& machine, H& heap, Told& told) {
  auto* c = cells(heap);
  machine.run_threads(kThreads, [&](int thread) {
    for (int i = 0; i < kTransactions; ++i) {
      ++told.started[thread];
      const Status status = heap.update([&] {
        // Two lines and one shared counter: a half transaction would show.
        c->cell[1 + thread].value += 1;
        c->cell[0].value += 1;
        c->cell[8 + thread].value += 1;
      });
      if (!status.ok()) {
        return;
      }
      ++told.acknowledged[thread];
      int64_t seen[kThreads] = {};
      const Status read = heap.read([&] {
        for (int t = 0; t < kThreads; ++t) {
          seen[t] = c->cell[1 + t].value;
        }
      });
      if (!read.ok()) {
        return;
      }
      for (int t = 0; t < kThreads; ++t) {
        told.seen[t] = std::max(told.seen[t], seen[t]);
      }
    }
  });
}

void expect_durable(H& heap, const Told& told, const std::string& where) {
  const auto v = values(heap);
  int64_t sum = 0;
  for (int t = 0; t < kThreads; ++t) {
    const auto at = static_cast<size_t>(t);
    ASSERT_EQ(v[1 + at], v[8 + at]) << where << ": half a transaction of thread " << t;
    ASSERT_GE(v[1 + at], told.acknowledged[t])
        << where << ": an acknowledged update of thread " << t << " is lost";
    ASSERT_GE(v[1 + at], told.seen[t])
        << where << ": a reader saw an update of thread " << t << " that is lost";
    ASSERT_LE(v[1 + at], told.started[t]) << where;
    sum += v[1 + at];
  }
  ASSERT_EQ(v[0], sum) << where << ": half a transaction";
}

struct Crash {
  SimImage image;
  Told told;
};

/// Runs up to `event` and takes an image; event kNever runs to the end and returns the number of
/// events.
uint64_t run_until(const std::string& engine, Domain domain, uint64_t seed, uint64_t event,
                   const std::function<void(SimMachine&, const Told&)>& inspect) {
  SimMachine machine(machine_options(domain, seed));
  auto heap = H::create(machine, small_heap(engine)).value();
  cells(*heap);
  const uint64_t before = machine.persist_events();
  if (event != kNever) {
    machine.crash_at(before + event);
  }
  Told told;
  run_clients(machine, *heap, told);
  if (inspect) {
    inspect(machine, told);
  }
  return machine.persist_events() - before;
}

void recover_and_check(Domain domain, const SimImage& image, const Told& told,
                       const std::string& where) {
  SimMachine machine(machine_options(domain, 99), image);
  auto heap = H::open(machine, {});
  ASSERT_TRUE(heap.ok()) << where << ": " << heap.status().to_string();
  expect_durable(**heap, told, where);
  // The recovered heap works.
  Told more = told;
  for (int t = 0; t < kThreads; ++t) {
    more.acknowledged[t] = more.started[t] = values(**heap)[static_cast<size_t>(1 + t)];
  }
  run_clients(machine, **heap, more);
  expect_durable(**heap, more, where + " after more transactions");
}

/// Crashes in recovery itself, at up to `most` of its events, and recovers again.
void crash_in_recovery(Domain domain, const SimImage& image, const Told& told, uint64_t most,
                       const std::string& where) {
  for (uint64_t event = 0; event < most; ++event) {
    SimImage next;
    {
      SimOptions options = machine_options(domain, 5);
      options.count_main_events = true;
      SimMachine machine(options, image);
      machine.crash_at(event);
      auto heap = H::open(machine, {});
      if (heap) {
        static_cast<void>((*heap)->close());  // its events count too
      }
      if (!machine.crashed()) {
        return;  // there are no more events
      }
      Random random(event);
      next = machine.sample_image(random);
    }
    SimMachine machine(machine_options(domain, 6), next);
    auto heap = H::open(machine, {});
    ASSERT_TRUE(heap.ok()) << where << " and in recovery at " << event << ": "
                           << heap.status().to_string();
    expect_durable(**heap, told, where + " and in recovery at event " + std::to_string(event));
  }
}

struct Case {
  std::string engine;
  Domain domain;
};

class PowerFailure : public testing::TestWithParam<Case> {};

TEST_P(PowerFailure, AtEveryEvent) {
  const auto& [engine, domain] = GetParam();
  uint64_t all_events = 0;
  uint64_t crashes = 0;
  uint64_t images = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const uint64_t events = run_until(engine, domain, seed, kNever, nullptr);
    // Every event of the first schedule, every third of the others; fewer where an engine copies
    // its whole heap, one event per line.
    const uint64_t step = std::max<uint64_t>(seed == 1 ? 1 : 3, events / kMostCrashes);
    all_events += events;
    for (uint64_t event = seed % step; event < events; event += step) {
      std::vector<SimImage> survivors;
      Told told;
      run_until(engine, domain, seed, event, [&](SimMachine& machine, const Told& t) {
        told = t;
        survivors.push_back(machine.earliest_image());
        survivors.push_back(machine.latest_image());
        Random random(seed * 1000 + event);
        survivors.push_back(machine.sample_image(random));
        survivors.push_back(machine.sample_image(random));
      });
      std::sort(survivors.begin(), survivors.end());
      survivors.erase(std::unique(survivors.begin(), survivors.end()), survivors.end());
      ++crashes;
      for (size_t i = 0; i < survivors.size(); ++i) {
        const std::string where = engine + "/" + to_string(domain) + " seed " +
                                  std::to_string(seed) + " event " + std::to_string(event) +
                                  " image " + std::to_string(i);
        ASSERT_NO_FATAL_FAILURE(recover_and_check(domain, survivors[i], told, where));
        ++images;
        if (i == 0 && event % 16 == 0) {
          ASSERT_NO_FATAL_FAILURE(crash_in_recovery(domain, survivors[i], told, 40, where));
        }
      }
    }
  }
  std::printf("%s/%s: %llu of %llu crash points, %llu images\n", engine.c_str(), to_string(domain),
              static_cast<unsigned long long>(crashes), static_cast<unsigned long long>(all_events),
              static_cast<unsigned long long>(images));
  EXPECT_GT(crashes, 10U);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->name == std::string("hw")) {
      continue;  // on machines with a hardware design only: tests/unit/sim_design_crash_test.cc
    }
    for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
      all.push_back({row.description->name, domain});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, PowerFailure, testing::ValuesIn(cases()),
                         [](const auto& instance) {
                           std::string name =
                               instance.param.engine + "_" + to_string(instance.param.domain);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast::conformance
