// SPDX-License-Identifier: Apache-2.0
//
// Order-status (clause 2.6.2): a customer's balance and last order.
#pragma once

#include "holdfast/workloads/tpcc/transactions/customer.h"

namespace holdfast::tpcc {

struct OrderStatusOutput {
  /// Key of the customer's last order; 0 if there is none (small populations).
  uint64_t order = 0;
  uint32_t customer = 0;
  uint32_t line_count = 0;
  int64_t amount = 0;
  uint64_t screen = 0;
};

/// Runs the transaction; call it inside read().
template <class H>
OrderStatusOutput order_status(const Catalog<H>& catalog, const OrderStatusInput& input) {
  Screen screen;
  const auto& customer = chosen_customer(catalog, input.customer);
  screen.show(customer.first.load());
  screen.show(customer.middle.load());
  screen.show(customer.last.load());
  screen.show(customer.balance.load());

  OrderStatusOutput output;
  output.customer = number_of(customer.key);
  const auto& tables = catalog.tables(input.customer.warehouse, input.customer.district);
  uint64_t index_key = 0;
  Order<H>* order = nullptr;
  if (tables.orders_by_customer.last_before(order_by_customer_key(output.customer + 1, 0),
                                            &index_key, &order) &&
      index_key >= order_by_customer_key(output.customer, 0)) {
    output.order = order->key;
    screen.show(order->entry_date.load());
    screen.show(order->carrier.load());
    const uint64_t end = order_line_key(output.order + 1, 0);
    tables.order_lines.scan(order_line_key(output.order, 0), [&](uint64_t key, OrderLine<H>* line) {
      if (key >= end) {
        return false;
      }
      screen.show(line->item.load());
      screen.show(line->supply_warehouse.load());
      screen.show(line->quantity.load());
      screen.show(line->delivery_date.load());
      output.amount += line->amount;
      output.line_count += 1;
      return true;
    });
  }
  output.screen = screen.digest();
  return output;
}

}  // namespace holdfast::tpcc
