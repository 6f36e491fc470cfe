// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/structures/sorted_bplus_tree.h"
#include "holdfast/workloads/parts/insert_workload.h"

namespace holdfast {

const WorkloadInfo& bplus_tree_info();

template <class H>
struct BPlusTreeInsertRoot {
  static constexpr const char* kTypeName = "holdfast.workload.BPlusTreeInsert";
  static constexpr uint32_t kTypeVersion = 1;

  BPlusTreeInsertRoot(int workers, uint64_t elements, uint64_t node_bytes)
      : ledger(workers), size(elements), tree(node_bytes) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    tree.visit_blocks(visit);
  }

  bool insert(uint64_t key, uint64_t value) { return tree.insert(key, value); }
  template <class F>
  void for_each(F&& f) const {
    tree.for_each(f);
  }
  Status check() const { return tree.check(); }

  Ledger<H> ledger;
  typename H::template Field<uint64_t> size;  ///< elements at the start
  SortedBPlusTree<H> tree;
};

/// B+-Tree of Hercules (sections 2.3 and 5.1, table 4): each transaction inserts a random key and
/// its value, of 8 bytes each.
///
///   size   elements of a new tree; an existing heap keeps its elements and its nodes' size
///   node   bytes of a node, a multiple of 16
///   ack    1: each transaction also counts in its worker's durable ledger
///
/// The keys are those of an InsertWorkload, which also tells the limits.
template <class H>
class BPlusTreeInsertRunner : public InsertWorkload<H, BPlusTreeInsertRoot<H>> {
 public:
  BPlusTreeInsertRunner(H& heap, const Parameters& parameters)
      : InsertWorkload<H, BPlusTreeInsertRoot<H>>(heap, parameters),
        node_bytes_(static_cast<uint64_t>(
            parameters.number("node", int64_t{SortedBPlusTree<H>::kLeastNodeBytes}, 1 << 20))) {
    if (node_bytes_ % 16 != 0) {
      throw Error(wrong_value("parameter node", parameters.text("node"), "a multiple of 16"));
    }
  }

  const WorkloadInfo& info() const override { return bplus_tree_info(); }

  Status set_up(int workers, uint64_t) override {
    return this->fill(workers, node_bytes_ / 8, node_bytes_);
  }

 private:
  uint64_t node_bytes_;
};

template <class H>
using BPlusTreeInsert = InsertJudge<BPlusTreeInsertRunner<H>>;

/// The registry's row.
using BPlusTreeWorkload = WorkloadRow<bplus_tree_info, BPlusTreeInsertRunner, BPlusTreeInsert>;

}  // namespace holdfast
