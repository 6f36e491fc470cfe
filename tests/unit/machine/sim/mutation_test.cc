// SPDX-License-Identifier: Apache-2.0
// Does a mutation at a labelled site change exactly what it says, and does nothing change without
// one?
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::mutation_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
using Pairs = std::set<std::pair<uint64_t, uint64_t>>;
const Pairs kAny = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
const Pairs kBoth = {{1, 1}};

std::vector<Mutation> mutations(const std::vector<std::string>& texts) {
  std::vector<Mutation> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) {
    all.push_back(parse_mutation(text).value());
  }
  return all;
}

/// A machine with a line `a` and a line `b` of persistent memory. Programs run outside run_threads,
/// where every operation happens at once, unless they say otherwise.
struct TwoLines {
  explicit TwoLines(const std::vector<std::string>& changed, SimOptions options = {})
      : machine([&] {
          options.mutations = mutations(changed);
          return options;
        }()) {
    machine.medium().grow(kPageBytes).check();
    a = reinterpret_cast<uint64_t*>(
        machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
    b = a + kLineWords;
  }

  void store(uint64_t* word) { SimMachine::store(word, uint64_t{1}); }
  void store_both() {
    store(a);
    store(b);
  }

  /// The possible values of the two lines after a power failure now.
  Pairs images() const {
    Pairs pairs;
    machine.for_each_image(kNever, [&](const SimImage& image) {
      uint64_t words[2];
      std::memcpy(&words[0], &image[0], sizeof words[0]);
      std::memcpy(&words[1], &image[kLineBytes], sizeof words[1]);
      pairs.insert({words[0], words[1]});
      return true;
    });
    return pairs;
  }

  SimMachine machine;
  uint64_t* a;
  uint64_t* b;
};

// ---- naming

TEST(SimMutation, AMutationIsWrittenSiteIsKind) {
  const Mutation m = parse_mutation("undo.log.fence=delay").value();
  EXPECT_EQ(m.site, "undo.log.fence");
  EXPECT_EQ(m.kind, MutationKind::delay);
  EXPECT_EQ(to_string(m), "undo.log.fence=delay");
  EXPECT_EQ(parse_mutation("x=drop").value().kind, MutationKind::drop);
  EXPECT_EQ(parse_mutation("x=swap").value().kind, MutationKind::swap);
  EXPECT_EQ(parse_mutation("x=last").value().kind, MutationKind::last);
}

TEST(SimMutation, WhatIsNoMutationIsRefusedWithTheKindsThereAre) {
  for (const char* text : {"", "undo.log", "=drop", "undo.log=", "undo.log=remove", "a=drop "}) {
    const auto parsed = parse_mutation(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::invalid_argument);
    EXPECT_NE(parsed.status().message().find("drop, delay, swap, first or last"),
              std::string::npos);
  }
}

// ---- drop

TEST(SimMutation, ADroppedWriteBackLeavesItsLineUncertain) {
  for (const bool dropped : {false, true}) {
    TwoLines t(dropped ? std::vector<std::string>{"a=drop"} : std::vector<std::string>{});
    t.store_both();
    t.machine.pwb(t.a, Site{"a"});
    t.machine.pwb(t.b, Site{"b"});
    t.machine.pfence(Site{"fence"});
    EXPECT_EQ(t.images(), (dropped ? Pairs{{0, 1}, {1, 1}} : kBoth));
    EXPECT_EQ(t.machine.mutated(), dropped ? 1u : 0u);
    EXPECT_EQ(t.machine.counters().pwb, dropped ? 1u : 2u);
  }
}

TEST(SimMutation, ADroppedRangeIsDroppedWhole) {
  for (const bool dropped : {false, true}) {
    TwoLines t(dropped ? std::vector<std::string>{"range=drop"} : std::vector<std::string>{});
    t.store_both();
    t.machine.pwb_range(t.a, 2 * kLineBytes, Site{"range"});
    t.machine.pfence(Site{"fence"});
    EXPECT_EQ(t.images(), dropped ? kAny : kBoth);
    EXPECT_EQ(t.machine.mutated(), dropped ? 1u : 0u);
  }
}

TEST(SimMutation, ARangeLeavesOutItsFirstOrLastLine) {
  for (const bool first : {false, true}) {
    for (const bool nontemporal : {false, true}) {
      TwoLines t({first ? "range=first" : "range=last"});
      const auto both = std::array<uint64_t, 2 * kLineBytes / 8>{1, 0, 0, 0, 0, 0, 0, 0, 1};
      if (nontemporal) {
        t.machine.store_nontemporal(t.a, both.data(), sizeof both, Site{"range"});
      } else {
        t.store_both();
        t.machine.pwb_range(t.a, 2 * kLineBytes, Site{"range"});
      }
      t.machine.pfence(Site{"fence"});
      EXPECT_EQ(t.images(), (first ? Pairs{{0, 1}, {1, 1}} : Pairs{{1, 0}, {1, 1}}));
      EXPECT_EQ(t.machine.mutated(), 1u);
    }
  }
}

/// A range that ends within a line.
TEST(SimMutation, ARangeLeavesOutTheLineOfItsLastByte) {
  TwoLines t({"range=last"});
  t.store_both();
  t.machine.pwb_range(t.a + 7, 9, Site{"range"});
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), (Pairs{{1, 0}, {1, 1}}));
}

TEST(SimMutation, AWriteBackOfOneLineAndAFenceHaveNoFirstAndLastLine) {
  TwoLines t({"one=first", "range=last", "fence=last"});
  t.store_both();
  t.machine.pwb(t.a, Site{"one"});
  t.machine.pwb_range(t.b, kLineBytes, Site{"range"});
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), kBoth);
  EXPECT_EQ(t.machine.mutated(), 0u);
}

TEST(SimMutation, ADroppedFenceOrdersNothing) {
  for (const bool psync : {false, true}) {
    for (const bool dropped : {false, true}) {
      TwoLines t(dropped ? std::vector<std::string>{"fence=drop"} : std::vector<std::string>{});
      t.store(t.a);
      t.machine.pwb(t.a, Site{"a"});
      psync ? t.machine.psync(Site{"fence"}) : t.machine.pfence(Site{"fence"});
      t.store(t.b);
      EXPECT_EQ(t.images(), (dropped ? kAny : Pairs{{1, 0}, {1, 1}}));
    }
  }
}

TEST(SimMutation, ADroppedFullFenceLetsALoadOvertakeAStore) {
  for (const bool heavy : {false, true}) {
    for (const bool dropped : {false, true}) {
      std::set<std::pair<uint64_t, uint64_t>> seen;
      for (uint64_t seed = 0; seed < 200; ++seed) {
        SimMachine machine(
            {.threads = 2, .seed = seed, .mutations = mutations({dropped ? "x=drop" : "y=drop"})});
        auto* words = make_array<SimMachine::Atomic<uint64_t>>(machine, 32);
        uint64_t loaded[2] = {};
        machine.run_threads(2, [&](int i) {
          const size_t own = static_cast<size_t>(i) * 16;
          words[own].store(1, std::memory_order_relaxed);
          heavy ? machine.heavy_fence(Site{"x"}) : machine.fence(Site{"x"});
          loaded[i] = words[16 - own].load(std::memory_order_relaxed);
        });
        seen.insert({loaded[0], loaded[1]});
      }
      EXPECT_EQ(seen.count({0, 0}), dropped ? 1u : 0u);
    }
  }
}

// ---- delay

TEST(SimMutation, ADelayedWriteBackIsCoveredByTheFenceAfterNext) {
  TwoLines t({"a=delay"});
  t.store_both();
  t.machine.pwb(t.a, Site{"a"});
  t.machine.pwb(t.b, Site{"b"});
  t.machine.pfence();  // any fence counts, without a label too
  EXPECT_EQ(t.images(), (Pairs{{0, 1}, {1, 1}}));
  t.machine.pfence(Site{"later"});
  EXPECT_EQ(t.images(), kBoth);
}

TEST(SimMutation, ADelayedWriteBackTakesWhatIsStoredMeanwhileAlong) {
  TwoLines t({"a=delay"});
  t.machine.pwb(t.a, Site{"a"});  // before the store, so it covers nothing
  t.store(t.a);
  t.machine.pfence(Site{"fence"});  // now the write-back happens
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), (Pairs{{1, 0}}));
}

TEST(SimMutation, ADelayedFenceMergesWithTheNextLabelledOne) {
  TwoLines t({"first=delay"});
  t.store(t.a);
  t.machine.pwb(t.a, Site{"a"});
  t.machine.pfence(Site{"first"});
  t.store(t.b);
  EXPECT_EQ(t.images(), kAny) << "nothing keeps the two stores apart";
  t.machine.pwb(t.b, Site{"b"});
  EXPECT_EQ(t.images(), kAny);
  t.machine.fence(Site{"second"});
  EXPECT_EQ(t.images(), kBoth);
}

TEST(SimMutation, ADelayedFenceAtOneSiteHappensAtItsNextTurn) {
  TwoLines t({"loop=delay"});
  t.store(t.a);
  t.machine.pwb(t.a, Site{"a"});
  t.machine.pfence(Site{"loop"});
  t.store(t.b);
  t.machine.pwb(t.b, Site{"b"});
  EXPECT_EQ(t.images(), kAny);
  t.machine.pfence(Site{"loop"});  // the first one happens, this one waits
  EXPECT_EQ(t.images(), kBoth);
  EXPECT_EQ(t.machine.counters().pfence, 1u);
}

// ---- swap

TEST(SimMutation, ASwappedWriteBackComesAfterTheFence) {
  TwoLines t({"a=swap"});
  t.store_both();
  t.machine.pwb(t.a, Site{"a"});
  t.machine.pwb(t.b, Site{});  // no label, so it is not what changes places
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), (Pairs{{0, 1}, {1, 1}}));
  t.machine.pfence(Site{"later"});
  EXPECT_EQ(t.images(), kBoth);
}

TEST(SimMutation, ASwappedFenceComesAfterTheNextWriteBack) {
  for (const bool swapped : {false, true}) {
    TwoLines t(swapped ? std::vector<std::string>{"fence=swap"} : std::vector<std::string>{});
    t.store(t.a);
    t.machine.pwb(t.a, Site{"a"});
    t.machine.pfence(Site{"fence"});
    t.store(t.b);
    EXPECT_EQ(t.images(), (swapped ? kAny : Pairs{{1, 0}, {1, 1}}));
    t.machine.pwb(t.b, Site{"b"});
    EXPECT_EQ(t.images(), (swapped ? kBoth : Pairs{{1, 0}, {1, 1}}));
  }
}

TEST(SimMutation, ARunOfOperationsAtOneSiteMovesAsAWhole) {
  TwoLines t({"data=swap"});
  t.store_both();
  t.machine.pwb(t.a, Site{"data"});
  t.machine.pwb(t.b, Site{"data"});
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), kAny);
  EXPECT_EQ(t.machine.counters().pwb, 2u) << "they have happened by now";
  t.machine.pfence(Site{"fence"});
  EXPECT_EQ(t.images(), kBoth);
}

// ---- whose operations

TEST(SimMutation, AnOperationWithoutALabelIsNeverChanged) {
  TwoLines t({"other=drop"});
  t.store_both();
  t.machine.pwb_range(t.a, 2 * kLineBytes);
  t.machine.pfence();
  EXPECT_EQ(t.images(), kBoth);
  EXPECT_EQ(t.machine.mutated(), 0u);
}

TEST(SimMutation, AnotherThreadsFenceDoesNotReleaseWhatIsDelayed) {
  TwoLines t({"a=delay"}, {.threads = 2, .switch_probability = 0});
  auto* turn = make_object<SimMachine::Atomic<uint64_t>>(t.machine);
  Pairs after_other;
  t.machine.run_threads(2, [&](int i) {
    if (i == 0) {
      t.store(t.a);
      t.machine.pwb(t.a, Site{"a"});
      turn->store(1);
      while (turn->load() == 1) {
        t.machine.wait_while(*turn, uint64_t{1});
      }
      t.machine.pfence(Site{"own"});
      t.machine.pfence(Site{"own"});
    } else {
      while (turn->load() == 0) {
        t.machine.wait_while(*turn, uint64_t{0});
      }
      t.machine.pfence(Site{"others"});
      t.machine.pfence(Site{"others"});
      after_other = t.images();
      turn->store(2);
    }
  });
  EXPECT_EQ(after_other, (Pairs{{0, 0}, {1, 0}}));
  EXPECT_EQ(t.images(), (Pairs{{1, 0}}));
}

TEST(SimMutation, WhatIsHeldBackWhenAThreadEndsHasNotHappened) {
  TwoLines t({"sync=delay", "b=swap"});
  t.machine.run_threads(1, [&](int) {
    t.store(t.a);
    t.machine.pwb(t.a, Site{"a"});
    t.machine.psync(Site{"sync"});
  });
  EXPECT_EQ(t.images(), (Pairs{{0, 0}, {1, 0}}));
  t.machine.run_threads(1, [&](int) {
    t.store(t.b);
    t.machine.pwb(t.b, Site{"b"});
  });
  t.machine.run_threads(1, [&](int) { t.machine.pfence(Site{"fence"}); });
  EXPECT_EQ(t.images(), kAny) << "a new thread in the same slot inherits nothing";
}

TEST(SimMutation, AMutatedFenceThatFailsThrowsWhereItHappens) {
  TwoLines t({"first=delay"}, {.fail_sync_at = 1});
  t.machine.psync(Site{"first"});
  EXPECT_THROW(t.machine.psync(Site{"second"}), MediumFailure);
  EXPECT_THROW(t.machine.psync(Site{"second"}), MediumFailure) << "and the machine stays failed";
}

// ---- checks and lists

TEST(SimMutation, OnlyADroppedCheckIsSkipped) {
  EXPECT_FALSE(SimMachine().skips(Site{"wait"}));
  for (const char* kind : {"drop", "delay", "swap"}) {
    const SimMachine machine({.mutations = mutations({std::string("wait=") + kind})});
    EXPECT_EQ(machine.skips(Site{"wait"}), std::string(kind) == "drop");
    EXPECT_FALSE(machine.skips(Site{"another"}));
    EXPECT_FALSE(machine.skips(Site{}));
  }
}

std::vector<int> scanned(const SimMachine& machine, int slots, Site site) {
  std::vector<int> seen;
  for (const int slot : machine.scan(slots, site)) {
    seen.push_back(slot);
  }
  return seen;
}

TEST(SimMutation, AScanLeavesOutAllSlotsTheFirstOrTheLast) {
  const std::vector<int> all = {0, 1, 2, 3};
  const std::pair<const char*, std::vector<int>> rows[] = {
      {"drop", {}}, {"delay", all}, {"swap", all}, {"first", {1, 2, 3}}, {"last", {0, 1, 2}}};
  for (const auto& [kind, expected] : rows) {
    SimMachine machine(
        {.threads = 2, .mutations = mutations({std::string("scan=") + kind}), .list_sites = true});
    machine.run_threads(2, [](int) {});  // four slots are active: main, background, two workers
    EXPECT_EQ(scanned(machine, 4, Site{"scan"}), expected) << kind;
    EXPECT_EQ(scanned(machine, 4, Site{"another"}), all);
    EXPECT_EQ(scanned(machine, 4, Site{}), all);
    EXPECT_EQ(scanned(machine, 9, Site{"another"}), all) << "only active slots";
    EXPECT_EQ(scanned(machine, 3, Site{"another"}), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(machine.mutated() > 0, expected != all) << kind;
    EXPECT_EQ(machine.sites().back().kind, SiteKind::scan);
  }
}

TEST(SimMutation, ACheckIsNoOperation) {
  const SimMachine machine(
      {.threads = 2, .mutations = mutations({"wait=drop"}), .list_sites = true});
  const uint64_t before = machine.steps();
  EXPECT_TRUE(machine.skips(Site{"wait"}));
  EXPECT_EQ(machine.steps(), before);
  EXPECT_EQ(machine.mutated(), 1u);
}

TEST(SimMutation, LabelsAreComparedByContent) {
  TwoLines t({"a=drop"});
  const std::string elsewhere = "a";  // another object file's literal
  t.store(t.a);
  t.machine.pwb(t.a, Site{elsewhere.c_str()});
  t.machine.pwb(t.a, Site{"a"});
  t.machine.pfence();
  EXPECT_EQ(t.images(), (Pairs{{0, 0}, {1, 0}}));
}

TEST(SimMutation, SitesAreListedByNameWithKindAndCount) {
  TwoLines t({"unused=drop"}, {.list_sites = true});
  t.machine.pwb(t.a, Site{"w"});
  t.machine.pwb_range(t.a, 2 * kLineBytes, Site{"w"});
  t.machine.psync(Site{"s"});
  t.machine.pfence(Site{"s"});
  t.machine.fence(Site{"f"});
  t.machine.heavy_fence(Site{"h"});
  t.machine.skips(Site{"c"});
  t.machine.pfence();
  std::string found;
  for (const SiteUse& use : t.machine.sites()) {
    found += use.name + ' ' + to_string(use.kind) + ' ' + std::to_string(use.count) + '\n';
  }
  EXPECT_EQ(found,
            "c check 1\n"
            "f full fence 1\n"
            "h full fence 1\n"
            "s fence 2\n"
            "w write-back 2\n");
}

TEST(SimMutation, NobodyAskedForAListOfSites) {
  TwoLines t({"w=drop"});
  t.machine.pwb(t.a, Site{"w"});
  EXPECT_TRUE(t.machine.sites().empty());
}

TEST(SimMutation, AListOfMutationsThatNobodyMeetsChangesNoSchedule) {
  const auto run = [](SimOptions options) {
    options.threads = 3;
    options.seed = 5;
    SimMachine machine(options);
    machine.medium().grow(kPageBytes).check();
    auto* words = reinterpret_cast<uint64_t*>(
        machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
    machine.run_threads(3, [&](int i) {
      for (uint64_t k = 0; k < 50; ++k) {
        SimMachine::store(words + 8 * ((k + static_cast<uint64_t>(i)) % 4), k);
        machine.pwb(words + 8 * (k % 4), Site{"w"});
        machine.pfence(Site{"f"});
      }
    });
    return std::pair(machine.latest_image(), std::pair(machine.steps(), machine.persist_events()));
  };
  const auto plain = run({});
  EXPECT_EQ(plain, run({.mutations = mutations({"nowhere=drop"}), .list_sites = true}));
}

}  // namespace
}  // namespace holdfast::mutation_test
