// SPDX-License-Identifier: Apache-2.0
//
// Native measurement. Every configuration (engine x threads) gets a heap file of its own, set up
// once. Configurations are then measured in turns, A B C A B C ..., so that a disturbance of the
// computer affects all of them alike. The report has the median and the spread over the turns.
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Fields of spec, all but workload optional:
///
///   workload     name
///   engines      list of names, `plain` (the baseline on ordinary memory, always one thread)
///                included; default: all engines
///   threads      list of numbers; default [1]
///   seconds      measured per configuration; default 1
///   repetitions  turns per configuration; default 5. More when a turn would exceed a second, so
///                that progress is called at least about once a second
///   domain       process, file, pmem, eadr; default process
///   force        true: allow a domain the medium does not have
///   latency      preset of emulated delays; default none
///   htm          backend of hardware transactions: auto (default), soft, rtm, power
///   params       object: parameters of the workload
///   options      object: options of engines, as name or engine.name
///   dir          folder for the heap files; default /dev/shm, or for domain file $TMPDIR or
///                /var/tmp
///   bytes, max_bytes
///                of each heap; default: the heap's
///   seed         default 1
///   check        true (default): run the workload's check after the measurement; a failed check is
///                an error
///
/// Returns Google Benchmark's schema: "context" and "benchmarks". Each configuration has one entry
/// with run_type "iteration" per turn, named "tpcc/fur-si/threads:2". One more, with run_type
/// "aggregate" and aggregate_name "median", has all else: items_per_second with _min and _max,
/// operations (per kind: items_per_second, p50_ns, p99_ns), aborts by cause, lock_fallbacks,
/// pwb/pfence/psync per update transaction, bytes_written_per_byte_stored, domain. A configuration
/// that could not run has error_occurred and error_message instead.
Result<Json> bench(const Json& spec, Progress progress);

}  // namespace holdfast
