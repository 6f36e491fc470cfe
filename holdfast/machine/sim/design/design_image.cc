// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/design/design_image.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"

namespace holdfast {
namespace {

constexpr uint64_t kMagic = 0x3267697365442048;  // "H Desig2"

struct Trailer {
  uint64_t magic = kMagic;
  uint64_t medium_bytes = 0;
  uint64_t state_bytes = 0;
  std::array<char, 32> design{};
  uint64_t check = 0;
};
static_assert(sizeof(Trailer) == 64);

uint64_t check_of(const Trailer& trailer, const std::byte* state) {
  return checksum(state, trailer.state_bytes, trailer.magic ^ trailer.medium_bytes);
}

void append(sim::Image& to, const void* from, size_t n) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + n);
}
void append(sim::Image& to, uint64_t word) {
  append(to, &word, sizeof(word));
}

/// Reads a state, whose check has matched.
class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  uint64_t word() {
    uint64_t word;
    std::memcpy(&word, at_, sizeof(word));
    at_ += sizeof(word);
    return word;
  }
  std::vector<std::byte> bytes(size_t n) {
    std::vector<std::byte> bytes(at_, at_ + n);
    at_ += n;
    return bytes;
  }

 private:
  const std::byte* at_;
};

DesignRemains read_state(const std::byte* state, size_t line_bytes) {
  DesignRemains remains;
  Reader reader(state);
  for (uint64_t n = reader.word(); n != 0; --n) {
    const uint64_t offset = reader.word();
    remains.own.emplace(offset, reader.bytes(line_bytes));
  }
  for (uint64_t n = reader.word(); n != 0; --n) {
    remains.structures.push_back(reader.bytes(reader.word()));
  }
  for (uint64_t n = reader.word(); n != 0; --n) {
    CachedLine cached;
    cached.level = Level::llc;
    cached.line.at.space = static_cast<Space>(reader.word());
    cached.line.at.offset = reader.word();
    cached.dirty = reader.word() != 0;
    cached.flags = static_cast<uint8_t>(reader.word());
    remains.last_level.push_back({cached, reader.bytes(line_bytes)});
  }
  return remains;
}

}  // namespace

sim::Image with_remains(sim::Image medium, const std::string& design, const DesignRemains& remains,
                        size_t line_bytes) {
  Trailer trailer{.medium_bytes = medium.size()};
  sim::Image image = std::move(medium);
  append(image, remains.own.size());
  for (const auto& [offset, bytes] : remains.own) {
    append(image, offset);
    append(image, bytes.data(), line_bytes);
  }
  append(image, remains.structures.size());
  for (const auto& bytes : remains.structures) {
    append(image, bytes.size());
    append(image, bytes.data(), bytes.size());
  }
  append(image, remains.last_level.size());
  for (const DesignRemains::CacheLine& line : remains.last_level) {
    append(image, static_cast<uint64_t>(line.cached.line.at.space));
    append(image, line.cached.line.at.offset);
    append(image, line.cached.dirty ? 1 : 0);
    append(image, line.cached.flags);
    append(image, line.bytes.data(), line_bytes);
  }
  trailer.state_bytes = image.size() - trailer.medium_bytes;
  std::copy_n(design.begin(), std::min(design.size(), trailer.design.size() - 1),
              trailer.design.begin());
  trailer.check = check_of(trailer, image.data() + trailer.medium_bytes);
  append(image, &trailer, sizeof(trailer));
  return image;
}

bool has_design_state(const sim::Image& image) {
  uint64_t magic = 0;
  if (image.size() >= sizeof(Trailer)) {
    std::memcpy(&magic, image.data() + image.size() - sizeof(Trailer), sizeof(magic));
  }
  return magic == kMagic;
}

DesignImage take_apart(const sim::Image& image, const std::string& design, size_t line_bytes) {
  Trailer trailer;
  std::memcpy(&trailer, image.data() + image.size() - sizeof(trailer), sizeof(trailer));
  const std::string left_by = trailer.design.data();
  if (left_by != design) {
    throw Error(
        Status(Code::wrong_format, "the image was left behind by hardware design '" + left_by +
                                       "', and only a machine with this design can recover it"));
  }
  const uint64_t total = trailer.medium_bytes + trailer.state_bytes + sizeof(trailer);
  const std::byte* state = image.data() + trailer.medium_bytes;
  if (trailer.medium_bytes > image.size() || total != image.size() ||
      trailer.check != check_of(trailer, state)) {
    throw Error(Status(Code::corrupt,
                       "the state of hardware design '" + left_by + "' in the image is damaged"));
  }
  return {{image.begin(), image.begin() + static_cast<std::ptrdiff_t>(trailer.medium_bytes)},
          read_state(state, line_bytes)};
}

}  // namespace holdfast
