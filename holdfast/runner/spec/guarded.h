// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/base/status.h"

namespace holdfast {

/// Inside a handler: the exception as a Status, if it is one of this library's, of JSON's or of
/// memory; anything else (a Python exception out of a progress callback) is thrown on.
Status caught_by_entry();
/// The same on a worker thread, where no exception may leave: all of them become a Status.
Status caught_by_worker();

template <class F>
auto guarded(F&& f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (...) {
    return caught_by_entry();
  }
}

template <class F>
Status run_guarded(F&& f) {
  try {
    f();
    return {};
  } catch (...) {
    return caught_by_worker();
  }
}

}  // namespace holdfast
