// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of a bank. The state is the balances.
///
///   transfer (from, to, most)   moves at most that amount, and at most the balance; answers both
///                               balances before
///   audit                       answers the total, and the PlaceDigest of all balances
class BankModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `bank`.
  enum Kind : int { kTransfer, kAudit };

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast
