// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/data/inputs.h"

namespace holdfast::tpcc {

uint32_t Terminal::other_warehouse() {
  const uint32_t w = draw(1, settings_.scale.warehouses - 1);
  return w < home_ ? w : w + 1;
}

uint32_t Terminal::customer_number() {
  return nurand(random_, 1023, constants_.customer, 1, settings_.scale.customers);
}

/// Chooses 60 % of the customers by last name (clauses 2.5.1.2 and 2.6.1.2).
CustomerChoice Terminal::customer(uint32_t warehouse, uint32_t district) {
  CustomerChoice choice{.warehouse = warehouse, .district = district};
  if (settings_.detail == Detail::standard && draw(1, 100) <= 60) {
    choice.last =
        last_name(nurand(random_, 255, constants_.last_run, 0, settings_.scale.last_names() - 1));
  } else {
    choice.number = customer_number();
  }
  return choice;
}

/// Draws 5 to 15 lines, 1 % of them from another warehouse. In 1 % of the orders, the last line has
/// an item that does not exist (clause 2.4.1).
NewOrderInput Terminal::new_order() {
  NewOrderInput input{.warehouse = home_,
                      .district = district(),
                      .customer = customer_number(),
                      .line_count = draw(5, kMaxLines),
                      .lines = {},
                      .date = date_};
  for (uint32_t i = 0; i < input.line_count; ++i) {
    auto& line = input.lines[i];
    line.item = nurand(random_, 8191, constants_.item, 1, settings_.scale.items);
    const bool remote = draw(1, 100) == 1 && can_go_elsewhere();
    line.supply_warehouse = remote ? other_warehouse() : home_;
    line.quantity = draw(1, 10);
  }
  if (draw(1, 100) == 1) {
    input.lines[input.line_count - 1].item = settings_.scale.items + 1;
  }
  return input;
}

/// 15 % of the customers belong to another warehouse, if there is one (clause 2.5.1.2).
PaymentInput Terminal::payment() {
  PaymentInput input{.warehouse = home_,
                     .district = district(),
                     .customer = {},
                     .amount = 0,
                     .date = date_,
                     .detail = settings_.detail};
  if (draw(1, 100) <= 85) {
    input.customer = customer(home_, input.district);
  } else {
    const uint32_t warehouse = can_go_elsewhere() ? other_warehouse() : home_;
    input.customer = customer(warehouse, district());
  }
  input.amount = random_.between(1'00, 5'000'00);
  return input;
}

OrderStatusInput Terminal::order_status() {
  return {customer(home_, district())};
}

DeliveryInput Terminal::delivery() {
  return {home_, draw(1, 10), date_, settings_.detail};
}

StockLevelInput Terminal::stock_level() {
  return {home_, district(), settings_.stock_level_orders, static_cast<int32_t>(draw(10, 20))};
}

}  // namespace holdfast::tpcc
