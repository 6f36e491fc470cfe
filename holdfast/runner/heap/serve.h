// SPDX-License-Identifier: Apache-2.0
//
// The two halves of a kill test: a worker process that runs a workload and acknowledges every
// operation through a pipe until it is killed, and the verification of those acknowledgements after
// recovery.
//
// A kill test shows what a killed process loses: memory, and operations in flight. It does not show
// what a power cut loses, because the kernel keeps everything written to the file.
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
/// `open` defaults to create_or_open so that the worker can be started again on the same heap.
///
/// Writes a Record with kind kReady to fd once the heap is open, then one per operation. Each
/// record follows the return of its operation, which is durable by then. A kill in between leaves a
/// durable operation without a record, which verify() accepts. `fd` must be a pipe: the kernel
/// neither splits nor mixes the records of several threads there.
///
/// Closes the heap at its limits. When the reader closes the pipe, the threads finish their
/// operations, and the heap is closed without an error. Only if the pipe is closed before the ready
/// record is the result an error. Returns operations, seconds, created, open_seconds, recovery,
/// domain.
Result<Json> serve(const Json& spec, int fd);

/// Opens the heap of spec (open defaults to open, since it must exist), which recovers it. Then
/// verifies every acknowledgement in `records`, runs the workload's check and walks the heap. `ok`
/// is true if all three find no failure.
///
/// Returns ok, open_seconds, recovery, domain, operations, acknowledged, verified, failures[] (the
/// first 20), failure_count, check, heap_check, check_seconds, by_operation. `operations` counts
/// all records. `acknowledged` counts those that promise something: not read-only operations, and
/// none without the parameter `ack`.
///
/// Code::corrupt if `records` ends inside a record or names an operation that the workload does not
/// have. It may run again on the same heap and records, also after it was killed itself.
Result<Json> verify(const Json& spec, std::string_view records, Progress progress);

/// A recovery report as JSON.
Json to_json(const RecoveryReport& report);

}  // namespace holdfast
