// SPDX-License-Identifier: Apache-2.0
//
// Options of a TPC-C run: the scale, the mix, and the home warehouse of each worker.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "holdfast/workloads/parts/weights.h"
#include "holdfast/workloads/parts/workload.h"
#include "holdfast/workloads/tpcc/data/schema.h"

namespace holdfast::tpcc {

/// The transactions, in the order of WorkloadInfo::operations.
enum Kind : int { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel, kKinds };

/// The size of the population; the defaults are the standard's. The heap records it: an opened heap
/// keeps the size of its set-up.
struct Scale {
  uint32_t warehouses = 1;
  uint32_t districts = 10;     ///< per warehouse
  uint32_t items = 100'000;    ///< and stock rows per warehouse
  uint32_t customers = 3000;   ///< per district
  uint32_t orders = 3000;      ///< per district
  uint32_t batch_rows = 1000;  ///< most rows per set-up transaction

  /// Initial orders above this number are not delivered yet: the last 30 %, 900 of 3000.
  uint32_t delivered() const { return orders - orders * 3 / 10; }
  /// Last names in use. Customers up to this number have one name each (clause 4.3.3.1).
  uint32_t last_names() const { return customers < 1000 ? customers : 1000; }
};

/// The frequency of each transaction.
struct Mix {
  Weights weights;
  /// FUR's figure 1: worker 0 runs only payments, whatever the weights.
  bool first_worker_pays = false;

  Kind choose(int worker, Random& random) const;
};

/// Parses a name from the list in options.cc, or "new_order:45,payment:43,...".
Result<Mix> parse_mix(const std::string& text);

enum class Home : uint8_t {
  uniform,   ///< any warehouse, chosen anew for every transaction
  fixed,     ///< worker i works in warehouse i mod warehouses, as the standard's terminals do
  disjoint,  ///< worker i has warehouse i to itself: no remote customers, no remote lines
};
Result<Home> parse_home(const std::string& text);

/// The details of the transactions that are run.
enum class Detail : uint8_t {
  standard,
  /// As in the program of FUR's measurements. Customers are chosen by number. A payment stores five
  /// words: no history row, and no text of customers with bad credit. A delivery sets no dates in
  /// its lines. Conditions on the omitted parts do not hold then.
  fur,
};
Result<Detail> parse_detail(const std::string& text);

struct Settings {
  Scale scale;
  Mix mix;
  Home home = Home::uniform;
  uint32_t stock_level_orders = 20;
  Detail detail = Detail::standard;
};

/// Throws Error(invalid_argument) for a parameter that does not parse.
Settings read_settings(const Parameters& parameters);

const WorkloadInfo& info();

}  // namespace holdfast::tpcc
