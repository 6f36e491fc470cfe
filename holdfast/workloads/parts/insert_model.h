// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/keyed_model.h"

namespace holdfast {

/// The sequential model of a set with one operation, which is KeyedModel::kAdd with Present::kept.
class InsertModel final : public SequentialModel {
 public:
  Response apply(const Request& request, ModelState& state) const override {
    return keyed_.apply(adding(request), state);
  }
  bool may_change(const Request& request, const Response& response) const override {
    return keyed_.may_change(adding(request), response);
  }
  bool independent_keys() const override { return true; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override {
    return keyed_.split(state);
  }
  std::string describe(const Request& request) const override {
    return keyed_.describe(adding(request));
  }
  std::string describe(const Request& request, const Response& response) const override {
    return keyed_.describe(adding(request), response);
  }
  std::string describe(const ModelState& state) const override { return keyed_.describe(state); }

 private:
  static Request adding(const Request& request) { return {KeyedModel::kAdd, request.argument}; }

  KeyedModel keyed_{KeyedModel::Present::kept};
};

}  // namespace holdfast
