// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "holdfast/structures/hold.h"

namespace holdfast {

/// An unordered chain of entries below a bucket, common to the hash maps. A bucket is the Field
/// that points to the first node. Each function works on one bucket, and costs the length of its
/// chain.
template <class H, class K, class V, bool kPromote>
struct HashChain {
  template <class T>
  using Field = typename H::template Field<T>;

  struct Node {
    Node(const K& k, const V& v, Node* after) : key(k), next(after), value(v) {}
    Field<K> key;
    Field<Node*> next;
    Field<V> value;
  };
  using Bucket = Field<Node*>;

  static Node* locate(const Bucket& bucket, const K& key) {
    Node* node = bucket;
    while (node != nullptr && !(node->key.load() == key)) {
      node = node->next;
    }
    return node;
  }

  static std::optional<V> find(const Bucket& bucket, const K& key) {
    const Node* node = locate(bucket, key);
    return node == nullptr ? std::nullopt : std::optional<V>(node->value.load());
  }

  /// Adds an entry, or overwrites its value if `overwrite`. Returns true if the key is new. New
  /// entries go to the front, so that two inserts of one key store to the same word and conflict.
  static bool add(Bucket& bucket, const K& key, const V& value, bool overwrite) {
    if (Node* node = locate(bucket, key); node != nullptr) {
      if (overwrite) {
        node->value = value;
      }
      return false;
    }
    bucket = H::template make<Node>(key, value, bucket.load());
    return true;
  }

  static bool erase(Bucket& bucket, const K& key) {
    for (Bucket* link = &bucket;;) {
      Node* node = *link;
      if (node == nullptr) {
        return false;
      }
      if (node->key.load() == key) {
        // Skew: an erase of the next node stores this node's link, and a put stores its value.
        // Committed beside this erase, these stores would be lost with the node.
        hold<kPromote>(node->next, node->value);
        *link = node->next.load();
        H::destroy(node);
        return true;
      }
      link = &node->next;
    }
  }

  static void clear(Bucket& bucket) {
    for (Node* node = bucket; node != nullptr;) {
      // Skew: puts and erases store or promote the value. Committed beside this clear, they would
      // be lost.
      hold<kPromote>(node->value);
      Node* next = node->next;
      H::destroy(node);
      node = next;
    }
    bucket = nullptr;
  }

  /// Calls f(node) along the chain until it returns false. Returns false if it did.
  template <class F>
  static bool walk(const Bucket& bucket, F&& f) {
    for (const Node* node = bucket; node != nullptr; node = node->next) {
      if (!f(node)) {
        return false;
      }
    }
    return true;
  }

  /// Returns true if no key occurs twice. Returns false for a chain longer than `longest`, too,
  /// because that means a cycle.
  static bool unique(const Bucket& bucket, size_t longest) {
    size_t length = 0;
    return walk(bucket, [&](const Node* node) {
      return ++length <= longest && locate(bucket, node->key.load()) == node;
    });
  }
};

}  // namespace holdfast
