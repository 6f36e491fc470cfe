// SPDX-License-Identifier: Apache-2.0
// Does each transaction leave a link to the next one?
#include <gtest/gtest.h>

#include "holdfast/engines/spht/spht.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::spht_links_test {
namespace {

TEST(SphtLinks, EveryTransactionOfAThreadLinksItsSuccessor) {
  SimOptions options;
  options.threads = 2;
  SimMachine machine(options);
  EngineFixtureShape shape;
  shape.options = {{"background", "0"}, {"log_bytes", "4096"}};
  shape.max_threads = 2;
  EngineFixture<Spht<SimMachine>> heap(machine, shape);
  heap.format().check();
  heap.recover().check();
  const int slot = machine.self();
  for (uint64_t i = 1; i <= 5; ++i) {
    heap.write(0, i);
  }
  const PhtArea area(PhtOptions::parse(shape.options).value(), 2);
  const LinkedLogArea<SimMachine> logs{
      {heap.regions().area + area.log_offset, area.log_bytes, area.logs}, 2};
  uint64_t at = 0;
  for (int i = 1; i <= 5; ++i) {
    const auto record = present(logs.record(slot, at));
    const auto link = LogLink::decode(logs.link(record));
    EXPECT_EQ(link.has_value(), i < 5);
    if (link) {
      EXPECT_EQ(link->thread, slot);
      EXPECT_EQ(link->start, record.end());
    }
    at = record.end();
  }
}

}  // namespace
}  // namespace holdfast::spht_links_test
