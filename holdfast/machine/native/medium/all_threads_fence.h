// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::native {

/// True if the kernel can fence all threads of this process (Linux membarrier, private expedited).
/// Registers the process for that.
bool can_fence_all_threads();

/// Returns after each thread of the process has executed a full fence since the call began. Costs a
/// system call, which interrupts the processors that run such threads.
void fence_all_threads();

}  // namespace holdfast::native
