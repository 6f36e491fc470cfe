// SPDX-License-Identifier: Apache-2.0
// Do the simulated machine's hardware transactions have the capacity, the conflicts and the costs
// of the machine's description? Numbered, one rule each. (htm_test.cc tests their effect on
// values.)
#include <gtest/gtest.h>

#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::timed_htm_test {
namespace {

constexpr size_t kSet = 2;      ///< distance of lines of one L1 set
constexpr size_t kLlcSet = 16;  ///< distance of lines of one set of L2 and of the last level
constexpr int kSibling = 4;     ///< the worker that shares a core with worker 0
constexpr Time kSoon = 10'000;  ///< cycles until all threads have begun

template <class F>
AbortCause attempt(TimedBench& b, Tracking tracking, F&& body) {
  SimMachine::HtmThread& htm = b.m.htm(b.m.self());
  htm.begin(tracking);
  try {
    body(htm);
    htm.commit();
  } catch (const HtmAbort&) {
    return htm.caught();
  }
  return AbortCause::none;
}

/// Runs a transaction alone on the machine: it loads `loads` lines, then stores to `stores` others.
AbortCause touching(const MachineDescription& machine, size_t loads, size_t stores,
                    size_t stride = 1, Tracking tracking = Tracking::all) {
  TimedBench b(machine);
  AbortCause cause{};
  b.on(0, [&] {
    cause = attempt(b, tracking, [&](auto& htm) {
      for (size_t i = 0; i < loads; ++i) {
        htm.load(b.line(stride * i));
      }
      for (size_t i = 0; i < stores; ++i) {
        htm.store(b.line(stride * (loads + i)), uint64_t{1});
      }
    });
  });
  return cause;
}

MachineDescription tracking_machine(HtmTracking loads, HtmTracking stores, bool inclusive) {
  MachineDescription machine = round_machine();
  machine.htm.loads = loads;
  machine.htm.stores = stores;
  machine.llc.inclusive = inclusive;
  return machine;
}

// 1. A table holds exactly its number of lines.
TEST(SimTimedHtm, R01_TablesHoldExactlyTheirLines) {
  const MachineDescription machine = round_machine();
  EXPECT_EQ(touching(machine, 0, 16), AbortCause::none);
  EXPECT_EQ(touching(machine, 0, 17), AbortCause::capacity);
  EXPECT_EQ(touching(machine, 32, 0), AbortCause::none);
  EXPECT_EQ(touching(machine, 33, 0), AbortCause::capacity);
  EXPECT_EQ(touching(machine, 32, 16), AbortCause::none) << "two tables";
  EXPECT_EQ(touching(machine, 0, 16, kLlcSet), AbortCause::none) << "wherever they lie in caches";
  EXPECT_EQ(touching(machine, 500, 16, 1, Tracking::stores), AbortCause::none) << "no load counts";
}

// 2. One table for both: a line that is loaded and stored takes one entry.
TEST(SimTimedHtm, R02_OneTableForLoadsAndStores) {
  MachineDescription machine = round_machine();
  machine.htm.loads_and_stores_share = true;
  machine.htm.load_lines = 0;
  EXPECT_EQ(touching(machine, 10, 6), AbortCause::none);
  EXPECT_EQ(touching(machine, 10, 7), AbortCause::capacity);
  EXPECT_EQ(touching(machine, 17, 0), AbortCause::capacity);
  TimedBench b(machine);
  b.on(0, [&] {
    const auto both = [&](size_t lines, bool load_first) {
      return attempt(b, Tracking::all, [&](auto& htm) {
        for (int round = 0; round < 2; ++round) {
          for (size_t i = 0; i < lines; ++i) {
            if ((round == 0) == load_first) {
              htm.load(b.line(i));
            } else {
              htm.store(b.line(i), uint64_t{1});
            }
          }
          b.m.fence();  // the stores have left the buffer
        }
      });
    };
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(both(16, true), AbortCause::none) << "nothing is left of the one before";
      EXPECT_EQ(both(16, false), AbortCause::none);
      EXPECT_EQ(both(17, true), AbortCause::capacity);
      EXPECT_EQ(both(17, false), AbortCause::capacity);
    }
  });
}

// 3. Tracked in L1: the ninth line of a set is one too many. Other sets do not matter.
TEST(SimTimedHtm, R03_TrackingInL1EndsWithTheNinthLineOfASet) {
  const MachineDescription both = tracking_machine(HtmTracking::l1, HtmTracking::l1, false);
  EXPECT_EQ(touching(both, 0, 8, kSet), AbortCause::none);
  EXPECT_EQ(touching(both, 0, 9, kSet), AbortCause::capacity);
  EXPECT_EQ(touching(both, 8, 0, kSet), AbortCause::none);
  EXPECT_EQ(touching(both, 9, 0, kSet), AbortCause::capacity);
  EXPECT_EQ(touching(both, 4, 5, kSet), AbortCause::capacity) << "together they are nine";
  EXPECT_EQ(touching(both, 8, 8), AbortCause::none) << "sixteen lines in two sets";
  EXPECT_EQ(touching(both, 8, 9), AbortCause::capacity);
  const MachineDescription stores = tracking_machine(HtmTracking::llc, HtmTracking::l1, true);
  EXPECT_EQ(touching(stores, 9, 0, kSet), AbortCause::none) << "loads may leave L1 here";
  EXPECT_EQ(touching(stores, 16, 8, kSet), AbortCause::none) << "loads first: they are displaced";
  EXPECT_EQ(touching(stores, 16, 9, kSet), AbortCause::capacity);
}

// 4. Tracked in the last level: a line that leaves it is lost.
TEST(SimTimedHtm, R04_TrackingInTheLastLevelEndsWithItsSets) {
  const MachineDescription inclusive = tracking_machine(HtmTracking::llc, HtmTracking::llc, true);
  EXPECT_EQ(touching(inclusive, 16, 0, kLlcSet), AbortCause::none);
  EXPECT_EQ(touching(inclusive, 17, 0, kLlcSet), AbortCause::capacity);
  EXPECT_EQ(touching(inclusive, 0, 16, kLlcSet), AbortCause::none);
  EXPECT_EQ(touching(inclusive, 0, 17, kLlcSet), AbortCause::capacity);
  EXPECT_EQ(touching(inclusive, 256, 0), AbortCause::none) << "all of it";
  EXPECT_EQ(touching(inclusive, 257, 0), AbortCause::capacity);
  const MachineDescription victim = tracking_machine(HtmTracking::llc, HtmTracking::llc, false);
  EXPECT_EQ(touching(victim, 24, 0, kLlcSet), AbortCause::none) << "eight in L2, sixteen below";
  EXPECT_EQ(touching(victim, 25, 0, kLlcSet), AbortCause::capacity);
}

// 5. Only the socket's own last level counts, not another socket's.
TEST(SimTimedHtm, R05_AnotherSocketsLastLevelDoesNotMatter) {
  TimedBench b(tracking_machine(HtmTracking::llc, HtmTracking::llc, true));
  AbortCause cause{};
  b.m.run_threads(3, [&](int i) {
    if (i == 0) {
      cause = attempt(b, Tracking::all, [&](auto& htm) {
        htm.load(b.line(0));
        b.m.work(10 * kSoon);
      });
    } else if (i == 2) {
      b.m.work(kSoon);
      for (size_t k = 0; k <= 16; ++k) {
        b.touch(b.line(kLlcSet * k));
      }
      EXPECT_EQ(b.level(b.line(0)), Level::remote_peer) << "it was displaced here";
    }
  });
  EXPECT_EQ(cause, AbortCause::none);
}

/// Runs transactions of two threads of one core at the same time; each stores to its number of
/// lines.
std::pair<AbortCause, AbortCause> two_on_a_core(bool shares, size_t first, size_t second,
                                                bool one_table = false, bool splits = false) {
  MachineDescription machine = round_machine();
  machine.htm.smt_splits = splits;
  machine.htm.loads_and_stores_share = one_table;
  machine.htm.smt_shares = shares;
  TimedBench b(machine);
  AbortCause causes[2] = {};
  b.m.run_threads(kSibling + 1, [&](int i) {
    if (i == 0 || i == kSibling) {
      const size_t lines = i == 0 ? first : second;
      b.m.work(i == 0 ? 1 : kSoon);
      causes[i == 0 ? 0 : 1] = attempt(b, Tracking::all, [&](auto& htm) {
        for (size_t k = 0; k < lines; ++k) {
          uint64_t* word = b.line(static_cast<size_t>(i) * 100 + k);
          one_table&& k % 2 == 0 ? void(htm.load(word)) : htm.store(word, uint64_t{1});
        }
        b.m.fence();
        b.m.work(2 * kSoon);
      });
    }
  });
  return {causes[0], causes[1]};
}

// 6. The threads of a core share its tables if the description says so.
TEST(SimTimedHtm, R06_ThreadsOfACoreShareItsCapacity) {
  using Two = std::pair<AbortCause, AbortCause>;
  EXPECT_EQ(two_on_a_core(true, 8, 8), (Two{AbortCause::none, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(true, 8, 9), (Two{AbortCause::none, AbortCause::capacity}));
  EXPECT_EQ(two_on_a_core(true, 16, 1), (Two{AbortCause::none, AbortCause::capacity}));
  EXPECT_EQ(two_on_a_core(true, 8, 8, true), (Two{AbortCause::none, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(true, 8, 9, true), (Two{AbortCause::none, AbortCause::capacity}));
  EXPECT_EQ(two_on_a_core(false, 16, 17, true), (Two{AbortCause::none, AbortCause::capacity}));
  EXPECT_EQ(two_on_a_core(false, 16, 16), (Two{AbortCause::none, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(false, 16, 17), (Two{AbortCause::none, AbortCause::capacity}));
}

// 6. If it says that they split them, each thread has its part, whatever the other one needs.
TEST(SimTimedHtm, R06_ThreadsOfACoreHavePartsOfItsCapacity) {
  using Two = std::pair<AbortCause, AbortCause>;
  EXPECT_EQ(two_on_a_core(false, 8, 8, false, true), (Two{AbortCause::none, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(false, 8, 9, false, true), (Two{AbortCause::none, AbortCause::capacity}));
  EXPECT_EQ(two_on_a_core(false, 9, 0, false, true), (Two{AbortCause::capacity, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(false, 8, 8, true, true), (Two{AbortCause::none, AbortCause::none}));
  EXPECT_EQ(two_on_a_core(false, 8, 9, true, true), (Two{AbortCause::none, AbortCause::capacity}));
}

// 7. One thread's use of L1 can end a transaction of the other thread of the core.
TEST(SimTimedHtm, R07_ASiblingDisplacesLinesFromTheSharedL1) {
  TimedBench b(tracking_machine(HtmTracking::l1, HtmTracking::l1, false));
  AbortCause cause{};
  b.m.run_threads(kSibling + 1, [&](int i) {
    if (i == 0) {
      cause = attempt(b, Tracking::all, [&](auto& htm) {
        htm.load(b.line(0));
        b.m.work(10 * kSoon);
      });
    } else if (i == kSibling) {
      b.m.work(kSoon);
      for (size_t k = 1; k <= 8; ++k) {
        b.touch(b.line(kSet * k));
      }
    }
  });
  EXPECT_EQ(cause, AbortCause::capacity);
}

struct Meeting {
  int other;       ///< the worker with the other access: sibling, same socket, other socket
  bool tx_stores;  ///< the transaction has stored to the line; otherwise it has loaded it
  bool evicted;    ///< it has then touched so many others that no cache has the line
  bool other_stores;
  bool in_transaction;  ///< the other access belongs to a transaction
};

AbortCause meet(const Meeting& meeting, Tracking tracking = Tracking::all) {
  MachineDescription machine = round_machine();
  machine.htm.load_lines = 1000;  // lines stay tracked after the caches lose them
  TimedBench b(machine);
  AbortCause cause{};
  AbortCause other_cause{};
  b.m.run_threads(kSibling + 1, [&](int i) {
    if (i == 0) {
      cause = attempt(b, tracking, [&](auto& htm) {
        meeting.tx_stores ? htm.store(b.line(0), uint64_t{7}) : void(htm.load(b.line(0)));
        b.m.fence();
        for (size_t k = 1; meeting.evicted && k <= 900; ++k) {
          htm.load(b.line(k));
        }
        b.m.work(40 * kSoon);
      });
    } else if (i == meeting.other) {
      b.m.work(20 * kSoon);
      const auto access = [&] {
        if (meeting.other_stores) {
          SimMachine::store(b.line(0) + 1, uint64_t{1});
          b.m.fence();
        } else {
          EXPECT_EQ(SimMachine::load(b.line(0)), 0u) << "nothing of it may be seen";
        }
      };
      if (meeting.in_transaction) {
        other_cause = attempt(b, Tracking::all, [&](auto&) { access(); });
      } else {
        access();
      }
    }
  });
  EXPECT_EQ(other_cause, AbortCause::none) << "the requester wins";
  return cause;
}

// 8. A transaction conflicts with accesses of other threads, in and outside of transactions. The
// conflict is found through a shared L1, from another core and another socket, and also when the
// line has left the caches. The last requester wins.
TEST(SimTimedHtm, R08_TheRequesterWinsWhereverTheLineIs) {
  for (const int other : {kSibling, 1, 2}) {
    for (int bits = 0; bits < 16; ++bits) {
      const Meeting meeting = {other, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                               (bits & 8) != 0};
      const bool conflict = meeting.tx_stores || meeting.other_stores;
      EXPECT_EQ(meet(meeting), conflict ? AbortCause::conflict : AbortCause::none)
          << "worker " << other << ", case " << bits;
    }
  }
}

// 9. A rollback-only transaction does not track its loads. Its stores conflict with untracked loads
// of other threads.
TEST(SimTimedHtm, R09_RollbackOnlyTracksStoresOnly) {
  for (const int other : {kSibling, 1, 2}) {
    for (const bool evicted : {false, true}) {
      EXPECT_EQ(meet({other, false, evicted, true, false}, Tracking::stores), AbortCause::none);
      EXPECT_EQ(meet({other, true, evicted, false, false}, Tracking::stores), AbortCause::conflict);
      EXPECT_EQ(meet({other, true, evicted, true, false}, Tracking::stores), AbortCause::conflict);
    }
  }
}

// 10. A suspended transaction can be doomed; it notices when it resumes.
TEST(SimTimedHtm, R10_DoomedWhileSuspended) {
  for (const bool stores : {false, true}) {
    TimedBench b;
    bool resumed = false;
    AbortCause cause{};
    b.m.run_threads(2, [&](int i) {
      if (i == 0) {
        cause = attempt(b, Tracking::all, [&](auto& htm) {
          stores ? htm.store(b.line(0), uint64_t{7}) : void(htm.load(b.line(0)));
          b.m.fence();
          htm.suspend();
          EXPECT_EQ(htm.load(b.line(0)), stores ? 7u : 0u) << "its own value";
          b.m.work(2 * kSoon);
          EXPECT_EQ(htm.load(b.line(0)), stores ? 0u : 1u) << "what it stored is gone";
          EXPECT_TRUE(htm.doomed());
          htm.resume();
          resumed = true;
        });
      } else {
        b.m.work(kSoon);
        stores ? void(SimMachine::load(b.line(0))) : SimMachine::store(b.line(0), uint64_t{1});
      }
    });
    EXPECT_FALSE(resumed);
    EXPECT_EQ(cause, AbortCause::conflict);
  }
}

// 11. After a commit or an abort no cache tracks the lines.
TEST(SimTimedHtm, R11_NothingIsTrackedAfterCommitOrAbort) {
  for (const int other : {kSibling, 1}) {
    for (const bool commits : {true, false}) {
      TimedBench b;
      AbortCause first{};
      AbortCause second{};
      b.m.run_threads(kSibling + 1, [&](int i) {
        if (i == 0) {
          first = attempt(b, Tracking::all, [&](auto& htm) {
            htm.load(b.line(0));
            htm.store(b.line(1), uint64_t{1});
            b.m.fence();
            if (!commits) {
              htm.abort(AbortCode::none);
            }
          });
          second = attempt(b, Tracking::all, [&](auto& htm) {
            htm.load(b.line(2));
            b.m.work(2 * kSoon);
          });
        } else if (i == other) {
          b.m.work(kSoon);
          SimMachine::store(b.line(0), uint64_t{1});
          EXPECT_EQ(SimMachine::load(b.line(1)), commits ? 1u : 0u);
          SimMachine::store(b.line(1), uint64_t{1});
        }
      });
      EXPECT_EQ(first, commits ? AbortCause::none : AbortCause::explicit_abort);
      EXPECT_EQ(second, AbortCause::none);
    }
  }
}

// 12. An aborted store leaves only a miss in the caches: a line that was clean below stays clean,
// and a dirty one stays dirty.
TEST(SimTimedHtm, R12_AnAbortFallsBackOnTheLevelBelow) {
  for (const bool dirty_before : {false, true}) {
    TimedBench b;
    b.on(0, [&] {
      b.touch(b.medium_line(0));
      if (dirty_before) {
        b.store_latency(b.medium_line(0));
      }
      attempt(b, Tracking::all, [&](auto& htm) {
        htm.store(b.medium_line(0), uint64_t{9});
        b.m.fence();
        htm.abort(AbortCode::none);
      });
      EXPECT_EQ(b.level(b.medium_line(0)), Level::l2) << "gone from L1";
      b.m.pwb(b.medium_line(0));
      b.m.psync();
    });
    EXPECT_EQ(b.m.statistics().medium_writes, dirty_before ? 1u : 0u);
  }
}

// 13. An interrupt ends the transaction that it falls into, and no other.
TEST(SimTimedHtm, R13_AnInterruptAborts) {
  MachineDescription machine = round_machine();
  machine.htm.interrupt_us = 10;  // with one worker: at 10, 20, ... microseconds
  TimedBench b(machine);
  b.on(0, [&] {
    const Time start = b.m.now();
    const auto until = [&](Time ns) {
      return [&b, start, ns](auto& htm) {
        b.m.work((start + ns * kNs - b.m.now()) / kNs);
        htm.load(b.line(0));
      };
    };
    b.touch(b.line(0));
    EXPECT_EQ(attempt(b, Tracking::all, until(9'990)), AbortCause::none);
    EXPECT_EQ(attempt(b, Tracking::all, until(10'000)), AbortCause::interrupt);
    EXPECT_EQ(attempt(b, Tracking::all, until(19'990)), AbortCause::none);
    b.m.work(15);  // the interrupt at 20 falls between two transactions
    EXPECT_EQ(attempt(b, Tracking::all, until(29'990)), AbortCause::none);
    EXPECT_EQ(attempt(b, Tracking::all, until(30'001)), AbortCause::interrupt);
  });
}

// 14. Begin, commit and abort have their costs.
TEST(SimTimedHtm, R14_TheCostOfBeginCommitAndAbort) {
  MachineDescription machine = round_machine();
  machine.htm.begin_cycles = 11;
  machine.htm.commit_cycles = 13;
  machine.htm.abort_cycles = 17;
  TimedBench b(machine);
  b.on(0, [&] {
    EXPECT_EQ(b.cycles([&] { attempt(b, Tracking::all, [](auto&) {}); }), 11 + 13);
    EXPECT_EQ(
        b.cycles([&] { attempt(b, Tracking::all, [](auto& htm) { htm.abort(AbortCode::none); }); }),
        11 + 17);
    b.store_latency(b.line(0));
    EXPECT_EQ(b.cycles([&] {
      attempt(b, Tracking::all, [&](auto& htm) { htm.store(b.line(1), uint64_t{1}); });
    }),
              11 + 1 + kDram + 13)
        << "commit waits for the stores to own their lines";
    EXPECT_EQ(b.cycles([&] { attempt(b, Tracking::all, [&](auto& htm) { htm.load(b.line(2)); }); }),
              11 + kDram + 13)
        << "... and for the loads";
  });
}

// 15. The cost of suspend and resume grows linearly, from one thread's to that of all threads.
TEST(SimTimedHtm, R15_SuspendAndResumeCostMoreWithMoreThreads) {
  MachineDescription machine = round_machine();  // eight hardware threads
  machine.htm.suspend_resume_ns = 100;
  machine.htm.suspend_resume_full_ns = 800;
  machine.core.smt_speed = 0.5;
  for (const auto& [threads, cost] : {std::pair{1, 100.0}, {4, 400.0}, {8, 800.0}}) {
    TimedBench b(machine);
    double suspend = 0;
    double resume = 0;
    b.m.run_threads(threads, [&](int i) {
      if (i == 0) {
        attempt(b, Tracking::all, [&](auto& htm) {
          suspend = b.cycles([&] { htm.suspend(); });
          resume = b.cycles([&] { htm.resume(); });
        });
      }
    });
    EXPECT_EQ(suspend, cost / 2) << threads;
    EXPECT_EQ(resume, cost / 2) << threads;
  }
}

// 16. A machine offers the features of its description, and refuses the others.
TEST(SimTimedHtm, R16_CapabilitiesAreTheDescriptions) {
  MachineDescription machine = round_machine();
  machine.htm.rollback_only = machine.htm.suspend = false;
  {
    TimedBench b(machine);
    EXPECT_FALSE(b.m.htm_capabilities().untracked_loads);
    EXPECT_FALSE(b.m.htm_capabilities().suspend);
    b.on(0, [&] {
      SimMachine::HtmThread& htm = b.m.htm(b.m.self());
      EXPECT_THROW(htm.begin(Tracking::stores), Error);
      htm.begin(Tracking::all);
      EXPECT_THROW(htm.suspend(), Error);
      htm.commit();
    });
  }
  machine.htm.suspend_load_tracking = true;
  {
    const TimedBench b(machine);
    EXPECT_TRUE(b.m.htm_capabilities().untracked_loads) << "XSUSLDTRK around the loads";
    EXPECT_FALSE(b.m.htm_capabilities().suspend);
  }
  machine.htm.present = false;
  TimedBench b(machine);
  EXPECT_STREQ(b.m.htm_capabilities().backend, "none");
  b.on(0, [&] { EXPECT_THROW(b.m.htm(b.m.self()).begin(Tracking::all), Error); });
}

/// Eight threads on four cores increment words of few lines: in transactions, by atomics, and while
/// suspended. A missed conflict would lose an increment.
void increments_on(MachineDescription machine, uint64_t seed) {
  machine.l1 = {.bytes = 512, .ways = 4, .hit_cycles = 4};  // eight lines: evicts often
  machine.l2.bytes = 1024;
  TimedBench b(machine);
  constexpr size_t kWords = 20;
  uint64_t expected = 0;
  uint64_t aborts = 0;
  b.m.run_threads(8, [&](int worker) {
    Random random(seed * 10 + static_cast<uint64_t>(worker));
    for (int k = 0; k < 150; ++k) {
      if (random.below(8) == 0) {
        b.atomic(random.below(kWords)).fetch_add(1);
        ++expected;
        continue;
      }
      const bool suspends = random.below(4) == 0;
      const uint64_t increments = 1 + random.below(3);
      const AbortCause cause = attempt(b, Tracking::all, [&](auto& htm) {
        for (uint64_t i = 0; i < increments; ++i) {
          uint64_t* word = b.line(random.below(kWords));
          const uint64_t old = htm.load(word);
          for (uint64_t other = random.below(6); other > 0; --other) {
            htm.load(b.line(random.below(2 * kWords)));
          }
          htm.store(word, old + 1);
        }
        if (suspends) {
          htm.suspend();
          SimMachine::load(b.line(200 + random.below(40)));
          b.m.work(random.below(300));
          htm.resume();
        }
      });
      expected += cause == AbortCause::none ? increments : 0;
      aborts += cause == AbortCause::none ? 0 : 1;
    }
  });
  uint64_t sum = 0;
  for (size_t i = 0; i < kWords; ++i) {
    sum += SimMachine::load(b.line(i));
  }
  EXPECT_EQ(sum, expected) << "seed " << seed;
  EXPECT_GT(aborts, 20u) << "there were conflicts";
}

// 17. No conflict is missed, wherever lines are tracked and however caches are shared.
TEST(SimTimedHtm, R17_NoConflictIsMissed) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for (const HtmTracking loads : {HtmTracking::count, HtmTracking::l1, HtmTracking::llc}) {
      for (const HtmTracking stores : {HtmTracking::count, HtmTracking::l1}) {
        for (const bool inclusive : {false, true}) {
          MachineDescription machine = tracking_machine(loads, stores, inclusive);
          increments_on(machine, seed);
          machine.l2.cores = 2;
          increments_on(machine, seed);
        }
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::timed_htm_test
