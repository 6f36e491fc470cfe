// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

/// Suspends the transaction of `htm`, calls F(a, b), and resumes it. Throws HtmAbort if it is
/// doomed.
///
/// F takes two references and no captures, because it may run on another stack (hardware_htm.h says
/// why). F throws nothing and allocates nothing. It stores only to lines that the transaction has
/// neither loaded nor stored to: shared states, logs, and members of `a` and `b` set apart for it.
///
/// F may read the transaction's own stores, in a Field or in the engine's lists. Before it relies
/// on what it has read, it checks that the transaction is not doomed.
template <auto F, class Htm, class A, class B>
void run_suspended(Htm& htm, A& a, B& b) {
  if constexpr (requires { htm.template suspended<F>(a, b); }) {
    htm.template suspended<F>(a, b);
  } else {
    htm.suspend();
    F(a, b);
    htm.resume();
  }
}

}  // namespace holdfast
