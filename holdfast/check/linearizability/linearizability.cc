// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/linearizability/linearizability.h"

#include <algorithm>
#include <map>
#include <utility>

#include "holdfast/base/status.h"
#include "holdfast/check/linearizability/linearization_search.h"

namespace holdfast::check {
namespace {

[[noreturn]] void refuse(const Operation& operation, const std::string& what) {
  throw Error(Status(Code::invalid_argument,
                     "the operation of thread " + std::to_string(operation.thread) +
                         " that begins at " + std::to_string(operation.begin) + " " + what));
}

/// Returns a thread's operations in their order. Each one ends no later than the next one begins.
ThreadSteps in_order(std::vector<const Operation*> operations) {
  std::sort(operations.begin(), operations.end(), [](const Operation* a, const Operation* b) {
    return a->begin != b->begin ? a->begin < b->begin : a < b;  // both point into one vector
  });
  ThreadSteps steps;
  steps.reserve(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = *operations[i];
    uint64_t end = operation.end;
    if (end < operation.begin) {
      refuse(operation, "ends before it begins");
    }
    if (i + 1 < operations.size() && end > operations[i + 1]->begin) {
      if (operation.response) {
        refuse(operation, "overlaps the next one of its thread");
      }
      end = operations[i + 1]->begin;
    }
    steps.push_back({&operation, end});
  }
  return steps;
}

std::vector<ThreadSteps> by_thread(const std::vector<Operation>& operations) {
  std::map<uint32_t, std::vector<const Operation*>> threads;
  for (const Operation& operation : operations) {
    threads[operation.thread].push_back(&operation);
  }
  std::vector<ThreadSteps> all;
  all.reserve(threads.size());
  for (auto& [thread, own] : threads) {
    all.push_back(in_order(std::move(own)));
  }
  return all;
}

/// The part of a history that concerns one key.
struct KeyHistory {
  std::vector<ThreadSteps> threads;
  size_t last_thread = 0;  ///< the thread of threads.back()
  ModelState initial;
  ModelState found;
};

std::map<uint64_t, KeyHistory> by_key(const SequentialModel& model,
                                      const std::vector<ThreadSteps>& threads,
                                      const ModelState& initial, const ModelState* final_state) {
  std::map<uint64_t, KeyHistory> keys;
  for (size_t t = 0; t < threads.size(); ++t) {
    for (const ThreadStep& step : threads[t]) {
      KeyHistory& history = keys[model.key(step.operation->request)];
      if (history.threads.empty() || history.last_thread != t) {
        history.threads.emplace_back();
        history.last_thread = t;
      }
      history.threads.back().push_back(step);
    }
  }
  for (auto& [key, part] : model.split(initial)) {
    keys[key].initial = std::move(part);
  }
  if (final_state != nullptr) {
    for (auto& [key, part] : model.split(*final_state)) {
      keys[key].found = std::move(part);
    }
  }
  return keys;
}

/// Searches without a cut first, then with one lag after the other, so the first explanation loses
/// the fewest operations. With a cut and lag 0 an operation may be lost that was never answered,
/// although another one has seen it.
Linearization search_with_lag(const SequentialModel& model, const ModelState& initial,
                              const std::vector<ThreadSteps>& threads,
                              const ModelState& final_state, LinearizabilityOptions options) {
  size_t operations = 0;
  for (const ThreadSteps& steps : threads) {
    operations += steps.size();
  }
  const uint64_t most = std::min<uint64_t>(options.lag, operations);
  options.lag = 0;
  uint64_t states = 0;
  for (bool may_cut = false;; options.lag += may_cut ? 1 : 0, may_cut = true) {
    Linearization found =
        LinearizationSearch(model, initial, threads, &final_state, options, may_cut).run();
    states += found.states;
    if (found.ok || found.undecided || (may_cut && options.lag == most)) {
      found.states = states;
      found.lost = found.ok ? options.lag : 0;
      return found;
    }
  }
}

}  // namespace

Linearization check_linearizable(const SequentialModel& model, const ModelState& initial,
                                 const std::vector<Operation>& operations,
                                 const ModelState* final_state,
                                 const LinearizabilityOptions& options) {
  const std::vector<ThreadSteps> threads = by_thread(operations);
  if ((options.lag > 0 || !options.observed) && final_state != nullptr) {
    return search_with_lag(model, initial, threads, *final_state, options);
  }
  if (!options.by_key || !options.real_time || !model.independent_keys()) {
    return LinearizationSearch(model, initial, threads, final_state, options).run();
  }
  Linearization whole{.ok = true, .undecided = false, .text = "", .states = 0, .lost = 0};
  for (const auto& [key, history] : by_key(model, threads, initial, final_state)) {
    const ModelState* found = final_state == nullptr ? nullptr : &history.found;
    const Linearization part =
        LinearizationSearch(model, history.initial, history.threads, found, options).run();
    whole.states += part.states;
    if (part.ok || (part.undecided && whole.undecided)) {
      continue;
    }
    whole.ok = false;
    whole.undecided = part.undecided;
    whole.text = "key " + std::to_string(key) + ": " + part.text;
    if (!part.undecided) {
      break;
    }
  }
  return whole;
}

}  // namespace holdfast::check
