// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// A cycle of nodes. The state is the successor of each node, so that it can also say what a broken
/// ring looks like.
///
/// Requests: swap (a) makes a -> b -> c -> d into a -> c -> b -> d; move (a, to) takes the node
/// behind a and puts it behind `to` (a swap when `to` is either of them). Both are answered by the
/// three links they found, see links(). walk is answered by the steps it takes from node 0 back to
/// it (0: it never comes back) and the PlaceDigest of the nodes on the way.
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
