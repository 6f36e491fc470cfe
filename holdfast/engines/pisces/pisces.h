// SPDX-License-Identifier: Apache-2.0
//
// Pisces: A Scalable and Efficient Persistent Transactional Memory (Gu, Yu, Wang, Wang, Zang, Guan,
// Chen, USENIX ATC 2019): snapshot isolation with two versions of what is being changed.
//
// Idea      Writers own the stripes they store to and keep the new values apart; readers take the
//           old version at home or the owner's copy, whichever belongs to their snapshot. They
//           never abort, and what they see is durable.
// Area      header | a log per thread with at most one commit block (common/commit_block.h)
// Begin     active; fence; start := clock.
// Store     own the stripe at the first store, copy it, change the copy. Somebody else's: abort.
// Load      free: home. Own: the copy. Somebody else's: wait while it is critical; its copy if it
//           has committed with a time up to start, else home.
// Commit    not active; block -> log, pwb; pfence; critical; fence; end := clock + 1, no longer
//           critical; ++clock; wait until nobody is active with an older start (first committer
//           wins: whoever could still lose an update to this one runs into its ownership); copies
//           -> home, pwb; pfence; retire the block, pwb; pfence; give the stripes up.
// Recovery  the blocks that are not retired -> home, pwb; pfence; retire them; pfence.
// Persists  ceil(block / line) + lines stored to + 1 pwb and 3 pfence per update; none per read.
//
// Differences from the paper
//  - Critical and end are one word of state, so that neither can be seen without the other.
//  - The block is retired durably before its stripes are given up, so blocks that are not retired
//    never overlap: recovery needs no order, and no persistTS to tell it. If stripes were given up
//    first, an older block could be replayed over a newer, retired one.
//  - A copy lies in volatile memory; only what has changed goes to the log, once, at commit.
//  - FUR's artefact maps words to lock words by their low address bits, uses an eighth of the table
//    and charges one flush per word, twice; here stripes of 32 bytes, and lines as everywhere.
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

template <class M>
class Pisces : public SoftwareAccess<M, PiscesThread<M>> {
 public:
  using Machine = M;
  static constexpr Description kDescription = kPisces;

  /// Throws Error for options that make no sense.
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
    // A changed stripe takes two words of log or more.
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
  void grown(size_t bytes) { regions_.bytes = bytes; }
  Status close() { return {}; }  // nothing is left in a log between transactions

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
  std::vector<CommitBlock> blocks_;  ///< of each slot, kept to keep their memory
};

}  // namespace holdfast

#include "holdfast/engines/pisces/pisces_commit-inl.h"
#include "holdfast/engines/pisces/pisces_recover-inl.h"
