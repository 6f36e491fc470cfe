// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/support/host_pages.h"
#include "holdfast/machine/sim/support/range_set.h"

namespace holdfast::sim {

/// Where all memory of the simulated machine lies, so that cache lines, conflicts and images do not
/// depend on the host's address layout. Plain, AddressSanitizer and ThreadSanitizer builds leave
/// this range free; executables start at 0x5555'0000'0000.
inline constexpr uintptr_t kArenaBase = 0x5510'0000'0000;
inline constexpr size_t kArenaMaxBytes = size_t{128} << 30;

inline bool in_arena(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - kArenaBase < kArenaMaxBytes;
}

/// The fixed range of host addresses: an eighth for volatile memory (a bump allocator), the rest
/// address space for mapped pieces of the medium. One arena exists per process at a time.
class Arena {
 public:
  /// Throws Error(busy) when the range is taken, most likely by another simulated machine. With
  /// `pages` the range stays mapped afterwards, for the next arena.
  explicit Arena(size_t bytes, HostPages* pages = nullptr);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* base() const { return reinterpret_cast<std::byte*>(kArenaBase); }
  std::byte* persistent_base() const { return base() + volatile_bytes_; }
  /// The same for an arena of this size that need not exist.
  static std::byte* persistent_base(size_t bytes);
  size_t bytes() const { return bytes_; }

  /// Zeroed volatile memory, never given back. Throws Error(out_of_space).
  std::byte* allocate(size_t n, size_t alignment);

  /// Address space in the persistent part: at `address`, or from the top down where it is null.
  Result<std::byte*> reserve(size_t n, std::byte* address);
  /// Whether all of the range was reserved in one piece.
  bool reserved(const std::byte* p, size_t n) const {
    return reserved_.contains(offset(p), offset(p) + n);
  }
  void release(const std::byte* p, size_t n);
  /// Makes pages zero again. `foreign`: others were mapped over them, which are dropped. Whatever
  /// was written of the persistent part must be cleared in the end.
  void clear(size_t begin, size_t end, bool foreign = false);

  size_t offset(const std::byte* p) const { return reinterpret_cast<uintptr_t>(p) - kArenaBase; }

 private:
  Status no_room(size_t n) const;

  size_t bytes_;
  size_t volatile_bytes_;
  HostPages* pages_;  ///< null: the range is its own
  size_t allocated_ = 0;
  RangeSet reserved_;  ///< offsets from the base
};

}  // namespace holdfast::sim
