// SPDX-License-Identifier: Apache-2.0
// Does a hardware transaction find every page of the alias table in memory?
#include "holdfast/engines/cc_htm/alias_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "holdfast/machine/native/htm/native_htm.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/rtm_stand_in.h"
#include "tests/native/test_file.h"

namespace holdfast::alias_table_test {
namespace {

constexpr uint64_t kBytes = uint64_t{4} << 20;

/// Returns how many pages of a table of kBytes are in memory, and the number of all.
std::pair<size_t, size_t> resident(HtmBackend backend) {
  const RtmStandIn stand_in;
  const NativeTestFile file;
  NativeOptions options;
  options.create = true;
  options.domain = Domain::process;
  options.htm_backend = backend;
  options.htm_unproven = true;
  const auto machine = NativeMachine::open(file.path(), options).value();
  const cc_htm::AliasTable<NativeMachine> table(*machine, kBytes, 2);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there(table.count() * sizeof(*table.entries()) / page);
  auto* const begin = const_cast<void*>(static_cast<const void*>(table.entries()));
  EXPECT_EQ(mincore(begin, there.size() * page, there.data()), 0);
  const auto count = std::count_if(there.begin(), there.end(), [](auto t) { return (t & 1) != 0; });
  return {static_cast<size_t>(count), there.size()};
}

TEST(AliasTable, IsTouchedBeforeHardwareUsesIt) {
  if (native::hardware::kBackend == HtmBackend::soft) {
    GTEST_SKIP() << "processors of this kind have no hardware transactions";
  }
  const auto [there, all] = resident(native::hardware::kBackend);
  EXPECT_EQ(there, all);
}

TEST(AliasTable, TakesLittleMemoryInSoftware) {
  const auto [there, all] = resident(HtmBackend::soft);
  EXPECT_LT(there, all / 2);
}

}  // namespace
}  // namespace holdfast::alias_table_test
