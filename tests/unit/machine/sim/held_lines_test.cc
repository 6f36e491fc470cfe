// SPDX-License-Identifier: Apache-2.0
// Does the table of held lines say who holds a line, however many are held?
#include "holdfast/machine/sim/htm/held_lines.h"

#include <gtest/gtest.h>

#include <map>

#include "holdfast/base/random.h"

namespace holdfast::sim::held_lines_test {
namespace {

constexpr uint32_t kLines = 40'000;  // more than the table begins with
constexpr int kWriter = 3;
constexpr int kReaders[] = {0, 69};  // one for each word of bits

void expect_equal(const HeldLines& held, const std::map<uint32_t, HeldLines::Holders>& model) {
  for (uint32_t line = 0; line < kLines; ++line) {
    const auto expected = model.find(line);
    const HeldLines::Holders* const found = held.find(line);
    ASSERT_EQ(found != nullptr, expected != model.end()) << line;
    if (found != nullptr) {
      ASSERT_EQ(found->readers, expected->second.readers) << line;
      ASSERT_EQ(found->writer, expected->second.writer) << line;
    }
  }
}

TEST(HeldLines, AreAsManyAsTransactionsTake) {
  HeldLines held;
  std::map<uint32_t, HeldLines::Holders> model;
  Random random(1);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < kLines; ++i) {
      const uint32_t line = i * 7 % kLines;
      HeldLines::Holders& holders = model[line];
      if (random.below(3) == 0) {
        held.set_writer(kWriter, line);
        holders.writer = kWriter + 1;
      } else {
        const size_t word = random.below(2);
        held.add_reader(kReaders[word], line);
        holders.readers[word] = uint64_t{1} << kReaders[word] % 64;
      }
    }
    expect_equal(held, model);
    const uint64_t one_in = round < 2 ? 2 : 1;  // at last all
    std::erase_if(model, [&](const auto& entry) {
      const auto& [line, holders] = entry;
      if (random.below(one_in) != 0) {
        return false;
      }
      if (holders.writer != 0) {
        held.remove_writer(line);
      }
      for (const int reader : kReaders) {
        if (holders.has_reader(reader)) {
          held.remove_reader(reader, line);
        }
      }
      return true;
    });
    expect_equal(held, model);
  }
  EXPECT_TRUE(model.empty());
}

}  // namespace
}  // namespace holdfast::sim::held_lines_test
