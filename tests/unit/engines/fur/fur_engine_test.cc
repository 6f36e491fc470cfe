// SPDX-License-Identifier: Apache-2.0
// Does FUR keep its own rules, apart from crashes? (htm_engine_suite.h tests the shared ones.)
#include "holdfast/engines/fur/fur.h"
#include "tests/unit/engines/parts/durability/numbered_threads.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_fixture.h"

namespace holdfast::fur_engine_test {
namespace {

template <class E>
class FurEngine : public HtmEngineTest<E> {};
using Engines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>>;
TYPED_TEST_SUITE(FurEngine, Engines);

TYPED_TEST(FurEngine, TwoFencesPerUpdateAndLogLinesPlusOneWriteBacks) {
  for (const char* retries : {"10", "0"}) {
    for (const size_t line : {64u, 128u}) {
      SimOptions sim;
      sim.line_bytes = line;
      auto& heap = this->start({{"retries", retries}, {"log_bytes", "8192"}}, sim);
      for (size_t n = 1; n <= 20; ++n) {
        const PersistCounters c = this->counted([&] {
          heap.engine().update([&] {
            for (size_t i = 0; i < n; ++i) {
              heap.set(i * 3, n);
            }
          });
        });
        EXPECT_EQ(std::to_string(c.pfence), TypeParam::kDescription.fences);
        EXPECT_EQ(c.psync, 0u);
        EXPECT_EQ(c.fence, 1u) << "the announcement, or the lock";
        EXPECT_EQ(c.pwb, (16 * n + line - 1) / line + 1) << n << " words, lines of " << line;
      }
      this->stop();
    }
  }
}

TYPED_TEST(FurEngine, ReadersPersistNothing) {
  auto& heap = this->start();
  heap.write(5, 1);
  const PersistCounters c = this->counted([&] { EXPECT_EQ(heap.read(5), 1u); });
  EXPECT_EQ(c.pwb, 0u);
  EXPECT_EQ(c.pfence + c.psync, 0u);
  EXPECT_EQ(c.fence, 1u);
}

TYPED_TEST(FurEngine, AnUpdateThatStoresNothingPersistsNothing) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}});
    const PersistCounters c = this->counted([&] { heap.engine().update([&] { heap.get(3); }); });
    EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
    EXPECT_EQ(heap.engine().statistics().update_commits, 1u);
    this->stop();
  }
}

TYPED_TEST(FurEngine, StatisticsCountWhatHappened) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}});
    heap.write(1, 7);
    heap.engine().update([&] {
      heap.set(1, 8);
      heap.set(1, 9);  // logged once
    });
    for (int i = 0; i < 2; ++i) {
      heap.read(1);
      EXPECT_THROW(heap.engine().update([] { throw Refused(); }), Refused);
      EXPECT_THROW(heap.engine().read([] { throw Refused(); }), Refused);
    }
    const Statistics s = heap.engine().statistics();
    EXPECT_EQ(s.update_commits, 2u);
    EXPECT_EQ(s.read_commits, 2u);
    EXPECT_EQ(s.user_aborts, 4u);
    EXPECT_EQ(s.lock_fallbacks, std::string(retries) == "0" ? 4u : 0u);
    EXPECT_EQ(s.bytes_stored, 24u);
    EXPECT_EQ(s.bytes_written, 2u * (16 + 40));
    heap.engine().close().check();
    EXPECT_EQ(heap.engine().statistics().replayed, 2u);
    EXPECT_EQ(heap.engine().statistics().bytes_written, 2u * (16 + 40) + 16);
    this->stop();
  }
}

/// A marker of an abort would take the slot of another transaction.
TYPED_TEST(FurEngine, AnAttemptThatEndsBeforeItsNumberLeavesNoMarker) {
  SimOptions sim;
  sim.htm_store_lines = 6;
  auto& heap = this->start({}, sim);
  heap.write(1, 7);
  heap.engine().update([&] {
    for (size_t i = 0; i < 9; ++i) {
      heap.set((i + 1) * kLineWords, 5);
    }
  });
  const Statistics s = heap.engine().statistics();
  EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::capacity)], 10u);
  EXPECT_EQ(s.bytes_written, (16 + 40) + (9 * 16 + 40));
  heap.engine().close().check();
  EXPECT_EQ(SimMachine::load(reinterpret_cast<uint64_t*>(heap.regions().home) + 1), 7u);
}

/// Under the lock a full log ends a body, too, which then runs again. An exception of a later body
/// is the user's.
TYPED_TEST(FurEngine, ALogThatWasFullIsForgotten) {
  auto& heap = this->start({{"retries", "0"}, {"log_bytes", "1024"}});
  heap.write(0, 1);
  heap.engine().update([&] {
    for (size_t i = 0; i < 62; ++i) {
      heap.set(i, 2);
    }
  });
  EXPECT_EQ(heap.engine().statistics().lock_fallbacks, 3u) << "the log should have been full";
  int runs = 0;
  EXPECT_THROW(heap.engine().update([&] {
    heap.set(0, 3);
    if (++runs < 5) {
      throw Refused();
    }
  }),
               Refused);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(heap.read(0), 2u);
}

TYPED_TEST(FurEngine, AThreadWithoutALogIsAnError) {
  expect_threads_without_a_log_refused<TypeParam>(1024);
}

TYPED_TEST(FurEngine, AReadOnlyTransactionSeesOneState) {
  constexpr const char* kRetries[] = {"0", "1", "10"};
  for (uint64_t seed = 1; seed <= 240; ++seed) {
    SimOptions sim;
    sim.threads = 4;
    sim.seed = seed;
    sim.switch_probability = seed % 2 == 0 ? 0.3 : 0.05;
    auto& heap = this->start({{"retries", kRetries[seed % 3]}}, sim);
    bool torn = false;
    this->machine().run_threads(4, [&](int w) {
      for (uint64_t i = 0; i < 10; ++i) {
        if (w < 2) {
          heap.engine().update([&] {
            const uint64_t next = heap.get(0) + 1;
            for (size_t k = 0; k < 4; ++k) {
              heap.set(k * kLineWords, next);
            }
          });
        } else {
          uint64_t seen[4] = {};
          heap.engine().read([&] {
            for (size_t k = 0; k < 4; ++k) {
              seen[k] = heap.get(k * kLineWords);
            }
          });
          torn = torn || seen[0] != seen[1] || seen[1] != seen[2] || seen[2] != seen[3];
        }
      }
    });
    EXPECT_FALSE(torn) << "seed " << seed;
    EXPECT_EQ(heap.read(0), 20u) << "seed " << seed;
    this->stop();
  }
}

}  // namespace
}  // namespace holdfast::fur_engine_test
