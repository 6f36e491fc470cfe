// SPDX-License-Identifier: Apache-2.0
//
// Histories of operations for the tests of the linearizability checker: by hand, and by playing
// clients of a model.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/check/linearizability/linearizability.h"
#include "holdfast/workloads/bank/bank_model.h"
#include "holdfast/workloads/parts/keyed_model.h"
#include "holdfast/workloads/ring/ring_model.h"

namespace holdfast::check {

inline constexpr uint64_t kTrue = 1;
inline constexpr uint64_t kFalse = 0;

inline Request look_up(uint64_t key) {
  return {KeyedModel::kLookUp, {key}};
}
inline Request add(uint64_t key, uint64_t value) {
  return {KeyedModel::kAdd, {key, value}};
}
inline Request erase(uint64_t key) {
  return {KeyedModel::kErase, {key}};
}
inline Request transfer(uint64_t from, uint64_t to, uint64_t most) {
  return {BankModel::kTransfer, {from, to, most}};
}
inline Request audit() {
  return {BankModel::kAudit, {}};
}
inline Request swap_behind(uint64_t a) {
  return {RingModel::kSwap, {a}};
}
inline Request move_behind(uint64_t a, uint64_t to) {
  return {RingModel::kMove, {a, to}};
}
inline Request walk() {
  return {RingModel::kWalk, {}};
}

/// The answer of an audit or a walk of this state.
inline Response seen(const SequentialModel& model, const Request& request, ModelState state) {
  return model.apply(request, state);
}

/// Plays clients that take turns at random. Each operation takes effect at one moment between its
/// begin and its end, so the history is linearizable. The power fails after so many answers, and
/// leaves some operations unanswered.
struct Played {
  std::vector<Operation> operations;
  ModelState final_state;
};
inline Played play(const SequentialModel& model, const ModelState& initial, uint32_t threads,
                   size_t operations, Random& random, const std::function<Request(Random&)>& draw) {
  enum class Stage { idle, asked, done };
  struct Client {
    Stage stage = Stage::idle;
    size_t operation = 0;
    Response told = {};
  };
  std::vector<Client> clients(threads);
  Played played{{}, initial};
  uint64_t clock = 0;
  size_t answered = 0;
  while (answered < operations) {
    const auto t = static_cast<uint32_t>(random.below(threads));
    Client& client = clients[t];
    ++clock;
    if (client.stage == Stage::idle) {
      client.operation = played.operations.size();
      played.operations.push_back({t, clock, kForever, draw(random), std::nullopt});
      client.stage = Stage::asked;
    } else if (client.stage == Stage::asked) {
      client.told = model.apply(played.operations[client.operation].request, played.final_state);
      client.stage = Stage::done;
    } else {
      played.operations[client.operation].end = clock;
      played.operations[client.operation].response = client.told;
      client.stage = Stage::idle;
      ++answered;
    }
  }
  return played;
}

/// Answers the checker's question by brute force: tries every order of every subset that contains
/// all answered operations. For up to six operations.
inline bool explained_by_brute_force(const SequentialModel& model, const ModelState& initial,
                                     const std::vector<Operation>& operations,
                                     const ModelState* final_state, bool real_time) {
  const size_t n = operations.size();
  // An unanswered operation ends when its thread begins the next one.
  std::vector<uint64_t> end;
  for (const Operation& o : operations) {
    end.push_back(o.end);
    for (const Operation& later : operations) {
      if (later.thread == o.thread && later.begin > o.begin) {
        end.back() = std::min(end.back(), later.begin);
      }
    }
  }
  const auto before = [&](size_t a, size_t b) {
    return (real_time && end[a] < operations[b].begin) ||
           (operations[a].thread == operations[b].thread &&
            operations[a].begin < operations[b].begin);
  };
  const auto fits = [&](const std::vector<size_t>& order) {
    ModelState state = initial;
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (before(order[i], order[j])) {
          return false;
        }
      }
      const Operation& o = operations[order[i]];
      const Response told = model.apply(o.request, state);
      if (o.response && *o.response != told) {
        return false;
      }
    }
    return final_state == nullptr || state == *final_state;
  };
  for (size_t subset = 0; subset < size_t{1} << n; ++subset) {
    std::vector<size_t> order;
    bool complete = true;
    for (size_t i = 0; i < n; ++i) {
      if ((subset >> i & 1) != 0) {
        order.push_back(i);
      } else {
        complete = complete && !operations[i].response;
      }
    }
    if (!complete) {
      continue;
    }
    do {
      if (fits(order)) {
        return true;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return false;
}

}  // namespace holdfast::check
