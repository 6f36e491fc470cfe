// SPDX-License-Identifier: Apache-2.0
//
// What engines share that run the lazy snapshot algorithm and keep their commits in StampedLogs.
#pragma once

#include <vector>

#include "holdfast/engines/parts/durability/stamped/lsa_commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"

namespace holdfast {

inline constexpr OptionInfo kLoggedLsaOptions[] = {kStampedLogBytesOption,
                                                   kReclaimInBackgroundOption, kLocksOption,
                                                   kPatienceOption, kUntrackedReadsOption};

Result<size_t> logged_lsa_area_bytes(const Options& options, int max_threads);

/// Derived: as for LsaEngine.
template <class M, class Derived>
class LoggedLsaEngine : public LsaEngine<M, Derived> {
  using Base = LsaEngine<M, Derived>;

 public:
  using typename Base::Thread;

  Status format() { return logs_.format(); }
  void grown(size_t bytes) { logs_.grown(bytes); }

  Status recover(RecoveryReport& report) {
    if (Status status = logs_.recover(report); !status.ok()) {
      return status;
    }
    if (options_.background) {
      background_running_ = true;
      this->machine_.set_background([this] {
        try {
          return logs_.background();
        } catch (const MediumFailure&) {
          return false;  // whoever needs the medium next learns of it
        }
      });
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

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): a frame lies between
  LoggedLsaEngine(M& machine, const Regions& regions, const Options& options, int max_threads,
                  uint64_t magic, typename StampedLogs<M>::Gaps gaps)
      : Base(machine, regions, LsaOptions::parse(options).value()),
        options_(StampedLogOptions::parse(options).value()),
        logs_(machine, regions, StampedLogsArea(options_, max_threads), magic, gaps, *this->clock_,
              this->statistics_),
        blocks_(static_cast<size_t>(machine.slots())) {}
  ~LoggedLsaEngine() { stop_background(); }

  /// The block of the transaction, which owns its stripes, with room for it in the log. Throws
  /// Error when it is too large. Room is made while nobody waits for this transaction's time.
  CommitBlock& lay_out(Thread& t) {
    CommitBlock& block = blocks_[static_cast<size_t>(t.slot)];
    holdfast::lay_out(block, t);
    logs_.make_room(t.slot, block.bytes());
    return block;
  }

 private:
  void stop_background() {
    if (background_running_) {
      background_running_ = false;
      this->machine_.set_background(nullptr);
    }
  }

  StampedLogOptions options_;

 protected:
  StampedLogs<M> logs_;

 private:
  std::vector<CommitBlock> blocks_;  ///< of each slot, kept to keep their memory
  bool background_running_ = false;
};

}  // namespace holdfast
