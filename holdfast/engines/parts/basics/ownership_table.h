// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "holdfast/engines/parts/basics/stripes.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// The version clock of a time-based software transactional memory: it counts commits. A
/// transaction's snapshot is the state at one of its times.
template <class M>
struct alignas(kMaxLineBytes) VersionClock {
  typename M::template Atomic<uint64_t> now{};
};

/// A volatile table with a word for every stripe of the heap: the stripe's version, or its owner.
/// Stripes that share a word can conflict without need, but never miss a conflict. The object is
/// small and copied to where it is used.
template <class M>
class OwnershipTable {
 public:
  using Lock = typename M::template Atomic<uint64_t>;

  /// Rounds `locks` up to a power of two.
  OwnershipTable(M& machine, uint64_t locks)
      : stripes_(static_cast<int>(std::bit_width(locks - 1))),
        locks_(make_zeroed_table<Lock>(machine, stripes_.count())) {}

  Lock& of(uint64_t offset) const { return locks_[stripes_.of(offset)]; }

 private:
  Stripes stripes_;
  Lock* locks_;
};

/// Calls f(piece, n) for each part of [p, p + n) that lies within one stripe. `data` is the
/// beginning of the heap's data.
template <class F>
void for_each_stripe(const std::byte* data, const void* p, size_t n, F&& f) {
  constexpr uint64_t kStripe = uint64_t{1} << Stripes::kStripeBits;
  const auto* at = static_cast<const std::byte*>(p);
  while (n > 0) {
    const uint64_t within = static_cast<uint64_t>(at - data) % kStripe;
    const size_t piece = n < kStripe - within ? n : kStripe - within;
    f(at, piece);
    at += piece;
    n -= piece;
  }
}

}  // namespace holdfast
