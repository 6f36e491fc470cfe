// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/support/index_set.h"

namespace holdfast {

/// How far an exhaustive search goes: choices of one schedule that cost something.
struct ScheduleBounds {
  int preemptions = 2;  ///< switches away from a thread that could go on
  int drains = 2;       ///< stores made visible while a thread could go on, or between another's
  /// Instead of both: threads take turns, each until it ends, waits or is delayed, at most so often
  /// in a schedule; then its turn comes last (delay bounding: Emmi, Qadeer and Rakamaric, POPL
  /// 2011). Far fewer schedules, so that longer programs can be searched.
  std::optional<int> delays = {};
};

/// Hands out the schedules of a small program one after the other, until there are no more. The
/// program runs from the beginning each time, on a fresh machine, and must do the same whenever the
/// schedule is the same.
///
///   auto explorer = std::make_shared<ScheduleExplorer>(ScheduleBounds{});
///   while (explorer->next()) {
///     SimMachine machine({.schedule = Schedule::exhaustive, .explorer = explorer});
///     ... the program; one that shows a bug is told by text() ...
///   }
///
/// All schedules within the bounds are found, each once (with several delays some twice). What
/// preemptions and drains do not count: who goes on when a thread has ended or waits, and which
/// stores become visible then; and that a thread that pauses lets the next one run.
class ScheduleExplorer {
 public:
  explicit ScheduleExplorer(const ScheduleBounds& bounds) : bounds_(bounds) {}

  /// Prepares the next run. False: there was none left. Throws Error(misuse) when the run before
  /// did not follow its script, because its program depends on something else than the schedule.
  bool next();
  /// Handed out so far.
  uint64_t schedules() const { return schedules_; }
  /// The choices of the current schedule: which of how many, where there was more than one, and how
  /// often in a row.
  std::string text() const;

  // For the scheduler of the machine that runs.
  /// Which of so many possibilities the script takes at this point.
  size_t choose(size_t options);
  bool may_preempt() const { return preemptions_ > 0; }
  bool may_drain() const { return drains_ > 0; }
  void preempted() { --preemptions_; }
  void drained() { --drains_; }
  bool takes_turns() const { return bounds_.delays.has_value(); }
  bool may_delay() const { return delays_ > 0; }
  void delayed() { --delays_; }

 private:
  struct Decision {
    size_t taken;
    size_t options;
  };

  ScheduleBounds bounds_;
  std::vector<Decision> trail_;  ///< the script, and what the run added to it
  size_t position_ = 0;
  int preemptions_ = 0;  ///< left in this run
  int drains_ = 0;
  int delays_ = 0;
  uint64_t schedules_ = 0;
  bool diverged_ = false;
};

namespace sim {

/// Who could act next. Threads and the oldest entries of their store buffers are agents alike.
struct Agents {
  const IndexSet& runnable;  ///< threads that can run, by slot
  const IndexSet& buffered;  ///< threads whose store buffer holds something
  int current;               ///< the thread that asks, or -1 when it cannot go on
  bool yielding;             ///< it would rather let others go first
};

struct Choice {
  enum class Kind : uint8_t { stay, run, drain };
  Kind kind;
  int slot;
};

/// Decides what happens next, before every machine operation. Asked again after each drain.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// At least one agent exists. `stay` only if current >= 0.
  virtual Choice next(const Agents& agents) = 0;
};

/// Seeded coin flips: a switch or a drain may happen before any operation.
class RandomScheduler final : public Scheduler {
 public:
  explicit RandomScheduler(const SimOptions& options);
  Choice next(const Agents& agents) override;

 private:
  Random random_;
  uint64_t switch_below_;  ///< out of 2^32
  uint64_t drain_below_;
};

/// Follows the script of a ScheduleExplorer.
class ExhaustiveScheduler final : public Scheduler {
 public:
  ExhaustiveScheduler(std::shared_ptr<ScheduleExplorer> explorer, size_t slots)
      : explorer_(std::move(explorer)), parked_(slots, false) {}
  Choice next(const Agents& agents) override;

 private:
  struct Option {
    Choice choice;
    bool preempts = false;
    bool drains = false;
  };

  void list_all(const Agents& agents);
  void list_for_running(const Agents& agents);
  void list_for_yielding(const Agents& agents);
  void list_drains(const Agents& agents, bool counted);
  Choice follow(const Option& option, const Agents& agents);

  std::shared_ptr<ScheduleExplorer> explorer_;
  std::vector<Option> options_;
  /// Threads that were switched away from at a scheduling point: they go on behind it.
  std::vector<bool> parked_;
  int fresh_ = -1;     ///< was told to run and comes to its first scheduling point: no choice there
  int draining_ = -1;  ///< whose buffer the last choice was
  size_t pauses_ = 0;  ///< since a store last became visible
};

/// Follows the script of a ScheduleExplorer whose bounds count delays. Round and round by slot;
/// when a thread ends or waits, all stores in buffers become visible first.
class DelayBoundedScheduler final : public Scheduler {
 public:
  explicit DelayBoundedScheduler(std::shared_ptr<ScheduleExplorer> explorer)
      : explorer_(std::move(explorer)) {}
  Choice next(const Agents& agents) override;

 private:
  std::shared_ptr<ScheduleExplorer> explorer_;
  int turn_ = -1;  ///< who ran last
};

/// The one that options.schedule says, for a machine with so many slots.
std::unique_ptr<Scheduler> make_scheduler(const SimOptions& options, size_t slots);

}  // namespace sim
}  // namespace holdfast
