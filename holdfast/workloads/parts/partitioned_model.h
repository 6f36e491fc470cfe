// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of several independent structures that have one model. A request's kind is
/// the structure's number times the number of kinds, plus the kind in the structure's own terms. A
/// state is a list of structures: number, length, and so many words of the structure's state.
///
/// No operation concerns two structures. So a history is judged structure by structure.
class PartitionedModel final : public SequentialModel {
 public:
  /// `part` must outlive this object.
  PartitionedModel(const SequentialModel& part, int kinds) : part_(part), kinds_(kinds) {}

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  bool independent_keys() const override { return true; }
  uint64_t key(const Request& request) const override { return part_of(request); }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override;

  Request in_part(Request request, size_t part) const {
    request.kind += static_cast<int>(part) * kinds_;
    return request;
  }
  size_t part_of(const Request& request) const {
    return static_cast<size_t>(request.kind / kinds_);
  }
  /// The request in the structure's own terms.
  Request inner(Request request) const {
    request.kind %= kinds_;
    return request;
  }
  /// Adds a structure to a state.
  static void append(ModelState& state, uint64_t part, const ModelState& words);

 private:
  const SequentialModel& part_;
  int kinds_;
};

}  // namespace holdfast
