// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/start_image.h"

#include <algorithm>

#include "holdfast/machine/machine.h"

namespace holdfast::sim {

SharedImage::SharedImage(const Image& image) : padded_(image) {
  const size_t pages = (image.size() + kPageBytes - 1) / kPageBytes;
  padded_.resize(pages * kPageBytes);
  for (size_t page = 0; page < pages; ++page) {
    const std::byte* const first = &padded_[page * kPageBytes];
    is_zero_.push_back(
        std::all_of(first, first + kPageBytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

const std::byte* SharedImage::page(size_t index) const {
  return is_zero_[index] ? nullptr : &padded_[index * kPageBytes];
}

}  // namespace holdfast::sim
