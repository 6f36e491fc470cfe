// SPDX-License-Identifier: Apache-2.0
//
// The image that survives on a machine with a hardware design: the bytes of the medium, then the
// state of the design, then a trailer of 64 bytes:
//
//     magic (8), medium bytes (8), state bytes (8), name of the design (32, zero-padded), check (8)
//
// The state: the lines of the own region that are not zero, the structures, and the lines of a last
// level that is non-volatile. Each part begins with its number of elements (8):
//
//     own line:   offset (8), line
//     structure:  bytes (8), content
//     cache line: space (8), offset (8), dirty (8), flags (8), line
//
// A machine that starts with such an image must let its design recover (SimMachine::power_on).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holdfast/machine/sim/design/design_types.h"
#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast {

/// The state that a design leaves behind beside the medium.
struct DesignRemains {
  struct CacheLine {
    CachedLine cached;  ///< without the number of the line
    std::vector<std::byte> bytes;
  };
  std::map<uint64_t, std::vector<std::byte>> own;  ///< lines by offset
  std::vector<std::vector<std::byte>> structures;
  std::vector<CacheLine> last_level;
};

/// Appends state and trailer to an image of the medium.
sim::Image with_remains(sim::Image medium, const std::string& design, const DesignRemains& remains,
                        size_t line_bytes);

/// True if the image ends with the state of a design.
bool has_design_state(const sim::Image& image);

struct DesignImage {
  sim::Image medium;
  DesignRemains remains;
};

/// Takes an image with a design's state apart. Throws Error(wrong_format) if the state belongs to
/// another design than `design`, Error(corrupt) if its check does not match.
DesignImage take_apart(const sim::Image& image, const std::string& design, size_t line_bytes);

}  // namespace holdfast
