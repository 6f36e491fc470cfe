// SPDX-License-Identifier: Apache-2.0
//
// The reachability of an acyclic graph: one bit for each pair of nodes, and real time in addition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "holdfast/check/isolation/graph.h"

namespace holdfast::check {

/// Thread safety: immutable. Memory: one bit per pair of nodes.
class Reachability {
 public:
  Reachability(const Graph& graph, const Components& components, bool real_time)
      : words_((graph.nodes() + 63) / 64),
        bits_(size_t{graph.nodes()} * words_, 0),
        latest_begin_(graph.nodes()) {
    for (const uint32_t n : components.order) {
      bits_[n * words_ + n / 64] |= uint64_t{1} << (n % 64);
      for (const Edge& edge : graph.from(n)) {
        for (size_t w = 0; w < words_; ++w) {
          bits_[n * words_ + w] |= bits_[edge.to * words_ + w];
        }
      }
    }
    if (!real_time) {
      earliest_end_.assign(graph.nodes(), kForever);
      return;
    }
    earliest_end_ = earliest_end(graph, components);
    for (uint32_t n = 0; n < graph.nodes(); ++n) {
      latest_begin_[n] = graph.node(n).begin;
    }
    std::for_each(components.order.rbegin(), components.order.rend(), [&](uint32_t n) {
      for (const Edge& edge : graph.from(n)) {
        latest_begin_[edge.to] = std::max(latest_begin_[edge.to], latest_begin_[n]);
      }
    });
  }

  /// Returns whether `from` leads to `to`, by edges or by real time. A node leads to itself.
  bool operator()(uint32_t from, uint32_t to) const {
    return (bits_[from * words_ + to / 64] >> (to % 64) & 1) != 0 ||
           earliest_end_[from] < latest_begin_[to];
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> earliest_end_;  // by node: of all nodes that it leads to
  std::vector<uint64_t> latest_begin_;  // by node: of all nodes that lead to it
};

}  // namespace holdfast::check
