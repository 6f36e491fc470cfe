// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <utility>

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of `array-swap`. The state is the array, each element as its number.
///
///   swap (a, b)   answers the elements that were at places a and b
class ArraySwapModel final : public SequentialModel {
 public:
  Response apply(const Request& request, ModelState& state) const override {
    if (request.kind != 0) {
      throw std::out_of_range("array-swap has no operation " + std::to_string(request.kind));
    }
    uint64_t& a = state.at(request.argument[0]);
    uint64_t& b = state.at(request.argument[1]);
    const Response before = {a, b};
    std::swap(a, b);
    return before;
  }
  std::string describe(const Request& request) const override {
    return "swap(" + std::to_string(request.argument[0]) + ", " +
           std::to_string(request.argument[1]) + ")";
  }
  std::string describe(const Request&, const Response& response) const override {
    return list_text({response[0], response[1]});
  }
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast
