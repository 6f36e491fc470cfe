// SPDX-License-Identifier: Apache-2.0
// Do engines take their lock exactly on the described machines whose hardware transactions do not
// serve them, and are their updates durable all the same?
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::timed_htm_test {
namespace {

using engine_rows_test::row_of;
using engine_rows_test::RowHeap;

SimOptions machine_like(const std::string& name) {
  const std::string path = HOLDFAST_SOURCE_DIR "/experiments/machines/" + name + ".toml";
  SimOptions options;
  options.machine = std::make_shared<MachineDescription>(load_machine(path).value());
  options.line_bytes = options.machine->line_bytes;
  options.schedule = Schedule::timed;
  options.threads = 4;
  return options;
}

class TimedHtmEngine : public testing::TestWithParam<std::string> {};

TEST_P(TimedHtmEngine, TakesTheLockWhereTheHardwareDoesNotServeIt) {
  const EngineRow<SimMachine>& row = row_of(GetParam());
  const Options engine_options = with_tiny(*row.description, {});
  for (const char* name : {"power9", "sapphire-rapids", "skylake-c5"}) {
    SCOPED_TRACE(name);
    const SimOptions options = machine_like(name);
    SimImage image;
    {
      SimMachine machine(options);
      RowHeap heap(machine, row, engine_options, options.threads);
      heap.engine().format().check();
      heap.recover().check();
      machine.run_threads(4, [&](int) {
        for (int k = 0; k < 25; ++k) {
          heap.engine().update([&] { heap.set(0, heap.get(0) + 1); });
        }
      });
      const bool serves = row.uses_hardware(machine.htm_capabilities());
      EXPECT_EQ(machine.statistics().htm_begins != 0, serves);
      if (!serves) {
        EXPECT_EQ(heap.engine().statistics().lock_fallbacks, 100u);
      }
      image = machine.earliest_image();
    }
    if (is_durable(*row.description)) {
      SimMachine after(options, image);
      RowHeap heap(after, row, engine_options, options.threads);
      heap.recover().check();
      EXPECT_EQ(heap.read(0), 100u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, TimedHtmEngine,
                         testing::ValuesIn(names_of(engine_rows<SimMachine>(),
                                                    [](const auto& row) {
                                                      return row.description->needs_htm;
                                                    })),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::timed_htm_test
