// SPDX-License-Identifier: Apache-2.0
//
// The running part of TPC-C: the population and the five transactions. tpcc.h adds the judge.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engines/partitions.h"
#include "holdfast/workloads/parts/workload.h"
#include "holdfast/workloads/tpcc/data/load.h"
#include "holdfast/workloads/tpcc/transactions/acknowledgement.h"

namespace holdfast {

/// The running part; see WorkloadInstance for the contract.
template <class H>
class TpccRunner : public WorkloadInstance {
 public:
  static constexpr const char* kRootName = "tpcc";

  /// Throws Error(invalid_argument) for a parameter that does not parse.
  TpccRunner(H& heap, const Parameters& parameters)
      : heap_(heap),
        settings_(tpcc::read_settings(parameters)),
        partition_(parameters.partition()),
        partitions_(partition_ ? Partitions({*partition_}) : Partitions::all()) {}

  static const WorkloadInfo& static_info() { return tpcc::info(); }
  const WorkloadInfo& info() const override { return tpcc::info(); }

  Status set_up(int workers, uint64_t seed) override;
  /// The heap keeps the scale of its set-up, whatever the parameters are now.
  Status attach() override;
  OperationResult operation(int worker, Random& random) override;

  const tpcc::Catalog<H>& catalog() const { return catalog_; }
  const tpcc::Settings& settings() const { return settings_; }

  H& heap() { return heap_; }

 protected:
  /// The partitions of the heap that transactions name.
  const Partitions& partitions() const { return partitions_; }

 private:
  /// A partition has a database of its own.
  std::string root_name() const {
    return kRootName + (partition_ ? "/" + std::to_string(*partition_) : std::string());
  }
  uint32_t home(int worker, Random& random) const;
  uint64_t date();
  OperationResult new_order(const tpcc::NewOrderInput& input);
  OperationResult payment(const tpcc::PaymentInput& input);
  OperationResult order_status(const tpcc::OrderStatusInput& input);
  OperationResult delivery(const tpcc::DeliveryInput& input);
  OperationResult stock_level(const tpcc::StockLevelInput& input);

  H& heap_;
  tpcc::Settings settings_;
  std::optional<int> partition_;
  Partitions partitions_;
  tpcc::Catalog<H> catalog_;
  uint64_t ticks_ = 0;  // the date if the heap has no machine, and therefore no second thread
};

template <class H>
Status TpccRunner<H>::set_up(int workers, uint64_t seed) {
  if (settings_.home == tpcc::Home::disjoint &&
      static_cast<uint32_t>(workers) > settings_.scale.warehouses) {
    return {Code::invalid_argument,
            "home=disjoint needs a warehouse for each of " + std::to_string(workers) +
                " workers, and warehouses=" + std::to_string(settings_.scale.warehouses)};
  }
  if (heap_.template find_root<tpcc::Database<H>>(root_name()).ok()) {
    return {Code::already_exists,
            "this heap already holds a tpcc database; set up needs an empty heap"};
  }
  const auto make = [&] { return heap_.template root<tpcc::Database<H>>(root_name()); };
  auto database = partition_ ? heap_.update(partitions_, [&] { return make().value(); }) : make();
  if (!database) {
    return database.status();
  }
  try {
    tpcc::Loader<H>(heap_, partitions_, settings_.scale, seed).run(**database);
  } catch (const Error& error) {
    return error.status();
  }
  return attach();
}

template <class H>
Status TpccRunner<H>::attach() {
  auto database = heap_.template find_root<tpcc::Database<H>>(root_name());
  if (!database) {
    return database.status();
  }
  bool complete = false;
  Status status = heap_.read(partitions_, [&] {
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
uint32_t TpccRunner<H>::home(int worker, Random& random) const {
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
uint64_t TpccRunner<H>::date() {
  if constexpr (requires { heap_.machine().now(); }) {
    return std::max<uint64_t>(heap_.machine().now(), 1);  // 0 is null
  } else {
    return ++ticks_;
  }
}

template <class H>
OperationResult TpccRunner<H>::operation(int worker, Random& random) {
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
OperationResult TpccRunner<H>::new_order(const tpcc::NewOrderInput& input) {
  try {
    return tpcc::acknowledge(
        heap_.update(partitions_, [&] { return tpcc::NewOrder<H>(catalog_, input).run(); })
            .value());
  } catch (const tpcc::UnknownItem&) {
    return {.kind = tpcc::kNewOrder, .committed = false};
  }
}

template <class H>
OperationResult TpccRunner<H>::payment(const tpcc::PaymentInput& input) {
  return tpcc::acknowledge(
      heap_.update(partitions_, [&] { return tpcc::Payment<H>(catalog_, input).run(); }).value());
}

template <class H>
OperationResult TpccRunner<H>::order_status(const tpcc::OrderStatusInput& input) {
  return tpcc::acknowledge(
      input, heap_.read(partitions_, [&] { return tpcc::order_status(catalog_, input); }).value());
}

template <class H>
OperationResult TpccRunner<H>::delivery(const tpcc::DeliveryInput& input) {
  return tpcc::acknowledge(
      input, heap_.update(partitions_, [&] { return tpcc::delivery(catalog_, input); }).value());
}

template <class H>
OperationResult TpccRunner<H>::stock_level(const tpcc::StockLevelInput& input) {
  std::vector<uint32_t> low;
  low.reserve(size_t{input.orders} * tpcc::kMaxLines);
  return tpcc::acknowledge(
      input,
      heap_.read(partitions_, [&] { return tpcc::stock_level(catalog_, input, low); }).value());
}

}  // namespace holdfast
