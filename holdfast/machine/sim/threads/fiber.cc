// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/threads/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>

#include "holdfast/base/sanitizers.h"
#include "holdfast/base/status.h"

#if HOLDFAST_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HOLDFAST_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast::sim {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

/// The Itanium C++ ABI (2.2.2) fixes the beginning of this structure.
struct ExceptionGlobals {
  void* caught_exceptions;
  unsigned uncaught_exceptions;
};

ExceptionGlobals& exception_globals() {
  return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

}  // namespace

FiberStack::FiberStack(HostPages* pages)
    : pool_(pages), pages_(pages != nullptr ? pages->take_stack(kMappedBytes) : nullptr) {
  if (pages_ != nullptr) {
    return;
  }
  pages_ =
      mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages_ == MAP_FAILED || mprotect(bottom(), kBytes, PROT_READ | PROT_WRITE) != 0) {
    throw Error(
        Status(Code::out_of_space, std::string("no memory for the stack of a simulated thread: ") +
                                       std::generic_category().message(errno)));
  }
}

FiberStack::~FiberStack() {
  reset();
  if (pool_ != nullptr) {
    pool_->give_stack_back(pages_, kMappedBytes);
  } else {
    munmap(pages_, kMappedBytes);
  }
}

void FiberStack::excuse_leaks([[maybe_unused]] const void* stack_pointer,
                              [[maybe_unused]] const void* caught_exceptions) {
#if HOLDFAST_ADDRESS_SANITIZER
  // A copy of the stack stays reachable for ever, and with it everything that it points to. A copy,
  // because the stack itself is used again.
  struct Copy {
    Copy* next;
    const void* caught_exceptions;
  };
  static constinit Copy* copies = nullptr;
  reset();
  const auto* from = static_cast<const std::byte*>(stack_pointer);
  const auto n = static_cast<size_t>(static_cast<std::byte*>(bottom()) + kBytes - from);
  auto* copy = static_cast<Copy*>(std::malloc(sizeof(Copy) + n));
  if (copy != nullptr) {
    *copy = {copies, caught_exceptions};
    std::memcpy(copy + 1, from, n);
    copies = copy;
  }
#endif
}

void* FiberStack::bottom() const {
  return static_cast<std::byte*>(pages_) + kPageBytes;
}

void FiberStack::reset() {
#if HOLDFAST_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(bottom(), kBytes);
#endif
}

/// The second half of a switch, which runs on the target fiber.
struct Fiber::Arrival {
  static void note(transfer_t from, [[maybe_unused]] Fiber& self) {
    auto& previous = *static_cast<Fiber*>(from.data);
    previous.context_ = from.fctx;
#if HOLDFAST_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(self.shadow_stack_, &previous.stack_bottom_,
                                    &previous.stack_bytes_);
#endif
  }

  static void enter(transfer_t from) {
    // The jump passes the previous fiber, so switch_to() leaves the target in `target`.
    Fiber& self = *target;
    note(from, self);
    self.entry_(self.argument_);
    std::terminate();  // an entry does not return
  }

  static inline thread_local Fiber* target = nullptr;
};

Fiber::~Fiber() {
  abandon();
}

void Fiber::abandon() {
#if HOLDFAST_THREAD_SANITIZER
  if (sanitizer_fiber_ != nullptr && entry_ != nullptr) {
    __tsan_destroy_fiber(sanitizer_fiber_);
  }
#endif
  sanitizer_fiber_ = nullptr;
  shadow_stack_ = nullptr;
  context_ = nullptr;
  entry_ = nullptr;
  caught_exceptions_ = nullptr;
  uncaught_exceptions_ = 0;
}

void Fiber::start(FiberStack& stack, void (*entry)(void*), void* argument) {
  abandon();
  stack.reset();
  entry_ = entry;
  argument_ = argument;
  stack_bottom_ = stack.bottom();
  stack_bytes_ = FiberStack::kBytes;
  context_ = make_fcontext(static_cast<std::byte*>(stack.bottom()) + FiberStack::kBytes,
                           FiberStack::kBytes, &Arrival::enter);
#if HOLDFAST_THREAD_SANITIZER
  sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

void Fiber::switch_to(Fiber& to) {
  ExceptionGlobals& globals = exception_globals();
  caught_exceptions_ = globals.caught_exceptions;
  uncaught_exceptions_ = globals.uncaught_exceptions;
  globals.caught_exceptions = to.caught_exceptions_;
  globals.uncaught_exceptions = to.uncaught_exceptions_;
#if HOLDFAST_THREAD_SANITIZER
  if (sanitizer_fiber_ == nullptr) {
    sanitizer_fiber_ = __tsan_get_current_fiber();
  }
  __tsan_switch_to_fiber(to.sanitizer_fiber_, 0);
#endif
#if HOLDFAST_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&shadow_stack_, to.stack_bottom_, to.stack_bytes_);
#endif
  Arrival::target = &to;
  Arrival::note(jump_fcontext(to.context_, this), *this);
}

}  // namespace holdfast::sim
