// SPDX-License-Identifier: Apache-2.0
//
// RTM instructions on processors that do not have them.
#pragma once

#include "holdfast/machine/native/htm/htm_support.h"

#if defined(__x86_64__)
#include <signal.h>
#include <ucontext.h>

#include <cstring>
#endif

namespace holdfast {

/// Makes transactions abort if a test forces a backend that the processor does not announce.
///
/// QEMU's POWER, and Intel processors with RTM turned off, abort them without help. On other x86
/// processors XBEGIN is illegal; a signal handler then imitates an abort. It has no effect
/// elsewhere.
class RtmStandIn {
 public:
  RtmStandIn() {
#if defined(__x86_64__)
    struct sigaction action{};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
#endif
  }

#if defined(__x86_64__)
 private:
  static void handle(int /*signal*/, siginfo_t* /*info*/, void* context) {
    auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
    if (std::memcmp(at, "\xc7\xf8", 2) == 0) {  // xbegin: jumps to its target; EAX has no reason
      int32_t distance;
      std::memcpy(&distance, at + 2, sizeof distance);
      registers[REG_RAX] = 0;
      registers[REG_RIP] += 6 + distance;
    } else if (std::memcmp(at, "\x0f\x01\xd6", 3) == 0) {  // xtest: ZF means outside
      constexpr greg_t kZeroFlag = 1 << 6;
      registers[REG_EFL] |= kZeroFlag;
      registers[REG_RIP] += 3;
    } else {
      signal(SIGILL, SIG_DFL);
    }
  }
#endif
};

}  // namespace holdfast
