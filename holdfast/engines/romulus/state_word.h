// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"

namespace holdfast::romulus {

/// Tells which copy is consistent (Romulus 4.3).
enum class Phase : uint8_t {
  idle = 1,      ///< both copies
  mutating = 2,  ///< the twin, because main is being changed
  copying = 3,   ///< main, because the twin is being brought up to date
};

/// The state of the two copies, as it is on the medium. It is one word, so that a single store
/// changes it, and has a checksum, so that damage is noticed.
///
///   bits  0- 1  phase
///         2-35  used: the lines of main below the highest committed store (up to 1 TiB)
///        36-41  while mutating: log2 of the bytes that the running batch may have touched
///        42-63  checksum of the rest
struct StateWord {
  Phase phase = Phase::idle;
  uint64_t used = 0;        ///< in bytes, a multiple of the line
  unsigned limit_log2 = 0;  ///< only in phase mutating

  static constexpr uint64_t kMaxUsed = ((uint64_t{1} << 34) - 1) * kLineBytes;

  uint64_t pack() const {
    const uint64_t payload = static_cast<uint64_t>(phase) | (used / kLineBytes) << 2 |
                             static_cast<uint64_t>(limit_log2) << 36;
    return payload | checksum(payload) << kPayloadBits;
  }

  /// Nothing if the word is damaged.
  static std::optional<StateWord> unpack(uint64_t word) {
    const uint64_t payload = word & ((uint64_t{1} << kPayloadBits) - 1);
    const auto phase = static_cast<Phase>(payload & 3);
    if (word >> kPayloadBits != checksum(payload) || payload % 4 == 0) {
      return std::nullopt;
    }
    return StateWord{phase, ((payload >> 2) & ((uint64_t{1} << 34) - 1)) * kLineBytes,
                     static_cast<unsigned>(payload >> 36)};
  }

 private:
  static constexpr unsigned kPayloadBits = 42;
  static uint64_t checksum(uint64_t payload) { return mix64(payload) >> kPayloadBits; }
};

/// log2 of the bytes that a batch may touch without a further fence. The limit is generous: only a
/// batch that more than doubles the heap's used bytes has to raise it on the way.
inline unsigned limit_log2(uint64_t used) {
  constexpr unsigned kLeast = 18;  // 256 KiB
  const auto doubled = static_cast<unsigned>(std::bit_width(used)) + 1;
  return doubled < kLeast ? kLeast : doubled;
}

}  // namespace holdfast::romulus
