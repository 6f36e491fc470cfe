// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {

/// A small heap of an engine that keeps its words in records, with room for a number of those.
template <class E>
struct RecordWorld {
  static EngineFixtureShape shape(const std::string& records) {
    EngineFixtureShape s;
    for (size_t i = 0; i < E::kDescription.option_count; ++i) {
      const std::string option = E::kDescription.options[i].name;
      if (option == "records" || option == "locks") {
        s.options[option] = option == "records" ? records : "64";
      }
    }
    s.bytes = 2 * kPageBytes;
    s.max_threads = 3;
    return s;
  }

  static SimOptions options(size_t line = kLineBytes) {
    SimOptions o;
    o.threads = 3;
    o.line_bytes = line;
    return o;
  }

  explicit RecordWorld(const std::string& records, size_t line = kLineBytes)
      : machine(options(line)), heap(machine, shape(records)) {
    heap.format().check();
    heap.recover().check();
  }

  /// The persistence operations of a transaction that stores to every third word from `first` on, n
  /// of them.
  PersistCounters cost(size_t first, size_t n, uint64_t value) {
    const PersistCounters before = machine.counters();
    heap.engine().update([&] {
      for (size_t i = 0; i < n; ++i) {
        heap.set(first + 3 * i, value);
      }
    });
    return machine.counters() - before;
  }

  SimMachine machine;
  EngineFixture<E> heap;
};

}  // namespace holdfast
