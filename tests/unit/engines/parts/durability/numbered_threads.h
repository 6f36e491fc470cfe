// SPDX-License-Identifier: Apache-2.0
//
// A question for engines that give each thread of a heap a log when the heap is made.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {

/// A heap has logs for so many threads. One more is refused, and touches none of them.
template <class E>
void expect_threads_without_a_log_refused(size_t log_bytes) {
  SimMachine machine({.threads = 3});
  EngineFixture<E> heap(
      machine,
      {.options = {{"log_bytes", std::to_string(log_bytes)}, {"markers", "64"}}, .max_threads = 1});
  heap.format().check();
  heap.recover().check();
  heap.write(0, 1);  // by the main thread, which has the first slot
  int refused = 0;
  machine.run_threads(3, [&](int worker) {
    const auto own = static_cast<size_t>(worker + 1) * 64;
    for (const bool update : {true, false}) {
      try {
        update ? heap.write(own, 7) : static_cast<void>(heap.read(own));
      } catch (const Error& error) {
        EXPECT_EQ(error.status().code(), Code::too_many_threads);
        ++refused;
      }
    }
  });
  EXPECT_EQ(refused, 2 * 2);
  EXPECT_EQ(heap.read(64) + heap.read(128) + heap.read(192), 7u);
}

}  // namespace holdfast
