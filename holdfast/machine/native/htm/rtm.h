// SPDX-License-Identifier: Apache-2.0
//
// Intel's Restricted Transactional Memory, instruction by instruction (Intel SDM 1, chapter 16).
// Inline assembly, so that the rest of the program is compiled for any x86-64.
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/htm/hardware_status.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native::hardware {

inline constexpr HtmBackend kBackend = HtmBackend::rtm;
inline constexpr bool kSuspends = false;

/// Result of begin(): inside a transaction, or after one that was rolled back.
struct Arrival {
  bool inside;
  uint64_t status;
  AbortCause cause() const { return rtm_cause(static_cast<uint32_t>(status)); }
  AbortCode code() const { return rtm_code(static_cast<uint32_t>(status)); }
};

/// Tracks loads and stores, whatever the argument is.
[[gnu::always_inline]] inline Arrival begin(Tracking /*tracking*/) {
  constexpr uint32_t kInside = ~uint32_t{0};
  uint32_t eax = kInside;  // NOLINT(misc-const-correctness): changed by an abort
  // After an abort execution continues at the label, with only EAX changed. To the compiler this is
  // one instruction with one result.
  asm volatile("xbegin 1f\n1:" : "+a"(eax)::"memory");
  return {eax == kInside, eax};
}

inline void end() {
  asm volatile("xend" ::: "memory");
}

/// Does nothing outside a transaction.
template <uint8_t kCode>
inline void abort() {
  asm volatile("xabort %0" ::"i"(kCode) : "memory");
}

inline bool active() {
  bool inside;
  asm volatile("xtest" : "=@ccnz"(inside)::"memory");
  return inside;
}

/// Always false: a doomed transaction has rolled back before it can ask.
inline bool doomed() {
  return false;
}

inline void suspend() {}
inline void resume() {}

inline void suspend_loads() {
  asm volatile("xsusldtrk" ::: "memory");
}
inline void resume_loads() {
  asm volatile("xresldtrk" ::: "memory");
}

}  // namespace holdfast::native::hardware
