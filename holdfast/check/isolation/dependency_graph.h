// SPDX-License-Identifier: Apache-2.0
//
// The order of transactions, as far as the values that they read and replaced imply it (Adya, "Weak
// Consistency", 1999; opacity as in Guerraoui and Kapalka, 2008).
//
//   opaque     one node per transaction, for its reads and writes.
//   snapshot   two nodes per transaction: its snapshot is taken at the start, its writes appear at
//              the commit. A read or overwrite of T1's version puts T1's commit before the start.
//              An overwrite of a version that T1 read puts T1's start before the commit of the
//              overwriting transaction. So write skew is no cycle, and every other violation of
//              snapshot isolation is one.
//
// All attempts take part at both levels. An attempt that did not take effect takes part with its
// reads only, because it too must have seen a consistent state.
//
// If each write tells which version it replaced, the transactions can be ordered as the level
// demands if and only if the graph has no cycle. Blind writes do not tell; see order_blind_writes.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/check/history/version_table.h"
#include "holdfast/check/isolation/graph.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Versions of one object that are known to follow each other immediately. A run begins with the
/// initial value or a blind write, and ends with a version without a known replacer. In the order
/// of all versions of the object no other version comes in between, and the initial run comes
/// first.
struct Run {
  std::vector<uint32_t> members;  ///< transactions that took effect, without the initial state
  WriteId last = kInitial;        ///< the last version
  uint64_t earliest_end = kForever;
  uint64_t latest_begin = 0;
};

/// The graph of a history's transactions at an isolation level. It keeps a reference to the table
/// of versions, which must outlive it.
class DependencyGraph {
 public:
  DependencyGraph(const VersionTable& versions, Isolation isolation);

  const VersionTable& versions() const { return versions_; }
  /// order_blind_writes() indexes the graph. Without it, call Graph::index() before Graph::from().
  /// Some nodes are no moment of a transaction (owner 0): order_blind_writes() adds them.
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  /// The node of the transaction's reads, and the node of its writes.
  uint32_t start(uint32_t transaction) const {
    return isolation_ == Isolation::opaque ? transaction - 1 : 2 * (transaction - 1);
  }
  uint32_t commit(uint32_t transaction) const {
    return isolation_ == Isolation::opaque ? transaction - 1 : 2 * (transaction - 1) + 1;
  }
  /// Returns the transaction that replaced the version; 0 if none is known. A blind write is not
  /// known to replace any version, nor is a transaction that did not take effect.
  uint32_t replacer(WriteId version, Object object) const {
    return version == kInitial ? initial_replacer_[object] : replacer_[version];
  }
  /// Returns the run that begins with the blind write `head`, or with the initial value.
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

/// Orders the runs of one object where only one order is possible, and adds the edges that follow.
///
/// The initial run comes first. With `real_time`, a run comes before another one if a member of it
/// ended before a member of the other one began (Run::earliest_end, Run::latest_begin).
///
/// In graphs of up to kExhaustiveNodes nodes, a run also comes before another one if the opposite
/// order would close a cycle, up to a fixed point. The cost grows at least with the square of the
/// nodes, so larger graphs go without this step. Fewer violations are found there.
///
/// All other pairs stay unordered. So every finding is a violation. A violation that shows only
/// after all orders were tried is not found.
void order_blind_writes(DependencyGraph& dependencies, bool real_time);
inline constexpr uint32_t kExhaustiveNodes = 2'000;

}  // namespace holdfast::check
