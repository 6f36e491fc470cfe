// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// What our own aborts leave in the failure status, to be told from the system's. Even, because the
/// lowest bit of POWER's failure code says "persistent"; below 0xd0, where Linux' own codes begin
/// (its asm/tm.h).
inline constexpr uint8_t kExplicitAbort = 2;
/// cancel(): an exception of the user's is about to leave the body. No abort the engine asked for.
inline constexpr uint8_t kCancelAbort = 4;

/// The cause in EAX behind an aborted RTM transaction (Intel SDM 1, 16.3.5).
AbortCause rtm_cause(uint32_t eax);

/// The cause in POWER's Transaction EXception And Status Register (Power ISA 2.07, book II 5.4).
AbortCause power_cause(uint64_t texasr);

}  // namespace holdfast::native
