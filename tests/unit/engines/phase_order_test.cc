// SPDX-License-Identifier: Apache-2.0
//
// Do an engine's transactions go through the phases that checks.toml beside it lists, without gaps?
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::phase_order_test {
namespace {

class EnginePhases : public testing::TestWithParam<std::string> {};

void run_one(World& w, const PhaseOrder& order) {
  w.run(1, [&](int) {
    const auto body = [&] {
      for (const int word : order.loads) {
        w.heap.get(static_cast<size_t>(word));
      }
      for (const int word : order.stores) {
        w.heap.set(static_cast<size_t>(word), 7);
      }
    };
    order.stores.empty() ? w.heap.engine().read(body) : w.heap.engine().update(body);
  });
}

std::string text(const std::vector<Phase>& phases) {
  std::string all;
  for (const Phase phase : phases) {
    all.append(all.empty() ? "" : ", ").append(to_string(phase));
  }
  return all;
}

TEST_P(EnginePhases, AreInTheOrderBesideTheEngine) {
  for (const PhaseOrder& order : checks_of(GetParam()).orders) {
    const auto& row = engine_rows_test::row_of(GetParam());
    World w(row, power9(3), with_tiny(*row.description, order.options));
    run_one(w, order);
    EXPECT_EQ(text(w.order(kSlotOfWorker0)), text(order.phases));
    const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
    ASSERT_EQ(transactions.size(), 1u);
    const bool update = !order.stores.empty();
    EXPECT_EQ(transactions[0].transaction,
              update ? TransactionKind::update : TransactionKind::read);
    EXPECT_EQ(transactions[0].outcome, update ? Outcome::committed : Outcome::read_only);
    EXPECT_EQ(w.machine.statistics().phase_time(Phase::aborted), 0u) << "an abort";
    // One after the other, without gaps: so they add up.
    uint64_t at = transactions[0].begin;
    for (const Slice& s : w.slices(Kind::phase, kSlotOfWorker0)) {
      EXPECT_EQ(s.begin, at);
      at = s.end;
    }
    EXPECT_EQ(at, transactions[0].end);
  }
}

TEST_P(EnginePhases, AreKnownOfAnUpdateAndOfARead) {
  const std::vector<PhaseOrder>& orders = checks_of(GetParam()).orders;
  for (const bool update : {true, false}) {
    EXPECT_TRUE(
        std::any_of(orders.begin(), orders.end(),
                    [&](const PhaseOrder& order) { return order.stores.empty() != update; }))
        << "checks.toml needs an order of " << (update ? "an update" : "a read");
  }
}

/// Those under the lock are known, too, where an engine takes one without hardware transactions.
TEST_P(EnginePhases, AreKnownUnderTheLock) {
  const auto& row = engine_rows_test::row_of(GetParam());
  const std::vector<PhaseOrder>& orders = checks_of(GetParam()).orders;
  PhaseOrder locked;
  locked.stores = {3};
  locked.options = known_options(*row.description, {{"retries", "0"}});
  if (locked.options.empty()) {
    return;
  }
  World w(row, power9(3), with_tiny(*row.description, locked.options));
  run_one(w, locked);
  const std::vector<Phase> phases = w.order(kSlotOfWorker0);
  if (std::count(phases.begin(), phases.end(), Phase::lock_wait) != 0) {
    EXPECT_TRUE(std::any_of(orders.begin(), orders.end(), [](const PhaseOrder& order) {
      const auto retries = order.options.find("retries");
      return retries != order.options.end() && retries->second == "0";
    })) << "checks.toml needs an order with retries = \"0\"";
  }
}

/// In each attempt, whatever the engine did before it: the body's time counts as execution, or as
/// combining if another thread runs it.
TEST_P(EnginePhases, OfBodiesIsExecution) {
  const auto& row = engine_rows_test::row_of(GetParam());
  uint64_t bodies = 0;
  std::map<std::string, uint64_t> others;
  for (const char* retries : {"10", "1"}) {
    World w(row, power9(3), with_tiny(*row.description, {{"retries", retries}}));
    const auto body = [&] {
      ++bodies;
      const Phase phase = SimMachine::phase(Phase::execute);
      SimMachine::phase(phase);
      others[to_string(phase)] += phase == Phase::execute || phase == Phase::combine ? 0 : 1;
      for (const size_t word : {0u, 40u, 80u}) {
        w.heap.set(word, w.heap.get(word) + 1);
      }
    };
    w.run(3, [&](int) {
      for (int i = 0; i < 40; ++i) {
        w.heap.engine().update(body);
      }
    });
  }
  std::erase_if(others, [](const auto& found) { return found.second == 0; });
  for (const auto& [name, count] : others) {
    ADD_FAILURE() << count << " of " << bodies << " bodies ran in phase " << name;
  }
  EXPECT_GE(bodies, 2u * 3 * 40);
}

INSTANTIATE_TEST_SUITE_P(Engines, EnginePhases, testing::ValuesIn(engine_rows_test::engine_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::timeline_test::phase_order_test
