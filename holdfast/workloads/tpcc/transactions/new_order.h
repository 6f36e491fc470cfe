// SPDX-License-Identifier: Apache-2.0
//
// New-order (clause 2.4.2): enters an order of 5 to 15 lines.
#pragma once

#include "holdfast/workloads/tpcc/data/inputs.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

/// Thrown out of the body if an item does not exist: the whole order is rolled back (clause
/// 2.4.2.3).
struct UnknownItem {};

struct NewOrderOutput {
  uint64_t order;  ///< key
  uint32_t customer;
  uint32_t line_count;
  int64_t amount;  ///< sum of the lines
  uint64_t screen;
};

/// The transaction; run it inside update().
template <class H>
class NewOrder {
 public:
  NewOrder(const Catalog<H>& catalog, const NewOrderInput& input)
      : catalog_(catalog),
        input_(input),
        tables_(catalog.tables(input.warehouse, input.district)) {}

  NewOrderOutput run() {
    const uint32_t w = input_.warehouse;
    const uint32_t d = input_.district;
    const int64_t warehouse_tax = catalog_.warehouse(w).tax;
    auto& district = catalog_.district(w, d);
    const int64_t district_tax = district.tax;
    const uint32_t number = district.next_order;
    district.next_order = number + 1;
    const auto& customer = catalog_.customer(w, d, input_.customer);
    const int64_t discount = customer.discount;
    screen_.show(customer.last.load());
    screen_.show(customer.credit.load());

    const uint64_t key = order_key(w, d, number);
    insert_order(key, number);
    int64_t amount = 0;
    for (uint32_t i = 0; i < input_.line_count; ++i) {
      amount += insert_line(order_line_key(key, i + 1), input_.lines[i]);
    }
    screen_.show(amount * (10'000 - discount) / 10'000 * (10'000 + warehouse_tax + district_tax) /
                 10'000);
    return {key, input_.customer, input_.line_count, amount, screen_.digest()};
  }

 private:
  void insert_order(uint64_t key, uint32_t number) {
    bool all_local = true;
    for (uint32_t i = 0; i < input_.line_count; ++i) {
      all_local = all_local && input_.lines[i].supply_warehouse == input_.warehouse;
    }
    auto* order = H::template make<Order<H>>(key);
    order->entry_date = input_.date;
    order->customer = input_.customer;
    order->carrier = 0;
    order->line_count = input_.line_count;
    order->all_local = all_local ? 1 : 0;
    tables_.orders.insert(key, order);
    tables_.orders_by_customer.insert(order_by_customer_key(input_.customer, number), order);
    tables_.new_orders.insert(key, key);
  }

  /// Returns OL_AMOUNT.
  int64_t insert_line(uint64_t key, const NewOrderInput::Line& wanted) {
    const Item<H>* const item = catalog_.find_item(wanted.item);
    if (item == nullptr) {
      throw UnknownItem();
    }
    auto& stock = catalog_.stock(wanted.supply_warehouse, wanted.item);
    take_from(stock, wanted);
    const int64_t price = item->price;
    const int64_t amount = price * wanted.quantity;
    const bool brand = is_original(item->data) && is_original(stock.data);
    screen_.show(item->name.load());
    screen_.show(stock.quantity.load());
    screen_.show(brand ? 'B' : 'G');
    screen_.show(price);

    auto* line = H::template make<OrderLine<H>>(key);
    line->item = wanted.item;
    line->supply_warehouse = wanted.supply_warehouse;
    line->delivery_date = 0;
    line->amount = amount;
    line->quantity = wanted.quantity;
    line->dist_info = stock.dist[input_.district - 1];
    tables_.order_lines.insert(key, line);
    return amount;
  }

  void take_from(Stock<H>& stock, const NewOrderInput::Line& wanted) {
    const auto wanted_quantity = static_cast<int32_t>(wanted.quantity);
    const int32_t quantity = stock.quantity;
    stock.quantity = quantity >= wanted_quantity + 10 ? quantity - wanted_quantity
                                                      : quantity - wanted_quantity + 91;
    stock.ytd += wanted.quantity;
    stock.order_count += 1;
    if (wanted.supply_warehouse != input_.warehouse) {
      stock.remote_count += 1;
    }
  }

  const Catalog<H>& catalog_;
  const NewOrderInput& input_;
  DistrictTables<H>& tables_;
  Screen screen_;
};

}  // namespace holdfast::tpcc
