// SPDX-License-Identifier: Apache-2.0
//
// A crash search makes tens of thousands of small machines, one after the other. To map the tables
// of each anew, fault their pages in and unmap them took more time than what ran on them.
#pragma once

#include <cstddef>
#include <vector>

namespace holdfast::sim {

/// Zeroed memory of the host that simulated machines hand on to the next one. Who gives memory back
/// has made it zero again, which is cheap for who knows what it wrote. Not for several threads.
class HostPages {
 public:
  HostPages() = default;
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// A mapping of exactly this kind and length that was given back, else a new one
  /// (zeroed_array.h).
  void* take(size_t bytes, bool huge);
  /// The mapping that was given back at this address; null when there is none of this length, and
  /// then none of another length stays there.
  void* take_at(const void* address, size_t bytes);
  void give_back(void* pages, size_t bytes, bool huge) noexcept;

 private:
  struct Mapping {
    void* pages;
    size_t bytes;
    bool huge;
  };
  std::vector<Mapping> free_;
};

/// Makes memory of a mapping zero again: in place where that is less work than to give up its pages
/// and fault them in again.
void clear_pages(void* begin, size_t n) noexcept;

}  // namespace holdfast::sim
