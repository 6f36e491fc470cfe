// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Where and with what a measurement was made, with the names Google Benchmark uses for its
/// "context": date, host, processor, caches, load; and kernel, compiler, build, commit, assertions.
Json environment();

/// Of this processor: architecture, model, and whether it has the instructions that matter here
/// (clflush, clflushopt, clwb, rtm, tsxldtrk).
Json processor();

}  // namespace holdfast
