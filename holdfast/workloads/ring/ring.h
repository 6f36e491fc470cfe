// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/ring/ring_model.h"

namespace holdfast {

const WorkloadInfo& ring_info();

template <class H>
struct RingRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  struct alignas(kLineBytes) Node {
    Field<Node*> next;
  };
  static constexpr const char* kTypeName = "holdfast.workload.Ring";
  static constexpr uint32_t kTypeVersion = 1;

  RingRoot(int workers, uint64_t count)
      : ledger(workers),
        nodes(count),
        node(static_cast<Node*>(H::allocate(count * sizeof(Node)))) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(node.load()), nodes * sizeof(Node));
  }

  Ledger<H> ledger;
  Field<uint64_t> nodes;
  Field<Node*> node;
};

/// A cycle of nodes whose order transactions change. One lost, doubled or half-done update breaks
/// the cycle in two or loses a node. Every link that is read is also stored, so snapshot isolation
/// suffices. A walk throws Error(corrupt) unless it finds one cycle through all nodes.
template <class H>
class RingRunner : public SmallWorkload<H, RingRoot<H>> {
  using Node = typename RingRoot<H>::Node;

 public:
  static const WorkloadInfo& static_info() { return ring_info(); }

  RingRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, RingRoot<H>>(heap, parameters),
        nodes_(static_cast<uint64_t>(parameters.number("nodes", 3, 10000000))),
        walk_(parameters, "walk") {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, nodes_);
    if (!status.ok()) {
      return status;
    }
    return this->in_batches(nodes_, [&](uint64_t i) { node_[i].next = &node_[(i + 1) % nodes_]; });
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int, Random& random) override {
    if (walk_.draw(random)) {
      return {RingModel::kWalk, {}};
    }
    const uint64_t a = random.below(nodes_);
    const uint64_t to = random.below(nodes_);
    if (random.below(2) == 0) {
      return {RingModel::kSwap, {a}};
    }
    return {RingModel::kMove, {a, to}};
  }

  OperationResult perform(int worker, const Request& request) override {
    if (request.kind == RingModel::kWalk) {
      const OperationResult result =
          this->reading(request.kind, worker, [&] { return walk_around(); });
      judge(result.response[0]).check();
      return result;
    }
    Node* a = &node_[request.argument[0]];
    if (request.kind == RingModel::kSwap) {
      return this->updating(request.kind, worker, [&] { return swap_behind(a); });
    }
    Node* to = &node_[request.argument[1]];
    return this->updating(request.kind, worker, [&] { return move_behind(a, to); });
  }

 protected:
  /// Changes a -> b -> c -> d to a -> c -> b -> d.
  Response swap_behind(Node* a) const {
    Node* b = a->next;
    Node* c = b->next;
    Node* d = c->next;
    a->next = c;
    c->next = b;
    b->next = d;
    return RingModel::links(index(b), index(c), index(d));
  }
  /// Takes the node behind a, and puts it behind `to`.
  Response move_behind(Node* a, Node* to) const {
    Node* b = a->next;
    if (to == a || to == b) {
      return swap_behind(a);
    }
    Node* rest = b->next;
    a->next = rest;
    Node* after = to->next;
    b->next = after;
    to->next = b;
    return RingModel::links(index(b), index(rest), index(after));
  }

  uint64_t index(const Node* node) const { return static_cast<uint64_t>(node - node_); }

  /// Returns the number of steps from node 0 back to it, and the digest of the nodes passed. 0
  /// steps if a link leaves the nodes, or if the path is longer than their number.
  Response walk_around() const {
    const Node* node = node_;
    PlaceDigest digest;
    for (uint64_t steps = 1; steps <= nodes_; ++steps) {
      node = node->next;
      if (node == node_) {
        return {steps, digest.value()};
      }
      if (node < node_ || node >= node_ + nodes_) {
        return {};
      }
      digest.add(index(node));
    }
    return {};
  }
  Status judge(uint64_t length) const {
    if (length == nodes_) {
      return {};
    }
    return Status(Code::corrupt, length == 0 ? std::string("ring: the links form no cycle")
                                             : "ring: a cycle of " + std::to_string(length) +
                                                   " nodes instead of " + std::to_string(nodes_));
  }

  Status bound() override {
    return this->heap_.read([&] {
      nodes_ = this->root_->nodes;
      node_ = this->root_->node;
    });
  }

  uint64_t nodes_;
  Chance walk_;
  RingModel model_;
  Node* node_ = nullptr;
};

/// The runner with its judge.
template <class H>
class Ring final : public SmallJudge<RingRunner<H>> {
 public:
  using SmallJudge<RingRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState next;
      for (uint64_t i = 0; i < this->nodes_; ++i) {
        const typename RingRoot<H>::Node* node = this->node_[i].next;
        if (node < this->node_ || node >= this->node_ + this->nodes_) {
          return Status(Code::corrupt,
                        "ring: the link of node " + std::to_string(i) + " leaves the ring");
        }
        next.push_back(this->index(node));
      }
      return next;
    });
  }

  Status check() override {
    return this->in_read([&] { return this->judge(this->walk_around()[0]); });
  }
};

/// The registry's row.
using RingWorkload = WorkloadRow<ring_info, RingRunner, Ring>;

}  // namespace holdfast
