// SPDX-License-Identifier: Apache-2.0
//
// The acknowledgement that a client gets when a transaction has committed: four words, enough to
// find the transaction's effects after a crash. Word 0 is 1 + the kind (from bit 56 on) and a key
// (keys.h):
//
//                 key in word 0          word 1                 word 2              word 3
//   new-order     order key              customer, line count   sum of OL_AMOUNT    screen
//   payment       history key            amount                 customer key        screen
//   order-status  order key; number 0    customer, line count   sum of OL_AMOUNT    screen
//                 if there is no order
//   delivery      (w, 0, carrier)        the delivered orders' numbers: 32 bits of base, and ten
//                                        times 16 bits above it
//   stock-level   (w, d, D_NEXT_O_ID)    low items              0                   0
//
// Read-only transactions acknowledge too, because a crash must not revoke data they have shown.
#pragma once

#include <cstdint>

#include "holdfast/workloads/tpcc/transactions/delivery.h"
#include "holdfast/workloads/tpcc/transactions/new_order.h"
#include "holdfast/workloads/tpcc/transactions/order_status.h"
#include "holdfast/workloads/tpcc/transactions/payment.h"
#include "holdfast/workloads/tpcc/transactions/stock_level.h"

namespace holdfast::tpcc {

OperationResult acknowledge(const NewOrderOutput& output);
OperationResult acknowledge(const PaymentOutput& output);
OperationResult acknowledge(const OrderStatusInput& input, const OrderStatusOutput& output);
OperationResult acknowledge(const DeliveryInput& input, const DeliveryOutput& output);
OperationResult acknowledge(const StockLevelInput& input, const StockLevelOutput& output);

/// A decoded acknowledgement. `valid` is false if acknowledge() cannot have produced the words.
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
