// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/isolation/graph.h"

#include <algorithm>

namespace holdfast::check {

uint32_t Graph::add_node(const Node& node) {
  nodes_.push_back(node);
  return nodes() - 1;
}

void Graph::index() {
  first_.assign(nodes_.size() + 1, 0);
  for (const Edge& edge : edges_) {
    ++first_[edge.from + 1];
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    first_[n + 1] += first_[n];
  }
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  std::vector<Edge> sorted(edges_.size());
  for (const Edge& edge : edges_) {
    sorted[next[edge.from]++] = edge;
  }
  edges_ = std::move(sorted);
}

namespace {

/// Tarjan's algorithm, with an explicit stack instead of recursion.
class Tarjan {
 public:
  explicit Tarjan(const Graph& graph)
      : graph_(graph), entered_(graph.nodes(), 0), low_(graph.nodes(), 0) {
    result_.of.assign(graph.nodes(), kNone);
    result_.order.reserve(graph.nodes());
  }

  Components run() {
    for (uint32_t n = 0; n < graph_.nodes(); ++n) {
      if (entered_[n] == 0) {
        visit(n);
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Frame {
    uint32_t node;
    size_t next;  // index of its next edge
  };

  void enter(uint32_t n) {
    entered_[n] = low_[n] = ++clock_;
    pending_.push_back(n);
    frames_.push_back({n, 0});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      const uint32_t n = frames_.back().node;
      const auto edges = graph_.from(n);
      if (frames_.back().next < edges.size()) {
        const uint32_t to = edges[frames_.back().next++].to;
        if (entered_[to] == 0) {
          enter(to);
        } else if (result_.of[to] == kNone) {
          low_[n] = std::min(low_[n], entered_[to]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) {
        uint32_t& low = low_[frames_.back().node];
        low = std::min(low, low_[n]);
      }
      if (low_[n] == entered_[n]) {
        close(n);
      }
    }
  }

  void close(uint32_t root) {
    uint32_t n = kNone;
    do {
      n = pending_.back();
      pending_.pop_back();
      result_.of[n] = result_.count;
      result_.order.push_back(n);
    } while (n != root);
    ++result_.count;
  }

  const Graph& graph_;
  std::vector<uint32_t> entered_;
  std::vector<uint32_t> low_;
  std::vector<uint32_t> pending_;
  std::vector<Frame> frames_;
  uint32_t clock_ = 0;
  Components result_;
};

}  // namespace

Components components(const Graph& graph) {
  return Tarjan(graph).run();
}

std::vector<uint64_t> earliest_end(const Graph& graph, const Components& components) {
  std::vector<uint64_t> earliest(graph.nodes());
  for (const uint32_t n : components.order) {
    earliest[n] = graph.node(n).end;
    for (const Edge& edge : graph.from(n)) {
      earliest[n] = std::min(earliest[n], earliest[edge.to]);
    }
  }
  return earliest;
}

std::vector<Step> steps(const Path& path, const Graph& graph) {
  std::vector<Step> result;
  for (const Edge& edge : path) {
    if (!edge.free) {
      result.push_back({graph.node(edge.from).owner, 0, edge.kind, edge.object});
    }
    if (!result.empty()) {
      result.back().to = graph.node(edge.to).owner;
    }
  }
  return result;
}

}  // namespace holdfast::check
