// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of workloads that stream over an array. The state is the number of updates
/// of each group of elements.
///
///   update (group)   answers the group's number of updates, with this one
class ElementStreamModel final : public SequentialModel {
 public:
  Response apply(const Request& request, ModelState& state) const override {
    if (request.kind != 0) {
      throw std::out_of_range("a stream has no operation " + std::to_string(request.kind));
    }
    return {++state.at(request.argument[0]), 0};
  }
  std::string describe(const Request& request) const override {
    return "update group " + std::to_string(request.argument[0]);
  }
  std::string describe(const Request&, const Response& response) const override {
    return std::to_string(response[0]);
  }
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast
