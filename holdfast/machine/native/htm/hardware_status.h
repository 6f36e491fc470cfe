// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// The code of abort() in the failure status. It tells the engine's aborts from those of the
/// system. Codes are even, because the lowest bit of POWER's failure code means "persistent". They
/// are below 0xd0, where the codes of Linux begin (asm/tm.h).
constexpr uint8_t status_code(AbortCode code) {
  return static_cast<uint8_t>(0x40 + 2 * static_cast<int>(code));
}
/// The code of cancel(): an exception of the user is about to leave the body.
inline constexpr uint8_t kCancelAbort = 4;

/// The cause that EAX holds after an RTM transaction has aborted (Intel SDM 1, 16.3.5).
AbortCause rtm_cause(uint32_t eax);
/// The code of abort(), if that is the cause.
AbortCode rtm_code(uint32_t eax);

/// The cause that POWER's Transaction EXception And Status Register holds (Power ISA 2.07, book II
/// 5.4).
AbortCause power_cause(uint64_t texasr);
/// The code of abort(), if that is the cause.
AbortCode power_code(uint64_t texasr);

}  // namespace holdfast::native
