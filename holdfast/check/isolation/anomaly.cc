// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/isolation/anomaly.h"

#include <algorithm>

namespace holdfast::check {
namespace {

using enum EdgeKind;

size_t count(const std::vector<Step>& cycle, EdgeKind kind) {
  return static_cast<size_t>(std::count_if(cycle.begin(), cycle.end(),
                                           [kind](const Step& step) { return step.kind == kind; }));
}

const Step& after(const std::vector<Step>& cycle, size_t i) {
  return cycle[(i + 1) % cycle.size()];
}

/// Returns whether the step's target found the source's version in the step's object.
bool looked(const Step& step, const History& history) {
  const auto& accesses = history.at(step.to).accesses;
  return std::any_of(accesses.begin(), accesses.end(), [&step](const Access& access) {
    const Version found = access.kind == Access::Kind::read ? access.version : access.replaced;
    return access.kind != Access::Kind::blind && access.object == step.object &&
           found.transaction == step.from;
  });
}

std::string name_of_two(const Step& missed, const Step& back, const History& history) {
  if (back.kind == read_write) {
    return missed.object == back.object ? "lost update" : "write skew";
  }
  if (missed.object == back.object) {
    return "lost update";
  }
  return looked(back, history) ? "fractured read" : "read skew";
}

/// Returns whether a reader R missed T, T missed W, and R saw W. Without R, T before W is a serial
/// order.
bool is_read_only_anomaly(const std::vector<Step>& cycle, const History& history) {
  for (size_t i = 0; cycle.size() == 3 && i < 3; ++i) {
    const Step& first = cycle[i];
    if (first.kind == read_write && after(cycle, i).kind == read_write) {
      const auto& accesses = history.at(first.from).accesses;
      return std::none_of(accesses.begin(), accesses.end(),
                          [](const Access& access) { return access.writes(); });
    }
  }
  return false;
}

bool is_long_fork(const std::vector<Step>& cycle) {
  return cycle.size() == 4 && count(cycle, read_write) == 2 && cycle[0].kind != cycle[1].kind &&
         cycle[0].kind == cycle[2].kind && cycle[1].kind == cycle[3].kind;
}

}  // namespace

std::string anomaly_name(const std::vector<Step>& cycle, const History& history) {
  const size_t missed = count(cycle, read_write);
  if (count(cycle, real_time) > 0) {
    return missed == 1 ? "stale read" : "real-time order violation";
  }
  if (missed == 0) {
    return count(cycle, write_read) == 0 ? "dirty write" : "circular information flow";
  }
  if (cycle.size() == 2) {
    const size_t i = cycle[0].kind == read_write ? 0 : 1;
    return name_of_two(cycle[i], cycle[1 - i], history);
  }
  if (missed == 1) {
    return "read skew";
  }
  if (missed == cycle.size()) {
    return "write skew";
  }
  if (is_read_only_anomaly(cycle, history)) {
    return "read-only anomaly";
  }
  return is_long_fork(cycle) ? "long fork" : "anti-dependency cycle";
}

}  // namespace holdfast::check
