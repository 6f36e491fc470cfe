// SPDX-License-Identifier: Apache-2.0
// Does the table of held lines say who holds a line, however many are held?
#include "holdfast/machine/sim/htm/held_lines.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "holdfast/base/random.h"

namespace holdfast::sim::held_lines_test {
namespace {

constexpr int kSlots = 70;  // readers in both words

struct Model {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> readers;  // by line, of the slots 0 and 69
  std::map<uint32_t, int> writer;
};

/// Compares all lines up to `lines` with the model.
void expect_equal(const HeldLines& held, const Model& model, uint32_t lines) {
  for (uint32_t line = 0; line < lines; ++line) {
    const auto readers = model.readers.find(line);
    const auto writer = model.writer.find(line);
    const HeldLines::Holders* const found = held.find(line);
    const bool expected = readers != model.readers.end() || writer != model.writer.end();
    ASSERT_EQ(found != nullptr, expected) << line;
    if (found != nullptr) {
      const auto [first, last] =
          readers == model.readers.end() ? std::pair<uint64_t, uint64_t>() : readers->second;
      ASSERT_EQ(found->has_reader(0), first != 0) << line;
      ASSERT_EQ(found->has_reader(kSlots - 1), last != 0) << line;
      ASSERT_EQ(found->writer, writer == model.writer.end() ? 0 : writer->second + 1) << line;
    }
  }
}

TEST(HeldLines, TheTableGrowsAndShrinksLikeAModel) {
  constexpr uint32_t kLines = 40'000;
  HeldLines held;
  Model model;
  Random random(1);
  const auto take_all = [&] {
    for (uint32_t i = 0; i < kLines; ++i) {
      const uint32_t line = i * 7 % kLines;
      switch (random.below(3)) {
        case 0:
          held.set_writer(3, line);
          model.writer[line] = 3;
          break;
        case 1:
          held.add_reader(0, line);
          model.readers[line].first = 1;
          break;
        default:
          held.add_reader(kSlots - 1, line);
          model.readers[line].second = 1;
      }
    }
  };
  const auto drop_some = [&](uint64_t of) {
    for (uint32_t line = 0; line < kLines; ++line) {
      if (random.below(of) != 0) {
        continue;
      }
      if (model.writer.erase(line) != 0) {
        held.remove_writer(line);
      }
      if (const auto at = model.readers.find(line); at != model.readers.end()) {
        if (at->second.first != 0) {
          held.remove_reader(0, line);
        }
        if (at->second.second != 0) {
          held.remove_reader(kSlots - 1, line);
        }
        model.readers.erase(at);
      }
    }
  };
  for (int round = 0; round < 3; ++round) {
    take_all();
    expect_equal(held, model, kLines);
    drop_some(2);
    expect_equal(held, model, kLines);
  }
  drop_some(1);
  expect_equal(held, model, kLines);
  EXPECT_TRUE(model.readers.empty() && model.writer.empty());
}

}  // namespace
}  // namespace holdfast::sim::held_lines_test
