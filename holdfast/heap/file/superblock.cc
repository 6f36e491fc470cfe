// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/superblock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "holdfast/base/checksum.h"
#include "holdfast/base/round.h"
#include "holdfast/heap/file/superblock_text.h"
#include "holdfast/heap/file/superblock_v1.h"

namespace holdfast {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;
constexpr uint64_t kEntryBytes = 8;  // of the table of page checksums

// The beginning of a copy in the file, little endian. The options text follows, padded to whole
// words, and then the extents.
struct Raw {
  char magic[8];
  uint32_t format;
  uint32_t bytes;     // length of the copy, extents included
  uint64_t checksum;  // of the copy, with zero in this place
  uint64_t sequence;
  uint8_t uuid[16];
  uint64_t compatible;
  uint64_t read_only;
  uint64_t incompatible;
  char engine[kEngineNameBytes];
  uint64_t base;
  uint64_t capacity;
  uint64_t chunk_bytes;
  uint64_t growth_bytes;
  uint32_t slots;
  uint32_t extents;
  uint32_t options_bytes;
  uint32_t clean;
};
static_assert(sizeof(Raw) == 152 && sizeof(Extent) == 24);
static_assert(sizeof(Raw) + kOptionsBytes + kMostExtents * sizeof(Extent) <= kSuperblockBytes);
static_assert(kSuperblockBytes % kPageBytes == 0);

size_t encoded_bytes(const Raw& raw) {
  return sizeof(Raw) + round_up(raw.options_bytes, 8) + raw.extents * sizeof(Extent);
}

uint64_t sum_of(std::vector<std::byte> copy) {
  std::memset(copy.data() + offsetof(Raw, checksum), 0, sizeof(Raw::checksum));
  return checksum(copy.data(), copy.size());
}

Status damaged() {
  return {Code::corrupt, "the superblock is damaged"};
}

Status newer_features(uint64_t unknown) {
  char bits[24];
  std::snprintf(bits, sizeof bits, "%llx", static_cast<unsigned long long>(unknown));
  return {Code::wrong_format, std::string("the heap has features that this program does not know") +
                                  " (bits " + bits + "); use a newer Holdfast"};
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Returns why a header has no valid superblock.
Status explain(std::span<const std::byte> header, std::span<const Result<Superblock>> tried) {
  if (is_unfinished(header)) {
    return {Code::wrong_format,
            "there is no heap in the file, because its creation was interrupted; create it again, "
            "or delete the file"};
  }
  for (const auto& copy : tried) {
    if (copy.status().code() == Code::corrupt) {
      return {Code::corrupt, "both superblocks are damaged; restore the file from a copy"};
    }
  }
  if (header.empty()) {
    return {Code::wrong_format, "the file is empty and no Holdfast heap"};
  }
  if (all_zero(header.first(std::min(header.size(), kPageBytes)))) {
    return {Code::wrong_format,
            "there is no heap in the file; perhaps its creation was interrupted: delete it"};
  }
  return tried[0].status();
}

std::span<const std::byte> from(std::span<const std::byte> bytes, size_t offset) {
  return offset < bytes.size() ? bytes.subspan(offset) : std::span<const std::byte>();
}

bool power_of_two(uint64_t x) {
  return x != 0 && (x & (x - 1)) == 0;
}

/// Checks that there is one journal, of a possible size, if the features say so, and else none.
bool journal_fits(const Superblock& s) {
  const auto journals = std::count_if(s.extents.begin(), s.extents.end(), [](const Extent& e) {
    return e.kind == ExtentKind::journal;
  });
  const uint64_t bytes = s.bytes_of(ExtentKind::journal);
  return s.has_journal()
             ? journals == 1 && bytes >= kLeastJournalBytes && bytes <= kMostJournalBytes
             : journals == 0;
}

/// Checks that the table of page checksums has an entry for each page of a region if the features
/// say so, and that there is none else.
bool checksums_fit(const Superblock& s) {
  const uint64_t bytes = s.bytes_of(ExtentKind::page_checksums);
  return s.has_page_checksums() ? s.has_journal() && bytes / kEntryBytes >= s.checksummed_pages()
                                : bytes == 0;
}

/// Checks that the extents are whole pages behind the header and do not overlap, and that the
/// regions fit each other.
bool extents_fit(const Superblock& s) {
  std::vector<Extent> sorted = s.extents;
  std::sort(sorted.begin(), sorted.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  uint64_t end = s.format == 1 ? v1::kHeaderBytes : kHeaderBytes;
  for (const Extent& extent : sorted) {
    if (extent.offset % kPageBytes != 0 || extent.bytes % kPageBytes != 0 || extent.bytes == 0 ||
        extent.offset < end || extent.offset > kMostBytes || extent.bytes > kMostBytes) {
      return false;
    }
    end = extent.offset + extent.bytes;
  }
  const uint64_t data = s.data_bytes();
  const uint64_t twin = s.bytes_of(ExtentKind::twin);
  const uint64_t cells = s.bytes_of(ExtentKind::cells);
  return journal_fits(s) && checksums_fit(s) && data > 0 && data <= s.capacity &&
         (twin == 0 || twin == data) && (cells == 0 || cells == 2 * data);
}

}  // namespace

const char* to_string(ExtentKind kind) {
  switch (kind) {
    case ExtentKind::area:
      return "area";
    case ExtentKind::data:
      return "data";
    case ExtentKind::twin:
      return "twin";
    case ExtentKind::cells:
      return "cells";
    case ExtentKind::journal:
      return "journal";
    case ExtentKind::page_checksums:
      return "page_checksums";
  }
  return "unknown";
}

uint64_t Superblock::bytes_of(ExtentKind kind) const {
  uint64_t sum = 0;
  for (const Extent& extent : extents) {
    sum += extent.kind == kind ? extent.bytes : 0;
  }
  return sum;
}

uint64_t Superblock::file_offset(ExtentKind kind, uint64_t at) const {
  for (const Extent& extent : extents) {
    if (extent.kind == kind) {
      if (at < extent.bytes) {
        return extent.offset + at;
      }
      at -= extent.bytes;
    }
  }
  return file_bytes();
}

uint64_t Superblock::file_bytes() const {
  uint64_t end = format == 1 ? v1::kHeaderBytes : kHeaderBytes;
  for (const Extent& extent : extents) {
    end = std::max(end, extent.offset + extent.bytes);
  }
  return end;
}

void Superblock::append(ExtentKind kind, uint64_t bytes) {
  const uint64_t end = file_bytes();
  const auto last = std::find_if(extents.rbegin(), extents.rend(),
                                 [&](const Extent& extent) { return extent.kind == kind; });
  if (last != extents.rend() && last->offset + last->bytes == end) {
    last->bytes += bytes;
  } else {
    extents.push_back({kind, end, bytes});
  }
}

uint64_t Superblock::checksummed_pages() const {
  uint64_t end = 0;
  Extent journal{};
  for (const Extent& extent : extents) {
    if (extent.kind == ExtentKind::journal) {
      journal = extent;
    } else if (extent.kind != ExtentKind::page_checksums) {
      end = std::max(end, extent.offset + extent.bytes);
    }
  }
  return (end - (end > journal.offset ? journal.bytes : 0)) / kPageBytes;
}

void Superblock::append_page_checksums() {
  const uint64_t needed = checksummed_pages() * kEntryBytes;
  const uint64_t has = bytes_of(ExtentKind::page_checksums);
  if (has_page_checksums() && has < needed) {
    // Twice what is needed now, so that the pieces are few.
    append(ExtentKind::page_checksums, round_up(2 * needed - has, kPageBytes));
  }
}

std::string Superblock::uuid_text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

Result<std::vector<std::byte>> encode(const Superblock& s) {
  const std::string options = join(s.options);
  if (s.engine.size() >= kEngineNameBytes || options.size() > kOptionsBytes) {
    return Status(Code::invalid_argument,
                  "the engine's name or its options are too long to be recorded in the heap");
  }
  if (s.extents.size() > kMostExtents) {
    return Status(Code::out_of_space,
                  "the heap's list of extents is full; copy the heap with "
                  "`holdfast convert`, which makes one extent of many");
  }
  Raw raw{};
  std::memcpy(raw.magic, kMagic.data(), kMagic.size());
  raw.format = kFormatVersion;
  raw.sequence = s.sequence;
  std::memcpy(raw.uuid, s.uuid.data(), s.uuid.size());
  raw.compatible = s.features.compatible;
  raw.read_only = s.features.read_only;
  raw.incompatible = s.features.incompatible;
  std::memcpy(raw.engine, s.engine.data(), s.engine.size());
  raw.base = s.base;
  raw.capacity = s.capacity;
  raw.chunk_bytes = s.chunk_bytes;
  raw.growth_bytes = s.growth_bytes;
  raw.slots = s.slots;
  raw.clean = s.clean ? 1 : 0;
  raw.extents = static_cast<uint32_t>(s.extents.size());
  raw.options_bytes = static_cast<uint32_t>(options.size());
  raw.bytes = static_cast<uint32_t>(encoded_bytes(raw));

  std::vector<std::byte> copy(raw.bytes);
  std::memcpy(copy.data(), &raw, sizeof raw);
  std::memcpy(copy.data() + sizeof raw, options.data(), options.size());
  const auto extents = std::as_bytes(std::span(s.extents));
  std::copy(extents.begin(), extents.end(), copy.data() + sizeof raw + round_up(options.size(), 8));
  const uint64_t sum = sum_of(copy);
  std::memcpy(copy.data() + offsetof(Raw, checksum), &sum, sizeof sum);
  return copy;
}

Result<Superblock> decode(std::span<const std::byte> bytes) {
  const uint32_t format = format_of(bytes);
  if (format == 0) {
    return Status(Code::wrong_format,
                  "this is not a Holdfast heap (it does not begin with HOLDFAST)");
  }
  if (format > kFormatVersion && format < 1000) {
    return Status(Code::wrong_format,
                  "the heap has format " + std::to_string(format) + ", this program reads up to " +
                      std::to_string(kFormatVersion) + "; use a newer Holdfast");
  }
  if (format == 1) {
    return Status(Code::wrong_format, "the heap has format 1");
  }
  Raw raw{};
  if (bytes.size() < sizeof raw) {
    return damaged();
  }
  std::memcpy(&raw, bytes.data(), sizeof raw);
  if (raw.format != kFormatVersion || raw.extents > kMostExtents ||
      raw.options_bytes > kOptionsBytes || raw.bytes != encoded_bytes(raw) ||
      raw.bytes > bytes.size() ||
      raw.checksum != sum_of({bytes.begin(), bytes.begin() + raw.bytes})) {
    return damaged();
  }
  if (const uint64_t unknown = raw.incompatible & ~kKnownFeatures.incompatible; unknown != 0) {
    return newer_features(unknown);
  }
  Superblock s;
  s.sequence = raw.sequence;
  std::memcpy(s.uuid.data(), raw.uuid, s.uuid.size());
  s.features = {raw.compatible, raw.read_only, raw.incompatible};
  s.engine = std::string(raw.engine, strnlen(raw.engine, kEngineNameBytes));
  const std::byte* const options = bytes.data() + sizeof raw;
  s.options = split({reinterpret_cast<const char*>(options), raw.options_bytes});
  s.base = raw.base;
  s.capacity = raw.capacity;
  s.chunk_bytes = raw.chunk_bytes;
  s.growth_bytes = raw.growth_bytes;
  s.slots = raw.slots;
  s.clean = raw.clean != 0;
  s.extents.resize(raw.extents);
  const auto extents = std::as_writable_bytes(std::span(s.extents));
  std::copy_n(options + round_up(raw.options_bytes, 8), extents.size(), extents.begin());
  return s;
}

Result<Superblock> choose(std::span<const std::byte> header, const std::string& name,
                          bool* healed) {
  Result<Superblock> copies[] = {decode(header), decode(from(header, kSuperblockBytes)),
                                 v1::decode(header),
                                 v1::decode(from(header, v1::kSuperblockBytes))};
  for (Result<Superblock>* pair : {&copies[0], &copies[2]}) {
    Result<Superblock>& first = pair[0];
    Result<Superblock>& second = pair[1];
    if (first.ok() || second.ok()) {
      *healed = first.ok() != second.ok();
      const bool take_first = first.ok() && (!second.ok() || first->sequence >= second->sequence);
      return std::move(take_first ? first : second);
    }
  }
  const Status why = explain(header, copies);
  return Status(why.code(), name + ": " + why.message());
}

bool is_unfinished(std::span<const std::byte> header) {
  const auto second = from(header, kSuperblockBytes);
  if (second.size() < kUnfinished.size() ||
      std::memcmp(second.data(), kUnfinished.data(), kUnfinished.size()) != 0 ||
      !all_zero(second.subspan(kUnfinished.size()))) {
    return false;
  }
  // A crash may tear the first copy. A newer version may have made one that is whole.
  return format_of(header) == 0 || decode(header).status().code() == Code::corrupt;
}

Status validate(const Superblock& s, uint64_t file_bytes, const std::string& name) {
  const bool plausible = s.capacity % kPageBytes == 0 && s.capacity < kMostBytes &&
                         s.base % kPageBytes == 0 && power_of_two(s.chunk_bytes) &&
                         s.growth_bytes <= kMostBytes && s.slots > 0 &&
                         s.slots <= kMostThreadSlots && extents_fit(s);
  if (!plausible) {
    return {Code::corrupt,
            name + ": the superblock contradicts itself; restore the file from a copy"};
  }
  if (file_bytes < s.file_bytes()) {
    return {Code::corrupt, name + ": the file was cut short (" + std::to_string(file_bytes) +
                               " bytes, the heap needs " + std::to_string(s.file_bytes()) +
                               "); restore it from a copy"};
  }
  return {};
}

}  // namespace holdfast
