// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

namespace holdfast::sim {

/// A hardware design's own region of persistent memory. It begins zeroed and is as large as an
/// address allows; only pages that were written take memory.
class OwnRegion {
 public:
  void copy(uint64_t offset, size_t n, std::byte* to) const {
    each_piece(offset, n, [&](uint64_t page, size_t at, size_t done, size_t piece) {
      const auto found = pages_.find(page);
      if (found == pages_.end()) {
        std::memset(to + done, 0, piece);
      } else {
        std::memcpy(to + done, found->second.data() + at, piece);
      }
    });
  }
  void put(uint64_t offset, const std::byte* bytes, size_t n) {
    each_piece(offset, n, [&](uint64_t page, size_t at, size_t done, size_t piece) {
      std::memcpy(pages_[page].data() + at, bytes + done, piece);
    });
  }
  /// Calls f(offset, bytes) for each line that is not zero, in their order.
  template <class F>
  void for_each_line(size_t line_bytes, F&& f) const {
    for (const auto& [page, bytes] : pages_) {
      for (size_t at = 0; at < kPage; at += line_bytes) {
        const std::byte* line = bytes.data() + at;
        if (line[0] != std::byte{0} || std::memcmp(line, line + 1, line_bytes - 1) != 0) {
          f(page * kPage + at, line);
        }
      }
    }
  }

 private:
  static constexpr size_t kPage = 4096;

  template <class F>
  static void each_piece(uint64_t offset, size_t n, F&& f) {
    for (size_t done = 0; done < n;) {
      const size_t at = (offset + done) % kPage;
      const size_t piece = std::min(n - done, kPage - at);
      f((offset + done) / kPage, at, done, piece);
      done += piece;
    }
  }

  std::map<uint64_t, std::array<std::byte, kPage>> pages_;
};

}  // namespace holdfast::sim
