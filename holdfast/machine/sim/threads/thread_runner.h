// SPDX-License-Identifier: Apache-2.0
//
// sim/threads/: threads of the simulated machine: fibers, schedules, store buffers, counters and
// timelines. This header: running threads, in the order that a schedule says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/support/agent_queue.h"
#include "holdfast/machine/sim/threads/scheduler.h"
#include "holdfast/machine/sim/threads/sim_thread.h"

namespace holdfast::sim {

inline constexpr int kMainSlot = 0;
inline constexpr int kBackgroundSlot = 1;
inline constexpr int kFirstWorker = 2;

/// The memory system, as the runner uses it.
class StoreBufferOwner {
 public:
  /// Makes the oldest entry of this thread's store buffer visible.
  virtual void leave_oldest(int slot) = 0;

 protected:
  ~StoreBufferOwner() = default;
};

/// Thrown by run_threads, or by a wait outside it, if no thread can ever continue or the step limit
/// is reached. what() tells the latest operations of every thread, the seed and the step.
class Stuck : public std::exception {
 public:
  explicit Stuck(std::string report) : report_(std::move(report)) {}
  const char* what() const noexcept override { return report_.c_str(); }

 private:
  std::string report_;
};

/// Runs simulated threads as fibers on the calling host thread, one at a time. A Scheduler chooses
/// the order; on a timed machine virtual time does.
///
/// Thread safety: only the host thread that made it uses it. "The current thread" is a simulated
/// one.
class ThreadRunner {
 public:
  using Threads = std::vector<std::unique_ptr<SimThread>>;

  ThreadRunner(const SimOptions& options, Threads& threads, StoreBufferOwner& buffers,
               std::unique_ptr<Scheduler> scheduler);

  bool running() const { return running_; }
  /// True after more than max_steps operations outside run(), if count_main_events is set.
  bool idle_too_long() const {
    return !running_ && options_.count_main_events && steps_ - idle_since_ > options_.max_steps;
  }
  uint64_t steps() const { return steps_; }

  /// Runs work(0) ... work(n - 1), and background over and over beside them. Returns when all have
  /// ended and all store buffers are empty, or with false after halt(). Rethrows the first
  /// exception that left a thread. Throws Stuck.
  bool run(int n, FunctionRef<void(int)> work, const std::function<bool()>* background);
  /// Runs one call of background alone and returns its result. For a caller outside run() that
  /// waits.
  bool run_once(const std::function<bool()>& background);

  /// During run(): waits until the background thread has returned from its present call, then ends
  /// the thread.
  void stop_background();
  /// During run(): starts a background thread.
  void start_background(const std::function<bool()>& background);

  /// A scheduling point: the current thread is about to perform an operation, and others may act
  /// first.
  void point(SimThread& thread, Op op, uintptr_t address) {
    thread.trace.note(op, address, ++steps_);
    if (thread.clock >= horizon_) {
      give_way(thread, op == Op::pause);
    }
  }
  /// As point(), for an operation that may concern no other thread. If is_private() returns true,
  /// the thread may run ahead of the others by up to the lookahead, because no action of theirs can
  /// reach it sooner.
  template <class F>
  void point_unless(SimThread& thread, Op op, uintptr_t address, F&& is_private) {
    thread.trace.note(op, address, ++steps_);
    if (thread.clock >= horizon_ &&
        (!timed_ || thread.clock >= horizon_ + lookahead_ || !is_private())) {
      give_way(thread, false);
    }
  }
  /// Timed: the thread only passes time, so it need not wait for its turn. After a microsecond it
  /// does wait, so that a thread which does nothing else meets the step limit.
  void point_alone(SimThread& thread, Op op) {
    constexpr Time kMicrosecond = 1'000'000;
    thread.trace.note(op, 0, ++steps_);
    if (horizon_ != kNever && thread.clock >= horizon_ + kMicrosecond) {
      give_way(thread, true);
    }
  }
  /// Timed: true if the thread is so far ahead that point_unless() does not ask is_private().
  bool far_ahead(const SimThread& thread) const {
    return thread.clock >= horizon_ && thread.clock - horizon_ >= lookahead_;
  }
  void set_lookahead(Time lookahead) { lookahead_ = lookahead; }
  /// Timed: moves the current thread's clock forward to `time`, and lets all agents act that come
  /// before it.
  void wait_until(SimThread& thread, Time time) {
    thread.clock = std::max(thread.clock, time);
    take_turns(thread);
  }
  /// Timed: the time of the present action, of a thread or of a store buffer.
  Time now() const { return buffer_acts_ ? buffer_time_ : current_thread->clock; }
  bool timed() const { return timed_; }
  /// Stops the current thread until wake().
  void block(SimThread& thread, SimThread::State how);
  void wake(SimThread& thread);
  /// The store buffer of a thread has become empty or non-empty, or its oldest entry has changed.
  void buffer_changed(const SimThread& thread) {
    thread.buffer.empty() ? buffered_.erase(thread.slot) : buffered_.insert(thread.slot);
    if (timed_ && running_) {
      schedule_buffer(thread);
    }
  }
  /// A store of this slot has become visible. Wakes the background thread if it sleeps.
  void written(int slot) {
    if (slot != kBackgroundSlot) {
      ++writes_by_others_;
      SimThread& background = *threads_[kBackgroundSlot];
      if (background.state == SimThread::State::asleep) {
        wake(background);
      }
    }
  }

  /// Ends run() at once. Every thread is abandoned at its present operation; its stack is freed
  /// without unwinding.
  [[noreturn]] void halt() { halt(Halt::by_caller); }
  /// The text of a Stuck: `why`, and the state and the latest operations of each thread.
  std::string report(const std::string& why) const;

 private:
  enum class Halt : uint8_t { none, by_caller, deadlock, step_limit };
  struct Body {
    ThreadRunner* runner;
    int slot;
  };

  [[noreturn]] void halt(Halt why);
  std::string explain(Halt why) const;

  void prepare(int slot);
  void give_way(SimThread& thread, bool yielding);
  void preempt(SimThread& thread, bool yielding);
  void take_turns(SimThread& thread);
  bool act(SimThread& from, const Choice& choice);
  bool act_first(SimThread& from);
  void go_on(SimThread& from);
  void leave(int slot, Time time);
  void schedule_buffer(const SimThread& thread);
  void set_horizon(const SimThread& thread);
  void switch_to(SimThread& from, SimThread& to);
  static void enter(void* body);
  void run_worker(int slot);
  void run_background();
  void finish(SimThread& thread);
  void start();
  void stop();

  const SimOptions& options_;
  Threads& threads_;
  StoreBufferOwner& buffers_;
  std::unique_ptr<Scheduler> scheduler_;
  IndexSet runnable_;
  IndexSet buffered_;
  std::vector<Body> bodies_;

  // Virtual time. The running thread is not in the queue. Before `horizon_` no other agent acts.
  bool timed_;
  AgentQueue queue_;
  Time horizon_ = kNever;
  Time lookahead_ = 0;
  Time buffer_time_ = 0;
  bool buffer_acts_ = false;

  bool running_ = false;
  Halt halted_ = Halt::none;
  bool background_alive_ = false;
  bool background_once_ = false;
  bool background_stops_ = false;
  bool background_result_ = false;
  int workers_left_ = 0;
  uint64_t steps_ = 0;
  uint64_t step_limit_ = kNever;
  uint64_t idle_since_ = 0;  ///< steps when the last run ended
  uint64_t writes_by_others_ = 0;
  const FunctionRef<void(int)>* work_ = nullptr;
  const std::function<bool()>* background_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace holdfast::sim
