// SPDX-License-Identifier: Apache-2.0
// Do options and area have the values that the page names? (options_test.cc asks about bounds.)
#include "holdfast/engines/cc_htm/cc_htm_options.h"

#include <gtest/gtest.h>

namespace holdfast::cc_htm::cc_htm_options_test {
namespace {

TEST(CcOptions, AreTheDefaultsOrTheValuesGiven) {
  const CcOptions usual = CcOptions::parse({}).value();
  EXPECT_EQ(usual.retries, 10u);
  EXPECT_EQ(usual.log_bytes, uint64_t{1} << 20);
  EXPECT_EQ(usual.alias_bytes, uint64_t{64} << 20);
  EXPECT_EQ(usual.ways, 2u);
  EXPECT_EQ(usual.ring, 1024u);
  EXPECT_EQ(usual.patience_us, 1000u);
  EXPECT_EQ(usual.printed, Printed::none);
  EXPECT_EQ(usual.lag.bound, 0u);

  const CcOptions given = CcOptions::parse({{"retries", "3"},
                                            {"log_bytes", "1000"},
                                            {"alias_bytes", "128"},
                                            {"ways", "4"},
                                            {"ring", "5"},
                                            {"patience_us", "6"},
                                            {"printed", "deletion"},
                                            {"lag", "7"}})
                              .value();
  EXPECT_EQ(given.retries, 3u);
  EXPECT_EQ(given.log_bytes, 960u) << "whole lines";
  EXPECT_EQ(given.alias_bytes, 128u);
  EXPECT_EQ(given.ways, 4u);
  EXPECT_EQ(given.ring, 5u);
  EXPECT_EQ(given.patience_us, 6u);
  EXPECT_EQ(given.printed, Printed::deletion);
  EXPECT_EQ(given.lag.bound, 7u);
}

TEST(CcOptions, AWrongNameOfAMistakeIsAnError) {
  const Status status = CcOptions::parse({{"printed", "nothing"}}).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("late_store"), std::string::npos) << status.message();
  EXPECT_EQ(CcOptions::parse({{"lag", "-1"}}).status().code(), Code::invalid_argument);
}

/// A page, then a log for each thread, the main and the background thread included.
TEST(CcArea, HasALogForEachThread) {
  const CcArea area(CcOptions::parse({{"log_bytes", "1000"}}).value(), 4);
  EXPECT_EQ(area.logs, 6);
  EXPECT_EQ(area.log_offset(0), kPageBytes);
  EXPECT_EQ(area.log_offset(2), kPageBytes + 2 * 960);
  EXPECT_EQ(area.bytes(), kPageBytes + 6 * 960);
  EXPECT_EQ(area_bytes({{"log_bytes", "1000"}}, 4).value(), area.bytes());
}

}  // namespace
}  // namespace holdfast::cc_htm::cc_htm_options_test
