// SPDX-License-Identifier: Apache-2.0
//
// TPC-C (revision 5.11) as a workload: nine tables, five transactions, the population and the
// consistency conditions of the standard. Derived from TPC-C, not a TPC result: no terminals, no
// think times, no pricing.
//
// Reading order: data/schema.h, data/tables.h, data/load.h, transactions/, runner.h, check/.
//
// Snapshot isolation. TPC-C is serialisable under it (Fekete et al., "Making Snapshot Isolation
// Serializable", 2005), so the transactions promote nothing. Let one transaction read a row that
// another writes. Either both write it (D_NEXT_O_ID, balances, stock, the new-order row), or the
// two cannot form a cycle (a delivery that finds no new-order, a stock-level). The trees promote
// fields of their own where they need to.
#pragma once

#include <functional>
#include <string>

#include "holdfast/workloads/tpcc/check/conditions.h"
#include "holdfast/workloads/tpcc/check/extra_checks.h"
#include "holdfast/workloads/tpcc/check/verify.h"
#include "holdfast/workloads/tpcc/runner.h"

namespace holdfast {

/// The whole workload: it runs and judges.
template <class H>
class Tpcc final : public TpccRunner<H> {
 public:
  using TpccRunner<H>::TpccRunner;

  Status verify(const OperationResult& acknowledged) override;
  Status check() override;

  bool list_blocks(const std::function<void(const void*, size_t)>& visit) override {
    return heap().read(this->partitions(), [&] { visit_blocks(visit); }).ok();
  }

  /// Calls v(block, bytes) for every block that the database owns, except its root object. Call it
  /// inside a transaction.
  template <class Visitor>
  void visit_blocks(Visitor&& v) const {
    tpcc::visit_blocks(this->catalog(), v);
  }

 private:
  using TpccRunner<H>::heap;

  Status check_blocks();
};

template <class H>
Status Tpcc<H>::verify(const OperationResult& acknowledged) {
  const auto decoded = tpcc::decode(acknowledged);
  const bool leaves_no_trace = this->settings().detail == tpcc::Detail::fur &&
                               (decoded.kind == tpcc::kPayment || decoded.kind == tpcc::kDelivery);
  if (acknowledged.acknowledgement[0] == 0 || leaves_no_trace) {
    return {};
  }
  tpcc::Findings found("tpcc");
  const Status status = heap().read(this->partitions(), [&] {
    found.clear();
    tpcc::Verifier<H>(this->catalog(), found).verify(decoded);
  });
  return status.ok() ? found.status() : status;
}

template <class H>
Status Tpcc<H>::check() {
  using Conditions = tpcc::Conditions<H>;
  using Extra = tpcc::ExtraChecks<H>;
  Conditions conditions(heap(), this->catalog());
  Extra extra(heap(), this->catalog());
  std::string wrong;
  const auto take = [&](const Status& status) {
    if (!status.ok()) {
      wrong += (wrong.empty() ? "" : "\n") + status.message();
    }
  };
  const bool all = this->settings().detail == tpcc::Detail::standard;
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

/// Compares the blocks that the database owns with those that the heap has allocated. Leaks can be
/// found only if the heap has no other root.
template <class H>
Status Tpcc<H>::check_blocks() {
  if constexpr (requires { heap().list_roots(); }) {
    const bool alone = heap().list_roots().size() == 1;
    auto report = heap().check([&](const auto& visit) { visit_blocks(visit); });
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

/// The registry's row.
using TpccWorkload = WorkloadRow<tpcc::info, TpccRunner, Tpcc>;

}  // namespace holdfast
