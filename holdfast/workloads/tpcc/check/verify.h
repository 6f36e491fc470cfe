// SPDX-License-Identifier: Apache-2.0
//
// Checks that the database still has everything an acknowledgement promised. Orders may have been
// delivered since, and balances may have changed. So it checks only facts that later transactions
// cannot revoke.
#pragma once

#include <string>

#include "holdfast/workloads/tpcc/check/conditions.h"
#include "holdfast/workloads/tpcc/transactions/acknowledgement.h"

namespace holdfast::tpcc {

/// Verifies acknowledgements. Use it inside read().
template <class H>
class Verifier {
 public:
  Verifier(const Catalog<H>& catalog, Findings& found) : catalog_(catalog), found_(found) {}

  void verify(const Acknowledgement& a) {
    const uint32_t w = warehouse_of(a.key);
    const uint32_t d = district_of(a.key);
    const bool no_district = a.kind == kDelivery && d == 0;
    if (!a.valid || w < 1 || w > catalog_.scale().warehouses ||
        (!no_district && (d < 1 || d > catalog_.scale().districts))) {
      found_.add("this is not an acknowledgement of this database");
      return;
    }
    switch (a.kind) {
      case kNewOrder:
        return order(a, "new-order");
      case kOrderStatus:
        return number_of(a.key) != 0 ? order(a, "order-status") : void();
      case kPayment:
        return payment(a);
      case kDelivery:
        return delivery(a);
      default:
        return stock_level(a);
    }
  }

 private:
  /// Checks the order and all its lines, and that it is either waiting or delivered.
  void order(const Acknowledgement& a, const char* kind) {
    const auto& tables = catalog_.tables(warehouse_of(a.key), district_of(a.key));
    const std::string name = std::string(kind) + " acknowledged order " + show_key(a.key);
    const Order<H>* const order = find_row<H>(tables.orders, a.key);
    if (order == nullptr) {
      found_.add(name + ", which does not exist");
      return;
    }
    uint32_t lines = 0;
    int64_t amount = 0;
    each_line(tables, a.key, [&](const OrderLine<H>& line) {
      ++lines;
      amount += line.amount;
    });
    if (order->customer != a.customer || order->line_count != a.line_count ||
        lines != a.line_count || amount != a.amount) {
      found_.add(name + " of customer " + std::to_string(a.customer) + " with " +
                 std::to_string(a.line_count) + " lines worth " + std::to_string(a.amount) +
                 "; it is of customer " + std::to_string(order->customer) + " and has " +
                 std::to_string(lines) + " lines worth " + std::to_string(amount));
    }
    if ((order->carrier == 0) != tables.new_orders.find(a.key).has_value()) {
      found_.add(name + ", which is neither waiting nor delivered");
    }
  }

  void payment(const Acknowledgement& a) {
    const auto& tables = catalog_.tables(warehouse_of(a.key), district_of(a.key));
    const std::string name = "payment acknowledged history row " + show_key(a.key);
    const History<H>* const row = find_row<H>(tables.history, a.key);
    if (row == nullptr) {
      found_.add(name + ", which does not exist");
    } else if (row->amount != a.amount || row->customer != a.customer_key) {
      found_.add(name + " of " + std::to_string(a.amount) + " by customer " +
                 show_key(a.customer_key) + "; it is of " + std::to_string(row->amount) +
                 " by customer " + show_key(row->customer));
    }
  }

  void delivery(const Acknowledgement& a) {
    const uint32_t w = warehouse_of(a.key);
    const uint32_t carrier = number_of(a.key);
    for (uint32_t d = 1; d <= catalog_.scale().districts; ++d) {
      if (const uint32_t number = a.delivery.orders[d - 1]; number != 0) {
        delivered(order_key(w, d, number), carrier);
      }
    }
  }

  void delivered(uint64_t key, uint32_t carrier) {
    const auto& tables = catalog_.tables(warehouse_of(key), district_of(key));
    const std::string name = "delivery acknowledged order " + show_key(key);
    const Order<H>* const order = find_row<H>(tables.orders, key);
    if (order == nullptr) {
      found_.add(name + ", which does not exist");
      return;
    }
    if (order->carrier != carrier) {
      found_.add(name + " by carrier " + std::to_string(carrier) + "; it has carrier " +
                 std::to_string(order->carrier));
    }
    if (tables.new_orders.find(key).has_value()) {
      found_.add(name + ", which still waits");
    }
    each_line(tables, key, [&](const OrderLine<H>& line) {
      if (line.delivery_date == 0) {
        found_.add(name + ", but line " + show_line_key(line.key) + " has no delivery date");
      }
    });
  }

  void stock_level(const Acknowledgement& a) {
    const uint32_t next = catalog_.district(warehouse_of(a.key), district_of(a.key)).next_order;
    if (next < number_of(a.key)) {
      found_.add("stock-level showed D_NEXT_O_ID " + std::to_string(number_of(a.key)) +
                 ", which went back to " + std::to_string(next));
    }
  }

  const Catalog<H>& catalog_;
  Findings& found_;
};

}  // namespace holdfast::tpcc
