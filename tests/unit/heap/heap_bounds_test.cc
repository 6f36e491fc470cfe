// SPDX-License-Identifier: Apache-2.0
//
// HeapBounds accepts exactly the aligned addresses whose objects lie between the heap's header and
// its end. The fast check is coarser than that, so the addresses around its limits are tested.
#include "holdfast/heap/heap_bounds.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/unit/heap/small_heap.h"

namespace holdfast::heap_bounds_test {
namespace {

struct Object {
  uint64_t word[8];
};

class Bounds : public SmallHeap {
 protected:
  /// Returns whether n bytes at p pass the check, in a transaction of its own. The first one of a
  /// heap does not know the heap's size yet.
  bool accepts(const std::byte* p, size_t n) {
    return heap_->read([&] { HeapBounds<H>().check(reinterpret_cast<const Object*>(p), n); }).ok();
  }

  std::byte* const begin_ = begin();
  std::byte* const end_ = end();
};

TEST_F(Bounds, AcceptObjectsUpToTheEndExactly) {
  constexpr size_t kHeader = sizeof(DataHeader<H::Engine>);
  for (const size_t n : {8, 64, 512, 1016, 1024, 1032, 4096}) {
    EXPECT_TRUE(accepts(begin_ + kHeader, n)) << n;
    EXPECT_FALSE(accepts(begin_ + kHeader - 8, n)) << n;
    for (size_t words = 0; words < 600; ++words) {
      const std::byte* const p = end_ - 8 * words;
      ASSERT_EQ(accepts(p, n), n <= 8 * words) << n << " bytes at -" << 8 * words;
      ASSERT_FALSE(accepts(p + 4, n)) << "misaligned";
    }
    for (const uintptr_t wild : {uintptr_t{0}, uintptr_t{8}, ~uintptr_t{7}, uintptr_t{1} << 63}) {
      EXPECT_FALSE(accepts(reinterpret_cast<std::byte*>(wild), n)) << wild;
    }
    EXPECT_FALSE(accepts(begin_ - 4096, n));
    EXPECT_FALSE(accepts(end_ + 4096, n));
  }
}

TEST_F(Bounds, KnowHowMuchIsBehindAnObject) {
  heap_
      ->read([&] {
        const auto* last = reinterpret_cast<const Object*>(end_ - 4096);
        const HeapBounds<H> early;  // made before the heap's size is known
        early.check(last);
        for (const HeapBounds<H>& bounds : {early, HeapBounds<H>()}) {
          EXPECT_TRUE(bounds.has_behind(last, 4096 - sizeof(Object)));
          EXPECT_FALSE(bounds.has_behind(last, 4096 - sizeof(Object) + 1));
          EXPECT_FALSE(bounds.has_behind(last, UINT64_MAX));
        }
      })
      .check();
}

}  // namespace
}  // namespace holdfast::heap_bounds_test
