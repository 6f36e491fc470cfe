// SPDX-License-Identifier: Apache-2.0
// Does the simulated hardware transactional memory keep its rules, tightly?
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/careless.h"

namespace holdfast::htm_test {
namespace {

struct alignas(128) Line {
  SimMachine::Atomic<uint64_t> word{};
  alignas(128) uint64_t plain = 0;
};

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

/// Lets two threads take turns at points that a test names. The turn is a variable of the host, so
/// a wait for it does not access the simulated memory.
class Turns {
 public:
  explicit Turns(SimMachine& machine) : machine_(machine) {}
  void wait_for(int turn) {
    while (turn_ < turn) {
      machine_.pause();
    }
  }
  void reach(int turn) { turn_ = turn; }

 private:
  SimMachine& machine_;
  int turn_ = 0;
};

enum class Access { load, store, rmw, failed_cas, tx_load, tx_store };

void perform(SimMachine& machine, Access access, uint64_t* p) {
  auto& word = *reinterpret_cast<SimMachine::Atomic<uint64_t>*>(p);
  SimMachine::HtmThread& htm = machine.htm(machine.self());
  switch (access) {
    case Access::load:
      htm.outside_load(p);
      break;
    case Access::store:
      htm.outside_store(p, uint64_t{50});
      break;
    case Access::rmw:
      word.fetch_add(1);
      break;
    case Access::failed_cas: {
      uint64_t wrong = 12345;
      EXPECT_FALSE(word.compare_exchange(wrong, 1));
      break;
    }
    case Access::tx_load:
      htm.begin(Tracking::all);
      htm.load(p);
      htm.commit();
      break;
    case Access::tx_store:
      htm.begin(Tracking::all);
      htm.store(p, uint64_t{51});
      htm.commit();
      break;
  }
  machine.fence();
}

struct Conflict {
  Tracking tracking;
  bool stores;  ///< the first transaction stores to the line; else it loads
  bool suspended;
  Access access;
  bool dooms;
};

std::ostream& operator<<(std::ostream& out, const Conflict& c) {
  return out << (c.tracking == Tracking::all ? "all" : "stores") << (c.stores ? " store" : " load")
             << (c.suspended ? " suspended" : "") << " access " << static_cast<int>(c.access);
}

class SimHtmConflict : public testing::TestWithParam<Conflict> {};

TEST_P(SimHtmConflict, RequesterWins) {
  const Conflict c = GetParam();
  SimMachine machine({.threads = 2});
  auto* line = make_array<uint64_t>(machine, 4 * kLineWords) + kLineWords;
  Turns turns(machine);
  machine.run_threads(2, [&](int i) {
    if (i == 1) {
      turns.wait_for(1);
      perform(machine, c.access, line + 3);  // another word of the same line
      turns.reach(2);
      return;
    }
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    EXPECT_EQ(htm.begin(c.tracking), AbortCause::none);
    try {
      c.stores ? htm.store(line, uint64_t{7}) : static_cast<void>(htm.load(line));
      machine.fence();  // the store takes its line
      if (c.suspended) {
        htm.suspend();
      }
      turns.reach(1);
      turns.wait_for(2);
      EXPECT_EQ(htm.doomed(), c.dooms);
      if (c.suspended) {
        SimMachine::load(line + kLineWords);  // untracked accesses go on while doomed
        htm.resume();
        EXPECT_FALSE(c.dooms) << "resume tells";
      }
      htm.commit();
      EXPECT_FALSE(c.dooms);
    } catch (const HtmAbort&) {
      EXPECT_TRUE(c.dooms);
      EXPECT_EQ(htm.caught(), AbortCause::conflict);
    }
    EXPECT_FALSE(htm.open());
  });
  EXPECT_EQ(SimMachine::load(line), c.stores && !c.dooms ? 7u : 0u);
}

std::vector<Conflict> conflicts() {
  std::vector<Conflict> all;
  for (const bool suspended : {false, true}) {
    for (const Tracking tracking : {Tracking::all, Tracking::stores}) {
      for (const Access access : {Access::load, Access::store, Access::rmw, Access::failed_cas,
                                  Access::tx_load, Access::tx_store}) {
        const bool writes =
            access == Access::store || access == Access::rmw || access == Access::tx_store;
        all.push_back({tracking, true, suspended, access, true});
        all.push_back({tracking, false, suspended, access, writes && tracking == Tracking::all});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, SimHtmConflict, testing::ValuesIn(conflicts()));

/// Runs one transaction on one thread. Returns the cause of its abort; `none` if it committed.
AbortCause attempt(SimMachine& machine, Tracking tracking, const std::function<void()>& body) {
  SimMachine::HtmThread& htm = machine.htm(machine.self());
  try {
    htm.begin(tracking);
    body();
    htm.commit();
    return AbortCause::none;
  } catch (const HtmAbort&) {
    return htm.caught();
  }
}

TEST(SimHtm, CapacityHoldsExactlyAtTheLimitAndNotOneBeyond) {
  for (const size_t line_bytes : {size_t{64}, size_t{128}}) {
    SimMachine machine(
        {.threads = 1, .line_bytes = line_bytes, .htm_store_lines = 8, .htm_load_lines = 16});
    auto* memory = static_cast<char*>(machine.allocate(64 * line_bytes, line_bytes));
    const auto touch = [&](Tracking tracking, size_t loads, size_t stores) {
      return attempt(machine, tracking, [&] {
        for (size_t i = 0; i < loads; ++i) {
          SimMachine::load(reinterpret_cast<uint64_t*>(memory + i * line_bytes));
          SimMachine::load(reinterpret_cast<uint64_t*>(memory + (i + 1) * line_bytes - 8));
        }
        for (size_t i = 0; i < stores; ++i) {
          SimMachine::store(reinterpret_cast<uint64_t*>(memory + (32 + i) * line_bytes),
                            uint64_t{1});
        }
      });
    };
    machine.run_threads(1, [&](int) {
      EXPECT_EQ(touch(Tracking::all, 16, 8), AbortCause::none);
      EXPECT_EQ(touch(Tracking::all, 17, 0), AbortCause::capacity);
      EXPECT_EQ(touch(Tracking::all, 0, 9), AbortCause::capacity);
      EXPECT_EQ(touch(Tracking::stores, 30, 8), AbortCause::none) << "untracked loads take no room";
      EXPECT_EQ(touch(Tracking::stores, 0, 9), AbortCause::capacity);
    });
  }
}

TEST(SimHtm, StoresBecomeVisibleAtOneInstant) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed});
    auto* words = make_array<uint64_t>(machine, 4 * kLineWords);
    uint64_t* other = words + 2 * kLineWords;
    machine.run_threads(2, [&](int i) {
      if (i == 0) {
        for (uint64_t round = 1; round <= 5; ++round) {
          while (attempt(machine, Tracking::stores, [&] {
                   SimMachine::store(words, round);
                   SimMachine::store(other, round);
                 }) != AbortCause::none) {
          }
        }
        return;
      }
      for (int k = 0; k < 20; ++k) {
        // The loads run in both orders: they would catch a commit between its words if it published
        // word by word.
        const uint64_t early = SimMachine::load(k % 2 == 0 ? words : other);
        const uint64_t late = SimMachine::load(k % 2 == 0 ? other : words);
        ASSERT_GE(late, early) << "seed " << seed;
      }
    });
    EXPECT_EQ(SimMachine::load(words), 5u);
  }
}

TEST(SimHtm, OnlyItsThreadSeesASpeculativeValueAlsoWhileSuspended) {
  SimMachine machine({.threads = 2});
  auto* word = make_array<uint64_t>(machine, 4 * kLineWords);
  uint64_t* other = word + 2 * kLineWords;
  Turns turns(machine);
  machine.run_threads(2, [&](int i) {
    if (i == 1) {
      turns.wait_for(1);
      EXPECT_EQ(SimMachine::load(other), 3u) << "stored while suspended: visible before the commit";
      EXPECT_EQ(*word, 0u) << "what is in memory, without an access";
      turns.reach(2);
      return;
    }
    const AbortCause cause = attempt(machine, Tracking::all, [&] {
      SimMachine::HtmThread& htm = machine.htm(machine.self());
      htm.store(word, uint64_t{9});
      EXPECT_EQ(htm.load(word), 9u);
      htm.suspend();
      EXPECT_EQ(htm.load(word), 9u) << "from the store buffer or from the transaction";
      htm.store(other, uint64_t{3});
      machine.fence();
      EXPECT_EQ(htm.load(word), 9u);
      turns.reach(1);
      turns.wait_for(2);
      htm.resume();
    });
    EXPECT_EQ(cause, AbortCause::none);
  });
  EXPECT_EQ(SimMachine::load(word), 9u);
}

TEST(SimHtm, AnAbortDropsTransactionalEntriesOnly) {
  SimMachine machine({.threads = 1, .drain_probability = 0});
  auto* words = make_array<uint64_t>(machine, 8 * kLineWords);
  const auto at = [&](size_t i) { return words + i * kLineWords; };
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    SimMachine::store(at(0), uint64_t{1});
    htm.begin(Tracking::all);
    EXPECT_EQ(*at(0), 0u) << "begin does not drain the buffer";
    htm.store(at(1), uint64_t{2});
    htm.suspend();
    EXPECT_EQ(*at(0), 0u) << "neither does suspend";
    htm.store(at(2), uint64_t{3});
    try {
      htm.abort(AbortCode::revoked);
      FAIL();
    } catch (const HtmAbort&) {
      EXPECT_EQ(htm.caught(), AbortCause::explicit_abort);
      EXPECT_EQ(htm.caught_code(), AbortCode::revoked);
    }
    EXPECT_EQ(SimMachine::load(at(0)), 1u);
    EXPECT_EQ(SimMachine::load(at(1)), 0u);
    EXPECT_EQ(SimMachine::load(at(2)), 3u);
    EXPECT_EQ(*at(0), 0u) << "still only in the buffer";
  });
  EXPECT_EQ(*at(0), 1u);
  EXPECT_EQ(*at(1), 0u);
  EXPECT_EQ(*at(2), 3u);
}

TEST(SimHtm, ASuspendedStoreToTheOwnWriteSetDooms) {
  SimMachine machine({.threads = 1});
  auto* word = make_object<uint64_t>(machine);
  machine.run_threads(1, [&](int) {
    EXPECT_EQ(attempt(machine, Tracking::all,
                      [&] {
                        SimMachine::HtmThread& htm = machine.htm(machine.self());
                        htm.store(word, uint64_t{1});
                        htm.suspend();
                        htm.store(word, uint64_t{2});
                        machine.fence();
                        htm.resume();
                      }),
              AbortCause::conflict);
    EXPECT_EQ(SimMachine::load(word), 2u);
  });
}

TEST(SimHtm, BetweenTheThrowAndCaughtStoresAreDroppedAndLoadsAreRaw) {
  SimMachine machine({.threads = 1});
  auto* word = make_array<SimMachine::Atomic<uint64_t>>(machine, 2);
  struct Guard {
    SimMachine::Atomic<uint64_t>& word;
    SimMachine::HtmThread& htm;
    ~Guard() {
      EXPECT_EQ(word.load(), 0u) << "not the transaction's own 5";
      word.store(99);
      word.fetch_add(1);
    }
  };
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    EXPECT_EQ(attempt(machine, Tracking::all,
                      [&] {
                        const Guard guard{word[0], htm};
                        word[0].store(5);
                        htm.abort(AbortCode::none);
                      }),
              AbortCause::explicit_abort);
    EXPECT_EQ(word[0].load(), 0u);
  });
}

TEST(SimHtm, ASwallowedAbortCannotCommit) {
  SimMachine machine({.threads = 1});
  auto* word = make_object<uint64_t>(machine);
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    const AbortCause cause = attempt(machine, Tracking::all, [&] {
      careless([&] { htm.abort(AbortCode::none); });
      SimMachine::store(word, uint64_t{1});
    });
    EXPECT_EQ(cause, AbortCause::explicit_abort);
    EXPECT_EQ(SimMachine::load(word), 0u);
  });
}

TEST(SimHtm, CancelRollsBackWithoutAThrow) {
  SimMachine machine({.threads = 1});
  auto* word = make_object<uint64_t>(machine);
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    htm.begin(Tracking::all);
    SimMachine::store(word, uint64_t{1});
    htm.cancel();
    EXPECT_FALSE(htm.open());
    EXPECT_EQ(SimMachine::load(word), 0u);
    EXPECT_EQ(attempt(machine, Tracking::all, [&] { SimMachine::store(word, uint64_t{2}); }),
              AbortCause::none);
    EXPECT_EQ(SimMachine::load(word), 2u);
  });
}

TEST(SimHtm, AWaiterWhoseTransactionIsDoomedWakesUp) {
  SimMachine machine({.threads = 2});
  auto* word = make_array<SimMachine::Atomic<uint64_t>>(machine, 4 * kLineWords);
  auto* line = reinterpret_cast<uint64_t*>(word + 2 * kLineWords);
  Turns turns(machine);
  machine.run_threads(2, [&](int i) {
    if (i == 1) {
      turns.wait_for(1);
      for (int k = 0; k < 20; ++k) {
        machine.pause();  // lets the other thread block
      }
      SimMachine::load(line);
      return;
    }
    const AbortCause cause = attempt(machine, Tracking::stores, [&] {
      SimMachine::HtmThread& htm = machine.htm(machine.self());
      htm.store(line, uint64_t{1});
      machine.fence();
      htm.suspend();
      turns.reach(1);
      while (!htm.doomed()) {
        EXPECT_EQ(machine.wait_while(*word, uint64_t{0}), 0u);
      }
      htm.resume();
    });
    EXPECT_EQ(cause, AbortCause::conflict);
  });
}

TEST(SimHtm, ACommitWakesThreadsThatWaitForItsWords) {
  SimMachine machine({.threads = 2});
  auto* word = make_object<SimMachine::Atomic<uint64_t>>(machine);
  machine.run_threads(2, [&](int i) {
    if (i == 1) {
      EXPECT_EQ(machine.wait_while(*word, uint64_t{0}), 4u);
      return;
    }
    for (int k = 0; k < 50; ++k) {
      machine.pause();  // lets the other thread block
    }
    EXPECT_EQ(attempt(machine, Tracking::all, [&] { word->store(4); }), AbortCause::none);
  });
}

TEST(SimHtm, MisuseIsAnErrorAndNotABug) {
  SimMachine machine;
  SimMachine::HtmThread& htm = machine.htm(machine.self());
  EXPECT_THROW(htm.commit(), Error);
  EXPECT_THROW(htm.suspend(), Error);
  EXPECT_THROW(htm.abort(AbortCode::none), Error);
  htm.begin(Tracking::all);
  EXPECT_THROW(htm.begin(Tracking::all), Error);
  EXPECT_THROW(htm.resume(), Error);
  htm.commit();
  EXPECT_EQ(htm.caught(), AbortCause::none);
}

TEST(SimHtm, ConcurrentTransactionsAddUp) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimMachine machine({.threads = 4, .seed = seed});
    auto* words = make_array<uint64_t>(machine, 2 * kLineWords);
    uint64_t aborts = 0;
    machine.run_threads(4, [&](int) {
      for (int k = 0; k < 10; ++k) {
        while (attempt(machine, Tracking::all, [&] {
                 SimMachine::store(words, SimMachine::load(words) + 1);
                 SimMachine::store(words + kLineWords, SimMachine::load(words + kLineWords) + 1);
               }) != AbortCause::none) {
          ++aborts;
          machine.pause();
        }
      }
    });
    ASSERT_EQ(SimMachine::load(words), 40u) << "seed " << seed;
    ASSERT_EQ(SimMachine::load(words + kLineWords), 40u) << "seed " << seed;
    ASSERT_GT(aborts, 0u);
  }
}

/// One thread stores x in a transaction and looks at y without tracking, the other one stores y and
/// looks at x.
TEST(SimHtm, StoresHaveTakenTheirLinesWhenLoadsAreLeftUntracked) {
  int both = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed, .drain_probability = 0.01});
    auto* words = make_array<Line>(machine, 2);
    bool committed = false;
    uint64_t seen_y = 1;
    uint64_t seen_x = 1;
    machine.run_threads(2, [&](int thread) {
      auto& htm = machine.htm(machine.self());
      if (thread == 1) {
        words[1].word.store(1);
        seen_x = SimMachine::load(&words[0].plain);
        return;
      }
      try {
        htm.begin(Tracking::all);
        htm.store(&words[0].plain, uint64_t{1});
        htm.track(Tracking::stores);
        seen_y = words[1].word.load();
        htm.track(Tracking::all);
        htm.commit();
        committed = true;
      } catch (const HtmAbort&) {
        htm.caught();
      }
    });
    ASSERT_FALSE(committed && seen_y == 0 && seen_x == 0) << "seed " << seed;
    both += committed && seen_y == 0 ? 1 : 0;
  }
  EXPECT_GT(both, 0) << "no transaction commits before the other store";
}

/// Write-back instructions abort a transaction (Intel SDM 1, 16.3.8). Otherwise a log could become
/// durable within the transaction that it belongs to.
TEST(SimHtmPersistence, AWriteBackAbortsTheTransaction) {
  SimMachine machine(SimOptions{});
  machine.medium().grow(kPageBytes).check();
  auto* const word = reinterpret_cast<uint64_t*>(
      machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    htm.begin(Tracking::all);
    htm.store(word, uint64_t{1});
    EXPECT_THROW(machine.pwb(word), HtmAbort);
    EXPECT_EQ(htm.caught(), AbortCause::other);
    EXPECT_EQ(SimMachine::load(word), 0u);

    htm.begin(Tracking::all);
    htm.store(word + kLineWords, uint64_t{2});
    htm.suspend();
    machine.pwb(word);
    htm.resume();
    htm.commit();
    EXPECT_EQ(SimMachine::load(word + kLineWords), 2u) << "suspended: no part of the transaction";
  });
}

/// In a domain without write-backs none is executed.
TEST(SimHtmPersistence, AWriteBackThatIsNoneAbortsNothing) {
  SimOptions options;
  options.domain = Domain::eadr;
  SimMachine machine(options);
  machine.medium().grow(kPageBytes).check();
  auto* const word = reinterpret_cast<uint64_t*>(
      machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
  machine.run_threads(1, [&](int) {
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    htm.begin(Tracking::all);
    htm.store(word, uint64_t{1});
    machine.pwb(word);
    htm.commit();
    EXPECT_EQ(SimMachine::load(word), 1u);
  });
}

}  // namespace
}  // namespace holdfast::htm_test
