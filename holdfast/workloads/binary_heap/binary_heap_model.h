// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of `binary-heap`. The state is the capacity, and then the keys in ascending
/// order.
///
///   insert (key)   answers 1, or 0 if the heap is full
///   remove_min     answers the least key, and 1; or 0, 0 if the heap is empty
class BinaryHeapModel final : public SequentialModel {
 public:
  enum Kind : int { kInsert, kRemoveMin };

  Response apply(const Request& request, ModelState& state) const override {
    const auto keys = state.begin() + 1;
    switch (request.kind) {
      case kInsert:
        if (state.size() - 1 == state.at(0)) {
          return {0, 0};
        }
        state.insert(std::upper_bound(keys, state.end(), request.argument[0]), request.argument[0]);
        return {1, 0};
      case kRemoveMin: {
        if (state.size() == 1) {
          return {0, 0};
        }
        const uint64_t least = *keys;
        state.erase(keys);
        return {least, 1};
      }
      default:
        throw std::out_of_range("binary-heap has no operation " + std::to_string(request.kind));
    }
  }
  bool may_change(const Request& request, const Response& response) const override {
    return response[request.kind == kInsert ? 0 : 1] != 0;
  }
  std::string describe(const Request& request) const override {
    return request.kind == kInsert ? "insert(" + std::to_string(request.argument[0]) + ")"
                                   : std::string("remove_min");
  }
  std::string describe(const Request& request, const Response& response) const override {
    if (!may_change(request, response)) {
      return request.kind == kInsert ? "full" : "empty";
    }
    return request.kind == kInsert ? "done" : std::to_string(response[0]);
  }
  std::string describe(const ModelState& state) const override {
    return list_text(ModelState(state.begin() + 1, state.end()));
  }
};

}  // namespace holdfast
