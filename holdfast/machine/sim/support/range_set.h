// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace holdfast::sim {

/// A set of disjoint ranges [begin, end) of numbers, for address space.
class RangeSet {
 public:
  bool overlaps(size_t begin, size_t end) const {
    const auto it = first_ending_after(begin);
    return it != ranges_.end() && it->first < end;
  }

  /// True if one range holds all of [begin, end).
  bool contains(size_t begin, size_t end) const {
    const auto it = first_ending_after(begin);
    return it != ranges_.end() && it->first <= begin && end <= it->second;
  }

  /// True if the ranges leave no gap in [begin, end). Several ranges side by side may cover it.
  bool covers(size_t begin, size_t end) const {
    for (auto it = first_ending_after(begin); begin < end; ++it) {
      if (it == ranges_.end() || it->first > begin) {
        return false;
      }
      begin = it->second;
    }
    return true;
  }

  /// The new range must not overlap another.
  void insert(size_t begin, size_t end) { ranges_[begin] = end; }

  /// Removes [begin, end) from all ranges. Calls f(begin, end) for each piece removed.
  template <class F>
  void erase(size_t begin, size_t end, F&& f) {
    auto it = first_ending_after(begin);
    while (it != ranges_.end() && it->first < end) {
      const auto [from, to] = *it;
      it = ranges_.erase(it);
      if (from < begin) {
        ranges_[from] = begin;
      }
      if (to > end) {
        it = ranges_.emplace(end, to).first;
      }
      f(std::max(from, begin), std::min(to, end));
    }
  }

  /// The beginning of the highest n free numbers in [low, high); nothing if there are not so many
  /// in one piece.
  std::optional<size_t> highest_gap(size_t low, size_t high, size_t n) const {
    size_t top = high;
    for (auto it = ranges_.rbegin(); it != ranges_.rend() && top > low; ++it) {
      if (it->second <= top && top - it->second >= n) {
        break;
      }
      top = std::min(top, it->first);
    }
    if (top < low || top - low < n) {
      return std::nullopt;
    }
    return top - n;
  }

 private:
  std::map<size_t, size_t>::const_iterator first_ending_after(size_t begin) const {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second > begin) {
      --it;
    }
    return it;
  }
  std::map<size_t, size_t>::iterator first_ending_after(size_t begin) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second > begin) {
      --it;
    }
    return it;
  }

  std::map<size_t, size_t> ranges_;
};

}  // namespace holdfast::sim
