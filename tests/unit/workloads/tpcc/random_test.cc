// SPDX-License-Identifier: Apache-2.0
//
// Do the random data have the shapes that clauses 2.1.6 and 4.3.2 ask for?
#include "holdfast/workloads/tpcc/data/random.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace holdfast::tpcc::random_test {
namespace {

TEST(TpccRandom, NurandStaysInItsRangeAndReachesAllOfIt) {
  Random random(1);
  std::set<uint32_t> seen;
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t n = nurand(random, 1023, 259, 1, 3000);
    ASSERT_GE(n, 1u);
    ASSERT_LE(n, 3000u);
    seen.insert(n);
  }
  EXPECT_GT(seen.size(), 2700u);  // numbers with few bits set are rare on purpose
}

TEST(TpccRandom, NurandIsTheFormulaOfTheStandard) {
  // With A = 0 only the uniform part is left, shifted by C.
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(nurand(random, 0, 5, 7, 7), 7u);
  }
  // (rand(0, A) | rand(x, y)) sets bits: in 0..255 | 0..255 every bit is set in three of four
  // draws.
  int bits = 0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    bits += __builtin_popcount(nurand(random, 255, 0, 0, 255));
  }
  EXPECT_NEAR(bits / (8.0 * draws), 0.75, 0.01);
}

TEST(TpccRandom, NurandPrefersSomeItems) {
  Random random(3);
  std::vector<int> count(100'001);
  constexpr int draws = 1'000'000;
  for (int i = 0; i < draws; ++i) {
    ++count[nurand(random, 8191, 1234, 1, 100'000)];
  }
  std::sort(count.rbegin(), count.rend());
  int top = 0;
  for (int i = 0; i < 10'000; ++i) {
    top += count[static_cast<size_t>(i)];
  }
  // The most frequent tenth of the items has far more than a tenth of the draws.
  EXPECT_GT(top, draws * 3 / 10);
}

TEST(TpccRandom, ConstantForLastNamesMovesAsTheStandardAllows) {
  EXPECT_TRUE(allowed_last_name_delta(0, 65));
  EXPECT_TRUE(allowed_last_name_delta(119, 0));
  for (const uint32_t delta : {0u, 64u, 96u, 112u, 120u}) {
    EXPECT_FALSE(allowed_last_name_delta(0, delta)) << delta;
    EXPECT_FALSE(allowed_last_name_delta(delta, 0)) << delta;
  }
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const NurandConstants c = choose_constants(random);
    EXPECT_TRUE(allowed_last_name_delta(c.last_load, c.last_run)) << "seed " << seed;
    EXPECT_LE(c.last_load, 255u);
    EXPECT_LE(c.last_run, 255u);
    EXPECT_LE(c.customer, 1023u);
    EXPECT_LE(c.item, 8191u);
  }
}

TEST(TpccRandom, LastNamesAreThreeSyllables) {
  EXPECT_EQ(last_name(0).view(), "BARBARBAR");
  EXPECT_EQ(last_name(371).view(), "PRICALLYOUGHT");
  EXPECT_EQ(last_name(999).view(), "EINGEINGEING");
  EXPECT_EQ(last_name(777).view(), "CALLYCALLYCALLY");
}

TEST(TpccRandom, LastNamesCanBeReadBack) {
  for (uint32_t n = 0; n < kLastNames; ++n) {
    EXPECT_EQ(last_name_number(last_name(n).view()), static_cast<int>(n));
  }
  for (const char* text : {"", "BAR", "BARBAR", "BARBARBARBAR", "BARBARBARX", "SMITH"}) {
    EXPECT_EQ(last_name_number(text), -1) << text;
  }
}

TEST(TpccRandom, NameKeysSortByLastThenFirstThenNumber) {
  const auto key = [](uint32_t name, const char* first, uint32_t c) {
    return name_key(last_name(name), Text<16>::of(first), c);
  };
  const std::vector<uint64_t> ascending = {key(1, "0abcdefg", 3000), key(1, "9abcdefg", 1),
                                           key(1, "Aabcdefg", 1),    key(1, "Zabcdefg", 1),
                                           key(1, "aabcdefg", 1),    key(1, "aabcdefh", 1),
                                           key(1, "aabcdefh", 2),    key(1, "zzzzzzzz", 3000),
                                           key(2, "00000000", 1),    key(999, "0", 1)};
  for (size_t i = 1; i < ascending.size(); ++i) {
    if (i == 5) {
      continue;  // these differ in the eighth character only, so the number decides
    }
    EXPECT_LT(ascending[i - 1], ascending[i]) << i;
  }
  EXPECT_GE(ascending[0], name_range(1));
  EXPECT_LT(ascending[7], name_range(2));
  EXPECT_LT(key(1, "ab", 1), key(1, "abc", 1));
}

TEST(TpccRandom, TextsHaveTheirLengthsAndAlphabets) {
  Random random(4);
  std::set<size_t> lengths;
  std::set<char> characters;
  for (int i = 0; i < 20'000; ++i) {
    const auto text = random_letters<16>(random, 8, 16);
    lengths.insert(text.view().size());
    characters.insert(text.view().begin(), text.view().end());
  }
  EXPECT_EQ(lengths.size(), 9u);
  EXPECT_EQ(*lengths.begin(), 8u);
  EXPECT_EQ(*lengths.rbegin(), 16u);
  EXPECT_EQ(characters.size(), 62u);
  const auto digits = random_digits<16>(random);
  EXPECT_EQ(digits.view().size(), 16u);
  EXPECT_EQ(digits.view().find_first_not_of("0123456789"), std::string_view::npos);
  const Address address = random_address(random);
  EXPECT_EQ(address.zip.view().size(), 9u);
  EXPECT_EQ(address.zip.view().substr(4), "11111");
  EXPECT_EQ(address.state.view().size(), 2u);
}

TEST(TpccRandom, TenPercentAreOriginal) {
  Random random(5);
  int original = 0;
  constexpr int rows = 50'000;
  for (int i = 0; i < rows; ++i) {
    const auto data = random_data(random);
    ASSERT_GE(data.view().size(), 26u);
    ASSERT_LE(data.view().size(), 50u);
    original += is_original(data) ? 1 : 0;
  }
  EXPECT_NEAR(original, 0.1 * rows, 0.01 * rows);
}

}  // namespace
}  // namespace holdfast::tpcc::random_test
