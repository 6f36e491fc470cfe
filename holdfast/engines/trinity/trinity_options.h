// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/records/record_area.h"
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast::trinity {

inline constexpr OptionInfo kOptions[] = {kRecordsOption, kLocksOption, kPatienceOption,
                                          kUntrackedReadsOption};

/// The layout of the engine area. There is a mark for every slot; the machine's main and background
/// threads have slots as well.
Result<RecordArea> area(const Options& options, int max_threads);
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::trinity
