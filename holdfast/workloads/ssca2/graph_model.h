// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

/// The sequential model of `ssca2`: a graph as one array of slots, with a range for each vertex.
/// The state is the number of vertices, the first slot of each vertex, the number of slots, the
/// number of edges of each vertex, and the slots.
///
///   add (vertex, word)      puts the word into the vertex's next slot; answers its position, or
///                           kNone if all its slots are in use
///   remove (vertex, word)   moves the vertex's last word into the slot of this one; answers the
///                           position, or kNone if the word is not there
class GraphModel final : public SequentialModel {
 public:
  /// Indices into WorkloadInfo::operations of `ssca2`.
  enum Kind : int { kAdd, kRemove };
  static constexpr uint64_t kNone = ~uint64_t{0};

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast
