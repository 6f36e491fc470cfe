// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace holdfast::db {

/// A pointer to bytes and their number, as in LevelDB. The bytes are arbitrary, zeros included.
///
/// A Slice does not own its bytes: they must outlive it. Thread safety: const functions may run
/// concurrently with each other.
class Slice {
 public:
  Slice() = default;
  Slice(const char* data, size_t size) : bytes_(data, size) {}
  Slice(const std::string& s) : bytes_(s) {}       // NOLINT(google-explicit-constructor)
  Slice(const char* s) : bytes_(s) {}              // NOLINT(google-explicit-constructor)
  Slice(const std::string_view& s) : bytes_(s) {}  // NOLINT(google-explicit-constructor)

  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const char* begin() const { return data(); }
  const char* end() const { return data() + size(); }
  char operator[](size_t n) const { return bytes_[n]; }

  void clear() { bytes_ = {}; }
  void remove_prefix(size_t n) { bytes_.remove_prefix(n); }
  std::string ToString() const { return std::string(bytes_); }

  /// Negative, zero or positive: *this is before, equal to, or after `other`, by unsigned bytes.
  int compare(const Slice& other) const {
    const size_t common = size() < other.size() ? size() : other.size();
    const int order = common == 0 ? 0 : std::memcmp(data(), other.data(), common);
    return order != 0 ? order : (size() < other.size() ? -1 : (size() > other.size() ? 1 : 0));
  }
  bool starts_with(const Slice& prefix) const {
    return size() >= prefix.size() && Slice(data(), prefix.size()).compare(prefix) == 0;
  }

 private:
  std::string_view bytes_ = "";
};

inline bool operator==(const Slice& a, const Slice& b) {
  return a.compare(b) == 0;
}

}  // namespace holdfast::db
