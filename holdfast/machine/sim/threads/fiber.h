// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::sim {

/// A stack of 256 KB between guard pages.
class FiberStack {
 public:
  FiberStack();
  ~FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  void* bottom() const;
  static constexpr size_t kBytes = size_t{256} << 10;
  /// Makes the stack fit for a new fiber.
  void reset();
  /// The fiber on it, whose stack pointer this is, will never be unwound, nor will the exceptions
  /// it is handling be freed. What it owned is lost on purpose: a leak checker is told to look
  /// elsewhere.
  void excuse_leaks(const void* stack_pointer, const void* caught_exceptions);

 private:
  void* pages_;
};

/// A thread of control that runs until it switches to another one. The host thread that calls
/// switch_to first is a fiber too: one that was never started.
///
/// Each switch swaps the C++ runtime's record of exceptions in flight: two fibers inside `catch`
/// would otherwise exchange them.
class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares to run entry(argument) on `stack`; entry must end by switching away for good.
  void start(FiberStack& stack, void (*entry)(void*), void* argument);
  /// Continues `to`; returns when somebody switches back to this fiber.
  void switch_to(Fiber& to);
  /// Forgets a fiber that will not run again; its stack is not unwound.
  void abandon();
  void excuse_leaks(FiberStack& stack) const { stack.excuse_leaks(context_, caught_exceptions_); }

  bool started() const { return context_ != nullptr; }

 private:
  struct Arrival;
  friend struct Arrival;

  void* context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  /// What __cxa_get_globals() points to: exceptions being handled, and how many are in flight.
  void* caught_exceptions_ = nullptr;
  unsigned uncaught_exceptions_ = 0;
  /// For the sanitizers: where the stack is, their shadow of it, their name for the fiber.
  const void* stack_bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  void* shadow_stack_ = nullptr;
  void* sanitizer_fiber_ = nullptr;
};

}  // namespace holdfast::sim
