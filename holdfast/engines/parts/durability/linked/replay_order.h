// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// How a replayer of linked logs finds the next transaction: linked_log_replayer.h.
enum class ReplayOrder : uint8_t { links, scan };

}  // namespace holdfast
