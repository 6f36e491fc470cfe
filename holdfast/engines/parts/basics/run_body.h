// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Runs the body with transaction `t` as context. Returns what it threw; `aborted` says that a
/// TransactionAbort left it. No machine operation happens inside the handlers.
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
  if (t.nested_failure) [[unlikely]] {  // the body caught what should have ended it
    if (!failure) {
      failure = t.nested_failure;
    }
    t.nested_failure = nullptr;
  }
  return failure;
}

/// For transactions that know by themselves whether they were aborted, or never are.
template <class M>
std::exception_ptr run_body(Context& t, FunctionRef<void()> body) {
  bool aborted = false;
  return run_body<M>(t, body, aborted);
}

}  // namespace holdfast
