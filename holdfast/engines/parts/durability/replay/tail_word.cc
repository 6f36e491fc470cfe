// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/replay/tail_word.h"

#include "holdfast/base/random.h"

namespace holdfast {
namespace {

constexpr uint64_t kTailMask = (uint64_t{1} << kTailBits) - 1;

uint64_t tail_check(uint64_t tail) {
  return mix64(~tail) >> kTailBits;
}

}  // namespace

uint64_t encode_tail(uint64_t tail) {
  return tail_check(tail) << kTailBits | (tail & kTailMask);
}

std::optional<uint64_t> decode_tail(uint64_t word) {
  const uint64_t tail = word & kTailMask;
  return encode_tail(tail) == word ? std::optional(tail) : std::nullopt;
}

}  // namespace holdfast
