// SPDX-License-Identifier: Apache-2.0
//
// Hardware designs for atomic durability: what a processor or memory controller could do so that a
// program's transactions survive a power failure without logging in software. A design is a class
// with hooks; the simulated machine calls them. docs/inside/hardware-designs.md says which hook serves
// which need, and how to add one.
//
// The rules of values. The arena holds the newest value of every byte. The medium holds what was
// written to it: by persist(), or when the caches write a dirty line back, whose bytes go there
// then. What the design holds (buffers, logs) it holds as bytes of its own. So the simulation
// knows when a design loses something: a line that no cache and no design holds must read from the
// medium as it is in the arena, which is checked at every fill.
//
// The rules of time. Hooks that can make the program wait return when that is over: `now` means
// done, a later time means "not yet", and the hook is called again at that time (except abort,
// which is over at the time it returns). Hooks are called in the order of time per thread, and
// nearly so over all threads.
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

/// A cache line of persistent memory: its number in the arena, and its first byte on the medium.
struct DesignLine {
  uint32_t line;
  uint64_t offset;
};

/// One cache's copy of a line.
struct CachedLine {
  Level level;
  DesignLine at;
  bool dirty;
  uint8_t flags;
};

/// A transaction between tx_start and tx_commit or tx_abort.
struct DesignTransaction {
  uint64_t id = 0;  ///< from 1, in the order of their beginnings
  int slot = 0;     ///< of the thread
  int core = 0;
};

/// A store of a transaction that is about to leave the store buffer: some bytes of one word.
struct DesignStore {
  const DesignTransaction& tx;
  DesignLine at;
  size_t word;              ///< byte of the line where the word begins
  uint64_t value;           ///< in place; bytes outside the mask are zero
  uint64_t mask;            ///< 0xff for every byte that is meant
  const std::byte* before;  ///< the line's bytes before the store
};

/// How a line that missed all caches is served.
struct DesignFill {
  bool supplied = false;             ///< the design had it: no read of the medium
  Time done = 0;                     ///< supplied: when it is there
  const std::byte* bytes = nullptr;  ///< supplied: the line, which the arena is compared with
  Time start = 0;                    ///< otherwise: when the medium is asked
};

/// What a design may ask of the machine and have done. Times are picoseconds.
class DesignContext {
 public:
  virtual const MachineDescription& machine() const = 0;
  virtual int cores() const = 0;  ///< the service core of main and background included
  virtual size_t line_bytes() const = 0;
  virtual Time cycles(double n) const = 0;    ///< their length
  virtual uint64_t instructions() const = 0;  ///< of all threads so far
  virtual bool caches_survive() const = 0;    ///< domain eADR
  virtual bool persistent(uint32_t line) const = 0;

  // Values. Buffers are line_bytes() long.
  virtual const std::byte* newest(uint32_t line) const = 0;
  virtual void medium_bytes(uint64_t offset, std::byte* to) const = 0;
  /// The medium holds these bytes from now on. A persist event: the power may fail just before,
  /// and then the call does not return.
  virtual void persist(uint64_t offset, const std::byte* bytes) = 0;
  /// For abort: the arena's newest bytes are these again. No cache may hold the line; the design
  /// or the medium does, with these bytes.
  virtual void restore(uint32_t line, const std::byte* bytes) = 0;
  /// The same by stores of the core: it gets the line for writing, and has it dirty. Returns when.
  virtual Time rewrite(int core, uint32_t line, const std::byte* bytes, Time now) = 0;
  /// Lines the transaction has stored to, in that order, with their bytes before its first store.
  /// The simulator remembers them; hardware does not.
  virtual void for_each_before(const DesignTransaction& tx,
                               FunctionRef<void(DesignLine, const std::byte* before)> f) const = 0;

  // Traffic: takes queue entries, banks and bus of the medium's controller. A write returns when it
  // is accepted. Lines of the design's own region of the medium are numbered from 0.
  virtual Time read(uint32_t line, Time now) = 0;
  virtual Time write(uint32_t line, Time now) = 0;
  virtual Time read_own(uint64_t own_line, Time now) = 0;
  virtual Time write_own(uint64_t own_line, Time now) = 0;
  /// Volatile memory of the design's, with the DRAM's controller.
  virtual Time read_dram(uint64_t own_line, Time now) = 0;
  virtual Time write_dram(uint64_t own_line, Time now) = 0;

  // Caches.
  /// Eight flags of the design, which go with the line through the caches. leaving() is called for
  /// lines that have some.
  virtual void set_flags(uint32_t line, uint8_t flags) = 0;
  virtual uint8_t flags(uint32_t line) = 0;
  virtual void invalidate(uint32_t line) = 0;
  /// As the instruction does (clwb); returns when memory accepted it.
  virtual Time write_back(uint32_t line, Time now) = 0;
  /// Copies of persistent lines that are dirty or have flags: first one on its way to memory (as
  /// of the last level), then last level, L2, L1.
  virtual void for_each_cached(FunctionRef<void(const CachedLine&)> f) = 0;

  /// Calls tick() at this time, or at the first thing that happens in the memory system after it;
  /// nothing that could tell the difference happens in between. The earliest request counts.
  virtual void wake_at(Time time) = 0;

 protected:
  ~DesignContext() = default;
};

/// What is there after the power failed, apart from what the medium holds.
struct SurvivingState {
  /// Lines that are written to the medium with the last energy, in this order.
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> lines;
  /// The design's own non-volatile state, in a form that its recover() reads.
  std::vector<std::byte> state;
};

/// What recovery sees and does, at power-on, before any program runs.
class RecoveryMedium {
 public:
  virtual uint64_t bytes() const = 0;
  virtual void read(uint64_t offset, std::span<std::byte> to) const = 0;
  virtual void write(uint64_t offset, std::span<const std::byte> bytes) = 0;

 protected:
  ~RecoveryMedium() = default;
};

struct DesignRecovery {
  bool needed = false;        ///< the machine had lost its power with this design
  bool consistent = true;     ///< the medium holds exactly the committed transactions
  uint64_t transactions = 0;  ///< completed
  uint64_t discarded = 0;     ///< not committed
  uint64_t lines_written = 0;
  std::string text;
};

/// What a design asks to be told. All else costs nothing.
struct DesignWishes {
  bool every_store = false;        ///< store() for each store of a transaction, not only the first
  bool victims = false;            ///< victim() for every full set
  bool commit_waits = false;       ///< tx_commit stops the thread until commit() is done
  uint64_t tick_instructions = 0;  ///< tick() also every so many instructions (of all threads)
};

class HardwareDesign {
 public:
  virtual ~HardwareDesign() = default;

  virtual DesignWishes wishes() const { return {}; }
  /// Changes the machine to what the design needs (cache sizes, latencies), before it is built.
  virtual void adapt(MachineDescription& /*machine*/) const {}
  /// Once, before all other hooks. The context outlives the design.
  virtual void attach(DesignContext& context) { context_ = &context; }

  // Transactions. Events of a thread come in the order in which they leave its store buffer.
  virtual void begin(const DesignTransaction& /*tx*/, Time /*now*/) {}
  /// The transaction is durable when this returns `now`. Stores behind it wait.
  virtual Time commit(const DesignTransaction& /*tx*/, Time now) { return now; }
  /// Must put the bytes from before the transaction back: restore() or rewrite(). Not asked again:
  /// the thread goes on at the time returned. This one rewrites them from the simulator's memory,
  /// at the cost of the stores.
  virtual Time abort(const DesignTransaction& tx, Time now);

  // Stores to persistent memory. The line is in the core's L1, for writing.
  /// The transaction's first store to this line.
  virtual Time first_store(const DesignStore& /*store*/, Time now) { return now; }
  /// Any later one; only with every_store.
  virtual Time store(const DesignStore& /*store*/, Time now) { return now; }
  /// A store outside transactions, to a line that has flags: its flags from now on.
  virtual uint8_t outside_store(DesignLine /*at*/, uint8_t flags) { return flags; }

  // Caches and memory.
  /// The line missed all caches.
  virtual DesignFill fill(DesignLine /*at*/, int /*core*/, Time now) {
    return {false, 0, nullptr, now};
  }
  /// A line with flags leaves a cache for the level below (from LLC: for memory). May change both;
  /// with dirty = false its content goes no further.
  virtual void leaving(Level /*from*/, DesignLine /*at*/, bool& /*dirty*/, uint8_t& /*flags*/,
                       Time /*now*/) {}
  /// A dirty line is about to be written to the medium. False: the content is dropped.
  virtual bool memory_write(DesignLine /*at*/, Time /*now*/) { return true; }
  /// Which way of a full set makes room; only with victims. Ways stand in the order of their last
  /// use; flags are in their meta (LineBits::kFlags).
  virtual size_t victim(Level /*level*/, const sim::CacheArray::Way* /*set*/, size_t ways,
                        uint32_t /*line*/) {
    return ways - 1;
  }

  // Background.
  virtual void tick(Time /*now*/) {}
  /// Everything home, now: the pages may be unmapped. Returns when that is done. Called with no
  /// transaction open.
  virtual Time settle(Time now) { return now; }

  // Power.
  /// The power fails at this instant; changes nothing. By default, where caches survive, their
  /// dirty lines do.
  virtual void power_failure(SurvivingState& surviving) const;
  /// At power-on: brings the medium up to date from what survived. May be interrupted between two
  /// writes and is then called again with the same state, so it must be idempotent.
  virtual DesignRecovery recover(std::span<const std::byte> state,
                                 RecoveryMedium& medium) const = 0;

  /// What the design counted.
  virtual std::vector<std::pair<const char*, uint64_t>> counters() const { return {}; }

 protected:
  DesignContext& context() const { return *context_; }

 private:
  DesignContext* context_ = nullptr;
};

}  // namespace holdfast
