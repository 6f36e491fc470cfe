// SPDX-License-Identifier: Apache-2.0
//
// Do the transactions of vacation keep its conservation laws, also under snapshot isolation, and
// does its check notice each kind of damage?
#include "holdfast/workloads/vacation/vacation.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"
#include "tests/unit/structures/snapshot_heap.h"

namespace holdfast::vacation::testing::vacation_test {
namespace {

using holdfast::testing::SnapshotHeap;
using Given = std::map<std::string, std::string>;

Parameters parameters(const Given& given) {
  return Parameters::make(vacation_info(), given).value();
}

TEST(VacationMixTest, ContentionGivesTheOptionsOfStamp) {
  const Mix low(parameters({}));
  EXPECT_EQ(low.queries, 2U);
  EXPECT_DOUBLE_EQ(low.range, 0.9);
  EXPECT_DOUBLE_EQ(low.users, 0.98);
  const Mix high(parameters({{"contention", "high"}}));
  EXPECT_EQ(high.queries, 4U);
  EXPECT_DOUBLE_EQ(high.range, 0.6);
  EXPECT_DOUBLE_EQ(high.users, 0.9);
  const Mix given(
      parameters({{"contention", "high"}, {"queries", "7"}, {"range", "100"}, {"users", "0"}}));
  EXPECT_EQ(given.queries, 7U);
  EXPECT_DOUBLE_EQ(given.range, 1);
  EXPECT_DOUBLE_EQ(given.users, 0);
  EXPECT_THROW(Mix(parameters({{"contention", "medium"}})), Error);
  EXPECT_THROW(Mix(parameters({{"range", "101"}})), Error);
  EXPECT_THROW(Mix(parameters({{"users", "-2"}})), Error);
}

TEST(VacationActionTest, ActionsAreDrawnAsTheMixSays) {
  constexpr int kActions = 20000;
  constexpr uint64_t kRelations = 1000;
  const Mix mix(parameters({{"contention", "high"}}));
  Random random(1);
  Action action;
  std::map<int, int> kinds;
  std::map<size_t, int> lengths;
  uint64_t largest = 0;
  std::set<size_t> resources;
  for (int i = 0; i < kActions; ++i) {
    action.draw(mix, kRelations, random);
    ++kinds[action.kind];
    ++lengths[action.queries.size()];
    for (const Action::Query& query : action.queries) {
      ASSERT_GE(query.id, 1U);
      ASSERT_TRUE(query.price >= kLeastPrice && query.price <= kMostPrice);
      largest = std::max({largest, query.id, action.customer});
      resources.insert(query.kind);
    }
  }
  // Limits of five standard deviations; seed 1.
  EXPECT_NEAR(kinds[Action::kReserve], 18000, 215);
  EXPECT_NEAR(kinds[Action::kDeleteCustomer], 1000, 155);
  EXPECT_NEAR(kinds[Action::kUpdateTables], 1000, 155);
  ASSERT_EQ(lengths.size(), 4U);
  for (const auto& [length, count] : lengths) {
    EXPECT_NEAR(count, kActions / 4, 310) << length << " queries";
  }
  EXPECT_EQ(largest, 600U);
  EXPECT_EQ(resources.size(), kKinds);
}

TEST(VacationTablesTest, SeatsAndReservationsAreConserved) {
  PlainHeap heap;
  auto* root = heap.root<Root<PlainHeap>>("r", 1, uint64_t{9}).value();
  Tables<PlainHeap>& tables = root->tables;
  heap.update([&] {
        tables.add_seats(0, 5, 100, 60);
        EXPECT_FALSE(tables.reserve(1, 0, 5)) << "no such customer";
        EXPECT_TRUE(tables.add_customer(1));
        EXPECT_FALSE(tables.add_customer(1));
        EXPECT_FALSE(tables.reserve(1, 1, 5)) << "no such room";
        EXPECT_TRUE(tables.reserve(1, 0, 5));
        EXPECT_FALSE(tables.reserve(1, 0, 5)) << "reserved already";
        EXPECT_EQ(tables.free_seats(0, 5), 99);
        EXPECT_FALSE(tables.remove_seats(0, 5, 100)) << "99 are free";
        tables.add_seats(0, 5, 100, 90);
        EXPECT_EQ(tables.price(0, 5), 90);
        EXPECT_TRUE(tables.remove_seats(0, 5, 100));
        EXPECT_EQ(tables.free_seats(0, 5), 99);
        EXPECT_EQ(tables.delete_customer(1), 60) << "the price at the time of the reservation";
        EXPECT_EQ(tables.delete_customer(1), -1);
        EXPECT_TRUE(tables.remove_seats(0, 5, 100));
        EXPECT_EQ(tables.free_seats(0, 5), -1) << "removed with its last seat";
      })
      .check();
  size_t blocks = 1;
  root->visit_blocks([&](const void*, size_t) { ++blocks; });
  EXPECT_EQ(heap.live_blocks(), blocks);
}

TEST(VacationTablesTest, NoSeatIsReservedTwice) {
  PlainHeap heap;
  auto* root = heap.root<Root<PlainHeap>>("r", 1, uint64_t{200}).value();
  heap.update([&] {
        root->tables.add_seats(2, 1, 100, 50);
        int reserved = 0;
        for (uint64_t id = 1; id <= 150; ++id) {
          root->tables.add_customer(id);
          reserved += root->tables.reserve(id, 2, 1) ? 1 : 0;
        }
        EXPECT_EQ(reserved, 100);
      })
      .check();
  EXPECT_TRUE(TravelCheck<PlainHeap>(root->tables, 200).run().ok());
}

class VacationDamageTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kRelations = 20;

  VacationDamageTest()
      : workload_(heap_, parameters({{"relations", "20"}, {"contention", "high"}})) {
    workload_.set_up(1, 1).check();
    Random random(2);
    for (int i = 0; i < 200; ++i) {
      workload_.operation(0, random);
    }
    tables_ = &heap_.find_root<Root<PlainHeap>>("vacation").value()->tables;
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
  }

  Resource<PlainHeap>& resource() { return *tables_->resources[0].find(3).value(); }
  /// A customer with at least two reservations.
  Customer<PlainHeap>& customer() {
    Customer<PlainHeap>* found = nullptr;
    tables_->customers.for_each([&](uint64_t, Customer<PlainHeap>* c) {
      found = c->first != nullptr && c->first->next != nullptr ? c : found;
      return true;
    });
    return *found;
  }
  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  Vacation<PlainHeap> workload_;
  Tables<PlainHeap>* tables_ = nullptr;
};

TEST_F(VacationDamageTest, ASeatFromNowhereIsNoticed) {
  resource().free += 1;
  expect_noticed("car 3 has");
}

TEST_F(VacationDamageTest, AUsedSeatWithoutReservationIsNoticed) {
  resource().free -= 1;
  resource().used += 1;
  expect_noticed("reservations");
}

TEST_F(VacationDamageTest, HalfAnAdditionOfSeatsIsNoticed) {
  resource().free += 7;
  resource().total += 7;
  expect_noticed("car 3 has");
}

TEST_F(VacationDamageTest, NegativeSeatsAreNoticed) {
  resource().used -= 200;
  resource().free += 200;
  expect_noticed("car 3 has");
}

TEST_F(VacationDamageTest, AWrongPriceIsNoticed) {
  resource().price = 10;
  expect_noticed("car 3 costs 10");
}

TEST_F(VacationDamageTest, ALostReservationIsNoticed) {
  Customer<PlainHeap>& c = customer();
  c.bill -= c.first->price;
  c.first = c.first->next.load();
  expect_noticed("used seats");
}

TEST_F(VacationDamageTest, AWrongBillIsNoticed) {
  customer().bill += 10;
  expect_noticed("its reservations cost");
}

TEST_F(VacationDamageTest, AReservationTwiceIsNoticed) {
  auto* first = customer().first.load();
  first->next->kind = first->kind.load();
  first->next->id = first->id.load();
  expect_noticed("two reservations of");
}

TEST_F(VacationDamageTest, ACircleOfReservationsIsNoticed) {
  auto* first = customer().first.load();
  first->next->next = first;
  expect_noticed("two reservations of");
}

TEST_F(VacationDamageTest, AReservationOfNothingIsNoticed) {
  customer().first->id = kRelations + 1;
  expect_noticed("no valid resource");
}

TEST_F(VacationDamageTest, AMissingResourceIsNoticed) {
  auto* first = customer().first.load();
  const auto kind = static_cast<size_t>(first->kind.load());
  heap_.update([&] { tables_->resources[kind].erase(first->id); }).check();
  expect_noticed("which is not there");
}

TEST_F(VacationDamageTest, AnUnknownCustomerIsNoticed) {
  heap_.update([&] { tables_->add_customer(kRelations + 5); }).check();
  expect_noticed("customer 25 has no valid number");
}

template <bool kPromote>
struct TablesRoot {
  Tables<SnapshotHeap, kPromote> tables;
};

/// Runs rounds of concurrent transactions on few resources and customers, under the most permissive
/// snapshot isolation. Returns whether all conservation laws hold after each round.
template <bool kPromote>
Status run_concurrently(uint64_t seed) {
  constexpr uint64_t kRelations = 3;
  SnapshotHeap heap;
  auto* root = heap.root<TablesRoot<kPromote>>("r").value();
  auto& tables = root->tables;
  heap.update([&] {
        for (uint64_t id = 1; id <= kRelations; ++id) {
          tables.add_seats(0, id, kSeatStep, kLeastPrice);
        }
      })
      .check();
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::function<void()>> bodies;
    for (int i = 0; i < 3; ++i) {
      const uint64_t customer = 1 + random.below(2);
      const uint64_t id = 1 + random.below(kRelations);
      switch (random.below(4)) {
        case 0:
          bodies.emplace_back([&tables, customer] { tables.delete_customer(customer); });
          break;
        case 1:
          bodies.emplace_back([&tables, id] { tables.add_seats(0, id, kSeatStep, kMostPrice); });
          break;
        case 2:
          bodies.emplace_back([&tables, id] { tables.remove_seats(0, id, kSeatStep); });
          break;
        default:
          bodies.emplace_back([&tables, customer, id] {
            tables.add_customer(customer);
            tables.reserve(customer, 0, id);
          });
      }
    }
    heap.concurrently(bodies);
    Status status;
    heap.read([&] { status = TravelCheck<SnapshotHeap, kPromote>(tables, kRelations).run(); })
        .check();
    if (!status.ok() || !heap.violations().empty()) {
      return status.ok() ? Status(Code::corrupt, heap.violations().front()) : status;
    }
  }
  return {};
}

TEST(VacationSkewTest, SnapshotIsolationKeepsTheConservationLaws) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Status status = run_concurrently<true>(seed);
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.to_string();
  }
}

TEST(VacationSkewTest, WithoutThePromotionTheyBreak) {
  int broken = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    broken += run_concurrently<false>(seed).ok() ? 0 : 1;
  }
  EXPECT_GT(broken, 0);
}

}  // namespace
}  // namespace holdfast::vacation::testing::vacation_test
