// SPDX-License-Identifier: Apache-2.0
//
// sim/design/: the interface between the simulated machine and hardware designs. A hardware design
// is support in the processor or the memory controller that makes a program's transactions survive
// a power failure without a log in software. It is a class with hooks, which the simulated machine
// calls. docs/inside/hardware-designs.md lists which hook serves which design, and how to add one.
//
// Values. The arena holds the newest value of every byte. An older version of a line, which a newer
// one in a cache above has superseded, has bytes of its own. Persistent memory changes only by
// writes, which carry their bytes and take effect when the controller accepts them. So the
// simulator finds a loss: a line that no cache has is read from the design or from its place, and
// each such fill compares its bytes with the arena.
//
// Time. A hook that can make the program wait returns a time. `now` means that it is done. For
// begin, commit and stores a later time means "not yet", and the hook is called again at that time.
// For moves of lines it is the time at which the move is done. Calls are in the order of time for
// each thread, and nearly so over all threads.
//
// Power. When the power fails, the simulator asks a second object of the design, which has seen
// nothing of the run (power_failure()). A machine with a surviving image calls recover() on a new
// one.
//
// Thread safety: the simulated machine calls all hooks from one host thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/design/design_context.h"

namespace holdfast {

/// The optional hooks and features that a design uses. The others cost nothing.
struct DesignWishes {
  bool every_store = false;        ///< store() for each store of a transaction after the first
  bool victims = false;            ///< victim() for every full set
  bool commit_waits = false;       ///< tx_commit stops the thread until commit() is done
  uint64_t tick_instructions = 0;  ///< tick() after each so many instructions of all threads; or 0
  /// If a cache below has a line dirty that L1 gets a store to, it keeps that older version, with
  /// its bytes. Else the older version is overwritten.
  bool versions = false;
  bool hits = false;     ///< hit() for each access that finds a line with flags
  bool touches = false;  ///< touched()
  bool dooms = false;    ///< doom(); tx_commit waits as with commit_waits
  /// loaded(). The design isolates transactions from each other, so that engine `hw` needs no locks
  /// (lock=hardware). tx_start waits until begin() is done. Needs `dooms`.
  bool isolates = false;
  /// A line with flags goes up to L1 with its dirty data and flags; no copy below keeps them.
  bool flags_move_up = false;
  bool tlbs = false;              ///< tlb_filled() and tlb_evicted(); the machine must have TLBs
  bool nonvolatile_llc = false;   ///< the last level keeps its lines over a power failure
  uint64_t cached_own_bytes = 0;  ///< the own region's first bytes that the caches may hold
  /// The design owns the content of the address table: translate(), table_victim(), table_leaves(),
  /// table_missed(). Its own region is addressed by device blocks then, so its accesses need no
  /// mapping, and memory_write() looks up the mapping of its line.
  bool address_table = false;
};

/// A hardware design: hooks that the simulated machine calls. All but recover() have a default.
class HardwareDesign {
 public:
  virtual ~HardwareDesign() = default;

  virtual DesignWishes wishes() const { return {}; }
  /// Changes the description to the machine that the design needs (cache sizes, latencies), before
  /// the machine is built.
  virtual void adapt(MachineDescription& /*machine*/) const {}
  /// The design's non-volatile structures on this machine. They begin zeroed.
  virtual std::vector<StructureInfo> structures(const MachineDescription& /*machine*/) const {
    return {};
  }
  /// The names of the design's state transitions. A crash search tells how often the power failed
  /// behind each.
  virtual std::span<const char* const> transitions() const { return {}; }
  /// Called once, before all other hooks below. The context outlives the design.
  virtual void attach(DesignContext& context) { context_ = &context; }

  // ---- Transactions
  // Events of a thread come in the order in which they leave its store buffer.
  virtual Time begin(const DesignTransaction& /*tx*/, Time now) { return now; }
  /// The transaction is durable when this returns `now`. The thread's later stores wait until then.
  virtual Time commit(const DesignTransaction& /*tx*/, Time now) { return now; }
  /// Puts back the bytes from before the transaction, by drop(), rewrite() or roll_back(). Called
  /// once; the thread continues at the time returned.
  virtual Time abort(const DesignTransaction& tx, Time now) { return context().roll_back(tx, now); }

  // ---- Stores to persistent memory, and loads
  // The line is in the core's L1, for writing.
  /// The transaction's first store to this line.
  virtual Time first_store(const DesignStore& /*store*/, Time now) { return now; }
  /// A later store of the transaction to this line. Only with every_store.
  virtual Time store(const DesignStore& /*store*/, Time now) { return now; }
  /// A transaction is about to load from this line, which its core's L1 has. Only with `isolates`.
  virtual void loaded(const DesignTransaction& /*tx*/, DesignLine /*line*/, Time /*now*/) {}
  /// A store outside transactions to a line that has flags. Returns its new flags.
  virtual uint8_t outside_store(DesignLine /*line*/, uint8_t flags) { return flags; }

  // ---- Caches and memory
  /// An access finds a line with flags at this level, and would be done at `done`. Returns the time
  /// at which it is. Only with `hits`. Stores to lines that L1 owns are pipelined and not reported.
  virtual Time hit(Level /*level*/, const Touch& /*touch*/, Time done) { return done; }
  /// An access misses the core's L1, or needs the right to store, and some cache has the line with
  /// flags. The hook may doom() a thread, which takes the newest version away before the access
  /// goes on. Only with `touches`.
  virtual void touched(const Touch& /*touch*/, Time /*now*/) {}
  /// The line has missed all caches.
  virtual DesignFill fill(DesignLine /*line*/, int /*core*/, Time now) { return {.start = now}; }
  /// A copy with flags leaves a cache for the level below, or the last level for memory.
  virtual Leaving leaving(const LineMove& move, Time now) { return {move.dirty, move.flags, now}; }
  /// Dirty content reaches a cache that has other dirty content of the line; one of them has flags.
  /// Returns true if that content first moves one level further down, and false if it is
  /// overwritten.
  virtual bool keeps(const CachedLine& /*resident*/, uint8_t /*coming_flags*/) { return false; }
  /// Dirty content is about to be written to the line's place. From the last level, or by a
  /// write-back instruction.
  virtual MemoryWrite memory_write(const LineMove& /*move*/, Time now) { return {true, now}; }
  /// Chooses the way of a full set that makes room. Only with `victims`. The default is the last
  /// way.
  virtual size_t victim(const VictimChoice& choice) {
    return choice.present ? kNoWay : choice.ways - 1;
  }

  // ---- The address table of persistent memory
  // Only with `address_table`, on a machine that has a table.
  /// The place that has the latest content of this line of the program's medium. Reads and writes
  /// go there. Never called for the own region.
  virtual Place translate(Place home) const { return home; }
  /// Chooses the slot of a full set of the table's cache that takes another entry: an index in
  /// `set`, which is in the order of last use, the latest first.
  virtual size_t table_victim(std::span<const TableSlot> set) { return set.size() - 1; }
  /// The entry leaves its slot. Returns the time from which on the slot is free.
  virtual Time table_leaves(const TableSlot& /*slot*/, Time now) { return now; }
  /// The cache lacks the entry, which comes to this slot because of this line of the medium.
  virtual TableMiss table_missed(const TableSlot& /*slot*/, uint64_t /*line*/, Time now) {
    return {.done = now};
  }

  // ---- TLBs
  // Only with `tlbs`, and only for pages of persistent memory.
  /// A page comes to the core's TLBs, which had it in no level. Returns the time at which they have
  /// what the design adds to their entry.
  virtual Time tlb_filled(const TlbPage& /*page*/, Time now) { return now; }
  /// A page has left all levels of the core's TLBs. Comes before the call for the page in its
  /// place. The hook may doom() a thread.
  virtual void tlb_evicted(const TlbPage& /*page*/, Time /*now*/) {}

  // ---- Background
  virtual void tick(Time /*now*/) {}
  /// Brings all content of the design to its place, because pages may be unmapped next. Returns the
  /// time at which that is done. Called with no transaction open.
  virtual Time settle(Time now) { return now; }

  // ---- Power
  /// For a design whose promise is about epochs (DesignContext::epoch_ended): the power takes at
  /// most the running one and so many before it, whole. Nothing: committed transactions survive.
  virtual std::optional<uint64_t> epochs_behind() const { return {}; }
  /// Says what the hardware writes with its last energy. Called on an object that is not attached.
  /// By default, if the caches survive, their dirty lines go to their places.
  virtual void power_failure(PowerFailure& power) const;
  /// At power-on: brings persistent memory up to date. Returns the time at which that is done. The
  /// power may fail meanwhile; recover() then begins again, with memory and structures as they
  /// were.
  virtual Time recover(DesignRecovery& recovery, Time now) = 0;

  /// The design's own counters, by name.
  virtual std::vector<std::pair<const char*, uint64_t>> counters() const { return {}; }

 protected:
  DesignContext& context() const { return *context_; }

 private:
  DesignContext* context_ = nullptr;
};

}  // namespace holdfast
