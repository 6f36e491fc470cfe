// SPDX-License-Identifier: Apache-2.0
//
// The terminals' inputs (clauses 2.4.1 to 2.8.1) and screens. Inputs are drawn before a transaction
// begins, because its body may run several times and must see the same inputs.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "holdfast/workloads/tpcc/data/keys.h"
#include "holdfast/workloads/tpcc/data/options.h"
#include "holdfast/workloads/tpcc/data/random.h"

namespace holdfast::tpcc {

/// A customer asked for by number or, if `number` is 0, by last name.
struct CustomerChoice {
  uint32_t warehouse = 0;
  uint32_t district = 0;
  uint32_t number = 0;
  Text<16> last{};
};

struct NewOrderInput {
  struct Line {
    uint32_t item;
    uint32_t supply_warehouse;
    uint32_t quantity;
  };
  uint32_t warehouse;
  uint32_t district;
  uint32_t customer;
  uint32_t line_count;
  std::array<Line, kMaxLines> lines;
  uint64_t date;
};

struct PaymentInput {
  uint32_t warehouse;
  uint32_t district;
  CustomerChoice customer;
  int64_t amount;
  uint64_t date;
  Detail detail = Detail::standard;
};

struct OrderStatusInput {
  CustomerChoice customer;
};

struct DeliveryInput {
  uint32_t warehouse;
  uint32_t carrier;
  uint64_t date;
  Detail detail = Detail::standard;
};

struct StockLevelInput {
  uint32_t warehouse;
  uint32_t district;
  uint32_t orders;
  int32_t threshold;
};

/// Draws the inputs of one transaction for a terminal of warehouse `home`.
class Terminal {
 public:
  Terminal(const Settings& settings, const NurandConstants& constants, uint32_t home, uint64_t date,
           Random& random)
      : settings_(settings), constants_(constants), home_(home), date_(date), random_(random) {}

  NewOrderInput new_order();
  PaymentInput payment();
  OrderStatusInput order_status();
  DeliveryInput delivery();
  StockLevelInput stock_level();

 private:
  uint32_t draw(uint32_t low, uint32_t high) { return uniform(random_, low, high); }
  uint32_t district() { return draw(1, settings_.scale.districts); }
  bool can_go_elsewhere() const {
    return settings_.scale.warehouses > 1 && settings_.home != Home::disjoint;
  }
  uint32_t other_warehouse();
  uint32_t customer_number();
  CustomerChoice customer(uint32_t warehouse, uint32_t district);

  const Settings& settings_;
  const NurandConstants& constants_;
  const uint32_t home_;
  const uint64_t date_;
  Random& random_;
};

/// Replaces the terminal's screen. A transaction passes to it every value it reads in order to show
/// it. The digest becomes part of the acknowledgement, so that the compiler cannot remove the
/// reads.
class Screen {
 public:
  template <class T>
  void show(const T& value) {
    constexpr size_t count = (sizeof(T) + 7) / 8;
    uint64_t words[count] = {};
    std::memcpy(words, &value, sizeof(T));
    for (const uint64_t word : words) {
      digest_ = (digest_ ^ word) * 0x9e3779b97f4a7c15ULL;
    }
  }
  uint64_t digest() const { return digest_; }

 private:
  uint64_t digest_ = 0;
};

}  // namespace holdfast::tpcc
