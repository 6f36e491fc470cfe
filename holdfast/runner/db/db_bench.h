// SPDX-License-Identifier: Apache-2.0
//
// `holdfast db bench`: HoldfastDB, and other key-value stores beside it, under the benchmarks of
// LevelDB's db_bench and the workloads of YCSB. In each round every store does every step, A B C A
// B C ..., so that a disturbance of the computer affects all of them alike. The report has medians
// and the spread over the rounds.
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Fields of spec, all optional:
///   benchmarks  list of names; an entry may also be an object, a YCSB workload by the names of its
///               properties (runner/db/ycsb.h); default: fillseq
///   num, reads, value_size  as db_bench's; reads default to num
///   threads     default 1; each does all operations, except YCSB's, which the threads share
///   engines, domains, options  of HoldfastDB: one store for each pair
///   journal_bytes  the size of a journal in the databases of domain file; 0: none; default: on a
///                  disk a journal, in memory none (db::Options)
///   peers       list of names
///   peers_dir   folder of their plug-ins; default: this build's
///   sync        "default": fillsync and YCSB ask peers for durable writes, other steps do not;
///               "always", "never"
///   rounds      default 1
///   each        true: all operations are timed, not one in sixteen
///   dir         folder for the databases; default /dev/shm
///   seed        default 1
///
/// Returns Google Benchmark's schema. "context" has also `stores` (name, version) and `missing`
/// (name, reason). For each step and store there is one entry with run_type "iteration" per round
/// and one "aggregate", the median, with benchmark, store, survives, micros_per_op,
/// megabytes_per_second (absent where db_bench prints none), looked and found,
/// items_per_second with _min and _max, percentiles in ns, and the same per kind of operation.
/// A step that failed has error_occurred and error_message instead.
Result<Json> db_bench(const Json& spec, Progress progress);

/// Lists the benchmarks (name, help) and the peers (name; file: its plug-in; missing: the remedy if
/// this build does not have that, else empty).
Json db_bench_catalog();

}  // namespace holdfast
