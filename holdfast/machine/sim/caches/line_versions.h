// SPDX-License-Identifier: Apache-2.0
//
// The bytes of older versions of lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace holdfast::sim {

/// The bytes of those dirty copies that a newer version in a cache above has superseded. A cache
/// has at most one copy of a line, so cache and line name a version. Few lines have one.
class LineVersions {
 public:
  /// The number of a cache, over all levels; chosen by the user of this class.
  using Cache = uint32_t;

  explicit LineVersions(size_t line_bytes) : line_bytes_(line_bytes) {}

  void save(Cache cache, uint32_t line, const std::byte* bytes) {
    std::memcpy(bytes_[key(cache, line)].data(), bytes, line_bytes_);
  }
  /// Null if there is none.
  const std::byte* find(Cache cache, uint32_t line) const {
    const auto found = bytes_.find(key(cache, line));
    return found == bytes_.end() ? nullptr : found->second.data();
  }
  void move(uint32_t line, Cache from, Cache to) {
    auto node = bytes_.extract(key(from, line));
    if (!node.empty()) {
      node.key() = key(to, line);
      bytes_.erase(node.key());
      bytes_.insert(std::move(node));
    }
  }
  void erase(Cache cache, uint32_t line) { bytes_.erase(key(cache, line)); }
  size_t size() const { return bytes_.size(); }

 private:
  static uint64_t key(Cache cache, uint32_t line) { return uint64_t{cache} << 32 | line; }

  size_t line_bytes_;
  std::unordered_map<uint64_t, std::array<std::byte, 128>> bytes_;
};

}  // namespace holdfast::sim
