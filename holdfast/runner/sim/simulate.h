// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Runs a workload on a simulated machine and checks it afterwards. The events are exact and follow
/// from the seed. Their times come from a model, where the machine has a description.
///
/// Fields of spec, all but workload optional:
///
///   workload, engines, threads, params, options, bytes, max_bytes, seed
///                   as for bench; there is no `plain`
///   domain          default pmem, or eadr on a machine whose caches are in the persistence domain,
///                   or if all engines need caches that survive
///   machine         sim (functional; the default), a name `machines` lists, or a path to a .toml
///   machines_dir    folder of descriptions; default: the source tree's
///   design          hardware design of a timed run (a name `designs` lists). Needs an engine that
///                   uses designs; the default is every such engine
///   design_options  the design's options by name
///   schedule        timed (default where the machine has a description) or random
///   set             values that replace those of the description, by "table.key"
///   transactions    per thread, in the measured part; default 1000
///   warm_up         per thread, before it; default a tenth of `transactions`
///   duration_us, warm_up_us
///                   in their place: threads begin transactions until so much simulated time has
///                   passed; a transaction that ends later counts in part. Default of warm_up_us:
///                   a tenth
///   arrivals        transactions per second of simulated time that arrive at random times, for all
///                   threads together (arrivals.h); default 0: each thread begins the next one at
///                   once. Needs duration_us
///   gauge_us        microseconds between samples of the updates that are not durable; default 0:
///                   none. One more thread takes them. Needs duration_us
///   beside          btree or rbtree: one more thread, without transactions, inserts random keys
///                   into such a tree in volatile memory as long as the others run
///                   (ordinary_thread.h). It has the next core, or shares the first one if all
///                   cores have a thread. Default: no such thread. Needs simulated time
///   beside_size     elements of the tree at the start; default 100000
///   cache           folder of population images (image_cache.h), or "off"; default see ImageCache
///   check           whether to check the workload afterwards, and to close the heap; default true
///   lint            whether to look for waste and gaps in the use of persistent memory by the
///                   measured part (machine/sim/memory/persist_lint.h); default false. Changes
///                   nothing else
///   replayers       a list of numbers of threads. With it the transactions only fill the logs,
///                   without a warm-up and with background=0; the measurement is how so many
///                   threads replay them (engines/parts/basics/log_replay.h). For engines that
///                   `engines` lists with `replays`
///   filter          with replayers: only the newest value of each word; default false
///   timeline        file for a timeline of the measured part, in trace-event JSON
///                   (machine/sim/threads/timeline.h); only with one engine and one number of
///                   threads
///
/// Returns Google Benchmark's schema, with one entry (run_type "aggregate", aggregate_name
/// "median") per configuration:
///
///   iterations      operations
///   real_time       simulated nanoseconds per operation; 0 without time
///   operations      by kind: count, items_per_second
///   late            operations that ended after duration_us. Rates count the part of each before
///                   that time; other figures count them as others
///   response        on a timed machine: count, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns of
///                   the operations, from begin or arrival to end. Percentiles are right to 0.4 %
///   medium          on a timed machine: writes and reads of the medium, without writes that merged
///                   or were cancelled in the controller's queue and reads served from there;
///                   wear: of its lines, the count of those written, the writes, the most of one
///   caches          on a timed machine: line_bytes; of l1, l2, llc the bytes of one cache and the
///                   count of such caches, as the hardware design has adapted them
///   queued          with arrivals: operations that had arrived and not begun after duration_us
///   pending         with gauge_us: mean and max of the count of updates that have returned, or
///                   soon will, and are not durable, max_age_us of the oldest one, samples: rows of
///                   microseconds since the beginning, count, age of the oldest in microseconds
///   beside          with beside: structure, inserts, miss_rate of the thread at l1, l2 and llc (of
///                   the accesses that reach a level), machine_counters of the thread, which those
///                   of the run contain, too
///   persist         pwb, pfence, psync, fence, bytes
///   machine_counters, the engine's counters as for bench, persist_events
///   simulated_steps machine operations of the measured part
///   simulated_memory_operations
///                   loads, stores and atomics among them
///   simulated_seconds  of a number of transactions: up to the end of the last one
///   host_seconds, host_set_up_seconds
///                   time on this computer of the measured part, and before it
///   host_image      path; built: the reason, or empty
///   timeline        if asked for: path, slices, left_out
///   lint            if asked for: rows of findings, the most frequent first within a kind. `where`
///                   is the label or the phase; `example` is the first one's offset on the medium,
///                   null for a fence
///   check           the verdict
///
/// With replayers an entry has the fields of replay_entry.h instead, and simulated_steps,
/// simulated_memory_operations, simulated_seconds, machine_counters, host_seconds,
/// host_set_up_seconds, host_image and check.
Result<Json> simulate(const Json& spec, Progress progress);

}  // namespace holdfast
