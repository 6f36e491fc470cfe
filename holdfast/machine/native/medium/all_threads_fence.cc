// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/all_threads_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast/machine/native/medium/write_back.h"

namespace holdfast::native {
namespace {

long membarrier(int command) {
  return ::syscall(__NR_membarrier, command, 0U, 0);
}

}  // namespace

bool can_fence_all_threads() {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void fence_all_threads() {
  // Separates the caller's earlier stores from its later loads, even if the call is interrupted.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  static_cast<void>(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace holdfast::native
