// SPDX-License-Identifier: Apache-2.0
//
// Does an order of the transactions leave the recovered words? Each image here has writes that
// survived and writes that are missing, and check_durability alone accepts it: blind writes do not
// tell their order.
#include "holdfast/check/durability/recovered_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/check/history/legal_history.h"
#include "tests/unit/check/history_builder.h"

namespace holdfast::check::recovered_order_test {
namespace {

/// Returns the name of the finding and the transactions of its steps; empty if there is none.
std::string verdict(const std::string& text, const std::vector<Version>& recovered,
                    const Promise& promised = {}, const DurabilityOptions& options = {}) {
  const History h = history(text);
  std::vector<uint64_t> words;
  for (const Version& version : recovered) {
    words.push_back(version.word());
  }
  EXPECT_TRUE(check_durability(h, words, promised, options).empty());
  const auto findings = check_recovered_order(h, words, promised, options);
  return findings.empty() ? "" : name_and_transactions(findings[0]);
}

constexpr Version kInitially{};

TEST(CheckRecoveredOrder, RejectsAMixtureOfTwoAnsweredUpdates) {
  const std::string two = "1-3 b0 b1\n 2-4 b0 b1";
  EXPECT_EQ(verdict(two, {{1, 1}, {2, 2}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(two, {{2, 1}, {1, 2}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(two, {{1, 1}, {1, 2}}), "");
  EXPECT_EQ(verdict(two, {{2, 1}, {2, 2}}), "");
  const std::string wide = "1-3 b0 b1 b2\n 2-4 b0 b1 b2";
  EXPECT_EQ(verdict(wide, {{1, 1}, {2, 2}, {1, 3}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(wide, {{2, 1}, {2, 2}, {2, 3}}), "");
}

TEST(CheckRecoveredOrder, RejectsAnOlderValueThanTheOneThatWasReplaced) {
  // T2 replaced T1's x1, so its x0 is the newer one.
  const std::string replaced = "1-5 b0 w1=0\n 2-4 w1=1 b0";
  EXPECT_EQ(verdict(replaced, {{1, 1}, {2, 1}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(replaced, {{2, 2}, {2, 1}}), "");
  const std::string read = "1-5 b0 w1=0\n 2-4 r1=1 b0";
  EXPECT_EQ(verdict(read, {{1, 1}, {1, 2}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(read, {{2, 1}, {1, 2}}), "");
}

TEST(CheckRecoveredOrder, SaysWhatSurvivedAndWhatIsMissing) {
  const History h = history("1-3 b0 b1\n 2-4 b0 b1");
  const auto findings = check_recovered_order(h, {Version{1, 1}.word(), Version{2, 2}.word()}, {});
  ASSERT_EQ(findings.size(), 1u);
  const std::string text = to_string(findings[0], h);
  EXPECT_NE(text.find("x0 holds what T1 wrote, or a later value"), std::string::npos) << text;
  EXPECT_NE(text.find("x1 holds what T2 wrote, or a later value"), std::string::npos) << text;
}

TEST(CheckRecoveredOrder, RejectsASkewOfWhatWasNotAnswered) {
  // T2 is answered and has not seen T1, which survived and has not seen T2.
  const std::string skew = "1- live r1=0 w0=0\n 1-2 r0=0 w1=0";
  EXPECT_EQ(verdict(skew, {{1, 1}, {2, 1}}), "survivors without an order: 1 2");
  EXPECT_EQ(verdict(skew, {kInitially, {2, 1}}), "");
  EXPECT_EQ(verdict(skew, {{1, 1}, {2, 1}}, {}, {.isolation = Isolation::snapshot}), "");
}

TEST(CheckRecoveredOrder, ForgetsWhatNoClientKnows) {
  const std::string seen = "1- live w0=0\n 2-3 aborted r0=1";
  EXPECT_EQ(verdict(seen, {kInitially}), "");
  // T9 began after the crash.
  EXPECT_EQ(verdict("1- live b0\n 2- live r0=1 r1=9.1", {kInitially, kInitially}), "");
}

constexpr Promise kLagging{.durability = Durability::lagging, .bound = 5};
constexpr Promise kNoObservations{.observed = false};

TEST(CheckRecoveredOrder, AlsoOrdersThePrefixThatSurvivesWithALag) {
  const std::vector<Version> mixture = {{1, 1}, {2, 2}};
  const std::string found = "survivors without an order: 1 2";
  const std::string two = "1-3 b0 b1\n 2-4 b0 b1";
  EXPECT_EQ(verdict(two, mixture, kLagging), found);
  EXPECT_EQ(verdict(two, mixture, kNoObservations), found);
  EXPECT_EQ(verdict(two + "\n 5-6 later r0=0", mixture), found);
  EXPECT_EQ(verdict("1- live b0 b1\n 2- live b0 b1", mixture, kLagging), found);
  // One of the updates may be behind the prefix.
  EXPECT_EQ(verdict(two, {{1, 1}, {1, 2}}, kLagging), "");
  EXPECT_EQ(verdict(two, {kInitially, kInitially}, kLagging), "");
  EXPECT_EQ(verdict(two, mixture, {.durability = Durability::none}), "");
}

TEST(CheckRecoveredOrder, LeavesOutWhatMayLieBehindThePrefix) {
  // T3 was answered and has seen T2, which is lost.
  const std::string seen = "1-2 b0\n 3-6 w0=1\n 4-7 r0=2 b1";
  EXPECT_EQ(verdict(seen, {{1, 1}, kInitially}, kLagging), "");
  // T2 overwrote what T1 stored, or is behind the prefix.
  EXPECT_EQ(verdict("1-3 b0\n 2-4 b0 r1=0\n 2-5 b1", {{1, 1}, {3, 1}}, kLagging), "");
}

TEST(CheckRecoveredOrder, AcceptsTheWordsOfLegalHistories) {
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    Random random(mix64(seed));
    LegalOptions options;
    options.seed = seed;
    options.isolation = random.below(2) == 0 ? Isolation::opaque : Isolation::snapshot;
    options.objects = static_cast<uint32_t>(random.between(1, 4));
    options.threads = static_cast<uint32_t>(random.between(2, 4));
    options.transactions = static_cast<uint32_t>(random.between(2, 9));
    options.blind_percent = 50 * static_cast<uint32_t>(seed % 3);
    LegalHistory maker(options);
    const History h = maker.make();
    const DurabilityOptions judged{.isolation = options.isolation};
    auto findings = check_recovered_order(h, maker.words(), {}, judged);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << to_string(findings[0], h);
    const auto prefix = maker.words(random.between(1, maker.clock()));
    findings = check_recovered_order(h, prefix, kLagging, judged);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << to_string(findings[0], h);
  }
}

}  // namespace
}  // namespace holdfast::check::recovered_order_test
