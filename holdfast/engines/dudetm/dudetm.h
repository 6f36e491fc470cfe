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
// Persists  ceil(block / line) pwb and 1 pfence per update; 1 of each per number that is lost; none
//           per read.
//
// Differences from the paper
//  - Each thread persists its own block. The paper's threads hand volatile logs to a background
//    thread, which may also combine the logs of neighbouring transactions. They answer their
//    clients when the durable number is large enough: more throughput for clients that need not
//    wait. Here every client waits.
//  - The durable number is not stored: a thread that needs it scans the transactions in flight.
//  - A read-only transaction waits until its reads are durable; the paper leaves this open.
//  - The operating system does the shadow paging: the working copy is a private mapping.
#pragma once

#include "holdfast/engines/parts/frame/logged_lsa_engine.h"

namespace holdfast {

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
      .plain_reads = true,
      .log = "redo, per thread",
      .fences = "1",
      .options = kLoggedLsaOptions,
      .option_count = sizeof(kLoggedLsaOptions) / sizeof(kLoggedLsaOptions[0]),
      .area_bytes = &logged_lsa_area_bytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  DudeTm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine, regions, options, max_threads, kMagic, StampedLogs<M>::Gaps::stop) {}

 private:
  friend LsaEngine<M, DudeTm<M>>;
  static constexpr uint64_t kMagic = 0x31676f6c64756468;  // "hdudlog1"

  bool commit(Thread& t);
  void persist(Thread& t, CommitBlock& block, uint64_t number);

  /// Waits until everything the body has read is durable, before its result or exception leaves the
  /// heap.
  void before_answer(const Thread& t) {
    M::phase(Phase::durability_wait);
    this->logs_.await_complete(t.slot, t.newest(), Site{"dudetm.read.wait"});
  }
};

template <class M>
bool DudeTm<M>::commit(Thread& t) {
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
