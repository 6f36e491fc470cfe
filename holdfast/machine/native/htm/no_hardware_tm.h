// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactions on processors without any. These functions are never called, because such
// processors offer only the backend `soft`.
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/htm/hardware_status.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native::hardware {

inline constexpr HtmBackend kBackend = HtmBackend::soft;
inline constexpr bool kSuspends = false;

struct Arrival {
  bool inside;
  AbortCause cause() const { return AbortCause::other; }
  AbortCode code() const { return AbortCode::none; }
};

inline Arrival begin(Tracking /*tracking*/) {
  return {false};
}
inline void end() {}
template <uint8_t kCode>
inline void abort() {}
inline bool active() {
  return false;
}
inline bool doomed() {
  return false;
}
inline void suspend() {}
inline void resume() {}
inline void suspend_loads() {}
inline void resume_loads() {}

}  // namespace holdfast::native::hardware
