// SPDX-License-Identifier: Apache-2.0
// Do the writes by cause add up to what the medium's controller has seen?
#include <numeric>

#include "tests/unit/hardware/design_sweep.h"
#include "tests/unit/hardware/features/undo_log.h"

namespace holdfast::design_test::causes_test {
namespace {

uint64_t sum(const DesignCounters& counters) {
  return std::accumulate(counters.by_cause.begin(), counters.by_cause.end(), uint64_t{0});
}

uint64_t reads(const DesignCounters& counters) {
  return std::accumulate(counters.reads_by_cause.begin(), counters.reads_by_cause.end(),
                         uint64_t{0});
}

TEST(DesignCauses, TheyAddUpToTheControllersWrites) {
  MachineDescription machine = tiny();
  machine.medium.write_queue = 16;
  machine.medium.drain_low = 0.5;
  for (const bool cancels : {false, true}) {
    SimImage image;
    {
      DesignMachine m(options_for<UndoLog>(machine, Domain::pmem, UndoBug::none, cancels));
      m->run_threads(2, [&](int worker) {
        for (uint64_t i = 1; i < 20; ++i) {
          m.transaction(40 * static_cast<size_t>(worker), 12, i);
          m.get(i);
        }
        m->tx_start();
        m.set(1 + 40 * static_cast<size_t>(worker), 99);
        m->tx_abort();
        m->tx_start();
        m.set(2 + 40 * static_cast<size_t>(worker), 99);
        m->fence();
      });
      const DesignCounters counters = m->design_counters();
      const sim::MemoryCounters medium = m->medium_counters();
      EXPECT_EQ(sum(counters), medium.writes);
      EXPECT_EQ(medium.writes, m->statistics().medium_writes);
      EXPECT_EQ(counters.by_cause[static_cast<size_t>(Cause::write_back)], counters.written_back);
      EXPECT_EQ(counters.by_cause[static_cast<size_t>(Cause::log)], counters.writes);
      EXPECT_EQ(counters.writes, 2 * counters.first_stores);
      EXPECT_EQ(medium.cancelled, counters.cancelled);
      EXPECT_EQ(counters.cancelled > 0, cancels);
      EXPECT_GT(medium.merged, 0u) << "of those that count";
      EXPECT_EQ(medium.reads, m->statistics().medium_reads);
      EXPECT_EQ(reads(counters) + m->statistics().table_reads, medium.reads);
      image = m->earliest_image();
    }
    DesignMachine m(options_for<UndoLog>(machine, Domain::pmem, UndoBug::none, cancels), image);
    EXPECT_EQ(m->design_recovery().discarded, 2u);
    EXPECT_EQ(m->design_counters().by_cause[static_cast<size_t>(Cause::recovery)], 2u);
    EXPECT_EQ(m->medium_counters().writes, 2u);
  }
}

}  // namespace
}  // namespace holdfast::design_test::causes_test
