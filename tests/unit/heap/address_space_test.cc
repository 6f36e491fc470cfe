// SPDX-License-Identifier: Apache-2.0
//
// Does a heap that is left give back all of its address space, with each layout? A machine
// may have other heaps afterwards.
#include <gtest/gtest.h>

#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::address_space_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

class AddressSpace : public ::testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const {
    return *EngineFactory<H::Engine>::describe(GetParam()).value();
  }
};
INSTANTIATE_TEST_SUITE_P(
    Engines, AddressSpace,
    ::testing::ValuesIn(first_of_each(engine_rows<SimMachine>(),
                                      names_of(engine_rows<SimMachine>(),
                                               [](const auto& row) {
                                                 return is_durable(*row.description) &&
                                                        !row.description->needs_design;
                                               }),
                                      [](const Description& d) { return d.layout; })),
    [](const auto& instance) { return test_name(instance.param); });

TEST_P(AddressSpace, IsFreeAgainWhenTheHeapIsLeft) {
  SimMachine machine({.threads = 1, .domain = usual_domain(engine())});
  CreateOptions create;
  create.engine = GetParam();
  create.bytes = 256 << 10;
  create.options = known_options(engine(), {{"log_bytes", "16384"}, {"markers", "1024"}});
  auto& medium = machine.medium();
  size_t all = 0;
  for (size_t bytes = size_t{1} << 40; bytes >= kPageBytes; bytes /= 2) {
    all += medium.base_candidate(0, all + bytes) != nullptr ? bytes : 0;
  }
  const auto is_free = [&] {
    const auto taken = medium.reserve(all, medium.base_candidate(0, all));
    if (taken.ok()) {
      medium.unmap(taken.value(), all);
    }
    return taken.ok();
  };
  ASSERT_TRUE(is_free());
  {
    const auto heap = H::create(machine, create).value();
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  H::open(machine).value().reset();
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace holdfast::address_space_test
