// SPDX-License-Identifier: Apache-2.0
//
// Do engines that run transactions in hardware keep their contract, apart from crashes? A suite
// that each of them instantiates in its own folder. (tests/crash asks about crashes.)
#pragma once

#include <vector>

#include "holdfast/base/random.h"
#include "tests/careless.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_fixture.h"

namespace holdfast::htm_suite {

template <class E>
class HtmEngine : public HtmEngineTest<E> {};
TYPED_TEST_SUITE_P(HtmEngine);

/// For engines that keep logs.
template <class E>
class HtmLogged : public HtmEngineTest<E> {};
TYPED_TEST_SUITE_P(HtmLogged);

TYPED_TEST_P(HtmEngine, CloseBringsTheHomeUpToDateAndTheNextOpenHasNothingToDo) {
  auto& heap = this->start();
  for (size_t i = 0; i < 200; ++i) {
    heap.write(i, i + 1);
  }
  heap.engine().close().check();
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(SimMachine::load(reinterpret_cast<uint64_t*>(heap.regions().home) + i), i + 1);
  }
  const SimImage image = this->machine().earliest_image();
  const EngineFixtureShape shape = this->shape();
  this->stop();
  SimMachine machine({}, image);
  EngineFixture<TypeParam> again(machine, shape);
  again.recover().check();
  EXPECT_FALSE(again.report().needed);
  EXPECT_EQ(again.read(199), 200u);
  again.write(199, 5);
  EXPECT_EQ(again.read(199), 5u);
}

TYPED_TEST_P(HtmEngine, RangesOfAnySizeAndAlignment) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}, {"log_bytes", "2048"}});
    std::string text(heap.regions().bytes, '\0');
    Random random(7);
    for (int round = 0; round < 60; ++round) {
      const size_t at = random.below(3000);
      const size_t n = random.below(700);
      std::string piece(n, static_cast<char>('a' + round % 26));
      text.replace(at, n, piece);
      heap.engine().update(
          [&] { TypeParam::store_range(heap.regions().data + at, piece.data(), n); });
      std::string seen(4000, ' ');
      heap.engine().read(
          [&] { TypeParam::load_range(seen.data(), heap.regions().data, seen.size()); });
      EXPECT_TRUE(seen == text.substr(0, seen.size())) << round;
    }
    heap.engine().close().check();
    std::string home(text.size(), ' ');
    SimMachine::copy(home.data(), heap.regions().home, home.size());
    EXPECT_TRUE(home == text);
    this->stop();
  }
}

TYPED_TEST_P(HtmEngine, AnExceptionRollsBackAndPropagates) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}});
    heap.write(1, 7);
    const std::string blob(100, 'x');
    const PersistCounters c = this->counted([&] {
      EXPECT_THROW(heap.engine().update([&] {
        heap.set(1, 8);
        heap.set(1, 9);
        TypeParam::store_range(heap.word(40), blob.data(), blob.size());
        throw Refused();
      }),
                   Refused);
    });
    EXPECT_EQ(c.pwb + c.pfence, 0u);
    EXPECT_EQ(heap.read(1), 7u);
    EXPECT_EQ(heap.read(40), 0u);
    EXPECT_EQ(heap.engine().statistics().user_aborts, 1u);
    EXPECT_THROW(heap.engine().read([&] { throw Refused(); }), Refused);
    EXPECT_EQ(SimMachine::context(), nullptr);
    heap.write(1, 10);
    EXPECT_EQ(heap.read(1), 10u);
    this->stop();
  }
}

TYPED_TEST_P(HtmEngine, ANestedFailureDoomsTheOuterBodyThatCaughtIt) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}});
    EXPECT_THROW(heap.engine().update([&] {
      heap.set(1, 8);
      static_cast<Context*>(SimMachine::context())->nested_failure =
          std::make_exception_ptr(Refused());
    }),
                 Refused);
    EXPECT_EQ(heap.read(1), 0u);
    heap.write(1, 9);
    EXPECT_EQ(heap.read(1), 9u);
    this->stop();
  }
}

TYPED_TEST_P(HtmEngine, ABodyThatSwallowsTheAbortIsRetriedAllTheSame) {
  SimOptions sim;
  sim.htm_store_lines = 6;
  auto& heap = this->start({}, sim);
  int runs = 0;
  heap.engine().update([&] {
    ++runs;
    careless([&] {
      for (size_t i = 0; i < 9; ++i) {
        heap.set(i * kLineWords, 5);
        heap.get(i * kLineWords);
      }
    });
    heap.set(900, 1);
  });
  EXPECT_EQ(runs, 11) << "ten attempts that are too large, then the lock";
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(heap.read(i * kLineWords), 5u);
  }
  const Statistics s = heap.engine().statistics();
  EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::capacity)], 10u);
  EXPECT_EQ(s.lock_fallbacks, 1u);
}

TYPED_TEST_P(HtmEngine, AnExceptionOfADoomedTransactionIsNotTheUsers) {
  SimOptions sim;
  sim.htm_store_lines = 6;
  auto& heap = this->start({}, sim);
  heap.engine().update([&] {
    try {
      for (size_t i = 0; i < 9; ++i) {
        heap.set(i * kLineWords, 5);
        heap.get(i * kLineWords);
      }
    } catch (const HtmAbort&) {
      throw Refused();
    }
  });
  EXPECT_EQ(heap.read(8 * kLineWords), 5u);
}

TYPED_TEST_P(HtmEngine, AFullLogIsReplayedAndTheTransactionRetried) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}, {"log_bytes", "1024"}});
    for (uint64_t round = 1; round <= 50; ++round) {
      const size_t n = 1 + round * 7 % 58;
      heap.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          heap.set(i, round);
        }
      });
      EXPECT_EQ(heap.read(n - 1), round);
    }
    if (this->kDurable) {
      EXPECT_GT(heap.engine().statistics().replayed, 40u);
    }
    if (std::string(retries) != "0") {
      EXPECT_EQ(heap.engine().statistics().lock_fallbacks, 0u);
    }
    this->stop();
  }
}

/// Time-stamped logs keep a head, and the end of a line, for each transaction; logs behind aliases
/// a head of 32 bytes; logs with markers nothing.
TYPED_TEST_P(HtmLogged, ATransactionLargerThanItsLogIsAnErrorAndNothingIsLost) {
  const size_t fits = this->has("markers") ? 64 : this->has("alias_bytes") ? 62 : 58;
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}, {"log_bytes", "1024"}});
    heap.write(0, 7);
    for (const bool swallow : {false, true}) {
      try {
        heap.engine().update([&] {
          for (size_t i = 0; i <= fits; ++i) {
            try {
              heap.set(i, 1);
            } catch (const Error&) {
              if (!swallow) {
                throw;
              }
            }
          }
        });
        ADD_FAILURE() << fits + 1 << " words of 16 bytes fit into 1024";
      } catch (const Error& error) {
        EXPECT_EQ(error.status().code(), Code::too_large);
        EXPECT_NE(error.status().message().find("log_bytes"), std::string::npos);
      }
      EXPECT_EQ(heap.read(0), 7u);
      EXPECT_EQ(heap.read(1), 0u);
    }
    heap.engine().update([&] {
      for (size_t i = 0; i < fits; ++i) {
        heap.set(i, 2);
      }
    });
    EXPECT_EQ(heap.read(fits - 1), 2u);
    this->stop();
  }
}

TYPED_TEST_P(HtmEngine, StrayStoresAreErrors) {
  auto& heap = this->start();
  uint64_t elsewhere = 0;
  auto misuse = [](auto&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.status().code() == Code::misuse;
    }
    return false;
  };
  EXPECT_TRUE(misuse([&] { heap.set(0, 1); }));
  EXPECT_TRUE(misuse([&] { heap.engine().read([&] { heap.set(0, 1); }); }));
  EXPECT_TRUE(
      misuse([&] { heap.engine().update([&] { TypeParam::store(&elsewhere, uint64_t{1}); }); }));
  EXPECT_EQ(heap.get(0), 0u) << "a load outside a transaction is a plain one";
  heap.engine().update([&] { elsewhere = TypeParam::load(&elsewhere) + heap.get(0); });
}

TYPED_TEST_P(HtmEngine, CountersAddUpUnderConflictsTinyLogsAndFewMarkers) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimOptions sim;
    sim.threads = 4;
    sim.seed = seed;
    sim.switch_probability = seed % 2 == 0 ? 0.3 : 0.05;
    auto& heap = this->start(
        {{"log_bytes", "512"}, {"markers", "8"}, {"background", seed % 3 == 0 ? "1" : "0"}}, sim);
    constexpr uint64_t kTurns = 20;
    this->machine().run_threads(4, [&](int w) {
      for (uint64_t i = 0; i < kTurns; ++i) {
        heap.engine().update([&] {
          heap.set(0, heap.get(0) + 1);
          heap.set(static_cast<size_t>(w + 1) * kLineWords, i);
        });
      }
    });
    EXPECT_EQ(heap.read(0), 4 * kTurns) << "seed " << seed;
    heap.engine().close().check();
    EXPECT_EQ(SimMachine::load(reinterpret_cast<uint64_t*>(heap.regions().home)), 4 * kTurns);
    if (this->kDurable) {
      EXPECT_EQ(heap.engine().statistics().replayed, 4 * kTurns) << "seed " << seed;
    }
    this->stop();
  }
}

// Two transactions each check that the sum allows it, and take from one word.
TYPED_TEST_P(HtmEngine, WriteSkewIsWhatTellsSnapshotIsolationFromOpacity) {
  auto run = [this](uint64_t seed, bool promote) {
    SimOptions sim;
    sim.threads = 2;
    sim.seed = seed;
    auto& heap = this->start({}, sim);
    heap.engine().update([&] {
      heap.set(0, 1);
      heap.set(kLineWords, 1);
    });
    this->machine().run_threads(2, [&](int w) {
      heap.engine().update([&] {
        const size_t mine = static_cast<size_t>(w) * kLineWords;
        const size_t other = kLineWords - mine;
        if (heap.get(0) + heap.get(kLineWords) == 2) {
          if (promote) {
            TypeParam::promote(heap.word(other), 8);
          }
          heap.set(mine, 0);
        }
      });
    });
    const bool skewed = heap.read(0) + heap.read(kLineWords) == 0;
    this->stop();
    return skewed;
  };
  int plain = 0;
  int promoted = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    plain += run(seed, false) ? 1 : 0;
    promoted += run(seed, true) ? 1 : 0;
  }
  if (this->kSnapshot) {
    EXPECT_GT(plain, 0);
  } else {
    EXPECT_EQ(plain, 0);
  }
  EXPECT_EQ(promoted, 0);
}

TYPED_TEST_P(HtmLogged, AFailedMediumEndsEverythingAndNothingIsStoredAfterIt) {
  SimOptions sim;
  sim.domain = Domain::file;
  sim.fail_sync_at = 10;  // format and the first transactions come through
  auto& heap = this->start({}, sim);
  int returned = 0;
  EXPECT_THROW(
      for (uint64_t i = 0; i < 10; ++i) {
        heap.write(i, 1);
        ++returned;
      },
      MediumFailure);
  EXPECT_GT(returned, 0);
  EXPECT_TRUE(this->machine().failed());
  EXPECT_EQ(SimMachine::context(), nullptr);
  const SimImage image = this->machine().latest_image();
  EXPECT_THROW(heap.write(20, 1), MediumFailure);
  EXPECT_TRUE(image == this->machine().latest_image());
}

// Words, parts of words and ranges over each other: what is replayed must be what was there last.
TYPED_TEST_P(HtmEngine, ALogOfStoresOverEachOtherComesToTheLastValues) {
  for (const char* retries : {"10", "0"}) {
    auto& heap = this->start({{"retries", retries}, {"log_bytes", "65536"}});
    Random random(3);
    for (int round = 0; round < 200; ++round) {
      heap.engine().update([&] {
        for (int i = 0; i < 30; ++i) {
          const size_t at = random.below(100);
          const std::string piece(random.below(60), static_cast<char>('a' + i));
          switch (random.below(3)) {
            case 0:
              heap.set(at, random.next());
              break;
            case 1:
              TypeParam::store(reinterpret_cast<uint16_t*>(heap.word(at)) + 1, uint16_t{7});
              break;
            default:
              TypeParam::store_range(heap.regions().data + at * 8, piece.data(), piece.size());
          }
        }
      });
    }
    heap.engine().close().check();
    std::vector<uint64_t> home(200);
    SimMachine::copy(home.data(), heap.regions().home, home.size() * 8);
    std::vector<uint64_t> seen(home.size());
    heap.engine().read([&] {
      for (size_t i = 0; i < seen.size(); ++i) {
        seen[i] = heap.get(i);
      }
    });
    EXPECT_EQ(home, seen);
    this->stop();
  }
}

TYPED_TEST_P(HtmEngine, TheHeapMayGrowWhileItIsInUse) {
  auto& heap = this->start();
  heap.write(1, 1);
  const size_t bytes = heap.regions().bytes + kPageBytes;
  if constexpr (requires { heap.engine().grown(bytes); }) {
    heap.engine().grown(bytes);
  }
  heap.write(1, 2);
  heap.engine().close().check();
  EXPECT_EQ(heap.read(1), 2u);
}

REGISTER_TYPED_TEST_SUITE_P(HtmEngine, CloseBringsTheHomeUpToDateAndTheNextOpenHasNothingToDo,
                            RangesOfAnySizeAndAlignment, AnExceptionRollsBackAndPropagates,
                            ANestedFailureDoomsTheOuterBodyThatCaughtIt,
                            ABodyThatSwallowsTheAbortIsRetriedAllTheSame,
                            AnExceptionOfADoomedTransactionIsNotTheUsers,
                            AFullLogIsReplayedAndTheTransactionRetried, StrayStoresAreErrors,
                            CountersAddUpUnderConflictsTinyLogsAndFewMarkers,
                            WriteSkewIsWhatTellsSnapshotIsolationFromOpacity,
                            ALogOfStoresOverEachOtherComesToTheLastValues,
                            TheHeapMayGrowWhileItIsInUse);

REGISTER_TYPED_TEST_SUITE_P(HtmLogged, ATransactionLargerThanItsLogIsAnErrorAndNothingIsLost,
                            AFailedMediumEndsEverythingAndNothingIsStoredAfterIt);

}  // namespace holdfast::htm_suite
