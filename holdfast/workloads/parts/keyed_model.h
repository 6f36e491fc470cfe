// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of sets and maps. The state is key, value, key, value, ... in key order.
///
///   look up (key)      answers the value (0 if absent), and 1 if the key exists
///   add (key, value)   answers 1 if the key is new
///   erase (key)        answers 1 if the key existed
class KeyedModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `map`, `intset` and `list`.
  enum Kind : int { kLookUp, kAdd, kErase };
  /// Effect of adding a key that exists already.
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

/// Collects the content of a structure, in any order, as a state of the KeyedModel.
class KeyedContent {
 public:
  void add(uint64_t key, uint64_t value) { pairs_.push_back({key, value}); }
  /// Returns the state. A key that was added twice is in it twice; no sequential order has such a
  /// state.
  ModelState state();

 private:
  std::vector<std::array<uint64_t, 2>> pairs_;
};

}  // namespace holdfast
