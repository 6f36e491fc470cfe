// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/biased_fence.h"
#include "holdfast/engines/parts/isolation/combining/read_indicator.h"

namespace holdfast {

/// The readers' side of a reader-writer lock with writer preference (C-RW-WP: Calciu and others,
/// PPoPP 2013; Romulus 5.2). Writers exclude each other by other means: here by flat combining.
///
/// A reader touches no line that another reader writes. The writer's phase is odd while readers are
/// kept out. It is a count, so that a sleeping reader notices a gap between two writers even if the
/// gap was over before it woke.
///
/// The handshake is Dekker's: the reader stores its arrival and loads the phase, the writer stores
/// the phase and scans arrivals. Each needs a store-load fence in between: a BiasedFence, whose
/// frequent side are the readers. After kQuietReads full fences in a row without a writer in
/// between, the readers restore the bias. So write-heavy work never pays for a heavy fence, and
/// read-heavy work hardly ever for a full one.
///
/// Thread safety: any thread may enter and leave; one writer at a time excludes and admits.
template <class M>
class Crwwp {
 public:
  /// Attempts of a reader before it gives up. A writer may overtake a reader each time it wakes;
  /// this bounds the number of times.
  static constexpr int kPatience = 4;
  /// Reads after which the bias has paid for itself: a heavy fence costs some microseconds, a full
  /// one some nanoseconds.
  static constexpr uint64_t kQuietReads = 1000;

  explicit Crwwp(M& machine, uint64_t quiet_reads = kQuietReads)
      : machine_(machine),
        quiet_reads_(quiet_reads),
        readers_(machine),
        phase_(make_object<Phase>(machine)),
        fence_(machine),
        quiet_(make_array<Quiet>(machine, static_cast<size_t>(machine.slots()))) {}

  /// Returns false if writers were faster kPatience times in a row. The caller should then let the
  /// writer run its body.
  bool enter(int slot) {
    for (int patience = kPatience; patience > 0; --patience) {
      readers_.arrive_unfenced(slot);
      // Separates the arrival from the load of the phase; counterpart of exclude().
      const bool biased = fence_.light(Site{"crwwp.arrive"});
      const uint64_t phase = phase_->value.load();
      if (phase % 2 == 0 || machine_.skips(Site{"crwwp.phase"})) [[likely]] {
        if (!biased) [[unlikely]] {
          note_quiet_read(slot, phase);
        }
        return true;
      }
      readers_.depart(slot);
      const PhaseScope<M> waiting(holdfast::Phase::lock_wait);
      machine_.wait_while(phase_->value, phase);
    }
    return false;
  }

  void leave(int slot) { readers_.depart(slot); }

  /// Turns new readers away and waits for those inside. For one writer at a time.
  void exclude() {
    // Relaxed: only the writer changes the phase, and writers are ordered by their own lock.
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_seq_cst);
    fence_.heavy(Site{"crwwp.revoke"});  // separates the phase from the scan of arrivals
    if (!machine_.skips(Site{"crwwp.drain"})) {
      readers_.wait_for_present();
    }
  }

  /// Admits readers again. Release: a reader that sees the new phase sees the writer's stores.
  void admit() {
    // Relaxed: as in exclude().
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_release);
  }

 private:
  struct alignas(kMaxLineBytes) Phase {
    typename M::template Atomic<uint64_t> value;
  };

  /// A slot's uninterrupted reads with full fences, and the phase they have found. Used only by the
  /// slot's own thread.
  struct alignas(kMaxLineBytes) Quiet {
    typename M::template Atomic<uint64_t> phase;
    typename M::template Atomic<uint64_t> reads;
  };

  /// Called by a reader that is inside.
  void note_quiet_read(int slot, uint64_t phase) {
    Quiet& q = quiet_[slot];
    constexpr auto kRelaxed = std::memory_order_relaxed;  // private to the slot
    const uint64_t reads = q.phase.load(kRelaxed) == phase ? q.reads.load(kRelaxed) + 1 : 1;
    q.phase.store(phase, kRelaxed);
    q.reads.store(reads, kRelaxed);
    if (reads >= quiet_reads_) {
      q.reads.store(0, kRelaxed);
      fence_.restore();
    }
  }

  M& machine_;
  const uint64_t quiet_reads_;
  ReadIndicator<M> readers_;
  Phase* phase_;
  BiasedFence<M> fence_;
  Quiet* quiet_;
};

}  // namespace holdfast
