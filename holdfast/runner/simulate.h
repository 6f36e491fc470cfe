// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/json.h"
#include "holdfast/runner/progress.h"

namespace holdfast {

/// Runs a workload on the simulated machine, under a random schedule that follows from the seed,
/// and checks it afterwards. Functional: what happens is exact, how long it takes is not modelled.
///
/// Fields of spec, all but workload optional:
///   workload, engines, threads, domain (default pmem), params, options, bytes, max_bytes, seed
///              as for bench; there is no `plain`
///   machine    sim
///   transactions  per thread; default 1000
///
/// Returns Google Benchmark's schema, with one entry (run_type "aggregate", aggregate_name
/// "median") per configuration: iterations (operations), operations (by kind), the engine's
/// counters as for bench, persist (pwb, pfence, psync, fence, bytes), simulated_steps (machine
/// operations of the measured part), persist_events, host_seconds, check. real_time is 0: this
/// machine has no time yet.
Result<Json> simulate(const Json& spec, Progress progress);

}  // namespace holdfast
