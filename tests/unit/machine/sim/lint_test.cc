// SPDX-License-Identifier: Apache-2.0
// Does the lint of persistence find planted waste and gaps, and only those?
#include <gtest/gtest.h>

#include <string>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::lint_test {
namespace {

using Update = TransactionScope<SimMachine>;
constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

/// "kind at where: count, example", one per line.
std::string text(const SimMachine& machine) {
  std::string all;
  for (const LintRow& row : machine.lint_report()) {
    all += std::string(to_string(row.kind)) + " at " + row.where + ": " +
           std::to_string(row.count) + ", " + std::to_string(row.example) + '\n';
  }
  return all;
}

/// Persistent words, and a program that runs as a worker.
struct Program {
  explicit Program(SimOptions options = {})
      : machine([&] {
          options.lint = true;
          return options;
        }()) {
    machine.medium().grow(kPageBytes).check();
    words = reinterpret_cast<uint64_t*>(
        machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
  }

  template <class F>
  std::string run(F&& f) {
    machine.run_threads(1, [&](int) { f(); });
    return text(machine);
  }
  uint64_t* line(size_t i) const { return words + i * kLineWords; }
  void store(size_t i) const { SimMachine::store(line(i), uint64_t{1}); }

  SimMachine machine;
  uint64_t* words;
};

TEST(SimLint, ACompleteUpdateShowsNothing) {
  Program p;
  EXPECT_EQ(p.run([&] {
    const Update scope(TransactionKind::update);
    p.store(1);
    p.machine.pwb(p.line(1), Site{"data"});
    p.machine.pfence(Site{"fence"});
  }),
            "");
}

TEST(SimLint, AStoreThatIsNotWrittenBackIsFoundByItsPhase) {
  Program p;
  EXPECT_EQ(p.run([&] {
    for (int i = 0; i < 2; ++i) {
      const Update scope(TransactionKind::update);
      p.store(1);
      p.machine.pwb(p.line(1), Site{"data"});
      p.machine.pfence(Site{"fence"});
      const PhaseScope<SimMachine> phase(Phase::copy);
      p.store(3);
      p.store(3);  // one line, one finding
    }
  }),
            "stored, not written back at the end of the transaction at copy: 2, 192\n");
}

TEST(SimLint, AStoreOfAHardwareTransactionIsMadeAtItsCommit) {
  Program p;
  EXPECT_EQ(p.run([&] {
    const Update scope(TransactionKind::update);
    auto& htm = p.machine.htm(p.machine.self());
    htm.begin(Tracking::all);
    htm.store(p.line(1), 1);
    htm.store(p.line(3), 1);
    const PhaseScope<SimMachine> phase(Phase::commit);
    htm.commit();
    p.machine.pwb(p.line(1), Site{"data"});
    p.machine.pfence(Site{"fence"});
  }),
            "stored, not written back at the end of the transaction at commit: 1, 192\n");
}

TEST(SimLint, AWriteBackBeforeTheLastStoreIsNone) {
  Program p;
  EXPECT_EQ(p.run([&] {
    const Update scope(TransactionKind::update);
    p.store(1);
    p.machine.pwb(p.line(1), Site{"data"});
    p.store(1);
    p.machine.pfence(Site{"fence"});
  }),
            "stored, not written back at the end of the transaction at execute: 1, 64\n");
}

TEST(SimLint, AWriteBackThatIsNotFencedIsFoundByItsSite) {
  Program p;
  EXPECT_EQ(p.run([&] {
    const Update scope(TransactionKind::update);
    p.store(1);
    p.machine.pfence(Site{"fence"});
    p.machine.pwb(p.line(1), Site{"data"});
  }),
            "written back, not fenced at the end of the transaction at data: 1, 64\n");
}

TEST(SimLint, AReadModifyWriteFencesWhereTheMachineSaysSo) {
  for (const bool orders : {false, true}) {
    Program p({.rmw_orders_pwb = orders});
    auto* lock = make_object<SimMachine::Atomic<uint64_t>>(p.machine);
    const std::string found = p.run([&] {
      const Update scope(TransactionKind::update);
      p.store(1);
      p.machine.pwb(p.line(1), Site{"data"});
      lock->fetch_add(1);
    });
    EXPECT_EQ(found.empty(), orders) << found;
  }
}

TEST(SimLint, AnotherThreadMayWriteBackAndFence) {
  Program p({.threads = 2, .switch_probability = 0});
  auto* turn = make_object<SimMachine::Atomic<uint64_t>>(p.machine);
  const auto await = [&](uint64_t value) {
    for (uint64_t now = turn->load(); now != value; now = turn->load()) {
      p.machine.wait_while(*turn, now);
    }
  };
  p.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      const Update scope(TransactionKind::update);
      p.store(1);
      turn->store(1);
      await(2);
    } else {
      await(1);
      p.machine.pwb(p.line(1), Site{"others"});
      p.machine.pfence(Site{"others.fence"});
      turn->store(2);
    }
  });
  EXPECT_EQ(text(p.machine), "");
}

TEST(SimLint, AReplayerIsNotHeldToItsTransaction) {
  Program p;
  EXPECT_EQ(p.run([&] {
    const Update scope(TransactionKind::update);
    const PhaseScope<SimMachine> phase(Phase::replay);
    p.store(1);
  }),
            "");
}

TEST(SimLint, WithoutWriteBacksInTheDomainLinesAreNoMatter) {
  for (const Domain domain : {Domain::eadr, Domain::process, Domain::file}) {
    Program p({.domain = domain});
    EXPECT_EQ(p.run([&] {
      const Update scope(TransactionKind::update);
      p.store(1);
      p.machine.pwb(p.line(1), Site{"data"});
      p.machine.pwb(p.line(1), Site{"data"});
    }),
              "");
  }
}

TEST(SimLint, RedundantWriteBacksAreFoundByTheirSite) {
  Program p;
  EXPECT_EQ(p.run([&] {
    p.machine.pwb(p.line(5), Site{"clean"});
    p.store(1);
    p.machine.pwb_range(p.line(1), 2 * kLineBytes, Site{"range"});  // line 2 is clean
    p.machine.pwb(p.line(1), Site{"again"});
    p.machine.pfence(Site{"fence"});
    p.machine.pwb(p.line(1), Site{"again"});
    p.store(1);
    p.machine.pwb(p.line(1), Site{"needed"});
  }),
            "redundant write-back at again: 2, 64\n"
            "redundant write-back at clean: 1, 320\n"
            "redundant write-back at range: 1, 128\n");
}

TEST(SimLint, FencesWithNothingToOrderAreFoundByTheirSite) {
  Program p;
  EXPECT_EQ(p.run([&] {
    p.machine.pfence(Site{"first"});
    p.store(1);
    p.machine.pfence(Site{"after.store"});
    p.machine.psync(Site{"second"});
    p.machine.pwb(p.line(1), Site{"data"});
    p.machine.psync(Site{"after.pwb"});
    p.machine.fence(Site{"full"});  // orders other things than persistence
    p.machine.pfence();
  }),
            "fence with nothing to order at (no label): 1, 0\n"
            "fence with nothing to order at first: 1, 0\n"
            "fence with nothing to order at second: 1, 0\n");
}

TEST(SimLint, StoresOutsideTransactionsAreFoundOnceThereAreTransactions) {
  Program p;
  const auto durable = [&](size_t i) {
    p.store(i);
    p.machine.pwb(p.line(i), Site{"data"});
    p.machine.pfence(Site{"fence"});
  };
  EXPECT_EQ(p.run([&] { durable(1); }), "") << "a recovery";
  p.run([&] {
    const Update scope(TransactionKind::update);
    durable(1);
  });
  durable(4);  // main: closes a heap
  EXPECT_EQ(text(p.machine), "");
  EXPECT_EQ(p.run([&] {
    durable(2);
    SimMachine::phase(Phase::replay);
    durable(3);
  }),
            "store outside a transaction at outside: 1, 128\n");
}

TEST(SimLint, NobodyAskedForIt) {
  SimMachine machine;
  machine.pfence(Site{"fence"});
  EXPECT_TRUE(machine.lint_report().empty());
}

}  // namespace
}  // namespace holdfast::lint_test
