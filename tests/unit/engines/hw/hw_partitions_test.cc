// SPDX-License-Identifier: Apache-2.0
// Do engine hw's locks let transactions of different partitions and readers run beside each other,
// does no commit hold up a thread without locks, and is a broken promise noticed?
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "holdfast/engines/hw/hw.h"
#include "holdfast/heap/heap.h"
#include "holdfast/runner/crash/crash.h"
#include "holdfast/runner/sim/sim_run.h"
#include "tests/unit/engines/engine_fixture.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::hw_partitions_test {
namespace {

using Engine = Hardware<SimMachine>;
constexpr int kPartitions = 4;

/// A design without guarantees whose commits take `latency` picoseconds in the store buffer.
class SlowCommit final : public HardwareDesign {
 public:
  explicit SlowCommit(Time latency) : latency_(latency) {}
  Time commit(const DesignTransaction& tx, Time now) override {
    if (asked_ != tx.id) {
      asked_ = tx.id;
      ready_ = now + latency_;
    }
    return std::max(ready_, now);
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  Time latency_;
  Time ready_ = 0;
  uint64_t asked_ = 0;
};

/// Bare words of an engine with four partitions. Partition p has line p.
class HwPartitions : public testing::Test {
 protected:
  void start(const std::string& lock, Time commit_latency = 0, const char* wait = "1") {
    heap_.reset();
    machine_.reset();
    SimOptions o = options(roomy(), "");
    o.make_design = [=] { return std::make_unique<SlowCommit>(commit_latency); };
    machine_ = std::make_unique<SimMachine>(o);
    heap_ = std::make_unique<EngineFixture<Engine>>(
        *machine_,
        EngineFixtureShape{.options = {{"lock", lock}, {"wait", wait}}, .bytes = kPageBytes});
    heap_->engine().have_partitions(kPartitions);
    heap_->format().check();
  }

  /// The time in picoseconds that the threads take.
  template <class F>
  uint64_t time_of(int threads, F&& f) {
    const uint64_t before = machine_->now();
    machine_->run_threads(threads, f);
    return machine_->now() - before;
  }

  /// An update of the partitions that takes 1000 cycles.
  Status update(Partitions partitions, size_t word) {
    return status_of([&] {
      heap_->engine().update(partitions, [&] {
        heap_->set(word, heap_->get(word) + 1);
        machine_->work(1000);
        heap_->set(word, heap_->get(word) + 1);
      });
    });
  }
  Status read(Partitions partitions) {
    return status_of([&] {
      heap_->engine().read(partitions, [&] {
        static_cast<void>(heap_->get(0));
        machine_->work(1000);
      });
    });
  }
  template <class F>
  static Status status_of(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.status();
    }
    return {};
  }

  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<EngineFixture<Engine>> heap_;
};

TEST_F(HwPartitions, UpdatesOfDifferentPartitionsOverlap) {
  const auto two_threads = [&](const char* lock, bool apart) {
    start(lock);
    return time_of(2, [&](int worker) {
      for (int i = 0; i < 10; ++i) {
        update({apart ? worker : 1}, 8 * static_cast<size_t>(apart ? worker : 1)).check();
      }
    });
  };
  const uint64_t one_after_the_other = two_threads("global", true);
  EXPECT_GT(one_after_the_other, 20u * 1000 * 1000);
  EXPECT_GT(two_threads("partition", false), 20u * 1000 * 1000);
  EXPECT_LT(two_threads("partition", true), one_after_the_other * 6 / 10);
  EXPECT_LT(two_threads("none", true), one_after_the_other * 6 / 10);
}

TEST_F(HwPartitions, TransactionsOfSeveralPartitionsExcludeThoseOfEach) {
  start("partition");
  // Each thread needs the partitions of the others, in another order.
  const std::vector<Partitions> needs = {{0, 1}, {2, 1}, {2, 0}};
  const uint64_t took = time_of(3, [&](int worker) {
    for (int i = 0; i < 10; ++i) {
      update(needs[static_cast<size_t>(worker)], 24).check();
    }
  });
  EXPECT_GT(took, 30u * 1000 * 1000);
  EXPECT_EQ(heap_->read(24), 60u);
  // A transaction that names none needs all.
  const uint64_t mixed = time_of(2, [&](int worker) {
    for (int i = 0; i < 10; ++i) {
      update(worker == 0 ? Partitions::all() : Partitions({3}), 24).check();
    }
  });
  EXPECT_GT(mixed, 20u * 1000 * 1000);
  EXPECT_EQ(heap_->read(24), 100u);
}

TEST_F(HwPartitions, ReadersRunBesideEachOtherAndNotBesideWriters) {
  for (const char* lock : {"global", "partition", "none"}) {
    start(lock);
    const uint64_t readers = time_of(3, [&](int) {
      for (int i = 0; i < 10; ++i) {
        read(Partitions::all()).check();
      }
    });
    EXPECT_LT(readers, 14u * 1000 * 1000) << lock;
  }
  for (const char* lock : {"global", "partition"}) {
    start(lock);
    int torn = 0;
    machine_->run_threads(3, [&](int worker) {
      for (int i = 0; i < 10; ++i) {
        if (worker == 0) {
          update({0}, 0).check();
        } else {
          heap_->engine().read(worker == 1 ? Partitions({0}) : Partitions::all(), [&] {
            const uint64_t before = heap_->get(0);
            machine_->work(700);
            torn += before % 2 != 0 || heap_->get(0) != before ? 1 : 0;
          });
        }
      }
    });
    EXPECT_EQ(torn, 0) << lock;
    EXPECT_EQ(heap_->read(0), 20u);
  }
}

TEST_F(HwPartitions, WithoutLocksAThreadDoesNotWaitForItsCommits) {
  constexpr Time kLatency = 300'000;  // 300 cycles of the machine
  const auto small_transactions = [&](const char* lock, Time latency) {
    start(lock, latency, "0");
    return time_of(1, [&](int) {
      for (int i = 0; i < 50; ++i) {
        heap_->engine().update(Partitions({0}), [&] { heap_->set(0, heap_->get(0) + 1); });
        machine_->work(500);  // the program's own, longer than a commit
      }
    });
  };
  const uint64_t at_once = small_transactions("none", 0);
  const uint64_t without = small_transactions("none", kLatency);
  const uint64_t global = small_transactions("global", kLatency);
  EXPECT_LT(without, at_once + 2 * kLatency) << "only the last commit may be waited for";
  EXPECT_GE(global, without);
}

TEST_F(HwPartitions, ALockWaitsForTheCommitBefore) {
  // Without work between them, each lock is taken behind the commit before. Without locks they
  // queue in the store buffer.
  constexpr Time kLatency = 300'000;
  const auto back_to_back = [&](const char* lock) {
    start(lock, kLatency, "0");
    return time_of(1, [&](int) {
      for (int i = 0; i < 50; ++i) {
        heap_->engine().update(Partitions({0}), [&] {
          heap_->set(0, heap_->get(0) + 1);
          machine_->work(300);
        });
      }
    });
  };
  const uint64_t global = back_to_back("global");
  EXPECT_GT(global, 50u * (kLatency + 300'000));
  EXPECT_LT(back_to_back("none"), global * 6 / 10);
}

TEST_F(HwPartitions, SharedPartitionsWithoutLocksAreMisuse) {
  struct Case {
    Partitions first, second;
    bool misuse;
  };
  const std::vector<Case> cases = {{{0}, {0}, true},
                                   {{0, 2}, {1, 2}, true},
                                   {Partitions::all(), Partitions::all(), true},
                                   {Partitions::all(), {3}, true},
                                   {{0}, {1}, false},
                                   {{0, 2}, {1, 3}, false}};
  for (const Case& c : cases) {
    start("none");
    int refused = 0;
    uint64_t done[2] = {};
    machine_->run_threads(2, [&](int worker) {
      for (int i = 0; i < 10; ++i) {
        const size_t word = 8 * static_cast<size_t>(worker);
        const Status status = update(worker == 0 ? c.first : c.second, word);
        done[worker] += status.ok() ? 2 : 0;
        if (!status.ok()) {
          ++refused;
          EXPECT_EQ(status.code(), Code::misuse);
          EXPECT_NE(status.message().find("lock=partition"), std::string::npos);
        }
      }
    });
    EXPECT_EQ(refused > 0, c.misuse);
    EXPECT_EQ(heap_->read(0), done[0]) << "a refused update leaves no trace";
    EXPECT_EQ(heap_->read(8), done[1]);
  }
}

// An update of the whole heap looks for others before it takes its own word. One that takes a
// partition between the two must not escape, whichever of the two ends first.
TEST_F(HwPartitions, UpdatesThatBeginTogetherWithoutLocksDoNotBothCommit) {
  for (const bool whole_ends_first : {false, true}) {
    start("none");
    update(Partitions::all(), 24).check();  // by the main thread, which no later one is
    Status status[2];
    machine_->run_threads(2, [&](int worker) {
      status[worker] = status_of([&] {
        heap_->engine().update(worker == 0 ? Partitions::all() : Partitions({1}), [&] {
          heap_->set(8 * static_cast<size_t>(worker), 1);
          machine_->work((worker == 0) == whole_ends_first ? 500 : 2000);
        });
      });
    });
    EXPECT_FALSE(status[0].ok() && status[1].ok()) << whole_ends_first;
  }
}

TEST_F(HwPartitions, AReaderWithoutLocksNoticesAnUpdate) {
  start("none");
  int refused = 0;
  machine_->run_threads(2, [&](int worker) {
    for (int i = 0; i < 10; ++i) {
      if (worker == 0) {
        update({1}, 8).check();
      } else if (const Status status = read({0, 1}); !status.ok()) {
        EXPECT_EQ(status.code(), Code::misuse);
        ++refused;
      }
    }
  });
  EXPECT_GT(refused, 5);
}

TEST_F(HwPartitions, WithoutLocksAPartitionGoesFromThreadToThread) {
  start("none");
  update({0}, 0).check();  // by the main thread
  for (int round = 0; round < 3; ++round) {
    machine_->run_threads(3, [&](int worker) {
      const int partition = (worker + round) % 3;
      for (int i = 0; i < 5; ++i) {
        update({partition}, 8 * static_cast<size_t>(partition)).check();
      }
    });
    update(Partitions::all(), 24).check();
    read(Partitions::all()).check();
  }
  EXPECT_EQ(heap_->read(0), 32u);
}

TEST_F(HwPartitions, AnUnknownLockIsRefused) {
  const auto area = Engine::area_bytes({{"lock", "some"}}, 1);
  ASSERT_FALSE(area.ok());
  EXPECT_EQ(area.status().code(), Code::invalid_argument);
  EXPECT_NE(area.status().message().find("partition"), std::string::npos);
}

// ---- workloads

double throughput(int threads, const std::map<std::string, std::string>& parameters,
                  const std::string& lock) {
  SessionSpec spec;
  spec.engine = "hw";
  spec.options = {{"lock", lock}, {"wait", "0"}};
  spec.workload = "array-swap";
  spec.parameters = {{"entries", "1024"}};
  spec.parameters.insert(parameters.begin(), parameters.end());
  spec.threads = threads;
  spec.domain = Domain::eadr;  // as the machine
  spec.bytes = 32 << 20;
  SimPlan plan;
  plan.cache = "off";
  plan.schedule = Schedule::timed;
  plan.machine = std::make_shared<MachineDescription>(
      load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/gem5-hercules.toml").value());
  plan.design = volatile_design();
  plan.measured.transactions = 600;
  plan.warm_up.transactions = 100;
  const SimRun run = run_simulated(spec, plan);
  EXPECT_TRUE(run.check.ok()) << run.check.to_string();
  return static_cast<double>(run.operations) / run.simulated_seconds;
}

TEST(HwScaling, TwoThreadsOnPartitionsScale) {
  const std::map<std::string, std::string> copies = {{"copies", "2"}};
  for (const char* lock : {"partition", "none"}) {
    EXPECT_GE(throughput(2, copies, lock) / throughput(1, copies, lock), 1.8) << lock;
  }
  EXPECT_LT(throughput(2, copies, "global") / throughput(1, copies, "global"), 1.2)
      << "one lock does not scale";
}

// The lines of a partition, and of its lock, go from core to core here.
TEST(HwScaling, ThreadsThatShareManyPartitionsRunBesideEachOther) {
  const std::map<std::string, std::string> shared = {{"partitions", "24"}};
  EXPECT_GT(throughput(2, shared, "partition"), 1.3 * throughput(2, shared, "global"));
}

TEST(HwScaling, PartitionsThatThreadsShareNeedALock) {
  EXPECT_THROW(throughput(2, {{"partitions", "2"}}, "none"), Error);
}

// ---- crash searches

void expect_clean(const Json& more) {
  Json spec = {{"engine", "hw"},    {"machine", "tiny"}, {"design", durable_design()},
               {"minimise", false}, {"schedules", 3},    {"points", 30},
               {"images", 4}};
  spec.update(more);
  const Json report = crash(spec, [](double, const std::string&) {}).value();
  EXPECT_TRUE(report["violations"].empty()) << more << report["violations"];
  EXPECT_GT(report["coverage"]["judged"].get<uint64_t>(), 20u);
}

const std::vector<Json> kSearches = {
    {{"options", {{"lock", "partition"}}}},
    {{"options", {{"lock", "partition"}}},
     {"workload", "map"},
     {"params", {{"partitions", "2"}, {"transactions", "4"}}}},
    {{"options", {{"lock", "partition"}}},
     {"workload", "linked-list"},
     {"params", {{"copies", "3"}, {"transactions", "4"}}}},
    {{"options", {{"lock", "none"}}},
     {"workload", "linked-list"},
     {"params", {{"copies", "3"}, {"transactions", "4"}}}},
    {{"options", {{"lock", "none"}}},
     {"workload", "hash-table"},
     {"params", {{"copies", "3"}, {"transactions", "3"}, {"structure", "growing"}}}}};

TEST(HwSearch, CrashesWithLocksAndPartitionsAreHarmless) {
  for (const Json& more : kSearches) {
    expect_clean(more);
  }
}

TEST(HwSearch, LongCrashesWithLocksAndPartitions) {
  for (Json more : kSearches) {
    more["schedules"] = 300;
    expect_clean(more);
  }
}

}  // namespace
}  // namespace holdfast::design_test::hw_partitions_test
