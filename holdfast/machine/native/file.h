// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast::native {

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

 private:
  int fd_ = -1;
  std::string path_;
};

/// Makes a new file (mode 0600), locks it, and makes its name durable.
Result<File> create_file(const std::string& path);
/// Opens an existing file and locks it.
Result<File> open_file(const std::string& path);
/// Opens an existing file for looking at it: without a lock, so also one that is in use.
Result<File> open_file_read_only(const std::string& path);

/// "path: what happened (the system's words). What to do."
Status file_error(const std::string& path, const std::string& what, int error);

}  // namespace holdfast::native
