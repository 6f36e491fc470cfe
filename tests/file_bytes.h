// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace holdfast {

/// Returns the bytes of a file, in one read.
inline std::string file_bytes(const std::string& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(in.good()) << path;
  return bytes;
}

/// Returns the bytes of a file at one moment, as a crash would leave them, although other threads
/// write to it now and then: an engine's background thread may make a checkpoint due. Waits for two
/// equal reads; the file had this content between them.
inline std::string file_bytes_at_one_moment(const std::string& path) {
  std::string bytes = file_bytes(path);
  for (;;) {
    std::string again = file_bytes(path);
    if (again == bytes) {
      return bytes;
    }
    bytes = std::move(again);
  }
}

}  // namespace holdfast
