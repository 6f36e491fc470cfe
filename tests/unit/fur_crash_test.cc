// SPDX-License-Identifier: Apache-2.0
// Does what FUR acknowledged survive a power cut at every persist event, in every image?
#include <gtest/gtest.h>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/fur_history.h"

namespace holdfast::fur_test {
namespace {

struct Plan {
  const char* name;
  Options options;  // on top of tiny logs and markers, so that both wrap around
  int threads = 3;
  int turns = 3;        // transactions per thread
  int before = 9;       // updates before the threads start: more than there are markers
  double reads = 0.35;  // share of read-only transactions
  SimOptions sim;
};

Plan plan(const char* name, Options options) {
  Plan p;
  p.name = name;
  p.options = std::move(options);
  p.options.insert({"log_bytes", "512"});
  p.options.insert({"markers", "8"});
  return p;
}

EngineFixtureShape shape(const Plan& plan) {
  EngineFixtureShape s;
  s.options = plan.options;
  s.bytes = kPageBytes;
  s.max_threads = plan.threads;
  return s;
}

/// Formats a heap, runs the plan on it, and returns with the machine crashed or the plan complete.
template <class E>
Acknowledged execute(SimMachine& machine, const Plan& plan) {
  EngineFixture<E> heap(machine, shape(plan));
  heap.format().check();
  heap.recover().check();
  Acknowledged told;
  uint64_t next = 1;
  Worker<E> before(heap, told, machine.options().seed);
  for (int i = 0; i < plan.before; ++i) {
    before.update(next++);
  }
  machine.run_threads(plan.threads, [&](int w) {
    Worker<E> worker(heap, told, mix64(machine.options().seed) + static_cast<uint64_t>(w));
    Random random(machine.options().seed * 31 + static_cast<uint64_t>(w));
    for (int turn = 0; turn < plan.turns; ++turn) {
      random.chance(plan.reads) ? worker.read() : worker.update(next++);
    }
  });
  return told;
}

SimOptions sim_options(const Plan& plan, uint64_t seed) {
  SimOptions o = plan.sim;
  o.threads = plan.threads;
  o.seed = seed;
  // Some schedules leave a thread standing for long, as others never do, and some keep stores
  // hidden.
  constexpr double kSwitch[] = {0.25, 0.08, 0.02};
  constexpr double kDrain[] = {0.4, 0.05};
  o.switch_probability = kSwitch[seed % 3];
  o.drain_probability = kDrain[seed / 3 % 2];
  return o;
}

/// Recovers an image on a fresh machine and judges what is there.
template <class E>
std::string recover_and_judge(const Plan& plan, uint64_t seed, const SimImage& image,
                              const Acknowledged& told) {
  SimMachine machine(sim_options(plan, seed), image);
  EngineFixture<E> heap(machine, shape(plan));
  if (const Status status = heap.recover(); !status.ok()) {
    return status.to_string();
  }
  return judge(heap, told);
}

struct Totals {
  uint64_t points = 0;
  uint64_t images = 0;
  uint64_t violations = 0;
  std::string first;
};

/// Cuts the power before every `step`-th persist event of one schedule.
template <class E>
void explore(const Plan& plan, uint64_t seed, uint64_t step, int samples, Totals& totals) {
  uint64_t events = 0;
  {
    SimMachine machine(sim_options(plan, seed));
    const Acknowledged told = execute<E>(machine, plan);
    events = machine.persist_events();
    ASSERT_EQ(told.torn, "") << plan.name << " seed " << seed;
  }
  for (uint64_t event = seed % step; event <= events; event += step) {
    std::vector<SimImage> images;
    Acknowledged told;
    {
      SimMachine machine(sim_options(plan, seed));
      machine.crash_at(event);
      told = execute<E>(machine, plan);
      images = {machine.earliest_image(), machine.latest_image()};
      Random random(seed ^ event << 20);
      for (int i = 0; i < samples; ++i) {
        images.push_back(machine.sample_image(random));
      }
    }
    ++totals.points;
    for (size_t i = 0; i < images.size(); ++i) {
      ++totals.images;
      const std::string wrong = recover_and_judge<E>(plan, seed, images[i], told);
      if (!wrong.empty()) {
        ++totals.violations;
        if (totals.first.empty()) {
          totals.first = std::string(plan.name) + " seed " + std::to_string(seed) + " event " +
                         std::to_string(event) + " image " + std::to_string(i) + ": " + wrong;
        }
      }
    }
  }
}

template <class E>
class FurCrash : public testing::Test {};
using Engines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>>;
TYPED_TEST_SUITE(FurCrash, Engines);

template <class E>
void expect_no_violation(const Plan& plan, uint64_t seeds, uint64_t step, int samples) {
  Totals totals;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    explore<E>(plan, seed, step, samples, totals);
  }
  EXPECT_EQ(totals.violations, 0u) << totals.first;
  EXPECT_GT(totals.points, 0u);
  std::printf("[ %s: %llu points, %llu images ]\n", plan.name,
              static_cast<unsigned long long>(totals.points),
              static_cast<unsigned long long>(totals.images));
}

TYPED_TEST(FurCrash, EveryEventOfAFewSchedules) {
  expect_no_violation<TypeParam>(plan("default", {}), 6, 1, 3);
}

TYPED_TEST(FurCrash, ManySchedulesSampledEvents) {
  expect_no_violation<TypeParam>(plan("default", {}), 150, 37, 2);
}

TYPED_TEST(FurCrash, WithoutBackgroundReplay) {
  expect_no_violation<TypeParam>(plan("no background", {{"background", "0"}}), 60, 23, 2);
}

TYPED_TEST(FurCrash, LockPathOnly) {
  expect_no_violation<TypeParam>(plan("lock only", {{"retries", "0"}}), 60, 23, 2);
}

TYPED_TEST(FurCrash, LockPathBesideHardwareTransactions) {
  expect_no_violation<TypeParam>(plan("one retry", {{"retries", "1"}}), 100, 23, 2);
}

TYPED_TEST(FurCrash, RoomForManyTransactionsThatAreNotReplayed) {
  Plan p = plan("roomy", {{"log_bytes", "2048"}, {"markers", "32"}});
  p.turns = 5;
  p.before = 1;
  p.reads = 0.1;
  expect_no_violation<TypeParam>(p, 150, 37, 2);
}

TYPED_TEST(FurCrash, ReadModifyWriteDoesNotOrderWriteBacks) {
  Plan p = plan("weak read-modify-write, long lines", {});
  p.sim.rmw_orders_pwb = false;
  p.sim.line_bytes = 128;
  expect_no_violation<TypeParam>(p, 100, 23, 2);
}

TYPED_TEST(FurCrash, CachesInsideThePersistenceDomain) {
  Plan p = plan("eadr", {});
  p.sim.domain = Domain::eadr;
  expect_no_violation<TypeParam>(p, 60, 23, 0);
}

/// The printed order of time stamps must be caught, else the tests above prove nothing.
TYPED_TEST(FurCrash, TimestampsAsPrintedLoseData) {
  Plan p = plan("as printed", {{"timestamps", "as_printed"}, {"background", "0"}});
  p.reads = 0.6;
  Totals totals;
  for (uint64_t seed = 1; seed <= 400 && totals.violations == 0; ++seed) {
    explore<TypeParam>(p, seed, 11, 2, totals);
  }
  EXPECT_GT(totals.violations, 0u);
  std::printf("[ %llu points, %llu images: %s ]\n", static_cast<unsigned long long>(totals.points),
              static_cast<unsigned long long>(totals.images), totals.first.c_str());
}

}  // namespace
}  // namespace holdfast::fur_test
