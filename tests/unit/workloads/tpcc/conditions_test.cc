// SPDX-License-Identifier: Apache-2.0
//
// Does every consistency condition find the damage that it is made for?
#include <gtest/gtest.h>

#include <string>

#include "holdfast/workloads/tpcc/tpcc.h"
#include "tests/unit/workloads/tpcc/test_heap.h"

namespace holdfast::tpcc::conditions_test {
namespace {

using tpcc_test::Fixture;
using Heap = tpcc_test::UndoHeap;

class TpccConditions : public ::testing::Test {
 protected:
  TpccConditions()
      : f_(Fixture::small()), conditions_(f_.heap, f_.catalog()), extra_(f_.heap, f_.catalog()) {
    Random random(5);
    for (int i = 0; i < 300; ++i) {
      f_.tpcc.operation(0, random);
    }
    const Status status = f_.tpcc.check();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  const Catalog<Heap>& db() const { return f_.catalog(); }
  DistrictTables<Heap>& tables() const { return db().tables(1, 2); }
  Order<Heap>& order(uint32_t o) const {
    return need_row<Heap>(tables().orders, order_key(1, 2, o), "order");
  }
  OrderLine<Heap>& line(uint32_t o, uint32_t number) const {
    return need_row<Heap>(tables().order_lines, order_line_key(order_key(1, 2, o), number),
                          "order-line");
  }
  History<Heap>& history(uint32_t h) const {
    return need_row<Heap>(tables().history, history_key(1, 2, h), "history");
  }

  /// Expects that the message names the condition and the row, and that check() as a whole fails,
  /// too.
  void expect_found(const Status& status, const std::string& condition, const std::string& row) {
    EXPECT_EQ(status.code(), Code::corrupt) << condition << " did not notice";
    EXPECT_NE(status.message().find(condition), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(row), std::string::npos) << status.message();
    const Status all = f_.tpcc.check();
    EXPECT_NE(all.message().find(condition), std::string::npos) << all.message();
  }

  Fixture f_;
  Conditions<Heap> conditions_;
  ExtraChecks<Heap> extra_;
};

TEST_F(TpccConditions, Condition1WarehouseYtd) {
  f_.change([&] { db().warehouse(1).ytd += 1; });
  expect_found(conditions_.condition_3_3_2_1(), "3.3.2.1:", "warehouse 1");
}

TEST_F(TpccConditions, Condition2NextOrderNumber) {
  f_.change([&] { db().district(1, 2).next_order += 1; });
  expect_found(conditions_.condition_3_3_2_2(), "3.3.2.2:", "(1, 2)");
}

TEST_F(TpccConditions, Condition2NewestNewOrder) {
  const uint32_t newest = db().district(1, 2).next_order - 1;
  f_.change([&] { tables().new_orders.insert(order_key(1, 2, newest + 5), 0); });
  expect_found(conditions_.condition_3_3_2_2(), "3.3.2.2:", "NO_O_ID");
}

TEST_F(TpccConditions, Condition2AllowsDistrictsWithoutNewOrders) {
  Fixture g({{"items", "20"},
             {"customers", "5"},
             {"orders", "3"},
             {"districts", "1"}});  // 3 * 3 / 10 = 0 wait
  EXPECT_TRUE(Conditions<Heap>(g.heap, g.catalog()).condition_3_3_2_2().ok());
  EXPECT_TRUE(Conditions<Heap>(g.heap, g.catalog()).condition_3_3_2_3().ok());
}

TEST_F(TpccConditions, Condition3GapInNewOrders) {
  uint64_t first = 0;
  ASSERT_TRUE(tables().new_orders.lower_bound(0, &first, nullptr));
  f_.change([&] { tables().new_orders.erase(first + 1); });
  expect_found(conditions_.condition_3_3_2_3(), "3.3.2.3:", "(1, 2)");
}

TEST_F(TpccConditions, Condition4LostLine) {
  f_.change([&] { tables().order_lines.erase(line(3, 2).key); });
  expect_found(conditions_.condition_3_3_2_4(), "3.3.2.4:", "(1, 2)");
}

TEST_F(TpccConditions, Condition5CarrierOfWaitingOrder) {
  uint64_t first = 0;
  ASSERT_TRUE(tables().new_orders.lower_bound(0, &first, nullptr));
  f_.change([&] { order(number_of(first)).carrier = 3; });
  expect_found(conditions_.condition_3_3_2_5(), "3.3.2.5:", show_key(first));
}

TEST_F(TpccConditions, Condition5NewOrderWithoutOrder) {
  f_.change([&] { tables().new_orders.insert(order_key(1, 2, 999), 0); });
  expect_found(conditions_.condition_3_3_2_5(), "3.3.2.5:", "(1, 2, 999)");
}

TEST_F(TpccConditions, Condition6LineMovedToAnotherOrder) {
  // The totals of the district stay right, so condition 4 sees nothing.
  f_.change([&] {
    order(1).line_count += 1;
    order(2).line_count -= 1;
  });
  EXPECT_TRUE(conditions_.condition_3_3_2_4().ok());
  expect_found(conditions_.condition_3_3_2_6(), "3.3.2.6:", "(1, 2, 1)");
}

TEST_F(TpccConditions, Condition7DeliveredLineOfWaitingOrder) {
  uint64_t first = 0;
  ASSERT_TRUE(tables().new_orders.lower_bound(0, &first, nullptr));
  f_.change([&] { line(number_of(first), 1).delivery_date = 5; });
  expect_found(conditions_.condition_3_3_2_7(),
               "3.3.2.7:", show_line_key(order_line_key(first, 1)));
}

TEST_F(TpccConditions, Condition7WaitingLineOfDeliveredOrder) {
  f_.change([&] { line(1, 3).delivery_date = 0; });
  expect_found(conditions_.condition_3_3_2_7(), "3.3.2.7:", "(1, 2, 1, 3)");
}

TEST_F(TpccConditions, Condition8LostPayment) {
  f_.change([&] { tables().history.erase(history_key(1, 2, 4)); });
  expect_found(conditions_.condition_3_3_2_8(), "3.3.2.8:", "warehouse 1");
}

TEST_F(TpccConditions, Condition9PaymentInAnotherDistrict) {
  // The warehouse's sum stays right, so condition 8 sees nothing.
  f_.change([&] {
    history(4).amount += 7;
    need_row<Heap>(db().tables(1, 1).history, history_key(1, 1, 4), "history").amount -= 7;
  });
  EXPECT_TRUE(conditions_.condition_3_3_2_8().ok());
  expect_found(conditions_.condition_3_3_2_9(), "3.3.2.9:", "(1, 2)");
}

TEST_F(TpccConditions, Condition10Balance) {
  f_.change([&] {
    db().customer(1, 2, 8).balance += 1;
    db().customer(1, 2, 8).ytd_payment -= 1;
  });
  EXPECT_TRUE(conditions_.condition_3_3_2_12().ok());
  expect_found(conditions_.condition_3_3_2_10(), "3.3.2.10:", "(1, 2, 8)");
}

TEST_F(TpccConditions, Condition11LostDelivery) {
  f_.change([&] { db().customer(1, 2, 8).delivery_count += 1; });
  expect_found(conditions_.condition_3_3_2_11(), "3.3.2.11:", "(1, 2)");
}

TEST_F(TpccConditions, Condition12YtdPayment) {
  f_.change([&] { db().customer(1, 2, 8).ytd_payment += 1; });
  EXPECT_TRUE(conditions_.condition_3_3_2_10().ok());
  expect_found(conditions_.condition_3_3_2_12(), "3.3.2.12:", "(1, 2, 8)");
}

TEST_F(TpccConditions, TornStock) {
  f_.change([&] { db().stock(1, 7).order_count += 1; });
  expect_found(extra_.stock(), "stock:", "item 7");
}

TEST_F(TpccConditions, LostPaymentCount) {
  f_.change([&] { db().customer(1, 2, 8).payment_count += 1; });
  expect_found(extra_.counts(), "counts:", "(1, 2, 8)");
}

TEST_F(TpccConditions, LostHistoryNumber) {
  f_.change([&] { db().district(1, 2).next_history += 1; });
  expect_found(extra_.counts(), "counts:", "(1, 2, 0)");
}

TEST_F(TpccConditions, OrderMissingInItsIndex) {
  f_.change(
      [&] { tables().orders_by_customer.erase(order_by_customer_key(order(5).customer, 5)); });
  expect_found(extra_.indexes(), "indexes:", "(1, 2, 5)");
}

TEST_F(TpccConditions, CustomerMissingInTheIndexOfNames) {
  const auto& customer = db().customer(1, 2, 8);
  f_.change([&] { tables().customers_by_name.erase(name_key(customer.last, customer.first, 8)); });
  expect_found(extra_.indexes(), "indexes:", "(1, 2, 8)");
}

TEST_F(TpccConditions, RowOwnedTwice) {
  f_.change([&] { tables().history.insert(history_key(1, 2, 99'999), &history(1)); });
  expect_found(extra_.ownership(), "ownership:", "overlap");
}

}  // namespace
}  // namespace holdfast::tpcc::conditions_test
