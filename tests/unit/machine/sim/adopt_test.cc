// SPDX-License-Identifier: Apache-2.0
//
// Does a simulated medium take over the pages of a file without copying, storing or losing any?
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::adopt_test {
namespace {

using sim::FileContent;

constexpr size_t kWordsPerPage = kPageBytes / sizeof(uint64_t);

class SimAdopt : public testing::Test {
 protected:
  /// Makes a file whose page 0 is not content. Word i of the content is i + 1000.
  std::shared_ptr<const FileContent> make_content(size_t pages) {
    std::vector<uint64_t> words((pages + 1) * kWordsPerPage);
    for (size_t i = kWordsPerPage; i < words.size(); ++i) {
      words[i] = i - kWordsPerPage + 1000;
    }
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(uint64_t)));
    return reopen(pages);
  }
  std::shared_ptr<const FileContent> reopen(size_t pages) {
    const int fd = open(path_.c_str(), O_RDONLY);
    auto content = FileContent::open(fd, path_, kPageBytes, pages * kPageBytes).value();
    close(fd);
    return content;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static std::byte* map(SimMachine& machine, size_t offset, size_t pages, std::byte* at = nullptr,
                        MapMode mode = MapMode::shared) {
    machine.medium().grow(offset + pages * kPageBytes).check();
    return machine.medium().map(offset, pages * kPageBytes, at, mode).value();
  }
  static uint64_t* words(std::byte* p) { return reinterpret_cast<uint64_t*>(p); }
  static uint64_t word_of(const SimImage& image, size_t index) {
    uint64_t value;
    std::memcpy(&value, image.data() + index * sizeof(value), sizeof(value));
    return value;
  }

  const std::string path_ =
      testing::TempDir() + "holdfast-adopt-" + std::to_string(getpid()) + ".bin";
};

TEST_F(SimAdopt, ContentIsThereAsIfFromPowerOn) {
  const auto content = make_content(4);
  SimMachine machine;
  machine.medium().offer(content);
  std::byte* const at = map(machine, 0, 5);
  ASSERT_TRUE(machine.medium().adopt(at, content->data(), content->bytes()));
  for (size_t i = 0; i < 4 * kWordsPerPage; ++i) {
    ASSERT_EQ(SimMachine::load(words(at) + i), i + 1000);
  }
  EXPECT_EQ(SimMachine::load(words(at) + 4 * kWordsPerPage), 0U);
  EXPECT_EQ(machine.counters().bytes, 0U);
  EXPECT_EQ(machine.image_count(), 1U);
  const SimImage image = machine.earliest_image();
  EXPECT_EQ(image, machine.latest_image());
  EXPECT_EQ(std::memcmp(image.data(), content->data(), content->bytes()), 0);
  EXPECT_EQ(word_of(image, 4 * kWordsPerPage), 0U);
}

TEST_F(SimAdopt, StoresFollowTheRulesOfTheMedium) {
  const auto content = make_content(2);
  SimMachine machine;
  machine.medium().offer(content);
  uint64_t* const data = words(map(machine, 0, 2));
  ASSERT_TRUE(machine.medium().adopt(reinterpret_cast<std::byte*>(data), content->data(),
                                     content->bytes()));
  SimMachine::store(data + 3, uint64_t{7});
  SimMachine::store(data + 4, uint64_t{8});
  SimMachine::store(data + kWordsPerPage, uint64_t{9});  // another line, on another page
  EXPECT_EQ(word_of(machine.earliest_image(), 3), 1003U);
  EXPECT_EQ(word_of(machine.latest_image(), 3), 7U);
  std::vector<std::vector<uint64_t>> seen;
  machine.for_each_image(100, [&](const SimImage& image) {
    seen.push_back(
        {word_of(image, 2), word_of(image, 3), word_of(image, 4), word_of(image, kWordsPerPage)});
    return true;
  });
  // Three prefixes of one line times two of the other. The words beside them keep their content in
  // all images.
  const uint64_t old = 1000 + kWordsPerPage;
  EXPECT_EQ(seen, (std::vector<std::vector<uint64_t>>{{1002, 1003, 1004, old},
                                                      {1002, 7, 1004, old},
                                                      {1002, 7, 8, old},
                                                      {1002, 1003, 1004, 9},
                                                      {1002, 7, 1004, 9},
                                                      {1002, 7, 8, 9}}));
  machine.pwb(data + 3);
  machine.pfence();
  EXPECT_EQ(word_of(machine.earliest_image(), 3), 7U);
  EXPECT_EQ(word_of(machine.earliest_image(), 4), 8U);
  EXPECT_EQ(word_of(machine.earliest_image(), kWordsPerPage), old);
  SimMachine::store(data + 3, uint64_t{70});  // overwrites a line that changed before
  machine.pwb(data + 3);
  machine.pfence();
  EXPECT_EQ(word_of(machine.earliest_image(), 3), 70U);
  EXPECT_EQ(word_of(machine.earliest_image(), 5), 1005U);
  // The file is unchanged, and so are all other runs that use it.
  EXPECT_EQ(std::memcmp(reopen(2)->data(), content->data(), content->bytes()), 0);
  EXPECT_EQ(words(const_cast<std::byte*>(content->data()))[3], 1003U);
}

TEST_F(SimAdopt, SegmentsNeedNotBeContiguousOnTheMedium) {
  const auto content = make_content(4);
  SimMachine machine;
  machine.medium().offer(content);
  std::byte* const base = machine.medium().reserve(4 * kPageBytes, nullptr).value();
  map(machine, 6 * kPageBytes, 2, base);  // the later segment comes first
  map(machine, 1 * kPageBytes, 2, base + 2 * kPageBytes);
  ASSERT_TRUE(machine.medium().adopt(base, content->data(), content->bytes()));
  const SimImage image = machine.earliest_image();
  for (size_t i = 0; i < 2 * kWordsPerPage; ++i) {
    ASSERT_EQ(word_of(image, 6 * kWordsPerPage + i), i + 1000);
    ASSERT_EQ(word_of(image, 1 * kWordsPerPage + i), i + 1000 + 2 * kWordsPerPage);
  }
  EXPECT_EQ(word_of(image, 0), 0U);
  EXPECT_EQ(word_of(image, 3 * kWordsPerPage), 0U);
}

TEST_F(SimAdopt, AWorkingCopyShowsItAndTheMediumDoesNot) {
  const auto content = make_content(2);
  SimMachine machine;
  machine.medium().offer(content);
  std::byte* const copy = map(machine, 0, 2, nullptr, MapMode::copy_on_write);
  ASSERT_TRUE(machine.medium().adopt(copy, content->data(), content->bytes()));
  EXPECT_EQ(SimMachine::load(words(copy) + 1), 1001U);
  SimMachine::store(words(copy) + 1, uint64_t{5});
  EXPECT_EQ(SimMachine::load(words(copy) + 1), 5U);
  EXPECT_EQ(machine.latest_image(), SimImage(2 * kPageBytes));
}

TEST_F(SimAdopt, UnmappedPagesAreZeroAgainAndTheMediumRemembers) {
  const auto content = make_content(2);
  SimMachine machine;
  machine.medium().offer(content);
  std::byte* const at = map(machine, 0, 2);
  ASSERT_TRUE(machine.medium().adopt(at, content->data(), content->bytes()));
  SimMachine::store(words(at) + 1, uint64_t{5});
  machine.medium().unmap(at, 2 * kPageBytes);
  EXPECT_EQ(words(at)[0], 0U);
  EXPECT_EQ(words(at)[kWordsPerPage], 0U);
  std::byte* const again = map(machine, 0, 2);
  EXPECT_EQ(SimMachine::load(words(again)), 1000U);
  EXPECT_EQ(SimMachine::load(words(again) + 1), 5U);
}

TEST_F(SimAdopt, OnlyWholeMappedPagesOfWhatWasOffered) {
  const auto content = make_content(2);
  SimMachine machine;
  std::byte* const at = map(machine, 0, 3);
  EXPECT_FALSE(machine.medium().adopt(at, content->data(), kPageBytes)) << "not offered";
  machine.medium().offer(content);
  EXPECT_FALSE(machine.medium().adopt(at, content->data(), kPageBytes - 8));
  EXPECT_FALSE(machine.medium().adopt(at + 64, content->data(), kPageBytes));
  EXPECT_FALSE(machine.medium().adopt(at, content->data() + 64, kPageBytes));
  EXPECT_FALSE(machine.medium().adopt(at, content->data(), 3 * kPageBytes)) << "longer than it is";
  EXPECT_FALSE(machine.medium().adopt(at + 2 * kPageBytes, content->data(), 2 * kPageBytes))
      << "beyond what is mapped";
  EXPECT_EQ(SimMachine::load(words(at)), 0U);
  EXPECT_TRUE(machine.medium().adopt(at, content->data(), kPageBytes));
  EXPECT_FALSE(machine.medium().adopt(at, content->data(), kPageBytes)) << "twice";
}

TEST_F(SimAdopt, AFileThatIsTooShortIsRefused) {
  make_content(2);
  const int fd = open(path_.c_str(), O_RDONLY);
  const auto content = FileContent::open(fd, path_, kPageBytes, 3 * kPageBytes);
  close(fd);
  EXPECT_EQ(content.status().code(), Code::corrupt);
}

size_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) {
      return std::stoul(line.substr(8)) << 10;
    }
  }
  return 0;
}

TEST_F(SimAdopt, MemoryIsTakenForWhatIsStoredTo) {
  constexpr size_t kPages = 16384;  // 64 MiB
  const auto content = make_content(kPages);
  SimMachine machine;
  machine.medium().offer(content);
  std::byte* const at = map(machine, 0, kPages);
  const size_t before = anonymous_bytes();
  ASSERT_NE(before, 0U);
  ASSERT_TRUE(machine.medium().adopt(at, content->data(), content->bytes()));
  uint64_t sum = 0;
  for (size_t page = 0; page < kPages; ++page) {
    sum += words(at)[page * kWordsPerPage];
  }
  EXPECT_EQ(sum, kPages * 1000 + kWordsPerPage * kPages * (kPages - 1) / 2);
  for (size_t page = 0; page < kPages; page += 64) {
    SimMachine::store(words(at) + page * kWordsPerPage, uint64_t{1});
    machine.pwb(words(at) + page * kWordsPerPage);
  }
  machine.pfence();
  // Memory for 256 pages and lines, and for their entries in the simulator's tables: much less than
  // the content.
  EXPECT_LT(anonymous_bytes(), before + (16 << 20));
}

TEST(SimRangeSet, CoversAcrossRangesSideBySide) {
  sim::RangeSet set;
  set.insert(10, 20);
  set.insert(20, 30);
  set.insert(40, 50);
  EXPECT_TRUE(set.covers(10, 30));
  EXPECT_TRUE(set.covers(15, 25));
  EXPECT_FALSE(set.covers(9, 12));
  EXPECT_FALSE(set.covers(10, 31));
  EXPECT_FALSE(set.covers(25, 45));
  EXPECT_FALSE(set.covers(50, 51));
  EXPECT_FALSE(set.contains(15, 25)) << "not one range";
}

}  // namespace
}  // namespace holdfast::adopt_test
