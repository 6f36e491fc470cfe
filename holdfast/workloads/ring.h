// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/small_workload.h"

namespace holdfast {

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
/// it in two or loses a node. Every link that is read is also stored, so snapshot isolation
/// suffices. A walk that does not find one cycle through all nodes throws Error(corrupt).
template <class H>
class Ring final : public SmallWorkload<H, RingRoot<H>> {
  using Node = typename RingRoot<H>::Node;

 public:
  static const WorkloadInfo& static_info() { return ring_info(); }

  Ring(H& heap, const Parameters& parameters)
      : SmallWorkload<H, RingRoot<H>>(heap, parameters.number("ack", 0, 1) != 0),
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
    if (walk_.draw(random)) {
      uint64_t length = 0;
      const OperationResult result =
          this->reading(2, worker, [&] { return walk_around(); }, &length);
      judge(length).check();
      return result;
    }
    Node* a = &node_[random.below(nodes_)];
    Node* to = &node_[random.below(nodes_)];
    if (random.below(2) == 0) {
      return this->updating(0, worker, [&] { return swap_behind(a); });
    }
    return this->updating(1, worker, [&] { return move_behind(a, to); });
  }

  Status check() override {
    return this->in_read([&] { return judge(walk_around()); });
  }

 private:
  /// a -> b -> c -> d becomes a -> c -> b -> d.
  static uint64_t swap_behind(Node* a) {
    Node* b = a->next;
    Node* c = b->next;
    Node* d = c->next;
    a->next = c;
    c->next = b;
    b->next = d;
    return reinterpret_cast<uint64_t>(d);
  }
  /// Takes the node behind a and puts it behind `to`.
  static uint64_t move_behind(Node* a, Node* to) {
    Node* b = a->next;
    if (to == a || to == b) {
      return swap_behind(a);
    }
    a->next = b->next.load();
    b->next = to->next.load();
    to->next = b;
    return reinterpret_cast<uint64_t>(b);
  }

  /// The number of steps from node 0 back to it; 0 when a step leaves the nodes or the way is
  /// longer than there are nodes.
  uint64_t walk_around() const {
    const Node* node = node_;
    for (uint64_t steps = 1; steps <= nodes_; ++steps) {
      node = node->next;
      if (node == node_) {
        return steps;
      }
      if (node < node_ || node >= node_ + nodes_) {
        return 0;
      }
    }
    return 0;
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
  Node* node_ = nullptr;
};

}  // namespace holdfast
