// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// The structures of an ordinary thread: with sorted nodes of 4 KB, or of one line.
inline constexpr std::array kBesideStructures = {"btree", "rbtree"};

/// The ordinary thread of a run.
struct BesidePlan {
  std::string structure;   ///< of kBesideStructures; empty: no such thread
  uint64_t size = 100000;  ///< elements at the start
};

/// The ordinary thread in the measured part.
struct BesideRun {
  uint64_t inserts = 0;
  SimCounters counters;

  /// The share of accesses that miss at L1, L2 and the last level, of those that reach this level;
  /// 0 without any. A store counts as a miss if its line must be fetched.
  struct MissRates {
    double l1;
    double l2;
    double llc;
  };
  MissRates miss_rates() const;
};

/// A thread without transactions beside the workers of a run (Hercules, table 5). It inserts random
/// keys into a tree in volatile memory, one after the other.
class OrdinaryThread {
 public:
  class Tree {
   public:
    virtual ~Tree() = default;
    virtual void insert(uint64_t key, uint64_t value) = 0;
  };

  /// Builds the tree, which takes no simulated time. The machine must outlive this object.
  OrdinaryThread(SimMachine& machine, const BesidePlan& plan, uint64_t seed);

  /// Inserts until `workers`, the number of workers that run, is 0. For a simulated thread.
  BesideRun run(const int& workers);

 private:
  SimMachine& machine_;
  Random random_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace holdfast
