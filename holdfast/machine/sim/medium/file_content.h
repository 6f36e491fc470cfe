// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/base/status.h"

namespace holdfast::sim {

/// A range of a file that does not change any more. Simulated machines map its pages copy-on-write.
/// So a page takes memory of its own only when it is stored to, however many machines and processes
/// map it.
class FileContent {
 public:
  /// Opens [offset, offset + bytes) of an open file; both are multiples of the page size.
  /// Duplicates the descriptor. `path` names the file in messages. Errors: invalid_argument,
  /// not_found, io_error; corrupt if the file is shorter.
  static Result<std::shared_ptr<const FileContent>> open(int fd, const std::string& path,
                                                         size_t offset, size_t bytes);
  ~FileContent();
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// True if [p, p + n) lies in data().
  bool holds(const std::byte* p, size_t n) const {
    return n <= bytes_ && !std::less<>()(p, data_) && p - data_ <= ptrdiff_t(bytes_ - n);
  }

  /// Copies [from, from + n), a part of data(). It reads the file and not the mapping, so that
  /// pages which are read only once do not count as memory of this process. Throws Error(io_error).
  void read(std::byte* to, const std::byte* from, size_t n) const;

  /// Replaces the pages at `to` by copy-on-write pages with the content [from, from + n), a part of
  /// data(). All three are multiples of the page size.
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
