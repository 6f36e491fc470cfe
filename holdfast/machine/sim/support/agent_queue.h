// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sim {

/// Simulated time in picoseconds.
using Time = uint64_t;

/// The agents that will act in virtual time; the one with the smallest (time, number) acts next.
///
/// Each slot has two agents, its store buffer and its thread. At one instant buffers act before
/// threads, and lower slots before higher ones. So a thread that waits until its buffer's last
/// store leaves finds the buffer empty.
///
/// A winner tree: the next agent is at the root, and a change climbs only while it changes a
/// winner.
class AgentQueue {
 public:
  static constexpr uint64_t kNobody = ~uint64_t{0};

  explicit AgentQueue(size_t slots) : slots_(slots), tree_(4 * slots, kNobody) {}

  size_t buffer(int slot) const { return static_cast<size_t>(slot); }
  size_t thread(int slot) const { return slots_ + static_cast<size_t>(slot); }
  bool is_buffer(size_t agent) const { return agent < slots_; }
  int slot(size_t agent) const {
    return static_cast<int>(is_buffer(agent) ? agent : agent - slots_);
  }

  /// Time and agent as one number. Smaller keys act first.
  static uint64_t key(Time time, size_t agent) { return time << 8 | agent; }
  static Time time(uint64_t key) { return key >> 8; }
  static size_t agent(uint64_t key) { return key & 0xff; }

  /// The key of the next agent, or kNobody.
  uint64_t first() const { return tree_[1]; }
  bool contains(size_t agent) const { return tree_[agent + 2 * slots_] != kNobody; }
  void put(size_t agent, Time at) { set(agent, key(at, agent)); }
  void remove(size_t agent) { set(agent, kNobody); }
  void clear() { std::fill(tree_.begin(), tree_.end(), kNobody); }

 private:
  void set(size_t agent, uint64_t its_key) {
    size_t i = agent + 2 * slots_;
    tree_[i] = its_key;
    while (i > 1) {
      i /= 2;
      const uint64_t best = std::min(tree_[2 * i], tree_[2 * i + 1]);
      if (tree_[i] == best) {
        return;
      }
      tree_[i] = best;
    }
  }

  size_t slots_;
  std::vector<uint64_t>
      tree_;  ///< node i has the children 2i and 2i + 1; leaves from 2 * slots_ on
};

}  // namespace holdfast::sim
