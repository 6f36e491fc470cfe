// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace holdfast {

/// The persistent word that says how far the log has been replayed. It contains its own check bits,
/// because a wrong tail would silently lose transactions. It is one word, because it must change at
/// once.
inline constexpr int kTailBits = 52;  // 140 years of a million transactions a second
uint64_t encode_tail(uint64_t tail);
std::optional<uint64_t> decode_tail(uint64_t word);

}  // namespace holdfast
