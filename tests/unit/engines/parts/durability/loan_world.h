// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::loan_suite {

/// An engine with a log for about 16 words; the second half of its data is lent.
template <class E>
struct World {
  using Heap = EngineFixture<E>;
  static constexpr size_t kWords = 100;
  static constexpr size_t kLoan = 2 * kPageBytes;

  static EngineFixtureShape shape() {
    EngineFixtureShape s;
    s.options = with_tiny(
        E::kDescription, known_options(E::kDescription, {{"records", "16"}, {"log_bytes", "512"}}));
    s.bytes = 2 * kLoan;
    s.max_threads = 3;
    return s;
  }
  static SimOptions options() {
    SimOptions o;
    o.threads = 3;
    return o;
  }

  World() : machine(options()), heap(machine, shape()) {
    heap.format().check();
    heap.recover().check();
  }

  static void lend(Heap& heap, uint64_t bytes = kLoan) {
    heap.engine().update([&] { heap.engine().lend({kLoan, bytes}); });
  }
  /// Stores to more words than the log holds, none of them beside another.
  static void write_large(Heap& heap, uint64_t value) {
    heap.engine().update([&] {
      for (size_t i = 0; i < kWords; ++i) {
        heap.set(2 * i, value);
      }
    });
  }
  /// The images of power cuts at each persist event of a large update.
  static std::vector<SimImage> cuts_of_large(World& w, uint64_t value) {
    std::vector<SimImage> images;
    w.machine.before_persist_event([&](uint64_t) { images.push_back(w.machine.earliest_image()); });
    w.machine.run_threads(1, [&](int) {
      lend(w.heap);
      write_large(w.heap, value);
    });
    w.machine.before_persist_event({});
    return images;
  }
  /// Returns the value that all words have.
  static uint64_t value_of(Heap& heap) {
    const uint64_t value = heap.read(0);
    for (size_t i = 1; i < kWords; ++i) {
      EXPECT_EQ(heap.read(2 * i), value) << "word " << i;
    }
    return value;
  }

  SimMachine machine;
  Heap heap;
};

}  // namespace holdfast::loan_suite
