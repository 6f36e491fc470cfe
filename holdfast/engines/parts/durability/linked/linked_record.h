// SPDX-License-Identifier: Apache-2.0
//
// A transaction's header in a linked log; linked_log.h has the format.
#pragma once

#include <cstdint>
#include <optional>

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast {

/// A transaction in a log. Positions count bytes since the engine started and never wrap.
struct LinkedRecord {
  static constexpr uint64_t kHeaderBytes = 3 * sizeof(uint64_t);
  static constexpr uint64_t kLinkBytes = sizeof(uint64_t);
  static constexpr int kPayloadBits = 24;
  static constexpr int kPaddingBits = 8;

  int thread = 0;
  uint64_t start = 0;
  uint64_t time = 0;
  uint64_t payload = 0;  ///< bytes
  uint64_t extent = 0;   ///< bytes
  uint64_t checksum = 0;

  uint64_t end() const { return start + extent; }
  uint64_t link_position() const { return end() - kLinkBytes; }
  /// True if it is older in the order of replay: by time, then by thread, because two threads may
  /// read the same time.
  bool before(const LinkedRecord& other) const {
    return time != other.time ? time < other.time : thread < other.thread;
  }

  static uint64_t extent_of(uint64_t payload, uint64_t line) {
    return round_up(kHeaderBytes + payload + kLinkBytes, line);
  }
  uint64_t seed(uint64_t epoch) const {
    return mix64(epoch) ^ mix64(start + static_cast<uint64_t>(thread));
  }
  void header(uint64_t epoch, uint64_t (&words)[3]) const {
    const uint64_t padding = extent - kHeaderBytes - payload - kLinkBytes;
    const uint64_t sizes = padding / 8 << kPayloadBits | payload / 8;
    words[0] = time;
    words[1] = hash(epoch, sizes) << 32 | sizes;
    words[2] = checksum;
  }
  /// The record at `start`, if the words are a header.
  static std::optional<LinkedRecord> parse(int thread, uint64_t start, uint64_t epoch,
                                           const uint64_t (&words)[3]) {
    const uint64_t sizes = words[1] & 0xffff'ffff;
    LinkedRecord r{thread, start, words[0], 0, 0, words[2]};
    r.payload = (sizes & ((uint64_t{1} << kPayloadBits) - 1)) * 8;
    r.extent = kHeaderBytes + r.payload + (sizes >> kPayloadBits) * 8 + kLinkBytes;
    if (r.time == 0 || words[1] >> 32 != r.hash(epoch, sizes)) {
      return {};
    }
    return r;
  }

 private:
  uint64_t hash(uint64_t epoch, uint64_t sizes) const {
    return mix64(seed(epoch) ^ mix64(time ^ mix64(sizes ^ mix64(checksum)))) >> 32;
  }
};

}  // namespace holdfast
