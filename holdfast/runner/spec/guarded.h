// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/base/status.h"

namespace holdfast {

/// Inside a handler: converts an exception of this library, of the JSON library or of the memory
/// allocator to a Status. Rethrows any other, such as a Python exception out of a progress
/// callback.
Status caught_by_entry();
/// Like the function above, for a worker thread, which no exception may leave: converts them all.
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
