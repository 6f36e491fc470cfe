// SPDX-License-Identifier: Apache-2.0
//
// The arena: the fixed range of host addresses in which all memory of the simulated machine lies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/support/host_pages.h"
#include "holdfast/machine/sim/support/range_set.h"

namespace holdfast::sim {

/// The address of the arena. It is fixed, so that cache lines, conflicts and images do not depend
/// on the host's address layout. Plain, AddressSanitizer and ThreadSanitizer builds leave this
/// range free; executables begin at 0x5555'0000'0000.
inline constexpr uintptr_t kArenaBase = 0x5510'0000'0000;
inline constexpr size_t kArenaMaxBytes = size_t{128} << 30;

inline bool in_arena(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - kArenaBase < kArenaMaxBytes;
}

/// The memory of one simulated machine. An eighth of the range is volatile memory, given out by a
/// bump allocator. The rest is address space for mapped pieces of the medium. One arena can exist
/// in a process at a time.
class Arena {
 public:
  /// Throws Error(busy) if the range is taken, most likely by another simulated machine. With
  /// `pages`, the range stays mapped after the arena's end, for the next arena.
  explicit Arena(size_t bytes, HostPages* pages = nullptr);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* base() const { return reinterpret_cast<std::byte*>(kArenaBase); }
  std::byte* persistent_base() const { return base() + volatile_bytes_; }
  /// persistent_base() of an arena of this size, which need not exist.
  static std::byte* persistent_base(size_t bytes);
  size_t bytes() const { return bytes_; }

  /// Zeroed volatile memory, which lives as long as the arena. Throws Error(out_of_space).
  std::byte* allocate(size_t n, size_t alignment);
  /// Bytes from the base on that allocate() has given out.
  size_t allocated() const { return allocated_; }

  /// Reserves address space in the persistent part: at `address`, or the highest free range if it
  /// is null. Code::busy if the range is taken; Code::out_of_space if there is none.
  Result<std::byte*> reserve(size_t n, std::byte* address);
  /// True if one reservation holds the whole range.
  bool reserved(const std::byte* p, size_t n) const {
    return reserved_.contains(offset(p), offset(p) + n);
  }
  void release(const std::byte* p, size_t n);
  /// Makes pages zero again. With `foreign`, pages of a file were mapped over some of them; these
  /// are dropped. Before the arena ends, all of its persistent part that was stored to must be
  /// cleared.
  void clear(size_t begin, size_t end, bool foreign = false);
  /// Makes pages zero, and gives their memory back to the host.
  void give_up(size_t begin, size_t end);

  size_t offset(const std::byte* p) const { return reinterpret_cast<uintptr_t>(p) - kArenaBase; }

 private:
  Status no_room(size_t n) const;

  size_t bytes_;
  size_t volatile_bytes_;
  HostPages* pages_;  ///< null if the arena unmaps its range at its end
  size_t allocated_ = 0;
  RangeSet reserved_;  ///< offsets from the base
};

}  // namespace holdfast::sim
