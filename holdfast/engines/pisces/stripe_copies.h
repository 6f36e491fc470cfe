// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "holdfast/engines/parts/basics/stripes.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// The second version of a stripe: its content after the owner's transaction.
struct alignas(kLineBytes) StripeCopy {
  static constexpr size_t kWords = (size_t{1} << Stripes::kStripeBits) / 8;

  uint64_t offset;  ///< of the stripe in the heap's data
  uint64_t next;    ///< 1 + number of another copy under the same lock word; 0: none
  uint64_t words[kWords];
};

/// One thread's copies, by number. Other threads read them while the thread changes or reuses them,
/// and check afterwards whether the copies were valid. So copies are never freed, and never move.
template <class M>
class StripeCopies {
 public:
  static constexpr int kNumberBits = 24;
  static constexpr uint64_t kFirst = 16;  ///< copies in chunk 0; each chunk has twice those before
  static constexpr uint64_t kMost = (uint64_t{1} << kNumberBits) - kFirst;

  /// Copy `number`, which exists. Acquire: a thread that learns a number from a lock word finds its
  /// chunk.
  StripeCopy& at(uint64_t number) const {
    const int chunk = chunk_of(number);
    auto* const first =
        reinterpret_cast<StripeCopy*>(chunks_[chunk].load(std::memory_order_acquire));
    return first[number - begin_of(chunk)];
  }

  /// The owner calls this before it uses `number` for the first time.
  void provide(M& machine, uint64_t number) {
    auto& chunk = chunks_[chunk_of(number)];
    // Relaxed: only the owner stores to it.
    if (chunk.load(std::memory_order_relaxed) == 0) {
      const size_t count = size_t{kFirst} << chunk_of(number);
      auto* const memory = machine.allocate(count * sizeof(StripeCopy), alignof(StripeCopy));
      chunk.store(reinterpret_cast<uintptr_t>(memory), std::memory_order_release);  // see at()
    }
  }

 private:
  static constexpr int kChunks = kNumberBits - 4;

  static int chunk_of(uint64_t number) {
    return static_cast<int>(std::bit_width(number / kFirst + 1)) - 1;
  }
  static uint64_t begin_of(int chunk) { return kFirst * ((uint64_t{1} << chunk) - 1); }

  typename M::template Atomic<uint64_t> chunks_[kChunks]{};
};

}  // namespace holdfast
