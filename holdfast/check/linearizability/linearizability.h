// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a sequential order explains the answers that the clients of a structure got,
// before and after a crash.
//
// Without a crash this is linearizability (Herlihy and Wing 1990). With the state found after
// recovery it is durable linearizability (Izraelevitz, Mendes and Scott 2016). An operation that
// was answered took effect and survives. An operation without an answer took effect completely or
// not at all.
//
// With durability that lags, the state found is that after a prefix of the order. The operations
// behind the prefix were answered, so they are part of the order, and were lost.
//
// The search is that of Wing and Gong (1993): it tries every operation that may come next, and goes
// back where none fits. Like Lowe (2017) it remembers the sets of operations and the states that it
// has visited. Threads are sequential, so a set is one position per thread. If the model's keys are
// independent, each key is searched separately.
//
// Cost: at worst exponential in the number of overlapping operations that change the state and do
// not show their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/history/history.h"
#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast::check {

/// A client's request and its answer. Times are counts of events, as in Transaction.
struct Operation {
  uint32_t thread = 0;
  uint64_t begin = 0;
  /// The time of the answer. Without an answer: the latest time at which the operation may have
  /// taken effect, kForever or the time of the crash. The next operation of its thread ends it in
  /// any case.
  uint64_t end = kForever;
  Request request;
  std::optional<Response> response;  ///< none: never answered
  bool durable = false;              ///< with a lag: must survive all the same, once answered
};

/// How a history is searched.
struct LinearizabilityOptions {
  /// An operation that was answered before another one began comes before it. If false, only the
  /// order within a thread counts (sequential consistency). That property does not follow from the
  /// keys' separately, so the history is then searched as a whole.
  bool real_time = true;
  /// Search each key separately if the model allows it and real_time is true.
  bool by_key = true;
  /// Answered operations have seen nothing that is lost (Promise::observed). If false, an operation
  /// without an answer may be lost although an answered one that changed nothing has seen it. With
  /// a final state the history is then searched as a whole.
  bool observed = true;
  /// The most pairs of a set of operations and a state that one search keeps, of about 60 bytes
  /// each. Beyond it the history, or the key, is undecided.
  uint64_t max_states = 4'000'000;
  /// The final state may be that after a prefix of the order, which lacks at most so many answered
  /// operations that change the state (durability that lags). With a lag the history is searched as
  /// a whole.
  uint64_t lag = 0;
};

/// The result of a search.
struct Linearization {
  bool ok = false;         ///< there is an order (for every key)
  bool undecided = false;  ///< a search reached max_states, and none found a violation; not ok
  /// Unless ok: the longest partial order that fits, the operations that cannot follow it, and the
  /// reason.
  std::string text;
  uint64_t states = 0;  ///< states visited in all searches
  uint64_t lost = 0;    ///< the fewest answered operations that the final state can lack
};

/// Searches for an order of the operations. `final_state`, unless null, is the structure's content
/// after all of them. Throws Error(invalid_argument) if operations of a thread overlap.
Linearization check_linearizable(const SequentialModel& model, const ModelState& initial,
                                 const std::vector<Operation>& operations,
                                 const ModelState* final_state,
                                 const LinearizabilityOptions& options = {});

}  // namespace holdfast::check
