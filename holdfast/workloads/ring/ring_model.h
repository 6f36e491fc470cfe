// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of a ring. The state is the successor of each node, so that a broken ring
/// has a state as well.
///
///   swap (a)       changes a -> b -> c -> d to a -> c -> b -> d; answers the three links found
///                  (links())
///   move (a, to)   takes the node behind a, and puts it behind `to` (a swap if `to` is one of the
///                  two); answers the three links found
///   walk           answers the steps from node 0 back to it (0: it never returns), and the
///                  PlaceDigest of the nodes passed
class RingModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `ring`.
  enum Kind : int { kSwap, kMove, kWalk };

  /// Three nodes as a response. Nodes are below 2^32.
  static Response links(uint64_t first, uint64_t second, uint64_t third) {
    return {first << 32 | second, third};
  }

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override;
};

}  // namespace holdfast
