// SPDX-License-Identifier: Apache-2.0
//
// A log for lines of transactions that leave the last level before their transaction has ended, for
// designs of tests. The bytes lie in the design's own region, the table in a structure.
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "holdfast/machine/sim/design/design.h"

namespace holdfast::design_test {

template <class T>
T read_as(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

template <class T>
const std::byte* bytes_of(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}

class OverflowLog {
 public:
  struct Entry {
    uint64_t used = 0;
    uint64_t tx = 0;
    uint64_t slot = 0;
    uint64_t offset = 0;  ///< of the line's place
  };
  static constexpr size_t kEntries = 64;

  static StructureInfo info() {
    return {.name = "table", .entries = kEntries, .entry_bytes = sizeof(Entry)};
  }

  OverflowLog(size_t structure, uint64_t begin) : structure_(structure), begin_(begin) {}
  void attach(DesignContext& context) { context_ = &context; }

  Entry entry(size_t i) const { return read_as<Entry>(context_->entry(structure_, i)); }
  /// The entry of a line; kEntries if there is none.
  size_t find(uint64_t offset) const {
    size_t i = 0;
    while (i < kEntries && (entry(i).used == 0 || entry(i).offset != offset)) {
      ++i;
    }
    return i;
  }
  /// Returns the time at which the log has the line.
  Time add(uint64_t tx, size_t slot, const LineMove& move, Time now) {
    size_t i = 0;
    while (entry(i).used != 0) {
      if (++i == kEntries) {
        throw std::runtime_error("the test needs a larger log");
      }
    }
    const Time accepted = context_->write(place(i), move.bytes, Cause::log, now).accepted;
    const Entry entry{1, tx, slot, move.line.at.offset};
    context_->change(structure_, i, bytes_of(entry), now);
    return accepted;
  }
  Time read(size_t i, std::vector<std::byte>& bytes, Time now) const {
    bytes.resize(context_->line_bytes());
    return context_->read(place(i), bytes.data(), ReadCause::log, now);
  }
  void clear(size_t i, Time now) { context_->change(structure_, i, bytes_of(Entry{}), now); }
  /// Writes an entry's line home. Returns the time at which it is there.
  Time migrate(size_t i, Cause cause, Time now) {
    std::vector<std::byte> bytes;
    const Time there = read(i, bytes, now);
    return context_->write({Space::home, entry(i).offset}, bytes.data(), cause, there).accepted;
  }

 private:
  Place place(size_t i) const { return {Space::own, begin_ + i * context_->line_bytes()}; }

  size_t structure_;
  uint64_t begin_;
  DesignContext* context_ = nullptr;
};

}  // namespace holdfast::design_test
