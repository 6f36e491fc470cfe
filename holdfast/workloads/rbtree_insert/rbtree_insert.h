// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/structures/parent_rb_tree.h"
#include "holdfast/workloads/parts/insert_workload.h"

namespace holdfast {

const WorkloadInfo& rbtree_insert_info();

template <class H>
struct RbtreeInsertRoot {
  static constexpr const char* kTypeName = "holdfast.workload.RbtreeInsert";
  static constexpr uint32_t kTypeVersion = 1;

  RbtreeInsertRoot(int workers, uint64_t elements) : ledger(workers), size(elements) {}
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
  ParentRbTree<H, uint64_t, uint64_t> tree;
};

/// The inserts of cc-HTM 5.3 ("Continuous Checkpointing of HTM Transactions in NVM", ISMM 2017,
/// figures 14 to 17): each transaction inserts one random key into a red-black tree with parent
/// links. The paper measured the tree of STAMP; this one was written anew (parent_rb_tree.h).
///
///   size   elements of a new tree (1 million by default); an existing heap keeps its own number
///   ack    1: each transaction also counts in its worker's durable ledger
///
/// The keys are those of an InsertWorkload, which also tells the limits.
template <class H>
class RbtreeInsertRunner : public InsertWorkload<H, RbtreeInsertRoot<H>> {
 public:
  RbtreeInsertRunner(H& heap, const Parameters& parameters)
      : InsertWorkload<H, RbtreeInsertRoot<H>>(heap, parameters) {}

  const WorkloadInfo& info() const override { return rbtree_insert_info(); }

  Status set_up(int workers, uint64_t) override { return this->fill(workers, 2); }
};

template <class H>
using RbtreeInsert = InsertJudge<RbtreeInsertRunner<H>>;

/// The registry's row.
using RbtreeInsertWorkload = WorkloadRow<rbtree_insert_info, RbtreeInsertRunner, RbtreeInsert>;

}  // namespace holdfast
