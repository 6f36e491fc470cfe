// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// Fills logs with transactions, then measures on this computer how long their replay takes.
///
/// Fields of spec, all but workload optional:
///   workload, params, options, bytes, max_bytes, domain, force, latency, htm, seed,
///   dir           as for bench; option background is 0
///   engines       names; default: all that `engines` lists with `replays`
///   threads       list of numbers of threads that fill the logs; default [1]
///   replayers     list of numbers of threads that replay them; default [1]
///   filter        only the newest value of each word; default false
///   transactions  per thread that fills; default 1000
///   repetitions   turns of filling and replaying per configuration; default 5
///   check         whether to open the heap anew afterwards and check the workload; default true
///
/// Returns Google Benchmark's schema with one entry per configuration (replay_entry.h), of the turn
/// with the median time, with items_per_second_min and _max over the turns.
Result<Json> replay(const Json& spec, Progress progress);

}  // namespace holdfast
