// SPDX-License-Identifier: Apache-2.0
//
// A judge's finding: a name from the literature, and the evidence, one step per line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// The reason why one transaction comes before another, or a transaction's fate at a crash.
enum class EdgeKind : uint8_t {
  write_read,   ///< `to` read a value that `from` wrote
  write_write,  ///< `to` replaced a value that `from` wrote
  read_write,   ///< `to` replaced a value that `from` had read (an anti-dependency)
  real_time,    ///< `from` was answered before `to` began; the object means nothing
  survived,     ///< after recovery the object holds the value of `from`, or a value built on it
  lost,         ///< after recovery the object lacks the value of `from`
};

/// One dependency, or one fate. Transactions are given by number; 0 is the initial state.
struct Step {
  uint32_t from = 0;
  uint32_t to = 0;
  EdgeKind kind = EdgeKind::write_read;
  Object object = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

/// A violation and its evidence.
struct Finding {
  std::string name;         ///< "lost update", "write skew", ...
  std::string text;         ///< one sentence
  std::vector<Step> steps;  ///< a cycle of dependencies, or the accesses that contradict each other
};

/// Returns "T3", with the outcome unless it committed; "the initial state" for 0.
std::string transaction_name(uint32_t number, const History& history);
std::string to_string(const Step& step, const History& history);
/// Returns the name and the sentence in one line, then one line for each step.
std::string to_string(const Finding& finding, const History& history);

}  // namespace holdfast::check
