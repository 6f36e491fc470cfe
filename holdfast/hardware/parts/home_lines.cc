// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/home_lines.h"

#include <algorithm>

#include "holdfast/hardware/parts/own_log.h"

namespace holdfast {

void HomeLines::put(uint64_t offset, std::span<const std::byte> bytes) {
  const size_t n = context_.line_bytes();
  Line& line = lines_[offset / n * n];
  line.bytes.resize(n);
  line.known.resize(n);
  const auto at = static_cast<std::ptrdiff_t>(offset % n);
  std::copy(bytes.begin(), bytes.end(), line.bytes.begin() + at);
  std::fill_n(line.known.begin() + at, bytes.size(), true);
}

/// Reads the lines of which only a part is known, and takes the rest from there.
Time HomeLines::read_unknown(Time now) {
  std::vector<Place> places;
  std::vector<Line*> partial;
  for (auto& [offset, line] : lines_) {
    if (std::find(line.known.begin(), line.known.end(), false) != line.known.end()) {
      places.push_back({Space::home, offset});
      partial.push_back(&line);
    }
  }
  const auto add = [&](size_t i, const std::byte* bytes) {
    for (size_t byte = 0; byte < context_.line_bytes(); ++byte) {
      if (!partial[i]->known[byte]) {
        partial[i]->bytes[byte] = bytes[byte];
      }
    }
  };
  return read_lines(context_, places, ReadCause::recovery, add, now);
}

Time HomeLines::write(Time now) {
  now = read_unknown(now);
  Time accepted = now;
  for (const auto& [offset, line] : lines_) {
    const Place to{Space::home, offset};
    const DesignWrite write = context_.write(to, line.bytes.data(), Cause::recovery, now);
    accepted = std::max(accepted, write.accepted);
  }
  return accepted;
}

}  // namespace holdfast
