// SPDX-License-Identifier: Apache-2.0
//
// A log of words in a hardware design's own region: slices of eight entries with their homes, and
// commit records. It is circular (own_log.h). An entry is a word, or all words of 64 bytes.
//
// Slice      Up to eight entries of one transaction behind a header of 64 bytes: 128 bytes for
//            words. The header has the slot's number, the transaction, and the homes: five bytes
//            each, which count words. Eight terabytes have enough of them.
// Record     Says that a transaction has committed. It is a header without words, and the rest of
//            its slot is not used. So headers lie at the same places in each lap, and words of
//            an earlier lap are never taken for a header.
// Lines      A slice of words takes two writes of 64 bytes, one of eight entries of 64 bytes takes
//            nine, and a record takes one.
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
  static constexpr size_t kEntries = 8;    ///< of a slice
  static constexpr size_t kLineWords = 8;  ///< of an entry of 64 bytes
  static constexpr size_t kHeaderBytes = 64;

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

  /// The log has so many bytes from the own region's first byte on. An entry has one word, or
  /// kLineWords of them, which begin at a multiple of their size.
  void attach(DesignContext& context, uint64_t bytes, size_t entry_words = 1);
  OwnLog& slots() { return log_; }
  const OwnLog& slots() const { return log_; }

  // The caller has checked that there is room.
  /// Appends a slice of one to eight entries, all words of each.
  Appended append(uint64_t tx, std::span<const LoggedWord> words, Time now);
  /// Appends the record of a committed transaction. The transaction's slices must be accepted
  /// before `now`.
  Appended append_record(uint64_t tx, Time now);

  /// Reads the words of a slice without their homes. One line; only if an entry is a word.
  Time read_words(uint64_t slot, uint64_t (&values)[kEntries], Time now) const;
  /// Reads the slots [begin, end), all of their lines. Calls f for each, in their order.
  Time read(uint64_t begin, uint64_t end, FunctionRef<void(const Entry&)> f, Time now) const;
  /// After a power failure: finds the slots between tail and head, and reads them. Calls f for
  /// each, in their order.
  Time scan(FunctionRef<void(const Entry&)> f, Time now);

 private:
  struct Header;
  Appended put(const Header& header, std::span<const LoggedWord> words, Time now);
  bool decode(uint64_t slot, const std::byte* bytes, Entry& entry) const;
  void add_values(size_t index, const std::byte* bytes, Entry& entry) const;
  Time add_words(std::vector<Entry>& entries, Time now) const;

  DesignContext* context_ = nullptr;
  size_t entry_words_ = 1;
  OwnLog log_;
};

}  // namespace holdfast
