// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast::native {

struct FileSize {
  uint64_t bytes;
  uint64_t disk_bytes;  ///< blocks really taken
};

/// An open file; closed with the object, which also gives up its lock.
class File {
 public:
  File() = default;
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  Result<FileSize> size() const;
  /// The file's first n bytes, or as many as there are.
  Result<size_t> read(void* to, size_t n) const;
  /// Whether it is open for changing elsewhere. Asks, and takes no lock.
  Result<bool> has_writer() const;

 private:
  int fd_ = -1;
  std::string path_;
};

/// Makes a new file (mode 0600), locks it, and makes its name durable.
Result<File> create_file(const std::string& path);

/// change: nobody else may read or change it. read: nobody may change it. look: no lock, so also
/// one that is in use.
enum class Access : uint8_t { change, read, look };
/// Opens an existing file. Code::busy, naming the process where that can be told, when it is in use
/// in a way that excludes this access.
Result<File> open_file(const std::string& path, Access access);

/// "path: what happened (the system's words). What to do."
Status file_error(const std::string& path, const std::string& what, int error);

}  // namespace holdfast::native
