// SPDX-License-Identifier: Apache-2.0
//
// Memory of the host that simulated machines reuse. A crash search makes tens of thousands of small
// machines, one after the other. To map, fault in and unmap the tables of each took more time than
// the programs that ran on them.
#pragma once

#include <cstddef>
#include <vector>

namespace holdfast::sim {

/// A pool of zeroed mappings and of stacks, which one simulated machine gives back and the next one
/// takes. The machine that gives a mapping back has made it zero again; this is cheap, because it
/// knows where it has written. One thread at a time.
class HostPages {
 public:
  HostPages() = default;
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// Returns a mapping of exactly this length: from the pool, or a new one (map_zeroed).
  void* take(size_t bytes);
  /// Returns the pool's mapping at this address, or null if it has none of this length. Unmaps one
  /// of another length at the address.
  void* take_at(const void* address, size_t bytes);
  void give_back(void* pages, size_t bytes) noexcept;

  /// Stacks are handed on as they are, not made zero. take_stack() returns the one that came last,
  /// or null if there is none or it has another length.
  void* take_stack(size_t bytes);
  void give_stack_back(void* pages, size_t bytes) noexcept;

 private:
  struct Mapping {
    void* pages;
    size_t bytes;
  };
  std::vector<Mapping> free_;
  std::vector<Mapping> stacks_;
};

/// Makes n bytes of a mapping zero again. A short range is zeroed in place, which costs less than
/// to give up its pages and fault them in again.
void clear_pages(void* begin, size_t n) noexcept;

}  // namespace holdfast::sim
