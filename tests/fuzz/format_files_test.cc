// SPDX-License-Identifier: Apache-2.0
//
// Do databases open that an earlier build has written in the present format? format_2/ has them as
// killed processes left them, for each durable engine and for options that decide how its log looks
// (tools/write_format_file.py).
#include <gtest/gtest.h>
#include <lzma.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "tests/db/db_file.h"
#include "tests/engine_options.h"
#include "tests/file_bytes.h"

namespace holdfast::db::format_files_test {
namespace {

namespace fs = std::filesystem;

const char* const kFolder = HOLDFAST_SOURCE_DIR "/tests/fuzz/format_2/";

/// A file's name is its engine, then options, with commas between them.
std::string engine_of(const std::string& name) {
  return name.substr(0, name.find(','));
}

/// The files of engines that this build has.
std::vector<std::string> files() {
  const std::vector<std::string> engines =
      names_of(engine_rows<NativeMachine>(), [](const auto&) { return true; });
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(kFolder)) {
    const std::string name = file.path().stem().string();
    if (std::find(engines.begin(), engines.end(), engine_of(name)) != engines.end()) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string decompressed(std::string in) {
  const auto bytes = [](auto& text) { return reinterpret_cast<uint8_t*>(text.data()); };
  std::string out(8 << 20, '\0');
  uint64_t memory = UINT64_MAX;
  size_t read = 0;
  size_t size = 0;
  const lzma_ret status = lzma_stream_buffer_decode(&memory, 0, nullptr, bytes(in), &read,
                                                    in.size(), bytes(out), &size, out.size());
  EXPECT_EQ(status, LZMA_OK);
  out.resize(size);
  return out;
}

/// The entries that tools/write_format_file.py has written.
Model written() {
  Model model;
  for (int i = 0; i < 60; ++i) {
    std::string value;
    for (int n = 0; n <= i % 5; ++n) {
      value += "value " + std::to_string(i);
    }
    if (i % 7 != 0) {
      model[(i < 10 ? "key0" : "key") + std::to_string(i)] = value;
    }
  }
  for (int i = 0; i < 8 * 256; ++i) {
    model["long"] += static_cast<char>(i % 256);
  }
  return model;
}

class FormatFiles : public testing::TestWithParam<std::string> {};

TEST_P(FormatFiles, OpenWithAllThatTheyHold) {
  DbFile file(engine_of(GetParam()));
  std::ofstream(file.path(), std::ios::binary)
      << decompressed(file_bytes(kFolder + GetParam() + ".xz"));
  file.options.create_if_missing = false;
  file.options.initial_bytes = 0;
  file.options.max_bytes = 0;
  file.options.max_threads = 0;
  Model model = written();
  ASSERT_NE(file.open(), nullptr);
  EXPECT_EQ(contents(*file), model);
  for (int i = 0; i < 100; ++i) {
    const std::string key = "later" + std::to_string(i);
    put(*file, key, std::string(1000, 'x'));
    model[key] = std::string(1000, 'x');
  }
  file.close();
  EXPECT_EQ(contents(*file), model);
  expect_tidy(file);
}

INSTANTIATE_TEST_SUITE_P(Files, FormatFiles, testing::ValuesIn(files()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

}  // namespace
}  // namespace holdfast::db::format_files_test
