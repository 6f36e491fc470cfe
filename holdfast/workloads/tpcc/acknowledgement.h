// SPDX-License-Identifier: Apache-2.0
//
// What a client is told when a transaction has committed, in four words that say enough to look for
// it after a crash. Word 0 is 1 + the kind (bits 56 to 59) and a key of tpcc_keys.h:
//
//   new-order     order key      customer, line count   sum of OL_AMOUNT   screen
//   payment       history key    amount                 customer key       screen
//   order-status  order key*     customer, line count   sum of OL_AMOUNT   screen      * number 0:
//   no order delivery      (w, 0, carrier)     the orders delivered, 32 bits base and ten times 16
//   bits above it stock-level   (w, d, D_NEXT_O_ID) low items         0                  0
//
// Read-only transactions acknowledge too: what they have shown must not vanish in a crash.
#pragma once

#include <cstdint>

#include "holdfast/workloads/tpcc/delivery.h"
#include "holdfast/workloads/tpcc/new_order.h"
#include "holdfast/workloads/tpcc/order_status.h"
#include "holdfast/workloads/tpcc/payment.h"
#include "holdfast/workloads/tpcc/stock_level.h"

namespace holdfast::tpcc {

OperationResult acknowledge(const NewOrderOutput& output);
OperationResult acknowledge(const PaymentOutput& output);
OperationResult acknowledge(const OrderStatusInput& input, const OrderStatusOutput& output);
OperationResult acknowledge(const DeliveryInput& input, const DeliveryOutput& output);
OperationResult acknowledge(const StockLevelInput& input, const StockLevelOutput& output);

/// An acknowledgement taken apart. `valid` is false when the words cannot have come from
/// acknowledge().
struct Acknowledgement {
  bool valid = false;
  Kind kind = kNewOrder;
  uint64_t key = 0;
  uint32_t customer = 0;      ///< new-order, order-status
  uint32_t line_count = 0;    ///< new-order, order-status
  uint64_t customer_key = 0;  ///< payment
  int64_t amount = 0;
  DeliveryOutput delivery;
};

Acknowledgement decode(const OperationResult& acknowledged);

}  // namespace holdfast::tpcc
