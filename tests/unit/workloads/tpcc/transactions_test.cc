// SPDX-License-Identifier: Apache-2.0
//
// Do the five transactions do what clauses 2.4 to 2.8 say?
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "holdfast/workloads/tpcc/tpcc.h"
#include "tests/sanitized.h"
#include "tests/unit/workloads/tpcc/test_heap.h"

namespace holdfast::tpcc::transactions_test {
namespace {

using tpcc_test::Fixture;
using tpcc_test::UndoHeap;
using Heap = UndoHeap;

class TpccTransactions : public ::testing::Test {
 protected:
  TpccTransactions() : f_(parameters()) {}
  static std::map<std::string, std::string> parameters() {
    auto p = Fixture::small();
    p["warehouses"] = "2";
    return p;
  }

  const Catalog<Heap>& db() const { return f_.catalog(); }

  NewOrderOutput order(const NewOrderInput& input) {
    return f_.heap.update([&] { return NewOrder<Heap>(db(), input).run(); }).value();
  }
  PaymentOutput pay(const PaymentInput& input) {
    return f_.heap.update([&] { return Payment<Heap>(db(), input).run(); }).value();
  }
  DeliveryOutput deliver(const DeliveryInput& input) {
    return f_.heap.update([&] { return delivery(db(), input); }).value();
  }
  void expect_consistent() {
    const Status status = f_.tpcc.check();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Calls body(order) for the orders of district (1, 2).
  template <class F>
  void for_each_order(F&& body) {
    each_row<Heap>(db().tables(1, 2).orders, body);
  }

  /// Five lines of ten pieces of items 1 to 5; the second line is from warehouse 2.
  static NewOrderInput five_lines() {
    NewOrderInput input{
        .warehouse = 1, .district = 2, .customer = 9, .line_count = 5, .lines = {}, .date = 88};
    for (uint32_t i = 0; i < 5; ++i) {
      input.lines[i] = {i + 1, i == 1 ? 2u : 1u, 10};
    }
    return input;
  }

  Fixture f_;
};

TEST_F(TpccTransactions, NewOrderEntersOrderLinesAndStock) {
  const auto before = [&](uint32_t w, uint32_t i) { return db().stock(w, i).quantity.load(); };
  const int32_t first = before(1, 1);
  const int32_t second = before(2, 2);
  const auto output = order(five_lines());
  EXPECT_EQ(output.order, order_key(1, 2, 21));
  EXPECT_EQ(db().district(1, 2).next_order.load(), 22u);
  const auto* row = find_row<Heap>(db().tables(1, 2).orders, output.order);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->customer.load(), 9u);
  EXPECT_EQ(row->carrier.load(), 0u);
  EXPECT_EQ(row->line_count.load(), 5u);
  EXPECT_EQ(row->all_local.load(), 0u);
  EXPECT_EQ(row->entry_date.load(), 88u);

  const auto expected = [](int32_t quantity) {
    return quantity >= 20 ? quantity - 10 : quantity + 81;
  };
  EXPECT_EQ(db().stock(1, 1).quantity.load(), expected(first));
  EXPECT_EQ(db().stock(1, 1).ytd.load(), 10);
  EXPECT_EQ(db().stock(1, 1).remote_count.load(), 0u);
  EXPECT_EQ(db().stock(2, 2).quantity.load(), expected(second));
  EXPECT_EQ(db().stock(2, 2).remote_count.load(), 1u);

  int64_t amount = 0;
  uint32_t number = 0;
  each_line(db().tables(1, 2), output.order, [&](const OrderLine<Heap>& line) {
    ++number;
    EXPECT_EQ(line.item.load(), number);
    EXPECT_EQ(line.amount.load(), db().find_item(number)->price * 10);
    EXPECT_EQ(line.delivery_date.load(), 0u);
    EXPECT_EQ(line.dist_info.load(), db().stock(number == 2 ? 2 : 1, number).dist[1].load());
    amount += line.amount;
  });
  EXPECT_EQ(number, 5u);
  EXPECT_EQ(output.amount, amount);
  expect_consistent();
}

TEST_F(TpccTransactions, StockIsRefilledBelowTen) {
  const auto quantity_after = [&](int32_t quantity) {
    f_.change([&] { db().stock(1, 1).quantity = quantity; });
    order(five_lines());
    return db().stock(1, 1).quantity.load();
  };
  EXPECT_EQ(quantity_after(20), 10);
  EXPECT_EQ(quantity_after(19), 100);
  EXPECT_EQ(quantity_after(10), 91);
}

TEST_F(TpccTransactions, UnknownItemLeavesNoTrace) {
  const auto before = Heap::image();
  auto input = five_lines();
  input.lines[4].item = 61;
  EXPECT_THROW(order(input), UnknownItem);
  EXPECT_EQ(Heap::image(), before);
}

TEST_F(TpccTransactions, RollbackIsReportedAsNotCommitted) {
  Fixture g([] {
    auto p = Fixture::small();
    p["mix"] = "neworder";
    return p;
  }());
  Random random(7);
  int rolled_back = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto before = i < 200 ? Heap::image() : std::map<void*, std::string>();
    const auto result = g.tpcc.operation(0, random);
    EXPECT_EQ(result.kind, kNewOrder);
    if (!result.committed) {
      ++rolled_back;
      EXPECT_EQ(result.acknowledgement[0], 0u);
      if (i < 200) {
        EXPECT_EQ(Heap::image(), before);
      }
    }
  }
  EXPECT_NEAR(rolled_back, 30, 20);
  const Status status = g.tpcc.check();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(TpccTransactions, PaymentMovesMoney) {
  f_.change([&] { db().customer(2, 3, 4).credit = Credit::good; });
  const auto data = db().customer(2, 3, 4).data.load();
  const auto output =
      pay({.warehouse = 1, .district = 2, .customer = {2, 3, 4, {}}, .amount = 12'345, .date = 99});
  EXPECT_EQ(db().warehouse(1).ytd.load(), 3 * 30 * 1000 + 12'345);
  EXPECT_EQ(db().district(1, 2).ytd.load(), 30 * 1000 + 12'345);
  const auto& customer = db().customer(2, 3, 4);
  EXPECT_EQ(customer.balance.load(), -1000 - 12'345);
  EXPECT_EQ(customer.ytd_payment.load(), 1000 + 12'345);
  EXPECT_EQ(customer.payment_count.load(), 2u);
  EXPECT_EQ(customer.data.load(), data);
  const auto* row = find_row<Heap>(db().tables(1, 2).history, output.history);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->customer.load(), customer_key(2, 3, 4));
  EXPECT_EQ(row->amount.load(), 12'345);
  EXPECT_EQ(row->date.load(), 99u);
  EXPECT_EQ(std::string(row->data.load().view()),
            std::string(db().warehouse(1).name.load().view()) + "    " +
                std::string(db().district(1, 2).name.load().view()));
  expect_consistent();
}

TEST_F(TpccTransactions, BadCreditIsWrittenDown) {
  f_.change([&] { db().customer(1, 3, 4).credit = Credit::bad; });
  const std::string before(db().customer(1, 3, 4).data.load().view());
  const PaymentInput input{
      .warehouse = 2, .district = 1, .customer = {1, 3, 4, {}}, .amount = 500, .date = 1};
  pay(input);
  const std::string once(db().customer(1, 3, 4).data.load().view());
  EXPECT_EQ(once, ("4 3 1 1 2 500 " + before).substr(0, 500));
  for (int i = 0; i < 20; ++i) {
    pay(input);
  }
  EXPECT_EQ(db().customer(1, 3, 4).data.load().view().size(), 500u);
  expect_consistent();
}

TEST_F(TpccTransactions, ByNameTheMiddleOneIsTaken) {
  // Customers 1 to n have the last name "BARBARABLE". The order of their first names differs from
  // that of their numbers.
  for (uint32_t n = 1; n <= 7; ++n) {
    Fixture g(Fixture::small());
    const auto& tables = g.catalog().tables(1, 1);
    const auto name = last_name(2);
    const auto rename = [&](uint32_t c, const Text<16>& last, const char* first) {
      auto& customer = g.catalog().customer(1, 1, c);
      auto& index = g.catalog().tables(1, 1).customers_by_name;
      index.erase(name_key(customer.last, customer.first, c));
      customer.last = last;
      customer.first = Text<16>::of(first);
      index.insert(name_key(last, customer.first, c), &customer);
    };
    const char* const firsts[] = {"delta", "alpha", "golf", "bravo", "echo", "charlie", "foxtrot"};
    g.change([&] {
      for (uint32_t c = 1; c <= 30; ++c) {
        rename(c, c <= n ? name : last_name(c % 2 == 0 ? 1 : 3), c <= n ? firsts[c - 1] : "other");
      }
    });
    std::vector<std::string> sorted(firsts, firsts + n);
    std::sort(sorted.begin(), sorted.end());
    const auto* middle = middle_customer(tables, name);
    ASSERT_NE(middle, nullptr);
    EXPECT_EQ(middle->first.load().view(), sorted[(n + 1) / 2 - 1]) << n << " namesakes";
    EXPECT_EQ(middle_customer(tables, last_name(999)), nullptr);
    EXPECT_EQ(middle_customer(tables, Text<16>::of("SMITH")), nullptr);
  }
}

TEST_F(TpccTransactions, OrderStatusShowsTheLastOrder) {
  const auto output = order(five_lines());
  const auto status = f_.heap.read([&] { return order_status(db(), {{1, 2, 9, {}}}); }).value();
  EXPECT_EQ(status.order, output.order);
  EXPECT_EQ(status.customer, 9u);
  EXPECT_EQ(status.line_count, 5u);
  EXPECT_EQ(status.amount, output.amount);
  // Customers without an order exist only in small populations. For them the transaction must not
  // take a neighbour's order.
  std::set<uint32_t> with_orders;
  for_each_order([&](const Order<Heap>& o) { with_orders.insert(o.customer); });
  for (uint32_t c = 1; c <= 30; ++c) {
    const auto s = f_.heap.read([&] { return order_status(db(), {{1, 2, c, {}}}); }).value();
    EXPECT_EQ(s.order != 0, with_orders.count(c) == 1) << c;
  }
}

TEST_F(TpccTransactions, DeliveryTakesTheOldestOfEachDistrict) {
  // There are 20 orders; 15 to 20 wait.
  for (uint32_t round = 0; round < 6; ++round) {
    const auto* row = find_row<Heap>(db().tables(1, 3).orders, order_key(1, 3, 15 + round));
    ASSERT_NE(row, nullptr);
    const auto& customer = db().customer(1, 3, row->customer);
    const int64_t balance = customer.balance;
    int64_t amount = 0;
    each_line(db().tables(1, 3), row->key,
              [&](const OrderLine<Heap>& line) { amount += line.amount; });

    const auto output = deliver({.warehouse = 1, .carrier = 7, .date = 1234});
    for (uint32_t d = 1; d <= 3; ++d) {
      EXPECT_EQ(output.orders[d - 1], 15 + round);
      EXPECT_FALSE(db().tables(1, d).new_orders.contains(order_key(1, d, 15 + round)));
    }
    EXPECT_EQ(row->carrier.load(), 7u);
    EXPECT_EQ(customer.balance.load(), balance + amount);
    EXPECT_EQ(customer.delivery_count.load(), 1u);
    each_line(db().tables(1, 3), row->key,
              [&](const OrderLine<Heap>& line) { EXPECT_EQ(line.delivery_date.load(), 1234u); });
    expect_consistent();
  }
  order(five_lines());  // now only district 2 has an order to deliver
  const auto output = deliver({.warehouse = 1, .carrier = 1, .date = 1});
  EXPECT_EQ(output.orders[0], 0u);
  EXPECT_EQ(output.orders[1], 21u);
  EXPECT_EQ(output.orders[2], 0u);
  expect_consistent();
}

TEST_F(TpccTransactions, StockLevelCountsDifferentItemsOfTheLastOrders) {
  Random random(21);
  for (int i = 0; i < 200; ++i) {
    f_.tpcc.operation(0, random);
  }
  const auto by_hand = [&](uint32_t orders, int32_t threshold) {
    std::set<uint32_t> low;
    const uint32_t next = db().district(1, 2).next_order;
    for_each_order([&](const Order<Heap>& o) {
      if (number_of(o.key) + orders >= next) {
        each_line(db().tables(1, 2), o.key, [&](const OrderLine<Heap>& line) {
          if (db().stock(1, line.item).quantity < threshold) {
            low.insert(line.item);
          }
        });
      }
    });
    return low.size();
  };
  std::vector<uint32_t> space;
  for (const uint32_t orders : {1u, 20u, 100u}) {
    for (const int32_t threshold : {10, 20, 60}) {
      const auto output =
          f_.heap.read([&] { return stock_level(db(), {1, 2, orders, threshold}, space); }).value();
      EXPECT_EQ(output.low_items, by_hand(orders, threshold))
          << orders << " orders below " << threshold;
      EXPECT_EQ(output.next_order, db().district(1, 2).next_order.load());
    }
  }
}

TEST(TpccMix, TwentyThousandTransactionsKeepEveryCondition) {
  Fixture f({{"warehouses", "2"}, {"items", "1000"}, {"customers", "200"}, {"orders", "200"}});
  Random random(Fixture::kSeed);
  std::array<int, kKinds> count{};
  for (int i = 0; i < 20'000 / kShare; ++i) {
    const auto result = f.tpcc.operation(i % 4, random);
    ++count[static_cast<size_t>(result.kind)];
    EXPECT_EQ(result.read_only, result.kind == kOrderStatus || result.kind == kStockLevel);
  }
  EXPECT_NEAR(count[kNewOrder], 9000 / kShare, kSanitized ? 60 : 300);
  const Status status = f.tpcc.check();
  EXPECT_TRUE(status.ok()) << status.message();
  size_t blocks = 1;
  f.tpcc.visit_blocks([&](const void* /*p*/, size_t /*n*/) { ++blocks; });
  EXPECT_EQ(blocks, Heap::live_blocks()) << "a block leaks";
}

TEST(TpccMix, WithFursDetailsPaymentsStoreFiveWordsAndWhatElseIsCheckedHolds) {
  auto parameters = Fixture::small();
  parameters["detail"] = "fur";
  Fixture f(parameters);
  const auto history_rows = [&] {
    size_t rows = 0;
    f.tpcc.catalog().each_district(
        [&](uint32_t w, uint32_t d) { rows += f.tpcc.catalog().tables(w, d).history.size(); });
    return rows;
  };
  const size_t before = history_rows();
  Random random(Fixture::kSeed);
  for (int i = 0; i < 3000; ++i) {
    const auto result = f.tpcc.operation(i % 4, random);
    EXPECT_TRUE(f.tpcc.verify(result).ok()) << f.tpcc.verify(result).message();
  }
  EXPECT_EQ(history_rows(), before);
  const Status status = f.tpcc.check();
  EXPECT_TRUE(status.ok()) << status.message();
  Conditions<Heap> conditions(f.heap, f.tpcc.catalog());
  EXPECT_FALSE(conditions.condition_3_3_2_8().ok()) << "payments leave no history rows";
  EXPECT_FALSE(conditions.condition_3_3_2_7().ok()) << "deliveries leave no dates";
}

TEST(TpccMix, WorkersWithFixedHomesKeepToThem) {
  auto parameters = Fixture::small();
  parameters["warehouses"] = "3";
  parameters["home"] = "fixed";
  parameters["mix"] = "payment";
  Fixture f(parameters);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    for (int worker = 0; worker < 6; ++worker) {
      const auto result = f.tpcc.operation(worker, random);
      EXPECT_EQ(warehouse_of(decode(result).key), static_cast<uint32_t>(worker % 3 + 1));
    }
  }
}

TEST(TpccMix, DisjointWorkerWithoutAWarehouseIsAnError) {
  auto parameters = Fixture::small();
  parameters["home"] = "disjoint";
  Fixture f(parameters);
  Random random(1);
  f.tpcc.operation(0, random);
  EXPECT_THROW(f.tpcc.operation(1, random), Error);
}

}  // namespace
}  // namespace holdfast::tpcc::transactions_test
