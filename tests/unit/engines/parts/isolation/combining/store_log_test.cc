// SPDX-License-Identifier: Apache-2.0
// Does the log of stores restore exactly the bytes stored after a mark?
#include "holdfast/engines/parts/isolation/combining/store_log.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::store_log_test {
namespace {

/// Logs random stores of random lengths and undoes those after a mark.
TEST(StoreLogTest, RestoresExactlyWhatCameAfterTheMark) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const SimMachine machine;
    StoreLog<SimMachine> log;
    alignas(8) std::array<std::byte, 512> data{};
    const auto store = [&] {
      const uint64_t n = 1 + random.below(random.chance(0.5) ? 8 : 100);
      const uint64_t offset = random.below(data.size() - n + 1);
      log.append_range(data.data(), offset, n);
      for (uint64_t i = 0; i < n; ++i) {
        data[offset + i] = static_cast<std::byte>(random.next());
      }
      return n;
    };
    uint64_t before = 0;
    for (int i = 0; i < 10; ++i) {
      before += store();
    }
    const auto kept = data;
    const LogMark mark = log.end();
    for (int i = 0; i < 20; ++i) {
      store();
    }
    log.restore(mark, data.data());
    EXPECT_EQ(data, kept);
    log.truncate(mark);
    EXPECT_EQ(log.bytes(), before);
    log.restore({}, data.data());
    EXPECT_EQ(data, (std::array<std::byte, 512>{}));
  }
}

}  // namespace
}  // namespace holdfast::store_log_test
