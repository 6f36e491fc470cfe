// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "holdfast/engines/undo/undo_engine.h"

namespace holdfast::pmdk_like {

using undo::Range;

/// A set of bytes, kept as ranges that neither overlap nor touch. covers() takes logarithmic time;
/// add() also takes time for each range that it merges.
class RangeSet {
 public:
  void clear() { ends_.clear(); }
  bool empty() const { return ends_.empty(); }

  bool covers(const Range& range) const {
    const auto after = ends_.upper_bound(range.begin);
    return after != ends_.begin() && std::prev(after)->second >= range.end();
  }

  /// Calls gap(part) for each part of `range` that is not in the set yet, in order of address. Then
  /// adds the range. If gap throws, or there is no memory, the set is unchanged.
  template <class F>
  void add(const Range& range, F&& gap) {
    const std::byte* begin = range.begin;
    const std::byte* end = range.end();
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    const std::byte* covered = range.begin;  // gaps below have been visited
    const auto first = next;
    for (; next != ends_.end() && next->first <= end; ++next) {
      if (next->first > covered) {
        gap(Range{covered, static_cast<size_t>(next->first - covered)});
      }
      covered = std::max(covered, next->second);
    }
    if (covered < end) {
      gap(Range{covered, static_cast<size_t>(end - covered)});
    }
    const std::byte* const last = std::max(covered, end);
    if (first == next) {
      ends_.emplace_hint(next, begin, last);
      return;
    }
    const auto rest = std::next(first);
    auto merged = ends_.extract(first);  // its memory serves the merged range
    ends_.erase(rest, next);
    merged.key() = begin;
    merged.mapped() = last;
    ends_.insert(next, std::move(merged));
  }

  /// Calls visit(range) for every range, in order of address.
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [begin, end] : ends_) {
      visit(Range{begin, static_cast<size_t>(end - begin)});
    }
  }

 private:
  std::map<const std::byte*, const std::byte*> ends_;  // the end of each range, by its beginning
};

}  // namespace holdfast::pmdk_like
