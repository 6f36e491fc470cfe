// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/durability/durability.h"

#include <optional>
#include <string>
#include <utility>

#include "holdfast/check/durability/aftermath.h"
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {
namespace {

std::optional<Finding> unusable(const History& history, const std::vector<uint64_t>& recovered) {
  if (recovered.size() != history.objects) {
    return Finding{"malformed history",
                   std::to_string(recovered.size()) + " recovered words for " +
                       std::to_string(history.objects) + " objects",
                   {}};
  }
  return malformed(history);
}

class Judge {
 public:
  Judge(const History& history, const std::vector<uint64_t>& recovered, bool real_time, size_t most)
      : history_(history),
        versions_(history, recovered),
        aftermath_(versions_, recovered, real_time),
        most_(most) {}

  void check_survivors();
  void check_acknowledged(uint64_t lag_bound);
  void check_observations();

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void add(Finding finding) {
    if (findings_.size() < most_) {
      findings_.push_back(std::move(finding));
    }
  }
  bool updates(uint32_t t) const { return versions_.first(t) != versions_.beyond(t); }
  bool acknowledged(uint32_t t) const { return history_.at(t).outcome == Outcome::committed; }
  static Step lost(uint32_t t, Object object) { return {t, t, EdgeKind::lost, object}; }
  std::vector<Step> why_survived(uint32_t t) const;
  std::vector<Step> why_lost(uint32_t t) const;
  /// Returns the step by which a transaction that threw saw a write that is lost.
  std::optional<Step> saw_lost(uint32_t t) const;
  std::string name(uint32_t t) const { return transaction_name(t, history_); }

  const History& history_;
  VersionTable versions_;
  Aftermath aftermath_;
  const size_t most_;
  std::vector<Finding> findings_;
};

/// Returns the steps from the transaction to a survivor that is shown.
std::vector<Step> Judge::why_survived(uint32_t t) const {
  std::vector<Step> steps;
  for (;;) {
    if (const auto shown = aftermath_.shown(t)) {
      steps.push_back({t, t, EdgeKind::survived, *shown});
      return steps;
    }
    const auto implied = aftermath_.implied(t);
    if (!implied) {
      return steps;
    }
    steps.push_back(*implied);
    t = implied->to;
  }
}

/// Returns the steps from a transaction that is missing to this one.
std::vector<Step> Judge::why_lost(uint32_t t) const {
  std::vector<Step> steps;
  for (;;) {
    if (const auto missing = aftermath_.missing(t)) {
      steps.insert(steps.begin(), lost(t, *missing));
      return steps;
    }
    const auto doomed = aftermath_.doomed(t);
    if (!doomed) {
      return steps;
    }
    steps.insert(steps.begin(), *doomed);
    t = doomed->from;
  }
}

std::optional<Step> Judge::saw_lost(uint32_t t) const {
  for (const Access& access : history_.at(t).accesses) {
    const uint32_t seen = access.kind == Access::Kind::read ? access.version.transaction
                                                            : access.replaced.transaction;
    if (seen != 0 && seen != t && aftermath_.doomed(seen)) {
      return Step{seen, t, EdgeKind::write_read, access.object};
    }
  }
  return {};
}

void Judge::check_survivors() {
  for (const Finding& finding : aftermath_.impossible()) {
    add(finding);
  }
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    const auto missing = aftermath_.missing(t);
    if (aftermath_.shown(t) && missing) {
      std::vector<Step> steps = why_survived(t);
      steps.push_back(lost(t, *missing));
      add({"half a transaction", "a part of " + name(t) + " survived", std::move(steps)});
    }
  }
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    const auto missing = aftermath_.missing(t);
    if (missing && aftermath_.implied(t) && !aftermath_.shown(t)) {
      std::vector<Step> steps = why_survived(t);
      const bool overwritten = steps.front().kind == EdgeKind::write_write;
      const std::string survivor = name(steps.front().to);
      steps.insert(steps.begin(), lost(t, *missing));
      add({overwritten ? "survivors not closed under overwrites"
                       : "survivors not closed under reads-from",
           survivor + " survived, and " + (overwritten ? "overwrote " : "had read from ") +
               name(t) + ", which did not",
           std::move(steps)});
    }
  }
}

void Judge::check_acknowledged(uint64_t lag_bound) {
  std::vector<uint32_t> lost;
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    // Strict: a transaction that is lost only because of its reads is a lost observation.
    if (acknowledged(t) && updates(t) &&
        (lag_bound > 0 ? aftermath_.doomed(t).has_value() : aftermath_.missing(t).has_value())) {
      lost.push_back(t);
    }
  }
  if (lost.size() <= lag_bound) {
    return;
  }
  if (lag_bound == 0) {
    for (const uint32_t t : lost) {
      add({"lost acknowledged update", name(t) + " was acknowledged and is lost", why_lost(t)});
    }
    return;
  }
  Finding finding{"lost acknowledged update",
                  std::to_string(lost.size()) +
                      " acknowledged updates are lost, where the engine may lose " +
                      std::to_string(lag_bound),
                  {}};
  for (size_t i = 0; i <= lag_bound; ++i) {
    for (const Step& step : why_lost(lost[i])) {
      finding.steps.push_back(step);
    }
  }
  add(std::move(finding));
}

void Judge::check_observations() {
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    if (acknowledged(t) && aftermath_.doomed(t) && !aftermath_.missing(t)) {
      add({"lost observation", name(t) + " was answered and had seen what is lost", why_lost(t)});
    } else if (const auto seen = history_.at(t).threw ? saw_lost(t) : std::nullopt) {
      std::vector<Step> steps = why_lost(seen->from);
      steps.push_back(*seen);
      add({"lost observation", name(t) + " threw and had seen what is lost", std::move(steps)});
    }
  }
}

}  // namespace

std::vector<Finding> check_durability(const History& history,
                                      const std::vector<uint64_t>& recovered_words,
                                      Durability promised, uint64_t lag_bound, size_t most,
                                      bool real_time) {
  if (auto fault = unusable(history, recovered_words)) {
    return {*std::move(fault)};
  }
  Judge judge(history, recovered_words, real_time, most);
  judge.check_survivors();
  if (promised != Durability::none) {
    judge.check_acknowledged(promised == Durability::lagging ? lag_bound : 0);
  }
  if (promised == Durability::strict) {
    judge.check_observations();
  }
  return judge.take();
}

Survivors survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                    bool real_time) {
  Survivors result(history.transactions.size() + 1, false);
  result[0] = true;
  if (unusable(history, recovered_words)) {
    return result;
  }
  const VersionTable versions(history, recovered_words);
  Aftermath aftermath(versions, recovered_words, real_time);
  std::vector<uint32_t> acknowledged;
  for (const Transaction& transaction : history.transactions) {
    const uint32_t t = transaction.number;
    if (transaction.outcome == Outcome::committed && !aftermath.doomed(t)) {
      result[t] = true;
      acknowledged.push_back(t);
    }
  }
  aftermath.imply(std::move(acknowledged));
  for (const Transaction& transaction : history.transactions) {
    if (transaction.outcome != Outcome::aborted && aftermath.implied(transaction.number)) {
      result[transaction.number] = true;
    }
  }
  return result;
}

}  // namespace holdfast::check
