// SPDX-License-Identifier: Apache-2.0
//
// Who comes before whom, as far as the values read and replaced say (Adya, "Weak Consistency",
// 1999; opacity as in Guerraoui and Kapalka, 2008).
//
//   opaque     one node per transaction. All attempts take part: those that did not take effect
//              with what they read only.
//   snapshot   two nodes per transaction: its snapshot is taken at the start, its writes appear at
//              the commit. A read or overwrite of T1's version puts T1's commit before the start;
//              an overwrite of what T1 read puts T1's start before the commit. So write skew is no
//              cycle, and everything else that snapshot isolation forbids is one.
//
// The transactions can be ordered as the level demands if and only if the graph has no cycle,
// provided that each write tells what it replaced. Blind writes do not: see order_blind_writes.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/check/history/version_table.h"
#include "holdfast/check/isolation/graph.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Versions of one object that are known to follow each other immediately: from the initial value
/// or a blind write up to the last version that nobody is known to have replaced. In the order of
/// all versions of the object nothing comes in between, and the initial run comes first.
struct Run {
  std::vector<uint32_t> members;  ///< transactions that take effect; without the initial state
  WriteId last = kInitial;        ///< its last version
  uint64_t earliest_end = kForever;
  uint64_t latest_begin = 0;
};

class DependencyGraph {
 public:
  DependencyGraph(const VersionTable& versions, Isolation isolation);

  const VersionTable& versions() const { return versions_; }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// Where the transaction's reads happen, and where its writes do.
  uint32_t start(uint32_t transaction) const {
    return isolation_ == Isolation::opaque ? transaction - 1 : 2 * (transaction - 1);
  }
  uint32_t commit(uint32_t transaction) const {
    return isolation_ == Isolation::opaque ? transaction - 1 : 2 * (transaction - 1) + 1;
  }
  /// The transaction that replaced the version; 0 if none is known.
  uint32_t replacer(WriteId version, Object object) const {
    return version == kInitial ? initial_replacer_[object] : replacer_[version];
  }
  /// The run that begins with the blind write `head`, or with the initial value.
  Run run_from(WriteId head, Object object) const;

 private:
  void add_nodes();
  void add_reads(uint32_t transaction);

  const VersionTable& versions_;
  Isolation isolation_;
  Graph graph_;
  std::vector<uint32_t> replacer_;  // by WriteId
  std::vector<uint32_t> initial_replacer_;
  std::vector<WriteId> replaced_with_;  // by WriteId: the replacer's version
  std::vector<WriteId> initial_replaced_with_;
};

/// Orders runs of one object where that is forced, and adds the edges that follow: the initial run
/// comes first; a run of which one member ended before a member of another one began comes first;
/// and in graphs of up to kExhaustiveNodes nodes, whatever the graph as a whole leaves no choice
/// about (to a fixed point). Pairs that may still go either way are left unordered: what is
/// reported is always a violation, but one that only shows when all orders have been tried is not.
void order_blind_writes(DependencyGraph& dependencies, bool real_time);
inline constexpr uint32_t kExhaustiveNodes = 2'000;

}  // namespace holdfast::check
