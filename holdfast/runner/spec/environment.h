// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Describes the environment of a measurement, with the names of Google Benchmark's "context":
/// date, host, processor, caches, load; and also kernel, compiler, build, commit, assertions.
Json environment();

/// Describes this processor: architecture, model, and which of the instructions that Holdfast uses
/// it has (clflush, clflushopt, clwb, rtm, tsxldtrk).
Json processor();

}  // namespace holdfast
