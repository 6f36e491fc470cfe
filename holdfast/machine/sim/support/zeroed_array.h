// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "holdfast/machine/sim/support/host_pages.h"

namespace holdfast::sim {

/// Maps zeroed pages, which take no memory until they are touched. Throws Error(out_of_space) if
/// there is no address space. `huge` asks for huge pages, if the host has them. They make random
/// look-ups all over a table faster. A table that is used only here and there takes more memory and
/// time with them.
void* map_zeroed(size_t bytes, bool huge = false);
void unmap_zeroed(void* pages, size_t bytes) noexcept;

/// A flat table of n zeroed entries, indexed by line or page. A look-up is one load, and only the
/// touched part of the table takes memory.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// With `pages`, the memory comes from that pool and goes back to it. The owner must clear the
  /// entries that it has written before it destroys the table.
  explicit ZeroedArray(size_t n, HostPages* pages = nullptr)
      : bytes_(n * sizeof(T)),
        pages_(pages),
        entries_(static_cast<T*>(pages == nullptr ? map_zeroed(bytes_) : pages->take(bytes_))) {}
  /// With `huge`, on huge pages.
  ZeroedArray(size_t n, bool huge)
      : bytes_(n * sizeof(T)),
        pages_(nullptr),
        entries_(static_cast<T*>(map_zeroed(bytes_, huge))) {}
  ~ZeroedArray() {
    if (pages_ == nullptr) {
      unmap_zeroed(entries_, bytes_);
    } else {
      pages_->give_back(entries_, bytes_);
    }
  }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  T& operator[](size_t i) { return entries_[i]; }
  const T& operator[](size_t i) const { return entries_[i]; }
  T* data() { return entries_; }
  const T* data() const { return entries_; }

  /// True if the memory goes back to a pool.
  bool is_handed_on() const { return pages_ != nullptr; }
  /// Makes n entries zero again.
  void clear(size_t first, size_t n) { clear_pages(entries_ + first, n * sizeof(T)); }

 private:
  size_t bytes_;
  HostPages* pages_;  ///< the pool; null if the table owns its memory
  T* entries_;
};

}  // namespace holdfast::sim
