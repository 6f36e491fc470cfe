// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "holdfast/machine/sim/support/host_pages.h"

namespace holdfast::sim {

/// Zeroed pages that cost nothing until touched. Throws Error when there is no address space.
/// `huge`: in huge pages where the host has them; faster for tables that are looked up at random
/// all over, and more memory for those that are used here and there.
void* map_zeroed(size_t bytes, bool huge = false);
void unmap_zeroed(void* pages, size_t bytes) noexcept;

/// A flat table of n zeroed entries, indexed by line or page: one load on the hot path, and memory
/// only for what was touched.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// With `pages` the memory comes from there and goes back: the owner clears what it has written.
  explicit ZeroedArray(size_t n, bool huge = false, HostPages* pages = nullptr)
      : bytes_(n * sizeof(T)),
        huge_(huge),
        pages_(pages),
        entries_(static_cast<T*>(pages == nullptr ? map_zeroed(bytes_, huge)
                                                  : pages->take(bytes_, huge))) {}
  ~ZeroedArray() {
    if (pages_ == nullptr) {
      unmap_zeroed(entries_, bytes_);
    } else {
      pages_->give_back(entries_, bytes_, huge_);
    }
  }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  T& operator[](size_t i) { return entries_[i]; }
  const T& operator[](size_t i) const { return entries_[i]; }
  T* data() { return entries_; }
  const T* data() const { return entries_; }

  bool is_handed_on() const { return pages_ != nullptr; }
  /// Makes n entries zero again.
  void clear(size_t first, size_t n) { clear_pages(entries_ + first, n * sizeof(T)); }

 private:
  size_t bytes_;
  bool huge_;
  HostPages* pages_;  ///< null: the memory is its own
  T* entries_;
};

}  // namespace holdfast::sim
