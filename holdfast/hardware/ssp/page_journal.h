// SPDX-License-Identifier: Apache-2.0
//
// Which frames of pages have the committed lines, in persistent memory: a table, and a journal of
// changes to it.
//
// Table      An entry of 16 bytes for each second frame: its page, and a bit for each line.
// Journal    Slots of one line, circular (own_log.h). A slot has two changes: frame, page, the
//            bits, and which of them change. A record has as many slots as it needs. Each says
//            where the record begins, and how many slots it has; recovery applies a record that is
//            whole.
// Checkpoint Writes the table's lines that have changed, then moves the journal's tail. Recovery
//            may apply changes again that the table has: the later ones follow.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "holdfast/hardware/parts/own_log.h"

namespace holdfast {

/// A change of some bits of a frame.
struct PageChange {
  uint32_t frame = 0;
  uint32_t page = 0;
  uint64_t mask = 0;
  uint64_t bits = 0;
};

class PageJournal {
 public:
  static constexpr uint32_t kNoFrame = ~uint32_t{0};

  /// The table's content for a frame. A frame without bits is free.
  struct Entry {
    uint64_t page = 0;
    uint64_t bits = 0;
  };
  /// A record on its way.
  struct Record {
    std::vector<PageChange> changes;
    size_t written = 0;  ///< slots
    uint64_t first_slot = 0;
    Time accepted = 0;  ///< of these
    bool begun() const { return !changes.empty(); }
    size_t slots() const { return (changes.size() + 1) / 2; }
    bool whole() const { return begun() && written == slots(); }
  };

  /// Uses so many bytes of the own region from its first byte on for the journal, and the bytes
  /// behind it for the table.
  void attach(DesignContext& context, uint64_t bytes, uint64_t frames);
  /// The first byte behind the table.
  uint64_t end() const { return end_; }

  OwnLog& slots() { return log_; }
  const OwnLog& slots() const { return log_; }
  /// Writes the record's next slots. Returns `now` when all are written, else the time at which to
  /// ask again. The caller has checked that there is room.
  Time write(Record& record, Time now);
  /// The record is accepted.
  void apply(const std::vector<PageChange>& changes);

  bool checkpointing() const { return due_ != 0; }
  /// Begins a checkpoint. The records before `oldest` have been applied.
  void checkpoint(uint64_t oldest, Time now);
  /// Goes on with it. Returns the time of its next step; nothing if none has begun.
  std::optional<Time> step(Time now);

  // ---- Recovery
  /// Reads table and journal. `torn`: applies slots of records that are not whole, too. Returns the
  /// time at which that is done.
  Time read(bool torn, std::vector<Entry>& entries, uint64_t& records, uint64_t& dropped, Time now);
  /// Clears the entries, and then the journal.
  Time clear(const std::vector<Entry>& entries, Time now);

  uint64_t written_slots() const { return written_; }
  uint64_t table_lines() const { return table_lines_; }
  uint64_t checkpoints() const { return checkpoints_; }

 private:
  struct Slot;
  size_t entries_per_line() const { return context_->line_bytes() / sizeof(Entry); }
  Place table_place(uint64_t line) const;
  Time write_table_line(uint64_t line, Cause cause, Time now);
  static void change(Entry& entry, const PageChange& change);

  DesignContext* context_ = nullptr;
  OwnLog log_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::vector<Entry> table_;    ///< by frame: what recovery would find now
  std::set<uint64_t> changed_;  ///< lines of the table
  uint64_t new_tail_ = 0;
  bool tail_sent_ = false;
  Time due_ = 0;  ///< of the checkpoint's next step; 0: there is none
  uint64_t written_ = 0;
  uint64_t table_lines_ = 0;
  uint64_t checkpoints_ = 0;
};

}  // namespace holdfast
