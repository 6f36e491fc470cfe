// SPDX-License-Identifier: Apache-2.0
// Crafty's own traps: what it pays, what its log keeps, Validate, chunks under the lock, and a
// power cut at every event. (tests/crash searches deeper, over a heap.)
#include "holdfast/engines/crafty/crafty.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/history.h"

namespace holdfast::history_test::crafty_test {
namespace {

using Heap = EngineFixture<Crafty<SimMachine>>;

EngineFixtureShape shape(Options options = {}) {
  EngineFixtureShape s;
  options.insert({"log_bytes", "768"});
  options.insert({"chunk", "4"});
  s.options = std::move(options);
  s.bytes = kPageBytes;
  s.max_threads = 3;
  return s;
}

SimOptions sim_options(uint64_t seed) {
  SimOptions o;
  o.threads = 3;
  o.seed = seed;
  o.switch_probability = 0.08;
  return o;
}

/// A machine with a formatted heap, or with one that is on an image. There is one at a time.
struct World {
  explicit World(const Options& options = {}, const SimOptions& sim = sim_options(1))
      : machine(sim), heap(machine, shape(options)) {
    heap.format().check();
    heap.recover().check();
  }
  World(const SimImage& image, const Options& options, uint64_t seed)
      : machine(sim_options(seed), image), heap(machine, shape(options)) {
    opened = heap.recover();
  }
  template <class F>
  PersistCounters counted(F&& f) {
    const PersistCounters before = machine.counters();
    f();
    return machine.counters() - before;
  }
  SimMachine machine;
  Heap heap;
  Status opened;
};

// ---- what it pays

TEST(CraftyCost, ThreeFencesTheLogTheDataAndTheMark) {
  for (const size_t line : {64u, 128u}) {
    SimOptions sim = sim_options(1);
    sim.line_bytes = line;
    World w({}, sim);
    for (size_t n = 1; n <= 20; ++n) {
      const PersistCounters c = w.counted([&] {
        w.heap.engine().update([&] {
          for (size_t i = 0; i < n; ++i) {
            w.heap.set(i * 2, n);
            w.heap.set(i * 2, n + 1);  // has its undo entry
          }
        });
      });
      EXPECT_EQ(c.pfence + c.psync, 3u);
      EXPECT_EQ(c.pwb, (32 + 16 * n + line - 1) / line             // log
                           + (16 * (n - 1) + 8 + line - 1) / line  // data
                           + 2)                                    // number and mark
          << n << " words, lines of " << line;
    }
  }
}

TEST(CraftyCost, UnderTheLockOneFenceForEveryChunk) {
  World w(Options{{"retries", "0"}});
  for (size_t n = 1; n <= 20; ++n) {
    const PersistCounters c = w.counted([&] {
      w.heap.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          w.heap.set(i, n);
          w.heap.set(i, w.heap.get(i) + 1);
        }
      });
    });
    EXPECT_EQ(c.pfence + c.psync, (n + 3) / 4 + 2) << n << " words";
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(w.heap.read(i), n + 1);
    }
  }
}

TEST(CraftyCost, ReadersAndUpdatesThatStoreNothingPersistNothing) {
  for (const char* retries : {"10", "0"}) {
    World w(Options{{"retries", retries}});
    w.heap.write(5, 1);
    const PersistCounters c = w.counted([&] {
      EXPECT_EQ(w.heap.read(5), 1u);
      w.heap.engine().update([&] { w.heap.get(3); });
    });
    EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
  }
}

// ---- the phases

/// Three threads that never touch the same line: how often a body ran.
TEST(CraftyPhases, WhoseRedoComesTooLateIsValidatedAndNeedsNoLock) {
  int runs = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World w({}, sim_options(seed));
    w.machine.run_threads(3, [&](int worker) {
      for (uint64_t i = 1; i <= 5; ++i) {
        w.heap.engine().update([&] {
          ++runs;
          w.heap.set(static_cast<size_t>(worker) * 4 * kLineWords, i);
        });
      }
    });
    EXPECT_EQ(w.heap.engine().statistics().lock_fallbacks, 0u);
    for (size_t worker = 0; worker < 3; ++worker) {
      EXPECT_EQ(w.heap.read(worker * 4 * kLineWords), 5u);
    }
  }
  EXPECT_GT(runs, 20 * 15 + 50) << "no transaction was validated";
}

TEST(CraftyPhases, IncrementsThatCollideAreAllThere) {
  for (const char* retries : {"10", "3", "1"}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      World w({{"retries", retries}}, sim_options(seed));
      w.machine.run_threads(3, [&](int) {
        for (int i = 0; i < 8; ++i) {
          w.heap.engine().update([&] {
            w.heap.set(0, w.heap.get(0) + 1);
            // Another word each time, so that what is stored to depends on what is read.
            w.heap.set(kLineWords * (1 + w.heap.get(0) % 3), w.heap.get(0));
          });
        }
      });
      EXPECT_EQ(w.heap.read(0), 24u) << "seed " << seed << ", " << retries << " retries";
    }
  }
}

struct Refused {};

/// Ten words, which are two chunks and a half, then an exception.
void store_and_throw(Heap& heap) {
  EXPECT_THROW(heap.engine().update([&] {
    for (size_t i = 0; i < 10; ++i) {
      heap.set(i, i + 100);
    }
    throw Refused();
  }),
               Refused);
}

TEST(CraftyPhases, AnExceptionRollsBackWhateverHasBeenStored) {
  for (const char* retries : {"10", "0"}) {
    const Options options = {{"retries", retries}};
    std::vector<SimImage> images;
    {
      World w(options);
      w.heap.write(3, 7);
      store_and_throw(w.heap);
      images = {w.machine.earliest_image(), w.machine.latest_image()};
      // The record is over as soon as anybody commits.
      w.heap.write(20, 1);
      images.push_back(w.machine.earliest_image());
      store_and_throw(w.heap);
      w.heap.engine().close().check();
      images.push_back(w.machine.earliest_image());
      EXPECT_EQ(w.heap.engine().statistics().user_aborts, 2u);
    }
    for (size_t i = 0; i < images.size(); ++i) {
      World w(images[i], options, 2);
      EXPECT_TRUE(w.opened.ok());
      EXPECT_EQ(w.heap.read(3), 7u);
      EXPECT_EQ(w.heap.read(4), 0u);
      EXPECT_EQ(w.heap.read(20), i < 2 ? 0u : 1u);
      EXPECT_FALSE(i == 3 && w.heap.report().needed) << "after a close there is nothing to do";
    }
  }
}

TEST(CraftyLog, ATransactionLargerThanItsLogIsRefusedClearly) {
  for (const char* retries : {"10", "0"}) {
    World w(Options{{"retries", retries}});
    const auto fill = [&](size_t n) {
      w.heap.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          w.heap.set(i * 2, i + 1);
        }
      });
    };
    fill(48);  // 768 / 16
    try {
      fill(49);
      FAIL() << "it fits";
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), Code::too_large);
      EXPECT_NE(error.status().message().find("log_bytes"), std::string::npos);
    }
    EXPECT_EQ(w.heap.read(96), 0u);
    EXPECT_EQ(w.heap.read(94), 48u);
    w.heap.write(96, 5);
    EXPECT_EQ(w.heap.read(96), 5u);
  }
}

TEST(CraftyLog, PartsOfWordsAndRangesOfAnyAlignment) {
  for (const char* retries : {"10", "0"}) {
    World w(Options{{"retries", retries}, {"log_bytes", "4096"}});
    std::string text(w.heap.regions().bytes, '\0');
    Random random(7);
    for (int round = 0; round < 60; ++round) {
      const size_t at = random.below(3000);
      const size_t n = random.below(700);
      const std::string piece(n, static_cast<char>('a' + round % 26));
      text.replace(at, n, piece);
      text[at + n + 1] = '!';
      std::string seen(4000, ' ');
      std::string inside(4000, ' ');
      w.heap.engine().update([&] {
        auto* const data = reinterpret_cast<char*>(w.heap.regions().data);
        Crafty<SimMachine>::store_range(data + at, piece.data(), n);
        Crafty<SimMachine>::store(data + at + n + 1, '!');
        Crafty<SimMachine>::load_range(inside.data(), data, inside.size());
        EXPECT_EQ(Crafty<SimMachine>::load(data + at + n + 1), '!');
      });
      w.heap.engine().read(
          [&] { Crafty<SimMachine>::load_range(seen.data(), w.heap.regions().data, seen.size()); });
      EXPECT_TRUE(inside == text.substr(0, inside.size())) << round;
      EXPECT_TRUE(seen == text.substr(0, seen.size())) << round;
    }
  }
}

// ---- a power cut

/// A run that ends before persist event `event`, and images it may leave.
struct Cut {
  std::vector<SimImage> images;
  bool crashed = false;
};

Cut run_until(uint64_t seed, uint64_t event, const Options& options, Acknowledged& told) {
  World w(options, sim_options(seed));
  uint64_t next = 1;
  Worker<Crafty<SimMachine>> before(w.heap, told, seed);
  for (int i = 0; i < 4; ++i) {
    before.update(next++);
  }
  w.machine.crash_at(w.machine.persist_events() + event);
  w.machine.run_threads(3, [&](int worker) {
    Worker<Crafty<SimMachine>> mine(w.heap, told, seed * 3 + static_cast<uint64_t>(worker));
    for (int i = 0; i < 5; ++i) {
      i % 3 == worker % 3 ? mine.read() : mine.update(next++);
    }
  });
  Random random(seed + event);
  return {{w.machine.earliest_image(), w.machine.latest_image(), w.machine.sample_image(random)},
          w.machine.crashed()};
}

std::string recover_and_judge(uint64_t seed, const SimImage& image, const Options& options,
                              const Acknowledged& told, uint64_t* rolled_back) {
  SimImage later;
  {
    World w(image, options, seed);
    if (!w.opened.ok()) {
      return w.opened.to_string();
    }
    *rolled_back += w.heap.report().transactions;
    if (std::string wrong = judge(w.heap, told); !wrong.empty()) {
      return wrong;
    }
    w.heap.write(1, 77);
    later = w.machine.earliest_image();
  }
  // It is a heap to work with, and what was rolled back is over.
  World w(later, options, seed);
  return w.opened.ok() && w.heap.read(1) == 77 ? "" : "a store after recovery is lost";
}

TEST(CraftyRecovery, APowerCutAtEveryEvent) {
  uint64_t points = 0;
  uint64_t rolled_back = 0;
  for (const char* retries : {"10", "2", "0"}) {
    const Options options = {{"retries", retries}};
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      for (uint64_t event = 0;; event += kStep, ++points) {
        Acknowledged told;
        const Cut cut = run_until(seed, event, options, told);
        for (const SimImage& image : cut.images) {
          ASSERT_EQ(recover_and_judge(seed, image, options, told, &rolled_back), "")
              << "seed " << seed << ", " << retries << " retries, power cut before event " << event;
        }
        if (!cut.crashed) {
          break;
        }
      }
    }
  }
  std::printf("[ %llu points, %llu transactions rolled back ]\n",
              static_cast<unsigned long long>(points),
              static_cast<unsigned long long>(rolled_back));
  EXPECT_GT(rolled_back, 100 / kStep);
}

TEST(CraftyRecovery, APowerCutInRecovery) {
  uint64_t points = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Acknowledged told;
    const Cut cut = run_until(seed, 30 + 11 * seed, {}, told);
    for (const SimImage& image : cut.images) {
      for (uint64_t event = 0;; event += kStep, ++points) {
        std::vector<SimImage> again;
        bool crashed_again = false;
        {
          SimMachine machine(sim_options(seed), image);
          machine.crash_at(event);
          Heap heap(machine, shape());
          machine.run_threads(1, [&](int) { heap.recover().check(); });
          crashed_again = machine.crashed();
          Random random(event);
          again = {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
        }
        for (const SimImage& second : again) {
          uint64_t ignored = 0;
          ASSERT_EQ(recover_and_judge(seed, second, {}, told, &ignored), "")
              << "seed " << seed << ", power cut in recovery before event " << event;
        }
        if (!crashed_again) {
          break;
        }
      }
    }
  }
  EXPECT_GT(points, 20 / kStep);
}

/// A block allocated by the transaction itself is logged as well: who freed it may be rolled back
/// too.
TEST(CraftyRecovery, TheOldContentOfAFreshBlockComesBack) {
  bool rolled_back = false;
  bool crashed = true;
  for (uint64_t event = 0; crashed; ++event) {
    std::vector<SimImage> images;
    {
      World w;
      w.heap.write(0, 3);
      w.machine.crash_at(w.machine.persist_events() + event);
      w.machine.run_threads(1, [&](int) {
        w.heap.engine().update([&] {
          Crafty<SimMachine>::fresh(w.heap.word(0), sizeof(uint64_t));
          w.heap.set(0, 9);
          w.heap.set(2 * kLineWords, 9);
        });
      });
      crashed = w.machine.crashed();
      images = {w.machine.earliest_image(), w.machine.latest_image()};
    }
    for (const SimImage& image : images) {
      World w(image, {}, 1);
      const uint64_t second = w.heap.read(2 * kLineWords);
      ASSERT_EQ(w.heap.read(0), second == 9 ? 9u : 3u) << "event " << event;
      rolled_back = rolled_back || w.heap.report().needed;
    }
  }
  EXPECT_TRUE(rolled_back);
}

TEST(CraftyRecovery, DamageOfMarksAndOtherOptionsAreRefused) {
  SimImage image;
  {
    World w;
    for (uint64_t i = 1; i <= 5; ++i) {
      w.heap.write(i, i);
    }
    image = w.machine.latest_image();
  }
  const auto refused = [](const SimImage& damaged, const Options& options) {
    const World w(damaged, options, 1);
    return w.opened.code() == Code::corrupt && w.machine.latest_image() == damaged;
  };
  for (size_t bit = 0; bit < 64; ++bit) {
    SimImage damaged = image;
    damaged[CraftyArea::kMarkOffset + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_TRUE(refused(damaged, {})) << "bit " << bit;
  }
  EXPECT_TRUE(refused(image, {{"log_bytes", "1024"}}));
  EXPECT_TRUE(refused(image, {{"chunk", "5"}}));
  EXPECT_FALSE(refused(image, {{"retries", "5"}}));
}

}  // namespace
}  // namespace holdfast::history_test::crafty_test
