// SPDX-License-Identifier: Apache-2.0
//
// Was what the clients of a structure were told, before and after a crash, explained by some
// sequential order? Linearizability (Herlihy and Wing 1990) and, with the state found after
// recovery, durable linearizability (Izraelevitz, Mendes and Scott 2016): what was answered took
// effect and survives, what was not answered took effect completely or not at all.
//
// The search is Wing and Gong's (1993): try every operation that may come next, go back where
// nothing fits; with Lowe's memory (2017) of the sets of operations and states met before. A set is
// written as one position per thread, since threads are sequential. Where the model's keys are
// independent each key is searched alone. What it costs depends on how many operations overlap that
// change the state and do not show in which order: exponential in their number at worst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/history/history.h"
#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast::check {

/// What one client asked and was told. Times are counts of events, as in Transaction.
struct Operation {
  uint32_t thread = 0;
  uint64_t begin = 0;
  /// No later than the answer. Without an answer: until when it may have taken effect, kForever or
  /// the time of the crash; its thread's next operation ends it in any case.
  uint64_t end = kForever;
  Request request;
  std::optional<Response> response;  ///< none: never answered
};

struct LinearizabilityOptions {
  /// An operation that was answered before another one began comes first. Off: only within a thread
  /// (sequential consistency), which keys do not have one by one, so the history is searched whole.
  bool real_time = true;
  /// Search each key alone where the model allows it and real_time is on.
  bool by_key = true;
  /// Most pairs of a set of operations and a state that one search keeps, about 60 bytes each;
  /// beyond, the history (or key) is undecided.
  uint64_t max_states = 4'000'000;
};

struct Linearization {
  bool ok = false;         ///< an order was found (for every key)
  bool undecided = false;  ///< max_states was reached and no violation found; not ok
  /// Unless ok: the longest explanation that there is, the operations that cannot follow it, and
  /// why.
  std::string text;
  uint64_t states = 0;  ///< visited, in all searches
};

/// `final_state`, if given, is what the structure contains after all of it. Throws
/// Error(invalid_argument) when the operations of a thread overlap.
Linearization check_linearizable(const SequentialModel& model, const ModelState& initial,
                                 const std::vector<Operation>& operations,
                                 const ModelState* final_state,
                                 const LinearizabilityOptions& options = {});

}  // namespace holdfast::check
