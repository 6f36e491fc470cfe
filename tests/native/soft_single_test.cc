// SPDX-License-Identifier: Apache-2.0
//
// Does one thread's software transaction behave like a hardware transaction? soft_conflict_test has
// two threads.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "holdfast/machine/native/htm/soft_htm.h"
#include "tests/careless.h"

namespace holdfast::native::soft_single_test {
namespace {

/// Line-aligned memory, and the transactions of one thread.
class SoftSingle : public testing::Test {
 protected:
  static constexpr size_t kLines = 64;
  struct alignas(kLineBytes) Line {
    uint64_t word[8] = {};
  };

  AbortCause run(SoftThread& t, Tracking tracking, const std::function<void()>& body) {
    EXPECT_EQ(t.begin(tracking), AbortCause::none);
    try {
      body();
      t.commit();
      return AbortCause::none;
    } catch (const HtmAbort&) {
      return t.caught();
    }
  }

  std::vector<Line> memory_ = std::vector<Line>(kLines);
  uint64_t* x_ = &memory_[0].word[0];
  uint64_t* y_ = &memory_[1].word[3];
  SoftShared shared_{2, {.store_lines = 8, .load_lines = 16}};
  SoftThread t_{shared_, 0};
  SoftThread other_{shared_, 1};
};

class SoftSingleBoth : public SoftSingle, public testing::WithParamInterface<Tracking> {};

TEST_P(SoftSingleBoth, StoresAreVisibleInsideAtOnceAndOutsideAfterCommit) {
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  t_.store(y_, uint64_t{2});
  EXPECT_EQ(t_.load(x_), 1u);
  EXPECT_EQ(t_.load(y_), 2u);
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(*y_, 0u);
  t_.commit();
  EXPECT_FALSE(t_.open());
  EXPECT_EQ(*x_, 1u);
  EXPECT_EQ(*y_, 2u);
}

TEST_P(SoftSingleBoth, BytesOfOneWordAreMerged) {
  memory_[0].word[0] = 0x1111111111111111;
  auto* bytes = reinterpret_cast<uint8_t*>(x_);
  auto* halves = reinterpret_cast<uint16_t*>(x_);
  t_.begin(GetParam());
  t_.store(bytes + 1, uint8_t{0x22});
  t_.store(halves + 3, uint16_t{0x3333});
  EXPECT_EQ(t_.load(x_), 0x3333111111112211u);
  EXPECT_EQ(t_.load(bytes + 1), 0x22);
  EXPECT_EQ(t_.load(bytes), 0x11);
  EXPECT_EQ(t_.load(reinterpret_cast<uint32_t*>(x_) + 1), 0x33331111u);
  t_.commit();
  EXPECT_EQ(*x_, 0x3333111111112211u);
}

// Compares every offset and length within three lines with a plain array.
TEST_P(SoftSingleBoth, RangesOfAnyOffsetAndLength) {
  auto* bytes = reinterpret_cast<uint8_t*>(memory_.data());
  std::vector<uint8_t> model(3 * kLineBytes);
  uint8_t next = 1;
  for (size_t offset = 0; offset < kLineBytes + 3; ++offset) {
    for (const size_t n : {1u, 2u, 3u, 5u, 8u, 13u, 63u, 64u, 65u, 100u}) {
      std::vector<uint8_t> values(n);
      std::iota(values.begin(), values.end(), next++);
      std::memcpy(model.data() + offset, values.data(), n);
      t_.begin(GetParam());
      t_.store_range(bytes + offset, values.data(), n);
      std::vector<uint8_t> inside(model.size());
      t_.load_range(inside.data(), bytes, inside.size());
      ASSERT_EQ(inside, model) << "offset " << offset << " length " << n;
      t_.commit();
      ASSERT_EQ(std::memcmp(bytes, model.data(), model.size()), 0)
          << "offset " << offset << " length " << n;
      std::vector<uint8_t> outside(model.size());
      t_.outside_load_range(outside.data(), bytes, outside.size());
      ASSERT_EQ(outside, model);
    }
  }
}

TEST_P(SoftSingleBoth, AbortDropsTheStores) {
  const auto cause = run(t_, GetParam(), [&] {
    t_.store(x_, uint64_t{1});
    t_.abort(AbortCode::alias);
  });
  EXPECT_EQ(cause, AbortCause::explicit_abort);
  EXPECT_EQ(t_.caught_code(), AbortCode::alias);
  EXPECT_FALSE(t_.open());
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(run(t_, GetParam(), [&] { t_.store(x_, uint64_t{2}); }), AbortCause::none);
  EXPECT_EQ(*x_, 2u);
}

TEST_P(SoftSingleBoth, CancelDropsTheStoresWithoutThrowing) {
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  t_.cancel();
  EXPECT_FALSE(t_.open());
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(other_.outside_load(x_), 0u);
  EXPECT_EQ(run(other_, GetParam(), [&] { other_.store(x_, uint64_t{2}); }), AbortCause::none);
}

TEST_P(SoftSingleBoth, BetweenThrowAndCaughtStoresAreDroppedAndLoadsRaw) {
  *x_ = 7;
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  EXPECT_THROW(t_.abort(AbortCode::none), HtmAbort);
  EXPECT_TRUE(t_.open());
  EXPECT_TRUE(t_.doomed());
  t_.store(x_, uint64_t{2});
  EXPECT_EQ(t_.load(x_), 7u);
  EXPECT_EQ(t_.caught(), AbortCause::explicit_abort);
  EXPECT_EQ(*x_, 7u);
}

TEST_P(SoftSingleBoth, ASwallowedAbortIsThrownAgainAtCommit) {
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  careless([this] { t_.abort(AbortCode::none); });
  t_.store(y_, uint64_t{2});
  t_.suspend();
  EXPECT_THROW(t_.resume(), HtmAbort);
  EXPECT_THROW(t_.commit(), HtmAbort);
  EXPECT_EQ(t_.caught(), AbortCause::explicit_abort);
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(*y_, 0u);
}

TEST_P(SoftSingleBoth, StoreCapacityIsCountedInLines) {
  const auto store_lines = [&](size_t n) {
    return run(t_, GetParam(), [&] {
      for (size_t round = 0; round < 3; ++round) {
        for (size_t i = 0; i < n; ++i) {
          t_.store(&memory_[i].word[round], uint64_t{1});
        }
      }
    });
  };
  EXPECT_EQ(store_lines(8), AbortCause::none);
  EXPECT_EQ(store_lines(9), AbortCause::capacity);
}

TEST_P(SoftSingleBoth, SuspendedLoadsReturnOwnStores) {
  memory_[0].word[1] = 5;
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  t_.suspend();
  EXPECT_TRUE(t_.open());
  EXPECT_EQ(t_.load(x_), 1u);
  EXPECT_EQ(t_.load(&memory_[0].word[1]), 5u);  // in the same line, but not stored to
  uint64_t range[2];
  t_.load_range(range, x_, sizeof(range));
  EXPECT_EQ(range[0], 1u);
  EXPECT_EQ(range[1], 5u);
  t_.resume();
  EXPECT_EQ(*x_, 0u);
  t_.commit();
  EXPECT_EQ(*x_, 1u);
}

TEST_P(SoftSingleBoth, SuspendedStoresArePlain) {
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  t_.suspend();
  t_.store(y_, uint64_t{2});
  EXPECT_EQ(*y_, 2u);
  t_.resume();
  EXPECT_THROW(t_.abort(AbortCode::none), HtmAbort);
  t_.caught();
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(*y_, 2u);  // not rolled back
}

TEST_P(SoftSingleBoth, SuspendedStoreToAnOwnLineDooms) {
  t_.begin(GetParam());
  t_.store(x_, uint64_t{1});
  t_.suspend();
  t_.store(&memory_[0].word[1], uint64_t{9});
  EXPECT_TRUE(t_.doomed());
  EXPECT_EQ(memory_[0].word[1], 9u);
  EXPECT_THROW(t_.resume(), HtmAbort);
  EXPECT_EQ(t_.caught(), AbortCause::conflict);
  EXPECT_EQ(*x_, 0u);
  EXPECT_EQ(memory_[0].word[1], 9u);
}

// Two lines with one entry in the ownership table are owned, and released, together.
TEST_P(SoftSingleBoth, LinesThatShareAnEntry) {
  const size_t apart = SoftTable::kEntries * kLineBytes;
  std::vector<std::byte> large(apart + 2 * kLineBytes);
  auto* a = reinterpret_cast<uint64_t*>((reinterpret_cast<uintptr_t>(large.data()) + kLineBytes) /
                                        kLineBytes * kLineBytes);
  auto* b = a + apart / sizeof(uint64_t);
  ASSERT_EQ(SoftTable::index(line_of(a)), SoftTable::index(line_of(b)));
  EXPECT_EQ(run(t_, GetParam(),
                [&] {
                  EXPECT_EQ(t_.load(b), 0u);
                  t_.store(a, uint64_t{1});
                  EXPECT_EQ(t_.load(b), 0u);
                  t_.store(b, uint64_t{2});
                  EXPECT_EQ(t_.load(a), 1u);
                  EXPECT_EQ(t_.load(b), 2u);
                }),
            AbortCause::none);
  EXPECT_EQ(*a, 1u);
  EXPECT_EQ(*b, 2u);
  EXPECT_EQ(run(other_, GetParam(), [&] { other_.store(b, uint64_t{3}); }), AbortCause::none);
  EXPECT_EQ(*b, 3u);
}

TEST_P(SoftSingleBoth, ATransactionWithoutStoresDoesNotMoveTheClock) {
  const uint64_t before = shared_.clock.load();
  EXPECT_EQ(run(t_, GetParam(), [&] { EXPECT_EQ(t_.load(x_), 0u); }), AbortCause::none);
  EXPECT_EQ(shared_.clock.load(), before);
  EXPECT_EQ(run(t_, GetParam(), [&] { t_.store(x_, uint64_t{1}); }), AbortCause::none);
  EXPECT_EQ(shared_.clock.load(), before + 1);
}

TEST_P(SoftSingleBoth, LargeWriteSets) {
  SoftShared shared(1, {});
  SoftThread t(shared, 0);
  constexpr size_t kMany = 5000;
  std::vector<Line> many(kMany);
  t.begin(GetParam());
  for (size_t i = 0; i < kMany; ++i) {
    t.store(&many[i].word[i % 8], i + 1);
  }
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(t.load(&many[i].word[i % 8]), i + 1);
    ASSERT_EQ(many[i].word[i % 8], 0u);
  }
  t.commit();
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(many[i].word[i % 8], i + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Tracking, SoftSingleBoth, testing::Values(Tracking::all, Tracking::stores),
                         [](const auto& i) { return i.param == Tracking::all ? "All" : "Stores"; });

TEST_F(SoftSingle, LoadCapacityIsCountedInLinesWhenTracked) {
  const auto load_lines = [&](Tracking tracking, size_t n) {
    return run(t_, tracking, [&] {
      for (size_t round = 0; round < 8; ++round) {
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(t_.load(&memory_[i].word[round]), 0u);
        }
      }
    });
  };
  EXPECT_EQ(load_lines(Tracking::all, 16), AbortCause::none);
  EXPECT_EQ(load_lines(Tracking::all, 17), AbortCause::capacity);
  EXPECT_EQ(load_lines(Tracking::stores, 64), AbortCause::none);
}

// A structure of eight bytes may cross a line's end; the transaction then treats it as two pieces.
TEST_F(SoftSingle, RangesWithoutAlignment) {
  using Four = std::array<uint16_t, 4>;
  void* const across = reinterpret_cast<std::byte*>(&memory_[1]) - 4;
  const Four stored{1, 2, 3, 4};
  Four loaded{};
  EXPECT_EQ(run(t_, Tracking::all,
                [&] {
                  t_.store_range(across, stored.data(), sizeof stored);
                  t_.load_range(loaded.data(), across, sizeof loaded);
                  EXPECT_EQ(loaded, stored);
                }),
            AbortCause::none);
  loaded = {};
  t_.outside_load_range(loaded.data(), across, sizeof loaded);
  EXPECT_EQ(loaded, stored);
}

}  // namespace
}  // namespace holdfast::native::soft_single_test
