// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ssca2/graph_model.h"

#include <stdexcept>

namespace holdfast {

Response GraphModel::apply(const Request& request, ModelState& state) const {
  const uint64_t vertices = state.at(0);
  const uint64_t vertex = request.argument[0];
  const uint64_t word = request.argument[1];
  if (vertex >= vertices || (request.kind != kAdd && request.kind != kRemove)) {
    throw std::out_of_range("a graph has no operation " + std::to_string(request.kind) +
                            " of vertex " + std::to_string(vertex));
  }
  const uint64_t first = state.at(1 + vertex);
  const uint64_t slots = state.at(2 + vertex) - first;
  uint64_t& edges = state.at(2 + vertices + vertex);
  uint64_t* const slot = &state.at(2 + 2 * vertices) + first;
  if (request.kind == kAdd) {
    if (edges == slots) {
      return {kNone, 0};
    }
    slot[edges] = word;
    return {edges++, 0};
  }
  for (uint64_t i = edges; i-- > 0;) {
    if (slot[i] == word) {
      edges -= 1;
      slot[i] = slot[edges];
      slot[edges] = 0;
      return {i, 0};
    }
  }
  return {kNone, 0};
}

bool GraphModel::may_change(const Request&, const Response& response) const {
  return response[0] != kNone;
}

std::string GraphModel::describe(const Request& request) const {
  return (request.kind == kAdd ? "add " : "remove ") + std::to_string(request.argument[1]) +
         " at vertex " + std::to_string(request.argument[0]);
}

std::string GraphModel::describe(const Request&, const Response& response) const {
  return response[0] == kNone ? "not done" : "position " + std::to_string(response[0]);
}

}  // namespace holdfast
