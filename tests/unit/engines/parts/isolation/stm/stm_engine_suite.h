// SPDX-License-Identifier: Apache-2.0
//
// Do engines in software keep their contract, apart from crashes? A suite that each of them
// instantiates in its own folder. (tests/crash asks about crashes.)
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/careless.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::stm_suite {

inline constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

template <class E>
class StmEngine : public testing::Test {
 protected:
  using Heap = EngineFixture<E>;

  /// A formatted heap; options an engine does not have are left out.
  Heap& start(const Options& wished = {}, const SimOptions& sim = {}) {
    EngineFixtureShape shape;
    shape.max_threads = sim.threads;
    for (size_t i = 0; i < E::kDescription.option_count; ++i) {
      const auto found = wished.find(E::kDescription.options[i].name);
      if (found != wished.end()) {
        shape.options.insert(*found);
      }
    }
    stop();
    machine_.emplace(sim);
    heap_.emplace(*machine_, shape);
    heap_->format().check();
    heap_->recover().check();
    return *heap_;
  }
  SimMachine& machine() { return present(machine_); }
  void stop() {
    heap_.reset();
    machine_.reset();
  }

 private:
  std::optional<SimMachine> machine_;
  std::optional<Heap> heap_;
};

TYPED_TEST_SUITE_P(StmEngine);

template <class E>
std::string all_bytes(EngineFixture<E>& heap, size_t n) {
  std::string bytes(n, ' ');
  heap.engine().read([&] { E::load_range(bytes.data(), heap.regions().data, n); });
  return bytes;
}

/// Stores and loads of every size and place, against a plain string, some of them rolled back.
TYPED_TEST_P(StmEngine, PiecesOfEverySizeAndAlignment) {
  constexpr size_t kBytes = 1024;
  auto& heap = this->start({{"locks", "16"}});
  std::byte* const data = heap.regions().data;
  std::string model(kBytes, '\0');
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::string next = model;
    const bool fails = random.chance(0.2);
    try {
      heap.engine().update([&] {
        next = model;
        for (int step = 0; step < 8; ++step) {
          const size_t at = random.below(kBytes / 8) * 8;
          const uint64_t value = random.next();
          switch (random.below(5)) {
            case 0:
              TypeParam::store(reinterpret_cast<uint64_t*>(data + at), value);
              std::memcpy(next.data() + at, &value, 8);
              break;
            case 1:
              TypeParam::store(reinterpret_cast<uint32_t*>(data + at + 4),
                               static_cast<uint32_t>(value));
              std::memcpy(next.data() + at + 4, &value, 4);
              break;
            case 2:
              TypeParam::store(reinterpret_cast<uint8_t*>(data + at + value % 8),
                               static_cast<uint8_t>(value));
              std::memcpy(next.data() + at + value % 8, &value, 1);
              break;
            default: {
              const size_t from = random.below(kBytes);
              const size_t n = random.below(std::min<size_t>(kBytes - from, 150) + 1);
              const std::string piece(n, static_cast<char>('a' + value % 26));
              TypeParam::store_range(data + from, piece.data(), n);
              next.replace(from, n, piece);
            }
          }
          const size_t from = random.below(kBytes);
          const size_t n = random.below(kBytes - from + 1);
          std::string seen(n, ' ');
          TypeParam::load_range(seen.data(), data + from, n);
          ASSERT_EQ(seen, next.substr(from, n));
          const uint16_t half = TypeParam::load(reinterpret_cast<uint16_t*>(data + at + 2));
          ASSERT_EQ(std::memcmp(&half, next.data() + at + 2, 2), 0);
        }
        if (fails) {
          throw 1;
        }
      });
      model = next;
    } catch (int) {
      EXPECT_TRUE(fails);
    }
    ASSERT_EQ(all_bytes(heap, kBytes), model) << "round " << round;
  }
}

/// A record that spans stripes and lines is written whole, by words, ranges and short stores.
TYPED_TEST_P(StmEngine, NobodySeesHalfOfATransaction) {
  constexpr size_t kRecord = 90;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SimOptions sim;
    sim.threads = 3;
    sim.seed = seed;
    auto& heap = this->start({{"locks", seed % 2 == 0 ? "16" : "4096"}, {"patience", "6"}}, sim);
    std::byte* const data = heap.regions().data + 13;
    uint64_t* const counter = heap.word(100 * kLineWords);
    this->machine().run_threads(3, [&](int worker) {
      Random random(seed * 10 + static_cast<uint64_t>(worker));
      char seen[kRecord];
      auto look = [&] {
        TypeParam::load_range(seen, data, kRecord);
        const uint64_t count = TypeParam::load(counter);
        for (const char c : seen) {
          ASSERT_EQ(c, static_cast<char>(count)) << "seed " << seed;
        }
      };
      for (int i = 0; i < 6; ++i) {
        if (random.chance(0.5)) {
          heap.engine().read(look);
          continue;
        }
        heap.engine().update([&] {
          look();
          const auto count = static_cast<char>(TypeParam::load(counter) + 1);
          if (random.chance(0.5)) {
            std::memset(seen, count, kRecord);
            TypeParam::store_range(data, seen, kRecord);
          } else {
            for (size_t k = 0; k < kRecord; ++k) {
              TypeParam::store(reinterpret_cast<uint8_t*>(data + k), static_cast<uint8_t>(count));
            }
          }
          TypeParam::store(counter, static_cast<uint64_t>(count));
        });
      }
    });
  }
}

/// A body that catches the abort and goes on: it must not commit what it made of it.
TYPED_TEST_P(StmEngine, ASwallowedAbortNeverCommits) {
  uint64_t aborts = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimOptions sim;
    sim.threads = 3;
    sim.seed = seed;
    auto& heap = this->start({{"locks", "64"}}, sim);
    this->machine().run_threads(3, [&](int) {
      for (int i = 0; i < 5; ++i) {
        heap.engine().update([&] {
          for (const size_t word : {size_t{0}, 3 * kLineWords}) {
            careless([&] { heap.set(word, heap.get(word) + 1); });
          }
        });
      }
    });
    EXPECT_EQ(heap.read(0), 15u) << "seed " << seed;
    EXPECT_EQ(heap.read(3 * kLineWords), 15u) << "seed " << seed;
    aborts += heap.engine().statistics().aborts[static_cast<size_t>(AbortCause::conflict)];
  }
  EXPECT_GT(aborts, 50u) << "the schedules should provoke conflicts";
}

/// An exception that a body throws because of what it saw is true, or the body runs again.
TYPED_TEST_P(StmEngine, AnExceptionTellsOfAConsistentState) {
  struct Uneven {};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimOptions sim;
    sim.threads = 3;
    sim.seed = seed;
    auto& heap = this->start({{"locks", "64"}}, sim);
    this->machine().run_threads(3, [&](int) {
      for (int i = 0; i < 5; ++i) {
        EXPECT_NO_THROW(heap.engine().update([&] {
          uint64_t a = 0;
          uint64_t b = 0;
          try {
            a = heap.get(0);
            heap.set(5 * kLineWords, 1);
            b = heap.get(3 * kLineWords);
          } catch (...) {  // as a careless destructor or container would
          }
          if (a != b) {
            throw Uneven();
          }
          heap.set(0, a + 1);
          heap.set(3 * kLineWords, b + 1);
        })) << "seed "
            << seed;
      }
    });
    EXPECT_EQ(heap.read(0), 15u);
  }
}

/// One long transaction among many short ones that change what it reads and stores.
TYPED_TEST_P(StmEngine, ALongTransactionGetsTheRightOfWay) {
  uint64_t fallbacks = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimOptions sim;
    sim.threads = 3;
    sim.seed = seed;
    auto& heap = this->start({{"locks", "4096"}, {"patience", "3"}, {"untracked_reads", "2"}}, sim);
    bool done = false;
    this->machine().run_threads(3, [&](int worker) {
      if (worker > 0) {
        for (size_t i = 0; !done || i < 20; ++i) {
          heap.engine().update([&] {
            const size_t word = (i * 7 + static_cast<size_t>(worker)) % 40 * kLineWords;
            heap.set(word, heap.get(word) + 1);
          });
        }
        return;
      }
      for (int i = 0; i < 2; ++i) {
        heap.engine().update([&] {
          for (size_t k = 40; k-- > 0;) {
            heap.set(k * kLineWords, heap.get(k * kLineWords) + 1);
          }
        });
        heap.engine().read([&] {
          for (size_t k = 40; k-- > 0;) {
            static_cast<void>(heap.get(k * kLineWords));
          }
        });
      }
      done = true;
    });
    fallbacks += heap.engine().statistics().lock_fallbacks;
  }
  EXPECT_GT(fallbacks, 0u);
}

TYPED_TEST_P(StmEngine, StatisticsCountWhatHappened) {
  auto& heap = this->start();
  heap.write(1, 7);
  heap.engine().update([&] {
    heap.set(1, 8);
    heap.set(1, 9);
  });
  heap.engine().update([&] { heap.get(1); });
  heap.read(1);
  EXPECT_THROW(heap.engine().update([&] {
    heap.set(1, 10);
    throw 1;
  }),
               int);
  const Statistics s = heap.engine().statistics();
  EXPECT_EQ(s.update_commits, 3u);
  EXPECT_EQ(s.read_commits, 1u);
  EXPECT_EQ(s.user_aborts, 1u);
  EXPECT_EQ(s.bytes_stored, 24u);
  EXPECT_EQ(heap.read(1), 9u);
}

TYPED_TEST_P(StmEngine, ReadersPersistNothing) {
  auto& heap = this->start({{"background", "0"}});
  heap.write(5, 1);
  const PersistCounters before = this->machine().counters();
  EXPECT_EQ(heap.read(5), 1u);
  heap.engine().update([&] { heap.get(5); });
  const PersistCounters c = this->machine().counters() - before;
  EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
}

REGISTER_TYPED_TEST_SUITE_P(StmEngine, PiecesOfEverySizeAndAlignment, NobodySeesHalfOfATransaction,
                            ASwallowedAbortNeverCommits, AnExceptionTellsOfAConsistentState,
                            ALongTransactionGetsTheRightOfWay, StatisticsCountWhatHappened,
                            ReadersPersistNothing);

}  // namespace holdfast::stm_suite
