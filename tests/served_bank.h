// SPDX-License-Identifier: Apache-2.0
//
// A heap file with the bank workload on it, in the state in which a worker process leaves it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "holdfast/runner/heap/serve.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

inline constexpr auto kQuiet = [](double /*share*/, const std::string& /*text*/) {};

inline Json bank_spec(const std::string& engine, const std::string& path) {
  return {{"engine", engine}, {"workload", "bank"},  {"params", {{"ack", 1}}}, {"path", path},
          {"threads", 2},     {"domain", "process"}, {"bytes", 4 << 20}};
}

/// Runs a worker and collects its acknowledgements.
inline std::string serve_and_read(Json spec, uint64_t transactions) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  spec["transactions"] = transactions;
  std::thread worker([&] {
    const auto served = serve(spec, ends[1]);
    EXPECT_TRUE(served.ok()) << served.status().to_string();
    close(ends[1]);
  });
  std::string bytes;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(n));
  }
  worker.join();
  close(ends[0]);
  return bytes;
}

}  // namespace holdfast
