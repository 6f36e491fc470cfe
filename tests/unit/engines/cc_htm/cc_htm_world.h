// SPDX-License-Identifier: Apache-2.0
//
// A simulated machine with a formatted heap of engine cc-htm.
#pragma once

#include <string>
#include <utility>

#include "holdfast/engines/cc_htm/cc_htm.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::cc_htm_test {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
using Heap = EngineFixture<CcHtm<SimMachine>>;

inline SimOptions machine_options(int threads, uint64_t seed) {
  SimOptions o;
  o.threads = threads;
  o.seed = seed;
  return o;
}

struct World {
  explicit World(Options options = {}, int threads = 2, uint64_t seed = 1)
      : World(std::move(options), machine_options(threads, seed)) {}
  World(Options options, const SimOptions& of_machine)
      : machine(of_machine), heap(machine, shape(std::move(options), of_machine.threads)) {
    heap.format().check();
    heap.recover().check();
  }
  /// The smallest logs and tables, unless other ones are given.
  static EngineFixtureShape shape(Options options, int threads) {
    options.insert({"log_bytes", "2048"});
    options.insert({"alias_bytes", "4096"});
    return {.options = std::move(options), .bytes = kPageBytes, .max_threads = threads};
  }
  uint64_t at_home(size_t word) const {
    return SimMachine::load(reinterpret_cast<uint64_t*>(heap.regions().home) + word);
  }
  SimMachine machine;
  Heap heap;
};

}  // namespace holdfast::cc_htm_test
