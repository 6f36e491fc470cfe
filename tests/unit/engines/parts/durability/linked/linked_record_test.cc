// SPDX-License-Identifier: Apache-2.0
// Does a header of a linked log survive packing, and is everything else refused?
#include "holdfast/engines/parts/durability/linked/linked_record.h"

#include <gtest/gtest.h>

#include "holdfast/engines/parts/durability/linked/linked_log.h"
#include "tests/present.h"

namespace holdfast::linked_record_test {
namespace {

TEST(LinkedRecord, SurvivesPackingAndNothingElseDoes) {
  const LinkedRecord r{
      .thread = 3, .start = 640, .time = 77, .payload = 40, .extent = 128, .checksum = 9};
  uint64_t words[3];
  r.header(5, words);
  const auto same = present(LinkedRecord::parse(3, 640, 5, words));
  EXPECT_EQ(same.time, 77u);
  EXPECT_EQ(same.payload, 40u);
  EXPECT_EQ(same.extent, 128u);
  EXPECT_EQ(same.checksum, 9u);
  EXPECT_FALSE(LinkedRecord::parse(2, 640, 5, words)) << "another thread";
  EXPECT_FALSE(LinkedRecord::parse(3, 640 + 4096, 5, words)) << "another lap";
  EXPECT_FALSE(LinkedRecord::parse(3, 640, 6, words)) << "another epoch";
  for (int bit = 0; bit < 192; ++bit) {
    words[bit / 64] ^= uint64_t{1} << bit % 64;
    EXPECT_FALSE(LinkedRecord::parse(3, 640, 5, words)) << "bit " << bit;
    words[bit / 64] ^= uint64_t{1} << bit % 64;
  }
  const LogLink link{257, uint64_t{123456} * kLineBytes};
  EXPECT_EQ(present(LogLink::decode(link.encode())).thread, 257);
  EXPECT_EQ(present(LogLink::decode(link.encode())).start, link.start);
  EXPECT_FALSE(LogLink::decode(0));
}

TEST(LinkedRecord, TakesWholeLinesAndEndsWithItsLink) {
  EXPECT_EQ(LinkedRecord::extent_of(0, 64), 64u);
  EXPECT_EQ(LinkedRecord::extent_of(32, 64), 64u);
  EXPECT_EQ(LinkedRecord::extent_of(33, 64), 128u);
  EXPECT_EQ(LinkedRecord::extent_of(96, 128), 128u);
  const LinkedRecord r{.start = 640, .extent = 128};
  EXPECT_EQ(r.end(), 768u);
  EXPECT_EQ(r.link_position(), 760u);
}

TEST(LinkedRecord, AreOrderedByTimeAndThenByThread) {
  const auto before = [](uint64_t time, int thread, uint64_t other_time, int other_thread) {
    return LinkedRecord{.thread = thread, .time = time}.before(
        LinkedRecord{.thread = other_thread, .time = other_time});
  };
  EXPECT_TRUE(before(1, 5, 2, 4));
  EXPECT_FALSE(before(2, 4, 1, 5));
  EXPECT_TRUE(before(1, 4, 1, 5));
  EXPECT_FALSE(before(1, 5, 1, 4));
  EXPECT_FALSE(before(1, 4, 1, 4));
}

}  // namespace
}  // namespace holdfast::linked_record_test
