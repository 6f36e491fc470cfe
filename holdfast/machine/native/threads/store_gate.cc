// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/threads/store_gate.h"

#include <thread>

namespace holdfast::native {

bool StoreGate::close(std::chrono::microseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  closed_.store(true);
  for (const Slot& slot : inside_) {
    // Sequentially consistent, and at least acquire: pairs with enter() and leave().
    while (slot.count.load() != 0) {
      if (std::chrono::steady_clock::now() >= end) {
        open();
        return false;
      }
      std::this_thread::yield();
    }
  }
  return true;
}

void StoreGate::open() {
  closed_.store(false);
  closed_.notify_all();
}

}  // namespace holdfast::native
