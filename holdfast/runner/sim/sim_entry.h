// SPDX-License-Identifier: Apache-2.0
//
// Turns the outcome of a simulated run into an entry of Google Benchmark's schema, as simulate.h
// describes it.
#pragma once

#include <string>

#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

Json sim_entry(const SessionSpec& spec, const SimRun& run, const SimPlan& plan);

/// An entry without a result; `why` goes into error_message.
Json failed_sim_entry(const SessionSpec& spec, const SimPlan& plan, const std::string& why);

/// The entry of a replay. Completes `measured` from the run.
Json sim_replay_entry(MeasuredReplay measured, const SimReplay& run, const SimPlan& plan);

}  // namespace holdfast
