// SPDX-License-Identifier: Apache-2.0
//
// The search for a sequential order of operations (linearizability.h).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "holdfast/check/linearizability/linearizability.h"

namespace holdfast::check {

/// An operation with its end, no later than the begin of its thread's next operation.
struct ThreadStep {
  const Operation* operation;
  uint64_t end;
};
/// The operations of a thread, in order.
using ThreadSteps = std::vector<ThreadStep>;

/// One search. It walks a tree of nodes: a node is a set of operations, in an order that explains
/// their answers, and the state after them.
///
/// Thread safety: one thread.
class LinearizationSearch {
 public:
  /// `final_state` may be null. may_cut: it may be the state after a prefix of the order. The
  /// arguments must outlive the search.
  LinearizationSearch(const SequentialModel& model, const ModelState& initial,
                      const std::vector<ThreadSteps>& threads, const ModelState* final_state,
                      const LinearizabilityOptions& options, bool may_cut = false);

  Linearization run();

 private:
  /// A decision on the next operation of a thread: it takes effect now, or never. An operation with
  /// an answer must take effect.
  struct Move {
    uint32_t thread;
    bool takes_effect;
  };
  /// The thread of the move that ends the prefix that survived. It moves no thread.
  static constexpr uint32_t kCut = ~uint32_t{0};
  /// The part of the state that a move has replaced: some words, or all of it if the size changed.
  struct Undo {
    std::vector<std::pair<size_t, uint64_t>> words;
    ModelState whole;
    bool resized = false;
  };
  /// A decision on the path to the present node.
  struct Level {
    Move move;
    const Operation* operation;  ///< null for the cut
    Undo undo;
    bool lost = false;  ///< an answered change behind the cut
  };
  /// How far a node is from an explanation; the smaller the better. It compares the number of
  /// answered operations left, then of words that differ from the final state, then of operations
  /// that took effect.
  struct Distance {
    size_t left = ~size_t{0};
    size_t words = 0;
    size_t effects = 0;
    friend auto operator<=>(const Distance&, const Distance&) = default;
  };
  struct DeadEnd {
    Distance distance = {};
    size_t effects = 0;
    std::vector<const Operation*> path;  ///< the last operations that took effect
    std::vector<uint32_t> position;
    ModelState state;
  };
  struct Key {
    uint64_t low, high;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.low; }
  };

  const ThreadStep* next(size_t thread) const {
    const uint32_t at = position_[thread];
    return at < threads_[thread].size() ? &threads_[thread][at] : nullptr;
  }
  bool explained() const;
  void collect_moves();
  bool advance();
  std::optional<Move> free_move();
  bool enter(Move move);
  bool enter_cut();
  bool unseen();
  void restore(const Undo& undo);
  void leave();
  Distance distance() const;
  void note_dead_end();
  std::string finding();
  std::string describe(const Operation& operation) const;
  std::string describe_path() const;
  std::string describe_rest();
  std::string describe_difference() const;

  const SequentialModel& model_;
  const std::vector<ThreadSteps>& threads_;
  const ModelState* final_state_;
  const LinearizabilityOptions& options_;
  const bool may_cut_;

  // The present node, and the path to it.
  std::vector<uint32_t> position_;
  ModelState state_;
  std::vector<Level> levels_;
  std::vector<size_t> tried_;  ///< moves tried, at the first node and after each level
  size_t left_ = 0;            ///< answered operations that are not in the order yet
  size_t effects_ = 0;         ///< operations in the order that took effect

  bool cut_ = false;  ///< the present order goes beyond the prefix that survived
  size_t lost_ = 0;   ///< answered changes behind the cut

  std::unordered_set<Key, KeyHash> seen_;
  std::vector<Move> moves_;  ///< possible moves at the present node, the likeliest first
  ModelState before_;
  DeadEnd best_;  ///< the best dead end so far, for the finding
};

}  // namespace holdfast::check
