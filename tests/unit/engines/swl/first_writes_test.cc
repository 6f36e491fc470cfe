// SPDX-License-Identifier: Apache-2.0
// Does the filter of first writes stay right if its table cannot grow?
#include "holdfast/engines/swl/first_writes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "tests/machine_without_memory.h"

namespace holdfast::swl_first_writes_test {
namespace {

using Offsets = swl::OffsetSet<MachineWithoutMemory>;

TEST(SwlOffsetSet, WithoutMemoryForItsFirstTableItStaysEmpty) {
  MachineWithoutMemory machine;
  Offsets offsets(machine);
  machine.allowed = 0;
  EXPECT_THROW(offsets.add(8), std::bad_alloc);
  offsets.clear();
  EXPECT_THROW(offsets.add(8), std::bad_alloc);
  machine.allowed = 1;
  EXPECT_TRUE(offsets.add(8));
  EXPECT_FALSE(offsets.add(8));
}

TEST(SwlOffsetSet, WithoutMemoryForALargerTableItKeepsTheOldOne) {
  MachineWithoutMemory machine;
  Offsets offsets(machine);
  machine.allowed = 1;
  uint64_t known = 0;
  const auto fill = [&] {
    for (;; ++known) {
      EXPECT_TRUE(offsets.add(8 * known));
    }
  };
  EXPECT_THROW(fill(), std::bad_alloc);
  for (int i = 0; i < 2; ++i) {  // no slot beyond the table is touched
    EXPECT_THROW(offsets.add(8 * known), std::bad_alloc);
  }
  machine.allowed = 1;
  EXPECT_TRUE(offsets.add(8 * known));
  for (uint64_t i = 0; i <= known; ++i) {
    EXPECT_FALSE(offsets.add(8 * i)) << i;
  }
}

}  // namespace
}  // namespace holdfast::swl_first_writes_test
