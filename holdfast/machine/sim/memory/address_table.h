// SPDX-License-Identifier: Apache-2.0
//
// The address indirection table of persistent memory (AIT), in simulated time: the cache of its
// entries, and the reads of entries that the cache does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/design/design_types.h"

namespace holdfast::sim {

/// The owner of the table's content. Without one, each line lies in the block of its own number,
/// and no entry ever changes.
class AddressTableClient {
 public:
  /// Chooses the slot that a full set gives up: an index in `set`, which is in the order of last
  /// use, the latest first.
  virtual size_t table_victim(std::span<const TableSlot> set) = 0;
  /// The entry leaves its slot. Returns the time from which on the slot can be used.
  virtual Time table_leaves(const TableSlot& slot, Time now) = 0;
  /// The cache lacks the entry, which comes to this slot.
  virtual TableMiss table_missed(const TableSlot& slot, uint64_t line, Time now) = 0;

 protected:
  ~AddressTableClient() = default;
};

/// The table's cache. Rules:
///
///  1. Every read of persistent memory needs the mapping of its line first. That takes hit_cycles.
///  2. An entry of the cache maps `lines` consecutive lines. A line of the table has line_bytes / 8
///     mappings. If the cache lacks the mapping, one line of the table is read, behind the look-up
///     and before the line itself. So an entry fills in parts.
///  3. A write looks its mapping up when it comes to the controller. Its acceptance does not wait,
///     nor does its bank. A miss takes a read, as for rule 2.
///  4. Accesses of the cache do not wait for each other: it has the bandwidth of a DRAM.
///  5. A full set gives up the entry that was used least recently, unless the client decides.
class AddressTable {
 public:
  AddressTable(const AitDescription& description, size_t line_bytes, Time hit,
               MemoryController& medium);

  struct Found {
    size_t slot = 0;  ///< of the cache
    Time known = 0;   ///< the time from which on the mapping is known
    bool hit = true;
    bool read = false;  ///< a line of the table was read
  };
  /// A request for this line leaves for the controller at `now`.
  Found look_up(uint64_t line, Time now);

  void attach(AddressTableClient& client) { client_ = &client; }
  size_t slots() const { return slots_.size(); }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Slot {
    uint64_t entry = kNone;
    uint64_t used = 0;   ///< the number of the latest look-up
    uint64_t parts = 0;  ///< a bit for each line of the table that the entry has
    Time known = 0;      ///< the time from which on it has all of them
  };

  size_t make_room(size_t first, Time& now);
  Time read_table(uint64_t line, Time now);

  size_t sets_;
  size_t ways_;
  uint64_t lines_;
  uint64_t mappings_;  ///< in a line of the table
  size_t line_bytes_;
  Time hit_;
  MemoryController& medium_;
  AddressTableClient* client_ = nullptr;  ///< null: none
  std::vector<Slot> slots_;               ///< set after set
  std::vector<TableSlot> set_;            ///< for make_room(), to save its memory
  uint64_t clock_ = 0;                    ///< counts look-ups
};

}  // namespace holdfast::sim
