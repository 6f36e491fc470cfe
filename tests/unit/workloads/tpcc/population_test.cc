// SPDX-License-Identifier: Apache-2.0
//
// Is the initial population the one of clause 4.3.3, and is it consistent?
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/workloads/tpcc/tpcc.h"
#include "tests/unit/workloads/tpcc/test_heap.h"

namespace holdfast::tpcc::population_test {
namespace {

/// One warehouse of the standard's size. The tests of this file share it and only read it.
class TpccPopulation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    heap = new PlainHeap();
    tpcc = new Tpcc<PlainHeap>(*heap, Parameters::make(info(), {}).value());
    tpcc->set_up(1, 4711).check();
  }
  static void TearDownTestSuite() {
    delete tpcc;
    delete heap;
  }
  const Catalog<PlainHeap>& db() const { return tpcc->catalog(); }
  const DistrictTables<PlainHeap>& tables(uint32_t d) const { return db().tables(1, d); }

  static inline PlainHeap* heap = nullptr;
  static inline Tpcc<PlainHeap>* tpcc = nullptr;
};

TEST_F(TpccPopulation, HasTheStandardsNumberOfRows) {
  EXPECT_EQ(db().database().items.size(), 100'000u);
  EXPECT_EQ(db().database().warehouses.size(), 1u);
  EXPECT_EQ(db().database().districts.size(), 10u);
  EXPECT_EQ(db().tables(1).stock.size(), 100'000u);
  size_t lines = 0;
  for (uint32_t d = 1; d <= 10; ++d) {
    EXPECT_EQ(tables(d).customers.size(), 3000u);
    EXPECT_EQ(tables(d).customers_by_name.size(), 3000u);
    EXPECT_EQ(tables(d).orders.size(), 3000u);
    EXPECT_EQ(tables(d).orders_by_customer.size(), 3000u);
    EXPECT_EQ(tables(d).new_orders.size(), 900u);
    EXPECT_EQ(tables(d).history.size(), 3000u);
    lines += tables(d).order_lines.size();
  }
  EXPECT_NEAR(static_cast<double>(lines), 300'000.0, 3000.0);
}

TEST_F(TpccPopulation, MeetsAllConditions) {
  const Status status = tpcc->check();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(TpccPopulation, EveryBlockIsOwned) {
  size_t blocks = 1;  // the root object
  size_t bytes = sizeof(Database<PlainHeap>);
  tpcc->visit_blocks([&](const void* /*p*/, size_t n) {
    ++blocks;
    bytes += n;
  });
  EXPECT_EQ(blocks, heap->live_blocks());
  EXPECT_EQ(bytes, heap->live_bytes());
}

TEST_F(TpccPopulation, CustomersAreAsSpecified) {
  int bad = 0;
  std::set<std::string> first_thousand;
  for (uint32_t c = 1; c <= 3000; ++c) {
    const auto& customer = db().customer(1, 4, c);
    ASSERT_EQ(customer.key.load(), customer_key(1, 4, c));
    bad += customer.credit == Credit::bad ? 1 : 0;
    if (c <= 1000) {
      first_thousand.insert(std::string(customer.last.load().view()));
    }
    ASSERT_GE(last_name_number(customer.last.load().view()), 0);
    ASSERT_GE(customer.first.load().view().size(), 8u);
    ASSERT_GE(customer.data.load().view().size(), 300u);
    ASSERT_LE(customer.data.load().view().size(), 500u);
    ASSERT_LE(customer.discount.load(), 5000u);
    ASSERT_EQ(customer.middle.load().view(), "OE");
    ASSERT_EQ(customer.balance.load(), -1000);
    ASSERT_EQ(customer.ytd_payment.load(), 1000);
    ASSERT_EQ(customer.credit_limit.load(), 5'000'000);
    ASSERT_EQ(customer.phone.load().view().size(), 16u);
  }
  EXPECT_EQ(first_thousand.size(), 1000u) << "the first 1000 customers have all last names";
  EXPECT_NEAR(bad, 300, 75);
}

TEST_F(TpccPopulation, OrdersAreAsSpecified) {
  std::set<uint32_t> customers;
  for (uint32_t o = 1; o <= 3000; ++o) {
    const auto* order = find_row<PlainHeap>(tables(7).orders, order_key(1, 7, o));
    ASSERT_NE(order, nullptr);
    customers.insert(order->customer);
    ASSERT_GE(order->line_count.load(), 5u);
    ASSERT_LE(order->line_count.load(), 15u);
    ASSERT_EQ(order->carrier != 0, o <= 2100);
    ASSERT_EQ(order->all_local.load(), 1u);
    each_line(tables(7), order->key, [&](const OrderLine<PlainHeap>& line) {
      ASSERT_EQ(line.amount == 0, o <= 2100);
      ASSERT_EQ(line.delivery_date != 0, o <= 2100);
      ASSERT_EQ(line.quantity.load(), 5u);
      ASSERT_EQ(line.dist_info.load().view().size(), 24u);
    });
  }
  EXPECT_EQ(customers.size(), 3000u) << "each customer has one order";
}

TEST_F(TpccPopulation, ItemsAndStockAreAsSpecified) {
  int original_items = 0;
  int original_stock = 0;
  for (uint32_t i = 1; i <= 100'000; ++i) {
    const auto* item = db().find_item(i);
    ASSERT_NE(item, nullptr);
    ASSERT_GE(item->price.load(), 100);
    ASSERT_LE(item->price.load(), 10'000);
    ASSERT_GE(item->name.load().view().size(), 14u);
    original_items += is_original(item->data) ? 1 : 0;
    const auto& stock = db().stock(1, i);
    ASSERT_GE(stock.quantity.load(), 10);
    ASSERT_LE(stock.quantity.load(), 100);
    ASSERT_EQ(stock.dist[9].load().view().size(), 24u);
    original_stock += is_original(stock.data) ? 1 : 0;
  }
  EXPECT_NEAR(original_items, 10'000, 500);
  EXPECT_NEAR(original_stock, 10'000, 500);
}

TEST_F(TpccPopulation, WarehouseAndDistrictsStartWithTheirPayments) {
  EXPECT_EQ(db().warehouse(1).ytd.load(), 300'000'00);
  EXPECT_LE(db().warehouse(1).tax.load(), 2000u);
  for (uint32_t d = 1; d <= 10; ++d) {
    EXPECT_EQ(db().district(1, d).ytd.load(), 30'000'00);
    EXPECT_EQ(db().district(1, d).next_order.load(), 3001u);
    EXPECT_LE(db().district(1, d).tax.load(), 2000u);
  }
}

using tpcc_test::Fixture;

TEST(TpccSetUp, OneSeedGivesOnePopulation) {
  const auto first_names = [](uint64_t seed) {
    PlainHeap heap;
    auto parameters = Fixture::small();
    Tpcc<PlainHeap> tpcc(heap, Parameters::make(info(), parameters).value());
    tpcc.set_up(1, seed).check();
    std::string names;
    for (uint32_t c = 1; c <= 30; ++c) {
      names += tpcc.catalog().customer(1, 2, c).first.load().view();
    }
    return names;
  };
  EXPECT_EQ(first_names(1), first_names(1));
  EXPECT_NE(first_names(1), first_names(2));
}

TEST(TpccSetUp, AnySizeIsConsistent) {
  for (const auto& sizes : std::vector<std::map<std::string, std::string>>{
           {{"items", "1"}, {"customers", "1"}, {"orders", "1"}, {"districts", "1"}},
           {{"items", "15"},
            {"customers", "2"},
            {"orders", "9"},
            {"districts", "2"},
            {"batch_rows", "20"}},
           {{"items", "30"}, {"customers", "40"}, {"orders", "7"}, {"warehouses", "3"}}}) {
    Fixture f(sizes);
    Status status = f.tpcc.check();
    EXPECT_TRUE(status.ok()) << status.message();
    Random random(3);
    for (int i = 0; i < 300; ++i) {
      f.tpcc.operation(0, random);
    }
    status = f.tpcc.check();
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(TpccSetUp, SecondSetUpIsRefused) {
  Fixture f(Fixture::small());
  EXPECT_EQ(f.tpcc.set_up(1, 1).code(), Code::already_exists);
}

TEST(TpccSetUp, AttachFindsTheDatabaseAndItsScale) {
  Fixture f(Fixture::small());
  Fixture::Workload again(f.heap, Parameters::make(info(), {}).value());
  again.attach().check();
  EXPECT_EQ(again.settings().scale.customers, 30u);
  EXPECT_EQ(again.catalog().constants().last_run, f.catalog().constants().last_run);
  const Status status = again.check();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(TpccSetUp, AttachRefusesWhatIsNotComplete) {
  Fixture f(Fixture::small());
  f.change([&] { f.catalog().database().complete = 0; });
  EXPECT_EQ(f.tpcc.attach().code(), Code::not_found);
}

TEST(TpccSetUp, AttachRefusesAnEmptyHeap) {
  PlainHeap heap;
  Tpcc<PlainHeap> tpcc(heap, Parameters::make(info(), {}).value());
  EXPECT_EQ(tpcc.attach().code(), Code::not_found);
}

TEST(TpccSetUp, DisjointNeedsAWarehouseForEachWorker) {
  PlainHeap heap;
  Tpcc<PlainHeap> tpcc(
      heap, Parameters::make(info(), {{"home", "disjoint"}, {"warehouses", "2"}}).value());
  EXPECT_EQ(tpcc.set_up(3, 1).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace holdfast::tpcc::population_test
