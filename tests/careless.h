// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

/// Runs f like a careless body: it catches every exception, an abort too, and continues.
template <class F>
void careless(F&& f) {
  try {
    f();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the test does what no body should do
  }
}

}  // namespace holdfast
