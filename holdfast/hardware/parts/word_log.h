// SPDX-License-Identifier: Apache-2.0
//
// A log of words in a hardware design's own region: slices of eight words with their homes, and
// commit records. It is circular (own_log.h).
//
// Slice      Eight words of one transaction in 128 bytes: a header of 64 bytes and the words. The
//            header has the slot's number, the transaction, and the homes: five bytes each, which
//            count words. Eight terabytes have enough of them.
// Record     Says that a transaction has committed. It is a header without words, and its slot's
//            second half is not used. So headers lie at the same places in each lap, and words of
//            an earlier lap are never taken for a header.
// Lines      A slice takes two writes of 64 bytes, a record takes one. With lines of 128 bytes both
//            take one.
#pragma once

#include <vector>

#include "holdfast/hardware/parts/own_log.h"

namespace holdfast {

struct LoggedWord {
  uint64_t home = 0;  ///< offset on the medium, a multiple of 8
  uint64_t value = 0;
};

class WordLog {
 public:
  static constexpr size_t kWords = 8;  ///< of a slice
  static constexpr size_t kSliceBytes = 128;

  struct Appended {
    uint64_t slot = 0;
    Time accepted = 0;  ///< of all lines of the slot
  };
  /// The content of a slot.
  struct Entry {
    uint64_t slot = 0;
    uint64_t tx = 0;
    bool record = false;
    std::vector<LoggedWord> words;  ///< of a slice
  };

  /// The log has so many bytes from the own region's first byte on.
  void attach(DesignContext& context, uint64_t bytes);
  OwnLog& slots() { return log_; }
  const OwnLog& slots() const { return log_; }

  // The caller has checked that there is room.
  /// Appends a slice of one to eight words.
  Appended append(uint64_t tx, std::span<const LoggedWord> words, Time now);
  /// Appends the record of a committed transaction. The transaction's slices must be accepted
  /// before `now`.
  Appended append_record(uint64_t tx, Time now);

  /// Reads the words of a slice without their homes. One line.
  Time read_words(uint64_t slot, uint64_t (&values)[kWords], Time now) const;
  /// Reads the slots [begin, end), all of their lines. Calls f for each, in their order.
  Time read(uint64_t begin, uint64_t end, FunctionRef<void(const Entry&)> f, Time now) const;
  /// After a power failure: finds the slots between tail and head, and reads them. Calls f for
  /// each, in their order.
  Time scan(FunctionRef<void(const Entry&)> f, Time now);

 private:
  struct Header;
  Appended put(const Header& header, std::span<const LoggedWord> words, Time now);
  static bool decode(uint64_t slot, const std::byte* bytes, size_t n, Entry& entry);
  Time add_words(std::vector<Entry>& entries, Time now) const;

  DesignContext* context_ = nullptr;
  OwnLog log_;
};

}  // namespace holdfast
