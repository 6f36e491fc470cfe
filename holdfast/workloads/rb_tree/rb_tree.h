// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/structures/parent_rb_tree.h"
#include "holdfast/workloads/parts/insert_workload.h"
#include "holdfast/workloads/parts/payload_map.h"

namespace holdfast {

const WorkloadInfo& payload_tree_info();

template <class H>
struct PayloadTreeRoot
    : PayloadMap<H, ParentRbTree<H, uint64_t, typename H::template Field<uint64_t>*>> {
  using Base = PayloadMap<H, ParentRbTree<H, uint64_t, typename H::template Field<uint64_t>*>>;
  static constexpr const char* kTypeName = "holdfast.workload.PayloadTree";
  static constexpr uint32_t kTypeVersion = 1;
  using Base::Base;
};

/// RB-Tree of Hercules (section 5.1, table 4): each transaction inserts a key with a payload into a
/// red-black tree, which is balanced again. `rbtree-insert` is the workload of another paper, with
/// values of 8 bytes.
///
///   size     elements of a new tree; an existing heap keeps its own number
///   bytes    payload of an element, a multiple of 8
///   removes  per cent of the transactions that remove the worker's newest element
///   ack      1: each transaction also counts in its worker's durable ledger
///
/// The keys are those of an InsertWorkload, which also tells the limits.
template <class H>
class PayloadTreeRunner : public InsertWorkload<H, PayloadTreeRoot<H>> {
 public:
  PayloadTreeRunner(H& heap, const Parameters& parameters)
      : InsertWorkload<H, PayloadTreeRoot<H>>(heap, parameters),
        words_(words_of(parameters, "bytes", 1 << 20)) {}

  const WorkloadInfo& info() const override { return payload_tree_info(); }

  Status set_up(int workers, uint64_t) override { return this->fill(workers, words_, words_); }

 private:
  uint64_t words_;
};

template <class H>
using PayloadTree = InsertJudge<PayloadTreeRunner<H>>;

/// The registry's row.
using RbTreeWorkload = WorkloadRow<payload_tree_info, PayloadTreeRunner, PayloadTree>;

}  // namespace holdfast
