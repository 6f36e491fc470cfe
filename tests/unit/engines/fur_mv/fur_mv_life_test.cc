// SPDX-License-Identifier: Apache-2.0
// Does an update of fur-mv end as it should: after conflicts, with a full log, or one too small?
#include <gtest/gtest.h>

#include <string>

#include "holdfast/engines/fur_mv/fur_mv.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"
#include "tests/unit/engines/parts/durability/numbered_threads.h"

namespace holdfast::fur_mv_life_test {
namespace {

using Engine = FurMv<SimMachine>;
using Heap = EngineFixture<Engine>;
using Flag = SimMachine::Atomic<uint64_t>;

constexpr uint64_t kMarker = DurabilityMarkers<SimMachine>::kStoredBytes;

struct BodyFails {};

/// A heap with logs of 512 bytes, which are replayed only where it has to be.
struct World {
  explicit World(Options options = {}, int threads = 2, uint64_t seed = 1)
      : machine({.threads = threads, .seed = seed}), heap(machine, shape(std::move(options))) {
    heap.format().check();
    heap.recover().check();
  }
  static EngineFixtureShape shape(Options options) {
    options.insert({"background", "0"});
    options.insert({"log_bytes", "512"});
    options.insert({"markers", "64"});
    return {.options = std::move(options)};
  }
  uint64_t count(const std::string& probe) {
    const auto probes = machine.probes();
    return probes.contains(probe) ? probes.at(probe) : 0;
  }
  uint64_t conflicts() {
    return heap.engine().statistics().aborts[static_cast<size_t>(AbortCause::conflict)];
  }
  /// Stores to `n` words, `step` apart.
  void store(size_t n, size_t step, uint64_t value) {
    heap.engine().update([&] {
      for (size_t i = 0; i < n; ++i) {
        heap.set(i * step, value);
      }
    });
  }

  SimMachine machine;
  Heap heap;
};

/// The other thread commits in each attempt, until it has to wait.
TEST(FurMvLife, AnUpdateThatKeepsLosingTakesTheRightOfWay) {
  for (const auto& [retries, losses] : {std::pair{"10", 10u}, {"3", 3u}, {"1", 1u}, {"0", 1u}}) {
    SCOPED_TRACE(retries);
    World w(Options{{"retries", retries}});
    constexpr uint64_t kUpdates = 2;
    uint64_t turn = 0;  // odd: the other thread's
    bool done = false;
    w.machine.run_threads(2, [&](int worker) {
      if (worker == 1) {
        while (!done) {
          if (turn % 2 == 1) {
            w.heap.write(0, turn);
            ++turn;
          }
          w.machine.pause();
        }
        return;
      }
      for (uint64_t update = 1; update <= kUpdates; ++update) {
        uint64_t runs = 0;
        w.heap.engine().update([&] {
          ++runs;
          w.heap.set(40, runs);
          w.heap.set(0, w.heap.get(0) + 1);
          ++turn;
          for (int i = 0; turn % 2 == 1 && (runs <= losses || i < 1000); ++i) {
            w.machine.pause();
          }
          EXPECT_EQ(turn % 2 == 1, runs > losses) << "the other thread waits";
        });
        EXPECT_EQ(runs, losses + 1);
        EXPECT_EQ(w.conflicts(), losses * update);
        EXPECT_EQ(w.heap.engine().statistics().lock_fallbacks, update);
        while (turn % 2 == 1) {
          w.machine.pause();
        }
      }
      done = true;
    });
    EXPECT_EQ(w.count("furmv.conflict"), losses * kUpdates);
    EXPECT_EQ(w.count("furmv.unlocks_some"), 0u) << "the first stripe is the one that changed";
  }
}

TEST(FurMvLife, AnUpdateThatFitsTheLogExactlyNeedsNoLoan) {
  for (const bool full_before : {false, true}) {
    for (const auto& [words, step] : {std::pair{size_t{32}, size_t{2}}, {63, 1}}) {
      World w;
      uint64_t written = words * (step == 1 ? 8 : 16) + (step == 1 ? 8 : 0) + kMarker;
      if (full_before) {
        w.store(words, step, 1);
        written += written + words * 8;
      }
      w.store(words, step, 2);
      EXPECT_EQ(w.heap.read(0), 2u);
      EXPECT_EQ(w.heap.read((words - 1) * step), 2u);
      EXPECT_EQ(w.heap.engine().statistics().bytes_written, written);
      EXPECT_EQ(w.count("furmv.log_full"), 0u);
      EXPECT_EQ(w.conflicts(), 0u);
    }
  }
}

TEST(FurMvLife, ALogThatIsFullIsReplayed) {
  World w;
  w.heap.write(0, 1);
  w.store(32, 2, 2);
  EXPECT_EQ(w.count("furmv.log_full"), 1u);
  EXPECT_EQ(w.conflicts(), 0u);
  EXPECT_EQ(w.heap.engine().statistics().update_commits, 2u);
  EXPECT_EQ(w.heap.read(62), 2u);
}

TEST(FurMvLife, AnUpdateAsksForTheLoanThatItNeeds) {
  struct Case {
    size_t words, step;
    uint64_t bytes;
    size_t stored;
  };
  // Beyond the words of the log it is unknown how many follow.
  for (const Case& c : {Case{33, 2, 33 * 16, 33}, {64, 1, 65 * 8, 64}, {100, 1, 1024, 64}}) {
    World w;
    size_t stored = 0;
    uint64_t bytes = 0;
    w.machine.run_threads(2, [&](int worker) {
      if (worker == 0) {
        try {
          w.heap.engine().update([&] {
            for (size_t i = 0; i < c.words; ++i) {
              w.heap.set(i * c.step, 1);
              ++stored;
            }
          });
        } catch (const LoanNeeded& need) {
          bytes = need.bytes;
        }
        return;
      }
      while (bytes == 0) {
        w.machine.pause();
      }
      // An update that runs alone: no other thread is in one.
      constexpr uint64_t kLoan = 8 * kPageBytes;
      w.heap.engine().update([&] { w.heap.engine().lend({kLoan, kLoan}); });
      w.store(100, 2, 5);
    });
    EXPECT_EQ(bytes, c.bytes);
    EXPECT_EQ(stored, c.stored);
    EXPECT_EQ(w.heap.read(0), 5u);
  }
}

TEST(FurMvLife, WhatStoresNothingPersistsNothing) {
  for (const uint64_t lent : {uint64_t{0}, uint64_t{8 * kPageBytes}}) {
    World w;
    w.heap.engine().update([&] { w.heap.engine().lend({lent, lent}); });
    const PersistCounters before = w.machine.counters();
    w.heap.engine().update([&] { static_cast<void>(w.heap.get(3)); });
    const PersistCounters c = w.machine.counters() - before;
    if (lent == 0) {
      EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
    }
    const Statistics s = w.heap.engine().statistics();
    EXPECT_EQ(s.bytes_written, lent == 0 ? 0 : kMarker) << "a number that is given up";
    EXPECT_EQ(s.bytes_stored, 0u);
    EXPECT_EQ(s.update_commits, 2u);
  }
}

/// An answer, an exception or a demand for a loan may reveal what a body has seen.
TEST(FurMvLife, LaterSnapshotsHaveAllThatABodyHasSeen) {
  uint64_t seen_fresh = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    World w({}, 3, seed);
    uint64_t answered = 0;
    w.machine.run_threads(3, [&](int worker) {
      if (worker == 0) {
        for (uint64_t i = 1; i <= 12; ++i) {
          w.heap.write(0, i);
          answered = i;
        }
        return;
      }
      for (int round = 0; round < 6; ++round) {
        uint64_t seen = 0;
        try {
          w.heap.engine().update([&] {
            seen = w.heap.get(0);
            if (round % 3 == 1) {
              throw BodyFails();
            }
            for (size_t i = 0; round % 3 == 2 && i < 33; ++i) {
              w.heap.set(100 + 2 * i, 1);
            }
          });
        } catch (const BodyFails&) {
        } catch (const LoanNeeded&) {
        }
        seen_fresh += seen > answered ? 1 : 0;
        EXPECT_GE(w.heap.read(0), seen) << "seed " << seed << ", round " << round;
      }
    });
  }
  EXPECT_GT(seen_fresh, 20u) << "hardly any update saw what had not been answered";
}

/// An update takes its number while others look for numbers that are not durable. One that
/// overlooks it would show snapshots that lack its values, or some of them.
TEST(FurMvLife, NobodyOverlooksANumberThatIsBeingTaken) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    World w({}, 4, seed);
    bool done = false;
    w.machine.run_threads(4, [&](int worker) {
      if (worker < 2) {
        const size_t own = 40 * static_cast<size_t>(worker);
        for (uint64_t i = 1; i <= 6; ++i) {
          w.heap.engine().update([&] {
            w.heap.set(own, i);
            w.heap.set(own + 20, i);
          });
        }
        done = true;
      } else if (worker == 2) {
        while (!done) {
          w.heap.engine().update([] {});
        }
      } else {
        while (!done) {
          w.heap.engine().read([&] {
            for (const size_t of : {size_t{0}, size_t{40}}) {
              const uint64_t first = w.heap.get(of);
              EXPECT_EQ(w.heap.get(of + 20), first) << "seed " << seed;
              EXPECT_EQ(w.heap.get(of), first) << "seed " << seed;
            }
          });
        }
      }
    });
  }
}

/// Entries of an earlier, longer transaction stay in memory behind those of a later one.
TEST(FurMvLife, RecordsEndWithTheTransactionsWords) {
  World w;
  w.store(8, 1, 1);
  w.heap.engine().update([&] {
    for (size_t i = 4; i < 8; ++i) {
      w.heap.set(i, 2);
    }
  });
  w.store(4, 1, 3);
  EXPECT_EQ(w.heap.engine().statistics().bytes_written, (9 * 8 + kMarker) + 2 * (5 * 8 + kMarker));
  w.heap.engine().close().check();
  const auto* const home = reinterpret_cast<const uint64_t*>(w.heap.regions().home);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(SimMachine::load(home + i), i < 4 ? 3u : 2u) << i;
  }
}

TEST(FurMvLife, StripesMayBeStoredToInAnyOrder) {
  for (const auto& words : {std::array{0, 64, 1}, {64, 0, 65}, {128, 64, 0}, {64, 65, 0}}) {
    World w;
    w.heap.engine().update([&] {
      for (const int word : words) {
        w.heap.set(static_cast<size_t>(word), 7);
      }
    });
    w.heap.write(static_cast<size_t>(words[2]), 8);
    EXPECT_EQ(w.heap.read(static_cast<size_t>(words[2])), 8u);
    EXPECT_EQ(w.heap.read(static_cast<size_t>(words[0])), 7u);
  }
}

/// A reader goes on while others overwrite a part of a word, and promote a word that was never
/// stored to.
TEST(FurMvLife, AnOldSnapshotHasPartsOfWordsAndPromotedOnes) {
  World w;
  auto* const part = reinterpret_cast<uint16_t*>(w.heap.word(16)) + 1;
  Flag* const step = make_object<Flag>(w.machine);
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update([&] {
        Engine::store(part, uint16_t{7});
        w.heap.set(17, 99);
      });
      w.heap.engine().read([&] {
        step->store(1);
        while (w.machine.wait_while(*step, uint64_t{1}) == 1) {
        }
        EXPECT_EQ(Engine::load(part), 7u);
        EXPECT_EQ(Engine::load(part - 1), 0u);
        EXPECT_EQ(w.heap.get(17), 99u) << "only another word of its stripe has changed";
        EXPECT_EQ(w.heap.get(32), 0u);
      });
      return;
    }
    while (w.machine.wait_while(*step, uint64_t{0}) == 0) {
    }
    for (uint16_t i = 1; i <= 2; ++i) {
      w.heap.engine().update([&] {
        Engine::store(part, i);
        Engine::promote(w.heap.word(32), sizeof(uint64_t));
      });
    }
    w.heap.write(64, 1);  // promotes nothing
    step->store(2);
  });
  EXPECT_EQ(Engine::load(part), 2u);
  EXPECT_EQ(w.count("furmv.only_promoted"), 2u);
}

TEST(FurMvLife, ARangeIsPromotedByItsStripes) {
  struct Case {
    size_t byte, bytes;
    uint64_t stripes;
  };
  for (const Case& c : {Case{16, 64, 3}, {32, 32, 1}, {31, 1, 1}, {31, 2, 2}, {36, 0, 0}}) {
    World w;
    const std::byte* const at = w.heap.regions().data + c.byte;
    Engine::promote(at, c.bytes);
    w.heap.engine().read([&] { Engine::promote(at, c.bytes); });
    w.heap.engine().update([&] {
      Engine::promote(at, c.bytes);
      Engine::promote(&w, 8);
      w.heap.set(100, 1);
    });
    EXPECT_EQ(w.count("furmv.only_promoted"), c.stripes) << c.byte << ", " << c.bytes;
  }
}

/// One thread's words of before must not hide what another one has stored since.
TEST(FurMvLife, AReadOfARangeSeesTheStoresOfOthers) {
  World w;
  Flag* const step = make_object<Flag>(w.machine);
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      w.store(4, 1, 1);
      step->store(1);
      while (w.machine.wait_while(*step, uint64_t{1}) == 1) {
      }
      uint64_t seen[4] = {};
      w.heap.engine().read([&] { Engine::load_range(seen, w.heap.word(0), sizeof seen); });
      for (const uint64_t value : seen) {
        EXPECT_EQ(value, 2u);
      }
      return;
    }
    while (w.machine.wait_while(*step, uint64_t{0}) == 0) {
    }
    w.store(4, 1, 2);
    step->store(2);
  });
}

TEST(FurMvLife, ReadsAndTheirExceptionsAreCounted) {
  World w;
  for (int i = 0; i < 2; ++i) {
    w.heap.read(0);
    EXPECT_THROW(w.heap.engine().read([] { throw BodyFails(); }), BodyFails);
  }
  EXPECT_EQ(w.heap.engine().statistics().read_commits, 2u);
  EXPECT_EQ(w.heap.engine().statistics().user_aborts, 2u);
}

TEST(FurMvLife, AThreadWithoutALogIsAnError) {
  expect_threads_without_a_log_refused<Engine>(512);
}

TEST(FurMvLife, OptionsReachTheTableAndTheStore) {
  for (const bool few : {false, true}) {
    World w(Options{{"stripes", few ? "16" : "1048576"}, {"versions", few ? "1" : "102"}});
    uint64_t step = 0;
    w.machine.run_threads(2, [&](int worker) {
      if (worker == 0) {
        w.heap.engine().update([&] {
          w.heap.set(0, 1);
          for (step = step == 0 ? 1 : step; step == 1;) {
            w.machine.pause();
          }
        });
        return;
      }
      while (step == 0) {
        w.machine.pause();
      }
      for (size_t word = 4; word < 256; word += 4) {
        w.heap.write(word, 1);
      }
      step = 2;
    });
    EXPECT_EQ(w.conflicts() > 0, few) << "other words share the stripe";
    EXPECT_EQ(w.count("furmv.versions.grown") > 0, few);
  }
}

}  // namespace
}  // namespace holdfast::fur_mv_life_test
