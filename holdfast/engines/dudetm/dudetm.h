// SPDX-License-Identifier: Apache-2.0
//
// DudeTM: Building Durable Transactions with Decoupling for Persistent Memory (Liu, Zhang, Chen,
// Qian, Wu, Zheng, Ren, ASPLOS 2017).
//
// Idea      Perform, persist, reproduce. Transactions run in a software transactional memory on a
//           volatile copy of the heap. A redo log makes their stores durable. The home is brought
//           up to date from the logs later. A transaction's number is the time of its commit. The
//           transaction is durable when its block and those of all smaller numbers are.
// Area      header | tails | one circular log of commit blocks per thread (stamped_logs.h)
// Isolation TinySTM (lsa_thread.h), on the working copy.
// Commit    stripes owned; number := ++clock; validate; store in the working copy; release the
//           stripes; block {checksum, records, end with number}, pwb; pfence; wait for all smaller
//           numbers to be durable. A number whose validation fails gets an empty block.
// Read-only waits until everything up to the newest version it has loaded is durable.
// Recovery  blocks of all logs in the order of their numbers, up to the first missing number ->
//           home, pwb; pfence; tails; pfence.
// Reproduce in the background, or in a thread that finds its log full: as recovery, from the logs
//           of complete transactions, smallest number first.
// Lag       With option lag, transactions leave their blocks in a queue, and the background thread
//           or a thread that waits combines them in its own log, with one pfence
//           (persist_queue.h). An update returns with a credit, or, if it is durable, once the
//           durable number reaches it. Readers do not wait then, unless commit=durable.
// Persists  ceil(block / line) pwb and 1 pfence per update; 1 of each per number that is lost; none
//           per read.
//
// Differences from the paper
//  - Without a lag, each thread persists its own block, and every client waits. The paper's threads
//    hand volatile logs to a background thread, and answer their clients when the durable number
//    is large enough; that is the queue. Combined logs are not compressed.
//  - The durable number is not stored: a thread that needs it scans the transactions in flight.
//  - A read-only transaction waits until its reads are durable; the paper leaves this open.
//  - The operating system does the shadow paging: the working copy is a private mapping.
#pragma once

#include <iterator>
#include <memory>

#include "holdfast/engines/parts/durability/lag/persist_queue.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/logged_lsa_engine.h"

namespace holdfast {

namespace dudetm {

inline constexpr OptionInfo kCombinationOption = {
    "log_combination", "1",
    "with a lag: 1: neighboring transactions share a block with the last value of each word"};
inline constexpr OptionInfo kOptions[] = {kStampedLogBytesOption,
                                          kReclaimInBackgroundOption,
                                          kLocksOption,
                                          kPatienceOption,
                                          kUntrackedReadsOption,
                                          kCommitOption,
                                          kLagOption,
                                          kLagTimeOption,
                                          kCombinationOption};

/// Returns 0 or 1.
Result<uint64_t> log_combination(const Options& options);
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace dudetm

/// The engine; see LoggedLsaEngine for the frame and Engine in engine.h for the contract.
template <class M>
class DudeTm : public LoggedLsaEngine<M, DudeTm<M>> {
  using Base = LoggedLsaEngine<M, DudeTm<M>>;

 public:
  using typename Base::Thread;
  static constexpr Description kDescription = {
      .name = "dudetm",
      .title =
          "DudeTM: software transactions on a volatile copy, redo logs in the order of commits",
      .paper = "DudeTM (ASPLOS 2017), section 3",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = false,
      .lags = true,
      .plain_reads = true,
      .log = "redo, per thread",
      .fences = "1; with a lag: per group of updates",
      .options = dudetm::kOptions,
      .option_count = std::size(dudetm::kOptions),
      .area_bytes = &dudetm::area_bytes,
      .promise = &LagOptions::promise,
      .most_bytes = RedoRecord::kMostBytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  DudeTm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine, regions, options, max_threads, kMagic, StampedLogs<M>::Gaps::stop),
        lag_(LagOptions::parse(options).value()),
        wishes_(static_cast<size_t>(machine.slots())) {
    if (lag_.bound > 0) {
      queue_ = std::make_unique<PersistQueue<M>>(machine, this->logs_, lag_.bound,
                                                 dudetm::log_combination(options).value() == 1);
      this->logs_.complete_up_to(queue_->durable());
    }
  }
  ~DudeTm() { this->stop_background(); }

  Status recover(RecoveryReport& report) {
    Status status = Base::recover(report);
    if (status.ok() && queue_ != nullptr) {
      queue_->resume(this->clock_->now.load());
    }
    return status;
  }

  Status close() {
    this->stop_background();
    if (queue_ != nullptr) {
      try {
        fence();
      } catch (const MediumFailure& failure) {
        return failure.status();
      }
    }
    return Base::close();
  }

  bool background() {
    const bool persisted = queue_ != nullptr && queue_->persist();
    return this->logs_.background() || persisted;
  }

  void update(FunctionRef<void()> body, Commit commit = Commit::unsaid) {
    if (queue_ != nullptr) {
      wishes_[static_cast<size_t>(this->here().slot)].later =
          commit == Commit::later || (commit == Commit::unsaid && lag_.later);
    }
    Base::update(body);
  }

  /// See CanLag in engine.h.
  void fence() {
    if (queue_ != nullptr) {
      const TransactionScope<M> scope(TransactionKind::update);
      // The clock has the numbers of all updates that have returned.
      queue_->await(this->clock_->now.load(), Site{"dudetm.fence.wait"});
    }
  }
  Status barrier() { return no_barrier(kDescription.name); }
  PendingUpdates pending() const {
    return queue_ == nullptr ? PendingUpdates() : queue_->pending(this->clock_->now.load());
  }

 private:
  friend LsaEngine<M, DudeTm<M>>;
  static constexpr uint64_t kMagic = 0x31676f6c64756468;  // "hdudlog1"

  /// The word of a slot's running update.
  struct alignas(kMaxLineBytes) Wish {
    bool later = false;  // otherwise it is durable, and everything before it
  };

  bool commit(Thread& t);
  bool commit_to_queue(Thread& t);
  void persist(Thread& t, CommitBlock& block, uint64_t number);

  /// Waits until everything the body has read is durable, before its result or exception leaves the
  /// heap.
  void before_answer(const Thread& t) {
    M::phase(Phase::durability_wait);
    if (queue_ == nullptr) {
      this->logs_.await_complete(t.slot, t.newest(), Site{"dudetm.read.wait"});
    } else if (t.mode == Context::Mode::update && !wishes_[static_cast<size_t>(t.slot)].later) {
      queue_->await(this->clock_->now.load(), Site{"dudetm.fence.wait"});
    } else if (!lag_.later) {
      queue_->await(t.newest(), Site{"dudetm.lag.read.wait"});
    }
  }

  const LagOptions lag_;
  std::unique_ptr<PersistQueue<M>> queue_;  // null without a lag
  std::vector<Wish> wishes_;                // by slot
};

template <class M>
bool DudeTm<M>::commit_to_queue(Thread& t) {
  CommitBlock& block = this->lay_out_elsewhere(t);
  const bool later = wishes_[static_cast<size_t>(t.slot)].later;
  if (later) {
    queue_->take_credit();
  }
  const uint64_t number = t.take_time();
  const bool valid = t.still_valid(number);
  if (valid) {
    t.write_back();
    t.release(number);
  } else {
    M::reach(Probe{"dudetm.lag.lost_number"});
    block.clear();  // the number is lost, and its empty block lets recovery continue past it
  }
  queue_->put(number, block, valid && later);
  if (!valid) {
    queue_->return_credits(later ? 1 : 0);
  } else if (!later) {
    M::phase(Phase::durability_wait);
    queue_->await_behind_others(number, Site{"dudetm.lag.wait"});
  }
  return valid;
}

template <class M>
bool DudeTm<M>::commit(Thread& t) {
  if (queue_ != nullptr) {
    return commit_to_queue(t);
  }
  auto& logs = this->logs_;
  CommitBlock& block = this->lay_out(t);
  logs.announce(t.slot);
  const uint64_t number = t.take_time();
  // The exact number, so that threads that wait for smaller numbers need not wait for this one.
  logs.announce_time(t.slot, number);
  if (!t.still_valid(number)) {
    if (this->machine_.skips(Site{"dudetm.lost_number"})) {
      logs.retract(t.slot);
      return false;
    }
    M::reach(Probe{"dudetm.lost_number"});
    // The number is lost. Its empty block lets recovery continue past it.
    block.clear();
    persist(t, block, number);
    return false;
  }
  t.write_back();
  t.release(number);
  persist(t, block, number);
  M::phase(Phase::durability_wait);
  // Recovery stops at the first missing number, so all smaller ones must be durable.
  logs.await_complete(t.slot, number, Site{"dudetm.update.wait"});
  return true;
}

template <class M>
void DudeTm<M>::persist(Thread& t, CommitBlock& block, uint64_t number) {
  M::phase(Phase::log_flush);
  this->logs_.write(t.slot, block, number, Site{"dudetm.log"});
  // Separates the block from complete(): it is durable before any caller gets an answer that
  // depends on it, and before the home gets its values.
  this->machine_.pfence(Site{"dudetm.log.fence"});
  this->logs_.complete(t.slot, block);
}

}  // namespace holdfast
