// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::native {

/// Whether the kernel can fence all threads of this process (Linux membarrier, private expedited).
/// Registers the process for it.
bool can_fence_all_threads();

/// On return every thread of the process has executed a full fence since the call began.
void fence_all_threads();

}  // namespace holdfast::native
