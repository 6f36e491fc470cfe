// SPDX-License-Identifier: Apache-2.0
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

/// What the runner asks of the memory system.
class StoreBufferOwner {
 public:
  /// The oldest entry of this thread's store buffer becomes visible.
  virtual void leave_oldest(int slot) = 0;

 protected:
  ~StoreBufferOwner() = default;
};

/// Thrown out of run_threads (or a wait outside it) when no thread can ever go on, or the step
/// limit was reached. what() names every thread's last operations, the seed and the step.
class Stuck : public std::exception {
 public:
  explicit Stuck(std::string report) : report_(std::move(report)) {}
  const char* what() const noexcept override { return report_.c_str(); }

 private:
  std::string report_;
};

/// Runs simulated threads as fibers on the calling thread, one at a time, in the order a Scheduler
/// says.
class Runner {
 public:
  using Threads = std::vector<std::unique_ptr<SimThread>>;

  Runner(const SimOptions& options, Threads& threads, StoreBufferOwner& buffers,
         std::unique_ptr<Scheduler> scheduler);

  bool running() const { return running_; }
  /// So many operations outside run() since the last one as one run may have.
  bool idle_too_long() const {
    return !running_ && options_.count_main_events && steps_ - idle_since_ > options_.max_steps;
  }
  uint64_t steps() const { return steps_; }

  /// Runs work(0) ... work(n-1), and background over and over beside them, until all have ended and
  /// all store buffers are empty. Rethrows the first exception that left a worker. False: halted.
  bool run(int n, FunctionRef<void(int)> work, const std::function<bool()>* background);
  /// Runs background once, alone; returns what it returned. For a caller outside run() that waits.
  bool run_once(const std::function<bool()>& background);

  /// During run(): waits until the background thread has returned from its current call, then ends
  /// it; starts another.
  void stop_background();
  void start_background(const std::function<bool()>& background);

  /// The current thread is about to perform an operation: others may go first.
  void point(SimThread& thread, Op op, uintptr_t address) {
    thread.trace.note(op, address, ++steps_);
    if (thread.clock >= horizon_) {
      give_way(thread, op == Op::pause);
    }
  }
  /// As point(), for an operation nobody else may notice. If is_private() says so, a thread may be
  /// up to the lookahead beyond the others: nothing they do reaches it sooner.
  template <class F>
  void point_unless(SimThread& thread, Op op, uintptr_t address, F&& is_private) {
    thread.trace.note(op, address, ++steps_);
    if (thread.clock >= horizon_ &&
        (!timed_ || thread.clock >= horizon_ + lookahead_ || !is_private())) {
      give_way(thread, false);
    }
  }
  /// Timed: the thread passes time and touches nothing, so it need not wait for its turn; for long
  /// it does, so that one that only does this is noticed.
  void point_alone(SimThread& thread, Op op) {
    constexpr Time kMicrosecond = 1'000'000;
    thread.trace.note(op, 0, ++steps_);
    if (horizon_ != kNever && thread.clock >= horizon_ + kMicrosecond) {
      give_way(thread, true);
    }
  }
  /// Timed: the thread is beyond what is_private() is asked for.
  bool far_ahead(const SimThread& thread) const {
    return thread.clock >= horizon_ && thread.clock - horizon_ >= lookahead_;
  }
  void set_lookahead(Time lookahead) { lookahead_ = lookahead; }
  /// Timed: the current thread's clock moves on to `time`, and everybody who acts until then does.
  void wait_until(SimThread& thread, Time time) {
    thread.clock = std::max(thread.clock, time);
    take_turns(thread);
  }
  /// Timed: the instant of what happens now.
  Time now() const { return buffer_acts_ ? buffer_time_ : current_thread->clock; }
  bool timed() const { return timed_; }
  /// Stops the current thread until wake().
  void block(SimThread& thread, SimThread::State how);
  void wake(SimThread& thread);
  /// The store buffer of a thread became empty, or no longer is.
  void buffer_changed(const SimThread& thread) {
    thread.buffer.empty() ? buffered_.erase(thread.slot) : buffered_.insert(thread.slot);
    if (timed_ && running_) {
      schedule_buffer(thread);
    }
  }
  /// Something became visible: the background thread, should it sleep, has a look.
  void written(int slot) {
    if (slot != kBackgroundSlot) {
      ++writes_by_others_;
      SimThread& background = *threads_[kBackgroundSlot];
      if (background.state == SimThread::State::asleep) {
        wake(background);
      }
    }
  }

  /// Ends run() at once: every thread is abandoned where it stands, its stack freed without
  /// unwinding.
  [[noreturn]] void halt() { halt(Halt::by_caller); }
  std::string report(const std::string& why) const;

 private:
  enum class Halt : uint8_t { none, by_caller, deadlock, step_limit };
  struct Body {
    Runner* runner;
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

  // Virtual time. The running thread is not in the queue; until `horizon_` nobody else acts.
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
