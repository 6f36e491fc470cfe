// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "holdfast/workloads/parts/insert_workload.h"
#include "holdfast/workloads/parts/payload.h"

namespace holdfast {

const WorkloadInfo& linked_list_info();

/// A list with the newest element in front. The size of the payload is chosen at run time, so the
/// nodes are not objects of one type: the payload's words follow the node.
template <class H>
struct FrontListRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr const char* kTypeName = "holdfast.workload.FrontList";
  static constexpr uint32_t kTypeVersion = 1;

  struct Node {
    Field<uint64_t> key;
    Field<Node*> next;

    Field<uint64_t>* payload() { return reinterpret_cast<Field<uint64_t>*>(this + 1); }
    const Field<uint64_t>* payload() const {
      return reinterpret_cast<const Field<uint64_t>*>(this + 1);
    }
  };

  FrontListRoot(int workers, uint64_t elements, uint64_t payload_words)
      : ledger(workers), size(elements), words(payload_words), front(nullptr) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    for (const Node* node = front; node != nullptr; node = node->next) {
      visit(static_cast<const void*>(node), node_bytes());
    }
  }

  /// The payload follows from the key, and begins with the value. The caller makes sure that the
  /// key is new: a search would cost the length of the list.
  bool insert(uint64_t key, uint64_t) {
    auto* const node = static_cast<Node*>(H::allocate(node_bytes()));
    node->key = key;
    node->next = front.load();
    Payload(key, words).store(node->payload());
    front = node;
    return true;
  }
  /// Searches from the front: only elements of other workers can be before a worker's newest one.
  bool erase(uint64_t key) {
    Field<Node*>* link = &front;
    for (Node* node = *link; node != nullptr; node = *link) {
      if (node->key == key) {
        *link = node->next.load();
        H::deallocate(node, node_bytes());
        return true;
      }
      link = &node->next;
    }
    return false;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const Node* node = front; node != nullptr; node = node->next) {
      if (!f(node->key.load(), node->payload()[0].load())) {
        return;
      }
    }
  }
  /// Checks the payloads, and the order: a worker's keys are numbered, and the newest one is the
  /// first. So a cycle is found, too.
  Status check() const {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> oldest;
    const uint64_t payload_words = words;
    for (const Node* node = front; node != nullptr; node = node->next) {
      const uint64_t key = node->key;
      if (!Payload(key, payload_words).stored(node->payload())) {
        return Status(Code::corrupt, "linked-list: a payload does not belong to its key");
      }
      const InsertKey parts = InsertKey::of(key);
      const auto [found, first] = oldest.try_emplace({parts.run, parts.worker}, parts.number);
      if (!first && found->second <= parts.number) {
        return Status(Code::corrupt, "linked-list: an element is before a newer one");
      }
      found->second = parts.number;
    }
    return {};
  }

  Ledger<H> ledger;
  Field<uint64_t> size;   ///< elements at the start
  Field<uint64_t> words;  ///< of a payload
  Field<Node*> front;

 private:
  size_t node_bytes() const { return sizeof(Node) + words * sizeof(Field<uint64_t>); }
};

/// Linked List of Hercules (section 5.1, table 4): each transaction inserts an element with a
/// payload in front of a list.
///
///   size     elements of a new list; an existing heap keeps its own number
///   bytes    payload of an element, a multiple of 8
///   removes  per cent of the transactions that remove the worker's newest element
///   ack      1: each transaction also counts in its worker's durable ledger
///
/// The keys are those of an InsertWorkload, which also tells the limits.
template <class H>
class FrontListRunner : public InsertWorkload<H, FrontListRoot<H>> {
 public:
  FrontListRunner(H& heap, const Parameters& parameters)
      : InsertWorkload<H, FrontListRoot<H>>(heap, parameters),
        words_(words_of(parameters, "bytes", 1 << 20)) {}

  const WorkloadInfo& info() const override { return linked_list_info(); }

  Status set_up(int workers, uint64_t) override { return this->fill(workers, words_, words_); }

 private:
  uint64_t words_;
};

template <class H>
using FrontList = InsertJudge<FrontListRunner<H>>;

/// The registry's row.
using LinkedListWorkload = WorkloadRow<linked_list_info, FrontListRunner, FrontList>;

}  // namespace holdfast
