// SPDX-License-Identifier: Apache-2.0
//
// Does a walk over a cache's tags show each line that it holds, and no other?
#include "holdfast/machine/sim/caches/cache_array.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "holdfast/machine/sim/caches/last_level_array.h"

namespace holdfast::sim::cache_array_test {
namespace {

constexpr size_t kWays = 3;

template <class Array>
class CacheWalk : public testing::Test {
 protected:
  static std::multiset<uint32_t> walk(Array& cache) {
    std::multiset<uint32_t> lines;
    cache.for_each([&](const CacheArray::Way& way) { lines.insert(way.line()); });
    return lines;
  }
};

using Arrays = testing::Types<CacheArray, LastLevelArray>;
TYPED_TEST_SUITE(CacheWalk, Arrays);

/// One line alone in each set, the first and the last one too, of caches of many sizes.
TYPED_TEST(CacheWalk, ShowsALineInAnySet) {
  for (const size_t sets : {1, 2, 63, 64, 65, 127, 128, 129, 200}) {
    for (uint32_t line = 0; line < sets; ++line) {
      std::vector<CacheArray::Way> storage(sets * kWays);
      TypeParam cache(sets, kWays, storage.data());
      EXPECT_TRUE(this->walk(cache).empty());
      cache.insert(line, 1);
      EXPECT_EQ(this->walk(cache), std::multiset<uint32_t>{line}) << sets << " sets";
    }
  }
}

TYPED_TEST(CacheWalk, ShowsWhatIsLeftOnce) {
  constexpr uint32_t kSets = 130;
  std::vector<CacheArray::Way> storage(kSets * kWays);
  TypeParam cache(kSets, kWays, storage.data());
  std::multiset<uint32_t> held;
  for (uint32_t line = 0; line < 5 * kSets; line += 2) {
    const uint32_t displaced = cache.insert(line, 1).line();
    held.insert(line);
    if (displaced != CacheArray::kNoLine) {
      held.erase(displaced);
    }
  }
  for (uint32_t line = 0; line < 5 * kSets; line += 12) {
    held.erase(line);
    cache.remove(line);
  }
  EXPECT_EQ(this->walk(cache), held);
}

}  // namespace
}  // namespace holdfast::sim::cache_array_test
