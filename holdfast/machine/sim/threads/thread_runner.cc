// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/threads/thread_runner.h"

#include <sstream>
#include <utility>

#include "holdfast/machine/sim/medium/arena.h"

namespace holdfast::sim {
namespace {

/// A nanosecond: the time between two looks of a thread that waits in the runner itself.
constexpr Time kPoll = 1000;

}  // namespace

ThreadRunner::ThreadRunner(const SimOptions& options, Threads& threads, StoreBufferOwner& buffers,
                           std::unique_ptr<Scheduler> scheduler)
    : options_(options),
      threads_(threads),
      buffers_(buffers),
      scheduler_(std::move(scheduler)),
      runnable_(threads.size()),
      buffered_(threads.size()),
      timed_(options.schedule == Schedule::timed),
      queue_(threads.size()) {
  for (size_t i = 0; i < threads.size(); ++i) {
    bodies_.push_back({this, static_cast<int>(i)});
  }
}

bool ThreadRunner::run(int n, FunctionRef<void(int)> work,
                       const std::function<bool()>* background) {
  work_ = &work;
  background_ = background;
  background_once_ = false;
  workers_left_ = n;
  for (int i = 0; i < n; ++i) {
    prepare(kFirstWorker + i);
  }
  if (background_ != nullptr) {
    prepare(kBackgroundSlot);
    background_alive_ = true;
  }
  start();
  return halted_ == Halt::none;
}

bool ThreadRunner::run_once(const std::function<bool()>& background) {
  background_ = &background;
  background_once_ = true;
  background_result_ = false;
  workers_left_ = 0;
  prepare(kBackgroundSlot);
  background_alive_ = true;
  start();
  return background_result_;
}

void ThreadRunner::stop_background() {
  if (current_thread->slot == kBackgroundSlot) {
    throw Error(Status(Code::misuse, "the background thread cannot replace itself"));
  }
  background_stops_ = true;
  SimThread& background = *threads_[kBackgroundSlot];
  if (background.state == SimThread::State::asleep) {
    wake(background);
  }
  while (background_alive_) {
    current_thread->clock += kPoll;
    point(*current_thread, Op::pause, 0);
  }
  background_stops_ = false;
}

void ThreadRunner::start_background(const std::function<bool()>& background) {
  background_ = &background;
  prepare(kBackgroundSlot);
  background_alive_ = true;
}

void ThreadRunner::prepare(int slot) {
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  if (!thread.stack) {
    thread.stack = std::make_unique<FiberStack>(options_.pages.get());
  }
  thread.context = nullptr;
  thread.state = SimThread::State::runnable;
  thread.fiber.start(*thread.stack, &ThreadRunner::enter, &bodies_[static_cast<size_t>(slot)]);
  wake(thread);
}

void ThreadRunner::start() {
  SimThread& main = *threads_[kMainSlot];
  step_limit_ = options_.max_steps < kNever - steps_ ? steps_ + options_.max_steps : kNever;
  halted_ = Halt::none;
  failure_ = nullptr;
  if (!runnable_.empty()) {
    running_ = true;
    horizon_ = 0;
    go_on(main);  // returns when all threads have ended
  }
  if (halted_ == Halt::deadlock || halted_ == Halt::step_limit) {
    failure_ = std::make_exception_ptr(Stuck(explain(halted_)));
  }
  stop();
}

void ThreadRunner::stop() {
  running_ = false;
  idle_since_ = steps_;
  horizon_ = kNever;
  buffer_acts_ = false;
  background_alive_ = false;
  runnable_.clear();
  queue_.clear();
  SimThread& main = *threads_[kMainSlot];
  for (const auto& thread : threads_) {
    main.clock = std::max(main.clock, thread->clock);
    if (thread->slot != kMainSlot) {
      thread->state = SimThread::State::idle;
      thread->write_backs.clear();  // no fence of this thread can follow
      if (halted_ != Halt::none && thread->fiber.started()) {
        thread->fiber.excuse_leaks(*thread->stack);
      }
      thread->fiber.abandon();
    }
  }
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    std::rethrow_exception(failure);
  }
}

void ThreadRunner::give_way(SimThread& thread, bool yielding) {
  if (!running_) {
    return;
  }
  timed_ ? take_turns(thread) : preempt(thread, yielding);
}

void ThreadRunner::preempt(SimThread& thread, bool yielding) {
  if (steps_ >= step_limit_) {
    halt(Halt::step_limit);
  }
  for (;;) {
    const Choice choice = scheduler_->next({runnable_, buffered_, thread.slot, yielding});
    switch (choice.kind) {
      case Choice::Kind::drain:
        buffers_.leave_oldest(choice.slot);
        break;
      case Choice::Kind::run:
        switch_to(thread, *threads_[static_cast<size_t>(choice.slot)]);
        return;
      case Choice::Kind::stay:
        return;
    }
  }
}

/// Lets all agents act that come before the thread.
void ThreadRunner::take_turns(SimThread& thread) {
  if (steps_ >= step_limit_) {
    halt(Halt::step_limit);
  }
  const uint64_t own = AgentQueue::key(thread.clock, queue_.thread(thread.slot));
  while (queue_.first() < own) {
    const size_t agent = AgentQueue::agent(queue_.first());
    const int slot = queue_.slot(agent);
    if (queue_.is_buffer(agent)) {
      leave(slot, AgentQueue::time(queue_.first()));
    } else {
      queue_.put(queue_.thread(thread.slot), thread.clock);
      queue_.remove(agent);
      switch_to(thread, *threads_[static_cast<size_t>(slot)]);
      return;  // the agent that switched back has found this thread to be the first
    }
  }
  set_horizon(thread);
}

void ThreadRunner::leave(int slot, Time time) {
  buffer_time_ = time;
  buffer_acts_ = timed_;
  buffers_.leave_oldest(slot);
  buffer_acts_ = false;
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  if (thread.state == SimThread::State::idle) {
    thread.clock = std::max(thread.clock, time);  // it has ended, but its store leaves only now
  }
}

void ThreadRunner::schedule_buffer(const SimThread& thread) {
  const size_t agent = queue_.buffer(thread.slot);
  if (thread.buffer.empty()) {
    queue_.remove(agent);
  } else {
    const Time at = thread.buffer.front().leave;
    queue_.put(agent, at);
    horizon_ = std::min(horizon_, at);
  }
}

/// Until horizon_ the thread runs on without asking. At most a millisecond, so that a thread in an
/// endless loop meets the step limit.
void ThreadRunner::set_horizon(const SimThread& thread) {
  constexpr Time kMillisecond = 1'000'000'000;
  horizon_ = std::min(AgentQueue::time(queue_.first()), thread.clock + kMillisecond);
}

/// `from` cannot continue now. Lets other agents act until a thread can run, which may be `from`
/// again.
void ThreadRunner::go_on(SimThread& from) {
  for (;;) {
    if (workers_left_ == 0 && !background_alive_ && buffered_.empty()) {
      switch_to(from, *threads_[kMainSlot]);
      return;
    }
    if (runnable_.empty() && buffered_.empty()) {
      halt(Halt::deadlock);
    }
    if (timed_ ? act_first(from) : act(from, scheduler_->next({runnable_, buffered_, -1, false}))) {
      return;
    }
  }
}

/// Returns true if it has switched to a thread and `from` runs again; false after a drain.
bool ThreadRunner::act(SimThread& from, const Choice& choice) {
  if (choice.kind == Choice::Kind::drain) {
    buffers_.leave_oldest(choice.slot);
    return false;
  }
  switch_to(from, *threads_[static_cast<size_t>(choice.slot)]);
  return true;
}

bool ThreadRunner::act_first(SimThread& from) {
  const uint64_t first = queue_.first();
  const size_t agent = AgentQueue::agent(first);
  if (queue_.is_buffer(agent)) {
    leave(queue_.slot(agent), AgentQueue::time(first));
    return false;
  }
  queue_.remove(agent);
  switch_to(from, *threads_[static_cast<size_t>(queue_.slot(agent))]);
  return true;
}

void ThreadRunner::switch_to(SimThread& from, SimThread& to) {
  if (timed_) {
    set_horizon(to);
  }
  if (&from != &to) {
    current_thread = &to;
    from.fiber.switch_to(to.fiber);
  }
}

void ThreadRunner::block(SimThread& thread, SimThread::State how) {
  thread.state = how;
  runnable_.erase(thread.slot);
  go_on(thread);
}

void ThreadRunner::wake(SimThread& thread) {
  thread.state = SimThread::State::runnable;
  runnable_.insert(thread.slot);
  if (timed_) {
    thread.clock = std::max(thread.clock, now());
    queue_.put(queue_.thread(thread.slot), thread.clock);
    horizon_ = std::min(horizon_, thread.clock);
  }
}

void ThreadRunner::enter(void* body) {
  const auto [runner, slot] = *static_cast<Body*>(body);
  slot == kBackgroundSlot ? runner->run_background() : runner->run_worker(slot);
}

void ThreadRunner::run_worker(int slot) {
  try {
    (*work_)(slot - kFirstWorker);
  } catch (...) {
    if (!failure_) {
      failure_ = std::current_exception();
    }
  }
  --workers_left_;
  SimThread& background = *threads_[kBackgroundSlot];
  if (workers_left_ == 0 && background.state == SimThread::State::asleep) {
    wake(background);
  }
  finish(*threads_[static_cast<size_t>(slot)]);
}

void ThreadRunner::run_background() {
  SimThread& self = *threads_[kBackgroundSlot];
  try {
    const auto wanted = [&] { return workers_left_ > 0 && !background_stops_; };
    do {
      const uint64_t seen = writes_by_others_;
      background_result_ = (*background_)();
      if (background_once_) {
        break;
      }
      // The thread sleeps only if no store has become visible since its call began. So it misses no
      // wake-up.
      if (!background_result_ && seen == writes_by_others_ && wanted()) {
        block(self, SimThread::State::asleep);
      } else {
        self.clock += kPoll;
        point(self, Op::pause, 0);
      }
    } while (wanted());
  } catch (...) {
    if (!failure_) {
      failure_ = std::current_exception();
    }
  }
  background_alive_ = false;
  finish(self);
}

void ThreadRunner::finish(SimThread& thread) {
  thread.state = SimThread::State::idle;
  runnable_.erase(thread.slot);
  go_on(thread);
  std::terminate();  // no thread switches to a finished fiber
}

void ThreadRunner::halt(Halt why) {
  // This stack is never unwound, so it must own nothing. The main thread throws the exception.
  halted_ = why;
  switch_to(*current_thread, *threads_[kMainSlot]);
  std::terminate();  // no thread switches to an abandoned fiber
}

std::string ThreadRunner::explain(Halt why) const {
  return report(why == Halt::deadlock
                    ? "deadlock: every thread waits for another"
                    : "no end after " + std::to_string(options_.max_steps) + " steps");
}

std::string ThreadRunner::report(const std::string& why) const {
  static constexpr const char* kStates[] = {"ended", "runnable", "waiting", "asleep"};
  std::ostringstream out;
  out << why << "; seed " << options_.seed << ", step " << steps_ << '\n' << std::hex;
  for (const auto& thread : threads_) {
    if (thread->trace.kept(Trace::kKept - 1).op == Op::none) {
      continue;
    }
    out << "  slot " << std::dec << thread->slot << " (" << kStates[static_cast<int>(thread->state)]
        << ", " << thread->buffer.size() << " buffered):";
    for (size_t i = 0; i < Trace::kKept; ++i) {
      const Trace::Step step = thread->trace.kept(i);
      if (step.op != Op::none) {
        out << "  " << std::dec << step.number << ' ' << to_string(step.op);
        if (step.address != 0) {
          out << " +0x" << std::hex << step.address - kArenaBase;
        }
      }
    }
    out << '\n';
  }
  return out.str();
}

}  // namespace holdfast::sim
