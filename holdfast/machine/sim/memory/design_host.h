// SPDX-License-Identifier: Apache-2.0
//
// The host of a hardware design: it stands between the memory system and the design. It tracks
// transactions and the lines that they have stored to, calls the design's hooks, and serves the
// design's requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "holdfast/machine/sim/design/design.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast {

/// Counters of all threads. The design has further ones of its own.
struct DesignCounters {
  uint64_t transactions = 0;  ///< committed transactions
  uint64_t aborts = 0;
  uint64_t first_stores = 0;  ///< first stores of a transaction to a line
  uint64_t stores = 0;        ///< calls of store()
  uint64_t fills = 0;         ///< misses that the design has served
  uint64_t dropped = 0;       ///< write-backs whose content the design has dropped
  uint64_t written_back = 0;  ///< lines that the caches have written to the medium
  uint64_t writes = 0;        ///< lines that the design has written, its own region included
  uint64_t reads = 0;         ///< lines that the design has read, its own region included
  Time commit_waits = 0;      ///< time that commits have waited in store buffers
  Time store_waits = 0;       ///< time that stores have waited in store buffers
};

namespace sim {

class TimedMemory;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The memory system, as the host uses it.
class DesignPower {
 public:
  /// A persist event is about to happen. Does not return if the power fails here.
  virtual void design_persist_event() = 0;
  virtual bool power_is_gone() const = 0;
  /// The design has changed the arena's bytes of a line.
  virtual void design_changed(uint32_t line) = 0;

 protected:
  ~DesignPower() = default;
};

/// Runs one hardware design inside the memory system.
class DesignHost final : private DesignContext {
 public:
  DesignHost(HardwareDesign& design, const SimOptions& options, TimedMemory& timing,
             const SimMedium& medium, Persistence& persistence, ThreadRunner::Threads& threads,
             DesignPower& power);

  // ---- Called in program order
  void issue_begin(const SimThread& thread);
  /// tx_commit or tx_abort of the thread.
  void issue_end(const SimThread& thread);
  bool commit_waits() const { return wishes_.commit_waits; }

  // ---- Called in the order in which entries leave the store buffer
  /// Returns `now` if the entry may leave, else the time at which to ask again.
  Time admit(const SimThread& thread, const Entry& entry, Time now) {
    return entry.kind == EntryKind::store ? admit_store(thread, entry.word, now)
                                          : admit_marker(thread, entry.kind, now);
  }
  /// Aborts the thread's transaction; its store buffer is empty. Returns the time at which the
  /// thread continues.
  Time abort(const SimThread& thread, Time now);

  // ---- Called by the caches; see CacheClient
  Time fill(uint32_t line, int core, Time now);
  Time write_memory(uint32_t line, Time now);
  uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now);
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line) {
    return design_.victim(level, set, ways, line);
  }
  /// A pwb on a machine that only emulates the medium's latency: writes the line's content to the
  /// medium, at no cost.
  void write_content(uint32_t line);

  // ---- Power
  /// The power fails now. Records the surviving state, which does not change any more.
  void power_failed() { surviving_ = surviving(); }
  /// Adds the design's surviving state to an image of the medium.
  Image with_design(Image image) const;
  void settle();
  void forget_threads();

  const DesignCounters& counters() const { return counters_; }

 private:
  struct Before {
    DesignLine at;
    std::vector<std::byte> bytes;
  };
  struct PerThread {
    DesignTransaction tx;
    bool issued = false;   ///< the program is between tx_start and tx_commit
    bool open = false;     ///< the entries that leave the store buffer belong to tx
    Time asked_since = 0;  ///< the time since which the oldest entry waits; 0: it does not
    std::unordered_map<uint32_t, size_t> known;  ///< by line stored to: its index in `before`
    std::vector<Before> before;
  };

  PerThread& of(const SimThread& thread) { return threads_[static_cast<size_t>(thread.slot)]; }
  Time admit_store(const SimThread& thread, const MaskedWord& word, Time now);
  Time admit_marker(const SimThread& thread, EntryKind kind, Time now);
  Time transactional_store(PerThread& t, CacheArray::Way* way, DesignLine at,
                           const MaskedWord& word, Time now);
  void remember(PerThread& t, DesignLine at);
  Time waited(PerThread& t, Time ready, Time now, Time& counter);
  void close(PerThread& t);
  void pump(Time now);
  uint32_t line_of(uintptr_t address) const;
  std::optional<DesignLine> on_medium(uint32_t line) const;
  /// The line's place on the medium. Throws Error(misuse) for volatile memory: only lines of the
  /// medium are filled and written back here.
  DesignLine medium_line(uint32_t line) const;
  void check_fill(DesignLine at, const std::byte* bytes) const;
  SurvivingState surviving() const;

  // DesignContext
  const MachineDescription& machine() const override { return *options_.machine; }
  int cores() const override;
  size_t line_bytes() const override { return options_.line_bytes; }
  Time cycles(double n) const override;
  uint64_t instructions() const override;
  bool caches_survive() const override { return options_.domain == Domain::eadr; }
  bool persistent(uint32_t line) const override { return on_medium(line).has_value(); }
  const std::byte* newest(uint32_t line) const override;
  void medium_bytes(uint64_t offset, std::byte* to) const override;
  void persist(uint64_t offset, const std::byte* bytes) override;
  void restore(uint32_t line, const std::byte* bytes) override;
  Time rewrite(int core, uint32_t line, const std::byte* bytes, Time now) override;
  void for_each_before(const DesignTransaction& tx,
                       FunctionRef<void(DesignLine, const std::byte*)> f) const override;
  Time read(uint32_t line, Time now) override;
  Time write(uint32_t line, Time now) override;
  Time read_own(uint64_t own_line, Time now) override;
  Time write_own(uint64_t own_line, Time now) override;
  Time read_dram(uint64_t own_line, Time now) override;
  Time write_dram(uint64_t own_line, Time now) override;
  void set_flags(uint32_t line, uint8_t flags) override;
  uint8_t flags(uint32_t line) override;
  void invalidate(uint32_t line) override;
  Time write_back(uint32_t line, Time now) override;
  void for_each_cached(FunctionRef<void(const CachedLine&)> f) override;
  void wake_at(Time time) override { due_ = std::min(due_, time); }

  HardwareDesign& design_;
  const SimOptions& options_;
  DesignWishes wishes_;
  TimedMemory& timing_;
  const SimMedium& medium_;
  Persistence& persistence_;
  ThreadRunner::Threads& sim_threads_;
  DesignPower& power_;
  std::vector<PerThread> threads_;  ///< by slot
  std::vector<int> open_on_core_;   ///< by core: its open transactions
  uint64_t last_id_ = 0;
  Time due_ = ~Time{0};  ///< the time of the next tick
  uint64_t due_instructions_ = ~uint64_t{0};
  bool ticking_ = false;
  std::optional<DesignLine> evicting_;  ///< a line that has left the caches for the medium
  std::optional<SurvivingState> surviving_;
  DesignCounters counters_;
};

}  // namespace sim
}  // namespace holdfast
