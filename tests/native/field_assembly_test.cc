// SPDX-License-Identifier: Apache-2.0
//
// Is a Field load of an engine without load interposition one mov, as on plain memory? The test
// reads this program's disassembly, so it needs objdump (from binutils, which g++ depends on).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "holdfast/base/sanitizers.h"
#include "holdfast/holdfast.h"

// Sanitizers instrument every load, so the test runs only in plain builds on x86.
#if defined(__x86_64__) && !HOLDFAST_ADDRESS_SANITIZER && !HOLDFAST_THREAD_SANITIZER && \
    defined(__OPTIMIZE__)

using ProbeField = holdfast::Field<uint64_t, holdfast::DefaultEngine>;

extern "C" {
__attribute__((noinline)) uint64_t holdfast_probe_field_load(const ProbeField& field) {
  return field;
}
}

namespace holdfast::field_assembly_test {
namespace {

/// Returns the mnemonics and operands of a function of this program.
std::vector<std::string> disassemble(const std::string& function) {
  const std::string command = "objdump --no-show-raw-insn --disassemble=" + function + " /proc/" +
                              std::to_string(::getpid()) + "/exe";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n = 0; pipe != nullptr && (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    text.append(buffer, n);
  }
  if (pipe != nullptr) {
    ::pclose(pipe);
  }
  std::vector<std::string> instructions;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("<" + function + ">:") != std::string::npos) {
      inside = true;
    } else if (inside && line.find(":\t") != std::string::npos) {
      instructions.push_back(line.substr(line.find(":\t") + 2));
      if (instructions.back().rfind("ret", 0) == 0) {
        break;
      }
    }
  }
  return instructions;
}

TEST(FieldAssembly, ALoadWithTheDefaultEngineIsOneMov) {
  const auto instructions = disassemble("holdfast_probe_field_load");
  std::string all;
  for (const auto& i : instructions) {
    all += i + "\n";
  }
  ASSERT_EQ(instructions.size(), 2U) << all;
  EXPECT_EQ(instructions[0].rfind("mov ", 0), 0U) << all;
  EXPECT_NE(instructions[0].find("(%rdi),%rax"), std::string::npos) << all;
  EXPECT_EQ(instructions[1].rfind("ret", 0), 0U) << all;
}

}  // namespace
}  // namespace holdfast::field_assembly_test

#endif
