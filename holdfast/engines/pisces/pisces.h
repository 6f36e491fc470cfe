// SPDX-License-Identifier: Apache-2.0
//
// Pisces: A Scalable and Efficient Persistent Transactional Memory (Gu, Yu, Wang, Wang, Zang, Guan,
// Chen, USENIX ATC 2019): snapshot isolation with two versions of the stripes being changed.
//
// Idea      Writers own the stripes they store to, and keep the new values in copies. Readers take
//           the old version at home or the owner's copy, whichever belongs to their snapshot.
//           Readers never abort, and all data they see is durable.
// Area      header | a log per thread with at most one commit block (commit_block.h)
// Begin     active; fence; start := clock.
// Store     Own the stripe at the first store, copy it, change the copy. If another transaction
//           owns it: abort.
// Load      Free stripe: home. Own stripe: the copy. Another owner's: wait while it is critical;
//           then its copy if it has committed with a time up to start, else home.
// Commit    not active; block -> log, pwb; pfence; critical; end := clock + 1, by an atomic
//           addition of 0; no longer critical; ++clock; wait until no transaction is active with an
//           older start; copies -> home, pwb; pfence; retire the block, pwb; pfence; release the
//           stripes. (First committer wins: a transaction that has not seen these values, and would
//           overwrite them, finds the stripes owned and aborts.)
// Recovery  the blocks that are not retired -> home, pwb; pfence; retire them; pfence.
// Persists  ceil(block / line) + lines stored to + 1 pwb and 3 pfence per update; none per read.
//
// Differences from the paper
//  - Critical and end share one word of state, so that no thread sees one without the other.
//  - The block is retired durably before its stripes are released. So blocks that are not retired
//    never overlap, and recovery needs neither an order nor a persistTS. If stripes were released
//    first, recovery could replay an older block over a newer, retired one.
//  - Copies are in volatile memory. At commit only the changed words go to the log, once.
//  - FUR's artefact maps words to lock words by their low address bits, uses an eighth of the table
//    and charges one flush per word, twice. Here stripes have 32 bytes, and flushes go by line, as
//    in all engines.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/pisces/pisces_options.h"
#include "holdfast/engines/pisces/pisces_thread.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. Readers cost one fence, and wait only for
/// transactions that are taking their commit time.
template <class M>
class Pisces : public SoftwareAccess<M, PiscesThread<M>> {
 public:
  using Machine = M;
  static constexpr Description kDescription = kPisces;

  /// Throws Error(invalid_argument) for an option that does not parse.
  Pisces(M& machine, const Regions& regions, const Options& options, int max_threads)
      : machine_(machine),
        regions_(regions),
        options_(PiscesOptions::parse(options).value()),
        area_(options_, max_threads),
        states_(machine, area_.logs),
        way_(machine, options_.patience),
        statistics_(machine),
        blocks_(static_cast<size_t>(area_.logs)) {
    const OwnershipTable<M> table(machine, options_.locks);
    // A changed stripe takes at least two words of log.
    const uint64_t most_changed = options_.log_bytes / 16;
    for (int slot = 0; slot < std::min(area_.logs, machine.slots()); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, table, states_, most_changed, slot));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }
  Pisces(const Pisces&) = delete;
  Pisces& operator=(const Pisces&) = delete;

  Status format();
  Status recover(RecoveryReport& report);
  Status close() { return {}; }  // between transactions all logs are empty

  void update(FunctionRef<void()> body);
  void read(FunctionRef<void()> body);

  Statistics statistics() const { return statistics_.sum(); }

 private:
  using Thread = PiscesThread<M>;

  uint64_t* log(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + PiscesArea::kLogOffset +
                                       static_cast<size_t>(slot) * area_.log_bytes);
  }
  static uint64_t seed(int slot) { return static_cast<uint64_t>(slot); }

  Thread& here();
  bool finish(Thread& t, const std::exception_ptr& failure);
  void abandon(Thread& t, typename RightOfWay<M>::Claim& claim);
  void leave(Thread& t);
  void lay_out(Thread& t);
  void commit(Thread& t);
  void persist_block(Thread& t);
  void write_home(Thread& t);
  void retire(int slot);
  bool read_block(int slot, std::vector<uint64_t>& words) const;

  M& machine_;
  Regions regions_;
  const PiscesOptions options_;
  const PiscesArea area_;
  PiscesStates<M> states_;
  RightOfWay<M> way_;
  SlotStatistics<M> statistics_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<CommitBlock> blocks_;  ///< one per slot, reused for their memory
};

}  // namespace holdfast

#include "holdfast/engines/pisces/pisces_commit-inl.h"
#include "holdfast/engines/pisces/pisces_recover-inl.h"
