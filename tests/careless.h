// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

/// Runs f as a careless body would, which catches whatever comes, an abort too, and goes on.
template <class F>
void careless(F&& f) {
  try {
    f();
  } catch (...) {  // NOLINT(bugprone-empty-catch): what a body should not do is what is tested
  }
}

}  // namespace holdfast
