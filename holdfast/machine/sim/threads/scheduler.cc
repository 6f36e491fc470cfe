// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/threads/scheduler.h"

#include <algorithm>

namespace holdfast {

bool ScheduleExplorer::next() {
  if (diverged_ || position_ < trail_.size()) {
    throw Error(Status(
        Code::misuse, "schedule " + std::to_string(schedules_) +
                          " was not followed: the program must depend on nothing but the schedule, "
                          "and run once, on a machine of its own, after each next()"));
  }
  if (schedules_ != 0) {
    while (!trail_.empty() && trail_.back().taken + 1 == trail_.back().options) {
      trail_.pop_back();
    }
    if (trail_.empty()) {
      return false;
    }
    ++trail_.back().taken;
  }
  position_ = 0;
  preemptions_ = bounds_.preemptions;
  drains_ = bounds_.drains;
  delays_ = bounds_.delays.value_or(0);
  ++schedules_;
  return true;
}

size_t ScheduleExplorer::choose(size_t options) {
  if (options == 1) {
    return 0;
  }
  if (position_ == trail_.size()) {
    trail_.push_back({0, options});
  }
  const Decision& decision = trail_[position_++];
  if (decision.options != options) {
    diverged_ = true;  // next() throws; an exception here could leave a thread that has ended
    return 0;
  }
  return decision.taken;
}

std::string ScheduleExplorer::text() const {
  std::string text = "schedule " + std::to_string(schedules_) + ":";
  for (size_t i = 0, same = 0; i < trail_.size(); i += same) {
    const Decision& d = trail_[i];
    same = 1;
    while (i + same < trail_.size() && trail_[i + same].taken == d.taken &&
           trail_[i + same].options == d.options) {
      ++same;
    }
    text += ' ' + std::to_string(d.taken) + '/' + std::to_string(d.options);
    if (same > 1) {
      text += " x" + std::to_string(same);
    }
  }
  return text;
}

namespace sim {
namespace {

uint64_t threshold(double probability) {
  return static_cast<uint64_t>(std::clamp(probability, 0.0, 1.0) * 0x1p32);
}

/// The members in the order of their slots. The order of an IndexSet depends on its history.
std::vector<int> sorted(const IndexSet& set) {
  std::vector<int> slots;
  slots.reserve(set.size());
  for (size_t i = 0; i < set.size(); ++i) {
    slots.push_back(set.at(i));
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

}  // namespace

// ---- random

RandomScheduler::RandomScheduler(const SimOptions& options)
    : random_(options.seed),
      switch_below_{threshold(options.switch_probability),
                    threshold(options.odd_switch_probability.value_or(options.switch_probability))},
      drain_below_(threshold(options.drain_probability)) {}

Choice RandomScheduler::next(const Agents& agents) {
  const uint64_t coins = random_.next();
  const bool stuck = agents.runnable.empty();
  if (!agents.buffered.empty() && (stuck || (coins >> 32) < drain_below_)) {
    return {Choice::Kind::drain, agents.buffered.at(random_.below(agents.buffered.size()))};
  }
  const uint64_t low = coins & 0xffff'ffff;
  if (agents.current >= 0 && !agents.yielding &&
      low >= switch_below_[static_cast<size_t>(agents.current) % 2]) {
    return {Choice::Kind::stay, agents.current};
  }
  const int chosen = agents.runnable.at(random_.below(agents.runnable.size()));
  return {chosen == agents.current ? Choice::Kind::stay : Choice::Kind::run, chosen};
}

// ---- exhaustive

Choice ExhaustiveScheduler::next(const Agents& agents) {
  // A thread that was just chosen has done nothing since. Another choice here would find each
  // schedule twice.
  const bool first_point = agents.current >= 0 && agents.current == fresh_;
  fresh_ = -1;
  if (first_point && !agents.yielding) {
    return {Choice::Kind::stay, agents.current};
  }
  options_.clear();
  if (agents.current < 0) {
    list_all(agents);
  } else if (agents.yielding) {
    list_for_yielding(agents);
  } else {
    list_for_running(agents);
  }
  return follow(options_[explorer_->choose(options_.size()) % options_.size()], agents);
}

/// The current thread cannot continue. All agents are options, and none counts against the bounds.
void ExhaustiveScheduler::list_all(const Agents& agents) {
  for (const int slot : sorted(agents.runnable)) {
    options_.push_back({{Choice::Kind::run, slot}});
  }
  list_drains(agents, false);
}

void ExhaustiveScheduler::list_for_running(const Agents& agents) {
  options_.push_back({{Choice::Kind::stay, agents.current}});
  if (explorer_->may_preempt()) {
    for (const int slot : sorted(agents.runnable)) {
      if (slot != agents.current) {
        options_.push_back({{Choice::Kind::run, slot}, true});
      }
    }
  }
  list_drains(agents, true);
}

/// A thread that pauses waits for another one, so the next one in the order of slots runs. Once all
/// have paused, stores become visible, so that every loop of pauses ends.
void ExhaustiveScheduler::list_for_yielding(const Agents& agents) {
  if (++pauses_ > agents.runnable.size() && !agents.buffered.empty()) {
    list_drains(agents, false);
    return;
  }
  std::vector<int> slots = sorted(agents.runnable);
  std::rotate(slots.begin(), std::upper_bound(slots.begin(), slots.end(), agents.current),
              slots.end());  // its own slot comes last
  bool next = true;
  for (const int slot : slots) {
    if (next || (slot != agents.current && explorer_->may_preempt())) {
      const auto kind = slot == agents.current ? Choice::Kind::stay : Choice::Kind::run;
      options_.push_back({{kind, slot}, !next});
    }
    next = false;
  }
  list_drains(agents, false);
}

/// Where drains are free, it is also free to empty one buffer after another. To change to another
/// buffer before one is empty counts. Otherwise threads that end with full buffers would multiply
/// the schedules and find little.
void ExhaustiveScheduler::list_drains(const Agents& agents, bool counted) {
  const bool midway = draining_ >= 0 && agents.buffered.contains(draining_);
  for (const int slot : sorted(agents.buffered)) {
    const bool counts = counted || (midway && slot != draining_);
    if (!counts || explorer_->may_drain()) {
      options_.push_back({{Choice::Kind::drain, slot}, false, counts});
    }
  }
}

Choice ExhaustiveScheduler::follow(const Option& option, const Agents& agents) {
  if (option.preempts) {
    explorer_->preempted();
  }
  if (option.drains) {
    explorer_->drained();
  }
  const auto slot = static_cast<size_t>(option.choice.slot);
  draining_ = option.choice.kind == Choice::Kind::drain ? option.choice.slot : -1;
  if (option.choice.kind == Choice::Kind::drain) {
    pauses_ = 0;
  } else if (option.choice.kind == Choice::Kind::run) {
    if (agents.current >= 0) {
      parked_[static_cast<size_t>(agents.current)] = true;
    }
    fresh_ = parked_[slot] ? -1 : option.choice.slot;
    parked_[slot] = false;
  }
  return option.choice;
}

// ---- delay-bounded

Choice DelayBoundedScheduler::next(const Agents& agents) {
  turn_ = agents.current >= 0 ? agents.current : turn_;
  const bool waits = agents.current < 0 || agents.yielding;
  if (waits && !agents.buffered.empty()) {
    return {Choice::Kind::drain, sorted(agents.buffered).front()};
  }
  const std::vector<int> slots = sorted(agents.runnable);
  const auto after = std::upper_bound(slots.begin(), slots.end(), turn_);
  const int following = after == slots.end() ? slots.front() : *after;
  if (!waits) {
    const bool may_delay = following != agents.current && explorer_->may_delay();
    if (explorer_->choose(may_delay ? 2 : 1) == 0) {
      return {Choice::Kind::stay, agents.current};
    }
    explorer_->delayed();
  }
  turn_ = following;
  return {following == agents.current ? Choice::Kind::stay : Choice::Kind::run, following};
}

std::unique_ptr<Scheduler> make_scheduler(const SimOptions& options, size_t slots) {
  if (options.schedule == Schedule::exhaustive && options.explorer->takes_turns()) {
    return std::make_unique<DelayBoundedScheduler>(options.explorer);
  }
  if (options.schedule == Schedule::exhaustive) {
    return std::make_unique<ExhaustiveScheduler>(options.explorer, slots);
  }
  return std::make_unique<RandomScheduler>(options);
}

}  // namespace sim
}  // namespace holdfast
