// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/sim_world.h"
#include "tests/sanitized.h"

namespace holdfast::conformance {

void register_simulated();

void register_simulated() {
  bool power_turn = false;
  for (const auto& row : engine_rows<SimMachine>()) {
    const std::string engine = row.description->name;
    if (row.description->needs_design) {  // and therefore a timed machine
      for (const char* machine : {"tiny", "gem5-hercules", "power9"}) {
        register_all<SimWorld>("sim/hw/" + std::string(machine), [engine, machine] {
          return std::make_unique<SimWorld>(engine, machine, 8, Schedule::timed);
        });
      }
      continue;
    }
    const Domain usual = usual_domain(*row.description);
    for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
      if (!row.description->runs_in(domain) || (kSanitized && domain != usual)) {
        continue;
      }
      register_all<SimWorld>("sim/" + engine + "/" + to_string(domain), [engine, domain] {
        return std::make_unique<SimWorld>(engine, domain, 1);
      });
    }
    // Long lines, like POWER's, and some more schedules.
    register_all<SimWorld>("sim/" + engine + "/line128", [engine, usual] {
      return std::make_unique<SimWorld>(engine, usual, 7, 128);
    });
    for (uint64_t seed = 100; seed < (kSanitized ? 100 : 105); ++seed) {
      register_all<SimWorld>(
          "sim/" + engine + "/seed" + std::to_string(seed),
          [engine, usual, seed] { return std::make_unique<SimWorld>(engine, usual, seed); });
    }
    // Described computers, with their caches, limits and all their threads. Under a sanitizer each
    // of them has one kind of schedule, and an engine one of them.
    power_turn = !power_turn;
    for (const char* machine : {"power9", "sapphire-rapids"}) {
      const bool power = machine == std::string("power9");
      for (const Schedule schedule : {Schedule::timed, Schedule::random}) {
        if (kSanitized && (power != (schedule == Schedule::timed) || power != power_turn)) {
          continue;
        }
        const char* name = schedule == Schedule::timed ? "timed" : "random";
        register_all<SimWorld>("sim/" + engine + "/" + machine + "/" + name,
                               [engine, machine, schedule] {
                                 return std::make_unique<SimWorld>(engine, machine, 64, schedule);
                               });
      }
    }
  }
}

}  // namespace holdfast::conformance
