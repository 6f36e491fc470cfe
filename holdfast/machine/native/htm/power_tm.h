// SPDX-License-Identifier: Apache-2.0
//
// The transactional memory of POWER, instruction by instruction (Power ISA 2.07, book II chapter
// 5).
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/htm/hardware_status.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native::hardware {

inline constexpr HtmBackend kBackend = HtmBackend::power;
inline constexpr bool kSuspends = true;

/// Result of begin(): inside a transaction, or after one that was rolled back.
struct Arrival {
  bool inside;
  uint64_t status;
  AbortCause cause() const { return power_cause(status); }
  AbortCode code() const { return power_code(status); }
};

/// After a failure execution continues behind tbegin. with the registers of that moment, except
/// CR0: its EQ bit tells of the failure. Always inlined. Stores made while suspended are not rolled
/// back, so a frame that had been left could come back with words of another function in it.
[[gnu::always_inline]] inline Arrival begin(Tracking tracking) {
  uint64_t failed;
  if (tracking == Tracking::stores) {  // a rollback-only transaction
    asm volatile("tbegin. 1\n\tli %0,0\n\tbne+ 0,1f\n\tli %0,1\n1:"
                 : "=r"(failed)::"cr0", "memory");
  } else {
    asm volatile("tbegin. 0\n\tli %0,0\n\tbne+ 0,1f\n\tli %0,1\n1:"
                 : "=r"(failed)::"cr0", "memory");
  }
  if (failed == 0) [[likely]] {
    return {true, 0};
  }
  uint64_t texasr;
  asm volatile("mfspr %0,130" : "=r"(texasr)::"memory");
  return {false, texasr};
}

inline void end() {
  asm volatile("tend. 0" ::: "cr0", "memory");
}

/// Does nothing outside a transaction.
template <uint8_t kCode>
inline void abort() {
  asm volatile("tabort. %0" ::"r"(uint64_t{kCode}) : "cr0", "memory");
}

/// { doomed:1 | transaction state:2 | 0:1 }; the state is 0 outside, 1 suspended, 2 transactional.
inline uint64_t state() {
  uint64_t fields;
  asm volatile("tcheck 0\n\tmfcr %0" : "=r"(fields)::"cr0", "memory");
  return (fields >> 28) & 15;
}
inline bool active() {
  return (state() & 6) != 0;
}
/// True if the transaction is suspended and doomed. A doomed transaction that is not suspended
/// cannot ask: it rolls back at any moment.
inline bool doomed() {
  return (state() & 14) == 10;
}

inline void suspend() {
  asm volatile("tsr. 0" ::: "cr0", "memory");
}
inline void resume() {
  asm volatile("tsr. 1" ::: "cr0", "memory");
}

inline void suspend_loads() {}
inline void resume_loads() {}

}  // namespace holdfast::native::hardware
