// SPDX-License-Identifier: Apache-2.0
//
// A directed graph of moments of transactions, with a reason for each edge, and its shortest
// cycles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"

namespace holdfast::check {

/// A free edge joins two moments of one transaction, or belongs to the edge before it; it does not
/// count as a step. No free edge follows another one.
struct Edge {
  uint32_t from = 0;
  uint32_t to = 0;
  EdgeKind kind = EdgeKind::write_read;
  bool free = false;
  Object object = 0;
};

/// The graph. Thread safety: const functions may run concurrently with each other.
class Graph {
 public:
  /// A moment of transaction `owner` (0: of none), no earlier than `begin` and no later than `end`.
  struct Node {
    uint32_t owner = 0;
    uint64_t begin = 0;
    uint64_t end = kForever;
  };

  uint32_t add_node(const Node& node);
  void add(const Edge& edge) { edges_.push_back(edge); }
  /// Sorts the edges; call it after the last add() and before from().
  void index();

  uint32_t nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  size_t edges() const { return edges_.size(); }
  const Node& node(uint32_t n) const { return nodes_[n]; }
  std::span<const Edge> from(uint32_t n) const {
    return std::span(edges_).subspan(first_[n], first_[n + 1] - first_[n]);
  }

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // sorted by `from` after index()
  std::vector<size_t> first_;
};

/// Strongly connected components. An edge leads to a component of the same or a lower number. So in
/// an acyclic graph, `order` lists each node after all nodes that it leads to.
struct Components {
  std::vector<uint32_t> of;     ///< the component of each node
  std::vector<uint32_t> order;  ///< nodes, sorted by component
  uint32_t count = 0;

  bool acyclic() const { return count == of.size(); }
};
Components components(const Graph& graph);

using Path = std::vector<Edge>;
/// Returns the number of steps; free edges do not count.
size_t length(const Path& path);

/// Returns a cycle with the fewest steps for each component that has a cycle, the shortest first.
///
/// The work per component is limited. In a component that is too large for it, the search starts at
/// the edges that lead back furthest in time. Then the cycle may not be the shortest one.
std::vector<Path> shortest_cycles(const Graph& graph, const Components& components);

/// Returns the shortest path from a moment of a transaction to a moment of another one that ended
/// before the first one began. Returns an empty path if there is none with less than `below` steps.
///
/// Such paths cover real time completely. Two pairs of intervals a < b and c < d always satisfy a <
/// d or c < b. So for a cycle with two real-time edges there is a shorter one with one such edge.
/// Therefore the graph stores no real-time edges.
Path shortest_path_back_in_time(const Graph& graph, size_t below);

/// Returns for each node of an acyclic graph the earliest end of the nodes it leads to, including
/// itself.
std::vector<uint64_t> earliest_end(const Graph& graph, const Components& components);

/// Converts a path to steps, without free edges.
std::vector<Step> steps(const Path& path, const Graph& graph);

}  // namespace holdfast::check
