// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/durability/lost_prefix.h"

#include <algorithm>

namespace holdfast::check {

LostPrefix::LostPrefix(const VersionTable& versions, const Aftermath& aftermath,
                       bool anti_dependencies, bool real_time)
    : versions_(versions),
      aftermath_(aftermath),
      member_(versions.transactions() + 1),
      why_(versions.transactions() + 1) {
  find_members();
  spread(followers(anti_dependencies), real_time);
}

void LostPrefix::find_members() {
  std::vector<uint32_t> pending;
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    const Outcome outcome = versions_.history().at(t).outcome;
    if (outcome == Outcome::committed || (outcome == Outcome::live && aftermath_.implied(t))) {
      member_[t] = true;
      pending.push_back(t);
    }
  }
  while (!pending.empty()) {
    const uint32_t reader = pending.back();
    pending.pop_back();
    for (const Observation& seen : versions_.observations(reader)) {
      const uint32_t writer = is_write(seen.write) ? versions_[seen.write].transaction : 0;
      if (writer != 0 && !member_[writer] &&
          versions_.history().at(writer).outcome == Outcome::live) {
        member_[writer] = true;
        pending.push_back(writer);
      }
    }
  }
}

LostPrefix::Followers LostPrefix::followers(bool anti_dependencies) const {
  const size_t count = versions_.transactions() + 1;
  Followers all{std::vector<std::vector<Step>>(count), std::vector<std::vector<Step>>(count)};
  // By the version that was replaced: by write, and by object for the initial values.
  std::vector<std::vector<uint32_t>> replaced(versions_.size());
  std::vector<std::vector<uint32_t>> replaced_initial(versions_.history().objects);
  for (WriteId id = 0; id < versions_.size(); ++id) {
    const Write& write = versions_[id];
    if (write.last && member_[write.transaction]) {
      if (write.previous == kInitial) {
        replaced_initial[write.object].push_back(write.transaction);
      } else if (is_write(write.previous)) {
        replaced[write.previous].push_back(write.transaction);
      }
    }
  }
  for (uint32_t t = 1; t < count; ++t) {
    for (const Observation& seen : versions_.observations(t)) {
      if (!member_[t]) {
        break;
      }
      if (is_write(seen.write)) {
        const uint32_t writer = versions_[seen.write].transaction;
        all.by_value[writer].push_back({writer, t, EdgeKind::write_read, seen.object});
      }
      if (anti_dependencies && (is_write(seen.write) || seen.write == kInitial)) {
        const auto& others =
            is_write(seen.write) ? replaced[seen.write] : replaced_initial[seen.object];
        for (const uint32_t other : others) {
          if (other != t) {
            all.by_read[t].push_back({t, other, EdgeKind::read_write, seen.object});
          }
        }
      }
    }
  }
  return all;
}

void LostPrefix::mark(Step step) {
  if (!why_[step.to]) {
    why_[step.to] = step;
    pending_.push_back(step.to);
  }
}

void LostPrefix::spread(const Followers& followers, bool real_time) {
  const History& history = versions_.history();
  std::vector<uint32_t> by_begin;  // the latest at the end, to be taken from there
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    if (member_[t]) {
      by_begin.push_back(t);
    }
  }
  std::vector<std::vector<uint32_t>> by_thread;
  for (const uint32_t t : by_begin) {
    by_thread.resize(std::max<size_t>(by_thread.size(), history.at(t).thread + 1));
    by_thread[history.at(t).thread].push_back(t);
  }
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return history.at(a).begin < history.at(b).begin;
  };
  std::stable_sort(by_begin.begin(), by_begin.end(), earlier);
  for (auto& own : by_thread) {
    std::stable_sort(own.begin(), own.end(), earlier);
  }
  /// Marks those that began after the transaction had ended, each one once.
  const auto take_later = [&](std::vector<uint32_t>& order, uint32_t t) {
    while (!order.empty() && history.at(order.back()).begin > history.at(t).end) {
      mark({t, order.back(), EdgeKind::real_time, 0});
      order.pop_back();
    }
  };
  for (uint32_t t = 1; t <= versions_.transactions(); ++t) {
    if (const auto object = aftermath_.missing(t)) {
      mark({t, t, EdgeKind::lost, *object});
    }
  }
  while (!pending_.empty()) {
    const uint32_t t = pending_.back();
    pending_.pop_back();
    for (const Step& step : followers.by_value[t]) {
      mark(step);
    }
    if (!member_[t]) {
      continue;
    }
    for (const Step& step : followers.by_read[t]) {
      mark(step);
    }
    if (real_time) {
      take_later(by_begin, t);
    } else {
      take_later(by_thread[history.at(t).thread], t);
    }
  }
}

std::vector<Step> LostPrefix::why(uint32_t transaction) const {
  std::vector<Step> steps;
  for (uint32_t t = transaction; why_[t]; t = why_[t]->from) {
    steps.insert(steps.begin(), *why_[t]);
    if (why_[t]->from == t) {
      break;
    }
  }
  return steps;
}

std::optional<Step> LostPrefix::last_step(uint32_t transaction) const {
  const std::optional<Step> step = why_[transaction];
  return step && step->from != step->to ? step : std::nullopt;
}

}  // namespace holdfast::check
