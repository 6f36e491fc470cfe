// SPDX-License-Identifier: Apache-2.0
//
// Delivery (clause 2.7.4): delivers the oldest undelivered order of every district of a warehouse,
// in one transaction. Runs in the foreground, because the standard's queue belongs to its
// terminals, not to the database.
#pragma once

#include <array>

#include "holdfast/workloads/tpcc/data/inputs.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

struct DeliveryOutput {
  /// Number of the order delivered in district d + 1; 0 if none waited and the district was
  /// skipped.
  std::array<uint32_t, kMaxDistricts> orders{};
};

/// Delivers one district's oldest order and returns its number; 0 if none waits.
template <class H>
uint32_t deliver_oldest(const Catalog<H>& catalog, const DeliveryInput& input, uint32_t d) {
  auto& tables = catalog.tables(input.warehouse, d);
  uint64_t key = 0;
  NewOrderRow row = 0;
  if (!tables.new_orders.lower_bound(0, &key, &row)) {
    return 0;
  }
  tables.new_orders.erase(key);
  auto& order = need_row<H>(tables.orders, key, "order");
  order.carrier = input.carrier;
  int64_t amount = 0;
  const uint64_t end = order_line_key(key + 1, 0);
  tables.order_lines.scan(order_line_key(key, 0), [&](uint64_t line_key, OrderLine<H>* line) {
    if (line_key >= end) {
      return false;
    }
    if (input.detail == Detail::standard) {
      line->delivery_date = input.date;
    }
    amount += line->amount;
    return true;
  });
  auto& customer = catalog.customer(input.warehouse, d, order.customer);
  customer.balance += amount;
  customer.delivery_count += 1;
  return number_of(key);
}

/// Runs the transaction; call it inside update().
template <class H>
DeliveryOutput delivery(const Catalog<H>& catalog, const DeliveryInput& input) {
  DeliveryOutput output;
  for (uint32_t d = 1; d <= catalog.scale().districts; ++d) {
    output.orders[d - 1] = deliver_oldest(catalog, input, d);
  }
  return output;
}

}  // namespace holdfast::tpcc
