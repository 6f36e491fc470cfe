// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace holdfast {

/// A file name in a new directory. The destructor removes both.
class NativeTestFile {
 public:
  explicit NativeTestFile(const std::string& parent = "/tmp")
      : directory_(parent + "/holdfast-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) {
      throw std::filesystem::filesystem_error("mkdtemp", std::make_error_code(std::errc::io_error));
    }
    path_ = directory_ + "/a.heap";
  }
  ~NativeTestFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  NativeTestFile(const NativeTestFile&) = delete;
  NativeTestFile& operator=(const NativeTestFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::string path_;
};

}  // namespace holdfast
