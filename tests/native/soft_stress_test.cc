// SPDX-License-Identifier: Apache-2.0
//
// Does `soft` keep its contract when threads run concurrently? Each test has an invariant that
// holds in every legal execution. The tests also run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/native/htm/soft_htm.h"
#include "holdfast/machine/native/support/spin.h"
#include "holdfast/machine/native/threads/threads.h"

namespace holdfast::native::soft_stress_test {
namespace {

constexpr uint64_t kSeed = 20260101;

class SoftStress : public testing::TestWithParam<Tracking> {
 protected:
  static constexpr int kThreads = 4;
  struct alignas(kLineBytes) Line {
    uint64_t word[8] = {};
  };

  SoftStress() {
    for (int i = 0; i < kThreads; ++i) {
      threads_.push_back(std::make_unique<SoftThread>(shared_, i));
    }
    RecordProperty("seed", std::to_string(kSeed));
  }

  /// Repeats the body as a transaction until it commits.
  template <class F>
  uint64_t atomically(SoftThread& t, Tracking tracking, F&& body) {
    for (uint64_t aborts = 0;; ++aborts) {
      t.begin(tracking);
      try {
        body();
        t.commit();
        return aborts;
      } catch (const HtmAbort&) {
        t.caught();
        // Backs off for a growing time, so that some transaction commits.
        for (uint64_t i = 0; i < (aborts < 10 ? uint64_t{1} << aborts : 1024); ++i) {
          pause();
        }
        std::this_thread::yield();
      }
    }
  }

  /// Runs f on n threads, which start together. They are pinned, because some schedulers would run
  /// all of them on one processor.
  void run(int n, const std::function<void(int, SoftThread&)>& f) {
    std::atomic<int> ready{0};
    run_pinned(n, allowed_processors(), [&](int i) {
      Backoff backoff;
      for (++ready; ready != n;) {
        backoff.wait();
      }
      f(i, *threads_[static_cast<size_t>(i)]);
    });
  }

  /// Sometimes lets another thread run at this point, even on a single processor.
  static void maybe_yield(Random& random) {
    if (random.chance(0.02)) {
      std::this_thread::yield();
    }
  }

  std::vector<Line> memory_ = std::vector<Line>(64);
  SoftShared shared_{kThreads, {}};
  std::vector<std::unique_ptr<SoftThread>> threads_;
};

// One writer increments a word in each of several lines in one transaction. A reader loads them in
// one order, then again. A commit is visible at one instant if a reader that has seen it in one
// line sees it in every other line afterwards.
TEST_P(SoftStress, ACommitIsVisibleToPlainLoadsAtOneInstant) {
  constexpr size_t kLines = 8;
  constexpr uint64_t kCommits = 20000;
  std::atomic<bool> done{false};
  run(3, [&](int i, SoftThread& t) {
    Random random(kSeed + static_cast<uint64_t>(i));
    if (i == 0) {
      for (uint64_t n = 1; n <= kCommits; ++n) {
        atomically(t, GetParam(), [&] {
          for (size_t k = 0; k < kLines; ++k) {
            t.store(&memory_[k].word[k], n);
          }
          maybe_yield(random);
        });
      }
      done = true;
      return;
    }
    uint64_t seen = 0;
    while (!done) {
      const size_t k = random.below(kLines);
      const uint64_t value = t.outside_load(&memory_[k].word[k]);
      ASSERT_GE(value, seen) << "line " << k << ", seed " << kSeed;
      seen = value;
      maybe_yield(random);
    }
  });
  for (size_t k = 0; k < kLines; ++k) {
    EXPECT_EQ(memory_[k].word[k], kCommits);
  }
}

// Like the test above, with loads of a suspended transaction, and ranges.
TEST_P(SoftStress, ACommitIsVisibleToUntrackedLoadsAtOneInstant) {
  constexpr uint64_t kCommits = 20000;
  std::atomic<bool> done{false};
  run(2, [&](int i, SoftThread& t) {
    if (i == 0) {
      for (uint64_t n = 1; n <= kCommits; ++n) {
        atomically(t, GetParam(), [&] {
          t.store(&memory_[1].word[0], n);
          t.store(&memory_[0].word[0], n);
        });
      }
      done = true;
      return;
    }
    Random random(kSeed);
    while (!done) {
      uint64_t first = 0;
      uint64_t second = 0;
      atomically(t, Tracking::stores, [&] {
        t.store(&memory_[9].word[0], uint64_t{1});
        first = t.load(&memory_[0].word[0]);
        maybe_yield(random);
        t.suspend();
        t.load_range(&second, &memory_[1].word[0], sizeof(second));
        t.resume();
      });
      ASSERT_GE(second, first);
    }
  });
}

TEST_P(SoftStress, NoIncrementIsLost) {
  constexpr uint64_t kIncrements = 20000;
  run(kThreads, [&](int i, SoftThread& t) {
    Random random(kSeed + static_cast<uint64_t>(i));
    for (uint64_t n = 0; n < kIncrements; ++n) {
      uint64_t* counter = &memory_[random.below(4)].word[0];
      // A rollback-only transaction does not track loads. It stores to the line first, so that no
      // other transaction changes it.
      atomically(t, GetParam(), [&] {
        uint64_t* ticket = counter + 1;
        t.store(ticket, n);
        maybe_yield(random);
        t.store(counter, t.load(counter) + 1);
      });
    }
  });
  uint64_t sum = 0;
  for (const Line& line : memory_) {
    sum += line.word[0];
  }
  EXPECT_EQ(sum, kThreads * kIncrements) << "seed " << kSeed;
}

TEST_P(SoftStress, PlainStoresAndTransactionsToOneLineDoNotMix) {
  constexpr uint64_t kRounds = 20000;
  std::atomic<int> writers{2};
  run(3, [&](int i, SoftThread& t) {
    if (i == 0) {  // stores to both words, always equal values
      for (uint64_t n = 1; n <= kRounds; ++n) {
        atomically(t, GetParam(), [&] {
          t.store(&memory_[0].word[0], 2 * n);
          t.store(&memory_[0].word[1], 2 * n);
        });
      }
      --writers;
    } else if (i == 1) {
      for (uint64_t n = 1; n <= kRounds; ++n) {
        const uint64_t both[2] = {2 * n + 1, 2 * n + 1};
        t.outside_store_range(&memory_[0].word[0], both, sizeof(both));
      }
      --writers;
    } else {
      while (writers != 0) {
        uint64_t both[2];
        atomically(t, Tracking::all, [&] {
          both[0] = t.load(&memory_[0].word[0]);
          both[1] = t.load(&memory_[0].word[1]);
        });
        ASSERT_EQ(both[0], both[1]);
      }
    }
  });
  EXPECT_EQ(memory_[0].word[0], memory_[0].word[1]);
}

INSTANTIATE_TEST_SUITE_P(Tracking, SoftStress, testing::Values(Tracking::all, Tracking::stores),
                         [](const auto& i) { return i.param == Tracking::all ? "All" : "Stores"; });

class SoftOpacity : public SoftStress {};

// Transfers keep x + y constant. A tracked transaction must never see another sum, even if it will
// abort. So the check is inside the body.
TEST_F(SoftOpacity, TheInvariantHoldsInsideEveryTransaction) {
  constexpr uint64_t kSum = 1000;
  constexpr size_t kPairs = 4;
  constexpr int kRounds = 20000;
  for (size_t k = 0; k < kPairs; ++k) {
    memory_[2 * k].word[0] = kSum;
  }
  std::atomic<uint64_t> torn{0};
  run(kThreads, [&](int i, SoftThread& t) {
    Random random(kSeed + static_cast<uint64_t>(i));
    for (int n = 0; n < kRounds; ++n) {
      const size_t k = random.below(kPairs);
      uint64_t* x = &memory_[2 * k].word[0];
      uint64_t* y = &memory_[2 * k + 1].word[3];
      const uint64_t by = random.below(kSum);
      const bool only_look = random.chance(0.5);
      atomically(t, Tracking::all, [&] {
        const uint64_t have = t.load(x);
        maybe_yield(random);
        const uint64_t other = t.load(y);
        if (have + other != kSum) {
          ++torn;
        }
        if (!only_look) {
          const uint64_t moved = have < by ? have : by;
          t.store(x, have - moved);
          maybe_yield(random);
          t.store(y, other + moved);
          if (t.load(x) + t.load(y) != kSum) {
            ++torn;
          }
        }
      });
    }
  });
  EXPECT_EQ(torn, 0u) << "seed " << kSeed;
  for (size_t k = 0; k < kPairs; ++k) {
    EXPECT_EQ(memory_[2 * k].word[0] + memory_[2 * k + 1].word[3], kSum);
  }
}

// Each thread may set its own word only if the sum of all words is below a limit. Serializable
// transactions never exceed it.
TEST_F(SoftOpacity, WriteSkewIsPreventedUnderContention) {
  constexpr int kRounds = 10000;
  std::atomic<uint64_t> exceeded{0};
  run(3, [&](int i, SoftThread& t) {
    Random random(kSeed + static_cast<uint64_t>(i));
    uint64_t* mine = &memory_[static_cast<size_t>(i)].word[0];
    for (int n = 0; n < kRounds; ++n) {
      atomically(t, Tracking::all, [&] {
        uint64_t sum = 0;
        for (size_t k = 0; k < 3; ++k) {
          sum += t.load(&memory_[k].word[0]);
          maybe_yield(random);
        }
        if (sum > 1) {
          ++exceeded;
        }
        t.store(mine, sum == 0 ? uint64_t{1} : uint64_t{0});
      });
    }
  });
  EXPECT_EQ(exceeded, 0u);
}

}  // namespace
}  // namespace holdfast::native::soft_stress_test
