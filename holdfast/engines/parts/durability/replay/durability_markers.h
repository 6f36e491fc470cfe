// SPDX-License-Identifier: Apache-2.0
//
// The global array of durability markers (FUR 3.2.3, 3.3), circular and in persistent memory. The
// transaction with number d owns slot d mod M. A slot that says "d, committed" makes the
// transaction durable. A slot that says "d, aborted" fills the gap of an aborted transaction.
//
//   slot   one line of 64 bytes, words:
//     0  valid     mix64(d) xor a hash of words 1 to 3; 0: none. Stored last.
//     1  place     thread << 48 | first byte of its log, divided by 8
//     2  extent    bytes of log | kind << 62 | salt << 63
//     3  checksum  of the log's content, seeded with d
//
// A slot needs one write-back and no fence inside, because stores to one line persist in program
// order. Word 0 is cleared before the other words change and set after them. So in every legal
// image, word 0 is either 0 or matches the other words. A non-zero word 0 that decodes to a number
// of another slot is therefore damage. Thanks to the hash, any damaged bit decodes to a random
// number, not to a plausible one. `salt` only keeps word 0 from being 0 by chance.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

struct DurabilityMarker {
  uint64_t number = 0;  ///< durTS, from 1
  bool aborted = false;
  int thread = 0;
  uint64_t start = 0;  ///< first byte in the thread's log
  uint64_t bytes = 0;  ///< in the log, which may wrap around: hence no end
  uint64_t checksum = 0;
};

/// A slot's words as read from the medium.
struct MarkerWords {
  uint64_t valid = 0;
  uint64_t place = 0;
  uint64_t extent = 0;
  uint64_t checksum = 0;

  static MarkerWords encode(const DurabilityMarker& marker);
  /// The marker, whatever its number, or nothing if `valid` is 0. Damage gives a nonsensical
  /// number.
  std::optional<DurabilityMarker> decode() const;

 private:
  uint64_t hash() const { return mix64(place ^ mix64(extent ^ mix64(checksum))); }
};

/// The array of markers. A thread writes only slots of numbers it owns; other functions may run
/// beside that, except for_each_at_rest() and format().
template <class M>
class DurabilityMarkers {
 public:
  static constexpr size_t kSlotBytes = kLineBytes;
  static constexpr size_t kStoredBytes = 5 * sizeof(uint64_t);  ///< of a slot, per marker

  DurabilityMarkers(M& machine, std::byte* base, uint64_t count)
      : machine_(machine), base_(base), count_(count) {}

  uint64_t count() const { return count_; }

  /// Stores the marker and begins to write it back. The caller fences.
  void write(const DurabilityMarker& marker, Site site) {
    uint64_t* const slot = words(marker.number);
    const MarkerWords w = MarkerWords::encode(marker);
    // A chain of release stores: each stays behind the stores before it, as the format needs.
    if (!machine_.skips(Site{"marker.invalidate"})) {
      M::store_release(&slot[0], uint64_t{0});
    }
    M::store_release(&slot[1], w.place);
    M::store_release(&slot[2], w.extent);
    M::store_release(&slot[3], w.checksum);
    M::store_release(&slot[0], w.valid);
    machine_.pwb(slot, site);
  }

  /// The first word of the slot of `number`. The caller fences and passes it to read().
  uint64_t peek(uint64_t number) const { return M::load(words(number)); }

  /// Loads the rest of the slot, after `valid`, and decodes the marker.
  std::optional<DurabilityMarker> read(uint64_t number, uint64_t valid) const {
    const uint64_t* const slot = words(number);
    return MarkerWords{valid, M::load(&slot[1]), M::load(&slot[2]), M::load(&slot[3])}.decode();
  }

  /// Calls f(slot, marker) for the marker in each slot. No thread stores to the array meanwhile.
  template <class F>
  void for_each_at_rest(F&& f) const {
    constexpr uint64_t kAtOnce = 64;
    constexpr size_t kSlotWords = kSlotBytes / sizeof(uint64_t);
    std::array<uint64_t, kAtOnce * kSlotWords> words;
    for (uint64_t first = 0; first < count_; first += kAtOnce) {
      const uint64_t n = std::min(kAtOnce, count_ - first);
      M::copy(words.data(), base_ + first * kSlotBytes, n * kSlotBytes);
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t* const w = &words[i * kSlotWords];
        if (const auto marker = MarkerWords{w[0], w[1], w[2], w[3]}.decode()) {
          f(first + i, *marker);
        }
      }
    }
  }

  void write_back(uint64_t number, Site site) { machine_.pwb(words(number), site); }

  /// Empties all slots. The caller fences.
  void format(Site site) {
    for (uint64_t i = 0; i < count_; ++i) {
      if (peek(i) != 0) {
        M::store(words(i), uint64_t{0});
        write_back(i, site);
      }
    }
  }

 private:
  uint64_t* words(uint64_t number) const {
    return reinterpret_cast<uint64_t*>(base_ + number % count_ * kSlotBytes);
  }

  M& machine_;
  std::byte* base_;
  uint64_t count_;
};

}  // namespace holdfast
