// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/isolation/isolation.h"

#include <algorithm>

#include "holdfast/check/isolation/anomaly.h"
#include "holdfast/check/isolation/dependency_graph.h"
#include "holdfast/check/isolation/local_faults.h"

namespace holdfast::check {
namespace {

/// A cycle without real time is the stronger evidence, but a long one is hard to read. So such a
/// cycle is preferred only up to this length: that of the longest one with its own name (long
/// fork).
constexpr size_t kTellingLength = 4;

std::vector<Step> round_trip(const Path& path, const Graph& graph) {
  std::vector<Step> cycle = steps(path, graph);
  const auto first = std::min_element(cycle.begin(), cycle.end(),
                                      [](const Step& a, const Step& b) { return a.from < b.from; });
  std::rotate(cycle.begin(), first, cycle.end());
  return cycle;
}

std::vector<Step> through_time(const Path& path, const Graph& graph) {
  std::vector<Step> cycle = steps(path, graph);
  cycle.push_back({cycle.back().to, cycle.front().from, EdgeKind::real_time, 0});
  return cycle;
}

Finding describe(std::vector<Step> cycle, const History& history, Isolation promised) {
  std::string text = promised == Isolation::opaque ? "no serial order has all of"
                                                   : "no order of snapshots and commits has all of";
  for (const Step& step : cycle) {
    text += " T" + std::to_string(step.from);
  }
  std::string name = anomaly_name(cycle, history);
  return {std::move(name), std::move(text), std::move(cycle)};
}

}  // namespace

std::vector<Finding> check_isolation(const History& history, Isolation promised, bool real_time,
                                     size_t most) {
  if (auto fault = malformed(history)) {
    return {*std::move(fault)};
  }
  const VersionTable versions(history);
  std::vector<Finding> findings = local_faults(versions, most);
  if (findings.size() >= most) {
    return findings;
  }
  DependencyGraph dependencies(versions, promised);
  order_blind_writes(dependencies, real_time);
  const Graph& graph = dependencies.graph();
  const Components components = check::components(graph);
  std::vector<Path> cycles;
  if (!components.acyclic()) {
    cycles = shortest_cycles(graph, components);
  }
  const size_t shortest = cycles.empty() ? ~size_t{0} : length(cycles.front());
  if (real_time && shortest > kTellingLength) {
    const Path back = shortest_path_back_in_time(graph, shortest - 1);
    if (!back.empty()) {
      findings.push_back(describe(through_time(back, graph), history, promised));
    }
  }
  for (const Path& path : cycles) {
    if (findings.size() < most) {
      findings.push_back(describe(round_trip(path, graph), history, promised));
    }
  }
  return findings;
}

}  // namespace holdfast::check
