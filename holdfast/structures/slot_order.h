// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// Neighbouring positions: from `begin` up to, but not including, `end`.
struct PositionRange {
  int begin;
  int end;
};

/// The order of up to 15 entries of a node in one word: their number, and the slot of the first
/// entry, of the second, and so on. An entry enters or leaves a sorted node with one store to this
/// word, and no entry moves, so a durable transaction logs little. (The permuter of Masstree gave
/// the idea; Mao, Kohler, Morris 2012, 4.6.2.)
///
/// Bits 0-3 hold the count, bits 4+4i to 7+4i the slot at position i. Positions from the count on
/// hold the free slots, so all 15 slots appear exactly once.
class SlotOrder {
 public:
  static constexpr int kSlots = 15;
  static constexpr uint64_t kEmpty = 0xedcba98765432100ULL;

  explicit constexpr SlotOrder(uint64_t word = kEmpty) : word_(word) {}

  constexpr uint64_t word() const { return word_; }
  constexpr int count() const { return static_cast<int>(word_ & 15); }
  constexpr bool full() const { return count() == kSlots; }
  constexpr int slot(int position) const {
    return static_cast<int>((word_ >> (4 + 4 * position)) & 15);
  }

  /// The slot that inserted() uses.
  constexpr int free_slot() const { return slot(count()); }

  /// The order with the free slot at `position` and later positions moved up by one. Must not be
  /// full.
  constexpr SlotOrder inserted(int position) const {
    const int n = count();
    const uint64_t moved = word_ & below(n) & ~below(position);
    const uint64_t kept = (word_ & below(position)) | (word_ & ~below(n + 1));
    return SlotOrder((kept | (moved << 4) | at(position, free_slot())) + 1);
  }

  /// The order without `position`, whose slot becomes the first free one.
  constexpr SlotOrder removed(int position) const {
    const int n = count();
    const uint64_t moved = word_ & below(n) & ~below(position + 1);
    const uint64_t kept = (word_ & below(position)) | (word_ & ~below(n));
    return SlotOrder((kept | (moved >> 4) | at(n - 1, slot(position))) - 1);
  }

  /// The order with only the first n positions.
  constexpr SlotOrder truncated(int n) const {
    return SlotOrder((word_ & ~uint64_t{15}) | static_cast<uint64_t>(n));
  }

  /// False if a position names slot 15, which no node has. This is the part of valid() that keeps
  /// readers within the node, at the cost of a few instructions.
  constexpr bool in_range() const {
    constexpr uint64_t kLowest = 0x1111'1111'1111'1110;
    const uint64_t pairs = word_ & word_ >> 1;
    return (pairs & pairs >> 2 & kLowest) == 0;
  }

  /// True if every slot appears exactly once.
  constexpr bool valid() const {
    uint32_t seen = 0;
    for (int i = 0; i < kSlots; ++i) {
      seen |= uint32_t{1} << slot(i);
    }
    return seen == (uint32_t{1} << kSlots) - 1;
  }

 private:
  /// The bits of the count and of the positions before this one.
  static constexpr uint64_t below(int position) {
    return position >= kSlots ? ~uint64_t{0} : (uint64_t{1} << (4 + 4 * position)) - 1;
  }
  static constexpr uint64_t at(int position, int slot) {
    return static_cast<uint64_t>(slot) << (4 + 4 * position);
  }

  uint64_t word_;
};

}  // namespace holdfast
