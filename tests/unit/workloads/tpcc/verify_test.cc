// SPDX-License-Identifier: Apache-2.0
//
// Does verify() accept exactly the acknowledged operations?
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/workloads/tpcc/tpcc.h"
#include "tests/unit/workloads/tpcc/test_heap.h"

namespace holdfast::tpcc::verify_test {
namespace {

using tpcc_test::Fixture;
using Heap = tpcc_test::UndoHeap;

class TpccVerify : public ::testing::Test {
 protected:
  TpccVerify() : f_(Fixture::small()) {
    Random random(31);
    for (int i = 0; i < 1500; ++i) {
      acknowledged_.push_back(f_.tpcc.operation(0, random));
    }
  }

  /// Returns the last acknowledgement of a kind.
  OperationResult last(Kind kind) const {
    for (size_t i = acknowledged_.size(); i-- > 0;) {
      if (acknowledged_[i].kind == kind && acknowledged_[i].committed) {
        return acknowledged_[i];
      }
    }
    ADD_FAILURE() << "no such operation";
    return {};
  }
  const Catalog<Heap>& db() const { return f_.catalog(); }

  void expect_rejected(const OperationResult& result, const std::string& why) {
    const Status status = f_.tpcc.verify(result);
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  }

  Fixture f_;
  std::vector<OperationResult> acknowledged_;
};

TEST_F(TpccVerify, EverythingAcknowledgedIsAccepted) {
  std::map<int, int> verified;
  for (const auto& result : acknowledged_) {
    const Status status = f_.tpcc.verify(result);
    EXPECT_TRUE(status.ok()) << status.message();
    verified[result.kind] += result.acknowledgement[0] != 0 ? 1 : 0;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    EXPECT_GT(verified[kind], 30) << info().operations[static_cast<size_t>(kind)];
  }
}

TEST_F(TpccVerify, AnOrderThatIsNotThere) {
  auto result = last(kNewOrder);
  result.acknowledgement[0] += 1000;
  expect_rejected(result, "does not exist");
  result = last(kOrderStatus);
  result.acknowledgement[0] += 1000;
  expect_rejected(result, "does not exist");
}

TEST_F(TpccVerify, AnOrderOfAnotherCustomerSizeOrAmount) {
  for (const auto& [word, by] :
       {std::pair{1, uint64_t{1}}, {1, uint64_t{1} << 32}, {2, uint64_t{1}}}) {
    auto result = last(kNewOrder);
    result.acknowledgement[word] += by;
    expect_rejected(result, "lines worth");
  }
}

TEST_F(TpccVerify, AnOrderWithALostLine) {
  const auto result = last(kNewOrder);
  const uint64_t key = decode(result).key;
  auto& tables = db().tables(warehouse_of(key), district_of(key));
  f_.change([&] { tables.order_lines.erase(order_line_key(key, 1)); });
  expect_rejected(result, "lines worth");
}

TEST_F(TpccVerify, AnOrderNeitherWaitingNorDelivered) {
  const auto result = last(kNewOrder);
  const uint64_t key = decode(result).key;
  auto& tables = db().tables(warehouse_of(key), district_of(key));
  f_.change([&] {
    tables.new_orders.erase(key);
    need_row<Heap>(tables.orders, key, "order").carrier = 0;
  });
  expect_rejected(result, "neither waiting nor delivered");
}

TEST_F(TpccVerify, APaymentThatIsNotThereOrAnother) {
  auto result = last(kPayment);
  result.acknowledgement[0] += 10'000;
  expect_rejected(result, "does not exist");
  result = last(kPayment);
  result.acknowledgement[1] += 1;
  expect_rejected(result, "it is of");
  result = last(kPayment);
  result.acknowledgement[2] += 1;
  expect_rejected(result, "it is of");
}

TEST_F(TpccVerify, ADeliveryThatWasLost) {
  // Takes a delivery that delivered an order.
  OperationResult result;
  uint64_t key = 0;
  for (const auto& r : acknowledged_) {
    if (r.kind == kDelivery && decode(r).delivery.orders[1] != 0) {
      result = r;
      key = order_key(1, 2, decode(r).delivery.orders[1]);
    }
  }
  ASSERT_NE(key, 0u);
  auto& tables = db().tables(1, 2);
  f_.change([&] { tables.new_orders.insert(key, key); });
  expect_rejected(result, "still waits");
  f_.change([&] { need_row<Heap>(tables.orders, key, "order").carrier = 0; });
  expect_rejected(result, "carrier");
  f_.change([&] {
    tables.new_orders.erase(key);
    need_row<Heap>(tables.order_lines, order_line_key(key, 1), "order-line").delivery_date = 0;
  });
  expect_rejected(result, "no delivery date");
  f_.change([&] { tables.orders.erase(key); });
  expect_rejected(result, "does not exist");
}

TEST_F(TpccVerify, AnOrderNumberThatWentBack) {
  const auto result = last(kStockLevel);
  const uint64_t key = decode(result).key;
  f_.change([&] { db().district(1, district_of(key)).next_order = number_of(key) - 1; });
  expect_rejected(result, "went back");
}

TEST_F(TpccVerify, WordsThatAreNoAcknowledgement) {
  const auto ask = [&](uint64_t word) {
    OperationResult result;
    result.acknowledgement[0] = word;
    expect_rejected(result, "not an acknowledgement");
  };
  ask(1);                                               // no kind
  ask(uint64_t{9} << 56 | order_key(1, 1, 1));          // no such kind
  ask(uint64_t{1} << 56 | order_key(2, 1, 1));          // no such warehouse
  ask(uint64_t{1} << 56 | order_key(1, 4, 1));          // no such district
  ask(uint64_t{1} << 56 | order_key(1, 0, 1));          // a delivery's key, but no delivery
  EXPECT_TRUE(f_.tpcc.verify(OperationResult()).ok());  // nothing was acknowledged
}

TEST(TpccAcknowledgement, DeliverySurvivesItsPacking) {
  const DeliveryInput input{.warehouse = 65'535, .carrier = 10, .date = 1};
  DeliveryOutput output;
  output.orders = {4'000'000'000, 0, 4'000'000'001, 4'000'065'534, 4'000'065'535, 0, 4'000'000'007,
                   4'000'000'000, 0, 4'000'000'009};
  const Acknowledgement a = decode(acknowledge(input, output));
  ASSERT_TRUE(a.valid);
  EXPECT_EQ(a.kind, kDelivery);
  EXPECT_EQ(warehouse_of(a.key), 65'535u);
  EXPECT_EQ(number_of(a.key), 10u);
  output.orders[4] = 0;  // too far above the oldest order to be encoded
  EXPECT_EQ(a.delivery.orders, output.orders);
}

TEST(TpccAcknowledgement, OrderSurvivesItsPacking) {
  const Acknowledgement a = decode(acknowledge(
      NewOrderOutput{order_key(65'535, 10, 4'000'000'000), 3000, 15, 999'999'999'999, 5}));
  ASSERT_TRUE(a.valid);
  EXPECT_EQ(a.key, order_key(65'535, 10, 4'000'000'000));
  EXPECT_EQ(a.customer, 3000u);
  EXPECT_EQ(a.line_count, 15u);
  EXPECT_EQ(a.amount, 999'999'999'999);
}

}  // namespace
}  // namespace holdfast::tpcc::verify_test
