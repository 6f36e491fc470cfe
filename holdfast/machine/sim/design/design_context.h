// SPDX-License-Identifier: Apache-2.0
//
// The machine, as a hardware design sees it: while it runs (DesignContext), and when the power
// fails (PowerFailure).
#pragma once

#include <span>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/design/design_types.h"

namespace holdfast {

/// The machine, as a design uses it while it runs. Times are in picoseconds. Buffers are
/// line_bytes() long.
class DesignContext {
 public:
  virtual const MachineDescription& machine() const = 0;
  virtual int cores() const = 0;  ///< with the service core of main and background
  virtual size_t line_bytes() const = 0;
  virtual Time cycles(double n) const = 0;    ///< the duration of n cycles
  virtual uint64_t instructions() const = 0;  ///< executed by all threads so far
  virtual bool caches_survive() const = 0;    ///< true in domain eadr

  // ---- Persistent memory
  // Reads and writes take queue entries, banks and bus of the controller.
  /// Writes a line. From the time of acceptance on it survives a power failure; that is a persist
  /// event. With `cancelable` the result has a ticket.
  virtual DesignWrite write(Place to, const std::byte* bytes, Cause cause, Time now,
                            bool cancelable = false) = 0;
  /// Reads a line: the bytes of the latest write. Returns the time at which they are there. `to`
  /// may be null.
  virtual Time read(Place from, std::byte* to, ReadCause cause, Time now) = 0;
  /// Takes a write back that the medium has not begun. The content from before comes back, also if
  /// the write had merged with an earlier one. That is a persist event. Returns false, and does
  /// nothing, if it is too late.
  virtual bool cancel(Ticket ticket, Time now) = 0;
  /// Volatile memory of the design, behind the controller of the DRAM. Lines are numbered from 0.
  virtual Time read_dram(uint64_t own_line, Time now) = 0;
  virtual Time write_dram(uint64_t own_line, Time now) = 0;

  /// Looks up the mapping of a line of the program's medium in the address table. Hooks for the
  /// table's cache may be called meanwhile.
  virtual TableMapping look_up(Place home, Time now) = 0;
  /// The bytes of the latest write of a line, in no time. For the table, whose accesses look_up()
  /// and the machine account for.
  virtual void latest(Place from, std::byte* to) const = 0;

  // ---- Non-volatile structures, by their index in structures()
  /// The bytes of an entry; valid until its next change.
  virtual std::span<const std::byte> entry(size_t structure, size_t entry) const = 0;
  /// Changes entries at one instant, `now`. That is a persist event. Throws Error(misuse) for more
  /// entries than the structure can change together.
  virtual void change(size_t structure, std::span<const EntryChange> changes, Time now) = 0;
  void change(size_t structure, size_t entry, const std::byte* bytes, Time now) {
    const EntryChange one{entry, bytes};
    change(structure, std::span(&one, 1), now);
  }

  // ---- Caches
  // Each copy of a line has eight flags of the design, which go with its content: up with a fill,
  // down with dirty data. Copies with flags cause calls.
  /// Sets the flags of the newest version of the line, or of this core's copy in L1.
  virtual void set_flags(uint32_t line, uint8_t flags) = 0;
  virtual void set_flags_in_l1(int core, uint32_t line, uint8_t flags) = 0;
  /// The flags of the newest version.
  virtual uint8_t flags(uint32_t line) = 0;
  /// Drops the newest version of the line with all its copies. The next older version becomes the
  /// newest: that of a cache below; else `below`, which the design has; else, if that is null, the
  /// latest write to the line's place.
  virtual void drop(uint32_t line, const std::byte* below = nullptr) = 0;
  /// Moves the content that this core's L1 has dirty one level down. The copy stays, clean and
  /// without flags. Returns the time at which that is done.
  virtual Time push_down(int core, uint32_t line, Time now) = 0;
  /// Writes the newest version to the last level, and no further. The copies above stay, clean.
  /// Returns the time at which that is done.
  virtual Time write_to_last_level(uint32_t line, Time now) = 0;
  /// Writes the newest version back as CLWB does. Returns the time at which memory accepts it.
  virtual Time write_back(uint32_t line, Time now) = 0;
  /// Calls f for the copies of persistent lines that are dirty or have flags: first the last level,
  /// then L2, then L1.
  virtual void for_each_cached(FunctionRef<void(const CachedLine&)> f) = 0;
  /// During recover(): calls f for the lines that a non-volatile last level has kept. They are gone
  /// when recover() returns.
  virtual void for_each_remaining(FunctionRef<void(const CachedLine&, const std::byte*)> f) = 0;
  /// Stores to, or reads from, a cached line of the own region (DesignWishes::cached_own_bytes) as
  /// the core does. Returns the time at which that is done. No bytes cross the end of a line.
  virtual Time store_own(int core, uint64_t offset, std::span<const std::byte> bytes, Time now) = 0;
  virtual Time load_own(int core, uint64_t offset, std::span<std::byte> to, Time now) = 0;

  // ---- Transactions
  /// For abort(): stores these bytes to the line, as the core does. Returns the time at which that
  /// is done.
  virtual Time rewrite(int core, uint32_t line, const std::byte* bytes, Time now) = 0;
  /// For abort(), in designs that leave it to software: does this for all lines of the transaction.
  /// The simulator remembers their bytes from before.
  virtual Time roll_back(const DesignTransaction& tx, Time now) = 0;
  /// Aborts the open transaction of this slot. Its stores that wait in the store buffer are
  /// dropped, and abort() is called now. The thread learns of it at its next operation. Only with
  /// the wish `dooms`.
  virtual void doom(int slot, AbortCause cause, Time now) = 0;

  /// An epoch ends now, between transactions: each transaction belongs to the epoch in which its
  /// commit was done. For designs with epochs_behind().
  virtual void epoch_ended() = 0;

  /// Calls tick() at this time, or just before the first later event that could tell the
  /// difference. The earliest of several requests counts.
  virtual void wake_at(Time time) = 0;
  /// Notes that a state transition has happened, by its index in transitions().
  virtual void passed(size_t transition) = 0;

 protected:
  ~DesignContext() = default;
};

/// The machine when the power fails: what the hardware still has, and its last energy. There is no
/// way to the newest bytes, to older ones, or to the state of the design's object.
class PowerFailure {
 public:
  virtual const MachineDescription& machine() const = 0;
  virtual size_t line_bytes() const = 0;
  virtual bool caches_survive() const = 0;
  /// Calls f for each copy of a persistent line that is dirty or has flags and that the hardware
  /// can still read, with its bytes: in domain eadr the last level first, then L2, then L1; else
  /// only a last level that is non-volatile.
  virtual void for_each_cached(
      FunctionRef<void(const CachedLine&, const std::byte* bytes)> f) const = 0;
  virtual std::span<const std::byte> entry(size_t structure, size_t entry) const = 0;
  /// Writes a line, or a part of one, with the last energy.
  virtual void write(Place to, std::span<const std::byte> bytes) = 0;

 protected:
  ~PowerFailure() = default;
};

}  // namespace holdfast
