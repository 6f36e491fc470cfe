// SPDX-License-Identifier: Apache-2.0
//
// A directed graph whose edges say why, and its shortest cycles. Nodes are moments of transactions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"

namespace holdfast::check {

/// A free edge joins two moments of one transaction, or belongs to the edge before it; it is no
/// step of its own. No free edge follows another one.
struct Edge {
  uint32_t from = 0;
  uint32_t to = 0;
  EdgeKind kind = EdgeKind::write_read;
  bool free = false;
  Object object = 0;
};

class Graph {
 public:
  /// A moment of the transaction `owner`, 0 for none: no earlier than `begin`, no later than `end`.
  struct Node {
    uint32_t owner = 0;
    uint64_t begin = 0;
    uint64_t end = kForever;
  };

  uint32_t add_node(const Node& node);
  void add(const Edge& edge) { edges_.push_back(edge); }
  /// Call after the last add() and before from().
  void index();

  uint32_t nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  size_t edges() const { return edges_.size(); }
  const Node& node(uint32_t n) const { return nodes_[n]; }
  std::span<const Edge> from(uint32_t n) const {
    return std::span(edges_).subspan(first_[n], first_[n + 1] - first_[n]);
  }

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // by `from` once indexed
  std::vector<size_t> first_;
};

/// Strongly connected components. Edges lead to components of the same or a lower number, so
/// `order` lists nodes after all those they lead to, where the graph has no cycle.
struct Components {
  std::vector<uint32_t> of;     ///< by node
  std::vector<uint32_t> order;  ///< nodes, by component
  uint32_t count = 0;

  bool acyclic() const { return count == of.size(); }
};
Components components(const Graph& graph);

using Path = std::vector<Edge>;
/// In steps: free edges do not count.
size_t length(const Path& path);

/// One cycle for each component that has any, with the fewest steps; shortest first. In components
/// too big to search from every node within a fixed amount of work, the search starts where an edge
/// leads back furthest in time, and the cycle may not be the very shortest.
std::vector<Path> shortest_cycles(const Graph& graph, const Components& components);

/// The shortest path from a moment of some transaction to one of a transaction that ended before
/// the first one began, if it has less than `below` steps; empty if there is none.
///
/// That is all there is to real time. Intervals are ordered so that of two pairs a < b and c < d
/// one always has a < d or c < b; so a cycle with two real-time edges has a shorter one with one,
/// and no edge for real time need be stored.
Path shortest_path_back_in_time(const Graph& graph, size_t below);

/// Of an acyclic graph: by node, the earliest end of any moment it leads to, itself included.
std::vector<uint64_t> earliest_end(const Graph& graph, const Components& components);

/// What a path says, without free edges.
std::vector<Step> steps(const Path& path, const Graph& graph);

}  // namespace holdfast::check
