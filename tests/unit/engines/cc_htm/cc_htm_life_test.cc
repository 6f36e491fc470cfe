// SPDX-License-Identifier: Apache-2.0
// The life of a transaction of cc-HTM: does it give back what it has taken, however it ends? Is it
// given up when the patience of others ends, and counted right?
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/engines/cc_htm/cc_htm_world.h"

namespace holdfast::cc_htm_test::cc_htm_life_test {
namespace {

struct BodyFails {};

/// Runs `work` on one thread. Meanwhile the body of an update on another thread stops. That update
/// is durable, so it takes no credit.
template <class F>
void beside_a_body_that_stops(World& w, F&& work) {
  bool in_body = false;
  bool done = false;
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update(
          [&] {
            w.heap.set(0, 1);
            in_body = true;
            while (!done) {
              w.machine.pause();
            }
          },
          Commit::durable);
      return;
    }
    while (!in_body) {
      w.machine.pause();
    }
    work();
    done = true;
  });
  EXPECT_EQ(w.heap.read(0), 1u);
}

/// How an attempt may end without a commit that others have to wait for.
struct End {
  const char* name;
  Options options;
  std::function<void(World&)> run;
};

std::vector<End> ends() {
  return {{"it stores nothing", {}, [](World& w) { w.heap.engine().update([] {}); }},
          {"its body throws",
           {},
           [](World& w) {
             EXPECT_THROW(w.heap.engine().update([&] {
               w.heap.set(9, 1);
               throw BodyFails();
             }),
                          BodyFails);
           }},
          {"it finds a full set of the alias table",
           {{"alias_bytes", "64"}, {"ways", "1"}},
           [](World& w) {
             for (size_t word = 8; word < 16; ++word) {  // four words a set
               w.heap.write(word, 1);
             }
           }}};
}

/// A number that is not given back keeps all later transactions from retiring until somebody's
/// patience ends; a credit that is not, for ever.
TEST(CcHtmLife, EachEndGivesNumberAndCreditBack) {
  constexpr uint64_t kPatienceMs = 1000;
  constexpr uint64_t kLag = 6;
  for (const End& end : ends()) {
    SCOPED_TRACE(end.name);
    Options options = end.options;
    options.merge(Options{{"lag", std::to_string(kLag)},
                          {"alias_bytes", "65536"},
                          {"patience_us", std::to_string(1000 * kPatienceMs)}});
    World w(options, 1);
    w.machine.run_threads(1, [&](int) {
      const uint64_t begin = w.machine.now();
      for (uint64_t i = 0; i < 2 * kLag; ++i) {
        w.heap.write(0, i);
        end.run(w);
      }
      w.heap.engine().fence();
      EXPECT_EQ(w.at_home(0), 2 * kLag - 1);
      // All credits are there again: so many updates wait for no retirement.
      for (uint64_t i = 1; i <= kLag; ++i) {
        w.heap.write(0, i);
      }
      EXPECT_LT(w.machine.now() - begin, w.machine.ticks_of_ms(kPatienceMs));
    });
    EXPECT_EQ(w.heap.engine().statistics().lock_fallbacks, 0u);
  }
}

/// The bound is exact: so many updates return while a body keeps them from retiring, and the next
/// one waits until that body is given up.
TEST(CcHtmLife, AsManyUpdatesReturnAsThereAreCredits) {
  constexpr uint64_t kLag = 3;
  constexpr uint64_t kPatienceMs = 100;
  World w({{"lag", std::to_string(kLag)}, {"patience_us", std::to_string(1000 * kPatienceMs)}}, 2);
  beside_a_body_that_stops(w, [&] {
    const uint64_t begin = w.machine.now();
    for (uint64_t i = 1; i <= kLag; ++i) {
      w.heap.write(5 * kLineWords, i);
      EXPECT_EQ(w.heap.engine().pending().count, i);
    }
    const uint64_t before = w.machine.now();
    EXPECT_LT(before - begin, w.machine.ticks_of_ms(kPatienceMs) / 2);
    EXPECT_GE(w.heap.engine().pending().age, (before - begin) / 2) << "of the first of them";
    EXPECT_LE(w.heap.engine().pending().age, w.machine.now() - begin);
    w.heap.write(5 * kLineWords, kLag + 1);
    EXPECT_GE(w.machine.now() - before, w.machine.ticks_of_ms(kPatienceMs));
  });
}

/// Neither earlier nor much later than its option says.
TEST(CcHtmLife, ABodyIsGivenUpAfterThePatience) {
  constexpr uint64_t kPatienceMs = 10'000;
  World w({{"patience_us", std::to_string(1000 * kPatienceMs)}}, 2);
  beside_a_body_that_stops(w, [&] {
    const uint64_t begin = w.machine.now();
    w.heap.write(5 * kLineWords, 9);
    const uint64_t took = w.machine.now() - begin;
    const uint64_t patience = w.machine.ticks_of_ms(kPatienceMs);
    EXPECT_GE(took, patience);
    EXPECT_LT(took, patience + patience / 1000);
  });
}

/// Each update begins with no revocations. After two it runs under the lock, to its end.
TEST(CcHtmLife, AfterTwoRevocationsABodyRunsUnderTheLock) {
  World w({{"patience_us", "10"}, {"retries", "100"}}, 2);
  constexpr int kUpdates = 3;
  uint64_t writes = 0;
  int runs = 0;
  bool done = false;
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      for (int update = 1; update <= kUpdates; ++update) {
        runs = 0;
        w.heap.engine().update([&] {
          w.heap.set(0, static_cast<uint64_t>(update));
          ++runs;
          // The next write of the other thread may have begun before. The one behind it returns
          // only when this body has been given up. Under the lock none returns.
          const uint64_t seen = writes;
          for (int pause = 0; writes < seen + 2 && pause < 20'000; ++pause) {
            w.machine.pause();
          }
        });
        EXPECT_EQ(runs, 3);
        EXPECT_EQ(w.heap.engine().statistics().lock_fallbacks, static_cast<uint64_t>(update));
      }
      done = true;
      return;
    }
    while (!done) {
      w.heap.write(5 * kLineWords, 7);
      ++writes;
    }
  });
  EXPECT_EQ(w.heap.read(0), static_cast<uint64_t>(kUpdates));
}

/// An attempt may be given up between its number and its start. That counts as a revocation, like
/// any other, and one is not enough for the lock.
TEST(CcHtmLife, ARevocationBeforeTheStartIsOne) {
  uint64_t at_start = 0;
  uint64_t fallbacks = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimOptions options = machine_options(2, seed);
    options.odd_switch_probability =
        0.01;  // the second thread exhausts its patience with the first
    World w({{"patience_us", "1"}, {"retries", "1000"}}, options);
    bool done = false;
    w.machine.run_threads(2, [&](int worker) {
      while (worker == 1 && !done) {
        w.heap.write(0, 1);  // conflicts alone do not lead to the lock
      }
      for (uint64_t i = 1; worker == 0 && i <= 20; ++i) {
        const auto before = w.machine.probes();
        const uint64_t locked = w.heap.engine().statistics().lock_fallbacks;
        w.heap.write(0, i);
        auto now = w.machine.probes();
        const auto times = [&](const char* probe) {
          return now[probe] - (before.contains(probe) ? before.at(probe) : 0);
        };
        at_start += times("cchtm.revoked_at_start");
        if (w.heap.engine().statistics().lock_fallbacks > locked) {
          EXPECT_GE(times("cchtm.revoked") + times("cchtm.revoked_at_start"), 2u) << seed;
          ++fallbacks;
        }
      }
      done = true;
    });
  }
  EXPECT_GT(at_start, 0u);
  EXPECT_GT(fallbacks, 0u);
}

/// Under the lock a transaction is given up before it says that it has committed, or not at all. If
/// both threads see each other there, it gives its number back and takes another one.
TEST(CcHtmLife, UnderTheLockACommitIsSeenOrGivenUp) {
  int both = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimOptions options = machine_options(2, seed);
    options.odd_switch_probability = 0.01;
    options.max_steps = 1'000'000;  // a number that is given up in vain is awaited for ever
    World w({{"patience_us", "1"}, {"retries", "0"}}, options);
    bool done = false;
    w.machine.run_threads(2, [&](int worker) {
      while (worker == 1 && !done) {
        w.heap.engine().fence();
      }
      for (uint64_t i = 1; worker == 0 && i <= 20; ++i) {
        w.heap.write(0, i);
      }
      done = true;
    });
    auto probes = w.machine.probes();
    both += probes["cchtm.lock.revoked"] > probes["cchtm.gives_up"] ? 1 : 0;
    EXPECT_EQ(w.at_home(0), 20u) << seed;
  }
  EXPECT_GT(both, 0);
}

/// Transactions wait for the lock before they begin, so its holder aborts none of them.
TEST(CcHtmLife, WhoMeetsTheLockWaits) {
  for (const bool update : {true, false}) {
    World w({{"alias_bytes", "64"}, {"ways", "1"}, {"retries", "2"}}, 2);
    int runs = 0;
    bool locked = false;
    w.machine.run_threads(2, [&](int worker) {
      if (worker == 0) {
        w.heap.engine().update([&] {
          ++runs;
          for (size_t i = 0; i < 20; ++i) {
            w.heap.set(i, 1);
          }
          locked = runs == 3;
          for (int pause = 0; locked && pause < 1000; ++pause) {
            w.machine.pause();
          }
        });
        return;
      }
      while (!locked) {
        w.machine.pause();
      }
      if (update) {
        w.heap.write(30 * kLineWords, 1);
      } else {
        EXPECT_EQ(w.heap.read(30 * kLineWords), 0u);
      }
    });
    const Statistics s = w.heap.engine().statistics();
    EXPECT_EQ(s.explicit_aborts[static_cast<size_t>(AbortCode::alias)], 2u);
    EXPECT_EQ(s.explicit_aborts[static_cast<size_t>(AbortCode::lock)], 0u);
    EXPECT_EQ(s.lock_fallbacks, 1u);
  }
}

/// An update that must be durable, and throws, first waits for what it may have read.
TEST(CcHtmLife, AnExceptionLeavesTheHeapBehindWhatItHasSeen) {
  for (const bool durable : {false, true}) {
    World w({{"lag", "8"}, {"patience_us", "100"}}, 2);
    beside_a_body_that_stops(w, [&] {
      w.heap.write(5 * kLineWords, 9);
      EXPECT_THROW(w.heap.engine().update(
                       [&] {
                         EXPECT_EQ(w.heap.get(5 * kLineWords), 9u);
                         throw BodyFails();
                       },
                       durable ? Commit::durable : Commit::later),
                   BodyFails);
      EXPECT_EQ(w.at_home(5 * kLineWords), durable ? 9u : 0u);
    });
  }
}

TEST(CcHtmLife, CountsWhatItDoes) {
  for (const char* retries : {"10", "0"}) {
    SCOPED_TRACE(retries);
    World w({{"retries", retries}}, 1);
    w.machine.run_threads(1, [&](int) {
      for (uint64_t i = 0; i < 3; ++i) {  // a word twice, and a range of three words
        w.heap.engine().update([&] {
          w.heap.set(0, i);
          w.heap.set(0, i + 1);
          const std::array<uint64_t, 3> three{1, 2, 3};
          CcHtm<SimMachine>::store_range(w.heap.word(8), three.data(), sizeof three);
        });
      }
      w.heap.engine().update([] {});
      w.heap.read(0);
      w.heap.read(0);
      for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(w.heap.engine().update([] { throw BodyFails(); }), BodyFails);
      }
    });
    const Statistics s = w.heap.engine().statistics();
    const bool locked = std::string(retries) == "0";
    EXPECT_EQ(s.update_commits, 4u);
    EXPECT_EQ(s.read_commits, 2u);
    EXPECT_EQ(s.user_aborts, 2u);
    EXPECT_EQ(s.lock_fallbacks, locked ? 8u : 0u);
    EXPECT_EQ(s.bytes_stored, 3 * (2 + 3) * sizeof(uint64_t));
    EXPECT_EQ(s.replayed, 3u);
    // A record of two lines, four words at home, and the watermark twice.
    EXPECT_EQ(s.bytes_written, 3 * (2 * kLineBytes + 4 * sizeof(uint64_t) + 2 * kLineBytes));
    // A number that was given back belongs to no later transaction of the thread.
    EXPECT_FALSE(w.machine.probes().contains("cchtm.revoked"));
  }
}

/// The medium before persist event `event` of an update of two words.
SimImage cut_off(uint64_t event) {
  World w({}, 1);
  SimImage image;
  const uint64_t first = w.machine.persist_events();
  w.machine.before_persist_event([&](uint64_t now) {
    if (now == first + event) {
      image = w.machine.earliest_image();
    }
  });
  w.machine.run_threads(1, [&](int) {
    w.heap.engine().update([&] {
      w.heap.set(3, 7);
      w.heap.set(4, 8);
    });
  });
  w.machine.before_persist_event({});
  return image;
}

/// Between the watermark that declares a batch and the one that ends it, recovery brings it home,
/// says so, and does not do it again.
TEST(CcHtmLife, RecoveryReportsTheBatchThatWasOnItsWayHome) {
  int needed = 0;
  for (uint64_t event = 0; event < 1000; ++event) {
    SCOPED_TRACE(event);
    SimImage image = cut_off(event);
    if (image.empty()) {
      break;
    }
    for (const bool again : {false, true}) {
      SimMachine machine(machine_options(1, 1), image);
      Heap heap(machine, World::shape({}, 1));
      heap.recover().check();
      const bool replays = heap.report().needed;
      needed += replays ? 1 : 0;
      EXPECT_FALSE(again && replays);
      EXPECT_EQ(heap.report().transactions, replays ? 1u : 0u);
      EXPECT_EQ(heap.report().bytes, replays ? 2 * sizeof(uint64_t) : 0u);
      EXPECT_EQ(heap.read(3) == 7, heap.read(4) == 8);
      EXPECT_TRUE(!replays || heap.read(3) == 7);
      image = machine.earliest_image();
    }
  }
  EXPECT_GT(needed, 0);
}

/// A heap has logs for so many threads. One more is refused, and touches none of them.
TEST(CcHtmLife, AThreadWithoutALogIsAnError) {
  SimMachine machine(machine_options(3, 1));
  Heap heap(machine, World::shape({}, 1));
  heap.format().check();
  heap.recover().check();
  int refused = 0;
  machine.run_threads(3, [&](int worker) {
    try {
      heap.write(static_cast<size_t>(worker) * kLineWords, 1);
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(error.status().message().find("threads"), std::string::npos);
    }
  });
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace holdfast::cc_htm_test::cc_htm_life_test
