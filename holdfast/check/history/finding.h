// SPDX-License-Identifier: Apache-2.0
//
// What a judge found: a name from the literature, and the evidence, one step per line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// Why one transaction comes before another, or what became of it at a crash.
enum class EdgeKind : uint8_t {
  write_read,   ///< `to` read what `from` wrote
  write_write,  ///< `to` replaced what `from` wrote
  read_write,   ///< `to` replaced what `from` had read (an anti-dependency)
  real_time,    ///< `from` was answered before `to` began; the object means nothing
  survived,     ///< after recovery the object holds what `from` wrote, or something built on it
  lost,         ///< after recovery what `from` wrote into the object is missing
};

/// Transactions by number; 0 is the initial state.
struct Step {
  uint32_t from = 0;
  uint32_t to = 0;
  EdgeKind kind = EdgeKind::write_read;
  Object object = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Finding {
  std::string name;         ///< "lost update", "write skew", ...
  std::string text;         ///< one sentence
  std::vector<Step> steps;  ///< a cycle of dependencies, or the accesses that contradict each other
};

/// "T3", with its outcome unless it committed; "the initial state" for 0.
std::string transaction_name(uint32_t number, const History& history);
std::string to_string(const Step& step, const History& history);
/// The name and the sentence on the first line, then one line for each step.
std::string to_string(const Finding& finding, const History& history);

}  // namespace holdfast::check
