// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/keyed_model.h"

namespace holdfast {

/// The sequential model of `ycsb`: a map from keys to versions of values. The state is that of
/// KeyedModel.
///
///   read (key)                  answers the version and 1, or twice 0 if the key is absent
///   update, insert (key, v)     stores version v; answers 1 if the key is new
///   scan (key, n)               answers a digest of the first n entries from the key on, and how
///                               many there are
///   rmw (key, v)                stores version v if the key is there; answers as a read before
class YcsbModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `ycsb`.
  enum Kind : int { kRead, kUpdate, kInsert, kScan, kRmw, kKinds };

  /// Without scans each operation concerns one key.
  explicit YcsbModel(bool scans) : scans_(scans) {}

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  bool independent_keys() const override { return !scans_; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override {
    return keyed_.split(state);
  }
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override { return keyed_.describe(state); }

 private:
  bool scans_;
  KeyedModel keyed_{KeyedModel::Present::overwritten};
};

}  // namespace holdfast
