// SPDX-License-Identifier: Apache-2.0
// Does the order of the clocks agree with the order of commits while stores wait in the store
// buffer? The paper's claim 1 forgets them. The schedule is fixed, because three threads must stop
// at certain instructions:
//
//   writer   stores to x, reads the clock, and stops before its commit
//   reader   loads the old x, stores to y, reads the clock, commits, and stops
//   writer   commits; then it begins a long transaction
//   reader   goes on: its transaction has ended after the long one began
//
// The reader comes before the writer, and must not be lost if the writer survives.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "holdfast/engines/cc_htm/cc_htm.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::late_store_test {
namespace {

/// Calls a function behind each commit.
struct DirectedHtm : SimMachine::HtmThread {
  DirectedHtm(const SimMachine::HtmThread& base, std::function<void()>& hook)
      : SimMachine::HtmThread(base), committed(hook) {}
  void commit() {
    SimMachine::HtmThread::commit();
    committed();
  }
  std::function<void()>& committed;
};

/// Calls a function behind each commit, and behind each look at the clock.
struct DirectedMachine : SimMachine {
  using HtmThread = DirectedHtm;

  explicit DirectedMachine(const SimOptions& options) : SimMachine(options) {
    for (int slot = 0; slot < slots(); ++slot) {
      directed.push_back(std::make_unique<DirectedHtm>(SimMachine::htm(slot), committed));
    }
  }
  DirectedHtm& htm(int slot) { return *directed[static_cast<size_t>(slot)]; }
  uint64_t now() {
    const uint64_t time = SimMachine::now();
    clock_read();
    return time;
  }

  std::function<void()> committed = [] {};
  std::function<void()> clock_read = [] {};
  std::vector<std::unique_ptr<DirectedHtm>> directed;
};

constexpr size_t kX = 0;
constexpr size_t kY = 8;
constexpr size_t kLong = 16;
constexpr int kWriter = 2;  ///< its slot: the main and the background thread have the first ones
constexpr int kReader = 3;

EngineFixtureShape shape_of(const char* printed) {
  return {.options = {{"printed", printed},
                      {"lag", "8"},
                      {"log_bytes", "2048"},
                      {"alias_bytes", "4096"},
                      {"patience_us", "1000000000"}},
          .bytes = kPageBytes,
          .max_threads = 2};
}

/// A thread runs until it waits, and its stores stay in its buffer until a fence.
SimOptions machine_options() {
  SimOptions o;
  o.threads = 2;
  o.switch_probability = 0;
  o.drain_probability = 0;
  return o;
}

/// Returns the medium after a power failure in the long transaction.
SimImage run(const char* printed) {
  DirectedMachine machine(machine_options());
  EngineFixture<CcHtm<DirectedMachine>> heap(machine, shape_of(printed));
  heap.format().check();
  heap.recover().check();
  SimImage image;
  // Variables of the host: accesses to them are no steps of the simulated threads.
  enum Stage { begun, writer_stopped, reader_stopped, long_begun, failed };
  Stage stage = begun;
  const auto await = [&](Stage wanted) {
    while (stage < wanted) {
      machine.pause();
    }
  };
  machine.clock_read = [&] {
    if (machine.self() == kWriter && stage == begun) {
      stage = writer_stopped;
      await(reader_stopped);
    }
  };
  machine.committed = [&] {
    if (machine.self() == kReader && stage == writer_stopped) {
      stage = reader_stopped;
      while (stage < long_begun) {
        machine.heavy_fence();  // the background thread's stores become visible as well
        machine.pause();
      }
    }
  };
  machine.run_threads(2, [&](int) {
    if (machine.self() == kWriter) {
      heap.write(kX, 1);
      heap.engine().update([&] {
        heap.set(kLong, 1);
        stage = std::max(stage, long_begun);
        await(failed);
      });
      return;
    }
    await(writer_stopped);
    heap.engine().update([&] { heap.set(kY, 10 + heap.get(kX)); });
    machine.fence();  // the background thread sees that the transaction is red
    for (int i = 0; i < 1000; ++i) {
      machine.pause();  // the background thread retires what it can
    }
    image = machine.earliest_image();
    stage = failed;
  });
  EXPECT_EQ(heap.read(kX), 1u);
  EXPECT_EQ(heap.read(kY), 10u) << "the reader has loaded the old x";
  return image;
}

/// Returns x and y as recovery finds them.
std::pair<uint64_t, uint64_t> recovered(const SimImage& image) {
  SimMachine machine(machine_options(), image);
  EngineFixture<CcHtm<SimMachine>> heap(machine, shape_of("none"));
  heap.recover().check();
  return {heap.read(kX), heap.read(kY)};
}

TEST(CcHtmLateStore, AsPrintedAnEarlierTransactionIsLost) {
  EXPECT_EQ(recovered(run("late_store")), (std::pair<uint64_t, uint64_t>{1, 0}));
}

TEST(CcHtmLateStore, TheFenceBeforeTheClockPreventsIt) {
  const auto [x, y] = recovered(run("none"));
  EXPECT_TRUE(x == 0 || y == 10) << x << " " << y;
}

}  // namespace
}  // namespace holdfast::late_store_test
