// SPDX-License-Identifier: Apache-2.0
//
// TPC-C (revision 5.11) as a workload: nine tables, five transactions, the population and the
// consistency conditions of the standard. Derived from TPC-C, not a TPC result: no terminals, no
// think times, no pricing.
//
// Reading order: tpcc_schema.h, tpcc_tables.h, tpcc_load.h, the five transactions,
// tpcc_conditions.h.
//
// Snapshot isolation. TPC-C is serialisable under it (Fekete et al., "Making Snapshot Isolation
// Serializable", 2005), so the transactions promote nothing: what one of them reads and another
// writes is either written by both (D_NEXT_O_ID, balances, stock, the new-order row), or the two
// cannot form a cycle (a delivery that finds no new-order, a stock-level). What the trees need
// below that is promoted by the trees.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/workloads/tpcc_acknowledgement.h"
#include "holdfast/workloads/tpcc_conditions.h"
#include "holdfast/workloads/tpcc_extra_checks.h"
#include "holdfast/workloads/tpcc_load.h"
#include "holdfast/workloads/tpcc_verify.h"
#include "holdfast/workloads/workload.h"

namespace holdfast {

template <class H>
class Tpcc final : public WorkloadInstance {
 public:
  static constexpr const char* kRootName = "tpcc";

  /// Throws Error(invalid_argument) for parameters that make no sense.
  Tpcc(H& heap, const Parameters& parameters)
      : heap_(heap), settings_(tpcc::read_settings(parameters)) {}

  static const WorkloadInfo& static_info() { return tpcc::info(); }
  const WorkloadInfo& info() const override { return tpcc::info(); }

  Status set_up(int workers, uint64_t seed) override;
  /// The heap keeps the scale it was set up with, whatever the parameters say now.
  Status attach() override;
  OperationResult operation(int worker, Random& random) override;
  Status verify(const OperationResult& acknowledged) override;
  Status check() override;

  bool list_blocks(const std::function<void(const void*, size_t)>& visit) override {
    return heap_.read([&] { visit_blocks(visit); }).ok();
  }

  /// v(block, bytes) for everything the database owns but its root object. Inside a transaction.
  template <class Visitor>
  void visit_blocks(Visitor&& v) const {
    tpcc::visit_blocks(catalog_, v);
  }

  const tpcc::Catalog<H>& catalog() const { return catalog_; }
  const tpcc::Settings& settings() const { return settings_; }

 private:
  uint32_t home(int worker, Random& random) const;
  uint64_t date();
  OperationResult new_order(const tpcc::NewOrderInput& input);
  OperationResult payment(const tpcc::PaymentInput& input);
  OperationResult order_status(const tpcc::OrderStatusInput& input);
  OperationResult delivery(const tpcc::DeliveryInput& input);
  OperationResult stock_level(const tpcc::StockLevelInput& input);
  Status check_blocks();

  H& heap_;
  tpcc::Settings settings_;
  tpcc::Catalog<H> catalog_;
  uint64_t ticks_ = 0;  // the date where the heap has no machine, and so no second thread
};

template <class H>
Status Tpcc<H>::set_up(int workers, uint64_t seed) {
  if (settings_.home == tpcc::Home::disjoint &&
      static_cast<uint32_t>(workers) > settings_.scale.warehouses) {
    return {Code::invalid_argument,
            "home=disjoint needs a warehouse for each of " + std::to_string(workers) +
                " workers, and warehouses=" + std::to_string(settings_.scale.warehouses)};
  }
  if (heap_.template find_root<tpcc::Database<H>>(kRootName).ok()) {
    return {Code::already_exists,
            "this heap already holds a tpcc database; set up needs an empty heap"};
  }
  auto database = heap_.template root<tpcc::Database<H>>(kRootName);
  if (!database) {
    return database.status();
  }
  try {
    tpcc::Loader<H>(heap_, settings_.scale, seed).run(**database);
  } catch (const Error& error) {
    return error.status();
  }
  return attach();
}

template <class H>
Status Tpcc<H>::attach() {
  auto database = heap_.template find_root<tpcc::Database<H>>(kRootName);
  if (!database) {
    return database.status();
  }
  bool complete = false;
  Status status = heap_.read([&] {
    complete = (*database)->complete != 0;
    if (complete) {
      catalog_ = tpcc::Catalog<H>(**database);
    }
  });
  if (status.ok() && !complete) {
    return {Code::not_found,
            "the tpcc database was not set up to the end; start with an empty heap"};
  }
  if (status.ok()) {
    settings_.scale = catalog_.scale();
  }
  return status;
}

template <class H>
uint32_t Tpcc<H>::home(int worker, Random& random) const {
  const uint32_t warehouses = settings_.scale.warehouses;
  if (settings_.home == tpcc::Home::uniform) {
    return tpcc::uniform(random, 1, warehouses);
  }
  const auto number = static_cast<uint32_t>(worker);
  if (settings_.home == tpcc::Home::disjoint && number >= warehouses) {
    throw Error(Status(Code::invalid_argument, "home=disjoint: there is no warehouse for worker " +
                                                   std::to_string(worker)));
  }
  return number % warehouses + 1;
}

template <class H>
uint64_t Tpcc<H>::date() {
  if constexpr (requires { heap_.machine().now(); }) {
    return std::max<uint64_t>(heap_.machine().now(), 1);  // 0 is null
  } else {
    return ++ticks_;
  }
}

template <class H>
OperationResult Tpcc<H>::operation(int worker, Random& random) {
  const tpcc::Kind kind = settings_.mix.choose(worker, random);
  tpcc::Terminal terminal(settings_, catalog_.constants(), home(worker, random), date(), random);
  switch (kind) {
    case tpcc::kNewOrder:
      return new_order(terminal.new_order());
    case tpcc::kPayment:
      return payment(terminal.payment());
    case tpcc::kOrderStatus:
      return order_status(terminal.order_status());
    case tpcc::kDelivery:
      return delivery(terminal.delivery());
    default:
      return stock_level(terminal.stock_level());
  }
}

template <class H>
OperationResult Tpcc<H>::new_order(const tpcc::NewOrderInput& input) {
  try {
    return tpcc::acknowledge(
        heap_.update([&] { return tpcc::NewOrder<H>(catalog_, input).run(); }).value());
  } catch (const tpcc::UnknownItem&) {
    return {.kind = tpcc::kNewOrder, .committed = false};
  }
}

template <class H>
OperationResult Tpcc<H>::payment(const tpcc::PaymentInput& input) {
  return tpcc::acknowledge(
      heap_.update([&] { return tpcc::Payment<H>(catalog_, input).run(); }).value());
}

template <class H>
OperationResult Tpcc<H>::order_status(const tpcc::OrderStatusInput& input) {
  return tpcc::acknowledge(input,
                           heap_.read([&] { return tpcc::order_status(catalog_, input); }).value());
}

template <class H>
OperationResult Tpcc<H>::delivery(const tpcc::DeliveryInput& input) {
  return tpcc::acknowledge(input,
                           heap_.update([&] { return tpcc::delivery(catalog_, input); }).value());
}

template <class H>
OperationResult Tpcc<H>::stock_level(const tpcc::StockLevelInput& input) {
  std::vector<uint32_t> low;
  low.reserve(size_t{input.orders} * tpcc::kMaxLines);
  return tpcc::acknowledge(
      input, heap_.read([&] { return tpcc::stock_level(catalog_, input, low); }).value());
}

template <class H>
Status Tpcc<H>::verify(const OperationResult& acknowledged) {
  const auto decoded = tpcc::decode(acknowledged);
  const bool leaves_no_trace = settings_.detail == tpcc::Detail::fur &&
                               (decoded.kind == tpcc::kPayment || decoded.kind == tpcc::kDelivery);
  if (acknowledged.acknowledgement[0] == 0 || leaves_no_trace) {
    return {};
  }
  tpcc::Findings found("tpcc");
  const Status status = heap_.read([&] {
    found.clear();
    tpcc::Verifier<H>(catalog_, found).verify(decoded);
  });
  return status.ok() ? found.status() : status;
}

template <class H>
Status Tpcc<H>::check() {
  using Conditions = tpcc::Conditions<H>;
  using Extra = tpcc::ExtraChecks<H>;
  Conditions conditions(heap_, catalog_);
  Extra extra(heap_, catalog_);
  std::string wrong;
  const auto take = [&](const Status& status) {
    if (!status.ok()) {
      wrong += (wrong.empty() ? "" : "\n") + status.message();
    }
  };
  const bool all = settings_.detail == tpcc::Detail::standard;
  try {
    for (const auto condition : Conditions::all()) {
      if (all || Conditions::holds_without_details(condition)) {
        take((conditions.*condition)());
      }
    }
    for (const auto check : Extra::all()) {
      if (all || Extra::holds_without_details(check)) {
        take((extra.*check)());
      }
    }
    take(check_blocks());
  } catch (const Error& error) {
    take(error.status());
  }
  return wrong.empty() ? Status() : Status(Code::corrupt, wrong);
}

/// Compares what the database owns with what the heap has handed out. Leaks can only be told where
/// nobody else keeps anything in the heap.
template <class H>
Status Tpcc<H>::check_blocks() {
  if constexpr (requires { heap_.list_roots(); }) {
    const bool alone = heap_.list_roots().size() == 1;
    auto report = heap_.check([&](const auto& visit) { visit_blocks(visit); });
    if (!report) {
      return report.status();
    }
    tpcc::Findings found("blocks");
    for (const std::string& error : report->errors) {
      if (alone || !error.starts_with("leak")) {
        found.add(error);
      }
    }
    return found.status();
  } else {
    return {};
  }
}

}  // namespace holdfast
