// SPDX-License-Identifier: Apache-2.0
//
// Any engine of the registry, without a heap, and a short program that takes it through its paths:
// for tests that ask something of every engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_facts.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/row_heap.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::engine_rows_test {

inline const EngineRow<SimMachine>& row_of(const std::string& name) {
  for (const EngineRow<SimMachine>& row : engine_rows<SimMachine>()) {
    if (name == row.description->name) {
      return row;
    }
  }
  throw std::invalid_argument("no engine " + name);
}

using RowHeap = EngineRowHeap<SimMachine>;

struct BodyFails {};

/// Transactions of every kind: words, ranges, reads only, stores nothing, throws.
inline void mixed_transactions(RowHeap& heap, int worker, int n) {
  auto& engine = heap.engine();
  for (int k = 1; k <= n; ++k) {
    const uint64_t value = static_cast<uint64_t>(worker) * 100 + static_cast<uint64_t>(k);
    engine.update([&] {
      heap.set(0, heap.get(0) + 1);
      heap.fill(16, value);
      engine.metadata();
      heap.set(0, heap.get(0) + 1);
    });
    engine.read([&] { static_cast<void>(heap.get(0) + heap.get(16)); });
    engine.update([&] { static_cast<void>(heap.get(0)); });
    bool failed = false;
    try {
      engine.update([&] {
        heap.set(8, value);
        throw BodyFails();
      });
    } catch (const BodyFails&) {
      failed = true;
    }
    EXPECT_TRUE(failed);
  }
}

/// A machine for the engine: a functional one, or, for an engine that needs a design, a timed one
/// with the plainest design.
inline SimOptions machine_for(const Description& engine, uint64_t seed) {
  SimOptions o = engine.needs_design
                     ? design_test::options(design_test::tiny(), design_test::volatile_design())
                     : SimOptions{};
  if (!engine.needs_design) {
    o.domain = usual_domain(engine);
  }
  o.threads = RowHeap::kThreads;
  o.seed = seed;
  o.slot_order = seed;
  return o;
}

/// For parameters of tests: the names of all engines.
inline std::vector<std::string> engine_names() {
  return names_of(engine_rows<SimMachine>(), [](const auto&) { return true; });
}

/// The first engine of the registry that `chosen` is true for.
template <class F>
const EngineRow<SimMachine>& first_row(F&& chosen) {
  for (const EngineRow<SimMachine>& row : engine_rows<SimMachine>()) {
    if (chosen(row)) {
      return row;
    }
  }
  throw std::invalid_argument("no engine of this kind");
}

}  // namespace holdfast::engine_rows_test
