// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

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
  explicit ZeroedArray(size_t n, bool huge = false)
      : entries_(static_cast<T*>(map_zeroed(n * sizeof(T), huge))), bytes_(n * sizeof(T)) {}
  ~ZeroedArray() { unmap_zeroed(entries_, bytes_); }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  T& operator[](size_t i) { return entries_[i]; }
  const T& operator[](size_t i) const { return entries_[i]; }
  T* data() { return entries_; }
  const T* data() const { return entries_; }

 private:
  T* entries_;
  size_t bytes_;
};

}  // namespace holdfast::sim
