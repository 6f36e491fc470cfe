// SPDX-License-Identifier: Apache-2.0
// Does the log of stores restore exactly the bytes stored after a mark?
#include "holdfast/engines/parts/isolation/combining/store_log.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

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

TEST(StoreLogTest, CopiesAndListsWhatWasStored) {
  const SimMachine machine;
  StoreLog<SimMachine> log;
  alignas(8) std::array<std::byte, 256> data{};
  const auto store = [&](uint64_t offset, uint64_t n) {
    log.append_range(data.data(), offset, n);
    std::memset(&data[offset], static_cast<int>(offset + 1), n);
  };
  store(8, 8);
  store(17, 3);
  const LogMark mark = log.end();
  EXPECT_EQ(mark.entries, 2u);
  EXPECT_EQ(mark.bytes, 11u);
  store(43, 21);
  store(100, 8);  // not a word
  log.remember_words(data.data());
  alignas(8) std::array<std::byte, 256> copy{};
  log.copy(copy.data(), data.data());
  EXPECT_EQ(copy, data);
  const auto listed = [&](const LogMark& from) {
    std::vector<std::pair<uint64_t, uint64_t>> stores;
    log.for_each(from, [&](uint64_t offset, uint64_t n) { stores.emplace_back(offset, n); });
    return stores;
  };
  using Stores = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(listed(mark), (Stores{{43, 21}, {100, 8}}));
  EXPECT_EQ(listed({}), (Stores{{8, 8}, {17, 3}, {43, 21}, {100, 8}}));
  log.truncate(mark);
  EXPECT_EQ(listed({}), (Stores{{8, 8}, {17, 3}}));
  log.release();
  EXPECT_EQ(listed({}), Stores());
  EXPECT_EQ(log.bytes(), 0u);
  store(0, 4);
  EXPECT_EQ(log.bytes(), 4u);
}

}  // namespace
}  // namespace holdfast::store_log_test
