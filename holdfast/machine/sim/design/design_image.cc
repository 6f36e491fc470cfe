// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/design/design_image.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"

namespace holdfast {
namespace {

constexpr uint64_t kMagic = 0x6e67697365442048;  // "H Design"

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

}  // namespace

sim::Image add_surviving(sim::Image image, const std::string& design, const SurvivingState& s) {
  for (const auto& [offset, bytes] : s.lines) {
    std::memcpy(image.data() + offset, bytes.data(), bytes.size());
  }
  Trailer trailer{.medium_bytes = image.size(), .state_bytes = s.state.size()};
  std::copy_n(design.begin(), std::min(design.size(), trailer.design.size() - 1),
              trailer.design.begin());
  trailer.check = check_of(trailer, s.state.data());
  image.insert(image.end(), s.state.begin(), s.state.end());
  const auto* bytes = reinterpret_cast<const std::byte*>(&trailer);
  image.insert(image.end(), bytes, bytes + sizeof(trailer));
  return image;
}

void ImageMedium::read(uint64_t offset, std::span<std::byte> to) const {
  std::memcpy(to.data(), image_.data() + offset, to.size());
}

void ImageMedium::write(uint64_t offset, std::span<const std::byte> bytes) {
  std::memcpy(image_.data() + offset, bytes.data(), bytes.size());
}

bool has_design_state(const sim::Image& image) {
  uint64_t magic = 0;
  if (image.size() >= sizeof(Trailer)) {
    std::memcpy(&magic, image.data() + image.size() - sizeof(Trailer), sizeof(magic));
  }
  return magic == kMagic;
}

PowerOn power_on(const sim::Image& image, const HardwareDesign* design, const std::string& name) {
  if (!has_design_state(image)) {
    return {image, {}};
  }
  Trailer trailer;
  std::memcpy(&trailer, image.data() + image.size() - sizeof(trailer), sizeof(trailer));
  const std::string left_by = trailer.design.data();
  if (design == nullptr || left_by != name) {
    throw Error(
        Status(Code::wrong_format, "the image was left behind by hardware design '" + left_by +
                                       "', and only a machine with this design can recover it"));
  }
  const uint64_t total = trailer.medium_bytes + trailer.state_bytes + sizeof(trailer);
  const std::byte* state = image.data() + trailer.medium_bytes;
  if (total != image.size() || trailer.check != check_of(trailer, state)) {
    throw Error(Status(Code::corrupt,
                       "the state of hardware design '" + left_by + "' in the image is damaged"));
  }
  PowerOn on{{image.begin(), image.begin() + static_cast<std::ptrdiff_t>(trailer.medium_bytes)},
             {}};
  ImageMedium medium(on.image);
  on.recovery = design->recover({state, trailer.state_bytes}, medium);
  on.recovery.needed = true;
  return on;
}

}  // namespace holdfast
