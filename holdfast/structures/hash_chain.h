// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "holdfast/structures/hold.h"

namespace holdfast {

/// What the hash maps share: an unordered chain of entries below a bucket. A bucket is the Field
/// with the first node; all functions work on one.
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

  /// New entries go to the front, so two inserts of one key store the same word and conflict.
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
        // Skew: the erase of the next node stores this one's link, a put this one's value;
        // committed beside the store to the link before it, they would be lost with the node.
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
      // Skew: a put or an erase, both of which store or hold the value, would be lost.
      hold<kPromote>(node->value);
      Node* next = node->next;
      H::destroy(node);
      node = next;
    }
    bucket = nullptr;
  }

  /// Calls f(node) along the chain until it returns false; false if it did.
  template <class F>
  static bool walk(const Bucket& bucket, F&& f) {
    for (const Node* node = bucket; node != nullptr; node = node->next) {
      if (!f(node)) {
        return false;
      }
    }
    return true;
  }

  /// Whether a key occurs twice. Gives up, and says so, on a chain longer than `longest`, which
  /// means a cycle.
  static bool unique(const Bucket& bucket, size_t longest) {
    size_t length = 0;
    return walk(bucket, [&](const Node* node) {
      return ++length <= longest && locate(bucket, node->key.load()) == node;
    });
  }
};

}  // namespace holdfast
