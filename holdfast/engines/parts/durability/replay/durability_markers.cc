// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/replay/durability_markers.h"

namespace holdfast {
namespace {

constexpr int kThreadShift = 48;
constexpr uint64_t kStartMask = (uint64_t{1} << kThreadShift) - 1;
constexpr uint64_t kAborted = uint64_t{1} << 62;
constexpr uint64_t kSalt = uint64_t{1} << 63;

constexpr uint64_t undo_shift(uint64_t x, int k) {
  uint64_t y = x;
  for (int done = k; done < 64; done += k) {
    y = x ^ (y >> k);
  }
  return y;
}

/// The inverse of mix64: undoes its steps in reverse order. The factors are the multiplicative
/// inverses of mix64's factors, modulo 2^64.
constexpr uint64_t unmix64(uint64_t x) {
  x = undo_shift(x, 31) * 0x319642b2d24d8ec3ULL;
  x = undo_shift(x, 27) * 0x96de1b173f119089ULL;
  return undo_shift(x, 30) - 0x9e3779b97f4a7c15ULL;
}
static_assert(unmix64(mix64(1)) == 1 &&
              unmix64(mix64(0xfedcba9876543210ULL)) == 0xfedcba9876543210ULL);

}  // namespace

MarkerWords MarkerWords::encode(const DurabilityMarker& marker) {
  MarkerWords w;
  w.place = static_cast<uint64_t>(marker.thread) << kThreadShift | marker.start / 8;
  w.extent = marker.bytes | (marker.aborted ? kAborted : 0);
  w.checksum = marker.checksum;
  w.valid = mix64(marker.number) ^ w.hash();
  if (w.valid == 0) {
    w.extent |= kSalt;
    w.valid = mix64(marker.number) ^ w.hash();
  }
  return w;
}

std::optional<DurabilityMarker> MarkerWords::decode() const {
  if (valid == 0) {
    return std::nullopt;
  }
  DurabilityMarker marker;
  marker.number = unmix64(valid ^ hash());
  marker.aborted = (extent & kAborted) != 0;
  marker.thread = static_cast<int>(place >> kThreadShift);
  marker.start = (place & kStartMask) * 8;
  marker.bytes = extent & ~(kAborted | kSalt);
  marker.checksum = checksum;
  return marker;
}

}  // namespace holdfast
