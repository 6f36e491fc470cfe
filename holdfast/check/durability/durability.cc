// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/durability/durability.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/check/durability/aftermath.h"
#include "holdfast/check/durability/lost_prefix.h"
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

bool some_commit_later(const History& history) {
  return std::any_of(history.transactions.begin(), history.transactions.end(),
                     [](const Transaction& t) { return t.commit == Commit::later; });
}

class Judge {
 public:
  Judge(const History& history, const std::vector<uint64_t>& recovered,
        const DurabilityOptions& options)
      : history_(history),
        versions_(history, recovered),
        aftermath_(versions_, recovered, options.real_time),
        options_(options) {}

  void check_survivors();
  void check_acknowledged();
  void check_observations();
  void check_prefix(const Promise& promised);
  uint64_t lost_updates() const { return lost_updates(prefix()).size(); }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void add(Finding finding) {
    if (findings_.size() < options_.most) {
      findings_.push_back(std::move(finding));
    }
  }
  bool updates(uint32_t t) const { return versions_.first(t) != versions_.beyond(t); }
  bool acknowledged(uint32_t t) const { return history_.at(t).outcome == Outcome::committed; }
  static Step lost(uint32_t t, Object object) { return {t, t, EdgeKind::lost, object}; }
  std::vector<Step> why_survived(uint32_t t) const;
  std::vector<Step> why_lost(uint32_t t) const;
  LostPrefix prefix() const {
    return {versions_, aftermath_, options_.isolation == Isolation::opaque, options_.real_time};
  }
  std::vector<uint32_t> lost_updates(const LostPrefix& prefix) const;
  const char* not_closed_under(const Step& step) const;
  /// Returns the step by which a transaction that threw saw a write that is lost.
  std::optional<Step> saw_lost(uint32_t t) const;
  std::string name(uint32_t t) const { return transaction_name(t, history_); }

  const History& history_;
  VersionTable versions_;
  Aftermath aftermath_;
  const DurabilityOptions options_;
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

void Judge::check_acknowledged() {
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    // A transaction that is lost only because of its reads is a lost observation.
    if (acknowledged(t) && updates(t) && aftermath_.missing(t)) {
      add({"lost acknowledged update", name(t) + " was acknowledged and is lost", why_lost(t)});
    }
  }
}

std::vector<uint32_t> Judge::lost_updates(const LostPrefix& prefix) const {
  std::vector<uint32_t> lost;
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    if (acknowledged(t) && updates(t) && prefix.lost(t)) {
      lost.push_back(t);
    }
  }
  return lost;
}

/// Names the order that the step belongs to.
const char* Judge::not_closed_under(const Step& step) const {
  switch (step.kind) {
    case EdgeKind::real_time:
      return history_.at(step.from).thread == history_.at(step.to).thread
                 ? "survivors not closed under a thread's order"
                 : "survivors not closed under real time";
    case EdgeKind::read_write:
      return "survivors not closed under anti-dependencies";
    default:
      return "survivors not closed under reads-from";
  }
}

void Judge::check_prefix(const Promise& promised) {
  const LostPrefix prefix = this->prefix();
  const auto durable = [&](uint32_t t) {
    const Commit commit = history_.at(t).commit;
    return promised.floor && acknowledged(t) &&
           (commit == Commit::durable ||
            (commit == Commit::unsaid && promised.durability == Durability::strict &&
             !history_.at(t).read_only));
  };
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    const std::optional<Step> last = prefix.last_step(t);
    if (durable(t) && prefix.lost(t)) {
      add({last ? "lost before a durable commit" : "lost durable commit",
           name(t) + " was acknowledged as durable" +
               (last ? ", and came later than what is missing" : " and is missing"),
           prefix.why(t)});
    } else if (prefix.lost(t) && acknowledged(t) && history_.at(t).end <= options_.floor) {
      add({"lost below the floor",
           name(t) + " was answered before the floor" +
               (last ? ", and came later than what is missing" : " and is missing"),
           prefix.why(t)});
    } else if (last && aftermath_.implied(t)) {
      std::vector<Step> steps = prefix.why(t);
      const std::vector<Step> survived = why_survived(t);
      steps.insert(steps.end(), survived.begin(), survived.end());
      add({not_closed_under(*last), name(t) + " survived, and came later than what is missing",
           std::move(steps)});
    }
  }
  const std::vector<uint32_t> lost = lost_updates(prefix);
  if (lost.size() <= promised.bound) {
    return;
  }
  Finding finding{"lost acknowledged update",
                  std::to_string(lost.size()) +
                      " acknowledged updates are lost, where the engine may lose " +
                      std::to_string(promised.bound),
                  {}};
  for (size_t i = 0; i <= promised.bound; ++i) {
    for (const Step& step : prefix.why(lost[i])) {
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

/// Returns the survivors that the words prove; with `promised`, also those that were acknowledged.
Survivors find_survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                         bool real_time, bool promised) {
  Survivors result(history.transactions.size() + 1, false);
  result[0] = true;
  if (unusable(history, recovered_words)) {
    return result;
  }
  const VersionTable versions(history, recovered_words);
  Aftermath aftermath(versions, recovered_words, real_time);
  if (promised) {
    std::vector<uint32_t> acknowledged;
    for (const Transaction& transaction : history.transactions) {
      const uint32_t t = transaction.number;
      if (transaction.outcome == Outcome::committed && !aftermath.doomed(t)) {
        result[t] = true;
        acknowledged.push_back(t);
      }
    }
    aftermath.imply(std::move(acknowledged));
  }
  for (const Transaction& transaction : history.transactions) {
    if (transaction.outcome != Outcome::aborted && aftermath.implied(transaction.number)) {
      result[transaction.number] = true;
    }
  }
  return result;
}

}  // namespace

std::vector<Finding> check_durability(const History& history,
                                      const std::vector<uint64_t>& recovered_words,
                                      const Promise& promised, const DurabilityOptions& options) {
  if (auto fault = unusable(history, recovered_words)) {
    return {*std::move(fault)};
  }
  Judge judge(history, recovered_words, options);
  judge.check_survivors();
  if (promised.durability == Durability::lagging || some_commit_later(history)) {
    judge.check_prefix(promised);
  } else if (promised.durability == Durability::strict) {
    judge.check_acknowledged();
    if (promised.observed) {
      judge.check_observations();
    }
  }
  return judge.take();
}

uint64_t lost_updates(const History& history, const std::vector<uint64_t>& recovered_words,
                      const DurabilityOptions& options) {
  return unusable(history, recovered_words)
             ? 0
             : Judge(history, recovered_words, options).lost_updates();
}

Survivors survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                    bool real_time) {
  return find_survivors(history, recovered_words, real_time, /*promised=*/true);
}

Survivors proven_survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                           bool real_time) {
  return find_survivors(history, recovered_words, real_time, /*promised=*/false);
}

}  // namespace holdfast::check
