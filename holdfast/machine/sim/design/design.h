// SPDX-License-Identifier: Apache-2.0
//
// sim/design/: the interface between the simulated machine and hardware designs. A hardware design
// is support in the processor or the memory controller that makes a program's transactions survive
// a power failure without a log in software. It is a class with hooks, which the simulated machine
// calls. docs/inside/hardware-designs.md lists which hook serves which design, and how to add one.
//
// Values. The arena holds the newest value of every byte. The medium changes only by a write: by
// persist(), or by the caches when they write a dirty line back, with its bytes of that moment. A
// design holds its content (buffers, logs) as bytes of its own. So the simulator finds a loss: a
// line that no cache and no design holds is read from the medium, and each such fill compares its
// bytes with the arena.
//
// Time. A hook that can make the program wait returns a time. `now` means that it is done. A later
// time means "not yet", and the hook is called again at that time. abort() is the exception: it is
// over at the time it returns. Calls are in the order of time for each thread, and nearly so over
// all threads.
//
// Thread safety: the simulated machine calls all hooks from one host thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/sim/caches/cache_array.h"
#include "holdfast/machine/sim/caches/coherent_caches.h"
#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast {

using sim::Level;
using sim::Time;

/// A cache line of persistent memory.
struct DesignLine {
  uint32_t line;    ///< its number in the arena
  uint64_t offset;  ///< of its first byte on the medium
};

/// The copy of a line in one cache.
struct CachedLine {
  Level level;
  DesignLine at;
  bool dirty;
  uint8_t flags;
};

/// A transaction between tx_start and tx_commit or tx_abort.
struct DesignTransaction {
  uint64_t id = 0;  ///< from 1, in the order in which transactions begin
  int slot = 0;     ///< of the thread
  int core = 0;
};

/// A store of a transaction that is about to leave the store buffer: some bytes of one word.
struct DesignStore {
  const DesignTransaction& tx;
  DesignLine at;
  size_t word;              ///< offset of the word in the line
  uint64_t value;           ///< each byte at its place in the word; zero outside the mask
  uint64_t mask;            ///< 0xff for each byte that is stored
  const std::byte* before;  ///< the line's bytes before the store
};

/// The design's answer to a line that has missed all caches.
struct DesignFill {
  bool supplied = false;             ///< the design holds the line, so the medium is not read
  Time done = 0;                     ///< if supplied: the time at which the line arrives
  const std::byte* bytes = nullptr;  ///< if supplied: the line, to compare with the arena
  Time start = 0;                    ///< else: the time at which the medium is asked
};

/// The machine, as a design uses it. Times are in picoseconds. Buffers are line_bytes() long.
class DesignContext {
 public:
  virtual const MachineDescription& machine() const = 0;
  virtual int cores() const = 0;  ///< with the service core of main and background
  virtual size_t line_bytes() const = 0;
  virtual Time cycles(double n) const = 0;    ///< the duration of n cycles
  virtual uint64_t instructions() const = 0;  ///< executed by all threads so far
  virtual bool caches_survive() const = 0;    ///< true in domain eadr
  virtual bool persistent(uint32_t line) const = 0;

  // ---- Values
  virtual const std::byte* newest(uint32_t line) const = 0;
  virtual void medium_bytes(uint64_t offset, std::byte* to) const = 0;
  /// Writes these bytes to the medium. This is a persist event: if the power fails just before, the
  /// call does not return.
  virtual void persist(uint64_t offset, const std::byte* bytes) = 0;
  /// For abort(): makes these bytes the newest ones in the arena again. No cache may hold the line;
  /// the design or the medium must hold it with these bytes.
  virtual void restore(uint32_t line, const std::byte* bytes) = 0;
  /// For abort(): does this by stores of the core, which gets the line for writing and then has it
  /// dirty. Returns the time at which that is done.
  virtual Time rewrite(int core, uint32_t line, const std::byte* bytes, Time now) = 0;
  /// Calls f for the lines that the transaction has stored to, in that order, with their bytes
  /// before its first store. The simulator remembers these bytes; hardware would not.
  virtual void for_each_before(const DesignTransaction& tx,
                               FunctionRef<void(DesignLine, const std::byte* before)> f) const = 0;

  // ---- Traffic
  // These take queue entries, banks and bus of the medium's controller. They return the time at
  // which a read is done, or at which a write is accepted. Lines of the design's own region of the
  // medium are numbered from 0.
  virtual Time read(uint32_t line, Time now) = 0;
  virtual Time write(uint32_t line, Time now) = 0;
  virtual Time read_own(uint64_t own_line, Time now) = 0;
  virtual Time write_own(uint64_t own_line, Time now) = 0;
  /// Volatile memory of the design, behind the controller of the DRAM.
  virtual Time read_dram(uint64_t own_line, Time now) = 0;
  virtual Time write_dram(uint64_t own_line, Time now) = 0;

  // ---- Caches
  /// Eight flags of the design, which go with the line through the caches. leaving() is called only
  /// for lines with flags.
  virtual void set_flags(uint32_t line, uint8_t flags) = 0;
  virtual uint8_t flags(uint32_t line) = 0;
  virtual void invalidate(uint32_t line) = 0;
  /// Writes the line back as CLWB does. Returns the time at which memory accepts it.
  virtual Time write_back(uint32_t line, Time now) = 0;
  /// Calls f for the copies of persistent lines that are dirty or have flags. First comes a line on
  /// its way to memory (reported as of the last level), then the last level, L2, L1.
  virtual void for_each_cached(FunctionRef<void(const CachedLine&)> f) = 0;

  /// Calls tick() at this time, or just before the first later event that could tell the
  /// difference. The earliest of several requests counts.
  virtual void wake_at(Time time) = 0;

 protected:
  ~DesignContext() = default;
};

/// The state that survives a power failure besides the medium.
struct SurvivingState {
  /// Lines that the machine writes to the medium with its last energy, in this order: offset and
  /// bytes.
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> lines;
  /// The design's own non-volatile state, in a form that its recover() reads.
  std::vector<std::byte> state;
};

/// The medium during the design's recovery, at power-on, before any program runs.
class RecoveryMedium {
 public:
  virtual uint64_t bytes() const = 0;
  virtual void read(uint64_t offset, std::span<std::byte> to) const = 0;
  virtual void write(uint64_t offset, std::span<const std::byte> bytes) = 0;

 protected:
  ~RecoveryMedium() = default;
};

/// The result of a design's recovery.
struct DesignRecovery {
  bool needed = false;        ///< the machine had lost its power with this design
  bool consistent = true;     ///< the medium holds exactly the committed transactions
  uint64_t transactions = 0;  ///< transactions that recovery has completed
  uint64_t discarded = 0;     ///< transactions that had not committed
  uint64_t lines_written = 0;
  std::string text;
};

/// The optional hooks that a design uses. The others cost nothing.
struct DesignWishes {
  bool every_store = false;        ///< store() for each store of a transaction after the first
  bool victims = false;            ///< victim() for every full set
  bool commit_waits = false;       ///< tx_commit stops the thread until commit() is done
  uint64_t tick_instructions = 0;  ///< tick() after each so many instructions of all threads; or 0
};

/// A hardware design: hooks that the simulated machine calls. All but recover() have a default.
class HardwareDesign {
 public:
  virtual ~HardwareDesign() = default;

  virtual DesignWishes wishes() const { return {}; }
  /// Changes the description to the machine that the design needs (cache sizes, latencies), before
  /// the machine is built.
  virtual void adapt(MachineDescription& /*machine*/) const {}
  /// Called once, before all other hooks. The context outlives the design.
  virtual void attach(DesignContext& context) { context_ = &context; }

  // ---- Transactions
  // Events of a thread come in the order in which they leave its store buffer.
  virtual void begin(const DesignTransaction& /*tx*/, Time /*now*/) {}
  /// The transaction is durable when this returns `now`. The thread's later stores wait until then.
  virtual Time commit(const DesignTransaction& /*tx*/, Time now) { return now; }
  /// Puts back the bytes from before the transaction, by restore() or rewrite(). Called once; the
  /// thread continues at the time returned. The default rewrites them from the simulator's memory,
  /// at the cost of the stores.
  virtual Time abort(const DesignTransaction& tx, Time now);

  // ---- Stores to persistent memory
  // The line is in the core's L1, for writing.
  /// The transaction's first store to this line.
  virtual Time first_store(const DesignStore& /*store*/, Time now) { return now; }
  /// A later store of the transaction to this line. Only with every_store.
  virtual Time store(const DesignStore& /*store*/, Time now) { return now; }
  /// A store outside transactions to a line that has flags. Returns its new flags.
  virtual uint8_t outside_store(DesignLine /*at*/, uint8_t flags) { return flags; }

  // ---- Caches and memory
  /// The line has missed all caches.
  virtual DesignFill fill(DesignLine /*at*/, int /*core*/, Time now) {
    return {false, 0, nullptr, now};
  }
  /// A line with flags leaves a cache for the level below, or the last level for memory. The hook
  /// may change `dirty` and `flags`. With dirty = false the line's content goes no further.
  virtual void leaving(Level /*from*/, DesignLine /*at*/, bool& /*dirty*/, uint8_t& /*flags*/,
                       Time /*now*/) {}
  /// A dirty line is about to be written to the medium. If the hook returns false, the content is
  /// dropped.
  virtual bool memory_write(DesignLine /*at*/, Time /*now*/) { return true; }
  /// Returns the way of a full set that makes room. Only with `victims`. The ways stand in the
  /// order of their last use; their flags are in `meta` (LineBits::kFlags). The default is the last
  /// way.
  virtual size_t victim(Level /*level*/, const sim::CacheArray::Way* /*set*/, size_t ways,
                        uint32_t /*line*/) {
    return ways - 1;
  }

  // ---- Background
  virtual void tick(Time /*now*/) {}
  /// Brings all content of the design to the medium, because pages may be unmapped next. Returns
  /// the time at which that is done. Called with no transaction open.
  virtual Time settle(Time now) { return now; }

  // ---- Power
  /// Reports the state that survives if the power fails at this instant. Changes nothing. By
  /// default, if the caches survive, their dirty lines do.
  virtual void power_failure(SurvivingState& surviving) const;
  /// At power-on: brings the medium up to date from the surviving state. It may be interrupted
  /// between two writes and is then called again with the same state, so it must be idempotent.
  virtual DesignRecovery recover(std::span<const std::byte> state,
                                 RecoveryMedium& medium) const = 0;

  /// The design's own counters, by name.
  virtual std::vector<std::pair<const char*, uint64_t>> counters() const { return {}; }

 protected:
  DesignContext& context() const { return *context_; }

 private:
  DesignContext* context_ = nullptr;
};

}  // namespace holdfast
