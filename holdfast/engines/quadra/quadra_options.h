// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/records/record_area.h"

namespace holdfast::quadra {

inline constexpr OptionInfo kOptions[] = {
    kRecordsOption,
    {"combine", "1",
     "0: every thread runs its own updates; 1: one thread runs those of all that wait"}};

/// The layout of the engine area. It has no marks: the records tell what is durable.
Result<RecordArea> area(const Options& options);
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::quadra
