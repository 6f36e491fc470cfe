// SPDX-License-Identifier: Apache-2.0
//
// A core's buffer for words that transactions store, in front of a WordLog: the words wait in
// slices of eight entries. A store to a word that waits replaces it there, so it takes no second
// place. When the buffer is full, its oldest slice goes to the log.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/hardware/parts/word_log.h"

namespace holdfast {

/// The bytes of the store's word after the store.
uint64_t word_after(const DesignStore& store);

class SliceBuffer {
 public:
  /// Words of one transaction.
  struct Slice {
    int slot;
    std::vector<LoggedWord> words;
  };

  /// The buffer has so many bytes, with eight for each entry's home, or at least one slice. With
  /// entries of several words it has at least two, so that one may fill while the other goes.
  explicit SliceBuffer(size_t bytes, size_t entry_words = 1);

  /// The slot's word with this home, or null.
  LoggedWord* find(int slot, uint64_t home);
  /// Adds a word to the slot's newest slice, which has room.
  void add(int slot, const LoggedWord& word) { newest(slot)->words.push_back(word); }
  /// Makes sure that the slot's newest slice has room, and returns `now`; else returns the time at
  /// which to ask again. `write(index)` sends a slice to the log, by take() and sent(). It returns
  /// `now`, or the time at which to ask again, or nothing if it has aborted this slot's
  /// transaction; then nothing more happens. Calls early() for each slice that has gone.
  Time make_room(int slot, Time now, FunctionRef<std::optional<Time>(size_t index)> write,
                 FunctionRef<void()> early);
  /// The slot's oldest slice, if it has one.
  std::optional<size_t> oldest(int slot) const;
  const Slice& slice(size_t index) const { return slices_[index]; }
  /// Removes a slice, and notes the time at which the log has it. The slice takes room until then.
  Slice take(size_t index);
  void sent(Time accepted) { leaving_.push_back(accepted); }
  /// Removes all slices of the slot.
  void forget(int slot);

 private:
  Slice* newest(int slot);

  size_t slice_words_;  ///< of a full slice
  size_t most_;
  std::deque<Slice> slices_;   ///< in the order in which they were begun
  std::vector<Time> leaving_;  ///< acceptance of those that are on their way to the log
};

}  // namespace holdfast
