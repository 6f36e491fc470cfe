// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Cuts the power of a simulated machine at the persist events of a small concurrent program, and
/// judges the recovered state (check/crash/crash_explorer.h).
///
/// Fields of spec, all but workload and engine optional:
///
///   workload        `registers`: random programs in which every value names its writer, judged by
///                   the isolation and durability checkers. Other workloads need a sequential model
///                   and are judged by their clients' answers
///                   (check/linearizability/linearizability.h). A workload without one is refused
///   engine, params, options, domain, bytes, max_bytes
///                   as for sim, with small defaults: tiny logs unless an option says otherwise, a
///                   heap of 16 KiB (64 for a structure), a structure of a few elements. For
///                   `registers` the params are those of crash_registers_info()
///   program         for `registers`: one program (check/registers/register_program.h) instead of
///                   random ones
///   machine, machines_dir, design, design_options
///                   as for sim
///   schedule        random (default without a design), timed, or exhaustive
///   preemptions, drains
///                   bounds of an exhaustive search; default 2 and 2
///   switch_probability, drain_probability
///                   of a random schedule; default: varied by seed
///   seed, schedules seeds from seed to seed + schedules - 1; default 1 and 100. With a design, all
///                   seeds but 1 disturb the machine (SimOptions::disturb)
///   program_seed    the same random program in all of them; default 0: one per seed
///   points          crash points per schedule, evenly spread; 0 (default): all
///   events          persist events to expect of the first schedule, which spreads its points by
///                   them; default 0: it takes all its points
///   point           this crash point only
///   images          most per crash point; default 16
///   crash_recovery, go_on
///                   one image in so many is also crashed during its recovery, or has the program
///                   run on; 0: none; default 64 and 64
///   violations      number at which to stop; default 1
///   mutants         with a design: most planted bugs for each kind of change and of fault
///                   (check/crash/design_mutants.h); default 0: none. They run in all schedules, if
///                   the sound design shows no violation
///   isolation       level to judge by, snapshot or opaque; default: the engine's promise
///   mutations       list of SITE=KIND (machine/sim/description/mutation.h)
///   sites           whether to list the labelled sites that were met; default false
///   rmw_orders_pwb  for the functional machine; default true
///   journal         domain file has the rule of a journal (SimOptions::journal); default false
///   timeline        file for a drawing of the first violation, in trace-event JSON. The result
///                   then
///                   has `timeline` (path; missing: the reason for no drawing, or empty)
///   minimise        makes the program of the first violation smaller; default true
///
/// Returns an object: engine, workload, domain, machine, points, schedules, images (numbers),
/// coverage (all of check::CrashCoverage), lost_max (the most acknowledged updates that a crash has
/// lost, within the engine's promise), probes (an object: each rare path taken, and how often),
/// sites[] (name, kind, count; if asked for), mutated
/// (number of operations that a mutation changed), violations[] (each with name, phase, text,
/// program, seed, point, image, story, and `replay`: the spec that shows it again).
///
/// With a design also: design, design_coverage[] (name, met, behind; see
/// check/crash/design_coverage.h), uncovered[] (the names behind which no crash point fell). With
/// mutants: mutants (planted, caught, equivalent, masked, survivors[] with change, kind and number;
/// see check/crash/design_mutants.h).
Result<Json> crash(const Json& spec, Progress progress);

}  // namespace holdfast
