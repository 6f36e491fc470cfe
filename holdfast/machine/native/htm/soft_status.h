// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// The status word of a thread's transaction: { incarnation:53 | pins:9 | state:2 }. The
/// incarnation counts the thread's transactions. Other threads change the word in two ways only,
/// and only if the incarnation is still the one they have seen: RUNNING becomes DOOMED, and a
/// doomed transaction is pinned while a thread takes a line away from it.
///
/// Why pins. An entry of the ownership table names the owner but not its incarnation. Suppose a
/// thread dooms a transaction and is about to take its line. Without a pin the owner could roll
/// back, begin again and acquire the same line at the same version. The new transaction would then
/// lose the line without being doomed. A pinned transaction cannot leave its incarnation.
namespace soft_status {

inline constexpr uint64_t kIdle = 0;
inline constexpr uint64_t kRunning = 1;
inline constexpr uint64_t kDoomed = 2;
/// Committed and publishing, or rolled back and releasing. Either way its lines soon become free.
inline constexpr uint64_t kClosing = 3;
inline constexpr uint64_t kStateMask = 3;
inline constexpr uint64_t kPin = 4;
inline constexpr uint64_t kPinMask = 511 * kPin;
inline constexpr uint64_t kIncarnation = 512 * kPin;
static_assert(kMaxThreads + 1 < 511, "every other thread may hold a pin");

inline uint64_t state(uint64_t word) {
  return word & kStateMask;
}
inline bool pinned(uint64_t word) {
  return (word & kPinMask) != 0;
}
inline uint64_t with_state(uint64_t word, uint64_t state) {
  return (word & ~kStateMask) | state;
}

}  // namespace soft_status

struct alignas(kMaxLineBytes) SoftStatus {
  std::atomic<uint64_t> word{soft_status::kIdle};
};

}  // namespace holdfast::native
