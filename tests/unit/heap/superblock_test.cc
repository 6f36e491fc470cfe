// SPDX-License-Identifier: Apache-2.0
//
// The bounds of what a superblock may say, exactly, and how its bytes are read.
#include "holdfast/heap/file/superblock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/heap/file/superblock_text.h"
#include "tests/superblock_of.h"
#include "tests/superblock_v1_bytes.h"

namespace holdfast::superblock_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint64_t kMost = uint64_t{1} << 46;
constexpr size_t kHeadBytes = 152;  // of a superblock without options and extents

/// A heap with a logs' area at the end of the file.
Superblock sound() {
  Superblock s;
  s.engine = "some-engine";
  s.base = 0x5500'0000'0000;
  s.capacity = 8 * kPageBytes;
  s.chunk_bytes = 4096;
  s.slots = 3;
  s.append(ExtentKind::data, 8 * kPageBytes);
  s.append(ExtentKind::area, 2 * kPageBytes);
  return s;
}

template <class F>
bool fits(F&& change) {
  Superblock s = sound();
  change(s);
  return validate(s, uint64_t{1} << 60, "file").ok();
}

TEST(SuperblockBounds, OfNumbers) {
  EXPECT_TRUE(fits([](Superblock&) {}));
  EXPECT_TRUE(fits([](Superblock& s) { s.capacity = kMost - kPageBytes; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.capacity = kMost; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.capacity += 8; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.capacity -= kPageBytes; })) << "less than the data";
  EXPECT_FALSE(fits([](Superblock& s) { s.base += 8; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.chunk_bytes = 1024; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.chunk_bytes = 0; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.chunk_bytes = 1024 + 512; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.growth_bytes = kMost; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.growth_bytes = kMost + 1; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.slots = 0; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.slots = 1; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.slots = kMaxThreads + 8; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.slots = kMaxThreads + 9; }));
}

TEST(SuperblockBounds, OfExtents) {
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].bytes += 8; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].bytes = 0; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].offset += 8; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].offset -= kPageBytes; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.extents[1].offset += kPageBytes; })) << "a hole";
  EXPECT_TRUE(fits([](Superblock& s) { s.extents[1].offset = kMost; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].offset = kMost + kPageBytes; }));
  EXPECT_TRUE(fits([](Superblock& s) { s.extents[1].bytes = kMost; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents[1].bytes = kMost + kPageBytes; }));
  EXPECT_TRUE(fits([](Superblock& s) { std::swap(s.extents[0], s.extents[1]); }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents.erase(s.extents.begin()); })) << "no data";
  for (const uint64_t pages : {7, 8, 9}) {
    EXPECT_EQ(fits([&](Superblock& s) { s.append(ExtentKind::twin, pages * kPageBytes); }),
              pages == 8);
    EXPECT_EQ(fits([&](Superblock& s) { s.append(ExtentKind::cells, (8 + pages) * kPageBytes); }),
              pages == 8);
  }
  EXPECT_TRUE(fits([](Superblock& s) {
    s.features.incompatible = kJournalFeature;
    s.append(ExtentKind::journal, kMostJournalBytes);
  }));
  EXPECT_FALSE(fits([](Superblock& s) { s.append(ExtentKind::page_checksums, kPageBytes); }))
      << "without their feature";
}

TEST(SuperblockBounds, OfTheHeader) {
  const auto begins_at = [](uint32_t format, uint64_t offset) {
    return fits([&](Superblock& s) {
      s.format = format;
      s.extents.pop_back();
      s.extents[0].offset = offset;
    });
  };
  EXPECT_TRUE(begins_at(2, kHeaderBytes));
  EXPECT_FALSE(begins_at(2, kHeaderBytes - kPageBytes));
  EXPECT_TRUE(begins_at(1, v1::kHeaderBytes));
  EXPECT_FALSE(begins_at(1, v1::kHeaderBytes - kPageBytes));
  Superblock s;
  EXPECT_EQ(s.file_bytes(), kHeaderBytes);
  s.format = 1;
  EXPECT_EQ(s.file_bytes(), v1::kHeaderBytes);
}

TEST(SuperblockBounds, AFileThatIsTooShortIsNamedWithBothLengths) {
  const Status status = validate(sound(), 5000, "some/file");
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_EQ(status.message(), "some/file: the file was cut short (5000 bytes, the heap needs " +
                                  std::to_string(sound().file_bytes()) +
                                  "); restore it from a copy");
}

TEST(SuperblockText, ShowsTheUuidInGroups) {
  Superblock s;
  for (size_t i = 0; i < s.uuid.size(); ++i) {
    s.uuid[i] = static_cast<uint8_t>(0x1f * i);
  }
  EXPECT_EQ(s.uuid_text(), "001f3e5d-7c9b-bad9-f817-36557493b2d1");
}

TEST(SuperblockBytes, HoldEachMember) {
  Superblock s = sound();
  s.sequence = 0x1234'5678'9abc;
  s.features = {1, kPageChecksumsFeature, kPartitionsFeature | kFineClassesFeature};
  s.growth_bytes = 12'288;
  s.options = {{"a", "1"}, {"bc", "x=y"}};
  for (size_t i = 0; i < s.uuid.size(); ++i) {
    s.uuid[i] = static_cast<uint8_t>(i + 1);
  }
  for (const bool clean : {false, true}) {
    s.clean = clean;
    const Superblock read = decode(encode(s).value()).value();
    EXPECT_EQ(read.format, kFormatVersion);
    EXPECT_EQ(read.sequence, s.sequence);
    EXPECT_EQ(read.uuid, s.uuid);
    EXPECT_EQ(read.features.compatible, s.features.compatible);
    EXPECT_EQ(read.features.read_only, s.features.read_only);
    EXPECT_EQ(read.features.incompatible, s.features.incompatible);
    EXPECT_EQ(read.engine, s.engine);
    EXPECT_EQ(read.options, s.options);
    EXPECT_EQ(read.base, s.base);
    EXPECT_EQ(read.capacity, s.capacity);
    EXPECT_EQ(read.chunk_bytes, s.chunk_bytes);
    EXPECT_EQ(read.growth_bytes, s.growth_bytes);
    EXPECT_EQ(read.slots, s.slots);
    EXPECT_EQ(read.clean, clean);
    ASSERT_EQ(read.extents.size(), 2u);
    EXPECT_EQ(read.extents[1].offset, s.extents[1].offset);
  }
}

TEST(SuperblockBytes, HaveRoomForNamesAndOptionsUpToABound) {
  Superblock s = sound();
  s.engine = std::string(kEngineNameBytes - 1, 'e');
  s.options = {{"o", std::string(kOptionsBytes - 3, 'v')}};  // with = and the end of the line
  const Superblock read = decode(encode(s).value()).value();
  EXPECT_EQ(read.engine, s.engine);
  EXPECT_EQ(read.options, s.options);
  EXPECT_EQ(read.extents.size(), s.extents.size());
  s.engine += 'e';
  EXPECT_EQ(encode(s).status().code(), Code::invalid_argument);
  s.engine.pop_back();
  s.options["o"] += 'v';
  EXPECT_EQ(encode(s).status().code(), Code::invalid_argument);
}

/// Sets a number of 4 bytes, and the checksum.
Bytes with(Bytes copy, size_t offset, uint32_t value) {
  std::memcpy(copy.data() + offset, &value, sizeof value);
  uint64_t sum = 0;
  std::memcpy(copy.data() + 16, &sum, sizeof sum);
  sum = checksum(copy.data(), copy.size());
  std::memcpy(copy.data() + 16, &sum, sizeof sum);
  return copy;
}
constexpr size_t kFormatAt = 8;
constexpr size_t kBytesAt = 12;
constexpr size_t kExtentsAt = 140;
constexpr size_t kOptionsAt = 144;

TEST(SuperblockBytes, AreWholeAndAgreeWithTheirLengths) {
  const Bytes least = encode(Superblock()).value();
  EXPECT_EQ(least.size(), kHeadBytes);
  const Superblock nothing = decode(least).value();
  EXPECT_EQ(nothing.sequence + nothing.base + nothing.capacity + nothing.chunk_bytes +
                nothing.growth_bytes + nothing.slots,
            0u);
  EXPECT_EQ(
      nothing.features.compatible | nothing.features.read_only | nothing.features.incompatible, 0u);
  EXPECT_FALSE(nothing.clean);
  const Bytes good = encode(sound()).value();
  EXPECT_TRUE(decode(good).ok());
  const std::span<const std::byte> all(good);
  for (const size_t n : {size_t{12}, kHeadBytes - 1, kHeadBytes, good.size() - 1}) {
    EXPECT_EQ(decode(all.first(n)).status().code(), Code::corrupt) << n;
  }
  const auto is_damaged = [](const Bytes& copy) {
    return decode(copy).status().code() == Code::corrupt;
  };
  // With a right checksum, too.
  const auto size = static_cast<uint32_t>(good.size());
  EXPECT_FALSE(is_damaged(with(good, kBytesAt, size)));
  EXPECT_TRUE(is_damaged(with(good, kExtentsAt, 1)));
  EXPECT_TRUE(is_damaged(with(good, kOptionsAt, 8)));
  Bytes longer = good;
  longer.resize(good.size() + 8);
  EXPECT_TRUE(is_damaged(with(longer, kBytesAt, size + 8)));
}

TEST(SuperblockBytes, MayNotHaveMoreExtentsOrOptionsThanThereIsRoomFor) {
  Superblock s = sound();
  while (s.extents.size() < kMostExtents) {
    s.extents.push_back({ExtentKind::data, s.file_bytes(), kPageBytes});
  }
  Bytes copy = encode(s).value();
  EXPECT_TRUE(decode(copy).ok());
  copy.resize(copy.size() + sizeof(Extent));
  copy = with(copy, kBytesAt, static_cast<uint32_t>(copy.size()));
  EXPECT_EQ(decode(with(copy, kExtentsAt, kMostExtents + 1)).status().code(), Code::corrupt);
  s = sound();
  s.options = {{"o", std::string(kOptionsBytes - 3, 'v')}};
  copy = encode(s).value();
  copy.resize(copy.size() + 8);
  copy = with(copy, kBytesAt, static_cast<uint32_t>(copy.size()));
  EXPECT_EQ(decode(with(copy, kOptionsAt, kOptionsBytes + 1)).status().code(), Code::corrupt);
}

TEST(SuperblockBytes, OfNewerFormatsAreToldFromDamage) {
  const Bytes good = encode(sound()).value();
  for (const uint32_t format : {3, 999}) {
    const Status status = decode(with(good, kFormatAt, format)).status();
    EXPECT_EQ(status.code(), Code::wrong_format);
    EXPECT_EQ(status.message(), "the heap has format " + std::to_string(format) +
                                    ", this program reads up to 2; use a newer Holdfast");
  }
  EXPECT_EQ(decode(with(good, kFormatAt, 1000)).status().code(), Code::corrupt);
  EXPECT_NE(decode(with(good, kFormatAt, 1)).status().message().find("format 1"),
            std::string::npos);
}

TEST(SuperblockChoice, OfEqualCopiesTakesTheFirst) {
  Superblock second = sound();
  second.slots = 4;
  bool healed = true;
  EXPECT_EQ(choose(header_of(sound(), second), "file", &healed).value().slots, 3u);
  EXPECT_FALSE(healed);
}

TEST(SuperblockChoice, SaysWhyThereIsNone) {
  const auto reason = [](const Bytes& header) {
    bool healed = false;
    return choose(header, "file", &healed).status().message();
  };
  const std::string interrupted =
      "file: there is no heap in the file; perhaps its creation was interrupted: delete it";
  const std::string other = "file: this is not a Holdfast heap (it does not begin with HOLDFAST)";
  EXPECT_EQ(reason({}), "file: the file is empty and no Holdfast heap");
  EXPECT_EQ(reason(Bytes(100)), interrupted);
  Bytes header(kHeaderBytes);
  header[kPageBytes] = std::byte{'x'};  // as an engine area might begin
  EXPECT_EQ(reason(header), interrupted);
  for (const size_t at : {size_t{0}, kPageBytes - 1}) {
    header = Bytes(kHeaderBytes);
    header[at] = std::byte{'x'};
    EXPECT_EQ(reason(header), other) << at;
  }
  header = header_of(sound(), sound());
  std::fill_n(header.begin(), kSuperblockBytes, std::byte{});
  header[kSuperblockBytes + 100] ^= std::byte{1};
  EXPECT_EQ(reason(header), "file: both superblocks are damaged; restore the file from a copy");
}

TEST(SuperblockChoice, KnowsTheBeginningOfACreation) {
  Bytes header(kHeaderBytes);
  const auto text = std::as_bytes(std::span(kUnfinished));
  std::copy(text.begin(), text.end(), header.begin() + kSuperblockBytes);
  EXPECT_TRUE(is_unfinished(header));
  EXPECT_TRUE(is_unfinished(std::span(header).first(kSuperblockBytes + text.size())));
  EXPECT_FALSE(is_unfinished(std::span(header).first(kSuperblockBytes + text.size() - 1)));
  EXPECT_FALSE(is_unfinished({}));
  EXPECT_FALSE(is_unfinished(Bytes(kHeaderBytes)));
  bool healed = false;
  const Status why = choose(header, "file", &healed).status();
  EXPECT_EQ(why.code(), Code::wrong_format);
  EXPECT_NE(why.message().find("its creation was interrupted"), std::string::npos);

  const Bytes sound_one = encode(sound()).value();
  std::copy(sound_one.begin(), sound_one.end(), header.begin());
  EXPECT_FALSE(is_unfinished(header));
  EXPECT_TRUE(choose(header, "file", &healed).ok());
  EXPECT_TRUE(healed);
  header[100] ^= std::byte{1};
  EXPECT_TRUE(is_unfinished(header)) << "the first copy is torn";
  header.back() = std::byte{1};
  EXPECT_FALSE(is_unfinished(header)) << "data of another file";
}

TEST(SuperblockPageChecksums, CountTheJournalsPagesOnlyIfTheyLieBeforeAnotherRegion) {
  Superblock s;
  s.append(ExtentKind::data, 3 * kPageBytes);
  s.append(ExtentKind::journal, kLeastJournalBytes);
  EXPECT_EQ(s.checksummed_pages(), kHeaderBytes / kPageBytes + 3);
  s.append(ExtentKind::data, 2 * kPageBytes);
  EXPECT_EQ(s.checksummed_pages(), kHeaderBytes / kPageBytes + 5);
}

TEST(SuperblockPageChecksums, GetTwiceTheEntriesThatAreNeeded) {
  constexpr uint64_t kEntries = kPageBytes / 8;
  Superblock s;
  s.append(ExtentKind::data, kEntries * kPageBytes - kHeaderBytes);
  s.append(ExtentKind::page_checksums, kPageBytes);
  s.append_page_checksums();
  s.features.read_only = kPageChecksumsFeature;
  s.append_page_checksums();
  EXPECT_EQ(s.bytes_of(ExtentKind::page_checksums), kPageBytes) << "one entry for each page";
  s.append(ExtentKind::data, kPageBytes);  // behind the table
  s.append_page_checksums();
  EXPECT_EQ(s.checksummed_pages(), kEntries + 2);
  EXPECT_EQ(s.bytes_of(ExtentKind::page_checksums), 3 * kPageBytes) << "2 * 514 entries";
  s.append(ExtentKind::data, 1100 * kPageBytes);
  s.append_page_checksums();
  EXPECT_EQ(s.checksummed_pages(), kEntries + 2 + 2 + 1100);
  EXPECT_EQ(s.bytes_of(ExtentKind::page_checksums), 7 * kPageBytes) << "2 * 1616 entries";
}

// ---- format 1 -----------------------------------------------------------------------------------

template <class F>
Result<Superblock> old(F&& change) {
  SuperblockV1 raw;
  raw.capacity = kMost - kPageBytes;
  raw.segment_bytes = kPageBytes;
  raw.segments = 2;
  change(raw);
  return v1::decode(page_of(raw));
}
template <class F>
bool old_fits(F&& change) {
  const Status status = old(change).status();
  EXPECT_TRUE(status.ok() || status.code() == Code::corrupt) << status.to_string();
  return status.ok();
}

TEST(SuperblockOfFormat1, HasBounds) {
  EXPECT_TRUE(old_fits([](SuperblockV1&) {}));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.copies = 0; }));
  EXPECT_TRUE(old_fits([](SuperblockV1& raw) { raw.copies = 3; }));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.copies = 4; }));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.segment_bytes = 0; }));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.segments = 0; }));
  const auto segments = [](uint64_t n, uint64_t capacity) {
    return old_fits([&](SuperblockV1& raw) {
      raw.segments = n;
      raw.capacity = capacity;
    });
  };
  EXPECT_TRUE(segments(3, 3 * kPageBytes));
  EXPECT_FALSE(segments(4, 4 * kPageBytes - 1));
  EXPECT_TRUE(segments(1 << 20, kMost - 1));
  EXPECT_FALSE(segments((1 << 20) + 1, kMost - 1));
  EXPECT_FALSE(segments(1, kMost));
  EXPECT_TRUE(old_fits([](SuperblockV1& raw) { raw.area_bytes = kMost - 1; }));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.area_bytes = kMost; }));
  EXPECT_TRUE(old_fits([](SuperblockV1& raw) { raw.options_bytes = kOptionsBytes; }));
  EXPECT_FALSE(old_fits([](SuperblockV1& raw) { raw.options_bytes = kOptionsBytes + 1; }));
}

TEST(SuperblockOfFormat1, NamesThePiecesOfEachRegion) {
  const auto pieces = [](uint32_t copies) {
    const Superblock s = old([&](SuperblockV1& raw) {
                           raw.copies = copies;
                           raw.area_bytes = 3 * kPageBytes;
                         }).value();
    std::string text;
    uint64_t end = v1::kHeaderBytes;
    for (const Extent& extent : s.extents) {
      EXPECT_EQ(extent.offset, end);
      end += extent.bytes;
      text += std::string(to_string(extent.kind)) + std::to_string(extent.bytes / kPageBytes) + ' ';
    }
    return text;
  };
  EXPECT_EQ(pieces(1), "area3 data2 ");
  EXPECT_EQ(pieces(2), "area3 data1 twin1 data1 twin1 ");
  EXPECT_EQ(pieces(3), "area3 data1 cells2 data1 cells2 ");
}

TEST(SuperblockOfFormat1, IsReadWhole) {
  const Superblock s = old([](SuperblockV1& raw) {
                         raw.sequence = 77;
                         std::fill_n(raw.uuid, sizeof raw.uuid, uint8_t{0xab});
                         std::fill_n(raw.engine, sizeof raw.engine, 'e');
                         raw.base = 0x5500'0000'0000;
                         raw.chunk_bytes = 2048;
                         raw.slots = 9;
                         std::memcpy(raw.options, "a=1\nb=2\n", 8);
                         raw.options_bytes = 8;
                       }).value();
  EXPECT_EQ(s.format, 1u);
  EXPECT_EQ(s.sequence, 77u);
  EXPECT_EQ(s.uuid_text(), "abababab-abab-abab-abab-abababababab");
  EXPECT_EQ(s.engine, std::string(kEngineNameBytes, 'e'));
  EXPECT_EQ(s.base, uint64_t{0x5500'0000'0000});
  EXPECT_EQ(s.capacity, kMost - kPageBytes);
  EXPECT_EQ(s.chunk_bytes, 2048u);
  EXPECT_EQ(s.growth_bytes, kPageBytes);
  EXPECT_EQ(s.slots, 9u);
  EXPECT_EQ(s.options, (Options{{"a", "1"}, {"b", "2"}}));
  const Bytes page = page_of(SuperblockV1());
  EXPECT_EQ(v1::decode(std::span(page).first(page.size() - 1)).status().code(), Code::wrong_format);
}

}  // namespace
}  // namespace holdfast::superblock_test
