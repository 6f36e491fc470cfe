// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "holdfast/engines/parts/frame/logged_durability.h"

namespace holdfast {

/// SPHT's durability (spht.h): threads flush their logs in parallel, and one global marker holds
/// the time up to which everything is durable. The members are described at LoggedDurability.
template <class M>
class GroupCommit : public LoggedDurability<M> {
 public:
  using Base = LoggedDurability<M>;
  using Log = typename Base::Log;

  GroupCommit(M& machine, const Regions& regions, const PhtOptions& options, int max_threads,
              SlotStatistics<M>& statistics)
      : Base(machine, regions, options, max_threads, options.order, statistics),
        flushed_(make_object<Flushed>(machine)) {}

  Status format() { return Base::format(kMagic); }
  Status recover(const char* engine, RecoveryReport& report) {
    const uint64_t marked = M::load(this->marker_word());
    // Relaxed: no transaction runs yet.
    flushed_->time.store(marked, std::memory_order_relaxed);
    return Base::recover(kMagic, engine, {.time = marked, .exact = true}, report);
  }

  /// The steps from the hardware commit to the return. Returns the bytes written to persistent
  /// memory.
  uint64_t harden(Log& log, int slot, uint64_t time);

 private:
  using Word = typename M::template Atomic<uint64_t>;
  static constexpr uint64_t kMagic = 0x31676f6c7068706d;  // "mphplog1"
  struct alignas(kMaxLineBytes) Flushed {
    Word time{};  ///< the marker is durable with at least this value
  };

  void flush_log(Log& log, const LinkedRecord& record);
  void raise_marker(uint64_t time);
  void leave_link(const LinkedRecord& record);

  /// The marker in persistent memory: one word, changed by compare-exchange.
  Word& marker() const { return *reinterpret_cast<Word*>(this->marker_word()); }

  Flushed* flushed_;
};

template <class M>
uint64_t GroupCommit<M>::harden(Log& log, int slot, uint64_t time) {
  M& machine = this->machine_;
  this->slots_.commit(slot, time);
  const LinkedRecord record = log.record(time);
  M::phase(Phase::log_flush);
  flush_log(log, record);
  this->slots_.note(record);
  this->replayer_.logged(record);
  this->slots_.logged(slot, time);

  M::phase(Phase::durability_wait);
  // The marker must not pass a transaction whose log is not durable yet.
  const bool newer = this->slots_.await_logged(slot, time, Site{"spht.update.durability_wait"});
  if (newer && !machine.skips(Site{"spht.group"})) {
    // Group commit: the newer transaction will raise the marker beyond this one, or wait for
    // another that does. It waits only for older transactions, all of which are logged. The
    // marker's *value* proves nothing, because it may not be durable.
    M::reach(Probe{"spht.follows"});
    const bool waits = !machine.skips(Site{"spht.follow"});
    // Acquire: the marker was durable with this value before the store that is read here.
    uint64_t flushed = flushed_->time.load(std::memory_order_acquire);
    while (waits && flushed < time) {
      flushed = machine.wait_while(flushed_->time, flushed);
    }
  } else {
    M::phase(Phase::marker_flush);
    raise_marker(time);
  }
  M::phase(Phase::marker_flush);
  leave_link(record);
  log.advance();
  this->replayer_.settled(record);
  this->slots_.park(slot);
  return record.extent;
}

/// Writes the log, then its header, which SPHT calls the log's marker. One flush suffices if
/// everything fits into a line. (With the global marker, the order of log and header would not
/// matter.)
template <class M>
void GroupCommit<M>::flush_log(Log& log, const LinkedRecord& record) {
  M& machine = this->machine_;
  log.clear_link();
  if (log.lines() > 1) {
    log.write_back_rest(Site{"spht.log"});
    // Separates the log from the header: the log is durable before the header is stored.
    machine.pfence(Site{"spht.log.fence"});
  }
  log.write_header(record, Site{"spht.header"});
  // Separates log and header from logged(): both are durable before other threads rely on them.
  machine.pfence(Site{"spht.header.fence"});
}

/// Raises the marker to at least `time`, durably.
template <class M>
void GroupCommit<M>::raise_marker(uint64_t time) {
  M& machine = this->machine_;
  uint64_t seen = marker().load();
  while (seen < time && !marker().compare_exchange(seen, time)) {
  }
  // The thread that stored the current value may not have flushed it yet, so this thread does.
  machine.pwb(this->marker_word(), Site{"spht.marker"});
  // Separates the marker from `flushed_`: it is durable before any transaction returns by it.
  machine.pfence(Site{"spht.marker.fence"});
  // Relaxed: only the first guess of the compare-exchange below.
  uint64_t flushed = flushed_->time.load(std::memory_order_relaxed);
  while (flushed < time && !flushed_->time.compare_exchange(flushed, time)) {
  }
}

/// Links the record to its predecessor in time, for the replayer. The link is only a hint, so it is
/// not flushed. The predecessor's record still exists: linked_log_replayer.h says why.
template <class M>
void GroupCommit<M>::leave_link(const LinkedRecord& record) {
  if (const auto before = this->slots_.predecessor(record)) {
    M::store(this->logs_.word(before->thread, before->link_position),
             LogLink{record.thread, record.start}.encode());
  }
}

}  // namespace holdfast
