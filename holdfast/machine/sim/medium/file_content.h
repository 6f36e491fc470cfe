// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/base/status.h"

namespace holdfast::sim {

/// A range of a file that nobody changes any more, whose pages simulated machines map
/// copy-on-write: however often it is mapped, and by however many processes, a page takes memory of
/// its own only where it is stored to.
class FileContent {
 public:
  /// [offset, offset + bytes), multiples of the page, of an open file, whose descriptor it
  /// duplicates; `path` is for messages.
  static Result<std::shared_ptr<const FileContent>> open(int fd, const std::string& path,
                                                         size_t offset, size_t bytes);
  ~FileContent();
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Whether [p, p + n) lies within data().
  bool holds(const std::byte* p, size_t n) const {
    return n <= bytes_ && !std::less<>()(p, data_) && p - data_ <= ptrdiff_t(bytes_ - n);
  }

  /// Copies [from, from + n), which this holds, without touching the mapping: pages that are only
  /// ever read once need not count as memory of this process. Throws Error(io_error).
  void read(std::byte* to, const std::byte* from, size_t n) const;

  /// Replaces the pages at `to` by copy-on-write pages that show [from, from + n), which this
  /// holds. Everything is page-aligned.
  Status map_over(std::byte* to, const std::byte* from, size_t n) const;

 private:
  FileContent(int fd, std::string path, size_t offset, size_t bytes)
      : fd_(fd), path_(std::move(path)), offset_(offset), bytes_(bytes) {}

  int fd_;
  std::string path_;
  size_t offset_;
  size_t bytes_;
  const std::byte* data_ = nullptr;
};

}  // namespace holdfast::sim
