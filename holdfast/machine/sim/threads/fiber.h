// SPDX-License-Identifier: Apache-2.0
//
// Fibers: threads of control that share one host thread.
#pragma once

#include <cstddef>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/support/host_pages.h"

namespace holdfast::sim {

/// A stack of 256 KiB between two guard pages.
class FiberStack {
 public:
  /// With `pages`, the stack comes from that pool and goes back to it.
  explicit FiberStack(HostPages* pages = nullptr);
  ~FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  void* bottom() const;
  static constexpr size_t kBytes = size_t{256} << 10;
  /// Prepares the stack for a new fiber.
  void reset();
  /// The fiber on this stack will never be unwound, and the exceptions that it handles will not be
  /// freed. Tells a leak checker that this loss is intended.
  void excuse_leaks(const void* stack_pointer, const void* caught_exceptions);

 private:
  static constexpr size_t kMappedBytes = kBytes + 2 * kPageBytes;

  HostPages* pool_;
  void* pages_;
};

/// A thread of control that runs until it switches to another one. The host thread that calls
/// switch_to first is a fiber too, without start().
///
/// Each switch also swaps the C++ runtime's record of exceptions being handled. Otherwise two
/// fibers inside `catch` would confuse their exceptions.
class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares to run entry(argument) on `stack`. entry does not return; it ends with a switch to
  /// another fiber.
  void start(FiberStack& stack, void (*entry)(void*), void* argument);
  /// Runs `to`. Returns when a fiber switches back to this one.
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
  /// The content of __cxa_get_globals(): exceptions being handled, and how many are uncaught.
  void* caught_exceptions_ = nullptr;
  unsigned uncaught_exceptions_ = 0;
  /// For the sanitizers: the stack, their shadow of it, and their handle of the fiber.
  const void* stack_bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  void* shadow_stack_ = nullptr;
  void* sanitizer_fiber_ = nullptr;
};

}  // namespace holdfast::sim
