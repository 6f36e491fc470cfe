// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/keyed_model.h"

namespace holdfast {

/// The sequential model of an InsertWorkload. The state is that of KeyedModel with Present::kept.
///
///   insert (key, value)   KeyedModel::kAdd
///   remove (key)          KeyedModel::kErase
class InsertModel final : public SequentialModel {
 public:
  enum Kind : int { kInsert, kRemove };

  Response apply(const Request& request, ModelState& state) const override {
    return keyed_.apply(keyed(request), state);
  }
  bool may_change(const Request& request, const Response& response) const override {
    return keyed_.may_change(keyed(request), response);
  }
  bool independent_keys() const override { return true; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override {
    return keyed_.split(state);
  }
  std::string describe(const Request& request) const override {
    return keyed_.describe(keyed(request));
  }
  std::string describe(const Request& request, const Response& response) const override {
    return keyed_.describe(keyed(request), response);
  }
  std::string describe(const ModelState& state) const override { return keyed_.describe(state); }

 private:
  static Request keyed(const Request& request) {
    const int kind = request.kind == kInsert ? KeyedModel::kAdd : KeyedModel::kErase;
    return {kind, request.argument};
  }

  KeyedModel keyed_{KeyedModel::Present::kept};
};

}  // namespace holdfast
