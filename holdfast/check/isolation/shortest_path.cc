// SPDX-License-Identifier: Apache-2.0
//
// The searches of graph.h: breadth first; a free edge has length 0.
#include <algorithm>
#include <deque>
#include <limits>

#include "holdfast/check/isolation/graph.h"

namespace holdfast::check {
namespace {

/// Limit of edges examined in one component, for all sources together: about half a second. It
/// suffices for a complete search of components of some thousand nodes.
constexpr uint64_t kWork = 30'000'000;
constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

/// Searches from one node at a time. It keeps only its memory from one search to the next.
class Search {
 public:
  Search(const Graph& graph, const Components* inside)
      : graph_(graph), inside_(inside), distance_(graph.nodes(), kFar), by_(graph.nodes()) {}

  /// Returns the shortest path from `source` to a node with done(node). The path has at least one
  /// edge and less than `below` steps; it is empty if there is none.
  template <class Done>
  Path find(uint32_t source, uint32_t below, Done done) {
    for (const uint32_t n : touched_) {
      distance_[n] = kFar;
    }
    touched_.clear();
    queue_.clear();
    expand(source, 0, below);
    while (!queue_.empty()) {
      const auto [n, distance] = queue_.front();
      queue_.pop_front();
      if (distance != distance_[n]) {
        continue;  // a shorter path was found after the node was queued
      }
      if (done(n)) {
        return path(source, n);
      }
      expand(n, distance, below);
    }
    return {};
  }

  uint64_t work() const { return work_; }

 private:
  struct Queued {
    uint32_t node;
    uint32_t distance;
  };

  void expand(uint32_t n, uint32_t distance, uint32_t below) {
    for (const Edge& edge : graph_.from(n)) {
      ++work_;
      const uint32_t there = distance + (edge.free ? 0 : 1);
      if (there >= below || there >= distance_[edge.to] ||
          (inside_ != nullptr && inside_->of[edge.to] != inside_->of[n])) {
        continue;
      }
      if (distance_[edge.to] == kFar) {
        touched_.push_back(edge.to);
      }
      distance_[edge.to] = there;
      by_[edge.to] = edge;
      if (edge.free) {
        queue_.push_front({edge.to, there});
      } else {
        queue_.push_back({edge.to, there});
      }
    }
  }

  Path path(uint32_t source, uint32_t target) const {
    Path path;
    uint32_t n = target;
    do {
      path.push_back(by_[n]);
      n = path.back().from;
    } while (n != source);
    std::reverse(path.begin(), path.end());
    return path;
  }

  const Graph& graph_;
  const Components* inside_;
  std::vector<uint32_t> distance_;
  std::vector<Edge> by_;
  std::vector<uint32_t> touched_;
  std::deque<Queued> queue_;
  uint64_t work_ = 0;
};

/// Returns how far an edge from n leads back in time, inside n's component.
uint64_t jump_back(const Graph& graph, const Components& components, uint32_t n) {
  uint64_t jump = 0;
  const uint64_t begin = graph.node(n).begin;
  for (const Edge& edge : graph.from(n)) {
    const uint64_t there = graph.node(edge.to).begin;
    if (components.of[edge.to] == components.of[n] && there < begin) {
      jump = std::max(jump, begin - there);
    }
  }
  return jump;
}

/// Replaces each edge of the path by the strongest parallel one. A cycle with fewer
/// anti-dependencies violates a weaker isolation level.
void strengthen(Path& path, const Graph& graph) {
  const auto weakness = [](EdgeKind kind) {
    return kind == EdgeKind::write_write ? 0 : kind == EdgeKind::write_read ? 1 : 2;
  };
  for (Edge& edge : path) {
    for (const Edge& other : graph.from(edge.from)) {
      if (other.to == edge.to && other.free == edge.free &&
          weakness(other.kind) < weakness(edge.kind)) {
        edge = other;
      }
    }
  }
}

}  // namespace

size_t length(const Path& path) {
  return static_cast<size_t>(
      std::count_if(path.begin(), path.end(), [](const Edge& edge) { return !edge.free; }));
}

std::vector<Path> shortest_cycles(const Graph& graph, const Components& components) {
  std::vector<Path> cycles;
  Search search(graph, &components);
  for (size_t i = 0, next = 0; i < components.order.size(); i = next) {
    const uint32_t component = components.of[components.order[i]];
    while (next < components.order.size() && components.of[components.order[next]] == component) {
      ++next;
    }
    if (next == i + 1) {
      continue;  // no node has an edge to itself
    }
    std::vector<std::pair<uint64_t, uint32_t>> sources;
    for (size_t k = i; k < next; ++k) {
      sources.emplace_back(jump_back(graph, components, components.order[k]), components.order[k]);
    }
    std::sort(sources.rbegin(), sources.rend());
    Path best;
    const uint64_t until = search.work() + kWork;
    for (const auto& [jump, source] : sources) {
      const uint32_t below = best.empty() ? kFar : static_cast<uint32_t>(length(best));
      Path cycle = search.find(source, below, [s = source](uint32_t n) { return n == s; });
      if (!cycle.empty()) {
        best = std::move(cycle);
      }
      if (search.work() > until) {
        break;
      }
    }
    strengthen(best, graph);
    // A cycle begins with a step, so that free edges belong to the step before them.
    std::rotate(best.begin(),
                std::find_if(best.begin(), best.end(), [](const Edge& e) { return !e.free; }),
                best.end());
    cycles.push_back(std::move(best));
  }
  std::stable_sort(cycles.begin(), cycles.end(),
                   [](const Path& a, const Path& b) { return length(a) < length(b); });
  return cycles;
}

Path shortest_path_back_in_time(const Graph& graph, size_t below) {
  const auto back = [&graph](uint32_t n, uint64_t end) { return end < graph.node(n).begin; };
  // After round k, earliest[n] is the earliest end within k steps of n. The first round in which a
  // node reaches back in time has the length of the path as its number.
  std::vector<uint64_t> earliest(graph.nodes());
  for (uint32_t n = 0; n < graph.nodes(); ++n) {
    earliest[n] = graph.node(n).end;
  }
  uint32_t source = graph.nodes();
  bool news = true;
  for (size_t round = 1; news && round < below && source == graph.nodes(); ++round) {
    news = false;
    const std::vector<uint64_t> before = earliest;
    for (uint32_t n = 0; n < graph.nodes(); ++n) {
      for (const Edge& edge : graph.from(n)) {
        if (before[edge.to] < earliest[n] && !edge.free) {
          earliest[n] = before[edge.to];
        }
      }
    }
    // A free edge is followed by a step, never by another free edge, so one pass is enough.
    for (uint32_t n = 0; n < graph.nodes(); ++n) {
      for (const Edge& edge : graph.from(n)) {
        if (edge.free) {
          earliest[n] = std::min(earliest[n], earliest[edge.to]);
        }
      }
      news |= earliest[n] < before[n];
      if (back(n, earliest[n])) {
        source = n;
        break;
      }
    }
  }
  if (source == graph.nodes()) {
    return {};
  }
  Search search(graph, nullptr);
  Path path =
      search.find(source, kFar, [&](uint32_t n) { return back(source, graph.node(n).end); });
  strengthen(path, graph);
  return path;
}

}  // namespace holdfast::check
