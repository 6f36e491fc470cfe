// SPDX-License-Identifier: Apache-2.0
//
// The request for simulated runs: reads and checks the JSON that simulate() takes.
#pragma once

#include <string>
#include <vector>

#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Everything a spec asks for, checked.
struct SimSpec {
  SessionSpec common;
  std::vector<std::string> engines;
  std::vector<int> threads;
  std::vector<int> replayers;  ///< empty: transactions are measured, not log replay
  bool filter = false;
  std::string machine;
  MachineChanges changes;  ///< of its description
  SimPlan run;
};

/// Reads the fields listed in simulate.h. Throws Error(invalid_argument) for an unknown field or
/// value and for fields that contradict each other, and Error(not_found) for an unknown name. Opens
/// the timeline file if one is asked for.
SimSpec parse_sim_spec(const Json& spec);

}  // namespace holdfast
