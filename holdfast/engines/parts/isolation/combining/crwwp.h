// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/isolation/combining/read_indicator.h"

namespace holdfast {

/// The reader side of a reader-writer lock with writer preference (C-RW-WP: Calciu and others,
/// PPoPP 2013; Romulus 5.2). Writers exclude each other by other means: here by flat combining.
///
/// A reader touches no line that another reader writes. The writer's phase is odd while readers are
/// kept out; it counts, so that a reader asleep on it notices even a gap between two writers that
/// was over before it woke.
///
/// The handshake is Dekker's: the reader stores its arrival and loads the phase, the writer stores
/// the phase and scans arrivals. Each needs a store-load fence in between. While writers are rare
/// the lock is biased towards readers (Dice and Kogan, "BRAVO", ATC 2019, biases with visible
/// readers in the same way): the reader's fence is a light one, and the first writer takes the bias
/// away with a heavy one. Readers that find the lock unbiased use full fences, and give the bias
/// back after kQuietReads of them in a row without a writer between. So write-heavy work never pays
/// for a heavy fence, and read-heavy work for hardly any fence at all.
template <class M>
class Crwwp {
 public:
  /// Attempts of a reader before it gives up. A writer may overtake a reader each time it wakes;
  /// this bounds how often.
  static constexpr int kPatience = 4;
  /// A heavy fence costs some microseconds, a full one some nanoseconds: after this many reads the
  /// bias has paid for itself.
  static constexpr uint64_t kQuietReads = 1000;

  explicit Crwwp(M& machine, uint64_t quiet_reads = kQuietReads)
      : machine_(machine),
        quiet_reads_(quiet_reads),
        readers_(machine),
        phase_(make_array<Phase>(machine, 1)),
        bias_(make_array<Phase>(machine, 1)),
        quiet_(make_array<Quiet>(machine, static_cast<size_t>(machine.slots()))) {}

  /// False when writers were faster kPatience times in a row: let the writer do the reading then.
  bool enter(int slot) {
    for (int patience = kPatience; patience > 0; --patience) {
      readers_.arrive_unfenced(slot);
      machine_.light_fence();
      // All loads and stores of bias and phase are sequentially consistent. Biased: the writer that
      // sets bias to 0 executes its heavy fence between phase and scan. Before that fence comes
      // this arrival (the scan sees it), or after it comes the load of the phase (which is odd).
      const bool biased = bias_->value.load() != 0;
      if (!biased) [[unlikely]] {
        machine_.fence(Site{"crwwp.arrive"});
      }
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

  /// Turns readers away and waits for those inside. One writer at a time.
  void exclude() {
    // Relaxed: only the writer changes the phase, and writers are ordered by their own lock.
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_seq_cst);
    if (bias_->value.load() != 0) {
      bias_->value.store(0);
      machine_.heavy_fence(Site{"crwwp.revoke"});  // the other half of the readers' light fences
    }
    if (!machine_.skips(Site{"crwwp.drain"})) {
      readers_.wait_for_present();
    }
  }

  /// Release: whoever sees the new phase sees what the writer stored.
  void admit() {
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_release);
  }

 private:
  struct alignas(2 * kLineBytes) Phase {
    typename M::template Atomic<uint64_t> value;
  };

  /// A slot's reads with full fences in a row, and the phase they found. Only its own thread uses
  /// it.
  struct alignas(2 * kLineBytes) Quiet {
    typename M::template Atomic<uint64_t> phase;
    typename M::template Atomic<uint64_t> reads;
  };

  /// Called by a reader that is inside: a writer that has looked at the bias already waits for this
  /// reader, and newcomers that trust the new bias load the phase after it, so they see that
  /// writer's odd phase.
  void note_quiet_read(int slot, uint64_t phase) {
    Quiet& q = quiet_[slot];
    constexpr auto kRelaxed = std::memory_order_relaxed;  // private to the slot
    const uint64_t reads = q.phase.load(kRelaxed) == phase ? q.reads.load(kRelaxed) + 1 : 1;
    q.phase.store(phase, kRelaxed);
    q.reads.store(reads, kRelaxed);
    if (reads >= quiet_reads_) {
      q.reads.store(0, kRelaxed);
      bias_->value.store(1);
    }
  }

  M& machine_;
  const uint64_t quiet_reads_;
  ReadIndicator<M> readers_;
  Phase* phase_;
  Phase* bias_;  // 1: readers need no full fence
  Quiet* quiet_;
};

}  // namespace holdfast
