// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/structures/parent_rb_tree.h"
#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/rbtree_insert/insert_key.h"
#include "holdfast/workloads/rbtree_insert/insert_model.h"

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
/// Each worker chooses its keys by an InsertKey, so that all keys are new. The first operation of a
/// worker draws the number of its run; equal seeds give equal keys. The value of a key follows from
/// the key.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument. At
/// most 4,096 workers.
template <class H>
class RbtreeInsertRunner : public SmallWorkload<H, RbtreeInsertRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return rbtree_insert_info(); }

  RbtreeInsertRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, RbtreeInsertRoot<H>>(heap, parameters.number("ack", 0, 1) != 0),
        size_(static_cast<uint64_t>(
            parameters.number("size", 0, (int64_t{1} << InsertKey::kNumberBits) - 1))) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    if (workers > 1 << InsertKey::kWorkerBits) {
      return Status(Code::invalid_argument,
                    "rbtree-insert has keys for 4096 workers, not for " + std::to_string(workers));
    }
    Status status = this->create_root(workers, size_);
    return status.ok() ? this->in_batches(size_,
                                          [&](uint64_t i) {
                                            const uint64_t key = InsertKey{0, 0, i}.key();
                                            this->root_->tree.insert(key, value_of(key));
                                          })
                       : status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    InsertKey& next = next_[static_cast<size_t>(worker)].key;
    if (next.run == 0) {
      next = {1 + random.below((uint64_t{1} << InsertKey::kRunBits) - 1),
              static_cast<uint64_t>(worker), 0};
    }
    const uint64_t key = next.key();
    next.number += 1;
    return {0, {key, value_of(key)}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const uint64_t key = request.argument[0];
    const uint64_t value = request.argument[1];
    auto& tree = this->root_->tree;
    return this->updating(0, worker, [&] { return uint64_t{tree.insert(key, value)}; });
  }

 protected:
  struct alignas(kLineBytes) Next {
    InsertKey key{};
  };

  static uint64_t value_of(uint64_t key) { return mix64(key); }

  Status bound() override {
    next_.assign(static_cast<size_t>(this->workers()), Next{});
    return {};
  }

  uint64_t size_;
  InsertModel model_;
  std::vector<Next> next_;
};

/// The runner with its judge. check() examines the tree, the values, and the number of elements:
/// the initial ones are all there, and no insert of a worker is missing before its last one. Only
/// the ledger shows the loss of last inserts.
template <class H>
class RbtreeInsert final : public SmallJudge<RbtreeInsertRunner<H>> {
 public:
  using SmallJudge<RbtreeInsertRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      this->root_->tree.for_each([&](uint64_t key, uint64_t value) {
        content.add(key, value);
        return true;
      });
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      if (Status status = this->root_->tree.check(); !status.ok()) {
        return status;
      }
      const auto workers = static_cast<uint64_t>(this->workers());
      std::map<std::pair<uint64_t, uint64_t>, Group> groups;
      bool right = true;
      this->root_->tree.for_each([&](uint64_t key, uint64_t value) {
        const InsertKey parts = InsertKey::of(key);
        right = value == this->value_of(key) && parts.worker < workers;
        Group& group = groups[{parts.run, parts.worker}];
        group.elements += 1;
        group.end = std::max(group.end, parts.number + 1);
        return right;
      });
      if (!right) {
        return Status(Code::corrupt, "rbtree-insert: a key or its value is wrong");
      }
      Group& initial = groups[{0, 0}];
      initial.end = std::max(initial.end, this->root_->size.load());
      for (const auto& [name, group] : groups) {
        if (group.elements != group.end) {
          return Status(Code::corrupt,
                        "rbtree-insert: the tree has " + std::to_string(group.elements) + " of " +
                            std::to_string(group.end) + " elements of worker " +
                            std::to_string(name.second) + ", run " + std::to_string(name.first));
        }
      }
      return {};
    });
  }

 private:
  struct Group {
    uint64_t elements = 0;
    uint64_t end = 0;  ///< one beyond the largest number
  };
};

/// The registry's row.
using RbtreeInsertWorkload = WorkloadRow<rbtree_insert_info, RbtreeInsertRunner, RbtreeInsert>;

}  // namespace holdfast
