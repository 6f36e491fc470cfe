// SPDX-License-Identifier: Apache-2.0
//
// The image that a machine with a hardware design leaves behind: the bytes of the medium, then the
// design's non-volatile state, then a trailer of 64 bytes that says so:
//     magic (8), medium bytes (8), state bytes (8), name of the design (32, zero-padded), check (8)
// A machine that is switched on with such an image lets its design recover first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "holdfast/machine/sim/design/design.h"
#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast {

/// Writes the surviving lines to the image of the medium and appends state and trailer.
sim::Image add_surviving(sim::Image image, const std::string& design, const SurvivingState& s);

/// The part of such an image that is the medium, for recovery.
class ImageMedium final : public RecoveryMedium {
 public:
  explicit ImageMedium(sim::Image& image) : image_(image) {}
  uint64_t bytes() const override { return image_.size(); }
  void read(uint64_t offset, std::span<std::byte> to) const override;
  void write(uint64_t offset, std::span<const std::byte> bytes) override;

 private:
  sim::Image& image_;
};

struct PowerOn {
  sim::Image image;  ///< of the medium, after recovery
  DesignRecovery recovery;
};

/// Whether some design's state is at the end of the image.
bool has_design_state(const sim::Image& image);

/// What the design makes of the image. Throws Error(wrong_format) when the image was left behind
/// by another design, or by one and `design` is null; Error(corrupt) when its check does not fit.
PowerOn power_on(const sim::Image& image, const HardwareDesign* design, const std::string& name);

}  // namespace holdfast
