// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::undo_suite {

/// A machine with a heap, and the persistence operations of updates.
template <class E>
class OneHeap {
 public:
  explicit OneHeap(const Options& options = {}, const SimOptions& sim = machine_options())
      : machine_(sim), heap_(machine_, {.options = options}) {
    heap_.format().check();
    heap_.recover().check();
  }

  static SimOptions machine_options() {
    SimOptions options;
    options.domain = usual_domain(E::kDescription);
    return options;
  }

  EngineFixture<E>* operator->() { return &heap_; }
  SimMachine& machine() { return machine_; }

  PersistCounters cost(FunctionRef<void()> body) {
    const PersistCounters before = machine_.counters();
    heap_.engine().update(body);
    return machine_.counters() - before;
  }

 private:
  SimMachine machine_;
  EngineFixture<E> heap_;
};

}  // namespace holdfast::undo_suite
