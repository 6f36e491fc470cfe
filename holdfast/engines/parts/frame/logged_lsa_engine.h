// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines that run the lazy snapshot algorithm and keep their commits in StampedLogs.
#pragma once

#include <vector>

#include "holdfast/engines/parts/basics/background_work.h"
#include "holdfast/engines/parts/durability/stamped/lsa_commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"

namespace holdfast {

inline constexpr OptionInfo kLoggedLsaOptions[] = {kStampedLogBytesOption,
                                                   kReclaimInBackgroundOption, kLocksOption,
                                                   kPatienceOption, kUntrackedReadsOption};

Result<size_t> logged_lsa_area_bytes(const Options& options, int max_threads);

/// The frame; see Engine in engine.h for the contract. Derived has the same members as for
/// LsaEngine.
template <class M, class Derived>
class LoggedLsaEngine : public LsaEngine<M, Derived> {
  using Base = LsaEngine<M, Derived>;

 public:
  using typename Base::Thread;

  Status format() { return logs_.format(); }

  Status recover(RecoveryReport& report) {
    if (Status status = logs_.recover(report); !status.ok()) {
      return status;
    }
    if (options_.background) {
      background_work_.start([this] { return static_cast<Derived&>(*this).background(); });
    }
    return {};
  }

  Status close() {
    stop_background();
    if (!logs_.reclaim_all()) {
      return {Code::misuse,
              "the heap was closed while a transaction was running; the next open replays its log"};
    }
    return {};
  }

  /// One round of the background thread. Returns false if there was nothing to do.
  bool background() { return logs_.background(); }

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): a frame lies between
  LoggedLsaEngine(M& machine, const Regions& regions, const Options& options, int max_threads,
                  uint64_t magic, typename StampedLogs<M>::Gaps gaps)
      : Base(machine, regions, LsaOptions::parse(options).value()),
        options_(StampedLogOptions::parse(options).value()),
        logs_(machine, regions, StampedLogsArea(options_, max_threads), magic, gaps, *this->clock_,
              this->statistics_),
        blocks_(static_cast<size_t>(machine.slots())) {}

  /// Builds the block of a transaction that owns its stripes, and makes room for it in the log.
  /// Throws Error if it is too large. Room is made before the transaction takes its time, so that
  /// no thread waits for that time meanwhile.
  CommitBlock& lay_out(Thread& t) {
    CommitBlock& block = lay_out_elsewhere(t);
    logs_.make_room(t.slot, block.bytes());
    return block;
  }
  /// Builds the block of a transaction that does not go to the thread's own log. Throws Error if
  /// it is too large.
  CommitBlock& lay_out_elsewhere(Thread& t) {
    CommitBlock& block = blocks_[static_cast<size_t>(t.slot)];
    holdfast::lay_out(block, t);
    logs_.check_size(block.bytes());
    return block;
  }

  void stop_background() { background_work_.stop(); }

 private:
  StampedLogOptions options_;

 protected:
  StampedLogs<M> logs_;

 private:
  std::vector<CommitBlock> blocks_;  ///< one per slot, reused for their memory
  BackgroundWork<M> background_work_{this->machine_};
};

}  // namespace holdfast
