// SPDX-License-Identifier: Apache-2.0
//
// The tests of the C interface are in C (c_interface.c).
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/native/test_file.h"

/// Ends the program with status 1 if something is not as it should be.
extern "C" void check_c_interface();

namespace holdfast::c_interface_test {
namespace {

TEST(DbInC, DoesWhatLevelDBDoes) {
  const NativeTestFile place;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(place.directory());
  check_c_interface();
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace holdfast::c_interface_test
