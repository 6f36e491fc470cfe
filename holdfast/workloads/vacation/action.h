// SPDX-License-Identifier: Apache-2.0
//
// The choice of a transaction of `vacation`, made before its body runs.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast::vacation {

const WorkloadInfo& vacation_info();

/// The parameters that decide how much transactions conflict.
struct Mix {
  /// The parameter `contention`, and `queries`, `range` and `users` where they are given. Throws
  /// Error(invalid_argument) for a wrong value.
  explicit Mix(const Parameters& parameters);

  uint64_t queries;  ///< a transaction has 1 to this many
  double range;      ///< share of the ids that transactions use, 0 to 1
  double users;      ///< share of the transactions that reserve, 0 to 1

  static constexpr uint64_t kMostQueries = 1000;
};

/// One transaction.
struct Action {
  /// Indices into WorkloadInfo::operations of `vacation`.
  enum Kind : int { kReserve, kDeleteCustomer, kUpdateTables };
  struct Query {
    size_t kind;
    uint64_t id;
    bool add;       ///< kUpdateTables: adds seats; else removes them
    int64_t price;  ///< kUpdateTables: the new price
  };

  /// Draws a transaction over ids 1 to `relations`.
  void draw(const Mix& mix, uint64_t relations, Random& random);

  Kind kind = kReserve;
  uint64_t customer = 0;
  std::vector<Query> queries;
};

/// A price of 50, 60, 70, 80 or 90.
int64_t draw_price(Random& random);

}  // namespace holdfast::vacation
