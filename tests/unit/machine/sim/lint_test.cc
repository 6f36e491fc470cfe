// SPDX-License-Identifier: Apache-2.0
// Does the lint of persistence find planted waste and gaps, and only those? What does each engine
// show?
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast {
namespace {

using engine_rows_test::mixed_transactions;
using engine_rows_test::row_of;
using engine_rows_test::RowHeap;
using engine_rows_test::small_logs;

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
    auto* lock = make_array<SimMachine::Atomic<uint64_t>>(p.machine, 1);
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
  auto* turn = make_array<SimMachine::Atomic<uint64_t>>(p.machine, 1);
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

// ---- engines

using Finding = std::pair<LintKind, std::string>;
using Findings = std::map<Finding, uint64_t>;

SimOptions options_for(const std::string& engine) {
  SimOptions o = engine == "hw" ? design_test::options(design_test::tiny(), "opt") : SimOptions{};
  o.threads = RowHeap::kThreads;
  o.seed = 3;
  o.rmw_orders_pwb = false;
  o.lint = true;
  return o;
}

/// The findings of an engine in a run of every kind of transaction, with counts.
Findings findings(const std::string& engine, Options engine_options = {},
                  const std::string& mutation = "") {
  SimOptions o = options_for(engine);
  if (!mutation.empty()) {
    o.mutations = {parse_mutation(mutation).value()};
  }
  for (const auto& [name, value] : small_logs(engine)) {
    engine_options.emplace(name, value);
  }
  SimMachine machine(o);
  RowHeap heap(machine, row_of(engine), engine_options);
  heap.engine().format().check();
  heap.recover().check();
  machine.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 4); });
  EXPECT_TRUE(mutation.empty() || machine.mutated() > 0) << engine << ' ' << mutation;
  Findings all;
  for (const LintRow& row : machine.lint_report()) {
    all[{row.kind, row.where}] = row.count;
  }
  return all;
}

/// As the engines' pages say. Romulus leaves its idle state to the next batch, which is another
/// thread's at times, and may be on its way already.
const std::set<Finding> kIdleState = {
    {LintKind::not_written_back, "copy"},
    {LintKind::not_written_back, "data flush"},
    {LintKind::not_fenced, "romulus.state.mutating"},
};
const std::map<std::string, std::set<Finding>> kShown = {
    {"undo", {{LintKind::redundant_write_back, "undo.data"}}},
    {"pmdk-like", {}},
    {"romulus", kIdleState},
    {"romulus-log", kIdleState},
    {"romulus-lr", kIdleState},
    {"fur-opa", {}},
    {"fur-si", {}},
    {"fur-mv", {}},
    {"fur-tsx", {}},
    {"htm", {}},
    {"si-htm", {}},
    {"spht", {{LintKind::not_written_back, "marker flush"}}},  // links are hints
    {"spht-si-htm", {{LintKind::not_written_back, "marker flush"}}},
    {"nv-htm", {}},
    {"tinystm", {}},
    {"spec-pmt",
     {{LintKind::not_written_back, "commit"}, {LintKind::redundant_write_back, "logs.home"}}},
    {"mnemosyne", {}},
    {"dudetm", {}},
    {"trinity", {}},
    {"quadra", {}},
    {"onefile",  // that a transaction is over need not be durable; helpers write back the same
                 // lines
     {{LintKind::not_written_back, "data flush"},
      {LintKind::redundant_write_back, "onefile.newest"},
      {LintKind::redundant_write_back, "onefile.cell"}}},
    {"pisces", {}},
    {"crafty", {}},
    {"hw", {}},
};

TEST(SimLintEngines, EachShowsWhatItsPageSays) {
  for (const auto& row : engine_rows<SimMachine>()) {
    const std::string engine = row.description->name;
    const auto expected = kShown.find(engine);
    ASSERT_NE(expected, kShown.end())
        << "say in docs/reference/engines/" << engine << ".md what it shows";
    std::set<Finding> shown;
    for (const auto& [finding, count] : findings(engine)) {
      shown.insert(finding);
    }
    EXPECT_EQ(shown, expected->second) << engine;
  }
}

TEST(SimLintEngines, ADroppedWriteBackShows) {
  struct Case {
    const char* engine;
    const char* site;
    const char* phase;  ///< of the stores it should have covered
    Options options;
  };
  const Options locked = {{"retries", "0"}};
  for (const Case& c : std::vector<Case>{
           {"undo", "undo.log", "log flush", {}},
           {"undo", "undo.data", "execute", {}},
           {"undo", "undo.restore", "roll back", {}},
           {"undo", "undo.epoch", "marker flush", {}},
           {"pmdk-like", "undo.data", "execute", {}},
           {"pmdk-like", "undo.restore", "roll back", {}},
           {"pmdk-like", "undo.epoch", "marker flush", {}},
           {"romulus", "romulus.main", "execute", {}},
           {"romulus", "romulus.twin.all", "copy", {}},
           {"romulus-log", "romulus.main", "execute", {}},
           {"romulus-log", "romulus.twin", "copy", {}},
           {"romulus-lr", "romulus.main", "execute", {{"combine", "0"}}},
           {"romulus-lr", "romulus.twin", "copy", {}},
           {"fur-opa", "fur.log", "log flush", {}},
           {"fur-opa", "fur.marker", "marker flush", {}},
           {"fur-opa", "fur.lock.log", "log flush", locked},
           {"fur-opa", "fur.lock.marker", "marker flush", locked},
           {"fur-si", "fur.log", "log flush", {}},
           {"fur-si", "fur.marker", "marker flush", {}},
           {"spht", "spht.header", "log flush", {}},
           {"spht-si-htm", "spht.header", "log flush", {}},
           {"spht", "spht.log", "log flush", {}},  // its last line also holds the link
           {"nv-htm", "nv.marker", "marker flush", {}},
           {"spec-pmt", "specpmt.record", "log flush", {}},
           {"mnemosyne", "mnemosyne.home", "commit", {}},
           {"mnemosyne", "mnemosyne.truncate", "marker flush", {}},
           {"mnemosyne", "mnemosyne.torn.truncate", "marker flush", {{"tornbit", "1"}}},
           {"dudetm", "dudetm.log", "log flush", {}},
           {"trinity", "trinity.record", "log flush", {}},
           {"trinity", "trinity.number", "marker flush", {}},
           {"quadra", "quadra.record", "log flush", {}},
           {"onefile", "onefile.log", "log flush", {}},
           {"onefile", "onefile.cell", "data flush", {}},
           {"crafty", "crafty.log", "commit", {}},
           {"crafty", "crafty.data", "commit", {}},
           {"crafty", "crafty.mark", "marker flush", {}},
           {"crafty", "crafty.lock.log", "log flush", locked},
           {"pisces", "pisces.log", "log flush", {}},
           {"pisces", "pisces.home", "data flush", {}},
           {"pisces", "pisces.retire", "marker flush", {}},
       }) {
    const Finding finding = {LintKind::not_written_back, c.phase};
    const Findings mutant = findings(c.engine, c.options, std::string(c.site) + "=drop");
    const auto found = mutant.find(finding);
    std::string shown;
    for (const auto& [other, count] : mutant) {
      shown += std::string(to_string(other.first)) + " at " + other.second + '\n';
    }
    ASSERT_NE(found, mutant.end()) << c.engine << ' ' << c.site << " shows only\n" << shown;
    Findings sound = findings(c.engine, c.options);
    EXPECT_GT(found->second, sound[finding]) << c.engine << ' ' << c.site;
  }
}

}  // namespace
}  // namespace holdfast
