// SPDX-License-Identifier: Apache-2.0
// Does a design that aborts transactions in conflict isolate them, so that engine hw needs no lock?
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "holdfast/engines/hw/hw.h"
#include "holdfast/hardware/hercules/hercules.h"
#include "holdfast/heap/heap.h"
#include "holdfast/runner/crash/crash.h"
#include "tests/unit/engines/engine_fixture.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::hw_isolated_test {
namespace {

using Engine = Hardware<SimMachine>;
constexpr int kThreads = 3;

HerculesOptions isolating() {
  HerculesOptions o;
  o.isolate = true;
  return o;
}

/// A planted bug: the design forgets what transactions have loaded.
class Forgetful final : public Hercules {
 public:
  using Hercules::Hercules;
  void loaded(const DesignTransaction& /*tx*/, DesignLine /*line*/, Time /*now*/) override {}
};

/// Bare words of an engine without locks. The machines have two hardware threads on a core.
class HwIsolated : public testing::Test {
 protected:
  template <class Design>
  void start(const MachineDescription& machine, const char* lock = "hardware") {
    heap_.reset();
    machine_.reset();
    machine_ =
        std::make_unique<SimMachine>(options_for<Design>(machine, Domain::eadr, isolating()));
    heap_ = std::make_unique<EngineFixture<Engine>>(
        *machine_, EngineFixtureShape{.options = {{"lock", lock}}, .bytes = kPageBytes});
    heap_->format().check();
  }

  /// How often two words that only ever change together were seen to differ.
  int torn_pairs() {
    int torn = 0;
    machine_->run_threads(kThreads, [&](int worker) {
      for (int i = 0; i < 20; ++i) {
        if (worker == 0) {
          heap_->engine().update([&] {
            heap_->set(0, heap_->get(0) + 1);
            machine_->work(50);
            heap_->set(64, heap_->get(64) + 1);
          });
        } else {
          uint64_t first = 0;
          uint64_t second = 0;
          heap_->engine().read([&] {
            first = heap_->get(0);
            machine_->work(30);
            second = heap_->get(64);
          });
          torn += first != second ? 1 : 0;
        }
      }
    });
    return torn;
  }

  /// Two threads each take a flag of their own, unless the other one's is taken. Returns how often
  /// both had theirs.
  int both_taken() {
    int both = 0;
    bool taken[2] = {};
    machine_->run_threads(2, [&](int worker) {
      const size_t own = 64 * static_cast<size_t>(worker);
      const size_t other = 64 - own;
      for (int i = 0; i < 40; ++i) {
        bool mine = false;
        heap_->engine().update([&] {
          mine = heap_->get(other) == 0;
          machine_->work(40);
          heap_->set(own, mine ? 1 : 0);
        });
        taken[worker] = mine;
        both += mine && taken[1 - worker] ? 1 : 0;
        machine_->work(500);
        machine_->fence();  // lets the other thread run until then
        taken[worker] = false;
        heap_->engine().update([&] { heap_->set(own, 0); });
      }
    });
    return both;
  }

  uint64_t conflicts() const {
    return heap_->engine().statistics().aborts[static_cast<size_t>(AbortCause::conflict)];
  }

  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<EngineFixture<Engine>> heap_;
};

TEST_F(HwIsolated, CountersLoseNothing) {
  for (const MachineDescription& machine : {roomy(), tiny()}) {
    start<Hercules>(machine);
    machine_->run_threads(kThreads, [&](int) {
      for (int i = 0; i < 30; ++i) {
        heap_->engine().update([&] {
          for (size_t line = 0; line < 4; ++line) {
            heap_->set(8 * line, heap_->get(8 * line) + 1);
          }
        });
      }
    });
    for (size_t line = 0; line < 4; ++line) {
      EXPECT_EQ(heap_->read(8 * line), 30u * kThreads);
    }
    EXPECT_GT(conflicts(), 0u);
  }
}

TEST_F(HwIsolated, ReadersSeeOneInstant) {
  start<Hercules>(roomy());
  EXPECT_EQ(torn_pairs(), 0);
  EXPECT_GT(conflicts(), 0u);
  start<Forgetful>(roomy());
  EXPECT_GT(torn_pairs(), 0) << "the test cannot see what it asks for";
}

TEST_F(HwIsolated, NoTwoTransactionsDecideByWhatTheOtherOneChanges) {
  start<Hercules>(roomy());
  EXPECT_EQ(both_taken(), 0);
  EXPECT_GT(conflicts(), 0u);
  start<Forgetful>(roomy());
  EXPECT_GT(both_taken(), 0) << "the test cannot see what it asks for";
}

TEST_F(HwIsolated, ABodyThatFailsLeavesNothing) {
  start<Hercules>(roomy());
  machine_->run_threads(1, [&](int) {
    EXPECT_THROW(heap_->engine().update([&] {
      heap_->set(0, 1);
      throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    EXPECT_THROW(heap_->engine().read([&] {
      static_cast<void>(heap_->get(0));
      throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    heap_->engine().update([&] { heap_->set(8, 2); });
  });
  EXPECT_EQ(heap_->read(0), 0u);
  EXPECT_EQ(heap_->read(8), 2u);
}

TEST_F(HwIsolated, TransactionsOfDifferentLinesOverlap) {
  const auto apart = [&](const char* lock) {
    start<Hercules>(roomy(), lock);
    const uint64_t before = machine_->now();
    machine_->run_threads(kThreads, [&](int worker) {
      const auto own = 64 * static_cast<size_t>(worker + 1);
      for (int i = 0; i < 10; ++i) {
        heap_->engine().update([&] {
          heap_->set(own, heap_->get(own) + 1);
          machine_->work(1000);
        });
      }
    });
    return machine_->now() - before;
  };
  const uint64_t global = apart("global");
  EXPECT_LT(apart("hardware"), global / 2);
  EXPECT_EQ(conflicts(), 0u);
}

TEST_F(HwIsolated, ADesignThatDoesNotIsolateIsRefused) {
  SimOptions o = options(roomy(), "tc");
  SimMachine machine(o);
  EngineFixture<Engine> heap(
      machine, EngineFixtureShape{.options = {{"lock", "hardware"}}, .bytes = kPageBytes});
  const Status status = heap.format();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("isolates transactions"), std::string::npos)
      << status.to_string();
}

TEST(HwIsolatedCrash, SearchesFindNothing) {
  const Json report = crash({{"engine", "hw"},
                             {"design", "hercules"},
                             {"design_options", {{"isolate", "1"}}},
                             {"options", {{"lock", "hardware"}}},
                             {"machine", "tiny"},
                             {"domain", "eadr"},
                             {"schedules", 12},
                             {"points", 20},
                             {"images", 2},
                             {"params", {{"transactions", "4"}}},
                             {"minimise", false}},
                            [](double, const std::string&) {})
                          .value();
  EXPECT_TRUE(report["violations"].empty()) << report["violations"].dump(2);
  EXPECT_GT(report["coverage"]["points"].get<int>(), 100);
}

}  // namespace
}  // namespace holdfast::design_test::hw_isolated_test
