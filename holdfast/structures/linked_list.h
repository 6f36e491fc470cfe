// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/base/status.h"
#include "holdfast/base/type_text.h"
#include "holdfast/structures/hold.h"

namespace holdfast {

/// A sorted set of K (trivially copyable, ordered by <) as a singly linked list in a heap H.
///
/// Thread safety: through transactions. Every member function runs inside one: functions that
/// change the list inside update(), the others inside read() or update(). A change is durable when
/// its update() returns. Every operation costs O(n).
template <class H, class K, bool kPromote = true>
class LinkedList {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.LinkedList", K>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  LinkedList() : head_(nullptr) {}
  LinkedList(const LinkedList&) = delete;
  LinkedList& operator=(const LinkedList&) = delete;

  bool contains(const K& key) const {
    const Node* node = head_;
    while (node != nullptr) {
      const K here = node->key;
      if (!(here < key)) {
        return !(key < here);
      }
      node = node->next;
    }
    return false;
  }

  /// Returns false, changing nothing, if the key exists.
  bool insert(const K& key) {
    const Place place = seek(key);
    if (place.found) {
      return false;
    }
    *place.link = H::template make<Node>(key, place.node);
    return true;
  }

  /// Returns false, changing nothing, if there is no such key.
  bool erase(const K& key) {
    const Place place = seek(key);
    if (!place.found) {
      return false;
    }
    // Skew: an insert behind this node, or an erase of its neighbour, stores its link. Committed
    // beside this erase, that store would be lost with the node.
    hold<kPromote>(place.node->next);
    *place.link = place.node->next.load();
    H::destroy(place.node);
    return true;
  }

  size_t size() const {
    size_t n = 0;
    for_each([&](const K&) { return ++n != 0; });
    return n;
  }

  /// Calls f(key) in key order until it returns false.
  template <class F>
  void for_each(F&& f) const {
    const Node* node = head_;
    while (node != nullptr && f(node->key.load())) {
      node = node->next;
    }
  }

  void clear() {
    for (Node* node = head_; node != nullptr;) {
      // Skew: as in erase.
      hold<kPromote>(node->next);
      Node* next = node->next;
      H::destroy(node);
      node = next;
    }
    head_ = nullptr;
  }
  /// Frees everything the list owns; call it before destroying the list.
  void dispose() { clear(); }

  /// Checks that keys ascend strictly, which also excludes a cycle.
  Status check() const {
    const Node* before = nullptr;
    for (const Node* node = head_; node != nullptr; node = node->next) {
      if (before != nullptr && !(before->key.load() < node->key.load())) {
        return Status(Code::corrupt, "linked list: a key is out of order");
      }
      before = node;
    }
    return {};
  }

  /// Calls visit(p, n) for each block of the heap that the list owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    for (const Node* node = head_; node != nullptr; node = node->next) {
      visit(static_cast<const void*>(node), sizeof(Node));
    }
  }

 private:
  struct Node {
    Node(const K& k, Node* after) : key(k), next(after) {}
    Field<K> key;
    Field<Node*> next;
  };
  /// The first node with a key >= the sought one, and the link that leads to it.
  struct Place {
    Field<Node*>* link;
    Node* node;
    bool found;
  };

  Place seek(const K& key) {
    Field<Node*>* link = &head_;
    for (;;) {
      Node* node = *link;
      if (node == nullptr) {
        return {link, nullptr, false};
      }
      const K here = node->key;
      if (!(here < key)) {
        return {link, node, !(key < here)};
      }
      link = &node->next;
    }
  }

  Field<Node*> head_;
};

}  // namespace holdfast
