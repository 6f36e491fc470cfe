// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "holdfast/engines/parts/basics/background_work.h"
#include "holdfast/engines/parts/frame/combined_engine.h"
#include "holdfast/engines/romulus/gates.h"
#include "holdfast/engines/romulus/writer.h"

namespace holdfast::romulus {

/// The options of all three Romulus engines.
inline constexpr OptionInfo kOptions[] = {kCombineOption, kCommitOption, kLagOption,
                                          kLagTimeOption};

inline Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  const auto parsed = CombinedOptions::parse(options);
  return parsed.ok() ? Result<size_t>(kPageBytes) : Result<size_t>(parsed.status());
}

template <class M, class Variant>
using GateOf = typename Variant::template Gate<M>;

template <class M, class Variant>
using FrameOf = CombinedEngine<M, GateOf<M, Variant>, Writer<M, GateOf<M, Variant>>>;

/// The three Romulus engines; see romulus.h, and Engine in engines/engine.h for the contract. A
/// Variant has the parts that differ: kDescription, kFullCopy, kCanLag, and Gate<M>.
template <class M, class Variant>
class RomulusEngine : public FrameOf<M, Variant> {
  using Frame = FrameOf<M, Variant>;

 public:
  static constexpr Description kDescription = Variant::kDescription;

  RomulusEngine(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Frame(machine, regions, options, Variant::kFullCopy, lag_of(options)),
        flusher_(make_object<typename M::template Atomic<uint64_t>>(machine)) {
    if (this->writer_.lag().can_lag()) {
      background_.expect();
    }
  }

  Status format() {
    return Frame::on_medium([&] { this->writer_.twin().format(); });
  }

  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = Frame::on_medium([&] { status = this->writer_.recover(report); });
    return medium.ok() ? status : medium;
  }

  Status close() {
    return Frame::on_medium([&] {
      if (this->writer_.commit()) {
        this->writer_.finish();
      }
      this->writer_.twin().finish();
    });
  }

  void update(FunctionRef<void()> body, Commit commit = Commit::unsaid) {
    if (!this->writer_.lag().is_durable(commit) && !has_flusher()) [[unlikely]] {
      commit = Commit::durable;
    }
    Frame::update(body, commit);
  }

  /// See CanLag in engine.h.
  PendingUpdates pending() const {
    const auto& lag = this->writer_.lag();
    return {.count = lag.pending(), .age = lag.age()};
  }

  /// Checks that main and twin are equal byte for byte, as they must be while no transaction runs.
  Status compare_copies() {
    const uint64_t bytes = this->regions_.bytes;
    const uint64_t at = this->writer_.twin().first_difference(bytes);
    return at == bytes ? Status()
                       : Status(Code::corrupt, "the two copies of the data differ at offset " +
                                                   std::to_string(at));
  }

 private:
  static LagOptions lag_of(const Options& options) {
    return Variant::kCanLag ? LagOptions::parse(options).value() : LagOptions();
  }

  enum Flusher : uint64_t { kNone, kStarts, kRuns };

  /// Returns whether a thread makes updates durable that have waited for too long. Starts it before
  /// the first update that may wait: a heap without such updates needs no thread. False while
  /// another thread starts it. False if the system has no thread, or no slot for it; the next
  /// update tries again.
  bool has_flusher() {
    // Relaxed: the thread reads nothing that its starter has stored.
    if (flusher_->load(std::memory_order_relaxed) == kRuns) [[likely]] {
      return true;
    }
    uint64_t seen = kNone;
    if (!flusher_->compare_exchange(seen, kStarts)) {
      return seen == kRuns;
    }
    try {
      background_.start([this] {
        const bool overdue = this->writer_.lag().overdue();
        if (overdue) {
          this->fence();
        }
        return overdue;
      });
    } catch (const std::exception&) {
      flusher_->store(kNone);
      return false;
    }
    flusher_->store(kRuns);
    return true;
  }

  typename M::template Atomic<uint64_t>* flusher_;  // a Flusher
  BackgroundWork<M> background_{this->machine_};
};

}  // namespace holdfast::romulus
