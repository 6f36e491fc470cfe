// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page says, and does recovery leave no entry that counts later?
#include "holdfast/engines/ptl2/ptl2.h"

#include <gtest/gtest.h>

#include <cstring>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::ptl2_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
using Heap = EngineFixture<Ptl2<SimMachine>>;

EngineFixtureShape shape(const char* batch) {
  return {.options = {{"log_bytes", "4096"}, {"batch", batch}}, .max_threads = 2};
}

SimOptions two_threads() {
  SimOptions o;
  o.threads = 2;
  return o;
}

PersistCounters cost(const char* batch, size_t n) {
  SimMachine machine(two_threads());
  Heap heap(machine, shape(batch));
  heap.format().check();
  heap.recover().check();
  const PersistCounters before = machine.counters();
  heap.engine().update([&] {
    for (size_t i = 0; i < n; ++i) {
      heap.set(2 * i, 1 + i);
    }
  });
  return machine.counters() - before;
}

/// For each word an entry of half a line and the word itself; then the state of the log.
TEST(Ptl2Cost, CountsTheBytesThatItWrites) {
  for (const char* batch : {"0", "1"}) {
    SimMachine machine(two_threads());
    Heap heap(machine, shape(batch));
    heap.format().check();
    heap.recover().check();
    for (uint64_t updates = 1; updates <= 3; ++updates) {
      heap.engine().update([&] {
        for (size_t i = 0; i < 5; ++i) {
          heap.set(2 * i, updates);
        }
      });
      EXPECT_EQ(heap.engine().statistics().bytes_written, updates * (5 * (32 + 8) + 8));
    }
  }
}

/// cc-HTM, section 5: an entry is written with a fence, for each write.
TEST(Ptl2Cost, AFenceForEachWordAndTwoMore) {
  for (size_t n = 1; n <= 20; ++n) {
    const PersistCounters c = cost("0", n);
    EXPECT_EQ(c.pfence, n + 1);
    EXPECT_EQ(c.psync, 1u);
    EXPECT_EQ(c.pwb, (2 * n + kLineWords - 1) / kLineWords + 1) << "the changed lines, the epoch";
  }
}

TEST(Ptl2Cost, ThreeFencesForABatch) {
  for (size_t n = 1; n <= 20; ++n) {
    const PersistCounters c = cost("1", n);
    EXPECT_EQ(c.pfence, 2u);
    EXPECT_EQ(c.psync, 1u);
  }
}

/// The state before persist event `event` of an update that stores 5 to three words, with
/// every store that may have reached the medium.
SimImage cut_off(const char* batch, uint64_t event) {
  SimMachine machine(two_threads());
  Heap heap(machine, shape(batch));
  heap.format().check();
  heap.recover().check();
  SimImage image;
  const uint64_t first = machine.persist_events();
  machine.before_persist_event([&](uint64_t now) {
    if (now == first + event) {
      image = machine.latest_image();
    }
  });
  machine.run_threads(1, [&](int) {
    heap.engine().update([&] {
      for (size_t i = 0; i < 3; ++i) {
        heap.set(i * kLineWords, 5);
      }
    });
  });
  machine.before_persist_event({});
  EXPECT_FALSE(image.empty());
  return image;
}

/// A trap: the crash leaves entries of an update that has changed nothing. Recovery must make them
/// void, because another thread's update changes the words before the next crash.
TEST(Ptl2Recovery, EntriesOfACrashDoNotCountAtTheNextOne) {
  for (const char* batch : {"0", "1"}) {
    for (uint64_t event = 0; event < 20; ++event) {
      const SimImage first = cut_off(batch, event);
      SimImage second;
      {
        SimMachine machine(two_threads(), first);
        Heap heap(machine, shape(batch));
        heap.recover().check();
        machine.run_threads(2, [&](int worker) {
          if (worker == 1) {  // on another slot, hence in another log
            heap.write(0, 7);
            heap.write(kLineWords, 7);
            heap.write(2 * kLineWords, 7);
          }
        });
        second = machine.earliest_image();
      }
      SimMachine machine(two_threads(), second);
      Heap heap(machine, shape(batch));
      heap.recover().check();
      EXPECT_EQ(heap.report().transactions, 0u);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(heap.read(i * kLineWords), 7u) << "batch " << batch << ", event " << event;
      }
    }
  }
}

/// In a batch, an entry may be whole although the one before is torn. That is no damage.
TEST(Ptl2Recovery, ATornBatchIsNoDamage) {
  // Behind the words of the three entries and their fence, before any new value.
  const SimImage image = cut_off("1", 13);
  SimMachine machine(two_threads(), image);
  Heap heap(machine, shape("1"));
  // The second entry of the log of the slot that ran the update.
  int torn = 0;
  for (int slot = 0; slot < 4; ++slot) {
    auto* const entry = reinterpret_cast<uint64_t*>(
        heap.regions().area + kPageBytes + static_cast<size_t>(slot) * (4096 + kLineBytes) +
        kLineBytes + 32);
    if (SimMachine::load(entry + 1) == sizeof(uint64_t)) {
      SimMachine::store(entry + 2, uint64_t{0});
      ++torn;
    }
  }
  ASSERT_EQ(torn, 1);
  heap.recover().check();
  EXPECT_EQ(heap.report().transactions, 1u) << "the entry before the torn one";
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(heap.read(i * kLineWords), 0u);
  }
}

/// A page, then a log for each thread, the main and the background thread included: whole lines,
/// and one for the state.
TEST(Ptl2Area, HasALogForEachThread) {
  for (const char* log_bytes : {"1000", "1024"}) {
    const auto area = ptl2::Area::parse({{"log_bytes", log_bytes}}, 4).value();
    EXPECT_EQ(area.log_bytes, 1024 + kLineBytes);
    EXPECT_EQ(area.slots, 6);
    EXPECT_EQ(area.bytes(), kPageBytes + 6 * (1024 + kLineBytes));
    EXPECT_EQ(ptl2::area_bytes({{"log_bytes", log_bytes}}, 4).value(), area.bytes());
  }
  EXPECT_EQ(ptl2::Area::parse({}, 4).value().log_bytes, (2u << 20) + kLineBytes);
  EXPECT_FALSE(ptl2::Area::parse({}, 4).value().batch);
  EXPECT_TRUE(ptl2::Area::parse({{"batch", "1"}}, 4).value().batch);
}

/// An area of other options is not the heap's.
TEST(Ptl2Area, OfAnotherShapeIsRefused) {
  const SimImage image = [] {
    SimMachine machine(two_threads());
    Heap heap(machine, shape("0"));
    heap.format().check();
    return machine.latest_image();
  }();
  for (const char* batch : {"0", "1"}) {
    SimMachine machine(two_threads(), image);
    Heap heap(machine, shape(batch));
    EXPECT_EQ(heap.recover().ok(), batch[0] == '0');
  }
}

}  // namespace
}  // namespace holdfast::ptl2_test
