// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace holdfast::sim {

/// A set of small numbers. insert(), erase() and at() take constant time. The order of the members
/// depends only on the operations so far, so a choice by a seeded random number is deterministic.
class IndexSet {
 public:
  explicit IndexSet(size_t limit) : position_(limit, -1) { members_.reserve(limit); }

  bool contains(int x) const { return position_[static_cast<size_t>(x)] >= 0; }
  bool empty() const { return members_.empty(); }
  size_t size() const { return members_.size(); }
  int at(size_t i) const { return members_[i]; }

  void insert(int x) {
    if (!contains(x)) {
      position_[static_cast<size_t>(x)] = static_cast<int>(members_.size());
      members_.push_back(x);
    }
  }

  void erase(int x) {
    const int at = position_[static_cast<size_t>(x)];
    if (at >= 0) {
      const int last = members_.back();
      members_[static_cast<size_t>(at)] = last;
      position_[static_cast<size_t>(last)] = at;
      position_[static_cast<size_t>(x)] = -1;
      members_.pop_back();
    }
  }

  void clear() {
    while (!empty()) {
      erase(members_.back());
    }
  }

 private:
  std::vector<int> members_;
  std::vector<int> position_;  ///< by number: its index in members_, or -1
};

}  // namespace holdfast::sim
