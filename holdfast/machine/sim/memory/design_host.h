// SPDX-License-Identifier: Apache-2.0
//
// What stands between the memory system and a hardware design: it keeps track of transactions and
// of the lines they have stored to, calls the design's hooks, and does what the design asks for.
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
#include "holdfast/machine/sim/threads/runner.h"

namespace holdfast {

/// Of all threads; what the design itself counts comes on top.
struct DesignCounters {
  uint64_t transactions = 0;  ///< committed
  uint64_t aborts = 0;
  uint64_t first_stores = 0;  ///< line and transaction
  uint64_t stores = 0;        ///< calls of store()
  uint64_t fills = 0;         ///< misses that the design served
  uint64_t dropped = 0;       ///< write-backs to the medium that the design did without
  uint64_t written_back = 0;  ///< lines the caches wrote to the medium
  uint64_t writes = 0;        ///< lines the design wrote to the medium, its own region included
  uint64_t reads = 0;         ///< and read from there
  Time commit_waits = 0;      ///< of commits, in store buffers
  Time store_waits = 0;       ///< of stores
};

namespace sim {

class TimedMemory;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The memory system, as far as the host needs it.
class DesignPower {
 public:
  virtual void design_persist_event() = 0;
  virtual bool power_is_gone() const = 0;
  /// The arena's bytes of a line have changed.
  virtual void design_changed(uint32_t line) = 0;

 protected:
  ~DesignPower() = default;
};

class DesignHost final : private DesignContext {
 public:
  DesignHost(HardwareDesign& design, const SimOptions& options, TimedMemory& timing,
             const SimMedium& medium, Persistence& persistence, Runner::Threads& threads,
             DesignPower& power);

  // The program's side: in program order.
  void issue_begin(const SimThread& thread);
  /// The thread's transaction ends here.
  void issue_end(const SimThread& thread);
  bool commit_waits() const { return wishes_.commit_waits; }

  // The store buffer's side: in the order in which entries leave. Each returns `now` when the entry
  // may go, or when to ask again.
  Time admit(const SimThread& thread, const Entry& entry, Time now) {
    return entry.kind == EntryKind::store ? admit_store(thread, entry.word, now)
                                          : admit_marker(thread, entry.kind, now);
  }
  /// The store buffer is empty. Returns when the thread may go on.
  Time abort(const SimThread& thread, Time now);

  // The caches' side.
  Time fill(uint32_t line, int core, Time now);
  Time write_memory(uint32_t line, Time now);
  uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now);
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line) {
    return design_.victim(level, set, ways, line);
  }
  /// A pwb of a machine that only emulates the medium's latency: the content goes, at no cost.
  void write_content(uint32_t line);

  // Power.
  /// What survives is decided now and does not change any more.
  void power_failed() { surviving_ = surviving(); }
  /// The image with what survives of the design.
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
    bool issued = false;  ///< the program is between tx_start and tx_commit
    bool open = false;    ///< the store buffer's entries belong to tx
    Time asked_since = 0;
    std::unordered_map<uint32_t, size_t> known;  ///< line to index in before
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
  /// Of a line that is on a medium: only those are filled and written back.
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
  Runner::Threads& sim_threads_;
  DesignPower& power_;
  std::vector<PerThread> threads_;  ///< by slot
  std::vector<int> open_on_core_;   ///< transactions
  uint64_t last_id_ = 0;
  Time due_ = ~Time{0};  ///< of the next tick
  uint64_t due_instructions_ = ~uint64_t{0};
  bool ticking_ = false;
  std::optional<DesignLine> evicting_;  ///< left the caches, not yet on the medium
  std::optional<SurvivingState> surviving_;
  DesignCounters counters_;
};

}  // namespace sim
}  // namespace holdfast
