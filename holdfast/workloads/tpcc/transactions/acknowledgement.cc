// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/transactions/acknowledgement.h"

#include <algorithm>

namespace holdfast::tpcc {
namespace {

// No order in this district, or one too far above the base.
constexpr uint64_t kSkipped = 0xffff;
constexpr int kKindShift = 56;

OperationResult result(Kind kind, bool read_only, uint64_t key, uint64_t second, uint64_t third,
                       uint64_t fourth) {
  OperationResult r;
  r.kind = kind;
  r.read_only = read_only;
  r.acknowledgement[0] = uint64_t{static_cast<unsigned>(kind) + 1} << kKindShift | key;
  r.acknowledgement[1] = second;
  r.acknowledgement[2] = third;
  r.acknowledgement[3] = fourth;
  return r;
}

uint64_t pair(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

/// The word with the 16-bit field of district d + 1: word 1 (bits 0 to 31), word 2 or word 3.
uint64_t& field_word(uint64_t* words, size_t d) {
  return words[d < 2 ? 1 : 2 + (d - 2) / 4];
}
int field_shift(size_t d) {
  return static_cast<int>(d < 2 ? d : (d - 2) % 4) * 16;
}

}  // namespace

OperationResult acknowledge(const NewOrderOutput& output) {
  return result(kNewOrder, false, output.order, pair(output.customer, output.line_count),
                static_cast<uint64_t>(output.amount), output.screen);
}

OperationResult acknowledge(const PaymentOutput& output) {
  return result(kPayment, false, output.history, static_cast<uint64_t>(output.amount),
                output.customer, output.screen);
}

OperationResult acknowledge(const OrderStatusInput& input, const OrderStatusOutput& output) {
  const uint64_t none = order_key(input.customer.warehouse, input.customer.district, 0);
  return result(kOrderStatus, true, output.order != 0 ? output.order : none,
                pair(output.customer, output.line_count), static_cast<uint64_t>(output.amount),
                output.screen);
}

OperationResult acknowledge(const DeliveryInput& input, const DeliveryOutput& output) {
  uint32_t base = 0;
  for (const uint32_t order : output.orders) {
    base = order != 0 && (base == 0 || order < base) ? order : base;
  }
  OperationResult r =
      result(kDelivery, false, order_key(input.warehouse, 0, input.carrier), pair(base, 0), 0, 0);
  for (size_t d = 0; d < kMaxDistricts; ++d) {
    const uint32_t order = output.orders[d];
    const uint64_t above = order == 0 ? kSkipped : std::min<uint64_t>(order - base, kSkipped);
    field_word(r.acknowledgement, d) |= above << field_shift(d);
  }
  return r;
}

OperationResult acknowledge(const StockLevelInput& input, const StockLevelOutput& output) {
  return result(kStockLevel, true, order_key(input.warehouse, input.district, output.next_order),
                output.low_items, 0, 0);
}

Acknowledgement decode(const OperationResult& acknowledged) {
  const uint64_t* const words = acknowledged.acknowledgement;
  Acknowledgement a;
  const uint64_t tag = words[0] >> kKindShift;
  a.valid = tag >= 1 && tag <= kKinds;
  if (!a.valid) {
    return a;
  }
  a.kind = static_cast<Kind>(tag - 1);
  a.key = words[0] & ((uint64_t{1} << kKindShift) - 1);
  if (a.kind == kNewOrder || a.kind == kOrderStatus) {
    a.customer = static_cast<uint32_t>(words[1] >> 32);
    a.line_count = static_cast<uint32_t>(words[1]);
    a.amount = static_cast<int64_t>(words[2]);
  } else if (a.kind == kPayment) {
    a.amount = static_cast<int64_t>(words[1]);
    a.customer_key = words[2];
  } else if (a.kind == kDelivery) {
    uint64_t copy[4] = {words[0], words[1], words[2], words[3]};
    for (size_t d = 0; d < kMaxDistricts; ++d) {
      const uint64_t above = field_word(copy, d) >> field_shift(d) & 0xffff;
      a.delivery.orders[d] =
          above == kSkipped ? 0
                            : static_cast<uint32_t>(words[1] >> 32) + static_cast<uint32_t>(above);
    }
  }
  return a;
}

}  // namespace holdfast::tpcc
