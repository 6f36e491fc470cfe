// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "holdfast/workloads/parts/keyed_model.h"

namespace holdfast {

/// The sequential model of a set of keys with one operation. The state is that of KeyedModel, and
/// each key has the value 1.
///
///   toggle (key)   inserts the key and answers 1 if it is absent; else erases it and answers 0
class ToggleModel final : public SequentialModel {
 public:
  Response apply(const Request& request, ModelState& state) const override {
    if (request.kind != 0) {
      throw std::out_of_range("toggles have no operation " + std::to_string(request.kind));
    }
    const uint64_t key = request.argument[0];
    const bool there = keyed_.apply({KeyedModel::kErase, {key}}, state)[0] != 0;
    if (!there) {
      keyed_.apply({KeyedModel::kAdd, {key, 1}}, state);
    }
    return {there ? 0U : 1U, 0};
  }
  bool independent_keys() const override { return true; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override {
    return keyed_.split(state);
  }
  std::string describe(const Request& request) const override {
    return "toggle " + std::to_string(request.argument[0]);
  }
  std::string describe(const Request&, const Response& response) const override {
    return response[0] == 0 ? "deleted" : "inserted";
  }
  std::string describe(const ModelState& state) const override { return keyed_.describe(state); }

 private:
  KeyedModel keyed_{KeyedModel::Present::kept};
};

}  // namespace holdfast
