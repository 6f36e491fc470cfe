// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/superblock.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "holdfast/base/checksum.h"

namespace holdfast {
namespace {

constexpr std::string_view kMagic = "HOLDFAST";
constexpr size_t kEngineNameBytes = 32;
constexpr size_t kOptionsBytes = 2048;

// The superblock's layout in the file, little endian. A static_assert below checks its size.
struct Raw {
  char magic[8];
  uint32_t format;
  uint32_t copies;
  uint64_t sequence;
  uint8_t uuid[16];
  char engine[kEngineNameBytes];
  uint64_t base;
  uint64_t segment_bytes;
  uint64_t segments;
  uint64_t capacity;
  uint64_t area_bytes;
  uint64_t chunk_bytes;
  uint32_t slots;
  uint32_t options_bytes;
  char options[kOptionsBytes];
};
static_assert(sizeof(Raw) == 8 + 8 + 8 + 16 + 32 + 6 * 8 + 8 + kOptionsBytes);
static_assert(sizeof(Raw) + 8 <= kSuperblockBytes);

uint64_t sum_of(const SuperblockBytes& bytes) {
  return checksum(bytes.data(), kSuperblockBytes - sizeof(uint64_t));
}

std::string join(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text.append(name).append("=").append(value).append("\n");
  }
  return text;
}

Options split(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      options[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return options;
}

bool power_of_two(uint64_t x) {
  return x != 0 && (x & (x - 1)) == 0;
}

}  // namespace

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

Result<SuperblockBytes> encode(const Superblock& s) {
  const std::string options = join(s.options);
  if (s.engine.size() >= kEngineNameBytes || options.size() > kOptionsBytes) {
    return Status(Code::invalid_argument,
                  "the engine's name or its options are too long to be recorded in the heap");
  }
  Raw raw{};
  std::memcpy(raw.magic, kMagic.data(), kMagic.size());
  raw.format = kFormatVersion;
  raw.copies = s.copies;
  raw.sequence = s.sequence;
  std::memcpy(raw.uuid, s.uuid.data(), s.uuid.size());
  std::memcpy(raw.engine, s.engine.data(), s.engine.size());
  raw.base = s.base;
  raw.segment_bytes = s.segment_bytes;
  raw.segments = s.segments;
  raw.capacity = s.capacity;
  raw.area_bytes = s.area_bytes;
  raw.chunk_bytes = s.chunk_bytes;
  raw.slots = s.slots;
  raw.options_bytes = static_cast<uint32_t>(options.size());
  std::memcpy(raw.options, options.data(), options.size());

  SuperblockBytes bytes{};
  std::memcpy(bytes.data(), &raw, sizeof raw);
  const uint64_t sum = sum_of(bytes);
  std::memcpy(bytes.data() + kSuperblockBytes - sizeof sum, &sum, sizeof sum);
  return bytes;
}

Result<Superblock> decode(const SuperblockBytes& bytes) {
  Raw raw{};
  std::memcpy(&raw, bytes.data(), sizeof raw);
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kSuperblockBytes - sizeof sum, sizeof sum);
  const bool named = std::memcmp(raw.magic, kMagic.data(), kMagic.size()) == 0;
  const bool whole = sum == sum_of(bytes);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return Status(Code::wrong_format,
                  "there is no heap in the file; perhaps its creation was interrupted: delete it");
  }
  if (!named && !whole) {
    return Status(Code::wrong_format,
                  "this is not a Holdfast heap (it does not begin with HOLDFAST)");
  }
  if (named && raw.format > kFormatVersion && raw.format < 1000) {
    return Status(Code::wrong_format, "the heap has format " + std::to_string(raw.format) +
                                          ", this program reads up to " +
                                          std::to_string(kFormatVersion) +
                                          "; use a newer Holdfast");
  }
  if (!named || !whole || raw.format == 0 || raw.options_bytes > kOptionsBytes) {
    return Status(Code::corrupt, "the superblock is damaged");
  }
  Superblock s;
  s.sequence = raw.sequence;
  std::memcpy(s.uuid.data(), raw.uuid, s.uuid.size());
  s.engine = std::string(raw.engine, strnlen(raw.engine, kEngineNameBytes));
  s.options = split(std::string_view(raw.options, raw.options_bytes));
  s.base = raw.base;
  s.segment_bytes = raw.segment_bytes;
  s.segments = raw.segments;
  s.capacity = raw.capacity;
  s.area_bytes = raw.area_bytes;
  s.chunk_bytes = raw.chunk_bytes;
  s.copies = raw.copies;
  s.slots = raw.slots;
  return s;
}

Result<Superblock> choose(const SuperblockBytes& first, const SuperblockBytes& second,
                          const std::string& name, bool* healed) {
  auto a = decode(first);
  auto b = decode(second);
  *healed = a.ok() != b.ok();
  if (a && b) {
    return a->sequence >= b->sequence ? std::move(a) : std::move(b);
  }
  if (a || b) {
    return a ? std::move(a) : std::move(b);
  }
  // Neither copy is valid. A damaged second copy means a damaged heap. Otherwise the first copy's
  // status tells the reason: a newer format, or a file of another program.
  const Status& why = b.status().code() == Code::corrupt ? b.status() : a.status();
  std::string message = name + ": " + why.message();
  if (why.code() == Code::corrupt) {
    message = name + ": both superblocks are damaged; restore the file from a copy";
  }
  return Status(why.code(), std::move(message));
}

Status validate(const Superblock& s, size_t file_bytes, const std::string& name) {
  const bool plausible =
      s.copies >= 1 && s.copies <= 3 && s.segments > 0 && s.segment_bytes > 0 &&
      s.segment_bytes % kPageBytes == 0 && s.area_bytes % kPageBytes == 0 &&
      s.capacity % kPageBytes == 0 && s.base % kPageBytes == 0 && power_of_two(s.chunk_bytes) &&
      s.segments <= s.capacity / s.segment_bytes && s.capacity < (uint64_t{1} << 46) &&
      s.area_bytes < (uint64_t{1} << 46) && s.slots > 0 && s.slots <= kMaxThreads + 8;
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
