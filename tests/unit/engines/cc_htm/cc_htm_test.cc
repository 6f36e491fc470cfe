// SPDX-License-Identifier: Apache-2.0
// cc-HTM's own traps: aliases and home, what a body that stops does to others, a set of the alias
// table that is too small, and the watermark.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/engines/cc_htm/cc_htm_world.h"

namespace holdfast::cc_htm_test {
namespace {

/// The paper, 3.2: TXFence is for code that loads a variable outside transactions.
TEST(CcHtm, AFenceBringsTheNewValuesHome) {
  World w({{"lag", "8"}}, 1);
  w.machine.run_threads(1, [&](int) {
    w.heap.write(3, 7);
    w.heap.engine().fence();
    EXPECT_EQ(w.at_home(3), 7u);
    EXPECT_EQ(w.heap.engine().pending().count, 0u);
  });
}

/// A blue transaction keeps a later one from retiring: its home has the old value meanwhile, and
/// transactions see the new one.
TEST(CcHtm, BeforeRetirementTheHomeHasTheOldValue) {
  World w({{"lag", "8"}, {"patience_us", "1000000000"}}, 2);
  // Variables of the test itself: a body's stores to the machine's memory belong to it.
  bool in_body = false;
  bool go_on = false;
  const auto await = [&](const bool& flag) {
    while (!flag) {
      w.machine.pause();
    }
  };
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      bool first = true;
      w.heap.engine().update([&] {
        w.heap.set(0, 1);
        if (first) {
          first = false;
          in_body = true;
          await(go_on);
        }
      });
      return;
    }
    await(in_body);
    w.heap.write(5 * kLineWords, 9);
    EXPECT_EQ(w.heap.read(5 * kLineWords), 9u);
    EXPECT_EQ(w.at_home(5 * kLineWords), 0u);
    EXPECT_EQ(w.heap.engine().pending().count, 1u);
    go_on = true;
    w.heap.engine().fence();
    EXPECT_EQ(w.at_home(5 * kLineWords), 9u);
  });
}

/// Figure 6 of the paper: the red transactions that follow a long blue one wait for it.
TEST(CcHtm, ALongTransactionRaisesThePendingGauge) {
  constexpr uint64_t kUpdates = 10;  // fewer than the log has room for
  World w({{"lag", "64"}, {"patience_us", "1000000000"}}, 2);
  bool in_body = false;
  bool go_on = false;
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update([&] {
        w.heap.set(0, 1);
        in_body = true;
        while (!go_on) {
          w.machine.pause();
        }
      });
      return;
    }
    while (!in_body) {
      w.machine.pause();
    }
    for (uint64_t i = 1; i <= kUpdates; ++i) {
      w.heap.write(5 * kLineWords, i);
      EXPECT_EQ(w.heap.engine().pending().count, i);
    }
    go_on = true;
    w.heap.engine().fence();
    EXPECT_EQ(w.heap.engine().pending().count, 0u);
  });
}

/// A body that waits for an update of another thread keeps that update from retiring, until it is
/// given up.
TEST(CcHtm, ABodyThatStopsStallsNobody) {
  World w({{"patience_us", "100"}}, 2);
  bool in_body = false;
  bool returned = false;
  int runs = 0;
  w.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update([&] {
        w.heap.set(0, 1);
        ++runs;
        in_body = true;
        while (!returned) {
          w.machine.pause();
        }
      });
      return;
    }
    while (!in_body) {
      w.machine.pause();
    }
    w.heap.write(5 * kLineWords, 9);
    EXPECT_EQ(w.at_home(5 * kLineWords), 9u) << "strict: it has retired";
    returned = true;
  });
  EXPECT_GE(runs, 2) << "its first attempt was given up";
  EXPECT_EQ(w.heap.read(0), 1u);
}

/// A transaction whose record does not fit behind the others starts again with an empty log. The
/// number of its first attempt must not keep it from retiring until somebody's patience ends.
TEST(CcHtm, AnAttemptWithoutRoomInTheLogGivesItsNumberBack) {
  constexpr uint64_t kPatienceMs = 1000;
  World w({{"lag", "64"},
           {"log_bytes", "1024"},
           {"alias_bytes", "65536"},
           {"patience_us", std::to_string(1000 * kPatienceMs)}},
          1);
  int runs = 0;
  w.machine.run_threads(1, [&](int) {
    for (uint64_t i = 0; i < 7; ++i) {  // nearly a half of the log
      w.heap.write(0, i);
    }
    const uint64_t begin = w.machine.now();
    w.heap.engine().update([&] {  // more than a half
      ++runs;
      for (size_t word = 8; word < 8 + 36; ++word) {
        w.heap.set(word, word);
      }
    });
    w.heap.engine().fence();
    EXPECT_LT(w.machine.now() - begin, w.machine.ticks_of_ms(kPatienceMs));
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(w.at_home(8), 8u);
}

/// One long body among short strict ones commits.
TEST(CcHtm, ALongBodyEnds) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World w({{"patience_us", "100"}}, 3, seed);
    bool done = false;
    w.machine.run_threads(3, [&](int worker) {
      if (worker == 0) {
        w.heap.engine().update([&] {
          for (size_t i = 0; i < 30; ++i) {
            w.heap.set(i * kLineWords, w.heap.get(i * kLineWords) + 1);
            for (int pause = 0; pause < 30; ++pause) {
              w.machine.pause();
            }
          }
        });
        done = true;
        return;
      }
      for (size_t i = 0; !done; ++i) {
        const size_t word = (i * 7 + static_cast<size_t>(worker)) % 30 * kLineWords + 1;
        w.heap.write(word, i);
      }
    });
    for (size_t i = 0; i < 30; ++i) {
      EXPECT_EQ(w.heap.read(i * kLineWords), 1u) << "seed " << seed;
    }
  }
}

/// More words than the table has entries: hardware can never commit it, so it takes the lock. Its
/// entries from before must not hide its values.
TEST(CcHtm, ATransactionLargerThanTheAliasTableTakesTheLock) {
  World w({{"alias_bytes", "64"}, {"ways", "1"}, {"retries", "2"}}, 1);
  w.machine.run_threads(1, [&](int) {
    w.heap.write(0, 1);
    w.heap.engine().update([&] {
      for (size_t i = 0; i < 20; ++i) {
        w.heap.set(i, 10 + i);
      }
      EXPECT_EQ(w.heap.get(0), 10u);
    });
    EXPECT_EQ(w.heap.engine().statistics().lock_fallbacks, 1u);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(w.heap.read(i), 10 + i);
      EXPECT_EQ(w.at_home(i), 10 + i);
    }
  });
}

/// Statistics tell a full set of the alias table from other aborts by the engine.
TEST(CcHtm, AFullSetHasItsOwnAbortCode) {
  World w({{"alias_bytes", "64"}, {"ways", "1"}, {"retries", "2"}}, 1);
  w.machine.run_threads(1, [&](int) {
    w.heap.engine().update([&] {
      for (size_t i = 0; i < 20; ++i) {
        w.heap.set(i, i);
      }
    });
  });
  const Statistics s = w.heap.engine().statistics();
  EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::explicit_abort)], 2u);
  EXPECT_EQ(s.explicit_aborts[static_cast<size_t>(AbortCode::alias)], 2u);
  EXPECT_EQ(s.explicit_aborts[static_cast<size_t>(AbortCode::lock)], 0u);
}

/// A chain of small transactions over one set of the table: each waits for a retirement, and none
/// while it has a number, so that they go on.
TEST(CcHtm, ASetThatIsTooSmallSticksNobody) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World w({{"alias_bytes", "64"}, {"ways", "1"}, {"lag", "6"}, {"ring", "4"}}, 3, seed);
    w.machine.run_threads(3, [&](int worker) {
      for (size_t i = 0; i < 12; ++i) {
        const size_t word = (i + static_cast<size_t>(worker)) % 8;
        w.heap.engine().update([&] { w.heap.set(word, w.heap.get(word) + 1); });
      }
    });
    uint64_t sum = 0;
    for (size_t word = 0; word < 8; ++word) {
      sum += w.heap.read(word);
    }
    EXPECT_EQ(sum, 36u) << "seed " << seed;
  }
}

/// Others give up bodies all the time, in hardware and at the end of the lock.
TEST(CcHtm, GivingUpLosesNothing) {
  for (const char* retries : {"0", "1", "10"}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      World w({{"patience_us", "1"}, {"retries", retries}, {"ring", "4"}, {"lag", "2"}}, 3, seed);
      w.machine.run_threads(3, [&](int worker) {
        for (size_t i = 0; i < 8; ++i) {
          const size_t word = (i + static_cast<size_t>(worker)) % 4;
          const auto body = [&] { w.heap.set(word, w.heap.get(word) + 1); };
          w.heap.engine().update(body, i % 2 == 0 ? Commit::durable : Commit::later);
        }
      });
      uint64_t sum = 0;
      for (size_t word = 0; word < 4; ++word) {
        sum += w.heap.read(word);
      }
      ASSERT_EQ(sum, 24u) << "retries " << retries << ", seed " << seed;
      w.heap.engine().fence();
      for (size_t word = 0; word < 4; ++word) {
        EXPECT_EQ(w.at_home(word), w.heap.read(word));
      }
    }
  }
}

/// The page's cost: one fence for the record, three for the batch.
TEST(CcHtm, AFenceForTheRecordAndThreeForTheBatch) {
  for (size_t n = 1; n <= 12; ++n) {
    World w({}, 1);
    PersistCounters c;
    w.machine.run_threads(1, [&](int) {
      const PersistCounters before = w.machine.counters();
      w.heap.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          w.heap.set(i * kLineWords, i + 1);
        }
      });
      c = w.machine.counters() - before;
    });
    EXPECT_EQ(c.pfence + c.psync, 4u);
    const size_t record = (32 + 16 * n + kLineBytes - 1) / kLineBytes;
    EXPECT_EQ(c.nontemporal, record + 2) << "the record, the watermark twice";
    EXPECT_EQ(c.pwb, n) << "the home";
  }
}

/// Updates that return later share the fences of their retirement.
TEST(CcHtm, ABatchSharesItsFences) {
  World w({{"lag", "20"}}, 1);
  PersistCounters c;
  w.machine.run_threads(1, [&](int) {
    const PersistCounters before = w.machine.counters();
    for (size_t i = 0; i < 10; ++i) {
      w.heap.write(i, i + 1);
    }
    w.heap.engine().fence();
    c = w.machine.counters() - before;
  });
  EXPECT_LT(c.pfence + c.psync, 40u);
  EXPECT_GE(c.pfence + c.psync, 13u);
}

/// A torn watermark is void; the other copy counts. With both damaged, the heap is refused.
TEST(CcHtm, ADamagedWatermarkIsRefused) {
  SimImage image;
  {
    World w({}, 1);
    w.machine.run_threads(1, [&](int) { w.heap.write(2, 5); });
    w.heap.engine().close().check();
    image = w.machine.earliest_image();
  }
  for (const size_t damaged : {1u, 2u}) {
    SimMachine machine(machine_options(1, 1), image);
    Heap heap(machine, World::shape({}, 1));
    for (size_t copy = 0; copy < damaged; ++copy) {
      auto* const word = reinterpret_cast<uint64_t*>(
          heap.regions().area + cc_htm::CcArea::kMarkOffset + copy * cc_htm::CcArea::kMarkStride);
      SimMachine::store(word, SimMachine::load(word) ^ 1);
    }
    EXPECT_EQ(heap.recover().code(), damaged == 2 ? Code::corrupt : Code::ok);
  }
}

}  // namespace
}  // namespace holdfast::cc_htm_test
