// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// Sets and maps. The state is key, value, key, value, ... in order of the keys.
///
/// Requests: look up (key), answered by the value (0 when absent) and whether it is there; add
/// (key, value), answered by whether the key is new; erase (key), answered by whether it was there.
class KeyedModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `map`, `intset` and `list`.
  enum Kind : int { kLookUp, kAdd, kErase };
  /// What adding does to a key that is there already.
  enum class Present : uint8_t { kept, overwritten };

  explicit KeyedModel(Present present) : present_(present) {}

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  bool independent_keys() const override { return true; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override;

 private:
  Present present_;
};

/// Collects what a structure contains, in any order, as a state of the KeyedModel.
class KeyedContent {
 public:
  void add(uint64_t key, uint64_t value) { pairs_.push_back({key, value}); }
  /// A key found twice stays there twice: no sequential order has such a state.
  ModelState state();

 private:
  std::vector<std::array<uint64_t, 2>> pairs_;
};

}  // namespace holdfast
