// SPDX-License-Identifier: Apache-2.0
// Can a design abort a thread's transaction, with no trace of it left, and does the thread learn of
// it?
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::doom_test {
namespace {

/// Transactions keep their lines in caches, flagged with their thread. An access by another thread
/// aborts them, and so does the eviction of such a line from the last level.
class Eager final : public HardwareDesign {
 public:
  explicit Eager(size_t most_lines = 1000) : most_lines_(most_lines) {}

  DesignWishes wishes() const override {
    return {.versions = true, .touches = true, .dooms = true, .flags_move_up = true};
  }
  Time first_store(const DesignStore& store, Time now) override {
    std::vector<uint32_t>& lines = lines_[store.tx.slot];
    if (lines.size() == most_lines_) {
      context().doom(store.tx.slot, AbortCause::capacity, now);
      return now;
    }
    if (store.dirty && store.flags == 0) {
      const Time done = context().push_down(store.tx.core, store.line.line, now);
      if (done > now) {
        return done;
      }
    }
    context().set_flags_in_l1(store.tx.core, store.line.line, flag(store.tx.slot));
    lines.push_back(store.line.line);
    return now;
  }
  void touched(const Touch& touch, Time now) override {
    if (touch.flags != flag(touch.slot)) {
      context().doom(touch.flags - 1, AbortCause::conflict, now);
    }
  }
  bool keeps(const CachedLine& resident, uint8_t coming) override {
    return resident.flags == 0 && coming != 0;
  }
  Leaving leaving(const LineMove& move, Time now) override {
    if (move.from != Level::llc) {
      return HardwareDesign::leaving(move, now);
    }
    context().doom(move.flags - 1, AbortCause::capacity, now);
    return {.dirty = false, .flags = 0, .done = now};
  }
  Time commit(const DesignTransaction& tx, Time now) override {
    for (const uint32_t line : lines_[tx.slot]) {
      context().set_flags(line, 0);
    }
    lines_[tx.slot].clear();
    return now;
  }
  Time abort(const DesignTransaction& tx, Time now) override {
    for (const uint32_t line : lines_[tx.slot]) {
      context().drop(line);
    }
    lines_[tx.slot].clear();
    return now;
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  static uint8_t flag(int slot) { return static_cast<uint8_t>(slot + 1); }

  size_t most_lines_;
  std::map<int, std::vector<uint32_t>> lines_;  ///< by slot: those of the open transaction
};

/// Runs the body as a transaction until it commits. Returns the causes of aborts.
template <class F>
std::vector<AbortCause> atomically(DesignMachine& m, F&& body) {
  std::vector<AbortCause> causes;
  for (;;) {
    try {
      m->tx_start();
      body(causes.size());
      m->tx_commit();
      return causes;
    } catch (const HtmAbort&) {
      causes.push_back(m->tx_caught());
      m->work(100 * causes.size() * static_cast<uint64_t>(m->self() + 1));
    }
  }
}

using Causes = std::vector<AbortCause>;

TEST(DesignDoom, ARemoteAccessAbortsTheOwnerAndSeesTheOlderVersion) {
  for (const bool write : {false, true}) {
    DesignMachine m(options_for<Eager>(roomy(), Domain::pmem));
    m->run_threads(2, [&](int worker) {
      if (worker == 0) {
        m.transaction(0, 3, 1);
        m.set(0, 1, 1);
        m->fence();
        const Causes causes = atomically(m, [&](size_t attempt) {
          EXPECT_EQ(m.get(2), 1u);
          m.set(0, 2 + attempt);
          m.set(1, 2 + attempt);
          m->fence();
          EXPECT_EQ(m.get(0), 2 + attempt) << "its own store";
          m->sleep_until(attempt == 0 ? 5'000'000 : 0);
          m.get(2);  // here it learns of the abort
          EXPECT_NE(attempt, 0u);
        });
        EXPECT_EQ(causes, Causes{AbortCause::conflict});
      } else {
        m->sleep_until(4'000'000);
        if (write) {
          m.set(0, 7, 1);
          m->fence();
        }
        EXPECT_EQ(m.get(0), 1u);
        EXPECT_EQ(m.get(1), 1u) << "the whole transaction has vanished";
        EXPECT_EQ(m.get(0, 1), write ? 7u : 1u);
      }
    });
    EXPECT_EQ(m.get(0), 3u);
    EXPECT_EQ(m.get(1), 3u);
    EXPECT_EQ(m.get(0, 1), write ? 7u : 1u) << "a word that no transaction has stored to";
    EXPECT_EQ(m->design_counters().doomed, 1u);
    EXPECT_EQ(m->design_counters().aborts, 1u);
    EXPECT_EQ(m->design_counters().transactions, 2u);
  }
}

TEST(DesignDoom, StoresThatWaitInTheStoreBufferVanish) {
  DesignMachine m(options_for<Eager>(roomy(), Domain::pmem));
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m->tx_start();
      m.set(0, 2);
      m->fence();
      m->sleep_until(4'000'000);
      for (size_t line = 10; line < 20; ++line) {
        m.set(line, 2);  // each waits for its line, 70 ns and more
      }
      EXPECT_THROW(m->tx_commit(), HtmAbort);
      EXPECT_EQ(m->tx_caught(), AbortCause::conflict);
      m->fence();
    } else {
      m.get(1);
      m->sleep_until(4'050'000);
      m.get(0);
      for (size_t line = 10; line < 20; ++line) {
        EXPECT_EQ(m.get(line), 0u);
      }
    }
  });
  for (size_t line = 0; line < 20; ++line) {
    EXPECT_EQ(m.get(line), 0u) << line;
  }
  EXPECT_EQ(m->design_counters().transactions, 0u);
}

TEST(DesignDoom, AThreadLearnsOfItAtTheCommitToo) {
  DesignMachine m(options_for<Eager>(roomy(), Domain::pmem));
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m->tx_start();
      m.set(0, 2);
      m->fence();
      m->sleep_until(5'000'000);
      EXPECT_THROW(m->tx_commit(), HtmAbort);
      EXPECT_EQ(m->tx_caught(), AbortCause::conflict);
      EXPECT_EQ(m->tx_caught(), AbortCause::none);
      m.transaction(0, 1, 3);
    } else {
      m->sleep_until(4'000'000);
      EXPECT_EQ(m.get(0), 0u);
    }
  });
  EXPECT_EQ(m.get(0), 3u);
}

TEST(DesignDoom, AnAbortByTheProgramAfterItIsTheSameAbort) {
  DesignMachine m(options_for<Eager>(roomy(), Domain::pmem, size_t{1}));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m.set(1, 1);  // one line too many
    m->tx_abort();
    EXPECT_EQ(m->tx_caught(), AbortCause::none);
    m.transaction(5, 1, 1);
  });
  EXPECT_EQ(m.get(0), 0u);
  EXPECT_EQ(m->design_counters().aborts, 1u);
  EXPECT_EQ(m->design_counters().transactions, 1u);
}

TEST(DesignDoom, ADesignMayAbortTheTransactionWhoseStoreItSees) {
  DesignMachine m(options_for<Eager>(roomy(), Domain::pmem, size_t{3}));
  m.run([&] {
    m.transaction(0, 3, 1);
    const Causes causes = atomically(m, [&](size_t attempt) {
      for (size_t line = 0; line < 4 - attempt; ++line) {
        m.set(line, 2);
      }
    });
    EXPECT_EQ(causes, Causes{AbortCause::capacity});
    EXPECT_EQ(m.get(3), 0u);
    EXPECT_EQ(m.get(2), 2u);
  });
  EXPECT_EQ(m->design_counters().first_stores, 3u + 3 + 3);
}

// The stores bring lines into full caches, so a line of their own transaction leaves. The store
// that brought the line must vanish with the transaction.
TEST(DesignDoom, ATransactionThatEvictsItselfLeavesNoStoreBehind) {
  DesignMachine m(options_for<Eager>(tiny(), Domain::pmem));
  m.run([&] {
    for (uint64_t lines = 2; lines < 40; ++lines) {
      try {
        m->tx_start();
        for (size_t line = 0; line < lines; ++line) {
          m.set(line, lines);
        }
        m->tx_commit();
        for (size_t line = 0; line < lines; ++line) {
          EXPECT_EQ(m.get(line), lines);
        }
        m.transaction(0, 1, 0);
      } catch (const HtmAbort&) {
        EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
        m->fence();
        const uint64_t before = m.get(1);
        EXPECT_LT(before, lines);
        EXPECT_EQ(m.get(0), 0u) << lines;
        for (size_t line = 1; line < 40; ++line) {
          EXPECT_EQ(m.get(line), line < before ? before : 0u) << lines << " line " << line;
        }
      }
    }
  });
  EXPECT_GT(m->design_counters().doomed, 20u);
  EXPECT_GT(m->design_counters().transactions, 5u);
}

// The transaction's version leaves L1 for L2, and the committed one leaves L2 for the last level.
TEST(DesignDoom, AnOlderVersionInTheLastLevelOutlivesAnotherStore) {
  MachineDescription machine = tiny();
  machine.l2.bytes = machine.llc.bytes = 1 << 20;
  DesignMachine m(options_for<Eager>(machine, Domain::pmem));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->tx_start();
    m.set(0, 2);
    for (size_t line = 2; line < 20; line += 2) {
      m.get(line);
    }
    m->fence();
    m.set(0, 3);
    m->fence();
    m->tx_abort();
    EXPECT_EQ(m.get(0), 1u);
  });
  EXPECT_EQ(m->statistics().medium_writes, 0u);
}

TEST(DesignDoom, AThreadThatWaitsForAnotherOneWakesUp) {
  DesignMachine m(options_for<Eager>(roomy(), Domain::pmem));
  auto* words = make_array<SimMachine::Atomic<uint64_t>>(m.machine(), 1);
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m->tx_start();
      m.set(0, 2);
      m->fence();
      EXPECT_THROW(m->wait_while(words[0], uint64_t{0}), HtmAbort);
      EXPECT_EQ(m->now() / 1'000'000, 4u) << "us: when the other thread has loaded the line";
      EXPECT_EQ(m->tx_caught(), AbortCause::conflict);
    } else {
      m->sleep_until(4'000'000);
      EXPECT_EQ(m.get(0), 0u);
    }
  });
}

// Line 0 is the lock: a transaction that stores to it aborts the one that has. So no increment of
// another line is lost, without a lock in software.
TEST(DesignDoom, TransactionsIsolateEachOther) {
  constexpr uint64_t kRounds = 30;
  for (uint64_t seed = 0; seed <= 20; ++seed) {
    SimOptions o = options_for<Eager>(seed % 2 == 0 ? tiny() : roomy(), Domain::pmem);
    o.disturb = seed;
    DesignMachine m(o);
    size_t aborts = 0;
    m->run_threads(3, [&](int worker) {
      for (uint64_t round = 0; round < kRounds; ++round) {
        aborts += atomically(m, [&](size_t) {
                    m.set(0, static_cast<uint64_t>(worker));
                    m->fence();
                    m.set(1, m.get(1) + 1);
                    m.set(2, m.get(2) + 1);
                  }).size();
      }
    });
    EXPECT_EQ(m.get(1), 3 * kRounds) << "seed " << seed;
    EXPECT_EQ(m.get(2), 3 * kRounds) << "seed " << seed;
    EXPECT_GT(aborts, 0u);
    EXPECT_EQ(m->design_counters().doomed, aborts);
  }
}

}  // namespace
}  // namespace holdfast::design_test::doom_test
