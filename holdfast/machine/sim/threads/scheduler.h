// SPDX-License-Identifier: Apache-2.0
//
// Schedulers of functional machines: random, exhaustive within bounds, delay-bounded.
#pragma once

#include <array>
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

/// The bounds of an exhaustive search: how many of these choices one schedule may contain.
struct ScheduleBounds {
  int preemptions = 2;  ///< switches away from a thread that can continue
  int drains = 2;       ///< stores made visible while a thread can continue, or between the stores
                        ///< of another buffer
  /// If set, it replaces the other two. Threads then take turns: a turn lasts until the thread
  /// ends, waits, or is delayed. A schedule may contain this many delays. A delayed thread gets its
  /// next turn last (delay bounding: Emmi, Qadeer and Rakamaric, POPL 2011). There are far fewer
  /// such schedules, so longer programs can be searched.
  std::optional<int> delays = {};
};

/// Enumerates the schedules of a small program. The program runs from its beginning for each
/// schedule, on a fresh machine. Its actions must depend on the schedule only.
///
///   auto explorer = std::make_shared<ScheduleExplorer>(ScheduleBounds{});
///   while (explorer->next()) {
///     SimMachine machine({.schedule = Schedule::exhaustive, .explorer = explorer});
///     ... run the program; if it shows a bug, report text() ...
///   }
///
/// It finds all schedules within the bounds, each once (with several delays some twice). These
/// choices do not count against the bounds: which thread continues after one has ended or waits;
/// which stores become visible at that point; and that a thread which pauses lets the next one run.
class ScheduleExplorer {
 public:
  explicit ScheduleExplorer(const ScheduleBounds& bounds) : bounds_(bounds) {}

  /// Prepares the next run. Returns false if no schedule is left. Throws Error(misuse) if the run
  /// before has not followed its script, because the program depends on more than the schedule.
  bool next();
  /// The number of schedules so far.
  uint64_t schedules() const { return schedules_; }
  /// The choices of the present schedule as "taken/options", with " xN" for N equal ones in a row.
  /// Points with one option are left out.
  std::string text() const;

  // ---- For the machine's scheduler
  /// The script's choice, below `options`, at this point.
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
  std::vector<Decision> trail_;  ///< the script, and the decisions that the run has added to it
  size_t position_ = 0;
  int preemptions_ = 0;  ///< left in this run, as are the next two
  int drains_ = 0;
  int delays_ = 0;
  uint64_t schedules_ = 0;
  bool diverged_ = false;
};

namespace sim {

/// The agents that can act next: threads, and store buffers with their oldest entries.
struct Agents {
  const IndexSet& runnable;  ///< the threads that can run, by slot
  const IndexSet& buffered;  ///< the threads whose store buffer is not empty
  int current;               ///< the thread at the scheduling point; -1 if it cannot continue
  bool yielding;             ///< the thread is in pause(): others should run first
};

struct Choice {
  enum class Kind : uint8_t { stay, run, drain };
  Kind kind;
  int slot;
};

/// Chooses the next agent, before every machine operation and again after each drain.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// There is at least one agent. Returns `stay` only if current >= 0.
  virtual Choice next(const Agents& agents) = 0;
};

/// Seeded coin flips: a switch or a drain may happen before any operation.
class RandomScheduler final : public Scheduler {
 public:
  explicit RandomScheduler(const SimOptions& options);
  Choice next(const Agents& agents) override;

 private:
  Random random_;
  std::array<uint64_t, 2> switch_below_;  ///< for even and odd slots; thresholds below 2^32
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
  /// Threads that were preempted at a scheduling point. They continue with the operation after it.
  std::vector<bool> parked_;
  /// A thread that was just chosen and has not reached its first scheduling point. There is no
  /// choice at that point.
  int fresh_ = -1;
  int draining_ = -1;  ///< the slot whose buffer was chosen last; else -1
  size_t pauses_ = 0;  ///< pauses since a store last became visible
};

/// Follows the script of a ScheduleExplorer whose bounds count delays. Threads take turns in the
/// order of their slots. When a thread ends or waits, all buffered stores become visible before the
/// next turn.
class DelayBoundedScheduler final : public Scheduler {
 public:
  explicit DelayBoundedScheduler(std::shared_ptr<ScheduleExplorer> explorer)
      : explorer_(std::move(explorer)) {}
  Choice next(const Agents& agents) override;

 private:
  std::shared_ptr<ScheduleExplorer> explorer_;
  int turn_ = -1;  ///< the slot that ran last
};

/// The scheduler for options.schedule, for a machine with this many slots.
std::unique_ptr<Scheduler> make_scheduler(const SimOptions& options, size_t slots);

}  // namespace sim
}  // namespace holdfast
