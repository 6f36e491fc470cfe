// SPDX-License-Identifier: Apache-2.0
//
// In place of io_uring_flush.cc where liburing is missing.
#include "holdfast/machine/native/medium/flush.h"

namespace holdfast::native {

std::unique_ptr<Flush> make_io_uring_flush(int /*fd*/) {
  return nullptr;
}

}  // namespace holdfast::native
