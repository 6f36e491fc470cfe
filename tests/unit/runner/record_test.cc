// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::record_test {
namespace {

OperationResult result(int kind, uint64_t word) {
  OperationResult r;
  r.kind = kind;
  r.committed = kind != 2;
  r.read_only = kind == 1;
  for (uint64_t i = 0; i < 4; ++i) {
    r.acknowledgement[i] = word + i;
  }
  return r;
}

TEST(RunnerRecord, KeepsAnOperationResult) {
  for (int kind = 0; kind < 3; ++kind) {
    const OperationResult before = result(kind, 100);
    const OperationResult after = Record::of(5, before).result();
    EXPECT_EQ(after.kind, before.kind);
    EXPECT_EQ(after.committed, before.committed);
    EXPECT_EQ(after.read_only, before.read_only);
    EXPECT_TRUE(
        std::equal(before.acknowledgement, before.acknowledgement + 4, after.acknowledgement));
  }
}

TEST(RunnerRecord, AllZeroPromisesNothing) {
  EXPECT_FALSE(Record::of(0, OperationResult{}).promises());
  EXPECT_TRUE(Record::of(0, result(0, 1)).promises());
}

TEST(RunnerRecord, ComesWholeThroughAPipeFromManyThreads) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 3000;
  std::vector<std::thread> writers;
  writers.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t word = (static_cast<uint64_t>(t) << 32) + i;
        EXPECT_TRUE(write_record(ends[1], Record::of(t, result(t % 3, word))).ok());
      }
    });
  }
  std::string bytes;
  char buffer[4096];
  while (bytes.size() < kThreads * kEach * sizeof(Record)) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    bytes.append(buffer, static_cast<size_t>(n));
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  close(ends[0]);
  close(ends[1]);
  const std::vector<Record> records = parse_records(bytes).value();
  std::vector<uint64_t> next(kThreads);
  for (const Record& record : records) {
    const uint64_t word = (static_cast<uint64_t>(record.worker) << 32) + next.at(record.worker)++;
    EXPECT_EQ(record.words[0], word);
    EXPECT_EQ(record.words[3], word + 3);
  }
}

TEST(RunnerRecord, SaysSoWhenTheReaderHasGone) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  EXPECT_EQ(write_record(ends[1], Record{}).code(), Code::io_error);
  close(ends[1]);
  (void)std::signal(SIGPIPE, before);
}

TEST(RunnerRecord, RefusesAStreamThatDoesNotDivide) {
  const std::string bytes(sizeof(Record) + 1, 'x');
  EXPECT_EQ(parse_records(bytes).status().code(), Code::corrupt);
  EXPECT_TRUE(parse_records("").value().empty());
}

}  // namespace
}  // namespace holdfast::record_test
