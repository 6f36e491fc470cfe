// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/combined_engine.h"
#include "holdfast/engines/romulus/gates.h"
#include "holdfast/engines/romulus/writer.h"

namespace holdfast::romulus {

/// The options of all three Romulus engines.
inline constexpr OptionInfo kOptions[] = {
    {"combine", "1",
     "0: every thread runs its own updates; 1: one thread runs those of all that wait"}};

inline Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  const auto combine = option_number(options, "combine", 1, 0, 1);
  return combine.ok() ? Result<size_t>(kPageBytes) : Result<size_t>(combine.status());
}

/// The options of the engine whose durability may lag.
inline constexpr OptionInfo kLagOptions[] = {kOptions[0], kCommitOption, kLagOption,
                                             kLagTimeOption};

inline Result<size_t> area_bytes_with_lag(const Options& options, int max_threads) {
  const auto lag = LagOptions::parse(options);
  return lag.ok() ? area_bytes(options, max_threads) : Result<size_t>(lag.status());
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
      : Frame(machine, regions, option_number(options, "combine", 1, 0, 1).value() == 1,
              Variant::kFullCopy, lag_of(options)),
        lags_(lag_of(options).bound > 0) {}
  ~RomulusEngine() { stop_flusher(); }

  Status format() {
    return Frame::on_medium([&] { this->writer_.twin().format(); });
  }

  Status recover(RecoveryReport& report) {
    Status status;
    const Status medium = Frame::on_medium([&] { status = this->writer_.recover(report); });
    if (medium.ok() && status.ok() && lags_) {
      start_flusher();
    }
    return medium.ok() ? status : medium;
  }

  Status close() {
    stop_flusher();
    return Frame::on_medium([&] {
      if (this->writer_.commit()) {
        this->writer_.finish();
      }
      this->writer_.twin().finish();
    });
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

  /// Starts the thread that makes updates durable that have waited for too long. Other updates wait
  /// for credits, and make them durable themselves.
  void start_flusher() {
    flushes_ = true;
    this->machine_.set_background([this] {
      try {
        const bool overdue = this->writer_.lag().overdue();
        if (overdue) {
          this->fence();
        }
        return overdue;
      } catch (const MediumFailure&) {
        return false;  // the next operation that needs the medium reports the failure
      }
    });
  }
  void stop_flusher() {
    if (flushes_) {
      flushes_ = false;
      this->machine_.set_background(nullptr);
    }
  }

  const bool lags_;
  bool flushes_ = false;
};

}  // namespace holdfast::romulus
