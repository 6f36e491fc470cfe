// SPDX-License-Identifier: Apache-2.0
//
// The image that survives on a machine with a hardware design: the bytes of the medium, then the
// design's non-volatile state, then a trailer of 64 bytes:
//
//     magic (8), medium bytes (8), state bytes (8), name of the design (32, zero-padded), check (8)
//
// A machine that starts with such an image first lets its design recover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "holdfast/machine/sim/design/design.h"
#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast {

/// Writes the surviving lines to the image of the medium, and appends state and trailer.
sim::Image add_surviving(sim::Image image, const std::string& design, const SurvivingState& s);

/// The medium part of an image, as recovery uses it.
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

/// True if the image ends with the state of a design.
bool has_design_state(const sim::Image& image);

/// Lets the design recover an image. An image without a design's state is returned unchanged.
/// Throws Error(wrong_format) if the state belongs to another design, or if `design` is null;
/// Error(corrupt) if its check does not match.
PowerOn power_on(const sim::Image& image, const HardwareDesign* design, const std::string& name);

}  // namespace holdfast
