// SPDX-License-Identifier: Apache-2.0
//
// The part of SimMachine that counts rare paths, and tells what its hardware design and its medium
// have counted.
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

void SimMachine::reach(Probe probe) {
  if (const sim::SimThread* const thread = sim::current_thread; thread != nullptr) {
    ++thread->machine.probes_[probe.name];
  }
}

std::map<std::string, uint64_t> SimMachine::probes() const {
  std::map<std::string, uint64_t> counts;
  for_each_probe([&](const char* name, uint64_t count) { counts[name] += count; });
  return counts;
}

void SimMachine::for_each_probe(FunctionRef<void(const char*, uint64_t)> f) const {
  for (const auto& [name, count] : probes_) {
    f(name, count);
  }
}

DesignRecovery SimMachine::design_recovery() const {
  return memory_.design() == nullptr ? DesignRecovery{} : memory_.design()->recovery();
}

DesignCounters SimMachine::design_counters() const {
  return memory_.design() == nullptr ? DesignCounters{} : memory_.design()->counters();
}

std::vector<DesignCoverageRow> SimMachine::design_coverage() const {
  return memory_.design() == nullptr ? std::vector<DesignCoverageRow>()
                                     : memory_.design()->coverage();
}

uint64_t SimMachine::design_structure_bytes() const {
  return memory_.design() == nullptr ? 0 : memory_.design()->structure_bytes();
}

sim::MemoryCounters SimMachine::medium_counters() const {
  return memory_.timing() == nullptr ? sim::MemoryCounters{}
                                     : memory_.timing()->medium_controller().counters();
}

void SimMachine::count_wear() {
  if (memory_.timing() != nullptr) {
    memory_.timing()->medium_controller().count_wear();
  }
}

sim::WearSummary SimMachine::medium_wear() const {
  return memory_.timing() == nullptr ? sim::WearSummary{}
                                     : memory_.timing()->medium_controller().wear();
}

DesignChangeCounts SimMachine::design_changes() const {
  return memory_.design() == nullptr ? DesignChangeCounts{} : memory_.design()->changes();
}

}  // namespace holdfast
