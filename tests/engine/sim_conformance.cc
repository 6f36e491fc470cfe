// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/sim_world.h"

namespace holdfast::conformance {

void register_simulated();

void register_simulated() {
  for (const auto& row : engine_rows<SimMachine>()) {
    const std::string engine = row.description->name;
    for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
      register_all<SimWorld>("sim/" + engine + "/" + to_string(domain), [engine, domain] {
        return std::make_unique<SimWorld>(engine, domain, 1);
      });
    }
    // Long lines (POWER), and a few more schedules.
    register_all<SimWorld>("sim/" + engine + "/line128", [engine] {
      return std::make_unique<SimWorld>(engine, Domain::pmem, 7, 128);
    });
    for (uint64_t seed = 100; seed < 105; ++seed) {
      register_all<SimWorld>("sim/" + engine + "/seed" + std::to_string(seed), [engine, seed] {
        return std::make_unique<SimWorld>(engine, Domain::pmem, seed);
      });
    }
  }
}

}  // namespace holdfast::conformance
