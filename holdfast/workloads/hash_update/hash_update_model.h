// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of `hash-update`. The state is the array.
///
///   update (batch)   stores the values of the batch; answers nothing
///
/// The argument is value 0 of a HashBatch. The answer does not tell what was read: under snapshot
/// isolation that may be older than what the transaction stores.
class HashUpdateModel final : public SequentialModel {
 public:
  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast
