// SPDX-License-Identifier: Apache-2.0
//
// Basics that engines of every kind share. This one: how an engine runs a transaction's body.
#pragma once

#include <exception>
#include <new>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Runs the body with transaction `t` as the thread's context. Returns the exception that left the
/// body, or null. Sets `aborted` if that exception was a TransactionAbort. The handlers contain no
/// machine operation.
template <class M>
std::exception_ptr run_body(Context& t, FunctionRef<void()> body, bool& aborted) {
  void* const outer = M::context();
  M::set_context(&t);
  std::exception_ptr failure;
  try {
    body();
  } catch (const TransactionAbort&) {
    aborted = true;
  } catch (...) {
    failure = std::current_exception();
  }
  M::set_context(outer);
  if (t.nested_failure) [[unlikely]] {  // the body swallowed an exception
    if (!failure) {
      failure = t.nested_failure;
    }
    t.nested_failure = nullptr;
  }
  return failure;
}

/// Calls f inside the body of transaction `t`. If f throws, the transaction fails even if the body
/// swallows the exception.
template <class F>
void must_succeed(Context& t, F&& f) {
  try {
    f();
  } catch (...) {
    fail_and_rethrow(t);
  }
}

/// Returns f(), a load or store inside the body of transaction `t`. If it gets no memory, the
/// transaction fails even if the body swallows that: the engine may have lost it. Costs nothing
/// else. Other exceptions may only abort an attempt.
template <class F>
[[gnu::always_inline]] inline decltype(auto) must_have_memory(Context& t, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_and_rethrow(t);
  }
}

/// For engines that need no report of an abort: the transaction knows by itself, or never aborts.
template <class M>
std::exception_ptr run_body(Context& t, FunctionRef<void()> body) {
  bool aborted = false;
  return run_body<M>(t, body, aborted);
}

}  // namespace holdfast
