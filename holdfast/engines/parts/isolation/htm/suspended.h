// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

/// Suspends the transaction of `htm`, calls F(a, b), and resumes; throws HtmAbort if it is doomed.
///
/// F may be run on another stack (hardware_htm.h says why), hence two references and no captures.
/// It throws nothing and allocates nothing. It stores only to lines that the transaction has
/// neither loaded nor stored to: shared states, logs, and members of `a` and `b` set apart for it.
/// Where it reads what the transaction has stored, in a Field or in the engine's own lists, it has
/// to look whether the transaction is doomed before it relies on what it read.
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
