// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/records/record_area.h"
#include "holdfast/engines/parts/frame/combined_options.h"

namespace holdfast::quadra {

inline constexpr OptionInfo kOptions[] = {
    {"records", "131072",
     "words with a record of 32 bytes at a time, 16 to 2097152, a multiple of 4; a larger "
     "transaction takes a log in the heap's data",
     "64"},
    kCombineOption,
    kCommitOption,
    kLagOption,
    kLagTimeOption};

/// The layout of the engine area. It has no marks: the records tell what is durable.
Result<RecordArea> area(const Options& options);
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::quadra
