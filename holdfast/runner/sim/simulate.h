// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Runs a workload on a simulated machine and checks it afterwards. What happens is exact and
/// follows from the seed; how long it takes is modelled where the machine has a description.
///
/// Fields of spec, all but workload optional:
///   workload, engines, threads, params, options, bytes, max_bytes, seed
///              as for bench; there is no `plain`
///   domain        default pmem, or eadr on a machine whose caches are in the persistence domain
///   machine       sim (functional; the default), a name `machines` lists, or a path to a .toml
///   machines_dir  where descriptions lie; default: the source tree's
///   design        hardware design of a timed run (a name `designs` lists), for engine hw, which is
///                 then the default; design_options: its options by name
///   schedule      timed (default where the machine has a description) or random
///   set           values in the place of those of the description, by "table.key"
///   transactions  per thread, in the measured part; default 1000
///   warm_up       per thread, before it; default a tenth of `transactions`
///   duration_us, warm_up_us
///                 in their place: threads begin transactions until so much simulated time has
///                 passed; what ends later counts in part; default of warm_up_us: a tenth
///   cache         folder of population images (image_cache.h), or "off"; default see ImageCache
///   check         whether to check the workload afterwards, and to close the heap; default true
///   lint          whether to look for waste and gaps in the use of persistent memory by the
///                 measured part (machine/sim/memory/persist_lint.h); default false. Changes nothing else
///   replayers     a list of numbers of threads. Then the transactions only fill the logs, without
///   a
///                 warm-up and with background=0, and what is measured is how so many threads
///                 replay them (engines/parts/basics/log_replay.h); for engines that `engines` says
///                 `replays` of
///   filter        with replayers: only the newest value of each word; default false
///   timeline      file for a timeline of the measured part, in trace-event JSON
///                 (machine/sim/threads/timeline.h); only with one engine and one number of threads
///
/// Returns Google Benchmark's schema, with one entry (run_type "aggregate", aggregate_name
/// "median") per configuration: iterations (operations), real_time (simulated nanoseconds per
/// operation, 0 without time), operations (by kind: count, items_per_second), late (how many
/// ended after duration_us: in rates they count for their part before it, else as others), the
/// engine's counters as for bench, persist (pwb, pfence, psync, fence, bytes), machine_counters,
/// simulated_steps (machine operations of the measured part), simulated_memory_operations (loads,
/// stores and atomics among them), simulated_seconds, persist_events, host_seconds (of it),
/// host_set_up_seconds, host_image (path; built: why, or empty), timeline (if asked for: path,
/// slices, left_out), lint (if asked for: rows of what was found, where: the label or the phase,
/// count, and example: offset on the medium of the first one since the machine began, null for a
/// fence; what is found most often stands first within its kind), check.
///
/// With replayers an entry has the fields of replay_entry.h instead, and simulated_steps,
/// simulated_memory_operations, simulated_seconds, machine_counters, host_seconds,
/// host_set_up_seconds, host_image and check.
Result<Json> simulate(const Json& spec, Progress progress);

}  // namespace holdfast
