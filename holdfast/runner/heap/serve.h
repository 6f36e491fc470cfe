// SPDX-License-Identifier: Apache-2.0
//
// The two halves of a kill test: a worker process that runs a workload and acknowledges every
// operation through a pipe until it is killed, and the verification of those acknowledgements after
// recovery.
#pragma once

#include <string_view>

#include "holdfast/engines/engine.h"
#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Fields of spec: those of a session (engine, workload, params, options, path, open, bytes,
/// max_bytes, threads, domain, force, latency, htm, seed; open defaults to create_or_open), and
///
///   transactions  operations over all threads after which to stop; 0: no limit
///   seconds       time after which to stop; 0: no limit
///
/// Writes a Record with kind kReady to fd once the heap is open, then one per operation, each after
/// the operation has returned. Ends quietly when the reader closes the pipe. Returns operations,
/// seconds, created, recovery.
Result<Json> serve(const Json& spec, int fd);

/// Opens the heap of spec (open defaults to open), which recovers it; then verifies every
/// acknowledgement in `records`, runs the workload's check and walks the heap. Returns ok,
/// open_seconds, recovery, operations, acknowledged, verified, failures[] (the first 20),
/// failure_count, check, heap_check, by_operation.
Result<Json> verify(const Json& spec, std::string_view records, Progress progress);

/// A recovery report as JSON.
Json to_json(const RecoveryReport& report);

}  // namespace holdfast
