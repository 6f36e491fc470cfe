// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/base/bytes.h"
#include "holdfast/base/prefetch.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/durability/lag/lag_window.h"
#include "holdfast/engines/parts/frame/commit_position.h"
#include "holdfast/engines/parts/isolation/combining/store_log.h"
#include "holdfast/engines/romulus/twin.h"

namespace holdfast::romulus {

/// The writing side of all three engines. It serves one batch at a time; the thread that holds the
/// combiner's lock calls it. See CombinedEngine for the contract.
///
///   first store of the batch   MUT, pwb; keep readers out; pfence          begin()
///   a body ends                keep its stores, or undo them               keep(), undo()
///   the batch ends             pwb main; pfence; CPY, pwb; psync           commit()
///                              copy to the twin, pwb; pfence; IDL          finish()
///
/// With a lag, the stores of a batch may stay open: its updates are shown and answered, and a later
/// batch makes them durable with its own. The durable MUT lasts until then, so a crash returns to
/// the twin, which has the durable prefix. The log covers all batches since.
///
///   a batch ends               let readers in                          leave_open()
///   next store                 keep readers out                        begin()
///
/// A fence orders only write-backs of its own thread, and another thread may close what this one
/// has left open. So a batch that has written lines back, to undo a body or to give up the log, is
/// not left open.
///
/// A batch without stores writes nothing to the medium. IDL is not written back: the next MUT is
/// durable before anything else is stored. Until then a CPY on the medium only costs a needless
/// copy.
template <class M, class Gate>
class Writer {
 public:
  /// full_copy: the twin gets all used bytes (plain Romulus). Otherwise it gets the stored ranges.
  Writer(M& machine, const Regions& regions, Gate& gate, CommitPosition<M>& commits, bool full_copy,
         const LagOptions& lag)
      : machine_(machine),
        twin_(machine, regions),
        gate_(gate),
        commits_(commits),
        lag_(machine, lag),
        always_full_(full_copy),
        full_(full_copy) {}

  Twin<M>& twin() { return twin_; }

  Status recover(RecoveryReport& report) {
    Status s = twin_.recover(report, used_);
    committed_used_ = used_;
    return s;
  }

  /// Call before a store to p. May throw MediumFailure; may throw bad_alloc, changing nothing.
  template <class T>
  void before_store(const T* p) {
    const uint64_t offset = prepare(bytes_at(p), kBytesOf<T>);
    if (machine_.skips(Site{"romulus.log.word"})) {
      return;
    }
    const T old = M::load(p);
    uint64_t before = 0;
    std::memcpy(&before, bytes_at(&old), kBytesOf<T>);
    log_.append_word(offset, kBytesOf<T>, before);
  }

  /// Call before a store of n > 0 bytes at p. Throws as before_store() does.
  void before_store_range(const void* p, size_t n) {
    const uint64_t offset = prepare(p, n);
    if (!machine_.skips(Site{"romulus.log.range"})) {
      log_.append_range(twin_.main(), offset, n);
    }
  }

  void start_body() { body_ = log_.end(); }

  /// Makes the body's stores part of the batch. Always true: a batch has room for any body.
  bool keep() {
    const uint64_t bytes = log_.bytes() - body_.bytes;
    if (bytes == 0) {
      return true;
    }
    kept_bytes_ += bytes;
    written_bytes_ += bytes;
    if (lag_.can_lag()) [[unlikely]] {
      lag_.commit();
    }
    // Copying many short ranges costs more than one long copy. Give up the log for this batch.
    const bool gives_up = kept_bytes_ > std::max<uint64_t>(used_ / 4, kPageBytes);
    if (gives_up && !full_) {
      M::reach(Probe{"romulus.gives_up_log"});
      full_ = true;
    }
    if (full_) {
      write_back_logged({}, twin_.main(), Site{"romulus.main"});
      log_.truncate({});
      wrote_back_ = true;
    }
    return true;
  }

  static constexpr bool full() { return false; }

  /// Undoes the body's stores. Some of them may have reached the medium through evictions, so the
  /// old bytes are written back as well.
  void undo() {
    const PhaseScope<M> scope(holdfast::Phase::roll_back);
    written_bytes_ += 2 * (log_.bytes() - body_.bytes);
    if (!machine_.skips(Site{"romulus.undo"})) {
      log_.restore(body_, twin_.main());
    }
    wrote_back_ = wrote_back_ || log_.bytes() > body_.bytes;
    write_back_logged(body_, twin_.main(), Site{"romulus.main"});
    log_.truncate(body_);
  }

  /// The caller has kept the update. The planted bug spares one that is the only pending update.
  bool must_be_durable(Commit commit) const {
    return lag_.is_durable(commit) &&
           !(lag_.can_lag() && machine_.skips(Site{"romulus.lag.durable"}) && lag_.pending() > 1);
  }

  bool may_stay_open() {
    // A batch of which no body was kept has written lines back.
    const bool stored = stage_ == Stage::open || stage_ == Stage::mutating;
    return lag_.can_lag() && stored && !wrote_back_ && !lag_.should_sync() &&
           (lag_.has_credits() || machine_.skips(Site{"romulus.lag.credits"}));
  }

  void leave_open() {
    if (stage_ == Stage::mutating) {
      if (machine_.skips(Site{"romulus.lag.log"})) {
        log_.truncate({});
      }
      M::reach(Probe{"romulus.stays_open"});
      stage_ = Stage::open;
      lag_.wait();
      gate_.finished();
    }
  }

  /// Whether updates that commit later may be answered although their psync is on its way.
  bool may_answer_on_the_way() { return lag_.can_lag() && commits_.defers() && lag_.has_credits(); }

  const LagWindow<M>& lag() const { return lag_; }

  /// Makes the batch durable and visible. True: call finish() next.
  bool commit() {
    if (stage_ == Stage::idle) {
      return false;
    }
    if (kept_bytes_ == 0) {
      cancel();
      return false;
    }
    const PhaseScope<M> scope(holdfast::Phase::data_flush);
    log_.remember_words(twin_.main());
    write_back_logged({}, twin_.main(), Site{"romulus.main"});
    // Main is durable before the state calls it consistent.
    machine_.pfence(Site{"romulus.main.fence"});
    M::phase(holdfast::Phase::marker_flush);
    mark({.phase = Phase::copying, .used = used_}, Site{"romulus.state.copying"});
    // The commit is durable before callers are answered, and before readers may see main. Where the
    // machine defers that, they see main, and then wait themselves.
    commits_.sync(Site{"romulus.state.copying.sync"});
    committed_used_ = used_;
    gate_.committed();
    return true;
  }

  /// Brings the twin up to date and lets readers in.
  void finish() {
    const PhaseScope<M> scope(holdfast::Phase::isolation_wait);
    gate_.before_copy();
    M::phase(holdfast::Phase::copy);
    if (!machine_.skips(Site{"romulus.copy"})) {
      full_ ? copy_all() : copy_logged();
    }
    // The twin is durable before the state calls it consistent.
    close_batch(Site{"romulus.twin.fence"});
  }

  bool answers_early() const { return machine_.skips(Site{"romulus.answer"}); }

  /// Bytes stored by kept bodies, and bytes written to persistent memory, since the last call.
  std::pair<uint64_t, uint64_t> take_bytes() {
    return {std::exchange(taken_bytes_, 0), std::exchange(written_bytes_, 0)};
  }

 private:
  enum class Stage : uint8_t {
    idle,
    publishing,  // the state word is being made durable; a failing medium leaves the stage at this
    mutating,
    open,  // main has updates that are not durable, and readers may use it
  };

  /// Makes sure that the batch may store n bytes at p. Returns their offset in main.
  uint64_t prepare(const void* p, size_t n) {
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(p) - twin_.main());
    if (stage_ != Stage::mutating) [[unlikely]] {
      begin(offset + n);
    }
    if (offset + n > used_) [[unlikely]] {
      raise_used(offset + n);
    }
    // The end of the batch stores to the same place of the twin, and would wait for it.
    prefetch_for_stores(twin_.twin() + offset, n);
    return offset;
  }

  /// The batch's first store. Out of line, so that a store in user code stays short.
  [[gnu::noinline]] void begin(uint64_t end) {
    if (stage_ == Stage::open) {
      const PhaseScope<M> waiting(holdfast::Phase::isolation_wait);
      gate_.before_stores();
      stage_ = Stage::mutating;
      return;
    }
    if (stage_ == Stage::publishing) {  // the medium failed, and the body swallowed the exception
      throw MediumFailure(machine_.failure());
    }
    publish(limit_log2(std::max(used_, end)), [&] {
      const PhaseScope<M> waiting(holdfast::Phase::isolation_wait);
      gate_.before_stores();
    });
  }

  [[gnu::noinline]] void raise_used(uint64_t end) {
    if (end > StateWord::kMaxUsed) {
      throw Error(Status(Code::out_of_space, "this engine's heaps hold at most 1 TiB of data"));
    }
    used_ = round_up(end, kLineBytes);
    if (end > uint64_t{1} << limit_log2_) {
      M::reach(Probe{"romulus.raises_limit"});
      publish(limit_log2(used_), [] {});
    }
  }

  /// Makes MUT durable, with a limit for the bytes to be touched. Runs meanwhile() before the
  /// fence.
  template <class F>
  void publish(unsigned limit, F&& meanwhile) {
    const PhaseScope<M> scope(holdfast::Phase::marker_flush);
    stage_ = Stage::publishing;
    limit_log2_ = limit;
    mark({.phase = Phase::mutating, .used = committed_used_, .limit_log2 = limit},
         Site{"romulus.state.mutating"});
    meanwhile();
    machine_.pfence(Site{"romulus.state.mutating.fence"});  // MUT is durable before main changes
    stage_ = Stage::mutating;
  }

  /// Ends a batch of which no body was kept.
  void cancel() {
    M::reach(Probe{"romulus.cancels"});
    const PhaseScope<M> scope(holdfast::Phase::data_flush);
    used_ = committed_used_;
    // Readers may stay where they are, because both copies are equal. Main is durably restored
    // before the state calls it consistent.
    close_batch(Site{"romulus.undo.fence"});
  }

  /// Fences, then marks both copies as consistent.
  void close_batch(Site fence) {
    machine_.pfence(fence);
    twin_.mark({.phase = Phase::idle, .used = committed_used_});
    written_bytes_ += sizeof(uint64_t);
    if (stage_ != Stage::open) {
      gate_.finished();
    }
    const bool too_early =
        lag_.can_lag() && commits_.defers() && machine_.skips(Site{"romulus.lag.position"});
    lag_.make_durable(too_early ? 0 : commits_.last());
    wrote_back_ = false;
    taken_bytes_ += std::exchange(kept_bytes_, 0);
    log_.truncate({});
    full_ = always_full_;
    stage_ = Stage::idle;
  }

  void mark(const StateWord& state, Site site) {
    twin_.mark(state);
    twin_.write_back_state(site);
    written_bytes_ += sizeof(uint64_t);
  }

  /// Writes back the lines of a copy that were stored to since `from`. It runs after the last store
  /// to each line, so one write-back per line is enough. Allocates nothing: a commit cannot fail.
  void write_back_logged(const LogMark& from, const std::byte* copy, Site site) {
    LineFilter filter;
    log_.for_each(from, [&](uint64_t offset, uint64_t n) {
      for_new_lines(filter, offset, n, [&](uint64_t line) { machine_.pwb(copy + line, site); });
    });
  }

  void copy_all() {
    M::copy(twin_.twin(), twin_.main(), used_);
    machine_.pwb_range(twin_.twin(), used_, Site{"romulus.twin.all"});
    written_bytes_ += used_;
  }

  void copy_logged() {
    log_.copy(twin_.twin(), twin_.main());
    write_back_logged({}, twin_.twin(), Site{"romulus.twin"});
    written_bytes_ += log_.bytes();
  }

  M& machine_;
  Twin<M> twin_;
  Gate& gate_;
  CommitPosition<M>& commits_;
  LagWindow<M> lag_;
  const bool always_full_;

  Stage stage_ = Stage::idle;
  bool wrote_back_ = false;      // this batch has written lines back that no fence covers yet
  bool full_;                    // this batch copies all used bytes
  unsigned limit_log2_ = 0;      // log2 of the bytes that the durable MUT lets the batch touch
  uint64_t used_ = 0;            // high-water mark of stores to main, with the running batch
  uint64_t committed_used_ = 0;  // the high-water mark without the running batch
  StoreLog<M> log_;
  LogMark body_;                // the end of the log when the running body began
  uint64_t kept_bytes_ = 0;     // stored by kept bodies of the running batch
  uint64_t taken_bytes_ = 0;    // stored by earlier batches; take_bytes() returns it
  uint64_t written_bytes_ = 0;  // written to the medium; take_bytes() returns it
};

}  // namespace holdfast::romulus
