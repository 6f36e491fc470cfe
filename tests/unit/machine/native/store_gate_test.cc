// SPDX-License-Identifier: Apache-2.0
//
// Does the closed gate keep every thread out, and does it open when one of them stays inside?
#include "holdfast/machine/native/threads/store_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::native::store_gate_test {
namespace {

using namespace std::chrono_literals;

TEST(StoreGate, NoThreadIsInsideWhileItIsClosed) {
  constexpr int kThreads = 2;
  StoreGate gate(kThreads);
  std::atomic<bool> stop{false};
  std::atomic<bool> closed{false};
  std::atomic<uint64_t> entered{0};
  uint64_t plain = 0;  // guarded by the gate: a thread's store beside the closer's is a race
  std::vector<uint64_t> mine(kThreads);
  std::vector<std::thread> threads;
  for (int slot = 0; slot < kThreads; ++slot) {
    threads.emplace_back([&, slot] {
      while (!stop) {
        gate.enter(slot);
        gate.enter(slot);  // scopes nest
        EXPECT_FALSE(closed);
        ++mine[static_cast<size_t>(slot)];
        gate.leave(slot);
        EXPECT_FALSE(closed);
        gate.leave(slot);
        ++entered;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const uint64_t before = entered;
    while (entered == before) {
      std::this_thread::yield();
    }
    if (gate.close(60s)) {
      closed = true;
      for (const uint64_t one : mine) {
        plain += one;
      }
      closed = false;
      gate.open();
    }
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_GT(plain, 0u);
}

TEST(StoreGate, OpensAgainWhenAThreadStaysInside) {
  StoreGate gate(2);
  gate.enter(0);
  EXPECT_FALSE(gate.close(100us));
  gate.enter(1);  // does not wait
  gate.leave(1);
  gate.leave(0);
  EXPECT_TRUE(gate.close(60s));
  gate.open();
}

}  // namespace
}  // namespace holdfast::native::store_gate_test
