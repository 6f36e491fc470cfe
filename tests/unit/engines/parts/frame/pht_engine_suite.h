// SPDX-License-Identifier: Apache-2.0
//
// Do engines of the frame for plain hardware transactions keep its rules, apart from crashes? A
// suite that each of them instantiates in its own folder.
#pragma once

#include "tests/unit/engines/parts/isolation/htm/htm_engine_fixture.h"

namespace holdfast::pht_suite {

template <class E>
class PhtEngine : public HtmEngineTest<E> {};
TYPED_TEST_SUITE_P(PhtEngine);

/// Whether read-only transactions run outside of hardware transactions. Opaque engines may.
template <class E>
inline constexpr bool kReadsOutside = E::kDescription.isolation == Isolation::snapshot;

TYPED_TEST_P(PhtEngine, PersistsPerUpdateWhatItsPageSays) {
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
        // A linked record has a link, and a fence before the marker that covers it.
        const bool linked = this->has("order");
        const size_t lines = (16 * n + (linked ? 32 : 24) + line - 1) / line;
        const bool durable = this->kDurable;
        EXPECT_EQ(c.psync, 0u);
        EXPECT_EQ(c.pwb, durable ? lines + 1 : 0) << n << " words, lines of " << line;
        EXPECT_EQ(c.pfence, !durable ? 0u : !linked || lines == 1 ? 2u : 3u) << n;
      }
      this->stop();
    }
  }
}

TYPED_TEST_P(PhtEngine, ReadersAndUpdatesThatStoreNothingPersistNothing) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}});
    heap.write(5, 1);
    const PersistCounters c = this->counted([&] {
      EXPECT_EQ(heap.read(5), 1u);
      heap.engine().update([&] { heap.get(3); });
    });
    EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
    EXPECT_EQ(heap.engine().statistics().update_commits, 2u);
    EXPECT_EQ(heap.engine().statistics().read_commits, 1u);
    this->stop();
  }
}

TYPED_TEST_P(PhtEngine, TheFirstCapacityAbortMayEndTheAttempts) {
  SimOptions sim;
  sim.htm_store_lines = 4;
  auto& heap = this->start({{"capacity", "lock"}}, sim);
  heap.engine().update([&] {
    for (size_t i = 0; i < 9; ++i) {
      heap.set(i * kLineWords, 5);
    }
  });
  EXPECT_EQ(heap.read(8 * kLineWords), 5u);
  const Statistics s = heap.engine().statistics();
  EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::capacity)], 1u);
  EXPECT_EQ(s.lock_fallbacks, 1u);
}

TYPED_TEST_P(PhtEngine, OnlyReadersOutsideOfHardwareReadWithoutLimit) {
  SimOptions sim;
  sim.htm_load_lines = 4;
  auto& heap = this->start({}, sim);
  const auto body = [&] {
    for (size_t i = 0; i < 9; ++i) {
      heap.get(i * kLineWords);
    }
  };
  heap.engine().read(body);
  heap.engine().update(body);
  const uint64_t limited = (this->kSnapshot ? 0 : 1) + (kReadsOutside<TypeParam> ? 0 : 1);
  const Statistics s = heap.engine().statistics();
  EXPECT_EQ(s.lock_fallbacks, limited);
  EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::capacity)], 10 * limited);
}

TYPED_TEST_P(PhtEngine, ATransactionSeesOneState) {
  constexpr const char* kRetries[] = {"0", "1", "10"};
  for (uint64_t seed = 1; seed <= 240; ++seed) {
    SimOptions sim;
    sim.threads = 4;
    sim.seed = seed;
    sim.switch_probability = seed % 2 == 0 ? 0.3 : 0.05;
    auto& heap = this->start({{"retries", kRetries[seed % 3]}}, sim);
    bool torn = false;
    const auto look = [&](bool& differ) {
      uint64_t seen[4] = {};
      for (size_t k = 0; k < 4; ++k) {
        seen[k] = heap.get(k * kLineWords);
      }
      // Kept if the transaction commits, and even if it does not.
      differ = differ || seen[0] != seen[1] || seen[1] != seen[2] || seen[2] != seen[3];
      return seen[0];
    };
    this->machine().run_threads(4, [&](int w) {
      for (uint64_t i = 0; i < 10; ++i) {
        if (w < 2) {
          heap.engine().update([&] {
            const uint64_t next = look(torn) + 1;
            for (size_t k = 0; k < 4; ++k) {
              heap.set(k * kLineWords, next);
            }
          });
        } else {
          heap.engine().read([&] { look(torn); });
        }
      }
    });
    EXPECT_FALSE(torn) << "seed " << seed;
    EXPECT_EQ(heap.read(0), 20u) << "seed " << seed;
    this->stop();
  }
}

REGISTER_TYPED_TEST_SUITE_P(PhtEngine, PersistsPerUpdateWhatItsPageSays,
                            ReadersAndUpdatesThatStoreNothingPersistNothing,
                            TheFirstCapacityAbortMayEndTheAttempts,
                            OnlyReadersOutsideOfHardwareReadWithoutLimit, ATransactionSeesOneState);

}  // namespace holdfast::pht_suite
